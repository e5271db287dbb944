//! The match thread: owns the engines of one match, from START to its end.
//!
//! It takes orders between slices of search; an order sets the interrupt flag, which ends the
//! slice. Its advice for the position lies in a slot that the conductor reads, renewed after each
//! slice. Other work runs in [`Tasks`].
//!
//! Where there are no threads, [`PlayerWork`](crate::PlayerWork) calls [`MatchThread::step_alone`]
//! in a loop. A build and a preparation are then one step each. The preparation begins after a
//! tenth of the time until START is answered, since the search has proven a small game by then.
//!
//! A panic of game code costs the engine, which is replaced. So does any other panic here; after
//! [`MAX_PANICS`] of those the search ends, and the followers go on.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crossbeam::channel::{Sender, TryRecvError, after, bounded, select};

use super::builds::Builds;
use super::engines::Engines;
use super::plan_memory::PlanMemory;
use super::sampling::Sampling;
use super::tasks::{TaskResult, Tasks};
use crate::common::{Advice, Link, MatchSetup, Order, StartMatch, WorkerLink};
use crate::companions::Companions;
use crate::messages::SentMoves;
use crate::search::{PlanStatus, PreparationOf, Preparations, search_config};
use panza_game::{BuildKind, BuiltGame, GameBuilders};
use panza_gdl::MoveId;
use panza_memory::{MatchMemory, MemoryService, RememberedMatch};
use panza_metagame::PreparationBudget;
use panza_search::{MoveStats, SearchConfig};
use panza_sync::allocator;
use panza_sync::{Instant, SystemTime, UNIX_EPOCH, catch_panic, left_until, lock, spawn_deep};
use panza_telemetry::Archive;

/// Longest slice of search.
const SLICE: Duration = Duration::from_millis(5);
/// The same where there are no threads: nobody has to be answered in between.
const OWN_SLICE: Duration = Duration::from_millis(50);
/// The same while our role does not choose: its advice is settled.
const PONDER_SLICE: Duration = Duration::from_millis(100);
/// Pause between slices while the game is prepared.
const PAUSE_WHILE_PREPARING: Duration = Duration::from_millis(45);

/// Part of the time until START is answered for which a game is searched before it is prepared,
/// where there are no threads.
const SEARCHED_FIRST: f64 = 0.1;
/// What is left of the longest overrun of a slice with each slice.
const OVERRUN_DECAY: f64 = 0.98;
/// Joint moves of the principal variation in [`Thoughts`], at most.
const MAX_LINE: usize = 8;

/// Panics beside game code after which a match is not searched any more: more than there are
/// engines.
const MAX_PANICS: u32 = 8;

/// The match that runs where there are no threads.
pub(crate) type OwnMatch = Arc<Mutex<Option<MatchThread>>>;

/// What a match thinks of its position.
#[derive(Clone, PartialEq, Debug)]
pub struct Thoughts {
    /// The best move so far as canonical text.
    pub best_move: String,
    /// Its value for our role, 0 to 100; `None` where nothing was searched.
    pub value: Option<f64>,
    /// Iterations of the search a second.
    pub iterations_per_second: f64,
    /// The principal variation: joint moves as canonical texts; empty where the search has none.
    pub line: Vec<Vec<String>>,
}

/// Starts the threads of matches.
pub(crate) struct MatchFactory {
    pub builders: GameBuilders,
    pub companions: Option<Arc<dyn Companions>>,
    /// `None` where nothing is remembered.
    pub memory: Option<MemoryService>,
    /// The logs of all matches.
    pub archive: Arc<Archive>,
    /// Wakes the conductor.
    pub wake: Sender<()>,
    /// Dropped when the last thread of the player is gone.
    pub alive: Sender<()>,
    /// Where the match is put that has no thread; `None` where each has one.
    pub own: Option<OwnMatch>,
}

