//! hashcat's OpenCL kernels as input: real, large, register-hungry programs.
//!
//! Each source file is one module. clang makes bitcode of it once (kept in the cache), then gcnc compiles the
//! bitcode in a process of its own, so that a crash or a hang is an outcome like any other.

use crate::toolchain;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use wait_timeout::ChildExt;

/// What became of one module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Compiled.
    Accepted,
    /// Refused with this reason (function and instruction left out).
    Refused(String),
    /// Ended by a signal, or reported a defect of gcnc: the last line of standard error.
    Crashed(String),
    /// Took longer than the limit.
    Hung,
}

/// One module's result.
#[derive(Clone, Debug)]
pub struct Report {
    /// File name without extension.
    pub module: String,
    /// Outcome.
    pub outcome: Outcome,
    /// Wall time of the compiler.
    pub time: Duration,
}

/// Every source file of the corpus, sorted.
pub fn sources(hashcat: &Path) -> Result<Vec<PathBuf>, String> {
    let folder = hashcat.join("OpenCL");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with('m')
                && name.ends_with(".cl")
                && name[1..].starts_with(|c: char| c.is_ascii_digit())
        })
        .collect();
    files.sort();
    Ok(files)
}

/// The attack number in a file name such as `m00000_a3-optimized`; slow hashes have none.
fn attack(stem: &str) -> Option<u32> {
    let (_, rest) = stem.split_once("_a")?;
    rest.get(..1)?.parse().ok()
}

/// Modes whose kernels keep Blowfish's 4 KiB of S-boxes in LDS for every work-item.
const BLOWFISH: &[&str] = &["3200", "9000", "18600", "25600", "25800", "28400"];

/// The macros that hashcat's host program passes for `stem` on a plain OpenCL device.
fn macros(stem: &str) -> Vec<String> {
    let mode: String = stem[1..].chars().take_while(char::is_ascii_digit).collect();
    let mode = mode.trim_start_matches('0');
    let attack_number = attack(stem);
    let fixed = "KERNEL_STATIC INCLUDE_PATH=OpenCL XM2S(x)=#x M2S(x)=XM2S(x) VENDOR_ID=1 CUDA_ARCH=0 DEVICE_TYPE=4 \
        LOCAL_MEM_TYPE=1 MAX_THREADS_PER_BLOCK=256 VECT_SIZE=1 DGST_R0=0 DGST_R1=1 DGST_R2=2 DGST_R3=3 DGST_ELEM=4 \
        SCRYPT_N=1024 SCRYPT_R=1 SCRYPT_P=1 SCRYPT_TMTO=0 SCRYPT_TMP_ELEM=8";
    let features =
        "VPERM VADD3 VADD VADDC VADD_CO VADDC_CO VSUB VSUBB VSUB_CO VSUBB_CO VBFE BFE LOP3 MOV64 PRMT";
    fixed
        .split_whitespace()
        .map(|text| format!("-D{text}"))
        .chain(features.split_whitespace().map(|name| format!("-DHAS_{name}=0")))
        .chain([
            format!("-DKERN_TYPE={}", if mode.is_empty() { "0" } else { mode }),
            format!("-DATTACK_EXEC={}", if attack_number.is_some() { 11 } else { 10 }),
            format!("-DATTACK_KERN={}", attack_number.unwrap_or(0)),
            format!("-DATTACK_MODE={}", attack_number.unwrap_or(0)),
            format!("-DFIXED_LOCAL_SIZE={}", if BLOWFISH.contains(&mode) { 16 } else { 64 }),
        ])
        .collect()
}

/// The bitcode of `source` for the processor `cpu`, made by clang unless it is in `cache`, which is for one processor, already; `None` where clang
/// rejects the file.
pub fn bitcode(hashcat: &Path, source: &Path, cache: &Path, cpu: &str) -> Option<PathBuf> {
    let stem = source.file_stem()?.to_string_lossy().into_owned();
    let (bitcode, rejected) = (cache.join(format!("{stem}.bc")), cache.join(format!("{stem}.rejected")));
    if bitcode.exists() {
        return Some(bitcode);
    }
    if rejected.exists() {
        return None;
    }
    let include = |folder: &Path| format!("-I{}", folder.display());
    let mut extra = vec![include(hashcat), include(&hashcat.join("OpenCL"))];
    extra.extend(macros(&stem));
    let extra: Vec<&str> = extra.iter().map(String::as_str).collect();
    // Written under another name first: an interrupted run must not leave half a file behind.
    let partial = cache.join(format!("{stem}.partial"));
    match toolchain::clang(source, &partial, cpu, 2, &extra) {
        Ok(()) => std::fs::rename(&partial, &bitcode).ok().map(|()| bitcode),
        Err(message) => {
            let _ = std::fs::write(&rejected, message);
            None
        }
    }
}

