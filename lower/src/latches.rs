//! What a loop skips to lies in front of the loop.
//!
//! ```text
//!            jump header                 jump header
//!                                  copy: latch         (1 taken branch from skip to header)
//! header: …                      header: …
//!         skip → latch, body             skip → copy, body
//!   body: …                        body: …
//!  latch: header, exit            latch: header, exit
//! ```
//!
//! A taken branch empties the wave's instruction buffer. An iteration that skips its body takes two: to the latch, and back to the header.
//! A copy of the latch in front of the header falls into it, so that one is left; an iteration with its body is as it was, and the loop's entry takes one more.
//!
//! Only short latches are copied, one for each loop. Cost: linear.

use cranelift_entity::SecondaryMap;
use mir::isa::{Format, OpFlags, Opcode};
use mir::machine::{Block, Function, Inst, Operand, Terminator};

/// Instructions of a latch at most, besides its branch.
const MOST: usize = 12;

/// Copies latches of `f` whose loops skip to them.
pub fn copy(f: &mut Function) {
    let mut place: SecondaryMap<Block, usize> = SecondaryMap::with_default(usize::MAX);
    for (i, &block) in f.layout.iter().enumerate() {
        place[block] = i;
    }
    // Who goes to a block behind the next one.
    let mut skips: SecondaryMap<Block, Vec<Block>> = SecondaryMap::new();
    for (i, &block) in f.layout.iter().enumerate() {
        for edge in &f.blocks[block].wave_succs {
            if place[edge.block] > i + 1 && skips[edge.block].last() != Some(&block) {
                skips[edge.block].push(block);
            }
        }
    }
    // What each header gets in front.
    let mut copies: SecondaryMap<Block, Option<Block>> = SecondaryMap::new();
    let mut any = false;
    // No edge leads to the entry.
    for i in 1..f.layout.len() {
        let latch = f.layout[i];
        let Some(header) = header(f, latch, &place) else { continue };
        let before = f.layout[i - 1];
        let falls = f.blocks[before].wave_succs.iter().any(|edge| edge.block == latch);
        skips[latch].retain(|&from| place[from] >= place[header]);
        if !falls || skips[latch].is_empty() || copies[header].is_some() {
            continue;
        }
        let copy = f.blocks.push(f.blocks[latch].clone());
        copies[header] = Some(copy);
        any = true;
        for &from in &skips[latch] {
            let edges = f.blocks[from].wave_succs.iter_mut();
            edges.filter(|edge| edge.block == latch).for_each(|edge| edge.block = copy);
        }
    }
    if any {
        let layout = std::mem::take(&mut f.layout);
        f.layout = layout.into_iter().flat_map(|block| copies[block].into_iter().chain([block])).collect();
    }
}

/// The header that `latch` goes back to, if `latch` may be copied.
fn header(f: &Function, latch: Block, place: &SecondaryMap<Block, usize>) -> Option<Block> {
    let data = &f.blocks[latch];
    let (Terminator::Uniform(_), [a, b]) = (data.term, &data.wave_succs[..]) else { return None };
    let back = |block: Block| place[block] < place[latch];
    let header = match (back(a.block), back(b.block)) {
        (true, false) => a.block,
        (false, true) => b.block,
        _ => return None,
    };
    (data.insts.len() <= MOST && data.insts.iter().all(is_plain)).then_some(header)
}

/// Whether `inst` does the same in another place: it computes, waits, or accesses memory, and does not ask where it is.
fn is_plain(inst: &Inst) -> bool {
    let info = inst.op.info();
    let waits = matches!(inst.op, Opcode::S_WAITCNT | Opcode::S_WAITCNT_VSCNT | Opcode::S_NOP);
    (waits || !info.flags.intersects(OpFlags::BRANCH | OpFlags::SIDE_EFFECTS))
        && info.format != Format::Pseudo
        && inst.op != Opcode::S_GETPC_B64
        && inst.operands.iter().all(|operand| !matches!(operand, Operand::Block(_) | Operand::Symbol { .. }))
}
