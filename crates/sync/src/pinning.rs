//! Keeping threads on processors of their own, when there are processors to spare.
//!
//! A pinned thread keeps its caches warm, but one that is pinned to a busy processor waits while
//! another idles. So threads are pinned only when the process may use *more* processors than the
//! writer and the rollout threads need: at least one stays free for requests, for logs and for the
//! system. Two hyper-threads share the units of one physical core, so each physical core gets one
//! thread before any gets a second.
//!
//! [`plan`] is that rule as a pure function. [`available_cores`] and [`siblings`] ask the system,
//! [`pin_current`] and [`pin_for_now`] pin. `core_affinity` finds the processors and pins; only
//! `rustix` can give a thread several of them back.
//!
//! Nothing here starts a thread or logs.

pub use core_affinity::CoreId;

/// The longest list of siblings that is read, in bytes.
const MAX_LIST_BYTES: u64 = 4096;
/// Processors with greater numbers are not looked for in a list of siblings.
const MAX_CORES: usize = 1 << 16;

/// Which core each thread of a search is to be pinned to; `None` leaves a thread
/// to the scheduler. Either all of them have a core, all different, or none has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreChoice {
    /// The core of the one thread that writes the game graph.
    pub writer: Option<CoreId>,
    /// The core of each rollout thread.
    pub rollouts: Vec<Option<CoreId>>,
}

impl CoreChoice {
    /// The choice that leaves this many rollout threads and the writer to the scheduler.
    pub fn none(rollout_threads: usize) -> Self {
        Self {
            writer: None,
            rollouts: vec![None; rollout_threads],
        }
    }
}

/// The cores that the calling thread may use, in the order of their numbers; empty
/// where the system does not report them. A hyper-thread counts as a core.
pub fn available_cores() -> Vec<CoreId> {
    let mut cores = core_affinity::get_core_ids().unwrap_or_default();
    cores.sort_unstable();
    cores.dedup();
    cores
}

/// The numbers of the hyper-threads of the physical core that `core` is on, itself among them;
/// empty where the system does not tell (only Linux does).
pub fn siblings(core: CoreId) -> Vec<usize> {
    use std::io::Read;
    let id = core.id;
    let path = format!("/sys/devices/system/cpu/cpu{id}/topology/thread_siblings_list");
    let mut text = String::new();
    let read = std::fs::File::open(path)
        .and_then(|file| file.take(MAX_LIST_BYTES).read_to_string(&mut text));
    read.map_or_else(|_| Vec::new(), |_| listed(&text))
}

/// The numbers of a list such as `0,4` or `0-1`; empty for anything else.
fn listed(text: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let ends: (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        (ends.1 < MAX_CORES).then_some(ends.0..=ends.1)
    };
    let ranges: Option<Vec<_>> = text.trim().split(',').map(range).collect();
    ranges.into_iter().flatten().flatten().collect()
}

/// Gives each of `rollout_threads` threads and the writer a core of `cores`, if there are rollout
/// threads and more cores than threads; otherwise gives none. `siblings` are the hyper-threads that
/// share a physical core with one of `cores`; a core without any is a physical core.
///
/// The first core is left free, since systems tend to serve their interrupts there. The writer, on
/// which all others wait, takes the next physical core, and the sibling of the writer is the last
/// to be used. A search without rollout threads is left to the scheduler: many of those may run at
/// the same time, and would all get the same core.
pub fn plan(
    cores: &[CoreId],
    siblings: impl Fn(CoreId) -> Vec<usize>,
    rollout_threads: usize,
) -> CoreChoice {
    let threads = rollout_threads.saturating_add(1);
    if rollout_threads == 0 || cores.len() <= threads {
        return CoreChoice::none(rollout_threads);
    }
    let mut order = one_a_physical_core_first(cores, siblings)
        .into_iter()
        .skip(1);
    let writer = order.next();
    let physical = writer.map(|(_, physical, _)| physical);
    let mut rest: Vec<(CoreId, usize, usize)> = order.collect();
    rest.sort_by_key(|&(_, its_physical, round)| (Some(its_physical) == physical, round));
    let rollouts = rest.into_iter().map(|(core, ..)| Some(core));
    CoreChoice {
        writer: writer.map(|(core, ..)| core),
        rollouts: rollouts.take(rollout_threads).collect(),
    }
}

/// The cores with the number of their physical core and their round: round 0 has the first
/// hyper-thread of each physical core, round 1 the second, and so on. By rounds.
fn one_a_physical_core_first(
    cores: &[CoreId],
    siblings: impl Fn(CoreId) -> Vec<usize>,
) -> Vec<(CoreId, usize, usize)> {
    let mut placed: Vec<(CoreId, usize, usize)> = Vec::with_capacity(cores.len());
    for &core in cores {
        // A physical core has the lowest number of its hyper-threads.
        let physical = siblings(core).into_iter().min().unwrap_or(core.id);
        let round = placed.iter().filter(|&&(_, it, _)| it == physical).count();
        placed.push((core, physical, round));
    }
    placed.sort_by_key(|&(_, _, round)| round);
    placed
}

/// Pins the calling thread to `core`. Returns whether the system did so; a
/// thread that could not be pinned runs on unpinned.
#[must_use = "a pinning that failed belongs in the log"]
pub fn pin_current(core: CoreId) -> bool {
    core_affinity::set_for_current(core)
}

