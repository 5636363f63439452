//! Random structured functions, allocated and checked.
//!
//! The generator writes what linearisation may leave: nested conditionals and loops, uniform and divergent,
//! SSA on both graphs. Divergent conditionals run one side after the other on the wave graph. `GCNC_FUZZ=n`
//! runs n functions instead of a few.

use crate::interpret::Case;
use crate::{Allocator, Options};
use fastrand::Rng;
use mir::isa::{MaskOp, Opcode};
use mir::machine::{
    Block, Condition, Edge, EntryValue, Function, Inst, Operand, PReg, RegFile, Terminator, VReg,
};
use mir::target::{Features, Target, WaveSize};
use rustc_hash::FxHashSet;

/// What the generator is to make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Instructions to make, about.
    pub size: usize,
    /// Values kept for later use, by file.
    pub vgprs: usize,
    pub sgprs: usize,
    /// Deepest nesting of control flow.
    pub depth: usize,
    /// Instructions between changes of control flow, about.
    pub straight: usize,
}

pub(crate) struct Generator {
    pub f: Function,
    random: Rng,
    shape: Shape,
    block: Block,
    depth: u8,
    /// Values in scope.
    live: [Vec<VReg>; 2],
    masks: Vec<VReg>,
    left: isize,
    /// Blocks whose lanes may go different ways.
    divergent: FxHashSet<Block>,
}

impl Generator {
    pub fn generate(seed: u64, shape: Shape) -> Function {
        Self::with_divergent(seed, shape).0
    }

    /// A function, and the blocks whose lanes may go different ways.
    pub fn with_divergent(seed: u64, shape: Shape) -> (Function, FxHashSet<Block>) {
        let mut f = Function::new("fuzz", mir::ir::CallConv::Kernel, mir::ir::Func::from_u32(0));
        f.max_flat_workgroup_size = 256;
        f.wave = wave_of(seed);
        let block = f.add_block();
        let mut g = Self {
            f,
            random: Rng::with_seed(seed),
            shape,
            block,
            depth: 0,
            live: [Vec::new(), Vec::new()],
            masks: Vec::new(),
            left: shape.size as isize,
            divergent: FxHashSet::default(),
        };
        g.entry();
        g.region(0);
        g.sink();
        g.emit(Opcode::S_NOP, vec![Operand::Imm(0)]);
        g.f.blocks[g.block].term = Terminator::EndProgram;
        (g.f, g.divergent)
    }

    fn mask(&self, reg: VReg) -> Operand {
        Operand::mask(reg, self.f.wave)
    }

    /// Sets EXEC at the start of the block.
    fn head(&mut self) {
        self.set_exec();
        let data = &mut self.f.blocks[self.block];
        data.head_len = data.insts.len() as u32;
    }

    /// Sets EXEC at the end of `block`.
    fn tail(&mut self, block: Block) {
        let here = std::mem::replace(&mut self.block, block);
        let start = self.f.blocks[block].insts.len() as u32;
        self.set_exec();
        self.f.blocks[block].tail_start = start;
        self.block = here;
    }

    fn set_exec(&mut self) {
        let mask = self.masks[self.random.usize(..self.masks.len())];
        let exec = Operand::exec(self.f.wave);
        self.emit(MaskOp::Or.opcode(self.f.wave), vec![exec, exec, self.mask(mask)]);
    }

    fn entry(&mut self) {
        let pair = self.f.new_vreg(RegFile::Sgpr, 2);
        let id = self.f.new_vreg(RegFile::Sgpr, 1);
        let x = self.f.new_vreg(RegFile::Vgpr, 1);
        let y = self.f.new_vreg(RegFile::Vgpr, 1);
        self.f.entry.request(EntryValue::KernargSegmentPtr, Some(pair));
        self.f.entry.request(EntryValue::WorkgroupIdX, Some(id));
        self.f.entry.request(EntryValue::WorkitemIdX, Some(x));
        self.f.entry.request(EntryValue::WorkitemIdY, Some(y));
        self.live[0].extend([pair, id]);
        self.live[1].extend([x, y]);
        let mask = self.f.new_lane_mask();
        self.emit(Opcode::V_CMP_LT_U32, vec![self.mask(mask), Operand::vreg(x, 1), Operand::vreg(y, 1)]);
        self.masks.push(mask);
    }

    fn emit(&mut self, op: Opcode, operands: Vec<Operand>) {
        self.left -= 1;
        self.f.blocks[self.block].push(Inst::new(op, operands));
    }

