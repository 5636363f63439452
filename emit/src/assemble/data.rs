//! Data directives: numbers, strings, space, alignment, relocations, contents of files.

use super::directive::Directive;
use super::section::comma;
use super::{Assembler, MAX_SECTION_BYTES, Patch, PatchKind, Place, Result, Value, fail};
use crate::object::reloc;
use mir::isa::parse::lexer::{Lexer, Token};

/// A relocation that the text asks for.
#[derive(Clone, Debug)]
pub struct Reloc<'a> {
    /// Its place: a number counts from the start of the section, an address is one of this object.
    pub offset: Value<'a>,
    /// `R_AMDGPU_*`.
    pub kind: u32,
    /// Symbol and addend; none for a relocation without a symbol.
    pub value: Option<Value<'a>>,
}

impl<'a> Assembler<'a, '_> {
    /// Obeys a data directive up to the end of the line, which the caller checks.
    pub(super) fn data_directive(
        &mut self,
        directive: Directive,
        lexer: &mut Lexer<'a>,
        line: u32,
        at: usize,
    ) -> Result {
        match directive {
            Directive::Integers(width) => self.numbers(width, lexer, line),
            Directive::WideIntegers => self.wide_numbers(lexer),
            Directive::Floats(width) => self.floats(width, lexer),
            Directive::Leb(signed) => self.leb_directive(signed, lexer, line),
            Directive::Strings(terminated) => self.strings(lexer, terminated),
            Directive::Base64 => self.base64(lexer),
            Directive::Space => {
                let count_at = lexer.start;
                let count = self.number_here(lexer, line)?;
                let fill = if lexer.skip(b',') { self.constant(lexer)? } else { 0 };
                self.fill(count, 1, fill, count_at)
            }
            Directive::Units(size) => {
                let count_at = lexer.start;
                let count = self.number_here(lexer, line)?;
                let value = if lexer.skip(b',') { self.constant(lexer)? } else { 0 };
                self.fill(count, size.into(), value, count_at)
            }
            Directive::Fill => {
                let count = self.number_here(lexer, line)?;
                let size_at = lexer.start;
                let size = if lexer.skip(b',') { self.constant(lexer)? } else { 1 };
                let value = if lexer.skip(b',') { self.constant(lexer)? } else { 0 };
                match usize::try_from(size) {
                    Ok(size @ 0..=8) => self.fill(count, size, value, at),
                    _ => fail(size_at, "element size is not 0 to 8"),
                }
            }
            Directive::Align(power, unit) => self.align_directive(power, unit, lexer),
            Directive::Origin => self.org(lexer, line),
            Directive::Relocation => self.reloc(lexer, line),
            Directive::BinaryFile => self.incbin(lexer),
            _ => fail(at, "the directive holds no data"),
        }
    }

    /// `.align` and its kin: `alignment [, [fill] [, most bytes]]`.
    fn align_directive(&mut self, power: bool, unit: u8, lexer: &mut Lexer<'a>) -> Result {
        let value_at = lexer.start;
        let value = self.constant(lexer)?;
        let align = match u64::try_from(value) {
            Ok(value @ 0..=31) if power => 1 << value,
            Ok(0) => 1,
            Ok(value) if !power && value.is_power_of_two() && value < 1 << 32 => value,
            _ => return fail(value_at, format!("invalid alignment {value}")),
        };
        let (mut fill, mut most) = (None, u64::MAX);
        if lexer.skip(b',') {
            if lexer.token != Token::Op(b',') {
                fill = Some(self.constant(lexer)?.to_le_bytes());
            }
            if lexer.skip(b',') {
                most = self.constant(lexer)?.try_into().unwrap_or(0);
            }
        }
        let size = self.section().size();
        if size.next_multiple_of(align) - size > most {
            return Ok(());
        }
        let fill = fill.as_ref().map(|bytes| &bytes[..usize::from(unit)]);
        self.align(align, fill, value_at)
    }

    /// `.org place [, fill]`: goes on at a later offset of the section.
    fn org(&mut self, lexer: &mut Lexer<'a>, line: u32) -> Result {
        let at = lexer.start;
        let value = self.value(lexer, line)?;
        let fill = if lexer.skip(b',') { self.constant(lexer)? } else { 0 };
        let target = self.target;
        let sum = self.symbols.evaluate(&value, &target).or_else(|message| fail(at, message))?;
        let offset = match (self.symbols.place(&sum), sum.plus, sum.minus) {
            (Some(place), ..) if place.section == self.current => place.offset as i64,
            (None, None, None) => sum.constant,
            _ => return fail(at, "expected an offset or a place of this section"),
        };
        let distance = offset.checked_sub(self.section().size() as i64).filter(|&distance| distance >= 0);
        let Some(distance) = distance else {
            return fail(at, format!("offset {offset} is behind this place"));
        };
        self.fill(distance, 1, fill, at)
    }

    /// `.reloc place, R_AMDGPU_NAME [, expression]`.
    fn reloc(&mut self, lexer: &mut Lexer<'a>, line: u32) -> Result {
        let offset = self.value(lexer, line)?;
        comma(lexer)?;
        let Token::Name(name) = lexer.token else {
            return fail(lexer.start, "expected the name of a relocation");
        };
        let kind = match name {
            "BFD_RELOC_NONE" => Some(reloc::NONE),
            "BFD_RELOC_32" => Some(reloc::ABS32),
            "BFD_RELOC_64" => Some(reloc::ABS64),
            _ => name.strip_prefix("R_AMDGPU_").and_then(reloc::by_name),
        };
        let Some(kind) = kind else { return fail(lexer.start, format!("unknown relocation {name}")) };
        lexer.step();
        let value = if lexer.skip(b',') { Some(self.value(lexer, line)?) } else { None };
        self.relocs.push(Reloc { offset, kind, value });
        Ok(())
    }

    /// `.incbin "file" [, skipped bytes [, most bytes]]`.
    fn incbin(&mut self, lexer: &mut Lexer<'a>) -> Result {
        let at = lexer.start;
        let Token::Str(name) = lexer.token else { return fail(at, "expected the name of a file") };
        let name = unescape(name).or_else(|message| fail(at, message))?;
        lexer.step();
        let (mut skip, mut most) = (0, usize::MAX);
        let bounds_at = lexer.start;
        let count = |value: i64| {
            usize::try_from(value).map_or_else(|_| fail(bounds_at, "a count of bytes is negative"), Ok)
        };
        if lexer.skip(b',') {
            if lexer.token != Token::Op(b',') {
                skip = count(self.constant(lexer)?)?;
            }
            if lexer.skip(b',') {
                most = count(self.constant(lexer)?)?;
            }
        }
        let bytes = self.read_file(&String::from_utf8_lossy(&name), at)?;
        let bytes = bytes.get(skip..).unwrap_or_default();
        let bytes = &bytes[..bytes.len().min(most)];
        self.room(bytes.len() as u64, at)?;
        self.multiply(bytes.len() as u64, at)?;
        self.section().data.extend_from_slice(bytes);
        Ok(())
    }

    /// Appends integers of sixteen bytes.
    fn wide_numbers(&mut self, lexer: &mut Lexer<'a>) -> Result {
        loop {
            let at = lexer.start;
            let negative = lexer.skip(b'-');
            // The lexer's numbers are of 64 bits; a longer one is read from its text.
            let text = lexer.text();
            let value = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
                Some(digits) => u128::from_str_radix(digits, 16),
                None => text.parse(),
            };
            let Ok(value) = value else { return fail(at, "expected a number of at most 128 bits") };
            lexer.step();
            self.room(16, at)?;
            let value = if negative { value.wrapping_neg() } else { value };
            self.section().data.extend_from_slice(&value.to_le_bytes());
            if !lexer.skip(b',') {
                return Ok(());
            }
        }
    }

    /// Appends floating-point numbers.
    fn floats(&mut self, width: u8, lexer: &mut Lexer<'a>) -> Result {
        if lexer.at_end() {
            return Ok(());
        }
        loop {
            let at = lexer.start;
            let negative = lexer.skip(b'-');
            if !negative {
                lexer.skip(b'+');
            }
            // The text is rounded once, to the width that is asked for.
            let digits = match lexer.token {
                Token::Int(_) | Token::Float(_) => lexer.text(),
                Token::Name(name) if name.eq_ignore_ascii_case("nan") => "nan",
                Token::Name(name) if ["inf", "infinity"].iter().any(|n| name.eq_ignore_ascii_case(n)) => {
                    "inf"
                }
                _ => return fail(at, "expected a floating-point number"),
            };
            let bits = match width {
                4 => {
                    digits.parse::<f32>().map(|v| if v.is_nan() { u32::MAX >> 1 } else { v.to_bits() }.into())
                }
                _ => digits.parse::<f64>().map(|v| if v.is_nan() { u64::MAX >> 1 } else { v.to_bits() }),
            };
            let Ok(bits) = bits else { return fail(at, "expected a decimal floating-point number") };
            let bits = bits | u64::from(negative) << (8 * width - 1);
            lexer.step();
            self.room(width.into(), at)?;
            self.section().data.extend_from_slice(&bits.to_le_bytes()[..usize::from(width)]);
            if !lexer.skip(b',') {
                return Ok(());
            }
        }
    }

    /// Reads an expression whose value is known here; differences of labels are.
    fn number_here(&mut self, lexer: &mut Lexer<'a>, line: u32) -> Result<i64> {
        let at = lexer.start;
        let value = self.value(lexer, line)?;
        if let Some(constant) = value.expr.constant() {
            return Ok(constant);
        }
        let target = self.target;
        match self.symbols.evaluate(&value, &target) {
            Ok(sum) if sum.plus.is_none() && sum.minus.is_none() => Ok(sum.constant),
            _ => fail(at, "expected an absolute expression"),
        }
    }

    /// Appends the bytes of strings in base 64.
    fn base64(&mut self, lexer: &mut Lexer<'a>) -> Result {
        loop {
            let at = lexer.start;
            let Token::Str(text) = lexer.token else { return fail(at, "expected a string") };
            let bytes = from_base64(text).map_or_else(|| fail(at, "this is not base 64"), Ok)?;
            self.room(bytes.len() as u64, at)?;
            self.section().data.extend(bytes);
            lexer.step();
            if !lexer.skip(b',') {
                return Ok(());
            }
        }
    }

    /// Appends expressions of `width` bytes each.
    fn numbers(&mut self, width: u8, lexer: &mut Lexer<'a>, line: u32) -> Result {
        if lexer.at_end() {
            return Ok(());
        }
        loop {
            let at = lexer.start;
            let value = self.value(lexer, line)?;
            let section = self.section();
            if section.is_nobits() && value.expr.constant() == Some(0) && section.size() < MAX_SECTION_BYTES {
                // Zeros are what such a section holds.
                section.nobits_size += u64::from(width);
                if lexer.skip(b',') {
                    continue;
                }
                return Ok(());
            }
            self.room(u64::from(width), at)?;
            let bits = 8 * u32::from(width);
            match value.expr.constant() {
                Some(number) if bits == 64 || fits(number, bits) => {
                    let bytes = number.to_le_bytes();
                    self.section().data.extend_from_slice(&bytes[..usize::from(width)]);
                }
                Some(number) => return fail(at, format!("{number} does not fit {bits} bits")),
                None => {
                    let place: Place = self.here();
                    let size = self.section().data.len() + usize::from(width);
                    self.section().data.resize(size, 0);
                    self.patches.push(Patch { kind: PatchKind::Data(width), place, value });
                }
            }
            if !lexer.skip(b',') {
                return Ok(());
            }
        }
    }

    fn strings(&mut self, lexer: &mut Lexer<'a>, terminated: bool) -> Result {
        if lexer.at_end() {
            return Ok(());
        }
        loop {
            let Token::Str(text) = lexer.token else { return fail(lexer.start, "expected a string") };
            let bytes = unescape(text).or_else(|message| fail(lexer.start, message))?;
            self.room(bytes.len() as u64 + 1, lexer.start)?;
            self.section().data.extend(bytes);
            lexer.step();
            // Strings without a comma between are one.
            let joined = matches!(lexer.token, Token::Str(_));
            if terminated && !joined {
                self.section().data.push(0);
            }
            if !joined && !lexer.skip(b',') {
                return Ok(());
            }
        }
    }

    /// Appends `count` times the `size` low bytes of `value`.
    pub(super) fn fill(&mut self, count: i64, size: usize, value: i64, at: usize) -> Result {
        let Ok(count) = u64::try_from(count) else { return fail(at, "negative count") };
        let total = count.saturating_mul(size as u64);
        let section = self.section();
        if section.size().saturating_add(total) > MAX_SECTION_BYTES {
            return fail(at, "the section becomes too large");
        }
        if section.is_nobits() {
            section.nobits_size += total;
            return Ok(());
        }
        self.multiply(total, at)?;
        let bytes = value.to_le_bytes();
        append_repeated(&mut self.section().data, &bytes[..size], total as usize);
        Ok(())
    }

    /// Counts bytes that the text does not spell out, so that a short text makes no object without bound.
    pub(super) fn multiply(&mut self, bytes: u64, at: usize) -> Result {
        self.multiplied = self.multiplied.saturating_add(bytes);
        let most = self.options.most_bytes.unwrap_or(MAX_SECTION_BYTES);
        if self.multiplied > most { fail(at, "the object becomes too large") } else { Ok(()) }
    }

    /// Checks that the section takes `bytes` more.
    pub(super) fn room(&mut self, bytes: u64, at: usize) -> Result {
        let section = self.section();
        if section.is_nobits() {
            return fail(at, "data in a section without contents");
        }
        if section.size() + bytes > MAX_SECTION_BYTES {
            fail(at, "the section becomes too large")
        } else {
            Ok(())
        }
    }
}

