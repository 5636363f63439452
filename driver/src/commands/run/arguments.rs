//! Arguments of a kernel as people write them: `n=1024`, `out=zeros:1024xf32`, `in=file:data.bin`, `1,2,3`.
//!
//! What an argument is comes of the kernel's metadata: name, kind, size and, of OpenCL, the type's name.

use super::images;
use super::values::Element;
use mir::abi::metadata::ArgMeta;
use mir::target::Generation;
use sim::images::{Placed, add_sampler, sampler_flags};
use sim::{Arg, BufferId, Memory};
use std::io::Read as _;
use std::path::Path;

/// A buffer of the run, or the texels of an image.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Name of its argument, or its number.
    pub name: String,
    /// Number of the argument.
    pub index: usize,
    /// Its memory.
    pub id: BufferId,
    /// Type of its elements.
    pub element: Element,
    /// The image that it has the texels of.
    pub image: Option<Placed>,
}

/// Arguments and their memory.
#[derive(Clone, Debug)]
pub struct Arguments {
    /// In the order of the kernel.
    pub args: Vec<Arg>,
    /// The buffers.
    pub buffers: Vec<Buffer>,
    /// All memory.
    pub memory: Memory,
}

/// The explicit arguments among `all`.
pub fn explicit(all: &[ArgMeta]) -> Vec<&ArgMeta> {
    all.iter().filter(|arg| !arg.is_hidden()).collect()
}

/// An argument's name, or its number where it has none. clang puts `.coerce` behind the names of HIP's pointers.
pub fn name_of(index: usize, arg: &ArgMeta) -> String {
    let name = arg.name.as_deref().map(|name| name.strip_suffix(".coerce").unwrap_or(name));
    name.filter(|name| !name.is_empty()).map_or_else(|| index.to_string(), str::to_owned)
}

/// What a kernel wants, one argument a line.
pub fn describe(kernel: &[&ArgMeta]) -> String {
    let line = |(index, arg): (usize, &&ArgMeta)| {
        let element = arg.type_name.as_deref().and_then(pointee).map_or("i32", Element::name);
        let name = name_of(index, arg);
        let example = match arg.value_kind.as_str() {
            "global_buffer" => format!("zeros:1024x{element}"),
            "dynamic_shared_pointer" => format!("256x{element}"),
            "by_value" if arg.type_name.is_none() && [2, 4, 8].contains(&arg.size) => {
                format!("1:i{bits} or {name}=1:f{bits}", bits = 8 * arg.size)
            }
            "by_value" => "1".to_owned(),
            "image" => images::EXAMPLE.to_owned(),
            "sampler" => images::SAMPLER_EXAMPLE.to_owned(),
            _ => "(needs --dispatch)".to_owned(),
        };
        let ty = arg.type_name.clone().unwrap_or_else(|| format!("{} bytes", arg.size));
        let shown = if arg.name.is_some() { format!(" {name}") } else { String::new() };
        format!("\n  {index}: {ty}{shown}, {}: --arg {name}={example}", arg.value_kind)
    };
    kernel.iter().enumerate().map(line).collect()
}

/// Reads what the command line gives for `kernel`'s arguments on processors of `generation`. All buffers together have at most `memory_limit` bytes.
///
/// # Errors
/// A message that says which argument is wrong or missing, and what the kernel wants.
pub fn read(
    given: &[String],
    kernel: &[&ArgMeta],
    memory_limit: u64,
    generation: Generation,
) -> Result<Arguments, String> {
    let mut specs: Vec<Option<&str>> = vec![None; kernel.len()];
    let wants = || {
        format!("; the kernel wants{}", if kernel.is_empty() { " none".to_owned() } else { describe(kernel) })
    };
    for (order, text) in given.iter().enumerate() {
        let (index, spec) = match named(text) {
            Some((name, spec)) => {
                let by_name =
                    || kernel.iter().enumerate().position(|(index, arg)| name_of(index, arg) == name);
                let index = by_name().or_else(|| name.parse().ok().filter(|&index| index < kernel.len()));
                (index.ok_or_else(|| format!("no argument is called `{name}`{}", wants()))?, spec)
            }
            None => (order, &**text),
        };
        let place = specs
            .get_mut(index)
            .ok_or_else(|| format!("{} arguments are too many{}", given.len(), wants()))?;
        if place.replace(spec).is_some() {
            return Err(format!("argument `{}` is given twice", name_of(index, kernel[index])));
        }
    }
    let mut out = Arguments { args: Vec::new(), buffers: Vec::new(), memory: Memory::new() };
    let mut left = memory_limit;
    for (index, (arg, spec)) in kernel.iter().zip(specs).enumerate() {
        let name = name_of(index, arg);
        let spec = spec.ok_or_else(|| format!("argument `{name}` is missing{}", wants()))?;
        let made = one(&mut out, index, arg, spec, &mut left, generation);
        made.map_err(|message| format!("argument `{name}`: {message}"))?;
    }
    Ok(out)
}

