//! Waits in front of loops.
//!
//! What is loaded in front of a loop and accessed in it is waited for at the access, in each iteration: the code cannot know that it has arrived
//! long since. Where iterations leave stores of the counter under way, they would all be waited for; in front of the loop the same wait is met once. A loop
//! that loads waits for what it loads anyway.
//!
//! Source of the idea: LLVM's `SIInsertWaitcnts`, "shouldFlushVmCnt". Cost: two more visits of blocks that enter innermost loops or close them, and one of what
//! is in such loops.

use super::{ByCounter, SLOTS, State, Tracker, visit};
use cranelift_entity::SecondaryMap;
use mir::machine::{Block, Function};
use mir::target::{Counter, Target};

/// The waits for the ends of blocks that enter loops, where `states` are unfinished at the starts of blocks.
pub(super) fn waits_before(
    f: &Function,
    order: &[Block],
    rank: &SecondaryMap<Block, u32>,
    states: &SecondaryMap<Block, State>,
    tracker: &mut Tracker,
    target: &Target,
) -> Vec<(Block, ByCounter<u32>)> {
    let mut found = Vec::new();
    // The last block that closes the loop of each header.
    let mut ends: SecondaryMap<Block, Option<u32>> = SecondaryMap::new();
    for &block in order {
        for edge in f.blocks[block].wave_succs.iter().filter(|edge| rank[edge.block] <= rank[block]) {
            ends[edge.block] = ends[edge.block].max(Some(rank[block]));
        }
    }
    if ends.is_empty() {
        return found;
    }
    let mut preds: SecondaryMap<Block, Vec<Block>> = SecondaryMap::new();
    for &block in order {
        for edge in f.blocks[block].wave_succs.iter().filter(|edge| ends[edge.block].is_some()) {
            preds[edge.block].push(block);
        }
    }
    // From the last header on: a loop is an innermost one if no header behind its own is in it.
    let mut next_header = u32::MAX;
    for &header in order.iter().rev() {
        let Some(end) = ends[header] else { continue };
        let innermost = next_header > end;
        next_header = rank[header];
        if !innermost || states[header].entries.is_empty() {
            continue;
        }
        let (back, enter): (Vec<Block>, Vec<Block>) =
            preds[header].iter().partition(|&&pred| rank[pred] >= rank[header]);
        let &[enter] = &enter[..] else { continue };
        if f.blocks[enter].wave_succs.len() > 1 || rank[enter] == 0 && f.call_conv.follows_others() {
            continue;
        }
        let mut behind = |block: Block| {
            tracker.load(&states[block]);
            visit(tracker, &f.blocks[block], &f.asm_sites, target, false, None);
            tracker.save()
        };
        let mut again = State::default();
        for &block in &back {
            again.join(&behind(block));
        }
        let first = behind(enter);
        let body = &order[rank[header] as usize..=end as usize];
        let counts = needed(f, body, &first, &again, tracker, target);
        found.extend(counts.map(|counts| (enter, counts)));
    }
    found
}

/// The wait for what is under way when a loop of these blocks is entered and done when it is entered `again`, if the loop accesses it, and stores but does not load.
fn needed(
    f: &Function,
    body: &[Block],
    first: &State,
    again: &State,
    tracker: &Tracker,
    target: &Target,
) -> Option<ByCounter<u32>> {
    let mut alone = first.entries.iter().filter(|(key, _)| {
        let counter = tracker.kinds[usize::from(*key) / SLOTS].0;
        again.counter_bound[counter] > 0 && again.entries.binary_search_by_key(key, |entry| entry.0).is_err()
    });
    let mut next = alone.next();
    next?;
    let mut accessed = vec![false; SLOTS];
    let mut loads = [false; Counter::COUNT];
    for &block in body {
        mir::interrupt::checkpoint();
        for inst in &f.blocks[block].insts {
            let events = inst.counter_events(target);
            inst.for_each_access(|access| {
                access.range().filter(|&slot| slot < SLOTS).for_each(|slot| accessed[slot] = true);
                if access.write {
                    events
                        .kinds
                        .iter()
                        .flatten()
                        .for_each(|&kind| loads[tracker.kinds[kind as usize].0] = true);
                }
            });
        }
    }
    let mut counts = tracker.max;
    while let Some(&(key, age)) = next {
        let (kind, slot) = (usize::from(key) / SLOTS, usize::from(key) % SLOTS);
        let (counter, in_order) = tracker.kinds[kind];
        if accessed[slot] && !loads[counter] {
            let count = if in_order { u32::from(age).min(tracker.max[counter] - 1) } else { 0 };
            counts[counter] = counts[counter].min(count);
        }
        next = alone.next();
    }
    (counts != tracker.max).then_some(counts)
}
