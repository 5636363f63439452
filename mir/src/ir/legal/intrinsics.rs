//! The contract with selection: which intrinsics are left in legal IR, and at which types.
//!
//! Every row is something that selection turns into one or two machine instructions. What is not listed has been
//! expanded. Notes that go beyond LLVM's own definitions:
//!
//! * `ctlz`, `cttz` occur at i32 with `is_zero_poison` = true only and mean `ffbh_u32`, `ffbl_b32`: **zero gives
//!   -1**, and legalisation relies on it;
//! * `fshr` at i32 is `v_alignbit_b32`: the amount counts modulo 32;
//! * `fmuladd` at float occurs only in functions that flush binary32 denormals and is `v_mad_f32`/`v_mac_f32`;
//!   elsewhere it has become `fma`, or `fmul` and `fadd`;
//! * `minnum`, `maxnum` are the bare `v_min`, `v_max`: operands that may be signalling NaNs have been given a
//!   `canonicalize`, which is `v_max x, x` (or `v_mul 1.0, x`);
//! * `ldexp` takes an i32 exponent for float and double, an i16 one for half;
//! * `amdgcn.div.scale` is the one instruction besides `cmpxchg` with a struct as result. Only `extractvalue` with
//!   path \[0\] or \[1\] reads it (\[0\] alone for `cmpxchg`); member 1 is the VCC result;
//! * the wide product of two 32-bit integers is `mul i64 (zext a), (zext b)`, or `sext` twice; no other i64 `mul`
//!   occurs. `trunc (lshr (mul ..), 32)` of it is the high half. A sum `add i64 (mul ..), c` is
//!   `v_mad_u64_u32` where the target has it;
//! * arguments that LLVM demands to be immediate are constants.
//!
//! Besides intrinsics, legal IR holds at scalar types (and [`PACKED`] ones):
//!
//! * `and`, `or`, `xor` at i1; `add`, `sub`, `mul`, `and`, `or`, `xor` and shifts at i16 (where the target has 16-bit
//!   instructions), i32 and i64 (`mul` as said); a shift's amount has the type of the value;
//! * `fadd`, `fsub`, `fmul`, `fneg`, `fcmp` (not `false`, `true`) at half (same condition), float, double;
//! * `icmp` at i16, i32, i64 and pointers; `select` at every scalar type with a scalar condition;
//! * `trunc` of i32 and i64 to i8, i16, i32; `zext`, `sext` of i1, i8, i16, i32 to i16, i32, i64; `uitofp`, `sitofp`
//!   of i32 to float and double and of i16 to half; `fptoui`, `fptosi` the other way round; `fpext`, `fptrunc` between
//!   half and float, float and double; `bitcast`, `ptrtoint`, `inttoptr` between types of one size, with <2 x i32> and <2 x i16> among
//!   them; `addrspacecast` between any two spaces (null maps to null);
//! * `ptradd` on scalar pointers with an index of i32 (sign-extended) or i64 for a 64-bit pointer, i32 for a 32-bit one;
//! * `load`, `store` of i8, i16, half, bfloat, 32- and 64-bit scalars and vectors of 32- or 64-bit elements, at most 16 bytes;
//!   a wider load (32 or 64 bytes) occurs only in constant or kernarg memory at an address that is plainly uniform.
//!   The alignment is such that one instruction does it: in LDS 8 for 16 bytes, 4 for 8 (`ds_read2` counts as one);
//!   elsewhere 4, unless the target has `UNALIGNED_ACCESS`;
//! * atomics at 32 and 64 bits; float ones only where the target has them, else `cmpxchg` loops;
//! * `extractelement`, `insertelement` with constant index on the vectors above;
//! * undef and poison constants at any of these types, `freeze` nowhere.
//!
//! Integer and float types below stand for scalars; [`PACKED`] lists what may also be `<2 x i16>` or `<2 x half>`.

use crate::ir::{AddrSpace, BinaryOp, Float, Intrinsic, Scalar, Type};
use crate::target::{Features, Target};

