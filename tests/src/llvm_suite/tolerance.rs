//! What may differ between two compilers' results of the same floating-point computation.

use mir::half;
use mir::ir::{Callee, CastOp, Float, Function, InstKind, Module, Scalar, Type, Value};

/// How the dwords (or, with the next ones, the quadwords) of two runs differ.
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub enum Difference {
    /// Not at all, or in a NaN's payload.
    None,
    /// As roundings may.
    Close,
    /// Otherwise.
    Real,
}

/// The floating-point formats of what a function and those that it calls leave behind: results, what they
/// store, export, and hand on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Formats {
    half: bool,
    bfloat: bool,
    single: bool,
    double: bool,
}

impl Formats {
    /// The formats of `f` and its callees.
    pub fn of(module: &Module, f: &Function) -> Self {
        let mut formats = Self::default();
        let mut seen = std::collections::BTreeSet::new();
        let mut work = vec![f];
        while let Some(f) = work.pop() {
            for inst in f.insts.values().filter(|inst| inst.has_side_effects()) {
                inst.kind.for_each_value(|value| formats.note_value(f, value));
                if let InstKind::Call { callee: Callee::Func(g), .. } = inst.kind
                    && seen.insert(g)
                {
                    work.push(&module.functions[g]);
                }
            }
        }
        formats
    }

    /// Of a struct's or an array's members nothing is known but what the function computes in.
    fn note_value(&mut self, f: &Function, value: Value) {
        let ty = f.ty(value);
        if matches!(ty, Type::Aggregate(_)) {
            f.values.values().for_each(|v| self.note(v.ty));
        }
        self.note(ty);
        // An integer that is a number's bits.
        let def = f.def_inst(value).map(|inst| &f.insts[inst].kind);
        if let Some(&InstKind::Cast { op: CastOp::BitCast, arg }) = def {
            self.note(f.ty(arg));
        }
    }

    fn note(&mut self, ty: Type) {
        match ty.scalar() {
            Some(Scalar::Float(Float::Half)) => self.half = true,
            Some(Scalar::Float(Float::BFloat)) => self.bfloat = true,
            Some(Scalar::Float(Float::Single)) => self.single = true,
            Some(Scalar::Float(Float::Double)) => self.double = true,
            _ => {}
        }
    }
}

/// What a comparison lets pass.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// What is computed in.
    pub formats: Formats,
    /// The processor has no 16-bit instructions: LLVM keeps more of a half's precision than the IR says.
    pub wide_halves: bool,
    /// Denormals may become zeros.
    pub flush: bool,
    /// Single-precision denormals may become zeros, as approximations make them.
    pub tiny: bool,
    /// Zeros have no sign.
    pub unsigned_zeros: bool,
}

/// The value of a half.
fn value(bits: u32) -> f32 {
    half::to_f64(bits as u16) as f32
}

fn bfloat(bits: u32) -> f32 {
    f32::from_bits(bits << 16)
}

/// Whether both 16-bit parts of two dwords are the same or as `alike` says.
fn parts(x: u32, y: u32, alike: impl Fn(u32, u32) -> bool) -> bool {
    [0, 16].iter().all(|s| {
        let (p, q) = (x >> s & 0xffff, y >> s & 0xffff);
        p == q || alike(p, q)
    })
}

/// The smallest normal half, and the distance of denormal ones.
const HALF_NORMAL: f32 = 6.103_515_6e-5;
const HALF_STEP: f32 = 5.960_464_5e-8;

impl Tolerance {
    /// Compares dwords `[below, at, above]`: with the dword above and the one below, they may be doubles.
    pub fn difference(self, a: [u32; 3], b: [u32; 3]) -> Difference {
        let (x, y) = (a[1], b[1]);
        if x == y || self.are_nans(a, b) {
            return Difference::None;
        }
        let Formats { half, bfloat, single, double } = self.formats;
        let quads = || [[(a[1], a[2]), (b[1], b[2])], [(a[0], a[1]), (b[0], b[1])]].map(|q| q.map(double_of));
        if single && self.close_singles(x, y, 18)
            || (half || bfloat) && self.wide_halves && self.close_singles(x, y, if bfloat { 6 } else { 9 })
            || half && parts(x, y, |p, q| self.close_halves(p, q))
            || bfloat && parts(x, y, |p, q| self.close_bfloats(p, q))
            || double && quads().iter().any(|[p, q]| self.close(*p, *q, 40))
        {
            return Difference::Close;
        }
        Difference::Real
    }

    fn are_nans(self, a: [u32; 3], b: [u32; 3]) -> bool {
        let Formats { half: halves, bfloat: bfloats, single, double } = self.formats;
        let (x, y) = (a[1], b[1]);
        let nan = |v: u32| f32::from_bits(v).is_nan();
        (single || self.wide_halves && (halves || bfloats)) && nan(x) && nan(y)
            || halves && parts(x, y, |p, q| value(p).is_nan() && value(q).is_nan())
            || bfloats && parts(x, y, |p, q| bfloat(p).is_nan() && bfloat(q).is_nan())
            || double && double_of((x, a[2])).is_nan() && double_of((y, b[2])).is_nan()
            || double && double_of((a[0], x)).is_nan() && double_of((b[0], y)).is_nan()
    }

