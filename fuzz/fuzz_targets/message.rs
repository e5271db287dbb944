//! Runs [`panza_fuzz::message`] under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| panza_fuzz::message(bytes));