/// Name and value of `NAME=VALUE`.
pub fn named(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
    is_name.then_some((name, value))
}

fn one(
    out: &mut Arguments,
    index: usize,
    arg: &ArgMeta,
    spec: &str,
    left: &mut u64,
    generation: Generation,
) -> Result<(), String> {
    match arg.value_kind.as_str() {
        "by_value" => out.args.push(Arg::Value(by_value(arg, spec)?)),
        "dynamic_shared_pointer" => {
            let spec = spec.strip_prefix("local:").unwrap_or(spec);
            let bytes = match spec.parse::<u64>() {
                Ok(bytes) => bytes,
                Err(_) => {
                    let (count, element) = counted(spec, None)?;
                    count.saturating_mul(element.bytes() as u64)
                }
            };
            let bytes = u32::try_from(bytes).map_err(|_| format!("{bytes} bytes of LDS"))?;
            out.args.push(Arg::Local(bytes));
        }
        "global_buffer" if spec == "null" => out.args.push(Arg::Address(0)),
        "global_buffer" => {
            let pointee = arg.type_name.as_deref().and_then(pointee);
            let contents = contents(spec, pointee, *left)?;
            *left -= contents.bytes.len() as u64;
            let name = name_of(index, arg);
            let id = out.memory.add_buffer(&format!("buffer `{name}`"), contents.bytes);
            if contents.undefined {
                out.memory.set_undefined(id);
            }
            out.buffers.push(Buffer { name, index, id, element: contents.element, image: None });
            out.args.push(Arg::Buffer(id));
        }
        "image" => {
            let (name, type_name) = (name_of(index, arg), arg.type_name.as_deref());
            let made = images::image((index, &name), type_name, spec, &mut out.memory, left, generation)?;
            out.buffers.push(made.0);
            out.args.push(made.1);
        }
        "sampler" => {
            let name = format!("sampler `{}`", name_of(index, arg));
            out.args.push(Arg::Buffer(add_sampler(&mut out.memory, &name, sampler_flags(spec)?)));
        }
        other => return Err(format!("an argument of kind {other} can be given by --dispatch alone")),
    }
    Ok(())
}

/// Type of the elements behind a pointer's type, `float4*` for instance.
fn pointee(type_name: &str) -> Option<Element> {
    let name = type_name.trim().strip_suffix('*')?;
    let name = name.trim().trim_start_matches("const ").trim_start_matches("volatile ");
    Element::named(name).map(|(element, _)| element)
}

