//! The writer of a match log: sorts lines into files and survives files that cannot be written.
//!
//! A match has one queue and one writing thread for its files; the first byte of each message is
//! the [`Target`]. Errors are not returned: lost lines are counted, the first failure is logged,
//! and each later message tries again, since a full disk may have room again. The summary replaces
//! its file as a whole, when the queue is empty.
//!
//! Invariant: at most [`FLUSH_BYTES`] and one line of each file wait in memory.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::health;

/// Buffered bytes that are written before the end of a batch.
const FLUSH_BYTES: usize = 1 << 16;

/// Which file a line belongs to. As a byte it comes first in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Target {
    Text,
    Events,
    Series,
    /// `summary.json`, which each message replaces.
    Summary,
}

pub(super) const SUMMARY: &str = "summary.json";

impl Target {
    /// The files of a match that grow by lines, in the order of their bytes.
    pub(super) const FILES: [&str; 3] = ["match.log", "events.jsonl", "series.csv"];

    /// A message for [`Sink`]: the byte of the target and the line.
    pub(super) fn message(self, line: &str) -> Vec<u8> {
        let mut message = Vec::with_capacity(line.len() + 1);
        message.push(self as u8);
        message.extend_from_slice(line.as_bytes());
        message
    }
}

pub(super) struct Sink<W: Write> {
    files: [Lines<W>; Target::FILES.len()],
    /// The folder of the summary, and the newest summary that is not written yet.
    folder: Option<PathBuf>,
    summary: Option<Vec<u8>>,
    /// Lost lines, shared with the log that reports them.
    lost: Arc<AtomicUsize>,
    warned: bool,
    is_failing: bool,
}

struct Lines<W> {
    file: W,
    waiting: Vec<u8>,
    count: usize,
    /// Whether the last write failed, perhaps in the middle of a line.
    torn: bool,
}

impl<W: Write> Sink<W> {
    /// A sink for `files` in the order of [`Target::FILES`], and for a summary in `folder`.
    pub(super) fn new(
        files: [W; Target::FILES.len()],
        folder: Option<PathBuf>,
        lost: Arc<AtomicUsize>,
    ) -> Sink<W> {
        Sink {
            folder,
            summary: None,
            files: files.map(|file| Lines {
                file,
                waiting: Vec::new(),
                count: 0,
                torn: false,
            }),
            lost,
            warned: false,
            is_failing: false,
        }
    }

    /// Records a write or a loss of lines.
    fn note(&mut self, outcome: Result<bool, (usize, io::Error)>) {
        match outcome {
            Ok(false) => {}
            Ok(true) => {
                if std::mem::take(&mut self.is_failing) {
                    health::recovered();
                }
            }
            Err((lines, error)) => {
                self.lost.fetch_add(lines, Ordering::Relaxed);
                self.is_failing = true;
                health::lost(lines, &error.to_string());
                if !self.warned {
                    self.warned = true;
                    tracing::warn!(
                        "a match log cannot be written, the match goes on without: {error}"
                    );
                }
            }
        }
    }

    /// Replaces the summary atomically.
    fn write_summary(&mut self) -> Result<bool, (usize, io::Error)> {
        let (Some(folder), Some(summary)) = (&self.folder, self.summary.take()) else {
            return Ok(false);
        };
        let new = folder.join("summary.json.new");
        fs::write(&new, &summary)
            .and_then(|()| fs::rename(&new, folder.join(SUMMARY)))
            .map(|()| true)
            .map_err(|error| (1, error))
    }
}

impl<W: Write> Lines<W> {
    /// Writes the waiting lines; true if there were any. On an error the lines are lost, and their
    /// number is returned.
    fn write_out(&mut self) -> Result<bool, (usize, io::Error)> {
        if self.waiting.is_empty() {
            return Ok(false);
        }
        // The end of a line that was cut off keeps it from spoiling the next.
        let outcome = if self.torn {
            self.file.write_all(b"\n")
        } else {
            Ok(())
        }
        .and_then(|()| self.file.write_all(&self.waiting))
        .and_then(|()| self.file.flush());
        self.waiting.clear();
        self.torn = outcome.is_err();
        outcome.map_err(|error| (std::mem::take(&mut self.count), error))?;
        self.count = 0;
        Ok(true)
    }
}

