//! gcnc as a library: LLVM IR in, AMD GCN code object out.
//!
//! ```no_run
//! let bitcode = std::fs::read("kernel.bc").unwrap();
//! let options = gcnc::CompileOptions { cpu: "gfx900".into(), ..Default::default() };
//! let output = gcnc::compile(&bitcode, "kernel.bc", &options).unwrap();
//! std::fs::write("kernel.o", output.bytes).unwrap();
//! ```
//!
//! A compilation owns all that it uses: any number may run at once, and the bytes that come out do not depend
//! on the number of threads. Every failure is a [`mir::Diagnostic`].
#![forbid(unsafe_code)]

pub mod bisect;
mod compile;
mod features;
mod incompatible;
pub mod llc_flags;
pub mod options;
pub mod pass;
pub mod pipeline;
mod places;
mod prepare;
pub mod stats;

pub use compile::{
    Errors, Observer, Output, compile, compile_module, compile_observed, compile_program, compile_reading,
    finish, legalize,
};
pub use options::{CompileOptions, FileType, PassSet, Place};
pub use pass::Pass;
