//! The pipeline: how playouts are spread over threads.
//!
//! ```text
//!            ┌─ requests ─▶ rollout thread 1 ─ results ─┐
//!  writer ───┼─ requests ─▶ rollout thread 2 ─ results ─┼──▶ writer
//!            └─ requests ─▶ rollout thread n ─ results ─┘
//! ```
//!
//! The writer is the thread that calls the search. It alone reads and writes the tree. Each rollout
//! thread has a ring of requests and a ring of results of its own, a random stream, and a reasoner
//! or lanes. A request is a box that carries the state to play out from and the path it belongs to;
//! it comes back with the sums of the goals, is backed up along that path, and is used again, so
//! that nothing is allocated or looked up on the way. Where threads are pinned, a core stays free
//! for the writer; pinning that thread is up to whoever owns it.
//!
//! **Abreast.** Where the machine plays many at once, each rollout thread has a gang of lanes of
//! its own (`abreast`). To one of these threads twice as many requests may be under way as it has
//! lanes: with one playout each, half of them are played while half wait, so that a lane that
//! becomes free takes up the next at once, and does so too when all end together, as in games of
//! fixed length, while the writer takes in their results. More would only make answers older.
//! Requests for several playouts come from a writer that is slower than the lanes. They may add up
//! to four times as many playouts, which lanes of a fast game play in the time that a parked thread
//! needs to wake.
//!
//! **Full rings.** The writer has at most so many requests under way to a thread, in its rings or
//! in its hands: `ring_capacity`, or twice its lanes. A result ring is never full, then, and no
//! rollout thread ever waits to get rid of an answer. When all threads have their hands full, the
//! writer takes in what is finished, and if that made no room it plays out itself. It never waits
//! for room, so nothing can lock up.
//!
//! **Samples per request.** One playout a request makes the best tree, since each is placed by what
//! the others have shown. But a writer makes about a million requests a second at best, and lanes
//! may play tens of millions of playouts. So unless a number is set, it follows the supply: when
//! rollout threads may run dry, asking for more gives them work that costs the writer nothing; when
//! the writer is far ahead, asking for less makes more of the same playouts.
//! * Of threads that play one after the other, the rings tell: few requests that wait are too few.
//! * Of lanes, the playouts under way tell. Rings would not: many requests for one playout and few
//!   for many keep as many lanes busy. The writer is ahead when it finds all hands full; lanes are
//!   short of work when on the average there are fewer playouts under way than lanes and a quarter,
//!   some of which are results that wait for the writer.
//!
//! **How many requests are under way** at once: where the writer is the slower side, what it makes
//! while a playout lasts; where lanes are, as many as the caller allows, which is a part of what
//! the root has been visited. A graph does not change while nothing comes back, so what many
//! descents would find at once is much the same: with a thousand under way from the start, nine in
//! ten of Connect Four's went where others had gone just before.
//!
//! **Idle.** A rollout thread without requests parks; the writer wakes it after a push. Only at the
//! end of a counted run, or to settle, does the writer wait for results; every result wakes it, and
//! so does the end of a thread.
//!
//! **Panic.** A rollout thread that panics drops its ends of the rings. The writer sees them
//! closed, takes what was finished, joins the thread and counts the rest as lost. Lost paths cannot
//! take back their marks, so the caller clears all marks and opens a new account (`epoch`); answers
//! of older accounts are dropped. The search goes on with the threads that are left, at last with
//! the writer alone.
//!
//! **Shutdown**, when the pipeline is dropped:
//! 1. The stop flag is set, which wakes every rollout thread that is parked.
//! 2. Each thread finishes the playout or, abreast, the step it is in, leaves what is still in its
//!    hands and its ring, and returns. A request pushed before step 1 may or may not be answered;
//!    none is pushed after it, since the writer is here.
//! 3. All threads are joined. One that had panicked has nothing more to say.
//! 4. The rings go, and the boxes in them.
//!
//! Never knows: nodes, moves.

use std::sync::Arc;
use std::thread::JoinHandle;

