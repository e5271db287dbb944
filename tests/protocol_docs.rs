//! Every row of `docs/protocol.md` names tests that exist.

use crate::support::source::{Token, rust_files, tokens};
use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// The last cells of the rows of all tables whose last column is `test`.
fn last_cells(page: &str) -> Vec<&str> {
    let mut cells = Vec::new();
    let mut names_tests = false;
    for line in page.lines() {
        let Some(row) = line
            .strip_prefix("| ")
            .and_then(|row| row.strip_suffix(" |"))
        else {
            // The line below the heads begins with a bar too.
            names_tests &= line.starts_with('|');
            continue;
        };
        let cell = row.rsplit(" | ").next().unwrap_or(row);
        if cell == "test" {
            names_tests = true;
        } else if names_tests {
            cells.push(cell);
        }
    }
    cells
}

/// The functions of a file with the attribute `#[test]`.
fn tests_of(code: &[Token]) -> Vec<&str> {
    let words = ["#", "[", "test", "]", "fn"];
    code.windows(words.len() + 1)
        .filter(|window| {
            words
                .iter()
                .zip(*window)
                .all(|(word, token)| token.text == *word)
        })
        .filter_map(|window| window.last().map(|name| name.text.as_str()))
        .collect()
}

#[test]
fn every_situation_names_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut names = HashSet::new();
    for folder in ["crates", "src", "tests"] {
        for file in rust_files(&root.join(folder)) {
            let text = fs::read_to_string(&file).expect("the source can be read");
            names.extend(tests_of(&tokens(&text)).into_iter().map(String::from));
        }
    }
    let page = fs::read_to_string(root.join("docs/protocol.md")).expect("the page can be read");
    let cells = last_cells(&page);
    assert!(cells.len() >= 30, "only {} rows", cells.len());
    let mut faults = Vec::new();
    for cell in cells {
        for name in cell.split(", ") {
            let name = name.trim_matches('`');
            if !names.contains(name) {
                faults.push(format!("there is no test `{name}`"));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn cells_and_tests_are_found() {
    let page = "| a | b |\n|---|---|\n| `x` | `no_test` |\n\n| a | test |\n|---|---|\n| 1 | `x`, `y` |\n| 2 | `z` |\n";
    assert_eq!(last_cells(page), ["`x`, `y`", "`z`"]);
    let code = "#[test]\nfn one() {}\nfn two() {} #[test] fn three() {}";
    assert_eq!(tests_of(&tokens(code)), ["one", "three"]);
}
