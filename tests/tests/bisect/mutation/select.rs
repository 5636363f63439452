//! Mutations of selected code: what selection and uniformity could do wrong.

use super::Kind;
use super::places::*;
use mir::ir::MemFlags;
use mir::isa::{Format, OpFlags, Opcode};
use mir::machine::{
    Block, Condition, Function, Inst, Operand, PReg, Reg, RegFile, Terminator, VReg, VRegFlags,
};

/// All kinds.
pub const KINDS: &[Kind] = &[
    kind("divergent branch swapped", "lanes go the other way", swap_divergent),
    kind("uniform branch swapped", "the wave goes the other way", swap_uniform),
    kind("branch of the wave for one of lanes", "a divergent branch counted as uniform", make_uniform),
    kind("VGPR argument", "an edge passes another value", vector_argument),
    kind("SGPR argument", "an edge passes another scalar", scalar_argument),
    kind("SGPR parameter at a join", "a divergent parameter counted as uniform", scalar_parameter),
    kind("lane's value read as scalar", "a divergent value counted as uniform", read_as_scalar),
    kind("copy behind the loop", "temporal divergence forgotten", copy_behind_loop),
    kind("ballot without EXEC", "bits of other lanes are counted", drop_ballot_and),
    kind("condition", "another lane mask is read", other_mask),
    kind("constant", "another constant", constant),
    kind("relation", "another relation of a comparison", relation),
    kind("operands swapped", "an operation that does not commute", swap_operands),
    kind("arms of a select swapped", "the other value is chosen", swap_arms),
    kind("dword of a tuple", "the wrong part of a register", other_dword),
    kind("element order", "a tuple put together in another order", swap_elements),
    kind("sign extension", "zeros for signs and the other way round", sign_extension),
    kind("sign modifier", "neg or abs is dropped", drop_modifier),
    kind("first lane", "a lane by number instead of the first one", fixed_lane),
    kind("store ahead of a load", "memory is written too early", store_ahead),
    kind("load answered by another", "memory is not read again", load_answered),
    kind("volatile store left out", "an access is missing", drop_volatile),
    kind("barrier left out", "waves do not wait", drop_barrier),
    kind("atomic operation", "another read-modify-write operation", atomic),
    kind("symbol", "the address of another function", symbol),
];

const fn kind(name: &'static str, breaks: &'static str, mutate: super::Mutate) -> Kind {
    Kind { name, step: "select", breaks, mutate }
}

pub fn swap_divergent(f: &mut Function, pick: &mut Pick) {
    let divergent = blocks(f, |b| matches!(b.term, Terminator::Divergent(_)));
    let Some(block) = pick.among(divergent) else { return };
    swap_successors(f, block);
}

fn swap_uniform(f: &mut Function, pick: &mut Pick) {
    let uniform = blocks(f, |b| matches!(b.term, Terminator::Uniform(_)));
    let Some(block) = pick.among(uniform) else { return };
    swap_successors(f, block);
}

fn swap_successors(f: &mut Function, block: Block) {
    let data = &mut f.blocks[block];
    data.thread_succs.swap(0, 1);
    // A list that was never filled stands for no arguments.
    data.thread_sargs.resize(2, Default::default());
    data.thread_sargs.swap(0, 1);
}

fn make_uniform(f: &mut Function, pick: &mut Pick) {
    let divergent = blocks(f, |b| matches!(b.term, Terminator::Divergent(_)));
    let Some(block) = pick.among(divergent) else { return };
    let Terminator::Divergent(mask) = f.blocks[block].term else { return };
    let any = f.new_lane_mask();
    let test = Inst::new(Opcode::S_AND_B64, [Operand::vreg(any, 2), exec(), Operand::vreg(mask, 2)]);
    f.blocks[block].push(test);
    f.blocks[block].term = Terminator::Uniform(Condition::Scc1);
}

