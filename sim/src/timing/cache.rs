//! Caches: sets of lines, the least recently used of which gives way.

use mir::target::timing::Cache as Shape;
use serde::Serialize;

/// Accesses of a cache by what they found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The line was there, or on its way.
    pub hits: u64,
    /// It was not.
    pub misses: u64,
}

#[derive(Clone, Copy)]
struct Line {
    number: u64,
    used: u64,
    /// When its data are there.
    ready: u64,
    dirty: bool,
}

/// What was evicted for a new line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// Whether it has to be written to memory.
    pub dirty: bool,
}

/// A cache.
pub struct Cache {
    sets: Vec<Vec<Line>>,
    ways: usize,
    clock: u64,
    /// What accesses found so far.
    pub found: Found,
}

impl Cache {
    /// An empty one.
    pub fn new(shape: &Shape) -> Self {
        let sets = vec![Vec::new(); shape.sets() as usize];
        Self { sets, ways: shape.ways.max(1) as usize, clock: 0, found: Found::default() }
    }

    fn set(&mut self, number: u64) -> &mut Vec<Line> {
        let count = self.sets.len() as u64;
        &mut self.sets[(number % count) as usize]
    }

    /// Looks line `number` up: when its data are there, `None` where it is not in the cache.
    pub fn find(&mut self, number: u64) -> Option<u64> {
        self.clock += 1;
        let clock = self.clock;
        let line = self.set(number).iter_mut().find(|line| line.number == number);
        let ready = line.map(|line| {
            line.used = clock;
            line.ready
        });
        match ready {
            Some(_) => self.found.hits += 1,
            None => self.found.misses += 1,
        }
        ready
    }

    /// Puts line `number` in, whose data are there at `ready`, or are written.
    pub fn put(&mut self, number: u64, ready: u64, dirty: bool) -> Option<Evicted> {
        self.clock += 1;
        let (clock, ways) = (self.clock, self.ways);
        let set = self.set(number);
        if let Some(line) = set.iter_mut().find(|line| line.number == number) {
            line.dirty |= dirty;
            return None;
        }
        let line = Line { number, used: clock, ready, dirty };
        if set.len() < ways {
            set.push(line);
            return None;
        }
        let oldest = set.iter_mut().min_by_key(|line| line.used)?;
        let evicted = Evicted { dirty: oldest.dirty };
        *oldest = line;
        Some(evicted)
    }

    /// Forgets all lines.
    pub fn invalidate(&mut self) {
        self.sets.iter_mut().for_each(Vec::clear);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mir::target::Generation;

    #[test]
    fn the_least_recently_used_line_gives_way() {
        // 64 sets of 4 ways.
        let mut cache = Cache::new(&Generation::Gfx9.timing().vector_cache);
        for way in 0..4 {
            assert_eq!(cache.put(64 * way, way, way == 1), None);
        }
        assert_eq!(cache.find(0), Some(0));
        assert_eq!(cache.put(64 * 4, 9, false), Some(Evicted { dirty: true }));
        assert_eq!((cache.find(64), cache.find(0), cache.find(1)), (None, Some(0), None));
        assert_eq!(cache.found, Found { hits: 2, misses: 2 });
        cache.invalidate();
        assert_eq!(cache.find(0), None);
    }
}
