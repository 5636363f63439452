//! Integer arithmetic and comparison up to 64 bits; wider goes on to [`super::wide`].
//!
//! Undefined bits: logic is followed bit by bit, sums and products upwards from the lowest undefined bit, shifts by a defined amount move them,
//! comparisons are decided where every choice of bits gives one answer. Everything else is undefined as a whole.

use super::exec::{Cx, Step};
use super::layout::{ones, scalar_words};
use super::regs::{Lanes, MAX_LANES, lanes};
use mir::ir::{BinaryOp, InstFlags, IntPredicate, Scalar, Type, Value};
use smallvec::SmallVec;

/// Sign extension of the low `bits` of `x` to 64.
#[inline]
pub fn sext(x: u64, bits: u32) -> u64 {
    if bits == 0 || bits >= 64 {
        return x;
    }
    ((x << (64 - bits)) as i64 >> (64 - bits)) as u64
}

/// The lowest bit of `undef` and all above it.
#[inline]
pub fn upwards(undef: u64) -> u64 {
    undef | undef.wrapping_neg()
}

/// The lanes for which `holds`.
#[inline]
pub fn where_lanes(holds: impl Fn(usize) -> bool) -> u64 {
    sim::exec::valu::mask_of(holds)
}

/// An integer operation on words of `bits` bits; poison gives any value.
#[inline]
fn operation(op: BinaryOp, x: u64, y: u64, bits: u32) -> u64 {
    let in_range = y < u64::from(bits);
    let (sx, sy) = (sext(x, bits) as i64, sext(y, bits) as i64);
    match op {
        BinaryOp::Add => x.wrapping_add(y),
        BinaryOp::Sub => x.wrapping_sub(y),
        BinaryOp::Mul => x.wrapping_mul(y),
        BinaryOp::UDiv => x.checked_div(y).unwrap_or(0),
        BinaryOp::URem => x.checked_rem(y).unwrap_or(0),
        BinaryOp::SDiv if sy != 0 => sx.wrapping_div(sy) as u64,
        BinaryOp::SRem if sy != 0 => sx.wrapping_rem(sy) as u64,
        BinaryOp::Shl if in_range => x << y,
        BinaryOp::LShr if in_range => x >> y,
        BinaryOp::AShr if in_range => (sx >> y) as u64,
        BinaryOp::And => x & y,
        BinaryOp::Or => x | y,
        BinaryOp::Xor => x ^ y,
        _ => 0,
    }
}

/// Undefined bits of a result, given the operands with theirs.
fn undefined(op: BinaryOp, [x, y]: [u64; 2], [ux, uy]: [u64; 2], bits: u32) -> u64 {
    match op {
        BinaryOp::And => (ux & uy) | (ux & y) | (uy & x),
        BinaryOp::Or => (ux | uy) & !(x & !ux) & !(y & !uy),
        BinaryOp::Xor => ux | uy,
        BinaryOp::Add | BinaryOp::Sub => upwards(ux | uy),
        BinaryOp::Mul => {
            // A factor's low zeros move the other's undefined bits up.
            let zeros = |v: u64, u: u64| (v | u).trailing_zeros();
            let from = |u: u64, zeros: u32| upwards(u).checked_shl(zeros).unwrap_or(0);
            from(ux, zeros(y, uy)) | from(uy, zeros(x, ux))
        }
        BinaryOp::Shl if uy == 0 => operation(op, ux, y, bits),
        BinaryOp::LShr | BinaryOp::AShr if uy == 0 => operation(op, ux, y, bits),
        _ => u64::MAX,
    }
}

