//! Dispatches written in JSON, as the command line takes them.
//!
//! ```json
//! {"kernel": "name", "grid": [256, 1, 1], "group": [64, 1, 1], "dynamic_lds": 0, "unmapped": "fault",
//!  "args": [{"buffer": 1024, "fill": "iota32", "out": "file"}, {"f32": 2.5}, {"local": 256}, {"null": true},
//!           {"image": "image2d:64x32:rgba:f32", "in": "file"}, {"sampler": "repeat:linear:normalized"}]}
//! ```
//!
//! Contents of images are texels without the gaps that rows have in memory.

use crate::dispatch::{Arg, Dispatch, run_on};
use crate::images::{Image, Placed, add_sampler, sampler_flags};
use crate::load::CodeObject;
use crate::memory::{BufferId, Memory, digest};
use crate::printf::Printed;
use crate::report::{Checks, Config, Report, Stats, Unmapped};
use crate::timing::Model;
use mir::target::{Generation, Target};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
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

/// An argument with contents.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BufferArg {
    /// Bytes of a buffer.
    #[serde(default)]
    buffer: Option<u64>,
    /// What an image is, as [`Image::parse`] reads it.
    #[serde(default)]
    image: Option<String>,
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
    /// The arguments with contents.
    pub buffers: Vec<Contents>,
}

/// A buffer of a dispatch, or the texels of an image.
#[derive(Clone, Debug)]
pub struct Contents {
    /// Index of the argument.
    pub arg: usize,
    /// The buffer.
    pub id: BufferId,
    /// The image that it has the texels of.
    pub image: Option<Placed>,
    /// The file that the contents go to.
    pub out: Option<PathBuf>,
}

impl Contents {
    /// `bytes` of the buffer's memory, of an image without gaps.
    fn packed<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        match &self.image {
            Some(image) if !bytes.is_empty() => Cow::Owned(image.packed(bytes)),
            _ => Cow::Borrowed(bytes),
        }
    }
}

impl BufferArg {
    /// What the argument's bytes are: `len` of them, with the file's at their start.
    fn contents(&self, len: usize, base: Option<&Path>) -> Result<Vec<u8>, RunError> {
        let mut data = fill(self.fill.as_deref().unwrap_or("zero"), len)?;
        if let Some(input) = &self.input {
            let name = path(base, input);
            let bytes = std::fs::read(&name).map_err(|e| usage(format!("{}: {e}", name.display())))?;
            let n = bytes.len().min(len);
            data[..n].copy_from_slice(&bytes[..n]);
        }
        Ok(data)
    }
}

impl Described {
    /// Reads `json`, with images laid out for `generation`; file names are relative to `base`.
    ///
    /// Errors: [`RunError::Usage`].
    pub fn from_json(json: &str, base: Option<&Path>, generation: Generation) -> Result<Self, RunError> {
        Self::within(json, base, generation, BUFFERS_MAX)
    }

    /// [`Self::from_json`] where all buffers together have `most` bytes at most.
    ///
    /// Errors: [`RunError::Usage`].
    pub fn within(
        json: &str,
        base: Option<&Path>,
        generation: Generation,
        most: u64,
    ) -> Result<Self, RunError> {
        let file: File = serde_json::from_str(json).map_err(|e| usage(format!("dispatch: {e}")))?;
        let mut reader =
            Reader { base, generation, most, left: most, memory: Memory::new(), buffers: Vec::new() };
        let args = file.args.iter().enumerate();
        let args = args.map(|(index, arg)| reader.arg(index, arg)).collect::<Result<_, _>>()?;
        let dispatch = Dispatch {
            kernel: file.kernel,
            grid: file.grid,
            group: file.group,
            dynamic_lds: file.dynamic_lds,
            args,
            offset: file.offset,
        };
        let Reader { memory, buffers, .. } = reader;
        Ok(Self { dispatch, memory, unmapped: file.unmapped, buffers })
    }
}

/// Reads arguments.
struct Reader<'a> {
    base: Option<&'a Path>,
    generation: Generation,
    /// Bytes that all buffers may have, and how many of them are left.
    most: u64,
    left: u64,
    memory: Memory,
    buffers: Vec<Contents>,
}

