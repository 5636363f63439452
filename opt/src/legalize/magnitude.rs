//! How small and how large the numbers of binary32 can be that a value has: instructions that flush denormals serve where none of them is one.

use super::*;

/// Operands of operands that are looked at; a limit, so that the cost is constant.
const DEPTH: u32 = 4;
/// Exponents of the smallest denormal, of the smallest normal number and of the largest one.
const SMALLEST: i32 = -149;
pub(super) const SMALLEST_NORMAL: i32 = -126;
const LARGEST: i32 = 127;
/// Bits of a significand behind its first.
const FRACTION: i32 = 23;

/// Binary exponents of a value where it is neither zero, nor infinite, nor a NaN: `2^least <= |x| < 2^(most + 1)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Magnitude {
    pub least: i32,
    pub most: i32,
    /// Whether it is never zero.
    pub nonzero: bool,
}

impl Magnitude {
    const ANY: Self = Self { least: SMALLEST, most: LARGEST, nonzero: false };
    const ZERO: Self = Self { least: LARGEST, most: SMALLEST, nonzero: false };

    /// Of results that are rounded: to powers of two, too, and to zero.
    fn rounded(least: i32, most: i32) -> Self {
        let least = if least < SMALLEST_NORMAL { SMALLEST } else { least.min(LARGEST) };
        Self { least, most: most.clamp(least, LARGEST), nonzero: false }
    }

    fn of(number: f32) -> Self {
        if number == 0.0 {
            return Self::ZERO;
        }
        if !number.is_finite() {
            return Self { nonzero: true, ..Self::ZERO };
        }
        let bits = number.to_bits() & 0x7fff_ffff;
        let exponent = match bits >> FRACTION {
            0 => SMALLEST + bits.ilog2() as i32,
            biased => biased as i32 - 127,
        };
        Self { least: exponent, most: exponent, nonzero: true }
    }

    /// Of either.
    fn or(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            most: self.most.max(other.most),
            nonzero: self.nonzero && other.nonzero,
        }
    }

    /// Of a sum of `self` and a number `other`, where they may nearly cancel: a digit of the last place is left then. `digits` are those that `self` has behind its
    /// first if that is its smallest: a product that is not rounded has more.
    ///
    /// If one summand is never zero, the other is half of it at least and has a last place of its own, or leaves half of it.
    fn plus(self, digits: i32, other: Self) -> Self {
        let mut last = (self.least - digits).min(other.least - FRACTION);
        if other.nonzero {
            let exact = i32::from(digits > FRACTION);
            last = last.max(other.least - 1 - digits - exact);
        }
        if self.nonzero && digits == FRACTION {
            last = last.max(self.least - 1 - FRACTION);
        }
        Self::rounded(last, self.most.max(other.most) + 2)
    }

    /// Whether neither the number nor its reciprocal is a denormal, if those that are count as zeros where `flushed`.
    pub(super) fn has_normal_reciprocal(self, flushed: bool) -> bool {
        (flushed || self.least >= SMALLEST_NORMAL) && self.most <= -1 - SMALLEST_NORMAL
    }

    /// Whether a quarter of the number is exact.
    pub(super) fn has_normal_quarter(self) -> bool {
        self.least >= SMALLEST_NORMAL + 2
    }

    /// Of a product before it is rounded.
    fn times(self, other: Self) -> (i32, i32) {
        (self.least + other.least, self.most + other.most + 2)
    }
}

/// What is known of `value`, a number of binary32, from operands of operands up to `depth`.
fn find(func: &Function, value: Value, depth: u32) -> Magnitude {
    let inst = match &func.values[value].def {
        ValueDef::Const(Const::Zero) => return Magnitude::ZERO,
        ValueDef::Const(Const::Float(bits)) => return Magnitude::of(f32::from_bits(*bits as u32)),
        ValueDef::Inst(inst) if depth > 0 => &func.insts[*inst],
        _ => return Magnitude::ANY,
    };
    let of = |v: Value| find(func, v, depth - 1);
    match &inst.kind {
        InstKind::Cast { op: CastOp::FpExt, arg } if func.ty(*arg) == Type::F16 => {
            Magnitude { least: -24, most: 15, nonzero: false }
        }
        InstKind::Cast { op: CastOp::SiToFp | CastOp::UiToFp, arg } => {
            let bits = func.ty(*arg).bits().map_or(LARGEST, |bits| bits as i32);
            Magnitude { least: 0, most: bits.min(LARGEST), nonzero: false }
        }
        InstKind::Unary { op: UnaryOp::FNeg, arg } => of(*arg),
        InstKind::Select { if_true, if_false, .. } => of(*if_true).or(of(*if_false)),
        // A product may become part of the sum later, and is not rounded then.
        InstKind::Binary { op: BinaryOp::FAdd | BinaryOp::FSub, args: [a, b] } => {
            let (x, y) = (of(*a), of(*b));
            match (is_product(func, *a), is_product(func, *b)) {
                (false, false) => x.plus(FRACTION, y),
                (true, false) => x.plus(2 * FRACTION, y),
                (false, true) => y.plus(2 * FRACTION, x),
                (true, true) => x.plus(2 * FRACTION, y).or(y.plus(2 * FRACTION, x)),
            }
        }
        InstKind::Binary { op: BinaryOp::FMul, args: [a, b] } => {
            let (least, most) = of(*a).times(of(*b));
            Magnitude::rounded(least, most)
        }
        InstKind::Intrinsic { intrinsic, args } => match (intrinsic, args.as_slice()) {
            (Intrinsic::Fabs, [x]) => of(*x),
            (Intrinsic::Fma | Intrinsic::Fmuladd, &[a, b, c]) => {
                let (least, most) = of(a).times(of(b));
                let product = Magnitude { least, most, nonzero: false };
                product.plus(2 * FRACTION, of(c))
            }
            // What is below the constant is not chosen.
            (Intrinsic::Maxnum | Intrinsic::Maximumnum | Intrinsic::Maximum, &[x, c]) => {
                match func.as_const(c) {
                    Some(&Const::Float(bits)) if f32::from_bits(bits as u32) > 0.0 => {
                        let bound = of(c);
                        Magnitude { most: bound.most.max(of(x).most), ..bound }
                    }
                    _ => of(x).or(of(c)),
                }
            }
            (Intrinsic::Minnum | Intrinsic::Minimumnum | Intrinsic::Minimum, &[a, b]) => of(a).or(of(b)),
            (Intrinsic::Rint | Intrinsic::Floor | Intrinsic::Ceil | Intrinsic::Trunc, &[x]) => {
                Magnitude { least: 0, most: (of(x).most + 1).clamp(0, LARGEST), nonzero: false }
            }
            // The last place of both may be wrong.
            (Intrinsic::AmdgcnSqrt, &[x]) => {
                let x = of(x);
                Magnitude {
                    least: x.least.div_euclid(2) - 1,
                    most: (x.most + 1).div_euclid(2) + 1,
                    nonzero: false,
                }
            }
            (Intrinsic::Rcp, &[x]) => {
                let x = of(x);
                Magnitude::rounded(-x.most - 2, -x.least + 1)
            }
            _ => Magnitude::ANY,
        },
        _ => Magnitude::ANY,
    }
}

