//! Images and samplers as people write them: `image2d:64x32:rgba:f32:random`, `sampler:repeat:linear:normalized`.
//!
//! An image is memory with its texels and the dwords that describe it, whose address the kernel gets; both depend on the generation. What is printed,
//! saved and compared are texels without the gaps that rows may have, channel by channel.

use super::arguments::{Buffer, Contents, contents};
use super::values::Element;
use mir::target::{Generation, ImageRules};
use sim::images::{Channel, Image, Order, Shape};
use sim::{Arg, BufferId, Memory};
use std::borrow::Cow;

/// Texels in a row, and rows, at most.
const MOST_TEXELS: u32 = 16384;
/// Planes of a volume, and slices of an array, at most.
const MOST_PLANES: u32 = 8192;

/// OpenCL's types, with the numbers that their sizes have.
const SHAPES: [(&str, Shape, usize); 6] = [
    ("image1d", Shape::One, 1),
    ("image1d_buffer", Shape::Buffer, 1),
    ("image1d_array", Shape::OneArray, 2),
    ("image2d", Shape::Two, 2),
    ("image2d_array", Shape::TwoArray, 3),
    ("image3d", Shape::Three, 3),
];

const ORDERS: [(&str, Order); 9] = [
    ("a", Order::A),
    ("r", Order::R),
    ("rg", Order::Rg),
    ("ra", Order::Ra),
    ("rgba", Order::Rgba),
    ("bgra", Order::Bgra),
    ("argb", Order::Argb),
    ("intensity", Order::Intensity),
    ("luminance", Order::Luminance),
];

/// Types of channels, and the elements that hold them.
const CHANNELS: [(&str, Channel, &str); 12] = [
    ("snorm8", Channel::SnormInt8, "i8"),
    ("snorm16", Channel::SnormInt16, "i16"),
    ("unorm8", Channel::UnormInt8, "u8"),
    ("unorm16", Channel::UnormInt16, "u16"),
    ("i8", Channel::SignedInt8, "i8"),
    ("i16", Channel::SignedInt16, "i16"),
    ("i32", Channel::SignedInt32, "i32"),
    ("u8", Channel::UnsignedInt8, "u8"),
    ("u16", Channel::UnsignedInt16, "u16"),
    ("u32", Channel::UnsignedInt32, "u32"),
    ("f16", Channel::HalfFloat, "f16"),
    ("f32", Channel::Float, "f32"),
];

/// What an image is called, in examples and messages.
pub const EXAMPLE: &str = "64x64:rgba:f32:random";
/// The same for a sampler.
pub const SAMPLER_EXAMPLE: &str = "sampler:clamp_to_edge:linear:normalized";

fn names<'a>(all: impl IntoIterator<Item = &'a str>) -> String {
    all.into_iter().collect::<Vec<_>>().join(", ")
}

/// The shape that the type `image2d_t` names.
fn shape(type_name: &str) -> Option<(&'static str, Shape, usize)> {
    let name = type_name.trim().strip_suffix("_t")?;
    SHAPES.into_iter().find(|(known, ..)| *known == name)
}

/// An image as it is written: `[TYPE:]SIZE:ORDER:CHANNEL[:VALUES]`. The type is the argument's where the kernel says it.
struct Described {
    image: Image,
    element: Element,
    contents: Contents,
}

