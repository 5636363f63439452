//! What differs between generations and processors, as data.

mod processors;

pub use processors::*;
