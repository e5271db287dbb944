//! The program as scripts meet it: exit status, messages, and JSON on standard output.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use panza_analysis::signature;
use panza_memory::Store;
use serde_json::Value;

use crate::ROOT;
use crate::support::program::{assert_keys, fails, file, objects, program, run, text};

const UNREADABLE: &str = "(role white)\n(<= (legal white go)\n    (true (ready))\n";

#[test]
fn wrong_arguments_are_refused_with_status_2() {
    for arguments in [
        &[][..],
        &["jump"],
        &["bench"],
        &["performance"],
        &["performance", "ticTacToe", "--runs", "0"],
        &["performance", "ticTacToe", "--baseline", "echo"],
        &["fingerprint", "--playouts", "0"],
        &["tournament"],
        &["bench", "ticTacToe", "--seconds", "0"],
        &["bench", "ticTacToe", "--threads", "0"],
        &["perft", "ticTacToe"],
        &["match", "ticTacToe"],
        &["verify", "ticTacToe"],
        &["check"],
        &["analyse"],
        &["analyse", "ticTacToe", "--seconds", "0"],
        &["analyse", "--corpus", "gdl-games"],
    ] {
        fails(arguments, 2);
    }
    let message = fails(&["match", "ticTacToe", "--player", "somebody"], 2);
    assert!(
        message.contains("expected panza, random, legal or http://HOST:PORT"),
        "{message}"
    );
}

#[test]
fn negative_numbers_are_refused_by_the_option_that_has_them() {
    for (arguments, option) in [
        (&["search", "hex", "-n", "-1"][..], "--iterations"),
        (&["search", "hex", "--ms", "-1"], "--ms"),
        (&["search", "hex", "--seconds", "-0.5"], "--seconds"),
        (&["search", "hex", "--threads", "-1"], "--threads"),
        (&["search", "hex", "--seed", "-1"], "--seed"),
        (&["bench", "hex", "--width", "-1"], "--width"),
        (&["perft", "hex", "--depth", "-1"], "--depth"),
        (&["solve", "hanoi", "--threads", "-1"], "--threads"),
        (&["train", "hex", "--games", "-1"], "--games"),
        (&["study", "m", "--turn", "-1"], "--turn"),
        (&["study", "m", "--blunders", "--ms", "-1"], "--ms"),
        (
            &["match", "hex", "--player", "panza", "--games", "-1"],
            "--games",
        ),
        (&["tournament", "t.toml", "--limit", "-1"], "--limit"),
        (
            &["sokoban", "solve", "l.sok", "--threads", "-1"],
            "--threads",
        ),
    ] {
        let message = fails(arguments, 2);
        let value = arguments.last().unwrap();
        let expected = format!("error: invalid value '{value}' for '");
        assert!(
            message.starts_with(&expected) && message.contains(option),
            "{message}"
        );
    }
}

#[test]
fn a_search_lasts_as_many_milliseconds_as_it_is_told() {
    let found = objects(&["search", "connectFour", "--ms", "300"], 0);
    let seconds = found[0]["seconds"].as_f64().unwrap();
    assert!((0.25..4.0).contains(&seconds), "{seconds}");
    let message = fails(&["search", "connectFour", "--ms", "0"], 2);
    assert!(message.contains("0 is not in 1..=86400000"), "{message}");
    for other in ["--seconds", "--iterations"] {
        fails(&["search", "connectFour", "--ms", "5", other, "1"], 2);
    }
}

#[test]
fn help_has_an_example_of_each_command() {
    let overview = text(&run(&["--help"]).stdout);
    let commands = [
        "serve",
        "match",
        "study",
        "games",
        "check",
        "equal",
        "format",
        "lsp",
        "verify",
        "perft",
        "replay",
        "stats",
        "analyse",
        "search",
        "sokoban",
        "bench",
        "tournament",
    ];
    for command in commands {
        assert!(overview.contains(&format!("\n  {command} ")), "{overview}");
        let help = text(&run(&[command, "--help"]).stdout);
        assert_eq!(text(&run(&["help", command]).stdout), help);
        assert!(help.contains(&format!("  panza {command} ")), "{help}");
        assert!(help.contains("--json"), "{help}");
    }
}

#[test]
fn games_lists_each_game_with_its_roles_and_its_title() {
    let games = objects(&["games"], 0);
    let sheets = std::fs::read_dir(Path::new(ROOT).join("gdl-games")).unwrap();
    let is_sheet = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "gdl");
    let sheets = sheets.map(|entry| entry.unwrap().path()).filter(is_sheet);
    assert_eq!(games.len(), sheets.count());
    let game = games
        .iter()
        .find(|game| game["game"] == "ticTacToe")
        .unwrap();
    let expected = serde_json::json!(
        {
            "game": "ticTacToe",
            "roles": ["xplayer", "oplayer"],
            "about": "Tic-tac-toe",
            "folder": "gdl-games",
        }
    );
    assert_eq!(game, &expected);
    assert!(games.iter().all(|game| game["about"] != ""), "{games:?}");
    let shown = text(&run(&["games"]).stdout);
    assert!(shown.contains("\nhanoi "), "{shown}");
}

#[test]
fn an_unknown_game_is_reported_with_near_names() {
    for command in [
        &["check", "tictactoe"][..],
        &["format", "tictactoe"],
        &["stats", "tictactoe"],
        &["analyse", "tictactoe"],
        &["bench", "tictactoe"],
        &["perft", "tictactoe", "--depth", "1"],
        &["verify", "tictactoe", "--trace", "x"],
        &["match", "tictactoe", "--player", "random"],
    ] {
        let message = fails(command, 2);
        assert!(
            message.starts_with("error: no game `tictactoe`; did you mean `ticTacToe` or "),
            "{command:?}: {message}"
        );
        assert_eq!(message.lines().count(), 1, "{message}");
    }
    let message = fails(&["check", "no/such/file.gdl"], 2);
    assert_eq!(message, "error: no file `no/such/file.gdl`\n");
}

#[test]
fn rules_that_cannot_be_read_are_refused_with_line_and_column() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "broken.gdl", UNREADABLE);
    let path = path.to_str().unwrap();
    for command in [
        &["stats", path][..],
        &["analyse", path],
        &["bench", path],
        &["perft", path, "--depth", "1"],
        &["match", path, "--player", "random"],
    ] {
        let message = fails(command, 2);
        let expected = format!("error: {path}:2:1: error[unclosed-parenthesis]: ");
        assert!(message.starts_with(&expected), "{command:?}: {message}");
    }
}

#[test]
fn check_shows_places_and_its_status_says_whether_there_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "broken.gdl", UNREADABLE);
    let path = path.to_str().unwrap();
    let output = run(&["check", path, "ticTacToe"]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("error[unclosed-parenthesis]"), "{shown}");
    assert!(shown.contains(&format!("{path}:2:1")), "{shown}");
    assert!(shown.contains("2 | (<= (legal white go)"), "{shown}");
    assert!(
        shown.contains("gdl-games/ticTacToe.gdl: no errors"),
        "{shown}"
    );

    let objects = objects(&["check", path, "ticTacToe"], 1);
    assert_eq!(objects.len(), 2);
    assert_keys(&objects[0], &["file", "errors", "warnings", "diagnostics"]);
    assert_eq!(objects[0]["file"], path);
    let first = &objects[0]["diagnostics"][0];
    assert_keys(
        first,
        &["severity", "code", "line", "column", "message", "help"],
    );
    assert!(objects[0]["errors"].as_u64().unwrap() >= 1);
    assert_eq!(objects[1]["errors"], 0);
    assert_eq!(run(&["check", "ticTacToe"]).status.code(), Some(0));
}

