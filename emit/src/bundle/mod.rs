//! Offload bundles: files that hold code for a host and for devices, or for several devices.
//!
//! | format | module | begins with | where it is found |
//! |---|---|---|---|
//! | bundle of clang | [`plain`] | `__CLANG_OFFLOAD_BUNDLE__` | files, section `.hip_fatbin` of host objects |
//! | the same, compressed | [`compressed`] | `CCOB` | the same places |
//! | the same as text | [`text`] | a comment with `__CLANG_OFFLOAD_BUNDLE____START__` | assembly, LLVM IR, preprocessed sources |
//! | archive of bundles | [`archive`] | `!<arch>` | libraries for several targets |
//! | offload binary | [`offload_binary`] | bytes 10 ff 10 ad | files, section `.llvm.offloading` of host objects |
//!
//! [`find`] looks for all of them in a file. What is read is bounded: sizes and offsets are checked against the bytes that are there,
//! a bundle has at most [`MAX_PARTS`] parts, and what is compressed is refused where it would take more than [`MAX_UNCOMPRESSED_BYTES`].
//! Cost: linear in the bytes, after decompression.
//!
//! Sources: clang's documentation, "Clang Offload Bundler" and "Clang Linker Wrapper"; LLVM's documentation of the section
//! `.llvm.offloading`; compared with what clang-offload-bundler 22 and llvm-offload-binary 22 write.

pub mod archive;
pub mod compressed;
pub mod find;
pub mod offload_binary;
pub mod plain;
pub mod target;
pub mod text;

pub use find::{Container, Found, find};
pub use target::BundleTarget;

use mir::{Diagnostic, Result};
use std::borrow::Cow;

/// Most parts that a bundle may have.
pub const MAX_PARTS: u64 = 1 << 16;

/// Most bytes that a compressed bundle may become.
pub const MAX_UNCOMPRESSED_BYTES: u64 = 1 << 30;

/// Code for one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// For whom: kind of offloading, triple and target id; see [`BundleTarget`].
    pub target: Cow<'a, str>,
    /// The file.
    pub contents: Cow<'a, [u8]>,
}

impl Part<'_> {
    /// The same with its own copy of everything.
    pub fn into_owned(self) -> Part<'static> {
        Part {
            target: Cow::Owned(self.target.into_owned()),
            contents: Cow::Owned(self.contents.into_owned()),
        }
    }
}

/// Refuses what does not fit the bytes that are there.
fn malformed<T>(message: impl Into<String>) -> Result<T> {
    Err(Diagnostic::malformed(message.into()))
}

/// The `N` bytes at `at`.
fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// The number of 64 bits at `at`.
fn word(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_le_bytes)
}

/// The bytes from `offset` on, as many as `size`, where they are all there.
fn slice(bytes: &[u8], offset: u64, size: u64) -> Option<&[u8]> {
    let from = usize::try_from(offset).ok()?;
    bytes.get(from..from.checked_add(usize::try_from(size).ok()?)?)
}
