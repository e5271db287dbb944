//! Renames a broken file.
//!
//! Two programs may find the same file broken at once, and the second must not rename the new file
//! of the first. The file is locked and checked again before it is renamed.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use panza_sync::{SystemTime, UNIX_EPOCH};
use rusqlite::{Connection, ErrorCode, OpenFlags};

/// Suffixes of SQLite's own files.
const BESIDE: [&str; 2] = ["-wal", "-shm"];

/// Whether an error says that the file is no database or a damaged one.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt)
    )
}

/// Renames the file at `path` and SQLite's files beside it, if it is broken; returns the new path.
/// Nothing if it is not broken, since another program may have renamed it meanwhile.
pub(super) fn quarantine(path: &Path) -> io::Result<Option<PathBuf>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    lock(&file)?;
    if !is_still(path, &file)? || !is_broken(path) {
        return Ok(None);
    }
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    let mark = format!(
        ".broken-{}-{}",
        time.map_or(0, |time| time.as_millis()),
        std::process::id()
    );
    // The write-ahead log first: it must never lie beside a new file.
    for beside in BESIDE {
        match fs::rename(
            joined(path, beside),
            joined(path, &format!("{mark}{beside}")),
        ) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    let other = joined(path, &mark);
    fs::rename(path, &other)?;
    Ok(Some(other))
}

fn joined(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(end);
    PathBuf::from(name)
}

/// Checks the whole file.
fn is_broken(path: &Path) -> bool {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let checked = Connection::open_with_flags(path, flags).and_then(|connection| {
        connection.query_row("PRAGMA integrity_check(1)", [], |row| {
            row.get::<_, String>(0)
        })
    });
    match checked {
        Ok(answer) => answer != "ok",
        Err(error) => is_damage(&error),
    }
}

/// Waits for an exclusive lock, which closing the file releases.
#[cfg(unix)]
fn lock(file: &File) -> io::Result<()> {
    Ok(rustix::fs::flock(
        file,
        rustix::fs::FlockOperation::LockExclusive,
    )?)
}

#[cfg(not(unix))]
fn lock(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn is_still(path: &Path, file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let ours = file.metadata()?;
    match fs::metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn is_still(_: &Path, _: &File) -> io::Result<bool> {
    Ok(true)
}
