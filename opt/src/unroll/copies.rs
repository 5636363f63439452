//! Copies of a loop's body.

use super::plus_constant;
use mir::ir::*;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// How a value changes from one iteration to the next.
#[derive(Clone, Copy)]
struct Step {
    by: i64,
    /// As signed, and as unsigned numbers, neither value wraps.
    signed: bool,
    unsigned: bool,
}

/// How the values of a loop's block change, where that is by a constant.
fn steps(func: &Function, block: Block) -> FxHashMap<Value, Step> {
    let data = &func.blocks[block];
    let mut steps: FxHashMap<Value, Step> = FxHashMap::default();
    let Some(last) = func.terminator(block) else { return steps };
    let targets = func.insts[last].kind.targets();
    let Some(back) = targets.into_iter().find(|call| call.block == block) else { return steps };
    for (&param, &arg) in data.params.iter().zip(&back.args) {
        let Some(sum) = func.def_inst(arg) else { continue };
        let InstData { kind: InstKind::Binary { op: BinaryOp::Add, args }, flags, .. } = &func.insts[sum]
        else {
            continue;
        };
        if let Some((of, by)) = plus_constant(func, *args)
            && of == param
        {
            let [signed, unsigned] = [InstFlags::NSW, InstFlags::NUW].map(|flag| flags.contains(flag));
            steps.insert(param, Step { by, signed, unsigned: unsigned && by >= 0 });
        }
    }
    let inside: rustc_hash::FxHashSet<Value> = data
        .params
        .iter()
        .copied()
        .chain(data.insts.iter().filter_map(|&inst| func.insts[inst].result))
        .collect();
    for &inst in &data.insts {
        let InstData { kind, flags, result: Some(result), .. } = &func.insts[inst] else { continue };
        let of = |value: &Value| match inside.contains(value) {
            false => Some(Step { by: 0, signed: true, unsigned: true }),
            true => steps.get(value).copied(),
        };
        let step = match kind {
            InstKind::Binary { op: BinaryOp::Add, args: [a, b] } => of(a).zip(of(b)).and_then(|(a, b)| {
                let by = a.by.checked_add(b.by)?;
                let signed = a.signed && b.signed && flags.contains(InstFlags::NSW);
                Some(Step {
                    by,
                    signed,
                    unsigned: a.unsigned && b.unsigned && flags.contains(InstFlags::NUW),
                })
            }),
            InstKind::Cast { op: CastOp::SExt, arg } => {
                of(arg).filter(|step| step.signed).map(|step| Step { unsigned: false, ..step })
            }
            InstKind::Cast { op: CastOp::ZExt, arg } => {
                of(arg).filter(|step| step.unsigned).map(|step| Step { signed: true, ..step })
            }
            _ => None,
        };
        if let Some(step) = step {
            steps.insert(*result, step);
        }
    }
    steps
}

/// Makes copies of a body.
pub(super) struct Copies<'a> {
    func: &'a mut Function,
    block: Block,
    steps: FxHashMap<Value, Step>,
    /// The values of the first copy.
    first: FxHashMap<Value, Value>,
    pub out: Vec<Inst>,
}

impl<'a> Copies<'a> {
    /// Of the body of the loop `block`; there are none yet.
    pub fn new(func: &'a mut Function, block: Block) -> Self {
        let steps = steps(func, block);
        Self { func, block, steps, first: FxHashMap::default(), out: Vec::new() }
    }

