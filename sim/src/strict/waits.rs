//! Which registers wait for memory, and what `s_waitcnt` proves about them.
//!
//! Every memory operation is an *event* in one or two counters. A wait for `counter <= n` proves only what follows in every
//! order that the hardware allows: of the `total` events of the counter at least `total - n` are done. Events of a kind
//! that completes in order (VMEM among themselves, LDS among themselves) are done oldest first; in the worst
//! case all events of other kinds finish first, so of `m` in-order events of one kind `m - n` are proven done. Events
//! that complete in any order (scalar memory, FLAT) are proven done by zero alone.
//!
//! A register in flight may be neither read nor written, except that a later event of the same in-order kind may
//! write it again. Cost: constant for instructions while nothing is in flight; a wait is linear in the events.

use super::races::Paths;
use mir::machine::PReg;
use mir::target::{Counter, WaitCounts};
use smallvec::SmallVec;

/// What an event is, which decides the order in which it completes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventKind {
    /// Vector memory: in order.
    Vmem,
    /// LDS: in order.
    Lds,
    /// GDS: in order.
    Gds,
    /// Scalar memory: any order.
    Smem,
    /// FLAT that may be answered by LDS or memory: any order.
    Flat,
    /// Messages.
    Message,
    /// Exports and GDS or store data: in order.
    Export,
    /// Vector memory without result, where it is counted apart: in order.
    Store,
    /// The same of FLAT, which LDS or memory may answer: any order.
    FlatStore,
    /// Images through a sampler where these return in another order than loads: in order among themselves.
    Sampled,
}

impl EventKind {
    const COUNT: usize = 10;

    /// The kind with which it completes in order in `counter`. `together`: FLAT does so with vector memory and, in the other counter, with LDS, as on
    /// GFX10 (LLVM, `hasFlatLgkmVMemCountInOrder`); elsewhere it is of its own kind.
    fn among(self, counter: Counter, together: bool) -> Self {
        match (self, counter) {
            (Self::Flat | Self::FlatStore, Counter::Lgkm) if together => Self::Lds,
            (Self::Flat, _) if together => Self::Vmem,
            (Self::FlatStore, _) if together => Self::Store,
            _ => self,
        }
    }

    fn in_order(self) -> bool {
        !matches!(self, Self::Smem | Self::Flat | Self::FlatStore | Self::Message)
    }
}

/// A range of registers in the numbering of [`PReg`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegRange {
    /// First register.
    pub first: u16,
    /// Number of registers.
    pub len: u8,
}

#[derive(Clone, Debug)]
struct Event {
    id: u32,
    kind: EventKind,
    regs: SmallVec<[RegRange; 2]>,
}

/// Number of registers in the numbering of [`PReg`].
pub const REGS: usize = 768;

#[derive(Clone, Debug, Default)]
struct Queue {
    events: Vec<Event>,
    /// For each register the event that still writes (or reads, for `Exp`) it; 0 for none.
    pending: Vec<u32>,
}

/// State of the counters of a wave.
#[derive(Clone, Debug)]
pub struct Waits {
    queues: [Queue; Counter::COUNT],
    next_id: u32,
    live: u32,
    max: WaitCounts,
    issued: [u32; EventKind::COUNT],
}

impl Waits {
    /// Counters that count to `max`, at zero.
    pub fn new(max: WaitCounts) -> Self {
        let queue = |_| Queue { events: Vec::new(), pending: vec![0; REGS] };
        Self { queues: Counter::ALL.map(queue), next_id: 1, live: 0, max, issued: [0; EventKind::COUNT] }
    }

    /// Forgets everything.
    pub fn reset(&mut self) {
        for q in &mut self.queues {
            q.events.clear();
            q.pending.fill(0);
        }
        self.live = 0;
        self.next_id = 1;
        self.issued = [0; EventKind::COUNT];
    }

    /// Events of `kind` so far.
    pub fn issued(&self, kind: EventKind) -> u32 {
        self.issued[kind as usize]
    }

    /// Events of `kind` that are proven done, the oldest first.
    pub fn done(&self, kind: EventKind) -> u32 {
        let left = |q: &Queue| q.events.iter().filter(|e| e.kind == kind).count() as u32;
        let outstanding = self.queues.iter().map(left).max().unwrap_or(0);
        self.issued[kind as usize].saturating_sub(outstanding)
    }

    /// Events of a counter that are not proven done.
    pub fn outstanding(&self, counter: Counter) -> u32 {
        self.queues[counter as usize].events.len() as u32
    }

