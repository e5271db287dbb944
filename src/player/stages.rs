//! Where the time of a match goes, second by second: what the writer knows of its own stages, and
//! what the system knows of threads.

use crate::telemetry::{StageTimes, ThreadTimes};

/// Kinds of threads that build and study, by their names.
const STUDY: [&str; 4] = ["build", "study", "board", "memory"];

/// Tells what was spent in between.
#[derive(Debug, Default)]
pub(super) struct Stages {
    threads: ThreadTimes,
    /// The writer's own stages, as sums since the search began.
    before: StageTimes,
}

impl Stages {
    /// What was spent since the last call, which was so many seconds ago, for each of these
    /// seconds. `spent` are the sums of the writer's own stages; a search that began anew counts
    /// from nothing.
    pub fn since_last(&mut self, spent: &StageTimes, seconds: f64) -> StageTimes {
        let mut times = spent.since(&self.before);
        self.before = *spent;
        for (kind, used) in self.threads.since_last() {
            let stage = match kind.as_str() {
                "match" => &mut times.writer,
                "rollout" => &mut times.rollouts,
                kind if STUDY.contains(&kind) => &mut times.study,
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
    fn what_is_told_is_what_came_since() {
        let mut stages = Stages::default();
        let spent = |select| StageTimes {
            select,
            ..StageTimes::default()
        };
        stages.since_last(&spent(1.0), 1.0);
        let times = stages.since_last(&spent(4.0), 2.0);
        assert!((times.select - 1.5).abs() < 1e-9, "{times:?}");
        assert!(times.writer >= 0.0);
        // The search began anew.
        assert_eq!(stages.since_last(&spent(0.5), 1.0).select, 0.0);
    }
}