/// The VGPR arguments that could be other values: block, edge, argument, value.
pub fn vector_arguments(f: &Function) -> Vec<(Block, usize, usize, VReg)> {
    let values = Values::new(f);
    let mut places = Vec::new();
    for &block in &f.layout {
        for (e, edge) in f.blocks[block].thread_succs.iter().enumerate() {
            for (n, &arg) in edge.args.iter().enumerate() {
                let other = values.another(f, arg, (block, usize::MAX));
                places.extend(other.map(|other| (block, e, n, other)));
            }
        }
    }
    places
}

pub fn vector_argument(f: &mut Function, pick: &mut Pick) {
    let Some((block, e, n, other)) = pick.among(vector_arguments(f)) else { return };
    f.blocks[block].thread_succs[e].args[n] = other;
}

fn scalar_argument(f: &mut Function, pick: &mut Pick) {
    let values = Values::new(f);
    let mut places = Vec::new();
    for &block in &f.layout {
        for (e, args) in f.blocks[block].thread_sargs.iter().enumerate() {
            for (n, &arg) in args.iter().enumerate() {
                let other = values.another(f, arg, (block, usize::MAX));
                places.extend(other.map(|other| (block, e, n, other)));
            }
        }
    }
    let Some((block, e, n, other)) = pick.among(places) else { return };
    f.blocks[block].thread_sargs[e][n] = other;
}

/// The first lane's argument travels in an SGPR, and all lanes get it.
fn scalar_parameter(f: &mut Function, pick: &mut Pick) {
    let params = f.layout.iter().flat_map(|&b| {
        let data = &f.blocks[b];
        data.vparams
            .iter()
            .enumerate()
            .filter(|(_, v)| f.vregs[**v].dwords == 1)
            .map(move |(n, v)| (b, n, *v))
    });
    let Some((block, n, param)) = pick.among(params.collect()) else { return };
    let scalar = f.new_vreg(RegFile::Sgpr, 1);
    f.blocks[block].vparams.remove(n);
    f.blocks[block].sparams.push(scalar);
    for pred in f.layout.clone() {
        for e in 0..f.blocks[pred].thread_succs.len() {
            if f.blocks[pred].thread_succs[e].block != block {
                continue;
            }
            let arg = f.blocks[pred].thread_succs[e].args.remove(n);
            let read = f.new_vreg(RegFile::Sgpr, 1);
            // SCC, which the branch may read, stays as it is.
            let inst =
                Inst::new(Opcode::V_READFIRSTLANE_B32, [Operand::vreg(read, 1), Operand::vreg(arg, 1)]);
            f.blocks[pred].push(inst);
            let data = &mut f.blocks[pred];
            data.thread_sargs.resize(data.thread_succs.len(), Default::default());
            data.thread_sargs[e].push(read);
        }
    }
    let back = Inst::new(Opcode::V_MOV_B32, [Operand::vreg(param, 1), Operand::vreg(scalar, 1)]);
    insert(f, (block, 0), back);
}

fn is_arithmetic(inst: &Inst) -> bool {
    use Format::*;
    matches!(inst.op.info().format, Sop1 | Sop2 | Sopc | Vop1 | Vop2 | Vopc | Vop3)
}

fn read_as_scalar(f: &mut Function, pick: &mut Pick) {
    let vector = |o: &Operand| whole(f, o).is_some_and(|v| f.vregs[v].file == RegFile::Vgpr);
    let fits = |inst: &Inst, n: usize| {
        let lanes = matches!(inst.op, Opcode::V_READFIRSTLANE_B32 | Opcode::V_READLANE_B32);
        is_arithmetic(inst)
            && !lanes
            && n >= first_source(inst)
            && vector(&inst.operands[n])
            && inst.operands[n].as_reg().is_some_and(|r| r.dwords == 1)
    };
    let Some((site, n)) = pick.among(operands(f, fits)) else { return };
    let old = at(f, site).operands[n];
    let (scalar, copy) = (f.new_vreg(RegFile::Sgpr, 1), f.new_vreg(RegFile::Vgpr, 1));
    at(f, site).operands[n] = Operand::vreg(copy, 1);
    insert(f, site, Inst::new(Opcode::V_MOV_B32, [Operand::vreg(copy, 1), Operand::vreg(scalar, 1)]));
    insert(f, site, Inst::new(Opcode::V_READFIRSTLANE_B32, [Operand::vreg(scalar, 1), old]));
}

