//! Instructions as the model sees them, each made once: which unit takes it for how long, what it waits for and counts in.

use super::record::{accesses, jumps};
use super::report::{Stall, Traffic};
use crate::program::{Class, MemKind, Op, Program};
use crate::strict::waits::RegRange;
use mir::isa::facts::{Implicit, Rate};
use mir::isa::{Opcode, Unit};
use mir::machine::{ModFlags, PReg};
use mir::target::{Counter, Features, Target, WaitCounts};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Kinds of instructions of which a SIMD issues one in its turn. Source: AMD, "AMD Graphics Core Next", AFDS 2011: vector ALU; scalar ALU
/// or scalar memory; vector memory; LDS; export or GDS; branch or message; internal ones besides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// Vector ALU.
    Valu,
    /// Scalar ALU and scalar memory.
    Scalar,
    /// Vector memory.
    Vmem,
    /// LDS.
    Lds,
    /// Exports, GDS, global wave sync.
    Export,
    /// Branches and messages.
    Branch,
    /// What the wave's instruction buffer does by itself: waits, NOPs, barriers, priorities, the end.
    Internal,
}

impl Kind {
    /// Number of kinds.
    pub const COUNT: usize = 7;
}

/// What an instruction does besides taking a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Nothing that the model follows.
    None,
    /// Waits for counters.
    Wait(WaitCounts),
    /// Lets so many cycles go by.
    Idle(u32),
    /// Waits for the other waves of the work-group.
    Barrier,
    /// Sets the priority.
    Priority(u8),
    /// Ends the wave.
    End,
    /// A message.
    Message,
    /// Global wave sync, or another access of GDS.
    Gds,
    /// Scalar memory: loads, stores and atomics.
    Scalar(Memory),
    /// Invalidates the scalar cache.
    ScalarInvalidate,
    /// LDS.
    Lds,
    /// Vector memory; generic accesses count as LDS, too.
    Vector(Memory),
    /// Invalidates the vector L1.
    VectorInvalidate,
}

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    /// Writes.
    pub store: bool,
    /// Reads and writes at the L2.
    pub atomic: bool,
    /// Passes over the L1.
    pub coherent: bool,
    /// Generic addresses: counts in lgkmcnt as well.
    pub generic: bool,
    /// Data of stores are read late and counted in expcnt.
    pub late: bool,
    /// The counter of vector memory that it is in.
    pub counter: Counter,
    /// Bytes of an element.
    pub bytes: u16,
}

/// What the model counts of an instruction.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Times issued.
    pub issued: u64,
    /// Cycles of waves from the issue of the instruction before to the issue of the next.
    pub cycles: u64,
    /// Of these the ones lost, by reason.
    pub stalls: [u64; Stall::COUNT],
    /// What accesses took.
    pub traffic: Traffic,
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Static {
    /// Address in bytes from the image's start.
    pub pc: u64,
    /// Bytes.
    pub size: u8,
    /// Kind.
    pub kind: Kind,
    /// Cycles of its unit.
    pub cycles: u8,
    /// Cycles for which vector instructions of other kinds cannot be issued.
    pub issue: u8,
    /// Cycles from issue until its result can be read by others than scalar instructions.
    pub result: u8,
    /// Whether it is on a unit of its own beside the vector ALU.
    pub trans: bool,
    /// Whether it may jump.
    pub jumps: bool,
    /// Whether the trace has an access for it.
    pub accesses: bool,
    /// What it does.
    pub action: Action,
    /// Index of the next one in the code, once known.
    pub next: Option<u32>,
    /// Scalar registers that it has to wait for: those that a scalar instruction reads, and where results are late any.
    pub scalar_reads: SmallVec<[RegRange; 4]>,
    /// Scalar registers that a vector instruction writes, and where its results are late a scalar one, SCC among them.
    pub scalar_writes: SmallVec<[RegRange; 2]>,
    /// VGPRs that an instruction reads and has to wait for: of another unit than the vector ALU, and where results are late any.
    pub vector_reads: SmallVec<[RegRange; 2]>,
    /// VGPRs that the vector ALU writes.
    pub vector_writes: SmallVec<[RegRange; 2]>,
    /// What was counted.
    pub counts: Counts,
}

fn kind(op: &Op) -> Kind {
    use Opcode::*;
    match op.class {
        Class::Valu | Class::Compare(_) | Class::CompareClass | Class::Lane => Kind::Valu,
        Class::Smem | Class::Salu => Kind::Scalar,
        Class::Lds if op.inst.is_gds() => Kind::Export,
        Class::Lds => Kind::Lds,
        Class::Buffer | Class::Image | Class::Flat => Kind::Vmem,
        Class::Special | Class::Unsupported => match op.inst.op {
            S_NOP
            | S_WAITCNT
            | S_WAITCNT_VSCNT
            | S_WAITCNT_VMCNT
            | S_WAITCNT_EXPCNT
            | S_WAITCNT_LGKMCNT
            | S_WAITCNT_DEPCTR
            | S_CLAUSE
            | S_INST_PREFETCH
            | S_BARRIER
            | S_SLEEP
            | S_SETPRIO
            | S_SETHALT
            | S_WAKEUP
            | S_SETKILL
            | S_ICACHE_INV
            | S_INCPERFLEVEL
            | S_DECPERFLEVEL
            | S_TTRACEDATA
            | S_ENDPGM
            | S_ENDPGM_SAVED
            | S_ENDPGM_ORDERED_PS_DONE => Kind::Internal,
            other if other.facts().unit == Unit::Control => Kind::Branch,
            _ => Kind::Scalar,
        },
    }
}

