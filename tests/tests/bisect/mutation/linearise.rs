//! Mutations of linear code: wrong wave edges, wrong masks, wrong EXEC.

use super::Kind;
use super::places::*;
use super::select;
use mir::isa::Opcode;
use mir::machine::{
    Block, BlockData, Condition, Function, Inst, Operand, Reg, RegFile, Terminator, VReg, writes_exec,
};

/// All kinds.
pub const KINDS: &[Kind] = &[
    kind("wave edge", "the wave always goes to the same successor", wave_edge),
    kind("branch on EXEC inverted", "blocks are entered when nobody is there", |f, pick| {
        invert(f, pick, true)
    }),
    kind("branch on SCC inverted", "the wave goes the other way", |f, pick| invert(f, pick, false)),
    kind("block never skipped", "a block is run without lanes", |f, pick| decide(f, pick, 1)),
    kind("block always skipped", "a block's lanes are forgotten", |f, pick| decide(f, pick, 0)),
    kind("gate closed", "lanes that wait never run", close_gate),
    kind("EXEC not narrowed", "lanes that went the other way run as well", drop_narrowing),
    kind("AND for ANDN2", "the other lanes run, or wait", exchange_ands),
    kind("OR forgets the old lanes", "lanes that wait already are lost", |f, pick| forget(f, pick, false)),
    kind("OR forgets the new lanes", "lanes that come to wait are lost", |f, pick| forget(f, pick, true)),
    kind("EXEC from another mask", "other lanes are restored", restore_other),
    kind("EXEC not restored", "lanes stay away", drop_restore),
    kind("EXEC saved too late", "the lanes of one side are saved", save_late),
    kind("mask without EXEC", "bits of other lanes count", select::drop_ballot_and),
    kind("mask not reset", "lanes of before wait still", keep_stale),
    kind("SGPR argument", "a wave edge passes another value", scalar_argument),
    kind("SGPR argument of another edge", "values of two ways are exchanged", argument_of_other_edge),
    kind("VGPR argument", "a thread edge passes another value", select::vector_argument),
    kind("thread edges swapped", "VGPR arguments of one side go to the other", swap_arguments),
    kind("instruction ahead of EXEC", "a block's first instruction runs with others' lanes", ahead_of_exec),
];

const fn kind(name: &'static str, breaks: &'static str, mutate: super::Mutate) -> Kind {
    Kind { name, step: "linearise", breaks, mutate }
}

fn tests_exec(data: &BlockData) -> bool {
    matches!(data.term, Terminator::Uniform(Condition::Execz | Condition::Execnz))
}

/// A branch always takes successor `way`. The graph stays as it is: the tail ends with a comparison whose
/// outcome is known.
fn force(f: &mut Function, block: Block, way: usize) {
    let data = &mut f.blocks[block];
    data.insts.push(Inst::new(Opcode::S_CMP_EQ_U32, [Operand::Imm(0), Operand::Imm(0)]));
    data.term = Terminator::Uniform(if way == 0 { Condition::Scc1 } else { Condition::Scc0 });
}

pub fn wave_edge(f: &mut Function, pick: &mut Pick) {
    let branches = blocks(f, |b| matches!(b.term, Terminator::Uniform(_)));
    let places = branches.into_iter().flat_map(|b| [(b, 0), (b, 1)]).collect();
    let Some((block, way)) = pick.among(places) else { return };
    force(f, block, way);
}

fn invert(f: &mut Function, pick: &mut Pick, exec: bool) {
    let branches = blocks(f, |b| matches!(b.term, Terminator::Uniform(_)) && tests_exec(b) == exec);
    let Some(block) = pick.among(branches) else { return };
    if let Terminator::Uniform(condition) = &mut f.blocks[block].term {
        *condition = condition.inverse();
    }
}

/// A branch where EXEC is 0 always takes successor `way`.
fn decide(f: &mut Function, pick: &mut Pick, way: usize) {
    let skips = blocks(f, |b| b.term == Terminator::Uniform(Condition::Execz));
    let Some(block) = pick.among(skips) else { return };
    force(f, block, way);
}

