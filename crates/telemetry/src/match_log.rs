//! The folder of logs of one match.
//!
//! It holds `match.log` for people, `events.jsonl` with one JSON object per line (`time`,
//! `at_seconds` since the log was opened, `kind`, `data`), `series.csv` with one line of figures
//! per second, `summary.json` for the list of matches, and the debug log. Every line goes through a
//! queue to a thread that writes it, so that the caller only copies a line. Lines that find the
//! queue full are dropped and counted.
//!
//! Invariants: a folder belongs to one log and lies directly below the root, whatever the match id
//! contains; only [`MatchLog::create`] and the drop wait for the disk.

use super::debug_log::DebugLog;
use super::entry::{entry, now};
use super::live;
use super::sample::HEADER;
use super::sink::{Sink, Target};
use super::summary::Summary;
use super::{SearchSample, health, resident_bytes};
use crate::queue::{NonBlocking, NonBlockingBuilder, WorkerGuard};
use panza_sync::{Instant, lock};
use serde::Serialize;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tracing::{Level, Span};

/// Lines in the queue. A match writes at most some hundred lines a turn, so the queue covers a disk
/// that stalls for minutes.
const QUEUED_LINES: usize = 16_384;

/// Limit on a folder name, in bytes, without the number of a repeated name.
const LONGEST_NAME: usize = 100;

/// Limit on matches of the same name.
const SAME_NAME: usize = 10_000;

/// The log of one match. It can be shared between threads by reference.
///
/// Dropping it writes out what is queued, which may take up to a second when the disk is slow:
/// leave that to a thread that nobody waits for.
#[derive(Debug)]
pub struct MatchLog {
    /// `None` for a log that is switched off.
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    folder: PathBuf,
    opened: Instant,
    queue: NonBlocking,
    lost: Arc<AtomicUsize>,
    worker: Option<WorkerGuard>,
    summary: Mutex<Summary>,
    debug: Option<DebugLog>,
    /// Marks the match as live.
    _lock: Option<live::Lock>,
}

#[derive(Serialize)]
struct Event<'a> {
    time: &'a str,
    at_seconds: f64,
    kind: &'a str,
    data: serde_json::Value,
}

impl MatchLog {
    /// Opens the log of a match: a new folder in `root`, which is made if need be, named after the
    /// match id ([`folder_name`]), with a number behind it when that name is taken.
    ///
    /// # Errors
    /// When a folder or a file cannot be made, or when ten thousand logs bear that name.
    pub fn create(root: &Path, match_id: &str) -> io::Result<MatchLog> {
        let folder = create_folder(root, &folder_name(match_id))?;
        let [text, events, series] = Target::FILES.map(|name| File::create_new(folder.join(name)));
        let events = events?;
        let lock = live::lock(&events);
        let mut log = MatchLog::over(folder, [text?, events, series?], QUEUED_LINES);
        if let Some(open) = &mut log.open {
            open._lock = lock;
            open.debug = DebugLog::open(open.folder.clone(), open.opened, match_id);
        }
        log.send(Target::Series, HEADER);
        log.event("log", serde_json::json!({ "match_id": match_id }));
        log.summarise(|summary| {
            summary.match_id = match_id.to_string();
            summary.started = now();
        });
        Ok(log)
    }

    /// Like [`create`](MatchLog::create), but when that fails the match goes on without a log,
    /// after a warning.
    pub fn create_or_disabled(root: &Path, match_id: &str) -> MatchLog {
        match MatchLog::create(root, match_id) {
            Ok(log) => {
                health::recovered();
                log
            }
            Err(error) => {
                let root = root.display();
                tracing::warn!("no log for match {match_id:?}: a folder in {root} failed: {error}");
                health::lost(0, &error.to_string());
                MatchLog::disabled()
            }
        }
    }

    /// A log that writes nothing.
    pub fn disabled() -> MatchLog {
        MatchLog { open: None }
    }

    /// The folder of this log; `None` when it is disabled.
    pub fn folder(&self) -> Option<&Path> {
        self.open.as_ref().map(|open| open.folder.as_path())
    }