use super::config::SearchConfig;
use super::rollout::Rollout;
use super::worker::{Job, WIDTHS_WANTED, Worker};
use crate::machine::Machine;
use crate::machine::random::Random;
use crate::sync::pinning;
use crate::sync::ring::{Consumer, Producer, ring};
use crate::sync::stop::{StopFlag, Waited, Waiter, Waker};

/// The most requests under way altogether: an entry counts its own in 16 bits.
const MOST_IN_FLIGHT: usize = 60_000;

/// The most playouts under way to a thread that plays abreast, in widths.
const MOST_WIDTHS: u64 = 8;
/// The most samples per request that adapting leads to.
const MOST_SAMPLES: u32 = 1_000;
/// Requests between two looks at how full the rings are.
const ADAPT_EVERY: u32 = 64;
/// Playouts a request where the writer's own lanes play them and no number is set. Adapting would
/// make a search depend on the time it took.
const OWN_SAMPLES: u32 = 16;
/// The index of the writer's own stream of random numbers among those of the threads.
const OWN: usize = usize::MAX >> 1;

/// The writer's side of all rollout threads.
pub(super) struct Pipeline {
    threads: Vec<RolloutThread>,
    /// The thread to look at next.
    turn: usize,
    capacity: u32,
    in_flight: u32,
    /// Playouts under way.
    wanted: u64,
    /// Lanes of all threads that play abreast.
    lanes: u64,
    /// Playouts to ask for.
    samples: u32,
    /// When `samples` is adapted, if it is.
    adapting: Option<Adapting>,
    stop: StopFlag,
    waiter: Waiter,
    /// The writer's own hands on the game, made when they are first needed.
    own: Option<Worker>,
    own_in_flight: u32,
    /// Whether a rollout thread has panicked. Then the writer does without lanes, in case it was
    /// their fault.
    is_wary: bool,
    machine: Arc<dyn Machine>,
    config: SearchConfig,
}

/// What is seen between two looks at whether to ask for more playouts or for fewer.
struct Adapting {
    /// Requests until the next look.
    left: u32,
    /// Sum of the playouts under way after each request.
    wanted: u64,
    /// Whether the writer found as many playouts wanted of all threads as may be.
    turned_away: bool,
}

impl Default for Adapting {
    fn default() -> Self {
        Self {
            left: ADAPT_EVERY,
            wanted: 0,
            turned_away: false,
        }
    }
}

/// The writer's side of one rollout thread.
struct RolloutThread {
    requests: Producer<Box<Job>>,
    results: Consumer<Box<Job>>,
    waker: Waker,
    /// Requests under way to this thread.
    in_flight: u32,
    /// The playouts that they ask for.
    wanted: u64,
    /// How many playouts it plays abreast; 0 when it plays one after the other.
    lanes: u64,
    handle: Option<JoinHandle<()>>,
}

/// What looking for a result brought.
#[derive(Debug)]
pub(super) enum Taken {
    /// An answer of a rollout thread.
    Answer(Box<Job>),
    /// An answer of the writer's own worker.
    Own(Box<Job>),
    /// Nothing at the moment.
    Nothing,
    /// A thread has ended, and this many requests with it.
    Lost(u32),
}

