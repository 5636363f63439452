//! Intrinsics that change which lanes run, cross them in other ways than a table can say, or belong to graphics: interpolation,
//! exports, ordered counts, wave sync.

use super::{Rep, Selector};
use crate::linearise::exec_regions;
use mir::diag::{Diagnostic, Result};
use mir::ir::{CallConv, InstData, Intrinsic, MemAccess, Value};
use mir::isa::Opcode::{self, *};
use mir::isa::{MaskOp, ValueType};
use mir::machine::{MemRef, ModFlags, Operand, PReg, Reg, RegFile, VRegFlags};
use mir::target::{Counter, Features};
use smallvec::SmallVec;

impl<'a> Selector<'a> {
    pub(super) fn lower_lanes_intrinsic(
        &mut self,
        data: &InstData,
        intrinsic: Intrinsic,
        args: &[Value],
    ) -> Result<()> {
        match intrinsic {
            Intrinsic::SGetpc => {
                let (_, dst) = self.result(data)?;
                self.emit(S_GETPC_B64, [dst]);
                Ok(())
            }
            Intrinsic::PopsExitingWaveId if self.has_register(PReg::POPS_EXITING_WAVE_ID) => {
                let (_, dst) = self.result(data)?;
                self.emit(S_MOV_B32, [dst, Operand::preg(PReg::POPS_EXITING_WAVE_ID, 1)]);
                Ok(())
            }
            Intrinsic::SBitreplicate => {
                self.scalar_unary(data, intrinsic, [V_NOP, S_BITREPLICATE_B64_B32], args)
            }
            Intrinsic::SQuadmask => {
                self.scalar_unary(data, intrinsic, [S_QUADMASK_B32, S_QUADMASK_B64], args)
            }
            Intrinsic::SWqm => self.scalar_unary(data, intrinsic, [S_WQM_B32, S_WQM_B64], args),
            Intrinsic::SIncperflevel => self.with_immediate(S_INCPERFLEVEL, args),
            Intrinsic::SDecperflevel => self.with_immediate(S_DECPERFLEVEL, args),
            Intrinsic::STtracedata => {
                self.set_m0(args[0]);
                self.emit(S_TTRACEDATA, []);
                Ok(())
            }
            Intrinsic::DsAppend | Intrinsic::DsConsume => self.append_consume(data, intrinsic, args),
            Intrinsic::DsOrderedAdd | Intrinsic::DsOrderedSwap => self.ordered_count(data, args),
            Intrinsic::DsGwsInit => self.wave_sync(intrinsic, DS_GWS_INIT, args),
            Intrinsic::DsGwsBarrier => self.wave_sync(intrinsic, DS_GWS_BARRIER, args),
            Intrinsic::DsGwsSemaBr => self.wave_sync(intrinsic, DS_GWS_SEMA_BR, args),
            Intrinsic::DsGwsSemaV => self.wave_sync(intrinsic, DS_GWS_SEMA_V, args),
            Intrinsic::DsGwsSemaP => self.wave_sync(intrinsic, DS_GWS_SEMA_P, args),
            Intrinsic::DsGwsSemaReleaseAll => self.wave_sync(intrinsic, DS_GWS_SEMA_RELEASE_ALL, args),
            Intrinsic::InterpMov
            | Intrinsic::InterpP1
            | Intrinsic::InterpP2
            | Intrinsic::InterpP1F16
            | Intrinsic::InterpP2F16 => self.interpolate(data, intrinsic, args),
            Intrinsic::Export => self.export(args, false),
            Intrinsic::ExportCompr => self.export(args, true),
            Intrinsic::StrictWwm => self.lanes_result(data, args[0], exec_regions::WHOLE_WAVE),
            Intrinsic::StrictWqm => self.lanes_result(data, args[0], exec_regions::WHOLE_QUADS),
            Intrinsic::Wqm if self.f.call_conv == CallConv::AmdgpuPs => {
                self.lanes_result(data, args[0], exec_regions::QUADS)
            }
            // Needs nothing by itself, and whole quads are a matter of pixel shaders.
            Intrinsic::Wqm | Intrinsic::Softwqm => self.copy_value(data, args[0]),
            Intrinsic::SetInactive => {
                let (_, dst) = self.result(data)?;
                let [active, inactive] = [args[0], args[1]].map(|arg| match self.const_int(arg) {
                    Some(value) if self.is_inline(value, ValueType::B32) => self.src(arg),
                    _ => self.vgpr(arg),
                });
                self.emit(SET_INACTIVE, [dst, active, inactive]);
                Ok(())
            }
            Intrinsic::SetInactiveChainArg => {
                let (_, dst) = self.result(data)?;
                let (active, inactive) = (self.vgpr(args[0]), self.chain_argument(args[1])?);
                self.emit(SET_INACTIVE, [dst, active, inactive]);
                Ok(())
            }
            Intrinsic::WqmVote => {
                let (_, dst) = self.result(data)?;
                let mask = self.mask(args[0])?;
                let here = self.new_mask();
                self.mask_sop(MaskOp::And, &[here, mask, self.exec()]);
                self.emit(QUAD_VOTE, [dst, here]);
                Ok(())
            }
            Intrinsic::PsLive | Intrinsic::LiveMask => {
                let (_, dst) = self.result(data)?;
                self.emit(LIVE_LANES, [dst]);
                Ok(())
            }
            Intrinsic::WqmDemote => {
                let mask = self.mask(args[0])?;
                self.emit(DEMOTE, [mask]);
                Ok(())
            }
            Intrinsic::Kill => {
                self.emit(KILLED, []);
                Ok(())
            }
            Intrinsic::InitExec => {
                let mask = self.immediate(args[0])?;
                self.emit(ENTRY_LANES, [Operand::Imm(mask), Operand::Imm(0)]);
                Ok(())
            }
            Intrinsic::InitExecFromInput => {
                let shift = self.immediate(args[1])?;
                let input = self.sgpr(args[0]);
                self.emit(ENTRY_LANES, [input, Operand::Imm(shift)]);
                Ok(())
            }
            _ => Err(self.lacks(intrinsic)),
        }
    }

