//! The debug log of a match: the events of all its threads, from level debug up.
//!
//! A match has a span. A thread takes over the span of the thread that starts it
//! (`panza_sync::spawn`), so the events of a match are those in its span. [`DebugLayer`], a layer
//! of the program's subscriber, gives their lines to the queue of the match, and another thread
//! writes them. A line has the form of `match.log`; its text begins with the thread and the module.
//!
//! The first [`FILE_BYTES`] of lines stay in `debug.log`. Later ones go to `debug.1.log`, which
//! replaces `debug.2.log` when it is full: the begin and the end of a match are kept.
//!
//! Invariants: the files of a match take at most three times [`FILE_BYTES`]; no event waits for the
//! disk.

use std::cell::Cell;
use std::fmt::{self, Write as _};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;

use crate::queue::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Level, Span, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::entry::entry;
use super::health;
use panza_sync::Instant;

/// The files, in the order in which they are filled.
pub(super) const FILES: [&str; 3] = ["debug.log", "debug.1.log", "debug.2.log"];
/// Limit on each file.
const FILE_BYTES: u64 = 4 << 20;
/// Limit on the text of a line.
const TEXT_BYTES: usize = 16 << 10;
/// Lines in the queue.
const QUEUED_LINES: usize = 4096;
/// The name of the span of a match.
const SPAN: &str = "match";

thread_local! {
    /// What the span that this thread is about to open hands over to the layer.
    static OPENED: Cell<Option<Lines>> = const { Cell::new(None) };
}

/// The debug log of one match. Its lines are written out when it is dropped.
#[derive(Debug)]
pub(super) struct DebugLog {
    span: Span,
    dropped: ErrorCounter,
    _worker: WorkerGuard,
}

impl DebugLog {
    /// A log in a folder; `None` where no subscriber takes part.
    pub(super) fn open(folder: PathBuf, opened: Instant, match_id: &str) -> Option<Self> {
        if !tracing::span_enabled!(Level::DEBUG) {
            return None;
        }
        let (queue, worker) = NonBlockingBuilder::default()
            .buffered_lines_limit(QUEUED_LINES)
            .lossy(true)
            .thread_name("debug-log")
            .finish(Files::new(folder, FILE_BYTES));
        let dropped = queue.error_counter();
        OPENED.set(Some(Lines { queue, opened }));
        let span = tracing::debug_span!(SPAN, id = match_id);
        OPENED.set(None);
        Some(Self {
            span,
            dropped,
            _worker: worker,
        })
    }

    /// The span of the match.
    pub(super) fn span(&self) -> &Span {
        &self.span
    }
}

impl Drop for DebugLog {
    fn drop(&mut self) {
        let dropped = self.dropped.dropped_lines();
        if dropped > 0 {
            health::dropped(dropped);
            let text = "lines of the debug log were dropped because they came too fast";
            self.span.in_scope(|| tracing::warn!("{dropped} {text}"));
        }
    }
}

/// Where the lines of a match go. It belongs to the span of the match.
#[derive(Clone)]
struct Lines {
    queue: NonBlocking,
    opened: Instant,
}

/// Writes events to the debug logs of the matches that they belong to.
pub(super) struct DebugLayer;

impl DebugLayer {
    /// The events that it is for: our own down to debug, but for those of connections.
    pub(super) fn filter() -> Targets {
        Targets::new()
            .with_default(Level::WARN)
            .with_target("panza", Level::DEBUG)
            .with_target("panza_server", Level::WARN)
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for DebugLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if attributes.metadata().name() == SPAN
            && let Some(lines) = OPENED.take()
            && let Some(span) = context.span(id)
        {
            span.extensions_mut().insert(lines);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let scope = context.event_scope(event).into_iter().flatten();
        let mut lines = scope.filter_map(|span| span.extensions().get::<Lines>().cloned());
        let Some(Lines { mut queue, opened }) = lines.next() else {
            return;
        };
        let metadata = event.metadata();
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("unnamed");
        let mut text = format!("[{name}] {}:", metadata.target());
        event.record(&mut Fields(&mut text));
        if text.len() > TEXT_BYTES {
            let is_boundary = |&end: &usize| text.is_char_boundary(end);
            text.truncate((0..=TEXT_BYTES).rev().find(is_boundary).unwrap_or(0));
        }
        let line = entry(opened, *metadata.level(), format_args!("{text}"));
        // A lossy queue takes or drops a line and never reports an error.
        let _ = queue.write_all(line.as_bytes());
    }
}

/// Adds the message and the fields of an event to a text.
struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string fails only if the value's own formatting does.
        let _ = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

/// The files of one log.
struct Files {
    folder: PathBuf,
    limit: u64,
    /// The file that is written, its bytes, and whether it is the first.
    file: Option<File>,
    bytes: u64,
    is_first: bool,
}

impl Files {
    fn new(folder: PathBuf, limit: u64) -> Self {
        Self {
            folder,
            limit,
            file: None,
            bytes: 0,
            is_first: true,
        }
    }

