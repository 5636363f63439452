//! What comes out: code objects with their kernels, and errors with their diagnostics.

use crate::{gcnc_status, guard, text};
use gcnc::{CodeObject, Diagnostic, Error, ErrorKind};
use std::ffi::{CString, c_char};

/// Bytes that were made, with what is known of their kernels.
pub struct gcnc_object {
    bytes: Vec<u8>,
    kernels: Vec<KernelText>,
    warnings: Vec<CString>,
    from_cache: bool,
}

struct KernelText {
    kernel: gcnc::Kernel,
    name: CString,
    symbol: CString,
    arguments: Vec<[CString; 4]>,
}

impl gcnc_object {
    pub(crate) fn of_bytes(bytes: Vec<u8>) -> Self {
        Self { bytes, kernels: Vec::new(), warnings: Vec::new(), from_cache: false }
    }

    pub(crate) fn new(object: CodeObject) -> Self {
        let optional = |text: &Option<String>| text::owned(text.as_deref().unwrap_or_default());
        let kernels = object.kernels.into_iter().map(|kernel| KernelText {
            name: text::owned(&kernel.name),
            symbol: text::owned(&kernel.symbol),
            arguments: kernel
                .arguments
                .iter()
                .map(|a| {
                    [
                        optional(&a.name),
                        optional(&a.type_name),
                        text::owned(&a.kind),
                        optional(&a.address_space),
                    ]
                })
                .collect(),
            kernel,
        });
        Self {
            bytes: object.bytes,
            kernels: kernels.collect(),
            warnings: object.warnings.iter().map(|warning| text::owned(warning)).collect(),
            from_cache: object.stats.from_cache,
        }
    }
}

/// What launching a kernel takes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gcnc_kernel {
    /// Bytes of this struct as the caller knows it: `sizeof(gcnc_kernel)`.
    pub struct_size: usize,
    /// Name in the source.
    pub name: *const c_char,
    /// Symbol of the descriptor.
    pub symbol: *const c_char,
    /// Number of arguments, those that the runtime fills in included.
    pub argument_count: usize,
    /// Bytes of the block of arguments.
    pub kernarg_bytes: u32,
    /// Alignment of the block of arguments.
    pub kernarg_align: u32,
    /// Bytes of LDS of a work-group.
    pub lds_bytes: u32,
    /// Bytes of scratch of a work-item.
    pub scratch_bytes: u32,
    /// Scalar registers of a wave.
    pub sgprs: u32,
    /// Vector registers of a wave.
    pub vgprs: u32,
    /// Scalar registers that were spilled.
    pub sgpr_spills: u32,
    /// Vector registers that were spilled.
    pub vgpr_spills: u32,
    /// Work-items of a wave.
    pub wave_size: u32,
    /// Most work-items of a work-group.
    pub max_work_group_size: u32,
    /// Size that work-groups must have; zeros where the source does not say.
    pub required_work_group_size: [u32; 3],
}

/// An argument of a kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gcnc_argument {
    /// Bytes of this struct as the caller knows it: `sizeof(gcnc_argument)`.
    pub struct_size: usize,
    /// Name in the source, or an empty string.
    pub name: *const c_char,
    /// Type in the source, or an empty string.
    pub type_name: *const c_char,
    /// `by_value`, `global_buffer`, `dynamic_shared_pointer`, `hidden_...`.
    pub kind: *const c_char,
    /// Address space of a pointer, or an empty string.
    pub address_space: *const c_char,
    /// Offset in the block of arguments.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
}

/// Copies as much of `value` to `out` as the caller knows of it.
///
/// # Safety
/// `out` is null or points to a `T` whose first member, a `size_t`, is the number of bytes that may be written.
unsafe fn fill<T: Copy>(out: *mut T, value: impl FnOnce(usize) -> T) -> gcnc_status {
    if out.is_null() {
        return gcnc_status::Argument;
    }
    // SAFETY: the caller's promise.
    let known = unsafe { out.cast::<usize>().read() };
    if known < size_of::<usize>() {
        return gcnc_status::Argument;
    }
    let value = value(known);
    // SAFETY: no more than the caller has and than there is; `value` is another object.
    unsafe {
        let from = (&raw const value).cast::<u8>();
        std::ptr::copy_nonoverlapping(from, out.cast::<u8>(), known.min(size_of::<T>()));
    }
    gcnc_status::Ok
}

