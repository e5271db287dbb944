//! `cargo lab engine`: a line protocol, by which builds of different commits play each other.
//!
//! A command is a line on standard input. The reply is a line on standard output: a JSON object, or
//! `error` and a reason. An error changes nothing. The end of the input ends the engine.
//!
//! | command | does | keys of the reply |
//! |---|---|---|
//! | `version` | names the build | `name`, `commit` |
//! | `game PATH` | builds a game, as a match does | `game`, `machine`, `roles` |
//! | `study SECONDS SEED` | studies it, see below | `games`, `evaluation_share` |
//! | `save FILE` | writes the study in use to a file | |
//! | `load FILE` | plays with a study that was saved, and learns nothing more | as `study` |
//! | `set KEY VALUE` | overrides a setting, see below | |
//! | `new ROLE SEED` | starts a search of that role (from 0) at the initial state | `role` |
//! | `advance MOVE \| MOVE...` | plays a joint move in all searches | |
//! | `think ROLE MS` | searches for milliseconds of processor time | see [`Thought`] |
//! | `ponder ROLE MS` | uses milliseconds on the clock, in which another role chooses | |
//! | `iterate ROLE N` | searches for iterations | see [`Thought`] |
//! | `quit` | ends the engine | |
//!
//! A study is that of a match, and is made once for the same seconds and seed. `study 0 SEED` plays
//! unstudied. `new` after an `advance` begins a new game, in which the other
//! roles have no search yet. Moves are texts, since their numbers differ between builds.
//!
//! `set` overrides a parameter of the search, one of [`PARAMETERS`]. What a study scales it scales,
//! as in a match; what it chooses is replaced. Later studies begin with what long training has left
//! in the file `memory`. `width` is the number of lanes of games that are built later; 0 measures
//! the fastest, as a match does. `factored` (true or false) is the setting of that name. The parts
//! of the search in [`PARTS`] are switched off with false; `tuples` and `prospects` are inputs of
//! evaluations that are trained later. With `rollout_threads` thinking is limited by time on the
//! clock. The other settings are those of a match on one core.
//!
//! Never uses: duels.

use std::fmt;
use std::io::{self, BufRead, Write};
use std::str::FromStr;

use anyhow::{Context, anyhow, bail};
use panza_cli::Outcome;
use panza_search::PARAMETERS;
use panza_search::alpha_beta::Switches;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Parts of the search and of studies that can be switched off: AMAF values, goal ranges by
/// latches, weights of lines, numbers of moves and distances, and training on the opponent's time.
pub const PARTS: [&str; 5] = ["amaf", "ranges", "tuples", "prospects", "training"];

/// A command; the page of the module says what each does.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Command {
    Version,
    Game(String),
    Study { seconds: f64, seed: u64 },
    Save(String),
    Load(String),
    Set { key: String, value: String },
    New { role: usize, seed: u64 },
    Advance(Vec<String>),
    Think { role: usize, milliseconds: f64 },
    Ponder { role: usize, milliseconds: f64 },
    Iterate { role: usize, iterations: u64 },
    Quit,
}

/// The reply to `think` and `iterate`. Counts are those of this command.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Thought {
    /// The move to play.
    #[serde(rename = "move")]
    pub mv: String,
    /// Visits of the move; in a search by parts the visits of all moves.
    pub visits: u64,
    /// Iterations finished.
    pub iterations: u64,
    /// Playouts finished.
    pub playouts: u64,
    /// The longest line of the tree, or by alpha-beta the last depth that was searched in full.
    #[serde(default)]
    pub depth: u32,
    /// The role's expected goal, 0 to 100.
    pub value: Option<f64>,
    /// Whether the move is proven best.
    pub proven: bool,
    /// Processor time.
    pub seconds: f64,
}

/// The help of `cargo lab engine`.
pub fn help() -> String {
    let parameters: String = PARAMETERS
        .iter()
        .map(|it| format!("    {:<20} {}\n", it.name, it.range()))
        .collect();
    let parts = PARTS.join(", ");
    let switches = Switches::NAMES.join(", ");
    format!(
        "Commands, one a line; replies are JSON objects, or `error` and a reason:\n  \
            version                 name and commit\n  \
            game PATH               build a game\n  \
            study SECONDS SEED      study it as a match does; 0 plays unstudied\n  \
            save FILE               write the study in use to a file\n  \
            load FILE               play with a study that was saved\n  \
            set KEY VALUE           override a setting, see below\n  \
            new ROLE SEED           search for a role, from 0, at the initial state\n  \
            advance MOVE | MOVE     play a joint move\n  \
            think ROLE MS           search for milliseconds of processor time, or on the clock\n                          \
            with rollout threads, and name the move\n  \
            ponder ROLE MS          use milliseconds on the clock, while another role thinks\n  \
            iterate ROLE N          search for iterations, and name the move\n  \
            quit\n\n\
            Keys of `set`, and their values:\n{parameters}    \
            method               auto, tree or alpha-beta\n    \
            SWITCH               0 to 100, 0 is off; SWITCH is a part of alpha-beta, one of\n    \
            \x20                    {switches}\n    \
            factored             true or false\n    \
            PART                 true or false; PART is one of {parts}\n    \
            memory               a file for studies to begin with\n    \
            width                lanes of the next game; 0 measures\n\n\
            Example:\n  printf 'game ticTacToe\\nnew 0 1\\niterate 0 1000\\n' | cargo lab engine"
    )
}

