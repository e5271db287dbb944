//! Command-line arguments that several commands share.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::{Arg, Args, Command};

use super::output::complain;
use panza_config::{OptionValue, Settings};
use panza_gdl::text;
use panza_player::search_config;
use panza_search::SearchConfig;

/// Where settings come from: a file, and single keys over it.
#[derive(Args, Clone, PartialEq, Eq, Default, Debug)]
pub struct SettingsChoice {
    /// A TOML file with the settings that differ from config/default.toml.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// One setting, such as search.exploration=0.4, over the file; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

impl SettingsChoice {
    /// The settings, with the values of `options` over all others.
    pub fn load<'a>(
        &self,
        options: impl IntoIterator<Item = OptionValue<'a>>,
    ) -> anyhow::Result<Settings> {
        let options: Vec<OptionValue<'a>> = options.into_iter().collect();
        let file = self.config.as_deref();
        let settings = Settings::load_with_options(file, &self.set, &options)?;
        for retired in &settings.retired {
            let (place, key) = (&retired.place, &retired.key);
            complain(format_args!(
                "warning: {place}: the setting `{key}` has gone and is ignored"
            ));
        }
        Ok(settings)
    }
}

/// How long and with what a position is searched.
#[derive(Args, Debug)]
pub struct SearchChoice {
    /// Seconds to search a position; without --ms and --iterations there is a default.
    #[arg(long, value_name = "S", conflicts_with = "iterations", value_parser = parse_seconds)]
    pub seconds: Option<f64>,
    /// Milliseconds to search a position, instead of seconds.
    #[arg(long, value_name = "M", conflicts_with_all = ["seconds", "iterations"], value_parser = clap::value_parser!(u32).range(1..=86_400_000))]
    pub ms: Option<u32>,
    /// Iterations to search a position, instead of seconds.
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub iterations: Option<u64>,
    /// Threads: one grows the graph, the others make playouts. A single thread does both.
    #[arg(short = 'j', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: u16,
    /// Seed of the random numbers.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// The settings of the search.
    #[command(flatten)]
    pub settings: SettingsChoice,
}

impl SearchChoice {
    /// The configuration of the search.
    pub fn search_config(&self) -> anyhow::Result<SearchConfig> {
        let settings = self.settings.load([])?;
        let mut config = search_config(&settings.search, self.seed);
        config.rollout_threads = usize::from(self.threads) - 1;
        Ok(config)
    }

    /// The time limit, `default` unless one is given; none where iterations are counted.
    pub fn time(&self, default: Duration) -> Option<Duration> {
        let milliseconds = self.ms.map(|ms| Duration::from_millis(ms.into()));
        let time = milliseconds.or(self.seconds.map(Duration::from_secs_f64));
        self.iterations.is_none().then(|| time.unwrap_or(default))
    }
}

/// The command with options that take negative numbers as values, so that each says what it expects
/// instead.
pub fn with_negative_numbers(command: Command) -> Command {
    let allowed = |arg: Arg| match !arg.is_positional() && arg.get_action().takes_values() {
        true => arg.allow_negative_numbers(true),
        false => arg,
    };
    command
        .mut_args(allowed)
        .mut_subcommands(with_negative_numbers)
}

/// Reads a time in seconds: a positive number of at most a day.
pub fn parse_seconds(text: &str) -> Result<f64, String> {
    const DAY: f64 = 86_400.0;
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= DAY => Ok(seconds),
        _ => Err(format!("expected seconds above 0 and at most {DAY}")),
    }
}

/// Reads a clock: a whole number of seconds, from 1 to a day.
pub fn parse_clock(text: &str) -> Result<u32, String> {
    const DAY: u32 = 86_400;
    match text.parse() {
        Ok(seconds @ 1..=DAY) => Ok(seconds),
        _ => Err(format!(
            "expected a whole number of seconds from 1 to {DAY}"
        )),
    }
}

/// What standard input is called in messages.
pub const STANDARD_INPUT: &str = "standard input";

/// Whether a path is `-`, which stands for standard input.
pub fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// A path as messages show it.
pub fn shown_path(path: &Path) -> String {
    match is_standard_input(path) {
        true => STANDARD_INPUT.to_string(),
        false => path.display().to_string(),
    }
}

/// The text of a file, or of standard input for `-`, of at most `limit` bytes, decoded as every
/// text from outside is.
///
/// # Errors
/// As [`read_limited`].
pub fn read_text(path: &Path, limit: u64) -> anyhow::Result<String> {
    let bytes = read_limited(path, limit)?;
    Ok(text::decode(&bytes).0.into_owned())
}

/// The bytes of a file, or of standard input for `-`, of at most `limit` bytes.
///
/// # Errors
/// It cannot be read or is longer, or standard input was read before.
pub fn read_limited(path: &Path, limit: u64) -> anyhow::Result<Vec<u8>> {
    let cannot_read = || format!("cannot read `{}`", path.display());
    if is_standard_input(path) {
        return read_standard_input(limit);
    }
    let length = fs::metadata(path).with_context(cannot_read)?.len();
    if length > limit {
        bail!(
            "`{}` has {length} bytes; expected at most {limit}",
            path.display()
        );
    }
    fs::read(path).with_context(cannot_read)
}

/// All of standard input.
fn read_standard_input(limit: u64) -> anyhow::Result<Vec<u8>> {
    static WAS_READ: AtomicBool = AtomicBool::new(false);
    ensure!(
        !WAS_READ.swap(true, Ordering::Relaxed),
        "only one argument can be -, for standard input is read once"
    );
    let mut bytes = Vec::new();
    let most = limit.saturating_add(1);
    let read = io::stdin().lock().take(most).read_to_end(&mut bytes);
    read.context("cannot read standard input")?;
    ensure!(
        bytes.len() as u64 <= limit,
        "standard input has more than {limit} bytes"
    );
    Ok(bytes)
}
