//! `config/default.toml`, the table of keys, and the code that reads the settings agree.
//!
//! The comments of the file are compared with the table that checks the values, and every setting
//! is read somewhere.

use crate::support::source::{Token, rust_files, source_folders, tokens, without_tests};
use panza_config::{DEFAULT_TOML, KEYS, Key, Kind, Settings};
use std::fs;
use std::path::{Path, PathBuf};
use toml::Table;

/// The lines of `text` above the line `name = ...` of `[section]`, back to the
/// next line that is no comment; `None` if there is no such key.
fn comment_of(text: &str, key: &Key) -> Option<Vec<String>> {
    let mut section = "";
    let mut comment = Vec::new();
    for line in text.lines() {
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
            comment.clear();
        } else if let Some(words) = line.strip_prefix('#') {
            comment.push(words.trim().to_string());
        } else if let Some((name, _)) = line.split_once('=')
            && section == key.section
            && name.trim() == key.name
        {
            return Some(comment);
        } else {
            comment.clear();
        }
    }
    None
}

/// What the comment of a key lacks.
fn comment_faults(text: &str, key: &Key) -> Vec<String> {
    let dotted = key.dotted();
    let Some(comment) = comment_of(text, key) else {
        return vec![format!("`{dotted}` is missing")];
    };
    let mut faults = Vec::new();
    let range = format!("Unit: {}. Range: {}.", key.unit, key.kind.range());
    if comment.last() != Some(&range) {
        faults.push(format!(
            "the comment of `{dotted}` does not end with: {range}"
        ));
    }
    let wanted: &[&str] = match key.kind {
        // A seed is a number without a more or less.
        Kind::Integer { .. } if key.name == "seed" => &[],
        Kind::Integer { .. } | Kind::Number { .. } => &["Higher: ", "Lower: "],
        Kind::Flag => &["True: ", "False: "],
        Kind::Word { .. }
        | Kind::Text { .. }
        | Kind::Address
        | Kind::AddressOrNone
        | Kind::Networks
        | Kind::HostNames
        | Kind::Origins
        | Kind::Secret
        | Kind::Folders
        | Kind::Choice(_) => &[],
    };
    let words = comment.join(" ");
    for wanted in wanted.iter().filter(|wanted| !words.contains(**wanted)) {
        faults.push(format!(
            "the comment of `{dotted}` says nothing after `{wanted}`"
        ));
    }
    if comment.len() < 2 {
        faults.push(format!("the comment of `{dotted}` does not say what it is"));
    }
    faults
}

#[test]
fn every_key_is_documented_with_the_range_that_is_checked() {
    let faults: Vec<String> = KEYS
        .iter()
        .flat_map(|key| comment_faults(DEFAULT_TOML, key))
        .collect();
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn an_incomplete_comment_is_a_fault() {
    let key = &Key {
        section: "search",
        name: "threads",
        unit: "threads",
        kind: Kind::Integer { low: 0, high: 9 },
    };
    let good =
        "[search]\n# What.\n# Higher: a. Lower: b.\n# Unit: threads. Range: 0 to 9.\nthreads = 1\n";
    assert_eq!(comment_faults(good, key), Vec::<String>::new());
    let range = good.replace("to 9", "to 8");
    assert_eq!(
        comment_faults(&range, key),
        ["the comment of `search.threads` does not end with: Unit: threads. Range: 0 to 9."]
    );
    let lower = good.replace("Lower: b.", "");
    assert_eq!(
        comment_faults(&lower, key),
        ["the comment of `search.threads` says nothing after `Lower: `"]
    );
    let elsewhere = good.replace("[search]", "[server]");
    assert_eq!(
        comment_faults(&elsewhere, key),
        ["`search.threads` is missing"]
    );
    let apart = good.replace("threads = 1", "\nthreads = 1");
    assert_eq!(comment_faults(&apart, key).len(), 4);
}

/// The dotted keys of a settings file, sorted.
fn keys_of(text: &str) -> Vec<String> {
    let table: Table = text.parse().expect("the file is TOML");
    let mut keys: Vec<String> = table
        .iter()
        .flat_map(|(section, content)| {
            let content = content.as_table().expect("a section is a table");
            content.keys().map(move |name| format!("{section}.{name}"))
        })
        .collect();
    keys.sort();
    keys
}

#[test]
fn the_file_the_table_and_the_structs_have_the_same_keys() {
    let settings = Settings::load(None, &[]).expect("the defaults are right");
    let mut in_table: Vec<String> = KEYS.iter().map(Key::dotted).collect();
    in_table.sort();
    assert_eq!(keys_of(DEFAULT_TOML), in_table);
    assert_eq!(keys_of(&settings.to_toml()), in_table);
}

#[test]
fn the_overlays_load_and_change_something() {
    let defaults = Settings::load(None, &[]).expect("the defaults are right");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("config");
    let mut overlays = 0;
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the folder can be read").path();
        // What else lies there: a tournament, and its results once it is played.
        let is_other = path.ends_with("example-tournament.toml") || path.ends_with("Cargo.toml");
        if is_other || path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        let settings = Settings::load(Some(&path), &[]).unwrap_or_else(|error| panic!("{error}"));
        if path.ends_with("default.toml") {
            assert_eq!(settings, defaults);
        } else {
            assert_ne!(settings, defaults, "{}", path.display());
            overlays += 1;
        }
    }
    assert!(overlays >= 2, "{overlays} overlays");
}