    /// An argument of a chain function as it was in all lanes at the start.
    fn chain_argument(&mut self, arg: Value) -> Result<Operand> {
        if !self.f.params.iter().any(|param| param.value == arg) {
            return Err(Diagnostic::malformed("inactive lanes of what is no argument"));
        }
        if self.values[arg].rep != Rep::Vgpr {
            return Ok(self.vgpr(arg));
        }
        if let Some((_, copy)) = self.chain_arguments.iter().find(|(known, _)| *known == arg) {
            return Ok(*copy);
        }
        let copy = Operand::vreg(self.mf.new_vreg(RegFile::Vgpr, 1), 1);
        self.chain_arguments.push((arg, copy));
        Ok(copy)
    }

    /// Copies arguments in all lanes, before anything is written into their registers.
    pub(super) fn copy_chain_arguments(&mut self) {
        for (arg, copy) in std::mem::take(&mut self.chain_arguments) {
            let source = self.src(arg);
            if let Some(Reg::Virtual(reg)) = source.as_reg().map(|operand| operand.reg) {
                // Its place must be that in which the caller has left it.
                self.mf.vregs[reg].flags |= VRegFlags::PINNED;
            }
            self.emit(SET_INACTIVE, [copy, source, source]);
        }
        self.rev.extend(self.cur.drain(..).rev());
    }

    fn lanes_result(&mut self, data: &InstData, arg: Value, which: i64) -> Result<()> {
        let (_, dst) = self.result(data)?;
        let x = if self.values[arg].rep == Rep::Sgpr { self.src(arg) } else { self.vgpr(arg) };
        self.emit(LANES_RESULT, [dst, x, Operand::Imm(which)]);
        Ok(())
    }

