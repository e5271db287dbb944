//! Duels: the sequential test, the engine's protocol, and duels that repeat exactly.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use panza_cli::engine_choice::build_for_playouts;
use panza_cli::{EngineChoice, EngineKind, Game};
use panza_game::BuiltGame;
use panza_lab::duel::LocalEngine;
use panza_lab::duel::protocol::{Command, Engine};
use panza_memory::GameMemory;
use panza_metagame::sprt::{Hypotheses, MIN_PAIRS, PairTally, Verdict, bound, elo};
use panza_metagame::{RoundPlan, Training};
use panza_referee::Opening;
use panza_search::{PARAMETERS, SearchConfig};
use serde_json::Value;

use crate::program::{fails, objects, program, run, text};

const HYPOTHESES: Hypotheses = Hypotheses {
    elo0: 0.0,
    elo1: 35.0,
};

fn tally(counts: [u32; 5]) -> PairTally {
    let mut tally = PairTally::default();
    for (half_points, count) in (0u32..).zip(counts) {
        (0..count).for_each(|_| tally.add(f64::from(half_points) / 2.0));
    }
    tally
}

fn assert_close(found: f64, expected: f64) {
    let tolerance = 1e-3 * expected.abs().max(1.0);
    assert!((found - expected).abs() < tolerance, "{found}, {expected}");
}

#[test]
fn the_test_gives_numbers_computed_by_hand() {
    // The scores of 0 and 35 Elo are 0.5 and 0.550199; the bound is ln 19.
    assert_close(bound(), 2.944_439);
    assert_close(elo(0.550_199_353), 35.0);
    // Mean 0.5, variance 0.075: 100 / 2 * 0.050199 * (1 - 1.050199) / 0.075.
    let even = tally([10, 20, 40, 20, 10]);
    assert_close(even.llr(HYPOTHESES), -1.679_98);
    assert_eq!(even.verdict(HYPOTHESES), Verdict::Open);
    // Mean 0.6125, variance 0.446875 - 0.6125^2 = 0.07171875.
    let better = tally([5, 10, 40, 25, 20]);
    assert_close(better.llr(HYPOTHESES), 6.117_56);
    assert_eq!(better.verdict(HYPOTHESES), Verdict::Stronger);
    // The interval: 0.6125 ± 1.96 * sqrt(0.07171875 * 100 / 99 / 100).
    let (low, high) = better.interval().unwrap();
    assert_close(low, 0.6125 - 0.052_75);
    assert_close(high, 0.6125 + 0.052_75);
    assert_eq!(
        tally([20, 25, 40, 10, 5]).verdict(HYPOTHESES),
        Verdict::NotStronger
    );
}

#[test]
fn pairs_are_counted_by_points() {
    let mut counted = PairTally::default();
    for points in [0.0, 0.5, 1.0, 1.5, 2.0, 0.3, 1.46, 1.8] {
        counted.add(points);
    }
    assert_eq!(counted.counts, [1, 2, 1, 2, 2]);
    assert_close(counted.score().unwrap(), 8.56 / 16.0);
    let mut both = tally([1, 0, 0, 2, 0]);
    both.merge(&tally([0, 1, 0, 1, 1]));
    assert_eq!(both, tally([1, 1, 0, 3, 1]));
    assert_eq!(both.pairs(), 6);
    assert_eq!(PairTally::default().score(), None);
    assert_eq!(tally([0, 0, 1, 0, 0]).interval(), None);
}

#[test]
fn few_pairs_decide_nothing_and_equal_ones_divide_by_no_variance() {
    let won = |pairs| tally([0, 0, 0, 0, pairs]).verdict(HYPOTHESES);
    assert_eq!(won(MIN_PAIRS - 1), Verdict::Open);
    assert_eq!(won(MIN_PAIRS), Verdict::Stronger);
    let drawn = tally([0, 0, MIN_PAIRS, 0, 0]);
    assert!(drawn.llr(HYPOTHESES).is_finite());
    assert_eq!(drawn.verdict(HYPOTHESES), Verdict::NotStronger);
    assert!(PairTally::default().llr(HYPOTHESES).is_finite());
}