impl StartMatch for MatchFactory {
    fn start(&mut self, setup: MatchSetup) -> io::Result<Link> {
        let (link, worker_link) = Link::new(self.wake.clone());
        let record = setup.record.clone();
        let settings = Arc::clone(&setup.settings);
        let archive = Arc::clone(&self.archive);
        let orders = worker_link.orders.clone();
        let alive = self.alive.clone();
        // Nothing is ever sent: the channel is disconnected when the other threads of the match are
        // gone.
        let (match_alive, others_gone) = bounded::<()>(0);
        let thread = MatchThread::new(setup, worker_link, self, match_alive);
        if let Some(own) = &self.own {
            *lock(own) = Some(thread);
            return Ok(link);
        }
        let run = move || {
            // The engine is replaced after panics of its code; this is for all others.
            if let Err(text) = catch_panic(|| thread.run()) {
                record.error(&format!("the match thread panicked: {text}"));
            }
            // Wait until the conductor has dropped its record, so that it never waits for the disk.
            while orders.recv().is_ok() {}
            drop(record);
            let _ = others_gone.recv();
            allocator::give_back();
            drop(alive);
            if settings.logs.match_logs
                && let Err(error) = archive.prune(settings.logs.max_mib << 20)
            {
                tracing::warn!("old logs were not removed: {error}");
            }
        };
        spawn_deep("match", run)?;
        Ok(link)
    }
}

impl MatchFactory {
    /// What earlier matches of the game have left.
    fn memory(&self, setup: &MatchSetup) -> MatchMemory {
        let Some(memory) = &self.memory else {
            return MatchMemory::default();
        };
        let record = setup.record.clone();
        let remembered = RememberedMatch {
            match_id: setup.match_id.clone(),
            rules: Arc::clone(&setup.rules.rules),
            role: setup.role.name.clone(),
            log: Box::new(move |level, text| record.line(level, text)),
        };
        memory.start(remembered, self.alive.clone())
    }
}

/// The seed of a match: that of the settings, else one from the time.
fn seed(setting: u64) -> u64 {
    match setting {
        0 => SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(1, |time| time.as_nanos() as u64),
        seed => seed,
    }
}

/// What is known about the position before any search, and what the conductor was woken for.
#[derive(Clone, Copy, Default)]
struct PositionStatus {
    is_terminal: bool,
    /// Our legal moves; 0 where they are beyond the limits.
    n_legal: usize,
    /// Whether no legal move is found.
    is_stuck: bool,
    repeat_is_legal: bool,
    was_advised: bool,
    was_settled: bool,
    was_proven: bool,
}

pub(crate) struct MatchThread {
    setup: MatchSetup,
    link: WorkerLink,
    tasks: Tasks,
    builds: Builds,
    engines: Engines,
    memory: MatchMemory,
    /// The search settings of an unprepared game.
    search: SearchConfig,
    /// Deadline of the preparation that runs. A late preparation gets no more time.
    preparing_until: Option<Instant>,
    /// The game that is still to be prepared, and from when on.
    unprepared: Option<(BuiltGame, Instant)>,
    plans: PlanMemory,
    status: PositionStatus,
    sampling: Sampling,
    /// Of the last sample.
    iterations_per_second: f64,
    has_begun: bool,
    n_panics: u32,
    /// How much longer than its time a slice of search has taken lately.
    overrun: Duration,
    /// Number of positions logged.
    logged_positions: usize,
    /// What the planner had found when that was logged last.
    logged_plan: Option<PlanStatus>,
}

impl MatchThread {
    fn new(setup: MatchSetup, link: WorkerLink, factory: &MatchFactory, alive: Sender<()>) -> Self {
        let settings = &setup.settings.search;
        let seed = seed(settings.seed);
        setup.record.note(&format!("seed {seed}"));
        let mut search = search_config(settings, seed);
        search.alpha_beta.training = setup.settings.metagame.learning.into();
        let memory = factory.memory(&setup);
        let companions = factory.companions.clone();
        Self {
            tasks: Tasks::new(&setup, &link, factory.own.is_none(), alive.clone()),
            builds: Builds::new(factory.builders.clone(), &setup),
            engines: Engines::new(&setup, search.clone(), companions, alive),
            link,
            plans: PlanMemory::new(memory.clone()),
            memory,
            search,
            preparing_until: None,
            unprepared: None,
            status: PositionStatus::default(),
            sampling: Sampling::new(),
            iterations_per_second: 0.0,
            has_begun: false,
            n_panics: 0,
            overrun: Duration::ZERO,
            logged_positions: 0,
            logged_plan: None,
            setup,
        }
    }

