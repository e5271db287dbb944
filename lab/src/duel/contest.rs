//! One game of a duel: two engines that play pairs.
//!
//! Invariants: a pair depends on the seed and its number, not on the pairs before it; only one
//! engine thinks at a time.

use std::hash::{Hash, Hasher};

use anyhow::Context;
use panza_gdl::MoveId;
use panza_sync::Random;
use rustc_hash::FxHasher;
use serde_json::Value;

use super::opening::{self, ReferenceLimit};
use super::protocol::{Command, Engine, Thought};
use super::record::Usage;
use super::referee::Referee;

/// Joint moves after which a game is stopped and drawn.
const MAX_MOVES: usize = 300;

/// What an engine may spend on a move.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum MoveBudget {
    /// Processor time.
    Milliseconds(f64),
    Iterations(u64),
}

impl MoveBudget {
    /// The command to an engine.
    fn command(self, role: usize) -> Command {
        match self {
            Self::Milliseconds(milliseconds) => Command::Think { role, milliseconds },
            Self::Iterations(iterations) => Command::Iterate { role, iterations },
        }
    }
}

/// How pairs are played.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub budget: MoveBudget,
    /// Seconds of a study; 0 for none.
    pub study: f64,
    /// Studies of each engine, used in turn.
    pub studies: u32,
    pub seed: u64,
    pub reference: ReferenceLimit,
}

/// An engine of a duel, with what it did in this pair.
pub(super) struct Player {
    /// `A` or `B`.
    pub name: &'static str,
    pub engine: Box<dyn Engine>,
    pub usage: Usage,
}

impl Player {
    pub fn ask(&mut self, command: &Command) -> anyhow::Result<Value> {
        let reply = self.engine.ask(command);
        reply.with_context(|| format!("engine {}", self.name))
    }

    fn study(&mut self, seconds: f64, seed: u64) -> anyhow::Result<()> {
        let command = Command::Study { seconds, seed };
        let studied = serde_json::from_value(self.ask(&command)?);
        let studied =
            studied.with_context(|| format!("engine {}: no reply to `{command}`", self.name))?;
        self.usage.studies.push(studied);
        Ok(())
    }

    fn think(&mut self, command: &Command) -> anyhow::Result<String> {
        let reply = self.ask(command)?;
        let thought: Thought = serde_json::from_value(reply)
            .with_context(|| format!("engine {}: no reply to `{command}`", self.name))?;
        self.usage.iterations += thought.iterations;
        self.usage.seconds += thought.seconds;
        if !thought.proven {
            self.usage.visits.push(thought.visits);
        }
        Ok(thought.mv)
    }
}

/// A game between two engines.
pub(super) struct Contest {
    pub referee: Referee,
    /// A and B.
    pub players: [Player; 2],
}

/// The two games of a pair.
pub(super) struct Pair {
    /// Joint moves.
    pub opening: Vec<String>,
    pub opening_value: f64,
    /// A's points as the first role and as the second.
    pub points: [f64; 2],
    pub lengths: [u32; 2],
    /// Of A and B.
    pub usage: [Usage; 2],
}

impl Contest {
    /// Plays a pair.
    pub fn play(&mut self, pair: u32, rules: &Rules) -> anyhow::Result<Pair> {
        let seed = |numbers: &[u32]| derived_seed(rules.seed, &self.referee.name, numbers);
        let mut random = Random::new(seed(&[0, pair]));
        let study = pair % rules.studies.max(1);
        let study_seeds = [0, 1].map(|player| seed(&[1, study, player]));
        let search_seeds = [0, 1].map(|game| [0, 1].map(|player| seed(&[2, pair, game, player])));
        let opening = opening::find(&mut self.referee, rules.reference, &mut random)?;
        if rules.study > 0.0 {
            for (player, seed) in self.players.iter_mut().zip(study_seeds) {
                player.study(rules.study, seed)?;
            }
        }
        let (mut points, mut lengths) = ([0.0; 2], [0; 2]);
        for (game, seeds) in search_seeds.into_iter().enumerate() {
            let (of_first, length) = self.play_game(&opening.moves, game, seeds, rules.budget)?;
            points[game] = if game == 0 { of_first } else { 1.0 - of_first };
            lengths[game] = length;
        }
        let texts = opening.moves.iter();
        let texts = texts.map(|joint_move| self.referee.texts(joint_move).join(" | "));
        Ok(Pair {
            opening: texts.collect(),
            opening_value: opening.value,
            points,
            lengths,
            usage: self
                .players
                .each_mut()
                .map(|player| std::mem::take(&mut player.usage)),
        })
    }

    /// Plays a game from an opening; A has the role `role_of_a`. Returns the first role's points
    /// and the number of joint moves.
    fn play_game(
        &mut self,
        opening: &[Vec<MoveId>],
        role_of_a: usize,
        seeds: [u64; 2],
        budget: MoveBudget,
    ) -> anyhow::Result<(f64, u32)> {
        // The role of each player; it is its own inverse.
        let roles = [role_of_a, 1 - role_of_a];
        self.referee.restart();
        for ((player, role), seed) in self.players.iter_mut().zip(roles).zip(seeds) {
            player.ask(&Command::New { role, seed })?;
        }
        for joint_move in opening {
            self.advance(joint_move)?;
        }
        for length in opening.len()..MAX_MOVES {
            if self.referee.is_over() {
                return Ok((self.referee.points(), length as u32));
            }
            let legal = self.referee.legal();
            let mut joint_move = Vec::with_capacity(legal.len());
            for (role, legal) in legal.iter().enumerate() {
                let only = match legal[..] {
                    [] => anyhow::bail!("a role has no legal move"),
                    [only] => Some(only),
                    _ => None,
                };
                let mv = match only {
                    Some(only) => only,
                    None => {
                        let player = &mut self.players[roles[role]];
                        let text = player.think(&budget.command(role))?;
                        let mv = self.referee.find(role, &text);
                        mv.with_context(|| format!("engine {}", player.name))?
                    }
                };
                joint_move.push(mv);
            }
            self.advance(&joint_move)?;
        }
        let is_over = self.referee.is_over();
        let points = if is_over { self.referee.points() } else { 0.5 };
        Ok((points, MAX_MOVES as u32))
    }

    fn advance(&mut self, joint_move: &[MoveId]) -> anyhow::Result<()> {
        let command = Command::Advance(self.referee.texts(joint_move));
        self.referee.play(joint_move);
        for player in &mut self.players {
            player.ask(&command)?;
        }
        Ok(())
    }
}

/// A seed for one purpose in one game.
fn derived_seed(seed: u64, game: &str, numbers: &[u32]) -> u64 {
    let mut hasher = FxHasher::default();
    (seed, game, numbers).hash(&mut hasher);
    Random::new(hasher.finish()).bits()
}
