//! Runs [`panza_fuzz::rules`] under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| panza_fuzz::rules(bytes));
