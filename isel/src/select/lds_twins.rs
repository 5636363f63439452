//! Addresses of LDS that are the same but for a constant, as those of two variables behind one index are.
//!
//! A later one is an earlier one that dominates it with an offset, for which instructions have a field: kernels that multiply matrices in tiles reach both tiles
//! behind one register. Variables have their places, so that the distance between two is a number here.
//!
//! Cost: linear; each address is looked up once, and compared with the first one of its sum.

use super::Selector;
use super::sums::{Sum, Sums};
use mir::ir::{AddrSpace, Block, InstKind, Type, Value};
use rustc_hash::FxHashMap;

/// The first address of each sum, where it is, and its constant.
type First = FxHashMap<Sum, (Value, Block, i64)>;

impl Selector<'_> {
    /// Finds the addresses of LDS that are others with an offset. `order` has blocks behind those that dominate them.
    pub(super) fn find_lds_twins(&mut self, order: &[Block]) {
        let f = self.f;
        let (mut sums, mut first) = (Sums::default(), First::default());
        for &block in order {
            for &inst in &f.blocks[block].insts {
                let data = &f.insts[inst];
                if matches!(data.kind, InstKind::PtrAdd { .. })
                    && data.ty == Type::ptr(AddrSpace::LOCAL)
                    && let Some((sum, bytes, true)) = sums.note(data, |value| self.const_int(value))
                    && let Some(result) = data.result
                {
                    self.pair_with_first(&mut first, sum, (result, block, bytes));
                }
            }
        }
    }

    /// Notes `address`, which is a `sum` and a constant, as the first one of that with an offset, or as the first one.
    fn pair_with_first(&mut self, firsts: &mut First, sum: Sum, address: (Value, Block, i64)) {
        let (result, block, bytes) = address;
        if let Some(&(first, home, there)) = firsts.get(&sum) {
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
        firsts.insert(sum, address);
    }
}
