//! Inline assembly: operands into registers, fixed ones by copies right before and after.
//!
//! The constraint string is legal IR's: one code an entry. Outputs in a class define the value's register itself; a named register is written by the
//! instruction and copied. A value that differs between lanes, where SGPRs are asked for, is that of the first active lane, as with LLVM.
//!
//! EXEC and SCC are no operands: EXEC as output is read behind the text; SCC is compared in front and selected behind it. Their clobbers say
//! nothing that selection relies on (no SCC value lives across another instruction's body, and EXEC belongs to the text's writer).

use super::{Rep, Selector};
use mir::diag::{Diagnostic, Result};
use mir::ir::{
    AsmOperand, AsmPlace, AsmRegister, AsmRole, Const, InlineAsmId, InstData, SymbolRef, Type, Value,
};
use mir::isa::Opcode::*;
use mir::machine::{
    AsmArgument, AsmSite, FIRST_ASM_OPERAND, MAX_ASM_OUTPUTS, Operand, PReg, RegFile, inline_asm,
};
use std::collections::BTreeSet;

/// An output, its early clobber, and the use that is tied to it.
type Output = (Operand, bool, Option<Operand>);

/// What inline assembly becomes.
#[derive(Default)]
struct Pieces {
    arguments: Vec<AsmArgument>,
    outputs: Vec<Output>,
    /// For each output entry its place among `outputs`, where it has one.
    output_of: Vec<Option<usize>>,
    uses: Vec<Operand>,
    /// Arguments that are `uses`, whose index is known at the end.
    use_arguments: Vec<(usize, usize)>,
    before: Vec<(PReg, u8, Operand)>,
    /// Registers that are copied behind the text.
    after: Vec<(Operand, Operand)>,
    scc_in: Option<Operand>,
    scc_out: Option<Operand>,
}

impl<'a> Selector<'a> {
    /// The register that holds member `index` of the result of inline assembly.
    pub(super) fn asm_member(&mut self, aggregate: Value, index: u32, dwords: u8) -> Operand {
        if let Some(&reg) = self.asm_members.get(&(aggregate, index)) {
            return reg;
        }
        let scalar = self.asm_result_is_scalar(aggregate, index).unwrap_or(false);
        let reg = self.new_reg(!scalar, dwords);
        self.asm_members.insert((aggregate, index), reg);
        reg
    }

    /// Whether (a member of) the result of inline assembly is in SGPRs; `None` for other values.
    pub(super) fn asm_result_is_scalar(&self, value: Value, index: u32) -> Option<bool> {
        match self.f.insts[self.f.def_inst(value)?].kind {
            mir::ir::InstKind::InlineAsm { asm, .. } => {
                Some(self.f.inline_asm.get(asm)?.result_is_scalar(index))
            }
            _ => None,
        }
    }

    /// Where a result of inline assembly, or a member of one, lives; `None` for other instructions.
    pub(super) fn asm_rep(&self, data: &InstData, result: Value) -> Option<Rep> {
        let scalar = match &data.kind {
            mir::ir::InstKind::InlineAsm { .. } => self.asm_result_is_scalar(result, 0)?,
            mir::ir::InstKind::ExtractValue { aggregate, path } => {
                self.asm_result_is_scalar(*aggregate, *path.first()?)?
            }
            _ => return None,
        };
        Some(if scalar { Rep::Sgpr } else { Rep::Vgpr })
    }

