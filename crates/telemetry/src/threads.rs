//! Processor time by kind of thread.
//!
//! The system counts it for every thread. A thread's kind is its name without the number behind the
//! hyphen, as in `rollout-3`. On systems other than Linux the list is empty.

use std::collections::{BTreeMap, HashMap};
use std::fs;

/// Samples the processor time of all threads.
#[derive(Debug, Default)]
pub struct ThreadTimes {
    /// Nanoseconds by thread number, as of the last sample.
    before: HashMap<u64, u64>,
}

impl ThreadTimes {
    /// Seconds on a processor that threads have used since the last call, by kind of thread. The
    /// first call tells of all that they ever used. Threads that have ended in between are left
    /// out.
    pub fn since_last(&mut self) -> BTreeMap<String, f64> {
        let mut used: BTreeMap<String, f64> = BTreeMap::new();
        let mut now = HashMap::new();
        for (thread, name, nanoseconds) in threads() {
            let before = self.before.get(&thread).copied().unwrap_or(0);
            let seconds = nanoseconds.saturating_sub(before) as f64 * 1e-9;
            *used.entry(kind(&name).to_string()).or_default() += seconds;
            now.insert(thread, nanoseconds);
        }
        self.before = now;
        used
    }
}

fn kind(name: &str) -> &str {
    let without = name.trim_end_matches(|c: char| c.is_ascii_digit());
    match without.strip_suffix('-') {
        Some(kind) if !kind.is_empty() => kind,
        _ => name,
    }
}

/// Number, name and nanoseconds of each thread.
fn threads() -> Vec<(u64, String, u64)> {
    let Ok(entries) = fs::read_dir("/proc/self/task") else {
        return Vec::new();
    };
    let thread = |entry: fs::DirEntry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        let name = fs::read_to_string(entry.path().join("comm")).ok()?;
        let times = fs::read_to_string(entry.path().join("schedstat")).ok()?;
        let nanoseconds = times.split_whitespace().next()?.parse().ok()?;
        Some((number, name.trim_end().to_string(), nanoseconds))
    };
    entries.flatten().filter_map(thread).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn numbers_are_left_out() {
        assert_eq!(kind("rollout-12"), "rollout");
        assert_eq!(kind("match"), "match");
        assert_eq!(kind("h264"), "h264");
        assert_eq!(kind("-3"), "-3");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_thread_that_works_is_seen() {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let (ready, worked) = std::sync::mpsc::channel::<()>();
        let works = Arc::new(AtomicBool::new(true));
        let goes_on = Arc::clone(&works);
        let thread = panza_sync::spawn("busy-7", move || {
            while goes_on.load(Ordering::Relaxed) {}
            let _ = ready.send(());
            let _ = stopped.recv();
        })
        .unwrap();
        let mut times = ThreadTimes::default();
        let mut used = 0.0;
        // The work is seen once the thread had a processor for it.
        while used < 0.001 {
            used += times.since_last().get("busy").copied().unwrap_or(0.0);
        }
        works.store(false, Ordering::Relaxed);
        worked.recv().unwrap();
        times.since_last();
        let idle = times.since_last()["busy"];
        assert!(idle < used, "{idle}");
        drop(stop);
        thread.join().unwrap();
    }
}
