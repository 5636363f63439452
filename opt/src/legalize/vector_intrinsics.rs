//! Intrinsics on whole vectors: reductions, rearrangements, masks made of lane numbers.
//!
//! Lanes are parts, so rearranging them costs nothing. What counts lanes (`vector.compress`, `cttz.elts`) is
//! a chain of selections. Cost: linear in the lanes but for `vector.compress` and `vector.match`, which are
//! quadratic as what they compute is.

use super::{Legalizer, Parts};
use mir::ir::*;
use mir::{Diagnostic, Result};

/// Most lanes of what costs their square.
const MOST_QUADRATIC: usize = 128;

impl Legalizer<'_> {
    /// Reductions: a balanced tree where order does not matter, a chain where it does.
    pub(super) fn lower_reduction(&mut self, intrinsic: Intrinsic, args: &[Value]) -> Result<Parts> {
        use Intrinsic::*;
        let ordered = matches!(intrinsic, ReduceFadd | ReduceFmul);
        let &[first, .., vector] = args else {
            let &[vector] = args else { return Err(Diagnostic::malformed("reduction of nothing")) };
            return self.reduce_tree(intrinsic, vector);
        };
        if !ordered {
            return Err(Diagnostic::malformed("reduction with too many arguments"));
        }
        let (scalar, lanes) = self.lanes(vector)?;
        let mut result = self.parts(first)?;
        for lane in lanes.chunks(1) {
            result = self.combine(intrinsic, scalar, &result, lane)?;
        }
        Ok(result)
    }

    fn reduce_tree(&mut self, intrinsic: Intrinsic, vector: Value) -> Result<Parts> {
        let (scalar, lanes) = self.lanes(vector)?;
        let each = self.element_parts(scalar);
        let mut level = lanes;
        while level.len() > each {
            let mut next = Parts::new();
            for pair in level.chunks(2 * each) {
                match pair.split_at_checked(each) {
                    Some((x, y)) if !y.is_empty() => {
                        next.extend(self.combine(intrinsic, scalar, x, y)?);
                    }
                    _ => next.extend_from_slice(pair),
                }
            }
            level = next;
        }
        Ok(level)
    }

    /// Two lanes to one.
    fn combine(&mut self, intrinsic: Intrinsic, scalar: Scalar, x: &[Value], y: &[Value]) -> Result<Parts> {
        use Intrinsic::*;
        match (scalar, intrinsic) {
            (Scalar::Int(bits), ReduceAdd) => self.any_binary(BinaryOp::Add, x, y, bits),
            (Scalar::Int(bits), ReduceMul) => self.any_binary(BinaryOp::Mul, x, y, bits),
            (Scalar::Int(bits), ReduceAnd) => self.any_binary(BinaryOp::And, x, y, bits),
            (Scalar::Int(bits), ReduceOr) => self.any_binary(BinaryOp::Or, x, y, bits),
            (Scalar::Int(bits), ReduceXor) => self.any_binary(BinaryOp::Xor, x, y, bits),
            (Scalar::Int(bits), ReduceSmin) => Ok(self.any_minmax(Smin, x, y, bits)),
            (Scalar::Int(bits), ReduceSmax) => Ok(self.any_minmax(Smax, x, y, bits)),
            (Scalar::Int(bits), ReduceUmin) => Ok(self.any_minmax(Umin, x, y, bits)),
            (Scalar::Int(bits), ReduceUmax) => Ok(self.any_minmax(Umax, x, y, bits)),
            (Scalar::Float(float), _) => {
                let (x, y) = (x[0], y[0]);
                let result = match intrinsic {
                    ReduceFadd => self.float_binary(BinaryOp::FAdd, x, y, float)?,
                    ReduceFmul => self.float_binary(BinaryOp::FMul, x, y, float)?,
                    ReduceFmin | ReduceFmax | ReduceFminimum | ReduceFmaximum => {
                        let which = match intrinsic {
                            ReduceFmin => Minnum,
                            ReduceFmax => Maxnum,
                            ReduceFminimum => Minimum,
                            _ => Maximum,
                        };
                        self.narrow_op(float, &[x, y], |this, v| this.lower_minmax(which, v[0], v[1]))?
                    }
                    _ => return Err(Diagnostic::malformed("reduction of another type")),
                };
                Ok(Parts::from_slice(&[result]))
            }
            _ => Err(Diagnostic::malformed("reduction of another type")),
        }
    }

    /// `vector.*` that only moves lanes: `sources` says where each lane of the result comes from, counted
    /// over all arguments.
    fn pick_lanes(&mut self, args: &[Value], sources: impl Iterator<Item = usize>) -> Result<Parts> {
        let (mut parts, mut each) = (Parts::new(), 1);
        for &arg in args {
            let (scalar, lanes) = self.lanes(arg)?;
            each = self.element_parts(scalar);
            parts.extend(lanes);
        }
        let mut out = Parts::new();
        for source in sources {
            let lane = parts.get(source * each..(source + 1) * each);
            out.extend_from_slice(lane.ok_or_else(|| Diagnostic::malformed("lane outside of the vector"))?);
        }
        Ok(out)
    }

    /// Rearrangements and masks.
    pub(super) fn lower_vector_intrinsic(
        &mut self,
        intrinsic: Intrinsic,
        args: &[Value],
        ty: Type,
    ) -> Result<Parts> {
        use Intrinsic::*;
        let old = self.old;
        let lanes_of = |i: usize| args.get(i).map_or(0, |&v| old.ty(v).lanes() as usize);
        let constant = |i: usize| {
            args.get(i).and_then(|&v| old.as_int(v)).ok_or_else(|| {
                Diagnostic::unsupported(format!("llvm.{} at a variable place", intrinsic.name()))
            })
        };
        let n = lanes_of(0);
        match intrinsic {
            VectorReverse => self.pick_lanes(args, (0..n).rev()),
            VectorSplice | VectorSpliceLeft | VectorSpliceRight => {
                let at = constant(2)? as u32 as i32 as i64;
                let start = match intrinsic {
                    VectorSpliceRight => n as i64 - at,
                    _ if at < 0 => n as i64 + at,
                    _ => at,
                };
                let start = usize::try_from(start).map_err(|_| Diagnostic::malformed("splice outside"))?;
                self.pick_lanes(&args[..2], start..start + n)
            }
            VectorInsert => {
                let (at, m) = (constant(2)? as usize, lanes_of(1));
                let inside = |i: usize| i.checked_sub(at).filter(|&offset| offset < m);
                self.pick_lanes(&args[..2], (0..n).map(|i| inside(i).map_or(i, |offset| n + offset)))
            }
            VectorExtract => {
                let at = constant(1)? as usize;
                self.pick_lanes(&args[..1], at..at.saturating_add(ty.lanes() as usize))
            }
            VectorInterleave2 | VectorInterleave3 | VectorInterleave4 | VectorInterleave5
            | VectorInterleave6 | VectorInterleave7 | VectorInterleave8 => {
                let k = args.len();
                self.pick_lanes(args, (0..n * k).map(|i| i % k * n + i / k))
            }
            VectorDeinterleave2 | VectorDeinterleave3 | VectorDeinterleave4 | VectorDeinterleave5
            | VectorDeinterleave6 | VectorDeinterleave7 | VectorDeinterleave8 => {
                let k = match intrinsic {
                    VectorDeinterleave2 => 2,
                    VectorDeinterleave3 => 3,
                    VectorDeinterleave4 => 4,
                    VectorDeinterleave5 => 5,
                    VectorDeinterleave6 => 6,
                    VectorDeinterleave7 => 7,
                    _ => 8,
                };
                let m = n / k;
                if m * k != n || m == 0 {
                    return Err(Diagnostic::malformed("deinterleave of a vector that has no such parts"));
                }
                self.pick_lanes(args, (0..n).map(|i| i % m * k + i / m))
            }
            Stepvector => {
                let types = self.part_types(ty)?;
                let scalar = ty.scalar().ok_or_else(|| Diagnostic::malformed("steps without a type"))?;
                let each = self.element_parts(scalar);
                Ok(types
                    .iter()
                    .enumerate()
                    .map(|(i, &ty)| {
                        let number = if i % each == 0 { i / each } else { 0 };
                        self.b.int(ty, number as u64)
                    })
                    .collect())
            }
            GetActiveLaneMask => self.active_lanes(args, ty),
            PartialReduceAdd => self.partial_reduction(args),
            VectorCompress => self.compress(args),
            CttzElts => self.first_set(args, ty),
            VectorMatch => self.match_any(args),
            ExtractLastActive => {
                let (scalar, lanes) = self.lanes(args[0])?;
                let each = self.element_parts(scalar);
                let mask = self.parts(args[1])?;
                let mut result = self.parts(args[2])?;
                for (lane, &bit) in lanes.chunks(each).zip(&mask) {
                    result = result.iter().zip(lane).map(|(&r, &l)| self.b.select(bit, l, r)).collect();
                }
                Ok(result)
            }
            _ => Err(Diagnostic::unsupported(format!("llvm.{}", intrinsic.name()))),
        }
    }

    /// Lanes whose number added to the first argument is below the second one; the sum does not wrap.
    fn active_lanes(&mut self, args: &[Value], ty: Type) -> Result<Parts> {
        let &[base, count] = args else { return Err(Diagnostic::malformed("too few arguments")) };
        let bits = self.old.ty(base).bits().unwrap_or(32) as u32;
        let (base, count) = (self.parts(base)?, self.parts(count)?);
        // The first `count - base` lanes, none where that is negative.
        let (difference, negative) = if bits > 64 {
            self.wide_overflow(&count, &base, bits, false, false)
        } else {
            let (x, y) = (self.zero_extended(count[0], bits), self.zero_extended(base[0], bits));
            let difference = self.b.sub(x, y);
            let negative = self.int_icmp(IntPredicate::Ult, x, y, bits);
            (Parts::from_slice(&[difference]), negative)
        };
        let enough = self.b.not(negative);
        let mut out = Parts::new();
        for lane in 0..u64::from(ty.lanes()) {
            let number: Parts = difference
                .iter()
                .enumerate()
                .map(|(i, &word)| {
                    let ty = self.b.ty(word);
                    self.b.int(ty, if i == 0 { lane } else { 0 })
                })
                .collect();
            let fits = bits >= 64 || lane < 1 << bits;
            let below = if fits {
                self.any_icmp(IntPredicate::Ugt, &difference, &number, bits)
            } else {
                self.b.bool(false)
            };
            out.push(self.b.and(enough, below));
        }
        Ok(out)
    }

    /// The lanes of the second vector added to those of the first, round and round.
    fn partial_reduction(&mut self, args: &[Value]) -> Result<Parts> {
        let &[sum, vector] = args else { return Err(Diagnostic::malformed("too few arguments")) };
        let (scalar, mut sum) = self.lanes(sum)?;
        let Scalar::Int(bits) = scalar else {
            return Err(Diagnostic::unsupported("partial reduction of floats"));
        };
        let each = self.element_parts(scalar);
        let lanes = self.parts(vector)?;
        for (i, lane) in lanes.chunks(each).enumerate() {
            let at = i * each % sum.len().max(1);
            let next = self.any_binary(BinaryOp::Add, &sum[at..at + each], lane, bits)?;
            sum[at..at + each].copy_from_slice(&next);
        }
        Ok(sum)
    }

    /// The lanes under the mask moved together at the start; behind them those of the third argument.
    fn compress(&mut self, args: &[Value]) -> Result<Parts> {
        let &[vector, mask, rest] = args else { return Err(Diagnostic::malformed("too few arguments")) };
        let (scalar, lanes) = self.lanes(vector)?;
        let each = self.element_parts(scalar);
        let mask = self.parts(mask)?;
        let mut out = self.parts(rest)?;
        if mask.len() > MOST_QUADRATIC {
            return Err(Diagnostic::unsupported(format!("vector.compress of {} lanes", mask.len())));
        }
        let mut before = self.b.i32(0);
        for (i, &bit) in mask.iter().enumerate() {
            // Lane i goes to one of the places 0 to i.
            for place in 0..=i {
                let here = self.b.icmp_imm(IntPredicate::Eq, before, place as u64);
                let here = self.b.and(bit, here);
                for part in 0..each {
                    let at = place * each + part;
                    out[at] = self.b.select(here, lanes[i * each + part], out[at]);
                }
            }
            let one = self.b.cast(CastOp::ZExt, bit, Type::I32);
            before = self.b.add(before, one);
            self.b.assume_unsigned(before, 32 - (i as u32 + 1).leading_zeros());
        }
        Ok(out)
    }

    /// The number of lanes before the first that is not zero.
    fn first_set(&mut self, args: &[Value], ty: Type) -> Result<Parts> {
        let (scalar, lanes) = self.lanes(args[0])?;
        let Scalar::Int(bits) = scalar else { return Err(Diagnostic::malformed("cttz.elts of floats")) };
        let each = self.element_parts(scalar);
        let count = lanes.len() / each;
        let mut result = self.b.i32(count as u32);
        for (i, lane) in lanes.chunks(each).enumerate().rev() {
            let zero: Parts = lane
                .iter()
                .map(|&word| {
                    let ty = self.b.ty(word);
                    self.b.zero(ty)
                })
                .collect();
            let set = self.any_icmp(IntPredicate::Ne, lane, &zero, bits);
            let number = self.b.i32(i as u32);
            result = self.b.select(set, number, result);
        }
        let mut out = Parts::new();
        self.resize(&[result], 32, ty.bits().unwrap_or(32) as u32, false, &mut out);
        Ok(out)
    }

    /// Lanes of the first vector that equal any of the second one, under a mask.
    fn match_any(&mut self, args: &[Value]) -> Result<Parts> {
        let &[vector, wanted, mask] = args else { return Err(Diagnostic::malformed("too few arguments")) };
        let (scalar, lanes) = self.lanes(vector)?;
        let Scalar::Int(bits) = scalar else { return Err(Diagnostic::malformed("vector.match of floats")) };
        let each = self.element_parts(scalar);
        let (wanted, mask) = (self.parts(wanted)?, self.parts(mask)?);
        if mask.len().max(wanted.len() / each) > MOST_QUADRATIC {
            return Err(Diagnostic::unsupported(format!("vector.match of {} lanes", mask.len())));
        }
        let mut out = Parts::new();
        for (lane, &bit) in lanes.chunks(each).zip(&mask) {
            let mut any = self.b.bool(false);
            for one in wanted.chunks(each) {
                let same = self.any_icmp(IntPredicate::Eq, lane, one, bits);
                any = self.b.or(any, same);
            }
            out.push(self.b.and(any, bit));
        }
        Ok(out)
    }

    /// `clmul`: the product without carries.
    pub(super) fn carryless_product(&mut self, x: &[Value], y: &[Value], bits: u32) -> Result<Parts> {
        let mut sum: Parts = x
            .iter()
            .map(|&word| {
                let ty = self.b.ty(word);
                self.b.zero(ty)
            })
            .collect();
        for bit in 0..bits {
            let word = y[(bit / 64) as usize];
            let moved = self.b.shl_imm(word, self.b.bits(word) - 1 - bit % 64);
            let ones = self.b.ashr_imm(moved, self.b.bits(word) - 1);
            let amount: Parts = x
                .iter()
                .enumerate()
                .map(|(i, &word)| {
                    let ty = self.b.ty(word);
                    self.b.int(ty, if i == 0 { u64::from(bit) } else { 0 })
                })
                .collect();
            let shifted = self.any_binary(BinaryOp::Shl, x, &amount, bits)?;
            for (total, &part) in sum.iter_mut().zip(&shifted) {
                let part = self.b.and(part, ones);
                *total = self.b.xor(*total, part);
            }
        }
        Ok(sum)
    }
}
