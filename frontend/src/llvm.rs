//! Safe access to LLVM's C interface, for what inkwell lacks or panics on. All unsafe code of the crate is here.
//!
//! A wrapper (`ValueRef`, `TypeRef`, ...) is a copyable non-null pointer to an object that the module borrowed for `'m`
//! owns. LLVM's C functions cast without checking, so the rule that makes this module safe is: **a wrapper method calls
//! only functions that are defined for every object its type can hold; where a function wants a narrower kind, the
//! method checks the kind first** and answers with a neutral value otherwise. An [`InstRef`] carries its opcode so that
//! these checks cost a comparison. No method changes the module; a few intern constants or names in its context, which
//! `'m` borrows too and which is not shared between threads (inkwell's `Context` is not `Sync`).

use inkwell::context::Context;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::*;
use inkwell::llvm_sys::ir_reader::LLVMParseIRInContext2;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::support::LLVMParseCommandLineOptions;
pub use inkwell::llvm_sys::{
    LLVMAtomicOrdering, LLVMAtomicRMWBinOp, LLVMGEPFlagInBounds, LLVMGEPFlagNUW, LLVMIntPredicate,
    LLVMLinkage, LLVMOpcode, LLVMRealPredicate, LLVMTypeKind, LLVMValueKind, LLVMVisibility,
};
use inkwell::llvm_sys::{
    LLVMAttributeFunctionIndex, LLVMDiagnosticSeverity, error_handling::LLVMInstallFatalErrorHandler,
};
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::ptr::null_mut;

macro_rules! wrapper {
    ($(#[$doc:meta])* $name:ident, $raw:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $name<'m>($raw, PhantomData<&'m ()>);

        impl $name<'_> {
            #[allow(dead_code, reason = "not every kind of pointer can be null")]
            /// Wraps a pointer that LLVM returned; `None` for null. The caller promises that it lives for the lifetime.
            fn wrap(raw: $raw) -> Option<Self> {
                (!raw.is_null()).then_some(Self(raw, PhantomData))
            }
        }
    };
}

wrapper! {
    /// Any value: constant, argument, instruction, function, variable, metadata as a value.
    ValueRef, LLVMValueRef
}
wrapper! {
    /// A type.
    TypeRef, LLVMTypeRef
}
wrapper! {
    /// A basic block.
    BlockRef, LLVMBasicBlockRef
}
wrapper! {
    /// A metadata node or string.
    MetadataRef, LLVMMetadataRef
}
wrapper! {
    /// An attribute of a function or parameter.
    AttributeRef, LLVMAttributeRef
}
wrapper! {
    /// A module.
    ModuleRef, LLVMModuleRef
}

/// An instruction with its opcode.
#[derive(Clone, Copy, Debug)]
pub struct InstRef<'m> {
    value: ValueRef<'m>,
    opcode: LLVMOpcode,
}

/// A copy of `len` bytes of text at `data`.
///
/// # Safety
/// `data` is null or points to `len` readable bytes.
unsafe fn text(data: *const c_char, len: usize) -> String {
    if data.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(data.cast::<u8>(), len) }).into_owned()
}

/// Copies and frees a message that LLVM allocated.
///
/// # Safety
/// `message` is null or a string that `LLVMDisposeMessage` may free.
unsafe fn message(message: *mut c_char) -> String {
    if message.is_null() {
        return String::new();
    }
    // SAFETY: LLVM terminates its messages with a zero byte; freed once, here.
    unsafe {
        let copy = std::ffi::CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeMessage(message);
        copy
    }
}

extern "C" fn keep_first_error(info: LLVMDiagnosticInfoRef, slot: *mut c_void) {
    // SAFETY: LLVM passes a live diagnostic; `slot` is null or the `String` that `parse` lends for the call.
    unsafe {
        if LLVMGetDiagInfoSeverity(info) == LLVMDiagnosticSeverity::LLVMDSError && !slot.is_null() {
            let slot = &mut *slot.cast::<String>();
            let described = message(LLVMGetDiagInfoDescription(info));
            if slot.is_empty() {
                *slot = described;
            }
        }
    }
}

extern "C" fn fatal_error(reason: *const c_char) {
    // LLVM ends the process when this returns. Unwinding through its frames is not possible: say whose fault it is.
    // SAFETY: LLVM passes a zero-terminated string.
    let reason = unsafe { std::ffi::CStr::from_ptr(reason) };
    eprintln!("gcnc: error: LLVM cannot go on reading this input: {}", reason.to_string_lossy());
}

/// Settles, once in a process, what LLVM does by default where input is bad: a handler for fatal errors, and no
/// automatic upgrade of debug information, whose own run of the verifier ends the process when the module is broken (we
/// run the verifier ourselves, and take broken debug information away).
fn settle() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    let args = [c"gcnc".as_ptr(), c"-disable-auto-upgrade-debug-info".as_ptr()];
    // SAFETY: the handler lives for ever and is thread-safe; the strings are zero-terminated; `Once` serialises.
    ONCE.call_once(|| unsafe {
        LLVMInstallFatalErrorHandler(Some(fatal_error));
        LLVMParseCommandLineOptions(args.len() as c_int, args.as_ptr(), c"".as_ptr());
    });
}

/// Takes all debug information out of a module.
pub fn strip_debug_info(module: &Module<'_>) {
    // SAFETY: the module is live, and nothing of it is borrowed by our wrappers before it is valid.
    unsafe { LLVMStripModuleDebugInfo(module.as_mut_ptr()) };
}

