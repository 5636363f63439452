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
/// later versions tell "on", "off" and "either" from each other. Source: usage guide, "Header" and
/// `EF_AMDGPU_*` tables.
pub fn elf_flags(target: &Target) -> u32 {
    let mut flags = target.processor.elf_mach | u32::from(target.processor.generic_version) << 24;
    let v4 = target.os == Os::AmdHsa && target.code_object_version >= 4;
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
mod tests {
    use super::*;
    use mir::abi::KernelDescriptor;
    use mir::ir::{self, CallConv, GlobalData, Initializer, InitializerRelocation, Type};
    use mir::machine::{self, EntryValue, Resources};
    use object::{Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget};
    use std::process::Command;

    fn target(version: u8) -> Target {
        let processor = Target::processor_by_name("gfx900").expect("gfx900 is in the table");
        Target { code_object_version: version, ..Target::new(processor) }
    }

    fn global(name: &str, is_constant: bool, size: u64, init: Option<Initializer>) -> GlobalData {
        GlobalData {
            name: name.into(),
            linkage: Linkage::External,
            visibility: Visibility::Default,
            space: AddrSpace::GLOBAL,
            size_bytes: size,
            align_log2: 3,
            is_constant,
            section: String::new(),
            init,
        }
    }

    fn bytes(bytes: &[u8]) -> Option<Initializer> {
        Some(Initializer { bytes: bytes.to_vec(), relocations: Vec::new() })
    }

    /// Variables of every kind, and a kernel `k(ptr addrspace(1) p, i32 v)` that refers to an external one.
    fn sample(version: u8) -> (Module, FinalFunction) {
        let target = target(version);
        let mut module = Module::default();
        let g = module.globals.push(global("g", false, 4, bytes(&[5, 0, 0, 0])));
        module.globals.push(global("z", false, 64, bytes(&[])));
        let private = module
            .globals
            .push(GlobalData { linkage: Linkage::Private, ..global("hidden_one", true, 8, bytes(&[7])) });
        let relocation = |offset_bytes, symbol, addend| InitializerRelocation {
            offset_bytes,
            width_bytes: 8,
            symbol: SymbolRef::Global(symbol),
            addend,
        };
        module.globals.push(global(
            "c",
            true,
            16,
            Some(Initializer {
                bytes: vec![0; 16],
                relocations: vec![relocation(0, g, 0), relocation(8, private, 2)],
            }),
        ));
        let external = module.globals.push(global("e", false, 4, None));
        module.globals.push(GlobalData { space: AddrSpace::LOCAL, ..global("lds", false, 128, bytes(&[])) });

        let mut source = ir::Function::new("k", CallConv::Kernel, Type::Void);
        source.add_param(Type::ptr(AddrSpace::GLOBAL), "p");
        source.add_param(Type::I32, "v");
        let func = module.functions.push(source);
        let source = &module.functions[func];
        let mut kernel = machine::Function::new("k", CallConv::Kernel, func);
        kernel.entry.request(EntryValue::KernargSegmentPtr, None);
        kernel.entry.request(EntryValue::WorkitemIdX, None);
        kernel.kernarg = mir::abi::kernarg::layout(&module, source, &target);
        kernel.resources = Resources { sgprs: 6, vgprs: 2, ..Resources::default() };
        let descriptor = KernelDescriptor::for_kernel(&kernel, source, &target).expect("fits");
        let metadata = Metadata::new(&module, [(&kernel, source)], &target).kernels.remove(0);
        let reloc = |offset_bytes, addend, kind| crate::CodeReloc {
            offset_bytes,
            symbol: SymbolRef::Global(external),
            addend,
            kind,
        };
        let function = FinalFunction {
            // s_getpc_b64 s[0:1]; s_add_u32 s0, s0, lit; s_addc_u32 s1, s1, lit; s_endpgm
            code: [0xbe80_1c00u32, 0x8000_ff00, 0, 0x8201_ff01, 0, 0xbf81_0000]
                .iter()
                .flat_map(|word| word.to_le_bytes())
                .collect(),
            relocs: vec![reloc(8, 4, RelocKind::GotPcRel32Lo), reloc(16, 12, RelocKind::GotPcRel32Hi)],
            positions: Vec::new(),
            kernel: Some(crate::Kernel { descriptor, metadata }),
            node: None,
            function: kernel,
        };
        (module, function)
    }

    #[test]
    fn object_reads_back() {
        let (module, function) = sample(3);
        let second = {
            let mut other = function.clone();
            other.code.truncate(4);
            other.relocs.clear();
            other
        };
        let mut module = module;
        let func = module.functions.push(ir::Function::new("k2", CallConv::Kernel, Type::Void));
        let mut second = second;
        second.function.source = func;
        second.function.name = "k2".into();
        if let Some(kernel) = &mut second.kernel {
            kernel.metadata.symbol = "k2.kd".into();
        }
        let bytes = write(&module, &[function.clone(), second], &target(3)).expect("emits");
        let file = object::File::parse(&*bytes).expect("an ELF file");
        assert_eq!(
            file.flags(),
            object::FileFlags::Elf { os_abi: raw::OsAbi(64), abi_version: 1, e_flags: raw::FileFlags(0x2c) }
        );
        let symbol = |name: &str| file.symbols().find(|s| s.name() == Ok(name)).expect("a symbol");
        assert_eq!((symbol("k").address(), symbol("k").size()), (0, 24));
        assert_eq!((symbol("k2").address(), symbol("k2.kd").address()), (256, 64));
        assert!(symbol("e").is_undefined() && symbol("e").is_global());
        assert!(file.symbols().all(|s| !matches!(s.name(), Ok("lds" | "hidden_one"))));
        let text = file.section_by_name(".text").expect(".text").data().expect("data");
        assert_eq!(text.len(), 260);
        assert!(text[24..256].chunks(4).all(|word| word == S_NOP));
        let relocations = |name: &str| -> Vec<(u64, u32, i64)> {
            let section = file.section_by_name(name).expect("a section");
            section
                .relocations()
                .map(|(offset, r)| match (r.flags(), r.target()) {
                    (RelocationFlags::Elf { r_type }, RelocationTarget::Symbol(_)) => {
                        (offset, r_type.0, r.addend())
                    }
                    other => panic!("{other:?}"),
                })
                .collect()
        };
        assert_eq!(relocations(".text"), [(8, 8, 4), (16, 9, 12)]);
        assert_eq!(relocations(".rodata"), [(16, 5, 16), (80, 5, 16)]);
        assert_eq!(relocations(".data.rel.ro"), [(0, 3, 0), (8, 3, 128 + 2)]);
        assert_eq!(file.section_by_name(".bss").expect(".bss").size(), 64);
        assert_eq!(file.section_by_name(".data").expect(".data").data(), Ok(&[5u8, 0, 0, 0][..]));
    }

    #[test]
    fn code_of_gfx10_ends_with_lines_of_its_own() {
        let (module, function) = sample(6);
        let gfx1030 = Target::processor_by_name("gfx1030").expect("a processor of the table");
        let text = |os| {
            let target = Target { os, code_object_version: 6, ..Target::new(gfx1030) };
            let bytes = write(&module, std::slice::from_ref(&function), &target).expect("emits");
            let file = object::File::parse(&*bytes).expect("an object");
            file.section_by_name(".text").expect(".text").data().expect("data").to_vec()
        };
        // Elsewhere the driver ends it.
        let (code, alone) = (text(Os::AmdHsa), text(Os::Unknown));
        assert_eq!(code.len(), alone.len().next_multiple_of(64) + 3 * 64);
        assert!(code[alone.len()..].chunks(4).all(|word| word == code_end::S_CODE_END));
    }

    #[test]
    fn elf_flags_state_features() {
        let flags = |name: &str, version| {
            let processor = Target::processor_by_name(name).expect("a processor of the table");
            elf_flags(&Target { code_object_version: version, ..Target::new(processor) })
        };
        assert_eq!((flags("gfx900", 3), flags("gfx902", 3), flags("gfx700", 4)), (0x2c, 0x12d, 0x22));
        assert_eq!((flags("gfx900", 4), flags("gfx902", 4), flags("gfx906", 5)), (0x22c, 0x32d, 0xe2f));
    }

    /// Runs an LLVM tool; `None` where it is not installed.
    fn run(tool: &str, args: &[&str]) -> Option<(bool, String)> {
        let output = Command::new(tool).args(args).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        Some((output.status.success(), text.into_owned()))
    }

    #[test]
    fn llvm_reads_and_links_it() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
        for version in [3, 4, 5, 6] {
            let (module, function) = sample(version);
            let bytes = write(&module, &[function], &target(version)).expect("emits");
            std::fs::write(path("a.o"), bytes).expect("writable");
            let args = ["--notes", "-h", "-S", "-r", "-s", &path("a.o")];
            let Some((ok, text)) = run("llvm-readobj-22", &args) else { return };
            assert!(ok && !text.contains("warning") && !text.contains("Invalid"), "{text}");
            assert!(
                text.contains(".symbol:         k.kd") && text.contains("R_AMDGPU_GOTPCREL32_LO e 0x4"),
                "{text}"
            );
            let Some((ok, text)) = run("ld.lld-22", &["-shared", "-o", &path("a.so"), &path("a.o")]) else {
                return;
            };
            assert!(ok && text.is_empty(), "{text}");
        }
    }

    /// The note of a simple kernel has the bytes that llc 16 writes.
    #[test]
    fn v3_note_equals_llc() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
        let source = "target triple = \"amdgcn-amd-amdhsa\"\n\
            @e = external addrspace(1) global i32\n\
            define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %v) {\n\
            %x = load i32, ptr addrspace(1) @e\n store i32 %x, ptr addrspace(1) %p\n ret void\n}\n";
        std::fs::write(path("a.ll"), source).expect("writable");
        let (out, input) = (path("a.o"), path("a.ll"));
        let args = [
            "-mcpu=gfx900",
            "-mattr=-xnack",
            "--amdhsa-code-object-version=3",
            "-filetype=obj",
            "-o",
            &out,
            &input,
        ];
        let Some((ok, text)) = run("llc-16", &args) else { return };
        assert!(ok, "{text}");
        let llc = std::fs::read(&out).expect("an object");
        let (module, mut function) = sample(3);
        // llc counts what it uses itself; the numbers are not what is compared here.
        let theirs = object::File::parse(&*llc).expect("an ELF file");
        let note = |file: &object::File<'_>| {
            file.section_by_name(".note").expect("a note").data().expect("data").to_vec()
        };
        let their_note = note(&theirs);
        let their_metadata = Metadata::from_bytes(&their_note[20..]).expect("readable");
        if let Some(kernel) = &mut function.kernel {
            kernel.metadata.sgpr_count = their_metadata.kernels[0].sgpr_count;
            kernel.metadata.vgpr_count = their_metadata.kernels[0].vgpr_count;
        }
        let bytes = write(&module, &[function], &target(3)).expect("emits");
        let ours = object::File::parse(&*bytes).expect("an ELF file");
        assert_eq!(note(&ours), their_note);
    }
}