/// One role counts to 3 by one or two, and has no move at 4.
const COUNT: &str = "(role a) (init (at 0)) (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4)
(<= (legal a one) (true (at ?n)) (succ ?n ?m))
(<= (legal a two) (true (at ?n)) (succ ?n ?m) (succ ?m ?k))
(<= (next (at ?m)) (true (at ?n)) (does a one) (succ ?n ?m))
(<= (next (at ?k)) (true (at ?n)) (does a two) (succ ?n ?m) (succ ?m ?k))
(<= terminal (true (at 3)))
(goal a 50)\n";

#[test]
fn check_plays_and_shows_a_position_that_search_reads() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "count.gdl", COUNT);
    let path = path.to_str().unwrap();
    let checked = objects(&["check", path], 1);
    assert_eq!(checked[0]["errors"], 1);
    let fault = &checked[0]["diagnostics"][0];
    assert_eq!(fault["code"], "no-legal-move", "{fault}");
    assert_eq!(fault["moves"], serde_json::json!([["two"], ["two"]]));
    let position = fault["state"].as_str().unwrap();
    let state = file(folder.path(), "state", position);
    let state = state.to_str().unwrap();
    let searched = objects(&["search", path, "--state", state, "--iterations", "10"], 0);
    assert_eq!(searched[0]["moves"], serde_json::json!([]));
    let shown = text(&run(&["check", path]).stdout);
    assert!(
        shown.contains("state: ((at 4))\n  moves: (two) (two)"),
        "{shown}"
    );
    let checked = objects(&["check", path, "--no-play"], 0);
    assert_eq!(checked[0]["errors"], 0);
    // ggp-base's validator wants neither `base` nor `input`.
    let strict = objects(&["check", path, "--no-play", "--strict"], 0);
    assert_eq!(strict[0]["errors"], 0);
    let loose = format!("{COUNT}(init (seen ?x))\n(<= (next (seen <=)) (true (seen ?x)))\n");
    let loose = file(folder.path(), "loose.gdl", &loose);
    let loose = loose.to_str().unwrap();
    let strict = objects(&["check", loose, "--no-play", "--strict"], 1).remove(0);
    let found = strict["diagnostics"].as_array().unwrap().iter();
    let refused = found.filter(|it| it["code"].as_str().unwrap().starts_with("strict-"));
    let refused: Vec<&Value> = refused.map(|it| &it["code"]).collect();
    assert_eq!(refused, ["strict-variable-fact", "strict-reserved-word"]);
}

#[test]
fn equal_shows_the_first_state_that_differs() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = file(folder.path(), name, text);
        path.to_str().unwrap().to_string()
    };
    let count = write("count.gdl", COUNT);
    let renamed = write(
        "renamed.gdl",
        &COUNT.replace("one", "uno").replace("succ", "after"),
    );
    let changed = write("changed.gdl", &COUNT.replace("(at 3))", "(at 2))"));
    let equal = objects(&["equal", &count, &renamed], 0);
    assert_eq!(equal[0]["equal"], true);
    assert_eq!(equal[0]["difference"], Value::Null);
    objects(&["equal", &count, &renamed, "--names", "same"], 1);
    let found = objects(&["equal", &count, &changed, "--seconds", "20"], 1);
    assert_keys(&found[0], &["equal", "moves", "difference", "exhaustive"]);
    assert_eq!(found[0]["moves"], serde_json::json!([["two"]]));
    let difference = &found[0]["difference"];
    assert_eq!(difference["what"], "terminal", "{difference}");
    assert_eq!(difference["state"], "((at 2))");
    assert_eq!(difference["statements"][1]["line"], 6);
    let shown = text(&run(&["equal", &count, &changed]).stdout);
    assert!(
        shown.starts_with("different: terminal after 1 joint move\n"),
        "{shown}"
    );
    // No move has a common name, but the numbers of moves at the start differ.
    let more =
        COUNT.replace("one", "uno").replace("two", "due") + "(<= (legal a tre) (true (at 0)))";
    let more = write("more.gdl", &more);
    let found = objects(&["equal", &count, &more], 1);
    assert_eq!(found[0]["difference"]["what"], "legal", "{found:?}");
    let found = objects(&["equal", &count, "ticTacToe"], 1);
    assert_eq!(found[0]["difference"]["what"], "roles", "{found:?}");
    fails(&["equal", &count, "noSuchGame"], 2);
}

#[test]
fn replay_compares_a_record_with_the_rules() {
    let folder = tempfile::tempdir().unwrap();
    let game = file(folder.path(), "count.gdl", COUNT);
    let game = game.to_str().unwrap();
    let record = r#"{"matchId": "m.1", "gameMetaURL": "http://games.example/count/v1/",
        "states": ["( ( true ( at 0 ) ) )", "( ( at 1 ) )", "( ( at 3 ) )"],
        "moves": [["one"], ["( two )"]], "goalValues": [50], "isCompleted": true}"#;
    let write = |name: &str, text: &str| {
        let path = file(folder.path(), name, text);
        path.to_str().unwrap().to_string()
    };
    let path = write("match.json", record);
    let found = objects(&["replay", &path, "--game", game], 0);
    assert_keys(&found[0], &["game", "steps", "disagreements", "first"]);
    assert_eq!(
        (&found[0]["steps"], &found[0]["disagreements"]),
        (&2.into(), &0.into())
    );
    for (from, to, what) in [
        ("( ( at 1 ) )", "( ( at 2 ) )", "next"),
        ("[\"one\"]", "[\"three\"]", "moves"),
        ("[50]", "[60]", "goal"),
        ("[50]", "[]", "goal"),
        ("[50]", "[50, 50]", "goal"),
        ("true}", "false}", "terminal"),
        ("( true ( at 0 ) )", "( at 1 )", "init"),
    ] {
        let path = write("changed.json", &record.replace(from, to));
        let found = objects(&["replay", &path, "--game", game], 1);
        assert_eq!(found[0]["first"]["what"], what, "{found:?}");
    }
    let message = fails(&["replay", &path], 2);
    assert!(message.contains("no game `count`"), "{message}");
    fails(&["replay", game], 2);
}

/// A game in HRF.
const HRF: &str = "% Marks.\nrole(x) role(o)\ninit(cell(1,b)) init(cell(2,b))\ninit(control(x))
legal(mark(N)):-cell(N,b)
mark(N)::control(R)==>~cell(N,b)&cell(N,R)
mark(N) :: control(x) ==> ~control(x) & control(o)
mark(N) :: control(o) ==> ~control(o) & control(x)
goal(R,100) :- cell(1,R) % first
goal(R,0) :- ~cell(1,R)
terminal :- ~cell(1,b) & ~cell(2,b)\n";

