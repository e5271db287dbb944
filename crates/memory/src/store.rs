//! Opens, reads and writes the file.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params,
};

use super::quarantine::{is_damage, quarantine};
use super::schema::{self, Owner};
use super::{GameRecord, GameSummary, Kind, MOST_MATCHES, MOST_NOTE_BYTES, MemoryError, PastMatch};
use panza_sync::{Instant, SystemTime, UNIX_EPOCH};

/// What a database failed with.
pub type DatabaseError = rusqlite::Error;

/// Limit on an unpacked text.
const MOST_TEXT_BYTES: u64 = 256 << 20;
/// Pause between attempts where SQLite does not wait itself.
const AGAIN_AFTER: Duration = Duration::from_millis(2);

/// An open memory file.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    timeout: Duration,
    max_games: usize,
}

impl Store {
    /// Opens the file, or begins it, folder and all. Whoever waits for another program does so for
    /// `timeout` at most. A broken file is put aside, with a warning.
    ///
    /// # Errors
    /// The file cannot be made or used, or is not ours to use.
    pub fn open(path: &Path, max_games: usize, timeout: Duration) -> Result<Store, MemoryError> {
        // A second attempt, since another program may have renamed it just then.
        let connection = match connect(path, timeout) {
            Err(MemoryError::Database { reason, .. }) if is_damage(&reason) => {
                begin_anew(path, &reason)?;
                connect(path, timeout)?
            }
            outcome => outcome?,
        };
        Ok(Store {
            connection,
            path: path.to_path_buf(),
            timeout,
            max_games,
        })
    }

    /// Waits this long from now on, where another program writes.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
        // It fails for no time that a clock can show; then the old timeout stays.
        let _ = self.connection.busy_timeout(timeout);
    }

    /// The record of a game.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(&mut self, signature: &str) -> Result<Option<GameRecord>, MemoryError> {
        self.attempt(|connection, _| read(connection, signature))
    }

    /// All games, the ones seen last first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn list(&mut self) -> Result<Vec<GameSummary>, MemoryError> {
        self.attempt(|connection, max_games| list(connection, max_games))
    }

    /// Removes all that is known of a game; whether there was anything.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn remove(&mut self, signature: &str) -> Result<bool, MemoryError> {
        self.attempt(|connection, _| {
            let removed =
                connection.execute("DELETE FROM games WHERE signature = ?1", [signature])?;
            Ok(removed > 0)
        })
    }

    /// Adds to what is known of a game: notes, each in place of the one of its kind, and a match.
    /// `text` is kept when the game is new.
    ///
    /// # Errors
    /// A note is too long, or the file cannot be written.
    pub fn write(
        &mut self,
        signature: &str,
        text: &str,
        notes: &[(Kind, serde_json::Value)],
        played: Option<&PastMatch>,
    ) -> Result<(), MemoryError> {
        let mut texts = Vec::with_capacity(notes.len());
        for (kind, value) in notes {
            let value = value.to_string();
            if value.len() > MOST_NOTE_BYTES {
                return Err(MemoryError::TooLong {
                    kind: kind.name(),
                    bytes: value.len(),
                });
            }
            texts.push((kind.name(), value));
        }
        self.attempt(|connection, max_games| {
            let transaction = Transaction::new(connection, TransactionBehavior::Immediate)?;
            add(&transaction, signature, text, &texts, played)?;
            remove_old(&transaction, signature, max_games)?;
            transaction.commit()
        })
    }

    /// Runs an action; if the file turns out to be broken, renames it and repeats the action with a
    /// new one.
    fn attempt<T>(
        &mut self,
        mut action: impl FnMut(&mut Connection, usize) -> rusqlite::Result<T>,
    ) -> Result<T, MemoryError> {
        let max_games = self.max_games;
        let failed = |reason| MemoryError::Database {
            path: self.path.clone(),
            reason,
        };
        match action(&mut self.connection, max_games) {
            Err(error) if is_damage(&error) => {
                // Whoever still has the broken file open would hold its lock.
                self.connection = Connection::open_in_memory().map_err(&failed)?;
                begin_anew(&self.path, &error)?;
                self.connection = connect(&self.path, self.timeout)?;
                action(&mut self.connection, max_games).map_err(failed)
            }
            outcome => outcome.map_err(failed),
        }
    }
}

