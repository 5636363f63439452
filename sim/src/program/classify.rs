//! What the executor must know of a row beyond its operands: relations, denormals, how undefined bits pass, memory operations.

use super::op::{Class, Denormals, Mem, MemKind};
use crate::exec::atomic::AtomicOp;
use mir::isa::{Format, OpFlags, Opcode, OpcodeInfo, ValueType};
use mir::target::{Features, Target};

fn relation(name: &str) -> Option<u8> {
    Some(match name {
        "f" => 0,
        "lt" => 1,
        "eq" => 2,
        "le" => 3,
        "gt" => 4,
        "lg" | "ne" => 5,
        "ge" => 6,
        "o" => 7,
        "u" => 8,
        "nge" => 9,
        "nlg" => 10,
        "ngt" => 11,
        "nle" => 12,
        "neq" => 13,
        "nlt" => 14,
        "tru" | "t" => 15,
        _ => return None,
    })
}

pub(super) fn compare_class(name: &str) -> Class {
    let rest = ["v_cmpx_", "v_cmpsx_", "v_cmps_", "v_cmp_"].iter().find_map(|p| name.strip_prefix(p));
    match rest.and_then(|r| r.split('_').next()) {
        Some("class") => Class::CompareClass,
        Some(rel) => relation(rel).map_or(Class::Unsupported, Class::Compare),
        None => Class::Unsupported,
    }
}

pub(super) fn accumulates(op: Opcode) -> bool {
    use Opcode::*;
    matches!(op, V_MAC_F32 | V_MAC_LEGACY_F32 | V_MAC_F16 | V_FMAC_F32 | V_CVT_PKACCUM_U8_F32)
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
        _ if info.flags.contains(OpFlags::COPY) || info.name.contains("_class_") => Denormals::Keep,
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
    if matches!(op, V_PACK_B32_F16 | V_CVT_PK_U8_F32) {
        return true;
    }
    let integer = |ty| !matches!(ty, ValueType::F16 | ValueType::F32 | ValueType::F64 | ValueType::V2F16);
    info.operands.iter().all(|o| integer(o.ty))
        || matches!(op, V_PK_FMA_F16 | V_PK_ADD_F16 | V_PK_MUL_F16 | V_PK_MIN_F16 | V_PK_MAX_F16)
}

pub(super) fn memory(info: &OpcodeInfo) -> Option<Mem> {
    let name = info.name;
    let flags = info.flags;
    if !matches!(
        info.format,
        Format::Ds
            | Format::Mubuf
            | Format::Mtbuf
            | Format::Mimg
            | Format::Flat
            | Format::Global
            | Format::Scratch
            | Format::Smem
    ) {
        return None;
    }
    let counter =
        matches!(info.name, "ds_append" | "ds_consume" | "ds_condxchg32_rtn_b64" | "ds_ordered_count");
    let kind = if counter {
        MemKind::None
    } else if flags.contains(OpFlags::ATOMIC) {
        MemKind::Atomic(AtomicOp::from_name(name)?)
    } else if flags.contains(OpFlags::LOAD) {
        MemKind::Load
    } else if flags.contains(OpFlags::STORE) {
        MemKind::Store
    } else {
        MemKind::None
    };
    let two = if !flags.contains(OpFlags::DS_TWO) {
        0
    } else {
        let element = u32::from(info.memory_bytes) / 2;
        if name.contains("st64") { element * 64 } else { element }
    };
    let bytes = u32::from(info.memory_bytes) / if two != 0 { 2 } else { 1 };
    let signed = ["_sbyte", "_sshort", "read_i8", "read_i16"].iter().any(|s| name.contains(s));
    Some(Mem { kind, bytes, signed, two })
}
