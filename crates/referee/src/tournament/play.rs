//! Plays the matches of a tournament that have no result yet, several at once where asked.
//!
//! A [`Venue`] plays one match: this process, or others. A match whose players do not start is
//! reported and has no result. A player that did not start [`MAX_FAILURES`] times in a row is not
//! started again.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar};
use serde::{Deserialize, Serialize};
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
use panza_cli::output::{complain, show_seconds};
use panza_cli::provenance::{processor, today};
use panza_sync::{CoreId, lock, unpoisoned};

const MAX_FAILURES: u32 = 3;

/// What became of the matches of a tournament.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Played {
    /// Matches with a result.
    pub finished: usize,
    /// Matches whose players did not start.
    pub failed: usize,
    /// Matches of players that are not started again.
    pub left_out: usize,
    /// Whether the user has ended it.
    pub is_interrupted: bool,
}

/// What became of a match.
#[derive(Debug, Serialize, Deserialize)]
pub enum Attempt {
    /// It has a result.
    Finished(Box<MatchResult>),
    /// This player, by its position in the plan, did not start, and why.
    Failed(usize, String),
    /// The tournament was interrupted.
    Interrupted,
}

/// Where matches are played.
pub trait Venue: Sync {
    /// The number of matches at once.
    fn parallel(&self, plan: &Schedule) -> usize;

    /// Plays a match. `place` is below [`parallel`](Self::parallel), and meanwhile no other match
    /// has it.
    ///
    /// # Errors
    /// The tournament cannot go on.
    fn play(
        &self,
        plan: &Schedule,
        fixture: &Fixture,
        place: usize,
        clock: &mut dyn Spectator,
    ) -> anyhow::Result<Attempt>;
}

/// Plays in this process.
pub struct LocalVenue<'a> {
    runtime: &'a Handle,
    cancelled: &'a watch::Receiver<bool>,
    processor: Option<String>,
}

impl<'a> LocalVenue<'a> {
    /// Connections are made on the runtime, and matches are aborted once `cancelled` is true.
    pub fn new(runtime: &'a Handle, cancelled: &'a watch::Receiver<bool>) -> Self {
        Self {
            runtime,
            cancelled,
            processor: processor(),
        }
    }
}

/// Plays `fixtures`, in their order. `known` are earlier results, for the running score and the
/// time left.
pub(super) fn play(
    plan: &Schedule,
    fixtures: &[Fixture],
    known: &[MatchResult],
    file: &mut ResultsFile,
    venue: &dyn Venue,
    cancelled: &watch::Receiver<bool>,
) -> anyhow::Result<Played> {
    let run = Run {
        plan,
        venue,
        cancelled,
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
        for place in 0..venue.parallel(plan) {
            let run = &run;
            scope.spawn(move || run.play_all(place));
        }
    });
    let state = run.state.into_inner();
    let state = unpoisoned(state);
    match state.error {
        Some(error) => Err(error),
        None => Ok(state.played),
    }
}

struct Run<'a> {
    plan: &'a Schedule,
    venue: &'a dyn Venue,
    cancelled: &'a watch::Receiver<bool>,
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
        lock(&self.state)
    }

    fn play_all(&self, place: usize) {
        while let Some(fixture) = self.next() {
            let started = Instant::now();
            let title = self.plan.title(&fixture);
            let bar = self.bars.add(ProgressBar::new_spinner());
            show_seconds(&bar, format!("{title}: players start"), None);
            let mut clock_line = ClockLine { bar, title };
            let attempt = self.venue.play(self.plan, &fixture, place, &mut clock_line);
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
                Ok(Attempt::Failed(player, why)) => {
                    *state.failures.entry(player).or_default() += 1;
                    state.played.failed += 1;
                    let player = self.plan.players.get(player);
                    let name = player.map_or("", |player| &player.name);
                    let why = format!("{name}: {why}");
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
            self.bars.suspend(|| complain(message));
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
}

impl Venue for LocalVenue<'_> {
    fn parallel(&self, plan: &Schedule) -> usize {
        plan.parallel
    }

    fn play(
        &self,
        plan: &Schedule,
        fixture: &Fixture,
        place: usize,
        clock: &mut dyn Spectator,
    ) -> anyhow::Result<Attempt> {
        let mut players = Vec::new();
        let attempt = self.attempt(plan, fixture, place, clock, &mut players);
        for player in players {
            player.leave(self.runtime);
        }
        attempt
    }
}

impl LocalVenue<'_> {
    /// Starts the players, which the caller ends, and plays.
    fn attempt(
        &self,
        plan: &Schedule,
        fixture: &Fixture,
        place: usize,
        mut clock: &mut dyn Spectator,
        players: &mut Vec<Seated>,
    ) -> anyhow::Result<Attempt> {
        let event = &plan.events[fixture.event];
        let seated = plan.seated(fixture);
        let seed = plan.seed(fixture);
        let id = match_id(&event.game.sheet.name, fixture.round);
        let first_core = place * plan.most_roles();
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
                Err(error) => return Ok(Attempt::Failed(number, format!("{error:#}"))),
            }
        }
        for (player, &number) in players.iter_mut().zip(&seated) {
            let patience = plan.players[number].ready;
            match player.wait_until_ready(patience, self.runtime, self.cancelled) {
                Ok(true) => {}
                Ok(false) => return Ok(Attempt::Interrupted),
                Err(error) => return Ok(Attempt::Failed(number, format!("{error:#}"))),
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
            opening: plan.opening(fixture).cloned().unwrap_or_default(),
            max_steps: MAX_STEPS,
            seed,
        };
        match play_match(&match_plan, self.runtime, self.cancelled, &mut clock) {
            Ok(record) => {
                let result = self.result(plan, fixture, record, seed, &seated, &cores);
                Ok(Attempt::Finished(Box::new(result)))
            }
            Err(MatchError::Interrupted) => Ok(Attempt::Interrupted),
            Err(error) => Err(error.into()),
        }
    }

    fn result(
        &self,
        plan: &Schedule,
        fixture: &Fixture,
        record: MatchRecord,
        seed: u64,
        seated: &[usize],
        cores: &[Option<CoreId>],
    ) -> MatchResult {
        let players = seated.iter().map(|&player| &plan.players[player]);
        let confined = players.clone().zip(cores);
        let confined = confined.map(|(player, core)| core.filter(|_| player.can_be_confined()));
        MatchResult {
            key: plan.key(fixture),
            roles: plan.events[fixture.event].game.role_names(),
            cores: confined.map(|core| Some(core?.id)).collect(),
            players: players.map(|player| player.name.clone()).collect(),
            goals: record.goals,
            ending: record.ending,
            steps: record.moves.len(),
            forced_steps: record.forced_steps,
            seconds: record.time.as_secs_f64(),
            faults: record.faults,
            moves: record.moves,
            seed,
            processor: self.processor.clone(),
            date: today(),
        }
    }
}
