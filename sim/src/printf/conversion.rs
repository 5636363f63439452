//! Formats of `printf`: their pieces, and a value as text.

use std::fmt::Write as _;

/// Largest width and precision; larger ones count as this.
const FIELD_MAX: usize = 4096;

/// A part of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Printed as it is.
    Text(Vec<u8>),
    /// Printed from an argument.
    Conversion(Conversion),
}

/// Width or precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Size {
    #[default]
    None,
    Number(usize),
    /// `*`: an argument.
    Star,
}

/// `%FLAGS WIDTH .PRECISION vLANES LENGTH LETTER`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversion {
    minus: bool,
    plus: bool,
    space: bool,
    hash: bool,
    zero: bool,
    width: Size,
    precision: Size,
    /// Elements of a vector; 0 where there is no `v`.
    lanes: usize,
    /// Bytes that the length names; 0 where it names none.
    bytes: usize,
    /// What to convert to, `%` for itself.
    pub letter: u8,
}

/// The pieces of a format. What is no conversion is text.
pub fn pieces(format: &[u8]) -> Vec<Piece> {
    let mut out = Vec::new();
    let mut text = Vec::new();
    let mut rest = format;
    while let Some((&byte, behind)) = rest.split_first() {
        match (byte == b'%').then(|| Conversion::parse(behind)).flatten() {
            Some((conversion, more)) if conversion.letter == b'%' => {
                text.push(b'%');
                rest = more;
            }
            Some((conversion, more)) => {
                if !text.is_empty() {
                    out.push(Piece::Text(std::mem::take(&mut text)));
                }
                out.push(Piece::Conversion(conversion));
                rest = more;
            }
            None => {
                text.push(byte);
                rest = behind;
            }
        }
    }
    if !text.is_empty() {
        out.push(Piece::Text(text));
    }
    out
}

/// A number at the start, and what follows.
fn number(text: &[u8]) -> (Option<usize>, &[u8]) {
    let len = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(len);
    let value = digits.iter().fold(0usize, |value, digit| {
        value.saturating_mul(10).saturating_add((digit - b'0').into()).min(FIELD_MAX)
    });
    ((len > 0).then_some(value), rest)
}

fn size(text: &[u8]) -> (Size, &[u8]) {
    match text.split_first() {
        Some((b'*', rest)) => (Size::Star, rest),
        _ => {
            let (value, rest) = number(text);
            (value.map_or(Size::None, Size::Number), rest)
        }
    }
}

impl Conversion {
    /// Reads what stands behind `%`; what follows it.
    fn parse(mut text: &[u8]) -> Option<(Self, &[u8])> {
        let mut out = Self::default();
        while let Some((&flag, rest)) = text.split_first() {
            let place = match flag {
                b'-' => &mut out.minus,
                b'+' => &mut out.plus,
                b' ' => &mut out.space,
                b'#' => &mut out.hash,
                b'0' => &mut out.zero,
                _ => break,
            };
            *place = true;
            text = rest;
        }
        (out.width, text) = size(text);
        if let Some(rest) = text.strip_prefix(b".") {
            (out.precision, text) = size(rest);
            if out.precision == Size::None {
                out.precision = Size::Number(0);
            }
        }
        if let Some(rest) = text.strip_prefix(b"v") {
            let (lanes, rest) = number(rest);
            out.lanes = lanes.filter(|lanes| [2, 3, 4, 8, 16].contains(lanes))?;
            text = rest;
        }
        const LENGTHS: [(&[u8], usize); 9] = [
            (b"hh", 1),
            (b"hl", 4),
            (b"h", 2),
            (b"ll", 8),
            (b"l", 8),
            (b"j", 8),
            (b"z", 8),
            (b"t", 8),
            (b"L", 8),
        ];
        if let Some((rest, bytes)) =
            LENGTHS.iter().find_map(|(name, bytes)| Some((text.strip_prefix(*name)?, *bytes)))
        {
            (out.bytes, text) = (bytes, rest);
        }
        let (&letter, rest) = text.split_first()?;
        out.letter = letter;
        b"%diouxXcspfFeEgGaAn".contains(&letter).then_some((out, rest))
    }

