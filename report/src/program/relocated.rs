//! Names of symbols in the text of instructions whose literal is relocated.
//!
//! The image has the value that linking gave the literal, which says nothing to a reader; a relocatable object still says which symbol it is of.
//! Source of the numbers: AMDGPU usage guide, "Relocation Records".

use super::Function;
use cranelift_entity::EntityRef;
use mir::isa::Names;
use mir::machine::{Operand, RelocKind, SymbolId};
use mir::target::Target;
use std::fmt::{self, Formatter};

/// A dword of code that is relocated.
pub(super) struct Relocated {
    /// Address in the image.
    pub address: u64,
    /// Which part of the address.
    pub kind: RelocKind,
    /// Symbol.
    pub name: String,
    /// Added to the symbol's address.
    pub addend: i64,
}

/// The part of an address that a relocation type stands for.
pub(super) fn part(r_type: u32) -> Option<RelocKind> {
    Some(match r_type {
        1 => RelocKind::Abs32Lo,
        2 => RelocKind::Abs32Hi,
        8 => RelocKind::GotPcRel32Lo,
        9 => RelocKind::GotPcRel32Hi,
        10 => RelocKind::Rel32Lo,
        11 => RelocKind::Rel32Hi,
        _ => return None,
    })
}

/// The symbol of a line.
struct Name<'a>(&'a str);

impl Names for Name<'_> {
    fn symbol(&self, f: &mut Formatter<'_>, _: SymbolId, addend: i32, kind: RelocKind) -> fmt::Result {
        write!(f, "{}{}", self.0, kind.suffix())?;
        if addend == 0 { Ok(()) } else { write!(f, "{addend:+}") }
    }
}

/// Puts the symbol into the text of the line of `function` that holds the relocated dword, whose value in the image is `value`.
pub(super) fn name(function: &mut Function, relocated: &Relocated, value: u32, target: &Target) {
    let Some(offset) = relocated.address.checked_sub(function.start) else { return };
    let after = function.lines.partition_point(|line| line.offset <= offset);
    let Some(line) = after.checked_sub(1).and_then(|at| function.lines.get_mut(at)) else { return };
    let (Some(inst), Ok(addend)) = (&line.inst, i32::try_from(relocated.addend)) else { return };
    // Behind the instruction's own dwords.
    if offset < line.offset + 4 || offset >= line.offset + u64::from(line.bytes) {
        return;
    }
    let literal = |operand: &Operand| operand.as_imm().is_some_and(|imm| imm as u32 == value);
    let Some(operand) = inst.operands.iter().rposition(literal) else { return };
    let mut shown = inst.clone();
    shown.operands[operand] = Operand::Symbol { symbol: SymbolId::new(0), addend, kind: relocated.kind };
    line.text = shown.display_with(target, &Name(&relocated.name)).to_string();
}
