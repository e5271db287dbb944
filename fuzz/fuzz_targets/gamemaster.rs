//! Runs [`panza_fuzz::gamemaster`] under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| panza_fuzz::gamemaster(bytes));
