//! Random functions, run lane by lane on the thread graph and wave-wide on the wave graph, must leave the same traces; and
//! the usual shapes must come out as a person would write them.
//!
//! Generation: a random reducible IR function (an acyclic graph plus back edges to dominators), whose values and branches
//! [`Uniformity`] sorts into SGPRs and VGPRs; a tiny selector turns it into machine code. `V_MOV_B32` of a constant logs
//! the block, `V_ADD_U32` its sum; comparisons are hashes, so that branches go either way.

use super::*;
use cranelift_entity::EntityRef;
use mir::analysis::Uniformity;
use mir::analysis::{Csr, Dominators, Graph, Loops, Order};
use mir::ir::{self, BinaryOp, CallConv, InstFlags, InstKind, IntPredicate, Intrinsic, Type, Value};
use mir::isa::Opcode;
use mir::machine::{Condition, Inst, Operand, PReg, Reg, RegFile, VReg, verify};
use mir::target::Target;
use std::collections::HashMap;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % u64::from(n)) as u32
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u32) as usize]
    }
}

/// Successors of each block: forward edges and back edges to dominators. Block 0 is the entry.
fn random_graph(rng: &mut Random) -> Vec<Vec<u32>> {
    let n = 4 + rng.below(14);
    let reach = 1 + rng.below(5);
    let mut succs: Vec<Vec<u32>> = vec![vec![1]];
    for b in 1..n {
        let left = n - 1 - b;
        if left == 0 || rng.below(12) == 0 {
            succs.push(vec![]);
            continue;
        }
        let forward = |rng: &mut Random| b + 1 + rng.below(left.min(reach));
        let first = if rng.below(2) == 0 { b + 1 } else { forward(rng) };
        succs.push(if rng.below(4) == 0 { vec![first] } else { vec![first, forward(rng)] });
    }
    let graph =
        |succs: &[Vec<u32>]| Csr::new(succs.len(), 0, |b, sink| sink.extend_from_slice(&succs[b as usize]));
    let g = graph(&succs);
    let dom = Dominators::new(&g, &Order::reverse_post_order(&g));
    for b in 1..n {
        let dominators: Vec<u32> = (1..=b).filter(|&d| dom.dominates(d, b)).collect();
        if !dominators.is_empty() && rng.below(4) == 0 {
            let header = rng.pick(&dominators);
            let outer = rng.pick(&dominators);
            let old = &mut succs[b as usize];
            match old.len() {
                // The latch of two loops.
                _ if outer != header && rng.below(3) == 0 => *old = vec![outer, header],
                0 => {}
                1 => old.push(header),
                _ => old[rng.below(2) as usize] = header,
            }
        }
    }
    succs
}

