//! Openings that the game manager plays: the commands, and our player, which follows moves of its
//! role that it did not make.

use std::collections::BTreeSet;
use std::path::Path;

use panza_cli::{Game, SettingsChoice, interrupt};
use panza_gdl::{Id, RoleId, TermId};
use panza_prover::Prover;
use panza_referee::game_manager::messages::rules_on_one_line;
use panza_referee::{
    Clocks, Fault, MatchPlan, Opening, Patience, Player, PlayerSpec, RoleTurn, Spectator,
    play_match,
};
use serde_json::{Value, json};

use crate::support::program::{fails, file, objects, run, text};

/// An opening of ticTacToe.
const MOVES: &str = "; the centre, then an edge\n((mark 2 2) noop)\n\n(noop (mark 1 2))\n";

#[test]
fn a_match_from_an_opening_says_which_turns_were_forced_and_replays() {
    let folder = tempfile::tempdir().unwrap();
    let moves = file(folder.path(), "edge.txt", MOVES);
    let players = [
        "--player", "legal", "--player", "random", "--games", "2", "--swap",
    ];
    let command = ["match", "ticTacToe", "--opening", moves.to_str().unwrap()];
    let command = [&command[..], &players].concat();
    let found = objects(&command, 0);
    assert_eq!(found[1]["players"], json!(["random", "legal"]));
    for mut found in found {
        assert_eq!(
            (&found["opening"], &found["forced_steps"]),
            (&json!("edge.txt"), &json!(2))
        );
        let opening = json!([["(mark 2 2)", "noop"], ["noop", "(mark 1 2)"]]);
        assert_eq!(
            found["moves"].as_array().unwrap()[..2],
            opening.as_array().unwrap()[..]
        );
        assert!(found["steps"].as_u64().unwrap() >= 5, "{found}");
        found["states"] = json!([]);
        found["isCompleted"] = json!(true);
        let goals = ["xplayer", "oplayer"].map(|role| found["goals"][role].clone());
        found["goalValues"] = json!(goals);
        let record = file(folder.path(), "match.json", &found.to_string());
        objects(&["replay", record.to_str().unwrap()], 0);
    }
    let shown = text(&run(&command).stdout);
    for expected in [
        "\n  opening: edge.txt, 2 joint moves\n",
        "\nstep 2, of the opening\n",
        "\nstep 3\n",
    ] {
        assert!(shown.contains(expected), "no `{expected}` in {shown}");
    }
}

