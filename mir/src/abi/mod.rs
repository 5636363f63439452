//! Binary interfaces of code objects: kernel arguments, kernel descriptors, metadata.

pub mod call;
pub mod descriptor;
pub mod kernarg;
pub mod metadata;
pub mod shader;

pub use descriptor::KernelDescriptor;
pub use metadata::Metadata;
