//! What must hold of a machine function at each stage.
//!
//! Checked here, cheapest first: block parts and edges; operands against their row (count, file, width); where EXEC may be
//! written and SCC read; and, while registers are virtual, SSA: one definition, which dominates every use. VGPRs are
//! checked on the thread graph, SGPRs and whole-wave VGPRs on the wave graph (before linearisation there is only one). In selected code, also
//! whether lanes agree on the scalars they read ([`super::lanes_agree`]).
//! Cost: n log n. The first violation is returned as a [`ErrorKind::Defect`](crate::ErrorKind::Defect).

use super::{
    Block, BlockData, Condition, Edge, Extension, Function, Inst, ModFlags, PReg, Reg, RegFile, RegOperand,
    VReg,
};
use super::{Operand, SdwaUnused, Terminator};
use crate::analysis::{Csr, Dominators, Order};
use crate::isa::format::Slot;
use crate::isa::{Format, Implicit, MemoryKind, OpFlags, Opcode, OperandDesc, OperandKind, Role};
use crate::target::WaveSize;
use crate::{Diagnostic, Result};
use cranelift_entity::EntityRef;

/// How far a machine function has come; see [`super`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Stage {
    /// Virtual registers in SSA, thread graph only.
    #[default]
    Selected,
    /// Virtual registers, SSA on both graphs; EXEC code in heads and tails.
    Linear,
    /// The same, with cache bits, invalidates and the waits that the memory model asks for.
    Modelled,
    /// Physical registers on both graphs; parameters are gone.
    Allocated,
    /// The wave graph alone. Blocks have no parts any more: EXEC code is code like any other.
    Wave,
    /// Prolog and epilogs are there, stack objects have their places.
    Framed,
    /// All waits are there; from here on mitigations of hazards are added.
    Waited,
    /// Blocks end in branch instructions.
    Final,
}

impl Stage {
    /// All stages in order.
    pub const ALL: [Self; 8] = [
        Self::Selected,
        Self::Linear,
        Self::Modelled,
        Self::Allocated,
        Self::Wave,
        Self::Framed,
        Self::Waited,
        Self::Final,
    ];

    /// Its word in the text of machine code.
    pub fn word(self) -> &'static str {
        match self {
            Self::Selected => "selected",
            Self::Linear => "linear",
            Self::Modelled => "modelled",
            Self::Allocated => "allocated",
            Self::Wave => "wave",
            Self::Framed => "framed",
            Self::Waited => "waited",
            Self::Final => "final",
        }
    }
}

/// Checks everything that must hold of `f` at its stage; the error is a `Defect` naming block and instruction.
pub fn verify(f: &Function) -> Result<()> {
    let verifier = Verifier { f, stage: f.stage };
    verifier.run().map_err(|d| d.in_function(&f.name))
}

/// Whether `inst` writes EXEC, by its row or by an operand.
pub fn writes_exec(inst: &Inst) -> bool {
    inst.facts().implicit.contains(Implicit::EXEC_DEF)
        || inst
            .regs()
            .any(|(is_def, reg)| is_def && matches!(reg.reg, Reg::Physical(PReg::EXEC_LO | PReg::EXEC_HI)))
}

struct Verifier<'a> {
    f: &'a Function,
    stage: Stage,
}

