//! Writes finished functions and the module's variables as an ELF relocatable object.
//!
//! | section | holds |
//! |---|---|
//! | `.text` | functions, kernels at multiples of 256 bytes, gaps filled with `s_nop 0` |
//! | `.rodata` | kernel descriptors (`NAME.kd`), constants |
//! | `.data.rel.ro` | constants that hold addresses |
//! | `.data`, `.bss` | variables |
//! | `.note` | metadata; `SHF_ALLOC`, since the loader reads it from the linked object's segments (ERRATA E6) |
//! | `.AMDGPU.config` | register values for drivers without HSA ([`legacy`]); amdpal has them in `.note` ([`pal`]) |
//!
//! LDS variables have no place in the object: their offsets are in the code. Symbols that are used and not
//! defined become undefined ones. Cost: linear in code, data and relocations.
//!
//! Sources: AMDGPU usage guide, "ELF Code Object"; section flags and fill as `llc` 16 writes them.

pub(crate) mod code_end;
pub(crate) mod data;
pub(crate) mod elf;
pub(crate) mod flags;
pub(crate) mod legacy;
pub(crate) mod notes;
pub(crate) mod pal;
pub(crate) mod reloc;
pub(crate) mod v2;

use crate::FinalFunction;
use elf::{ElfSymbol, ElfSymbolId, Image, Place, Relocation, Section, SectionId};
use mir::abi::call_graph::{self, Node, RESOURCES_SECTION};
use mir::abi::descriptor::{DESCRIPTOR_BYTES, ENTRY_OFFSET_BYTES};
use mir::abi::kernel_code::STT_HSA_KERNEL;
use mir::abi::metadata::KernelMeta;
use mir::abi::{Metadata, lds, metadata, metadata_v2};
use mir::ir::{AddrSpace, Linkage, Module, SymbolRef, Visibility};
use mir::machine::RelocKind;
use mir::target::{Features, Os, Target};
use mir::{Diagnostic, Result};
use object::elf as raw;
use rustc_hash::FxHashMap;

/// `s_nop 0`, the filler of code.
pub(crate) const S_NOP: [u8; 4] = [0x00, 0x00, 0x80, 0xbf];

/// The relocatable object of `functions` and of the variables of `module`, whose assembly is not looked at.
pub(crate) fn write(module: &Module, functions: &[FinalFunction], target: &Target) -> Result<Vec<u8>> {
    let mut builder = Builder::new(module, target);
    for function in functions {
        builder.add_function(function)?;
    }
    builder.end_code();
    data::add_globals(&mut builder)?;
    builder.add_linked_lds();
    builder.add_aliases()?;
    builder.resolve_pending()?;
    match target.os {
        Os::AmdHsa => {
            builder.add_metadata(functions)?;
            builder.add_resources(functions)?;
        }
        _ => builder.add_driver_data(functions)?,
    }
    builder.image.write()
}

/// `e_flags`: the processor, and which switchable features the code was made for.
///
/// Up to V3, and on other systems than amdhsa, a bit says for each feature that the code may run with it on;
/// later versions tell "on", "off" and "either" from each other. The version of a generic processor is a
/// field of V6, so that other systems' objects do not have it. Source: usage guide, "Header" and
/// `EF_AMDGPU_*` tables.
pub fn elf_flags(target: &Target) -> u32 {
    let mut flags = target.processor.elf_mach;
    let since = |version| target.os == Os::AmdHsa && target.code_object_version >= version;
    if since(6) {
        flags |= u32::from(target.processor.generic_version) << 24;
    }
    let v4 = since(4);
    let features = [
        (Features::XNACK_SUPPORTED, Features::XNACK, Features::XNACK_ANY, 0x100, [0x100, 0x200, 0x300]),
        (
            Features::SRAM_ECC_SUPPORTED,
            Features::SRAM_ECC,
            Features::SRAM_ECC_ANY,
            0x200,
            [0x400, 0x800, 0xc00],
        ),
    ];
    for (supported, enabled, either, v3_on, [any, off, on]) in features {
        flags |= match (v4, target.has(enabled)) {
            (false, true) => v3_on,
            (true, true) if target.has(either) => any,
            (true, true) => on,
            (true, false) if metadata::has_setting(target, supported, enabled) => off,
            _ => 0,
        };
    }
    flags
}

