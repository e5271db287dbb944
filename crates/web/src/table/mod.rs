//! Tables: games between people and Panza in this process, and games that people study.
//!
//! A table has a game, its roles shared between people and Panza, and a thread that makes their
//! moves: those of people as they come, those of Panza by a search, those of the chance role at
//! random. After each change the table publishes all that there is to see as one [`View`] with a
//! version.
//!
//! At a *study table* a person goes to any position of any line. The thread searches the position
//! that is shown, and publishes what it thinks as a [`Report`].
//!
//! Modules: `host` builds the game and publishes; `game` plays it, `study` studies it with `plans`
//! and `by_depth`;
//! `history` has the states of all turns, `effects` and `decision` what is shown of a state.
//!
//! Invariants: every joint move is legal on the table's machine; where several roles choose, nobody
//! sees a choice before all have chosen; while a match of a game manager runs, no table builds a
//! game, searches or holds a search; the number of tables, their memory and their idle time are
//! bounded.
//!
//! Never uses: HTTP, pages, how a board is drawn.

mod board_file;
mod history;
mod decision;
mod effects;
mod view;
mod report;
mod host;
mod game;
mod plans;
mod by_depth;
mod study;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, Sender, TrySendError, bounded};

use serde::Deserialize;
use tokio::sync::watch;

pub use board_file::read as read_board;
pub use effects::Effect;
pub use report::{
    BlunderView, Candidate, LineView, PlanView, Report, ReviewView, Thinking, WorthView,
};
pub use view::{Found, Phase, Study, View};

use crate::about::About;
use panza_config::Settings;
use panza_game::GameBuilders;
use panza_gdl::{CHANCE_ROLE, Diagnostic, sexpr};
use panza_hrf::Dialect;
use panza_machine::Machine;
use panza_player::{Player, StartRules, Status};
use panza_sync::{Random, allocator, catch_panic, lock, spawn_deep};

/// Tables at the same time. A further one takes the place of the one that was idle longest.
const MAX_TABLES: usize = 8;
/// Study tables among them. A further one takes the place of the one that was idle longest.
const MAX_STUDIES: usize = 3;
/// Joint moves of a line that is studied, at most.
const MAX_LINE: usize = 2000;
/// A table that nobody has asked for ends after this time.
const MAX_IDLE: Duration = Duration::from_secs(30 * 60);
/// Commands that wait at a table, at most.
const MAX_COMMANDS: usize = 32;
/// Threads of tables at the same time, those of closed tables that have not ended included.
const MAX_THREADS: usize = 2 * MAX_TABLES;
/// The time that Panza thinks about a move, unless somebody says otherwise.
const USUAL_TIME: Duration = Duration::from_secs(1);
/// Limits on what a person may ask of Panza for a move.
const MAX_TIME: Duration = Duration::from_secs(120);
const MAX_ITERATIONS: u64 = 100_000_000;
/// The longest training before a game.
const MAX_TRAINING: Duration = Duration::from_secs(120);

/// How long Panza thinks about a move. In JSON `seconds` or `iterations`, or neither.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(from = "AskedEffort")]
pub enum Effort {
    /// For a time.
    Time(Duration),
    /// For a number of iterations.
    Iterations(u64),
}

impl Effort {
    /// Within the limits of a table.
    fn bounded(self) -> Self {
        match self {
            Self::Time(time) => Self::Time(time.clamp(Duration::from_millis(10), MAX_TIME)),
            Self::Iterations(count) => Self::Iterations(count.clamp(1, MAX_ITERATIONS)),
        }
    }
}

/// How an effort is written.
#[derive(Deserialize)]
struct AskedEffort {
    seconds: Option<f64>,
    iterations: Option<u64>,
}

impl From<AskedEffort> for Effort {
    fn from(asked: AskedEffort) -> Self {
        let seconds = asked.seconds;
        let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        match (asked.iterations, time) {
            (Some(iterations), _) => Self::Iterations(iterations),
            (None, time) => Self::Time(time.unwrap_or(USUAL_TIME)),
        }
    }
}

