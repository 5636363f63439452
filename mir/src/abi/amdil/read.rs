//! Reads AMDIL's metadata. Cost: linear in the text.

use super::{
    CODE_CHARS, ConstantPlace, DataSegment, DataVector, Dimension, ImageAccess, Kernel, MESSAGE_CHARS,
    MemorySpace, PointerSpace, Token, Unit, ValueType, printf_length,
};
use crate::{Diagnostic, Result};
use std::str::Split;

const DEBUG_START: &str = ";DEBUGSTART";
const DEBUG_END: &str = ";DEBUGEND";

/// Lanes that a vector may have.
const LANES: [u32; 6] = [1, 2, 3, 4, 8, 16];

/// What a line lacks or has too much of.
type Parsed<T> = std::result::Result<T, String>;

/// The metadata in `text`; lines of IL are passed over.
///
/// # Errors
/// The first line that is wrong, by its number from 1: an unknown keyword, missing or superfluous values, values of another kind, blocks
/// that do not end or are inside of each other ([`crate::ErrorKind::Malformed`]).
pub fn parse(text: &str) -> Result<Unit> {
    let mut reader = Reader::default();
    for (index, line) in text.lines().enumerate() {
        reader
            .line(line.trim())
            .map_err(|message| Diagnostic::malformed(format!("metadata line {}: {message}", index + 1)))?;
    }
    let open = match &reader {
        Reader { debug: true, .. } => Some("debug information".to_owned()),
        Reader { kernel: Some(kernel), .. } => Some(format!("the block of {}", kernel.name)),
        Reader { segment: Some(_), .. } => Some("a data segment".to_owned()),
        _ => None,
    };
    match open {
        Some(what) => Err(Diagnostic::malformed(format!("{what} does not end"))),
        None => Ok(reader.unit),
    }
}

/// `text` without debug information, which is not for the compiler of IL.
pub fn without_debug(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut debug = false;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        let is_mark = trimmed.starts_with(DEBUG_START) || trimmed.starts_with(DEBUG_END);
        if is_mark {
            debug = trimmed.starts_with(DEBUG_START);
        } else if !debug {
            out.push_str(line);
        }
    }
    out
}

#[derive(Default)]
struct Reader {
    unit: Unit,
    kernel: Option<Kernel>,
    segment: Option<DataSegment>,
    debug: bool,
}

impl Reader {
    fn line(&mut self, line: &str) -> Parsed<()> {
        if line.starts_with(DEBUG_END) {
            return if std::mem::take(&mut self.debug) { Ok(()) } else { Err("nothing to end".to_owned()) };
        }
        if self.debug || line.starts_with(DEBUG_START) {
            self.debug = true;
            return Ok(());
        }
        let Some(rest) = line.strip_prefix(';') else { return Ok(()) };
        if (8..=10).contains(&rest.len()) && rest.bytes().all(|byte| byte == b'$') {
            self.unit.placeholders += 1;
            return Ok(());
        }
        if let Some(name) = rest.strip_prefix("ARGSTART:") {
            if let Some(open) = &self.kernel {
                return Err(format!("the block of {} is open", open.name));
            }
            self.kernel = Some(Kernel { name: name.to_owned(), tokens: Vec::new() });
            return Ok(());
        }
        if let Some(name) = rest.strip_prefix("ARGEND:") {
            return match self.kernel.take() {
                Some(kernel) if kernel.name == name => {
                    self.unit.kernels.push(kernel);
                    Ok(())
                }
                Some(kernel) => Err(format!("the block of {} ends as that of {name}", kernel.name)),
                None => Err(format!("the block of {name} has no beginning")),
            };
        }
        if let Some(rest) = rest.strip_prefix('#') {
            return self.data_line(rest);
        }
        // Outside of blocks, it is a comment of IL.
        let Some(kernel) = &mut self.kernel else { return Ok(()) };
        let token = token(rest)?;
        let unique = matches!(token, Token::UniqueId(_) | Token::Version(_) | Token::Device(_));
        if unique
            && kernel.tokens.iter().any(|old| std::mem::discriminant(old) == std::mem::discriminant(&token))
        {
            return Err(format!("{token} is given twice"));
        }
        kernel.tokens.push(token);
        Ok(())
    }

