//! Inline assembly: registers go into the text, the text becomes instructions.
//!
//! Runs when registers are known and before waits and NOPs are placed. Text that is a plain list of instructions becomes just that, so waits and hazards
//! around and inside it are found as everywhere. Text with labels, branches, data or symbols becomes words ([`Opcode::DATA_DWORD`]) that nothing is
//! put between; waits and hazards treat it as something that may need anything (`AsmSite::opaque`). `INLINE_ASM` itself stays in front as the place where
//! operands and clobbers are accessed. What nothing but its results tells of is not kept until then: see [`open`].
//!
//! Cost: linear in the text.

mod open;
mod text;

pub use open::open;

use emit::assemble::{Fragment, fragment};
use mir::ir::{Module, SymbolRef};
use mir::isa::{Opcode, encode};
use mir::machine::{EntryValue, Function, Inst, Operand, Reg, RegOperand};
use mir::target::Target;
use mir::{Diagnostic, Result};
use rustc_hash::FxHashMap;
use text::substitute;

/// Assembles all inline assembly of an allocated function.
pub fn expand(f: &mut Function, module: &Module, target: &Target) -> Result<()> {
    if f.asm_sites.is_empty() {
        return Ok(());
    }
    keep_scratch_resource(f)?;
    let mut names = Names { module, by_name: None };
    replace(f, |f, inst, out| {
        let (loc, layout) = (inst.loc, inst.asm_layout());
        let code = match layout {
            Some(layout) => assembled(f, layout.site, &inst, target, &mut names)?,
            None => Vec::new(),
        };
        out.push(inst);
        out.extend(code.into_iter().map(|inst| Inst { loc, ..inst }));
        Ok(())
    })
}

/// Has `put` write anew the blocks that have inline assembly, instruction by instruction; heads and tails of blocks stay what they are.
fn replace(
    f: &mut Function,
    mut put: impl FnMut(&mut Function, Inst, &mut Vec<Inst>) -> Result<()>,
) -> Result<()> {
    for i in 0..f.layout.len() {
        let block = f.layout[i];
        if !f.blocks[block].insts.iter().any(|inst| inst.op == Opcode::INLINE_ASM) {
            continue;
        }
        let old = std::mem::take(&mut f.blocks[block].insts);
        let (head, tail) = (f.blocks[block].head_len as usize, f.blocks[block].tail_start as usize);
        let mut new = Vec::with_capacity(old.len() + 8);
        let (mut head_len, mut tail_start) = (None, None);
        for (at, inst) in old.into_iter().enumerate() {
            mir::interrupt::checkpoint();
            if at == head {
                head_len = Some(new.len());
            }
            if at == tail {
                tail_start = Some(new.len());
            }
            put(f, inst, &mut new)?;
        }
        let data = &mut f.blocks[block];
        data.head_len = head_len.unwrap_or(new.len()) as u32;
        data.tail_start = tail_start.unwrap_or(new.len()) as u32;
        data.insts = new;
    }
    Ok(())
}

/// Refuses text that changes the registers of a kernel in which spills and callees expect the scratch resource throughout.
fn keep_scratch_resource(f: &Function) -> Result<()> {
    let entry = &f.entry;
    let resource = entry.scratch_resource();
    let insts = || f.layout.iter().flat_map(|&block| &f.blocks[block].insts);
    // Of a frame that nothing accesses only the size counts.
    let is_resource = |reg: &RegOperand| reg.reg == Reg::Physical(resource) && reg.dwords == 4;
    let accesses =
        |inst: &Inst| inst.op != Opcode::INLINE_ASM && inst.regs().any(|(_, reg)| is_resource(reg));
    let pinned = entry.reg(EntryValue::PrivateSegmentBuffer).is_none() && insts().any(accesses);
    let needed = entry.contains(EntryValue::PrivateSegmentBuffer) && (pinned || !f.calls.is_empty());
    if f.call_conv.is_callable() || !needed {
        return Ok(());
    }
    let overlaps = |reg: &RegOperand| match reg.reg {
        Reg::Physical(first) => first < resource.plus(4) && resource < first.plus(u16::from(reg.dwords)),
        Reg::Virtual(_) => false,
    };
    for inst in insts().filter(|inst| inst.op == Opcode::INLINE_ASM) {
        if inst.regs().any(|(_, reg)| overlaps(reg)) {
            return Err(Diagnostic::unsupported(format!(
                "inline assembly with registers from {resource} on in a kernel that needs them for scratch"
            )));
        }
    }
    Ok(())
}

