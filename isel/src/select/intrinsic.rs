//! Intrinsics: everything in [`mir::ir::legal`].
//!
//! Most are one instruction on plain sources and stand in tables; the rest has a rule each.

use super::float::{SignOp, by_float};
use super::{Rep, Selector};
use mir::diag::{Diagnostic, Result};
use mir::ir::{
    AddrSpace, AtomicOp, FloatPredicate, InstData, IntPredicate, Intrinsic, Ordering, SyncScope, Value,
};
use mir::isa::MaskOp;
use mir::isa::Opcode::{self, *};
use mir::machine::{EntryValue, Operand, PReg, Reg, VRegFlags};
use mir::target::WaveSize;
use smallvec::SmallVec;

/// Vector instructions whose sources are the arguments as they are.
#[rustfmt::skip]
fn plain_op(intrinsic: Intrinsic) -> Option<Opcode> {
    Some(match intrinsic {
        Intrinsic::MbcntLo => V_MBCNT_LO_U32_B32,
        Intrinsic::MbcntHi => V_MBCNT_HI_U32_B32,
        Intrinsic::CvtPkI16 => V_CVT_PK_I16_I32,
        Intrinsic::CvtPkU16 => V_CVT_PK_U16_U32,
        Intrinsic::Lerp => V_LERP_U8,
        Intrinsic::SadU8 => V_SAD_U8,
        Intrinsic::SadHiU8 => V_SAD_HI_U8,
        Intrinsic::SadU16 => V_SAD_U16,
        Intrinsic::MsadU8 => V_MSAD_U8,
        Intrinsic::Perm => V_PERM_B32,
        Intrinsic::Alignbyte => V_ALIGNBYTE_B32,
        Intrinsic::MulI24 => V_MUL_I32_I24,
        Intrinsic::MulU24 => V_MUL_U32_U24,
        Intrinsic::MulhiI24 => V_MUL_HI_I32_I24,
        Intrinsic::MulhiU24 => V_MUL_HI_U32_U24,
        Intrinsic::QsadPkU16U8 => V_QSAD_PK_U16_U8,
        Intrinsic::MqsadPkU16U8 => V_MQSAD_PK_U16_U8,
        Intrinsic::MqsadU32U8 => V_MQSAD_U32_U8,
        Intrinsic::CvtOffF32I4 => V_CVT_OFF_F32_I4,
        _ => return None,
    })
}

