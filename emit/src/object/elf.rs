//! An ELF relocatable object as sections and symbols, and its bytes.
//!
//! [`Image`] is what the parts of the object writer fill in; [`Image::write`] lays it out through the
//! `object` crate: header, section contents, relocations, symbols (locals first, as ELF demands), strings,
//! section headers. The result depends on the image alone. Cost: linear.

use mir::{Diagnostic, Result};
use object::elf;
use object::write::elf::{FileHeader, Rel, SectionHeader, SectionIndex, Sym, SymbolIndex, Writer};
use std::borrow::Cow;

/// Section index of variables in LDS: the first of the processor's own. Source: LLVM's `ELF.h`.
const SHN_AMDGPU_LDS: elf::SymbolSection = elf::SymbolSection(elf::SHN_LOPROC);

/// Alignment of a section's bytes in the file. In memory the linker sees to it; a file padded for it could be of any size.
const FILE_ALIGN_MAX: u64 = 4096;

/// A section of an [`Image`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SectionId(pub usize);

/// A symbol of an [`Image`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ElfSymbolId(pub usize);

/// The symbol of number 0, which is none.
pub const ABSENT_SYMBOL: ElfSymbolId = ElfSymbolId(usize::MAX);

/// A relocation of a section.
#[derive(Clone, Copy, Debug)]
pub struct Relocation {
    /// Byte offset in the section.
    pub offset: u64,
    /// What is referred to.
    pub symbol: ElfSymbolId,
    /// `R_AMDGPU_*`.
    pub kind: u32,
    /// Added to the symbol's value.
    pub addend: i64,
}

/// A section.
#[derive(Clone, Debug)]
pub struct Section {
    /// Name.
    pub name: String,
    /// `SHT_*`.
    pub kind: elf::SectionType,
    /// `SHF_*`.
    pub flags: elf::SectionFlags,
    /// Alignment in bytes.
    pub align: u64,
    /// Contents; empty for `SHT_NOBITS`.
    pub data: Vec<u8>,
    /// Size of a `SHT_NOBITS` section.
    pub nobits_size: u64,
    /// Size in bytes of the units that may be merged (`SHF_MERGE`), else 0.
    pub entry_size: u64,
    /// The section that this one stays with (`SHF_LINK_ORDER`).
    pub link: Option<SectionId>,
    /// Relocations in the order of their offsets.
    pub relocations: Vec<Relocation>,
}

impl Section {
    /// An empty section.
    pub fn new(name: impl Into<String>, kind: elf::SectionType, flags: elf::SectionFlags) -> Self {
        Self {
            name: name.into(),
            kind,
            flags,
            align: 1,
            data: Vec::new(),
            nobits_size: 0,
            entry_size: 0,
            link: None,
            relocations: Vec::new(),
        }
    }

    /// Whether it occupies no bytes of the file.
    pub fn is_nobits(&self) -> bool {
        self.kind == elf::SHT_NOBITS
    }

    /// Current size in bytes.
    pub fn size(&self) -> u64 {
        if self.is_nobits() { self.nobits_size } else { self.data.len() as u64 }
    }

    /// Pads to a multiple of `align` with repetitions of `fill` and raises the section's alignment; returns
    /// the offset. The size must be a multiple of the length of `fill`.
    pub fn align_to(&mut self, align: u64, fill: &[u8]) -> u64 {
        self.align = self.align.max(align);
        let end = self.size().next_multiple_of(align.max(1));
        if self.is_nobits() {
            self.nobits_size = end;
        } else {
            let missing = end as usize - self.data.len();
            self.data.extend(fill.iter().copied().cycle().take(missing));
        }
        end
    }
}

/// Where a symbol is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In another object.
    Undefined,
    /// In a section of this one.
    Defined(SectionId, u64),
    /// The section itself.
    Section(SectionId),
    /// In this section group, which it names.
    Group(usize),
    /// Nowhere: the symbol is this number.
    Absolute(u64),
    /// Where the linker puts it, with this alignment.
    Common(u64),
    /// Where the linker puts it in LDS, with this alignment.
    Lds(u64),
}

