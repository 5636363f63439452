//! LLVM's enumerations in the IR's words: opcodes, predicates, orderings, flags, linkage, calling
//! conventions.

use crate::llvm::{
    InstRef, LLVMAtomicOrdering, LLVMAtomicRMWBinOp, LLVMIntPredicate, LLVMLinkage, LLVMOpcode,
    LLVMRealPredicate, LLVMTailCallKind, LLVMVisibility, ValueRef,
};
use mir::ir::{
    AtomicOp, BinaryOp, CallConv, CastOp, FloatPredicate, InstFlags, IntPredicate, Linkage, Ordering,
    TailCall, Visibility,
};

/// What a call in front of a return says; `notail` forbids what nobody does without being asked.
pub(crate) fn tail_call(kind: LLVMTailCallKind) -> TailCall {
    use LLVMTailCallKind::*;
    match kind {
        LLVMTailCallKindNone | LLVMTailCallKindNoTail => TailCall::No,
        LLVMTailCallKindTail => TailCall::May,
        LLVMTailCallKindMustTail => TailCall::Must,
    }
}

/// Two-operand arithmetic.
pub(crate) fn binary_op(opcode: LLVMOpcode) -> Option<BinaryOp> {
    use LLVMOpcode::*;
    Some(match opcode {
        LLVMAdd => BinaryOp::Add,
        LLVMSub => BinaryOp::Sub,
        LLVMMul => BinaryOp::Mul,
        LLVMUDiv => BinaryOp::UDiv,
        LLVMSDiv => BinaryOp::SDiv,
        LLVMURem => BinaryOp::URem,
        LLVMSRem => BinaryOp::SRem,
        LLVMShl => BinaryOp::Shl,
        LLVMLShr => BinaryOp::LShr,
        LLVMAShr => BinaryOp::AShr,
        LLVMAnd => BinaryOp::And,
        LLVMOr => BinaryOp::Or,
        LLVMXor => BinaryOp::Xor,
        LLVMFAdd => BinaryOp::FAdd,
        LLVMFSub => BinaryOp::FSub,
        LLVMFMul => BinaryOp::FMul,
        LLVMFDiv => BinaryOp::FDiv,
        LLVMFRem => BinaryOp::FRem,
        _ => return None,
    })
}

/// Conversions. `ptrtoaddr` is `ptrtoint` here: no pointer of these targets that has an integer form holds
/// more.
pub(crate) fn cast_op(opcode: LLVMOpcode) -> Option<CastOp> {
    use LLVMOpcode::*;
    Some(match opcode {
        LLVMTrunc => CastOp::Trunc,
        LLVMZExt => CastOp::ZExt,
        LLVMSExt => CastOp::SExt,
        LLVMFPTrunc => CastOp::FpTrunc,
        LLVMFPExt => CastOp::FpExt,
        LLVMFPToUI => CastOp::FpToUi,
        LLVMFPToSI => CastOp::FpToSi,
        LLVMUIToFP => CastOp::UiToFp,
        LLVMSIToFP => CastOp::SiToFp,
        LLVMPtrToInt | LLVMPtrToAddr => CastOp::PtrToInt,
        LLVMIntToPtr => CastOp::IntToPtr,
        LLVMBitCast => CastOp::BitCast,
        LLVMAddrSpaceCast => CastOp::AddrSpaceCast,
        _ => return None,
    })
}

/// Comparisons of integers.
pub(crate) fn int_predicate(predicate: LLVMIntPredicate) -> IntPredicate {
    use LLVMIntPredicate::*;
    match predicate {
        LLVMIntEQ => IntPredicate::Eq,
        LLVMIntNE => IntPredicate::Ne,
        LLVMIntUGT => IntPredicate::Ugt,
        LLVMIntUGE => IntPredicate::Uge,
        LLVMIntULT => IntPredicate::Ult,
        LLVMIntULE => IntPredicate::Ule,
        LLVMIntSGT => IntPredicate::Sgt,
        LLVMIntSGE => IntPredicate::Sge,
        LLVMIntSLT => IntPredicate::Slt,
        LLVMIntSLE => IntPredicate::Sle,
    }
}