/// Whether a result on defined operands is poison: a broken promise, a shift too far, a division without meaning.
fn poison(op: BinaryOp, flags: InstFlags, x: u64, y: u64, bits: u32) -> bool {
    let width = ones(bits);
    let (sx, sy) = (i128::from(sext(x, bits) as i64), i128::from(sext(y, bits) as i64));
    let (ux, uy) = (u128::from(x), u128::from(y));
    let signed_wraps =
        |r: i128| flags.contains(InstFlags::NSW) && r != i128::from(sext(r as u64, bits) as i64);
    let unsigned_wraps = |r: u128| flags.contains(InstFlags::NUW) && r > u128::from(width);
    let least = 1 << (bits - 1);
    match op {
        BinaryOp::Add => signed_wraps(sx + sy) || unsigned_wraps(ux + uy),
        BinaryOp::Sub => signed_wraps(sx - sy) || flags.contains(InstFlags::NUW) && x < y,
        BinaryOp::Mul => signed_wraps(sx.wrapping_mul(sy)) || unsigned_wraps(ux * uy),
        BinaryOp::Shl => {
            y >= u64::from(bits)
                || flags.contains(InstFlags::NUW) && (x << y & width) >> y != x
                || flags.contains(InstFlags::NSW)
                    && sext(x << y & width, bits) as i64 >> y != sext(x, bits) as i64
        }
        BinaryOp::LShr | BinaryOp::AShr => {
            y >= u64::from(bits) || flags.contains(InstFlags::EXACT) && x & ones(y as u32) != 0 && y != 0
        }
        BinaryOp::UDiv => y == 0 || flags.contains(InstFlags::EXACT) && !x.is_multiple_of(y),
        BinaryOp::URem => y == 0,
        BinaryOp::SDiv => {
            y == 0 || (x == least && y == width) || flags.contains(InstFlags::EXACT) && sx % sy != 0
        }
        BinaryOp::SRem => y == 0 || x == least && y == width,
        BinaryOp::Or => flags.contains(InstFlags::DISJOINT) && x & y != 0,
        _ => false,
    }
}

/// Whether [`poison`] can hold at all.
fn may_be_poison(op: BinaryOp, flags: InstFlags) -> bool {
    match op {
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => flags.intersects(InstFlags::NSW | InstFlags::NUW),
        BinaryOp::Or => flags.contains(InstFlags::DISJOINT),
        BinaryOp::And | BinaryOp::Xor => false,
        _ => true,
    }
}

/// Whether `predicate` holds.
#[inline]
pub fn compare(predicate: IntPredicate, x: u64, y: u64, bits: u32) -> bool {
    let (sx, sy) = (sext(x, bits) as i64, sext(y, bits) as i64);
    match predicate {
        IntPredicate::Eq => x == y,
        IntPredicate::Ne => x != y,
        IntPredicate::Ugt => x > y,
        IntPredicate::Uge => x >= y,
        IntPredicate::Ult => x < y,
        IntPredicate::Ule => x <= y,
        IntPredicate::Sgt => sx > sy,
        IntPredicate::Sge => sx >= sy,
        IntPredicate::Slt => sx < sy,
        IntPredicate::Sle => sx <= sy,
    }
}

/// `f` of each lane.
#[inline(always)]
fn zip(out: &mut Lanes, x: &Lanes, y: &Lanes, f: impl Fn(u64, u64) -> u64) {
    for l in 0..MAX_LANES {
        out[l] = f(x[l], y[l]);
    }
}

/// [`compare`] for all lanes: the order of signed numbers is that of unsigned ones with the sign bit flipped.
fn compare_lanes(predicate: IntPredicate, out: &mut Lanes, x: &Lanes, y: &Lanes, bits: u32) {
    let flip = if predicate.is_signed() { 1 << (bits - 1) } else { 0 };
    match predicate {
        IntPredicate::Eq => zip(out, x, y, |x, y| u64::from(x == y)),
        IntPredicate::Ne => zip(out, x, y, |x, y| u64::from(x != y)),
        IntPredicate::Ugt | IntPredicate::Sgt => zip(out, x, y, |x, y| u64::from((x ^ flip) > (y ^ flip))),
        IntPredicate::Uge | IntPredicate::Sge => zip(out, x, y, |x, y| u64::from((x ^ flip) >= (y ^ flip))),
        IntPredicate::Ult | IntPredicate::Slt => zip(out, x, y, |x, y| u64::from((x ^ flip) < (y ^ flip))),
        IntPredicate::Ule | IntPredicate::Sle => zip(out, x, y, |x, y| u64::from((x ^ flip) <= (y ^ flip))),
    }
}

/// The answer of `predicate` that every choice of undefined bits gives; `None` where they decide.
fn decided(predicate: IntPredicate, [x, y]: [u64; 2], [ux, uy]: [u64; 2], bits: u32) -> Option<bool> {
    if matches!(predicate, IntPredicate::Eq | IntPredicate::Ne) {
        return ((x ^ y) & !ux & !uy != 0).then_some(predicate == IntPredicate::Ne);
    }
    // Flipping the sign bit makes signed order unsigned.
    let flip = if predicate.is_signed() { 1 << (bits - 1) } else { 0 };
    let bounds = |v: u64, u: u64| ((v ^ flip) & !u, (v ^ flip) | u);
    let ((low_x, high_x), (low_y, high_y)) = (bounds(x, ux), bounds(y, uy));
    let unsigned = match predicate {
        IntPredicate::Sgt => IntPredicate::Ugt,
        IntPredicate::Sge => IntPredicate::Uge,
        IntPredicate::Slt => IntPredicate::Ult,
        IntPredicate::Sle => IntPredicate::Ule,
        same => same,
    };
    let one = compare(unsigned, low_x, high_y, 64);
    (one == compare(unsigned, high_x, low_y, 64)).then_some(one)
}

