//! Rulesheets whose meaning other programs may take otherwise: each command tells of it, and all
//! play one game.

use serde_json::Value;
use tempfile::TempDir;

use crate::support::program::{fails, file, objects, run, text};

/// One role chooses a door; behind the second one is the prize.
const DOORS: &str = "(role guest) (init (at hall)) (door 1) (door 2)
    (<= (legal guest (open ?d)) (door ?d))
    (<= (next (at ?d)) (does guest (open ?d))) (<= terminal (not (true (at hall))))";

/// A rulesheet in a folder of its own, and its path.
fn sheet(rules: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "sheet.gdl", rules);
    let path = path.to_str().unwrap().to_string();
    (folder, path)
}

/// Severity, code and text of the diagnostics of a rulesheet.
fn checked(path: &str, rules: &str, status: i32) -> Vec<String> {
    let object = objects(&["check", path], status).remove(0);
    let lines: Vec<&str> = rules.lines().collect();
    let found = object["diagnostics"].as_array().unwrap().iter();
    let shown = |it: &Value| {
        let place = |key: &str| it[key].as_u64().unwrap() as usize - 1;
        let line = lines[place("line")];
        let end = if it["line"] == it["end_line"] {
            place("end_column")
        } else {
            line.len()
        };
        let word = |key: &str| it[key].as_str().unwrap();
        format!(
            "{} {} {}",
            word("severity"),
            word("code"),
            &line[place("column")..end]
        )
    };
    found.map(shown).collect()
}

#[test]
fn a_first_state_that_needs_moves_is_refused_wherever_rules_are_loaded() {
    let rules = format!(
        "{DOORS} (goal guest 50)
        (<= (init (lit ?d)) (lamp ?d))
        (<= (lamp ?d) (legal guest (open ?d)))"
    );
    let (_folder, path) = sheet(&rules);
    let found = checked(&path, &rules, 1);
    assert_eq!(found[0], "error forbidden-dependency (lamp ?d)");
    for command in [
        &["search", &path, "--iterations", "10"][..],
        &["solve", &path],
        &["perft", &path, "--depth", "1"],
        &["match", &path, "--player", "legal"],
    ] {
        let message = fails(command, 2);
        assert!(
            message.contains(":4:29: error[forbidden-dependency]"),
            "{message}"
        );
    }
}

#[test]
fn helpers_that_only_calls_bind_are_played_and_named() {
    let rules = "(role guest) (init hall) (door 1) (door 2)
        (<= (other ?x ?y) (distinct ?x ?y))
        (<= (legal guest (open ?x ?y)) (door ?x) (door ?y) (other ?x ?y))
        (<= (next (at ?x)) (does guest (open ?x ?y))) (<= terminal (not (true hall)))
        (<= (goal guest 100) (true (at 2))) (<= (goal guest 0) (not (true (at 2))))";
    let (_folder, path) = sheet(rules);
    let found = checked(&path, rules, 0);
    assert!(
        found.contains(&"warning unsafe-variable (other ?x ?y)".to_string()),
        "{found:?}"
    );
    for engine in ["counter", "prover"] {
        let arguments = ["perft", &path, "--depth", "1", "--engine", engine];
        assert_eq!(objects(&arguments, 0)[0]["nodes"], 2);
    }
    let solved = &objects(&["solve", &path, "--seconds", "5"], 0)[0];
    assert_eq!(solved["goal"], 100);
    assert_eq!(solved["plan"][0], "(open 2 1)");
    let unbound = rules.replace("(door ?y)", "");
    let (_folder, path) = sheet(&unbound);
    let message = fails(&["solve", &path], 2);
    assert!(message.contains(":3:51: error[open-call]"), "{message}");
}

#[test]
fn of_several_goals_the_highest_counts_everywhere() {
    let rules = format!("{DOORS} (goal guest 10)\n(<= (goal guest 90) (true (at 2)))");
    let (_folder, path) = sheet(&rules);
    let found = checked(&path, &rules, 0);
    assert!(
        found.contains(&"warning constant-goal (goal guest 10)".to_string()),
        "{found:?}"
    );
    assert!(
        found.contains(&"warning two-goals (role guest)".to_string()),
        "{found:?}"
    );
    let output = run(&["solve", &path, "--seconds", "5", "--json"]);
    let solved: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(solved["goal"], 90);
    let warned = text(&output.stderr);
    assert!(warned.contains("there are two goals"), "{warned}");
    let found = objects(&["search", &path, "--iterations", "100"], 0).remove(0);
    assert_eq!(
        found["value"].as_f64().map(f64::round),
        Some(90.0),
        "{found}"
    );
    // The player that takes the first legal move ends behind the first door.
    let rules = rules.replace("(at 2)", "(at 1)");
    let (_folder, path) = sheet(&rules);
    let clocks = ["--start-clock", "1", "--play-clock", "1"];
    let played = [&["match", &path, "--player", "legal"][..], &clocks].concat();
    let played = objects(&played, 0).remove(0);
    assert_eq!(played["goals"]["guest"], 90, "{played}");
}

#[test]
fn moves_without_end_are_an_error() {
    let rules = format!("{DOORS} (goal guest 50)\n(<= (door (behind ?d)) (door ?d))");
    let (_folder, path) = sheet(&rules);
    let found = checked(&path, &rules, 1);
    assert!(
        found.contains(&"error no-answer (door 1)".to_string()),
        "{found:?}"
    );
    let message = fails(&["perft", &path, "--depth", "1"], 2);
    assert!(
        message.contains("the moves cannot be worked out"),
        "{message}"
    );
    assert!(message.contains("`door/1`"), "{message}");
}

#[test]
fn own_relations_named_as_hints_are_played() {
    let rules = "(role guest) (init (at 1)) (base 1 2) (base 2 3)
        (<= (input ?d) (true (at ?d)))
        (<= (legal guest (go ?e)) (input ?d) (base ?d ?e))
        (<= (next (at ?e)) (does guest (go ?e))) (<= terminal (true (at 3)))
        (<= (goal guest 100) (true (at 3))) (<= (goal guest 0) (not (true (at 3))))";
    let (_folder, path) = sheet(rules);
    let found = checked(&path, rules, 0);
    let expected = [
        "warning keyword-arity (base 1 2)",
        "warning keyword-arity (input ?d)",
    ];
    assert_eq!(found[..2], expected, "{found:?}");
    let solved = &objects(&["solve", &path, "--seconds", "5"], 0)[0];
    assert_eq!(
        (&solved["goal"], solved["plan"].as_array().map(Vec::len)),
        (&100.into(), Some(2))
    );
}
