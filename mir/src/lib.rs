//! The data that every step of gcnc shares: the typed SSA IR ([`ir`]), the machine IR ([`machine`]), the
//! instruction table of the GCN generations ([`isa`]), what differs between processors ([`target`]) and the
//! binary interfaces of code objects ([`abi`]).
//!
//! This crate holds data with its readers, writers and verifiers, never policy: which instruction to choose, what
//! to spill and where to wait is decided by the crates that depend on it. It knows none of them.
#![forbid(unsafe_code)]

pub mod abi;
pub mod analysis;
pub mod diag;
pub mod half;
pub mod interrupt;
pub mod ir;
pub mod isa;
pub mod machine;
mod options;
pub mod target;
pub mod text;

pub use diag::{Diagnostic, ErrorKind, Result};
pub use options::CodegenOptions;