impl Cx<'_, '_> {
    /// A binary operation on scalars or vectors.
    pub fn binary(
        &mut self,
        op: BinaryOp,
        flags: InstFlags,
        ty: Type,
        dst: usize,
        [a, b]: [usize; 2],
    ) -> Step<()> {
        let scalar = self.scalar_of(ty)?;
        let step = scalar_words(scalar);
        for i in 0..ty.lanes() as usize {
            let (d, from) = (dst + i * step, [a + i * step, b + i * step]);
            match scalar {
                Scalar::Float(float) => self.float_binary(op, flags, float, d, from)?,
                _ if scalar.bits() <= 64 => self.narrow(op, flags, scalar.bits(), d, from),
                _ => self.wide_binary(op, flags, scalar.bits(), d, from)?,
            }
        }
        Ok(())
    }

    fn narrow(&mut self, op: BinaryOp, flags: InstFlags, bits: u32, dst: usize, [a, b]: [usize; 2]) {
        let width = ones(bits);
        let (x, y) = (&self.regs.v[a], &self.regs.v[b]);
        let mut out = [0; MAX_LANES];
        // The usual ones by themselves, so that their loops vectorise.
        match op {
            BinaryOp::Add => zip(&mut out, x, y, |x, y| x.wrapping_add(y) & width),
            BinaryOp::Sub => zip(&mut out, x, y, |x, y| x.wrapping_sub(y) & width),
            BinaryOp::Mul => zip(&mut out, x, y, |x, y| x.wrapping_mul(y) & width),
            BinaryOp::And => zip(&mut out, x, y, |x, y| x & y),
            BinaryOp::Or => zip(&mut out, x, y, |x, y| x | y),
            BinaryOp::Xor => zip(&mut out, x, y, |x, y| x ^ y),
            _ => zip(&mut out, x, y, |x, y| operation(op, x, y, bits) & width),
        }
        let broken = if may_be_poison(op, flags) {
            lanes(self.mask).filter(|&l| poison(op, flags, x[l], y[l], bits)).fold(0, |m, l| m | 1 << l)
        } else {
            0
        };
        let any = (self.regs.any(a) | self.regs.any(b)) & self.mask;
        // Seen before the result is written, which may be in an operand's place.
        let mut unknown: SmallVec<[(usize, u64); 8]> = SmallVec::new();
        for l in lanes(any) {
            let undef = [self.regs.undef(a, l), self.regs.undef(b, l)];
            if undef != [0, 0] {
                unknown.push((l, undefined(op, [x[l], y[l]], undef, bits) & width));
            }
        }
        self.regs.write(dst, self.mask, &out);
        self.regs.set_undef_in(dst, broken, width);
        // A promise about undefined operands may hold; their bits are followed.
        for (l, undef) in unknown {
            self.regs.write_lane(dst, l, out[l], undef);
        }
    }

