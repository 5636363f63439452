//! Intrinsics on integers of any width.
//!
//! Those that programs have often are computed on words of 64 bits for all lanes; everything else, and everything wider, by big integers a lane at a
//! time. A result is undefined as a whole where an operand is.

use super::exec::{Cx, Step};
use super::int::compare;
use super::layout::{ones, scalar_words};
use super::regs::lanes;
use super::wide::{cut, mask, signed, unsigned};
use mir::ir::{IntPredicate, Intrinsic, Scalar, Type, Value};
use num_bigint::{BigInt, BigUint};

/// A function of up to three words and their width.
type Narrow = fn(u64, u64, u64, u32) -> u64;

/// What is computed on words.
fn narrow(intrinsic: Intrinsic) -> Option<Narrow> {
    use Intrinsic::*;
    fn choose(predicate: IntPredicate, x: u64, y: u64, bits: u32) -> u64 {
        if compare(predicate, x, y, bits) { x } else { y }
    }
    fn amount(z: u64, bits: u32) -> u32 {
        (z % u64::from(bits)) as u32
    }
    Some(match intrinsic {
        Smin => |x, y, _, bits| choose(IntPredicate::Slt, x, y, bits),
        Smax => |x, y, _, bits| choose(IntPredicate::Sgt, x, y, bits),
        Umin => |x, y, _, bits| choose(IntPredicate::Ult, x, y, bits),
        Umax => |x, y, _, bits| choose(IntPredicate::Ugt, x, y, bits),
        Ctpop => |x, _, _, _| x.count_ones().into(),
        Bswap => |x, _, _, bits| x.swap_bytes() >> (64 - bits),
        Bitreverse => |x, _, _, bits| x.reverse_bits() >> (64 - bits),
        Fshl => |x, y, z, bits| {
            let both = u128::from(x) << bits | u128::from(y);
            ((both << amount(z, bits)) >> bits) as u64
        },
        Fshr => |x, y, z, bits| ((u128::from(x) << bits | u128::from(y)) >> amount(z, bits)) as u64,
        Ptrmask => |x, y, _, _| x & y,
        _ => return None,
    })
}

/// Integers as an operation sees them.
struct Operands {
    unsigned: [BigUint; 3],
    signed: [BigInt; 3],
    bits: u32,
    /// The scale of a fixed-point operation.
    scale: u32,
}

/// A signed number at the nearest end of the range where it does not fit.
fn clamp(x: BigInt, bits: u32, is_signed: bool) -> BigInt {
    let limit = BigInt::from(1u8) << if is_signed { bits - 1 } else { bits };
    let (least, most) = (if is_signed { -&limit } else { BigInt::default() }, limit - 1u8);
    x.clamp(least, most)
}

/// The quotient towards minus infinity.
fn floor_div(x: &BigInt, y: &BigInt) -> BigInt {
    let (q, r) = (x / y, x % y);
    let zero = BigInt::default();
    if r != zero && (r < zero) != (*y < zero) { q - 1u8 } else { q }
}

