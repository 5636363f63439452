//! Integers of any width up to 64 bits in a `u64`, the registers that values take, and the zeros that they end in.

use mir::ir::{BinaryOp, CastOp, Function, InstKind, Type, Value};

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

/// How far is looked for the zeros that a number ends in.
const MAX_STEPS: u32 = 4;

/// How many low bits of `value`, an integer, are known to be zeros.
pub fn low_zeros(func: &Function, value: Value) -> u32 {
    low_zeros_given(func, value, &|_| 0)
}

/// The same where so many are `known` of values that no instruction defines.
pub fn low_zeros_given(func: &Function, value: Value, known: &dyn Fn(Value) -> u32) -> u32 {
    zeros_within(func, value, MAX_STEPS, known)
}

fn zeros_within(func: &Function, value: Value, steps: u32, known: &dyn Fn(Value) -> u32) -> u32 {
    let width = func.ty(value).bits().unwrap_or(0) as u32;
    if let Some(constant) = func.as_int(value) {
        return constant.trailing_zeros().min(width);
    }
    let Some(inst) = func.def_inst(value) else { return known(value).min(width) };
    let Some(steps) = steps.checked_sub(1) else { return 0 };
    let of = |value| zeros_within(func, value, steps, known);
    let (op, [x, y]) = match func.insts[inst].kind {
        InstKind::Binary { op, args } => (op, args),
        InstKind::Cast { op: CastOp::ZExt | CastOp::SExt | CastOp::Trunc, arg } => return of(arg).min(width),
        _ => return 0,
    };
    match op {
        BinaryOp::Shl => func.as_int(y).map_or(0, |by| of(x) + by.min(u64::from(width)) as u32),
        BinaryOp::Mul => of(x) + of(y),
        BinaryOp::And => of(x).max(of(y)),
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Or | BinaryOp::Xor => of(x).min(of(y)),
        _ => 0,
    }
    .min(width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mir::ir::CallConv;

    #[test]
    fn zeros_at_the_end_are_known() {
        let mut func = Function::new("f", CallConv::Kernel, Type::Void);
        let x = func.add_param(Type::I32, "x");
        let block = func.add_block();
        let [six, two, twelve] = [6, 2, 12].map(|n| func.int(Type::I32, n));
        let mut make =
            |op, args| func.append(block, InstKind::Binary { op, args }, Type::I32).expect("it has a result");
        let shifted = make(BinaryOp::Shl, [x, two]);
        let product = make(BinaryOp::Mul, [shifted, six]);
        let sum = make(BinaryOp::Add, [product, twelve]);
        let masked = make(BinaryOp::And, [x, twelve]);
        let mixed = make(BinaryOp::Or, [sum, x]);
        let zeros = [x, shifted, product, sum, masked, mixed].map(|value| low_zeros(&func, value));
        assert_eq!(zeros, [0, 2, 3, 2, 2, 0]);
    }
}