    /// The same with numbers for its stars, which `next` gives; nothing where it gives none.
    pub fn with_stars(&self, mut next: impl FnMut() -> Option<i32>) -> Option<Self> {
        let mut out = self.clone();
        if out.width == Size::Star {
            let width = next()?;
            out.minus |= width < 0;
            out.width = Size::Number((width.unsigned_abs() as usize).min(FIELD_MAX));
        }
        if out.precision == Size::Star {
            let precision = next()?;
            out.precision =
                usize::try_from(precision).map_or(Size::None, |number| Size::Number(number.min(FIELD_MAX)));
        }
        Some(out)
    }

    fn width(&self) -> usize {
        if let Size::Number(width) = self.width { width } else { 0 }
    }

    fn precision(&self) -> Option<usize> {
        if let Size::Number(precision) = self.precision { Some(precision) } else { None }
    }

    /// Writes an argument, given by its bytes.
    pub fn write(&self, argument: &[u8], out: &mut Vec<u8>) {
        if self.lanes == 0 {
            return self.one(argument, out);
        }
        // A vector of three has the room of one of four.
        let places = if self.lanes == 3 { 4 } else { self.lanes };
        let bytes = (argument.len() / places).max(1);
        for (lane, element) in argument.chunks(bytes).take(self.lanes).enumerate() {
            if lane > 0 {
                out.push(b',');
            }
            self.one(element, out);
        }
    }

    fn one(&self, bytes: &[u8], out: &mut Vec<u8>) {
        match self.letter {
            b'n' => {}
            b's' => {
                let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
                let text = &text[..self.precision().map_or(text.len(), |most| most.min(text.len()))];
                self.pad(b"", text, false, out);
            }
            b'c' => self.pad(b"", &bytes[..bytes.len().min(1)], false, out),
            b'p' => match unsigned(bytes) {
                0 => self.pad(b"", b"(nil)", false, out),
                address => self.pad(b"0x", format!("{address:x}").as_bytes(), false, out),
            },
            b'd' | b'i' | b'u' | b'o' | b'x' | b'X' => self.integer(bytes, out),
            _ => self.real(bytes, out),
        }
    }