/// What `read` finds in `handle`, or `otherwise`.
///
/// # Safety
/// `handle` is null or a live object.
unsafe fn ask<H, T: Copy>(handle: *const H, otherwise: T, read: impl FnOnce(&H) -> Option<T>) -> T {
    // SAFETY: the caller's promise.
    guard(otherwise, || unsafe { handle.as_ref() }.and_then(read).unwrap_or(otherwise))
}

/// Frees an object.
///
/// # Safety
/// `object` is null or from `gcnc_compile`, and neither it nor its strings are used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_object_free(object: *mut gcnc_object) {
    if !object.is_null() {
        // SAFETY: the caller's promise.
        guard((), || drop(unsafe { Box::from_raw(object) }));
    }
}

/// The bytes of the file; null where `object` is null.
///
/// # Safety
/// As all that asks: `object` is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_object_data(object: *const gcnc_object) -> *const u8 {
    // SAFETY: the caller's promise.
    unsafe { ask(object, std::ptr::null(), |object| Some(object.bytes.as_ptr())) }
}

/// Number of bytes of the file.
///
/// # Safety
/// As all that asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_object_size(object: *const gcnc_object) -> usize {
    // SAFETY: the caller's promise.
    unsafe { ask(object, 0, |object| Some(object.bytes.len())) }
}

/// Whether the cache had it.
///
/// # Safety
/// As all that asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_object_is_from_cache(object: *const gcnc_object) -> bool {
    // SAFETY: the caller's promise.
    unsafe { ask(object, false, |object| Some(object.from_cache)) }
}

/// Number of kernels.
///
/// # Safety
/// As all that asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_object_kernel_count(object: *const gcnc_object) -> usize {
    // SAFETY: the caller's promise.
    unsafe { ask(object, 0, |object| Some(object.kernels.len())) }
}

/// Fills `kernel` in, whose `struct_size` the caller has set. GCNC_STATUS_ARGUMENT where there is no such kernel.
///
/// # Safety
/// `object` is null or live, `kernel` null or of its `struct_size`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_object_kernel(
    object: *const gcnc_object,
    index: usize,
    kernel: *mut gcnc_kernel,
) -> gcnc_status {
    let read = |object: &gcnc_object| {
        let KernelText { kernel: own, name, symbol, arguments } = object.kernels.get(index)?;
        // SAFETY: the caller's promise.
        Some(unsafe {
            fill(kernel, |struct_size| gcnc_kernel {
                struct_size,
                name: name.as_ptr(),
                symbol: symbol.as_ptr(),
                argument_count: arguments.len(),
                kernarg_bytes: own.kernarg_bytes,
                kernarg_align: own.kernarg_align,
                lds_bytes: own.lds_bytes,
                scratch_bytes: own.scratch_bytes,
                sgprs: own.sgprs,
                vgprs: own.vgprs,
                sgpr_spills: own.sgpr_spills,
                vgpr_spills: own.vgpr_spills,
                wave_size: own.wave_size,
                max_work_group_size: own.max_work_group_size,
                required_work_group_size: own.required_work_group_size.unwrap_or_default(),
            })
        })
    };
    // SAFETY: the caller's promise.
    unsafe { ask(object, gcnc_status::Argument, read) }
}

/// Fills `argument` in, whose `struct_size` the caller has set. GCNC_STATUS_ARGUMENT where there is no such argument.
///
/// # Safety
/// `object` is null or live, `argument` null or of its `struct_size`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_object_argument(
    object: *const gcnc_object,
    kernel: usize,
    index: usize,
    argument: *mut gcnc_argument,
) -> gcnc_status {
    let read = |object: &gcnc_object| {
        let kernel = object.kernels.get(kernel)?;
        let [name, type_name, kind, address_space] = kernel.arguments.get(index)?;
        let own = kernel.kernel.arguments.get(index)?;
        // SAFETY: the caller's promise.
        Some(unsafe {
            fill(argument, |struct_size| gcnc_argument {
                struct_size,
                name: name.as_ptr(),
                type_name: type_name.as_ptr(),
                kind: kind.as_ptr(),
                address_space: address_space.as_ptr(),
                offset: own.offset,
                size: own.size,
            })
        })
    };
    // SAFETY: the caller's promise.
    unsafe { ask(object, gcnc_status::Argument, read) }
}

/// Number of warnings.
///
/// # Safety
/// As all that asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_object_warning_count(object: *const gcnc_object) -> usize {
    // SAFETY: the caller's promise.
    unsafe { ask(object, 0, |object| Some(object.warnings.len())) }
}

/// A warning; null where there is no such.
///
/// # Safety
/// As all that asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_object_warning(object: *const gcnc_object, index: usize) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe { ask(object, std::ptr::null(), |object| Some(object.warnings.get(index)?.as_ptr())) }
}

