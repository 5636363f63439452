//! Binary interfaces of code objects: kernel arguments, kernel descriptors, metadata.

pub mod kernarg;
