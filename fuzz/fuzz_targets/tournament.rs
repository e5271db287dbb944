//! Runs [`panza_fuzz::tournament`] under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| panza_fuzz::tournament(bytes));
