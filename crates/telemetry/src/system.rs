//! What the system makes of the process: page faults, context switches, and processor time that
//! other virtual machines took.
//!
//! Linux counts them in `/proc`. Elsewhere, and where a count is missing, a figure is not a number.

use std::collections::HashMap;
use std::fs;

/// Figures of the process over some time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SystemRates {
    /// Page faults per second that were served from memory.
    pub minor_faults: f64,
    /// Page faults per second that waited for a disk.
    pub major_faults: f64,
    /// Context switches per second of threads that waited for something.
    pub voluntary_switches: f64,
    /// Context switches per second of threads that others took the processor from.
    pub involuntary_switches: f64,
    /// Share of the time of all processors that other virtual machines took, from 0 to 1.
    pub stolen: f64,
}

impl Default for SystemRates {
    /// Nothing is known.
    fn default() -> Self {
        Self {
            minor_faults: f64::NAN,
            major_faults: f64::NAN,
            voluntary_switches: f64::NAN,
            involuntary_switches: f64::NAN,
            stolen: f64::NAN,
        }
    }
}

/// Samples the counts of the system.
#[derive(Debug, Default)]
pub struct SystemCounts {
    /// Minor and major faults.
    faults: Option<[u64; 2]>,
    /// Voluntary and involuntary switches by thread number.
    switches: HashMap<u64, [u64; 2]>,
    /// Stolen ticks of all processors, and all ticks.
    ticks: Option<[u64; 2]>,
}

impl SystemCounts {
    /// The figures since the last call, `seconds` ago. Those of a first call are not known. Threads
    /// that have ended in between are left out of the switches.
    pub fn since_last(&mut self, seconds: f64) -> SystemRates {
        let rate = |count: u64| count as f64 / seconds.max(1e-3);
        let mut rates = SystemRates::default();
        let faults = fs::read_to_string("/proc/self/stat").ok();
        let faults = faults.and_then(|stat| faults_of(&stat));
        if let Some([minor, major]) = grown(self.faults, faults) {
            (rates.minor_faults, rates.major_faults) = (rate(minor), rate(major));
        }
        let switches = switches();
        if !self.switches.is_empty() && !switches.is_empty() {
            let new = |kind: usize| -> u64 {
                let threads = switches.iter().map(|(thread, counts)| {
                    let before = self.switches.get(thread).map_or(0, |before| before[kind]);
                    counts[kind].saturating_sub(before)
                });
                threads.sum()
            };
            (rates.voluntary_switches, rates.involuntary_switches) = (rate(new(0)), rate(new(1)));
        }
        let ticks = fs::read_to_string("/proc/stat").ok();
        let ticks = ticks.and_then(|stat| ticks_of(&stat));
        if let Some([stolen, all]) = grown(self.ticks, ticks) {
            rates.stolen = stolen as f64 / all.max(1) as f64;
        }
        (self.faults, self.switches, self.ticks) = (faults, switches, ticks);
        rates
    }
}

/// By how much two counts have grown, if both are known.
fn grown(before: Option<[u64; 2]>, now: Option<[u64; 2]>) -> Option<[u64; 2]> {
    let (before, now) = (before?, now?);
    Some([0, 1].map(|index| now[index].saturating_sub(before[index])))
}

/// Minor and major faults of a process, from `/proc/self/stat`: the fields 10 and 12, where the
/// name in parentheses, which may hold anything, is field 2.
fn faults_of(stat: &str) -> Option<[u64; 2]> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(7);
    let minor = fields.next()?.parse().ok()?;
    let major = fields.nth(1)?.parse().ok()?;
    Some([minor, major])
}

/// Stolen ticks and all ticks, from the first line of `/proc/stat`. Ticks of guests are counted
/// among others too, so the first eight numbers are all.
fn ticks_of(stat: &str) -> Option<[u64; 2]> {
    let numbers = stat.lines().next()?.strip_prefix("cpu ")?;
    let numbers = numbers.split_whitespace().take(8).map(str::parse::<u64>);
    let numbers: Vec<u64> = numbers.collect::<Result<_, _>>().ok()?;
    let stolen = *numbers.get(7)?;
    Some([stolen, numbers.iter().sum()])
}

/// Voluntary and involuntary switches of each thread.
fn switches() -> HashMap<u64, [u64; 2]> {
    let Ok(entries) = fs::read_dir("/proc/self/task") else {
        return HashMap::new();
    };
    let thread = |entry: fs::DirEntry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        let status = fs::read_to_string(entry.path().join("status")).ok()?;
        Some((number, switches_of(&status)?))
    };
    entries.flatten().filter_map(thread).collect()
}

/// Voluntary and involuntary switches, from the status of a thread.
fn switches_of(status: &str) -> Option<[u64; 2]> {
    let count = |name: &str| -> Option<u64> {
        let value = status.lines().find_map(|line| line.strip_prefix(name))?;
        value.trim().parse().ok()
    };
    let voluntary = count("voluntary_ctxt_switches:")?;
    Some([voluntary, count("nonvoluntary_ctxt_switches:")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_the_texts_of_the_system() {
        let stat = "12 (a) b) R 1 12 12 0 -1 4194304 345 0 6 0 10 20 0 0 20 0 1 0 99";
        assert_eq!(faults_of(stat), Some([345, 6]));
        assert_eq!(faults_of("12 (a) R 1"), None);
        let stat = "cpu  10 0 20 60 1 2 3 4 50 0\ncpu0 1 2 3\n";
        assert_eq!(ticks_of(stat), Some([4, 100]));
        assert_eq!(ticks_of("cpu  10 0 20 60\n"), None);
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(switches_of(status), Some([12, 3]));
        assert_eq!(switches_of("Name:\tx\n"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn memory_that_is_touched_and_a_thread_that_waits_are_counted() {
        let mut counts = SystemCounts::default();
        assert!(counts.since_last(1.0).minor_faults.is_nan());
        let touched = vec![1_u8; 64 << 20];
        assert!(std::hint::black_box(&touched).iter().all(|&byte| byte == 1));
        for _ in 0..20 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let rates = counts.since_last(1.0);
        assert!(rates.minor_faults > 0.0, "{rates:?}");
        assert!(rates.voluntary_switches >= 20.0, "{rates:?}");
        assert!(rates.major_faults >= 0.0 && rates.involuntary_switches >= 0.0);
        assert!((0.0..=1.0).contains(&rates.stolen), "{rates:?}");
    }
}
