//! Processor time of a match by stage: the writer's own stages, and threads by their names.

use panza_telemetry::{StageTimes, ThreadTimes};

/// Threads that build and study.
const STUDY_THREADS: [&str; 4] = ["build", "study", "board", "memory"];

/// Computes the times between samples.
#[derive(Debug, Default)]
pub(super) struct TimeShares {
    threads: ThreadTimes,
    /// Times of the writer's stages since the search began, at the last sample.
    before: StageTimes,
}

impl TimeShares {
    /// Processor seconds per second since the last call, `seconds` ago. `spent` are the times of
    /// the writer's stages since the search began; after a restart they count from zero.
    pub fn since_last(&mut self, spent: &StageTimes, seconds: f64) -> StageTimes {
        let mut times = spent.since(&self.before);
        self.before = *spent;
        for (kind, used) in self.threads.since_last() {
            let stage = match kind.as_str() {
                "match" => &mut times.writer,
                "rollout" => &mut times.rollouts,
                kind if STUDY_THREADS.contains(&kind) => &mut times.study,
                _ => &mut times.other,
            };
            *stage += used;
        }
        let stages = times.select + times.send + times.grow + times.back_up;
        times.writer = (times.writer - stages).max(0.0);
        times.scaled(1.0 / seconds.max(1e-3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_since_the_last_call() {
        let mut shares = TimeShares::default();
        let spent = |select| StageTimes {
            select,
            ..StageTimes::default()
        };
        shares.since_last(&spent(1.0), 1.0);
        let times = shares.since_last(&spent(4.0), 2.0);
        assert!((times.select - 1.5).abs() < 1e-9, "{times:?}");
        assert!(times.writer >= 0.0);
        // A restarted search.
        assert_eq!(shares.since_last(&spent(0.5), 1.0).select, 0.0);
    }
}