#[test]
fn files_in_hrf_are_checked_laid_out_and_played() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "marks.hrf", HRF);
    let path = path.to_str().unwrap();
    let shown = text(&run(&["check", path, "--no-play"]).stdout);
    assert_eq!(shown, format!("{path}: no errors, no warnings\n"));
    let laid_out = text(&run(&["format", path]).stdout);
    assert!(
        laid_out.contains("\nrole(x)\nrole(o)\ninit(cell(1,b))\n"),
        "{laid_out}"
    );
    assert!(
        laid_out.contains("\nmark(N) :: control(R) ==> ~cell(N,b) & cell(N,R)\n"),
        "{laid_out}"
    );
    assert!(laid_out.contains(" % first\n"), "{laid_out}");
    let counts = objects(&["perft", path, "--depth", "2"], 0);
    assert_eq!(counts.last().unwrap()["nodes"], 2);
    let played = objects(
        &[
            "match",
            path,
            "--player",
            "random",
            "--player",
            "legal",
            "--play-clock",
            "1",
        ],
        0,
    );
    assert!(!played.is_empty());

    let broken = HRF.replace("~cell(1,b) & ~cell(2,b)", "~cell(1,b) & = cell(2,b)");
    let broken = file(folder.path(), "broken.hrf", &broken);
    let broken = broken.to_str().unwrap();
    let shown = text(&run(&["check", broken]).stdout);
    assert!(shown.contains("error[unknown-character]"), "{shown}");
    assert!(shown.contains(&format!("{broken}:11:26")), "{shown}");
    let message = fails(&["stats", broken], 2);
    let expected = format!("error: {broken}:11:26: error[unknown-character]: ");
    assert!(message.starts_with(&expected), "{message}");
    assert!(fails(&["format", broken], 1).contains("unknown-character"));
}

#[test]
fn convert_writes_the_other_dialect_or_says_why_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "marks.hrf", HRF);
    let kif = text(&run(&["convert", path.to_str().unwrap()]).stdout);
    assert!(
        kif.contains("(<= (legal$ (mark ?N))\n  (true (cell ?N b)))\n"),
        "{kif}"
    );
    let kif = file(folder.path(), "marks.kif", &kif);
    let kif = kif.to_str().unwrap();
    assert_eq!(run(&["check", kif]).status.code(), Some(0));
    let hrf = text(&run(&["convert", kif]).stdout);
    assert!(
        hrf.contains("\nlegal(M) :- control(R) & lawful(R,M)\n"),
        "{hrf}"
    );
    let hrf = file(folder.path(), "again.hrf", &hrf);
    let nodes =
        |path: &str| objects(&["perft", path, "--depth", "2"], 0).pop().unwrap()["nodes"].clone();
    assert_eq!(nodes(kif), 2);
    assert_eq!(nodes(hrf.to_str().unwrap()), 2);

    let object = objects(&["convert", "ticTacToe", "--to", "kif"], 0).remove(0);
    assert_eq!(object["dialect"], "kif");
    assert!(object["text"].as_str().unwrap().contains("(role xplayer)"));
    let message = fails(&["convert", "roshamboTen"], 1);
    assert!(
        message.contains("left and right move at the same time at the start"),
        "{message}"
    );
    let object = objects(&["convert", "diceRace", "--to", "hrf"], 1).remove(0);
    assert!(object["text"].is_null());
    let reason = object["reasons"][0].as_str().unwrap();
    assert!(
        reason.contains("error[not-in-hrf]: the role `random`"),
        "{reason}"
    );
}

#[test]
fn format_prints_one_layout_and_keeps_comments() {
    let folder = tempfile::tempdir().unwrap();
    let loose = "; A game.\r\n(role   white)\r\n\r\n\r\n(<= (legal white go) ; why\r\n(true\r\n(ready)))\r\n";
    let path = file(folder.path(), "loose.gdl", loose);
    let path = path.to_str().unwrap();
    let output = run(&["format", path]);
    assert_eq!(output.status.code(), Some(0));
    let once = text(&output.stdout);
    // The line ends of the file stay.
    assert_eq!(
        once,
        "; A game.\r\n(role white)\r\n\r\n(<= (legal white go) ; why\r\n  (true (ready)))\r\n"
    );
    assert_eq!(std::fs::read_to_string(path).unwrap(), loose);
    let again = file(folder.path(), "again.gdl", &once);
    let again = again.to_str().unwrap();
    assert_eq!(text(&run(&["format", again]).stdout), once);

    let object = objects(&["format", path], 0).remove(0);
    assert_eq!(object["text"], once);
    assert_eq!(object["changed"], true);
    assert_eq!(objects(&["format", again], 0)[0]["changed"], false);
    let object = objects(&["format", path, "--write"], 0).remove(0);
    assert_eq!(object["written"], true);
    assert_eq!(std::fs::read_to_string(path).unwrap(), once);
}

#[test]
fn format_rewrites_a_file_when_that_changes_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "loose.gdl", "(role   white) ; who\n");
    let written = |path: &Path| std::fs::metadata(path).unwrap().modified().unwrap();
    let argument = path.to_str().unwrap();
    let shown = text(&run(&["format", argument, "--write"]).stdout);
    assert_eq!(shown, format!("{argument}: rewritten\n"));
    let expected = "(role white) ; who\n";
    assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);

    let before = written(&path);
    let object = objects(&["format", argument, "--write"], 0).remove(0);
    assert_eq!(object["written"], false);
    assert_eq!(written(&path), before);
    // Nothing is left beside it.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn format_leaves_alone_what_it_cannot_lay_out_or_replace() {
    let folder = tempfile::tempdir().unwrap();
    let broken = file(folder.path(), "broken.gdl", UNREADABLE);
    let path = broken.to_str().unwrap();
    for arguments in [&["format", path][..], &["format", path, "--write"]] {
        let message = fails(arguments, 1);
        assert!(message.contains("error[unclosed-parenthesis]"), "{message}");
        assert!(message.contains(&format!("{path}:2:1")), "{message}");
        assert_eq!(text(&run(arguments).stdout), "");
        let object = objects(arguments, 1).remove(0);
        assert_eq!(object["diagnostics"][0]["code"], "unclosed-parenthesis");
        assert_eq!(std::fs::read_to_string(&broken).unwrap(), UNREADABLE);
    }

    let latin = folder.path().join("latin.gdl");
    std::fs::write(&latin, b"(role   wei\xdf)\n").unwrap();
    let message = fails(&["format", latin.to_str().unwrap(), "--write"], 2);
    assert!(message.contains("is not UTF-8"), "{message}");
    assert_eq!(std::fs::read(&latin).unwrap(), b"(role   wei\xdf)\n");

    // Away from the project's folder a game known by name is a copy inside the program.
    let output = program()
        .current_dir(folder.path())
        .args(["format", "hanoi", "--write"])
        .output()
        .unwrap();
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("inside the program"), "{message}");
}

