//! The configuration comment of a piglit OpenCL program: what to build, which kernels to run, on what, and
//! what must come out.
//!
//! A program begins with `/*! ... !*/`: a `[config]` section with defaults, then one `[test]` section for
//! each run. A key and its value stand on a line, `#` starts a comment, a backslash continues the line.
//! Source: piglit, `tests/cl/doc_program.cl`.

use sim::images::{Channel, Image, Order, Shape};

/// The scalar types of arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// Signed or unsigned integer of so many bytes.
    Int(u8),
    /// IEEE binary floating point of so many bytes.
    Float(u8),
}

impl Scalar {
    /// Bytes of one value.
    pub fn bytes(self) -> usize {
        match self {
            Self::Int(bytes) | Self::Float(bytes) => bytes.into(),
        }
    }
}

/// An OpenCL type: a scalar, and the lanes of a vector (1 for none).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type {
    /// Element.
    pub scalar: Scalar,
    /// 1, 2, 3, 4, 8 or 16.
    pub lanes: usize,
}

impl Type {
    fn parse(name: &str) -> Option<Self> {
        let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let lanes = match &name[letters.len()..] {
            "" => 1,
            digits => digits.parse().ok().filter(|n| matches!(n, 2 | 3 | 4 | 8 | 16))?,
        };
        let scalar = match letters {
            "char" | "uchar" => Scalar::Int(1),
            "short" | "ushort" => Scalar::Int(2),
            "int" | "uint" | "bool" => Scalar::Int(4),
            "long" | "ulong" | "size_t" => Scalar::Int(8),
            "half" => Scalar::Float(2),
            "float" => Scalar::Float(4),
            "double" => Scalar::Float(8),
            _ => return None,
        };
        Some(Self { scalar, lanes })
    }

    /// Values that memory holds for one element: vectors of three take the room of four.
    pub fn slots(self) -> usize {
        if self.lanes == 3 { 4 } else { self.lanes }
    }
}

/// How far a result may be from what is expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// In units of the last place.
    Ulp(f64),
    /// Absolute.
    Absolute(f64),
}

/// An argument, or the expected contents of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// Number of the kernel's argument.
    pub index: usize,
    /// Type of an element.
    pub ty: Type,
    /// Whether it is a buffer rather than a value.
    pub buffer: bool,
    /// Texels of an image, whose address is left open, rather than elements of a buffer.
    pub image: Option<Image>,
    /// A sampler with these flags of OpenCL C's.
    pub sampler: Option<u32>,
    /// Bytes in memory order; empty for a null pointer or dynamic LDS.
    pub bytes: Vec<u8>,
    /// Size in bytes.
    pub size: usize,
    /// Allowed deviation.
    pub tolerance: Tolerance,
}

/// One run of one kernel.
#[derive(Clone, Debug, Default)]
pub struct Test {
    /// Title.
    pub name: String,
    /// Kernel.
    pub kernel: String,
    /// Number of dimensions.
    pub dimensions: usize,
    /// Work-items.
    pub global: [u32; 3],
    /// Work-items of a group, where the test says.
    pub local: Option<[u32; 3]>,
    /// Global offset.
    pub offset: [u64; 3],
    /// Initial arguments.
    pub inputs: Vec<Data>,
    /// Expected buffers.
    pub outputs: Vec<Data>,
    /// Whether the test says that its expectations are wrong.
    pub fails: bool,
}

/// A program and its tests.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Options for clang.
    pub build_options: Vec<String>,
    /// Whether building must fail.
    pub build_fails: bool,
    /// Runs.
    pub tests: Vec<Test>,
}

/// Reads the configuration in `source`; `None` where there is none.
///
/// # Errors
/// The line that could not be understood.
pub fn parse(source: &str) -> Result<Option<Program>, String> {
    let Some((_, rest)) = source.split_once("/*!") else { return Ok(None) };
    let Some((text, _)) = rest.split_once("!*/") else { return Ok(None) };
    let mut program = Program::default();
    let mut defaults = Test { dimensions: 1, global: [1; 3], ..Test::default() };
    let mut in_tests = false;
    for line in lines(text) {
        match line.as_str() {
            "[config]" => in_tests = false,
            "[test]" => {
                in_tests = true;
                program.tests.push(defaults.clone());
            }
            _ => {
                let Some((key, value)) = line.split_once(':') else {
                    // Prose before the first section.
                    continue;
                };
                let (key, value) = (key.trim(), value.trim());
                match (key, in_tests) {
                    ("build_options", false) => {
                        program.build_options = value.split_whitespace().map(str::to_owned).collect();
                    }
                    ("expect_build_fail", false) => program.build_fails = value == "true",
                    _ => {
                        let test = match program.tests.last_mut() {
                            Some(test) if in_tests => test,
                            _ => &mut defaults,
                        };
                        set(test, key, value).map_err(|message| format!("{message} in `{line}`"))?;
                    }
                }
            }
        }
    }
    Ok(Some(program))
}

