//! Passes over IR: from the faithful IR that `frontend` reads to the *legal* IR that selection accepts.
//!
//! One module a pass; the compiler's list of passes has their order. [`legalize`] is the large one: a
//! rebuilding walk over a function that settles types, memory accesses and expansions, and folds and shares
//! as it goes. `docs/design.md` defines legal IR, [`mir::ir::legal`] the details. Once the module is prepared
//! ([`printf`], [`variadic`], [`inline`]), functions are independent of each other until [`callgraph`]. Every pass is
//! linear, or nearly so, in the code that it leaves.
#![forbid(unsafe_code)]

mod addends;
mod address_space;
pub mod alignment;
mod append;
pub mod bits;
pub mod branches;
mod builder;
mod builtins;
pub mod callgraph;
mod cfg;
pub mod chosen_elements;
pub mod constant_branches;
pub mod dce;
pub mod dereferenceable;
pub mod flatten;
mod flow;
pub mod fold;
pub mod generic;
pub mod gvn;
pub mod induction;
pub mod inline;
pub mod join_arguments;
pub mod join_branches;
pub mod lane_barriers;
pub mod lane_masks;
pub mod late_loads;
pub mod launch_loads;
pub mod legalize;
pub mod licm;
mod memory;
pub mod merge_memory;
pub mod narrow;
pub mod no_clobber;
mod origin;
pub mod pack_bytes;
pub mod pack_halves;
mod pack_indexed;
mod params;
pub mod pipeline_loads;
pub mod printf;
pub mod products;
pub mod promote;
pub mod reducible;
pub mod share_stack;
pub mod shared_addresses;
pub mod sink;
pub mod strength;
pub mod unfold_selects;
pub mod uniform_bases;
pub mod unroll;
pub mod unused_elements;
pub mod variadic;
pub mod waterfall;
pub mod wave_atomics;
pub mod work_group_size;
