//! The kernel prolog: what the entry registers lack before user code may run.
//!
//! * Scratch resource: the wave's offset is added to its base, so that accesses need no offset register.
//! * FLAT_SCRATCH, where flat instructions may reach scratch: from the initial values, in the form of the generation.
//! * The stack pointer, where the kernel calls functions.
//! * M0 as the limit of LDS accesses, where the target checks it: all ones allow the whole allocation. Where the function writes M0
//!   for other purposes, the limit is set again in each block that accesses LDS.
//!
//! Runs after allocation, before waits are inserted: all entry registers are live at the start, and the prolog changes
//! them in place.
//!
//! Sources: AMDGPU usage guide, "Kernel Prolog" and "Initial Kernel Execution State"; halves of FLAT_SCRATCH on GFX7-8:
//! ERRATA E4.

use mir::abi::call::{STACK_ALIGN_BYTES, STACK_POINTER};
use mir::ir::CallConv;
use mir::isa::Opcode;
use mir::machine::{EntryValue, Function, Inst, Operand, PReg};
use mir::target::{FLAT_SCRATCH_HALVES, Features, FlatScratch, Target};
use mir::{Diagnostic, Result};

/// Inserts the prolog of a kernel; other functions get theirs from their caller.
///
/// Errors: an entry value that the prolog needs was not asked for (`Defect`); flat access to scratch where the processor has
/// none (`Unsupported`).
pub fn insert_prolog(f: &mut Function, target: &Target) -> Result<()> {
    if f.call_conv.is_callable() {
        crate::callee::insert_frame(f, target)?;
        let mut prolog = Vec::new();
        insert_lds_limit(f, target, &mut prolog);
        if let Some(&entry) = f.layout.first() {
            f.blocks[entry].insts.splice(0..0, prolog);
        }
        return Ok(());
    }
    if f.call_conv != CallConv::Kernel && !mir::abi::shader::is_shader(f.call_conv) {
        return Ok(());
    }
    let mut prolog = Vec::new();
    let offset = f.entry.contains(EntryValue::ScratchWaveOffset);
    if f.uses_flat_scratch {
        init_flat_scratch(f, target, &mut prolog)?;
        f.resources.flat_scratch = true;
    }
    // A chain function is given a resource to which the offset has been added.
    if offset && f.entry.contains(EntryValue::PrivateSegmentBuffer) && !f.call_conv.is_chain() {
        let base = entry_register(f, EntryValue::PrivateSegmentBuffer)?;
        let offset = entry_register(f, EntryValue::ScratchWaveOffset)?;
        add_64(&mut prolog, base, base, offset);
    } else if f.resources.scratch_bytes > 0 && !offset {
        return Err(missing(f, EntryValue::ScratchWaveOffset));
    }
    // Its places are a part of the frame, behind which the stack of callees begins.
    crate::chain::keep(f, target, &mut prolog)?;
    if !f.calls.is_empty() || f.dynamic_stack {
        // The stack of callees begins behind the kernel's own objects.
        f.resources.scratch_bytes = f.resources.scratch_bytes.next_multiple_of(STACK_ALIGN_BYTES);
        let start = i64::from(f.resources.scratch_bytes) * i64::from(f.bytes_in_base());
        let covers = |(value, first, _): &(EntryValue, PReg, _)| {
            (*first..first.plus(u16::from(value.dwords()))).contains(&STACK_POINTER)
        };
        if f.entry.registers().iter().any(covers) {
            return Err(Diagnostic::unsupported(
                "calls where an argument is in the register of the stack pointer",
            )
            .in_function(&f.name));
        }
        prolog.push(Inst::new(Opcode::S_MOV_B32, [Operand::preg(STACK_POINTER, 1), Operand::Imm(start)]));
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
    match target.limits().flat_scratch {
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
        FlatScratch::HardwareAddress => {
            add_64(prolog, init, init, offset);
            for half in 0..2 {
                let to = Operand::Imm(FLAT_SCRATCH_HALVES[usize::from(half)]);
                prolog.push(Inst::new(Opcode::S_SETREG_B32, [to, reg(init.plus(half))]));
            }
        }
    }
    Ok(())
}

/// Sets M0 before LDS accesses where the target compares addresses with it.
fn insert_lds_limit(f: &mut Function, target: &Target, prolog: &mut Vec<Inst>) {
    if target.has(Features::LDS_NO_M0) {
        return;
    }
    let is_access = |inst: &Inst| inst.needs_lds_limit();
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
    let mut writes = inst.op == Opcode::CALL;
    inst.for_each_access(|access| {
        writes |= access.write && access.range().contains(&usize::from(PReg::M0.0))
    });
    writes
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_entity::EntityRef;
    use mir::ir::Func;

    fn target(name: &str) -> Target {
        Target::new(Target::processor_by_name(name).expect("a processor of the table"))
    }

    fn kernel(values: &[EntryValue], insts: &[Inst]) -> Function {
        let mut f = Function::new("k", CallConv::Kernel, Func::new(0));
        values.iter().for_each(|&value| f.entry.request(value, None));
        let block = f.add_block();
        f.blocks[block].insts = insts.to_vec();
        f
    }

    /// The prolog as words.
    fn prolog(f: &mut Function, name: &str) -> Vec<u32> {
        insert_prolog(f, &target(name)).expect("all values are there");
        let mut words = Vec::new();
        for inst in &f.blocks[f.layout[0]].insts {
            mir::isa::encode(inst, &target(name), &mut words).expect("encodes");
        }
        words
    }

    const SCRATCH: [EntryValue; 4] = [
        EntryValue::PrivateSegmentBuffer,
        EntryValue::KernargSegmentPtr,
        EntryValue::FlatScratchInit,
        EntryValue::ScratchWaveOffset,
    ];

    /// `s_add_u32 s0, s0, s8; s_addc_u32 s1, s1, 0` as llc writes it.
    #[test]
    fn scratch_base_gets_the_wave_offset() {
        let mut f = kernel(&SCRATCH, &[]);
        assert_eq!(prolog(&mut f, "gfx900"), [0x8000_0800, 0x8201_8001]);
        assert!(!f.resources.flat_scratch);
        assert!(prolog(&mut kernel(&[EntryValue::KernargSegmentPtr], &[]), "gfx900").is_empty());
    }

    #[test]
    fn flat_scratch_takes_the_generations_form() {
        let mut f = kernel(&SCRATCH, &[]);
        f.uses_flat_scratch = true;
        // s_add_u32 flat_scratch_lo, s6, s8; s_addc_u32 flat_scratch_hi, s7, 0; then the resource.
        assert_eq!(prolog(&mut f, "gfx900"), [0x8066_0806, 0x8267_8007, 0x8000_0800, 0x8201_8001]);
        assert!(f.resources.flat_scratch);
        let mut f = kernel(&SCRATCH, &[]);
        f.uses_flat_scratch = true;
        // s_add_u32 s6, s6, s8; s_mov_b32 flat_scratch_lo, s7; s_lshr_b32 flat_scratch_hi, s6, 8
        assert_eq!(prolog(&mut f, "gfx803")[..3], [0x8006_0806, 0xbee6_0007, 0x8f67_8806]);
        let mut f = kernel(&SCRATCH, &[]);
        f.uses_flat_scratch = true;
        // s_add_u32 s6, s6, s8; s_addc_u32 s7, s7, 0; s_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO), s6; the same of HI with s7
        assert_eq!(prolog(&mut f, "gfx1010")[..4], [0x8006_0806, 0x8207_8007, 0xb986_f814, 0xb987_f815]);
        let mut f = kernel(&SCRATCH, &[]);
        f.uses_flat_scratch = true;
        assert!(insert_prolog(&mut f, &target("gfx600")).is_err());
    }

    #[test]
    fn missing_entry_values_are_reported() {
        let mut f = kernel(&[EntryValue::PrivateSegmentBuffer], &[]);
        f.resources.scratch_bytes = 4;
        let error = insert_prolog(&mut f, &target("gfx900")).expect_err("no wave offset");
        assert!(error.message.contains("ScratchWaveOffset"), "{error}");
    }

    #[test]
    fn lds_limit_is_set_where_needed() {
        let read = Inst::new(
            Opcode::DS_READ_B32,
            [Operand::preg(PReg::vgpr(0), 1), Operand::preg(PReg::vgpr(1), 1)],
        );
        let m0 = Inst::new(Opcode::S_MOV_B32, [Operand::preg(PReg::M0, 1), Operand::preg(PReg::sgpr(3), 1)]);
        let count = |insts: &[Inst], name: &str| {
            let mut f = kernel(&[], insts);
            insert_prolog(&mut f, &target(name)).expect("nothing is missing");
            let set = |inst: &Inst| inst.operands.last() == Some(&Operand::Imm(-1));
            f.blocks[f.layout[0]].insts.iter().filter(|inst| set(inst)).count()
        };
        assert_eq!(count(&[read.clone(), read.clone()], "gfx900"), 0);
        assert_eq!(count(&[read.clone(), read.clone()], "gfx803"), 1);
        assert_eq!(count(std::slice::from_ref(&m0), "gfx803"), 0);
        assert_eq!(count(&[read.clone(), m0, read.clone(), read], "gfx803"), 2);
    }
}
