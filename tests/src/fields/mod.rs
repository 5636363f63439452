//! Objects field by field beside those of llc: header, sections, symbols, notes, descriptors, register values, relocations.
//!
//! [`facts`](facts::facts) makes a flat table of an object; two tables of one module differ in nothing, in what the code makes different
//! ([`of_the_code`], judged by [`consistency`]), in what `tests/field_differences.txt` gives a reason for ([`known`]), or by a bug.
//! `gcnc-fields` is the long run, over all processors, systems, versions and settings ([`matrix`]); [`linked`] does the same for linked objects.

pub mod facts;
pub mod known;
pub mod linked;
pub mod matrix;
pub mod readelf;

mod consistency;

pub use consistency::{consistency, of_the_code};
use facts::Facts;

/// A field in which two objects differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Name of the field.
    pub field: String,
    /// Value in gcnc's object, `-` where there is none.
    pub ours: String,
    /// Value in the other object.
    pub theirs: String,
    /// Compiler, setting and module.
    pub place: String,
}

impl Difference {
    /// The field without names of kernels, symbols and arguments, for counting.
    pub fn class(&self) -> String {
        let field = self.field.split(" #").next().unwrap_or_default();
        let mut words: Vec<&str> = field.split(' ').collect();
        let last = words.len() - 1;
        let member = match words[..] {
            ["descriptor" | "amd_kernel_code_t" | "config", _] => words[1].rsplit_once('.'),
            ["metadata", "kernel", ..] => {
                field.split_once(" kernel ").and_then(|(_, rest)| rest.split_once('.'))
            }
            _ => None,
        };
        if let Some((_, member)) = member {
            let mut out = format!("{} *.", words[0]);
            let mut digits = false;
            for c in member.chars() {
                // Numbers of arguments.
                let is_digit = digits && c.is_ascii_digit();
                if !is_digit {
                    out.push(c);
                }
                digits = c == '[' || is_digit;
            }
            return out;
        }
        if words[0] == "symbol" && last > 1 {
            words.splice(1..last, ["*"]);
        }
        words.join(" ")
    }
}

/// Fields in which two tables differ, but for those that follow from the code.
pub fn differences(ours: &Facts, theirs: &Facts, place: &str) -> Vec<Difference> {
    let keys = ours.keys().chain(theirs.keys().filter(|key| !ours.contains_key(*key)));
    let value = |facts: &Facts, key: &String| facts.get(key).map_or_else(|| "-".to_owned(), String::clone);
    keys.filter(|key| !of_the_code(key) && ours.get(*key) != theirs.get(*key))
        .map(|key| Difference {
            field: key.clone(),
            ours: value(ours, key),
            theirs: value(theirs, key),
            place: place.to_owned(),
        })
        .collect()
}

/// What became of a module for one setting and one llc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Compared; these differ.
    Compared(Vec<Difference>),
    /// Only gcnc compiles it.
    OnlyOurs,
    /// Nobody compiles it.
    Refused,
}

/// Compares an object, or the reason why there is none, with theirs.
pub fn compare(ours: &Result<Facts, String>, theirs: &Result<Facts, String>, place: &str) -> Outcome {
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => Outcome::Compared(differences(ours, theirs, place)),
        (Ok(_), Err(_)) => Outcome::OnlyOurs,
        (Err(_), Err(_)) => Outcome::Refused,
        (Err(error), Ok(_)) => Outcome::Compared(vec![Difference {
            field: "compiles".to_owned(),
            ours: error.clone(),
            theirs: "yes".to_owned(),
            place: place.to_owned(),
        }]),
    }
}

/// gcnc's object of a module.
///
/// # Errors
/// The first message.
pub fn compile(module: &matrix::Module, setting: &matrix::Setting) -> Result<Vec<u8>, String> {
    let name = module.path.to_string_lossy();
    let output = gcnc::compile(&module.contents, &name, &setting.options());
    output
        .map(|output| output.bytes)
        .map_err(|errors| errors.first().map_or_else(|| "refused".to_owned(), ToString::to_string))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_code_are_not_compared() {
        let table = |rows: &[(&str, &str)]| -> Facts {
            rows.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
        };
        let ours = table(&[("header flags", "0x1"), ("metadata kernel k.sgpr_count", "5"), ("a", "1")]);
        let theirs = table(&[("header flags", "0x2"), ("metadata kernel k.sgpr_count", "6"), ("b", "1")]);
        let differences = differences(&ours, &theirs, "here");
        let rows: Vec<_> =
            differences.iter().map(|d| (d.field.as_str(), d.ours.as_str(), d.theirs.as_str())).collect();
        assert_eq!(rows, [("a", "1", "-"), ("header flags", "0x1", "0x2"), ("b", "-", "1")]);
    }
}
