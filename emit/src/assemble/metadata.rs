//! `.amdgpu_metadata`: the YAML document of a code object's metadata, to MessagePack in a note.
//!
//! The document is YAML of the block style that compilers print: nested maps and sequences by indentation,
//! scalars plain or quoted, `[]`, `{}`. Plain scalars that look like integers and booleans are such,
//! everything else is a string. Maps are written sorted by key, integers in their shortest form, as LLVM
//! does. Reading keeps its own stack.

use super::{Assembler, Result, at, data, fail};
use crate::object::write_note;
use mir::Diagnostic;
use mir::abi::metadata::{NOTE_NAME, NOTE_TYPE};
use object::elf as raw;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A value.
#[derive(Clone, Debug, PartialEq)]
enum Node {
    Null,
    Bool(bool),
    Uint(u64),
    Int(i64),
    Text(String),
    List(Vec<Node>),
    Map(BTreeMap<String, Node>),
}

impl<'a> Assembler<'a, '_> {
    /// Writes the note for the lines that have been read.
    pub(super) fn end_metadata(&mut self) -> Result {
        let lines = self.open_metadata.take().unwrap_or_default();
        let node = read(&lines)
            .map_err(|(line, message)| Diagnostic::malformed(format!("metadata line {line}: {message}")));
        let bytes = node.and_then(write).map_err(at(0))?;
        let section = self.section_called(Cow::Borrowed(".note"));
        let section = &mut self.image.sections[section.0];
        if section.kind != raw::SHT_NOTE {
            return fail(0, "section .note holds something else");
        }
        // The loader reads it from the linked object's segments.
        section.flags |= raw::SHF_ALLOC;
        section.align_to(4, &[0]);
        write_note(&mut section.data, NOTE_NAME, NOTE_TYPE, &bytes);
        Ok(())
    }
}

/// A container that is being read.
struct Open {
    /// Column of its items.
    indent: usize,
    node: Node,
    /// Key whose value is still to come.
    key: Option<String>,
}

/// Puts the innermost container into the one around it.
fn close(stack: &mut Vec<Open>) -> std::result::Result<(), String> {
    let Some(done) = stack.pop() else { return Ok(()) };
    let mut node = done.node;
    if let (Some(key), Node::Map(map)) = (done.key, &mut node) {
        map.insert(key, Node::Null);
    }
    match stack.last_mut() {
        Some(parent) => put(parent, node),
        None => {
            stack.push(Open { node, key: None, indent: done.indent });
            Ok(())
        }
    }
}

fn put(parent: &mut Open, value: Node) -> std::result::Result<(), String> {
    match (&mut parent.node, parent.key.take()) {
        (Node::List(list), _) => list.push(value),
        (Node::Map(map), Some(key)) => {
            if map.contains_key(&key) {
                return Err(format!("key {key} is given twice"));
            }
            map.insert(key, value);
        }
        _ => return Err("value without a key".to_owned()),
    }
    Ok(())
}

fn read(lines: &[(u32, &str)]) -> std::result::Result<Node, (u32, String)> {
    let mut stack: Vec<Open> = Vec::new();
    for &(number, line) in lines {
        read_line(&mut stack, line).map_err(|message| (number, message))?;
    }
    let last = lines.last().map_or(0, |(line, _)| *line);
    while stack.len() > 1 {
        close(&mut stack).map_err(|message| (last, message))?;
    }
    match stack.pop() {
        Some(Open { mut node, key, .. }) => {
            if let (Some(key), Node::Map(map)) = (key, &mut node) {
                map.insert(key, Node::Null);
            }
            Ok(node)
        }
        None => Err((last, "no metadata".to_owned())),
    }
}

