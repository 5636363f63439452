//! What a copy of a function costs, and what a call of it does.
//!
//! The unit is one machine instruction of eight bytes. Prices are read off the IR before it is legal, so they
//! are estimates: an operation costs one for each dword that it computes, a division what its expansion has,
//! and what becomes part of an address or of the allocation of registers nothing.
//!
//! | | -O1 | -O2 | -O3 | why |
//! |---|---|---|---|---|
//! | any callee | 100 | 500 | 1000 | LLVM's threshold for AMDGPU at `-O2` is 11 × 225 at 5 an instruction: 495. A call costs what some fifty instructions do, and keeps values out of the registers that a callee may change |
//! | with `inlinehint` | 200 | 1000 | 2000 | twice, the proportion of LLVM's 325 to 225 being for hosts without spilled SGPRs |
//! | more for a pointer to an object of the caller's stack | 800 | 800 | 800 | the object can become registers once the callee's accesses are known; LLVM adds 4000 at 5 an instruction |
//! | more for a pointer to LDS or to the stack that is passed as a generic one | 100 | 100 | 100 | accesses become those of the space, without apertures |
//! | more where the callee names a variable in LDS | 500 | 500 | 500 | LDS of called functions is taken in every kernel that calls anything |
//! | growth of a function by copies | 2000 | 8000 | 32000 | the instruction cache holds 32 KiB, 4000 instructions, for up to four compute units; loops of what was copied should fit |
//!
//! A function with `optsize` is copied where a call and its arguments would take as much, and with `minsize`
//! where they would take more. `-O0` copies what cannot be called (see [`super`]) and what says
//! `alwaysinline`.
//!
//! Cost: linear in instructions, each priced once.

use cranelift_entity::SecondaryMap;
use mir::ir::*;

/// What a level of optimisation allows, in instructions.
pub struct Limits {
    /// Price of a callee that is copied.
    pub ordinary: u32,
    /// Price of a callee that is copied where it says `inlinehint`.
    pub hinted: u32,
    /// What a function may grow by copies, but for those that its growth does not bound.
    pub growth: u32,
}

/// Limits of `-O1` to `-O3`.
const LIMITS: [Limits; 3] = [
    Limits { ordinary: 100, hinted: 200, growth: 2_000 },
    Limits { ordinary: 500, hinted: 1_000, growth: 8_000 },
    Limits { ordinary: 1_000, hinted: 2_000, growth: 32_000 },
];

/// What a pointer to an object of the caller's stack as an argument adds to a limit.
pub const STACK_OBJECT: u32 = 800;

/// What a pointer to LDS or to the stack that was made generic adds to a limit.
pub const KNOWN_SPACE: u32 = 100;

/// What a callee that names a variable in LDS adds to a limit.
pub const LDS_VARIABLE: u32 = 500;

/// A call but for its arguments: the address (3), `s_swappc` and `s_setpc` with the waits around them (4), the
/// frame (2), and the return address kept in lanes of a VGPR where the callee calls, too (4).
const CALL: u32 = 13;

/// The limits of an optimisation level; none at `-O0`, where price is no reason.
pub fn limits(level: u8) -> Option<&'static Limits> {
    usize::from(level).checked_sub(1).map(|index| &LIMITS[index.min(LIMITS.len() - 1)])
}

/// What a call of `callee` takes at the place of the call, a move for each dword that is passed.
pub fn of_call(module: &Module, callee: &Function) -> u32 {
    let dwords = |ty: Type| dwords(module, ty);
    let arguments = callee.params.iter().fold(0u32, |sum, param| {
        let passed = match param.indirect {
            Some(IndirectParam { ty, by_value: true }) => ty,
            _ => callee.ty(param.value),
        };
        sum.saturating_add(dwords(passed))
    });
    let result = if callee.ret == Type::Void { 0 } else { dwords(callee.ret) };
    CALL.saturating_add(arguments).saturating_add(result)
}

/// What the body of a function takes; and whether it names variables in LDS.
pub fn of_body(module: &Module, func: &Function) -> (u32, bool) {
    let mut price = 0u32;
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            mir::interrupt::checkpoint();
            price = price.saturating_add(of_inst(module, func, inst));
        }
    }
    let in_lds = |constant: &Const| match constant {
        Const::Symbol(SymbolRef::Global(global), _) => module.globals[*global].space == AddrSpace::LOCAL,
        _ => false,
    };
    let names_lds = func.values.values().any(|value| match &value.def {
        ValueDef::Const(constant) => in_lds(constant),
        _ => false,
    });
    (price, names_lds)
}