/// Parses bitcode or text. Errors are LLVM's message as it is.
pub fn parse<'c>(context: &'c Context, bytes: &[u8], name: &str) -> Result<Module<'c>, String> {
    settle();
    let name: String = name.chars().filter(|&c| c != '\0').collect();
    let buffer = MemoryBuffer::create_from_memory_range_copy(bytes, &name);
    let (mut module, mut error, mut reported) = (null_mut(), null_mut(), String::new());
    let raw = context.raw();
    // SAFETY: all pointers are live; the handler's slot outlives the parse and is taken away after it. This form of the
    // function leaves the buffer to us. Without a handler LLVM would end the process on an error diagnostic.
    let failed = unsafe {
        LLVMContextSetDiagnosticHandler(raw, Some(keep_first_error), (&raw mut reported).cast());
        let failed = LLVMParseIRInContext2(raw, buffer.as_mut_ptr(), &mut module, &mut error);
        LLVMContextSetDiagnosticHandler(raw, Some(keep_first_error), null_mut());
        failed != 0 || module.is_null()
    };
    if failed {
        // SAFETY: on failure LLVM hands over the message.
        let parsed = unsafe { message(error) };
        return Err(if parsed.is_empty() { reported } else { parsed });
    }
    // SAFETY: a fresh module of this context, which inkwell now owns.
    Ok(unsafe { Module::new(module) })
}

impl<'m> ModuleRef<'m> {
    /// The module behind inkwell's.
    pub fn of(module: &'m Module<'_>) -> Self {
        Self(module.as_mut_ptr(), PhantomData)
    }

    fn context(self) -> LLVMContextRef {
        // SAFETY: the module is live.
        unsafe { LLVMGetModuleContext(self.0) }
    }

    /// Target triple as written.
    pub fn triple(self) -> String {
        // SAFETY: LLVM returns a zero-terminated string that the module owns.
        unsafe { std::ffi::CStr::from_ptr(LLVMGetTarget(self.0)).to_string_lossy().into_owned() }
    }

    /// Data layout as written, empty for LLVM's default.
    pub fn data_layout(self) -> String {
        // SAFETY: as above.
        unsafe { std::ffi::CStr::from_ptr(LLVMGetDataLayoutStr(self.0)).to_string_lossy().into_owned() }
    }

    /// Module-level assembly.
    pub fn inline_asm(self) -> String {
        let mut len = 0;
        // SAFETY: LLVM writes the length of the string it returns.
        unsafe {
            let data = LLVMGetModuleInlineAsm(self.0, &mut len);
            text(data, len)
        }
    }

    /// All functions in order.
    pub fn functions(self) -> impl Iterator<Item = ValueRef<'m>> {
        // SAFETY: the module is live, and so is each function of its list.
        let first = unsafe { LLVMGetFirstFunction(self.0) };
        std::iter::successors(ValueRef::wrap(first), |f| ValueRef::wrap(unsafe { LLVMGetNextFunction(f.0) }))
    }

    /// All variables in order.
    pub fn globals(self) -> impl Iterator<Item = ValueRef<'m>> {
        // SAFETY: as for functions.
        let first = unsafe { LLVMGetFirstGlobal(self.0) };
        std::iter::successors(ValueRef::wrap(first), |g| ValueRef::wrap(unsafe { LLVMGetNextGlobal(g.0) }))
    }

    /// All aliases in order.
    pub fn aliases(self) -> impl Iterator<Item = ValueRef<'m>> {
        // SAFETY: as for functions.
        let first = unsafe { LLVMGetFirstGlobalAlias(self.0) };
        std::iter::successors(ValueRef::wrap(first), |a| {
            ValueRef::wrap(unsafe { LLVMGetNextGlobalAlias(a.0) })
        })
    }

    /// Value of an integer module flag.
    pub fn flag(self, key: &str) -> Option<u64> {
        // SAFETY: key and length describe one string.
        let metadata = unsafe { LLVMGetModuleFlag(self.0, key.as_ptr().cast(), key.len()) };
        self.as_value(MetadataRef::wrap(metadata)?).node_operands().first().copied()??.as_u64()
    }

    /// Operands of a named metadata node.
    pub fn named_metadata(self, name: &std::ffi::CStr) -> Vec<ValueRef<'m>> {
        // SAFETY: the array has as many elements as LLVM says it will write.
        unsafe {
            let count = LLVMGetNamedMetadataNumOperands(self.0, name.as_ptr()) as usize;
            let mut raw = vec![null_mut(); count];
            LLVMGetNamedMetadataOperands(self.0, name.as_ptr(), raw.as_mut_ptr());
            raw.into_iter().filter_map(ValueRef::wrap).collect()
        }
    }

    /// A metadata node as a value, whose operands can be asked for.
    pub fn as_value(self, metadata: MetadataRef<'m>) -> ValueRef<'m> {
        // SAFETY: both belong to this context; LLVM never returns null here.
        ValueRef(unsafe { LLVMMetadataAsValue(self.context(), metadata.0) }, PhantomData)
    }

    /// LLVM's number of a metadata kind.
    pub fn metadata_kind(self, name: &str) -> u32 {
        // SAFETY: name and length describe one string.
        unsafe { LLVMGetMDKindIDInContext(self.context(), name.as_ptr().cast(), name.len() as c_uint) }
    }

    /// LLVM's number of a synchronisation scope.
    pub fn sync_scope(self, name: &str) -> u32 {
        // SAFETY: name and length describe one string.
        unsafe { LLVMGetSyncScopeID(self.context(), name.as_ptr().cast(), name.len()) }
    }

    /// The integer constant with the bits of the floating-point constant `value` (exact, signalling NaNs too).
    pub fn float_bits(self, value: ValueRef<'m>) -> Option<u64> {
        let bits = match value.ty().kind() {
            LLVMTypeKind::LLVMHalfTypeKind | LLVMTypeKind::LLVMBFloatTypeKind => 16,
            LLVMTypeKind::LLVMFloatTypeKind => 32,
            LLVMTypeKind::LLVMDoubleTypeKind => 64,
            _ => return None,
        };
        if value.kind() != LLVMValueKind::LLVMConstantFPValueKind {
            return None;
        }
        // SAFETY: a bit-cast between types of one width, which LLVM folds; the kind of the result is checked.
        let cast = unsafe { LLVMConstBitCast(value.0, LLVMIntTypeInContext(self.context(), bits)) };
        ValueRef::wrap(cast)?.as_u64()
    }
}

