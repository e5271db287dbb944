//! Tables that are kept: they come back by their names after a restart.
//!
//! This is the place where the files are described. Each table has a folder named after it (16
//! hexadecimal digits), with two files of JSON:
//!
//! | file | what it holds |
//! |---|---|
//! | `game.json` | [`KeptGame`]: what the table was opened with, its rulesheet included; written once |
//! | `state.json` | [`State`]: what was done there; replaced when it changes, missing before |
//!
//! Both have a `version`. A file of a later one is left alone, and its table is refused with that
//! reason. A file that cannot be read is damaged: it is renamed to `NAME.damaged`, and a warning
//! says so. Without `game.json` the table is gone; without `state.json` it begins again.
//!
//! A [`Storage`] has the files.
//!
//! Invariants: a file is replaced as a whole; what is read and what is kept is bounded; a table
//! that is open is never removed; no path comes from a name that is none of a table.
//!
//! Never uses: how a game is played.

use std::io;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::TableError;
use super::setting::{Effort, People, Setting};
use super::storage::Storage;
use super::view::{Start, Study};
use panza_hrf::Dialect;

/// The form of both files.
const VERSION: u32 = 1;
const GAME: &str = "game.json";
const STATE: &str = "state.json";
/// Bytes of a file, at most: a longer one is neither written nor read.
const MAX_FILE_BYTES: usize = 8 << 20;
/// Limits on all tables that are not open. The oldest are removed first.
const MAX_KEPT: usize = 200;
const MAX_KEPT_BYTES: u64 = 128 << 20;
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);

/// What a table was opened with.
#[derive(Serialize, Deserialize)]
struct KeptGame {
    version: u32,
    game: String,
    rules: String,
    /// `kif` or `hrf`.
    dialect: String,
    board: Option<String>,
    /// The roles that people play at first.
    people: Vec<String>,
    effort: Effort,
    /// Seconds.
    training: f64,
    study: Option<Study>,
}

/// What was done at a table.
#[derive(Clone, PartialEq, Serialize, Deserialize, Default, Debug)]
#[serde(default)]
pub(crate) struct State {
    /// Set while it is written and read.
    pub version: u32,
    /// The joint moves made; at a study table those to the position that is shown.
    pub moves: Vec<Vec<String>>,
    /// The roles that people play now.
    pub people: Vec<String>,
    /// For each role the choice of a person who waits for others.
    pub choices: Vec<Option<String>>,
    /// The role that has given the game up.
    pub resigned: Option<String>,
    pub is_paused: bool,
    /// How long Panza thinks, where somebody has said so.
    pub effort: Option<Effort>,
    /// The folder of the log.
    pub log: Option<String>,
    /// At a study table, where the line begins that is shown, where somebody has said so.
    pub start: Option<Start>,
    /// At a study table, the tree of lines as its page wrote it.
    pub lines: Option<Value>,
    /// The file was damaged, so that nothing of this is known.
    #[serde(skip)]
    pub is_lost: bool,
}

/// Why a file was not read.
enum Unread {
    Missing,
    /// It is of a later version of Panza.
    Later(u32),
    Damaged(String),
    /// The disk refuses.
    Disk(io::Error),
}

/// The tables that are kept.
pub(crate) struct Store {
    storage: Box<dyn Storage>,
}

impl Store {
    /// The tables in a storage.
    pub fn new(storage: Box<dyn Storage>) -> Self {
        Self { storage }
    }

    /// Keeps what a table was opened with. Makes room; `open` are the tables that are open.
    pub fn add(&self, name: &str, setting: &Setting, open: &[String]) -> io::Result<()> {
        self.prune(open);
        let people = match &setting.people {
            People::Named(names) => names.clone(),
            People::All | People::Nth(_) => Vec::new(),
        };
        let kept = KeptGame {
            version: VERSION,
            game: setting.game.clone(),
            rules: setting.source.to_string(),
            dialect: setting.dialect.name().to_string(),
            board: setting.board.as_deref().map(String::from),
            people,
            effort: setting.effort,
            training: setting.training.as_secs_f64(),
            study: setting.study.clone(),
        };
        self.replace(name, GAME, &serde_json::to_vec(&kept)?)
    }

    /// Replaces what was done at a table.
    pub fn write(&self, name: &str, state: &State) -> io::Result<()> {
        let state = State {
            version: VERSION,
            ..state.clone()
        };
        self.replace(name, STATE, &serde_json::to_vec(&state)?)
    }