impl Verifier<'_> {
    fn run(&self) -> Result<()> {
        self.layout()?;
        for &block in &self.f.layout {
            self.block(block).map_err(|d| match d.inst {
                Some(_) => d,
                None => d.at(block),
            })?;
        }
        if self.stage <= Stage::Modelled { self.ssa() } else { Ok(()) }
    }

    fn layout(&self) -> Result<()> {
        let mut placed = vec![false; self.f.blocks.len()];
        if self.f.layout.is_empty() {
            return Err(defect("no blocks"));
        }
        for &block in &self.f.layout {
            match placed.get_mut(block.index()) {
                None => return Err(defect(format!("{block} does not exist"))),
                Some(true) => return Err(defect(format!("{block} is twice in the layout"))),
                Some(slot) => *slot = true,
            }
        }
        for &block in &self.f.layout {
            let data = &self.f.blocks[block];
            for edge in data.thread_succs.iter().chain(&data.wave_succs) {
                if !placed.get(edge.block.index()).is_some_and(|&p| p) {
                    return Err(defect(format!("edge {block} -> {} leads out of the layout", edge.block)));
                }
                if edge.block == self.f.layout[0] {
                    return Err(defect(format!("edge {block} -> {} leads to the entry", edge.block)));
                }
            }
        }
        Ok(())
    }

    fn block(&self, block: Block) -> Result<()> {
        let data = &self.f.blocks[block];
        if self.stage > Stage::Selected && !data.thread_sargs.is_empty() {
            return Err(defect("SGPR arguments on thread edges after linearisation"));
        }
        // Waits take the places of marks, and branches are the end of all.
        let misfit = data.head_len > data.tail_start || data.tail_start as usize > data.insts.len();
        if misfit && self.stage <= Stage::Framed {
            return Err(defect("head, body and tail do not fit the instructions"));
        }
        match self.stage {
            Stage::Selected => {
                self.arity(data, data.thread_succs.len())?;
                self.edges(&data.thread_succs, RegFile::Vgpr)?;
                if !data.wave_succs.is_empty() {
                    return Err(defect("wave edges before linearisation"));
                }
                self.early_args(data)?;
            }
            Stage::Linear | Stage::Modelled => {
                self.arity(data, data.wave_succs.len())?;
                self.edges(&data.thread_succs, RegFile::Vgpr)?;
                self.edges(&data.wave_succs, RegFile::Sgpr)?;
            }
            Stage::Allocated | Stage::Wave | Stage::Framed | Stage::Waited | Stage::Final => {
                self.arity(data, data.wave_succs.len())?;
                self.without_parameters(data)?;
            }
        }
        let mut scc_written = false;
        for (i, inst) in data.insts.iter().enumerate() {
            let in_body = (data.head_len..data.tail_start).contains(&(i as u32));
            self.inst(inst, in_body, scc_written)
                .map_err(|d| d.at(format!("{block}: {}", self.f.display_inst(inst))))?;
            scc_written |= inst.facts().implicit.contains(Implicit::SCC_DEF);
        }
        if let Terminator::Uniform(Condition::Scc0 | Condition::Scc1) = data.term
            && self.stage <= Stage::Allocated
        {
            if !scc_written {
                return Err(defect("the branch reads SCC, which no instruction of the block writes"));
            }
            let tail = &data.insts[data.tail_start as usize..];
            if tail.iter().any(|inst| inst.facts().implicit.contains(Implicit::SCC_DEF)) {
                return Err(defect("the tail overwrites SCC before the branch"));
            }
        }
        Ok(())
    }

    /// What allocation and the passes behind it have done away with.
    fn without_parameters(&self, data: &BlockData) -> Result<()> {
        if !data.vparams.is_empty() || !data.sparams.is_empty() {
            return Err(defect("parameters of a block after allocation"));
        }
        if data.wave_succs.iter().chain(&data.thread_succs).any(|edge| !edge.args.is_empty()) {
            return Err(defect("arguments of an edge after allocation"));
        }
        if self.stage > Stage::Allocated && !data.thread_succs.is_empty() {
            return Err(defect("thread edges where the wave graph stands alone"));
        }
        Ok(())
    }

    fn arity(&self, data: &BlockData, succs: usize) -> Result<()> {
        let expected = match data.term {
            Terminator::Jump => 1,
            Terminator::Uniform(_) => 2,
            Terminator::Divergent(mask) => {
                if self.stage != Stage::Selected {
                    return Err(defect("divergent branch after linearisation"));
                }
                match self.f.vregs.get(mask) {
                    Some(data) if data.file == RegFile::Sgpr && data.dwords == self.f.wave.mask_dwords() => {}
                    _ => return Err(defect(format!("{mask} is no lane mask"))),
                }
                2
            }
            Terminator::EndProgram | Terminator::Return | Terminator::Unreachable => 0,
        };
        if succs != expected {
            return Err(defect(format!("{:?} with {succs} successors", data.term)));
        }
        Ok(())
    }

    fn edges(&self, edges: &[Edge], file: RegFile) -> Result<()> {
        for edge in edges {
            let target = &self.f.blocks[edge.block];
            let params = if file == RegFile::Vgpr { &target.vparams } else { &target.sparams };
            self.args(edge.block, &edge.args, params, file)?;
        }
        Ok(())
    }

    fn early_args(&self, data: &BlockData) -> Result<()> {
        // A list that was never filled stands for no arguments.
        for (i, edge) in data.thread_succs.iter().enumerate() {
            let args = data.thread_sargs.get(i).map_or(&[][..], |args| args);
            self.args(edge.block, args, &self.f.blocks[edge.block].sparams, RegFile::Sgpr)?;
        }
        Ok(())
    }

    fn args(&self, target: Block, args: &[VReg], params: &[VReg], file: RegFile) -> Result<()> {
        if args.len() != params.len() {
            return Err(defect(format!(
                "{} arguments for the {} parameters of {target}",
                args.len(),
                params.len()
            )));
        }
        for (&arg, &param) in args.iter().zip(params) {
            let (Some(a), Some(p)) = (self.f.vregs.get(arg), self.f.vregs.get(param)) else {
                return Err(defect(format!("argument {arg} or parameter {param} does not exist")));
            };
            // Whole-wave VGPRs may be passed by the wave.
            let by_wave = file == RegFile::Sgpr && a.wave_level() && p.wave_level() && a.file == p.file;
            if !by_wave && (a.file != file || p.file != file) || a.dwords != p.dwords {
                return Err(defect(format!("argument {arg} does not fit parameter {param} of {target}")));
            }
        }
        Ok(())
    }

    fn inst(&self, inst: &Inst, in_body: bool, scc_written: bool) -> Result<()> {
        let info = inst.op.info();
        let is_scalar = !inst.facts().unit.is_vector();
        if self.stage <= Stage::Modelled {
            if in_body && writes_exec(inst) && !inst.mods.flags.contains(ModFlags::SETS_EXEC) {
                return Err(defect("EXEC is written in the body of a block"));
            }
            if !in_body && (!is_scalar || inst.regs().any(|(_, reg)| self.file(reg) == Some(RegFile::Vgpr))) {
                return Err(defect("vector instruction in the head or tail of a block"));
            }
        }
        if inst.facts().implicit.contains(Implicit::SCC_USE) && !scc_written && self.stage <= Stage::Allocated
        {
            return Err(defect("reads SCC, which no instruction before it in the block writes"));
        }
        self.still_there(inst)?;
        self.operand_count(inst)?;
        for (i, operand) in inst.operands.iter().enumerate() {
            if let Operand::Reg(reg) = operand {
                self.reg(reg)?;
            }
            let Some(desc) = info.operands.get(i) else { continue };
            // VOP3 takes more than the short form; which one it will be is the encoder's choice.
            let kind = info.operand_kind(i, true).unwrap_or(desc.kind);
            self.operand(kind, operand_dwords(inst, desc, self.f.wave), operand)?;
        }
        Ok(())
    }

    /// Refuses what an earlier pass must have expanded, and what a later one makes.
    fn still_there(&self, inst: &Inst) -> Result<()> {
        use Opcode as O;
        let (first, last) = match inst.op {
            O::LANES_RESULT
            | O::SET_INACTIVE
            | O::LIVE_LANES
            | O::DEMOTE
            | O::KILLED
            | O::QUAD_VOTE
            | O::ENTRY_LANES => (Stage::Selected, Stage::Selected),
            O::LANES_BEGIN | O::LANES_END => (Stage::Linear, Stage::Wave),
            O::COPY | O::REG_SEQUENCE => (Stage::Selected, Stage::Allocated),
            O::INDEXED_READ
            | O::INDEXED_WRITE
            | O::CALL
            | O::CHAIN_JUMP
            | O::PC_ADDRESS
            | O::IMPLICIT_DEF
            | O::FENCE
            | O::INLINE_ASM => (Stage::Selected, Stage::Waited),
            O::DATA_DWORD => (Stage::Framed, Stage::Final),
            _ => (Stage::Selected, Stage::Final),
        };
        if !(first..=last).contains(&self.stage) {
            return Err(defect(format!("stands here at stage {:?}", self.stage)));
        }
        if inst.mods.flags.contains(ModFlags::OTHER_LANES) && self.stage >= Stage::Framed {
            return Err(defect("runs with other lanes where EXEC is settled"));
        }
        let branches = inst.operands.iter().any(|operand| matches!(operand, Operand::Block(_)));
        if branches && self.stage < Stage::Final {
            return Err(defect("branch instruction before terminators are lowered"));
        }
        Ok(())
    }

    fn operand_count(&self, inst: &Inst) -> Result<()> {
        let info = inst.op.info();
        let rows = info.operands.len();
        if info.flags.contains(OpFlags::VARIADIC) {
            return if inst.operands.len() >= rows { Ok(()) } else { Err(defect("too few operands")) };
        }
        let optional = info.operands.iter().filter(|o| o.kind == OperandKind::OptionalImm).count();
        let ties = if self.stage <= Stage::Modelled {
            info.operands.iter().filter(|o| o.role == Role::DefUse).count()
        } else {
            0
        };
        // A preserved SDWA or DPP destination has its old value as one more operand.
        let preserved = match inst.mods.ext {
            Extension::Sdwa(sdwa) => sdwa.dst_unused == SdwaUnused::Preserve,
            Extension::Dpp(_) | Extension::Dpp8(_) => true,
            // Texture fail: dwords that are not written.
            Extension::None => {
                info.flags.intersects(OpFlags::D16 | OpFlags::D16_HI)
                    || inst.mods.flags.intersects(ModFlags::TFE | ModFlags::LWE)
            }
        };
        let extra = usize::from(preserved && self.stage <= Stage::Modelled);
        let parts = usize::from(inst.mods.address_parts);
        let is_part = |operand: &Operand| match operand.as_reg().map(|r| (r.reg, r.dwords)) {
            Some((Reg::Virtual(v), 1)) => self.f.vregs.get(v).is_some_and(|data| data.file == RegFile::Vgpr),
            Some((Reg::Physical(register), 1)) => register.is_vgpr(),
            _ => false,
        };
        let listed = inst.operands.get(rows..rows + parts);
        if parts > 0
            && (info.format != Format::Mimg || !listed.is_some_and(|parts| parts.iter().all(is_part)))
        {
            return Err(defect("parts of an address that are no single VGPRs of an image instruction"));
        }
        let rows = rows + parts;
        let range = (rows + ties).saturating_sub(optional)..=rows + ties + extra;
        if range.contains(&inst.operands.len()) {
            Ok(())
        } else {
            Err(defect(format!("{} operands where the row has {rows} and {ties} ties", inst.operands.len())))
        }
    }

    fn reg(&self, reg: &RegOperand) -> Result<()> {
        match reg.reg {
            Reg::Virtual(_) if self.stage > Stage::Modelled => {
                Err(defect("virtual register after allocation"))
            }
            Reg::Virtual(vreg) => match self.f.vregs.get(vreg) {
                None => Err(defect(format!("{vreg} does not exist"))),
                Some(data) if reg.sub + reg.dwords > data.dwords || reg.dwords == 0 => {
                    Err(defect(format!("{vreg} has {} dwords", data.dwords)))
                }
                Some(_) => Ok(()),
            },
            Reg::Physical(_) if reg.sub != 0 => Err(defect("part of a physical register")),
            Reg::Physical(_) => Ok(()),
        }
    }

    fn file(&self, reg: &RegOperand) -> Option<RegFile> {
        match reg.reg {
            Reg::Virtual(vreg) => self.f.vregs.get(vreg).map(|data| data.file),
            Reg::Physical(preg) if preg.is_vgpr() => Some(RegFile::Vgpr),
            Reg::Physical(_) => Some(RegFile::Sgpr),
        }
    }

    fn operand(&self, kind: OperandKind, dwords: u8, operand: &Operand) -> Result<()> {
        use OperandKind as K;
        let is_reg = operand.as_reg().is_some();
        let is_constant = matches!(operand, Operand::Imm(_) | Operand::Symbol { .. });
        let (file, allowed) = match kind {
            K::Vgpr => (Some(RegFile::Vgpr), is_reg),
            K::VgprOrOff | K::ExportSrc => (Some(RegFile::Vgpr), is_reg || *operand == Operand::Off),
            K::Sgpr | K::LaneMask => (Some(RegFile::Sgpr), is_reg),
            K::SgprOrOff => (Some(RegFile::Sgpr), is_reg || *operand == Operand::Off),
            K::ScalarSrc | K::SmemOffset | K::Soffset => (Some(RegFile::Sgpr), is_reg || is_constant),
            K::VectorSrc => (None, is_reg || is_constant),
            K::AnyReg => (None, true),
            K::Label => (None, is_constant || matches!(operand, Operand::Block(_))),
            _ => (None, !is_reg),
        };
        if !allowed {
            return Err(defect(format!("operand {operand:?} where the row takes {kind:?}")));
        }
        if let Operand::Reg(reg) = operand {
            if file.is_some_and(|file| self.file(reg) != Some(file)) {
                return Err(defect(format!("operand {:?} is of the wrong register file", reg.reg)));
            }
            if dwords != 0 && reg.dwords != dwords {
                return Err(defect(format!(
                    "operand {:?} is {} dwords wide, not {dwords}",
                    reg.reg, reg.dwords
                )));
            }
        }
        Ok(())
    }

    fn ssa(&self) -> Result<()> {
        let thread = Csr::thread(self.f);
        let thread_order = Order::reverse_post_order(&thread);
        let thread_dom = Dominators::new(&thread, &thread_order);
        let structured = self.stage > Stage::Selected;
        let wave = structured.then(|| Csr::wave(self.f));
        let wave_order = wave.as_ref().map(Order::reverse_post_order);
        let wave_dom = wave.as_ref().zip(wave_order.as_ref()).map(|(g, o)| Dominators::new(g, o));
        // Definition of each register: block and place (0 parameter, else instruction + 1).
        let mut defs: Vec<Option<(Block, u32)>> = vec![None; self.f.vregs.len()];
        let define = |defs: &mut Vec<Option<(Block, u32)>>, reg: VReg, block: Block, place: u32| match defs
            .get_mut(reg.index())
        {
            Some(slot @ None) => {
                *slot = Some((block, place));
                Ok(())
            }
            Some(Some((first, _))) => {
                Err(defect(format!("{reg} is defined in {first} and again in {block}")))
            }
            None => Err(defect(format!("{reg} does not exist"))),
        };
        for (_, _, reg) in self.f.entry.registers() {
            if let Some(reg) = reg {
                define(&mut defs, reg, self.f.layout[0], 0)?;
            }
        }
        for &block in &self.f.layout {
            let data = &self.f.blocks[block];
            for &param in data.vparams.iter().chain(&data.sparams) {
                define(&mut defs, param, block, 0)?;
            }
            for (i, inst) in data.insts.iter().enumerate() {
                for (_, reg) in inst.regs().filter(|(is_def, _)| *is_def) {
                    if let Reg::Virtual(reg) = reg.reg {
                        define(&mut defs, reg, block, i as u32 + 1)?;
                    }
                }
            }
        }
        let check = |reg: VReg, block: Block, place: u32| {
            let Some(data) = self.f.vregs.get(reg) else {
                return Err(defect(format!("{reg} does not exist")));
            };
            let wave_level = structured && data.wave_level();
            let (order, dom) = match (&wave_order, &wave_dom) {
                (Some(order), Some(dom)) if wave_level => (order, dom),
                _ => (&thread_order, &thread_dom),
            };
            if !order.contains(block.as_u32()) && (wave_level || !structured) {
                return Ok(());
            }
            match defs[reg.index()] {
                Some((def, at)) if def == block && at < place => Ok(()),
                Some((def, _)) if def != block && dom.dominates(def.as_u32(), block.as_u32()) => Ok(()),
                Some((def, _)) => Err(defect(format!(
                    "{reg}, defined in {def}, is used in {block} where it does not reach"
                ))),
                None => Err(defect(format!("{reg}, used in {block}, is never defined"))),
            }
        };
        for &block in &self.f.layout {
            let data = &self.f.blocks[block];
            for (i, inst) in data.insts.iter().enumerate() {
                for (_, reg) in inst.regs().filter(|(is_def, _)| !is_def) {
                    if let Reg::Virtual(reg) = reg.reg {
                        check(reg, block, i as u32 + 1).map_err(|d| d.at(self.f.display_inst(inst)))?;
                    }
                }
            }
            let sargs = data.thread_sargs.iter().flatten().filter(|_| !structured);
            let args = data.thread_succs.iter().chain(&data.wave_succs).flat_map(|edge| &edge.args);
            let mask = if let Terminator::Divergent(mask) = data.term { Some(mask) } else { None };
            for &reg in args.chain(sargs).chain(&mask) {
                check(reg, block, u32::MAX)?;
            }
        }
        if self.stage == Stage::Selected {
            super::lanes_agree::check(self.f, &thread, &thread_order, &thread_dom)?;
        }
        Ok(())
    }
}