    fn add_block(&mut self) -> Block {
        let block = self.f.add_block();
        self.f.blocks[block].loop_depth = self.depth;
        block
    }

    fn keep(&mut self, v: VReg) {
        let file = usize::from(self.f.vregs[v].file == RegFile::Vgpr);
        let limit = [self.shape.sgprs, self.shape.vgprs][file];
        self.live[file].push(v);
        // The oldest are forgotten, some at random.
        let dwords = |g: &Self| g.live[file].iter().map(|&v| usize::from(g.f.vregs[v].dwords)).sum::<usize>();
        while dwords(self) > limit {
            let n = self.random.usize(..self.live[file].len());
            self.live[file].remove(n);
        }
    }

    fn keep_mask(&mut self, mask: VReg) {
        self.masks.push(mask);
        if self.masks.len() > 4 {
            let n = self.random.usize(..4);
            self.masks.remove(n);
        }
    }

    /// Some value of the file with `dwords` dwords, perhaps inside a wider one.
    fn value(&mut self, file: RegFile, dwords: u8) -> Operand {
        let list = &self.live[usize::from(file == RegFile::Vgpr)];
        for _ in 0..6 {
            let v = list[self.random.usize(..list.len())];
            let have = self.f.vregs[v].dwords;
            if have >= dwords {
                let mut sub = self.random.usize(..usize::from(have - dwords) + 1) as u8;
                // SGPR tuples inside tuples keep their alignment.
                sub -= sub % crate::webs::alignment(file, dwords);
                return Operand::sub(v, sub, dwords);
            }
        }
        let v = self.f.new_vreg(file, dwords);
        let mut operands = vec![Operand::vreg(v, dwords)];
        for _ in 0..dwords {
            operands.push(match list.is_empty() {
                true => Operand::Imm(7),
                false => {
                    let part = list[self.random.usize(..list.len())];
                    let sub = self.random.usize(..usize::from(self.f.vregs[part].dwords)) as u8;
                    Operand::sub(part, sub, 1)
                }
            });
        }
        self.emit(Opcode::REG_SEQUENCE, operands);
        self.keep(v);
        Operand::vreg(v, dwords)
    }

    fn define(&mut self, file: RegFile, dwords: u8, op: Opcode, rest: Vec<Operand>) {
        let v = self.f.new_vreg(file, dwords);
        let mut operands = vec![Operand::vreg(v, dwords)];
        operands.extend(rest);
        self.emit(op, operands);
        self.keep(v);
    }

