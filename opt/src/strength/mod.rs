//! Strength reduction in straight lines: what is the same but for one more step is made from it by adding that.
//!
//! Programs have such values where a loop was unrolled, and where they were written so: rows of a tile, planes of an image.
//!
//! * [`factors`]: `s * (x + 1)` is `s * x + s`; addresses at such indices are one step behind each other.
//! * [`steps`]: an address at `i + s` is the one at `i` and a step.
//! * [`sums`]: `y + 2 * s` is `(y + s) + s`.
//! * [`multiples`]: so with addresses at multiples of 64 bits, in front of legalisation.
//!
//! Source of the idea: LLVM's `StraightLineStrengthReduce`. Cost: a look-up for each product, each sum of one, and each address at one.

mod factors;
mod multiples;
mod steps;
mod sums;

pub use multiples::chain_multiples;

use mir::ir::Function;
use mir::target::Target;

/// Steps apart that are looked at: earlier values of the same step.
const MOST: usize = 4;

/// Reduces products, sums and addresses of `func`, which is legal IR.
pub fn reduce(func: &mut Function, target: &Target) {
    factors::reduce(func, target);
    steps::reduce(func, target);
    sums::reduce(func);
}
