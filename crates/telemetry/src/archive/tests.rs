use super::*;
use crate::MatchLog;
use serde_json::json;

fn logged(root: &Path, match_id: &str) -> String {
    let log = MatchLog::create(root, match_id).unwrap();
    log.event(
        "start",
        json!({ "role": "white", "roles": ["white", "black"] }),
    );
    log.event("played", json!({ "step": 0, "moves": ["a", "b"] }));
    log.event(
        "end",
        json!({ "how": "stopped", "goals": { "white": 100, "black": 0 } }),
    );
    log.summarise(|summary| {
        summary.role = "white".into();
        summary.steps = 1;
        summary.how = Some("stopped".into());
    });
    let folder = log.folder().unwrap().file_name().unwrap();
    folder.to_string_lossy().into_owned()
}

/// Waits until another thread has written the first lines of a live log: the summary reaches the
/// disk when the queue is empty.
fn wait_for_summary(folder: &Path) {
    let wait_until = std::time::Instant::now() + std::time::Duration::from_secs(120);
    while !folder.join("summary.json").exists() {
        assert!(std::time::Instant::now() < wait_until);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn live_matches_come_first_and_then_the_newest() {
    let root = tempfile::tempdir().unwrap();
    let archive = Archive::new(root.path());
    assert!(archive.list().unwrap().is_empty());
    let live = MatchLog::create(root.path(), "live").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2));
    let first = logged(root.path(), "m");
    std::thread::sleep(std::time::Duration::from_millis(2));
    let second = logged(root.path(), "m");
    assert_eq!((first.as_str(), second.as_str()), ("m", "m-2"));
    std::fs::write(root.path().join("memory.sqlite"), "").unwrap();
    std::fs::create_dir(root.path().join("no match")).unwrap();
    std::fs::create_dir(root.path().join("empty")).unwrap();
    wait_for_summary(&root.path().join("live"));
    let folders = |archive: &Archive| -> Vec<(String, bool)> {
        let list = archive.list().unwrap();
        list.iter()
            .map(|entry| (entry.folder.clone(), entry.is_live))
            .collect()
    };
    let expected = [("live", true), ("m-2", false), ("m", false)];
    let expected = expected.map(|(name, live)| (name.to_string(), live));
    assert_eq!(folders(&archive), expected);
    assert_eq!(archive.find("m").unwrap().folder, "m-2");
    assert_eq!(archive.find("live").unwrap().folder, "live");
    assert!(archive.find("none").is_none());
    drop(live);
    assert!(archive.list().unwrap().iter().all(|entry| !entry.is_live));
}

#[test]
fn no_name_leads_out_of_the_folder() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("logs")).unwrap();
    logged(root.path(), "secret");
    let archive = Archive::new(&root.path().join("logs"));
    for name in [
        "../secret",
        "..",
        ".",
        "",
        "a/../../secret",
        "/etc",
        "a\0b",
        "secret/",
        "..\\secret",
    ] {
        assert!(archive.entry(name).is_none(), "{name:?}");
        assert!(archive.slice(name, Part::Log, 0, 10).is_err(), "{name:?}");
        assert!(archive.bundle(name).is_err(), "{name:?}");
    }
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let root = tempfile::tempdir().unwrap();
    logged(root.path(), "secret");
    let logs = root.path().join("logs");
    std::fs::create_dir(&logs).unwrap();
    std::os::unix::fs::symlink(root.path().join("secret"), logs.join("link")).unwrap();
    let archive = Archive::new(&logs);
    assert!(archive.list().unwrap().is_empty());
    assert!(archive.entry("link").is_none());
}