    /// A scalar instruction with one source, of 32 or 64 bits by the result.
    fn scalar_unary(
        &mut self,
        data: &InstData,
        intrinsic: Intrinsic,
        ops: [Opcode; 2],
        args: &[Value],
    ) -> Result<()> {
        let (_, dst) = self.result(data)?;
        let op = ops[usize::from(data.ty.is_int(64))];
        if op == V_NOP || !self.exists(op) {
            return Err(self.lacks(intrinsic));
        }
        let x = self.sgpr(args[0]);
        self.emit(op, [dst, x]);
        Ok(())
    }

    /// `ds_append`, `ds_consume`: M0 holds the address, the number of active lanes is added or subtracted.
    fn append_consume(&mut self, data: &InstData, intrinsic: Intrinsic, args: &[Value]) -> Result<()> {
        let space = self.f.ty(args[0]).addr_space().unwrap_or(mir::ir::AddrSpace::LOCAL);
        let dst = match data.result {
            Some(result) if self.values[result].reg.is_some() => self.def(result),
            _ => self.new_vgpr(1),
        };
        self.set_m0(args[0]);
        let op = if intrinsic == Intrinsic::DsAppend { DS_APPEND } else { DS_CONSUME };
        let mem = MemRef::new(MemAccess::plain(space, 2), 4);
        let inst = self.emit(op, [dst]);
        inst.mem = Some(mem);
        inst.mods.flags.set(ModFlags::GDS, space == mir::ir::AddrSpace::REGION);
        Ok(())
    }

    /// Legal form: M0, value, offset.
    fn ordered_count(&mut self, data: &InstData, args: &[Value]) -> Result<()> {
        let dst = match data.result {
            Some(result) if self.values[result].reg.is_some() => self.def(result),
            _ => self.new_vgpr(1),
        };
        let value = self.vgpr(args[1]);
        let offset = self.immediate(args[2])?;
        self.set_m0(args[0]);
        let inst = self.emit(DS_ORDERED_COUNT, [dst, value]);
        inst.mods.offset = offset as i32;
        inst.mods.flags |= ModFlags::GDS;
        Ok(())
    }

    /// Global wave sync on the resource of the last argument: bits 21:16 of M0 plus the instruction's offset.
    fn wave_sync(&mut self, intrinsic: Intrinsic, op: Opcode, args: &[Value]) -> Result<()> {
        if !self.exists(op) {
            return Err(self.lacks(intrinsic));
        }
        let [data @ .., resource] = args else { return Err(Diagnostic::malformed("too few arguments")) };
        let data: SmallVec<[Operand; 1]> = data.iter().map(|&v| self.vgpr(v)).collect();
        let m0 = Operand::preg(PReg::M0, 1);
        let offset = match self.const_int(*resource) {
            Some(number) => {
                self.emit(S_MOV_B32, [m0, Operand::Imm(0)]);
                number & 0xffff
            }
            None => {
                let number = self.sgpr(*resource);
                self.sop(S_LSHL_B32, &[m0, number, Operand::Imm(16)]);
                0
            }
        };
        let inst = self.emit(op, data);
        inst.mods.offset = offset as i32;
        inst.mods.flags |= ModFlags::GDS;
        // The operation is not done before its counter says so.
        let waits = self.target.waits();
        for wait in waits.instructions(waits.max().with(Counter::Lgkm, 0)) {
            self.emit(wait.op, wait.operands);
        }
        Ok(())
    }

