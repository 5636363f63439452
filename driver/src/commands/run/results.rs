//! What a run left: printed, saved, and compared with what is expected or with what other code leaves.

use super::arguments::{Arguments, Buffer, contents, named};
use super::images;
use super::values::Element;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;

/// Elements that are printed where no range says how many.
const SHOWN: usize = 64;
/// Elements in a line.
const LINE: usize = 8;
/// Differences that are shown of one buffer.
const DIFFERENCES: usize = 5;

fn find<'a>(arguments: &'a Arguments, name: &str) -> Result<&'a Buffer, String> {
    let found =
        arguments.buffers.iter().find(|buffer| buffer.name == name || buffer.index.to_string() == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = arguments.buffers.iter().map(|buffer| &*buffer.name).collect();
        format!("no buffer is called `{name}`; there are: {}", names.join(", "))
    })
}

/// Bytes and undefined bits of a buffer, or of an image's texels.
fn shown<'a>(arguments: &'a Arguments, buffer: &Buffer) -> [Cow<'a, [u8]>; 2] {
    images::shown(&arguments.memory, buffer.id, buffer.image.as_ref())
}

/// The elements that `NAME[:TYPE][[FROM..TO]]` names, as text.
///
/// # Errors
/// A message where there is no such buffer, type or range.
pub fn print(arguments: &Arguments, what: &str) -> Result<String, String> {
    let (rest, range) = match what.strip_suffix(']').and_then(|text| text.split_once('[')) {
        Some((rest, range)) => (rest, Some(range)),
        None => (what, None),
    };
    let (name, ty) = match rest.split_once(':') {
        Some((name, ty)) => (name, Some(ty)),
        None => (rest, None),
    };
    let buffer = find(arguments, name)?;
    let element = match ty {
        Some(ty) => Element::named(ty).ok_or_else(|| format!("`{ty}` is no type"))?.0,
        None => buffer.element,
    };
    let [bytes, undefined] = shown(arguments, buffer);
    let count = bytes.len() / element.bytes();
    let (from, to) = match range {
        None => (0, count.min(SHOWN)),
        Some(range) => bounds(range, count)
            .ok_or_else(|| format!("`{range}` is no range of the {count} elements of `{name}`"))?,
    };
    let mut out = String::new();
    for start in (from..to).step_by(LINE) {
        let _ = write!(out, "{name}[{start}]:");
        for index in start..to.min(start + LINE) {
            let place = index * element.bytes()..(index + 1) * element.bytes();
            match undefined.get(place.clone()).is_some_and(|bits| bits.iter().any(|&bits| bits != 0)) {
                true => out.push_str(" undefined"),
                false => {
                    let _ = write!(out, " {}", element.text(&bytes[place]));
                }
            }
        }
        out.push('\n');
    }
    if range.is_none() && to < count {
        let _ = writeln!(out, "{name}: {} more elements ({name}[{to}..{count}])", count - to);
    }
    Ok(out)
}

/// `A..B`, `A..`, `..B` or `A` within `count`.
fn bounds(text: &str, count: usize) -> Option<(usize, usize)> {
    let number =
        |text: &str, default: usize| if text.is_empty() { Some(default) } else { text.trim().parse().ok() };
    let (from, to) = match text.split_once("..") {
        Some((from, to)) => (number(from, 0)?, number(to, count)?),
        None => {
            let at: usize = text.trim().parse().ok()?;
            (at, at.checked_add(1)?)
        }
    };
    (from <= to && to <= count).then_some((from, to))
}

/// Writes the buffer of `NAME=PATH`.
///
/// # Errors
/// A message.
pub fn save(arguments: &Arguments, what: &str) -> Result<(), String> {
    let (name, path) = named(what).ok_or_else(|| format!("--save {what}: NAME=PATH"))?;
    let buffer = find(arguments, name)?;
    let [bytes, _] = shown(arguments, buffer);
    crate::commands::compile::write(Path::new(path), &bytes).map_err(|error| format!("{path}: {error}"))
}

/// Compares a buffer with the values of `NAME=VALUES`; the differences as text, where there are any. Values for the start of a buffer will do.
///
/// # Errors
/// A message where the values cannot be read.
pub fn expect(
    arguments: &Arguments,
    what: &str,
    tolerance: f64,
    memory_limit: u64,
) -> Result<Option<String>, String> {
    let (name, values) = named(what).ok_or_else(|| format!("--expect {what}: NAME=VALUES"))?;
    let buffer = find(arguments, name)?;
    let wanted = contents(values, Some(buffer.element), memory_limit)
        .map_err(|message| format!("--expect {name}: {message}"))?;
    let [bytes, undefined] = shown(arguments, buffer);
    if wanted.bytes.len() > bytes.len() {
        return Err(format!(
            "--expect {name}: {} bytes, and the buffer has {}",
            wanted.bytes.len(),
            bytes.len()
        ));
    }
    Ok(differences(&buffer.name, wanted.element, [&bytes, &wanted.bytes], &undefined, tolerance, "expected"))
}

