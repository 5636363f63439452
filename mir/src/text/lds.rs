//! The text of LDS layouts, which a module has and a machine function, too: `256 bytes gds 4 dynamic [0: @a,
//! 16: @b]`.

use super::{Reader, Tok, comma_separated};
use crate::Result;
use crate::ir::Global;
use crate::machine::LdsLayout;
use std::fmt::{self, Formatter};

/// Writes a layout; `name` writes a variable.
pub(crate) fn write_lds(
    f: &mut Formatter<'_>,
    lds: &LdsLayout,
    mut name: impl FnMut(&mut Formatter<'_>, Global) -> fmt::Result,
) -> fmt::Result {
    write!(f, "{} bytes", lds.size_bytes)?;
    if lds.gds_bytes != 0 {
        write!(f, " gds {}", lds.gds_bytes)?;
    }
    f.write_str(if lds.dynamic { " dynamic" } else { "" })?;
    if lds.globals.is_empty() {
        return Ok(());
    }
    f.write_str(" [")?;
    comma_separated(f, &lds.globals, |f, &(global, offset)| {
        write!(f, "{offset}: ")?;
        name(f, global)
    })?;
    f.write_str("]")
}

/// Reads a layout; `global` reads a variable.
pub(crate) fn read_lds<R: Reader>(
    reader: &mut R,
    mut global: impl FnMut(&mut R) -> Result<Global>,
) -> Result<LdsLayout> {
    let mut lds = LdsLayout { size_bytes: reader.number()?, ..LdsLayout::default() };
    reader.keyword("bytes")?;
    if reader.eat_word("gds") {
        lds.gds_bytes = reader.number()?;
    }
    lds.dynamic = reader.eat_word("dynamic");
    if *reader.peek() == Tok::Punct('[') {
        reader.skip();
        reader.list(']', |reader| {
            let offset = reader.number()?;
            reader.expect(':')?;
            lds.globals.push((global(reader)?, offset));
            Ok(())
        })?;
    }
    Ok(lds)
}
