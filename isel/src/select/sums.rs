//! Addresses as sums: what is the same in several, and the constants that they are apart.

use mir::ir::{InstData, InstKind, Value};
use rustc_hash::FxHashMap;

/// A sum of values, each times its scale, that is added to a constant; 0 is the empty one.
pub(super) type Sum = u32;

/// The sums that were seen. Equal numbers are equal sums of values that are defined once.
#[derive(Default)]
pub(super) struct Sums {
    numbers: FxHashMap<(Sum, Value, i64), Sum>,
    /// What each address consists of: a sum and a constant.
    parts: FxHashMap<Value, (Sum, i64)>,
}

impl Sums {
    fn number(&mut self, sum: Sum, value: Value, scale: i64) -> Sum {
        let next = self.numbers.len() as Sum + 1;
        *self.numbers.entry((sum, value, scale)).or_insert(next)
    }

    /// The sum and the constant of `ptr`, whose definition was noted if it is an addition.
    pub fn of(&mut self, ptr: Value, constant: impl Fn(Value) -> Option<i64>) -> (Sum, i64) {
        match (self.parts.get(&ptr), constant(ptr)) {
            (Some(&parts), _) => parts,
            (None, Some(place)) => (0, place),
            (None, None) => (self.number(0, ptr, 0), 0),
        }
    }

    /// Notes an addition to a pointer, behind what it is added to. Sum and constant, and whether it adds more than a constant.
    pub fn note(
        &mut self,
        data: &InstData,
        constant: impl Fn(Value) -> Option<i64>,
    ) -> Option<(Sum, i64, bool)> {
        let InstKind::PtrAdd { base, index, scale, offset } = data.kind else { return None };
        let result = data.result?;
        let (mut sum, mut bytes) = self.of(base, &constant);
        let own = index.map_or(Some(0), &constant);
        match (index, own) {
            (Some(index), None) => sum = self.number(sum, index, scale),
            (_, own) => bytes = bytes.wrapping_add(own.unwrap_or_default().wrapping_mul(scale)),
        }
        bytes = bytes.wrapping_add(offset);
        self.parts.insert(result, (sum, bytes));
        Some((sum, bytes, own.is_none()))
    }
}
