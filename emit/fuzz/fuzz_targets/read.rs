//! Any bytes as a file: inspecting and disassembling it ends, with a report and with text or an error.
//!
//! `cd emit && cargo +nightly fuzz run read`
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = emit::inspect::inspect(bytes).to_string();
    let _ = emit::disassemble(bytes);
});
