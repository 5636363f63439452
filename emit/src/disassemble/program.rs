//! An object as the disassembler reads it: sections that have a text, with their symbols and relocations sorted.

use crate::object::flags::Identity;
use crate::object::reloc;
use mir::target::{Os, Target};
use mir::{Diagnostic, Result};
use object::read::elf::{ElfFile64, Sym as _};
use object::{
    Endianness, Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationFlags, RelocationTarget,
    elf,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Section index of variables in LDS. Source: usage guide, "Symbols".
const SHN_AMDGPU_LDS: u16 = 0xff00;

/// Largest section without contents; one that has them is no larger than the file.
const MAX_NOBITS_BYTES: u64 = 1 << 30;

/// Where a symbol is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Undefined,
    /// Index of a section that is printed, and the offset there.
    Section(usize, u64),
    Absolute(u64),
    /// Alignment of what the linker reserves.
    Common(u64),
    /// The same in LDS.
    Lds(u64),
    /// In what is not printed.
    Elsewhere,
}

/// A symbol.
#[derive(Clone, Copy, Debug)]
pub struct Symbol<'a> {
    pub name: &'a str,
    pub place: Place,
    pub size: u64,
    pub binding: elf::SymbolBind,
    pub kind: elf::SymbolType,
    pub visibility: elf::SymbolVisibility,
}

/// A relocation.
#[derive(Clone, Copy, Debug)]
pub struct Relocation {
    /// Byte offset in the section.
    pub offset: u64,
    /// Index of a symbol; `None` is none.
    pub symbol: Option<usize>,
    /// `R_AMDGPU_*`.
    pub kind: u32,
    pub addend: i64,
}

/// A section that is printed.
#[derive(Clone, Debug)]
pub struct Section<'a> {
    /// Its number in the file.
    pub number: usize,
    pub name: &'a str,
    pub kind: elf::SectionType,
    pub flags: elf::SectionFlags,
    pub align: u64,
    pub entry_bytes: u64,
    pub address: u64,
    /// Contents; none for `SHT_NOBITS`.
    pub data: &'a [u8],
    /// Size in memory.
    pub size: u64,
    /// In the order of their offsets.
    pub relocations: Vec<Relocation>,
    /// Offsets of symbols and their indices, in order; at most [`Self::size`].
    pub symbols: Vec<(u64, usize)>,
}

impl Section<'_> {
    pub fn is_code(&self) -> bool {
        self.flags.contains(elf::SHF_EXECINSTR) && self.kind == elf::SHT_PROGBITS
    }

    /// A label of the text's own for the section's start.
    pub fn start_label(&self) -> String {
        format!(".Lsection{}", self.number)
    }

    /// The relocations at `from` or behind, before `to`.
    pub fn relocations_in(&self, from: u64, to: u64) -> &[Relocation] {
        let first = self.relocations.partition_point(|relocation| relocation.offset < from);
        let count = self.relocations[first..].partition_point(|relocation| relocation.offset < to);
        &self.relocations[first..first + count]
    }
}

/// An object.
#[derive(Debug)]
pub struct Program<'a> {
    pub target: Target,
    /// Relocated fields hold addends themselves (`SHT_REL`), as the assembler writes them for this system.
    pub implicit_addends: bool,
    /// Linked, so that its addresses are final.
    pub is_linked: bool,
    pub sections: Vec<Section<'a>>,
    pub symbols: Vec<Symbol<'a>>,
    /// What has no text.
    pub left_out: Vec<String>,
}

fn malformed(error: object::Error) -> Box<Diagnostic> {
    Diagnostic::malformed(format!("object is unreadable: {error}"))
}

impl<'a> Program<'a> {
    pub fn read(bytes: &'a [u8]) -> Result<Self> {
        let file = ElfFile64::<Endianness>::parse(bytes).map_err(malformed)?;
        let header = file.elf_header();
        let endian = file.endian();
        if header.e_machine.get(endian) != elf::EM_AMDGPU {
            return Err(Diagnostic::malformed("the object is not for an AMD GPU"));
        }
        let ident = header.e_ident;
        let identity = Identity::read(ident.os_abi.0, ident.abi_version, header.e_flags.get(endian).0);
        let target = identity.target().ok_or_else(|| {
            Diagnostic::unsupported(format!("processor {:#x} of the object", identity.mach))
        })?;
        let mut program = Self {
            implicit_addends: target.os != Os::AmdHsa,
            target,
            is_linked: header.e_type.get(endian) != elf::ET_REL,
            sections: Vec::new(),
            symbols: Vec::new(),
            left_out: Vec::new(),
        };
        // By the numbers of sections in the file.
        let mut indices = FxHashMap::default();
        let mut names = FxHashSet::default();
        for section in file.sections() {
            program.add_section(&section, endian, &mut indices, &mut names)?;
        }
        program.add_symbols(&file, &indices)?;
        for section in file.sections() {
            if let Some(&index) = indices.get(&section.index().0) {
                for (offset, relocation) in section.relocations() {
                    program.add_relocation(index, offset, &relocation);
                }
            }
        }
        if let Some(relocations) = file.dynamic_relocations().filter(|_| program.is_linked) {
            let mut dynamic = Dynamic::of(&program);
            for (address, relocation) in relocations {
                program.add_dynamic_relocation(address, &relocation, &file, &mut dynamic);
            }
        }
        for section in &mut program.sections {
            section.relocations.sort_by_key(|relocation| relocation.offset);
            section.symbols.sort_unstable();
        }
        Ok(program)
    }

