//! Dispatches written in JSON, as the command line takes them.
//!
//! ```json
//! {"kernel": "name", "grid": [256, 1, 1], "group": [64, 1, 1], "dynamic_lds": 0, "unmapped": "fault",
//!  "args": [{"buffer": 1024, "fill": "iota32", "out": "file"}, {"f32": 2.5}, {"local": 256}, {"null": true}]}
//! ```

use crate::dispatch::{Arg, Dispatch, run_on};
use crate::load::CodeObject;
use crate::memory::{BufferId, Memory, digest};
use crate::printf::Printed;
use crate::report::{Checks, Config, Report, Stats, Unmapped};
use crate::timing::Model;
use mir::target::Target;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Buffers larger than this are refused.
const BUFFER_MAX: u64 = 1 << 32;

/// Bytes of all buffers together that are refused.
const BUFFERS_MAX: u64 = 1 << 34;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    kernel: String,
    grid: [u32; 3],
    group: [u32; 3],
    #[serde(default)]
    dynamic_lds: u32,
    #[serde(default)]
    offset: [u64; 3],
    #[serde(default)]
    args: Vec<Value>,
    #[serde(default)]
    unmapped: Unmapped,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BufferArg {
    buffer: u64,
    #[serde(default)]
    fill: Option<String>,
    #[serde(rename = "in", default)]
    input: Option<PathBuf>,
    #[serde(default)]
    out: Option<PathBuf>,
}

/// How [`run_from_json`] runs.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// `--strict`: `all`, `none` or a list; `None` is `all`.
    pub strict: Option<String>,
    /// `--seed`.
    pub seed: u64,
    /// Processor to run on instead of the object's.
    pub target: Option<Target>,
    /// Instruction budget; `None` is the default.
    pub budget: Option<u64>,
    /// Bytes of all buffers together.
    pub memory_limit: Option<u64>,
    /// Limits the time, and tells how far the run is.
    pub watch: Option<std::sync::Arc<crate::Watch>>,
    /// Prints each instruction.
    pub trace: bool,
    /// Models cycles.
    pub model: Option<Model>,
    /// Is told what the kernel printed, also where it was stopped.
    pub print: Option<fn(&Printed)>,
    /// Directory that file names are relative to.
    pub base: Option<PathBuf>,
}

/// What a run left.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Kernel.
    pub kernel: String,
    /// Counts.
    #[serde(flatten)]
    pub stats: Stats,
    /// The buffers, in the order of the arguments.
    pub buffers: Vec<BufferOutcome>,
}

/// A buffer after the run.
#[derive(Clone, Debug, Serialize)]
pub struct BufferOutcome {
    /// Index of its argument.
    pub arg: usize,
    /// Size.
    pub bytes: usize,
    /// Digest of the contents (FNV-1a, 64 bits), in hexadecimal.
    pub digest: String,
    /// Bytes with undefined bits.
    pub undefined_bytes: usize,
}

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The dispatch, a file or an option is wrong.
    #[error("{0}")]
    Usage(String),
    /// The run was stopped.
    #[error("{0}")]
    Stopped(Box<Report>),
}

impl From<Box<Report>> for RunError {
    fn from(report: Box<Report>) -> Self {
        Self::Stopped(report)
    }
}

fn usage(message: impl Into<String>) -> RunError {
    RunError::Usage(message.into())
}

/// xorshift64*: the random fill.
fn random_bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut out = Vec::with_capacity(len + 8);
    while out.len() < len {
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        out.extend_from_slice(&x.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes());
    }
    out.truncate(len);
    out
}

fn fill(spec: &str, len: usize) -> Result<Vec<u8>, RunError> {
    match spec.split_once(':') {
        None if spec == "zero" => Ok(vec![0; len]),
        None if spec == "iota32" => Ok((0u32..).flat_map(u32::to_le_bytes).take(len).collect()),
        Some(("random", seed)) => {
            let seed = seed.parse().map_err(|_| usage(format!("seed of fill `{spec}`")))?;
            Ok(random_bytes(seed, len))
        }
        _ => Err(usage(format!("unknown fill `{spec}`"))),
    }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    digits
        .chunks(2)
        .map(|c| std::str::from_utf8(c).ok().and_then(|s| u8::from_str_radix(s, 16).ok()))
        .collect()
}

