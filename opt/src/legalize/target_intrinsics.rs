//! Intrinsics of the AMDGPU target that are more than one operation: reductions over the lanes, killing
//! lanes, resources, dispatch queries of older ABIs, and arithmetic that LLVM expands.

use super::{Legalizer, Parts};
use mir::ir::legal::is_legal;
use mir::ir::*;
use mir::target::Features;
use mir::{Diagnostic, Result};
use smallvec::SmallVec;

/// Whether [`Legalizer::lower_wave_intrinsic`] takes `intrinsic`.
pub(super) fn is_wave_intrinsic(intrinsic: Intrinsic) -> bool {
    use Intrinsic::*;
    reduction(intrinsic).is_some()
        || matches!(
            intrinsic,
            Kill | Ballot
                | FdivFast
                | AddrspacecastNonnull
                | MakeBufferRsrc
                | AmdgcnIcmp
                | MqsadU32U8
                | ExportCompr
                | Export
                | LoadToLds
                | InterpMov
                | InterpP1
                | InterpP2
                | InterpP1F16
                | InterpP2F16
                | DsOrderedAdd
                | DsOrderedSwap
                | DsGwsInit
                | DsGwsBarrier
                | DsGwsSemaV
                | DsGwsSemaBr
                | DsGwsSemaP
                | DsGwsSemaReleaseAll
        )
}

/// How lanes are combined, and the value that changes nothing (integers: sign-extended; floats: the bits of
/// single).
#[derive(Clone, Copy)]
enum Reduction {
    Binary(BinaryOp),
    Int(Intrinsic),
    Float(Intrinsic),
}

fn reduction(intrinsic: Intrinsic) -> Option<Reduction> {
    use Intrinsic::*;
    Some(match intrinsic {
        WaveReduceAdd => Reduction::Binary(BinaryOp::Add),
        WaveReduceSub => Reduction::Binary(BinaryOp::Sub),
        WaveReduceAnd => Reduction::Binary(BinaryOp::And),
        WaveReduceOr => Reduction::Binary(BinaryOp::Or),
        WaveReduceXor => Reduction::Binary(BinaryOp::Xor),
        WaveReduceFadd => Reduction::Binary(BinaryOp::FAdd),
        WaveReduceFsub => Reduction::Binary(BinaryOp::FSub),
        WaveReduceMin => Reduction::Int(Smin),
        WaveReduceMax => Reduction::Int(Smax),
        WaveReduceUmin => Reduction::Int(Umin),
        WaveReduceUmax => Reduction::Int(Umax),
        WaveReduceFmin => Reduction::Float(Minnum),
        WaveReduceFmax => Reduction::Float(Maxnum),
        _ => return None,
    })
}