/// Float instructions of one format in all sources: half, float, double. `V_NOP` marks a format that does not exist.
#[rustfmt::skip]
fn float_op(intrinsic: Intrinsic) -> Option<[Opcode; 3]> {
    Some(match intrinsic {
        Intrinsic::Floor => [V_FLOOR_F16, V_FLOOR_F32, V_FLOOR_F64],
        Intrinsic::Ceil => [V_CEIL_F16, V_CEIL_F32, V_CEIL_F64],
        Intrinsic::Trunc => [V_TRUNC_F16, V_TRUNC_F32, V_TRUNC_F64],
        Intrinsic::Rint | Intrinsic::Nearbyint | Intrinsic::Roundeven => [V_RNDNE_F16, V_RNDNE_F32, V_RNDNE_F64],
        Intrinsic::Rcp => [V_RCP_F16, V_RCP_F32, V_RCP_F64],
        Intrinsic::Rsq => [V_RSQ_F16, V_RSQ_F32, V_RSQ_F64],
        Intrinsic::AmdgcnSqrt => [V_SQRT_F16, V_SQRT_F32, V_SQRT_F64],
        Intrinsic::AmdgcnSin => [V_SIN_F16, V_SIN_F32, V_NOP],
        Intrinsic::AmdgcnCos => [V_COS_F16, V_COS_F32, V_NOP],
        Intrinsic::AmdgcnLog => [V_LOG_F16, V_LOG_F32, V_NOP],
        Intrinsic::AmdgcnExp2 => [V_EXP_F16, V_EXP_F32, V_NOP],
        Intrinsic::RcpLegacy => [V_NOP, V_RCP_LEGACY_F32, V_NOP],
        Intrinsic::RsqLegacy => [V_NOP, V_RSQ_LEGACY_F32, V_NOP],
        Intrinsic::LogClamp => [V_NOP, V_LOG_CLAMP_F32, V_NOP],
        Intrinsic::CubeId => [V_NOP, V_CUBEID_F32, V_NOP],
        Intrinsic::CubeMa => [V_NOP, V_CUBEMA_F32, V_NOP],
        Intrinsic::CubeSc => [V_NOP, V_CUBESC_F32, V_NOP],
        Intrinsic::CubeTc => [V_NOP, V_CUBETC_F32, V_NOP],
        Intrinsic::Fract => [V_FRACT_F16, V_FRACT_F32, V_FRACT_F64],
        Intrinsic::FrexpMant => [V_FREXP_MANT_F16, V_FREXP_MANT_F32, V_FREXP_MANT_F64],
        Intrinsic::FrexpExp => [V_FREXP_EXP_I16_F16, V_FREXP_EXP_I32_F32, V_FREXP_EXP_I32_F64],
        Intrinsic::Fmed3 => [V_MED3_F16, V_MED3_F32, V_NOP],
        Intrinsic::FmulLegacy => [V_NOP, V_MUL_LEGACY_F32, V_NOP],
        Intrinsic::FmaLegacy => [V_NOP, V_FMA_LEGACY_F32, V_NOP],
        Intrinsic::FmadFtz => [V_MAD_F16, V_MAD_F32, V_NOP],
        Intrinsic::DivFixup => [V_DIV_FIXUP_F16, V_DIV_FIXUP_F32, V_DIV_FIXUP_F64],
        Intrinsic::TrigPreop => [V_NOP, V_NOP, V_TRIG_PREOP_F64],
        Intrinsic::CvtPkrtz => [V_NOP, V_CVT_PKRTZ_F16_F32, V_NOP],
        Intrinsic::CvtPknormI16 => [V_NOP, V_CVT_PKNORM_I16_F32, V_NOP],
        Intrinsic::CvtPknormU16 => [V_NOP, V_CVT_PKNORM_U16_F32, V_NOP],
        _ => return None,
    })
}

/// Scalar and vector instruction of one 32-bit source.
fn unary_int(intrinsic: Intrinsic) -> Option<(Opcode, Opcode)> {
    Some(match intrinsic {
        Intrinsic::Ctlz => (S_FLBIT_I32_B32, V_FFBH_U32),
        Intrinsic::Cttz => (S_FF1_I32_B32, V_FFBL_B32),
        Intrinsic::Sffbh => (S_FLBIT_I32, V_FFBH_I32),
        Intrinsic::Bitreverse => (S_BREV_B32, V_BFREV_B32),
        _ => return None,
    })
}

/// The register that the command processor fills.
pub(super) fn entry_value(intrinsic: Intrinsic) -> Option<EntryValue> {
    Some(match intrinsic {
        Intrinsic::WorkitemIdX => EntryValue::WorkitemIdX,
        Intrinsic::WorkitemIdY => EntryValue::WorkitemIdY,
        Intrinsic::WorkitemIdZ => EntryValue::WorkitemIdZ,
        Intrinsic::WorkgroupIdX => EntryValue::WorkgroupIdX,
        Intrinsic::WorkgroupIdY => EntryValue::WorkgroupIdY,
        Intrinsic::WorkgroupIdZ => EntryValue::WorkgroupIdZ,
        Intrinsic::DispatchPtr => EntryValue::DispatchPtr,
        Intrinsic::DispatchId => EntryValue::DispatchId,
        Intrinsic::QueuePtr => EntryValue::QueuePtr,
        Intrinsic::KernargSegmentPtr => EntryValue::KernargSegmentPtr,
        Intrinsic::Returnaddress => EntryValue::ReturnAddress,
        Intrinsic::LdsKernelId => EntryValue::LdsKernelId,
        Intrinsic::ImplicitBufferPtr => EntryValue::ImplicitBufferPtr,
        _ => return None,
    })
}

