//! Which stores of other work-groups a load may rely on.
//!
//! Work-groups run one after the other here, so a load always finds what an earlier one has stored. Hardware promises that only where
//! the store is *published*: stores reach L2 in any order that the waits allow, and the vector L1 of the reader knows none of them until it is
//! invalidated.
//!
//! **Idea.** The stores of a wave are cut into *epochs*; an epoch ends where a wait proves all of its stores done. Each stored byte names the *event* that
//! stored it: wave, epoch, and what that wave knew of other waves (by barriers and by what it had acquired itself). A wave *acquires* from an
//! event when it has found the event's bytes with a load that goes past L1 (an atomic operation or a coherent load), has waited for
//! that load, and then invalidates L1. That proves all epochs of the event's wave before the event's own, and all that the event's wave knew. So a plain
//! load of another work-group's byte
//!
//! * is fine where its epoch is proven;
//! * tells of a **missing wait or barrier before the release** where an event of the same work-group has been acquired that does not prove it: flag and
//!   data were under way together;
//! * tells of a **missing invalidation** where an event that would prove it has been found, but not been acquired;
//! * says nothing otherwise (the program synchronises in a way that cannot be seen, or races on purpose).
//!
//! A read-modify-write hands on what the value before it published (a release sequence): its event points to that one's.
//!
//! **Cost.** Four bytes a stored byte, an event for each epoch and for each atomic operation that hands on; a work-group that
//! makes more than [`EVENTS_MAX`] is not followed any further.

use crate::report::Checks;
use crate::strict::races::{Path, Paths};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Names an event; 0 is none.
pub type EventId = u32;

/// Marks events of the work-group that is running.
const LOCAL: EventId = 1 << 31;
/// Most events of a work-group, and of all committed ones by 16.
const EVENTS_MAX: usize = 1 << 16;
/// Most events that are followed along a chain of read-modify-writes.
const CHAIN_MAX: usize = 1 << 12;
/// Most loads that a wave may still acquire from.
const SEEN_MAX: usize = 64;

/// A wave of the dispatch: number of the work-group, number of the wave.
pub type Agent = (u64, u32);

/// For each wave the epochs that are proven done: all below the number.
type Clock = FxHashMap<Agent, u32>;

/// What stored a byte.
#[derive(Clone, Debug)]
pub struct Event {
    agent: Agent,
    epoch: u32,
    /// What it replaced by a read-modify-write.
    chain: EventId,
    known: Option<Arc<Clock>>,
}

/// Events of committed work-groups.
#[derive(Debug, Default)]
pub struct Events(Vec<Event>);

impl Events {
    /// Takes over the events of a work-group that are in `used`; what became of each.
    pub fn adopt(
        &mut self,
        local: &[Event],
        used: impl Iterator<Item = EventId>,
    ) -> FxHashMap<EventId, EventId> {
        let mut new = FxHashMap::default();
        let mut pending: Vec<EventId> = used.collect();
        // First all that are reachable get numbers, then their chains are written down.
        while let Some(id) = pending.pop() {
            let Some(event) = local_event(local, id) else { continue };
            if new.contains_key(&id) || self.0.len() >= 16 * EVENTS_MAX {
                continue;
            }
            self.0.push(event.clone());
            new.insert(id, self.0.len() as EventId);
            pending.push(event.chain);
        }
        for &id in new.values() {
            if let Some(event) = self.0.get_mut(id as usize - 1)
                && event.chain & LOCAL != 0
            {
                event.chain = new.get(&event.chain).copied().unwrap_or(0);
            }
        }
        new
    }

    fn get(&self, id: EventId) -> Option<&Event> {
        self.0.get((id as usize).wrapping_sub(1))
    }
}

fn local_event(local: &[Event], id: EventId) -> Option<&Event> {
    if id & LOCAL == 0 { None } else { local.get((id & !LOCAL) as usize) }
}

/// A load past L1 that found an event's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Seen {
    event: EventId,
    path: Path,
    number: u32,
    /// It was done when the cache behind L1 was invalidated.
    past: bool,
}

#[derive(Clone, Debug, Default)]
struct WaveOrder {
    /// Epochs of the work-group's waves that L1 knew when it was invalidated last.
    fresh: Clock,
    epoch: u32,
    /// Number of the last store of the epoch by path; 0 for none.
    last: Paths,
    /// The event of plain stores now; 0 for none yet.
    event: EventId,
    seen: Vec<Seen>,
}

