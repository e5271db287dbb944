#![doc = include_str!("../README.md")]
//!
//! There are three layers: `config/default.toml`, compiled in, with every key; a user's file with
//! the keys that differ; and `KEY=VALUE` items and options of the command line. Each layer is
//! checked against [`KEYS`], the table of all keys and their ranges, so that an error names the
//! layer, the value and the expected range.
//!
//! Invariants: every value of a loaded [`Settings`] is within its range; an unknown key is an
//! error.
//!
//! Never uses: the meaning of a setting. Other modules have small structs of their own, which
//! `player` and `commands` fill from here.

#![forbid(unsafe_code)]

mod access;
mod error;
mod keys;
mod layers;

pub use access::{HostNames, Networks, Origins, Secret};
pub use error::ConfigError;
pub use keys::{KEYS, Key, Kind};

use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tracing::Level;

/// An example of a file for `panza tournament`.
pub const EXAMPLE_TOURNAMENT: &str = include_str!("../example-tournament.toml");

/// The file that holds every key with its default, unit, range and meaning.
pub const DEFAULT_TOML: &str = include_str!("../default.toml");

/// Every setting of the program. Meaning, unit and range of each are written beside it in
/// `config/default.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// How the program meets its clients.
    pub server: ServerSettings,
    /// How a match is played within its clocks.
    pub player: PlayerSettings,
    /// How the game graph is searched.
    pub search: SearchSettings,
    /// What is learned about a game before it begins.
    pub metagame: MetagameSettings,
    /// What is written down, and where.
    pub logs: LogSettings,
    /// What is remembered between matches.
    pub memory: MemorySettings,
}

/// Section `[server]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerSettings {
    /// The name that INFO answers.
    pub name: String,
    /// The address and port to listen on; port 0 lets the system pick one.
    #[serde(with = "address")]
    pub listen: SocketAddr,
    /// Where the log service listens, if it does.
    #[serde(with = "address_or_none")]
    pub log_listen: Option<SocketAddr>,
    /// Who may use the player's port.
    pub allow: Networks,
    /// Whether the player's port has pages beside messages.
    pub game_port_pages: bool,
    /// Who gets pages on the player's port, and sees live matches.
    pub pages_for: PagesFor,
    /// The secret with which a browser on another machine sees all pages.
    pub pages_secret: Secret,
    /// The names under which pages are served, beside IP addresses and `localhost`.
    pub host_names: HostNames,
    /// The origins of pages that may send messages and show the log viewer in a frame.
    pub origins: Origins,
    /// The origins of Gamemaster's pages, of which one that shows the key may pass its messages on.
    pub gamemaster_origins: Origins,
    /// The longest request body that is read, in bytes.
    pub max_message_bytes: usize,
    /// How long a client may take to send a whole request.
    #[serde(rename = "read_timeout_seconds", with = "seconds")]
    pub read_timeout: Duration,
    /// Longer clocks of a match count as this.
    #[serde(rename = "max_clock_seconds", with = "seconds")]
    pub max_clock: Duration,
    /// How long nothing may be heard of a match before it is given up.
    #[serde(rename = "idle_abort_seconds", with = "seconds")]
    pub idle_abort: Duration,
}

/// Who may look at matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PagesFor {
    /// Those on this machine; others see ended matches at the log service.
    Local,
    /// Those who show the secret; others see ended matches at the log service.
    Secret,
    /// Everyone who reaches the player.
    All,
}

/// Section `[player]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlayerSettings {
    /// How long before the end of a clock the answer is sent.
    #[serde(rename = "margin_seconds", with = "seconds")]
    pub margin: Duration,
    /// What grounding and building a network may allocate, in MiB.
    pub build_memory_mib: u64,
    /// The part of the start clock that grounding and building may use, 0 to 1.
    pub build_seconds_share: f64,
}

/// Section `[search]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchSettings {
    /// Rollout threads; 0 derives the number from the cores.
    pub threads: usize,
    /// Weight of the exploration term of UCT, for goals scaled to 0..1, and of PUCT.
    pub exploration: f64,
    /// Greatest number of nodes in the game graph.
    pub max_nodes: usize,
    /// Playouts for each rollout request; 0 lets the search adapt the number.
    pub samples_per_request: usize,
    /// Greatest number of requests in flight to each rollout thread.
    pub ring_capacity: usize,
    /// Whether threads are pinned to cores, if there are more cores than threads.
    pub pin_threads: bool,
    /// Whether a game of independent factors is searched by factors.
    pub factored: bool,
    /// Seed of all random numbers; 0 takes one from the clock.
    pub seed: u64,
}

