//! Errors of settings, each one sentence with its place. The system's error is the source and not
//! part of the text.

use std::io;
use std::path::PathBuf;

/// Settings that cannot be used. Every message names its place: the file as it was given, the
/// `--set` item, or the command-line option.
#[allow(missing_docs)]
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The settings file cannot be read.
    #[error("{}: the settings cannot be read", file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    /// The settings file is not TOML.
    #[error("{place}: not a TOML file: {message}")]
    Syntax { place: String, message: String },
    /// An item of the command line has no `=` or no key.
    #[error("--set {item}: expected KEY=VALUE, for example `search.threads=7`")]
    Item { item: String },
    /// A key that does not exist.
    #[error("{place}: there is no setting `{key}`; expected {expected}")]
    UnknownKey {
        place: String,
        key: String,
        expected: String,
    },
    /// A value of the wrong type or out of its range.
    #[error("{place}: `{key}` is {found}; expected {expected}")]
    Value {
        place: String,
        key: String,
        found: String,
        expected: String,
    },
}
