//! A private view of memory for one work-group, so that work-groups can run at the same time with the result of running one after
//! the other.
//!
//! A view reads the shared memory and keeps what is written to itself, page by page, with marks for each byte read and
//! each byte written. When all earlier work-groups have been committed, the view is valid if none of them wrote a byte that it read;
//! then its written bytes are copied over. Otherwise the work-group runs again, on the memory as it is by then. Scratch belongs to the
//! work-group: it starts undefined and is neither checked nor committed.
//!
//! With a [`History`] the view also follows which stores of earlier work-groups a load may rely on ([`super::order`]).
//!
//! Cost: a table lookup an access; memory in proportion to the pages touched.

use super::order::{Doubt, Event, EventId, Events, Tracker};
use super::{Bus, Cache, Memory, Order, RegionKind, UNDEFINED_BYTE};
use crate::report::{Checks, Kind, Report, Result};
use rustc_hash::FxHashMap;

const PAGE_BITS: u32 = 12;
const PAGE: usize = 1 << PAGE_BITS;
const WORDS: usize = PAGE / 64;

/// A bit for each byte of a page.
type Marks = [u64; WORDS];

#[derive(Debug)]
struct Own {
    data: [u8; PAGE],
    undef: [u8; PAGE],
}

#[derive(Debug)]
struct Page {
    region: u32,
    index: u32,
    reads: Marks,
    writes: Marks,
    own: Option<Box<Own>>,
    /// The events that stored its bytes, where that is followed.
    origins: Option<Box<Origins>>,
}

/// For each byte of a page the event that stored it.
type Origins = [EventId; PAGE];

/// Bytes written by committed work-groups, by region and page.
pub type Written = FxHashMap<(u32, u32), Box<Marks>>;

/// What committed work-groups have stored, for the checks of caches and of order.
#[derive(Debug)]
pub struct History {
    checks: Checks,
    written: Written,
    origins: FxHashMap<(u32, u32), Box<Origins>>,
    events: Events,
    apart: bool,
}

impl History {
    /// Nothing stored yet; which of [`Checks::STALE`] and [`Checks::RELEASE`] are on.
    ///
    /// `apart`: each wave of a work-group may have an L1 of its own.
    pub fn new(checks: Checks, apart: bool) -> Self {
        let (written, origins) = (Written::default(), FxHashMap::default());
        Self { checks, written, origins, events: Events::default(), apart }
    }
}

/// What a work-group read and wrote.
#[derive(Debug)]
pub struct Delta {
    pages: Vec<Page>,
    events: Vec<Event>,
}

/// The view.
#[derive(Debug)]
pub struct View<'a> {
    memory: &'a Memory,
    last: usize,
    /// For each region, for each page, its number in `pages` plus 1.
    tables: Vec<Vec<u32>>,
    pages: Vec<Page>,
    /// What other work-groups have stored, and what of it may be relied on.
    history: Option<(&'a History, Tracker<'a>)>,
    cache: Cache,
}

fn mark(marks: &mut Marks, at: usize, len: usize) {
    let (mut at, end) = (at, at + len);
    while at < end {
        let n = (64 - at % 64).min(end - at);
        marks[at / 64] |= (u64::MAX >> (64 - n)) << (at % 64);
        at += n;
    }
}

impl<'a> View<'a> {
    /// A view of `memory` for work-group number `group`. With a history, loads are checked against the stores in it.
    pub fn new(memory: &'a Memory, history: Option<&'a History>, group: u64) -> Self {
        let tables = vec![Vec::new(); memory.regions.len()];
        let history = history.map(|h| (h, Tracker::new(&h.events, group, h.apart)));
        Self { memory, last: 0, tables, pages: Vec::new(), history, cache: Cache::Fresh }
    }

    /// Reports a load that a cache may answer with what was there before a store it does not know.
    fn check_cache(&mut self, region: usize, index: usize, inside: usize, len: usize) -> Result<()> {
        let Some((history, _)) = &self.history else { return Ok(()) };
        if !history.checks.contains(Checks::STALE) {
            return Ok(());
        }
        let (cache, base) = (self.cache, self.memory.regions[region].base);
        let others = history.written.get(&(region as u32, index as u32));
        let page = self.page(region, index);
        let mut range = [0; WORDS];
        mark(&mut range, inside, len);
        for (k, bits) in range.iter().enumerate() {
            let (own, other) = (page.writes[k], others.map_or(0, |o| o[k]));
            let stale = bits & if cache == Cache::Scalar { own | other } else { other & !own };
            if stale != 0 {
                let at = base + (index * PAGE + 64 * k) as u64 + u64::from(stale.trailing_zeros());
                let (which, by) = match cache {
                    Cache::Scalar => ("scalar", "a vector store of this dispatch"),
                    _ => ("vector", "another work-group"),
                };
                let message = format!(
                    "0x{at:x} has been written by {by}, which the {which} cache may not know: no invalidation before the load"
                );
                return Err(Report::new(Kind::Stale, message));
            }
        }
        Ok(())
    }