/// The copies to VGPRs that are read only in one block outside of the loop.
fn copy_behind_loop(f: &mut Function, pick: &mut Pick) {
    let mut places = Vec::new();
    for (block, k) in sites(f, |inst| matches!(inst.op, Opcode::V_MOV_B32 | Opcode::V_CNDMASK_B32)) {
        let inst = &f.blocks[block].insts[k];
        let Some(copy) = whole(f, &inst.operands[0]) else { continue };
        let scalars = inst.regs().skip(1).all(|(_, r)| match r.reg {
            Reg::Virtual(v) => f.vregs[v].file == RegFile::Sgpr,
            Reg::Physical(_) => false,
        });
        let reads = |inst: &Inst| inst.regs().any(|(def, r)| !def && r.reg == Reg::Virtual(copy));
        let users =
            blocks(f, |b| b.insts.iter().any(reads) || b.thread_succs.iter().any(|e| e.args.contains(&copy)));
        if let (true, &[user]) = (scalars && inst.regs().count() > 1, users.as_slice())
            && f.blocks[user].loop_depth < f.blocks[block].loop_depth
        {
            places.push(((block, k), user));
        }
    }
    let Some((site, user)) = pick.among(places) else { return };
    let inst = remove(f, site);
    insert(f, (user, 0), inst);
}

/// `mask & EXEC` becomes `mask | mask`, which also leaves SCC.
pub fn drop_ballot_and(f: &mut Function, pick: &mut Pick) {
    let fits = |inst: &Inst| {
        inst.op == Opcode::S_AND_B64 && !is_exec(&inst.operands[0]) && inst.operands[1..].iter().any(is_exec)
    };
    let Some(site) = pick.among(sites(f, fits)) else { return };
    let inst = at(f, site);
    let mask = inst.operands[if is_exec(&inst.operands[1]) { 2 } else { 1 }];
    *inst = Inst::new(Opcode::S_OR_B64, [inst.operands[0], mask, mask]);
}

fn other_mask(f: &mut Function, pick: &mut Pick) {
    let mask = |o: &Operand| whole(f, o).is_some_and(|v| f.vregs[v].flags.contains(VRegFlags::LANE_MASK));
    let places = operands(f, |inst, n| n >= first_source(inst) && mask(&inst.operands[n]));
    let Some((site, n, other)) = pick.among(replaceable(f, places)) else { return };
    at(f, site).operands[n] = other;
}

pub fn constant(f: &mut Function, pick: &mut Pick) {
    let fits = |inst: &Inst, n: usize| is_arithmetic(inst) && inst.operands[n].as_imm().is_some();
    let Some((site, n)) = pick.among(operands(f, fits)) else { return };
    if let Operand::Imm(value) = &mut at(f, site).operands[n] {
        *value = other_constant(*value);
    }
}

/// Replaces an opcode by one whose name differs as `pairs` say.
fn rename(f: &mut Function, pick: &mut Pick, pairs: &[(&str, &str)], fits: fn(&Inst) -> bool) {
    let places = sites(f, |inst| fits(inst) && renamed_by(inst.op, pairs).is_some());
    let Some(site) = pick.among(places) else { return };
    let inst = at(f, site);
    inst.op = renamed_by(inst.op, pairs).unwrap_or(inst.op);
}

fn relation(f: &mut Function, pick: &mut Pick) {
    let pairs = [
        ("CMP_LT_", "CMP_LE_"),
        ("CMP_LE_", "CMP_LT_"),
        ("CMP_GT_", "CMP_GE_"),
        ("CMP_GE_", "CMP_GT_"),
        ("CMP_NE_", "CMP_EQ_"),
        ("CMP_LG_", "CMP_EQ_"),
        ("CMP_NEQ_", "CMP_EQ_"),
        ("CMP_EQ_", "CMP_NE_"),
        ("CMP_EQ_", "CMP_LG_"),
        ("BITCMP1", "BITCMP0"),
    ];
    rename(f, pick, &pairs, is_arithmetic);
}