/// The exact result of the operation, which the caller cuts; `None` where it is poison.
fn exact(intrinsic: Intrinsic, o: &Operands) -> Option<BigInt> {
    use Intrinsic::*;
    let ([ux, uy, uz], [sx, sy, _]) = (&o.unsigned, &o.signed);
    let (bits, positive) = (o.bits, |x: &BigUint| BigInt::from(x.clone()));
    let amount = || u32::try_from(uy).ok().filter(|&n| n < bits);
    let rotation = || (uz % bits).iter_u32_digits().next().unwrap_or(0);
    let ordered = |less: bool, equal: bool| {
        BigInt::from(if equal {
            0
        } else if less {
            -1
        } else {
            1
        })
    };
    let wide_enough = |x: BigInt, is_signed| Some(clamp(x, bits, is_signed));
    Some(match intrinsic {
        Smin => sx.min(sy).clone(),
        Smax => sx.max(sy).clone(),
        Umin => positive(ux.min(uy)),
        Umax => positive(ux.max(uy)),
        Ucmp => ordered(ux < uy, ux == uy),
        Scmp => ordered(sx < sy, sx == sy),
        Ctpop => BigInt::from(ux.count_ones()),
        Bswap => {
            let mut bytes = ux.to_bytes_le();
            bytes.resize(bits as usize / 8, 0);
            positive(&BigUint::from_bytes_be(&bytes))
        }
        Bitreverse => {
            let mut result = BigUint::default();
            (0..bits).filter(|&i| ux.bit(i.into())).for_each(|i| result.set_bit((bits - 1 - i).into(), true));
            positive(&result)
        }
        Fshl => positive(&(cut(((ux << bits) | uy) << rotation(), 2 * bits) >> bits)),
        Fshr => positive(&cut(((ux << bits) | uy) >> rotation(), bits)),
        SaddSat => clamp(sx + sy, bits, true),
        UaddSat => clamp(positive(ux) + positive(uy), bits, false),
        SsubSat => clamp(sx - sy, bits, true),
        UsubSat => clamp(positive(ux) - positive(uy), bits, false),
        SshlSat => clamp(sx << amount()?, bits, true),
        UshlSat => clamp(positive(ux) << amount()?, bits, false),
        SmulFix => (sx * sy) >> o.scale,
        UmulFix => (positive(ux) * positive(uy)) >> o.scale,
        SmulFixSat => return wide_enough((sx * sy) >> o.scale, true),
        UmulFixSat => return wide_enough((positive(ux) * positive(uy)) >> o.scale, false),
        SdivFix | SdivFixSat | UdivFix | UdivFixSat if *uy == BigUint::default() => return None,
        SdivFix | SdivFixSat => {
            let quotient = floor_div(&(sx << o.scale), sy);
            return if intrinsic == SdivFixSat { wide_enough(quotient, true) } else { Some(quotient) };
        }
        UdivFix | UdivFixSat => {
            let quotient = positive(&((ux << o.scale) / uy));
            return if intrinsic == UdivFixSat { wide_enough(quotient, false) } else { Some(quotient) };
        }
        Clmul => {
            let bits = (0..uy.bits()).filter(|&i| uy.bit(i));
            positive(&bits.fold(BigUint::default(), |sum, i| sum ^ (ux << i)))
        }
        Ptrmask => positive(&(ux & uy)),
        _ => return None,
    })
}

/// Operations of [`exact`].
fn is_exact(intrinsic: Intrinsic) -> bool {
    use Intrinsic::*;
    matches!(
        intrinsic,
        Smin | Smax
            | Umin
            | Umax
            | Ucmp
            | Scmp
            | Ctpop
            | Bswap
            | Bitreverse
            | Fshl
            | Fshr
            | SaddSat
            | UaddSat
            | SsubSat
            | UsubSat
            | SshlSat
            | UshlSat
            | SmulFix
            | UmulFix
            | SmulFixSat
            | UmulFixSat
            | SdivFix
            | SdivFixSat
            | UdivFix
            | UdivFixSat
            | Clmul
            | Ptrmask
    )
}

impl Cx<'_, '_> {
    /// Whether this file executes `intrinsic`; if so, does.
    pub fn int_intrinsic(
        &mut self,
        intrinsic: Intrinsic,
        args: &[Value],
        ty: Type,
        dst: usize,
    ) -> Step<bool> {
        use Intrinsic::*;
        match intrinsic {
            SaddOverflow | UaddOverflow | SsubOverflow | UsubOverflow | SmulOverflow | UmulOverflow => {
                self.with_overflow(intrinsic, args, dst)?;
                return Ok(true);
            }
            Abs => {
                self.absolute(args, dst)?;
                return Ok(true);
            }
            Ctlz | Cttz => {
                self.count_zeros(intrinsic, args, dst)?;
                return Ok(true);
            }
            _ if !is_exact(intrinsic) => return Ok(false),
            _ => {}
        }
        let first = self.value(args, 0)?;
        let (scalar, x) = self.elements(first)?;
        let to = self.scalar_of(ty)?;
        let (bits, width) = (scalar.bits(), ones(to.bits()));
        let fixed = matches!(
            intrinsic,
            SmulFix | UmulFix | SmulFixSat | UmulFixSat | SdivFix | SdivFixSat | UdivFix | UdivFixSat
        );
        let scale = if fixed { self.immediate(args, 2)? as u32 } else { 0 };
        let operands = if fixed { 2 } else { args.len().min(3) };
        let mut others = Vec::with_capacity(2);
        for &arg in args.iter().take(operands).skip(1) {
            let (scalar, slots) = self.elements(arg)?;
            others.push((scalar.bits(), slots));
        }
        for (i, &x) in x.iter().enumerate() {
            let d = dst + i * scalar_words(to);
            let at = |n: usize| others.get(n).map_or(x, |(_, s)| s[i.min(s.len() - 1)]);
            let (y, z) = (at(0), at(1));
            match narrow(intrinsic).filter(|_| bits <= 64) {
                Some(f) if operands == 1 => self.map1(d, x, width, |x| f(x, 0, 0, bits)),
                Some(f) if operands == 2 => self.map2(d, [x, y], width, |x, y| f(x, y, 0, bits)),
                Some(f) => self.map3(d, [x, y, z], width, |x, y, z| f(x, y, z, bits)),
                None => {
                    let mut from = vec![(x, bits)];
                    from.extend(others.iter().map(|(bits, s)| (s[i.min(s.len() - 1)], *bits)));
                    self.by_big(d, to, &from, |o| exact(intrinsic, o), scale);
                }
            }
        }
        Ok(true)
    }