/// Compiles one module in a process of its own.
pub fn compile(
    gcnc: &Path,
    bitcode: &Path,
    object: &Path,
    level: u8,
    limit: Duration,
) -> Result<Report, String> {
    let start = Instant::now();
    let errors = object.with_extension("stderr");
    let file = std::fs::File::create(&errors).map_err(|error| format!("{}: {error}", errors.display()))?;
    let mut child = Command::new(gcnc)
        .args(["-mcpu=gfx900", "-filetype=obj", "--amdhsa-code-object-version=3", "--threads=1"])
        .arg(format!("-O{level}"))
        .arg(bitcode)
        .arg("-o")
        .arg(object)
        .stdin(Stdio::null())
        .stderr(file)
        .spawn()
        .map_err(|error| format!("{}: {error}", gcnc.display()))?;
    let status = child.wait_timeout(limit).map_err(|error| error.to_string())?;
    let text = std::fs::read_to_string(&errors).unwrap_or_default();
    let outcome = match status.map(|status| status.code()) {
        None => {
            let _ = child.kill();
            let _ = child.wait();
            Outcome::Hung
        }
        Some(Some(0)) => Outcome::Accepted,
        Some(Some(1)) => Outcome::Refused(text.lines().next().map(reason).unwrap_or_default()),
        Some(_) => Outcome::Crashed(text.lines().next().unwrap_or("no message").to_owned()),
    };
    let module = bitcode.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Report { module, outcome, time: start.elapsed() })
}

/// The message of a diagnostic without file, function and instruction, so that equal causes count together.
fn reason(line: &str) -> String {
    let text = line.strip_prefix("gcnc: error: ").unwrap_or(line);
    let text = text
        .split_once(": in function ")
        .and_then(|(_, rest)| rest.split_once(": "))
        .map_or(text, |(_, rest)| rest);
    text.split_once(", at ").map_or(text, |(what, _)| what).to_owned()
}

/// Compiles every module of `modules` on all cores.
pub fn compile_all(
    gcnc: &Path,
    modules: &[PathBuf],
    out: &Path,
    level: u8,
    limit: Duration,
) -> Result<Vec<Report>, String> {
    modules
        .par_iter()
        .map(|bitcode| {
            let object = out.join(bitcode.file_name().unwrap_or_default()).with_extension("o");
            compile(gcnc, bitcode, &object, level, limit)
        })
        .collect()
}

/// A summary by outcome, refusals and crashes by reason, most frequent first.
pub fn summary(reports: &[Report]) -> String {
    use std::fmt::Write;
    let count = |wanted: fn(&Outcome) -> bool| reports.iter().filter(|r| wanted(&r.outcome)).count();
    let accepted = count(|o| matches!(o, Outcome::Accepted));
    let (refused, crashed, hung) = (
        count(|o| matches!(o, Outcome::Refused(_))),
        count(|o| matches!(o, Outcome::Crashed(_))),
        count(|o| matches!(o, Outcome::Hung)),
    );
    let mut text = format!(
        "{} modules: {accepted} accepted ({:.1} %), {refused} refused, {crashed} crashed, {hung} hung\n",
        reports.len(),
        100.0 * accepted as f64 / reports.len().max(1) as f64
    );
    let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for report in reports {
        let label = match &report.outcome {
            Outcome::Accepted => continue,
            Outcome::Refused(reason) => format!("refused: {reason}"),
            Outcome::Crashed(message) => format!("crashed: {message}"),
            Outcome::Hung => "hung".to_owned(),
        };
        reasons.entry(label).or_default().push(&report.module);
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, modules)| std::cmp::Reverse(modules.len()));
    for (reason, modules) in reasons {
        let _ = writeln!(text, "{:6}  {reason}  ({})", modules.len(), modules[0]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_count_together() {
        let line = "gcnc: error: m1.bc: in function k: unsupported type i7, at %3 = load i7";
        assert_eq!(reason(line), "unsupported type i7");
        assert_eq!(reason("gcnc: error: m1.bc: bad magic"), "m1.bc: bad magic");
    }

    #[test]
    fn macros_follow_the_file_name() {
        let fast = macros("m00900_a3-optimized");
        assert!(fast.contains(&"-DKERN_TYPE=900".to_owned()) && fast.contains(&"-DATTACK_KERN=3".to_owned()));
        let blowfish = macros("m03200-pure");
        assert!(blowfish.contains(&"-DFIXED_LOCAL_SIZE=16".to_owned()), "all of LDS, not more");
        let slow = macros("m00000-pure");
        assert!(slow.contains(&"-DKERN_TYPE=0".to_owned()) && slow.contains(&"-DATTACK_EXEC=10".to_owned()));
    }
}