    /// Writes `prefix` and `body` in the field; between them zeros where `zeros`.
    fn pad(&self, prefix: &[u8], body: &[u8], zeros: bool, out: &mut Vec<u8>) {
        let missing = self.width().saturating_sub(prefix.len() + body.len());
        let fill = |byte, out: &mut Vec<u8>| out.resize(out.len() + missing, byte);
        if !self.minus && !zeros {
            fill(b' ', out);
        }
        out.extend_from_slice(prefix);
        if !self.minus && zeros {
            fill(b'0', out);
        }
        out.extend_from_slice(body);
        if self.minus {
            fill(b' ', out);
        }
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (.., true) => " ",
            _ => "",
        }
    }

    fn integer(&self, bytes: &[u8], out: &mut Vec<u8>) {
        // The length says how much of the argument counts: C's promotions made it longer. Without one it is an `int` for a number alone.
        let natural = if self.lanes == 0 && self.bytes == 0 { 4 } else { self.bytes };
        let len = if natural == 0 { bytes.len() } else { natural.min(bytes.len()) };
        let bytes = &bytes[..len];
        let is_signed = matches!(self.letter, b'd' | b'i');
        let value = unsigned(bytes);
        let shift = 64u32.saturating_sub(8 * len as u32);
        let wide = ((value << (shift % 64)) as i64) >> (shift % 64);
        let (negative, magnitude) = if is_signed { (wide < 0, wide.unsigned_abs()) } else { (false, value) };
        let mut digits = match self.letter {
            b'o' => format!("{magnitude:o}"),
            b'x' => format!("{magnitude:x}"),
            b'X' => format!("{magnitude:X}"),
            _ => magnitude.to_string(),
        };
        if self.precision() == Some(0) && magnitude == 0 {
            digits.clear();
        }
        if let Some(least) = self.precision() {
            digits = format!("{digits:0>least$}");
        }
        let prefix = match self.letter {
            b'o' if self.hash && !digits.starts_with('0') => "0",
            b'x' if self.hash && magnitude != 0 => "0x",
            b'X' if self.hash && magnitude != 0 => "0X",
            _ if is_signed => self.sign(negative),
            _ => "",
        };
        let zeros = self.zero && self.precision().is_none();
        self.pad(prefix.as_bytes(), digits.as_bytes(), zeros, out);
    }

    fn real(&self, bytes: &[u8], out: &mut Vec<u8>) {
        let value = match *bytes {
            [a, b] => crate::fp::f16_to_f32(u16::from_le_bytes([a, b]).into()).into(),
            [a, b, c, d] => f32::from_le_bytes([a, b, c, d]).into(),
            _ => f64::from_bits(unsigned(bytes)),
        };
        let sign = self.sign(value.is_sign_negative());
        let magnitude = value.abs();
        let mut body = match self.letter {
            _ if value.is_nan() => "nan".to_owned(),
            _ if value.is_infinite() => "inf".to_owned(),
            b'f' | b'F' => self.fixed(magnitude, self.precision().unwrap_or(6)),
            b'e' | b'E' => self.scientific(magnitude, self.precision().unwrap_or(6)),
            b'g' | b'G' => self.shortest(magnitude),
            _ => self.hexadecimal(magnitude),
        };
        let mut prefix = sign.to_owned();
        if let Some(digits) = body.strip_prefix("0x") {
            prefix.push_str("0x");
            body = digits.to_owned();
        }
        if self.letter.is_ascii_uppercase() {
            (prefix, body) = (prefix.to_ascii_uppercase(), body.to_ascii_uppercase());
        }
        self.pad(prefix.as_bytes(), body.as_bytes(), self.zero && value.is_finite(), out);
    }

    fn fixed(&self, value: f64, precision: usize) -> String {
        let mut out = format!("{value:.precision$}");
        if precision == 0 && self.hash {
            out.push('.');
        }
        out
    }

    fn scientific(&self, value: f64, precision: usize) -> String {
        let text = format!("{value:.precision$e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let point = if precision == 0 && self.hash { "." } else { "" };
        let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
        format!("{digits}{point}e{sign}{exponent:0>2}")
    }

    /// `%g`: as `%f` or `%e`, by the exponent, without zeros at the end.
    fn shortest(&self, value: f64) -> String {
        let precision = self.precision().unwrap_or(6).max(1);
        let rounded = format!("{value:.*e}", precision - 1);
        let exponent: i64 = rounded.rsplit_once('e').and_then(|(_, text)| text.parse().ok()).unwrap_or(0);
        let is_fixed = (-4..precision as i64).contains(&exponent);
        let text = match is_fixed {
            true => self.fixed(value, (precision as i64 - 1 - exponent).max(0) as usize),
            false => self.scientific(value, precision - 1),
        };
        if self.hash {
            return text;
        }
        let (digits, exponent) = text.find('e').map_or((&*text, ""), |at| text.split_at(at));
        let digits = match digits.contains('.') {
            true => digits.trim_end_matches('0').trim_end_matches('.'),
            false => digits,
        };
        format!("{digits}{exponent}")
    }

    /// `%a`, with one bit in front of the point.
    fn hexadecimal(&self, value: f64) -> String {
        const DIGITS: usize = 13;
        let bits = value.to_bits();
        let (mut exponent, fraction) = ((bits >> 52) as i64 - 1023, bits & ((1 << 52) - 1));
        let mut digits = fraction | 1 << 52;
        if exponent == -1023 {
            (exponent, digits) = if fraction == 0 { (0, 0) } else { (-1022, fraction) };
        }
        let mut count = DIGITS;
        if let Some(wanted) = self.precision() {
            if wanted < DIGITS {
                let shift = 4 * (DIGITS - wanted) as u32;
                let (half, rest) = (1u64 << (shift - 1), digits & ((1 << shift) - 1));
                digits >>= shift;
                digits += u64::from(rest > half || rest == half && digits & 1 == 1);
                count = wanted;
            }
        } else {
            while count > 0 && digits & 15 == 0 {
                (digits, count) = (digits >> 4, count - 1);
            }
        }
        let mut out = format!("0x{:x}", digits >> (4 * count));
        if count > 0 || self.hash || self.precision().is_some_and(|wanted| wanted > 0) {
            out.push('.');
        }
        if count > 0 {
            let mask = (1u64 << (4 * count)) - 1;
            let _ = write!(out, "{:0count$x}", digits & mask);
        }
        if let Some(wanted) = self.precision() {
            out.extend(std::iter::repeat_n('0', wanted.saturating_sub(count)));
        }
        let _ = write!(out, "p{exponent:+}");
        out
    }
}