/// Pins the calling thread to `core` until the result is dropped on it; `None` if the system
/// refuses. A thread that starts others would otherwise pass its one core on to them.
#[cfg(target_os = "linux")]
pub fn pin_for_now(core: CoreId) -> Option<Pinned> {
    let before = rustix::thread::sched_getaffinity(None).ok()?;
    pin_current(core).then_some(Pinned { before })
}

/// The same on systems where a thread does not pass its core on: the thread stays pinned.
#[cfg(not(target_os = "linux"))]
pub fn pin_for_now(core: CoreId) -> Option<Pinned> {
    pin_current(core).then_some(Pinned {})
}

/// Keeps the calling thread on its core. See [`pin_for_now`].
#[must_use = "the thread is unpinned when this is dropped"]
pub struct Pinned {
    /// The cores that the thread could use before.
    #[cfg(target_os = "linux")]
    before: rustix::thread::CpuSet,
}

#[cfg(target_os = "linux")]
impl Drop for Pinned {
    fn drop(&mut self) {
        // The thread could use these before, so the system allows them.
        let _ = rustix::thread::sched_setaffinity(None, &self.before);
    }
}

#[cfg(all(test, not(panza_loom)))]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn cores(count: usize) -> Vec<CoreId> {
        (0..count).map(|id| CoreId { id }).collect()
    }

    /// A system that tells of no siblings.
    fn unknown(_: CoreId) -> Vec<usize> {
        Vec::new()
    }

    /// The numbers of the writer's core and of those of the rollout threads.
    fn numbers(choice: &CoreChoice) -> (usize, Vec<usize>) {
        let rollouts = choice.rollouts.iter().map(|core| core.unwrap().id);
        (choice.writer.unwrap().id, rollouts.collect())
    }

    #[test]
    fn without_a_core_to_spare_nothing_is_pinned() {
        for (available, threads) in [(0, 1), (1, 1), (2, 1), (4, 3), (4, 8), (8, 7)] {
            let choice = plan(&cores(available), unknown, threads);
            assert_eq!(choice, CoreChoice::none(threads));
        }
    }

    #[test]
    fn with_cores_to_spare_each_thread_has_its_own_and_the_first_stays_free() {
        for (available, threads) in [(3, 1), (5, 3), (8, 6), (64, 10)] {
            for siblings in [unknown, |core: CoreId| vec![core.id & !1, core.id | 1]] {
                let (writer, rollouts) = numbers(&plan(&cores(available), siblings, threads));
                assert_eq!(rollouts.len(), threads);
                let used: HashSet<usize> = rollouts.into_iter().chain([writer]).collect();
                assert_eq!(used.len(), threads + 1, "a core was given out twice");
                assert!(!used.contains(&0));
            }
        }
    }

    #[test]
    fn each_physical_core_gets_a_thread_before_any_gets_a_second() {
        // Hyper-threads n and n + 4 share a physical core.
        let far = |core: CoreId| vec![core.id % 4, core.id % 4 + 4];
        let far = |threads| numbers(&plan(&cores(8), far, threads));
        assert_eq!(far(2), (1, vec![2, 3]));
        // The next is the sibling of the core that is left free; the writer's sibling is last.
        assert_eq!(far(3), (1, vec![2, 3, 4]));
        assert_eq!(far(6), (1, vec![2, 3, 4, 6, 7, 5]));
        // Hyper-threads 2n and 2n + 1 share a physical core.
        let near = |core: CoreId| vec![core.id & !1, core.id | 1];
        let near = |threads| numbers(&plan(&cores(8), near, threads));
        assert_eq!(near(2), (2, vec![4, 6]));
        assert_eq!(near(6), (2, vec![4, 6, 1, 5, 7, 3]));
    }

    #[test]
    fn only_the_cores_that_are_allowed_are_given_out() {
        let allowed = [2, 5, 7].map(|id| CoreId { id });
        assert_eq!(numbers(&plan(&allowed, unknown, 1)), (5, vec![7]));
        // 2 and 3 are one physical core, as are 6 and 7; only one of each is allowed.
        let siblings = |core: CoreId| vec![core.id & !1, core.id | 1];
        let allowed = [2, 7, 8, 9].map(|id| CoreId { id });
        assert_eq!(numbers(&plan(&allowed, siblings, 2)), (7, vec![8, 9]));
    }

    #[test]
    fn a_search_without_rollout_threads_is_left_to_the_scheduler() {
        assert_eq!(plan(&cores(8), unknown, 0), CoreChoice::none(0));
    }

    #[test]
    fn lists_of_siblings_are_read() {
        assert_eq!(listed("0,64\n"), [0, 64]);
        assert_eq!(listed("0-1,8-9\n"), [0, 1, 8, 9]);
        assert_eq!(listed("3\n"), [3]);
        for text in ["", "none", "1-", "0,x", "0-99999999999", "-1"] {
            assert!(listed(text).is_empty(), "{text}");
        }
        assert!(siblings(CoreId { id: usize::MAX }).is_empty());
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

    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn a_thread_pinned_for_now_gets_its_cores_back() {
        std::thread::spawn(|| {
            let cores = available_cores();
            let core = *cores.last().unwrap();
            let pinned = pin_for_now(core).expect("the core is available");
            assert_eq!(available_cores(), [core]);
            drop(pinned);
            assert_eq!(available_cores(), cores);
        })
        .join()
        .unwrap();
    }
}
