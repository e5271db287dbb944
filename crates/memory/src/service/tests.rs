//! Matches of one game under two names, and memories that are not there.

use std::fs;

use crossbeam::channel::bounded;
use serde_json::json;
use tempfile::tempdir;

use super::*;
use crate::{PlanNote, term};

const MAX_GAMES: usize = 100;

const GAME: &str = "(role red) (role blue) (init (step 1)) (succ 1 2) (succ 2 3)
    (<= (legal ?r (go ?n)) (role ?r) (true (step ?n)))
    (<= (next (step ?m)) (does red (go ?n)) (succ ?n ?m))
    (<= terminal (true (step 3))) (goal red 100) (goal blue 0)";

/// The same game, with other names and its rules in another order.
const RENAMED: &str =
    "(goal azul 0) (goal rojo 100) (<= terminal (true (at c))) (s b c) (s a b) (init (at a))
    (<= (next (at ?y)) (s ?x ?y) (does rojo (run ?x)))
    (<= (legal ?who (run ?x)) (true (at ?x)) (role ?who)) (role azul) (role rojo)";

/// The memory of a match, and a channel that is disconnected once its thread has ended.
fn begin(service: &MemoryService, game: &str, role: &str) -> (MatchMemory, Receiver<()>) {
    let (alive, gone) = bounded(0);
    let remembered = RememberedMatch {
        match_id: format!("match of {role}"),
        rules: Arc::new(panza_gdl::load(game).0),
        role: role.to_string(),
        log: Box::new(|_, _| {}),
    };
    (service.start(remembered, alive), gone)
}

/// The history, however long reading takes on a busy machine.
fn known(memory: &MatchMemory) -> Option<Arc<GameHistory>> {
    let (slot, _) = memory.thread.as_ref().unwrap();
    let timeout = Duration::from_secs(120);
    let (reading, _) = slot
        .changed
        .wait_timeout_while(slot.reading.lock().unwrap(), timeout, |reading| {
            matches!(reading, Reading::Running)
        })
        .unwrap();
    drop(reading);
    memory.history()
}

/// Waits for the thread; nothing is ever sent.
fn wait(gone: &Receiver<()>) {
    let outcome = gone.recv_timeout(Duration::from_secs(120));
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
fn a_renamed_game_finds_its_notes() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("memory.sqlite");
    let service = MemoryService::new(&path, MAX_GAMES);
    let (memory, gone) = begin(&service, GAME, "red");
    assert!(known(&memory).is_none());
    let by_fact = json!({ term("(step 3)"): {"role": term("blue")} });
    let note = json!([term("(go 1)"), term("(go 2)"), "in words", 3, by_fact]);
    memory.remember(Kind::Evaluation, note);
    memory.remember(Kind::Parameters, json!([term("(unknown to the rules)")]));
    memory.end("stopped", &goals(["red", "blue"]), 2);
    wait(&gone);

    let (memory, gone) = begin(&service, RENAMED, "azul");
    let found = known(&memory).expect("the game is known");
    assert!(found.is_exact);
    let by_fact = json!({ "gdl:(at c)": {"role": "gdl:azul"} });
    let there = json!(["gdl:(run a)", "gdl:(run b)", "in words", 3, by_fact]);
    assert_eq!(found.note(Kind::Evaluation), Some(&there));
    assert_eq!(found.note(Kind::Parameters), None);
    assert_eq!(found.matches.len(), 1);
    let played = &found.matches[0];
    assert_eq!(played.match_id, "match of red");
    assert_eq!((played.our_role.as_str(), played.steps), ("rojo", 2));
    assert_eq!(played.roles, ["rojo", "azul"]);
    assert_eq!(played.goals, [Some(100), Some(0)]);
    memory.end("aborted", &[], 0);
    wait(&gone);

    let (memory, gone) = begin(&service, GAME, "red");
    let found = known(&memory).expect("the game is known");
    let endings: Vec<&str> = found.matches.iter().map(|m| m.ending.as_str()).collect();
    assert_eq!(endings, ["aborted", "stopped"]);
    assert_eq!(found.matches[0].our_role, "blue");
    // A match without an end leaves no result.
    drop(memory);
    wait(&gone);
}

#[test]
fn a_renamed_game_finds_its_plan() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("memory.sqlite");
    let service = MemoryService::new(&path, MAX_GAMES);
    let plan = |moves: [&str; 2]| PlanNote {
        moves: moves.map(str::to_string).into(),
        goal: 100,
        is_best: true,
    };
    let (memory, gone) = begin(&service, GAME, "red");
    assert!(memory.is_on() && memory.history_when_read(&AtomicBool::new(false)).is_none());
    let note = plan(["(go 1)", "(go 2)"]).to_json();
    memory.remember(Kind::Plan, note);
    drop(memory);
    wait(&gone);

    let (memory, gone) = begin(&service, RENAMED, "azul");
    let found = memory
        .history_when_read(&AtomicBool::new(false))
        .expect("the game is known");
    let note = found.note(Kind::Plan).and_then(PlanNote::from_json);
    assert_eq!(note, Some(plan(["(run a)", "(run b)"])));
    drop(memory);
    wait(&gone);
}