    fn run(mut self) {
        while self.guarded(|it| it.iterate().then_some(())).is_some() {}
    }

    /// Makes a step of a match that has no thread, and searches until then at most. Returns how
    /// long there is nothing to do then, unless an order comes; `None` at the end of the match. It
    /// does not search where that would probably take longer, as on a prover.
    pub fn step_alone(&mut self, until: Option<Instant>) -> Option<Duration> {
        let left = until.map_or(OWN_SLICE, left_until);
        let may_search = !self.status.was_advised || left > 2 * self.overrun;
        let slice = may_search.then_some(left.min(OWN_SLICE));
        self.guarded(|it| it.step(slice))
    }

    /// Does a part of the match. After a panic the engine in use is replaced, and the match goes
    /// on; it ends after many.
    fn guarded<T: Default>(&mut self, part: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        catch_panic(|| part(self)).unwrap_or_else(|text| {
            self.n_panics += 1;
            let record = &self.setup.record;
            record.error(&format!("the match thread panicked: {text}"));
            if self.n_panics == MAX_PANICS {
                self.end("the match thread panicked", &[]);
                return None;
            }
            self.engines.replace();
            Some(T::default())
        })
    }

    /// Makes a step and waits; false at the end of the match.
    fn iterate(&mut self) -> bool {
        match self.step(Some(SLICE)) {
            None => false,
            Some(Duration::ZERO) => true,
            Some(time) => self.wait(time),
        }
    }

    /// Starts the build.
    fn begin(&mut self) {
        self.has_begun = true;
        // Times before this match do not count.
        self.sampling = Sampling::new();
        self.builds
            .start(BuildKind::Main, &mut self.engines, &self.tasks, &self.link);
    }

    /// Takes orders and results, then searches for a time, if one is given. Returns how long there
    /// is nothing to do then, unless an order or a result comes; `None` at the end of the match.
    fn step(&mut self, slice: Option<Duration>) -> Option<Duration> {
        if !self.has_begun {
            self.begin();
        }
        self.link.interrupt.store(false, Ordering::Release);
        loop {
            match self.link.orders.try_recv() {
                Ok(order) => {
                    if !self.carry_out(order) {
                        return None;
                    }
                }
                Err(TryRecvError::Empty) => break,
                // A panic has cost the last order.
                Err(TryRecvError::Disconnected) => {
                    self.end_without_conductor();
                    return None;
                }
            }
        }
        while let Ok(result) = self.tasks.results.try_recv() {
            self.take(result);
        }
        self.builds
            .update(&mut self.engines, &self.tasks, &self.link);
        self.check_position();
        if let Some(why) = self.builds.refusal(&self.engines) {
            self.refuse(why);
        }
        let is_open = !self.status.is_terminal && !self.status.was_proven;
        let slice = slice.filter(|_| is_open && self.engines.current().is_some());
        if let Some(slice) = slice {
            self.search(slice);
            self.preparation_when_due();
        }
        self.sample();
        let rests = slice.is_none() || self.is_preparing();
        Some(match rests && self.tasks.results.is_empty() {
            true => left_until(self.next_step()),
            false => Duration::ZERO,
        })
    }

    /// Ends the match, since the conductor is gone.
    fn end_without_conductor(&mut self) -> bool {
        self.end("the player is gone", &[]);
        false
    }

    /// Runs an order; false at the end of the match.
    fn carry_out(&mut self, order: Order) -> bool {
        match order {
            Order::Advance(moves) => self.advance(moves),
            Order::Answered(position) => {
                if position == self.position() {
                    let sample = self.engines.attempt(|engine| engine.searcher.sample());
                    if let Some(sample) = sample {
                        let record = &self.setup.record;
                        record.root_moves(position, &sample.root_moves);
                    }
                    self.log_plan(true);
                }
                self.check_position();
            }
            Order::Finish(moves) => {
                if let Some(moves) = moves {
                    self.advance(moves);
                }
                let goals = self.engines.attempt(|engine| {
                    let position = &mut engine.position;
                    let goals = position.is_terminal().then(|| position.goals())?;
                    let named = position.info().roles().into_iter().zip(goals);
                    Some(named.collect::<Vec<_>>())
                });
                self.end("stopped", &goals.flatten().unwrap_or_default());
                return false;
            }
            Order::Abandon(why) => {
                self.end(why, &[]);
                return false;
            }
        }
        true
    }