    pub(super) fn lower_asm(
        &mut self,
        data: &InstData,
        asm: InlineAsmId,
        args: &[Value],
        pure: bool,
    ) -> Result<()> {
        let f = self.f;
        let Some(asm) = f.inline_asm.get(asm) else {
            return Err(Diagnostic::defect("inline assembly that does not exist"));
        };
        let entries = asm.operands()?;
        let mut pieces = Pieces::default();
        let mut args = args.iter();
        let mut results = 0;
        let mut clobbers = BTreeSet::new();
        let mut named_sgprs = 0;
        for entry in &entries {
            match entry.role {
                AsmRole::Output => {
                    self.asm_output(data, entry, results, &mut pieces)?;
                    results += 1;
                }
                AsmRole::Input => {
                    let &arg = args.next().ok_or_else(|| {
                        Diagnostic::defect("inline assembly has fewer arguments than constraints")
                    })?;
                    self.asm_input(entry, arg, &mut pieces)?;
                }
                AsmRole::Clobber => {
                    // Those that are registers have numbers in the text, too.
                    if let Some(AsmPlace::Register(_)) = entry.places.first() {
                        pieces.arguments.push(AsmArgument::Text(register_text(entry)));
                    }
                    named_sgprs = named_sgprs.max(sgprs_named(entry));
                    clobbers.extend(self.asm_clobber(entry));
                }
            }
        }
        if pieces.outputs.len() > MAX_ASM_OUTPUTS {
            return Err(Diagnostic::limit(format!("inline assembly with {} results", pieces.outputs.len())));
        }
        for (output, ..) in &pieces.outputs {
            if let Some((mir::machine::Reg::Physical(first), dwords)) =
                output.as_reg().map(|r| (r.reg, r.dwords))
            {
                (0..u16::from(dwords)).for_each(|n| {
                    clobbers.remove(&first.plus(n));
                });
            }
        }
        self.asm_flat_scratch(&asm.text);
        for (register, dwords, value) in std::mem::take(&mut pieces.before) {
            self.emit(COPY, [Operand::preg(register, dwords), value]);
        }
        if let Some(value) = pieces.scc_in {
            self.emit(S_CMP_LG_U32, [value, Operand::Imm(0)]);
        }
        let clobbers = tuples(&clobbers);
        let first_use = FIRST_ASM_OPERAND + pieces.outputs.len() + clobbers.len();
        for (argument, n) in pieces.use_arguments {
            pieces.arguments[argument] = AsmArgument::Operand((first_use + n) as u32);
        }
        let site = self.mf.asm_sites.len() as u32;
        self.mf.asm_sites.push(AsmSite {
            text: asm.text.clone(),
            arguments: pieces.arguments,
            named_sgprs,
            pure,
            opaque: false,
            inside: Vec::new(),
        });
        let mut inst = inline_asm(site, &pieces.outputs, &clobbers, &pieces.uses);
        inst.loc = self.loc;
        self.cur.push(inst);
        if let Some(dst) = pieces.scc_out {
            self.emit(S_CSELECT_B32, [dst, Operand::Imm(1), Operand::Imm(0)]);
        }
        for (dst, src) in pieces.after {
            self.emit(COPY, [dst, src]);
        }
        Ok(())
    }

    fn asm_output(
        &mut self,
        data: &InstData,
        entry: &AsmOperand,
        index: u32,
        out: &mut Pieces,
    ) -> Result<()> {
        let result = data.result.ok_or_else(|| Diagnostic::defect("inline assembly without result"))?;
        let (ty, wanted) = match data.ty {
            Type::Aggregate(_) => {
                let ty = self.module.types.at_path(data.ty, &[index]);
                let wanted = self.asm_members.get(&(result, index)).copied();
                (ty.ok_or_else(|| Diagnostic::defect("a result of inline assembly without type"))?, wanted)
            }
            ty => (ty, self.values[result].reg.is_some().then(|| self.def(result))),
        };
        let dwords = self.dwords_of(ty);
        let dst = match wanted {
            Some(dst) => dst,
            None => self.new_reg(!entry.is_scalar(), dwords),
        };
        match entry.places.first() {
            Some(AsmPlace::Class(_)) => {
                out.arguments.push(AsmArgument::Operand((FIRST_ASM_OPERAND + out.outputs.len()) as u32));
                out.output_of.push(Some(out.outputs.len()));
                out.outputs.push((dst, entry.early, None));
            }
            Some(AsmPlace::Register(register)) => {
                out.arguments.push(AsmArgument::Text(register_text(entry)));
                match register.first {
                    PReg::SCC => {
                        out.scc_out = Some(dst);
                        out.output_of.push(None);
                    }
                    // Not written as far as anybody must know.
                    first if is_exec(first) => {
                        out.after.push((dst, Operand::preg(first, dwords)));
                        out.output_of.push(None);
                    }
                    first => {
                        let source = Operand::preg(first, dwords);
                        out.after.push((dst, source));
                        out.output_of.push(Some(out.outputs.len()));
                        out.outputs.push((source, entry.early, None));
                    }
                }
            }
            _ => return Err(Diagnostic::defect("an output of inline assembly without place")),
        }
        Ok(())
    }

