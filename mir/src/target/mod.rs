//! What differs between generations and processors, as data.

mod encoding;
pub mod hazards;
mod limits;
pub mod messages;
pub mod operands;
mod processors;
mod waits;

pub use encoding::*;
pub use limits::*;
pub use processors::*;
pub use waits::*;
