//! Parses the TOML file of a tournament into a [`Schedule`].
//!
//! Unknown keys are errors. Each message names the file and, where there is one, the line.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{anyhow, bail};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use toml::Spanned;

use super::plan::{Contestant, Entry, Event, PORT, Schedule};
use crate::game_manager::Opening;
use crate::players::PlayerSpec;
use panza_cli::arguments::{read_text, shown_path};
use panza_cli::output::counted;
use panza_cli::{Game, SettingsChoice};
use panza_gdl::CHANCE_ROLE;
use panza_sync::CoreId;

/// Larger files are refused.
const MAX_BYTES: u64 = 1 << 20;
const LONGEST_CLOCK: u32 = 86_400;
const MOST_GAMES_A_SIDE: u32 = 10_000;
/// Matches of a pair on each side in a game, from all its openings.
const MOST_ROUNDS: usize = 10_000;
/// Java programs take long to start.
const READY_SECONDS: f64 = 30.0;

impl Schedule {
    pub(super) fn load(file: &Path) -> anyhow::Result<Self> {
        let shown = shown_path(file);
        let text = read_text(file, MAX_BYTES)?;
        Self::parse(&text, &shown)
    }

    /// Reads a tournament and the rulesheets that it names; `shown` is the text's name in messages.
    pub fn parse(text: &str, shown: &str) -> anyhow::Result<Self> {
        let source = Source { text, shown };
        let written: Written = toml::from_str(text).map_err(|error| {
            // A message of the parser may have several lines.
            let message = error.message().lines().collect::<Vec<_>>().join(", ");
            source.fault(&error.span().unwrap_or(0..0), message)
        })?;
        written.resolve(&source)
    }
}

struct Source<'a> {
    text: &'a str,
    shown: &'a str,
}

impl Source<'_> {
    fn fault(&self, at: &Range<usize>, message: impl fmt::Display) -> anyhow::Error {
        let before = self.text.get(..at.start).unwrap_or("");
        let line = before.matches('\n').count() + 1;
        anyhow!("{}:{line}: {message}", self.shown)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    players: Vec<Spanned<WrittenPlayer>>,
    pairs: Option<Vec<Spanned<Vec<String>>>>,
    games: Vec<Spanned<WrittenGame>>,
    start_clock: Option<Spanned<u32>>,
    play_clock: Option<Spanned<u32>>,
    opening_clock: Option<Spanned<u32>>,
    games_a_side: Option<Spanned<u32>>,
    #[serde(default = "one")]
    seed: u32,
    cores: Option<Spanned<Vec<usize>>>,
    parallel: Option<Spanned<usize>>,
    log_folder: Option<PathBuf>,
}

fn one() -> u32 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPlayer {
    name: String,
    builtin: Option<String>,
    address: Option<String>,
    command: Option<Vec<String>>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    #[serde(default)]
    set: Vec<String>,
    version: Option<String>,
    ready_seconds: Option<f64>,
}

/// A game by its name alone, or a table with clocks of its own.
struct WrittenGame(GameTable);

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct GameTable {
    game: String,
    start_clock: Option<u32>,
    play_clock: Option<u32>,
    openings: Option<PathBuf>,
    opening_clock: Option<u32>,
    games_a_side: Option<u32>,
}

impl<'de> Deserialize<'de> for WrittenGame {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrTable;
        impl<'de> Visitor<'de> for NameOrTable {
            type Value = WrittenGame;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("the name of a game, or a table with `game` and clocks of its own")
            }

            fn visit_str<E>(self, name: &str) -> Result<WrittenGame, E> {
                Ok(WrittenGame(GameTable {
                    game: name.to_string(),
                    ..GameTable::default()
                }))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WrittenGame, A::Error> {
                GameTable::deserialize(MapAccessDeserializer::new(map)).map(WrittenGame)
            }
        }
        deserializer.deserialize_any(NameOrTable)
    }
}

