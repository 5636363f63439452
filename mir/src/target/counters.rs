//! The counters of operations under way: which a generation has, what each counts, and which instructions wait on them.
//!
//! An operation that goes on after its instruction is an *event* of a [`EventKind`]; a generation counts each kind that it knows in one
//! counter. A counter is waited on in a field of the immediate of `s_waitcnt`, by an instruction of its own (`s_waitcnt_vscnt`), or by either.
//! A counter that the generation lacks is always 0, and so is its maximum, which waits for nothing.
//!
//! | | vmcnt | expcnt | lgkmcnt | vscnt |
//! |---|---|---|---|---|
//! | GFX6-8 | bits 3:0 | bits 6:4 | bits 11:8 | |
//! | GFX9 | bits 15:14 and 3:0 | bits 6:4 | bits 11:8 | |
//! | GFX10 | bits 15:14 and 3:0 | bits 6:4 | bits 13:8 | by `s_waitcnt_vscnt` alone |
//!
//! Sources: the ISA manuals, "S_WAITCNT" and "Data dependency resolution"; RDNA 1.0 ISA, "Manually inserted wait states" and the SOPK opcodes for
//! GFX10; AMDGPU usage guide, "Memory Model" for the order of FLAT. GFX6-7 have four bits of lgkmcnt: ERRATA E1.

use super::{Generation, Target};
use crate::isa::Opcode;
use crate::machine::{Inst, Operand, PReg};

/// A counter that can be waited on. The order is that of the assembly text of `s_waitcnt`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Counter {
    /// Vector memory; from GFX10 on loads, and atomics that return.
    Vm,
    /// Exports, GDS, and on GFX6 stores' data.
    Exp,
    /// LDS, GDS, scalar memory and messages.
    Lgkm,
    /// Vector memory stores, and atomics that return nothing.
    Vs,
}

impl Counter {
    /// Number of counters.
    pub const COUNT: usize = 4;
    /// All counters in the order of their discriminants.
    pub const ALL: [Self; Self::COUNT] = [Self::Vm, Self::Exp, Self::Lgkm, Self::Vs];

    /// The name in assembly.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vm => "vmcnt",
            Self::Exp => "expcnt",
            Self::Lgkm => "lgkmcnt",
            Self::Vs => "vscnt",
        }
    }

    /// The instruction that waits on this counter alone; generations that have it are in its row.
    pub const fn own_wait(self) -> Opcode {
        match self {
            Self::Vm => Opcode::S_WAITCNT_VMCNT,
            Self::Exp => Opcode::S_WAITCNT_EXPCNT,
            Self::Lgkm => Opcode::S_WAITCNT_LGKMCNT,
            Self::Vs => Opcode::S_WAITCNT_VSCNT,
        }
    }
}

/// A kind of operation that is under way after its instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum EventKind {
    /// Vector memory that has no kind of its own on the generation.
    Vmem,
    /// Images through a sampler, where they return in another order than loads.
    Sampled,
    /// Rays through trees of boxes and triangles, likewise.
    Ray,
    /// Vector memory without result, where it is counted apart.
    Store,
    /// FLAT, as vector memory.
    FlatVm,
    /// FLAT without result, where that is counted apart.
    FlatStore,
    /// LDS.
    Lds,
    /// GDS.
    Gds,
    /// Scalar memory.
    Smem,
    /// Messages.
    Message,
    /// FLAT, as LDS.
    FlatLgkm,
    /// Exports.
    Export,
    /// Data of GDS operations and of stores that read them late.
    Data,
}

impl EventKind {
    /// Number of kinds.
    pub const COUNT: usize = 13;
    /// All kinds in the order of their discriminants.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Vmem,
        Self::Sampled,
        Self::Ray,
        Self::Store,
        Self::FlatVm,
        Self::FlatStore,
        Self::Lds,
        Self::Gds,
        Self::Smem,
        Self::Message,
        Self::FlatLgkm,
        Self::Export,
        Self::Data,
    ];
}

/// Outstanding operations allowed by a wait, by counter; a counter's maximum waits for nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WaitCounts([u8; Counter::COUNT]);

impl WaitCounts {
    /// Waits for everything.
    pub const ZERO: Self = Self([0; Counter::COUNT]);