    /// Accesses that are proven done by [`super::races::Path`].
    pub fn done_by_path(&self) -> Paths {
        use EventKind::{Flat, FlatStore, Lds, Store, Vmem};
        [Lds, Flat, Vmem, FlatStore, Store].map(|kind| self.done(kind))
    }

    /// Registers that a memory operation of `kind` writes (`Vm`, `Lgkm`) or reads late (`Exp`).
    pub fn issue(&mut self, counter: Counter, kind: EventKind, regs: &[RegRange]) {
        let max = u32::from(self.max[counter]);
        let q = counter as usize;
        if self.queues[q].events.len() as u32 >= max {
            // The hardware does not issue while the counter is at its maximum.
            self.wait(counter, max.saturating_sub(1));
        }
        let id = self.next_id;
        self.next_id += 1;
        // FLAT counts in two counters, once here.
        let twice = matches!(kind, EventKind::Flat | EventKind::FlatStore) && counter != Counter::Lgkm;
        self.issued[kind as usize] += u32::from(!twice);
        for r in regs {
            for reg in r.first..r.first + u16::from(r.len) {
                if let Some(p) = self.queues[q].pending.get_mut(usize::from(reg)) {
                    self.live += u32::from(*p == 0);
                    *p = id;
                }
            }
        }
        self.queues[q].events.push(Event { id, kind, regs: regs.into() });
    }

    /// The wave has waited for all of `counts`.
    pub fn wait_for(&mut self, counts: WaitCounts) {
        counts.iter().for_each(|(counter, n)| self.wait(counter, n.into()));
    }

    /// Whether vector memory without result has a counter of its own.
    #[inline]
    pub fn counts_stores(&self) -> bool {
        self.max[Counter::Vs] != 0
    }

    /// A vector memory operation, FLAT or not, that writes `regs`. `returns`: it is of those that have a result.
    pub fn issue_vector(&mut self, flat: bool, returns: bool, regs: &[RegRange]) {
        let (counter, kind) = match (!returns && self.counts_stores(), flat) {
            (false, false) => (Counter::Vm, EventKind::Vmem),
            (false, true) => (Counter::Vm, EventKind::Flat),
            (true, false) => (Counter::Vs, EventKind::Store),
            (true, true) => (Counter::Vs, EventKind::FlatStore),
        };
        self.issue(counter, kind, regs);
        if flat {
            self.issue(Counter::Lgkm, kind, regs);
        }
    }

    /// An image operation through a sampler that writes `regs`. Where stores are counted apart, samples return in an order of their own
    /// (README-ISA of Mesa's ACO, RDNA).
    pub fn issue_sample(&mut self, regs: &[RegRange]) {
        let kind = if self.counts_stores() { EventKind::Sampled } else { EventKind::Vmem };
        self.issue(Counter::Vm, kind, regs);
    }

    /// Whether a wait for `counts` has anything to wait for.
    pub fn exceeds(&self, counts: WaitCounts) -> bool {
        counts.iter().any(|(counter, n)| self.outstanding(counter) > u32::from(n))
    }

    /// The wave has waited until `counter <= n`.
    pub fn wait(&mut self, counter: Counter, n: u32) {
        let together = self.counts_stores();
        let Queue { events, pending } = &mut self.queues[counter as usize];
        if events.is_empty() {
            return;
        }
        let live = &mut self.live;
        let mut finish = |event: &Event| {
            for r in &event.regs {
                for reg in r.first..r.first + u16::from(r.len) {
                    if let Some(p) = pending.get_mut(usize::from(reg))
                        && *p == event.id
                    {
                        *p = 0;
                        *live -= 1;
                    }
                }
            }
        };
        if n == 0 {
            events.iter().for_each(&mut finish);
            events.clear();
            return;
        }
        // Count each in-order kind, then let its oldest go.
        let mut left = [0u32; EventKind::COUNT];
        for e in events.iter() {
            left[e.kind.among(counter, together) as usize] += 1;
        }
        events.retain(|e| {
            let kind = e.kind.among(counter, together);
            let m = &mut left[kind as usize];
            if kind.in_order() && *m > n {
                *m -= 1;
                finish(e);
                false
            } else {
                true
            }
        });
    }

    /// Whether any register is in flight.
    #[inline]
    pub fn any(&self) -> bool {
        self.live != 0
    }

    /// The counter that must be waited for before `reg` may be read.
    pub fn blocks_read(&self, reg: u16) -> Option<Counter> {
        let at = |c: Counter| self.queues[c as usize].pending.get(usize::from(reg)).is_some_and(|p| *p != 0);
        [Counter::Vm, Counter::Lgkm].into_iter().find(|&counter| at(counter))
    }

