//! The builds of a match: the game to play, and beside it the fallback.
//!
//! Both start with the match, so that a legal move is known soon even if the main build is late.
//! The stages of the main build count the memory they hold, but the process holds more. So the
//! resident memory of the process is compared with that at the start of the match, and a main build
//! under which it has grown too much is stopped. The fallback has limits of its own.
//!
//! Without threads the main build comes first and keeps its deadline by itself. If it fails, the
//! fallback is built in the time that is left until START is answered.
//!
//! Invariant: the result of a build that is no longer wanted is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::engines::{Build, Engines};
use super::follower::Follower;
use super::tasks::{TaskResult, Tasks};
use crate::common::{MatchSetup, OurRole, Record, WorkerLink, build_name};
use panza_game::{BuildError, BuildKind, GameBuilders};
use panza_gdl::Rules;
use panza_sync::catch_panic;
use panza_sync::{Budget, Instant};
use panza_telemetry::resident_bytes;

/// Time between checks of the memory of the process.
const CHECK_MEMORY_EVERY: Duration = Duration::from_millis(20);

/// The builds of a match.
pub(crate) struct Builds {
    builders: GameBuilders,
    rules: Arc<Rules>,
    /// Deadline of all builds with threads, and of the main build without.
    until: Instant,
    /// When START is answered.
    ready_by: Instant,
    /// The most bytes by which the process may grow while the main build runs.
    memory: usize,
    role: OurRole,
    record: Record,
    /// The flags that stop the main build and the fallback.
    stops: [Arc<AtomicBool>; 2],
    /// Why builds failed.
    failures: Vec<String>,
    /// Memory of the process when the match began, in bytes.
    resident_at_start: u64,
    next_memory_check: Instant,
}

impl Builds {
    /// Nothing is built yet.
    pub fn new(builders: GameBuilders, setup: &MatchSetup) -> Self {
        let memory = setup
            .settings
            .player
            .build_memory_mib
            .saturating_mul(1 << 20);
        Self {
            builders,
            rules: Arc::clone(&setup.rules.rules),
            until: setup.build_until,
            ready_by: setup.ready_by,
            memory: usize::try_from(memory).unwrap_or(usize::MAX),
            role: setup.role.clone(),
            record: setup.record.clone(),
            stops: Default::default(),
            failures: Vec::new(),
            resident_at_start: resident_bytes().unwrap_or(0),
            next_memory_check: Instant::now(),
        }
    }

    /// Builds a game on a thread, which then follows the match with it.
    pub fn start(
        &mut self,
        kind: BuildKind,
        engines: &mut Engines,
        tasks: &Tasks,
        link: &WorkerLink,
    ) {
        let build = engines.build_mut(kind);
        let Some(builder) = self.builders.of(kind).map(Arc::clone) else {
            *build = Build::Failed;
            return;
        };
        let stop = link.stops.issue();
        let until = match kind {
            BuildKind::Fallback if !tasks.has_threads => self.ready_by,
            _ => self.until,
        };
        let of_build = Arc::clone(&stop);
        let max_bytes = match kind {
            BuildKind::Main => self.memory,
            // The prover has limits of its own.
            BuildKind::Fallback => Budget::generous().max_bytes,
        };
        let (rules, role, record) = (
            Arc::clone(&self.rules),
            self.role.clone(),
            self.record.clone(),
        );
        let follower_link = tasks.has_threads.then(|| link.follower(kind));
        let is_started = tasks.spawn("build", move |results| {
            let begin = Instant::now();
            let stop = of_build;
            let budget = Budget::generous()
                .until(Some(until))
                .with_bytes(max_bytes)
                .stopped_by(&stop);
            let outcome = catch_panic(|| builder.build(&rules, &budget))
                .unwrap_or_else(|panic| Err(BuildError::Panicked(panic)));
            drop(rules);
            // The follower comes first, since it only needs one legal move; the match thread asks
            // the machine for much more.
            let followed = outcome.as_ref().ok().zip(follower_link);
            let follower = followed.map(|(game, link)| Follower::new(game, &role, link, &stop));
            // The match may be over.
            let _ = results.send(TaskResult::Built {
                kind,
                outcome,
                took: begin.elapsed(),
                stop: Arc::clone(&stop),
            });
            if let Some(follower) = follower
                && let Err(text) = follower.and_then(Follower::run)
            {
                record.error(&format!("following the match panicked: {text}"));
            }
        });
        *build = match is_started {
            true => Build::Running,
            false => Build::Failed,
        };
        if is_started {
            self.stops[kind as usize] = stop;
        }
    }

    /// Starts the fallback where there is no game, puts it in use where the main build is late, and
    /// stops a main build that takes too much memory.
    pub fn update(&mut self, engines: &mut Engines, tasks: &Tasks, link: &WorkerLink) {
        if engines.needs_fallback() {
            self.start(BuildKind::Fallback, engines, tasks, link);
        }
        engines.fall_back(self.until);
        self.check_memory(engines);
    }

    fn check_memory(&mut self, engines: &mut Engines) {
        let now = Instant::now();
        if now < self.next_memory_check || !engines.is_main_running() {
            return;
        }
        self.next_memory_check = now + CHECK_MEMORY_EVERY;
        let resident = resident_bytes().unwrap_or(0);
        let taken = resident.saturating_sub(self.resident_at_start);
        let [main, _] = &self.stops;
        if taken > self.memory as u64 && !main.swap(true, Ordering::Relaxed) {
            let text = format!("the machine was given up, since the process took {taken} bytes");
            self.record.error(&text);
        }
    }

    /// When to [`update`](Self::update) again, at the latest.
    pub fn next_update(&self, engines: &Engines) -> Option<Instant> {
        let now = Instant::now();
        let check = engines.is_main_running().then(|| now + CHECK_MEMORY_EVERY);
        let awaited = engines.current().is_none() && now < self.until;
        check.into_iter().chain(awaited.then_some(self.until)).min()
    }

    /// Whether a build that `stop` would have stopped is still wanted.
    pub fn is_wanted(&self, kind: BuildKind, stop: &Arc<AtomicBool>) -> bool {
        Arc::ptr_eq(stop, &self.stops[kind as usize])
    }

    /// Notes that a build failed.
    pub fn failed(&mut self, kind: BuildKind, why: &BuildError, engines: &mut Engines) {
        *engines.build_mut(kind) = Build::Failed;
        let text = format!("no {}: {why}", build_name(kind));
        self.record.error(&text);
        self.failures.push(text);
    }

    /// Why the game cannot be played, once every build has failed.
    pub fn refusal(&self, engines: &Engines) -> Option<String> {
        engines.are_all_failed().then(|| self.failures.join("; "))
    }

    /// Stops the fallback, which is not needed beside the machine. The follower of an idle one goes
    /// on, since it holds little memory.
    pub fn stop_fallback(&mut self, is_idle: bool) {
        let stop = std::mem::take(&mut self.stops[BuildKind::Fallback as usize]);
        if !is_idle {
            stop.store(true, Ordering::Relaxed);
        }
    }
}
