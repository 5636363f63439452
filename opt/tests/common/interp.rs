//! A small interpreter of scalar IR, for tests of expansions.
//!
//! Runs a kernel whose arguments lie in a byte array and collects the bytes that it stores. Approximations of
//! the hardware, accurate to 1 ulp, are rounded up, down or to nearest as the test chooses: an expansion must
//! not depend on more than the manuals promise.

use mir::ir::*;
use opt::bits::{mask64, sext64};
use opt::fold::{eval_binary, eval_icmp};
use rustc_hash::FxHashMap;

/// Address of the kernarg segment.
const KERNARG: u64 = 0x1_0000;

/// One run.
pub struct Run<'a> {
    func: &'a Function,
    kernarg: &'a [u8],
    /// Direction in which `rcp` is rounded: -1 down, 0 to nearest, 1 up.
    pub rcp_error: i32,
    values: FxHashMap<Value, u128>,
    /// Bytes stored.
    pub stored: FxHashMap<u64, u8>,
}

impl<'a> Run<'a> {
    /// A run of `func` with these arguments.
    pub fn new(func: &'a Function, kernarg: &'a [u8]) -> Self {
        Self { func, kernarg, rcp_error: 0, values: FxHashMap::default(), stored: FxHashMap::default() }
    }

    fn get(&self, v: Value) -> u128 {
        match &self.func.values[v].def {
            ValueDef::Const(Const::Int(c) | Const::Float(c)) => u128::from(*c),
            ValueDef::Const(_) => 0,
            _ => self.values[&v],
        }
    }

    fn bits(&self, v: Value) -> u32 {
        self.func.ty(v).bits().unwrap() as u32
    }

    fn f32(&self, v: Value) -> f32 {
        f32::from_bits(self.get(v) as u32)
    }

    fn f64(&self, v: Value) -> f64 {
        match self.func.ty(v) {
            Type::F32 => f64::from(self.f32(v)),
            Type::F16 => mir::half::to_f64(self.get(v) as u16),
            _ => f64::from_bits(self.get(v) as u64),
        }
    }

    /// Executes to the return; panics on what it does not know, since it serves tests alone.
    pub fn execute(&mut self) {
        let mut block = self.func.entry();
        for _ in 0..100_000 {
            let mut next = None;
            for &inst in &self.func.blocks[block].insts {
                let data = &self.func.insts[inst];
                let go = |this: &mut Self, target: &BlockCall| {
                    let args: Vec<u128> = target.args.iter().map(|&a| this.get(a)).collect();
                    for (&param, arg) in this.func.blocks[target.block].params.iter().zip(args) {
                        this.values.insert(param, arg);
                    }
                    target.block
                };
                match &data.kind {
                    InstKind::Jump { target } => next = Some(go(self, target)),
                    InstKind::Branch { cond, if_true, if_false } => {
                        let target = if self.get(*cond) & 1 == 1 { if_true } else { if_false };
                        next = Some(go(self, target));
                    }
                    InstKind::Ret { .. } => return,
                    InstKind::Store { ptr, value, .. } => {
                        let (at, bytes) = (self.get(*ptr) as u64, self.bits(*value) / 8);
                        let value = self.get(*value);
                        for i in 0..bytes {
                            self.stored.insert(at + u64::from(i), (value >> (8 * i)) as u8);
                        }
                    }
                    kind => {
                        let value = self.eval(kind, data.ty);
                        let bits = data.ty.bits().unwrap() as u32;
                        let mask = if bits >= 128 { u128::MAX } else { (1 << bits) - 1 };
                        self.values.insert(data.result.unwrap(), value & mask);
                    }
                }
            }
            block = next.expect("a terminator");
        }
        panic!("does not end");
    }

    fn eval(&self, kind: &InstKind, ty: Type) -> u128 {
        let bits = ty.bits().unwrap() as u32;
        let lane_bits = ty.scalar().unwrap().bits();
        match kind {
            InstKind::Binary { op, args: [a, b] } => match ty {
                Type::F32 => {
                    let (x, y) = (self.f32(*a), self.f32(*b));
                    u128::from(
                        match op {
                            BinaryOp::FAdd => x + y,
                            BinaryOp::FSub => x - y,
                            BinaryOp::FMul => x * y,
                            _ => panic!("{op:?}"),
                        }
                        .to_bits(),
                    )
                }
                Type::F64 => {
                    let (x, y) = (self.f64(*a), self.f64(*b));
                    u128::from(
                        match op {
                            BinaryOp::FAdd => x + y,
                            BinaryOp::FSub => x - y,
                            BinaryOp::FMul => x * y,
                            _ => panic!("{op:?}"),
                        }
                        .to_bits(),
                    )
                }
                // Poison stands for anything; zero finds uses of it as well as any other number.
                _ => {
                    u128::from(eval_binary(*op, self.get(*a) as u64, self.get(*b) as u64, bits).unwrap_or(0))
                }
            },
            InstKind::Unary { arg, .. } => self.get(*arg) ^ 1 << (bits - 1),
            InstKind::Icmp { predicate, args } => u128::from(eval_icmp(
                *predicate,
                self.get(args[0]) as u64,
                self.get(args[1]) as u64,
                self.bits(args[0]),
            )),
            InstKind::Fcmp { predicate, args } => {
                use FloatPredicate::*;
                let (x, y) = (self.f64(args[0]), self.f64(args[1]));
                let unordered = x.is_nan() || y.is_nan();
                u128::from(match predicate {
                    Oeq => x == y,
                    Ogt => x > y,
                    Oge => x >= y,
                    Olt => x < y,
                    Ole => x <= y,
                    One => !unordered && x != y,
                    Uno => unordered,
                    Ord => !unordered,
                    _ => panic!("{predicate:?}"),
                })
            }
            InstKind::Select { cond, if_true, if_false } => {
                if self.get(*cond) & 1 == 1 {
                    self.get(*if_true)
                } else {
                    self.get(*if_false)
                }
            }
            InstKind::Cast { op, arg } => self.eval_cast(*op, *arg, ty),
            InstKind::PtrAdd { base, index, scale, offset } => {
                let index = index.map_or(0, |i| sext64(self.get(i) as u64, self.bits(i)));
                let at = (self.get(*base) as i64).wrapping_add(index.wrapping_mul(*scale));
                u128::from(mask64(at.wrapping_add(*offset) as u64, bits))
            }
            InstKind::Load { ptr, .. } => {
                let at = (self.get(*ptr) as u64).wrapping_sub(KERNARG) as usize;
                (0..bits as usize / 8).rev().fold(0, |acc, i| acc << 8 | u128::from(self.kernarg[at + i]))
            }
            InstKind::ExtractElement { vector, index } => {
                self.get(*vector) >> (u128::from(lane_bits) * self.get(*index))
            }
            InstKind::InsertElement { vector, element, index } => {
                let shift = u128::from(lane_bits) * self.get(*index);
                let hole = !(u128::from(mask64(u64::MAX, lane_bits)) << shift);
                self.get(*vector) & hole | self.get(*element) << shift
            }
            InstKind::Intrinsic { intrinsic, args } => self.eval_intrinsic(*intrinsic, args, ty),
            other => panic!("{other:?}"),
        }
    }