/// Whether `code` reads the setting: it says `section.field`, or it names the
/// struct of the section and says `.field` or takes the struct apart.
fn reads(code: &[Token], key: &Key) -> bool {
    // A field of a time has it in its type and not in its name.
    let field = key.name.trim_end_matches("_seconds");
    let text = |at: usize| code.get(at).map_or("", |token| token.text.as_str());
    let section_type = match key.section {
        "server" => "ServerSettings",
        "player" => "PlayerSettings",
        "search" => "SearchSettings",
        "metagame" => "MetagameSettings",
        "logs" => "LogSettings",
        "memory" => "MemorySettings",
        "games" => "GameSettings",
        other => panic!("add the struct of the section {other}"),
    };
    let has_type = code.iter().any(|token| token.text == section_type);
    (0..code.len()).any(|at| {
        text(at) == field
            && match at.checked_sub(1).map_or("", text) {
                "." => has_type || (at >= 2 && text(at - 2) == key.section),
                "{" | "," => has_type && matches!(text(at + 1), "," | "}" | ":"),
                _ => false,
            }
    })
}

/// The code of every file but those of `config`, without tests.
fn code_outside_config() -> Vec<Vec<Token>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = source_folders().into_iter();
    let files: Vec<PathBuf> = folders
        .flat_map(|folder| rust_files(&root.join(folder)))
        .collect();
    files
        .iter()
        .filter(|file| !file.starts_with(root.join("config")))
        .map(|file| {
            let text = fs::read_to_string(file).expect("the source can be read");
            without_tests(&tokens(&text)).0
        })
        .collect()
}

#[test]
fn every_setting_is_read_somewhere() {
    let code = code_outside_config();
    let unread: Vec<String> = KEYS
        .iter()
        .filter(|key| !code.iter().any(|code| reads(code, key)))
        .map(Key::dotted)
        .collect();
    assert!(unread.is_empty(), "nothing reads {}", unread.join(", "));
}

#[test]
fn a_read_is_distinguished_from_a_mention() {
    let threads = KEYS.iter().find(|key| key.dotted() == "search.threads");
    let margin = KEYS
        .iter()
        .find(|key| key.dotted() == "player.margin_seconds");
    let (threads, margin) = (threads.expect("a key"), margin.expect("a key"));
    for text in [
        "f(settings.search.threads)",
        "settings\n    .search\n    .threads",
        "fn f(s: &SearchSettings) { s.threads }",
        "let SearchSettings { seed, threads } = s;",
        "let SearchSettings { threads: n, .. } = s;",
    ] {
        assert!(reads(&tokens(text), threads), "{text}");
    }
    for text in [
        "// settings.search.threads",
        "\"search.threads=4\"",
        "settings.other.threads",
        "let threads = 3; f(threads)",
        "settings.search.threads_more",
    ] {
        assert!(!reads(&tokens(text), threads), "{text}");
    }
    assert!(reads(&tokens("settings.player.margin"), margin));
}