fn defect(message: impl Into<String>) -> Box<Diagnostic> {
    Diagnostic::defect(message)
}

/// Width of an operand in this use. A VGPR beside an SGPR base of a global access is a 32-bit offset; the address of a buffer access is
/// one dword, unless it is a 64-bit address or an index and an offset.
fn operand_dwords(inst: &Inst, desc: &OperandDesc, wave: WaveSize) -> u8 {
    let (facts, flags) = (inst.facts(), inst.mods.flags);
    let Some(memory) = facts.memory else { return desc.dwords(wave) };
    match (memory.kind, desc.slot) {
        (MemoryKind::Global | MemoryKind::Scratch, Slot::Addr) => {
            let saddr = facts.saddr().and_then(|k| inst.operands.get(k));
            if matches!(saddr, Some(Operand::Reg(_))) { 1 } else { desc.dwords(wave) }
        }
        (MemoryKind::Buffer | MemoryKind::TypedBuffer, Slot::Addr) => {
            let pair = flags.contains(ModFlags::ADDR64) || flags.contains(ModFlags::OFFEN | ModFlags::IDXEN);
            if pair { 2 } else { 1 }
        }
        // Channels, texture fail and packing decide.
        (MemoryKind::Buffer | MemoryKind::TypedBuffer, Slot::Data0)
            if flags.contains(ModFlags::TFE) || inst.op.info().flags.contains(OpFlags::D16) =>
        {
            0
        }
        (MemoryKind::Image, Slot::Data0 | Slot::Addr) => 0,
        _ => desc.dwords(wave),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{CallConv, Func};
    use crate::isa::Opcode;

    fn function() -> (Function, VReg, VReg) {
        let mut f = Function::new("f", CallConv::Kernel, Func::new(0));
        let entry = f.add_block();
        let (s, v) = (f.new_vreg(RegFile::Sgpr, 1), f.new_vreg(RegFile::Vgpr, 1));
        f.blocks[entry].push(Inst::new(Opcode::S_MOV_B32, [Operand::vreg(s, 1), Operand::Imm(1)]));
        f.blocks[entry].push(Inst::new(Opcode::V_MOV_B32, [Operand::vreg(v, 1), Operand::vreg(s, 1)]));
        f.blocks[entry].term = Terminator::EndProgram;
        (f, s, v)
    }

    fn error(f: &Function, stage: Stage) -> String {
        let mut f = f.clone();
        f.stage = stage;
        verify(&f).expect_err("a broken function passed").to_string()
    }

    #[test]
    fn good_function_passes() {
        let (f, ..) = function();
        verify(&f).unwrap();
    }

    #[test]
    fn wrong_file_width_and_order_are_found() {
        let (mut f, s, v) = function();
        let entry = f.layout[0];
        f.blocks[entry].insts[1].operands[0] = Operand::vreg(s, 1);
        assert!(error(&f, Stage::Selected).contains("wrong register file"));
        f.blocks[entry].insts[1].operands[0] = Operand::vreg(v, 2);
        assert!(error(&f, Stage::Selected).contains("has 1 dwords"));
        f.blocks[entry].insts[1].operands[0] = Operand::vreg(v, 1);
        f.blocks[entry].insts.swap(0, 1);
        assert!(error(&f, Stage::Selected).contains("does not reach"));
    }

    #[test]
    fn exec_and_scc_rules() {
        let (mut f, s, _) = function();
        let entry = f.layout[0];
        f.blocks[entry]
            .push(Inst::new(Opcode::S_MOV_B64, [Operand::preg(PReg::EXEC_LO, 2), Operand::Imm(0)]));
        assert!(error(&f, Stage::Selected).contains("EXEC is written in the body"));
        f.blocks[entry].tail_start -= 1;
        verify(&f).unwrap();
        f.blocks[entry].insts.truncate(2);
        f.blocks[entry].insts.insert(
            1,
            Inst::new(
                Opcode::S_CSELECT_B32,
                [Operand::preg(PReg::M0, 1), Operand::vreg(s, 1), Operand::Imm(0)],
            ),
        );
        f.blocks[entry].tail_start = 3;
        assert!(error(&f, Stage::Selected).contains("reads SCC"));
    }

    #[test]
    fn arguments_and_arity() {
        let (mut f, s, v) = function();
        let (entry, next) = (f.layout[0], f.add_block());
        f.blocks[entry].term = Terminator::Jump;
        assert!(error(&f, Stage::Selected).contains("0 successors"));
        f.blocks[entry].thread_succs.push(Edge { block: next, args: [v].into_iter().collect() });
        assert!(error(&f, Stage::Selected).contains("1 arguments for the 0 parameters"));
        let param = f.new_vreg(RegFile::Vgpr, 1);
        f.blocks[next].vparams.push(param);
        verify(&f).unwrap();
        f.blocks[entry].thread_succs[0].args[0] = s;
        assert!(error(&f, Stage::Selected).contains("does not fit"));
    }
}