    /// Logs the end of the match.
    fn end(&mut self, how: &str, goals: &[(String, Option<u8>)]) {
        self.setup.record.ended(how, goals);
        self.plans.flush();
        self.memory.end(how, goals, self.position());
    }

    /// When there is something to do, unless an order or a result comes before.
    fn next_step(&self) -> Instant {
        let mut next = self.sampling.next;
        if let Some(update) = self.builds.next_update(&self.engines) {
            next = next.min(update);
        }
        if self.is_preparing() {
            next = next.min(Instant::now() + PAUSE_WHILE_PREPARING);
        }
        next
    }

    /// Waits for an order or a result, for this time; false when the conductor is gone.
    fn wait(&mut self, time: Duration) -> bool {
        let timeout = after(time);
        select! {
            recv(self.link.orders) -> order => match order {
                Ok(order) => self.carry_out(order),
                Err(_) => self.end_without_conductor(),
            },
            // The tasks hold a sender themselves, so this never fails.
            recv(self.tasks.results) -> result => {
                if let Ok(result) = result {
                    self.take(result);
                }
                true
            }
            recv(timeout) -> _ => true,
        }
    }

    /// The number of joint moves before the position.
    fn position(&self) -> usize {
        self.engines.moves().len()
    }

    fn search(&mut self, slice: Duration) {
        let interrupt = Arc::clone(&self.link.interrupt);
        let ponders = self.status.n_legal == 1 && !self.is_preparing();
        let slice = match ponders && self.tasks.has_threads {
            true => slice.max(PONDER_SLICE),
            false => slice,
        };
        let until = Instant::now() + slice;
        self.engines.attempt(|engine| match ponders {
            true => engine.searcher.ponder(until, &interrupt),
            false => engine.searcher.search(until, &interrupt),
        });
        let overrun = Instant::now().saturating_duration_since(until);
        self.overrun = overrun.max(self.overrun.mul_f64(OVERRUN_DECAY));
        self.log_plan(false);
        self.plans.consider(&mut self.engines);
        self.check_position();
        self.advise();
    }

    /// Logs what the planner has found: if it is new, and without a plan with every answer.
    fn log_plan(&mut self, is_answered: bool) {
        let Some(engine) = self.engines.current() else {
            return;
        };
        let Some(plan) = engine.searcher.plan() else {
            return;
        };
        let logged = self.logged_plan.as_ref();
        let is_known = logged.is_some_and(|logged| plan.continues(logged));
        if !is_known || (is_answered && plan.goal.is_none()) {
            let record = &self.setup.record;
            record.plan(self.position(), &plan, |mv| {
                engine.position.info().move_text(mv)
            });
            self.logged_plan = Some(plan);
        }
    }

    /// Follows the moves that were played.
    fn advance(&mut self, moves: SentMoves) {
        let record = self.setup.record.clone();
        let (position, played) = (self.position(), moves.clone());
        let faults = self.engines.advance(moves);
        record.played(position, &played);
        for fault in faults {
            record.warning(&fault);
        }
        self.engines.take_new();
        self.begin_position();
    }

    /// Begins the position again where the engine was replaced.
    fn check_position(&mut self) {
        if self.engines.take_new() {
            self.begin_position();
        }
    }

