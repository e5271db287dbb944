//! Processor time by kind of thread.
//!
//! The system counts it for every thread that lives, and `panza_sync` keeps it of those that have
//! ended. A thread's kind is its name without the number behind the hyphen, as in `rollout-3`. On
//! systems other than Linux the list is empty.

use std::collections::{BTreeMap, HashMap};
use std::fs;

use panza_sync::ended_threads;

/// Samples the processor time of all threads.
#[derive(Debug, Default)]
pub struct ThreadTimes {
    /// Nanoseconds by thread number, as of the last sample.
    before: HashMap<u64, u64>,
    /// The number of threads that had ended by then.
    n_ended: u64,
}

impl ThreadTimes {
    /// Seconds on a processor that threads have used since the last call, by kind of thread. The
    /// first call tells of all that they ever used. Threads that `panza_sync` has not started are
    /// left out where they have ended in between.
    pub fn since_last(&mut self) -> BTreeMap<String, f64> {
        let mut used: BTreeMap<String, f64> = BTreeMap::new();
        let mut now: HashMap<u64, u64> = HashMap::new();
        let mut threads = threads();
        // Asked for after the list was made, so that a thread that is missing there is among them.
        // Of one that is in both, the time in between is added.
        let (ended, n_ended) = ended_threads(self.n_ended);
        let ended = ended.into_iter();
        threads.extend(ended.map(|it| (it.number, it.name, it.time.as_nanos() as u64)));
        for (thread, name, nanoseconds) in threads {
            let before = now.get(&thread).or_else(|| self.before.get(&thread));
            let before = before.copied().unwrap_or(0);
            let seconds = nanoseconds.saturating_sub(before) as f64 * 1e-9;
            *used.entry(kind(&name).to_string()).or_default() += seconds;
            now.insert(thread, nanoseconds.max(before));
        }
        (self.before, self.n_ended) = (now, n_ended);
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

    #[test]
    #[cfg(target_os = "linux")]
    fn a_thread_that_ends_between_two_samples_is_counted_once() {
        let mut times = ThreadTimes::default();
        times.since_last();
        let mut seen = 0.0;
        let mut spent = 0.0;
        for number in 0..20 {
            let work = || {
                while panza_sync::thread_cpu_time().unwrap().as_millis() < 10 {}
                panza_sync::thread_cpu_time().unwrap().as_secs_f64()
            };
            let thread = panza_sync::spawn(format!("brief-{number}"), work).unwrap();
            if number % 2 == 0 {
                seen += times.since_last().get("brief").copied().unwrap_or(0.0);
            }
            spent += thread.join().unwrap();
        }
        for _ in 0..3 {
            seen += times.since_last().get("brief").copied().unwrap_or(0.0);
        }
        assert!(
            seen > 0.99 * spent && seen < 1.05 * spent,
            "{seen} of {spent}"
        );
    }
}
