//! Mutations of allocated code: wrong registers, moves, reloads and slots.

use super::Kind;
use super::places::*;
use super::{linearise, select};
use mir::abi::call::is_callee_saved;
use mir::isa::{Format, OpFlags, Opcode, Role};
use mir::machine::{BlockData, Condition, Function, Inst, Operand, PReg, Reg, Terminator, writes_exec};

/// All kinds.
pub const KINDS: &[Kind] = &[
    kind("vector move left out", "a value does not arrive", |f, pick| drop(f, pick, is_vector_move)),
    kind("scalar move left out", "a value of the wave does not arrive", |f, pick| {
        drop(f, pick, is_scalar_move)
    }),
    kind("moves in another order", "a register is written before it is read", reorder_moves),
    kind("move behind the change of EXEC", "lanes of the next block move instead", move_into_tail),
    kind("move ahead of the change of EXEC", "lanes of the block before move instead", move_into_head),
    kind("source in the next register", "another value is read", |f, pick| next_register(f, pick, false)),
    kind("result in the next register", "another value is overwritten", |f, pick| {
        next_register(f, pick, true)
    }),
    kind("sources exchanged", "two registers take each other's place", exchange_sources),
    kind("results exchanged", "neighbouring instructions write each other's register", exchange_results),
    kind("lane of a reload", "another spilled SGPR is read", |f, pick| {
        other_lane(f, pick, Opcode::V_READLANE_B32)
    }),
    kind("lane of a spill", "another spilled SGPR is lost", |f, pick| {
        other_lane(f, pick, Opcode::V_WRITELANE_B32)
    }),
    kind("slot of a reload", "another spilled VGPR is read", |f, pick| other_slot(f, pick, OpFlags::LOAD)),
    kind("slot of a spill", "another spilled VGPR is lost", |f, pick| other_slot(f, pick, OpFlags::STORE)),
    kind("reload left out", "a register holds what was there before", |f, pick| {
        drop(f, pick, |inst| inst.op == Opcode::V_READLANE_B32 || is_slot_access(inst, OpFlags::LOAD));
    }),
    kind("spill left out", "a slot holds what was there before", |f, pick| {
        drop(f, pick, |inst| inst.op == Opcode::V_WRITELANE_B32 || is_slot_access(inst, OpFlags::STORE));
    }),
    kind("spilled SGPRs overwritten", "the VGPR that holds them is used for something else", overwrite_lanes),
    kind("value across a call", "a register that callees may change", across_call),
    kind("SCC overwritten", "an instruction between the writer and the reader", overwrite_scc),
    kind("constant", "another constant", select::constant),
    kind("wave edge", "the wave always goes to the same successor", linearise::wave_edge),
    kind("EXEC not narrowed", "lanes that went the other way run as well", linearise::drop_narrowing),
    kind("EXEC not restored", "lanes stay away", linearise::drop_restore),
];

const fn kind(name: &'static str, breaks: &'static str, mutate: super::Mutate) -> Kind {
    Kind { name, step: "allocate", breaks, mutate }
}

fn register(operand: &Operand) -> Option<PReg> {
    match operand.as_reg()?.reg {
        Reg::Physical(reg) => Some(reg),
        Reg::Virtual(_) => None,
    }
}

fn is_vgpr(operand: &Operand) -> bool {
    register(operand).is_some_and(PReg::is_vgpr)
}

fn is_vector_move(inst: &Inst) -> bool {
    inst.op == Opcode::V_MOV_B32 && inst.operands[1..].iter().all(is_vgpr)
}

fn is_scalar_move(inst: &Inst) -> bool {
    matches!(inst.op, Opcode::S_MOV_B32 | Opcode::S_MOV_B64)
        && !is_exec(&inst.operands[0])
        && inst.operands[1].as_reg().is_some()
}

/// Spilled values, and objects on the stack at a fixed place.
fn is_slot_access(inst: &Inst, flag: OpFlags) -> bool {
    inst.op.info().format == Format::Mubuf
        && inst.op.info().flags.contains(flag)
        && inst.operands.get(1) == Some(&Operand::Off)
}

fn drop(f: &mut Function, pick: &mut Pick, fits: fn(&Inst) -> bool) {
    let Some(site) = pick.among(sites(f, fits)) else { return };
    remove(f, site);
}

