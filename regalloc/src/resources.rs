//! What an allocated function takes, and where the registers of spilled SGPRs are.

use crate::access;
use crate::liveness::Kind;
use crate::pack::UNBOUND;
use mir::isa::{Implicit, Opcode};
use mir::machine::{Function, Operand, PReg, Reg};
use mir::{Diagnostic, Result};

/// Notes the registers of whole-wave values for the prolog of a function that is called.
pub(crate) fn note_whole_wave(f: &mut Function, reg_of: &[u16]) {
    let mut out: Vec<PReg> = Vec::new();
    for (v, data) in f.vregs.iter().filter(|(v, _)| Kind::of(f, *v) == Kind::WholeWave) {
        let first = reg_of[v.as_u32() as usize];
        if first != UNBOUND {
            out.extend((0..u16::from(data.dwords)).map(|d| PReg::vgpr(first + d)));
        }
    }
    out.sort_unstable();
    out.dedup();
    f.whole_wave_vgprs = out;
}

/// Registers for spilled SGPRs: behind all others; where there are calls, those that all callees leave alone, and
/// where there is inline assembly, those that it does not name.
fn lane_places(f: &Function, lanes: u16) -> Vec<PReg> {
    let first = f.resources.vgprs as u16;
    if f.calls.is_empty() && f.asm_sites.is_empty() {
        return (0..lanes).map(|n| PReg::vgpr(first + n)).collect();
    }
    let mut taken = [false; PReg::VGPRS as usize];
    for &block in &f.layout {
        for inst in &f.blocks[block].insts {
            let spills = matches!(inst.op, Opcode::V_WRITELANE_B32 | Opcode::V_READLANE_B32);
            for (_, operand) in access::registers(inst) {
                if let Reg::Physical(reg) = operand.reg {
                    let numbers = (0..u16::from(operand.dwords)).filter_map(|d| reg.plus(d).vgpr_index());
                    // The provisional numbers of those that are placed here.
                    for n in numbers.filter(|&n| !(spills && n >= PReg::VGPRS - lanes)) {
                        taken[usize::from(n)] = true;
                    }
                }
            }
        }
    }
    let kept = |n: u16| f.calls.iter().all(|site| !site.changed().contains(PReg::vgpr(n)));
    let free = |n: &u16| !taken[usize::from(*n)] && kept(*n);
    (0..PReg::VGPRS).filter(free).take(usize::from(lanes)).map(PReg::vgpr).collect()
}

/// Numbers the registers that hold spilled SGPRs behind all others.
pub(crate) fn place_lane_registers(f: &mut Function, lanes: u16) -> Result<()> {
    let places = lane_places(f, lanes);
    if places.len() < usize::from(lanes) {
        return Err(Diagnostic::limit(
            "no VGPR is left for spilled SGPRs beside those that calls and inline assembly change",
        ));
    }
    f.whole_wave_vgprs.extend(&places);
    for block in f.layout.clone() {
        for inst in &mut f.blocks[block].insts {
            if !matches!(inst.op, Opcode::V_WRITELANE_B32 | Opcode::V_READLANE_B32) {
                continue;
            }
            for operand in &mut inst.operands {
                if let Operand::Reg(reg) = operand
                    && let Reg::Physical(p) = reg.reg
                    && let Some(n) = p.vgpr_index().filter(|&n| n >= PReg::VGPRS - lanes)
                {
                    reg.reg = places.get(usize::from(PReg::VGPRS - 1 - n)).copied().unwrap_or(p).into();
                }
            }
        }
    }
    Ok(())
}

/// Fills in what the code uses, the last `lanes` VGPRs apart.
pub(crate) fn resources(f: &mut Function, lanes: u16) {
    let (mut sgprs, mut vgprs, mut vcc) = (0u16, 0u16, false);
    let mut count = |reg: PReg, dwords: u8| {
        let last = reg.plus(u16::from(dwords.max(1)) - 1);
        if let Some(n) = last.vgpr_index() {
            if n >= PReg::VGPRS - lanes {
                return;
            }
            vgprs = vgprs.max(n + 1);
        } else if let Some(n) = last.sgpr_index() {
            sgprs = sgprs.max(n + 1);
        } else if (PReg::VCC_LO..=PReg::VCC_HI).contains(&last) {
            vcc = true;
        }
    };
    for &block in &f.layout {
        for inst in &f.blocks[block].insts {
            for (_, operand) in access::registers(inst) {
                if let Reg::Physical(reg) = operand.reg {
                    count(reg, operand.dwords);
                }
            }
            for (reg, dwords, _) in (inst.facts().implicit & Implicit::LISTED).registers(f.wave) {
                count(reg, dwords as u8);
            }
        }
    }
    for (value, first, _) in f.entry.registers() {
        count(first, value.dwords());
    }
    f.resources.sgprs = f.resources.sgprs.max(u32::from(sgprs));
    f.resources.vgprs = f.resources.vgprs.max(u32::from(vgprs));
    f.resources.vcc |= vcc;
    f.resources.flat_scratch |= f.uses_flat_scratch;
}
