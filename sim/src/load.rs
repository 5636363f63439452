//! Loads a code object: lays out its segments, applies relocations, finds kernels.
//!
//! Shared objects (`ET_DYN`) are laid out by their program headers. Relocatable objects (`ET_REL`) are linked here: the
//! allocated sections one after the other, with a table of addresses (GOT) behind them. Either way the result is one image
//! with addresses relative to its start; what depends on the load address is listed and patched when the image is mapped.
//! Bad bytes give an error, never a panic.

use crate::lines::Lines;
use crate::relocation::{self, addend};
use crate::report::{Kind, Report, Result};
use mir::abi::kernel_code::STT_HSA_KERNEL;
use mir::abi::metadata::{KernelMeta, Metadata};
use mir::abi::{KernelCode, KernelDescriptor, metadata_v2};
use mir::target::{PROCESSORS, Processor, Target};
use object::elf;
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{
    Endianness, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionFlags,
};
use rustc_hash::FxHashMap;

/// Largest image that is accepted.
const IMAGE_MAX: u64 = 1 << 27;
const NT_AMDGPU_METADATA: u32 = 32;
/// `ELFOSABI_AMDGPU_PAL`.
const OSABI_PAL: u8 = 65;
/// `ELFOSABI_AMDGPU_MESA3D`.
const OSABI_MESA3D: u8 = 66;
/// Symbol section index of LDS variables that the linker places (`SHN_AMDGPU_LDS`).
const SHN_AMDGPU_LDS: u16 = 0xff00;

/// Where `amd_kernel_code_t` has the size of LDS, in bytes from its start; descriptors have it first. Source: AMDGPU usage guide.
const HEADER_LDS: u64 = 64;

/// A kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Name, without `.kd`.
    pub name: String,
    /// Offset of the descriptor in the image.
    pub descriptor_offset: u64,
    /// Offset of the entry in the image.
    pub entry: u64,
    /// The descriptor.
    pub descriptor: KernelDescriptor,
    /// Bytes of an element of scratch; headers say it, and with descriptors it is a dword.
    pub private_element_bytes: u32,
    /// Its metadata, where the object has any.
    pub metadata: Option<KernelMeta>,
}

/// How a place in the image depends on the load address.
#[derive(Clone, Copy, Debug)]
enum Patch {
    Abs64(i64),
    Abs32Lo(i64),
    Abs32Hi(i64),
}

/// A loaded code object.
#[derive(Clone, Debug)]
pub struct CodeObject {
    image: Vec<u8>,
    patches: Vec<(u64, Patch)>,
    kernels: Vec<Kernel>,
    symbols: FxHashMap<String, u64>,
    sizes: FxHashMap<String, u64>,
    /// Entries of the table of addresses that linking made, by what they point to.
    got: FxHashMap<u64, u64>,
    /// The end of the LDS variables that linking placed; 0 without any.
    lds_end: u64,
    /// Undefined symbols by their offset, where they are allowed.
    externals: Option<FxHashMap<u64, String>>,
    /// Kernels of version 2: name and offset of the header.
    legacy: Vec<(String, u64)>,
    writable: bool,
    code: Vec<(u64, u64)>,
    /// Formats of `printf`, as in the metadata.
    printf: Vec<String>,
    /// For Mesa's loader.
    is_mesa: bool,
    processor: Option<&'static Processor>,
    version: u8,
    lines: Lines,
}

/// Where undefined symbols start, relative to the image.
const EXTERNALS: u64 = 0x2000_0000_0000;

/// Where shaders of systems whose driver defines the symbols [`mir::abi::shader::SCRATCH_SYMBOLS`] have their scratch when loaded with [`CodeObject::load_open`].
pub const OPEN_SCRATCH: u64 = 0x6900_0000_0000;

/// The value of a symbol that a driver defines: a dword of the scratch resource, which is swizzled.
fn driver_symbol(name: &str) -> Option<u32> {
    let words = [OPEN_SCRATCH as u32, (OPEN_SCRATCH >> 32) as u32 | 1 << 31];
    let at = mir::abi::shader::SCRATCH_SYMBOLS.iter().position(|symbol| *symbol == name)?;
    words.get(at).copied()
}

/// The offset of an undefined symbol: far outside of the image, 64 KB apart.
pub fn external_offset(name: &str) -> u64 {
    EXTERNALS + (crate::memory::digest(name.as_bytes()) >> 8 & 0xffff) * 0x1_0000
}

