//! Intrinsics that read other lanes: values cross as dwords, in ways that the processor has.

use super::{Legalizer, Parts};
use mir::ir::*;
use mir::{Diagnostic, Result};
use smallvec::SmallVec;

impl Legalizer<'_> {
    /// Refuses a way of reading other lanes that the processor does not have.
    fn check_dpp(&self, intrinsic: Intrinsic, args: &[Value]) -> Result<()> {
        let &control = args
            .get(1 + usize::from(intrinsic == Intrinsic::UpdateDpp))
            .ok_or_else(|| Diagnostic::malformed("too few arguments"))?;
        let control = self.immediate(control, "the DPP control")?;
        if mir::isa::dpp_control_exists(control as u16 & 0x1ff, self.ctx.machine.generation()) {
            return Ok(());
        }
        let what = match control & 0x1ff {
            0x130 => "wave_shl:1",
            0x134 => "wave_rol:1",
            0x138 => "wave_shr:1",
            0x13c => "wave_ror:1",
            0x142 => "row_bcast:15",
            0x143 => "row_bcast:31",
            0x150..=0x15f => "row_share",
            0x160..=0x16f => "row_xmask",
            _ => "no such control",
        };
        let name = intrinsic.name();
        let machine = self.ctx.machine;
        Err(Diagnostic::unsupported(format!("llvm.{name}: DPP control {control:#x} ({what}) on {machine}")))
    }

    /// Values that cross lanes do so as dwords.
    pub(super) fn lower_lane_crossing(
        &mut self,
        intrinsic: Intrinsic,
        args: &[Value],
        ty: Type,
    ) -> Result<Parts> {
        use Intrinsic::*;
        // Which arguments are data, the others control.
        let data: &[usize] = match intrinsic {
            Readlane | Readfirstlane | MovDpp | MovDpp8 | DsSwizzle | StrictWwm | StrictWqm | Wqm
            | Softwqm => &[0],
            Writelane => &[0, 2],
            UpdateDpp | SetInactive | Permlane16 | Permlanex16 => &[0, 1],
            DsBpermute | DsPermute => &[1],
            _ => &[],
        };
        if matches!(intrinsic, MovDpp | UpdateDpp) {
            self.check_dpp(intrinsic, args)?;
        }
        let mut dwords: SmallVec<[SmallVec<[Value; 8]>; 3]> = SmallVec::new();
        let mut control: SmallVec<[Parts; 4]> = SmallVec::new();
        let scalar = ty.scalar().ok_or_else(|| Diagnostic::unsupported("aggregate across lanes"))?;
        for (i, &arg) in args.iter().enumerate() {
            let parts = self.parts(arg)?;
            if data.contains(&i) {
                dwords.push(self.split_dwords(&parts, scalar));
            } else {
                control.push(parts);
            }
        }
        let Some(count) = dwords.first().map(SmallVec::len) else {
            return Err(Diagnostic::malformed(format!("llvm.{} without data", intrinsic.name())));
        };
        let mut words: SmallVec<[Value; 8]> = SmallVec::new();
        for word in 0..count {
            let (mut next_data, mut next_control) = (0, 0);
            let mut all: SmallVec<[Value; 4]> = SmallVec::new();
            for i in 0..args.len() {
                if data.contains(&i) {
                    all.push(dwords[next_data][word]);
                    next_data += 1;
                } else {
                    all.extend(control[next_control].iter().copied());
                    next_control += 1;
                }
            }
            let result = self
                .push_legal(intrinsic, &all, Type::I32)?
                .ok_or_else(|| Diagnostic::defect("intrinsic without a result"))?;
            words.push(result);
        }
        let mut out = Parts::new();
        for lane in 0..ty.lanes() {
            self.join_dwords(&words, lane * scalar.bits(), scalar, &mut out);
        }
        Ok(out)
    }
}
