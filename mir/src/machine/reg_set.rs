//! Sets of the registers that are allocated: what a call changes.

use super::PReg;
use std::fmt;

/// A set of numbered SGPRs, VCC and VGPRs. Others have roles of their own and are never in it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct RegSet {
    /// By number of the register; those between the numbered SGPRs and VCC stay 0.
    scalar: u128,
    vector: [u64; 4],
}

impl RegSet {
    /// Word of VGPR `n` and its bit there.
    fn place(n: u16) -> (usize, u64) {
        (usize::from(n / 64), 1 << (n % 64))
    }

    /// Whether `reg` is one of those that are allocated.
    pub fn may_contain(reg: PReg) -> bool {
        reg.is_vgpr() || Self::scalar_bit(reg) != 0
    }

    /// The bit of a scalar register that may be in a set, else 0.
    fn scalar_bit(reg: PReg) -> u128 {
        let tracked = reg.sgpr_index().is_some() || matches!(reg, PReg::VCC_LO | PReg::VCC_HI);
        if tracked { 1 << reg.0 } else { 0 }
    }

    /// Adds `reg`; nothing where it is none of those that are allocated.
    pub fn insert(&mut self, reg: PReg) {
        match reg.vgpr_index() {
            Some(n) => {
                let (word, bit) = Self::place(n);
                self.vector[word] |= bit;
            }
            None => self.scalar |= Self::scalar_bit(reg),
        }
    }

    /// Adds `dwords` registers from `first` on.
    pub fn insert_tuple(&mut self, first: PReg, dwords: u16) {
        (0..dwords).for_each(|d| self.insert(first.plus(d)));
    }

    /// Whether `reg` is in it.
    pub fn contains(&self, reg: PReg) -> bool {
        match reg.vgpr_index() {
            Some(n) => {
                let (word, bit) = Self::place(n);
                self.vector[word] & bit != 0
            }
            None => self.scalar & Self::scalar_bit(reg) != 0,
        }
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether all of `other` is in it.
    pub fn contains_all(&self, other: &Self) -> bool {
        self.union(other) == *self
    }

    /// What is in either.
    pub fn union(&self, other: &Self) -> Self {
        let vector = std::array::from_fn(|word| self.vector[word] | other.vector[word]);
        Self { scalar: self.scalar | other.scalar, vector }
    }

    /// What is in both.
    pub fn intersection(&self, other: &Self) -> Self {
        let vector = std::array::from_fn(|word| self.vector[word] & other.vector[word]);
        Self { scalar: self.scalar & other.scalar, vector }
    }

    /// The registers in order: SGPRs, VCC, VGPRs.
    pub fn iter(&self) -> impl Iterator<Item = PReg> + '_ {
        let scalar = (0..=PReg::VCC_HI.0).map(PReg);
        scalar.chain((0..PReg::VGPRS).map(PReg::vgpr)).filter(|&reg| self.contains(reg))
    }

    /// The registers as tuples of at most 128.
    pub fn tuples(&self) -> impl Iterator<Item = (PReg, u8)> + '_ {
        let mut regs = self.iter().peekable();
        std::iter::from_fn(move || {
            let first = regs.next()?;
            let mut dwords: u8 = 1;
            while dwords < 128 && regs.next_if(|&reg| reg == first.plus(dwords.into())).is_some() {
                dwords += 1;
            }
            Some((first, dwords))
        })
    }
}

impl FromIterator<PReg> for RegSet {
    fn from_iter<I: IntoIterator<Item = PReg>>(regs: I) -> Self {
        let mut set = Self::default();
        regs.into_iter().for_each(|reg| set.insert(reg));
        set
    }
}

impl fmt::Debug for RegSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_with_roles_are_left_out() {
        let all: RegSet = (0..1024).map(PReg).collect();
        assert_eq!(all.iter().count(), 106 + 2 + 256);
        assert!(!all.contains(PReg::M0) && !all.contains(PReg::FLAT_SCRATCH_LO) && !all.contains(PReg(1000)));
        let tuples: Vec<_> = all.tuples().collect();
        let halves = [(PReg::vgpr(0), 128), (PReg::vgpr(128), 128)];
        assert_eq!(tuples, [(PReg::sgpr(0), 106), (PReg::VCC_LO, 2), halves[0], halves[1]]);
    }

    #[test]
    fn sets_join_and_meet() {
        let of = |regs: &[u16]| regs.iter().map(|&n| PReg::vgpr(n)).collect::<RegSet>();
        let (a, b) = (of(&[1, 2, 200]), of(&[2, 3, 200]));
        assert_eq!(a.union(&b), of(&[1, 2, 3, 200]));
        assert_eq!(a.intersection(&b), of(&[2, 200]));
        assert!(a.contains_all(&of(&[1])) && !a.contains_all(&b));
        assert_eq!(a.tuples().collect::<Vec<_>>(), [(PReg::vgpr(1), 2), (PReg::vgpr(200), 1)]);
    }
}