/// Comparisons of floating-point numbers.
pub(crate) fn float_predicate(predicate: LLVMRealPredicate) -> FloatPredicate {
    use LLVMRealPredicate::*;
    match predicate {
        LLVMRealPredicateFalse => FloatPredicate::False,
        LLVMRealOEQ => FloatPredicate::Oeq,
        LLVMRealOGT => FloatPredicate::Ogt,
        LLVMRealOGE => FloatPredicate::Oge,
        LLVMRealOLT => FloatPredicate::Olt,
        LLVMRealOLE => FloatPredicate::Ole,
        LLVMRealONE => FloatPredicate::One,
        LLVMRealORD => FloatPredicate::Ord,
        LLVMRealUNO => FloatPredicate::Uno,
        LLVMRealUEQ => FloatPredicate::Ueq,
        LLVMRealUGT => FloatPredicate::Ugt,
        LLVMRealUGE => FloatPredicate::Uge,
        LLVMRealULT => FloatPredicate::Ult,
        LLVMRealULE => FloatPredicate::Ule,
        LLVMRealUNE => FloatPredicate::Une,
        LLVMRealPredicateTrue => FloatPredicate::True,
    }
}

/// Memory orderings.
pub(crate) fn ordering(ordering: LLVMAtomicOrdering) -> Ordering {
    use LLVMAtomicOrdering::*;
    match ordering {
        LLVMAtomicOrderingNotAtomic => Ordering::NotAtomic,
        LLVMAtomicOrderingUnordered => Ordering::Unordered,
        LLVMAtomicOrderingMonotonic => Ordering::Monotonic,
        LLVMAtomicOrderingAcquire => Ordering::Acquire,
        LLVMAtomicOrderingRelease => Ordering::Release,
        LLVMAtomicOrderingAcquireRelease => Ordering::AcqRel,
        LLVMAtomicOrderingSequentiallyConsistent => Ordering::SeqCst,
    }
}

/// Atomic operations.
pub(crate) fn rmw_op(op: LLVMAtomicRMWBinOp) -> AtomicOp {
    use LLVMAtomicRMWBinOp::*;
    match op {
        LLVMAtomicRMWBinOpXchg => AtomicOp::Xchg,
        LLVMAtomicRMWBinOpAdd => AtomicOp::Add,
        LLVMAtomicRMWBinOpSub => AtomicOp::Sub,
        LLVMAtomicRMWBinOpAnd => AtomicOp::And,
        LLVMAtomicRMWBinOpNand => AtomicOp::Nand,
        LLVMAtomicRMWBinOpOr => AtomicOp::Or,
        LLVMAtomicRMWBinOpXor => AtomicOp::Xor,
        LLVMAtomicRMWBinOpMax => AtomicOp::Max,
        LLVMAtomicRMWBinOpMin => AtomicOp::Min,
        LLVMAtomicRMWBinOpUMax => AtomicOp::UMax,
        LLVMAtomicRMWBinOpUMin => AtomicOp::UMin,
        LLVMAtomicRMWBinOpFAdd => AtomicOp::FAdd,
        LLVMAtomicRMWBinOpFSub => AtomicOp::FSub,
        LLVMAtomicRMWBinOpFMax => AtomicOp::FMax,
        LLVMAtomicRMWBinOpFMin => AtomicOp::FMin,
        LLVMAtomicRMWBinOpFMaximum => AtomicOp::FMaximum,
        LLVMAtomicRMWBinOpFMinimum => AtomicOp::FMinimum,
        LLVMAtomicRMWBinOpUIncWrap => AtomicOp::UIncWrap,
        LLVMAtomicRMWBinOpUDecWrap => AtomicOp::UDecWrap,
        LLVMAtomicRMWBinOpUSubCond => AtomicOp::USubCond,
        LLVMAtomicRMWBinOpUSubSat => AtomicOp::USubSat,
    }
}

/// LLVM's fast-math bits (llvm-c/Core.h) and ours.
const FAST_MATH: [(u32, InstFlags); 7] = [
    (1, InstFlags::REASSOC),
    (2, InstFlags::NNAN),
    (4, InstFlags::NINF),
    (8, InstFlags::NSZ),
    (16, InstFlags::ARCP),
    (32, InstFlags::CONTRACT),
    (64, InstFlags::AFN),
];

