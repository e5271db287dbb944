//! The tables of the file and their versions.

use rusqlite::{Connection, Transaction, TransactionBehavior};

/// The application id of this program's files (`Pnza`).
const APPLICATION: i64 = 0x506e_7a61;

/// The migration from each version to the next; a new file has version 0 and no tables.
const STEPS: &[&str] = &["
    CREATE TABLE games (
        signature TEXT PRIMARY KEY NOT NULL,
        text BLOB NOT NULL,
        first_seen INTEGER NOT NULL,
        last_seen INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX games_by_age ON games (last_seen);
    CREATE TABLE notes (
        signature TEXT NOT NULL REFERENCES games ON DELETE CASCADE,
        kind TEXT NOT NULL,
        value TEXT NOT NULL,
        time INTEGER NOT NULL,
        PRIMARY KEY (signature, kind)
    ) STRICT;
    CREATE TABLE matches (
        number INTEGER PRIMARY KEY,
        signature TEXT NOT NULL REFERENCES games ON DELETE CASCADE,
        match_id TEXT NOT NULL,
        roles TEXT NOT NULL,
        our_role TEXT NOT NULL,
        goals TEXT NOT NULL,
        steps INTEGER NOT NULL,
        seconds REAL NOT NULL,
        ending TEXT NOT NULL,
        time INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX matches_by_game ON matches (signature, number);
"];

/// The version that this program writes.
pub(super) const VERSION: i64 = STEPS.len() as i64;

#[derive(PartialEq, Eq, Debug)]
pub(super) enum Owner {
    /// Ours, or new.
    Panza,
    /// Ours, of a later version.
    Later(i64),
    /// Another program's.
    Other,
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

/// The owner of a file, read without changing it.
pub(super) fn owner(connection: &Connection) -> rusqlite::Result<Owner> {
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let version = pragma(connection, "user_version")?;
    Ok(match pragma(connection, "application_id")? {
        APPLICATION if version > VERSION => Owner::Later(version),
        APPLICATION => Owner::Panza,
        0 if tables == 0 && version == 0 => Owner::Panza,
        _ => Owner::Other,
    })
}

pub(super) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    if pragma(connection, "user_version")? >= VERSION {
        return Ok(());
    }
    // A second program waits here and finds the migration done.
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let found = usize::try_from(pragma(&transaction, "user_version")?).unwrap_or(0);
    for step in STEPS.iter().skip(found) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}
