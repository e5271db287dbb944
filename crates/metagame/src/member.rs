//! A process that plays for the training of another one, by the orders of [`team`](super::team).
//!
//! Invariants: it keeps nothing; an order that does not fit the game is refused.
//!
//! Never uses: how orders arrive, files.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::Value;

use super::contest::Contest;
use super::notes::read_evaluation;
use super::parameters::Parameters;
use super::team::{Order, Reply, decoded, encoded, facts_hash};
use super::training::{Training, test_contest};
use panza_game::BuiltGame;
use panza_learning::Known;
use panza_learning::team;
use panza_learning::team::{MemberPlan, Part};
use panza_search::SearchConfig;
use panza_sync::{Budget, after};

/// Seconds of an order, at most.
const MAX_SECONDS: f64 = 1e7;
/// Positions of a book, at most.
const MAX_OPENINGS: usize = 10_000;

/// A member of the team of a training.
pub struct Member<'a> {
    training: Training<'a>,
    learner: Option<team::Member>,
    test: Option<(u64, Contest<'a>)>,
    cancelled: &'a Arc<AtomicBool>,
}

impl<'a> Member<'a> {
    /// A member for a game, with the settings of a search, which are those of the training.
    ///
    /// # Errors
    /// Why the game cannot be trained.
    pub fn new(
        game: &'a BuiltGame,
        config: SearchConfig,
        cancelled: &'a Arc<AtomicBool>,
    ) -> Result<Self, &'static str> {
        Ok(Self {
            training: Training::new(game, config, None)?,
            learner: None,
            test: None,
            cancelled,
        })
    }

    /// Carries out an order, and returns the reply.
    ///
    /// # Errors
    /// It is no order, or does not fit the game or what was ordered before.
    pub fn obey(&mut self, order: &[u8]) -> Result<Vec<u8>, &'static str> {
        let (order, numbers) = decoded(order).ok_or("no order of a training")?;
        match order {
            Order::Learn {
                facts,
                evaluation,
                games,
                seed,
                openings,
            } => {
                let plan = MemberPlan {
                    games,
                    seed,
                    openings,
                };
                self.begin_learning(facts, &evaluation, plan)?;
                Ok(encoded(&Reply::Ready, &[]))
            }
            Order::Part { seconds, is_last } => {
                let part = Part {
                    numbers,
                    time: time(seconds)?,
                    is_last,
                };
                self.play_part(&part)
            }
            Order::Test {
                facts,
                test,
                evaluation,
                best,
                parameters,
            } => {
                self.test = Some((
                    test,
                    self.contest(facts, &evaluation, best.as_ref(), parameters)?,
                ));
                Ok(encoded(&Reply::Ready, &[]))
            }
            Order::Pair {
                test,
                opening,
                number,
                seconds,
            } => {
                let known = self.test.as_mut().filter(|(known, _)| *known == test);
                let (_, contest) = known.ok_or("a pair of another test")?;
                if opening.len() != contest.machine.initial_state().len() {
                    return Err("an opening of another game");
                }
                contest.budget.until = Some(after(time(seconds)?));
                let round = contest.round(&opening, number);
                let pair = round.map(|round| (round.games, round.points));
                Ok(encoded(&Reply::Pair(pair), &[]))
            }
        }
    }

    /// The games of a test.
    fn contest(
        &self,
        facts: u64,
        tested: &Value,
        best: Option<&Value>,
        parameters: Parameters,
    ) -> Result<Contest<'a>, &'static str> {
        if !parameters.are_sound() {
            return Err("settings that no study chooses");
        }
        let tested = self.read(facts, tested)?.evaluation;
        let best = best.map(|note| self.read(facts, note)).transpose()?;
        let best = best.as_ref().map(|known| &known.evaluation);
        let (game, config) = self.training.to_play();
        // Each pair sets the time.
        let budget = Budget::generous().stopped_by(self.cancelled);
        Ok(test_contest(
            game, config, &tested, best, parameters, budget,
        ))
    }

    fn begin_learning(
        &mut self,
        facts: u64,
        evaluation: &Value,
        plan: MemberPlan,
    ) -> Result<(), &'static str> {
        if plan.openings.len() > MAX_OPENINGS {
            return Err("too many openings");
        }
        let known = self.read(facts, evaluation)?;
        let (machine, symmetries) = self.training.to_learn();
        let learner = team::Member::new(machine, symmetries, known.evaluation, plan);
        self.learner = Some(learner.ok_or("an evaluation or openings of another game")?);
        Ok(())
    }

    fn play_part(&mut self, part: &Part) -> Result<Vec<u8>, &'static str> {
        let learner = self.learner.as_mut();
        let learner = learner.ok_or("a part of a learning that has not begun")?;
        let share = learner.play(part, self.cancelled);
        let share = share.ok_or("weights of another game")?;
        let reply = Reply::Share {
            games: share.games,
            moves: share.moves,
            samples: share.samples,
        };
        Ok(encoded(&reply, &share.numbers))
    }

    /// The evaluation in a note of a process whose facts have this hash.
    fn read(&self, facts: u64, note: &Value) -> Result<Known, &'static str> {
        let (info, prospects) = self.training.to_read();
        if facts != facts_hash(info) {
            return Err("facts in another order: another build of the program, or another game");
        }
        let known = read_evaluation(info, note, || prospects.cloned());
        known.ok_or("an evaluation of another game")
    }
}

fn time(seconds: f64) -> Result<Duration, &'static str> {
    match (0.0..=MAX_SECONDS).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err("a time that is no duration"),
    }
}