impl<'a> Selector<'a> {
    pub(super) fn lower_intrinsic(
        &mut self,
        data: &InstData,
        intrinsic: Intrinsic,
        args: &[Value],
    ) -> Result<()> {
        let counts_none = intrinsic == Intrinsic::MbcntHi && self.mf.wave == WaveSize::W32;
        if let Some(op) = plain_op(intrinsic).filter(|_| !counts_none) {
            let (_, dst) = self.result(data)?;
            return self.plain(op, dst, args).map_err(|_| self.lacks(intrinsic));
        }
        if intrinsic == Intrinsic::Fmed3 && self.clamped_median(data, args)? {
            return Ok(());
        }
        if let Some(row) = float_op(intrinsic) {
            return self.float_intrinsic(data, intrinsic, row, args);
        }
        if let Some((scalar, vector)) = unary_int(intrinsic) {
            let (value, dst) = self.result(data)?;
            if self.values[value].rep == Rep::Sgpr {
                let x = self.scalar_src(args[0]);
                self.sop(scalar, &[dst, x]);
            } else {
                let x = self.src(args[0]);
                self.vop(vector, &[dst, x]);
            }
            return Ok(());
        }
        if self.in_trap_temporary(intrinsic) {
            return self.trap_temporary(data, intrinsic);
        }
        // The result is the register that holds it from the start.
        let packed = self.mf.call_conv.is_callable()
            && matches!(intrinsic, Intrinsic::WorkitemIdX | Intrinsic::WorkitemIdY | Intrinsic::WorkitemIdZ);
        if entry_value(intrinsic).is_some() && !packed {
            return Ok(());
        }
        match intrinsic {
            Intrinsic::Fabs => self.sign_bits(data, args[0], SignOp::Clear),
            Intrinsic::Fma => self.lower_fma(data, args, true),
            Intrinsic::Fmuladd => self.lower_fma(data, args, false),
            Intrinsic::Minnum | Intrinsic::Maxnum => {
                self.lower_min_max(data, args, intrinsic == Intrinsic::Maxnum)
            }
            Intrinsic::Canonicalize => self.lower_canonicalize(data, args[0]),
            Intrinsic::Copysign => self.lower_copysign(data, args[0], args[1]),
            Intrinsic::Ldexp | Intrinsic::AmdgcnLdexp => {
                let (_, dst) = self.result(data)?;
                let opcode = by_float([V_LDEXP_F16, V_LDEXP_F32, V_LDEXP_F64], self.float_of(data.ty)?)?;
                let [x, e] = [self.float_src(args[0]), self.plain_float(args[1])];
                self.float_op(opcode, dst, &[x, e]);
                Ok(())
            }
            Intrinsic::RsqClamp => self.rsq_clamp(data, args[0]),
            Intrinsic::Smin | Intrinsic::Smax | Intrinsic::Umin | Intrinsic::Umax => {
                self.int_min_max(data, intrinsic, args)
            }
            Intrinsic::Ctpop => {
                let (value, dst) = self.result(data)?;
                if self.values[value].rep == Rep::Sgpr {
                    let x = self.scalar_src(args[0]);
                    self.sop(S_BCNT1_I32_B32, &[dst, x]);
                } else {
                    let x = self.src(args[0]);
                    self.vop(V_BCNT_U32_B32, &[dst, x, Operand::Imm(0)]);
                }
                Ok(())
            }
            Intrinsic::Bswap => self.byte_swap(data, args[0]),
            Intrinsic::Fshr => self.funnel_right(data, args),
            Intrinsic::Ubfe | Intrinsic::Sbfe => {
                self.bit_field_extract(data, args, intrinsic == Intrinsic::Sbfe)
            }
            Intrinsic::CvtPkU8F32 => {
                let (_, dst) = self.result(data)?;
                let x = self.float_src(args[0]);
                let [byte, old] = [self.plain_float(args[1]), self.plain_float(args[2])];
                self.float_op(V_CVT_PK_U8_F32, dst, &[x, byte, old]);
                Ok(())
            }
            Intrinsic::AmdgcnClass => {
                let (_, dst) = self.result(data)?;
                let row = [V_CMP_CLASS_F16, V_CMP_CLASS_F32, V_CMP_CLASS_F64];
                let opcode = by_float(row, self.float_of(self.f.ty(args[0]))?)?;
                let x = self.float_src(args[0]);
                let classes = self.plain_float(args[1]);
                self.float_op(opcode, dst, &[x, classes]);
                Ok(())
            }
            Intrinsic::ShaderResult => {
                let register = self.immediate(args[1])?;
                self.shader_result(args[0], register)
            }
            Intrinsic::ChainJump => self.chain_jump(args),
            Intrinsic::DivScale => self.div_scale(data, args),
            Intrinsic::DivFmas => self.div_fmas(data, args),
            Intrinsic::IsShared => self.lower_is_place(data, args[0], AddrSpace::LOCAL),
            Intrinsic::IsPrivate => self.lower_is_place(data, args[0], AddrSpace::PRIVATE),
            Intrinsic::WorkitemIdX | Intrinsic::WorkitemIdY | Intrinsic::WorkitemIdZ
                if self.mf.call_conv.is_callable() =>
            {
                self.packed_id(data, intrinsic)
            }
            Intrinsic::RelocConstant => self.relocated_constant(data, args[0]),
            Intrinsic::WaveId => Err(self.lacks(intrinsic)),
            // The register itself.
            Intrinsic::ImplicitargPtr if self.mf.call_conv.is_callable() => Ok(()),
            Intrinsic::ImplicitargPtr => {
                let (_, dst) = self.result(data)?;
                let base = self.entry_value(EntryValue::KernargSegmentPtr);
                let offset = i64::from(self.mf.kernarg.implicit_offset);
                let sum = self.scalar_add64(base, Operand::Imm(offset));
                self.emit(COPY, [dst, sum]);
                Ok(())
            }
            Intrinsic::Groupstaticsize => {
                let (_, dst) = self.result(data)?;
                self.sop(S_MOV_B32, &[dst, Operand::Imm(i64::from(self.mf.lds.size_bytes))]);
                Ok(())
            }
            Intrinsic::Sdot2
            | Intrinsic::Udot2
            | Intrinsic::Sdot4
            | Intrinsic::Udot4
            | Intrinsic::Sdot8
            | Intrinsic::Udot8
            | Intrinsic::Fdot2 => self.dot_product(data, intrinsic, args),
            Intrinsic::DsFadd => self.lower_ds_float(data, AtomicOp::FAdd, args),
            Intrinsic::DsFmin => self.lower_ds_float(data, AtomicOp::FMin, args),
            Intrinsic::DsFmax => self.lower_ds_float(data, AtomicOp::FMax, args),
            Intrinsic::Buffer(id) => self.lower_buffer(data, id, args),
            Intrinsic::Image(id) => self.lower_image(data, id, args),
            Intrinsic::SBufferLoad => self.lower_scalar_buffer(data, args),
            Intrinsic::ImageBvhIntersectRay => self.intersect_ray(data, args),
            Intrinsic::GlobalLoadLds => self.global_load_lds(args),
            _ => self.lower_wave_intrinsic(data, intrinsic, args),
        }
    }