/// Appends `total` bytes: `unit` again and again.
fn append_repeated(data: &mut Vec<u8>, unit: &[u8], total: usize) {
    let start = data.len();
    data.extend_from_slice(&unit[..unit.len().min(total)]);
    // Each copy doubles what is there, so long fills cost no loop over bytes.
    while !unit.is_empty() && data.len() - start < total {
        let written = data.len() - start;
        data.extend_from_within(start..start + written.min(total - written));
    }
}

/// Whether `bits` hold `value`, signed or unsigned.
fn fits(value: i64, bits: u32) -> bool {
    let signed = value >> (bits - 1);
    signed == 0 || signed == -1 || (value as u64) >> bits == 0
}

/// The bytes of a string's text.
pub(super) fn unescape(text: &str) -> std::result::Result<Vec<u8>, &'static str> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let digit = |byte: u8, radix| char::from(byte).to_digit(radix).map(|digit| digit as u8);
        out.push(match bytes.next() {
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'r') => b'\r',
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'x' | b'X') => {
                let mut value = None;
                while let Some(next) = bytes.peek().and_then(|b| digit(*b, 16)) {
                    value = Some(value.unwrap_or(0u8) << 4 | next);
                    bytes.next();
                }
                value.ok_or("invalid hexadecimal escape in string")?
            }
            Some(first @ b'0'..=b'7') => {
                let mut value = u32::from(first - b'0');
                for _ in 0..2 {
                    let Some(next) = bytes.peek().and_then(|b| digit(*b, 8)) else { break };
                    value = value << 3 | u32::from(next);
                    bytes.next();
                }
                u8::try_from(value).map_err(|_| "octal escape in string is too large")?
            }
            Some(byte @ (b'"' | b'\\')) => byte,
            _ => return Err("unknown escape in string"),
        });
    }
    Ok(out)
}

/// The bytes that base 64 stands for; `None` for what is not complete.
fn from_base64(text: &str) -> Option<Vec<u8>> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - digits.len() > 2 {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for group in digits.as_bytes().chunks(4) {
        let mut word = 0u32;
        for i in 0..4 {
            let digit = match group.get(i) {
                Some(digit) => DIGITS.iter().position(|d| d == digit)?,
                None => 0,
            };
            word = word << 6 | digit as u32;
        }
        out.extend_from_slice(&word.to_be_bytes()[1..group.len()]);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        assert_eq!(unescape(r#"a\n\"\\\101\x4a\0008"#), Ok(b"a\n\"\\AJ\x008".to_vec()));
        assert_eq!(from_base64("YWJjZA=="), Some(b"abcd".to_vec()));
        assert!(
            from_base64("YQ=").is_none() && from_base64("Y===").is_none() && from_base64("Y?==").is_none()
        );
        assert!(unescape(r"\q").is_err() && unescape(r"\777").is_err() && unescape(r"\x").is_err());
    }
}
