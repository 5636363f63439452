//! Writes machine code: blocks, instructions, operands.

use super::header::Header;
use super::registers::{Named, Regs, Tuple};
use super::{MOD_FLAGS, file_letter, has_wave_graph};
use crate::ir::{AliasClass, MEM_FLAGS, Ordering, SyncScope};
use crate::machine::*;
use crate::text::write_flags;
use std::fmt;

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Header(self).fmt(f)?;
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
                _ if self.stage > Stage::Allocated => "",
                i if i < data.head_len => "head",
                i if i >= data.tail_start => "tail",
                _ => "",
            };
            writeln!(f, "  {part:4}  {}", self.display_inst(inst))?;
        }
        let term = match data.term {
            Terminator::Jump => "jump".to_owned(),
            Terminator::Uniform(condition) => condition.word().to_owned(),
            Terminator::Divergent(mask) => format!("divergent {}", Named(self, mask)),
            Terminator::EndProgram => "end".to_owned(),
            Terminator::Return => "return".to_owned(),
            Terminator::Unreachable => "unreachable".to_owned(),
        };
        let mut thread = String::new();
        for (i, edge) in data.thread_succs.iter().enumerate() {
            thread += if i == 0 { "" } else { ", " };
            thread += &edge.block.to_string();
            let sargs = data.thread_sargs.get(i).map_or(&[][..], |s| s);
            if !edge.args.is_empty() || !sargs.is_empty() {
                thread += &format!("({}", Regs(None, &edge.args));
                if !sargs.is_empty() {
                    thread += &format!(" | {}", Regs(None, sargs));
                }
                thread += ")";
            }
        }
        if has_wave_graph(self, block) {
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
            Encoding::Dpp8 => "_dpp8",
        };
        let equals = if defs == 0 { "" } else { " = " };
        write!(f, "{equals}{}{suffix}", format!("{:?}", inst.op).to_lowercase())?;
        for (i, o) in inst.operands[defs..].iter().enumerate() {
            let n = defs + i;
            f.write_str(if i == 0 { " " } else { ", " })?;
            f.write_str(if n >= inst.kept_operands() && inst.kept_operands() > defs { "tied " } else { "" })?;
            let has = |bits: u8| i < 8 && bits >> i & 1 != 0;
            let bar = if has(inst.mods.abs) { "|" } else { "" };
            match (has(inst.mods.neg), o) {
                // A minus sign belongs to the number.
                (true, Operand::Imm(_)) if bar.is_empty() => write!(f, "-({})", operand(o))?,
                (neg, _) => write!(f, "{}{bar}{}{bar}", if neg { "-" } else { "" }, operand(o))?,
            }
        }
        let shown = (1u16 << (inst.operands.len() - defs).min(8)) - 1;
        self.fmt_modifiers(f, !shown as u8)?;
        if let Some(mem) = &inst.mem {
            let access = &mem.access;
            let align = 1u64 << access.align_log2.min(63);
            write!(f, " [{} bytes, space {}, align {align}", mem.bytes, access.space.0)?;
            if access.ordering != Ordering::NotAtomic || access.scope != SyncScope::System {
                write!(f, ", {} {}", access.ordering.word(), access.scope.word())?;
            }
            for (_, word) in MEM_FLAGS.iter().filter(|(flag, _)| access.flags.contains(*flag)) {
                write!(f, ", {word}")?;
            }
            if access.alias != AliasClass::UNKNOWN {
                write!(f, ", alias {}", access.alias.0)?;
            }
            if let Some(place) = mem.place {
                write!(f, ", place {}:{}", place.base, place.offset)?;
            }
            f.write_str("]")?;
        }
        if inst.loc != 0 {
            write!(f, " !loc {}", inst.loc)?;
        }
        Ok(())
    }
}

impl DisplayInst<'_> {
    /// Modifiers behind the operands. `unshown` are the bits of source modifiers that no operand shows.
    fn fmt_modifiers(&self, f: &mut fmt::Formatter<'_>, unshown: u8) -> fmt::Result {
        let mods = &self.inst.mods;
        for (value, name) in [
            (i64::from(mods.neg & unshown), "neg"),
            (i64::from(mods.abs & unshown), "abs"),
            (i64::from(mods.neg_hi), "neg_hi"),
            (i64::from(mods.op_sel), "op_sel"),
            (i64::from(mods.op_sel_hi), "op_sel_hi"),
            (i64::from(mods.omod), "omod"),
            (i64::from(mods.offset), "offset"),
            (i64::from(mods.offset1), "offset1"),
            (i64::from(mods.dmask), "dmask"),
            (i64::from(mods.dim), "dim"),
            (i64::from(mods.address_parts), "address_parts"),
        ] {
            if value != 0 {
                write!(f, " {name}:{value}")?;
            }
        }
        match mods.ext {
            Extension::None => {}
            Extension::Sdwa(s) => {
                write!(f, " dst_sel:{} dst_unused:{}", s.dst_sel.word(), s.dst_unused.word())?;
                write!(f, " src0_sel:{} src1_sel:{}", s.src_sel[0].word(), s.src_sel[1].word())?;
                if s.sext != 0 {
                    write!(f, " sext:{}", s.sext)?;
                }
            }
            Extension::Dpp(d) => {
                write!(f, " dpp:{:#x} row_mask:{:#x} bank_mask:{:#x}", d.ctrl, d.row_mask, d.bank_mask)?;
                f.write_str(if d.bound_ctrl { " bound_ctrl" } else { "" })?;
                f.write_str(if d.fetch_inactive { " fi" } else { "" })?;
            }
            Extension::Dpp8(d) => {
                write!(f, " dpp8:{:#x}", d.lanes)?;
                f.write_str(if d.fetch_inactive { " fi" } else { "" })?;
            }
        }
        write_flags!(f, MOD_FLAGS, mods.flags);
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
            Operand::Symbol { symbol, addend, kind } => write!(f, "{symbol}{addend:+}{}", kind.suffix()),
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
            Reg::Physical(preg) => write!(f, "{}", Tuple(preg, reg.dwords)),
        }
    }
}