/// Why a load may not find what it found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Doubt {
    /// The store may still have been under way when it was published.
    Release(Agent),
    /// L1 has not been invalidated since the load that synchronises was done.
    Acquire(Agent),
}

impl Doubt {
    /// The check that reports it.
    pub fn check(self) -> Checks {
        match self {
            Self::Release(_) => Checks::RELEASE,
            Self::Acquire(_) => Checks::STALE,
        }
    }
}

/// The memory instruction that is being executed.
#[derive(Clone, Copy, Debug)]
pub struct Issue {
    /// Its wave.
    pub wave: u32,
    /// How it goes.
    pub path: Path,
    /// Its number among the wave's accesses by this path; 0 for scalar memory, which is not followed.
    pub number: u32,
    /// It is a read-modify-write.
    pub atomic: bool,
    /// It goes past the L1 of its wave, though not past all caches.
    pub past_l1: bool,
}

/// What a work-group that is running has stored and may rely on.
#[derive(Debug)]
pub struct Tracker<'a> {
    committed: &'a Events,
    group: u64,
    events: Vec<Event>,
    waves: Vec<WaveOrder>,
    acquired: Clock,
    /// `acquired` as the events of now know it.
    known: Option<Arc<Clock>>,
    /// A chain was too long: nothing is doubted any more.
    trusts_all: bool,
    /// Waves of the work-group may have L1 caches of their own.
    apart: bool,
    issue: Issue,
}

impl<'a> Tracker<'a> {
    /// For work-group number `group`.
    ///
    /// `apart`: each of its waves may have an L1 of its own.
    pub fn new(committed: &'a Events, group: u64, apart: bool) -> Self {
        let issue = Issue { wave: 0, path: Path::Vmem, number: 0, atomic: false, past_l1: false };
        Self {
            committed,
            group,
            events: Vec::new(),
            waves: Vec::new(),
            acquired: Clock::default(),
            known: None,
            trusts_all: false,
            apart,
            issue,
        }
    }

    /// Its events.
    pub fn into_events(self) -> Vec<Event> {
        self.events
    }

    fn wave(&mut self, wave: u32) -> &mut WaveOrder {
        let n = wave as usize;
        if self.waves.len() <= n {
            self.waves.resize(n + 1, WaveOrder::default());
        }
        &mut self.waves[n]
    }

    fn event(&self, id: EventId) -> Option<&Event> {
        local_event(&self.events, id).or_else(|| self.committed.get(id))
    }

    fn known(&mut self) -> Option<Arc<Clock>> {
        if self.known.is_none() && !self.acquired.is_empty() {
            self.known = Some(Arc::new(self.acquired.clone()));
        }
        self.known.clone()
    }

    /// The event of a store that the current instruction makes where `before` stored last.
    pub fn store(&mut self, before: EventId) -> EventId {
        let Issue { wave, path, number, atomic, .. } = self.issue;
        if number == 0 {
            return 0;
        }
        let agent = (self.group, wave);
        let order = self.wave(wave);
        order.last[path as usize] = number;
        let (epoch, current) = (order.epoch, order.event);
        let chain = if atomic { before } else { 0 };
        if chain == 0 && current != 0 {
            return current;
        }
        let known = self.known();
        // What this wave stored there in this epoch has its chain already.
        if let Some(old) = local_event(&self.events, chain)
            && (old.agent, old.epoch) == (agent, epoch)
            && old.known.as_ref().map(Arc::as_ptr) == known.as_ref().map(Arc::as_ptr)
        {
            return chain;
        }
        if self.events.len() >= EVENTS_MAX {
            return 0;
        }
        self.events.push(Event { agent, epoch, chain, known });
        let id = LOCAL | (self.events.len() - 1) as EventId;
        if chain == 0 {
            self.wave(wave).event = id;
        }
        id
    }

    /// A load of the current instruction finds the bytes of `event`; `cached` if L1 may answer it.
    pub fn load(&mut self, event: EventId, cached: bool) -> Result<(), Doubt> {
        if event == 0 || self.trusts_all {
            return Ok(());
        }
        if event & LOCAL != 0 {
            return if self.apart && cached && !self.issue.past_l1 {
                self.doubt_local(event)
            } else {
                Ok(())
            };
        }
        if cached {
            return self.doubt(event).map_or(Ok(()), Err);
        }
        let Issue { wave, path, number, .. } = self.issue;
        let seen = Seen { event, path, number, past: false };
        let list = &mut self.wave(wave).seen;
        if list.last() != Some(&seen) {
            if list.len() >= SEEN_MAX {
                list.remove(0);
            }
            list.push(seen);
        }
        Ok(())
    }

