//! Integers of any width up to 64 bits in a `u64`, and the registers that values take.

use mir::ir::Type;

/// Registers of a lane that a value of type `ty` takes, in dwords; no end of them for an aggregate.
pub fn dwords(ty: Type) -> u32 {
    ty.bits().map_or(u32::MAX, |bits| bits.div_ceil(32) as u32)
}

/// Sign extension of the low `bits` of `value`.
pub fn sext64(value: u64, bits: u32) -> i64 {
    if bits == 0 || bits >= 64 {
        return value as i64;
    }
    ((value << (64 - bits)) as i64) >> (64 - bits)
}

/// The low `bits` of `value`.
pub fn mask64(value: u64, bits: u32) -> u64 {
    if bits >= 64 { value } else { value & ((1 << bits) - 1) }
}
