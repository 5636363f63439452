//! How memory is accessed: ordering, scope, alignment and what else is known.

use crate::ir::{AddrSpace, AliasSet};

/// Atomic orderings of LLVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "LLVM's own words")]
pub enum Ordering {
    NotAtomic,
    Unordered,
    Monotonic,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

/// Which waves an atomic synchronises with. The `one_as` variants of LLVM restrict ordering to the address space
/// accessed and are the flag [`MemFlags::ONE_ADDRESS_SPACE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "LLVM's own words")]
pub enum SyncScope {
    SingleThread,
    Wavefront,
    Workgroup,
    Agent,
    System,
}

/// Read-modify-write operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "LLVM's own mnemonics")]
pub enum AtomicOp {
    Xchg,
    Add,
    Sub,
    And,
    Nand,
    Or,
    Xor,
    Max,
    Min,
    UMax,
    UMin,
    FAdd,
    FSub,
    FMax,
    FMin,
    FMaximum,
    FMinimum,
    UIncWrap,
    UDecWrap,
    USubCond,
    USubSat,
}

bitflags::bitflags! {
    /// How an access may be treated.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct MemFlags: u8 {
        /// May not be removed, duplicated or merged.
        const VOLATILE = 1 << 0;
        /// Streaming: do not keep in caches.
        const NONTEMPORAL = 1 << 1;
        /// `!invariant.load`: the memory never changes while it is readable.
        const INVARIANT = 1 << 2;
        /// Nothing in the dispatch writes the memory before this load (kernel argument segment, `noalias readonly` kernel
        /// arguments, `!amdgpu.noclobber`): a uniform load may use the scalar cache. The memory may be written *after* the
        /// load, so this alone does not allow moving the load down past stores.
        const NO_CLOBBER = 1 << 3;
        /// `*-one-as` synchronisation scopes.
        const ONE_ADDRESS_SPACE = 1 << 4;
        /// The access may be made even where control would not reach it.
        const DEREFERENCEABLE = 1 << 5;
        /// `!amdgpu.no.fine.grained.memory` or `!amdgpu.no.remote.memory`: an atomic operation on memory where the device's own
        /// instructions work. Of other memory, behind a bus, only additions, exchanges and compare-exchanges are certain to.
        const DEVICE_MEMORY = 1 << 6;
        /// `!noalias.addrspace`: a generic pointer that does not lead to private memory.
        const NOT_PRIVATE = 1 << 7;
    }
}

/// Which global memory an access can be to. Accesses of two classes have nothing in common, unless one is [`Self::UNKNOWN`]. In private memory there
/// are two: [`Self::SLOT`] and the rest.
///
/// Source: LLVM language reference, "Parameter Attributes", `noalias`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct AliasClass(pub u8);

impl AliasClass {
    /// Any.
    pub const UNKNOWN: Self = Self(0);
    /// What no `noalias` argument leads to.
    pub const REST: Self = Self(1);
    /// Classes of `noalias` arguments, from 2 on: a few, as each is one more thing to keep order of.
    pub const ARGUMENTS: u8 = 6;
    /// Of private memory: slots of spilled registers, to which no pointer leads.
    pub const SLOT: Self = Self(2 + Self::ARGUMENTS);

    /// The class of the `noalias` argument with this number. Of many, some share a class.
    #[inline]
    pub fn argument(number: usize) -> Self {
        Self(2 + (number % usize::from(Self::ARGUMENTS)) as u8)
    }
}

/// Everything about a memory access except address and data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemAccess {
    /// log2 of the guaranteed alignment in bytes.
    pub align_log2: u8,
    /// Treatment.
    pub flags: MemFlags,
    /// Ordering; [`Ordering::NotAtomic`] for plain accesses.
    pub ordering: Ordering,
    /// Scope; meaningless for plain accesses.
    pub scope: SyncScope,
    /// Address space of the pointer.
    pub space: AddrSpace,
    /// Which memory that can be.
    pub alias: AliasClass,
    /// The same by the function's scopes; of IR alone.
    pub set: AliasSet,
}

impl MemAccess {
    /// A plain access with `align_log2` in `space`.
    #[inline]
    pub fn plain(space: AddrSpace, align_log2: u8) -> Self {
        Self {
            align_log2,
            flags: MemFlags::empty(),
            ordering: Ordering::NotAtomic,
            scope: SyncScope::System,
            space,
            alias: AliasClass::UNKNOWN,
            set: AliasSet::ANY,
        }
    }

    /// Whether it is neither atomic nor volatile.
    #[inline]
    pub fn is_simple(&self) -> bool {
        self.ordering == Ordering::NotAtomic && !self.flags.contains(MemFlags::VOLATILE)
    }
}
