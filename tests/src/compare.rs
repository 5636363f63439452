//! Runs hashcat's kernels as gcnc and as `llc` compiled them on the simulator with the same inputs and
//! compares what they leave in memory.
//!
//! A fast hash's kernel stores nothing unless the digest is the one searched for, which random input never
//! gives. So modules are compiled from a view of hashcat's sources ([`observed_sources`]) in which comparing
//! a digest means mixing it into a buffer; everything before, the hash itself, stays as it is.
//!
//! Arguments are random but such that loops end: lengths, counts and positions are small. What remains wild
//! is harmless, as unmapped memory reads as a function of its address ([`sim::Unmapped::Hash`]). Where
//! `llc`'s object breaks a check itself or uses up its budget, the input says nothing about gcnc and the
//! kernel is skipped. Bits that are undefined after `llc`'s run are not compared.

use crate::measure::{self, Compiler};
use crate::{corpus, toolchain};
use rayon::prelude::*;
use sim::{Arg, BufferId, CodeObject, Config, Dispatch, Memory, Report, Unmapped};
use std::fmt;
use std::path::{Path, PathBuf};

/// Work-items that hashcat's kernels see in `gid_max`; not a multiple of the group, so that lanes leave
/// early.
const ITEMS: u32 = 100;
/// Work-items of a group, the value of `FIXED_LOCAL_SIZE`.
const GROUP: u32 = 64;
/// Arguments of every ordinary kernel (hashcat's `KERN_ATTR`).
const ARGUMENTS: usize = 25;
/// Instructions that `llc`'s object may execute; gcnc's may execute four times as many.
const BUDGET: u64 = 3_000_000;

/// What became of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All defined bits agree.
    Equal {
        /// Wave instructions of gcnc's object.
        gcnc: u64,
        /// Wave instructions of `llc`'s object.
        llc: u64,
    },
    /// The memory differs, or only gcnc's object breaks a check.
    Different(String),
    /// Says nothing, for this reason.
    Skipped(String),
}

/// One kernel's result.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Module.
    pub module: String,
    /// Kernel; empty where the module did not compile.
    pub kernel: String,
    /// Result.
    pub verdict: Verdict,
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:24} {:20} ", self.module, self.kernel)?;
        match &self.verdict {
            Verdict::Equal { gcnc, llc } => write!(f, "equal ({gcnc} instructions, llc {llc})"),
            Verdict::Different(what) => write!(f, "DIFFERENT: {what}"),
            Verdict::Skipped(why) => write!(f, "skipped: {why}"),
        }
    }
}

/// What replaces the comparison of a digest: it is mixed into the buffer of results, 4 dwords for each
/// work-item.
const OBSERVE: &str = "
#define GCNC_OBSERVE(a,b,c,d) { \\
  GLOBAL_AS u32 *seen = d_return_buf + 4 * (gid & 127); \\
  seen[0] = seen[0] * 31 + (u32) (a); seen[1] = seen[1] * 31 + (u32) (b); \\
  seen[2] = seen[2] * 31 + (u32) (c); seen[3] = seen[3] * 31 + (u32) (d); }
#undef COMPARE_S_SIMD
#undef COMPARE_M_SIMD
#undef COMPARE_S_SCALAR
#undef COMPARE_M_SCALAR
#undef MATCHES_NONE_VV
#undef MATCHES_NONE_VS
#define COMPARE_S_SIMD(a,b,c,d) GCNC_OBSERVE (a,b,c,d)
#define COMPARE_M_SIMD(a,b,c,d) GCNC_OBSERVE (a,b,c,d)
#define COMPARE_S_SCALAR(a,b,c,d) GCNC_OBSERVE (a,b,c,d)
#define COMPARE_M_SCALAR(a,b,c,d) GCNC_OBSERVE (a,b,c,d)
#define MATCHES_NONE_VV(a,b) 0
#define MATCHES_NONE_VS(a,b) 0
";

