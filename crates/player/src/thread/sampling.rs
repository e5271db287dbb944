//! When the search of a match is sampled, and the rates between samples.
//!
//! Processor time is counted by stage: the writer's own stages, and threads by their names.

use std::time::Duration;

use panza_sync::Instant;
use panza_telemetry::{SearchSample, StageTimes, SystemCounts, ThreadTimes};

/// Time between samples of the search.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);
/// Threads that build and prepare.
const PREPARATION_THREADS: [&str; 5] = ["build", "study", "board", "memory", "recall"];
/// Threads that train, or play for training.
const TRAINING_THREADS: [&str; 3] = ["training", "learning", "contest"];

/// Completes the samples of a search with rates.
pub(crate) struct Sampling {
    /// When the next sample is due.
    pub next: Instant,
    last: Instant,
    /// Counts of the last sample.
    iterations: u64,
    playouts: u64,
    /// Times of the writer's stages since the search began, at the last sample.
    stages: StageTimes,
    threads: ThreadTimes,
    system: SystemCounts,
}

impl Sampling {
    /// Samples from now on.
    pub fn new() -> Self {
        let now = Instant::now();
        let mut sampling = Self {
            next: now + SAMPLE_EVERY,
            last: now,
            iterations: 0,
            playouts: 0,
            stages: StageTimes::default(),
            threads: ThreadTimes::default(),
            system: SystemCounts::default(),
        };
        // What was before this match does not count.
        sampling.times_since_last(&StageTimes::default(), 1.0);
        sampling.system.since_last(1.0);
        sampling
    }

    /// Whether a sample is due; the next one is due a while later.
    pub fn is_due(&mut self, now: Instant) -> bool {
        let is_due = now >= self.next;
        if is_due {
            self.next = now + SAMPLE_EVERY;
        }
        is_due
    }

    /// Sets the rates of a sample that was taken now. Returns the seconds since the last one.
    pub fn complete(&mut self, sample: &mut SearchSample, now: Instant) -> f64 {
        let seconds = now.saturating_duration_since(self.last).as_secs_f64();
        let rate = |count: u64, before: u64| count.saturating_sub(before) as f64 / seconds;
        sample.iterations_per_second = rate(sample.iterations, self.iterations);
        sample.playouts_per_second = rate(sample.playouts, self.playouts);
        self.last = now;
        self.iterations = sample.iterations;
        self.playouts = sample.playouts;
        sample.times = self.times_since_last(&sample.times, seconds);
        sample.system = self.system.since_last(seconds);
        seconds
    }

    /// Processor seconds per second since the last call, `seconds` ago. `spent` are the times of
    /// the writer's stages since the search began; after a restart they count from zero.
    fn times_since_last(&mut self, spent: &StageTimes, seconds: f64) -> StageTimes {
        let mut times = spent.since(&self.stages);
        self.stages = *spent;
        // What the writer has been timed at.
        let stages = times.select + times.send + times.grow + times.back_up + times.training;
        for (kind, used) in self.threads.since_last() {
            let stage = match kind.as_str() {
                "match" => &mut times.writer,
                "rollout" => &mut times.rollouts,
                "alpha-beta" => &mut times.alpha_beta,
                "planner" => &mut times.planning,
                kind if TRAINING_THREADS.contains(&kind) => &mut times.training,
                kind if PREPARATION_THREADS.contains(&kind) => &mut times.study,
                _ => &mut times.other,
            };
            *stage += used;
        }
        times.writer = (times.writer - stages).max(0.0);
        times.scaled(1.0 / seconds.max(1e-3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_since_the_last_call() {
        let mut sampling = Sampling::new();
        let spent = |select| StageTimes {
            select,
            ..StageTimes::default()
        };
        sampling.times_since_last(&spent(1.0), 1.0);
        let times = sampling.times_since_last(&spent(4.0), 2.0);
        assert!((times.select - 1.5).abs() < 1e-9, "{times:?}");
        assert!(times.writer >= 0.0);
        // A restarted search.
        assert_eq!(sampling.times_since_last(&spent(0.5), 1.0).select, 0.0);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn threads_of_each_kind_have_their_stage_also_once_they_have_ended() {
        let mut sampling = Sampling::new();
        let busy = |name: &str| {
            let work = || while panza_sync::thread_cpu_time().unwrap().as_millis() < 20 {};
            panza_sync::spawn(name, work).unwrap().join().unwrap();
        };
        for name in ["alpha-beta", "alpha-beta", "training", "planner", "recall"] {
            busy(name);
        }
        // Other tests may run threads of these names too.
        let times = sampling.times_since_last(&StageTimes::default(), 1.0);
        assert!(
            times.alpha_beta >= 0.04 && times.training >= 0.02,
            "{times:?}"
        );
        assert!(times.planning >= 0.02 && times.study >= 0.02, "{times:?}");
    }
}