    /// Begins the file after the one that is full.
    fn rotate(&mut self) -> io::Result<()> {
        let [_, newest, oldest] = FILES.map(|name| self.folder.join(name));
        self.file = None;
        if !self.is_first
            && let Err(error) = fs::rename(newest, oldest)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        self.is_first = false;
        self.bytes = 0;
        Ok(())
    }
}

impl Write for Files {
    /// Takes one whole line from the queue. A line that the disk refuses is lost.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.bytes > 0 && self.bytes.saturating_add(line.len() as u64) > self.limit {
            self.rotate()?;
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                let name = if self.is_first { FILES[0] } else { FILES[1] };
                none.insert(File::create(self.folder.join(name))?)
            }
        };
        file.write_all(line)?;
        self.bytes += line.len() as u64;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MatchLog;
    use tracing_subscriber::layer::SubscriberExt;

    #[test]
    fn the_events_of_a_match_and_no_others_are_in_its_debug_log() {
        let root = tempfile::tempdir().unwrap();
        let filtered = DebugLayer.with_filter(DebugLayer::filter());
        let subscriber = tracing_subscriber::registry().with(filtered);
        let dispatch = tracing::Dispatch::new(subscriber);
        // With one dispatcher, a place of the code that another test comes to first asks that
        // test's thread, which has none, and stays disabled. With two, it asks both.
        let _second = tracing::Dispatch::new(tracing_subscriber::registry());
        tracing::dispatcher::with_default(&dispatch, || {
            let logs = ["one", "two"].map(|id| MatchLog::create(root.path(), id).unwrap());
            tracing::debug!("of no match");
            for (log, name) in logs.iter().zip(["one", "two"]) {
                log.span().in_scope(|| {
                    tracing::debug!(n = 3, "of {name}\nand more");
                    tracing::trace!("too fine");
                    tracing::info!(target: "hyper", "of a library");
                    let inner = tracing::info_span!("inner");
                    inner.in_scope(|| tracing::warn!("deeper"));
                    let dispatch = dispatch.clone();
                    let work = panza_sync::in_same_span(|| tracing::info!("elsewhere"));
                    let thread = panza_sync::spawn("helper", move || {
                        tracing::dispatcher::with_default(&dispatch, work);
                    });
                    thread.unwrap().join().unwrap();
                });
            }
            drop(logs);
            for name in ["one", "two"] {
                let text = fs::read_to_string(root.path().join(name).join("debug.log")).unwrap();
                let target = "panza_telemetry::debug_log::tests:";
                let said = format!("{target} of {name}\n    and more n=3\n");
                assert!(text.contains(&format!("] {said}")), "{text}");
                assert!(
                    text.contains(" DEBUG ") && text.contains("deeper"),
                    "{text}"
                );
                assert!(
                    text.contains(&format!("  INFO [helper] {target} elsewhere")),
                    "{text}"
                );
                let others = ["of no match", "too fine", "of a library"];
                assert!(!others.iter().any(|other| text.contains(other)), "{text}");
            }
        });
    }

    #[test]
    fn the_first_lines_and_the_last_ones_are_kept_within_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = Files::new(folder.path().to_path_buf(), 100);
        for number in 0..100 {
            files
                .write_all(format!("line {number:04}\n").as_bytes())
                .unwrap();
        }
        let read = |name| fs::read_to_string(folder.path().join(name)).unwrap();
        let [first, newest, oldest] = FILES.map(read);
        assert!(first.starts_with("line 0000\n") && first.len() == 100);
        assert!(newest.ends_with("line 0099\n") && newest.len() <= 100);
        assert!(oldest.ends_with("line 0089\n"), "{oldest}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_folder_that_is_gone_costs_lines_only() {
        let mut files = Files::new("/missing/folder".into(), 100);
        assert!(files.write(b"lost\n").is_err());
        assert!(files.flush().is_ok());
    }
}
