//! Runs [`panza_fuzz::http`] under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| panza_fuzz::http(bytes));
