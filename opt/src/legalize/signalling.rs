//! Signalling NaNs in front of minima and maxima.
//!
//! In IEEE mode the instructions return a quieted signalling NaN where LLVM's intrinsics return the other operand, so operands
//! that may be one are canonicalised first. What a loop carries is known only when the loop is complete: such operands are looked at once more at
//! the end, and the maximum that a loop gathers costs one instruction a turn.

use super::*;
use crate::flow::Flows;
use cranelift_entity::EntitySet;

/// Choices and signs that are looked through; a limit, so that the cost is constant.
const DEPTH: u32 = 4;

/// Whether `value` is what canonicalising it would leave: no signalling NaN, and no denormal that the mode flushes.
/// Parameters of blocks are where `params` says so.
fn is_canonical(func: &Function, value: Value, depth: u32, params: &mut impl FnMut(Value) -> bool) -> bool {
    use Intrinsic::*;
    let inst = match &func.values[value].def {
        ValueDef::Const(Const::Zero) => return true,
        ValueDef::Const(Const::Float(bits)) => {
            return match func.ty(value) {
                Type::F32 => is_plain(f32::from_bits(*bits as u32).classify()),
                Type::F64 => is_plain(f64::from_bits(*bits).classify()),
                // All numbers of a half are normal ones of binary64.
                Type::F16 => match bits & 0x7c00 {
                    0 => bits & 0x03ff == 0,
                    _ => is_plain(mir::half::to_f64(*bits as u16).classify()),
                },
                _ => false,
            };
        }
        ValueDef::Inst(inst) => *inst,
        ValueDef::BlockParam(..) => return params(value),
        _ => return false,
    };
    match &func.insts[inst].kind {
        InstKind::Binary { .. } => true,
        InstKind::Cast { op, .. } => {
            matches!(op, CastOp::FpExt | CastOp::FpTrunc | CastOp::UiToFp | CastOp::SiToFp)
        }
        InstKind::Select { if_true, if_false, .. } if depth > 0 => {
            is_canonical(func, *if_true, depth - 1, params)
                && is_canonical(func, *if_false, depth - 1, params)
        }
        InstKind::Unary { op: UnaryOp::FNeg, arg } if depth > 0 => {
            is_canonical(func, *arg, depth - 1, params)
        }
        InstKind::Intrinsic { intrinsic: Fabs | Copysign, args } if depth > 0 => {
            args.first().is_some_and(|&arg| is_canonical(func, arg, depth - 1, params))
        }
        InstKind::Intrinsic { intrinsic, .. } => matches!(
            intrinsic,
            Fma | Fmuladd
                | Minnum
                | Maxnum
                | Canonicalize
                | Floor
                | Ceil
                | Trunc
                | Rint
                | Ldexp
                | Rcp
                | Rsq
                | AmdgcnSqrt
                | AmdgcnExp2
                | AmdgcnLog
                | AmdgcnSin
                | AmdgcnCos
                | Fract
                | Fmed3
                | DivFixup
        ),
        _ => false,
    }
}

/// Neither a NaN nor a denormal.
fn is_plain(class: std::num::FpCategory) -> bool {
    !matches!(class, std::num::FpCategory::Nan | std::num::FpCategory::Subnormal)
}

impl Legalizer<'_> {
    /// The value, canonicalised unless it cannot be a signalling NaN.
    pub(super) fn quiet(&mut self, x: Value) -> Value {
        if self.flags.contains(InstFlags::NNAN) {
            return x;
        }
        let mut carried = false;
        let mut params = |_| {
            carried = true;
            true
        };
        let canonical = is_canonical(&self.b.func, x, DEPTH, &mut params);
        if canonical && !carried {
            return x;
        }
        let ty = self.b.ty(x);
        let quieted = self.b.intrinsic(Intrinsic::Canonicalize, &[x], ty);
        if canonical {
            self.quieted.push(quieted);
        }
        quieted
    }

    /// Takes away what [`Self::quiet`] made for what blocks are given, where all that they are given is canonical. Cost: linear, where there is any.
    pub(super) fn drop_needless_quieting(&mut self) {
        let func = &mut self.b.func;
        let candidates: Vec<(Value, Value)> = self
            .quieted
            .iter()
            .filter_map(|&quieted| match &func.insts[func.def_inst(quieted)?].kind {
                InstKind::Intrinsic { intrinsic: Intrinsic::Canonicalize, args } => {
                    Some((quieted, *args.first()?))
                }
                _ => None,
            })
            .collect();
        if candidates.is_empty() {
            return;
        }
        let signalling = signalling_params(func, candidates.iter().map(|c| c.1));
        let needless: FxHashMap<Value, Value> = candidates
            .into_iter()
            .filter(|&(_, x)| is_canonical(func, x, DEPTH, &mut |param| !signalling.contains(param)))
            .collect();
        if needless.is_empty() {
            return;
        }
        for data in func.insts.values_mut() {
            data.kind.for_each_value_mut(|value| {
                // One that was canonicalised twice leads on.
                while let Some(&x) = needless.get(value) {
                    *value = x;
                }
            });
        }
    }
}

/// The parameters of blocks, among those that `roots` come from, that may be given something that is not canonical.
fn signalling_params(func: &Function, roots: impl Iterator<Item = Value>) -> EntitySet<Value> {
    let is_float = |v| matches!(func.ty(v), Type::Scalar(Scalar::Float(_)));
    let flows = Flows::of_params(func, is_float);
    let mut found: EntitySet<Value> = EntitySet::new();
    // What each parameter flows into, and where the spreading begins.
    let mut users: Vec<(Value, Value)> = Vec::new();
    let mut signalling: Vec<Value> = Vec::new();
    let mut work: Vec<Value> = Vec::new();
    for root in roots {
        let _ = is_canonical(func, root, DEPTH, &mut |param| {
            work.push(param);
            true
        });
    }
    while let Some(param) = work.pop() {
        if !found.insert(param) {
            continue;
        }
        let given = flows.of(param);
        // The parameters of the entry are the caller's.
        if given.is_empty() {
            signalling.push(param);
        }
        for &arg in given {
            let canonical = is_canonical(func, arg, DEPTH, &mut |source| {
                users.push((source, param));
                work.push(source);
                true
            });
            if !canonical {
                signalling.push(param);
            }
        }
    }
    let users = Flows::new(&users);
    let mut reached: EntitySet<Value> = EntitySet::new();
    while let Some(param) = signalling.pop() {
        if reached.insert(param) {
            signalling.extend_from_slice(users.of(param));
        }
    }
    reached
}
