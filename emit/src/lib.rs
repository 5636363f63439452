//! The last steps of code generation: from allocated machine functions to bytes.
//!
//! [`finish`] settles a function: EXEC code and empty blocks (`exec`), prolog ([`frame`]), waits ([`waits`]), hazard NOPs ([`hazards`]), branches and encoding
//! ([`relax`]). [`emit_object`] writes finished functions with the module's variables, kernel descriptors and metadata
//! as an ELF object, [`emit_asm`] as assembly text; [`assemble`] makes an object of such text.
#![forbid(unsafe_code)]

pub mod asm;
pub mod assemble;
mod callee;
pub mod callgraph;
pub mod disassemble;
mod exec;
mod final_function;
pub mod frame;
pub mod hazards;
mod indexed;
mod inline_asm;
mod lanes;
pub mod object;
pub mod relax;
mod scratch;
pub mod waits;

pub use asm::emit_asm;
pub use assemble::assemble;
pub use disassemble::disassemble;
pub use final_function::{CodeReloc, FinalFunction, Kernel, finish};
pub use object::emit_object;
