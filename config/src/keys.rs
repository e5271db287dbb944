//! Keys of settings: section, name, unit, type and range.
//!
//! The table of all keys, `KEYS`, is made of the declarations in `settings`. The checks, their
//! errors and the test of the comments in `config/default.toml` use it.

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
    /// A list of folders.
    Folders,
    /// One of some words.
    Choice(&'static [&'static str]),
}

/// Folders in a list, and bytes of each, at most.
const MOST_FOLDERS: usize = 64;
const LONGEST_FOLDER: usize = 1000;

pub(super) const fn integer(low: i64, high: i64) -> Kind {
    Kind::Integer { low, high }
}

pub(super) const fn number(low: f64, high: f64) -> Kind {
    Kind::Number { low, high }
}

impl Key {
    /// The key with its section, as `--set` takes it.
    pub fn dotted(&self) -> String {
        format!("{}.{}", self.section, self.name)
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
            Kind::Folders => format!(
                "up to {MOST_FOLDERS} folders like [\"games\"], of 1 to {LONGEST_FOLDER} bytes of text each"
            ),
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
            | Kind::Secret
            | Kind::Folders => range,
            Kind::Address | Kind::AddressOrNone => format!("an {range}"),
            Kind::Choice(_) => format!("one of {range}"),
        }
    }

    /// Whether the value is a text, so that quotes may be left out.
    pub(super) fn is_text(&self) -> bool {
        match self {
            Kind::Integer { .. } | Kind::Number { .. } | Kind::Flag | Kind::Folders => false,
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
            (Kind::Text { longest }, Value::String(found)) => is_text(found, *longest),
            (Kind::Folders, Value::Array(found)) => {
                let mut folders = found.iter().map(Value::as_str);
                found.len() <= MOST_FOLDERS
                    && folders.all(|it| it.is_some_and(|it| is_text(it, LONGEST_FOLDER)))
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

fn is_text(text: &str, longest: usize) -> bool {
    (1..=longest).contains(&text.len()) && !text.chars().any(char::is_control)
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
