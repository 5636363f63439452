//! Element formats of buffers and images: from memory to registers and back.
//!
//! A *data format* gives the widths of up to four components, a *number format* what their bits mean. Sources: Vega ISA, "Buffer Resource
//! Descriptor" and "MTBUF" (formats); CLRX, "GCN Memory instructions features and functionality".

use crate::fp::{self, F32, Round};

/// Data and number format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    /// Data format, 4 bits.
    pub data: u8,
    /// Number format, 3 bits.
    pub number: u8,
}

/// What a component's bits mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Number {
    Unorm,
    Snorm,
    Uscaled,
    Sscaled,
    Uint,
    Sint,
    Float,
}

/// The data formats of GFX10's unified ones in their order, each with its number formats.
const UNIFIED: [(u8, &[u8]); 14] = {
    const INTEGERS: &[u8] = &[0, 1, 2, 3, 4, 5];
    const ALL: &[u8] = &[0, 1, 2, 3, 4, 5, 7];
    const PLAIN: &[u8] = &[4, 5, 7];
    [
        (1, INTEGERS),
        (2, ALL),
        (3, INTEGERS),
        (4, PLAIN),
        (5, ALL),
        (6, ALL),
        (7, ALL),
        (8, INTEGERS),
        (9, INTEGERS),
        (10, INTEGERS),
        (11, PLAIN),
        (12, ALL),
        (13, PLAIN),
        (14, PLAIN),
    ]
};

impl Format {
    /// The format that GFX10 calls `number`, from 1; one without components for others. Source: RDNA ISA, "Buffer Image Formats".
    pub fn unified(number: u32) -> Self {
        let mut all = UNIFIED.iter().flat_map(|&(data, numbers)| numbers.iter().map(move |&n| (data, n)));
        let index = (number as usize).wrapping_sub(1);
        all.nth(index).map_or(Self { data: 0, number: 0 }, |(data, number)| Self { data, number })
    }

    /// What GFX10 calls the format; 0 where it has none.
    pub fn number_of_unified(self) -> u32 {
        let mut all = UNIFIED.iter().flat_map(|&(data, numbers)| numbers.iter().map(move |&n| (data, n)));
        all.position(|(data, number)| (data, number) == (self.data, self.number))
            .map_or(0, |at| at as u32 + 1)
    }

    /// Widths of the components in bits, lowest first; empty for a format that does not exist.
    pub fn widths(self) -> &'static [u32] {
        match self.data {
            1 => &[8],
            2 => &[16],
            3 => &[8, 8],
            4 => &[32],
            5 => &[16, 16],
            6 => &[11, 11, 10],
            7 => &[10, 11, 11],
            8 => &[2, 10, 10, 10],
            9 => &[10, 10, 10, 2],
            10 => &[8, 8, 8, 8],
            11 => &[32, 32],
            12 => &[16, 16, 16, 16],
            13 => &[32, 32, 32],
            14 => &[32, 32, 32, 32],
            _ => &[],
        }
    }

    /// Bytes of an element.
    pub fn bytes(self) -> u32 {
        self.widths().iter().sum::<u32>() / 8
    }

    fn number(self) -> Option<Number> {
        Some(match self.number {
            0 => Number::Unorm,
            1 | 6 => Number::Snorm,
            2 => Number::Uscaled,
            3 => Number::Sscaled,
            4 => Number::Uint,
            5 => Number::Sint,
            7 => Number::Float,
            _ => return None,
        })
    }

    /// Whether registers hold integers.
    pub fn is_integer(self) -> bool {
        matches!(self.number(), Some(Number::Uint | Number::Sint))
    }

    /// What a register shows for the constant 1.
    pub fn one(self) -> u32 {
        if self.is_integer() { 1 } else { 0x3f80_0000 }
    }

    /// The components of an element as registers hold them (32 bits each), with their undefined bits; absent ones are 0, 0, 0, 1.
    /// `None` for formats that do not exist.
    pub fn load(self, bytes: &[u8; 16], undef: &[u8; 16]) -> Option<[(u32, u32); 4]> {
        let number = self.number()?;
        if self.widths().is_empty() {
            return None;
        }
        let (all, all_undef) = (u128::from_le_bytes(*bytes), u128::from_le_bytes(*undef));
        let mut out = [(0, 0), (0, 0), (0, 0), (self.one(), 0)];
        let mut at = 0;
        for (slot, &width) in out.iter_mut().zip(self.widths()) {
            let field = |x: u128| (x >> at) as u32 & (u64::MAX >> (64 - width)) as u32;
            let (x, u) = (field(all), field(all_undef));
            let exact = width == 32 || matches!(number, Number::Uint);
            *slot = (decode(number, width, x)?, if exact { u } else { 0u32.wrapping_sub(u32::from(u != 0)) });
            at += width;
        }
        Some(out)
    }

    /// An element of `components`, with its undefined bits.
    pub fn store(self, components: &[(u32, u32); 4]) -> Option<([u8; 16], [u8; 16])> {
        let number = self.number()?;
        if self.widths().is_empty() {
            return None;
        }
        let (mut all, mut all_undef, mut at) = (0u128, 0u128, 0);
        for (&(x, u), &width) in components.iter().zip(self.widths()) {
            let keep = (u64::MAX >> (64 - width)) as u32;
            let exact = width == 32;
            let u = if exact { u } else { 0u32.wrapping_sub(u32::from(u != 0)) & keep };
            all |= u128::from(encode(number, width, x)? & keep) << at;
            all_undef |= u128::from(u) << at;
            at += width;
        }
        Some((all.to_le_bytes(), all_undef.to_le_bytes()))
    }
}