    /// `f` of big integers in each lane, cut to the type `to`; undefined where it is nothing.
    fn by_big(
        &mut self,
        dst: usize,
        to: Scalar,
        from: &[(usize, u32)],
        f: impl Fn(&Operands) -> Option<BigInt>,
        scale: u32,
    ) {
        let bits = from[0].1;
        for l in lanes(self.mask) {
            let mut operands =
                Operands { unsigned: Default::default(), signed: Default::default(), bits, scale };
            let mut unknown = false;
            for (n, &(at, bits)) in from.iter().take(3).enumerate() {
                operands.unsigned[n] = self.big(at, bits, l);
                operands.signed[n] = signed(&operands.unsigned[n], bits);
                unknown |= self.big_undef(at, bits, l) != BigUint::default();
            }
            let result = f(&operands).filter(|_| !unknown);
            let undef = if result.is_none() { mask(to.bits()) } else { BigUint::default() };
            let value = unsigned(&result.unwrap_or_default(), to.bits());
            self.put_big(dst, to.bits(), l, &value, &undef);
        }
    }

    /// A result and whether it does not fit: a struct of two scalars or vectors.
    fn with_overflow(&mut self, intrinsic: Intrinsic, args: &[Value], dst: usize) -> Step<()> {
        use Intrinsic::*;
        let (scalar, x) = self.elements(self.value(args, 0)?)?;
        let (_, y) = self.elements(self.value(args, 1)?)?;
        let (bits, step) = (scalar.bits(), scalar_words(scalar));
        let flags = dst + step * x.len();
        let is_signed = matches!(intrinsic, SaddOverflow | SsubOverflow | SmulOverflow);
        for (i, (&x, &y)) in x.iter().zip(&y).enumerate() {
            let result = |o: &Operands| {
                let [a, b] = if is_signed {
                    [o.signed[0].clone(), o.signed[1].clone()]
                } else {
                    [o.unsigned[0].clone().into(), o.unsigned[1].clone().into()]
                };
                match intrinsic {
                    SaddOverflow | UaddOverflow => a + b,
                    SsubOverflow | UsubOverflow => a - b,
                    _ => a * b,
                }
            };
            let from = [(x, bits), (y, bits)];
            self.by_big(dst + i * step, scalar, &from, |o| Some(result(o)), 0);
            let overflows = |o: &Operands| {
                let whole = result(o);
                Some(BigInt::from(clamp(whole.clone(), bits, is_signed) != whole))
            };
            self.by_big(flags + i, Scalar::Int(1), &from, overflows, 0);
        }
        Ok(())
    }

    /// The absolute value; that of the least number is itself, or undefined if the flag says so.
    fn absolute(&mut self, args: &[Value], dst: usize) -> Step<()> {
        let (scalar, x) = self.elements(self.value(args, 0)?)?;
        let least_is_poison = self.immediate(args, 1)? & 1 != 0;
        let bits = scalar.bits();
        for (i, &x) in x.iter().enumerate() {
            let least = BigInt::from(-1) << (bits - 1);
            self.by_big(
                dst + i * scalar_words(scalar),
                scalar,
                &[(x, bits)],
                |o| {
                    let x = &o.signed[0];
                    (!(least_is_poison && *x == least)).then(|| BigInt::from(x.magnitude().clone()))
                },
                0,
            );
        }
        Ok(())
    }