fn integer(value: &Value, bits: u32) -> Option<Vec<u8>> {
    let wide = value.as_i64().map(|x| x as u64).or_else(|| value.as_u64())?;
    Some(wide.to_le_bytes()[..(bits / 8) as usize].to_vec())
}

fn scalar(kind: &str, value: &Value) -> Option<Vec<u8>> {
    Some(match kind {
        "u8" | "i8" => integer(value, 8)?,
        "u16" | "i16" => integer(value, 16)?,
        "u32" | "i32" => integer(value, 32)?,
        "u64" | "i64" => integer(value, 64)?,
        "f16" => (crate::fp::f64_to_f16(value.as_f64()?) as u16).to_le_bytes().to_vec(),
        "f32" => (value.as_f64()? as f32).to_le_bytes().to_vec(),
        "f64" => value.as_f64()?.to_le_bytes().to_vec(),
        "bytes" => hex(value.as_str()?)?,
        _ => return None,
    })
}

fn path(base: Option<&Path>, file: &Path) -> PathBuf {
    base.map_or_else(|| file.to_owned(), |b| b.join(file))
}

/// A dispatch as JSON describes it, with its buffers.
#[derive(Clone, Debug)]
pub struct Described {
    /// The dispatch.
    pub dispatch: Dispatch,
    /// The buffers, filled.
    pub memory: Memory,
    /// How unmapped memory behaves.
    pub unmapped: Unmapped,
    /// Argument, buffer, and the file that its contents go to.
    pub buffers: Vec<(usize, BufferId, Option<PathBuf>)>,
}

impl Described {
    /// Reads `json`; file names are relative to `base`.
    ///
    /// Errors: [`RunError::Usage`].
    pub fn from_json(json: &str, base: Option<&Path>) -> Result<Self, RunError> {
        Self::within(json, base, BUFFERS_MAX)
    }

    /// [`Self::from_json`] where all buffers together have `most` bytes at most.
    ///
    /// Errors: [`RunError::Usage`].
    pub fn within(json: &str, base: Option<&Path>, most: u64) -> Result<Self, RunError> {
        let mut left = most;
        let file: File = serde_json::from_str(json).map_err(|e| usage(format!("dispatch: {e}")))?;
        let mut memory = Memory::new();
        let mut buffers: Vec<(usize, BufferId, Option<PathBuf>)> = Vec::new();
        let mut args = Vec::new();
        for (i, arg) in file.args.iter().enumerate() {
            let wrong = || usage(format!("argument {i}: {arg}"));
            let map = arg.as_object().ok_or_else(wrong)?;
            if map.contains_key("buffer") {
                let b: BufferArg =
                    serde_json::from_value(arg.clone()).map_err(|e| usage(format!("argument {i}: {e}")))?;
                if b.buffer > BUFFER_MAX {
                    return Err(usage(format!("argument {i}: a buffer of {} bytes", b.buffer)));
                }
                left = left.checked_sub(b.buffer).ok_or_else(|| {
                    usage(format!("argument {i}: the buffers have more than the limit of {most} bytes"))
                })?;
                let len = b.buffer as usize;
                let mut data = fill(b.fill.as_deref().unwrap_or("zero"), len)?;
                if let Some(input) = &b.input {
                    let name = path(base, input);
                    let bytes =
                        std::fs::read(&name).map_err(|e| usage(format!("{}: {e}", name.display())))?;
                    let n = bytes.len().min(len);
                    data[..n].copy_from_slice(&bytes[..n]);
                }
                let id = memory.add_buffer(&format!("buffer of argument {i}"), data);
                buffers.push((i, id, b.out.map(|o| path(base, &o))));
                args.push(Arg::Buffer(id));
                continue;
            }
            let (kind, value) = map.iter().next().filter(|_| map.len() == 1).ok_or_else(wrong)?;
            args.push(match kind.as_str() {
                "local" => Arg::Local(value.as_u64().and_then(|n| u32::try_from(n).ok()).ok_or_else(wrong)?),
                "null" => Arg::Address(0),
                _ => Arg::Value(scalar(kind, value).ok_or_else(wrong)?),
            });
        }
        let dispatch = Dispatch {
            kernel: file.kernel,
            grid: file.grid,
            group: file.group,
            dynamic_lds: file.dynamic_lds,
            args,
            offset: file.offset,
        };
        Ok(Self { dispatch, memory, unmapped: file.unmapped, buffers })
    }
}

