//! Runs [`panza_fuzz::results`] under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| panza_fuzz::results(bytes));
