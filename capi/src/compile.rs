//! Compilers, tokens, and the one call that compiles.

use crate::{gcnc_error, gcnc_object, gcnc_options, gcnc_status, guard, text};
use gcnc::{CancelToken, Compiler, Error, Input, Job};

/// A target with options.
pub struct gcnc_compiler {
    compiler: Compiler,
}

/// Cancels compilations, from any thread.
pub struct gcnc_cancel {
    token: CancelToken,
}

/// A module: bitcode or text.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gcnc_input {
    /// The bytes.
    pub data: *const u8,
    /// Number of bytes.
    pub size: usize,
}

/// What to make.
pub type gcnc_output = u32;
/// A code object that runtimes load, of any number of modules.
pub const GCNC_OUTPUT_LOADABLE: gcnc_output = 0;
/// A relocatable object of one module.
pub const GCNC_OUTPUT_RELOCATABLE: gcnc_output = 1;
/// Assembly text of one module.
pub const GCNC_OUTPUT_ASSEMBLY: gcnc_output = 2;

/// Puts `error` where the caller asks for it.
///
/// # Safety
/// `out` is null or may be written.
unsafe fn failed(error: &Error, out: *mut *mut gcnc_error) -> gcnc_status {
    let error = gcnc_error::new(error);
    let status = error.status();
    if !out.is_null() {
        // SAFETY: the caller's promise.
        unsafe { out.write(Box::into_raw(Box::new(error))) };
    }
    status
}

/// Makes a compiler. On failure `compiler` becomes null and `error`, unless it is null, says why.
///
/// # Safety
/// `options` is null or live, `compiler` and `error` null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_compiler_new(
    options: *const gcnc_options,
    compiler: *mut *mut gcnc_compiler,
    error: *mut *mut gcnc_error,
) -> gcnc_status {
    // SAFETY: the caller's promise for all pointers.
    guard(gcnc_status::Defect, || unsafe {
        if !error.is_null() {
            error.write(std::ptr::null_mut());
        }
        if compiler.is_null() {
            return gcnc_status::Argument;
        }
        compiler.write(std::ptr::null_mut());
        let Some(options) = options.as_ref() else { return gcnc_status::Argument };
        match options.build() {
            Ok(built) => {
                compiler.write(Box::into_raw(Box::new(gcnc_compiler { compiler: built })));
                gcnc_status::Ok
            }
            Err(refused) => failed(&refused, error),
        }
    })
}

/// Frees a compiler.
///
/// # Safety
/// `compiler` is null or from `gcnc_compiler_new`, and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_compiler_free(compiler: *mut gcnc_compiler) {
    if !compiler.is_null() {
        // SAFETY: the caller's promise.
        guard((), || drop(unsafe { Box::from_raw(compiler) }));
    }
}

/// A token that nobody has pulled.
#[unsafe(no_mangle)]
pub extern "C" fn gcnc_cancel_new() -> *mut gcnc_cancel {
    guard(std::ptr::null_mut(), || Box::into_raw(Box::new(gcnc_cancel { token: CancelToken::new() })))
}

/// Ends all compilations that have this token, and those that will get it.
///
/// # Safety
/// `cancel` is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_cancel_pull(cancel: *const gcnc_cancel) {
    // SAFETY: the caller's promise.
    if let Some(cancel) = unsafe { cancel.as_ref() } {
        cancel.token.cancel();
    }
}

/// Frees a token; compilations that have it go on.
///
/// # Safety
/// `cancel` is null or from `gcnc_cancel_new`, and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_cancel_free(cancel: *mut gcnc_cancel) {
    if !cancel.is_null() {
        // SAFETY: the caller's promise.
        guard((), || drop(unsafe { Box::from_raw(cancel) }));
    }
}

/// Compiles `count` modules to `output`. `cancel` may be null. On success `object` is the result; on failure it becomes null and `error`,
/// unless it is null, says why.
///
/// # Safety
/// `compiler` and `cancel` are null or live; `inputs` is null or points to `count` inputs, each null or with `size` bytes; `object` and
/// `error` are null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_compile(
    compiler: *const gcnc_compiler,
    inputs: *const gcnc_input,
    count: usize,
    output: gcnc_output,
    cancel: *const gcnc_cancel,
    object: *mut *mut gcnc_object,
    error: *mut *mut gcnc_error,
) -> gcnc_status {
    // SAFETY: the caller's promise for all pointers.
    guard(gcnc_status::Defect, || unsafe {
        if !error.is_null() {
            error.write(std::ptr::null_mut());
        }
        if object.is_null() {
            return gcnc_status::Argument;
        }
        object.write(std::ptr::null_mut());
        let Some(compiler) = compiler.as_ref().filter(|_| !inputs.is_null() && count > 0) else {
            return gcnc_status::Argument;
        };
        let mut modules = Vec::new();
        for index in 0..count {
            let input = inputs.add(index).read();
            let Some(bytes) = text::bytes(input.data, input.size) else { return gcnc_status::Argument };
            modules.push(Input::from(bytes));
        }
        let mut job = compiler.compiler.job();
        if let Some(cancel) = cancel.as_ref() {
            job = job.cancelled_by(&cancel.token);
        }
        let Some(made) = make(&job, modules, output) else { return gcnc_status::Argument };
        match made {
            Ok(made) => {
                object.write(Box::into_raw(Box::new(made)));
                gcnc_status::Ok
            }
            Err(refused) => failed(&refused, error),
        }
    })
}

/// What is asked for; `None` where nothing is called so, or of more modules than one.
fn make(job: &Job<'_>, modules: Vec<Input<'_>>, output: gcnc_output) -> Option<Result<gcnc_object, Error>> {
    if output == GCNC_OUTPUT_LOADABLE {
        return Some(job.link(modules).map(gcnc_object::new));
    }
    let [module] = modules[..] else { return None };
    match output {
        GCNC_OUTPUT_RELOCATABLE => Some(job.relocatable(module).map(gcnc_object::of_bytes)),
        GCNC_OUTPUT_ASSEMBLY => {
            Some(job.assembly(module).map(|text| gcnc_object::of_bytes(text.into_bytes())))
        }
        _ => None,
    }
}
