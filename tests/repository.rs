//! Tests of the repository as a whole: its documentation, the order of its parts, and the readers
//! of outside text on mutated seeds.
//!
//! They are not in one binary with the tests of the program, so that they do not take processor
//! time from a clock that runs there.

mod support {
    pub mod imports;
    pub mod source;
}

mod config_docs;
mod fuzzed;
mod glossary;
mod layering;
mod line_width;
mod protocol_docs;
mod readmes;
mod recipes;
mod test_table;
