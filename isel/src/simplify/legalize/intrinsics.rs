//! Intrinsics: those of [`super::super::legal_intrinsics`] pass, lane by lane; all others are expanded here.

use super::super::legal_intrinsics::{is_legal, typed_by_argument};
use super::{Legalizer, Parts};
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
            Memcpy | MemcpyInline | Memmove | Memset | MemsetInline => {
                self.lower_block_operation(intrinsic, args)
            }
            Expect
            | ExpectWithProbability
            | LaunderInvariantGroup
            | StripInvariantGroup
            | SsaCopy
            | PtrAnnotation
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
            IsConstant => Ok(Parts::from_slice(&[self.b.bool(false)])),
            Ptrmask => self.lower_ptrmask(args),
            Ubsantrap => {
                self.push_effect(Trap, &[]);
                Ok(Parts::new())
            }
            Prefetch => Ok(Parts::new()),
            ImplicitargPtr => {
                let base = self.b.intrinsic(KernargSegmentPtr, &[], Type::ptr(AddrSpace::CONSTANT));
                let pointer = self.b.ptr_offset(base, i64::from(self.kernarg.implicit_offset));
                Ok(Parts::from_slice(&[if ty == self.b.ty(pointer) {
                    pointer
                } else {
                    self.b.cast(CastOp::AddrSpaceCast, pointer, ty)
                }]))
            }
            Wavefrontsize => {
                let size = self.ctx.machine.wave_size();
                Ok(Parts::from_slice(&[self.b.i32(size)]))
            }
            SaddOverflow | UaddOverflow | SsubOverflow | UsubOverflow | SmulOverflow | UmulOverflow => {
                self.lower_overflow(intrinsic, args)
            }
            ReduceAdd | ReduceMul | ReduceAnd | ReduceOr | ReduceXor | ReduceSmin | ReduceSmax
            | ReduceUmin | ReduceUmax | ReduceFadd | ReduceFmul | ReduceFmin | ReduceFmax => {
                self.lower_reduction(intrinsic, args)
            }
            Frexp => self.lower_frexp(args[0], ty),
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
            Readlane | Readfirstlane | Writelane | MovDpp | UpdateDpp | DsSwizzle | DsBpermute
            | DsPermute | Softwqm | Wqm => self.lower_lane_crossing(intrinsic, args, ty),
            RawPtrBufferLoad | RawPtrBufferStore | RawBufferLoad | RawBufferStore | SBufferLoad => {
                self.lower_buffer(intrinsic, args, ty)
            }
            Ballot if ty.is_int(32) => Err(Diagnostic::unsupported("ballot of 32 lanes on a 64-lane wave")),
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

    fn push_effect(&mut self, intrinsic: Intrinsic, args: &[Value]) {
        let kind = InstKind::Intrinsic { intrinsic, args: SmallVec::from_slice(args) };
        self.b.push(kind, Type::Void, InstFlags::empty());
    }

    /// An intrinsic that works lane by lane: arguments that are scalar are the same for all lanes.
    fn lower_lanes(&mut self, intrinsic: Intrinsic, args: &[Value], ty: Type) -> Result<Parts> {
        let mut parts: SmallVec<[Parts; 3]> = SmallVec::new();
        for &arg in args {
            parts.push(self.parts(arg)?);
        }
        // The type that counts lanes and picks the expansion.
        let old = self.old;
        let by_argument = args.first().map(|&a| old.ty(a));
        let key = if typed_by_argument(intrinsic) || intrinsic == Intrinsic::IsFpclass || ty == Type::Void {
            by_argument.unwrap_or(ty)
        } else {
            ty
        };
        if ty == Type::Void || key.scalar().is_none() {
            let flat: SmallVec<[Value; 4]> = parts.iter().flatten().copied().collect();
            return self.push_legal(intrinsic, &flat, ty).map(|v| v.into_iter().collect());
        }
        let lanes = key.lanes() as usize;
        let mut out = Parts::new();
        for lane in 0..lanes {
            let here: SmallVec<[Value; 4]> = parts
                .iter()
                .map(|p| if p.len() == lanes { Ok(p[lane]) } else { p.first().copied().ok_or(()) })
                .collect::<std::result::Result<_, ()>>()
                .map_err(|()| Diagnostic::malformed("intrinsic argument without a value"))?;
            let scalar = key.scalar().unwrap_or(Scalar::Int(32));
            let result_scalar = ty.scalar().unwrap_or(scalar);
            out.extend(self.lower_lane(intrinsic, &here, scalar, result_scalar, args, lane)?);
        }
        Ok(out)
    }

    /// Emits an intrinsic that must be legal as it stands.
    fn push_legal(&mut self, intrinsic: Intrinsic, args: &[Value], ty: Type) -> Result<Option<Value>> {
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
                let old_arg = old_args.first().copied();
                one(self.float_lane(intrinsic, args, float, result, old_arg, lane)?)
            }
            Scalar::Ptr(_) => {
                let ty = Type::Scalar(result);
                Ok(self.push_legal(intrinsic, args, ty)?.into_iter().collect())
            }
        }
    }

    // ---- integers

    /// Expansion of an integer intrinsic at a width of up to 64 bits; `None` where it is legal.
    fn int_lane(&mut self, intrinsic: Intrinsic, args: &[Value], bits: u32) -> Result<Option<Value>> {
        use Intrinsic::*;
        let x = args.first().copied();
        let y = args.get(1).copied();
        let need = |v: Option<Value>| v.ok_or_else(|| Diagnostic::malformed("too few arguments"));
        Ok(Some(match intrinsic {
            Smin | Smax | Umin | Umax => {
                let (x, y) = (need(x)?, need(y)?);
                self.integer_minmax(intrinsic, x, y, bits)
            }
            Abs => {
                let x = need(x)?;
                let x = if bits == 1 { x } else { self.sign_extended(x, bits) };
                if bits == 1 {
                    x
                } else {
                    let minus = self.b.neg(x);
                    self.clean_minmax(Smax, x, minus)
                }
            }
            Ctpop => {
                let x = need(x)?;
                self.population(x, bits)
            }
            Ctlz | Cttz => {
                let (x, poison) = (need(x)?, need(y)?);
                self.count_zeros(intrinsic == Ctlz, x, poison, bits)
            }
            Bswap => {
                let x = need(x)?;
                self.byte_swap(x, bits)?
            }
            Bitreverse => {
                let x = need(x)?;
                self.bit_reverse(x, bits)
            }
            Fshl | Fshr => {
                let (x, y) = (need(x)?, need(y)?);
                let amount = need(args.get(2).copied())?;
                self.funnel_shift(intrinsic == Fshl, x, y, amount, bits)
            }
            SaddSat | UaddSat | SsubSat | UsubSat => {
                let (x, y) = (need(x)?, need(y)?);
                self.saturating(intrinsic, x, y, bits)
            }
            SshlSat | UshlSat => {
                let (x, y) = (need(x)?, need(y)?);
                self.saturating_shift(intrinsic == SshlSat, x, y, bits)
            }
            _ => return Ok(None),
        }))
    }

    pub(super) fn integer_minmax(&mut self, intrinsic: Intrinsic, x: Value, y: Value, bits: u32) -> Value {
        use Intrinsic::*;
        if bits == 1 {
            return if matches!(intrinsic, Umin | Smax) { self.b.and(x, y) } else { self.b.or(x, y) };
        }
        let signed = matches!(intrinsic, Smin | Smax);
        let clean = |this: &mut Self, v| {
            if signed { this.sign_extended(v, bits) } else { this.zero_extended(v, bits) }
        };
        let (x, y) = (clean(self, x), clean(self, y));
        self.clean_minmax(intrinsic, x, y)
    }

    /// Minimum or maximum of clean carriers.
    fn clean_minmax(&mut self, intrinsic: Intrinsic, x: Value, y: Value) -> Value {
        use Intrinsic::*;
        let ty = self.b.ty(x);
        if self.b.bits(x) <= 32 {
            return self.b.intrinsic(intrinsic, &[x, y], ty);
        }
        let predicate = match intrinsic {
            Smin => IntPredicate::Slt,
            Smax => IntPredicate::Sgt,
            Umin => IntPredicate::Ult,
            _ => IntPredicate::Ugt,
        };
        let keep = self.b.icmp(predicate, x, y);
        self.b.select(keep, x, y)
    }

    fn population(&mut self, x: Value, bits: u32) -> Value {
        if bits == 1 {
            return x;
        }
        let carrier = self.b.ty(x);
        let x = self.zero_extended(x, bits);
        let count = if self.b.bits(x) == 64 {
            let (low, high) = self.b.split64(x);
            let low = self.b.intrinsic(Intrinsic::Ctpop, &[low], Type::I32);
            let high = self.b.intrinsic(Intrinsic::Ctpop, &[high], Type::I32);
            self.b.add(low, high)
        } else {
            let x = self.b.zext_or_trunc(x, Type::I32);
            self.b.intrinsic(Intrinsic::Ctpop, &[x], Type::I32)
        };
        self.b.zext_or_trunc(count, carrier)
    }

    /// `ctlz` and `cttz`. The instructions give -1 for zero, which as an unsigned number loses against any count.
    fn count_zeros(&mut self, leading: bool, x: Value, zero_is_poison: Value, bits: u32) -> Value {
        let carrier = self.b.ty(x);
        if bits == 1 {
            return self.b.not(x);
        }
        let exact = self.b.func.as_int(zero_is_poison) == Some(1);
        let intrinsic = if leading { Intrinsic::Ctlz } else { Intrinsic::Cttz };
        let yes = self.b.bool(true);
        let mut x = self.zero_extended(x, bits);
        let width = if self.b.bits(x) == 64 { 64 } else { 32 };
        x = self.b.zext_or_trunc(x, Type::int(width));
        // Narrow values move to the top for leading zeros; a bit above them ends the search for trailing ones.
        if leading && bits < width {
            x = self.b.shl_imm(x, width - bits);
        }
        let mut count = if width == 64 {
            let (low, high) = self.b.split64(x);
            let low_count = self.b.intrinsic(intrinsic, &[low, yes], Type::I32);
            let high_count = self.b.intrinsic(intrinsic, &[high, yes], Type::I32);
            let (first, second) = if leading { (high_count, low_count) } else { (low_count, high_count) };
            // 32 more, without carrying out of -1.
            let thirty_two = self.b.i32(32);
            let second = self.b.or(second, thirty_two);
            self.b.intrinsic(Intrinsic::Umin, &[first, second], Type::I32)
        } else {
            self.b.intrinsic(intrinsic, &[x, yes], Type::I32)
        };
        if !exact {
            let all = self.b.i32(bits);
            count = self.b.intrinsic(Intrinsic::Umin, &[count, all], Type::I32);
        }
        self.b.zext_or_trunc(count, carrier)
    }

    fn byte_swap(&mut self, x: Value, bits: u32) -> Result<Value> {
        let carrier = self.b.ty(x);
        if bits % 16 != 0 {
            return Err(Diagnostic::malformed(format!("bswap of i{bits}")));
        }
        if self.b.bits(x) == 64 {
            let (low, high) = self.b.split64(x);
            let low = self.b.intrinsic(Intrinsic::Bswap, &[low], Type::I32);
            let high = self.b.intrinsic(Intrinsic::Bswap, &[high], Type::I32);
            let whole = self.b.join64(high, low);
            return Ok(self.b.lshr_imm(whole, 64 - bits));
        }
        let wide = self.b.zext_or_trunc(x, Type::I32);
        let swapped = self.b.intrinsic(Intrinsic::Bswap, &[wide], Type::I32);
        let moved = self.b.lshr_imm(swapped, 32 - bits);
        Ok(self.b.zext_or_trunc(moved, carrier))
    }

    fn bit_reverse(&mut self, x: Value, bits: u32) -> Value {
        let carrier = self.b.ty(x);
        if bits == 1 {
            return x;
        }
        if self.b.bits(x) == 64 {
            let (low, high) = self.b.split64(x);
            let low = self.b.intrinsic(Intrinsic::Bitreverse, &[low], Type::I32);
            let high = self.b.intrinsic(Intrinsic::Bitreverse, &[high], Type::I32);
            let whole = self.b.join64(high, low);
            return self.b.lshr_imm(whole, 64 - bits);
        }
        let wide = self.b.zext_or_trunc(x, Type::I32);
        let reversed = self.b.intrinsic(Intrinsic::Bitreverse, &[wide], Type::I32);
        let moved = self.b.lshr_imm(reversed, 32 - bits);
        self.b.zext_or_trunc(moved, carrier)
    }

    /// Shifts of two values side by side. Constant ones of 32 and 64 bits, which are most, are one `fshr` a dword.
    fn funnel_shift(&mut self, left: bool, high: Value, low: Value, amount: Value, bits: u32) -> Value {
        if bits == 1 {
            // The amount counts modulo 1.
            return if left { high } else { low };
        }
        if let Some(c) = self.b.func.as_int(amount) {
            let c = (super::super::fold::mask64(c, bits) % u64::from(bits)) as u32;
            if c == 0 {
                return if left { high } else { low };
            }
            let right = if left { bits - c } else { c };
            match bits {
                32 => {
                    let right = self.b.i32(right);
                    return self.b.intrinsic(Intrinsic::Fshr, &[high, low, right], Type::I32);
                }
                64 => {
                    let (low_lo, low_hi) = self.b.split64(low);
                    let (high_lo, high_hi) = self.b.split64(high);
                    let words = [low_lo, low_hi, high_lo, high_hi];
                    let at = (right / 32) as usize;
                    let rest = self.b.i32(right % 32);
                    let first =
                        self.b.intrinsic(Intrinsic::Fshr, &[words[at + 1], words[at], rest], Type::I32);
                    let top = words.get(at + 2).copied().unwrap_or(words[at + 1]);
                    let second = self.b.intrinsic(Intrinsic::Fshr, &[top, words[at + 1], rest], Type::I32);
                    return self.b.join64(first, second);
                }
                _ => {
                    let up = self.b.shl_imm(high, bits - right);
                    let low = self.zero_extended(low, bits);
                    let down = self.b.lshr_imm(low, right);
                    return self.b.or(up, down);
                }
            }
        }
        if bits == 32 {
            if !left {
                return self.b.intrinsic(Intrinsic::Fshr, &[high, low, amount], Type::I32);
            }
            if high == low {
                let back = self.b.neg(amount);
                return self.b.intrinsic(Intrinsic::Fshr, &[high, low, back], Type::I32);
            }
            // By 32 - n, where n = 0 must not become 0: one step by 1, one by 31 - n.
            let one = self.b.i32(1);
            let high_half = self.b.lshr_imm(high, 1);
            let low_half = self.b.intrinsic(Intrinsic::Fshr, &[high, low, one], Type::I32);
            let back = self.b.not(amount);
            return self.b.intrinsic(Intrinsic::Fshr, &[high_half, low_half, back], Type::I32);
        }
        let ty = self.b.ty(amount);
        let clean = self.zero_extended(amount, bits);
        let amount = if bits.is_power_of_two() {
            self.b.and_imm(clean, u64::from(bits - 1))
        } else {
            let width = self.b.int(ty, u64::from(bits));
            self.divide(clean, width, false, true)
        };
        // The other side moves by bits - n = 1 + (bits - 1 - n), in two steps.
        let most = self.b.int(ty, u64::from(bits - 1));
        let back = self.b.sub(most, amount);
        let low = self.zero_extended(low, bits);
        let (up, down) = if left {
            let up = self.b.binary(BinaryOp::Shl, high, amount);
            let half = self.b.lshr_imm(low, 1);
            (up, self.b.binary(BinaryOp::LShr, half, back))
        } else {
            let double = self.b.shl_imm(high, 1);
            (self.b.binary(BinaryOp::Shl, double, back), self.b.binary(BinaryOp::LShr, low, amount))
        };
        self.b.or(up, down)
    }

    fn saturating(&mut self, intrinsic: Intrinsic, x: Value, y: Value, bits: u32) -> Value {
        use Intrinsic::*;
        let ty = self.b.ty(x);
        let limit = super::super::fold::mask64(u64::MAX, bits);
        if bits == 1 {
            return match intrinsic {
                UaddSat | SaddSat => self.b.or(x, y),
                _ => {
                    let inverse = self.b.not(y);
                    self.b.and(x, inverse)
                }
            };
        }
        match intrinsic {
            UaddSat => {
                let (x, y) = (self.zero_extended(x, bits), self.zero_extended(y, bits));
                // min(x, ~y) + y
                let room = self.b.xor_imm(y, limit);
                let x = self.clean_minmax(Umin, x, room);
                self.b.add(x, y)
            }
            UsubSat => {
                let (x, y) = (self.zero_extended(x, bits), self.zero_extended(y, bits));
                let x = self.clean_minmax(Umax, x, y);
                self.b.sub(x, y)
            }
            _ => {
                let (x, y) = (self.sign_extended(x, bits), self.sign_extended(y, bits));
                let add = intrinsic == SaddSat;
                if bits < self.b.bits(x) {
                    // The sum does not overflow the carrier.
                    let sum = if add { self.b.add(x, y) } else { self.b.sub(x, y) };
                    let top = self.b.int(ty, limit >> 1);
                    let bottom = self.b.int(ty, !(limit >> 1));
                    let sum = self.clean_minmax(Smin, sum, top);
                    return self.clean_minmax(Smax, sum, bottom);
                }
                let sum = if add { self.b.add(x, y) } else { self.b.sub(x, y) };
                let over = self.signed_overflow(x, y, sum, add);
                let sign = self.b.ashr_imm(x, bits - 1);
                let bound = self.b.xor_imm(sign, limit >> 1);
                self.b.select(over, bound, sum)
            }
        }
    }

    /// Whether a signed sum or difference at full width overflowed.
    fn signed_overflow(&mut self, x: Value, y: Value, result: Value, add: bool) -> Value {
        // The result's sign differs from x's although it should not: both operands (the negated one) agree.
        let changed = self.b.xor(x, result);
        let other = if add { self.b.xor(y, result) } else { self.b.xor(x, y) };
        let both = self.b.and(changed, other);
        self.b.icmp_imm(IntPredicate::Slt, both, 0)
    }

    fn saturating_shift(&mut self, signed: bool, x: Value, y: Value, bits: u32) -> Value {
        let ty = self.b.ty(x);
        if bits == 1 {
            return x;
        }
        let limit = super::super::fold::mask64(u64::MAX, bits);
        let amount = self.zero_extended(y, bits);
        let clean = |this: &mut Self, v| {
            if signed { this.sign_extended(v, bits) } else { this.zero_extended(v, bits) }
        };
        let x = clean(self, x);
        let moved = self.b.binary(BinaryOp::Shl, x, amount);
        let moved = clean(self, moved);
        let back = self.b.binary(if signed { BinaryOp::AShr } else { BinaryOp::LShr }, moved, amount);
        let lost = self.b.icmp(IntPredicate::Ne, back, x);
        let bound = if signed {
            let width = self.b.bits(x);
            let sign = self.b.ashr_imm(x, width - 1);
            self.b.xor_imm(sign, limit >> 1)
        } else {
            self.b.int(ty, limit)
        };
        self.b.select(lost, bound, moved)
    }

    /// The `with.overflow` family: sum and flag, lane by lane (all sums first).
    fn lower_overflow(&mut self, intrinsic: Intrinsic, args: &[Value]) -> Result<Parts> {
        let (scalar, x) = self.lanes(args[0])?;
        let y = self.parts(args[1])?;
        let Scalar::Int(bits) = scalar else {
            return Err(Diagnostic::malformed("overflow arithmetic on floats"));
        };
        if bits > 64 {
            return Err(Diagnostic::unsupported(format!("llvm.{} of i{bits}", intrinsic.name())));
        }
        let (mut values, mut flags) = (Parts::new(), Parts::new());
        for (&x, &y) in x.iter().zip(&y) {
            let (value, flag) = self.overflow_lane(intrinsic, x, y, bits);
            values.push(value);
            flags.push(flag);
        }
        values.extend(flags);
        Ok(values)
    }

    fn overflow_lane(&mut self, intrinsic: Intrinsic, x: Value, y: Value, bits: u32) -> (Value, Value) {
        use IntPredicate::*;
        use Intrinsic::*;
        let signed = matches!(intrinsic, SaddOverflow | SsubOverflow | SmulOverflow);
        if bits == 1 {
            let both = self.b.and(x, y);
            let either = self.b.xor(x, y);
            let inverse = self.b.not(x);
            let less = self.b.and(inverse, y);
            return match intrinsic {
                UaddOverflow | SaddOverflow => (either, both),
                UsubOverflow | SsubOverflow => (either, less),
                SmulOverflow => (both, both),
                _ => {
                    let never = self.b.bool(false);
                    (both, never)
                }
            };
        }
        let clean = |this: &mut Self, v| {
            if signed { this.sign_extended(v, bits) } else { this.zero_extended(v, bits) }
        };
        let (x, y) = (clean(self, x), clean(self, y));
        let width = self.b.bits(x);
        match intrinsic {
            UmulOverflow | SmulOverflow => self.multiply_overflow(x, y, bits, signed),
            _ => {
                let add = matches!(intrinsic, SaddOverflow | UaddOverflow);
                let sum = if add { self.b.add(x, y) } else { self.b.sub(x, y) };
                if bits < width {
                    // Overflow shows in the bits above.
                    let cut = clean(self, sum);
                    let over = self.b.icmp(Ne, cut, sum);
                    return (sum, over);
                }
                let over = if signed {
                    self.signed_overflow(x, y, sum, add)
                } else if add {
                    self.b.icmp(Ult, sum, x)
                } else {
                    self.b.icmp(Ult, x, y)
                };
                (sum, over)
            }
        }
    }

    fn multiply_overflow(&mut self, x: Value, y: Value, bits: u32, signed: bool) -> (Value, Value) {
        let ty = self.b.ty(x);
        if bits <= 32 {
            let op = if signed { CastOp::SExt } else { CastOp::ZExt };
            let (x, y) = match self.b.bits(x) {
                32 => (x, y),
                _ => (self.b.cast(op, x, Type::I32), self.b.cast(op, y, Type::I32)),
            };
            let product = self.b.wide_mul(x, y, signed);
            let low = self.b.cast(CastOp::Trunc, product, Type::I32);
            let cut = if signed { self.sign_extended(low, bits) } else { self.zero_extended(low, bits) };
            let back = self.b.cast(op, cut, Type::I64);
            let over = self.b.icmp(IntPredicate::Ne, back, product);
            return (self.b.zext_or_trunc(low, ty), over);
        }
        let low = self.b.mul64(x, y);
        let mut high = self.b.mulhi_u64(x, y);
        if signed {
            // The unsigned high half counts negative operands 2^64 too large.
            for (a, b) in [(x, y), (y, x)] {
                let sign = self.b.ashr_imm(a, 63);
                let excess = self.b.and(sign, b);
                high = self.b.sub(high, excess);
            }
        }
        let cut = if signed { self.sign_extended(low, bits) } else { self.zero_extended(low, bits) };
        let fill = if signed { self.b.ashr_imm(cut, 63) } else { self.b.int(Type::I64, 0) };
        let above = self.b.icmp(IntPredicate::Ne, high, fill);
        let inside = self.b.icmp(IntPredicate::Ne, cut, low);
        (low, self.b.or(above, inside))
    }

    /// Saturating conversions. The 32-bit instructions saturate and take NaN to 0 by themselves.
    fn lower_saturating_conversion(&mut self, signed: bool, arg: Value, ty: Type) -> Result<Parts> {
        let (scalar, lanes) = self.lanes(arg)?;
        let (Scalar::Float(float), Some(Scalar::Int(bits))) = (scalar, ty.scalar()) else {
            return Err(Diagnostic::malformed("saturating conversion of a non-float"));
        };
        if bits > 64 {
            return Err(Diagnostic::unsupported(format!("saturating conversion to i{bits}")));
        }
        let mut out = Parts::new();
        for &x in &lanes {
            let native = matches!(float, Float::Single | Float::Double);
            let x = if native { x } else { self.resize_float(x, float, Float::Single)? };
            let largest = super::super::fold::mask64(u64::MAX, if signed { bits - 1 } else { bits });
            if bits <= 32 {
                let op = if signed { CastOp::FpToSi } else { CastOp::FpToUi };
                let mut integer = self.b.cast(op, x, Type::I32);
                if bits < 32 {
                    let top = self.b.int(Type::I32, largest);
                    integer = if signed {
                        let bottom = self.b.int(Type::I32, !largest);
                        let capped = self.clean_minmax(Intrinsic::Smin, integer, top);
                        self.clean_minmax(Intrinsic::Smax, capped, bottom)
                    } else {
                        self.clean_minmax(Intrinsic::Umin, integer, top)
                    };
                }
                let mut part = Parts::new();
                self.resize(&[integer], 32, bits, false, &mut part);
                out.extend(part);
                continue;
            }
            let float_ty = self.b.ty(x);
            let whole = self.float_to_long(x, signed)?;
            let power = 2f64.powi(if signed { bits as i32 - 1 } else { bits as i32 });
            let above = self.b.float(float_ty, power);
            let below = self.b.float(float_ty, if signed { -power } else { 0.0 });
            let top = self.b.int(Type::I64, largest);
            let bottom = self.b.int(Type::I64, if signed { !largest } else { 0 });
            let zero = self.b.int(Type::I64, 0);
            let high = self.b.fcmp(FloatPredicate::Oge, x, above);
            let low = self.b.fcmp(FloatPredicate::Olt, x, below);
            let nan = self.b.fcmp(FloatPredicate::Uno, x, x);
            let result = self.b.select(high, top, whole);
            let result = self.b.select(low, bottom, result);
            out.push(self.b.select(nan, zero, result));
        }
        Ok(out)
    }

    /// -1, 0 or 1.
    fn lower_three_way(&mut self, signed: bool, args: &[Value], ty: Type) -> Result<Parts> {
        let (scalar, x) = self.lanes(args[0])?;
        let y = self.parts(args[1])?;
        let (Scalar::Int(from), Some(Scalar::Int(to))) = (scalar, ty.scalar()) else {
            return Err(Diagnostic::malformed("three-way comparison of non-integers"));
        };
        if from > 64 || to > 64 {
            return Err(Diagnostic::unsupported(format!("three-way comparison of i{from}")));
        }
        let (less, more) = if signed {
            (IntPredicate::Slt, IntPredicate::Sgt)
        } else {
            (IntPredicate::Ult, IntPredicate::Ugt)
        };
        let carrier = self.carrier(to);
        let (minus, zero, one) =
            (self.b.int(carrier, u64::MAX), self.b.int(carrier, 0), self.b.int(carrier, 1));
        Ok(x.iter()
            .zip(&y)
            .map(|(&x, &y)| {
                let below = self.int_icmp(less, x, y, from);
                let above = self.int_icmp(more, x, y, from);
                let upper = self.b.select(above, one, zero);
                self.b.select(below, minus, upper)
            })
            .collect())
    }

    fn lower_ptrmask(&mut self, args: &[Value]) -> Result<Parts> {
        let pointers = self.parts(args[0])?;
        let masks = self.parts(args[1])?;
        Ok(pointers
            .iter()
            .zip(&masks)
            .map(|(&pointer, &mask)| {
                let ty = self.b.ty(pointer);
                let integer = self.b.as_integer(pointer);
                let kept = self.b.and(integer, mask);
                self.b.from_integer(kept, ty)
            })
            .collect())
    }

    /// Reductions: a balanced tree where order does not matter, a chain where it does.
    fn lower_reduction(&mut self, intrinsic: Intrinsic, args: &[Value]) -> Result<Parts> {
        use Intrinsic::*;
        let ordered = matches!(intrinsic, ReduceFadd | ReduceFmul);
        let vector = if ordered { args[1] } else { args[0] };
        let (scalar, lanes) = self.lanes(vector)?;
        if self.element_parts(scalar) != 1 {
            return Err(Diagnostic::unsupported("reduction of wide integers"));
        }
        let combine = |this: &mut Self, x: Value, y: Value| -> Result<Value> {
            match (scalar, intrinsic) {
                (Scalar::Int(bits), ReduceAdd) => this.int_binary(BinaryOp::Add, x, y, bits),
                (Scalar::Int(bits), ReduceMul) => this.int_binary(BinaryOp::Mul, x, y, bits),
                (Scalar::Int(bits), ReduceAnd) => this.int_binary(BinaryOp::And, x, y, bits),
                (Scalar::Int(bits), ReduceOr) => this.int_binary(BinaryOp::Or, x, y, bits),
                (Scalar::Int(bits), ReduceXor) => this.int_binary(BinaryOp::Xor, x, y, bits),
                (Scalar::Int(bits), ReduceSmin) => Ok(this.integer_minmax(Smin, x, y, bits)),
                (Scalar::Int(bits), ReduceSmax) => Ok(this.integer_minmax(Smax, x, y, bits)),
                (Scalar::Int(bits), ReduceUmin) => Ok(this.integer_minmax(Umin, x, y, bits)),
                (Scalar::Int(bits), ReduceUmax) => Ok(this.integer_minmax(Umax, x, y, bits)),
                (Scalar::Float(float), ReduceFadd) => this.float_binary(BinaryOp::FAdd, x, y, float),
                (Scalar::Float(float), ReduceFmul) => this.float_binary(BinaryOp::FMul, x, y, float),
                (Scalar::Float(float), ReduceFmin | ReduceFmax) => {
                    let which = if intrinsic == ReduceFmin { Minnum } else { Maxnum };
                    this.narrow_op(float, &[x, y], |this, v| this.lower_minmax(which, v[0], v[1]))
                }
                _ => Err(Diagnostic::malformed("reduction of another type")),
            }
        };
        if ordered {
            let mut result = self.part(args[0])?;
            for &lane in &lanes {
                result = combine(self, result, lane)?;
            }
            return Ok(Parts::from_slice(&[result]));
        }
        let mut level = lanes;
        while level.len() > 1 {
            let mut next = Parts::new();
            for pair in level.chunks(2) {
                next.push(match *pair {
                    [x, y] => combine(self, x, y)?,
                    _ => pair[0],
                });
            }
            level = next;
        }
        Ok(level)
    }

    // ---- floating point

    fn float_lane(
        &mut self,
        intrinsic: Intrinsic,
        args: &[Value],
        float: Float,
        result: Scalar,
        old_arg: Option<Value>,
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
            IsFpclass => {
                let mask = self.b.zext_or_trunc(args[1], Type::I32);
                self.narrow_op(float, &[x], |this, v| {
                    Ok(this.b.intrinsic(AmdgcnClass, &[v[0], mask], Type::I1))
                })
            }
            Ldexp | AmdgcnLdexp => self.scale_by_power(x, args[1], float, old_arg),
            ConvertFromFp16 => {
                let narrow = self.b.zext_or_trunc(x, Type::I16);
                let half = self.b.bitcast(narrow, Type::F16);
                self.resize_float(half, Float::Half, float)
            }
            AmdgcnClass | AmdgcnFcmp => {
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

    /// Minimum and maximum of native formats. In IEEE mode the instructions return a quieted signalling NaN instead
    /// of the other operand, so operands are quieted first.
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
        let (qx, qy) = (self.quiet(x), self.quiet(y));
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

    /// The value, canonicalised unless it cannot be a signalling NaN.
    fn quiet(&mut self, x: Value) -> Value {
        use Intrinsic::*;
        if self.flags.contains(InstFlags::NNAN) {
            return x;
        }
        let quiet = match &self.b.func.values[x].def {
            ValueDef::Const(Const::Float(bits)) => match self.b.ty(x) {
                Type::F32 => !f32::from_bits(*bits as u32).is_nan(),
                Type::F64 => !f64::from_bits(*bits).is_nan(),
                _ => bits & 0x7fff <= 0x7c00,
            },
            ValueDef::Inst(inst) => match &self.b.func.insts[*inst].kind {
                InstKind::Binary { .. } => true,
                InstKind::Cast { op, .. } => {
                    matches!(op, CastOp::FpExt | CastOp::FpTrunc | CastOp::UiToFp | CastOp::SiToFp)
                }
                InstKind::Intrinsic { intrinsic, .. } => {
                    matches!(
                        intrinsic,
                        Fma | Fmuladd
                            | Minnum
                            | Maxnum
                            | Canonicalize
                            | Floor
                            | Ceil
                            | Trunc
                            | Rint
                            | Ldexp
                            | Rcp
                            | Rsq
                            | AmdgcnSqrt
                            | AmdgcnExp2
                            | AmdgcnLog
                            | AmdgcnSin
                            | AmdgcnCos
                            | Fract
                            | Fmed3
                            | DivFixup
                    )
                }
                _ => false,
            },
            _ => false,
        };
        if quiet {
            return x;
        }
        let ty = self.b.ty(x);
        self.b.intrinsic(Canonicalize, &[x], ty)
    }

    /// `ldexp`; the exponent of a half is clamped into i16, which changes nothing about the result.
    fn scale_by_power(
        &mut self,
        x: Value,
        exponent: Value,
        float: Float,
        _old_arg: Option<Value>,
    ) -> Result<Value> {
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
            let wide = if self.has_16bit() || float != Float::Half {
                x
            } else {
                self.resize_float(x, float, Float::Single)?
            };
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
            // GFX6's instruction leaves rubbish for infinities; elsewhere this folds into nothing worse than a compare.
            let mask = self.b.i32(0x1f8);
            let finite = self.b.intrinsic(Intrinsic::AmdgcnClass, &[wide, mask], Type::I1);
            let zero = self.b.zero(wanted);
            let (mantissa, exponent) = if self.ctx.machine.has(Features::FLAT) {
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

    // ---- AMDGPU intrinsics of odd shapes

    /// Values that cross lanes do so as dwords.
    fn lower_lane_crossing(&mut self, intrinsic: Intrinsic, args: &[Value], ty: Type) -> Result<Parts> {
        use Intrinsic::*;
        if matches!(intrinsic, Softwqm | Wqm) {
            return self.parts(args[0]);
        }
        // Which arguments are data, the others control.
        let data: &[usize] = match intrinsic {
            Readlane | Readfirstlane | MovDpp | DsSwizzle => &[0],
            Writelane => &[0, 2],
            UpdateDpp => &[0, 1],
            DsBpermute | DsPermute => &[1],
            _ => &[],
        };
        let mut dwords: SmallVec<[SmallVec<[Value; 8]>; 3]> = SmallVec::new();
        let mut control: SmallVec<[Parts; 4]> = SmallVec::new();
        let scalar = ty.scalar().ok_or_else(|| Diagnostic::unsupported("aggregate across lanes"))?;
        for (i, &arg) in args.iter().enumerate() {
            let parts = self.parts(arg)?;
            if data.contains(&i) {
                dwords.push(self.to_dwords(&parts, scalar));
            } else {
                control.push(parts);
            }
        }
        let count = dwords.first().map_or(0, |d| d.len());
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
            self.from_dwords(&words, lane * scalar.bits(), scalar, &mut out);
        }
        Ok(out)
    }

    /// Buffer accesses of one to four dwords, or a byte or a half; the resource is a vector of four dwords.
    fn lower_buffer(&mut self, intrinsic: Intrinsic, args: &[Value], ty: Type) -> Result<Parts> {
        let store = ty == Type::Void;
        let mut all: SmallVec<[Value; 4]> = SmallVec::new();
        let mut data_ty = ty;
        for (i, &arg) in args.iter().enumerate() {
            let parts = self.parts(arg)?;
            let arg_ty = self.old.ty(arg);
            let value = match (&parts[..], arg_ty) {
                (_, Type::Vector(scalar, _)) => {
                    if store && i == 0 {
                        data_ty = arg_ty;
                    }
                    let words = self.to_dwords(&parts, scalar);
                    if words.len() == 1 { words[0] } else { self.b.vector(&words) }
                }
                ([part], _) => {
                    if store && i == 0 {
                        data_ty = arg_ty;
                        match arg_ty {
                            Type::Scalar(Scalar::Int(bits @ (8 | 16))) => {
                                self.b.zext_or_trunc(*part, Type::int(bits))
                            }
                            _ => *part,
                        }
                    } else {
                        *part
                    }
                }
                _ => return Err(Diagnostic::unsupported("buffer access of this type")),
            };
            all.push(value);
        }
        let scalar =
            data_ty.scalar().ok_or_else(|| Diagnostic::unsupported("buffer access of an aggregate"))?;
        let bits = u64::from(scalar.bits()) * u64::from(data_ty.lanes());
        if !matches!(bits, 8 | 16 | 32 | 64 | 96 | 128 | 256 | 512) {
            return Err(Diagnostic::unsupported(format!("buffer access of {bits} bits")));
        }
        let kind = InstKind::Intrinsic { intrinsic, args: all };
        if store {
            self.b.push(kind, Type::Void, InstFlags::empty());
            return Ok(Parts::new());
        }
        let loaded_ty = match bits {
            8 | 16 => Type::int(bits as u32),
            32 => Type::I32,
            _ => Type::Vector(Scalar::Int(32), (bits / 32) as u32),
        };
        let Some(loaded) = self.b.push(kind, loaded_ty, InstFlags::empty()) else {
            return Err(Diagnostic::defect("load without a result"));
        };
        let words: SmallVec<[Value; 8]> = match bits {
            8 | 16 => std::iter::once(self.b.zext_or_trunc(loaded, Type::I32)).collect(),
            32 => std::iter::once(loaded).collect(),
            _ => (0..(bits / 32) as u32).map(|i| self.b.extract(loaded, i)).collect(),
        };
        let mut out = Parts::new();
        for lane in 0..ty.lanes() {
            self.from_dwords(&words, lane * scalar.bits(), scalar, &mut out);
        }
        Ok(out)
    }

    /// Intrinsics on packed pairs of 16-bit elements.
    fn lower_packed(&mut self, intrinsic: Intrinsic, args: &[Value], ty: Type) -> Result<Parts> {
        let mut all: SmallVec<[Value; 4]> = SmallVec::new();
        for &arg in args {
            let parts = self.parts(arg)?;
            all.push(match (self.old.ty(arg), &parts[..]) {
                (ty @ Type::Vector(scalar, 2), _) if scalar.bits() == 16 => {
                    let words = self.to_dwords(&parts, scalar);
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
                    self.from_dwords(&[word], lane * 16, scalar, &mut out);
                }
                Ok(out)
            }
            _ => Ok(Parts::from_slice(&[value])),
        }
    }
}