fn read_line(stack: &mut Vec<Open>, line: &str) -> std::result::Result<(), String> {
    let mut rest = line.trim_end();
    let mut indent = rest.len() - rest.trim_start().len();
    rest = rest.trim_start();
    if rest.is_empty() || rest.starts_with('#') || rest == "---" || rest == "..." {
        return Ok(());
    }
    loop {
        let item = rest.strip_prefix('-').filter(|rest| rest.is_empty() || rest.starts_with(' '));
        while stack.len() > 1
            && stack.last().is_some_and(|top| {
                // The items of a sequence may stand in the column of its key.
                let sibling = top.indent == indent && item.is_none() && matches!(top.node, Node::List(_));
                top.indent > indent || sibling
            })
        {
            close(stack)?;
        }
        let here = |top: &Open| top.indent == indent;
        if let Some(item) = item {
            if !stack.last().is_some_and(|top| here(top) && matches!(top.node, Node::List(_))) {
                stack.push(Open { indent, node: Node::List(Vec::new()), key: None });
            }
            let trimmed = item.trim_start();
            if trimmed.is_empty() {
                return Ok(());
            }
            indent += 1 + item.len() - trimmed.len();
            rest = trimmed;
            continue;
        }
        let Some((key, value)) = split_key(rest)? else {
            let value = scalar(rest)?;
            return match stack.last_mut() {
                Some(parent) => put(parent, value),
                None => Err("expected a key".to_owned()),
            };
        };
        if !stack.last().is_some_and(|top| here(top) && matches!(top.node, Node::Map(_))) {
            stack.push(Open { indent, node: Node::Map(BTreeMap::new()), key: None });
        }
        let Some(top) = stack.last_mut() else { return Ok(()) };
        if let (Some(old), Node::Map(map)) = (top.key.replace(key), &mut top.node) {
            map.insert(old, Node::Null);
        }
        return if value.is_empty() { Ok(()) } else { scalar(value).and_then(|value| put(top, value)) };
    }
}

/// `key: value` or `key:`.
fn split_key(text: &str) -> std::result::Result<Option<(String, &str)>, String> {
    if text.starts_with(['\'', '"']) {
        let end = quoted_end(text).ok_or("unterminated string")?;
        return match text[end..].trim_start().strip_prefix(':') {
            Some(value) => match scalar(&text[..end])? {
                Node::Text(key) => Ok(Some((key, value.trim_start()))),
                _ => Ok(None),
            },
            None => Ok(None),
        };
    }
    let colon = text.find(": ").or_else(|| text.ends_with(':').then(|| text.len() - 1));
    Ok(colon.map(|colon| (text[..colon].trim_end().to_owned(), text[colon + 1..].trim_start())))
}

/// The byte after the quoted string that `text` begins with.
fn quoted_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let quote = *bytes.first()?;
    let mut i = 1;
    while let Some(&byte) = bytes.get(i) {
        match byte {
            b'\\' if quote == b'"' => i += 1,
            b'\'' if quote == b'\'' && bytes.get(i + 1) == Some(&b'\'') => i += 1,
            _ if byte == quote => return Some(i + 1),
            _ => {}
        }
        i += 1;
    }
    None
}

fn scalar(text: &str) -> std::result::Result<Node, String> {
    if text.starts_with(['\'', '"']) {
        let end = quoted_end(text).ok_or("unterminated string")?;
        if !text[end..].trim_start().is_empty() && !text[end..].trim_start().starts_with('#') {
            return Err("text after a string".to_owned());
        }
        let inner = &text[1..end - 1];
        if text.starts_with('\'') {
            return Ok(Node::Text(inner.replace("''", "'")));
        }
        let bytes = data::unescape(inner)?;
        return String::from_utf8(bytes).map(Node::Text).map_err(|_| "string is not UTF-8".to_owned());
    }
    let plain = text.split_once(" #").map_or(text, |(plain, _)| plain).trim_end();
    let unsigned = match plain.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => plain.parse().ok().filter(|_| !plain.starts_with('+')),
    };
    Ok(match plain {
        "[]" => Node::List(Vec::new()),
        "{}" => Node::Map(BTreeMap::new()),
        "true" => Node::Bool(true),
        "false" => Node::Bool(false),
        "null" | "~" => Node::Null,
        _ if plain.starts_with(['[', '{', '|', '>', '&', '*', '!']) => {
            return Err(format!("YAML syntax `{plain}` is not supported in metadata"));
        }
        _ => match (unsigned, plain.parse()) {
            (Some(value), _) => Node::Uint(value),
            (None, Ok(value)) => Node::Int(value),
            _ => Node::Text(plain.to_owned()),
        },
    })
}

/// A step of writing: a value, or the key of the one that follows.
enum Step {
    Value(Node),
    Key(String),
}

