//! Metadata as a tree of any shape: MessagePack as in notes, YAML as in assembly.
//!
//! [`super::Metadata`] knows the keys of the usage guide; a [`Document`] keeps whatever a producer wrote. YAML is printed as LLVM prints it:
//! block style, values in one column, quotes where a reader could take a string for something else. Everything of YAML is read but
//! anchors, aliases and tags other than `!str` and `!nil`, which no producer of metadata writes. Plain scalars are what LLVM takes them for:
//! `true`, `false` and integers are such, `null` is a string.

use crate::{Diagnostic, Result};
use saphyr_parser::{Event, Parser, ScalarStyle};
use serde::de::{MapAccess, SeqAccess};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Deepest nesting that is read or written; that of the usage guide's metadata is five.
const MAX_DEPTH: usize = 128;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Document {
    /// Nothing.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer, of 64 bits with or without sign.
    Int(i128),
    /// A number that is no integer.
    Float(f64),
    /// A string.
    Text(String),
    /// A sequence.
    List(Vec<Document>),
    /// Keys with their values, in the order of the producer.
    Map(Vec<(Document, Document)>),
}

impl Document {
    /// Reads MessagePack bytes.
    pub fn from_msgpack(bytes: &[u8]) -> Result<Self> {
        let mut reader = rmp_serde::Deserializer::from_read_ref(bytes);
        reader.set_max_depth(MAX_DEPTH);
        Self::deserialize(&mut reader)
            .map_err(|e| Diagnostic::malformed(format!("metadata is unreadable: {e}")))
    }

    /// The MessagePack bytes, each value in its shortest form.
    ///
    /// # Errors
    /// Integers of more than 64 bits ([`crate::ErrorKind::Malformed`]).
    pub fn to_msgpack(&self) -> Result<Vec<u8>> {
        rmp_serde::to_vec(self).map_err(|e| Diagnostic::malformed(format!("metadata cannot be written: {e}")))
    }

    /// The value of `key` in a map.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(entries) => {
                entries.iter().find(|(k, _)| k.as_text() == Some(key)).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// The value of `key` in a map, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        match self {
            Self::Map(entries) => {
                entries.iter_mut().find(|(k, _)| k.as_text() == Some(key)).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// A string's text.
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Sorts the keys of every map by their bytes, as LLVM writes them.
    ///
    /// # Errors
    /// A key that is given twice.
    pub fn sort_keys(&mut self) -> Result<()> {
        match self {
            Self::List(items) => items.iter_mut().try_for_each(Self::sort_keys),
            Self::Map(entries) => {
                entries.sort_by(|a, b| a.0.order().cmp(&b.0.order()));
                if let Some(pair) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                    return Err(Diagnostic::malformed(format!(
                        "key {:?} is given twice in metadata",
                        pair[0].0
                    )));
                }
                entries.iter_mut().try_for_each(|(_, value)| value.sort_keys())
            }
            _ => Ok(()),
        }
    }

    /// Numbers before strings, as in LLVM's map of keys.
    fn order(&self) -> (u8, i128, &str) {
        match self {
            Self::Int(value) => (0, *value, ""),
            Self::Text(text) => (1, 0, text),
            _ => (2, 0, ""),
        }
    }

