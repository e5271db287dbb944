//! What the program says of files as people bring them. Some lie beside the project in
//! `../shared/field`; what is about these is not tested where that folder is missing.

use std::path::Path;

use serde_json::Value;

use crate::ROOT;
use crate::support::program::{file, objects, run, text};

/// Each file, and the severities, codes and lines of what there is to say of it.
const RULESHEETS: [(&str, &[&str]); 19] = [
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
    ("hrf/hrf_role_variable.hrf", &["error role-by-rule 1"]),
    ("hrf/kif_named.hrf", &["error not-hrf 1"]),
    (
        "drafted/arithmetic.gdl",
        &["error no-arithmetic 7", "error no-arithmetic 10"],
    ),
    (
        "drafted/arrow_reversed.gdl",
        &[
            "error reversed-arrow 5",
            "error reversed-arrow 6",
            "error reversed-arrow 7",
            "error reversed-arrow 8",
            "error reversed-arrow 9",
        ],
    ),
    ("drafted/fenced.gdl", &["error not-gdl 3"]),
    (
        "drafted/plain_variables.gdl",
        &[
            "error plain-variable 5",
            "error plain-variable 5",
            "error plain-variable 7",
            "error plain-variable 9",
            "error plain-variable 10",
        ],
    ),
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

/// Rules in which a role, a move and a relation have characters that control a terminal.
const CONTROLS: &str = "(role a\u{1b}[31m)\n(init (s 0))\n(legal a\u{1b}[31m x\u{9b}1m)
(<= (next (s 1)) (true (s 0)))\n(<= terminal (true (s 1)))\n(goal a\u{1b}[31m 100)\n(b\u{7} 1)\n";

#[test]
fn no_command_lets_a_file_control_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &str| file(folder.path(), name, text).display().to_string();
    let rules = path("rules.gdl", CONTROLS);
    let faulty = path(
        "faulty.gdl",
        &format!("{CONTROLS}(role \u{1b}[2J)\n(<= (\u{1b}c)"),
    );
    let levels = path("levels.sok", "; a\u{1b}]0;b\u{7}c\n#####\n#@$.#\n#####\n");
    for (arguments, is_shown) in [
        (&["check", &rules][..], true),
        (&["check", &faulty], true),
        (&["check", &rules, "--json"], false),
        (&["search", &rules, "--iterations", "10"], true),
        (&["search", &faulty], false),
        (&["solve", &rules], false),
        (&["stats", &rules], false),
        (&["analyse", &rules, "--seconds", "0.1"], true),
        (&["perft", &rules, "--depth", "1"], false),
        (&["match", &rules, "--player", "legal"], true),
        (&["sokoban", "check", &levels], true),
        (&["sokoban", "solve", &levels], true),
        (&["sokoban", "check", &levels, "--json"], false),
    ] {
        let output = run(arguments);
        let shown = text(&output.stdout) + &text(&output.stderr);
        let is_control = |c: &char| c.is_control() && !['\n', '\t'].contains(c);
        assert_eq!(
            shown.chars().find(is_control),
            None,
            "{arguments:?}: {shown:?}"
        );
        assert!(
            !is_shown || shown.contains("\\u{1b}"),
            "{arguments:?}: {shown}"
        );
    }
}

#[test]
fn what_is_said_of_rules_is_told_by_a_search_too() {
    let folder = tempfile::tempdir().unwrap();
    let rules = "(role a) (init p) (legal a go) (legal a wait)\n(unused 1)\n(<= (next q) (true p))
(<= terminal (true q)) (goal a 50)\n";
    let path = file(folder.path(), "rules.gdl", rules)
        .display()
        .to_string();
    let said = text(&run(&["search", &path, "--iterations", "10"]).stderr);
    let expected = format!("{path}:2:1: warning[unused-relation]: ");
    assert!(said.starts_with(&expected), "{said}");
}

#[test]
fn rulesheets_as_people_bring_them_are_played() {
    for (name, status, expected) in [
        ("gdl/base_small.gdl", 0, "note outside-input 3"),
        ("gdl/base_small.gdl", 0, "note outside-base 2"),
        ("gdl/no_legal.gdl", 1, "error no-legal-move 1"),
        ("gdl/goals_partial.gdl", 1, "error no-goal 1"),
        ("drafted/no_frame.gdl", 0, "warning lost-fact 8"),
        ("drafted/never_ends.gdl", 0, "warning never-true 6"),
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
