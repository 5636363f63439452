//! llc's flags: which ones gcnc has, and what becomes of the others.
//!
//! The command line asks [`find`], and `docs/llc-flags.md` is [`document`]. A flag is *the same* here, *mapped* to another spelling,
//! *without meaning* (it can change neither what code computes nor what the output offers to others, as flags that tune or watch LLVM's own
//! passes do; passed over where compatibility is asked for), or *missing*: then llc would write something else, and only the value that says
//! what is done anyway is taken.
//!
//! Sources: `llc --help-hidden` of LLVM 14, 16 and 22, and the command lines of LLVM 19's tests.

mod rows;

use rows::ROWS;
use std::cmp::Ordering;
use std::fmt::Write as _;

/// What becomes of a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It means the same.
    Same,
    /// It is spelled this way, without dashes.
    Mapped(&'static str),
    /// It has no meaning here.
    Tuning,
    /// It is not there.
    Missing,
}

/// What a missing flag may say because it is so anyway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usual {
    /// Nothing.
    Never,
    /// This, in any of LLVM's spellings.
    Bool(bool),
    /// This word.
    Value(&'static str),
}

/// Name (with `=` where a value must follow), fate, what is so anyway, and why.
#[derive(Clone, Copy, Debug)]
struct Row(&'static str, Fate, Usual, &'static str);

/// A flag of llc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag {
    /// Name without dashes.
    pub name: &'static str,
    /// What becomes of it.
    pub fate: Fate,
    /// Whether a value must follow, behind `=` or as the next word.
    pub takes_value: bool,
    /// Why, or what is different; may be empty.
    pub note: &'static str,
    usual: Usual,
}

impl Flag {
    fn new(row: &Row) -> Self {
        let &Row(name, fate, usual, note) = row;
        let bare = name.trim_end_matches('=');
        Self { name: bare, fate, takes_value: bare.len() < name.len(), note, usual }
    }

    /// Whether `value` (`None`: there is none, which means "true") asks for what is so anyway.
    pub fn is_usual(&self, value: Option<&str>) -> bool {
        match self.usual {
            Usual::Never => false,
            Usual::Bool(on) => boolean(value.unwrap_or("true")) == Some(on),
            Usual::Value(usual) => value == Some(usual),
        }
    }
}

/// A boolean in LLVM's spellings.
pub fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "TRUE" | "True" | "1" | "" => Some(true),
        "false" | "FALSE" | "False" | "0" => Some(false),
        _ => None,
    }
}

/// Names without a meaning here and nothing more to say about them, one a line, sorted.
const NAMES: &str = include_str!("without_meaning.txt");

const NO_MEANING: &str = "tunes or watches a pass of LLVM's";

/// The flag called `name`; `None` where llc has none.
pub fn find(name: &str) -> Option<Flag> {
    if let Ok(row) = ROWS.binary_search_by_key(&name, |row| row.0.trim_end_matches('=')) {
        return Some(Flag::new(&ROWS[row]));
    }
    let line = line_of(NAMES, name)?;
    Some(Flag::new(&Row(line, Fate::Tuning, Usual::Never, NO_MEANING)))
}

/// The line of sorted `lines` that is `name`, with or without `=`.
fn line_of<'a>(lines: &'a str, name: &str) -> Option<&'a str> {
    let (mut low, mut high) = (0, lines.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let bytes = lines.as_bytes();
        let start = bytes[low..middle].iter().rposition(|&b| b == b'\n').map_or(low, |at| low + at + 1);
        let end = bytes[middle..high].iter().position(|&b| b == b'\n').map_or(high, |at| middle + at);
        let line = &lines[start..end];
        match line.trim_end_matches('=').cmp(name) {
            Ordering::Equal => return Some(line),
            Ordering::Less => low = (end + 1).min(high),
            Ordering::Greater => high = start,
        }
    }
    None
}

/// The flags that have a row, by name.
pub fn rows() -> impl Iterator<Item = Flag> {
    ROWS.iter().map(Flag::new)
}

/// `docs/llc-flags.md`.
pub fn document() -> String {
    let mut out = String::from(
        "# llc's flags\n\n\
         Generated from the table in `driver/src/llc_flags`. *Same*: gcnc has it. *Mapped*: gcnc spells it otherwise and takes this spelling, too.\n\
         *Without meaning*: it can change neither what the code computes nor what the output offers to others; refused, and passed over with a warning\n\
         where `--llc-compat` is given. *Missing*: llc would write something else; refused by name, unless its value says what is so anyway.\n\n\
         | flag | here | notes |\n|---|---|---|\n",
    );
    for flag in rows() {
        let value = if flag.takes_value { "=…" } else { "" };
        let fate = match flag.fate {
            Fate::Same => "same".to_owned(),
            Fate::Mapped(to) => format!("mapped to `--{to}`"),
            Fate::Tuning => "without meaning".to_owned(),
            Fate::Missing => "missing".to_owned(),
        };
        let usual = match flag.usual {
            Usual::Never => String::new(),
            Usual::Bool(on) => format!("; `={on}` is taken"),
            Usual::Value(usual) => format!("; `={usual}` is taken"),
        };
        let _ = writeln!(out, "| `-{}{value}` | {fate} | {}{usual} |", flag.name, flag.note);
    }
    let _ = writeln!(
        out,
        "\n{} more names that tune or watch passes of LLVM's, or are other targets', have no meaning here: \
         `driver/src/llc_flags/without_meaning.txt`.",
        NAMES.lines().count()
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare(name: &str) -> &str {
        name.trim_end_matches('=')
    }

    #[test]
    fn each_line_is_found_and_no_other() {
        for lines in ["", "a", "a\n", "a=\nab\nb", "a\nab=\nb\nc\n", NAMES] {
            for line in lines.lines() {
                assert_eq!(line_of(lines, bare(line)), Some(line));
                assert_eq!(line_of(lines, &format!("{}!", bare(line))), None);
            }
            for missing in ["", "A", "aa", "zzz"] {
                assert_eq!(line_of(lines, missing), None, "{missing} in {} lines", lines.lines().count());
            }
        }
    }

    #[test]
    fn names_are_sorted_and_distinct() {
        assert!(ROWS.is_sorted_by(|a, b| bare(a.0) < bare(b.0)));
        let names: Vec<&str> = NAMES.lines().map(bare).collect();
        assert!(names.is_sorted_by(|a, b| a < b));
        let twice: Vec<_> = ROWS.iter().filter(|row| names.binary_search(&bare(row.0)).is_ok()).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    #[test]
    fn what_is_so_anyway_may_be_said() {
        let lds = find("amdgpu-enable-lower-module-lds").unwrap();
        assert_eq!((lds.fate, lds.is_usual(None), lds.is_usual(Some("0"))), (Fate::Tuning, true, false));
        let sections = find("basic-block-sections").unwrap();
        assert!(sections.takes_value && sections.is_usual(Some("none")) && !sections.is_usual(Some("all")));
        let native = find("amdgpu-use-native").unwrap();
        assert!(!native.is_usual(None) && !native.is_usual(Some("sin")));
        assert_eq!(find("tail-dup-size").map(|f| (f.fate, f.takes_value)), Some((Fate::Tuning, true)));
        assert_eq!(find("no-such-flag"), None);
    }
}
