//! Buffer intrinsics: `[raw|struct][.ptr].[t]buffer.*`, one family of 88 names.
//!
//! All have the same arguments: `[data, [compare,]] resource, [index,] offset, soffset, [format,] aux`; loads into LDS have
//! `resource, LDS pointer, size, [index,] offset, soffset, immediate offset, aux`. So a name is a row of facts, and passes read
//! the facts.

use super::IntrinsicProps;
use std::sync::OnceLock;

/// A buffer intrinsic: a row of [`BufferIntrinsic::desc`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferIntrinsic(u8);

/// What a buffer intrinsic does with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BufferAction {
    /// Loads bytes as they are.
    Load,
    /// Loads and converts from the resource's format.
    LoadFormat,
    /// Loads as an atomic does: neither removed nor merged.
    AtomicLoad,
    /// Loads a dword or less of each lane into LDS.
    LoadLds,
    /// Stores bytes as they are.
    Store,
    /// Converts to the resource's format and stores.
    StoreFormat,
    /// Read-modify-write; the name of the operation as the instructions have it.
    Atomic(&'static str),
}

/// The facts of one name.
#[derive(Clone, Debug)]
pub struct BufferDesc {
    /// Name without `llvm.`.
    pub name: String,
    /// Whether there is an index (`struct`).
    pub structured: bool,
    /// Whether the resource is a pointer of address space 8 and no vector.
    pub pointer: bool,
    /// Whether the format is an argument (`tbuffer`).
    pub typed: bool,
    /// What it does.
    pub action: BufferAction,
}

impl BufferDesc {
    /// Number of data arguments in front of the resource.
    pub fn data_args(&self) -> usize {
        match self.action {
            BufferAction::Store | BufferAction::StoreFormat => 1,
            BufferAction::Atomic("cmpswap") => 2,
            BufferAction::Atomic(_) => 1,
            _ => 0,
        }
    }

    /// Position of the argument that holds the resource.
    pub fn resource(&self) -> usize {
        self.data_args()
    }

    /// Position of the byte offset.
    pub fn offset(&self) -> usize {
        let lds = if self.action == BufferAction::LoadLds { 2 } else { 0 };
        self.resource() + 1 + lds + usize::from(self.structured)
    }

    /// Position of the index, where there is one.
    pub fn index(&self) -> Option<usize> {
        self.structured.then(|| self.offset() - 1)
    }

    /// Position of the scalar offset.
    pub fn soffset(&self) -> usize {
        self.offset() + 1
    }

    /// Position of the last argument, the cache bits.
    pub fn aux(&self) -> usize {
        self.soffset() + 1 + usize::from(self.typed || self.action == BufferAction::LoadLds)
    }

    fn props(&self) -> IntrinsicProps {
        match self.action {
            BufferAction::Load | BufferAction::LoadFormat => IntrinsicProps::READS,
            _ => IntrinsicProps::EFFECT,
        }
    }
}

/// Read-modify-write operations, as in the names of intrinsics.
const ATOMICS: [&str; 17] = [
    "swap",
    "add",
    "sub",
    "smin",
    "umin",
    "smax",
    "umax",
    "and",
    "or",
    "xor",
    "inc",
    "dec",
    "cmpswap",
    "fadd",
    "fmin",
    "fmax",
    "cond.sub.u32",
];

fn table() -> &'static [BufferDesc] {
    static TABLE: OnceLock<Vec<BufferDesc>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut rows = Vec::new();
        for (structured, kind) in [(false, "raw"), (true, "struct")] {
            for (pointer, ptr) in [(false, ""), (true, "ptr.")] {
                let mut add = |name: String, typed, action| {
                    rows.push(BufferDesc {
                        name: format!("amdgcn.{kind}.{ptr}{name}"),
                        structured,
                        pointer,
                        typed,
                        action,
                    });
                };
                for (suffix, action) in [
                    ("load", BufferAction::Load),
                    ("load.format", BufferAction::LoadFormat),
                    ("load.lds", BufferAction::LoadLds),
                    ("store", BufferAction::Store),
                    ("store.format", BufferAction::StoreFormat),
                ] {
                    add(format!("buffer.{suffix}"), false, action);
                }
                for op in ATOMICS {
                    add(format!("buffer.atomic.{op}"), false, BufferAction::Atomic(op));
                }
                add("atomic.buffer.load".to_owned(), false, BufferAction::AtomicLoad);
                add("tbuffer.load".to_owned(), true, BufferAction::LoadFormat);
                add("tbuffer.store".to_owned(), true, BufferAction::StoreFormat);
            }
        }
        rows
    })
}

impl BufferIntrinsic {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..table().len() as u8).map(Self)
    }

    /// The row of facts.
    #[inline]
    pub fn desc(self) -> &'static BufferDesc {
        &table()[usize::from(self.0)]
    }

    /// Properties.
    #[inline]
    pub fn props(self) -> IntrinsicProps {
        self.desc().props()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_where_llvm_has_them() {
        let desc = |name: &str| {
            BufferIntrinsic::all().map(BufferIntrinsic::desc).find(|d| d.name == format!("amdgcn.{name}"))
        };
        let load = desc("raw.ptr.buffer.load").expect("a row");
        assert_eq!(
            (load.resource(), load.index(), load.offset(), load.soffset(), load.aux()),
            (0, None, 1, 2, 3)
        );
        let store = desc("struct.tbuffer.store").expect("a row");
        assert_eq!(
            (store.resource(), store.index(), store.offset(), store.soffset(), store.aux()),
            (1, Some(2), 3, 4, 6)
        );
        let swap = desc("struct.buffer.atomic.cmpswap").expect("a row");
        assert_eq!((swap.resource(), swap.index(), swap.offset(), swap.aux()), (2, Some(3), 4, 6));
        let lds = desc("raw.buffer.load.lds").expect("a row");
        assert_eq!((lds.resource(), lds.offset(), lds.soffset(), lds.aux()), (0, 3, 4, 6));
    }
}