    /// Reports a load that finds a store which hardware need not have made visible yet.
    fn check_order(&mut self, region: usize, index: usize, inside: usize, len: usize) -> Result<()> {
        let Some((history, tracker)) = &mut self.history else { return Ok(()) };
        let origins = history.origins.get(&(region as u32, index as u32));
        let number = self.tables[region].get(index).copied().unwrap_or(0) as usize;
        let page = self.pages.get(number.wrapping_sub(1));
        let local = page.and_then(|p| p.origins.as_ref()).filter(|_| history.apart);
        if origins.is_none() && local.is_none() {
            return Ok(());
        }
        let own = page.map(|p| &p.writes);
        let mut last = 0;
        for at in inside..inside + len {
            let event = match own.is_some_and(|w| w[at / 64] >> (at % 64) & 1 != 0) {
                true => local.map_or(0, |o| o[at]),
                false => origins.map_or(0, |o| o[at]),
            };
            if event == last {
                continue;
            }
            last = event;
            if let Err(doubt) = tracker.load(event, self.cache != Cache::Coherent)
                && history.checks.contains(doubt.check())
            {
                let address = self.memory.regions[region].base + (index * PAGE + at) as u64;
                return Err(doubtful(doubt, address));
            }
        }
        Ok(())
    }

    /// Notes what stored `len` bytes of a page.
    fn note_origin(&mut self, region: usize, index: usize, inside: usize, len: usize) {
        let Some((history, tracker)) = &mut self.history else { return };
        let number = self.tables[region].get(index).copied().unwrap_or(0) as usize;
        let Some(page) = self.pages.get_mut(number.wrapping_sub(1)) else { return };
        let origins = page.origins.get_or_insert_with(|| Box::new([0; PAGE]));
        let before = match origins[inside] {
            0 => history.origins.get(&(region as u32, index as u32)).map_or(0, |o| o[inside]),
            own => own,
        };
        let event = tracker.store(before);
        origins[inside..inside + len].fill(event);
    }

    /// What has been read and written.
    pub fn finish(self) -> Delta {
        Delta { pages: self.pages, events: self.history.map_or_else(Vec::new, |(_, t)| t.into_events()) }
    }

    fn find(&mut self, address: u64, len: usize) -> Option<usize> {
        let i = self.memory.find_from(self.last, address, len)?;
        self.last = i;
        Some(i)
    }

    fn page(&mut self, region: usize, index: usize) -> &mut Page {
        let table = &mut self.tables[region];
        if table.is_empty() {
            table.resize(self.memory.regions[region].data.len().div_ceil(PAGE), 0);
        }
        if table[index] == 0 {
            let (region, index32) = (region as u32, index as u32);
            self.pages.push(Page {
                region,
                index: index32,
                reads: [0; WORDS],
                writes: [0; WORDS],
                own: None,
                origins: None,
            });
            table[index] = self.pages.len() as u32;
        }
        let number = table[index] as usize - 1;
        &mut self.pages[number]
    }

    /// The parts of an access by page: (page, offset in the page, offset in the access, bytes).
    fn parts(at: usize, len: usize) -> impl Iterator<Item = (usize, usize, usize, usize)> {
        let mut done = 0;
        std::iter::from_fn(move || {
            if done == len {
                return None;
            }
            let place = at + done;
            let n = (PAGE - place % PAGE).min(len - done);
            let part = (place / PAGE, place % PAGE, done, n);
            done += n;
            Some(part)
        })
    }
}

fn doubtful(doubt: Doubt, at: u64) -> Box<Report> {
    let (kind, (group, wave), why) = match doubt {
        Doubt::Release(agent) => (
            Kind::Release,
            agent,
            "what was acquired from that work-group does not prove it done (a wait before the release, or a barrier, is missing)",
        ),
        Doubt::Acquire(agent) => {
            (Kind::Stale, agent, "the vector cache was not invalidated after the load that synchronises")
        }
    };
    Report::new(kind, format!("0x{at:x} was stored by wave {wave} of work-group number {group}: {why}"))
}

