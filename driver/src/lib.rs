//! gcnc as a library: LLVM IR in, AMD GCN code object out.
//!
//! ```no_run
//! let bitcode = std::fs::read("kernel.bc").unwrap();
//! let options = gcnc::CompileOptions { cpu: "gfx900".into(), ..Default::default() };
//! let output = gcnc::compile(&bitcode, "kernel.bc", &options).unwrap();
//! std::fs::write("kernel.o", output.bytes).unwrap();
//! ```
//!
//! A compilation owns all that it uses: any number may run at once, and the bytes that come out do not depend on the number of
//! threads. Every failure is a [`mir::Diagnostic`].
#![forbid(unsafe_code)]

pub mod bisect;
mod features;
mod incompatible;
pub mod options;
pub mod pipeline;
pub mod stats;

pub use options::{CompileOptions, FileType};
pub use pipeline::{Output, Step, compile, compile_module, compile_reading};
