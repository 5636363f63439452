//! The definition of legal IR, as a check: what selection may rely on after legalisation.

use super::{PACKED, is_legal, typed_by_argument};
use crate::ir::*;
use crate::target::{Features, Target};
use crate::{Diagnostic, Result};

/// Checks that `func` holds only what `docs/design.md`, "Legal IR", and [`super`] allow.
pub fn verify_legal(func: &Function, types: &TypeTable, machine: &Target) -> Result<()> {
    verify_expanded(func, types, machine)?;
    for &block in &func.layout {
        let constant = |inst: &Inst| match &func.insts[*inst].kind {
            InstKind::Branch { cond, .. } => func.as_int(*cond).is_some(),
            _ => false,
        };
        if let Some(&inst) = func.blocks[block].insts.last().filter(|inst| constant(inst)) {
            return Err(Diagnostic::defect("branch on a constant")
                .at(func.describe(types, inst))
                .in_function(&func.name));
        }
    }
    Ok(())
}

/// The same, but that branches on constants may be left: what passes between expansion and legal IR leave.
///
/// # Errors
/// A `Defect` that names the instruction.
pub fn verify_expanded(func: &Function, types: &TypeTable, machine: &Target) -> Result<()> {
    for &block in &func.layout {
        for &param in &func.blocks[block].params {
            // What a narrow load leaves may be carried on as it is; its upper bits are unspecified.
            let narrow = |ty: Type| ty.is_int(8) || ty.is_int(16);
            if !is_value_type(func.ty(param), machine) && !narrow(func.ty(param)) {
                return Err(Diagnostic::defect(format!(
                    "illegal type {} of a block parameter",
                    types.display(func.ty(param))
                ))
                .in_function(&func.name));
            }
        }
        for &inst in &func.blocks[block].insts {
            if let Err(what) = check(func, inst, machine) {
                return Err(Diagnostic::defect(format!("illegal: {what}"))
                    .at(func.describe(types, inst))
                    .in_function(&func.name));
            }
        }
        if !func.call_layouts.is_empty()
            && let Some(inst) = stray_tail_call(func, block)
        {
            return Err(Diagnostic::defect("illegal: a tail call without its return")
                .at(func.describe(types, inst))
                .in_function(&func.name));
        }
    }
    Ok(())
}

/// A call of `block` that is to return in the function's place, but is not followed by the return of its result.
fn stray_tail_call(func: &Function, block: Block) -> Option<Inst> {
    let insts = &func.blocks[block].insts;
    let returned = |at: usize| match insts.get(at + 1..) {
        Some(&[ret]) => match &func.insts[ret].kind {
            InstKind::Ret { value } => *value == func.insts[insts[at]].result,
            _ => false,
        },
        _ => false,
    };
    let is_tail = |inst: &Inst| func.call_layouts.get(inst).is_some_and(|layout| layout.tail);
    (0..insts.len()).find(|&at| is_tail(&insts[at]) && !returned(at)).map(|at| insts[at])
}

fn has_16bit(machine: &Target) -> bool {
    machine.has(Features::INST_16BIT)
}

/// Types that values may have between instructions: registers.
fn is_value_type(ty: Type, machine: &Target) -> bool {
    match ty {
        Type::Scalar(Scalar::Int(bits)) => matches!(bits, 1 | 32 | 64) || bits == 16 && has_16bit(machine),
        Type::Scalar(Scalar::Float(_)) => true,
        Type::Scalar(Scalar::Ptr(space)) => space.pointer_bits() <= 128,
        Type::Vector(scalar, lanes) => lanes <= 32 && matches!(scalar.bits(), 8 | 16 | 32 | 64),
        _ => false,
    }
}

fn is_arithmetic_int(ty: Type, machine: &Target) -> bool {
    ty.is_int(32) || ty.is_int(64) || ty.is_int(16) && has_16bit(machine)
}

fn is_arithmetic_float(ty: Type, machine: &Target) -> bool {
    matches!(ty, Type::F32 | Type::F64) || ty == Type::F16 && has_16bit(machine)
}

fn is_packed(ty: Type, machine: &Target) -> bool {
    machine.has(Features::PACKED_16BIT)
        && matches!(ty, Type::Vector(Scalar::Int(16) | Scalar::Float(Float::Half), 2))
}

