//! The table of refusals: how many cases are refused for which reason. It is checked in and only shrinks.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// A diagnostic without what differs from case to case: names, numbers, the function and the instruction.
pub fn reason(message: &str) -> String {
    let text = message.rsplit_once(", at ").map_or(message, |(text, _)| text);
    let text = match text.split_once("in function ") {
        Some((_, rest)) => rest.split_once(": ").map_or(rest, |(_, what)| what),
        None => text,
    };
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    let mut word = String::new();
    let flush = |word: &mut String, out: &mut String| {
        let symbol = word.starts_with(['@', '%']);
        let number = word.bytes().any(|b| b.is_ascii_digit())
            && word.bytes().all(|b| b.is_ascii_hexdigit() || b == b'x' || b == b'-');
        out.push_str(if symbol || number { "#" } else { word });
        word.clear();
    };
    while let Some(c) = chars.next() {
        if c.is_alphanumeric() || matches!(c, '_' | '.' | '@' | '%' | '-' | '$') && chars.peek().is_some() {
            word.push(c);
        } else {
            flush(&mut word, &mut out);
            out.push(c);
        }
    }
    flush(&mut word, &mut out);
    out.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(120).collect()
}

/// Reads a table: one `count<TAB>reason` a line.
///
/// # Errors
/// Names the line that is none.
pub fn read(path: &Path) -> Result<BTreeMap<String, usize>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let line = |(n, line): (usize, &str)| {
        let (count, reason) = line.split_once('\t').ok_or(n)?;
        Ok((reason.to_owned(), count.trim().parse().map_err(|_| n)?))
    };
    let lines = text.lines().enumerate().filter(|(_, l)| !l.starts_with('#') && !l.is_empty());
    lines
        .map(line)
        .collect::<Result<_, usize>>()
        .map_err(|n| format!("{}:{}: no count and reason", path.display(), n + 1))
}

/// Writes a table, the most frequent first.
pub fn text(table: &BTreeMap<String, usize>) -> String {
    let mut rows: Vec<_> = table.iter().collect();
    rows.sort_by_key(|(reason, count)| (usize::MAX - **count, (*reason).clone()));
    let mut out = String::from(
        "# Cases of LLVM's suite that are refused, by reason. Written by gcnc-llvm-suite --bless; it only shrinks.\n",
    );
    for (reason, count) in rows {
        let _ = writeln!(out, "{count}\t{reason}");
    }
    out
}

/// Why `now` may not replace `old`: more refusals in all.
pub fn grown(old: &BTreeMap<String, usize>, now: &BTreeMap<String, usize>) -> Option<String> {
    let sum = |t: &BTreeMap<String, usize>| t.values().sum::<usize>();
    if sum(now) <= sum(old) {
        return None;
    }
    let mut text = format!("{} refusals, {} in the table:\n", sum(now), sum(old));
    for (reason, &count) in now {
        let before = old.get(reason).copied().unwrap_or(0);
        if count > before {
            let _ = writeln!(text, "  {before} -> {count}  {reason}");
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_counted_without_names() {
        let a = reason("a.ll: in function f: call of @g, which has 3 problems, at %x = call i32 @g(i32 7)");
        assert_eq!(a, "call of #, which has # problems");
        assert_eq!(
            reason("unknown target feature `flat-for-global`"),
            "unknown target feature `flat-for-global`"
        );
        assert_eq!(reason("unsupported type i65"), "unsupported type i65");
    }

    #[test]
    fn tables_are_read_back_and_may_not_grow() {
        let table = BTreeMap::from([("a b".to_owned(), 2), ("c".to_owned(), 10)]);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text(&table)).unwrap();
        assert_eq!(read(file.path()).unwrap(), table);
        let fewer = BTreeMap::from([("new".to_owned(), 11)]);
        assert_eq!(grown(&table, &fewer), None);
        assert!(grown(&fewer, &table).unwrap().contains("0 -> 10  c"));
        std::fs::write(file.path(), "x y\n").unwrap();
        assert!(read(file.path()).is_err());
    }
}
