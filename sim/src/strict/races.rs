//! Races between the waves of a work-group in LDS.
//!
//! A write is *ordered* once its wave has waited for it and then all waves have passed a barrier; a read, once all have passed a barrier. For each
//! byte the last write and the last read are kept. An access races with an unordered write of another wave, a write also with an unordered
//! read of another wave. Atomic operations do not race with each other nor with plain reads, nor writes of what is there already.
//!
//! Cost: constant for each byte accessed; nothing for work-groups of one wave.

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

/// By which instructions LDS is reached, which decides the waits that prove an access done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Path {
    /// DS instructions.
    Ds,
    /// FLAT instructions.
    Flat,
    /// Transfers from memory.
    Dma,
}

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
    /// Offset of the byte in LDS.
    pub offset: usize,
    /// The other wave.
    pub wave: u8,
    /// What that did.
    pub was: Access,
}

/// The state of a work-group.
#[derive(Clone, Debug)]
pub struct Races {
    cells: Vec<Cell>,
    /// For each wave and path, how many of its accesses had been waited for at the last barrier.
    ordered: Vec<[u32; 3]>,
    interval: u32,
}

impl Races {
    /// For `bytes` of LDS and `waves` waves.
    pub fn new(bytes: usize, waves: usize) -> Self {
        let cell = Cell { writer: NOBODY, path: Path::Ds, atomic: false, reader: NOBODY, write: 0, read: 0 };
        Self { cells: vec![cell; bytes], ordered: vec![[0; 3]; waves], interval: 1 }
    }

    /// All waves have passed a barrier; `done` of each: how many accesses by each path it had waited for.
    pub fn barrier(&mut self, done: impl Iterator<Item = [u32; 3]>) {
        self.ordered.clear();
        self.ordered.extend(done);
        self.interval += 1;
    }

    /// Wave `wave` makes its access number `number` by `path` to `len` bytes from `offset` on. `same`: a store of what is there already.
    pub fn access(
        &mut self,
        wave: u32,
        path: Path,
        number: u32,
        offset: usize,
        len: usize,
        access: Access,
        same: bool,
    ) -> Result<(), Race> {
        let me = wave as u8;
        let Some(cells) = self.cells.get_mut(offset..offset.saturating_add(len)) else { return Ok(()) };
        for (k, cell) in cells.iter_mut().enumerate() {
            let race = |wave, was| Err(Race { offset: offset + k, wave, was });
            let known =
                self.ordered.get(usize::from(cell.writer)).map_or(u32::MAX, |o| o[cell.path as usize]);
            let unordered_write = cell.writer != NOBODY && cell.writer != me && cell.write > known;
            let tolerated = cell.atomic && access != Access::Write || same && access == Access::Write;
            if unordered_write && !tolerated {
                return race(cell.writer, if cell.atomic { Access::Atomic } else { Access::Write });
            }
            if access == Access::Read {
                cell.reader = if cell.read == self.interval && cell.reader != me { MANY } else { me };
                cell.read = self.interval;
                continue;
            }
            let unordered_read = cell.reader != NOBODY && cell.reader != me && cell.read == self.interval;
            if unordered_read && access == Access::Write && !same {
                return race(cell.reader, Access::Read);
            }
            if !same {
                (cell.writer, cell.path, cell.atomic) = (me, path, access == Access::Atomic);
                cell.write = number;
            }
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
        write!(f, "byte 0x{:x} of LDS was {was} by {who} with no wait and barrier since", self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(r: &mut Races, wave: u32, number: u32, access: Access) -> bool {
        r.access(wave, Path::Ds, number, 8, 4, access, false).is_ok()
    }

    #[test]
    fn a_barrier_orders_what_has_been_waited_for() {
        let mut r = Races::new(64, 2);
        assert!(at(&mut r, 0, 1, Access::Write) && at(&mut r, 0, 2, Access::Read));
        assert!(!at(&mut r, 1, 1, Access::Read));
        r.barrier([[0; 3], [0; 3]].into_iter());
        // Without the wait the write may still be under way.
        assert!(!at(&mut r, 1, 1, Access::Read));
        r.barrier([[2, 0, 0], [0; 3]].into_iter());
        assert!(at(&mut r, 1, 1, Access::Read));
        assert!(!at(&mut r, 0, 3, Access::Write));
        r.barrier([[2, 0, 0], [1, 0, 0]].into_iter());
        assert!(at(&mut r, 0, 3, Access::Write));
    }

    #[test]
    fn atomics_race_with_plain_stores_alone() {
        let mut r = Races::new(64, 2);
        assert!(at(&mut r, 0, 1, Access::Atomic) && at(&mut r, 1, 1, Access::Atomic));
        assert!(at(&mut r, 0, 2, Access::Read));
        assert!(!at(&mut r, 0, 3, Access::Write));
        // Writing what is there already does no harm.
        assert!(r.access(0, Path::Ds, 3, 8, 4, Access::Write, true).is_ok());
    }
}