    fn asm_input(&mut self, entry: &AsmOperand, arg: Value, out: &mut Pieces) -> Result<()> {
        let dwords = self.dwords(arg);
        match entry.places.first() {
            Some(AsmPlace::Immediate(_)) => {
                let text = self.asm_constant(arg)?;
                out.arguments.push(text);
            }
            Some(AsmPlace::Class(file)) => {
                let operand = self.in_file(arg, *file);
                out.use_arguments.push((out.arguments.len(), out.uses.len()));
                out.arguments.push(AsmArgument::Number(0));
                out.uses.push(operand);
            }
            Some(AsmPlace::Register(register)) => {
                out.arguments.push(AsmArgument::Text(register_text(entry)));
                self.asm_fixed_input(register.first, dwords, arg, out)?;
            }
            Some(&AsmPlace::SameAs(n)) => {
                let argument = out.arguments.get(n as usize).cloned();
                let place = out.output_of.get(n as usize).copied().flatten();
                let (Some(argument), Some(place)) = (argument, place) else {
                    return Err(Diagnostic::unsupported(format!(
                        "inline assembly constraint '{n}' that ties an input to EXEC or SCC"
                    )));
                };
                out.arguments.push(argument);
                let output = out.outputs[place].0;
                match output.as_reg().map(|r| r.reg) {
                    Some(mir::machine::Reg::Physical(first)) => {
                        self.asm_fixed_input(first, dwords, arg, out)?;
                    }
                    _ => {
                        let file = if self.is_vgpr(&output) { RegFile::Vgpr } else { RegFile::Sgpr };
                        out.outputs[place].2 = Some(self.in_file(arg, file));
                    }
                }
            }
            _ => return Err(Diagnostic::defect("an input of inline assembly without place")),
        }
        Ok(())
    }

    fn in_file(&mut self, arg: Value, file: RegFile) -> Operand {
        match file {
            RegFile::Vgpr => self.vgpr(arg),
            RegFile::Sgpr => self.sgpr(arg),
        }
    }

    fn asm_fixed_input(&mut self, first: PReg, dwords: u8, arg: Value, out: &mut Pieces) -> Result<()> {
        if first == PReg::SCC {
            out.scc_in = Some(self.sgpr(arg));
            return Ok(());
        }
        if is_exec(first) {
            return Err(Diagnostic::unsupported("inline assembly with EXEC as input"));
        }
        let file = if first.is_vgpr() { RegFile::Vgpr } else { RegFile::Sgpr };
        let value = self.in_file(arg, file);
        out.before.push((first, dwords, value));
        out.uses.push(Operand::preg(first, dwords));
        Ok(())
    }

    /// A constant as the text shows it.
    fn asm_constant(&self, arg: Value) -> Result<AsmArgument> {
        if let Some(value) = self.const_int(arg) {
            return Ok(AsmArgument::Number(value));
        }
        let Some(Const::Symbol(symbol, offset)) = self.f.as_const(arg) else {
            return Err(Diagnostic::unsupported("invalid operand for inline asm constraint 'i'"));
        };
        let name = match *symbol {
            SymbolRef::Func(func) => &self.module.functions[func].name,
            SymbolRef::Global(global) => &self.module.globals[global].name,
        };
        let sum = if *offset == 0 { String::new() } else { format!("{offset:+}") };
        Ok(AsmArgument::Text(format!("{name}{sum}")))
    }

