//! Any text as assembly.
//!
//! `cd emit && cargo +nightly fuzz run assembly`
#![no_main]

use gcnc_emit_fuzz::readers;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    readers::assemble(bytes);
});
