//! An instruction in words, from the instruction table: what it does, what it reads and writes.

use crate::analysis::search::Range;
use mir::isa::{Comparison, Implicit, MemoryAction, MemoryKind, OperandDesc, Relation, Role, Unit};
use mir::machine::{Extension, Inst, ModFlags, Operand, Reg};
use mir::target::WaveSize;

/// The unit that executes it.
pub(super) fn unit(inst: &Inst) -> &'static str {
    match inst.facts().unit {
        Unit::Salu => "scalar ALU",
        Unit::Control => "program control",
        Unit::Smem => "scalar memory",
        Unit::Valu => "vector ALU",
        Unit::Interp => "interpolation",
        Unit::Vmem => "vector memory",
        Unit::Ds if inst.is_gds() => "GDS",
        Unit::Ds => "LDS",
        Unit::Export => "export",
        Unit::Pseudo => "no unit",
    }
}

/// What mnemonics begin with, behind the unit, in words. The first that fits counts, so longer ones stand first.
const STEMS: &[(&str, &str)] = &[
    ("add3", "adds three numbers"),
    ("add_lshl", "adds, then shifts to the left"),
    ("addc", "adds with carry"),
    ("addk", "adds a constant"),
    ("add", "adds"),
    ("alignbit", "takes 32 bits out of 64 from a bit on"),
    ("alignbyte", "takes four bytes out of eight from a byte on"),
    ("and_or", "ANDs, then ORs"),
    ("and_saveexec", "ANDs EXEC with a mask and saves what it was"),
    ("andn1_saveexec", "takes away from EXEC the lanes of a mask and saves what it was"),
    ("andn2_saveexec", "makes those lanes of a mask active that were not, and saves what EXEC was"),
    ("andn2", "ANDs with the complement"),
    ("and", "ANDs"),
    ("ashr", "shifts to the right, keeping the sign"),
    ("barrier", "waits for the other waves of the work-group"),
    ("bcnt", "counts bits"),
    ("bfe", "extracts bits"),
    ("bfi", "inserts bits"),
    ("bfm", "makes a mask of bits"),
    ("bitset", "sets or clears a bit"),
    ("bpermute", "reads a dword of another lane, which the address names"),
    ("branch", "jumps"),
    ("brev", "reverses the bits"),
    ("cbranch", "jumps where the condition holds"),
    ("ceil", "rounds up"),
    ("cmov", "moves where SCC is set"),
    ("cmpx", "compares, and only lanes for which it holds stay active"),
    ("cmp", "compares"),
    ("cndmask", "selects lane by lane by a mask"),
    ("cos", "computes the cosine"),
    ("cselect", "selects by SCC"),
    ("cvt", "converts"),
    ("div_fixup", "puts a quotient's special cases right"),
    ("div_fmas", "multiplies and adds in a division, scaled as VCC says"),
    ("div_scale", "scales an operand of a division"),
    ("endpgm", "ends the program"),
    ("exp", "raises 2 to a power"),
    ("ff1", "finds the first set bit"),
    ("ffb", "finds the first bit of a kind"),
    ("flbit", "finds the highest bit of a kind"),
    ("floor", "rounds down"),
    ("fmac", "multiplies and adds to what is there, rounding once"),
    ("fma", "multiplies and adds, rounding once"),
    ("fract", "takes the fraction"),
    ("frexp", "splits a float"),
    ("getpc", "takes the address of the next instruction"),
    ("getreg", "reads bits of a hardware register"),
    ("ldexp", "scales by a power of two"),
    ("lerp", "averages bytes"),
    ("log", "computes the logarithm to base 2"),
    ("lshl_add", "shifts to the left, then adds"),
    ("lshl_or", "shifts to the left, then ORs"),
    ("lshl", "shifts to the left"),
    ("lshr", "shifts to the right, filling with zeros"),
    ("mac", "multiplies and adds to what is there"),
    ("mad", "multiplies and adds"),
    ("max3", "takes the largest of three"),
    ("max", "takes the larger"),
    ("mbcnt", "counts the set bits of a mask below the lane"),
    ("med3", "takes the middle of three"),
    ("memtime", "reads the clock"),
    ("memrealtime", "reads the constant clock"),
    ("min3", "takes the smallest of three"),
    ("min", "takes the smaller"),
    ("movk", "writes a constant"),
    ("movrel", "moves a register whose number M0 adds to"),
    ("mov", "moves"),
    ("mulk", "multiplies by a constant"),
    ("mul_hi", "multiplies and takes the upper half"),
    ("mul", "multiplies"),
    ("nop", "does nothing for some cycles"),
    ("not", "complements the bits"),
    ("or3", "ORs three numbers"),
    ("or_saveexec", "ORs EXEC with a mask and saves what it was"),
    ("orn2", "ORs with the complement"),
    ("or", "ORs"),
    ("perm_b32", "picks four bytes out of eight"),
    ("permute", "sends a dword to another lane, which the address names"),
    ("pk_", "works on two halves at once"),
    ("rcp", "approximates the reciprocal"),
    ("readfirstlane", "reads the first active lane into an SGPR"),
    ("readlane", "reads a lane into an SGPR"),
    ("rndne", "rounds to the nearest integer, even ones first"),
    ("rsq", "approximates the reciprocal of the square root"),
    ("sad", "sums absolute differences"),
    ("sendmsg", "sends a message"),
    ("setpc", "jumps to an address"),
    ("setprio", "sets the wave's priority"),
    ("setreg", "writes bits of a hardware register"),
    ("sext", "extends the sign"),
    ("sin", "computes the sine"),
    ("sleep", "pauses the wave"),
    ("sqrt", "approximates the square root"),
    ("subbrev", "subtracts with borrow, operands exchanged"),
    ("subb", "subtracts with borrow"),
    ("subrev", "subtracts, operands exchanged"),
    ("sub", "subtracts"),
    ("swappc", "jumps to an address and keeps the one to come back to"),
    ("swizzle", "exchanges dwords between lanes in a pattern"),
    ("trap", "enters the trap handler"),
    ("trunc", "rounds towards zero"),
    ("waitcnt", "waits for operations under way"),
    ("wqm", "completes quads of lanes"),
    ("writelane", "writes one lane of a VGPR"),
    ("xad", "XORs, then adds"),
    ("xnor", "XORs and complements"),
    ("xor", "XORs"),
];

