//! Replaces virtual registers by the ones they were bound to and writes the moves that remain.
//!
//! Copies and `REG_SEQUENCE`s become parallel moves of the dwords that are not yet in place; tied operands
//! that are elsewhere are moved before their instruction, and the extra operands go; arguments move at the
//! places that [`crate::graph`] names; entry values move first of all. `IMPLICIT_DEF` disappears. Block
//! parameters and arguments are cleared.
//!
//! Cost: linear.

use crate::access::{self, VCC, preg};
use crate::graph::{Graph, Numbering, edges, params};
use crate::liveness::Kind;
use crate::liveness::Range;
use crate::moves::{Move, Scratch, Source, sequence};
use crate::occupancy::{Mask, Occupancy};
use crate::pack::UNBOUND;
use mir::isa::{Implicit, Opcode, OperandAccess};
use mir::machine::{Function, Inst, ModFlags, Operand, PReg, Reg, RegFile, RegOperand, VReg, VRegFlags};
use mir::target::Target;
use mir::{Diagnostic, Result};
use std::cell::RefCell;

/// A file after packing, for finding registers that are free at a point.
pub(crate) struct Bound<'a> {
    /// What is taken when; completed where somebody asks.
    pub occupancy: RefCell<&'a mut Occupancy>,
    pub allowed: Mask,
}

/// Moves for an instruction that runs with the lanes of a region run so too.
fn mark_lanes(inst: &Inst, moves: &mut [Inst]) {
    let flag = inst.mods.flags & ModFlags::OTHER_LANES;
    moves.iter_mut().for_each(|m| m.mods.flags |= flag);
}

/// Everything that rewriting reads.
pub(crate) struct Rewriter<'a> {
    pub target: &'a Target,
    pub numbering: &'a Numbering,
    pub wave: &'a Graph,
    pub thread: &'a Graph,
    /// First register of each virtual register, in its file; [`UNBOUND`] where it has none.
    pub reg_of: &'a [u16],
    pub sgprs: Bound<'a>,
    pub vgprs: Bound<'a>,
    /// Whether to tell what became of the code.
    pub traced: bool,
}

/// What became of a block, for the checker.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    /// For each new instruction its number in the old block; `None` for inserted ones.
    pub origin: Vec<Option<u32>>,
    /// What happened before the new instruction of that number, in order.
    pub events: Vec<(u32, Event)>,
}

/// Something of the old code that left no instruction of its own; its moves stand before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// Entry values are in place.
    Entry,
    /// A `COPY` or `REG_SEQUENCE` is done.
    Copy(u32),
    /// An `IMPLICIT_DEF`.
    Undefined(u32),
    /// Parameters of the block itself are passed (moves at its start).
    Start(RegFile),
    /// Parameters of the successor are passed (moves at the end).
    End(RegFile),
}

