//! From finished functions to files, and from assembly text to objects.
//!
//! [`emit_object`] writes finished functions with the module's variables, kernel descriptors and metadata
//! as an ELF object, [`emit_asm`] as assembly text; [`assemble`] makes an object of such text, [`disassemble`] text of an object.
//! [`link::link`] makes a loadable code object of several.
#![forbid(unsafe_code)]
pub mod archive;
pub mod assemble;
mod assembly_text;
pub mod bundle;
pub mod disassemble;
mod final_function;
pub mod inspect;
pub mod link;
mod object;
mod relocatable;

pub use assemble::assemble;
pub use assembly_text::emit_asm;
pub use disassemble::disassemble;
pub use final_function::{CodeReloc, FinalFunction, Kernel};
pub use object::data::separate_sections;
pub use object::module_metadata;
pub use relocatable::emit_object;