    /// Reads a YAML document.
    ///
    /// # Errors
    /// What is not YAML, or has anchors, aliases, tags or several documents; the position counts lines of `text` from 1.
    pub fn from_yaml(text: &str) -> Result<Self> {
        let bad =
            |line: usize, message: &str| Diagnostic::malformed(format!("metadata line {line}: {message}"));
        // Open containers; of a map, the key whose value is to come.
        let mut open: Vec<(Self, Option<Self>)> = Vec::new();
        let mut root = None;
        for event in Parser::new_from_str(text) {
            let (event, span) = event.map_err(|e| bad(e.marker().line(), e.info()))?;
            let line = span.start.line();
            let done = match event {
                Event::Scalar(_, _, anchor, Some(_)) | Event::Scalar(_, _, anchor, _) if anchor > 0 => {
                    return Err(bad(line, "an anchor"));
                }
                Event::Scalar(text, _, _, Some(tag)) => match (tag.handle.as_str(), tag.suffix.as_str()) {
                    ("!", "str") => Self::Text(text.into_owned()),
                    ("!", "nil") => Self::Null,
                    _ => return Err(bad(line, "a tag")),
                },
                Event::Scalar(text, ScalarStyle::Plain, ..) => Self::from_plain(&text),
                Event::Scalar(text, ..) => Self::Text(text.into_owned()),
                Event::SequenceStart(0, None) | Event::MappingStart(0, None) if open.len() >= MAX_DEPTH => {
                    return Err(bad(line, "nested too deep"));
                }
                Event::SequenceStart(0, None) => {
                    open.push((Self::List(Vec::new()), None));
                    continue;
                }
                Event::MappingStart(0, None) => {
                    open.push((Self::Map(Vec::new()), None));
                    continue;
                }
                Event::SequenceStart(..) | Event::MappingStart(..) => {
                    return Err(bad(line, "an anchor or a tag"));
                }
                Event::Alias(_) => return Err(bad(line, "an alias")),
                Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                    Some((container, _)) => container,
                    None => continue,
                },
                _ => continue,
            };
            match open.last_mut() {
                None if root.is_some() => return Err(bad(line, "a second document")),
                None => root = Some(done),
                Some((Self::Map(entries), key)) => match key.take() {
                    None => *key = Some(done),
                    Some(key) => entries.push((key, done)),
                },
                Some((Self::List(items), _)) => items.push(done),
                Some(_) => {}
            }
        }
        root.ok_or_else(|| Diagnostic::malformed("no metadata"))
    }

    /// A plain scalar of YAML; the prefix of an integer tells its base, as in LLVM.
    pub(super) fn from_plain(text: &str) -> Self {
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => (-1, digits),
            None => (1, text),
        };
        let (radix, digits) = match digits.as_bytes() {
            [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
            [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
            [b'0', b'o', ..] => (8, &digits[2..]),
            [b'0', b'0'..=b'9', ..] => (8, &digits[1..]),
            _ => (10, digits),
        };
        let magnitude = u64::from_str_radix(digits, radix).ok().filter(|_| !digits.starts_with('+'));
        match (text, magnitude) {
            ("true", _) => Self::Bool(true),
            ("false", _) => Self::Bool(false),
            ("", _) => Self::Null,
            (_, Some(magnitude)) => Self::Int(sign * i128::from(magnitude)),
            _ => Self::Text(text.to_owned()),
        }
    }

    /// The YAML document, `---` and `...` included, as `.amdgpu_metadata` holds it.
    pub fn to_yaml(&self) -> String {
        let mut out = String::from("---\n");
        write_node(&mut out, self, 0, false);
        out.push_str("...\n");
        out
    }

    /// The same with sequences of numbers on one line, as `.amd_amdgpu_hsa_metadata` and the note of code objects V2 have it.
    pub fn to_yaml_v2(&self) -> String {
        let mut out = String::from("---\n");
        write_node(&mut out, self, 0, true);
        out.push_str("...\n");
        out
    }
}

