//! What regalloc2 makes of contested registers: its *units*.
//!
//! [`crate::join`] asks about registers that parameters, copies and tied operands connect and that cannot all
//! share a place. regalloc2 (Ion) runs once for each file, over that file's graph, and sees only these
//! registers: their definitions and each block's last uses, so that it knows where they are alive, and no
//! instruction without them. Every operand may be anywhere (`Any`), so nothing is split and nothing is ever
//! too much: registers and spill slots are alike names of *units*, sets of values that are never alive at
//! once. What Ion is good at is which parameters and arguments belong together: those that it put into one
//! unit are joined before others of the same loop depth, and the packer decides the hardware registers.
//!
//! regalloc2 knows no tuples, so one class serves all widths: a unit is as wide as its values. Edges that it
//! calls critical get a block of their own in this view.
//!
//! An answer is advice: joins check interference themselves, the better of both results counts, and no answer
//! (an error, too many live ranges) costs only moves. Cost: Ion's, in the live ranges of contested registers,
//! and its memory is kept from run to run.
//!
//! Measured on real kernels for gfx900, each figure alone / with advice: microseconds of all of allocation
//! for each instruction that comes in, on one core of a machine that others used too; moves between registers
//! of one file that remain; the same weighted by 8 for each loop around them; VGPRs; spilled dwords.
//!
//! | functions | instructions | time | moves | weighted | VGPRs | spills |
//! |---|---|---|---|---|---|---|
//! | 20 of 18 examples | 2,546 | too short | 107 / 91 | 352 / 329 | 240 / 234 | 0 / 0 |
//! | 77 of hashcat, < 2,000 | 33,534 | too short | 970 / 880 | 19,611 / 18,961 | 1,769 / 1,771 | 0 / 0 |
//! | 34 of hashcat, < 10,000 | 181,245 | 1.17 / 1.38 | 7,873 / 7,843 | 352,938 / 352,698 | 3,890 / 3,890 | 189 / 189 |
//! | 34 of hashcat, < 40,000 | 783,326 | 1.50 / 1.79 | 22,692 / 22,621 | 1,074,841 / 1,074,336 | 4,281 / 4,281 | 924 / 922 |
//! | 10 of hashcat, more | 1,080,589 | 1.64 / 2.01 | 36,444 / 36,443 | 3,286,355 / 3,286,347 | 1,531 / 1,531 | 1,606 / 1,606 |
//!
//! The functions of hashcat are those of every twelfth module by size. One example (sha256's search) goes
//! from 39 to 33 VGPRs, 6 to 7 waves; one function of hashcat (`m17500_s08`) saves 19 moves and needs 90
//! VGPRs for 84, 2 waves for 3. Seeing the whole file instead, regalloc2 took 5.3 microseconds more and left
//! 673 moves more on hashcat. Whether units could also guide the order of packing is not tried.

use crate::access::{registers, vreg_of};
use crate::graph::{Graph, Numbering, edges, params};
use crate::liveness::Kind;
use mir::isa::OperandAccess;
use mir::machine::{Function, Inst, VReg};
use regalloc2 as ra;

/// Units given out as registers; the rest are slots.
const REGISTERS: usize = 60;

/// One file of a function as regalloc2 sees it.
struct View {
    /// Instructions of each block.
    blocks: Vec<ra::InstRange>,
    succs: Vec<Vec<ra::Block>>,
    preds: Vec<Vec<ra::Block>>,
    params: Vec<Vec<ra::VReg>>,
    args: Vec<Vec<Vec<ra::VReg>>>,
    operands: Vec<ra::Operand>,
    offsets: Vec<u32>,
    branch: Vec<bool>,
    vregs: usize,
}

