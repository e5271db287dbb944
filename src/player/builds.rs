//! The builds of a match: the machine, and beside it the fallback.
//!
//! Both start with the match, so that a legal move is known soon whatever becomes of the machine.
//! The stages of a build count the memory they hold, but the process holds more. So its resident
//! memory is compared with that at the start of the match, and builds that take too much are
//! stopped: the machine first, then the fallback.
//!
//! Invariant: the result of a build that is no longer wanted is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::engines::{Build, Engines};
use super::record::Record;
use super::tasks::Tasks;
use crate::build::{BuiltGame, GameBuilders};
use crate::telemetry::resident_bytes;

/// Time between looks at the memory of the process.
const WATCH_EVERY: Duration = Duration::from_millis(20);

/// The builds of a match.
pub(super) struct Builds {
    builders: GameBuilders,
    /// Deadline of builds.
    until: Instant,
    /// Bytes that builds may take.
    memory: usize,
    /// Our role's name and its place in the rulesheet.
    role: (String, usize),
    record: Record,
    /// The flags that stop the main build and the fallback.
    stops: [Arc<AtomicBool>; 2],
    /// Why builds failed.
    failures: Vec<String>,
    /// Memory of the process when the match began, in bytes.
    resident_at_start: u64,
    next_watch: Instant,
}

impl Builds {
    /// Nothing is built yet. Builds may take so many bytes until then.
    pub fn new(
        builders: GameBuilders,
        (until, memory): (Instant, usize),
        role: (String, usize),
        record: Record,
    ) -> Self {
        Self {
            builders,
            until,
            memory,
            role,
            record,
            stops: Default::default(),
            failures: Vec::new(),
            resident_at_start: resident_bytes().unwrap_or(0),
            next_watch: Instant::now(),
        }
    }

    /// Starts the main build.
    pub fn start(&mut self, engines: &mut Engines, tasks: &Tasks) {
        engines.main = self.build(false, tasks);
    }

    fn build(&mut self, is_fallback: bool, tasks: &Tasks) -> Build {
        let builder = match is_fallback {
            true => self.builders.fallback.clone(),
            false => Some(Arc::clone(&self.builders.main)),
        };
        let limits = (self.until, self.memory);
        let build = |builder| tasks.build(is_fallback, builder, limits, self.role.clone());
        match builder.and_then(build) {
            Some(stop) => {
                self.stops[usize::from(is_fallback)] = stop;
                Build::Running
            }
            None => Build::Failed,
        }
    }

    /// Starts the fallback where there is no machine, puts it in use where the machine is late, and
    /// stops builds that take too much memory.
    pub fn look_after(&mut self, engines: &mut Engines, tasks: &Tasks) {
        if engines.needs_fallback() {
            engines.fallback = self.build(true, tasks);
        }
        engines.fall_back(self.until);
        self.watch_memory(engines);
    }

    fn watch_memory(&mut self, engines: &Engines) {
        let now = Instant::now();
        if now < self.next_watch || !is_building(engines) {
            return;
        }
        self.next_watch = now + WATCH_EVERY;
        let resident = resident_bytes().unwrap_or(0);
        let taken = resident.saturating_sub(self.resident_at_start);
        if taken <= self.memory as u64 {
            return;
        }
        for (build, stop) in [&engines.main, &engines.fallback]
            .into_iter()
            .zip(&self.stops)
        {
            if matches!(build, Build::Running) && !stop.swap(true, Ordering::Relaxed) {
                let text = format!("a build was stopped, since the process took {taken} bytes");
                self.record.error(&text);
                break;
            }
        }
    }

    /// When to look after the builds again, at the latest.
    pub fn next_look(&self, engines: &Engines) -> Option<Instant> {
        let now = Instant::now();
        let watch = is_building(engines).then(|| now + WATCH_EVERY);
        let awaited = engines.current().is_none() && now < self.until;
        watch.into_iter().chain(awaited.then_some(self.until)).min()
    }

    /// The outcome of a build that `stop` would have stopped; `None` if it is not wanted any more.
    pub fn wanted(
        &self,
        is_fallback: bool,
        stop: &Arc<AtomicBool>,
        outcome: Result<BuiltGame, String>,
    ) -> Option<Result<BuiltGame, String>> {
        if !Arc::ptr_eq(stop, &self.stops[usize::from(is_fallback)]) {
            return None;
        }
        // A fallback that was stopped answers nothing.
        match is_fallback && stop.load(Ordering::Relaxed) {
            true => Some(Err("it was stopped".into())),
            false => Some(outcome),
        }
    }

    /// Notes that a build failed.
    pub fn failed(&mut self, is_fallback: bool, why: &str, engines: &mut Engines) {
        let (build, name) = match is_fallback {
            true => (&mut engines.fallback, "fallback machine"),
            false => (&mut engines.main, "machine"),
        };
        *build = Build::Failed;
        let text = format!("no {name}: {why}");
        self.record.error(&text);
        self.failures.push(text);
    }

    /// Why the game cannot be played, once no build is left that could become one.
    pub fn refusal(&self, engines: &Engines) -> Option<String> {
        engines.are_all_failed().then(|| self.failures.join("; "))
    }

    /// Stops the fallback, which is not needed beside the machine.
    pub fn stop_fallback(&mut self) {
        let stop = std::mem::take(&mut self.stops[1]);
        stop.store(true, Ordering::Relaxed);
    }
}

/// Whether a build runs.
fn is_building(engines: &Engines) -> bool {
    let is_running = |build: &Build| matches!(build, Build::Running);
    is_running(&engines.main) || is_running(&engines.fallback)
}
