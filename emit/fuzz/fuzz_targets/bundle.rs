//! Any bytes as a bundle.
//!
//! `cd emit && cargo +nightly fuzz run bundle`
#![no_main]

use gcnc_emit_fuzz::readers;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    readers::bundles(bytes);
    readers::text_bundle(bytes);
});
