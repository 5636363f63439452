//! Hazards: `s_nop`, or another instruction that helps, where the hardware does not keep dependent instructions apart.
//!
//! The state at a point is a list of recent producers: (row of the table, register, wait states since). Joins take the union with the
//! smallest distance. Since no distance exceeds five, states are short and die within a few instructions; the iteration
//! over the wave graph therefore touches a block again only where a neighbour is that short.
//!
//! Some rows know no distance: a producer counts until one of certain instructions has passed. For each of these the state has the set of the
//! registers in question; joins take unions and sets only grow, so this ends after about as many rounds as loops nest, too.
//! Before control leaves the function the sets are emptied, so that a function begins with none. Only where what is inserted needs a register of the consumer
//! must the consumer's side take care: there functions, and what follows calls, begin with the hazard.
//!
//! Also here: the branch on VCCZ, whose flag is stale where scalar instructions wrote half of VCC (GFX6 to GFX9) or scalar
//! loads are about (GFX6, GFX7); rewriting VCC refreshes it.
//!
//! Only rows for which the function has both a possible producer and a possible consumer are looked at; most functions have
//! one or two such rows, or none.
//!
//! Cost: linear; each instruction meets the rows of its class and the few live producers. Source: [`mir::target::hazards`].

mod class;
mod pair;
mod reg_set;

pub use pair::{conflict, outlives, wait_states};

use crate::SPARE;
use crate::waits::{is_opaque, wave_rpo};
use class::{EXEC, class, has_key, key, produces_scalar, select, wait_states_of, writes_scalar};
use cranelift_entity::SecondaryMap;
use mir::isa::{Opcode, Unit};
use mir::machine::{
    AsmSite, Block, BlockData, CallSite, Condition, Function, Inst, Operand, PReg, Reg, Terminator,
};
use mir::target::hazards::{Filler, HAZARDS, Hazard, HazardClass, HazardRegs, MAX_WAIT_STATES, Mitigation};
use mir::target::{Features, Target, WaitModel};
use reg_set::{NO_REGISTER, RegSet};
use smallvec::SmallVec;
use std::collections::BinaryHeap;

/// Wait states that a call is worth to the caller at least: the call, the wait that a callee begins with, and the return.
const BEHIND_CALL: u8 = 3;

/// A producer that may still matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Recent {
    rule: u8,
    register: u16,
    /// Wait states since.
    age: u8,
}

/// What is known at a point.
#[derive(Clone, Debug, Default)]
struct State {
    recent: SmallVec<[Recent; 8]>,
    /// What no instruction has ended yet, by row of [`Rules::mitigated`]; empty where nothing has been produced.
    held: Vec<RegSet>,
}

