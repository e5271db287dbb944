//! The pipeline: distributes requests over rollout threads.
//!
//! ```text
//!            ┌─ requests ─▶ rollout thread 1 ─ results ─┐
//!  writer ───┼─ requests ─▶ rollout thread 2 ─ results ─┼──▶ writer
//!            └─ requests ─▶ rollout thread n ─ results ─┘
//! ```
//!
//! The writer, the thread that calls the search, alone accesses the graph. A request is a box that
//! returns as the answer and is reused, so that nothing is allocated per request. Where there are
//! more cores than threads, each rollout thread is pinned to a core, and the writer for each run.
//!
//! **Lanes.** A thread may have twice as many requests in flight as lanes: with one playout each, a
//! free lane takes the next at once. More would make the answers older. Requests for several
//! playouts may add up to [`MAX_WIDTHS`] playouts a lane.
//!
//! **Full rings.** The requests in flight to a thread are limited to the capacity of its rings, so
//! it always has room for its answers. When all threads are at their limit, the writer receives
//! answers, and if there are none plays out itself: there is no deadlock.
//!
//! **Slow games.** The tree bounds the requests in flight by its visits. Where that leaves the
//! threads waiting, in games of slow playouts, the writer takes as many requests for itself and
//! plays them out while no answer comes.
//!
//! **Samples per request.** One playout a request gives the best tree, since each descent sees the
//! results of the others. But a writer sends about a million requests a second, and lanes may run
//! tens of millions of playouts. So the number adapts to the supply of the rollout threads: without
//! lanes by the waiting requests, with lanes by the playouts in flight.
//!
//! **Waiting.** A rollout thread without requests parks until the writer has pushed one. The writer
//! waits only at the end of a run limited in iterations, or to settle.
//!
//! **Panic.** A rollout thread that panics drops its ends of the rings. The writer receives what
//! was finished, joins the thread and counts the rest as lost. The caller then clears all
//! `in_flight` counts and starts a new epoch. The search goes on with the remaining threads, or the
//! writer alone.
//!
//! **Shutdown.** The stop flag wakes all parked threads; each finishes its slice of work and
//! returns. All threads are joined, and then the rings are dropped with the boxes in them. None is
//! pushed meanwhile, since the writer is here.
//!
//! Never uses: nodes, moves.

use std::sync::Arc;
use std::thread::JoinHandle;

use super::parameters::SearchConfig;
use super::request::BoxedRequest;
use super::rollout::RolloutThread;
use super::worker::{MAX_QUEUED_WIDTHS, Worker};
use panza_machine::Machine;
use panza_sync::pinning::{CoreChoice, Pinned};
use panza_sync::{
    Consumer, CoreId, Producer, Random, StopFlag, Waited, Waiter, Waker, pinning, ring, spawn,
};

/// Requests in flight to one rollout thread, at most, raised to twice its lanes. In tests rings are
/// small, so that they are full now and then.
const RING_CAPACITY: usize = if cfg!(test) { 8 } else { 32 };
/// Greatest number of requests in flight: edges count theirs in 16 bits.
const MAX_IN_FLIGHT: usize = 60_000;
/// Greatest number of playouts in flight to a thread with lanes, in widths.
const MAX_WIDTHS: u64 = 8;
/// Greatest adapted number of samples per request.
const MAX_SAMPLES: u32 = 1_000;
/// Requests between two adaptations.
const ADAPT_EVERY: u32 = 64;
/// Samples per request of the writer's own lanes where the number adapts, and the most that it asks
/// for to fill them.
const WRITER_SAMPLES: u32 = 16;
/// Requests that the writer collects for its own lanes.
const BURST: u64 = 8;
/// The index of the writer's random stream.
const WRITER_STREAM: usize = usize::MAX >> 1;

