//! Prolog and epilog of functions that are called: what belongs to the caller is saved and restored.
//!
//! A function may change the registers that are not callee-saved, in the lanes that are active. So
//!
//! * callee-saved VGPRs are stored behind the function's stack objects and loaded before it returns, in active lanes;
//! * VGPRs that are accessed in inactive lanes too (they hold spilled SGPRs, or take part in cross-lane operations) are saved with
//!   EXEC changed: callee-saved ones in all lanes, others in the inactive ones, since a result may be in the active ones.
//!
//! VCC holds EXEC meanwhile: it belongs to the callee, and no argument or result is there.
//!
//! Cost: linear in the code.
//!
//! Source: `mir::abi::call`; the order of steps is that of llc 22.

use crate::regs::for_each_access;
use mir::abi::call::{SCRATCH_RESOURCE, STACK_POINTER, is_callee_saved};
use mir::ir::{AddrSpace, MemAccess};
use mir::isa::Opcode;
use mir::machine::{Function, Inst, MemRef, Modifiers, Operand, PReg, Terminator};
use mir::target::Target;
use mir::{Diagnostic, Result};

/// Largest offset in an access to scratch, plus 1.
const WINDOW: u32 = 4096;

/// Which lanes of a register are saved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lanes {
    Active,
    Inactive,
    All,
}

/// A register with its place behind the stack pointer.
struct Saved {
    reg: PReg,
    lanes: Lanes,
    offset: u32,
}

/// Inserts the prolog and the epilog.
///
/// Errors: a frame of more bytes than an SGPR can hold for all lanes (`Limit`).
pub(crate) fn insert_frame(f: &mut Function, target: &Target) -> Result<()> {
    let mut written = [false; 256];
    for &block in &f.layout {
        for inst in &f.blocks[block].insts {
            for_each_access(inst, |access| {
                for n in 0..u16::from(access.dwords) {
                    if let Some(n) = access.first.plus(n).vgpr_index().filter(|_| access.write) {
                        written[usize::from(n)] = true;
                    }
                }
            });
        }
    }
    let mut end = f.resources.scratch_bytes.next_multiple_of(4);
    let mut saved = Vec::new();
    for n in (0..256).filter(|&n| written[usize::from(n)]) {
        let reg = PReg::vgpr(n);
        let lanes = match (f.whole_wave_vgprs.contains(&reg), is_callee_saved(reg)) {
            (true, true) => Lanes::All,
            (true, false) => Lanes::Inactive,
            (false, true) => Lanes::Active,
            (false, false) => continue,
        };
        saved.push(Saved { reg, lanes, offset: end });
        end += 4;
    }
    if u64::from(end) * u64::from(target.wave_size()) >= 1 << 31 {
        return Err(Diagnostic::limit(format!("a frame of {end} bytes")));
    }
    f.resources.scratch_bytes = end;
    if saved.is_empty() {
        return Ok(());
    }
    let prolog = accesses(&saved, Opcode::BUFFER_STORE_DWORD, target);
    let epilog = accesses(&saved, Opcode::BUFFER_LOAD_DWORD, target);
    for block in f.layout.clone() {
        let data = &mut f.blocks[block];
        if data.term == Terminator::Return
            && let Some(at) = data.insts.len().checked_sub(1)
        {
            data.insts.splice(at..at, epilog.iter().cloned());
            data.tail_start = data.insts.len() as u32;
        }
    }
    if let Some(&entry) = f.layout.first() {
        let data = &mut f.blocks[entry];
        let count = prolog.len() as u32;
        data.insts.splice(0..0, prolog);
        data.head_len += count;
        data.tail_start += count;
    }
    Ok(())
}

/// Stores or loads of all saved registers.
fn accesses(saved: &[Saved], op: Opcode, target: &Target) -> Vec<Inst> {
    let vcc = Operand::preg(PReg::VCC_LO, 2);
    let exec = Operand::preg(PReg::EXEC_LO, 2);
    let mut out = Vec::new();
    for lanes in [Lanes::Active, Lanes::Inactive, Lanes::All] {
        let group = || saved.iter().filter(move |s| s.lanes == lanes);
        if group().next().is_none() {
            continue;
        }
        match lanes {
            Lanes::Active => {}
            Lanes::Inactive => out.push(Inst::new(Opcode::S_XOR_SAVEEXEC_B64, [vcc, Operand::Imm(-1)])),
            Lanes::All => out.push(Inst::new(Opcode::S_OR_SAVEEXEC_B64, [vcc, Operand::Imm(-1)])),
        }
        let mut window = 0;
        for s in group() {
            move_window(&mut window, s.offset / WINDOW, target, &mut out);
            out.push(access(op, s.reg, s.offset % WINDOW));
        }
        move_window(&mut window, 0, target, &mut out);
        if lanes != Lanes::Active {
            out.push(Inst::new(Opcode::S_MOV_B64, [exec, vcc]));
        }
    }
    out
}

/// Moves the stack pointer so that offsets of window `to` are within reach. SCC has no value here.
fn move_window(window: &mut u32, to: u32, target: &Target, out: &mut Vec<Inst>) {
    if *window == to {
        return;
    }
    let step = i64::from(WINDOW * target.wave_size());
    let distance = (i64::from(to) - i64::from(*window)) * step;
    let sp = Operand::preg(STACK_POINTER, 1);
    out.push(Inst::new(Opcode::S_ADD_U32, [sp, sp, Operand::Imm(distance)]));
    *window = to;
}

/// Access to `reg`'s dword at `offset` from the stack pointer.
fn access(op: Opcode, reg: PReg, offset: u32) -> Inst {
    let operands = [
        Operand::preg(reg, 1),
        Operand::Off,
        Operand::preg(SCRATCH_RESOURCE, 4),
        Operand::preg(STACK_POINTER, 1),
    ];
    let mods = Modifiers { offset: offset as i32, ..Modifiers::default() };
    let plain = MemAccess::plain(AddrSpace::PRIVATE, 2);
    Inst::new(op, operands).with_mods(mods).with_mem(MemRef { access: plain, bytes: 4 })
}
