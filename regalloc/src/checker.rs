//! Proof of an allocation by symbolic execution on both graphs.
//!
//! Every physical dword holds a set of *values*: dwords of virtual registers of the code before allocation,
//! and constants of moves. An instruction's definition puts its value into its register and removes it
//! everywhere else, because a copy that an earlier iteration of a loop left is stale. A copy of the old code
//! makes every holder of the source's value a holder of the destination's; so does passing an argument. Where
//! edges meet, a register holds what it holds on all of them: scalar and whole-wave registers on the wave
//! graph's edges, vector registers on the thread graph's. At every use the register must hold the value that
//! the old code reads there.
//!
//! What the old code itself keeps in a physical register (VCC for an implicit reader, M0, the scratch
//! resource) is a value like others, with the register's name, and must be there where the old code reads it.
//! Everything but registers must be as it was, in the same order, and lanes may move only in bodies of
//! blocks.
//!
//! Slots of spills are places like registers: lanes and what whole-wave values have of scratch on the wave graph, other scratch on the thread graph. A
//! reloaded register is another name for what was spilled, and the slot must hold that.
//!
//! The lattice is sets under inclusion, all values at the top; transfer is monotone, so sweeping in layout
//! order until nothing changes ends, after about as many sweeps as loops nest. The checker knows nothing of
//! live ranges, webs or packing.

use crate::access::{file_index, registers};
use crate::graph::{Graph, Numbering, edges, params};
use crate::liveness::Kind;
use crate::pack::UNBOUND;
use crate::rewrite::{Event, Trace};
use crate::spill::{Spills, lane_register};
use mir::isa::{Implicit, Opcode, OperandAccess};
use mir::machine::{Condition, Function, Inst, Operand, PReg, Reg, RegFile, RegOperand, Terminator, VReg};
use mir::target::{Target, WaveSize};
use mir::{Diagnostic, Result};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// A dword of a virtual register, or a constant.
type Value = u64;

/// The values that each physical register holds; absent: none.
type State = FxHashMap<PReg, SmallVec<[Value; 2]>>;

fn value(v: VReg, d: u16) -> Value {
    u64::from(v.as_u32()) << 8 | u64::from(d)
}

fn constant(c: i64) -> Value {
    1 << 63 | u64::from(c as u32)
}

/// What the old code keeps in a physical register that it names.
fn content(reg: PReg) -> Value {
    1 << 62 | u64::from(reg.0)
}

/// The value in dword `d` of an operand of the old code.
fn value_of(operand: &RegOperand, d: u16) -> Value {
    match operand.reg {
        Reg::Virtual(v) => value(v, u16::from(operand.sub) + d),
        Reg::Physical(reg) => content(reg.plus(d)),
    }
}

/// Places of spilled dwords behind the registers: first lanes, then scratch.
const FIRST_LANE: u16 = 1024;
const FIRST_SLOT: u16 = FIRST_LANE + 64 * 128;

/// Both sides of an allocation.
pub(crate) struct Checker<'a> {
    pub target: &'a Target,
    pub before: &'a Function,
    pub after: &'a Function,
    pub traces: &'a [Trace],
    pub reg_of: &'a [u16],
    pub numbering: &'a Numbering,
    pub wave: &'a Graph,
    pub thread: &'a Graph,
    pub spills: &'a Spills,
    /// Physical registers that the old code reads, to be filled by [`Checker::check`].
    pub named: FxHashSet<PReg>,
}

