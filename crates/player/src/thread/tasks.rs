//! Work that a match hands to threads of its own, so that orders are taken meanwhile: building
//! games, preparing them, reading remembered plans, finding boards.
//!
//! A match without threads does it at once, and takes its orders after that.
//!
//! Invariants: a panic in a task becomes an error of its result; no task outlives its budget by
//! much.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam::channel::{Receiver, Sender, unbounded};

use crate::common::{MatchSetup, Record, StopFlags, WorkerLink};
use crate::search::{KnownPlan, PreparationOf, Preparations, known_plan};
use panza_analysis::{BoardPainter, board};
use panza_game::{BuildError, BuildKind, BuiltGame};
use panza_gdl::Rules;
use panza_memory::MatchMemory;
use panza_metagame::{
    Preparation, PreparationBudget, begin_preparation, find_prospects, finish_preparation, notes,
    prior_preparation,
};
use panza_search::SearchConfig;
use panza_sync::{Instant, Random, catch_panic, spawn, spawn_deep};

/// Time and states for finding boards.
const BOARD_TIME: Duration = Duration::from_millis(150);
const BOARD_STATES: usize = 100;
/// Facts of a game above which boards are found in the facts of the states only.
const MAX_BOARD_FACTS: usize = 20_000;

/// The result of a task.
pub(crate) enum TaskResult {
    Built {
        kind: BuildKind,
        outcome: Result<BuiltGame, BuildError>,
        took: Duration,
        /// The flag that stops the build.
        stop: Arc<AtomicBool>,
    },
    /// The structures that preparations found first; nothing else is in them.
    Begun(Preparations),
    /// All of the preparations.
    Prepared(Result<Preparations, String>),
    /// The plan that earlier matches have left.
    Recalled(Result<Option<KnownPlan>, String>),
}

/// The tasks of a match.
pub(crate) struct Tasks {
    rules: Arc<Rules>,
    record: Record,
    sender: Sender<TaskResult>,
    pub results: Receiver<TaskResult>,
    stops: StopFlags,
    pub has_threads: bool,
    /// Dropped with the last thread.
    alive: Sender<()>,
}

impl Tasks {
    pub fn new(
        setup: &MatchSetup,
        link: &WorkerLink,
        has_threads: bool,
        alive: Sender<()>,
    ) -> Self {
        let (sender, results) = unbounded();
        Self {
            rules: Arc::clone(&setup.rules.rules),
            record: setup.record.clone(),
            sender,
            results,
            stops: link.stops.clone(),
            has_threads,
            alive,
        }
    }

    /// Cancels all tasks.
    pub fn cancel(&self) {
        self.stops.stop();
    }

    /// Runs a task on a thread of this name, or at once where the match has no threads; false when
    /// the system gives no thread.
    pub fn spawn(
        &self,
        name: &'static str,
        task: impl FnOnce(&Sender<TaskResult>) + Send + 'static,
    ) -> bool {
        if !self.has_threads {
            task(&self.sender);
            return true;
        }
        let (sender, alive) = (self.sender.clone(), self.alive.clone());
        let spawned = spawn_deep(name, move || {
            task(&sender);
            drop(alive);
        });
        if let Err(error) = &spawned {
            self.record
                .error(&format!("no thread for the task {name}: {error}"));
        }
        spawned.is_ok()
    }

    /// A stop for work that ends with the match.
    pub fn issue_stop(&self) -> Arc<AtomicBool> {
        self.stops.issue()
    }

    /// Prepares for the game, its reduced game or its parts; false when there is no thread. Whole
    /// games are prepared with what is remembered of them. The structure is a result of its own,
    /// unless the match is over by then.
    pub fn prepare(
        &self,
        of: PreparationOf,
        game: &BuiltGame,
        memory: &MatchMemory,
        config: &SearchConfig,
        budget: PreparationBudget,
    ) -> bool {
        let (games, config) = (of.games(game), of.config(config));
        let memory = (of == PreparationOf::Game).then(|| memory.clone());
        self.spawn("study", move |results| {
            let preparations = catch_panic(|| {
                let begun = begin(&games, &budget);
                if !budget.limits.is_stopped() {
                    let begun = Preparations::new(of, begun.clone());
                    let _ = results.send(TaskResult::Begun(begun));
                }
                let preparations = finish(begun, &games, memory.as_ref(), &config, &budget);
                Preparations::new(of, preparations)
            });
            drop(games);
            // The match may be over.
            let _ = results.send(TaskResult::Prepared(preparations));
        })
    }