impl ra::Function for View {
    fn num_insts(&self) -> usize {
        self.branch.len()
    }
    fn num_blocks(&self) -> usize {
        self.blocks.len()
    }
    fn entry_block(&self) -> ra::Block {
        ra::Block::new(0)
    }
    fn block_insns(&self, block: ra::Block) -> ra::InstRange {
        self.blocks[block.index()]
    }
    fn block_succs(&self, block: ra::Block) -> &[ra::Block] {
        &self.succs[block.index()]
    }
    fn block_preds(&self, block: ra::Block) -> &[ra::Block] {
        &self.preds[block.index()]
    }
    fn block_params(&self, block: ra::Block) -> &[ra::VReg] {
        &self.params[block.index()]
    }
    fn is_ret(&self, inst: ra::Inst) -> bool {
        self.branch[inst.index()] && self.is_last_without_successor(inst)
    }
    fn is_branch(&self, inst: ra::Inst) -> bool {
        self.branch[inst.index()] && !self.is_last_without_successor(inst)
    }
    fn branch_blockparams(&self, block: ra::Block, _: ra::Inst, succ: usize) -> &[ra::VReg] {
        &self.args[block.index()][succ]
    }
    fn inst_operands(&self, inst: ra::Inst) -> &[ra::Operand] {
        &self.operands[self.offsets[inst.index()] as usize..self.offsets[inst.index() + 1] as usize]
    }
    fn inst_clobbers(&self, _: ra::Inst) -> ra::PRegSet {
        ra::PRegSet::empty()
    }
    fn num_vregs(&self) -> usize {
        self.vregs
    }
    fn spillslot_size(&self, _: ra::RegClass) -> usize {
        1
    }
}

impl View {
    fn is_last_without_successor(&self, inst: ra::Inst) -> bool {
        let block = self.blocks.partition_point(|r| r.last().index() < inst.index());
        self.succs.get(block).is_none_or(Vec::is_empty)
    }

    /// The registers of `kind` among the `contested` ones; also their numbers in the view.
    fn new(
        f: &Function,
        numbering: &Numbering,
        graph: &Graph,
        kind: Kind,
        contested: &[bool],
    ) -> (Self, Vec<u32>) {
        let file = kind.graph();
        let mut number = vec![u32::MAX; f.vregs.len()];
        let mut vregs = 0;
        for v in f.vregs.keys().filter(|&v| contested[v.as_u32() as usize] && Kind::of(f, v) == kind) {
            number[v.as_u32() as usize] = vregs;
            vregs += 1;
        }
        let vreg = |v: VReg| match number[v.as_u32() as usize] {
            u32::MAX => None,
            n => Some(ra::VReg::new(n as usize, ra::RegClass::Int)),
        };
        let any = |v, kind, pos| ra::Operand::new(v, ra::OperandConstraint::Any, kind, pos);
        let blocks = numbering.order.len();
        let mut view = Self {
            blocks: Vec::with_capacity(blocks),
            succs: vec![Vec::new(); blocks],
            preds: vec![Vec::new(); blocks],
            params: vec![Vec::new(); blocks],
            args: vec![Vec::new(); blocks],
            operands: Vec::new(),
            offsets: vec![0],
            branch: Vec::new(),
            vregs: vregs as usize,
        };
        // Block in which a register's last use was seen.
        let mut seen = vec![u32::MAX; vregs as usize];
        let mut last: Vec<(u32, VReg)> = Vec::new();
        for (i, &block) in numbering.order.iter().enumerate() {
            let data = &f.blocks[block];
            let first = view.branch.len();
            if i == 0 {
                for v in f.entry.registers().into_iter().filter_map(|(_, _, reg)| reg).filter_map(vreg) {
                    view.operands.push(any(v, ra::OperandKind::Def, ra::OperandPos::Late));
                }
                view.end_inst(false);
            }
            // Only a block's last use of a register matters for where it is alive.
            last.clear();
            for (k, inst) in data.insts.iter().enumerate().rev() {
                mir::interrupt::checkpoint();
                for (n, operand) in registers(inst) {
                    let Some(v) = vreg_of(operand) else { continue };
                    let Some(slot) = seen.get_mut(number[v.as_u32() as usize] as usize) else { continue };
                    if inst.operand_access(n) == OperandAccess::Def {
                        last.push((k as u32, v));
                    } else if *slot != i as u32 {
                        *slot = i as u32;
                        last.push((k as u32, v));
                    }
                }
            }
            while let Some(&(k, _)) = last.last() {
                view.inst(&data.insts[k as usize], &mut last, k, &vreg);
            }
            view.end_inst(true);
            view.blocks.push(ra::InstRange::new(ra::Inst::new(first), ra::Inst::new(view.branch.len())));
            view.params[i] = params(data, file).iter().filter_map(|&v| vreg(v)).collect();
        }
        for (i, &block) in numbering.order.iter().enumerate() {
            for edge in edges(&f.blocks[block], file) {
                let Some(target) = numbering.index(edge.block) else { continue };
                // A parameter is contested with all its arguments.
                let both = params(&f.blocks[edge.block], file).iter().zip(&edge.args);
                let args: Vec<ra::VReg> = both.filter_map(|(&p, &a)| vreg(p).and(vreg(a))).collect();
                if graph.succ_count(i) > 1 && graph.preds(target).len() > 1 {
                    view.split(i, target, args);
                } else {
                    view.link(i, target, args);
                }
            }
        }
        (view, number)
    }

