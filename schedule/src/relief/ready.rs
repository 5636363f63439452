//! Units that may come next.

use std::collections::BinaryHeap;

/// Units that are looked at for each that is issued.
const TRIES: usize = 32;

/// Units that may come next, of which those with the largest numbers are looked at.
#[derive(Default)]
pub(super) struct Ready {
    /// Those, in ascending order: as many as are looked at, or all.
    pub near: Vec<u32>,
    /// The others, but for those that end registers.
    far: BinaryHeap<u32>,
    /// Those.
    pub ending: BinaryHeap<u32>,
}

impl Ready {
    pub fn clear(&mut self) {
        self.near.clear();
        self.far.clear();
        self.ending.clear();
    }

    /// Adds a unit. `ends` says of one that is not looked at for now whether it ends registers, as it then does later, too.
    pub fn push(&mut self, unit: u32, ends: impl FnOnce(u32) -> bool) {
        let away = if self.near.len() <= TRIES {
            None
        } else if unit < self.near[0] {
            return self.put_away(unit, ends);
        } else {
            Some(self.near.remove(0))
        };
        self.bring_near(unit);
        if let Some(away) = away {
            self.put_away(away, ends);
        }
    }

    fn put_away(&mut self, unit: u32, ends: impl FnOnce(u32) -> bool) {
        let others = if ends(unit) { &mut self.ending } else { &mut self.far };
        others.push(unit);
    }

    /// Takes the unit at `at` out of the near ones.
    pub fn take(&mut self, at: usize) -> u32 {
        let unit = self.near.remove(at);
        if let Some(next) = self.far.pop().or_else(|| self.ending.pop()) {
            self.bring_near(next);
        }
        unit
    }

    fn bring_near(&mut self, unit: u32) {
        let at = self.near.partition_point(|&other| other < unit);
        self.near.insert(at, unit);
    }
}