fn memory(inst: &Inst) -> Option<String> {
    let memory = inst.facts().memory.filter(|memory| memory.is_access())?;
    let place = match memory.kind {
        MemoryKind::Scalar => "memory at a scalar address",
        MemoryKind::ScalarBuffer => "a buffer, the same place for all lanes",
        MemoryKind::Buffer | MemoryKind::TypedBuffer => "a buffer",
        MemoryKind::Image => "an image",
        MemoryKind::Flat => "memory, LDS or scratch, as the generic address says",
        MemoryKind::Global => "memory",
        MemoryKind::Scratch => "scratch",
        MemoryKind::Lds if inst.is_gds() => "GDS",
        MemoryKind::Lds => "LDS",
        MemoryKind::Gds => "GDS",
    };
    let bytes = match memory.element_bytes {
        0 => String::new(),
        bytes if memory.stride_bytes > 0 => format!("twice {bytes} bytes "),
        bytes => format!("{bytes} bytes "),
    };
    let each = if inst.facts().unit == Unit::Smem { "" } else { " for each active lane" };
    let action = memory.action;
    Some(if action.contains(MemoryAction::ATOMIC) {
        let what = memory.rmw.map_or_else(String::new, |rmw| format!(" ({rmw:?})").to_lowercase());
        format!("changes {bytes}of {place} in one step{what}{each}")
    } else if action.contains(MemoryAction::STORE) {
        format!("stores {bytes}to {place}{each}")
    } else if inst.mods.flags.contains(ModFlags::LDS) {
        format!("loads {bytes}from {place} into LDS{each}")
    } else {
        let signed = if memory.sign_extends { ", extending the sign" } else { "" };
        format!("loads {bytes}from {place}{each}{signed}")
    })
}

fn relation(relation: Relation) -> &'static str {
    let plain = relation & (Relation::LESS | Relation::EQUAL | Relation::GREATER);
    if plain == Relation::LESS {
        "is less"
    } else if plain == Relation::EQUAL {
        "is equal"
    } else if plain == Relation::GREATER {
        "is greater"
    } else if plain == Relation::LESS | Relation::EQUAL {
        "is less or equal"
    } else if plain == Relation::GREATER | Relation::EQUAL {
        "is greater or equal"
    } else if plain == Relation::LESS | Relation::GREATER {
        "differs"
    } else if plain.is_empty() {
        "is a NaN, or never"
    } else {
        "is ordered, or always"
    }
}