/// Section `[metagame]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetagameSettings {
    /// Whether an evaluation is trained by self-play.
    pub learning: bool,
    /// Whether settings of the search are tried out against each other.
    pub tuning: bool,
    /// The part of the start clock left after building that both may use, 0 to 1.
    pub seconds_share: f64,
}

/// Section `[logs]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogSettings {
    /// The folder that holds one folder for each match.
    pub folder: PathBuf,
    /// The least severe level that is written to standard error.
    #[serde(with = "level")]
    pub level: Level,
    /// Whether a match gets a folder of logs.
    pub match_logs: bool,
    /// What the logs of matches may take together, in MiB.
    pub max_mib: u64,
}

/// Section `[memory]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemorySettings {
    /// Whether anything is remembered.
    pub enabled: bool,
    /// The file that holds it.
    pub path: PathBuf,
    /// How many games are kept.
    pub max_games: usize,
}

/// A setting that a command-line option of its own gives, such as `--listen`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionValue<'a> {
    /// The option, for errors.
    pub option: &'a str,
    /// The dotted key that it sets.
    pub key: &'a str,
    /// The value as it was given.
    pub value: &'a str,
}

impl Settings {
    /// [`Settings::load_with_options`] without options.
    ///
    /// # Errors
    /// As there.
    pub fn load(file: Option<&Path>, overrides: &[String]) -> Result<Settings, ConfigError> {
        Settings::load_with_options(file, overrides, &[])
    }

    /// Reads the settings: the defaults, overridden by `file`, by each `KEY=VALUE` item of
    /// `overrides` in order, and by the values of command-line options.
    ///
    /// A `KEY` is dotted, such as `search.threads`. A `VALUE` is TOML; a text needs no quotes.
    ///
    /// # Errors
    /// A file that cannot be read or is not TOML, an item without `=`, an unknown key, or a value
    /// of the wrong type or out of its range. The error names the file, item or option, the key,
    /// the value and the expected range.
    pub fn load_with_options(
        file: Option<&Path>,
        overrides: &[String],
        options: &[OptionValue<'_>],
    ) -> Result<Settings, ConfigError> {
        let mut table = layers::defaults()?;
        if let Some(path) = file {
            layers::overlay_file(&mut table, path)?;
        }
        for item in overrides {
            layers::overlay_item(&mut table, item)?;
        }
        for option in options {
            layers::overlay_option(&mut table, option)?;
        }
        layers::typed(table)
    }

    /// The settings as TOML that [`load`](Settings::load) reads back, but for a secret, which is
    /// not written.
    pub fn to_toml(&self) -> String {
        match toml::to_string(self) {
            Ok(text) => text,
            // Only for a value set by hand that TOML cannot express, such as a seed beyond its
            // integers.
            Err(error) => format!("# these settings cannot be written as TOML: {error}\n"),
        }
    }
}

/// Durations stand in the file as a number of seconds.
mod seconds {
    use super::*;
    use serde::{Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(value: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(value.as_secs_f64())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        Duration::try_from_secs_f64(f64::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// An address stands in the file as IP address or host name, and port.
mod address {
    use super::*;
    use serde::{Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(value: &SocketAddr, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SocketAddr, D::Error> {
        let text = String::deserialize(from)?;
        keys::resolve(&text).ok_or_else(|| D::Error::custom("not an address"))
    }
}

/// An address, or the word `none`.
mod address_or_none {
    use super::*;
    use serde::{Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(
        value: &Option<SocketAddr>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(address) => to.collect_str(address),
            None => to.serialize_str("none"),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<SocketAddr>, D::Error> {
        match String::deserialize(from)?.as_str() {
            "none" => Ok(None),
            text => keys::resolve(text)
                .map(Some)
                .ok_or_else(|| D::Error::custom("not an address")),
        }
    }
}

/// A log level stands in the file as its name in lower case.
mod level {
    use super::*;
    use serde::{Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(value: &Level, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&value.as_str().to_ascii_lowercase())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Level, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests;
