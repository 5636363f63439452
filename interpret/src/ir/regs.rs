//! Registers of one activation of a function: a word of each lane for each word of each value.
//!
//! Beside its value a word has undefined bits, which stand for undef and poison alike. A mask for each word tells which lanes may have any, so that
//! defined code pays one test an operand. Invariant: bits above the width of a value are zero and defined.

use super::host::Cause;
use super::layout::{self, ConstantWords};
use crate::convergence::Convergence;
use cranelift_entity::EntityRef;
use mir::analysis::Csr;
use mir::ir::{Function, Module, Value, ValueDef};

/// Lanes of a wave.
pub const MAX_LANES: usize = 64;

/// A word of each lane.
pub type Lanes = [u64; MAX_LANES];

/// Most words of a function: beyond lie arrays of many kilobytes as values.
const MAX_WORDS: usize = 1 << 18;

/// The numbers of the lanes in `mask`, ascending.
#[inline]
pub fn lanes(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let lane = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        Some(lane)
    })
}

/// What of a function is known before it runs.
#[derive(Debug)]
pub struct Flat {
    /// First word of each value.
    slots: Vec<u32>,
    /// Number of its words.
    counts: Vec<u32>,
    /// Words in all.
    words: usize,
    /// Constants that the code uses.
    constants: Vec<(u32, ConstantWords)>,
    /// Who runs together.
    pub convergence: Convergence,
}

const UNUSED: u32 = u32::MAX;

impl Flat {
    /// Prepares `f`.
    pub fn new(module: &Module, f: &Function) -> Result<Self, Cause> {
        let mut this = Self {
            slots: vec![UNUSED; f.values.len()],
            counts: vec![0; f.values.len()],
            words: 0,
            constants: Vec::new(),
            convergence: Convergence::new(&Csr::of_ir(f)),
        };
        f.params.iter().for_each(|param| this.place(module, f, param.value));
        for &block in &f.layout {
            f.blocks[block].params.iter().for_each(|&param| this.place(module, f, param));
            for &inst in &f.blocks[block].insts {
                f.insts[inst].kind.for_each_value(|value| this.place(module, f, value));
                f.insts[inst].result.iter().for_each(|&value| this.place(module, f, value));
            }
            if this.words > MAX_WORDS {
                return Err(Cause::Unsupported(format!("values as large as those of {}", f.name)));
            }
        }
        Ok(this)
    }

    fn place(&mut self, module: &Module, f: &Function, value: Value) {
        let slot = &mut self.slots[value.index()];
        if *slot != UNUSED {
            return;
        }
        *slot = self.words as u32;
        let words = layout::words(&module.types, f.ty(value));
        self.counts[value.index()] = words.min(UNUSED as usize) as u32;
        self.words = self.words.saturating_add(words).min(UNUSED as usize - 1);
        if matches!(f.values[value].def, ValueDef::Const(_))
            && words <= MAX_WORDS
            && let Some(constant) = layout::constant(&module.types, f, value)
        {
            self.constants.push((*slot, constant));
        }
    }

    /// First word of `value`.
    #[inline]
    pub fn slot(&self, value: Value) -> usize {
        self.slots[value.index()] as usize
    }

    /// Words of `value`.
    #[inline]
    pub fn words_of(&self, value: Value) -> usize {
        self.counts[value.index()] as usize
    }

    /// The constants that hold addresses: word, symbol, byte offset, mask of the pointer's bits.
    pub fn symbols(&self) -> impl Iterator<Item = (usize, mir::ir::SymbolRef, i64, u64)> + '_ {
        self.constants
            .iter()
            .flat_map(|(slot, c)| c.symbols.iter().map(|&(w, s, o, m)| (*slot as usize + w, s, o, m)))
    }
}

/// Registers.
#[derive(Clone, Debug, Default)]
pub struct Regs {
    /// Values.
    pub v: Vec<Lanes>,
    /// Undefined bits; meaningful in the lanes of `any`.
    u: Vec<Lanes>,
    /// Lanes that may have undefined bits.
    any: Vec<u64>,
}

