//! What kernels print: the buffer that `printf` fills, read as ROCm's runtime reads it.
//!
//! The buffer starts with how many bytes behind its header are taken and how large it is, both of 32 bits. Records follow, in the order in which work-items took
//! their room. There are two forms, told apart by the formats in the metadata:
//!
//! * OpenCL (`NUMBER:COUNT:SIZE...:FORMAT`): the number of the format, then each argument in its size; strings by value.
//! * HIP with `-mprintf-kind=buffered` (`0:0:HASH,FORMAT`): a word with the record's size in bytes times four and, in bit 1, whether the format is one of the metadata;
//!   then its hash or the format itself, then arguments of eight bytes each and strings to their end, filled up to eight bytes.
//!
//! Contents are the kernel's, so nothing is taken for granted: what does not fit ends the reading with a problem. Cost: linear in buffer and output, which is bounded.
//!
//! Sources: AMDGPU usage guide, `amdhsa.printf` and `.printf`; OpenCL C 3.0, "printf"; C11, 7.21.6.1; what clang 22 makes of calls.

mod conversion;

use conversion::{Conversion, Piece, pieces};
use rustc_hash::FxHashMap;

/// Bytes in front of the records.
const HEADER: usize = 8;
/// Most bytes of text.
const TEXT_MAX: usize = 64 << 20;

/// What a kernel printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// The text.
    pub text: Vec<u8>,
    /// Why there is no more of it, where it is not all.
    pub problem: Option<String>,
}

/// A format of OpenCL.
#[derive(Debug)]
struct Format {
    /// Bytes of each argument.
    sizes: Vec<usize>,
    pieces: Vec<Piece>,
}

/// The formats of a code object.
#[derive(Debug)]
enum Formats {
    /// By number.
    Numbered(FxHashMap<u32, Format>),
    /// By hash.
    Hashed(FxHashMap<u64, Vec<Piece>>),
}

impl Formats {
    fn read(entries: &[String]) -> Result<Self, String> {
        let (mut numbered, mut hashed) = (FxHashMap::default(), FxHashMap::default());
        for entry in entries {
            let wrong = || format!("`{}` in the metadata is no format", entry.escape_debug());
            if let Some((hash, format)) = entry.strip_prefix("0:0:").and_then(|rest| rest.split_once(',')) {
                let hash = u64::from_str_radix(hash, 16).map_err(|_| wrong())?;
                hashed.insert(hash, pieces(format.as_bytes()));
                continue;
            }
            // Colons of the format itself are escaped.
            let fields: Vec<&str> = entry.split(':').collect();
            let [number, _, sizes @ .., format] = &fields[..] else { return Err(wrong()) };
            let number = number.parse().map_err(|_| wrong())?;
            let sizes =
                sizes.iter().map(|size| size.parse()).collect::<Result<_, _>>().map_err(|_| wrong())?;
            let format = Format { sizes, pieces: pieces(&unescaped(format)) };
            if numbered.insert(number, format).is_some() {
                return Err(format!(
                    "two formats have the number {number}: sources that print cannot be linked to one object"
                ));
            }
        }
        match (numbered.is_empty(), hashed.is_empty()) {
            (false, false) => Err("the metadata has formats of OpenCL and of HIP".to_owned()),
            (false, true) => Ok(Self::Numbered(numbered)),
            _ => Ok(Self::Hashed(hashed)),
        }
    }
}

/// What escapes of the metadata stand for.
fn unescaped(text: &str) -> Vec<u8> {
    const ESCAPES: [(&str, u8); 7] =
        [("a", 7), ("b", 8), ("f", 12), ("n", b'\n'), ("r", b'\r'), ("v", 11), ("72", b':')];
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let behind = &rest[c.len_utf8()..];
        let escape = ESCAPES.iter().find_map(|(name, byte)| Some((behind.strip_prefix(name)?, *byte)));
        match escape {
            Some((more, byte)) if c == '\\' => {
                out.push(byte);
                rest = more;
            }
            _ => {
                out.extend_from_slice(&rest.as_bytes()[..c.len_utf8()]);
                rest = behind;
            }
        }
    }
    out
}

