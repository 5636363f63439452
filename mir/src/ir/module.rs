//! Modules: functions, variables, and what code generation needs of the rest.

use super::{AddrSpace, Func, Function, Linkage, SymbolRef, TypeTable, Visibility};
use crate::machine::LdsLayout;
use cranelift_entity::{PrimaryMap, entity_impl};
use rustc_hash::FxHashMap;

/// A global variable of a module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Global(u32);
entity_impl!(Global, "global");

/// Initial contents of a variable: bytes, and places where an address goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Initializer {
    /// Contents; zero where a relocation applies. May be shorter than the variable: the rest is zero.
    pub bytes: Vec<u8>,
    /// Addresses stored in the variable.
    pub relocations: Vec<InitializerRelocation>,
}

/// An address inside an initialiser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitializerRelocation {
    /// Byte offset in the variable.
    pub offset_bytes: u64,
    /// Bytes stored: 4 or 8.
    pub width_bytes: u8,
    /// What the address points to.
    pub symbol: SymbolRef,
    /// Bytes added to it.
    pub addend: i64,
    /// Whether it is the distance from where it stands.
    pub is_relative: bool,
}

/// A global variable.
#[derive(Clone, Debug)]
pub struct GlobalData {
    /// Symbol name; private variables may have an empty one.
    pub name: String,
    /// Linkage.
    pub linkage: Linkage,
    /// Visibility.
    pub visibility: Visibility,
    /// Address space: [`AddrSpace::LOCAL`] for LDS, global or constant otherwise.
    pub space: AddrSpace,
    /// Size in bytes; 0 for dynamic LDS (`[0 x T]`, external).
    pub size_bytes: u64,
    /// log2 of the alignment in bytes.
    pub align_log2: u8,
    /// Whether the memory never changes.
    pub is_constant: bool,
    /// Section, empty for the default.
    pub section: String,
    /// Contents; `None` for a declaration. Undefined contents (LDS) are an empty initialiser.
    pub init: Option<Initializer>,
}

impl GlobalData {
    /// The declaration of something that another object defines.
    pub fn external(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            linkage: Linkage::External,
            visibility: Visibility::Default,
            space: AddrSpace::GLOBAL,
            size_bytes: 4,
            align_log2: 2,
            is_constant: true,
            section: String::new(),
            init: None,
        }
    }
}

/// A second name for a symbol.
#[derive(Clone, Debug)]
pub struct Alias {
    /// Symbol name.
    pub name: String,
    /// Linkage.
    pub linkage: Linkage,
    /// Visibility.
    pub visibility: Visibility,
    /// What it stands for.
    pub target: SymbolRef,
    /// Byte offset into it.
    pub offset: i64,
}

/// A module: everything that one input file defines.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Name of the source, for messages.
    pub name: String,
    /// Target triple as written.
    pub triple: String,
    /// Structs and arrays.
    pub types: TypeTable,
    /// Functions in the order of the input.
    pub functions: PrimaryMap<Func, Function>,
    /// Variables in the order of the input.
    pub globals: PrimaryMap<Global, GlobalData>,
    /// Aliases.
    pub aliases: Vec<Alias>,
    /// Source file names, for [`super::SourceLoc::file`].
    pub files: Vec<String>,
    /// Symbols in `@llvm.used` and `@llvm.compiler.used`.
    pub used: Vec<SymbolRef>,
    /// Module flag `amdhsa_code_object_version` (500 for V5; `amdgpu_code_object_version` in older producers).
    pub code_object_version_flag: Option<u32>,
    /// `!opencl.ocl.version`, the first entry: major, minor.
    pub opencl_version: Option<[u32; 2]>,
    /// Whether it is a program of OpenMP (module flag `openmp`).
    pub is_openmp: bool,
    /// `!llvm.printf.fmts`.
    pub printf_formats: Vec<String>,
    /// Pipeline metadata of amdpal.
    pub pal_metadata: Option<PalMetadata>,
    /// `!llvm.ident`.
    pub idents: Vec<String>,
    /// Module-level inline assembly.
    pub inline_asm: String,
    /// Places of LDS variables in each function, once they are laid out.
    pub lds: FxHashMap<Func, LdsLayout>,
}

/// What a front end says of a pipeline to the Platform Abstraction Library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PalMetadata {
    /// Numbers of registers, or of facts, and their values (`!amdgpu.pal.metadata`).
    Registers(Vec<(u32, u32)>),
    /// A MessagePack map (`!amdgpu.pal.metadata.msgpack`).
    MsgPack(Vec<u8>),
}

impl Module {
    /// Name of the symbol.
    pub fn symbol_name(&self, symbol: SymbolRef) -> &str {
        match symbol {
            SymbolRef::Func(func) => &self.functions[func].name,
            SymbolRef::Global(global) => &self.globals[global].name,
        }
    }
}
