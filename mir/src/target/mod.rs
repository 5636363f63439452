//! What differs between generations and processors, as data.

mod counters;
mod encoding;
pub mod hazards;
mod limits;
pub(crate) mod messages;
pub mod operands;
mod processors;
pub mod timing;
mod wave;

pub use counters::*;
pub use encoding::*;
pub use limits::*;
pub use processors::*;
pub use wave::*;
