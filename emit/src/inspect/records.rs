//! What a report is made of.

use mir::abi::Document;
use serde::Serialize;

/// What a file is and says.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Report {
    /// An ELF file for AMD GPUs.
    CodeObject(Box<CodeObject>),
    /// An ELF file for something else, perhaps with bundles.
    HostObject(HostObject),
    /// Bundles, one or several.
    Bundles {
        /// They.
        bundles: Vec<Bundle>,
    },
    /// An archive.
    Archive(Archive),
    /// AMDIL's metadata.
    Amdil {
        /// Kernels with their tokens as text.
        kernels: Vec<Amdil>,
        /// Constant buffers that data is for, with its bytes.
        data: Vec<(Option<u32>, u32)>,
    },
    /// LLVM bitcode.
    Bitcode {
        /// Bytes.
        size: u64,
    },
    /// Nothing that is known here.
    Unknown {
        /// Bytes.
        size: u64,
        /// What is wrong, where it looked like something.
        problems: Vec<String>,
    },
}

impl Report {
    /// Whether the file has a known form.
    pub fn is_known(&self) -> bool {
        !matches!(self, Self::Unknown { .. })
    }
}

/// A kernel's metadata in AMDIL.
#[derive(Clone, Debug, Serialize)]
pub struct Amdil {
    /// Name.
    pub name: String,
    /// Tokens, as they are written.
    pub tokens: Vec<String>,
}

/// A file of files.
#[derive(Clone, Debug, Serialize)]
pub struct Archive {
    /// Names and contents.
    pub members: Vec<(String, Report)>,
    /// What is wrong with it.
    pub problems: Vec<String>,
}