/// A block that makes waiting lanes run, if there are any, finds none.
fn close_gate(f: &mut Function, pick: &mut Pick) {
    let is_gate = |data: &BlockData| {
        data.head_len > 0
            && data.head_len == data.tail_start
            && data.term == Terminator::Uniform(Condition::Execz)
    };
    let Some(block) = pick.among(blocks(f, is_gate)) else { return };
    let none = Inst::new(Opcode::S_MOV_B64, [exec(), Operand::Imm(0)]);
    f.blocks[block].insts[0] = none;
}

/// EXEC stays as it is where lanes part.
pub fn drop_narrowing(f: &mut Function, pick: &mut Pick) {
    let fits = |inst: &Inst| match inst.op {
        Opcode::S_AND_SAVEEXEC_B64 => true,
        Opcode::S_ANDN2_B64 | Opcode::S_AND_B64 => is_exec(&inst.operands[0]),
        _ => false,
    };
    let Some(site) = pick.among(sites(f, fits)) else { return };
    let inst = at(f, site);
    *inst = Inst::new(Opcode::S_MOV_B64, [inst.operands[0], exec()]);
}

fn exchange_ands(f: &mut Function, pick: &mut Pick) {
    let places = sites_in(f, |block, k| {
        let body = (block.head_len..block.tail_start).contains(&(k as u32));
        !body && matches!(block.insts[k].op, Opcode::S_AND_B64 | Opcode::S_ANDN2_B64)
    });
    let Some(site) = pick.among(places) else { return };
    let inst = at(f, site);
    inst.op = if inst.op == Opcode::S_AND_B64 { Opcode::S_ANDN2_B64 } else { Opcode::S_AND_B64 };
}

/// One side of an OR of masks is left out: the lanes that came (EXEC, or what was just made from it), or
/// those that were there.
fn forget(f: &mut Function, pick: &mut Pick, new: bool) {
    let places =
        sites_in(f, |block, k| k as u32 >= block.tail_start && block.insts[k].op == Opcode::S_OR_B64);
    let Some((block, k)) = pick.among(places) else { return };
    let insts = &mut f.blocks[block].insts;
    let [a, b] = [insts[k].operands[1], insts[k].operands[2]];
    let made_here = |o: &Operand| {
        is_exec(o)
            || insts[..k].iter().any(|inst| inst.op != Opcode::S_OR_B64 && inst.operands.first() == Some(o))
    };
    let (newer, older) = if made_here(&a) { (a, b) } else { (b, a) };
    insts[k] = Inst::new(Opcode::S_MOV_B64, [insts[k].operands[0], if new { older } else { newer }]);
}

fn restores(inst: &Inst) -> bool {
    inst.op == Opcode::S_MOV_B64 && is_exec(&inst.operands[0])
}

fn restore_other(f: &mut Function, pick: &mut Pick) {
    let places = operands(f, |inst, n| restores(inst) && n == 1);
    let Some((site, n, other)) = pick.among(replaceable(f, places)) else { return };
    at(f, site).operands[n] = other;
}

pub fn drop_restore(f: &mut Function, pick: &mut Pick) {
    let Some(site) = pick.among(sites(f, restores)) else { return };
    remove(f, site);
}

/// A mask is saved from EXEC behind the instruction that narrows it.
fn save_late(f: &mut Function, pick: &mut Pick) {
    let saves = |inst: &Inst| {
        inst.op == Opcode::S_AND_SAVEEXEC_B64
            || inst.op == Opcode::S_MOV_B64 && is_exec(&inst.operands[1]) && !is_exec(&inst.operands[0])
    };
    let places = sites_in(f, |block, k| {
        let inst = &block.insts[k];
        saves(inst) && (inst.op == Opcode::S_AND_SAVEEXEC_B64 || block.insts[k + 1..].iter().any(writes_exec))
    });
    let Some((block, k)) = pick.among(places) else { return };
    let inst = f.blocks[block].insts[k].clone();
    if inst.op == Opcode::S_AND_SAVEEXEC_B64 {
        f.blocks[block].insts[k] = Inst::new(Opcode::S_AND_B64, [exec(), exec(), inst.operands[1]]);
        let save = Inst::new(Opcode::S_MOV_B64, [inst.operands[0], exec()]);
        f.blocks[block].insts.insert(k + 1, save);
    } else {
        f.blocks[block].insts.remove(k);
        f.blocks[block].insts.push(inst);
    }
}

