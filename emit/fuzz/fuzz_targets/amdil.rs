//! Any text as AMDIL's metadata.
//!
//! `cd emit && cargo +nightly fuzz run amdil`
#![no_main]

use gcnc_emit_fuzz::readers;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    readers::amdil(bytes);
});
