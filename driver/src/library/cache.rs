//! Code objects kept on disk.
//!
//! The store is [`cacache`]: contents by their hash, an index of keys beside them, files renamed into place, so that any number of
//! processes may use one folder at once. An entry that is damaged, cut off or of another build is a miss; so is anything that goes wrong with the
//! disk, since a cache has no errors to tell. The key is a hash of what the code object depends on: the build of gcnc, target, options,
//! the host's symbols, and the inputs.

use super::{CodeObject, Compiler, Input};
use crate::options::CompileOptions;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A folder of code objects.
///
/// ```
/// # #[cfg(feature = "cache")] {
/// # let folder = tempfile::tempdir().unwrap();
/// let cache = gcnc::Cache::new(folder.path(), 64 << 20);
/// let compiler = gcnc::Compiler::builder("gfx900").cache(cache).build().unwrap();
/// let first = compiler.compile("define amdgpu_kernel void @k() { ret void }").unwrap();
/// let second = compiler.compile("define amdgpu_kernel void @k() { ret void }").unwrap();
/// assert!(second.stats.from_cache && first.bytes == second.bytes);
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Cache(Arc<State>);

#[derive(Debug)]
struct State {
    folder: PathBuf,
    most_bytes: u64,
    /// Bytes written by this process since the size of the folder was looked at.
    written: AtomicU64,
}

impl Cache {
    /// A cache in `folder`, which is made when something is put there, of `most_bytes` at most. Entries that were made first are removed
    /// first; between two looks at the size of the folder it may be exceeded by an eighth, and by the last entry.
    pub fn new(folder: impl Into<PathBuf>, most_bytes: u64) -> Self {
        // The first entry asks how large the folder is already.
        Self(Arc::new(State { folder: folder.into(), most_bytes, written: AtomicU64::new(most_bytes) }))
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.0.folder
    }

    /// Where the code object of `inputs` is or will be; `None` where an input is no bytes.
    pub(super) fn entry(&self, compiler: &Compiler, inputs: &[Input<'_>]) -> Option<Entry> {
        let mut hash = Sha256::new();
        let options = CompileOptions { watch: None, pool: None, threads: 1, ..compiler.options.clone() };
        let about = format!("{}\n{options:?}\n{:?}\n", env!("GCNC_BUILD"), compiler.symbols);
        hash.update((about.len() as u64).to_le_bytes());
        hash.update(about);
        for input in inputs {
            let Input::Bytes(bytes) = input else { return None };
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        }
        let mut key = String::with_capacity(64);
        for byte in hash.finalize() {
            let _ = write!(key, "{byte:02x}");
        }
        Some(Entry { cache: self.clone(), key })
    }

    /// Removes the oldest entries until the rest takes three quarters of what is allowed.
    fn shrink(&self) {
        let State { folder, most_bytes, .. } = &*self.0;
        let mut entries: Vec<_> = cacache::list_sync(folder).filter_map(Result::ok).collect();
        let mut bytes: u64 = entries.iter().map(|entry| entry.size as u64).sum();
        if bytes <= *most_bytes {
            return;
        }
        entries.sort_by_key(|entry| entry.time);
        for entry in entries {
            if bytes <= most_bytes / 4 * 3 {
                return;
            }
            // Another process may have been faster.
            let _ = cacache::remove_sync(folder, &entry.key);
            let _ = cacache::remove_hash_sync(folder, &entry.integrity);
            bytes -= entry.size as u64;
        }
    }
}

/// Where a code object is or will be.
pub(super) struct Entry {
    cache: Cache,
    key: String,
}

impl Entry {
    /// The code object, if it is there and whole.
    pub(super) fn get(&self) -> Option<CodeObject> {
        let bytes = cacache::read_sync(self.cache.folder(), &self.key).ok()?;
        let mut object: CodeObject = rmp_serde::from_slice(&bytes).ok()?;
        object.stats.from_cache = true;
        Some(object)
    }

    /// Keeps `object`.
    pub(super) fn put(&self, object: &CodeObject) {
        let Ok(bytes) = rmp_serde::to_vec_named(object) else { return };
        let state = &*self.cache.0;
        // The index knows the size only where it is told before.
        let write = || {
            let mut writer =
                cacache::WriteOpts::new().size(bytes.len()).open_sync(&state.folder, &self.key)?;
            writer.write_all(&bytes).map_err(|error| cacache::Error::IoError(error, String::new()))?;
            writer.commit()
        };
        if bytes.len() as u64 > state.most_bytes || write().is_err() {
            return;
        }
        let written = state.written.fetch_add(bytes.len() as u64, Ordering::Relaxed) + bytes.len() as u64;
        if written > state.most_bytes / 8 {
            state.written.store(0, Ordering::Relaxed);
            self.cache.shrink();
        }
    }
}
