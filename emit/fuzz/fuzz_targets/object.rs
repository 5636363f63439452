//! Any bytes as an object: inspected, disassembled, loaded.
//!
//! `cd emit && cargo +nightly fuzz run object`
#![no_main]

use gcnc_emit_fuzz::readers;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    readers::inspect(bytes);
    readers::disassemble(bytes);
    readers::load(bytes);
});
