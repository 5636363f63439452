//! The machine IR: GCN instructions over virtual, later physical, registers.
//!
//! One [`Function`] type serves from selection to emission; what holds at each stage is checked by
//! the verifier of that stage ([`Stage`]):
//!
//! | stage | registers | control flow |
//! |---|---|---|
//! | selected | virtual, SSA | thread graph only; [`Terminator::Divergent`] allowed |
//! | linear, modelled | virtual, SSA on both graphs | thread graph and wave graph; EXEC written only in block heads and tails |
//! | allocated | physical | the same; parameters gone |
//! | wave | physical | wave graph alone; blocks have no parts any more |
//! | framed | physical | prolog and epilogs are there |
//! | waited | physical | waits are there, mitigations of hazards follow |
//! | final | physical | blocks end in branch instructions; no pseudo instruction is left |
//!
//! # Two graphs
//!
//! A lane follows the *thread graph* ([`BlockData::thread_succs`]), the wave executes the *wave graph*
//! ([`BlockData::wave_succs`], the targets of [`BlockData::term`]). VGPR parameters are passed along thread edges,
//! SGPR parameters along wave edges. A block's instructions are in three parts:
//!
//! ```text
//! insts[..head_len]            sets EXEC for this block           (wave level)
//! insts[head_len..tail_start]  body: VGPR moves may be inserted at its two ends
//! insts[tail_start..]          updates masks and EXEC for what follows   (wave level)
//! term                         wave-level branch
//! ```

mod asm_layout;
mod function;
mod inst;
mod lanes_agree;
mod reg;
mod reg_set;
mod scratch;
mod text;
mod verify;

pub use asm_layout::*;
pub use function::*;
pub use inst::*;
pub use reg::*;
pub use reg_set::RegSet;
pub use scratch::FrameAccess;
pub(crate) use text::parse_functions_at;
pub use text::{parse_function, parse_functions};
pub use verify::{Stage, verify, writes_exec};