fn unsigned(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(format: &str, bytes: &[u8]) -> String {
        let mut out = Vec::new();
        for piece in pieces(format.as_bytes()) {
            match piece {
                Piece::Text(text) => out.extend(text),
                Piece::Conversion(conversion) => conversion.write(bytes, &mut out),
            }
        }
        String::from_utf8(out).unwrap()
    }

    /// What C's library prints for the same.
    #[test]
    fn integers() {
        for (format, value, expected) in [
            ("%d", -7i64, "-7"),
            ("[%5d|%-5d|%05d|%+d|% d]", 42, "[   42|42   |00042|+42| 42]"),
            ("%u", -1, "4294967295"),
            ("%lu %ld", -1, "18446744073709551615 -1"),
            ("%hhd %hd %hu", 0x1_ff80, "-128 -128 65408"),
            ("%x %X %#x %#o %o", 255, "ff FF 0xff 0377 377"),
            ("%.4d|%8.3x|%-8.3X|", 10, "0010|     00a|00A     |"),
            ("%.0d|%#x|%#o", 0, "|0|0"),
            ("%c%%%3c", 65, "A%  A"),
            ("%p", 0x1234, "0x1234"),
            ("%p|%8p", 0, "(nil)|   (nil)"),
            ("%y and %", 1, "%y and %"),
        ] {
            assert_eq!(shown(format, &value.to_le_bytes()), expected, "{format}");
        }
    }

    #[test]
    fn reals() {
        for (format, value, expected) in [
            ("%f", 1.5, "1.500000"),
            ("%.0f %#.0f %.1f", 2.5, "2 2. 2.5"),
            ("[%8.2f|%-8.2f|%08.2f]", -3.17159, "[   -3.17|-3.17   |-0003.17]"),
            ("%e %E %.0e", 12345.678, "1.234568e+04 1.234568E+04 1e+04"),
            ("%e", 1e-300, "1.000000e-300"),
            ("%g %G", 1e-5, "1e-05 1E-05"),
            ("%g %.3g %#g", 100000.0, "100000 1e+05 100000."),
            ("%g", 1234567.0, "1.23457e+06"),
            ("%g %.10g", 0.0001, "0.0001 0.0001"),
            ("%g", 999_999.5, "1e+06"),
            ("%f %F %5e %05g", f64::INFINITY, "inf INF   inf   inf"),
            ("%f %G", f64::NAN, "nan NAN"),
            ("%a %A", 1.0, "0x1p+0 0X1P+0"),
            ("%a %.1a %.0a %.15a", 3.1875, "0x1.98p+1 0x1.ap+1 0x2p+1 0x1.980000000000000p+1"),
            ("%012a|", -0.5, "-0x000001p-1|"),
            ("%a", 5e-324, "0x0.0000000000001p-1022"),
            ("%+g % g", 0.0, "+0  0"),
            ("%g", -0.0, "-0"),
        ] {
            assert_eq!(shown(format, &value.to_le_bytes()), expected, "{format}");
        }
        assert_eq!(shown("%.3f", &0.1f32.to_le_bytes()), "0.100");
        assert_eq!(shown("%g", &0x3e00u16.to_le_bytes()), "1.5");
    }

    #[test]
    fn vectors_and_strings() {
        assert_eq!(shown("%v4hhd", &[1, 0xff, 3, 0x80]), "1,-1,3,-128");
        assert_eq!(shown("%v2hx", &[1, 2, 3, 4]), "201,403");
        assert_eq!(shown("<%3v2hld>", &[1, 0, 0, 0, 2, 0, 0, 0]), "<  1,  2>");
        assert_eq!(shown("%v2lu", &[1; 16]), "72340172838076673,72340172838076673");
        assert_eq!(shown("%v3hhu", &[1, 2, 3, 4]), "1,2,3");
        assert_eq!(shown("%v5d", &[1; 20]), "%v5d");
        assert_eq!(shown("%s|%.2s|%6s|%-6s|", b"text\0more"), "text|te|  text|text  |");
        assert_eq!(shown("%99999999999999999999d", &[1, 0, 0, 0]).len(), FIELD_MAX);
    }
}