/// The IR function over `succs`, with the operand of each block's branch.
fn random_ir(rng: &mut Random, succs: &[Vec<u32>]) -> (ir::Function, Vec<Option<Value>>) {
    let n = succs.len();
    let mut f = ir::Function::new("f", CallConv::Kernel, Type::Void);
    let blocks: Vec<ir::Block> = (0..n).map(|_| f.add_block()).collect();
    let g = Csr::new(n, 0, |b, sink| sink.extend_from_slice(&succs[b as usize]));
    let order = Order::reverse_post_order(&g);
    let dom = Dominators::new(&g, &order);
    let loops = Loops::new(&g, &order, &dom);
    let mut values: Vec<Vec<Value>> = vec![Vec::new(); n];
    for intrinsic in [Intrinsic::WorkitemIdX, Intrinsic::WorkgroupIdX] {
        let kind = InstKind::Intrinsic { intrinsic, args: Default::default() };
        values[0].push(f.append(blocks[0], kind, Type::I32).unwrap());
    }
    for b in 1..n {
        let header = loops.innermost(b as u32).is_some_and(|l| loops[l].header == b as u32);
        let params = if header {
            1 + rng.below(2)
        } else if g.preds(b as u32).len() > 1 {
            rng.below(3)
        } else {
            0
        };
        for _ in 0..params {
            values[b].push(f.add_block_param(blocks[b], Type::I32));
        }
    }
    let visible = |values: &[Vec<Value>], b: usize| -> Vec<Value> {
        (0..n).filter(|&d| dom.dominates(d as u32, b as u32)).flat_map(|d| values[d].clone()).collect()
    };
    let add = |f: &mut ir::Function, b: usize, x: Value, y: Value| {
        f.append(blocks[b], InstKind::Binary { op: BinaryOp::Add, args: [x, y] }, Type::I32).unwrap()
    };
    for &b in order.blocks() {
        let b = b as usize;
        for _ in 0..1 + rng.below(2) {
            let seen = visible(&values, b);
            let (x, y) = (rng.pick(&seen), rng.pick(&seen));
            let y = if rng.below(2) == 0 { f.int(Type::I32, u64::from(rng.below(100))) } else { y };
            let sum = add(&mut f, b, x, y);
            values[b].push(sum);
        }
    }
    let mut operands = vec![None; n];
    for b in 0..n {
        if !order.contains(b as u32) {
            f.append(blocks[b], InstKind::Unreachable, Type::Void);
            continue;
        }
        let seen = visible(&values, b);
        let targets: Vec<ir::BlockCall> = succs[b]
            .iter()
            .map(|&s| {
                let params = f.blocks[blocks[s as usize]].params.clone();
                let mut target = ir::BlockCall::to(blocks[s as usize]);
                for (i, &param) in params.iter().enumerate() {
                    // The first parameter of a loop counts its iterations, so that conditions change.
                    let arg = if i == 0 && loops.is_back_edge(b as u32, s) {
                        let seven = f.int(Type::I32, 7);
                        add(&mut f, b, param, seven)
                    } else if rng.below(5) == 0 {
                        f.int(Type::I32, u64::from(rng.below(50)))
                    } else {
                        rng.pick(&seen)
                    };
                    target.args.push(arg);
                }
                target
            })
            .collect();
        let kind = match &targets[..] {
            [] if rng.below(8) == 0 && b + 1 != n => InstKind::Unreachable,
            [] => InstKind::Ret { value: None },
            [target] => InstKind::Jump { target: target.clone() },
            [yes, no, ..] => {
                let operand = rng.pick(&seen);
                operands[b] = Some(operand);
                let constant = f.int(Type::I32, u64::from(rng.below(1000)));
                let kind = InstKind::Icmp { predicate: IntPredicate::Ult, args: [operand, constant] };
                let cond = f.append(blocks[b], kind, Type::I1).unwrap();
                InstKind::Branch { cond, if_true: yes.clone(), if_false: no.clone() }
            }
        };
        let inst = f.make_inst(kind, Type::Void, InstFlags::empty());
        f.blocks[blocks[b]].insts.push(inst);
    }
    (f, operands)
}

const LANE_ID: i64 = 999_999;

/// The tiny selector.
struct Select<'a> {
    ir: &'a ir::Function,
    u: &'a Uniformity,
    f: Function,
    regs: HashMap<Value, VReg>,
    /// VGPR copies, in the defining block, of uniform values used after a divergent loop.
    copies: HashMap<Value, VReg>,
}

fn select(ir: &ir::Function, u: &Uniformity) -> Function {
    let mut s = Select {
        ir,
        u,
        f: Function::new("f", CallConv::Kernel, ir::Func::new(0)),
        regs: HashMap::new(),
        copies: HashMap::new(),
    };
    for _ in ir.blocks.keys() {
        s.f.add_block();
    }
    for (value, data) in &ir.values {
        if !matches!(data.def, ir::ValueDef::Const(_)) {
            let file = if u.is_divergent(value) { RegFile::Vgpr } else { RegFile::Sgpr };
            let reg = s.f.new_vreg(file, 1);
            s.regs.insert(value, reg);
        }
    }
    s.f.layout = u.order().blocks().iter().map(|&b| Block::from_u32(b)).collect();
    for b in s.f.layout.clone() {
        s.block(b);
    }
    s.f
}