/// What the operation does.
pub(super) fn operation(inst: &Inst) -> String {
    let name = inst.op.info().name;
    if let Some(text) = memory(inst) {
        return text;
    }
    if let Some(Comparison::Relation(asked)) = inst.facts().comparison {
        return format!(
            "asks of each active lane whether the first operand {} than or to the second",
            relation(asked)
        );
    }
    // Behind the unit's letter and underscore; `ds_` and `buffer_` are longer.
    let stem = name.split_once('_').map_or(name, |(_, stem)| stem);
    let found = STEMS.iter().find(|(prefix, _)| stem.starts_with(prefix));
    let mut text = match found {
        Some((_, words)) => (*words).to_owned(),
        None => format!("the operation {name}, for which there are no words here"),
    };
    if inst.facts().unit == Unit::Valu
        && found.is_some()
        && !inst.facts().implicit.contains(Implicit::EXEC_DEF)
        && inst.facts().implicit.contains(Implicit::EXEC_USE)
    {
        text.push_str(", in each active lane");
    }
    match inst.mods.ext {
        Extension::Dpp(_) | Extension::Dpp8(_) => {
            text.push_str(", with a source that comes from another lane (DPP)")
        }
        Extension::Sdwa(_) => text.push_str(", on bytes or halves of its operands (SDWA)"),
        Extension::None => {}
    }
    text
}

/// The table's name of an operand, as a part of a sentence.
fn role(desc: Option<&OperandDesc>) -> String {
    let name = desc.map_or("", |desc| desc.name);
    let words = match name {
        "vdata" | "data0" | "data" | "sdata" => "data",
        "vaddr" | "addr" => "address",
        "saddr" => "scalar address",
        "srsrc" => "resource",
        "ssamp" => "sampler",
        "soffset" => "offset",
        "sbase" => "base",
        _ => return String::new(),
    };
    format!(" ({words})")
}

/// The registers of an instruction: whether written, which, and what they are to it. Implied ones come last; one that is read and written is listed twice.
pub(super) fn registers(inst: &Inst) -> Vec<(bool, Range, String)> {
    let info = inst.op.info();
    let mut out = Vec::new();
    for (index, operand) in inst.operands.iter().enumerate() {
        let Operand::Reg(operand) = operand else { continue };
        let Reg::Physical(first) = operand.reg else { continue };
        let desc = info.operands.get(index);
        let range = (first, u16::from(operand.dwords).max(1));
        let role = role(desc);
        let kind = desc.map_or(Role::Use, |desc| desc.role);
        if kind != Role::Use {
            out.push((true, range, role.clone()));
        }
        if kind != Role::Def {
            out.push((false, range, role));
        }
    }
    // EXEC as the mask of lanes is read by all vector code and would tell nothing.
    let implied = inst.facts().implicit & !Implicit::EXEC_USE & !Implicit::FLAT_SCRATCH_USE;
    out.extend(
        implied
            .registers(WaveSize::W64)
            .map(|(first, dwords, write)| (write, (first, dwords), " (implied)".to_owned())),
    );
    out
}

/// Constants among the operands.
pub(super) fn constants(inst: &Inst) -> Vec<String> {
    let info = inst.op.info();
    let constant = |(index, operand): (usize, &Operand)| {
        let value = operand.as_imm()?;
        let role = role(info.operands.get(index));
        Some(if (-16..=64).contains(&value) {
            format!("{value}{role}: a constant")
        } else {
            format!("{value:#x}{role}: a constant")
        })
    };
    inst.operands.iter().enumerate().filter_map(constant).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mir::isa::{Opcode, OpcodeInfo};

    /// Most rows have words of their own.
    #[test]
    fn most_instructions_have_words() {
        let rows: Vec<&OpcodeInfo> = Opcode::ALL.iter().map(|op| op.info()).collect();
        let named = Opcode::ALL
            .iter()
            .filter(|op| !operation(&Inst::new(**op, [])).contains("no words here"))
            .count();
        assert!(named * 10 > rows.len() * 8, "{named} of {}", rows.len());
    }
}
