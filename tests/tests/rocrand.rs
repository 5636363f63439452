//! Code that AMD's compiler made: the kernels of Debian's rocRAND, which has them for GFX8, GFX9 and GFX10.
//!
//! Every instruction is decoded, and every kernel runs on the simulator with all checks on. The same kernel of each processor, given the same, must leave the same:
//! whole numbers bit by bit, floats as near as their approximations are. Skipped with a message where the package cannot be fetched.

use emit::bundle::find;
use gcnc_tests::packages;
use mir::abi::metadata::ArgMeta;
use mir::target::Target;
use rayon::prelude::*;
use sim::decode::decode;
use sim::{Arg, CodeObject, Config, Dispatch, Memory};

/// Work-items: two groups.
const ITEMS: u32 = 512;
const GROUP: u32 = 256;
/// Numbers that a kernel is asked for.
const NUMBERS: u64 = 700;
/// Bytes of a buffer: the largest are the engines of `mtgp32`, one a group.
const BUFFER: usize = 64 << 10;
/// Dwords of such an engine: two of a position, the state, the parameters.
const MTGP: (usize, usize) = (2 + 1024, 1 + 3 * 16 + 3);

/// The code objects, by processor.
fn objects() -> Result<Vec<(String, Vec<u8>)>, String> {
    let folder = packages::unpacked("librocrand1")?.join("usr/lib/x86_64-linux-gnu");
    let library = std::fs::read(folder.join("librocrand.so.1")).map_err(|error| error.to_string())?;
    let mut all = Vec::new();
    for found in find::find(&library) {
        let (parts, _) = found.parts().map_err(|error| error.to_string())?;
        all.extend(parts.into_iter().filter_map(|part| {
            let processor = part.target.split("--").nth(1)?.split(':').next()?.to_owned();
            ["gfx803", "gfx900", "gfx906", "gfx1030"]
                .contains(&processor.as_str())
                .then(|| (processor, part.contents.into_owned()))
        }));
    }
    Ok(all)
}

/// Words that look random, the same for every processor.
fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..bytes).map(|_| random.u8(..)).collect()
}

/// The table of a discrete distribution of 16 values, by which of its pointers a method needs.
fn discrete(memory: &mut Memory) -> Vec<u8> {
    let values = 0..16u32;
    let alias: Vec<u8> = values.clone().flat_map(|k| ((k * 7 + 3) % 16).to_le_bytes()).collect();
    let probability: Vec<u8> = values.clone().flat_map(|k| (f64::from(k + 1) / 17.0).to_le_bytes()).collect();
    let sums: Vec<u8> = values.flat_map(|k| (f64::from(k + 1) / 16.0).to_le_bytes()).collect();
    let tables = [alias, probability, sums].map(|table| memory.add_buffer("table", table).address());
    [16u32, 0]
        .into_iter()
        .flat_map(u32::to_le_bytes)
        .chain(tables.into_iter().flat_map(u64::to_le_bytes))
        .collect()
}

/// Mean and deviation, or another distribution's two numbers, of `bytes` together.
fn parameters(bytes: usize) -> Vec<u8> {
    match bytes {
        16 => [0.5f64, 0.75].into_iter().flat_map(f64::to_le_bytes).collect(),
        8 => [0.5f32, 0.75].into_iter().flat_map(f32::to_le_bytes).collect(),
        4 => [0x3800u16, 0x3a00].into_iter().flat_map(u16::to_le_bytes).collect(),
        _ => vec![0; bytes],
    }
}

/// Engines or tables that the first pointers of a kernel lead to.
fn contents(name: &str) -> Vec<u8> {
    if !name.contains("mtgp32") {
        return noise(1, BUFFER);
    }
    // The position is 0, and shifts are small.
    let (state, rest) = MTGP;
    let engine = |k: usize| {
        let mut words = noise(k as u64, 4 * state);
        words[..8].fill(0);
        words.extend(noise(99, rest).iter().flat_map(|byte| [byte & 7, 0, 0, 0]));
        words
    };
    (0..BUFFER / (4 * (state + rest))).flat_map(engine).collect()
}

/// Runs `kernel`; what is in the buffers of its arguments.
fn run(object: &CodeObject, name: &str, args: &[ArgMeta]) -> Result<Vec<Vec<u8>>, String> {
    let mut memory = Memory::new();
    let config = Config { budget: 30_000_000, ..Config::default() };
    let shown: Vec<&ArgMeta> = args.iter().filter(|arg| !arg.is_hidden()).collect();
    let mut buffers = Vec::new();
    let mut values = Vec::new();
    for (k, arg) in shown.iter().enumerate() {
        values.push(match (arg.value_kind.as_str(), arg.size) {
            ("global_buffer", _) => {
                let id = memory.add_buffer("buffer", contents(name));
                buffers.push(id);
                Arg::Buffer(id)
            }
            // The state of Philox: counter and key; no numbers are left over from before.
            (_, 48) => {
                Arg::Value((0..48).map(|at| if at < 16 || (32..40).contains(&at) { at } else { 0 }).collect())
            }
            (_, 32) => Arg::Value(discrete(&mut memory)),
            (_, 8) if k + 1 < shown.len() => Arg::Value(NUMBERS.to_le_bytes().to_vec()),
            (_, 8) if name.contains("init_engines") => Arg::Value(5u64.to_le_bytes().to_vec()),
            (_, 4) if k + 1 < shown.len() => Arg::Value(vec![0; 4]),
            (_, size) => Arg::Value(parameters(size as usize)),
        });
    }
    let dispatch = Dispatch {
        kernel: name.to_owned(),
        grid: [ITEMS, 1, 1],
        group: [GROUP, 1, 1],
        args: values,
        ..Dispatch::default()
    };
    sim::run(object, &mut memory, &dispatch, &config).map_err(|report| report.to_string())?;
    Ok(buffers.into_iter().map(|id| memory.bytes(id).to_vec()).collect())
}

