//! Oracles: the files, verification and scores.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use panza_cli::Game;
use panza_cli::engine_choice::build_machine;
use panza_lab::oracle::Oracle;
use panza_lab::oracle::score::{SearchBudget, fixed_machine, score};
use panza_machine::Machine;
use panza_search::SearchConfig;

use crate::ROOT;
use crate::program::{assert_keys, fails, file, objects};

fn machine(game: &str) -> Arc<dyn Machine> {
    let game = Game::load(game).expect("the game is one of ours");
    build_machine(&game.rules).expect("the game is one of ours")
}

#[test]
fn games_of_chance_have_oracles_of_expected_goals() {
    let path = format!("{ROOT}/lab/tests/lab/diceRace.jsonl");
    let shown = path.as_str();
    let score = &objects(&["oracle", "score", shown, "--iterations", "2000"], 0)[0];
    assert_eq!(score["positions"], 6);
    let message = fails(&["oracle", "verify", shown], 2);
    assert!(message.contains("games with chance"), "{message}");
}

/// An oracle of the first positions of one of the project's.
fn few(folder: &Path, game: &str, count: usize) -> PathBuf {
    let text = std::fs::read_to_string(format!("{ROOT}/lab/oracles/{game}.jsonl")).unwrap();
    let lines: Vec<&str> = text.lines().take(1 + count).collect();
    file(folder, &format!("{game}.jsonl"), &lines.join("\n"))
}

#[test]
fn oracles_are_verified_and_scored() {
    let folder = tempfile::tempdir().unwrap();
    let path = few(folder.path(), "ticTacToe", 12);
    let text = std::fs::read_to_string(&path).unwrap();
    let oracle = Oracle::open(&path).unwrap();
    assert_eq!(oracle.file.positions.len(), 12);

    let shown = path.to_str().unwrap();
    let verify = ["oracle", "verify", shown, "--positions", "12"];
    assert_eq!(objects(&verify, 0).len(), 12);
    let checked = objects(&["oracle", "check", shown, "--iterations", "5000"], 0);
    assert!(checked.iter().all(|finding| finding["is_good"] == true));

    let reports = objects(&["oracle", "score", shown, "--iterations", "20,200"], 0);
    assert_eq!(reports.len(), 2);
    for report in &reports {
        assert_keys(
            report,
            &["oracle", "share", "share_low", "share_high", "mean_lost"],
        );
        assert_eq!(report["positions"], 12);
    }
    let timed = &objects(
        &["oracle", "score", shown, "--ms", "2", "--positions", "3"],
        0,
    )[0];
    assert_eq!(
        (&timed["milliseconds"], &timed["positions"]),
        (&2.into(), &3.into())
    );

    // A wrong value is found.
    let wrong = text.replacen(":[0]", ":[100]", 1);
    assert_ne!(wrong, text);
    std::fs::write(&path, wrong).unwrap();
    let faults = objects(&verify, 1);
    let faults = faults.iter().filter_map(|report| report["fault"].as_str());
    let faults: Vec<&str> = faults.collect();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].contains(" is worth less than 100"), "{faults:?}");
}

#[test]
fn a_score_of_a_number_of_iterations_repeats() {
    let folder = tempfile::tempdir().unwrap();
    let path = few(folder.path(), "biddingTicTacToe", 4);
    let oracle = Oracle::open(&path).unwrap();
    let machine = fixed_machine(&oracle.game.rules).unwrap();
    let config = SearchConfig {
        samples_per_request: 0,
        ..SearchConfig::deterministic(1)
    };
    let run = || {
        let budget = SearchBudget::Iterations(300);
        let score = score(&oracle, &machine, &config, budget, None).unwrap();
        (score.positions, score.losing, score.lost, score.iterations)
    };
    let first = run();
    assert_eq!(first.0, 4);
    assert_eq!(run(), first);
}

#[test]
fn blunders_are_compared_with_proofs() {
    let players = ["--players", "0", "--matches", "5", "--opening", "1"];
    let arguments = ["oracle", "blunders", "ticTacToe", "--iterations", "2000"];
    let tally = &objects(&[&arguments[..], &players].concat(), 0)[0]["tally"];
    assert_eq!(tally["unproven"], 0, "{tally}");
    assert_eq!(tally["found"], tally["real"], "{tally}");
    assert!(tally["real"].as_u64() > Some(0), "{tally}");
    let message = fails(&["oracle", "blunders", "diceRace"], 2);
    assert!(message.contains("games with chance"), "{message}");
}

#[test]
fn errors_name_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.jsonl");
    let shown = path.to_str().unwrap();
    let head = r#"{"game":"ticTacToe","about":""}"#;
    let message = |lines: &[&str]| {
        std::fs::write(&path, lines.join("\n")).unwrap();
        fails(&["oracle", "score", shown, "--iterations", "1"], 2)
    };
    let cases = [
        (vec![], ":1"),
        (vec![r#"{"game":"ticTacToe"}"#], ":1: missing field `about`"),
        (vec![head, "{"], ":2: EOF while parsing"),
        (
            vec![head, r#"{"role":"x","author":1}"#],
            ":2: unknown field `author`",
        ),
        (
            vec![head, r#"{"role":"red","moves":"","values":{}}"#],
            ":2: no role `red`",
        ),
        (
            vec![
                head,
                r#"{"role":"xplayer","moves":"((mark 1 1) (mark 1 2))","values":{}}"#,
            ],
            ":2: joint move 1 `((mark 1 1) (mark 1 2))`: `(mark 1 2)` is not legal for oplayer",
        ),
        (
            vec![
                head,
                r#"{"role":"xplayer","moves":"","values":{"(mark 1 1)":[50]}}"#,
            ],
            ":2: 1 of 9 legal moves have values",
        ),
        (
            vec![
                head,
                r#"{"role":"xplayer","moves":"","values":{"(mark 1 1)":[50,50]}}"#,
            ],
            ":2: `(mark 1 1)` has 2 values; 1 were expected",
        ),
    ];
    for (lines, expected) in cases {
        let message = message(&lines);
        assert!(message.contains(&format!("{shown}{expected}")), "{message}");
    }
    let missing = fails(&["oracle", "score", "chess", "--iterations", "1"], 2);
    assert!(
        missing.contains("cannot read `lab/oracles/chess.jsonl`"),
        "{missing}"
    );
}

#[test]
fn the_oracles_of_the_project_fit_their_games() {
    let folder = Path::new(ROOT).join("lab/oracles");
    let mut bytes = 0;
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_none_or(|extension| extension != "jsonl")
        {
            continue;
        }
        bytes += std::fs::metadata(&path).unwrap().len();
        let file = panza_lab::oracle::file::OracleFile::read(&path).unwrap();
        count += file.positions.len();
        // Published rulesheets are not part of the project.
        let sheet = Path::new(ROOT).join(&file.head.game);
        let game = match file.head.game.contains('/') {
            true if !sheet.is_file() => continue,
            true => sheet.to_str().unwrap().to_string(),
            false => file.head.game,
        };
        let machine = machine(&game);
        for (index, position) in file.positions.iter().enumerate() {
            let setup = position.set_up(&machine);
            let setup = setup.unwrap_or_else(|error| panic!("{path:?} {index}: {error:#}"));
            let table = setup.claims.values().expect("these oracles have values");
            assert!(table.lost_by_chance() > 0.9, "{path:?} {index}");
        }
    }
    assert!(count >= 2_000, "{count} positions");
    assert!(bytes < 2_000_000, "{bytes} bytes");
}