fn begin_anew(path: &Path, error: &rusqlite::Error) -> Result<(), MemoryError> {
    let put = quarantine(path).map_err(|reason| MemoryError::File {
        path: path.to_path_buf(),
        reason,
    })?;
    if let Some(other) = put {
        tracing::warn!(
            "the memory {} is broken ({error}); it is renamed to {}, and a new one started",
            path.display(),
            other.display()
        );
    }
    Ok(())
}

fn connect(path: &Path, timeout: Duration) -> Result<Connection, MemoryError> {
    let failed = |reason| MemoryError::Database {
        path: path.to_path_buf(),
        reason,
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|reason| MemoryError::File {
            path: folder.to_path_buf(),
            reason,
        })?;
    }
    // A path is a path, and not a URI.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(timeout).map_err(failed)?;
    let until = Instant::now() + timeout;
    match retry_while_busy(until, || schema::owner(&connection)).map_err(failed)? {
        Owner::Panza => {}
        Owner::Later(found) => {
            return Err(MemoryError::Newer {
                path: path.to_path_buf(),
                found,
                known: schema::VERSION,
            });
        }
        Owner::Other => return Err(MemoryError::Foreign(path.to_path_buf())),
    }
    let prepare = |connection: &mut Connection| -> rusqlite::Result<()> {
        // Some file systems know no such log; SQLite then stays with its journal, which is as safe.
        connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
        connection.pragma_update(None, "synchronous", "normal")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        schema::migrate(connection)
    };
    retry_while_busy(until, || prepare(&mut connection)).map_err(failed)?;
    Ok(connection)
}

/// Retries while the file is busy, which SQLite does not do for a change of the journal mode.
fn retry_while_busy<T>(
    until: Instant,
    mut action: impl FnMut() -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    loop {
        match action() {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && Instant::now() < until =>
            {
                std::thread::sleep(AGAIN_AFTER);
            }
            outcome => return outcome,
        }
    }
}

fn list(connection: &Connection, most: usize) -> rusqlite::Result<Vec<GameSummary>> {
    let mut statement = connection.prepare(
        "SELECT signature, last_seen,
                (SELECT count(*) FROM matches WHERE matches.signature = games.signature),
                (SELECT group_concat(kind) FROM notes WHERE notes.signature = games.signature),
                (SELECT sum(length(value)) FROM notes WHERE notes.signature = games.signature)
         FROM games ORDER BY last_seen DESC, rowid DESC LIMIT ?1",
    )?;
    let games = statement.query_map([i64::try_from(most).unwrap_or(i64::MAX)], |row| {
        let kinds: Option<String> = row.get(3)?;
        let mut kinds: Vec<Kind> = kinds
            .iter()
            .flat_map(|kinds| kinds.split(','))
            .filter_map(Kind::from_name)
            .collect();
        kinds.sort();
        Ok(GameSummary {
            signature: row.get(0)?,
            last_seen: row.get::<_, i64>(1)?.max(0) as u64 / 1000,
            matches: row.get::<_, i64>(2)?.max(0) as u64,
            kinds,
            note_bytes: row.get::<_, Option<i64>>(4)?.unwrap_or(0).max(0) as u64,
        })
    })?;
    games.collect()
}

