//! Any bytes as metadata, MessagePack and YAML.
//!
//! `cd emit && cargo +nightly fuzz run metadata`
#![no_main]

use gcnc_emit_fuzz::readers;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    readers::metadata(bytes);
    readers::yaml(bytes);
});
