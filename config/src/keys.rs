//! The table of keys: section, name, unit and range of each.
//!
//! The checks, their errors and the test of the comments in `config/default.toml` use this table.

use std::net::{SocketAddr, ToSocketAddrs};
use toml::Value;

use super::access::{HostNames, LONGEST_LIST, Networks, Origins, SECRET_BYTES, Secret};

/// A setting: its place, unit and range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Key {
    /// The section of the file, without brackets.
    pub section: &'static str,
    /// The key within the section.
    pub name: &'static str,
    /// The unit, such as `seconds`; `none` for values without one.
    pub unit: &'static str,
    /// The type and range of its value.
    pub kind: Kind,
}

/// The type and range of a value. Both bounds belong to the range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A whole number.
    Integer {
        /// The least allowed value.
        low: i64,
        /// The greatest allowed value.
        high: i64,
    },
    /// A number with or without a fraction.
    Number {
        /// The least allowed value.
        low: f64,
        /// The greatest allowed value.
        high: f64,
    },
    /// True or false.
    Flag,
    /// A text that is one symbol on the wire: ASCII letters, digits, `-`, `_`, `.`.
    Word {
        /// The greatest number of characters.
        longest: usize,
    },
    /// A text that is not empty and holds no control characters.
    Text {
        /// The greatest number of bytes.
        longest: usize,
    },
    /// An IP address or a host name, with a port.
    Address,
    /// An IP address or a host name, with a port; or the word `none`.
    AddressOrNone,
    /// IP addresses and networks, or the word `all`.
    Networks,
    /// Names of hosts, or the word `none`.
    HostNames,
    /// Origins of web pages, or the word `none`.
    Origins,
    /// A secret word, or the word `none`.
    Secret,
    /// One of some words.
    Choice(&'static [&'static str]),
}

macro_rules! keys {
    ($($section:ident . $name:ident, $unit:literal, $kind:expr;)*) => {
        &[$(Key {
            section: stringify!($section),
            name: stringify!($name),
            unit: $unit,
            kind: $kind,
        }),*]
    };
}

/// Every key there is, in the order of `config/default.toml`.
pub const KEYS: &[Key] = keys! {
    server.name, "none", Kind::Word { longest: 40 };
    server.listen, "none", Kind::Address;
    server.log_listen, "none", Kind::AddressOrNone;
    server.allow, "none", Kind::Networks;
    server.game_port_pages, "none", Kind::Flag;
    server.pages_for, "none", Kind::Choice(&["local", "secret", "all"]);
    server.pages_secret, "none", Kind::Secret;
    server.host_names, "none", Kind::HostNames;
    server.origins, "none", Kind::Origins;
    server.gamemaster_origins, "none", Kind::Origins;
    server.max_message_bytes, "bytes", integer(65_536, 1_073_741_824);
    server.read_timeout_seconds, "seconds", number(0.1, 600.0);
    server.max_clock_seconds, "seconds", number(1.0, 604_800.0);
    server.idle_abort_seconds, "seconds", number(1.0, 86_400.0);
    player.margin_seconds, "seconds", number(0.0, 30.0);
    player.build_memory_mib, "MiB", integer(16, 1_048_576);
    player.build_seconds_share, "parts of the start clock", number(0.05, 0.95);
    search.threads, "threads", integer(0, 1024);
    search.exploration, "none", number(0.0, 10.0);
    search.max_nodes, "nodes", integer(1_000, 1_000_000_000);
    search.samples_per_request, "playouts", integer(0, 4096);
    search.ring_capacity, "requests", integer(1, 65_536);
    search.pin_threads, "none", Kind::Flag;
    search.factored, "none", Kind::Flag;
    search.seed, "none", integer(0, i64::MAX);
    metagame.learning, "none", Kind::Flag;
    metagame.tuning, "none", Kind::Flag;
    metagame.seconds_share, "parts of the start clock left after building", number(0.0, 0.95);
    logs.folder, "none", Kind::Text { longest: 1000 };
    logs.level, "none", Kind::Choice(&["error", "warn", "info", "debug", "trace"]);
    logs.match_logs, "none", Kind::Flag;
    logs.max_mib, "MiB", integer(1, 1_048_576);
    memory.enabled, "none", Kind::Flag;
    memory.path, "none", Kind::Text { longest: 1000 };
    memory.max_games, "games", integer(1, 1_000_000);
};

const fn integer(low: i64, high: i64) -> Kind {
    Kind::Integer { low, high }
}

const fn number(low: f64, high: f64) -> Kind {
    Kind::Number { low, high }
}