    /// A load finds what another wave of the work-group has stored, where each may have an L1 of its own. What a barrier has handed on is stale
    /// unless L1 was invalidated since; what nothing has handed on is a race, of which nothing is said here.
    fn doubt_local(&self, id: EventId) -> Result<(), Doubt> {
        let Some(event) = local_event(&self.events, id) else { return Ok(()) };
        let knows = |clock: &Clock| clock.get(&event.agent).is_some_and(|&known| known > event.epoch);
        let mine = (self.group, self.issue.wave);
        let fresh = self.waves.get(mine.1 as usize).is_some_and(|order| knows(&order.fresh));
        if event.agent != mine && knows(&self.acquired) && !fresh {
            return Err(Doubt::Acquire(event.agent));
        }
        Ok(())
    }

    fn doubt(&self, id: EventId) -> Option<Doubt> {
        let event = self.event(id)?;
        match self.acquired.get(&event.agent) {
            Some(&known) if known > event.epoch => None,
            Some(_) => Some(Doubt::Release(event.agent)),
            // Another wave of that work-group published something, and no barrier was between.
            None if self.acquired.keys().any(|&(group, _)| group == event.agent.0) => {
                Some(Doubt::Release(event.agent))
            }
            None => {
                let proves = |seen: &Seen| {
                    let mut clock = Clock::default();
                    self.collect(seen.event, &mut clock)
                        && clock.get(&event.agent).is_some_and(|&known| known > event.epoch)
                };
                let found = self.waves.iter().flat_map(|w| &w.seen).any(proves);
                found.then_some(Doubt::Acquire(event.agent))
            }
        }
    }

    /// Adds what `id` proves to `clock`; false where its chain is too long to know.
    fn collect(&self, mut id: EventId, clock: &mut Clock) -> bool {
        for _ in 0..CHAIN_MAX {
            let Some(event) = self.event(id) else { return true };
            let mut add = |agent: Agent, epochs: u32| {
                let entry = clock.entry(agent).or_insert(epochs);
                *entry = epochs.max(*entry);
            };
            add(event.agent, event.epoch);
            event.known.iter().flat_map(|k| k.iter()).for_each(|(&agent, &epochs)| add(agent, epochs));
            id = event.chain;
        }
        false
    }

    fn knows_more(&mut self) {
        self.known = None;
        self.waves.iter_mut().for_each(|w| w.event = 0);
    }
}

