//! Matches of one game under two names, and memories that are not there.

use std::fs;

use crossbeam::channel::bounded;
use serde_json::json;
use tempfile::tempdir;

use super::*;
use crate::config::Settings;
use crate::gdl::{self, sexpr};
use crate::player::StartRequest;

const GAME: &str = "(role red) (role blue) (init (step 1)) (succ 1 2) (succ 2 3)
    (<= (legal ?r (go ?n)) (role ?r) (true (step ?n)))
    (<= (next (step ?m)) (does red (go ?n)) (succ ?n ?m))
    (<= terminal (true (step 3))) (goal red 100) (goal blue 0)";

/// The same game, with other names and its rules in another order.
const RENAMED: &str =
    "(goal azul 0) (goal rojo 100) (<= terminal (true (at c))) (s b c) (s a b) (init (at a))
    (<= (next (at ?y)) (s ?x ?y) (does rojo (run ?x)))
    (<= (legal ?who (run ?x)) (true (at ?x)) (role ?who)) (role azul) (role rojo)";

fn settings(path: &std::path::Path) -> Settings {
    let path = format!("memory.path={}", path.display());
    let items = ["logs.match_logs=false", path.as_str()].map(String::from);
    Settings::load(None, &items).unwrap()
}

/// A notebook, and what ends when its thread has.
fn begin(shelf: &Shelf, settings: &Settings, game: &str, role: &str) -> (Notebook, Receiver<()>) {
    let (alive, gone) = bounded(0);
    let start = StartRequest {
        match_id: format!("match of {role}"),
        role: sexpr::parse(role).0.remove(0),
        rules: Vec::new(),
        source: game.into(),
        start_clock: Duration::from_secs(1),
        play_clock: Duration::from_secs(1),
        received: Instant::now(),
        manager: crate::player::Manager::default(),
    };
    let subject = Subject {
        match_id: start.match_id.clone(),
        rules: Arc::new(gdl::load(game).0),
        role: role.to_string(),
        record: Record::new(settings, &start, &[]),
    };
    (shelf.begin(subject, alive), gone)
}

/// What is known, however long it takes on a machine with much to do.
fn known(notebook: &Notebook) -> Option<Arc<Recollection>> {
    let (slot, _) = notebook.desk.as_ref().unwrap();
    let patience = Duration::from_secs(30);
    let (reading, _) = slot
        .changed
        .wait_timeout_while(slot.reading.lock().unwrap(), patience, |reading| {
            matches!(reading, Reading::UnderWay)
        })
        .unwrap();
    drop(reading);
    notebook.recollection()
}

/// Waits for the thread; nothing is ever sent.
fn wait(gone: &Receiver<()>) {
    let outcome = gone.recv_timeout(Duration::from_secs(30));
    assert_eq!(
        outcome,
        Err(crossbeam::channel::RecvTimeoutError::Disconnected)
    );
}

fn goals(names: [&str; 2]) -> Vec<(String, Option<u8>)> {
    names
        .into_iter()
        .zip([Some(100), Some(0)])
        .map(|(name, goal)| (name.to_string(), goal))
        .collect()
}

#[test]
fn a_renamed_game_finds_what_was_noted() {
    let folder = tempdir().unwrap();
    let settings = settings(&folder.path().join("memory.sqlite"));
    let shelf = Shelf::new(&settings.memory);
    let (notebook, gone) = begin(&shelf, &settings, GAME, "red");
    assert!(known(&notebook).is_none());
    let plan = json!([term("(go 1)"), term("(go 2)"), "in words", 3]);
    notebook.remember(Kind::Plan, plan);
    notebook.remember(
        Kind::Facts,
        json!({ term("(step 3)"): {"role": term("blue")} }),
    );
    notebook.remember(Kind::Factors, json!([term("(never heard of)")]));
    notebook.ended("stopped", &goals(["red", "blue"]), 2);
    wait(&gone);

    let (notebook, gone) = begin(&shelf, &settings, RENAMED, "azul");
    let found = known(&notebook).expect("the game is known");
    assert!(found.is_exact);
    let there = json!(["gdl:(run a)", "gdl:(run b)", "in words", 3]);
    assert_eq!(found.note(Kind::Plan), Some(&there));
    let there = json!({ "gdl:(at c)": {"role": "gdl:azul"} });
    assert_eq!(found.note(Kind::Facts), Some(&there));
    assert_eq!(found.note(Kind::Factors), None);
    assert_eq!(found.matches.len(), 1);
    let played = &found.matches[0];
    assert_eq!(played.match_id, "match of red");
    assert_eq!((played.our_role.as_str(), played.steps), ("rojo", 2));
    assert_eq!(played.roles, ["rojo", "azul"]);
    assert_eq!(played.goals, [Some(100), Some(0)]);
    notebook.ended("aborted", &[], 0);
    wait(&gone);

    let (notebook, gone) = begin(&shelf, &settings, GAME, "red");
    let found = known(&notebook).expect("the game is known");
    let endings: Vec<&str> = found.matches.iter().map(|m| m.ending.as_str()).collect();
    assert_eq!(endings, ["aborted", "stopped"]);
    assert_eq!(found.matches[0].our_role, "blue");
    // A match that ends without a word leaves no result.
    drop(notebook);
    wait(&gone);
}

