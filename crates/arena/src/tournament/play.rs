//! Plays the matches of a tournament that have no result yet, several at once where asked.
//!
//! A match whose players do not start is reported and has no result. A player that did not start
//! [`MAX_FAILURES`] times in a row is not started again.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::plan::{Fixture, Schedule};
use super::progress::Progress;
use super::results::{MatchResult, ResultsFile};
use super::seats::{Conditions, Seated};
use crate::game_manager::messages::rules_on_one_line;
use crate::game_manager::{
    Clocks, MAX_STEPS, MatchError, MatchPlan, MatchRecord, Patience, Request, Spectator, match_id,
    play_match,
};
use crate::output::show_seconds;
use crate::provenance::{processor, today};
use panza_sync::pinning::CoreId;

const MAX_FAILURES: u32 = 3;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Played {
    pub finished: usize,
    /// Matches whose players did not start.
    pub failed: usize,
    /// Matches of players that are not started again.
    pub left_out: usize,
    pub is_interrupted: bool,
}

/// Plays `fixtures`, in their order. `known` are earlier results, for the running score and the
/// time left.
pub fn play(
    plan: &Schedule,
    fixtures: &[Fixture],
    known: &[MatchResult],
    file: &mut ResultsFile,
    runtime: &Handle,
    cancelled: &watch::Receiver<bool>,
) -> anyhow::Result<Played> {
    let run = Run {
        plan,
        runtime,
        cancelled,
        processor: processor(),
        bars: MultiProgress::new(),
        state: Mutex::new(State {
            waiting: fixtures.iter().copied().collect(),
            file,
            progress: Progress::new(plan, fixtures, known),
            failures: BTreeMap::new(),
            played: Played::default(),
            error: None,
        }),
    };
    thread::scope(|scope| {
        for thread in 0..plan.parallel {
            let run = &run;
            scope.spawn(move || run.play_all(thread));
        }
    });
    let state = run.state.into_inner();
    let state = state.unwrap_or_else(PoisonError::into_inner);
    match state.error {
        Some(error) => Err(error),
        None => Ok(state.played),
    }
}

struct Run<'a> {
    plan: &'a Schedule,
    runtime: &'a Handle,
    cancelled: &'a watch::Receiver<bool>,
    processor: Option<String>,
    /// A line for each match under way, on a terminal.
    bars: MultiProgress,
    state: Mutex<State<'a>>,
}

struct State<'a> {
    waiting: VecDeque<Fixture>,
    file: &'a mut ResultsFile,
    progress: Progress<'a>,
    /// How often in a row each player did not start.
    failures: BTreeMap<usize, u32>,
    played: Played,
    /// The first error; nothing is played after it.
    error: Option<anyhow::Error>,
}

enum Attempt {
    Finished(Box<MatchResult>),
    Failed(usize, anyhow::Error),
    Interrupted,
}

struct ClockLine {
    bar: ProgressBar,
    title: String,
}

impl Spectator for ClockLine {
    fn waiting(&mut self, request: Request, step: u32, clock: Duration) {
        let message = format!("{}: {}", self.title, request.clock_name(step));
        show_seconds(&self.bar, message, Some(clock));
    }
}