    /// Instructions across lanes, and those that act on the wave.
    fn lower_wave_intrinsic(&mut self, data: &InstData, intrinsic: Intrinsic, args: &[Value]) -> Result<()> {
        match intrinsic {
            // No lane below has a number of 32 or more.
            Intrinsic::MbcntHi if self.mf.wave == WaveSize::W32 => self.copy_value(data, args[1]),
            Intrinsic::Readfirstlane => {
                let (_, dst) = self.result(data)?;
                let x = self.vgpr(args[0]);
                self.emit(V_READFIRSTLANE_B32, [dst, x]);
                Ok(())
            }
            Intrinsic::Readlane => {
                let (_, dst) = self.result(data)?;
                let x = self.vgpr(args[0]);
                let lane = self.lane_number(args[1]);
                self.emit(V_READLANE_B32, [dst, x, lane]);
                Ok(())
            }
            Intrinsic::Writelane => self.write_lane(data, args),
            Intrinsic::Ballot => {
                let (_, dst) = self.result(data)?;
                let (out, exec) = (self.mask_of_result(dst), self.exec());
                match self.const_int(args[0]) {
                    Some(bit) => {
                        let value = if bit & 1 != 0 { exec } else { Operand::Imm(0) };
                        self.mask_sop(MaskOp::Mov, &[out, value]);
                    }
                    None => {
                        let mask = self.mask(args[0])?;
                        self.mask_sop(MaskOp::And, &[out, mask, exec]);
                    }
                }
                self.widen_mask(dst, out);
                Ok(())
            }
            Intrinsic::InverseBallot => {
                let (_, dst) = self.result(data)?;
                // Of a constant, a wave of 32 lanes needs no other half.
                let low = self.const_int(args[0]).filter(|_| self.mf.wave == WaveSize::W32);
                let mask = match low {
                    Some(mask) => self.in_sgpr(Operand::Imm(i64::from(mask as i32)), 1),
                    None => self.sgpr(args[0]),
                };
                let mask = self.sub(&mask, 0, self.mf.wave.mask_dwords());
                self.emit(COPY, [dst, mask]);
                Ok(())
            }
            Intrinsic::AmdgcnIcmp | Intrinsic::AmdgcnFcmp => self.compare_lanes(data, intrinsic, args),
            Intrinsic::DsSwizzle => {
                let (_, dst) = self.result(data)?;
                let x = self.vgpr(args[0]);
                let pattern = self.immediate(args[1])?;
                self.emit(DS_SWIZZLE_B32, [dst, x]).mods.offset = pattern as i32;
                Ok(())
            }
            Intrinsic::DsBpermute | Intrinsic::DsPermute => {
                let (_, dst) = self.result(data)?;
                let [lane, x] = [self.vgpr(args[0]), self.vgpr(args[1])];
                let op = if intrinsic == Intrinsic::DsPermute { DS_PERMUTE_B32 } else { DS_BPERMUTE_B32 };
                self.emit(op, [dst, lane, x]);
                Ok(())
            }
            Intrinsic::MovDpp => self.dpp(data, None, &args[0..]),
            Intrinsic::UpdateDpp => self.dpp(data, Some(args[0]), &args[1..]),
            Intrinsic::MovDpp8 => self.dpp8(data, args),
            Intrinsic::Permlane16 | Intrinsic::Permlanex16 => self.permlane16(data, intrinsic, args),
            Intrinsic::SGetWaveidInWorkgroup if !self.exists(S_GET_WAVEID_IN_WORKGROUP) => {
                Err(self.lacks(intrinsic))
            }
            Intrinsic::SGetWaveidInWorkgroup => {
                let (_, dst) = self.result(data)?;
                self.emit(S_GET_WAVEID_IN_WORKGROUP, [dst]);
                Ok(())
            }
            Intrinsic::SBarrier if self.mf.max_flat_workgroup_size > self.target.wave_size() => {
                self.emit(S_BARRIER, []);
                Ok(())
            }
            // Orders nothing but the code of the wave itself, as a barrier does in a work-group of one wave.
            Intrinsic::SBarrier | Intrinsic::WaveBarrier | Intrinsic::SchedBarrier => self.lower_fence(
                Ordering::AcqRel,
                SyncScope::SingleThread,
                mir::ir::MemFlags::empty(),
                AddrSpace::FLAT,
            ),
            Intrinsic::SchedGroupBarrier | Intrinsic::IglpOpt => Ok(()),
            Intrinsic::SWaitcnt => self.with_immediate(S_WAITCNT, args),
            Intrinsic::SSleep => self.with_immediate(S_SLEEP, args),
            Intrinsic::SSethalt => self.with_immediate(S_SETHALT, args),
            Intrinsic::SSetprio => self.with_immediate(S_SETPRIO, args),
            Intrinsic::SNop => self.with_immediate(S_NOP, args),
            Intrinsic::SMemtime | Intrinsic::Readcyclecounter => {
                let (_, dst) = self.result(data)?;
                self.emit(S_MEMTIME, [dst]);
                Ok(())
            }
            Intrinsic::SMemrealtime | Intrinsic::Readsteadycounter => {
                let (_, dst) = self.result(data)?;
                if !self.exists(S_MEMREALTIME) {
                    return Err(Diagnostic::unsupported(format!("s_memrealtime on {}", self.target)));
                }
                self.emit(S_MEMREALTIME, [dst]);
                Ok(())
            }
            Intrinsic::SGetreg => {
                let (_, dst) = self.result(data)?;
                let hwreg = self.immediate(args[0])?;
                self.emit(S_GETREG_B32, [dst, Operand::Imm(hwreg)]);
                Ok(())
            }
            Intrinsic::SSetreg => {
                let hwreg = self.immediate(args[0])?;
                if let Some(value) = self.const_int(args[1]) {
                    self.emit(S_SETREG_IMM32_B32, [Operand::Imm(hwreg), Operand::Imm(value)]);
                    return Ok(());
                }
                let x = self.sgpr(args[1]);
                self.emit(S_SETREG_B32, [Operand::Imm(hwreg), x]);
                Ok(())
            }
            Intrinsic::SSendmsg | Intrinsic::SSendmsghalt => {
                let message = self.immediate(args[0])?;
                let m0 = self.scalar_src(args[1]);
                self.sop(S_MOV_B32, &[Operand::preg(PReg::M0, 1), m0]);
                let op = if intrinsic == Intrinsic::SSendmsg { S_SENDMSG } else { S_SENDMSGHALT };
                self.emit(op, [Operand::Imm(message)]);
                Ok(())
            }
            Intrinsic::SDcacheInv => self.bare(S_DCACHE_INV),
            Intrinsic::SDcacheInvVol => self.bare(S_DCACHE_INV_VOL),
            Intrinsic::SDcacheWbVol => self.bare(S_DCACHE_WB_VOL),
            Intrinsic::BufferWbinvl1Sc => self.bare(BUFFER_WBINVL1_SC),
            Intrinsic::SDcacheWb => self.bare(S_DCACHE_WB),
            Intrinsic::BufferWbinvl1 => self.bare(BUFFER_WBINVL1),
            Intrinsic::BufferWbinvl1Vol => self.bare(BUFFER_WBINVL1_VOL),
            Intrinsic::Endpgm => {
                self.emit(S_ENDPGM, [Operand::Imm(0)]);
                Ok(())
            }
            Intrinsic::Trap | Intrinsic::Ubsantrap => self.trap(),
            Intrinsic::Debugtrap => {
                if self.traps_are_handled() {
                    self.emit(S_TRAP, [Operand::Imm(3)]);
                }
                Ok(())
            }
            Intrinsic::AmdgcnUnreachable => Ok(()),
            Intrinsic::Stacksave => self.save_stack(data),
            Intrinsic::Stackrestore => {
                self.restore_stack(args[0]);
                Ok(())
            }
            Intrinsic::ReadRegister | Intrinsic::ReadVolatileRegister => self.read_register(data, args[0]),
            Intrinsic::WriteRegister => self.write_register(args[0], args[1]),
            _ => self.lower_lanes_intrinsic(data, intrinsic, args),
        }
    }