/// A game to be played.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The name of the game.
    pub game: String,
    /// The rulesheet.
    pub source: Arc<str>,
    /// The dialect that it is written in.
    pub dialect: Dialect,
    /// The text of the file that says how to draw it, if there is one.
    pub board: Option<Arc<str>>,
    /// The roles that people play; Panza plays all others.
    pub people: People,
    /// How long Panza thinks.
    pub effort: Effort,
    /// How long Panza studies the game before the first move.
    pub training: Duration,
    /// What is studied; none where the game is played.
    pub study: Option<Study>,
}

/// The roles that people play.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum People {
    /// The role at this index of the rulesheet, that of chance not counted; the last one where
    /// there are fewer.
    Nth(usize),
    /// Every role but that of chance.
    All,
    /// The roles of these names.
    Named(Vec<String>),
}

/// What a person does at a table. In JSON `do` is its word.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub enum Command {
    /// Chooses a move for a role on the turn of this number.
    Move {
        /// The number of joint moves before the choice.
        turn: usize,
        /// The role's name.
        role: String,
        /// The move as GDL text.
        text: String,
    },
    /// Goes back to the last turn on which a person had a choice.
    Undo,
    /// Asks for a good move for a role.
    Hint {
        /// The role's name.
        role: String,
    },
    /// Gives the game up for a role.
    Resign {
        /// The role's name.
        role: String,
    },
    /// Panza thinks for this long from now on.
    Think(Effort),
    /// Panza plays the roles that people played, and people those of Panza.
    Switch,
    /// Ends the table and its work.
    Close,
    /// At a study table, goes to the position behind these joint moves from its start.
    Go {
        /// The joint moves as GDL texts.
        line: Vec<Vec<String>>,
    },
    /// Stops the search of positions, or lets it go on.
    Pause {
        /// Whether it stops.
        on: bool,
    },
    /// Reports the moves of this role where it has a choice.
    Watch {
        /// The role's name.
        role: String,
    },
    /// Looks for blunders in a line.
    Review {
        /// The joint moves from the start of the study.
        line: Vec<Vec<String>>,
        /// The time for each position.
        seconds: f64,
    },
    /// Stops that, and forgets what was found.
    EndReview,
}

/// Why a table cannot be opened or asked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TableError {
    /// The rules cannot be played; the text names line and column.
    #[error("the rules cannot be played: {0}")]
    Rules(String),
    /// The file that says how to draw the game cannot be read.
    #[error("the board file cannot be read: {0}")]
    Board(String),
    /// There is no role of this name.
    #[error("no role is called `{0}`")]
    Role(String),
    /// There is no table of this name; it may have been idle for too long.
    #[error("this table is not there any more")]
    Gone,
    /// The table has not yet done what it was asked before.
    #[error("the table is busy, ask again")]
    Busy,
    /// The system gives no thread.
    #[error("the system gives no thread for a table")]
    Thread,
}

/// One table, as callers reach it.
struct Table {
    name: String,
    setting: Setting,
    commands: Sender<Command>,
    published: Arc<Published>,
    closing: host::Closing,
}

impl Table {
    fn is_study(&self) -> bool {
        self.setting.study.is_some()
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        self.closing.close();
    }
}

/// What a table publishes. A new version is sent after its view or report is stored.
struct Published {
    version: watch::Sender<u64>,
    view: Mutex<Arc<View>>,
    /// When somebody last asked for it.
    asked: Mutex<Instant>,
    /// The machine and the states of all turns so far.
    turns: Mutex<Option<Turns>>,
    report_version: watch::Sender<u64>,
    /// What Panza thinks, at a study table.
    report: Mutex<Option<Arc<Report>>>,
}

/// The states of a game at a table, from the first turn to the present one.
struct Turns {
    machine: Arc<dyn Machine>,
    states: Vec<Arc<[u64]>>,
}

