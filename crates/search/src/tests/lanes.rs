//! Rollout threads with lanes, simulated by a reasoner.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::games::{Endless, Game, Nim};
use super::threads::{check_settled, run_until_in_flight, threaded};
use super::{config, iterations, mv, self_play, tic_tac_toe};
use crate::pipeline::{Pipeline, Received};
use crate::request::RolloutRequest;
use crate::rollout::RolloutThread;
use crate::worker::Worker;
use crate::{Search, SearchConfig, StopReason};
use panza_gdl::{MoveId, RoleId};
use panza_machine::{BatchPlayouts, GameInfo, Machine, PlayoutTicket, PlayoutTotals, Reasoner};
use panza_sync::{Random, StopFlag, ring};

/// Joint moves of a playout of [`Endless`] in these tests.
const MAX_STEPS: u32 = 12;

/// Counters of all lanes of a machine.
#[derive(Default)]
struct Watch {
    /// Gangs made.
    gangs: AtomicUsize,
    /// Requests submitted.
    submitted: AtomicU64,
    /// Playouts submitted.
    playouts: AtomicU64,
    /// Steps of a gang.
    advances: AtomicU64,
    /// Greatest number of open tickets of a gang.
    most_tickets: AtomicUsize,
    /// Greatest number of outstanding playouts of a gang.
    most_wanted: AtomicU64,
}

/// Called with the number of each step of a gang.
type OnAdvance = Arc<dyn Fn(u64) + Send + Sync>;

/// A machine with lanes.
struct Wide {
    game: Arc<dyn Machine>,
    width: usize,
    /// States that the lanes do not support.
    rejects: fn(&[u64]) -> bool,
    on_advance: OnAdvance,
    watch: Watch,
}

impl Wide {
    fn new(game: Arc<dyn Machine>, width: usize) -> Self {
        Self {
            game,
            width,
            rejects: |_| false,
            on_advance: Arc::new(|_| {}),
            watch: Watch::default(),
        }
    }

    fn endless(width: usize) -> Self {
        Self::new(Game::new(Endless), width)
    }
}

impl Machine for Wide {
    fn kind(&self) -> &'static str {
        "wide"
    }
    fn info(&self) -> &dyn GameInfo {
        self.game.info()
    }
    fn initial_state(&self) -> Vec<u64> {
        self.game.initial_state()
    }
    fn reasoner(self: Arc<Self>) -> Box<dyn Reasoner> {
        Arc::clone(&self.game).reasoner()
    }
    fn playouts(
        self: Arc<Self>,
        random: &mut Random,
        max_steps: u32,
    ) -> Option<Box<dyn BatchPlayouts>> {
        self.watch.gangs.fetch_add(1, Ordering::Relaxed);
        Some(Box::new(Gang {
            random: Random::new(u64::from(random.below(u32::MAX))),
            max_steps,
            reasoner: Arc::clone(&self.game).reasoner(),
            lanes: Vec::new(),
            queue: VecDeque::new(),
            accounts: BTreeMap::new(),
            done: VecDeque::new(),
            machine: self,
        }))
    }
}

struct Lane {
    ticket: PlayoutTicket,
    state: Vec<u64>,
    steps: u32,
}

/// Lanes that a reasoner advances one after the other.
struct Gang {
    machine: Arc<Wide>,
    random: Random,
    max_steps: u32,
    reasoner: Box<dyn Reasoner>,
    lanes: Vec<Lane>,
    queue: VecDeque<Lane>,
    /// The tally of each ticket, and how many playouts it is for.
    accounts: BTreeMap<PlayoutTicket, (PlayoutTotals, u32)>,
    done: VecDeque<PlayoutTicket>,
}

impl Gang {
    /// Books the playout in a lane if it has ended.
    fn has_ended(&mut self, lane: &Lane) -> bool {
        self.reasoner.set_state(&lane.state);
        let is_over = self.reasoner.is_terminal();
        if !is_over && lane.steps < self.max_steps {
            return false;
        }
        let (tally, samples) = self.accounts.get_mut(&lane.ticket).expect("an account");
        let mut goals = vec![None; tally.totals.len()];
        self.reasoner.goals(&mut goals);
        for (total, goal) in tally.totals.iter_mut().zip(goals) {
            *total += u64::from(goal.unwrap_or(0));
        }
        tally.playouts += 1;
        tally.steps += u64::from(lane.steps);
        tally.cut_off += u32::from(!is_over);
        if tally.playouts == *samples {
            self.done.push_back(lane.ticket);
        }
        true
    }