#[test]
fn verify_compares_recorded_playouts_with_each_machine() {
    let trace = "tests/traces/ticTacToe.jsonl.gz";
    let agreeing = objects(&["verify", "ticTacToe", "--trace", trace], 0);
    let machines: Vec<&str> = agreeing
        .iter()
        .map(|o| o["machine"].as_str().unwrap())
        .collect();
    assert_eq!(machines, ["counter", "lanes", "prover"]);
    for object in &agreeing {
        assert_keys(
            object,
            &["game", "machine", "states", "disagreements", "first"],
        );
        assert!(object["states"].as_u64().unwrap() > 10);
        assert_eq!(object["disagreements"], 0);
        assert!(object["first"].is_null());
    }
    // The same trace cannot hold for another game.
    let arguments = [
        "verify",
        "connectFour",
        "--trace",
        trace,
        "--machine",
        "prover",
    ];
    let differing = objects(&arguments, 1);
    assert!(differing[0]["disagreements"].as_u64().unwrap() > 0);
    assert_keys(
        &differing[0]["first"],
        &["trace", "line", "what", "expected", "found"],
    );
    assert_eq!(differing[0]["first"]["line"], 1);

    let message = fails(&["verify", "ticTacToe", "--trace", "none.jsonl"], 2);
    assert!(
        message.starts_with("error: cannot read trace `none.jsonl`"),
        "{message}"
    );
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "bad.jsonl", "{\"playout\":0}\n");
    let message = fails(
        &["verify", "ticTacToe", "--trace", path.to_str().unwrap()],
        2,
    );
    assert!(
        message.contains("bad.jsonl:1: not a recorded state"),
        "{message}"
    );
    // What cannot be compiled is compared on the prover alone, unless a machine was asked for by
    // name.
    let path = file(folder.path(), "endless.gdl", ENDLESS);
    let trace = file(folder.path(), "endless.jsonl", ENDLESS_TRACE);
    let arguments = [
        "verify",
        path.to_str().unwrap(),
        "--trace",
        trace.to_str().unwrap(),
    ];
    let compared = objects(&arguments, 0);
    for (object, machine) in compared.iter().zip(["counter", "lanes", "prover"]) {
        assert_eq!(object["machine"], machine);
        assert_eq!(object["states"], u64::from(machine == "prover") * 2);
        assert_eq!(object["refused"].is_string(), machine != "prover");
    }
    for machine in ["counter", "lanes"] {
        let message = fails(&[&arguments[..], &["--machine", machine]].concat(), 2);
        assert!(
            message.starts_with("error: no compiled machine: "),
            "{message}"
        );
    }
}

/// A game whose facts grow without end.
const ENDLESS: &str = "(role r) (init (count zero)) (legal r go)
    (<= (next (count (after ?n))) (true (count ?n))) (goal r 50) (<= terminal (true (count (after (after zero)))))";

const ENDLESS_TRACE: &str = r#"{"playout":0,"step":0,"state":["(count zero)"],"terminal":false,"legal":{"r":["go"]},"moves":{"r":"go"}}
{"playout":0,"step":1,"state":["(count (after zero))"],"terminal":false,"legal":{"r":["go"]}}
"#;

#[test]
fn every_engine_counts_the_same_paths() {
    for game in ["connectFour", "roshamboTen"] {
        let count = |machine: &str| {
            let arguments = ["perft", game, "--depth", "3", "--engine", machine];
            let object = objects(&arguments, 0).remove(0);
            assert_keys(&object, &["depth", "nodes", "terminal", "seconds"]);
            assert_eq!(object["machine"], machine);
            (
                object["nodes"].as_u64().unwrap(),
                object["by_depth"].clone(),
            )
        };
        let prover = count("prover");
        assert_eq!(count("counter"), prover, "{game}");
        assert_eq!(count("lanes"), prover, "{game}");
        assert!(prover.0 > 100, "{game}");
    }
}

#[test]
fn bench_and_stats_give_their_figures() {
    let arguments = [
        "bench",
        "ticTacToe",
        "hanoi",
        "--seconds",
        "0.05",
        "--threads",
        "2",
    ];
    let objects_of_bench = objects(&arguments, 0);
    assert_eq!(objects_of_bench.len(), 2);
    let first = &objects_of_bench[0];
    assert_keys(
        first,
        &[
            "game",
            "engine",
            "threads",
            "init_seconds",
            "seconds",
            "playouts",
            "mean_length",
        ],
    );
    assert!(first["playouts_per_second"].as_f64().unwrap() > 100.0);
    assert!(first["steps_per_second"].as_f64().unwrap() > 500.0);
    let goals = first["goals"].as_object().unwrap();
    let sum: f64 = goals.values().filter_map(Value::as_f64).sum();
    assert!(
        (99.9..=100.1).contains(&sum),
        "goals of tic-tac-toe add up to 100: {first}"
    );

    // What is not told which engine to use takes the faster one, and a width goes with lanes alone.
    let counted = objects(&[&arguments[..], &["--engine", "counter"]].concat(), 0);
    for object in objects_of_bench.iter().chain(&counted) {
        assert_eq!(object["width"].is_u64(), object["engine"] == "lanes");
    }
    for (width, named) in [(512, &[][..]), (256, &["--width", "256"])] {
        let lanes = objects(&[&arguments[..], &["--engine", "lanes"], named].concat(), 0);
        for (lanes, counter) in lanes.iter().zip(&counted) {
            assert_eq!(counter["engine"], "counter");
            assert_eq!(lanes["engine"], "lanes");
            assert_eq!(lanes["width"], width);
            assert_eq!(lanes["playouts"].as_u64().unwrap() % width, 0);
            assert!(lanes["playouts_per_second"].as_f64().unwrap() > 100.0);
            let length = |object: &Value| object["mean_length"].as_f64().unwrap();
            let ratio = length(lanes) / length(counter);
            assert!((0.9..1.1).contains(&ratio), "{lanes} {counter}");
        }
        let goals = lanes[0]["goals"].as_object().unwrap();
        let sum: f64 = goals.values().filter_map(Value::as_f64).sum();
        assert!((99.9..=100.1).contains(&sum), "{lanes:?}");
    }
    let message = fails(&["bench", "hanoi", "--width", "100"], 2);
    assert!(message.contains("expected 256, 512 or 1024"), "{message}");

    let stats = objects(&["stats", "connectFour"], 0).remove(0);
    let counted = [
        "roles",
        "bases",
        "inputs",
        "ground_rules",
        "gates_full",
        "gates_optimised",
    ];
    assert_keys(&stats, &counted);
    assert!(
        counted.iter().all(|key| stats[key].as_u64().unwrap() > 0),
        "{stats}"
    );
    assert_keys(
        &stats,
        &[
            "ground_seconds",
            "propnet_seconds",
            "compile_seconds",
            "peak_bytes",
        ],
    );
    assert_eq!(stats["machine"], "counter");
}

#[test]
fn byte_order_marks_are_skipped_in_every_file() {
    let folder = tempfile::tempdir().unwrap();
    let rules = std::fs::read_to_string(Path::new(ROOT).join("gdl-games/ticTacToe.gdl")).unwrap();
    let marked = file(folder.path(), "marked.gdl", &format!("\u{feff}{rules}"));
    let marked = marked.to_str().unwrap();
    let object = objects(&["check", marked], 0).remove(0);
    assert_eq!(object["diagnostics"], serde_json::json!([]));
    let object = objects(&["format", marked], 0).remove(0);
    assert_eq!(
        (&object["changed"], &object["text"]),
        (&Value::Bool(true), &Value::from(&*rules))
    );
    assert!(run(&["format", marked, "--write"]).status.success());
    assert_eq!(std::fs::read_to_string(marked).unwrap(), rules);

    let units = format!("\u{feff}{rules}")
        .encode_utf16()
        .collect::<Vec<u16>>();
    let wide: Vec<u8> = units.into_iter().flat_map(u16::to_le_bytes).collect();
    let path = folder.path().join("wide.gdl");
    std::fs::write(&path, wide).unwrap();
    assert!(
        run(&["format", path.to_str().unwrap(), "--write"])
            .status
            .success()
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), rules);

    let position = "\u{feff}((control xplayer)\u{feff}(cell 1 1 blank))";
    let path = file(folder.path(), "position.txt", position);
    let path = path.to_str().unwrap();
    let arguments = ["search", "ticTacToe", "--state", path, "--iterations", "10"];
    assert!(run(&arguments).status.success());
}