impl Key {
    /// The key with its section, as `--set` takes it.
    pub fn dotted(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    pub(super) fn find(section: &str, name: &str) -> Option<&'static Key> {
        KEYS.iter()
            .find(|key| key.section == section && key.name == name)
    }
}

impl Kind {
    /// The range, as comments and errors state it.
    pub fn range(&self) -> String {
        match self {
            Kind::Integer { low, high } => format!("{low} to {high}"),
            Kind::Number { low, high } => format!("{low} to {high}"),
            Kind::Flag => "true or false".to_string(),
            Kind::Word { longest } => {
                format!("1 to {longest} ASCII letters, digits, `-`, `_` or `.`")
            }
            Kind::Text { longest } => format!("1 to {longest} bytes of text"),
            Kind::Address => "IP address or host name and port, such as 127.0.0.1:9147".to_string(),
            Kind::AddressOrNone => {
                "IP address or host name and port, such as 127.0.0.1:9199, or none".to_string()
            }
            Kind::Networks => format!(
                "all, or addresses and networks like 10.0.0.0/8, by commas; at most {LONGEST_LIST} bytes"
            ),
            Kind::HostNames => {
                format!("none, or host names with commas, in at most {LONGEST_LIST} bytes")
            }
            Kind::Origins => format!(
                "none, or origins like https://ggp.example.org with commas, in at most {LONGEST_LIST} bytes"
            ),
            Kind::Secret => {
                let (least, most) = SECRET_BYTES;
                format!("none, or {least} to {most} ASCII letters, digits, `-`, `_` or `.`")
            }
            Kind::Choice(words) => words.join(", "),
        }
    }

    /// The expected value, for errors.
    pub(super) fn expected(&self) -> String {
        let range = self.range();
        match self {
            Kind::Integer { .. } => format!("a whole number from {range}"),
            Kind::Number { .. } => format!("a number from {range}"),
            Kind::Flag
            | Kind::Word { .. }
            | Kind::Text { .. }
            | Kind::Networks
            | Kind::HostNames
            | Kind::Origins
            | Kind::Secret => range,
            Kind::Address | Kind::AddressOrNone => format!("an {range}"),
            Kind::Choice(_) => format!("one of {range}"),
        }
    }

    /// Whether the value is a text, so that quotes may be left out.
    pub(super) fn is_text(&self) -> bool {
        match self {
            Kind::Integer { .. } | Kind::Number { .. } | Kind::Flag => false,
            Kind::Word { .. }
            | Kind::Text { .. }
            | Kind::Address
            | Kind::AddressOrNone
            | Kind::Networks
            | Kind::HostNames
            | Kind::Origins
            | Kind::Secret
            | Kind::Choice(_) => true,
        }
    }

    /// Whether `value` has the type and is in the range.
    pub(super) fn allows(&self, value: &Value) -> bool {
        match (self, value) {
            (Kind::Integer { low, high }, Value::Integer(found)) => (low..=high).contains(&found),
            // NaN is in no range.
            (Kind::Number { low, high }, Value::Float(found)) => (low..=high).contains(&found),
            (Kind::Number { low, high }, Value::Integer(found)) => {
                (*low..=*high).contains(&(*found as f64))
            }
            (Kind::Flag, Value::Boolean(_)) => true,
            (Kind::Word { longest }, Value::String(found)) => {
                (1..=*longest).contains(&found.len())
                    && found
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
            }
            (Kind::Text { longest }, Value::String(found)) => {
                (1..=*longest).contains(&found.len()) && !found.chars().any(char::is_control)
            }
            (Kind::Address, Value::String(found)) => resolve(found).is_some(),
            (Kind::AddressOrNone, Value::String(found)) => {
                found == "none" || resolve(found).is_some()
            }
            (Kind::Networks, Value::String(found)) => Networks::read(found).is_some(),
            (Kind::HostNames, Value::String(found)) => HostNames::read(found).is_some(),
            (Kind::Origins, Value::String(found)) => Origins::read(found).is_some(),
            (Kind::Secret, Value::String(found)) => Secret::read(found).is_some(),
            (Kind::Choice(words), Value::String(found)) => words.contains(&found.as_str()),
            _ => false,
        }
    }
}

/// The address of an IP address or host name with a port. Of several addresses of a host the first
/// IPv4 one counts, since most game managers use IPv4.
pub(super) fn resolve(text: &str) -> Option<SocketAddr> {
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    let addresses: Vec<SocketAddr> = text.to_socket_addrs().ok()?.collect();
    let v4 = addresses.iter().find(|address| address.is_ipv4());
    v4.or(addresses.first()).copied()
}