impl super::Order for Tracker<'_> {
    fn issue(&mut self, issue: Issue) {
        self.issue = issue;
    }

    fn waited(&mut self, wave: u32, done: Paths) {
        let Some(order) = self.waves.get_mut(wave as usize) else { return };
        let stored = order.last.iter().any(|&n| n != 0);
        if stored && order.last.iter().zip(done).all(|(&last, done)| last <= done) {
            order.epoch += 1;
            order.last = Paths::default();
            order.event = 0;
        }
    }

    fn invalidate_outer(&mut self, wave: u32, done: Paths) {
        let Some(order) = self.waves.get_mut(wave as usize) else { return };
        order.seen.iter_mut().for_each(|s| s.past |= s.number <= done[s.path as usize]);
    }

    fn invalidate(&mut self, wave: u32) {
        if self.apart {
            let group = self.group;
            let own = self.acquired.iter().filter(|((g, _), _)| *g == group);
            let fresh = own.map(|(&agent, &epochs)| (agent, epochs)).collect();
            self.wave(wave).fresh = fresh;
        }
        let Some(order) = self.waves.get_mut(wave as usize) else { return };
        let seen = std::mem::take(&mut order.seen);
        let (now, later): (Vec<_>, Vec<_>) = seen.into_iter().partition(|s| s.past);
        order.seen = later;
        if now.is_empty() {
            return;
        }
        let mut acquired = std::mem::take(&mut self.acquired);
        for seen in &now {
            self.trusts_all |= !self.collect(seen.event, &mut acquired);
        }
        self.acquired = acquired;
        self.knows_more();
    }

    fn barrier(&mut self) {
        let mut changed = false;
        for (n, order) in
            self.waves.iter().enumerate().filter(|(_, o)| o.epoch != 0 || o.last != Paths::default())
        {
            let before = self.acquired.insert((self.group, n as u32), order.epoch);
            changed |= before != Some(order.epoch);
        }
        if changed {
            self.knows_more();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Order;
    use super::*;

    const FIRST: Issue = Issue { wave: 0, path: Path::Vmem, number: 1, atomic: false, past_l1: false };

    fn store(t: &mut Tracker<'_>, wave: u32, number: u32) -> EventId {
        t.issue(Issue { wave, number, ..FIRST });
        t.store(0)
    }

    /// Commits a writer's events; what became of `ids`.
    fn commit(committed: &mut Events, local: Vec<Event>, ids: [EventId; 2]) -> [EventId; 2] {
        let new = committed.adopt(&local, ids.into_iter());
        ids.map(|id| new[&id])
    }

    fn read(t: &mut Tracker<'_>, data: EventId) -> Result<(), Doubt> {
        t.issue(Issue { number: 9, ..FIRST });
        t.load(data, true)
    }

    #[test]
    fn a_release_needs_a_wait_and_an_acquire_an_invalidation() {
        for wait in [false, true] {
            let mut committed = Events::default();
            let mut writer = Tracker::new(&committed, 0, false);
            let data = store(&mut writer, 0, 1);
            if wait {
                writer.waited(0, [0, 0, 1, 0, 0]);
            }
            let flag = store(&mut writer, 0, 2);
            let events = writer.into_events();
            let [data, flag] = commit(&mut committed, events, [data, flag]);
            let mut reader = Tracker::new(&committed, 1, false);
            assert_eq!(read(&mut reader, data), Ok(()), "nothing is known of the program's order");
            reader.issue(FIRST);
            reader.load(flag, false).unwrap();
            if wait {
                assert_eq!(read(&mut reader, data), Err(Doubt::Acquire((0, 0))));
                // The load of the flag must be done first.
                reader.invalidate_outer(0, Paths::default());
                reader.invalidate(0);
                assert_eq!(read(&mut reader, data), Err(Doubt::Acquire((0, 0))));
            }
            reader.invalidate_outer(0, [0, 0, 1, 0, 0]);
            reader.invalidate(0);
            let expected = if wait { Ok(()) } else { Err(Doubt::Release((0, 0))) };
            assert_eq!(read(&mut reader, data), expected);
        }
    }

    /// The waves of a work-group on a pair of compute units: what a barrier hands on is stale until L1 is invalidated.
    #[test]
    fn waves_of_a_pair_have_caches_of_their_own() {
        let committed = Events::default();
        for apart in [false, true] {
            let mut t = Tracker::new(&committed, 0, apart);
            let data = store(&mut t, 0, 1);
            t.waited(0, [0, 0, 1, 0, 0]);
            let reader = Issue { wave: 1, number: 9, ..FIRST };
            t.issue(reader);
            assert_eq!(t.load(data, true), Ok(()), "nothing has handed it on");
            t.barrier();
            t.issue(reader);
            let expected = if apart { Err(Doubt::Acquire((0, 0))) } else { Ok(()) };
            assert_eq!(t.load(data, true), expected);
            t.issue(Issue { past_l1: true, ..reader });
            assert_eq!(t.load(data, true), Ok(()));
            t.invalidate(1);
            t.issue(reader);
            assert_eq!(t.load(data, true), Ok(()));
        }
    }

    #[test]
    fn barriers_and_atomic_chains_hand_on() {
        for wait in [false, true] {
            let mut committed = Events::default();
            let mut writer = Tracker::new(&committed, 0, false);
            let data = store(&mut writer, 1, 1);
            if wait {
                writer.waited(1, [0, 0, 1, 0, 0]);
            }
            writer.barrier();
            let flag = store(&mut writer, 0, 1);
            let events = writer.into_events();
            let [data, flag] = commit(&mut committed, events, [data, flag]);
            // Another work-group counts on without looking.
            let mut middle = Tracker::new(&committed, 1, false);
            middle.issue(Issue { atomic: true, ..FIRST });
            let counted = middle.store(flag);
            assert_eq!(middle.store(counted), counted);
            let events = middle.into_events();
            let [counted, _] = commit(&mut committed, events, [counted, counted]);
            let mut reader = Tracker::new(&committed, 2, false);
            reader.issue(FIRST);
            reader.load(counted, false).unwrap();
            reader.invalidate_outer(0, [0, 0, 1, 0, 0]);
            reader.invalidate(0);
            let expected = if wait { Ok(()) } else { Err(Doubt::Release((0, 1))) };
            assert_eq!(read(&mut reader, data), expected);
        }
    }
}
