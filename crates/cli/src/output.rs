//! What a command writes on standard output: lines for people, or JSON objects for scripts.
//!
//! With `--json` only objects are written, one per line, so that a script can read the output line
//! by line; all other messages go to standard error. What comes out of files and messages controls
//! no terminal: it is written in [plain] letters.

use std::fmt;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use indicatif::{HumanCount, ProgressBar, ProgressState, ProgressStyle};
use panza_gdl::Diagnostic;
use panza_gdl::text::{plain, plain_json};
use serde::Serialize;

/// Where a command's results go.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    json: bool,
}

impl Output {
    /// JSON objects or lines for people.
    pub fn new(json: bool) -> Self {
        Self { json }
    }

    /// Whether scripts read this.
    pub fn is_json(self) -> bool {
        self.json
    }

    /// Writes one object on one line; nothing unless scripts read this.
    pub fn object(self, object: &impl Serialize) -> io::Result<()> {
        if !self.json {
            return Ok(());
        }
        write_out(&format!(
            "{}\n",
            plain_json(&serde_json::to_string(object)?)
        ))
    }

    /// Writes progress as a JSON object on a line of standard error, where a bar would be; nothing
    /// unless scripts read this.
    pub fn progress(self, object: &impl Serialize) {
        if self.json
            && let Ok(text) = serde_json::to_string(object)
        {
            let _ = writeln!(io::stderr(), "{}", plain_json(&text));
        }
    }

    /// Writes text and a line end; nothing when scripts read this.
    pub fn line(self, text: impl fmt::Display) -> io::Result<()> {
        match self.json {
            true => Ok(()),
            false => write_out(&plain(&format!("{text}\n"), false)),
        }
    }

    /// Writes text without a line end, as it is where no terminal shows it; nothing when scripts
    /// read this.
    pub fn text(self, text: &str) -> io::Result<()> {
        match io::stdout().is_terminal() {
            _ if self.json => Ok(()),
            true => write_out(&plain(&text.replace("\r\n", "\n"), false)),
            false => write_out(text),
        }
    }

    /// Writes a diagnostic of a text, in colours on a terminal; nothing when scripts read this.
    pub fn diagnostic(self, fault: &Diagnostic, origin: &str, text: &str) -> io::Result<()> {
        match self.json {
            true => Ok(()),
            false => write_out(&rendered(fault, origin, text, &io::stdout())),
        }
    }

    /// Writes text and a line end on standard error; nothing when scripts read this, for they have
    /// it in an object. A closed standard error is no error.
    pub fn complaint(self, text: impl fmt::Display) {
        if !self.json {
            complain(text);
        }
    }

    /// The same of a diagnostic of a text, in colours on a terminal.
    pub fn complain_of(self, fault: &Diagnostic, origin: &str, text: &str) {
        if !self.json {
            let shown = rendered(fault, origin, text, &io::stderr());
            let _ = io::stderr().write_all(shown.as_bytes());
        }
    }
}

/// Writes text and a line end on standard error. A closed standard error is no error.
pub fn complain(text: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "{}", plain(&text.to_string(), false));
}

/// A diagnostic of a text as a stream shows it.
fn rendered(fault: &Diagnostic, origin: &str, text: &str, stream: &impl IsTerminal) -> String {
    let has_colours = stream.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    format!(
        "{}\n",
        plain(&fault.render(origin, text, has_colours), has_colours)
    )
}

/// Writes a file in one step, so that no half of it is ever there.
///
/// # Errors
/// The file, or the one beside it that is written first, cannot be written.
pub fn write_whole(path: &Path, text: &str) -> anyhow::Result<()> {
    let mut beside = path.to_path_buf().into_os_string();
    beside.push(".part");
    let beside = PathBuf::from(beside);
    let cannot = || format!("cannot write `{}`", path.display());
    if path.is_dir() {
        bail!("`{}` is a folder; expected a file", path.display());
    }
    fs::write(&beside, text).with_context(cannot)?;
    fs::rename(&beside, path).with_context(cannot)
}

/// One write for a whole line, so that lines of several threads never mix.
fn write_out(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// A bar on standard error over `length` units of work; invisible where that is not a terminal.
pub fn progress_bar(length: u64, unit: &str) -> ProgressBar {
    // indicatif draws on standard error, and on terminals only.
    let bar = ProgressBar::new(length);
    let template = format!("{{msg}} {{wide_bar}} {{human_pos}}/{{human_len}} {unit} {{elapsed}}");
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar
}

/// A spinner on standard error with the seconds since it was made; invisible where that is not a
/// terminal.
pub fn spinner(message: impl Into<String>) -> ProgressBar {
    countdown(message, None)
}

/// A [`spinner`] that shows the time limit of the work as well.
pub fn countdown(message: impl Into<String>, limit: Option<Duration>) -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    show_seconds(&bar, message, limit);
    bar
}

