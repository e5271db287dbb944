//! Baselines: outside programs that make the same random playouts.
//!
//! A baseline is a shell command with the places `{rulesheet}` and `{seconds}`, which prints a line
//! with `playouts_per_cpu_s=NUMBER` and perhaps `mean_length=NUMBER`.
//!
//! Invariant: a failure quotes nothing that the command wrote, since that may name folders of this
//! machine.

use std::path::Path;
use std::process::Command;
use std::str::FromStr;
use std::time::Duration;

use panza_cli::child;

/// Longer names do not fit a table's head.
const MAX_NAME_CHARS: usize = 40;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Baseline {
    pub name: String,
    pub command: String,
}

impl FromStr for Baseline {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, command) = text.split_once('=').ok_or("expected NAME=COMMAND")?;
        let is_plain = |c: char| c.is_alphanumeric() || " -_.+".contains(c);
        let fits = (1..=MAX_NAME_CHARS).contains(&name.chars().count());
        if name.trim() != name || !fits || !name.chars().all(is_plain) {
            return Err(format!(
                "expected NAME=COMMAND, the name of 1 to {MAX_NAME_CHARS} letters, digits, spaces and -_.+"
            ));
        }
        if command.trim().is_empty() {
            return Err("expected NAME=COMMAND with a shell command".to_string());
        }
        Ok(Self {
            name: name.to_string(),
            command: command.to_string(),
        })
    }
}

impl Baseline {
    /// Runs it once on a rulesheet: playouts per second of processor time, and the mean number of
    /// joint moves of a playout, if it prints that. The error is the reason why there is no rate,
    /// and what the command wrote on standard error, in one line.
    pub fn run(
        &self,
        rulesheet: &Path,
        seconds: f64,
        limit: Duration,
    ) -> Result<(f64, Option<f64>), (String, String)> {
        let command = self
            .command
            .replace("{rulesheet}", &quoted(&rulesheet.to_string_lossy()))
            .replace("{seconds}", &seconds.to_string());
        let mut shell = Command::new("sh");
        shell.args(["-c", &command]);
        let captured =
            child::capture(shell, limit).map_err(|error| (format!("{error:#}"), String::new()))?;
        let message = captured.message_line();
        if let Some(failure) = captured.failure(limit) {
            return Err((failure, message));
        }
        let lines = captured.output.lines().rev();
        let mut measured = lines.filter_map(|line| {
            let rate = value(line, "playouts_per_cpu_s")?;
            Some((rate, value(line, "mean_length")))
        });
        let no_rate = "printed no line with playouts_per_cpu_s=NUMBER";
        measured
            .next()
            .ok_or_else(|| (no_rate.to_string(), message))
    }
}

fn value(line: &str, key: &str) -> Option<f64> {
    let items = line.split(|c: char| c.is_whitespace() || c == ',' || c == ';');
    items
        .filter_map(|item| item.split_once('='))
        .filter(|(found, _)| *found == key)
        .find_map(|(_, number)| number.parse().ok())
        .filter(|number: &f64| number.is_finite() && *number > 0.0)
}

/// A path as one word of a shell command, quoted only where necessary, so that it is valid inside
/// quotes as well.
fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    match path.chars().all(is_plain) {
        true => path.to_string(),
        false => format!("'{}'", path.replace('\'', r"'\''")),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn run(command: &str) -> Result<(f64, Option<f64>), (String, String)> {
        let baseline: Baseline = format!("fake={command}").parse().unwrap();
        let limit = Duration::from_secs(60);
        baseline.run(Path::new("/games/o'hara 2.gdl"), 2.5, limit)
    }

    #[test]
    fn places_are_replaced_and_the_last_rate_counts() {
        let measured = run(
            r#"test {rulesheet} = "/games/o'hara 2.gdl" && echo playouts_per_cpu_s=1 &&
               echo "game=x playouts_per_cpu_s={seconds}, mean_length=7.6" && echo done"#,
        );
        assert_eq!(measured, Ok((2.5, Some(7.6))));
    }

    #[test]
    fn failures_quote_no_output() {
        let no_rate = "printed no line with playouts_per_cpu_s=NUMBER";
        for (command, expected, message) in [
            (
                "echo no luck >&2; exit 3",
                "ended with exit status: 3",
                "no luck",
            ),
            ("kill -9 $$", "ended with signal: 9 (SIGKILL)", ""),
            ("echo no figures", no_rate, ""),
            ("echo playouts_per_cpu_s=NaN", no_rate, ""),
            ("echo playouts_per_cpu_s=-3", no_rate, ""),
        ] {
            let failure = run(command).unwrap_err();
            assert_eq!(
                failure,
                (expected.to_string(), message.to_string()),
                "{command}"
            );
        }
    }

    #[test]
    fn names_fit_a_head() {
        for text in ["fake", "=run", "a|b=run", " a=run", "a=", "a= "] {
            assert!(text.parse::<Baseline>().is_err(), "{text}");
        }
        let baseline: Baseline = "Some Player 1.6=run --x=1".parse().unwrap();
        assert_eq!(baseline.name, "Some Player 1.6");
        assert_eq!(baseline.command, "run --x=1");
    }
}
