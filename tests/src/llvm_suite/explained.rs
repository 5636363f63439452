//! The table of explained differences: where gcnc's code and `llc`'s do different things and both may, or
//! `llc` is wrong.

use std::path::Path;

/// Why a difference is none of gcnc's faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The IR leaves the result open.
    Undefined,
    /// `llc-22` is wrong; `docs/llc-findings.md` has the proof.
    Llc,
    /// The simulator or this comparison does not model something.
    Harness,
}

/// A line of the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// The test's file.
    pub file: String,
    /// The function.
    pub function: String,
    /// What kind of reason.
    pub class: Class,
    /// The reason.
    pub reason: String,
}

impl Row {
    /// Whether the row is about this function of this case (`FILE:LINE`).
    pub fn is_about(&self, case: &str, function: &str) -> bool {
        let file = case.rsplit_once(':').map_or(case, |(file, _)| file);
        function == self.function && file == self.file
    }
}

/// Reads a table: `FILE FUNCTION CLASS REASON` a line.
///
/// # Errors
/// Names the line that is none.
pub fn parse(text: &str) -> Result<Vec<Row>, String> {
    let row = |line: &str| {
        let mut words = line.splitn(4, char::is_whitespace);
        let (file, function) = (words.next()?.to_owned(), words.next()?.to_owned());
        let class = match words.next()? {
            "undefined" => Class::Undefined,
            "llc" => Class::Llc,
            "harness" => Class::Harness,
            _ => return None,
        };
        Some(Row { file, function, class, reason: words.next()?.to_owned() })
    };
    let lines = text.lines().enumerate().filter(|(_, l)| !l.starts_with('#') && !l.trim().is_empty());
    lines
        .map(|(n, line)| row(line).ok_or(format!("line {}: no file, function, class, reason", n + 1)))
        .collect()
}

/// Reads the table at `path`.
///
/// # Errors
/// Where it is unreadable.
pub fn read(path: &Path) -> Result<Vec<Row>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    parse(&text).map_err(|what| format!("{}: {what}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_name_functions() {
        let rows = parse("# comment\na.ll f_x llc it rounds twice\nb.ll g undefined a null call\n").unwrap();
        assert_eq!(rows.len(), 2);
        assert!(rows[0].is_about("a.ll:3", "f_x") && !rows[0].is_about("a.ll:3", "f_"));
        assert!(rows[1].is_about("b.ll:1", "g") && !rows[1].is_about("a.ll:1", "g"));
        assert_eq!(rows[1].class, Class::Undefined);
        assert!(parse("a.ll f nonsense reason").is_err());
    }

    #[test]
    fn the_table_is_readable() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("llvm_suite_differences.txt");
        read(&path).unwrap();
    }
}
