//! Safe access to LLVM's C interface, for what inkwell lacks or panics on. All unsafe code of the crate is
//! here and in the modules below.
//!
//! A wrapper (`ValueRef`, `TypeRef`, ...) is a copyable non-null pointer to an object that the module
//! borrowed for `'m` owns. LLVM's C functions cast without checking, so the rule that makes this module safe
//! is: **a wrapper method calls only functions that are defined for every object its type can hold; where a
//! function wants a narrower kind, the method checks the kind first** and answers with a neutral value
//! otherwise. An [`InstRef`] carries its opcode so that these checks cost a comparison. No method changes the
//! module; a few intern constants or names in its context, which `'m` borrows too and which is not shared
//! between threads (inkwell's `Context` is not `Sync`).

use inkwell::context::Context;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::*;
use inkwell::llvm_sys::ir_reader::LLVMParseIRInContext2;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::support::LLVMParseCommandLineOptions;
pub use inkwell::llvm_sys::{
    LLVMAtomicOrdering, LLVMAtomicRMWBinOp, LLVMGEPFlagInBounds, LLVMGEPFlagNUW, LLVMIntPredicate,
    LLVMLinkage, LLVMOpcode, LLVMRealPredicate, LLVMTailCallKind, LLVMTypeKind, LLVMValueKind,
    LLVMVisibility,
};
use inkwell::llvm_sys::{
    LLVMAttributeFunctionIndex, LLVMDiagnosticSeverity, error_handling::LLVMInstallFatalErrorHandler,
};
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::ptr::null_mut;

mod inst;
mod value;

pub use inst::shuffle_mask;

macro_rules! wrapper {
    ($(#[$doc:meta])* $name:ident, $raw:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $name<'m>($raw, PhantomData<&'m ()>);

        impl $name<'_> {
            #[allow(dead_code, reason = "not every kind of pointer can be null")]
            /// Wraps a pointer that LLVM returned; `None` for null. The caller promises that it lives for the
            /// lifetime.
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
    let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), len) };
    // The check of a whole text is far cheaper than the search for what has to be replaced.
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    }
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
    // LLVM ends the process when this returns. Unwinding through its frames is not possible: say whose fault
    // it is. SAFETY: LLVM passes a zero-terminated string.
    let reason = unsafe { std::ffi::CStr::from_ptr(reason) };
    eprintln!("gcnc: error: LLVM cannot go on reading this input: {}", reason.to_string_lossy());
}

static SETTLED: std::sync::Once = std::sync::Once::new();

/// Whether [`settle`] was called.
pub fn is_settled() -> bool {
    SETTLED.is_completed()
}

/// Settles, once in a process, what LLVM does by default where input is bad: a handler for fatal errors, and
/// no automatic upgrade of debug information, whose own run of the verifier ends the process when the module
/// is broken (we run the verifier ourselves, and take broken debug information away).
pub fn settle() {
    let args = [c"gcnc".as_ptr(), c"-disable-auto-upgrade-debug-info".as_ptr()];
    // SAFETY: the handler lives for ever and is thread-safe; the strings are zero-terminated; `Once`
    // serialises.
    SETTLED.call_once(|| unsafe {
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
    let name: String = name.chars().filter(|&c| c != '\0').collect();
    let buffer = MemoryBuffer::create_from_memory_range_copy(bytes, &name);
    let (mut module, mut error, mut reported) = (null_mut(), null_mut(), String::new());
    let raw = context.raw();
    // SAFETY: all pointers are live; the handler's slot outlives the parse and is taken away after it. This
    // form of the function leaves the buffer to us. Without a handler LLVM would end the process on an error
    // diagnostic.
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

    /// The integer constant with the bits of the floating-point constant `value` (exact, signalling NaNs
    /// too).
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
        // SAFETY: a floating-point constant.
        let number = unsafe { LLVMConstRealGetDouble(value.0, &mut 0) };
        // The narrow types are left to LLVM, and so are NaNs, since a conversion makes them quiet.
        match bits {
            32 if !number.is_nan() => return Some(u64::from((number as f32).to_bits())),
            64 if !number.is_nan() => return Some(number.to_bits()),
            _ => {}
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

    /// Whether it is a struct without a body.
    pub fn is_opaque(self) -> bool {
        // SAFETY: a struct.
        self.kind() == LLVMTypeKind::LLVMStructTypeKind && unsafe { LLVMIsOpaqueStruct(self.0) != 0 }
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
