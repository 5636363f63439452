//! All that a file for AMD GPUs says: code objects, bundles, archives, AMDIL's metadata.
//!
//! [`inspect`] makes a [`Report`], which serialises (for `--json`) and displays ([`text`]). It reads whatever it can: what is damaged is one of the
//! report's `problems`, and the rest is told nevertheless. Files inside of files are opened up to a depth of [`MAX_DEPTH`], no more than [`MAX_FILES`] of them,
//! and no more than [`MAX_UNCOMPRESSED_BYTES`] bytes are decompressed for all of them together. A report has at most [`MAX_ITEMS`] entries of each
//! list of an object. Cost: linear in the bytes, those that are decompressed included.

mod container;
mod object;
mod records;
mod text;

pub use container::inspect;
pub use records::{
    Amdil, Archive, Bundle, CodeObject, DescriptorField, HostObject, Kernel, Note, NoteContents, Register,
    Relocation, Report, Section, SectionBundle, Segment, Symbol, Target,
};

pub use crate::bundle::MAX_UNCOMPRESSED_BYTES;

/// How deep files may be inside of each other.
pub const MAX_DEPTH: usize = 8;

/// How many files inside of others are opened.
pub const MAX_FILES: usize = 4096;

/// How many sections, symbols, relocations and so on of an object are told.
pub const MAX_ITEMS: usize = 1 << 20;