/// Whether kernels have descriptors apart from their code.
pub(crate) fn has_descriptors(target: &Target) -> bool {
    target.os == Os::AmdHsa && !v2::applies(target)
}

/// `EI_OSABI` and `EI_ABIVERSION`. Source: usage guide, "Header".
pub(crate) fn os_abi(target: &Target) -> (u8, u8) {
    match target.os {
        Os::Unknown => (0, 0),
        Os::AmdHsa => (64, target.code_object_version.saturating_sub(2)),
        Os::AmdPal => (65, 0),
        Os::Mesa3d => (66, 0),
    }
}

/// A relocation whose symbol is known by its place in the module.
struct Pending {
    section: SectionId,
    offset: u64,
    symbol: SymbolRef,
    kind: u32,
    addend: i64,
}

/// The object under construction.
struct Builder<'a> {
    module: &'a Module,
    target: &'a Target,
    image: Image,
    sections: FxHashMap<String, SectionId>,
    section_symbols: FxHashMap<SectionId, ElfSymbolId>,
    /// Defined symbols of the module; a private one has no ELF symbol and is its section and offset.
    defined: FxHashMap<SymbolRef, (SectionId, u64, Option<ElfSymbolId>)>,
    undefined: FxHashMap<SymbolRef, ElfSymbolId>,
    pending: Vec<Pending>,
}

impl<'a> Builder<'a> {
    fn new(module: &'a Module, target: &'a Target) -> Self {
        let (os_abi, abi_version) = os_abi(target);
        let image = Image { os_abi, abi_version, flags: elf_flags(target), ..Image::default() };
        let mut builder = Self {
            module,
            target,
            image,
            sections: FxHashMap::default(),
            section_symbols: FxHashMap::default(),
            defined: FxHashMap::default(),
            undefined: FxHashMap::default(),
            pending: Vec::new(),
        };
        builder.section(".text", raw::SHT_PROGBITS, raw::SHF_ALLOC | raw::SHF_EXECINSTR);
        builder
    }

    /// The section called `name`; the first request decides type and flags.
    fn section(&mut self, name: &str, kind: raw::SectionType, flags: raw::SectionFlags) -> SectionId {
        if let Some(&id) = self.sections.get(name) {
            return id;
        }
        let mut section = Section::new(name, kind, flags);
        if flags.contains(raw::SHF_EXECINSTR) {
            section.align = 4;
        }
        let id = self.image.add_section(section);
        self.sections.insert(name.to_owned(), id);
        id
    }

    /// Defines `symbol` at `offset` of `section`. Private symbols stay out of the symbol table.
    fn define(
        &mut self,
        symbol: SymbolRef,
        place: (SectionId, u64),
        size: u64,
        kind: raw::SymbolType,
        visibility: raw::SymbolVisibility,
    ) -> Result<()> {
        let (name, linkage) = match symbol {
            SymbolRef::Func(f) => (&self.module.functions[f].name, self.module.functions[f].linkage),
            SymbolRef::Global(g) => (&self.module.globals[g].name, self.module.globals[g].linkage),
        };
        let id = (linkage != Linkage::Private && !name.is_empty()).then(|| {
            self.image.add_symbol(ElfSymbol {
                name: name.clone(),
                place: Place::Defined(place.0, place.1),
                size,
                binding: binding(linkage),
                kind,
                visibility,
            })
        });
        if self.defined.insert(symbol, (place.0, place.1, id)).is_some() {
            return Err(Diagnostic::defect(format!("symbol {name} is defined twice")));
        }
        Ok(())
    }