#[test]
fn damaged_notes_are_ignored_with_a_warning() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("memory.sqlite");
    let (game, canonical) = signature::identify(&panza_gdl::load(GAME).0, signature::WORK);
    let text = canonical.unwrap().text().to_string();
    let mut store = Store::open(&path, 9, WRITING_LOCK_TIME).unwrap();
    let notes = [
        (Kind::Plan, json!({ "moves": [term("(no such move)")] })),
        (Kind::Parameters, json!({ "exploration": 0.3 })),
    ];
    store.write(&game.to_string(), &text, &notes, None).unwrap();
    let (sender, lines) = unbounded();
    let remembered = RememberedMatch {
        match_id: "match".to_string(),
        rules: Arc::new(panza_gdl::load(GAME).0),
        role: "red".to_string(),
        log: Box::new(move |level, text| sender.send((level, text.to_string())).unwrap()),
    };
    let (alive, gone) = bounded(0);
    let memory = MemoryService::new(&path, MAX_GAMES).start(remembered, alive);
    let found = memory
        .history_when_read(&AtomicBool::new(false))
        .expect("the game is known");
    assert!(found.is_exact);
    assert_eq!(found.notes, [notes[1].clone()]);
    drop(memory);
    wait(&gone);
    let warnings = lines.iter().filter(|(level, _)| *level == Level::WARN);
    let warnings: Vec<String> = warnings.map(|(_, text)| text).collect();
    assert_eq!(
        warnings,
        ["the note on plan has names that the rules do not have; it is ignored"]
    );
}

#[test]
fn a_record_of_other_rules_with_the_same_signature_has_no_names() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("memory.sqlite");
    let rules = panza_gdl::load(GAME).0;
    let game = signature::signature(&rules, signature::WORK).to_string();
    let mut store = Store::open(&path, 9, WRITING_LOCK_TIME).unwrap();
    let notes = [
        (Kind::Evaluation, json!([term("(c1 c2)")])),
        (Kind::Parameters, json!({"exploration": 0.3})),
    ];
    store.write(&game, "other rules", &notes, None).unwrap();
    let service = MemoryService::new(&path, MAX_GAMES);
    let (memory, gone) = begin(&service, GAME, "red");
    let found = known(&memory).expect("the signature is known");
    assert!(!found.is_exact);
    assert_eq!(found.notes, [notes[1].clone()]);
    memory.remember(Kind::Evaluation, json!([term("(go 1)")]));
    memory.end("stopped", &goals(["red", "blue"]), 2);
    wait(&gone);
    let record = store.read(&game).unwrap().unwrap();
    assert!(record.notes.contains(&notes[0]));
    assert_eq!(record.matches[0].goals, [Some(100), Some(0)]);
    assert!(record.matches[0].roles.is_empty());
}

#[test]
fn a_missing_memory_file_is_reported_once() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let path = file.join("memory.sqlite");
    let service = MemoryService::new(&path, MAX_GAMES);
    for _ in 0..2 {
        let (memory, gone) = begin(&service, GAME, "red");
        assert!(known(&memory).is_none());
        memory.remember(Kind::Evaluation, json!(1));
        memory.end("stopped", &[], 0);
        wait(&gone);
    }
    assert!(service.has_warned.load(Ordering::Relaxed));
    let none = MatchMemory::default();
    none.remember(Kind::Evaluation, json!(1));
    assert!(none.history().is_none());
}

#[test]
fn a_broken_memory_file_is_replaced() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("memory.sqlite");
    fs::write(&path, GAME.repeat(100)).unwrap();
    let service = MemoryService::new(&path, MAX_GAMES);
    let (memory, gone) = begin(&service, GAME, "red");
    assert!(known(&memory).is_none());
    memory.end("stopped", &[], 0);
    wait(&gone);
    let (memory, gone) = begin(&service, GAME, "red");
    assert_eq!(known(&memory).map(|found| found.matches.len()), Some(1));
    drop(memory);
    wait(&gone);
}

#[test]
fn waiting_for_a_locked_memory_is_short() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("memory.sqlite");
    drop(Store::open(&path, 9, WRITING_LOCK_TIME).unwrap());
    let rival = rusqlite_lock(&path);
    let service = MemoryService::new(&path, MAX_GAMES);
    let started = Instant::now();
    let (memory, gone) = begin(&service, GAME, "red");
    assert!(memory.history().is_none());
    // The thread that reads waits for the lock; the match does not, and a busy machine has the
    // difference.
    assert!(started.elapsed() < WRITING_LOCK_TIME);
    drop(memory);
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