    pub(super) fn bare(&mut self, op: Opcode) -> Result<()> {
        if !self.exists(op) {
            return Err(Diagnostic::unsupported(format!("{} on {}", op.info().name, self.target)));
        }
        self.emit(op, []);
        Ok(())
    }

    pub(super) fn immediate(&self, value: Value) -> Result<i64> {
        self.const_int(value).ok_or_else(|| Diagnostic::malformed("argument that must be a constant"))
    }

    pub(super) fn with_immediate(&mut self, op: Opcode, args: &[Value]) -> Result<()> {
        let value = self.immediate(args[0])?;
        self.emit(op, [Operand::Imm(value)]);
        Ok(())
    }

    pub(super) fn plain(&mut self, op: Opcode, dst: Operand, args: &[Value]) -> Result<()> {
        if !self.exists(op) {
            return Err(Diagnostic::unsupported(format!("{} on {}", op.info().name, self.target)));
        }
        let sources = op.info().operands.len() - 1;
        let mut operands: SmallVec<[Operand; 4]> = SmallVec::from_slice(&[dst]);
        for &arg in args.iter().take(sources) {
            operands.push(self.src(arg));
        }
        self.vop(op, &operands);
        Ok(())
    }

    /// The target has no instruction for `intrinsic`.
    pub(super) fn lacks(&self, intrinsic: Intrinsic) -> Box<Diagnostic> {
        Diagnostic::unsupported(format!("llvm.{} on {}", intrinsic.name(), self.target))
    }

