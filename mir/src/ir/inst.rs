//! Instructions: one enum, uniform walks over operands and successors.

mod access;
mod operations;

pub use access::*;
pub use operations::*;

use super::{AddrSpace, Block, Func, InlineAsmId, Intrinsic, Type, Value};
use smallvec::SmallVec;

bitflags::bitflags! {
    /// Facts that the producer promises about one instruction. A broken promise yields poison.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct InstFlags: u16 {
        /// No unsigned wrap.
        const NUW = 1 << 0;
        /// No signed wrap.
        const NSW = 1 << 1;
        /// Division or right shift without remainder.
        const EXACT = 1 << 2;
        /// `or` of operands without common bits.
        const DISJOINT = 1 << 3;
        /// `zext`/`uitofp` of a non-negative value.
        const NNEG = 1 << 4;
        /// Pointer arithmetic stays inside its object.
        const INBOUNDS = 1 << 5;
        /// `icmp` whose operands have the same sign.
        const SAMESIGN = 1 << 6;
        /// A load by an intrinsic sees nothing that is written while the program runs (LLVM: the call is `memory(none)`).
        const INVARIANT = 1 << 7;
        /// Fast-math: no NaNs.
        const NNAN = 1 << 8;
        /// Fast-math: no infinities.
        const NINF = 1 << 9;
        /// Fast-math: the sign of zero is insignificant.
        const NSZ = 1 << 10;
        /// Fast-math: division may become multiplication by the reciprocal.
        const ARCP = 1 << 11;
        /// Fast-math: contraction (fma) allowed.
        const CONTRACT = 1 << 12;
        /// Fast-math: approximate functions allowed.
        const AFN = 1 << 13;
        /// Fast-math: reassociation allowed.
        const REASSOC = 1 << 14;
        /// All fast-math flags.
        const FAST = 0x7f00;
        /// Strict floating point: reads the floating-point environment (rounding, denormals) and writes its exception
        /// flags, so it stays where it is, however it is used.
        const STRICT = 1 << 15;
    }
}

/// A branch target with the arguments for its block parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BlockCall {
    /// Where to go.
    pub block: Block,
    /// One value for each parameter of `block`, in order.
    pub args: SmallVec<[Value; 4]>,
}

impl BlockCall {
    /// A target without arguments.
    #[inline]
    pub fn to(block: Block) -> Self {
        Self { block, args: SmallVec::new() }
    }
}

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Callee {
    /// A function of the module (defined or declared).
    Func(Func),
    /// A pointer to a function.
    Indirect(Value),
}

