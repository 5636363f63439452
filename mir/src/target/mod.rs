//! What differs between generations and processors, as data.

pub mod hazards;
pub(crate) mod messages;
pub mod operands;
mod processors;
mod waits;

pub use processors::*;
pub use waits::*;
