//! Conditions that a lane's number in its wave decides: they are the same mask in each wave, a constant.
//!
//! `lane == 0`, the choice of who stores a wave's result, is the number 1 for EXEC; without this it takes two instructions for the lane's number
//! and a comparison. A condition is an [`Intrinsic::InverseBallot`] of its mask if all that it compares is computed from constants and
//!
//! * counts of lower lanes (`mbcnt`) in constant masks,
//! * ids of work-items in dimensions that, with all lower ones, repeat within a wave: work-items are in the order of x, then y, then z
//!   (AMDGPU usage guide, "VGPR register set up order"; HSA system architecture, "Flattened work-item ID"). This needs the size of the
//!   work-group (`!reqd_work_group_size`), and that no work-group is cut off at the edge of the grid, but where there is one dimension alone.
//!
//! A mask that scalar moves of 8 bytes make pays always; a longer one where more than a comparison goes. Cost: linear, with a factor for the lanes; conditions
//! are looked at down to [`DEPTH`] operations.

use super::fold::{eval_binary, eval_icmp};
use mir::ir::*;
use mir::target::Target;
use rustc_hash::FxHashMap;
use smallvec::smallvec;
use std::rc::Rc;

/// Operations between a condition and lanes' numbers.
const DEPTH: u32 = 6;

/// A number for each lane of a wave.
type Lanes = Rc<[u64; 64]>;

/// Turns conditions of `func`, which is legal IR for `target`, into masks.
pub fn find(func: &mut Function, target: &Target) {
    let insts = || func.layout.iter().flat_map(|&block| &func.blocks[block].insts);
    let is_number = |inst: Inst| match func.insts[inst].kind {
        InstKind::Intrinsic { intrinsic, .. } => {
            matches!(intrinsic, Intrinsic::MbcntLo | Intrinsic::MbcntHi)
                || intrinsic.work_item_dimension().is_some() && func.kernel.reqd_work_group_size.is_some()
        }
        _ => false,
    };
    if !insts().any(|&inst| is_number(inst)) {
        return;
    }
    let mut values = Values::new(func, target);
    let mut masks: Vec<(Inst, u64)> = Vec::new();
    for &inst in insts() {
        mir::interrupt::checkpoint();
        let data = &func.insts[inst];
        let is_condition = matches!(data.kind, InstKind::Icmp { .. } | InstKind::Binary { .. });
        if let (Type::I1, true, Some(result)) = (data.ty, is_condition, data.result)
            && let Some(lanes) = values.of(result, DEPTH)
        {
            let mask = (0..values.wave).fold(0, |mask, lane| mask | (lanes[lane] & 1) << lane);
            if is_cheap(mask, values.wave) || values.is_more_than_a_comparison(inst) {
                masks.push((inst, mask));
            }
        }
    }
    let full = u64::MAX >> (64 - values.wave);
    for (inst, mask) in masks {
        // What no lane fulfils, or each, is rare, and legal IR has no branches on constants.
        if mask != 0 && mask != full {
            let args = smallvec![func.int(Type::I64, mask)];
            func.insts[inst].kind = InstKind::Intrinsic { intrinsic: Intrinsic::InverseBallot, args };
            func.insts[inst].flags = InstFlags::empty();
        }
    }
}

/// Whether moves of 8 bytes make `mask` for a wave of so many lanes: one with a literal, or a short one for each half (`s_movk_i32`, `s_brev_b32`).
fn is_cheap(mask: u64, wave: usize) -> bool {
    let is_short = |half: u32| {
        i16::try_from(half.cast_signed()).is_ok() || (-16..=64).contains(&half.reverse_bits().cast_signed())
    };
    wave == 32 || mask <= i32::MAX as u64 || is_short(mask as u32) && is_short((mask >> 32) as u32)
}

/// What is known of values.
struct Values<'f> {
    func: &'f Function,
    wave: usize,
    /// What has been looked at; `None` where it is no function of the lane alone, or too far away from what is one.
    known: FxHashMap<Value, Option<Lanes>>,
}

impl<'f> Values<'f> {
    fn new(func: &'f Function, target: &Target) -> Self {
        Self { func, wave: target.wave_size() as usize, known: FxHashMap::default() }
    }

    /// The number that each lane has for `value`, whose producers are looked at down to `depth`.
    fn of(&mut self, value: Value, depth: u32) -> Option<Lanes> {
        if let Some(constant) = self.func.as_int(value) {
            return Some(Rc::new([constant; 64]));
        }
        if let Some(known) = self.known.get(&value) {
            return known.clone();
        }
        let lanes = self.func.def_inst(value).and_then(|inst| self.computed(inst, depth.checked_sub(1)?));
        self.known.insert(value, lanes.clone());
        lanes
    }

