//! Code damaged after one step: exactly that step must be named.
//!
//! A damage is tried at every place of a function where it fits, one place a run, until one shows; most places show, but a move may be of a value
//! that nobody looks at again. Wherever a damage shows at all it must be the damaged stage that is named.

use super::{KERNELS, kernel, module, options};
use gcnc::Step;
use mir::isa::Opcode;
use mir::machine::{Function, Inst, Operand, PReg, Reg, Terminator};

/// A damage: changes the function at the `n`th place where it fits, and says whether there is one.
type Spoil = fn(&mut Function, usize) -> bool;

fn is_exec(operand: &Operand) -> bool {
    operand.as_reg().is_some_and(|reg| reg.reg == Reg::Physical(PReg::EXEC_LO))
}

/// The `n`th instruction for which `fits` holds: block and index.
fn nth(f: &Function, n: usize, fits: impl Fn(&Inst) -> bool) -> Option<(mir::machine::Block, usize)> {
    let all = f.layout.iter().flat_map(|&b| (0..f.blocks[b].insts.len()).map(move |k| (b, k)));
    all.filter(|&(b, k)| fits(&f.blocks[b].insts[k])).nth(n)
}

/// Removes an instruction from its block.
fn remove(f: &mut Function, n: usize, fits: impl Fn(&Inst) -> bool) -> bool {
    let Some((block, k)) = nth(f, n, fits) else { return false };
    let data = &mut f.blocks[block];
    data.insts.remove(k);
    data.head_len -= u32::from((k as u32) < data.head_len);
    data.tail_start -= u32::from((k as u32) < data.tail_start);
    true
}

/// Where lanes part, EXEC stays as it is.
fn drop_parting(f: &mut Function, n: usize) -> bool {
    let fits = |inst: &Inst| match inst.op {
        Opcode::S_AND_SAVEEXEC_B64 => true,
        Opcode::S_ANDN2_B64 => inst.operands.first().is_some_and(is_exec),
        _ => false,
    };
    let Some((block, k)) = nth(f, n, fits) else { return false };
    let inst = &mut f.blocks[block].insts[k];
    *inst = Inst::new(Opcode::S_MOV_B64, [inst.operands[0], Operand::preg(PReg::EXEC_LO, 2)]);
    true
}

/// EXEC is not restored at a join.
fn drop_restore(f: &mut Function, n: usize) -> bool {
    remove(f, n, |inst| inst.op == Opcode::S_MOV_B64 && inst.operands.first().is_some_and(is_exec))
}

fn swap_divergent(f: &mut Function, n: usize) -> bool {
    let divergent = |b: &mir::machine::Block| matches!(f.blocks[*b].term, Terminator::Divergent(_));
    let Some(block) = f.layout.iter().copied().filter(divergent).nth(n) else { return false };
    let data = &mut f.blocks[block];
    data.thread_succs.swap(0, 1);
    if data.thread_sargs.len() == 2 {
        data.thread_sargs.swap(0, 1);
    }
    true
}

fn swap_uniform(f: &mut Function, n: usize) -> bool {
    let uniform = |b: &mir::machine::Block| matches!(f.blocks[*b].term, Terminator::Uniform(_));
    let Some(block) = f.layout.iter().copied().filter(uniform).nth(n) else { return false };
    f.blocks[block].wave_succs.swap(0, 1);
    true
}

/// A constant of an addition is another one.
fn change_constant(f: &mut Function, n: usize) -> bool {
    let adds = [Opcode::V_ADD_I32, Opcode::V_ADD_U32, Opcode::V_XOR_B32, Opcode::V_AND_B32];
    let constant = |o: &Operand| matches!(o, Operand::Imm(_));
    let fits = |inst: &Inst| adds.contains(&inst.op) && inst.operands.iter().any(constant);
    let Some((block, k)) = nth(f, n, fits) else { return false };
    for operand in &mut f.blocks[block].insts[k].operands {
        if let Operand::Imm(value) = operand {
            *value ^= 2;
        }
    }
    true
}

