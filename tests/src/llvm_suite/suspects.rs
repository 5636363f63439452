//! The table of suspects: functions that are right although they are much shorter than `llc`'s, or lack an effect that its code has.
//!
//! A row is about the cases as LLVM's tests have them, or, with `@PROCESSOR` behind the file, about those of all generations that are moved there (`--on PROCESSOR --all-generations`).

use std::path::Path;

/// A line of the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// The test's file.
    pub file: String,
    /// The processor that cases were moved to; none for the cases as they are.
    pub on: Option<String>,
    /// The function.
    pub function: String,
    /// Why it is right.
    pub reason: String,
}

impl Row {
    /// Whether the row is about `finding`, which starts with the function's name, of a case (`FILE:LINE`), moved `on` a processor or not. What is right
    /// where it is holds where it is moved to.
    pub fn is_about(&self, case: &str, on: Option<&str>, finding: &str) -> bool {
        let file = case.rsplit_once(':').map_or(case, |(file, _)| file);
        let here = self.on.is_none() || self.on.as_deref() == on;
        file == self.file && here && finding.split_whitespace().next() == Some(&self.function)
    }
}

/// Reads a table: `FILE FUNCTION REASON` or `FILE@PROCESSOR FUNCTION REASON` a line.
///
/// # Errors
/// Names the line that is none.
pub fn parse(text: &str) -> Result<Vec<Row>, String> {
    let row = |line: &str| {
        let mut words = line.splitn(3, ' ').map(str::to_owned);
        let (file, function, reason) = (words.next()?, words.next()?, words.next()?);
        let (file, on) = match file.split_once('@') {
            Some((file, on)) => (file.to_owned(), Some(on.to_owned())),
            None => (file, None),
        };
        (!function.is_empty() && !reason.trim().is_empty()).then_some(Row { file, on, function, reason })
    };
    let lines = text.lines().enumerate().filter(|(_, l)| !l.starts_with('#') && !l.trim().is_empty());
    lines.map(|(n, line)| row(line).ok_or(format!("line {}: no file, function, reason", n + 1))).collect()
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
        let rows =
            parse("# comment\na.ll f_x the callee is inlined\na.ll@gfx1030 g an endless loop\n").unwrap();
        assert!(rows[0].is_about("a.ll:3", None, "f_x has 4 bytes, llc's 80"));
        assert!(rows[0].is_about("a.ll:3", Some("gfx1030"), "f_x has 4 bytes, llc's 80"));
        assert!(!rows[0].is_about("a.ll:3", None, "f_xy has lost: store"));
        assert!(!rows[0].is_about("b.ll:3", None, "f_x has"));
        assert!(rows[1].is_about("a.ll:3", Some("gfx1030"), "g has lost: ret"));
        assert!(!rows[1].is_about("a.ll:3", Some("gfx1010"), "g has lost: ret"));
        assert!(!rows[1].is_about("a.ll:3", None, "g has lost: ret"));
        assert!(parse("a.ll f").is_err() && parse("a.ll f ").is_err());
    }

    #[test]
    fn the_table_is_readable_and_names_nothing_twice() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("llvm_suite_suspects.txt");
        let rows = read(&path).unwrap();
        assert!(rows.is_sorted_by(|a, b| (&a.file, &a.on, &a.function) < (&b.file, &b.on, &b.function)));
    }
}
