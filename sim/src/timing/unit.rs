//! The compute unit, or a pair of them that works on a work-group together: takes work-groups as they fit, lets their waves issue, and counts.
//!
//! Time goes from turn to turn of a SIMD that has a wave to look at; nothing is done for cycles in which none has. In its turn a SIMD
//! looks at its waves, those of higher priority and then older ones first, and issues what is ready, one instruction of a wave and of a
//! kind.

use super::code::{Action, Code, Counts, Kind, Static};
use super::path::Paths;
use super::record::GroupTrace;
use super::report::{Busy, Cycles, Instruction, Stall, Stalls};
use super::wave::{AtBarrier, Blocked, Fetch, Resident, exclusive};
use crate::program::Program;
use mir::isa::facts::Rate;
use mir::target::timing::Timing;
use mir::target::{Counter, Target};
use std::collections::VecDeque;

/// SIMDs of every generation, in one compute unit or in two.
const SIMDS: usize = 4;

/// What a work-group of the dispatch takes.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// Waves that a SIMD has registers for.
    pub waves_per_simd: u32,
    /// Bytes of LDS.
    pub lds: u32,
    /// Address of the image.
    pub base: u64,
}

#[derive(Debug)]
struct Group {
    alive: usize,
    waiting: usize,
}

/// A compute unit at work.
pub struct Unit<'a> {
    program: &'a Program,
    timing: &'static Timing,
    /// Lanes of a wave.
    lanes: u32,
    /// Cycles of a vector instruction at full rate.
    full: u64,
    needs: Needs,
    code: Code,
    paths: Paths,
    queue: VecDeque<GroupTrace>,
    groups: Vec<Option<Group>>,
    waves: Vec<Option<Resident>>,
    /// Waves by SIMD, the oldest first.
    simds: [Vec<usize>; SIMDS],
    wake: [u64; SIMDS],
    empty_since: [Option<u64>; SIMDS],
    valu_free: [u64; SIMDS],
    trans_free: [u64; SIMDS],
    /// By compute unit; there are fewer of them than SIMDs.
    vmem_free: [u64; SIMDS],
    lds_free: [u64; SIMDS],
    export_free: u64,
    lds_used: u32,
    next_simd: usize,
    now: u64,
    end: u64,
    busy: Busy,
    no_wave: u64,
    wave_cycles: u64,
    started_groups: u64,
    started_waves: u64,
}

impl<'a> Unit<'a> {
    /// An empty one.
    pub fn new(program: &'a Program, needs: Needs) -> Self {
        let (timing, lanes) = (program.target().timing(), program.target().wave_size());
        Self {
            program,
            timing,
            lanes,
            full: Rate::Full.cycles(program.target()).into(),
            needs,
            code: Code::default(),
            paths: Paths::new(timing, lanes),
            queue: VecDeque::new(),
            groups: Vec::new(),
            waves: Vec::new(),
            simds: Default::default(),
            wake: [u64::MAX; SIMDS],
            empty_since: [Some(0); SIMDS],
            valu_free: [0; SIMDS],
            trans_free: [0; SIMDS],
            vmem_free: [0; SIMDS],
            lds_free: [0; SIMDS],
            export_free: 0,
            lds_used: 0,
            next_simd: 0,
            now: 0,
            end: 0,
            busy: Busy::default(),
            no_wave: 0,
            wave_cycles: 0,
            started_groups: 0,
            started_waves: 0,
        }
    }

    /// One more work-group, behind those that are waiting. Works until it has room for another one.
    pub fn push(&mut self, trace: GroupTrace) {
        self.queue.push_back(trace);
        self.run(false);
    }