    fn float_intrinsic(
        &mut self,
        data: &InstData,
        intrinsic: Intrinsic,
        row: [Opcode; 3],
        args: &[Value],
    ) -> Result<()> {
        let (_, dst) = self.result(data)?;
        let float = self.float_of(self.f.ty(args[0]))?;
        let op = self.older_name(by_float(row, float)?);
        if op == V_NOP || !self.exists(op) {
            return Err(self.lacks(intrinsic));
        }
        let sources = op.info().operands.len() - 1;
        let mut operands = SmallVec::<[_; 3]>::new();
        for &arg in args.iter().take(sources) {
            let is_float = matches!(self.f.ty(arg).scalar(), Some(mir::ir::Scalar::Float(_)));
            operands.push(if is_float { self.float_src(arg) } else { self.plain_float(arg) });
        }
        self.float_op(op, dst, &operands);
        Ok(())
    }

    /// A lane number: SGPR or constant.
    fn lane_number(&mut self, value: Value) -> Operand {
        let lane = self.src(value);
        match lane {
            Operand::Imm(lane) => Operand::Imm(lane & 63),
            other => self.in_sgpr(other, 1),
        }
    }

    /// Writes one lane whatever EXEC says, so the register lives on the wave graph.
    fn write_lane(&mut self, data: &InstData, args: &[Value]) -> Result<()> {
        let (_, dst) = self.result(data)?;
        let x = self.src(args[0]);
        let x = if x.as_imm().is_some() && !self.is_literal_at(V_WRITELANE_B32, 1, &x) {
            x
        } else {
            self.in_sgpr(x, 1)
        };
        let mut lane = self.lane_number(args[1]);
        let old = self.vgpr(args[2]);
        // One SGPR only, but M0 may select the lane.
        if self.is_sgpr(&lane) && self.is_sgpr(&x) && lane != x {
            let m0 = Operand::preg(PReg::M0, 1);
            self.emit(S_MOV_B32, [m0, lane]);
            lane = m0;
        }
        if let Some(Reg::Virtual(reg)) = dst.as_reg().map(|r| r.reg) {
            self.mf.vregs[reg].flags |= VRegFlags::WHOLE_WAVE;
        }
        self.emit(V_WRITELANE_B32, [dst, x, lane, old]);
        Ok(())
    }

