//! Tables: games between people and Panza in this process, and games that people study.
//!
//! A table has a game, its roles shared between people and Panza, and a thread that makes their
//! moves: those of people as they come, those of Panza by a search, those of the chance role at
//! random. After each change the table publishes all that there is to see as one [`View`] with a
//! version. What the thread holds and publishes, and what is kept on disk, is in `host`.
//!
//! At a *study table* a person goes to any position of any line. The thread searches the position
//! that is shown, and publishes what it thinks as a [`Report`]. That is in `study`.
//!
//! Where there are no threads, as in WebAssembly, [`Tables::work`] does the work of all tables in
//! slices, whenever the host calls it.
//!
//! A table is kept on disk and comes back when somebody asks for it by its name: after a restart,
//! and after it was closed.
//!
//! Modules: `steps` is the work of a table, from one stage to the next; `game` plays the game;
//! `level` names levels of strength for people.
//!
//! Invariants: every joint move is legal on the table's machine; where several roles choose, nobody
//! sees a choice before all have chosen; while a match of a game manager runs, no table builds a
//! game, searches or holds a search; the number of tables, their memory and their idle time are
//! bounded.
//!
//! Never uses: HTTP, pages, how a board is drawn.

mod level;
mod game;
mod steps;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crossbeam::channel::{Receiver, Sender, TryRecvError, TrySendError, bounded};

use serde_json::Value;
use tokio::sync::watch;

pub use crate::host::{
    Candidate, Checked, Command, Effect, Effort, Found, GradedView, Kept, LineTree, LineView,
    OutcomeView, People, Phase, PlanView, Report, ReviewView, Setting, Start, Storage, Study,
    SummaryView, TableError, Thinking, View, WorthView, read_board,
};
pub use level::{CLASSES, LEVELS, Level};

use crate::about::About;
use crate::host::{
    Closing, Folder, Host, MAX_IDLE, MAX_STUDIES, MAX_TABLES, Opened, Published, Rest, State,
    Store, TableResources,
};
use panza_config::Settings;
use panza_game::GameBuilders;
use panza_gdl::{CHANCE_ROLE, Diagnostic, Rules, sexpr};
use panza_hrf::Dialect;
use panza_player::{Player, StartRules, Status};
use panza_sync::{HAS_THREADS, Instant, Random, after, allocator, lock, spawn_deep};
use steps::TableWork;

/// Commands that wait at a table, at most.
const MAX_COMMANDS: usize = 32;
/// Threads of tables at the same time, those of closed tables that have not ended included.
const MAX_THREADS: usize = 2 * MAX_TABLES;
/// The longest training before a game.
const MAX_TRAINING: Duration = Duration::from_secs(120);

/// One table, as callers reach it.
struct Table {
    name: String,
    setting: Setting,
    commands: Sender<Command>,
    published: Arc<Published>,
    closing: Closing,
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
    /// Where tables are kept; none where nothing is written to disk.
    store: Option<Arc<Store>>,
    /// Locked while a table comes back, so that it does so once.
    returning: Mutex<()>,
    /// Threads of tables, those of closed ones that have not ended included; tables where there
    /// are no threads.
    n_threads: Arc<AtomicUsize>,
    /// The work of the tables, where there are no threads.
    own: Option<Mutex<Vec<OwnWork>>>,
    /// Locked by the table that builds its game: one does at a time.
    building: Arc<Mutex<()>>,
    names: Mutex<Random>,
}

/// The work of a table without a thread.
struct OwnWork {
    work: TableWork,
    inbox: Receiver<Command>,
    /// When the next step is made, and whether a command may come before.
    due: Instant,
    takes_commands: bool,
    _count: ThreadCount,
}

impl OwnWork {
    /// Makes a step if one is due. Returns when the next one is; `None` at the end.
    fn step(&mut self, is_busy: &(impl Fn() -> bool + Sync)) -> Option<Instant> {
        let command = match self.takes_commands {
            false => None,
            true => match self.inbox.try_recv() {
                Ok(command) => Some(command),
                Err(TryRecvError::Empty) => None,
                Err(TryRecvError::Disconnected) => {
                    self.work.end();
                    return None;
                }
            },
        };
        let now = Instant::now();
        if command.is_some() || self.due <= now {
            let rest = match self.work.step(command, is_busy) {
                Rest::Ended => return None,
                Rest::Sleep(time) => (false, time),
                Rest::Wait(time) => (true, time),
            };
            self.takes_commands = rest.0;
            self.due = after(rest.1);
        }
        Some(self.due)
    }
}

