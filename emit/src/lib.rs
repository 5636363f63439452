//! The last steps of code generation: from allocated machine functions to bytes.
//!
//! `finish` settles a function: prolog, waits, hazard NOPs, branches, encoding. [`object::emit_object`] and
//! `asm::emit_asm` write finished functions with the module's variables, kernel descriptors and metadata.
#![forbid(unsafe_code)]

mod final_function;
pub mod object;

pub use final_function::{CodeReloc, FinalFunction, Kernel};
pub use object::emit_object;
