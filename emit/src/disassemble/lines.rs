//! Source lines between instructions, where the object has DWARF line tables.
//!
//! All line programs of `.debug_line` are run, one after the other; in a relocatable object on copies of the sections with relocations applied, each
//! section of code at addresses of its own. Of `.debug_info`, only the folder of the compilation is read, which tables have from DWARF 5 on alone.
//! Damaged tables say nothing. What is printed is comments.
//!
//! Cost: linear in the tables, and in the source files, each read once.

use super::program::{Place, Program};
use crate::object::reloc;
use gimli::{
    AttributeValue, DebugAbbrev, DebugInfo, DebugLine, DebugLineOffset, DebugLineStr, DebugStr, EndianSlice,
    LittleEndian,
};
use object::elf;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::fmt::Write;

/// Most rows that are kept.
const ROWS_MAX: usize = 1 << 22;
/// Most characters of a source line that are printed.
const LINE_MAX: usize = 500;
/// Most bytes of abbreviations that are read: units may share them, or each have others that overlap.
const ABBREVIATIONS_MAX: usize = 1 << 26;

type Slice<'a> = EndianSlice<'a, LittleEndian>;
type Strings<'a> = (DebugLineStr<Slice<'a>>, DebugStr<Slice<'a>>);

/// Reads a source file; `None` where it cannot be, of which the user is told once a file.
pub type ReadSource<'o> = &'o dyn Fn(&str) -> Option<Vec<u8>>;

/// The line of the code from an address on; line 0 is none.
#[derive(Clone, Copy, Debug)]
struct Row {
    address: u64,
    file: u32,
    line: u32,
}

/// The line table of an object, and its sources.
pub struct Lines<'o> {
    /// By address.
    rows: Vec<Row>,
    files: Vec<String>,
    /// By section: its address.
    bases: Vec<u64>,
    read: ReadSource<'o>,
    sources: RefCell<FxHashMap<u32, Option<Vec<String>>>>,
    /// What was printed last, so that it is not printed again: section, file and line.
    last: RefCell<Option<(usize, u32, u32)>>,
}

impl<'o> Lines<'o> {
    /// Reads the tables.
    pub fn of(program: &Program<'_>, read: ReadSource<'o>) -> Self {
        let bases = program.sections.iter().enumerate().map(|(index, section)| match program.is_linked {
            true => section.address,
            false if section.flags.contains(elf::SHF_ALLOC) => (index as u64 + 1) << 40,
            false => 0,
        });
        let mut lines = Self {
            rows: Vec::new(),
            files: Vec::new(),
            bases: bases.collect(),
            read,
            sources: RefCell::default(),
            last: RefCell::default(),
        };
        let line = lines.section(program, ".debug_line");
        let (line_str, str) =
            (lines.section(program, ".debug_line_str"), lines.section(program, ".debug_str"));
        let table = DebugLine::new(&line, LittleEndian);
        let strings = (DebugLineStr::new(&line_str, LittleEndian), DebugStr::new(&str, LittleEndian));
        let (info, abbreviations) =
            (lines.section(program, ".debug_info"), lines.section(program, ".debug_abbrev"));
        let roots = roots(&info, &abbreviations, strings);
        let mut offset = 0usize;
        while offset < line.len() {
            let Ok(unit) = table.program(DebugLineOffset(offset), 8, None, None) else { break };
            // A length of 32 bits stands before what it counts.
            let next = offset.saturating_add(4).saturating_add(unit.header().unit_length());
            if lines.add(unit, strings, roots.get(&offset)).is_err() || lines.rows.len() > ROWS_MAX {
                break;
            }
            offset = next;
        }
        // Where one sequence ends and another begins, the beginning counts.
        lines.rows.sort_by_key(|row| (row.address, row.line != 0));
        lines
    }

    fn add(
        &mut self,
        unit: gimli::IncompleteLineProgram<Slice<'_>>,
        strings: Strings<'_>,
        root: Option<&String>,
    ) -> gimli::Result<()> {
        let mut rows = unit.rows();
        let mut numbers = FxHashMap::<u64, u32>::default();
        while let Some((header, row)) = rows.next_row()? {
            let index = row.file_index();
            let file = *numbers.entry(index).or_insert_with(|| {
                self.files.push(file_name(header, index, strings, root));
                self.files.len() as u32 - 1
            });
            let line = row.line().map_or(0, |line| u32::try_from(line.get()).unwrap_or(0));
            let line = if row.end_sequence() { 0 } else { line };
            self.rows.push(Row { address: row.address(), file, line });
            if self.rows.len() > ROWS_MAX {
                break;
            }
        }
        Ok(())
    }

