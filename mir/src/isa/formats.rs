//! Unified formats of typed buffers: one number for data and number format, which GFX10 has.
//!
//! Source: RDNA ISA manual, "Buffer image format"; the names are LLVM's.

use super::print::fields::DATA_FORMATS;

/// The format that is meant where none is written: `8_UNORM`.
pub(super) const UNIFIED_DEFAULT: u8 = 1;

const INTEGERS: &[&str] = &["_UNORM", "_SNORM", "_USCALED", "_SSCALED", "_UINT", "_SINT"];
const ALL: &[&str] = &["_UNORM", "_SNORM", "_USCALED", "_SSCALED", "_UINT", "_SINT", "_FLOAT"];
const PLAIN: &[&str] = &["_UINT", "_SINT", "_FLOAT"];

/// Data formats in the order of their numbers, each with its number formats in theirs.
static UNIFIED: &[(&str, &[&str])] = &[
    ("INVALID", &[""]),
    ("8", INTEGERS),
    ("16", ALL),
    ("8_8", INTEGERS),
    ("32", PLAIN),
    ("16_16", ALL),
    ("10_11_11", ALL),
    ("11_11_10", ALL),
    ("10_10_10_2", INTEGERS),
    ("2_10_10_10", INTEGERS),
    ("8_8_8_8", INTEGERS),
    ("32_32", PLAIN),
    ("16_16_16_16", ALL),
    ("32_32_32", PLAIN),
    ("32_32_32_32", PLAIN),
];

/// All formats with their numbers: data and number part of the name.
fn formats() -> impl Iterator<Item = (u8, (&'static str, &'static str))> {
    let names = UNIFIED.iter().flat_map(|(data, numbers)| numbers.iter().map(move |number| (*data, *number)));
    (0..).zip(names)
}

/// The two parts of the name of `format`, behind `BUF_FMT_`.
pub(super) fn unified_format_name(format: u8) -> Option<(&'static str, &'static str)> {
    formats().find(|(number, _)| *number == format).map(|(_, name)| name)
}

/// The format that is called `name` behind `BUF_FMT_`.
pub(super) fn unified_format(name: &str) -> Option<u8> {
    formats().find(|(_, (data, number))| name.strip_prefix(data) == Some(number)).map(|(format, _)| format)
}

/// The format with data format `data` and number format `number` of older generations.
pub(super) fn unified_of(data: u8, number: u8) -> Option<u8> {
    let data = DATA_FORMATS.get(usize::from(data))?;
    let number = *["_UNORM", "_SNORM", "_USCALED", "_SSCALED", "_UINT", "_SINT", "", "_FLOAT"]
        .get(usize::from(number))?;
    let found = formats().find(|(_, name)| *name == (data, number)).map(|(format, _)| format);
    // Nothing is stored in no format, whatever the number.
    found.or((*data == "INVALID").then_some(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of llvm-mc 22.
    #[test]
    fn names_have_their_numbers() {
        for (name, number) in [
            ("INVALID", 0),
            ("8_UNORM", 1),
            ("16_FLOAT", 13),
            ("32_FLOAT", 22),
            ("10_11_11_UNORM", 30),
            ("2_10_10_10_SINT", 55),
            ("32_32_32_32_FLOAT", 77),
        ] {
            assert_eq!(unified_format(name), Some(number), "{name}");
        }
        for number in 0..=77 {
            let name = unified_format_name(number).map(|(data, number)| [data, number].concat());
            assert_eq!(name.as_deref().and_then(unified_format), Some(number));
        }
        assert_eq!((unified_format_name(78), unified_format("8_FLOAT")), (None, None));
    }
}
