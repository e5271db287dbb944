//! Every command of the lab but `performance`, as scripts meet it.

use std::path::Path;

use serde_json::Value;

use crate::ROOT;
use crate::program::{assert_keys, fails, file, objects, run, text};

/// A corpus of two of our own games, the second with a trace of another game.
fn small_corpus() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for inner in ["games", "traces"] {
        std::fs::create_dir(folder.path().join(inner)).unwrap();
    }
    for (game, trace) in [("hanoi", "hanoi"), ("ticTacToe", "connectFour")] {
        let from = Path::new(ROOT)
            .join("gdl-games")
            .join(format!("{game}.gdl"));
        let to = folder.path().join(format!("games/{game}.kif"));
        std::fs::copy(from, to).unwrap();
        let from = Path::new(ROOT).join(format!("tests/traces/{trace}.jsonl.gz"));
        let to = folder.path().join(format!("traces/{game}.jsonl.gz"));
        std::fs::copy(from, to).unwrap();
    }
    file(
        folder.path(),
        "games.csv",
        "key,roles\nhanoi,1\nticTacToe,2\n",
    );
    folder
}

#[test]
fn corpus_builds_and_verifies_each_game() {
    let folder = small_corpus();
    let corpus = folder.path().to_str().unwrap();
    let page = folder.path().join("page.md");
    let arguments = ["corpus", corpus, "--out", page.to_str().unwrap()];
    let mut games = objects(&[&arguments[..], &["--jobs", "2"]].concat(), 1);
    games.sort_by_key(|game| game["game"].to_string());
    assert_eq!(games.len(), 2);
    for game in &games {
        assert_eq!(game["built"]["machine"], "counter", "{game}");
        assert!(game["built"]["gates_full"].as_u64().unwrap() > 0, "{game}");
        assert!(game["failure"].is_null(), "{game}");
        let machines: Vec<&Value> = game["verified"]
            .as_array()
            .unwrap()
            .iter()
            .map(|verified| &verified["machine"])
            .collect();
        assert_eq!(machines, ["counter", "prover"], "{game}");
    }
    let disagreements = |game: &Value| game["verified"][0]["disagreements"].as_u64().unwrap();
    assert_eq!(disagreements(&games[0]), 0, "{}", games[0]);
    assert!(disagreements(&games[1]) > 0, "{}", games[1]);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("\n| hanoi | "), "{page}");
    assert!(
        page.contains("disagreements (counter), first traces/ticTacToe.jsonl.gz:1: playout 0, step 0: init differs"),
        "{page}"
    );

    let output = run(&["corpus", corpus, "--game", "hanoi"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let page = text(&output.stdout);
    assert!(page.contains("\n| disagreements | 0 | - | - |"), "{page}");
    assert!(!page.contains("ticTacToe"), "{page}");
}

#[test]
fn corpus_reports_games_that_fail_and_games_without_a_network() {
    let folder = small_corpus();
    let corpus = folder.path().to_str().unwrap();
    file(folder.path(), "games/hanoi.kif", "(role");
    let game = objects(&["corpus", corpus, "--game", "hanoi"], 1).remove(0);
    let failure = game["failure"].as_str().unwrap();
    assert!(failure.contains("hanoi.kif:1:1: error"), "{failure}");

    // A budget that nothing can be built in leaves the prover.
    file(folder.path(), "games.csv", "key\nticTacToe\n");
    let game = objects(&["corpus", corpus, "--seconds", "0.000001"], 1).remove(0);
    assert_eq!(game["built"]["machine"], "prover", "{game}");
    assert!(game["built"]["reason"].is_string(), "{game}");
    assert_eq!(game["verified"].as_array().unwrap().len(), 1, "{game}");

    let message = fails(&["corpus", corpus, "--game", "hex"], 2);
    assert!(
        message.starts_with("error: no game `hex` among the 1 of"),
        "{message}"
    );
    let message = fails(&["corpus", "no/such/folder"], 2);
    assert!(
        message.contains("no corpus in `no/such/folder`"),
        "{message}"
    );
    let message = fails(&["corpus", corpus, "--out", "no/such/folder/page.md"], 2);
    assert!(
        message.contains("cannot write `no/such/folder/page.md`"),
        "{message}"
    );
}

#[test]
fn positions_are_proven_and_searched() {
    let folder = tempfile::tempdir().unwrap();
    let made = format!("{ROOT}/lab/oracles/forced/ticTacToe.jsonl");
    let made = made.as_str();
    let text = std::fs::read_to_string(made).unwrap();
    let positions: Vec<Value> = text
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let verified = objects(&["oracle", "verify", made], 0);
    assert_eq!(verified.len(), positions.len());
    assert!(verified.iter().all(|position| position["holds"] == true));
    let unproven = objects(&["oracle", "verify", made, "--states", "1"], 1);
    assert!(unproven.iter().all(|position| position["holds"].is_null()));

    let check = ["oracle", "check", made, "--iterations", "5000"];
    let found = objects(&check, 0);
    assert_eq!(found.len(), positions.len());
    for (finding, position) in found.iter().zip(&positions) {
        assert_keys(
            finding,
            &["line", "proven", "iterations", "settled_seconds"],
        );
        assert_eq!(finding["good"], position["good"]);
        let good = position["good"].as_array().unwrap();
        assert!(good.contains(&finding["move"]), "{finding}");
        assert_eq!(finding["is_good"], true);
    }
    let other = positions[0]["good"][0].as_str().unwrap();
    let message = fails(&["oracle", "score", made], 2);
    assert!(
        message.contains(":2: the position has no values"),
        "{message}"
    );
    let illegal = text.replace(other, "(mark 9 9)");
    assert_ne!(illegal, text);
    let illegal = file(folder.path(), "illegal.jsonl", &illegal);
    let message = fails(&["oracle", "verify", illegal.to_str().unwrap()], 2);
    assert!(message.contains("`(mark 9 9)`"), "{message}");
}

/// Standard output of a command that ends with `status`.
fn passes(arguments: &[&str], status: i32) -> String {
    let output = run(arguments);
    assert_eq!(
        output.status.code(),
        Some(status),
        "{}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

#[test]
fn fingerprints_are_written_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fingerprints.json");
    let path = file.to_str().unwrap();
    let games = ["fingerprint", "ticTacToe", "hanoi"];
    assert_eq!(
        passes(
            &[&games[..], &["--playouts", "5", "--out", path]].concat(),
            0
        ),
        ""
    );
    let written = std::fs::read_to_string(&file).unwrap();
    let shown = passes(&[&games[..], &["--playouts", "5"]].concat(), 0);
    assert_eq!(shown, written);
    let shown = passes(&["fingerprint", "--against", path], 0);
    assert_eq!(shown, "");

    let changed = written.replace(
        "\"game\":\"hanoi\",\"bases\":",
        "\"game\":\"hanoi\",\"bases\":9",
    );
    assert_ne!(changed, written);
    std::fs::write(&file, changed).unwrap();
    let shown = passes(&["fingerprint", "--against", path], 1);
    assert_eq!(shown.lines().count(), 1, "{shown}");
    assert!(shown.starts_with("hanoi: bases 9"), "{shown}");

    std::fs::write(&file, "{}").unwrap();
    let message = fails(&["fingerprint", "--against", path], 2);
    assert!(message.starts_with("error: `"), "{message}");
    assert!(message.contains("is no file of fingerprints"), "{message}");
}
