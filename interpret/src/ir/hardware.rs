//! Intrinsics that are an instruction of the processor, computed by the simulator's function of that instruction.
//!
//! So the result is the simulator's, bit by bit: approximations, NaNs, denormals by MODE. What is undefined makes the result undefined as a whole.

use super::exec::{Cx, Step};
use super::layout::ones;
use super::regs::{Lanes, MAX_LANES, lanes};
use mir::ir::{Float, Intrinsic, Scalar, Type, Value};
use mir::isa::Opcode::{self, *};
use mir::isa::{Role, ValueType};
use mir::target::Features;
use sim::exec::valu::{self, Env, In, Out, ZERO};
use sim::fp::{self, Round};
use sim::program::{Denormals, denormals};

/// Instructions on integers, whose sources are the arguments.
fn integer_op(intrinsic: Intrinsic) -> Option<Opcode> {
    Some(match intrinsic {
        Intrinsic::CvtPkI16 => V_CVT_PK_I16_I32,
        Intrinsic::CvtPkU16 => V_CVT_PK_U16_U32,
        Intrinsic::CvtPkU8F32 => V_CVT_PK_U8_F32,
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
        Intrinsic::CvtOffF32I4 => V_CVT_OFF_F32_I4,
        Intrinsic::Sffbh => V_FFBH_I32,
        Intrinsic::Ubfe => V_BFE_U32,
        Intrinsic::Sbfe => V_BFE_I32,
        Intrinsic::CvtPkrtz => V_CVT_PKRTZ_F16_F32,
        Intrinsic::CvtPknormI16 => V_CVT_PKNORM_I16_F32,
        Intrinsic::CvtPknormU16 => V_CVT_PKNORM_U16_F32,
        _ => return None,
    })
}

/// Instructions on floats, for half, float and double.
fn float_op(intrinsic: Intrinsic) -> Option<[Option<Opcode>; 3]> {
    let all = |half, single, double| Some([Some(half), Some(single), Some(double)]);
    let narrow = |half, single| Some([Some(half), Some(single), None]);
    let single = |op| Some([None, Some(op), None]);
    match intrinsic {
        Intrinsic::Rcp => all(V_RCP_F16, V_RCP_F32, V_RCP_F64),
        Intrinsic::Rsq => all(V_RSQ_F16, V_RSQ_F32, V_RSQ_F64),
        Intrinsic::RsqClamp => Some([None, Some(V_RSQ_CLAMP_F32), Some(V_RSQ_CLAMP_F64)]),
        Intrinsic::AmdgcnSqrt => all(V_SQRT_F16, V_SQRT_F32, V_SQRT_F64),
        Intrinsic::AmdgcnSin => narrow(V_SIN_F16, V_SIN_F32),
        Intrinsic::AmdgcnCos => narrow(V_COS_F16, V_COS_F32),
        Intrinsic::AmdgcnLog => narrow(V_LOG_F16, V_LOG_F32),
        Intrinsic::AmdgcnExp2 => narrow(V_EXP_F16, V_EXP_F32),
        Intrinsic::RcpLegacy => single(V_RCP_LEGACY_F32),
        Intrinsic::RsqLegacy => single(V_RSQ_LEGACY_F32),
        Intrinsic::LogClamp => single(V_LOG_CLAMP_F32),
        Intrinsic::CubeId => single(V_CUBEID_F32),
        Intrinsic::CubeMa => single(V_CUBEMA_F32),
        Intrinsic::CubeSc => single(V_CUBESC_F32),
        Intrinsic::CubeTc => single(V_CUBETC_F32),
        Intrinsic::Fract => all(V_FRACT_F16, V_FRACT_F32, V_FRACT_F64),
        Intrinsic::FrexpMant => all(V_FREXP_MANT_F16, V_FREXP_MANT_F32, V_FREXP_MANT_F64),
        Intrinsic::FrexpExp => all(V_FREXP_EXP_I16_F16, V_FREXP_EXP_I32_F32, V_FREXP_EXP_I32_F64),
        Intrinsic::Fmed3 => narrow(V_MED3_F16, V_MED3_F32),
        Intrinsic::FmulLegacy => single(V_MUL_LEGACY_F32),
        Intrinsic::FmadFtz => narrow(V_MAD_F16, V_MAD_F32),
        Intrinsic::DivFixup => all(V_DIV_FIXUP_F16, V_DIV_FIXUP_F32, V_DIV_FIXUP_F64),
        Intrinsic::TrigPreop => Some([None, None, Some(V_TRIG_PREOP_F64)]),
        _ => None,
    }
}