#[test]
fn bytes_that_are_no_utf8_are_characters_of_latin1() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("latin1.gdl");
    let rules = b"(role p) (init s) (legal p m\xec)\n(legal p m\xe8) (<= (next t) (does p ?m))
        (<= terminal (true t)) (goal p 100)";
    std::fs::write(&path, rules).unwrap();
    let path = path.to_str().unwrap();
    let nodes = &objects(&["perft", path, "--depth", "1"], 0)[0]["nodes"];
    assert_eq!(nodes, 2);
    let object = objects(&["check", path], 0).remove(0);
    assert_eq!(
        (&object["notes"], &object["warnings"]),
        (&1.into(), &0.into())
    );
    let note = &object["diagnostics"][0];
    assert_eq!(
        (&note["severity"], &note["code"]),
        (&"note".into(), &"not-utf8".into())
    );
    assert_eq!((&note["line"], &note["column"]), (&1.into(), &29.into()));
    let shown = text(&run(&["check", path]).stdout);
    assert!(
        shown.ends_with("no errors, no warnings, 1 note\n"),
        "{shown}"
    );
}

/// Textbook GDL in infix form, as in Prolog.
const TEXTBOOK: &str = "role(x). role(o). init(control(x)). init(cell(1,b)). init(cell(2,b)).
legal(R,mark(N)) :- true(control(R)), true(cell(N,b)).
legal(R,noop) :- role(R), \\+ true(control(R)).
next(cell(N,R)) :- does(R,mark(N)).
next(cell(N,W)) :- true(cell(N,W)), marked(M), N \\= M.
next(control(R)) :- role(R), not true(control(R)).
marked(N) :- does(R,mark(N)).
open :- true(cell(N,b)).
goal(R,100) :- true(cell(1,R)), role(R).
goal(R,0) :- role(R), ~true(cell(1,R)).
terminal :- not(open).\n";

#[test]
fn textbook_rules_in_infix_form_are_converted_to_both_dialects() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "marks.txt", TEXTBOOK);
    let path = path.to_str().unwrap();
    let object = objects(&["check", path, "--no-play"], 0).remove(0);
    assert_eq!(object["diagnostics"], serde_json::json!([]));
    let laid_out = text(&run(&["format", path]).stdout);
    let laid_out = file(folder.path(), "again.hrf", &laid_out);
    let laid_out = laid_out.to_str().unwrap();
    let convert = |path: &str, to: &str| text(&run(&["convert", path, "--to", to]).stdout);
    let kif = convert(path, "gdl");
    let expected = "(<= (legal ?R noop)\n  (role ?R)\n  (not (true (control ?R))))\n";
    assert!(kif.contains(expected), "{kif}");
    assert_eq!(kif, convert(laid_out, "kif"));
    let kif = file(folder.path(), "marks.kif", &kif);
    let hrf = convert(path, "hrf");
    assert!(hrf.contains(" :: ") && !hrf.contains("does("), "{hrf}");
    let hrf = file(folder.path(), "marks.hrf", &hrf);
    for path in [path, kif.to_str().unwrap(), hrf.to_str().unwrap()] {
        let counts = objects(&["perft", path, "--depth", "2"], 0);
        assert_eq!(counts.last().unwrap()["nodes"], 2, "{path}");
    }
}

#[test]
fn check_says_what_ground_rules_show() {
    let folder = tempfile::tempdir().unwrap();
    let game = "(role p) (init s) (legal p x) (legal p y) (<= (next t) (does p ?m)) (goal p 50)
        (<= terminal (true t))";
    let codes = |rules: &str, status| {
        let path = file(folder.path(), "game.gdl", &format!("{game} {rules}"));
        let object = objects(&["check", "--no-play", path.to_str().unwrap()], status).remove(0);
        let found = object["diagnostics"].as_array().unwrap().iter();
        let code = |it: &Value| {
            format!(
                "{}[{}]",
                it["severity"].as_str().unwrap(),
                it["code"].as_str().unwrap()
            )
        };
        found.map(code).collect::<Vec<String>>()
    };
    let found = codes("(<= a (not b)) (<= b (not a)) (<= (next a) a)", 1);
    assert_eq!(found, ["error[unstratified]", "error[unstratified]"]);
}

/// A position of Tic-Tac-Toe in which `oplayer` wins by marking 2 3.
const O_WINS: &str = "((cell 1 1 x) (cell 1 2 x) (cell 1 3 blank) (cell 2 1 o) (cell 2 2 o) (cell 2 3 blank)\n\
    (cell 3 1 blank) (cell 3 2 blank) (cell 3 3 blank) (control oplayer))";

#[test]
fn alpha_beta_finds_the_win_and_shows_its_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "position.txt", O_WINS);
    let path = path.to_str().unwrap();
    let base = ["search", "ticTacToe", "--state", path, "--method"];
    let search = |more: &[&str]| objects(&[&base[..], more].concat(), 0).remove(0);
    let found = search(&["alpha-beta", "--iterations", "5000", "--seed", "4"]);
    let keys = [
        "role",
        "move",
        "value",
        "proven",
        "iterations",
        "nodes",
        "playouts",
        "seconds",
        "moves",
    ];
    assert_keys(&found, &keys);
    let others = ["depth", "selective_depth", "nodes_per_second", "lines"];
    assert_keys(&found, &others);
    assert_eq!(found["move"], "(mark 2 3)", "{found}");
    assert_eq!(found["proven"], 100, "{found}");
    assert_eq!(found["lines"][0]["moves"][0], "(mark 2 3)", "{found}");
    let tree = search(&["tree", "--iterations", "200"]);
    assert_eq!(tree["move"], "(mark 2 3)", "{tree}");
    for (game, method) in [("hanoi", "alpha-beta"), ("ticTacToe", "minimax")] {
        let arguments = ["search", game, "--method", method, "--iterations", "10"];
        let message = fails(&arguments, 2);
        assert!(message.contains("alpha-beta"), "{message}");
    }
}

#[test]
fn search_repeats_exactly_and_finds_the_winning_move() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "position.txt", O_WINS);
    let path = path.to_str().unwrap();
    let arguments = [
        "search",
        "ticTacToe",
        "--state",
        path,
        "--iterations",
        "200",
        "--seed",
        "4",
    ];
    let search = || {
        let mut object = objects(&arguments, 0).remove(0);
        let keys = [
            "role",
            "move",
            "value",
            "proven",
            "iterations",
            "iterations_per_second",
        ];
        assert_keys(&object, &keys);
        assert_keys(&object, &["nodes", "playouts", "seconds", "moves"]);
        let stages = object["parts"].as_object().unwrap();
        let stages: f64 = stages.values().filter_map(Value::as_f64).sum();
        let whole = object["writer_nanoseconds"].as_f64().unwrap();
        assert!(stages <= whole * 1.000_001, "{object}");
        for measured in [
            "seconds",
            "iterations_per_second",
            "playouts_per_second",
            "nodes_per_second",
            "writer_nanoseconds",
            "parts",
        ] {
            object.as_object_mut().unwrap().remove(measured);
        }
        object
    };
    let found = search();
    assert_eq!(found["role"], "oplayer");
    assert_eq!(found["move"], "(mark 2 3)");
    assert_eq!(found["proven"], 100);
    assert_eq!(found["moves"].as_array().unwrap().len(), 5);
    assert_keys(&found["moves"][0], &["move", "visits", "value"]);
    assert_eq!(search(), found);

    let studied = objects(
        &[
            "search",
            "ticTacToe",
            "--study",
            "0.5",
            "--iterations",
            "50",
        ],
        0,
    );
    assert!(
        studied[0]["study"]["games"].as_u64() > Some(0),
        "{studied:?}"
    );

    let message = fails(&["search", "ticTacToe", "--role", "nobody"], 2);
    assert_eq!(
        message,
        "error: no role `nobody`; the roles are xplayer, oplayer\n"
    );
    let path = file(folder.path(), "wrong.txt", "((cell 7 7 x))");
    let message = fails(
        &["search", "ticTacToe", "--state", path.to_str().unwrap()],
        2,
    );
    assert!(
        message.starts_with("error: the position cannot be set up: "),
        "{message}"
    );
    assert!(message.contains("(cell 7 7 x)"), "{message}");
    fails(
        &["search", "ticTacToe", "--seconds", "1", "--iterations", "1"],
        2,
    );
}