    fn target(&self) -> &'a Target {
        self.program.target()
    }

    /// Works until nothing is left, or, unless this is the `last` work, there is room for a work-group that is not known yet.
    fn run(&mut self, last: bool) {
        loop {
            while self.start_group() {}
            if self.queue.is_empty() && !last {
                return;
            }
            let Some((simd, next)) = self.wake.iter().copied().enumerate().min_by_key(|&(_, wake)| wake)
            else {
                return;
            };
            if next == u64::MAX {
                return;
            }
            self.now = next;
            self.turn(simd);
        }
    }

    /// Starts the first work-group that waits, if it fits; one that never would has the compute unit to itself.
    fn start_group(&mut self) -> bool {
        let Some(first) = self.queue.front() else { return false };
        let count = first.waves.len();
        let resident = self.groups.iter().flatten().count();
        let room: usize = self
            .simds
            .iter()
            .map(|waves| (self.needs.waves_per_simd as usize).saturating_sub(waves.len()))
            .sum();
        let fits = room >= count
            && self.lds_used + self.needs.lds <= self.timing.lds.bytes
            && (count == 1 || resident < usize::from(self.timing.front.barriers));
        if !fits && resident > 0 {
            return false;
        }
        let Some(trace) = self.queue.pop_front() else { return false };
        let Some(at) = self.code.at(trace.entry, self.program) else { return true };
        let group = match self.groups.iter().position(Option::is_none) {
            Some(free) => free,
            None => {
                self.groups.push(None);
                self.groups.len() - 1
            }
        };
        self.groups[group] = Some(Group { alive: count, waiting: 0 });
        self.lds_used += self.needs.lds;
        self.started_groups += 1;
        self.started_waves += count as u64;
        let delay = if self.now == 0 { 0 } else { u64::from(self.timing.dispatch) };
        for (n, wave) in trace.waves.into_iter().enumerate() {
            let simds = (0..SIMDS).map(|k| (self.next_simd + k) % SIMDS);
            let simd = simds.min_by_key(|&simd| self.simds[simd].len()).unwrap_or(0);
            self.next_simd = (simd + 1) % SIMDS;
            let start = self.turn_at(simd, self.now + delay + n as u64);
            let mut fetch =
                Fetch { paths: &mut self.paths, timing: self.timing, base: self.needs.base, now: self.now };
            let resident = Resident::new(wave, group, simd, (at, trace.entry), start, &mut fetch);
            let slot = match self.waves.iter().position(Option::is_none) {
                Some(free) => free,
                None => {
                    self.waves.push(None);
                    self.waves.len() - 1
                }
            };
            self.waves[slot] = Some(resident);
            self.simds[simd].push(slot);
            self.wake[simd] = self.wake[simd].min(start);
            if let Some(since) = self.empty_since[simd].take() {
                self.no_wave += start - since;
            }
        }
        true
    }

    /// A SIMD's turn.
    fn turn(&mut self, simd: usize) {
        let now = self.now;
        let mut taken = [false; Kind::COUNT];
        let mut issued = 0;
        let list = std::mem::take(&mut self.simds[simd]);
        let priority = |unit: &Self, slot: usize| unit.waves[slot].as_ref().map_or(0, |w| w.priority);
        let highest = list.iter().map(|&slot| priority(self, slot)).max().unwrap_or(0);
        for level in (0..=highest).rev() {
            for &slot in &list {
                let ready = self.waves[slot].as_ref().is_some_and(|w| w.wake <= now);
                if !ready || priority(self, slot) != level {
                    continue;
                }
                let Some(mut wave) = self.waves[slot].take() else { continue };
                let kind = self.code.list[wave.at as usize].kind;
                match self.blocked(&mut wave, &taken, issued) {
                    Some(blocked) => {
                        self.note(&mut wave, blocked);
                        self.waves[slot] = Some(wave);
                    }
                    None => {
                        if exclusive(kind) {
                            taken[kind as usize] = true;
                            issued += 1;
                        }
                        // What it changes may wake waves of this SIMD that were looked at before; their time is put down in them.
                        match self.issue(&mut wave) {
                            true => self.waves[slot] = Some(wave),
                            false => self.end_wave(&wave),
                        }
                    }
                }
            }
        }
        self.simds[simd] = list;
        let waves = &self.waves;
        self.simds[simd].retain(|&slot| waves[slot].is_some());
        let wakes = self.simds[simd].iter().filter_map(|&slot| self.waves[slot].as_ref()).map(|w| w.wake);
        self.wake[simd] = wakes.min().map_or(u64::MAX, |wake| self.turn_at(simd, wake.max(now + 1)));
        if self.simds[simd].is_empty() {
            self.empty_since[simd] = Some(now + 1);
        }
    }

    /// What keeps a wave from issuing.
    fn blocked(&mut self, wave: &mut Resident, taken: &[bool; Kind::COUNT], issued: u8) -> Option<Blocked> {
        let now = self.now;
        let inst = &self.code.list[wave.at as usize];
        let mut fetch = Fetch { paths: &mut self.paths, timing: self.timing, base: self.needs.base, now };
        if let Some(blocked) = wave.fetched(inst, now, &mut fetch) {
            return Some(blocked);
        }
        let max = self.program.target().waits().max();
        if let Some(blocked) = wave.depends(inst, max, now) {
            return Some(blocked);
        }
        if inst.action == Action::Barrier {
            return self.at_barrier(wave);
        }
        let free = match inst.kind {
            Kind::Valu if inst.trans => self.valu_free[wave.simd].max(self.trans_free[wave.simd]),
            Kind::Valu => self.valu_free[wave.simd],
            Kind::Vmem => self.vmem_free[self.unit_of(wave)],
            Kind::Lds => self.lds_free[self.unit_of(wave)],
            Kind::Export => self.export_free,
            Kind::Scalar | Kind::Branch | Kind::Internal => 0,
        };
        // In the very turn in which another wave takes the unit, that wave is the reason.
        if exclusive(inst.kind) && (taken[inst.kind as usize] || issued >= self.timing.front.issue) {
            return Some(Blocked { stall: Stall::Arbitration, until: now + 1 });
        }
        (free > now).then_some(Blocked { stall: Stall::Unit, until: free })
    }

    fn at_barrier(&mut self, wave: &mut Resident) -> Option<Blocked> {
        let wait = Some(Blocked { stall: Stall::Barrier, until: u64::MAX });
        match wave.barrier {
            AtBarrier::Released => None,
            AtBarrier::Waiting => wait,
            AtBarrier::No => {
                let group = self.groups[wave.group].as_mut()?;
                if group.alive == 1 {
                    return None;
                }
                wave.barrier = AtBarrier::Waiting;
                group.waiting += 1;
                if group.waiting < group.alive {
                    return wait;
                }
                group.waiting = 0;
                let until = self.now + u64::from(self.timing.barrier);
                self.release(wave.group, until);
                wave.barrier = AtBarrier::Released;
                Some(Blocked { stall: Stall::Barrier, until })
            }
        }
    }

    /// Lets all waiting waves of a work-group go on at `until`.
    fn release(&mut self, group: usize, until: u64) {
        let turn = self.timing.front.turn;
        for wave in self.waves.iter_mut().flatten() {
            if wave.group == group && wave.barrier == AtBarrier::Waiting {
                wave.barrier = AtBarrier::Released;
                wave.wake = turn_at(turn, wave.simd, until);
                self.wake[wave.simd] = self.wake[wave.simd].min(wave.wake);
            }
        }
    }

    /// The compute unit of a wave's SIMD.
    fn unit_of(&self, wave: &Resident) -> usize {
        wave.simd / usize::from(self.timing.front.simds_of_unit.max(1))
    }

    /// The first turn of a SIMD at `time` or behind it.
    fn turn_at(&self, simd: usize, time: u64) -> u64 {
        turn_at(self.timing.front.turn, simd, time)
    }

    /// Puts down what blocks a wave.
    fn note(&mut self, wave: &mut Resident, blocked: Blocked) {
        if wave.blocked.is_none_or(|(stall, _)| stall != blocked.stall) {
            self.lost(wave);
            wave.blocked = Some((blocked.stall, self.now));
        }
        let until = blocked.until.max(self.now + 1);
        wave.wake = self.turn_at(wave.simd, until);
    }

    /// Counts the cycles for which a wave was blocked up to now.
    fn lost(&mut self, wave: &mut Resident) {
        if let Some((stall, since)) = wave.blocked.take() {
            self.code.list[wave.at as usize].counts.stalls[stall as usize] += self.now - since;
        }
    }

    /// Issues a wave's instruction; false where the wave ends.
    fn issue(&mut self, wave: &mut Resident) -> bool {
        self.lost(wave);
        let now = self.now;
        let index = wave.at as usize;
        let turn = u64::from(self.timing.front.turn);
        let (action, jumps, size) = {
            let inst = &self.code.list[index];
            (inst.action, inst.jumps, inst.size)
        };
        let mut next = now + turn;
        if let Action::Idle(cycles) = action {
            next += u64::from(cycles);
            self.code.list[index].counts.stalls[Stall::Idle as usize] += u64::from(cycles);
        }
        let counts = &mut self.code.list[index].counts;
        counts.issued += 1;
        counts.cycles += next - wave.from;
        self.end = self.end.max(now + turn);
        let goes_on = self.execute(wave, index);
        (wave.from, wave.wake, wave.barrier) = (next, next, AtBarrier::No);
        if !goes_on || action == Action::End {
            return false;
        }
        let pc = self.code.list[index].pc;
        let to = if jumps { wave.next_jump() } else { None };
        let following = match to {
            None if jumps => None,
            Some(to) if to != pc + u64::from(size) => {
                let at = now + u64::from(self.timing.front.branch);
                let mut fetch =
                    Fetch { paths: &mut self.paths, timing: self.timing, base: self.needs.base, now };
                wave.restart_fetch(to, at, &mut fetch);
                self.code.at(to, self.program)
            }
            _ => self.code.behind(wave.at, self.program),
        };
        match following {
            Some(at) => {
                wave.at = at;
                true
            }
            None => false,
        }
    }

    /// What an instruction does to units and memory; false where the trace ends.
    fn execute(&mut self, wave: &mut Resident, index: usize) -> bool {
        let now = self.now;
        let t = self.timing;
        let unit = self.unit_of(wave);
        let Static { kind, cycles, issue, result, trans, action, accesses, .. } = self.code.list[index];
        match kind {
            Kind::Valu => {
                self.valu_free[wave.simd] = now + u64::from(issue);
                if trans {
                    self.trans_free[wave.simd] = now + u64::from(cycles);
                }
                self.busy.valu += u64::from(issue);
                wave.vector_result(&self.code.list[index], now + u64::from(result), t);
            }
            Kind::Scalar => {
                self.busy.scalar += 1;
                wave.scalar_result(&self.code.list[index], now + u64::from(result));
            }
            Kind::Branch => self.busy.branch += 1,
            Kind::Export => {
                self.export_free = now + self.full;
                self.busy.export += self.full;
            }
            Kind::Vmem | Kind::Lds | Kind::Internal => {}
        }
        let access = match accesses {
            true => match wave.next_access() {
                Some((access, lines)) => Some((access, lines.to_vec())),
                None => return false,
            },
            false => None,
        };
        let (access, lines) = access.unwrap_or_default();
        if accesses {
            let traffic = &mut self.code.list[index].counts.traffic;
            traffic.lines += u64::from(access.lines);
            traffic.passes += u64::from(access.passes);
            traffic.lds_passes += u64::from(access.lds);
            traffic.lds_least += u64::from(access.lds_least);
        }
        match action {
            Action::Scalar(memory) => {
                let done = match memory.store || memory.atomic {
                    true => self.paths.store(&lines, lines.len() as u64, now),
                    false => self.paths.scalar_load(&lines, memory.bytes.into(), now),
                };
                wave.count(Counter::Lgkm, done);
            }
            Action::ScalarInvalidate => {
                self.paths.invalidate_scalar();
                wave.count(Counter::Lgkm, now + u64::from(t.scalar_cache.latency));
            }
            Action::Message => wave.count(Counter::Lgkm, now + u64::from(t.message)),
            Action::Gds => {
                wave.count(Counter::Lgkm, now + u64::from(t.gds));
                wave.count(Counter::Exp, now + u64::from(t.export));
            }
            Action::Lds => self.local(wave, unit, access.lds.into()),
            Action::Vector(memory) => {
                let passes = u64::from(access.passes.max(t.address_cycles(self.lanes)));
                self.vmem_free[unit] = now + passes;
                self.busy.vmem += passes;
                if access.lds > 0 {
                    self.lds_free[unit] = self.lds_free[unit].max(now) + u64::from(access.lds);
                    self.busy.lds += u64::from(access.lds);
                }
                let done = match memory.store {
                    true => self.paths.store(&lines, passes, now),
                    false => {
                        let coherent = memory.coherent || memory.atomic;
                        self.paths.vector_load(&lines, passes, coherent, (unit, now))
                    }
                };
                wave.count_vector(memory.counter, done);
                if memory.generic {
                    wave.count(Counter::Lgkm, done);
                }
                if memory.late {
                    wave.count(Counter::Exp, now + passes + u64::from(t.export));
                }
            }
            Action::VectorInvalidate => {
                self.paths.invalidate_vector(unit);
                wave.count_vector(Counter::Vm, now + u64::from(t.vector_cache.latency));
            }
            Action::Priority(priority) => wave.priority = priority,
            Action::None | Action::Wait(_) | Action::Idle(_) | Action::Barrier | Action::End => {}
        }
        true
    }

    /// An LDS instruction of so many passes; one without accesses takes as long as one without conflicts.
    fn local(&mut self, wave: &mut Resident, unit: usize, passes: u64) {
        let t = self.timing;
        let least = u64::from(t.lds_cycles(self.lanes));
        let passes = passes.max(least);
        self.lds_free[unit] = self.now + passes;
        self.busy.lds += passes;
        wave.count_lds(self.now + u64::from(t.lds.latency) + passes - least);
    }

    /// A wave has ended: others may have waited for it, and its work-group's place may be free.
    fn end_wave(&mut self, wave: &Resident) {
        let end = self.now + u64::from(self.timing.front.turn);
        self.wave_cycles += end - wave.start;
        let mut released = false;
        if let Some(group) = self.groups[wave.group].as_mut() {
            group.alive -= 1;
            if group.alive == 0 {
                self.groups[wave.group] = None;
                self.lds_used -= self.needs.lds;
            } else if group.waiting == group.alive {
                group.waiting = 0;
                released = true;
            }
        }
        if released {
            self.release(wave.group, self.now + u64::from(self.timing.barrier));
        }
    }

    /// Finishes what is under way. `instructions`: of the dispatch's share; `occupancy` and texts complete the report.
    pub fn finish(mut self, share: u64, entry: u64, per_instruction: bool) -> Cycles {
        self.run(true);
        for since in self.empty_since.iter().flatten() {
            self.no_wave += self.end.saturating_sub(*since);
        }
        let mut stalls = Stalls::default();
        let mut instructions = 0;
        for inst in &self.code.list {
            instructions += inst.counts.issued;
            for (sum, lost) in stalls.0.iter_mut().zip(inst.counts.stalls) {
                *sum += lost;
            }
        }
        let mut busy = self.busy;
        self.paths.add_busy(&mut busy);
        let scaled = u128::from(self.end) * u128::from(share) / u128::from(instructions.max(1));
        Cycles {
            cycles: if share == instructions { self.end } else { scaled as u64 },
            modelled_cycles: self.end,
            modelled_groups: self.started_groups,
            modelled_waves: self.started_waves,
            modelled_instructions: instructions,
            wave_cycles: self.wave_cycles,
            stalls,
            busy,
            caches: self.paths.caches(),
            no_wave: self.no_wave,
            per_instruction: if per_instruction { self.instructions(entry) } else { Vec::new() },
        }
    }

    fn instructions(&self, entry: u64) -> Vec<Instruction> {
        let mut list: Vec<Instruction> = self
            .code
            .list
            .iter()
            .filter(|inst| inst.counts.issued > 0)
            .map(|inst| {
                let Counts { issued, cycles, stalls, traffic } = inst.counts;
                let traffic = inst.accesses.then_some(traffic);
                let text =
                    self.program.op(inst.pc).map_or_else(|_| String::new(), |op| op.text(self.target()));
                let pc = inst.pc.wrapping_sub(entry) as i64;
                Instruction { pc, text, count: issued, cycles, stalls: Stalls(stalls), traffic }
            })
            .collect();
        list.sort_by_key(|inst| inst.pc);
        list
    }
}

/// The first turn of a SIMD at `time` or behind it, where one has a turn in every `turn` cycles; never is never.
fn turn_at(turn: u8, simd: usize, time: u64) -> u64 {
    let turn = u64::from(turn.max(1));
    time.saturating_add((simd as u64 % turn + turn - time % turn) % turn)
}