/// Two neighbouring moves of which one reads what the other writes.
fn reorder_moves(f: &mut Function, pick: &mut Pick) {
    let is_move = |inst: &Inst| inst.op == Opcode::V_MOV_B32 || is_scalar_move(inst);
    let touches = |a: &Operand, b: &Operand| match (a.as_reg(), b.as_reg(), register(a), register(b)) {
        (Some(x), Some(y), Some(p), Some(q)) => {
            p.0 < q.0 + u16::from(y.dwords) && q.0 < p.0 + u16::from(x.dwords)
        }
        _ => false,
    };
    let fits = |block: &BlockData, k: usize| {
        let Some([a, b]) = block.insts.get(k..k + 2) else { return false };
        is_move(a)
            && is_move(b)
            && (touches(&a.operands[0], &b.operands[1]) || touches(&b.operands[0], &a.operands[1]))
    };
    let Some((block, k)) = pick.among(sites_in(f, fits)) else { return };
    f.blocks[block].insts.swap(k, k + 1);
}

/// The last move of VGPRs in a body goes behind what changes EXEC in the tail.
fn move_into_tail(f: &mut Function, pick: &mut Pick) {
    let fits = |block: &BlockData, k: usize| {
        let tail = block.tail_start as usize;
        k + 1 == tail
            && k as u32 >= block.head_len
            && block.insts[k].op == Opcode::V_MOV_B32
            && block.insts[tail..].iter().any(writes_exec)
    };
    let Some((block, k)) = pick.among(sites_in(f, fits)) else { return };
    let data = &mut f.blocks[block];
    let inst = data.insts.remove(k);
    data.insts.push(inst);
    data.tail_start -= 1;
}

/// The first instruction of a body, where it writes a VGPR, goes in front of what sets EXEC in the head.
fn move_into_head(f: &mut Function, pick: &mut Pick) {
    let fits = |block: &BlockData, k: usize| {
        k as u32 == block.head_len
            && block.head_len < block.tail_start
            && block.insts[..k].iter().any(writes_exec)
            && block.insts[k].mem.is_none()
            && block.insts[k].operands.first().is_some_and(is_vgpr)
    };
    let Some((block, k)) = pick.among(sites_in(f, fits)) else { return };
    let data = &mut f.blocks[block];
    let inst = data.insts.remove(k);
    data.insts.insert(0, inst);
    data.head_len += 1;
}

/// The tuple after (or, where it is the last, before) that of an operand.
fn neighbour(operand: &Operand) -> Option<Operand> {
    let reg = operand.as_reg()?;
    let first = register(operand)?;
    let (n, step, end) = match first.vgpr_index() {
        Some(n) => (n, 1, 40),
        None => (first.sgpr_index()?, [1, 2, 4][usize::from(reg.dwords.min(3)) - 1], 100),
    };
    let dwords = u16::from(reg.dwords);
    let next = if n + step + dwords <= end { first.plus(step) } else { PReg(first.0.checked_sub(step)?) };
    Some(Operand::preg(next, reg.dwords))
}

fn next_register(f: &mut Function, pick: &mut Pick, result: bool) {
    let fits = |inst: &Inst, n: usize| {
        let role = inst.op.info().operands.get(n).map(|desc| desc.role);
        let right = role == Some(if result { Role::Def } else { Role::Use });
        right && inst.op.info().format != Format::Pseudo && neighbour(&inst.operands[n]).is_some()
    };
    let Some((site, n)) = pick.among(operands(f, fits)) else { return };
    let operand = &mut at(f, site).operands[n];
    *operand = neighbour(operand).unwrap_or(*operand);
}

fn exchange_sources(f: &mut Function, pick: &mut Pick) {
    let registers = |inst: &Inst| {
        let n = first_source(inst);
        inst.operands[n..n + 2].iter().all(|o| o.as_reg().is_some())
    };
    let Some(site) = pick.among(sites(f, |inst| select::unordered(inst) && registers(inst))) else {
        return;
    };
    let inst = at(f, site);
    let n = first_source(inst);
    inst.operands.swap(n, n + 1);
}