/// The replies of an engine to commands, an error as its text.
fn replies(engine: &mut LocalEngine, commands: &[&str]) -> Vec<String> {
    let ask = |command: &&str| {
        let command = command.parse::<Command>();
        match command.and_then(|command| engine.ask(&command)) {
            Ok(reply) => reply.to_string(),
            Err(error) => format!("{error:#}"),
        }
    };
    commands.iter().map(ask).collect()
}

#[test]
fn commands_are_written_as_they_are_read() {
    for line in [
        "version",
        "game my games/x.gdl",
        "study 2.5 7",
        "set exploration 0.6",
        "save a study.json",
        "load a study.json",
        "new 1 9",
        "advance (mark 1 1) | noop",
        "think 0 30",
        "iterate 1 1000",
        "quit",
    ] {
        assert_eq!(line.parse::<Command>().unwrap().to_string(), line);
    }
}

#[test]
fn an_engine_says_what_is_wrong_with_a_command() {
    let mut engine = LocalEngine::new().unwrap();
    for (command, expected) in [
        ("", "unknown command ``"),
        (
            "play 1",
            "unknown command `play`; the commands are version, ",
        ),
        ("game", "expected `game PATH`"),
        ("game noSuchGame", "no game `noSuchGame`"),
        ("new 0 1", "no game; `game PATH` comes first"),
        ("study 1", "expected `study SECONDS SEED`"),
        ("study soon 1", "SECONDS is `soon`; expected a number"),
        ("study -1 1", "SECONDS is `-1`; expected 0 to"),
        ("think 0 NaN", "MS is `NaN`; expected 0 to"),
        ("new x 1", "ROLE is `x`; expected a number"),
        ("iterate 0 -5", "N is `-5`; expected a number"),
        ("set exploration", "expected `set KEY VALUE`"),
        ("load", "expected `load FILE`"),
        ("save x", "no game; `game PATH` comes first"),
        ("set amaf off", "amaf is `off`; expected true or false"),
        ("set exploration much", "exploration is `much`"),
        (
            "set evaluation_share 2",
            "evaluation_share is `2`; expected 0 to 1",
        ),
        (
            "set width 100",
            "width is `100`; expected 256, 512 or 1024, or 0",
        ),
        (
            "set factored maybe",
            "factored is `maybe`; expected true or false",
        ),
        (
            "set colour red",
            "unknown setting `colour`; the settings are ",
        ),
        ("quit now", "expected `quit` alone"),
    ] {
        let found = replies(&mut engine, &[command]).remove(0);
        assert!(found.starts_with(expected), "{command}: {found}");
    }
    for parameter in PARAMETERS {
        let command = format!("set {} {}", parameter.name, parameter.default);
        assert_eq!(replies(&mut engine, &[&command]), ["{}"], "{command}");
        let keys = replies(&mut engine, &["set colour red"]).remove(0);
        assert!(keys.contains(parameter.name), "{keys}");
    }
    let game = replies(&mut engine, &["set width 512", "game ticTacToe"]).remove(1);
    assert!(game.contains(r#""roles":["xplayer","oplayer"]"#), "{game}");
    for (command, expected) in [
        ("new 2 1", "ROLE is 2; the game has 2 roles"),
        ("iterate 0 5", "role 0 has no search; `new` makes it"),
        ("think 7 5", "role 7 has no search"),
        ("advance (mark 1 1)", "1 moves for 2 roles"),
        (
            "advance (mark 9 9) | noop",
            "xplayer has no move `(mark 9 9)`",
        ),
        (
            "advance noop | noop",
            "`noop` is not legal here for xplayer",
        ),
    ] {
        let found = replies(&mut engine, &[command]).remove(0);
        assert!(found.starts_with(expected), "{command}: {found}");
    }
}

#[test]
fn an_engine_plays_by_texts_of_moves() {
    let mut engine = LocalEngine::new().unwrap();
    let moves = [
        "(mark 1 1) | noop",
        "noop | (mark 2 1)",
        "(mark 1 2) | noop",
        "noop | (mark 2 2)",
    ];
    let moves = moves.map(|mv| format!("advance {mv}"));
    let start = ["set width 512", "game ticTacToe", "new 0 1"];
    let commands = start.into_iter().chain(moves.iter().map(String::as_str));
    let commands: Vec<&str> = commands.chain(["think 0 20"]).collect();
    let thought = replies(&mut engine, &commands).pop().unwrap();
    let thought: Value = serde_json::from_str(&thought).unwrap();
    assert_eq!(thought["move"], "(mark 1 3)", "{thought}");
    assert_eq!(thought["proven"], true, "{thought}");
    assert_eq!(thought["value"], 100.0, "{thought}");
    let over = replies(&mut engine, &["advance (mark 1 3) | noop", "think 0 20"]).remove(1);
    assert_eq!(over, "the game is over");
    // A new game begins at the initial state.
    let again = replies(
        &mut engine,
        &["new 1 1", "advance (mark 1 1) | noop", "iterate 1 300"],
    );
    let thought: Value = serde_json::from_str(&again[2]).unwrap();
    assert_eq!(thought["move"], "(mark 2 2)", "{thought}");
    assert!(thought["visits"].as_u64() > Some(0), "{thought}");
}

#[test]
fn studies_begin_with_what_long_training_has_left() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("memory.sqlite");
    let game = Game::load("ticTacToe").unwrap();
    let memory = format!("set memory {}", file.display());
    let study = |engine: &mut LocalEngine| {
        let commands = [
            memory.as_str(),
            "set width 512",
            "game ticTacToe",
            "study 0.1 1",
        ];
        replies(engine, &commands).remove(3)
    };
    let missing = study(&mut LocalEngine::new().unwrap());
    assert!(missing.starts_with("no memory file `"), "{missing}");

    let (mut notes, _) = GameMemory::open(&file, 10, &game.rules).unwrap();
    let untrained = study(&mut LocalEngine::new().unwrap());
    assert!(
        untrained.ends_with("holds no training of the game"),
        "{untrained}"
    );

    let built = build_for_playouts(&game.rules, EngineChoice::Only(EngineKind::Lanes), 512);
    let built = BuiltGame::from(built.unwrap().machine().unwrap());
    let mut training = Training::new(&built, SearchConfig::deterministic(1), None).unwrap();
    let never = Arc::new(AtomicBool::new(false));
    let plan = RoundPlan {
        time: Duration::from_secs(1),
        threads: 1,
        seed: 1,
        cancelled: &never,
        members: None,
    };
    training.round(&plan).unwrap();
    notes.write(&training.notes().unwrap()).unwrap();
    let reply = study(&mut LocalEngine::new().unwrap());
    let reply: Value = serde_json::from_str(&reply).unwrap();
    let trained = training.progress().games as u64;
    assert!(
        trained > 0 && reply["games"].as_u64() >= Some(trained),
        "{reply}"
    );
}

#[test]
fn the_program_replies_a_line_to_each_command_and_ends_with_its_input() {
    let mut engine = program()
        .arg("engine")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let commands = "version\nnonsense\ngame ticTacToe\nnew 0 x\n";
    let mut input = engine.stdin.take().unwrap();
    input.write_all(commands.as_bytes()).unwrap();
    drop(input);
    let output = engine.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let output = text(&output.stdout);
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines.len(), 4, "{output}");
    assert!(lines[0].contains(r#""name":"Panza""#), "{output}");
    assert!(
        lines[1].starts_with("error unknown command `nonsense`"),
        "{output}"
    );
    assert!(lines[2].contains(r#""game":"ticTacToe""#), "{output}");
    assert!(lines[3].starts_with("error SEED is `x`"), "{output}");
}

/// The pairs of a duel of a few iterations, without what the clock decides.
fn pairs(more: &[&str]) -> Vec<Value> {
    let duel = [
        "duel",
        "--game",
        "ticTacToe",
        "--iterations",
        "50",
        "--pairs",
        "3",
        "--seed",
        "7",
    ];
    let found = objects(&[&duel[..], more].concat(), 1);
    let mut pairs: Vec<Value> = found
        .into_iter()
        .filter(|object| object.get("opening").is_some())
        .collect();
    for pair in &mut pairs {
        for engine in ["a", "b"] {
            pair[engine]["seconds"].take();
            pair["terms"][engine].take();
        }
    }
    pairs
}

#[test]
fn a_seed_and_iterations_repeat_a_duel() {
    let first = pairs(&[]);
    assert_eq!(first.len(), 3);
    for pair in &first {
        let plies = pair["opening"].as_array().unwrap().len();
        assert!((2..=8).contains(&plies), "{pair}");
        assert!(pair["a"]["iterations"].as_u64() > Some(0), "{pair}");
    }
    assert_eq!(pairs(&[]), first);
    // Over pipes the same engine plays the same games.
    let program = format!("{} engine", env!("CARGO_BIN_EXE_panza-lab"));
    assert_eq!(pairs(&["--b-program", &program]), first);
    assert_ne!(pairs(&["--b", "exploration=5,first_play_visits=0"]), first);
}

#[test]
fn a_duel_goes_on_after_the_pairs_of_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("d.jsonl");
    let duel = [
        "duel",
        "--game",
        "ticTacToe",
        "--iterations",
        "30",
        "--out",
        file.to_str().unwrap(),
    ];
    let of = |pairs: &str| {
        let output = run(&[&duel[..], &["--pairs", pairs]].concat());
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        let pairs = std::fs::read_to_string(&file).unwrap();
        (pairs, text(&output.stdout))
    };
    let (two, _) = of("2");
    assert_eq!(two.lines().count(), 2);
    // A line that was cut off is played again.
    std::fs::write(&file, format!("{two}{}", &two[..40])).unwrap();
    let (three, page) = of("3");
    assert!(three.starts_with(&two), "{three}");
    assert_eq!(three.lines().count(), 3);
    for expected in [
        "# Duel\n",
        "| ticTacToe | - | 3 | ",
        "| ticTacToe | B | ",
        " 30 iterations",
    ] {
        assert!(page.contains(expected), "no `{expected}` in\n{page}");
    }
    let message = fails(&[&duel[..], &["--seed", "2"]].concat(), 2);
    assert!(message.contains("has pairs of another duel"), "{message}");
}

#[test]
fn a_duel_needs_two_roles_engines_that_answer_and_settings() {
    let duel = |more: &[&str]| fails(&[&["duel"], more].concat(), 2);
    for (arguments, expected) in [
        (
            &["--game", "hanoi"][..],
            "expected a game of two or more roles",
        ),
        (
            &["--game", "ticTacToe", "ticTacToe"],
            "two games are called",
        ),
        (
            &["--game", "ticTacToe", "--a", "fast"],
            "expected KEY=VALUE",
        ),
        (
            &["--game", "ticTacToe", "--a", "speed=9"],
            "engine A: unknown setting `speed`",
        ),
        (
            &["--game", "ticTacToe", "--elo0", "50"],
            "--elo1 must be above --elo0",
        ),
        (
            &["--game", "ticTacToe", "--b-program", "no/such"],
            "cannot start `no/such`",
        ),
        (
            &["--game", "ticTacToe", "--b-program", "true"],
            "the program ended at `version`",
        ),
        (
            &["--game", "ticTacToe", "--b-program", "head -n 1"],
            "is no reply to `version`",
        ),
    ] {
        let message = duel(arguments);
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
}

/// A book of few openings of a game, made in little time.
fn book(folder: &Path, game: &str, more: &[&str]) -> PathBuf {
    let file = folder.join("book.jsonl");
    let made = [
        "book",
        "--game",
        game,
        "--openings",
        "2",
        "--seconds",
        "0.1",
        "--out",
        file.to_str().unwrap(),
    ];
    objects(&[&made[..], more].concat(), 0);
    file
}

#[test]
fn a_book_goes_on_and_game_managers_read_its_openings() {
    let folder = tempfile::tempdir().unwrap();
    let moves = folder.path().join("moves");
    let more = ["--moves", moves.to_str().unwrap()];
    let file = book(folder.path(), "breakthrough", &more);
    let made = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<Value> = made
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    for line in &lines {
        let opening = &line["opening"];
        assert!(opening["moves"].as_array().unwrap().len() >= 2, "{line}");
        for values in opening["values"].as_array().unwrap() {
            let values: Vec<f64> = serde_json::from_value(values.clone()).unwrap();
            assert!((values[0] - values[1]).abs() <= 20.0, "{line}");
        }
    }
    let game = Game::load("breakthrough").unwrap();
    let openings = Opening::read_all(&moves.join("breakthrough"), &game.rules).unwrap();
    for (opening, line) in openings.iter().zip(&lines) {
        let moves: Vec<String> = opening.moves.iter().map(|mv| mv.join(" | ")).collect();
        assert_eq!(line["opening"]["moves"], serde_json::json!(moves), "{line}");
    }
    assert_eq!(openings.len(), 2);

    // A line that is missing is made again, as before but for the clock.
    std::fs::write(&file, made.split_inclusive('\n').next().unwrap()).unwrap();
    book(folder.path(), "breakthrough", &[]);
    let again = std::fs::read_to_string(&file).unwrap();
    assert!(again.starts_with(made.lines().next().unwrap()), "{again}");
    assert_eq!(again.lines().count(), 2);
    let other = [
        "book",
        "--game",
        "breakthrough",
        "--seed",
        "2",
        "--seconds",
        "0.1",
        "--out",
        file.to_str().unwrap(),
    ];
    let message = fails(&other, 2);
    assert!(message.contains("has openings of --seed 1"), "{message}");
}

#[test]
fn a_duel_plays_the_openings_of_a_book_with_shared_studies() {
    let folder = tempfile::tempdir().unwrap();
    let file = book(folder.path(), "breakthrough", &[]);
    let studies = folder.path().join("studies");
    let (file, studies) = (file.to_str().unwrap(), studies.to_str().unwrap());
    let duel = |more: &[&str]| {
        let duel = [
            "duel",
            "--game",
            "breakthrough",
            "--book",
            file,
            "--iterations",
            "20",
            "--pairs",
            "3",
            "--studies",
            "2",
        ];
        let found = objects(&[&duel[..], more].concat(), 1);
        let is_pair = |object: &Value| object.get("opening").is_some();
        let (pairs, rows): (Vec<Value>, Vec<Value>) = found.into_iter().partition(is_pair);
        (pairs, rows)
    };
    let (pairs, rows) = duel(&["--study", "0.5", "--save-studies", studies]);
    assert_eq!(pairs.len(), 3);
    assert_eq!(pairs[0]["opening"], pairs[2]["opening"], "two openings");
    assert_ne!(pairs[0]["opening"], pairs[1]["opening"]);
    let of_pairs: Vec<_> = pairs.iter().map(|pair| pair["study"].as_u64()).collect();
    assert_eq!(of_pairs, [Some(0), Some(1), Some(0)]);
    assert_eq!(rows.last().unwrap()["pairs"], 3);
    let games = |pair: &Value, engine: &str| pair[engine]["studies"][0]["games"].clone();

    // Both play with A's studies, which are read as they were written.
    let (shared, _) = duel(&["--share-studies", studies]);
    for (own, shared) in pairs.iter().zip(&shared) {
        assert_eq!(games(shared, "a"), games(own, "a"));
        assert_eq!(games(shared, "b"), games(own, "a"));
        assert_eq!(shared["a"]["studies"], shared["b"]["studies"]);
    }
    // With equal studies and iterations everything repeats.
    let without_times = |mut pairs: Vec<Value>| {
        for pair in &mut pairs {
            for engine in ["a", "b"] {
                pair[engine]["seconds"].take();
            }
        }
        pairs
    };
    let (again, _) = duel(&["--share-studies", studies]);
    assert_eq!(without_times(again), without_times(shared));

    let message = fails(
        &[
            "duel",
            "--game",
            "ticTacToe",
            "--share-studies",
            studies,
            "--iterations",
            "20",
        ],
        2,
    );
    assert!(message.contains("no study `"), "{message}");
    let message = fails(&["duel", "--game", "ticTacToe", "--book", file], 2);
    assert!(
        message.contains("the book has no opening of ticTacToe"),
        "{message}"
    );
}

#[test]
fn with_more_roles_the_single_role_goes_round() {
    let duel = [
        "duel",
        "--game",
        "ticTacToeThree",
        "--iterations",
        "20",
        "--pairs",
        "3",
    ];
    let found = objects(&duel, 1);
    let pairs = found.iter().filter(|it| it.get("opening").is_some());
    let pairs: Vec<&Value> = pairs.collect();
    assert_eq!(pairs.len(), 3);
    for pair in pairs {
        assert_eq!(pair["opening_values"].as_array().unwrap().len(), 3);
        let won: Vec<f64> = serde_json::from_value(pair["won"].clone()).unwrap();
        assert!(
            won.iter().all(|won| [0.0, 0.5, 1.0].contains(won)),
            "{pair}"
        );
    }
}

#[test]
fn games_that_are_held_out_are_shown_only_together() {
    let folder = tempfile::tempdir().unwrap();
    let sheet = |name: &str| {
        let path = folder.path().join(format!("{name}.gdl"));
        std::fs::copy(format!("{}/gdl-games/ticTacToe.gdl", crate::ROOT), &path).unwrap();
        path
    };
    let paths = ["racer", "blocker"].map(sheet);
    let [held_out, open] = paths.each_ref().map(|path| path.to_str().unwrap());
    let duel = [
        "duel",
        "--iterations",
        "20",
        "--pairs",
        "2",
        "--game",
        held_out,
        open,
    ];
    let output = run(&duel);
    let page = text(&output.stdout);
    assert!(page.contains("| held out: 1 game | - | 2 |"), "{page}");
    assert!(page.contains("| blocker | simultaneous | 2 |"), "{page}");
    assert!(!page.contains("| racer"), "{page}");
    for object in objects(&duel, 1) {
        assert_ne!(object["game"], "racer", "{object}");
    }
}

#[test]
fn the_measure_is_checked_by_two_duels_that_play_all_their_pairs() {
    let check = [
        "duel",
        "--itself",
        "--game",
        "ticTacToe",
        "--iterations",
        "20",
        "--pairs",
        "3",
        "--json",
    ];
    let output = run(&check);
    let objects: Vec<Value> = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let pairs = objects.iter().filter(|it| it.get("opening").is_some());
    assert_eq!(pairs.count(), 6);
    let said = objects.last().unwrap();
    assert!(said["equal_holds"].is_boolean(), "{said}");
    assert!(said["halved_is_found"].is_boolean(), "{said}");
}

#[test]
fn anchors_need_players_and_openings() {
    let folder = tempfile::tempdir().unwrap();
    let file = book(folder.path(), "breakthrough", &[]);
    let out = folder.path().join("anchors.jsonl");
    // A player that never listens: its matches have no result.
    let anchors = [
        "anchors",
        "--game",
        "breakthrough",
        "--book",
        file.to_str().unwrap(),
        "--opponent",
        "sleep 60 {port}",
        "--player",
        "sleep 60 {port}",
        "--ready",
        "1",
        "--limit",
        "1",
        "--out",
        out.to_str().unwrap(),
    ];
    let output = run(&anchors);
    let said = text(&output.stderr);
    match std::thread::available_parallelism().map_or(1, |it| it.get()) {
        1 => assert!(said.contains("two cores are needed"), "{said}"),
        _ => assert!(
            said.contains("breakthrough from 00.txt, panza - opponent: not played"),
            "{said}"
        ),
    }
    let openings = folder.path().join("anchors.openings");
    assert!(openings.join("breakthrough/01.txt").is_file());
    let message = fails(
        &[&anchors[..1], &["--game", "ticTacToe"], &anchors[3..]].concat(),
        2,
    );
    assert!(
        message.contains("no opening of a game of two roles"),
        "{message}"
    );
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_match_of_anchors_that_is_played() {
    use rustix::process::{Pid, Signal, kill_process};
    if std::thread::available_parallelism().map_or(1, |it| it.get()) == 1 {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = book(folder.path(), "breakthrough", &[]);
    let started = folder.path().join("started");
    let opponent = format!(
        "sh -c 'touch {} && exec sleep 60' {{port}}",
        started.display()
    );
    let anchors = program()
        .args(["anchors", "--game", "breakthrough", "--limit", "1"])
        .args(["--player", "sleep 60 {port}", "--opponent", &opponent])
        .args(["--ready", "60", "--book"])
        .arg(&file)
        .arg("--out")
        .arg(folder.path().join("anchors.jsonl"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let waits = (0..600).find(|_| {
        std::thread::sleep(Duration::from_millis(100));
        started.is_file()
    });
    kill_process(Pid::from_child(&anchors), Signal::INT).unwrap();
    let output = anchors.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert!(waits.is_some(), "{said}");
    assert!(!said.contains("not played"), "{said}");
    assert_eq!(output.status.code(), Some(130), "{said}");
}
