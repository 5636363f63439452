//! Images as the command line has them: `image2d:64x32:rgba:f32:random`.
//!
//! An image is memory with its texels and the dwords that describe it, whose address the kernel gets; both depend on the generation. What is printed,
//! saved and compared are texels without the gaps that rows may have, channel by channel.

use super::arguments::{Buffer, Contents, contents};
use super::values::Element;
use mir::target::Generation;
use sim::images::{Image, Placed, Shape};
use sim::{Arg, BufferId, Memory};
use std::borrow::Cow;

/// What an image is called, in examples and messages.
pub const EXAMPLE: &str = "64x64:rgba:f32:random";
/// The same for a sampler.
pub const SAMPLER_EXAMPLE: &str = "sampler:clamp_to_edge:linear:normalized";

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
    let declared = type_name.map(Shape::of_type).transpose()?;
    let (image, values) = Image::parse(spec, declared)?;
    let element = image.channel.element();
    let (element, _) = Element::named(element).ok_or_else(|| format!("`{element}` is no type"))?;
    image.check_bytes(generation, most).map_err(|error| format!("{error} (--memory-limit)"))?;
    let bytes = image.bytes() as u64;
    let count = bytes / element.bytes() as u64;
    let values = values.unwrap_or("zeros");
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
    *left = left.saturating_sub(image.memory_bytes(generation));
    let placed = image.place(memory, &format!("image `{name}`"), &contents.bytes, generation);
    if contents.undefined {
        memory.set_undefined(placed.texels);
    }
    let buffer = Buffer { name: name.to_owned(), index, id: placed.texels, element, image: Some(placed) };
    Ok((buffer, Arg::Buffer(placed.words)))
}

/// Bytes of a buffer, and its undefined bits; of an image those of its texels.
pub fn shown<'a>(memory: &'a Memory, id: BufferId, image: Option<&Placed>) -> [Cow<'a, [u8]>; 2] {
    [memory.bytes(id), memory.undefined_bits(id)].map(|bytes| match image {
        Some(image) if !bytes.is_empty() => Cow::Owned(image.packed(bytes)),
        _ => Cow::Borrowed(bytes),
    })
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
            let Placed { image, .. } = buffer.image.unwrap();
            let dwords = Image { address: buffer.id.address(), ..image }.dwords(generation);
            let dwords: Vec<u8> = dwords.iter().flat_map(|word| word.to_le_bytes()).collect();
            assert_eq!(memory.bytes(words), dwords);
        }
    }

    #[test]
    fn values_fill_the_texels() {
        let size = |type_name, spec| {
            made(type_name, spec, Generation::Gfx9).map(|(_, b, _)| b.image.unwrap().image.size)
        };
        assert_eq!(size(Some("image3d_t"), "4x5x6:bgra:unorm8:ones"), Ok([4, 5, 6]));
        assert_eq!(size(Some("image1d_t"), "2:rg:f32:1,2,3,4"), Ok([2, 1, 1]));
        for (type_name, spec, text) in [
            (Some("image2d_t"), "4x4:r:f32:1,2", "8 bytes, and the texels 64"),
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
}