    /// Whether there is a table of this name.
    pub fn has(&self, name: &str) -> bool {
        is_name(name) && self.storage.has(name, GAME)
    }

    /// A table of before: what it was opened with, and what was done there if that is known.
    ///
    /// # Errors
    /// There is none, or it is of a later version.
    pub fn read(&self, name: &str) -> Result<(Setting, Option<State>), TableError> {
        if !is_name(name) {
            return Err(TableError::Gone);
        }
        let game: KeptGame = self.read_or_rename(name, GAME).map_err(|why| match why {
            Unread::Later(_) => TableError::Later,
            _ => TableError::Gone,
        })?;
        let state = match self.read_or_rename::<State>(name, STATE) {
            Ok(state) => Some(State {
                version: 0,
                ..state
            }),
            Err(Unread::Later(_)) => return Err(TableError::Later),
            Err(Unread::Missing) => None,
            Err(Unread::Damaged(_) | Unread::Disk(_)) => Some(State {
                is_lost: true,
                ..State::default()
            }),
        };
        Ok((setting(game), state))
    }

    /// Removes the tables that are too old or too many, of those that are not open.
    fn prune(&self, open: &[String]) {
        let mut found = self.storage.tables();
        found.retain(|it| is_name(&it.name) && !open.contains(&it.name));
        // The newest first.
        found.sort_by_key(|it| it.age);
        let mut sum = 0u64;
        for (place, table) in found.iter().enumerate() {
            sum = sum.saturating_add(table.bytes);
            let is_old = table.age > MAX_AGE;
            if (is_old || sum > MAX_KEPT_BYTES || place >= MAX_KEPT)
                && let Err(error) = self.storage.remove(&table.name)
            {
                tracing::warn!("the old table {} was not removed: {error}", table.name);
            }
        }
    }

    /// Replaces a file as a whole.
    fn replace(&self, table: &str, file: &str, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() > MAX_FILE_BYTES {
            let text = format!("{} bytes, at most {MAX_FILE_BYTES} are kept", bytes.len());
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
        }
        self.storage.write(table, file, bytes)
    }

    /// A file; a warning says why one is not read, and one that is damaged is renamed.
    fn read_or_rename<T: DeserializeOwned>(&self, table: &str, file: &str) -> Result<T, Unread> {
        let read = self.read_file(table, file);
        let shown = format!("{file} of the table {table}");
        match &read {
            Err(Unread::Damaged(why)) => {
                let kept = match self.storage.put_aside(table, file) {
                    Ok(aside) => format!("it is kept as {aside}"),
                    Err(error) => format!("it cannot be renamed: {error}"),
                };
                tracing::warn!("{shown} is damaged ({why}); {kept}");
            }
            Err(Unread::Disk(error)) => tracing::warn!("{shown} cannot be read: {error}"),
            Err(Unread::Later(version)) => {
                tracing::warn!("{shown} is of version {version}, expected at most {VERSION}");
            }
            Ok(_) | Err(Unread::Missing) => {}
        }
        read
    }

    fn read_file<T: DeserializeOwned>(&self, table: &str, file: &str) -> Result<T, Unread> {
        /// What all versions have.
        #[derive(Deserialize)]
        struct Head {
            version: u32,
        }
        let read = self.storage.read(table, file, MAX_FILE_BYTES + 1);
        let bytes = read.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Unread::Missing,
            _ => Unread::Disk(error),
        })?;
        if bytes.len() > MAX_FILE_BYTES {
            return Err(Unread::Damaged("it is too long".to_string()));
        }
        let damaged = |error: serde_json::Error| Unread::Damaged(error.to_string());
        let head: Head = serde_json::from_slice(&bytes).map_err(damaged)?;
        if head.version > VERSION {
            return Err(Unread::Later(head.version));
        }
        serde_json::from_slice(&bytes).map_err(damaged)
    }
}

/// What a table is opened with, from its file.
fn setting(game: KeptGame) -> Setting {
    let dialect = match game.dialect == Dialect::Hrf.name() {
        true => Dialect::Hrf,
        false => Dialect::Kif,
    };
    Setting {
        game: game.game,
        source: game.rules.into(),
        dialect,
        // It was played before.
        anyway: true,
        board: game.board.map(Into::into),
        people: People::Named(game.people),
        effort: game.effort,
        training: Duration::try_from_secs_f64(game.training).unwrap_or_default(),
        study: game.study,
    }
}

