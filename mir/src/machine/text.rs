//! Readable dumps of machine functions, at any stage. For people and tests; nothing parses it back.
//!
//! ```text
//! function f, structured
//! mbb1 (%4:v1 | %7:s2), depth 1:
//!   head  exec = s_mov_b64 %7:s2
//!         %5:v1 = v_add_u32 %4:v1, 1
//!   tail  %8:s2 = s_and_saveexec_b64 %6:s2
//!   wave execz -> mbb3, mbb2(%9)   thread -> mbb2(%5), mbb3
//! ```
//!
//! Registers print with file and width in dwords; `%5.1:v1` is one dword from dword 1 of `%5`. Before structuring a thread
//! edge shows its SGPR arguments after a bar.

use super::{Block, Condition, Encoding, Function, Inst, Operand, Reg, RegOperand, Terminator, VReg};
use super::{Extension, RegFile};
use crate::ir::Ordering;
use std::fmt;

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "function {}{}", self.name, if self.is_linear() { ", structured" } else { "" })?;
        for (value, physical, reg) in self.entry.registers() {
            if let Some(reg) = reg {
                writeln!(f, "  {} = {value:?} in {physical}", Named(self, reg))?;
            }
        }
        for &block in &self.layout {
            self.fmt_block(f, block)?;
        }
        Ok(())
    }
}

impl Function {
    /// `inst` as a line of text with the files and widths of its registers.
    pub fn display_inst<'a>(&'a self, inst: &'a Inst) -> impl fmt::Display + 'a {
        DisplayInst { function: Some(self), inst }
    }

    fn fmt_block(&self, f: &mut fmt::Formatter<'_>, block: Block) -> fmt::Result {
        let data = &self.blocks[block];
        write!(f, "{block}")?;
        if !data.vparams.is_empty() || !data.sparams.is_empty() {
            write!(f, " ({}", Regs(Some(self), &data.vparams))?;
            if !data.sparams.is_empty() {
                write!(f, " | {}", Regs(Some(self), &data.sparams))?;
            }
            write!(f, ")")?;
        }
        if data.loop_depth != 0 {
            write!(f, ", depth {}", data.loop_depth)?;
        }
        writeln!(f, ":")?;
        for (i, inst) in data.insts.iter().enumerate() {
            let part = match i as u32 {
                i if i < data.head_len => "head",
                i if i >= data.tail_start => "tail",
                _ => "",
            };
            writeln!(f, "  {part:4}  {}", self.display_inst(inst))?;
        }
        let term = match data.term {
            Terminator::Jump => "jump".to_owned(),
            Terminator::Uniform(condition) => condition_name(condition).to_owned(),
            Terminator::Divergent(mask) => format!("divergent {}", Named(self, mask)),
            Terminator::EndProgram => "end".to_owned(),
            Terminator::Return => "return".to_owned(),
            Terminator::Unreachable => "unreachable".to_owned(),
        };
        let mut thread = String::new();
        for (i, edge) in data.thread_succs.iter().enumerate() {
            thread += if i == 0 { "" } else { ", " };
            thread += &edge.block.to_string();
            let sargs = data.thread_sargs.get(i).filter(|_| !self.is_linear()).map_or(&[][..], |s| s);
            if !edge.args.is_empty() || !sargs.is_empty() {
                thread += &format!("({}", Regs(None, &edge.args));
                if !sargs.is_empty() {
                    thread += &format!(" | {}", Regs(None, sargs));
                }
                thread += ")";
            }
        }
        if self.is_linear() {
            write!(f, "  wave {term}")?;
            for (i, edge) in data.wave_succs.iter().enumerate() {
                write!(f, "{}{}", if i == 0 { " -> " } else { ", " }, edge.block)?;
                if !edge.args.is_empty() {
                    write!(f, "({})", Regs(None, &edge.args))?;
                }
            }
            if !thread.is_empty() {
                write!(f, "   thread -> {thread}")?;
            }
        } else {
            write!(f, "  {term}{}{thread}", if thread.is_empty() { "" } else { " -> " })?;
        }
        writeln!(f)
    }
}