    fn add_section(
        &mut self,
        section: &object::read::elf::ElfSection64<'a, '_, Endianness>,
        endian: Endianness,
        indices: &mut FxHashMap<usize, usize>,
        names: &mut FxHashSet<&'a str>,
    ) -> Result<()> {
        let header = section.elf_section_header();
        let kind = header.sh_type.get(endian);
        let name = section.name().map_err(malformed)?;
        if matches!(kind, elf::SHT_NULL | elf::SHT_SYMTAB | elf::SHT_STRTAB | elf::SHT_REL | elf::SHT_RELA) {
            return Ok(());
        }
        // What a linker makes anew.
        let linked = matches!(kind, elf::SHT_DYNAMIC | elf::SHT_HASH | elf::SHT_GNU_HASH | elf::SHT_DYNSYM);
        if linked && self.is_linked {
            return Ok(());
        }
        if !super::TYPES.iter().any(|(known, _)| *known == kind) {
            self.left_out.push(format!("section {name:?} of type {:#x}", kind.0));
            return Ok(());
        }
        let flags = header.sh_flags.get(endian);
        let unknown = super::FLAGS.iter().fold(flags.0, |flags, (known, _)| flags & !known.0);
        if unknown != 0 {
            self.left_out.push(format!("flags {unknown:#x} of section {name:?}"));
        }
        if !names.insert(name) {
            self.left_out.push(format!("a second section {name:?}"));
            return Ok(());
        }
        let align = header.sh_addralign.get(endian).max(1);
        if !align.is_power_of_two() || align > 1 << 31 {
            return Err(Diagnostic::malformed(format!("section {name} is aligned to {align} bytes")));
        }
        let data = section.data().map_err(malformed)?;
        let size = if kind == elf::SHT_NOBITS { section.size() } else { data.len() as u64 };
        if size > MAX_NOBITS_BYTES.max(data.len() as u64) {
            return Err(Diagnostic::limit(format!("section {name} has {size} bytes")));
        }
        indices.insert(section.index().0, self.sections.len());
        self.sections.push(Section {
            number: section.index().0,
            name,
            kind,
            flags,
            align,
            entry_bytes: header.sh_entsize.get(endian),
            address: if self.is_linked { section.address() } else { 0 },
            data,
            size,
            relocations: Vec::new(),
            symbols: Vec::new(),
        });
        Ok(())
    }

    fn add_symbols(
        &mut self,
        file: &ElfFile64<'a, Endianness>,
        indices: &FxHashMap<usize, usize>,
    ) -> Result<()> {
        let endian = file.endian();
        let symbols: Vec<_> = file.symbols().collect();
        // A stripped object has those that others may refer to.
        let symbols = if symbols.is_empty() { file.dynamic_symbols().collect() } else { symbols };
        let mut numbers = FxHashMap::default();
        for symbol in symbols {
            let raw = symbol.elf_symbol();
            let name = symbol.name().unwrap_or_default();
            let value = raw.st_value(endian);
            let place = match raw.st_shndx(endian) {
                elf::SHN_UNDEF => Place::Undefined,
                elf::SHN_ABS => Place::Absolute(value),
                elf::SHN_COMMON => Place::Common(value),
                elf::SymbolSection(SHN_AMDGPU_LDS) => Place::Lds(value),
                _ => match symbol.section_index().and_then(|index| indices.get(&index.0)) {
                    Some(&section) => {
                        let of = &self.sections[section];
                        match value.checked_sub(of.address).filter(|offset| *offset <= of.size) {
                            Some(offset) => Place::Section(section, offset),
                            None => Place::Elsewhere,
                        }
                    }
                    None => Place::Elsewhere,
                },
            };
            let kind = raw.st_type();
            let index = self.symbols.len();
            numbers.insert(symbol.index().0, index);
            if let Place::Section(section, offset) = place
                && kind != elf::STT_SECTION
            {
                self.sections[section].symbols.push((offset, index));
            }
            self.symbols.push(Symbol {
                name,
                place,
                size: raw.st_size(endian),
                binding: raw.st_bind(),
                kind,
                visibility: raw.st_visibility(),
            });
        }
        // Relocations name symbols by number, which begin at 1.
        if numbers.iter().any(|(number, index)| *number != index + 1) {
            return Err(Diagnostic::malformed("symbols are not numbered from 1 on"));
        }
        Ok(())
    }