impl Rewriter<'_> {
    /// Rewrites `f`.
    pub fn run(&self, f: &mut Function) -> Result<Vec<Trace>> {
        let mut traces = Vec::with_capacity(self.numbering.order.len());
        for i in 0..self.numbering.order.len() {
            let old = std::mem::take(&mut f.blocks[self.numbering.order[i]].insts);
            let (insts, trace, head_len, tail_start) =
                self.block(f, i, old).map_err(|d| d.at(self.numbering.order[i]))?;
            let data = &mut f.blocks[self.numbering.order[i]];
            data.insts = insts;
            data.head_len = head_len;
            data.tail_start = tail_start;
            traces.push(trace);
        }
        for i in 0..self.numbering.order.len() {
            let data = &mut f.blocks[self.numbering.order[i]];
            data.vparams.clear();
            data.sparams.clear();
            data.thread_succs.iter_mut().chain(&mut data.wave_succs).for_each(|e| e.args.clear());
        }
        Ok(traces)
    }

    /// Block `i`, whose code is `insts`.
    fn block(&self, f: &Function, i: usize, insts: Vec<Inst>) -> Result<(Vec<Inst>, Trace, u32, u32)> {
        let data = &f.blocks[self.numbering.order[i]];
        let count = insts.len();
        let mut rest = insts.into_iter();
        let mut out = Vec::with_capacity(count + 4);
        let mut trace = Trace::default();
        let mut event = |out: &Vec<Inst>, what| {
            if self.traced {
                trace.events.push((out.len() as u32, what));
            }
        };
        let mut origin = Vec::new();
        let (mut head_len, mut tail_start) = (0, 0);
        if i == 0 {
            // Where the head sets the lanes of the program, values for all of them are moved behind it.
            if data.head_len == 0 {
                self.entry(f, |_| true, &mut out)?;
                event(&out, Event::Entry);
            } else {
                self.entry(f, |reg| !reg.is_vgpr(), &mut out)?;
            }
        }
        self.start_moves(f, i, RegFile::Sgpr, &mut out)?;
        event(&out, Event::Start(RegFile::Sgpr));
        for k in 0..=count {
            if k == data.head_len as usize {
                head_len = out.len() as u32;
                if i == 0 && k > 0 {
                    self.entry(f, PReg::is_vgpr, &mut out)?;
                    event(&out, Event::Entry);
                }
                self.start_moves(f, i, RegFile::Vgpr, &mut out)?;
                event(&out, Event::Start(RegFile::Vgpr));
            }
            if k == data.tail_start as usize {
                self.end_moves(f, i, RegFile::Vgpr, &mut out)?;
                event(&out, Event::End(RegFile::Vgpr));
                tail_start = out.len() as u32;
            }
            let Some(inst) = rest.as_mut_slice().first_mut() else { break };
            let is_copy = inst.op.is_copy();
            if inst.op == Opcode::IMPLICIT_DEF {
                event(&out, Event::Undefined(k as u32));
                rest.next();
                continue;
            }
            if !is_copy && inst.operands.len() <= inst.kept_operands() {
                // Nothing is tied, so each operand is replaced for itself.
                for operand in &mut inst.operands {
                    if let Operand::Reg(reg) = operand
                        && let Reg::Virtual(v) = reg.reg
                    {
                        (reg.reg, reg.sub) = (self.at(f, v, u16::from(reg.sub))?.into(), 0);
                    }
                }
                out.extend(rest.next());
            } else if let Some(inst) = rest.next() {
                self.inst(f, self.numbering.inst(i, k), &inst, rest.as_slice(), &mut out)?;
            }
            if is_copy {
                event(&out, Event::Copy(k as u32));
            } else if self.traced {
                origin.resize(out.len(), None);
                if let Some(last) = origin.last_mut() {
                    *last = Some(k as u32);
                }
            }
        }
        self.end_moves(f, i, RegFile::Sgpr, &mut out)?;
        event(&out, Event::End(RegFile::Sgpr));
        if self.traced {
            origin.resize(out.len(), None);
        }
        trace.origin = origin;
        Ok((out, trace, head_len, tail_start))
    }

    /// Entry values that are not bound to where the command processor puts them.
    fn entry(&self, f: &Function, concerns: impl Fn(PReg) -> bool, out: &mut Vec<Inst>) -> Result<()> {
        let mut moves = Vec::new();
        for (value, first, reg) in f.entry.registers().into_iter().filter(|(_, first, _)| concerns(*first)) {
            if let Some(v) = reg {
                // A move has the lanes of the entry alone.
                let in_all_lanes =
                    f.vregs[v].file == RegFile::Vgpr && f.vregs[v].flags.contains(VRegFlags::PINNED);
                if in_all_lanes && self.at(f, v, 0)? != first {
                    return Err(Diagnostic::unsupported(
                        "an argument whose inactive lanes are read, in another register",
                    ));
                }
                for d in 0..u16::from(value.dwords()) {
                    moves.push(Move { dst: self.at(f, v, d)?, src: Source::Reg(first.plus(d)) });
                }
            }
        }
        sequence(&moves, || self.entry_scratch(f), 0, out)
    }

    /// Free registers at the entry: the entry values are read by moves, bound or not.
    fn entry_scratch(&self, f: &Function) -> Scratch {
        let mut scratch = self.scratch(Range { start: 0, end: 2 }, true);
        let entry = f.entry.registers();
        for (value, first, _) in entry {
            let covers = |reg: Option<PReg>| {
                reg.is_some_and(|r| (first..first.plus(u16::from(value.dwords()))).contains(&r))
            };
            if covers(scratch.sgpr) {
                scratch.sgpr = Some(PReg::M0);
            }
            if covers(scratch.vgpr) {
                scratch.vgpr = None;
            }
        }
        scratch
    }

    fn start_moves(&self, f: &Function, i: usize, file: RegFile, out: &mut Vec<Inst>) -> Result<()> {
        let graph = self.graph(file);
        let data = &f.blocks[self.numbering.order[i]];
        let params = params(data, file);
        let [pred] = graph.preds(i) else { return Ok(()) };
        if params.is_empty() || graph.moves_in_pred(*pred as usize) {
            return Ok(());
        }
        let from = &f.blocks[self.numbering.order[*pred as usize]];
        for edge in edges(from, file).iter().filter(|e| e.block == self.numbering.order[i]) {
            let at = self.numbering.moves_at_start(i, data, file);
            self.pass(f, params, &edge.args, at, out)?;
        }
        Ok(())
    }

    fn end_moves(&self, f: &Function, i: usize, file: RegFile, out: &mut Vec<Inst>) -> Result<()> {
        if !self.graph(file).moves_in_pred(i) {
            return Ok(());
        }
        let data = &f.blocks[self.numbering.order[i]];
        for edge in edges(data, file) {
            let at = self.numbering.moves_at_end(i, data, file);
            self.pass(f, params(&f.blocks[edge.block], file), &edge.args, at, out)?;
        }
        Ok(())
    }

    /// Moves of an edge at position `at`.
    fn pass(&self, f: &Function, params: &[VReg], args: &[VReg], at: u32, out: &mut Vec<Inst>) -> Result<()> {
        let mut moves = Vec::new();
        for (&param, &arg) in params.iter().zip(args) {
            for d in 0..u16::from(f.vregs[param].dwords) {
                let (dst, src) = (self.at(f, param, d)?, self.at(f, arg, d)?);
                // A move would act in the block's lanes alone; linear code has copies in all lanes on either side, which leave nothing to move.
                if dst != src && Kind::of(f, param) == Kind::WholeWave {
                    return Err(Diagnostic::defect(format!("whole-wave parameter {param} in two places")));
                }
                moves.push(Move { dst, src: Source::Reg(src) });
            }
        }
        let loc = out.last().map_or(0, |inst| inst.loc);
        let range = Range { start: at.saturating_sub(1), end: at + 1 };
        sequence(&moves, || self.scratch(range, true), loc, out)
    }

    /// A copy or an instruction with tied operands, `inst`, at `position`, in front of `rest` of its block.
    fn inst(
        &self,
        f: &Function,
        position: u32,
        inst: &Inst,
        rest: &[Inst],
        out: &mut Vec<Inst>,
    ) -> Result<()> {
        if inst.op.is_copy() {
            let moves = self.copy(f, inst)?;
            let range = Range { start: position, end: position + 2 };
            let before = out.len();
            sequence(&moves, || self.scratch(range, m0_free(inst, rest)), inst.loc, out)?;
            mark_lanes(inst, &mut out[before..]);
            return Ok(());
        }
        let kept = inst.kept_operands();
        let mut new = inst.clone();
        let mut tied = Vec::new();
        for (n, operand) in access::registers(inst) {
            let physical = self.operand(f, operand)?;
            if let OperandAccess::Tied { def } = inst.operand_access(n) {
                match inst.operands.get(def) {
                    Some(Operand::Reg(dst)) => {
                        let dst = self.operand(f, dst)?;
                        if let (Reg::Physical(d), Reg::Physical(s)) = (dst.reg, physical.reg) {
                            for n in 0..u16::from(dst.dwords.min(physical.dwords)) {
                                tied.push(Move { dst: d.plus(n), src: Source::Reg(s.plus(n)) });
                            }
                        }
                    }
                    // Nothing is defined: the position only reads.
                    Some(_) => new.operands[def] = Operand::Reg(physical),
                    None => {}
                }
            } else {
                new.operands[n] = Operand::Reg(self.source(f, inst, n, physical)?);
            }
        }
        for (n, operand) in inst.operands.iter().enumerate().skip(kept) {
            // A tied constant is moved into the register as well.
            if let (Operand::Imm(value), OperandAccess::Tied { def }) = (operand, inst.operand_access(n))
                && let Some(Operand::Reg(dst)) = inst.operands.get(def)
                && let Reg::Physical(d) = self.operand(f, dst)?.reg
            {
                tied.push(Move { dst: d, src: Source::Imm(*value as i32) });
            }
        }
        new.operands.truncate(kept);
        if !tied.is_empty() {
            let range = Range { start: position.saturating_sub(1), end: position + 2 };
            let before = out.len();
            sequence(&tied, || self.scratch(range, m0_free(inst, rest)), inst.loc, out)?;
            mark_lanes(inst, &mut out[before..]);
        }
        out.push(new);
        Ok(())
    }

    /// Where `inst` reads operand `n`, whose value `own` holds up to the moves of tied operands. One that is tied as well may have been
    /// overwritten by these.
    fn source(&self, f: &Function, inst: &Inst, n: usize, own: RegOperand) -> Result<RegOperand> {
        let Some(tied) = inst.read_as_tied(n, self.target) else { return Ok(own) };
        for (k, operand) in access::registers(inst) {
            if k == tied || inst.operand_access(k) != OperandAccess::Def {
                continue;
            }
            let def = self.operand(f, operand)?;
            if let (Reg::Physical(d), Reg::Physical(s)) = (def.reg, own.reg)
                && d.0 < s.0 + u16::from(own.dwords)
                && s.0 < d.0 + u16::from(def.dwords)
            {
                let place = inst.operands.get(tied).and_then(Operand::as_reg);
                return place.map_or(Ok(own), |place| self.operand(f, place));
            }
        }
        Ok(own)
    }

    fn copy(&self, f: &Function, inst: &Inst) -> Result<Vec<Move>> {
        let Some(Operand::Reg(dst)) = inst.operands.first() else {
            return Err(Diagnostic::defect("copy without a destination"));
        };
        let Reg::Physical(first) = self.operand(f, dst)?.reg else { return Ok(Vec::new()) };
        let mut moves = Vec::new();
        let mut at = 0u16;
        for source in inst.operands.iter().skip(1) {
            match source {
                Operand::Reg(reg) => {
                    let Reg::Physical(src) = self.operand(f, reg)?.reg else { continue };
                    for d in 0..u16::from(reg.dwords) {
                        moves.push(Move { dst: first.plus(at + d), src: Source::Reg(src.plus(d)) });
                    }
                    at += u16::from(reg.dwords);
                }
                Operand::Imm(value) => {
                    let dwords = if inst.op == Opcode::COPY { u16::from(dst.dwords) } else { 1 };
                    for d in 0..dwords {
                        let value = if d < 2 { value >> (32 * d) } else { value >> 63 };
                        moves.push(Move { dst: first.plus(at + d), src: Source::Imm(value as i32) });
                    }
                    at += dwords;
                }
                // Undefined part.
                _ => at += 1,
            }
        }
        if at > u16::from(dst.dwords) {
            return Err(Diagnostic::defect(format!("{at} dwords are copied into {}", dst.dwords)));
        }
        Ok(moves)
    }

    fn operand(&self, f: &Function, operand: &RegOperand) -> Result<RegOperand> {
        match operand.reg {
            Reg::Virtual(v) => {
                let reg = self.at(f, v, u16::from(operand.sub))?.into();
                Ok(RegOperand { reg, sub: 0, dwords: operand.dwords })
            }
            Reg::Physical(_) => Ok(*operand),
        }
    }

    /// Register of dword `d` of `v`.
    fn at(&self, f: &Function, v: VReg, d: u16) -> Result<PReg> {
        match self.reg_of.get(v.as_u32() as usize) {
            Some(&first) if first != UNBOUND => Ok(preg(f.vregs[v].file, first + d)),
            _ => Err(Diagnostic::defect(format!("{v} has no register"))),
        }
    }

    fn graph(&self, file: RegFile) -> &Graph {
        match file {
            RegFile::Sgpr => self.wave,
            RegFile::Vgpr => self.thread,
        }
    }

    /// Registers that nobody holds in `range`.
    fn scratch(&self, range: Range, m0: bool) -> Scratch {
        let free = |bound: &Bound<'_>| {
            let mut occupancy = bound.occupancy.borrow_mut();
            occupancy.settle();
            bound.allowed.and_not(&occupancy.taken(range)).first()
        };
        let sgpr = free(&self.sgprs).filter(|&n| n < VCC).map(PReg::sgpr);
        let swap = Opcode::V_SWAP_B32.info().code(self.target.generation()).is_some();
        // Where there is another way, the function gets no larger for a register.
        let within = |n: &u16| {
            self.vgprs.occupancy.borrow().ever_taken().and_not(&Mask::run(0, *n)) != Mask::default()
        };
        Scratch {
            sgpr: sgpr.or(m0.then_some(PReg::M0)),
            vgpr: free(&self.vgprs).filter(|n| !swap || within(n)).map(PReg::vgpr),
            swap,
        }
    }
}

/// Whether M0 may be overwritten before `inst`, behind which `rest` of the block stands.
fn m0_free(inst: &Inst, rest: &[Inst]) -> bool {
    for inst in std::iter::once(inst).chain(rest) {
        let mut defined = false;
        for (n, operand) in access::registers(inst) {
            if operand.reg == Reg::Physical(PReg::M0) {
                match inst.operand_access(n) {
                    OperandAccess::Def => defined = true,
                    _ => return false,
                }
            }
        }
        if inst.facts().implicit.contains(Implicit::M0_USE) {
            return false;
        }
        if defined {
            return true;
        }
    }
    true
}