fn check(func: &Function, inst: Inst, machine: &Target) -> std::result::Result<(), &'static str> {
    use InstKind as K;
    let data = &func.insts[inst];
    let ty = data.ty;
    let ensure = |ok: bool, what: &'static str| if ok { Ok(()) } else { Err(what) };
    match &data.kind {
        K::Unary { op: UnaryOp::FNeg, .. } => {
            ensure(is_arithmetic_float(ty, machine) || is_packed(ty, machine), "fneg at this type")
        }
        K::Unary { .. } => Err("freeze"),
        K::Binary { op, .. } => check_binary(*op, ty, func, &data.kind, machine),
        K::Cast { op, arg } => check_cast(*op, func.ty(*arg), ty, machine),
        K::Icmp { args, .. } => {
            let ty = func.ty(args[0]);
            ensure(
                is_arithmetic_int(ty, machine) || matches!(ty, Type::Scalar(Scalar::Ptr(_))),
                "comparison at this type",
            )
        }
        K::Fcmp { predicate, args } => ensure(
            is_arithmetic_float(func.ty(args[0]), machine)
                && !matches!(predicate, FloatPredicate::False | FloatPredicate::True),
            "comparison at this type or constant predicate",
        ),
        K::Select { cond, .. } => ensure(
            func.ty(*cond) == Type::I1 && matches!(ty, Type::Scalar(_)) && is_value_type(ty, machine),
            "select at this type",
        ),
        K::PtrAdd { base, index, .. } => ensure(
            matches!(func.ty(*base), Type::Scalar(Scalar::Ptr(_)))
                && index
                    .is_none_or(|i| func.ty(i).is_int(32) || func.ty(i).is_int(64) && ty.bits() == Some(64)),
            "pointer arithmetic at these types",
        ),
        K::Alloca { count, .. } => {
            ensure(count.is_none_or(|c| func.ty(c) == Type::I32), "stack object of variable size")
        }
        K::Load { .. } => ensure(is_memory_type(ty), "load of this type"),
        K::Store { value, .. } => ensure(is_memory_type(func.ty(*value)), "store of this type"),
        K::AtomicRmw { .. } => {
            ensure(matches!(ty.bits(), Some(32 | 64)) && ty.lanes() == 1, "atomic operation at this type")
        }
        K::CmpXchg { expected, .. } => {
            ensure(matches!(func.ty(*expected).bits(), Some(32 | 64)), "cmpxchg at this type")
        }
        K::Fence { .. } => Ok(()),
        K::ExtractElement { vector, index } => ensure(
            is_value_type(func.ty(*vector), machine)
                && (func.as_int(*index).is_some()
                    || is_indexable(func.ty(*vector)) && func.ty(*index).is_int(32)),
            "extractelement with a variable index",
        ),
        K::InsertElement { index, .. } => ensure(
            is_value_type(ty, machine)
                && (func.as_int(*index).is_some() || is_indexable(ty) && func.ty(*index).is_int(32)),
            "insertelement with a variable index",
        ),
        K::Shuffle { .. } => Err("shuffle"),
        K::ExtractValue { aggregate, .. } => {
            let source = func.def_inst(*aggregate).map(|i| &func.insts[i].kind);
            ensure(
                matches!(
                    source,
                    Some(
                        K::CmpXchg { .. }
                            | K::Intrinsic { intrinsic: Intrinsic::DivScale, .. }
                            | K::InlineAsm { .. }
                    )
                ),
                "extractvalue",
            )
        }
        K::InsertValue { .. } => Err("insertvalue"),
        K::Call { args, .. } => ensure(
            args.iter().all(|&a| func.ty(a) == Type::I32) && func.call_layouts.contains_key(&inst),
            "arguments of a call",
        ),
        K::Intrinsic { intrinsic, args } => {
            let key = match args.first() {
                Some(&arg) if typed_by_argument(*intrinsic) => func.ty(arg),
                _ => ty,
            };
            ensure(is_legal(*intrinsic, key, machine), "intrinsic at this type")?;
            let exact = !matches!(intrinsic, Intrinsic::Ctlz | Intrinsic::Cttz)
                || args.get(1).and_then(|&a| func.as_int(a)) == Some(1);
            ensure(exact, "count of zeros that defines zero")
        }
        K::InlineAsm { .. } | K::Branch { .. } | K::Jump { .. } | K::Unreachable => Ok(()),
        K::Switch { .. } => Err("switch"),
        K::Ret { value } => ensure(
            value.is_none_or(|v| {
                let dwords = match func.ty(v) {
                    Type::I32 => true,
                    Type::Vector(Scalar::Int(32), lanes) => {
                        lanes as usize <= crate::abi::call::MAX_RESULT_DWORDS
                    }
                    _ => false,
                };
                dwords && func.call_conv.is_callable()
            }),
            "result",
        ),
    }
}

