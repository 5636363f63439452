//! Prolog and epilog of functions that are called: what belongs to the caller is saved and restored.
//!
//! A function may change the registers that are not callee-saved, in the lanes that are active. So
//!
//! * callee-saved VGPRs are stored behind the function's stack objects and loaded before it returns, in active lanes;
//! * VGPRs that are accessed in inactive lanes too (they hold spilled SGPRs, or take part in cross-lane operations) are saved with
//!   EXEC changed: callee-saved ones in all lanes, others in the inactive ones, since a result may be in the active ones.
//!
//! * callee-saved SGPRs, and the frame pointer where the function calls others, go to lanes of a VGPR that is saved in all lanes. Where
//!   the function itself uses all VGPRs that a work-group leaves it, one of them carries the SGPRs to the stack and back.
//!
//! A function that calls others has a frame of its own: the frame pointer is where the stack pointer was, the stack pointer behind all
//! objects. One that does not works relative to the stack pointer.
//!
//! Where the function ends with a jump to another one (a tail call), the epilog stands in front of the jump, behind the copies of arguments,
//! none of which is in a register that it restores.
//!
//! VCC holds EXEC meanwhile: it belongs to the callee, and no argument or result is there.
//!
//! Cost: linear in the code.
//!
//! Source: `mir::abi::call`; the order of steps is that of llc 22.

use mir::abi::call::{
    FRAME_POINTER, SCRATCH_RESOURCE, STACK_ALIGN_BYTES, STACK_POINTER, is_callee_saved, is_linkage,
};
use mir::isa::{MaskOp, Opcode};
use mir::machine::{Function, Inst, Operand, PReg, Terminator};
use mir::target::{ScratchAccess, Target};
use mir::{Diagnostic, Result};

/// Which lanes of a register are saved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lanes {
    Active,
    Inactive,
    All,
}

/// A register with its place behind the stack pointer.
#[derive(Clone, Copy)]
struct Saved {
    reg: PReg,
    lanes: Lanes,
    offset: u32,
}

/// A VGPR whose lanes take SGPRs of the caller, and the place of the lanes where the function needs the VGPR itself.
struct Holder {
    reg: PReg,
    scalars: Vec<PReg>,
    place: Option<u32>,
}

/// Inserts the prolog and the epilog.
///
/// Errors: a frame of more bytes than an SGPR can hold for all lanes (`Limit`), no free VGPR for SGPRs (`Unsupported`).
pub(crate) fn insert_frame(f: &mut Function, target: &Target) -> Result<()> {
    let mut written = [false; PReg::VGPRS as usize];
    let mut scalars = [false; PReg::SGPRS as usize];
    // The code may rely on the frame pointer though the calls that it is for have turned out to be unreachable.
    let calls =
        f.calls.iter().any(|site| !site.tail) || f.dynamic_stack || f.frame_base == Some(FRAME_POINTER);
    for &block in &f.layout {
        for inst in &f.blocks[block].insts {
            inst.for_each_access(|access| {
                for reg in (0..access.dwords).map(|n| access.first.plus(n)).filter(|_| access.write) {
                    if let Some(n) = reg.vgpr_index() {
                        written[usize::from(n)] = true;
                    } else if let Some(n) = reg.sgpr_index() {
                        scalars[usize::from(n)] = true;
                    }
                }
            });
        }
    }
    let graphics = f.saves_as_graphics();
    // A callee of the other convention changes what this function's caller relies on.
    if let Some(site) = f.calls.iter().find(|site| site.graphics != graphics) {
        for n in 0..target.processor.numbered_sgprs() as u16 {
            scalars[usize::from(n)] |= !is_callee_saved(PReg::sgpr(n), site.graphics);
        }
    }
    // So may one that saves less than the convention asks for.
    let known = f.calls.iter().filter_map(|site| site.changes.as_ref());
    for reg in known.flat_map(|changes| changes.iter()).filter(|&reg| is_callee_saved(reg, graphics)) {
        if let Some(n) = reg.vgpr_index() {
            written[usize::from(n)] = true;
        } else if let Some(n) = reg.sgpr_index() {
            scalars[usize::from(n)] = true;
        }
    }
    // Registers that hold lanes may be named by nothing but the code that was folded away.
    let whole_wave = |n: u16, list: &[PReg]| list.contains(&PReg::vgpr(n));
    // The resource of scratch, stack and frame pointer have their own treatment.
    let mut scalars: Vec<PReg> = (4..106)
        .filter(|&n| scalars[usize::from(n)] && !is_linkage(PReg::sgpr(n)))
        .map(PReg::sgpr)
        .filter(|&r| f.saves(r))
        .collect();
    if calls {
        scalars.push(FRAME_POINTER);
    }
    let mut end = f.resources.scratch_bytes.next_multiple_of(4);
    let mut saved = Vec::new();
    let take = |end: &mut u32| {
        *end += 4;
        *end - 4
    };
    for n in (0..PReg::VGPRS).filter(|&n| written[usize::from(n)]) {
        let reg = PReg::vgpr(n);
        let lanes = match (whole_wave(n, &f.whole_wave_vgprs), f.saves(reg)) {
            (true, true) => Lanes::All,
            (true, false) => Lanes::Inactive,
            (false, true) => Lanes::Active,
            (false, false) => continue,
        };
        saved.push(Saved { reg, lanes, offset: take(&mut end) });
    }
    // Registers whose lanes hold SGPRs of the caller: free ones, or one that is saved anyway.
    let budget = target.limits().vgpr_budget(f.waves_of_workgroup(target)) as u16;
    let free = |&n: &u16| !written[usize::from(n)] && is_callee_saved(PReg::vgpr(n), graphics);
    let mut free = (0..PReg::VGPRS.min(budget)).filter(free).map(PReg::vgpr);
    let mut holders = Vec::new();
    for scalars in scalars.chunks(target.wave_size() as usize) {
        let mut holder = |reg, place| holders.push(Holder { reg, scalars: scalars.to_vec(), place });
        if let Some(reg) = free.next() {
            saved.push(Saved { reg, lanes: Lanes::All, offset: take(&mut end) });
            holder(reg, None);
            continue;
        }
        // It must not hold arguments or results, which are none of the convention's.
        if !saved.iter().any(|s| is_callee_saved(s.reg, graphics)) {
            let used =
                (0..PReg::VGPRS.min(budget)).map(PReg::vgpr).find(|&reg| is_callee_saved(reg, graphics));
            let reg = used.ok_or_else(|| Diagnostic::defect("no VGPR for the caller's SGPRs"))?;
            saved.push(Saved { reg, lanes: Lanes::All, offset: take(&mut end) });
        }
        let carrier = saved.iter_mut().find(|s| is_callee_saved(s.reg, graphics));
        let carrier = carrier.ok_or_else(|| Diagnostic::defect("VGPRs that are neither free nor saved"))?;
        carrier.lanes = Lanes::All;
        holder(carrier.reg, Some(take(&mut end)));
    }
    if calls {
        end = end.next_multiple_of(STACK_ALIGN_BYTES);
    }
    let stack = Stack { access: f.scratch, target };
    if u64::from(end) * u64::from(f.bytes_in_base()) >= 1 << 31 {
        return Err(Diagnostic::limit(format!("a frame of {end} bytes")));
    }
    f.resources.scratch_bytes = end;
    let mut prolog = stack.accesses(&saved, true);
    let mut epilog = Vec::new();
    let (sp, fp) = (Operand::preg(STACK_POINTER, 1), Operand::preg(FRAME_POINTER, 1));
    if calls {
        epilog.push(Inst::new(Opcode::S_MOV_B32, [sp, fp]));
    }
    for Holder { reg, scalars, place } in &holders {
        let place = place.map(|offset| [Saved { reg: *reg, lanes: Lanes::All, offset }]);
        let holder = Operand::preg(*reg, 1);
        let lanes = || scalars.iter().zip(0..).map(|(&r, lane)| (Operand::preg(r, 1), Operand::Imm(lane)));
        prolog.extend(lanes().map(|(r, lane)| Inst::new(Opcode::V_WRITELANE_B32, [holder, r, lane])));
        let carried = |store| place.iter().flat_map(move |place| stack.accesses(place, store));
        prolog.extend(carried(true));
        epilog.extend(carried(false));
        epilog.extend(lanes().map(|(r, lane)| Inst::new(Opcode::V_READLANE_B32, [r, holder, lane])));
    }
    epilog.append(&mut stack.accesses(&saved, false));
    if calls {
        prolog.push(Inst::new(Opcode::S_MOV_B32, [fp, sp]));
        let size = i64::from(end) * i64::from(f.bytes_in_base());
        if size > 0 {
            prolog.push(Inst::new(Opcode::S_ADD_U32, [sp, sp, Operand::Imm(size)]));
        }
    }
    if prolog.is_empty() {
        return Ok(());
    }
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

/// How saved registers reach the stack.
#[derive(Clone, Copy)]
struct Stack<'a> {
    access: ScratchAccess,
    target: &'a Target,
}

