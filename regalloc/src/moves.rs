//! Parallel moves: many dwords change places at once.
//!
//! A move whose destination nobody still has to read goes first. What remains are cycles, each of one file (a
//! scalar destination never has a vector source). A cycle is broken with a free register where there is one,
//! else by exchanging: `v_swap_b32` where the processor has it, which two registers take always, else three
//! `v_xor_b32`. Scalar cycles without
//! a free register go through M0, which holds nothing at the ends of blocks. Nothing here writes SCC.
//! Neighbouring scalar moves become `s_mov_b64`.
//!
//! Cost: linear in the moves but for looking for readers, which is a hash lookup.

use mir::isa::Opcode;
use mir::machine::{Inst, Operand, PReg};
use mir::{Diagnostic, Result};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Where a dword comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    Reg(PReg),
    Imm(i32),
}

/// One dword's move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Move {
    pub dst: PReg,
    pub src: Source,
}

/// Means to break cycles.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scratch {
    /// A free SGPR (or M0).
    pub sgpr: Option<PReg>,
    /// A free VGPR.
    pub vgpr: Option<PReg>,
    /// `v_swap_b32` exists.
    pub swap: bool,
}

/// One step of the sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Move(PReg, Source),
    Swap(PReg, PReg),
}

/// Appends instructions that do all `moves` at once. Destinations are distinct. Means to break cycles are
/// asked for only where there is one.
pub(crate) fn sequence(
    moves: &[Move],
    scratch: impl Fn() -> Scratch,
    loc: u32,
    out: &mut Vec<Inst>,
) -> Result<()> {
    let mut pending: SmallVec<[Move; 8]> =
        moves.iter().copied().filter(|m| m.src != Source::Reg(m.dst)).collect();
    if pending.is_empty() {
        return Ok(());
    }
    pending.sort_by_key(|m| m.dst);
    let mut steps: SmallVec<[Step; 8]> = SmallVec::new();
    let reads = |m: &Move| pending.iter().any(|other| other.src == Source::Reg(m.dst));
    let simple = pending.len() <= 4 && !pending.iter().any(reads);
    let mut swap = false;
    if simple {
        steps.extend(pending.iter().map(|m| Step::Move(m.dst, m.src)));
    } else {
        swap = order(&pending, scratch, &mut steps)?;
    }
    emit(&steps, swap, loc, out)
}

/// Puts moves in order; returns whether `v_swap_b32` exists.
fn order(pending: &[Move], scratch: impl Fn() -> Scratch, steps: &mut SmallVec<[Step; 8]>) -> Result<bool> {
    // Who writes a register, and how many moves still read it.
    let mut writer: FxHashMap<PReg, usize> = FxHashMap::default();
    let mut readers: FxHashMap<PReg, u32> = FxHashMap::default();
    for (i, m) in pending.iter().enumerate() {
        if writer.insert(m.dst, i).is_some() {
            return Err(Diagnostic::defect(format!("two moves at once into {}", m.dst)));
        }
        if let Source::Reg(src) = m.src {
            *readers.entry(src).or_insert(0) += 1;
        }
    }
    let mut done = vec![false; pending.len()];
    let mut ready: std::collections::VecDeque<usize> =
        (0..pending.len()).filter(|&i| !readers.contains_key(&pending[i].dst)).collect();
    while let Some(i) = ready.pop_front() {
        let m = pending[i];
        steps.push(Step::Move(m.dst, m.src));
        done[i] = true;
        if let Source::Reg(src) = m.src
            && let Some(n) = readers.get_mut(&src)
        {
            *n -= 1;
            if *n == 0
                && let Some(&w) = writer.get(&src)
                && !done[w]
            {
                ready.push_back(w);
            }
        }
    }
    if done.iter().all(|&d| d) {
        return Ok(false);
    }
    let scratch = scratch();
    // Only simple cycles are left: every register in them has one reader and one writer.
    for start in 0..pending.len() {
        if done[start] {
            continue;
        }
        let mut cycle = Vec::new();
        let mut i = start;
        loop {
            done[i] = true;
            cycle.push(pending[i]);
            let Source::Reg(src) = pending[i].src else { break };
            match writer.get(&src) {
                Some(&next) if !done[next] => i = next,
                _ => break,
            }
        }
        // cycle[k].src == cycle[k + 1].dst, and the last's source is cycle[0].dst.
        let first = cycle[0].dst;
        let temp = if first.is_vgpr() { scratch.vgpr } else { scratch.sgpr };
        match temp {
            // An exchange takes as long as four moves.
            _ if first.is_vgpr() && scratch.swap && (cycle.len() == 2 || temp.is_none()) => {
                for pair in cycle.windows(2) {
                    steps.push(Step::Swap(pair[0].dst, pair[1].dst));
                }
            }
            Some(temp) => {
                steps.push(Step::Move(temp, Source::Reg(first)));
                for (k, m) in cycle.iter().enumerate() {
                    let last = k + 1 == cycle.len();
                    steps.push(Step::Move(m.dst, if last { Source::Reg(temp) } else { m.src }));
                }
            }
            None if first.is_vgpr() => {
                for pair in cycle.windows(2) {
                    steps.push(Step::Swap(pair[0].dst, pair[1].dst));
                }
            }
            None => return Err(Diagnostic::defect("no scalar register to break a cycle of moves")),
        }
    }
    Ok(scratch.swap)
}

