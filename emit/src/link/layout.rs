//! Output sections, their order, addresses and segments.
//!
//! The order and the segments are those of LLVM's linker: headers, notes and tables that are read, constants, code, what is written only while
//! loading (RELRO), variables. Each kind of access has a segment of its own that begins on a new page of memory but follows its
//! predecessor in the file. Source: System V ABI, "Program Loading"; usage guide, "Linked code object".

use super::input::InputSection;
use mir::{Diagnostic, Result};
use object::elf;
use object::write::elf::ProgramHeader;

/// Unit of memory protection: addresses and file offsets are equal modulo this.
pub(super) const PAGE: u64 = 0x1000;
/// Bytes of the file header and of a program header.
const FILE_HEADER: u64 = 64;
const PROGRAM_HEADER: u64 = 56;

/// Where in the file a section stands; sections of a kind keep the order in which they were met.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Rank {
    Note,
    DynamicSymbols,
    GnuHash,
    Hash,
    DynamicStrings,
    Relocations,
    ReadOnly,
    Code,
    WritableCode,
    PreinitArray,
    InitArray,
    FiniArray,
    Relro,
    Dynamic,
    Got,
    RelroPadding,
    Data,
    Zeroed,
    NotLoaded,
    SymbolTable,
    SectionNames,
    Strings,
}

/// What a segment lets code do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Access {
    Read,
    Execute,
    WriteExecute,
    Relro,
    Write,
}

impl Rank {
    fn access(self) -> Option<Access> {
        Some(match self {
            Self::NotLoaded | Self::SymbolTable | Self::SectionNames | Self::Strings => return None,
            Self::Code => Access::Execute,
            Self::WritableCode => Access::WriteExecute,
            Self::Data | Self::Zeroed => Access::Write,
            rank if rank >= Self::PreinitArray => Access::Relro,
            _ => Access::Read,
        })
    }

    /// Of an input section's output.
    fn of(section: &InputSection<'_>, name: &str) -> Self {
        if !section.is_allocated() {
            return Self::NotLoaded;
        }
        let writable = section.flags.contains(elf::SHF_WRITE);
        match (section.flags.contains(elf::SHF_EXECINSTR), writable) {
            (true, false) => return Self::Code,
            (true, true) => return Self::WritableCode,
            (false, false) if section.kind == elf::SHT_NOTE => return Self::Note,
            (false, false) => return Self::ReadOnly,
            (false, true) => {}
        }
        match name {
            ".preinit_array" => Self::PreinitArray,
            ".init_array" => Self::InitArray,
            ".fini_array" => Self::FiniArray,
            ".data.rel.ro" | ".bss.rel.ro" | ".ctors" | ".dtors" => Self::Relro,
            _ if section.is_nobits() => Self::Zeroed,
            _ => Self::Data,
        }
    }
}

/// An output section.
#[derive(Clone, Debug)]
pub(super) struct OutputSection {
    pub name: String,
    pub rank: Rank,
    pub kind: elf::SectionType,
    pub flags: elf::SectionFlags,
    pub align: u64,
    pub entry_size: u64,
    /// Bytes in memory.
    pub size: u64,
    pub address: u64,
    /// In the file.
    pub offset: u64,
    /// Empty for `SHT_NOBITS`, else `size` bytes once contents are known.
    pub data: Vec<u8>,
}

impl OutputSection {
    /// A table that the linker makes.
    pub fn table(
        name: &str,
        rank: Rank,
        kind: elf::SectionType,
        flags: elf::SectionFlags,
        align: u64,
        size: u64,
    ) -> Self {
        Self {
            name: name.to_owned(),
            rank,
            kind,
            flags,
            align,
            entry_size: 0,
            size,
            address: 0,
            offset: 0,
            data: Vec::new(),
        }
    }

    pub fn is_nobits(&self) -> bool {
        self.kind == elf::SHT_NOBITS
    }

    pub fn is_allocated(&self) -> bool {
        self.flags.contains(elf::SHF_ALLOC)
    }
}