impl Reader<'_> {
    /// Takes `bytes` from what is left.
    fn take(&mut self, bytes: u64, index: usize) -> Result<(), RunError> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| {
            let most = self.most;
            usage(format!("argument {index}: the buffers have more than the limit of {most} bytes"))
        })?;
        Ok(())
    }

    fn arg(&mut self, index: usize, arg: &Value) -> Result<Arg, RunError> {
        let wrong = || usage(format!("argument {index}: {arg}"));
        let map = arg.as_object().ok_or_else(wrong)?;
        if map.contains_key("buffer") || map.contains_key("image") {
            let read = serde_json::from_value(arg.clone());
            return self.buffer(index, read.map_err(|e| usage(format!("argument {index}: {e}")))?);
        }
        let (kind, value) = map.iter().next().filter(|_| map.len() == 1).ok_or_else(wrong)?;
        Ok(match kind.as_str() {
            "local" => Arg::Local(value.as_u64().and_then(|n| u32::try_from(n).ok()).ok_or_else(wrong)?),
            "null" => Arg::Address(0),
            "sampler" => {
                let text = value.as_u64().map(|flags| flags.to_string());
                let text = text.as_deref().or_else(|| value.as_str()).ok_or_else(wrong)?;
                let flags = sampler_flags(text).map_err(|e| usage(format!("argument {index}: {e}")))?;
                Arg::Buffer(add_sampler(&mut self.memory, &format!("sampler of argument {index}"), flags))
            }
            _ => Arg::Value(scalar(kind, value).ok_or_else(wrong)?),
        })
    }

    fn buffer(&mut self, arg: usize, given: BufferArg) -> Result<Arg, RunError> {
        let wrong = |what: String| usage(format!("argument {arg}: {what}"));
        let out = given.out.as_deref().map(|out| path(self.base, out));
        let (placed, id, image) = match (given.buffer, &given.image) {
            (Some(bytes), None) => {
                if bytes > BUFFER_MAX {
                    return Err(wrong(format!("a buffer of {bytes} bytes")));
                }
                self.take(bytes, arg)?;
                let data = given.contents(bytes as usize, self.base)?;
                let id = self.memory.add_buffer(&format!("buffer of argument {arg}"), data);
                (id, id, None)
            }
            (None, Some(text)) => {
                let (image, rest) = Image::parse(text, None).map_err(wrong)?;
                if let Some(rest) = rest {
                    return Err(wrong(format!("`{rest}` behind an image: `fill` and `in` give it contents")));
                }
                image.check_bytes(self.generation, BUFFER_MAX).map_err(wrong)?;
                self.take(image.memory_bytes(self.generation), arg)?;
                let texels = given.contents(image.bytes(), self.base)?;
                let name = format!("image of argument {arg}");
                let placed = image.place(&mut self.memory, &name, &texels, self.generation);
                (placed.words, placed.texels, Some(placed))
            }
            _ => return Err(wrong("it is a buffer or an image".to_owned())),
        };
        self.buffers.push(Contents { arg, id, image, out });
        Ok(Arg::Buffer(placed))
    }
}

/// Runs the dispatch `json` of the code object `object`.
pub fn run_from_json(object: &[u8], json: &str, options: &RunOptions) -> Result<Outcome, RunError> {
    let object = CodeObject::load(object)?;
    let target = match (options.target, object.processor()) {
        (Some(target), _) => target,
        (None, Some(processor)) => Target::new(processor),
        (None, None) => return Err(usage("the object names no processor known here")),
    };
    let Described { dispatch, mut memory, unmapped, buffers } = Described::within(
        json,
        options.base.as_deref(),
        target.generation(),
        options.memory_limit.unwrap_or(u64::MAX),
    )?;
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
    let ran = run_on(&object, &mut memory, &dispatch, &cfg, &target);
    if let Some(print) = options.print {
        print(&memory.printed);
    }
    let stats = ran?;
    let mut outcome = Outcome { kernel: dispatch.kernel, stats, buffers: Vec::new() };
    for buffer in buffers {
        let bytes = buffer.packed(memory.bytes(buffer.id));
        if let Some(name) = &buffer.out {
            std::fs::write(name, &bytes).map_err(|e| usage(format!("{}: {e}", name.display())))?;
        }
        let undefined = buffer.packed(memory.undefined_bits(buffer.id));
        outcome.buffers.push(BufferOutcome {
            arg: buffer.arg,
            bytes: bytes.len(),
            digest: format!("{:016x}", digest(&bytes)),
            undefined_bytes: undefined.iter().filter(|u| **u != 0).count(),
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
        let within = |most| Described::within(json, None, Generation::Gfx9, most);
        assert!(within(17).is_ok());
        let error = within(16).unwrap_err();
        assert!(
            error.to_string().contains("argument 1") && error.to_string().contains("limit of 16"),
            "{error}"
        );
    }

    #[test]
    fn images_are_laid_out_for_the_generation() {
        let described = |args: &str, generation| {
            let json =
                format!(r#"{{"kernel": "k", "grid": [1, 1, 1], "group": [1, 1, 1], "args": [{args}]}}"#);
            Described::within(&json, None, generation, 1 << 20)
        };
        let args = r#"{"image": "image2d:3x2:r:u16", "fill": "iota32"}, {"sampler": "linear:clamp"}, {"sampler": 18}"#;
        for (generation, bytes) in [(Generation::Gfx8, 12), (Generation::Gfx10, 512)] {
            let made = described(args, generation).unwrap();
            let [texels] = &made.buffers[..] else { panic!("one argument has contents") };
            assert_eq!(made.memory.bytes(texels.id).len(), bytes);
            assert_eq!(*texels.packed(made.memory.bytes(texels.id)), [0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]);
            let words = texels.image.unwrap().words;
            let [Arg::Buffer(image), Arg::Buffer(sampler), Arg::Buffer(_)] = made.dispatch.args[..] else {
                panic!("three addresses")
            };
            assert_eq!((image, made.memory.bytes(words).len()), (words, 48));
            assert_eq!(made.memory.read_u32s(sampler), mir::abi::sampler::words(0x24));
        }
        for (args, text) in [
            (r#"{"image": "image2d:3x2:r:u16:ones"}"#, "`ones` behind an image"),
            (r#"{"image": "3x2:r:u16"}"#, "argument 0: its type is not known"),
            (r#"{"image": "image2d:3x2:r:u16", "buffer": 4}"#, "a buffer or an image"),
            (r#"{"image": "image2d:9000x9000:rgba:f32"}"#, "limit of 1048576"),
            (r#"{"sampler": "blue"}"#, "no word of a sampler"),
            (r#"{"sampler": [1]}"#, "argument 0"),
        ] {
            let error = described(args, Generation::Gfx9).unwrap_err().to_string();
            assert!(error.contains(text), "{args}: {error}");
        }
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