    /// Reads the plan that earlier matches have left of a single-player game.
    pub fn recall_plan(&self, game: &BuiltGame, memory: &MatchMemory) {
        if !memory.is_on() || game.info().n_roles() != 1 {
            return;
        }
        let (game, memory, stop) = (game.clone(), memory.clone(), self.stops.issue());
        self.spawn("recall", move |results| {
            let recalled = catch_panic(|| match memory.history_when_read(&stop) {
                Some(history) => known_plan(&game.machine, &history),
                None => Ok(None),
            });
            drop(game);
            let outcome = match recalled {
                Ok(recalled) => recalled.map_err(str::to_string),
                Err(panic) => Err(format!("it panicked: {panic}")),
            };
            // The match may be over.
            let _ = results.send(TaskResult::Recalled(outcome));
        });
    }

    /// Finds boards in random games and logs them, for those who watch the match. Without threads
    /// the time is left to the search.
    pub fn find_board(&self, game: &BuiltGame, seed: u64) {
        if !self.has_threads {
            return;
        }
        let machine = Arc::clone(&game.machine);
        let (rules, record) = (Arc::clone(&self.rules), self.record.clone());
        let cancelled = self.stops.issue();
        self.spawn("board", move |_| {
            let begin = Instant::now();
            let go_on = || begin.elapsed() < BOARD_TIME && !cancelled.load(Ordering::Relaxed);
            let layouts = catch_panic(|| {
                let mut random = Random::new(seed);
                let states = board::sample_states(&machine, &mut random, BOARD_STATES, go_on);
                let facts = machine.info().facts();
                let facts = facts.filter(|facts| facts.len() <= MAX_BOARD_FACTS);
                BoardPainter::learn_with(&states, facts.unwrap_or_default(), &rules).layouts()
            });
            match layouts {
                Ok(layouts) => record.board(&layouts),
                Err(panic) => record.warning(&format!("no board: {panic}")),
            }
        });
    }
}

/// Begins the preparations of some games.
fn begin(games: &[BuiltGame], budget: &PreparationBudget) -> Vec<Preparation> {
    let games = games.iter().zip((1..=games.len()).rev());
    let begun = games.map(|(game, n_left)| begin_preparation(game, &budget.one_of(n_left)));
    begun.collect()
}

/// Finishes the preparations of some games, with the memory of the match where they are remembered.
fn finish(
    begun: Vec<Preparation>,
    games: &[BuiltGame],
    memory: Option<&MatchMemory>,
    config: &SearchConfig,
    budget: &PreparationBudget,
) -> Vec<Preparation> {
    let begun = begun.into_iter().zip((1..=games.len()).rev()).zip(games);
    let finished = begun.map(|((begun, n_left), game)| {
        let info = game.info();
        let history = memory.and_then(MatchMemory::history);
        let find = || find_prospects(game);
        let prior = history.and_then(|history| prior_preparation(info, &history, find));
        let preparation = finish_preparation(begun, game, prior, config, &budget.one_of(n_left));
        if let Some(memory) = memory {
            for (kind, note) in notes(info, &preparation) {
                memory.remember(kind, note);
            }
        }
        preparation
    });
    finished.collect()
}

/// Drops something on a thread of its own: a search waits for its rollout threads, which may be
/// slow, and destructors may panic.
pub(crate) fn drop_elsewhere<T: Send + 'static>(value: T, alive: Sender<()>) {
    let spawned = spawn("drop", move || {
        if let Err(panic) = catch_panic(move || drop(value)) {
            tracing::error!("dropping an engine panicked: {panic}");
        }
        drop(alive);
    });
    if let Err(error) = spawned {
        // The value was dropped with the closure.
        tracing::warn!("no thread to drop an engine on: {error}");
    }
}
