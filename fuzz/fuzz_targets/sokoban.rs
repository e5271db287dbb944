//! Runs [`panza_fuzz::sokoban`] under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| panza_fuzz::sokoban(bytes));