    fn step(&mut self, lane: &mut Lane) {
        self.reasoner.set_state(&lane.state);
        let joint_move: Vec<MoveId> = (0..self.machine.info().n_roles())
            .map(|role| {
                let legal = self.reasoner.legal_moves(RoleId(role as u32));
                legal[self.random.below(legal.len() as u32) as usize]
            })
            .collect();
        self.reasoner.next_state(&joint_move, &mut lane.state);
        lane.steps += 1;
    }
}

impl BatchPlayouts for Gang {
    fn width(&self) -> usize {
        self.machine.width
    }
    fn n_outstanding(&self) -> u64 {
        (self.lanes.len() + self.queue.len()) as u64
    }
    fn submit(&mut self, state: &[u64], samples: u32) -> Option<PlayoutTicket> {
        if samples == 0 || (self.machine.rejects)(state) {
            return None;
        }
        let ticket = (0..).find(|ticket| !self.accounts.contains_key(ticket))?;
        let mut tally = PlayoutTotals::default();
        tally.clear(self.machine.info().n_roles());
        self.accounts.insert(ticket, (tally, samples));
        self.queue.extend((0..samples).map(|_| Lane {
            ticket,
            state: state.to_vec(),
            steps: 0,
        }));
        let watch = &self.machine.watch;
        watch.submitted.fetch_add(1, Ordering::Relaxed);
        watch
            .playouts
            .fetch_add(u64::from(samples), Ordering::Relaxed);
        watch
            .most_tickets
            .fetch_max(self.accounts.len(), Ordering::Relaxed);
        watch
            .most_wanted
            .fetch_max(self.n_outstanding(), Ordering::Relaxed);
        Some(ticket)
    }
    fn advance(&mut self) {
        let number = self.machine.watch.advances.fetch_add(1, Ordering::Relaxed) + 1;
        (self.machine.on_advance)(number);
        let n_free = self.machine.width - self.lanes.len();
        let n_filled = n_free.min(self.queue.len());
        self.lanes.extend(self.queue.drain(..n_filled));
        // The last lane first, so that requests do not end in the order that they came in.
        for mut lane in std::mem::take(&mut self.lanes).into_iter().rev() {
            if !self.has_ended(&lane) {
                self.step(&mut lane);
                self.lanes.push(lane);
            }
        }
    }
    fn take_finished(&mut self, tally: &mut PlayoutTotals) -> Option<PlayoutTicket> {
        let ticket = self.done.pop_front()?;
        let (done, _) = self.accounts.remove(&ticket).expect("an account");
        *tally = done;
        Some(ticket)
    }
}

/// The answers of a rollout thread, run on this thread, to requests of `samples` playouts from the
/// states that count up from `first`. The epochs number the requests.
fn answers(
    machine: &Arc<Wide>,
    stop: &StopFlag,
    first: u64,
    samples: &[u32],
) -> Vec<RolloutRequest> {
    let (mut requests, incoming) = ring(samples.len());
    let (outgoing, mut results) = ring(samples.len());
    for (number, &samples) in (0..).zip(samples) {
        let request = RolloutRequest {
            epoch: number,
            state: vec![first + u64::from(number)],
            samples,
            // The contents of an earlier use.
            tally: PlayoutTotals {
                totals: vec![7; 5],
                playouts: 3,
                steps: 9,
                cut_off: 1,
                ..PlayoutTotals::default()
            },
            ..RolloutRequest::default()
        };
        assert!(requests.push(Box::new(request)).is_ok());
    }
    // The end of requests.
    drop(requests);
    let (waiter, _) = stop.waiter();
    let (_, writer) = stop.waiter();
    let any_machine: Arc<dyn Machine> = machine.clone();
    let worker = Worker::new(&any_machine, Random::new(1), &wide_config(1, 1), true);
    let rollout = RolloutThread {
        requests: incoming,
        results: outgoing,
        waiter,
        writer,
        stop: stop.clone(),
    };
    rollout.run(worker);
    std::iter::from_fn(|| results.pop().map(|answer| *answer)).collect()
}

/// Checks that each request was answered once, and in full.
fn check_answers(answers: &[RolloutRequest], first: u64, samples: &[u32]) {
    let mut numbers: Vec<u32> = answers.iter().map(|answer| answer.epoch).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..samples.len() as u32).collect::<Vec<_>>());
    for answer in answers {
        let samples = samples[answer.epoch as usize];
        assert_eq!(answer.samples, samples);
        assert_eq!(answer.state, [first + u64::from(answer.epoch)]);
        let expected = PlayoutTotals {
            totals: vec![30 * u64::from(samples), 60 * u64::from(samples)],
            playouts: samples,
            steps: u64::from(samples * MAX_STEPS),
            cut_off: samples,
            ..PlayoutTotals::default()
        };
        assert_eq!(answer.tally, expected);
    }
}