/// Dot products: their last argument says whether the result saturates.
fn dot_op(intrinsic: Intrinsic) -> Option<Opcode> {
    Some(match intrinsic {
        Intrinsic::Sdot2 => V_DOT2_I32_I16,
        Intrinsic::Udot2 => V_DOT2_U32_U16,
        Intrinsic::Sdot4 => V_DOT4_I32_I8,
        Intrinsic::Udot4 => V_DOT4_U32_U8,
        Intrinsic::Sdot8 => V_DOT8_I32_I4,
        Intrinsic::Udot8 => V_DOT8_U32_U4,
        Intrinsic::Fdot2 => V_DOT2_F32_F16,
        _ => return None,
    })
}

/// Sources of 64 bits, as two dwords.
struct Source {
    lo: [u32; MAX_LANES],
    hi: [u32; MAX_LANES],
}

fn flush(ty: ValueType, x: u64) -> u64 {
    match ty {
        ValueType::F32 => fp::flush32(x as u32).into(),
        ValueType::F16 => fp::flush16(x as u32 & 0xffff).into(),
        ValueType::V2F16 => {
            u64::from(fp::flush16(x as u32 & 0xffff)) | u64::from(fp::flush16(x as u32 >> 16)) << 16
        }
        ValueType::F64 => fp::flush64(x),
        _ => x,
    }
}

impl Cx<'_, '_> {
    /// The bits of a value of up to 64, elements side by side, and the lanes where some are undefined.
    pub fn packed_bits(&self, value: Value) -> Step<(Lanes, u64)> {
        let (scalar, elements) = self.elements(value)?;
        let mut out = [0; MAX_LANES];
        let mut undefined = 0;
        for (i, &at) in elements.iter().enumerate() {
            let shift = i as u32 * scalar.bits();
            for l in 0..MAX_LANES {
                out[l] |= self.regs.v[at][l].checked_shl(shift).unwrap_or(0);
            }
            for l in lanes(self.regs.any(at)) {
                undefined |= u64::from(self.regs.undef(at, l) != 0) << l;
            }
        }
        Ok((out, undefined))
    }

    /// Writes bits to a value of type `ty`, undefined as a whole in some lanes.
    pub fn put_packed(&mut self, dst: usize, ty: Type, bits: &Lanes, undefined: u64) -> Step<()> {
        let scalar = self.scalar_of(ty)?;
        for i in 0..ty.lanes() as usize {
            let shift = i as u32 * scalar.bits();
            let element = bits.map(|x| x.checked_shr(shift).unwrap_or(0) & ones(scalar.bits()));
            self.regs.write(dst + i, self.mask, &element);
            self.poison(dst + i, scalar, undefined);
        }
        Ok(())
    }

    /// The modes as the instructions see them.
    fn env(&self, clamp: bool) -> Env {
        Env {
            clamp,
            ieee: self.wave.mode & 1 << 9 != 0,
            round32: Round::from_bits(self.wave.mode),
            round64: Round::from_bits(self.wave.mode >> 2),
            any_turns: self.group.launch.target.has(Features::ANY_TURNS),
            packed: [0, 7, 0, 0],
        }
    }