#[test]
fn match_needs_one_player_per_role_and_names_the_roles() {
    let message = fails(&["match", "ticTacToe", "--player", "random"], 2);
    assert_eq!(
        message,
        "error: ticTacToe has 2 roles (xplayer, oplayer); expected --player once for each, found 1\n"
    );
}

#[test]
fn a_match_between_simple_players_is_the_same_for_the_same_seed() {
    let arguments = [
        "match",
        "ticTacToe",
        "--player",
        "random",
        "--player",
        "legal",
        "--seed",
        "11",
        "--games",
        "2",
        "--swap",
    ];
    let first = objects(&arguments, 0);
    let second = objects(&arguments, 0);
    assert_eq!(first.len(), 2);
    for (one, other) in first.iter().zip(&second) {
        assert_keys(
            one,
            &["game", "goals", "moves", "errors", "steps", "seconds"],
        );
        assert_eq!(one["moves"], other["moves"]);
        let expected: Value = serde_json::json!({"xplayer": [], "oplayer": []});
        assert_eq!(one["errors"], expected);
        assert_eq!(
            one["steps"].as_u64().unwrap() as usize,
            one["moves"].as_array().unwrap().len()
        );
    }
    assert_eq!(first[0]["players"], serde_json::json!(["random", "legal"]));
    assert_eq!(first[1]["players"], serde_json::json!(["legal", "random"]));

    let shown = text(&run(&arguments).stdout);
    assert!(shown.contains("\nstep 1\n  xplayer  (mark "), "{shown}");
    assert!(shown.contains("\n  1 2 3\n"), "no board in {shown}");
    assert!(
        shown.contains("player  matches  wins  draws  losses"),
        "{shown}"
    );
}

/// The role `a` has no legal move after the first step.
const STUCK: &str = "(role a) (role b) (init (at 0)) (init (color red))
    (<= (legal a go) (true (at 0))) (legal b wait)
    (<= (next (at 1)) (does a go)) (<= (next (color ?x)) (true (color ?x)))
    (<= terminal (true (at 9))) (goal a 10) (goal b 20)";

#[test]
fn match_names_the_role_that_is_stuck_and_shows_states_without_a_board() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "stuck.gdl", STUCK);
    let players = ["--player", "legal", "--player", "random"];
    let arguments = [&["match", path.to_str().unwrap()], &players[..]].concat();
    let output = run(&arguments);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("\n  (at 0) (color red)\n"), "{shown}");
    assert!(shown.contains("\n  (at 1) (color red)\n"), "{shown}");
    assert!(
        shown.contains("stuck after 1 step in 0.0 s: no legal move for a\n"),
        "{shown}"
    );
    let object = objects(&arguments, 1).remove(0);
    assert_eq!(object["ending"], "stuck");
    assert_eq!(object["stuck"], serde_json::json!(["a"]));
}

#[test]
fn bench_says_that_no_move_was_made() {
    let folder = tempfile::tempdir().unwrap();
    let rules = STUCK.replace("(init (at 0))", "(init (at 1))");
    let path = file(folder.path(), "stuck.gdl", &rules);
    let output = run(&["bench", path.to_str().unwrap(), "--seconds", "0.01"]);
    let shown = text(&output.stdout);
    assert!(
        shown.contains("\n    no move made: the first state"),
        "{shown}"
    );
}