/// LLVM's number of an attribute, 0 when there is none of that name.
pub fn attribute_kind(name: &str) -> u32 {
    // SAFETY: name and length describe one string.
    unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) }
}

/// What an attribute says.
pub enum AttributeValue<'m> {
    /// Kind number and integer (0 for a plain attribute).
    Enum(u32, u64),
    /// Kind number and type.
    Type(u32, TypeRef<'m>),
    /// Key and value.
    String(String, String),
    /// Anything else (constant ranges).
    Other,
}

impl<'m> AttributeRef<'m> {
    /// The attribute's contents.
    pub fn value(self) -> AttributeValue<'m> {
        // SAFETY: each accessor is called after the test for its kind of attribute.
        unsafe {
            if LLVMIsEnumAttribute(self.0) != 0 {
                return AttributeValue::Enum(
                    LLVMGetEnumAttributeKind(self.0),
                    LLVMGetEnumAttributeValue(self.0),
                );
            }
            if LLVMIsTypeAttribute(self.0) != 0 {
                return match TypeRef::wrap(LLVMGetTypeAttributeValue(self.0)) {
                    Some(ty) => AttributeValue::Type(LLVMGetEnumAttributeKind(self.0), ty),
                    None => AttributeValue::Other,
                };
            }
            if LLVMIsStringAttribute(self.0) != 0 {
                let (mut key_len, mut value_len) = (0, 0);
                let key = LLVMGetStringAttributeKind(self.0, &mut key_len);
                let value = LLVMGetStringAttributeValue(self.0, &mut value_len);
                return AttributeValue::String(text(key, key_len as usize), text(value, value_len as usize));
            }
            AttributeValue::Other
        }
    }
}

impl<'m> TypeRef<'m> {
    /// Kind.
    pub fn kind(self) -> LLVMTypeKind {
        // SAFETY: the type is live.
        unsafe { LLVMGetTypeKind(self.0) }
    }

    /// Width of an integer type, 0 for others.
    pub fn int_bits(self) -> u32 {
        if self.kind() != LLVMTypeKind::LLVMIntegerTypeKind {
            return 0;
        }
        // SAFETY: an integer type.
        unsafe { LLVMGetIntTypeWidth(self.0) }
    }

    /// Address space of a pointer type, 0 for others.
    pub fn address_space(self) -> u32 {
        if self.kind() != LLVMTypeKind::LLVMPointerTypeKind {
            return 0;
        }
        // SAFETY: a pointer type.
        unsafe { LLVMGetPointerAddressSpace(self.0) }
    }

    /// Element type and length of an array or fixed vector.
    pub fn sequence(self) -> Option<(TypeRef<'m>, u64)> {
        // SAFETY: the functions match the kind.
        let (element, len) = unsafe {
            match self.kind() {
                LLVMTypeKind::LLVMArrayTypeKind => (LLVMGetElementType(self.0), LLVMGetArrayLength2(self.0)),
                LLVMTypeKind::LLVMVectorTypeKind => {
                    (LLVMGetElementType(self.0), u64::from(LLVMGetVectorSize(self.0)))
                }
                _ => return None,
            }
        };
        Some((TypeRef::wrap(element)?, len))
    }

    /// Field types and packedness of a struct with a body.
    pub fn fields(self) -> Option<(Vec<TypeRef<'m>>, bool)> {
        if self.kind() != LLVMTypeKind::LLVMStructTypeKind {
            return None;
        }
        // SAFETY: a struct; the array has as many elements as LLVM says it will write.
        unsafe {
            if LLVMIsOpaqueStruct(self.0) != 0 {
                return None;
            }
            let mut raw = vec![null_mut(); LLVMCountStructElementTypes(self.0) as usize];
            LLVMGetStructElementTypes(self.0, raw.as_mut_ptr());
            Some((raw.into_iter().filter_map(TypeRef::wrap).collect(), LLVMIsPackedStruct(self.0) != 0))
        }
    }

    /// Return type, parameter types and whether more arguments may follow, of a function type.
    pub fn signature(self) -> Option<(TypeRef<'m>, bool)> {
        if self.kind() != LLVMTypeKind::LLVMFunctionTypeKind {
            return None;
        }
        // SAFETY: a function type.
        unsafe { Some((TypeRef::wrap(LLVMGetReturnType(self.0))?, LLVMIsFunctionVarArg(self.0) != 0)) }
    }

    /// LLVM's text.
    pub fn print(self) -> String {
        // SAFETY: LLVM hands over the message.
        unsafe { message(LLVMPrintTypeToString(self.0)) }
    }
}

impl<'m> BlockRef<'m> {
    /// The function around it.
    pub fn function(self) -> Option<ValueRef<'m>> {
        // SAFETY: the block is live.
        ValueRef::wrap(unsafe { LLVMGetBasicBlockParent(self.0) })
    }

    /// Instructions in order.
    pub fn insts(self) -> impl Iterator<Item = InstRef<'m>> {
        // SAFETY: the block is live, and so is each instruction of its list.
        let first = unsafe { LLVMGetFirstInstruction(self.0) };
        std::iter::successors(ValueRef::wrap(first), |i| {
            ValueRef::wrap(unsafe { LLVMGetNextInstruction(i.0) })
        })
        // SAFETY: members of an instruction list are instructions.
        .map(|value| InstRef { value, opcode: unsafe { LLVMGetInstructionOpcode(value.0) } })
    }
}

impl<'m> ValueRef<'m> {
    /// Kind.
    pub fn kind(self) -> LLVMValueKind {
        // SAFETY: the value is live.
        unsafe { LLVMGetValueKind(self.0) }
    }