fn sign_extension(f: &mut Function, pick: &mut Pick) {
    let pairs = [
        ("_ASHR", "_LSHR"),
        ("_LSHR", "_ASHR"),
        ("_BFE_I32", "_BFE_U32"),
        ("_LOAD_SBYTE", "_LOAD_UBYTE"),
        ("_LOAD_UBYTE", "_LOAD_SBYTE"),
        ("_LOAD_SSHORT", "_LOAD_USHORT"),
        ("_CVT_F32_I32", "_CVT_F32_U32"),
        ("_CVT_F32_U32", "_CVT_F32_I32"),
    ];
    rename(f, pick, &pairs, |_| true);
}

pub fn atomic(f: &mut Function, pick: &mut Pick) {
    let pairs = [("_ADD", "_SUB"), ("_SUB", "_ADD"), ("_MAX", "_MIN"), ("_UMAX", "_UMIN"), ("_XOR", "_OR")];
    rename(f, pick, &pairs, |inst| inst.op.info().flags.contains(OpFlags::ATOMIC));
}

/// The first two sources of operations for which their order matters.
pub fn unordered(inst: &Inst) -> bool {
    let name = format!("{:?}", inst.op);
    let ordered = ["SUB", "LSHL_", "LSHLREV_B32", "LSHR_", "LSHRREV_B32", "ASHR_", "ASHRREV_I32"];
    let n = first_source(inst);
    let both = inst.operands.get(n..n + 2);
    is_arithmetic(inst)
        && inst.mods == Default::default()
        && ordered.iter().any(|part| name.contains(part))
        && both.is_some_and(|both| {
            let single = |o: &Operand| o.as_reg().is_none_or(|r| r.dwords == 1);
            both[0] != both[1] && both.iter().all(single) && both.iter().any(|o| o.as_reg().is_some())
        })
}

fn swap_operands(f: &mut Function, pick: &mut Pick) {
    let Some(site) = pick.among(sites(f, unordered)) else { return };
    let inst = at(f, site);
    let n = first_source(inst);
    inst.operands.swap(n, n + 1);
}

fn swap_arms(f: &mut Function, pick: &mut Pick) {
    let select = |inst: &Inst| {
        let selects = [Opcode::V_CNDMASK_B32, Opcode::S_CSELECT_B32, Opcode::S_CSELECT_B64];
        selects.contains(&inst.op) && inst.mods == Default::default()
    };
    let Some(site) = pick.among(sites(f, select)) else { return };
    at(f, site).operands.swap(1, 2);
}

fn other_dword(f: &mut Function, pick: &mut Pick) {
    let fits = |inst: &Inst, n: usize| {
        let Some(reg) = inst.operands[n].as_reg() else { return false };
        let Reg::Virtual(v) = reg.reg else { return false };
        let other = (reg.sub ^ reg.dwords) + reg.dwords;
        n >= first_source(inst) && reg.dwords <= 2 && other <= f.vregs[v].dwords
    };
    let Some((site, n)) = pick.among(operands(f, fits)) else { return };
    if let Operand::Reg(reg) = &mut at(f, site).operands[n] {
        reg.sub ^= reg.dwords;
    }
}

fn swap_elements(f: &mut Function, pick: &mut Pick) {
    let dwords = |o: &Operand| o.as_reg().map_or(1, |r| r.dwords);
    let fits = |inst: &Inst| {
        let n = inst.operands.len();
        inst.op == Opcode::REG_SEQUENCE
            && n > 2
            && inst.operands[1] != inst.operands[n - 1]
            && dwords(&inst.operands[1]) == dwords(&inst.operands[n - 1])
    };
    let Some(site) = pick.among(sites(f, fits)) else { return };
    let inst = at(f, site);
    let last = inst.operands.len() - 1;
    inst.operands.swap(1, last);
}

