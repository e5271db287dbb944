//! The recipes of CONTRIBUTING.md can be followed, and what is declared once is the same
//! everywhere.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::support::source::rust_files;
use panza_config::{DEFAULT_TOML, KEYS, Kind};
use panza_search::{PARAMETERS, Parameter};

/// The greatest number of steps of each recipe.
const RECIPES: [(&str, usize); 4] = [
    ("Adding a search parameter", 3),
    ("Adding a subcommand", 4),
    ("Adding a setting", 3),
    ("Adding a pass", 4),
];

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The sections of a page, by their titles.
fn sections(page: &str) -> BTreeMap<&str, &str> {
    let sections = page.split("\n## ").skip(1);
    sections.filter_map(|it| it.split_once('\n')).collect()
}

/// What a text has in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn the_recipes_are_short_and_name_files_that_exist() {
    let page = read("CONTRIBUTING.md");
    let sections = sections(&page);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (title, most) in RECIPES {
        let recipe = sections[title];
        let numbered = |line: &&str| {
            line.split_once(". ")
                .is_some_and(|it| it.0.parse::<u8>().is_ok())
        };
        let steps = recipe.lines().filter(numbered).count();
        assert!((1..=most).contains(&steps), "{title}: {steps} steps");
        for path in quoted(recipe).filter(|it| it.contains('/') && !it.contains(' ')) {
            let path = root.join(path);
            let path = match path.ends_with("NAME.rs") {
                true => path.parent().expect("it lies in a folder"),
                false => &path,
            };
            assert!(path.exists(), "{title}: {} is not there", path.display());
        }
    }
}

#[test]
fn a_setting_of_a_parameter_has_a_range_within_the_parameters() {
    let file: toml::Table = DEFAULT_TOML.parse().expect("the file is TOML");
    let mut found = 0;
    for key in KEYS.iter().filter(|key| key.section == "search") {
        let Some(parameter) = Parameter::find(key.name) else {
            continue;
        };
        let (low, high) = match key.kind {
            Kind::Integer { low, high } => (low as f64, high as f64),
            Kind::Number { low, high } => (low, high),
            _ => panic!("{} is a number", key.name),
        };
        let is_whole = matches!(key.kind, Kind::Integer { .. });
        assert_eq!(parameter.is_whole, is_whole, "{}", key.name);
        let value = &file["search"][key.name];
        let value = value.as_float().or(value.as_integer().map(|it| it as f64));
        for value in [low, high, value.expect("it is a number")] {
            assert!(parameter.allows(value), "{}: {value}", key.name);
        }
        found += 1;
    }
    assert_eq!(found, 2);
}

#[test]
fn python_has_the_names_and_defaults_of_the_parameters() {
    let stub = read("python/package/panza_ggp/_native.pyi");
    let methods = read("python/src/game_methods.rs");
    let arguments = stub.lines().filter_map(|line| {
        let (name, rest) = line.trim().trim_end_matches(',').split_once(": ")?;
        let parameter = Parameter::find(name)?;
        Some((parameter, rest.split_once(" = ")?.1))
    });
    let mut found = Vec::new();
    for (Parameter { name, default, .. }, value) in arguments {
        assert!(methods.contains(&format!("{name}={value}")), "{name}");
        // `None` is the weight that the evaluation has by its validation.
        let is_same = value == "None" || value.parse() == Ok(*default as f32);
        assert!(is_same, "{name} = {value}");
        found.push(*name);
    }
    found.sort_unstable();
    found.dedup();
    assert_eq!(found, ["evaluation_share", "exploration"]);
}

#[test]
fn parameters_are_named_in_the_crate_of_the_search_alone_unless_code_sets_them() {
    // The engines of duels and companions read the table: they name no parameter but the one that
    // acts inside a study.
    for file in [
        "lab/src/duel/engine.rs",
        "crates/player/src/companions/shared_search.rs",
    ] {
        let code = read(file);
        for name in PARAMETERS.iter().map(|it| it.name) {
            let is_named = code.contains(&format!("\"{name}\""));
            assert!(
                !is_named || name == "evaluation_share",
                "{file} names {name}"
            );
        }
    }
}

#[test]
fn the_functions_of_an_iteration_exist() {
    let text = read("crates/search/src/lib.rs");
    let doc = text.split("/// A search for one role of one game.").nth(1);
    let doc = doc.and_then(|text| text.split("pub struct Search").next());
    let doc = doc.expect("`Search` is documented");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = rust_files(&root.join("crates/search/src"));
    let code: String = files
        .iter()
        .map(|file| fs::read_to_string(file).expect("the source can be read"))
        .collect();
    let names: Vec<&str> = quoted(doc).filter(|it| !it.contains("::")).collect();
    assert!(names.len() >= 10, "{names:?}");
    for name in names {
        let is_there = code.contains(&format!("fn {name}("));
        assert!(is_there, "no function `{name}`");
    }
}
