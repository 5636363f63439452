//! What is stored to scratch or loaded from there gets registers of its own.
//!
//! Problem: the lowest free register is where each value goes that is used at once. Where one spilled value after the other is loaded for a use of its own, as
//! arguments that are passed on the stack are, all of them come into the same register: each load waits for the use of the one before, and the use for its load.
//! No scheduler behind allocation can help that. The same holds for values that are stored where they are loaded.
//!
//! Idea: what is free among the registers that the function has taken already is free of charge. When all webs are bound, a short web of a spilled value whose
//! register another one had shortly before goes to the register that none of them had for the longest time. Webs with wishes stay, since a wish is a move.
//!
//! Cost: for each of these webs a query of [`crate::occupancy`] for each of its ranges, and a look at each register.

use crate::liveness::Liveness;
use crate::occupancy::{Mask, Occupancy};
use crate::pack::{self, Hints, Item, UNBOUND};
use crate::webs::Webs;
use mir::machine::{Function, PReg};
use rustc_hash::FxHashSet;
use std::ops::Range;

/// Positions in which a register is better not taken twice: instructions that a scheduler can look over while a load takes its time.
const NEAR: u32 = 128;

/// The position at which the last of the spilled values in each register ended; 0 if none was there.
struct Ends([u32; PReg::VGPRS as usize]);

impl Ends {
    /// The registers of `width` from `first` on.
    fn run(first: u16, width: u8) -> Range<usize> {
        usize::from(first)..usize::from(first) + usize::from(width)
    }

    /// The last of those positions of `width` registers from `first` on.
    fn of(&self, first: u16, width: u8) -> u32 {
        self.0[Self::run(first, width)].iter().copied().max().unwrap_or(0)
    }
}

/// Moves webs of `items`, which are bound by `at` and come by their first positions, whose roots are in `spilled`, to other registers of `free`.
pub(crate) fn spread(
    f: &Function,
    live: &Liveness,
    webs: &Webs,
    items: &[Item],
    hints: &Hints,
    spilled: &FxHashSet<u32>,
    free: &Mask,
    occupancy: &mut Occupancy,
    at: &mut [u16],
) {
    let mut ends = Ends([0; PReg::VGPRS as usize]);
    for item in items.iter().filter(|item| spilled.contains(&item.root.as_u32())) {
        mir::interrupt::checkpoint();
        let (root, width) = (item.root.as_u32() as usize, item.width);
        let now = at[root];
        if now == UNBOUND {
            continue;
        }
        let is_near = |first: u16| {
            let end = ends.of(first, width);
            end > 0 && item.start < end + NEAR
        };
        if is_near(now) && item.end - item.start <= NEAR && !hints.wishes(item.root) {
            let view = webs.view(f, live, item.root);
            let candidates = pack::candidates(&view, free, |range| occupancy.taken(range));
            let best = candidates.each().min_by_key(|&first| ends.of(first, width));
            if let Some(other) = best.filter(|&other| ends.of(other, width) < ends.of(now, width)) {
                pack::each_piece(&view, |range, first, count| {
                    occupancy.release(range, &Mask::run(now + first, count));
                });
                pack::bind(&view, other, occupancy);
                at[root] = other;
            }
        }
        let taken = Ends::run(at[root], width);
        ends.0[taken].iter_mut().for_each(|end| *end = item.end.max(*end));
    }
}