    fn inst(&mut self) {
        use Opcode::*;
        use RegFile::{Sgpr, Vgpr};
        match self.random.usize(..25) {
            0 | 1 => {
                let (a, b) = (self.value(Vgpr, 1), self.value(Vgpr, 1));
                self.define(Vgpr, 1, V_ADD_F32, vec![a, b]);
            }
            2 | 3 => {
                // Two sources and the accumulator, tied.
                let (a, b, c) = (self.value(Vgpr, 1), self.value(Vgpr, 1), self.value(Vgpr, 1));
                self.define(Vgpr, 1, V_MAC_F32, vec![a, b, c]);
            }
            4 => {
                let (a, b) = (self.value(Vgpr, 2), self.value(Vgpr, 2));
                self.define(Vgpr, 2, V_ADD_F64, vec![a, b]);
            }
            5 => {
                let n = self.random.usize(..4);
                let op =
                    [GLOBAL_LOAD_DWORD, GLOBAL_LOAD_DWORDX2, GLOBAL_LOAD_DWORDX3, GLOBAL_LOAD_DWORDX4][n];
                let a = self.value(Vgpr, 2);
                self.define(Vgpr, n as u8 + 1, op, vec![a, Operand::Off]);
            }
            6 => {
                let n = self.random.usize(..4);
                let op =
                    [GLOBAL_STORE_DWORD, GLOBAL_STORE_DWORDX2, GLOBAL_STORE_DWORDX3, GLOBAL_STORE_DWORDX4][n];
                let (a, d) = (self.value(Vgpr, 2), self.value(Vgpr, n as u8 + 1));
                self.emit(op, vec![a, d, Operand::Off]);
            }
            7 => {
                let n = self.random.usize(..5);
                let op = [S_LOAD_DWORD, S_LOAD_DWORDX2, S_LOAD_DWORDX4, S_LOAD_DWORDX8, S_LOAD_DWORDX16][n];
                if 1 << n <= self.shape.sgprs / 3 {
                    let a = self.value(Sgpr, 2);
                    self.define(Sgpr, 1 << n, op, vec![a, Operand::Imm(16)]);
                }
            }
            8 | 9 => {
                let (a, b) = (self.value(Sgpr, 1), self.value(Sgpr, 1));
                self.define(Sgpr, 1, S_MUL_I32, vec![a, b]);
            }
            10 => {
                let (a, b) = (self.value(Sgpr, 2), self.value(Sgpr, 2));
                self.define(Sgpr, 2, S_AND_B64, vec![a, b]);
            }
            11 => {
                let (a, b) = (self.value(Vgpr, 1), self.value(Vgpr, 1));
                let mask = self.f.new_lane_mask();
                self.emit(V_CMP_LT_U32, vec![self.mask(mask), a, b]);
                self.keep_mask(mask);
            }
            12 | 13 => {
                let (a, b) = (self.value(Vgpr, 1), self.value(Vgpr, 1));
                let mask = self.masks[self.random.usize(..self.masks.len())];
                self.define(Vgpr, 1, V_CNDMASK_B32, vec![a, b, self.mask(mask)]);
            }
            14 => {
                let mask = self.masks[self.random.usize(..self.masks.len())];
                self.emit(COPY, vec![Operand::vcc(self.f.wave), self.mask(mask)]);
                let (a, b, c) = (self.value(Vgpr, 1), self.value(Vgpr, 1), self.value(Vgpr, 1));
                self.define(Vgpr, 1, V_DIV_FMAS_F32, vec![a, b, c]);
            }
            15 => {
                let (a, b) = (self.value(Vgpr, 1), self.value(Vgpr, 1));
                let (v, mask) = (self.f.new_vreg(Vgpr, 1), self.f.new_lane_mask());
                self.emit(V_ADD_CO_U32, vec![Operand::vreg(v, 1), self.mask(mask), a, b]);
                self.keep(v);
                self.keep_mask(mask);
            }
            16 => {
                let a = self.value(Vgpr, 1);
                self.define(Sgpr, 1, V_READFIRSTLANE_B32, vec![a]);
            }
            17 => {
                let a = self.value(Sgpr, 1);
                self.define(Vgpr, 1, COPY, vec![a]);
            }
            18 => {
                let n = [1, 2, 4][self.random.usize(..3)];
                let file = [Sgpr, Vgpr][self.random.usize(..2)];
                let a = self.value(file, n);
                self.define(file, n, COPY, vec![a]);
            }
            19 => {
                let file = [Sgpr, Vgpr][self.random.usize(..2)];
                let n = [2, 3, 4, 5, 8][self.random.usize(..5)];
                if usize::from(n) <= [self.shape.sgprs, self.shape.vgprs][usize::from(file == Vgpr)] / 3 {
                    let mut parts = Vec::new();
                    for _ in 0..n {
                        parts.push(match self.random.usize(..8) {
                            0 => Operand::Imm(3),
                            _ => self.value(file, 1),
                        });
                    }
                    self.define(file, n, REG_SEQUENCE, parts);
                }
            }
            20 => {
                let (a, b, c) = (self.value(Vgpr, 2), self.value(Vgpr, 1), self.value(Vgpr, 2));
                self.define(Vgpr, 2, V_QSAD_PK_U16_U8, vec![a, b, c]);
            }
            21 => self.define(Vgpr, 1, V_MOV_B32, vec![Operand::Imm(42)]),
            22 => {
                let file = [Sgpr, Vgpr][self.random.usize(..2)];
                self.define(file, 1, IMPLICIT_DEF, vec![]);
            }
            23 => {
                // No result: the first operand is read.
                let (a, b) = (self.value(Sgpr, 1), self.value(Sgpr, 1));
                self.emit(S_CMP_EQ_U32, vec![a, b]);
            }
            _ => {
                let a = self.value(Sgpr, 1);
                self.emit(COPY, vec![Operand::preg(PReg::M0, 1), a]);
                let (a, b) = (self.value(Vgpr, 1), self.value(Vgpr, 1));
                self.define(Vgpr, 1, V_ADD_F32, vec![a, b]);
            }
        }
    }

    fn straight(&mut self) {
        for _ in 0..1 + self.random.usize(..2 * self.shape.straight) {
            self.inst();
        }
    }