    /// What both waits together wait for.
    pub fn min(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i].min(other.0[i])))
    }

    /// The same with `count` for `counter`.
    pub const fn with(mut self, counter: Counter, count: u8) -> Self {
        self.0[counter as usize] = count;
        self
    }

    /// The counts by the discriminants of [`Counter`].
    pub const fn by_counter(self) -> [u8; Counter::COUNT] {
        self.0
    }

    /// Each counter with its count.
    pub fn iter(self) -> impl Iterator<Item = (Counter, u8)> {
        Counter::ALL.into_iter().zip(self.0)
    }
}

impl From<[u8; Counter::COUNT]> for WaitCounts {
    fn from(counts: [u8; Counter::COUNT]) -> Self {
        Self(counts)
    }
}

impl std::ops::Index<Counter> for WaitCounts {
    type Output = u8;

    fn index(&self, counter: Counter) -> &u8 {
        &self.0[counter as usize]
    }
}

/// Bits of an immediate: first one and number.
type Bits = (u8, u8);

/// One counter of a generation.
#[derive(Clone, Copy, Debug)]
struct CounterRow {
    counter: Counter,
    /// The largest count that a wait can name.
    max: u8,
    /// Where `s_waitcnt` has it: low and high part.
    field: Option<[Bits; 2]>,
    /// Kinds that finish oldest first, each in an order of its own.
    in_order: &'static [EventKind],
    /// Kinds that finish in any order.
    any_order: &'static [EventKind],
}

/// The counters of a generation.
#[derive(Clone, Debug)]
pub struct WaitModel {
    /// Rows of the generation.
    rows: &'static [CounterRow],
    max: WaitCounts,
    /// Counter, and whether it finishes oldest first, by [`EventKind`]; `None` where instructions never are of that kind.
    kinds: [Option<(Counter, bool)>; EventKind::COUNT],
    /// Whether [`Counter::own_wait`] exists.
    own_waits: bool,
}

use EventKind as E;

const fn row(counter: Counter, max: u8, low: Bits, high: Bits) -> CounterRow {
    CounterRow { counter, max, field: Some([low, high]), in_order: &[], any_order: &[] }
}

const VM_6: CounterRow =
    CounterRow { in_order: &[E::Vmem], any_order: &[E::FlatVm], ..row(Counter::Vm, 15, (0, 4), (14, 0)) };
const VM_9: CounterRow = CounterRow { max: 63, field: Some([(0, 4), (14, 2)]), ..VM_6 };
/// Loads return in order, samples do, and rays, but not with each other (ACO, "vmem types"; LLVM's wait insertion).
const VM_10: CounterRow = CounterRow { in_order: &[E::Vmem, E::Sampled, E::Ray], ..VM_9 };
const EXP: CounterRow =
    CounterRow { any_order: &[E::Export, E::Data], ..row(Counter::Exp, 7, (4, 3), (0, 0)) };
const LGKM_6: CounterRow = CounterRow {
    in_order: &[E::Lds, E::Gds],
    any_order: &[E::Smem, E::Message, E::FlatLgkm],
    ..row(Counter::Lgkm, 15, (8, 4), (0, 0))
};
const LGKM_10: CounterRow = CounterRow { max: 63, field: Some([(8, 6), (0, 0)]), ..LGKM_6 };
const VS_10: CounterRow = CounterRow {
    counter: Counter::Vs,
    max: 63,
    field: None,
    in_order: &[E::Store],
    any_order: &[E::FlatStore],
};

const GFX6: WaitModel = WaitModel::new(&[VM_6, EXP, LGKM_6], false);
const GFX9: WaitModel = WaitModel::new(&[VM_9, EXP, LGKM_6], false);
const GFX10: WaitModel = WaitModel::new(&[VM_10, EXP, LGKM_10, VS_10], true);

static MODELS: [WaitModel; Generation::COUNT] = [GFX6, GFX6, GFX6, GFX9, GFX10];

const fn ones(width: u8) -> u16 {
    (1 << width) - 1
}

impl WaitModel {
    const fn new(rows: &'static [CounterRow], own_waits: bool) -> Self {
        let mut max = WaitCounts::ZERO;
        let mut kinds = [None; EventKind::COUNT];
        let mut i = 0;
        while i < rows.len() {
            let row = &rows[i];
            max = max.with(row.counter, row.max);
            let mut k = 0;
            while k < row.in_order.len() {
                kinds[row.in_order[k] as usize] = Some((row.counter, true));
                k += 1;
            }
            k = 0;
            while k < row.any_order.len() {
                kinds[row.any_order[k] as usize] = Some((row.counter, false));
                k += 1;
            }
            i += 1;
        }
        Self { rows, max, kinds, own_waits }
    }

