//! Runs a function before and after allocation side by side on one wave of numbers.
//!
//! This is the judge of allocation and of the [`crate::checker`] in tests, and shares no idea with either: it
//! knows no live ranges, no names of values, no trace of what became of what, and it starts from the code
//! before spilling. Each lane follows the thread graph, the wave the wave graph, and which way they go is
//! decided by a number.
//!
//! * Moves, exchanges, lanes read and written, scratch: done for what they are, on both sides, and not
//!   compared.
//! * Everything else is *real*: both sides must execute the same real instructions in the same order with the
//!   same constants and modifiers, and in every active lane read the same values. Results are numbers mixed
//!   from what was read.
//!
//! What the old code leaves undefined may be anything; what an instruction makes of it is what the new code
//! makes of it.

use crate::access::{preg, registers, vreg_of};
use crate::graph::{edges, params};
use mir::isa::{Implicit, Opcode, OperandAccess, Role};
use mir::machine::{
    Block, FrameAccess, Function, Inst, Operand, PReg, Reg, RegFile, RegOperand, Terminator, VReg,
};
use mir::target::Target;
use rustc_hash::{FxHashMap, FxHashSet};

const LANES: usize = 64;
/// Lanes that exist; the others are never active.
const ALIVE: [usize; 5] = [0, 1, 30, 62, 63];
/// Blocks after which loops are left.
const PATIENCE: usize = 300;

/// A dword of every lane; a scalar has the same in all. `None` is undefined.
type Dword = [Option<u32>; LANES];

fn mix(h: u64, x: u64) -> u64 {
    let h = (h ^ x).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    h ^ (h >> 29)
}

/// The registers and the scratch of one side.
struct Machine {
    scalar: Vec<Dword>,
    vector: Vec<Dword>,
    virt: Vec<Vec<Dword>>,
    scratch: FxHashMap<u32, Dword>,
}

impl Machine {
    fn new(f: &Function, defined: bool) -> Self {
        let content = |n: u64| -> Dword {
            std::array::from_fn(|lane| defined.then(|| mix(mix(77, n), lane as u64) as u32))
        };
        Self {
            scalar: (0..256).map(|n| [content(n)[0]; LANES]).collect(),
            vector: (0..256).map(|n| content(n + 1000)).collect(),
            virt: f.vregs.values().map(|v| vec![[None; LANES]; usize::from(v.dwords)]).collect(),
            scratch: FxHashMap::default(),
        }
    }

    fn physical(&mut self, reg: PReg) -> Option<&mut Dword> {
        match reg.vgpr_index() {
            Some(n) => self.vector.get_mut(usize::from(n)),
            None => self.scalar.get_mut(usize::from(reg.0)),
        }
    }

    fn at(&mut self, operand: &RegOperand, d: u8) -> Option<&mut Dword> {
        match operand.reg {
            Reg::Virtual(v) => self.virt.get_mut(v.as_u32() as usize)?.get_mut(usize::from(operand.sub + d)),
            Reg::Physical(reg) => self.physical(reg.plus(u16::from(d))),
        }
    }

    /// All dwords of a source of `dwords` dwords.
    fn source(&mut self, operand: &Operand, dwords: u8) -> Result<Vec<Dword>, String> {
        match operand {
            Operand::Reg(reg) => (0..reg.dwords)
                .map(|d| self.at(reg, d).copied().ok_or_else(|| format!("no register {reg:?}")))
                .collect(),
            Operand::Imm(c) => Ok((0..u32::from(dwords))
                .map(|d| [Some(if d < 2 { c >> (32 * d) } else { c >> 63 } as u32); LANES])
                .collect()),
            _ => Ok(vec![[None; LANES]; usize::from(dwords)]),
        }
    }