/// Vectors whose elements may be chosen by a variable index: whole dwords, as many as a register tuple holds.
pub fn is_indexable(ty: Type) -> bool {
    match ty {
        Type::Vector(scalar, lanes) => {
            matches!(scalar.bits(), 32 | 64) && (2..=32).contains(&(scalar.bits() / 32).saturating_mul(lanes))
        }
        _ => false,
    }
}

fn check_binary(
    op: BinaryOp,
    ty: Type,
    func: &Function,
    kind: &InstKind,
    machine: &Target,
) -> std::result::Result<(), &'static str> {
    use BinaryOp::*;
    let packed = is_packed(ty, machine) && PACKED.contains(&op);
    let ok = match op {
        UDiv | SDiv | URem | SRem | FDiv | FRem => return Err("division"),
        FAdd | FSub | FMul => is_arithmetic_float(ty, machine) || packed,
        And | Or | Xor => ty == Type::I1 || is_arithmetic_int(ty, machine) || packed,
        Mul if ty.is_int(64) => {
            return if is_wide_product(func, kind) { Ok(()) } else { Err("64-bit product") };
        }
        _ => is_arithmetic_int(ty, machine) || packed,
    };
    if ok { Ok(()) } else { Err("arithmetic at this type") }
}

/// Whether an i64 `mul` has two zero-extended or two sign-extended i32 operands; a constant counts as either.
fn is_wide_product(func: &Function, kind: &InstKind) -> bool {
    let InstKind::Binary { args, .. } = kind else { return false };
    let extended = |value: Value, wanted: CastOp| {
        if let Some(c) = func.as_int(value) {
            return match wanted {
                CastOp::ZExt => c <= u64::from(u32::MAX),
                _ => c as i64 == i64::from(c as i32),
            };
        }
        match func.def_inst(value).map(|i| &func.insts[i].kind) {
            Some(&InstKind::Cast { op, arg }) => {
                // A narrower zero extension is also a sign extension.
                op == wanted && func.ty(arg).bits() <= Some(32)
                    || op == CastOp::ZExt && func.ty(arg).bits() < Some(32)
            }
            _ => false,
        }
    };
    args.iter().all(|&a| extended(a, CastOp::ZExt)) || args.iter().all(|&a| extended(a, CastOp::SExt))
}

fn check_cast(op: CastOp, from: Type, to: Type, machine: &Target) -> std::result::Result<(), &'static str> {
    let int = |ty: Type| match ty {
        Type::Scalar(Scalar::Int(bits)) => Some(bits),
        _ => None,
    };
    let ok = match op {
        CastOp::Trunc => matches!((int(from), int(to)), (Some(16 | 32 | 64), Some(8 | 16 | 32))),
        CastOp::ZExt | CastOp::SExt => {
            matches!((int(from), int(to)), (Some(1 | 8 | 16 | 32), Some(16 | 32 | 64)))
                && (int(to) != Some(16) || has_16bit(machine))
        }
        CastOp::FpTrunc | CastOp::FpExt => matches!(
            (from, to),
            (Type::F16, Type::F32) | (Type::F32, Type::F16 | Type::F64) | (Type::F64, Type::F32)
        ),
        CastOp::UiToFp | CastOp::SiToFp => {
            from == Type::I32 && matches!(to, Type::F32 | Type::F64)
                || from == Type::I16 && to == Type::F16 && has_16bit(machine)
        }
        CastOp::FpToUi | CastOp::FpToSi => {
            to == Type::I32 && matches!(from, Type::F32 | Type::F64)
                || to == Type::I16 && from == Type::F16 && has_16bit(machine)
        }
        CastOp::PtrToInt | CastOp::IntToPtr | CastOp::BitCast => {
            from.bits() == to.bits() && from.bits().is_some()
        }
        CastOp::AddrSpaceCast => from.lanes() == 1,
    };
    if ok { Ok(()) } else { Err("conversion between these types") }
}

fn is_memory_type(ty: Type) -> bool {
    match ty {
        Type::Scalar(scalar) => matches!(scalar.bits(), 8 | 16 | 32 | 64),
        Type::Vector(scalar, lanes) => {
            matches!(scalar.bits(), 32 | 64)
                && (matches!(u64::from(scalar.bits() / 8 * lanes), 8 | 12 | 16 | 32 | 64))
        }
        _ => false,
    }
}
