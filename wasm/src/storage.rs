//! Tables that the host of the module keeps: all files are in memory here, and the host is called
//! with each file that changes.
//!
//! Invariant: after each call the host has the files that are in memory.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use panza_sync::{Instant, lock};
use panza_web::table::{Kept, Storage};

/// Takes a file that has changed: its name, such as `0123456789abcdef/game.json`, and its text, or
/// nothing where it is removed.
pub type Tell = Box<dyn Fn(&str, Option<&[u8]>) + Send + Sync>;

/// The files of all tables; clones share them.
#[derive(Clone)]
pub struct Told {
    files: Arc<Mutex<BTreeMap<String, File>>>,
    tell: Arc<Tell>,
}

struct File {
    bytes: Vec<u8>,
    changed: Instant,
}

impl Told {
    /// No files yet. Each change is told.
    pub fn new(tell: Tell) -> Self {
        Self {
            files: Arc::default(),
            tell: Arc::new(tell),
        }
    }

    /// Takes a file that was told before, in this run or in an earlier one.
    pub fn take(&self, name: String, bytes: Vec<u8>) {
        let changed = Instant::now();
        lock(&self.files).insert(name, File { bytes, changed });
    }

    fn drop_file(&self, name: &str) {
        lock(&self.files).remove(name);
        (self.tell)(name, None);
    }
}

fn name(table: &str, file: &str) -> String {
    format!("{table}/{file}")
}

impl Storage for Told {
    fn write(&self, table: &str, file: &str, bytes: &[u8]) -> io::Result<()> {
        let name = name(table, file);
        (self.tell)(&name, Some(bytes));
        self.take(name, bytes.to_vec());
        Ok(())
    }

    fn read(&self, table: &str, file: &str, most: usize) -> io::Result<Vec<u8>> {
        let files = lock(&self.files);
        let found = files.get(&name(table, file));
        let found = found.ok_or(io::ErrorKind::NotFound)?;
        Ok(found.bytes[..found.bytes.len().min(most)].to_vec())
    }

    fn has(&self, table: &str, file: &str) -> bool {
        lock(&self.files).contains_key(&name(table, file))
    }

    fn put_aside(&self, table: &str, file: &str) -> io::Result<String> {
        let bytes = self.read(table, file, usize::MAX)?;
        let aside = Path::new(file).with_extension("damaged");
        let aside = aside.display().to_string();
        self.write(table, &aside, &bytes)?;
        self.drop_file(&name(table, file));
        Ok(name(table, &aside))
    }

    fn tables(&self) -> Vec<Kept> {
        let mut found: BTreeMap<String, (Duration, u64)> = BTreeMap::new();
        for (name, file) in &*lock(&self.files) {
            let table = name.split('/').next().unwrap_or_default();
            let (age, bytes) = found.entry(table.to_string()).or_insert((Duration::MAX, 0));
            *age = file.changed.elapsed().min(*age);
            *bytes += file.bytes.len() as u64;
        }
        let tables = found.into_iter();
        let kept = tables.map(|(name, (age, bytes))| Kept { name, age, bytes });
        kept.collect()
    }

    fn remove(&self, table: &str) -> io::Result<()> {
        let below = format!("{table}/");
        let files = lock(&self.files);
        let names = files.keys().filter(|name| name.starts_with(&below));
        let names: Vec<String> = names.cloned().collect();
        drop(files);
        names.iter().for_each(|name| self.drop_file(name));
        Ok(())
    }
}