#[test]
fn a_match_can_be_watched_while_it_is_played() {
    let arguments = [
        "match",
        "hex",
        "--player",
        "panza",
        "--player",
        "random",
        "--start-clock",
        "3",
    ];
    let temporary = tempfile::tempdir().unwrap();
    let mut child = program()
        .args(arguments)
        .env("TMPDIR", temporary.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut message = String::new();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    stderr.read_line(&mut message).unwrap();
    let address = message
        .split("http://")
        .nth(1)
        .unwrap()
        .split('/')
        .next()
        .unwrap();
    let fetch = |path: &str| {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let body = answer.split("\r\n\r\n").nth(1).unwrap();
        serde_json::from_str::<Value>(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
    };
    let until = std::time::Instant::now() + Duration::from_secs(120);
    // A folder is there shortly before the lock on it, which shows that the match is live.
    loop {
        let list = fetch("/api/matches");
        if list["total"] == 1 && list["matches"][0]["live"] == true {
            break;
        }
        assert!(std::time::Instant::now() < until, "{list}");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Starts a command and reads its first line, so that it is known to run.
fn started(arguments: &[&str]) -> (Child, String, BufReader<std::process::ChildStdout>) {
    let mut child = program()
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    lines.read_line(&mut first).unwrap();
    (child, first, lines)
}

#[cfg(unix)]
fn send(child: &Child, signal: &str) {
    let status = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_long_command_with_status_130() {
    let (mut child, first, _lines) = started(&["bench", "ticTacToe", "--seconds", "600"]);
    assert!(first.starts_with("game"), "{first}");
    send(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_search_with_what_it_found() {
    // A signal before the search has begun ends the program at once.
    for seconds in [1, 2, 4, 8, 16] {
        let child = std::process::Command::new(env!("CARGO_BIN_EXE_panza"))
            .args(["search", "hex", "--seconds", "600", "--json"])
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_secs(seconds));
        send(&child, "-INT");
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        if text(&output.stdout).contains("\"iterations\":") {
            return;
        }
    }
    panic!("the search printed nothing");
}

#[test]
fn the_manual_has_a_page_and_completions() {
    for (form, part) in [
        ("man", ".TH panza"),
        ("bash", "_panza()"),
        ("fish", "complete -c panza"),
    ] {
        let output = run(&["manual", form]);
        assert!(text(&output.stdout).contains(part), "{form}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_aborts_a_match_at_its_players() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    // Reads requests and answers none of them, until it has read an ABORT.
    let player = std::thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b")") && matches!(stream.read(&mut byte), Ok(1)) {
                request.push(byte[0]);
            }
            // The signal may come between the connection and the START: then the connection
            // closes empty, and the ABORT comes on the next.
            if request.is_empty() {
                continue;
            }
            let request = String::from_utf8(request).unwrap();
            if request.contains("( ABORT panza.eightPuzzle.") {
                stream
                    .write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 7\r\n\r\naborted")
                    .unwrap();
                return;
            }
            assert!(request.contains("( START "), "{request}");
            held.push(stream);
        }
    });
    let arguments = [
        "match",
        "eightPuzzle",
        "--player",
        &address,
        "--start-clock",
        "600",
    ];
    let (mut child, first, _lines) = started(&arguments);
    assert!(
        first.starts_with("match 1 of 1: panza.eightPuzzle."),
        "{first}"
    );
    send(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    player.join().unwrap();
}

#[cfg(unix)]
#[test]
fn serve_prints_its_address_and_ends_on_signals() {
    for signal in ["-INT", "-TERM"] {
        let arguments = [
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--name",
            "Ada",
            "--json",
        ];
        let (mut child, first, _lines) = started(&arguments);
        let listening: Value = serde_json::from_str(&first).unwrap();
        let address = listening["listening"].as_str().unwrap();
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream
            .write_all(b"POST / HTTP/1.0\r\nContent-Length: 8\r\n\r\n( INFO )")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains("( name Ada )"), "{answer}");
        send(&child, signal);
        assert_eq!(child.wait().unwrap().code(), Some(0), "{signal}");
    }
}

/// The table behind the page whose address `panza study` has printed.
fn studied(shown: &Value) -> String {
    let listening = shown["listening"].as_str().unwrap();
    let page = format!("http://{listening}/study#");
    let study = shown["study"].as_str().unwrap();
    let table = study.strip_prefix(&page).expect("it names the study");
    let mut stream = std::net::TcpStream::connect(listening).unwrap();
    let request = format!("GET /api/tables/{table} HTTP/1.0\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn study_prints_the_address_of_its_page_and_ends_on_signals() {
    let arguments = ["study", "ticTacToe", "--no-open", "--json"];
    let (mut child, first, _lines) = started(&arguments);
    let shown: Value = serde_json::from_str(&first).unwrap();
    assert_keys(&shown, &["listening", "study"]);
    let listening = shown["listening"].as_str().unwrap();
    assert!(listening.starts_with("127.0.0.1:"), "{listening}");
    let answer = studied(&shown);
    assert!(answer.contains("\"game\":\"ticTacToe\""), "{answer}");
    send(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn study_draws_the_board_by_the_file_beside_a_rulesheet() {
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("mine.gdl");
    let source = std::fs::read_to_string(Path::new(ROOT).join("gdl-games/ticTacToe.gdl")).unwrap();
    std::fs::write(&rules, source.replace("xplayer", "first")).unwrap();
    let board = folder.path().join("mine.board.toml");
    let entry = "[[board]]\nfact = \"cell\"\narguments = 3\ncell = [1, 2]\n\
        columns = [\"1\", \"2\", \"3\"]\nrows = [\"1\", \"2\", \"3\"]\n\
        column_names = [\"left\", \"middle\", \"right\"]\n";
    std::fs::write(&board, entry).unwrap();
    let arguments = ["study", rules.to_str().unwrap(), "--no-open", "--json"];
    let (mut child, first, _lines) = started(&arguments);
    let shown: Value = serde_json::from_str(&first).unwrap();
    let answer = studied(&shown);
    assert!(answer.contains("\"middle\""), "{answer}");
    send(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(0));

    std::fs::write(&board, "[[board]]\nfact = 1\n").unwrap();
    let error = fails(&arguments, 2);
    assert!(error.contains("expected a string"), "{error}");
}

#[test]
fn study_names_the_blunders_of_a_log() {
    let folder = tempfile::tempdir().unwrap();
    let rules = std::fs::read_to_string(Path::new(ROOT).join("gdl-games/ticTacToe.gdl")).unwrap();
    let start = serde_json::json!({ "kind": "start", "data": {
        "role": "xplayer", "game": "ticTacToe", "rules": rules, "players": ["Ann", "Bob"],
    }});
    let mut events = format!("{start}\n");
    for (step, cell) in ["1 1", "2 2", "1 2", "3 3", "1 3"].iter().enumerate() {
        let mut moves = ["noop".to_string(), "noop".to_string()];
        moves[step % 2] = format!("(mark {cell})");
        let played =
            serde_json::json!({ "kind": "played", "data": { "step": step, "moves": moves } });
        events.push_str(&format!("{played}\n"));
    }
    file(folder.path(), "events.jsonl", &events);
    let path = folder.path().to_str().unwrap();
    let arguments = ["study", path, "--blunders", "--iterations", "3000"];
    let found = objects(&arguments, 0);
    let [found] = &found[..] else {
        panic!("{found:?}");
    };
    assert_keys(found, &["game", "roles", "turns", "blunders", "values"]);
    assert_eq!(
        (&found["turns"], &found["game"]),
        (&5.into(), &"ticTacToe".into())
    );
    let blunders = found["blunders"].as_array().unwrap();
    assert_eq!(blunders.len(), 1, "{found}");
    let expected = serde_json::json!({
        "turn": 4, "role": "oplayer", "player": "Bob", "played": "(mark 3 3)", "better": "(mark 1 3)",
        "value": 50.0, "after": 0.0, "proven": true,
    });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&blunders[0][key], value, "{found}");
    }
    assert_eq!(found["graded"][0]["grade"], "blunder");
    let of_bob = &found["summary"][1];
    let keys = ["moves", "inaccuracies", "mistakes", "blunders", "mean_loss"];
    let expected = serde_json::json!([2, 0, 0, 1, 25.0]);
    assert_eq!(serde_json::json!(keys.map(|key| &of_bob[key])), expected);
    assert_eq!(found["summary"][0]["accuracy"], 100.0);
    // `--ms` sets a number of iterations, so the result is the same each time.
    assert_eq!(
        &objects(&["study", path, "--blunders", "--ms", "30"], 0)[0],
        found
    );
    let shown = text(&run(&arguments).stdout);
    assert!(
        shown.starts_with("ticTacToe: 1 blunder in 5 turns\n"),
        "{shown}"
    );
    assert!(shown.contains("100 %"), "{shown}");

    let message = fails(&["study", "ticTacToe", "--blunders"], 2);
    assert!(message.contains("needs the log of a match"), "{message}");
    let message = fails(&["study", "no/such/log"], 2);
    assert!(message.contains("no file `no/such/log`"), "{message}");
    let other = file(folder.path(), "other.jsonl", "{}\n");
    let message = fails(&["study", other.to_str().unwrap()], 2);
    assert!(message.contains("this is no log of a match"), "{message}");
}

#[test]
fn serve_refuses_settings_and_addresses_that_cannot_be_used() {
    let message = fails(&["serve", "--set", "search.thread=7"], 2);
    assert!(message.contains("search.thread"), "{message}");
    let message = fails(&["serve", "--config", "none.toml"], 2);
    assert!(
        message.starts_with("error: none.toml: the settings cannot be read: "),
        "{message}"
    );
    assert_eq!(message.matches("os error").count(), 1, "{message}");
    let message = fails(&["serve", "--listen", "nowhere"], 2);
    assert!(
        message.starts_with("error: --listen nowhere: "),
        "{message}"
    );

    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    // A host name stands for its address.
    for address in [format!("127.0.0.1:{port}"), format!("localhost:{port}")] {
        let message = fails(&["serve", "--listen", &address], 2);
        let expected = format!("error: cannot listen on 127.0.0.1:{port}: ");
        assert!(message.starts_with(&expected), "{message}");
        assert_eq!(message.matches("os error").count(), 1, "{message}");
        assert!(
            message.contains("--listen 127.0.0.1:0 picks a free port"),
            "{message}"
        );
    }
    // An address of nobody, from RFC 5737.
    let message = fails(&["serve", "--listen", "192.0.2.1:9147"], 2);
    assert!(
        message.contains("not an address of this machine"),
        "{message}"
    );
    assert_eq!(message.matches("os error").count(), 1, "{message}");
}

#[cfg(unix)]
#[test]
fn serve_warns_of_a_log_folder_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let in_the_way = file(folder.path(), "logs", "");
    let logs = format!("logs.folder={}", in_the_way.display());
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--set", &logs];
    let (mut child, first, _lines) = started(&arguments);
    assert!(first.starts_with("listening on "), "{first}");
    send(&child, "-INT");
    let mut message = String::new();
    let mut stderr = child.stderr.take().unwrap();
    stderr.read_to_string(&mut message).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let expected = format!(
        "the log folder `{}` cannot be written",
        in_the_way.display()
    );
    assert!(message.contains(&expected), "{message}");
}

#[test]
fn a_closed_output_pipe_is_no_error() {
    let arguments = ["bench", "hanoi", "hanoi", "--seconds", "0.2"];
    let (mut child, first, lines) = started(&arguments);
    assert!(first.starts_with("game"), "{first}");
    // The next line comes a fifth of a second later, and finds nobody.
    drop(lines);
    let mut message = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut message)
        .unwrap();
    assert_eq!(
        (child.wait().unwrap().code(), message.as_str()),
        (Some(0), "")
    );
}

/// A game of three moves by two roles that choose at once, for the sum of what they say.
const CHOOSE: &str = "(role a) (role b) (init (at 0)) (succ 0 1) (succ 1 2) (succ 2 3)
    (<= (legal ?r ?x) (role ?r) (says ?x)) (says yes) (says no)
    (<= (next (at ?y)) (true (at ?x)) (succ ?x ?y)) (<= (next said) (does a yes) (does b no))
    (<= (next said) (true said)) (<= terminal (true (at 3)))
    (<= (goal a 30) (true said)) (<= (goal b 70) (true said))
    (<= (goal a 90) (not (true said))) (<= (goal b 10) (not (true said)))";

#[test]
fn analyse_prints_json_and_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "choose.gdl", CHOOSE);
    let path = path.to_str().unwrap();
    let objects = objects(&["analyse", path, "ticTacToe", "--seconds", "0.5"], 0);
    assert_eq!(objects.len(), 2);
    for object in &objects {
        assert_keys(
            object,
            &[
                "game",
                "roles",
                "simultaneous",
                "fixed_sum",
                "fixed_length",
                "mean_length",
                "branching",
                "factors",
                "latches",
                "symmetries",
                "heuristics",
                "parameters",
                "machine",
                "seconds",
                "study",
            ],
        );
    }
    let [choose, tic_tac_toe] = objects.as_slice() else {
        unreachable!("two objects were counted");
    };
    assert_eq!(choose["simultaneous"], true);
    assert_eq!(choose["fixed_sum"], 100);
    assert_eq!(choose["fixed_length"], 3);
    assert_eq!(choose["branching"], 4.0);
    assert_eq!(choose["factors"].as_array().map(Vec::len), Some(1));
    assert_eq!(choose["latches"]["positive"], 1);
    assert!(choose["symmetries"]["order"].as_u64() >= Some(1));
    assert_eq!(tic_tac_toe["simultaneous"], false);
    assert_eq!(tic_tac_toe["fixed_length"], Value::Null);
    assert_eq!(tic_tac_toe["roles"], 2);
    let [first, second, end] = [0, 1, 2].map(|index| &tic_tac_toe["study"]["distances"][index]);
    assert_eq!(
        (&first["role"], &second["role"], &end["role"]),
        (&"xplayer".into(), &"oplayer".into(), &Value::Null)
    );
    assert_eq!(first["goal"], 100);
    assert_eq!(first["facts_true"]["counts"][0], 9, "a line needs marks");

    let output = run(&["analyse", path, "--seconds", "0.2"]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    for expected in [
        "choose: 2 roles, a, b\n",
        "turns         simultaneous in 100 % of the states\n",
        "length        3 joint moves\n",
        "goal sum      100\n",
    ] {
        assert!(shown.contains(expected), "no `{expected}` in\n{shown}");
    }
}

/// A game that is proven at once, so that no clock has to run.
#[test]
fn a_match_writes_memory_only_where_settings_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let game = folder.path().join("once.gdl");
    std::fs::write(
        &game,
        "(role r) (init first) (<= (legal r go) (true first)) (<= (next over) (does r go))
         (<= terminal (true over)) (<= (goal r 100) (true over)) (<= (goal r 0) (true first))",
    )
    .unwrap();
    let memory = folder.path().join("memory").join("games.sqlite");
    let path = format!("memory.path={}", memory.display());
    let game = game.to_str().unwrap();
    let play = |more: &[&str]| {
        let mut arguments = vec!["match", game, "--player", "panza", "--json", "--set", &path];
        arguments.extend(more);
        let output = run(&arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    play(&[]);
    assert!(!memory.exists());
    // Two programs at once, which begin the file both.
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| play(&["--games", "3", "--set", "memory.enabled=true"]));
        }
    });
    let (rules, _) = panza_gdl::load(&std::fs::read_to_string(game).unwrap());
    let signature = signature::signature(&rules, signature::WORK).to_string();
    let mut store = Store::open(&memory, 10, Duration::from_secs(120)).unwrap();
    let known = store.read(&signature).unwrap().expect("it was played");
    assert_eq!(known.matches.len(), 6);
    assert!(
        known
            .matches
            .iter()
            .all(|played| played.goals == [Some(100)])
    );
}

