//! Runs [`panza_fuzz::logs`] under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| panza_fuzz::logs(bytes));
