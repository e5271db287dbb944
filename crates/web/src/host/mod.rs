//! The host of a table: what its thread has of the game and publishes, and how it builds the game.
//!
//! A [`Host`] has what the table was opened with, the settings, and the [`View`] that it shows.
//! What is done with the game is elsewhere: `table` plays it, `study` studies it. Both go through a
//! [`GameHistory`], and both are told what to do by a [`Command`].
//!
//! Modules: `setting`, `command` and `error` are what callers say and are told; `history` has the
//! states of all turns; `effects` and `decision` are what is shown of a state, `board_file` how;
//! `view` and `report` are what is published, in `published`; `store` is what is kept of tables, in
//! a `storage`.
//!
//! Invariants: nothing is built while a match of a game manager runs; one table builds at a time.
//!
//! Never uses: HTTP, pages, other tables, so that games and studies differ only in what they do.

mod board_file;
mod history;
mod decision;
mod effects;
mod view;
mod report;
mod setting;
mod command;
mod error;
mod published;
mod storage;
mod store;

pub use board_file::read as read_board;
pub use command::{Command, LineTree};
pub use effects::Effect;
pub use error::TableError;
pub(crate) use error::{MAX_STUDIES, MAX_TABLES};
pub(crate) use history::GameHistory;
pub(crate) use published::{MAX_IDLE, Published};
pub use report::{
    Candidate, GradedView, LineView, OutcomeView, PlanView, Report, ReviewView, SummaryView,
    Thinking, WorthView,
};
pub(crate) use report::{MAX_CANDIDATES, MAX_LINE_SHOWN, round};
#[cfg(test)]
pub(crate) use setting::MAX_TIME;
pub use setting::{Effort, People, Setting};
pub(crate) use storage::Folder;
pub use storage::{Kept, Storage};
pub(crate) use store::{State, Store};
pub use view::{Checked, Found, Phase, Start, Study, View};

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, TryLockError};
use std::time::Duration;

use crossbeam::channel::{RecvTimeoutError, bounded};

use crate::build_memory;
use decision::deciding_facts;
use effects::{effects, last_effect};
use panza_analysis::board::Layout;
use panza_analysis::{BoardPainter, board};
use panza_config::Settings;
use panza_game::{BuildError, BuildKind, BuiltGame, GameBuilders};
use panza_player::{StartRules, search_config};
use panza_search::SearchConfig;
use panza_sync::{Budget, HAS_THREADS, Instant, Random, allocator, lock, spawn_scoped};
use view::MAX_MOVES;

/// A search is interrupted for commands and matches after this time.
pub(crate) const SLICE: Duration = Duration::from_millis(10);
/// The most iterations in a slice, where iterations are counted.
const SLICE_ITERATIONS: u64 = 500;
/// How often a table that does not search looks whether it is still wanted, and whether a match has
/// begun or ended. Each look takes processor time from a match.
pub(crate) const PAUSE: Duration = Duration::from_millis(500);
/// How often a table that builds, trains or waits to build looks whether it is closed and whether a
/// match has begun.
const BUILD_PAUSE: Duration = Duration::from_millis(20);
/// Limit on the nodes of a search.
const MAX_NODES: u32 = 500_000;
/// Bytes of the searches of all tables. A table begins with an equal share, of builds too. In a
/// browser all that a page has is a few hundred megabytes.
const SEARCH_BYTES: usize = if HAS_THREADS { 512 << 20 } else { 96 << 20 };
/// Limits on the states of a game, in bytes, and on its moves of single roles.
const MAX_STATE_BYTES: usize = 64 << 20;
const MAX_ROLE_MOVES: usize = 1 << 20;
/// Facts of a state that are shown.
const MAX_SHOWN_FACTS: usize = 20_000;
/// States that boards are recognised in, facts that name cells, and the time for that.
const BOARD_STATES: usize = 200;
const MAX_BOARD_FACTS: usize = 20_000;
const BOARD_TIME: Duration = Duration::from_millis(300);
/// A game with more joint moves is given up.
const MAX_TURNS: usize = 10_000;
/// A table that writes to disk rests for this many times the time that it took.
const WRITING_PAUSE: u32 = 50;
/// Time for building. Without threads everything else waits meanwhile.
const BUILD_TIME: Duration = Duration::from_secs(if HAS_THREADS { 60 } else { 10 });

