//! Plays the matches of a tournament that have no result yet, several at once where that is asked
//! for.
//!
//! Threads of this process take matches from one list; each match starts its players, is played by
//! the game manager, ends its players and is appended to the results. A match whose players could
//! not be had is told and left out; a player that could not be had three times in a row is not
//! waited for again.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use tokio::runtime::Handle;
use tokio::sync::watch;

use super::plan::{Fixture, Plan};
use super::progress::Progress;
use super::results::{MatchResult, PlayerFault, ResultsFile};
use super::seats::{Conditions, Seated};
use crate::commands::game_manager::messages::rules_on_one_line;
use crate::commands::game_manager::{
    Clocks, MAX_STEPS, MatchError, MatchPlan, MatchRecord, Patience, match_id, play_match,
};
use crate::commands::provenance::{processor, today};
use crate::sync::pinning::CoreId;

/// A player that could not be had this often in a row is given up.
const MOST_FAILURES: u32 = 3;

/// What became of the matches.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Played {
    /// Matches that have a result now.
    pub finished: usize,
    /// Matches whose players could not be had.
    pub failed: usize,
    /// Matches of players that had been given up.
    pub left_out: usize,
    /// Whether it was broken off.
    pub is_interrupted: bool,
}

/// Plays `fixtures`, in their order. `known` are results from before, for the running score and the
/// time left.
///
/// # Errors
/// A result that cannot be written, or rules that cannot be evaluated.
pub fn play(
    plan: &Plan,
    fixtures: &[Fixture],
    known: &[MatchResult],
    file: &mut ResultsFile,
    runtime: &Handle,
    cancelled: &watch::Receiver<bool>,
) -> anyhow::Result<Played> {
    let hall = Hall {
        plan,
        runtime,
        cancelled,
        processor: processor(),
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
        for table in 0..plan.parallel {
            let hall = &hall;
            scope.spawn(move || hall.serve_table(table));
        }
    });
    let state = hall
        .state
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    match state.error {
        Some(error) => Err(error),
        None => Ok(state.played),
    }
}

/// All that the tables share.
struct Hall<'a> {
    plan: &'a Plan,
    runtime: &'a Handle,
    cancelled: &'a watch::Receiver<bool>,
    processor: Option<String>,
    state: Mutex<State<'a>>,
}

struct State<'a> {
    waiting: VecDeque<Fixture>,
    file: &'a mut ResultsFile,
    progress: Progress<'a>,
    /// How often a player could not be had since it was last.
    failures: BTreeMap<usize, u32>,
    played: Played,
    /// The first error; nothing is played after it.
    error: Option<anyhow::Error>,
}

/// What became of one match.
enum Attempt {
    Finished(Box<MatchResult>),
    /// Whose fault, and what it was.
    Failed(usize, anyhow::Error),
    Interrupted,
}

impl<'a> Hall<'a> {
    /// The state stays whole when a holder panics: each change is one call.
    fn state(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Plays until nothing is left to play.
    fn serve_table(&self, table: usize) {
        while let Some(fixture) = self.next() {
            let begun = Instant::now();
            let attempt = self.attempt(&fixture, table);
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
                    state.progress.finished(&fixture, &result, begun.elapsed())
                }
                Ok(Attempt::Failed(player, error)) => {
                    *state.failures.entry(player).or_default() += 1;
                    state.played.failed += 1;
                    let name = &self.plan.players[player].name;
                    state
                        .progress
                        .failed(&fixture, &format!("{name}: {error:#}"))
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
            // Whoever closed standard error does not want to know.
            let _ = writeln!(io::stderr(), "{message}");
        }
    }

    /// The next match to play; none when all are done or it is over for another reason.
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
                failures.is_some_and(|&failures| failures >= MOST_FAILURES)
            };
            if !self.plan.seated(&fixture).iter().any(is_given_up) {
                return Some(fixture);
            }
            state.played.left_out += 1;
            state.progress.left_out(&fixture);
        }
    }

    fn attempt(&self, fixture: &Fixture, table: usize) -> anyhow::Result<Attempt> {
        let plan = self.plan;
        let event = &plan.events[fixture.event];
        let seated = plan.seated(fixture);
        let seed = plan.seed(fixture);
        let id = match_id(&event.game.sheet.name, fixture.round);
        let first_core = table * plan.most_roles();
        let cores: Vec<Option<CoreId>> = (0..seated.len())
            .map(|role| plan.cores.get(first_core + role).copied())
            .collect();
        let mut at_table: Vec<Seated> = Vec::new();
        for (role, (&player, &core)) in seated.iter().zip(&cores).enumerate() {
            let contestant = &plan.players[player];
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
                Ok(started) => at_table.push(started),
                Err(error) => {
                    self.dismiss(at_table);
                    return Ok(Attempt::Failed(player, error));
                }
            }
        }
        for (player, &number) in at_table.iter_mut().zip(&seated) {
            let patience = plan.players[number].ready;
            let unready = match player.wait_until_ready(patience, self.runtime, self.cancelled) {
                Ok(true) => continue,
                Ok(false) => Attempt::Interrupted,
                Err(error) => Attempt::Failed(number, error),
            };
            self.dismiss(at_table);
            return Ok(unready);
        }
        let rules_text = rules_on_one_line(&event.game.sheet.text);
        let match_plan = MatchPlan {
            id,
            rules: &event.game.rules,
            rules_text: &rules_text,
            seats: at_table.iter().map(|player| player.seat.clone()).collect(),
            clocks: Clocks {
                start: event.start_clock,
                play: event.play_clock,
            },
            patience: Patience::default(),
            max_steps: MAX_STEPS,
            seed,
        };
        let record = play_match(&match_plan, self.runtime, self.cancelled, &mut ());
        self.dismiss(at_table);
        match record {
            Ok(record) => {
                let result = self.result(fixture, record, seed, &seated, &cores);
                Ok(Attempt::Finished(Box::new(result)))
            }
            Err(MatchError::Interrupted) => Ok(Attempt::Interrupted),
            Err(error) => Err(error.into()),
        }
    }

    fn dismiss(&self, players: Vec<Seated>) {
        for player in players {
            player.leave(self.runtime);
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
        let confined = players.clone().zip(cores).map(|(player, core)| {
            let core = core.filter(|_| player.can_be_confined());
            core.map(|core| core.id)
        });
        MatchResult {
            key: self.plan.key(fixture),
            roles: self.plan.events[fixture.event].game.role_names(),
            cores: confined.collect(),
            players: players.map(|player| player.name.clone()).collect(),
            goals: record.goals,
            ending: record.ending.as_str().to_string(),
            steps: record.moves.len(),
            seconds: record.time.as_secs_f64(),
            faults: record
                .faults
                .into_iter()
                .map(|fault| PlayerFault {
                    role: fault.role,
                    request: fault.request.to_string(),
                    step: fault.step,
                    kind: fault.kind.as_str().to_string(),
                    detail: fault.detail,
                })
                .collect(),
            moves: record.moves,
            seed,
            processor: self.processor.clone(),
            date: today(),
        }
    }
}