/// Bytes of an argument passed by value.
fn by_value(arg: &ArgMeta, spec: &str) -> Result<Vec<u8>, String> {
    let size = arg.size as usize;
    let check = |bytes: Vec<u8>| match bytes.len() == size {
        true => Ok(bytes),
        false => Err(format!("{} bytes, and the kernel takes {size}", bytes.len())),
    };
    if let Some(digits) = spec.strip_prefix("hex:") {
        return check(hex(digits)?);
    }
    let (list, element) = match spec.rsplit_once(':') {
        Some((list, ty)) => (list, Some(Element::named(ty).ok_or_else(|| format!("`{ty}` is no type"))?.0)),
        None => (spec, arg.type_name.as_deref().and_then(Element::named).map(|(element, _)| element)),
    };
    let values: Vec<&str> = list.split(',').collect();
    let looks_like_float = list.contains(['.', 'n', 'N']) || list.contains('e') && !list.contains("0x");
    let each = size / values.len().max(1);
    let element = match element {
        Some(element) => element,
        None if looks_like_float && [2, 4, 8].contains(&each) => Element::Float { bytes: each as u8 },
        None if each == 1 => Element::Int { bytes: 1, signed: true },
        None if [2, 4, 8].contains(&each) && list.contains("0x") => {
            Element::Int { bytes: each as u8, signed: true }
        }
        None if [2, 4, 8].contains(&each) => {
            let bits = 8 * each;
            return Err(format!(
                "whether its {size} bytes are integers or floats is not known: `{list}:i{bits}` or `{list}:f{bits}`"
            ));
        }
        None => {
            return Err(format!(
                "{} values in {size} bytes: say their type (`:f32`), or give bytes (`hex:…`)",
                values.len()
            ));
        }
    };
    let mut bytes = Vec::with_capacity(size);
    for value in values {
        bytes.extend(element.parse(value)?);
    }
    // A vector of three has the size of one of four.
    if bytes.len() == 3 * element.bytes() && size == 4 * element.bytes() {
        bytes.resize(size, 0);
    }
    check(bytes)
}

/// What a buffer starts with, or is expected to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether they are undefined.
    pub undefined: bool,
    /// The type of the elements.
    pub element: Element,
}

/// Reads `zeros:NxT`, `ones:NxT`, `iota:NxT`, `random:NxT[:SEED]`, `undef:NxT`, `file:PATH[:T]`, `hex:…`, or a list `1,2,3[:T]`. `pointee` is
/// the type where the text has none, and `most` the largest size.
///
/// # Errors
/// A message.
pub fn contents(spec: &str, pointee: Option<Element>, most: u64) -> Result<Contents, String> {
    let too_large =
        |bytes: u64| format!("{bytes} bytes are more than the {most} that are left (--memory-limit)");
    let (word, rest) = spec.split_once(':').unwrap_or(("", spec));
    let default = pointee.unwrap_or(Element::Int { bytes: 1, signed: false });
    let made = |bytes, element| Contents { bytes, undefined: false, element };
    match word {
        "file" => {
            // A type behind the path, where there is one.
            let (path, element) = match rest.rsplit_once(':') {
                Some((path, ty)) if Element::named(ty).is_some() && !Path::new(rest).exists() => {
                    (path, Element::named(ty).map_or(default, |(element, _)| element))
                }
                _ => (rest, default),
            };
            // A device has no size that says when to stop.
            let file = std::fs::File::open(path).map_err(|error| format!("{path}: {error}"))?;
            let mut bytes = Vec::new();
            let read = file.take(most.saturating_add(1)).read_to_end(&mut bytes);
            read.map_err(|error| format!("{path}: {error}"))?;
            if bytes.len() as u64 > most {
                return Err(format!("{path} has more bytes than the {most} that are left (--memory-limit)"));
            }
            Ok(made(bytes, element))
        }
        "hex" => Ok(made(hex(rest)?, default)),
        "zeros" | "zero" | "ones" | "iota" | "random" | "undef" => {
            let (rest, seed) = match (word, rest.rsplit_once(':')) {
                ("random", Some((rest, seed))) => {
                    (rest, seed.parse().map_err(|_| format!("`{seed}` is no seed: a number"))?)
                }
                _ => (rest, 1u64),
            };
            let (count, element) = counted(rest, pointee)?;
            let size = count.saturating_mul(element.bytes() as u64);
            if size > most {
                return Err(too_large(size));
            }
            let (count, size) = (count as usize, size as usize);
            let mut bytes = Vec::with_capacity(size);
            match word {
                "zeros" | "zero" | "undef" => bytes.resize(size, 0),
                "ones" => {
                    let one = element.iota(1);
                    (0..count).for_each(|_| bytes.extend_from_slice(&one));
                }
                "iota" => (0..count).for_each(|index| bytes.extend(element.iota(index))),
                _ => {
                    let mut random = Random::new(seed);
                    (0..count).for_each(|_| bytes.extend(element.random(random.next())));
                }
            }
            Ok(Contents { bytes, undefined: word == "undef", element })
        }
        _ => {
            let (list, element) = match spec.rsplit_once(':') {
                Some((list, ty)) => {
                    (list, Some(Element::named(ty).ok_or_else(|| format!("`{ty}` is no type"))?.0))
                }
                None => (spec, pointee),
            };
            let looks_like_float = list.contains(['.', 'e', 'n', 'N']) && !list.contains("0x");
            let guess = if looks_like_float {
                Element::Float { bytes: 4 }
            } else {
                Element::Int { bytes: 4, signed: true }
            };
            let element = element.unwrap_or(guess);
            let mut bytes = Vec::new();
            for value in list.split(',') {
                let parsed = element.parse(value);
                bytes.extend(parsed.map_err(|message| {
                    format!("{message}; a buffer is a list of numbers, or zeros:NxT, ones:, iota:, random:NxT:SEED, undef:, file:PATH, hex:, null")
                })?);
            }
            if bytes.len() as u64 > most {
                return Err(too_large(bytes.len() as u64));
            }
            Ok(made(bytes, element))
        }
    }
}