fn emit(steps: &[Step], swap: bool, loc: u32, out: &mut Vec<Inst>) -> Result<()> {
    let mut push = |op, operands: &[Operand]| {
        let mut inst = Inst::new(op, operands.iter().copied());
        inst.loc = loc;
        out.push(inst);
    };
    let mut i = 0;
    while i < steps.len() {
        match steps[i] {
            Step::Move(dst, src) if dst.is_vgpr() => {
                push(Opcode::V_MOV_B32, &[Operand::preg(dst, 1), operand(src, 1)]);
            }
            Step::Move(dst, src) => {
                if matches!(src, Source::Reg(r) if r.is_vgpr()) {
                    push(Opcode::V_READFIRSTLANE_B32, &[Operand::preg(dst, 1), operand(src, 1)]);
                } else if let Some(wide) = pair(dst, src, steps.get(i + 1)) {
                    push(Opcode::S_MOV_B64, &[Operand::preg(dst, 2), wide]);
                    i += 1;
                } else {
                    push(Opcode::S_MOV_B32, &[Operand::preg(dst, 1), operand(src, 1)]);
                }
            }
            Step::Swap(a, b) if swap => {
                push(Opcode::V_SWAP_B32, &[Operand::preg(a, 1), Operand::preg(b, 1)]);
            }
            Step::Swap(a, b) => {
                for (dst, other) in [(a, b), (b, a), (a, b)] {
                    push(
                        Opcode::V_XOR_B32,
                        &[Operand::preg(dst, 1), Operand::preg(dst, 1), Operand::preg(other, 1)],
                    );
                }
            }
        }
        i += 1;
    }
    Ok(())
}

fn operand(src: Source, dwords: u8) -> Operand {
    match src {
        Source::Reg(reg) => Operand::preg(reg, dwords),
        Source::Imm(value) => Operand::Imm(i64::from(value)),
    }
}

