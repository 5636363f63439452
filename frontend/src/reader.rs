//! The reader's state: what is known of a module while it is read, and the module that comes out.

use crate::constructors;
use crate::kinds::MetadataKinds;
use crate::llvm::{self, BlockRef, ModuleRef, TypeRef, ValueRef};
use crate::strict::Strict;
use cranelift_entity::SecondaryMap;
use mir::Diagnostic;
use mir::diag::SourceLocation;
use mir::ir::{Func, Intrinsic, Module, SymbolRef, SyncScope, Type};
use rustc_hash::FxHashMap;

/// What a call of a function means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// A call.
    #[default]
    Call,
    /// A known intrinsic.
    Intrinsic(Intrinsic),
    /// A constrained floating-point operation.
    Strict(Strict),
    /// Nothing: the call is left out.
    Dropped,
}

/// State of reading one module.
#[allow(clippy::vec_box, reason = "diagnostics travel boxed")]
pub(crate) struct Reader<'m> {
    pub llvm: ModuleRef<'m>,
    pub module: Module,
    /// Whether the data layout says that stack objects are private.
    pub stack_is_private: bool,
    /// Known types with their nesting depth.
    pub types: FxHashMap<TypeRef<'m>, (Type, u32)>,
    /// The one asked for last: neighbouring instructions mostly have the same.
    pub last_type: Option<(TypeRef<'m>, Type)>,
    /// Functions, variables and aliases: symbol and byte offset.
    pub symbols: FxHashMap<ValueRef<'m>, (SymbolRef, i64)>,
    /// Numbers of the blocks of the functions that have a block whose address is taken.
    pub block_numbers: FxHashMap<BlockRef<'m>, i64>,
    /// What calling each function means.
    pub meanings: SecondaryMap<Func, Meaning>,
    /// Numbers of metadata kinds in this context.
    pub kinds: MetadataKinds,
    /// LLVM's numbers of synchronisation scopes, asked for by the first atomic operation; `true` for the
    /// `one-as` ones.
    scopes: Vec<(u32, (SyncScope, bool))>,
    /// `Module::files` by name, and by scope node.
    pub files: FxHashMap<String, u32>,
    /// File of a debug scope.
    pub scope_files: FxHashMap<usize, u32>,
    /// Contents of `@llvm.used` and `@llvm.compiler.used`, until symbols are known.
    pub used: Vec<ValueRef<'m>>,
    /// Tables of constructors and destructors that have entries.
    pub tables: Vec<&'static constructors::Table>,
    /// LLVM's number of the attribute `align`.
    pub align_attribute: u32,
    /// LLVM's number of `memory`.
    pub memory_attribute: u32,
    /// LLVM's number of `nofpclass`.
    pub class_attribute: u32,
    /// What could not be read.
    pub errors: Vec<Box<Diagnostic>>,
}

/// Names of synchronisation scopes; the `one-as` ones have the same with a suffix.
const SCOPES: [(&str, &str, SyncScope); 5] = [
    ("singlethread", "singlethread-one-as", SyncScope::SingleThread),
    ("wavefront", "wavefront-one-as", SyncScope::Wavefront),
    ("workgroup", "workgroup-one-as", SyncScope::Workgroup),
    ("agent", "agent-one-as", SyncScope::Agent),
    ("", "one-as", SyncScope::System),
];

impl<'m> Reader<'m> {
    /// Nothing read yet of `llvm`.
    pub(crate) fn new(llvm: ModuleRef<'m>, name: &str) -> Self {
        let module = Module {
            name: name.to_owned(),
            triple: llvm.triple(),
            inline_asm: llvm.inline_asm(),
            ..Module::default()
        };
        Self {
            llvm,
            module,
            stack_is_private: crate::parse::has_private_stack(&llvm.data_layout()),
            types: FxHashMap::default(),
            last_type: None,
            symbols: FxHashMap::default(),
            block_numbers: FxHashMap::default(),
            meanings: SecondaryMap::new(),
            kinds: MetadataKinds::new(llvm),
            scopes: Vec::new(),
            files: FxHashMap::default(),
            scope_files: FxHashMap::default(),
            used: Vec::new(),
            tables: Vec::new(),
            align_attribute: llvm::attribute_kind("align"),
            memory_attribute: llvm::attribute_kind("memory"),
            class_attribute: llvm::attribute_kind("nofpclass"),
            errors: Vec::new(),
        }
    }

    /// The synchronisation scope that LLVM calls `id`, and whether it is a `one-as` one.
    pub(crate) fn scope(&mut self, id: u32) -> Option<(SyncScope, bool)> {
        if self.scopes.is_empty() {
            for (all, one, scope) in SCOPES {
                self.scopes.push((self.llvm.sync_scope(all), (scope, false)));
                self.scopes.push((self.llvm.sync_scope(one), (scope, true)));
            }
        }
        self.scopes.iter().find(|known| known.0 == id).map(|known| known.1)
    }

    /// Index into `Module::files` of the file of a debug scope.
    pub(crate) fn file_of(&mut self, scope: llvm::MetadataRef<'m>) -> u32 {
        if let Some(&known) = self.scope_files.get(&scope.id()) {
            return known;
        }
        let (directory, name) = scope.scope_file().unwrap_or_default();
        let path =
            if directory.is_empty() || name.starts_with('/') { name } else { format!("{directory}/{name}") };
        let files = &mut self.module.files;
        let index = *self.files.entry(path).or_insert_with_key(|path| {
            files.push(path.clone());
            files.len() as u32 - 1
        });
        self.scope_files.insert(scope.id(), index);
        index
    }

    /// The diagnostic with the source position of an instruction, where it has one.
    pub(crate) fn locate(&mut self, error: Box<Diagnostic>, inst: llvm::InstRef<'m>) -> Box<Diagnostic> {
        let error = error.at(inst.value().print());
        match inst.debug_loc() {
            Some((line, column, scope)) if line != 0 => {
                let file = self.file_of(scope) as usize;
                error.located(SourceLocation { file: self.module.files[file].clone(), line, column })
            }
            _ => error,
        }
    }
}
