//! Removes the oldest matches when the logs take too much space.

use std::fs;
use std::io;
use std::path::Path;

use super::{Archive, Part};
use crate::sink::SUMMARY;

/// See [`Archive::prune`].
pub(super) fn prune(archive: &Archive, most_bytes: u64) -> io::Result<usize> {
    // Live ones come first, then from the newest to the oldest.
    let matches = archive.list()?;
    let mut sum = 0u64;
    let mut removed = 0;
    for entry in matches {
        let folder = archive.root().join(&entry.folder);
        sum = sum.saturating_add(entry.bytes);
        // Asked once more: the list may be older than a match that goes on.
        if sum <= most_bytes || entry.is_live || archive.is_live(&folder) {
            continue;
        }
        archive.forget(&entry.folder);
        match remove(&folder) {
            Ok(()) => removed += 1,
            Err(error) => {
                tracing::warn!(
                    "the old log in {} was not removed: {error}",
                    folder.display()
                );
            }
        }
    }
    Ok(removed)
}

/// Removes the files of a match, and the folder when nothing else is in it.
fn remove(folder: &Path) -> io::Result<()> {
    for name in Part::file_names().chain([SUMMARY, "summary.json.new"]) {
        match fs::remove_file(folder.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    fs::remove_dir(folder)
}
