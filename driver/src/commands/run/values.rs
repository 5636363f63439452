//! Elements of buffers and arguments: their types, how they are written, read, made up and compared.

use half::Half;

/// Type of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// Integer of so many bytes.
    Int { bytes: u8, signed: bool },
    /// Float of so many bytes: 2, 4 or 8.
    Float { bytes: u8 },
}

const fn int(bytes: u8, signed: bool) -> Element {
    Element::Int { bytes, signed }
}

const fn float(bytes: u8) -> Element {
    Element::Float { bytes }
}

/// Names of types: our own first, by which they are printed, then those of OpenCL C and C++.
const NAMES: [(&str, Element); 35] = [
    ("i8", int(1, true)),
    ("u8", int(1, false)),
    ("i16", int(2, true)),
    ("u16", int(2, false)),
    ("i32", int(4, true)),
    ("u32", int(4, false)),
    ("i64", int(8, true)),
    ("u64", int(8, false)),
    ("f16", float(2)),
    ("f32", float(4)),
    ("f64", float(8)),
    ("char", int(1, true)),
    ("signed char", int(1, true)),
    ("uchar", int(1, false)),
    ("unsigned char", int(1, false)),
    ("bool", int(1, false)),
    ("short", int(2, true)),
    ("ushort", int(2, false)),
    ("unsigned short", int(2, false)),
    ("int", int(4, true)),
    ("uint", int(4, false)),
    ("unsigned int", int(4, false)),
    ("unsigned", int(4, false)),
    ("long", int(8, true)),
    ("ulong", int(8, false)),
    ("unsigned long", int(8, false)),
    ("size_t", int(8, false)),
    ("ptrdiff_t", int(8, true)),
    ("long long", int(8, true)),
    ("unsigned long long", int(8, false)),
    ("half", float(2)),
    ("float", float(4)),
    ("double", float(8)),
    ("int32_t", int(4, true)),
    ("uint32_t", int(4, false)),
];

impl Element {
    /// The type called `name`; the elements of a vector type (`float4`) are those of its scalar. The number is how many there are.
    pub fn named(name: &str) -> Option<(Self, usize)> {
        let find = |name: &str| NAMES.iter().find(|(known, _)| *known == name).map(|&(_, element)| element);
        let name = name.trim();
        if let Some(element) = find(name) {
            return Some((element, 1));
        }
        let scalar = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let lanes = name[scalar.len()..].parse().ok().filter(|lanes| [2, 3, 4, 8, 16].contains(lanes))?;
        // `i32` has a number that is no count.
        find(scalar).map(|element| (element, lanes))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, element)| *element == self).map_or("?", |(name, _)| name)
    }

    /// Size in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Self::Int { bytes, .. } | Self::Float { bytes } => bytes.into(),
        }
    }

    /// The bytes of a number written in decimal, or in hexadecimal behind `0x`.
    pub fn parse(self, text: &str) -> Result<Vec<u8>, String> {
        let wrong = || format!("`{text}` is no {}", self.name());
        let text = text.trim();
        match self {
            Self::Int { bytes, signed } => {
                let (negative, digits) = match text.strip_prefix('-') {
                    Some(digits) => (true, digits),
                    None => (false, text.strip_prefix('+').unwrap_or(text)),
                };
                let value = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
                    Some(hex) => i128::from_str_radix(hex, 16),
                    None => digits.parse(),
                };
                let value = value.map_err(|_| wrong())?;
                let value = if negative { -value } else { value };
                let bits = u32::from(bytes) * 8;
                let least = if signed || negative { -(1i128 << (bits - 1)) } else { 0 };
                // A signed integer may be written as the pattern of its bits.
                if value < least || value >= 1i128 << bits {
                    return Err(format!("`{text}` does not fit {}", self.name()));
                }
                Ok(value.to_le_bytes()[..bytes.into()].to_vec())
            }
            Self::Float { bytes } => {
                let value: f64 = text.parse().map_err(|_| wrong())?;
                Ok(match bytes {
                    2 => Half::from_f64(value).0.to_le_bytes().to_vec(),
                    4 => (value as f32).to_le_bytes().to_vec(),
                    _ => value.to_le_bytes().to_vec(),
                })
            }
        }
    }

    /// The element in `bytes` as text; a float with as many digits as tell it from its neighbours.
    pub fn text(self, bytes: &[u8]) -> String {
        match self {
            Self::Int { signed, .. } => {
                let mut wide = [0u8; 16];
                wide[..bytes.len()].copy_from_slice(bytes);
                let value = i128::from_le_bytes(wide);
                let bits = bytes.len() * 8;
                let negative = signed && bits > 0 && value >> (bits - 1) & 1 == 1;
                if negative { (value - (1i128 << bits)).to_string() } else { value.to_string() }
            }
            Self::Float { .. } => match self.float(bytes) {
                Some(value) if bytes.len() == 8 => format!("{value:?}"),
                Some(value) => format!("{:?}", value as f32),
                None => "?".to_owned(),
            },
        }
    }

    /// The value of a float.
    fn float(self, bytes: &[u8]) -> Option<f64> {
        match (self, bytes) {
            (Self::Float { .. }, &[a, b]) => Some(Half(u16::from_le_bytes([a, b])).to_f64()),
            (Self::Float { .. }, &[a, b, c, d]) => Some(f32::from_le_bytes([a, b, c, d]).into()),
            (Self::Float { .. }, _) => bytes.try_into().ok().map(f64::from_le_bytes),
            _ => None,
        }
    }

    /// Whether two elements are the same: all NaNs are, and floats that differ by no more than `tolerance`, absolutely or in relation to
    /// the larger one.
    pub fn agree(self, a: &[u8], b: &[u8], tolerance: f64) -> bool {
        if a == b {
            return true;
        }
        match (self.float(a), self.float(b)) {
            (Some(x), Some(y)) => {
                let difference = (x - y).abs();
                x.is_nan() && y.is_nan()
                    || x == y
                    || difference <= tolerance
                    || difference <= tolerance * x.abs().max(y.abs())
            }
            _ => false,
        }
    }

    /// Element `index` of 0, 1, 2, …
    pub fn iota(self, index: usize) -> Vec<u8> {
        match self {
            Self::Int { bytes, .. } => (index as u64).to_le_bytes()[..bytes.into()].to_vec(),
            Self::Float { bytes: 2 } => Half::from_f64(index as f64).0.to_le_bytes().to_vec(),
            Self::Float { bytes: 4 } => (index as f32).to_le_bytes().to_vec(),
            Self::Float { .. } => (index as f64).to_le_bytes().to_vec(),
        }
    }

    /// An element of 64 random bits: integers have any value, floats are in [0, 1).
    pub fn random(self, bits: u64) -> Vec<u8> {
        let unit = (bits >> 11) as f64 / (1u64 << 53) as f64;
        match self {
            Self::Int { bytes, .. } => {
                (bits >> (64 - 8 * u32::from(bytes))).to_le_bytes()[..bytes.into()].to_vec()
            }
            // Cut, not rounded, so that 1 is not reached.
            Self::Float { bytes: 2 } => {
                Half::from_f64((unit * 2048.0).floor() / 2048.0).0.to_le_bytes().to_vec()
            }
            Self::Float { bytes: 4 } => (((bits >> 40) as f32) / (1 << 24) as f32).to_le_bytes().to_vec(),
            Self::Float { .. } => unit.to_le_bytes().to_vec(),
        }
    }
}