    fn eval_cast(&self, op: CastOp, arg: Value, ty: Type) -> u128 {
        let (x, from) = (self.get(arg), self.bits(arg));
        match op {
            CastOp::SExt => sext64(x as u64, from) as u64 as u128,
            CastOp::UiToFp if ty == Type::F32 => u128::from((x as u64 as f32).to_bits()),
            CastOp::UiToFp => u128::from((x as u64 as f64).to_bits()),
            CastOp::SiToFp if ty == Type::F32 => u128::from((sext64(x as u64, from) as f32).to_bits()),
            CastOp::SiToFp => u128::from((sext64(x as u64, from) as f64).to_bits()),
            // The hardware saturates.
            CastOp::FpToUi => u128::from(self.f64(arg) as u32),
            CastOp::FpToSi => u128::from(self.f64(arg) as i32 as u32),
            CastOp::FpExt if ty == Type::F64 => u128::from(self.f64(arg).to_bits()),
            CastOp::FpExt => u128::from((self.f64(arg) as f32).to_bits()),
            CastOp::FpTrunc if ty == Type::F32 => u128::from((self.f64(arg) as f32).to_bits()),
            CastOp::FpTrunc => u128::from(mir::half::from_f64(self.f64(arg))),
            _ => x,
        }
    }

    fn eval_intrinsic(&self, intrinsic: Intrinsic, args: &[Value], ty: Type) -> u128 {
        use Intrinsic::*;
        let u = |i: usize| self.get(args[i]) as u64;
        let s = |i: usize| sext64(u(i), self.bits(args[i]));
        let float = |x: f64| match ty {
            Type::F32 => u128::from((x as f32).to_bits()),
            _ => u128::from(x.to_bits()),
        };
        match intrinsic {
            KernargSegmentPtr => u128::from(KERNARG),
            Umin => u128::from(u(0).min(u(1))),
            Umax => u128::from(u(0).max(u(1))),
            Smin => s(0).min(s(1)) as u128,
            Smax => s(0).max(s(1)) as u128,
            Ctpop => u128::from(u(0).count_ones()),
            Ctlz if u(0) == 0 => u128::from(u32::MAX),
            Cttz if u(0) == 0 => u128::from(u32::MAX),
            Ctlz => u128::from((u(0) as u32).leading_zeros()),
            Cttz => u128::from((u(0) as u32).trailing_zeros()),
            Sffbh => match (u(0) as u32 ^ (u(0) as i32 >> 31) as u32).leading_zeros() {
                32 => u128::from(u32::MAX),
                zeros => u128::from(zeros),
            },
            Bswap => u128::from((u(0) as u32).swap_bytes()),
            Bitreverse => u128::from((u(0) as u32).reverse_bits()),
            MulI24 => u128::from((sext64(u(0), 24) * sext64(u(1), 24)) as u32),
            Fshr => u128::from(((u(0) << 32 | u(1)) >> (u(2) & 31)) as u32),
            Rcp => {
                // Less than 1 ulp off, so one of the two neighbours; powers of two are exact on all
                // generations.
                let exact = 1.0 / self.f64(args[0]);
                let nearest = exact as f32;
                let up = f64::from(nearest) > exact;
                let down = f64::from(nearest) < exact;
                let step = match self.rcp_error {
                    1 if down => 1,
                    -1 if up => -1,
                    _ => 0,
                };
                u128::from(nearest.to_bits().wrapping_add_signed(step))
            }
            Trunc => float(self.f64(args[0]).trunc()),
            Floor => float(self.f64(args[0]).floor()),
            Fabs => float(self.f64(args[0]).abs()),
            Ldexp => float(self.f64(args[0]) * 2f64.powi(s(1) as i32)),
            Fma if ty == Type::F32 => {
                u128::from(self.f32(args[0]).mul_add(self.f32(args[1]), self.f32(args[2])).to_bits())
            }
            Fma => float(self.f64(args[0]).mul_add(self.f64(args[1]), self.f64(args[2]))),
            other => panic!("{other:?}"),
        }
    }
}
