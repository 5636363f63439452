//! Arbitrary bytes through decoder, printer and encoder: `cd mir && cargo +nightly fuzz run decode`.

#![no_main]

#[path = "../../tests/common/property.rs"]
mod property;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| property::any_bytes(bytes));