    /// Writes `values` from dword `from` of `dst` on: in active lanes, or all of a scalar.
    fn write(&mut self, f: &Function, dst: &RegOperand, from: u8, values: &[Dword], active: &[usize]) {
        let vector = is_vector(f, dst);
        for (d, value) in values.iter().enumerate() {
            let Some(slot) = self.at(dst, from + d as u8) else { continue };
            if vector {
                active.iter().for_each(|&lane| slot[lane] = value[lane]);
            } else {
                *slot = *value;
            }
        }
    }
}

fn is_vector(f: &Function, operand: &RegOperand) -> bool {
    match operand.reg {
        Reg::Virtual(v) => f.vregs[v].file == RegFile::Vgpr,
        Reg::Physical(reg) => reg.is_vgpr(),
    }
}

/// What is compared.
pub(crate) struct Case<'a> {
    pub before: &'a Function,
    pub after: &'a Function,
    /// Blocks whose lanes may go different ways.
    pub divergent: &'a FxHashSet<Block>,
    pub target: &'a Target,
}

struct Run<'a> {
    case: &'a Case<'a>,
    old: Machine,
    new: Machine,
    /// Lanes in the block.
    active: Vec<usize>,
}

impl Case<'_> {
    /// Runs along the paths that `seed` stands for; tells the first difference.
    pub fn run(&self, seed: u64) -> Result<(), String> {
        let mut run = Run {
            case: self,
            old: Machine::new(self.before, false),
            new: Machine::new(self.after, true),
            active: ALIVE.to_vec(),
        };
        run.entry();
        let Some(&entry) = self.before.layout.first() else { return Ok(()) };
        let mut goal = [Some(entry); LANES];
        let mut block = entry;
        for step in 0.. {
            run.active = ALIVE.into_iter().filter(|&lane| goal[lane] == Some(block)).collect();
            run.block(block).map_err(|e| format!("{block}, step {step}: {e}"))?;
            let data = &self.before.blocks[block];
            if data.term == Terminator::EndProgram {
                assert_eq!(run.active.len(), ALIVE.len(), "some lanes never arrived at the end");
                break;
            }
            let chance = mix(mix(seed, u64::from(block.as_u32())), step as u64);
            let ways = data.thread_succs.len();
            let divergent = ways > 1 && self.divergent.contains(&block);
            let uniform = if step > PATIENCE { ways - 1 } else { (chance >> 20) as usize % ways };
            let mut first_empty = true;
            let mut chosen = vec![Vec::new(); ways];
            for &lane in &run.active {
                let way = match divergent {
                    true => (mix(chance, lane as u64) >> 40) as usize % (ways + 1) % ways,
                    false => uniform,
                };
                // Sometimes all lanes agree.
                let way = if divergent && chance >> 50 & 3 == 0 { uniform } else { way };
                first_empty &= way != 0;
                goal[lane] = Some(data.thread_succs[way].block);
                chosen[way].push(lane);
            }
            for (edge, lanes) in data.thread_succs.iter().zip(&chosen) {
                run.pass(params(&self.before.blocks[edge.block], RegFile::Vgpr), &edge.args, lanes);
            }
            let way = match data.wave_succs.len() {
                1 => 0,
                _ if divergent => usize::from(first_empty && chance >> 60 & 1 == 0),
                _ => uniform,
            };
            let edge = &edges(data, RegFile::Sgpr)[way];
            run.pass(params(&self.before.blocks[edge.block], RegFile::Sgpr), &edge.args, &[]);
            block = edge.block;
        }
        Ok(())
    }
}

