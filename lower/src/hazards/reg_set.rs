//! Sets of registers that something still reads.

/// Register of rows that match by class alone.
pub(super) const NO_REGISTER: u16 = u16::MAX;

/// A set of registers by [`PReg`] number, and of the two marks behind them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RegSet([u64; 13]);

impl RegSet {
    /// Stands for [`NO_REGISTER`].
    const ANY: u16 = 768;
    /// A producer that counts from the next branch on.
    pub(super) const BEFORE_BRANCH: u16 = 769;

    /// Word and bit of a register.
    fn place(register: u16) -> (usize, u64) {
        let slot = if register == NO_REGISTER { Self::ANY } else { register };
        (usize::from(slot / 64), 1 << (slot % 64))
    }

    pub(super) fn insert(&mut self, register: u16) {
        let (word, bit) = Self::place(register);
        if let Some(word) = self.0.get_mut(word) {
            *word |= bit;
        }
    }

    pub(super) fn contains(&self, register: u16) -> bool {
        let (word, bit) = Self::place(register);
        self.0.get(word).is_some_and(|word| word & bit != 0)
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds all of `other`; true when it changed.
    pub(super) fn join(&mut self, other: &Self) -> bool {
        let old = *self;
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine |= theirs);
        *self != old
    }
}
