//! Any bytes as a GGP message, and the rules that a START among them carries.
//!
//! Nothing may panic, and laying out a message whose parentheses match changes it once at most.

#![no_main]

use std::time::Instant;

use libfuzzer_sys::fuzz_target;
// The names by which the parser's file asks for its neighbours.
use panza::{gdl, player};

// The server keeps its parser to itself, so its file is taken in here.
#[allow(dead_code)]
#[path = "../../src/server/message.rs"]
mod message;

fuzz_target!(|bytes: &[u8]| {
    let text = message::decoded(bytes);
    if let Ok(message::Message::Start(start)) = message::parse(&text, Instant::now()) {
        let (_, diagnostics) = gdl::load_statements(&start.rules, Vec::new());
        for diagnostic in diagnostics.iter().take(50) {
            diagnostic.one_line("START", &start.source);
        }
    }
    if let Ok(once) = gdl::format::format(&text) {
        let twice = gdl::format::format(&once).expect("what was laid out can be laid out again");
        assert_eq!(once, twice, "laying out again changes nothing");
    }
});