/// What a table is opened with.
pub(crate) struct Opened {
    pub setting: Setting,
    pub effort: Effort,
    pub training: Duration,
    pub rules: StartRules,
    pub roles: Vec<String>,
    pub is_person: Vec<bool>,
    /// What was done at the table before it came back, if that is known.
    pub kept: Option<State>,
}

/// What tables share, and the flag of this one.
pub(crate) struct TableResources {
    pub n_tables: Arc<AtomicUsize>,
    /// Locked by the table that builds.
    pub building: Arc<Mutex<()>>,
    pub closing: Closing,
    pub store: Option<Arc<Store>>,
}

/// Ends the work of a table when it is closed; clones end the same.
#[derive(Clone, Default)]
pub(crate) struct Closing {
    pub is_closed: Arc<AtomicBool>,
    /// The flag of the last build, which a prover looks at for as long as there is one.
    build: Arc<Mutex<Option<Arc<AtomicBool>>>>,
}

impl Closing {
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        if let Some(build) = &*lock(&self.build) {
            build.store(true, Ordering::Release);
        }
    }

    /// Sets the flag of a build when the table is closed, or now if it is.
    fn ends(&self, build: &Arc<AtomicBool>) {
        *lock(&self.build) = Some(Arc::clone(build));
        if self.is_closed.load(Ordering::Acquire) {
            build.store(true, Ordering::Release);
        }
    }
}

impl TableResources {
    pub fn is_closed(&self) -> bool {
        self.closing.is_closed.load(Ordering::Acquire)
    }

    /// An equal share of bytes for each table.
    pub fn share(&self, bytes: usize) -> usize {
        bytes / self.n_tables.load(Ordering::Acquire).max(1)
    }
}

/// What a table does after a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rest {
    /// It makes the next step after this time, and takes no command before.
    Sleep(Duration),
    /// It makes the next step after this time, or when a command comes.
    Wait(Duration),
    /// It makes no further step.
    Ended,
}

/// Whether a table may begin with what takes long.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum MayBegin {
    Now,
    /// A match runs.
    AfterMatch,
    /// Nobody wants the table any more.
    Never,
}

/// How far the build of a game is.
pub(crate) enum Building {
    Done(Built),
    /// It is tried again after this time.
    After(Duration),
}

/// A game that was built, and how.
pub(crate) struct Built {
    pub game: BuiltGame,
    pub kind: BuildKind,
    pub took: Duration,
}

/// The table, as the one who works for it holds it.
pub(crate) struct Host {
    pub opened: Opened,
    pub settings: Settings,
    pub published: Arc<Published>,
    pub resources: TableResources,
    pub view: View,
    pub effort: Effort,
    /// What is on disk.
    written: Written,
}

/// What was written to disk last.
#[derive(Default)]
struct Written {
    state: State,
    /// The disk has refused it, and a warning has said so.
    is_refused: bool,
    /// When it may be written again.
    due: Option<Instant>,
}

/// What was spent on the position that Panza thinks about.
#[derive(Clone, Copy, Default)]
pub(crate) struct Spent {
    pub time: Duration,
    pub iterations: u64,
}

impl Spent {
    /// Iterations for the next slice, of `left`: as many as take about [`SLICE`] by those so far.
    pub fn next_iterations(self, left: u64) -> u64 {
        let rate = self.iterations as f64 / self.time.as_secs_f64().max(1e-6);
        let slice = (rate * SLICE.as_secs_f64()) as u64;
        slice.clamp(1, SLICE_ITERATIONS).min(left)
    }

    pub fn is_enough(self, effort: Effort) -> bool {
        match effort {
            Effort::Time(time) => self.time >= time,
            Effort::Iterations(count) => self.iterations >= count,
        }
    }
}

impl Host {
    pub fn new(
        opened: Opened,
        settings: Settings,
        published: Arc<Published>,
        resources: TableResources,
    ) -> Self {
        let view = View::clone(&lock(&published.view));
        let state = opened.kept.clone().unwrap_or_default();
        Self {
            effort: state.effort.unwrap_or(opened.effort).bounded(),
            written: Written {
                state,
                ..Written::default()
            },
            opened,
            settings,
            published,
            resources,
            view,
        }
    }

    pub fn fail(&mut self, why: &str) {
        self.view.phase = Phase::Failed;
        self.view.problem = Some(why.to_string());
        self.view.thinks_for = None;
        self.publish();
    }

    pub fn publish(&mut self) {
        self.view.version += 1;
        self.published.publish(self.view.clone());
    }

