//! Errors of settings, each one sentence with its place. The system's error is the source and not
//! part of the text.

use std::io;
use std::path::PathBuf;

/// Settings that cannot be used. Every message names its place: the file as it was given, the
/// `--set` item, or the command-line option.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The settings file cannot be read.
    #[error("{}: the settings cannot be read", file.display())]
    Unreadable {
        /// The file as it was named.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The settings file is not TOML.
    #[error("{place}: not a TOML file: {message}")]
    Syntax {
        /// The file as it was named.
        place: String,
        /// What the TOML parser said, with line and column.
        message: String,
    },
    /// An item of the command line has no `=` or no key.
    #[error("--set {item}: expected KEY=VALUE, for example `search.threads=7`")]
    Item {
        /// The item as it was given.
        item: String,
    },
    /// A key that does not exist.
    #[error("{place}: there is no setting `{key}`; expected {expected}")]
    UnknownKey {
        /// The file or the item.
        place: String,
        /// The dotted key as it was written.
        key: String,
        /// The keys that could have been meant.
        expected: String,
    },
    /// A value of the wrong type or out of its range.
    #[error("{place}: `{key}` is {found}; expected {expected}")]
    Value {
        /// The file or the item.
        place: String,
        /// The dotted key.
        key: String,
        /// The value as it was written.
        found: String,
        /// The type and range of the key.
        expected: String,
    },
}