/// Reads the text; the texels have at most `most` bytes.
fn described(
    type_name: Option<&str>,
    spec: &str,
    most: u64,
    generation: Generation,
) -> Result<Described, String> {
    let given = spec.split_once(':').and_then(|(word, rest)| Some((shape(&format!("{word}_t"))?, rest)));
    let declared = match type_name {
        Some(name) => Some(shape(name).ok_or_else(|| {
            format!("`{name}` cannot be given here; there are {}", names(SHAPES.map(|(name, ..)| name)))
        })?),
        None => None,
    };
    let ((name, shape, numbers), rest) = match (given, declared) {
        (Some((given, _)), Some(declared)) if given.1 != declared.1 => {
            return Err(format!("`{}`, and the kernel takes {}_t", given.0, declared.0));
        }
        (Some((given, rest)), _) => (given, rest),
        (None, Some(declared)) => (declared, spec),
        (None, None) => {
            return Err(format!("its type is not known: image2d:{EXAMPLE}, for instance"));
        }
    };
    let mut parts = rest.splitn(4, ':');
    let (Some(size), Some(order), Some(channel)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(format!("`{rest}`: SIZE:ORDER:CHANNEL:VALUES, for instance {EXAMPLE}"));
    };
    let find_order = ORDERS.into_iter().find(|(name, _)| *name == order);
    let (_, order) = find_order.ok_or_else(|| {
        format!("`{order}` is no order of channels: {}", names(ORDERS.map(|(name, _)| name)))
    })?;
    let find_channel = CHANNELS.into_iter().find(|(name, ..)| *name == channel);
    let (_, channel, element) = find_channel.ok_or_else(|| {
        format!("`{channel}` is no type of a channel: {}", names(CHANNELS.map(|(name, ..)| name)))
    })?;
    let (element, _) = Element::named(element).ok_or_else(|| format!("`{element}` is no type"))?;
    let size = extent(size, name, shape, numbers)?;
    let image = Image { address: 0, shape, order, channel, size };
    let bytes = image.bytes() as u64;
    let row = u64::from(size[0]) * u64::from(image.texel_bytes());
    let has_gaps = shape != Shape::Buffer && generation.limits().images.pitch_bits == 0;
    let place = if has_gaps { row.next_multiple_of(ImageRules::ROW_BYTES.into()) } else { row };
    let whole = place * u64::from(size[1]) * u64::from(size[2]);
    // The range of a buffer is 32 bits.
    let limit = if shape == Shape::Buffer { most.min(u32::MAX.into()) } else { most };
    if whole > limit {
        return Err(format!("{whole} bytes are more than the {limit} that are left (--memory-limit)"));
    }
    let count = bytes / element.bytes() as u64;
    let values = parts.next().unwrap_or("zeros");
    let (word, after) = values.split_once(':').unwrap_or((values, ""));
    let contents = match word {
        "zeros" | "zero" | "ones" | "iota" | "undef" | "random" => {
            let seed = if after.is_empty() { String::new() } else { format!(":{after}") };
            contents(&format!("{word}:{count}{seed}"), Some(element), most)?
        }
        _ => contents(values, Some(element), most)?,
    };
    if contents.bytes.len() as u64 != bytes {
        return Err(format!("the values have {} bytes, and the texels {bytes}", contents.bytes.len()));
    }
    Ok(Described { image, element, contents })
}

/// Reads `WIDTH`, `WIDTHxHEIGHT` or `WIDTHxHEIGHTxDEPTH`; of arrays the last number is that of slices.
fn extent(text: &str, name: &str, shape: Shape, numbers: usize) -> Result<[u32; 3], String> {
    let example = ["64", "64x32", "64x32x4"][numbers - 1];
    let parts: Option<Vec<u32>> = text.split('x').map(|part| part.parse().ok().filter(|&n| n > 0)).collect();
    let parts = parts.filter(|parts| parts.len() == numbers);
    let parts = parts.ok_or_else(|| format!("`{text}` is no size of {name}: {example}, for instance"))?;
    let size = match (shape, &parts[..]) {
        (Shape::OneArray, &[width, slices]) => [width, 1, slices],
        (_, &[width]) => [width, 1, 1],
        (_, &[width, height]) => [width, height, 1],
        (_, &[width, height, depth]) => [width, height, depth],
        _ => [1; 3],
    };
    let most = if shape == Shape::Buffer { u32::MAX } else { MOST_TEXELS };
    match size[0] > most || size[1] > MOST_TEXELS || size[2] > MOST_PLANES {
        true => Err(format!(
            "{text} is too large: images have {MOST_TEXELS} by {MOST_TEXELS} texels and {MOST_PLANES} planes or slices at most"
        )),
        false => Ok(size),
    }
}

