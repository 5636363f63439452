//! Branches over 63 dwords, which go wrong on some processors: an `s_nop` behind one makes it 64.
//!
//! Distances are known at the end. Where one is bad, the text is read again with an `s_nop` more ([`super::leb::Layout`]), as for LEB128 numbers whose sizes
//! were too small. Distances of padded branches only grow, so each is padded once.
//!
//! Source: README-ISA of Mesa's ACO, "Offset3fBug"; LLVM's tests `offsetbug_*.s`, whose assembler does the same.

use super::leb::Settled;
use super::{Assembler, PatchKind};
use mir::isa::Opcode;
use mir::machine::{Inst, Operand};
use mir::target::Features;

/// The distance in dwords from the next instruction.
const BAD_DISTANCE: i16 = 0x3f;
/// `s_nop 0`.
const NOP: u32 = 0xbf80_0000;

impl Assembler<'_, '_> {
    /// Puts an `s_nop` behind the branch that was assembled last, where the layout says so.
    pub(super) fn pad_branch(&mut self) {
        let number = self.branches;
        self.branches += 1;
        if self.layout.padded.binary_search(&number).is_err() {
            return;
        }
        let place = self.here();
        self.section().data.extend_from_slice(&NOP.to_le_bytes());
        if let Some(collected) = &mut self.collected {
            collected.push((place.offset, Inst::new(Opcode::S_NOP, [Operand::Imm(0)])));
        }
    }

    /// Notes in the layout which branches have to be padded besides. Labels that are not known are reported when distances are filled in.
    pub(super) fn settle_branches(&mut self) -> Settled {
        let target = self.target;
        if !target.has(Features::BRANCH_OF_63_DWORDS) {
            return Settled::Yes;
        }
        let patches = std::mem::take(&mut self.patches);
        let branches = patches.iter().filter(|patch| patch.kind == PatchKind::Branch);
        let mut bad = Vec::new();
        for (number, patch) in (0..).zip(branches) {
            let sum = self.symbols.evaluate(&patch.value, &target).ok();
            if sum.and_then(|sum| self.branch_distance(&sum, patch.place).ok()) == Some(BAD_DISTANCE) {
                bad.push(number);
            }
        }
        self.patches = patches;
        if bad.is_empty() {
            return Settled::Yes;
        }
        self.layout.padded.extend(bad);
        self.layout.padded.sort_unstable();
        self.layout.padded.dedup();
        Settled::No
    }
}