/// Number and type of `1024xf32`; without a type, `pointee`'s.
fn counted(text: &str, pointee: Option<Element>) -> Result<(u64, Element), String> {
    let (count, ty) = match text.split_once('x').filter(|(count, _)| *count != "0") {
        Some((count, ty)) => (count, Some(ty)),
        None => (text, None),
    };
    let count: u64 =
        count.parse().map_err(|_| format!("`{text}` is no size: NUMBERxTYPE, for instance 1024xf32"))?;
    match ty {
        Some(ty) => {
            let (element, lanes) = Element::named(ty)
                .ok_or_else(|| format!("`{ty}` is no type: i8 to u64, f16, f32, f64, float4 and so on"))?;
            // A vector of three takes the place of four.
            let lanes = if lanes == 3 { 4 } else { lanes };
            Ok((count.saturating_mul(lanes as u64), element))
        }
        None => match pointee {
            Some(element) => Ok((count, element)),
            None => Err(format!("the type of the elements is not known: {count}xf32, for instance")),
        },
    }
}

fn hex(text: &str) -> Result<Vec<u8>, String> {
    let wrong = || format!("`{text}` is not an even number of hexadecimal digits");
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return Err(wrong());
    }
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| {
            std::str::from_utf8(pair)
                .ok()
                .and_then(|pair| u8::from_str_radix(pair, 16).ok())
                .ok_or_else(wrong)
        })
        .collect()
}