/// Adds an image's texels and dwords to `memory`: the buffer that holds the texels, and the argument.
///
/// # Errors
/// A message.
pub fn image(
    (index, name): (usize, &str),
    type_name: Option<&str>,
    spec: &str,
    memory: &mut Memory,
    left: &mut u64,
    generation: Generation,
) -> Result<(Buffer, Arg), String> {
    let Described { image, element, contents } = described(type_name, spec, *left, generation)?;
    let bytes = image.memory_of(&contents.bytes, generation);
    *left = left.saturating_sub(bytes.len() as u64);
    let id = memory.add_buffer(&format!("image `{name}`"), bytes);
    if contents.undefined {
        memory.set_undefined(id);
    }
    let image = Image { address: id.address(), ..image };
    let arg = words(memory, &format!("description of image `{name}`"), &image.dwords(generation));
    let shown = Some((image, generation));
    Ok((Buffer { name: name.to_owned(), index, id, element, image: shown }, arg))
}

/// Adds a sampler's dwords to `memory`: `[sampler:]WORDS` of address, filter and coordinates, or the number that OpenCL C has for them.
///
/// # Errors
/// A message.
pub fn sampler(name: &str, spec: &str, memory: &mut Memory) -> Result<Arg, String> {
    let flags = flags(spec)?;
    Ok(words(memory, &format!("sampler `{name}`"), &gcnc::image_library::sampler(flags)))
}

/// The number of a sampler's words, as `CLK_*` of OpenCL C have it.
fn flags(spec: &str) -> Result<u32, String> {
    let spec = if spec == "sampler" { "" } else { spec.strip_prefix("sampler:").unwrap_or(spec) };
    let number = match spec.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => spec.parse().ok(),
    };
    let flags = match number {
        Some(number) if number < 64 => number,
        Some(_) => return Err(format!("`{spec}` is no sampler: flags are below 64")),
        None => {
            let (mut normalized, mut address, mut filter) = (0, 2, 0x10);
            for word in spec.split(':').filter(|word| !word.is_empty()) {
                match word {
                    "unnormalized" => normalized = 0,
                    "normalized" => normalized = 1,
                    "none" => address = 0,
                    "clamp_to_edge" => address = 2,
                    "clamp" => address = 4,
                    "repeat" => address = 6,
                    "mirrored_repeat" => address = 8,
                    "nearest" => filter = 0x10,
                    "linear" => filter = 0x20,
                    _ => {
                        return Err(format!(
                            "`{word}` is no word of a sampler: none, clamp_to_edge, clamp, repeat, mirrored_repeat; nearest, linear; unnormalized, normalized"
                        ));
                    }
                }
            }
            normalized | address | filter
        }
    };
    if flags & 1 == 0 && matches!(flags >> 1 & 7, 3 | 4) {
        return Err("repeat and mirrored_repeat need normalized coordinates".to_owned());
    }
    Ok(flags)
}

fn words(memory: &mut Memory, name: &str, words: &[u32]) -> Arg {
    Arg::Buffer(memory.add_buffer(name, words.iter().flat_map(|word| word.to_le_bytes()).collect()))
}

/// `bytes` of a buffer's memory, of an image without the gaps between rows.
pub fn packed<'a>(bytes: &'a [u8], image: Option<&(Image, Generation)>) -> Cow<'a, [u8]> {
    match image {
        Some((image, generation)) if !bytes.is_empty() => Cow::Owned(image.texels_of(bytes, *generation)),
        _ => Cow::Borrowed(bytes),
    }
}