fn read(connection: &mut Connection, signature: &str) -> rusqlite::Result<Option<GameRecord>> {
    // One transaction, so that all of it belongs together.
    let transaction = connection.transaction()?;
    let text: Option<Vec<u8>> = transaction
        .query_row(
            "SELECT text FROM games WHERE signature = ?1",
            [signature],
            |row| row.get(0),
        )
        .optional()?;
    let Some(text) = text else {
        return Ok(None);
    };
    let mut notes = Vec::new();
    let mut statement =
        transaction.prepare("SELECT kind, value FROM notes WHERE signature = ?1 ORDER BY kind")?;
    let mut rows = statement.query([signature])?;
    while let Some(row) = rows.next()? {
        let (kind, value): (String, String) = (row.get(0)?, row.get(1)?);
        // Later versions may have other kinds.
        let Some(kind) = Kind::from_name(&kind) else {
            continue;
        };
        match serde_json::from_str(&value) {
            Ok(value) => notes.push((kind, value)),
            Err(error) => tracing::warn!(
                "the note on {} of game {signature} is ignored: {error}",
                kind.name()
            ),
        }
    }
    let mut statement = transaction.prepare(
        "SELECT match_id, roles, our_role, goals, steps, seconds, ending, time
         FROM matches WHERE signature = ?1 ORDER BY number DESC LIMIT ?2",
    )?;
    let matches = statement.query_map(params![signature, MOST_MATCHES as i64], |row| {
        let (roles, goals): (String, String) = (row.get(1)?, row.get(3)?);
        Ok(PastMatch {
            match_id: row.get(0)?,
            roles: serde_json::from_str(&roles).unwrap_or_default(),
            our_role: row.get(2)?,
            goals: serde_json::from_str(&goals).unwrap_or_default(),
            steps: row.get(4)?,
            seconds: row.get(5)?,
            ending: row.get(6)?,
            time: row.get::<_, i64>(7)?.max(0) as u64,
        })
    })?;
    Ok(Some(GameRecord {
        text: unpacked(&text),
        notes,
        matches: matches.collect::<Result<_, _>>()?,
    }))
}

fn add(
    transaction: &Transaction,
    signature: &str,
    text: &str,
    notes: &[(&str, String)],
    played: Option<&PastMatch>,
) -> rusqlite::Result<()> {
    let now = milliseconds();
    let is_known = transaction.execute(
        "UPDATE games SET last_seen = max(last_seen, ?2) WHERE signature = ?1",
        params![signature, now],
    )?;
    if is_known == 0 {
        transaction.execute(
            "INSERT INTO games (signature, text, first_seen, last_seen) VALUES (?1, ?2, ?3, ?3)",
            params![signature, packed(text), now],
        )?;
    }
    for (kind, value) in notes {
        transaction.execute(
            "INSERT OR REPLACE INTO notes (signature, kind, value, time) VALUES (?1, ?2, ?3, ?4)",
            params![signature, kind, value, now],
        )?;
    }
    if let Some(played) = played {
        let roles = serde_json::json!(played.roles).to_string();
        let goals = serde_json::json!(played.goals).to_string();
        transaction.execute(
            "INSERT INTO matches
                 (signature, match_id, roles, our_role, goals, steps, seconds, ending, time)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                signature,
                played.match_id,
                roles,
                played.our_role,
                goals,
                played.steps,
                played.seconds,
                played.ending,
                i64::try_from(played.time).unwrap_or(i64::MAX),
            ],
        )?;
    }
    Ok(())
}

/// Removes the oldest games and this game's oldest matches.
fn remove_old(
    transaction: &Transaction,
    signature: &str,
    max_games: usize,
) -> rusqlite::Result<()> {
    transaction.execute(
        "DELETE FROM games WHERE signature IN
             (SELECT signature FROM games ORDER BY last_seen DESC, rowid DESC LIMIT -1 OFFSET ?1)",
        [i64::try_from(max_games).unwrap_or(i64::MAX)],
    )?;
    transaction.execute(
        "DELETE FROM matches WHERE number IN
             (SELECT number FROM matches WHERE signature = ?1
              ORDER BY number DESC LIMIT -1 OFFSET ?2)",
        params![signature, MOST_MATCHES as i64],
    )?;
    Ok(())
}

fn milliseconds() -> i64 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    time.map_or(0, |time| {
        i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
    })
}

fn packed(text: &str) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail; an empty text would only match no game.
    encoder
        .write_all(text.as_bytes())
        .and_then(|()| encoder.finish())
        .unwrap_or_default()
}

/// The text; an empty one if it is damaged.
fn unpacked(packed: &[u8]) -> String {
    let mut text = String::new();
    let decoder = ZlibDecoder::new(packed).take(MOST_TEXT_BYTES);
    match { decoder }.read_to_string(&mut text) {
        Ok(_) => text,
        Err(_) => String::new(),
    }
}
