//! Scalar instructions that are more than arithmetic: branches, waits, barriers, hardware registers, register indexing.

use super::{Exec, unsupported};
use crate::program::{Op, Src};
use crate::report::{Checks, Kind, Report, Result};
use crate::strict::waits::{Counter, EventKind};
use crate::wave::{Status, Wave};
use mir::isa::Opcode;
use mir::isa::Opcode::*;
use mir::machine::PReg;
use mir::target::Generation;

impl Exec<'_> {
    pub(super) fn special(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        use crate::program::Class;
        debug_assert_eq!(op.class, Class::Special);
        match op.inst.op {
            S_NOP => self.stats.nop += 1,
            S_WAITCNT => {
                self.stats.waitcnt += 1;
                self.waitcnt(w, op.imm as u32);
            }
            S_BRANCH | S_CBRANCH_SCC0 | S_CBRANCH_SCC1 | S_CBRANCH_VCCZ | S_CBRANCH_VCCNZ
            | S_CBRANCH_EXECZ | S_CBRANCH_EXECNZ => {
                self.stats.branch += 1;
                if self.condition(w, op.inst.op)? {
                    w.pc = w.pc.wrapping_add((op.imm * 4) as u64);
                }
            }
            S_CBRANCH_CDBGSYS
            | S_CBRANCH_CDBGUSER
            | S_CBRANCH_CDBGSYS_OR_USER
            | S_CBRANCH_CDBGSYS_AND_USER => {
                self.stats.branch += 1;
            }
            S_ENDPGM | S_ENDPGM_SAVED | S_ENDPGM_ORDERED_PS_DONE => {
                self.stats.other += 1;
                w.status = Status::Done;
            }
            S_BARRIER => {
                self.stats.other += 1;
                w.status = Status::Barrier(w.pc.wrapping_sub(4));
            }
            S_TRAP => return Err(Report::new(Kind::Trap, format!("s_trap {}", op.imm))),
            S_SETHALT if op.imm & 1 != 0 => return Err(Report::new(Kind::Trap, "s_sethalt")),
            S_SENDMSG | S_SENDMSGHALT => {
                self.stats.other += 1;
                w.waits.issue(Counter::Lgkm, EventKind::Message, &[]);
            }
            S_WAKEUP | S_SETKILL | S_SETHALT | S_SLEEP | S_SETPRIO | S_ICACHE_INV | S_INCPERFLEVEL
            | S_DECPERFLEVEL | S_TTRACEDATA => self.stats.other += 1,
            _ => {
                self.stats.salu += 1;
                return self.special_salu(w, op);
            }
        }
        Ok(())
    }

    fn waitcnt(&self, w: &mut Wave, imm: u32) {
        // Fields: vmcnt 3:0 (and 15:14 from GFX9), expcnt 6:4, lgkmcnt 11:8. Source: the manuals' S_WAITCNT.
        let wide = self.launch.target.generation() >= Generation::Gfx9;
        let vm = imm & 15 | if wide { imm >> 10 & 0x30 } else { 0 };
        w.waits.wait(Counter::Vm, vm);
        w.waits.wait(Counter::Exp, imm >> 4 & 7);
        w.waits.wait(Counter::Lgkm, imm >> 8 & 15);
    }

    fn condition(&self, w: &Wave, op: Opcode) -> Result<bool> {
        let undefined = |what: &str| {
            if self.checks(Checks::UNDEF_BRANCH) {
                Err(Report::new(
                    Kind::UndefBranch,
                    format!("the branch depends on {what}, which is undefined"),
                ))
            } else {
                Ok(())
            }
        };
        Ok(match op {
            S_CBRANCH_SCC0 | S_CBRANCH_SCC1 => {
                if w.scc_undef {
                    undefined("SCC")?;
                }
                w.scc == (op == S_CBRANCH_SCC1)
            }
            S_CBRANCH_VCCZ | S_CBRANCH_VCCNZ => {
                let (v, u) = (w.vcc(), w.pair_undef(PReg::VCC_LO));
                if u != 0 && v & !u == 0 {
                    undefined("VCC")?;
                }
                (v == 0) == (op == S_CBRANCH_VCCZ)
            }
            S_CBRANCH_EXECZ => w.exec() == 0,
            S_CBRANCH_EXECNZ => w.exec() != 0,
            _ => true,
        })
    }

    /// The value of the first source, which must be defined.
    fn decided(&self, w: &Wave, op: &Op, what: &str) -> Result<u64> {
        let (v, u) = match op.srcs.first().map(|s| (s.src, s.dwords)) {
            Some((Src::S(r), dwords)) => self.scalar(w, r, dwords),
            Some((Src::K(k), _)) => (k, 0),
            _ => return Err(unsupported(op)),
        };
        if u != 0 && self.checks(Checks::UNDEF_ADDRESS) {
            return Err(Report::new(Kind::UndefAddress, format!("{what} is undefined")));
        }
        Ok(v)
    }

    fn special_salu(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        let base = self.launch.image_base;
        let sdst = op.sdst.map(|(r, _)| r);
        let need = || sdst.ok_or_else(|| unsupported(op));
        match op.inst.op {
            S_GETPC_B64 => self.write_scalar(w, need()?, 2, base.wrapping_add(w.pc), 0),
            S_SETPC_B64 => {
                let target = self.decided(w, op, "the target")?;
                w.pc = target.wrapping_sub(base);
                Ok(())
            }
            S_SWAPPC_B64 => {
                let target = self.decided(w, op, "the target")?;
                self.write_scalar(w, need()?, 2, base.wrapping_add(w.pc), 0)?;
                w.pc = target.wrapping_sub(base);
                Ok(())
            }
            S_CALL_B64 => {
                self.write_scalar(w, need()?, 2, base.wrapping_add(w.pc), 0)?;
                w.pc = w.pc.wrapping_add((op.imm * 4) as u64);
                Ok(())
            }
            S_MOVRELS_B32 | S_MOVRELS_B64 => {
                let m0 = self.defined_m0(w)? as u16;
                let dwords = if op.inst.op == S_MOVRELS_B64 { 2 } else { 1 };
                let Some(Src::S(r)) = op.srcs.first().map(|s| s.src) else { return Err(unsupported(op)) };
                let (v, u) = self.scalar(w, self.sgpr_at(r, m0)?, dwords);
                self.write_scalar(w, need()?, dwords, v, u)
            }
            S_MOVRELD_B32 | S_MOVRELD_B64 => {
                let m0 = self.defined_m0(w)? as u16;
                let dwords = if op.inst.op == S_MOVRELD_B64 { 2 } else { 1 };
                let (v, u) = match op.srcs.first().map(|s| s.src) {
                    Some(Src::S(r)) => self.scalar(w, r, dwords),
                    Some(Src::K(k)) => (k, 0),
                    _ => return Err(unsupported(op)),
                };
                let reg = self.sgpr_at(need()?, m0)?;
                self.write_scalar(w, reg, dwords, v, u)
            }
            S_SET_GPR_IDX_ON | S_SET_GPR_IDX_IDX => {
                let index = self.decided(w, op, "the register index")? as u32 & 0xff;
                let m0 = w.s[usize::from(PReg::M0.0)];
                let m0 = if op.inst.op == S_SET_GPR_IDX_ON {
                    w.gpr_idx = true;
                    m0 & 0xffff_0f00 | index | (op.imm as u32 & 15) << 12
                } else {
                    m0 & !0xff | index
                };
                w.set_s(PReg::M0, m0);
                Ok(())
            }
            S_SET_GPR_IDX_MODE => {
                let m0 = w.s[usize::from(PReg::M0.0)];
                w.set_s(PReg::M0, m0 & 0xffff_0fff | (op.imm as u32 & 15) << 12);
                Ok(())
            }
            S_SET_GPR_IDX_OFF => {
                w.gpr_idx = false;
                Ok(())
            }
            S_GETREG_B32 => {
                let hw = op.hwreg();
                let value = self.hardware_register(w, hw & 63).ok_or_else(|| unsupported(op))?;
                let (offset, width) = (hw >> 6 & 31, (hw >> 11 & 31) + 1);
                let field = u64::from(value) >> offset & ((1u64 << width) - 1);
                self.write_scalar(w, need()?, 1, field, 0)
            }
            S_SETREG_B32 | S_SETREG_IMM32_B32 => {
                let hw = op.hwreg();
                let value = op.srcs.iter().rev().find_map(|s| match s.src {
                    Src::S(r) => Some(self.scalar(w, r, 1).0 as u32),
                    Src::K(k) if op.inst.op == S_SETREG_IMM32_B32 => Some(k as u32),
                    _ => None,
                });
                let Some(value) = value else { return Err(unsupported(op)) };
                let (offset, width) = (hw >> 6 & 31, (hw >> 11 & 31) + 1);
                let field = (((1u64 << width) - 1) << offset) as u32;
                if hw & 63 == 1 {
                    w.mode = w.mode & !field | value << offset & field;
                }
                Ok(())
            }
            _ => Err(unsupported(op)),
        }
    }

    fn sgpr_at(&self, reg: u16, index: u16) -> Result<u16> {
        let n = reg.wrapping_add(index);
        if PReg(n).sgpr_index().is_none() {
            return Err(Report::new(Kind::OutOfBounds, format!("SGPR {n} by index {index}")));
        }
        Ok(n)
    }

    /// Hardware registers by number. Source: Vega ISA, "Hardware register IDs".
    fn hardware_register(&self, w: &Wave, id: u32) -> Option<u32> {
        Some(match id {
            1 => w.mode,
            2 => u32::from(w.scc) | u32::from(w.exec() == 0) << 9 | u32::from(w.vcc() == 0) << 10,
            3 | 7 => 0,
            4 => w.index,
            5 => 0,
            6 => 0,
            15 => self.launch.shared_aperture & 0xffff_0000 | self.launch.private_aperture >> 16,
            _ => return None,
        })
    }
}