/// A view of hashcat's sources below `folder` in which digests are observable: links to all files but the few
/// that compare.
pub fn observed_sources(hashcat: &Path, folder: &Path) -> Result<(), String> {
    let (from, to) = (hashcat.join("OpenCL"), folder.join("OpenCL"));
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    std::fs::create_dir_all(&to).map_err(|error| failed(&to, error))?;
    for entry in std::fs::read_dir(&from).map_err(|error| failed(&from, error))?.flatten() {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let name = entry.file_name().to_string_lossy().into_owned();
        if target.exists() {
            continue;
        }
        let text = match name.as_str() {
            "inc_simd.h" | "inc_scalar.cl" => {
                let text = std::fs::read_to_string(&source).map_err(|error| failed(&source, error))?;
                Some(text + OBSERVE)
            }
            // Modules that include these may not include the macros above.
            "inc_comp_multi.cl" | "inc_comp_single.cl" | "inc_comp_multi_bs.cl" | "inc_comp_single_bs.cl" => {
                let mix = |k: u32| format!("  seen[{k}] = seen[{k}] * 31 + (u32) r{k};\n");
                let mixes: String = (0..4).map(mix).collect();
                Some(format!("{{\n  GLOBAL_AS u32 *seen = d_return_buf + 4 * (gid & 127);\n{mixes}}}\n"))
            }
            _ => None,
        };
        match text {
            Some(text) => std::fs::write(&target, text).map_err(|error| failed(&target, error))?,
            None => std::os::unix::fs::symlink(&source, &target).map_err(|error| failed(&target, error))?,
        }
    }
    Ok(())
}

/// Bytes of the buffer for argument `index` of an ordinary kernel.
fn buffer_size(index: usize) -> usize {
    match index {
        // `tmps`, `hooks`, and the large memory of scrypt and its like.
        4 | 5 | 20..=23 => 1 << 20,
        // Bitmaps are indexed by a mask of 12 bits.
        6..=13 => 1 << 14,
        _ => 1 << 16,
    }
}

/// Writes `value` as the dword number `index` of `bytes`.
fn put(bytes: &mut [u8], index: usize, value: u32) {
    if let Some(slot) = bytes.get_mut(index * 4..index * 4 + 4) {
        slot.copy_from_slice(&value.to_le_bytes());
    }
}

/// The contents of the buffer for argument `index` of an ordinary kernel. Layouts: hashcat's `inc_types.h`.
fn contents(index: usize, rng: &mut fastrand::Rng) -> Vec<u8> {
    let mut bytes = vec![0; buffer_size(index)];
    rng.fill(&mut bytes);
    let len = bytes.len();
    match index {
        // `pws`, `combs_buf`: 64 dwords of text, then the length (not 0: some kernels divide by it). What is
        // beyond the length is zero, as kernels rely on.
        0 | 2 => {
            for item in 0..len / 260 {
                let length = rng.u32(1..32);
                for byte in &mut bytes[item * 260 + length as usize..item * 260 + 256] {
                    *byte = 0;
                }
                put(&mut bytes, item * 65 + 64, length);
            }
        }
        // `rules_buf`: 32 commands a rule, ended by zero. Two letters that take no parameter and one that
        // takes one.
        1 => {
            for (dword, _) in (0..len).step_by(4).enumerate() {
                let command =
                    *rng.choice(&[u32::from(b'l'), u32::from(b'u'), u32::from(b'r'), 0x3124]).unwrap_or(&0);
                put(&mut bytes, dword, if dword % 32 < 5 { command } else { 0 });
            }
        }
        // `salt_bufs`: 128 dwords of text, then the numbers.
        17 => {
            for item in 0..len / 568 {
                let base = item * 142;
                let numbers = [rng.u32(0..32), rng.u32(0..32), 3, 2, 0, 0, 0, 0, 1, 0, 0, 16, 1, 1];
                numbers.iter().enumerate().for_each(|(k, &number)| put(&mut bytes, base + 128 + k, number));
            }
        }
        // `tmps`, `hooks`, `esalt_bufs`: mostly data, but with many small numbers, as any of them may be a
        // length.
        4 | 5 | 18 => {
            for dword in 0..len / 4 {
                match rng.u32(0..4) {
                    0 => put(&mut bytes, dword, rng.u32(0..32)),
                    1 => put(&mut bytes, dword, 0),
                    _ => {}
                }
            }
        }
        // `kernel_param`.
        24 => {
            bytes.fill(0);
            let numbers = [0xfff, 5, 13, 0, 0, 2, 2, 1, 0, 10_001, 0, 0, 0, 0, ITEMS, 0];
            numbers.iter().enumerate().for_each(|(k, &number)| put(&mut bytes, k, number));
        }
        _ => {}
    }
    bytes
}

