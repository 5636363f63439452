//! Machine passes behind allocation: from physical registers to encoded code.
//!
//! One file a pass, in the order in which they run:
//!
//! | pass | does |
//! |---|---|
//! | [`identity_moves`] | removes moves of a register to itself |
//! | [`exec`] | removes and merges EXEC code and empty blocks, now that it is known which moves are real |
//! | [`exec_regions`] | regions of other lanes become writes of EXEC |
//! | [`frame`] | prolog and epilog: frame, saved registers, M0, FLAT_SCRATCH |
//! | [`scratch`] | builds the scratch resource where no system passes it |
//! | [`repeated_moves`] | removes moves of what a register holds already |
//! | [`compares`] | removes comparisons whose answer SCC still holds |
//! | [`vcc_branches`] | lets branches ask VCC for what a comparison of lanes left there |
//! | [`inline_asm`] | assembles inline assembly; what may be moved, long before allocation |
//! | [`waits`] | waits for memory (`s_waitcnt`) |
//! | [`indexed`] | indexed reads and writes of register tuples become indexed moves |
//! | [`hazards`] | `s_nop` and what else keeps dependent instructions apart |
//! | [`clauses`] | puts neighbouring accesses of memory into clauses |
//! | [`registers`] | counts the registers that the code names |
//! | [`blocks`] | folds empty blocks away |
//! | [`pseudos`] | expands what stands for several instructions |
//! | [`branches`] | terminators become branch instructions |
//! | [`align`] | places loops and the first wait where code is fetched in time |
//! | [`encode`] | bytes; islands where branches do not reach |
//! | [`describe`] | descriptor and metadata of a kernel |
//! | [`callgraph`] | adds to kernels what their callees take |
//!
//! Beside them stands [`changes`]: what calls of a function change.
#![forbid(unsafe_code)]

pub mod align;
pub mod blocks;
pub mod branches;
mod callee;
pub mod callgraph;
mod chain;
pub mod changes;
pub mod clauses;
pub mod compares;
pub mod describe;
pub mod encode;
pub mod exec;
pub mod exec_regions;
pub mod frame;
pub mod hazards;
pub mod identity_moves;
pub mod indexed;
pub mod inline_asm;
mod islands;
pub mod latches;
mod live_scalars;
mod m0;
mod narrowing;
pub mod pseudos;
pub mod registers;
pub mod repeated_moves;
pub mod scratch;
pub mod shrink;
mod skips;
pub mod vcc_branches;
pub mod waits;

/// Room that rebuilt code of a block has besides that of what it was: passes behind add branches and some more.
const SPARE: usize = 8;