fn drop_modifier(f: &mut Function, pick: &mut Pick) {
    let Some(site) = pick.among(sites(f, |inst| inst.mods.neg != 0 || inst.mods.abs != 0)) else { return };
    let inst = at(f, site);
    (inst.mods.neg, inst.mods.abs) = (0, 0);
}

fn fixed_lane(f: &mut Function, pick: &mut Pick) {
    let Some(site) = pick.among(sites(f, |inst| inst.op == Opcode::V_READFIRSTLANE_B32)) else { return };
    let inst = at(f, site);
    *inst = Inst::new(Opcode::V_READLANE_B32, [inst.operands[0], inst.operands[1], Operand::Imm(63)]);
}

fn accesses(inst: &Inst, flag: OpFlags) -> bool {
    inst.mem.is_some() && inst.op.info().flags.contains(flag)
}

/// A store is moved in front of the last load before it, where its operands are there already.
fn store_ahead(f: &mut Function, pick: &mut Pick) {
    let values = Values::new(f);
    let mut places = Vec::new();
    for (block, k) in sites(f, |inst| accesses(inst, OpFlags::STORE)) {
        let insts = &f.blocks[block].insts;
        let space = |inst: &Inst| inst.mem.map(|mem| mem.access.space);
        let load = insts[..k]
            .iter()
            .rposition(|inst| accesses(inst, OpFlags::LOAD) && space(inst) == space(&insts[k]));
        let Some(load) = load else { continue };
        let ready = insts[k].regs().all(|(_, r)| match r.reg {
            Reg::Virtual(v) => values.reaches(f, v, (block, load)),
            Reg::Physical(reg) => reg != PReg::M0,
        });
        places.extend(ready.then_some((block, load, k)));
    }
    let Some((block, load, store)) = pick.among(places) else { return };
    let inst = remove(f, (block, store));
    insert(f, (block, load), inst);
}

/// A load gives what an earlier one of the same place gave.
fn load_answered(f: &mut Function, pick: &mut Pick) {
    let mut places = Vec::new();
    for (block, k) in sites(f, |inst| accesses(inst, OpFlags::LOAD)) {
        let insts = &f.blocks[block].insts;
        let same = |inst: &Inst| {
            inst.op == insts[k].op
                && inst.operands[1..] == insts[k].operands[1..]
                && inst.mods.offset == insts[k].mods.offset
        };
        places.extend(insts[..k].iter().position(same).map(|earlier| (block, earlier, k)));
    }
    let Some((block, earlier, k)) = pick.among(places) else { return };
    let source = f.blocks[block].insts[earlier].operands[0];
    let inst = at(f, (block, k));
    *inst = Inst::new(Opcode::COPY, [inst.operands[0], source]);
}

fn drop_volatile(f: &mut Function, pick: &mut Pick) {
    let volatile = |inst: &Inst| {
        accesses(inst, OpFlags::STORE)
            && inst.mem.is_some_and(|mem| mem.access.flags.contains(MemFlags::VOLATILE))
    };
    let Some(site) = pick.among(sites(f, volatile)) else { return };
    remove(f, site);
}

fn drop_barrier(f: &mut Function, pick: &mut Pick) {
    let Some(site) = pick.among(sites(f, |inst| inst.op == Opcode::S_BARRIER)) else { return };
    remove(f, site);
}

/// Addresses of two functions are exchanged.
fn symbol(f: &mut Function, pick: &mut Pick) {
    let fits = |inst: &Inst| inst.op == Opcode::PC_ADDRESS;
    let places: Vec<_> = sites(f, fits).into_iter().filter(|_| f.symbols.len() > 1).collect();
    let Some(site) = pick.among(places) else { return };
    let all: Vec<_> = f.symbols.keys().collect();
    for operand in &mut at(f, site).operands {
        if let Operand::Symbol { symbol, .. } = operand {
            let n = all.iter().position(|s| s == symbol).unwrap_or(0);
            *symbol = all[(n + 1) % all.len()];
        }
    }
}
