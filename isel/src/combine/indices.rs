//! Scaled indices in SGPRs that several addresses of a block have in common.
//!
//! Selection makes an address value by value: `a[i]` and `b[i]` extend and shift the same index, each for itself. Of two equal shifts, and of what they shift,
//! the second one becomes a copy, which allocation joins with the first one where that is still alive. Far apart, a register would be taken for longer than
//! the instruction costs. This is local value numbering of the few operations that such indices are made of; SCC, which they write, is read of none of them yet.
//!
//! Cost: a look at each instruction of the block, and a look-up for each shift of a block with two.

use mir::isa::Opcode::{self, *};
use mir::machine::{Block, Function, Inst, Modifiers, Operand, Reg, RegFile, RegOperand, VReg};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Most instructions between two that become one.
const REACH: usize = 128;

/// What an instruction computes, as registers are written once.
type Key = (Opcode, SmallVec<[Operand; 3]>);

/// Makes copies of the repeated shifts of `block`.
pub(super) fn share(f: &mut Function, block: Block) {
    let is_shift = |inst: &&Inst| matches!(inst.op, S_LSHL_B32 | S_LSHL_B64);
    if f.blocks[block].insts.iter().filter(is_shift).nth(1).is_none() {
        return;
    }
    let mut known: FxHashMap<Key, (VReg, usize)> = FxHashMap::default();
    let mut same: FxHashMap<VReg, VReg> = FxHashMap::default();
    let mut insts = std::mem::take(&mut f.blocks[block].insts);
    for (at, inst) in insts.iter_mut().enumerate() {
        let Some((result, key)) = computed(f, inst, &same) else { continue };
        match known.get(&key) {
            Some(&(first, place)) if at - place <= REACH => {
                let dwords = f.vregs[result].dwords;
                *inst = Inst::new(COPY, [inst.operands[0], Operand::vreg(first, dwords)]);
                same.insert(result, first);
            }
            _ => {
                known.insert(key, (result, at));
            }
        }
    }
    f.blocks[block].insts = insts;
}

/// The SGPRs that `inst` makes, if it is a part of a scaled index, and what is in them; what is the `same` as another register stands for that.
fn computed(f: &Function, inst: &Inst, same: &FxHashMap<VReg, VReg>) -> Option<(VReg, Key)> {
    if !matches!(inst.op, S_ASHR_I32 | S_LSHL_B32 | S_LSHL_B64 | REG_SEQUENCE)
        || inst.mods != Modifiers::default()
    {
        return None;
    }
    let (result, sources) = inst.operands.split_first()?;
    let RegOperand { reg: Reg::Virtual(reg), sub: 0, dwords } = *result.as_reg()? else { return None };
    let data = f.vregs[reg];
    if data.file != RegFile::Sgpr || data.dwords != dwords || dwords > 2 {
        return None;
    }
    let mut key = SmallVec::new();
    for source in sources {
        key.push(match *source {
            Operand::Imm(_) => *source,
            Operand::Reg(part) => match part.reg {
                Reg::Virtual(of) => Operand::Reg(RegOperand {
                    reg: Reg::Virtual(same.get(&of).copied().unwrap_or(of)),
                    ..part
                }),
                Reg::Physical(_) => return None,
            },
            _ => return None,
        });
    }
    Some((reg, (inst.op, key)))
}
