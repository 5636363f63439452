//! Inline assembly that computes becomes its instructions before allocation.
//!
//! The text of a pure site ([`mir::machine::AsmSite::pure`]) that is a plain list of vector and scalar arithmetic on its operands is what selection might have
//! written: then it is replaced by its instructions on virtual registers, which are combined, scheduled and allocated as any others. As long as it
//! is `INLINE_ASM`, nothing passes it, so that each load around it is waited for by itself.
//!
//! The text is assembled with registers in the operands' places that no register of the text's own is mistaken for. A register that is written
//! several times becomes a value for each time. Left as they are: texts with registers of their own (VCC among them), with memory, branches, waits or writes
//! of EXEC or MODE, with what keeps a part of what it writes (halves, bytes, lanes through DPP), and what the assembler refuses, whose error comes later.
//!
//! Cost: linear in the text; equal texts are assembled once.
//!
//! Source: LLVM language reference, "Inline Assembler Expressions" (`sideeffect`).

use super::{is_plain, replace, text::substitute};
use emit::assemble::fragment;
use mir::Result;
use mir::isa::{Implicit, OpFlags, Opcode, Role, Unit, ValueType};
use mir::machine::{
    AsmArgument, Encoding, Extension, FIRST_ASM_OPERAND, Function, Inst, Operand, PReg, Reg, RegFile,
    RegOperand, SdwaUnused,
};
use mir::target::Target;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::rc::Rc;

/// What a text is, if it can be opened.
type Code = Option<Rc<[Inst]>>;

/// Opens what can be opened of a function whose registers are virtual.
///
/// # Errors
/// None of its own.
pub fn open(f: &mut Function, target: &Target) -> Result<()> {
    if f.asm_sites.iter().all(|site| !site.pure) {
        return Ok(());
    }
    let mut known: FxHashMap<String, Code> = FxHashMap::default();
    let mut left = false;
    replace(f, |f, inst, out| {
        let is_asm = inst.op == Opcode::INLINE_ASM;
        match is_asm.then(|| opened(f, &inst, target, &mut known)).flatten() {
            Some(code) => out.extend(code),
            None => {
                left |= is_asm;
                out.push(inst);
            }
        }
        Ok(())
    })?;
    if !left {
        f.asm_sites.clear();
    }
    Ok(())
}

/// An operand of the text: where it stands in for a value, and which it is.
struct Place {
    first: PReg,
    dwords: u8,
    /// What it holds.
    value: Option<Operand>,
    /// The result, where it is one.
    result: Option<Operand>,
    /// How often the text writes it from here on.
    writes: u32,
}

/// The instructions of `inst`, an `INLINE_ASM`.
fn opened(
    f: &mut Function,
    inst: &Inst,
    target: &Target,
    known: &mut FxHashMap<String, Code>,
) -> Option<Vec<Inst>> {
    let layout = inst.asm_layout()?;
    let site = f.asm_sites.get(layout.site as usize)?;
    if !site.pure || site.named_sgprs != 0 || names_registers(&site.text) {
        return None;
    }
    // Nothing relies on SCC there.
    if site.arguments.iter().any(|argument| matches!(argument, AsmArgument::Text(name) if name != "scc")) {
        return None;
    }
    let (stand_in, mut places) = stand_ins(f, inst)?;
    let text = substitute(site, &stand_in, layout.site).ok()?;
    let code = match known.get(&text) {
        Some(code) => code.clone(),
        None => {
            let code = assembled(&text, target);
            known.insert(text, code.clone());
            code
        }
    }?;
    if !is_defined(&code, &mut places) {
        return None;
    }
    let mut out = Vec::with_capacity(code.len() + 1);
    for inst in code.iter() {
        out.push(on_values(f, inst.clone(), &mut places)?);
    }
    // What the text does not write is what it was.
    for place in places {
        if let (Some(result), Some(value)) = (place.result, place.value)
            && result != value
        {
            out.push(Inst::new(Opcode::COPY, [result, value]));
        }
    }
    out.iter_mut().for_each(|code| code.loc = inst.loc);
    Some(out)
}

