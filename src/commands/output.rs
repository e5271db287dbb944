//! What a command writes on standard output: lines for people, or JSON objects for scripts.
//!
//! With `--json` only objects are written, one per line, so that a script can read the output line
//! by line; everything else a command has to say goes to standard error.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde::{Serialize, Serializer};

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
    ///
    /// # Errors
    /// The output is closed or full.
    pub fn object(self, object: &impl Serialize) -> io::Result<()> {
        if !self.json {
            return Ok(());
        }
        let mut line = serde_json::to_string(object)?;
        line.push('\n');
        write_out(&line)
    }

    /// Writes text and a line end; nothing when scripts read this.
    ///
    /// # Errors
    /// The output is closed or full.
    pub fn line(self, text: impl fmt::Display) -> io::Result<()> {
        if self.json {
            return Ok(());
        }
        write_out(&format!("{text}\n"))
    }

    /// Writes text as it stands; nothing when scripts read this.
    ///
    /// # Errors
    /// The output is closed or full.
    pub fn text(self, text: &str) -> io::Result<()> {
        if self.json {
            return Ok(());
        }
        write_out(text)
    }

    /// Whether lines may be coloured.
    pub fn has_colour(self) -> bool {
        !self.json && io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
    }

    /// Writes text and a line end on standard error; nothing when scripts read this, for they have
    /// it in an object. Whoever closed standard error does not want to know.
    pub fn complaint(self, text: impl fmt::Display) {
        if !self.json {
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    /// Whether complaints may be coloured.
    pub fn has_coloured_complaints(self) -> bool {
        !self.json && io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
    }
}

/// One write for a whole line, so that lines of several threads never mix.
fn write_out(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Roles and something of each as a JSON object that keeps their order.
#[derive(Clone, Debug)]
pub struct ByRole<T>(Vec<(String, T)>);

impl<T> ByRole<T> {
    /// One item per role, in role order.
    pub fn new(roles: &[String], items: impl IntoIterator<Item = T>) -> Self {
        Self(roles.iter().cloned().zip(items).collect())
    }
}

impl<T: Serialize> Serialize for ByRole<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(role, item)| (role, item)))
    }
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

/// A spinner on standard error for work of unknown length; invisible where that is not a terminal.
pub fn spinner(message: impl Into<String>) -> ProgressBar {
    let bar = ProgressBar::new_spinner().with_message(message.into());
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// A number with a comma between each three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_in_threes() {
        let shown = [0, 999, 1000, 1_234_567].map(grouped);
        assert_eq!(shown, ["0", "999", "1,000", "1,234,567"]);
    }
}
