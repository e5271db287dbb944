//! The glossary of `docs/glossary.md` and the code use the same terms.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::source::crates;

/// A row of the glossary.
struct Entry {
    term: String,
    /// Paths of modules, such as `search::graph`: the name of a crate, or `lab`, and modules in it.
    modules: Vec<String>,
}

/// The rows of the tables of the page: term, meaning, modules.
fn glossary(page: &str) -> Vec<Entry> {
    let rows = page.lines().filter(|line| line.starts_with("| "));
    rows.filter(|line| !line.starts_with("| term |"))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let [term, _, modules] = cells[..] else {
                panic!("a row of the glossary has three cells: {line}");
            };
            let modules = modules
                .split(", ")
                .map(|module| module.trim_matches('`').to_string());
            Entry {
                term: term.to_string(),
                modules: modules.collect(),
            }
        })
        .collect()
}

/// The words of a text in lower case; `virtualLoss`, `VirtualLoss` and `virtual_loss` are two
/// words.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    for c in text.chars() {
        let is_start = c.is_uppercase() && !before.is_uppercase();
        if (is_start || !c.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Whether `words` has the words of `term` in a row, the last one perhaps in the plural. How the
/// letters are divided into words does not matter: `relu` is `ReLU`.
fn contains(words: &[String], term: &[String]) -> bool {
    let term = term.concat();
    (0..words.len()).any(|start| {
        let mut rest = term.as_str();
        for word in &words[start..] {
            match rest.strip_prefix(word.as_str()) {
                Some("") => return true,
                Some(after) => rest = after,
                None => {
                    return word
                        .strip_prefix(rest)
                        .is_some_and(|end| matches!(end, "s" | "es"));
                }
            }
        }
        false
    })
}

/// The file of a module, or the files in its folder.
fn files_of(module: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let inner = module.replace("::", "/");
    let (name, inner) = inner.split_once('/').unwrap_or((&inner, ""));
    let folder = match name {
        "lab" => Some("lab".to_string()),
        _ => crates().remove(name),
    };
    let Some(folder) = folder else {
        return Vec::new();
    };
    // The front page of a crate's documentation is its README.
    let readme = inner
        .is_empty()
        .then(|| root.join(&folder).join("README.md"));
    let paths = vec![root.join(folder).join("src").join(inner)];
    let mut files: Vec<PathBuf> = paths.iter().map(|path| path.with_extension("rs")).collect();
    files.extend(readme);
    let mut folders = paths;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.retain(|file| file.is_file() && file.file_stem().is_some_and(|stem| stem != "tests"));
    files
}

#[test]
fn every_term_of_the_glossary_occurs_in_its_modules() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/glossary.md");
    let page = fs::read_to_string(page).expect("the glossary can be read");
    let entries = glossary(&page);
    assert!(entries.len() >= 80, "only {} terms", entries.len());
    let mut faults = Vec::new();
    for Entry { term, modules } in &entries {
        // A term may have other names in parentheses.
        let names: Vec<Vec<String>> = term
            .split(['(', ')', ','])
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(words)
            .collect();
        for module in modules {
            let files = files_of(module);
            if files.is_empty() {
                faults.push(format!("{term}: there is no module `{module}`"));
                continue;
            }
            let text = files
                .iter()
                .map(|file| fs::read_to_string(file).expect("source is text"));
            let text: Vec<Vec<String>> = text.map(|text| words(&text)).collect();
            for name in &names {
                if !text.iter().any(|words| contains(words, name)) {
                    faults.push(format!("{}: does not occur in `{module}`", name.join(" ")));
                }
            }
        }
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn words_are_found_in_any_spelling() {
    let text =
        words("let virtual_loss = VirtualLoss(1); // the mutex groups, first-play urgency, relu");
    for term in ["ReLU", "virtual loss", "mutex group", "first-play urgency"] {
        assert!(contains(&text, &words(term)), "{term}");
    }
    for term in ["group first play", "mutex grou", "loss function"] {
        assert!(!contains(&text, &words(term)), "{term}");
    }
}
