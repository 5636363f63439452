//! Code objects: header, tables, notes, kernels.

use super::MAX_ITEMS;
use super::records::{
    CodeObject, DescriptorField, Kernel, Note, NoteContents, Register, Relocation, Report, Section, Segment,
    Symbol, Target,
};
use crate::object::flags::Identity;
use crate::object::{legacy, notes, pal, reloc};
use mir::abi::descriptor::DESCRIPTOR_BYTES;
use mir::abi::kernel_code::{HEADER_BYTES, STT_HSA_KERNEL};
use mir::abi::{Document, KernelCode, KernelDescriptor, metadata, metadata_v2 as v2};
use mir::target::{Features, Os, SGPR_BLOCK, WaveSize};
use object::read::elf::{ElfFile64, ProgramHeader as _, Sym as _};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, elf};

/// Names of sections' types.
const SECTION_TYPES: [(elf::SectionType, &str); 17] = [
    (elf::SHT_NULL, "null"),
    (elf::SHT_PROGBITS, "progbits"),
    (elf::SHT_SYMTAB, "symtab"),
    (elf::SHT_STRTAB, "strtab"),
    (elf::SHT_RELA, "rela"),
    (elf::SHT_HASH, "hash"),
    (elf::SHT_DYNAMIC, "dynamic"),
    (elf::SHT_NOTE, "note"),
    (elf::SHT_NOBITS, "nobits"),
    (elf::SHT_REL, "rel"),
    (elf::SHT_DYNSYM, "dynsym"),
    (elf::SHT_INIT_ARRAY, "init_array"),
    (elf::SHT_FINI_ARRAY, "fini_array"),
    (elf::SHT_PREINIT_ARRAY, "preinit_array"),
    (elf::SHT_GROUP, "group"),
    (elf::SHT_SYMTAB_SHNDX, "symtab_shndx"),
    (elf::SHT_GNU_HASH, "gnu_hash"),
];

/// Letters of sections' flags.
const SECTION_FLAGS: [(elf::SectionFlags, char); 8] = [
    (elf::SHF_WRITE, 'w'),
    (elf::SHF_ALLOC, 'a'),
    (elf::SHF_EXECINSTR, 'x'),
    (elf::SHF_MERGE, 'M'),
    (elf::SHF_STRINGS, 'S'),
    (elf::SHF_GROUP, 'G'),
    (elf::SHF_TLS, 'T'),
    (elf::SHF_EXCLUDE, 'e'),
];

/// Names of segments' types.
const SEGMENT_TYPES: [(elf::ProgramType, &str); 8] = [
    (elf::PT_NULL, "null"),
    (elf::PT_LOAD, "load"),
    (elf::PT_DYNAMIC, "dynamic"),
    (elf::PT_NOTE, "note"),
    (elf::PT_PHDR, "phdr"),
    (elf::PT_TLS, "tls"),
    (elf::PT_GNU_STACK, "gnu_stack"),
    (elf::PT_GNU_RELRO, "gnu_relro"),
];

/// Types of notes: owner, type, name. Source: usage guide, "Note Records" of V2 and of V3 and later.
const NOTES: [(&str, u32, &str); 8] = [
    (v2::NOTE_NAME, v2::NOTE_VERSION, "NT_AMD_HSA_CODE_OBJECT_VERSION"),
    (v2::NOTE_NAME, 2, "NT_AMD_HSA_HSAIL"),
    (v2::NOTE_NAME, v2::NOTE_ISA_VERSION, "NT_AMD_HSA_ISA_VERSION"),
    (v2::NOTE_NAME, 4, "NT_AMD_HSA_PRODUCER"),
    (v2::NOTE_NAME, 5, "NT_AMD_HSA_PRODUCER_OPTIONS"),
    (v2::NOTE_NAME, v2::NOTE_METADATA, "NT_AMD_HSA_METADATA"),
    (v2::NOTE_NAME, v2::NOTE_ISA_NAME, "NT_AMD_HSA_ISA_NAME"),
    (metadata::NOTE_NAME, metadata::NOTE_TYPE, "NT_AMDGPU_METADATA"),
];

