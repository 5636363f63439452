//! What the executor must know of a row beyond its operands: relations, denormals, how undefined bits pass, memory operations.

use super::op::{Denormals, Mem, MemKind};
use mir::isa::{MemoryAction, OpFlags, Opcode, OpcodeInfo, ValueType};
use mir::target::{Features, Target};

pub(super) fn accumulates(op: Opcode) -> bool {
    use Opcode::*;
    matches!(
        op,
        V_MAC_F32
            | V_MAC_LEGACY_F32
            | V_MAC_F16
            | V_FMAC_F32
            | V_FMAC_F16
            | V_FMAC_LEGACY_F32
            | V_PK_FMAC_F16
            | V_DOT2C_F32_F16
            | V_DOT4C_I32_I8
            | V_CVT_PKACCUM_U8_F32
    )
}

/// How an instruction of `op` treats denormals.
pub fn denormals(op: Opcode, info: &OpcodeInfo, target: &Target) -> Denormals {
    use Opcode::*;
    let float = |ty| matches!(ty, ValueType::F16 | ValueType::V2F16 | ValueType::F32 | ValueType::F64);
    match op {
        V_MAD_F32 | V_MAC_F32 | V_MADAK_F32 | V_MADMK_F32 | V_MAD_LEGACY_F32 | V_MAC_LEGACY_F32
        | V_MAD_F16 | V_MAD_LEGACY_F16 | V_MAC_F16 | V_MADAK_F16 | V_MADMK_F16 | V_RCP_F32
        | V_RCP_IFLAG_F32 | V_RSQ_F32 | V_EXP_F32 | V_LOG_F32 | V_RCP_CLAMP_F32 | V_RSQ_CLAMP_F32
        | V_RCP_LEGACY_F32 | V_RSQ_LEGACY_F32 | V_LOG_CLAMP_F32 | V_EXP_LEGACY_F32 | V_LOG_LEGACY_F32 => {
            Denormals::Flush
        }
        V_FREXP_EXP_I32_F32
        | V_FREXP_EXP_I32_F64
        | V_FREXP_EXP_I16_F16
        | V_FREXP_MANT_F32
        | V_FREXP_MANT_F64
        | V_FREXP_MANT_F16
        | V_DIV_SCALE_F32
        | V_DIV_SCALE_F64
        | V_DIV_FIXUP_F32
        | V_DIV_FIXUP_F64
        | V_DIV_FIXUP_F16
        | V_DIV_FIXUP_LEGACY_F16
        | V_PACK_B32_F16 => Denormals::Keep,
        V_MIN_F32 | V_MAX_F32 | V_MIN_F16 | V_MAX_F16 | V_MIN_F64 | V_MAX_F64 | V_MIN3_F32 | V_MAX3_F32
        | V_MED3_F32 | V_MIN_LEGACY_F32 | V_MAX_LEGACY_F32
            if !target.has(Features::MIN_MAX_DENORMAL_MODES) =>
        {
            Denormals::Keep
        }
        _ if info.flags.contains(OpFlags::COPY) || info.flags.contains(OpFlags::CLASS) => Denormals::Keep,
        _ if info.operands.iter().any(|o| float(o.ty)) => Denormals::Mode,
        _ => Denormals::Keep,
    }
}

/// Operations of whose results each bit is decided by integer arithmetic or selection of bits.
pub(super) fn transparent(op: Opcode, info: &OpcodeInfo) -> bool {
    use Opcode::*;
    if info.flags.contains(OpFlags::COPY) {
        return true;
    }
    let reads_bytes = matches!(op, V_CVT_F32_UBYTE0 | V_CVT_F32_UBYTE1 | V_CVT_F32_UBYTE2 | V_CVT_F32_UBYTE3);
    if reads_bytes || matches!(op, V_PACK_B32_F16 | V_CVT_PK_U8_F32) {
        return true;
    }
    let integer = |ty| !matches!(ty, ValueType::F16 | ValueType::F32 | ValueType::F64 | ValueType::V2F16);
    info.operands.iter().all(|o| integer(o.ty))
        || matches!(
            op,
            V_PK_FMA_F16 | V_PK_FMAC_F16 | V_PK_ADD_F16 | V_PK_MUL_F16 | V_PK_MIN_F16 | V_PK_MAX_F16
        )
}

pub(super) fn memory(op: Opcode) -> Option<Mem> {
    let memory = op.facts().memory.as_ref()?;
    let action = memory.action;
    let kind = match memory.rmw {
        Some(rmw) => MemKind::Atomic(rmw),
        // Counters in LDS and GDS have handlers of their own.
        None if action.contains(MemoryAction::ATOMIC) => MemKind::None,
        None if action.contains(MemoryAction::LOAD) => MemKind::Load,
        None if action.contains(MemoryAction::STORE) => MemKind::Store,
        None => MemKind::None,
    };
    Some(Mem {
        kind,
        bytes: memory.element_bytes.into(),
        signed: memory.sign_extends,
        two: memory.stride_bytes.into(),
    })
}
