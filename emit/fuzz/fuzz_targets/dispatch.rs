//! Any text as a description of a dispatch.
//!
//! `cd emit && cargo +nightly fuzz run dispatch`
#![no_main]

use gcnc_emit_fuzz::readers;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    readers::dispatch(bytes);
});
