//! Modifiers around vector arithmetic: sub-dword parts, denormals, output modifier, clamp.

use super::Exec;
use super::valu::Env;
use crate::fp::{self, F16, F32, F64, Round};
use crate::program::{Denormals, Op};
use crate::wave::{Lanes, MAX_LANES, Wave};
use mir::isa::{OpFlags, Opcode, ValueType};
use mir::machine::{ModFlags, SdwaSel, SdwaUnused};

/// The part of a dword that SDWA reads.
pub(super) fn extract(x: u32, sel: SdwaSel, sext: bool) -> u32 {
    let (shift, bits) = match sel {
        SdwaSel::Byte0 => (0, 8),
        SdwaSel::Byte1 => (8, 8),
        SdwaSel::Byte2 => (16, 8),
        SdwaSel::Byte3 => (24, 8),
        SdwaSel::Word0 => (0, 16),
        SdwaSel::Word1 => (16, 16),
        SdwaSel::Dword => return x,
    };
    let up = x << (32 - bits - shift);
    if sext { ((up as i32) >> (32 - bits)) as u32 } else { up >> (32 - bits) }
}

/// A dword of which SDWA writes a part.
fn insert(x: u32, old: u32, sel: SdwaSel, unused: SdwaUnused) -> u32 {
    let (shift, bits) = match sel {
        SdwaSel::Byte0 => (0, 8),
        SdwaSel::Byte1 => (8, 8),
        SdwaSel::Byte2 => (16, 8),
        SdwaSel::Byte3 => (24, 8),
        SdwaSel::Word0 => (0, 16),
        SdwaSel::Word1 => (16, 16),
        SdwaSel::Dword => return x,
    };
    let field = (1u32 << bits) - 1;
    match unused {
        SdwaUnused::Pad => (x & field) << shift,
        SdwaUnused::Preserve => old & !(field << shift) | (x & field) << shift,
        SdwaUnused::Sext => (((x << (32 - bits)) as i32 >> (32 - bits)) as u32) << shift,
    }
}

/// The modes that an operation sees.
pub(super) fn env(w: &Wave, op: &Op) -> Env {
    let m = &op.inst.mods;
    // What is `neg_hi` elsewhere is abs in mixed precision.
    let high = if op.info.flags.contains(OpFlags::MIX) { m.abs } else { m.neg_hi };
    Env {
        clamp: op.flag(ModFlags::CLAMP),
        ieee: w.mode & 1 << 9 != 0,
        round32: Round::from_bits(w.mode),
        round64: Round::from_bits(w.mode >> 2),
        any_turns: op.any_turns,
        packed: [m.op_sel, m.op_sel_hi, m.neg, high],
    }
}

/// Whether denormals of this type are flushed: (sources, result). Source: MODE.fp_denorm, bits 5:4 binary32, 7:6 the others.
pub(super) fn flushes(w: &Wave, op: &Op, ty: ValueType) -> (bool, bool) {
    let field = match ty {
        ValueType::F32 => w.mode >> 4,
        _ => w.mode >> 6,
    };
    match op.denormals {
        Denormals::Keep => (false, false),
        Denormals::Flush => (true, true),
        Denormals::Mode => (field & 1 == 0, field & 2 == 0),
    }
}

/// Whether values of this type are floating point.
pub fn is_float(ty: ValueType) -> bool {
    matches!(ty, ValueType::F16 | ValueType::F32 | ValueType::F64 | ValueType::V2F16)
}

/// Flushes denormals of sources.
pub(super) fn flush(ty: ValueType, lo: &mut Lanes, hi: &mut Lanes) {
    match ty {
        ValueType::F32 => lo.iter_mut().for_each(|x| *x = fp::flush32(*x)),
        ValueType::F16 => lo.iter_mut().for_each(|x| *x = fp::flush16(*x & 0xffff)),
        ValueType::V2F16 => {
            lo.iter_mut().for_each(|x| *x = fp::flush16(*x & 0xffff) | fp::flush16(*x >> 16) << 16);
        }
        _ => {
            for l in 0..MAX_LANES {
                let x = fp::flush64(u64::from(lo[l]) | u64::from(hi[l]) << 32);
                lo[l] = x as u32;
                hi[l] = (x >> 32) as u32;
            }
        }
    }
}

/// What is done to results: output modifier (a power of two), clamp, NaN becoming 0 in the clamp, flush.
#[derive(Clone, Copy)]
struct Finish {
    omod: i32,
    clamp: bool,
    nan_to_zero: bool,
    flush: bool,
    round: Round,
}

