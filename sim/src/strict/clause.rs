//! Clauses of memory instructions under page-fault replay (XNACK).
//!
//! Scalar memory instructions that follow each other directly form a *soft clause*, and so do vector memory instructions. Where page faults are retried, all of
//! a clause may be issued again, so none of it may write a register that another of it reads. Source: LLVM's hazard recogniser ("soft
//! clause hazards"), which puts a NOP or another instruction between them; a store starts a clause of its own.

use super::waits::{REGS, RegRange};

/// Words of a set of registers.
const WORDS: usize = REGS / 64;

#[derive(Clone, Copy, Debug, Default)]
struct Set([u64; WORDS]);

impl Set {
    fn add(&mut self, ranges: &[RegRange]) {
        for reg in ranges.iter().flat_map(|r| r.first..r.first + u16::from(r.len)) {
            if let Some(word) = self.0.get_mut(usize::from(reg / 64)) {
                *word |= 1 << (reg % 64);
            }
        }
    }

    fn common(&self, other: &Self) -> Option<u16> {
        (0..WORDS).find_map(|k| {
            let both = self.0[k] & other.0[k];
            (both != 0).then(|| 64 * k as u16 + both.trailing_zeros() as u16)
        })
    }
}

/// The clause that a wave is in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clause {
    reads: Set,
    writes: Set,
    len: u32,
    scalar: bool,
}

impl Clause {
    /// Something else is executed.
    pub fn end(&mut self) {
        if self.len != 0 {
            *self = Self::default();
        }
    }

    /// A memory instruction is executed; a register that the clause both reads and writes.
    pub fn add(&mut self, reads: &[RegRange], writes: &[RegRange], scalar: bool, store: bool) -> Option<u16> {
        if store || scalar != self.scalar {
            self.end();
        }
        self.scalar = scalar;
        self.reads.add(reads);
        self.writes.add(writes);
        self.len += 1;
        if self.len > 1 { self.reads.common(&self.writes) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clause_of_several_must_not_overwrite_its_addresses() {
        let pair = |first| [RegRange { first, len: 2 }];
        let mut clause = Clause::default();
        // One alone may.
        assert_eq!(clause.add(&pair(6), &pair(6), true, false), None);
        assert_eq!(clause.add(&pair(8), &pair(10), true, false), Some(6));
        clause.end();
        assert_eq!(clause.add(&pair(6), &pair(4), true, false), None);
        assert_eq!(clause.add(&pair(6), &pair(8), true, false), None);
        assert_eq!(clause.add(&pair(6), &[RegRange { first: 100, len: 1 }], true, false), None);
        assert_eq!(clause.add(&pair(100), &pair(12), true, false), Some(100));
        // A vector load, or a store, starts anew.
        assert_eq!(clause.add(&pair(100), &pair(100), false, false), None);
        assert_eq!(clause.add(&pair(100), &[], true, true), None);
    }
}