/// What is inserted before an instruction.
#[derive(Clone, Copy, Debug)]
enum Fix {
    /// Wait states.
    Nops(u8),
    /// The filler of a row.
    Filler(&'static Mitigation),
}

/// Insertions of a block: (index of the instruction that they precede, what).
type Plan = Vec<(u32, Fix)>;

/// Inserts what [`HAZARDS`] asks for and the code does not have.
///
/// Needs physical registers and the wave graph.
pub fn insert_nops(f: &mut Function, target: &Target) {
    for &block in &f.layout {
        refresh_vccz(&mut f.blocks[block], target);
    }
    let rules = Rules::new(f, target);
    if rules.rows.is_empty() && rules.mitigated.is_empty() {
        return;
    }
    let order = wave_rpo(f);
    let mut rank: SecondaryMap<Block, u32> = SecondaryMap::with_default(u32::MAX);
    for (i, &block) in order.iter().enumerate() {
        rank[block] = i as u32;
    }
    let mut states: SecondaryMap<Block, State> = SecondaryMap::new();
    let mut plans: SecondaryMap<Block, Plan> = SecondaryMap::new();
    let mut queued: SecondaryMap<Block, bool> = SecondaryMap::with_default(true);
    if let Some(&entry) = order.first()
        && f.call_conv.follows_others()
    {
        rules.begin_behind_others(&mut states[entry]);
    }
    let mut work: BinaryHeap<_> = (0..order.len() as u32).map(std::cmp::Reverse).collect();
    while let Some(std::cmp::Reverse(i)) = work.pop() {
        let block = order[i as usize];
        queued[block] = false;
        let mut state = states[block].clone();
        state.held.resize(rules.mitigated.len(), RegSet::default());
        plans[block] = rules.visit(&f.blocks[block], &mut state);
        for edge in &f.blocks[block].wave_succs {
            let changed = join(&mut states[edge.block], &state);
            if changed && !std::mem::replace(&mut queued[edge.block], true) {
                work.push(std::cmp::Reverse(rank[edge.block]));
            }
        }
    }
    for &block in &order {
        rewrite(&mut f.blocks[block].insts, &plans[block], target.waits());
    }
}

/// Joins `other` into `state`; true when it changed.
fn join(state: &mut State, other: &State) -> bool {
    let mut changed = false;
    if state.held.len() < other.held.len() {
        state.held.resize(other.held.len(), RegSet::default());
    }
    for (mine, theirs) in state.held.iter_mut().zip(&other.held) {
        changed |= mine.join(theirs);
    }
    for new in &other.recent {
        match state.recent.iter_mut().find(|old| (old.rule, old.register) == (new.rule, new.register)) {
            Some(old) if old.age <= new.age => {}
            Some(old) => {
                old.age = new.age;
                changed = true;
            }
            None => {
                state.recent.push(*new);
                changed = true;
            }
        }
    }
    changed
}

/// The rows that matter for a function on a generation.
struct Rules<'a> {
    f: &'a Function,
    sites: &'a [AsmSite],
    waits: &'static WaitModel,
    /// Rows with wait states: number, row, wait states.
    rows: Vec<(u8, &'static Hazard, u8)>,
    /// Rows with mitigations.
    mitigated: Vec<(&'static Hazard, &'static Mitigation)>,
    /// Classes that some row consumes or produces.
    consumers: HazardClass,
    producers: HazardClass,
    /// Those of `producers` that produce by writing scalar registers alone are left out.
    other_producers: HazardClass,
}

impl<'a> Rules<'a> {
    fn new(f: &'a Function, target: &Target) -> Self {
        let mut present = HazardClass::empty();
        let mut zero_flags_read = false;
        let mut leaves_function = false;
        let generation = target.generation();
        let callable = f.call_conv.follows_others();
        for &block in &f.layout {
            if reads_exec(&f.blocks[block].term) {
                present |= HazardClass::CONTROL;
            }
            for inst in &f.blocks[block].insts {
                present |= class(inst);
                leaves_function |= leaves(inst);
                zero_flags_read |= inst.operands[usize::from(inst.facts().def_count).min(inst.operands.len())..].iter().any(
                    |operand| matches!(operand.as_reg(), Some(reg) if matches!(reg.reg, Reg::Physical(PReg::VCCZ | PReg::EXECZ))),
                );
            }
        }
        for site in f.asm_sites.iter().filter(|site| site.opaque) {
            // What stands inside may consume anything.
            leaves_function = true;
            for inst in &site.inside {
                present |= class(inst);
            }
        }
        let matters = |hazard: &Hazard| {
            // Code that is not seen may be on the side that is not the one to take care.
            let consumer_cares = hazard.mitigation(generation).is_some_and(needs_consumer);
            let produced_elsewhere = consumer_cares && (callable || leaves_function);
            let consumed_elsewhere = !consumer_cares && leaves_function;
            hazard.is_of(target)
                && (produced_elsewhere || present.intersects(hazard.producer))
                && (consumed_elsewhere || present.intersects(hazard.consumer))
                && (hazard.consumed != HazardRegs::ZeroFlags || zero_flags_read)
        };
        let rows: Vec<_> = HAZARDS
            .iter()
            .enumerate()
            .map(|(i, hazard)| (i as u8, hazard, hazard.wait_states(generation)))
            .filter(|row| row.2 > 0 && matters(row.1))
            .collect();
        let mitigated: Vec<_> = HAZARDS
            .iter()
            .filter_map(|hazard| Some((hazard, hazard.mitigation(generation)?)))
            .filter(|row| matters(row.0))
            .collect();
        let all = || rows.iter().map(|row| row.1).chain(mitigated.iter().map(|row| row.0));
        let consumers = all().fold(HazardClass::empty(), |all, hazard| all | hazard.consumer);
        let producers = all().fold(HazardClass::empty(), |all, hazard| all | hazard.producer);
        let other = rows
            .iter()
            .map(|row| row.1)
            .filter(|hazard| !produces_scalar(hazard.produced))
            .chain(mitigated.iter().map(|row| row.0));
        let other_producers = other.fold(HazardClass::empty(), |all, hazard| all | hazard.producer);
        let (sites, waits) = (&f.asm_sites[..], target.waits());
        Self { f, sites, waits, rows, mitigated, consumers, producers, other_producers }
    }

