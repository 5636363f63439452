//! Scheduling behind allocation: the same with physical registers, which are in the way where two values share one.
//!
//! Each access of a dword has an edge to the last write of it, and each read one more to the next write. So all writes of a register
//! keep their order, which they must: in lanes that are not active an earlier one shows.

use crate::before::apply;
use crate::effects::Effects;
use crate::graph::{Graph, MemoryOrder, NONE, Unit};
use crate::latency;
use crate::list::{Scheduler, Unlimited};
use mir::Result;
use mir::isa::{Implicit, Role, Unit as ExecutingUnit};
use mir::machine::{Function, Inst, PReg, Reg, RegOperand};
use mir::target::{Counter, Features, Target};
use std::ops::Range;

/// Orders the instructions of each block of `f`, whose registers are physical, so that latencies are hidden.
///
/// # Errors
/// A defect where the result is not what it was made from, if `verify` asks for the check.
pub fn schedule_allocated(f: &mut Function, target: &Target, verify: bool) -> Result<()> {
    let late = |inst: &Inst| latency::waits_for(inst, target);
    let mut pass = Pass::new(f, target);
    let (mut scheduler, mut order) = (Scheduler::new(target), Vec::new());
    for i in 0..f.layout.len() {
        let block = f.layout[i];
        let insts = &f.blocks[block].insts;
        if !insts.iter().any(late) {
            continue;
        }
        order.clear();
        pass.effects.clear();
        pass.effects.extend(insts.iter().map(|inst| Effects::of(inst, target)));
        let mut start = 0;
        while start < insts.len() {
            let end = (start..insts.len()).find(|&k| pass.effects[k].wall).unwrap_or(insts.len());
            pass.region(insts, start..end, &mut scheduler, &mut order);
            if end < insts.len() {
                order.push(end as u32);
            }
            start = end + 1;
        }
        if order.windows(2).any(|pair| pair[0] > pair[1]) {
            apply(f, block, &mut order, target, verify)?;
        }
    }
    Ok(())
}

/// The mask of lanes and MODE: walls write them.
const ORDERED: Implicit =
    Implicit::EXEC_USE.union(Implicit::EXEC_DEF).union(Implicit::MODE_USE).union(Implicit::MODE_DEF);

/// Numbers of physical registers are below this.
const REGISTERS: usize = 768;

/// What a region has done to a dword so far.
#[derive(Clone, Copy, Debug)]
struct State {
    /// The region for which the rest counts.
    region: u32,
    writer: u32,
    /// The last read since then, an index into [`Pass::readers`].
    reader: u32,
}

struct Pass<'a> {
    target: &'a Target,
    wave: mir::target::WaveSize,
    /// Whether accesses of LDS read their limit in M0.
    limited: bool,
    effects: Vec<Effects>,
    graph: Graph,
    memory: MemoryOrder,
    states: Vec<State>,
    /// A unit that reads a dword, and the read before.
    readers: Vec<(u32, u32)>,
    /// Cycles to the result of each unit of the region.
    results: Vec<u32>,
    region: u32,
}

impl<'a> Pass<'a> {
    fn new(f: &Function, target: &'a Target) -> Self {
        Self {
            target,
            wave: f.wave,
            limited: !target.has(Features::LDS_NO_M0),
            effects: Vec::new(),
            graph: Graph::default(),
            memory: MemoryOrder::default(),
            states: vec![State { region: NONE, writer: NONE, reader: NONE }; REGISTERS],
            readers: Vec::new(),
            results: Vec::new(),
            region: 0,
        }
    }