/// The first lines of a server that runs in a folder, until one of them says what is remembered.
fn lines_of_a_server(folder: &Path) -> Vec<String> {
    let mut server = program()
        .current_dir(folder)
        .env("XDG_STATE_HOME", folder.join("state"))
        .args(["serve", "--listen", "127.0.0.1:0"])
        .args(["--set", "server.log_listen=none"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let output = BufReader::new(server.stdout.take().unwrap());
    let mut lines = Vec::new();
    for line in output.lines() {
        lines.push(line.unwrap());
        if lines.last().is_some_and(|line| line.contains("remembered")) {
            break;
        }
    }
    server.kill().unwrap();
    server.wait().unwrap();
    lines
}

#[test]
#[cfg(target_os = "linux")]
fn serve_says_where_logs_and_memory_are() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let place = |name: &str| folder.join(name).display().to_string();
    let lines = lines_of_a_server(&folder);
    assert!(lines[0].starts_with("listening on "), "{lines:?}");
    let logs = format!("the logs of matches are in {}", place("state/panza/logs"));
    assert!(lines.contains(&logs), "{lines:?}");
    let memory = place("state/panza/memory.sqlite");
    assert_eq!(
        lines.last().unwrap(),
        &format!("what is remembered is in {memory}")
    );

    // What an earlier version has left is used as before.
    std::fs::create_dir_all(folder.join("logs/m")).unwrap();
    std::fs::write(folder.join("logs/m/events.jsonl"), "").unwrap();
    std::fs::write(folder.join("logs/memory.sqlite"), "").unwrap();
    let lines = lines_of_a_server(&folder);
    let logs = format!("the logs of matches are in {}", place("logs"));
    let at = lines
        .iter()
        .position(|line| *line == logs)
        .expect("the logs");
    let now = place("state/panza/logs");
    assert!(
        lines[at + 1].ends_with(&format!("the default is now {now}")),
        "{lines:?}"
    );
    let memory = place("logs/memory.sqlite");
    assert_eq!(
        lines.last().unwrap(),
        &format!("what is remembered is in {memory}")
    );
}
