//! Whether the lanes that read an SGPR in selected code can have different values in mind: the part of the contract of scalars that a walk decides.
//!
//! A plain SGPR and the bits of a lane mask belong to the lanes that were active where they were written, and to the one execution of that
//! place. So
//!
//! * **loops**: what a loop writes is not read behind it where lanes may leave in different iterations, since those that stay write it again.
//!   Checked for loops with an exit on a divergent branch. (A value may be defined before the loop, or travel in a VGPR; what the scalar unit
//!   makes of constants and of such values is the same whoever writes it.)
//! * **joins**: no SGPR parameter where lanes meet that a divergent branch has separated. Checked for blocks whose immediate dominator ends
//!   with a divergent branch and that has several ways in beside back edges: two paths from there share nothing, so one starts on each side.
//!
//! What is refused is wrong in any program; what passes may still be wrong where a branch that is uniform depends on one that is not. That is
//! left to running the code. Cost: near linear.

use super::{Block, Function, Inst, Reg, RegFile, Terminator, VReg};
use crate::analysis::{Csr, Dominators, Graph, Loops, Order};
use crate::isa::OpFlags;
use crate::{Diagnostic, Result};
use cranelift_entity::EntityRef;

/// Checks selected code; the error is a `Defect` that names register and blocks.
pub(super) fn check(f: &Function, graph: &Csr, order: &Order, dom: &Dominators) -> Result<()> {
    let divergent = |b: u32| matches!(f.blocks[Block::from_u32(b)].term, Terminator::Divergent(_));
    let loops = Loops::new(graph, order, dom);
    for &block in order.blocks() {
        let params = &f.blocks[Block::from_u32(block)].sparams;
        if let (Some(&param), Some(from)) = (params.first(), dom.idom(block))
            && divergent(from)
            && graph.preds(block).iter().filter(|&&p| order.contains(p) && !dom.dominates(block, p)).count()
                > 1
        {
            return Err(Diagnostic::defect(format!(
                "{param} is an SGPR where lanes meet that mbb{from} has separated"
            ))
            .at(Block::from_u32(block)));
        }
    }
    let mut leaves_apart = vec![false; loops.len()];
    for &block in order.blocks().iter().filter(|&&b| divergent(b)) {
        for &succ in graph.succs(block) {
            let mut at = loops.innermost(block);
            while let Some(l) = at.filter(|&l| !loops.contains(l, succ)) {
                leaves_apart[l.index()] = true;
                at = loops[l].parent;
            }
        }
    }
    if !leaves_apart.contains(&true) {
        return Ok(());
    }
    // The block whose loops each register changes in, but for those that depend on nothing.
    let mut defs: Vec<Option<u32>> = vec![None; f.vregs.len()];
    for &block in order.blocks() {
        let data = &f.blocks[Block::from_u32(block)];
        data.sparams.iter().for_each(|&param| defs[param.index()] = Some(block));
        for inst in &data.insts {
            let from = if is_scalar(f, inst) { changes_in(inst, block, &defs, &loops) } else { Some(block) };
            for (_, operand) in inst.regs().filter(|(is_def, _)| *is_def) {
                if let Reg::Virtual(reg) = operand.reg {
                    defs[reg.index()] = from;
                }
            }
        }
    }
    let read = |reg: VReg, block: u32| {
        let Some(def) = defs[reg.index()].filter(|_| f.vregs[reg].file == RegFile::Sgpr) else {
            return Ok(());
        };
        let mut at = loops.innermost(def);
        while let Some(l) = at.filter(|&l| !loops.contains(l, block)) {
            if leaves_apart[l.index()] {
                return Err(Diagnostic::defect(format!(
                    "{reg} of mbb{def} is read behind the loop of mbb{}, which lanes leave in different iterations",
                    loops[l].header
                ))
                .at(Block::from_u32(block)));
            }
            at = loops[l].parent;
        }
        Ok(())
    };
    for &block in &f.layout {
        let data = &f.blocks[block];
        for (_, operand) in data.insts.iter().flat_map(|inst| inst.regs()).filter(|(is_def, _)| !is_def) {
            if let Reg::Virtual(reg) = operand.reg {
                read(reg, block.as_u32())?;
            }
        }
        if let Terminator::Divergent(mask) = data.term {
            read(mask, block.as_u32())?;
        }
        // Moves along an edge may be put behind its start.
        for (edge, args) in data.thread_succs.iter().zip(&data.thread_sargs) {
            for &arg in args {
                read(arg, edge.block.as_u32())?;
            }
        }
    }
    Ok(())
}