/// A symbol.
#[derive(Clone, Debug)]
pub struct ElfSymbol {
    /// Name, empty for section symbols.
    pub name: String,
    /// Place.
    pub place: Place,
    /// Size in bytes.
    pub size: u64,
    /// `STB_*`.
    pub binding: elf::SymbolBind,
    /// `STT_*`.
    pub kind: elf::SymbolType,
    /// `STV_*`.
    pub visibility: elf::SymbolVisibility,
}

/// Sections that the linker keeps or drops together.
#[derive(Clone, Debug)]
pub struct Group {
    /// The symbol that names it.
    pub signature: ElfSymbolId,
    /// Of all objects' groups of this name, one is kept.
    pub comdat: bool,
    /// Its sections, in the order of the file; their relocations belong to it too.
    pub members: Vec<SectionId>,
}

/// `ELFOSABI_AMDGPU_HSA`.
const OS_ABI_HSA: u8 = 64;

/// A relocatable object before layout.
#[derive(Clone, Debug, Default)]
pub struct Image {
    /// `EI_OSABI`.
    pub os_abi: u8,
    /// `EI_ABIVERSION`.
    pub abi_version: u8,
    /// `e_flags`.
    pub flags: u32,
    /// Sections in the order of the file.
    pub sections: Vec<Section>,
    /// Section groups; none is empty, and no section is in two.
    pub groups: Vec<Group>,
    /// Symbols, in any order.
    pub symbols: Vec<ElfSymbol>,
}

impl Image {
    /// Adds a section.
    pub fn add_section(&mut self, section: Section) -> SectionId {
        self.sections.push(section);
        SectionId(self.sections.len() - 1)
    }

    /// Adds a symbol.
    pub fn add_symbol(&mut self, symbol: ElfSymbol) -> ElfSymbolId {
        self.symbols.push(symbol);
        ElfSymbolId(self.symbols.len() - 1)
    }

    /// Whether relocations hold their addends (`SHT_RELA`): in objects for HSA. Elsewhere the relocated field
    /// does (`SHT_REL`), the only kind that Mesa's loader reads.
    fn has_explicit_addends(&self) -> bool {
        self.os_abi == OS_ABI_HSA
    }

