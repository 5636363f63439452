//! What tests, examples and benchmarks share: host programs, reference tools, corpora.
#![forbid(unsafe_code)]

pub mod compare;
pub mod corpus;
pub mod examples;
pub mod gpu;
pub mod half;
pub mod libclc;
pub mod llvm_suite;
pub mod measure;
pub mod piglit;
pub mod random;
pub mod toolchain;
