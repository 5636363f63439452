//! A wave on its way through its trace: where it is, what it waits for.

use super::code::{Action, Kind, Static};
use super::path::Paths;
use super::record::{Access, WaveTrace};
use super::report::Stall;
use crate::strict::waits::RegRange;
use crate::wave::SCALARS;
use mir::machine::PReg;
use mir::target::timing::Timing;
use mir::target::{Counter, WaitCounts};

/// VGPRs that a wave can address.
const VGPRS: usize = 256;

fn vgpr(reg: PReg) -> Option<usize> {
    reg.vgpr_index().map(usize::from)
}

/// Times at which operations that a counter counts are done.
#[derive(Debug, Default)]
pub struct Outstanding(Vec<u64>);

impl Outstanding {
    /// One more, done at `done`.
    pub fn push(&mut self, done: u64) {
        self.0.push(done);
    }

    /// One more that is answered behind all before it.
    pub fn push_in_order(&mut self, done: u64) {
        let last = self.0.iter().copied().max().unwrap_or(0);
        self.0.push(done.max(last));
    }

    /// When at most `n` are left, 0 if that is now.
    pub fn at_most(&mut self, n: u32, now: u64) -> u64 {
        self.0.retain(|&done| done > now);
        let Some(done) = self.0.len().checked_sub(n as usize).filter(|&over| over > 0) else { return 0 };
        // `done` of them have to come to an end.
        let (_, &mut time, _) = self.0.select_nth_unstable(done - 1);
        time
    }
}

/// How far a barrier is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtBarrier {
    /// The wave has not come to one.
    No,
    /// It waits.
    Waiting,
    /// All have come.
    Released,
}

/// Why an instruction cannot be issued now, and when to look again.
#[derive(Clone, Copy, Debug)]
pub struct Blocked {
    /// Why.
    pub stall: Stall,
    /// When.
    pub until: u64,
}

/// A resident wave.
#[derive(Debug)]
pub struct Resident {
    /// The work-group's slot.
    pub group: usize,
    /// SIMD.
    pub simd: usize,
    /// User priority, 0 to 3.
    pub priority: u8,
    /// Index of the next instruction.
    pub at: u32,
    /// When the next instruction became the next.
    pub from: u64,
    /// When to look again.
    pub wake: u64,
    /// What it is blocked by, since when.
    pub blocked: Option<(Stall, u64)>,
    /// Barrier.
    pub barrier: AtBarrier,
    /// When it started.
    pub start: u64,
    trace: WaveTrace,
    jump: usize,
    access: usize,
    line: usize,
    /// End of what is in the buffer.
    buffered: u64,
    /// A block on its way: when it is there, and its end.
    fetching: Option<(u64, u64)>,
    counters: [Outstanding; Counter::COUNT],
    lds_done: u64,
    /// When a scalar register may be read that an instruction wrote, by scalar instructions and by others.
    scalar_ready: Box<[[u64; 2]; SCALARS]>,
    /// The same for VGPRs that the vector ALU wrote.
    vector_ready: Box<[u64; VGPRS]>,
}

/// The registers of ranges, each by its number.
fn registers(ranges: &[RegRange]) -> impl Iterator<Item = PReg> {
    ranges.iter().flat_map(|r| r.first..r.first + u16::from(r.len)).map(PReg)
}

impl Resident {
    /// A wave that starts at `start` with instruction `at` at address `pc`.
    pub fn new(
        trace: WaveTrace,
        group: usize,
        simd: usize,
        (at, pc): (u32, u64),
        start: u64,
        fetch: &mut Fetch<'_>,
    ) -> Self {
        let mut wave = Self {
            group,
            simd,
            priority: 0,
            at,
            from: start,
            wake: start,
            blocked: None,
            barrier: AtBarrier::No,
            start,
            trace,
            jump: 0,
            access: 0,
            line: 0,
            buffered: pc,
            fetching: None,
            counters: Default::default(),
            lds_done: 0,
            scalar_ready: Box::new([[0; 2]; SCALARS]),
            vector_ready: Box::new([0; VGPRS]),
        };
        wave.fetch_next(pc, start, fetch);
        wave
    }

    /// Takes a block that has come and asks for the next one if there is room, the wave being at `pc`.
    fn fetch_next(&mut self, pc: u64, at: u64, fetch: &mut Fetch<'_>) {
        if let Some((ready, end)) = self.fetching
            && ready <= at
        {
            self.buffered = end;
            self.fetching = None;
        }
        let block = u64::from(fetch.timing.front.fetch_bytes);
        let room =
            u64::from(fetch.timing.front.buffer_bytes).saturating_sub(self.buffered.saturating_sub(pc));
        if self.fetching.is_none() && room >= block {
            let line = (fetch.base + self.buffered) / super::lanes::LINE;
            let ready = fetch.paths.fetch(line, at, fetch.now);
            let end = fetch.base + self.buffered;
            self.fetching = Some((ready, (end / block + 1) * block - fetch.base));
        }
    }

    /// Whether the next instruction is in the buffer; `None` if it is.
    pub fn fetched(&mut self, inst: &Static, now: u64, fetch: &mut Fetch<'_>) -> Option<Blocked> {
        self.fetch_next(inst.pc, now, fetch);
        if inst.pc + u64::from(inst.size) <= self.buffered {
            return None;
        }
        let until = self.fetching.map_or(now + 1, |(ready, _)| ready);
        Some(Blocked { stall: Stall::Fetch, until })
    }