    fn close_singles(self, x: u32, y: u32, bits: i32) -> bool {
        let (p, q) = (f32::from_bits(x), f32::from_bits(y));
        let wide = self.wide_halves && self.formats.half;
        let denormal = |v: f32| v == 0.0 || v.is_subnormal();
        p.is_finite() && q.is_finite() && self.close(p.into(), q.into(), bits)
            || self.flush && denormal(p) && denormal(q)
            || self.tiny && denormal(p) && denormal(q)
            // A half has overflown; a denormal half has few digits.
            || wide && p.abs() > 65504.0 && q.abs() > 65504.0 && p.signum() == q.signum()
            || wide && p != q && p.abs().max(q.abs()) < HALF_NORMAL && (p - q).abs() <= HALF_STEP
    }

    fn close_halves(self, p: u32, q: u32) -> bool {
        let (p, q) = (value(p), value(q));
        let tiny = p.abs() < HALF_NORMAL && q.abs() < HALF_NORMAL;
        let zeros = p == 0.0 && q == 0.0 && !self.unsigned_zeros;
        p.is_nan() && q.is_nan()
            || p.is_finite() && q.is_finite() && self.close(p.into(), q.into(), 8)
            || tiny && (self.flush || !zeros && (p - q).abs() <= HALF_STEP)
    }

    fn close_bfloats(self, p: u32, q: u32) -> bool {
        let (p, q) = (bfloat(p), bfloat(q));
        let denormal = |v: f32| v == 0.0 || v.is_subnormal();
        p.is_nan() && q.is_nan()
            || p.is_finite() && q.is_finite() && self.close(p.into(), q.into(), 7)
            || self.flush && denormal(p) && denormal(q)
    }

    /// Whether two numbers agree in their first `bits` bits.
    fn close(self, a: f64, b: f64, bits: i32) -> bool {
        match a == 0.0 && b == 0.0 {
            true => self.unsigned_zeros,
            false => (a - b).abs() <= a.abs().max(b.abs()) * f64::from(-bits).exp2(),
        }
    }
}

fn double_of((low, high): (u32, u32)) -> f64 {
    f64::from_bits(u64::from(low) | u64::from(high) << 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tolerance(formats: Formats) -> Tolerance {
        Tolerance { formats, wide_halves: false, flush: false, tiny: false, unsigned_zeros: false }
    }

    #[test]
    fn integers_have_no_tolerance() {
        let t = tolerance(Formats::default());
        // Bits that would be NaNs, near singles, or the low half of near doubles.
        for (x, y) in [(!0, !1), (0x3f80_0000, 0x3f80_0001), (1, 2), (0x7c01_7c01, 0x7c02_7c01)] {
            assert_eq!(t.difference([0, x, 0x3ff0_0000], [0, y, 0x3ff0_0000]), Difference::Real);
            assert_eq!(t.difference([0, x, !0], [0, y, !0]), Difference::Real);
            assert_eq!(t.difference([0, x, 0], [0, x, 1]), Difference::None);
        }
    }

    #[test]
    fn each_format_has_its_own() {
        let single = tolerance(Formats { single: true, ..Formats::default() });
        assert_eq!(single.difference([0, 0x3f80_0000, 0], [0, 0x3f80_0001, 0]), Difference::Close);
        assert_eq!(single.difference([0, 0x7f80_0001, 0], [0, !0, 0]), Difference::None);
        assert_eq!(single.difference([0, 0x3f80_0000, 0], [0, 0xbf80_0000, 0]), Difference::Real);
        assert_eq!(single.difference([0, 1, 0x3ff0_0000], [0, 2, 0x3ff0_0000]), Difference::Real);
        let double = tolerance(Formats { double: true, ..Formats::default() });
        assert_eq!(double.difference([0, 1, 0x3ff0_0000], [0, 2, 0x3ff0_0000]), Difference::Close);
        assert_eq!(double.difference([0, 1, 0x3ff0_0000], [0, 0x0100_0000, 0x3ff0_0000]), Difference::Real);
        let half = tolerance(Formats { half: true, ..Formats::default() });
        assert_eq!(half.difference([0, 0x3c00_0000, 0], [0, 0x3c01_0000, 0]), Difference::Close);
        assert_eq!(half.difference([0, 0x3c00_0000, 0], [0, 0xbc00_0000, 0]), Difference::Real);
        assert_eq!(half.difference([0, 0x8000_0000, 0], [0, 0, 0]), Difference::Real);
        let unsigned = Tolerance { unsigned_zeros: true, ..half };
        assert_eq!(unsigned.difference([0, 0x8000_0000, 0], [0, 0, 0]), Difference::Close);
        let bfloat = tolerance(Formats { bfloat: true, ..Formats::default() });
        assert_eq!(bfloat.difference([0, 0x3f80, 0], [0, 0x3f81, 0]), Difference::Close);
        assert_eq!(bfloat.difference([0, 0x3f80, 0], [0, 0x3f83, 0]), Difference::Real);
    }
}
