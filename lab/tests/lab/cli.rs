//! The program as scripts meet it: exit status, messages, and JSON on standard output.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::ROOT;

fn lab() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_panza-lab"));
    command.current_dir(ROOT).env_remove("RUST_LOG");
    command
}

fn run(arguments: &[&str]) -> Output {
    lab().args(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is UTF-8")
}

/// Runs a command that must fail with `status`, and gives what it said on standard error.
fn fails(arguments: &[&str], status: i32) -> String {
    let output = run(arguments);
    let message = text(&output.stderr);
    assert_eq!(
        output.status.code(),
        Some(status),
        "{arguments:?}: {message}"
    );
    message
}

/// Runs a command with `--json` and gives the objects of its output, which must be all of it.
fn objects(arguments: &[&str], status: i32) -> Vec<Value> {
    let output = lab().args(arguments).arg("--json").output().unwrap();
    let message = text(&output.stderr);
    assert_eq!(
        output.status.code(),
        Some(status),
        "{arguments:?}: {message}"
    );
    let lines = text(&output.stdout);
    let objects: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}")))
        .collect();
    assert!(objects.iter().all(Value::is_object), "{lines}");
    objects
}

fn assert_keys(object: &Value, keys: &[&str]) {
    for key in keys {
        assert!(object.get(key).is_some(), "no key `{key}` in {object}");
    }
}

fn file(folder: &Path, name: &str, content: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

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
fn corpus_builds_and_verifies_each_game_in_a_process_of_its_own() {
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
    assert!(page.contains("\n| hanoi | counter | "), "{page}");
    assert!(
        page.contains("\ntraces/ticTacToe.jsonl.gz:1: playout 0, step 0: init differs"),
        "{page}"
    );

    let output = run(&["corpus", corpus, "--game", "hanoi"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let page = text(&output.stdout);
    assert!(page.contains("\n| disagreements | 0 |"), "{page}");
    assert!(!page.contains("ticTacToe"), "{page}");
}

#[test]
fn corpus_gives_a_game_without_an_answer_a_row_with_the_reason() {
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
fn positions_are_made_proven_and_searched() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("made.toml");
    let made = made.to_str().unwrap();
    let make = [
        "positions",
        "make",
        "ticTacToe",
        "--count",
        "3",
        "--games",
        "60",
        "--iterations",
        "50",
        "--lookahead",
        "4",
        "--out",
        made,
    ];
    let positions = objects(&make, 0);
    assert_eq!(positions.len(), 3);
    for position in &positions {
        assert_keys(
            position,
            &[
                "game",
                "role",
                "goal",
                "good",
                "legal",
                "lookahead",
                "moves",
            ],
        );
        assert!(position["lookahead"].as_u64() >= Some(4), "{position}");
    }
    let verified = objects(&["positions", "verify", made], 0);
    assert_eq!(verified.len(), 3);
    assert!(verified.iter().all(|position| position["holds"] == true));
    let unproven = objects(&["positions", "verify", made, "--states", "1"], 1);
    assert!(unproven.iter().all(|position| position["holds"].is_null()));

    let check = ["positions", "check", made, "--iterations", "5000"];
    let found = objects(&check, 0);
    assert_eq!(found.len(), 3);
    for (finding, position) in found.iter().zip(&positions) {
        assert_keys(
            finding,
            &["position", "proven", "iterations", "settled_seconds"],
        );
        assert_eq!(finding["good"], position["good"]);
        let good = position["good"].as_array().unwrap();
        assert!(good.contains(&finding["move"]), "{finding}");
        assert_eq!(finding["is_good"], true);
    }
    let text = std::fs::read_to_string(made).unwrap();
    let other = positions[0]["good"][0].as_str().unwrap();
    let message = fails(&["positions", "check", "tests/cli.rs"], 2);
    assert!(
        message.starts_with("error: `tests/cli.rs` is no file of positions"),
        "{message}"
    );
    let illegal = text.replace(other, "(mark 9 9)");
    assert_ne!(illegal, text);
    let illegal = file(folder.path(), "illegal.toml", &illegal);
    let message = fails(&["positions", "verify", illegal.to_str().unwrap()], 2);
    assert!(message.contains("`(mark 9 9)`"), "{message}");
}

/// A game of three moves by two roles that choose at once, for the sum of what they say.
const CHOOSE: &str = "(role a) (role b) (init (at 0)) (succ 0 1) (succ 1 2) (succ 2 3)
    (<= (legal ?r ?x) (role ?r) (says ?x)) (says yes) (says no)
    (<= (next (at ?y)) (true (at ?x)) (succ ?x ?y)) (<= (next said) (does a yes) (does b no))
    (<= (next said) (true said)) (<= terminal (true (at 3)))
    (<= (goal a 30) (true said)) (<= (goal b 70) (true said))
    (<= (goal a 90) (not (true said))) (<= (goal b 10) (not (true said)))";

#[test]
fn analyse_writes_a_page_with_a_row_for_each_game_and_each_failure() {
    let folder = tempfile::tempdir().unwrap();
    let games = folder.path().join("games");
    std::fs::create_dir(&games).unwrap();
    file(folder.path(), "games.csv", "key\nchoose\nbroken\n");
    file(&games, "choose.kif", CHOOSE);
    file(&games, "broken.kif", "(this is no game)");
    let page = folder.path().join("page.md");
    let page_text = page.to_str().unwrap();
    let corpus = folder.path().to_str().unwrap();
    let arguments = ["analysis", "--corpus", corpus, "--out", page_text];
    let output = run(&[&arguments[..], &["--seconds", "0.2", "--jobs", "2"]].concat());
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(
        shown.contains("2 games, 1 on a network, 1 without a full answer"),
        "{shown}"
    );
    let page = std::fs::read_to_string(&page).unwrap();
    for expected in [
        "| games | 2 |",
        "| several choose at once | 1 |",
        "| choose | 2 | at once | 3 | 4 | 100 |",
        "| broken | no answer |",
        "- broken: ",
    ] {
        assert!(page.contains(expected), "no `{expected}` in\n{page}");
    }
    let one = [&arguments[..], &["choose", "--seconds", "0.1"]].concat();
    assert_eq!(run(&one).status.code(), Some(0));
    let message = fails(&[&arguments[..], &["chess"]].concat(), 2);
    assert!(
        message.starts_with("error: no game `chess` among the 2"),
        "{message}"
    );
}