/// The 64-bit source, where this move and the next are the halves of an aligned pair.
fn pair(dst: PReg, src: Source, next: Option<&Step>) -> Option<Operand> {
    let Some(&Step::Move(dst2, src2)) = next else { return None };
    if !dst.0.is_multiple_of(2) || dst2 != dst.plus(1) || dst == PReg::M0 {
        return None;
    }
    match (src, src2) {
        (Source::Reg(a), Source::Reg(b))
            if a.0 % 2 == 0 && b == a.plus(1) && !b.is_vgpr() && (a.0 < 128 || a == PReg::EXEC_LO) =>
        {
            Some(Operand::preg(a, 2))
        }
        (Source::Imm(low), Source::Imm(high)) if high == low >> 31 && (-16..=64).contains(&low) => {
            Some(Operand::Imm(i64::from(low)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn run(insts: &[Inst], state: &mut HashMap<PReg, u32>) {
        for inst in insts {
            let reg = |k: usize| match inst.operands[k].as_reg().map(|r| r.reg) {
                Some(mir::machine::Reg::Physical(r)) => r,
                _ => panic!("register expected"),
            };
            let read = |k: usize, d: u16| match inst.operands[k] {
                Operand::Imm(value) => (value >> (32 * d)) as u32,
                _ => state[&reg(k).plus(d)],
            };
            let writes: Vec<(PReg, u32)> = match inst.op {
                Opcode::S_MOV_B32 | Opcode::V_MOV_B32 => vec![(reg(0), read(1, 0))],
                Opcode::S_MOV_B64 => vec![(reg(0), read(1, 0)), (reg(0).plus(1), read(1, 1))],
                Opcode::V_SWAP_B32 => vec![(reg(0), read(1, 0)), (reg(1), read(0, 0))],
                Opcode::V_XOR_B32 => vec![(reg(0), read(1, 0) ^ read(2, 0))],
                other => panic!("{other:?}"),
            };
            state.extend(writes);
        }
    }

    fn check(moves: &[Move], scratch: &Scratch) -> usize {
        let mut state: HashMap<PReg, u32> = HashMap::new();
        for n in 0..140 {
            state.insert(PReg(n), 1000 + u32::from(n));
            state.insert(PReg::vgpr(n), 5000 + u32::from(n));
        }
        let before = state.clone();
        let mut out = Vec::new();
        sequence(moves, || *scratch, 0, &mut out).unwrap();
        run(&out, &mut state);
        for m in moves {
            let expected = match m.src {
                Source::Reg(r) => before[&r],
                Source::Imm(v) => v as u32,
            };
            assert_eq!(state[&m.dst], expected, "{moves:?}");
        }
        out.len()
    }

    #[test]
    fn cycles_chains_and_fans() {
        let s = |d, s| Move { dst: PReg::sgpr(d), src: Source::Reg(PReg::sgpr(s)) };
        let v = |d, s| Move { dst: PReg::vgpr(d), src: Source::Reg(PReg::vgpr(s)) };
        let m0 = Scratch { sgpr: Some(PReg::M0), vgpr: None, swap: false };
        let swap = Scratch { swap: true, ..m0 };
        assert_eq!(check(&[s(0, 2), s(1, 3)], &m0), 1);
        assert_eq!(check(&[s(2, 0), s(3, 1), s(4, 2), s(5, 3)], &m0), 2);
        check(&[s(0, 1), s(1, 0), s(5, 0)], &m0);
        check(&[v(0, 1), v(1, 2), v(2, 0), v(7, 2), v(9, 9)], &m0);
        assert_eq!(check(&[v(0, 1), v(1, 0)], &swap), 1);
        check(&[v(0, 1), v(1, 2), v(2, 3), v(3, 0), v(4, 5), v(5, 4)], &swap);
        assert_eq!(check(&[v(0, 1), v(1, 2), v(2, 0)], &swap), 2);
        let free = Scratch { vgpr: Some(PReg::vgpr(9)), ..swap };
        assert_eq!(check(&[v(0, 1), v(1, 2), v(2, 0)], &free), 4);
        assert_eq!(check(&[v(0, 1), v(1, 0)], &free), 1);
        assert_eq!(check(&[v(3, 3)], &m0), 0);
        check(&[Move { dst: PReg::vgpr(0), src: Source::Reg(PReg::sgpr(3)) }, v(1, 0)], &m0);
        let imm = |d, value| Move { dst: PReg::sgpr(d), src: Source::Imm(value) };
        assert_eq!(check(&[imm(0, -1), imm(1, -1)], &m0), 1);
        assert_eq!(check(&[imm(0, 1000), imm(1, 0)], &m0), 2);
    }
}