fn sext(x: u32, width: u32) -> i32 {
    (x << (32 - width)) as i32 >> (32 - width)
}

/// The format of small floats: 5 bits of exponent, no sign below 16 bits.
fn small(width: u32) -> Option<fp::Fmt> {
    Some(match width {
        16 => fp::F16,
        11 => fp::Fmt { mant: 6, exp: 5 },
        10 => fp::Fmt { mant: 5, exp: 5 },
        _ => return None,
    })
}

fn decode(number: Number, width: u32, x: u32) -> Option<u32> {
    let max = (u64::MAX >> (64 - width)) as f64;
    let float = |v: f64| (v as f32).to_bits();
    Some(match number {
        Number::Unorm => float(f64::from(x) / max),
        Number::Snorm => float((f64::from(sext(x, width)) / ((max - 1.0) / 2.0)).max(-1.0)),
        Number::Uscaled => float(f64::from(x)),
        Number::Sscaled => float(f64::from(sext(x, width))),
        Number::Uint => x,
        Number::Sint => sext(x, width) as u32,
        Number::Float if width == 32 => x,
        Number::Float => fp::convert(small(width)?, F32, x.into(), 0, Round::Even) as u32,
    })
}

fn encode(number: Number, width: u32, x: u32) -> Option<u32> {
    let max = (u64::MAX >> (64 - width)) as f64;
    let v = f64::from(f32::from_bits(x));
    let v = if v.is_nan() { 0.0 } else { v };
    Some(match number {
        Number::Unorm => (v.clamp(0.0, 1.0) * max).round_ties_even() as u32,
        Number::Snorm => (v.clamp(-1.0, 1.0) * ((max - 1.0) / 2.0)).round_ties_even() as i32 as u32,
        Number::Uscaled => v.clamp(0.0, max).round_ties_even() as u32,
        Number::Sscaled => v.clamp(-(max + 1.0) / 2.0, (max - 1.0) / 2.0).round_ties_even() as i32 as u32,
        Number::Uint => (u64::from(x)).min(u64::MAX >> (64 - width)) as u32,
        Number::Sint => {
            let top = i64::MAX >> (64 - width);
            i64::from(x as i32).clamp(-top - 1, top) as u32
        }
        Number::Float if width == 32 => x,
        // Formats without a sign make negative numbers zero.
        Number::Float if width < 16 && x >> 31 != 0 && v <= 0.0 => 0,
        Number::Float => fp::convert(F32, small(width)?, x.into(), 0, Round::Even) as u32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of RDNA's manual: 32_FLOAT, 16_FLOAT, 2_10_10_10_SINT, 32_32_32_32_FLOAT, and what is none.
    #[test]
    fn unified_formats_have_the_numbers_of_the_manual() {
        let known = [(1, 1, 0), (13, 2, 7), (22, 4, 7), (55, 9, 5), (77, 14, 7), (0, 0, 0), (78, 0, 0)];
        for (unified, data, number) in known {
            assert_eq!(Format::unified(unified), Format { data, number }, "{unified}");
        }
    }

    #[test]
    fn elements_go_there_and_back() {
        let defined = [0; 16];
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&0x80ff_7f01u32.to_le_bytes());
        let f = |x: f32| (x.to_bits(), 0);
        let unorm = Format { data: 10, number: 0 };
        let got = unorm.load(&bytes, &defined).unwrap();
        assert_eq!(got[1], f(127.0 / 255.0));
        assert_eq!(got[2], f(1.0));
        assert_eq!(unorm.store(&got).unwrap().0, bytes);
        let snorm = Format { data: 10, number: 1 };
        assert_eq!(snorm.load(&bytes, &defined).unwrap()[3], f(-1.0));
        let sint = Format { data: 5, number: 5 };
        assert_eq!(sint.load(&bytes, &defined).unwrap(), [(0x7f01, 0), (0xffff_80ff, 0), (0, 0), (1, 0)]);
        let half = Format { data: 2, number: 7 };
        let mut h = [0; 16];
        h[..2].copy_from_slice(&0x3e00u16.to_le_bytes());
        assert_eq!(half.load(&h, &defined).unwrap(), [f(1.5), (0, 0), (0, 0), f(1.0)]);
        let small = Format { data: 6, number: 7 };
        let packed = small.store(&[f(1.5), f(-2.0), f(0.25), f(9.0)]).unwrap();
        assert_eq!(small.load(&packed.0, &defined).unwrap()[..3], [f(1.5), f(0.0), f(0.25)]);
        assert_eq!(Format { data: 9, number: 4 }.load(&[0xff; 16], &defined).unwrap()[3], (3, 0));
        assert_eq!(Format { data: 15, number: 0 }.load(&bytes, &defined), None);
        // One undefined bit leaves nothing of a scaled component, and others alone.
        let mut undef = [0; 16];
        undef[0] = 1;
        let got = unorm.load(&bytes, &undef).unwrap();
        assert_eq!((got[0].1, got[1].1), (!0, 0));
    }
}
