//! Functions that are called: results, return, frame addresses, work-item ids.

use super::Selector;
use mir::abi::call::RETURN_ADDRESS;
use mir::diag::Result;
use mir::ir::{InstData, Intrinsic, Value};
use mir::isa::Opcode::*;
use mir::machine::{EntryValue, Operand, PReg};

impl<'a> Selector<'a> {
    /// Result and return address into their registers, then the return.
    pub(super) fn lower_return(&mut self, value: Option<Value>) -> Result<()> {
        if let Some(value) = value.filter(|&v| !self.is_undef(v)) {
            let dwords = self.dwords(value);
            let result = self.src(value);
            let result = self.in_vgpr(result, dwords);
            self.emit(COPY, [Operand::preg(PReg::vgpr(0), dwords), result]);
            self.mf.result_dwords = dwords;
        }
        let address = self.entry_value(EntryValue::ReturnAddress);
        let register = Operand::preg(RETURN_ADDRESS, 2);
        self.emit(COPY, [register, address]);
        self.emit(S_SETPC_B64, [register]);
        Ok(())
    }

    /// `dst` = the address of the object at `place` in the frame. The base counts for all lanes.
    pub(super) fn frame_address(&mut self, dst: Operand, base: PReg, place: u32) {
        let start = if place == 0 { dst } else { self.new_sgpr(1) };
        let shift = self.target.wave_size().trailing_zeros();
        self.sop(S_LSHR_B32, &[start, Operand::preg(base, 1), Operand::Imm(i64::from(shift))]);
        if place != 0 {
            self.sop(S_ADD_U32, &[dst, start, Operand::Imm(i64::from(place))]);
        }
    }

    /// One of the three ids that share a register.
    pub(super) fn packed_id(&mut self, data: &InstData, intrinsic: Intrinsic) -> Result<()> {
        let (_, dst) = self.result(data)?;
        let shift = match intrinsic {
            Intrinsic::WorkitemIdX => 0,
            Intrinsic::WorkitemIdY => 10,
            _ => 20,
        };
        let ids = self.entry_value(EntryValue::PackedWorkitemIds);
        if shift == 0 {
            self.vop(V_AND_B32, &[dst, Operand::Imm(0x3ff), ids]);
        } else {
            self.vop(V_BFE_U32, &[dst, ids, Operand::Imm(shift), Operand::Imm(10)]);
        }
        Ok(())
    }
}