/// What an instruction does. `ty` below is [`InstData::ty`], the type of the result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum InstKind {
    /// `ty = op arg`
    Unary {
        /// Operation.
        op: UnaryOp,
        /// Operand.
        arg: Value,
    },
    /// `ty = op args[0], args[1]`
    Binary {
        /// Operation.
        op: BinaryOp,
        /// Operands.
        args: [Value; 2],
    },
    /// `ty = op arg to ty`
    Cast {
        /// Operation.
        op: CastOp,
        /// Operand.
        arg: Value,
    },
    /// `i1 (or vector of i1) = icmp`; pointers too.
    Icmp {
        /// Predicate.
        predicate: IntPredicate,
        /// Operands.
        args: [Value; 2],
    },
    /// `i1 (or vector of i1) = fcmp`
    Fcmp {
        /// Predicate.
        predicate: FloatPredicate,
        /// Operands.
        args: [Value; 2],
    },
    /// `cond ? if_true : if_false`; `cond` is i1 or a vector of i1 with the lanes of `ty`.
    Select {
        /// Condition.
        cond: Value,
        /// Result where the condition holds.
        if_true: Value,
        /// Result where it does not.
        if_false: Value,
    },
    /// `base + sext_or_trunc(index) * scale + offset`, in bytes, at the width of the pointer.
    PtrAdd {
        /// Pointer (or vector of pointers when `ty` is one; a scalar base or index is then splat).
        base: Value,
        /// Optional variable part, any integer type.
        index: Option<Value>,
        /// Bytes for each step of `index`.
        scale: i64,
        /// Constant bytes.
        offset: i64,
    },
    /// A stack object of this lane; the result is a pointer to it in the private address space.
    Alloca {
        /// Bytes of one element.
        size_bytes: u64,
        /// Number of elements where it is not the constant 1.
        count: Option<Value>,
        /// log2 of the alignment in bytes.
        align_log2: u8,
    },
    /// `ty = *ptr`
    Load {
        /// Address.
        ptr: Value,
        /// Access.
        mem: MemAccess,
    },
    /// `*ptr = value`
    Store {
        /// Address.
        ptr: Value,
        /// Data.
        value: Value,
        /// Access.
        mem: MemAccess,
    },
    /// `ty = *ptr; *ptr = ty op value`
    AtomicRmw {
        /// Operation.
        op: AtomicOp,
        /// Address.
        ptr: Value,
        /// Operand.
        value: Value,
        /// Access.
        mem: MemAccess,
    },
    /// `ty = { old, old == expected }`, storing `replacement` if equal. `mem.ordering` is the stronger of the two orderings.
    CmpXchg {
        /// Address.
        ptr: Value,
        /// Compared with memory.
        expected: Value,
        /// Stored on success.
        replacement: Value,
        /// Access; the merged ordering.
        mem: MemAccess,
        /// Whether it may fail spuriously.
        weak: bool,
    },
    /// Memory fence.
    Fence {
        /// Ordering.
        ordering: Ordering,
        /// Scope.
        scope: SyncScope,
        /// `ONE_ADDRESS_SPACE` only.
        flags: MemFlags,
        /// The memory whose accesses it orders: global, local, or all (flat).
        space: AddrSpace,
    },
    /// Element `index` of `vector`; poison when out of range.
    ExtractElement {
        /// Vector.
        vector: Value,
        /// Integer of any width.
        index: Value,
    },
    /// `vector` with element `index` replaced.
    InsertElement {
        /// Vector.
        vector: Value,
        /// New element.
        element: Value,
        /// Integer of any width.
        index: Value,
    },
    /// Lanes of `args[0] ++ args[1]` picked by `mask`; `None` is poison.
    Shuffle {
        /// Two vectors of one type.
        args: [Value; 2],
        /// One entry for each lane of the result.
        mask: Box<[Option<u32>]>,
    },
    /// The member of `aggregate` at `path`.
    ExtractValue {
        /// Struct or array.
        aggregate: Value,
        /// Index path.
        path: SmallVec<[u32; 2]>,
    },
    /// `aggregate` with the member at `path` replaced.
    InsertValue {
        /// Struct or array.
        aggregate: Value,
        /// New member.
        value: Value,
        /// Index path.
        path: SmallVec<[u32; 2]>,
    },
    /// A call of a function.
    Call {
        /// What.
        callee: Callee,
        /// Arguments.
        args: SmallVec<[Value; 4]>,
    },
    /// An operation that LLVM writes as a call of `llvm.*`. Metadata arguments are dropped.
    Intrinsic {
        /// Which.
        intrinsic: Intrinsic,
        /// Arguments.
        args: SmallVec<[Value; 4]>,
    },
    /// Inline assembly.
    InlineAsm {
        /// Text and constraints, in the function's table.
        asm: InlineAsmId,
        /// Arguments.
        args: SmallVec<[Value; 4]>,
        /// Whether it does more than compute results from arguments: it is marked so, or may access memory.
        side_effects: bool,
    },
    /// Unconditional branch.
    Jump {
        /// BlockCall.
        target: BlockCall,
    },
    /// Two-way branch on an i1.
    Branch {
        /// Condition.
        cond: Value,
        /// BlockCall where the condition holds.
        if_true: BlockCall,
        /// BlockCall where it does not.
        if_false: BlockCall,
    },
    /// Multi-way branch.
    Switch {
        /// Integer of any width up to 64 bits.
        value: Value,
        /// Case values (zero-extended bits) and targets.
        cases: Box<[(u64, BlockCall)]>,
        /// BlockCall for all other values.
        default: BlockCall,
    },
    /// Leaves the function.
    Ret {
        /// Result, none for void.
        value: Option<Value>,
    },
    /// Control never gets here.
    Unreachable,
}

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InstData {
    /// What it does.
    pub kind: InstKind,
    /// Type of the result; [`Type::Void`] when it has none.
    pub ty: Type,
    /// Producer's promises.
    pub flags: InstFlags,
    /// `!fpmath` accuracy in units of 1/256 ulp; 0 where absent.
    pub fpmath_ulp_256: u16,
    /// The result, where `ty` is not void.
    pub result: Option<Value>,
}

impl InstData {
    /// Whether it can do anything besides produce its result: what its kind does, or floating-point exceptions.
    #[inline]
    pub fn has_side_effects(&self) -> bool {
        self.flags.contains(InstFlags::STRICT) || self.kind.has_side_effects()
    }
}

