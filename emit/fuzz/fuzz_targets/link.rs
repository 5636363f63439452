//! Any bytes as the linker's input.
//!
//! `cd emit && cargo +nightly fuzz run link`
#![no_main]

use gcnc_emit_fuzz::readers;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    readers::link_alone(bytes);
});