/// The writer's side of all rollout threads.
pub(super) struct Pipeline {
    threads: Vec<ThreadHandle>,
    /// The next thread to send to and to receive from.
    next_thread: usize,
    /// Greatest number of requests in flight to a thread.
    capacity: u32,
    in_flight: u32,
    /// Playouts in flight.
    playouts_in_flight: u64,
    /// Lanes of all threads.
    lanes: u64,
    /// Samples per request.
    samples: u32,
    /// None where the number of samples is fixed.
    adaptation: Option<Adaptation>,
    stop: StopFlag,
    waiter: Waiter,
    /// The writer's own worker, made when first needed.
    writer_worker: Option<Worker>,
    writer_in_flight: u32,
    /// The core that the writer is pinned to while it searches.
    writer_core: Option<CoreId>,
    /// Whether the threads have as many requests as is allowed.
    is_bounded: bool,
    /// Without rollout threads: whether requests are being collected. They go to the lanes in
    /// bursts, since the generation of positions is cheap only for many at once.
    is_collecting: bool,
    /// Set when a rollout thread has panicked: lanes may be the cause, so the writer uses none.
    avoids_lanes: bool,
    machine: Arc<dyn Machine>,
    config: SearchConfig,
}

/// Observations since the last adaptation of the number of samples.
#[derive(Default)]
struct Adaptation {
    requests: u32,
    /// Sum of the playouts in flight after each request.
    playouts_in_flight: u64,
    /// Whether the writer found all threads at their limit.
    was_saturated: bool,
}

/// The writer's side of one rollout thread.
struct ThreadHandle {
    requests: Producer<BoxedRequest>,
    results: Consumer<BoxedRequest>,
    waker: Waker,
    in_flight: u32,
    playouts_in_flight: u64,
    /// 0 without lanes.
    lanes: u64,
    handle: Option<JoinHandle<()>>,
}

/// The outcome of [`Pipeline::receive`].
#[derive(Debug)]
pub(super) enum Received {
    /// An answer of a rollout thread.
    Answer(BoxedRequest),
    /// An answer of the writer's own worker.
    WriterAnswer(BoxedRequest),
    Nothing,
    /// A thread has ended with this many requests in flight.
    Lost(u32),
}

/// The cores for the threads of a search.
fn cores_for(config: &SearchConfig) -> CoreChoice {
    let n_threads = config.rollout_threads;
    if !config.pin_threads || n_threads == 0 {
        return CoreChoice::none(n_threads);
    }
    let cores = pinning::available_cores();
    let choice = pinning::plan(&cores, pinning::siblings, n_threads);
    match choice.writer {
        Some(writer) => {
            let ids = choice.rollouts.iter().flatten().map(|core| core.id);
            let rollouts: Vec<usize> = ids.collect();
            tracing::debug!(writer = writer.id, ?rollouts, "threads are pinned to cores");
        }
        None => tracing::debug!(cores = cores.len(), n_threads, "threads are not pinned"),
    }
    choice
}

impl Pipeline {
    /// Starts the rollout threads. A thread that fails to start is logged and left out.
    pub(super) fn start(machine: &Arc<dyn Machine>, config: &SearchConfig) -> Self {
        let stop = StopFlag::new();
        let (waiter, writer) = stop.waiter();
        let n_threads = config.rollout_threads;
        let worker = |index| {
            let random = Random::new(stream_seed(config.seed, index));
            Worker::new(machine, random, config, true)
        };
        let workers: Vec<Worker> = (0..n_threads).map(worker).collect();
        let widest = workers.iter().map(Worker::width).max();
        let capacity = RING_CAPACITY
            .max(MAX_QUEUED_WIDTHS as usize * widest.unwrap_or(0))
            .clamp(1, (MAX_IN_FLIGHT / n_threads.max(1)).max(1));
        let cores = cores_for(config);
        let mut threads = Vec::with_capacity(n_threads);
        for (index, (core, worker)) in cores.rollouts.into_iter().zip(workers).enumerate() {
            let lanes = worker.width() as u64;
            let (requests, incoming) = ring(capacity);
            let (outgoing, results) = ring(capacity);
            let (waiter, waker) = stop.waiter();
            let thread = RolloutThread {
                requests: incoming,
                results: outgoing,
                waiter,
                writer: writer.clone(),
                stop: stop.clone(),
            };
            let spawned = spawn(format!("rollout-{index}"), move || {
                if let Some(core) = core
                    && !pinning::pin_current(core)
                {
                    tracing::warn!(thread = index, ?core, "a rollout thread was not pinned");
                }
                thread.run(worker);
            });
            match spawned {
                Ok(handle) => threads.push(ThreadHandle {
                    requests,
                    results,
                    waker,
                    in_flight: 0,
                    playouts_in_flight: 0,
                    lanes,
                    handle: Some(handle),
                }),
                Err(error) => {
                    tracing::error!(thread = index, %error, "a rollout thread did not start");
                }
            }
        }
        let adapts = config.samples_per_request == 0;
        let mut pipeline = Self {
            lanes: threads.iter().map(|thread| thread.lanes).sum(),
            threads,
            next_thread: 0,
            capacity: capacity as u32,
            in_flight: 0,
            playouts_in_flight: 0,
            samples: config.samples_per_request.max(1),
            adaptation: (adapts && n_threads > 0).then(Adaptation::default),
            stop,
            waiter,
            writer_worker: None,
            writer_in_flight: 0,
            writer_core: cores.writer,
            is_bounded: false,
            is_collecting: true,
            avoids_lanes: false,
            machine: Arc::clone(machine),
            config: config.clone(),
        };
        if adapts && n_threads == 0 && pipeline.writer_worker().width() > 0 {
            pipeline.samples = WRITER_SAMPLES;
        }
        pipeline
    }