    /// What was done at the table before it came back. Where that is lost, the view says so.
    pub fn kept_state(&mut self) -> Option<State> {
        let kept = self.opened.kept.take()?;
        if kept.is_lost {
            let text = "what was done here could not be read and is kept aside; it begins again";
            self.view.problem = Some(text.to_string());
            return None;
        }
        Some(kept)
    }

    /// Keeps what was done at the table, where it has changed. Unless a person `asks` for it, the
    /// time that writing takes is a small share of all time: quick moves of Panza may wait for the
    /// next call. Returns whether something waits.
    pub fn keep(&mut self, state: State, asks: bool) -> bool {
        let Some(store) = self.resources.store.as_ref() else {
            return false;
        };
        if state == self.written.state {
            return false;
        }
        let begin = Instant::now();
        if !asks && self.written.due.is_some_and(|due| begin < due) {
            return true;
        }
        let written = store.write(&self.view.table, &state);
        self.written.due = Some(Instant::now() + begin.elapsed() * WRITING_PAUSE);
        self.written.state = state;
        match written {
            Ok(()) => self.written.is_refused = false,
            Err(error) if !self.written.is_refused => {
                self.written.is_refused = true;
                let table = &self.view.table;
                tracing::warn!("the table {table} cannot be kept on disk: {error}");
            }
            Err(_) => {}
        }
        false
    }

    /// Whether the table may begin with what takes long. Shows whether it waits for a match.
    pub fn may_begin(&mut self, is_busy: &impl Fn() -> bool) -> MayBegin {
        if self.resources.is_closed() || self.published.is_idle() {
            return MayBegin::Never;
        }
        let waits = is_busy();
        if waits != self.view.waits {
            self.view.waits = waits;
            self.publish();
        }
        match waits {
            true => MayBegin::AfterMatch,
            false => MayBegin::Now,
        }
    }

    /// Does work with a flag that is set once a match begins or the table is closed. Without
    /// threads neither happens meanwhile.
    pub fn unless_busy<T>(
        &self,
        is_busy: &(impl Fn() -> bool + Sync),
        work: impl FnOnce(&Arc<AtomicBool>) -> T,
    ) -> T {
        let cancelled = Arc::new(AtomicBool::new(false));
        let (doing, done) = bounded::<()>(0);
        let (resources, of_watch) = (&self.resources, &cancelled);
        let watch = move || {
            while done.recv_timeout(BUILD_PAUSE) == Err(RecvTimeoutError::Timeout) {
                if resources.is_closed() || is_busy() {
                    of_watch.store(true, Ordering::Release);
                }
            }
        };
        std::thread::scope(|scope| {
            // Dropped at the end of the work, also where it panics.
            let _doing = doing;
            if spawn_scoped(scope, "table watch", watch).is_err() {
                tracing::warn!("the system gives no thread to watch for matches");
            }
            work(&cancelled)
        })
    }

    /// Builds the game while no match runs and no other table builds, and finds its boards. It
    /// begins again where a match cut it off.
    pub fn build(
        &mut self,
        builders: &GameBuilders,
        is_busy: &(impl Fn() -> bool + Sync),
    ) -> Result<Building, String> {
        match self.may_begin(is_busy) {
            MayBegin::Now => {}
            MayBegin::AfterMatch => return Ok(Building::After(PAUSE)),
            MayBegin::Never => return Err("the table is closed".to_string()),
        }
        let building = Arc::clone(&self.resources.building);
        let turn = match building.try_lock() {
            Ok(turn) => turn,
            Err(TryLockError::Poisoned(turn)) => turn.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(Building::After(BUILD_PAUSE)),
        };
        if is_busy() {
            return Ok(Building::After(Duration::ZERO));
        }
        let built = self.unless_busy(is_busy, |cancelled| {
            self.resources.closing.ends(cancelled);
            let built = self.build_once(builders, cancelled);
            // Another table may build now.
            drop(turn);
            let built = built.map(|built| {
                let boards = self.find_boards(&built.game, cancelled);
                (built, boards)
            });
            (!cancelled.load(Ordering::Acquire)).then_some(built)
        });
        let Some(built) = built else {
            return Ok(Building::After(Duration::ZERO));
        };
        let (built, boards) = built?;
        if self.view.shapes.is_empty() {
            self.view.shapes = boards;
        }
        Ok(Building::Done(built))
    }