/// `inst` with registers of the first places of their files as operands, and what they stand for.
fn stand_ins(f: &Function, inst: &Inst) -> Option<(Inst, Vec<Place>)> {
    let layout = inst.asm_layout()?;
    let mut stand_in = inst.clone();
    let mut places: Vec<Place> = Vec::with_capacity(inst.operands.len());
    let (mut vgprs, mut sgprs) = (0u16, 0u16);
    for k in FIRST_ASM_OPERAND..inst.operands.len() {
        let operand = inst.operands[k];
        if k >= layout.uses_end {
            let tied = layout.tied_to(k);
            places.get_mut(tied - FIRST_ASM_OPERAND)?.value = Some(operand);
            stand_in.operands[k] = stand_in.operands[tied];
            continue;
        }
        let RegOperand { reg: Reg::Virtual(reg), dwords, .. } = *operand.as_reg()? else { return None };
        let wide = u16::from(dwords);
        let first = match f.vregs[reg].file {
            RegFile::Vgpr => {
                vgprs += wide;
                PReg::vgpr(vgprs - wide)
            }
            RegFile::Sgpr => {
                let start = sgprs.next_multiple_of(wide.next_power_of_two().min(4));
                sgprs = start + wide;
                PReg::sgpr(start)
            }
        };
        if vgprs > MOST_VGPRS || sgprs > MOST_SGPRS {
            return None;
        }
        let is_result = k < layout.defs_end;
        places.push(Place {
            first,
            dwords,
            value: (!is_result).then_some(operand),
            result: is_result.then_some(operand),
            writes: 0,
        });
        stand_in.operands[k] = Operand::preg(first, dwords);
    }
    Some((stand_in, places))
}

/// Registers of each file that stand in for operands: every processor has them.
const MOST_VGPRS: u16 = 256;
const MOST_SGPRS: u16 = 96;

/// Whether the text names a register.
fn names_registers(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$') {
        rest = &rest[at..];
        let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
        let operand = rest.starts_with('$');
        rest = rest.trim_start_matches(['$', '{']);
        let end = rest.find(|c: char| !inside(c)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        rest = behind;
        let name = word.to_ascii_lowercase();
        let number = ["v", "s", "a", "ttmp"].iter().find_map(|&file| name.strip_prefix(file));
        let is_number = |number: &str| number.bytes().all(|digit| digit.is_ascii_digit());
        // `v7`, or the `v` of `v[7:8]`.
        if !operand
            && number.is_some_and(|n| is_number(n) && (!n.is_empty() || behind.trim_start().starts_with('[')))
        {
            return true;
        }
    }
    false
}

/// The instructions of a text, if they are arithmetic on registers that stand in for operands.
fn assembled(text: &str, target: &Target) -> Code {
    let code = fragment(text, target).ok().filter(|code| is_plain(code, target))?;
    let mut writes_scc = false;
    let mut insts = Vec::with_capacity(code.insts.len());
    for (_, mut inst) in code.insts {
        let implicit = inst.facts().implicit;
        if !is_arithmetic(&inst) || implicit.contains(Implicit::SCC_USE) && !writes_scc {
            return None;
        }
        writes_scc |= implicit.contains(Implicit::SCC_DEF);
        // Registers decide as they do elsewhere.
        if inst.encoding == Encoding::E32 {
            inst.encoding = Encoding::Auto;
        }
        insts.push(inst);
    }
    Some(insts.into())
}

/// Whether `inst` computes whole registers, and SCC, from its operands.
fn is_arithmetic(inst: &Inst) -> bool {
    let (facts, info) = (inst.facts(), inst.op.info());
    let others = OpFlags::SIDE_EFFECTS | OpFlags::BRANCH | OpFlags::BARRIER;
    let known = Implicit::SCC_DEF | Implicit::SCC_USE | Implicit::EXEC_USE | Implicit::MODE_USE;
    let keeps_part = match &inst.mods.ext {
        Extension::None => false,
        Extension::Sdwa(sdwa) => sdwa.dst_unused == SdwaUnused::Preserve,
        Extension::Dpp(_) | Extension::Dpp8(_) => true,
    };
    // Depending on processor and encoding, operations of 16 bits keep the other half.
    let narrow = info.operands.iter().any(|row| {
        row.role != Role::Use
            && matches!(row.ty, ValueType::B16 | ValueType::I16 | ValueType::U16 | ValueType::F16)
    });
    matches!(facts.unit, Unit::Valu | Unit::Salu)
        && facts.memory.is_none()
        && !info.flags.intersects(others)
        && known.contains(facts.implicit)
        && inst.mods.op_sel & 8 == 0
        && !keeps_part
        && !narrow
}

