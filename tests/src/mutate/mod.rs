//! Readers on damaged files, for as long as one likes: no panic, no defect, no hang, no memory without bound, no overflow of the stack.
//!
//! Inputs follow from a seed alone: the n-th of a run is the same every time. Each is damaged from an intact file or from one that its reader has
//! taken before, so that damage adds up. What a reader is given is in a file before it is read: where the process ends, that is the finding. A
//! watchdog ends the process for inputs that take too long or too much memory. Panics are counted by place and each place's first input is kept.

mod damage;
mod inputs;
#[path = "../../../emit/fuzz/src/readers.rs"]
mod readers;

use fastrand::Rng;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// An input that takes longer, in processor time, is a finding.
const LONGEST: Duration = Duration::from_secs(5);
/// Memory of the process that is a finding, beyond what it had before.
const MEMORY_BYTES: u64 = 1 << 30;
/// Most damaged inputs that are damaged further.
const KEPT: usize = 256;

/// Says of any bytes whether they are a right input.
type Reader = fn(&[u8]) -> bool;
/// Makes intact inputs.
type Inputs = fn() -> Result<Vec<Vec<u8>>, String>;

/// A reader with what it reads.
#[derive(Clone, Copy)]
pub struct Subject {
    /// Of `--reader`.
    pub name: &'static str,
    read: Reader,
    inputs: Inputs,
}

/// All readers.
pub const SUBJECTS: [Subject; 15] = [
    Subject { name: "assembly", read: readers::assemble, inputs: inputs::assembly },
    Subject { name: "inline-assembly", read: readers::fragment, inputs: inputs::fragments },
    Subject { name: "inspect", read: readers::inspect, inputs: inputs::objects },
    Subject { name: "disassemble", read: readers::disassemble, inputs: inputs::objects },
    Subject { name: "load", read: readers::load, inputs: inputs::objects },
    Subject { name: "run", read: sim::robustness::check, inputs: inputs::objects },
    Subject { name: "bundles", read: readers::bundles, inputs: inputs::bundles },
    Subject { name: "text-bundles", read: readers::text_bundle, inputs: inputs::text_bundles },
    Subject { name: "notes", read: readers::metadata, inputs: || Ok(inputs::notes()?[0].clone()) },
    Subject { name: "yaml", read: readers::yaml, inputs: || Ok(inputs::notes()?[1].clone()) },
    Subject { name: "amdil", read: readers::amdil, inputs: || Ok(inputs::notes()?[2].clone()) },
    Subject { name: "dispatch", read: readers::dispatch, inputs: || Ok(inputs::dispatches()) },
    Subject { name: "link", read: readers::link_alone, inputs: inputs::linker_inputs },
    Subject { name: "program", read: readers::program, inputs: || Ok(inputs::programs()) },
    Subject { name: "containers", read: readers::inspect, inputs: inputs::bundles },
];

/// What a run found.
#[derive(Debug, Default)]
pub struct Found {
    /// Inputs that were read.
    pub executions: u64,
    /// Of these, right ones.
    pub right: u64,
    /// The longest time that one took, by the clock; the input is kept.
    pub longest: Duration,
    /// Places of panics, how often, and the file with the first input.
    pub panics: BTreeMap<String, (u64, PathBuf)>,
}

/// How long to go on.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// So many inputs.
    After(u64),
    /// So long.
    Time(Duration),
}

/// What the watchdog sees: the number of the input under way, from 1; 0 for none.
#[derive(Default)]
struct Watched {
    input: AtomicU64,
}