/// Bytes of a record that have not been read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn word(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(*self.take(4)?.first_chunk()?))
    }

    fn long(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(*self.take(8)?.first_chunk()?))
    }

    /// A string with its end, in a multiple of eight bytes.
    fn string(&mut self) -> Option<&'a [u8]> {
        let len = self.0.iter().position(|&byte| byte == 0)?;
        Some(&self.take((len + 1).next_multiple_of(8))?[..len])
    }
}

/// The text of a buffer, by the formats of the code object's metadata.
pub fn read(formats: &[String], buffer: &[u8]) -> Printed {
    let mut printed = Printed::default();
    let Some((header, records)) = buffer.split_at_checked(HEADER) else { return printed };
    let taken = Reader(header).word().unwrap_or(0) as usize;
    if taken == 0 {
        return printed;
    }
    let mut reader = Reader(&records[..taken.min(records.len())]);
    let end = reader.0.len();
    let result = Formats::read(formats).and_then(|formats| {
        while !reader.0.is_empty() {
            let at = end - reader.0.len();
            let record = match &formats {
                Formats::Numbered(formats) => numbered(formats, &mut reader, &mut printed.text),
                Formats::Hashed(formats) => hashed(formats, &mut reader, &mut printed.text),
            };
            record.map_err(|why| format!("at byte {at} of the buffer: {why}"))?;
        }
        Ok(())
    });
    printed.text.truncate(TEXT_MAX);
    printed.problem = result.err();
    printed
}

const CUT: &str = "the record ends behind what is taken";

/// Ends a record that has too much text.
fn check_room(out: &[u8]) -> Result<(), String> {
    if out.len() > TEXT_MAX {
        return Err(format!("more than {TEXT_MAX} bytes of text"));
    }
    Ok(())
}

/// A record of OpenCL.
fn numbered(
    formats: &FxHashMap<u32, Format>,
    reader: &mut Reader<'_>,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let number = reader.word().ok_or(CUT)?;
    let format = formats.get(&number).ok_or_else(|| format!("the object has no format {number}"))?;
    let mut sizes = format.sizes.iter();
    for piece in &format.pieces {
        check_room(out)?;
        match piece {
            Piece::Text(text) => out.extend_from_slice(text),
            // An argument too few is undefined in C; nothing is printed for it.
            Piece::Conversion(conversion) if conversion.takes_argument() => {
                if let Some(&size) = sizes.next() {
                    conversion.write(reader.take(size).ok_or(CUT)?, out);
                }
            }
            Piece::Conversion(_) => {}
        }
    }
    for &size in sizes {
        reader.take(size).ok_or(CUT)?;
    }
    Ok(())
}

/// A record of HIP.
fn hashed(
    formats: &FxHashMap<u64, Vec<Piece>>,
    reader: &mut Reader<'_>,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let control = reader.word().ok_or(CUT)?;
    let size = (control >> 2) as usize;
    let body = size.checked_sub(4).and_then(|size| reader.take(size)).ok_or(CUT)?;
    let mut body = Reader(body);
    let is_own = control & 2 == 0;
    let own;
    let format = if !is_own {
        let hash = body.long().ok_or(CUT)?;
        formats.get(&hash).ok_or_else(|| format!("the object has no format {hash:016x}"))?
    } else {
        own = pieces(body.string().unwrap_or_default());
        &own
    };
    for piece in format {
        check_room(out)?;
        let conversion = match piece {
            Piece::Text(text) => {
                out.extend_from_slice(text);
                continue;
            }
            Piece::Conversion(conversion) => conversion,
        };
        // What is missing in C is undefined.
        let Some(mut conversion) = conversion.with_stars(|| body.long().map(|value| value as i32)) else {
            break;
        };
        if !conversion.takes_argument() {
            continue;
        }
        if conversion.letter == b's' && is_own {
            // clang does not know that it is a string, and hands its address on.
            conversion.letter = b'p';
        }
        let argument = if conversion.letter == b's' { body.string() } else { body.take(8) };
        let Some(argument) = argument else { break };
        conversion.write(argument, out);
    }
    Ok(())
}