fn fast_math(inst: InstRef<'_>) -> InstFlags {
    let bits = inst.fast_math();
    if bits == 0 {
        return InstFlags::empty();
    }
    FAST_MATH.iter().filter(|(bit, _)| bits & bit != 0).fold(InstFlags::empty(), |all, &(_, flag)| all | flag)
}

/// `flag` where `condition` holds.
pub(crate) fn when(condition: bool, flag: InstFlags) -> InstFlags {
    if condition { flag } else { InstFlags::empty() }
}

/// Flags of an instruction.
pub(crate) fn flags(inst: InstRef<'_>) -> InstFlags {
    use LLVMOpcode::*;
    match inst.opcode() {
        LLVMAdd | LLVMSub | LLVMMul | LLVMShl | LLVMTrunc => {
            when(inst.nuw(), InstFlags::NUW) | when(inst.nsw(), InstFlags::NSW)
        }
        LLVMUDiv | LLVMSDiv | LLVMLShr | LLVMAShr => when(inst.exact(), InstFlags::EXACT),
        LLVMOr => when(inst.disjoint(), InstFlags::DISJOINT),
        LLVMZExt => when(inst.nneg(), InstFlags::NNEG),
        LLVMUIToFP => when(inst.nneg(), InstFlags::NNEG) | fast_math(inst),
        LLVMICmp => when(inst.same_sign(), InstFlags::SAMESIGN),
        LLVMFAdd | LLVMFSub | LLVMFMul | LLVMFDiv | LLVMFRem | LLVMFNeg | LLVMFCmp | LLVMSelect
        | LLVMCall | LLVMFPTrunc | LLVMFPExt => fast_math(inst),
        _ => InstFlags::empty(),
    }
}

/// Linkage in the IR's words.
pub(crate) fn linkage(value: ValueRef<'_>) -> Linkage {
    use LLVMLinkage::*;
    match value.linkage() {
        Some(LLVMAvailableExternallyLinkage) => Linkage::AvailableExternally,
        Some(LLVMLinkOnceAnyLinkage) => Linkage::LinkOnceAny,
        Some(LLVMLinkOnceODRLinkage | LLVMLinkOnceODRAutoHideLinkage) => Linkage::LinkOnceOdr,
        Some(LLVMWeakAnyLinkage) => Linkage::WeakAny,
        Some(LLVMWeakODRLinkage) => Linkage::WeakOdr,
        Some(LLVMAppendingLinkage) => Linkage::Appending,
        Some(LLVMInternalLinkage) => Linkage::Internal,
        Some(LLVMPrivateLinkage | LLVMLinkerPrivateLinkage | LLVMLinkerPrivateWeakLinkage) => {
            Linkage::Private
        }
        Some(LLVMExternalWeakLinkage) => Linkage::ExternalWeak,
        Some(LLVMCommonLinkage) => Linkage::Common,
        _ => Linkage::External,
    }
}

/// Visibility in the IR's words.
pub(crate) fn visibility(value: ValueRef<'_>) -> Visibility {
    match value.visibility() {
        Some(LLVMVisibility::LLVMHiddenVisibility) => Visibility::Hidden,
        Some(LLVMVisibility::LLVMProtectedVisibility) => Visibility::Protected,
        _ => Visibility::Default,
    }
}

/// Calling convention by LLVM's number (llvm/IR/CallingConv.h).
pub(crate) fn call_conv(number: u32) -> CallConv {
    match number {
        76 | 91 => CallConv::Kernel,
        0 | 8 | 9 | 75 => CallConv::Device,
        87 => CallConv::AmdgpuVs,
        88 => CallConv::AmdgpuGs,
        89 => CallConv::AmdgpuPs,
        90 => CallConv::AmdgpuCs,
        93 => CallConv::AmdgpuHs,
        95 => CallConv::AmdgpuLs,
        96 => CallConv::AmdgpuEs,
        100 => CallConv::AmdgpuGfx,
        104 => CallConv::AmdgpuCsChain,
        105 => CallConv::AmdgpuCsChainPreserve,
        other => CallConv::Other(other),
    }
}