impl fmt::Display for Inst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        DisplayInst { function: None, inst: self }.fmt(f)
    }
}

struct DisplayInst<'a> {
    function: Option<&'a Function>,
    inst: &'a Inst,
}

impl fmt::Display for DisplayInst<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { function, inst } = self;
        let defs = inst.defs_end().min(inst.operands.len());
        let operand = |o: &Operand| DisplayOperand { function: *function, operand: *o };
        for (i, o) in inst.operands[..defs].iter().enumerate() {
            write!(f, "{}{}", if i == 0 { "" } else { ", " }, operand(o))?;
        }
        let suffix = match inst.encoding {
            Encoding::Auto => "",
            Encoding::E32 => "_e32",
            Encoding::E64 => "_e64",
            Encoding::Sdwa => "_sdwa",
            Encoding::Dpp => "_dpp",
        };
        // The alias rows share their assembly name; the opcode's own tells them apart.
        write!(
            f,
            "{}{}{suffix}",
            if defs == 0 { "" } else { " = " },
            format!("{:?}", inst.op).to_lowercase()
        )?;
        for (i, o) in inst.operands[defs..].iter().enumerate() {
            let n = defs + i;
            let minus = if inst.mods.neg >> i & 1 != 0 { "-" } else { "" };
            let bar = if inst.mods.abs >> i & 1 != 0 { "|" } else { "" };
            let tie = if n >= inst.kept_operands() && inst.kept_operands() > defs { " tied" } else { "" };
            write!(f, "{}{tie} {minus}{bar}{}{bar}", if i == 0 { "" } else { "," }, operand(o))?;
        }
        self.fmt_modifiers(f)?;
        if let Some(mem) = &inst.mem {
            write!(f, " [{} bytes, space {}", mem.bytes, mem.access.space.0)?;
            if mem.access.ordering != Ordering::NotAtomic {
                write!(f, ", {:?} {:?}", mem.access.ordering, mem.access.scope)?;
            }
            for (name, _) in mem.access.flags.iter_names() {
                write!(f, ", {}", name.to_lowercase())?;
            }
            write!(f, "]")?;
        }
        Ok(())
    }
}

impl DisplayInst<'_> {
    fn fmt_modifiers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mods = &self.inst.mods;
        for (value, name) in [
            (i64::from(mods.neg_hi), "neg_hi"),
            (i64::from(mods.op_sel), "op_sel"),
            (i64::from(mods.op_sel_hi), "op_sel_hi"),
            (i64::from(mods.omod), "omod"),
            (i64::from(mods.offset), "offset"),
            (i64::from(mods.offset1), "offset1"),
            (i64::from(mods.dmask), "dmask"),
        ] {
            if value != 0 {
                write!(f, " {name}:{value}")?;
            }
        }
        match mods.ext {
            Extension::None => {}
            Extension::Sdwa(s) => {
                write!(f, " dst:{:?}/{:?} src:{:?} sext:{}", s.dst_sel, s.dst_unused, s.src_sel, s.sext)?;
            }
            Extension::Dpp(d) => {
                write!(f, " dpp:{:#x} row_mask:{:#x} bank_mask:{:#x}", d.ctrl, d.row_mask, d.bank_mask)?;
                if d.bound_ctrl {
                    write!(f, " bound_ctrl")?;
                }
            }
        }
        for (name, _) in mods.flags.iter_names() {
            write!(f, " {}", name.to_lowercase())?;
        }
        Ok(())
    }
}

struct DisplayOperand<'a> {
    function: Option<&'a Function>,
    operand: Operand,
}

impl fmt::Display for DisplayOperand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.operand {
            Operand::Reg(reg) => self.fmt_reg(f, reg),
            Operand::Imm(value) if (-64..=1024).contains(&value) => write!(f, "{value}"),
            Operand::Imm(value) => write!(f, "{value:#x}"),
            Operand::Block(block) => write!(f, "{block}"),
            Operand::Symbol { symbol, addend, kind } => write!(f, "{symbol}{addend:+}@{kind:?}"),
            Operand::Off => write!(f, "off"),
        }
    }
}

