//! Inline assembly in machine code: the instruction `INLINE_ASM` and what it refers to.
//!
//! `INLINE_ASM head, ties.., early.., definitions.., uses.., tied uses..` has as many operands as the text asks for. Its five constants say how to
//! read them: `head` has the number of the site, of definitions and of what follows them untied; bit i of `ties` says that definition i has a tied use
//! (they stand in order at the end, and allocation drops them as it does those of other instructions); bit i of `early` that definition i is
//! written before all uses are read. Clobbered registers are definitions of physical registers.
//!
//! The text is kept aside ([`AsmSite`]), since registers are put into it when they are known; the instructions that it stands for follow
//! `INLINE_ASM` in the block from then on.

use super::{Inst, Operand};
use crate::isa::Opcode;
use smallvec::SmallVec;

/// What `$n` in the text stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AsmArgument {
    /// The registers of the instruction's operand with this index.
    Operand(u32),
    /// A number.
    Number(i64),
    /// This text: a named register or a symbol.
    Text(String),
}

/// Inline assembly of a function.
#[derive(Clone, PartialEq, Debug)]
pub struct AsmSite {
    /// Template.
    pub text: String,
    /// The operands by their number in the template.
    pub arguments: Vec<AsmArgument>,
    /// SGPRs up to the highest that a clobber names. They count as used even where the processor lacks them: then the kernel is over its limit.
    pub named_sgprs: u32,
    /// Only its results tell that it ran: it may be moved and taken apart.
    pub pure: bool,
    /// Once assembled: the text is more than a list of instructions (it has labels, data, symbols), so that its code is a block of words whose
    /// inside nobody knows.
    pub opaque: bool,
    /// Instructions inside of an opaque block, in the order of the text.
    pub inside: Vec<Inst>,
}

/// Index of the first definition among the operands of `INLINE_ASM`.
pub const FIRST_ASM_OPERAND: usize = 5;

/// How to read the operands of an `INLINE_ASM`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AsmLayout {
    /// Index into [`super::Function::asm_sites`].
    pub site: u32,
    /// Index behind the last definition.
    pub defs_end: usize,
    /// Index behind the last use that is not tied.
    pub uses_end: usize,
    ties: u128,
    early: u128,
}

impl AsmLayout {
    /// The operand that tied use `k` (an index of an operand) is tied to.
    pub fn tied_to(&self, k: usize) -> usize {
        let mut ties = self.ties;
        for _ in self.uses_end..k {
            ties &= ties.wrapping_sub(1);
        }
        FIRST_ASM_OPERAND + ties.trailing_zeros().min(127) as usize
    }

    /// Whether definition `k` (an index of an operand) is written before all uses are read.
    pub fn is_early(&self, k: usize) -> bool {
        let n = k.saturating_sub(FIRST_ASM_OPERAND);
        // Clobbers behind the outputs that have bits are early, too.
        n >= MAX_ASM_OUTPUTS || self.early >> n & 1 != 0
    }
}

/// Most outputs that inline assembly may have.
pub const MAX_ASM_OUTPUTS: usize = 128;

/// An `INLINE_ASM` with these definitions (whether early, and the tied use), clobbers and uses.
pub fn inline_asm(
    site: u32,
    outputs: &[(Operand, bool, Option<Operand>)],
    clobbers: &[Operand],
    uses: &[Operand],
) -> Inst {
    let (mut ties, mut early) = (0u128, 0u128);
    for (i, output) in outputs.iter().take(MAX_ASM_OUTPUTS).enumerate() {
        ties |= u128::from(output.2.is_some()) << i;
        early |= u128::from(output.1) << i;
    }
    for i in outputs.len()..(outputs.len() + clobbers.len()).min(MAX_ASM_OUTPUTS) {
        early |= 1 << i;
    }
    let defs = outputs.len() + clobbers.len();
    let head = i64::from(site) | (defs as i64) << 32 | (uses.len() as i64) << 48;
    let mut operands: SmallVec<[Operand; 5]> = SmallVec::new();
    let halves = |mask: u128| [Operand::Imm(mask as i64), Operand::Imm((mask >> 64) as i64)];
    operands.push(Operand::Imm(head));
    operands.extend(halves(ties));
    operands.extend(halves(early));
    operands.extend(outputs.iter().map(|output| output.0));
    operands.extend_from_slice(clobbers);
    operands.extend_from_slice(uses);
    operands.extend(outputs.iter().filter_map(|output| output.2));
    Inst::with_operands(Opcode::INLINE_ASM, operands, Default::default())
}

impl Inst {
    /// How to read the operands of an `INLINE_ASM`; `None` for other instructions.
    #[inline]
    pub fn asm_layout(&self) -> Option<AsmLayout> {
        if self.op != Opcode::INLINE_ASM {
            return None;
        }
        let constant = |k: usize| self.operands.get(k).and_then(Operand::as_imm).unwrap_or(0);
        let mask = |k: usize| u128::from(constant(k) as u64) | u128::from(constant(k + 1) as u64) << 64;
        let head = constant(0) as u64;
        let defs_end = FIRST_ASM_OPERAND + (head >> 32 & 0xffff) as usize;
        Some(AsmLayout {
            site: head as u32,
            defs_end,
            uses_end: defs_end + (head >> 48) as usize,
            ties: mask(1),
            early: mask(3),
        })
    }

    /// Index behind the last operand that is written. Constants may stand before.
    #[inline]
    pub fn defs_end(&self) -> usize {
        match self.asm_layout() {
            Some(layout) => layout.defs_end,
            None => usize::from(self.facts().def_count),
        }
    }

    /// Number of operands that the instruction keeps, those of its row and further registers of an image's address: behind them stand those
    /// that are tied to definitions.
    #[inline]
    pub fn kept_operands(&self) -> usize {
        match self.asm_layout() {
            Some(layout) => layout.uses_end,
            None => self.op.info().operands.len() + usize::from(self.mods.address_parts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::PReg;

    #[test]
    fn operands_are_found_again() {
        let v = |n| Operand::preg(PReg::vgpr(n), 1);
        let outputs =
            [(v(0), true, None), (v(1), false, Some(v(11))), (v(2), false, None), (v(3), false, Some(v(13)))];
        let inst = inline_asm(7, &outputs, &[v(4)], &[v(5), Operand::Imm(3)]);
        let layout = inst.asm_layout().unwrap();
        assert_eq!((layout.site, layout.defs_end, layout.uses_end), (7, 10, 12));
        assert_eq!((layout.tied_to(12), layout.tied_to(13)), (6, 8));
        let early: Vec<bool> = (5..10).map(|k| layout.is_early(k)).collect();
        assert_eq!(early, [true, false, false, false, true]);
        let written: Vec<bool> = inst.regs().map(|(is_def, _)| is_def).collect();
        assert_eq!(written, [true, true, true, true, true, false, false, false]);
        assert_eq!(inst.kept_operands(), 12);
    }
}