impl Published {
    fn new(view: View) -> Self {
        Self {
            version: watch::Sender::new(view.version),
            view: Mutex::new(Arc::new(view)),
            asked: Mutex::new(Instant::now()),
            turns: Mutex::new(None),
            report_version: watch::Sender::new(0),
            report: Mutex::new(None),
        }
    }

    /// Notes the states of all turns so far.
    fn note_turns(&self, machine: &Arc<dyn Machine>, states: &[Arc<[u64]>]) {
        *lock(&self.turns) = Some(Turns {
            machine: Arc::clone(machine),
            states: states.to_vec(),
        });
    }

    fn last_report(&self) -> Option<Arc<Report>> {
        lock(&self.report).clone()
    }

    fn publish_report(&self, report: Report) {
        let version = report.version;
        *lock(&self.report) = Some(Arc::new(report));
        self.report_version.send_replace(version);
    }

    fn publish(&self, view: View) {
        let version = view.version;
        *lock(&self.view) = Arc::new(view);
        self.version.send_replace(version);
    }

    fn is_idle(&self) -> bool {
        lock(&self.asked).elapsed() > MAX_IDLE
    }
}

/// All tables of a player; clones share them.
#[derive(Clone)]
pub struct Tables {
    shared: Arc<Shared>,
}

struct Shared {
    settings: Settings,
    builders: GameBuilders,
    player: Player,
    tables: Mutex<Vec<Table>>,
    /// Threads of tables, those of closed ones that have not ended included.
    n_threads: Arc<AtomicUsize>,
    /// Locked by the table that builds its game: one does at a time.
    building: Arc<Mutex<()>>,
    names: Mutex<Random>,
}

impl Tables {
    /// No tables yet. They are silent while `player` plays a match.
    pub fn new(settings: &Settings, builders: GameBuilders, player: Player) -> Self {
        // Names are hard to guess, so that who has not opened a table does not find it by chance.
        let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let seed = seed.map_or(1, |time| time.as_nanos() as u64);
        Self {
            shared: Arc::new(Shared {
                settings: settings.clone(),
                builders,
                player,
                tables: Mutex::new(Vec::new()),
                n_threads: Arc::default(),
                building: Arc::default(),
                names: Mutex::new(Random::new(seed)),
            }),
        }
    }

    /// Opens a table and returns its name. The game is built on the table's thread.
    ///
    /// # Errors
    /// The rules cannot be played, or a person's role is not there.
    pub fn open(&self, setting: Setting) -> Result<String, TableError> {
        let rules = rules_of(&setting)?;
        let shapes = setting.board.as_deref().map(board_file::read).transpose();
        let shapes = shapes.map_err(TableError::Board)?;
        let roles = rules.rules.role_names();
        let is_person = people(&setting.people, &roles)?;
        let shared = &self.shared;
        let name = format!("{:016x}", lock(&shared.names).bits());
        let (commands, inbox) = bounded(MAX_COMMANDS);
        let effort = setting.effort.bounded();
        let training = setting.training.min(MAX_TRAINING);
        let mut view = View::first(&name, &setting.game, &roles, &is_person);
        let about = About::read(setting.dialect, &setting.source);
        (view.title, view.about) = (about.title, about.rules);
        view.shapes = shapes.unwrap_or_default();
        view.study.clone_from(&setting.study);
        let is_study = setting.study.is_some();
        let of_table = setting.clone();
        let published = Arc::new(Published::new(view));
        let closing = host::Closing::default();
        let Some(thread) = ThreadCount::begin(&shared.n_threads) else {
            return Err(TableError::Thread);
        };
        let resources = host::TableResources {
            n_tables: Arc::clone(&shared.n_threads),
            building: Arc::clone(&shared.building),
            closing: closing.clone(),
        };
        let host = host::Host::new(
            host::Opened {
                setting,
                effort,
                training,
                rules,
                roles,
                is_person,
            },
            shared.settings.clone(),
            Arc::clone(&published),
            resources,
        );
        let (builders, player) = (shared.builders.clone(), shared.player.clone());
        let spawned = spawn_deep("table", move || {
            run(host, &builders, &inbox, || player.info() == Status::Busy);
            drop(inbox);
            allocator::give_back();
            drop(thread);
        });
        if spawned.is_err() {
            return Err(TableError::Thread);
        }
        let mut tables = lock(&shared.tables);
        tables.retain(|table| !is_over(table));
        let n_studies = tables.iter().filter(|table| table.is_study()).count();
        if is_study && n_studies >= MAX_STUDIES {
            remove_idlest(&mut tables, Table::is_study);
        }
        if tables.len() >= MAX_TABLES {
            remove_idlest(&mut tables, |_| true);
        }
        tables.push(Table {
            name: name.clone(),
            setting: of_table,
            commands,
            published,
            closing,
        });
        Ok(name)
    }