impl Pipeline {
    /// Starts the rollout threads. One that cannot be started is done without, and said so in the
    /// log.
    pub(super) fn start(machine: &Arc<dyn Machine>, config: &SearchConfig) -> Self {
        let stop = StopFlag::new();
        let (waiter, answered) = stop.waiter();
        let wanted = config.rollout_threads;
        let worker = |index| {
            let random = Random::new(stream_seed(config.seed, index));
            Worker::new(Arc::clone(machine), random, config)
        };
        let workers: Vec<Worker> = (0..wanted).map(worker).collect();
        let widest = workers.iter().map(Worker::width).max();
        let capacity = config
            .ring_capacity
            .max(WIDTHS_WANTED as usize * widest.unwrap_or(0))
            .clamp(1, (MOST_IN_FLIGHT / wanted.max(1)).max(1));
        let cores = if config.pin_threads {
            pinning::plan(&pinning::available_cores(), wanted).rollouts
        } else {
            vec![None; wanted]
        };
        let mut threads = Vec::with_capacity(wanted);
        for (index, (core, worker)) in cores.into_iter().zip(workers).enumerate() {
            let lanes = worker.width() as u64;
            let (requests, incoming) = ring(capacity);
            let (outgoing, results) = ring(capacity);
            let (waiter, waker) = stop.waiter();
            let rollout = Rollout {
                requests: incoming,
                results: outgoing,
                waiter,
                answered: answered.clone(),
                stop: stop.clone(),
            };
            let spawned = std::thread::Builder::new()
                .name(format!("rollout-{index}"))
                .spawn(move || {
                    if let Some(core) = core
                        && !pinning::pin_current(core)
                    {
                        tracing::warn!(thread = index, ?core, "a rollout thread was not pinned");
                    }
                    rollout.run(worker);
                });
            match spawned {
                Ok(handle) => threads.push(RolloutThread {
                    requests,
                    results,
                    waker,
                    in_flight: 0,
                    wanted: 0,
                    lanes,
                    handle: Some(handle),
                }),
                Err(error) => {
                    tracing::error!(thread = index, %error, "a rollout thread did not start");
                }
            }
        }
        let mut pipeline = Self {
            lanes: threads.iter().map(|thread| thread.lanes).sum(),
            threads,
            turn: 0,
            capacity: capacity as u32,
            in_flight: 0,
            wanted: 0,
            samples: config.samples_per_request.max(1),
            adapting: (config.samples_per_request == 0 && wanted > 0).then(Adapting::default),
            stop,
            waiter,
            own: None,
            own_in_flight: 0,
            is_wary: false,
            machine: Arc::clone(machine),
            config: config.clone(),
        };
        if wanted == 0 && config.samples_per_request == 0 && pipeline.own().width() > 0 {
            pipeline.samples = OWN_SAMPLES;
        }
        pipeline
    }

    fn own(&mut self) -> &mut Worker {
        self.own.get_or_insert_with(|| {
            let random = Random::new(stream_seed(self.config.seed, OWN));
            let machine = Arc::clone(&self.machine);
            if self.is_wary {
                Worker::one_by_one(machine, random, &self.config)
            } else {
                Worker::new(machine, random, &self.config)
            }
        })
    }

    /// Rollout threads alive, as far as noticed.
    #[inline]
    pub(super) fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Requests under way.
    #[inline]
    pub(super) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Playouts that a request asks for.
    #[inline]
    pub(super) fn samples(&self) -> u32 {
        self.samples
    }

    /// Playouts that the next request asks for when so many may be under way altogether: the
    /// writer's own lanes are kept busy by few requests while there may only be few.
    #[inline]
    pub(super) fn samples_of_each(&self, most: u32) -> u32 {
        match &self.own {
            Some(own) if self.threads.is_empty() => {
                let lanes = own.width() as u32;
                let enough = (lanes + lanes / 4).div_ceil(most.max(1));
                self.samples.max(enough.min(MOST_SAMPLES))
            }
            _ => self.samples,
        }
    }

    /// Whether a request can be sent when so many may be under way altogether. When the rollout
    /// threads have their hands full and one playout a request is asked for, the writer's own
    /// worker takes some.
    pub(super) fn has_room(&mut self, most: u32) -> bool {
        let capacity = self.capacity;
        let is_bounded = self.in_flight >= most;
        if !is_bounded && self.threads.iter().any(|thread| thread.has_room(capacity)) {
            return true;
        }
        if let Some(adapting) = &mut self.adapting
            && self.lanes > 0
        {
            adapting.turned_away |= self.wanted >= WIDTHS_WANTED * self.lanes;
            if self.samples > 1 && !self.threads.is_empty() {
                return false;
            }
        }
        !is_bounded && self.own().could_do_more()
    }

    /// Lets the writer's own worker do a bit, if it has something to do.
    pub(super) fn work(&mut self) -> bool {
        match &mut self.own {
            Some(own) if self.own_in_flight > 0 => {
                own.work();
                true
            }
            _ => false,
        }
    }

    /// Requests not taken up yet.
    pub(super) fn queued_requests(&self) -> u32 {
        let queued = self.threads.iter().map(|thread| thread.requests.len());
        queued.sum::<usize>() as u32
    }

    /// Results not taken in yet.
    pub(super) fn queued_results(&self) -> u32 {
        let queued = self.threads.iter().map(|thread| thread.results.len());
        queued.sum::<usize>() as u32
    }

