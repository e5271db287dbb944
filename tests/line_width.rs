//! No line of the source is longer than 100 columns, except for string literals and tables.

use std::fs;
use std::path::Path;

use crate::support::source::{rust_files, string_literals};

const MAX_COLUMNS: usize = 100;

/// The numbers of the lines that are too long, counted from 1.
fn long_lines(text: &str) -> Vec<usize> {
    let literals = string_literals(text);
    let mut start = 0;
    let mut found = Vec::new();
    for (index, line) in text.split('\n').enumerate() {
        let range = start..start + line.len();
        start = range.end + 1;
        let is_literal = literals
            .iter()
            .any(|literal| literal.start < range.end && range.start < literal.end);
        let is_table = line.trim_start_matches([' ', '/', '!']).starts_with('|');
        if line.chars().count() > MAX_COLUMNS && !is_literal && !is_table {
            found.push(index + 1);
        }
    }
    found
}

#[test]
fn lines_have_at_most_100_columns() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut faults = Vec::new();
    for folder in [
        "crates", "src", "lab", "python", "tests", "examples", "cluster",
    ] {
        for file in rust_files(&root.join(folder)) {
            let text = fs::read_to_string(&file).expect("the source can be read");
            for line in long_lines(&text) {
                faults.push(format!("{}:{line}", file.display()));
            }
        }
    }
    assert!(faults.is_empty(), "too long:\n{}\n", faults.join("\n"));
}

#[test]
fn string_literals_and_tables_may_be_longer() {
    let long = "x".repeat(100);
    assert_eq!(long_lines(&format!("fn a() {{}}\n// {long}\n")), [2]);
    assert_eq!(long_lines(&format!("let {long};")), [1]);
    assert!(long_lines(&format!("let a = \"{long}\";\nlet b = \"\n{long}\n\";")).is_empty());
    assert!(long_lines(&format!("//! | {long} |")).is_empty());
}
