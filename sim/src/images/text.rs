//! Images and samplers as people write them: `image2d:64x32:rgba:f32`, `sampler:repeat:linear:normalized`.

use super::{Channel, Image, Order, Shape};
use std::fmt;

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

/// Types of channels, and the numbers that hold them in memory.
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

/// An image, for messages.
pub const EXAMPLE: &str = "64x64:rgba:f32";

fn names<'a>(all: impl IntoIterator<Item = &'a str>) -> String {
    all.into_iter().collect::<Vec<_>>().join(", ")
}

/// The value that `table` has for `word`.
///
/// # Errors
/// The word is no `kind`.
fn find<T: Copy>(
    table: impl IntoIterator<Item = (&'static str, T), IntoIter: Clone>,
    word: &str,
    kind: &str,
) -> Result<T, String> {
    let rows = table.into_iter();
    let found = rows.clone().find(|(name, _)| *name == word).map(|(_, value)| value);
    found.ok_or_else(|| format!("`{word}` is no {kind}: {}", names(rows.map(|(name, _)| name))))
}

impl Shape {
    /// The shape of OpenCL's type `image2d_t`.
    ///
    /// # Errors
    /// There is no such type here.
    pub fn of_type(name: &str) -> Result<Self, String> {
        let stem = name.trim().strip_suffix("_t");
        let found = SHAPES.into_iter().find(|(known, ..)| Some(*known) == stem);
        found.map(|(_, shape, _)| shape).ok_or_else(|| {
            format!("`{name}` cannot be given here; there are {}", names(SHAPES.map(|(name, ..)| name)))
        })
    }

    /// How many numbers its size has.
    fn numbers(self) -> usize {
        SHAPES.iter().find(|(_, shape, _)| *shape == self).map_or(0, |(.., numbers)| *numbers)
    }

    /// Reads `WIDTH`, `WIDTHxHEIGHT` or `WIDTHxHEIGHTxDEPTH`; of arrays the last number is that of slices.
    fn extent(self, text: &str) -> Result<[u32; 3], String> {
        let numbers = self.numbers();
        let parts: Option<Vec<u32>> =
            text.split('x').map(|part| part.parse().ok().filter(|&n| n > 0)).collect();
        let parts = parts.filter(|parts| parts.len() == numbers);
        let parts = parts.ok_or_else(|| {
            let example = ["64", "64x32", "64x32x4"][numbers - 1];
            format!("`{text}` is no size of {self}: {example}, for instance")
        })?;
        let size = match (self, &parts[..]) {
            (Self::OneArray, &[width, slices]) => [width, 1, slices],
            (_, &[width]) => [width, 1, 1],
            (_, &[width, height]) => [width, height, 1],
            (_, &[width, height, depth]) => [width, height, depth],
            _ => [1; 3],
        };
        let most = if self == Self::Buffer { u32::MAX } else { MOST_TEXELS };
        match size[0] > most || size[1] > MOST_TEXELS || size[2] > MOST_PLANES {
            true => Err(format!(
                "{text} is too large: images have {MOST_TEXELS} by {MOST_TEXELS} texels and {MOST_PLANES} planes or slices at most"
            )),
            false => Ok(size),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SHAPES.iter().find(|(_, shape, _)| shape == self).map_or("image", |(name, ..)| name))
    }
}

impl Channel {
    /// The type of the numbers that hold it in memory, as arguments of runs name types: `u8` of `unorm8`.
    pub fn element(self) -> &'static str {
        CHANNELS.iter().find(|(_, channel, _)| *channel == self).map_or("u8", |(.., element)| element)
    }
}