    /// Runs over a block; returns what it needs.
    fn visit(&self, data: &BlockData, state: &mut State) -> Plan {
        let mut plan = Plan::new();
        for (index, inst) in data.insts.iter().enumerate() {
            mir::interrupt::checkpoint();
            let index = index as u32;
            if is_opaque(inst, self.sites) {
                self.end_all(inst, state, index, &mut plan);
                let nops = self.pass_opaque(inst, state);
                if nops > 0 {
                    plan.push((index, Fix::Nops(nops)));
                }
                self.begin_behind_others(state);
                continue;
            }
            if inst.facts().unit == Unit::Pseudo
                && !matches!(inst.op, Opcode::PC_ADDRESS | Opcode::CALL | Opcode::CHAIN_JUMP)
            {
                continue;
            }
            let class = class(inst);
            let mut nops = 0;
            let leaves = leaves(inst);
            if leaves {
                self.end_all(inst, state, index, &mut plan);
                // Anything may follow that reads what a callee is given, or what a caller finds as it was.
                for recent in &state.recent {
                    if pair::is_given(PReg(recent.register), inst.op == Opcode::CALL) {
                        let row = self.rows.iter().find(|row| row.0 == recent.rule);
                        nops = nops.max(row.map_or(0, |row| row.2).saturating_sub(recent.age + 1));
                    }
                }
            }
            self.consume(inst, class, state, index, &mut plan);
            if !state.recent.is_empty() && class.intersects(self.consumers) {
                for &(rule, hazard, wait_states) in &self.rows {
                    if !class.intersects(hazard.consumer)
                        || !state.recent.iter().any(|recent| recent.rule == rule)
                    {
                        continue;
                    }
                    select(inst, hazard.consumed, false, |register| {
                        for recent in &state.recent {
                            let same = recent.register == register
                                || recent.register == NO_REGISTER
                                || register == NO_REGISTER;
                            if recent.rule == rule && same {
                                nops = nops.max(wait_states.saturating_sub(recent.age));
                            }
                        }
                    });
                }
            }
            if nops > 0 {
                plan.push((index, Fix::Nops(nops)));
            }
            let own = if inst.op == Opcode::CALL { BEHIND_CALL } else { wait_states_of(inst) };
            let passed = nops + own;
            if !state.recent.is_empty() {
                state.recent.retain(|recent| {
                    recent.age = recent.age.saturating_add(passed);
                    recent.age < MAX_WAIT_STATES
                });
            }
            self.end(inst, class, state);
            self.produce(inst, class, state);
            if leaves {
                self.begin_behind_others(state);
            }
            if let Some(site) = self.f.call_site(inst) {
                self.produce_results(site, state);
            }
        }
        for (set, (hazard, _)) in state.held.iter_mut().zip(&self.mitigated) {
            // What follows may be behind a branch.
            if set.contains(RegSet::BEFORE_BRANCH) {
                set.insert(NO_REGISTER);
            }
            if hazard.produced == HazardRegs::ExecRead && reads_exec(&data.term) {
                EXEC.for_each(|register| set.insert(register));
            }
        }
        plan
    }

