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

use cranelift_entity::SecondaryMap;
use mir::isa::{Implicit, OpFlags, Opcode, OperandAccess, Unit};
use mir::machine::{Block, Condition, Function, Inst, Reg, RegFile, Terminator, VReg, VRegFlags};

/// Instructions on the way back: without lanes they run, too.
const MOST: usize = 8;

/// A block on the way back of a loop that lanes leave one by one.
struct WayBack {
    block: Block,
    header: Block,
}

/// What is known of a register.
#[derive(Clone, Copy, Default)]
struct Known {
    /// Its first definition: the place of the block in the layout plus one, 0 where it is there from the start; and that in the block, where an
    /// instruction of the body defines it.
    home: u32,
    at: Option<u32>,
    /// Whether there are several.
    again: bool,
    /// The place of its last use, as far as the layout goes.
    last: (u32, u32),
    uses: u32,
}

/// Moves next values of `f`, modelled code with virtual registers.
pub fn compute_late(f: &mut Function) {
    let ways = ways_back(f);
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
            let own = known[next];
            let (Some(at), false) = (own.at, own.again || insts.len() == MOST) else { continue };
            let home = f.layout[own.home as usize - 1];
            let inst = &f.blocks[home].insts[at as usize];
            // Else both may have one register as it is.
            let overlaps = known[variable].last > (own.home, at);
            if overlaps && own.uses == 1 && goes(f, &known, inst, variable, header) {
                insts.push(inst.clone());
                moved[home].push(at as usize);
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
fn ways_back(f: &Function) -> Vec<WayBack> {
    let mut places: SecondaryMap<Block, usize> = SecondaryMap::new();
    let mut entered: SecondaryMap<Block, (u32, bool)> = SecondaryMap::new();
    for (place, &block) in f.layout.iter().enumerate() {
        places[block] = place;
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

fn registers(f: &Function) -> SecondaryMap<VReg, Known> {
    let mut known: SecondaryMap<VReg, Known> = SecondaryMap::new();
    known.resize(f.vregs.len());
    for (place, &block) in f.layout.iter().enumerate() {
        let place = place as u32 + 1;
        let data = &f.blocks[block];
        for &param in data.vparams.iter().chain(&data.sparams) {
            known[param].home = place;
        }
        for (at, inst) in data.insts.iter().enumerate() {
            let at = at as u32;
            for (k, operand) in inst.operands.iter().enumerate() {
                let Some(Reg::Virtual(reg)) = operand.as_reg().map(|reg| reg.reg) else { continue };
                let known = &mut known[reg];
                if inst.operand_access(k) == OperandAccess::Def {
                    known.again |= known.home != 0;
                    known.home = place;
                    known.at = Some(at).filter(|at| (data.head_len..data.tail_start).contains(at));
                } else {
                    known.uses += 1;
                    known.last = (place, at);
                }
            }
        }
        for &arg in data.thread_succs.iter().chain(&data.wave_succs).flat_map(|edge| &edge.args) {
            known[arg].uses += 1;
            known[arg].last = (place, u32::MAX);
        }
    }
    known
}

/// Whether `inst` can be done on the way back to `header`, where `variable` is one of its parameters.
fn goes(f: &Function, known: &SecondaryMap<VReg, Known>, inst: &Inst, variable: VReg, header: Block) -> bool {
    let facts = inst.facts();
    // What reads other lanes may read some that leave.
    let flags = OpFlags::SIDE_EFFECTS | OpFlags::BRANCH | OpFlags::BARRIER | OpFlags::PERMLANE;
    let plain = facts.unit == Unit::Valu
        && inst.mods.dpp().is_none()
        && inst.mods.dpp8().is_none()
        && facts.def_count == 1
        && facts.implicit.contains(Implicit::EXEC_USE)
        && !facts.implicit.intersects(Implicit::DEFS)
        && !inst.op.info().flags.intersects(flags)
        && inst.op != Opcode::V_READFIRSTLANE_B32;
    let depth = f.blocks[header].loop_depth;
    let outside = |reg: VReg| match known[reg] {
        Known { again: true, .. } => false,
        Known { home: 0, .. } => true,
        Known { home, .. } => f.blocks[f.layout[home as usize - 1]].loop_depth < depth,
    };
    let mut reads = false;
    plain
        && inst.operands.iter().enumerate().all(|(k, operand)| {
            let Some(operand) = operand.as_reg() else { return true };
            let Reg::Virtual(reg) = operand.reg else { return false };
            let data = f.vregs[reg];
            match inst.operand_access(k) {
                OperandAccess::Def => {
                    data.file == RegFile::Vgpr && !data.flags.contains(VRegFlags::WHOLE_WAVE)
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