/// Starts the seconds of a spinner anew, with another message and time limit.
pub fn show_seconds(bar: &ProgressBar, message: impl Into<String>, limit: Option<Duration>) {
    let seconds = move |state: &ProgressState, out: &mut dyn fmt::Write| {
        // A closed terminal is noticed by the bar itself.
        let _ = out.write_str(&seconds_of(state.elapsed(), limit));
    };
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {seconds}") {
        bar.set_style(style.with_key("seconds", seconds));
    }
    bar.set_message(plain(&message.into(), false).into_owned());
    bar.reset_elapsed();
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
}

fn seconds_of(elapsed: Duration, limit: Option<Duration>) -> String {
    let elapsed = elapsed.as_secs();
    match limit {
        Some(limit) => format!("{elapsed} of {} s", limit.as_secs_f64()),
        None => format!("{elapsed} s"),
    }
}

/// A column of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    head: &'static str,
    is_text: bool,
}

impl Column {
    /// A column of text, aligned left.
    pub fn text(head: &'static str) -> Self {
        Self {
            head,
            is_text: true,
        }
    }

    /// A column of numbers, aligned right.
    pub fn figure(head: &'static str) -> Self {
        Self {
            head,
            is_text: false,
        }
    }
}

/// Rows of one cell per column under a line of heads, without a line end at the end. Columns are as
/// wide as their widest cell.
pub fn table(columns: &[Column], rows: &[Vec<String>]) -> String {
    let heads: Vec<String> = columns.iter().map(|c| c.head.to_string()).collect();
    let width = |column: usize| {
        let cells = rows.iter().chain([&heads]).map(|row| &row[column]);
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(columns).zip(&widths);
        let cells = cells.map(|((cell, column), &width)| match column.is_text {
            true => format!("{cell:<width$}"),
            false => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string()
    };
    let lines = [&heads].into_iter().chain(rows).map(line);
    lines.collect::<Vec<_>>().join("\n")
}

/// Words joined by spaces, in lines of at most 100 characters that begin with `indent`.
pub fn wrapped(words: &[String], indent: &str) -> String {
    const WIDTH: usize = 100;
    let mut out = String::new();
    let mut column = 0;
    for word in words {
        let length = word.chars().count();
        if column == 0 || column + 1 + length > WIDTH {
            if column > 0 {
                out.push('\n');
            }
            out.push_str(indent);
            column = indent.len();
        } else {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out
}

/// A number with a comma between each three digits.
pub fn grouped(number: u64) -> String {
    HumanCount(number).to_string()
}

/// A number of things with a regular plural, such as `1 move`, `1,234 moves` and `2 boxes`.
pub fn counted(number: u64, thing: &str) -> String {
    let ending = match number {
        1 => "",
        _ if thing.ends_with(['h', 'x']) => "es",
        _ => "s",
    };
    format!("{} {thing}{ending}", grouped(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_has_no_plural() {
        let shown = [(0, "move"), (1, "move"), (1234, "push"), (2, "box")];
        let shown = shown.map(|(number, thing)| counted(number, thing));
        assert_eq!(shown, ["0 moves", "1 move", "1,234 pushes", "2 boxes"]);
    }

    #[test]
    fn numbers_are_grouped_in_threes() {
        let shown = [0, 999, 1000, 1_234_567].map(grouped);
        assert_eq!(shown, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn a_spinner_shows_seconds_and_the_limit() {
        let elapsed = Duration::from_millis(3_700);
        assert_eq!(seconds_of(elapsed, None), "3 s");
        assert_eq!(
            seconds_of(elapsed, Some(Duration::from_secs(10))),
            "3 of 10 s"
        );
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let columns = [
            Column::text("game"),
            Column::figure("steps"),
            Column::text(""),
        ];
        let row = |cells: [&str; 3]| cells.map(str::to_string).to_vec();
        let rows = [
            row(["hex", "7", ""]),
            row(["breakthrough", "1,000,000", "!"]),
        ];
        let expected = "\
game              steps
hex                   7
breakthrough  1,000,000  !";
        assert_eq!(table(&columns, &rows), expected);
    }

    #[test]
    fn words_are_wrapped_at_a_hundred_columns() {
        let words = vec!["(cell 1 1 blank)".to_string(); 7];
        let shown = wrapped(&words, "  ");
        let lengths: Vec<usize> = shown.lines().map(str::len).collect();
        assert_eq!(lengths, [86, 35], "{shown}");
        assert_eq!(wrapped(&[], "  "), "");
    }
}