fn exchange_results(f: &mut Function, pick: &mut Pick) {
    let single = |inst: &Inst| {
        let rows = inst.op.info().operands;
        inst.defs_end() == 1
            && rows.first().is_some_and(|desc| desc.role == Role::Def)
            && inst.operands[0].as_reg().is_some_and(|r| r.dwords == 1)
            && inst.operands.iter().all(|o| o.as_reg().is_none() || register(o).is_some())
    };
    let fits = |block: &BlockData, k: usize| {
        let Some([a, b]) = block.insts.get(k..k + 2) else { return false };
        if !single(a) || !single(b) {
            return false;
        }
        let [x, y] = [register(&a.operands[0]), register(&b.operands[0])];
        let vector = |reg: Option<PReg>| reg.is_some_and(PReg::is_vgpr);
        x != y && vector(x) == vector(y) && x != Some(PReg::M0) && y != Some(PReg::M0)
    };
    let Some((block, k)) = pick.among(sites_in(f, fits)) else { return };
    let insts = &mut f.blocks[block].insts;
    let (a, b) = (insts[k].operands[0], insts[k + 1].operands[0]);
    insts[k].operands[0] = b;
    insts[k + 1].operands[0] = a;
}

fn other_lane(f: &mut Function, pick: &mut Pick, op: Opcode) {
    let fits = |inst: &Inst| inst.op == op && matches!(inst.operands.get(2), Some(Operand::Imm(_)));
    let Some(site) = pick.among(sites(f, fits)) else { return };
    if let Operand::Imm(lane) = &mut at(f, site).operands[2] {
        *lane ^= 1;
    }
}

fn other_slot(f: &mut Function, pick: &mut Pick, flag: OpFlags) {
    let Some(site) = pick.among(sites(f, |inst| is_slot_access(inst, flag))) else { return };
    at(f, site).mods.offset ^= 4;
}

/// A VGPR of spilled SGPRs is written like any other.
fn overwrite_lanes(f: &mut Function, pick: &mut Pick) {
    let Some((block, k)) = pick.among(sites(f, |inst| inst.op == Opcode::V_WRITELANE_B32)) else { return };
    let vgpr = f.blocks[block].insts[k].operands[0];
    insert(f, (block, k + 1), Inst::new(Opcode::V_MOV_B32, [vgpr, Operand::Imm(0)]));
}

/// A VGPR that callees keep is replaced by one that they may change, everywhere.
fn across_call(f: &mut Function, pick: &mut Pick) {
    if f.calls.is_empty() {
        return;
    }
    let mut used: Vec<u16> = sites(f, |_| true)
        .into_iter()
        .flat_map(|(b, k)| f.blocks[b].insts[k].regs().map(|(_, r)| *r).collect::<Vec<_>>())
        .filter_map(|r| match r.reg {
            Reg::Physical(reg) => Some((reg.vgpr_index()?, r.dwords)),
            Reg::Virtual(_) => None,
        })
        .flat_map(|(n, dwords)| n..n + u16::from(dwords))
        .collect();
    used.sort_unstable();
    used.dedup();
    let kept = used.iter().copied().filter(|&n| {
        let alone = |inst: &Inst| {
            let holds = |first: u16, dwords: u8| (first..first + u16::from(dwords)).contains(&n);
            inst.regs().all(|(_, r)| match r.reg {
                Reg::Physical(reg) => {
                    r.dwords == 1 || reg.vgpr_index().is_none_or(|first| !holds(first, r.dwords))
                }
                Reg::Virtual(_) => true,
            })
        };
        is_callee_saved(PReg::vgpr(n), false) && sites(f, |inst| !alone(inst)).is_empty()
    });
    let Some(kept) = pick.among(kept.collect()) else { return };
    let free = (32..40).rev().find(|n| !used.contains(n)).unwrap_or(39);
    for block in f.layout.clone() {
        for inst in &mut f.blocks[block].insts {
            for (_, reg) in inst.regs_mut() {
                if reg.reg == Reg::Physical(PReg::vgpr(kept)) {
                    reg.reg = PReg::vgpr(free).into();
                }
            }
        }
    }
}

/// SCC becomes what it was not, or is not known to be, in front of an instruction or a branch that reads it.
fn overwrite_scc(f: &mut Function, pick: &mut Pick) {
    let reads = |inst: &Inst| inst.op.info().flags.contains(OpFlags::SCC_USE);
    let mut places = sites(f, reads);
    let tests = |b: &BlockData| matches!(b.term, Terminator::Uniform(Condition::Scc0 | Condition::Scc1));
    places.extend(blocks(f, tests).into_iter().map(|b| (b, f.blocks[b].tail_start as usize)));
    let both =
        places.into_iter().flat_map(|site| [(site, Opcode::S_CMP_EQ_U32), (site, Opcode::S_CMP_LG_U32)]);
    let Some((site, op)) = pick.among(both.collect()) else { return };
    insert(f, site, Inst::new(op, [Operand::Imm(0), Operand::Imm(0)]));
}
