//! The program's messages on standard error, a short line each: the time of day in UTC, the level
//! where it is not plain information, and the text.
//!
//! A queue and a thread write them, so that a search thread never waits for a terminal. Texts from
//! outside are part of messages, so characters that control a terminal or the direction of text are
//! written as codes.

use crate::queue::{ErrorCounter, NonBlocking, WorkerGuard};
use std::io::{self, IsTerminal, Write};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{self, FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

use super::debug_log::DebugLayer;
use super::entry::now;
use panza_gdl::text::plain;

/// The environment variable that overrules the configured level. It takes targets and
/// levels, for example `panza_search=debug,hyper=info`.
const FILTER_VARIABLE: &str = "RUST_LOG";

/// The place of the hours, minutes and seconds in a time such as `2026-03-01T12:00:00.000000Z`.
const TIME_OF_DAY: std::ops::Range<usize> = 11..19;

/// Why the messages could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// The environment variable holds something else than filter directives.
    #[error(
        "the environment variable {FILTER_VARIABLE} is `{found}`; \
         expected log filters such as `info` or `panza_search=debug`: {reason}"
    )]
    Filter {
        /// What the variable holds.
        found: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The messages were set up before, here or by whoever uses the library.
    #[error("the log of this process is set up already")]
    Already(#[from] TryInitError),
}

/// Keeps the messages flowing; drop it last, in `main`, to see the rest of them.
/// `std::process::exit` skips that and loses what is still queued.
#[must_use = "messages are lost once the guard is dropped"]
#[derive(Debug)]
pub struct ConsoleGuard {
    dropped: ErrorCounter,
    _worker: WorkerGuard,
}

/// Sends the messages of this process to standard error: Panza's own down to `level`, those of the
/// libraries it uses from warnings up. The environment variable `RUST_LOG`, where it is set,
/// decides instead. The debug logs of matches do not depend on either.
///
/// # Errors
/// When the variable cannot be understood, and on a second call.
pub fn init(level: Level) -> Result<ConsoleGuard, InitError> {
    let filter = filter(std::env::var(FILTER_VARIABLE).ok(), level)?;
    let (writer, worker) = NonBlocking::new(io::stderr());
    let dropped = writer.error_counter();
    let colours = io::stderr().is_terminal();
    subscriber(filter, move || writer.clone(), colours).try_init()?;
    Ok(ConsoleGuard {
        dropped,
        _worker: worker,
    })
}

impl Drop for ConsoleGuard {
    fn drop(&mut self) {
        let dropped = self.dropped.dropped_lines();
        if dropped > 0 {
            // The log itself is what failed, so it cannot carry this message.
            eprintln!("{dropped} log lines were dropped because they came too fast");
        }
    }
}

fn filter(variable: Option<String>, level: Level) -> Result<Targets, InitError> {
    let directives = match variable {
        Some(found) if !found.trim().is_empty() => found,
        // Level's order: the more severe, the smaller.
        _ => format!("{},panza={level}", level.min(Level::WARN)),
    };
    directives.parse().map_err(|error| InitError::Filter {
        reason: format!("{error}"),
        found: directives,
    })
}

fn subscriber<W: Write + 'static>(
    filter: Targets,
    writer: impl Fn() -> W + Send + Sync + 'static,
    colours: bool,
) -> impl Subscriber + Send + Sync {
    // Each message is one write.
    let lines = fmt::layer()
        .event_format(ShortLine)
        .with_writer(move || Plain(writer()))
        .with_ansi(colours);
    // Each layer has its filter: the debug logs of matches hold more than the console.
    tracing_subscriber::registry()
        .with(DebugLayer.with_filter(DebugLayer::filter()))
        .with(lines.with_filter(filter))
}

/// The form of a line. Where a message of Panza comes from is in the debug logs only.
struct ShortLine;

impl<S, N> FormatEvent<S, N> for ShortLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> std::fmt::Result {
        let now = now();
        write!(writer, "{} ", now.get(TIME_OF_DAY).unwrap_or(&now))?;
        let (level, target) = (*event.metadata().level(), event.metadata().target());
        let colour = match level {
            Level::ERROR => "\x1b[31m",
            Level::WARN => "\x1b[33m",
            _ => "\x1b[2m",
        };
        match (level, writer.has_ansi_escapes()) {
            (Level::INFO, _) => {}
            (_, true) => write!(writer, "{colour}{level}\x1b[0m ")?,
            (_, false) => write!(writer, "{level} ")?,
        }
        let library = target.split("::").next().unwrap_or(target);
        if !library.starts_with("panza") {
            write!(writer, "{library}: ")?;
        }
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

/// Writes control characters and those that change the direction of text as codes. The escape
/// character is left: it begins the colours, and the formatter has replaced it in texts.
struct Plain<W>(W);

impl<W: Write> Write for Plain<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        self.0.write_all(plain(&text, true).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn texts_from_outside_control_no_terminal() {
        let output = Shared::default();
        let writer = output.clone();
        let filter = filter(None, Level::INFO).unwrap();
        let subscriber = subscriber(filter, move || writer.clone(), false);
        tracing::subscriber::with_default(subscriber, || {
            tracing::error!(target: "panza", "a\0b\u{202e}c\u{2066}d\u{1b}[2Je\rf");
        });
        let text = String::from_utf8(output.0.lock().unwrap().clone()).unwrap();
        let text = text.trim_end();
        assert!(!text.contains(|c: char| c.is_control() || c == '\u{202e}' || c == '\u{2066}'));
        assert!(text.contains("a\\u{0}b\\u{202e}c\\u{2066}d"), "{text}");
    }

    /// What reaches the writer of four messages under this variable and level.
    fn logged(variable: Option<&str>, level: Level) -> Vec<String> {
        let output = Shared::default();
        let writer = output.clone();
        let filter = filter(variable.map(str::to_string), level).unwrap();
        let subscriber = subscriber(filter, move || writer.clone(), false);
        tracing::subscriber::with_default(subscriber, || {
            tracing::error!(target: "hyper", "library error");
            tracing::info!(target: "hyper", "library info");
            tracing::info!(target: "panza_search", "own info");
            tracing::debug!(target: "panza_search", "own debug");
        });
        let bytes = output.0.lock().unwrap().clone();
        String::from_utf8(bytes)
            .unwrap()
            .lines()
            .map(|line| {
                let (time, text) = line.split_once(' ').unwrap();
                assert!(time.len() == 8 && time.matches(':').count() == 2, "{line}");
                text.to_string()
            })
            .collect()
    }

    #[test]
    fn the_level_is_for_our_own_messages() {
        assert_eq!(
            logged(None, Level::INFO),
            ["ERROR hyper: library error", "own info"]
        );
        assert_eq!(
            logged(None, Level::DEBUG),
            ["ERROR hyper: library error", "own info", "DEBUG own debug"]
        );
        assert_eq!(
            logged(Some(" "), Level::ERROR),
            ["ERROR hyper: library error"]
        );
    }

    #[test]
    fn the_environment_overrules_the_level() {
        assert_eq!(
            logged(Some("hyper=info"), Level::DEBUG),
            ["ERROR hyper: library error", "hyper: library info"]
        );
    }

    #[test]
    fn a_filter_that_is_none_is_an_error_that_shows_it() {
        let error = filter(Some("panza=loud".to_string()), Level::INFO).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("the environment variable RUST_LOG is `panza=loud`; expected"),
            "{error}"
        );
    }
}