    /// The counter that must be waited for before `reg` may be written, by an event of `kind` or (`None`) at once.
    pub fn blocks_write(&self, reg: u16, kind: Option<EventKind>) -> Option<Counter> {
        for counter in Counter::ALL {
            let queue = &self.queues[counter as usize];
            let Some(&id) = queue.pending.get(usize::from(reg)) else { continue };
            if id == 0 {
                continue;
            }
            let among = |kind: EventKind| kind.among(counter, self.counts_stores());
            let same = kind.map(among).is_some_and(|kind| {
                kind.in_order() && queue.events.iter().any(|e| e.id == id && among(e.kind) == kind)
            });
            if !same || counter == Counter::Exp {
                return Some(counter);
            }
        }
        None
    }
}

/// The number of VGPR `n` in the numbering of [`PReg`].
pub fn vgpr(n: u16) -> u16 {
    PReg::vgpr(n).0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GFX9's, but for vmcnt.
    fn max(vm: u8) -> WaitCounts {
        WaitCounts::from([vm, 7, 15, 0])
    }

    fn one(first: u16) -> [RegRange; 1] {
        [RegRange { first, len: 1 }]
    }

    #[test]
    fn vector_memory_completes_in_order() {
        let mut w = Waits::new(max(63));
        w.issue(Counter::Vm, EventKind::Vmem, &one(vgpr(1)));
        w.issue(Counter::Vm, EventKind::Vmem, &one(vgpr(2)));
        assert_eq!(w.blocks_read(vgpr(1)), Some(Counter::Vm));
        assert_eq!(w.blocks_write(vgpr(1), Some(EventKind::Vmem)), None);
        assert_eq!(w.blocks_write(vgpr(1), None), Some(Counter::Vm));
        w.wait(Counter::Vm, 1);
        assert_eq!(w.blocks_read(vgpr(1)), None);
        assert_eq!(w.blocks_read(vgpr(2)), Some(Counter::Vm));
        w.wait(Counter::Vm, 0);
        assert!(!w.any());
    }

    #[test]
    fn scalar_loads_need_zero() {
        let mut w = Waits::new(max(63));
        w.issue(Counter::Lgkm, EventKind::Smem, &one(4));
        w.issue(Counter::Lgkm, EventKind::Lds, &one(vgpr(0)));
        w.issue(Counter::Lgkm, EventKind::Lds, &one(vgpr(1)));
        w.wait(Counter::Lgkm, 2);
        // The scalar load may be the one that is done.
        assert!(w.blocks_read(vgpr(0)).is_some() && w.blocks_read(4).is_some());
        w.wait(Counter::Lgkm, 1);
        // Two of three are done: at least the first LDS read.
        assert!(w.blocks_read(vgpr(0)).is_none() && w.blocks_read(vgpr(1)).is_some());
        assert!(w.blocks_read(4).is_some());
        w.wait(Counter::Lgkm, 0);
        assert!(!w.any());
    }

    /// As on GFX10.
    #[test]
    fn stores_and_samples_are_apart() {
        let mut w = Waits::new(WaitCounts::from([63, 7, 63, 63]));
        w.issue_vector(false, true, &one(vgpr(1)));
        w.issue_vector(false, false, &[]);
        assert_eq!((w.outstanding(Counter::Vm), w.outstanding(Counter::Vs)), (1, 1));
        // FLAT answers in order with other vector memory.
        w.issue_vector(true, true, &one(vgpr(2)));
        w.wait(Counter::Vm, 1);
        assert!(w.blocks_read(vgpr(1)).is_none() && w.blocks_read(vgpr(2)).is_some());
        // A sample does not: the one of two that is done may be it.
        w.issue_sample(&one(vgpr(3)));
        w.wait(Counter::Vm, 1);
        assert_eq!(w.blocks_read(vgpr(2)), Some(Counter::Vm));
        w.wait(Counter::Vm, 0);
        assert_eq!(w.blocks_read(vgpr(2)), Some(Counter::Lgkm));
        assert_eq!(w.done(EventKind::Store), 0);
        w.wait(Counter::Vs, 0);
        assert_eq!(w.done(EventKind::Store), 1);
    }

    #[test]
    fn a_full_counter_stalls() {
        let mut w = Waits::new(max(2));
        for i in 0..3 {
            w.issue(Counter::Vm, EventKind::Vmem, &one(vgpr(i)));
        }
        assert!(w.blocks_read(vgpr(0)).is_none() && w.blocks_read(vgpr(1)).is_some());
    }
}
