//! Binary interfaces of code objects: kernel arguments, kernel descriptors, metadata.

pub mod amdil;
pub mod call;
pub mod call_graph;
pub mod descriptor;
pub mod document;
pub mod float_mode;
pub mod kernarg;
pub mod kernel_code;
pub mod lds;
pub mod metadata;
pub mod metadata_v2;
pub mod sampler;
pub mod schema;
pub mod shader;

pub use descriptor::KernelDescriptor;
pub use document::Document;
pub use float_mode::FloatMode;
pub use kernel_code::KernelCode;
pub use metadata::Metadata;