/// Lines without comments, continuations joined.
fn lines(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let (line, continued) = match line.strip_suffix('\\') {
            Some(line) => (line.trim(), true),
            None => (line, false),
        };
        match out.last_mut() {
            Some(last) if open => {
                last.push(' ');
                last.push_str(line);
            }
            _ => out.push(line.to_owned()),
        }
        open = continued;
    }
    out.retain(|line| !line.trim().is_empty());
    out
}

fn set(test: &mut Test, key: &str, value: &str) -> Result<(), String> {
    let sizes = || -> Result<[u64; 3], String> {
        let mut out = [0; 3];
        for (slot, word) in out.iter_mut().zip(value.split_whitespace()) {
            *slot = word.parse().map_err(|_| "not a size".to_owned())?;
        }
        Ok(out)
    };
    let items = |unused: u32| -> Result<[u32; 3], String> {
        let items = sizes()?.map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        Ok(items.map(|n| if n == 0 { unused } else { n }))
    };
    match key {
        "name" => test.name = value.to_owned(),
        "kernel_name" => test.kernel = value.to_owned(),
        "dimensions" => test.dimensions = value.parse().map_err(|_| "not a number".to_owned())?,
        "global_size" => test.global = items(1)?,
        "local_size" => test.local = Some(items(1)?),
        "global_offset" => test.offset = sizes()?,
        "expect_test_fail" => test.fails = value == "true",
        "arg_in" => test.inputs.push(data(value)?),
        "arg_out" => test.outputs.push(data(value)?),
        _ => {}
    }
    Ok(())
}

/// `INDEX [buffer] TYPE[N] VALUES… [tolerance T [ulp]]`, `INDEX image TYPE VALUES… PROPERTY WORD…`, `INDEX sampler PROPERTY WORD…`.
fn data(text: &str) -> Result<Data, String> {
    let spaced = text.replace('[', " [ ").replace(']', " ] ");
    let mut words = spaced.split_whitespace().peekable();
    let index = words.next().and_then(|w| w.parse().ok()).ok_or("no argument number")?;
    let buffer = words.next_if_eq(&"buffer").is_some();
    let is_image = words.next_if_eq(&"image").is_some();
    let type_name = words.next().ok_or("no type")?;
    if type_name == "sampler" {
        let (ty, tolerance) = (Type { scalar: Scalar::Int(4), lanes: 1 }, Tolerance::Absolute(0.0));
        let sampler = Some(sampler(&words.collect::<Vec<_>>())?);
        return Ok(Data {
            index,
            ty,
            buffer: false,
            image: None,
            sampler,
            bytes: Vec::new(),
            size: 0,
            tolerance,
        });
    }
    let ty = Type::parse(type_name).ok_or_else(|| format!("unknown type {type_name}"))?;
    let mut count = 1;
    let mut shape = None;
    if is_image {
        let all: Vec<&str> = words.clone().collect();
        let image = image(&all)?;
        count = image.size.iter().map(|&n| n as usize).product();
        shape = Some(image);
    }
    if words.next_if_eq(&"[").is_some() {
        count = words.next().and_then(|w| w.parse().ok()).ok_or("no element count")?;
        words.next_if_eq(&"]").ok_or("no closing bracket")?;
    }
    let repeat = words.next_if_eq(&"repeat").is_some();
    let (mut values, mut tolerance) = (Vec::new(), Tolerance::Absolute(0.0));
    while let Some(word) = words.next() {
        match word {
            "tolerance" => {
                let amount = words.next().and_then(|w| w.parse().ok()).ok_or("no tolerance")?;
                let ulp = words.next_if_eq(&"ulp").is_some();
                tolerance = if ulp { Tolerance::Ulp(amount) } else { Tolerance::Absolute(amount) };
            }
            "NULL" => {}
            word if word.starts_with("image_") => drop(words.next()),
            _ => values.push(scalar(word, ty.scalar).ok_or_else(|| format!("not a value: {word}"))?),
        }
    }
    let size = count * ty.slots() * ty.scalar.bytes();
    let mut bytes = Vec::with_capacity(size);
    if !values.is_empty() {
        // Vectors of three may be given with their padding or without.
        let padded = ty.lanes == 3 && values.len() == count * 4;
        let given = if padded { 4 } else { ty.lanes };
        let wanted = count * given;
        if values.len() != wanted && !repeat {
            return Err(format!("{} values, not {wanted}", values.len()));
        }
        let mut all = values.iter().cycle().take(wanted);
        for _ in 0..count {
            for value in all.by_ref().take(given) {
                bytes.extend_from_slice(&value[..ty.scalar.bytes()]);
            }
            bytes.resize(bytes.len() + (ty.slots() - given) * ty.scalar.bytes(), 0);
        }
    }
    Ok(Data { index, ty, buffer, image: shape, sampler: None, bytes, size, tolerance })
}

