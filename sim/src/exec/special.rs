//! Scalar instructions that are more than arithmetic: branches, waits, barriers, hardware registers, register indexing.

use super::{Exec, Handler, unsupported};
use crate::program::{Op, Src};
use crate::report::{Checks, Kind, Report, Result};
use crate::strict::waits::EventKind;
use crate::wave::{Status, Wave};
use mir::isa::Opcode;
use mir::isa::Opcode::*;
use mir::machine::PReg;
use mir::target::{Counter, Features, WaitCounts};

/// What executes `op`.
pub fn handler(op: Opcode) -> Option<Handler> {
    Some(match op {
        S_NOP => |x, _, _, _| {
            x.stats.nop += 1;
            Ok(())
        },
        S_WAITCNT | S_WAITCNT_VSCNT | S_WAITCNT_VMCNT | S_WAITCNT_EXPCNT | S_WAITCNT_LGKMCNT => {
            |x, w, _, op| x.waitcnt(w, op)
        }
        S_WAIT_IDLE => |x, w, _, _| {
            x.waited(w, WaitCounts::ZERO);
            Ok(())
        },
        S_BRANCH | S_CBRANCH_SCC0 | S_CBRANCH_SCC1 | S_CBRANCH_VCCZ | S_CBRANCH_VCCNZ | S_CBRANCH_EXECZ
        | S_CBRANCH_EXECNZ => |x, w, _, op| x.branch(w, op),
        // No debugger is attached: the conditions are false.
        S_CBRANCH_CDBGSYS | S_CBRANCH_CDBGUSER | S_CBRANCH_CDBGSYS_OR_USER | S_CBRANCH_CDBGSYS_AND_USER => {
            |x, _, _, _| {
                x.stats.branch += 1;
                Ok(())
            }
        }
        S_CBRANCH_I_FORK => |x, w, _, op| x.fork(w, op, false),
        S_CBRANCH_G_FORK => |x, w, _, op| x.fork(w, op, true),
        S_CBRANCH_JOIN => |x, w, _, op| x.join(w, op),
        S_ENDPGM | S_ENDPGM_SAVED | S_ENDPGM_ORDERED_PS_DONE => |x, w, _, _| {
            x.stats.other += 1;
            w.status = Status::Done;
            Ok(())
        },
        S_BARRIER => |x, w, _, _| {
            x.stats.other += 1;
            w.status = Status::Barrier(w.pc.wrapping_sub(4));
            Ok(())
        },
        S_TRAP => |_, _, _, op| Err(Report::new(Kind::Trap, format!("s_trap {}", op.imm))),
        S_SETHALT => |x, _, _, op| {
            if op.imm & 1 != 0 {
                return Err(Report::new(Kind::Trap, "s_sethalt"));
            }
            x.stats.other += 1;
            Ok(())
        },
        S_SENDMSG | S_SENDMSGHALT => |x, w, _, _| {
            x.stats.other += 1;
            w.waits.issue(Counter::Lgkm, EventKind::Message, &[]);
            Ok(())
        },
        S_WAKEUP | S_SETKILL | S_SLEEP | S_SETPRIO | S_ICACHE_INV | S_INCPERFLEVEL | S_DECPERFLEVEL
        | S_TTRACEDATA | S_TTRACEDATA_IMM | S_INST_PREFETCH | S_CLAUSE | S_VERSION | S_WAITCNT_DEPCTR => {
            |x, _, _, _| {
                x.stats.other += 1;
                Ok(())
            }
        }
        // The parts of MODE by themselves. Source: RDNA ISA, `S_ROUND_MODE` and `S_DENORM_MODE`.
        S_ROUND_MODE => |x, w, _, op| {
            x.stats.other += 1;
            w.mode = w.mode & !0x0f | op.imm as u32 & 15;
            Ok(())
        },
        S_DENORM_MODE => |x, w, _, op| {
            x.stats.other += 1;
            w.mode = w.mode & !0xf0 | (op.imm as u32 & 15) << 4;
            Ok(())
        },
        S_CODE_END => |_, _, _, _| Err(Report::new(Kind::BadInstruction, "s_code_end: no code is here")),
        S_SUBVECTOR_LOOP_BEGIN => |x, w, _, op| x.subvector_begin(w, op),
        S_SUBVECTOR_LOOP_END => |x, w, _, op| x.subvector_end(w, op),
        S_GETPC_B64 => |x, w, _, op| x.write_sdst(w, op, 2, x.launch.image_base.wrapping_add(w.pc), 0),
        S_SETPC_B64 => |x, w, _, op| {
            let target = x.decided(w, op, "the target")?;
            w.pc = target.wrapping_sub(x.launch.image_base);
            Ok(())
        },
        S_SWAPPC_B64 => |x, w, _, op| {
            let target = x.decided(w, op, "the target")?;
            x.write_sdst(w, op, 2, x.launch.image_base.wrapping_add(w.pc), 0)?;
            w.pc = target.wrapping_sub(x.launch.image_base);
            Ok(())
        },
        S_CALL_B64 => |x, w, _, op| {
            x.write_sdst(w, op, 2, x.launch.image_base.wrapping_add(w.pc), 0)?;
            w.pc = w.pc.wrapping_add((op.imm * 4) as u64);
            Ok(())
        },
        S_MOVRELS_B32 => |x, w, _, op| x.movrels(w, op, 1),
        S_MOVRELS_B64 => |x, w, _, op| x.movrels(w, op, 2),
        S_MOVRELSD_2_B32 => |x, w, _, op| x.movrelsd_2(w, op),
        S_MOVRELD_B32 => |x, w, _, op| x.movreld(w, op, 1),
        S_MOVRELD_B64 => |x, w, _, op| x.movreld(w, op, 2),
        S_SET_GPR_IDX_ON | S_SET_GPR_IDX_IDX => |x, w, _, op| {
            let index = x.decided(w, op, "the register index")? as u32 & 0xff;
            let m0 = w.s[usize::from(PReg::M0.0)];
            let m0 = if op.inst.op == S_SET_GPR_IDX_ON {
                w.gpr_idx = true;
                m0 & 0xffff_0f00 | index | (op.imm as u32 & 15) << 12
            } else {
                m0 & !0xff | index
            };
            w.set_s(PReg::M0, m0);
            Ok(())
        },
        S_SET_GPR_IDX_MODE => |_, w, _, op| {
            let m0 = w.s[usize::from(PReg::M0.0)];
            w.set_s(PReg::M0, m0 & 0xffff_0fff | (op.imm as u32 & 15) << 12);
            Ok(())
        },
        S_SET_GPR_IDX_OFF => |_, w, _, _| {
            w.gpr_idx = false;
            Ok(())
        },
        S_GETREG_B32 => |x, w, _, op| {
            let hw = op.hwreg();
            let value = x.hardware_register(w, hw & 63).ok_or_else(|| unsupported(op))?;
            let (offset, width) = (hw >> 6 & 31, (hw >> 11 & 31) + 1);
            let field = u64::from(value) >> offset & ((1u64 << width) - 1);
            x.write_sdst(w, op, 1, field, 0)
        },
        S_SETREG_B32 | S_SETREG_IMM32_B32 => |x, w, _, op| x.setreg(w, op),
        S_SETVSKIP => |x, w, _, op| x.setvskip(w, op),
        _ => return None,
    })
}