    fn data_line(&mut self, line: &str) -> Parsed<()> {
        let mut fields = Fields::new(line);
        match fields.text("type")? {
            "DATASTART" => {
                if self.segment.is_some() {
                    return Err("a data segment is open".to_owned());
                }
                let first = fields.number("size")?;
                let (buffer, bytes) = match fields.is_at_end() {
                    true => (None, first),
                    false => (Some(first), fields.number("size")?),
                };
                fields.end()?;
                self.segment = Some(DataSegment { buffer, bytes, vectors: Vec::new() });
            }
            "DATAEND" => {
                let buffer = if fields.is_at_end() { 0 } else { fields.number("buffer")? };
                fields.end()?;
                let Some(segment) = self.segment.take() else { return Err("nothing to end".to_owned()) };
                if segment.buffer.unwrap_or(0) != buffer {
                    return Err(format!("the segment of another buffer than {buffer} is open"));
                }
                self.unit.data.push(segment);
            }
            ty => {
                let vector = data_vector(ty, &mut fields)?;
                let Some(segment) = &mut self.segment else {
                    return Err("no data segment is open".to_owned());
                };
                segment.vectors.push(vector);
            }
        }
        Ok(())
    }
}

fn data_vector(name: &str, fields: &mut Fields<'_>) -> Parsed<DataVector> {
    let digits = name.strip_prefix('v').map(|rest| rest.chars().take_while(char::is_ascii_digit).count());
    let (lanes, scalar) = match digits {
        Some(count) => (name[1..=count].parse().unwrap_or(0), &name[1 + count..]),
        None => (1, name),
    };
    let ty = ValueType::of(scalar).filter(|ty| bytes_of(*ty).is_some() && LANES.contains(&lanes));
    let Some(ty) = ty else { return Err(format!("{name} is no type of data")) };
    let offset = fields.number("offset")?;
    let count = fields.number("count")?;
    let mut values = Vec::new();
    while !fields.is_at_end() {
        let text = fields.text("value")?;
        let value = match ty {
            ValueType::Float => u32::from_str_radix(text, 16).ok().map(i64::from),
            ValueType::Double => u64::from_str_radix(text, 16).ok().map(|bits| bits as i64),
            _ => text.parse().ok(),
        };
        values.push(value.ok_or_else(|| format!("{text} is no value of type {}", ty.word()))?);
    }
    if values.len() as u64 != u64::from(count) {
        return Err(format!("{} values, not {count}", values.len()));
    }
    Ok(DataVector { ty, lanes, offset, values })
}

/// Bytes of an element of data.
fn bytes_of(ty: ValueType) -> Option<u32> {
    match ty {
        ValueType::I8 => Some(1),
        ValueType::I16 => Some(2),
        ValueType::I32 | ValueType::Float => Some(4),
        ValueType::I64 | ValueType::Double => Some(8),
        _ => None,
    }
}

/// The values of a line, one after the other.
struct Fields<'a> {
    rest: Option<Split<'a, char>>,
    next: Option<&'a str>,
}

impl<'a> Fields<'a> {
    fn new(line: &'a str) -> Self {
        let mut rest = line.split(':');
        let next = rest.next();
        Self { rest: Some(rest), next }
    }

    fn is_at_end(&self) -> bool {
        self.next.is_none()
    }

