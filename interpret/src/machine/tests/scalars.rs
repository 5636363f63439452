//! Scalars of selected code that other lanes overwrite.

use super::*;

/// A loop that 16 lanes leave in each round: blocks, the number of the round from 1 on, and the mask of those that leave.
fn a_loop_left_apart() -> (Kernel, [Block; 3], VReg, VReg) {
    let mut k = Kernel::new();
    let [entry, round, exit] = [(); 3].map(|()| k.block());
    let (zero, i, next, limit) = (k.sgpr(), k.sgpr(), k.sgpr(), k.sgpr());
    k.push(entry, Opcode::S_MOV_B32, &[v(zero), imm(0)]);
    k.push(round, Opcode::S_ADD_U32, &[v(next), v(i), imm(1)]);
    k.push(round, Opcode::S_LSHL_B32, &[v(limit), v(next), imm(4)]);
    let mask = k.f.new_lane_mask();
    let id = v(k.id);
    k.push(round, Opcode::V_CMP_GT_U32, &[Operand::vreg(mask, 2), v(limit), id]);
    k.to(entry, Terminator::Jump, &[(round, &[])]);
    k.to(round, Terminator::Divergent(mask), &[(exit, &[]), (round, &[])]);
    k.to(exit, Terminator::EndProgram, &[]);
    k.data(round).sparams.push(i);
    k.data(entry).thread_sargs[0].push(zero);
    k.data(round).thread_sargs[1].push(next);
    (k, [entry, round, exit], next, mask)
}

#[test]
fn a_scalar_is_gone_once_other_lanes_have_written_it() {
    let (mut k, [_, round, exit], next, _) = a_loop_left_apart();
    let out = k.vgpr();
    // Copied in the loop, each lane keeps its own.
    k.push(round, Opcode::V_MOV_B32, &[v(out), v(next)]);
    k.store(exit, out);
    let want: Vec<u32> = (0..64).map(|l| l / 16 + 1).collect();
    assert_eq!(k.values(), want);
    let copy = k.data(round).insts.pop().expect("the copy");
    k.data(round).tail_start -= 1;
    k.data(exit).insts.insert(0, copy);
    let message = k.stop();
    assert!(message.contains("which other lanes have overwritten since"), "{message}");
}

#[test]
fn a_lane_mask_is_gone_once_other_lanes_have_written_it() {
    let (mut k, [_, _, exit], _, mask) = a_loop_left_apart();
    let end = k.block();
    k.to(end, Terminator::EndProgram, &[]);
    k.to(exit, Terminator::Divergent(mask), &[(end, &[]), (end, &[])]);
    let message = k.stop();
    assert!(message.contains("where lane 0 goes depends on an undefined bit"), "{message}");
}

#[test]
fn a_scalar_argument_arrives_with_the_wave() {
    let (mut k, [_, round, exit], next, _) = a_loop_left_apart();
    let (p, out) = (k.sgpr(), k.vgpr());
    k.data(exit).sparams.push(p);
    k.data(round).thread_sargs[0].push(next);
    k.push(exit, Opcode::V_MOV_B32, &[v(out), v(p)]);
    k.store(exit, out);
    // The lanes that left first find what the last round left.
    assert_eq!(k.values(), [4; 64]);
}