/// A page's contents to begin with.
fn contents(memory: &Memory, region: usize, index: usize) -> Box<Own> {
    let r = &memory.regions[region];
    let mut own = Box::new(Own { data: [UNDEFINED_BYTE; PAGE], undef: [0xff; PAGE] });
    if !matches!(r.kind, RegionKind::Scratch(_)) {
        let (start, end) = (index * PAGE, ((index + 1) * PAGE).min(r.data.len()));
        own.data[..end - start].copy_from_slice(&r.data[start..end]);
        own.undef[..end - start].copy_from_slice(&r.undef[start..end]);
    }
    own
}

impl Bus for View<'_> {
    fn cache(&mut self, cache: Cache) -> Cache {
        std::mem::replace(&mut self.cache, cache)
    }

    #[inline]
    fn load(&mut self, address: u64, out: &mut [u8], undef: &mut [u8]) -> Result<()> {
        let memory = self.memory;
        let len = out.len();
        let Some(i) = self.find(address, len) else { return Err(memory.fault("load", address, len)) };
        let r = &memory.regions[i];
        let at = (address - r.base) as usize;
        if !r.writable {
            out.copy_from_slice(&r.data[at..at + len]);
            undef.copy_from_slice(&r.undef[at..at + len]);
            return Ok(());
        }
        let private = matches!(r.kind, RegionKind::Scratch(_));
        for (index, inside, done, n) in Self::parts(at, len) {
            if !private {
                if matches!(self.cache, Cache::Vector | Cache::Scalar) {
                    self.check_cache(i, index, inside, n)?;
                }
                if !matches!(self.cache, Cache::Scalar | Cache::Fresh) {
                    self.check_order(i, index, inside, n)?;
                }
            }
            let page = self.page(i, index);
            if private && page.own.is_none() {
                page.own = Some(contents(memory, i, index));
            }
            mark(&mut page.reads, inside, n);
            match &page.own {
                Some(own) => {
                    out[done..done + n].copy_from_slice(&own.data[inside..inside + n]);
                    undef[done..done + n].copy_from_slice(&own.undef[inside..inside + n]);
                }
                None => {
                    out[done..done + n].copy_from_slice(&r.data[at + done..at + done + n]);
                    undef[done..done + n].copy_from_slice(&r.undef[at + done..at + done + n]);
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn store(&mut self, address: u64, bytes: &[u8], undef: &[u8]) -> Result<()> {
        let memory = self.memory;
        let len = bytes.len();
        let Some(i) = self.find(address, len) else { return Err(memory.fault("store", address, len)) };
        let r = &memory.regions[i];
        if !r.writable {
            return Err(memory.read_only(i, address, len));
        }
        let at = (address - r.base) as usize;
        for (index, inside, done, n) in Self::parts(at, len) {
            let page = self.page(i, index);
            mark(&mut page.writes, inside, n);
            let own = page.own.get_or_insert_with(|| contents(memory, i, index));
            own.data[inside..inside + n].copy_from_slice(&bytes[done..done + n]);
            own.undef[inside..inside + n].copy_from_slice(&undef[done..done + n]);
            if self.history.is_some() && !matches!(r.kind, RegionKind::Scratch(_)) {
                self.note_origin(i, index, inside, n);
            }
        }
        Ok(())
    }

    fn order(&mut self) -> Option<&mut dyn Order> {
        self.history.as_mut().map(|(_, tracker)| tracker as &mut dyn Order)
    }

    fn kind_at(&mut self, address: u64) -> Option<RegionKind> {
        self.find(address, 1).map(|i| self.memory.regions[i].kind)
    }
}

impl Delta {
    /// Whether nothing that was read is among `written`.
    pub fn is_valid(&self, written: &Written, memory: &Memory) -> bool {
        written.is_empty()
            || self.pages.iter().filter(|p| !p.is_private(memory)).all(|p| {
                written
                    .get(&(p.region, p.index))
                    .is_none_or(|marks| p.reads.iter().zip(marks.iter()).all(|(r, w)| r & w == 0))
            })
    }

    /// Adds what was written to `history`.
    pub fn record(&self, memory: &Memory, history: &mut History) {
        let written = |p: &&Page| p.own.is_some() && !p.is_private(memory);
        let used = self.pages.iter().filter(written).filter_map(|p| p.origins.as_ref());
        let mut last = 0;
        let distinct = used.flat_map(|o| o.iter().copied()).filter(|&id| {
            let new = id != 0 && id != last;
            last = id;
            new
        });
        let new = history.events.adopt(&self.events, distinct);
        for page in self.pages.iter().filter(written) {
            let key = (page.region, page.index);
            let marks = history.written.entry(key).or_insert_with(|| Box::new([0; WORDS]));
            marks.iter_mut().zip(page.writes).for_each(|(m, w)| *m |= w);
            let Some(own) = &page.origins else { continue };
            let origins = history.origins.entry(key).or_insert_with(|| Box::new([0; PAGE]));
            let (mut last, mut id) = (0, 0);
            for at in (0..PAGE).filter(|at| page.writes[at / 64] >> (at % 64) & 1 != 0) {
                if own[at] != last {
                    (last, id) = (own[at], new.get(&own[at]).copied().unwrap_or(0));
                }
                origins[at] = id;
            }
        }
    }

    /// Copies what was written to `memory` and marks it in `written`.
    pub fn commit(self, memory: &mut Memory, written: &mut Written) {
        for page in self.pages {
            if page.is_private(memory) {
                continue;
            }
            let Some(own) = &page.own else { continue };
            let start = page.index as usize * PAGE;
            let r = &mut memory.regions[page.region as usize];
            let marks = written.entry((page.region, page.index)).or_insert_with(|| Box::new([0; WORDS]));
            for (k, &w) in page.writes.iter().enumerate() {
                marks[k] |= w;
                let at = 64 * k;
                if w == u64::MAX {
                    r.data[start + at..start + at + 64].copy_from_slice(&own.data[at..at + 64]);
                    r.undef[start + at..start + at + 64].copy_from_slice(&own.undef[at..at + 64]);
                    continue;
                }
                for b in (0..64).filter(|b| w >> b & 1 != 0) {
                    r.data[start + at + b] = own.data[at + b];
                    r.undef[start + at + b] = own.undef[at + b];
                }
            }
        }
    }
}

impl Page {
    fn is_private(&self, memory: &Memory) -> bool {
        matches!(memory.regions[self.region as usize].kind, RegionKind::Scratch(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_see_their_own_stores_and_conflicts_are_found() {
        let mut m = Memory::new();
        let a = m.add_buffer("a", (0..100).collect());
        let load = |v: &mut View<'_>, at: u64| {
            let (mut b, mut u) = ([0], [0]);
            v.load(a.address() + at, &mut b, &mut u).map(|()| b[0])
        };
        let (first, second, third) = {
            let mut v = View::new(&m, None, 0);
            v.store(a.address() + 3, &[77], &[0]).unwrap();
            assert_eq!((load(&mut v, 3).unwrap(), load(&mut v, 4).unwrap()), (77, 4));
            assert!(load(&mut v, 100).is_err());
            let mut w = View::new(&m, None, 0);
            assert_eq!(load(&mut w, 3).unwrap(), 3);
            let mut x = View::new(&m, None, 0);
            assert_eq!(load(&mut x, 2).unwrap(), 2);
            x.store(a.address() + 5, &[55], &[0xff]).unwrap();
            (v.finish(), w.finish(), x.finish())
        };
        let mut written = Written::default();
        assert!(first.is_valid(&written, &m));
        let mut history = History::new(Checks::default(), false);
        first.record(&m, &mut history);
        first.commit(&mut m, &mut written);
        assert!(!second.is_valid(&written, &m) && third.is_valid(&written, &m));
        third.record(&m, &mut history);
        third.commit(&mut m, &mut written);
        assert_eq!(m.bytes(a)[2..6], [2, 77, 4, 55]);
        assert_eq!(m.undefined_bits(a)[5], 0xff);
        let mut v = View::new(&m, Some(&history), 1);
        v.cache(Cache::Vector);
        assert_eq!(load(&mut v, 3).unwrap_err().kind, Kind::Stale);
        assert!(load(&mut v, 4).is_ok());
        v.store(a.address() + 3, &[1], &[0]).unwrap();
        assert!(load(&mut v, 3).is_ok());
        v.cache(Cache::Scalar);
        assert!(load(&mut v, 3).is_err());
    }
}
