//! Every setting, declared once: its section, documentation, field, unit, type and range.
//!
//! A key is named after its field, or by the text behind it. Defaults, and what users read of each
//! key, are in `config/default.toml`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tracing::Level;

use super::access::{HostNames, Networks, Origins, Secret};
use super::keys::{Key, Kind, integer, number};
use super::{PagesFor, Retired, SearchMethod};

macro_rules! key_name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $name:literal) => {
        $name
    };
}

macro_rules! settings {
    ($(
        $(#[doc = $doc:literal])+
        $section:ident: $section_type:ident {$(
            $(#[$meta:meta])+
            $field:ident $(($name:literal))?: $type:ty, $unit:literal, $kind:expr;
        )+}
    )+) => {
        /// Every setting of the program. Meaning, unit and range of each are written beside it in
        /// `config/default.toml`.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Settings {
            $($(#[doc = $doc])+ pub $section: $section_type,)+
            /// Keys that were given and are ignored.
            #[serde(skip)]
            pub retired: Vec<Retired>,
        }

        $(
            #[doc = concat!("Section `[", stringify!($section), "]`.")]
            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
            #[serde(deny_unknown_fields)]
            pub struct $section_type {
                $($(#[$meta])+ $(#[serde(rename = $name)])? pub $field: $type,)+
            }
        )+

        /// Every key there is, in the order of `config/default.toml`.
        pub const KEYS: &[Key] = &[$($(Key {
            section: stringify!($section),
            name: key_name!($field $($name)?),
            unit: $unit,
            kind: $kind,
        },)+)+];
    };
}

settings! {
    /// How the program meets its clients.
    server: ServerSettings {
        /// The name that INFO answers.
        name: String, "none", Kind::Word { longest: 40 };
        /// The address and port to listen on; port 0 lets the system pick one.
        #[serde(with = "super::address")]
        listen: SocketAddr, "none", Kind::Address;
        /// Where the log service listens, if it does.
        #[serde(with = "super::address_or_none")]
        log_listen: Option<SocketAddr>, "none", Kind::AddressOrNone;
        /// Who may use the player's port.
        allow: Networks, "none", Kind::Networks;
        /// Whether the player's port has pages beside messages.
        game_port_pages: bool, "none", Kind::Flag;
        /// Who gets pages on the player's port, and sees live matches.
        pages_for: PagesFor, "none", Kind::Choice(&["local", "secret", "all"]);
        /// The secret with which a browser on another machine sees all pages.
        pages_secret: Secret, "none", Kind::Secret;
        /// The names under which pages are served, beside IP addresses and `localhost`.
        host_names: HostNames, "none", Kind::HostNames;
        /// The origins of pages that may send messages and show the log viewer in a frame.
        origins: Origins, "none", Kind::Origins;
        /// The origins of Gamemaster's pages, of which one that shows the key may pass its messages
        /// on.
        gamemaster_origins: Origins, "none", Kind::Origins;
        /// The longest request body that is read, in bytes.
        max_message_bytes: usize, "bytes", integer(65_536, 1_073_741_824);
        /// How long a client may take to send a whole request.
        #[serde(with = "super::seconds")]
        read_timeout ("read_timeout_seconds"): Duration, "seconds", number(0.1, 600.0);
        /// Longer clocks of a match count as this.
        #[serde(with = "super::seconds")]
        max_clock ("max_clock_seconds"): Duration, "seconds", number(1.0, 604_800.0);
        /// How long nothing may be heard of a match before it is given up.
        #[serde(with = "super::seconds")]
        idle_abort ("idle_abort_seconds"): Duration, "seconds", number(1.0, 86_400.0);
    }
    /// How a match is played within its clocks.
    player: PlayerSettings {
        /// How long before the end of a clock the answer is sent.
        #[serde(with = "super::seconds")]
        margin ("margin_seconds"): Duration, "seconds", number(0.0, 30.0);
        /// What grounding and building a network may allocate, in MiB.
        build_memory_mib: u64, "MiB", integer(16, 1_048_576);
        /// The part of the start clock that grounding and building may use, 0 to 1.
        build_seconds_share: f64, "parts of the start clock", number(0.05, 0.95);
    }
    /// How the game graph is searched.
    search: SearchSettings {
        /// Which search plays.
        method: SearchMethod, "none", Kind::Choice(&["auto", "tree", "alpha-beta"]);
        /// Rollout threads; 0 derives the number from the cores.
        threads: usize, "threads", integer(0, 1024);
        /// Weight of the exploration term.
        exploration: f64, "none", number(0.0, 10.0);
        /// Greatest number of nodes in the game graph.
        max_nodes: usize, "nodes", integer(1_000, 1_000_000_000);
        /// Whether the threads of a search are pinned, if there are more cores than threads.
        pin_threads: bool, "none", Kind::Flag;
        /// Whether a game of independent factors is searched by factors, without what changes
        /// nothing.
        factored: bool, "none", Kind::Flag;
        /// Seed of all random numbers; 0 takes one from the clock.
        seed: u64, "none", integer(0, i64::MAX);
    }
    /// What is learned about a game before it begins.
    metagame: MetagameSettings {
        /// Whether an evaluation is trained by self-play.
        learning: bool, "none", Kind::Flag;
        /// The part of the start clock left after building that the study may use, 0 to 1.
        seconds_share: f64, "parts of the start clock left after building", number(0.0, 0.95);
    }
    /// What is written down, and where.
    logs: LogSettings {
        /// The folder that holds one folder for each match.
        folder: PathBuf, "none", Kind::Text { longest: 1000 };
        /// The least severe level that is written to standard error.
        #[serde(with = "super::level")]
        level: Level, "none", Kind::Choice(&["error", "warn", "info", "debug", "trace"]);
        /// Whether a match gets a folder of logs.
        match_logs: bool, "none", Kind::Flag;
        /// What the logs of matches may take together, in MiB.
        max_mib: u64, "MiB", integer(1, 1_048_576);
    }
    /// What is remembered between matches.
    memory: MemorySettings {
        /// Whether anything is remembered.
        enabled: bool, "none", Kind::Flag;
        /// The file that holds it.
        path: PathBuf, "none", Kind::Text { longest: 1000 };
        /// How many games are kept.
        max_games: usize, "games", integer(1, 1_000_000);
    }
    /// Where games are found by name.
    games: GameSettings {
        /// Folders of rulesheets, in the order in which they are looked into.
        folders: Vec<PathBuf>, "none", Kind::Folders;
    }
}