/// Memory and arguments for `kernel` of `object`, the same for the same seed.
fn inputs(object: &CodeObject, kernel: &str, seed: u64) -> Result<(Memory, Dispatch, Vec<BufferId>), String> {
    let kernel = object.kernels().iter().find(|k| k.name == kernel).ok_or("the object has no such kernel")?;
    let meta = kernel.metadata.as_ref().ok_or("the kernel has no metadata")?;
    let explicit: Vec<_> = meta.args.iter().filter(|arg| !arg.is_hidden()).collect();
    if explicit.iter().any(|arg| arg.value_kind != "global_buffer") {
        return Err("an argument is no pointer to global memory".to_owned());
    }
    let ordinary = explicit.len() == ARGUMENTS;
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut memory = Memory::new();
    memory.unmapped = Unmapped::Hash;
    let buffers: Vec<BufferId> = (0..explicit.len())
        .map(|index| {
            memory.add_buffer(
                &format!("argument {index}"),
                contents(if ordinary { index } else { 14 }, &mut rng),
            )
        })
        .collect();
    let dispatch = Dispatch {
        kernel: kernel.name.clone(),
        grid: [ITEMS.next_multiple_of(GROUP), 1, 1],
        group: [GROUP, 1, 1],
        args: buffers.iter().map(|&buffer| Arg::Buffer(buffer)).collect(),
        ..Dispatch::default()
    };
    Ok((memory, dispatch, buffers))
}

/// The first line of a report, with its place.
fn one_line(report: &Report) -> String {
    report.to_string().replace("\n ", ";")
}

/// Runs `kernel` of both objects and compares.
pub fn compare_objects(gcnc: &CodeObject, llc: &CodeObject, kernel: &str, seed: u64) -> Verdict {
    let run =
        |object: &CodeObject, (mut memory, dispatch, buffers): (Memory, Dispatch, Vec<BufferId>), budget| {
            let config = Config { unmapped: Unmapped::Hash, budget, seed, ..Config::default() };
            sim::run(object, &mut memory, &dispatch, &config).map(|stats| (memory, buffers, stats))
        };
    let (input, again) = match (inputs(llc, kernel, seed), inputs(llc, kernel, seed)) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(why), _) | (_, Err(why)) => return Verdict::Skipped(why),
    };
    let before = input.0.clone();
    let (expected, buffers, theirs) = match run(llc, input, BUDGET) {
        Ok(result) => result,
        Err(report) => return Verdict::Skipped(format!("llc's object: {}", one_line(&report))),
    };
    let (found, _, ours) = match run(gcnc, again, 4 * BUDGET) {
        Ok(result) => result,
        Err(report) => return Verdict::Different(format!("only gcnc's object: {}", one_line(&report))),
    };
    let mut changed = false;
    for (index, &id) in buffers.iter().enumerate() {
        let (a, b, old) = (expected.bytes(id), found.bytes(id), before.bytes(id));
        let (ua, ub) = (expected.undefined_bits(id), found.undefined_bits(id));
        for at in 0..a.len() {
            changed |= a[at] != old[at];
            let what = if (a[at] ^ b[at]) & !(ua[at] | ub[at]) != 0 {
                "differs"
            } else if ub[at] & !ua[at] != 0 {
                "is undefined in gcnc's only"
            } else {
                continue;
            };
            let count = (at..a.len()).filter(|&k| a[k] != b[k]).count();
            return Verdict::Different(format!(
                "argument {index} {what} at offset 0x{at:x}: llc {:02x}, gcnc {:02x} ({count} bytes differ)",
                a[at], b[at]
            ));
        }
    }
    match changed {
        true => Verdict::Equal { gcnc: ours.instructions, llc: theirs.instructions },
        false => Verdict::Skipped("stores nothing".to_owned()),
    }
}

