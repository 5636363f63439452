//! The options of AMDIL's compiler: processors and what `-mattr` may set. gcnc compiles for none of these processors; tools that read
//! files of that compiler need the names.

use crate::{Diagnostic, Result};

/// Processors: name, and other chips that it stands for.
pub const PROCESSORS: [(&str, &[&str]); 13] = [
    ("rv710", &[]),
    ("rv730", &[]),
    ("rv770", &["rv740", "rv790", "rv700"]),
    ("cypress", &["cayman in 8XX mode"]),
    ("juniper", &["barts in 8XX mode"]),
    ("redwood", &["turks in 8XX mode"]),
    ("cedar", &["caicos in 8XX mode"]),
    ("cayman", &[]),
    ("barts", &[]),
    ("turks", &[]),
    ("caicos", &[]),
    ("kauai", &[]),
    ("test", &[]),
];

/// Versions of the shader compiler by the version of CAL.
pub const SHADER_COMPILERS: [(u32, &str); 3] = [(950, "SC_135"), (982, "SC_136"), (1331, "SC_137")];

/// What can be switched on and off.
pub const SWITCHES: [&str; 8] = [
    "fp64",
    "byte_addressable_store",
    "barrier_detect",
    "images",
    "multi_uav",
    "macrodb",
    "noalias",
    "noinline",
];

/// What `-mattr` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Largest work-group; dimensions that are not given are 1.
    pub max_group: Option<[u32; 3]>,
    /// Version of CAL.
    pub cal: Option<u32>,
    /// Switches in the order in which they are given.
    pub switches: Vec<(&'static str, bool)>,
}

impl Attributes {
    /// Reads a list with commas between: `mwgs-D-X-Y-Z`, `+cal=N`, `+fp64` and their kin.
    ///
    /// # Errors
    /// The first item that is none of these ([`crate::ErrorKind::Malformed`]).
    pub fn parse(list: &str) -> Result<Self> {
        let mut out = Self::default();
        for item in list.split(',').filter(|item| !item.is_empty()) {
            let bad = || Diagnostic::malformed(format!("{item} is no attribute of AMDIL"));
            let bare = item.strip_prefix('+').unwrap_or(item);
            if let Some(group) = bare.strip_prefix("mwgs-") {
                out.max_group = Some(max_group(group).ok_or_else(bad)?);
            } else if let Some(version) = bare.strip_prefix("cal=") {
                out.cal = Some(version.parse().map_err(|_| bad())?);
            } else {
                let (on, name) = match (item.strip_prefix('+'), item.strip_prefix('-')) {
                    (Some(name), _) => (true, name),
                    (None, Some(name)) => (false, name),
                    _ => return Err(bad()),
                };
                let name = SWITCHES.iter().find(|known| **known == name).ok_or_else(bad)?;
                out.switches.push((name, on));
            }
        }
        Ok(out)
    }

    /// The shader compiler that the version of CAL stands for: the newest that it is not older than.
    pub fn shader_compiler(&self) -> Option<&'static str> {
        let cal = self.cal?;
        SHADER_COMPILERS.iter().rev().find(|(version, _)| cal >= *version).map(|(_, name)| *name)
    }
}

/// `D-X-Y-Z`: as many sizes as there are dimensions, at least.
fn max_group(text: &str) -> Option<[u32; 3]> {
    let mut numbers = text.split('-').map(|number| number.parse::<u32>().ok());
    let dimensions = numbers.next()??;
    let mut sizes = [1; 3];
    let mut given = 0;
    for number in numbers {
        *sizes.get_mut(given)? = number.filter(|size| *size > 0)?;
        given += 1;
    }
    ((1..=3).contains(&dimensions) && given >= dimensions as usize).then_some(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read() {
        let list = Attributes::parse("mwgs-3-64-2-2,+cal=1000,+fp64,-noinline").expect("attributes");
        assert_eq!(list.max_group, Some([64, 2, 2]));
        assert_eq!((list.cal, list.shader_compiler()), (Some(1000), Some("SC_136")));
        assert_eq!(list.switches, [("fp64", true), ("noinline", false)]);
        assert_eq!(Attributes::parse("mwgs-1-256").map(|list| list.max_group), Ok(Some([256, 1, 1])));
        for wrong in ["mwgs-4-1-1-1-1", "mwgs-2-64", "mwgs-1-0", "cal=x", "fp64", "+fp65"] {
            assert!(Attributes::parse(wrong).is_err(), "{wrong}");
        }
    }
}
