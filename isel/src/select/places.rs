//! Which accesses of global memory are constants apart, for whoever puts code in order.
//!
//! What an address is made of is lost in the registers that hold it. Where a block stores, its accesses whose addresses are one sum modulo 2³² with different constants
//! ([`residues`](super::residues)) say so ([`MemPlace`]): structures, neighbours in arrays, and arrays whose lines are longer than an instruction's offset reaches.
//!
//! Cost: linear.

use super::Selector;
use super::residues::Residues;
use mir::ir::{AddrSpace, Block, InstKind, Value};
use mir::machine::MemPlace;
use rustc_hash::FxHashMap;

/// Farther behind the first address of its sum no place is known: two that are nearer to it are not near each other by another 2³² bytes.
const MAX_BYTES: u32 = 1 << 29;

/// What is known of a block's accesses behind one sum.
#[derive(Clone, Copy)]
struct Accesses {
    first: i32,
    /// Another one is elsewhere.
    several: bool,
    stores: bool,
}

impl Selector<'_> {
    /// Fills in the places of accesses. `order` has blocks behind those that dominate them.
    pub(super) fn find_places(&mut self, order: &[Block]) {
        let f = self.f;
        let access = |inst| match f.insts[inst].kind {
            InstKind::Load { ptr, mem } if mem.space == AddrSpace::GLOBAL => Some((ptr, mem, false)),
            InstKind::Store { ptr, mem, .. } if mem.space == AddrSpace::GLOBAL => Some((ptr, mem, true)),
            _ => None,
        };
        let mut residues = Residues::default();
        let mut behind: FxHashMap<u32, Accesses> = FxHashMap::default();
        let mut seen: Vec<(Value, MemPlace)> = Vec::new();
        for &block in order {
            let accesses = || f.blocks[block].insts.iter().filter_map(|&inst| access(inst));
            if accesses().nth(1).is_none() || !accesses().any(|(_, _, stores)| stores) {
                continue;
            }
            for (ptr, _, stores) in accesses().filter(|(_, mem, _)| mem.is_simple()) {
                let (base, offset) = residues.place(f, ptr, &|value| self.const_int(value));
                let entry = behind.entry(base).or_insert(Accesses { first: offset, several: false, stores });
                entry.several |= offset != entry.first;
                entry.stores |= stores;
                if offset.unsigned_abs() < MAX_BYTES {
                    seen.push((ptr, MemPlace { base, offset }));
                }
            }
            for (ptr, place) in seen.drain(..) {
                if behind.get(&place.base).is_some_and(|all| all.several && all.stores) {
                    self.places.insert(ptr, place);
                }
            }
            behind.clear();
        }
    }
}