bitflags::bitflags! {
    /// Types at which an intrinsic is legal: of its result, or of its first argument where the comment says so.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct At: u16 {
        /// `half`, where the target has 16-bit instructions.
        const F16 = 1 << 0;
        /// `float`.
        const F32 = 1 << 1;
        /// `double`.
        const F64 = 1 << 2;
        /// `i16`, where the target has 16-bit instructions.
        const I16 = 1 << 3;
        /// `i32`.
        const I32 = 1 << 4;
        /// `i64`.
        const I64 = 1 << 5;
        /// `i1`.
        const I1 = 1 << 6;
        /// Pointers.
        const PTR = 1 << 7;
        /// No result.
        const VOID = 1 << 8;
        /// Checked by selection: odd shapes of AMDGPU intrinsics (vectors, immediates).
        const ANY = 1 << 9;
    }
}

const F: At = At::F16.union(At::F32).union(At::F64);

/// Intrinsics that legal IR may hold, sorted as in `crate::ir::Intrinsic`. The type is that of the result; for
/// `amdgcn.class`, `amdgcn.frexp.exp`, `amdgcn.icmp` and `amdgcn.fcmp` that of the first argument.
pub const LEGAL: &[(Intrinsic, At)] = {
    use Intrinsic::*;
    &[
        (Fabs, F),
        (Fma, F),
        (Fmuladd, At::F32),
        (Ldexp, F),
        (Floor, F),
        (Ceil, F),
        (Trunc, F),
        // Round to nearest even; `nearbyint` and `roundeven` have become `rint`.
        (Rint, F),
        (Copysign, F),
        (Minnum, F),
        (Maxnum, F),
        (Canonicalize, F),
        (Smin, At::I16.union(At::I32)),
        (Smax, At::I16.union(At::I32)),
        (Umin, At::I16.union(At::I32)),
        (Umax, At::I16.union(At::I32)),
        (Ctpop, At::I32),
        (Ctlz, At::I32),
        (Cttz, At::I32),
        (Bswap, At::I32),
        (Bitreverse, At::I32),
        (Fshr, At::I32),
        (Trap, At::VOID),
        (Debugtrap, At::VOID),
        (Readcyclecounter, At::I64),
        (Readsteadycounter, At::I64),
        // Of the function itself.
        (Stacksave, At::I32),
        (Stackrestore, At::VOID),
        (Returnaddress, At::PTR),
        (ReadRegister, At::I32.union(At::I64)),
        (ReadVolatileRegister, At::I32.union(At::I64)),
        (WriteRegister, At::VOID),
        (WorkitemIdX, At::I32),
        (WorkitemIdY, At::I32),
        (WorkitemIdZ, At::I32),
        (WorkgroupIdX, At::I32),
        (WorkgroupIdY, At::I32),
        (WorkgroupIdZ, At::I32),
        (DispatchPtr, At::PTR),
        (DispatchId, At::I64),
        (QueuePtr, At::PTR),
        (ImplicitargPtr, At::PTR),
        (KernargSegmentPtr, At::PTR),
        (Groupstaticsize, At::I32),
        (IsShared, At::I1),
        (IsPrivate, At::I1),
        (LdsKernelId, At::I32),
        (WaveId, At::I32),
        (ImplicitBufferPtr, At::PTR),
        (RelocConstant, At::I32),
        (PopsExitingWaveId, At::I32),
        (SBarrier, At::VOID),
        (WaveBarrier, At::VOID),
        (SGetpc, At::I64),
        (STtracedata, At::VOID),
        (SIncperflevel, At::VOID),
        (SDecperflevel, At::VOID),
        (SWaitcnt, At::VOID),
        (SSleep, At::VOID),
        (SSethalt, At::VOID),
        (SSetprio, At::VOID),
        (SNop, At::VOID),
        (SMemtime, At::I64),
        (SGetWaveidInWorkgroup, At::I32),
        (SMemrealtime, At::I64),
        (SGetreg, At::I32),
        (SSetreg, At::VOID),
        (SSendmsg, At::VOID),
        (SSendmsghalt, At::VOID),
        (SDcacheInv, At::VOID),
        (SDcacheWb, At::VOID),
        (BufferWbinvl1, At::VOID),
        (SDcacheInvVol, At::VOID),
        (SDcacheWbVol, At::VOID),
        (BufferWbinvl1Sc, At::VOID),
        (BufferWbinvl1Vol, At::VOID),
        (SchedBarrier, At::VOID),
        (SchedGroupBarrier, At::VOID),
        (IglpOpt, At::VOID),
        (Endpgm, At::VOID),
        // Lane crossing at 32 bits; wider and narrower values are split or widened.
        (Readlane, At::I32),
        (Readfirstlane, At::I32),
        (Writelane, At::I32),
        (Ballot, At::I64),
        (InverseBallot, At::I1),
        (AmdgcnIcmp, At::I16.union(At::I32).union(At::I64)),
        (AmdgcnFcmp, F),
        (MbcntLo, At::I32),
        (MbcntHi, At::I32),
        (DsSwizzle, At::I32),
        (DsBpermute, At::I32),
        (DsPermute, At::I32),
        (MovDpp, At::I32),
        (UpdateDpp, At::I32),
        (MovDpp8, At::I32),
        (Permlane16, At::I32),
        (Permlanex16, At::I32),
        (SBitreplicate, At::I64),
        (SQuadmask, At::I32.union(At::I64)),
        (SWqm, At::I32.union(At::I64)),
        // Which lanes run: dwords again.
        (SetInactive, At::I32),
        (SetInactiveChainArg, At::I32),
        (StrictWwm, At::I32),
        (StrictWqm, At::I32),
        (Wqm, At::I32),
        (Softwqm, At::I32),
        (WqmVote, At::I1),
        (WqmDemote, At::VOID),
        (Kill, At::VOID),
        (PsLive, At::I1),
        (LiveMask, At::I1),
        (InitExec, At::VOID),
        (InitExecFromInput, At::VOID),
        (InterpMov, At::F32),
        (InterpP1, At::F32),
        (InterpP2, At::F32),
        (InterpP1F16, At::F32),
        (InterpP2F16, At::F16),
        (Export, At::VOID),
        (ExportCompr, At::VOID),
        (CubeId, At::F32),
        (CubeMa, At::F32),
        (CubeSc, At::F32),
        (CubeTc, At::F32),
        (Rcp, F),
        (Rsq, F),
        (RsqClamp, At::F32.union(At::F64)),
        (RcpLegacy, At::F32),
        (RsqLegacy, At::F32),
        (LogClamp, At::F32),
        (AmdgcnSqrt, F),
        (AmdgcnSin, At::F16.union(At::F32)),
        (AmdgcnCos, At::F16.union(At::F32)),
        (AmdgcnLog, At::F16.union(At::F32)),
        (AmdgcnExp2, At::F16.union(At::F32)),
        (Fract, F),
        (FrexpMant, F),
        // The exponent of a half is i16, of the others i32.
        (FrexpExp, F),
        (AmdgcnClass, F),
        (TrigPreop, At::F64),
        (DivScale, At::ANY),
        (DivFmas, At::F32.union(At::F64)),
        (DivFixup, F),
        (Fmed3, At::F16.union(At::F32)),
        (FmulLegacy, At::F32),
        (FmaLegacy, At::F32),
        (FmadFtz, At::F16.union(At::F32)),
        // Results are <2 x half> or <2 x i16>.
        (CvtPkrtz, At::ANY),
        (CvtPknormI16, At::ANY),
        (CvtPknormU16, At::ANY),
        (CvtPkI16, At::ANY),
        (CvtPkU16, At::ANY),
        (CvtPkU8F32, At::I32),
        (Ubfe, At::I32),
        (Sbfe, At::I32),
        (Lerp, At::I32),
        (SadU8, At::I32),
        (SadHiU8, At::I32),
        (SadU16, At::I32),
        (MsadU8, At::I32),
        (QsadPkU16U8, At::I64),
        (MqsadPkU16U8, At::I64),
        (MqsadU32U8, At::ANY),
        (CvtOffF32I4, At::F32),
        (Perm, At::I32),
        (Alignbyte, At::I32),
        (MulI24, At::I32),
        (MulU24, At::I32),
        (MulhiI24, At::I32),
        (MulhiU24, At::I32),
        (Sffbh, At::I32),
        (Sdot2, At::ANY),
        (Udot2, At::ANY),
        (Sdot4, At::I32),
        (Udot4, At::I32),
        (Sdot8, At::I32),
        (Udot8, At::I32),
        (Fdot2, At::ANY),
        (DsFadd, At::ANY),
        (DsFmin, At::ANY),
        (DsFmax, At::ANY),
        (DsAppend, At::I32),
        (DsConsume, At::I32),
        (DsOrderedAdd, At::I32),
        (DsOrderedSwap, At::I32),
        (DsGwsInit, At::VOID),
        (DsGwsBarrier, At::VOID),
        (DsGwsSemaV, At::VOID),
        (DsGwsSemaBr, At::VOID),
        (DsGwsSemaP, At::VOID),
        (DsGwsSemaReleaseAll, At::VOID),
        (GlobalLoadLds, At::VOID),
        (LoadToLds, At::VOID),
        (SBufferLoad, At::ANY),
        (ImageBvhIntersectRay, At::ANY),
        (ShaderResult, At::VOID),
        (ChainJump, At::VOID),
    ]
};