impl Serialize for Document {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Int(value) => match (u64::try_from(*value), i64::try_from(*value)) {
                (Ok(value), _) => serializer.serialize_u64(value),
                (_, Ok(value)) => serializer.serialize_i64(value),
                _ => Err(serde::ser::Error::custom(format!("{value} has more than 64 bits"))),
            },
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| list.serialize_element(item))?;
                list.end()
            }
            Self::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                entries.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Document;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a metadata value")
            }

            fn visit_unit<E>(self) -> std::result::Result<Document, E> {
                Ok(Document::Null)
            }

            fn visit_bool<E>(self, value: bool) -> std::result::Result<Document, E> {
                Ok(Document::Bool(value))
            }

            fn visit_u64<E>(self, value: u64) -> std::result::Result<Document, E> {
                Ok(Document::Int(value.into()))
            }

            fn visit_i64<E>(self, value: i64) -> std::result::Result<Document, E> {
                Ok(Document::Int(value.into()))
            }

            fn visit_f64<E>(self, value: f64) -> std::result::Result<Document, E> {
                Ok(Document::Float(value))
            }

            fn visit_str<E>(self, value: &str) -> std::result::Result<Document, E> {
                Ok(Document::Text(value.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<Document, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = seq.next_element()? {
                    list.push(item);
                }
                Ok(Document::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Document, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Document::Map(entries))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// Whether `items` are numbers, and there are any.
fn are_numbers(items: &[Document]) -> bool {
    !items.is_empty() && items.iter().all(|item| matches!(item, Document::Int(_)))
}

/// Writes `node` where the cursor stands at `indent`, with `rows` sequences of numbers on one line. The depth is bounded by [`MAX_DEPTH`].
fn write_node(out: &mut String, node: &Document, indent: usize, rows: bool) {
    match node {
        Document::Map(entries) => {
            for (i, (key, value)) in entries.iter().enumerate() {
                if i > 0 {
                    out.push_str(&" ".repeat(indent));
                }
                let start = out.len();
                write_scalar(out, key, rows);
                out.push(':');
                match value {
                    Document::Map(inner) if !inner.is_empty() => {
                        out.push('\n');
                        out.push_str(&" ".repeat(indent + 2));
                        write_node(out, value, indent + 2, rows);
                    }
                    Document::List(inner) if !(inner.is_empty() || rows && are_numbers(inner)) => {
                        out.push('\n');
                        out.push_str(&" ".repeat(indent + 2));
                        write_node(out, value, indent + 2, rows);
                    }
                    _ => {
                        // Values stand in one column.
                        let width = out.len() - start;
                        out.push_str(&" ".repeat(17usize.saturating_sub(width).max(1)));
                        write_scalar(out, value, rows);
                        out.push('\n');
                    }
                }
            }
        }
        Document::List(items) => {
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push_str(&" ".repeat(indent));
                }
                out.push_str("- ");
                match item {
                    Document::Map(inner) if !inner.is_empty() => write_node(out, item, indent + 2, rows),
                    Document::List(inner) if !inner.is_empty() => write_node(out, item, indent + 2, rows),
                    _ => {
                        write_scalar(out, item, rows);
                        out.push('\n');
                    }
                }
            }
        }
        _ => {
            write_scalar(out, node, rows);
            out.push('\n');
        }
    }
}

fn write_scalar(out: &mut String, node: &Document, rows: bool) {
    use fmt::Write;
    let _ = match node {
        Document::Null => write!(out, "!nil ''"),
        Document::Bool(value) => write!(out, "{value}"),
        Document::Int(value) => write!(out, "{value}"),
        Document::Float(value) => write!(out, "{value:?}"),
        Document::Text(text) => {
            write_text(out, text, !rows);
            Ok(())
        }
        Document::List(items) if are_numbers(items) => {
            out.push_str("[ ");
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                write_scalar(out, item, rows);
            }
            write!(out, " ]")
        }
        Document::List(_) => write!(out, "[]"),
        Document::Map(_) => write!(out, "{{}}"),
    };
}