impl Conversion {
    fn takes_argument(&self) -> bool {
        self.letter != b'%'
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(records: &[&[u8]]) -> Vec<u8> {
        let records = records.concat();
        [&(records.len() as u32).to_le_bytes()[..], &4096u32.to_le_bytes(), &records, &[0; 64]].concat()
    }

    fn text(formats: &[&str], records: &[&[u8]]) -> Result<String, String> {
        let formats: Vec<String> = formats.iter().map(|f| (*f).to_owned()).collect();
        let printed = read(&formats, &buffer(records));
        match printed.problem {
            None => Ok(String::from_utf8(printed.text).unwrap()),
            Some(problem) => Err(problem),
        }
    }

    #[test]
    fn records_of_opencl() {
        let formats = ["2:2:4:8:%d\\72 <%s>\\n", "1:0:no arguments\\n", "7:1:16:%v3hlf|"];
        let one = 1.5f32.to_le_bytes();
        let vector = [one, one, (-2f32).to_le_bytes(), [9; 4]].concat();
        let records: [&[u8]; 4] =
            [&[1, 0, 0, 0], b"\x02\0\0\0\xfe\xff\xff\xffab:cdefg", b"\x07\0\0\0", &vector];
        assert_eq!(
            text(&formats, &records).unwrap(),
            "no arguments\n-2: <ab:cdefg>\n1.500000,1.500000,-2.000000|"
        );
        assert!(text(&formats, &[&[9, 0, 0, 0]]).unwrap_err().contains("no format 9"));
        assert!(text(&formats, &[&[2, 0, 0, 0, 1, 0, 0, 0]]).unwrap_err().contains("ends behind"));
        assert!(text(&["1:0:a", "1:0:b"], &[&[1, 0, 0, 0]]).unwrap_err().contains("two formats"));
        assert!(text(&["x"], &[&[1, 0, 0, 0]]).unwrap_err().contains("is no format"));
        // More conversions than arguments, and more arguments than conversions.
        assert_eq!(text(&["1:1:4:%d %d"], &[&[1, 0, 0, 0, 5, 0, 0, 0]]).unwrap(), "5 ");
        assert_eq!(text(&["1:3:4:%d"], &[&[1, 0, 0, 0, 5, 0, 0, 0]]).unwrap(), "5");
        assert_eq!(read(&[], &[1, 2, 3]), Printed::default());
    }

    #[test]
    fn records_of_hip() {
        let formats = ["0:0:00000000000000ff,%-*d:%s|%g\n"];
        let body = |control: u32, parts: &[&[u8]]| {
            let body = parts.concat();
            [&(((body.len() as u32 + 4) << 2) | control).to_le_bytes()[..], &body].concat()
        };
        let constant = body(
            2,
            &[
                &255u64.to_le_bytes(),
                &5u64.to_le_bytes(),
                &[7, 0, 0, 0, 0, 0, 0, 0],
                b"text\0\0\0\0",
                &0.5f64.to_le_bytes(),
            ],
        );
        let own = body(0, &[b"%x and %s\0\0\0\0\0\0\0", &0xabcu64.to_le_bytes(), &0x7000u64.to_le_bytes()]);
        assert_eq!(text(&formats, &[&constant, &own]).unwrap(), "7    :text|0.5\nabc and 0x7000");
        assert!(text(&formats, &[&body(2, &[&[1; 8]])]).unwrap_err().contains("no format 0101"));
        assert!(text(&formats, &[&[3, 0, 0, 0]]).unwrap_err().contains("ends behind"));
        assert!(text(&formats, &[&[0xff; 8]]).unwrap_err().contains("ends behind"));
    }

    #[test]
    fn text_has_a_bound() {
        let all = format!("1:{}{}:{}", 1 << 15, ":4".repeat(1 << 15), "%4096d".repeat(1 << 15));
        let records = [&1u32.to_le_bytes()[..], &vec![1u8; 4 << 15]].concat();
        let printed = read(&[all], &buffer(&[&records]));
        assert_eq!(printed.text.len(), TEXT_MAX);
        assert!(printed.problem.is_some_and(|problem| problem.contains("bytes of text")));
    }

    #[test]
    fn damaged_buffers_end() {
        let mut state = 1u64;
        let formats: Vec<String> = ["1:1:4:%99999999d", "2:2:8:4:%v16d%s"].map(str::to_owned).into();
        for _ in 0..2000 {
            let bytes: Vec<u8> = (0..64)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    ((state >> 60) & 3) as u8
                })
                .collect();
            let printed = read(&formats, &bytes);
            assert!(printed.text.len() <= TEXT_MAX);
        }
    }
}