impl<W: Write> Write for Sink<W> {
    /// Takes one whole message from the queue.
    fn write(&mut self, message: &[u8]) -> io::Result<usize> {
        if let [target, summary @ ..] = message
            && *target == Target::Summary as u8
        {
            self.summary = Some(summary.to_vec());
        } else if let [target, line @ ..] = message
            && let Some(lines) = self.files.get_mut(usize::from(*target))
        {
            lines.waiting.extend_from_slice(line);
            lines.count += 1;
            if lines.waiting.len() >= FLUSH_BYTES {
                let outcome = lines.write_out();
                self.note(outcome);
            }
        }
        Ok(message.len())
    }

    /// Called when the queue is empty, and at the end.
    fn flush(&mut self) -> io::Result<()> {
        for index in 0..self.files.len() {
            let outcome = self.files[index].write_out();
            self.note(outcome);
        }
        let outcome = self.write_summary();
        self.note(outcome);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with room for `room` bytes.
    #[derive(Default)]
    struct Disk {
        content: Vec<u8>,
        room: usize,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let fits = bytes.len().min(self.room);
            if fits == 0 && !bytes.is_empty() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.content.extend_from_slice(&bytes[..fits]);
            self.room -= fits;
            Ok(fits)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn disk(room: usize) -> Disk {
        Disk {
            room,
            ..Disk::default()
        }
    }

    fn text(sink: &Sink<Disk>, target: Target) -> &str {
        std::str::from_utf8(&sink.files[target as usize].file.content).unwrap()
    }

    fn put(sink: &mut Sink<Disk>, target: Target, line: &str) {
        sink.write_all(&target.message(line)).unwrap();
    }

    #[test]
    fn each_line_goes_to_its_file() {
        let mut sink = Sink::new([disk(100), disk(100), disk(100)], None, Arc::default());
        put(&mut sink, Target::Series, "1\n");
        put(&mut sink, Target::Text, "two\n");
        put(&mut sink, Target::Events, "{}\n");
        put(&mut sink, Target::Text, "three\n");
        assert_eq!(text(&sink, Target::Text), "");
        sink.flush().unwrap();
        assert_eq!(text(&sink, Target::Text), "two\nthree\n");
        assert_eq!(text(&sink, Target::Events), "{}\n");
        assert_eq!(text(&sink, Target::Series), "1\n");
    }

    #[test]
    fn a_long_batch_is_written_before_it_ends() {
        let line = format!("{}\n", "x".repeat(FLUSH_BYTES / 2));
        let room = 4 * FLUSH_BYTES;
        let mut sink = Sink::new([disk(room), disk(0), disk(0)], None, Arc::default());
        put(&mut sink, Target::Text, &line);
        assert_eq!(text(&sink, Target::Text).len(), 0);
        put(&mut sink, Target::Text, &line);
        assert_eq!(text(&sink, Target::Text).len(), 2 * line.len());
    }

    #[test]
    fn a_full_disk_loses_counted_lines_and_no_other_file_suffers() {
        let lost = Arc::new(AtomicUsize::new(0));
        let mut sink = Sink::new([disk(6), disk(100), disk(100)], None, Arc::clone(&lost));
        put(&mut sink, Target::Text, "one\n");
        put(&mut sink, Target::Text, "two\n");
        put(&mut sink, Target::Events, "{}\n");
        sink.flush().unwrap();
        assert_eq!(lost.load(Ordering::Relaxed), 2);
        assert_eq!(text(&sink, Target::Events), "{}\n");

        // There is room again: what was cut off is ended, and the log goes on.
        sink.files[Target::Text as usize].file.room = 100;
        put(&mut sink, Target::Text, "three\n");
        sink.flush().unwrap();
        assert_eq!(text(&sink, Target::Text), "one\ntw\nthree\n");
        assert_eq!(lost.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn the_newest_summary_is_the_one_that_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = Some(folder.path().to_path_buf());
        let mut sink = Sink::new([disk(9), disk(9), disk(9)], path, Arc::default());
        put(&mut sink, Target::Summary, "{\"steps\":100}");
        put(&mut sink, Target::Summary, "{\"steps\":2}");
        assert!(!folder.path().join(SUMMARY).exists());
        sink.flush().unwrap();
        let read = || fs::read_to_string(folder.path().join(SUMMARY)).unwrap();
        assert_eq!(read(), "{\"steps\":2}");
        sink.flush().unwrap();
        assert_eq!(read(), "{\"steps\":2}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn messages_that_name_no_file_are_ignored() {
        let mut sink = Sink::new([disk(9), disk(9), disk(9)], None, Arc::default());
        sink.write_all(b"").unwrap();
        sink.write_all(&[200, b'x']).unwrap();
        sink.flush().unwrap();
        assert!(sink.files.iter().all(|lines| lines.file.content.is_empty()));
    }
}