/// Plain where no reader can take it for something else, else quoted.
fn write_text(out: &mut String, text: &str, tag_booleans: bool) {
    use fmt::Write;
    let plain_char =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$' | '-' | '+' | '/' | '(' | ')');
    let reserved = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"];
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '.'))
        && text.chars().all(plain_char)
        && !text.starts_with("..")
        && !text[1..].starts_with(|c: char| text.starts_with('.') && c.is_ascii_digit())
        && !reserved.contains(&text.trim_start_matches('.').to_ascii_lowercase().as_str());
    if plain {
        out.push_str(text);
        return;
    }
    // LLVM's reader takes quoted numbers for numbers, and up to version 16 quoted `y` and its kin for booleans, except in
    // V2, whose fields have types.
    let boolean =
        tag_booleans && ["y", "n", "yes", "no", "on", "off"].contains(&text.to_ascii_lowercase().as_str());
    let mistaken = boolean || text.parse::<f64>().is_ok() || Document::from_plain(text).as_text().is_none();
    if !text.is_empty() && mistaken {
        out.push_str("!str ");
    }
    if !text.chars().any(char::is_control) {
        out.push('\'');
        out.push_str(&text.replace('\'', "''"));
        out.push('\'');
        return;
    }
    out.push('"');
    for c in text.chars() {
        let _ = match c {
            '"' | '\\' => write!(out, "\\{c}"),
            '\n' => write!(out, "\\n"),
            '\t' => write!(out, "\\t"),
            c if (c as u32) < 0x100 && c.is_control() => write!(out, "\\x{:02X}", c as u32),
            c if c.is_control() => write!(out, "\\u{:04X}", c as u32),
            c => write!(out, "{c}"),
        };
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Document {
        Document::Text(text.to_owned())
    }

    fn map(items: &[(&str, Document)]) -> Document {
        Document::Map(items.iter().map(|(key, value)| (text(key), value.clone())).collect())
    }

    fn read(yaml: &str) -> Result<Document> {
        let mut document = Document::from_yaml(yaml)?;
        document.sort_keys().map(|()| document)
    }

    #[test]
    fn yaml_reads_back() {
        let yaml = "---\nb:\n  - .x:  1\n    .y: 'it''s'\n  - .x: \"a\\n\"\n    .z:\n      - 2\n      - -3\na: [] # none\n\
                    c:\n- true\n- q: r\nd: {e: [0x10, '1', f], g: {}}\n...\n";
        let first = map(&[(".x", Document::Int(1)), (".y", text("it's"))]);
        let numbers = Document::List(vec![Document::Int(2), Document::Int(-3)]);
        let second = map(&[(".x", text("a\n")), (".z", numbers)]);
        let c = Document::List(vec![Document::Bool(true), map(&[("q", text("r"))])]);
        let e = Document::List(vec![Document::Int(16), text("1"), text("f")]);
        let d = map(&[("e", e), ("g", map(&[]))]);
        let b = Document::List(vec![first, second]);
        let wanted = map(&[("a", Document::List(vec![])), ("b", b), ("c", c), ("d", d)]);
        assert_eq!(read(yaml), Ok(wanted.clone()));
        assert_eq!(read(&wanted.to_yaml()), Ok(wanted.clone()));
        let bytes = wanted.to_msgpack().expect("writable");
        assert_eq!(Document::from_msgpack(&bytes), Ok(wanted));
    }

    #[test]
    fn plain_scalars_are_what_llvm_takes_them_for() {
        let cases =
            [("0x1f", 31), ("0X1f", 31), ("0b11", 3), ("0o17", 15), ("017", 15), ("-0x10", -16), ("0", 0)];
        for (plain, number) in cases {
            assert_eq!(Document::from_yaml(plain), Ok(Document::Int(number)), "{plain}");
        }
        for plain in ["null", "~", "yes", "0xg", "09", "True"] {
            assert_eq!(Document::from_yaml(plain), Ok(text(plain)), "{plain}");
        }
        let nothing = map(&[("a", Document::Null)]);
        assert_eq!(Document::from_yaml(&nothing.to_yaml()), Ok(nothing));
    }

    #[test]
    fn numbers_stand_in_a_row_where_asked() {
        let numbers = Document::List(vec![Document::Int(1), Document::Int(0)]);
        let document = map(&[("Version", numbers), ("Kernels", Document::List(vec![text("a")]))]);
        assert_eq!(document.to_yaml_v2(), "---\nVersion:         [ 1, 0 ]\nKernels:\n  - a\n...\n");
        assert_eq!(Document::from_yaml(&document.to_yaml_v2()), Ok(document.clone()));
        assert!(document.to_yaml().starts_with("---\nVersion:\n  - 1\n  - 0\n"));
    }

    #[test]
    fn values_are_written_in_their_shortest_form() {
        let bytes = |document: Document| document.to_msgpack().expect("writable");
        assert_eq!(bytes(Document::Int(300)), [0xcd, 1, 44]);
        assert_eq!(bytes(Document::Int(-33)), [0xd0, 0xdf]);
        assert_eq!(bytes(text(&"x".repeat(40)))[..2], [0xd9, 40]);
        let two = read("b:\n  - x\na: 1").expect("readable");
        assert_eq!(bytes(two), [0x82, 0xa1, b'a', 1, 0xa1, b'b', 0x91, 0xa1, b'x']);
        assert!(Document::Int(i128::MAX).to_msgpack().is_err());
    }

    #[test]
    fn what_is_not_metadata_is_refused() {
        for yaml in
            ["a: 1\na: 2", "", "a: *b", "a: &b 1", "a: !t 1", "a: 'b", "--- a\n--- b", &"[".repeat(1000)]
        {
            assert!(read(yaml).is_err(), "{yaml}");
        }
        assert!(Document::from_msgpack(&[0xc1]).is_err());
        assert!(Document::from_msgpack(&[0x91; 4000]).is_err());
    }

    #[test]
    fn ambiguous_strings_are_quoted() {
        let cases = [
            ("no", "!str 'no'"),
            ("Y", "!str 'Y'"),
            ("a'b c", "'a''b c'"),
            ("12", "!str '12'"),
            ("", "''"),
            (".5", "!str '.5'"),
            ("0b1", "!str '0b1'"),
            ("null", "'null'"),
            ("~", "'~'"),
            ("k.kd", "k.kd"),
        ];
        for (text, want) in cases {
            let mut out = String::new();
            write_text(&mut out, text, true);
            assert_eq!(out, want);
            assert_eq!(Document::from_yaml(&out), Ok(Document::Text(text.to_owned())));
        }
    }
}