    /// Requests that could be under way.
    pub(super) fn slots(&self) -> u32 {
        self.capacity * self.threads.len() as u32
    }

    /// Sends a request to the thread whose turn it is, or else to any that has room, or else to the
    /// writer's own worker.
    pub(super) fn send(&mut self, mut job: Box<Job>) {
        let samples = u64::from(job.samples);
        self.in_flight += 1;
        self.wanted += samples;
        for offset in 0..self.threads.len() {
            let index = (self.turn + offset) % self.threads.len();
            let thread = &mut self.threads[index];
            if !thread.has_room(self.capacity) {
                continue;
            }
            match thread.requests.push(job) {
                Ok(()) => {
                    thread.waker.wake();
                    thread.in_flight += 1;
                    thread.wanted += samples;
                    self.adapt();
                    return;
                }
                Err(refused) => job = refused,
            }
        }
        self.own_in_flight += 1;
        self.own().take(job);
    }

    /// An answer from the thread whose turn it is. When it has none, the turn goes to the next.
    ///
    /// Looking at one thread a call keeps the cost of a call the same for any number of threads: an
    /// empty ring is a cache line fetched from another core.
    pub(super) fn take(&mut self) -> Taken {
        if self.own_in_flight > 0
            && let Some(job) = self.own.as_mut().and_then(Worker::take_finished)
        {
            self.own_in_flight -= 1;
            self.in_flight -= 1;
            self.wanted -= u64::from(job.samples);
            return Taken::Own(job);
        }
        let Some(thread) = self.threads.get_mut(self.turn) else {
            return Taken::Nothing;
        };
        if thread.in_flight > 0 || thread.results.is_closed() {
            // Asked first: what was pushed before the ring was closed is then seen by the pop.
            let closed = thread.results.is_closed();
            if let Some(job) = thread.results.pop() {
                thread.in_flight -= 1;
                thread.wanted -= u64::from(job.samples);
                self.in_flight -= 1;
                self.wanted -= u64::from(job.samples);
                return Taken::Answer(job);
            }
            if closed {
                return Taken::Lost(self.bury());
            }
        }
        self.turn = (self.turn + 1) % self.threads.len();
        Taken::Nothing
    }

    /// Works until all that the writer's own worker has is done, else sleeps until an answer can be
    /// taken or a thread has ended. Returns at once when nothing is under way.
    pub(super) fn wait(&mut self) {
        if self.work() || self.in_flight == 0 {
            return;
        }
        let threads = &self.threads;
        let ready = || {
            threads
                .iter()
                .any(|thread| !thread.results.is_empty() || thread.results.is_closed())
        };
        match self.waiter.wait_until(ready) {
            Waited::Ready | Waited::Stopped => {}
        }
    }

    /// Counts a request, and now and then looks whether to ask for more or for less.
    #[inline]
    fn adapt(&mut self) {
        let Some(adapting) = &mut self.adapting else {
            return;
        };
        adapting.left -= 1;
        adapting.wanted += self.wanted;
        if adapting.left > 0 {
            return;
        }
        let mean = adapting.wanted / u64::from(ADAPT_EVERY);
        let turned_away = adapting.turned_away;
        *adapting = Adapting::default();
        let supply = if self.lanes > 0 {
            supply_of_lanes(mean, self.lanes, turned_away)
        } else {
            supply(self.queued_requests(), self.slots())
        };
        self.samples = adapted(self.samples, supply);
    }

    /// Removes the thread whose turn it is, which has ended, and says how many requests went with
    /// it.
    fn bury(&mut self) -> u32 {
        let mut thread = self.threads.remove(self.turn);
        self.turn = 0;
        self.in_flight -= thread.in_flight;
        self.wanted -= thread.wanted;
        self.lanes -= thread.lanes;
        if let Some(handle) = thread.handle.take() {
            let panicked = handle.join().is_err();
            self.is_wary |= panicked;
            tracing::error!(
                panicked,
                lost = thread.in_flight,
                left = self.threads.len(),
                "a rollout thread has ended"
            );
        }
        let mut lost = thread.in_flight;
        if self.is_wary && self.own.as_ref().is_some_and(|own| own.width() > 0) {
            self.own = None;
            lost += std::mem::take(&mut self.own_in_flight);
            self.in_flight = self.threads.iter().map(|thread| thread.in_flight).sum();
            self.wanted = self.threads.iter().map(|thread| thread.wanted).sum();
        }
        lost
    }
}

