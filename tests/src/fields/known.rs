//! The list of differences that are meant: one line each, `FIELD | OURS | THEIRS | WHERE | REASON`.
//!
//! `FIELD`, `OURS`, `THEIRS` and `WHERE` are patterns in which `*` is any text; a side that lacks the field has `-`. `OURS` may be `<` or `>` for a
//! number below or above theirs. `WHERE` is matched with `llc-22 amdhsa gfx900 V5 +xnack module`.

use super::Difference;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A difference that is meant.
#[derive(Debug)]
struct Row {
    line: usize,
    patterns: [String; 4],
    reason: String,
    seen: AtomicUsize,
}

/// The list.
#[derive(Debug, Default)]
pub struct Known {
    rows: Vec<Row>,
}

/// The list of this repository.
pub fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("field_differences.txt")
}

impl Known {
    /// Reads a list; lines that start with `#` are comments.
    ///
    /// # Errors
    /// A line without five parts, or without a reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut rows = Vec::new();
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let parts: Vec<&str> = line.splitn(5, " | ").map(str::trim).collect();
            let [field, ours, theirs, place, reason] = parts[..] else {
                return Err(format!("line {}: {} parts, not 5", index + 1, parts.len()));
            };
            if reason.is_empty() {
                return Err(format!("line {}: no reason", index + 1));
            }
            let patterns = [field, ours, theirs, place].map(str::to_owned);
            rows.push(Row {
                line: index + 1,
                patterns,
                reason: reason.to_owned(),
                seen: AtomicUsize::new(0),
            });
        }
        Ok(Self { rows })
    }

    /// The reason of a difference, where the list has it; every row that matches counts as used.
    pub fn reason(&self, difference: &Difference) -> Option<&str> {
        let mut reason = None;
        for row in self.rows.iter().filter(|row| row.matches(difference)) {
            row.seen.fetch_add(1, Ordering::Relaxed);
            reason = reason.or(Some(row.reason.as_str()));
        }
        reason
    }

    /// Lines that have matched nothing so far, by number and field.
    pub fn stale(&self) -> impl Iterator<Item = (usize, &str)> {
        let rows = self.rows.iter().filter(|row| row.seen.load(Ordering::Relaxed) == 0);
        rows.map(|row| (row.line, row.patterns[0].as_str()))
    }

    /// How often each line has matched, with its field and reason.
    pub fn uses(&self) -> impl Iterator<Item = (usize, &str, &str)> {
        let rows = self.rows.iter();
        rows.map(|row| (row.seen.load(Ordering::Relaxed), row.patterns[0].as_str(), row.reason.as_str()))
    }
}

impl Row {
    fn matches(&self, difference: &Difference) -> bool {
        let [field, ours, theirs, place] = &self.patterns;
        let (left, right) = (difference.ours.parse::<i64>(), difference.theirs.parse::<i64>());
        let values = match (ours.as_str(), left, right) {
            ("<", Ok(left), Ok(right)) => left < right,
            (">", Ok(left), Ok(right)) => left > right,
            ("<" | ">", ..) => false,
            _ => glob(ours, &difference.ours) && glob(theirs, &difference.theirs),
        };
        values && glob(field, &difference.field) && glob(place, &difference.place)
    }
}

/// Whether `text` is what `pattern` describes, in which `*` stands for any text.
pub fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    // The last star, and how much of the text it takes: only the last one need ever take more.
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p, t));
            p += 1;
        } else if pattern.get(p) == Some(&text[t]) {
            (p, t) = (p + 1, t + 1);
        } else if let Some((at, taken)) = star {
            star = Some((at, taken + 1));
            (p, t) = (at + 1, taken + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, text, same) in [
            ("a*c", "abbc", true),
            ("a*c", "ac", true),
            ("a*c", "abcb", false),
            ("*", "", true),
            ("", "a", false),
            ("*.x*y", "k.x.xzy", true),
            ("a**", "a", true),
        ] {
            assert_eq!(glob(pattern, text), same, "{pattern} {text}");
        }
    }

    #[test]
    fn rows_match_and_rows_that_do_not_are_stale() {
        let known = Known::parse(
            "# comment\n\ndescriptor *.x | < | * | * V4 * | fewer\nsymbol a | - | * | * | none\n",
        );
        let known = known.expect("a list");
        let difference = |ours: &str, place: &str| Difference {
            field: "descriptor k.x".into(),
            ours: ours.into(),
            theirs: "10".into(),
            place: place.into(),
        };
        assert_eq!(known.reason(&difference("9", "llc-22 amdhsa gfx900 V4 m")), Some("fewer"));
        assert_eq!(known.reason(&difference("11", "llc-22 amdhsa gfx900 V4 m")), None);
        assert_eq!(known.reason(&difference("9", "llc-22 amdhsa gfx900 V5 m")), None);
        assert_eq!(known.stale().collect::<Vec<_>>(), [(4, "symbol a")]);
        assert!(Known::parse("a | b | c").is_err());
        assert!(Known::parse("a | b | c | d | ").is_err());
    }
}