impl Exec<'_> {
    /// One of the instructions that wait for counters.
    fn waitcnt(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        let waits = self.launch.target.waits();
        let counts = match waits.waited_for(&op.inst) {
            Some(counts) => counts,
            None => {
                // The count of a single counter is the sum of the immediate and a register, `null` for none.
                let counter = Counter::ALL.into_iter().find(|c| c.own_wait() == op.inst.op);
                let counter = counter.ok_or_else(|| unsupported(op))?;
                let sum = self.decided(w, op, "the count")?.wrapping_add(op.imm as u64) & 63;
                waits.max().with(counter, (sum as u8).min(waits.max()[counter]))
            }
        };
        self.waited(w, counts);
        Ok(())
    }

    fn waited(&mut self, w: &mut Wave, counts: WaitCounts) {
        self.stats.waitcnt += 1;
        w.waits.wait_for(counts);
        if let Some(order) = self.mem.order() {
            order.waited(w.index, w.waits.done_by_path());
        }
    }

    /// Whether a wait has anything to wait for.
    pub fn would_wait(&self, w: &Wave, op: &Op) -> bool {
        self.launch.target.waits().waited_for(&op.inst).is_some_and(|counts| w.waits.exceeds(counts))
    }

    /// Halves of a wave of 64 lanes run one after the other: the first that has active lanes comes first, EXEC of the other is kept.
    ///
    /// Source: RDNA ISA, `S_SUBVECTOR_LOOP_BEGIN` and `S_SUBVECTOR_LOOP_END`.
    fn subvector_begin(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        self.stats.branch += 1;
        let exec = w.exec();
        if exec == 0 {
            w.pc = w.pc.wrapping_add((op.imm * 4) as u64);
            return Ok(());
        }
        if exec as u32 == 0 {
            return self.write_sdst(w, op, 1, 0, 0);
        }
        self.write_sdst(w, op, 1, exec >> 32, 0)?;
        self.set_exec(w, exec & 0xffff_ffff, 0)
    }

    fn subvector_end(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        self.stats.branch += 1;
        let exec = w.exec();
        let (reg, _) = op.sdst.ok_or_else(|| unsupported(op))?;
        let (kept, undef) = self.scalar(w, reg, 1);
        if exec >> 32 != 0 {
            return self.set_exec(w, exec & !0xffff_ffff | kept & 0xffff_ffff, undef);
        }
        if undef != 0 && self.checks(Checks::UNDEF_BRANCH) {
            return Err(Report::new(Kind::UndefBranch, "the kept half of EXEC is undefined"));
        }
        if kept != 0 {
            self.write_sdst(w, op, 1, exec & 0xffff_ffff, 0)?;
            w.pc = w.pc.wrapping_add((op.imm * 4) as u64);
            self.set_exec(w, kept << 32, 0)?;
        }
        Ok(())
    }

    /// `s_movrelsd_2_b32`: M0 has the source's index in bits 9:0, the destination's in 25:16.
    fn movrelsd_2(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        let m0 = self.defined_m0(w)?;
        let Some(Src::S(r)) = op.srcs.first().map(|s| s.src) else { return Err(unsupported(op)) };
        let (v, u) = self.scalar(w, self.sgpr_at(r, (m0 & 0x3ff) as u16)?, 1);
        let (reg, _) = op.sdst.ok_or_else(|| unsupported(op))?;
        self.write_scalar(w, self.sgpr_at(reg, (m0 >> 16 & 0x3ff) as u16)?, 1, v, u)
    }

    fn branch(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        self.stats.branch += 1;
        if self.condition(w, op.inst.op)? {
            w.pc = w.pc.wrapping_add((op.imm * 4) as u64);
        }
        Ok(())
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
                let (v, u) = (w.vcc(), w.mask_undef(PReg::VCC_LO));
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

    /// Writes the scalar destination.
    fn write_sdst(&self, w: &mut Wave, op: &Op, dwords: u8, value: u64, undef: u64) -> Result<()> {
        let (reg, _) = op.sdst.ok_or_else(|| unsupported(op))?;
        self.write_scalar(w, reg, dwords, value, undef)
    }

    fn movrels(&mut self, w: &mut Wave, op: &Op, dwords: u8) -> Result<()> {
        let m0 = self.defined_m0(w)? as u16;
        let Some(Src::S(r)) = op.srcs.first().map(|s| s.src) else { return Err(unsupported(op)) };
        let (v, u) = self.scalar(w, self.sgpr_at(r, m0)?, dwords);
        self.write_sdst(w, op, dwords, v, u)
    }

    fn movreld(&mut self, w: &mut Wave, op: &Op, dwords: u8) -> Result<()> {
        let m0 = self.defined_m0(w)? as u16;
        let (v, u) = match op.srcs.first().map(|s| s.src) {
            Some(Src::S(r)) => self.scalar(w, r, dwords),
            Some(Src::K(k)) => (k, 0),
            _ => return Err(unsupported(op)),
        };
        let (reg, _) = op.sdst.ok_or_else(|| unsupported(op))?;
        self.write_scalar(w, self.sgpr_at(reg, m0)?, dwords, v, u)
    }

    fn setreg(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        let hw = op.hwreg();
        let value = op.srcs.iter().rev().find_map(|s| match s.src {
            Src::S(r) => Some(self.scalar(w, r, 1)),
            Src::K(k) if op.inst.op == S_SETREG_IMM32_B32 => Some((k, 0)),
            _ => None,
        });
        let Some((value, undef)) = value else { return Err(unsupported(op)) };
        let flat_scratch = matches!(hw & 63, 20 | 21) && self.launch.flat_scratch_is_apart();
        // FLAT_SCRATCH is judged where an access uses it, as where it is SGPRs.
        if undef != 0 && !flat_scratch && self.checks(Checks::UNDEF_BRANCH) {
            return Err(Report::new(Kind::UndefBranch, "the value for the hardware register is undefined"));
        }
        let (offset, width) = (hw >> 6 & 31, (hw >> 11 & 31) + 1);
        let field = (((1u64 << width) - 1) << offset) as u32;
        let part = (value as u32) << offset & field;
        match hw & 63 {
            1 => w.mode = w.mode & !field | part,
            id @ (20 | 21) if flat_scratch => {
                let reg = PReg(PReg::FLAT_SCRATCH_LO.0 + (id - 20) as u16);
                let slot = usize::from(reg.0);
                let unknown = w.su[slot] & !field | (undef as u32) << offset & field;
                w.set_s(reg, w.s[slot] & !field | part);
                w.su[slot] = unknown;
            }
            _ => {}
        }
        Ok(())
    }

    /// Vector skip mode: on is refused, as no vector instruction would count or be checked.
    fn setvskip(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        let operand = |k: usize| match op.srcs.get(k).map(|s| s.src) {
            Some(Src::S(r)) => self.scalar(w, r, 1).0,
            Some(Src::K(c)) => c,
            _ => 0,
        };
        if operand(0) >> (operand(1) & 31) & 1 != 0 {
            return Err(unsupported(op));
        }
        Ok(())
    }

    /// Lanes fork by the mask in the first source: the smaller part goes first, the other is put on the stack of SGPRs whose depth
    /// is in MODE.csp. Source: Southern Islands ISA, "S_CBRANCH_G_FORK".
    fn fork(&mut self, w: &mut Wave, op: &Op, absolute: bool) -> Result<()> {
        self.stats.branch += 1;
        let Some(Src::S(r)) = op.srcs.first().map(|s| s.src) else { return Err(unsupported(op)) };
        let (mask, undef) = self.scalar(w, r, 2);
        if undef != 0 && self.checks(Checks::UNDEF_BRANCH) {
            return Err(Report::new(Kind::UndefBranch, "the mask of a fork is undefined"));
        }
        let base = self.launch.image_base;
        let target = if absolute {
            match op.srcs.get(1).map(|s| s.src) {
                Some(Src::S(r)) => self.scalar(w, r, 2).0.wrapping_sub(base),
                _ => return Err(unsupported(op)),
            }
        } else {
            w.pc.wrapping_add((op.imm * 4) as u64)
        };
        let (pass, fail) = (mask & w.exec(), !mask & w.exec());
        if pass == w.exec() {
            w.pc = target;
            return Ok(());
        }
        if fail == w.exec() {
            return Ok(());
        }
        let depth = w.mode >> 29 & 7;
        let slot = (depth * 4) as u16;
        let (wait_mask, wait_pc, go_mask, go_pc) = if fail.count_ones() < pass.count_ones() {
            (pass, target, fail, w.pc)
        } else {
            (fail, w.pc, pass, target)
        };
        w.set_pair(PReg::sgpr(slot), wait_mask, 0);
        w.set_pair(PReg::sgpr(slot + 2), base.wrapping_add(wait_pc), 0);
        w.mode = w.mode & 0x1fff_ffff | (depth + 1) << 29;
        w.pc = go_pc;
        self.set_exec(w, go_mask, 0)
    }

    /// The end of a forked region: goes on with what is on the stack, or with all lanes.
    fn join(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        self.stats.branch += 1;
        let saved = self.decided(w, op, "the saved stack depth")? as u32 & 7;
        let depth = w.mode >> 29 & 7;
        if depth == saved {
            return Ok(());
        }
        let depth = depth.wrapping_sub(1) & 7;
        w.mode = w.mode & 0x1fff_ffff | depth << 29;
        let slot = (depth * 4) as u16;
        let (mask, pc) = (w.pair(PReg::sgpr(slot)), w.pair(PReg::sgpr(slot + 2)));
        w.pc = pc.wrapping_sub(self.launch.image_base);
        self.set_exec(w, mask, 0)
    }

    fn sgpr_at(&self, reg: u16, index: u16) -> Result<u16> {
        let n = reg.wrapping_add(index);
        if PReg(n).sgpr_index().is_none() {
            return Err(Report::new(Kind::OutOfBounds, format!("SGPR {n} by index {index}")));
        }
        Ok(n)
    }

    /// Hardware registers by number. Sources: Vega ISA, "Hardware register IDs"; RDNA ISA, "Hardware Register Values".
    fn hardware_register(&self, w: &Wave, id: u32) -> Option<u32> {
        if self.launch.flat_scratch_is_apart() {
            let scratch = usize::from(PReg::FLAT_SCRATCH_LO.0);
            match id {
                4 => return None,
                20 | 21 => return Some(w.s[scratch + (id - 20) as usize]),
                // HW_ID1 has the wave in bits 4:0, HW_ID2 nothing that differs here.
                23 => return Some(w.index & 31),
                16..=19 | 22 | 24 | 25 => return Some(0),
                29 if self.launch.target.has(Features::SHADER_CYCLES) => {
                    return Some(w.time as u32 & 0xf_ffff);
                }
                _ => {}
            }
        }
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