    fn add_relocation(&mut self, section: usize, offset: u64, relocation: &object::Relocation) {
        let symbol = match relocation.target() {
            RelocationTarget::Symbol(index) => index.0.checked_sub(1),
            _ => None,
        };
        let RelocationFlags::Elf { r_type } = relocation.flags() else { return };
        let of = &mut self.sections[section];
        let kind = r_type.0;
        let end = offset.checked_add(reloc::width_bytes(kind) as u64);
        if symbol.is_some_and(|symbol| symbol >= self.symbols.len())
            || end.is_none_or(|end| end > of.data.len() as u64)
        {
            self.left_out.push(format!("relocation {kind} at {offset:#x} of section {:?}", of.name));
            return;
        }
        let addend = reloc::addend(of.data, offset, relocation);
        of.relocations.push(Relocation { offset, symbol, kind, addend });
    }

    /// A relocation that the loader applies: of an address in the object, or of a symbol.
    fn add_dynamic_relocation(
        &mut self,
        address: u64,
        relocation: &object::Relocation,
        file: &ElfFile64<'a, Endianness>,
        dynamic: &mut Dynamic<'a>,
    ) {
        let RelocationFlags::Elf { r_type } = relocation.flags() else { return };
        let kind = if r_type.0 == reloc::RELATIVE64 { reloc::ABS64 } else { r_type.0 };
        let to = match (r_type.0, relocation.target()) {
            (reloc::RELATIVE64, _) => {
                dynamic.section_at(self, relocation.addend() as u64).map(|(section, offset)| {
                    // The section's start, as a symbol of its own.
                    (dynamic.section_symbol(self, section), offset as i64)
                })
            }
            (_, RelocationTarget::Symbol(index)) => {
                let name = file
                    .dynamic_symbol_table()
                    .and_then(|table| table.symbol_by_index(index).ok()?.name().ok());
                let symbol = name.and_then(|name| dynamic.by_name.get(name).copied());
                symbol.map(|symbol| (symbol, relocation.addend()))
            }
            _ => None,
        };
        let width = reloc::width_bytes(kind) as u64;
        let place = dynamic.section_at(self, address);
        let place =
            place.filter(|(section, offset)| offset + width <= self.sections[*section].data.len() as u64);
        match (place, to) {
            (Some((section, offset)), Some((symbol, addend))) => {
                let relocation = Relocation { offset, symbol: Some(symbol), kind, addend };
                self.sections[section].relocations.push(relocation);
            }
            _ => self.left_out.push(format!("relocation {} at {address:#x}", r_type.0)),
        }
    }
}

/// What relocations of the loader are looked up in.
struct Dynamic<'a> {
    by_name: FxHashMap<&'a str, usize>,
    /// Addresses of sections in memory, and their indices.
    by_address: Vec<(u64, usize)>,
    section_symbols: FxHashMap<usize, usize>,
}

impl<'a> Dynamic<'a> {
    fn of(program: &Program<'a>) -> Self {
        let named = program.symbols.iter().enumerate().filter(|(_, symbol)| !symbol.name.is_empty());
        let in_memory = program.sections.iter().enumerate().filter(|(_, s)| s.flags.contains(elf::SHF_ALLOC));
        let mut by_address: Vec<_> = in_memory.map(|(index, section)| (section.address, index)).collect();
        by_address.sort_unstable();
        let by_name = named.map(|(index, symbol)| (symbol.name, index)).collect();
        Self { by_name, by_address, section_symbols: FxHashMap::default() }
    }

    /// The section that holds `address`, and the offset there.
    fn section_at(&self, program: &Program<'_>, address: u64) -> Option<(usize, u64)> {
        let behind = self.by_address.partition_point(|(start, _)| *start <= address);
        let (start, section) = *self.by_address.get(behind.checked_sub(1)?)?;
        Some((section, address - start)).filter(|(_, offset)| *offset < program.sections[section].size)
    }

    fn section_symbol(&mut self, program: &mut Program<'_>, section: usize) -> usize {
        *self.section_symbols.entry(section).or_insert_with(|| {
            program.symbols.push(Symbol {
                name: "",
                place: Place::Section(section, 0),
                size: 0,
                binding: elf::STB_LOCAL,
                kind: elf::STT_SECTION,
                visibility: elf::STV_DEFAULT,
            });
            program.symbols.len() - 1
        })
    }
}