    fn text(&mut self, what: &str) -> Parsed<&'a str> {
        let text = self.next.take().ok_or_else(|| format!("the {what} is missing"))?;
        self.next = self.rest.as_mut().and_then(Iterator::next);
        Ok(text)
    }

    fn number(&mut self, what: &str) -> Parsed<u32> {
        let text = self.text(what)?;
        text.parse().map_err(|_| format!("the {what} {text} is no number of 32 bits"))
    }

    fn word<T>(&mut self, what: &str, of: fn(&str) -> Option<T>) -> Parsed<T> {
        let text = self.text(what)?;
        of(text).ok_or_else(|| format!("{text} is no {what}"))
    }

    fn name(&mut self) -> Parsed<String> {
        self.text("name").map(str::to_owned)
    }

    fn place(&mut self) -> Parsed<ConstantPlace> {
        Ok(ConstantPlace { buffer: self.number("constant buffer")?, offset: self.number("offset")? })
    }

    fn numbers<const N: usize>(&mut self, what: &str) -> Parsed<[u32; N]> {
        let mut out = [0; N];
        out.iter_mut().try_for_each(|number| self.number(what).map(|value| *number = value))?;
        Ok(out)
    }

    fn end(&self) -> Parsed<()> {
        self.next.map_or(Ok(()), |text| Err(format!("{text} is too much")))
    }
}

fn token(line: &str) -> Parsed<Token> {
    let keyword = line.split(':').next().unwrap_or_default();
    let text = line.get(keyword.len() + 1..);
    // What may hold colons.
    match keyword {
        "error" => return message(text).map(Token::Error),
        "warning" => return message(text).map(Token::Warning),
        "device" => {
            return text.map(|name| Token::Device(name.to_owned())).ok_or("the name is missing".to_owned());
        }
        "printf_fmt" => return printf(text.unwrap_or_default()),
        _ => {}
    }
    let mut fields = Fields::new(line);
    fields.text("keyword")?;
    let token = match keyword {
        "version" => Token::Version(fields.numbers("version")?),
        "uniqueid" => Token::UniqueId(fields.number("id")?),
        "memory" => match fields.text("memory space")? {
            "compilerwrite" => Token::CompilerWrite,
            "datareqd" => Token::DataRequired,
            word => {
                let space = MemorySpace::of(word).ok_or_else(|| format!("{word} is no memory space"))?;
                Token::Memory { space, bytes: fields.number("size")? }
            }
        },
        "sampler" => {
            let (name, [id, location, value]) = (fields.name()?, fields.numbers("number")?);
            let value = match (location, value) {
                (0, 0) => None,
                (1, value) => Some(value),
                _ => return Err(format!("a sampler at location {location} with value {value}")),
            };
            Token::Sampler { name, id, value }
        }
        "image" => Token::Image {
            name: fields.name()?,
            dimension: fields.word("dimension", Dimension::of)?,
            access: fields.word("access", ImageAccess::of)?,
            id: fields.number("id")?,
            place: fields.place()?,
        },
        "counter" => {
            let (name, bits) = (fields.name()?, fields.number("width")?);
            if !matches!(bits, 32 | 64) {
                return Err(format!("a counter of {bits} bits"));
            }
            Token::Counter { name, bits, id: fields.number("id")?, place: fields.place()? }
        }
        "value" => {
            let (name, ty) = (fields.name()?, fields.word("type", ValueType::of)?);
            let count = fields.number("count")?;
            let any = matches!(ty, ValueType::Struct | ValueType::Union);
            let one = matches!(ty, ValueType::Event | ValueType::Opaque);
            if !any && !LANES.contains(&count) || one && count != 1 {
                return Err(format!("a value of {count} elements of type {}", ty.word()));
            }
            Token::Value { name, ty, count, place: fields.place()? }
        }
        "pointer" => {
            let (name, ty) = (fields.name()?, fields.word("type", ValueType::of)?);
            let count = fields.number("count")?;
            if count != 1 {
                return Err(format!("{count} pointers in one argument"));
            }
            Token::Pointer {
                name,
                ty,
                place: fields.place()?,
                space: fields.word("memory type", PointerSpace::of)?,
                number: fields.number("buffer")?,
                align: fields.number("alignment")?,
            }
        }
        "uavid" => Token::UavId(fields.number("id")?),
        "function" => Token::Functions(ids(&mut fields)?),
        "intrinsic" => Token::Intrinsics(ids(&mut fields)?),
        "cws" => Token::GroupSize(fields.numbers("size")?),
        "lws" => Token::MaxGroup(fields.number("size")?),
        "limitgroupsize" => Token::LimitGroup,
        _ => return Err(format!("unknown keyword {keyword}")),
    };
    fields.end()?;
    Ok(token)
}