    /// The largest value of each counter, which waits for nothing; 0 of one that does not exist.
    #[inline]
    pub const fn max(&self) -> WaitCounts {
        self.max
    }

    /// The counter in which operations of `kind` are counted, and whether they finish oldest first. `None`: the generation does not tell the kind
    /// apart, or lacks such instructions.
    #[inline]
    pub const fn kind(&self, kind: EventKind) -> Option<(Counter, bool)> {
        self.kinds[kind as usize]
    }

    /// `kind` where the generation counts it apart, else `otherwise`.
    #[inline]
    pub const fn finest(&self, kind: EventKind, otherwise: EventKind) -> EventKind {
        if self.kinds[kind as usize].is_some() { kind } else { otherwise }
    }

    /// The counters that `s_waitcnt` has a field for, in the order of the text.
    pub fn fields(&self) -> impl Iterator<Item = Counter> {
        self.rows.iter().filter(|row| row.field.is_some()).map(|row| row.counter)
    }

    /// The immediate of `s_waitcnt` for those of `counts` that it has fields for; counts beyond the maximum become the maximum.
    pub fn encode(&self, counts: WaitCounts) -> u16 {
        let counts = counts.min(self.max);
        let field = |row: &CounterRow| {
            let [(low, width), (high, _)] = row.field?;
            let count = u16::from(counts[row.counter]);
            Some((count & ones(width)) << low | (count >> width) << high)
        };
        self.rows.iter().filter_map(field).fold(0, |imm, bits| imm | bits)
    }

    /// What `s_waitcnt imm` waits for; other bits are ignored.
    pub fn decode(&self, imm: u16) -> WaitCounts {
        let mut counts = self.max;
        for row in self.rows {
            if let Some([low, high]) = row.field {
                let part = |(pos, width): Bits| imm >> pos & ones(width);
                counts = counts.with(row.counter, (part(low) | part(high) << low.1) as u8);
            }
        }
        counts
    }

    /// The instructions that wait for `counts`, none where that is nothing: `s_waitcnt`, and one for each counter without a field there.
    pub fn instructions(&self, counts: WaitCounts) -> impl Iterator<Item = Inst> {
        let counts = counts.min(self.max);
        let waited = move |row: &&CounterRow| counts[row.counter] < self.max[row.counter];
        let together = self.rows.iter().filter(waited).any(|row| row.field.is_some());
        let imm = Operand::Imm(self.encode(counts).into());
        let together = together.then(|| Inst::new(Opcode::S_WAITCNT, [imm]));
        let apart = self.rows.iter().filter(waited).filter(|row| row.field.is_none()).map(move |row| {
            let count = Operand::Imm(counts[row.counter].into());
            Inst::new(row.counter.own_wait(), [Operand::preg(PReg::NULL, 1), count])
        });
        together.into_iter().chain(apart)
    }

    /// What `inst` waits for, where it is nothing but a wait.
    #[inline]
    pub fn waited_for(&self, inst: &Inst) -> Option<WaitCounts> {
        if inst.op == Opcode::S_WAITCNT {
            return inst.operands.first()?.as_imm().map(|imm| self.decode(imm as u16));
        }
        if self.own_waits { self.waited_for_apart(inst) } else { None }
    }

    /// The count of an instruction for one counter; with a register it is known only when the instruction runs.
    fn waited_for_apart(&self, inst: &Inst) -> Option<WaitCounts> {
        let counter = Counter::ALL.into_iter().find(|counter| counter.own_wait() == inst.op)?;
        match inst.operands.as_slice() {
            [register, Operand::Imm(count)] if *register == Operand::preg(PReg::NULL, 1) => {
                let count = u8::try_from(*count).unwrap_or(u8::MAX);
                Some(self.max.with(counter, count.min(self.max[counter])))
            }
            _ => None,
        }
    }
}

impl Generation {
    /// The counters of operations under way.
    #[inline]
    pub fn waits(self) -> &'static WaitModel {
        &MODELS[self as usize]
    }
}

impl Target {
    /// The counters of operations under way.
    #[inline]
    pub fn waits(&self) -> &'static WaitModel {
        self.generation().waits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(vm: u8, exp: u8, lgkm: u8, vs: u8) -> WaitCounts {
        WaitCounts::from([vm, exp, lgkm, vs])
    }