#[test]
fn requests_are_played_on_lanes_and_answered_once() {
    let machine = Arc::new(Wide::endless(16));
    let samples: Vec<u32> = (0..200).map(|number| 1 + number % 5).collect();
    let answers = answers(&machine, &StopFlag::new(), 1, &samples);
    check_answers(&answers, 1, &samples);
    let watch = &machine.watch;
    assert_eq!(watch.submitted.load(Ordering::Relaxed), 200);
    assert_eq!(watch.playouts.load(Ordering::Relaxed), 600);
    // Twice the width, which the last request may exceed by all but one of its playouts.
    assert!(watch.most_tickets.load(Ordering::Relaxed) > 8);
    let most_wanted = watch.most_wanted.load(Ordering::Relaxed);
    assert!((32..32 + 5).contains(&most_wanted), "{most_wanted}");
    // All lanes were busy until the end: a playout takes one more step, which detects its end.
    let playout = u64::from(MAX_STEPS) + 1;
    assert!(watch.advances.load(Ordering::Relaxed) <= (600 / 16 + 2) * playout);
}

#[test]
fn a_single_request_takes_the_steps_of_its_playout() {
    let machine = Arc::new(Wide::endless(64));
    check_answers(&answers(&machine, &StopFlag::new(), 5, &[1]), 5, &[1]);
    assert_eq!(
        machine.watch.advances.load(Ordering::Relaxed),
        u64::from(MAX_STEPS) + 1
    );
}

#[test]
fn a_request_for_more_playouts_than_there_are_lanes_is_answered() {
    let machine = Arc::new(Wide::endless(4));
    check_answers(
        &answers(&machine, &StopFlag::new(), 1, &[50, 3]),
        1,
        &[50, 3],
    );
}

#[test]
fn a_reasoner_plays_from_states_that_lanes_do_not_support() {
    let mut machine = Wide::endless(8);
    machine.rejects = |state| state[0].is_multiple_of(3);
    let machine = Arc::new(machine);
    let samples: Vec<u32> = (0..60).map(|number| 1 + number % 4).collect();
    check_answers(
        &answers(&machine, &StopFlag::new(), 1, &samples),
        1,
        &samples,
    );
    assert_eq!(machine.watch.submitted.load(Ordering::Relaxed), 40);
    // Lanes that support no state.
    let mut machine = Wide::endless(8);
    machine.rejects = |_| true;
    let machine = Arc::new(machine);
    check_answers(
        &answers(&machine, &StopFlag::new(), 1, &samples),
        1,
        &samples,
    );
    assert_eq!(machine.watch.advances.load(Ordering::Relaxed), 0);
}

#[test]
fn the_stop_flag_ends_the_thread_at_the_next_step() {
    let stop = StopFlag::new();
    let mut machine = Wide::endless(2);
    let flag = stop.clone();
    machine.on_advance = Arc::new(move |number| {
        if number == 20 {
            flag.stop();
        }
    });
    let machine = Arc::new(machine);
    // In twenty steps each of the two lanes ends its first playout.
    let answers = answers(&machine, &stop, 1, &[1; 100]);
    assert_eq!(machine.watch.advances.load(Ordering::Relaxed), 20);
    assert_eq!(answers.len(), 2);
    // A stopped thread starts no sequential playout either.
    let mut machine = Wide::endless(2);
    machine.rejects = |_| true;
    let machine = Arc::new(machine);
    assert!(self::answers(&machine, &stop, 1, &[1_000]).is_empty());
}

fn wide_config(threads: usize, samples: u32) -> SearchConfig {
    SearchConfig {
        samples_per_request: samples,
        max_playout_steps: MAX_STEPS,
        ..threaded(threads)
    }
}

