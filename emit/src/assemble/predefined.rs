//! Symbols that the assembler defines and updates by itself: the processor's version, and how many registers
//! the instructions so far have named.
//!
//! They stay out of the object unless the text gives them a value. Source: AMDGPU usage guide, "Predefined
//! Symbols" of code objects V2 and of V3 and later.

use super::Assembler;
use super::symbols::{Definition, Sum, SymbolId, Symbols};
use mir::machine::{Inst, Reg};
use mir::target::Target;

/// Symbols of the parts of the processor's version: V3's name, V2's name.
const VERSION: [[&str; 2]; 3] = [
    [".amdgcn.gfx_generation_number", ".option.machine_version_major"],
    [".amdgcn.gfx_generation_minor", ".option.machine_version_minor"],
    [".amdgcn.gfx_generation_stepping", ".option.machine_version_stepping"],
];

/// Symbols that are one more than the highest register: V3's of the file, V2's of the kernel.
const VGPRS: [&str; 2] = [".amdgcn.next_free_vgpr", ".kernel.vgpr_count"];
const SGPRS: [&str; 2] = [".amdgcn.next_free_sgpr", ".kernel.sgpr_count"];

/// The symbols that count registers.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    vgprs: [SymbolId; 2],
    sgprs: [SymbolId; 2],
}

/// Defines all of them for `target`.
pub fn define(symbols: &mut Symbols<'_>, target: &Target) -> Counts {
    for (names, part) in VERSION.iter().zip(target.processor.isa_version()) {
        for name in names {
            symbols.predefine(name, part.into());
        }
    }
    let mut zero = |name| symbols.predefine(name, 0);
    Counts { vgprs: VGPRS.map(&mut zero), sgprs: SGPRS.map(&mut zero) }
}

impl Assembler<'_, '_> {
    /// Raises the counts to what `inst` names.
    pub(super) fn count_registers(&mut self, inst: &Inst) {
        for reg in inst.operands.iter().filter_map(|operand| operand.as_reg()) {
            let Reg::Physical(first) = reg.reg else { continue };
            let (symbols, index) = match (first.vgpr_index(), first.sgpr_index()) {
                (Some(index), _) => (self.counts.vgprs, index),
                (_, Some(index)) => (self.counts.sgprs, index),
                _ => continue,
            };
            let count = i64::from(index) + i64::from(reg.dwords);
            for id in symbols {
                if let Definition::Value(Sum { constant, plus: None, minus: None }) =
                    &mut self.symbols.of(id).definition
                {
                    *constant = count.max(*constant);
                }
            }
        }
    }

    /// Begins to count the registers of a kernel of code object V2.
    pub(super) fn begin_kernel_scope(&mut self) {
        for id in [self.counts.vgprs[1], self.counts.sgprs[1]] {
            self.symbols.of(id).definition = Definition::Value(Sum::default());
        }
    }
}