    /// Goes on at `pc` instead of what is in the buffer, which is asked for at `at`.
    pub fn restart_fetch(&mut self, pc: u64, at: u64, fetch: &mut Fetch<'_>) {
        self.buffered = pc;
        self.fetching = None;
        self.fetch_next(pc, at, fetch);
    }

    /// What keeps `inst` from being issued at `now`, units apart.
    pub fn depends(&mut self, inst: &Static, max: WaitCounts, now: u64) -> Option<Blocked> {
        match inst.action {
            Action::Wait(counts) => return self.waits(counts, now),
            Action::Scalar(_) | Action::Lds | Action::Gds | Action::Message => {
                return self.full(Counter::Lgkm, max, now).or_else(|| self.registers(inst, now));
            }
            Action::Vector(memory) => {
                let generic = if memory.generic { self.full(Counter::Lgkm, max, now) } else { None };
                return self.full(memory.counter, max, now).or(generic).or_else(|| self.registers(inst, now));
            }
            _ => {}
        }
        self.registers(inst, now)
    }

    fn waits(&mut self, counts: WaitCounts, now: u64) -> Option<Blocked> {
        let mut worst: Option<Blocked> = None;
        for (counter, n) in counts.iter() {
            let until = self.counters[counter as usize].at_most(n.into(), now);
            if until > worst.map_or(now, |b| b.until) {
                let stall = match counter {
                    Counter::Vm | Counter::Vs => Stall::Vmcnt,
                    Counter::Exp => Stall::Expcnt,
                    Counter::Lgkm => Stall::Lgkmcnt,
                };
                worst = Some(Blocked { stall, until });
            }
        }
        worst
    }

    fn full(&mut self, counter: Counter, max: WaitCounts, now: u64) -> Option<Blocked> {
        let limit = u32::from(max[counter]).saturating_sub(1);
        let until = self.counters[counter as usize].at_most(limit, now);
        (until > now).then_some(Blocked { stall: Stall::Counter, until })
    }

    fn registers(&self, inst: &Static, now: u64) -> Option<Blocked> {
        let scalar = usize::from(!matches!(inst.kind, Kind::Scalar | Kind::Branch));
        let scalars =
            registers(&inst.scalar_reads).filter_map(|reg| self.scalar_ready.get(usize::from(reg.0)));
        let vectors = registers(&inst.vector_reads).filter_map(|reg| self.vector_ready.get(vgpr(reg)?));
        let until = scalars.map(|ready| ready[scalar]).chain(vectors.copied()).max().unwrap_or(0);
        (until > now).then_some(Blocked { stall: Stall::Dependency, until })
    }

    /// The results of a vector ALU instruction can be read at `at`, by scalar instructions later.
    pub fn vector_result(&mut self, inst: &Static, at: u64, timing: &Timing) {
        for reg in registers(&inst.vector_writes) {
            if let Some(ready) = vgpr(reg).and_then(|n| self.vector_ready.get_mut(n)) {
                *ready = at;
            }
        }
        self.scalars_ready(inst, [at + u64::from(timing.alu.vector_to_scalar), at]);
    }

    /// Those of a scalar instruction.
    pub fn scalar_result(&mut self, inst: &Static, at: u64) {
        self.scalars_ready(inst, [at; 2]);
    }

    fn scalars_ready(&mut self, inst: &Static, at: [u64; 2]) {
        for reg in registers(&inst.scalar_writes) {
            if let Some(ready) = self.scalar_ready.get_mut(usize::from(reg.0)) {
                *ready = at;
            }
        }
    }

    /// Where control goes behind an instruction that may jump, in bytes from the image's start; `None` where the trace ends.
    pub fn next_jump(&mut self) -> Option<u64> {
        let to = *self.trace.jumps.get(self.jump)?;
        self.jump += 1;
        Some(u64::from(to) * 4)
    }

    /// The next access and its lines; `None` where the trace ends.
    pub fn next_access(&mut self) -> Option<(Access, &[u64])> {
        let access = *self.trace.accesses.get(self.access)?;
        self.access += 1;
        let first = self.line;
        self.line += access.lines as usize;
        Some((access, self.trace.lines.get(first..self.line)?))
    }

    /// Counts an operation that is done at `done`.
    pub fn count(&mut self, counter: Counter, done: u64) {
        self.counters[counter as usize].push(done);
    }

    /// Counts one of vector memory in `counter`, which answers in order; when it is done.
    pub fn count_vector(&mut self, counter: Counter, done: u64) {
        self.counters[counter as usize].push_in_order(done);
    }

    /// Counts one of LDS, which answers in order.
    pub fn count_lds(&mut self, done: u64) {
        self.lds_done = self.lds_done.max(done);
        self.counters[Counter::Lgkm as usize].push(self.lds_done);
    }
}

/// What fetching needs.
pub struct Fetch<'a> {
    /// Caches.
    pub paths: &'a mut Paths,
    /// Cycles.
    pub timing: &'static Timing,
    /// Address of the image.
    pub base: u64,
    /// The time of the latest event.
    pub now: u64,
}

/// Whether two instructions of `kind` exclude each other in a turn.
pub fn exclusive(kind: Kind) -> bool {
    kind != Kind::Internal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_come_down() {
        let mut o = Outstanding::default();
        o.push(10);
        o.push_in_order(5);
        o.push_in_order(30);
        assert_eq!((o.at_most(3, 0), o.at_most(2, 0), o.at_most(1, 0), o.at_most(0, 0)), (0, 10, 10, 30));
        assert_eq!((o.at_most(1, 10), o.at_most(0, 10), o.at_most(0, 30)), (0, 30, 0));
    }
}
