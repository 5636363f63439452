//! Any bytes as a code object: loading gives an error or an object, and each of its kernels runs to some end in little time and memory.
//!
//! `cd sim && cargo +nightly fuzz run load`
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    sim::robustness::check(bytes);
});
