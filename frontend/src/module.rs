//! The reader's state and the module as a whole: symbols first, so that bodies and initialisers can refer to any.

use crate::llvm::{
    self, AttributeValue, BlockRef, LLVMLinkage, LLVMVisibility, ModuleRef, TypeRef, ValueRef,
};
use crate::{Reading, constructors, metadata, parse, unnamed};
use cranelift_entity::SecondaryMap;
use mir::diag::SourceLocation;
use mir::ir::{
    CallConv, Func, FuncFlags, Function, IndirectParam, Intrinsic, Linkage, Module, Param, ParamFlags,
    SymbolRef, SyncScope, Type, Visibility,
};
use mir::{Diagnostic, Result};
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// What a call of a function means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// A call.
    #[default]
    Call,
    /// A known intrinsic.
    Intrinsic(Intrinsic),
    /// A constrained floating-point operation.
    Strict(crate::strict::Strict),
    /// Nothing: the call is left out.
    Dropped,
}

/// State of reading one module.
#[allow(clippy::vec_box, reason = "diagnostics travel boxed")]
pub(crate) struct Reader<'m> {
    pub llvm: ModuleRef<'m>,
    pub module: Module,
    /// Known types with their nesting depth.
    pub types: FxHashMap<TypeRef<'m>, (Type, u32)>,
    /// Functions, variables and aliases: symbol and byte offset.
    pub symbols: FxHashMap<ValueRef<'m>, (SymbolRef, i64)>,
    /// Numbers of the blocks of the functions that have a block whose address is taken.
    pub block_numbers: FxHashMap<BlockRef<'m>, i64>,
    /// What calling each function means.
    pub meanings: SecondaryMap<Func, Meaning>,
    /// Numbers of metadata kinds in this context.
    pub kinds: metadata::Kinds,
    /// LLVM's numbers of synchronisation scopes, asked for by the first atomic operation; `true` for the `one-as` ones.
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

/// Copies `llvm` into plain data.
pub(crate) fn read<'m>(llvm: ModuleRef<'m>, name: &str) -> Result<Reading> {
    parse::check_target(llvm, name)?;
    let module = Module {
        name: name.to_owned(),
        triple: llvm.triple(),
        inline_asm: llvm.inline_asm(),
        ..Module::default()
    };
    let mut reader = Reader {
        llvm,
        module,
        types: FxHashMap::default(),
        symbols: FxHashMap::default(),
        block_numbers: FxHashMap::default(),
        meanings: SecondaryMap::new(),
        kinds: metadata::Kinds::new(llvm),
        scopes: Vec::new(),
        files: FxHashMap::default(),
        scope_files: FxHashMap::default(),
        used: Vec::new(),
        tables: Vec::new(),
        align_attribute: llvm::attribute_kind("align"),
        errors: Vec::new(),
    };
    let attributes = attribute_kinds();
    let functions: Vec<_> = llvm.functions().collect();
    for &function in &functions {
        reader.declare(function, attributes);
    }
    reader.globals();
    reader.module_metadata();
    for (&function, func) in functions.iter().zip(reader.module.functions.keys().collect::<Vec<_>>()) {
        if function.is_declaration() {
            continue;
        }
        reader.function_metadata(function, func);
        let result = reader.body(function, func);
        if let Err(error) = result {
            let error = error.in_function(&reader.module.functions[func].name);
            reader.module.functions[func].layout.clear();
            reader.errors.push(error);
        }
    }
    let mut module = reader.module;
    for table in reader.tables {
        constructors::add_kernel(&mut module, table);
    }
    unnamed::name_all(&mut module);
    Ok(Reading { module, errors: reader.errors })
}

/// LLVM's numbers of the attributes that mean something here. They are the same in all contexts.
struct AttributeKinds {
    /// By number; the rest means nothing.
    function: Vec<FuncFlags>,
    param: Vec<ParamFlags>,
    align: u32,
    dereferenceable: u32,
    byval: u32,
    byref: u32,
    elementtype: u32,
}

/// The numbers, which are the same for the whole process.
fn attribute_kinds() -> &'static AttributeKinds {
    static ATTRIBUTES: OnceLock<AttributeKinds> = OnceLock::new();
    ATTRIBUTES.get_or_init(AttributeKinds::new)
}