    /// `amdgcn.icmp`, `amdgcn.fcmp`: the comparison's mask as a number; predicates by LLVM's numbers.
    fn compare_lanes(&mut self, data: &InstData, intrinsic: Intrinsic, args: &[Value]) -> Result<()> {
        let (_, dst) = self.result(data)?;
        let number = self.immediate(args[2])?;
        let pair = [args[0], args[1]];
        if intrinsic == Intrinsic::AmdgcnIcmp {
            let predicate = u64::try_from(number).ok().and_then(IntPredicate::from_llvm);
            let predicate = predicate.ok_or_else(|| Diagnostic::malformed("unknown predicate"))?;
            let out = self.mask_of_result(dst);
            self.vector_int_compare(out, predicate, pair)?;
            self.widen_mask(dst, out);
            return Ok(());
        }
        let Some(predicate) = u64::try_from(number).ok().and_then(FloatPredicate::from_llvm) else {
            // Undefined, as in LLVM.
            self.emit(IMPLICIT_DEF, [dst]);
            return Ok(());
        };
        let out = self.mask_of_result(dst);
        self.vector_float_compare(out, predicate, pair)?;
        self.widen_mask(dst, out);
        Ok(())
    }

    /// Where to put a mask of lanes that the program wants as the integer `dst` of 64 bits: there, if a mask is so wide.
    fn mask_of_result(&mut self, dst: Operand) -> Operand {
        match self.mf.wave {
            WaveSize::W64 => dst,
            WaveSize::W32 => self.new_mask(),
        }
    }

    /// Lanes that a wave does not have are zeros of the integer.
    fn widen_mask(&mut self, dst: Operand, mask: Operand) {
        if self.mf.wave == WaveSize::W32 {
            let high = self.in_sgpr(Operand::Imm(0), 1);
            self.sequence(dst, &[mask, high]);
        }
    }
}