    /// Interpolation of an attribute's channel between the corners of a primitive; M0 holds the primitive mask.
    fn interpolate(&mut self, data: &InstData, intrinsic: Intrinsic, args: &[Value]) -> Result<()> {
        let (_, dst) = self.result(data)?;
        let Some((&m0, rest)) = args.split_last() else {
            return Err(Diagnostic::malformed("too few arguments"));
        };
        let half = matches!(intrinsic, Intrinsic::InterpP1F16 | Intrinsic::InterpP2F16);
        let (rest, high) = match (half, rest) {
            (true, [rest @ .., high]) => (rest, self.immediate(*high)? & 1 != 0),
            _ => (rest, false),
        };
        let [sources @ .., channel, attribute] = rest else {
            return Err(Diagnostic::malformed("too few arguments"));
        };
        // The fields have two and six bits.
        let (channel, attribute) = (self.immediate(*channel)? & 3, self.immediate(*attribute)? & 63);
        let place = Operand::Imm(attribute * 4 + channel);
        let first = sources.first().copied().ok_or_else(|| Diagnostic::malformed("too few arguments"))?;
        let mut operands: SmallVec<[Operand; 4]> = SmallVec::new();
        operands.push(dst);
        let op = match intrinsic {
            Intrinsic::InterpMov => {
                let slot = self.immediate(first)? & 255;
                operands.extend([Operand::Imm(slot), place]);
                V_INTERP_MOV_F32
            }
            Intrinsic::InterpP1 => {
                operands.extend([self.vgpr(first), place]);
                V_INTERP_P1_F32
            }
            Intrinsic::InterpP2 => {
                let &[sum, j] = sources else { return Err(Diagnostic::malformed("too few arguments")) };
                let [sum, j] = [self.vgpr(sum), self.vgpr(j)];
                operands.extend([j, place, sum]);
                V_INTERP_P2_F32
            }
            Intrinsic::InterpP1F16 if self.target.has(Features::LDS_BANKS_16) => {
                // P0 comes in a register.
                let corner = self.new_vgpr(1);
                self.set_m0(m0);
                self.emit(V_INTERP_MOV_F32, [corner, Operand::Imm(2), place]);
                operands.extend([self.vgpr(first), place, corner]);
                V_INTERP_P1LV_F16
            }
            Intrinsic::InterpP1F16 => {
                operands.extend([self.vgpr(first), place]);
                V_INTERP_P1LL_F16
            }
            _ => {
                let &[sum, j] = sources else { return Err(Diagnostic::malformed("too few arguments")) };
                let [sum, j] = [self.vgpr(sum), self.vgpr(j)];
                operands.extend([j, place, sum]);
                // The other bits of the result are nobody's, so the form that leaves them alone is not needed.
                if self.exists(V_INTERP_P2_LEGACY_F16) { V_INTERP_P2_LEGACY_F16 } else { V_INTERP_P2_F16 }
            }
        };
        if !self.exists(op) {
            return Err(self.lacks(intrinsic));
        }
        self.set_m0(m0);
        let inst = self.emit(op, operands);
        inst.mods.flags.set(ModFlags::HIGH, high);
        Ok(())
    }

    /// `exp(target, enabled, four sources, done, valid mask)`, or two sources of two halves each.
    fn export(&mut self, args: &[Value], compressed: bool) -> Result<()> {
        let [target, enabled, sources @ .., done, valid] = args else {
            return Err(Diagnostic::malformed("too few arguments"));
        };
        let (target, enabled) = (self.immediate(*target)?, self.immediate(*enabled)?);
        // Reserved targets are the program's matter.
        if !(0..64).contains(&target) || !(0..16).contains(&enabled) {
            return Err(Diagnostic::malformed(format!("export of channels {enabled} to target {target}")));
        }
        let mut operands: SmallVec<[Operand; 5]> = SmallVec::new();
        operands.push(Operand::Imm(target));
        let bits_each = if compressed { 3 } else { 1 };
        for (i, &source) in sources.iter().enumerate() {
            let bits = bits_each << (i * if compressed { 2 } else { 1 });
            let used = enabled & bits != 0;
            let operand = if used && !self.is_undef(source) {
                self.vgpr(source)
            } else if used {
                let out = self.new_vgpr(1);
                self.emit(IMPLICIT_DEF, [out]);
                out
            } else {
                Operand::Off
            };
            operands.push(operand);
            if compressed {
                operands.push(operand);
            }
        }
        operands.resize(5, Operand::Off);
        let flags = [(done, ModFlags::DONE), (valid, ModFlags::VM)];
        let mut bits = ModFlags::empty();
        for (value, flag) in flags {
            bits.set(flag, self.immediate(*value)? & 1 != 0);
        }
        bits.set(ModFlags::COMPR, compressed);
        let inst = self.emit(EXP, operands);
        inst.mods.dmask = enabled as u8;
        inst.mods.flags |= bits;
        Ok(())
    }
}
