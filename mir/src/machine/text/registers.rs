//! Writes registers: physical tuples, virtual registers by number, file and width.

use super::file_letter;
use crate::machine::*;
use std::fmt;

/// Prints a physical tuple: `s5`, `v[0:3]`, `vcc`, and anything else as its first register and the width
/// (`m0:2`).
pub(super) struct Tuple(pub PReg, pub u8);

impl fmt::Display for Tuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Self(reg, dwords) = self;
        let numbered = [('s', reg.sgpr_index()), ('v', reg.vgpr_index()), ('t', reg.ttmp_index())];
        match numbered.into_iter().find_map(|(file, n)| Some((file, n?))) {
            _ if dwords == 1 => write!(f, "{reg}"),
            Some((file, n)) if dwords > 1 => {
                let file = if file == 't' { "ttmp".to_owned() } else { file.to_string() };
                write!(f, "{file}[{n}:{}]", n + u16::from(dwords) - 1)
            }
            _ => match reg.to_string().strip_suffix("_lo") {
                Some(pair) if dwords == 2 => f.write_str(pair),
                _ => write!(f, "{reg}:{dwords}"),
            },
        }
    }
}

/// Prints a virtual register with file and width.
pub(super) struct Named<'a>(pub &'a Function, pub VReg);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.vregs.get(self.1) {
            Some(data) => write!(f, "{}:{}{}", self.1, file_letter(data.file), data.dwords),
            None => write!(f, "{}:?", self.1),
        }
    }
}

/// Prints a list of virtual registers, with file and width where the function is given.
pub(super) struct Regs<'a>(pub Option<&'a Function>, pub &'a [VReg]);

impl fmt::Display for Regs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, &reg) in self.1.iter().enumerate() {
            write!(f, "{}", if i == 0 { "" } else { ", " })?;
            match self.0 {
                Some(function) => write!(f, "{}", Named(function, reg))?,
                None => write!(f, "{reg}")?,
            }
        }
        Ok(())
    }
}
