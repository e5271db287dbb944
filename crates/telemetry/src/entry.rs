//! Entries of the logs for people, `match.log` and `debug.log`: a time, the seconds since the log
//! was opened, a level and a text.

use std::fmt::{self, Write};

use panza_sync::Instant;
use tracing::Level;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};

/// An entry of a log for people, made so long after the log was opened. Further lines of the text
/// are set in, and other control characters are escaped.
pub(super) fn entry(opened: Instant, level: Level, text: fmt::Arguments<'_>) -> String {
    let mut line = now();
    // Writing to a string fails only if the caller's own formatting does.
    let _ = write!(line, " {:>9.3} {level:>5} ", opened.elapsed().as_secs_f64());
    let start = line.len();
    let _ = line.write_fmt(text);
    if line[start..].contains(char::is_control) {
        // Names from outside must not steer the terminal of a reader.
        let text = line.split_off(start).replace("\r\n", "\n");
        for c in text.trim_end().chars() {
            match c {
                '\n' | '\r' => line.push_str("\n    "),
                '\t' => line.push(c),
                c if c.is_control() => line.extend(c.escape_default()),
                c => line.push(c),
            }
        }
    }
    line.push('\n');
    line
}

/// The time of day in UTC, such as `2026-03-01T12:00:00.000000Z`.
pub(super) fn now() -> String {
    let mut text = String::new();
    // Formatting a time into a string cannot fail.
    let _ = SystemTime.format_time(&mut Writer::new(&mut text));
    text
}