/// Instructions of the kernels, or the first dwords that are none.
fn decoded(object: &CodeObject, target: &Target) -> Result<usize, String> {
    let image = object.image_at(0).map_err(|report| report.to_string())?;
    let mut count = 0;
    for kernel in object.kernels() {
        let size = object.symbol_size(&kernel.name).ok_or("a kernel without a size")?;
        let code = &image[kernel.entry as usize..][..size as usize];
        let words: Vec<u32> =
            code.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect();
        let mut at = 0;
        while at < words.len() {
            let mut next = [0; 5];
            words[at..].iter().zip(&mut next).for_each(|(&word, slot)| *slot = word);
            let (_, bytes) = decode(&next, target)
                .map_err(|error| format!("{} at {:#x}: {error}: {next:08x?}", kernel.name, 4 * at))?;
            at += usize::from(bytes / 4);
            count += 1;
        }
    }
    Ok(count)
}

/// Whether two buffers hold the same numbers.
fn same(name: &str, a: &[u8], b: &[u8]) -> bool {
    fn near(a: f64, b: f64, relative: f64) -> bool {
        a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= relative * a.abs().max(b.abs()).max(1.0)
    }
    let pairs = |bytes: usize| a.chunks_exact(bytes).zip(b.chunks_exact(bytes));
    if a == b {
        return true;
    }
    // The type of numbers is the first letter of the template's arguments.
    let is = |letter: &str| {
        name.contains(&format!("kernelI{letter}"))
            || name.contains(&format!("j{letter}"))
            || name.contains(&format!("E{letter}"))
    };
    if is("6__half") {
        let read = |w: &[u8]| mir::half::to_f64(u16::from_le_bytes([w[0], w[1]]));
        return pairs(2).all(|(a, b)| near(read(a), read(b), 2e-2));
    }
    let f32s = || {
        pairs(4).all(|(a, b)| {
            let read = |w: &[u8]| f64::from(f32::from_le_bytes([w[0], w[1], w[2], w[3]]));
            near(read(a), read(b), 1e-4)
        })
    };
    let f64s = || {
        pairs(8).all(|(a, b)| {
            let read = |w: &[u8]| f64::from_le_bytes(std::array::from_fn(|k| w[k]));
            near(read(a), read(b), 1e-9)
        })
    };
    f32s() || f64s()
}

#[test]
fn kernels_of_rocrand_run() {
    let objects = match objects() {
        Ok(objects) => objects,
        Err(error) => return eprintln!("skipped: librocrand1: {error}"),
    };
    let mut loaded = Vec::new();
    for (processor, bytes) in &objects {
        let object = CodeObject::load(bytes).unwrap_or_else(|report| panic!("{processor}: {report}"));
        let target = Target::new(object.processor().expect("the object names a processor"));
        let count = decoded(&object, &target).unwrap_or_else(|error| panic!("{processor}: {error}"));
        println!("{processor}: {} kernels, {count} instructions", object.kernels().len());
        loaded.push((processor, object));
    }
    let at = |name: &str| {
        loaded.iter().position(|(processor, _)| *processor == name).expect("a processor of the package")
    };
    let newest = &loaded[at("gfx1030")].1;
    assert_eq!(newest.kernels().len(), 80);
    let problems: Vec<String> = newest
        .kernels()
        .par_iter()
        .flat_map_iter(|kernel| {
            let args = kernel.metadata.as_ref().map(|metadata| metadata.args.clone()).unwrap_or_default();
            let results =
                ["gfx900", "gfx1030"].map(|name| (name, run(&loaded[at(name)].1, &kernel.name, &args)));
            let [(_, first), (_, second)] = &results;
            let mut problems = Vec::new();
            for (name, result) in &results {
                problems.extend(
                    result.as_ref().err().map(|report| format!("{} on {name}: {report}", kernel.name)),
                );
            }
            if let (Ok(first), Ok(second)) = (first, second) {
                let written = contents(&kernel.name);
                if second.iter().all(|buffer| *buffer == written) {
                    problems.push(format!("{} writes nothing", kernel.name));
                }
                let differ = first.iter().zip(second).position(|(a, b)| !same(&kernel.name, a, b));
                problems.extend(differ.map(|k| format!("{}: buffer {k} differs", kernel.name)));
            }
            problems
        })
        .collect();
    assert!(problems.is_empty(), "{}\n{}", problems.len(), problems.join("\n"));
}
