//! Bits of integers that are known to be zeros.

use crate::ir::{BinaryOp, CastOp, Function, InstKind, Intrinsic, Type, Value};

/// A lower bound of the leading zeros of `value`, which has 32 bits, looking `depth` producers back; `constant` tells the values that are known numbers.
///
/// Cost: exponential in `depth`, which is small.
pub fn leading_zeros(
    f: &Function,
    value: Value,
    depth: u32,
    constant: &impl Fn(Value) -> Option<i64>,
) -> u32 {
    if let Some(constant) = constant(value) {
        return (constant as u32).leading_zeros();
    }
    let Some(inst) = f.def_inst(value).filter(|_| depth > 0) else { return 0 };
    let data = &f.insts[inst];
    let of = |v| leading_zeros(f, v, depth - 1, constant);
    let shift = |v| constant(v).filter(|amount| (0..32).contains(amount)).map(|amount| amount as u32);
    match &data.kind {
        InstKind::Binary { op: BinaryOp::And, args } => of(args[0]).max(of(args[1])),
        InstKind::Binary { op: BinaryOp::Or | BinaryOp::Xor, args } => of(args[0]).min(of(args[1])),
        InstKind::Binary { op: BinaryOp::LShr, args } => (of(args[0]) + shift(args[1]).unwrap_or(0)).min(32),
        InstKind::Binary { op: BinaryOp::Add, args } => of(args[0]).min(of(args[1])).saturating_sub(1),
        InstKind::Binary { op: BinaryOp::Mul, args } => (of(args[0]) + of(args[1])).saturating_sub(32),
        InstKind::Binary { op: BinaryOp::Shl, args } => match shift(args[1]) {
            Some(amount) => of(args[0]).saturating_sub(amount),
            None => 0,
        },
        InstKind::Cast { op: CastOp::ZExt, arg } => {
            let bits = f.ty(*arg).bits().unwrap_or(32) as u32;
            32u32.saturating_sub(bits)
        }
        InstKind::Select { if_true, if_false, .. } => of(*if_true).min(of(*if_false)),
        InstKind::Cast { op: CastOp::FpToUi, arg } => dividend(f, *arg).map_or(0, of),
        InstKind::PtrAdd { base, index, scale, offset }
            if data.ty.bits() == Some(32) && index.is_none_or(|i| f.ty(i) == Type::I32) =>
        {
            let (Ok(offset), Ok(scale)) = (u32::try_from(*offset), u32::try_from(*scale)) else {
                return 0;
            };
            let scaled = |i| of(i).saturating_sub(32 - scale.saturating_sub(1).leading_zeros());
            let terms = [of(*base), index.map_or(32, scaled), offset.leading_zeros()];
            let carries = terms.iter().filter(|&&zeros| zeros < 32).count().saturating_sub(1);
            terms.into_iter().min().unwrap_or(0).saturating_sub(carries as u32)
        }
        InstKind::Intrinsic {
            intrinsic: id @ (Intrinsic::WorkitemIdX | Intrinsic::WorkitemIdY | Intrinsic::WorkitemIdZ),
            ..
        } => id.work_item_dimension().map_or(0, |d| (f.work_item_id_limit(d) - 1).leading_zeros()),
        InstKind::Intrinsic { intrinsic: Intrinsic::Umin, args } => of(args[0]).max(of(args[1])),
        InstKind::Intrinsic {
            intrinsic: Intrinsic::MbcntLo | Intrinsic::MbcntHi | Intrinsic::Ctpop, ..
        } => 25,
        InstKind::Intrinsic { intrinsic: Intrinsic::Ubfe, args } => match constant(args[2]) {
            Some(width @ 1..=31) => 32 - width as u32,
            _ => 0,
        },
        _ => 0,
    }
}

/// The dividend of an estimate of the quotient of two integers: their quotient is not larger, and by zero nothing is divided.
fn dividend(f: &Function, estimate: Value) -> Option<Value> {
    let integer = |value| match f.insts[f.def_inst(value)?].kind {
        InstKind::Cast { op: CastOp::UiToFp, arg } if f.ty(arg) == Type::I32 => Some(arg),
        _ => None,
    };
    let InstKind::Binary { op: BinaryOp::FMul, args } = f.insts[f.def_inst(estimate)?].kind else {
        return None;
    };
    [args, [args[1], args[0]]].into_iter().find_map(|[dividend, reciprocal]| {
        match &f.insts[f.def_inst(reciprocal)?].kind {
            InstKind::Intrinsic { intrinsic: Intrinsic::Rcp, args } => {
                integer(args[0]).and(integer(dividend))
            }
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::CallConv;

    #[test]
    fn zeros_follow_from_producers() {
        let mut f = Function::new("f", CallConv::Kernel, Type::Void);
        let (x, half) = (f.add_param(Type::I32, "x"), f.add_param(Type::int(16), "half"));
        let block = f.add_block();
        let [three, eight, mask] = [3, 8, 0xfff].map(|n| f.int(Type::I32, n));
        let mut make = |kind| f.append(block, kind, Type::I32).expect("it has a result");
        let mut binary = |op, args| make(InstKind::Binary { op, args });
        let masked = binary(BinaryOp::And, [x, mask]);
        let shifted = binary(BinaryOp::Shl, [masked, three]);
        let down = binary(BinaryOp::LShr, [x, eight]);
        let sum = binary(BinaryOp::Add, [masked, shifted]);
        let product = binary(BinaryOp::Mul, [masked, eight]);
        let wide = make(InstKind::Cast { op: CastOp::ZExt, arg: half });
        let id = make(InstKind::Intrinsic { intrinsic: Intrinsic::WorkitemIdX, args: Default::default() });
        let constant = |value| f.as_int(value).map(|bits| bits as i64);
        let zeros = |value, depth| leading_zeros(&f, value, depth, &constant);
        let values = [x, masked, shifted, down, sum, product, wide, id, three];
        assert_eq!(values.map(|value| zeros(value, 3)), [0, 20, 17, 8, 16, 16, 16, 22, 30]);
        // Nobody is asked.
        assert_eq!(zeros(masked, 0), 0);
    }
}