impl Written {
    fn resolve(self, source: &Source<'_>) -> anyhow::Result<Schedule> {
        let clock = |written: &Option<Spanned<u32>>, name: &str, otherwise: u32, most: u32| {
            let Some(written) = written else {
                return Ok(otherwise);
            };
            in_range(*written.get_ref(), name, most)
                .map_err(|message| source.fault(&written.span(), message))
        };
        let start_clock = clock(&self.start_clock, "start_clock", 10, LONGEST_CLOCK)?;
        let play_clock = clock(&self.play_clock, "play_clock", 5, LONGEST_CLOCK)?;
        let opening_clock = clock(&self.opening_clock, "opening_clock", 0, LONGEST_CLOCK)?;
        let a_side = clock(&self.games_a_side, "games_a_side", 1, MOST_GAMES_A_SIDE)?;

        let mut players: Vec<Contestant> = Vec::new();
        for written in &self.players {
            let fault = |message: String| source.fault(&written.span(), message);
            let player = written.get_ref().resolve().map_err(fault)?;
            if players.iter().any(|known| known.name == player.name) {
                return Err(fault(format!("a second player `{}`", player.name)));
            }
            players.push(player);
        }
        let shown = source.shown;
        if players.len() < 2 {
            bail!(
                "{shown}: expected at least two [[players]], found {}",
                players.len()
            );
        }
        let pairs = resolve_pairs(self.pairs.as_deref(), &players, source)?;

        let mut events: Vec<Event> = Vec::new();
        for written in &self.games {
            let fault = |error: anyhow::Error| source.fault(&written.span(), format!("{error:#}"));
            let event = written
                .get_ref()
                .0
                .resolve(start_clock, play_clock, opening_clock, a_side)
                .map_err(fault)?;
            let is_same = |other: &Event| {
                other.game.sheet.name == event.game.sheet.name
                    && (other.start_clock, other.play_clock)
                        == (event.start_clock, event.play_clock)
            };
            if events.iter().any(is_same) {
                let name = &event.game.sheet.name;
                return Err(fault(anyhow!(
                    "`{name}` appears twice with the same clocks"
                )));
            }
            events.push(event);
        }
        if events.is_empty() {
            bail!("{shown}: `games` is empty; expected at least one");
        }
        let mut plan = Schedule {
            players,
            pairs,
            events,
            seed: self.seed.into(),
            parallel: 1,
            cores: Vec::new(),
            log_folder: self.log_folder,
        };
        plan.take_cores(self.parallel, self.cores, source)?;
        Ok(plan)
    }
}

impl Schedule {
    fn take_cores(
        &mut self,
        parallel: Option<Spanned<usize>>,
        cores: Option<Spanned<Vec<usize>>>,
        source: &Source<'_>,
    ) -> anyhow::Result<()> {
        if let Some(parallel) = parallel {
            self.parallel = *parallel.get_ref();
            if !(1..=1024).contains(&self.parallel) {
                return Err(source.fault(&parallel.span(), "`parallel` is 1 to 1024 matches"));
            }
        }
        let most_roles = self.most_roles();
        let playing = self.pairs.iter().flat_map(|&(a, b)| [a, b]);
        for player in playing.map(|player| &self.players[player]) {
            if player.is_remote() && (self.parallel > 1 || most_roles > 2) {
                bail!(
                    "{}: player `{}` is reached at an address and plays one role of one match at a time; \
                     expected `parallel = 1` and games of at most two roles",
                    source.shown,
                    player.name
                );
            }
        }
        let Some(cores) = cores else { return Ok(()) };
        let fault = |message: String| source.fault(&cores.span(), message);
        let wanted = cores.get_ref();
        let distinct: BTreeSet<usize> = wanted.iter().copied().collect();
        if distinct.len() < wanted.len() {
            return Err(fault("`cores` names a core twice".to_string()));
        }
        let needed = self.parallel * most_roles;
        if wanted.len() < needed {
            return Err(fault(format!(
                "`cores` has {}; {needed} were expected: one for each of {} of {} at once",
                wanted.len(),
                counted(most_roles as u64, "role"),
                self.parallel
            )));
        }
        self.cores = wanted.iter().map(|&id| CoreId { id }).collect();
        Ok(())
    }
}

impl WrittenPlayer {
    fn resolve(&self) -> Result<Contestant, String> {
        let name = self.name.clone();
        let is_plain = |c: char| c.is_alphanumeric() || " -_.+()".contains(c);
        if name.trim() != name || name.is_empty() || name.chars().count() > 40 {
            return Err("a player's `name` is 1 to 40 characters without space around".to_string());
        }
        if !name.chars().all(is_plain) {
            return Err(format!(
                "player `{}`: a name has letters, digits, spaces and -_.+()",
                name.escape_debug()
            ));
        }
        let of_player = |message: &str| format!("player `{name}`: {message}");
        let entry = match (&self.builtin, &self.address, &self.command) {
            (Some(builtin), None, None) => match PlayerSpec::parse(builtin) {
                Ok(spec) if spec.is_ours() => {
                    let (config, set) = (None, self.set.clone());
                    let settings = SettingsChoice { config, set };
                    let loaded = settings.load([]);
                    loaded.map_err(|error| of_player(&format!("{error:#}")))?;
                    Entry::Player { spec, settings }
                }
                _ => return Err(of_player("`builtin` is panza, random or legal")),
            },
            (None, Some(address), None) => {
                let address = address.strip_prefix("http://").unwrap_or(address);
                let address = format!("http://{address}").parse();
                let address = address.map_err(|_| of_player("`address` is HOST:PORT"))?;
                Entry::Player {
                    spec: PlayerSpec::Remote(address),
                    settings: SettingsChoice::default(),
                }
            }
            (None, None, Some(argv)) => {
                if argv.first().is_none_or(String::is_empty) {
                    return Err(of_player("`command` is a program and its arguments"));
                }
                if !argv.iter().any(|word| word.contains(PORT)) {
                    return Err(of_player(
                        "`command` has {port} where the port to listen on belongs",
                    ));
                }
                Entry::Command {
                    argv: argv.clone(),
                    environment: self.environment.clone(),
                }
            }
            _ => {
                return Err(of_player(
                    "exactly one of `builtin`, `address` and `command` was expected",
                ));
            }
        };
        if !self.environment.is_empty() && self.command.is_none() {
            return Err(of_player("`environment` goes with `command` only"));
        }
        if !self.set.is_empty() && self.builtin.as_deref() != Some("panza") {
            return Err(of_player("`set` goes with `builtin = \"panza\"` only"));
        }
        let ready = self.ready_seconds.unwrap_or(READY_SECONDS);
        if !(ready > 0.0 && ready <= f64::from(LONGEST_CLOCK)) {
            return Err(of_player("`ready_seconds` is above 0 and at most 86400"));
        }
        let version = match (&self.version, &entry) {
            (Some(version), _) => version.clone(),
            (None, Entry::Player { spec, .. }) if spec.is_ours() => {
                env!("CARGO_PKG_VERSION").to_string()
            }
            _ => String::new(),
        };
        Ok(Contestant {
            name: name.clone(),
            entry,
            version,
            ready: Duration::from_secs_f64(ready),
        })
    }
}

