//! Addresses of LDS that are the same but for a constant, as those of two variables behind one index are.
//!
//! A later one is an earlier one that dominates it with an offset, for which instructions have a field: kernels that multiply matrices in tiles reach both tiles
//! behind one register. Variables have their places, so that the distance between two is a number here.
//!
//! Cost: linear; each address is looked up once, and compared with the first one of its sum.

use super::Selector;
use mir::ir::{AddrSpace, Block, InstKind, Type, Value};
use rustc_hash::FxHashMap;

/// A sum of indices, each times its scale, that is added to a constant; 0 is the empty one.
type Sum = u32;

/// The sums that were seen.
#[derive(Default)]
struct Sums {
    numbers: FxHashMap<(Sum, Value, i64), Sum>,
    /// What each address consists of: a sum and a constant.
    parts: FxHashMap<Value, (Sum, i64)>,
    /// The first address of each sum, where it is, and its constant.
    first: FxHashMap<Sum, (Value, Block, i64)>,
}

impl Sums {
    fn number(&mut self, sum: Sum, value: Value, scale: i64) -> Sum {
        let next = self.numbers.len() as Sum + 1;
        *self.numbers.entry((sum, value, scale)).or_insert(next)
    }
}

impl Selector<'_> {
    /// Finds the addresses of LDS that are others with an offset. `order` has blocks behind those that dominate them.
    pub(super) fn find_lds_twins(&mut self, order: &[Block]) {
        let f = self.f;
        let mut sums = Sums::default();
        for &block in order {
            for &inst in &f.blocks[block].insts {
                let data = &f.insts[inst];
                if let InstKind::PtrAdd { base, index, scale, offset } = data.kind
                    && data.ty == Type::ptr(AddrSpace::LOCAL)
                    && let Some(result) = data.result
                {
                    let (mut sum, mut bytes) = match (sums.parts.get(&base), self.const_int(base)) {
                        (Some(&parts), _) => parts,
                        (None, Some(place)) => (0, place),
                        (None, None) => (sums.number(0, base, 0), 0),
                    };
                    let constant = index.map_or(Some(0), |index| self.const_int(index));
                    match (index, constant) {
                        (Some(index), None) => sum = sums.number(sum, index, scale),
                        (_, constant) => {
                            bytes = bytes.wrapping_add(constant.unwrap_or_default().wrapping_mul(scale));
                        }
                    }
                    bytes = bytes.wrapping_add(offset);
                    sums.parts.insert(result, (sum, bytes));
                    if constant.is_none() {
                        self.pair_with_first(&mut sums, sum, (result, block, bytes));
                    }
                }
            }
        }
    }

    /// Notes `address`, which is a `sum` and a constant, as the first one of that with an offset, or as the first one.
    fn pair_with_first(&mut self, sums: &mut Sums, sum: Sum, address: (Value, Block, i64)) {
        let (result, block, bytes) = address;
        if let Some(&(first, home, there)) = sums.first.get(&sum) {
            // Addresses have 32 bits; negative offsets have no field.
            let distance = bytes.wrapping_sub(there) as u32;
            let loops = self.uniformity.loops();
            let inside = loops.innermost(home.as_u32()).is_none_or(|l| loops.contains(l, block.as_u32()));
            if distance <= u32::from(u16::MAX)
                && inside
                && self.uniformity.dominators().dominates(home.as_u32(), block.as_u32())
            {
                self.lds_twins.insert(result, (first, i64::from(distance)));
                let (uses, crosses) = (self.values[result].uses, self.values[result].crosses_blocks);
                let info = &mut self.values[first];
                info.uses += uses;
                info.crosses_blocks |= crosses || home != block;
                return;
            }
        }
        sums.first.insert(sum, address);
    }
}
