//! The file under everything that may happen to it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tempfile::{TempDir, tempdir};

use super::*;

const PATIENCE: Duration = Duration::from_secs(120);

fn place() -> (TempDir, PathBuf) {
    let folder = tempdir().unwrap();
    let path = folder.path().join("deep").join("er").join("memory.sqlite");
    (folder, path)
}

fn open(path: &Path) -> Store {
    Store::open(path, 100, PATIENCE).unwrap()
}

fn played(name: &str) -> PastMatch {
    PastMatch {
        match_id: name.into(),
        roles: vec!["c1".into(), "c2".into()],
        our_role: "c2".into(),
        goals: vec![Some(100), None],
        steps: 9,
        seconds: 1.5,
        ending: "stopped".into(),
        time: 1_800_000_000,
    }
}

/// Files beside the memory whose names hold `part`.
fn files(path: &Path, part: &str) -> usize {
    let entries = fs::read_dir(path.parent().unwrap()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains(part)).count()
}

#[test]
fn what_is_written_is_read_by_the_next_one() {
    let (_folder, path) = place();
    let mut store = open(&path);
    assert_eq!(store.read("a").unwrap(), None);
    let plan = json!(["(go 1)", {"depth": 3}]);
    store
        .write(
            "a",
            "text",
            &[(Kind::Evaluation, plan.clone())],
            Some(&played("one")),
        )
        .unwrap();
    let facts = json!({"length": 12.5});
    let notes = [
        (Kind::Parameters, facts.clone()),
        (Kind::Evaluation, json!("old")),
    ];
    store.write("a", "ignored", &notes, None).unwrap();
    store
        .write(
            "a",
            "text",
            &[(Kind::Evaluation, plan.clone())],
            Some(&played("two")),
        )
        .unwrap();
    drop(store);
    let record = open(&path).read("a").unwrap().unwrap();
    assert_eq!(record.text, "text");
    assert_eq!(
        record.notes,
        [(Kind::Evaluation, plan), (Kind::Parameters, facts)]
    );
    assert_eq!(record.matches, [played("two"), played("one")]);
    assert_eq!(open(&path).read("b").unwrap(), None);
}

#[test]
fn the_games_seen_last_are_kept() {
    let (_folder, path) = place();
    let mut store = Store::open(&path, 3, PATIENCE).unwrap();
    for game in ["a", "b", "c", "a", "d", "e"] {
        let note = [(Kind::Parameters, json!(game))];
        store.write(game, game, &note, Some(&played(game))).unwrap();
        std::thread::sleep(Duration::from_millis(2));
    }
    let known = ["a", "b", "c", "d", "e"].map(|game| store.read(game).unwrap().is_some());
    assert_eq!(known, [true, false, false, true, true]);
    // What belonged to the others is gone as well.
    assert_eq!(store.read("a").unwrap().unwrap().matches.len(), 2);
    store.write("b", "b", &[], None).unwrap();
    let record = store.read("b").unwrap().unwrap();
    assert!(record.notes.is_empty() && record.matches.is_empty());
}

#[test]
fn a_game_that_is_played_all_day_keeps_its_last_matches() {
    let (_folder, path) = place();
    let mut store = open(&path);
    for number in 0..MOST_MATCHES + 3 {
        store
            .write("a", "", &[], Some(&played(&number.to_string())))
            .unwrap();
    }
    let matches = store.read("a").unwrap().unwrap().matches;
    assert_eq!(matches.len(), MOST_MATCHES);
    assert_eq!(matches[0].match_id, (MOST_MATCHES + 2).to_string());
}