impl Select<'_> {
    fn block(&mut self, b: Block) {
        let block = ir::Block::from_u32(b.as_u32());
        let log = self.f.new_vreg(RegFile::Vgpr, 1);
        self.push(b, Opcode::V_MOV_B32, [v(log), Operand::Imm(1000 + i64::from(b.as_u32()))]);
        let data = &self.ir.blocks[block];
        for &param in &data.params {
            let reg = self.regs[&param];
            if self.u.is_divergent(param) {
                self.f.blocks[b].vparams.push(reg);
            } else {
                self.f.blocks[b].sparams.push(reg);
                self.copy_out(b, param);
            }
        }
        for &inst in &data.insts {
            let result = self.ir.insts[inst].result;
            match &self.ir.insts[inst].kind {
                InstKind::Intrinsic { intrinsic: Intrinsic::WorkitemIdX, .. } => {
                    self.push(b, Opcode::V_MOV_B32, [v(self.regs[&result.unwrap()]), Operand::Imm(LANE_ID)]);
                }
                InstKind::Intrinsic { .. } => {
                    self.push(b, Opcode::S_MOV_B32, [v(self.regs[&result.unwrap()]), Operand::Imm(5)]);
                }
                InstKind::Binary { args: [x, y], .. } => {
                    let result = result.unwrap();
                    let divergent = self.u.is_divergent(result);
                    let [x, y] = [*x, *y].map(|a| self.operand(b, a, block, divergent));
                    let op = if divergent { Opcode::V_ADD_U32 } else { Opcode::S_ADD_U32 };
                    self.push(b, op, [v(self.regs[&result]), x, y]);
                    if !divergent {
                        self.copy_out(b, result);
                    }
                }
                InstKind::Icmp { .. } => {}
                InstKind::Ret { .. } => self.f.blocks[b].term = Terminator::EndProgram,
                InstKind::Unreachable => {}
                InstKind::Jump { target } => {
                    self.f.blocks[b].term = Terminator::Jump;
                    self.edge(b, target);
                }
                InstKind::Branch { cond, if_true, if_false } => {
                    let InstKind::Icmp { args: [x, k], .. } =
                        &self.ir.insts[self.ir.def_inst(*cond).unwrap()].kind
                    else {
                        unreachable!()
                    };
                    let k = Operand::Imm(self.ir.as_int(*k).unwrap() as i64);
                    let divergent = self.u.is_divergent_branch(block);
                    let x = self.operand(b, *x, block, divergent);
                    self.edge(b, if_true);
                    self.edge(b, if_false);
                    if divergent {
                        let mask = self.f.new_lane_mask();
                        self.push(b, Opcode::V_CMP_LT_U32, [Operand::vreg(mask, 2), k, x]);
                        self.f.blocks[b].term = Terminator::Divergent(mask);
                    } else {
                        self.push(b, Opcode::S_CMP_LT_U32, [x, k]);
                        self.f.blocks[b].term = Terminator::Uniform(Condition::Scc1);
                    }
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn push<const N: usize>(&mut self, b: Block, op: Opcode, operands: [Operand; N]) {
        self.f.blocks[b].push(Inst::new(op, operands));
    }

    /// A uniform value defined in a loop with divergent exit gets a VGPR copy where it is defined.
    fn copy_out(&mut self, b: Block, value: Value) {
        let mut l = self.u.loops().innermost(b.as_u32());
        while let Some(at) = l {
            if self.u.has_divergent_exit(at) {
                let copy = self.f.new_vreg(RegFile::Vgpr, 1);
                self.push(b, Opcode::V_MOV_B32, [v(copy), v(self.regs[&value])]);
                self.copies.insert(value, copy);
                return;
            }
            l = self.u.loops()[at].parent;
        }
    }

    fn operand(&mut self, b: Block, value: Value, at: ir::Block, divergent: bool) -> Operand {
        if let Some(n) = self.ir.as_int(value) {
            let n = Operand::Imm(n as i64);
            return if divergent { self.in_vgpr(b, n) } else { n };
        }
        if self.u.is_temporally_divergent(value, at) && !self.u.is_divergent(value) {
            assert!(divergent);
            return v(self.copies[&value]);
        }
        let reg = v(self.regs[&value]);
        if divergent && !self.u.is_divergent(value) { self.in_vgpr(b, reg) } else { reg }
    }

    fn in_vgpr(&mut self, b: Block, operand: Operand) -> Operand {
        let reg = self.f.new_vreg(RegFile::Vgpr, 1);
        // Constants go through an addition-free pseudo, since V_MOV_B32 of a constant logs.
        let op = if operand.as_imm().is_some() { Opcode::COPY } else { Opcode::V_MOV_B32 };
        self.push(b, op, [v(reg), operand]);
        v(reg)
    }

    fn edge(&mut self, b: Block, target: &ir::BlockCall) {
        let mut edge = Edge { block: Block::from_u32(target.block.as_u32()), args: Default::default() };
        let mut sargs = smallvec::SmallVec::new();
        for (&arg, &param) in target.args.iter().zip(&self.ir.blocks[target.block].params) {
            let divergent = self.u.is_divergent(param);
            let operand = self.operand(b, arg, target.block, divergent);
            if divergent {
                let Reg::Virtual(reg) = operand.as_reg().unwrap().reg else { unreachable!() };
                edge.args.push(reg);
            } else if let Some(reg) = operand.as_reg() {
                let Reg::Virtual(reg) = reg.reg else { unreachable!() };
                sargs.push(reg);
            } else {
                let reg = self.f.new_vreg(RegFile::Sgpr, 1);
                self.push(b, Opcode::S_MOV_B32, [v(reg), operand]);
                sargs.push(reg);
            }
        }
        self.f.blocks[b].thread_succs.push(edge);
        self.f.blocks[b].thread_sargs.push(sargs);
    }
}

fn v(reg: VReg) -> Operand {
    Operand::vreg(reg, 1)
}

fn hash(k: i64, x: u64) -> bool {
    let h = (x ^ (k as u64) << 32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (h ^ h >> 31).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40 & 1 != 0
}

const FUEL: usize = 400;

/// A lane's log; `None` where it does not end within the fuel or runs into `Unreachable`.
type Trace = Vec<u64>;

/// Runs one lane on the thread graph of selected code.
fn run_lane(f: &Function, lane: u64) -> Option<Trace> {
    let mut regs: HashMap<VReg, u64> = HashMap::new();
    let mut trace = Vec::new();
    let mut block = f.layout[0];
    for _ in 0..FUEL {
        let data = &f.blocks[block];
        let (mut scc, mut mask) = (false, false);
        for inst in &data.insts {
            let read = |i: usize| match inst.operands[i] {
                Operand::Imm(LANE_ID) => lane,
                Operand::Imm(n) => n as u64,
                Operand::Reg(r) => match r.reg {
                    Reg::Virtual(r) => regs[&r],
                    Reg::Physical(_) => unreachable!(),
                },
                _ => unreachable!(),
            };
            let value = match inst.op {
                Opcode::V_MOV_B32 | Opcode::S_MOV_B32 | Opcode::COPY => read(1),
                Opcode::V_ADD_U32 | Opcode::S_ADD_U32 => read(1).wrapping_add(read(2)) & 0xffff_ffff,
                Opcode::S_CMP_LT_U32 => {
                    scc = hash(read(1) as i64, read(0));
                    continue;
                }
                Opcode::V_CMP_LT_U32 => {
                    mask = hash(read(1) as i64, read(2));
                    continue;
                }
                other => panic!("{other:?}"),
            };
            if inst.op == Opcode::V_ADD_U32
                || inst.op == Opcode::V_MOV_B32 && inst.operands[1].as_imm().is_some_and(|n| n != LANE_ID)
            {
                trace.push(value);
            }
            let Operand::Reg(r) = inst.operands[0] else { unreachable!() };
            let Reg::Virtual(r) = r.reg else { unreachable!() };
            regs.insert(r, value);
        }
        let next = match data.term {
            Terminator::Jump => 0,
            Terminator::Uniform(_) => usize::from(!scc),
            Terminator::Divergent(_) => usize::from(!mask),
            Terminator::EndProgram => return Some(trace),
            _ => return None,
        };
        let edge = &data.thread_succs[next];
        let target = &f.blocks[edge.block];
        let args =
            edge.args.iter().zip(&target.vparams).chain(data.thread_sargs[next].iter().zip(&target.sparams));
        let copies: Vec<(VReg, u64)> = args.map(|(a, &p)| (p, regs[a])).collect();
        regs.extend(copies);
        block = edge.block;
    }
    None
}

/// Runs a wave of `lanes` lanes on the wave graph of structured code.
struct WaveRun<'a> {
    f: &'a Function,
    lanes: u32,
    exec: u64,
    scc: Option<bool>,
    /// `None`: undefined.
    sgprs: HashMap<VReg, Option<u64>>,
    vgprs: HashMap<(VReg, u32), u64>,
    traces: Vec<Trace>,
    thread_preds: Vec<u32>,
    garbage: Random,
    steps: usize,
}

impl WaveRun<'_> {
    fn run(f: &Function, lanes: u32) -> (Vec<Trace>, usize) {
        let mut thread_preds = vec![0; f.blocks.len()];
        for &b in &f.layout {
            f.blocks[b].thread_succs.iter().for_each(|e| thread_preds[e.block.index()] += 1);
        }
        let mut run = WaveRun {
            f,
            lanes,
            exec: u64::MAX >> (64 - lanes),
            scc: None,
            sgprs: HashMap::new(),
            vgprs: HashMap::new(),
            traces: vec![Vec::new(); lanes as usize],
            thread_preds,
            garbage: Random(17),
            steps: 0,
        };
        let mut block = f.layout[0];
        while let Some(next) = run.block(block) {
            block = next;
            run.steps += 1;
            assert!(run.steps < FUEL * 200, "the wave does not end:\n{f}");
        }
        (run.traces, run.steps)
    }

    fn active(&self) -> impl Iterator<Item = u32> + use<> {
        let exec = self.exec;
        (0..self.lanes).filter(move |l| exec >> l & 1 != 0)
    }

    fn block(&mut self, block: Block) -> Option<Block> {
        let f = self.f;
        let data = &f.blocks[block];
        self.scc = None;
        let (head, tail) = (data.head_len as usize, data.tail_start as usize);
        data.insts[..head].iter().for_each(|inst| self.inst(inst));
        if self.thread_preds[block.index()] == 1 {
            let pred = *f
                .layout
                .iter()
                .find(|&&p| f.blocks[p].thread_succs.iter().any(|e| e.block == block))
                .unwrap();
            let edge = f.blocks[pred].thread_succs.iter().find(|e| e.block == block).unwrap();
            if f.blocks[pred].thread_succs.len() > 1 {
                self.vgpr_moves(edge);
            }
        }
        if self.exec == 0 {
            let harmless = |i: &Inst| i.op.info().name.starts_with("v_") || i.op == Opcode::COPY;
            assert!(data.insts[head..tail].iter().all(harmless), "{block} runs without lanes:\n{f}");
        }
        data.insts[head..tail].iter().for_each(|inst| self.inst(inst));
        if let [edge] = &data.thread_succs[..] {
            self.vgpr_moves(edge);
        } else {
            for edge in &data.thread_succs {
                assert!(edge.args.is_empty() || self.thread_preds[edge.block.index()] == 1, "critical edge");
            }
        }
        data.insts[tail..].iter().for_each(|inst| self.inst(inst));
        let taken = match data.term {
            Terminator::Jump => 0,
            Terminator::Uniform(Condition::Scc1) => {
                usize::from(!self.scc.unwrap_or_else(|| panic!("undefined SCC in {block}:\n{f}")))
            }
            Terminator::Uniform(Condition::Execz) => usize::from(self.exec != 0),
            Terminator::Uniform(Condition::Execnz) => usize::from(self.exec == 0),
            Terminator::EndProgram | Terminator::Unreachable => return None,
            other => panic!("{other:?}"),
        };
        let edge = &data.wave_succs[taken];
        let target = &f.blocks[edge.block];
        assert_eq!(edge.args.len(), target.sparams.len());
        let copies: Vec<_> =
            edge.args.iter().zip(&target.sparams).map(|(a, &p)| (p, self.sgprs[a])).collect();
        self.sgprs.extend(copies);
        Some(edge.block)
    }

    fn vgpr_moves(&mut self, edge: &Edge) {
        let params = &self.f.blocks[edge.block].vparams;
        for lane in self.active() {
            let copies: Vec<_> =
                edge.args.iter().zip(params).map(|(a, &p)| ((p, lane), self.vgprs[&(*a, lane)])).collect();
            self.vgprs.extend(copies);
        }
    }

    fn scalar(&self, operand: &Operand) -> Option<u64> {
        match operand {
            Operand::Imm(n) => Some(*n as u64),
            Operand::Reg(r) => match r.reg {
                Reg::Virtual(r) => *self
                    .sgprs
                    .get(&r)
                    .unwrap_or_else(|| panic!("{r} read before it is written:\n{}", self.f)),
                Reg::Physical(PReg::EXEC_LO) => Some(self.exec),
                Reg::Physical(other) => panic!("{other}"),
            },
            other => panic!("{other:?}"),
        }
    }

    fn vector(&self, operand: &Operand, lane: u32) -> Option<u64> {
        match operand {
            Operand::Imm(LANE_ID) => Some(u64::from(lane)),
            Operand::Reg(r) => match r.reg {
                Reg::Virtual(r) if self.f.vregs[r].file == RegFile::Vgpr => Some(
                    *self
                        .vgprs
                        .get(&(r, lane))
                        .unwrap_or_else(|| panic!("{r} in lane {lane} is not written:\n{}", self.f)),
                ),
                _ => self.scalar(operand),
            },
            _ => self.scalar(operand),
        }
    }

    fn inst(&mut self, inst: &Inst) {
        let o = &inst.operands;
        let binary = |run: &Self, op: fn(u64, u64) -> u64| Some(op(run.scalar(&o[1])?, run.scalar(&o[2])?));
        match inst.op {
            Opcode::V_MOV_B32 | Opcode::V_ADD_U32 | Opcode::COPY => {
                for lane in self.active() {
                    let mut value = self.vector(&o[1], lane).expect("undefined value in an active lane");
                    if inst.op == Opcode::V_ADD_U32 {
                        let y = self.vector(&o[2], lane).expect("undefined value in an active lane");
                        value = value.wrapping_add(y) & 0xffff_ffff;
                    }
                    let constant = o[1].as_imm().is_some_and(|n| n != LANE_ID);
                    if inst.op == Opcode::V_ADD_U32 || inst.op == Opcode::V_MOV_B32 && constant {
                        self.traces[lane as usize].push(value);
                    }
                    let Operand::Reg(r) = o[0] else { unreachable!() };
                    let Reg::Virtual(r) = r.reg else { unreachable!() };
                    self.vgprs.insert((r, lane), value);
                }
            }
            Opcode::V_CMP_LT_U32 => {
                // Bits of inactive lanes are unspecified.
                let mut mask = u64::from(self.garbage.below(u32::MAX)) & !self.exec;
                for lane in self.active() {
                    let k = self.scalar(&o[1]).unwrap() as i64;
                    mask |= u64::from(hash(k, self.vector(&o[2], lane).unwrap())) << lane;
                }
                self.set(&o[0], Some(mask));
            }
            Opcode::S_CMP_LT_U32 => {
                let (x, k) = (self.scalar(&o[0]), self.scalar(&o[1]));
                self.scc = x.zip(k).map(|(x, k)| hash(k as i64, x));
            }
            Opcode::S_ADD_U32 => self.salu(&o[0], binary(self, |x, y| x.wrapping_add(y) & 0xffff_ffff)),
            Opcode::S_AND_B64 => self.salu(&o[0], binary(self, |x, y| x & y)),
            Opcode::S_ANDN2_B64 => self.salu(&o[0], binary(self, |x, y| x & !y)),
            Opcode::S_OR_B64 => self.salu(&o[0], binary(self, |x, y| x | y)),
            Opcode::S_AND_SAVEEXEC_B64 => {
                let (old, mask) = (self.exec, self.scalar(&o[1]));
                self.salu(&o[0], Some(old));
                self.exec = old & mask.expect("undefined branch mask");
            }
            Opcode::S_MOV_B32 | Opcode::S_MOV_B64 => {
                let value = self.scalar(&o[1]);
                self.set(&o[0], value);
            }
            Opcode::IMPLICIT_DEF => self.set(&o[0], None),
            other => panic!("{other:?}"),
        }
    }

    fn salu(&mut self, dst: &Operand, value: Option<u64>) {
        self.scc = None;
        self.set(dst, value);
    }

    fn set(&mut self, dst: &Operand, value: Option<u64>) {
        let Operand::Reg(r) = dst else { unreachable!() };
        match r.reg {
            Reg::Virtual(r) => {
                self.sgprs.insert(r, value);
            }
            Reg::Physical(PReg::EXEC_LO) => {
                self.exec = value.unwrap_or_else(|| panic!("EXEC becomes undefined:\n{}", self.f));
            }
            Reg::Physical(other) => panic!("{other}"),
        }
    }
}

/// Checks one seed; whether the function was worth it (all lanes end).
fn check(seed: u64) -> bool {
    let mut rng = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let succs = random_graph(&mut rng);
    let (ir, _) = random_ir(&mut rng, &succs);
    let target = Target::new(Target::processor_by_name("gfx900").unwrap());
    let uniformity = Uniformity::compute(&ir, &target);
    let selected = select(&ir, &uniformity);
    verify(&selected).unwrap_or_else(|d| panic!("seed {seed}: {d}\n{selected}"));
    let mut structured = selected.clone();
    linearise(&mut structured).unwrap_or_else(|d| panic!("seed {seed}: {d}"));
    verify(&structured).unwrap_or_else(|d| panic!("seed {seed}: {d}\n{selected}\n{structured}"));
    let lanes = [1, 8, 8, 13, 64][(seed % 5) as usize];
    let expected: Option<Vec<Trace>> = (0..u64::from(lanes)).map(|lane| run_lane(&selected, lane)).collect();
    let Some(expected) = expected else { return false };
    let (traces, _) = WaveRun::run(&structured, lanes);
    for (lane, (got, want)) in traces.iter().zip(&expected).enumerate() {
        assert_eq!(got, want, "seed {seed}, lane {lane}:\n{selected}\n{structured}");
    }
    true
}

/// A smoke test by default; `GCNC_FUZZ=n` tries n seeds.
#[test]
fn lanes_see_what_they_would_see_alone() {
    let seeds = std::env::var("GCNC_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(250);
    let run = (0..seeds).filter(|&seed| check(seed)).count();
    assert!(run as u64 > seeds / 5, "only {run} functions end");
}

/// `f` with a block for each list of targets; two targets are a divergent branch.
fn shape(succs: &[&[u32]]) -> Function {
    let mut f = Function::new("f", CallConv::Kernel, ir::Func::from_u32(0));
    for _ in succs {
        f.add_block();
    }
    for (b, targets) in succs.iter().enumerate() {
        let block = Block::from_u32(b as u32);
        let x = f.new_vreg(RegFile::Vgpr, 1);
        f.blocks[block].push(Inst::new(Opcode::V_MOV_B32, [v(x), Operand::Imm(1)]));
        // Long enough to be worth a branch around.
        f.blocks[block].push(Inst::new(Opcode::S_BARRIER, []));
        f.blocks[block].term = match targets.len() {
            0 => Terminator::EndProgram,
            1 => Terminator::Jump,
            _ => {
                let mask = f.new_lane_mask();
                f.blocks[block]
                    .push(Inst::new(Opcode::V_CMP_LT_U32, [Operand::vreg(mask, 2), Operand::Imm(0), v(x)]));
                Terminator::Divergent(mask)
            }
        };
        f.blocks[block].thread_succs =
            targets.iter().map(|&t| Edge { block: Block::from_u32(t), args: Default::default() }).collect();
    }
    linearise(&mut f).unwrap();
    verify(&f).unwrap();
    f
}

/// What structuring added: opcodes outside the bodies and branch conditions, block by block in layout order.
fn added(f: &Function) -> Vec<String> {
    let mut out = Vec::new();
    for &block in &f.layout {
        let data = &f.blocks[block];
        let body = data.head_len as usize..data.tail_start as usize;
        for (i, inst) in data.insts.iter().enumerate().filter(|(i, _)| !body.contains(i)) {
            let end = if i < data.head_len as usize { "head" } else { "tail" };
            out.push(format!("{block} {end} {}", inst.op.info().name));
        }
        if let Terminator::Uniform(condition) = data.term {
            out.push(format!("{block} {condition:?}"));
        }
    }
    out
}

#[test]
fn if_then() {
    let f = shape(&[&[1, 2], &[2], &[]]);
    assert_eq!(added(&f), ["mbb0 tail s_and_saveexec_b64", "mbb0 Execz", "mbb2 head s_mov_b64"]);
}

#[test]
fn if_then_else() {
    let f = shape(&[&[1, 2], &[3], &[3], &[]]);
    assert_eq!(
        added(&f),
        [
            "mbb0 tail s_and_saveexec_b64",
            "mbb0 Execz",
            "mbb4 head s_andn2_b64",
            "mbb4 Execz",
            "mbb3 head s_mov_b64"
        ]
    );
}

#[test]
fn loop_with_a_divergent_exit() {
    let f = shape(&[&[1], &[2, 1], &[]]);
    assert_eq!(
        added(&f),
        ["mbb0 tail s_mov_b64", "mbb1 tail s_andn2_b64", "mbb1 Execnz", "mbb2 head s_mov_b64"]
    );
}

#[test]
fn uniform_functions_stay_as_they_are() {
    let f = shape(&[&[1], &[2], &[]]);
    assert!(added(&f).is_empty());
}

#[test]
fn irreducible_divergence_is_refused() {
    let mut f = Function::new("f", CallConv::Kernel, ir::Func::from_u32(0));
    let blocks: Vec<Block> = (0..4).map(|_| f.add_block()).collect();
    for (b, targets) in [(0, [1, 2]), (1, [2, 3]), (2, [1, 3])] {
        let mask = f.new_lane_mask();
        f.blocks[blocks[b]].term = Terminator::Divergent(mask);
        f.blocks[blocks[b]].thread_succs =
            targets.iter().map(|&t| Edge { block: blocks[t], args: Default::default() }).collect();
    }
    f.blocks[blocks[3]].term = Terminator::EndProgram;
    let error = linearise(&mut f).unwrap_err();
    assert_eq!(error.kind, mir::ErrorKind::Unsupported);
    assert!(error.to_string().contains("irreducible control flow under divergent branch"));
}