#[test]
fn a_search_with_lanes_counts_all_requests_and_playouts() {
    for (threads, width, samples) in [(1, 16, 1), (2, 8, 3), (3, 64, 1), (1, 4, 40)] {
        let machine = Arc::new(Wide::endless(width));
        let mut search = Search::new(
            Arc::clone(&machine) as Arc<dyn Machine>,
            RoleId(0),
            wide_config(threads, samples),
        );
        assert_eq!(search.run(&iterations(3_000)), StopReason::Iterations);
        let statistics = check_settled(&mut search);
        // The writer may use lanes of its own when the threads are at their limit.
        let gangs = machine.watch.gangs.load(Ordering::Relaxed);
        assert!((threads..=threads + 1).contains(&gangs));
        assert!(statistics.requests > 0);
        assert_eq!(statistics.iterations, 3_000);
        assert_eq!(statistics.playouts, 3_000 * u64::from(samples));
        assert_eq!(
            statistics.playout_steps,
            statistics.playouts * u64::from(MAX_STEPS)
        );
        assert_eq!(statistics.cut_off, statistics.playouts);
        let played = machine.watch.playouts.load(Ordering::Relaxed);
        assert_eq!(played, statistics.requests * u64::from(samples));
        assert_eq!(played, statistics.playouts);
        // The capacity of a ring is 8 in tests.
        assert_eq!(statistics.ring_slots as usize, threads * (2 * width).max(8));
        let most_wanted = machine.watch.most_wanted.load(Ordering::Relaxed);
        assert!(most_wanted < 2 * width as u64 + u64::from(samples));
        let root = search.root();
        assert_eq!(root.value, Some(30.0));
        let visits: f64 = root.moves.iter().map(|report| report.visits).sum();
        assert_eq!(visits, 3_000.0);
    }
}

#[test]
fn samples_adapt_to_the_playouts_in_flight() {
    let gate = Arc::new(Mutex::new(()));
    let mut machine = Wide::endless(1_024);
    let closed = Arc::clone(&gate);
    machine.on_advance = Arc::new(move |_| drop(closed.lock()));
    let machine: Arc<dyn Machine> = Arc::new(machine);
    let mut pipeline = Pipeline::start(&machine, &wide_config(1, 0));
    let send = |pipeline: &mut Pipeline| {
        let request = RolloutRequest {
            state: vec![1],
            samples: pipeline.samples(),
            ..RolloutRequest::default()
        };
        let has_room = pipeline.has_room(u32::MAX);
        if has_room {
            pipeline.send(Box::new(request));
        }
        has_room
    };
    let shut = gate.lock();
    // Nothing is answered. 64, 192, 384, 640 and 1024 playouts are in flight after each batch, and
    // their mean is always below 5/4 of the lanes.
    for expected in [2, 3, 4, 6, 9] {
        for _ in 0..64 {
            assert!(send(&mut pipeline));
        }
        assert_eq!(pipeline.samples(), expected);
    }
    // That is enough. There is room for eight playouts a lane.
    let last = (8 * 1_024 - 1_024u32).div_ceil(9);
    for _ in 0..last {
        assert!(send(&mut pipeline));
    }
    assert_eq!(pipeline.samples(), 9);
    assert!(!send(&mut pipeline));
    assert_eq!(pipeline.in_flight(), 5 * 64 + last);
    drop(shut);
    while pipeline.in_flight() > 0 {
        pipeline.wait();
        while let Received::Answer(answer) = pipeline.receive() {
            assert_eq!(answer.tally.playouts, answer.samples);
        }
    }
    // The threads were at their limit, so the next adaptation lowers the number.
    for _ in last % 64..64 {
        assert_eq!(pipeline.samples(), 9);
        assert!(send(&mut pipeline));
    }
    assert_eq!(pipeline.samples(), 7);
}

/// Sends requests to two threads with 64 lanes, none of which answers, while at most `most` may be
/// in flight. Returns their number, and the samples of the next one.
fn sent_without_answers(most: u32) -> (u32, u32) {
    let gate = Arc::new(Mutex::new(()));
    let mut machine = Wide::endless(64);
    let closed = Arc::clone(&gate);
    machine.on_advance = Arc::new(move |_| drop(closed.lock()));
    let machine: Arc<dyn Machine> = Arc::new(machine);
    let mut pipeline = Pipeline::start(&machine, &wide_config(2, 10));
    let shut = gate.lock();
    let mut sent = 0;
    while pipeline.has_room(most) {
        pipeline.send(Box::new(RolloutRequest {
            state: vec![1],
            samples: pipeline.samples(),
            ..RolloutRequest::default()
        }));
        sent += 1;
    }
    drop(shut);
    (sent, pipeline.samples())
}

#[test]
fn a_fixed_number_of_samples_stays_and_playouts_in_flight_are_bounded() {
    // Each of the two threads accepts requests up to 512 playouts, and the writer up to 5/4 of its
    // lanes.
    assert_eq!(sent_without_answers(u32::MAX), (2 * 52 + 8, 10));
}