fn bad(message: impl Into<String>) -> Box<Report> {
    Report::new(Kind::BadObject, message)
}

impl CodeObject {
    /// Loads an ELF file.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        Self::load_with(bytes, false)
    }

    /// Loads a relocatable ELF file in which symbols may be undefined. Each gets an offset outside the image that depends on its name alone
    /// ([`Self::external_name`]).
    pub fn load_open(bytes: &[u8]) -> Result<Self> {
        Self::load_with(bytes, true)
    }

    fn load_with(bytes: &[u8], externals: bool) -> Result<Self> {
        let elf =
            ElfFile64::<Endianness>::parse(bytes).map_err(|e| bad(format!("not an ELF64 file: {e}")))?;
        let header = elf.elf_header();
        let endian = elf.endian();
        if header.e_machine(endian) != elf::EM_AMDGPU {
            return Err(bad(format!("ELF machine {} is not AMDGPU", header.e_machine(endian))));
        }
        let flags = header.e_flags(endian);
        let mach = flags.0 & 0xff;
        // 0 is version 2, and what other systems than HSA use; 1 to 4 are 3 to 6.
        let version = match header.e_ident().abi_version {
            abi @ 0..=4 => abi + 2,
            abi => return Err(bad(format!("ELF ABI version {abi} is not known"))),
        };
        let mut object = Self {
            image: Vec::new(),
            patches: Vec::new(),
            kernels: Vec::new(),
            symbols: FxHashMap::default(),
            sizes: FxHashMap::default(),
            got: FxHashMap::default(),
            lds_end: 0,
            externals: externals.then(FxHashMap::default),
            legacy: Vec::new(),
            writable: false,
            code: Vec::new(),
            printf: Vec::new(),
            is_mesa: header.e_ident().os_abi.0 == OSABI_MESA3D,
            processor: PROCESSORS.iter().find(|p| p.elf_mach == mach),
            version,
            lines: Lines::default(),
        };
        match header.e_type(endian) {
            elf::ET_DYN | elf::ET_EXEC => {
                object.layout_segments(&elf)?;
                object.lines = Lines::read(&elf, &FxHashMap::default());
            }
            elf::ET_REL => object.link_sections(&elf)?,
            other => return Err(bad(format!("ELF type {other} is neither relocatable nor shared"))),
        }
        let mut metadata = Self::metadata(&elf)?;
        object.printf =
            metadata.as_mut().map(|metadata| std::mem::take(&mut metadata.printf)).unwrap_or_default();
        object.find_kernels(metadata)?;
        Ok(object)
    }

    /// Whether kernels are for Mesa's loader.
    pub fn is_mesa(&self) -> bool {
        self.is_mesa
    }

    /// Formats of `printf`, as the metadata has them.
    pub fn printf_formats(&self) -> &[String] {
        &self.printf
    }

    /// A code object of one kernel whose code is `words`: for tests and benches of single instructions.
    pub fn from_code(
        processor: &'static Processor,
        name: &str,
        words: &[u32],
        mut descriptor: KernelDescriptor,
    ) -> Self {
        const ENTRY: u64 = 256;
        descriptor.kernel_code_entry_byte_offset = ENTRY as i64;
        let mut image = descriptor.pack().unwrap_or([0; 64]).to_vec();
        image.resize(ENTRY as usize, 0);
        image.extend(words.iter().flat_map(|w| w.to_le_bytes()));
        let end = image.len() as u64;
        let kernel = Kernel {
            name: name.to_owned(),
            descriptor_offset: 0,
            entry: ENTRY,
            descriptor,
            private_element_bytes: 4,
            metadata: None,
        };
        Self {
            image,
            patches: Vec::new(),
            kernels: vec![kernel],
            symbols: FxHashMap::default(),
            sizes: FxHashMap::default(),
            got: FxHashMap::default(),
            lds_end: 0,
            externals: None,
            legacy: Vec::new(),
            writable: false,
            code: vec![(ENTRY, end)],
            printf: Vec::new(),
            is_mesa: false,
            processor: Some(processor),
            version: 3,
            lines: Lines::default(),
        }
    }

    fn layout_segments(&mut self, elf: &ElfFile64<'_>) -> Result<()> {
        let endian = elf.endian();
        let loads: Vec<_> =
            elf.elf_program_headers().iter().filter(|p| p.p_type(endian) == elf::PT_LOAD).collect();
        let mut end = 0u64;
        for p in &loads {
            let top = p.p_vaddr(endian).checked_add(p.p_memsz(endian)).filter(|&t| t <= IMAGE_MAX);
            end = end.max(top.ok_or_else(|| bad("segment addresses overflow"))?);
        }
        self.image = vec![0; end as usize];
        for p in loads {
            let data = p.data(endian, elf.data()).map_err(|()| bad("segment outside the file"))?;
            let at = p.p_vaddr(endian) as usize;
            let len = data.len().min(p.p_memsz(endian) as usize);
            self.image[at..at + len].copy_from_slice(&data[..len]);
            self.writable |= p.p_flags(endian).contains(elf::PF_W);
            if p.p_flags(endian).contains(elf::PF_X) {
                self.code.push((at as u64, at as u64 + p.p_memsz(endian)));
            }
        }
        for symbol in elf.dynamic_symbols().chain(elf.symbols()) {
            if !symbol.is_undefined()
                && let Ok(name) = symbol.name()
                && !name.is_empty()
            {
                self.add_symbol(&symbol, name, symbol.address());
            }
        }
        let table = elf.dynamic_symbol_table();
        for (place, reloc) in elf.dynamic_relocations().into_iter().flatten() {
            let base = match reloc.target() {
                RelocationTarget::Symbol(index) => {
                    let symbol = table.as_ref().and_then(|t| {
                        use object::ObjectSymbolTable;
                        t.symbol_by_index(index).ok()
                    });
                    let symbol = symbol.ok_or_else(|| bad("relocation against a missing symbol"))?;
                    if symbol.is_undefined() {
                        return Err(bad(format!("undefined symbol {}", symbol.name().unwrap_or("?"))));
                    }
                    symbol.address() as i64
                }
                _ => 0,
            };
            let value = base.wrapping_add(addend(&self.image, place, &reloc));
            let RelocationFlags::Elf { r_type } = reloc.flags() else {
                return Err(bad("relocation of an unknown format"));
            };
            self.relocate(place, r_type.0, value, None)?;
        }
        Ok(())
    }

    fn link_sections(&mut self, elf: &ElfFile64<'_>) -> Result<()> {
        let mut address = FxHashMap::default();
        let mut end = 0u64;
        for section in elf.sections() {
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
            if !sh_flags.contains(elf::SHF_ALLOC) || section.size() == 0 {
                continue;
            }
            let align = section.align().clamp(1, 65536).next_power_of_two();
            end = (end + align - 1) & !(align - 1);
            address.insert(section.index(), end);
            if sh_flags.contains(elf::SHF_WRITE) {
                self.writable = true;
            }
            let data = section.data().map_err(|e| bad(format!("section data: {e}")))?;
            let top = end.checked_add(section.size()).filter(|&t| t <= IMAGE_MAX);
            let top = top.ok_or_else(|| bad("sections are too large"))?;
            if data.len() as u64 > section.size() {
                return Err(bad("a section has more data than its size"));
            }
            if sh_flags.contains(elf::SHF_EXECINSTR) {
                self.code.push((end, top));
            }
            self.image.resize(top as usize, 0);
            self.image[end as usize..end as usize + data.len()].copy_from_slice(data);
            end = top;
        }
        self.lines = Lines::read(elf, &address);
        let mut variables = Vec::new();
        for symbol in elf.symbols() {
            let Ok(name) = symbol.name() else { continue };
            if name.is_empty() {
                continue;
            }
            if let object::SymbolFlags::Elf { .. } = symbol.flags()
                && elf_shndx(elf, &symbol) == SHN_AMDGPU_LDS
            {
                let align = symbol.address().clamp(1, 65536).next_power_of_two();
                variables.push((symbol.size() == 0, std::cmp::Reverse(align), symbol.index(), symbol.size()));
                continue;
            }
            if let Some(base) = symbol.section_index().and_then(|i| address.get(&i)) {
                self.add_symbol(&symbol, name, base.wrapping_add(symbol.address()));
            }
        }
        self.image.resize(((end + 7) & !7) as usize, 0);
        // Variables that the linker places come behind those that kernels have of their own, dynamic memory last.
        variables.sort_by_key(|&(dynamic, align, index, _)| (dynamic, align, index.0));
        let mut lds = FxHashMap::default();
        if !variables.is_empty() {
            self.lds_end = self.own_lds();
        }
        for (_, std::cmp::Reverse(align), index, size) in variables {
            let at = self.lds_end.saturating_add(align - 1) & !(align - 1);
            lds.insert(index, at);
            self.lds_end = at.saturating_add(size);
        }
        for section in elf.sections() {
            let Some(&base) = address.get(&section.index()) else { continue };
            for (offset, reloc) in section.relocations() {
                let RelocationFlags::Elf { r_type } = reloc.flags() else {
                    return Err(bad("relocation of an unknown format"));
                };
                let RelocationTarget::Symbol(index) = reloc.target() else {
                    return Err(bad("relocation without a symbol"));
                };
                let symbol =
                    elf.symbol_by_index(index).map_err(|_| bad("relocation against a missing symbol"))?;
                let place = base.wrapping_add(offset);
                let addend = addend(&self.image, place, &reloc);
                if let Some(&at) = lds.get(&index) {
                    self.patch_u32(place, at.wrapping_add(addend as u64) as u32)?;
                    continue;
                }
                let target = match (symbol.section_index().and_then(|i| address.get(&i)), &mut self.externals)
                {
                    (Some(target), _) => target.wrapping_add(symbol.address()),
                    (None, Some(externals)) => {
                        let name = symbol.name().unwrap_or("?");
                        if let Some(word) = driver_symbol(name) {
                            self.patch_u32(place, word)?;
                            continue;
                        }
                        let at = external_offset(name);
                        externals.insert(at, name.to_owned());
                        at
                    }
                    (None, None) => {
                        return Err(bad(format!("undefined symbol {}", symbol.name().unwrap_or("?"))));
                    }
                };
                let entry = if matches!(r_type.0, relocation::GOTPCREL..=relocation::GOTPCREL32_HI) {
                    let next = self.image.len() as u64;
                    let at = *self.got.entry(target).or_insert(next);
                    if at == next {
                        self.image.resize(next as usize + 8, 0);
                        self.patches.push((at, Patch::Abs64(target as i64)));
                    }
                    Some(at)
                } else {
                    None
                };
                self.relocate(
                    place,
                    r_type.0,
                    (target as i64).wrapping_add(addend),
                    entry.map(|e| (e as i64).wrapping_add(addend)),
                )?;
            }
        }
        Ok(())
    }

    /// The end of what kernels have in LDS of their own.
    fn own_lds(&self) -> u64 {
        let descriptors = self.symbols.iter().filter(|(name, _)| name.ends_with(".kd"));
        let fields = descriptors.map(|(_, &at)| at);
        let fields = fields.chain(self.legacy.iter().map(|&(_, at)| at.saturating_add(HEADER_LDS)));
        let bytes = fields.filter_map(|at| {
            let slot = self.image.get(usize::try_from(at).ok()?..)?.first_chunk()?;
            Some(u64::from(u32::from_le_bytes(*slot)))
        });
        bytes.max().unwrap_or(0)
    }

    fn add_symbol<'data>(&mut self, symbol: &object::read::elf::ElfSymbol64<'data, '_>, name: &str, at: u64) {
        if symbol.elf_symbol().st_type().0 == STT_HSA_KERNEL && !self.symbols.contains_key(name) {
            self.legacy.push((name.to_owned(), at));
        }
        self.symbols.insert(name.to_owned(), at);
        self.sizes.insert(name.to_owned(), symbol.size());
    }

    fn patch_u32(&mut self, place: u64, value: u32) -> Result<()> {
        let slot = usize::try_from(place).ok().and_then(|at| self.image.get_mut(at..at.checked_add(4)?));
        slot.ok_or_else(|| bad(format!("relocation at 0x{place:x} outside the image")))?
            .copy_from_slice(&value.to_le_bytes());
        Ok(())
    }

    /// Applies one relocation; `value` is symbol plus addend relative to the image, `got` the GOT entry plus addend.
    fn relocate(&mut self, place: u64, r_type: u32, value: i64, got: Option<i64>) -> Result<()> {
        let rel = value.wrapping_sub(place as i64);
        let got_rel = got.unwrap_or(value).wrapping_sub(place as i64);
        match r_type {
            relocation::NONE => Ok(()),
            relocation::ABS32_LO | relocation::ABS32 => {
                self.patches.push((place, Patch::Abs32Lo(value)));
                Ok(())
            }
            relocation::ABS32_HI => {
                self.patches.push((place, Patch::Abs32Hi(value)));
                Ok(())
            }
            relocation::ABS64 | relocation::RELATIVE64 => {
                self.patches.push((place, Patch::Abs64(value)));
                Ok(())
            }
            relocation::REL32 | relocation::REL32_LO => self.patch_u32(place, rel as u32),
            relocation::REL64 => {
                self.patch_u32(place, rel as u32)?;
                self.patch_u32(place + 4, (rel >> 32) as u32)
            }
            relocation::GOTPCREL | relocation::GOTPCREL32_LO => self.patch_u32(place, got_rel as u32),
            relocation::GOTPCREL32_HI => self.patch_u32(place, (got_rel >> 32) as u32),
            relocation::REL32_HI => self.patch_u32(place, (rel >> 32) as u32),
            relocation::REL16 => {
                let imm = (rel.wrapping_sub(4) / 4) as i16;
                let slot =
                    usize::try_from(place).ok().and_then(|at| self.image.get_mut(at..at.checked_add(2)?));
                slot.ok_or_else(|| bad("relocation outside the image"))?.copy_from_slice(&imm.to_le_bytes());
                Ok(())
            }
            other => Err(bad(format!("relocation type {other}"))),
        }
    }

    fn metadata(elf: &ElfFile64<'_>) -> Result<Option<Metadata>> {
        let endian = elf.endian();
        let header = elf.elf_header();
        let from_segments =
            elf.elf_program_headers().iter().filter_map(|p| p.notes(endian, elf.data()).ok().flatten());
        let sections =
            header.sections(endian, elf.data()).map_err(|e| bad(format!("section headers: {e}")))?;
        use object::read::elf::SectionHeader;
        let from_sections = sections.iter().filter_map(|s| s.notes(endian, elf.data()).ok().flatten());
        for mut notes in from_segments.chain(from_sections) {
            while let Ok(Some(note)) = notes.next() {
                let kind = note.n_type(endian).0;
                if kind == metadata_v2::NOTE_METADATA && note.name() == metadata_v2::NOTE_NAME.as_bytes() {
                    return metadata_v2::parse(&String::from_utf8_lossy(note.desc()))
                        .map(Some)
                        .map_err(|error| bad(error.to_string()));
                }
                // Pipelines of PAL have notes of this type, too, which say nothing about kernels.
                let is_pal = header.e_ident().os_abi.0 == OSABI_PAL;
                if kind == NT_AMDGPU_METADATA && note.name() == b"AMDGPU" && !is_pal {
                    return Metadata::from_bytes(note.desc())
                        .map(Some)
                        .map_err(|error| bad(error.to_string()));
                }
            }
        }
        Ok(None)
    }

    fn find_kernels(&mut self, metadata: Option<Metadata>) -> Result<()> {
        let metadata = metadata.unwrap_or_default();
        let mut names: Vec<(String, u64)> = self
            .symbols
            .iter()
            .filter_map(|(name, &at)| Some((name.strip_suffix(".kd")?.to_owned(), at)))
            .collect();
        names.sort();
        for (name, at) in names {
            let bytes = usize::try_from(at)
                .ok()
                .and_then(|at| self.image.get(at..at.checked_add(64)?))
                .and_then(|b| b.first_chunk::<64>())
                .ok_or_else(|| bad(format!("descriptor of {name} outside the image")))?;
            let unpacked = match self.processor {
                Some(processor) => KernelDescriptor::unpack_for(bytes, &Target::new(processor)),
                None => KernelDescriptor::unpack(bytes),
            };
            let mut descriptor = unpacked.map_err(|e| bad(format!("{name}: {e}")))?;
            self.grow_lds(&mut descriptor);
            let entry = at.wrapping_add(descriptor.kernel_code_entry_byte_offset as u64);
            let meta = metadata.kernel(&format!("{name}.kd")).or_else(|| metadata.kernel(&name)).cloned();
            self.kernels.push(Kernel {
                name,
                descriptor_offset: at,
                entry,
                descriptor,
                private_element_bytes: 4,
                metadata: meta,
            });
        }
        let mut legacy = std::mem::take(&mut self.legacy);
        legacy.sort();
        for (name, at) in legacy {
            let header = usize::try_from(at).ok().and_then(|at| self.image.get(at..)?.first_chunk());
            let header = header.ok_or_else(|| bad(format!("header of {name} outside the image")))?;
            let read = KernelCode::unpack(header)
                .and_then(|code| Ok((code.private_element_size, code.descriptor()?)));
            let (element, mut descriptor) = read.map_err(|e| bad(format!("{name}: {e}")))?;
            self.grow_lds(&mut descriptor);
            let entry = at.wrapping_add(descriptor.kernel_code_entry_byte_offset as u64);
            let meta =
                metadata.kernel(&metadata_v2::symbol_name(&name)).or_else(|| metadata.kernel(&name)).cloned();
            self.kernels.push(Kernel {
                name,
                descriptor_offset: at,
                entry,
                descriptor,
                private_element_bytes: 2 << (element & 3),
                metadata: meta,
            });
        }
        Ok(())
    }

    fn grow_lds(&self, descriptor: &mut KernelDescriptor) {
        let placed = u32::try_from(self.lds_end).unwrap_or(u32::MAX);
        descriptor.group_segment_fixed_size = descriptor.group_segment_fixed_size.max(placed);
    }

    /// The kernels, by name.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// The kernel `name`.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|k| k.name == name)
    }

    /// Offset of a symbol in the image.
    pub fn symbol(&self, name: &str) -> Option<u64> {
        self.symbols.get(name).copied()
    }

    /// Offset of the entry for `offset` in the table of addresses (GOT). Only relocatable objects, which are linked here, have one that is known.
    pub fn got_entry(&self, offset: u64) -> Option<u64> {
        self.got.get(&offset).copied()
    }

    /// Size of a symbol in bytes.
    pub fn symbol_size(&self, name: &str) -> Option<u64> {
        self.sizes.get(name).copied()
    }

    /// The undefined symbol that has this offset.
    pub fn external_name(&self, offset: u64) -> Option<&str> {
        self.externals.as_ref()?.get(&offset).map(String::as_str)
    }

    /// Whether an undefined symbol has this offset.
    pub fn is_external(&self, offset: u64) -> bool {
        offset >= EXTERNALS && self.external_name(offset).is_some()
    }

    /// The processor of the ELF header's flags.
    pub fn processor(&self) -> Option<&'static Processor> {
        self.processor
    }

    /// Code object version, 2 to 6.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// Whether the image has writable parts.
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// Ranges of executable bytes in the image.
    pub fn code_ranges(&self) -> &[(u64, u64)] {
        &self.code
    }

    /// Source file and line of the code at an offset in the image.
    pub fn source_line(&self, offset: u64) -> Option<String> {
        self.lines.at(offset)
    }

    /// The image as loaded at `base`.
    pub fn image_at(&self, base: u64) -> Result<Vec<u8>> {
        let mut copy = self.image.clone();
        for &(place, patch) in &self.patches {
            let at = usize::try_from(place).map_err(|_| bad("relocation outside the image"))?;
            let (bytes, len) = match patch {
                Patch::Abs64(v) => (base.wrapping_add(v as u64), 8),
                Patch::Abs32Lo(v) => (base.wrapping_add(v as u64), 4),
                Patch::Abs32Hi(v) => (base.wrapping_add(v as u64) >> 32, 4),
            };
            let slot = copy.get_mut(at..at + len).ok_or_else(|| bad("relocation outside the image"))?;
            slot.copy_from_slice(&bytes.to_le_bytes()[..len]);
        }
        Ok(copy)
    }
}

/// The raw section index of a symbol.
fn elf_shndx<'data>(elf: &ElfFile64<'data>, symbol: &object::read::elf::ElfSymbol64<'data, '_>) -> u16 {
    use object::read::elf::Sym;
    symbol.elf_symbol().st_shndx(elf.endian()).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_bytes_are_refused() {
        assert_eq!(CodeObject::load(b"").unwrap_err().kind, Kind::BadObject);
        assert_eq!(CodeObject::load(&[0x7f; 300]).unwrap_err().kind, Kind::BadObject);
        let mut header = vec![0u8; 64];
        header[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1]);
        header[6] = 1;
        header[18] = 62;
        assert!(CodeObject::load(&header).unwrap_err().message.contains("machine"));
        header[18] = 224;
        for abi in [5, 254, 255] {
            header[8] = abi;
            assert!(CodeObject::load(&header).unwrap_err().message.contains("ABI version"), "{abi}");
        }
    }
}
