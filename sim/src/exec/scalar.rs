//! Scalar operands, and the scalar ALU's frame: operands in, results with their undefined bits out.

use super::{Exec, Launch, salu, unsupported};
use crate::program::{Op, Src};
use crate::report::{Checks, Kind, Report, Result};
use crate::wave::Wave;
use mir::isa::{Format, OpFlags, Role};
use mir::machine::PReg;

impl Exec<'_> {
    /// A scalar source: value and undefined bits.
    #[inline]
    pub fn scalar(&self, w: &Wave, reg: u16, dwords: u8) -> (u64, u64) {
        scalar_of(self.launch, w, reg, dwords)
    }

    /// Writes EXEC, whose bits must be defined.
    pub fn set_exec(&self, w: &mut Wave, value: u64, undef: u64) -> Result<()> {
        if undef != 0 && self.checks(Checks::UNDEF_BRANCH) {
            let lane = undef.trailing_zeros() as usize;
            return Err(
                Report::new(Kind::UndefBranch, format!("EXEC gets undefined bits 0x{undef:x}")).at_lane(lane)
            );
        }
        w.set_exec(value);
        Ok(())
    }

    /// Writes a scalar destination of one or two dwords.
    pub fn write_scalar(&self, w: &mut Wave, reg: u16, dwords: u8, value: u64, undef: u64) -> Result<()> {
        let exec = PReg::EXEC_LO.0;
        if reg == PReg::NULL.0 {
            return Ok(());
        }
        if reg == exec && dwords >= 2 {
            return self.set_exec(w, value, undef);
        }
        if (reg == exec || reg == exec + 1) && undef as u32 != 0 {
            self.set_exec(w, 0, undef)?;
        }
        if dwords >= 2 {
            w.set_pair(PReg(reg), value, undef);
        } else if let Some(s) = w.s.get_mut(usize::from(reg)) {
            *s = value as u32;
            w.su[usize::from(reg)] = undef as u32;
        }
        Ok(())
    }

    /// One scalar ALU instruction.
    pub(super) fn salu(&mut self, w: &mut Wave, op: &Op) -> Result<()> {
        let mut input = salu::In { scc: w.scc, exec: w.exec(), ..Default::default() };
        let mut undef = salu::Undef {
            scc: w.scc_undef && op.info.flags.contains(OpFlags::SCC_USE),
            ..Default::default()
        };
        for (k, s) in op.srcs.iter().enumerate() {
            let (v, u) = match s.src {
                Src::S(r) => self.scalar(w, r, s.dwords),
                Src::K(c) if s.dwords >= 2 => (c, 0),
                Src::K(c) => (c & 0xffff_ffff, 0),
                Src::V(_) => (0, !0),
            };
            // The immediate of SOPK is the second operand whatever stands before it.
            let second = k > 0 || op.info.format == Format::Sopk && matches!(s.src, Src::K(_));
            if second {
                (input.b, undef.b) = (v, u);
            } else {
                (input.a, undef.a) = (v, u);
            }
        }
        if let Some((reg, dwords)) = op.sdst
            && op.info.operands.first().is_some_and(|o| o.role == Role::DefUse)
        {
            (input.d, undef.d) = self.scalar(w, reg, dwords);
        }
        let Some(out) = salu::compute(op.inst.op, &input) else {
            return Err(unsupported(op));
        };
        let (du, scc_u, exec_u) =
            if undef.any() { salu::undefined(op.inst.op, &input, &undef, &out) } else { (0, false, 0) };
        if let Some((reg, dwords)) = op.sdst {
            self.write_scalar(w, reg, dwords, out.d, du)?;
        }
        if let Some(scc) = out.scc {
            w.scc = scc;
            w.scc_undef = scc_u;
        }
        if let Some(exec) = out.exec {
            self.set_exec(w, exec, exec_u)?;
        }
        Ok(())
    }
}

/// A scalar source: value and undefined bits. 32-bit reads of the aperture registers give their high dword.
#[inline]
pub(super) fn scalar_of(launch: &Launch, w: &Wave, reg: u16, dwords: u8) -> (u64, u64) {
    if reg < PReg::VCCZ.0 && reg != PReg::NULL.0 {
        return if dwords >= 2 {
            (w.pair(PReg(reg)), w.pair_undef(PReg(reg)))
        } else {
            (u64::from(w.s[usize::from(reg)]), u64::from(w.su[usize::from(reg)]))
        };
    }
    let aperture = |high: u32, low: u32| {
        if dwords >= 2 { u64::from(high) << 32 | u64::from(low) } else { u64::from(high) }
    };
    match PReg(reg) {
        PReg::VCCZ => {
            let (v, u) = (w.vcc(), w.mask_undef(PReg::VCC_LO));
            (u64::from(v == 0), u64::from(u != 0 && v & !u == 0))
        }
        PReg::EXECZ => (u64::from(w.exec() == 0), 0),
        PReg::SCC => (u64::from(w.scc), u64::from(w.scc_undef)),
        PReg::SHARED_BASE => (aperture(launch.shared_aperture, 0), 0),
        PReg::SHARED_LIMIT => (aperture(launch.shared_aperture, !0), 0),
        PReg::PRIVATE_BASE => (aperture(launch.private_aperture, 0), 0),
        PReg::PRIVATE_LIMIT => (aperture(launch.private_aperture, !0), 0),
        _ => (0, 0),
    }
}