#[test]
fn a_note_without_end_is_refused_and_the_rest_stays() {
    let (_folder, path) = place();
    let mut store = open(&path);
    store
        .write("a", "", &[(Kind::Evaluation, json!(1))], None)
        .unwrap();
    let long = json!("x".repeat(MOST_NOTE_BYTES));
    let error = store.write("a", "", &[(Kind::Evaluation, long)], None);
    assert!(matches!(
        error,
        Err(MemoryError::TooLong {
            kind: "evaluation",
            ..
        })
    ));
    let notes = store.read("a").unwrap().unwrap().notes;
    assert_eq!(notes, [(Kind::Evaluation, json!(1))]);
}

#[test]
fn several_may_write_at_once() {
    let (_folder, path) = place();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let path = &path;
            scope.spawn(move || {
                // Each with a connection of its own, as programs apart have; even the file is begun
                // by all at once.
                let mut store = open(path);
                for number in 0..25 {
                    let name = format!("{writer}.{number}");
                    let note = [(Kind::Parameters, json!(name))];
                    store
                        .write("a", "text", &note, Some(&played(&name)))
                        .unwrap();
                    assert!(store.read("a").unwrap().is_some());
                }
            });
        }
    });
    let record = open(&path).read("a").unwrap().unwrap();
    assert_eq!(record.matches.len(), 100);
    assert_eq!(files(&path, "broken"), 0);
}

#[test]
fn garbage_is_put_aside_and_a_new_file_begun() {
    let (_folder, path) = place();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "this is no database, and a long text\n".repeat(500)).unwrap();
    let mut store = open(&path);
    store.write("a", "text", &[], None).unwrap();
    assert!(open(&path).read("a").unwrap().is_some());
    assert_eq!(files(&path, ".broken-"), 1);
}

#[test]
fn several_who_find_garbage_begin_one_new_file() {
    let (_folder, path) = place();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "no database at all".repeat(5000)).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let path = &path;
            scope.spawn(move || {
                let name = writer.to_string();
                open(path).write(&name, "", &[], None).unwrap();
            });
        }
    });
    let mut store = open(&path);
    for writer in 0..4 {
        assert!(
            store.read(&writer.to_string()).unwrap().is_some(),
            "{writer}"
        );
    }
    assert_eq!(files(&path, ".broken-"), 1);
}

/// A memory of many pages.
fn filled(path: &Path) {
    let mut store = open(path);
    for game in 0..40 {
        let note = [(Kind::Parameters, json!(format!("{game}").repeat(2000)))];
        store.write(&game.to_string(), "text", &note, None).unwrap();
    }
}

#[test]
fn a_file_that_was_cut_off_never_fails_for_good() {
    let (_folder, path) = place();
    filled(&path);
    let whole = fs::read(&path).unwrap();
    for part in [
        10,
        100,
        1000,
        4096,
        5000,
        whole.len() / 2,
        whole.len() - 4096,
    ] {
        fs::write(&path, &whole[..part]).unwrap();
        let mut store = open(&path);
        // As far as the damage is not met, all goes on.
        let _ = store.read("17");
        for game in 0..40 {
            store
                .write(
                    &game.to_string(),
                    "t",
                    &[(Kind::Evaluation, json!(1))],
                    None,
                )
                .unwrap_or_else(|error| panic!("{part} bytes: {error}"));
        }
        for game in 0..40 {
            let record = store.read(&game.to_string()).unwrap().unwrap();
            assert!(
                record.notes.contains(&(Kind::Evaluation, json!(1))),
                "{part} bytes"
            );
        }
    }
}

#[test]
fn bytes_that_fell_over_cost_records_and_no_match() {
    let (_folder, path) = place();
    filled(&path);
    let whole = fs::read(&path).unwrap();
    for start in (0..whole.len()).step_by(whole.len() / 23) {
        let mut bytes = whole.clone();
        let end = (start + 700).min(bytes.len());
        bytes[start..end].iter_mut().for_each(|byte| *byte ^= 0xa5);
        fs::write(&path, &bytes).unwrap();
        // An error is allowed where the file does not look like ours any more; a panic is not.
        if let Ok(mut store) = Store::open(&path, 100, PATIENCE) {
            for game in 0..40 {
                let _ = store.read(&game.to_string());
                let _ = store.write(&game.to_string(), "t", &[], None);
            }
        }
    }
}

