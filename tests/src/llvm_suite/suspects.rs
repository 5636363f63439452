//! The table of suspects: functions that are right although they are much shorter than `llc`'s, or lack an effect that its code has.

use std::path::Path;

/// A line of the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// The test's file.
    pub file: String,
    /// The function.
    pub function: String,
    /// Why it is right.
    pub reason: String,
}

impl Row {
    /// Whether the row is about `finding`, which starts with the function's name, of a case (`FILE:LINE`).
    pub fn is_about(&self, case: &str, finding: &str) -> bool {
        let file = case.rsplit_once(':').map_or(case, |(file, _)| file);
        file == self.file && finding.split_whitespace().next() == Some(&self.function)
    }
}

/// Reads a table: `FILE FUNCTION REASON` a line.
///
/// # Errors
/// Names the line that is none.
pub fn parse(text: &str) -> Result<Vec<Row>, String> {
    let row = |line: &str| {
        let mut words = line.splitn(3, ' ').map(str::to_owned);
        let (file, function, reason) = (words.next()?, words.next()?, words.next()?);
        (!function.is_empty() && !reason.trim().is_empty()).then_some(Row { file, function, reason })
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
        let rows = parse("# comment\na.ll f_x the callee is inlined\n").unwrap();
        assert!(rows[0].is_about("a.ll:3", "f_x has 4 bytes, llc's 80"));
        assert!(
            !rows[0].is_about("a.ll:3", "f_xy has lost: store") && !rows[0].is_about("b.ll:3", "f_x has")
        );
        assert!(parse("a.ll f").is_err() && parse("a.ll f ").is_err());
    }

    #[test]
    fn the_table_is_readable_and_names_nothing_twice() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("llvm_suite_suspects.txt");
        let rows = read(&path).unwrap();
        assert!(rows.is_sorted_by(|a, b| (&a.file, &a.function) < (&b.file, &b.function)));
    }
}