    /// The contents of a section, relocated.
    fn section(&self, program: &Program<'_>, name: &str) -> Vec<u8> {
        let Some(section) = program.sections.iter().find(|section| section.name == name) else {
            return Vec::new();
        };
        let mut data = section.data.to_vec();
        if program.is_linked {
            return data;
        }
        for relocation in &section.relocations {
            let Some(symbol) = relocation.symbol.map(|symbol| &program.symbols[symbol]) else { continue };
            let value = match symbol.place {
                Place::Section(section, offset) => self.bases[section].wrapping_add(offset),
                Place::Absolute(value) => value,
                _ => continue,
            };
            let value = value.wrapping_add_signed(relocation.addend);
            let width = match relocation.kind {
                reloc::ABS64 => 8,
                reloc::ABS32 | reloc::ABS32_LO => 4,
                _ => continue,
            };
            let at = usize::try_from(relocation.offset).ok();
            if let Some(field) = at.and_then(|at| data.get_mut(at..at.checked_add(width)?)) {
                field.copy_from_slice(&value.to_le_bytes()[..width]);
            }
        }
        data
    }

    /// The row of the code at `offset` of `section`.
    fn row(&self, section: usize, offset: u64) -> Option<Row> {
        let address = self.bases[section].wrapping_add(offset);
        let behind = self.rows.partition_point(|row| row.address <= address);
        self.rows.get(behind.checked_sub(1)?).copied().filter(|row| row.line != 0)
    }

    /// Writes file and line of the code at `offset` of `section`, and the line's text, where it is not that of the code before.
    pub fn write(&self, out: &mut String, section: usize, offset: u64) {
        let Some(row) = self.row(section, offset) else { return };
        let place = Some((section, row.file, row.line));
        if self.last.replace(place) == place {
            return;
        }
        let Some(file) = self.files.get(row.file as usize) else { return };
        let _ = writeln!(out, "; {}:{}", Printable(file), row.line);
        let mut sources = self.sources.borrow_mut();
        let source = sources.entry(row.file).or_insert_with(|| {
            let bytes = (self.read)(file)?;
            Some(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
        });
        if let Some(text) = source.as_ref().and_then(|lines| lines.get(row.line as usize - 1)) {
            let _ = writeln!(out, "; {}", Printable(text));
        }
    }
}

/// The folders of compilations, by the offsets of their line tables.
fn roots(info: &[u8], abbreviations: &[u8], strings: Strings<'_>) -> FxHashMap<usize, String> {
    let mut out = FxHashMap::default();
    let table = DebugAbbrev::new(abbreviations, LittleEndian);
    let mut known = FxHashMap::default();
    let mut units = DebugInfo::new(info, LittleEndian).units();
    while let Ok(Some(unit)) = units.next() {
        let at = unit.debug_abbrev_offset();
        if !known.contains_key(&at.0) {
            if known.len().saturating_mul(abbreviations.len()) > ABBREVIATIONS_MAX {
                break;
            }
            known.insert(at.0, table.abbreviations(at).ok());
        }
        let Some(Some(abbreviations)) = known.get(&at.0) else { continue };
        let mut entries = unit.entries(abbreviations);
        let Ok(Some(root)) = entries.next_dfs() else { continue };
        let line = match root.attr_value(gimli::DW_AT_stmt_list) {
            Some(AttributeValue::DebugLineRef(offset)) => offset.0,
            Some(AttributeValue::SecOffset(offset)) => offset,
            _ => continue,
        };
        if let Some(folder) = root.attr_value(gimli::DW_AT_comp_dir) {
            out.insert(line, text(folder, strings));
        }
    }
    out
}

/// The path of a file of a table: relative ones begin at the folder of the compilation, which DWARF 5 has as number 0.
fn file_name(
    header: &gimli::LineProgramHeader<Slice<'_>>,
    index: u64,
    strings: Strings<'_>,
    root: Option<&String>,
) -> String {
    let Some(entry) = header.file(index) else { return String::new() };
    let folder = |number: u64| header.directory(number).map(|folder| text(folder, strings));
    let own = match entry.directory_index() {
        0 => None,
        number => folder(number),
    };
    let root = if header.version() >= 5 { folder(0) } else { root.cloned() };
    let mut path = text(entry.path_name(), strings);
    for folder in [own, root].into_iter().flatten() {
        if !path.starts_with('/') && !folder.is_empty() {
            path = format!("{folder}/{path}");
        }
    }
    path
}

fn text(value: AttributeValue<Slice<'_>>, (line_str, str): Strings<'_>) -> String {
    let slice = match value {
        AttributeValue::String(slice) => Some(slice),
        AttributeValue::DebugLineStrRef(at) => line_str.get_str(at).ok(),
        AttributeValue::DebugStrRef(at) => str.get_str(at).ok(),
        _ => None,
    };
    slice.map_or_else(String::new, |slice| String::from_utf8_lossy(slice.slice()).into_owned())
}

/// Text that stays in its comment: without what ends a line.
struct Printable<'a>(&'a str);

impl std::fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = self.0.chars().take(LINE_MAX);
        shown.map(|c| if c.is_control() && c != '\t' { ' ' } else { c }).try_for_each(|c| f.write_char(c))
    }
}