/// Something that obeys commands.
pub trait Engine {
    /// Obeys a command and returns its reply. Fails for a command that cannot be obeyed.
    fn ask(&mut self, command: &Command) -> anyhow::Result<Value>;
}

impl FromStr for Command {
    type Err = anyhow::Error;

    fn from_str(line: &str) -> anyhow::Result<Self> {
        let (name, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        let rest = rest.trim();
        let words: Vec<&str> = rest.split_whitespace().collect();
        let two = |form: &str| match words[..] {
            [first, second] => Ok((first, second)),
            _ => Err(anyhow!("expected `{name} {form}`")),
        };
        match name {
            "version" | "quit" if !rest.is_empty() => bail!("expected `{name}` alone"),
            "version" => Ok(Self::Version),
            "quit" => Ok(Self::Quit),
            "game" if rest.is_empty() => bail!("expected `game PATH`"),
            "game" => Ok(Self::Game(rest.to_string())),
            "study" => {
                let (seconds, seed) = two("SECONDS SEED")?;
                Ok(Self::Study {
                    seconds: duration(seconds, "SECONDS")?,
                    seed: number(seed, "SEED")?,
                })
            }
            "save" | "load" if rest.is_empty() => bail!("expected `{name} FILE`"),
            "save" => Ok(Self::Save(rest.to_string())),
            "load" => Ok(Self::Load(rest.to_string())),
            "set" => {
                let (key, value) = two("KEY VALUE")?;
                Ok(Self::Set {
                    key: key.to_string(),
                    value: value.to_string(),
                })
            }
            "new" => {
                let (role, seed) = two("ROLE SEED")?;
                Ok(Self::New {
                    role: number(role, "ROLE")?,
                    seed: number(seed, "SEED")?,
                })
            }
            "advance" if rest.is_empty() => bail!("expected `advance MOVE | MOVE...`"),
            "advance" => {
                let moves = rest.split('|').map(|mv| mv.trim().to_string());
                Ok(Self::Advance(moves.collect()))
            }
            "think" => {
                let (role, milliseconds) = two("ROLE MS")?;
                Ok(Self::Think {
                    role: number(role, "ROLE")?,
                    milliseconds: duration(milliseconds, "MS")?,
                })
            }
            "ponder" => {
                let (role, milliseconds) = two("ROLE MS")?;
                Ok(Self::Ponder {
                    role: number(role, "ROLE")?,
                    milliseconds: duration(milliseconds, "MS")?,
                })
            }
            "iterate" => {
                let (role, iterations) = two("ROLE N")?;
                Ok(Self::Iterate {
                    role: number(role, "ROLE")?,
                    iterations: number(iterations, "N")?,
                })
            }
            _ => bail!(
                "unknown command `{name}`; the commands are version, game, study, save, load, set, new, advance, think, ponder, iterate, quit"
            ),
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version => out.write_str("version"),
            Self::Game(path) => write!(out, "game {path}"),
            Self::Study { seconds, seed } => write!(out, "study {seconds} {seed}"),
            Self::Save(file) => write!(out, "save {file}"),
            Self::Load(file) => write!(out, "load {file}"),
            Self::Set { key, value } => write!(out, "set {key} {value}"),
            Self::New { role, seed } => write!(out, "new {role} {seed}"),
            Self::Advance(moves) => write!(out, "advance {}", moves.join(" | ")),
            Self::Think { role, milliseconds } => write!(out, "think {role} {milliseconds}"),
            Self::Ponder { role, milliseconds } => write!(out, "ponder {role} {milliseconds}"),
            Self::Iterate { role, iterations } => write!(out, "iterate {role} {iterations}"),
            Self::Quit => out.write_str("quit"),
        }
    }
}

/// A number of a command or a setting.
fn number<T: FromStr>(text: &str, name: &str) -> anyhow::Result<T> {
    let number = text.parse().ok();
    number.with_context(|| format!("{name} is `{text}`; expected a number in range"))
}

/// A number of seconds or milliseconds.
fn duration(text: &str, name: &str) -> anyhow::Result<f64> {
    const MAX: f64 = 1e9;
    let number: f64 = number(text, name)?;
    if !(0.0..=MAX).contains(&number) {
        bail!("{name} is `{text}`; expected 0 to {MAX}");
    }
    Ok(number)
}

/// Gives an engine the commands of standard input.
pub(crate) fn serve(engine: &mut impl Engine) -> anyhow::Result<Outcome> {
    for line in io::stdin().lock().lines() {
        let line = line.context("the input cannot be read")?;
        let command = line.parse::<Command>();
        let is_last = matches!(command, Ok(Command::Quit));
        let reply = match command.and_then(|command| engine.ask(&command)) {
            Ok(reply) => reply.to_string(),
            Err(error) => format!("error {}", format!("{error:#}").replace('\n', " ")),
        };
        let mut out = io::stdout().lock();
        writeln!(out, "{reply}").and_then(|()| out.flush())?;
        if is_last {
            break;
        }
    }
    Ok(Outcome::Holds)
}