    /// Plans what ends the hazards without distance that `inst` of `class` consumes.
    fn consume(&self, inst: &Inst, class: HazardClass, state: &mut State, index: u32, plan: &mut Plan) {
        if self.mitigated.is_empty() || !class.intersects(self.consumers) {
            return;
        }
        for (i, (hazard, mitigation)) in self.mitigated.iter().enumerate() {
            let mut found = false;
            if class.intersects(hazard.consumer) {
                let set = state.held.get(i);
                select(inst, hazard.consumed, false, |register| {
                    found |= set.is_some_and(|set| set.contains(register));
                });
            }
            if found {
                self.fill(mitigation, inst, state, index, plan);
            }
        }
    }

    /// Plans the filler of a row in front of `inst`, and notes what it ends.
    fn fill(
        &self,
        mitigation: &'static Mitigation,
        inst: &Inst,
        state: &mut State,
        index: u32,
        plan: &mut Plan,
    ) {
        plan.push((index, Fix::Filler(mitigation)));
        for inst in mitigation.insert.instructions(self.waits, inst) {
            self.end(&inst, class(&inst), state);
        }
    }

    /// Plans what ends all hazards without distance in front of `inst`, since code follows of which nothing is known.
    fn end_all(&self, inst: &Inst, state: &mut State, index: u32, plan: &mut Plan) {
        for (i, (_, mitigation)) in self.mitigated.iter().enumerate() {
            let is_held = state.held.get(i).is_some_and(|set| !set.is_empty());
            if is_held && !needs_consumer(mitigation) {
                self.fill(mitigation, inst, state, index, plan);
            }
        }
    }

    /// Notes what code of which nothing is known may have left: the hazards that only the consumer's side can end.
    fn begin_behind_others(&self, state: &mut State) {
        state.held.resize(self.mitigated.len(), RegSet::default());
        for (set, (_, mitigation)) in state.held.iter_mut().zip(&self.mitigated) {
            if needs_consumer(mitigation) {
                EXEC.for_each(|register| set.insert(register));
            }
        }
    }

    /// Notes which hazards without distance `inst` of `class` ends.
    fn end(&self, inst: &Inst, mut class: HazardClass, state: &mut State) {
        if state.held.is_empty() {
            return;
        }
        if class.contains(HazardClass::VALU) && writes_scalar(inst, inst.op.info()) {
            class |= HazardClass::VALU_SGPR;
        }
        for (set, (_, mitigation)) in state.held.iter_mut().zip(&self.mitigated) {
            if mitigation.is_ended_by(inst, class, self.waits) {
                *set = RegSet::default();
            }
        }
    }

    /// Notes what `inst` produces.
    fn produce(&self, inst: &Inst, class: HazardClass, state: &mut State) {
        if !class.intersects(self.producers) {
            return;
        }
        let scalar = writes_scalar(inst, inst.op.info());
        if !scalar && !class.intersects(self.other_producers) {
            return;
        }
        let mut note =
            |rule, register| match state.recent.iter_mut().find(|r| (r.rule, r.register) == (rule, register))
            {
                Some(recent) => recent.age = 0,
                None => state.recent.push(Recent { rule, register, age: 0 }),
            };
        // Rows about single registers go over the operands together.
        let mut keyed: SmallVec<[(u8, HazardRegs); 8]> = SmallVec::new();
        for &(rule, hazard, _) in &self.rows {
            if !class.intersects(hazard.producer) || !scalar && produces_scalar(hazard.produced) {
                continue;
            }
            match has_key(hazard.produced) {
                true => keyed.push((rule, hazard.produced)),
                false => select(inst, hazard.produced, true, |register| note(rule, register)),
            }
        }
        if !keyed.is_empty() {
            inst.for_each_access(|access| {
                for register in access.range().filter(|_| access.write) {
                    for &(rule, regs) in &keyed {
                        if let Some(register) = key(regs, register as u16) {
                            note(rule, register);
                        }
                    }
                }
            });
        }
        for (set, (hazard, _)) in state.held.iter_mut().zip(&self.mitigated) {
            if class.intersects(hazard.producer) {
                select(inst, hazard.produced, true, |register| set.insert(register));
            }
        }
    }