    fn region(&mut self, depth: usize) {
        self.straight();
        while self.left > 0 {
            if depth < self.shape.depth {
                match self.random.usize(..3) {
                    0 => self.conditional(depth, true),
                    1 => self.conditional(depth, false),
                    _ => self.repeat(depth),
                }
            }
            self.straight();
            if depth > 0 && self.random.usize(..3) == 0 {
                break;
            }
        }
    }

    /// A few values of each file to pass along an edge, with their widths.
    fn passed(&mut self, file: RegFile) -> Vec<VReg> {
        let n = usize::from(file == RegFile::Vgpr);
        (0..self.random.usize(..4)).map(|_| self.live[n][self.random.usize(..self.live[n].len())]).collect()
    }

    /// Values of the widths of `like`, for the same parameters on another edge.
    fn alike(&mut self, like: &[VReg]) -> Vec<VReg> {
        like.iter()
            .map(|&v| {
                let (file, dwords) = (self.f.vregs[v].file, self.f.vregs[v].dwords);
                let list = &self.live[usize::from(file == RegFile::Vgpr)];
                let fits: Vec<VReg> =
                    list.iter().copied().filter(|&x| self.f.vregs[x].dwords == dwords).collect();
                if fits.is_empty() || self.random.usize(..4) == 0 {
                    v
                } else {
                    fits[self.random.usize(..fits.len())]
                }
            })
            .collect()
    }

    fn parameters(&mut self, block: Block, like: &[VReg]) -> Vec<VReg> {
        let out: Vec<VReg> = like
            .iter()
            .map(|&v| {
                let data = self.f.vregs[v];
                self.f.new_vreg(data.file, data.dwords)
            })
            .collect();
        for &p in &out {
            match self.f.vregs[p].file {
                RegFile::Sgpr => self.f.blocks[block].sparams.push(p),
                RegFile::Vgpr => self.f.blocks[block].vparams.push(p),
            }
        }
        out
    }

    fn link(&mut self, from: Block, to: Block, vargs: &[VReg], sargs: &[VReg], on: (bool, bool)) {
        if on.0 {
            self.f.blocks[from].thread_succs.push(Edge { block: to, args: vargs.into() });
        }
        if on.1 {
            self.f.blocks[from].wave_succs.push(Edge { block: to, args: sargs.into() });
        }
    }

    fn branch(&mut self, block: Block) {
        self.f.blocks[block].term = if self.f.blocks[block].wave_succs.len() == 2 {
            Terminator::Uniform(Condition::Scc1)
        } else {
            Terminator::Jump
        };
    }

    fn conditional(&mut self, depth: usize, uniform: bool) {
        let (live, masks) = (self.live.clone(), self.masks.clone());
        let top = self.block;
        if !uniform {
            self.divergent.insert(top);
            self.tail(top);
        }
        let then = self.add_block();
        self.link(top, then, &[], &[], (true, true));
        self.block = then;
        if !uniform {
            self.head();
        }
        self.region(depth + 1);
        let then_end = self.block;
        if !uniform {
            self.tail(then_end);
        }
        let v_then = self.passed(RegFile::Vgpr);
        let s_then = if uniform { self.passed(RegFile::Sgpr) } else { Vec::new() };
        let then_live = std::mem::replace(&mut self.live, live.clone());
        self.masks = masks.clone();
        let other = self.add_block();
        // A divergent conditional runs this side after the other; sometimes the wave may skip the first.
        let skip = !uniform && self.random.usize(..2) == 0;
        self.link(top, other, &[], &[], (true, uniform || skip));
        if !uniform {
            self.link(then_end, other, &[], &[], (false, true));
        }
        self.block = other;
        if !uniform {
            self.head();
        }
        self.region(depth + 1);
        let other_end = self.block;
        // Values that do not exist here are replaced by ones that do.
        let pool = self.live.clone();
        self.live = live.clone();
        let pick = |g: &mut Self, like: &[VReg]| -> Vec<VReg> {
            like.iter()
                .map(|&v| {
                    let data = g.f.vregs[v];
                    let n = usize::from(data.file == RegFile::Vgpr);
                    match pool[n].iter().find(|&&x| g.f.vregs[x].dwords == data.dwords) {
                        Some(&x) => x,
                        None => {
                            let x = g.f.new_vreg(data.file, data.dwords);
                            g.emit(Opcode::IMPLICIT_DEF, vec![Operand::vreg(x, data.dwords)]);
                            x
                        }
                    }
                })
                .collect()
        };
        let (v_other, s_other) = (pick(self, &v_then), pick(self, &s_then));
        drop(then_live);
        if !uniform {
            self.tail(other_end);
        }
        let join = self.add_block();
        let vparams = self.parameters(join, &v_then);
        let sparams = self.parameters(join, &s_then);
        self.link(then_end, join, &v_then, &s_then, (true, uniform));
        self.link(other_end, join, &v_other, &s_other, (true, true));
        for block in [top, then_end, other_end] {
            self.branch(block);
        }
        self.live = live;
        self.masks = masks;
        self.block = join;
        if !uniform {
            self.head();
        }
        vparams.into_iter().chain(sparams).for_each(|v| self.keep(v));
    }