    fn build_once(
        &self,
        builders: &GameBuilders,
        cancelled: &Arc<AtomicBool>,
    ) -> Result<Built, String> {
        let begin = Instant::now();
        let memory = usize::try_from(self.settings.player.build_memory_mib).unwrap_or(usize::MAX);
        let memory = memory.saturating_mul(1 << 20);
        let budget = Budget::generous()
            .until(Some(begin + BUILD_TIME))
            .with_bytes(memory.min(self.resources.share(build_memory::TABLE_BYTES)))
            .stopped_by(cancelled);
        let mut kind = BuildKind::Main;
        let rules = &*self.opened.rules.rules;
        let game = builders.main.build(rules, &budget).or_else(|why| {
            kind = BuildKind::Fallback;
            match &builders.fallback {
                Some(fallback) if why != BuildError::Stopped => {
                    // Else what the first build held is held beside the prover.
                    allocator::give_back();
                    let budget = budget.with_bytes(build_memory::PROVER_BYTES);
                    fallback.build(rules, &budget)
                }
                _ => Err(why),
            }
        });
        let game = game.map_err(|why| why.to_string())?;
        Ok(Built {
            game,
            kind,
            took: begin.elapsed(),
        })
    }

    /// The boards that are seen in random games, unless a file says how to draw the game.
    fn find_boards(&self, game: &BuiltGame, cancelled: &AtomicBool) -> Vec<Layout> {
        if !self.view.shapes.is_empty() {
            return Vec::new();
        }
        let until = Instant::now() + BOARD_TIME;
        let mut random = Random::new(self.settings.search.seed);
        let go_on = || Instant::now() < until && !cancelled.load(Ordering::Acquire);
        let states = board::sample_states(&game.machine, &mut random, BOARD_STATES, go_on);
        let facts = game.info().facts();
        let facts = facts.filter(|facts| facts.len() <= MAX_BOARD_FACTS);
        let rules = &*self.opened.rules.rules;
        BoardPainter::learn_with(&states, facts.unwrap_or_default(), rules).layouts()
    }

    /// The settings of a search, where the table keeps `n_searches` that share its memory.
    pub fn search_config(&self, n_searches: usize) -> SearchConfig {
        SearchConfig {
            rollout_threads: 0,
            max_nodes: MAX_NODES,
            max_bytes: self.resources.share(SEARCH_BYTES) / n_searches.max(1),
            ..search_config(&self.settings.search, self.settings.search.seed)
        }
    }

    /// Writes the position to the view, with the moves of the roles that somebody is asked for.
    pub fn show_position(&mut self, history: &mut GameHistory, is_asked: &[bool]) {
        self.view.facts = history.position.facts();
        self.view.facts.truncate(MAX_SHOWN_FACTS);
        self.view.last = last_effect(history, MAX_SHOWN_FACTS);
        for (role, &is_asked) in is_asked.iter().enumerate() {
            let moves = history.legal(role).to_vec();
            self.view.n_legal[role] = moves.len();
            let moves = match is_asked {
                true => moves,
                false => Vec::new(),
            };
            let info = history.info();
            let texts = moves.iter().take(MAX_MOVES).map(|&mv| info.move_text(mv));
            self.view.legal[role] = texts.collect();
            self.view.effects[role] = effects(&mut history.position, role, &moves);
        }
    }

    /// Writes to the view how far the game is: whether it goes on, is over, or has too many turns.
    pub fn show_phase(&mut self, history: &mut GameHistory) {
        self.view.phase = Phase::Playing;
        self.view.goals = None;
        self.view.decisive.clear();
        if history.position.is_terminal() {
            self.view.goals = Some(history.position.goals());
            let shapes = &self.view.shapes;
            self.view.decisive = deciding_facts(&mut history.position, |fact| {
                shapes.iter().any(|shape| shape.shows(fact))
            });
            self.view.phase = Phase::Over;
        } else if let Some(why) = history.fault() {
            self.view.phase = Phase::Failed;
            self.view.problem = Some(format!("the moves cannot be worked out: {why}"));
        } else if is_too_long(history, self.opened.roles.len()) {
            self.view.phase = Phase::Failed;
            let turn = history.turn();
            self.view.problem = Some(format!("the game has not ended after {turn} turns"));
        }
    }
}

/// Whether a game that is not over has had too many turns for its size.
fn is_too_long(history: &GameHistory, n_roles: usize) -> bool {
    let turn = history.turn();
    let of_states = turn.saturating_mul(size_of_val(history.position.state()));
    turn >= MAX_TURNS || of_states > MAX_STATE_BYTES || turn * n_roles > MAX_ROLE_MOVES
}