    /// The span of the match: what is reported in it is part of the debug log.
    pub fn span(&self) -> Span {
        let debug = self.open.as_ref().and_then(|open| open.debug.as_ref());
        debug.map_or_else(Span::none, |debug| debug.span().clone())
    }

    /// Adds an event of some `kind`, a short word, with its `data`.
    pub fn event(&self, kind: &str, data: serde_json::Value) {
        let Some(open) = &self.open else { return };
        let event = Event {
            time: &now(),
            at_seconds: open.seconds(),
            kind,
            data,
        };
        // The keys of a JSON value are texts, so this cannot fail.
        if let Ok(mut line) = serde_json::to_string(&event) {
            line.push('\n');
            self.send(Target::Events, &line);
        }
    }

    /// Adds a line to the readable log: `log.line(Level::INFO, format_args!(..))`. Further lines of
    /// the text are set in, so that each entry starts with its time; other control characters are
    /// escaped.
    pub fn line(&self, level: Level, text: fmt::Arguments<'_>) {
        let Some(open) = &self.open else { return };
        let line = entry(open.opened, level, text);
        self.send(Target::Text, &line);
    }

    /// Adds the figures of a second, with the time and the memory in use.
    pub fn sample(&self, sample: &SearchSample) {
        let Some(open) = &self.open else { return };
        let line = sample.csv_line(open.seconds(), resident_bytes());
        self.send(Target::Series, &line);
    }

    /// Changes the summary.
    pub fn summarise(&self, change: impl FnOnce(&mut Summary)) {
        let Some(open) = &self.open else { return };
        let mut summary = lock(&open.summary);
        change(&mut summary);
        summary.seconds = Some(open.seconds());
        summary.lost_lines = open.lost_lines();
        // The keys of the goals are texts, so this cannot fail.
        if let Ok(text) = serde_json::to_string(&*summary) {
            self.send(Target::Summary, &text);
        }
    }

    /// How many lines were lost so far, because the queue was full or because the disk refused
    /// them.
    pub fn lost_lines(&self) -> usize {
        self.open.as_ref().map_or(0, Open::lost_lines)
    }

    fn over<W>(folder: PathBuf, files: [W; Target::FILES.len()], queued_lines: usize) -> MatchLog
    where
        W: Write + Send + 'static,
    {
        let lost = Arc::new(AtomicUsize::new(0));
        let (queue, worker) = NonBlockingBuilder::default()
            .buffered_lines_limit(queued_lines)
            .lossy(true)
            .thread_name("match-log")
            .finish(Sink::new(files, Some(folder.clone()), Arc::clone(&lost)));
        MatchLog {
            open: Some(Open {
                folder,
                opened: Instant::now(),
                queue,
                lost,
                worker: Some(worker),
                summary: Mutex::default(),
                debug: None,
                _lock: None,
            }),
        }
    }

    fn send(&self, target: Target, line: &str) {
        let Some(open) = &self.open else { return };
        // A lossy queue takes or drops a message and never reports an error.
        let _ = open.queue.clone().write_all(&target.message(line));
    }
}

impl Open {
    fn seconds(&self) -> f64 {
        self.opened.elapsed().as_secs_f64()
    }

    fn lost_lines(&self) -> usize {
        self.queue
            .error_counter()
            .dropped_lines()
            .saturating_add(self.lost.load(Ordering::Relaxed))
    }
}

impl Drop for MatchLog {
    fn drop(&mut self) {
        let lost = self.lost_lines();
        if lost > 0 {
            self.line(
                Level::WARN,
                format_args!("{lost} lines of this log were lost"),
            );
            self.event("lost_lines", serde_json::json!({ "count": lost }));
            self.summarise(|_| {});
        }
        let Some(open) = &mut self.open else { return };
        // Waits until the queue is written out.
        drop(open.worker.take());
        drop(open.debug.take());
        health::dropped(open.queue.error_counter().dropped_lines());
        let lost = open.lost_lines();
        if lost > 0 {
            let folder = open.folder.display();
            tracing::warn!("{lost} lines of the match log in {folder} were lost");
        }
    }
}