/// A count and as many ids.
fn ids(fields: &mut Fields<'_>) -> Parsed<Vec<u32>> {
    let count = fields.number("count")?;
    let mut ids = Vec::new();
    while !fields.is_at_end() {
        ids.push(fields.number("id")?);
    }
    if ids.len() as u64 == u64::from(count) {
        Ok(ids)
    } else {
        Err(format!("{} ids, not {count}", ids.len()))
    }
}

fn message(text: Option<&str>) -> Parsed<String> {
    let text = text.unwrap_or_default();
    // Whether the code counts is not said.
    if !(CODE_CHARS..=CODE_CHARS + MESSAGE_CHARS).contains(&text.chars().count()) {
        return Err(format!(
            "a message has a code of {CODE_CHARS} characters and {MESSAGE_CHARS} at most behind it"
        ));
    }
    Ok(text.to_owned())
}

fn printf(text: &str) -> Parsed<Token> {
    // The format may hold what separates values.
    let mut rest = text;
    let mut number = |what: &str| {
        let (first, behind) = rest.split_once(':').ok_or_else(|| format!("the {what} is missing"))?;
        rest = behind;
        first.parse::<u32>().map_err(|_| format!("the {what} {first} is no number of 32 bits"))
    };
    let id = number("id")?;
    let count = number("count of arguments")?;
    let mut sizes = Vec::new();
    for _ in 0..count {
        sizes.push(number("size of an argument")?);
    }
    let length = number("length")?;
    let format = rest.strip_suffix(';').ok_or("the format does not end with a semicolon")?;
    let counted = printf_length(format);
    if counted != length as usize {
        return Err(format!("the format has {counted} characters, not {length}"));
    }
    Ok(Token::Printf { id, sizes, format: format.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every keyword, as the patterns have them.
    const ALL: &str = "\
;#DATASTART:16
;#i32:0:4:0:1:2:3
;#DATAEND:0
;#DATASTART:2:20
;#i32:0:3:20:9123:124
;#float:16:1:42B60000
;#DATAEND:2
;#DATASTART:32
;#v3i32:0:8:1:2:3:0:4:5:6:0
;#double:0:1:BFF0000000000000
;#DATAEND:0
;$$$$$$$$$$
;ARGSTART:k
;version:2:0:74
;device:cypress
;uniqueid:1024
;error:E013no room
;warning:W000a: b
;memory:local:16
;memory:hwlocal:32
;memory:hwlocal:4
;memory:private:8
;memory:hwprivate:0
;memory:compilerwrite
;memory:datareqd
;sampler:s:0:1:28
;sampler:t:1:0:0
;image:i:2D:RO:2:1:16
;image:j:3D:RW:3:1:48
;counter:c:32:0:1:80
;value:x:float:4:1:96
;value:y:struct:36:1:112
;value:z:event:1:1:160
;pointer:result:i32:1:1:176:uav:1:4
;pointer:l:double:1:1:192:hl:1:8
;uavid:8
;printf_fmt:0:0:23:!---initizeWSDeque---!\\n;
;printf_fmt:4:3:4:4:4:35:Bottom: %d Top: %d InitialSize: %d\\n;
;function:2:1025:1026
;intrinsic:0
;cws:16:16:1
;lws:256
;limitgroupsize
;ARGEND:k
";

    #[test]
    fn every_token_is_read_and_written() {
        let unit = parse(ALL).expect("readable");
        assert_eq!(unit.to_string(), ALL);
        let kernel = &unit.kernels[0];
        assert_eq!((kernel.name.as_str(), kernel.tokens.len(), unit.placeholders), ("k", 30, 1));
        assert_eq!(kernel.memory_bytes(MemorySpace::HwLocal), 36);
        assert_eq!(kernel.group(), [16, 16, 1]);
        assert_eq!(Kernel::default().group(), [64, 1, 1]);
        let place = ConstantPlace { buffer: 1, offset: 176 };
        let pointer = Token::Pointer {
            name: "result".into(),
            ty: ValueType::I32,
            place,
            space: PointerSpace::Uav,
            number: 1,
            align: 4,
        };
        assert!(kernel.tokens.contains(&pointer));
        let sizes = vec![4, 4, 4];
        let format = r"Bottom: %d Top: %d InitialSize: %d\n".to_owned();
        assert!(kernel.tokens.contains(&Token::Printf { id: 4, sizes, format }));
        let floats = &unit.data[1].vectors[1];
        assert_eq!((floats.ty, &floats.values[..]), (ValueType::Float, &[0x42b6_0000][..]));
        assert_eq!((unit.data[1].buffer, unit.data[2].vectors[0].lanes), (Some(2), 3));
    }

    #[test]
    fn what_is_not_metadata_is_passed_over() {
        let text = "il_cs_2_0\n; a comment\n;DEBUGSTART:1\n;ARGSTART:debug\n;DEBUGEND\n;$$$$$$$$\nendmain\nfunc 1024 ; f\n\
                    ;ARGSTART:f\n mov r0, r1\n;lws:64\n;ARGEND:f\nend\n";
        let unit = parse(text).expect("readable");
        assert_eq!((unit.kernels.len(), unit.placeholders), (1, 1));
        assert_eq!(unit.kernels[0].tokens, [Token::MaxGroup(64)]);
        let kept = without_debug(text);
        assert!(
            !kept.contains("DEBUG") && !kept.contains("debug") && kept.contains("; a comment\n;$$$$$$$$\n")
        );
    }

    #[test]
    fn wrong_lines_are_named() {
        for line in [
            "version:1:2",
            "version:1:2:3:4",
            "uniqueid:x",
            "uniqueid:4294967296",
            "device",
            "error:abc",
            "warning:W0000123456789012345678901234567890123456789",
            "memory:lds:4",
            "memory:local",
            "sampler:s:0:2:0",
            "sampler:s:0:0:1",
            "image:i:1D:RO:0:1:0",
            "image:i:2D:XX:0:1:0",
            "counter:c:16:0:1:0",
            "value:x:i32:5:1:0",
            "value:x:event:2:1:0",
            "value:x:i31:1:1:0",
            "pointer:p:i32:2:1:0:g:0:4",
            "pointer:p:i32:1:1:0:gg:0:4",
            "pointer:p:i32:1:0:g:0:4",
            "printf_fmt:0:0:3:abcd;",
            "printf_fmt:0:0:3:abc",
            "printf_fmt:0:2:4:3:abc;",
            "function:2:1",
            "intrinsic:x",
            "cws:1:2",
            "lws:-1",
            "limitgroupsize:1",
            "what:1",
            "#i32:0:1:1",
        ] {
            let text = format!(";ARGSTART:k\n;{line}\n;ARGEND:k\n");
            let error = parse(&text).expect_err(line);
            assert!(error.message.contains("line 2:"), "{line}: {error}");
        }
        for text in [
            ";ARGSTART:k",
            ";ARGEND:k",
            ";ARGSTART:k\n;ARGEND:l",
            ";ARGSTART:k\n;ARGSTART:l",
            ";ARGSTART:k\n;uniqueid:1\n;uniqueid:1\n;ARGEND:k",
            ";DEBUGSTART",
            ";DEBUGEND",
            ";#DATASTART:4",
            ";#DATAEND:0",
            ";#DATASTART:4\n;#DATAEND:1",
            ";#DATASTART:4\n;#i32:0:2:1\n;#DATAEND",
            ";#DATASTART:4\n;#float:0:1:1.0\n;#DATAEND",
            ";#DATASTART:4\n;#v5i32:0:1:1\n;#DATAEND",
            ";#DATASTART:4\n;#struct:0:1:1\n;#DATAEND",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