/// A bundle.
#[derive(Clone, Debug, Serialize)]
pub struct Bundle {
    /// `bundle`, `compressed bundle`, `offload binary`, or `section` for a part in a section of its own.
    pub format: &'static str,
    /// Byte offset in the file or section.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// Version, method and bytes before compression.
    pub compression: Option<(u16, &'static str, u64)>,
    /// Targets and what is for them.
    pub parts: Vec<(String, Report)>,
    /// What is wrong with it.
    pub problems: Vec<String>,
}

/// A bundle in a section of an object.
#[derive(Clone, Debug, Serialize)]
pub struct SectionBundle {
    /// Section; for a part in a section of its own, its target.
    pub section: String,
    /// The bundle.
    pub bundle: Bundle,
}

/// An ELF file for another machine.
#[derive(Clone, Debug, Serialize)]
pub struct HostObject {
    /// Number of the machine.
    pub machine: u16,
    /// Bundles in its sections.
    pub bundles: Vec<SectionBundle>,
}

/// The target of a code object.
#[derive(Clone, Debug, Serialize)]
pub struct Target {
    /// Processor.
    pub processor: Option<&'static str>,
    /// Target id, as metadata has it.
    pub id: Option<String>,
    /// Number of the processor in the flags.
    pub mach: u32,
    /// System: amdhsa, amdpal, mesa3d, none.
    pub system: Option<&'static str>,
    /// Version of the code object, on amdhsa.
    pub version: Option<u8>,
    /// Replay of page faults: on, off, any, unsupported.
    pub xnack: &'static str,
    /// SRAM ECC, likewise.
    pub sramecc: &'static str,
    /// Version of a generic processor.
    pub generic_version: Option<u8>,
}

/// An ELF file for AMD GPUs.
#[derive(Clone, Debug, Serialize)]
pub struct CodeObject {
    /// `relocatable`, `shared`, `executable` or another number.
    pub elf: String,
    /// `EI_OSABI`.
    pub os_abi: u8,
    /// `EI_ABIVERSION`.
    pub abi_version: u8,
    /// `e_flags`.
    pub flags: u32,
    /// What they mean.
    pub target: Target,
    /// Sections.
    pub sections: Vec<Section>,
    /// Segments.
    pub segments: Vec<Segment>,
    /// Symbols, those of the dynamic table last.
    pub symbols: Vec<Symbol>,
    /// Relocations.
    pub relocations: Vec<Relocation>,
    /// Notes.
    pub notes: Vec<Note>,
    /// Kernels.
    pub kernels: Vec<Kernel>,
    /// Registers for drivers without HSA (`.AMDGPU.config`), in the order of the section.
    pub config: Vec<Register>,
    /// What is wrong with the file.
    pub problems: Vec<String>,
}

/// A section.
#[derive(Clone, Debug, Serialize)]
pub struct Section {
    /// Number.
    pub index: usize,
    /// Name.
    pub name: String,
    /// `SHT_*`.
    pub kind: String,
    /// Letters of its flags, as in `.section`.
    pub flags: String,
    /// Address.
    pub address: u64,
    /// Byte offset in the file.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// Alignment.
    pub align: u64,
}

/// A segment.
#[derive(Clone, Debug, Serialize)]
pub struct Segment {
    /// `PT_*`.
    pub kind: String,
    /// `r`, `w`, `x`.
    pub flags: String,
    /// Byte offset in the file.
    pub offset: u64,
    /// Address.
    pub address: u64,
    /// Bytes in the file.
    pub file_bytes: u64,
    /// Bytes in memory.
    pub memory_bytes: u64,
    /// Alignment.
    pub align: u64,
}

/// A symbol.
#[derive(Clone, Debug, Serialize)]
pub struct Symbol {
    /// Name.
    pub name: String,
    /// Section, or `undefined`, `absolute`, `common`, `lds`.
    pub section: String,
    /// Value.
    pub value: u64,
    /// Bytes.
    pub size: u64,
    /// `local`, `global`, `weak` or a number.
    pub binding: String,
    /// `function`, `object` and so on.
    pub kind: String,
    /// `default`, `hidden`, `protected`, `internal`.
    pub visibility: &'static str,
    /// Whether it is of the dynamic table.
    pub dynamic: bool,
}

/// A relocation.
#[derive(Clone, Debug, Serialize)]
pub struct Relocation {
    /// Section; empty for one that the loader applies.
    pub section: String,
    /// Offset in the section, or address.
    pub offset: u64,
    /// `R_AMDGPU_*`.
    pub kind: String,
    /// Symbol; the section's name for a section, empty for none.
    pub symbol: String,
    /// Addend.
    pub addend: i64,
}

/// A note.
#[derive(Clone, Debug, Serialize)]
pub struct Note {
    /// Section.
    pub section: String,
    /// Owner.
    pub owner: String,
    /// Type.
    pub kind: u32,
    /// Name of the type; empty for an unknown one.
    pub name: &'static str,
    /// What it says.
    pub contents: NoteContents,
}

/// What a note says.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoteContents {
    /// Version of a code object V2.
    Version {
        /// Major.
        major: u32,
        /// Minor.
        minor: u32,
    },
    /// Settings of HSAIL's compiler.
    HsailProperties {
        /// Version of HSAIL.
        version: [u32; 2],
        /// Profile, machine model, rounding.
        modes: [u8; 3],
    },
    /// Instruction set of V2.
    Isa {
        /// Major, minor and stepping.
        version: [u32; 3],
        /// Vendor.
        vendor: String,
        /// Architecture.
        architecture: String,
    },
    /// The compiler of V2.
    Producer {
        /// Its version.
        version: [u32; 2],
        /// Its name.
        name: String,
    },
    /// Text: options of a producer, the name of an instruction set.
    Text(String),
    /// Metadata.
    Metadata(Document),
    /// Registers and values of PAL's metadata.
    Registers(Vec<Register>),
    /// Bytes, in hexadecimal.
    Bytes(String),
}

/// A register and its value.
#[derive(Clone, Debug, Serialize)]
pub struct Register {
    /// Number or address.
    pub register: u32,
    /// Its name, where it is known.
    pub name: Option<String>,
    /// Value.
    pub value: u32,
}

/// A field of a descriptor or header.
#[derive(Clone, Debug, Serialize)]
pub struct DescriptorField {
    /// Name.
    pub name: &'static str,
    /// Value.
    pub value: i64,
}

/// A kernel.
#[derive(Clone, Debug, Serialize)]
pub struct Kernel {
    /// Name.
    pub name: String,
    /// `descriptor`, `amd_kernel_code_t`, or `metadata` where there is neither.
    pub described_by: &'static str,
    /// VGPRs: what the kernel is given.
    pub vgprs: Option<u32>,
    /// SGPRs: what the kernel is given, specials included.
    pub sgprs: Option<u32>,
    /// Static bytes of LDS.
    pub lds_bytes: Option<u64>,
    /// Scratch bytes of a lane.
    pub scratch_bytes: Option<u64>,
    /// Bytes of arguments.
    pub kernarg_bytes: Option<u64>,
    /// Every field.
    pub fields: Vec<DescriptorField>,
}
