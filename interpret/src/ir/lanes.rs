//! Operations between the lanes that run together.
//!
//! What lanes hold that do not run is undefined, but for those operations that read zero there. A lane number, a mask or another operand that the instruction takes once
//! for the wave is that of the first lane.
//!
//! Whole-wave operations (`strict.wwm` and the like) are executed where all lanes of the wave run, when they are moves; elsewhere they would
//! need values of lanes that never computed them, and are not executed.
//!
//! Sources: Vega ISA, "DS_SWIZZLE_B32", "DPP"; LLVM's IntrinsicsAMDGPU.td.

use super::exec::{Cx, Step, Stop};
use super::float::{compare as compare_floats, format};
use super::int::compare;
use super::layout::ones;
use super::regs::{MAX_LANES, Regs, lanes};
use mir::ir::{FloatPredicate, IntPredicate, Intrinsic, Scalar, Type, Value};
use sim::exec::lanes::{dpp_rows, dpp_sources};
use sim::fp;

/// The lane that `ds_swizzle` reads.
fn swizzled(lane: usize, pattern: u32) -> usize {
    let l = lane as u32;
    (if pattern & 0x8000 != 0 {
        (l & !3) + (pattern >> (2 * (l & 3)) & 3)
    } else {
        let (and, or, xor) = (pattern & 31, pattern >> 5 & 31, pattern >> 10 & 31);
        (l & 32) | (((l & 31) & and) | or) ^ xor
    }) as usize
}

