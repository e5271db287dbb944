//! What `panza check` says of rulesheets as people bring them, which lie beside the project in
//! `../shared/field`. Nothing is tested where that folder is missing.

use std::path::Path;

use serde_json::Value;

use crate::ROOT;
use crate::support::program::{objects, run, text};

/// Each file, and the severities, codes and lines of what there is to say of it.
const RULESHEETS: [(&str, &[&str]); 13] = [
    ("gdl/bom_utf8.gdl", &[]),
    ("gdl/latin1_symbols.gdl", &["note not-utf8 3"]),
    ("gdl/role_rule.gdl", &["error role-by-rule 1"]),
    ("gdl/role_fact_and_rule.gdl", &["error role-by-rule 2"]),
    (
        "gdl/not_arity.gdl",
        &[
            "error wrong-operand-count 3",
            "error wrong-operand-count 4",
            "error wrong-operand-count 5",
        ],
    ),
    ("gdl/base_small.gdl", &[]),
    (
        "gdl/unstratified.gdl",
        &["error unstratified 3", "error unstratified 4"],
    ),
    ("gdl/gdl2.gdl", &["note hidden-information 8"]),
    (
        "gdl/mixed_case.gdl",
        &["warning unproduced-fact 3", "warning unknown-role 6"],
    ),
    ("gdl/block_comment.gdl", &["warning block-comment 4"]),
    ("hrf/textbook.hrf", &[]),
    ("hrf/dots.hrf", &[]),
    ("hrf/bom2.hrf", &[]),
];

fn path(name: &str) -> Option<String> {
    let path = Path::new(ROOT).join("../shared/field").join(name);
    path.exists().then(|| path.display().to_string())
}

#[test]
fn rulesheets_as_people_bring_them_are_judged_right() {
    for (name, expected) in RULESHEETS {
        let Some(path) = path(name) else { continue };
        let is_error = expected.iter().any(|it| it.starts_with("error"));
        let found = found(&["check", &path, "--no-play"], i32::from(is_error));
        assert_eq!(found, expected, "{name}");
    }
}

/// Severities, codes and lines of what a command says.
fn found(arguments: &[&str], status: i32) -> Vec<String> {
    let object = objects(arguments, status).remove(0);
    let found = object["diagnostics"].as_array().unwrap().iter();
    let shown = |it: &Value| {
        let word = |key: &str| it[key].as_str().unwrap().to_string();
        format!("{} {} {}", word("severity"), word("code"), it["line"])
    };
    found.map(shown).collect()
}

#[test]
fn rulesheets_as_people_bring_them_are_played() {
    for (name, status, expected) in [
        ("gdl/base_small.gdl", 0, "note outside-input 3"),
        ("gdl/base_small.gdl", 0, "note outside-base 2"),
        ("gdl/no_legal.gdl", 1, "error no-legal-move 1"),
        ("gdl/goals_partial.gdl", 1, "error no-goal 1"),
    ] {
        let Some(path) = path(name) else { continue };
        let found = found(&["check", &path], status);
        assert!(found.iter().any(|it| it == expected), "{name}: {found:?}");
    }
}

#[test]
fn the_same_rules_in_other_clothes_are_converted_alike() {
    let kif = |name: &str| Some(text(&run(&["convert", &path(name)?, "--to", "kif"]).stdout));
    let plain = kif("hrf/ok.hrf");
    assert_eq!(kif("hrf/dots.hrf"), plain);
    assert_eq!(kif("hrf/bom2.hrf"), plain);
    if let Some(textbook) = path("hrf/textbook.hrf") {
        for to in ["kif", "hrf"] {
            let output = run(&["convert", &textbook, "--to", to]);
            assert!(output.status.success(), "{}", text(&output.stderr));
        }
    }
    if let Some(latin1) = path("gdl/latin1_symbols.gdl") {
        let nodes = &objects(&["perft", &latin1, "--depth", "1"], 0)[0]["nodes"];
        assert_eq!(nodes, 2);
    }
}
