//! The builds of a match: the machine, and beside it the fallback.
//!
//! Both start with the match, so that a legal move is known soon whatever becomes of the machine.
//! The stages of the main build count the memory they hold, but the process holds more. So the
//! resident memory of the process is compared with that at the start of the match, and a main build
//! under which it has grown too much is stopped. The fallback has limits of its own.
//!
//! Invariant: the result of a build that is no longer wanted is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::engines::{Build, Engines};
use super::record::Record;
use super::tasks::Tasks;
use panza_game::GameBuilders;
use panza_telemetry::resident_bytes;

/// Time between looks at the memory of the process.
const WATCH_EVERY: Duration = Duration::from_millis(20);

/// The builds of a match.
pub(super) struct Builds {
    builders: GameBuilders,
    /// Deadline of builds.
    until: Instant,
    /// The most bytes by which the process may grow while the main build runs.
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
    /// Nothing is built yet. All builds end at `until`; the main one is stopped when the process
    /// has grown by more than `memory` bytes.
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
    /// stops a main build that takes too much memory.
    pub fn look_after(&mut self, engines: &mut Engines, tasks: &Tasks) {
        if engines.needs_fallback() {
            engines.fallback = self.build(true, tasks);
        }
        engines.fall_back(self.until);
        self.watch_memory(engines);
    }

    fn watch_memory(&mut self, engines: &Engines) {
        let now = Instant::now();
        if now < self.next_watch || !is_running(&engines.main) {
            return;
        }
        self.next_watch = now + WATCH_EVERY;
        let resident = resident_bytes().unwrap_or(0);
        let taken = resident.saturating_sub(self.resident_at_start);
        let [main, _] = &self.stops;
        if taken > self.memory as u64 && !main.swap(true, Ordering::Relaxed) {
            let text = format!("the machine was given up, since the process took {taken} bytes");
            self.record.error(&text);
        }
    }

    /// When to look after the builds again, at the latest.
    pub fn next_look(&self, engines: &Engines) -> Option<Instant> {
        let now = Instant::now();
        let watch = is_running(&engines.main).then(|| now + WATCH_EVERY);
        let awaited = engines.current().is_none() && now < self.until;
        watch.into_iter().chain(awaited.then_some(self.until)).min()
    }

    /// Whether a build that `stop` would have stopped is still wanted.
    pub fn is_wanted(&self, is_fallback: bool, stop: &Arc<AtomicBool>) -> bool {
        Arc::ptr_eq(stop, &self.stops[usize::from(is_fallback)])
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

    /// Stops the fallback, which is not needed beside the machine. The follower of an idle one goes
    /// on, since it holds little memory.
    pub fn stop_fallback(&mut self, is_idle: bool) {
        let stop = std::mem::take(&mut self.stops[1]);
        if !is_idle {
            stop.store(true, Ordering::Relaxed);
        }
    }
}

fn is_running(build: &Build) -> bool {
    matches!(build, Build::Running)
}
