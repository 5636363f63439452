//! Places in the list of passes: where a compilation starts and stops.

use crate::options::{CompileOptions, Place};
use crate::pass::position;
use crate::pipeline::PASSES;

impl Place {
    /// Before the pass called `name`; `None` where there is none.
    pub fn before(name: &str) -> Option<Self> {
        let place = position(PASSES, name);
        (place < PASSES.len()).then_some(Self(place))
    }

    /// Behind the pass called `name`; `None` where there is none.
    pub fn after(name: &str) -> Option<Self> {
        Self::before(name).map(|place| Self(place.0 + 1))
    }
}

impl CompileOptions {
    /// The passes that run, by their places in the list. One whose result the text of a program does not hold
    /// runs again.
    pub fn passes(&self) -> std::ops::Range<usize> {
        let mut start = self.start.map_or(0, |place| place.0);
        while start > 0 && PASSES[start - 1].is_derived() {
            start -= 1;
        }
        start..self.stop.map_or(PASSES.len(), |place| place.0).max(start)
    }
}