fn write(node: Node) -> mir::Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut steps = vec![Step::Value(node)];
    while let Some(step) = steps.pop() {
        match step {
            Step::Key(text) | Step::Value(Node::Text(text)) => {
                length(&mut out, text.len(), (0xa0, 32), &[(0xd9, 1), (0xda, 2), (0xdb, 4)])?;
                out.extend_from_slice(text.as_bytes());
            }
            Step::Value(Node::Null) => out.push(0xc0),
            Step::Value(Node::Bool(value)) => out.push(0xc2 + u8::from(value)),
            Step::Value(Node::Uint(value)) => unsigned(&mut out, value),
            Step::Value(Node::Int(value)) => signed(&mut out, value),
            Step::Value(Node::List(list)) => {
                length(&mut out, list.len(), (0x90, 16), &[(0xdc, 2), (0xdd, 4)])?;
                steps.extend(list.into_iter().rev().map(Step::Value));
            }
            Step::Value(Node::Map(map)) => {
                length(&mut out, map.len(), (0x80, 16), &[(0xde, 2), (0xdf, 4)])?;
                for (key, value) in map.into_iter().rev() {
                    steps.push(Step::Value(value));
                    steps.push(Step::Key(key));
                }
            }
        }
    }
    Ok(out)
}

/// A length: in the low bits of the `fixed` tag below its limit, else after the first of the `tags` (with its
/// bytes) that holds it.
fn length(out: &mut Vec<u8>, length: usize, fixed: (u8, usize), tags: &[(u8, usize)]) -> mir::Result<()> {
    if length < fixed.1 {
        out.push(fixed.0 | length as u8);
        return Ok(());
    }
    let tag = tags.iter().find(|(_, bytes)| length >> (8 * bytes - 1) <= 1);
    let &(tag, bytes) = tag.ok_or_else(|| Diagnostic::limit("metadata is too large"))?;
    out.push(tag);
    out.extend_from_slice(&(length as u32).to_be_bytes()[4 - bytes..]);
    Ok(())
}

fn unsigned(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_be_bytes();
    match value {
        0..=0x7f => out.push(value as u8),
        0x80..=0xff => out.extend([0xcc, value as u8]),
        0x100..=0xffff => {
            out.push(0xcd);
            out.extend_from_slice(&bytes[6..]);
        }
        0x1_0000..=0xffff_ffff => {
            out.push(0xce);
            out.extend_from_slice(&bytes[4..]);
        }
        _ => {
            out.push(0xcf);
            out.extend_from_slice(&bytes);
        }
    }
}

fn signed(out: &mut Vec<u8>, value: i64) {
    let bytes = value.to_be_bytes();
    match value {
        0.. => unsigned(out, value as u64),
        -32..=-1 => out.push(value as u8),
        -0x80..=-33 => out.extend([0xd0, value as u8]),
        -0x8000..=-0x81 => {
            out.push(0xd1);
            out.extend_from_slice(&bytes[6..]);
        }
        -0x8000_0000..=-0x8001 => {
            out.push(0xd2);
            out.extend_from_slice(&bytes[4..]);
        }
        _ => {
            out.push(0xd3);
            out.extend_from_slice(&bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> std::result::Result<Node, (u32, String)> {
        let lines: Vec<_> = (1..).zip(text.lines()).collect();
        read(&lines)
    }

    #[test]
    fn block_style() {
        let text = "---\nb:\n  - .x:  1\n    .y: 'it''s'\n  - .x: \"a\\n\"\n    .z:\n      - 2\n      - -3\na: [] # none\nc:\n- true\n- q: r\n...\n";
        let text_node = |text: &str| Node::Text(text.to_owned());
        let map = |items: &[(&str, Node)]| {
            Node::Map(items.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect())
        };
        let first = map(&[(".x", Node::Uint(1)), (".y", text_node("it's"))]);
        let second = map(&[(".x", text_node("a\n")), (".z", Node::List(vec![Node::Uint(2), Node::Int(-3)]))]);
        let c = Node::List(vec![Node::Bool(true), map(&[("q", text_node("r"))])]);
        let wanted = map(&[("a", Node::List(vec![])), ("b", Node::List(vec![first, second])), ("c", c)]);
        assert_eq!(parse(text), Ok(wanted));
    }

    #[test]
    fn message_pack() {
        let bytes = |node| write(node).unwrap();
        assert_eq!(bytes(Node::Uint(300)), [0xcd, 1, 44]);
        assert_eq!(bytes(Node::Int(-33)), [0xd0, 0xdf]);
        assert_eq!(bytes(Node::Text("x".repeat(40)))[..2], [0xd9, 40]);
        assert_eq!(
            bytes(parse("a: 1\nb:\n  - x").unwrap()),
            [0x82, 0xa1, b'a', 1, 0xa1, b'b', 0x91, 0xa1, b'x']
        );
        assert!(parse("a: 1\na: 2").is_err() && parse("x").is_err() && parse("a: |\n  b").is_err());
    }
}