    #[test]
    fn every_count_survives() {
        for model in &MODELS {
            let max = model.max();
            for vm in 0..=max[Counter::Vm] {
                for exp in 0..=max[Counter::Exp] {
                    for lgkm in 0..=max[Counter::Lgkm] {
                        let counts = counts(vm, exp, lgkm, max[Counter::Vs]);
                        assert_eq!(model.decode(model.encode(counts)), counts);
                    }
                }
            }
        }
    }

    /// Values of llvm-mc 22.
    #[test]
    fn known_immediates() {
        let gfx9 = &MODELS[Generation::Gfx9 as usize];
        assert_eq!(gfx9.encode(counts(0, 7, 15, 0)), 0x0f70);
        assert_eq!(gfx9.encode(counts(63, 7, 0, 0)), 0xc07f);
        assert_eq!(MODELS[Generation::Gfx8 as usize].encode(counts(63, 7, 0, 0)), 0x007f);
        let gfx10 = &MODELS[Generation::Gfx10 as usize];
        assert_eq!(gfx10.encode(counts(0, 7, 63, 63)), 0x3f70);
        assert_eq!(gfx10.encode(counts(63, 7, 0, 63)), 0xc07f);
        assert_eq!(gfx10.encode(counts(3, 2, 33, 63)), 0x2123);
    }

    /// What each instruction waits for, merged, is what the instructions were made for.
    #[test]
    fn waits_are_made_and_read() {
        for model in &MODELS {
            let max = model.max();
            let (vm, vs) = (max.with(Counter::Vm, 2), max.with(Counter::Vs, 0));
            for wanted in [max, vm, vs, vm.min(vs), WaitCounts::ZERO] {
                let made: Vec<Inst> = model.instructions(wanted).collect();
                let waits = made.iter().map(|inst| model.waited_for(inst).expect("a wait"));
                assert_eq!(waits.fold(max, WaitCounts::min), wanted);
                assert_eq!(made.is_empty(), wanted == max);
            }
        }
        let gfx10 = &MODELS[Generation::Gfx10 as usize];
        let made = |counts| gfx10.instructions(counts).map(|inst| inst.op).collect::<Vec<_>>();
        let max = gfx10.max();
        assert_eq!(made(max.with(Counter::Vs, 3)), [Opcode::S_WAITCNT_VSCNT]);
        assert_eq!(made(max.with(Counter::Lgkm, 3)), [Opcode::S_WAITCNT]);
        assert_eq!(made(WaitCounts::ZERO), [Opcode::S_WAITCNT, Opcode::S_WAITCNT_VSCNT]);
    }

    /// `s_waitcnt_vmcnt` names a counter that has a field too; with a register its count is not known.
    #[test]
    fn waits_for_one_counter() {
        let gfx10 = &MODELS[Generation::Gfx10 as usize];
        let wait = |register, count| {
            let operands = [Operand::preg(register, 1), Operand::Imm(count)];
            gfx10.waited_for(&Inst::new(Opcode::S_WAITCNT_VMCNT, operands))
        };
        assert_eq!(wait(PReg::NULL, 5), Some(gfx10.max().with(Counter::Vm, 5)));
        assert_eq!(wait(PReg::NULL, 1000), Some(gfx10.max()));
        assert_eq!(wait(PReg::sgpr(3), 5), None);
        let gfx9 = &MODELS[Generation::Gfx9 as usize];
        assert!(Counter::ALL.iter().all(|c| gfx9.waited_for(&Inst::new(c.own_wait(), [])).is_none()));
    }

    /// Stores and samples are apart on GFX10 alone, and every kind that a generation tells apart is counted where it should be.
    #[test]
    fn kinds_have_counters() {
        for generation in Generation::ALL {
            let model = &MODELS[generation as usize];
            let apart = generation == Generation::Gfx10;
            assert_eq!(model.kind(E::Vmem), Some((Counter::Vm, true)));
            assert_eq!(model.kind(E::Smem), Some((Counter::Lgkm, false)));
            assert_eq!(model.kind(E::Store), apart.then_some((Counter::Vs, true)));
            assert_eq!(model.kind(E::FlatStore), apart.then_some((Counter::Vs, false)));
            assert_eq!(model.kind(E::Sampled), apart.then_some((Counter::Vm, true)));
            assert_eq!(model.kind(E::Ray), apart.then_some((Counter::Vm, true)));
            assert_eq!(model.finest(E::Store, E::Vmem), if apart { E::Store } else { E::Vmem });
        }
    }
}
