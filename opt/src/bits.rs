//! Integers of any width up to 64 bits in a `u64`.

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