    /// Pins the calling thread, the writer, until the result is dropped.
    pub(super) fn pin_writer(&mut self) -> Option<Pinned> {
        let pinned = pinning::pin_for_now(self.writer_core?);
        if pinned.is_none() {
            let core = self.writer_core.take();
            tracing::warn!(?core, "the thread of the search was not pinned");
        }
        pinned
    }

    fn writer_worker(&mut self) -> &mut Worker {
        self.writer_worker.get_or_insert_with(|| {
            let random = Random::new(stream_seed(self.config.seed, WRITER_STREAM));
            Worker::new(&self.machine, random, &self.config, !self.avoids_lanes)
        })
    }

    #[inline]
    pub(super) fn n_threads(&self) -> usize {
        self.threads.len()
    }

    #[inline]
    pub(super) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    pub(super) fn samples(&self) -> u32 {
        self.samples
    }

    /// Samples of the next request where at most `max_in_flight` requests may be in flight: the
    /// fewer, the more each asks for, to keep the writer's own lanes busy.
    #[inline]
    pub(super) fn samples_of_next(&self, max_in_flight: u32) -> u32 {
        match &self.writer_worker {
            Some(worker) if self.threads.is_empty() => {
                let enough = (worker.width() as u32).div_ceil(max_in_flight.max(1));
                self.samples.max(enough.min(WRITER_SAMPLES))
            }
            _ => self.samples,
        }
    }

    /// Whether a request can be sent where at most `max_in_flight` requests may be in flight to the
    /// threads, and as many to the writer's own worker. That takes some when all threads are at
    /// their limit with one sample a request, or when they have all that is allowed.
    pub(super) fn has_room(&mut self, max_in_flight: u32) -> bool {
        let capacity = self.capacity;
        if self.threads.is_empty() {
            return self.collects(self.in_flight >= max_in_flight);
        }
        self.is_bounded = self.in_flight - self.writer_in_flight >= max_in_flight;
        if self.is_bounded {
            return self.writer_in_flight < max_in_flight
                && self.writer_worker().could_use_request();
        }
        if self.threads.iter().any(|thread| thread.has_room(capacity)) {
            return true;
        }
        if let Some(adaptation) = &mut self.adaptation
            && self.lanes > 0
        {
            adaptation.was_saturated |= self.playouts_in_flight >= MAX_QUEUED_WIDTHS * self.lanes;
            if self.samples > 1 {
                return false;
            }
        }
        self.writer_worker().could_use_request()
    }

    /// Whether another request belongs to the burst that is being collected. A new one begins when
    /// the lanes could use [`BURST`] requests. Larger ones play worse, since their descents do not
    /// see each other's results.
    fn collects(&mut self, is_bounded: bool) -> bool {
        let burst = BURST * u64::from(self.samples);
        let worker = self.writer_worker();
        let is_full = is_bounded || !worker.could_use_request();
        let is_low = worker.could_use(burst) || worker.n_outstanding() == 0;
        self.is_collecting = !is_full && (self.is_collecting || is_low);
        self.is_collecting
    }

    pub(super) fn queued_requests(&self) -> u32 {
        let threads = self.threads.iter();
        threads.map(|thread| thread.requests.len() as u32).sum()
    }

