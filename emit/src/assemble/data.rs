//! Data directives: numbers, strings, space, alignment.

use super::{Assembler, MAX_SECTION_BYTES, Patch, PatchKind, Place, Result, end, fail};
use mir::isa::parse::lexer::{Lexer, Token};

impl<'a> Assembler<'a, '_> {
    /// Obeys data directive `name`; false where there is none of this name.
    pub(super) fn data_directive(
        &mut self,
        name: &'a str,
        lexer: &mut Lexer<'a>,
        line: u32,
        at: usize,
    ) -> Result<bool> {
        match name {
            ".byte" => self.numbers(1, lexer, line)?,
            ".short" | ".2byte" | ".hword" | ".half" | ".value" => self.numbers(2, lexer, line)?,
            ".long" | ".4byte" | ".int" | ".word" => self.numbers(4, lexer, line)?,
            ".quad" | ".8byte" => self.numbers(8, lexer, line)?,
            ".ascii" => self.strings(lexer, false)?,
            ".asciz" | ".string" => self.strings(lexer, true)?,
            ".zero" | ".space" | ".skip" => {
                let count_at = lexer.start;
                let count = self.constant(lexer)?;
                let fill = if lexer.skip(b',') { self.constant(lexer)? } else { 0 };
                self.fill(count, 1, fill, count_at)?;
            }
            ".fill" => {
                let count = self.constant(lexer)?;
                let size_at = lexer.start;
                let size = if lexer.skip(b',') { self.constant(lexer)? } else { 1 };
                let value = if lexer.skip(b',') { self.constant(lexer)? } else { 0 };
                match usize::try_from(size) {
                    Ok(size @ 0..=8) => self.fill(count, size, value, at)?,
                    _ => return fail(size_at, "element size is not 0 to 8"),
                }
            }
            ".p2align" | ".align" | ".balign" => {
                let value_at = lexer.start;
                let value = self.constant(lexer)?;
                let align = match (name, u64::try_from(value)) {
                    (".p2align", Ok(power @ 0..=31)) => 1 << power,
                    (".balign" | ".align", Ok(0)) => 1,
                    (".balign" | ".align", Ok(align)) if align.is_power_of_two() && align < 1 << 32 => align,
                    _ => return fail(value_at, format!("invalid alignment {value}")),
                };
                let (mut fill, mut most) = (None, u64::MAX);
                if lexer.skip(b',') {
                    if lexer.token != Token::Op(b',') {
                        fill = Some(self.constant(lexer)? as u8);
                    }
                    if lexer.skip(b',') {
                        most = self.constant(lexer)?.try_into().unwrap_or(0);
                    }
                }
                let size = self.section().size();
                if size.next_multiple_of(align) - size <= most {
                    self.align(align, fill, value_at)?;
                }
            }
            _ => return Ok(false),
        }
        end(lexer)?;
        Ok(true)
    }

    /// Appends expressions of `width` bytes each.
    fn numbers(&mut self, width: u8, lexer: &mut Lexer<'a>, line: u32) -> Result {
        if lexer.at_end() {
            return Ok(());
        }
        loop {
            let at = lexer.start;
            let value = self.value(lexer, line)?;
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
        loop {
            let Token::Str(text) = lexer.token else { return fail(lexer.start, "expected a string") };
            let bytes = unescape(text).or_else(|message| fail(lexer.start, message))?;
            self.room(bytes.len() as u64 + 1, lexer.start)?;
            self.section().data.extend(bytes);
            if terminated {
                self.section().data.push(0);
            }
            lexer.step();
            if !lexer.skip(b',') {
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
        let bytes = value.to_le_bytes();
        section.data.extend(bytes[..size].iter().copied().cycle().take(total as usize));
        Ok(())
    }

    /// Checks that the section takes `bytes` more.
    fn room(&mut self, bytes: u64, at: usize) -> Result {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        assert_eq!(unescape(r#"a\n\"\\\101\x4a\0008"#), Ok(b"a\n\"\\AJ\x008".to_vec()));
        assert!(unescape(r"\q").is_err() && unescape(r"\777").is_err() && unescape(r"\x").is_err());
    }
}