/// Which of `places` a register is, all of it.
fn place_of(reg: &RegOperand, places: &[Place]) -> Option<usize> {
    let Reg::Physical(first) = reg.reg else { return None };
    places.iter().position(|place| place.first == first && place.dwords == reg.dwords && reg.sub == 0)
}

/// Counts what `code` writes, and whether each value that it reads or leaves exists.
fn is_defined(code: &[Inst], places: &mut [Place]) -> bool {
    let mut exists: SmallVec<[bool; 8]> = places.iter().map(|place| place.value.is_some()).collect();
    for inst in code {
        let rows = inst.op.info().operands;
        for written in [false, true] {
            for (k, operand) in inst.operands.iter().enumerate() {
                let Some(reg) = operand.as_reg() else { continue };
                let Some(n) = place_of(reg, places) else { return false };
                let role = rows.get(k).map_or(Role::Use, |row| row.role);
                let (place, exists) = (&mut places[n], &mut exists[n]);
                let is_met = match (written, role) {
                    (false, Role::Use | Role::DefUse) => *exists,
                    (true, Role::Def | Role::DefUse) => {
                        place.writes += 1;
                        *exists = true;
                        place.result.is_some()
                    }
                    _ => true,
                };
                if !is_met {
                    return false;
                }
            }
        }
    }
    exists.iter().all(|&exists| exists)
}

/// `inst` on what its registers hold.
fn on_values(f: &mut Function, mut inst: Inst, places: &mut [Place]) -> Option<Inst> {
    let rows = inst.op.info().operands;
    let role = |k: usize| rows.get(k).map_or(Role::Use, |row| row.role);
    let mut tied: SmallVec<[Operand; 2]> = SmallVec::new();
    let mut written: SmallVec<[(usize, usize); 2]> = SmallVec::new();
    for k in 0..inst.operands.len() {
        let Some(reg) = inst.operands[k].as_reg().copied() else { continue };
        let n = place_of(&reg, places)?;
        match role(k) {
            Role::Use => inst.operands[k] = places[n].value?,
            Role::Def => written.push((k, n)),
            Role::DefUse => {
                tied.push(places[n].value?);
                written.push((k, n));
            }
        }
    }
    for (k, n) in written {
        let place = &mut places[n];
        place.writes = place.writes.checked_sub(1)?;
        let value = match place.result {
            Some(result) if place.writes == 0 => result,
            _ => {
                let file = if place.first.is_vgpr() { RegFile::Vgpr } else { RegFile::Sgpr };
                Operand::vreg(f.new_vreg(file, place.dwords), place.dwords)
            }
        };
        place.value = Some(value);
        inst.operands[k] = value;
    }
    inst.operands.extend(tied);
    Some(inst)
}

#[cfg(test)]
mod tests {
    use super::names_registers;

    #[test]
    fn registers_in_texts() {
        let named = [
            "v_mov_b32 $0, v1",
            "s_mov_b64 s[2:3], $0",
            "v_mov_b32 V3, $0",
            "v_mov_b32 $0, v [1]",
            "s_mov_b32 $0, ttmp2",
        ];
        let free = ["v_add3_u32 $0, $1, ${2:r}, $0", "v_mov_b32 $0, 1 ; $$1", "s_add_u32 $0, $1, 0x10", ""];
        named.iter().for_each(|text| assert!(names_registers(text), "{text}"));
        free.iter().for_each(|text| assert!(!names_registers(text), "{text}"));
    }
}