/// Half precision.
mod half {
    /// The bits of a float of 16 bits.
    #[derive(Clone, Copy)]
    pub struct Half(pub u16);

    impl Half {
        /// The nearest one.
        pub fn from_f64(value: f64) -> Self {
            Self(sim::fp::f64_to_f16(value) as u16)
        }

        /// Its value, exactly.
        pub fn to_f64(self) -> f64 {
            let (sign, exponent, mantissa) = (self.0 >> 15, self.0 >> 10 & 0x1f, f64::from(self.0 & 0x3ff));
            let size = match exponent {
                0 => mantissa * 2f64.powi(-24),
                31 if mantissa == 0.0 => f64::INFINITY,
                31 => f64::NAN,
                _ => (1024.0 + mantissa) * 2f64.powi(i32::from(exponent) - 25),
            };
            if sign == 1 { -size } else { size }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_types() {
        assert_eq!(Element::named("i32"), Some((int(4, true), 1)));
        assert_eq!(Element::named("float4"), Some((float(4), 4)));
        assert_eq!(Element::named("unsigned int"), Some((int(4, false), 1)));
        assert_eq!((Element::named("float5"), Element::named("struct s")), (None, None));
        assert_eq!((float(4).name(), int(8, false).name()), ("f32", "u64"));
    }

    #[test]
    fn numbers_are_read_and_written() {
        for (ty, text) in [
            ("i32", "-7"),
            ("u8", "255"),
            ("i64", "-9223372036854775808"),
            ("f32", "0.1"),
            ("f64", "1e300"),
            ("f16", "-1.5"),
        ] {
            let (element, _) = Element::named(ty).unwrap();
            assert_eq!(element.text(&element.parse(text).unwrap()), text, "{ty}");
        }
        assert_eq!(int(4, true).parse("0xffffffff").unwrap(), [0xff; 4]);
        assert!(
            int(1, false).parse("256").is_err()
                && int(1, false).parse("x").is_err()
                && float(4).parse("1,2").is_err()
        );
        assert_eq!(float(2).text(&0x0001u16.to_le_bytes()), "5.9604645e-8");
    }

    #[test]
    fn comparison_has_a_tolerance() {
        let f = |value: f32| value.to_le_bytes();
        let element = float(4);
        assert!(element.agree(&f(1.0), &f(1.0), 0.0) && element.agree(&f(0.0), &f(-0.0), 0.0));
        assert!(element.agree(&f(f32::NAN), &f(-f32::NAN), 0.0));
        assert!(!element.agree(&f(1.0), &f(1.001), 0.0) && element.agree(&f(1000.0), &f(1001.0), 0.01));
        assert!(!int(4, true).agree(&[0; 4], &[1, 0, 0, 0], 10.0));
    }
}