/// Runs the dispatch `json` of the code object `object`.
pub fn run_from_json(object: &[u8], json: &str, options: &RunOptions) -> Result<Outcome, RunError> {
    let Described { dispatch, mut memory, unmapped, buffers } =
        Described::within(json, options.base.as_deref(), options.memory_limit.unwrap_or(u64::MAX))?;
    let object = CodeObject::load(object)?;
    let checks = match &options.strict {
        Some(list) => Checks::parse(list).map_err(usage)?,
        None => Checks::default(),
    };
    let (seed, trace, model) = (options.seed, options.trace, options.model);
    let watch = options.watch.clone();
    let mut cfg = Config { checks, unmapped, watch, seed, trace, model, ..Config::default() };
    if let Some(budget) = options.budget {
        cfg.budget = budget;
    }
    let target = match (options.target, object.processor()) {
        (Some(target), _) => target,
        (None, Some(processor)) => Target::new(processor),
        (None, None) => return Err(usage("the object names no processor known here")),
    };
    let ran = run_on(&object, &mut memory, &dispatch, &cfg, &target);
    if let Some(print) = options.print {
        print(&memory.printed);
    }
    let stats = ran?;
    let mut outcome = Outcome { kernel: dispatch.kernel, stats, buffers: Vec::new() };
    for (arg, id, out) in buffers {
        let bytes = memory.bytes(id);
        if let Some(name) = out {
            std::fs::write(&name, bytes).map_err(|e| usage(format!("{}: {e}", name.display())))?;
        }
        outcome.buffers.push(BufferOutcome {
            arg,
            bytes: bytes.len(),
            digest: format!("{:016x}", digest(bytes)),
            undefined_bytes: memory.undefined_bits(id).iter().filter(|u| **u != 0).count(),
        });
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_share_a_limit() {
        let json = r#"{"kernel": "k", "grid": [1, 1, 1], "group": [1, 1, 1], "args": [{"buffer": 8}, {"buffer": 9}]}"#;
        assert!(Described::within(json, None, 17).is_ok());
        let error = Described::within(json, None, 16).unwrap_err();
        assert!(
            error.to_string().contains("argument 1") && error.to_string().contains("limit of 16"),
            "{error}"
        );
    }

    #[test]
    fn fills_and_scalars() {
        assert_eq!(fill("iota32", 10).unwrap(), [0, 0, 0, 0, 1, 0, 0, 0, 2, 0]);
        assert_eq!(fill("random:1", 9).unwrap().len(), 9);
        assert_ne!(fill("random:1", 64).unwrap(), fill("random:2", 64).unwrap());
        assert!(fill("x", 1).is_err());
        assert_eq!(scalar("i16", &Value::from(-2)).unwrap(), [0xfe, 0xff]);
        assert_eq!(scalar("u64", &Value::from(u64::MAX)).unwrap(), [0xff; 8]);
        assert_eq!(scalar("f16", &Value::from(1.5)).unwrap(), [0, 0x3e]);
        assert_eq!(scalar("bytes", &Value::from("0a 0B")).unwrap(), [10, 11]);
        assert!(scalar("u32", &Value::from("x")).is_none());
    }
}