impl Image {
    /// Reads `[TYPE:]SIZE:ORDER:CHANNEL[:REST]`: the image, at address 0, and the rest. The type may be missing where it is `declared`.
    ///
    /// # Errors
    /// A word is none of these, or the type is not the declared one.
    pub fn parse(text: &str, declared: Option<Shape>) -> Result<(Self, Option<&str>), String> {
        let given = text
            .split_once(':')
            .and_then(|(word, rest)| Some((Shape::of_type(&format!("{word}_t")).ok()?, rest)));
        let (shape, words) = match (given, declared) {
            (Some((given, _)), Some(declared)) if given != declared => {
                return Err(format!("`{given}`, and the kernel takes {declared}_t"));
            }
            (Some(given), _) => given,
            (None, Some(declared)) => (declared, text),
            (None, None) => {
                return Err(format!("its type is not known: image2d:{EXAMPLE}, for instance"));
            }
        };
        let mut parts = words.splitn(4, ':');
        let (Some(size), Some(order), Some(channel)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(format!("`{words}`: SIZE:ORDER:CHANNEL, for instance {EXAMPLE}"));
        };
        let order = find(ORDERS, order, "order of channels")?;
        let channel = find(CHANNELS.map(|(name, channel, _)| (name, channel)), channel, "type of a channel")?;
        let size = shape.extent(size)?;
        Ok((Self { address: 0, shape, order, channel, size }, parts.next()))
    }
}

/// The flags of a sampler, as `CLK_*` of OpenCL C have them: `[sampler:]WORDS` of address, filter and coordinates, or their number.
///
/// # Errors
/// There is no such word, or the words contradict each other.
pub fn sampler_flags(text: &str) -> Result<u32, String> {
    let text = if text == "sampler" { "" } else { text.strip_prefix("sampler:").unwrap_or(text) };
    let number = match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    };
    let flags = match number {
        Some(number) if number < 64 => number,
        Some(_) => return Err(format!("`{text}` is no sampler: flags are below 64")),
        None => {
            let (mut normalized, mut address, mut filter) = (0, 2, 0x10);
            for word in text.split(':').filter(|word| !word.is_empty()) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_sizes() {
        let size = |declared: Option<&str>, text| {
            let declared = declared.map(Shape::of_type).transpose()?;
            Image::parse(text, declared).map(|(image, rest)| (image.size, rest))
        };
        assert_eq!(size(None, "image1d_array:4x7:r:f32"), Ok(([4, 1, 7], None)));
        assert_eq!(size(Some("image3d_t"), "4x5x6:bgra:unorm8:ones"), Ok(([4, 5, 6], Some("ones"))));
        let buffer = size(Some("image1d_buffer_t"), "image1d_buffer:70000:r:u8:random:7");
        assert_eq!(buffer, Ok(([70000, 1, 1], Some("random:7"))));
        for (declared, text, message) in [
            (None, "4x4:r:f32", "type is not known"),
            (Some("image2d_depth_t"), "4x4:r:f32", "cannot be given here"),
            (Some("image2d_t"), "image3d:4x4x4:r:f32", "takes image2d_t"),
            (Some("image2d_t"), "4:r:f32", "no size of image2d: 64x32"),
            (Some("image2d_t"), "4x0:r:f32", "no size"),
            (Some("image2d_t"), "4x4:rrr:f32", "no order of channels: a, r"),
            (Some("image2d_t"), "4x4:r:f64", "no type of a channel: snorm8"),
            (Some("image2d_t"), "4x4", "SIZE:ORDER:CHANNEL"),
            (Some("image2d_t"), "20000x1:r:u8", "too large"),
        ] {
            let error = size(declared, text).unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn samplers_by_words_and_numbers() {
        assert_eq!(sampler_flags("sampler"), Ok(0x12));
        assert_eq!(sampler_flags("sampler:repeat:linear:normalized"), Ok(0x27));
        assert_eq!(sampler_flags("linear:clamp"), Ok(0x24));
        assert_eq!(sampler_flags("0x14"), Ok(0x14));
        assert!(sampler_flags("repeat").unwrap_err().contains("normalized coordinates"));
        assert!(sampler_flags("blue").unwrap_err().contains("no word of a sampler"));
        assert!(sampler_flags("64").is_err());
    }
}
