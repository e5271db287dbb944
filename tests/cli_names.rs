//! Games by name, standard input, short options, helps and versions.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use serde_json::Value;

use crate::ROOT;
use crate::support::program::{fails, file, objects, program, run, text};

/// Rules of a game that ends with its first move.
const SHORT: &str = "(role a) (init start) (legal a go) (<= (next over) (does a go))
    (<= terminal (true over)) (goal a 100)";

/// Runs a command with this on standard input.
fn run_with_input(arguments: &[&str], input: &[u8]) -> Output {
    let mut command = program();
    command.args(arguments).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    // Writing fails if the command ends without reading its input; its status is checked.
    let _ = child.stdin.take().expect("it is piped").write_all(input);
    child.wait_with_output().expect("the program ends")
}

/// Writes a file, and the folders that it lies in.
fn deep_file(folder: &Path, name: &str, content: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("it has a folder")).unwrap();
    std::fs::write(path, content).unwrap();
}

#[test]
fn games_are_found_by_name_in_folders() {
    let folder = tempfile::tempdir().unwrap();
    let (plain, checkout) = (folder.path().join("plain"), folder.path().join("checkout"));
    deep_file(&plain, "mine.kif", SHORT);
    deep_file(&plain, "hex.gdl", &format!("; Mine\n{SHORT}"));
    let metadata = r#"{"gameName": "A Versioned Game", "rulesheet": "rules.kif"}"#;
    deep_file(&checkout, "games/versioned/METADATA", metadata);
    deep_file(&checkout, "games/versioned/rules.kif", "(role old)");
    deep_file(&checkout, "games/versioned/v1/rules.kif", SHORT);
    let folders = env::join_paths([&plain, &checkout]).unwrap();
    let with_folders = |arguments: &[&str]| {
        let mut command = program();
        command.args(arguments).env("PANZA_GAMES", &folders);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let listed = with_folders(&["games", "--json"]);
    let listed = listed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let listed: Vec<Value> = listed.collect();
    let of = |name: &str| listed.iter().find(|game| game["game"] == name).unwrap();
    assert_eq!(of("mine")["folder"], plain.to_str().unwrap());
    assert_eq!(of("hex")["about"], "Mine");
    assert_eq!(of("versioned")["folder"], checkout.to_str().unwrap());
    assert_eq!(of("versioned")["about"], "A Versioned Game");
    assert_eq!(of("versioned")["roles"], serde_json::json!(["a"]));
    assert_eq!(of("hanoi")["folder"], "gdl-games");
    for name in ["mine", "hex", "versioned"] {
        let shown = with_folders(&["perft", name, "--depth", "1", "--json"]);
        assert!(shown.contains("\"nodes\":1"), "{shown}");
        with_folders(&["check", name]);
    }
    // The setting has the same games.
    let setting = format!("games.folders={}", plain.display());
    let found = objects(
        &["search", "mine", "--iterations", "1", "--set", &setting],
        0,
    );
    assert_eq!(found[0]["move"], "go");
    let listed = objects(&["games", "--set", &setting], 0);
    assert!(listed.iter().any(|game| game["game"] == "mine"));
    let message = fails(&["check", "mine"], 2);
    assert!(message.starts_with("error: no game `mine`"), "{message}");
}

#[test]
fn standard_input_is_read_where_a_rulesheet_is() {
    for command in [
        &["check", "-"][..],
        &["format", "-"],
        &["convert", "-"],
        &["stats", "-"],
        &["perft", "-", "--depth", "1"],
        &["bench", "-", "--seconds", "0.01"],
        &["analyse", "-", "--seconds", "0.01"],
        &["search", "-", "--iterations", "1"],
        &["solve", "-", "--seconds", "1"],
        &["match", "-", "--player", "random"],
    ] {
        let output = run_with_input(command, SHORT.as_bytes());
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{command:?}: {message}");
    }
    let output = run_with_input(&["check", "-"], b"(role a)\n(init");
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("standard input:2:"), "{shown}");
    for (command, expected) in [
        (&["check", "-", "-"][..], "standard input is read once"),
        (&["format", "-", "--write"], "cannot be rewritten"),
        (&["study", "-", "--blunders"], "is a game"),
    ] {
        let output = run_with_input(command, SHORT.as_bytes());
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {message}");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn standard_input_is_read_where_other_files_are() {
    let position = "\u{feff}((cell 1 1 x) (cell 1 2 x) (cell 1 3 b) (cell 2 1 o))";
    let search = ["search", "ticTacToe", "--iterations", "1", "--state", "-"];
    let output = run_with_input(&search, position.as_bytes());
    let message = text(&output.stderr);
    assert!(!message.contains("expected one list"), "{message}");

    let trace = Path::new(ROOT).join("tests/traces/ticTacToe.jsonl.gz");
    let trace = std::fs::read(trace).unwrap();
    let verify = ["verify", "ticTacToe", "--trace", "-", "--json"];
    let output = run_with_input(&verify, &trace);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let compared = text(&output.stdout);
    let states = compared.lines().map(|line| {
        let object: Value = serde_json::from_str(line).unwrap();
        object["states"].as_u64().unwrap()
    });
    let states: Vec<u64> = states.collect();
    assert!(states.len() == 3 && states[0] > 10, "{states:?}");
    assert!(states.iter().all(|&count| count == states[0]), "{states:?}");

    for (command, expected) in [
        (&["tournament", "-"][..], "needs --results PATH"),
        (
            &["tournament", "-", "--results", "none.jsonl"],
            "standard input:1: ",
        ),
        (
            &["tournament", "--show", "-"],
            "standard input:1: not a result",
        ),
        (
            &["memory", "import", "-"],
            "`standard input` is not imported: ",
        ),
    ] {
        let output = run_with_input(command, b"{}\n");
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {message}");
        assert!(message.contains(expected), "{command:?}: {message}");
    }
}

#[test]
fn the_version_has_the_commit_of_a_release() {
    let version = text(&run(&["--version"]).stdout);
    let number = env!("CARGO_PKG_VERSION");
    let expected = match panza_telemetry::COMMIT {
        Some(commit) => format!("panza {number} ({commit})\n"),
        None => format!("panza {number}\n"),
    };
    assert_eq!(version, expected);
}

/// All commands, with their actions.
const COMMANDS: [&[&str]; 31] = [
    &[],
    &["serve"],
    &["match"],
    &["study"],
    &["games"],
    &["check"],
    &["format"],
    &["convert"],
    &["lsp"],
    &["verify"],
    &["perft"],
    &["stats"],
    &["analyse"],
    &["search"],
    &["train"],
    &["memory"],
    &["memory", "list"],
    &["memory", "show"],
    &["memory", "export"],
    &["memory", "import"],
    &["memory", "forget"],
    &["solve"],
    &["sokoban"],
    &["sokoban", "solve"],
    &["sokoban", "optimise"],
    &["sokoban", "check"],
    &["sokoban", "gdl"],
    &["sokoban", "bench"],
    &["bench"],
    &["tournament"],
    &["manual"],
];

#[test]
fn the_short_help_fits_a_screen_and_the_long_one_has_examples() {
    for command in COMMANDS {
        let short = text(&run(&[command, &["-h"][..]].concat()).stdout);
        assert!(short.lines().count() <= 40, "{command:?}:\n{short}");
        assert!(!short.contains("Example"), "{short}");
        assert!(short.contains("-h, --help"), "{short}");
    }
    let (short, long) = (run(&["match", "-h"]), run(&["match", "--help"]));
    assert!(text(&short.stdout).contains("see more with '--help'"));
    assert!(text(&long.stdout).contains("Examples:\n  panza match "));
}

#[test]
fn habitual_short_options_are_the_long_ones() {
    let games = |option: &str| {
        let arguments = ["match", "threeJugs", "--player", "legal", option, "2"];
        objects(&arguments, 0).len()
    };
    assert_eq!((games("-n"), games("--games")), (2, 2));
    let search = ["search", "ticTacToe", "-n", "20", "-j", "1"];
    assert_eq!(objects(&search, 0)[0]["iterations"], 20);
    let bench = ["bench", "ticTacToe", "-j", "2", "--seconds", "0.01"];
    assert_eq!(objects(&bench, 0)[0]["threads"], 2);
    for (command, options) in [
        ("solve", "-j, --threads"),
        ("train", "-j, --threads"),
        ("train", "-n, --games"),
        ("tournament", "-n, --limit"),
    ] {
        let help = text(&run(&[command, "-h"]).stdout);
        assert!(help.contains(options), "{help}");
    }
    for command in [&["memory", "export", "-h"][..], &["sokoban", "gdl", "-h"]] {
        let help = text(&run(command).stdout);
        assert!(help.contains("-o, --out"), "{help}");
    }
}

#[test]
fn a_mistyped_word_gets_the_nearest_one() {
    for (command, expected) in [
        (&["serch", "hex"][..], "'search'"),
        (&["search", "hex", "--iteratons", "1"], "'--iterations'"),
        (&["memory", "exprt", "hex"], "'export'"),
        (&["check", "conectFour"], "did you mean `connectFour`"),
        (&["check", "qqqqqqqq"], "games that `panza games` lists"),
    ] {
        let message = fails(command, 2);
        assert!(message.contains(expected), "{command:?}: {message}");
    }
}

/// A game whose rules have thousands of millions of ground instances, but few states without the
/// move `explode`.
fn exploding(folder: &Path) -> PathBuf {
    let numbers: String = (0..60)
        .map(|number| format!("(number {number})\n"))
        .collect();
    let variables = ["?a", "?b", "?c", "?d", "?e", "?f"];
    let conditions = variables.map(|variable| format!("(number {variable})"));
    let rules = format!(
        "(role r) (init start) (legal r explode) (legal r wait)\n{numbers}\
         (<= (next start) (does r wait)) (<= (next fuse) (does r explode))\n\
         (<= (next (cell {})) (true fuse) {})\n\
         (<= terminal (true (cell ?a ?b ?c ?d ?e ?f))) (goal r 50)\n",
        variables.join(" "),
        conditions.join(" ")
    );
    file(folder, "exploding.gdl", &rules)
}

#[test]
fn builds_that_explode_end_in_time_and_say_why() {
    let folder = tempfile::tempdir().unwrap();
    let path = exploding(folder.path());
    let path = path.to_str().unwrap();
    let stats = objects(&["stats", path, "--build-seconds", "0.3"], 0).remove(0);
    assert!(stats["bases"].is_null(), "{stats}");
    assert_eq!(stats["machine"], "prover");
    // How far it came differs from run to run.
    let reason = stats["reason"].as_str().unwrap().split(':').next().unwrap();
    assert_eq!(reason, "grounding was not finished in time");
    let shown = text(&run(&["stats", path, "--build-seconds", "0.3"]).stdout);
    assert!(
        shown.contains(&format!("not compiled: {reason}")),
        "{shown}"
    );

    let line = |step: u32| {
        format!(
            "{{\"playout\":0,\"step\":{step},\"state\":[\"start\"],\"terminal\":false,\
             \"legal\":{{\"r\":[\"explode\",\"wait\"]}},\"moves\":{{\"r\":\"wait\"}}}}\n"
        )
    };
    let trace = file(folder.path(), "trace.jsonl", &(line(0) + &line(1)));
    let trace = trace.to_str().unwrap();
    let verify = ["verify", path, "--trace", trace, "--build-seconds", "0.3"];
    let compared = objects(&verify, 0);
    assert!(compared[0]["refused"].as_str().unwrap().contains(reason));
    assert!(compared[1]["refused"].is_string(), "{}", compared[1]);
    assert_eq!(compared[2]["machine"], "prover");
    assert_eq!(compared[2]["states"], 2);
    let message = fails(&[&verify[..], &["--engine", "counter"]].concat(), 2);
    assert!(message.contains("no compiled machine"), "{message}");
}

#[test]
fn solve_says_what_was_shown_of_its_plan() {
    let shown = |more: &[&str]| {
        let solve = ["solve", "threeJugs", "--threads", "1", "--seconds", "20"];
        text(&run(&[&solve[..], more].concat()).stdout)
    };
    let best = "goal 100, the best there is; 7 moves, shown shortest; found by the layers solver";
    let layers = shown(&["--solver", "layers"]);
    assert!(layers.contains(best), "{layers}");
    let guided = shown(&["--solver", "guided"]);
    assert!(guided.contains("goal 100, the best there is; "), "{guided}");
    assert!(guided.contains(" moves, not shown shortest; "), "{guided}");
}

#[cfg(unix)]
#[test]
fn a_match_keeps_its_page_if_asked_to() {
    let clocks = ["--start-clock", "1", "--play-clock", "1", "--stay"];
    let players = ["--player", "panza", "--player", "random"];
    let folder = tempfile::tempdir().unwrap();
    let mut child = program()
        .args([&["match", "ticTacToe"][..], &players, &clocks].concat())
        .env("TMPDIR", folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let stays = |line: &str| line.contains("shows this until Ctrl-C");
    let said = lines.map(|line| line.unwrap()).find(|line| stays(line));
    let said = said.expect("the command stays");
    let address = said.split(['/', ' ']).nth(2).unwrap().to_string();
    assert!(std::net::TcpStream::connect(&address).is_ok(), "{said}");
    let id = child.id().to_string();
    let sent = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status();
    assert!(sent.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));

    let message = fails(&["match", "threeJugs", "--player", "legal", "--stay"], 2);
    assert!(
        message.contains("--stay keeps the page of a player panza"),
        "{message}"
    );
}
