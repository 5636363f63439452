//! Strict floating point: `llvm.experimental.constrained.*` as plain operations that carry
//! [`InstFlags::STRICT`].
//!
//! The rounding mode in the metadata is a promise about the mode register, which code generation does not
//! need: an operation rounds as the register says. `fpexcept.ignore` with the default rounding leaves an
//! ordinary operation. Source: LangRef, "Constrained Floating-Point Intrinsics".

use crate::llvm::ValueRef;
use mir::ir::{BinaryOp, CastOp, FloatPredicate, Intrinsic};

/// What a constrained intrinsic does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strict {
    /// Arithmetic.
    Binary(BinaryOp),
    /// Conversion.
    Cast(CastOp),
    /// Comparison by the predicate that the metadata names.
    Compare,
    /// The intrinsic without `experimental.constrained`.
    Call(Intrinsic),
}

/// The meaning of an intrinsic's name without `llvm.`.
pub(crate) fn strict(name: &str) -> Option<Strict> {
    let name = name.strip_prefix("experimental.constrained.")?;
    Some(match name {
        "fadd" => Strict::Binary(BinaryOp::FAdd),
        "fsub" => Strict::Binary(BinaryOp::FSub),
        "fmul" => Strict::Binary(BinaryOp::FMul),
        "fdiv" => Strict::Binary(BinaryOp::FDiv),
        "frem" => Strict::Binary(BinaryOp::FRem),
        "fptrunc" => Strict::Cast(CastOp::FpTrunc),
        "fpext" => Strict::Cast(CastOp::FpExt),
        "fptosi" => Strict::Cast(CastOp::FpToSi),
        "fptoui" => Strict::Cast(CastOp::FpToUi),
        "sitofp" => Strict::Cast(CastOp::SiToFp),
        "uitofp" => Strict::Cast(CastOp::UiToFp),
        // The signalling one differs in exception flags for quiet NaNs, which these comparisons do not raise
        // either way.
        "fcmp" | "fcmps" => Strict::Compare,
        _ => Strict::Call(Intrinsic::from_name(name)?),
    })
}

/// The text of a metadata string given as an argument.
fn word(arg: ValueRef<'_>) -> Option<String> {
    arg.md_string()
}

/// Whether the operation of a constrained call must keep its place, by its metadata arguments.
pub(crate) fn keeps_place<'m>(metadata: impl Iterator<Item = ValueRef<'m>>) -> bool {
    let (mut ignores, mut dynamic) = (false, false);
    for text in metadata.filter_map(word) {
        ignores |= text == "fpexcept.ignore";
        dynamic |= text.starts_with("round.") && text != "round.tonearest";
    }
    !ignores || dynamic
}

/// The predicate that a metadata argument names.
pub(crate) fn predicate<'m>(mut metadata: impl Iterator<Item = ValueRef<'m>>) -> Option<FloatPredicate> {
    FloatPredicate::from_word(&word(metadata.next()?)?)
}

/// A rounding mode by LLVM's numbers (`FLT_ROUNDS`), from the argument of `llvm.fptrunc.round`.
pub(crate) fn rounding<'m>(mut metadata: impl Iterator<Item = ValueRef<'m>>) -> Option<u64> {
    let text = word(metadata.next()?)?;
    Some(match text.as_str() {
        "round.towardzero" => 0,
        "round.tonearest" => 1,
        "round.upward" => 2,
        "round.downward" => 3,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_mean_operations() {
        assert_eq!(strict("experimental.constrained.fadd"), Some(Strict::Binary(BinaryOp::FAdd)));
        assert_eq!(strict("experimental.constrained.fma"), Some(Strict::Call(Intrinsic::Fma)));
        assert_eq!(strict("experimental.constrained.nonesuch"), None);
        assert_eq!(strict("fma"), None);
    }
}
