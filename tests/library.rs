//! Tests of the library in its own process: rules, networks, engines, analysis and search.
//!
//! One binary for many files, since every test binary links the whole crate again.

mod support {
    pub mod chances;
    pub mod compare;
    pub mod corpus;
    pub mod imports;
    pub mod renamed;
    pub mod source;
}

mod analyse;
mod config_docs;
mod decisive;
mod engines;
mod factors;
mod fuzzed;
mod glossary;
mod ground_limits;
mod hrf;
mod layering;
mod line_width;
mod parser_limits;
mod passes;
mod properties;
mod protocol_docs;
mod prover_rules;
mod relaxation;
mod signature;
mod simultaneous;
mod sokoban;
mod structure_in_search;