    /// An instruction without modifiers: results of up to 64 bits, and the lane mask that it writes.
    pub fn instruction(
        &mut self,
        op: Opcode,
        sources: &[Lanes],
        mask: u64,
        clamp: bool,
    ) -> Step<(Lanes, u64)> {
        let Some(kernel) = valu::kernel(op) else {
            return Err(super::exec::Stop::unsupported(op.info().name));
        };
        self.group.outcome.approximate |= valu::is_approximate(op);
        let info = op.info();
        let mode = denormals(op, info, &self.group.launch.target);
        let flushes = |ty| match mode {
            Denormals::Keep => (false, false),
            Denormals::Flush => (true, true),
            Denormals::Mode => {
                let field = self.wave.mode >> if ty == ValueType::F32 { 4 } else { 6 };
                (field & 1 == 0, field & 2 == 0)
            }
        };
        let read = info.operands.iter().filter(|o| o.role == Role::Use).map(|o| o.ty);
        let mut held: Vec<Source> = Vec::with_capacity(sources.len());
        for (source, ty) in sources.iter().zip(read.chain(std::iter::repeat(ValueType::B32))) {
            let flushed = flushes(ty).0;
            let bits = if flushed { source.map(|x| flush(ty, x)) } else { *source };
            held.push(Source { lo: bits.map(|x| x as u32), hi: bits.map(|x| (x >> 32) as u32) });
        }
        let mut input = In { lo: [&ZERO; 3], hi: [&ZERO; 3], mask };
        for (k, source) in held.iter().take(3).enumerate() {
            (input.lo[k], input.hi[k]) = (&source.lo, &source.hi);
        }
        let mut out = Out::default();
        kernel(&input, &mut out, &self.env(clamp));
        let ty = info.operands.first().map_or(ValueType::B32, |o| o.ty);
        let flushed = flushes(ty).1;
        let result = std::array::from_fn(|l| {
            let x = u64::from(out.lo[l]) | u64::from(out.hi[l]) << 32;
            if flushed { flush(ty, x) } else { x }
        });
        Ok((result, out.mask))
    }

    /// An instruction whose sources are arguments.
    fn plain_instruction(
        &mut self,
        op: Opcode,
        args: &[Value],
        ty: Type,
        dst: usize,
        clamp: bool,
    ) -> Step<()> {
        let mut undefined = 0;
        let mut sources = Vec::with_capacity(args.len());
        for &arg in args {
            let (bits, unknown) = self.packed_bits(arg)?;
            undefined |= unknown;
            sources.push(bits);
        }
        let (bits, _) = self.instruction(op, &sources, 0, clamp)?;
        self.put_packed(dst, ty, &bits, undefined)
    }