/// Whether what `inst` writes depends on nothing but the SGPRs that it reads.
fn is_scalar(f: &Function, inst: &Inst) -> bool {
    let depends = OpFlags::LOAD
        | OpFlags::ATOMIC
        | OpFlags::SIDE_EFFECTS
        | OpFlags::SCC_USE
        | OpFlags::VCC_USE
        | OpFlags::EXEC_USE
        | OpFlags::M0_USE;
    !inst.op.info().flags.intersects(depends)
        && inst.regs().all(|(_, operand)| match operand.reg {
            Reg::Virtual(reg) => f.vregs[reg].file == RegFile::Sgpr,
            Reg::Physical(_) => false,
        })
}

/// The header of the innermost loop around `block` in which something that `inst` reads changes; nothing if all is the same whenever
/// it is executed.
fn changes_in(inst: &Inst, block: u32, defs: &[Option<u32>], loops: &Loops) -> Option<u32> {
    let reads = inst.regs().filter(|(is_def, _)| !is_def).filter_map(|(_, operand)| match operand.reg {
        Reg::Virtual(reg) => defs[reg.index()],
        Reg::Physical(_) => None,
    });
    let around = |def| {
        let mut at = loops.innermost(def);
        while let Some(l) = at.filter(|&l| !loops.contains(l, block)) {
            at = loops[l].parent;
        }
        at
    };
    let innermost = reads.filter_map(around).max_by_key(|&l| loops.depth(loops[l].header));
    innermost.map(|l| loops[l].header)
}

#[cfg(test)]
mod tests {
    use super::super::{Condition, Edge, Operand, PReg, verify};
    use super::*;
    use crate::ir::{CallConv, Func};
    use crate::isa::Opcode;
    use smallvec::SmallVec;

