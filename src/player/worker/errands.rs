//! What the match thread has others do: build machines, study the game, look for boards, each on a
//! thread of its own, so that orders are taken meanwhile.
//!
//! Invariants: whatever happens there, panics too, comes back as news or ends in the notes; none of
//! it outlives its budget by much.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{Building, Built, News, STACK_BYTES, Worker};
use crate::analysis::board::{self, BoardPainter};
use crate::build::{BuildBudget, BuiltGame, GameBuilder};
use crate::machine::Machine;
use crate::machine::random::Random;
use crate::metagame::{self, StudyBudget};
use crate::telemetry::panic_text;

/// Looking for boards may take this long, and this many states.
const LOOKING_FOR_BOARDS: (Duration, usize) = (Duration::from_millis(150), 100);
/// Of more facts those that were seen have to do.
const MOST_FACTS: usize = 20_000;

impl Worker {
    pub(super) fn ask_for_main(&mut self) {
        let factory = Arc::clone(&self.assignment.factories.main);
        self.main = self.build(false, factory);
    }

    /// Asks for the machine of last resort when the real one is late.
    pub(super) fn ask_for_fallback_in_time(&mut self) {
        if self.playing.is_none() && Instant::now() >= self.assignment.build_until {
            self.ask_for_fallback();
        }
    }

    pub(super) fn ask_for_fallback(&mut self) {
        if !matches!(self.fallback, Building::NotAsked) {
            return;
        }
        self.fallback = match self.assignment.factories.fallback.clone() {
            Some(factory) => self.build(true, factory),
            None => Building::Failed,
        };
    }

    /// Starts a builder thread.
    pub(super) fn build(&self, is_fallback: bool, factory: Arc<dyn GameBuilder>) -> Building {
        let rules = Arc::clone(&self.assignment.rules);
        let budget = BuildBudget {
            until: self.assignment.build_until,
            memory: self.assignment.memory,
            cancelled: Arc::clone(&self.cancelled),
        };
        let sender = self.built_sender.clone();
        let alive = self.assignment.alive.clone();
        let spawned = std::thread::Builder::new()
            .name("build".into())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                let begin = Instant::now();
                let outcome = catch_unwind(AssertUnwindSafe(|| factory.build(&rules, &budget)))
                    .unwrap_or_else(|panic| {
                        Err(format!("building panicked: {}", panic_text(&*panic)))
                    });
                // The match may be over.
                let _ = sender.send(News::Built(Built {
                    is_fallback,
                    outcome,
                    took: begin.elapsed(),
                }));
                drop(alive);
            });
        match spawned {
            Ok(_) => Building::UnderWay,
            Err(error) => {
                self.assignment
                    .record
                    .error(&format!("no thread to build a machine on: {error}"));
                Building::Failed
            }
        }
    }

    /// Looks for boards in a few random games, on a thread of its own, for those who look at the
    /// match.
    pub(super) fn find_board(&self, machine: &Arc<dyn Machine>) {
        let machine = Arc::clone(machine);
        let rules = Arc::clone(&self.assignment.rules);
        let record = self.assignment.record.clone();
        let cancelled = Arc::clone(&self.cancelled);
        let alive = self.assignment.alive.clone();
        let seed = self.assignment.search.seed;
        let spawned = std::thread::Builder::new()
            .name("board".into())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                let (time, limit) = LOOKING_FOR_BOARDS;
                let begin = Instant::now();
                let go_on = || begin.elapsed() < time && !cancelled.load(Ordering::Relaxed);
                let layouts = catch_unwind(AssertUnwindSafe(|| {
                    let mut random = Random::new(seed);
                    let states = board::sample_states(&machine, &mut random, limit, go_on);
                    let all = machine.info().facts().unwrap_or_default();
                    let all = if all.len() > MOST_FACTS { &[] } else { all };
                    BoardPainter::learn_with(&states, all, &rules).layouts()
                }));
                match layouts {
                    Ok(layouts) => record.board(&layouts),
                    Err(panic) => {
                        record.warning(&format!("no board: {}", panic_text(&*panic)));
                    }
                }
                drop((machine, record));
                drop(alive);
            });
        if let Err(error) = spawned {
            let text = format!("no thread to look for boards on: {error}");
            self.assignment.record.warning(&text);
        }
    }

    /// Studies the game on a thread of its own, until START must be answered, if the searcher can
    /// use a study.
    pub(super) fn study(&mut self, game: &BuiltGame) {
        let now = Instant::now();
        let settings = &self.assignment.metagame;
        let left = self.assignment.ready_by.saturating_duration_since(now);
        let until = now + left.mul_f64(settings.seconds_share);
        let playing = self.playing.as_ref();
        let can_learn = playing.is_some_and(|(_, engine)| engine.thinker.can_learn());
        if !settings.learning || !can_learn || until <= now || !self.moves.is_empty() {
            return;
        }
        let budget = StudyBudget {
            until: Some(until),
            cancelled: Arc::clone(&self.cancelled),
            learning: settings.learning,
            tuning: settings.tuning,
            sampling: None,
        };
        let game = game.clone();
        let config = self.assignment.search.clone();
        let memory = self.assignment.memory_of_game.clone();
        let sender = self.built_sender.clone();
        let alive = self.assignment.alive.clone();
        let spawned = std::thread::Builder::new()
            .name("study".into())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    let info = game.info();
                    let prior = memory
                        .history()
                        .and_then(|history| metagame::prior_study(info, &history));
                    let study = metagame::study(&game, prior, &config, &budget);
                    for (kind, note) in metagame::notes(info, &study) {
                        memory.remember(kind, note);
                    }
                    study
                }));
                drop(game);
                let outcome = outcome.map(Box::new).map_err(|panic| panic_text(&*panic));
                // The match may be over.
                let _ = sender.send(News::Studied(outcome));
                drop(alive);
            });
        match spawned {
            Ok(_) => self.studying_until = Some(until),
            Err(error) => {
                let text = format!("no thread to study the game on: {error}");
                self.assignment.record.error(&text);
            }
        }
    }
}