/// The name of the folder for a match id, which comes from outside: its ASCII letters, digits, `-`,
/// `_` and `.`, with `_` for anything else, at most 100 bytes long, neither hidden nor a path nor a
/// device of Windows; `match` when nothing is left.
pub fn folder_name(match_id: &str) -> String {
    let name: String = match_id
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') {
                c
            } else {
                '_'
            }
        })
        .skip_while(|&c| c == '.')
        .take(LONGEST_NAME)
        .collect();
    match name.trim_end_matches('.') {
        "" => "match".to_string(),
        name if is_device(name) => format!("_{name}").chars().take(LONGEST_NAME).collect(),
        name => name.to_string(),
    }
}

/// Whether Windows takes a name for a device, with or without an extension: `con`, `COM1.txt`.
fn is_device(name: &str) -> bool {
    let name = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    let is_port = |port: &str| {
        let number = name.strip_prefix(port).map(str::as_bytes);
        matches!(number, Some([b'0'..=b'9']))
    };
    matches!(name.as_str(), "con" | "prn" | "aux" | "nul") || is_port("com") || is_port("lpt")
}

/// Creates `root/name`, or `root/name-2` and so on if that exists.
fn create_folder(root: &Path, name: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(root)?;
    for number in 1..=SAME_NAME {
        let folder = match number {
            1 => root.join(name),
            _ => root.join(format!("{name}-{number}")),
        };
        // Making it is the check, so two matches can never share a folder.
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(
        io::ErrorKind::AlreadyExists,
        format!("{SAME_NAME} logs named {name} exist; move some away"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::sync::mpsc;

    fn read(folder: &Path, name: &str) -> String {
        fs::read_to_string(folder.join(name)).unwrap()
    }

    #[test]
    fn a_log_holds_its_text_events_and_figures() {
        let root = tempfile::tempdir().unwrap();
        let log = MatchLog::create(&root.path().join("logs"), "base.ticTacToe.1").unwrap();
        let folder = log.folder().unwrap().to_path_buf();
        log.line(Level::INFO, format_args!("playing as {}", "xplayer"));
        log.line(Level::WARN, format_args!("two\nlines\n"));
        log.event("move", json!({ "step": 0, "move": "(mark 1 1)" }));
        log.sample(&SearchSample {
            step: 2,
            nodes: 5,
            ..SearchSample::default()
        });
        assert_eq!(log.lost_lines(), 0);
        drop(log);

        let text = read(&folder, "match.log");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[0].ends_with("  INFO playing as xplayer"), "{text}");
        assert!(lines[1].ends_with("  WARN two"), "{text}");
        assert_eq!(lines[2], "    lines");
        assert!(
            lines[0].starts_with("20") && lines[0].contains("Z "),
            "{text}"
        );

        let events: Vec<Value> = read(&folder, "events.jsonl")
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(events.len(), 2);
        assert_eq!(events[0]["kind"], "log");
        assert_eq!(events[0]["data"]["match_id"], "base.ticTacToe.1");
        assert_eq!(events[1]["kind"], "move");
        assert_eq!(
            events[1]["data"],
            json!({ "step": 0, "move": "(mark 1 1)" })
        );
        assert!(events[1]["at_seconds"].as_f64().unwrap() >= 0.0);
        assert!(events[1]["time"].as_str().unwrap().ends_with('Z'));

        let series = read(&folder, "series.csv");
        let lines: Vec<&str> = series.lines().collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(format!("{}\n", lines[0]), HEADER);
        assert_eq!(lines[1].split(',').nth(1), Some("2"));
    }

    #[test]
    fn a_match_id_never_leaves_the_root_and_never_gets_long() {
        let expected = [
            (
                "base.chess-2p_x.1795149631427",
                "base.chess-2p_x.1795149631427",
            ),
            ("../../etc/passwd", "_.._etc_passwd"),
            ("/absolute", "_absolute"),
            ("..", "match"),
            (".hidden", "hidden"),
            ("trailing...", "trailing"),
            ("", "match"),
            ("a b\0c\nd", "a_b_c_d"),
            ("C:\\x", "C__x"),
            ("spiel\u{e4}", "spiel_"),
            ("../../x", "_.._x"),
            ("con", "_con"),
            ("NUL.1", "_NUL.1"),
            ("Com7", "_Com7"),
            ("con-1", "con-1"),
            ("\u{1b}[2J\u{7}\u{85}", "__2J__"),
            ("\u{202e}m", "_m"),
        ];
        for (id, name) in expected {
            assert_eq!(folder_name(id), name, "{id:?}");
        }
        assert_eq!(folder_name(&"x".repeat(10_000)).len(), LONGEST_NAME);

        let root = tempfile::tempdir().unwrap();
        let logs = root.path().join("logs");
        for (id, _) in expected {
            let log = MatchLog::create(&logs, id).unwrap();
            assert_eq!(log.folder().unwrap().parent(), Some(logs.as_path()));
        }
        let beside: Vec<_> = fs::read_dir(root.path()).unwrap().collect();
        assert_eq!(beside.len(), 1, "something was made outside the root");
    }

    #[test]
    fn matches_of_the_same_name_get_folders_of_their_own() {
        let root = tempfile::tempdir().unwrap();
        let names: Vec<String> = (0..3)
            .map(|_| MatchLog::create(root.path(), "again").unwrap())
            .map(|log| log.folder().unwrap().file_name().unwrap().to_owned())
            .map(|name| name.into_string().unwrap())
            .collect();
        assert_eq!(names, ["again", "again-2", "again-3"]);
    }

    #[test]
    fn without_a_place_for_the_folder_there_is_an_error_or_a_disabled_log() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        fs::write(&file, "no folder").unwrap();
        assert!(MatchLog::create(&file, "m").is_err());
        let log = MatchLog::create_or_disabled(&file, "m");
        assert_eq!(log.folder(), None);
        log.line(Level::INFO, format_args!("unheard"));
        log.event("unheard", json!({}));
        log.sample(&SearchSample::default());
        assert_eq!(log.lost_lines(), 0);
    }

    /// A file whose writes tell that they began and then wait for a permit.
    struct Stalled {
        began: mpsc::Sender<()>,
        permits: mpsc::Receiver<()>,
    }

    impl Write for Stalled {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.began.send(());
            // Once the sender is gone, writes are free.
            let _ = self.permits.recv();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_stalled_disk_drops_counted_lines_and_blocks_nobody() {
        let (began, begins) = mpsc::channel();
        let (permit, permits) = mpsc::channel();
        let stalled = Stalled { began, permits };
        let files: [Box<dyn Write + Send>; 3] = [Box::new(stalled), Box::new(Full), Box::new(Full)];
        let log = MatchLog::over(PathBuf::from("stalled"), files, 10);
        log.line(Level::INFO, format_args!("this one never gets through"));
        begins.recv().unwrap();
        // The writing thread is stuck, so exactly the queue's room is left.
        for number in 0..1000 {
            log.line(Level::INFO, format_args!("line {number}"));
        }
        assert_eq!(log.lost_lines(), 990);
        drop(permit);
    }

    /// A disk without any room.
    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_loses_counted_lines_and_ends_nothing() {
        let mut log = MatchLog::over(PathBuf::from("full"), [Full, Full, Full], 100);
        for _ in 0..5 {
            log.event("lost", json!(null));
        }
        let open = log.open.as_mut().unwrap();
        drop(open.worker.take());
        assert_eq!(log.lost_lines(), 5);
        // The thread is gone; logging still does no harm.
        log.event("late", json!(null));
    }

    #[test]
    fn threads_may_share_a_log() {
        let root = tempfile::tempdir().unwrap();
        let log = MatchLog::create(root.path(), "shared").unwrap();
        let folder = log.folder().unwrap().to_path_buf();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let log = &log;
                scope.spawn(move || {
                    for number in 0..100 {
                        log.line(Level::DEBUG, format_args!("{thread} says {number}"));
                    }
                });
            }
        });
        drop(log);
        let text = read(&folder, "match.log");
        assert_eq!(text.lines().count(), 400);
        for thread in 0..4 {
            let said = format!("DEBUG {thread} says ");
            let numbers: Vec<usize> = text
                .lines()
                .filter_map(|line| line.split_once(&said)?.1.parse().ok())
                .collect();
            assert!(numbers.into_iter().eq(0..100));
        }
    }
}