impl Regs {
    /// Registers for `flat` that hold its constants.
    pub fn new(flat: &Flat) -> Self {
        let mut this = Self {
            v: vec![[0; MAX_LANES]; flat.words],
            u: vec![[0; MAX_LANES]; flat.words],
            any: vec![0; flat.words],
        };
        for (slot, constant) in &flat.constants {
            for (i, &(value, undef)) in constant.words.iter().enumerate() {
                let at = *slot as usize + i;
                this.v[at] = [value; MAX_LANES];
                this.set_undef(at, u64::MAX, undef);
            }
        }
        this
    }

    /// Undefined bits of word `at` in `lane`.
    #[inline]
    pub fn undef(&self, at: usize, lane: usize) -> u64 {
        if self.any[at] >> lane & 1 == 0 { 0 } else { self.u[at][lane] }
    }

    /// Lanes of word `at` that may have undefined bits.
    #[inline]
    pub fn any(&self, at: usize) -> u64 {
        self.any[at]
    }

    /// Writes defined values to the lanes of `mask`.
    #[inline]
    pub fn write(&mut self, at: usize, mask: u64, value: &Lanes) {
        let dst = &mut self.v[at];
        if mask == u64::MAX {
            *dst = *value;
        } else {
            for l in 0..MAX_LANES {
                let m = 0u64.wrapping_sub(mask >> l & 1);
                dst[l] = dst[l] & !m | value[l] & m;
            }
        }
        self.any[at] &= !mask;
    }

    /// Writes one lane.
    #[inline]
    pub fn write_lane(&mut self, at: usize, lane: usize, value: u64, undef: u64) {
        self.v[at][lane] = value;
        self.u[at][lane] = undef;
        let bit = 1 << lane;
        if undef == 0 {
            self.any[at] &= !bit;
        } else {
            self.any[at] |= bit;
        }
    }

    /// Makes the bits `undef` undefined in the lanes of `mask`, and no others.
    pub fn set_undef(&mut self, at: usize, mask: u64, undef: u64) {
        if undef == 0 {
            self.any[at] &= !mask;
            return;
        }
        lanes(mask).for_each(|l| self.u[at][l] = undef);
        self.any[at] |= mask;
    }

    /// Makes the bits `undef` undefined in the lanes of `mask`, of which there may be none.
    #[inline]
    pub fn set_undef_in(&mut self, at: usize, mask: u64, undef: u64) {
        if mask != 0 {
            self.set_undef(at, mask, undef);
        }
    }

    /// Copies `count` words from `src` to `dst` in the lanes of `mask`.
    pub fn copy(&mut self, dst: usize, src: usize, count: usize, mask: u64) {
        for i in 0..count {
            let (value, any) = (self.v[src + i], self.any[src + i] & mask);
            let undef = (any != 0).then(|| self.u[src + i]);
            self.write(dst + i, mask, &value);
            if let Some(undef) = undef {
                lanes(any).for_each(|l| self.u[dst + i][l] = undef[l]);
                self.any[dst + i] |= any;
            }
        }
    }

    /// Copies `count` words from other registers.
    pub fn copy_from(&mut self, dst: usize, other: &Self, src: usize, count: usize, mask: u64) {
        for i in 0..count {
            self.write(dst + i, mask, &other.v[src + i]);
            let any = other.any[src + i] & mask;
            lanes(any).for_each(|l| self.u[dst + i][l] = other.u[src + i][l]);
            self.any[dst + i] |= any;
        }
    }

    /// Takes out `count` words from `at`, to put them elsewhere.
    pub fn save(&self, at: usize, count: usize, out: &mut Self) {
        out.v.extend_from_slice(&self.v[at..at + count]);
        out.u.extend_from_slice(&self.u[at..at + count]);
        out.any.extend_from_slice(&self.any[at..at + count]);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.v.clear();
        self.u.clear();
        self.any.clear();
    }
}