/// xorshift64*: numbers that depend on the seed alone.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arg(name: &str, kind: &str, ty: &str, size: u32) -> ArgMeta {
        ArgMeta {
            name: (!name.is_empty()).then(|| name.to_owned()),
            type_name: (!ty.is_empty()).then(|| ty.to_owned()),
            value_kind: kind.to_owned(),
            size,
            ..ArgMeta::default()
        }
    }

    fn given(words: &str) -> Vec<String> {
        words.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn by_name_by_number_and_in_order() {
        let kernel = [
            arg("out", "global_buffer", "float*", 8),
            arg("n", "by_value", "uint", 4),
            arg("", "dynamic_shared_pointer", "int*", 4),
        ];
        let kernel: Vec<&ArgMeta> = kernel.iter().collect();
        let read = |words: &str| read(&given(words), &kernel, 1 << 20, Generation::Gfx9);
        for words in ["n=7 out=zeros:16 2=64xi32", "zeros:16xf32 7 256", "2=local:256 1=0x7 0=zeros:16"] {
            let made = read(words).unwrap();
            assert_eq!(made.args[1..], [Arg::Value(vec![7, 0, 0, 0]), Arg::Local(256)], "{words}");
            assert_eq!(
                (made.buffers[0].element.name(), made.memory.bytes(made.buffers[0].id).len()),
                ("f32", 64)
            );
        }
        let fails = |words: &str, text: &str| {
            let message = read(words).unwrap_err();
            assert!(message.contains(text), "{message}");
        };
        fails("n=7 out=zeros:16", "argument `2` is missing; the kernel wants\n  0: float* out");
        fails("n=7 m=2", "no argument is called `m`");
        fails("n=7 n=8", "given twice");
        fails("n=-1x out=zeros:1 2=1", "argument `n`: `-1x` is no u32");
        fails("zeros:1 7 256 9", "too many");
        fails("out=zeros:1000000xf64 n=1 2=4", "more than the 1048576");
        let image = [arg("img", "image", "image2d_t", 8), arg("how", "sampler", "sampler_t", 8)];
        let image: Vec<&ArgMeta> = image.iter().collect();
        let read = |words: &str| super::read(&given(words), &image, 1 << 20, Generation::Gfx9);
        let made = read("how=linear img=2x2:r:u8:1,2,3,4").unwrap();
        assert_eq!((made.args.len(), made.buffers.len(), &*made.buffers[0].name), (2, 1, "img"));
        assert_eq!(made.memory.bytes(made.buffers[0].id), [1, 2, 3, 4]);
        let message = read("img=2x2:r:u8").unwrap_err();
        assert!(
            message.contains("--arg how=sampler:clamp_to_edge")
                && message.contains("--arg img=64x64:rgba:f32"),
            "{message}"
        );
    }

    #[test]
    fn values_by_size_where_types_are_unknown() {
        let value = |spec: &str, size: u32| by_value(&arg("x", "by_value", "", size), spec);
        assert_eq!(value("1.5", 4).unwrap(), 1.5f32.to_le_bytes());
        assert_eq!(value("0x1", 8).unwrap(), 1u64.to_le_bytes());
        let message = value("1", 8).unwrap_err();
        assert!(message.contains("`1:i64` or `1:f64`"), "{message}");
        assert_eq!(value("1,2,3:f32", 16).unwrap()[8..], [0, 0, 64, 64, 0, 0, 0, 0]);
        assert_eq!(value("hex:0102", 2).unwrap(), [1, 2]);
        assert!(value("1,2,3", 7).is_err() && value("hex:01", 2).is_err());
        let vector = by_value(&arg("v", "by_value", "float4", 16), "1,2,3,4").unwrap();
        assert_eq!(vector[12..], 4f32.to_le_bytes());
    }

    #[test]
    fn contents_of_buffers() {
        let of = |spec: &str| contents(spec, None, 1 << 20).map(|made| made.bytes);
        assert_eq!(of("iota:3xu16").unwrap(), [0, 0, 1, 0, 2, 0]);
        assert_eq!(of("ones:2xf32").unwrap(), [1f32.to_le_bytes(), 1f32.to_le_bytes()].concat());
        assert_eq!(of("1,-2").unwrap(), [1i32.to_le_bytes(), (-2i32).to_le_bytes()].concat());
        assert_eq!(of("1.5,2").unwrap()[4..], 2f32.to_le_bytes());
        assert_eq!(of("7,8:u8").unwrap(), [7, 8]);
        assert_ne!(of("random:4xu32").unwrap(), of("random:4xu32:2").unwrap());
        assert_eq!(of("zeros:2xfloat3").unwrap().len(), 32);
        assert!(contents("undef:4xi8", None, 4).unwrap().undefined);
        assert!(contents("file:/dev/zero", None, 4).unwrap_err().contains("more bytes than the 4"));
        for (spec, text) in [
            ("zeros:7", "type of the elements"),
            ("zeros:xf32", "is no size"),
            ("zeros:4xfoo", "is no type"),
            ("file:/no/such", "/no/such"),
        ] {
            assert!(of(spec).unwrap_err().contains(text), "{spec}");
        }
        let float = contents("random:1000xf32:5", None, 1 << 20).unwrap();
        assert!(
            float.bytes.chunks(4).all(|b| (0.0..1.0).contains(&f32::from_le_bytes(b.try_into().unwrap())))
        );
    }
}