/// Operations that may also work on `<2 x i16>` or `<2 x half>` where the target has `PACKED_16BIT`; beside them `fneg`,
/// `fabs` and `fma`, `minnum`, `maxnum`, `canonicalize`, `smin`, `smax`, `umin`, `umax`.
pub const PACKED: &[BinaryOp] = &[
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Shl,
    BinaryOp::LShr,
    BinaryOp::AShr,
    BinaryOp::And,
    BinaryOp::Or,
    BinaryOp::Xor,
    BinaryOp::FAdd,
    BinaryOp::FSub,
    BinaryOp::FMul,
];

/// Intrinsics that may work on `<2 x i16>` or `<2 x half>` where the target has `PACKED_16BIT`.
pub const PACKED_INTRINSICS: &[Intrinsic] = &[
    Intrinsic::Fabs,
    Intrinsic::Fma,
    Intrinsic::Minnum,
    Intrinsic::Maxnum,
    Intrinsic::Canonicalize,
    Intrinsic::Smin,
    Intrinsic::Smax,
    Intrinsic::Umin,
    Intrinsic::Umax,
];

/// Whether selection takes `intrinsic` at `ty` (of the result, or of the first argument for the four that say so).
pub fn is_legal(intrinsic: Intrinsic, ty: Type, target: &Target) -> bool {
    // Their form is that of [`super::position`].
    if matches!(intrinsic, Intrinsic::Buffer(_) | Intrinsic::Image(_)) {
        return true;
    }
    let Ok(row) = LEGAL.binary_search_by_key(&intrinsic, |&(i, _)| i) else { return false };
    let at = LEGAL[row].1;
    if at.contains(At::ANY) {
        return true;
    }
    if let Type::Vector(scalar, 2) = ty {
        return target.has(Features::PACKED_16BIT)
            && matches!(scalar, Scalar::Int(16) | Scalar::Float(Float::Half))
            && PACKED_INTRINSICS.contains(&intrinsic);
    }
    let sixteen = target.has(Features::INST_16BIT);
    match ty {
        Type::Void => at.contains(At::VOID),
        Type::Scalar(Scalar::Int(1)) => at.contains(At::I1),
        Type::Scalar(Scalar::Int(16)) => sixteen && at.contains(At::I16),
        Type::Scalar(Scalar::Int(32)) => at.contains(At::I32),
        Type::Scalar(Scalar::Int(64)) => at.contains(At::I64),
        Type::Scalar(Scalar::Float(Float::Half)) => sixteen && at.contains(At::F16),
        Type::Scalar(Scalar::Float(Float::Single)) => at.contains(At::F32),
        Type::Scalar(Scalar::Float(Float::Double)) => at.contains(At::F64),
        Type::Scalar(Scalar::Ptr(space)) => at.contains(At::PTR) && space != AddrSpace::BUFFER_FAT_POINTER,
        _ => false,
    }
}

/// Whether the type of the first argument, not of the result, decides [`is_legal`].
pub fn typed_by_argument(intrinsic: Intrinsic) -> bool {
    matches!(
        intrinsic,
        Intrinsic::AmdgcnClass | Intrinsic::FrexpExp | Intrinsic::AmdgcnIcmp | Intrinsic::AmdgcnFcmp
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_sorted_and_answers() {
        assert!(LEGAL.windows(2).all(|w| w[0].0 < w[1].0));
        let gfx9 = Target::new(Target::processor_by_name("gfx900").unwrap());
        let gfx7 = Target::new(Target::processor_by_name("gfx701").unwrap());
        assert!(is_legal(Intrinsic::Fma, Type::F16, &gfx9));
        assert!(!is_legal(Intrinsic::Fma, Type::F16, &gfx7));
        assert!(is_legal(Intrinsic::Fma, Type::Vector(Scalar::Float(Float::Half), 2), &gfx9));
        assert!(!is_legal(Intrinsic::Ctlz, Type::I64, &gfx9));
        assert!(!is_legal(Intrinsic::Sqrt, Type::F32, &gfx9));
    }
}