    /// Instruction `k`, of which `last` ends with the operands that matter.
    fn inst(
        &mut self,
        inst: &Inst,
        last: &mut Vec<(u32, VReg)>,
        k: u32,
        vreg: &impl Fn(VReg) -> Option<ra::VReg>,
    ) {
        let first = self.operands.len();
        let from = last.iter().rposition(|l| l.0 != k).map_or(0, |n| n + 1);
        for (n, operand) in registers(inst) {
            let Some(v) = vreg_of(operand).filter(|v| last[from..].iter().any(|l| l.1 == *v)) else {
                continue;
            };
            let Some(v) = vreg(v) else { continue };
            let (kind, pos) = match inst.operand_access(n) {
                OperandAccess::Def => (ra::OperandKind::Def, ra::OperandPos::Late),
                _ => (ra::OperandKind::Use, ra::OperandPos::Early),
            };
            self.operands.push(ra::Operand::new(v, ra::OperandConstraint::Any, kind, pos));
        }
        last.truncate(from);
        if self.operands.len() > first {
            self.end_inst(false);
        }
    }

    fn end_inst(&mut self, branch: bool) {
        self.offsets.push(self.operands.len() as u32);
        self.branch.push(branch);
    }

    fn link(&mut self, from: usize, to: usize, args: Vec<ra::VReg>) {
        self.succs[from].push(ra::Block::new(to));
        self.preds[to].push(ra::Block::new(from));
        self.args[from].push(args);
    }

    fn split(&mut self, from: usize, to: usize, args: Vec<ra::VReg>) {
        let middle = self.blocks.len();
        let first = self.branch.len();
        self.end_inst(true);
        self.blocks.push(ra::InstRange::new(ra::Inst::new(first), ra::Inst::new(first + 1)));
        self.succs.push(Vec::new());
        self.preds.push(Vec::new());
        self.params.push(Vec::new());
        self.args.push(Vec::new());
        self.link(from, middle, Vec::new());
        self.link(middle, to, args);
    }
}

/// The units of a function's registers, found by Ion.
#[derive(Default)]
pub(crate) struct Units {
    context: ra::Ctx,
    /// Unit by register: bits of regalloc2's allocation; 0 where none is known.
    unit: Vec<u32>,
}

impl Units {
    /// Runs regalloc2 for the `contested` registers of `kind`, adding to what other runs found.
    pub fn run(
        &mut self,
        f: &Function,
        numbering: &Numbering,
        graph: &Graph,
        kind: Kind,
        contested: &[bool],
    ) {
        self.unit.resize(f.vregs.len(), 0);
        let (view, number) = View::new(f, numbering, graph, kind, contested);
        if view.vregs == 0 {
            return;
        }
        let mut registers = ra::PRegSet::empty();
        for n in 0..REGISTERS {
            registers.add(ra::PReg::new(n, ra::RegClass::Int));
        }
        let env = ra::MachineEnv {
            preferred_regs_by_class: [registers, ra::PRegSet::empty(), ra::PRegSet::empty()],
            non_preferred_regs_by_class: [ra::PRegSet::empty(); 3],
            scratch_by_class: [None; 3],
            fixed_stack_slots: Vec::new(),
        };
        let options = ra::RegallocOptions::default();
        let Ok(output) = ra::run_with_ctx(&view, &env, &options, &mut self.context) else { return };
        let mut unit = vec![0u32; view.vregs];
        for (operand, allocation) in view.operands.iter().zip(&output.allocs) {
            unit[operand.vreg().vreg()] = allocation.bits();
        }
        for (slot, &n) in self.unit.iter_mut().zip(&number) {
            if n != u32::MAX {
                *slot = unit[n as usize];
            }
        }
    }

    /// Forgets all units.
    pub fn clear(&mut self) {
        self.unit.clear();
    }

    /// Whether the registers are in one unit.
    pub fn same(&self, a: VReg, b: VReg) -> bool {
        let unit = |v: VReg| self.unit.get(v.as_u32() as usize).copied().unwrap_or(0);
        unit(a) != 0 && unit(a) == unit(b)
    }
}
