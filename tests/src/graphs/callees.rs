//! The functions that programs call. They are not inlined.

use super::lower::{append, atomic, binary, to};
use mir::ir::{
    AddrSpace, AtomicOp, BinaryOp, CallConv, FuncFlags, Function, InstKind, IntPredicate, Linkage, Type,
};

pub(super) fn callee(name: &str) -> Function {
    let mut f = Function::new(name, CallConv::Device, Type::I32);
    f.linkage = Linkage::Internal;
    f.flags = FuncFlags::NO_INLINE;
    f
}

/// `x * 5 + 1` where the mask is set, else a loop of `x & 3` rounds.
pub(super) fn called() -> Function {
    let mut f = callee("called");
    let (x, mask) = (f.add_param(Type::I32, "x"), f.add_param(Type::I1, "mask"));
    let [entry, short, long, round, done] = std::array::from_fn(|_| f.add_block());
    let (sum, count) = (f.add_block_param(round, Type::I32), f.add_block_param(round, Type::I32));
    let result = f.add_block_param(done, Type::I32);
    let [zero, one, three, five] = [0, 1, 3, 5].map(|n| f.int(Type::I32, n));
    let branch = InstKind::Branch { cond: mask, if_true: to(short, &[]), if_false: to(long, &[]) };
    append(&mut f, entry, branch, Type::Void);
    let product = binary(&mut f, short, BinaryOp::Mul, x, five);
    let next = binary(&mut f, short, BinaryOp::Add, product, one);
    append(&mut f, short, InstKind::Jump { target: to(done, &[next]) }, Type::Void);
    let rounds = binary(&mut f, long, BinaryOp::And, x, three);
    let none = InstKind::Icmp { predicate: IntPredicate::Eq, args: [rounds, zero] };
    let none = append(&mut f, long, none, Type::I1);
    let branch = InstKind::Branch { cond: none, if_true: to(done, &[x]), if_false: to(round, &[x, rounds]) };
    append(&mut f, long, branch, Type::Void);
    let product = binary(&mut f, round, BinaryOp::Mul, sum, three);
    let next = binary(&mut f, round, BinaryOp::Add, product, count);
    let left = binary(&mut f, round, BinaryOp::Sub, count, one);
    let last = InstKind::Icmp { predicate: IntPredicate::Eq, args: [left, zero] };
    let last = append(&mut f, round, last, Type::I1);
    let branch =
        InstKind::Branch { cond: last, if_true: to(done, &[next]), if_false: to(round, &[next, left]) };
    append(&mut f, round, branch, Type::Void);
    append(&mut f, done, InstKind::Ret { value: Some(result) }, Type::Void);
    f
}

/// Adds to memory and returns what was there.
pub(super) fn traced() -> Function {
    let mut f = callee("traced");
    let (ptr, value) = (f.add_param(Type::ptr(AddrSpace::GLOBAL), "p"), f.add_param(Type::I32, "x"));
    let entry = f.add_block();
    let add = InstKind::AtomicRmw { op: AtomicOp::Add, ptr, value, mem: atomic(AddrSpace::GLOBAL) };
    let old = append(&mut f, entry, add, Type::I32);
    append(&mut f, entry, InstKind::Ret { value: Some(old) }, Type::Void);
    f
}