#[test]
fn a_faulty_opening_is_told_before_the_match() {
    let folder = tempfile::tempdir().unwrap();
    let moves = file(folder.path(), "m.txt", &MOVES.replace("1 2", "2 2"));
    let players = ["--player", "panza", "--player", "random"];
    let command = ["match", "ticTacToe", "--opening", moves.to_str().unwrap()];
    let message = fails(&[&command[..], &players].concat(), 2);
    let expected = "m.txt:4: `(mark 2 2)` is no legal move of oplayer here; expected (mark 1 1), ";
    assert!(message.contains(expected), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    let clock = ["match", "ticTacToe", "--opening-clock", "1"];
    fails(&[&clock[..], &players].concat(), 2);
}

/// Joint moves that a search would hardly make: the legal move of each role whose text comes last.
fn opening(game: &Game, plies: usize) -> Opening {
    let mut prover = Prover::new(&game.rules).unwrap();
    let mut state = prover.initial_state();
    let mut moves = Vec::new();
    for _ in 0..plies {
        let mut joint_move: Vec<TermId> = Vec::new();
        for role in 0..prover.roles().len() {
            let legal = prover
                .legal_moves(&state, RoleId::from_index(role))
                .unwrap();
            let last = legal.into_iter().max_by_key(|&mv| prover.show(mv));
            joint_move.push(last.unwrap());
        }
        moves.push(joint_move.iter().map(|&mv| prover.show(mv)).collect());
        state = prover.next_state(&state, &joint_move).unwrap();
    }
    Opening {
        moves,
        ..Opening::default()
    }
}

/// The facts of each state, by the game manager.
#[derive(Default)]
struct States(Vec<BTreeSet<String>>);

impl Spectator for States {
    fn started(&mut self, _: &[Fault], facts: &[String]) {
        self.0.push(facts.iter().cloned().collect());
    }

    fn moved(&mut self, _: u32, _: &[RoleTurn], facts: &[String]) {
        self.0.push(facts.iter().cloned().collect());
    }
}

/// The events of a kind in the only log of a folder.
fn events(folder: &Path, kind: &str) -> Vec<Value> {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let log = entries
        .map(|path| path.join("events.jsonl"))
        .find(|log| log.is_file());
    let text = std::fs::read_to_string(log.expect("there is a log")).unwrap();
    let events = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of_kind = events.filter(|event| event["kind"] == kind);
    of_kind.map(|mut event| event["data"].take()).collect()
}

/// Plays the first role with our player from an opening and two steps beyond. Its states are those
/// of the game manager. Returns whether it answered a move that was not made, and what its log
/// warns of.
fn followed(name: &str, plies: usize, method: &str) -> (bool, Vec<String>) {
    let game = Game::load(name).unwrap();
    let opening = opening(&game, plies);
    let folder = tempfile::tempdir().unwrap();
    let logs = format!("logs.folder={}", folder.path().display());
    let settings = SettingsChoice {
        config: None,
        set: vec![
            logs,
            format!("search.method={method}"),
            "search.threads=1".into(),
        ],
    };
    let (runtime, cancelled) = interrupt::runtime().unwrap();
    let handle = runtime.handle();
    let start = |spec| Player::start(&spec, &settings, true, 1, handle).unwrap();
    let panza = start(PlayerSpec::Panza);
    let mut seats = vec![panza.seat().clone()];
    let others = start(PlayerSpec::Random);
    seats.resize(game.role_names().len(), others.seat().clone());
    let plan = MatchPlan {
        id: "m".into(),
        rules: &game.rules,
        rules_text: &rules_on_one_line(&game.kif_text()),
        seats,
        clocks: Clocks { start: 3, play: 1 },
        patience: Patience::default(),
        max_steps: plies as u32 + 2,
        opening: opening.clone(),
        seed: 1,
    };
    let mut states = States::default();
    let record = play_match(&plan, handle, &cancelled, &mut states).unwrap();
    panza.shut_down(handle);
    assert_eq!(
        (record.faults.as_slice(), record.forced_steps),
        (&[][..], plies),
        "{name}"
    );

    let logged = events(folder.path(), "state");
    assert!(logged.len() > plies + 1, "{name}: {logged:?}");
    for state in logged {
        let facts: BTreeSet<String> = serde_json::from_value(state["facts"].clone()).unwrap();
        let step = state["step"].as_u64().unwrap() as usize;
        assert_eq!(facts, states.0[step], "{name}, step {step}");
    }
    let differs = |answer: &Value| {
        let step = answer["step"].as_u64().unwrap() as usize;
        opening
            .moves
            .get(step)
            .is_some_and(|moves| moves[0] != answer["move"])
    };
    let answers = events(folder.path(), "move");
    let warnings = ["error", "warning"]
        .map(|kind| events(folder.path(), kind))
        .concat();
    let warnings = warnings
        .iter()
        .map(|it| it["text"].as_str().unwrap().to_string());
    (answers.iter().any(differs), warnings.collect())
}

fn follows(name: &str, plies: usize, method: &str) {
    assert_eq!(followed(name, plies, method), (true, Vec::new()), "{name}");
}

#[test]
fn the_tree_search_follows_an_opening() {
    follows("connectFour", 4, "tree");
    // It has two parts, each with a search of its own.
    follows("jointConnectFour", 2, "tree");
}

#[test]
fn alpha_beta_follows_an_opening() {
    follows("breakthrough", 4, "alpha-beta");
}

#[test]
fn a_plan_that_is_not_followed_is_found_anew() {
    follows("eightPuzzle", 4, "auto");
}

#[test]
fn the_same_joint_move_again_is_a_new_one() {
    // Where the first answers happen to be the moves that are made, the manager waits for the
    // clock.
    let (_, warnings) = followed("roshamboTen", 4, "tree");
    assert!(
        warnings.iter().all(|it| it.ends_with("it came too late")),
        "{warnings:?}"
    );
}

#[test]
fn a_tournament_plays_each_opening_from_both_sides() {
    let folder = tempfile::tempdir().unwrap();
    let openings = folder.path().join("openings");
    std::fs::create_dir(&openings).unwrap();
    file(&openings, "centre", "((mark 2 2) noop)");
    file(&openings, "edge", MOVES);
    let tournament = format!(
        "games = ['hex', {{ game = 'ticTacToe', openings = '{}' }}]\nopening_clock = 1\n\
         [[players]]\nname = 'a'\nbuiltin = 'legal'\n[[players]]\nname = 'b'\nbuiltin = 'random'\n",
        openings.display()
    );
    let path = file(folder.path(), "t.toml", &tournament);
    let path = path.to_str().unwrap();
    objects(&["tournament", path, "--limit", "1"], 0);
    let report = objects(&["tournament", path], 0).remove(0);
    let of_game = |score: &&Value| score["game"] == "ticTacToe";
    let score = report["scores"].as_array().unwrap().iter().find(of_game);
    assert_eq!(score.unwrap()["matches"], 4);
    let results = std::fs::read_to_string(folder.path().join("t.results.jsonl")).unwrap();
    let results = results
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut played = Vec::new();
    for result in results {
        let Some(opening) = result.get("opening") else {
            assert_eq!(
                (&result["game"], &result["forced_steps"]),
                (&json!("hex"), &json!(0))
            );
            continue;
        };
        let n_forced = if opening == "edge" { 2 } else { 1 };
        assert_eq!(result["forced_steps"], n_forced, "{result}");
        assert_eq!(
            result["moves"][0],
            json!(["(mark 2 2)", "noop"]),
            "{result}"
        );
        played.push((
            opening.as_str().unwrap().to_string(),
            result["side"].as_u64().unwrap(),
        ));
    }
    let expected = [("centre", 0), ("centre", 1), ("edge", 0), ("edge", 1)];
    assert_eq!(
        played,
        expected.map(|(opening, side)| (opening.to_string(), side))
    );

    file(&openings, "edge", "((mark 2 2) noop)\n(noop (mark 2 2))");
    let message = fails(&["tournament", path], 2);
    assert!(
        message.contains("t.toml:1: ") && message.contains("edge:2: `(mark 2 2)`"),
        "{message}"
    );
}