/// Runs a reader on damaged inputs. Findings are kept in `folder`. Where an input takes too long or too much memory, the process ends.
///
/// # Errors
/// Inputs that cannot be made, files that cannot be written.
pub fn run(subject: &Subject, seed: u64, end: End, folder: &Path) -> Result<Found, String> {
    let io = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(io)?;
    let intact = (subject.inputs)()?;
    let current = folder.join(format!("{}-current", subject.name));
    let file = File::create(&current).map_err(io)?;
    let start = Instant::now();
    let watched = Arc::new(Watched::default());
    watch(subject.name, &watched, current.clone());
    let place = catch_places();

    let mut random = Rng::with_seed(seed);
    let mut found = Found::default();
    let mut slowest = Vec::new();
    let mut taken: Vec<Vec<u8>> = intact.clone();
    loop {
        let is_over = match end {
            End::After(count) => found.executions >= count,
            End::Time(time) => start.elapsed() >= time,
        };
        if is_over {
            break;
        }
        // Intact ones now and then, so that damage to them alone is tried, too.
        let from = match random.u8(..4) {
            0 => random.usize(..intact.len()),
            _ => random.usize(..taken.len()),
        };
        let other = random.usize(..taken.len());
        let input = damage::damage(&taken[from], &taken[other], &mut random);
        file.set_len(0).and_then(|()| file.write_all_at(&input, 0)).map_err(io)?;
        let began = Instant::now();
        watched.input.store(found.executions + 1, Ordering::Relaxed);
        let result = catch_unwind(AssertUnwindSafe(|| (subject.read)(&input)));
        watched.input.store(0, Ordering::Relaxed);
        let took = began.elapsed();
        if took > found.longest {
            found.longest = took;
            slowest.clone_from(&input);
        }
        found.executions += 1;
        match result {
            Ok(true) => {
                found.right += 1;
                match taken.len() < intact.len() + KEPT {
                    true => taken.push(input),
                    // The intact ones stay.
                    false => taken[intact.len() + random.usize(..KEPT)] = input,
                }
            }
            Ok(false) => {}
            Err(_) => {
                let place = place.lock().map(|place| place.clone()).unwrap_or_default();
                let number = found.panics.len();
                let name = || folder.join(format!("{}-{seed}-{number}", subject.name));
                let entry = found.panics.entry(place).or_insert_with(|| (0, name()));
                if entry.0 == 0 {
                    std::fs::write(&entry.1, &input).map_err(io)?;
                }
                entry.0 += 1;
            }
        }
    }
    // The watchdog ends with the last of its kind.
    drop(watched);
    std::fs::remove_file(current).map_err(io)?;
    std::fs::write(folder.join(format!("{}-slowest", subject.name)), slowest).map_err(io)?;
    Ok(found)
}

/// Where the last panic was, for each that comes from now on; nothing is printed for them.
fn catch_places() -> Arc<Mutex<String>> {
    let place = Arc::new(Mutex::new(String::new()));
    let seen = Arc::clone(&place);
    std::panic::set_hook(Box::new(move |info| {
        let message = info.payload_as_str().unwrap_or_default();
        let at = info.location().map_or_else(String::new, ToString::to_string);
        if let Ok(mut place) = seen.lock() {
            // The message's numbers are the input's.
            let kind: String = message.chars().filter(|c| !c.is_ascii_digit()).take(60).collect();
            *place = format!("{at}: {kind}");
        }
    }));
    place
}

/// Ends the process where an input takes too long or too much memory. `current` holds the input.
fn watch(name: &'static str, watched: &Arc<Watched>, current: PathBuf) {
    let watched = Arc::downgrade(watched);
    let before = resident_bytes();
    std::thread::spawn(move || {
        // The input under way, and the processor time when it was seen first: the machine may be busy with something else.
        let mut seen = (0, Duration::ZERO);
        while let Some(state) = watched.upgrade() {
            let input = state.input.load(Ordering::Relaxed);
            drop(state);
            let now = processor_time();
            if input == 0 || input != seen.0 {
                seen = (input, now);
            }
            let problem = if now.saturating_sub(seen.1) > LONGEST {
                Some(format!("took more than {LONGEST:?}"))
            } else {
                let more = resident_bytes().saturating_sub(before);
                (more > MEMORY_BYTES).then(|| format!("{more} bytes of memory"))
            };
            if let Some(problem) = problem {
                let kept = current.with_extension("slow-or-large");
                let _ = std::fs::copy(&current, &kept);
                eprintln!("{name}: FINDING: {problem}; the input is {}", kept.display());
                std::process::exit(3);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    });
}

/// Processor time of this process.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name, which may have blanks: user and system time in hundredths of a second.
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * ticks)
}

/// Memory of this process.
fn resident_bytes() -> u64 {
    let mut text = String::new();
    let read = File::open("/proc/self/statm").and_then(|mut file| file.read_to_string(&mut text));
    let pages: Option<u64> = read.ok().and_then(|_| text.split_whitespace().nth(1)?.parse().ok());
    pages.unwrap_or(0) * 4096
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reader_takes_its_intact_inputs() {
        for subject in SUBJECTS {
            let inputs = (subject.inputs)().expect(subject.name);
            assert!(!inputs.is_empty());
            let right = inputs.iter().filter(|input| (subject.read)(input)).count();
            assert!(right > 0, "{}: none of {} is right", subject.name, inputs.len());
        }
    }

    #[test]
    fn panics_are_found_by_place() {
        let subject = Subject {
            name: "breaks",
            read: |bytes| {
                assert!(!bytes.ends_with(b"line\n"), "{} bytes", bytes.len());
                !bytes.is_empty()
            },
            inputs: || Ok(vec![b"one\nline\n".to_vec()]),
        };
        let folder = tempfile::tempdir().expect("a folder");
        let found = run(&subject, 1, End::After(300), folder.path()).expect("ran");
        assert_eq!((found.executions, found.panics.len()), (300, 1), "{found:?}");
        let (place, (count, file)) = found.panics.iter().next().expect("one");
        assert!(place.ends_with(":  bytes") && *count > 1, "{place} {count}");
        assert!(std::fs::read(file).expect("kept").ends_with(b"line\n"));
    }
}
