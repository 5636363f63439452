//! Branches, switches and inline assembly.

use super::{Legalizer, Parts};
use crate::bits::mask64;
use mir::ir::*;
use mir::{Diagnostic, Result};
use smallvec::SmallVec;

/// A run of neighbouring case values with one target: low, high, index of the case.
#[derive(Clone, Copy)]
struct Cluster {
    low: u64,
    high: u64,
    case: usize,
}

impl Legalizer<'_> {
    /// A branch target of the new function, arguments split.
    pub(super) fn target(&mut self, target: &BlockCall) -> Result<BlockCall> {
        let old = self.old;
        let block = self.blocks[target.block]
            .ok_or_else(|| Diagnostic::malformed("branch to a block outside of the function"))?;
        let params = &old.blocks[target.block].params;
        if params.len() != target.args.len() {
            return Err(Diagnostic::malformed("branch with another number of arguments than its target has"));
        }
        let mut args: SmallVec<[Value; 4]> = SmallVec::new();
        for (&param, &arg) in params.iter().zip(&target.args) {
            match self.spaces.of(param) {
                Some(space) => {
                    let part = self.raw_parts(arg)?;
                    let ty = Type::ptr(space);
                    for part in part {
                        let part = if self.b.ty(part) == ty {
                            part
                        } else {
                            self.b.cast(CastOp::AddrSpaceCast, part, ty)
                        };
                        args.push(part);
                    }
                }
                None if self.whole[param] => args.push(self.whole_vector(arg)?),
                None => args.extend(self.parts(arg)?),
            }
        }
        if args.len() != self.b.func.blocks[block].params.len() {
            return Err(Diagnostic::malformed("branch argument of another type than the parameter"));
        }
        Ok(BlockCall { block, args })
    }

    pub(super) fn lower_branch(
        &mut self,
        cond: Value,
        if_true: &BlockCall,
        if_false: &BlockCall,
    ) -> Result<Parts> {
        // No way is better than the other: both stay, as in LLVM, and a bit of the wave's mode decides.
        let cond = match self.old.as_const(cond) {
            Some(Const::Undef | Const::Poison) => self.any_condition()?,
            _ => self.part(cond)?,
        };
        let (if_true, if_false) = (self.target(if_true)?, self.target(if_false)?);
        let kind = match self.b.func.as_const(cond) {
            Some(Const::Int(1)) => InstKind::Jump { target: if_true },
            Some(Const::Int(_) | Const::Zero | Const::Undef) => InstKind::Jump { target: if_false },
            Some(_) => InstKind::Unreachable,
            None if if_true == if_false => InstKind::Jump { target: if_true },
            // Branch on the opposite instead of computing it.
            None => match self.b.func.def_inst(cond).map(|i| &self.b.func.insts[i].kind) {
                Some(&InstKind::Binary { op: BinaryOp::Xor, args })
                    if self.b.func.as_int(args[1]) == Some(1) =>
                {
                    InstKind::Branch { cond: args[0], if_true: if_false, if_false: if_true }
                }
                _ => InstKind::Branch { cond, if_true, if_false },
            },
        };
        Ok(self.terminate(kind))
    }

    /// A switch as a balanced tree of comparisons over runs of case values; depth is logarithmic in their
    /// number.
    ///
    /// Bounds that comparisons further up imply are not tested again; where the default cannot happen, gaps
    /// between runs belong to the run above. Several runs within 32 values that lead to one target are one
    /// test of a bit mask.
    pub(super) fn lower_switch(
        &mut self,
        value: Value,
        cases: &[(u64, BlockCall)],
        default: &BlockCall,
    ) -> Result<Parts> {
        let bits = self.old.ty(value).bits().unwrap_or(32) as u32;
        if bits > 64 {
            return Err(Diagnostic::unsupported(format!("switch over an integer of {bits} bits")));
        }
        let part = self.part(value)?;
        let mut x = self.zero_extended(part, bits);
        if matches!(self.b.ty(x), Type::I1 | Type::I16) {
            x = self.b.cast(CastOp::ZExt, x, Type::I32);
        }
        let mut sorted: Vec<usize> = (0..cases.len()).collect();
        sorted.sort_by_key(|&i| cases[i].0);
        let mut clusters: Vec<Cluster> = Vec::new();
        for i in sorted {
            let at = cases[i].0;
            match clusters.last_mut() {
                Some(last) if last.high.wrapping_add(1) == at && cases[last.case].1 == cases[i].1 => {
                    last.high = at
                }
                _ => clusters.push(Cluster { low: at, high: at, case: i }),
            }
        }
        if self.is_unreachable(default.block) {
            close_gaps(&mut clusters, cases, mask64(u64::MAX, bits));
        }
        let default = self.target(default)?;
        let mut targets = Vec::with_capacity(clusters.len());
        for cluster in &clusters {
            targets.push(self.target(&cases[cluster.case].1)?);
        }
        if let Some(c) = self.b.func.as_int(x) {
            let hit = clusters.iter().position(|k| k.low <= c && c <= k.high);
            let target = hit.map_or(default, |i| targets[i].clone());
            return Ok(self.terminate(InstKind::Jump { target }));
        }
        if let Some(cond) = self.bit_test(x, &clusters, &targets) {
            let if_true = targets[0].clone();
            return Ok(self.terminate(InstKind::Branch { cond, if_true, if_false: default }));
        }
        // Work list of (block, range of clusters, bounds of the value) instead of recursion.
        let scope = self.b.scope;
        let bounds = (0, mask64(u64::MAX, bits));
        let mut work = vec![(self.b.block, 0, clusters.len(), bounds)];
        while let Some((block, from, to, (least, most))) = work.pop() {
            self.b.block = block;
            // Only the first block dominates the old one's successors, and it is done when the others begin.
            self.b.scope = None;
            match to - from {
                0 => self.terminate(InstKind::Jump { target: default.clone() }),
                1 => {
                    let Cluster { low, high, .. } = clusters[from];
                    if low <= least && most <= high {
                        self.terminate(InstKind::Jump { target: targets[from].clone() });
                        continue;
                    }
                    let cond = if low == high {
                        self.b.icmp_imm(IntPredicate::Eq, x, low)
                    } else if low <= least {
                        self.b.icmp_imm(IntPredicate::Ule, x, high)
                    } else if most <= high {
                        self.b.icmp_imm(IntPredicate::Uge, x, low)
                    } else {
                        let ty = self.b.ty(x);
                        let low_value = self.b.int(ty, low);
                        let relative = self.b.sub(x, low_value);
                        self.b.icmp_imm(IntPredicate::Ule, relative, high - low)
                    };
                    self.terminate(InstKind::Branch {
                        cond,
                        if_true: targets[from].clone(),
                        if_false: default.clone(),
                    })
                }
                n => {
                    let middle = from + n / 2;
                    let border = clusters[middle].low;
                    let cond = self.b.icmp_imm(IntPredicate::Ult, x, border);
                    let (low, high) = (self.b.new_block(), self.b.new_block());
                    work.push((high, middle, to, (border, most)));
                    work.push((low, from, middle, (least, border - 1)));
                    self.terminate(InstKind::Branch {
                        cond,
                        if_true: BlockCall::to(low),
                        if_false: BlockCall::to(high),
                    })
                }
            };
        }
        self.b.scope = scope;
        Ok(Parts::new())
    }

    /// Whether nothing but `unreachable` is in a block of the old function.
    fn is_unreachable(&self, block: Block) -> bool {
        let first = self.old.blocks[block].insts.first();
        first.is_some_and(|&inst| matches!(self.old.insts[inst].kind, InstKind::Unreachable))
    }

    /// Whether `x` is in one of three or more runs within 32 values that all lead to one target.
    fn bit_test(&mut self, x: Value, clusters: &[Cluster], targets: &[BlockCall]) -> Option<Value> {
        let (first, last) = (clusters.first()?, clusters.last()?);
        if clusters.len() < 3 || last.high - first.low >= 32 || targets.iter().any(|t| t != &targets[0]) {
            return None;
        }
        let mut mask = 0;
        for cluster in clusters {
            for at in cluster.low..=cluster.high {
                mask |= 1 << (at - first.low);
            }
        }
        let ty = self.b.ty(x);
        let low = self.b.int(ty, first.low);
        let relative = self.b.sub(x, low);
        let inside = self.b.icmp_imm(IntPredicate::Ule, relative, last.high - first.low);
        let relative = self.b.zext_or_trunc(relative, Type::I32);
        let amount = self.b.and_imm(relative, 31);
        let mask = self.b.i32(mask);
        let moved = self.b.binary(BinaryOp::LShr, mask, amount);
        let bit = self.b.and_imm(moved, 1);
        let hit = self.b.icmp_imm(IntPredicate::Ne, bit, 0);
        Some(self.b.and(inside, hit))
    }
}

/// Extends each run down to the one below and the last one up to `most`, then joins neighbours with one
/// target.
fn close_gaps(clusters: &mut Vec<Cluster>, cases: &[(u64, BlockCall)], most: u64) {
    let mut next = 0;
    for cluster in clusters.iter_mut() {
        cluster.low = next;
        next = cluster.high.wrapping_add(1);
    }
    if let Some(last) = clusters.last_mut() {
        last.high = most;
    }
    clusters.dedup_by(|above, below| {
        let same = cases[above.case].1 == cases[below.case].1;
        if same {
            below.high = above.high;
        }
        same
    });
}
