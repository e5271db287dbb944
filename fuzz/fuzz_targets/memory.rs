//! Runs [`panza_fuzz::memory`] under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| panza_fuzz::memory(bytes));