#[test]
fn where_the_threads_have_all_that_is_allowed_the_writer_takes_as_many() {
    assert_eq!(sent_without_answers(4), (4 + 4, 10));
}

#[test]
fn a_search_with_lanes_plays_as_well_as_one_without() {
    let machine: Arc<dyn Machine> = Arc::new(Wide::new(tic_tac_toe(), 64));
    for samples in [0, 1] {
        let config = SearchConfig {
            samples_per_request: samples,
            ..threaded(2)
        };
        // While threads that hold requests get no processor, descents repeat those in flight. That
        // cost one match in thirty at 5,000 iterations, so there are as many as a proof takes.
        assert_eq!(self_play(&machine, 20_000, &config), [50, 50]);
        let nim = Arc::new(Wide::new(Game::new(Nim::new(2, &[2, 3, 4])), 64));
        let mut search = Search::new(nim, RoleId(0), config);
        assert_eq!(search.run(&iterations(1_000_000)), StopReason::Proven);
        assert_eq!(search.best_move(), Some(mv(0, Nim::mv(2, 3))));
        check_settled(&mut search);
    }
}

#[test]
fn without_rollout_threads_the_writer_uses_lanes_reproducibly() {
    let trace = |samples| {
        let wide = Arc::new(Wide::new(tic_tac_toe(), 64));
        let config = SearchConfig {
            samples_per_request: samples,
            ..config()
        };
        let machine = Arc::clone(&wide) as Arc<dyn Machine>;
        let mut search = Search::new(machine, RoleId(0), config);
        search.run(&iterations(500));
        assert_eq!(wide.watch.gangs.load(Ordering::Relaxed), 1);
        let statistics = check_settled(&mut search);
        assert_eq!(statistics.writer_playouts, statistics.playouts);
        (search.root(), statistics, search.best_move())
    };
    for samples in [0, 1, 3] {
        assert_eq!(trace(samples), trace(samples));
    }
}

#[test]
fn the_search_goes_on_when_lanes_panic() {
    for count in [1, 200] {
        let mut machine = Wide::endless(16);
        machine.on_advance = Arc::new(move |number| {
            let thread = std::thread::current();
            let is_rollout = thread
                .name()
                .is_some_and(|name| name.starts_with("rollout"));
            assert!(number < count || !is_rollout, "this step was made to fail");
        });
        let mut search = Search::new(Arc::new(machine), RoleId(0), wide_config(2, 1));
        assert_eq!(search.run(&iterations(3_000)), StopReason::Iterations);
        // Both threads fail at their next step, so more requests bring the second to its end too.
        while search.statistics().rollout_threads > 0 {
            search.run(&iterations(50));
        }
        let statistics = check_settled(&mut search);
        assert!(statistics.lost_requests > 0);
        assert_eq!(statistics.ring_slots, 0);
        let before = statistics.writer_playouts;
        assert_eq!(search.run(&iterations(500)), StopReason::Iterations);
        assert_eq!(search.statistics().writer_playouts, before + 500);
    }
}

/// A search with slow lanes, stopped by a deadline with requests in flight.
fn stopped_in_flight(machine: &Arc<Wide>) -> Search {
    let mut search = Search::new(
        Arc::clone(machine) as Arc<dyn Machine>,
        RoleId(0),
        wide_config(2, 1),
    );
    run_until_in_flight(&mut search);
    search
}

fn slow_steps() -> Arc<Wide> {
    let mut machine = Wide::endless(16);
    let lock = Mutex::new(());
    machine.on_advance = Arc::new(move |_| {
        // One gang at a time, at least this long a step.
        let _guard = lock.lock();
        let start = Instant::now();
        while start.elapsed() < Duration::from_micros(500) {
            std::hint::spin_loop();
        }
    });
    Arc::new(machine)
}

#[test]
fn answers_of_lanes_for_an_earlier_root_are_stale() {
    let machine = slow_steps();
    let mut search = stopped_in_flight(&machine);
    let before = search.statistics();
    search.set_state(&[12_345]);
    let after = check_settled(&mut search);
    assert_eq!(
        after.stale_answers - before.stale_answers,
        u64::from(before.in_flight)
    );
    assert_eq!(search.root().iterations, u64::from(before.in_flight));
    assert_eq!(search.root().value, None);
}

#[test]
fn dropping_a_search_with_busy_lanes_joins_its_threads() {
    let machine = slow_steps();
    drop(stopped_in_flight(&machine));
    // Rollout threads and their lanes hold the machine as long as they live.
    assert_eq!(Arc::strong_count(&machine), 1);
}