impl Run<'_> {
    fn entry(&mut self) {
        for (value, _, reg) in self.case.before.entry.registers() {
            let Some(v) = reg else { continue };
            for d in 0..value.dwords() {
                let content = entry_value(value, d);
                self.old.virt[v.as_u32() as usize][usize::from(d)] = content;
            }
        }
        for (value, first, _) in self.case.after.entry.registers() {
            for d in 0..value.dwords() {
                if let Some(slot) = self.new.physical(first.plus(u16::from(d))) {
                    *slot = entry_value(value, d);
                }
            }
        }
    }

    /// Passes arguments, all at once.
    fn pass(&mut self, params: &[VReg], args: &[VReg], lanes: &[usize]) {
        let values: Vec<Vec<Dword>> =
            args.iter().map(|a| self.old.virt[a.as_u32() as usize].clone()).collect();
        for (&p, value) in params.iter().zip(&values) {
            let dwords = self.case.before.vregs[p].dwords;
            let whole = RegOperand { reg: p.into(), sub: 0, dwords };
            self.old.write(self.case.before, &whole, 0, value, lanes);
        }
    }

    fn block(&mut self, block: Block) -> Result<(), String> {
        let (before, after) = (self.case.before, self.case.after);
        let (old, new) = (&before.blocks[block], &after.blocks[block]);
        // EXEC is what it is at the entry until the first head sets it.
        let first = if before.layout.first() == Some(&block) { 0 } else { new.head_len };
        let mut new_insts = new.insts.iter().enumerate();
        for inst in old.insts.iter().map(Some).chain([None]) {
            if let Some(inst) = inst
                && moved(&mut self.old, before, inst, &self.active)?
            {
                continue;
            }
            let real = loop {
                let Some((j, inst)) = new_insts.next() else { break None };
                let body = (first..new.tail_start).contains(&(j as u32));
                if !moved(&mut self.new, after, inst, &self.active)? {
                    break Some(inst);
                }
                let vector = registers(inst).any(|(k, r)| k < 2 && is_vector(after, r));
                let lane = matches!(inst.op, Opcode::V_READLANE_B32 | Opcode::V_WRITELANE_B32);
                if vector && !lane && !body {
                    return Err(format!("{} moves lanes outside the body", inst.op.info().name));
                }
            };
            match (inst, real) {
                (None, None) => break,
                (Some(inst), Some(real)) => self.real(inst, real)?,
                (inst, real) => return Err(format!("{inst:?} became {real:?}")),
            }
        }
        Ok(())
    }

    /// Executes a real instruction on both sides.
    fn real(&mut self, old: &Inst, new: &Inst) -> Result<(), String> {
        let info = old.op.info();
        let fail = |what: String| Err(format!("{}: {what}", info.name));
        if (old.op, old.mods) != (new.op, new.mods) {
            return fail(format!("became {} {:?}", new.op.info().name, new.mods));
        }
        for k in 0..old.kept_operands() {
            let (a, b) = (old.operands.get(k), new.operands.get(k));
            if a.and_then(Operand::as_reg).is_none() && a != b {
                return fail(format!("operand {k} was {a:?} and is {b:?}"));
            }
        }
        let mut reads: Vec<(Dword, Dword, bool)> = Vec::new();
        let mut sources: FxHashSet<PReg> = FxHashSet::default();
        for (k, operand) in old.operands.iter().enumerate() {
            let position = match old.operand_access(k) {
                OperandAccess::Def => continue,
                OperandAccess::Use => k,
                OperandAccess::Tied { def } => def,
            };
            let Some(Operand::Reg(to)) = new.operands.get(position).copied() else { continue };
            let was = self.old.source(operand, to.dwords)?;
            for (d, was) in was.into_iter().enumerate() {
                let Some(&mut is) = self.new.at(&to, d as u8) else { return fail("no register".into()) };
                if let (Reg::Physical(reg), true) = (to.reg, position == k) {
                    sources.insert(reg.plus(d as u16));
                }
                reads.push((was, is, is_vector(self.case.after, &to)));
            }
        }
        let vcc = [PReg::VCC_LO, PReg::VCC_HI];
        if old.facts().implicit.contains(Implicit::VCC_USE) {
            for reg in vcc.into_iter().take(self.case.before.wave.mask_dwords().into()) {
                if let (Some(was), Some(is)) = (self.old.physical(reg), self.new.physical(reg)) {
                    reads.push((*was, *is, false));
                }
            }
        }
        // What each lane has seen; the scalar part counts even without lanes.
        let mut seen = [mix(5, old.op as u64); LANES];
        let mut all = mix(9, old.op as u64);
        for (n, (was, is, vector)) in reads.iter().enumerate() {
            for &lane in if *vector { self.active.as_slice() } else { &[0] } {
                if was[lane].is_some() && was[lane] != is[lane] {
                    return fail(format!("source {n} of lane {lane} should be {was:x?}", was = was[lane]));
                }
                all = mix(all, u64::from(is[lane].unwrap_or(0)));
            }
            for &lane in &self.active {
                seen[lane] = mix(seen[lane], u64::from(is[lane].unwrap_or(0)));
            }
        }
        let result = |k: usize, d: u8, vector: bool| -> Dword {
            let place = k as u64 * 64 + u64::from(d);
            std::array::from_fn(|lane| Some(mix(if vector { seen[lane] } else { all }, place) as u32))
        };
        for (k, operand) in registers(old) {
            if old.operand_access(k) != OperandAccess::Def {
                continue;
            }
            let Some(Operand::Reg(to)) = new.operands.get(k).copied() else {
                return fail(format!("operand {k} is no register"));
            };
            let vector = is_vector(self.case.before, operand);
            if let Reg::Physical(first) = to.reg {
                let mut regs = (0..u16::from(to.dwords)).map(|d| first.plus(d));
                let tied = info.operands.get(k).is_some_and(|desc| desc.role == Role::DefUse);
                if old.clobbers_early(self.case.target) && regs.any(|r| sources.contains(&r)) && !tied {
                    return fail("overwrites a source".into());
                }
                let align = crate::webs::alignment(RegFile::Sgpr, to.dwords);
                if !vector && !first.0.is_multiple_of(u16::from(align)) {
                    return fail(format!("{} dwords from {first} on", to.dwords));
                }
            }
            let values: Vec<Dword> = (0..to.dwords).map(|d| result(k, d, vector)).collect();
            self.old.write(self.case.before, operand, 0, &values, &self.active);
            self.new.write(self.case.after, &to, 0, &values, &self.active);
        }
        if old.facts().implicit.contains(Implicit::VCC_DEF) {
            for (d, reg) in vcc.into_iter().enumerate() {
                let operand = RegOperand { reg: reg.into(), sub: 0, dwords: 1 };
                let values = [result(63, d as u8, false)];
                self.old.write(self.case.before, &operand, 0, &values, &[]);
                self.new.write(self.case.after, &operand, 0, &values, &[]);
            }
        }
        Ok(())
    }
}

