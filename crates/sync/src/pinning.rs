//! Keeping threads on cores of their own, when there are cores to spare.
//!
//! A pinned thread keeps its caches warm, but one that is pinned to a busy core
//! waits while another core idles. So the rule is careful: threads are pinned
//! only when the process may use *more* cores than the writer and the rollout
//! threads need, so that at least one stays free for answering requests, for
//! logs and for the system. [`plan`] is that rule as a pure function;
//! [`available_cores`] and [`pin_current`] are the thin layer over
//! `core_affinity` that finds the cores and does the pinning.
//!
//! Nothing here starts a thread or logs.

pub use core_affinity::CoreId;

/// From this many cores on, a default number of rollout threads leaves one core
/// to the rest of the program. With fewer it would cost too large a part of the
/// playouts.
const SPARE_FROM_CORES: usize = 8;

/// Which core each thread of a search is to be pinned to; `None` leaves a thread
/// to the scheduler. Either all of them have a core, all different, or none has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreChoice {
    /// The core of the one thread that writes the game graph.
    pub writer: Option<CoreId>,
    /// The core of each rollout thread.
    pub rollouts: Vec<Option<CoreId>>,
}

/// The cores that this process may use, in the order of their numbers; empty
/// where the system does not report them.
pub fn available_cores() -> Vec<CoreId> {
    let mut cores = core_affinity::get_core_ids().unwrap_or_default();
    cores.sort_unstable();
    cores.dedup();
    cores
}

/// The number of rollout threads for a setting of `requested`, when the process
/// may use `cores` cores. A setting of 0 means as many as the cores allow: all but
/// one for the writer, and from eight cores on all but one more for the rest of the
/// program. At least one in any case.
pub fn rollout_threads(requested: usize, cores: usize) -> usize {
    if requested > 0 {
        return requested;
    }
    let kept_free = if cores >= SPARE_FROM_CORES { 2 } else { 1 };
    cores.saturating_sub(kept_free).max(1)
}

/// Gives each of `rollout_threads` threads and the writer a core of `cores`, if
/// there are more cores than threads; otherwise gives none.
///
/// The first core is left free, since systems tend to serve their interrupts
/// there. The writer, on which all others wait, takes the next one.
pub fn plan(cores: &[CoreId], rollout_threads: usize) -> CoreChoice {
    let threads = rollout_threads.saturating_add(1);
    if cores.len() <= threads {
        return CoreChoice {
            writer: None,
            rollouts: vec![None; rollout_threads],
        };
    }
    let mut free = cores.iter().copied().skip(1);
    CoreChoice {
        writer: free.next(),
        rollouts: (0..rollout_threads).map(|_| free.next()).collect(),
    }
}

/// Pins the calling thread to `core`. Returns whether the system did so; a
/// thread that could not be pinned runs on unpinned.
#[must_use = "a pinning that failed belongs in the log"]
pub fn pin_current(core: CoreId) -> bool {
    core_affinity::set_for_current(core)
}

#[cfg(all(test, not(panza_loom)))]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn cores(count: usize) -> Vec<CoreId> {
        (0..count).map(|id| CoreId { id }).collect()
    }

    #[test]
    fn without_a_core_to_spare_nothing_is_pinned() {
        for (available, threads) in [(0, 1), (1, 1), (2, 1), (4, 3), (4, 8), (8, 7)] {
            let plan = plan(&cores(available), threads);
            assert_eq!(plan.writer, None);
            assert_eq!(plan.rollouts, vec![None; threads]);
        }
    }

    #[test]
    fn with_cores_to_spare_each_thread_has_its_own_and_the_first_stays_free() {
        for (available, threads) in [(3, 1), (5, 3), (8, 6), (64, 10)] {
            let plan = plan(&cores(available), threads);
            assert_eq!(plan.rollouts.len(), threads);
            let mut used: HashSet<usize> = plan
                .rollouts
                .iter()
                .map(|core| core.expect("every rollout thread has a core").id)
                .collect();
            used.insert(plan.writer.expect("the writer has a core").id);
            assert_eq!(used.len(), threads + 1, "a core was given out twice");
            assert!(!used.contains(&0));
        }
    }

    #[test]
    fn gaps_in_the_core_numbers_are_respected() {
        let allowed = [2, 5, 7].map(|id| CoreId { id });
        let plan = plan(&allowed, 1);
        assert_eq!(plan.writer, Some(CoreId { id: 5 }));
        assert_eq!(plan.rollouts, vec![Some(CoreId { id: 7 })]);
    }

    #[test]
    fn no_rollout_threads_leave_only_the_writer() {
        let plan = plan(&cores(2), 0);
        assert_eq!(plan.writer, Some(CoreId { id: 1 }));
        assert!(plan.rollouts.is_empty());
    }

    #[test]
    fn the_number_of_threads_follows_the_cores_unless_it_is_asked_for() {
        let by_default = [
            (0, 1),
            (1, 1),
            (2, 1),
            (3, 2),
            (4, 3),
            (7, 6),
            (8, 6),
            (32, 30),
        ];
        for (cores, threads) in by_default {
            assert_eq!(rollout_threads(0, cores), threads, "{cores} cores");
        }
        assert_eq!(rollout_threads(5, 2), 5);
    }

    #[test]
    fn from_eight_cores_on_the_default_number_of_threads_is_pinned() {
        for count in 8..40 {
            let plan = plan(&cores(count), rollout_threads(0, count));
            assert!(plan.writer.is_some(), "{count} cores");
        }
    }

    #[test]
    #[cfg(not(miri))]
    fn the_cores_of_this_machine_are_listed_once_and_in_order() {
        let cores = available_cores();
        assert!(cores.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn a_thread_can_be_pinned_to_an_available_core_and_to_no_other() {
        let cores = available_cores();
        let core = cores[0];
        let pinned = std::thread::spawn(move || (pin_current(core), available_cores()));
        assert_eq!(pinned.join().unwrap(), (true, vec![core]));
    }
}
