//! The kernel prolog: what the entry registers lack before user code may run.
//!
//! * Scratch resource: the wave's offset is added to its base, so that accesses need no offset register.
//! * FLAT_SCRATCH, where flat instructions may reach scratch: from the initial values, in the form of the generation.
//! * M0 as the limit of LDS accesses, where the target checks it: all ones allow the whole allocation. Where the function writes M0
//!   for other purposes, the limit is set again in each block that accesses LDS.
//!
//! Runs after allocation, before waits are inserted: all entry registers are live at the start, and the prolog changes
//! them in place.
//!
//! Sources: AMDGPU usage guide, "Kernel Prolog" and "Initial Kernel Execution State"; for GFX7-8 the guide mixes up the halves of
//! FLAT_SCRATCH, LLVM writes the size to LO and the offset in units of 256 bytes to HI.

use mir::ir::CallConv;
use mir::isa::{OpFlags, Opcode};
use mir::machine::{EntryValue, Function, Inst, Operand, PReg};
use mir::target::{Features, Generation, Target};
use mir::{Diagnostic, Result};

/// How FLAT_SCRATCH describes the wave's scratch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FlatScratch {
    /// There is none.
    None,
    /// LO: bytes of a lane, HI: offset in units of 256 bytes.
    SizeAndOffset,
    /// A 64-bit address.
    Address,
}

const FLAT_SCRATCH: [FlatScratch; Generation::COUNT] = [
    FlatScratch::None,
    FlatScratch::SizeAndOffset,
    FlatScratch::SizeAndOffset,
    FlatScratch::Address,
    FlatScratch::None,
];

/// Inserts the prolog of a kernel; other functions get theirs from their caller.
///
/// Errors: an entry value that the prolog needs was not asked for (`Defect`); flat access to scratch where the processor has
/// none (`Unsupported`).
pub fn insert_prolog(f: &mut Function, target: &Target) -> Result<()> {
    if f.call_conv != CallConv::Kernel {
        return Ok(());
    }
    let mut prolog = Vec::new();
    let offset = f.entry.contains(EntryValue::ScratchWaveOffset);
    if f.uses_flat_scratch {
        init_flat_scratch(f, target, &mut prolog)?;
        f.resources.flat_scratch = true;
    }
    if offset && f.entry.contains(EntryValue::PrivateSegmentBuffer) {
        let base = entry_register(f, EntryValue::PrivateSegmentBuffer)?;
        let offset = entry_register(f, EntryValue::ScratchWaveOffset)?;
        add_64(&mut prolog, base, base, offset);
    } else if f.resources.scratch_bytes > 0 && !offset {
        return Err(missing(f, EntryValue::ScratchWaveOffset));
    }
    insert_lds_limit(f, target, &mut prolog);
    let Some(&entry) = f.layout.first() else { return Ok(()) };
    f.blocks[entry].insts.splice(0..0, prolog);
    Ok(())
}

fn missing(f: &Function, value: EntryValue) -> Box<Diagnostic> {
    Diagnostic::defect(format!("the prolog needs {value:?}, which the kernel does not ask for"))
        .in_function(&f.name)
}

fn entry_register(f: &Function, value: EntryValue) -> Result<PReg> {
    let found = f.entry.registers().into_iter().find(|entry| entry.0 == value);
    found.map(|entry| entry.1).ok_or_else(|| missing(f, value))
}

/// `dst = src + offset`, 64 and 32 bits.
fn add_64(prolog: &mut Vec<Inst>, dst: PReg, src: PReg, offset: PReg) {
    let reg = |reg| Operand::preg(reg, 1);
    prolog.push(Inst::new(Opcode::S_ADD_U32, [reg(dst), reg(src), reg(offset)]));
    prolog.push(Inst::new(Opcode::S_ADDC_U32, [reg(dst.plus(1)), reg(src.plus(1)), Operand::Imm(0)]));
}

fn init_flat_scratch(f: &Function, target: &Target, prolog: &mut Vec<Inst>) -> Result<()> {
    let init = entry_register(f, EntryValue::FlatScratchInit)?;
    let offset = entry_register(f, EntryValue::ScratchWaveOffset)?;
    let reg = |reg| Operand::preg(reg, 1);
    match FLAT_SCRATCH[target.generation() as usize] {
        FlatScratch::None => {
            return Err(
                Diagnostic::unsupported(format!("flat access to scratch on {target}")).in_function(&f.name)
            );
        }
        FlatScratch::SizeAndOffset => {
            prolog.push(Inst::new(Opcode::S_ADD_U32, [reg(init), reg(init), reg(offset)]));
            prolog.push(Inst::new(Opcode::S_MOV_B32, [reg(PReg::FLAT_SCRATCH_LO), reg(init.plus(1))]));
            prolog.push(Inst::new(
                Opcode::S_LSHR_B32,
                [reg(PReg::FLAT_SCRATCH_HI), reg(init), Operand::Imm(8)],
            ));
        }
        FlatScratch::Address => add_64(prolog, PReg::FLAT_SCRATCH_LO, init, offset),
    }
    Ok(())
}

/// Sets M0 before LDS accesses where the target compares addresses with it.
fn insert_lds_limit(f: &mut Function, target: &Target, prolog: &mut Vec<Inst>) {
    if target.has(Features::LDS_NO_M0) {
        return;
    }
    let is_access = |inst: &Inst| inst.op.info().flags.contains(OpFlags::M0_LDS);
    let set = || Inst::new(Opcode::S_MOV_B32, [Operand::preg(PReg::M0, 1), Operand::Imm(-1)]);
    let mut accesses = false;
    let mut clobbered = false;
    for &block in &f.layout {
        for inst in &f.blocks[block].insts {
            accesses |= is_access(inst);
            clobbered |= writes_m0(inst);
        }
    }
    if !accesses {
        return;
    }
    if !clobbered {
        prolog.push(set());
        return;
    }
    for &block in &f.layout {
        let insts = &mut f.blocks[block].insts;
        if !insts.iter().any(is_access) {
            continue;
        }
        let mut limited = false;
        for inst in std::mem::take(insts) {
            if is_access(&inst) && !std::mem::replace(&mut limited, true) {
                insts.push(set());
            }
            limited &= !writes_m0(&inst);
            insts.push(inst);
        }
    }
}

fn writes_m0(inst: &Inst) -> bool {
    let mut writes = false;
    crate::regs::for_each_access(inst, |access| {
        writes |= access.write && access.range().contains(&usize::from(PReg::M0.0))
    });
    writes
}