#[test]
fn a_record_of_rules_that_look_alike_is_known_but_not_its_names() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("memory.sqlite");
    let settings = settings(&path);
    let rules = gdl::load(GAME).0;
    let game = signature::signature(&rules, signature::WORK).to_string();
    let mut store = Store::open(&path, 9, WRITING_WAITS).unwrap();
    let notes = [
        (Kind::Plan, json!([term("(c1 c2)")])),
        (Kind::Parameters, json!({"exploration": 0.3})),
    ];
    store.write(&game, "other rules", &notes, None).unwrap();
    let shelf = Shelf::new(&settings.memory);
    let (notebook, gone) = begin(&shelf, &settings, GAME, "red");
    let found = known(&notebook).expect("the signature is known");
    assert!(!found.is_exact);
    assert_eq!(found.notes, [notes[1].clone()]);
    notebook.remember(Kind::Plan, json!([term("(go 1)")]));
    notebook.ended("stopped", &goals(["red", "blue"]), 2);
    wait(&gone);
    let record = store.read(&game).unwrap().unwrap();
    assert!(record.notes.contains(&notes[0]));
    assert_eq!(record.matches[0].goals, [Some(100), Some(0)]);
    assert!(record.matches[0].roles.is_empty());
}

#[test]
fn a_memory_that_is_not_there_costs_nothing() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let settings = settings(&file.join("memory.sqlite"));
    let shelf = Shelf::new(&settings.memory);
    for _ in 0..2 {
        let (notebook, gone) = begin(&shelf, &settings, GAME, "red");
        assert!(known(&notebook).is_none());
        notebook.remember(Kind::Plan, json!(1));
        notebook.ended("stopped", &[], 0);
        wait(&gone);
    }
    assert!(shelf.has_warned.load(Ordering::Relaxed));
    let blank = Notebook::blank();
    blank.remember(Kind::Plan, json!(1));
    assert!(blank.recollection().is_none());
}

#[test]
fn garbage_in_place_of_the_memory_costs_nothing() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("memory.sqlite");
    fs::write(&path, GAME.repeat(100)).unwrap();
    let settings = settings(&path);
    let shelf = Shelf::new(&settings.memory);
    let (notebook, gone) = begin(&shelf, &settings, GAME, "red");
    assert!(known(&notebook).is_none());
    notebook.ended("stopped", &[], 0);
    wait(&gone);
    let (notebook, gone) = begin(&shelf, &settings, GAME, "red");
    assert_eq!(known(&notebook).map(|found| found.matches.len()), Some(1));
    drop(notebook);
    wait(&gone);
}

#[test]
fn whoever_asks_for_a_memory_that_hangs_waits_a_moment_and_no_longer() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("memory.sqlite");
    let settings = settings(&path);
    drop(Store::open(&path, 9, WRITING_WAITS).unwrap());
    // Somebody who locks everybody out.
    let rival = rusqlite_lock(&path);
    let shelf = Shelf::new(&settings.memory);
    let started = Instant::now();
    let (notebook, gone) = begin(&shelf, &settings, GAME, "red");
    assert!(notebook.recollection().is_none());
    assert!(started.elapsed() < READING * 10);
    drop(notebook);
    wait(&gone);
    drop(rival);
}

/// A connection that holds the file for itself.
fn rusqlite_lock(path: &std::path::Path) -> rusqlite::Connection {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection
        .execute_batch(
            "PRAGMA locking_mode = exclusive; PRAGMA journal_mode = delete; BEGIN EXCLUSIVE;",
        )
        .unwrap();
    connection
}
