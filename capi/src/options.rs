//! Options of a compiler.

use crate::{gcnc_status, guard, text};
use gcnc::{Builder, Compiler};
use std::ffi::c_char;
use std::time::Duration;

/// Options of a compiler.
pub struct gcnc_options {
    builder: Builder,
}

impl gcnc_options {
    pub(crate) fn build(&self) -> Result<Compiler, gcnc::Error> {
        self.builder.clone().build()
    }
}

/// Options for a processor, by LLVM's name (`gfx600` to `gfx90c`); null where `processor` is null or not UTF-8.
///
/// # Safety
/// `processor` is null or a string that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_options_new(processor: *const c_char) -> *mut gcnc_options {
    guard(std::ptr::null_mut(), || {
        // SAFETY: the caller's promise.
        let Some(processor) = (unsafe { text::borrow(processor) }) else { return std::ptr::null_mut() };
        Box::into_raw(Box::new(gcnc_options { builder: Compiler::builder(processor) }))
    })
}

/// Frees options.
///
/// # Safety
/// `options` is null or from `gcnc_options_new`, and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_options_free(options: *mut gcnc_options) {
    if !options.is_null() {
        // SAFETY: the caller's promise.
        guard((), || drop(unsafe { Box::from_raw(options) }));
    }
}

/// Changes the options by `change`.
///
/// # Safety
/// `options` is null or from `gcnc_options_new`, and used by nobody else meanwhile.
unsafe fn set(options: *mut gcnc_options, change: impl FnOnce(Builder) -> Option<Builder>) -> gcnc_status {
    guard(gcnc_status::Defect, || {
        // SAFETY: the caller's promise.
        let Some(options) = (unsafe { options.as_mut() }) else { return gcnc_status::Argument };
        match change(options.builder.clone()) {
            Some(builder) => {
                options.builder = builder;
                gcnc_status::Ok
            }
            None => gcnc_status::Argument,
        }
    })
}

/// Optimisation level, 0 to 3; 2 without this.
///
/// # Safety
/// As all setters: `options` is null or from `gcnc_options_new`, and used by nobody else meanwhile; strings are null or end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_options_set_opt_level(options: *mut gcnc_options, level: u8) -> gcnc_status {
    // SAFETY: the caller's promise.
    unsafe { set(options, |builder| Some(builder.opt_level(level))) }
}

/// Target triple in place of the modules'.
///
/// # Safety
/// As all setters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_options_set_triple(
    options: *mut gcnc_options,
    triple: *const c_char,
) -> gcnc_status {
    // SAFETY: the caller's promise.
    unsafe { set(options, |builder| Some(builder.triple(text::borrow(triple)?))) }
}

/// Switches a target feature: `+xnack`, `-flat-for-global`.
///
/// # Safety
/// As all setters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_options_add_feature(
    options: *mut gcnc_options,
    feature: *const c_char,
) -> gcnc_status {
    // SAFETY: the caller's promise.
    unsafe { set(options, |builder| Some(builder.feature(text::borrow(feature)?))) }
}

/// Code object version, 2 to 6; without this that of the module, or 6.
///
/// # Safety
/// As all setters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_options_set_code_object_version(
    options: *mut gcnc_options,
    version: u8,
) -> gcnc_status {
    // SAFETY: the caller's promise.
    unsafe { set(options, |builder| Some(builder.code_object_version(version))) }
}

/// Threads that work for one compilation, in a pool of the compiler's own. 1, which is the default, is the caller's thread.
///
/// # Safety
/// As all setters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_options_set_threads(options: *mut gcnc_options, threads: usize) -> gcnc_status {
    // SAFETY: the caller's promise.
    unsafe { set(options, |builder| Some(builder.threads(threads))) }
}

/// Most milliseconds that a compilation may take.
///
/// # Safety
/// As all setters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_options_set_time_limit(
    options: *mut gcnc_options,
    milliseconds: u64,
) -> gcnc_status {
    // SAFETY: the caller's promise.
    unsafe { set(options, |builder| Some(builder.time_limit(Duration::from_millis(milliseconds)))) }
}

/// Most bytes of memory that a compilation may take, as estimated.
///
/// # Safety
/// As all setters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_options_set_memory_limit(
    options: *mut gcnc_options,
    bytes: u64,
) -> gcnc_status {
    // SAFETY: the caller's promise.
    unsafe { set(options, |builder| Some(builder.memory_limit(bytes))) }
}

/// The address of a function or variable that modules declare and the host provides.
///
/// # Safety
/// As all setters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_options_add_symbol(
    options: *mut gcnc_options,
    name: *const c_char,
    address: u64,
) -> gcnc_status {
    // SAFETY: the caller's promise.
    unsafe { set(options, |builder| Some(builder.symbol(text::borrow(name)?, address))) }
}

/// Keeps code objects in a folder, at most `bytes` of them; several processes may use it at once.
///
/// # Safety
/// As all setters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gcnc_options_set_cache(
    options: *mut gcnc_options,
    folder: *const c_char,
    bytes: u64,
) -> gcnc_status {
    // SAFETY: the caller's promise.
    unsafe { set(options, |builder| Some(builder.cache(gcnc::Cache::new(text::borrow(folder)?, bytes)))) }
}
