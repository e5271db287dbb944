//! Where the files of tables are: in a folder on disk, or where the host of the tables keeps them.
//!
//! Invariant: what is looked at on disk is bounded.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Entries of a folder that are looked at, at most.
const MAX_ENTRIES: usize = 10_000;

/// A table that a [`Storage`] has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kept {
    /// Its name.
    pub name: String,
    /// How long ago it was changed last.
    pub age: Duration,
    /// The bytes of its files.
    pub bytes: u64,
}

/// Where the files of tables are.
pub trait Storage: Send + Sync {
    /// Replaces a file of a table as a whole.
    ///
    /// # Errors
    /// It cannot be kept.
    fn write(&self, table: &str, file: &str, bytes: &[u8]) -> io::Result<()>;

    /// The first `most` bytes of a file of a table, which are all of it where they are fewer.
    ///
    /// # Errors
    /// There is no such file, of the kind `NotFound`, or it cannot be read.
    fn read(&self, table: &str, file: &str, most: usize) -> io::Result<Vec<u8>>;

    /// Whether there is a file of a table.
    fn has(&self, table: &str, file: &str) -> bool;

    /// Puts a damaged file aside, so that it is not read again. Returns where it is.
    ///
    /// # Errors
    /// It stays where it is.
    fn put_aside(&self, table: &str, file: &str) -> io::Result<String>;

    /// All tables, as far as they are known.
    fn tables(&self) -> Vec<Kept>;

    /// Removes a table.
    ///
    /// # Errors
    /// It stays.
    fn remove(&self, table: &str) -> io::Result<()>;
}

/// A folder on disk, which has a folder for each table.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// The tables in `.tables` of a folder of logs.
    pub fn of_logs(logs: &Path) -> Self {
        Self(logs.join(".tables"))
    }

    fn file(&self, table: &str, file: &str) -> PathBuf {
        self.0.join(table).join(file)
    }
}

impl Storage for Folder {
    fn write(&self, table: &str, file: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.file(table, file);
        fs::create_dir_all(self.0.join(table))?;
        let new = path.with_extension("new");
        fs::write(&new, bytes).and_then(|()| fs::rename(&new, path))
    }

    fn read(&self, table: &str, file: &str, most: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let file = File::open(self.file(table, file))?;
        file.take(most as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn has(&self, table: &str, file: &str) -> bool {
        self.file(table, file).exists()
    }

    fn put_aside(&self, table: &str, file: &str) -> io::Result<String> {
        let path = self.file(table, file);
        let aside = path.with_extension("damaged");
        fs::rename(&path, &aside)?;
        Ok(aside.display().to_string())
    }

    fn tables(&self) -> Vec<Kept> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let names = entries.take(MAX_ENTRIES);
        let names = names.filter_map(|entry| entry.file_name().into_string().ok());
        let kept = names.map(|name| {
            let (age, bytes) = age_and_size(&self.0.join(&name));
            Kept { name, age, bytes }
        });
        kept.collect()
    }

    fn remove(&self, table: &str) -> io::Result<()> {
        fs::remove_dir_all(self.0.join(table))
    }
}

/// How long ago a file of a folder was changed last, and the bytes of all.
fn age_and_size(folder: &Path) -> (Duration, u64) {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let known = files
        .take(MAX_ENTRIES)
        .filter_map(|file| file.metadata().ok());
    known.fold((Duration::MAX, 0), |(age, bytes), file| {
        let changed = file.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        // One that was changed later than now is as good as new.
        let of_file = changed.elapsed().unwrap_or_default();
        (age.min(of_file), bytes + file.len())
    })
}
