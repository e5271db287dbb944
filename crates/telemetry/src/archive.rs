//! The logs of all matches in a folder, for readers: a list, single files, whole matches, and the
//! removal of old ones.
//!
//! The list is made from each match's `summary.json`; where that is missing, as after a crash, from
//! the first and last events. A finished match never changes, so it is read once.
//!
//! Invariants: only folders directly below the root are touched, whatever name is requested;
//! everything read is bounded in size; a live match is never removed.
//!
//! Never uses: who reads, and the meaning of events beyond their kind.

mod events;
mod prune;
mod read;

use panza_sync::lock;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Serialize;

use super::debug_log;
use super::folder_name;
use super::live;
use super::sink::Target;
use super::summary::Summary;

pub use events::Event;

/// Threads that read summaries, and how many summaries make them worthwhile.
const READERS: usize = 4;
const FEW: usize = 64;
/// Silence after which an unlocked match without an end counts as broken off.
const SILENT: Duration = Duration::from_secs(10);
/// Limit on each part of a bundle, in bytes.
const MOST_OF_A_PART: usize = 64 << 20;

/// The logs below one folder.
#[derive(Debug)]
pub struct Archive {
    root: PathBuf,
    /// Entries of finished matches, by folder.
    ended: Mutex<HashMap<String, Arc<Entry>>>,
}

/// A match as a list shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// The name of its folder.
    pub folder: String,
    /// Whether its log is being written.
    #[serde(rename = "live")]
    pub is_live: bool,
    /// Bytes of its files.
    pub bytes: u64,
    /// Its summary.
    #[serde(flatten)]
    pub summary: Summary,
    /// What could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damaged: Option<String>,
}

/// One of the files of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The log for reading.
    Log,
    /// The events, one JSON object a line.
    Events,
    /// The figures of each second.
    Series,
    /// The begin of the debug log.
    Debug,
}

impl Part {
    /// All parts.
    pub const ALL: [Part; 4] = [Part::Log, Part::Events, Part::Series, Part::Debug];

    /// The name of its file.
    pub fn file_name(self) -> &'static str {
        let target = match self {
            Part::Log => Target::Text,
            Part::Events => Target::Events,
            Part::Series => Target::Series,
            Part::Debug => return debug_log::FILES[0],
        };
        Target::FILES[target as usize]
    }

    /// The names of all files of a match but the summary: those of the parts, and the later ones of
    /// the debug log.
    fn file_names() -> impl Iterator<Item = &'static str> {
        let parts = Part::ALL.map(Part::file_name);
        parts
            .into_iter()
            .chain(debug_log::FILES.into_iter().skip(1))
    }
}

/// All of a match in one piece.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Bundle {
    /// The version of this form.
    pub version: u32,
    /// The match's name.
    pub match_id: String,
    /// The name of its folder.
    pub folder: String,
    /// `events.jsonl`.
    pub events: String,
    /// `series.csv`.
    pub series: String,
    /// `match.log`.
    pub log: String,
    /// `debug.log`.
    pub debug: String,
    /// Notes on what is left out.
    pub notes: Vec<String>,
}