    /// Reads the status of the position, gives first advice and logs the position.
    fn begin_position(&mut self) {
        self.status = PositionStatus {
            // Until it is known.
            repeat_is_legal: true,
            ..PositionStatus::default()
        };
        // A first move, since the questions below may take long.
        self.advise();
        let last = self.engines.moves().last().cloned();
        let status = self.engines.attempt(|engine| {
            let is_terminal = engine.position.is_terminal();
            let n_legal = engine.position.legal_moves(engine.role).len();
            PositionStatus {
                is_terminal,
                n_legal,
                is_stuck: n_legal == 0 && engine.first_legal().is_none(),
                repeat_is_legal: !is_terminal
                    && last.is_some_and(|last| engine.position.is_legal(&last)),
                ..PositionStatus::default()
            }
        });
        if let Some(status) = status {
            self.status = status;
            if !status.is_terminal && status.is_stuck && self.position() == 0 {
                let role = &self.setup.role.name;
                self.refuse(format!("no legal move of {role} is found at the start"));
            }
            self.advise();
            self.log_position();
        }
        // After a panic the next engine is in use.
        self.check_position();
    }

    /// Says that the game cannot be played, and why.
    fn refuse(&self, why: String) {
        self.link.refuse(why);
        self.link.wake();
    }

    /// Logs the position, once.
    fn log_position(&mut self) {
        let position = self.position();
        if self.logged_positions > position {
            return;
        }
        self.logged_positions = position + 1;
        if let Some(facts) = self.engines.attempt(|engine| engine.position.facts()) {
            let record = &self.setup.record;
            record.position(position, &facts, self.status.is_terminal);
        }
    }

    /// Publishes advice for the position, and wakes the conductor for the first and for the final
    /// one.
    fn advise(&mut self) {
        let position = self.position();
        let status = self.status;
        let advice = self.engines.attempt(|engine| {
            let best = engine.searcher.best_move();
            // In a broken game or a finished one, any legal move.
            let best = best.or_else(|| engine.first_legal().map(MoveStats::new))?;
            let text = engine.position.info().move_text(best.mv);
            (!text.is_empty()).then(|| Advice {
                position,
                best: best.named(text),
                is_only: status.n_legal == 1,
                repeat_is_legal: status.repeat_is_legal,
                effort: engine.searcher.effort(),
            })
        });
        let Some(advice) = advice else {
            return self.check_position();
        };
        let Some(advice) = advice else {
            return self.link.publish(None);
        };
        let wakes = !status.was_advised
            || (advice.is_settled() && !status.was_settled)
            || (advice.best.is_proven_best && !status.was_proven);
        self.status.was_advised = true;
        self.status.was_settled |= advice.is_settled();
        self.status.was_proven = advice.best.is_proven_best;
        self.link.publish(Some(advice));
        if wakes {
            self.link.wake();
        }
    }

    /// Logs figures of the search about once a second.
    fn sample(&mut self) {
        let now = Instant::now();
        if !self.sampling.is_due(now) {
            return;
        }
        let sample = self.engines.attempt(|engine| engine.searcher.sample());
        let Some(mut sample) = sample else {
            return self.check_position();
        };
        sample.step = u32::try_from(self.position()).unwrap_or(u32::MAX);
        let seconds = self.sampling.complete(&mut sample, now);
        self.iterations_per_second = sample.iterations_per_second;
        self.setup.record.sample(&sample, seconds);
    }

    fn take(&mut self, result: TaskResult) {
        match result {
            TaskResult::Built {
                kind,
                outcome,
                took,
                stop,
            } if self.builds.is_wanted(kind, &stop) => match outcome {
                Ok(game) => self.take_game(kind, game, took),
                Err(why) => self.builds.failed(kind, &why, &mut self.engines),
            },
            TaskResult::Built { .. } => {}
            TaskResult::Begun(preparations) if preparations.are_useful() => {
                self.apply(&preparations)
            }
            TaskResult::Begun(_) => {}
            TaskResult::Prepared(outcome) => {
                self.preparing_until = None;
                match outcome {
                    Ok(preparations) => {
                        for preparation in preparations.to_json() {
                            self.setup.record.prepared(&preparation);
                        }
                        // Otherwise the search already runs with them.
                        if preparations.have_learned() {
                            self.apply(&preparations);
                        }
                    }
                    Err(text) => {
                        let text = format!("studying the game panicked: {text}");
                        self.setup.record.error(&text);
                    }
                }
            }
            TaskResult::Recalled(outcome) => {
                let record = &self.setup.record;
                self.plans.recalled(outcome, &mut self.engines, record);
                self.check_position();
            }
        }
    }