/// The word behind `key`.
fn property<'a>(words: &[&'a str], key: &str) -> Option<&'a str> {
    words.iter().position(|word| *word == key).and_then(|at| words.get(at + 1).copied())
}

/// The image whose properties stand among `words`; those that are not given are one texel, RGBA of bytes.
fn image(words: &[&str]) -> Result<Image, String> {
    let number =
        |key| property(words, key).map_or(Ok(1), |n| n.parse::<u32>().map_err(|_| format!("{key} {n}")));
    let unknown = |key: &str, word: &str| format!("{key} {word} is not known");
    let (width, height) = (number("image_width")?, number("image_height")?);
    let (depth, slices) = (number("image_depth")?, number("image_array_size")?);
    let name = property(words, "image_type").unwrap_or("2d");
    let (shape, size) = match name {
        "1d" => (Shape::One, [width, 1, 1]),
        "1d_buffer" => (Shape::Buffer, [width, 1, 1]),
        "1d_array" => (Shape::OneArray, [width, 1, slices]),
        "2d" => (Shape::Two, [width, height, 1]),
        "2d_array" => (Shape::TwoArray, [width, height, slices]),
        "3d" => (Shape::Three, [width, height, depth]),
        _ => return Err(unknown("image_type", name)),
    };
    let order = match property(words, "image_channel_order").unwrap_or("RGBA") {
        "A" => Order::A,
        "R" => Order::R,
        "RG" => Order::Rg,
        "RA" => Order::Ra,
        "RGBA" => Order::Rgba,
        "BGRA" => Order::Bgra,
        "ARGB" => Order::Argb,
        "INTENSITY" => Order::Intensity,
        "LUMINANCE" => Order::Luminance,
        word => return Err(unknown("image_channel_order", word)),
    };
    let channel = match property(words, "image_channel_data_type").unwrap_or("UNSIGNED_INT8") {
        "SNORM_INT8" => Channel::SnormInt8,
        "SNORM_INT16" => Channel::SnormInt16,
        "UNORM_INT8" => Channel::UnormInt8,
        "UNORM_INT16" => Channel::UnormInt16,
        "SIGNED_INT8" => Channel::SignedInt8,
        "SIGNED_INT16" => Channel::SignedInt16,
        "SIGNED_INT32" => Channel::SignedInt32,
        "UNSIGNED_INT8" => Channel::UnsignedInt8,
        "UNSIGNED_INT16" => Channel::UnsignedInt16,
        "UNSIGNED_INT32" => Channel::UnsignedInt32,
        "HALF_FLOAT" => Channel::HalfFloat,
        "FLOAT" => Channel::Float,
        word => return Err(unknown("image_channel_data_type", word)),
    };
    Ok(Image { address: 0, shape, order, channel, size })
}

/// The flags of the sampler whose properties stand among `words`.
fn sampler(words: &[&str]) -> Result<u32, String> {
    let normalised = u32::from(property(words, "normalized_coords") == Some("1"));
    let addresses = ["NONE", "CLAMP_TO_EDGE", "CLAMP", "REPEAT", "MIRRORED_REPEAT"];
    let mode = property(words, "addressing_mode").unwrap_or("NONE");
    let mode =
        addresses.iter().position(|name| *name == mode).ok_or_else(|| format!("addressing_mode {mode}"))?;
    // CLK_ADDRESS_NONE is 0, CLAMP_TO_EDGE 2 and so on; CLK_FILTER_NEAREST 0x10, LINEAR 0x20.
    let filter = if property(words, "filter_mode") == Some("LINEAR") { 0x20 } else { 0x10 };
    Ok(normalised | (mode as u32) << 1 | filter)
}