impl Stack<'_> {
    /// Stores or loads of all saved registers.
    fn accesses(self, saved: &[Saved], store: bool) -> Vec<Inst> {
        let wave = self.target.wave();
        let (vcc, exec) = (Operand::vcc(wave), Operand::exec(wave));
        let change = |op: MaskOp, operands: [Operand; 2]| Inst::new(op.opcode(wave), operands);
        let mut out = Vec::new();
        for lanes in [Lanes::Active, Lanes::Inactive, Lanes::All] {
            let group = || saved.iter().filter(move |s| s.lanes == lanes);
            if group().next().is_none() {
                continue;
            }
            match lanes {
                Lanes::Active => {}
                Lanes::Inactive => out.push(change(MaskOp::XorSaveexec, [vcc, Operand::Imm(-1)])),
                Lanes::All => out.push(change(MaskOp::OrSaveexec, [vcc, Operand::Imm(-1)])),
            }
            let mut window = 0;
            for s in group() {
                self.move_window(&mut window, s.offset / self.reach(), &mut out);
                let (data, base) = (Operand::preg(s.reg, 1), Operand::preg(STACK_POINTER, 1));
                let offset = s.offset % self.reach();
                out.push(self.access.frame_dword(
                    store,
                    data,
                    base,
                    Operand::preg(SCRATCH_RESOURCE, 4),
                    offset,
                ));
            }
            self.move_window(&mut window, 0, &mut out);
            if lanes != Lanes::Active {
                out.push(change(MaskOp::Mov, [exec, vcc]));
            }
        }
        out
    }

    /// Bytes of a lane that an access to scratch reaches without another base.
    fn reach(self) -> u32 {
        self.access.max_offset(self.target.limits()) + 1
    }

    /// Moves the stack pointer so that offsets of window `to` are within reach. SCC has no value here.
    fn move_window(self, window: &mut u32, to: u32, out: &mut Vec<Inst>) {
        if *window == to {
            return;
        }
        let step = i64::from(self.reach() * self.access.bytes_in_base(self.target.wave()));
        let distance = (i64::from(to) - i64::from(*window)) * step;
        let sp = Operand::preg(STACK_POINTER, 1);
        out.push(Inst::new(Opcode::S_ADD_U32, [sp, sp, Operand::Imm(distance)]));
        *window = to;
    }
}