impl DisplayOperand<'_> {
    fn fmt_reg(&self, f: &mut fmt::Formatter<'_>, reg: RegOperand) -> fmt::Result {
        match reg.reg {
            Reg::Virtual(vreg) => {
                write!(f, "{vreg}")?;
                let data = self.function.and_then(|function| function.vregs.get(vreg));
                let whole = data.is_none_or(|d| d.dwords == reg.dwords) && reg.sub == 0;
                if !whole {
                    write!(f, ".{}", reg.sub)?;
                }
                match data {
                    Some(data) => write!(f, ":{}{}", file_letter(data.file), reg.dwords),
                    None => Ok(()),
                }
            }
            Reg::Physical(preg) if reg.dwords == 1 => write!(f, "{preg}"),
            Reg::Physical(preg) => {
                let name = preg.to_string();
                match name.strip_suffix("_lo") {
                    Some(pair) if reg.dwords == 2 => write!(f, "{pair}"),
                    _ => {
                        let digits = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
                        let first: u32 = name[digits..].parse().unwrap_or(0);
                        write!(f, "{}[{first}:{}]", &name[..digits], first + u32::from(reg.dwords) - 1)
                    }
                }
            }
        }
    }
}

struct Named<'a>(&'a Function, VReg);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.vregs.get(self.1) {
            Some(data) => write!(f, "{}:{}{}", self.1, file_letter(data.file), data.dwords),
            None => write!(f, "{}:?", self.1),
        }
    }
}

struct Regs<'a>(Option<&'a Function>, &'a [VReg]);

impl fmt::Display for Regs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, &reg) in self.1.iter().enumerate() {
            write!(f, "{}", if i == 0 { "" } else { ", " })?;
            match self.0 {
                Some(function) => write!(f, "{}", Named(function, reg))?,
                None => write!(f, "{reg}")?,
            }
        }
        Ok(())
    }
}

fn file_letter(file: RegFile) -> char {
    match file {
        RegFile::Sgpr => 's',
        RegFile::Vgpr => 'v',
    }
}

fn condition_name(condition: Condition) -> &'static str {
    match condition {
        Condition::Scc0 => "scc0",
        Condition::Scc1 => "scc1",
        Condition::Vccz => "vccz",
        Condition::Vccnz => "vccnz",
        Condition::Execz => "execz",
        Condition::Execnz => "execnz",
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Edge, PReg};
    use super::*;
    use crate::ir::CallConv;
    use crate::isa::Opcode;
    use cranelift_entity::EntityRef;

    #[test]
    fn selected_block() {
        let mut f = Function::new("f", CallConv::Kernel, crate::ir::Func::new(0));
        let (a, b) = (f.add_block(), f.add_block());
        let wide = f.new_vreg(RegFile::Vgpr, 2);
        let mask = f.new_lane_mask();
        let sum = f.new_vreg(RegFile::Vgpr, 1);
        f.blocks[b].vparams.push(sum);
        f.blocks[a].vparams.push(wide);
        f.blocks[a].push(Inst::new(
            Opcode::V_CMP_LT_U32,
            [Operand::vreg(mask, 2), Operand::Imm(4096), Operand::sub(wide, 1, 1)],
        ));
        f.blocks[a]
            .push(Inst::new(Opcode::S_MOV_B64, [Operand::preg(PReg::EXEC_LO, 2), Operand::vreg(mask, 2)]));
        f.blocks[a].term = Terminator::Divergent(mask);
        let edge = Edge { block: b, args: [wide].into_iter().collect() };
        f.blocks[a].thread_succs = [edge.clone(), edge].into_iter().collect();
        assert_eq!(
            f.to_string(),
            "function f\n\
             mbb0 (%0:v2):\n        \
             %1:s2 = v_cmp_lt_u32 0x1000, %0.1:v1\n        \
             exec = s_mov_b64 %1:s2\n  \
             divergent %1:s2 -> mbb1(%0), mbb1(%0)\n\
             mbb1 (%2:v1):\n  unreachable\n"
        );
    }
}