impl Archive {
    /// The logs below `root`, which need not exist yet.
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_path_buf(),
            ended: Mutex::default(),
        }
    }

    /// The root folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// All matches, live ones first, then those that began last.
    ///
    /// # Errors
    /// The folder cannot be read, though it exists.
    pub fn list(&self) -> io::Result<Vec<Arc<Entry>>> {
        let names = self.folders()?;
        let mut known = Vec::with_capacity(names.len());
        let mut unknown = Vec::new();
        {
            let ended = lock(&self.ended);
            for name in &names {
                match ended.get(name) {
                    Some(entry) => known.push(Arc::clone(entry)),
                    None => unknown.push(name.as_str()),
                }
            }
        }
        let read: Vec<Arc<Entry>> = if unknown.len() < FEW {
            unknown.iter().filter_map(|name| self.read(name)).collect()
        } else {
            let share = unknown.len().div_ceil(READERS);
            std::thread::scope(|scope| {
                let readers: Vec<_> = unknown
                    .chunks(share)
                    .map(|names| {
                        scope.spawn(|| names.iter().filter_map(|name| self.read(name)).collect())
                    })
                    .collect();
                readers
                    .into_iter()
                    .flat_map(|reader| reader.join().unwrap_or_else(|_| Vec::new()))
                    .collect()
            })
        };
        {
            let mut ended = lock(&self.ended);
            for entry in read.iter().filter(|entry| self.is_final(entry)) {
                ended.insert(entry.folder.clone(), Arc::clone(entry));
            }
            let there: HashSet<&String> = names.iter().collect();
            ended.retain(|name, _| there.contains(name));
        }
        known.extend(read);
        known.sort_by(|left, right| {
            right
                .is_live
                .cmp(&left.is_live)
                .then_with(|| right.summary.started.cmp(&left.summary.started))
                .then_with(|| left.folder.cmp(&right.folder))
        });
        Ok(known)
    }

    /// The match in the folder of this name; nothing where there is none.
    pub fn entry(&self, folder: &str) -> Option<Arc<Entry>> {
        self.path(folder)?;
        let known = lock(&self.ended).get(folder).cloned();
        known.or_else(|| self.read(folder))
    }

    /// The newest match of this name; nothing where there is none.
    pub fn find(&self, match_id: &str) -> Option<Arc<Entry>> {
        let is_it = |entry: &Arc<Entry>| entry.summary.match_id == match_id;
        // Most of the time there is one match of a name, and its folder bears that.
        let first = folder_name(match_id);
        let second = format!("{first}-2");
        if self.path(&second).is_none()
            && let Some(entry) = self.entry(&first).filter(is_it)
        {
            return Some(entry);
        }
        self.list().ok()?.into_iter().find(is_it)
    }

    /// What a file of a match holds from this byte on, at most so many bytes, up to the end of the
    /// last whole line where the match is live or more follows; and how long the file is. A file
    /// that is not there is empty.
    ///
    /// # Errors
    /// There is no such match, or the disk refuses.
    pub fn slice(
        &self,
        folder: &str,
        part: Part,
        from: u64,
        most: usize,
    ) -> io::Result<(Vec<u8>, u64)> {
        let path = self.path(folder).ok_or(io::ErrorKind::NotFound)?;
        // Asked before anything is read, so that what ends in between is taken for what may go on.
        let is_live = self.is_live(&path);
        let mut file = match File::open(path.join(part.file_name())) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
            Err(error) => return Err(error),
        };
        let length = file.metadata()?.len();
        if from >= length {
            return Ok((Vec::new(), length));
        }
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(most as u64).read_to_end(&mut bytes)?;
        let goes_on = from + (bytes.len() as u64) < length || is_live;
        if goes_on && let Some(end) = bytes.iter().rposition(|&byte| byte == b'\n') {
            bytes.truncate(end + 1);
        } else if goes_on && bytes.len() < most {
            bytes.clear();
        }
        Ok((bytes, length))
    }

    /// All of a match, as far as it can be read.
    ///
    /// # Errors
    /// There is no such match, or the disk refuses.
    pub fn bundle(&self, folder: &str) -> io::Result<Bundle> {
        let entry = self.entry(folder).ok_or(io::ErrorKind::NotFound)?;
        let mut bundle = Bundle {
            version: 1,
            match_id: entry.summary.match_id.clone(),
            folder: folder.to_string(),
            notes: entry.damaged.iter().cloned().collect(),
            ..Bundle::default()
        };
        for part in Part::ALL {
            let (bytes, length) = self.slice(folder, part, 0, MOST_OF_A_PART)?;
            let name = part.file_name();
            if length > MOST_OF_A_PART as u64 {
                let note = format!("{name} is cut off after {} of {length} bytes", bytes.len());
                bundle.notes.push(note);
            }
            let text = match String::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) => {
                    let good = error.utf8_error().valid_up_to();
                    let note = format!("{name} is no text at byte {good} and perhaps later");
                    bundle.notes.push(note);
                    String::from_utf8_lossy(error.as_bytes()).into_owned()
                }
            };
            match part {
                Part::Log => bundle.log = text,
                Part::Events => bundle.events = text,
                Part::Series => bundle.series = text,
                Part::Debug => bundle.debug = text,
            }
        }
        Ok(bundle)
    }

    /// Removes the oldest matches until all of them together take no more than so many bytes, and
    /// says how many are gone. Live ones stay, and so does everything that is no match.
    ///
    /// # Errors
    /// The folder cannot be read, though it exists. What cannot be removed stays.
    pub fn prune(&self, most_bytes: u64) -> io::Result<usize> {
        prune::prune(self, most_bytes)
    }

    fn folders(&self) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let name = |entry: fs::DirEntry| {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let name = entry.file_name().into_string().ok()?;
            (is_folder && is_name(&name)).then_some(name)
        };
        Ok(entries.flatten().filter_map(name).collect())
    }

    fn path(&self, folder: &str) -> Option<PathBuf> {
        let path = self.root.join(folder);
        let is_folder = || fs::symlink_metadata(&path).is_ok_and(|data| data.is_dir());
        (is_name(folder) && is_folder()).then_some(path)
    }

    /// Whether a match is final: not locked, and ended or silent for long.
    fn is_final(&self, entry: &Entry) -> bool {
        let is_silent = || {
            let events = self.root.join(&entry.folder).join(Part::Events.file_name());
            let written = fs::metadata(events).and_then(|data| data.modified());
            written.is_ok_and(|at| at.elapsed().is_ok_and(|ago| ago > SILENT))
        };
        !entry.is_live && (entry.summary.how.is_some() || is_silent())
    }

    fn forget(&self, folder: &str) {
        lock(&self.ended).remove(folder);
    }

    fn is_live(&self, path: &Path) -> bool {
        File::open(path.join(Part::Events.file_name())).is_ok_and(|events| live::is_locked(&events))
    }

    /// Reads a match's entry; nothing if the folder holds no match.
    fn read(&self, folder: &str) -> Option<Arc<Entry>> {
        let path = self.root.join(folder);
        // Asked before the summary is read, so that what ends in between is read again.
        let is_live = self.is_live(&path);
        let (summary, damaged) = read::summary(&path)?;
        Some(Arc::new(Entry {
            folder: folder.to_string(),
            is_live,
            bytes: read::bytes(&path),
            summary,
            damaged,
        }))
    }
}

fn is_name(name: &str) -> bool {
    folder_name(name) == name || {
        // A number behind a name that is as long as can be.
        let without = name.trim_end_matches(|c: char| c.is_ascii_digit());
        without
            .strip_suffix('-')
            .is_some_and(|name| folder_name(name) == name)
    }
}

#[cfg(test)]
mod tests;