    fn repeat(&mut self, depth: usize) {
        let masks = self.masks.clone();
        let before = self.block;
        let (v_in, s_in) = (self.passed(RegFile::Vgpr), self.passed(RegFile::Sgpr));
        self.depth += 1;
        let header = self.add_block();
        let vparams = self.parameters(header, &v_in);
        let sparams = self.parameters(header, &s_in);
        self.link(before, header, &v_in, &s_in, (true, true));
        self.branch(before);
        self.block = header;
        let outer = self.live.clone();
        vparams.iter().chain(&sparams).for_each(|&v| self.keep(v));
        self.region(depth + 1);
        let end = self.block;
        let back = self.add_block();
        // The parameters themselves in other places make cycles of moves.
        let (v_back, s_back) = if self.random.usize(..2) == 0 {
            let swap = |g: &Self, list: &[VReg]| -> Vec<VReg> {
                let mut out = list.to_vec();
                for i in 1..out.len() {
                    if g.f.vregs[out[i]].dwords == g.f.vregs[out[i - 1]].dwords {
                        out.swap(i, i - 1);
                    }
                }
                out
            };
            (swap(self, &vparams), swap(self, &sparams))
        } else {
            (self.alike(&vparams), self.alike(&sparams))
        };
        self.link(end, back, &[], &[], (true, true));
        self.link(back, header, &v_back, &s_back, (true, true));
        self.branch(back);
        self.depth -= 1;
        let exit = self.add_block();
        // Values leave through parameters of the exit now and then.
        let (v_out, s_out) = (self.passed(RegFile::Vgpr), self.passed(RegFile::Sgpr));
        let v_exit = self.parameters(exit, &v_out);
        let s_exit = self.parameters(exit, &s_out);
        self.link(end, exit, &v_out, &s_out, (true, true));
        self.branch(end);
        self.masks = masks;
        self.block = exit;
        self.live = outer;
        v_exit.into_iter().chain(s_exit).for_each(|v| self.keep(v));
    }

    /// Reads everything once more.
    fn sink(&mut self) {
        for n in 0..2 {
            for v in self.live[n].clone() {
                let dwords = self.f.vregs[v].dwords;
                for d in 0..dwords {
                    let operand = Operand::sub(v, d, 1);
                    let file = if n == 0 { RegFile::Sgpr } else { RegFile::Vgpr };
                    let out = self.f.new_vreg(RegFile::Vgpr, 1);
                    let other = self.value(RegFile::Vgpr, 1);
                    let _ = file;
                    self.emit(Opcode::V_ADD_F32, vec![Operand::vreg(out, 1), operand, other]);
                }
            }
        }
    }
}

pub(crate) fn target(name: &str) -> Target {
    Target::new(Target::processor_by_name(name).expect("known processor"))
}

/// Every other function is for waves of 32 lanes.
fn wave_of(seed: u64) -> WaveSize {
    WaveSize::ALL[seed as usize % 2]
}

fn run(seed: u64, allocator: &mut Allocator) {
    let mut random = Rng::with_seed(seed);
    let shape = Shape {
        size: 20 + random.usize(..400),
        vgprs: [8, 24, 60, 120, 300][random.usize(..5)],
        sgprs: [8, 24, 40, 60, 150][random.usize(..5)],
        depth: random.usize(..4),
        straight: [2, 5, 20][random.usize(..3)],
    };
    let (before, divergent) = Generator::with_divergent(seed, shape);
    let mut target = target(["gfx900", "gfx803", "gfx600", "gfx902"][random.usize(..4)]);
    // No processor of these generations; allocation sees nothing else of it.
    target.features.set(Features::WAVEFRONTSIZE32, before.wave == WaveSize::W32);
    let max_vgprs = [None, Some(24), Some(64)][random.usize(..3)];
    let options = Options { verify: true, max_vgprs, ..Options::default() };
    let options = Options { regalloc2: random.usize(..2) == 0, quick: random.usize(..2) == 0, ..options };
    let after = match allocator.allocated(before.clone(), &target, &options) {
        Ok(after) => after,
        Err(error) => panic!("seed {seed}, {shape:?}, {target}: {error}"),
    };
    let case = Case { before: &before, after: &after, divergent: &divergent, target: &target };
    for path in 0..4 {
        if let Err(error) = case.run(path) {
            panic!("seed {seed}, path {path}, {shape:?}, {target}: {error}");
        }
    }
}

