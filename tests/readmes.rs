//! The README of each crate is its documentation: short, with an example that `cargo test` runs,
//! and without commands, files and names that do not exist.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::source::{crates, rust_files};

const MAX_LINES: usize = 25;
/// They describe the files of their folders, or an interface, too.
const LONGER: [&str; 3] = ["gdl-games", "log-viewer", "wasm"];
/// What stands before the name of an item in its definition.
const KINDS: [&str; 9] = [
    "fn", "async fn", "struct", "enum", "trait", "mod", "const", "static", "type",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of a package from its name.
fn folder_of(package: &str) -> Option<PathBuf> {
    let folders = crates();
    match package.strip_prefix("panza-")? {
        "ggp" => Some(root()),
        "lab" => Some(root().join("lab")),
        name => folders.get(name).map(|folder| root().join(folder)),
    }
}

/// What the text quotes outside of blocks of code.
fn quoted(text: &str) -> Vec<String> {
    let outside: String = text.split("```").step_by(2).collect();
    let spans = outside.split('`').skip(1).step_by(2);
    spans.map(|span| span.replace('\n', " ")).collect()
}

/// The word after `option` in a command.
fn argument<'a>(words: &[&'a str], option: &str) -> Option<&'a str> {
    let place = words.iter().position(|word| *word == option)?;
    words.get(place + 1).copied()
}

/// Whether a command of Cargo names a package, an example and files that exist.
fn is_command(command: &str) -> bool {
    let words: Vec<&str> = command.split_whitespace().collect();
    let package = argument(&words, "-p").unwrap_or("panza-ggp");
    let Some(folder) = folder_of(package) else {
        return false;
    };
    let example = argument(&words, "--example");
    let file = example.map(|name| folder.join("examples").join(format!("{name}.rs")));
    let paths = words.iter().filter(|word| word.contains('/'));
    file.is_none_or(|file| file.exists())
        && paths.into_iter().all(|path| root().join(path).exists())
}

/// Whether every part of the path of an item is defined in the crate, or it is one of its examples.
fn is_item(folder: &Path, path: &str) -> bool {
    let files = rust_files(&folder.join("src"));
    let sources: Vec<String> = files
        .iter()
        .map(|file| fs::read_to_string(file).expect("the source can be read"))
        .collect();
    let is_defined = |name: &str| {
        KINDS.iter().any(|kind| {
            let definition = format!("pub {kind} {name}");
            let mut after = sources
                .iter()
                .flat_map(|source| source.split(&definition).skip(1));
            after.any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        })
    };
    path.split("::").all(is_defined) || folder.join("examples").join(format!("{path}.rs")).exists()
}

/// Whether what a README quotes exists, as far as its form tells what it is.
fn exists(folder: &Path, quote: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    if quote.starts_with("cargo ") {
        is_command(quote)
    } else if quote.starts_with("panza-") {
        folder_of(quote).is_some()
    } else if quote.ends_with(".toml") || (quote.contains('/') && !quote.starts_with('/')) {
        let is_file = |from: &Path| from.join(quote).exists();
        quote.contains([' ', '<']) || is_file(&root()) || is_file(folder)
    } else {
        !quote.chars().all(is_word) || is_item(folder, quote)
    }
}

#[test]
fn the_readme_of_a_crate_is_short_and_has_an_example() {
    for (name, folder) in crates() {
        let text = fs::read_to_string(root().join(folder).join("README.md"));
        let text = text.expect("it has a README");
        let n_lines = text.lines().count();
        assert!(
            n_lines <= MAX_LINES || LONGER.contains(&name.as_str()),
            "{name}: {n_lines} lines"
        );
        for needed in ["# ", "```rust\n", "Entry point", "API boundary: "] {
            assert!(text.contains(needed), "{name}: no {needed:?}");
        }
    }
}

#[test]
fn what_the_readme_of_a_crate_names_exists() {
    let mut n_checked = 0;
    for (name, folder) in crates() {
        let folder = root().join(folder);
        let text = fs::read_to_string(folder.join("README.md")).expect("it has a README");
        let from = match LONGER.contains(&name.as_str()) {
            true => text.find("Entry point").expect("it has an entry point"),
            false => 0,
        };
        let to = text[from..].find("API boundary").map(|to| from + to);
        let quotes = quoted(&text[from..to.expect("it says so")]);
        let missing: Vec<&String> = quotes.iter().filter(|it| !exists(&folder, it)).collect();
        assert!(missing.is_empty(), "{name}: {missing:?}");
        n_checked += quotes.len();
    }
    assert!(n_checked > 60, "{n_checked} quotes");
}

#[test]
fn what_does_not_exist_is_found() {
    let search = root().join("crates/search");
    for good in [
        "cargo run --release -p panza-search --example position -- gdl-games/connectFour.gdl",
        "Search::new",
        "panza-game",
        "scripts/loom",
        "position",
    ] {
        assert!(exists(&search, good), "{good}");
    }
    for bad in [
        "cargo run -p panza-ggp-machine --example playouts",
        "cargo run -p panza-search --example positions",
        "cargo run -p panza-search --example position -- games/connectFour.gdl",
        "Searching::new",
        "panza-rules",
        "scripts/looms",
    ] {
        assert!(!exists(&search, bad), "{bad}");
    }
}