#[test]
fn what_was_not_finished_did_not_happen() {
    let (_folder, path) = place();
    let mut store = open(&path);
    store
        .write("a", "text", &[(Kind::Parameters, json!(1))], None)
        .unwrap();
    // Whoever ends in the midst of writing leaves the file and its log as they are.
    let other = rusqlite::Connection::open(&path).unwrap();
    other
        .execute_batch("BEGIN IMMEDIATE; DELETE FROM notes; DELETE FROM games;")
        .unwrap();
    let copy = path.with_file_name("copy.sqlite");
    for end in ["", "-wal"] {
        let from = format!("{}{end}", path.display());
        if Path::new(&from).exists() {
            fs::copy(&from, format!("{}{end}", copy.display())).unwrap();
        }
    }
    let record = open(&copy).read("a").unwrap().unwrap();
    assert_eq!(record.notes, [(Kind::Parameters, json!(1))]);
    // Nobody waits for ever for one who does not end; reading does not wait at all.
    let mut hasty = Store::open(&path, 100, Duration::from_millis(50)).unwrap();
    assert!(hasty.read("a").unwrap().is_some());
    assert!(matches!(
        hasty.write("a", "", &[], None),
        Err(MemoryError::Database { .. })
    ));
    drop(other);
    hasty.write("a", "", &[], None).unwrap();
}

#[test]
fn files_of_others_are_left_alone() {
    let (_folder, path) = place();
    open(&path).write("a", "text", &[], None).unwrap();
    let change = |statement: &str| {
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.execute_batch(statement).unwrap();
    };
    change("PRAGMA user_version = 99");
    let error = Store::open(&path, 9, PATIENCE).unwrap_err();
    assert!(
        matches!(
            error,
            MemoryError::Newer {
                found: 99,
                known: 1,
                ..
            }
        ),
        "{error}"
    );
    change("PRAGMA user_version = 1");
    assert!(open(&path).read("a").unwrap().is_some());
    change("PRAGMA application_id = 7");
    let error = Store::open(&path, 9, PATIENCE).unwrap_err();
    assert!(matches!(error, MemoryError::Foreign(_)), "{error}");
    assert_eq!(files(&path, "broken"), 0);
    change("PRAGMA application_id = 0");
    assert!(Store::open(&path, 9, PATIENCE).is_err());
}

#[test]
fn a_path_that_cannot_be_is_an_error() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let below = Store::open(&file.join("memory.sqlite"), 9, PATIENCE).unwrap_err();
    assert!(matches!(below, MemoryError::File { .. }), "{below}");
    let is_folder = Store::open(folder.path(), 9, PATIENCE).unwrap_err();
    assert!(
        is_folder
            .to_string()
            .contains(folder.path().to_str().unwrap())
    );
}

#[test]
fn kinds_are_known_by_their_names() {
    for kind in [Kind::Parameters, Kind::Evaluation, Kind::Plan] {
        assert_eq!(Kind::from_name(kind.name()), Some(kind));
    }
    assert_eq!(Kind::from_name("?"), None);
}

#[test]
fn a_note_that_is_not_json_is_left_out() {
    let (_folder, path) = place();
    let mut store = open(&path);
    let notes = [
        (Kind::Parameters, json!({"length": 12.5})),
        (Kind::Plan, json!({"goal": 100})),
    ];
    store.write("a", "text", &notes, None).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    let damage = "UPDATE notes SET value = '{\"goal\": 1' WHERE kind = 'plan'";
    other.execute(damage, []).unwrap();
    let newer = "INSERT INTO notes VALUES ('a', 'of a later version', '1', 1)";
    other.execute(newer, []).unwrap();
    let read = store.read("a").unwrap().unwrap();
    assert_eq!(read.notes, notes[..1]);
}