/// The output section's name for an input section: suffixes that tell functions and variables apart go. Source: GNU ld's default script.
pub(super) fn output_name(name: &str) -> &str {
    const PREFIXES: [&str; 11] = [
        ".text",
        ".rodata",
        ".data.rel.ro",
        ".data",
        ".bss.rel.ro",
        ".bss",
        ".preinit_array",
        ".init_array",
        ".fini_array",
        ".ctors",
        ".dtors",
    ];
    let is_part = |prefix: &&&str| {
        name.strip_prefix(**prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    PREFIXES.iter().find(is_part).copied().unwrap_or(name)
}

/// Order of constructors within their array: the priority in the name, those without one last. `.ctors` count down.
pub(super) fn priority(name: &str) -> u32 {
    let number = |prefix: &str| {
        name.strip_prefix(prefix).and_then(|n| n.strip_prefix('.')).and_then(|n| n.parse::<u32>().ok())
    };
    let upward = [".preinit_array", ".init_array", ".fini_array"].into_iter().find_map(number);
    let downward = [".ctors", ".dtors"].into_iter().find_map(number);
    upward.or(downward.map(|n| 65535u32.saturating_sub(n))).unwrap_or(u32::MAX)
}

/// What the linker makes, found by name.
const OWN_TABLES: [&str; 11] = [
    ".dynsym",
    ".gnu.hash",
    ".hash",
    ".dynstr",
    ".rela.dyn",
    ".dynamic",
    ".got",
    ".relro_padding",
    ".symtab",
    ".strtab",
    ".shstrtab",
];

/// Output sections by name.
#[derive(Debug, Default)]
pub(super) struct Sections {
    pub list: Vec<OutputSection>,
}

impl Sections {
    /// Index of the section called `name`.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.list.iter().position(|s| s.name == name)
    }

    /// Gives `section` a place: output section and offset in it.
    pub fn place(&mut self, section: &InputSection<'_>) -> Result<(usize, u64)> {
        let name = output_name(section.name);
        if OWN_TABLES.contains(&name) {
            return Err(Diagnostic::malformed(format!(
                "a section called {name}, which is a table of the linker's"
            )));
        }
        let rank = Rank::of(section, name);
        let index = self.find(name).unwrap_or_else(|| {
            self.list.push(OutputSection {
                entry_size: section.entry_size,
                ..OutputSection::table(name, rank, section.kind, elf::SectionFlags::default(), 1, 0)
            });
            self.list.len() - 1
        });
        let output = &mut self.list[index];
        if output.flags != elf::SectionFlags::default() && output.is_allocated() != section.is_allocated() {
            return Err(Diagnostic::malformed(format!(
                "sections {name} of which one is loaded and one is not"
            )));
        }
        // What was zeroed has contents where a part has; the freest access counts.
        if output.is_nobits() && !section.is_nobits() {
            output.kind = section.kind;
        }
        output.rank = match (output.rank, rank) {
            (Rank::Zeroed, other) | (other, Rank::Zeroed) => other,
            (a, b) => a.max(b),
        };
        if output.entry_size != section.entry_size {
            output.entry_size = 0;
        }
        let kept = section.flags.0
            & !(elf::SHF_GROUP | elf::SHF_COMPRESSED | elf::SHF_INFO_LINK | elf::SHF_LINK_ORDER).0;
        output.flags = elf::SectionFlags(output.flags.0 | kept);
        output.align = output.align.max(section.align);
        let offset = output.size.next_multiple_of(section.align);
        output.size = offset + section.size;
        if output.size > super::IMAGE_MAX {
            return Err(Diagnostic::limit(format!("section {name} has {} bytes", output.size)));
        }
        Ok((index, offset))
    }
}

/// What is loaded with one kind of access.
struct Load {
    access: Access,
    /// In the file.
    offset: u64,
    address: u64,
    file_size: u64,
    memory_size: u64,
}

/// Sections that follow each other with the same access. The headers are read even where no section is.
fn runs(sections: &[OutputSection], order: &[usize]) -> Vec<(Access, Vec<usize>)> {
    let mut runs: Vec<(Access, Vec<usize>)> = vec![(Access::Read, Vec::new())];
    for &index in order {
        let Some(access) = sections[index].rank.access() else { continue };
        match runs.last_mut() {
            Some((last, members)) if *last == access => members.push(index),
            _ => runs.push((access, vec![index])),
        }
    }
    runs
}

/// Gives every section its address and file offset, and makes the program headers. `order` are section indices in the order of the file.
pub(super) fn assign(sections: &mut [OutputSection], order: &[usize]) -> Result<Vec<ProgramHeader>> {
    let runs = runs(sections, order);
    let has_relro = runs.iter().any(|(access, _)| *access == Access::Relro);
    let has_notes = order.iter().any(|&s| sections[s].rank == Rank::Note);
    // What has no bytes needs no segment.
    let is_loaded = |(number, run): &(usize, &(Access, Vec<usize>))| {
        *number == 0 || run.0 == Access::Relro || run.1.iter().any(|&s| sections[s].size > 0)
    };
    let loaded = runs.iter().enumerate().filter(is_loaded).count();
    // Program headers themselves, stack, dynamic table.
    let others = 3 + usize::from(has_relro) + usize::from(has_notes);
    let count = loaded + others;

    // `address = offset + gap`, but for zeroed memory; a segment on a new page widens the gap. `end` is the first address behind what is placed.
    // Room is kept for segments that turn out to be empty, as ld.lld does.
    let table = PROGRAM_HEADER * (runs.len() + others) as u64;
    let headers = FILE_HEADER + table;
    let (mut offset, mut gap, mut end) = (headers, 0u64, headers);
    let mut loads = Vec::with_capacity(runs.len());
    for (number, (access, members)) in runs.iter().enumerate() {
        let align = members.iter().map(|&s| sections[s].align).fold(PAGE, u64::max);
        if number > 0 {
            gap = (end.next_multiple_of(align) + offset % align).saturating_sub(offset);
        }
        let mut first: Option<(u64, u64)> = (number == 0).then_some((0, 0));
        let mut address = offset + gap;
        for &index in members {
            let section = &mut sections[index];
            if section.rank == Rank::RelroPadding {
                section.size = address.next_multiple_of(PAGE) - address;
            }
            address = address.next_multiple_of(section.align);
            section.address = address;
            address += section.size;
            // A segment's place in the file agrees with its address even where it has no bytes there.
            if !section.is_nobits() || first.is_none() {
                offset = section.address - gap;
            }
            section.offset = offset;
            if !section.is_nobits() {
                offset += section.size;
            }
            first.get_or_insert((section.offset, section.address));
        }
        let (file, memory) = first.unwrap_or((offset, address));
        if number == 0 || address > memory {
            loads.push(Load {
                access: *access,
                offset: file,
                address: memory,
                file_size: offset - file,
                memory_size: address - memory,
            });
        }
        end = address;
    }
    for &index in order {
        let section = &mut sections[index];
        if section.rank.access().is_none() {
            offset = offset.next_multiple_of(section.align);
            section.offset = offset;
            offset += section.size;
        }
    }
    if offset > super::IMAGE_MAX {
        return Err(Diagnostic::limit(format!("the linked object has {offset} bytes")));
    }
    let headers = program_headers(sections, order, &loads, table);
    match headers.len() == count {
        true => Ok(headers),
        false => Err(Diagnostic::defect("another number of segments than was laid out")),
    }
}

fn program_headers(
    sections: &[OutputSection],
    order: &[usize],
    loads: &[Load],
    table: u64,
) -> Vec<ProgramHeader> {
    let header = |p_type, p_flags, (p_offset, p_vaddr): (u64, u64), p_filesz, p_memsz, p_align| {
        ProgramHeader { p_type, p_flags, p_offset, p_vaddr, p_paddr: p_vaddr, p_filesz, p_memsz, p_align }
    };
    let rw = elf::PF_R | elf::PF_W;
    let mut out = vec![header(elf::PT_PHDR, elf::PF_R, (FILE_HEADER, FILE_HEADER), table, table, 8)];
    for load in loads {
        let flags = match load.access {
            Access::Read => elf::PF_R,
            Access::Execute => elf::PF_R | elf::PF_X,
            Access::WriteExecute => rw | elf::PF_X,
            Access::Relro | Access::Write => rw,
        };
        let place = (load.offset, load.address);
        out.push(header(elf::PT_LOAD, flags, place, load.file_size, load.memory_size, PAGE));
    }
    let ordered = || order.iter().map(|&s| &sections[s]);
    if let Some(dynamic) = ordered().find(|s| s.rank == Rank::Dynamic) {
        let place = (dynamic.offset, dynamic.address);
        out.push(header(elf::PT_DYNAMIC, rw, place, dynamic.size, dynamic.size, 8));
    }
    for load in loads.iter().filter(|load| load.access == Access::Relro) {
        let place = (load.offset, load.address);
        out.push(header(elf::PT_GNU_RELRO, elf::PF_R, place, load.file_size, load.memory_size, 1));
    }
    out.push(header(elf::PT_GNU_STACK, rw, (0, 0), 0, 0, 0));
    let notes = || ordered().filter(|s| s.rank == Rank::Note);
    if let (Some(first), Some(last)) = (notes().next(), notes().next_back()) {
        let size = last.offset + last.size - first.offset;
        let align = notes().map(|s| s.align).fold(1, u64::max);
        out.push(header(elf::PT_NOTE, elf::PF_R, (first.offset, first.address), size, size, align));
    }
    out
}
