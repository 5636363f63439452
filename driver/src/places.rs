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

/// What stands before the name of the next pass in the first lines of a text.
const NEXT: &str = "; next pass: ";

impl Place {
    /// Where the compilation that stopped with `text` goes on: what its first lines, which are comments, say.
    pub fn named_in(text: &str) -> Option<Self> {
        let comments = text.lines().take_while(|line| line.starts_with(';'));
        comments.filter_map(|line| line.strip_prefix(NEXT)).find_map(|name| Self::before(name.trim()))
    }
}

impl CompileOptions {
    /// What to write in front of the output: where it is the text of a program, the line that [`Place::named_in`] reads.
    pub fn text_header(&self) -> String {
        PASSES.get(self.passes().end).map_or_else(String::new, |pass| format!("{NEXT}{}\n", pass.name))
    }

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
