//! What is known of virtual registers, and how many are alive where.

use crate::code::Code;
use crate::live::LiveOut;
use crate::pressure::Profile;
use cranelift_entity::SecondaryMap;
use mir::analysis::Loop;
use mir::isa::OperandAccess;
use mir::machine::{Block, Function, Inst, Operand, Reg, VReg};

/// Where a register is defined.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Home {
    /// In front of all code.
    #[default]
    Entry,
    Block(u32),
    /// Where nothing can be put behind it, or at several places.
    Nowhere,
}

/// What is known of a register.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known {
    pub(crate) home: Home,
    /// Whether a move in front of a loop would only have been copied: another register is written in its place.
    pub(crate) fixed: bool,
    /// Whether a copy takes it, or a tuple that it may be made a part of at once.
    pub(crate) copied: bool,
    /// Instructions that use it, and the place of the last one in its block, if all of them are in that of its definition.
    pub(crate) uses: u32,
    pub(crate) last: Option<u32>,
    /// The place of its last use, an edge's included, as far as the layout goes: that of the block, and that in the block.
    pub(crate) end: (u32, u32),
    /// The place of its definition in its block.
    pub(crate) at: u32,
    /// Edges that pass it on.
    pub(crate) args: u32,
    /// The loop that it was moved out of last.
    pub(crate) gone: Option<Loop>,
}

/// What is known of each register of `f`.
pub(crate) fn registers(f: &Function) -> SecondaryMap<VReg, Known> {
    let mut known: SecondaryMap<VReg, Known> = SecondaryMap::new();
    known.resize(f.vregs.len());
    for (place, &block) in f.layout.iter().enumerate() {
        let place = place as u32;
        let data = &f.blocks[block];
        for &param in data.vparams.iter().chain(&data.sparams) {
            known[param].home = Home::Block(block.as_u32());
        }
        for (at, inst) in data.insts.iter().enumerate() {
            for (k, operand) in inst.operands.iter().enumerate() {
                let Some(Reg::Virtual(reg)) = operand.as_reg().map(|reg| reg.reg) else { continue };
                let access = inst.operand_access(k);
                let known = &mut known[reg];
                if access == OperandAccess::Def {
                    let again = known.home != Home::Entry || at >= data.tail_start as usize;
                    known.home = if again { Home::Nowhere } else { Home::Block(block.as_u32()) };
                    known.at = at as u32;
                    continue;
                }
                known.fixed |= matches!(access, OperandAccess::Tied { .. });
                known.copied |= inst.op.is_copy();
                let first = known.uses == 0 || known.last.is_some();
                known.uses += 1;
                known.end = (place, at as u32);
                known.last = (first && known.home == Home::Block(block.as_u32())).then_some(at as u32);
            }
        }
        let edges = data.thread_succs.iter().chain(&data.wave_succs);
        for &arg in edges.flat_map(|edge| &edge.args) {
            known[arg].fixed = true;
            known[arg].args += 1;
            known[arg].end = (place, u32::MAX);
        }
    }
    known
}

/// VGPRs that are alive in front of each instruction of `block`, which is at `place` of the layout, and behind the last one.
pub(crate) fn alive_in(
    f: &Function,
    code: &Code,
    live: &LiveOut,
    profile: &mut Profile,
    block: Block,
    place: usize,
) -> Vec<u32> {
    let count = f.blocks[block].insts.len();
    let mut alive = vec![0; count + 1];
    profile.enter_block(live.dwords(block), live.near(block));
    alive[count] = profile.now.vgprs;
    for k in (0..count).rev() {
        profile.step(f, code.accesses(code.block(place) + k as u32));
        alive[k] = profile.now.vgprs;
    }
    alive
}

/// The most VGPRs that are alive in a block, up to each place and from it on; a place is in front of its instruction.
pub(crate) struct Peaks {
    before: Vec<u32>,
    behind: Vec<u32>,
}

impl Peaks {
    /// From how many are alive in each place.
    pub(crate) fn of(alive: Vec<u32>) -> Self {
        let (mut before, mut behind) = (alive.clone(), alive);
        for k in 1..before.len() {
            before[k] = before[k].max(before[k - 1]);
        }
        for k in (1..behind.len()).rev() {
            behind[k - 1] = behind[k - 1].max(behind[k]);
        }
        Self { before, behind }
    }

    /// The most that are alive where a register is not, that is defined and used last at these places.
    pub(crate) fn outside(&self, defined: usize, last: usize) -> u32 {
        let at = |list: &[u32], place: usize| list.get(place).copied().unwrap_or(0);
        at(&self.before, defined).max(at(&self.behind, last + 1))
    }
}

/// The register that `operand` is all of.
pub(crate) fn whole(f: &Function, operand: &Operand) -> Option<VReg> {
    let operand = operand.as_reg()?;
    let Reg::Virtual(reg) = operand.reg else { return None };
    (operand.sub == 0 && operand.dwords == f.vregs[reg].dwords).then_some(reg)
}

/// Puts what stands for registers in the place of their uses.
pub(crate) fn rename_uses(inst: &mut Inst, renamed: &SecondaryMap<VReg, Option<VReg>>) {
    for (write, operand) in inst.regs_mut() {
        // What stands for one may have been replaced itself.
        while let (false, Reg::Virtual(reg)) = (write, operand.reg)
            && let Some(same) = renamed[reg]
        {
            operand.reg = Reg::Virtual(same);
        }
    }
}