impl AttributeKinds {
    fn new() -> Self {
        let function = [
            ("alwaysinline", FuncFlags::ALWAYS_INLINE),
            ("noinline", FuncFlags::NO_INLINE),
            ("optnone", FuncFlags::OPT_NONE),
            ("convergent", FuncFlags::CONVERGENT),
            ("noreturn", FuncFlags::NO_RETURN),
            ("optsize", FuncFlags::OPT_SIZE),
            ("minsize", FuncFlags::OPT_SIZE),
            ("strictfp", FuncFlags::STRICT_FP),
        ];
        let param = [
            ("noalias", ParamFlags::NOALIAS),
            ("readonly", ParamFlags::READONLY),
            ("writeonly", ParamFlags::WRITEONLY),
            ("readnone", ParamFlags::READONLY.union(ParamFlags::WRITEONLY)),
            ("inreg", ParamFlags::INREG),
            ("sret", ParamFlags::SRET),
            ("zeroext", ParamFlags::ZEROEXT),
            ("signext", ParamFlags::SIGNEXT),
            ("nonnull", ParamFlags::NONNULL),
            ("noundef", ParamFlags::NOUNDEF),
        ];
        Self {
            function: by_kind(&function),
            param: by_kind(&param),
            align: llvm::attribute_kind("align"),
            dereferenceable: llvm::attribute_kind("dereferenceable"),
            byval: llvm::attribute_kind("byval"),
            byref: llvm::attribute_kind("byref"),
            elementtype: llvm::attribute_kind("elementtype"),
        }
    }
}

/// `flags` by LLVM's number of the attribute.
fn by_kind<T: Copy + Default>(flags: &[(&str, T)]) -> Vec<T> {
    let mut out = Vec::new();
    for &(name, flag) in flags {
        let kind = llvm::attribute_kind(name) as usize;
        if out.len() <= kind {
            out.resize(kind + 1, T::default());
        }
        out[kind] = flag;
    }
    out
}

/// Linkage in the IR's words.
pub(crate) fn linkage(value: ValueRef<'_>) -> Linkage {
    use LLVMLinkage::*;
    match value.linkage() {
        Some(LLVMAvailableExternallyLinkage) => Linkage::AvailableExternally,
        Some(LLVMLinkOnceAnyLinkage) => Linkage::LinkOnceAny,
        Some(LLVMLinkOnceODRLinkage | LLVMLinkOnceODRAutoHideLinkage) => Linkage::LinkOnceOdr,
        Some(LLVMWeakAnyLinkage) => Linkage::WeakAny,
        Some(LLVMWeakODRLinkage) => Linkage::WeakOdr,
        Some(LLVMAppendingLinkage) => Linkage::Appending,
        Some(LLVMInternalLinkage) => Linkage::Internal,
        Some(LLVMPrivateLinkage | LLVMLinkerPrivateLinkage | LLVMLinkerPrivateWeakLinkage) => {
            Linkage::Private
        }
        Some(LLVMExternalWeakLinkage) => Linkage::ExternalWeak,
        Some(LLVMCommonLinkage) => Linkage::Common,
        _ => Linkage::External,
    }
}

/// Visibility in the IR's words.
pub(crate) fn visibility(value: ValueRef<'_>) -> Visibility {
    match value.visibility() {
        Some(LLVMVisibility::LLVMHiddenVisibility) => Visibility::Hidden,
        Some(LLVMVisibility::LLVMProtectedVisibility) => Visibility::Protected,
        _ => Visibility::Default,
    }
}

/// Calling convention by LLVM's number (llvm/IR/CallingConv.h).
pub(crate) fn call_conv(number: u32) -> CallConv {
    match number {
        76 | 91 => CallConv::Kernel,
        0 | 8 | 9 | 75 => CallConv::Device,
        87 => CallConv::AmdgpuVs,
        88 => CallConv::AmdgpuGs,
        89 => CallConv::AmdgpuPs,
        90 => CallConv::AmdgpuCs,
        93 => CallConv::AmdgpuHs,
        95 => CallConv::AmdgpuLs,
        96 => CallConv::AmdgpuEs,
        100 => CallConv::AmdgpuGfx,
        other => CallConv::Other(other),
    }
}

