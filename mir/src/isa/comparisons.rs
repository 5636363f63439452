//! Vector comparisons with the inverse relation.

use super::facts::is_float;
use super::{Comparison, OpFlags, Opcode, Relation};

/// Rows between comparisons of one type at most.
const NEAR: usize = 32;

impl Opcode {
    /// The vector comparison of the same type that holds where this one does not, with a NaN, too; `None` for what does not compare two values.
    pub fn inverse_comparison(self) -> Option<Self> {
        let Some(Comparison::Relation(relation)) = self.facts().comparison else { return None };
        let info = self.info();
        let possible = match is_float(info.operands[1].ty) {
            true => Relation::all(),
            false => Relation::all() - Relation::UNORDERED,
        };
        let rest = |other: &Self| match other.facts().comparison {
            Some(Comparison::Relation(other)) => (relation ^ other) & possible == possible,
            _ => false,
        };
        let alike = |other: &Self| {
            let other = other.info();
            let exec = (info.flags ^ other.flags).contains(OpFlags::EXEC_DEF);
            let present = info.codes.iter().zip(&other.codes).all(|(&a, &b)| (a < 0) == (b < 0));
            !exec && present && info.operands[1].ty == other.operands[1].ty
        };
        let index = self as usize;
        let near = Self::ALL.iter().skip(index.saturating_sub(NEAR)).take(2 * NEAR + 1);
        near.copied().find(|other| rest(other) && alike(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Relation;
    use crate::target::Generation;

    /// Mnemonics and relations are the witnesses: the type is the same, and so is whether EXEC is written; one of both holds always.
    #[test]
    fn inverses_hold_where_the_others_do_not() {
        let mut count = 0;
        for &op in Opcode::ALL {
            let Some(Comparison::Relation(relation)) = op.facts().comparison else {
                assert_eq!(op.inverse_comparison(), None, "{}", op.info().name);
                continue;
            };
            let inverse = op.inverse_comparison().expect("a row of the same type");
            let names = [op, inverse].map(|op| op.info().name.split('_').collect::<Vec<_>>());
            let [own, other] = names.map(|parts| (parts[1], parts[3..].to_vec()));
            assert_eq!(own, other, "{} {}", op.info().name, inverse.info().name);
            let Some(Comparison::Relation(rest)) = inverse.facts().comparison else {
                panic!("{} compares", inverse.info().name)
            };
            // No integers are unordered.
            let possible = match own.1[0].starts_with('f') {
                true => Relation::all(),
                false => Relation::all() - Relation::UNORDERED,
            };
            assert_eq!((relation ^ rest) & possible, possible, "{} {}", op.info().name, inverse.info().name);
            assert_eq!(inverse.inverse_comparison(), Some(op), "{}", op.info().name);
            for generation in Generation::ALL {
                let exists = [op, inverse].map(|op| op.info().code(generation).is_some());
                assert_eq!(exists[0], exists[1], "{} {generation:?}", op.info().name);
            }
            count += 1;
        }
        assert!(count > 160, "{count} comparisons");
    }
}
