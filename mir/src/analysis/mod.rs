//! Analyses of control flow and liveness over any graph of blocks.
//!
//! Problem: the IR has one control-flow graph, machine functions have two (see [`crate::machine`]), and both need
//! orders, dominators, loops and liveness. Idea: every analysis works on [`Graph`], dense `u32` nodes with successor and
//! predecessor lists; [`Csr`] is such a graph, copied once from a function. Node numbers are the entity numbers of the
//! blocks, so results index directly by block.
//!
//! | analysis | answers | cost |
//! |---|---|---|
//! | [`Order`] | reverse post-order; with loops contiguous | linear |
//! | [`Dominators`] | immediate dominators, `dominates` in O(1); post-dominators over [`Csr::reversed`] | n log n |
//! | [`Loops`] | forest of natural loops, depth, exits, latches; whether cycles have one entry | near linear |
//! | [`Reaching`] | SSA form of a variable with several definitions | near linear in definitions, meeting points and uses |
//! | [`Classes`] | which numbers have been joined | a logarithm for each question |
//! | [`Uniformity`] | which values and branches of IR differ between lanes | linear |
//! | [`leading_zeros`] | how many high bits of a number are zeros | a few producers |
//!
//! Nothing here recurses as deep as its input: kernels with tens of thousands of nested blocks exist.

mod classes;
mod dominators;
mod graph;
mod leading_zeros;
mod loops;
mod order;
mod reaching;
mod uniformity;

pub use classes::Classes;
pub use dominators::Dominators;
pub use graph::{Csr, Graph};
pub use leading_zeros::leading_zeros;
pub use loops::{Loop, LoopData, Loops};
pub use order::Order;
pub use reaching::{Reaching, ReachingSolver, Solution};
pub use uniformity::Uniformity;
