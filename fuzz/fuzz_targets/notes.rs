//! Runs [`panza_fuzz::notes`] under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| panza_fuzz::notes(bytes));