impl Tables {
    /// No tables yet. They are silent while `player` plays a match, and are kept in the folder of
    /// the logs.
    pub fn new(settings: &Settings, builders: GameBuilders, player: Player) -> Self {
        let logs = &settings.logs;
        let store = logs
            .match_logs
            .then(|| Store::new(Box::new(Folder::of_logs(&logs.folder))));
        Self::kept_in(settings, builders, player, store, HAS_THREADS)
    }

    /// No tables yet. They have no threads: [`work`](Self::work) does their work. `storage` keeps
    /// them.
    pub fn without_threads(
        settings: &Settings,
        builders: GameBuilders,
        player: Player,
        storage: Box<dyn Storage>,
    ) -> Self {
        Self::kept_in(settings, builders, player, Some(Store::new(storage)), false)
    }

    fn kept_in(
        settings: &Settings,
        builders: GameBuilders,
        player: Player,
        store: Option<Store>,
        has_threads: bool,
    ) -> Self {
        // Names are hard to guess, so that who has not opened a table does not find it by chance.
        let seed = panza_sync::SystemTime::now().duration_since(panza_sync::UNIX_EPOCH);
        let seed = seed.map_or(1, |time| time.as_nanos() as u64);
        Self {
            shared: Arc::new(Shared {
                settings: settings.clone(),
                builders,
                player,
                tables: Mutex::new(Vec::new()),
                store: store.map(Arc::new),
                returning: Mutex::default(),
                n_threads: Arc::default(),
                own: (!has_threads).then(Mutex::default),
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
        let name = format!("{:016x}", lock(&self.shared.names).bits());
        let setting = self.begin(&name, setting, None, false)?;
        let shared = &self.shared;
        let open: Vec<String> = {
            let tables = lock(&shared.tables);
            tables.iter().map(|table| table.name.clone()).collect()
        };
        if let Some(store) = &shared.store
            && let Err(error) = store.add(&name, &setting, &open)
        {
            tracing::warn!("the table {name} cannot be kept on disk: {error}");
        }
        Ok(name)
    }

    /// Begins a table, or one that `returns`, with what was done there. Returns its setting, in
    /// which people play roles by their names.
    fn begin(
        &self,
        name: &str,
        mut setting: Setting,
        kept: Option<State>,
        returns: bool,
    ) -> Result<Setting, TableError> {
        let rules = rules_of(&setting)?;
        let shapes = setting.board.as_deref().map(read_board).transpose();
        let shapes = shapes.map_err(TableError::Board)?;
        let roles = rules.rules.role_names();
        let is_person = people(&setting.people, &roles)?;
        let named = roles.iter().zip(&is_person).filter(|&(_, &it)| it);
        setting.people = People::Named(named.map(|(role, _)| role.clone()).collect());
        let mut view = View::first(name, &setting.game, &roles, &is_person);
        let about = About::read(setting.dialect, &setting.source);
        (view.title, view.about) = (about.title, about.rules);
        view.shapes = shapes.unwrap_or_default();
        view.study.clone_from(&setting.study);
        let opened = Opened {
            effort: setting.effort.bounded(),
            training: setting.training.min(MAX_TRAINING),
            setting: setting.clone(),
            rules,
            roles,
            is_person,
            kept,
        };
        self.seat(opened, view, returns)?;
        Ok(setting)
    }

    /// Gives a table its thread and its place among the tables.
    fn seat(&self, opened: Opened, view: View, returns: bool) -> Result<(), TableError> {
        let shared = &self.shared;
        let (commands, inbox) = bounded(MAX_COMMANDS);
        let name = view.table.clone();
        let setting = opened.setting.clone();
        let published = Arc::new(Published::new(view));
        let closing = Closing::default();
        let mut tables = lock(&shared.tables);
        make_room(&mut tables, setting.study.is_some(), returns)?;
        let Some(thread) = ThreadCount::begin(&shared.n_threads) else {
            return Err(TableError::Thread);
        };
        let resources = TableResources {
            n_tables: Arc::clone(&shared.n_threads),
            building: Arc::clone(&shared.building),
            closing: closing.clone(),
            store: shared.store.clone(),
        };
        let host = Host::new(
            opened,
            shared.settings.clone(),
            Arc::clone(&published),
            resources,
        );
        let work = TableWork::new(host, shared.builders.clone());
        if let Some(own) = &shared.own {
            lock(own).push(OwnWork {
                work,
                inbox,
                due: Instant::now(),
                takes_commands: false,
                _count: thread,
            });
        } else {
            let player = shared.player.clone();
            let spawned = spawn_deep("table", move || {
                work.run(&inbox, || player.info() == Status::Busy);
                drop(inbox);
                allocator::give_back();
                drop(thread);
            });
            if spawned.is_err() {
                return Err(TableError::Thread);
            }
        }
        tables.push(Table {
            name,
            setting,
            commands,
            published,
            closing,
        });
        Ok(())
    }

    /// Does the work of tables that have no threads, a step of each in turns, for about this time.
    /// A step may take longer. Returns how long nothing is to be done then, unless somebody asks
    /// for something.
    pub fn work(&self, time: Duration) -> Duration {
        let until = after(time);
        let Some(own) = &self.shared.own else {
            return MAX_IDLE;
        };
        let is_busy = || self.shared.player.info() == Status::Busy;
        loop {
            let mut next = after(MAX_IDLE);
            lock(own).retain_mut(|table| match table.step(&is_busy) {
                Some(due) => {
                    next = next.min(due);
                    true
                }
                None => false,
            });
            let now = Instant::now();
            if next > now || now >= until {
                return next.saturating_duration_since(now);
            }
        }
    }

    /// Does something with the table of this name. One that is kept on disk comes back first.
    fn with<T>(&self, name: &str, act: impl FnOnce(&Table) -> T) -> Result<T, TableError> {
        if !self.is_open(name) {
            let _returning = lock(&self.shared.returning);
            // Another request may have brought it back meanwhile.
            if !self.is_open(name) {
                let store = self.shared.store.as_ref().ok_or(TableError::Gone)?;
                let (setting, kept) = store.read(name)?;
                self.begin(name, setting, kept, true)?;
            }
        }
        let tables = lock(&self.shared.tables);
        let table = tables.iter().find(|table| table.name == name);
        let table = table.ok_or(TableError::Gone)?;
        *lock(&table.published.asked) = Instant::now();
        Ok(act(table))
    }

    /// Whether a table is there and goes on, or has failed.
    fn is_open(&self, name: &str) -> bool {
        let mut tables = lock(&self.shared.tables);
        let Some(place) = tables.iter().position(|table| table.name == name) else {
            return false;
        };
        let table = &tables[place];
        let is_left = has_ended(table) && lock(&table.published.view).phase != Phase::Failed;
        if is_left {
            tables.swap_remove(place);
        }
        !is_left
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
        let told = self.with(name, |table| table.commands.try_send(command))?;
        told.map_err(|error| match error {
            TrySendError::Full(_) => TableError::Busy,
            TrySendError::Disconnected(_) => TableError::Gone,
        })
    }

    /// What a table shows.
    ///
    /// # Errors
    /// There is no such table, or it cannot come back.
    pub fn view(&self, name: &str) -> Result<Arc<View>, TableError> {
        self.with(name, |table| Arc::clone(&lock(&table.published.view)))
    }

    /// The facts of an earlier turn at a table.
    pub fn facts_of_turn(&self, name: &str, turn: usize) -> Option<Vec<String>> {
        let published = self.with(name, |table| Arc::clone(&table.published)).ok()?;
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
    ///
    /// # Errors
    /// There is no such table, or it cannot come back.
    pub fn to_study(&self, name: &str) -> Result<Setting, TableError> {
        self.with(name, |table| {
            let (line, shown) = {
                let view = lock(&table.published.view);
                (view.moves.clone(), view.study.clone())
            };
            let mut own = table.setting.study.clone().unwrap_or_default();
            own.facts = shown.and_then(|study| study.facts);
            let turn = line.len();
            Setting {
                study: Some(Study { line, turn, ..own }),
                ..table.setting.clone()
            }
        })
    }

    /// What a table was opened with, to be opened again.
    ///
    /// # Errors
    /// There is no such table, or it cannot come back.
    pub fn setting(&self, name: &str) -> Result<Setting, TableError> {
        self.with(name, |table| table.setting.clone())
    }

    /// What Panza thinks at a study table, once it has said something.
    ///
    /// # Errors
    /// There is no such table, or it cannot come back.
    pub fn report(&self, name: &str) -> Result<Option<Arc<Report>>, TableError> {
        self.with(name, |table| table.published.last_report())
    }

    /// The tree of lines of a study table, as its page wrote it; none where none is kept.
    ///
    /// # Errors
    /// There is no such table, or it cannot come back.
    pub fn lines(&self, name: &str) -> Result<Option<Arc<Value>>, TableError> {
        self.with(name, |table| lock(&table.published.lines).clone())
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

    /// Which of these tables there are: open, or kept on disk. Asking that opens none.
    pub fn known(&self, names: &[&str]) -> Vec<String> {
        let shared = &self.shared;
        let is_open = |name: &str| lock(&shared.tables).iter().any(|it| it.name == name);
        let is_kept = |name: &str| shared.store.as_ref().is_some_and(|it| it.has(name));
        let there = names.iter().filter(|name| is_open(name) || is_kept(name));
        there.map(ToString::to_string).collect()
    }

    /// Closes a table, which ends its work. It comes back when it is asked for.
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

/// Makes room for a table: closes the one that was idle longest, of studies where a study comes
/// that is one too many. Where the table only `returns`, no table that is in use makes room.
fn make_room(tables: &mut Vec<Table>, is_study: bool, returns: bool) -> Result<(), TableError> {
    tables.retain(|table| !table.published.is_idle() && !has_ended(table));
    let n_studies = tables.iter().filter(|table| table.is_study()).count();
    let is_meant: fn(&Table) -> bool = match () {
        () if is_study && n_studies >= MAX_STUDIES => Table::is_study,
        () if tables.len() >= MAX_TABLES => |_| true,
        () => return Ok(()),
    };
    let asked = |table: &Table| *lock(&table.published.asked);
    let meant = (0..tables.len()).filter(|&index| is_meant(&tables[index]));
    let meant = meant.filter(|&index| !(returns && tables[index].published.is_in_use()));
    let idlest = meant.min_by_key(|&index| asked(&tables[index]));
    tables.swap_remove(idlest.ok_or(TableError::Full)?);
    Ok(())
}

/// The rules of a game. Those in HRF are translated: moves and facts are terms of KIF from here on,
/// in logs too.
fn rules_of(setting: &Setting) -> Result<StartRules, TableError> {
    let source = &*setting.source;
    let refused = |rules: &Rules, found: &[Diagnostic]| match panza_gdl::main_error(found) {
        Some(_) if setting.anyway && panza_gdl::is_playable(rules, found) => Ok(()),
        Some(fault) => Err(TableError::Rules(fault.one_line(&setting.game, source))),
        None => Ok(()),
    };
    match setting.dialect {
        Dialect::Kif => {
            let (statements, faults) = sexpr::parse(source);
            let (rules, diagnostics) = panza_gdl::load_statements(&statements, faults);
            refused(&rules, &diagnostics)?;
            Ok(StartRules::new(rules, &statements))
        }
        Dialect::Hrf => {
            let (rules, diagnostics) = panza_hrf::load(source);
            refused(&rules, &diagnostics)?;
            Ok(StartRules::translated(rules))
        }
    }
}

/// Whether the thread of a table has ended.
fn has_ended(table: &Table) -> bool {
    Arc::strong_count(&table.published) == 1
}

/// Whether a person plays, for each role.
fn people(people: &People, roles: &[String]) -> Result<Vec<bool>, TableError> {
    let is_chance = |role: &String| role == CHANCE_ROLE;
    let names = match people {
        People::Nth(index) => {
            let mut playable = (0..roles.len()).filter(|&role| !is_chance(&roles[role]));
            let n_playable = playable.clone().count();
            let meant = playable.nth(*index);
            let meant = meant.ok_or_else(|| too_few_roles(n_playable, *index))?;
            return Ok((0..roles.len()).map(|role| meant == role).collect());
        }
        People::All => return Ok(roles.iter().map(|role| !is_chance(role)).collect()),
        People::Named(names) => names,
    };
    if let Some(name) = names.iter().find(|name| !roles.contains(name)) {
        return Err(TableError::Role(name.clone()));
    }
    Ok(roles.iter().map(|role| names.contains(role)).collect())
}

/// A person wants to play a role at a place that the game does not have.
fn too_few_roles(n_roles: usize, place: usize) -> TableError {
    let has = match n_roles {
        1 => "1 role".to_string(),
        n => format!("{n} roles"),
    };
    let wanted = match place {
        0 => "first",
        1 => "second",
        2 => "third",
        _ => "last",
    };
    TableError::TooFewRoles(format!(
        "this game has {has}, so nobody can play its {wanted} role"
    ))
}

#[cfg(test)]
mod tests;