#[test]
fn random_functions_are_allocated_right() {
    let count = std::env::var("GCNC_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    let start = std::env::var("GCNC_FUZZ_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut allocator = Allocator::default();
    for seed in start..start + count {
        run(seed, &mut allocator);
    }
}

/// Registers used for straight code whose pressure is known, and time on large functions (`GCNC_BENCH=name`
/// prints it for that shape, empty for all).
#[test]
fn large_functions_cost_linear_time() {
    let bench = std::env::var("GCNC_BENCH").is_ok();
    let scale = if bench { 100 } else { 1 };
    let shapes = [
        ("block", Shape { size: 1000 * scale, vgprs: 60, sgprs: 30, depth: 0, straight: 1000 * scale }),
        (
            "high pressure",
            Shape { size: 1000 * scale, vgprs: 200, sgprs: 60, depth: 0, straight: 1000 * scale },
        ),
        ("many blocks", Shape { size: 1000 * scale, vgprs: 40, sgprs: 30, depth: 4, straight: 2 }),
        ("spilling", Shape { size: 1000 * scale, vgprs: 290, sgprs: 60, depth: 3, straight: 20 }),
    ];
    let mut allocator = Allocator::default();
    let only = std::env::var("GCNC_BENCH").unwrap_or_default();
    for (name, shape) in shapes.into_iter().filter(|s| !bench || s.0.starts_with(&only)) {
        let f = Generator::generate(7, shape);
        let insts: usize = f.layout.iter().map(|&b| f.blocks[b].insts.len()).sum();
        let (blocks, copies) = (f.layout.len(), copies(&f));
        let options = Options { regalloc2: std::env::var("GCNC_UNITS").is_ok(), ..Options::default() };
        let run = |allocator: &mut Allocator| {
            let f = f.clone();
            let start = cpu_time();
            let done = allocator.allocated(f, &target("gfx900"), &options).expect("allocation");
            (cpu_time() - start, done)
        };
        let (mut time, done) = run(&mut allocator);
        for _ in 0..if bench { 4 } else { 0 } {
            time = time.min(run(&mut allocator).0);
        }
        let moves = moves(&done);
        if bench {
            println!(
                "{name}: {insts} instructions, {blocks} blocks: {:.2} us each, {copies} dwords to move became {moves} moves, {:?}",
                time * 1e6 / insts as f64,
                done.resources,
            );
        }
        assert!(moves < copies, "{name}: {moves} moves for {copies} dwords");
    }
}

/// Seconds that this thread has run, or 0 where the system does not tell.
fn cpu_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split_whitespace().next().and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// Dwords that copies, arguments and tied operands pass.
fn copies(f: &Function) -> usize {
    let dwords = |v: &VReg| usize::from(f.vregs[*v].dwords);
    let mut n = 0;
    for &block in &f.layout {
        let data = &f.blocks[block];
        n +=
            data.wave_succs.iter().chain(&data.thread_succs).flat_map(|e| &e.args).map(dwords).sum::<usize>();
        for inst in &data.insts {
            let first = if inst.op.is_copy() { 1 } else { inst.kept_operands() };
            n += inst
                .operands
                .iter()
                .skip(first)
                .filter_map(|o| o.as_reg())
                .map(|r| usize::from(r.dwords))
                .sum::<usize>();
        }
    }
    n
}

fn moves(f: &Function) -> usize {
    let is_move =
        |op| matches!(op, Opcode::S_MOV_B32 | Opcode::S_MOV_B64 | Opcode::V_MOV_B32 | Opcode::V_SWAP_B32);
    f.layout
        .iter()
        .flat_map(|&b| &f.blocks[b].insts)
        .filter(|i| is_move(i.op) && i.operands[1].as_reg().is_some())
        .count()
}