    /// Appends the instructions of a region to `order`.
    fn region(
        &mut self,
        insts: &[Inst],
        range: Range<usize>,
        scheduler: &mut Scheduler,
        order: &mut Vec<u32>,
    ) {
        let late = |k: usize| latency::waits_for(&insts[k], self.target);
        if range.len() < 3 || !range.clone().any(late) {
            order.extend(range.start as u32..range.end as u32);
            return;
        }
        self.region += 1;
        self.graph.clear();
        self.memory.clear();
        self.readers.clear();
        self.results.clear();
        for k in range.clone() {
            let issue = latency::issue(&insts[k], self.target);
            let late = self.effects[k].late;
            let unordered = late && insts[k].facts().unit == ExecutingUnit::Smem;
            let unit = Unit { start: k as u32, issue, late, unordered, ..Unit::default() };
            self.graph.add(unit);
            self.results.push(latency::result(&insts[k], self.target));
        }
        for k in range.clone() {
            let unit = (k - range.start) as u32;
            self.registers(insts, range.start, unit);
            self.memory.access(unit, &self.effects[k], &mut self.graph);
        }
        if !self.graph.finish() {
            order.extend(range.start as u32..range.end as u32);
            return;
        }
        let most = usize::from(self.target.waits().max()[Counter::Vm]).saturating_sub(1).max(1);
        let start = range.start as u32;
        scheduler.run(&self.graph, &mut Unlimited, most);
        order.extend(scheduler.order().iter().map(|unit| start + unit));
    }

    /// Notes the registers of `unit`, reads first.
    fn registers(&mut self, insts: &[Inst], start: usize, unit: u32) {
        let inst = &insts[start + unit as usize];
        let row = inst.op.info().operands;
        let implicit = inst.facts().implicit.difference(ORDERED);
        let physical = |operand: &RegOperand| match operand.reg {
            // It says whether VCC is 0, and nobody writes it.
            Reg::Physical(PReg::VCCZ) => PReg::VCC_LO.0..PReg::VCC_HI.0 + 1,
            Reg::Physical(reg) => reg.0..reg.0 + u16::from(operand.dwords),
            Reg::Virtual(_) => 0..0,
        };
        let defs = inst.defs_end();
        for (k, operand) in inst.operands.iter().enumerate() {
            let Some(operand) = operand.as_reg() else { continue };
            if k >= defs || row.get(k).is_some_and(|desc| desc.role == Role::DefUse) {
                physical(operand).for_each(|n| self.read(insts, start, unit, n));
            }
        }
        for (first, dwords, _) in implicit.registers(self.wave).filter(|access| !access.2) {
            (first.0..first.0 + dwords).for_each(|n| self.read(insts, start, unit, n));
        }
        let of_m0 = inst.reads_m0() && !implicit.contains(Implicit::M0_USE);
        if of_m0 || self.limited && inst.needs_lds_limit() {
            self.read(insts, start, unit, PReg::M0.0);
        }
        for operand in inst.operands.iter().take(defs).filter_map(|operand| operand.as_reg()) {
            physical(operand).for_each(|n| self.write(unit, n));
        }
        for (first, dwords, _) in implicit.registers(self.wave).filter(|access| access.2) {
            (first.0..first.0 + dwords).for_each(|n| self.write(unit, n));
        }
    }

    fn state(&mut self, n: u16) -> Option<&mut State> {
        let region = self.region;
        let state = self.states.get_mut(usize::from(n))?;
        if state.region != region {
            *state = State { region, writer: NONE, reader: NONE };
        }
        Some(state)
    }

    fn read(&mut self, insts: &[Inst], start: usize, unit: u32, n: u16) {
        let next = self.readers.len() as u32;
        let Some(state) = self.state(n) else { return };
        let writer = state.writer;
        let before = std::mem::replace(&mut state.reader, next);
        self.readers.push((unit, before));
        if writer == NONE {
            return;
        }
        let result = self.results.get(writer as usize).copied().unwrap_or(0);
        let from = insts[start + writer as usize].facts().unit;
        let hazard = match (from, PReg(n).is_vgpr()) {
            (ExecutingUnit::Valu, true) => latency::across_lanes(&insts[start + unit as usize], self.target),
            (ExecutingUnit::Valu, false) => {
                latency::scalar_hazard(&insts[start + unit as usize], self.target)
            }
            _ => 0,
        };
        self.graph.data(writer, unit, result.max(hazard));
    }

    fn write(&mut self, unit: u32, n: u16) {
        let Some(state) = self.state(n) else { return };
        let writer = std::mem::replace(&mut state.writer, unit);
        let mut reader = std::mem::replace(&mut state.reader, NONE);
        if reader == NONE {
            self.graph.order(writer, unit);
        }
        // They come behind the last write themselves.
        while let Some(&(reading, before)) = self.readers.get(reader as usize) {
            self.graph.order(reading, unit);
            reader = before;
        }
    }
}
