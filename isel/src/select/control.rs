//! Branches, block parameters and their arguments.
//!
//! A divergent `i1` travels between blocks as 0 or 1 in a VGPR, everything else in the file of its parameter. Arguments
//! are computed at the end of the predecessor's body, the condition after them, so that SCC is written last.
//!
//! Parameters that nobody asked for are dropped, with their arguments. Where an edge goes to a block that is still to be
//! visited (a back edge), its parameters are asked for, since later code may need them.

use super::compare::Scc;
use super::{Rep, Selector};
use mir::diag::{Diagnostic, Result};
use mir::ir::{Block, BlockCall, InstData, InstKind, Value};
use mir::isa::Opcode::*;
use mir::machine::{Condition, Edge, Operand, Reg, Terminator, VReg};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Constants that edges of one branch pass in VGPRs of their own.
#[derive(Default)]
struct Constants {
    /// Those of the edge that is made, by value.
    made: FxHashMap<i64, SmallVec<[Operand; 2]>>,
    /// Those of the edge before it, the first last.
    before: FxHashMap<i64, SmallVec<[Operand; 2]>>,
}

impl Constants {
    /// Another edge begins.
    fn next_edge(&mut self) {
        self.before = std::mem::take(&mut self.made);
        self.before.values_mut().for_each(|registers| registers.reverse());
    }
}

impl<'a> Selector<'a> {
    pub(super) fn lower_terminator(&mut self, data: &InstData) -> Result<()> {
        let block = self.machine_block(self.block);
        let term = match &data.kind {
            InstKind::Jump { target } => {
                self.add_edge(target, &mut Constants::default())?;
                Terminator::Jump
            }
            InstKind::Branch { cond, if_true, if_false } => self.lower_branch(*cond, if_true, if_false)?,
            InstKind::Ret { value } if self.mf.call_conv.is_callable() => {
                self.lower_return(*value)?;
                Terminator::Return
            }
            // Code of the driver follows that goes on with the result.
            InstKind::Ret { value: None }
                if mir::abi::shader::is_shader(self.mf.call_conv)
                    && (self.f.ret != mir::ir::Type::Void || self.ends_in_chain_jump()) =>
            {
                Terminator::Return
            }
            InstKind::Ret { value: None } => Terminator::EndProgram,
            InstKind::Ret { value: Some(_) } => {
                return Err(Diagnostic::malformed("kernel that returns a value"));
            }
            // A wave that gets here must not run into what follows.
            _ => Terminator::Unreachable,
        };
        self.mf.blocks[block].term = term;
        Ok(())
    }

    fn lower_branch(&mut self, cond: Value, if_true: &BlockCall, if_false: &BlockCall) -> Result<Terminator> {
        // Every other edge stays: uniformity has seen it, and which lanes run together follows from it.
        if if_true == if_false {
            self.add_edge(if_true, &mut Constants::default())?;
            return Ok(Terminator::Jump);
        }
        let (mut cond, mut targets) = (cond, [if_true, if_false]);
        // The negation of a condition swaps the targets.
        while let Some(InstData { kind: InstKind::Binary { op: mir::ir::BinaryOp::Xor, args }, .. }) =
            self.nearby(cond)
            && self.is_const_value(args[1], -1)
        {
            cond = args[0];
            targets.swap(0, 1);
        }
        let mut constants = Constants::default();
        self.add_edge(targets[0], &mut constants)?;
        constants.next_edge();
        self.add_edge(targets[1], &mut constants)?;
        if self.uniformity.is_divergent_branch(self.block) {
            let mask = self.mask(cond)?;
            return Ok(Terminator::Divergent(self.whole_reg(mask, self.mf.wave.mask_dwords())));
        }
        let scc = self.scc(cond)?;
        Ok(Terminator::Uniform(if scc == Scc::True { Condition::Scc1 } else { Condition::Scc0 }))
    }

    /// Whether the register of `param` is a VGPR: all divergent ones, and uniform ones of the vector unit.
    fn param_is_vgpr(&self, param: Value) -> bool {
        matches!(self.values[param].rep, Rep::Vgpr | Rep::Mask)
    }