    pub(super) fn queued_results(&self) -> u32 {
        let threads = self.threads.iter();
        threads.map(|thread| thread.results.len() as u32).sum()
    }

    pub(super) fn ring_slots(&self) -> u32 {
        self.capacity * self.threads.len() as u32
    }

    /// Sends a request to the first thread with room from the next one on, or else to the writer's
    /// own worker.
    pub(super) fn send(&mut self, mut request: BoxedRequest) {
        let samples = u64::from(request.samples);
        self.in_flight += 1;
        self.playouts_in_flight += samples;
        let n_open = if self.is_bounded {
            0
        } else {
            self.threads.len()
        };
        for offset in 0..n_open {
            let index = (self.next_thread + offset) % self.threads.len();
            let thread = &mut self.threads[index];
            if !thread.has_room(self.capacity) {
                continue;
            }
            match thread.requests.push(request) {
                Ok(()) => {
                    thread.waker.wake();
                    thread.in_flight += 1;
                    thread.playouts_in_flight += samples;
                    self.adapt();
                    return;
                }
                Err(rejected) => request = rejected,
            }
        }
        self.writer_in_flight += 1;
        self.writer_worker().submit(request);
    }

    /// An answer of the writer's own worker or of the next thread; without one, the turn passes to
    /// the thread after it. Only one thread is polled, since that loads a cache line from its core.
    pub(super) fn receive(&mut self) -> Received {
        if self.writer_in_flight > 0
            && let Some(answer) = self.writer_worker.as_mut().and_then(Worker::take_finished)
        {
            self.writer_in_flight -= 1;
            self.in_flight -= 1;
            self.playouts_in_flight -= u64::from(answer.samples);
            return Received::WriterAnswer(answer);
        }
        let Some(thread) = self.threads.get_mut(self.next_thread) else {
            return Received::Nothing;
        };
        if thread.in_flight > 0 || thread.results.is_closed() {
            // Read before the pop, which then sees all that was pushed before the ring was closed.
            let is_closed = thread.results.is_closed();
            if let Some(answer) = thread.results.pop() {
                thread.in_flight -= 1;
                thread.playouts_in_flight -= u64::from(answer.samples);
                self.in_flight -= 1;
                self.playouts_in_flight -= u64::from(answer.samples);
                return Received::Answer(answer);
            }
            if is_closed {
                return Received::Lost(self.remove_ended_thread());
            }
        }
        self.next_thread = (self.next_thread + 1) % self.threads.len();
        Received::Nothing
    }

    /// Does a slice of the writer's own work if there is any, else sleeps until an answer is there
    /// or a thread has ended. Returns at once when nothing is in flight.
    pub(super) fn wait(&mut self) {
        if self.writer_in_flight > 0
            && let Some(worker) = &mut self.writer_worker
        {
            worker.work();
            return;
        }
        if self.in_flight == 0 {
            return;
        }
        let threads = &self.threads;
        let is_ready = || {
            threads
                .iter()
                .any(|thread| !thread.results.is_empty() || thread.results.is_closed())
        };
        match self.waiter.wait_until(is_ready) {
            Waited::Ready | Waited::Stopped => {}
        }
    }

    /// Counts a request, and adapts the number of samples after every [`ADAPT_EVERY`].
    #[inline]
    fn adapt(&mut self) {
        let Some(adaptation) = &mut self.adaptation else {
            return;
        };
        adaptation.requests += 1;
        adaptation.playouts_in_flight += self.playouts_in_flight;
        if adaptation.requests < ADAPT_EVERY {
            return;
        }
        let mean = adaptation.playouts_in_flight / u64::from(ADAPT_EVERY);
        let was_saturated = adaptation.was_saturated;
        *adaptation = Adaptation::default();
        let supply = if self.lanes > 0 {
            supply_of_lanes(mean, self.lanes, was_saturated)
        } else {
            supply(self.queued_requests(), self.ring_slots())
        };
        self.samples = adapted(self.samples, supply);
    }