    /// Type.
    pub fn ty(self) -> TypeRef<'m> {
        // SAFETY: every value has a type.
        TypeRef(unsafe { LLVMTypeOf(self.0) }, PhantomData)
    }

    /// Name, empty where there is none.
    pub fn name(self) -> String {
        let mut len = 0;
        // SAFETY: LLVM writes the length of the string it returns.
        unsafe {
            let data = LLVMGetValueName2(self.0, &mut len);
            text(data, len)
        }
    }

    /// LLVM's text, without leading blanks, first line only.
    pub fn print(self) -> String {
        // SAFETY: LLVM hands over the message.
        let whole = unsafe { message(LLVMPrintValueToString(self.0)) };
        whole.trim().lines().next().unwrap_or_default().to_owned()
    }

    fn is_user(self) -> bool {
        // SAFETY: a checked cast.
        unsafe { !LLVMIsAUser(self.0).is_null() }
    }

    /// Number of operands; 0 for values without any.
    pub fn num_operands(self) -> u32 {
        if !self.is_user() {
            return 0;
        }
        // SAFETY: the value is a user.
        unsafe { LLVMGetNumOperands(self.0) }.max(0) as u32
    }

    /// Operand `index`, where there is one.
    pub fn operand(self, index: u32) -> Option<ValueRef<'m>> {
        // SAFETY: the index is in range.
        (index < self.num_operands()).then(|| ValueRef::wrap(unsafe { LLVMGetOperand(self.0, index) }))?
    }

    /// The low 64 bits of an integer constant, zero-extended.
    pub fn as_u64(self) -> Option<u64> {
        // SAFETY: `LLVMIsAConstantInt` is a checked cast; wider constants give their low word.
        unsafe { (!LLVMIsAConstantInt(self.0).is_null()).then(|| LLVMConstIntGetZExtValue(self.0)) }
    }

    /// The value of an integer constant of up to 64 bits, sign-extended.
    pub fn as_i64(self) -> Option<i64> {
        let bits = self.ty().int_bits();
        let value = self.as_u64()?;
        (1..=64).contains(&bits).then(|| (value << (64 - bits)) as i64 >> (64 - bits))
    }

    /// Opcode of a constant expression.
    pub fn const_opcode(self) -> Option<LLVMOpcode> {
        // SAFETY: called on constant expressions only.
        (self.kind() == LLVMValueKind::LLVMConstantExprValueKind)
            .then(|| unsafe { LLVMGetConstOpcode(self.0) })
    }

    /// Element `index` of a constant aggregate or vector.
    pub fn element(self, index: u32) -> Option<ValueRef<'m>> {
        // SAFETY: LLVM checks constant and index (null when there is no such element).
        unsafe {
            if LLVMIsConstant(self.0) == 0 {
                return None;
            }
            ValueRef::wrap(LLVMGetAggregateElement(self.0, index))
        }
    }

    /// Bytes of a constant array or vector of simple elements, in the host's (little-endian) order.
    pub fn raw_data(self) -> Option<&'m [u8]> {
        // SAFETY: `LLVMIsAConstantDataSequential` is a checked cast. LLVM stores the length through its second argument,
        // a `size_t*` that llvm-sys declares as `usize`; the data lives as long as the context.
        unsafe {
            if LLVMIsAConstantDataSequential(self.0).is_null() {
                return None;
            }
            let mut len = 0usize;
            let data = LLVMGetRawDataValues(self.0, (&raw mut len) as usize);
            (!data.is_null()).then(|| std::slice::from_raw_parts(data.cast(), len))
        }
    }

    /// The type that a `getelementptr` instruction or constant expression steps through.
    pub fn gep_source_type(self) -> Option<TypeRef<'m>> {
        // SAFETY: `LLVMIsAGetElementPtrInst` is a checked cast for instructions, the opcode for expressions.
        unsafe {
            let expression = self.const_opcode() == Some(LLVMOpcode::LLVMGetElementPtr);
            if !expression && LLVMIsAGetElementPtrInst(self.0).is_null() {
                return None;
            }
            TypeRef::wrap(LLVMGetGEPSourceElementType(self.0))
        }
    }

    /// No-wrap flags of a `getelementptr`.
    pub fn gep_flags(self) -> c_uint {
        // SAFETY: called on what `gep_source_type` accepts.
        if self.gep_source_type().is_some() { unsafe { LLVMGEPGetNoWrapFlags(self.0) } } else { 0 }
    }

    /// Text and constraints of inline assembly, and whether it has side effects.
    pub fn inline_asm(self) -> Option<(String, String, bool)> {
        // SAFETY: `LLVMIsAInlineAsm` is a checked cast; LLVM writes the lengths of the strings it returns.
        unsafe {
            if LLVMIsAInlineAsm(self.0).is_null() {
                return None;
            }
            let (mut text_len, mut constraints_len) = (0, 0);
            let asm = LLVMGetInlineAsmAsmString(self.0, &mut text_len);
            let constraints = LLVMGetInlineAsmConstraintString(self.0, &mut constraints_len);
            let effects = LLVMGetInlineAsmHasSideEffects(self.0) != 0;
            Some((text(asm, text_len), text(constraints, constraints_len), effects))
        }
    }

    /// The value as an instruction.
    pub fn as_inst(self) -> Option<InstRef<'m>> {
        // SAFETY: the opcode is read from instructions only.
        (self.kind() == LLVMValueKind::LLVMInstructionValueKind)
            .then(|| InstRef { value: self, opcode: unsafe { LLVMGetInstructionOpcode(self.0) } })
    }

    // Global values.

    fn is_global(self) -> bool {
        // SAFETY: a checked cast.
        unsafe { !LLVMIsAGlobalValue(self.0).is_null() }
    }

    fn is_function(self) -> bool {
        self.kind() == LLVMValueKind::LLVMFunctionValueKind
    }

    fn is_variable(self) -> bool {
        self.kind() == LLVMValueKind::LLVMGlobalVariableValueKind
    }

    /// Type of what a symbol names: value type of a variable, function type of a function.
    pub fn global_type(self) -> Option<TypeRef<'m>> {
        // SAFETY: called on global values only.
        self.is_global().then(|| TypeRef::wrap(unsafe { LLVMGlobalGetValueType(self.0) }))?
    }

    /// Whether a symbol has no definition here.
    pub fn is_declaration(self) -> bool {
        // SAFETY: called on global values only.
        self.is_global() && unsafe { LLVMIsDeclaration(self.0) != 0 }
    }

    /// Linkage of a symbol.
    pub fn linkage(self) -> Option<LLVMLinkage> {
        // SAFETY: called on global values only.
        self.is_global().then(|| unsafe { LLVMGetLinkage(self.0) })
    }

    /// Visibility of a symbol.
    pub fn visibility(self) -> Option<LLVMVisibility> {
        // SAFETY: called on global values only.
        self.is_global().then(|| unsafe { LLVMGetVisibility(self.0) })
    }

    /// Section of a function or variable.
    pub fn section(self) -> String {
        if !self.is_function() && !self.is_variable() {
            return String::new();
        }
        // SAFETY: called on global objects only; the string is zero-terminated or null.
        unsafe {
            let section = LLVMGetSection(self.0);
            if section.is_null() {
                return String::new();
            }
            std::ffi::CStr::from_ptr(section).to_string_lossy().into_owned()
        }
    }

    /// Explicit alignment of a variable in bytes, 0 where absent.
    pub fn global_alignment(self) -> u32 {
        // SAFETY: called on variables only.
        if self.is_variable() { unsafe { LLVMGetAlignment(self.0) } } else { 0 }
    }

    /// Initialiser of a variable.
    pub fn initializer(self) -> Option<ValueRef<'m>> {
        // SAFETY: called on variables only.
        self.is_variable().then(|| ValueRef::wrap(unsafe { LLVMGetInitializer(self.0) }))?
    }

    /// Whether a variable never changes.
    pub fn is_constant_variable(self) -> bool {
        // SAFETY: called on variables only.
        self.is_variable() && unsafe { LLVMIsGlobalConstant(self.0) != 0 }
    }

    /// Whether a variable exists once for each thread.
    pub fn is_thread_local(self) -> bool {
        // SAFETY: called on variables only.
        self.is_variable() && unsafe { LLVMIsThreadLocal(self.0) != 0 }
    }

    /// What an alias stands for.
    pub fn aliasee(self) -> Option<ValueRef<'m>> {
        // SAFETY: called on aliases only.
        (self.kind() == LLVMValueKind::LLVMGlobalAliasValueKind)
            .then(|| ValueRef::wrap(unsafe { LLVMAliasGetAliasee(self.0) }))?
    }

    // Functions.

    /// Base name (without overload suffix) of an intrinsic's declaration.
    pub fn intrinsic_name(self) -> Option<&'static str> {
        if !self.is_function() {
            return None;
        }
        // SAFETY: called on functions; names of intrinsics live in LLVM's static tables and are ASCII.
        unsafe {
            let id = LLVMGetIntrinsicID(self.0);
            if id == 0 {
                return None;
            }
            let mut len = 0;
            let name = LLVMIntrinsicGetName(id, &mut len);
            std::str::from_utf8(std::slice::from_raw_parts(name.cast::<u8>(), len)).ok()
        }
    }

    /// Calling convention of a function.
    pub fn call_conv(self) -> u32 {
        // SAFETY: called on functions only.
        if self.is_function() { unsafe { LLVMGetFunctionCallConv(self.0) } } else { 0 }
    }

    /// Parameters of a function.
    pub fn params(self) -> Vec<ValueRef<'m>> {
        if !self.is_function() {
            return Vec::new();
        }
        // SAFETY: a function; the array has as many elements as LLVM says it will write.
        unsafe {
            let mut raw = vec![null_mut(); LLVMCountParams(self.0) as usize];
            LLVMGetParams(self.0, raw.as_mut_ptr());
            raw.into_iter().filter_map(ValueRef::wrap).collect()
        }
    }

    /// Blocks of a function in order, the entry first.
    pub fn blocks(self) -> Vec<BlockRef<'m>> {
        if !self.is_function() {
            return Vec::new();
        }
        // SAFETY: as for parameters.
        unsafe {
            let mut raw = vec![null_mut(); LLVMCountBasicBlocks(self.0) as usize];
            LLVMGetBasicBlocks(self.0, raw.as_mut_ptr());
            raw.into_iter().filter_map(BlockRef::wrap).collect()
        }
    }

    /// Block of a `blockaddress`.
    pub fn block_address(self) -> Option<BlockRef<'m>> {
        if self.kind() != LLVMValueKind::LLVMBlockAddressValueKind {
            return None;
        }
        // SAFETY: a block address; the block lives as long as the module.
        BlockRef::wrap(unsafe { LLVMGetBlockAddressBasicBlock(self.0) })
    }

    fn attributes_at(self, index: c_uint) -> Vec<AttributeRef<'m>> {
        if !self.is_function() {
            return Vec::new();
        }
        // SAFETY: as for parameters.
        unsafe {
            let mut raw = vec![null_mut(); LLVMGetAttributeCountAtIndex(self.0, index) as usize];
            LLVMGetAttributesAtIndex(self.0, index, raw.as_mut_ptr());
            raw.into_iter().filter_map(AttributeRef::wrap).collect()
        }
    }

    /// Attributes of the function itself.
    pub fn function_attributes(self) -> Vec<AttributeRef<'m>> {
        self.attributes_at(LLVMAttributeFunctionIndex)
    }

    /// Attributes of the result.
    pub fn return_attributes(self) -> Vec<AttributeRef<'m>> {
        self.attributes_at(0)
    }

    /// Attributes of parameter `index`.
    pub fn param_attributes(self, index: u32) -> Vec<AttributeRef<'m>> {
        self.attributes_at(index.saturating_add(1))
    }

    /// All metadata of a function or variable: kind number and node.
    pub fn global_metadata(self) -> Vec<(u32, MetadataRef<'m>)> {
        if !self.is_function() && !self.is_variable() {
            return Vec::new();
        }
        // SAFETY: a global object; indices are below the count that LLVM wrote; the array is freed once.
        unsafe {
            let mut count = 0;
            let entries = LLVMGlobalCopyAllMetadata(self.0, &mut count);
            let all = (0..count as c_uint)
                .filter_map(|i| {
                    let node = MetadataRef::wrap(LLVMValueMetadataEntriesGetMetadata(entries, i))?;
                    Some((LLVMValueMetadataEntriesGetKind(entries, i), node))
                })
                .collect();
            LLVMDisposeValueMetadataEntries(entries);
            all
        }
    }

    /// The `DISubprogram` of a function.
    pub fn subprogram(self) -> Option<MetadataRef<'m>> {
        // SAFETY: called on functions only.
        self.is_function().then(|| MetadataRef::wrap(unsafe { LLVMGetSubprogram(self.0) }))?
    }

    // Metadata as values.

    /// Operands of a metadata node; absent ones are `None`.
    pub fn node_operands(self) -> Vec<Option<ValueRef<'m>>> {
        // SAFETY: `LLVMIsAMDNode` is a checked cast (a constant in metadata is none); the array has the right length.
        unsafe {
            if LLVMIsAMDNode(self.0).is_null() {
                return Vec::new();
            }
            let mut raw = vec![null_mut(); LLVMGetMDNodeNumOperands(self.0) as usize];
            LLVMGetMDNodeOperands(self.0, raw.as_mut_ptr());
            raw.into_iter().map(ValueRef::wrap).collect()
        }
    }

    /// Text of a metadata string.
    pub fn md_string(self) -> Option<String> {
        let mut len = 0;
        // SAFETY: `LLVMGetMDString` returns null for anything but a string; guarded because it casts to metadata first.
        unsafe {
            if LLVMIsAMDString(self.0).is_null() {
                return None;
            }
            let data = LLVMGetMDString(self.0, &mut len);
            (!data.is_null()).then(|| text(data, len as usize))
        }
    }

    /// Whether a constant floating-point number; its value as a double.
    pub fn as_f64(self) -> Option<f64> {
        let mut lossy = 0;
        // SAFETY: `LLVMIsAConstantFP` is a checked cast.
        unsafe { (!LLVMIsAConstantFP(self.0).is_null()).then(|| LLVMConstRealGetDouble(self.0, &mut lossy)) }
    }
}