/// A mask that should be 0 is that of the lanes that are here.
fn keep_stale(f: &mut Function, pick: &mut Pick) {
    let places = sites_in(f, |block, k| {
        let inst = &block.insts[k];
        k as u32 >= block.tail_start && inst.op == Opcode::S_MOV_B64 && inst.operands[1] == Operand::Imm(0)
    });
    let Some(site) = pick.among(places) else { return };
    at(f, site).operands[1] = exec();
}

fn scalar_argument(f: &mut Function, pick: &mut Pick) {
    let values = Values::new(f);
    let mut places = Vec::new();
    for &block in &f.layout {
        for (e, edge) in f.blocks[block].wave_succs.iter().enumerate() {
            for (n, &arg) in edge.args.iter().enumerate() {
                let other = values.another(f, arg, (block, usize::MAX));
                places.extend(other.map(|other| (block, e, n, other)));
            }
        }
    }
    let Some((block, e, n, other)) = pick.among(places) else { return };
    f.blocks[block].wave_succs[e].args[n] = other;
}

/// What another edge to the same block passes, where it is known here.
fn argument_of_other_edge(f: &mut Function, pick: &mut Pick) {
    let values = Values::new(f);
    let edges: Vec<(Block, usize)> =
        f.layout.iter().flat_map(|&b| (0..f.blocks[b].wave_succs.len()).map(move |e| (b, e))).collect();
    let mut places: Vec<(Block, usize, usize, VReg)> = Vec::new();
    for &(block, e) in &edges {
        let edge = &f.blocks[block].wave_succs[e];
        for (n, &arg) in edge.args.iter().enumerate() {
            let others = edges.iter().map(|&(b, e)| &f.blocks[b].wave_succs[e]);
            let others = others.filter(|other| other.block == edge.block).map(|other| other.args[n]);
            places.extend(
                others
                    .filter(|&v| v != arg && values.reaches(f, v, (block, usize::MAX)))
                    .map(|v| (block, e, n, v)),
            );
        }
    }
    let Some((block, e, n, other)) = pick.among(places) else { return };
    f.blocks[block].wave_succs[e].args[n] = other;
}

/// VGPR arguments of two parameters are exchanged.
fn swap_arguments(f: &mut Function, pick: &mut Pick) {
    let mut places = Vec::new();
    for &block in &f.layout {
        for (e, edge) in f.blocks[block].thread_succs.iter().enumerate() {
            for n in 1..edge.args.len() {
                let [a, b] = [edge.args[n - 1], edge.args[n]];
                if a != b && f.vregs[a].dwords == f.vregs[b].dwords {
                    places.push((block, e, n));
                }
            }
        }
    }
    let Some((block, e, n)) = pick.among(places) else { return };
    f.blocks[block].thread_succs[e].args.swap(n - 1, n);
}

/// A block's first instruction, of VGPRs, is put in front of what sets EXEC.
fn ahead_of_exec(f: &mut Function, pick: &mut Pick) {
    let vector = |f: &Function, inst: &Inst| {
        inst.mem.is_none()
            && inst.regs().any(|(_, r)| match r.reg {
                Reg::Virtual(v) => f.vregs[v].file == RegFile::Vgpr,
                Reg::Physical(reg) => reg.is_vgpr(),
            })
    };
    let fits = |b: &BlockData| {
        let first = b.head_len as usize;
        first > 0 && b.head_len < b.tail_start && vector(f, &b.insts[first])
    };
    let Some(block) = pick.among(blocks(f, fits)) else { return };
    let data = &mut f.blocks[block];
    let inst = data.insts.remove(data.head_len as usize);
    data.insts.insert(0, inst);
    data.head_len += 1;
}