    /// Passes a command to a table.
    ///
    /// # Errors
    /// There is no such table, or too many commands wait there.
    pub fn tell(&self, name: &str, command: Command) -> Result<(), TableError> {
        if command == Command::Close {
            self.close(name);
            return Ok(());
        }
        let tables = lock(&self.shared.tables);
        let table = tables.iter().find(|table| table.name == name);
        let table = table.ok_or(TableError::Gone)?;
        *lock(&table.published.asked) = Instant::now();
        table
            .commands
            .try_send(command)
            .map_err(|error| match error {
                TrySendError::Full(_) => TableError::Busy,
                TrySendError::Disconnected(_) => TableError::Gone,
            })
    }

    /// What a table shows.
    pub fn view(&self, name: &str) -> Option<Arc<View>> {
        let tables = lock(&self.shared.tables);
        let table = tables.iter().find(|table| table.name == name)?;
        *lock(&table.published.asked) = Instant::now();
        Some(Arc::clone(&lock(&table.published.view)))
    }

    /// The facts of an earlier turn at a table.
    pub fn facts_of_turn(&self, name: &str, turn: usize) -> Option<Vec<String>> {
        let published = {
            let tables = lock(&self.shared.tables);
            let table = tables.iter().find(|table| table.name == name)?;
            Arc::clone(&table.published)
        };
        *lock(&published.asked) = Instant::now();
        let (machine, state) = {
            let turns = lock(&published.turns);
            let turns = turns.as_ref()?;
            (
                Arc::clone(&turns.machine),
                Arc::clone(turns.states.get(turn)?),
            )
        };
        Some(machine.info().state_facts(&state))
    }

    /// The game of a table, with the line of moves that it shows, to be studied.
    pub fn to_study(&self, name: &str) -> Option<Setting> {
        let tables = lock(&self.shared.tables);
        let table = tables.iter().find(|table| table.name == name)?;
        let line = lock(&table.published.view).moves.clone();
        let own = table.setting.study.clone().unwrap_or_default();
        let turn = line.len();
        Some(Setting {
            study: Some(Study { line, turn, ..own }),
            ..table.setting.clone()
        })
    }

    /// What Panza thinks at a study table, once it has said something.
    pub fn report(&self, name: &str) -> Option<Arc<Report>> {
        let tables = lock(&self.shared.tables);
        let table = tables.iter().find(|table| table.name == name)?;
        *lock(&table.published.asked) = Instant::now();
        table.published.last_report()
    }

    /// The versions of that, from now on; 0 before it has said something.
    pub fn report_versions(&self, name: &str) -> Option<watch::Receiver<u64>> {
        let tables = lock(&self.shared.tables);
        let table = tables.iter().find(|table| table.name == name)?;
        Some(table.published.report_version.subscribe())
    }

    /// The versions of what a table shows, from now on.
    pub fn versions(&self, name: &str) -> Option<watch::Receiver<u64>> {
        let tables = lock(&self.shared.tables);
        let table = tables.iter().find(|table| table.name == name)?;
        Some(table.published.version.subscribe())
    }