    /// Leading or trailing zeros; of zero the width, or undefined if the flag says so. In legal IR the flag means what the instruction does: -1.
    fn count_zeros(&mut self, intrinsic: Intrinsic, args: &[Value], dst: usize) -> Step<()> {
        let (scalar, x) = self.elements(self.value(args, 0)?)?;
        let zero_is_poison = self.immediate(args, 1)? & 1 != 0;
        let (bits, leading, legal) = (scalar.bits(), intrinsic == Intrinsic::Ctlz, self.group.legal);
        for (i, &x) in x.iter().enumerate() {
            let d = dst + i * scalar_words(scalar);
            if bits > 64 {
                let count = |o: &Operands| {
                    let x = &o.unsigned[0];
                    match x.trailing_zeros() {
                        None => (!zero_is_poison).then(|| BigInt::from(bits)),
                        Some(zeros) => {
                            Some(BigInt::from(if leading { u64::from(bits) - x.bits() } else { zeros }))
                        }
                    }
                };
                self.by_big(d, scalar, &[(x, bits)], count, 0);
                continue;
            }
            let zero = super::int::where_lanes(|l| self.regs.v[x][l] == 0);
            let of_zero = if legal && zero_is_poison { u64::MAX } else { bits.into() };
            self.map1(d, x, ones(bits), |x| match x {
                0 => of_zero,
                _ if leading => (x.leading_zeros() - (64 - bits)).into(),
                _ => x.trailing_zeros().into(),
            });
            if zero_is_poison && !legal {
                self.poison(d, scalar, zero);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operands(x: i64, y: i64, bits: u32, scale: u32) -> Operands {
        let wide = |v: i64| unsigned(&BigInt::from(v), bits);
        let unsigned = [wide(x), wide(y), BigUint::default()];
        let signed = [0, 1, 2].map(|n: usize| super::signed(&unsigned[n], bits));
        Operands { unsigned, signed, bits, scale }
    }

    fn run(intrinsic: Intrinsic, x: i64, y: i64, bits: u32, scale: u32) -> Option<i64> {
        let result = exact(intrinsic, &operands(x, y, bits, scale))?;
        i64::try_from(result).ok()
    }

    #[test]
    fn fixed_point_rounds_down() {
        assert_eq!(run(Intrinsic::SmulFix, -3, 1, 8, 1), Some(-2));
        assert_eq!(run(Intrinsic::SmulFixSat, -128, -128, 8, 2), Some(127));
        assert_eq!(run(Intrinsic::SdivFix, -3, 2, 8, 0), Some(-2));
        assert_eq!(run(Intrinsic::UdivFix, 3, 2, 8, 1), Some(3));
        assert_eq!(run(Intrinsic::SdivFix, 1, 0, 8, 0), None);
    }

    #[test]
    fn saturation_and_order() {
        assert_eq!(run(Intrinsic::SaddSat, 127, 1, 8, 0), Some(127));
        assert_eq!(run(Intrinsic::UsubSat, 3, 4, 8, 0), Some(0));
        assert_eq!(run(Intrinsic::SshlSat, -64, 2, 8, 0), Some(-128));
        assert_eq!(run(Intrinsic::Scmp, -1, 1, 8, 0), Some(-1));
        assert_eq!(run(Intrinsic::Ucmp, -1, 1, 8, 0), Some(1));
        assert_eq!(run(Intrinsic::Clmul, 3, 3, 8, 0), Some(5));
        assert_eq!(run(Intrinsic::Bswap, 0x1234, 0, 16, 0), Some(0x3412));
        assert_eq!(run(Intrinsic::Bitreverse, 1, 0, 17, 0), Some(1 << 16));
    }

    /// Words and big integers agree.
    #[test]
    fn narrow_and_exact_agree() {
        use Intrinsic::*;
        let mut rng = fastrand::Rng::with_seed(5);
        for _ in 0..20_000 {
            let which = [Smin, Smax, Umin, Umax, Ctpop, Bitreverse, Fshl, Fshr][rng.usize(0..8)];
            let bits = rng.u32(1..65);
            let [x, y, z] = [(); 3].map(|()| rng.u64(..) & ones(bits));
            let word = narrow(which).map(|f| f(x, y, z, bits) & ones(bits));
            let unsigned = [x, y, z].map(BigUint::from);
            let signed = [0, 1, 2].map(|n: usize| super::signed(&unsigned[n], bits));
            let big = exact(which, &Operands { unsigned, signed, bits, scale: 0 });
            let big = big.map(|b| super::unsigned(&b, bits).iter_u64_digits().next().unwrap_or(0));
            assert_eq!(word, big, "{which:?} {x:#x} {y:#x} {z:#x} i{bits}");
        }
    }
}