/// Bytes of a buffer, and its undefined bits; of an image those of its texels.
pub fn shown<'a>(
    memory: &'a Memory,
    id: BufferId,
    image: Option<&(Image, Generation)>,
) -> [Cow<'a, [u8]>; 2] {
    [packed(memory.bytes(id), image), packed(memory.undefined_bits(id), image)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(
        type_name: Option<&str>,
        spec: &str,
        generation: Generation,
    ) -> Result<(Memory, Buffer, Arg), String> {
        let mut memory = Memory::new();
        let mut left = 1 << 20;
        let (buffer, arg) = image((3, "img"), type_name, spec, &mut memory, &mut left, generation)?;
        Ok((memory, buffer, arg))
    }

    #[test]
    fn texels_are_packed_on_every_generation() {
        for generation in [Generation::Gfx8, Generation::Gfx9, Generation::Gfx10] {
            let (memory, buffer, arg) = made(Some("image2d_t"), "5x3:rg:u16:iota", generation).unwrap();
            let [bytes, undefined] = shown(&memory, buffer.id, buffer.image.as_ref());
            let wanted: Vec<u8> = (0..30u16).flat_map(u16::to_le_bytes).collect();
            assert_eq!(&*bytes, wanted, "{generation:?}");
            assert!(undefined.iter().all(|&bits| bits == 0));
            let gaps = memory.bytes(buffer.id).len() > 60;
            assert_eq!(gaps, generation == Generation::Gfx10);
            let Arg::Buffer(words) = arg else { panic!("an address") };
            let (image, _) = buffer.image.unwrap();
            let dwords = Image { address: buffer.id.address(), ..image }.dwords(generation);
            let dwords: Vec<u8> = dwords.iter().flat_map(|word| word.to_le_bytes()).collect();
            assert_eq!(memory.bytes(words), dwords);
        }
    }

    #[test]
    fn types_sizes_and_values() {
        let size = |type_name, spec| {
            made(type_name, spec, Generation::Gfx9).map(|(_, b, _)| b.image.unwrap().0.size)
        };
        assert_eq!(size(None, "image1d_array:4x7:r:f32"), Ok([4, 1, 7]));
        assert_eq!(size(Some("image3d_t"), "4x5x6:bgra:unorm8:ones"), Ok([4, 5, 6]));
        assert_eq!(size(Some("image1d_buffer_t"), "image1d_buffer:70000:r:u8"), Ok([70000, 1, 1]));
        assert_eq!(size(Some("image1d_t"), "2:rg:f32:1,2,3,4"), Ok([2, 1, 1]));
        for (type_name, spec, text) in [
            (None, "4x4:r:f32", "type is not known"),
            (Some("image2d_depth_t"), "4x4:r:f32", "cannot be given here"),
            (Some("image2d_t"), "image3d:4x4x4:r:f32", "takes image2d_t"),
            (Some("image2d_t"), "4:r:f32", "no size of image2d: 64x32"),
            (Some("image2d_t"), "4x0:r:f32", "no size"),
            (Some("image2d_t"), "4x4:rrr:f32", "no order of channels: a, r"),
            (Some("image2d_t"), "4x4:r:f64", "no type of a channel: snorm8"),
            (Some("image2d_t"), "4x4", "SIZE:ORDER:CHANNEL:VALUES"),
            (Some("image2d_t"), "4x4:r:f32:1,2", "8 bytes, and the texels 64"),
            (Some("image2d_t"), "20000x1:r:u8", "too large"),
            (Some("image2d_t"), "1024x1024:rgba:f32", "more than the 1048576"),
            (Some("image1d_buffer_t"), "4294967295:rgba:f32", "more than"),
        ] {
            let message = size(type_name, spec).unwrap_err();
            assert!(message.contains(text), "{spec}: {message}");
        }
    }

    #[test]
    fn rows_with_gaps_count_against_the_limit() {
        let error = made(Some("image2d_t"), "1x8192:r:u8", Generation::Gfx10).err().unwrap();
        assert!(error.contains("more than"), "{error}");
        assert!(made(Some("image2d_t"), "1x8192:r:u8", Generation::Gfx9).is_ok());
    }

    #[test]
    fn samplers_by_words_and_numbers() {
        assert_eq!(flags("sampler"), Ok(0x12));
        assert_eq!(flags("sampler:repeat:linear:normalized"), Ok(0x27));
        assert_eq!(flags("linear:clamp"), Ok(0x24));
        assert_eq!(flags("0x14"), Ok(0x14));
        assert!(flags("repeat").unwrap_err().contains("normalized coordinates"));
        assert!(flags("blue").unwrap_err().contains("no word of a sampler"));
        assert!(flags("64").is_err());
    }
}