impl<'a> Run<'a> {
    /// The state stays valid when a holder panics: each change is one call.
    fn state(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn play_all(&self, thread: usize) {
        while let Some(fixture) = self.next() {
            let started = Instant::now();
            let title = self.plan.title(&fixture);
            let bar = self.bars.add(ProgressBar::new_spinner());
            show_seconds(&bar, format!("{title}: players start"), None);
            let mut clock_line = ClockLine { bar, title };
            let mut players = Vec::new();
            let attempt = self.attempt(&fixture, thread, &mut clock_line, &mut players);
            for player in players {
                player.leave(self.runtime);
            }
            clock_line.bar.finish_and_clear();
            let mut state = self.state();
            let message = match attempt {
                Ok(Attempt::Finished(result)) => {
                    for player in self.plan.seated(&fixture) {
                        state.failures.remove(&player);
                    }
                    if let Err(error) = state.file.append(&result) {
                        state.error.get_or_insert(error);
                        return;
                    }
                    state.played.finished += 1;
                    state
                        .progress
                        .finished(&fixture, &result, started.elapsed())
                }
                Ok(Attempt::Failed(player, error)) => {
                    *state.failures.entry(player).or_default() += 1;
                    state.played.failed += 1;
                    let why = format!("{}: {error:#}", self.plan.players[player].name);
                    state.progress.failed(&fixture, &why)
                }
                Ok(Attempt::Interrupted) => {
                    state.played.is_interrupted = true;
                    return;
                }
                Err(error) => {
                    state.error.get_or_insert(error);
                    return;
                }
            };
            // A closed standard error is no error.
            let _ = self.bars.suspend(|| writeln!(io::stderr(), "{message}"));
        }
    }

    fn next(&self) -> Option<Fixture> {
        let mut state = self.state();
        loop {
            if *self.cancelled.borrow() {
                state.played.is_interrupted |= !state.waiting.is_empty();
                return None;
            }
            if state.error.is_some() {
                return None;
            }
            let fixture = state.waiting.pop_front()?;
            let is_given_up = |player: &usize| {
                let failures = state.failures.get(player);
                failures.is_some_and(|&failures| failures >= MAX_FAILURES)
            };
            if !self.plan.seated(&fixture).iter().any(is_given_up) {
                return Some(fixture);
            }
            state.played.left_out += 1;
            state.progress.left_out(&fixture);
        }
    }

    /// Starts the players, which the caller ends, and plays.
    fn attempt(
        &self,
        fixture: &Fixture,
        thread: usize,
        spectator: &mut ClockLine,
        players: &mut Vec<Seated>,
    ) -> anyhow::Result<Attempt> {
        let plan = self.plan;
        let event = &plan.events[fixture.event];
        let seated = plan.seated(fixture);
        let seed = plan.seed(fixture);
        let id = match_id(&event.game.sheet.name, fixture.round);
        let first_core = thread * plan.most_roles();
        let cores: Vec<Option<CoreId>> = (0..seated.len())
            .map(|role| plan.cores.get(first_core + role).copied())
            .collect();
        for (role, (&number, &core)) in seated.iter().zip(&cores).enumerate() {
            let contestant = &plan.players[number];
            let log = plan.log_folder.as_deref().map(|folder| {
                let name = contestant.name.replace(' ', "-");
                (folder, format!("{id}.{role}.{name}.log"))
            });
            let conditions = Conditions {
                seed: seed.wrapping_add(role as u64 + 1),
                core,
                log,
            };
            match Seated::start(contestant, &conditions, self.runtime) {
                Ok(player) => players.push(player),
                Err(error) => return Ok(Attempt::Failed(number, error)),
            }
        }
        for (player, &number) in players.iter_mut().zip(&seated) {
            let patience = plan.players[number].ready;
            match player.wait_until_ready(patience, self.runtime, self.cancelled) {
                Ok(true) => {}
                Ok(false) => return Ok(Attempt::Interrupted),
                Err(error) => return Ok(Attempt::Failed(number, error)),
            }
        }
        let match_plan = MatchPlan {
            id,
            rules: &event.game.rules,
            rules_text: &rules_on_one_line(&event.game.kif_text()),
            seats: players.iter().map(|player| player.seat.clone()).collect(),
            clocks: Clocks {
                start: event.start_clock,
                play: event.play_clock,
            },
            patience: Patience::default(),
            max_steps: MAX_STEPS,
            seed,
        };
        match play_match(&match_plan, self.runtime, self.cancelled, spectator) {
            Ok(record) => {
                let result = self.result(fixture, record, seed, &seated, &cores);
                Ok(Attempt::Finished(Box::new(result)))
            }
            Err(MatchError::Interrupted) => Ok(Attempt::Interrupted),
            Err(error) => Err(error.into()),
        }
    }

    fn result(
        &self,
        fixture: &Fixture,
        record: MatchRecord,
        seed: u64,
        seated: &[usize],
        cores: &[Option<CoreId>],
    ) -> MatchResult {
        let players = seated.iter().map(|&player| &self.plan.players[player]);
        let confined = players.clone().zip(cores);
        let confined = confined.map(|(player, core)| core.filter(|_| player.can_be_confined()));
        MatchResult {
            key: self.plan.key(fixture),
            roles: self.plan.events[fixture.event].game.role_names(),
            cores: confined.map(|core| Some(core?.id)).collect(),
            players: players.map(|player| player.name.clone()).collect(),
            goals: record.goals,
            ending: record.ending,
            steps: record.moves.len(),
            seconds: record.time.as_secs_f64(),
            faults: record.faults,
            moves: record.moves,
            seed,
            processor: self.processor.clone(),
            date: today(),
        }
    }
}