impl Checker<'_> {
    /// A `Defect` for the first use that does not see its value.
    pub fn check(mut self) -> Result<()> {
        self.named = named(self.before);
        let blocks = self.numbering.order.len();
        let mut whole_wave = vec![false; PReg::VGPRS.into()];
        for v in self.before.vregs.keys().filter(|&v| Kind::of(self.before, v) == Kind::WholeWave) {
            let first = self.reg_of[v.as_u32() as usize];
            for d in 0..u16::from(self.before.vregs[v].dwords) {
                if let Some(slot) = whole_wave.get_mut(usize::from(first.saturating_add(d))) {
                    *slot = true;
                }
            }
        }
        // Registers of spilled SGPRs are the wave's, too.
        for n in 0..self.spills.lane_registers() {
            if let Some(reg) = lane_register(n).vgpr_index() {
                whole_wave[usize::from(reg)] = true;
            }
        }
        let on_wave = |reg: PReg| match reg.vgpr_index() {
            Some(n) => whole_wave[usize::from(n)],
            None => match reg.0.checked_sub(FIRST_SLOT) {
                Some(slot) => self.spills.is_whole_slot(u32::from(slot) * 4),
                None => true,
            },
        };
        let mut outs: Vec<Option<State>> = vec![None; blocks];
        loop {
            let mut changed = false;
            for i in 0..blocks {
                let mut state = self.meet(i, &outs, &on_wave);
                self.block(i, &mut state, false)?;
                if outs[i].as_ref() != Some(&state) {
                    outs[i] = Some(state);
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        for i in 0..blocks {
            let mut state = self.meet(i, &outs, &on_wave);
            self.block(i, &mut state, true).map_err(|d| d.at(self.numbering.order[i]))?;
        }
        Ok(())
    }

    /// State at the start of block `i`; predecessors not yet visited hold everything.
    fn meet(&self, i: usize, outs: &[Option<State>], on_wave: &dyn Fn(PReg) -> bool) -> State {
        let mut state = State::default();
        for (graph, wave) in [(self.wave, true), (self.thread, false)] {
            let mut known = graph.preds(i).iter().filter_map(|&p| outs[p as usize].as_ref());
            let Some(first) = known.next() else { continue };
            let mut part: State =
                first.iter().filter(|(r, _)| on_wave(**r) == wave).map(|(r, s)| (*r, s.clone())).collect();
            for other in known {
                part.retain(|reg, set| {
                    match other.get(reg) {
                        Some(theirs) => set.retain(|v| theirs.contains(v)),
                        None => set.clear(),
                    }
                    !set.is_empty()
                });
            }
            state.extend(part);
        }
        state
    }

    fn block(&self, i: usize, state: &mut State, check: bool) -> Result<()> {
        let old = &self.before.blocks[self.numbering.order[i]];
        let new = &self.after.blocks[self.numbering.order[i]];
        let trace = &self.traces[i];
        let mut events = trace.events.iter().peekable();
        if i == 0 {
            for &reg in &self.named {
                state.insert(reg, SmallVec::from_slice(&[content(reg)]));
            }
            for (entry, first, reg) in self.before.entry.registers() {
                if let Some(v) = reg {
                    for d in 0..u16::from(entry.dwords()) {
                        state.entry(first.plus(d)).or_default().push(value(v, d));
                    }
                }
            }
        }
        let mut expected =
            old.insts.iter().enumerate().filter(|(_, x)| !x.op.is_copy() && x.op != Opcode::IMPLICIT_DEF);
        // EXEC is what it is at the entry until the first head sets it.
        let body_start = if i == 0 { 0 } else { new.head_len as usize };
        let mut j = 0;
        loop {
            while let Some((_, event)) = events.next_if(|(at, _)| *at as usize <= j) {
                self.event(i, *event, state);
            }
            let Some(inst) = new.insts.get(j) else { break };
            match trace.origin.get(j).copied().flatten() {
                Some(k) => {
                    let Some(original) = expected.next().filter(|(n, _)| *n == k as usize) else {
                        return Err(Diagnostic::defect(format!(
                            "allocation: {} is lost or out of order",
                            inst.op.info().name
                        )));
                    };
                    unchanged(original.1, inst)?;
                    self.original(original.1, inst, state, check)?;
                }
                None => {
                    let vector = registers(inst).next().is_some_and(|(_, reg)| match reg.reg {
                        Reg::Physical(reg) => reg.is_vgpr(),
                        Reg::Virtual(_) => false,
                    });
                    if vector && !(body_start..new.tail_start as usize).contains(&j) {
                        return Err(Diagnostic::defect("allocation: lanes move where EXEC changes"));
                    }
                    let xors =
                        new.insts.get(j..j + 3).filter(|w| w.iter().all(|x| x.op == Opcode::V_XOR_B32));
                    if inst.op == Opcode::V_XOR_B32 && xors.is_some() {
                        swap(inst, 1, 2, state)?;
                        j += 2;
                    } else {
                        inserted(inst, state)?;
                    }
                }
            }
            j += 1;
        }
        if check && let Terminator::Uniform(Condition::Vccz | Condition::Vccnz) = old.term {
            for reg in vcc(self.before.wave) {
                reads_physical(state, reg, "a branch")?;
            }
        }
        if check && old.term == Terminator::Return {
            for n in 0..self.before.result_dwords {
                reads_physical(state, PReg::vgpr(n.into()), "the caller")?;
            }
            for &reg in &self.before.shader_results {
                reads_physical(state, reg, "what follows the shader")?;
            }
        }
        match expected.next() {
            Some((_, lost)) => {
                Err(Diagnostic::defect(format!("allocation: {} is lost", lost.op.info().name)))
            }
            None => Ok(()),
        }
    }

    fn original(&self, old: &Inst, new: &Inst, state: &mut State, check: bool) -> Result<()> {
        if check {
            for (k, operand) in registers(old) {
                let position = match old.operand_access(k) {
                    OperandAccess::Def => continue,
                    OperandAccess::Use => k,
                    OperandAccess::Tied { def } => def,
                };
                let Some(Reg::Physical(reg)) =
                    new.operands.get(position).and_then(|o| o.as_reg()).map(|r| r.reg)
                else {
                    return Err(Diagnostic::defect(format!("operand {k} lost its register")));
                };
                for d in 0..u16::from(operand.dwords) {
                    let wanted = value_of(operand, d);
                    let held = state.get(&reg.plus(d));
                    // Registers outside the allocated files are nobody's but the code's.
                    if matches!(operand.reg, Reg::Physical(p) if p.plus(d) == reg.plus(d) && !tracked(p.plus(d)))
                    {
                        continue;
                    }
                    if !held.is_some_and(|set| set.contains(&wanted)) {
                        return Err(Diagnostic::defect(format!(
                            "allocation: operand {k} of {} should read dword {} of {:?} in {}, which holds {held:x?}",
                            old.op.info().name,
                            u16::from(operand.sub) + d,
                            operand.reg,
                            reg.plus(d),
                        )));
                    }
                }
            }
            for reg in implicit_uses(old, self.before.wave).filter(|&r| tracked(r)) {
                reads_physical(state, reg, old.op.info().name)?;
            }
        }
        if let Some(site) = self.before.call_site(old) {
            for &reg in site.reads.iter().filter(|_| check) {
                reads_physical(state, reg, "the callee")?;
            }
            for reg in site.changed().iter() {
                state.remove(&reg);
            }
            state.remove(&PReg::M0);
            for n in 0..site.result_dwords {
                let reg = PReg::vgpr(n.into());
                kill(state, Some(content(reg)));
                state.insert(reg, SmallVec::from_slice(&[content(reg)]));
            }
        }
        if check && (old.clobbers_early(self.target) || old.asm_layout().is_some()) {
            self.overwrites(old, new)?;
        }
        let slot = self.slot(old);
        let stored_at = match old.op {
            Opcode::V_WRITELANE_B32 => Some(1),
            _ => old.frame_access().filter(|access| access.store).map(|access| access.data),
        };
        if let (Some(slot), Some(at)) = (slot, stored_at) {
            let source = physical(new, at)?;
            let mut set = state.get(&source).cloned();
            // What a spilled parameter is on an edge gets the parameter's name.
            let stored = old.operands.get(at).and_then(|o| o.as_reg()).and_then(crate::access::vreg_of);
            if let Some(&(param, d)) = stored.and_then(|v| self.spills.passed.get(&v)) {
                kill(state, Some(value(param, d)));
                set.get_or_insert_default().retain(|v| *v != value(param, d));
                set.get_or_insert_default().push(value(param, d));
            }
            match set {
                Some(set) => state.insert(slot, set),
                None => state.remove(&slot),
            };
            return Ok(());
        }
        // Another instruction may read a reloaded register as its first operand.
        if let Some(reloaded) = old.operands.first().and_then(|o| o.as_reg()).and_then(crate::access::vreg_of)
            && old.operand_access(0) == OperandAccess::Def
            && let Some(&(v, d)) = self.spills.reloads.get(&reloaded)
        {
            // The slot's values are read under the names of what was stored.
            let held = slot.and_then(|slot| state.get(&slot)).cloned().unwrap_or_default();
            if check && !held.contains(&value(v, d)) {
                return Err(Diagnostic::defect(format!(
                    "spilling: {reloaded} should reload dword {d} of {v}"
                )));
            }
            kill(state, Some(value(reloaded, 0)));
            state.insert(physical(new, 0)?, SmallVec::from_slice(&[value(reloaded, 0), value(v, d)]));
            return Ok(());
        }
        let mut written: SmallVec<[(PReg, Value); 4]> = SmallVec::new();
        for (k, operand) in registers(old) {
            if old.operand_access(k) != OperandAccess::Def {
                continue;
            }
            let Some(Reg::Physical(reg)) = new.operands.get(k).and_then(|o| o.as_reg()).map(|r| r.reg) else {
                continue;
            };
            for d in 0..u16::from(operand.dwords) {
                written.push((reg.plus(d), value_of(operand, d)));
            }
        }
        let implied = old.facts().implicit & (Implicit::DEFS - Implicit::SCC_DEF);
        for (first, dwords, _) in implied.registers(self.before.wave) {
            let missing = |reg: &PReg| !written.iter().any(|(other, _)| other == reg);
            let regs: SmallVec<[PReg; 2]> = (0..dwords).map(|d| first.plus(d)).filter(missing).collect();
            written.extend(regs.into_iter().map(|reg| (reg, content(reg))));
        }
        for (n, (reg, v)) in written.iter().enumerate() {
            if check && written[..n].iter().any(|(other, _)| other == reg) {
                return Err(Diagnostic::defect(format!(
                    "allocation: {} writes {reg} twice",
                    old.op.info().name
                )));
            }
            kill(state, Some(*v));
            state.insert(*reg, SmallVec::from_slice(&[*v]));
        }
        Ok(())
    }

    /// A `Defect` where a result that is written early shares a register with a source that is read late.
    fn overwrites(&self, old: &Inst, new: &Inst) -> Result<()> {
        // Inline assembly says of each definition whether it is early; what names its registers itself may
        // clobber an input.
        let chosen =
            |operand: &RegOperand| old.asm_layout().is_none() || matches!(operand.reg, Reg::Virtual(_));
        let early = |k: usize| old.asm_layout().is_none_or(|layout| layout.is_early(k));
        let of = |is_def: bool| {
            let wanted = move |k: usize| match old.operand_access(k) {
                OperandAccess::Def => is_def && early(k),
                OperandAccess::Use => !is_def,
                OperandAccess::Tied { .. } => false,
            };
            let concerned =
                move |(k, operand): &(usize, &RegOperand)| wanted(*k) && (is_def || chosen(operand));
            registers(old).filter(concerned).flat_map(|(k, operand)| {
                let first = physical(new, k).ok();
                (0..u16::from(operand.dwords)).filter_map(move |d| Some(first?.plus(d)))
            })
        };
        let sources: SmallVec<[PReg; 8]> = of(false).collect();
        if of(true).any(|reg| sources.contains(&reg)) {
            let name = old.op.info().name;
            return Err(Diagnostic::defect(format!("allocation: {name} overwrites a source")));
        }
        Ok(())
    }

    /// The slot that an instruction of spilling accesses.
    fn slot(&self, inst: &Inst) -> Option<PReg> {
        match inst.op {
            Opcode::V_WRITELANE_B32 | Opcode::V_READLANE_B32 => {
                let register =
                    physical(inst, usize::from(inst.op == Opcode::V_READLANE_B32)).ok()?.vgpr_index()?;
                let n = lane_register(0).vgpr_index()? - register;
                let lane = inst.operands.get(2)?.as_imm()?;
                (n < self.spills.lane_registers()).then_some(PReg(FIRST_LANE + 64 * n + lane as u16))
            }
            _ => {
                let access = inst.frame_access()?;
                if let Some(resource) = access.resource {
                    physical(inst, resource).ok()?;
                }
                let high = match inst.operands.get(access.base)? {
                    Operand::Imm(high) => *high as u32,
                    Operand::Reg(base) if Some(base.reg) == self.before.frame_base.map(Reg::Physical) => 0,
                    Operand::Reg(base) => *self.spills.high_offsets.get(&crate::access::vreg_of(base)?)?,
                    _ => return None,
                };
                let offset = high + inst.mods.offset as u32;
                self.spills.is_slot(offset).then_some(PReg(FIRST_SLOT + (offset / 4) as u16))
            }
        }
    }

    fn event(&self, i: usize, event: Event, state: &mut State) {
        let old = &self.before.blocks[self.numbering.order[i]];
        // Pairs of a value and what it becomes, all at once.
        let mut pairs: Vec<(Value, Value)> = Vec::new();
        match event {
            Event::Entry => return,
            Event::Undefined(k) => {
                let Some(Operand::Reg(operand)) =
                    old.insts.get(k as usize).and_then(|inst| inst.operands.first())
                else {
                    return;
                };
                let Reg::Virtual(v) = operand.reg else { return };
                let first = self.reg_of[v.as_u32() as usize];
                if first == UNBOUND {
                    return;
                }
                for d in 0..u16::from(self.before.vregs[v].dwords) {
                    kill(state, Some(value(v, d)));
                    let reg = crate::access::preg(self.before.vregs[v].file, first + d);
                    state.insert(reg, SmallVec::from_slice(&[value(v, d)]));
                }
                return;
            }
            Event::Copy(k) => {
                let Some(inst) = old.insts.get(k as usize) else { return };
                copies(inst, &mut pairs);
            }
            Event::Start(file) => {
                let graph = self.graph(file);
                let [pred] = graph.preds(i) else { return };
                if graph.moves_in_pred(*pred as usize) {
                    return;
                }
                let from = &self.before.blocks[self.numbering.order[*pred as usize]];
                for edge in edges(from, file).iter().filter(|e| e.block == self.numbering.order[i]) {
                    self.pass(params(old, file), &edge.args, &mut pairs);
                }
            }
            Event::End(file) => {
                if !self.graph(file).moves_in_pred(i) {
                    return;
                }
                for edge in edges(old, file) {
                    self.pass(params(&self.before.blocks[edge.block], file), &edge.args, &mut pairs);
                }
                // What stays in memory becomes a parameter as well.
                let in_place = self.spills.in_place.get(&self.numbering.order[i]).into_iter().flatten();
                let in_place = in_place.filter(|(_, param, _)| self.before.vregs[*param].file == file);
                pairs.extend(in_place.map(|&(arg, param, d)| (value(arg, d), value(param, d))));
            }
        }
        if pairs.is_empty() {
            return;
        }
        let becomes: FxHashMap<Value, SmallVec<[Value; 2]>> =
            pairs.iter().fold(FxHashMap::default(), |mut map, (from, to)| {
                map.entry(*from).or_insert_with(SmallVec::new).push(*to);
                map
            });
        let gone: FxHashSet<Value> = pairs.iter().map(|(_, to)| *to).collect();
        for set in state.values_mut() {
            let new: SmallVec<[Value; 2]> =
                set.iter().filter_map(|v| becomes.get(v)).flatten().copied().collect();
            set.retain(|v| !gone.contains(v));
            set.extend(new);
            set.sort_unstable();
            set.dedup();
        }
        state.retain(|_, set| !set.is_empty());
    }

    fn pass(&self, params: &[VReg], args: &[VReg], pairs: &mut Vec<(Value, Value)>) {
        for (&param, &arg) in params.iter().zip(args) {
            for d in 0..u16::from(self.before.vregs[param].dwords) {
                pairs.push((value(arg, d), value(param, d)));
            }
        }
    }

    fn graph(&self, file: RegFile) -> &Graph {
        match file {
            RegFile::Sgpr => self.wave,
            RegFile::Vgpr => self.thread,
        }
    }
}

/// A `Defect` unless `new` is `old` but for its registers.
fn unchanged(old: &Inst, new: &Inst) -> Result<()> {
    let same = old.op == new.op
        && old.mods == new.mods
        && (0..old.kept_operands()).all(|k| match (old.operands.get(k), new.operands.get(k)) {
            (Some(Operand::Reg(a)), Some(Operand::Reg(b))) => a.dwords == b.dwords,
            // A tied position that defines nothing only reads.
            (Some(Operand::Off), Some(Operand::Reg(_))) => true,
            (a, b) => a == b,
        });
    match same {
        true => Ok(()),
        false => Err(Diagnostic::defect(format!("allocation: {old:?} became {new:?}"))),
    }
}

/// The values that a copy of the old code renames.
fn copies(inst: &Inst, pairs: &mut Vec<(Value, Value)>) {
    let Some(Operand::Reg(dst)) = inst.operands.first() else { return };
    let mut at = 0;
    for source in inst.operands.iter().skip(1) {
        match source {
            Operand::Reg(reg) => {
                for d in 0..u16::from(reg.dwords) {
                    pairs.push((value_of(reg, d), value_of(dst, at + d)));
                }
                at += u16::from(reg.dwords);
            }
            Operand::Imm(c) => {
                let dwords = if inst.op == Opcode::COPY { u16::from(dst.dwords) } else { 1 };
                for d in 0..dwords {
                    let part = constant(if d < 2 { c >> (32 * d) } else { c >> 63 });
                    pairs.push((part, value_of(dst, at + d)));
                }
                at += dwords;
            }
            _ => at += 1,
        }
    }
}

/// Whether moves of allocation may write `reg`, so that what the code keeps in it is watched.
fn tracked(reg: PReg) -> bool {
    file_index(reg).is_some() || reg == PReg::M0
}

/// The registers of VCC as a mask.
fn vcc(wave: WaveSize) -> impl Iterator<Item = PReg> {
    (0..u16::from(wave.mask_dwords())).map(|d| PReg::VCC_LO.plus(d))
}

/// Registers that the row of `inst` implies to be read, EXEC as the mask of lanes apart.
fn implicit_uses(inst: &Inst, wave: WaveSize) -> impl Iterator<Item = PReg> {
    let uses = inst.facts().implicit & (Implicit::LISTED - Implicit::DEFS);
    uses.registers(wave).flat_map(|(first, dwords, _)| (0..dwords).map(move |d| first.plus(d)))
}

/// Physical registers that the code reads.
fn named(f: &Function) -> FxHashSet<PReg> {
    let mut out = FxHashSet::default();
    for &block in &f.layout {
        for inst in &f.blocks[block].insts {
            for (k, operand) in registers(inst) {
                if let Reg::Physical(first) = operand.reg
                    && inst.operand_access(k) != OperandAccess::Def
                {
                    out.extend((0..u16::from(operand.dwords)).map(|d| first.plus(d)));
                }
            }
            out.extend(implicit_uses(inst, f.wave));
        }
        if let Terminator::Uniform(Condition::Vccz | Condition::Vccnz) = f.blocks[block].term {
            out.extend(vcc(f.wave));
        }
    }
    // What is named and never read by an instruction: results.
    out.extend((0..f.result_dwords).map(|n| PReg::vgpr(n.into())));
    out.extend(&f.shader_results);
    out.extend(f.calls.iter().flat_map(|site| site.reads.iter().copied()));
    out.retain(|&reg| tracked(reg));
    out
}

fn reads_physical(state: &State, reg: PReg, who: &str) -> Result<()> {
    match state.get(&reg) {
        Some(set) if set.contains(&content(reg)) => Ok(()),
        held => Err(Diagnostic::defect(format!(
            "allocation: {who} should read what the code put into {reg}, which holds {held:x?}"
        ))),
    }
}

/// Removes a value that is defined anew.
fn kill(state: &mut State, v: Option<Value>) {
    let Some(v) = v else { return };
    state.retain(|_, set| {
        set.retain(|x| *x != v);
        !set.is_empty()
    });
}

fn physical(inst: &Inst, k: usize) -> Result<PReg> {
    match inst.operands.get(k).and_then(|o| o.as_reg()).map(|r| r.reg) {
        Some(Reg::Physical(reg)) => Ok(reg),
        _ => Err(Diagnostic::defect(format!("inserted {} without a register", inst.op.info().name))),
    }
}

fn swap(inst: &Inst, a: usize, b: usize, state: &mut State) -> Result<()> {
    let (a, b) = (physical(inst, a)?, physical(inst, b)?);
    let (in_a, in_b) = (state.remove(&a), state.remove(&b));
    state.extend(in_b.map(|set| (a, set)));
    state.extend(in_a.map(|set| (b, set)));
    Ok(())
}

/// An instruction that allocation inserted.
fn inserted(inst: &Inst, state: &mut State) -> Result<()> {
    let dwords = match inst.op {
        Opcode::S_MOV_B32 | Opcode::V_MOV_B32 | Opcode::V_READFIRSTLANE_B32 => 1,
        Opcode::S_MOV_B64 => 2,
        Opcode::V_SWAP_B32 => return swap(inst, 0, 1, state),
        _ => return Err(Diagnostic::defect(format!("inserted {} is unknown", inst.op.info().name))),
    };
    let dst = physical(inst, 0)?;
    let mut new: SmallVec<[(PReg, SmallVec<[Value; 2]>); 2]> = SmallVec::new();
    for d in 0..dwords {
        let set = match inst.operands.get(1) {
            Some(Operand::Imm(c)) => SmallVec::from_slice(&[constant(c >> (32 * d))]),
            _ => {
                let src = physical(inst, 1)?.plus(d);
                match state.get(&src) {
                    Some(set) => set.clone(),
                    None => SmallVec::from_slice(&[content(src)]),
                }
            }
        };
        new.push((dst.plus(d), set));
    }
    for (reg, set) in new {
        if file_index(reg).is_some() || reg == PReg::M0 {
            state.insert(reg, set);
        }
    }
    Ok(())
}