impl Finish {
    fn apply(self, fmt: fp::Fmt, x: u64) -> u64 {
        let mut x = x;
        if self.flush && (fmt.is_denormal(x)) {
            x &= fmt.sign_bit();
        }
        if self.omod != 0 {
            x = fp::convert(fmt, fmt, x, self.omod, self.round);
            // Output modifiers flush denormals and make −0 into +0.
            if fmt.is_denormal(x) || x == fmt.sign_bit() {
                x = 0;
            }
        }
        if self.clamp {
            let negative = x & fmt.sign_bit() != 0;
            x = match (fmt.is_nan(x), negative) {
                (true, _) if self.nan_to_zero => 0,
                (true, _) => x,
                (false, true) => 0,
                (false, false) => x.min(fmt.one()),
            };
        }
        x
    }
}

impl Exec<'_> {
    /// Output modifier, clamp and denormals of a floating-point result.
    ///
    /// Source: Vega ISA, "Output Modifiers": ignored where denormal results are enabled or MODE.IEEE is set.
    pub(super) fn finish_float(&mut self, w: &Wave, op: &Op) {
        let Some(ty) = op.info.operands.first().map(|o| o.ty).filter(|ty| is_float(*ty)) else { return };
        let (omod, clamp) = (op.inst.mods.omod, op.flag(ModFlags::CLAMP));
        let flush = flushes(w, op, ty).1;
        if omod == 0 && !clamp && !flush {
            return;
        }
        let keeps_denormals = w.mode >> (if ty == ValueType::F32 { 5 } else { 7 }) & 1 != 0;
        let ignored = keeps_denormals || w.mode & 1 << 9 != 0;
        let finish = Finish {
            omod: if ignored { 0 } else { [0, 1, 2, -1][usize::from(omod & 3)] },
            clamp,
            nan_to_zero: w.mode & 1 << 8 != 0,
            flush,
            round: Round::from_bits(if ty == ValueType::F32 { w.mode } else { w.mode >> 2 }),
        };
        let (lo, hi) = (&mut self.o.lo, &mut self.o.hi);
        if finish.omod == 0 && !clamp && ty == ValueType::F32 {
            lo.iter_mut().for_each(|x| *x = fp::flush32(*x));
            return;
        }
        let half = |x: u32| finish.apply(F16, u64::from(x & 0xffff)) as u32;
        match ty {
            ValueType::F32 => lo.iter_mut().for_each(|x| *x = finish.apply(F32, u64::from(*x)) as u32),
            ValueType::F16 => lo.iter_mut().for_each(|x| *x = half(*x)),
            ValueType::V2F16 => lo.iter_mut().for_each(|x| *x = half(*x) | half(*x >> 16) << 16),
            _ => {
                for l in 0..MAX_LANES {
                    let x = finish.apply(F64, u64::from(lo[l]) | u64::from(hi[l]) << 32);
                    lo[l] = x as u32;
                    hi[l] = (x >> 32) as u32;
                }
            }
        }
    }

    /// Puts results of less than a dword where they belong in the destination register `reg`.
    ///
    /// Whether anything of it is undefined: `undef`, or what is kept of the register.
    pub(super) fn place(&mut self, w: &Wave, op: &Op, reg: usize, undef: bool) -> bool {
        let old_undef = w.undef_of(reg);
        if let Some(sdwa) = op.inst.mods.sdwa() {
            if sdwa.dst_sel == SdwaSel::Dword {
                if op.dst16 {
                    self.o.lo.iter_mut().for_each(|x| *x &= 0xffff);
                }
                return undef;
            }
            for l in 0..MAX_LANES {
                self.o.lo[l] = insert(self.o.lo[l], w.v[reg][l], sdwa.dst_sel, sdwa.dst_unused);
                if undef {
                    self.ou.lo[l] = insert(self.ou.lo[l], old_undef[l], sdwa.dst_sel, sdwa.dst_unused);
                }
            }
            return undef;
        }
        if !op.dst16 {
            return undef;
        }
        let flags = op.info.flags;
        let high = op.inst.mods.op_sel & 8 != 0
            || matches!(op.inst.op, Opcode::V_MAD_MIXHI_F16 | Opcode::V_FMA_MIXHI_F16);
        let keep = op.keeps_high || flags.contains(OpFlags::OP_SEL) || flags.contains(OpFlags::MIX);
        let kept = op.keeps_high && w.v_undef[reg & 255] != 0;
        if kept && !undef {
            self.ou.lo = [0; MAX_LANES];
        }
        for l in 0..MAX_LANES {
            let put = |x: u32, old: u32| match (keep, high) {
                (false, _) => x & 0xffff,
                (true, false) => x & 0xffff | old & 0xffff_0000,
                (true, true) => x << 16 | old & 0xffff,
            };
            self.o.lo[l] = put(self.o.lo[l], w.v[reg][l]);
            if undef || kept {
                self.ou.lo[l] = put(self.ou.lo[l], old_undef[l]);
            }
        }
        undef || kept
    }
}