fn memory(op: &Op, target: &Target) -> Option<Memory> {
    let mem = op.mem?;
    let kind = mem.kind;
    let atomic = matches!(kind, MemKind::Atomic(_));
    let store = kind == MemKind::Store;
    let apart = !op.returns() && target.waits().max()[Counter::Vs] != 0;
    Some(Memory {
        counter: if apart { Counter::Vs } else { Counter::Vm },
        store,
        atomic,
        coherent: op.inst.mods.flags.contains(ModFlags::GLC),
        generic: op.class == Class::Flat && op.is_generic(),
        late: (store || atomic) && target.has(Features::STORES_READ_LATE),
        bytes: mem.bytes as u16,
    })
}

fn action(op: &Op, target: &Target, turn: u32) -> Action {
    use Opcode::*;
    let none = op.mem.is_some_and(|mem| mem.kind == MemKind::None);
    if let Some(counts) = target.waits().waited_for(&op.inst) {
        return Action::Wait(counts);
    }
    match op.inst.op {
        // The wave issues nothing for so many turns; the last one is the instruction's own.
        S_NOP => Action::Idle((op.imm as u32 & 15) * turn),
        S_SLEEP => Action::Idle(64 * (op.imm as u32 & 0x7f)),
        S_SETPRIO => Action::Priority((op.imm & 3) as u8),
        S_BARRIER => Action::Barrier,
        S_ENDPGM | S_ENDPGM_SAVED | S_ENDPGM_ORDERED_PS_DONE => Action::End,
        S_SENDMSG | S_SENDMSGHALT => Action::Message,
        S_DCACHE_INV | S_DCACHE_INV_VOL => Action::ScalarInvalidate,
        _ => match op.class {
            Class::Smem => memory(op, target).map_or(Action::None, Action::Scalar),
            Class::Lds if op.inst.is_gds() => Action::Gds,
            Class::Lds => Action::Lds,
            Class::Buffer if none => Action::VectorInvalidate,
            Class::Buffer | Class::Image | Class::Flat => {
                memory(op, target).map_or(Action::None, Action::Vector)
            }
            _ => Action::None,
        },
    }
}

impl Static {
    fn new(op: &Op, pc: u64, target: &Target) -> Self {
        let kind = kind(op);
        let of = |ranges: &[RegRange], vector: bool| -> SmallVec<[RegRange; 4]> {
            let wanted = |r: &&RegRange| PReg(r.first).vgpr_index().is_some() == vector;
            ranges.iter().filter(wanted).copied().collect()
        };
        let valu = kind == Kind::Valu;
        let scalar = matches!(kind, Kind::Scalar | Kind::Branch);
        let timing = target.timing();
        // Whether results are later than their unit is free.
        let (late, late_scalar) = (timing.alu.results.full > 0, timing.alu.results.scalar > 0);
        let facts = op.inst.facts();
        let salu = op.class == Class::Salu;
        let keep = |keep: bool, ranges: &[RegRange], vector| match keep {
            true => of(ranges, vector),
            false => SmallVec::new(),
        };
        let mut scalar_reads: SmallVec<[RegRange; 4]> = keep(scalar || late, &op.reads, false);
        let mut scalar_writes: SmallVec<[RegRange; 2]> =
            keep(valu || late_scalar && salu, &op.writes, false).into_iter().collect();
        if late_scalar {
            let scc = RegRange { first: PReg::SCC.0, len: 1 };
            if facts.implicit.contains(Implicit::SCC_USE) {
                scalar_reads.push(scc);
            }
            if facts.implicit.contains(Implicit::SCC_DEF) {
                scalar_writes.push(scc);
            }
        }
        Self {
            pc,
            size: op.size,
            kind,
            cycles: op.cycles,
            issue: facts.rate.issue_cycles(target),
            result: if salu { timing.alu.results.scalar } else { facts.rate.result_cycles(target) },
            trans: timing.alu.trans_apart && matches!(facts.rate, Rate::Trans | Rate::DoubleTrans),
            jumps: jumps(op.inst.op),
            accesses: accesses(op.class),
            action: action(op, target, timing.front.turn.into()),
            next: None,
            scalar_reads,
            scalar_writes,
            vector_reads: keep(!valu || late, &op.reads, true).into_iter().collect(),
            vector_writes: keep(valu, &op.writes, true).into_iter().collect(),
            counts: Counts::default(),
        }
    }
}

/// The instructions that waves have come to.
#[derive(Debug, Default)]
pub struct Code {
    /// In the order in which they were first reached.
    pub list: Vec<Static>,
    by_pc: FxHashMap<u64, u32>,
}

impl Code {
    /// The index of the instruction at `pc`; `None` where there is none.
    pub fn at(&mut self, pc: u64, program: &Program) -> Option<u32> {
        if let Some(&index) = self.by_pc.get(&pc) {
            return Some(index);
        }
        let op = program.op(pc).ok()?;
        let index = self.list.len() as u32;
        self.list.push(Static::new(op, pc, program.target()));
        self.by_pc.insert(pc, index);
        Some(index)
    }

    /// The one behind instruction `index` in the code.
    pub fn behind(&mut self, index: u32, program: &Program) -> Option<u32> {
        let here = self.list.get(index as usize)?;
        if here.next.is_some() {
            return here.next;
        }
        let next = self.at(here.pc + u64::from(here.size), program)?;
        self.list[index as usize].next = Some(next);
        Some(next)
    }
}
