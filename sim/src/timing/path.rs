//! The ways to memory: caches, and the compute unit's share of what lies behind them.
//!
//! A way takes one line in so many cycles and keeps the order of requests; how long a request waits for its turn is added to the latency
//! of the level that answers it. A line that is on its way already is waited for, and not asked for again.

use super::cache::{Cache, Found};
use super::lanes::LINE;
use super::report::{Busy, Caches};
use mir::target::timing::Timing;

/// A way that takes requests one after the other.
#[derive(Debug, Default)]
struct Way {
    free: u64,
    busy: u64,
}

impl Way {
    /// When a request of `cycles` that comes at `at` has its turn.
    fn take(&mut self, at: u64, cycles: u64) -> u64 {
        let start = self.free.max(at);
        self.free = start + cycles;
        self.busy += cycles;
        start
    }
}

/// Caches and ways of a compute unit, or of several that share all but the vector caches.
pub struct Paths {
    timing: &'static Timing,
    /// Cycles of vector memory for addresses that nothing keeps.
    addresses: u64,
    instruction: Cache,
    scalar: Cache,
    /// By compute unit.
    vector: Vec<Cache>,
    l2: Cache,
    fetch: Way,
    constants: Way,
    from_l2: Way,
    memory: Way,
}

impl Paths {
    /// Empty caches, for waves of `lanes` lanes.
    pub fn new(timing: &'static Timing, lanes: u32) -> Self {
        let units = timing.front.simds / timing.front.simds_of_unit.max(1);
        Self {
            timing,
            addresses: timing.address_cycles(lanes).into(),
            instruction: Cache::new(&timing.instruction_cache),
            scalar: Cache::new(&timing.scalar_cache),
            vector: (0..units.max(1)).map(|_| Cache::new(&timing.vector_cache)).collect(),
            l2: Cache::new(&timing.l2),
            fetch: Way::default(),
            constants: Way::default(),
            from_l2: Way::default(),
            memory: Way::default(),
        }
    }

    /// When `line`, asked for at `at`, is there for vector memory.
    fn below(&mut self, line: u64, at: u64) -> u64 {
        let t = self.timing;
        let start = self.from_l2.take(at, t.l2.line_cycles.into());
        let hit = start + u64::from(t.l2.latency);
        if let Some(ready) = self.l2.find(line) {
            return ready.max(hit);
        }
        let start = self.memory.take(start, t.dram.line_cycles.into());
        let ready = start + u64::from(t.dram.latency);
        self.fill(line, ready, false);
        ready
    }

    fn fill(&mut self, line: u64, ready: u64, dirty: bool) {
        if self.l2.put(line, ready, dirty).is_some_and(|evicted| evicted.dirty) {
            self.memory.take(ready, self.timing.dram.line_cycles.into());
        }
    }

    /// The same for the scalar cache, which is nearer.
    fn below_scalar(&mut self, line: u64, at: u64) -> u64 {
        self.below(line, at).saturating_sub(self.timing.scalar_shortcut.into()).max(at)
    }

    /// The same for code, which is in L2: the other compute units of the chip fetch it, too.
    fn below_code(&mut self, at: u64) -> u64 {
        let l2 = &self.timing.l2;
        let start = self.from_l2.take(at, l2.line_cycles.into());
        start + u64::from(l2.latency.saturating_sub(self.timing.scalar_shortcut))
    }

    /// When a block of `line` asked for at `at` is in a wave's buffer; `now` is the time of the latest event.
    pub fn fetch(&mut self, line: u64, at: u64, now: u64) -> u64 {
        // A request for later takes a turn, but does not keep those before it waiting.
        let free = self.fetch.free.max(now);
        let start = at.max(free);
        self.fetch.free = free + 1;
        self.fetch.busy += 1;
        let hit = start + u64::from(self.timing.instruction_cache.latency);
        match self.instruction.find(line) {
            Some(ready) => ready.max(hit),
            None => {
                let ready = self.below_code(start).max(hit);
                self.instruction.put(line, ready, false);
                ready
            }
        }
    }

    /// When a scalar load of `bytes` from `lines` is done.
    pub fn scalar_load(&mut self, lines: &[u64], bytes: u32, at: u64) -> u64 {
        let shape = &self.timing.scalar_cache;
        let cycles = (u64::from(bytes) * u64::from(shape.line_cycles)).div_ceil(shape.line.into()).max(1);
        let start = self.constants.take(at, cycles);
        let hit = start + u64::from(shape.latency) + cycles - 1;
        let mut done = hit;
        for &line in lines {
            done = done.max(match self.scalar.find(line) {
                Some(ready) => ready,
                None => {
                    let ready = self.below_scalar(line, start);
                    self.scalar.put(line, ready, false);
                    ready
                }
            });
        }
        done
    }

    /// When a vector load of `lines` on compute unit `unit` is done whose addresses take `passes` cycles; `coherent`: L1 is passed over.
    pub fn vector_load(
        &mut self,
        lines: &[u64],
        passes: u64,
        coherent: bool,
        (unit, at): (usize, u64),
    ) -> u64 {
        let parts = (u64::from(self.timing.vector_cache.line) / LINE).max(1);
        let mut done =
            at + u64::from(self.timing.vector_cache.latency) + passes.saturating_sub(self.addresses);
        for (i, &line) in lines.iter().enumerate() {
            let at = at + i as u64 * passes / lines.len() as u64;
            let hit = at + u64::from(self.timing.vector_cache.latency);
            let known = if coherent { None } else { self.vector[unit].find(line / parts) };
            done = done.max(match known {
                Some(ready) => ready.max(hit),
                None if coherent => self.below(line, at),
                None => {
                    // The whole line comes, in parts.
                    let first = line / parts * parts;
                    let ready = (first..first + parts).map(|part| self.below(part, at)).max().unwrap_or(at);
                    self.vector[unit].put(line / parts, ready, false);
                    ready
                }
            });
        }
        done
    }

    /// When L2 has acknowledged a store to `lines`: L1 writes through, and L2 keeps lines whole without reading them.
    pub fn store(&mut self, lines: &[u64], passes: u64, at: u64) -> u64 {
        let mut done = at + u64::from(self.timing.l2.latency);
        for (i, &line) in lines.iter().enumerate() {
            let at = at + i as u64 * passes / lines.len() as u64;
            let start = self.from_l2.take(at, self.timing.l2.line_cycles.into());
            let ready = start + u64::from(self.timing.l2.latency);
            self.fill(line, ready, true);
            done = done.max(ready);
        }
        done
    }

    /// Empties the vector L1 of compute unit `unit`.
    pub fn invalidate_vector(&mut self, unit: usize) {
        self.vector[unit].invalidate();
    }

    /// Empties the scalar cache.
    pub fn invalidate_scalar(&mut self) {
        self.scalar.invalidate();
    }

    /// What the caches found.
    pub fn caches(&self) -> Caches {
        let vector = |count: fn(&Found) -> u64| self.vector.iter().map(|cache| count(&cache.found)).sum();
        Caches {
            instruction: self.instruction.found,
            scalar: self.scalar.found,
            vector: Found { hits: vector(|f| f.hits), misses: vector(|f| f.misses) },
            l2: self.l2.found,
        }
    }

    /// Adds the ways' busy cycles.
    pub fn add_busy(&self, busy: &mut Busy) {
        busy.fetch = self.fetch.busy;
        busy.l2 = self.from_l2.busy;
        busy.memory = self.memory.busy;
    }
}
