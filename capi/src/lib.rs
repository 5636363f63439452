//! The C interface of gcnc: `libgcnc`, declared in `gcnc.h`, which cbindgen makes of this crate.
//!
//! A thin border: each function turns C's pointers into references and slices, calls [`gcnc::Compiler`], and puts what comes out into an
//! object that owns its strings. Rules that hold for all of it:
//!
//! * Nothing unwinds into C: bodies run in [`guard`], which makes a panic [`Status::Defect`].
//! * A null pointer that must not be null is [`Status::Argument`]; other pointers are the caller's promise, named in `# Safety`.
//! * Objects are boxes, freed by their own function. Strings that go out belong to the object that they are asked of.
//! * Structs that the library fills in start with their size as the caller knows it, so that members can be added behind the last.
//!
//! `unsafe` is here and in the modules below alone: [`text`] reads C's strings, [`options`] and [`object`] borrow handles.
#![deny(missing_docs)]
#![allow(non_camel_case_types, reason = "names of C types")]

mod compile;
mod object;
mod options;
mod text;

pub use compile::*;
pub use object::*;
pub use options::*;

use std::panic::{AssertUnwindSafe, catch_unwind};

/// What became of a call.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum gcnc_status {
    /// Done.
    Ok = 0,
    /// A pointer that must not be null is, or a string is not UTF-8.
    Argument = 1,
    /// The options are wrong: an unknown processor or feature, options that contradict each other.
    Options = 2,
    /// The input was refused; the error has a diagnostic for each function that was.
    Refused = 3,
    /// The compiler is wrong, and says so.
    Defect = 4,
    /// A token was pulled.
    Cancelled = 5,
    /// The compilation did not end in time.
    Deadline = 6,
    /// The compilation takes more memory than allowed.
    Memory = 7,
}

/// Runs `body`; what unwinds out of it becomes `otherwise`.
fn guard<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    // What a panic leaves half-made is dropped with it: handles are only read, but options, whose setters assign last.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(otherwise)
}

/// Version of the library, such as `0.1.0`.
#[unsafe(no_mangle)]
pub extern "C" fn gcnc_version() -> *const std::ffi::c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