/// The report of an ELF file for AMD GPUs.
pub fn report(bytes: &[u8]) -> Report {
    match ElfFile64::<Endianness>::parse(bytes) {
        Ok(file) => Report::CodeObject(Box::new(Reader::new(&file).read())),
        Err(error) => Report::Unknown { size: bytes.len() as u64, problems: vec![error.to_string()] },
    }
}

/// The name of `value`, or its number.
fn named<T: PartialEq + Copy>(names: &[(T, &'static str)], value: T, number: u64) -> String {
    names
        .iter()
        .find(|(known, _)| *known == value)
        .map_or_else(|| format!("{number:#x}"), |(_, name)| (*name).to_owned())
}

struct Reader<'a, 'f> {
    file: &'f ElfFile64<'a, Endianness>,
    endian: Endianness,
    out: CodeObject,
    identity: Identity,
}

impl<'a, 'f> Reader<'a, 'f> {
    fn new(file: &'f ElfFile64<'a, Endianness>) -> Self {
        let (header, endian) = (file.elf_header(), file.endian());
        let ident = header.e_ident;
        let flags = header.e_flags.get(endian).0;
        let identity = Identity::read(ident.os_abi.0, ident.abi_version, flags);
        let kind = header.e_type.get(endian);
        let elf = named(
            &[(elf::ET_REL, "relocatable"), (elf::ET_DYN, "shared"), (elf::ET_EXEC, "executable")],
            kind,
            kind.0.into(),
        );
        let out = CodeObject {
            elf,
            os_abi: ident.os_abi.0,
            abi_version: ident.abi_version,
            flags,
            target: target(&identity),
            sections: Vec::new(),
            segments: Vec::new(),
            symbols: Vec::new(),
            relocations: Vec::new(),
            notes: Vec::new(),
            kernels: Vec::new(),
            config: Vec::new(),
            problems: Vec::new(),
        };
        Self { file, endian, out, identity }
    }

    fn read(mut self) -> CodeObject {
        if self.identity.unknown != 0 {
            self.problem(format!("flags {:#x} have no meaning", self.identity.unknown));
        }
        if self.identity.processor.is_none() {
            self.problem(format!("processor {:#x} is not known", self.identity.mach));
        }
        self.sections();
        self.segments();
        self.symbols();
        self.relocations();
        self.notes();
        self.kernels();
        self.out
    }

    fn problem(&mut self, problem: String) {
        if self.out.problems.len() < MAX_ITEMS {
            self.out.problems.push(problem);
        }
    }

    fn sections(&mut self) {
        for section in self.file.sections().take(MAX_ITEMS) {
            let header = section.elf_section_header();
            let kind = header.sh_type.get(self.endian);
            let flags = header.sh_flags.get(self.endian);
            let name = match section.name_bytes() {
                Ok(name) => String::from_utf8_lossy(name).into_owned(),
                Err(error) => {
                    self.problem(format!("section {}: {error}", section.index().0));
                    String::new()
                }
            };
            if let Err(error) = section.data() {
                self.problem(format!("section {name}: {error}"));
            }
            self.out.sections.push(Section {
                index: section.index().0,
                name,
                kind: named(&SECTION_TYPES, kind, kind.0.into()),
                flags: SECTION_FLAGS
                    .iter()
                    .filter(|(flag, _)| flags.contains(*flag))
                    .map(|(_, c)| c)
                    .collect(),
                address: section.address(),
                offset: header.sh_offset.get(self.endian),
                size: section.size(),
                align: header.sh_addralign.get(self.endian),
            });
        }
    }

    fn segments(&mut self) {
        for header in self.file.elf_program_headers().iter().take(MAX_ITEMS) {
            let endian = self.endian;
            let (kind, flags) = (header.p_type(endian), header.p_flags(endian));
            let letters = [(elf::PF_R, 'r'), (elf::PF_W, 'w'), (elf::PF_X, 'x')];
            self.out.segments.push(Segment {
                kind: named(&SEGMENT_TYPES, kind, kind.0.into()),
                flags: letters.iter().filter(|(flag, _)| flags.contains(*flag)).map(|(_, c)| c).collect(),
                offset: header.p_offset(endian),
                address: header.p_vaddr(endian),
                file_bytes: header.p_filesz(endian),
                memory_bytes: header.p_memsz(endian),
                align: header.p_align(endian),
            });
        }
    }

    /// The name of the section of this number.
    fn section_name(&self, index: object::SectionIndex) -> String {
        // The null section is not among them.
        let name = self.out.sections.binary_search_by_key(&index.0, |section| section.index);
        name.map_or_else(|_| format!("{:#x}", index.0), |at| self.out.sections[at].name.clone())
    }

    fn symbol(&self, symbol: &object::read::elf::ElfSymbol64<'a, '_, Endianness>, dynamic: bool) -> Symbol {
        let raw = symbol.elf_symbol();
        let section = match raw.st_shndx(self.endian) {
            elf::SHN_UNDEF => "undefined".to_owned(),
            elf::SHN_ABS => "absolute".to_owned(),
            elf::SHN_COMMON => "common".to_owned(),
            // The first index of the processor's own. Source: usage guide, "Symbols".
            elf::SymbolSection(0xff00) => "lds".to_owned(),
            other => match symbol.section_index() {
                Some(index) => self.section_name(index),
                None => format!("{:#x}", other.0),
            },
        };
        let (kind, binding) = (raw.st_type(), raw.st_bind());
        Symbol {
            name: symbol.name_bytes().map(String::from_utf8_lossy).unwrap_or_default().into_owned(),
            section,
            value: raw.st_value(self.endian),
            size: raw.st_size(self.endian),
            binding: named(
                &[(elf::STB_LOCAL, "local"), (elf::STB_GLOBAL, "global"), (elf::STB_WEAK, "weak")],
                binding,
                binding.0.into(),
            ),
            kind: named(
                &[
                    (elf::STT_NOTYPE, "none"),
                    (elf::STT_OBJECT, "object"),
                    (elf::STT_FUNC, "function"),
                    (elf::STT_SECTION, "section"),
                    (elf::STT_FILE, "file"),
                    (elf::STT_COMMON, "common"),
                    (elf::STT_TLS, "tls"),
                    (elf::SymbolType(STT_HSA_KERNEL), "kernel"),
                ],
                kind,
                kind.0.into(),
            ),
            visibility: match raw.st_visibility() {
                elf::STV_HIDDEN => "hidden",
                elf::STV_PROTECTED => "protected",
                elf::STV_INTERNAL => "internal",
                _ => "default",
            },
            dynamic,
        }
    }

    fn symbols(&mut self) {
        let own: Vec<Symbol> =
            self.file.symbols().take(MAX_ITEMS).map(|symbol| self.symbol(&symbol, false)).collect();
        let dynamic = self.file.dynamic_symbols().take(MAX_ITEMS - own.len());
        let dynamic: Vec<Symbol> = dynamic.map(|symbol| self.symbol(&symbol, true)).collect();
        self.out.symbols = own;
        self.out.symbols.extend(dynamic);
    }

    fn relocations(&mut self) {
        let own = self.out.symbols.iter().take_while(|symbol| !symbol.dynamic).count();
        let mut out = Vec::new();
        for section in self.file.sections() {
            let data = section.data().unwrap_or_default();
            let name = self.section_name(section.index());
            for (offset, relocation) in section.relocations().take(MAX_ITEMS - out.len()) {
                let addend = reloc::addend(data, offset, &relocation);
                out.push(self.relocation(&name, offset, addend, &relocation, 0));
            }
        }
        for (offset, relocation) in
            self.file.dynamic_relocations().into_iter().flatten().take(MAX_ITEMS - out.len())
        {
            out.push(self.relocation("", offset, relocation.addend(), &relocation, own));
        }
        self.out.relocations = out;
    }

    /// A relocation whose symbols begin with number 1 at index `first`.
    fn relocation(
        &self,
        section: &str,
        offset: u64,
        addend: i64,
        relocation: &object::Relocation,
        first: usize,
    ) -> Relocation {
        let kind = match relocation.flags() {
            RelocationFlags::Elf { r_type } => r_type.0,
            _ => 0,
        };
        let symbol = match relocation.target() {
            RelocationTarget::Symbol(index) => {
                index.0.checked_sub(1).and_then(|n| self.out.symbols.get(first + n))
            }
            _ => None,
        };
        let symbol = symbol.map_or_else(String::new, |symbol| match symbol.name.as_str() {
            "" => symbol.section.clone(),
            name => name.to_owned(),
        });
        Relocation { section: section.to_owned(), offset, kind: reloc::name(kind), symbol, addend }
    }

    fn notes(&mut self) {
        let (file, endian) = (self.file, self.endian);
        for section in file.sections().filter(|s| s.elf_section_header().sh_type.get(endian) == elf::SHT_NOTE)
        {
            let name = self.section_name(section.index());
            for note in notes::read(section.data().unwrap_or_default()).into_iter().take(MAX_ITEMS) {
                match note.and_then(|note| self.note(&name, &note)) {
                    Ok(note) => self.out.notes.push(note),
                    Err(error) => self.problem(format!("section {name}: {error}")),
                }
            }
        }
    }

    fn note(&self, section: &str, note: &notes::Note<'_>) -> mir::Result<Note> {
        let owner = String::from_utf8_lossy(note.owner).into_owned();
        let mut name =
            NOTES.iter().find(|(known, kind, _)| *known == owner && *kind == note.kind).map_or("", |n| n.2);
        if (owner.as_str(), note.kind) == pal::REGISTERS_NOTE {
            name = "NT_AMD_PAL_METADATA";
        }
        let contents = match (name, note.description) {
            ("NT_AMDGPU_METADATA", bytes) => {
                NoteContents::Metadata(presentable(Document::from_msgpack(bytes)?))
            }
            ("NT_AMD_HSA_METADATA", bytes) => {
                let text = String::from_utf8_lossy(bytes);
                NoteContents::Metadata(presentable(Document::from_yaml(text.trim_end_matches('\0'))?))
            }
            (_, bytes) => contents(name, bytes).unwrap_or_else(|| NoteContents::Bytes(hexadecimal(bytes))),
        };
        Ok(Note { section: section.to_owned(), owner, kind: note.kind, name, contents })
    }

    /// The `N` bytes at a symbol's place in the file.
    fn bytes_at<const N: usize>(
        &self,
        symbol: &object::read::elf::ElfSymbol64<'a, '_, Endianness>,
    ) -> Option<[u8; N]> {
        let section = self.file.section_by_index(symbol.section_index()?).ok()?;
        let linked = self.out.elf != "relocatable";
        let offset = symbol.address().checked_sub(if linked { section.address() } else { 0 })?;
        let from = usize::try_from(offset).ok()?;
        section.data().ok()?.get(from..from.checked_add(N)?)?.try_into().ok()
    }

    fn kernels(&mut self) {
        let mut symbols: Vec<_> = self.file.symbols().collect();
        if symbols.is_empty() {
            symbols = self.file.dynamic_symbols().collect();
        }
        for symbol in symbols.iter().filter(|symbol| symbol.is_definition() || symbol.size() > 0) {
            let Ok(name) = symbol.name() else { continue };
            let kind = symbol.elf_symbol().st_type();
            let described = if kind == elf::SymbolType(STT_HSA_KERNEL) {
                self.bytes_at::<HEADER_BYTES>(symbol).map(|bytes| self.header(name, &bytes))
            } else if let Some(kernel) =
                name.strip_suffix(".kd").filter(|_| symbol.size() == DESCRIPTOR_BYTES as u64)
            {
                self.bytes_at::<DESCRIPTOR_BYTES>(symbol).map(|bytes| self.descriptor(kernel, &bytes))
            } else {
                continue;
            };
            match described {
                Some(Ok(kernel)) => self.out.kernels.push(kernel),
                Some(Err(error)) => self.problem(format!("kernel {name}: {error}")),
                None => self.problem(format!("kernel {name}: what describes it is outside of its section")),
            }
        }
        self.config();
    }

    /// Registers of VGPR blocks and SGPR blocks.
    fn registers(&self, vgpr_blocks: u32, sgpr_blocks: u32, wave: WaveSize) -> (Option<u32>, Option<u32>) {
        let target = self.identity.target();
        let vgprs = target.map(|target| target.limits_of(wave).vgpr_block * (vgpr_blocks + 1));
        let counted = target.is_none_or(|target| target.limits().sgpr_block_granule != 0);
        (vgprs, counted.then_some(SGPR_BLOCK * (sgpr_blocks + 1)))
    }

    fn descriptor(&self, name: &str, bytes: &[u8; DESCRIPTOR_BYTES]) -> mir::Result<Kernel> {
        let target = self.identity.target();
        let descriptor = match &target {
            Some(target) => KernelDescriptor::unpack_for(bytes, target)?,
            None => KernelDescriptor::unpack(bytes)?,
        };
        let entry = DescriptorField {
            name: "kernel_code_entry_byte_offset",
            value: descriptor.kernel_code_entry_byte_offset,
        };
        let fields = KernelDescriptor::FIELDS.iter().zip(descriptor.values());
        // Bits that the processor reserves are no fields there.
        let features = target.map_or(Features::empty(), |target| target.features) | Features::FP16_OVERFLOW;
        let fields = fields.filter(|(field, _)| features.contains(field.requires()));
        let fields = fields.map(|(field, value)| DescriptorField { name: field.name, value: value.into() });
        let wave = if descriptor.wavefront_size32 != 0 { WaveSize::W32 } else { WaveSize::W64 };
        let (vgprs, sgprs) = self.registers(descriptor.vgpr_blocks, descriptor.sgpr_blocks, wave);
        Ok(Kernel {
            name: name.to_owned(),
            described_by: "descriptor",
            vgprs,
            sgprs,
            lds_bytes: Some(descriptor.group_segment_fixed_size.into()),
            scratch_bytes: Some(descriptor.private_segment_fixed_size.into()),
            // V3 does not tell.
            kernarg_bytes: (self.identity.version != Some(3)).then_some(descriptor.kernarg_size.into()),
            fields: std::iter::once(entry).chain(fields).collect(),
        })
    }

    fn header(&self, name: &str, bytes: &[u8; HEADER_BYTES]) -> mir::Result<Kernel> {
        let header = KernelCode::unpack(bytes)?;
        let fields = KernelCode::FIELDS.iter().zip(header.values());
        Ok(Kernel {
            name: name.to_owned(),
            described_by: "amd_kernel_code_t",
            vgprs: Some(header.workitem_vgpr_count as u32),
            sgprs: Some(header.wavefront_sgpr_count as u32),
            lds_bytes: Some(header.workgroup_group_segment_byte_size),
            scratch_bytes: Some(header.workitem_private_segment_byte_size),
            kernarg_bytes: Some(header.kernarg_segment_byte_size),
            fields: fields
                .map(|(field, bits)| DescriptorField { name: field.name, value: field.decode(bits) })
                .collect(),
        })
    }

    /// Registers of drivers without HSA.
    fn config(&mut self) {
        let Some(section) = self.file.section_by_name(legacy::CONFIG_SECTION) else { return };
        let data = section.data().unwrap_or_default();
        if !data.len().is_multiple_of(8) {
            self.problem(format!("{} bytes in {}, no pairs of dwords", data.len(), legacy::CONFIG_SECTION));
        }
        self.out.config = pairs(data, legacy::register_name);
    }
}

/// Pairs of dwords, registers and values.
fn pairs(bytes: &[u8], name: fn(u32) -> Option<String>) -> Vec<Register> {
    let dword = |w: &[u8]| u32::from_le_bytes([w[0], w[1], w[2], w[3]]);
    let pairs = bytes.chunks_exact(8).take(MAX_ITEMS);
    pairs
        .map(|pair| Register {
            register: dword(&pair[..4]),
            name: name(dword(&pair[..4])),
            value: dword(&pair[4..]),
        })
        .collect()
}

fn target(identity: &Identity) -> Target {
    let target = identity.target();
    Target {
        processor: identity.processor.map(|processor| processor.name),
        id: target.filter(|_| identity.os.is_some()).map(|target| metadata::target_id(&target)),
        mach: identity.mach,
        system: identity.os.map(|os| match os {
            Os::Unknown => "none",
            Os::AmdHsa => "amdhsa",
            Os::AmdPal => "amdpal",
            Os::Mesa3d => "mesa3d",
        }),
        version: identity.version,
        xnack: identity.xnack.word(),
        sramecc: identity.sramecc.word(),
        generic_version: (identity.generic_version != 0).then_some(identity.generic_version),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a note says that is neither metadata nor unknown; `None` where it is not complete.
fn contents(name: &str, bytes: &[u8]) -> Option<NoteContents> {
    let dword = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned();
    Some(match name {
        "NT_AMD_HSA_CODE_OBJECT_VERSION" => NoteContents::Version { major: dword(0)?, minor: dword(4)? },
        "NT_AMD_HSA_HSAIL" => NoteContents::HsailProperties {
            version: [dword(0)?, dword(4)?],
            modes: bytes.get(8..11)?.try_into().ok()?,
        },
        "NT_AMD_HSA_ISA_VERSION" => {
            let (version, vendor, architecture) = v2::read_isa_version(bytes)?;
            NoteContents::Isa { version, vendor: vendor.to_owned(), architecture: architecture.to_owned() }
        }
        "NT_AMD_HSA_PRODUCER" => {
            // Size of the name, a reserved half, the version.
            let size = usize::from(u16::from_le_bytes(bytes.get(..2)?.try_into().ok()?));
            let name = bytes.get(12..12 + size)?;
            NoteContents::Producer { version: [dword(4)?, dword(8)?], name: text(name) }
        }
        "NT_AMD_HSA_PRODUCER_OPTIONS" => {
            let size = usize::from(u16::from_le_bytes(bytes.get(..2)?.try_into().ok()?));
            NoteContents::Text(text(bytes.get(2..2 + size)?))
        }
        "NT_AMD_HSA_ISA_NAME" => NoteContents::Text(text(bytes)),
        "NT_AMD_PAL_METADATA" => {
            NoteContents::Registers(pairs(bytes, |number| pal::register_name(number.into())))
        }
        _ => return None,
    })
}

/// `document` with text for keys, and for integers of more than 64 bits, as other formats have them. Its depth is bounded by the reader.
fn presentable(document: Document) -> Document {
    match document {
        Document::List(items) => Document::List(items.into_iter().map(presentable).collect()),
        Document::Map(entries) => {
            let key = |key: Document| match key {
                Document::Text(text) => Document::Text(text),
                Document::Int(number) => Document::Text(format!("{number:#x}")),
                other => Document::Text(
                    other.to_yaml().trim_start_matches("---\n").trim_end_matches("\n...\n").to_owned(),
                ),
            };
            Document::Map(entries.into_iter().map(|(k, value)| (key(k), presentable(value))).collect())
        }
        Document::Int(number) if u64::try_from(number).is_err() && i64::try_from(number).is_err() => {
            Document::Text(number.to_string())
        }
        other => other,
    }
}
