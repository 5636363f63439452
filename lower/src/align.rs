//! Places code where the wave's instruction buffer is filled in time, by a few `s_nop`.
//!
//! Code comes in blocks of some bytes ([`mir::target::timing::FrontEnd`]), one on its way at a time.
//!
//! * **Loops.** A taken branch empties the buffer and asks for the block of its target. Where the target is one of a block's last dwords, the wave
//!   soon waits for the next block, too, in each iteration. Such a loop begins at the next block instead; what is put in front is passed once.
//!   Behind an unconditional branch nothing is passed: there a loop begins at the next block if an iteration takes one block less for it.
//! * **The first wait.** A kernel begins by loading its arguments, for which it waits some hundred cycles, while the lines of code behind come from memory
//!   for the first wave. What fits into the buffer is asked for meanwhile. Where one or two dwords more would let the first line behind it
//!   be asked for, too, they stand in front of the wait, and cost no time there.
//!
//! Long loops and long kernels stay as they are, and so do functions for size. Branches that do not reach get islands later, behind which nothing is aligned. Cost: linear; sizes of
//! instructions are found by encoding them, up to the first wait or the last short loop.

use cranelift_entity::SecondaryMap;
use mir::Result;
use mir::ir::CallConv;
use mir::isa::{Opcode, encode};
use mir::machine::{Block, Function, Inst, Operand};
use mir::target::Target;

/// Dwords in front of a loop or wait at most, where they are passed. In front of loops that would take a block less for it, five instead of two change nothing.
const MOST: u32 = 2;
/// Bytes of a loop that is aligned: a longer one takes so long that the second block matters little.
const LOOP_BYTES: u32 = 512;
/// Instructions of a kernel whose first wait is aligned, some 2 KB: in a longer one, more lines are waited for than this one.
const KERNEL_INSTS: u32 = 340;

/// Aligns loops and the first wait of `f`, whose branches are instructions.
///
/// # Errors
/// Those of the encoder.
pub fn align(f: &mut Function, target: &Target) -> Result<()> {
    let mut place: SecondaryMap<Block, u32> = SecondaryMap::with_default(u32::MAX);
    for (i, &block) in f.layout.iter().enumerate() {
        place[block] = i as u32;
    }
    // Loops that may be short enough, as places of header and latch; an instruction takes a dword or more.
    let mut loops: Vec<(u32, u32)> = Vec::new();
    let mut before = Vec::with_capacity(f.layout.len());
    let mut count = 0;
    for (i, &block) in f.layout.iter().enumerate() {
        before.push(count);
        count += f.blocks[block].insts.len() as u32;
        for inst in &f.blocks[block].insts {
            if let Some(&Operand::Block(to)) = inst.operands.first()
                && place[to] <= i as u32
                && count - before[place[to] as usize] <= LOOP_BYTES / 4
            {
                loops.push((place[to], i as u32));
            }
        }
    }
    let wait = |inst: &Inst| inst.op == Opcode::S_WAITCNT;
    let is_short_kernel = f.call_conv == CallConv::Kernel && count <= KERNEL_INSTS;
    let entry = f.layout.first().filter(|_| is_short_kernel);
    let first = entry.and_then(|&entry| f.blocks[entry].insts.iter().position(wait));
    if loops.is_empty() && first.is_none() {
        return Ok(());
    }
    // Where blocks begin as they are, as far as the last of these loops.
    let mut starts = vec![0];
    let (mut end, mut in_front) = (0, 0);
    let mut words = Vec::new();
    let last = loops.iter().map(|&(_, latch)| latch as usize).max();
    for (i, &block) in f.layout.iter().enumerate().take(last.unwrap_or(0) + 1) {
        for (k, inst) in f.blocks[block].insts.iter().enumerate() {
            mir::interrupt::checkpoint();
            if i == 0 && first == Some(k) {
                in_front = end;
                if last.is_none() {
                    break;
                }
            }
            end += 4 * dwords(inst, target, &mut words)?;
        }
        starts.push(end);
    }
    // Bytes of the shortest loop that begins with each block, and of the shortest that it is inside of.
    let mut shortest = vec![u32::MAX; f.layout.len()];
    let mut around = shortest.clone();
    for (header, latch) in loops {
        let (header, latch) = (header as usize, latch as usize);
        let bytes = starts[latch + 1] - starts[header];
        shortest[header] = bytes.min(shortest[header]);
        around[header + 1..=latch].iter_mut().for_each(|around| *around = bytes.min(*around));
    }
    let front = &target.timing().front;
    let (block_bytes, buffer) = (u32::from(front.fetch_bytes), u32::from(front.buffer_bytes));
    let line = target.timing().instruction_cache.line;
    let mut moved = 0;
    if let Some(first) = first
        && (in_front / block_bytes * block_bytes + buffer).is_multiple_of(line)
    {
        moved = missing(in_front, block_bytes, MOST);
        let data = &mut f.blocks[f.layout[0]];
        fill(&mut data.insts, moved, first);
        data.tail_start += moved;
    }
    for i in 1..f.layout.len() {
        let bytes = shortest[i];
        if bytes <= LOOP_BYTES {
            let offset = starts[i] + moved * 4;
            let before = &mut f.blocks[f.layout[i - 1]];
            let is_passed = before.insts.last().is_none_or(|inst| inst.op != Opcode::S_BRANCH);
            // By each iteration of a shorter loop, which may need a block more for it.
            if is_passed && around[i] < bytes {
                continue;
            }
            let one_more = (offset % block_bytes + bytes).div_ceil(block_bytes) > bytes.div_ceil(block_bytes);
            let most = if one_more && !is_passed { block_bytes / 4 } else { MOST };
            let count = missing(offset, block_bytes, most);
            let at = before.insts.len();
            fill(&mut before.insts, count, at);
            before.tail_start = before.insts.len() as u32;
            moved += count;
        }
    }
    Ok(())
}

/// Dwords up to the next block of code, if that is near.
fn missing(offset: u32, block_bytes: u32, most: u32) -> u32 {
    let rest = (block_bytes - offset % block_bytes) % block_bytes / 4;
    if rest <= most { rest } else { 0 }
}

/// Inserts `count` instructions that do nothing.
fn fill(insts: &mut Vec<Inst>, count: u32, at: usize) {
    insts.splice(at..at, (0..count).map(|_| Inst::new(Opcode::S_NOP, [Operand::Imm(0)])));
}

/// The size of `inst`, which is encoded into `words` for it.
fn dwords(inst: &Inst, target: &Target, words: &mut Vec<u32>) -> Result<u32> {
    if inst.op == Opcode::DATA_DWORD || matches!(inst.operands.first(), Some(Operand::Block(_))) {
        return Ok(1);
    }
    words.clear();
    Ok(encode(inst, target, words)?.dwords.into())
}