/// Compiles `bitcode` with both compilers and loads the objects.
pub fn both_objects(
    gcnc: &Path,
    bitcode: &Path,
    out: &Path,
    level: u8,
) -> Result<(CodeObject, CodeObject), String> {
    let stem = bitcode.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let object = |compiler: Compiler| {
        let object = out.join(format!("{stem}-{}.o", compiler.name()));
        measure::compile(compiler, gcnc, bitcode, &object, "gfx900".into(), level).map_err(|error| {
            let line = error.lines().next().unwrap_or_default().to_owned();
            format!("{} refuses the module: {line}", compiler.name())
        })?;
        CodeObject::load(&toolchain::link(&object)?).map_err(|report| report.to_string())
    };
    Ok((object(Compiler::Gcnc)?, object(Compiler::Llc)?))
}

/// Compares `count` kernels, spread evenly over `sources`, and hands each result to `seen` as soon as it is
/// known.
pub fn compare(
    gcnc: &Path,
    hashcat: &Path,
    sources: &[PathBuf],
    cache: &Path,
    count: usize,
    seed: u64,
    seen: &(dyn Fn(&Comparison) + Sync),
) -> Result<Vec<Comparison>, String> {
    let out = tempfile::tempdir().map_err(|error| error.to_string())?;
    let total = sources.len();
    if total == 0 {
        return Ok(Vec::new());
    }
    // `picks[m]` kernels of module m.
    let picks: Vec<usize> = (0..total).map(|m| (m + 1) * count / total - m * count / total).collect();
    let results: Vec<Vec<Comparison>> = sources
        .par_iter()
        .zip(&picks)
        .enumerate()
        .filter(|(_, (_, picked))| **picked > 0)
        .map(|(number, (source, &picked))| {
            let module = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let report = |kernel: &str, verdict| {
                let comparison = Comparison { module: module.clone(), kernel: kernel.to_owned(), verdict };
                seen(&comparison);
                comparison
            };
            // Slow hashes store their state anyway: the bitcode of the plain sources serves.
            let plain = cache.with_file_name("hashcat-bitcode").join(format!("{module}.bc"));
            let bitcode = match module.contains("_a") || !plain.exists() {
                true => corpus::bitcode(hashcat, source, cache, "gfx900"),
                false => Some(plain),
            };
            let Some(bitcode) = bitcode else {
                return vec![report("", Verdict::Skipped("clang rejects the module".to_owned()))];
            };
            let (ours, theirs) = match both_objects(gcnc, &bitcode, out.path(), 2) {
                Ok(objects) => objects,
                Err(why) => return vec![report("", Verdict::Skipped(why))],
            };
            let mut names: Vec<&str> = theirs.kernels().iter().map(|kernel| kernel.name.as_str()).collect();
            names.sort_unstable();
            let mut rng = fastrand::Rng::with_seed(seed ^ (number as u64) << 32);
            rng.shuffle(&mut names);
            names.truncate(picked);
            names.iter().map(|name| report(name, compare_objects(&ours, &theirs, name, seed))).collect()
        })
        .collect();
    Ok(results.into_iter().flatten().collect())
}