    /// A section's contents in the file.
    fn contents<'a>(&self, section: &'a Section) -> Result<Cow<'a, [u8]>> {
        if self.has_explicit_addends() || section.relocations.is_empty() {
            return Ok(Cow::Borrowed(&section.data));
        }
        let mut data = section.data.clone();
        for relocation in &section.relocations {
            let width = super::reloc::width_bytes(relocation.kind);
            let slot = usize::try_from(relocation.offset)
                .ok()
                .and_then(|at| data.get_mut(at..at.checked_add(width)?));
            let outside = || Diagnostic::defect(format!("a relocation outside of {}", section.name));
            slot.ok_or_else(outside)?.copy_from_slice(&relocation.addend.to_le_bytes()[..width]);
        }
        Ok(Cow::Owned(data))
    }

    /// The object's bytes.
    pub fn write(&self) -> Result<Vec<u8>> {
        let fail = |e: object::write::Error| Diagnostic::defect(format!("cannot write the object: {e}"));
        // The indices from 0xff00 on are reserved; string sections come on top of these.
        if 2 * self.sections.len() + self.groups.len() > 0xe000 {
            return Err(Diagnostic::limit(format!("{} sections do not fit one object", self.sections.len())));
        }
        let mut bytes = Vec::new();
        let mut writer = Writer::new(object::Endianness::Little, true, &mut bytes);
        writer.reserve_file_header();

        // Indices and file ranges of sections with their relocations.
        let explicit = self.has_explicit_addends();
        let prefix = if explicit { ".rela" } else { ".rel" };
        let rela_names: Vec<String> = self.sections.iter().map(|s| format!("{prefix}{}", s.name)).collect();
        let mut names = Vec::with_capacity(self.sections.len());
        let mut indices = Vec::with_capacity(self.sections.len());
        let mut offsets = Vec::with_capacity(self.sections.len());
        // A group stands before its first section.
        let mut group_of = vec![None; self.sections.len()];
        for (number, group) in self.groups.iter().enumerate() {
            group.members.iter().for_each(|member| group_of[member.0] = Some(number));
        }
        let opened = |id: usize| group_of[id].filter(|&group| self.groups[group].members[0].0 == id);
        let group_name = (!self.groups.is_empty()).then(|| writer.add_section_name(b".group"));
        let mut group_places = vec![(SectionIndex(0), 0); self.groups.len()];
        for (id, (section, rela_name)) in self.sections.iter().zip(&rela_names).enumerate() {
            if let Some(group) = opened(id) {
                let words = self.groups[group].members.iter();
                let words = words.map(|m| 1 + usize::from(!self.sections[m.0].relocations.is_empty())).sum();
                group_places[group] = (writer.reserve_section_index(), writer.reserve_comdat(words));
            }
            indices.push(writer.reserve_section_index());
            let name = writer.add_section_name(section.name.as_bytes());
            let rela = (!section.relocations.is_empty()).then(|| {
                writer.reserve_section_index();
                writer.add_section_name(rela_name.as_bytes())
            });
            names.push((name, rela));
            offsets.push(writer.reserve(section.data.len() as u64, section.align.min(FILE_ALIGN_MAX)));
        }

        // Symbols: locals first.
        let is_local = |symbol: &ElfSymbol| symbol.binding == elf::STB_LOCAL;
        let mut order: Vec<usize> = (0..self.symbols.len()).collect();
        order.sort_by_key(|&i| !is_local(&self.symbols[i]));
        let locals = order.iter().filter(|&&i| is_local(&self.symbols[i])).count() as u32 + 1;
        let mut symbol_index = vec![SymbolIndex(0); self.symbols.len()];
        let mut symbol_names = vec![None; self.symbols.len()];
        writer.reserve_null_symbol_index();
        for &i in &order {
            symbol_index[i] = writer.reserve_symbol_index(None);
            let name = &self.symbols[i].name;
            symbol_names[i] = (!name.is_empty()).then(|| writer.add_string(name.as_bytes()));
        }
        let symtab = writer.reserve_symtab_section_index();
        writer.reserve_strtab_section_index();
        writer.reserve_shstrtab_section_index();
        writer.reserve_symtab();
        writer.reserve_strtab().map_err(fail)?;
        writer.reserve_shstrtab().map_err(fail)?;
        let rela_offsets: Vec<u64> = self
            .sections
            .iter()
            .map(|section| match section.relocations.len() {
                0 => 0,
                count => writer.reserve_relocations(count, explicit),
            })
            .collect();
        writer.reserve_section_headers();

        // Contents in the order of reservation.
        let header = FileHeader {
            os_abi: elf::OsAbi(self.os_abi),
            abi_version: self.abi_version,
            e_type: elf::ET_REL,
            e_machine: elf::EM_AMDGPU,
            e_entry: 0,
            e_flags: elf::FileFlags(self.flags),
        };
        writer.write_file_header(&header).map_err(fail)?;
        for (id, (section, &offset)) in self.sections.iter().zip(&offsets).enumerate() {
            if let Some(group) = opened(id) {
                writer.pad_until(group_places[group].1);
                writer.write(&self.group_words(group, &indices));
            }
            writer.pad_until(offset);
            writer.write(&self.contents(section)?);
        }
        writer.write_null_symbol();
        for &i in &order {
            writer.write_symbol(&self.symbol(
                i,
                &indices,
                &group_places,
                writer.string_offset(symbol_names[i]),
            ));
        }
        writer.write_strtab();
        writer.write_shstrtab();
        for (section, &offset) in self.sections.iter().zip(&rela_offsets) {
            if section.relocations.is_empty() {
                continue;
            }
            writer.pad_until(offset);
            for relocation in &section.relocations {
                writer.write_relocation(
                    explicit,
                    &Rel {
                        r_offset: relocation.offset,
                        r_sym: symbol_index.get(relocation.symbol.0).map_or(0, |index| index.0),
                        r_type: elf::RelocationType(relocation.kind),
                        r_addend: relocation.addend,
                    },
                );
            }
        }

        // Section headers in the order of their indices.
        writer.write_null_section_header();
        for (i, section) in self.sections.iter().enumerate() {
            if let (Some(group), Some(name)) = (opened(i), group_name) {
                let signature = self.groups[group].signature;
                writer.write_section_header(&SectionHeader {
                    sh_name: writer.section_name_offset(Some(name)),
                    sh_type: elf::SHT_GROUP,
                    sh_offset: group_places[group].1,
                    sh_size: self.group_words(group, &indices).len() as u64,
                    sh_link: symtab.0,
                    sh_info: symbol_index.get(signature.0).map_or(0, |index| index.0),
                    sh_addralign: 4,
                    sh_entsize: 4,
                    ..SectionHeader::default()
                });
            }
            let (name, rela) = names[i];
            let grouped = if group_of[i].is_some() { elf::SHF_GROUP } else { elf::SectionFlags(0) };
            writer.write_section_header(&SectionHeader {
                sh_name: writer.section_name_offset(Some(name)),
                sh_type: section.kind,
                sh_flags: section.flags | grouped,
                sh_offset: offsets[i],
                sh_size: section.size(),
                sh_link: section.link.and_then(|link| indices.get(link.0)).map_or(0, |index| index.0),
                sh_addralign: section.align,
                sh_entsize: section.entry_size,
                ..SectionHeader::default()
            });
            if let Some(rela) = rela {
                let entry_size: u64 = if explicit { 24 } else { 16 };
                writer.write_section_header(&SectionHeader {
                    sh_name: writer.section_name_offset(Some(rela)),
                    sh_type: if explicit { elf::SHT_RELA } else { elf::SHT_REL },
                    sh_flags: elf::SHF_INFO_LINK | grouped,
                    sh_offset: rela_offsets[i],
                    sh_size: section.relocations.len() as u64 * entry_size,
                    sh_link: symtab.0,
                    sh_info: indices[i].0,
                    sh_addralign: 8,
                    sh_entsize: entry_size,
                    ..SectionHeader::default()
                });
            }
        }
        writer.write_symtab_section_header(locals);
        writer.write_strtab_section_header();
        writer.write_shstrtab_section_header();
        Ok(bytes)
    }

    /// The contents of a group's section: its flags and the numbers of its sections, each followed by that of its
    /// relocations.
    fn group_words(&self, group: usize, indices: &[SectionIndex]) -> Vec<u8> {
        let group = &self.groups[group];
        let flags = if group.comdat { elf::GRP_COMDAT.0 } else { 0 };
        let members = group.members.iter().flat_map(|member| {
            let index = indices[member.0].0;
            let relocated = !self.sections[member.0].relocations.is_empty();
            std::iter::once(index).chain(relocated.then_some(index + 1))
        });
        std::iter::once(flags).chain(members).flat_map(u32::to_le_bytes).collect()
    }

    fn symbol(&self, i: usize, indices: &[SectionIndex], groups: &[(SectionIndex, u64)], name: u32) -> Sym {
        let symbol = &self.symbols[i];
        let mut reserved = elf::SHN_UNDEF;
        let (section, value) = match symbol.place {
            Place::Undefined => (None, 0),
            Place::Defined(section, offset) => (Some(indices[section.0].0), offset),
            Place::Section(section) => (Some(indices[section.0].0), 0),
            Place::Group(group) => (Some(groups[group].0.0), 0),
            Place::Absolute(value) => {
                reserved = elf::SHN_ABS;
                (None, value)
            }
            Place::Common(align) => {
                reserved = elf::SHN_COMMON;
                (None, align)
            }
            Place::Lds(align) => {
                reserved = SHN_AMDGPU_LDS;
                (None, align)
            }
        };
        Sym {
            section,
            st_name: name,
            st_info: elf::SymbolInfo::new(symbol.binding, symbol.kind),
            st_other: symbol.visibility.into(),
            st_shndx: reserved,
            st_value: value,
            st_size: symbol.size,
        }
    }
}