/// A lane of a spilled SGPR is another one when it is read back.
fn wrong_lane(f: &mut Function, n: usize) -> bool {
    let Some((block, k)) = nth(f, n, |inst| inst.op == Opcode::V_READLANE_B32) else { return false };
    let Some(Operand::Imm(lane)) = f.blocks[block].insts[k].operands.get_mut(2) else { return false };
    *lane ^= 1;
    true
}

/// Spilled VGPRs, or objects on the stack, are read at the wrong offset.
fn wrong_slot(f: &mut Function, n: usize) -> bool {
    let fits = |inst: &Inst| inst.op == Opcode::BUFFER_LOAD_DWORD;
    let Some((block, k)) = nth(f, n, fits) else { return false };
    f.blocks[block].insts[k].mods.offset ^= 4;
    true
}

fn drop_move(f: &mut Function, n: usize) -> bool {
    remove(f, n, |inst| inst.op == Opcode::V_MOV_B32)
}

fn drop_barrier(f: &mut Function, n: usize) -> bool {
    remove(f, n, |inst| inst.op == Opcode::S_BARRIER)
}

/// Damages `name` after `step` at place after place; every place where it shows must be laid to `step`, and `least` places must show.
fn named(name: &str, cpu: &str, level: u8, step: Step, spoil: Spoil, least: usize) {
    let module = module(KERNELS.as_bytes());
    let (mut shown, mut places) = (0, 0);
    for place in 0..12 {
        let mut fits = false;
        let mut damage = |at: Step, f: &mut Function| {
            if at == step && f.name == name {
                fits |= spoil(f, place);
            }
        };
        let verdict = kernel(&module, name, &options(cpu, level), 1, Some(&mut damage));
        if !fits {
            assert!(verdict.culprit.is_none(), "{name} without damage: {verdict}");
            break;
        }
        places += 1;
        if let Some(culprit) = &verdict.culprit {
            shown += 1;
            assert_eq!(culprit.step, step, "{name}, {cpu}, -O{level}, place {place}: {verdict}");
        }
    }
    assert!(
        shown >= least,
        "{name}, {cpu}, -O{level}, after {}: {shown} of {places} places show",
        step.name()
    );
}

#[test]
fn damage_to_selected_code_is_named() {
    for cpu in ["gfx803", "gfx900"] {
        for level in [0, 2] {
            named("divergent_loop", cpu, level, Step::Selected, swap_divergent, 1);
            named("switches", cpu, level, Step::Selected, change_constant, 1);
        }
        named("barriers", cpu, 2, Step::Selected, drop_barrier, 1);
    }
}

#[test]
fn damage_to_structured_code_is_named() {
    for cpu in ["gfx803", "gfx900"] {
        for name in ["divergent_loop", "nested_loops", "switches", "ballots"] {
            named(name, cpu, 2, Step::Structured, drop_parting, 1);
            named(name, cpu, 2, Step::Structured, drop_restore, 1);
        }
        named("barriers", cpu, 2, Step::Structured, swap_uniform, 1);
    }
}

#[test]
fn damage_to_legalized_code_is_named() {
    named("switches", "gfx900", 2, Step::Legalized, change_constant, 1);
    named("divergent_loop", "gfx803", 0, Step::Legalized, drop_parting, 1);
}

#[test]
fn damage_to_allocated_code_is_named() {
    for cpu in ["gfx803", "gfx900"] {
        named("spills", cpu, 2, Step::Allocated, wrong_lane, 1);
        named("spills", cpu, 2, Step::Allocated, wrong_slot, 1);
        named("nested_loops", cpu, 2, Step::Allocated, drop_move, 1);
        named("divergent_loop", cpu, 2, Step::Allocated, drop_parting, 1);
    }
}