/// Whether this is the name of a table.
fn is_name(name: &str) -> bool {
    let is_digit = |c: char| matches!(c, '0'..='9' | 'a'..='f');
    name.len() == 16 && name.chars().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::super::storage::Folder;
    use super::*;
    use std::fs;

    const NAME: &str = "0123456789abcdef";

    fn own() -> Setting {
        Setting {
            game: "own".to_string(),
            source: "role(x)".into(),
            dialect: Dialect::Hrf,
            anyway: true,
            board: Some("form = \"square\"".into()),
            people: People::Named(vec!["x".to_string()]),
            effort: Effort::Iterations(30),
            training: Duration::from_secs(5),
            study: Some(Study {
                line: vec![vec!["a".to_string()]],
                ..Study::default()
            }),
        }
    }

    fn state() -> State {
        State {
            moves: vec![vec!["(mark 1 1)".to_string(), "noop".to_string()]],
            people: vec!["x".to_string()],
            choices: vec![None, Some("(mark 2 2)".to_string())],
            is_paused: true,
            effort: Some(Effort::Time(Duration::from_secs(2))),
            start: Some(Start {
                chapter: 2,
                facts: "((number 3))".to_string(),
            }),
            lines: Some(serde_json::json!([[0, ["a"]]])),
            ..State::default()
        }
    }

    #[test]
    fn what_is_kept_is_read_again() {
        let logs = tempfile::tempdir().unwrap();
        let store = Store::new(Box::new(Folder::of_logs(logs.path())));
        assert_eq!(store.read(NAME).err(), Some(TableError::Gone));
        assert!(!store.has(NAME) && !store.has(".."));
        store.add(NAME, &own(), &[]).unwrap();
        assert!(store.has(NAME));
        let (setting, nothing) = store.read(NAME).unwrap();
        assert_eq!(format!("{setting:?}"), format!("{:?}", own()));
        assert!(nothing.is_none());
        store.write(NAME, &state()).unwrap();
        assert_eq!(store.read(NAME).unwrap().1, Some(state()));
        for wrong in ["..", "0123", "../0123456789abc", "0123456789ABCDEF", ""] {
            assert_eq!(store.read(wrong).err(), Some(TableError::Gone), "{wrong}");
        }
    }

    #[test]
    fn damaged_files_are_kept_aside_and_later_versions_left_alone() {
        let logs = tempfile::tempdir().unwrap();
        let store = Store::new(Box::new(Folder::of_logs(logs.path())));
        store.add(NAME, &own(), &[]).unwrap();
        store.write(NAME, &state()).unwrap();
        let folder = logs.path().join(".tables").join(NAME);
        let path = folder.join(STATE);
        let whole = fs::read(&path).unwrap();
        for damaged in [&whole[..whole.len() / 2], b"", b"7", b"\xff\xfe", b"{}"] {
            fs::write(&path, damaged).unwrap();
            assert!(store.read(NAME).unwrap().1.unwrap().is_lost);
            assert!(!path.exists());
            assert_eq!(fs::read(folder.join("state.damaged")).unwrap(), damaged);
        }
        let later = br#"{"version":99,"moves":7}"#;
        fs::write(&path, later).unwrap();
        assert_eq!(store.read(NAME).err(), Some(TableError::Later));
        assert_eq!(fs::read(&path).unwrap(), later);
        fs::write(folder.join(GAME), "{").unwrap();
        assert_eq!(store.read(NAME).err(), Some(TableError::Gone));
        assert_eq!(fs::read(folder.join("game.damaged")).unwrap(), b"{");
    }

    #[test]
    fn what_is_too_long_is_not_written_and_what_is_too_much_is_removed() {
        let logs = tempfile::tempdir().unwrap();
        let store = Store::new(Box::new(Folder::of_logs(logs.path())));
        let name = |number: usize| format!("{number:016x}");
        for number in 0..MAX_KEPT + 5 {
            store.add(&name(number), &own(), &[]).unwrap();
        }
        let other = logs.path().join(".tables/notes.txt");
        fs::write(&other, "not ours").unwrap();
        store.prune(&[name(0)]);
        let kept = (0..MAX_KEPT + 5).filter(|&number| store.read(&name(number)).is_ok());
        assert!(kept.count() <= MAX_KEPT + 1);
        assert!(other.exists());
        let newest = name(MAX_KEPT + 4);
        assert!(store.read(&newest).is_ok());
        let long = State {
            moves: vec![vec!["x".repeat(MAX_FILE_BYTES)]],
            ..State::default()
        };
        let refused = store.write(&newest, &long).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::FileTooLarge);
        assert!(store.read(&newest).unwrap().1.is_none());
    }
}
