//! Constants: what a number in the text means for an operand of a certain type.
//!
//! An integer is the operand's bit pattern; it must fit the operand's width, signed or unsigned. A number that is no inline
//! constant becomes a literal dword: for a double its high half, for 64-bit integers the low half, zero-extended. A
//! floating-point number is rounded to the operand's format; integer operands of 32 and 16 bits take the pattern of the float of that width.
//! These are the rules of LLVM's assembler.

use crate::half;
use crate::isa::ValueType;
use crate::target::Generation;
use crate::target::operands::{canonical_constant, inline_constant};

/// Why a number does not do.
type Misfit = &'static str;

fn is_wide(ty: ValueType) -> bool {
    matches!(ty, ValueType::B64 | ValueType::I64 | ValueType::U64 | ValueType::F64 | ValueType::Data)
}

fn is_half(ty: ValueType) -> bool {
    matches!(ty, ValueType::B16 | ValueType::I16 | ValueType::U16 | ValueType::F16)
}

/// Whether the lower `bits` hold `value`, signed or unsigned.
pub fn fits(value: i64, bits: u32) -> bool {
    let signed = value >> (bits - 1);
    signed == 0 || signed == -1 || (value as u64) >> bits == 0
}

/// The operand for the integer `value`.
pub fn integer(value: i64, ty: ValueType, generation: Generation) -> Result<i64, Misfit> {
    if is_wide(ty) {
        return match inline_constant(value, ty, generation) {
            Some(_) => Ok(value),
            None if !fits(value, 32) => Err("literal does not fit 32 bits"),
            None if ty == ValueType::F64 => Ok(i64::from(value as u32) << 32),
            None => Ok(i64::from(value as u32)),
        };
    }
    // LLVM holds halves to 16 bits on GFX6-7 too, where they are the low half of 32 bits.
    let bits = if is_half(ty) { 16 } else { 32 };
    if fits(value, bits) {
        Ok(canonical_constant(value, ty))
    } else {
        Err("literal does not fit the operand")
    }
}

/// The operand for the floating-point number `value`.
pub fn float(value: f64, ty: ValueType, generation: Generation) -> Result<i64, Misfit> {
    if is_wide(ty) {
        let bits = value.to_bits() as i64;
        return match inline_constant(bits, ty, generation) {
            Some(_) => Ok(bits),
            None if ty == ValueType::F64 => Ok(bits & !0xffff_ffff),
            None => Err("floating-point literal for a 64-bit integer"),
        };
    }
    match ty {
        ValueType::F16 | ValueType::V2F16 => {
            half_bits(value).map(|bits| canonical_constant(i64::from(bits), ty))
        }
        _ => {
            let single = value as f32;
            let overflow = single.is_infinite() && value.is_finite();
            let underflow = !single.is_normal() && f64::from(single) != value && !value.is_nan();
            if overflow || underflow {
                return Err("number is out of range of a 32-bit float");
            }
            // See `inline_constant` for 16-bit integers.
            let bits = i64::from(single.to_bits());
            Ok(if is_half(ty) { bits } else { canonical_constant(bits, ty) })
        }
    }
}

/// `value` rounded to nearest even as a half.
fn half_bits(value: f64) -> Result<u16, Misfit> {
    let bits = half::from_f64(value);
    let rounded = half::to_f64(bits);
    let overflow = rounded.is_infinite() && value.is_finite();
    let underflow = value.abs() < half::MIN_NORMAL && rounded != value;
    if overflow || underflow { Err("number is out of range of a 16-bit float") } else { Ok(bits) }
}

/// The literal `value` of type `ty` with `|x|` and negation applied to it.
pub fn modified(value: i64, ty: ValueType, abs: bool, neg: bool) -> i64 {
    let sign = match ty {
        ty if is_wide(ty) => i64::MIN,
        ty if is_half(ty) => 1 << 15,
        _ => 1 << 31,
    };
    let value = if abs { value & !sign } else { value };
    canonical_constant(if neg { value ^ sign } else { value }, ty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ValueType as T;

    const G9: Generation = Generation::Gfx9;

    #[test]
    fn halves() {
        for (value, bits) in
            [(1.0, 0x3c00), (-2.0, 0xc000), (65504.0, 0x7bff), (0.1, 0x2e66), (5.960_464_477_539_063e-8, 1)]
        {
            assert_eq!(half_bits(value), Ok(bits), "{value}");
        }
        assert!(half_bits(65520.0).is_err() && half_bits(1e-9).is_err() && half_bits(1e10).is_err());
        assert_eq!(half_bits(0.15915494), Ok(0x3118));
    }

    #[test]
    fn literals_by_type() {
        assert_eq!(integer(0x3f80_0000, T::F64, G9), Ok(0x3f80_0000_0000_0000));
        assert_eq!(integer(-5, T::F64, G9), Ok(-5));
        assert_eq!(integer(-100, T::B64, G9), Ok(0xffff_ff9c));
        assert_eq!(integer(0xffff_ffff, T::I32, G9), Ok(-1));
        assert!(integer(0x1_0000_0000, T::I32, G9).is_err() && integer(0x1_0000, T::F16, G9).is_err());
        assert_eq!(float(1.0, T::I32, G9), Ok(0x3f80_0000));
        assert_eq!(float(1.1, T::F64, G9), Ok(0x3ff1_9999_0000_0000));
        assert!(float(1.1, T::B64, G9).is_err() && float(1e39, T::F32, G9).is_err());
        assert_eq!(modified(0x4049_0fdb, T::F32, false, true), 0xc049_0fdb);
    }
}