impl<'m> MetadataRef<'m> {
    /// Number that tells nodes apart.
    pub fn id(self) -> usize {
        self.0 as usize
    }

    /// Directory and name of the file that a debug scope (or file) belongs to.
    pub fn scope_file(self) -> Option<(String, String)> {
        use LLVMMetadataKind::*;
        // SAFETY: the metadata's kind is checked to be a scope; LLVM writes the lengths of its strings.
        unsafe {
            let scope = matches!(
                LLVMGetMetadataKind(self.0),
                LLVMDIFileMetadataKind
                    | LLVMDICompileUnitMetadataKind
                    | LLVMDISubprogramMetadataKind
                    | LLVMDILexicalBlockMetadataKind
                    | LLVMDILexicalBlockFileMetadataKind
                    | LLVMDINamespaceMetadataKind
                    | LLVMDIModuleMetadataKind
                    | LLVMDICompositeTypeMetadataKind
                    | LLVMDICommonBlockMetadataKind
            );
            if !scope {
                return None;
            }
            let file = LLVMDIScopeGetFile(self.0);
            if file.is_null() {
                return None;
            }
            let (mut directory_len, mut name_len) = (0, 0);
            let directory = LLVMDIFileGetDirectory(file, &mut directory_len);
            let name = LLVMDIFileGetFilename(file, &mut name_len);
            Some((text(directory, directory_len as usize), text(name, name_len as usize)))
        }
    }

