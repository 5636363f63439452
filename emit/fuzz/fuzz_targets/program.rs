//! Any text as a program at some stage of the compiler.
//!
//! `cd emit && cargo +nightly fuzz run program`
#![no_main]

use gcnc_emit_fuzz::readers;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    readers::program(bytes);
});