    /// Notes that a callee's last instruction in front of its return may have written its result.
    fn produce_results(&self, site: &CallSite, state: &mut State) {
        for &(rule, hazard, _) in &self.rows {
            if hazard.produced == HazardRegs::Vector && hazard.producer.contains(HazardClass::VALU) {
                let results = (0..u16::from(site.result_dwords)).map(|n| PReg::vgpr(n).0);
                state.recent.extend(results.map(|register| Recent { rule, register, age: 1 }));
            }
        }
    }

    /// Inline assembly of which nobody knows what happens inside: whatever may matter is over when it begins, and what it did is recent when it ends.
    /// Returns the wait states in front of it.
    fn pass_opaque(&self, inst: &Inst, state: &mut State) -> u8 {
        let mut nops = 0;
        for recent in state.recent.drain(..) {
            let row = self.rows.iter().find(|row| row.0 == recent.rule);
            nops = nops.max(row.map_or(0, |row| row.2).saturating_sub(recent.age));
        }
        let site = inst.asm_layout().and_then(|layout| self.sites.get(layout.site as usize));
        for inside in site.into_iter().flat_map(|site| &site.inside) {
            self.produce(inside, class(inside), state);
        }
        nops
    }
}

/// Whether a block ends with a branch on EXEC.
fn reads_exec(term: &Terminator) -> bool {
    matches!(term, Terminator::Uniform(Condition::Execz | Condition::Execnz))
}

/// Whether what is inserted depends on the consumer, here of EXEC.
fn needs_consumer(mitigation: &Mitigation) -> bool {
    matches!(mitigation.insert, Filler::MoveOfSource)
}

/// Whether code of another function follows.
fn leaves(inst: &Inst) -> bool {
    matches!(inst.op, Opcode::CALL | Opcode::CHAIN_JUMP | Opcode::S_SETPC_B64)
}

/// Rewrites VCC before a branch on VCCZ where the flag may be stale.
fn refresh_vccz(data: &mut BlockData, target: &Target) {
    if !matches!(data.term, Terminator::Uniform(Condition::Vccz | Condition::Vccnz)) {
        return;
    }
    let vcc = usize::from(PReg::VCC_LO.0)..usize::from(PReg::VCC_HI.0) + 1;
    let last_write = data.insts.iter().rev().find_map(|inst| {
        let mut written = 0;
        inst.for_each_access(|access| {
            if access.write {
                written += access.range().filter(|r| vcc.contains(r)).count();
            }
        });
        (written > 0).then_some(written)
    });
    let stale = target.has(Features::VCCZ_STALE_AFTER_SMEM)
        || (target.has(Features::VCCZ_STALE_AFTER_HALF) && last_write != Some(2));
    if stale {
        let vcc = Operand::preg(PReg::VCC_LO, 2);
        data.insts.push(Inst::new(Opcode::S_MOV_B64, [vcc, vcc]));
    }
}

fn rewrite(insts: &mut Vec<Inst>, plan: &Plan, waits: &WaitModel) {
    if plan.is_empty() {
        return;
    }
    let old = std::mem::take(insts);
    insts.reserve(old.len() + plan.len() + SPARE);
    let mut fixes = plan.iter().peekable();
    for (index, inst) in old.into_iter().enumerate() {
        mir::interrupt::checkpoint();
        while let Some(&(_, fix)) = fixes.next_if(|(at, _)| *at as usize == index) {
            match fix {
                Fix::Nops(count) => {
                    let operand = Operand::Imm(i64::from(count) - 1);
                    insts.push(Inst { loc: inst.loc, ..Inst::new(Opcode::S_NOP, [operand]) });
                }
                Fix::Filler(mitigation) => {
                    let loc = inst.loc;
                    let filler = mitigation.insert.instructions(waits, &inst);
                    insts.extend(filler.map(|inst| Inst { loc, ..inst }));
                }
            }
        }
        insts.push(inst);
    }
}

#[cfg(test)]
mod tests;
