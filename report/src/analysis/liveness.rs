//! Registers whose value somebody reads later, for each line.
//!
//! Backwards over the wave's control flow; a write ends the life of what was there. Lanes that are not active keep a VGPR's value through a write,
//! which the code does not show: where two arms of a divergent branch use one register for different lanes' values, it counts as free between
//! the last read and the next write. So the count of VGPRs is what one lane may need, and at most what allocation had to keep. A call ends the life of
//! what callees may change; which of it they read is not known, so that arguments are not counted.

use crate::program::Function;
use mir::abi::call::{STACK_POINTER, is_callee_saved};
use mir::machine::PReg;

/// Bits by register number.
type Set = [u64; super::SLOTS.div_ceil(64)];

/// Registers alive in front of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Live {
    /// VGPRs.
    pub vgprs: u16,
    /// SGPRs, without VCC and other specials.
    pub sgprs: u16,
}

fn transfer(function: &Function, line: usize, set: &mut Set) {
    let Some(inst) = function.inst(line) else { return };
    if super::search::is_call(function, line) {
        let given = |slot: &usize| {
            let register = PReg(*slot as u16);
            register != STACK_POINTER && !is_callee_saved(register, false)
        };
        (0..super::SLOTS).filter(given).for_each(|slot| set[slot / 64] &= !(1 << (slot % 64)));
    }
    // What is merged or depends on EXEC being a part of the lanes is read besides; see above for VGPRs.
    inst.for_each_access(|access| {
        if access.write && !access.read {
            access.range().for_each(|slot| set[slot / 64] &= !(1 << (slot % 64)));
        }
    });
    inst.for_each_access(|access| {
        if access.read {
            access.range().for_each(|slot| set[slot / 64] |= 1 << (slot % 64));
        }
    });
}

fn count(set: &Set) -> Live {
    let of = |first: PReg, count: u16| {
        let range = usize::from(first.0)..usize::from(first.0 + count);
        range.filter(|slot| set[slot / 64] >> (slot % 64) & 1 != 0).count() as u16
    };
    Live { vgprs: of(PReg::vgpr(0), PReg::VGPRS), sgprs: of(PReg::sgpr(0), PReg::SGPRS) }
}

/// What is alive in front of each line.
pub fn live(function: &Function) -> Vec<Live> {
    let blocks = &function.blocks;
    let mut at_start: Vec<Set> = vec![Default::default(); blocks.len()];
    let mut work: std::collections::BTreeSet<usize> = (0..blocks.len()).collect();
    let at_end = |at_start: &[Set], block: usize| {
        let mut set = Set::default();
        for &succ in &blocks[block].succs {
            set.iter_mut().zip(&at_start[succ]).for_each(|(a, b)| *a |= b);
        }
        set
    };
    while let Some(block) = work.pop_last() {
        let mut set = at_end(&at_start, block);
        (blocks[block].first..blocks[block].end).rev().for_each(|line| transfer(function, line, &mut set));
        if at_start[block] != set {
            at_start[block] = set;
            work.extend(&blocks[block].preds);
        }
    }
    let mut out = vec![Live::default(); function.lines.len()];
    for (block, data) in blocks.iter().enumerate() {
        let mut set = at_end(&at_start, block);
        for line in (data.first..data.end).rev() {
            transfer(function, line, &mut set);
            out[line] = count(&set);
        }
    }
    out
}
