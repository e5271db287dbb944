#![doc = include_str!("../README.md")]
//!
//! There are three layers: `config/default.toml`, compiled in, with every key; a user's file with
//! the keys that differ; and `KEY=VALUE` items and options of the command line. Each layer is
//! checked against [`KEYS`], the table of all keys and their ranges, so that an error names the
//! layer, the value and the expected range. Logs and memory lie in the state folder of the
//! platform, which [`state_folder`] gives, unless a setting says otherwise.
//!
//! Invariants: every value of a loaded [`Settings`] is within its range; an unknown key is an
//! error, and a key that has gone is named and ignored for a release.
//!
//! Never uses: the meaning of a setting. Other modules have small structs of their own, which
//! `player` and `commands` fill from here.

#![forbid(unsafe_code)]

mod access;
mod error;
mod keys;
mod layers;
mod settings;
mod state;

pub use access::{HostNames, Networks, Origins, Secret};
pub use error::ConfigError;
pub use keys::{Key, Kind};
pub use settings::{
    GameSettings, KEYS, LogSettings, MemorySettings, MetagameSettings, PlayerSettings,
    SearchSettings, ServerSettings, Settings,
};
pub use state::state_folder;

use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use tracing::Level;

/// An example of a file for `panza tournament`.
pub const EXAMPLE_TOURNAMENT: &str = include_str!("../example-tournament.toml");

/// The file that holds every key with its default, unit, range and meaning.
pub const DEFAULT_TOML: &str = include_str!("../default.toml");

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

/// Which search plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchMethod {
    /// What the study of a game chooses.
    Auto,
    /// The tree.
    Tree,
    /// Alpha-beta, where it applies.
    AlphaBeta,
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

/// A key of an earlier version that was given and means nothing any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retired {
    /// The dotted key.
    pub key: String,
    /// The file, item or option that gave it.
    pub place: String,
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
        let retired = layers::take_retired(&mut table);
        let mut settings = layers::typed(table)?;
        settings.retired = retired;
        settings.place();
        Ok(settings)
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