/// Visits each value field of an [`InstKind`], by shared or by mutable reference (`$iter` is `iter` or `iter_mut`).
macro_rules! walk_values {
    ($kind:expr, $f:expr, $iter:ident) => {{
        let mut f = $f;
        match $kind {
            InstKind::Unary { arg, .. } | InstKind::Cast { arg, .. } => f(arg),
            InstKind::Binary { args, .. }
            | InstKind::Icmp { args, .. }
            | InstKind::Fcmp { args, .. }
            | InstKind::Shuffle { args, .. } => args.$iter().for_each(f),
            InstKind::Select { cond, if_true, if_false } => {
                f(cond);
                f(if_true);
                f(if_false);
            }
            InstKind::PtrAdd { base, index, .. } => {
                f(base);
                index.$iter().for_each(f);
            }
            InstKind::Alloca { count, .. } => count.$iter().for_each(f),
            InstKind::Load { ptr, .. } => f(ptr),
            InstKind::Store { ptr, value, .. } | InstKind::AtomicRmw { ptr, value, .. } => {
                f(ptr);
                f(value);
            }
            InstKind::CmpXchg { ptr, expected, replacement, .. } => {
                f(ptr);
                f(expected);
                f(replacement);
            }
            InstKind::Fence { .. } | InstKind::Unreachable => {}
            InstKind::ExtractElement { vector, index } => {
                f(vector);
                f(index);
            }
            InstKind::InsertElement { vector, element, index } => {
                f(vector);
                f(element);
                f(index);
            }
            InstKind::ExtractValue { aggregate, .. } => f(aggregate),
            InstKind::InsertValue { aggregate, value, .. } => {
                f(aggregate);
                f(value);
            }
            InstKind::Call { callee, args } => {
                if let Callee::Indirect(pointer) = callee {
                    f(pointer);
                }
                args.$iter().for_each(f);
            }
            InstKind::Intrinsic { args, .. } | InstKind::InlineAsm { args, .. } => args.$iter().for_each(f),
            InstKind::Jump { target } => target.args.$iter().for_each(f),
            InstKind::Branch { cond, if_true, if_false } => {
                f(cond);
                if_true.args.$iter().for_each(&mut f);
                if_false.args.$iter().for_each(&mut f);
            }
            InstKind::Switch { value, cases, default } => {
                f(value);
                default.args.$iter().for_each(&mut f);
                for (_, target) in cases.$iter() {
                    target.args.$iter().for_each(&mut f);
                }
            }
            InstKind::Ret { value } => value.$iter().for_each(f),
        }
    }};
}

impl InstKind {
    /// Whether it ends a block.
    #[inline]
    pub fn is_terminator(&self) -> bool {
        matches!(
            self,
            Self::Jump { .. }
                | Self::Branch { .. }
                | Self::Switch { .. }
                | Self::Ret { .. }
                | Self::Unreachable
        )
    }

    /// Calls `f` on every value used, branch arguments included, in a fixed order.
    pub fn for_each_value(&self, mut f: impl FnMut(Value)) {
        walk_values!(self, |v: &Value| f(*v), iter);
    }

    /// Calls `f` on a mutable reference to every value used, in the order of [`Self::for_each_value`].
    pub fn for_each_value_mut(&mut self, mut f: impl FnMut(&mut Value)) {
        walk_values!(self, |v: &mut Value| f(v), iter_mut);
    }

    /// Branch targets in order; empty for everything but branches.
    #[inline]
    pub fn targets(&self) -> SmallVec<[&BlockCall; 2]> {
        match self {
            Self::Jump { target } => SmallVec::from_slice(&[target]),
            Self::Branch { if_true, if_false, .. } => SmallVec::from_slice(&[if_true, if_false]),
            Self::Switch { cases, default, .. } => {
                std::iter::once(default).chain(cases.iter().map(|(_, t)| t)).collect()
            }
            _ => SmallVec::new(),
        }
    }

    /// Mutable branch targets in the order of [`Self::targets`].
    pub fn targets_mut(&mut self) -> SmallVec<[&mut BlockCall; 2]> {
        match self {
            Self::Jump { target } => std::iter::once(target).collect(),
            Self::Branch { if_true, if_false, .. } => [if_true, if_false].into_iter().collect(),
            Self::Switch { cases, default, .. } => {
                std::iter::once(default).chain(cases.iter_mut().map(|(_, t)| t)).collect()
            }
            _ => SmallVec::new(),
        }
    }

    /// Whether it can do anything besides produce its result (memory writes, synchronisation, control flow, traps).
    #[inline]
    pub fn has_side_effects(&self) -> bool {
        match self {
            Self::Store { .. }
            | Self::AtomicRmw { .. }
            | Self::CmpXchg { .. }
            | Self::Fence { .. }
            | Self::Call { .. } => true,
            Self::InlineAsm { side_effects, .. } => *side_effects,
            Self::Load { mem, .. } => !mem.is_simple(),
            Self::Intrinsic { intrinsic, .. } => intrinsic.has_side_effects(),
            _ => self.is_terminator(),
        }
    }

    /// Whether what follows may not run, or not in all lanes: the program may end in it, or never come back. Branches
    /// are not meant.
    pub fn may_stop(&self) -> bool {
        match self {
            Self::Call { .. } => true,
            Self::InlineAsm { side_effects, .. } => *side_effects,
            Self::Intrinsic { intrinsic, .. } => intrinsic.may_stop(),
            _ => false,
        }
    }
}
