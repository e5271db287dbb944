//! Runs [`panza_fuzz::settings`] under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| panza_fuzz::settings(bytes));