/// Dwords of a value.
fn dwords(module: &Module, ty: Type) -> u32 {
    u32::try_from(module.types.store_bytes(ty).div_ceil(4)).unwrap_or(u32::MAX).max(1)
}

fn of_inst(module: &Module, func: &Function, inst: Inst) -> u32 {
    let data = &func.insts[inst];
    let each = |n: u32| dwords(module, data.ty).saturating_mul(n);
    match &data.kind {
        InstKind::Binary { op, .. } => match op {
            BinaryOp::UDiv | BinaryOp::SDiv | BinaryOp::URem | BinaryOp::SRem => match data.ty.bits() {
                Some(..=32) => 16,
                _ => each(32),
            },
            BinaryOp::FDiv => each(10),
            BinaryOp::FRem => each(20),
            // Four products of halves, for two dwords.
            BinaryOp::Mul if matches!(data.ty, Type::Scalar(Scalar::Int(33..))) => each(3),
            _ => each(1),
        },
        // A call that stays costs the same wherever it stands.
        InstKind::Call { args, .. } => CALL.saturating_add(args.len() as u32),
        InstKind::Intrinsic { intrinsic, .. } => match intrinsic {
            Intrinsic::LifetimeStart | Intrinsic::LifetimeEnd => 0,
            Intrinsic::Memcpy | Intrinsic::Memmove | Intrinsic::Memset => 8,
            Intrinsic::Sin | Intrinsic::Cos | Intrinsic::Exp | Intrinsic::Log | Intrinsic::Sqrt => each(12),
            Intrinsic::Pow | Intrinsic::Powi => each(24),
            _ if data.ty == Type::Void => 1,
            _ => each(1),
        },
        InstKind::PtrAdd { index, .. } => index.map_or(0, |_| each(1)),
        InstKind::Load { .. } => each(1).div_ceil(4).saturating_add(1),
        InstKind::Store { value, .. } => dwords(module, func.ty(*value)).div_ceil(4).saturating_add(1),
        InstKind::Branch { .. } => 2,
        InstKind::Switch { cases, .. } => (cases.len() as u32).saturating_mul(2),
        InstKind::Cast { op, .. } => match op {
            CastOp::Trunc | CastOp::ZExt | CastOp::PtrToInt | CastOp::IntToPtr | CastOp::BitCast => 0,
            _ => each(1),
        },
        InstKind::Unary { .. }
        | InstKind::Alloca { .. }
        | InstKind::ExtractElement { .. }
        | InstKind::InsertElement { .. }
        | InstKind::Shuffle { .. }
        | InstKind::ExtractValue { .. }
        | InstKind::InsertValue { .. }
        | InstKind::Jump { .. }
        | InstKind::Ret { .. }
        | InstKind::Unreachable => 0,
        InstKind::InlineAsm { .. } => 4,
        InstKind::Icmp { .. } | InstKind::Fcmp { .. } => data.ty.lanes(),
        InstKind::Select { .. }
        | InstKind::AtomicRmw { .. }
        | InstKind::CmpXchg { .. }
        | InstKind::Fence { .. } => each(1),
    }
}

/// What a pointer that `caller` passes adds to the limit of the call. Values that copies of earlier callees
/// have replaced are looked up in `replaced`.
pub fn of_argument(caller: &Function, replaced: &SecondaryMap<Value, Option<Value>>, arg: Value) -> u32 {
    let (mut value, mut known) = (arg, false);
    for _ in 0..MAX_CHAIN {
        while let Some(new) = replaced[value] {
            value = new;
        }
        let Some(inst) = caller.def_inst(value) else { break };
        match &caller.insts[inst].kind {
            InstKind::PtrAdd { base, .. } => value = *base,
            InstKind::Cast { op: CastOp::BitCast, arg } => value = *arg,
            InstKind::Cast { op: CastOp::AddrSpaceCast, arg } => {
                let from = caller.ty(*arg).addr_space();
                known |= matches!(from, Some(AddrSpace::LOCAL | AddrSpace::PRIVATE));
                value = *arg;
            }
            InstKind::Alloca { size_bytes, count: None, .. } if *size_bytes <= crate::promote::MAX_BYTES => {
                return STACK_OBJECT;
            }
            _ => break,
        }
    }
    if known { KNOWN_SPACE } else { 0 }
}

/// Most steps from an argument to the object that it points to.
const MAX_CHAIN: usize = 16;
