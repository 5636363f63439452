//! Intrinsics: those of [`mir::ir::legal`] pass, lane by lane; all others are expanded here.

use super::target_intrinsics::is_wave_intrinsic;
use super::{Legalizer, Parts};
use mir::ir::legal::{is_legal, typed_by_argument};
use mir::ir::*;
use mir::target::Features;
use mir::{Diagnostic, Result};
use smallvec::SmallVec;

impl Legalizer<'_> {
    pub(super) fn lower_intrinsic(
        &mut self,
        intrinsic: Intrinsic,
        args: &[Value],
        ty: Type,
    ) -> Result<Parts> {
        use Intrinsic::*;
        if intrinsic.props().contains(IntrinsicProps::DROPPED) {
            return Ok(Parts::new());
        }
        match intrinsic {
            // Places are given out before; without optimisation each object has its own.
            LifetimeStart | LifetimeEnd => Ok(Parts::new()),
            MemsetPattern => self.lower_pattern(args),
            Memcpy | MemcpyInline | Memmove | Memset | MemsetInline => {
                self.lower_block_operation(intrinsic, args)
            }
            Expect
            | ExpectWithProbability
            | LaunderInvariantGroup
            | StripInvariantGroup
            | SsaCopy
            | PtrAnnotation
            | Annotation
            | ArithmeticFence
            | ThreadlocalAddress => match args.first() {
                Some(&arg) => self.parts(arg),
                None => Err(Diagnostic::malformed("intrinsic without arguments")),
            },
            Objectsize => {
                // Unknown: the largest for the maximum, 0 for the minimum.
                let minimum = args.get(1).is_some_and(|&v| self.old.as_int(v) == Some(1));
                let carrier = self.part_types(ty)?[0];
                Ok(Parts::from_slice(&[self.b.int(carrier, if minimum { 0 } else { u64::MAX })]))
            }
            IsConstant => {
                let known = args.first().is_some_and(|&v| {
                    matches!(
                        self.old.as_const(v),
                        Some(Const::Int(_) | Const::Wide(_) | Const::Float(_) | Const::Zero)
                    )
                });
                Ok(Parts::from_slice(&[self.b.bool(known)]))
            }
            // Checks stay in; what may be widened is not; who asks for a type's members has them by now.
            AllowRuntimeCheck | AllowUbsanCheck | WidenableCondition | TypeTest | PublicTypeTest => {
                Ok(Parts::from_slice(&[self.b.bool(true)]))
            }
            // The stack pointer points to the last allocation: nothing is reserved above it.
            GetDynamicAreaOffset => {
                let ty = self.part_types(ty)?[0];
                Ok(Parts::from_slice(&[self.b.zero(ty)]))
            }
            GetRounding | SetRounding | GetFpenv | SetFpenv | ResetFpenv | GetFpmode | SetFpmode
            | ResetFpmode => self.lower_environment(intrinsic, args, ty),
            FptruncRound => self.lower_rounded_truncation(args, ty),
            Ptrmask => self.lower_ptrmask(args),
            Ubsantrap => {
                self.push_effect(Trap, &[]);
                Ok(Parts::new())
            }
            Prefetch => Ok(Parts::new()),
            Stacksave => self.lower_stack_save(ty),
            Stackrestore => self.lower_stack_restore(args[0]),
            R600ReadNgroupsX | R600ReadNgroupsY | R600ReadNgroupsZ | R600ReadGlobalSizeX
            | R600ReadGlobalSizeY | R600ReadGlobalSizeZ | R600ReadLocalSizeX | R600ReadLocalSizeY
            | R600ReadLocalSizeZ => self.lower_header_read(intrinsic),
            // Without a clock of constant speed LLVM reads 0 as well.
            Readsteadycounter if !self.ctx.machine.has(Features::STEADY_CLOCK) => {
                Ok(Parts::from_slice(&[self.b.zero(Type::I64)]))
            }
            ImplicitargPtr if self.old.call_conv.is_callable() => {
                let pointer = self.b.intrinsic(ImplicitargPtr, &[], Type::ptr(AddrSpace::CONSTANT));
                Ok(Parts::from_slice(&[if ty == self.b.ty(pointer) {
                    pointer
                } else {
                    self.b.cast(CastOp::AddrSpaceCast, pointer, ty)
                }]))
            }
            // Only kernels have arguments in memory.
            KernargSegmentPtr if self.old.call_conv.is_callable() || self.in_shader() => {
                Ok(Parts::from_slice(&[self.b.zero(ty)]))
            }
            // Shaders start with other values; what they ask for in vain is undefined.
            WorkgroupIdX | WorkgroupIdY | WorkgroupIdZ
                if self.in_shader() && !self.ctx.machine.has(Features::ARCHITECTED_SGPRS) =>
            {
                Ok(Parts::from_slice(&[self.b.undef(ty)]))
            }
            WorkitemIdX | WorkitemIdY | WorkitemIdZ | DispatchId if self.in_shader() => {
                Ok(Parts::from_slice(&[self.b.undef(ty)]))
            }
            LdsKernelId if !self.old.call_conv.is_callable() => {
                Ok(Parts::from_slice(&[match self.old.kernel.lds_kernel_id {
                    Some(number) => self.b.i32(number),
                    None => self.b.undef(ty),
                }]))
            }
            ImplicitBufferPtr if self.ctx.machine.os != mir::target::Os::Mesa3d || !self.in_shader() => {
                Err(Diagnostic::unsupported("llvm.amdgcn.implicit.buffer.ptr outside of Mesa's shaders"))
            }
            // Frames are not linked: what LLVM does not know here is null.
            Returnaddress if self.old.as_int(args[0]) == Some(0) && self.old.call_conv.is_callable() => {
                Ok(Parts::from_slice(&[self.b.intrinsic(Returnaddress, &[], ty)]))
            }
            Returnaddress | Frameaddress | Addressofreturnaddress | Sponentry => {
                let null = self.part_types(ty)?[0];
                Ok(Parts::from_slice(&[self.b.zero(null)]))
            }
            ImplicitargPtr => {
                let base_ty = Type::ptr(AddrSpace::CONSTANT);
                let base = if self.in_shader() {
                    self.b.zero(base_ty)
                } else {
                    self.b.intrinsic(KernargSegmentPtr, &[], base_ty)
                };
                let pointer = self.b.ptr_offset(base, i64::from(self.kernarg.implicit_offset));
                Ok(Parts::from_slice(&[if ty == self.b.ty(pointer) {
                    pointer
                } else {
                    self.b.cast(CastOp::AddrSpaceCast, pointer, ty)
                }]))
            }
            AmdgcnUnreachable => Ok(Parts::new()),
            Wavefrontsize => {
                let size = self.ctx.machine.wave_size();
                Ok(Parts::from_slice(&[self.b.i32(size)]))
            }
            SaddOverflow | UaddOverflow | SsubOverflow | UsubOverflow | SmulOverflow | UmulOverflow => {
                self.lower_overflow(intrinsic, args)
            }
            ReduceAdd | ReduceMul | ReduceAnd | ReduceOr | ReduceXor | ReduceSmin | ReduceSmax
            | ReduceUmin | ReduceUmax | ReduceFadd | ReduceFmul | ReduceFmin | ReduceFmax
            | ReduceFminimum | ReduceFmaximum => self.lower_reduction(intrinsic, args),
            SmulFix | SmulFixSat | UmulFix | UmulFixSat | SdivFix | SdivFixSat | UdivFix | UdivFixSat => {
                self.lower_fixed_point(intrinsic, args)
            }
            MaskedLoad | MaskedStore | MaskedGather | MaskedScatter | MaskedExpandload
            | MaskedCompressstore => {
                let aligns = self.old.mem_aligns.get(&self.current).copied().unwrap_or_default();
                self.lower_masked(intrinsic, args, aligns, ty)
            }
            VectorReverse | VectorSplice | VectorSpliceLeft | VectorSpliceRight | VectorInsert
            | VectorExtract | VectorInterleave2 | VectorInterleave3 | VectorInterleave4
            | VectorInterleave5 | VectorInterleave6 | VectorInterleave7 | VectorInterleave8
            | VectorDeinterleave2 | VectorDeinterleave3 | VectorDeinterleave4 | VectorDeinterleave5
            | VectorDeinterleave6 | VectorDeinterleave7 | VectorDeinterleave8 | Stepvector
            | GetActiveLaneMask | PartialReduceAdd | VectorCompress | CttzElts | VectorMatch
            | ExtractLastActive => self.lower_vector_intrinsic(intrinsic, args, ty),
            Frexp => self.lower_frexp(args[0], ty),
            Modf | Sincos => self.lower_two_results(intrinsic, args[0]),
            Lrint | Llrint | Lround | Llround => self.lower_rounded_integer(intrinsic, args[0], ty),
            FptouiSat | FptosiSat => self.lower_saturating_conversion(intrinsic == FptosiSat, args[0], ty),
            Ucmp | Scmp => self.lower_three_way(intrinsic == Scmp, args, ty),
            ConvertToFp16 => {
                let (scalar, lanes) = self.lanes(args[0])?;
                let Scalar::Float(float) = scalar else {
                    return Err(Diagnostic::malformed("convert.to.fp16 of a non-float"));
                };
                let carrier = self.carrier(16);
                let mut out = Parts::new();
                for &x in &lanes {
                    let half = self.resize_float(x, float, Float::Half)?;
                    let bits = self.b.bitcast(half, Type::I16);
                    out.push(self.b.zext_or_trunc(bits, carrier));
                }
                Ok(out)
            }
            Readlane | Readfirstlane | Writelane | MovDpp | UpdateDpp | MovDpp8 | Permlane16
            | Permlanex16 | DsSwizzle | DsBpermute | DsPermute | SetInactive | StrictWwm | StrictWqm
            | Wqm | Softwqm => self.lower_lane_crossing(intrinsic, args, ty),
            SetInactiveChainArg => self.lower_chain_argument(args, ty),
            CsChain => self.lower_chain_jump(args),
            // A comparison by no known predicate has no defined result, as in LLVM.
            AmdgcnIcmp | AmdgcnFcmp
                if args.get(2).and_then(|&v| self.old.as_int(v)).is_some_and(|code| {
                    !(if intrinsic == AmdgcnIcmp { 32..=41 } else { 0..=15 }).contains(&code)
                }) =>
            {
                Ok(self.part_types(ty)?.iter().map(|&ty| self.b.undef(ty)).collect())
            }
            Wwm => self.lower_lane_crossing(StrictWwm, args, ty),
            Buffer(id) => self.lower_buffer(id, args, ty),
            Image(id) => self.lower_image(id, args, ty),
            SBufferLoad => self.lower_scalar_buffer(args, ty),
            ImageBvhIntersectRay => self.lower_ray(args),
            _ if is_wave_intrinsic(intrinsic) => self.lower_wave_intrinsic(intrinsic, args, ty),
            // The whole product of 24-bit factors.
            MulU24 | MulI24 if ty.is_int(64) => {
                let signed = intrinsic == MulI24;
                let mut factors = [self.part(args[0])?, self.part(args[1])?];
                for factor in &mut factors {
                    *factor = if signed {
                        self.sign_extended(*factor, 24)
                    } else {
                        self.zero_extended(*factor, 24)
                    };
                }
                let product = self.b.wide_mul(factors[0], factors[1], signed);
                Ok(Parts::from_slice(&[product]))
            }
            Sdot2 | Udot2 | Fdot2 | CvtPkrtz | CvtPknormI16 | CvtPknormU16 | CvtPkI16 | CvtPkU16 => {
                self.lower_packed(intrinsic, args, ty)
            }
            DivScale => {
                let (x, y, which) = (self.part(args[0])?, self.part(args[1])?, self.part(args[2])?);
                let value_ty = self.b.ty(x);
                let both = self.b.intrinsic(DivScale, &[x, y, which], ty);
                let mut member = |index: u32, ty| {
                    let path = std::iter::once(index).collect();
                    self.b.pure(InstKind::ExtractValue { aggregate: both, path }, ty, InstFlags::empty())
                };
                Ok(Parts::from_slice(&[member(0, value_ty), member(1, Type::I1)]))
            }
            _ => self.lower_lanes(intrinsic, args, ty),
        }
    }

    pub(super) fn push_effect(&mut self, intrinsic: Intrinsic, args: &[Value]) {
        let kind = InstKind::Intrinsic { intrinsic, args: SmallVec::from_slice(args) };
        self.b.push(kind, Type::Void, InstFlags::empty());
    }

    /// An intrinsic that works lane by lane: arguments that are scalar are the same for all lanes.
    fn lower_lanes(&mut self, intrinsic: Intrinsic, args: &[Value], ty: Type) -> Result<Parts> {
        // The type that counts lanes and picks the expansion.
        let old = self.old;
        let by_argument = args.first().map(|&a| old.ty(a));
        let key = if typed_by_argument(intrinsic) || intrinsic == Intrinsic::IsFpclass || ty == Type::Void {
            by_argument.unwrap_or(ty)
        } else {
            ty
        };
        let missing = || Diagnostic::malformed("intrinsic argument without a value");
        if let Type::Scalar(scalar) = key
            && !matches!(scalar, Scalar::Int(65..))
            && ty != Type::Void
        {
            let mut here: SmallVec<[Value; 4]> = SmallVec::new();
            for &arg in args {
                here.push(self.parts(arg)?.first().copied().ok_or_else(missing)?);
            }
            return self.lower_lane(intrinsic, &here, scalar, ty.scalar().unwrap_or(scalar), args, 0);
        }
        let mut parts: SmallVec<[Parts; 3]> = SmallVec::new();
        for &arg in args {
            parts.push(self.parts(arg)?);
        }
        if ty == Type::Void || key.scalar().is_none() {
            let flat: SmallVec<[Value; 4]> = parts.iter().flatten().copied().collect();
            return self.push_legal(intrinsic, &flat, ty).map(|v| v.into_iter().collect());
        }
        let lanes = key.lanes() as usize;
        let mut out = Parts::new();
        if let Some(Scalar::Int(bits @ 65..)) = key.scalar() {
            let each = self.element_parts(Scalar::Int(bits));
            for lane in 0..lanes {
                let here: SmallVec<[&[Value]; 3]> = args
                    .iter()
                    .zip(&parts)
                    .map(|(&arg, parts)| match old.ty(arg) {
                        Type::Vector(..) => parts.get(lane * each..(lane + 1) * each).unwrap_or_default(),
                        _ => &parts[..],
                    })
                    .collect();
                match self.wide_lane(intrinsic, &here, bits)? {
                    Some(found) => out.extend(found),
                    None => {
                        return Err(Diagnostic::unsupported(format!("llvm.{} of i{bits}", intrinsic.name())));
                    }
                }
            }
            return Ok(out);
        }
        for lane in 0..lanes {
            let here: SmallVec<[Value; 4]> = parts
                .iter()
                .map(|p| if p.len() == lanes { Ok(p[lane]) } else { p.first().copied().ok_or(()) })
                .collect::<std::result::Result<_, ()>>()
                .map_err(|()| missing())?;
            let scalar = key.scalar().unwrap_or(Scalar::Int(32));
            let result_scalar = ty.scalar().unwrap_or(scalar);
            out.extend(self.lower_lane(intrinsic, &here, scalar, result_scalar, args, lane)?);
        }
        Ok(out)
    }

    /// Emits an intrinsic that must be legal as it stands.
    pub(super) fn push_legal(
        &mut self,
        intrinsic: Intrinsic,
        args: &[Value],
        ty: Type,
    ) -> Result<Option<Value>> {
        let key = match args.first() {
            Some(&arg) if typed_by_argument(intrinsic) => self.b.ty(arg),
            _ => ty,
        };
        if !is_legal(intrinsic, key, self.ctx.machine) {
            return Err(Diagnostic::unsupported(format!("llvm.{} at this type", intrinsic.name())));
        }
        let props = intrinsic.props();
        if ty != Type::Void
            && !props.intersects(
                IntrinsicProps::EFFECT.union(IntrinsicProps::READS).union(IntrinsicProps::CONVERGENT),
            )
        {
            let flags = self.flags;
            return Ok(Some(self.b.intrinsic_flags(intrinsic, args, ty, flags)));
        }
        let kind = InstKind::Intrinsic { intrinsic, args: SmallVec::from_slice(args) };
        Ok(self.b.push(kind, ty, self.flags))
    }

    fn lower_lane(
        &mut self,
        intrinsic: Intrinsic,
        args: &[Value],
        scalar: Scalar,
        result: Scalar,
        old_args: &[Value],
        lane: usize,
    ) -> Result<Parts> {
        let one = |value: Value| Ok(Parts::from_slice(&[value]));
        match scalar {
            Scalar::Int(bits) if bits > 64 => {
                Err(Diagnostic::unsupported(format!("llvm.{} of i{bits}", intrinsic.name())))
            }
            Scalar::Int(bits) => match self.int_lane(intrinsic, args, bits)? {
                Some(value) => one(value),
                None => {
                    let ty = self.part_types(Type::Scalar(result))?[0];
                    Ok(self.push_legal(intrinsic, args, ty)?.into_iter().collect())
                }
            },
            Scalar::Float(float) => {
                let second = old_args.get(1).copied();
                one(self.float_lane(intrinsic, args, float, result, second, lane)?)
            }
            Scalar::Ptr(_) => {
                let ty = Type::Scalar(result);
                Ok(self.push_legal(intrinsic, args, ty)?.into_iter().collect())
            }
        }
    }

    // ---- floating point

    fn float_lane(
        &mut self,
        intrinsic: Intrinsic,
        args: &[Value],
        float: Float,
        result: Scalar,
        old_second: Option<Value>,
        lane: usize,
    ) -> Result<Value> {
        use Intrinsic::*;
        let _ = lane;
        let x = *args.first().ok_or_else(|| Diagnostic::malformed("too few arguments"))?;
        match intrinsic {
            Sqrt => self.square_root(x, float),
            Sin | Cos | Tan | Exp | Exp2 | Exp10 | Log | Log2 | Log10 => self.elementary(intrinsic, x, float),
            Pow => self.power(x, args[1], float),
            Powi => self.integer_power(x, args[1], float),
            Fabs if !self.native(float) => Ok(self.narrow_magnitude(x, float)),
            Copysign if !self.native(float) => Ok(self.narrow_copysign(x, args[1], float)),
            Fma if !self.native(float) => self.narrow_fma(args, float),
            // Two operations, as rounding through binary32 takes two conversions either way.
            Fmuladd if !self.native(float) => {
                let product = self.float_binary(BinaryOp::FMul, x, args[1], float)?;
                self.float_binary(BinaryOp::FAdd, product, args[2], float)
            }
            IsFpclass | AmdgcnClass if float == Float::Half && !self.native(float) => {
                let mask = self.b.zext_or_trunc(args[1], Type::I32);
                Ok(self.narrow_class(x, mask, float))
            }
            IsFpclass => {
                let mask = self.b.zext_or_trunc(args[1], Type::I32);
                self.narrow_op(float, &[x], |this, v| {
                    Ok(this.b.intrinsic(AmdgcnClass, &[v[0], mask], Type::I1))
                })
            }
            Ldexp | AmdgcnLdexp => self.scale_by_power(x, args[1], float, old_second),
            ConvertFromFp16 => {
                let narrow = self.b.zext_or_trunc(x, Type::I16);
                let half = self.b.bitcast(narrow, Type::F16);
                self.resize_float(half, Float::Half, float)
            }
            AmdgcnFcmp => {
                let rest: SmallVec<[Value; 3]> = SmallVec::from_slice(&args[1..]);
                let mask = self.narrow_op(float, &[x], |this, v| {
                    let mut all: SmallVec<[Value; 4]> = SmallVec::from_slice(v);
                    all.extend(rest);
                    Ok(this.wave_mask(intrinsic, &all))
                })?;
                let ty = self.part_types(Type::Scalar(result))?[0];
                Ok(self.b.zext_or_trunc(mask, ty))
            }
            AmdgcnClass => {
                let ty = self.part_types(Type::Scalar(result))?[0];
                let rest: SmallVec<[Value; 3]> = SmallVec::from_slice(&args[1..]);
                self.narrow_op(float, &[x], |this, v| {
                    let mut all: SmallVec<[Value; 4]> = SmallVec::from_slice(v);
                    all.extend(rest);
                    this.push_legal(intrinsic, &all, ty)?
                        .ok_or_else(|| Diagnostic::defect("intrinsic without a result"))
                })
            }
            FrexpExp => {
                let ty = if float == Float::Half && self.has_16bit() { Type::I16 } else { Type::I32 };
                let exponent =
                    self.narrow_op(float, &[x], |this, v| Ok(this.b.intrinsic(FrexpExp, &[v[0]], ty)))?;
                let wanted = self.part_types(Type::Scalar(result))?[0];
                Ok(self.b.sext_or_trunc(exponent, wanted))
            }
            _ => self.narrow_op(float, args, |this, v| this.wide_float(intrinsic, v)),
        }
    }

    /// Intrinsics at formats that the target computes in.
    fn wide_float(&mut self, intrinsic: Intrinsic, args: &[Value]) -> Result<Value> {
        use Intrinsic::*;
        let x = args[0];
        let ty = self.b.ty(x);
        let flags = self.flags;
        match intrinsic {
            Fmuladd => Ok(self.multiply_add(x, args[1], args[2])),
            Floor | Ceil | Trunc | Rint => self.round_value(intrinsic, x),
            Nearbyint | Roundeven => self.round_value(Rint, x),
            Round => {
                // Halves away from zero.
                let truncated = self.round_value(Trunc, x)?;
                let rest = self.b.fsub(x, truncated);
                let rest = self.b.fabs(rest);
                let (half, one, zero) = (self.b.float(ty, 0.5), self.b.float(ty, 1.0), self.b.float(ty, 0.0));
                let up = self.b.fcmp(FloatPredicate::Oge, rest, half);
                let step = self.b.select(up, one, zero);
                let step = self.b.intrinsic(Copysign, &[step, x], ty);
                Ok(self.b.fadd(truncated, step))
            }
            Minnum | Maxnum | Minimum | Maximum | Minimumnum | Maximumnum => {
                self.lower_minmax(intrinsic, x, args[1])
            }
            Fma | Fabs | Copysign | Canonicalize => Ok(self.b.intrinsic_flags(intrinsic, args, ty, flags)),
            _ => self
                .push_legal(intrinsic, args, ty)?
                .ok_or_else(|| Diagnostic::defect("intrinsic without a result")),
        }
    }

    /// Minimum and maximum of native formats. In IEEE mode the instructions return a quieted signalling NaN
    /// instead of the other operand, so operands are quieted first.
    pub(super) fn lower_minmax(&mut self, intrinsic: Intrinsic, x: Value, y: Value) -> Result<Value> {
        use Intrinsic::*;
        let ty = self.b.ty(x);
        let Type::Scalar(Scalar::Float(float)) = ty else {
            return Err(Diagnostic::malformed("minimum of non-floats"));
        };
        if matches!(float, Float::BFloat) || float == Float::Half && !self.has_16bit() {
            return self.narrow_op(float, &[x, y], |this, v| this.lower_minmax(intrinsic, v[0], v[1]));
        }
        let base = if matches!(intrinsic, Minnum | Minimum | Minimumnum) { Minnum } else { Maxnum };
        let (qx, qy) = if self.mode.ieee { (self.quiet(x), self.quiet(y)) } else { (x, y) };
        let result = self.b.intrinsic_flags(base, &[qx, qy], ty, self.flags);
        if !matches!(intrinsic, Minimum | Maximum) || self.flags.contains(InstFlags::NNAN) {
            return Ok(result);
        }
        let nan_bits = match float {
            Float::Half | Float::BFloat => 0x7e00,
            Float::Single => 0x7fc0_0000,
            Float::Double => 0x7ff8_0000_0000_0000,
        };
        let nan = self.b.float_bits(ty, nan_bits);
        let ordered = self.b.fcmp(FloatPredicate::Ord, x, y);
        Ok(self.b.select(ordered, result, nan))
    }

    /// `ldexp`; the exponent of a half is clamped into i16, which changes nothing about the result.
    fn scale_by_power(
        &mut self,
        x: Value,
        exponent: Value,
        float: Float,
        old_exponent: Option<Value>,
    ) -> Result<Value> {
        // Bits above a narrow exponent are unspecified; a wide one is clamped before it is cut off.
        let bits = old_exponent.and_then(|e| self.old.ty(e).scalar()).map_or(32, |s| s.bits());
        let mut exponent = self.sign_extended(exponent, bits);
        if self.b.bits(exponent) > 32 {
            let ty = self.b.ty(exponent);
            for (limit, beyond) in [(0x7fffi64, IntPredicate::Sgt), (-0x8000, IntPredicate::Slt)] {
                let over = self.b.icmp_imm(beyond, exponent, limit as u64);
                let limit = self.b.func.int(ty, limit as u64);
                exponent = self.b.select(over, limit, exponent);
            }
        }
        let exponent = self.b.sext_or_trunc(exponent, Type::I32);
        if float == Float::Half && self.has_16bit() {
            let (top, bottom) = (self.b.i32(0x7fff), self.b.i32(-0x8000i32 as u32));
            let clamped = self.clean_minmax(Intrinsic::Smin, exponent, top);
            let clamped = self.clean_minmax(Intrinsic::Smax, clamped, bottom);
            let narrow = self.b.cast(CastOp::Trunc, clamped, Type::I16);
            return Ok(self.b.intrinsic(Intrinsic::Ldexp, &[x, narrow], Type::F16));
        }
        self.narrow_op(float, &[x], |this, v| {
            let ty = this.b.ty(v[0]);
            Ok(this.b.intrinsic(Intrinsic::Ldexp, &[v[0], exponent], ty))
        })
    }

    /// `frexp`: mantissa and exponent, where the exponent of infinities and NaNs is 0.
    fn lower_frexp(&mut self, arg: Value, ty: Type) -> Result<Parts> {
        let (scalar, lanes) = self.lanes(arg)?;
        let Scalar::Float(float) = scalar else { return Err(Diagnostic::malformed("frexp of a non-float")) };
        let types = self.part_types(ty)?;
        let (mut mantissas, mut exponents) = (Parts::new(), Parts::new());
        for &x in &lanes {
            let wide = if self.native(float) { x } else { self.resize_float(x, float, Float::Single)? };
            let wide_ty = self.b.ty(wide);
            let mantissa = self.b.intrinsic(Intrinsic::FrexpMant, &[wide], wide_ty);
            let exponent_ty = if wide_ty == Type::F16 { Type::I16 } else { Type::I32 };
            let exponent = self.b.intrinsic(Intrinsic::FrexpExp, &[wide], exponent_ty);
            let mantissa = if wide_ty == self.b.ty(x) {
                mantissa
            } else {
                self.resize_float(mantissa, Float::Single, float)?
            };
            let wanted = types.last().copied().unwrap_or(Type::I32);
            let exponent = self.b.sext_or_trunc(exponent, wanted);
            // The compare is dead code where the instruction itself takes care of infinities.
            let mask = self.b.i32(0x1f8);
            let finite = self.b.intrinsic(Intrinsic::AmdgcnClass, &[wide, mask], Type::I1);
            let zero = self.b.zero(wanted);
            let (mantissa, exponent) = if self.ctx.machine.has(Features::FREXP_OF_INFINITY) {
                (mantissa, exponent)
            } else {
                (self.b.select(finite, mantissa, x), self.b.select(finite, exponent, zero))
            };
            mantissas.push(mantissa);
            exponents.push(exponent);
        }
        mantissas.extend(exponents);
        Ok(mantissas)
    }

    /// `modf` (fraction with the sign of `x`, whole part) and `sincos`.
    fn lower_two_results(&mut self, intrinsic: Intrinsic, arg: Value) -> Result<Parts> {
        let (scalar, lanes) = self.lanes(arg)?;
        let Scalar::Float(float) = scalar else {
            return Err(Diagnostic::malformed("two results of a non-float"));
        };
        let (mut first, mut second) = (Parts::new(), Parts::new());
        for &x in &lanes {
            if intrinsic == Intrinsic::Sincos {
                first.push(self.elementary(Intrinsic::Sin, x, float)?);
                second.push(self.elementary(Intrinsic::Cos, x, float)?);
                continue;
            }
            let whole = self.narrow_op(float, &[x], |this, v| this.round_value(Intrinsic::Trunc, v[0]))?;
            let fraction = self.narrow_op(float, &[x, whole], |this, v| {
                let ty = this.b.ty(v[0]);
                let rest = this.b.fsub(v[0], v[1]);
                // Infinities have no fraction.
                let same = this.b.fcmp(FloatPredicate::Oeq, v[0], v[1]);
                let zero = this.b.zero(ty);
                let rest = this.b.select(same, zero, rest);
                Ok(this.b.intrinsic(Intrinsic::Copysign, &[rest, v[0]], ty))
            })?;
            first.push(fraction);
            second.push(whole);
        }
        first.extend(second);
        Ok(first)
    }

    /// `lrint`, `lround` and their kin: rounding, then conversion.
    fn lower_rounded_integer(&mut self, intrinsic: Intrinsic, arg: Value, ty: Type) -> Result<Parts> {
        let (scalar, lanes) = self.lanes(arg)?;
        let (Scalar::Float(float), Some(Scalar::Int(bits))) = (scalar, ty.scalar()) else {
            return Err(Diagnostic::malformed("rounding of a non-float to an integer"));
        };
        let to_nearest = matches!(intrinsic, Intrinsic::Lrint | Intrinsic::Llrint);
        let how = if to_nearest { Intrinsic::Rint } else { Intrinsic::Round };
        let mut out = Parts::new();
        for &x in &lanes {
            let whole = self.narrow_op(float, &[x], |this, v| this.wide_float(how, v))?;
            out.extend(self.float_to_int(whole, float, true, bits)?);
        }
        Ok(out)
    }

    // ---- AMDGPU intrinsics of odd shapes

    /// Intrinsics on packed pairs of 16-bit elements.
    fn lower_packed(&mut self, intrinsic: Intrinsic, args: &[Value], ty: Type) -> Result<Parts> {
        let mut all: SmallVec<[Value; 4]> = SmallVec::new();
        for &arg in args {
            let parts = self.parts(arg)?;
            all.push(match (self.old.ty(arg), &parts[..]) {
                (ty @ Type::Vector(scalar, 2), _) if scalar.bits() == 16 => {
                    let words = self.split_dwords(&parts, scalar);
                    self.b.bitcast(words[0], ty)
                }
                (_, [part]) => *part,
                _ => return Err(Diagnostic::unsupported(format!("llvm.{} at this type", intrinsic.name()))),
            });
        }
        let value = self.b.intrinsic(intrinsic, &all, ty);
        match ty {
            Type::Vector(scalar, 2) if scalar.bits() == 16 => {
                let word = self.b.bitcast(value, Type::I32);
                let mut out = Parts::new();
                for lane in 0..2 {
                    self.join_dwords(&[word], lane * 16, scalar, &mut out);
                }
                Ok(out)
            }
            _ => Ok(Parts::from_slice(&[value])),
        }
    }
}