    /// `icmp` on integers and pointers, scalars and vectors.
    pub fn icmp(
        &mut self,
        predicate: IntPredicate,
        flags: InstFlags,
        args: [Value; 2],
        dst: usize,
    ) -> Step<()> {
        let ty = self.ty(args[0]);
        let scalar = self.scalar_of(ty)?;
        let step = scalar_words(scalar);
        // Pointers to buffers are compared by their offsets, the lowest dword.
        let fat = matches!(scalar, Scalar::Ptr(space) if super::buffer::is_fat(space));
        let bits = if fat { 32 } else { scalar.bits() };
        let kept = if fat { 0xffff_ffff } else { u64::MAX };
        let [a, b] = args.map(|v| self.slot(v));
        for i in 0..ty.lanes() as usize {
            let (a, b) = (a + i * step, b + i * step);
            if bits > 64 {
                self.wide_compare(predicate, bits, dst + i, [a, b])?;
                continue;
            }
            let [x, y] = [a, b].map(|slot| self.regs.v[slot].map(|word| word & kept));
            let mut out = [0; MAX_LANES];
            compare_lanes(predicate, &mut out, &x, &y, bits);
            self.regs.write(dst + i, self.mask, &out);
            for l in lanes((self.regs.any(a) | self.regs.any(b)) & self.mask) {
                let undef = [self.regs.undef(a, l) & kept, self.regs.undef(b, l) & kept];
                match decided(predicate, [x[l], y[l]], undef, bits) {
                    Some(answer) => self.regs.write_lane(dst + i, l, u64::from(answer), 0),
                    None if undef == [0, 0] => {}
                    None => self.regs.write_lane(dst + i, l, out[l], 1),
                }
            }
            if flags.contains(InstFlags::SAMESIGN) {
                let broken = where_lanes(|l| (x[l] ^ y[l]) >> (bits - 1) & 1 != 0);
                self.regs.set_undef(dst + i, broken & self.mask, 1);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poison_is_what_langref_says() {
        let nsw = InstFlags::NSW;
        assert!(poison(BinaryOp::Add, nsw, 127, 1, 8) && !poison(BinaryOp::Add, nsw, 127, 255, 8));
        assert!(poison(BinaryOp::Sub, InstFlags::NUW, 3, 4, 32));
        assert!(poison(BinaryOp::Mul, nsw, 1 << 62, 2, 64) && !poison(BinaryOp::Mul, nsw, 1 << 61, 2, 64));
        assert!(poison(BinaryOp::Mul, InstFlags::NUW, u64::MAX, 2, 64));
        assert!(poison(BinaryOp::Shl, nsw, 0x40, 1, 8) && !poison(BinaryOp::Shl, nsw, 0xc0, 1, 8));
        assert!(poison(BinaryOp::Shl, InstFlags::empty(), 1, 8, 8));
        assert!(poison(BinaryOp::SDiv, InstFlags::empty(), 0x80, 0xff, 8));
        assert!(poison(BinaryOp::LShr, InstFlags::EXACT, 5, 1, 8));
        assert!(poison(BinaryOp::Or, InstFlags::DISJOINT, 5, 1, 8));
    }

    #[test]
    fn lanes_compare_as_single_words_do() {
        use IntPredicate::*;
        let mut rng = fastrand::Rng::with_seed(2);
        for predicate in [Eq, Ne, Ugt, Uge, Ult, Ule, Sgt, Sge, Slt, Sle] {
            for bits in [1, 7, 32, 63, 64] {
                let [x, y]: [Lanes; 2] =
                    [(); 2].map(|()| std::array::from_fn(|_| (rng.u64(..) >> rng.u32(0..64)) & ones(bits)));
                let mut out = [0; MAX_LANES];
                compare_lanes(predicate, &mut out, &x, &y, bits);
                let want = std::array::from_fn(|l| u64::from(compare(predicate, x[l], y[l], bits)));
                assert_eq!(out, want, "{predicate:?} i{bits}");
            }
        }
    }

    /// What the rules call defined is the same whatever stands in the place of undefined bits.
    #[test]
    fn defined_bits_do_not_depend_on_undefined_ones() {
        use BinaryOp::*;
        let mut rng = fastrand::Rng::with_seed(1);
        let bits = 6;
        for _ in 0..20_000 {
            let op = [Add, Sub, Mul, And, Or, Xor, Shl, LShr, AShr, UDiv, SRem][rng.usize(0..11)];
            let mut word = || rng.u64(0..64) & rng.u64(0..64);
            let (x, y, ux, uy) = (word(), word(), word(), word());
            let undef = undefined(op, [x, y], [ux, uy], bits);
            let want = operation(op, x, y, bits) & ones(bits) & !undef;
            for _ in 0..16 {
                let x = x & !ux | rng.u64(0..64) & ux;
                let y = y & !uy | rng.u64(0..64) & uy;
                if !poison(op, InstFlags::empty(), x, y, bits) {
                    assert_eq!(operation(op, x, y, bits) & ones(bits) & !undef, want, "{op:?} {x} {y}");
                }
            }
            for predicate in [IntPredicate::Eq, IntPredicate::Ult, IntPredicate::Sge, IntPredicate::Sgt] {
                let Some(answer) = decided(predicate, [x, y], [ux, uy], bits) else { continue };
                for _ in 0..16 {
                    let x = x & !ux | rng.u64(0..64) & ux;
                    let y = y & !uy | rng.u64(0..64) & uy;
                    assert_eq!(compare(predicate, x, y, bits), answer, "{predicate:?}");
                }
            }
        }
    }
}
