//! Which accesses of global memory are constants apart, for whoever puts code in order.
//!
//! What an address is made of is lost in the registers that hold it. Where a block stores, its accesses whose addresses are one sum with different constants say so
//! ([`MemPlace`]): structures, and arrays whose lines are longer than an instruction's offset reaches, as those of chemical kinetics.
//!
//! Cost: linear.

use super::Selector;
use super::sums::{Sum, Sums};
use mir::ir::{AddrSpace, Block, InstKind, Value};
use mir::machine::MemPlace;
use rustc_hash::FxHashMap;

/// What is known of a block's accesses behind one sum.
#[derive(Clone, Copy)]
struct Accesses {
    first: i64,
    /// Another one is elsewhere.
    several: bool,
    stores: bool,
}

impl Selector<'_> {
    /// Fills in the places of accesses. `order` has blocks behind those that dominate them.
    pub(super) fn find_places(&mut self, order: &[Block]) {
        let f = self.f;
        let access = |inst| match f.insts[inst].kind {
            InstKind::Load { ptr, mem } => Some((ptr, mem, false)),
            InstKind::Store { ptr, mem, .. } => Some((ptr, mem, true)),
            _ => None,
        };
        let mut accesses =
            order.iter().flat_map(|&block| &f.blocks[block].insts).filter_map(|&inst| access(inst));
        if !accesses.any(|(_, mem, stores)| stores && mem.space == AddrSpace::GLOBAL) {
            return;
        }
        let mut sums = Sums::default();
        let mut behind: FxHashMap<Sum, Accesses> = FxHashMap::default();
        let mut seen: Vec<(Value, Sum, i64)> = Vec::new();
        for &block in order {
            for &inst in &f.blocks[block].insts {
                let data = &f.insts[inst];
                if data.ty.addr_space().is_some_and(|space| space != AddrSpace::LOCAL) {
                    sums.note(data, |value| self.const_int(value));
                }
                let Some((ptr, mem, stores)) = access(inst) else { continue };
                if mem.space != AddrSpace::GLOBAL || !mem.is_simple() {
                    continue;
                }
                let (sum, bytes) = sums.of(ptr, |value| self.const_int(value));
                let new = Accesses { first: bytes, several: false, stores };
                let entry = behind.entry(sum).or_insert(new);
                entry.several |= bytes != entry.first;
                entry.stores |= stores;
                seen.push((ptr, sum, bytes));
            }
            for (ptr, sum, bytes) in seen.drain(..) {
                if behind.get(&sum).is_some_and(|all| all.several && all.stores)
                    && let Ok(offset) = i32::try_from(bytes)
                {
                    self.places.insert(ptr, MemPlace { base: sum, offset });
                }
            }
            behind.clear();
        }
    }
}