    fn add_function(&mut self, function: &FinalFunction) -> Result<()> {
        let func = function.function.source;
        let Some(source) = self.module.functions.get(func) else {
            return Err(Diagnostic::defect("a finished function is not of this module")
                .in_function(&function.function.name));
        };
        let section_name = if source.section.is_empty() { ".text" } else { &source.section };
        let section = self.section(section_name, raw::SHT_PROGBITS, raw::SHF_ALLOC | raw::SHF_EXECINSTR);
        let header = match legacy::has_header(function, self.target) {
            true => legacy::header(function, source, self.target)
                .and_then(|header| header.pack())
                .map_err(|e| e.in_function(&source.name))?
                .to_vec(),
            false => Vec::new(),
        };
        let contents = &mut self.image.sections[section.0];
        let start = contents.align_to(source.code_alignment(), &S_NOP);
        contents.data.extend_from_slice(&header);
        let offset = start + header.len() as u64;
        contents.data.extend_from_slice(&function.code);
        for reloc in &function.relocs {
            self.pending.push(Pending {
                section,
                offset: offset + u64::from(reloc.offset_bytes),
                symbol: reloc.symbol,
                kind: code_reloc(reloc.kind),
                addend: i64::from(reloc.addend),
            });
        }
        // The loader finds kernels by their descriptors; the code's symbol must not be preempted. Without descriptors that is the one to find.
        let protected =
            source.is_kernel() && source.visibility == Visibility::Default && has_descriptors(self.target);
        let visibility = if protected { raw::STV_PROTECTED } else { visibility(source.visibility) };
        let size = (header.len() + function.code.len()) as u64;
        let kind = if header.is_empty() { raw::STT_FUNC } else { raw::SymbolType(STT_HSA_KERNEL) };
        self.define(SymbolRef::Func(func), (section, start), size, kind, visibility)?;
        match &function.kernel {
            Some(kernel) if has_descriptors(self.target) => self.add_descriptor(function, kernel),
            _ => Ok(()),
        }
    }

    fn end_code(&mut self) {
        if !code_end::applies(self.target) {
            return;
        }
        let text = self.section(".text", raw::SHT_PROGBITS, raw::SHF_ALLOC | raw::SHF_EXECINSTR);
        let contents = &mut self.image.sections[text.0];
        contents.align_to(1 << code_end::LINE_LOG2, &code_end::S_CODE_END);
        contents.data.extend_from_slice(&code_end::S_CODE_END.repeat(code_end::WORDS));
    }

    fn add_descriptor(&mut self, function: &FinalFunction, kernel: &crate::Kernel) -> Result<()> {
        let source = &self.module.functions[function.function.source];
        let bytes = kernel.descriptor.pack().map_err(|e| e.in_function(&source.name))?;
        let section = self.section(".rodata", raw::SHT_PROGBITS, raw::SHF_ALLOC);
        let contents = &mut self.image.sections[section.0];
        let offset = contents.align_to(DESCRIPTOR_BYTES as u64, &[0]);
        contents.data.extend_from_slice(&bytes);
        self.pending.push(Pending {
            section,
            offset: offset + ENTRY_OFFSET_BYTES,
            symbol: SymbolRef::Func(function.function.source),
            kind: reloc::REL64,
            addend: ENTRY_OFFSET_BYTES as i64,
        });
        self.image.add_symbol(ElfSymbol {
            name: kernel.metadata.symbol.clone(),
            place: Place::Defined(section, offset),
            size: DESCRIPTOR_BYTES as u64,
            binding: binding(source.linkage),
            kind: raw::STT_OBJECT,
            visibility: visibility(source.visibility),
        });
        Ok(())
    }

    fn add_aliases(&mut self) -> Result<()> {
        for alias in &self.module.aliases {
            let Some(&(section, offset, symbol)) = self.defined.get(&alias.target) else {
                let target = self.module.symbol_name(alias.target);
                return Err(Diagnostic::unsupported(format!(
                    "alias {} of {target}, which this object does not define",
                    alias.name
                )));
            };
            let kind = match alias.target {
                SymbolRef::Func(_) => raw::STT_FUNC,
                SymbolRef::Global(_) => raw::STT_OBJECT,
            };
            // As large as what it stands for.
            let size = symbol.and_then(|id| self.image.symbols.get(id.0)).map_or(0, |symbol| symbol.size);
            self.image.add_symbol(ElfSymbol {
                name: alias.name.clone(),
                place: Place::Defined(section, offset.wrapping_add_signed(alias.offset)),
                size,
                binding: binding(alias.linkage),
                kind,
                visibility: visibility(alias.visibility),
            });
        }
        Ok(())
    }

    /// Turns the relocations collected so far into ELF's, with undefined symbols where nothing defines
    /// theirs.
    fn resolve_pending(&mut self) -> Result<()> {
        for pending in std::mem::take(&mut self.pending) {
            let (symbol, addend) = match self.defined.get(&pending.symbol).copied() {
                // A symbol that no other object sees is its section and an offset, as assemblers write it.
                Some((_, _, Some(symbol))) if self.image.symbols[symbol.0].binding != raw::STB_LOCAL => {
                    (symbol, pending.addend)
                }
                Some((section, offset, _)) => {
                    (self.section_symbol(section), pending.addend.wrapping_add_unsigned(offset))
                }
                None => (self.undefined_symbol(pending.symbol)?, pending.addend),
            };
            let relocation = Relocation { offset: pending.offset, symbol, kind: pending.kind, addend };
            self.image.sections[pending.section.0].relocations.push(relocation);
        }
        for section in &mut self.image.sections {
            section.relocations.sort_by_key(|r| r.offset);
        }
        Ok(())
    }