impl Legalizer<'_> {
    pub(super) fn lower_wave_intrinsic(
        &mut self,
        intrinsic: Intrinsic,
        args: &[Value],
        ty: Type,
    ) -> Result<Parts> {
        use Intrinsic::*;
        let few = || Diagnostic::malformed("too few arguments");
        let name = intrinsic.name();
        if let Some(how) = reduction(intrinsic) {
            let x = self.part(*args.first().ok_or_else(few)?)?;
            return Ok(Parts::from_slice(&[self.wave_reduce(how, x, ty)?]));
        }
        match intrinsic {
            Kill => {
                let cond = self.part(*args.first().ok_or_else(few)?)?;
                if self.old.call_conv.is_callable() {
                    return Err(Diagnostic::unsupported("llvm.amdgcn.kill in a function that is called"));
                }
                match self.old.call_conv {
                    _ if self.b.func.as_int(cond).is_some_and(|holds| holds & 1 == 1) => {}
                    // The wave says at its end that it is done, even where all of its lanes are gone: they stay and have no effects.
                    CallConv::AmdgpuGs => self.effect(Intrinsic::WqmDemote, &[cond]),
                    _ => self.kill(cond),
                }
                Ok(Parts::new())
            }
            Ballot => {
                let cond = self.part(*args.first().ok_or_else(few)?)?;
                let mask = self.wave_mask(Ballot, &[cond]);
                self.mask_as(mask, ty)
            }
            AmdgcnIcmp => self.compare_lanes(args, ty),
            FdivFast => {
                let (a, b) = (self.part(args[0])?, self.part(*args.get(1).ok_or_else(few)?)?);
                Ok(Parts::from_slice(&[self.divide_single_scaled(a, b)]))
            }
            AddrspacecastNonnull => {
                self.lower_cast(CastOp::AddrSpaceCast, *args.first().ok_or_else(few)?, ty)
            }
            MakeBufferRsrc => self.make_resource(args, ty),
            MqsadU32U8 => {
                let (x, y) = (self.part(args[0])?, self.part(*args.get(1).ok_or_else(few)?)?);
                let sums = self.parts(*args.get(2).ok_or_else(few)?)?;
                let sums = self.b.vector(&sums);
                let vector = Type::Vector(Scalar::Int(32), 4);
                let all = self.b.intrinsic(MqsadU32U8, &[x, y, sums], vector);
                Ok((0..4).map(|i| self.b.extract(all, i)).collect())
            }
            Export => {
                let [target, enabled, rest @ ..] = args else { return Err(few()) };
                let mut all: SmallVec<[Value; 4]> = SmallVec::new();
                for &arg in [target, enabled].into_iter().chain(rest) {
                    let part = self.part(arg)?;
                    let word = matches!(self.b.ty(part), Type::F32);
                    all.push(if word { self.b.bitcast(part, Type::I32) } else { part });
                }
                self.effect(intrinsic, &all);
                Ok(Parts::new())
            }
            ExportCompr => {
                let mut all: SmallVec<[Value; 4]> = SmallVec::new();
                for &arg in args {
                    let parts = self.parts(arg)?;
                    match self.old.ty(arg) {
                        Type::Vector(scalar, 2) if scalar.bits() == 16 => {
                            all.push(self.split_dwords(&parts, scalar)[0]);
                        }
                        _ => all.extend(parts),
                    }
                }
                self.effect(intrinsic, &all);
                Ok(Parts::new())
            }
            LoadToLds => match self.old.ty(*args.first().ok_or_else(few)?).addr_space() {
                Some(AddrSpace::GLOBAL) => {
                    let mut all: SmallVec<[Value; 5]> = SmallVec::new();
                    for &arg in args {
                        all.push(self.part(arg)?);
                    }
                    self.effect(GlobalLoadLds, &all);
                    Ok(Parts::new())
                }
                _ => Err(Diagnostic::unsupported(format!("llvm.{name} from this address space"))),
            },
            InterpMov | InterpP1 | InterpP2 => {
                Ok(Parts::from_slice(&[self.interpolated(intrinsic, args, ty)?]))
            }
            InterpP1F16 | InterpP2F16 => {
                let half = |this: &mut Self| this.interpolated(intrinsic, args, ty);
                Ok(Parts::from_slice(&[self.with_narrow_rounding_to_zero(half)?]))
            }
            DsOrderedAdd | DsOrderedSwap => self.ordered_count(intrinsic, args),
            _ => self.global_wave_sync(intrinsic, args),
        }
    }

    /// A step of interpolation.
    fn interpolated(&mut self, intrinsic: Intrinsic, args: &[Value], ty: Type) -> Result<Value> {
        if !is_legal(intrinsic, ty, self.ctx.machine) {
            let name = intrinsic.name();
            return Err(Diagnostic::unsupported(format!("llvm.{name} on {}", self.ctx.machine)));
        }
        let mut all: SmallVec<[Value; 6]> = SmallVec::new();
        for &arg in args {
            all.push(self.part(arg)?);
        }
        Ok(self.b.intrinsic(intrinsic, &all, ty))
    }

    fn effect(&mut self, intrinsic: Intrinsic, args: &[Value]) {
        let kind = InstKind::Intrinsic { intrinsic, args: SmallVec::from_slice(args) };
        self.b.push(kind, Type::Void, InstFlags::empty());
    }

    /// A mask of lanes, one bit each.
    pub(super) fn wave_mask(&mut self, intrinsic: Intrinsic, args: &[Value]) -> Value {
        let kind = InstKind::Intrinsic { intrinsic, args: SmallVec::from_slice(args) };
        match self.b.push(kind, Type::I64, InstFlags::empty()) {
            Some(mask) => mask,
            None => self.b.int(Type::I64, 0),
        }
    }

    /// Whether `x` is the mask of all active lanes, of which there is one at least.
    pub(super) fn is_every_lane(&self, x: Value) -> bool {
        let func = &self.b.func;
        let kind = |value| Some(&func.insts[func.def_inst(value)?].kind);
        let mask = match kind(x) {
            Some(&InstKind::Cast { op: CastOp::Trunc, arg })
                if self.ctx.machine.wave_size() <= self.b.bits(x) =>
            {
                arg
            }
            _ => x,
        };
        matches!(kind(mask), Some(InstKind::Intrinsic { intrinsic: Intrinsic::Ballot, args })
            if args.first().is_some_and(|&lanes| func.as_int(lanes).is_some_and(|all| all & 1 == 1)))
    }

    /// A mask of lanes, which is an integer of 64 bits in legal IR, as one of the program's types.
    fn mask_as(&mut self, mask: Value, ty: Type) -> Result<Parts> {
        let carrier = self.part_types(ty)?;
        match carrier[..] {
            [carrier] => Ok(Parts::from_slice(&[self.b.zext_or_trunc(mask, carrier)])),
            _ => Err(Diagnostic::unsupported("mask of lanes as this type")),
        }
    }

    /// `amdgcn.icmp`: narrow operands are extended; of conditions, and of numbers that they were made, it is a ballot.
    fn compare_lanes(&mut self, args: &[Value], ty: Type) -> Result<Parts> {
        let [x, y, predicate, ..] = *args else { return Err(Diagnostic::malformed("too few arguments")) };
        let bits = self.old.ty(x).bits().unwrap_or(32) as u32;
        let number = self.immediate(predicate, "the predicate")?;
        let Some(predicate) = IntPredicate::from_llvm(number) else {
            let types = self.part_types(ty)?;
            return Ok(types.into_iter().map(|ty| self.b.undef(ty)).collect());
        };
        let (x, y) = (self.part(x)?, self.part(y)?);
        let signed = predicate.is_signed();
        let clean = |this: &mut Self, v| match (bits, signed) {
            (1, true) => this.b.cast(CastOp::SExt, v, Type::I32),
            (1, false) => this.b.cast(CastOp::ZExt, v, Type::I32),
            (_, true) => this.sign_extended(v, bits),
            (_, false) => this.zero_extended(v, bits),
        };
        let (x, y) = (clean(self, x), clean(self, y));
        let mask = if self.is_number_of_condition(x) && self.b.func.as_int(y).is_some() {
            let lanes = self.b.icmp(predicate, x, y);
            self.wave_mask(Intrinsic::Ballot, &[lanes])
        } else {
            let predicate = self.b.i32(number as u32);
            self.wave_mask(Intrinsic::AmdgcnIcmp, &[x, y, predicate])
        };
        self.mask_as(mask, ty)
    }

    /// Whether `x` is a condition as a number, or a constant.
    fn is_number_of_condition(&self, x: Value) -> bool {
        let func = &self.b.func;
        let kind = func.def_inst(x).map(|inst| &func.insts[inst].kind);
        let extended = match kind {
            Some(&InstKind::Cast { op: CastOp::ZExt | CastOp::SExt, arg }) => func.ty(arg) == Type::I1,
            _ => false,
        };
        extended || func.as_int(x).is_some()
    }

    /// Lanes whose condition does not hold end here: they branch to the end of the function, so that every
    /// later join goes on without them.
    fn kill(&mut self, cond: Value) {
        let (on, dead) = (self.b.new_block(), self.b.new_block());
        self.b.branch(cond, BlockCall::to(on), BlockCall::to(dead));
        self.b.block = dead;
        self.effect(Intrinsic::Kill, &[]);
        match self.return_block {
            Some(block) => {
                let dwords: SmallVec<[Value; 8]> =
                    (0..self.b.func.blocks[block].params.len()).map(|_| self.b.undef(Type::I32)).collect();
                self.b.jump(block, &dwords);
            }
            None => {
                self.b.push(InstKind::Ret { value: None }, Type::Void, InstFlags::empty());
            }
        }
        self.b.block = on;
    }

    /// A loop over the active lanes, on the scalar unit where it can.
    fn wave_reduce(&mut self, how: Reduction, x: Value, ty: Type) -> Result<Value> {
        let value_ty = self.b.ty(x);
        let scalar = ty.scalar().ok_or_else(|| Diagnostic::unsupported("reduction of this type"))?;
        let bits = scalar.bits();
        if !matches!(bits, 32 | 64) {
            return Err(Diagnostic::unsupported(format!("reduction of {bits} bits over lanes")));
        }
        let identity = match (how, value_ty) {
            (Reduction::Binary(BinaryOp::And), _) | (Reduction::Int(Intrinsic::Umin), _) => {
                self.b.int(value_ty, u64::MAX)
            }
            (Reduction::Int(Intrinsic::Smin), _) => self.b.int(value_ty, (1u64 << (bits - 1)) - 1),
            (Reduction::Int(Intrinsic::Smax), _) => self.b.int(value_ty, 1u64 << (bits - 1)),
            (Reduction::Binary(BinaryOp::FAdd | BinaryOp::FSub), _) => {
                let sign =
                    if matches!(how, Reduction::Binary(BinaryOp::FAdd)) { 1u64 << (bits - 1) } else { 0 };
                self.b.float_bits(value_ty, sign)
            }
            (Reduction::Float(_), Type::F32) => self.b.float_bits(value_ty, 0x7fc0_0000),
            (Reduction::Float(_), _) => self.b.float_bits(value_ty, 0x7ff8_0000_0000_0000),
            _ => self.b.int(value_ty, 0),
        };
        let all = self.b.bool(true);
        let mask = self.wave_mask(Intrinsic::Ballot, &[all]);
        let words = self.split_dwords(&[x], scalar);
        let (head, done) = (self.b.new_block(), self.b.new_block());
        let scope = self.b.scope.take();
        self.b.jump(head, &[identity, mask]);
        let sum = self.b.func.add_block_param(head, value_ty);
        let left = self.b.func.add_block_param(head, Type::I64);
        let result = self.b.func.add_block_param(done, value_ty);
        self.b.block = head;
        let poison = self.b.bool(true);
        let lane = self
            .int_lane(Intrinsic::Cttz, &[left, poison], 64)?
            .ok_or_else(|| Diagnostic::defect("count of zeros without a result"))?;
        let lane = self.b.zext_or_trunc(lane, Type::I32);
        let mut read = SmallVec::<[Value; 2]>::new();
        for &word in &words {
            let args = SmallVec::from_slice(&[word, lane]);
            let kind = InstKind::Intrinsic { intrinsic: Intrinsic::Readlane, args };
            read.extend(self.b.push(kind, Type::I32, InstFlags::empty()));
        }
        let mut parts = Parts::new();
        self.join_dwords(&read, 0, scalar, &mut parts);
        let [one] = parts[..] else { return Err(Diagnostic::unsupported("reduction of this type")) };
        let next = match how {
            Reduction::Binary(op) => self.b.binary(op, sum, one),
            Reduction::Int(op) => self.integer_minmax(op, sum, one, bits),
            Reduction::Float(op) => self.lower_minmax(op, sum, one)?,
        };
        let minus = self.b.add_imm(left, -1);
        let fewer = self.b.and(left, minus);
        let more = self.b.icmp_imm(IntPredicate::Ne, fewer, 0);
        let target = |block, args: &[Value]| BlockCall { block, args: SmallVec::from_slice(args) };
        self.b.branch(more, target(head, &[next, fewer]), target(done, &[next]));
        self.b.block = done;
        self.b.scope = scope;
        Ok(result)
    }

    /// `make.buffer.rsrc(base, stride, records, flags)`: 48 bits of address, 16 of stride.
    fn make_resource(&mut self, args: &[Value], ty: Type) -> Result<Parts> {
        let [base, stride, records, flags] = *args else {
            return Err(Diagnostic::malformed("four arguments expected"));
        };
        let fat = ty.addr_space().filter(|&space| super::fat::is_fat(space));
        let base = self.part(base)?;
        let address = self.b.as_integer(base);
        let address = self.b.zext_or_trunc(address, Type::I64);
        let (low, high) = self.b.split64(address);
        let high = self.b.and_imm(high, 0xffff);
        let stride_bits = self.old.ty(stride).bits().unwrap_or(16) as u32;
        let stride = self.part(stride)?;
        let stride = self.zero_extended(stride, stride_bits);
        let stride = self.b.zext_or_trunc(stride, Type::I32);
        let stride = self.b.shl_imm(stride, 16);
        let second = self.b.or(high, stride);
        let records = self.part(records)?;
        let records = self.b.zext_or_trunc(records, Type::I32);
        let flags = self.part(flags)?;
        let flags = self.b.zext_or_trunc(flags, Type::I32);
        let whole = self.b.vector(&[low, second, records, flags]);
        let mut out = Parts::from_slice(&[self.b.bitcast(whole, Type::ptr(AddrSpace::BUFFER_RESOURCE))]);
        if let Some(space) = fat {
            // It points to the buffer's start.
            let zero = self.b.i32(0);
            out.resize(super::fat::part_types(space).len(), zero);
        }
        Ok(out)
    }

    /// `ds.ordered.add`, `ds.ordered.swap`: M0, value, ordering, scope, volatile, index, release, done.
    /// Legal: M0, value, offset.
    fn ordered_count(&mut self, intrinsic: Intrinsic, args: &[Value]) -> Result<Parts> {
        let [m0, value, _, _, _, index, release, done] = *args else {
            return Err(Diagnostic::malformed("eight arguments expected"));
        };
        let index = self.immediate(index, "the index of the ordered count")?;
        let release = self.immediate(release, "the release flag")? & 1;
        let done = self.immediate(done, "the done flag")? & 1;
        if done != 0 && release == 0 {
            return Err(Diagnostic::malformed("ds_ordered_count: wave_done requires wave_release"));
        }
        let (index, count) = match self.ctx.machine.has(Features::ORDERED_COUNT_DWORDS) {
            true => (index & !(0xf << 24), index >> 24 & 0xf),
            false => (index, 1),
        };
        if !(1..=4).contains(&count) {
            return Err(Diagnostic::malformed("ds_ordered_count: dword count must be between 1 and 4"));
        }
        if index & !0x3f != 0 {
            return Err(Diagnostic::malformed("ds_ordered_count: bad index operand"));
        }
        let shader = match self.old.call_conv {
            CallConv::AmdgpuPs => 1,
            CallConv::AmdgpuVs => 2,
            CallConv::AmdgpuGs => 3,
            _ => 0,
        };
        let swap = u64::from(intrinsic == Intrinsic::DsOrderedSwap);
        let second = release | done << 1 | shader << 2 | swap << 4 | (count - 1) << 6;
        let (m0, value) = (self.part(m0)?, self.part(value)?);
        let m0 = self.b.as_integer(m0);
        let offset = self.b.i32((index << 2 | second << 8) as u32);
        let kind = InstKind::Intrinsic { intrinsic, args: SmallVec::from_slice(&[m0, value, offset]) };
        Ok(self.b.push(kind, Type::I32, InstFlags::empty()).into_iter().collect())
    }

    /// Global wave sync: `[value,] resource`. Where the hardware does not repeat what fails while memory is
    /// being moved, it is repeated until the trap status is clean.
    fn global_wave_sync(&mut self, intrinsic: Intrinsic, args: &[Value]) -> Result<Parts> {
        let mut all: SmallVec<[Value; 4]> = SmallVec::new();
        for &arg in args {
            all.push(self.part(arg)?);
        }
        if self.ctx.machine.has(Features::GWS_REPLAY) {
            self.effect(intrinsic, &all);
            return Ok(Parts::new());
        }
        // MEM_VIOL is bit 8 of TRAPSTS, hardware register 3.
        let register = self.b.i32(3 | 8 << 6);
        let zero = self.b.i32(0);
        let (head, done) = (self.b.new_block(), self.b.new_block());
        let scope = self.b.scope.take();
        self.b.jump(head, &[]);
        self.b.block = head;
        self.effect(Intrinsic::SSetreg, &[register, zero]);
        self.effect(intrinsic, &all);
        let wait = self.b.i32(0);
        self.effect(Intrinsic::SWaitcnt, &[wait]);
        let args = SmallVec::from_slice(&[register]);
        let kind = InstKind::Intrinsic { intrinsic: Intrinsic::SGetreg, args };
        let status = self.b.push(kind, Type::I32, InstFlags::empty());
        let status = status.ok_or_else(|| Diagnostic::defect("s.getreg without a result"))?;
        let again = self.b.icmp_imm(IntPredicate::Ne, status, 0);
        self.b.branch(again, BlockCall::to(head), BlockCall::to(done));
        self.b.block = done;
        self.b.scope = scope;
        Ok(Parts::new())
    }
}