impl GameTable {
    fn resolve(&self, start: u32, play: u32, opening: u32, a_side: u32) -> anyhow::Result<Event> {
        let own = |own: Option<u32>, name: &str, otherwise: u32, most: u32| match own {
            Some(own) => in_range(own, name, most).map_err(anyhow::Error::msg),
            None => Ok(otherwise),
        };
        let start_clock = own(self.start_clock, "start_clock", start, LONGEST_CLOCK)?;
        let play_clock = own(self.play_clock, "play_clock", play, LONGEST_CLOCK)?;
        let games_a_side = own(self.games_a_side, "games_a_side", a_side, MOST_GAMES_A_SIDE)?;
        let game = Game::load(&self.game)?;
        let roles = game.role_names();
        let n_roles = roles.len();
        if n_roles == 0 {
            bail!("`{}` has no role", game.sheet.name);
        }
        if roles.iter().any(|role| role == CHANCE_ROLE) {
            bail!(
                "`{}` is a game of chance, which tournaments do not play",
                game.sheet.name
            );
        }
        let mut openings = Vec::new();
        if let Some(path) = &self.openings {
            openings = Opening::read_all(path, &game.rules)?;
            let clock = own(self.opening_clock, "opening_clock", opening, LONGEST_CLOCK)?;
            let clock = Some(clock).filter(|&clock| clock > 0);
            openings
                .iter_mut()
                .for_each(|opening| opening.clock = clock);
        } else if self.opening_clock.is_some() {
            bail!("`opening_clock` goes with `openings` only");
        }
        let rounds = games_a_side as usize * openings.len();
        if rounds > MOST_ROUNDS {
            bail!("{rounds} rounds from the openings; 1 to {MOST_ROUNDS} were expected");
        }
        Ok(Event {
            game,
            n_roles,
            start_clock,
            play_clock,
            openings,
            games_a_side,
        })
    }
}

fn in_range(value: u32, name: &str, most: u32) -> Result<u32, String> {
    match (1..=most).contains(&value) {
        true => Ok(value),
        false => Err(format!("`{name}` is {value}; 1 to {most} was expected")),
    }
}

/// The pairs of the file, or every two players.
fn resolve_pairs(
    written: Option<&[Spanned<Vec<String>>]>,
    players: &[Contestant],
    source: &Source<'_>,
) -> anyhow::Result<Vec<(usize, usize)>> {
    let Some(written) = written else {
        let every_two = |a: usize| (a + 1..players.len()).map(move |b| (a, b));
        return Ok((0..players.len()).flat_map(every_two).collect());
    };
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for pair in written {
        let fault = |message: String| source.fault(&pair.span(), message);
        let [a, b] = pair.get_ref().as_slice() else {
            return Err(fault("a pair is two names of players".to_string()));
        };
        let find = |name: &str| {
            let found = players.iter().position(|player| player.name == name);
            found.ok_or_else(|| {
                let known: Vec<&str> = players.iter().map(|player| player.name.as_str()).collect();
                fault(format!(
                    "no player `{name}`; there are {}",
                    known.join(", ")
                ))
            })
        };
        let (a, b) = (find(a)?, find(b)?);
        if a == b {
            return Err(fault("a pair is two different players".to_string()));
        }
        if pairs.contains(&(a, b)) || pairs.contains(&(b, a)) {
            return Err(fault("this pair appears twice".to_string()));
        }
        pairs.push((a, b));
    }
    if pairs.is_empty() {
        bail!(
            "{}: `pairs` is empty; without it every two play",
            source.shown
        );
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests;