    fn section_symbol(&mut self, section: SectionId) -> ElfSymbolId {
        let image = &mut self.image;
        *self.section_symbols.entry(section).or_insert_with(|| {
            image.add_symbol(ElfSymbol {
                name: String::new(),
                place: Place::Section(section),
                size: 0,
                binding: raw::STB_LOCAL,
                kind: raw::STT_SECTION,
                visibility: raw::STV_DEFAULT,
            })
        })
    }

    /// Adds the variables in LDS that the linker places, which have no contents. Their value is the alignment.
    fn add_linked_lds(&mut self) {
        let module = self.module;
        for (id, global) in module.globals.iter().filter(|(_, global)| lds::is_linked(global, self.target.os))
        {
            let symbol = self.image.add_symbol(ElfSymbol {
                name: global.name.clone(),
                place: Place::Lds(1 << global.align_log2.min(31)),
                size: global.size_bytes,
                binding: raw::STB_GLOBAL,
                kind: raw::STT_OBJECT,
                visibility: visibility(global.visibility),
            });
            self.undefined.insert(SymbolRef::Global(id), symbol);
        }
    }

    fn undefined_symbol(&mut self, symbol: SymbolRef) -> Result<ElfSymbolId> {
        if let Some(&id) = self.undefined.get(&symbol) {
            return Ok(id);
        }
        let (linkage, visible) = undefined(self.module, symbol)?;
        let name = self.module.symbol_name(symbol).to_owned();
        if matches!(linkage, Linkage::Internal | Linkage::Private) {
            return Err(Diagnostic::defect(format!("local symbol {name} is used and was not emitted")));
        }
        let weak = linkage == Linkage::ExternalWeak;
        let id = self.image.add_symbol(ElfSymbol {
            name,
            place: Place::Undefined,
            size: 0,
            binding: if weak { raw::STB_WEAK } else { raw::STB_GLOBAL },
            kind: raw::STT_NOTYPE,
            visibility: visibility(visible),
        });
        self.undefined.insert(symbol, id);
        Ok(id)
    }

    /// What drivers of other systems read.
    fn add_driver_data(&mut self, functions: &[FinalFunction]) -> Result<()> {
        for function in functions.iter().filter(|_| legacy::has_config(self.target)) {
            let source = &self.module.functions[function.function.source];
            let words =
                legacy::config(function, source, self.target).map_err(|e| e.in_function(&source.name))?;
            let section = self.section(legacy::CONFIG_SECTION, raw::SHT_PROGBITS, raw::SectionFlags(0));
            let bytes = words.into_iter().flat_map(u32::to_le_bytes);
            self.image.sections[section.0].data.extend(bytes);
        }
        let section = self.section(".note", raw::SHT_NOTE, raw::SectionFlags(0));
        let contents = &mut self.image.sections[section.0];
        contents.align_to(4, &[0]);
        let name = legacy::isa_name(self.target)?;
        write_note(&mut contents.data, metadata_v2::NOTE_NAME, metadata_v2::NOTE_ISA_NAME, name.as_bytes());
        if self.target.os == Os::AmdPal {
            let (name, kind, bytes) = match pal::note(self.module, functions, self.target)? {
                pal::Note::Pairs(pairs) => {
                    let words = pairs.into_iter().flat_map(|(key, value)| [key, value]);
                    let bytes = words.flat_map(u32::to_le_bytes).collect();
                    (pal::REGISTERS_NOTE.0, pal::REGISTERS_NOTE.1, bytes)
                }
                pal::Note::Document(document) => {
                    (metadata::NOTE_NAME, metadata::NOTE_TYPE, document.to_msgpack()?)
                }
            };
            write_note(&mut contents.data, name, kind, &bytes);
        }
        Ok(())
    }

