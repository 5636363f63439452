//! Source lines: where the object has DWARF line tables, reports name file and line.
//!
//! All line programs of `.debug_line` are run when the object is loaded, one after the other; `.debug_info` is not needed for that. In a
//! relocatable object the addresses and the offsets of strings are relocations, which are applied to a copy of the section.
//! Tables that are damaged say nothing: they are no reason to refuse an object. Cost: linear in the size of the tables.

use crate::relocation;
use gimli::{AttributeValue, DebugLine, DebugLineOffset, DebugLineStr, DebugStr, EndianSlice, LittleEndian};
use object::read::elf::ElfFile64;
use object::{Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionIndex};
use rustc_hash::FxHashMap;

/// Most rows that are kept.
const ROWS_MAX: usize = 1 << 22;

/// Line of the code from an address on; line 0 ends a sequence.
#[derive(Clone, Copy, Debug)]
struct Row {
    address: u64,
    file: u32,
    line: u32,
}

/// The line table of an object.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// By address.
    rows: Vec<Row>,
    files: Vec<String>,
}

type Slice<'a> = EndianSlice<'a, LittleEndian>;

impl Lines {
    /// Reads the tables; `base` has the places in the image of the sections of a relocatable object.
    pub fn read(elf: &ElfFile64<'_>, base: &FxHashMap<SectionIndex, u64>) -> Self {
        let mut lines = Self::default();
        let line = section(elf, ".debug_line", base);
        let (line_str, str) = (section(elf, ".debug_line_str", base), section(elf, ".debug_str", base));
        let table = DebugLine::new(&line, LittleEndian);
        let strings = (DebugLineStr::new(&line_str, LittleEndian), DebugStr::new(&str, LittleEndian));
        let mut offset = 0;
        while offset < line.len() {
            let Ok(program) = table.program(DebugLineOffset(offset), 8, None, None) else { break };
            // A 32-bit length stands before what it counts.
            let next = offset.saturating_add(4).saturating_add(program.header().unit_length());
            if lines.add(program, strings).is_err() || lines.rows.len() > ROWS_MAX {
                break;
            }
            offset = next;
        }
        lines.rows.sort_by_key(|r| (r.address, r.line != 0));
        lines
    }

    fn add(
        &mut self,
        program: gimli::IncompleteLineProgram<Slice<'_>>,
        strings: (DebugLineStr<Slice<'_>>, DebugStr<Slice<'_>>),
    ) -> gimli::Result<()> {
        let mut rows = program.rows();
        let mut names = FxHashMap::<u64, u32>::default();
        while let Some((header, row)) = rows.next_row()? {
            let index = row.file_index();
            let file = *names.entry(index).or_insert_with(|| {
                let entry = header.file(index);
                let name = entry.map_or_else(String::new, |f| text(f.path_name(), strings));
                let folder =
                    entry.and_then(|f| f.directory(header)).map_or_else(String::new, |d| text(d, strings));
                let whole = folder.is_empty() || name.starts_with('/');
                self.files.push(if whole { name } else { format!("{folder}/{name}") });
                self.files.len() as u32 - 1
            });
            let line = row.line().map_or(0, |n| n.get().min(u64::from(u32::MAX)) as u32);
            let line = if row.end_sequence() { 0 } else { line };
            self.rows.push(Row { address: row.address(), file, line });
            if self.rows.len() > ROWS_MAX {
                break;
            }
        }
        Ok(())
    }

    /// File and line of the code at an address of the image.
    pub fn at(&self, address: u64) -> Option<String> {
        let after = self.rows.partition_point(|r| r.address <= address);
        let row = self.rows.get(after.checked_sub(1)?)?;
        let file = self.files.get(row.file as usize).filter(|_| row.line != 0)?;
        Some(format!("{file}:{}", row.line))
    }
}

fn text(
    value: AttributeValue<Slice<'_>>,
    (line_str, str): (DebugLineStr<Slice<'_>>, DebugStr<Slice<'_>>),
) -> String {
    let slice = match value {
        AttributeValue::String(s) => Some(s),
        AttributeValue::DebugLineStrRef(at) => line_str.get_str(at).ok(),
        AttributeValue::DebugStrRef(at) => str.get_str(at).ok(),
        _ => None,
    };
    slice.map_or_else(String::new, |s| String::from_utf8_lossy(s.slice()).into_owned())
}

/// The bytes of a debug section, relocated.
fn section(elf: &ElfFile64<'_>, name: &str, base: &FxHashMap<SectionIndex, u64>) -> Vec<u8> {
    let Some(section) = elf.section_by_name(name) else { return Vec::new() };
    let mut bytes = section.data().unwrap_or_default().to_vec();
    if elf.kind() != object::ObjectKind::Relocatable {
        return bytes;
    }
    for (offset, reloc) in section.relocations() {
        let (RelocationFlags::Elf { r_type }, RelocationTarget::Symbol(index)) =
            (reloc.flags(), reloc.target())
        else {
            continue;
        };
        let size = match r_type.0 {
            relocation::ABS64 => 8,
            relocation::ABS32 | relocation::ABS32_LO => 4,
            _ => continue,
        };
        let Ok(symbol) = elf.symbol_by_index(index) else { continue };
        let start = symbol.section_index().and_then(|i| base.get(&i)).copied().unwrap_or(0);
        let value = start
            .wrapping_add(symbol.address())
            .wrapping_add(relocation::addend(&bytes, offset, &reloc) as u64);
        let slot = usize::try_from(offset).ok().and_then(|at| bytes.get_mut(at..at.checked_add(size)?));
        if let Some(slot) = slot {
            slot.copy_from_slice(&value.to_le_bytes()[..size]);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_holds_until_the_next_and_a_sequence_ends() {
        let row = |address, line| Row { address, file: 0, line };
        let lines = Lines { rows: vec![row(8, 3), row(16, 5), row(32, 0)], files: vec!["k.cl".to_owned()] };
        let at = |a| lines.at(a);
        assert_eq!([at(4), at(32), at(100)], [None, None, None]);
        assert_eq!([at(8), at(12), at(20)].map(Option::unwrap), ["k.cl:3", "k.cl:3", "k.cl:5"]);
    }
}