    /// Appends an edge with the arguments that the target takes. Those of the edge before it among `constants` are taken.
    fn add_edge(&mut self, target: &BlockCall, constants: &mut Constants) -> Result<()> {
        let f = self.f;
        let params = &f.blocks[target.block].params;
        if params.len() != target.args.len() {
            return Err(Diagnostic::malformed("branch with the wrong number of arguments"));
        }
        let complete = self.done[target.block];
        let mut vargs: SmallVec<[VReg; 4]> = SmallVec::new();
        let mut sargs: SmallVec<[VReg; 4]> = SmallVec::new();
        for (&param, &arg) in params.iter().zip(&target.args) {
            if complete && self.values[param].reg.is_none() {
                continue;
            }
            self.reg_of(param);
            let (operand, dwords) = self.argument(param, arg, target.block, constants)?;
            let reg = self.whole_reg(operand, dwords);
            if self.param_is_vgpr(param) { vargs.push(reg) } else { sargs.push(reg) }
        }
        let edge = Edge { block: self.machine_block(target.block), args: vargs };
        let block = self.machine_block(self.block);
        let body = &mut self.mf.blocks[block];
        body.thread_succs.push(edge);
        body.thread_sargs.push(sargs);
        Ok(())
    }

    /// `arg` in the form of `param` of `target`, with its width.
    fn argument(
        &mut self,
        param: Value,
        arg: Value,
        target: Block,
        constants: &mut Constants,
    ) -> Result<(Operand, u8)> {
        let rep = self.values[param].rep;
        let dwords = self.dwords(param);
        if self.is_undef(arg) {
            let out = match rep {
                Rep::Vgpr => self.new_vgpr(dwords),
                Rep::Mask => self.new_vgpr(1),
                Rep::Sgpr => self.new_sgpr(dwords),
                Rep::Bool => self.new_sgpr(1),
            };
            self.emit(IMPLICIT_DEF, [out]);
            return Ok((out, if matches!(rep, Rep::Mask | Rep::Bool) { 1 } else { dwords }));
        }
        let is_scalar = matches!(rep, Rep::Sgpr | Rep::Bool);
        if let Some(outer) = is_scalar.then(|| self.outer_scalar(arg, target)).flatten() {
            return Ok((outer, if rep == Rep::Bool { 1 } else { dwords }));
        }
        Ok(match rep {
            Rep::Vgpr => (self.vgpr_of(arg, constants)?, dwords),
            Rep::Mask => (self.bool_vgpr(arg)?, 1),
            Rep::Sgpr => (self.sgpr(arg), dwords),
            Rep::Bool => {
                let bit = self.bool_src(arg)?;
                (self.in_sgpr(bit, 1), 1)
            }
        })
    }

    fn vgpr_of(&mut self, arg: Value, constants: &mut Constants) -> Result<Operand> {
        // Constants of parameters live on their own: a shared register would stay alive along the edge. The other edge's are alive on that one alone.
        let operand = self.src(arg);
        let dwords = self.dwords(arg);
        let Operand::Imm(value) = operand else { return Ok(self.in_vgpr(operand, dwords)) };
        if dwords != 1 {
            return Ok(self.in_vgpr(operand, dwords));
        }
        if let Some(known) = constants.before.get_mut(&value).and_then(SmallVec::pop) {
            return Ok(known);
        }
        let made = self.move_to_new_vgpr(operand);
        constants.made.entry(value).or_default().push(made);
        Ok(made)
    }

    /// The virtual register that `operand` is all of; parts are copied.
    fn whole_reg(&mut self, operand: Operand, dwords: u8) -> VReg {
        if self.is_whole(&operand)
            && let Some(Reg::Virtual(reg)) = operand.as_reg().map(|r| r.reg)
        {
            return reg;
        }
        let vgpr = self.is_vgpr(&operand);
        let file = if vgpr { mir::machine::RegFile::Vgpr } else { mir::machine::RegFile::Sgpr };
        let reg = self.mf.new_vreg(file, dwords);
        self.emit(COPY, [Operand::vreg(reg, dwords), operand]);
        reg
    }

    /// The parameters of a finished block that somebody asked for; divergent conditions become masks again.
    pub(super) fn finish_params(&mut self, block: Block) -> Result<()> {
        let f = self.f;
        let machine_block = self.machine_block(block);
        for &param in &f.blocks[block].params {
            let Some(reg) = self.values[param].reg.expand() else { continue };
            match self.values[param].rep {
                Rep::Vgpr => self.mf.blocks[machine_block].vparams.push(reg),
                Rep::Mask => {
                    let bit = self.mf.new_vreg(mir::machine::RegFile::Vgpr, 1);
                    self.mf.blocks[machine_block].vparams.push(bit);
                    self.vop(
                        V_CMP_NE_U32,
                        &[Operand::mask(reg, self.mf.wave), Operand::Imm(0), Operand::vreg(bit, 1)],
                    );
                }
                Rep::Sgpr | Rep::Bool => self.mf.blocks[machine_block].sparams.push(reg),
            }
            self.copy_outside(Some(param));
        }
        Ok(())
    }
}
