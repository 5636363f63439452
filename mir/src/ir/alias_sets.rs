//! What `!alias.scope` and `!noalias` say of accesses, as sets that do not meet.
//!
//! LLVM has a list of scopes for what an access is to, and one for what it is not to. Here each pair of lists that a function has is an [`AliasSet`], and
//! a table says which sets have nothing in common. It holds throughout one run of the function, since scopes count only where their declaration runs at
//! most once (the reader sees to that): wherever an access moves inside the function, and however often its code is copied, it keeps its set.
//!
//! Source: LLVM language reference, "`noalias` and `alias.scope` Metadata", "`llvm.experimental.noalias.scope.decl`".

/// The memory that an access can be to, as far as scopes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct AliasSet(pub u8);

impl AliasSet {
    /// Any.
    pub const ANY: Self = Self(0);
    /// Sets that are told apart, [`Self::ANY`] among them.
    pub const COUNT: usize = 64;
}

/// Which sets of a function have nothing in common.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct AliasSets {
    /// By the number of a set, the numbers of others as bits.
    apart: Vec<u64>,
}

impl AliasSets {
    /// Notes that two different sets have nothing in common. [`AliasSet::ANY`] meets all.
    pub fn separate(&mut self, a: AliasSet, b: AliasSet) {
        let within = |set: AliasSet| set != AliasSet::ANY && usize::from(set.0) < AliasSet::COUNT;
        if a == b || !within(a) || !within(b) {
            return;
        }
        let last = usize::from(a.0.max(b.0));
        if self.apart.len() <= last {
            self.apart.resize(last + 1, 0);
        }
        self.apart[usize::from(a.0)] |= 1 << b.0;
        self.apart[usize::from(b.0)] |= 1 << a.0;
    }

    /// Whether two sets have nothing in common.
    #[inline]
    pub fn are_apart(&self, a: AliasSet, b: AliasSet) -> bool {
        usize::from(b.0) < AliasSet::COUNT && self.others(a) >> b.0 & 1 != 0
    }

    /// `set`, or [`AliasSet::ANY`] where it is apart from none.
    #[inline]
    pub fn telling(&self, set: AliasSet) -> AliasSet {
        if self.others(set) == 0 { AliasSet::ANY } else { set }
    }

    /// Whether no set is apart from another.
    pub fn is_empty(&self) -> bool {
        self.apart.is_empty()
    }

    /// Pairs of sets that have nothing in common, the lower one first, in order.
    pub fn pairs(&self) -> impl Iterator<Item = (AliasSet, AliasSet)> {
        self.apart.iter().enumerate().flat_map(|(a, &others)| {
            let above = (a + 1..AliasSet::COUNT).filter(move |b| others >> b & 1 != 0);
            above.map(move |b| (AliasSet(a as u8), AliasSet(b as u8)))
        })
    }

    fn others(&self, set: AliasSet) -> u64 {
        self.apart.get(usize::from(set.0)).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_apart_both_ways() {
        let mut sets = AliasSets::default();
        sets.separate(AliasSet(1), AliasSet(3));
        sets.separate(AliasSet(0), AliasSet(2));
        sets.separate(AliasSet(4), AliasSet(4));
        sets.separate(AliasSet(200), AliasSet(1));
        assert!(sets.are_apart(AliasSet(1), AliasSet(3)) && sets.are_apart(AliasSet(3), AliasSet(1)));
        assert!(!sets.are_apart(AliasSet(0), AliasSet(2)) && !sets.are_apart(AliasSet(4), AliasSet(4)));
        assert!(!sets.are_apart(AliasSet(200), AliasSet(1)) && !sets.are_apart(AliasSet(1), AliasSet(200)));
        assert_eq!(sets.pairs().collect::<Vec<_>>(), [(AliasSet(1), AliasSet(3))]);
        assert_eq!((sets.telling(AliasSet(3)), sets.telling(AliasSet(2))), (AliasSet(3), AliasSet::ANY));
    }
}
