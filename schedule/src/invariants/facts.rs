//! What is known of registers and places.

use cranelift_entity::SecondaryMap;
use mir::analysis::Loop;
use mir::isa::OperandAccess;
use mir::machine::{Function, Operand, Reg, VReg};

/// Where a register is defined.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Home {
    /// In front of all code.
    #[default]
    Entry,
    Block(u32),
    /// Where nothing can be put behind it, or at several places.
    Nowhere,
}

/// What is known of a register.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    pub(super) home: Home,
    /// Whether a move in front of a loop would only have been copied: another register is written in its place.
    pub(super) fixed: bool,
    /// Instructions that use it, and the place of the last one in its block, if all of them are in that of its definition.
    pub(super) uses: u32,
    pub(super) last: Option<u32>,
    /// The loop that it was moved out of last.
    pub(super) gone: Option<Loop>,
}

/// What is known of each register of `f`.
pub(super) fn registers(f: &Function) -> SecondaryMap<VReg, Known> {
    let mut known: SecondaryMap<VReg, Known> = SecondaryMap::new();
    for &block in &f.layout {
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
                    continue;
                }
                known.fixed |= matches!(access, OperandAccess::Tied { .. });
                let first = known.uses == 0 || known.last.is_some();
                known.uses += 1;
                known.last = (first && known.home == Home::Block(block.as_u32())).then_some(at as u32);
            }
        }
        let edges = data.thread_succs.iter().chain(&data.wave_succs);
        for &arg in edges.flat_map(|edge| &edge.args) {
            known[arg].fixed = true;
        }
    }
    known
}

/// The most VGPRs that are alive in a block, up to each place and from it on; a place is in front of its instruction.
pub(super) struct Peaks {
    pub(super) before: Vec<u32>,
    pub(super) behind: Vec<u32>,
}

impl Peaks {
    /// The most that are alive where a register is not, that is defined and used last at these places.
    pub(super) fn outside(&self, defined: usize, last: usize) -> u32 {
        let at = |list: &[u32], place: usize| list.get(place).copied().unwrap_or(0);
        at(&self.before, defined).max(at(&self.behind, last + 1))
    }
}

/// The register that `operand` is all of.
pub(super) fn whole(f: &Function, operand: &Operand) -> Option<VReg> {
    let operand = operand.as_reg()?;
    let Reg::Virtual(reg) = operand.reg else { return None };
    (operand.sub == 0 && operand.dwords == f.vregs[reg].dwords).then_some(reg)
}