/// Whether `value` is a product, or the negative of one.
fn is_product(func: &Function, value: Value) -> bool {
    let kind = |value| func.def_inst(value).map(|inst| &func.insts[inst].kind);
    let positive = match kind(value) {
        Some(&InstKind::Unary { op: UnaryOp::FNeg, arg }) => arg,
        _ => value,
    };
    matches!(kind(positive), Some(InstKind::Binary { op: BinaryOp::FMul, .. }))
}

impl Legalizer<'_> {
    /// What is known of `x`, a number of binary32.
    pub(super) fn float_magnitude(&self, x: Value) -> Magnitude {
        find(&self.b.func, x, DEPTH)
    }

    /// Whether no number that `x` has is a denormal.
    pub(super) fn is_never_denormal(&self, x: Value) -> bool {
        self.float_magnitude(x).least >= SMALLEST_NORMAL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a number is within what is said of it.
    fn holds(m: Magnitude, number: f32) -> bool {
        match number.classify() {
            std::num::FpCategory::Zero => !m.nonzero,
            std::num::FpCategory::Nan | std::num::FpCategory::Infinite => true,
            _ => {
                let exponent = Magnitude::of(number).least;
                m.least <= exponent && exponent <= m.most
            }
        }
    }

    /// Numbers with few and with many digits, next to each other and far apart.
    fn numbers() -> Vec<f32> {
        let mut all = Vec::new();
        let mut random = 0x9e37_79b9u32;
        for exponent in [0u32, 1, 2, 60, 100, 103, 104, 126, 127, 128, 150, 200, 253, 254] {
            for fraction in [0, 1, 0x40_0000, 0x7f_ffff] {
                all.push(f32::from_bits(exponent << 23 | fraction));
            }
            random = random.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            all.push(f32::from_bits(exponent << 23 | random >> 9));
        }
        let negative: Vec<f32> = all.iter().map(|x| -x).collect();
        all.extend(negative);
        all
    }

    #[test]
    fn exponents_are_those_of_numbers() {
        for (number, exponent) in
            [(1.0, 0), (-3.5, 1), (f32::MIN_POSITIVE, -126), (f32::from_bits(1), -149), (f32::MAX, 127)]
        {
            assert_eq!(Magnitude::of(number), Magnitude { least: exponent, most: exponent, nonzero: true });
        }
        assert!(holds(Magnitude::ZERO, 0.0) && holds(Magnitude::ANY, f32::from_bits(0x007f_ffff)));
    }

    #[test]
    fn results_are_within_bounds() {
        let all = numbers();
        // What is known of a number: itself, anything, or a range with or without zero.
        let known = |x: f32| {
            let own = Magnitude::of(x);
            [
                own,
                Magnitude::ANY,
                Magnitude { most: own.most + 3, ..own },
                Magnitude { nonzero: false, ..own },
            ]
        };
        for &a in &all {
            for &b in &all {
                for (ma, mb) in known(a).into_iter().flat_map(|ma| known(b).map(|mb| (ma, mb))) {
                    assert!(
                        holds(ma.plus(FRACTION, mb), a + b),
                        "{a:e} + {b:e}: {:?}",
                        ma.plus(FRACTION, mb)
                    );
                    let (least, most) = ma.times(mb);
                    assert!(holds(Magnitude::rounded(least, most), a * b), "{a:e} * {b:e}");
                    let product = Magnitude { least, most, nonzero: false };
                    for c in [1.0f32, 1e-5, -1.0, -a * b, -a, f32::from_bits(1), 3e38] {
                        let sum = product.plus(2 * FRACTION, Magnitude::of(c));
                        assert!(holds(sum, a.mul_add(b, c)), "{a:e} * {b:e} + {c:e}: {sum:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn normal_reciprocals_are_normal() {
        for x in numbers().into_iter().filter(|&x| x != 0.0) {
            let m = Magnitude::of(x);
            if m.has_normal_reciprocal(false) {
                assert!((1.0 / x).is_normal() && x.is_normal(), "{x:e}");
            }
            if m.has_normal_quarter() {
                assert!((x * 0.25).is_normal() && x * 0.25 * 4.0 == x, "{x:e}");
                assert!((1.0 / (x * 0.25)).is_normal(), "{x:e}");
            }
        }
    }
}
