//! What arithmetic, conversions and comparisons do.

/// Two-operand arithmetic on scalars or vectors of one type; the result has that type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "LLVM's own mnemonics")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    URem,
    SRem,
    Shl,
    LShr,
    AShr,
    And,
    Or,
    Xor,
    FAdd,
    FSub,
    FMul,
    FDiv,
    FRem,
}

/// One-operand operations whose result has the operand's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// Flips the sign bit.
    FNeg,
    /// Turns poison and undef into some fixed value.
    Freeze,
}

/// Conversions; the result type is the instruction's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "LLVM's own mnemonics")]
pub enum CastOp {
    Trunc,
    ZExt,
    SExt,
    FpTrunc,
    FpExt,
    FpToUi,
    FpToSi,
    UiToFp,
    SiToFp,
    PtrToInt,
    IntToPtr,
    BitCast,
    AddrSpaceCast,
}

impl CastOp {
    /// Whether it converts from or to floating point, which may round.
    #[inline]
    pub fn is_of_floats(self) -> bool {
        matches!(
            self,
            Self::FpTrunc | Self::FpExt | Self::FpToUi | Self::FpToSi | Self::UiToFp | Self::SiToFp
        )
    }
}

/// Integer comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "LLVM's own mnemonics")]
pub enum IntPredicate {
    Eq,
    Ne,
    Ugt,
    Uge,
    Ult,
    Ule,
    Sgt,
    Sge,
    Slt,
    Sle,
}

/// Floating-point comparison: `O` ordered (false on NaN), `U` unordered (true on NaN).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "LLVM's own mnemonics")]
pub enum FloatPredicate {
    False,
    Oeq,
    Ogt,
    Oge,
    Olt,
    Ole,
    One,
    Ord,
    Uno,
    Ueq,
    Ugt,
    Uge,
    Ult,
    Ule,
    Une,
    True,
}

impl IntPredicate {
    /// The predicate that LLVM gives this number (`CmpInst::Predicate`), as `llvm.amdgcn.icmp` has it for its argument.
    pub fn from_llvm(number: u64) -> Option<Self> {
        use IntPredicate::*;
        let all = [Eq, Ne, Ugt, Uge, Ult, Ule, Sgt, Sge, Slt, Sle];
        all.get(usize::try_from(number.checked_sub(32)?).ok()?).copied()
    }

    /// The predicate that holds where this one does not.
    pub fn inverse(self) -> Self {
        match self {
            Self::Eq => Self::Ne,
            Self::Ne => Self::Eq,
            Self::Ugt => Self::Ule,
            Self::Uge => Self::Ult,
            Self::Ult => Self::Uge,
            Self::Ule => Self::Ugt,
            Self::Sgt => Self::Sle,
            Self::Sge => Self::Slt,
            Self::Slt => Self::Sge,
            Self::Sle => Self::Sgt,
        }
    }

    /// The predicate that holds of (b, a) where this one holds of (a, b).
    pub fn swapped(self) -> Self {
        match self {
            Self::Eq | Self::Ne => self,
            Self::Ugt => Self::Ult,
            Self::Uge => Self::Ule,
            Self::Ult => Self::Ugt,
            Self::Ule => Self::Uge,
            Self::Sgt => Self::Slt,
            Self::Sge => Self::Sle,
            Self::Slt => Self::Sgt,
            Self::Sle => Self::Sge,
        }
    }

    /// Whether the sign of the operands matters.
    pub fn is_signed(self) -> bool {
        matches!(self, Self::Sgt | Self::Sge | Self::Slt | Self::Sle)
    }
}

impl FloatPredicate {
    /// The predicate that LLVM gives this number (`CmpInst::Predicate`), as `llvm.amdgcn.fcmp` has it for its argument.
    pub fn from_llvm(number: u64) -> Option<Self> {
        use FloatPredicate::*;
        let all = [False, Oeq, Ogt, Oge, Olt, Ole, One, Ord, Uno, Ueq, Ugt, Uge, Ult, Ule, Une, True];
        all.get(usize::try_from(number).ok()?).copied()
    }

    /// The predicate that holds where this one does not.
    pub fn inverse(self) -> Self {
        match self {
            Self::False => Self::True,
            Self::Oeq => Self::Une,
            Self::Ogt => Self::Ule,
            Self::Oge => Self::Ult,
            Self::Olt => Self::Uge,
            Self::Ole => Self::Ugt,
            Self::One => Self::Ueq,
            Self::Ord => Self::Uno,
            Self::Uno => Self::Ord,
            Self::Ueq => Self::One,
            Self::Ugt => Self::Ole,
            Self::Uge => Self::Olt,
            Self::Ult => Self::Oge,
            Self::Ule => Self::Ogt,
            Self::Une => Self::Oeq,
            Self::True => Self::False,
        }
    }

    /// The predicate that holds of (b, a) where this one holds of (a, b).
    pub fn swapped(self) -> Self {
        match self {
            Self::Ogt => Self::Olt,
            Self::Oge => Self::Ole,
            Self::Olt => Self::Ogt,
            Self::Ole => Self::Oge,
            Self::Ugt => Self::Ult,
            Self::Uge => Self::Ule,
            Self::Ult => Self::Ugt,
            Self::Ule => Self::Uge,
            same => same,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_predicates_are_llvms() {
        assert_eq!(IntPredicate::from_llvm(32), Some(IntPredicate::Eq));
        assert_eq!(IntPredicate::from_llvm(41), Some(IntPredicate::Sle));
        assert_eq!([31, 42, u64::MAX].map(IntPredicate::from_llvm), [None; 3]);
        assert_eq!(FloatPredicate::from_llvm(1), Some(FloatPredicate::Oeq));
        assert_eq!(FloatPredicate::from_llvm(14), Some(FloatPredicate::Une));
        assert_eq!(FloatPredicate::from_llvm(16), None);
    }
}