    fn computed(&mut self, inst: Inst, depth: u32) -> Option<Lanes> {
        let func = self.func;
        let data = &func.insts[inst];
        let bits = data.ty.bits().filter(|&bits| bits <= 64)? as u32;
        if !matches!(data.ty, Type::Scalar(Scalar::Int(_))) {
            return None;
        }
        let mut lanes = [0; 64];
        match data.kind {
            InstKind::Binary { op, args: [a, b] } => {
                if op == BinaryOp::And
                    && let Some(lanes) = self.low_bits_of_id(a, b)
                {
                    return Some(lanes);
                }
                let (a, b) = (self.of(a, depth)?, self.of(b, depth)?);
                for (lane, number) in lanes.iter_mut().enumerate() {
                    *number = eval_binary(op, a[lane], b[lane], bits)?;
                }
            }
            InstKind::Icmp { predicate, args: [a, b] } => {
                let bits = func.ty(a).bits().filter(|&bits| bits <= 64)? as u32;
                let (a, b) = (self.of(a, depth)?, self.of(b, depth)?);
                for (lane, number) in lanes.iter_mut().enumerate() {
                    *number = eval_icmp(predicate, a[lane], b[lane], bits).into();
                }
            }
            InstKind::Cast { op: CastOp::ZExt | CastOp::Trunc, arg } => {
                let arg = self.of(arg, depth)?;
                lanes = arg.map(|number| number & (u64::MAX >> (64 - bits)));
            }
            InstKind::Intrinsic {
                intrinsic: count @ (Intrinsic::MbcntLo | Intrinsic::MbcntHi),
                ref args,
            } => {
                let (mask, base) = (func.as_int(*args.first()?)?, self.of(*args.get(1)?, depth)?);
                let half = if count == Intrinsic::MbcntHi { 32 } else { 0 };
                for (lane, number) in lanes.iter_mut().enumerate() {
                    let below = (1u64 << lane.saturating_sub(half).min(32)) - 1;
                    *number = (base[lane] + u64::from((mask & below).count_ones())) & u64::from(u32::MAX);
                }
            }
            InstKind::Intrinsic { intrinsic, .. } => {
                let (below, size) = self.dimension(intrinsic)?;
                let repeats = below.checked_mul(size).is_some_and(|all| self.wave.is_multiple_of(all));
                if !repeats || !self.is_whole() {
                    return None;
                }
                for (lane, number) in lanes.iter_mut().enumerate() {
                    *number = (lane / below % size) as u64;
                }
            }
            _ => return None,
        }
        Some(Rc::new(lanes))
    }

    /// `id & mask` of an id in x that goes on from wave to wave.
    fn low_bits_of_id(&self, id: Value, mask: Value) -> Option<Lanes> {
        let InstKind::Intrinsic { intrinsic, .. } = self.func.insts[self.func.def_inst(id)?].kind else {
            return None;
        };
        let (below, size) = self.dimension(intrinsic)?;
        let mask = self.func.as_int(mask).filter(|&mask| mask < self.wave as u64)?;
        let goes_on = below == 1 && size.is_multiple_of(self.wave) && self.is_whole();
        goes_on.then(|| Rc::new(std::array::from_fn(|lane| lane as u64 & mask)))
    }

    /// Of an id: how many work-items the dimensions below have together, and how many its own has.
    fn dimension(&self, intrinsic: Intrinsic) -> Option<(usize, usize)> {
        let dimension = intrinsic.work_item_dimension()?;
        let sizes = self.func.kernel.reqd_work_group_size.filter(|_| self.func.is_kernel())?;
        if sizes.iter().any(|&size| size == 0 || size > 1024) {
            return None;
        }
        let sizes = sizes.map(|size| size as usize);
        Some((sizes[..dimension].iter().product(), sizes[dimension]))
    }

    /// Whether each lane is the work-item that the sizes say: no work-group is cut off, or only the end of the one dimension.
    fn is_whole(&self) -> bool {
        let one_dimension = self.func.kernel.reqd_work_group_size.is_some_and(|[_, y, z]| y == 1 && z == 1);
        one_dimension || self.func.attribute("uniform-work-group-size").is_some_and(|value| value != "false")
    }

    /// Whether `inst` compares what is computed only for it, or joins comparisons.
    fn is_more_than_a_comparison(&self, inst: Inst) -> bool {
        let func = self.func;
        match func.insts[inst].kind {
            InstKind::Icmp { args: [a, _], .. } => {
                func.def_inst(a).is_some_and(|inst| matches!(func.insts[inst].kind, InstKind::Binary { .. }))
            }
            _ => true,
        }
    }
}