fn entry_value(value: mir::machine::EntryValue, d: u8) -> Dword {
    let number = std::hash::BuildHasher::hash_one(&rustc_hash::FxBuildHasher, value);
    let h = mix(mix(3, number), u64::from(d));
    let vector = value.file() == RegFile::Vgpr;
    std::array::from_fn(|lane| Some(mix(h, if vector { lane as u64 } else { 0 }) as u32))
}

/// Executes an instruction that only moves values; false if it is real.
fn moved(m: &mut Machine, f: &Function, inst: &Inst, active: &[usize]) -> Result<bool, String> {
    let reg = |k: usize| match inst.operands.get(k) {
        Some(Operand::Reg(reg)) => Ok(*reg),
        other => Err(format!("{} of {other:?}", inst.op.info().name)),
    };
    let value = |m: &mut Machine, k: usize, dwords: u8| match inst.operands.get(k) {
        Some(operand) => m.source(operand, dwords),
        None => Err("an operand is missing".to_string()),
    };
    match inst.op {
        Opcode::IMPLICIT_DEF => {
            let dst = reg(0)?;
            let values = vec![[None; LANES]; usize::from(dst.dwords)];
            m.write(f, &dst, 0, &values, active);
        }
        op if op.is_copy() => {
            let dst = reg(0)?;
            let mut values = Vec::new();
            for k in 1..inst.operands.len() {
                let dwords = if op == Opcode::COPY { dst.dwords } else { 1 };
                let mut part = value(m, k, dwords)?;
                let vector = inst.operands[k].as_reg().is_some_and(|r| is_vector(f, r));
                if vector && !is_vector(f, &dst) {
                    part.iter_mut().for_each(|d| *d = first_lane(d, active));
                }
                values.extend(part);
            }
            m.write(f, &dst, 0, &values, active);
        }
        Opcode::V_MOV_B32 | Opcode::S_MOV_B32 | Opcode::S_MOV_B64 => {
            let dst = reg(0)?;
            let values = value(m, 1, dst.dwords)?;
            m.write(f, &dst, 0, &values, active);
        }
        Opcode::V_READFIRSTLANE_B32 => {
            let dst = reg(0)?;
            let values: Vec<Dword> = value(m, 1, 1)?.iter().map(|d| first_lane(d, active)).collect();
            m.write(f, &dst, 0, &values, active);
        }
        Opcode::V_SWAP_B32 => {
            let (a, b) = (reg(0)?, reg(1)?);
            let (in_a, in_b) = (value(m, 0, 1)?, value(m, 1, 1)?);
            m.write(f, &a, 0, &in_b, active);
            m.write(f, &b, 0, &in_a, active);
        }
        Opcode::V_XOR_B32 => {
            let (a, b) = (value(m, 1, 1)?, value(m, 2, 1)?);
            let both = std::array::from_fn(|lane| a[0][lane].zip(b[0][lane]).map(|(a, b)| a ^ b));
            m.write(f, &reg(0)?, 0, &[both], active);
        }
        Opcode::V_READLANE_B32 => {
            let lane = inst.operands[2].as_imm().ok_or("lane")? as usize;
            let from = value(m, 1, 1)?[0][lane];
            m.write(f, &reg(0)?, 0, &[[from; LANES]], active);
        }
        Opcode::V_WRITELANE_B32 => {
            let lane = inst.operands[2].as_imm().ok_or("lane")? as usize;
            let from = value(m, 1, 1)?[0][0];
            if let Some(slot) = m.at(&reg(0)?, 0) {
                slot[lane] = from;
            }
        }
        _ if let Some(access) = frame_access(inst) => {
            if access.resource.is_some() && reg(2)?.reg != Reg::Physical(preg(RegFile::Sgpr, 0)) {
                return Err("scratch is not at s[0:3]".to_string());
            }
            let base =
                value(m, access.base, 1)?[0][0].ok_or("undefined offset of a slot")? / f.bytes_in_base();
            let slot = m.scratch.entry(base + inst.mods.offset as u32).or_insert([Some(0xdead); LANES]);
            if !access.store {
                let values = [*slot];
                m.write(f, &reg(0)?, 0, &values, active);
            } else {
                let mut slot = *slot;
                let from = value(m, access.data, 1)?[0];
                active.iter().for_each(|&lane| slot[lane] = from[lane]);
                m.scratch.insert(base + inst.mods.offset as u32, slot);
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// An access of a slot: other buffer accesses have their resource in a virtual register.
fn frame_access(inst: &Inst) -> Option<FrameAccess> {
    let access = inst.frame_access()?;
    let program = |k: usize| inst.operands[k].as_reg().is_some_and(|reg| vreg_of(reg).is_some());
    (!access.resource.is_some_and(program)).then_some(access)
}

/// What `v_readfirstlane` reads; without lanes nothing that is known.
fn first_lane(d: &Dword, active: &[usize]) -> Dword {
    let value = match active.first() {
        Some(&lane) => d[lane],
        None => d[0].filter(|_| false),
    };
    [value; LANES]
}