impl Cx<'_, '_> {
    /// Whether this file executes `intrinsic`; if so, does.
    pub fn lane_intrinsic(
        &mut self,
        intrinsic: Intrinsic,
        args: &[Value],
        ty: Type,
        dst: usize,
    ) -> Step<bool> {
        use Intrinsic::*;
        match intrinsic {
            Readfirstlane => {
                let first = self.lane_number(self.mask.trailing_zeros().into());
                self.gather(args, 0, dst, |_| Some(first), false)?;
            }
            Readlane => {
                let lane = self.lane_number(self.uniform(self.arg(args, 1)?, "a lane number")?);
                self.gather(args, 0, dst, |_| Some(lane), false)?;
            }
            Writelane => self.write_lane(args, dst)?,
            Ballot | AmdgcnIcmp | AmdgcnFcmp => self.vote(intrinsic, args, ty, dst)?,
            InverseBallot => {
                let mask = self.uniform(self.arg(args, 0)?, "a mask of lanes")?;
                self.regs.write(dst, self.mask, &std::array::from_fn(|l| mask >> l & 1));
            }
            MbcntLo | MbcntHi => {
                let high = intrinsic == MbcntHi;
                let (mask, base) = (self.arg(args, 0)?, self.arg(args, 1)?);
                let mut out = [0; MAX_LANES];
                for (l, out) in out.iter_mut().enumerate() {
                    let below = if high { ones(l as u32) >> 32 } else { ones(l as u32) & 0xffff_ffff };
                    let count = (self.regs.v[mask][l] & below).count_ones();
                    *out = self.regs.v[base][l].wrapping_add(count.into()) & 0xffff_ffff;
                }
                self.put(dst, &out, &[mask, base], 0xffff_ffff);
            }
            DsSwizzle => {
                let pattern = self.immediate(args, 1)? as u32;
                self.gather(args, 0, dst, |l| Some(swizzled(l, pattern)), true)?;
            }
            DsBpermute | DsPermute => self.permute(intrinsic, args, dst)?,
            MovDpp | UpdateDpp => self.dpp(intrinsic, args, dst)?,
            MovDpp8 => {
                let select = self.immediate(args, 1)?;
                let from = |l: usize| (l & !7) | (select >> (3 * (l & 7)) & 7) as usize;
                self.gather(args, 0, dst, |l| Some(from(l)), true)?;
            }
            Permlane16 => self.permute_rows(args, dst, 0)?,
            Permlanex16 => self.permute_rows(args, dst, 16)?,
            SBitreplicate | SQuadmask | SWqm => self.mask_operation(intrinsic, args, ty, dst)?,
            SetInactive | StrictWwm | Wwm | StrictWqm | Wqm | Softwqm => {
                if self.mask != self.whole_wave() {
                    return Err(Stop::unsupported(format!(
                        "llvm.{} where not all lanes run",
                        intrinsic.name()
                    )));
                }
                let value = self.value(args, 0)?;
                self.regs.copy(dst, self.slot(value), self.flat.words_of(value), self.mask);
            }
            PsLive | LiveMask => self.regs.write(dst, self.mask, &[1; MAX_LANES]),
            DsAppend | DsConsume => self.count_lanes(intrinsic, args, dst)?,
            WaveReduceAdd | WaveReduceSub | WaveReduceMin | WaveReduceMax | WaveReduceUmin
            | WaveReduceUmax | WaveReduceAnd | WaveReduceOr | WaveReduceXor | WaveReduceFadd
            | WaveReduceFsub | WaveReduceFmin | WaveReduceFmax => {
                self.reduce_lanes(intrinsic, args, ty, dst)?
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Argument `n` of the lane that `from` names; of lanes that do not run zero, or something undefined.
    fn gather(
        &mut self,
        args: &[Value],
        n: usize,
        dst: usize,
        from: impl Fn(usize) -> Option<usize>,
        zero: bool,
    ) -> Step<()> {
        let value = self.value(args, n)?;
        let (slot, masks) = (self.slot(value), super::layout::masks(&self.module.types, self.ty(value)));
        let mut old = Regs::default();
        self.regs.save(slot, masks.len(), &mut old);
        for l in lanes(self.mask) {
            let source = from(l).filter(|&s| self.mask >> (s & 63) & 1 != 0);
            for (i, &width) in masks.iter().enumerate() {
                let (value, undef) = match source {
                    Some(s) => (old.v[i][s & 63], old.undef(i, s & 63)),
                    None if zero => (0, 0),
                    None => (0, width),
                };
                self.regs.write_lane(dst + i, l, value, undef);
            }
        }
        Ok(())
    }

    fn write_lane(&mut self, args: &[Value], dst: usize) -> Step<()> {
        let (value, old) = (self.value(args, 0)?, self.arg(args, 2)?);
        let lane = self.lane_number(self.uniform(self.arg(args, 1)?, "a lane number")?);
        let first = self.mask.trailing_zeros() as usize & 63;
        let (slot, count) = (self.slot(value), self.flat.words_of(value));
        let words: Vec<(u64, u64)> =
            (0..count).map(|i| (self.regs.v[slot + i][first], self.regs.undef(slot + i, first))).collect();
        self.regs.copy(dst, old, count, self.mask);
        if self.mask >> lane & 1 != 0 {
            for (i, (value, undef)) in words.into_iter().enumerate() {
                self.regs.write_lane(dst + i, lane, value, undef);
            }
        }
        Ok(())
    }

    /// The lane that a number names: the hardware looks at as many bits as it has lanes for.
    fn lane_number(&self, number: u64) -> usize {
        number as usize & (self.group.launch.target.wave_size() as usize - 1)
    }

    /// A mask of the lanes whose condition holds.
    fn vote(&mut self, intrinsic: Intrinsic, args: &[Value], ty: Type, dst: usize) -> Step<()> {
        let a = self.value(args, 0)?;
        let (scalar, x) = (self.scalar_of(self.ty(a))?, self.slot(a));
        let y = if intrinsic == Intrinsic::Ballot { x } else { self.arg(args, 1)? };
        let number = if intrinsic == Intrinsic::Ballot { 0 } else { self.immediate(args, 2)? };
        let refuse = || Stop::unsupported(format!("llvm.{} with predicate {number}", intrinsic.name()));
        let holds: Box<dyn Fn(u64, u64) -> bool> = match (intrinsic, scalar) {
            (Intrinsic::Ballot, _) => Box::new(|x, _| x & 1 != 0),
            (Intrinsic::AmdgcnFcmp, Scalar::Float(float)) => {
                let predicate = FloatPredicate::from_llvm(number).ok_or_else(refuse)?;
                let (fmt, flushes) = (format(float), self.flushes(float).0);
                let flush = move |x| super::float::flush(fmt, x, flushes);
                Box::new(move |x, y| compare_floats(fmt, predicate, flush(x), flush(y)))
            }
            _ if scalar.bits() <= 64 => {
                let predicate = IntPredicate::from_llvm(number).ok_or_else(refuse)?;
                Box::new(move |x, y| compare(predicate, x, y, scalar.bits()))
            }
            _ => return Err(refuse()),
        };
        let (mut mask, mut undef) = (0, 0);
        for l in lanes(self.mask) {
            mask |= u64::from(holds(self.regs.v[x][l], self.regs.v[y][l])) << l;
            undef |= u64::from(self.regs.undef(x, l) | self.regs.undef(y, l) != 0) << l;
        }
        let width = ones(self.scalar_of(ty)?.bits());
        self.regs.write(dst, self.mask, &[mask & width; MAX_LANES]);
        self.regs.set_undef(dst, self.mask, undef & width);
        Ok(())
    }

    /// All lanes of the wave.
    fn whole_wave(&self) -> u64 {
        ones(self.group.launch.target.wave_size())
    }

    /// `ds.bpermute` reads from the lane that the address says, `ds.permute` sends there.
    fn permute(&mut self, intrinsic: Intrinsic, args: &[Value], dst: usize) -> Step<()> {
        let address = self.arg(args, 0)?;
        let mut from = [None; MAX_LANES];
        let wave = self.lane_number(u64::MAX);
        let exchanged = self.group.launch.target.limits().exchanged_lanes as usize;
        let span = (exchanged.max(1) - 1) & wave;
        for l in lanes(self.mask) {
            let other = self.defined(address, l, "a lane number")? as usize >> 2;
            let other = (l & !span) | (other & span);
            if intrinsic == Intrinsic::DsBpermute {
                from[l] = Some(other);
            } else {
                // Where several lanes push to one, the highest wins.
                from[other] = Some(l);
            }
        }
        self.gather(args, 1, dst, |l| from[l], true)
    }

    /// `mov.dpp`: source, control, row mask, bank mask, bound control. `update.dpp` has the old value in front.
    fn dpp(&mut self, intrinsic: Intrinsic, args: &[Value], dst: usize) -> Step<()> {
        let first = usize::from(intrinsic == Intrinsic::UpdateDpp);
        let number = |cx: &Self, n: usize| cx.immediate(args, first + n);
        let control = number(self, 1)? as u16;
        let enabled = dpp_rows(number(self, 2)? as u8, number(self, 3)? as u8);
        let bound_control = number(self, 4)? & 1 != 0;
        let (from, exists) = dpp_sources(control);
        let value = self.value(args, first)?;
        let (slot, masks) = (self.slot(value), super::layout::masks(&self.module.types, self.ty(value)));
        let old = (first == 1).then(|| self.arg(args, 0)).transpose()?;
        let mut source = Regs::default();
        self.regs.save(slot, masks.len(), &mut source);
        for l in lanes(self.mask) {
            let other = usize::from(from[l]) & 63;
            let valid = exists >> l & 1 != 0 && self.mask >> other & 1 != 0;
            for (i, &width) in masks.iter().enumerate() {
                let kept = old.map_or((0, width), |at| (self.regs.v[at + i][l], self.regs.undef(at + i, l)));
                let (value, undef) = match (enabled >> l & 1 != 0, valid) {
                    (false, _) => kept,
                    (true, true) => (source.v[i][other], source.undef(i, other)),
                    (true, false) if bound_control => (0, 0),
                    (true, false) => kept,
                };
                self.regs.write_lane(dst + i, l, value, undef);
            }
        }
        Ok(())
    }

    /// `permlane16`, or with `other` = 16 `permlanex16`: old value, value, eight numbers of four bits twice, whether lanes that do not run
    /// are read, whether they give zero otherwise.
    fn permute_rows(&mut self, args: &[Value], dst: usize, other: usize) -> Step<()> {
        let mut select = 0;
        for k in 0..2 {
            let half = self.arg(args, 2 + k)?;
            select |= (self.uniform(half, "a lane number")? & 0xffff_ffff) << (32 * k);
        }
        let (inactive, zero) = (self.immediate(args, 4)? & 1 != 0, self.immediate(args, 5)? & 1 != 0);
        let value = self.value(args, 1)?;
        let (slot, masks) = (self.slot(value), super::layout::masks(&self.module.types, self.ty(value)));
        let old = self.arg(args, 0)?;
        let (mut source, mut kept) = (Regs::default(), Regs::default());
        self.regs.save(slot, masks.len(), &mut source);
        self.regs.save(old, masks.len(), &mut kept);
        for l in lanes(self.mask) {
            let from = (l & !15 ^ other) | (select >> (4 * (l & 15)) & 15) as usize;
            for (i, &width) in masks.iter().enumerate() {
                let (value, undef) = match self.mask >> from & 1 != 0 {
                    true => (source.v[i][from], source.undef(i, from)),
                    false if inactive => (0, width),
                    false if zero => (0, 0),
                    false => (kept.v[i][l], kept.undef(i, l)),
                };
                self.regs.write_lane(dst + i, l, value, undef);
            }
        }
        Ok(())
    }

    /// Operations on masks of lanes as numbers.
    fn mask_operation(&mut self, intrinsic: Intrinsic, args: &[Value], ty: Type, dst: usize) -> Step<()> {
        let x = self.arg(args, 0)?;
        let width = ones(self.scalar_of(ty)?.bits());
        let quads = |x: u64| (0..16).fold(0, |m, q| m | u64::from(x >> (4 * q) & 15 != 0) << q);
        self.map1(dst, x, width, |x| match intrinsic {
            Intrinsic::SBitreplicate => (0..32).fold(0, |m, b| m | ((x >> b & 1) * 3) << (2 * b)),
            Intrinsic::SQuadmask => quads(x),
            _ => (0..16).fold(0, |m, q| m | ((quads(x) >> q & 1) * 15) << (4 * q)),
        });
        Ok(())
    }

    /// `ds.append`, `ds.consume`: a counter in LDS that all lanes together change by their number.
    fn count_lanes(&mut self, intrinsic: Intrinsic, args: &[Value], dst: usize) -> Step<()> {
        let pointer = self.value(args, 0)?;
        let space = super::memory::space_of(self.ty(pointer));
        let lane = self.mask.trailing_zeros() as usize & 63;
        let place = self.place(space, self.slot(pointer), lane)?;
        let (mut bytes, mut undef) = ([0; 4], [0; 4]);
        self.load_bytes(place, lane, &mut bytes, &mut undef)?;
        let (old, unknown) = (u32::from_le_bytes(bytes), u32::from_le_bytes(undef));
        let count = self.mask.count_ones();
        let new =
            if intrinsic == Intrinsic::DsAppend { old.wrapping_add(count) } else { old.wrapping_sub(count) };
        let all = if unknown == 0 { [0; 4] } else { [0xff; 4] };
        self.store_bytes(place, lane, &new.to_le_bytes(), &all)?;
        self.regs.write(dst, self.mask, &[old.into(); MAX_LANES]);
        self.regs.set_undef(dst, self.mask, unknown.into());
        Ok(())
    }

    /// A reduction of one value of each lane that runs, in ascending order; the same result in all.
    pub fn reduce_lanes(&mut self, intrinsic: Intrinsic, args: &[Value], ty: Type, dst: usize) -> Step<()> {
        use Intrinsic::*;
        let (scalar, from) = (self.scalar_of(ty)?, self.arg(args, 0)?);
        if scalar.bits() > 64 {
            return Err(Stop::unsupported(format!("a reduction of {scalar} over lanes")));
        }
        let undefined = lanes(self.mask).any(|l| self.regs.undef(from, l) != 0);
        let bits = scalar.bits();
        let fmt = match scalar {
            Scalar::Float(float) => Some(format(float)),
            _ => None,
        };
        let signed = |x| super::int::sext(x, bits) as i64;
        let mut sum: Option<u64> = match (intrinsic, fmt) {
            (WaveReduceSub | WaveReduceFsub, _) => Some(0),
            _ => None,
        };
        for l in lanes(self.mask) {
            let x = self.regs.v[from][l];
            let Some(old) = sum else {
                sum = Some(x);
                continue;
            };
            sum = Some(match (intrinsic, fmt) {
                (WaveReduceAdd, _) => old.wrapping_add(x),
                (WaveReduceSub, _) => old.wrapping_sub(x),
                (WaveReduceAnd, _) => old & x,
                (WaveReduceOr, _) => old | x,
                (WaveReduceXor, _) => old ^ x,
                (WaveReduceMin, _) => signed(old).min(signed(x)) as u64,
                (WaveReduceMax, _) => signed(old).max(signed(x)) as u64,
                (WaveReduceUmin, _) => old.min(x),
                (WaveReduceUmax, _) => old.max(x),
                (WaveReduceFadd, Some(fmt)) => fp::add(fmt, old, x, fp::Round::Even),
                (WaveReduceFsub, Some(fmt)) => fp::add(fmt, old, x ^ fmt.sign_bit(), fp::Round::Even),
                (WaveReduceFmin, Some(fmt)) => fp::min_max(fmt, old, x, false, false),
                (WaveReduceFmax, Some(fmt)) => fp::min_max(fmt, old, x, true, false),
                _ => return Err(Stop::unsupported(format!("llvm.{}", intrinsic.name()))),
            });
        }
        self.regs.write(dst, self.mask, &[sum.unwrap_or(0) & ones(bits); MAX_LANES]);
        if undefined {
            self.poison(dst, scalar, self.mask);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swizzles() {
        // Quad permutation 3, 2, 1, 0; then a rotation by xor.
        assert_eq!(swizzled(4, 0x801b), 7);
        assert_eq!(swizzled(33, 0x1f | 1 << 10), 32);
        assert_eq!(swizzled(37, 0), 32);
    }
}
