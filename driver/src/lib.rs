//! gcnc as a library: LLVM IR in, code objects for AMD GCN GPUs out.
//!
//! ```
//! let text = r#"
//!     define amdgpu_kernel void @store(ptr addrspace(1) %out, i32 %value) {
//!       store i32 %value, ptr addrspace(1) %out
//!       ret void
//!     }"#;
//! let compiler = gcnc::Compiler::builder("gfx900").opt_level(2).build()?;
//! let object = compiler.compile(text)?; // bitcode and inkwell's modules, too
//! let kernel = object.kernel("store").expect("it was compiled");
//! assert_eq!((kernel.arguments[1].offset, kernel.arguments[1].size), (8, 4));
//! // `object.bytes` is what `hipModuleLoadData` takes.
//! # Ok::<(), gcnc::Error>(())
//! ```
//!
//! [`Compiler`] and what belongs to it is for hosts. Below it is what the command and tests stand on, which changes with the passes:
//! [`compile`] with [`CompileOptions`], the list of passes ([`pipeline`]), bisection.
//!
//! A compilation owns all that it uses: any number may run at once, and the bytes that come out do not depend on the number of threads.
//! No option of LLVM's is set and no handler left behind, no allocator and no pool of threads forced upon the host; every
//! failure is a value. LLVM's own limits stay: it ends the process where memory is exhausted while it reads.
//!
//! | feature | adds |
//! |---|---|
//! | `cli` (default) | the `gcnc` command: clap, mimalloc |
//! | `sim` (with `cli`) | `bisect`: the simulator and the interpreter of each stage |
//! | `cache` | `Cache`: code objects kept on disk |
#![forbid(unsafe_code)]

/// The guide's Rust compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../docs/guide/src/embedding-rust.md")]
mod guide {}

#[cfg(feature = "sim")]
pub mod bisect;
mod callees;
mod check;
mod compile;
mod dump;
mod features;
#[cfg(feature = "sim")]
pub mod image_library;
mod incompatible;
mod library;
#[cfg(feature = "cli")]
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
pub use frontend::{Context as LlvmContext, LlvmModule, settle_process};
#[cfg(feature = "cache")]
pub use library::Cache;
pub use library::{
    Argument, Builder, CancelToken, CodeObject, Compiler, Error, FunctionInfo, Input, Job, Kernel,
    ModuleInput, Stats,
};
pub use mir::{Diagnostic, ErrorKind};
pub use options::{CompileOptions, FileType, PassSet, Place};
pub use pass::Pass;
