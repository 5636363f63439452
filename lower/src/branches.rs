//! Terminators become branch instructions, none where the target follows anyway. The order of blocks is settled from here on.

use cranelift_entity::SecondaryMap;
use mir::isa::Opcode;
use mir::machine::{Block, Condition, Edge, Function, Inst, Operand, Terminator};

/// Gives every block the branch instructions that its terminator and its place ask for.
pub fn lower(f: &mut Function) {
    return_at_end(f);
    lower_terminators(f);
}

/// Farthest displacement of a branch, in dwords from the next instruction.
pub(crate) const REACH: i64 = 32767;

/// A branch to `target`.
pub(crate) fn branch(op: Opcode, target: Block) -> Inst {
    Inst::new(op, [Operand::Block(target)])
}

fn conditional(condition: Condition) -> Opcode {
    match condition {
        Condition::Scc0 => Opcode::S_CBRANCH_SCC0,
        Condition::Scc1 => Opcode::S_CBRANCH_SCC1,
        Condition::Vccz => Opcode::S_CBRANCH_VCCZ,
        Condition::Vccnz => Opcode::S_CBRANCH_VCCNZ,
        Condition::Execz => Opcode::S_CBRANCH_EXECZ,
        Condition::Execnz => Opcode::S_CBRANCH_EXECNZ,
    }
}

/// Lets a shader that returns a result leave it at its end, behind which the driver puts what goes on.
fn return_at_end(f: &mut Function) {
    if f.call_conv.is_callable() {
        return;
    }
    let Some((_, before)) = f.layout.split_last() else { return };
    let returns = |block: &Block| f.blocks[*block].term == Terminator::Return;
    let early: Vec<Block> = before.iter().copied().filter(returns).collect();
    if early.is_empty() {
        return;
    }
    let end = f.add_block();
    f.blocks[end].term = Terminator::Return;
    for block in early {
        let data = &mut f.blocks[block];
        data.term = Terminator::Jump;
        data.wave_succs = std::iter::once(Edge { block: end, args: Default::default() }).collect();
    }
}

/// Appends the branches of each block, given what follows it.
fn lower_terminators(f: &mut Function) {
    let mut places: SecondaryMap<Block, usize> = SecondaryMap::new();
    for (place, &block) in f.layout.iter().enumerate() {
        places[block] = place;
    }
    for i in 0..f.layout.len() {
        let next = f.layout.get(i + 1).copied();
        let data = &mut f.blocks[f.layout[i]];
        let successor = |n: usize| data.wave_succs.get(n).map(|edge| edge.block);
        match (data.term, successor(0), successor(1)) {
            (Terminator::Jump, Some(to), _) => {
                if next != Some(to) {
                    data.insts.push(branch(Opcode::S_BRANCH, to));
                }
            }
            (Terminator::Uniform(condition), Some(yes), Some(no)) => {
                if yes == no {
                    if next != Some(yes) {
                        data.insts.push(branch(Opcode::S_BRANCH, yes));
                    }
                } else if next == Some(yes) {
                    data.insts.push(branch(conditional(condition.inverse()), no));
                } else if next == Some(no) {
                    data.insts.push(branch(conditional(condition), yes));
                } else {
                    // Where a loop goes on, one branch is executed.
                    let (condition, first, second) = match places[no] <= i && places[yes] > i {
                        true => (condition.inverse(), no, yes),
                        false => (condition, yes, no),
                    };
                    data.insts.push(branch(conditional(condition), first));
                    data.insts.push(branch(Opcode::S_BRANCH, second));
                }
            }
            (Terminator::Return, ..) => {}
            // Control that cannot get here stops all the same rather than running into what follows.
            _ => data.insts.push(Inst::new(Opcode::S_ENDPGM, [Operand::Imm(0)])),
        }
        data.head_len = 0;
        data.tail_start = data.insts.len() as u32;
    }
}