    /// What a scalar of a loop is made of.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Source {
        Constant,
        Unknown,
        /// A scalar from in front of the loop.
        Outside,
        /// A parameter of the loop.
        Counter,
    }

    /// `0 → 1 → 2`, 1 also to itself; the branch in 1 is divergent or not. A scalar of 1 is read in 2.
    fn a_loop(divergent: bool, source: Source) -> Function {
        let mut f = Function::new("f", CallConv::Kernel, Func::new(0));
        let blocks: Vec<Block> = (0..3).map(|_| f.add_block()).collect();
        let to = |b: usize| Edge { block: Block::from_u32(b as u32), args: Default::default() };
        let scalar = f.new_vreg(RegFile::Sgpr, 1);
        let x = Operand::vreg(scalar, 1);
        let mask = f.new_lane_mask();
        let [outside, counter] = [(); 2].map(|()| f.new_vreg(RegFile::Sgpr, 1));
        let one = Inst::new(Opcode::S_MOV_B32, [Operand::vreg(outside, 1), Operand::preg(PReg::M0, 1)]);
        f.blocks[blocks[0]].push(one);
        if source == Source::Counter {
            f.blocks[blocks[1]].sparams.push(counter);
        }
        let args: SmallVec<[VReg; 4]> = f.blocks[blocks[1]].sparams.iter().map(|_| outside).collect();
        let back: SmallVec<[VReg; 4]> = args.iter().map(|_| scalar).collect();
        let source = match source {
            Source::Constant => Operand::Imm(5),
            Source::Unknown => Operand::preg(PReg::M0, 1),
            Source::Outside => Operand::vreg(outside, 1),
            Source::Counter => Operand::vreg(counter, 1),
        };
        f.blocks[blocks[0]].term = Terminator::Jump;
        f.blocks[blocks[0]].thread_succs.push(to(1));
        let body = &mut f.blocks[blocks[1]];
        body.push(Inst::new(Opcode::S_MOV_B32, [x, source]));
        body.push(Inst::new(Opcode::S_MOV_B64, [Operand::vreg(mask, 2), Operand::Imm(7)]));
        body.push(Inst::new(Opcode::S_CMP_EQ_U32, [x, Operand::Imm(5)]));
        body.term =
            if divergent { Terminator::Divergent(mask) } else { Terminator::Uniform(Condition::Scc1) };
        body.thread_succs.extend([to(2), to(1)]);
        let end = &mut f.blocks[blocks[2]];
        end.push(Inst::new(Opcode::S_CMP_EQ_U32, [x, Operand::Imm(5)]));
        end.term = Terminator::EndProgram;
        f.blocks[blocks[0]].thread_sargs.push(args);
        f.blocks[blocks[1]].thread_sargs.extend([Default::default(), back]);
        f
    }

    #[test]
    fn a_scalar_behind_a_loop_that_lanes_leave_apart() {
        for source in [Source::Constant, Source::Unknown, Source::Outside, Source::Counter] {
            assert_eq!(verify(&a_loop(false, source)), Ok(()));
        }
        for source in [Source::Constant, Source::Outside] {
            assert_eq!(verify(&a_loop(true, source)), Ok(()));
        }
        for source in [Source::Unknown, Source::Counter] {
            let error = verify(&a_loop(true, source)).expect_err("lanes leave apart");
            assert!(error.to_string().contains("is read behind the loop of mbb1"), "{error}");
        }
    }

    #[test]
    fn a_scalar_parameter_where_separated_lanes_meet() {
        let diamond = |divergent: bool| {
            let mut f = Function::new("f", CallConv::Kernel, Func::new(0));
            let blocks: Vec<Block> = (0..4).map(|_| f.add_block()).collect();
            let mask = f.new_lane_mask();
            let values: Vec<VReg> = (0..3).map(|_| f.new_vreg(RegFile::Sgpr, 1)).collect();
            let head = &mut f.blocks[blocks[0]];
            head.push(Inst::new(Opcode::S_MOV_B64, [Operand::vreg(mask, 2), Operand::Imm(7)]));
            head.push(Inst::new(Opcode::S_CMP_EQ_U32, [Operand::Imm(1), Operand::Imm(2)]));
            head.term =
                if divergent { Terminator::Divergent(mask) } else { Terminator::Uniform(Condition::Scc1) };
            for side in [1, 2] {
                f.blocks[blocks[0]].thread_succs.push(Edge { block: blocks[side], args: Default::default() });
                f.blocks[blocks[0]].thread_sargs.push(Default::default());
                let arm = &mut f.blocks[blocks[side]];
                let value = values[side];
                arm.push(Inst::new(Opcode::S_MOV_B32, [Operand::vreg(value, 1), Operand::Imm(side as i64)]));
                arm.term = Terminator::Jump;
                arm.thread_succs.push(Edge { block: blocks[3], args: Default::default() });
                arm.thread_sargs.push([value].into_iter().collect());
            }
            f.blocks[blocks[3]].sparams.push(values[0]);
            f.blocks[blocks[3]].term = Terminator::EndProgram;
            f
        };
        assert_eq!(verify(&diamond(false)), Ok(()));
        let error = verify(&diamond(true)).expect_err("two values meet");
        assert!(error.to_string().contains("where lanes meet that mbb0 has separated"), "{error}");
    }
}