#[test]
fn without_a_summary_the_events_tell() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join(logged(root.path(), "m"));
    std::fs::write(folder.join("summary.json"), "{\"match_id\":").unwrap();
    let entry = Archive::new(root.path()).entry("m").unwrap();
    assert!(
        entry
            .damaged
            .as_ref()
            .unwrap()
            .starts_with("summary.json is damaged")
    );
    let summary = &entry.summary;
    assert_eq!((summary.match_id.as_str(), summary.steps), ("m", 1));
    assert_eq!(summary.how.as_deref(), Some("stopped"));
    assert_eq!(summary.goals.as_ref().unwrap()["white"], Some(100));
    // A log that was cut off in the middle of a line.
    std::fs::remove_file(folder.join("summary.json")).unwrap();
    let events = std::fs::read(folder.join("events.jsonl")).unwrap();
    std::fs::write(folder.join("events.jsonl"), &events[..events.len() - 20]).unwrap();
    let entry = Archive::new(root.path()).entry("m").unwrap();
    assert_eq!(entry.damaged.as_deref(), Some("summary.json is missing"));
    assert_eq!((entry.summary.steps, &entry.summary.how), (1, &None));
}

#[test]
fn files_are_read_in_whole_lines_while_more_may_come() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join(logged(root.path(), "m"));
    std::fs::write(folder.join("match.log"), "one\ntwo\nthr").unwrap();
    let archive = Archive::new(root.path());
    let slice = |from, most| {
        let (bytes, length) = archive.slice("m", Part::Log, from, most).unwrap();
        (String::from_utf8(bytes).unwrap(), length)
    };
    assert_eq!(slice(0, 100), ("one\ntwo\nthr".into(), 11));
    assert_eq!(slice(0, 6), ("one\n".into(), 11));
    assert_eq!(slice(4, 2), ("tw".into(), 11));
    assert_eq!(slice(8, 100), ("thr".into(), 11));
    assert_eq!(slice(11, 100), (String::new(), 11));
    assert_eq!(slice(u64::MAX, 100), (String::new(), 11));
    let events = File::open(folder.join("events.jsonl")).unwrap();
    let _live = live::lock(&events).unwrap();
    assert_eq!(slice(0, 100), ("one\ntwo\n".into(), 11));
    assert_eq!(slice(8, 100), (String::new(), 11));
}

#[test]
fn a_bundle_says_what_is_wrong_with_it() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join(logged(root.path(), "m"));
    std::fs::write(folder.join("match.log"), b"good\n\xff\xfe\n").unwrap();
    std::fs::remove_file(folder.join("series.csv")).unwrap();
    let bundle = Archive::new(root.path()).bundle("m").unwrap();
    assert_eq!((bundle.version, bundle.match_id.as_str()), (1, "m"));
    assert!(bundle.events.lines().count() >= 4);
    assert_eq!(bundle.series, "");
    assert!(bundle.log.starts_with("good\n"));
    assert_eq!(
        bundle.notes,
        ["match.log is no text at byte 5 and perhaps later"]
    );
}

#[test]
fn the_oldest_give_way_and_nothing_else_does() {
    let root = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c"] {
        logged(root.path(), name);
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let live = MatchLog::create(root.path(), "live").unwrap();
    std::fs::write(root.path().join("a/own.txt"), "kept").unwrap();
    std::fs::write(root.path().join("memory.sqlite"), vec![0; 100_000]).unwrap();
    let archive = Archive::new(root.path());
    let one = read::bytes(&root.path().join("c"));
    let live_folder = root.path().join("live");
    wait_for_summary(&live_folder);
    let live_bytes = read::bytes(&live_folder);
    assert_eq!(archive.prune(u64::MAX).unwrap(), 0);
    assert_eq!(archive.prune(live_bytes + one + one / 2).unwrap(), 1);
    assert!(root.path().join("c/match.log").exists());
    assert!(!root.path().join("b").exists());
    // The folder that holds something else could not be removed, but what is ours is gone.
    assert!(root.path().join("a/own.txt").exists());
    assert!(!root.path().join("a/events.jsonl").exists());
    assert_eq!(archive.prune(0).unwrap(), 1);
    assert!(root.path().join("live/events.jsonl").exists());
    assert!(root.path().join("memory.sqlite").exists());
    drop(live);
}