/// The bytes of one value, little endian.
fn scalar(word: &str, ty: Scalar) -> Option<[u8; 8]> {
    let mut out = [0; 8];
    match ty {
        Scalar::Int(_) => {
            let value = integer(word).or_else(|| Some(float(word)? as i128))?;
            out.copy_from_slice(&(value as u64).to_le_bytes());
        }
        Scalar::Float(4) => {
            // Decimal text is rounded once, to float.
            let value = word.parse::<f32>().ok().or_else(|| Some(float(word)? as f32))?;
            out[..4].copy_from_slice(&value.to_le_bytes());
        }
        Scalar::Float(8) => out.copy_from_slice(&float(word)?.to_le_bytes()),
        Scalar::Float(_) => {
            let bits = mir::half::from_f64(float(word)?);
            out[..2].copy_from_slice(&bits.to_le_bytes());
        }
    }
    Some(out)
}

fn integer(word: &str) -> Option<i128> {
    let (negative, digits) = match word.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, word),
    };
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => i128::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative { -value } else { value })
}

/// A decimal number, a C hexadecimal float (`-0x1.8p-3`), an infinity or a NaN.
fn float(word: &str) -> Option<f64> {
    let (sign, digits) = match word.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, word),
    };
    let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) else {
        return Some(sign * digits.parse::<f64>().ok()?);
    };
    let (mantissa, exponent) = hex.split_once(['p', 'P']).unwrap_or((hex, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut value = u64::from_str_radix(if whole.is_empty() { "0" } else { whole }, 16).ok()? as f64;
    let mut weight = 1.0 / 16.0;
    for digit in fraction.chars() {
        value += f64::from(digit.to_digit(16)?) * weight;
        weight /= 16.0;
    }
    Some(sign * value * 2f64.powi(exponent.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_with_defaults_and_continuations() {
        let source = "/*!\n[config]\nkernel_name: add # which\nbuild_options: -D X=1\n\n[test]\nname: one\nglobal_size: 4 0 0\n\
            arg_in: 0 buffer int[2] 1 \\\n  -2 # two\narg_in: 1 float3 1 2 0x1.8p1\narg_out: 0 buffer uint[2] repeat 0xff tolerance 2 ulp\n!*/";
        let program = parse(source).unwrap().unwrap();
        assert_eq!(program.build_options, ["-D", "X=1"]);
        let test = &program.tests[0];
        assert_eq!((test.kernel.as_str(), test.global, test.local), ("add", [4, 1, 1], None));
        assert_eq!(test.inputs[0].bytes, [1, 0, 0, 0, 254, 255, 255, 255]);
        assert_eq!(test.inputs[1].bytes.len(), 16, "three values and padding");
        assert_eq!(test.inputs[1].bytes[8..12], 3f32.to_le_bytes());
        assert_eq!(test.outputs[0].bytes, [255, 0, 0, 0, 255, 0, 0, 0]);
        assert_eq!(test.outputs[0].tolerance, Tolerance::Ulp(2.0));
    }

    #[test]
    fn images_and_samplers() {
        let text = "1 image char4 -1 2 3 4 5 6 7 8 image_type 2d image_width 2 image_height 1 \
            image_channel_order RGBA image_channel_data_type SIGNED_INT8";
        let data = data(text).unwrap();
        let image = data.image.unwrap();
        assert_eq!((image.shape, image.size, image.channel), (Shape::Two, [2, 1, 1], Channel::SignedInt8));
        assert_eq!(data.bytes, [255, 2, 3, 4, 5, 6, 7, 8]);
        let words = ["normalized_coords", "1", "addressing_mode", "REPEAT", "filter_mode", "LINEAR"];
        assert_eq!(sampler(&words), Ok(0x27));
        assert_eq!(sampler(&words[4..]), Ok(0x20));
        assert!(super::image(&["image_channel_order", "XYZ"]).is_err());
    }

    #[test]
    fn numbers() {
        assert_eq!(float("-0x1.8p-1"), Some(-0.75));
        assert_eq!(float("inf"), Some(f64::INFINITY));
        assert!(float("nan").is_some_and(f64::is_nan));
        assert_eq!(integer("-0x10"), Some(-16));
        assert_eq!(float("zero"), None);
    }
}