    fn take_game(&mut self, kind: BuildKind, game: BuiltGame, took: Duration) {
        // First of all, so that no panic below costs the build.
        let is_fallback_idle = self.engines.has_idle_fallback();
        if self.engines.add(kind, game.clone()) {
            self.builds.stop_fallback(is_fallback_idle);
        }
        let record = &self.setup.record;
        record.built(game.machine.kind(), kind, took);
        if let Some(parts) = &game.parts {
            let parts = parts.parts.iter();
            let sizes = parts.map(|part| (part.bases.len(), part.is_pass.len()));
            record.parts(&sizes.collect::<Vec<_>>());
        }
        if let Some(reduced) = &game.reduced {
            let part = &reduced.part;
            record.reduced(part.bases.len(), part.is_pass.len());
        }
        if kind == BuildKind::Main {
            // Its result is usually there before the first search.
            self.tasks.recall_plan(&game, &self.memory);
        }
        self.check_position();
        self.tasks.find_board(&game, self.search.seed);
        if kind == BuildKind::Main && self.tasks.has_threads {
            self.prepare(&game);
        } else if kind == BuildKind::Main {
            let first = left_until(self.setup.ready_by).mul_f64(SEARCHED_FIRST);
            self.unprepared = Some((game, Instant::now() + first));
        }
    }

    /// Prepares for the game without a thread once it has been searched for a while.
    fn preparation_when_due(&mut self) {
        let is_due = |(_, due): &mut (BuiltGame, Instant)| left_until(*due).is_zero();
        if let Some((game, _)) = self.unprepared.take_if(is_due)
            && !self.status.was_proven
        {
            self.prepare(&game);
        }
    }

    /// What is thought of the position; `None` without a game.
    pub fn thoughts(&mut self) -> Option<Thoughts> {
        let iterations_per_second = self.iterations_per_second;
        let thoughts = self.engines.attempt(|engine| {
            let best = engine.searcher.best_move()?;
            let line = engine.searcher.line(MAX_LINE);
            let info = engine.position.info();
            let text = |&mv: &MoveId| info.move_text(mv);
            Some(Thoughts {
                best_move: text(&best.mv),
                value: best.value.map(f64::from),
                iterations_per_second,
                line: line
                    .iter()
                    .map(|moves| moves.iter().map(text).collect())
                    .collect(),
            })
        });
        thoughts.flatten()
    }

    /// Starts a preparation until START must be answered, if the engine in use has use for it.
    fn prepare(&mut self, game: &BuiltGame) {
        let now = Instant::now();
        let metagame = &self.setup.settings.metagame;
        let left = self.setup.ready_by.saturating_duration_since(now);
        let budget = PreparationBudget {
            // Beside the search that prepares a first answer.
            threads: self.search.rollout_threads.max(1),
            ..PreparationBudget::before_first_move(metagame, left, &self.tasks.issue_stop())
        };
        let until = budget.limits.until.unwrap_or(now);
        let engine = self.engines.current();
        let of = engine.map_or(PreparationOf::Nothing, |engine| {
            engine.searcher.preparation_of()
        });
        if of == PreparationOf::Nothing || until <= now || self.position() > 0 {
            return;
        }
        let (memory, search) = (&self.memory, &self.search);
        let latest = until + budget.extension;
        if self.tasks.prepare(of, game, memory, search, budget) {
            self.preparing_until = Some(latest);
        }
    }

    fn is_preparing(&self) -> bool {
        let until = self.preparing_until;
        until.is_some_and(|until| Instant::now() < until)
    }

    /// Restarts the search with what preparations have found.
    fn apply(&mut self, preparations: &Preparations) {
        let config = preparations.apply(&self.search);
        let restart = self.engines.is_first() && !self.status.was_proven;
        self.engines.set_config(config, restart);
        self.check_position();
    }
}

impl Drop for MatchThread {
    fn drop(&mut self) {
        self.tasks.cancel();
        self.engines.discard();
    }
}

#[cfg(test)]
mod tests;