    /// Registers that an entry says are changed; what does not exist, or is nobody's to keep, is passed over.
    fn asm_clobber(&self, entry: &AsmOperand) -> Vec<PReg> {
        let Some(AsmPlace::Register(register)) = entry.places.first() else { return Vec::new() };
        let sgprs = self.target.processor.numbered_sgprs();
        let exists = |reg: &PReg| match reg.sgpr_index() {
            Some(n) => u32::from(n) < sgprs,
            None => {
                let kept = reg.is_vgpr() || *reg <= PReg::VCC_HI || *reg == PReg::M0;
                kept && self.has_register(*reg)
            }
        };
        (0..clobbered_dwords(register)).map(|n| register.first.plus(n)).filter(exists).collect()
    }

    /// Flat instructions in the text may be given the address of something on the stack.
    fn asm_flat_scratch(&mut self, text: &str) {
        let stack = self.has_calls || self.mf.frame.values().len() > 0;
        if stack && text.contains("flat_") {
            self.set_flat_scratch_up();
        }
    }
}

/// Dwords of a register that is changed: a name without a width, which the operand's type would decide, is one register.
fn clobbered_dwords(register: &AsmRegister) -> u16 {
    register.dwords.map_or(1, u16::from)
}

/// SGPRs up to the last that an entry names.
fn sgprs_named(entry: &AsmOperand) -> u32 {
    let Some(AsmPlace::Register(register)) = entry.places.first() else { return 0 };
    let last = register.first.plus(clobbered_dwords(register).saturating_sub(1));
    last.sgpr_index().map_or(0, |n| u32::from(n) + 1)
}

fn is_exec(reg: PReg) -> bool {
    matches!(reg, PReg::EXEC_LO | PReg::EXEC_HI)
}

/// The name of a register as the constraint has it.
fn register_text(entry: &AsmOperand) -> String {
    entry.code.trim_start_matches('{').trim_end_matches('}').to_ascii_lowercase()
}

/// Most registers that are clobbered as one operand.
const LARGEST_TUPLE: u8 = 32;

/// Registers as runs of one file.
fn tuples(registers: &BTreeSet<PReg>) -> Vec<Operand> {
    let mut out: Vec<(PReg, u8)> = Vec::new();
    for &reg in registers {
        let numbered = |reg: PReg| reg.is_vgpr() || reg.sgpr_index().is_some();
        match out.last_mut() {
            Some((first, dwords))
                if first.plus(u16::from(*dwords)) == reg
                    && *dwords < LARGEST_TUPLE
                    && numbered(*first) == numbered(reg)
                    && (numbered(reg) || *dwords < 2) =>
            {
                *dwords += 1;
            }
            _ => out.push((reg, 1)),
        }
    }
    out.into_iter().map(|(first, dwords)| Operand::preg(first, dwords)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clobbers_are_runs() {
        let set: BTreeSet<PReg> = (0..40)
            .map(PReg::vgpr)
            .chain([3, 4, 104, 105].map(PReg::sgpr))
            .chain([PReg::VCC_LO, PReg::VCC_HI, PReg::M0])
            .collect();
        let is = |reg, dwords| Operand::preg(reg, dwords);
        assert_eq!(
            tuples(&set),
            [
                is(PReg::sgpr(3), 2),
                is(PReg::sgpr(104), 2),
                is(PReg::VCC_LO, 2),
                is(PReg::M0, 1),
                is(PReg::vgpr(0), 32),
                is(PReg::vgpr(32), 8),
            ]
        );
    }
}