/// The code of one site.
fn assembled(
    f: &mut Function,
    site: u32,
    inst: &Inst,
    target: &Target,
    names: &mut Names<'_>,
) -> Result<Vec<Inst>> {
    let Some(data) = f.asm_sites.get(site as usize) else {
        return Err(Diagnostic::defect("inline assembly without text"));
    };
    let text = substitute(data, inst, site)?;
    let code = fragment(&text, target).map_err(|(line, error)| {
        let text = text.lines().nth(line.saturating_sub(1) as usize).unwrap_or_default().trim();
        let message = format!("inline assembly, line {line}: {}", error.message);
        Diagnostic::new(error.kind, message).at(format!("\"{text}\""))
    })?;
    if is_plain(&code, target) {
        return Ok(code.insts.into_iter().map(|(_, inst)| inst).collect());
    }
    let mut out: Vec<Inst> = code
        .words
        .iter()
        .map(|&word| Inst::new(Opcode::DATA_DWORD, [Operand::Imm(i64::from(word))]))
        .collect();
    for reloc in &code.relocs {
        let symbol = names.find(&reloc.symbol)?;
        let symbol = match f.symbols.iter().find(|(_, known)| **known == symbol) {
            Some((id, _)) => id,
            None => f.symbols.push(symbol),
        };
        let addend = i32::try_from(reloc.addend)
            .map_err(|_| Diagnostic::limit(format!("distance from {} in inline assembly", reloc.symbol)))?;
        if let Some(word) = out.get_mut(reloc.word as usize) {
            word.operands[0] = Operand::Symbol { symbol, addend, kind: reloc.kind };
        }
    }
    if let Some(data) = f.asm_sites.get_mut(site as usize) {
        data.opaque = true;
        data.inside = code.insts.into_iter().map(|(_, inst)| inst).collect();
    }
    Ok(out)
}

/// Whether the text is instructions alone whose meaning does not depend on where they are, and which the encoder would write the same way.
fn is_plain(code: &Fragment, target: &Target) -> bool {
    let mut words = Vec::with_capacity(code.words.len());
    let alone = |inst: &Inst| {
        let leaves = inst.leaves();
        !leaves && inst.op != Opcode::S_GETPC_B64
    };
    !code.has_labels
        && code.relocs.is_empty()
        && code.insts.iter().all(|(at, inst)| {
            alone(inst) && words.len() == *at as usize && encode(inst, target, &mut words).is_ok()
        })
        && words == code.words
}

/// Symbols of the module by name, once somebody asks.
struct Names<'a> {
    module: &'a Module,
    by_name: Option<FxHashMap<&'a str, SymbolRef>>,
}

impl Names<'_> {
    fn find(&mut self, name: &str) -> Result<SymbolRef> {
        let module = self.module;
        let by_name = self.by_name.get_or_insert_with(|| {
            let functions = module.functions.iter().map(|(id, f)| (f.name.as_str(), SymbolRef::Func(id)));
            let globals = module.globals.iter().map(|(id, g)| (g.name.as_str(), SymbolRef::Global(id)));
            functions.chain(globals).collect()
        });
        by_name.get(name).copied().ok_or_else(|| {
            Diagnostic::unsupported(format!(
                "inline assembly refers to {name}, which the module does not declare"
            ))
        })
    }
}