    /// Line of a `DISubprogram`.
    pub fn subprogram_line(self) -> u32 {
        // SAFETY: the kind is checked.
        unsafe {
            match LLVMGetMetadataKind(self.0) {
                LLVMMetadataKind::LLVMDISubprogramMetadataKind => LLVMDISubprogramGetLine(self.0),
                _ => 0,
            }
        }
    }
}

/// Opcodes whose instructions have an alignment.
fn has_alignment(opcode: LLVMOpcode) -> bool {
    use LLVMOpcode::*;
    matches!(opcode, LLVMAlloca | LLVMLoad | LLVMStore | LLVMAtomicRMW | LLVMAtomicCmpXchg)
}

impl<'m> InstRef<'m> {
    /// Opcode.
    pub fn opcode(self) -> LLVMOpcode {
        self.opcode
    }

    /// The instruction as a value.
    pub fn value(self) -> ValueRef<'m> {
        self.value
    }

    fn raw(self) -> LLVMValueRef {
        self.value.0
    }

    /// Number of operands.
    pub fn num_operands(self) -> u32 {
        // SAFETY: instructions are users.
        unsafe { LLVMGetNumOperands(self.raw()) }.max(0) as u32
    }

    /// Operand `index`, where there is one.
    pub fn operand(self, index: u32) -> Option<ValueRef<'m>> {
        // SAFETY: the index is in range.
        (index < self.num_operands()).then(|| ValueRef::wrap(unsafe { LLVMGetOperand(self.raw(), index) }))?
    }

    fn flag(self, opcodes: &[LLVMOpcode], read: unsafe extern "C" fn(LLVMValueRef) -> LLVMBool) -> bool {
        // SAFETY: `read` is defined for the opcodes that the callers below list.
        opcodes.contains(&self.opcode) && unsafe { read(self.raw()) != 0 }
    }

    /// `nuw`.
    pub fn nuw(self) -> bool {
        use LLVMOpcode::*;
        self.flag(&[LLVMAdd, LLVMSub, LLVMMul, LLVMShl, LLVMTrunc], LLVMGetNUW)
    }

    /// `nsw`.
    pub fn nsw(self) -> bool {
        use LLVMOpcode::*;
        self.flag(&[LLVMAdd, LLVMSub, LLVMMul, LLVMShl, LLVMTrunc], LLVMGetNSW)
    }

    /// `exact`.
    pub fn exact(self) -> bool {
        use LLVMOpcode::*;
        self.flag(&[LLVMUDiv, LLVMSDiv, LLVMLShr, LLVMAShr], LLVMGetExact)
    }

    /// `disjoint`.
    pub fn disjoint(self) -> bool {
        self.flag(&[LLVMOpcode::LLVMOr], LLVMGetIsDisjoint)
    }

    /// `nneg`.
    pub fn nneg(self) -> bool {
        self.flag(&[LLVMOpcode::LLVMZExt, LLVMOpcode::LLVMUIToFP], LLVMGetNNeg)
    }

    /// `samesign`.
    pub fn same_sign(self) -> bool {
        self.flag(&[LLVMOpcode::LLVMICmp], LLVMGetICmpSameSign)
    }

    /// `volatile`.
    pub fn volatile(self) -> bool {
        use LLVMOpcode::*;
        self.flag(&[LLVMLoad, LLVMStore, LLVMAtomicRMW, LLVMAtomicCmpXchg], LLVMGetVolatile)
    }

    /// `weak`.
    pub fn weak(self) -> bool {
        self.flag(&[LLVMOpcode::LLVMAtomicCmpXchg], LLVMGetWeak)
    }

    /// Fast-math flags in LLVM's bits, 0 where the instruction takes none.
    pub fn fast_math(self) -> c_uint {
        // SAFETY: asked for only where LLVM says that it may be.
        unsafe {
            if LLVMCanValueUseFastMathFlags(self.raw()) == 0 {
                return 0;
            }
            LLVMGetFastMathFlags(self.raw())
        }
    }

    /// Predicate of an `icmp`.
    pub fn int_predicate(self) -> Option<LLVMIntPredicate> {
        // SAFETY: an `icmp`.
        (self.opcode == LLVMOpcode::LLVMICmp).then(|| unsafe { LLVMGetICmpPredicate(self.raw()) })
    }

    /// Predicate of an `fcmp`.
    pub fn float_predicate(self) -> Option<LLVMRealPredicate> {
        // SAFETY: an `fcmp`.
        (self.opcode == LLVMOpcode::LLVMFCmp).then(|| unsafe { LLVMGetFCmpPredicate(self.raw()) })
    }

    /// Type of one element of an `alloca`.
    pub fn allocated_type(self) -> Option<TypeRef<'m>> {
        // SAFETY: an `alloca`.
        (self.opcode == LLVMOpcode::LLVMAlloca)
            .then(|| TypeRef::wrap(unsafe { LLVMGetAllocatedType(self.raw()) }))?
    }

    /// Alignment in bytes of a memory access or `alloca`, 0 for others.
    pub fn alignment(self) -> u32 {
        // SAFETY: asked for only where LLVM has one.
        if has_alignment(self.opcode) { unsafe { LLVMGetAlignment(self.raw()) } } else { 0 }
    }

    /// Ordering of an access or fence; success and failure ordering of a `cmpxchg`.
    pub fn orderings(self) -> [LLVMAtomicOrdering; 2] {
        use LLVMOpcode::*;
        // SAFETY: the functions match the opcodes.
        unsafe {
            match self.opcode {
                LLVMLoad | LLVMStore | LLVMFence | LLVMAtomicRMW => [LLVMGetOrdering(self.raw()); 2],
                LLVMAtomicCmpXchg => {
                    [LLVMGetCmpXchgSuccessOrdering(self.raw()), LLVMGetCmpXchgFailureOrdering(self.raw())]
                }
                _ => [LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic; 2],
            }
        }
    }

    /// Number of the synchronisation scope of an atomic access or fence.
    pub fn sync_scope(self) -> Option<u32> {
        // SAFETY: asked for only where LLVM says that the instruction is atomic.
        unsafe { (LLVMIsAtomic(self.raw()) != 0).then(|| LLVMGetAtomicSyncScopeID(self.raw())) }
    }

    /// Operation of an `atomicrmw`.
    pub fn rmw_op(self) -> Option<LLVMAtomicRMWBinOp> {
        // SAFETY: an `atomicrmw`.
        (self.opcode == LLVMOpcode::LLVMAtomicRMW).then(|| unsafe { LLVMGetAtomicRMWBinOp(self.raw()) })
    }

    /// Mask of a `shufflevector`, `None` for poison lanes.
    pub fn shuffle_mask(self) -> Vec<Option<u32>> {
        shuffle_mask(self.value, self.opcode)
    }

    /// Index path of an `extractvalue` or `insertvalue`.
    pub fn indices(self) -> &'m [u32] {
        if !matches!(self.opcode, LLVMOpcode::LLVMExtractValue | LLVMOpcode::LLVMInsertValue) {
            return &[];
        }
        // SAFETY: the instruction owns an array of that length.
        unsafe {
            let len = LLVMGetNumIndices(self.raw()) as usize;
            let data = LLVMGetIndices(self.raw());
            if len == 0 || data.is_null() { &[] } else { std::slice::from_raw_parts(data, len) }
        }
    }

    /// Successors of a terminator.
    pub fn successors(self) -> impl Iterator<Item = BlockRef<'m>> {
        use LLVMOpcode::*;
        let raw = self.raw();
        let count = match self.opcode {
            // SAFETY: terminators.
            LLVMBr | LLVMSwitch | LLVMIndirectBr | LLVMInvoke => unsafe { LLVMGetNumSuccessors(raw) },
            _ => 0,
        };
        // SAFETY: indices are below the count.
        (0..count).filter_map(move |i| BlockRef::wrap(unsafe { LLVMGetSuccessor(raw, i) }))
    }

    /// Value of the case that leads to successor `index` (from 1) of a `switch`.
    pub fn switch_case(self, index: u32) -> Option<ValueRef<'m>> {
        // SAFETY: a `switch`, and the index names one of its cases.
        unsafe {
            let valid = self.opcode == LLVMOpcode::LLVMSwitch
                && index > 0
                && index < LLVMGetNumSuccessors(self.raw());
            valid.then(|| ValueRef::wrap(LLVMGetSwitchCaseValue(self.raw(), index)))?
        }
    }

    /// Incoming values of a phi with their blocks.
    pub fn incoming(self) -> impl Iterator<Item = (BlockRef<'m>, ValueRef<'m>)> {
        let raw = self.raw();
        let count = match self.opcode {
            // SAFETY: a phi.
            LLVMOpcode::LLVMPHI => unsafe { LLVMCountIncoming(raw) },
            _ => 0,
        };
        // SAFETY: indices are below the count.
        (0..count).filter_map(move |i| unsafe {
            Some((
                BlockRef::wrap(LLVMGetIncomingBlock(raw, i))?,
                ValueRef::wrap(LLVMGetIncomingValue(raw, i))?,
            ))
        })
    }

    /// Whether it is a `call`, or an `invoke`, which is one as well.
    pub fn is_call(self) -> bool {
        matches!(self.opcode, LLVMOpcode::LLVMCall | LLVMOpcode::LLVMInvoke)
    }

    /// Callee of a `call`.
    pub fn callee(self) -> Option<ValueRef<'m>> {
        // SAFETY: a `call`.
        self.is_call().then(|| ValueRef::wrap(unsafe { LLVMGetCalledValue(self.raw()) }))?
    }

    /// Whether a `call` uses its callee by another type than the callee's own.
    pub fn callee_type_differs(self, callee: ValueRef<'m>) -> bool {
        if !self.is_call() {
            return false;
        }
        // SAFETY: a `call`.
        callee.global_type() != TypeRef::wrap(unsafe { LLVMGetCalledFunctionType(self.raw()) })
    }

    /// Attributes that a `call` gives argument `index`, or its result where `index` is `None`.
    pub fn call_attributes(self, index: Option<u32>) -> Vec<AttributeRef<'m>> {
        if !self.is_call() || index.is_some_and(|i| i >= self.num_args()) {
            return Vec::new();
        }
        let index = index.map_or(0, |i| i + 1);
        // SAFETY: a `call`; the array has the length that LLVM reports.
        unsafe {
            let mut raw = vec![null_mut(); LLVMGetCallSiteAttributeCount(self.raw(), index) as usize];
            LLVMGetCallSiteAttributes(self.raw(), index, raw.as_mut_ptr());
            raw.into_iter().filter_map(AttributeRef::wrap).collect()
        }
    }

    /// Calling convention of a `call`.
    pub fn call_conv(self) -> u32 {
        // SAFETY: a `call`.
        if self.is_call() { unsafe { LLVMGetInstructionCallConv(self.raw()) } } else { 0 }
    }

    /// Number of parameters of the function that a `call` calls, where that takes further arguments.
    pub fn variadic_callee(self) -> Option<u32> {
        if !self.is_call() {
            return None;
        }
        // SAFETY: a `call`, whose function type LLVM knows.
        unsafe {
            let ty = LLVMGetCalledFunctionType(self.raw());
            (LLVMIsFunctionVarArg(ty) != 0).then(|| LLVMCountParamTypes(ty))
        }
    }

    /// Number of arguments of a `call`, which are its first operands.
    pub fn num_args(self) -> u32 {
        // SAFETY: a `call`.
        if self.is_call() { unsafe { LLVMGetNumArgOperands(self.raw()) } } else { 0 }
    }

    /// Alignment in bytes that a `call` promises for pointer argument `index`, 0 where it does not.
    pub fn arg_alignment(self, index: u32, align_kind: u32) -> u64 {
        if !self.is_call() || index >= self.num_args() {
            return 0;
        }
        // SAFETY: a `call`; null when the attribute is absent; `align` is an attribute with an integer.
        unsafe {
            let attribute = LLVMGetCallSiteEnumAttribute(self.raw(), index + 1, align_kind);
            if attribute.is_null() { 0 } else { LLVMGetEnumAttributeValue(attribute) }
        }
    }

    /// Tags of the operand bundles of a `call`.
    pub fn bundle_tags(self) -> Vec<String> {
        if !self.is_call() {
            return Vec::new();
        }
        // SAFETY: a `call`; indices are below the count; each bundle handle is freed once.
        unsafe {
            (0..LLVMGetNumOperandBundles(self.raw()))
                .map(|i| {
                    let bundle = LLVMGetOperandBundleAtIndex(self.raw(), i);
                    let mut len = 0;
                    let tag = LLVMGetOperandBundleTag(bundle, &mut len);
                    let tag = text(tag, len);
                    LLVMDisposeOperandBundle(bundle);
                    tag
                })
                .collect()
        }
    }

    /// Whether it has any metadata or a source position.
    pub fn has_metadata(self) -> bool {
        // SAFETY: an instruction.
        unsafe { LLVMHasMetadata(self.raw()) != 0 }
    }

    /// Metadata node of a kind.
    pub fn metadata(self, kind: u32) -> Option<ValueRef<'m>> {
        // SAFETY: an instruction; null when absent.
        ValueRef::wrap(unsafe { LLVMGetMetadata(self.raw(), kind) })
    }

    /// Source position: line, column, scope.
    pub fn debug_loc(self) -> Option<(u32, u32, MetadataRef<'m>)> {
        // SAFETY: an instruction's position is null or a `DILocation`, which always has a scope.
        unsafe {
            let loc = LLVMInstructionGetDebugLoc(self.raw());
            if loc.is_null() {
                return None;
            }
            let scope = MetadataRef::wrap(LLVMDILocationGetScope(loc))?;
            Some((LLVMDILocationGetLine(loc), LLVMDILocationGetColumn(loc), scope))
        }
    }
}

/// Mask of a `shufflevector` instruction or constant expression, `None` for poison lanes.
pub fn shuffle_mask(value: ValueRef<'_>, opcode: LLVMOpcode) -> Vec<Option<u32>> {
    let expression = value.const_opcode() == Some(LLVMOpcode::LLVMShuffleVector);
    if opcode != LLVMOpcode::LLVMShuffleVector || (!expression && value.as_inst().is_none()) {
        return Vec::new();
    }
    // SAFETY: a `shufflevector`; indices are below the count. Poison lanes are negative.
    unsafe {
        (0..LLVMGetNumMaskElements(value.0))
            .map(|i| u32::try_from(LLVMGetMaskValue(value.0, i)).ok())
            .collect()
    }
}