    /// Appends copy number `n`, whose parameters are `args`; its values by those of the body.
    pub fn copy(&mut self, n: u32, params: &[Value], args: &[Value]) -> FxHashMap<Value, Value> {
        let mut values: FxHashMap<Value, Value> = params.iter().copied().zip(args.iter().copied()).collect();
        if n == 0 {
            self.first = values.clone();
        }
        let count = self.func.blocks[self.block].insts.len().saturating_sub(1);
        for i in 0..count {
            mir::interrupt::checkpoint();
            let inst = self.func.blocks[self.block].insts[i];
            let InstData { mut kind, ty, flags, fpmath_ulp_256, result } = self.func.insts[inst].clone();
            let beside_first = self.beside_first(n, &kind);
            kind.for_each_value_mut(|value| *value = values.get(value).copied().unwrap_or(*value));
            let mut flags = flags;
            match beside_first {
                Some((index, more)) => {
                    if let InstKind::PtrAdd { index: place, offset, .. } = &mut kind {
                        (*place, *offset) = (Some(index), offset.wrapping_add(more));
                    }
                    // The parts of the sum are others, though not the sum.
                    flags.remove(InstFlags::NUW);
                }
                None => self.join_constants(&mut kind, &mut flags),
            }
            let new = self.func.make_inst(kind, ty, flags);
            self.func.insts[new].fpmath_ulp_256 = fpmath_ulp_256;
            self.func.locs[new] = self.func.locs[inst];
            if let Some(&aligns) = self.func.mem_aligns.get(&inst) {
                self.func.mem_aligns.insert(new, aligns);
            }
            self.out.push(new);
            if let Some((old, new)) = result.zip(self.func.insts[new].result) {
                values.insert(old, new);
                if n == 0 {
                    self.first.insert(old, new);
                }
            }
        }
        values
    }

    /// For an address of copy `n` with an index that moves by a constant: the first copy's index, and what is added in bytes.
    fn beside_first(&self, n: u32, kind: &InstKind) -> Option<(Value, i64)> {
        let &InstKind::PtrAdd { base, index: Some(index), scale, offset } = kind else { return None };
        let step = self.steps.get(&index).filter(|_| n > 0)?;
        let bits = |value: Value| self.func.ty(value).bits();
        if bits(index)? < bits(base)? && !step.signed {
            return None;
        }
        let more = step.by.checked_mul(i64::from(n))?.checked_mul(scale)?;
        offset.checked_add(more)?;
        Some((*self.first.get(&index)?, more))
    }

    /// A constant added to a sum with a constant is one sum.
    fn join_constants(&mut self, kind: &mut InstKind, flags: &mut InstFlags) {
        let below = |value: Value| self.func.def_inst(value).map(|inst| &self.func.insts[inst]);
        match kind {
            InstKind::PtrAdd { base, index: None, offset, .. } => {
                let Some(lower) = below(*base) else { return };
                let InstKind::PtrAdd { base: under, index: None, offset: more, .. } = lower.kind else {
                    return;
                };
                if let Some(sum) = offset.checked_add(more) {
                    (*base, *offset) = (under, sum);
                    *flags = flags.intersection(lower.flags).difference(InstFlags::NUW);
                }
            }
            InstKind::Binary { op: BinaryOp::Add, args } => {
                let Some((of, by)) = plus_constant(self.func, *args) else { return };
                let Some(lower) = below(of) else { return };
                let InstKind::Binary { op: BinaryOp::Add, args: sum } = lower.kind else { return };
                let own = lower.flags;
                let Some((under, more)) = plus_constant(self.func, sum) else { return };
                let Some(sum) = by.checked_add(more).filter(|_| (by < 0) == (more < 0)) else { return };
                // In the same direction, if neither wraps the sum does not.
                *flags = flags.intersection(own);
                let ty = self.func.ty(under);
                *args = [under, self.func.int(ty, sum as u64)];
            }
            _ => {}
        }
    }

    /// The arguments of the way back, as those of the copy with `values`.
    pub fn back(&self, values: &FxHashMap<Value, Value>) -> SmallVec<[Value; 4]> {
        let Some(last) = self.func.terminator(self.block) else { return SmallVec::new() };
        let targets = self.func.insts[last].kind.targets();
        let Some(back) = targets.into_iter().find(|call| call.block == self.block) else {
            return SmallVec::new();
        };
        back.args.iter().map(|arg| values.get(arg).copied().unwrap_or(*arg)).collect()
    }
}