    fn add_metadata(&mut self, functions: &[FinalFunction]) -> Result<()> {
        let mut notes = Vec::new();
        if v2::applies(self.target) {
            notes = v2::notes(self.module, functions, self.target)?;
        } else {
            let bytes = module_metadata(self.module, functions, self.target).to_bytes()?;
            write_note(&mut notes, metadata::NOTE_NAME, metadata::NOTE_TYPE, &bytes);
        }
        let section = self.section(".note", raw::SHT_NOTE, raw::SHF_ALLOC);
        let contents = &mut self.image.sections[section.0];
        contents.align_to(4, &[0]);
        contents.data.extend_from_slice(&notes);
        Ok(())
    }

    fn add_resources(&mut self, functions: &[FinalFunction]) -> Result<()> {
        if let Some(bytes) = resources(functions)? {
            let section = self.section(RESOURCES_SECTION, raw::SHT_PROGBITS, raw::SHF_EXCLUDE);
            self.image.sections[section.0].data = bytes;
        }
        Ok(())
    }
}

/// What `functions` take, for the linker; nothing where it has no use for it.
pub(crate) fn resources(functions: &[FinalFunction]) -> Result<Option<Vec<u8>>> {
    let nodes: Option<Vec<Node>> = functions.iter().map(|f| f.node.clone()).collect();
    nodes.filter(|nodes| !nodes.is_empty()).map(|nodes| call_graph::to_bytes(&nodes)).transpose()
}

/// The metadata of the object that holds `functions`.
pub fn module_metadata<'a>(
    module: &Module,
    functions: &'a [FinalFunction],
    target: &Target,
) -> Metadata<&'a KernelMeta> {
    let kernels = functions.iter().filter_map(|f| f.kernel.as_ref().map(|k| &k.metadata)).collect();
    Metadata::of_kernels(module, kernels, target)
}

/// Appends a note record: sizes, type, name with its NUL, description; name and description padded to dwords.
pub(crate) fn write_note(out: &mut Vec<u8>, name: &str, kind: u32, description: &[u8]) {
    let header = [name.len() as u32 + 1, description.len() as u32, kind];
    header.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    out.extend_from_slice(name.as_bytes());
    out.push(0);
    out.resize(out.len().next_multiple_of(4), 0);
    out.extend_from_slice(description);
    out.resize(out.len().next_multiple_of(4), 0);
}

pub(crate) fn code_reloc(kind: RelocKind) -> u32 {
    match kind {
        RelocKind::Rel32Lo => reloc::REL32_LO,
        RelocKind::Rel32Hi => reloc::REL32_HI,
        RelocKind::GotPcRel32Lo => reloc::GOTPCREL32_LO,
        RelocKind::GotPcRel32Hi => reloc::GOTPCREL32_HI,
        RelocKind::Abs32Lo => reloc::ABS32_LO,
        RelocKind::Abs32Hi => reloc::ABS32_HI,
    }
}

/// Linkage and visibility of `symbol`, which this object refers to and does not define.
pub(crate) fn undefined(module: &Module, symbol: SymbolRef) -> Result<(Linkage, Visibility)> {
    match symbol {
        SymbolRef::Func(f) => Ok((module.functions[f].linkage, module.functions[f].visibility)),
        SymbolRef::Global(g) => {
            let global = &module.globals[g];
            if global.space == AddrSpace::LOCAL || global.space == AddrSpace::REGION {
                let message = format!("address of LDS variable {} in memory or code", global.name);
                return Err(Diagnostic::unsupported(message));
            }
            Ok((global.linkage, global.visibility))
        }
    }
}

fn binding(linkage: Linkage) -> raw::SymbolBind {
    match linkage {
        Linkage::External | Linkage::AvailableExternally | Linkage::Appending => raw::STB_GLOBAL,
        Linkage::LinkOnceAny
        | Linkage::LinkOnceOdr
        | Linkage::WeakAny
        | Linkage::WeakOdr
        | Linkage::ExternalWeak
        | Linkage::Common => raw::STB_WEAK,
        Linkage::Internal | Linkage::Private => raw::STB_LOCAL,
    }
}

fn visibility(visibility: Visibility) -> raw::SymbolVisibility {
    match visibility {
        Visibility::Default => raw::STV_DEFAULT,
        Visibility::Hidden => raw::STV_HIDDEN,
        Visibility::Protected => raw::STV_PROTECTED,
    }
}

#[cfg(test)]
mod tests;