    /// Whether this file executes `intrinsic`; if so, does.
    pub fn hardware(&mut self, intrinsic: Intrinsic, args: &[Value], ty: Type, dst: usize) -> Step<bool> {
        let long = ty.bits() == Some(64) && matches!(intrinsic, Intrinsic::MulI24 | Intrinsic::MulU24);
        if let Some(op) = integer_op(intrinsic).filter(|_| !long) {
            self.plain_instruction(op, args, ty, dst, false)?;
            return Ok(true);
        }
        if let Some(row) = float_op(intrinsic) {
            let from = self.scalar_of(self.ty(self.value(args, 0)?))?;
            let column = match from {
                Scalar::Float(Float::Half) => row[0],
                Scalar::Float(Float::Single) => row[1],
                Scalar::Float(Float::Double) => row[2],
                _ => None,
            };
            let Some(op) = column else { return Ok(false) };
            self.plain_instruction(op, args, ty, dst, false)?;
            return Ok(true);
        }
        if let Some(op) = dot_op(intrinsic) {
            let clamp = self.immediate(args, 3)? & 1 != 0;
            self.plain_instruction(op, &args[..3], ty, dst, clamp)?;
            return Ok(true);
        }
        match intrinsic {
            Intrinsic::MulI24 | Intrinsic::MulU24 => self.product_of_24_bits(intrinsic, args, dst)?,
            Intrinsic::DivScale => self.div_scale(args, dst)?,
            Intrinsic::DivFmas => self.div_fmas(args, ty, dst)?,
            Intrinsic::AmdgcnClass => self.class(args, dst)?,
            Intrinsic::MqsadU32U8 => self.mqsad(args, dst)?,
            Intrinsic::FdivFast => self.fast_quotient(args, ty, dst)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Numerator, denominator, which of them is scaled; the scaled one, and whether the quotient must be scaled back.
    fn div_scale(&mut self, args: &[Value], dst: usize) -> Step<()> {
        let numerator = self.value(args, 0)?;
        let ((n, un), (d, ud)) = (self.packed_bits(numerator)?, self.packed_bits(self.value(args, 1)?)?);
        let scaled = if self.immediate(args, 2)? & 1 != 0 { n } else { d };
        let wide = self.ty(numerator) == Type::F64;
        let op = if wide { V_DIV_SCALE_F64 } else { V_DIV_SCALE_F32 };
        let (bits, mask) = self.instruction(op, &[scaled, d, n], 0, false)?;
        self.put_packed(dst, self.ty(numerator), &bits, un | ud)?;
        let flag = std::array::from_fn(|l| mask >> l & 1);
        self.put_packed(dst + 1, Type::I1, &flag, un | ud)
    }

    fn div_fmas(&mut self, args: &[Value], ty: Type, dst: usize) -> Step<()> {
        let mut undefined = 0;
        let mut sources = [[0; MAX_LANES]; 4];
        for (n, source) in sources.iter_mut().enumerate() {
            let (bits, unknown) = self.packed_bits(self.value(args, n)?)?;
            undefined |= unknown;
            *source = bits;
        }
        let [a, b, c, flag] = sources;
        let mask = super::int::where_lanes(|l| flag[l] & 1 != 0);
        let op = if ty == Type::F64 { V_DIV_FMAS_F64 } else { V_DIV_FMAS_F32 };
        let (bits, _) = self.instruction(op, &[a, b, c], mask, false)?;
        self.put_packed(dst, ty, &bits, undefined)
    }

    /// Whether a number is of one of the classes of a mask.
    pub fn class(&mut self, args: &[Value], dst: usize) -> Step<()> {
        let (scalar, x) = self.elements(self.value(args, 0)?)?;
        let Scalar::Float(float) = scalar else {
            return Err(super::exec::Stop::unsupported("class of integers"));
        };
        let (fmt, wanted) = (super::float::format(float), self.arg(args, 1)?);
        for (i, &x) in x.iter().enumerate() {
            self.map2(dst + i, [x, wanted], 1, |x, classes| {
                u64::from(u64::from(fp::class(fmt, x)) & classes != 0)
            });
        }
        Ok(())
    }

    /// Four masked sums of a sliding window, each added to an element of the third argument.
    fn mqsad(&mut self, args: &[Value], dst: usize) -> Step<()> {
        let ((window, a), (reference, b)) =
            (self.packed_bits(self.value(args, 0)?)?, self.packed_bits(self.value(args, 1)?)?);
        let (_, sums) = self.elements(self.value(args, 2)?)?;
        for (i, &sum) in sums.iter().enumerate() {
            let part = window.map(|x| x >> (8 * i) & 0xffff_ffff);
            let start = self.regs.v[sum];
            let c = lanes(self.regs.any(sum))
                .filter(|&l| self.regs.undef(sum, l) != 0)
                .fold(0, |m, l| m | 1 << l);
            let (bits, _) = self.instruction(V_MSAD_U8, &[part, reference, start], 0, false)?;
            self.put_packed(dst + i, Type::I32, &bits, a | b | c)?;
        }
        Ok(())
    }

    /// All 48 bits of a product of 24-bit numbers, which no one instruction gives.
    fn product_of_24_bits(&mut self, intrinsic: Intrinsic, args: &[Value], dst: usize) -> Step<()> {
        let from = [self.arg(args, 0)?, self.arg(args, 1)?];
        let extend = |x: u64| match intrinsic {
            Intrinsic::MulI24 => super::int::sext(x, 24),
            _ => x & 0xff_ffff,
        };
        self.map2(dst, from, u64::MAX, |x, y| extend(x).wrapping_mul(extend(y)));
        Ok(())
    }

    /// `fdiv.fast`: a quotient within 2.5 ulp.
    fn fast_quotient(&mut self, args: &[Value], ty: Type, dst: usize) -> Step<()> {
        self.group.outcome.approximate = true;
        let (a, b) = (self.arg(args, 0)?, self.arg(args, 1)?);
        let flags = mir::ir::InstFlags::empty();
        self.binary(mir::ir::BinaryOp::FDiv, flags, ty, dst, [a, b])
    }
}
