//! What differs between generations and processors, as data.

mod counters;
mod encoding;
mod environment;
mod features;
pub mod hazards;
mod limits;
pub(crate) mod messages;
pub mod operands;
mod processors;
pub mod timing;
mod wave;

pub use counters::*;
pub use encoding::*;
pub use environment::*;
pub use features::*;
pub use limits::*;
pub use processors::*;
pub use wave::*;