/// Why there is no object.
pub struct gcnc_error {
    status: gcnc_status,
    text: CString,
    diagnostics: Vec<(Diagnostic, [CString; 4])>,
}

impl gcnc_error {
    pub(crate) fn new(error: &Error) -> Self {
        let status = match error {
            Error::Options(_) => gcnc_status::Options,
            Error::Refused(_) => gcnc_status::Refused,
            Error::Cancelled => gcnc_status::Cancelled,
            Error::Deadline => gcnc_status::Deadline,
            Error::Memory => gcnc_status::Memory,
            _ => gcnc_status::Defect,
        };
        let diagnostics = error.diagnostics().iter().map(|diagnostic| {
            let file = diagnostic.location.as_ref().map(|at| at.file.as_str());
            let texts = [
                Some(diagnostic.message.as_str()),
                diagnostic.function.as_deref(),
                diagnostic.inst.as_deref(),
                file,
            ];
            (diagnostic.clone(), texts.map(|text| text::owned(text.unwrap_or_default())))
        });
        Self { status, text: text::owned(&error.to_string()), diagnostics: diagnostics.collect() }
    }

    pub(crate) fn status(&self) -> gcnc_status {
        self.status
    }
}

/// Whose fault a failure is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum gcnc_kind {
    /// The input is legal but asks for something that gcnc or the target cannot do.
    Unsupported = 0,
    /// The input is not what it claims to be.
    Malformed = 1,
    /// The input exceeds a limit of the target.
    Limit = 2,
    /// gcnc is wrong.
    Defect = 3,
}

/// What is wrong with one function.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gcnc_diagnostic {
    /// Bytes of this struct as the caller knows it: `sizeof(gcnc_diagnostic)`.
    pub struct_size: usize,
    /// Whose fault it is.
    pub kind: gcnc_kind,
    /// What is wrong.
    pub message: *const c_char,
    /// Function, or an empty string.
    pub function: *const c_char,
    /// Instruction, or an empty string.
    pub instruction: *const c_char,
    /// Source file, or an empty string.
    pub file: *const c_char,
    /// Line from 1; 0 where unknown.
    pub line: u32,
    /// Column from 1; 0 where unknown.
    pub column: u32,
}

/// Frees an error.
///
/// # Safety
/// `error` is null or from this library, and neither it nor its strings are used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_error_free(error: *mut gcnc_error) {
    if !error.is_null() {
        // SAFETY: the caller's promise.
        guard((), || drop(unsafe { Box::from_raw(error) }));
    }
}

/// Everything that went wrong, a line each; an empty string where `error` is null.
///
/// # Safety
/// As all that asks: `error` is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_error_text(error: *const gcnc_error) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe { ask(error, c"".as_ptr(), |error| Some(error.text.as_ptr())) }
}

/// Number of diagnostics.
///
/// # Safety
/// As all that asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_error_count(error: *const gcnc_error) -> usize {
    // SAFETY: the caller's promise.
    unsafe { ask(error, 0, |error| Some(error.diagnostics.len())) }
}

/// Fills `diagnostic` in, whose `struct_size` the caller has set. GCNC_STATUS_ARGUMENT where there is no such diagnostic.
///
/// # Safety
/// `error` is null or live, `diagnostic` null or of its `struct_size`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_error_diagnostic(
    error: *const gcnc_error,
    index: usize,
    diagnostic: *mut gcnc_diagnostic,
) -> gcnc_status {
    let read = |error: &gcnc_error| {
        let (own, [message, function, instruction, file]) = error.diagnostics.get(index)?;
        let (line, column) = own.location.as_ref().map_or((0, 0), |at| (at.line, at.column));
        let kind = match own.kind {
            ErrorKind::Unsupported => gcnc_kind::Unsupported,
            ErrorKind::Malformed => gcnc_kind::Malformed,
            ErrorKind::Limit | ErrorKind::Interrupted(_) => gcnc_kind::Limit,
            ErrorKind::Defect => gcnc_kind::Defect,
        };
        // SAFETY: the caller's promise.
        Some(unsafe {
            fill(diagnostic, |struct_size| gcnc_diagnostic {
                struct_size,
                kind,
                message: message.as_ptr(),
                function: function.as_ptr(),
                instruction: instruction.as_ptr(),
                file: file.as_ptr(),
                line,
                column,
            })
        })
    };
    // SAFETY: the caller's promise.
    unsafe { ask(error, gcnc_status::Argument, read) }
}
