//! Runs [`panza_fuzz::editor`] under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| panza_fuzz::editor(bytes));
