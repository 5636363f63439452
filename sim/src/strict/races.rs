//! Races between the waves of a work-group, in LDS and (a check of its own) in memory.
//!
//! A write is *ordered* once its wave has waited for it and then all waves have passed a barrier; a read, once all have passed a barrier. For each
//! byte the last write and the last read are kept. An access races with an unordered write of another wave, a write also with an unordered
//! read of another wave. Atomic operations do not race with each other nor with plain reads, nor writes of what is there already.
//!
//! Cost: constant for each byte accessed; nothing for work-groups of one wave.

use rustc_hash::FxHashMap;

/// An access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Plain load.
    Read,
    /// Plain store.
    Write,
    /// Read-modify-write.
    Atomic,
}

/// By which instructions a byte is reached, which decides the waits that prove an access done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Path {
    /// DS instructions.
    Ds,
    /// FLAT instructions.
    Flat,
    /// Vector memory, transfers to LDS included.
    Vmem,
    /// FLAT instructions without result, where stores are counted apart.
    FlatStore,
    /// Vector memory without result, where stores are counted apart.
    Store,
}

/// How many accesses by each [`Path`].
pub type Paths = [u32; 5];

/// Bytes of memory whose cells are kept together.
const BLOCK: u64 = 64;

const NOBODY: u8 = 0xff;
const MANY: u8 = 0xfe;

#[derive(Clone, Copy, Debug)]
struct Cell {
    writer: u8,
    path: Path,
    atomic: bool,
    reader: u8,
    /// Number of the write among its wave's accesses by this path.
    write: u32,
    /// Barrier interval of the read.
    read: u32,
}

/// What two waves do to a byte without order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Race {
    /// Offset of the byte in LDS, or its address.
    pub at: u64,
    /// Whether it is in LDS.
    pub lds: bool,
    /// The other wave.
    pub wave: u8,
    /// What that did.
    pub was: Access,
}

/// An access by a wave.
#[derive(Clone, Copy, Debug)]
pub struct By {
    /// The wave.
    pub wave: u32,
    /// How.
    pub path: Path,
    /// Its number among the wave's accesses by this path.
    pub number: u32,
    /// What.
    pub access: Access,
    /// A store of what is there already.
    pub same: bool,
}

/// The state of a work-group.
#[derive(Clone, Debug)]
pub struct Races {
    lds: Vec<Cell>,
    /// Blocks of memory by number, where that is checked.
    memory: Option<FxHashMap<u64, Box<[Cell; BLOCK as usize]>>>,
    order: Order,
}

#[derive(Clone, Debug)]
struct Order {
    /// For each wave and path, how many of its accesses had been waited for at the last barrier.
    known: Vec<Paths>,
    interval: u32,
}

const FRESH: Cell = Cell { writer: NOBODY, path: Path::Ds, atomic: false, reader: NOBODY, write: 0, read: 0 };

impl Races {
    /// For `lds_bytes` of LDS and `waves` waves; with `memory`, races there are found too.
    pub fn new(lds_bytes: usize, waves: usize, memory: bool) -> Self {
        Self {
            lds: vec![FRESH; lds_bytes],
            memory: memory.then(FxHashMap::default),
            order: Order { known: vec![Paths::default(); waves], interval: 1 },
        }
    }

    /// All waves have passed a barrier; `done` of each: how many accesses by each path it had waited for.
    pub fn barrier(&mut self, done: impl Iterator<Item = Paths>) {
        self.order.known.clear();
        self.order.known.extend(done);
        self.order.interval += 1;
    }

    /// An access to `len` bytes of LDS from `offset` on.
    pub fn lds(&mut self, by: By, offset: usize, len: usize) -> Result<(), Race> {
        let Some(cells) = self.lds.get_mut(offset..offset.saturating_add(len)) else { return Ok(()) };
        for (k, cell) in cells.iter_mut().enumerate() {
            cell.access(by, &self.order).map_err(|(wave, was)| Race {
                at: (offset + k) as u64,
                lds: true,
                wave,
                was,
            })?;
        }
        Ok(())
    }

    /// An access to `len` bytes of memory from `address` on.
    pub fn memory(&mut self, by: By, address: u64, len: usize) -> Result<(), Race> {
        let Some(blocks) = &mut self.memory else { return Ok(()) };
        for at in (0..len as u64).map(|k| address.wrapping_add(k)) {
            let block = blocks.entry(at / BLOCK).or_insert_with(|| Box::new([FRESH; BLOCK as usize]));
            let cell = &mut block[(at % BLOCK) as usize];
            cell.access(by, &self.order).map_err(|(wave, was)| Race { at, lds: false, wave, was })?;
        }
        Ok(())
    }
}

