//! Runs [`panza_fuzz::hrf`] under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| panza_fuzz::hrf(bytes));