/// Compares all buffers with those that other code left.
pub fn compare(arguments: &Arguments, other: &Arguments, tolerance: f64) -> Option<String> {
    let mut out = String::new();
    for (own, others) in arguments.buffers.iter().zip(&other.buffers) {
        let ([a, undefined], [b, others_undefined]) = (shown(arguments, own), shown(other, others));
        // What both leave open may differ.
        let mut undefined = undefined.into_owned();
        undefined.iter_mut().zip(&*others_undefined).for_each(|(own, other)| *own &= other);
        let either = !undefined.is_empty();
        let mut b = b.into_owned();
        if either {
            let open = undefined.iter().zip(&*a).zip(&mut b).filter(|((bits, _), _)| **bits != 0);
            open.for_each(|((_, a), b)| *b = *a);
        }
        out.extend(differences(&own.name, own.element, [&a, &b], &[], tolerance, "there"));
    }
    (!out.is_empty()).then_some(out)
}

/// The first differences of two buffers as text; `undefined` are the undefined bits of the first.
fn differences(
    name: &str,
    element: Element,
    [found, wanted]: [&[u8]; 2],
    undefined: &[u8],
    tolerance: f64,
    word: &str,
) -> Option<String> {
    let size = element.bytes();
    let mut out = String::new();
    let mut count = 0usize;
    let total = wanted.len().div_ceil(size);
    for (index, (a, b)) in found.chunks(size).zip(wanted.chunks(size)).enumerate() {
        let open =
            undefined.get(index * size..).unwrap_or_default().iter().take(b.len()).any(|&bits| bits != 0);
        let a = &a[..b.len().min(a.len())];
        if !open && element.agree(a, b, tolerance) {
            continue;
        }
        count += 1;
        if count <= DIFFERENCES {
            let found = if open { "undefined".to_owned() } else { element.text(a) };
            let _ = writeln!(out, "{name}[{index}]: {found}, {word} {}", element.text(b));
        }
    }
    if count == 0 {
        return None;
    }
    let _ = writeln!(out, "{name}: {count} of {total} elements differ");
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::Memory;

    fn arguments(values: &str) -> Arguments {
        let made = contents(values, None, 1 << 20).unwrap();
        let mut memory = Memory::new();
        let id = memory.add_buffer("x", made.bytes);
        if made.undefined {
            memory.set_undefined(id);
        }
        let buffer = Buffer { name: "x".into(), index: 0, id, element: made.element, image: None };
        Arguments { args: Vec::new(), buffers: vec![buffer], memory }
    }

    #[test]
    fn ranges_and_types_are_printed() {
        let x = arguments("iota:100xi32");
        assert_eq!(print(&x, "x[2..4]").unwrap(), "x[2]: 2 3\n");
        assert_eq!(print(&x, "0:u8[4]").unwrap(), "x[4]: 1\n".replace('x', "0"));
        let whole = print(&x, "x").unwrap();
        assert!(
            whole.starts_with("x[0]: 0 1 2 3 4 5 6 7\nx[8]: 8")
                && whole.ends_with("x: 36 more elements (x[64..100])\n"),
            "{whole}"
        );
        assert_eq!(print(&arguments("undef:1xf32"), "x").unwrap(), "x[0]: undefined\n");
        assert!(
            print(&x, "y").is_err()
                && print(&x, "x[4..2]").is_err()
                && print(&x, "x[0..101]").is_err()
                && print(&x, "x:foo").is_err()
        );
    }

    #[test]
    fn differences_are_counted() {
        let x = arguments("1,2,3,4");
        assert_eq!(expect(&x, "x=1,2", 0.0, 100), Ok(None));
        let text = expect(&x, "x=1,9,3,9", 0.0, 100).unwrap().unwrap();
        assert_eq!(text, "x[1]: 2, expected 9\nx[3]: 4, expected 9\nx: 2 of 4 elements differ\n");
        assert!(expect(&x, "x=1,2,3,4,5", 0.0, 100).is_err() && expect(&x, "x", 0.0, 100).is_err());
        assert_eq!(expect(&arguments("1.0,2.0"), "x=1.00001,2", 1e-4, 100), Ok(None));
        assert!(expect(&arguments("undef:1xi32"), "x=0", 0.0, 100).unwrap().is_some());
        assert!(compare(&x, &arguments("1,2,3,5"), 0.0).unwrap().contains("x[3]: 4, there 5"));
        assert_eq!(compare(&arguments("undef:1xi32"), &arguments("undef:1xi32"), 0.0), None);
    }
}