    /// Removes the next thread, which has ended, and returns the number of requests lost with it.
    fn remove_ended_thread(&mut self) -> u32 {
        let mut thread = self.threads.remove(self.next_thread);
        self.next_thread = 0;
        self.in_flight -= thread.in_flight;
        self.playouts_in_flight -= thread.playouts_in_flight;
        self.lanes -= thread.lanes;
        if let Some(handle) = thread.handle.take() {
            let panicked = handle.join().is_err();
            self.avoids_lanes |= panicked;
            tracing::error!(
                panicked,
                lost = thread.in_flight,
                left = self.threads.len(),
                "a rollout thread has ended"
            );
        }
        let mut lost = thread.in_flight;
        if self.avoids_lanes
            && self
                .writer_worker
                .as_ref()
                .is_some_and(|worker| worker.width() > 0)
        {
            self.writer_worker = None;
            lost += std::mem::take(&mut self.writer_in_flight);
            let threads = self.threads.iter();
            self.in_flight = threads.clone().map(|thread| thread.in_flight).sum();
            self.playouts_in_flight = threads.map(|thread| thread.playouts_in_flight).sum();
        }
        lost
    }
}

impl ThreadHandle {
    /// Whether the thread may be sent a request, with at most `capacity` in flight to it.
    #[inline]
    fn has_room(&self, capacity: u32) -> bool {
        let is_saturated = self.lanes > 0 && self.playouts_in_flight >= MAX_WIDTHS * self.lanes;
        self.in_flight < capacity && !is_saturated && !self.requests.is_closed()
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

/// The supply of rollout threads with work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Supply {
    Short,
    Enough,
    Plenty,
}

/// The supply of threads without lanes, by the share of the ring slots that is taken.
fn supply(queued: u32, slots: u32) -> Supply {
    if queued < slots / 4 {
        Supply::Short
    } else if queued > slots - slots / 4 {
        Supply::Plenty
    } else {
        Supply::Enough
    }
}

/// The supply of threads with lanes. Below 5/4 playouts a lane it is short, since some of them are
/// results that wait for the writer.
fn supply_of_lanes(playouts_in_flight: u64, lanes: u64, was_saturated: bool) -> Supply {
    if was_saturated {
        Supply::Plenty
    } else if playouts_in_flight < lanes + lanes / 4 {
        Supply::Short
    } else {
        Supply::Enough
    }
}

/// The adapted number of samples. It grows faster than it shrinks, since idle threads cost most.
fn adapted(samples: u32, supply: Supply) -> u32 {
    let adapted = match supply {
        Supply::Short => samples + (samples / 2).max(1),
        Supply::Enough => samples,
        Supply::Plenty => samples - (samples / 4).max(1),
    };
    adapted.clamp(1, MAX_SAMPLES)
}

/// The seed of a thread's random stream, different from the writer's and all others.
fn stream_seed(seed: u64, index: usize) -> u64 {
    seed ^ (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_grow_while_rings_are_empty_and_shrink_while_full() {
        let mut samples = 1;
        for expected in [2, 3, 4, 6, 9, 13, 19, 28, 42, 63, 94, 141] {
            samples = adapted(samples, supply(3, 16));
            assert_eq!(samples, expected);
        }
        assert_eq!(adapted(samples, supply(4, 16)), 141);
        assert_eq!(adapted(samples, supply(12, 16)), 141);
        assert_eq!(adapted(MAX_SAMPLES, supply(3, 16)), MAX_SAMPLES);
        samples = 100;
        for expected in [75, 57, 43, 33, 25, 19, 15, 12, 9, 7, 6, 5, 4, 3, 2, 1, 1] {
            samples = adapted(samples, supply(13, 16));
            assert_eq!(samples, expected);
        }
    }

    #[test]
    fn lanes_are_short_of_work_below_five_quarters_unless_saturated() {
        assert_eq!(supply_of_lanes(0, 512, false), Supply::Short);
        assert_eq!(supply_of_lanes(639, 512, false), Supply::Short);
        assert_eq!(supply_of_lanes(640, 512, false), Supply::Enough);
        assert_eq!(supply_of_lanes(1_024, 512, false), Supply::Enough);
        assert_eq!(supply_of_lanes(1_024, 512, true), Supply::Plenty);
        assert_eq!(supply_of_lanes(0, 512, true), Supply::Plenty);
    }

    #[test]
    fn random_streams_of_threads_differ() {
        let seeds: std::collections::HashSet<u64> =
            (0..64).map(|index| stream_seed(7, index)).collect();
        assert_eq!(seeds.len(), 64);
        assert!(!seeds.contains(&7));
    }
}