impl RolloutThread {
    /// Whether it may be sent a request, when `capacity` may be under way to it.
    #[inline]
    fn has_room(&self, capacity: u32) -> bool {
        let is_busy = self.lanes > 0 && self.wanted >= MOST_WIDTHS * self.lanes;
        self.in_flight < capacity && !is_busy && !self.requests.is_closed()
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        self.stop.stop();
        for thread in &mut self.threads {
            if let Some(handle) = thread.handle.take()
                && handle.join().is_err()
            {
                tracing::error!("a rollout thread has panicked");
            }
        }
    }
}

/// How well rollout threads are supplied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Supply {
    /// They may run dry.
    Short,
    Enough,
    /// The writer is far ahead of them.
    Plenty,
}

/// The supply of threads that play one after the other: short when less than a quarter of the slots
/// is taken, plenty when more than three quarters are.
fn supply(queued: u32, slots: u32) -> Supply {
    if queued < slots / 4 {
        Supply::Short
    } else if queued > slots - slots / 4 {
        Supply::Plenty
    } else {
        Supply::Enough
    }
}

/// The supply of threads that play abreast: plenty when the writer was turned away, short when
/// fewer playouts were under way than all lanes and a quarter.
fn supply_of_lanes(wanted: u64, lanes: u64, turned_away: bool) -> Supply {
    if turned_away {
        Supply::Plenty
    } else if wanted < lanes + lanes / 4 {
        Supply::Short
    } else {
        Supply::Enough
    }
}

/// Samples per request after a look at the supply. It grows faster than it shrinks, since a thread
/// that runs dry is what costs most.
fn adapted(samples: u32, supply: Supply) -> u32 {
    let step = match supply {
        Supply::Short => samples + (samples / 2).max(1),
        Supply::Enough => samples,
        Supply::Plenty => samples - (samples / 4).max(1),
    };
    step.clamp(1, MOST_SAMPLES)
}

/// A seed for the stream of one rollout thread, unlike that of the writer and of the others.
fn stream_seed(seed: u64, index: usize) -> u64 {
    seed ^ (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_grow_while_rings_are_empty_and_shrink_while_they_are_full() {
        let mut samples = 1;
        for expected in [2, 3, 4, 6, 9, 13, 19, 28, 42, 63, 94, 141] {
            samples = adapted(samples, supply(3, 16));
            assert_eq!(samples, expected);
        }
        assert_eq!(adapted(samples, supply(4, 16)), 141);
        assert_eq!(adapted(samples, supply(12, 16)), 141);
        assert_eq!(adapted(MOST_SAMPLES, supply(3, 16)), MOST_SAMPLES);
        samples = 100;
        for expected in [75, 57, 43, 33, 25, 19, 15, 12, 9, 7, 6, 5, 4, 3, 2, 1, 1] {
            samples = adapted(samples, supply(13, 16));
            assert_eq!(samples, expected);
        }
    }

    #[test]
    fn lanes_are_short_when_few_playouts_are_under_way_and_nobody_is_turned_away() {
        assert_eq!(supply_of_lanes(0, 512, false), Supply::Short);
        assert_eq!(supply_of_lanes(639, 512, false), Supply::Short);
        assert_eq!(supply_of_lanes(640, 512, false), Supply::Enough);
        assert_eq!(supply_of_lanes(1_024, 512, false), Supply::Enough);
        assert_eq!(supply_of_lanes(1_024, 512, true), Supply::Plenty);
        assert_eq!(supply_of_lanes(0, 512, true), Supply::Plenty);
    }

    #[test]
    fn no_two_threads_share_a_random_stream() {
        let seeds: std::collections::HashSet<u64> =
            (0..64).map(|index| stream_seed(7, index)).collect();
        assert_eq!(seeds.len(), 64);
        assert!(!seeds.contains(&7));
    }
}