    /// Which of these tables there are. Asking that keeps none of them.
    pub fn known(&self, names: &[&str]) -> Vec<String> {
        let mut tables = lock(&self.shared.tables);
        tables.retain(|table| !is_over(table));
        let is_there = |name: &&&str| tables.iter().any(|table| table.name == **name);
        names
            .iter()
            .filter(is_there)
            .map(ToString::to_string)
            .collect()
    }

    /// Closes a table, which ends its work.
    fn close(&self, name: &str) {
        lock(&self.shared.tables).retain(|table| table.name != name);
    }
}

/// Counts a thread while it exists.
struct ThreadCount(Arc<AtomicUsize>);

impl ThreadCount {
    /// Counts a thread, unless there are too many.
    fn begin(count: &Arc<AtomicUsize>) -> Option<Self> {
        let more = |n: usize| (n < MAX_THREADS).then_some(n + 1);
        let counted = count.fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        counted.ok().map(|_| Self(Arc::clone(count)))
    }
}

impl Drop for ThreadCount {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Hosts a game until nobody asks for it any more. `is_busy` says whether a match runs.
fn run(
    mut host: host::Host,
    builders: &GameBuilders,
    inbox: &Receiver<Command>,
    is_busy: impl Fn() -> bool + Sync,
) {
    let hosted = catch_panic(|| match host.build(builders, &is_busy) {
        Ok(built) if host.view.study.is_some() => host.host_study(built, inbox, &is_busy),
        Ok(built) => host.host_game(built, inbox, &is_busy),
        Err(why) => host.fail(&why),
    });
    if let Err(text) = hosted {
        tracing::error!("a table ended: {text}");
        host.fail(&format!("this table failed: {text}"));
    }
}

/// Closes the table that was idle longest among those of a kind.
fn remove_idlest(tables: &mut Vec<Table>, is_meant: impl Fn(&Table) -> bool) {
    let asked = |table: &Table| *lock(&table.published.asked);
    let meant = (0..tables.len()).filter(|&index| is_meant(&tables[index]));
    let idlest = meant.min_by_key(|&index| asked(&tables[index]));
    idlest.map(|index| tables.swap_remove(index));
}

/// The rules of a game. Those in HRF are translated: moves and facts are terms of KIF from here on,
/// in logs too.
fn rules_of(setting: &Setting) -> Result<StartRules, TableError> {
    let source = &*setting.source;
    let refused = |diagnostics: &[Diagnostic]| match panza_gdl::main_error(diagnostics) {
        Some(fault) => Err(TableError::Rules(fault.one_line(&setting.game, source))),
        None => Ok(()),
    };
    match setting.dialect {
        Dialect::Kif => {
            let (statements, faults) = sexpr::parse(source);
            let (rules, diagnostics) = panza_gdl::load_statements(&statements, faults);
            refused(&diagnostics).map(|()| StartRules::new(rules, &statements))
        }
        Dialect::Hrf => {
            let (rules, diagnostics) = panza_hrf::load(source);
            refused(&diagnostics).map(|()| StartRules::translated(rules))
        }
    }
}

/// Whether the thread of a table has ended, or nobody has asked for it for long.
fn is_over(table: &Table) -> bool {
    table.published.is_idle() || Arc::strong_count(&table.published) == 1
}

/// Whether a person plays, for each role.
fn people(people: &People, roles: &[String]) -> Result<Vec<bool>, TableError> {
    let is_chance = |role: &String| role == CHANCE_ROLE;
    let names = match people {
        People::Nth(index) => {
            let meant = (0..roles.len()).filter(|&role| !is_chance(&roles[role]));
            let meant = meant.take(index.saturating_add(1)).last();
            return Ok((0..roles.len()).map(|role| meant == Some(role)).collect());
        }
        People::All => return Ok(roles.iter().map(|role| !is_chance(role)).collect()),
        People::Named(names) => names,
    };
    if let Some(name) = names.iter().find(|name| !roles.contains(name)) {
        return Err(TableError::Role(name.clone()));
    }
    Ok(roles.iter().map(|role| names.contains(role)).collect())
}

#[cfg(test)]
mod tests;
