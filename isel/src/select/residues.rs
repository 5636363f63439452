//! Addresses modulo 2³²: what is the same in several, and the constants that they are apart.
//!
//! The lower half of a sum is the sum of the lower halves, whatever carries between them or wraps. So indices of 32 bits are taken apart, extended or not:
//! `a[i + 1]` is four bytes behind `a[i]`, or 2³² elements further off. Either way their bytes are apart.

use mir::ir::{BinaryOp, CastOp, Function, InstFlags, InstKind, Scalar, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Most values that a sum is taken apart into.
const MAX_TERMS: usize = 8;

/// Most steps from an address to what it is a sum of.
const MAX_DEPTH: u32 = 24;

/// Values, each times a factor that is not zero, sorted.
type Terms = SmallVec<[(Value, u32); 4]>;

/// A number modulo 2³²: the sum of its terms and of a constant.
#[derive(Clone, Default)]
struct Residue {
    terms: Terms,
    constant: u32,
}

impl Residue {
    fn of(value: Value) -> Self {
        Self { terms: Terms::from_slice(&[(value, 1)]), constant: 0 }
    }

    fn constant(constant: u32) -> Self {
        Self { terms: Terms::new(), constant }
    }

    fn times(mut self, factor: u32) -> Self {
        self.terms.iter_mut().for_each(|term| term.1 = term.1.wrapping_mul(factor));
        self.terms.retain(|term| term.1 != 0);
        Self { constant: self.constant.wrapping_mul(factor), ..self }
    }

    fn plus(self, other: &Self) -> Self {
        let constant = self.constant.wrapping_add(other.constant);
        let mut terms = Terms::new();
        let (mut left, mut right) = (&self.terms[..], &other.terms[..]);
        while let (Some(&(a, i)), Some(&(b, k))) = (left.first(), right.first()) {
            let sum = if a == b {
                i.wrapping_add(k)
            } else if a < b {
                i
            } else {
                k
            };
            if sum != 0 {
                terms.push((a.min(b), sum));
            }
            left = &left[usize::from(a <= b)..];
            right = &right[usize::from(b <= a)..];
        }
        terms.extend_from_slice(left);
        terms.extend_from_slice(right);
        Self { terms, constant }
    }
}

/// The sums that were asked for. All of their values are defined once.
#[derive(Default)]
pub(super) struct Residues {
    known: FxHashMap<Value, Residue>,
    /// The number of each combination of terms, and the constant that came first with it.
    numbers: FxHashMap<Terms, (u32, u32)>,
}

impl Residues {
    /// The number of what `ptr` is a sum of, and the bytes by which it lies behind the first address that was asked for with that number, modulo 2³².
    pub fn place(
        &mut self,
        func: &Function,
        ptr: Value,
        constant: &impl Fn(Value) -> Option<i64>,
    ) -> (u32, i32) {
        let Residue { terms, constant } = self.residue(func, ptr, constant, MAX_DEPTH);
        let next = self.numbers.len() as u32;
        let (number, first) = *self.numbers.entry(terms).or_insert((next, constant));
        (number, constant.wrapping_sub(first) as i32)
    }

    fn residue(
        &mut self,
        func: &Function,
        value: Value,
        constant: &impl Fn(Value) -> Option<i64>,
        depth: u32,
    ) -> Residue {
        if let Some(known) = self.known.get(&value) {
            return known.clone();
        }
        if let Some(number) = constant(value) {
            return Residue::constant(number as u32);
        }
        let sum = (depth > 0).then(|| self.sum(func, value, constant, depth - 1)).flatten();
        let residue = sum.filter(|sum| sum.terms.len() <= MAX_TERMS).unwrap_or_else(|| Residue::of(value));
        self.known.insert(value, residue.clone());
        residue
    }

    /// `value` as a sum of what its definition reads, if it is one.
    fn sum(
        &mut self,
        func: &Function,
        value: Value,
        constant: &impl Fn(Value) -> Option<i64>,
        depth: u32,
    ) -> Option<Residue> {
        // Whether its lower half is a register.
        let is_whole = |value: Value| match func.ty(value) {
            Type::Scalar(Scalar::Int(bits)) => matches!(bits, 32 | 64),
            Type::Scalar(Scalar::Ptr(space)) => matches!(space.pointer_bits(), 32 | 64),
            _ => false,
        };
        let data = &func.insts[func.def_inst(value)?];
        if !is_whole(value) {
            return None;
        }
        let mut of = |value| self.residue(func, value, constant, depth);
        match data.kind {
            InstKind::PtrAdd { base, index, scale, offset } => {
                let mut sum = of(base).plus(&Residue::constant(offset as u32));
                if let Some(index) = index {
                    // Of fewer bits it is extended by its sign here, and here alone.
                    let index = if is_whole(index) || constant(index).is_some() {
                        of(index)
                    } else {
                        Residue::of(index)
                    };
                    sum = sum.plus(&index.times(scale as u32));
                }
                Some(sum)
            }
            InstKind::Binary { op: BinaryOp::Add, args: [a, b] } => Some(of(a).plus(&of(b))),
            InstKind::Binary { op: BinaryOp::Or, args: [a, b] }
                if data.flags.contains(InstFlags::DISJOINT) =>
            {
                Some(of(a).plus(&of(b)))
            }
            InstKind::Binary { op: BinaryOp::Sub, args: [a, b] } => Some(of(a).plus(&of(b).times(u32::MAX))),
            InstKind::Binary { op: BinaryOp::Mul, args: [a, b] } => {
                let (factor, other) = constant(b).map(|k| (k, a)).or_else(|| Some((constant(a)?, b)))?;
                Some(of(other).times(factor as u32))
            }
            InstKind::Binary { op: BinaryOp::Shl, args: [a, b] } => {
                let bits = u32::try_from(constant(b)?).ok().filter(|&bits| bits < 32)?;
                Some(of(a).times(1 << bits))
            }
            InstKind::Cast {
                op: CastOp::ZExt | CastOp::SExt | CastOp::Trunc | CastOp::PtrToInt | CastOp::IntToPtr,
                arg,
            } => is_whole(arg).then(|| of(arg)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_entity::EntityRef;

    #[test]
    fn sums_have_one_form() {
        let [a, b] = [3, 5].map(|n| Residue::of(Value::new(n)));
        let sum = b.clone().times(4).plus(&a).plus(&Residue::constant(7));
        assert_eq!(sum.terms[..], [(Value::new(3), 1), (Value::new(5), 4)]);
        // What cancels, or is a multiple of 2³², is no term.
        let less = sum.plus(&a.times(u32::MAX)).plus(&b.times(1 << 31).times(2));
        assert_eq!((&less.terms[..], less.constant), (&[(Value::new(5), 4)][..], 7));
        assert_eq!(less.times(3).constant, 21);
    }
}