impl Cell {
    /// Notes an access; `Err`: the wave whose access it races with, and what that was.
    fn access(&mut self, by: By, order: &Order) -> Result<(), (u8, Access)> {
        let me = by.wave as u8;
        let known = order.known.get(usize::from(self.writer)).map_or(u32::MAX, |o| o[self.path as usize]);
        let unordered_write = self.writer != NOBODY && self.writer != me && self.write > known;
        let tolerated = self.atomic && by.access != Access::Write || by.same && by.access == Access::Write;
        if unordered_write && !tolerated {
            return Err((self.writer, if self.atomic { Access::Atomic } else { Access::Write }));
        }
        if by.access == Access::Read {
            self.reader = if self.read == order.interval && self.reader != me { MANY } else { me };
            self.read = order.interval;
            return Ok(());
        }
        let unordered_read = self.reader != NOBODY && self.reader != me && self.read == order.interval;
        if unordered_read && by.access == Access::Write && !by.same {
            return Err((self.reader, Access::Read));
        }
        if !by.same {
            (self.writer, self.path, self.write) = (me, by.path, by.number);
            self.atomic = by.access == Access::Atomic;
        }
        Ok(())
    }
}

impl std::fmt::Display for Race {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let was = match self.was {
            Access::Read => "read",
            Access::Write => "written",
            Access::Atomic => "changed atomically",
        };
        let who = if self.wave == MANY { "other waves".to_owned() } else { format!("wave {}", self.wave) };
        let place = if self.lds { "of LDS" } else { "of memory" };
        write!(f, "byte 0x{:x} {place} was {was} by {who} with no wait and barrier since", self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(r: &mut Races, wave: u32, number: u32, access: Access) -> bool {
        r.lds(By { wave, path: Path::Ds, number, access, same: false }, 8, 4).is_ok()
    }

    #[test]
    fn a_barrier_orders_what_has_been_waited_for() {
        let mut r = Races::new(64, 2, true);
        assert!(at(&mut r, 0, 1, Access::Write) && at(&mut r, 0, 2, Access::Read));
        assert!(!at(&mut r, 1, 1, Access::Read));
        r.barrier([[0; 5], [0; 5]].into_iter());
        // Without the wait the write may still be under way.
        assert!(!at(&mut r, 1, 1, Access::Read));
        r.barrier([[2, 0, 0, 0, 0], [0; 5]].into_iter());
        assert!(at(&mut r, 1, 1, Access::Read));
        assert!(!at(&mut r, 0, 3, Access::Write));
        r.barrier([[2, 0, 0, 0, 0], [1, 0, 0, 0, 0]].into_iter());
        assert!(at(&mut r, 0, 3, Access::Write));
    }

    #[test]
    fn atomics_race_with_plain_stores_alone() {
        let mut r = Races::new(64, 2, true);
        assert!(at(&mut r, 0, 1, Access::Atomic) && at(&mut r, 1, 1, Access::Atomic));
        assert!(at(&mut r, 0, 2, Access::Read));
        assert!(!at(&mut r, 0, 3, Access::Write));
        // Writing what is there already does no harm.
        let same = By { wave: 0, path: Path::Ds, number: 3, access: Access::Write, same: true };
        assert!(r.lds(same, 8, 4).is_ok());
    }

    #[test]
    fn memory_has_the_same_rules() {
        let mut r = Races::new(0, 2, true);
        let by = |wave, number, access| By { wave, path: Path::Vmem, number, access, same: false };
        assert!(r.memory(by(0, 1, Access::Write), 0x1000_003e, 8).is_ok());
        let race = r.memory(by(1, 1, Access::Read), 0x1000_0041, 4).unwrap_err();
        assert_eq!((race.at, race.wave, race.was), (0x1000_0041, 0, Access::Write));
        r.barrier([[0, 0, 1, 0, 0], [0; 5]].into_iter());
        assert!(r.memory(by(1, 1, Access::Read), 0x1000_0041, 4).is_ok());
        // Without the check nothing is kept.
        let mut off = Races::new(0, 2, false);
        assert!(
            off.memory(by(0, 1, Access::Write), 0, 4).is_ok()
                && off.memory(by(1, 1, Access::Write), 0, 4).is_ok()
        );
    }
}
