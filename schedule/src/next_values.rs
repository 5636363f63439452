//! The next value of a loop's variable is computed where the loop goes on.
//!
//! ```text
//! next = v_add_u32 1, i                  done = v_cmp_le_i32 n, i
//! done = v_cmp_le_i32 n, i          →    lanes leave
//! lanes leave                            next = v_add_u32 1, i
//! back to the header (next)              back to the header (next)
//! ```
//!
//! While the present value is still asked for, the next one takes a register of its own, and a copy on the way back. Where lanes that leave do not
//! want it, it can be computed by those that stay, from the present value in place.
//!
//! What goes is one vector instruction for a variable, which reads nothing but the variable and what is defined outside of the loop, and so is
//! alive in all of it.
//!
//! Cost: linear; functions without loops that lanes leave are not looked into.

use crate::registers::{Home, Known, registers};
use cranelift_entity::SecondaryMap;
use mir::isa::{OpFlags, OperandAccess};
use mir::machine::{Block, Condition, Function, Inst, Reg, RegFile, Terminator, VReg, VRegFlags};

/// Instructions on the way back: without lanes they run, too.
const MOST: usize = 8;

/// A block on the way back of a loop that lanes leave one by one.
struct WayBack {
    block: Block,
    header: Block,
}

/// Moves next values of `f`, modelled code with virtual registers.
pub fn compute_late(f: &mut Function) {
    let mut places: SecondaryMap<Block, u32> = SecondaryMap::new();
    for (place, &block) in f.layout.iter().enumerate() {
        places[block] = place as u32;
    }
    let ways = ways_back(f, &places);
    if ways.is_empty() {
        return;
    }
    let known = registers(f);
    let mut moved: SecondaryMap<Block, Vec<usize>> = SecondaryMap::new();
    for WayBack { block, header } in ways {
        let args = f.blocks[block].thread_succs[0].args.clone();
        let variables = f.blocks[header].vparams.clone();
        let mut insts = Vec::new();
        for (next, variable) in args.into_iter().zip(variables) {
            let (own, present) = (known[next], known[variable]);
            let Home::Block(home) = own.home else { continue };
            let home = Block::from_u32(home);
            if insts.len() == MOST || own.uses > 0 || own.args != 1 {
                continue;
            }
            let Some(inst) = f.blocks[home].insts.get(own.at as usize) else { continue };
            // Else both may have one register as it is.
            let overlaps = present.end > (places[home], own.at);
            // A parameter of a block has no instruction.
            if overlaps && goes(f, &known, inst, [next, variable], header) {
                insts.push(inst.clone());
                moved[home].push(own.at as usize);
            }
        }
        insts.into_iter().for_each(|inst| f.blocks[block].push(inst));
    }
    for &block in &f.layout {
        let gone = &mut moved[block];
        if gone.is_empty() {
            continue;
        }
        gone.sort_unstable();
        let data = &mut f.blocks[block];
        data.tail_start -= gone.len() as u32;
        let (mut at, mut gone) = (0, gone.iter().peekable());
        data.insts.retain(|_| {
            at += 1;
            gone.next_if(|&&goes| goes + 1 == at).is_none()
        });
    }
}

/// Blocks that lead back to a header and hold nothing, behind a branch that is taken where no lane is left.
fn ways_back(f: &Function, places: &SecondaryMap<Block, u32>) -> Vec<WayBack> {
    let mut entered: SecondaryMap<Block, (u32, bool)> = SecondaryMap::new();
    for &block in &f.layout {
        let data = &f.blocks[block];
        let lanes = matches!(data.term, Terminator::Uniform(Condition::Execz | Condition::Execnz));
        for edge in &data.wave_succs {
            let (count, behind) = entered[edge.block];
            entered[edge.block] = (count + 1, behind || lanes);
        }
    }
    let back = |&block: &Block| {
        let data = &f.blocks[block];
        let ([wave], [thread]) = (&data.wave_succs[..], &data.thread_succs[..]) else { return None };
        let empty = data.insts.is_empty() && data.term == Terminator::Jump && entered[block] == (1, true);
        let leads_back = wave.block == thread.block && places[wave.block] <= places[block];
        (empty && leads_back).then_some(WayBack { block, header: wave.block })
    };
    f.layout.iter().filter_map(back).collect()
}

/// Whether `inst` defines `next` and can do so on the way back to `header`, which has it for its parameter `variable`.
fn goes(
    f: &Function,
    known: &SecondaryMap<VReg, Known>,
    inst: &Inst,
    [next, variable]: [VReg; 2],
    header: Block,
) -> bool {
    // What reads other lanes may read some that leave.
    let own = inst.mods.dpp().is_none()
        && inst.mods.dpp8().is_none()
        && !inst.op.info().flags.contains(OpFlags::PERMLANE);
    let depth = f.blocks[header].loop_depth;
    let outside = |reg: VReg| match known[reg].home {
        Home::Entry => true,
        Home::Block(home) => f.blocks[Block::from_u32(home)].loop_depth < depth,
        Home::Nowhere => false,
    };
    let mut reads = false;
    own && inst.op.works_by_lane()
        && inst.facts().def_count == 1
        && inst.operands.iter().enumerate().all(|(k, operand)| {
            let Some(operand) = operand.as_reg() else { return true };
            let Reg::Virtual(reg) = operand.reg else { return false };
            let data = f.vregs[reg];
            match inst.operand_access(k) {
                OperandAccess::Def => {
                    reg == next && data.file == RegFile::Vgpr && !data.flags.contains(VRegFlags::WHOLE_WAVE)
                }
                OperandAccess::Use if reg == variable => {
                    reads = true;
                    true
                }
                OperandAccess::Use => outside(reg),
                _ => false,
            }
        })
        && reads
}