impl<'m> Reader<'m> {
    /// Adds a function without its body.
    fn declare(&mut self, value: ValueRef<'m>, kinds: &AttributeKinds) {
        let mut function = Function::new(value.name(), call_conv(value.call_conv()), Type::Void);
        function.linkage = linkage(value);
        function.visibility = visibility(value);
        function.section = value.section();
        let meaning = match value.intrinsic_name().map(|name| name.strip_prefix("llvm.").unwrap_or(name)) {
            None => Meaning::Call,
            Some(name) => match Intrinsic::from_name(name) {
                Some(known) if known.props().contains(mir::ir::IntrinsicProps::DROPPED) => Meaning::Dropped,
                Some(known) => Meaning::Intrinsic(known),
                None => crate::strict::strict(name).map_or(Meaning::Call, Meaning::Strict),
            },
        };
        // What intrinsics promise is in the table of intrinsics.
        let attributes = if meaning == Meaning::Call { value.function_attributes() } else { Vec::new() };
        for attribute in attributes {
            match attribute.value() {
                AttributeValue::Enum(kind, _) => {
                    function.flags |= kinds.function.get(kind as usize).copied().unwrap_or_default();
                }
                AttributeValue::String(key, text) => {
                    if key == "runtime-handle" {
                        function.kernel.device_enqueue_symbol = Some(text.clone());
                    }
                    function.attributes.insert(key, text);
                }
                _ => {}
            }
        }
        let signature = self.signature(value, &mut function, kinds);
        if let Err(error) = signature {
            // A declaration that nothing uses may be anything; a use meets the same type again.
            if !value.is_declaration() {
                self.errors.push(error.in_function(&function.name));
            }
        }
        let func = self.module.functions.push(function);
        self.meanings[func] = meaning;
        self.symbols.insert(value, (SymbolRef::Func(func), 0));
    }

    fn signature(
        &mut self,
        value: ValueRef<'m>,
        function: &mut Function,
        kinds: &AttributeKinds,
    ) -> Result<()> {
        if let Some((ret, variadic)) = value.global_type().and_then(TypeRef::signature) {
            function.ret = self.ty(ret)?;
            function.variadic = variadic;
        }
        for attribute in value.return_attributes() {
            if let AttributeValue::Enum(kind, _) = attribute.value() {
                function.ret_flags |= kinds.param.get(kind as usize).copied().unwrap_or_default();
            }
        }
        for (index, param) in value.params().into_iter().enumerate() {
            if param.ty().kind() == llvm::LLVMTypeKind::LLVMMetadataTypeKind {
                // Of intrinsics; calls leave the argument out.
                continue;
            }
            let ty = self.ty(param.ty())?;
            function.add_param(ty, param.name());
            let Some(slot) = function.params.last_mut() else { continue };
            for attribute in value.param_attributes(index as u32) {
                self.param_attribute(slot, attribute.value(), kinds)?;
            }
        }
        Ok(())
    }

    fn param_attribute(
        &mut self,
        param: &mut Param,
        value: AttributeValue<'m>,
        kinds: &AttributeKinds,
    ) -> Result<()> {
        match value {
            AttributeValue::Enum(kind, number) => {
                param.flags |= kinds.param.get(kind as usize).copied().unwrap_or_default();
                if kind == kinds.align {
                    param.align_log2 = number.checked_ilog2().unwrap_or(0) as u8;
                } else if kind == kinds.dereferenceable {
                    param.dereferenceable_bytes = number;
                }
            }
            AttributeValue::Type(kind, ty) => {
                param.flags |= kinds.param.get(kind as usize).copied().unwrap_or_default();
                if kind == kinds.byval || kind == kinds.byref {
                    param.indirect = Some(IndirectParam { ty: self.ty(ty)?, by_value: kind == kinds.byval });
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// An attribute of an argument of a call.
    pub(crate) fn call_attribute(
        &mut self,
        argument: &mut mir::ir::CallArgument,
        value: AttributeValue<'m>,
    ) -> Result<()> {
        let kinds = attribute_kinds();
        let (kind, ty) = match value {
            AttributeValue::Enum(kind, number) => {
                if kind == kinds.align {
                    argument.align_log2 = number.checked_ilog2().unwrap_or(0) as u8;
                }
                (kind, None)
            }
            AttributeValue::Type(kind, ty) => (kind, Some(ty)),
            _ => return Ok(()),
        };
        argument.flags |= kinds.param.get(kind as usize).copied().unwrap_or_default();
        if let Some(ty) = ty
            && (kind == kinds.byval || kind == kinds.byref || kind == kinds.elementtype)
        {
            let by_value = kind == kinds.byval;
            argument.indirect = Some(IndirectParam { ty: self.ty(ty)?, by_value });
        }
        Ok(())
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
