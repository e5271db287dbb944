//! One game of a duel: two engines that play pairs.
//!
//! With two roles the engines swap them between the games of a pair. With more, one engine has one
//! role and the other has all others, and the single role goes round from pair to pair. So equal
//! engines score a half in expectation, whatever the roles are worth.
//!
//! Both engines study with the same seed. Invariants: a pair depends on the seed and its number,
//! not on the pairs before it; only one engine thinks at a time.

use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use panza_gdl::MoveId;
use panza_sync::Random;
use rustc_hash::FxHasher;
use serde_json::Value;

use super::book::BookOpening;
use super::opening;
use super::protocol::{Command, Engine, Thought};
use super::record::Usage;
use super::referee::{Outcome, Referee};

/// Joint moves after which a game is stopped and drawn.
const MAX_MOVES: usize = 300;

/// How pairs are played.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    /// Milliseconds of processor time for a move.
    pub ms: f64,
    /// Iterations for a move, in place of time.
    pub iterations: Option<u64>,
    /// Seconds of a study; 0 for none.
    pub study: f64,
    /// Studies of each engine, used in turn.
    pub studies: u32,
    pub seed: u64,
    /// Iterations and time of the reference search of an opening.
    pub reference: (u64, Option<Duration>),
    /// Milliseconds in which an engine ponders while the other one thinks.
    pub ponder: Option<f64>,
    /// Where A's studies are written to, and where those of both come from.
    pub studies_to: Option<PathBuf>,
    pub studies_from: Option<PathBuf>,
}

impl Rules {
    /// The command to an engine to think about a move.
    fn think(&self, role: usize) -> Command {
        match self.iterations {
            Some(iterations) => Command::Iterate { role, iterations },
            None => Command::Think {
                role,
                milliseconds: self.ms,
            },
        }
    }
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

    fn study(&mut self, seconds: f64, seed: u64, file: Option<&Path>) -> anyhow::Result<()> {
        let command = match file {
            Some(file) => Command::Load(file.to_string_lossy().into_owned()),
            None => Command::Study { seconds, seed },
        };
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
    /// The openings of the book; without a book each pair finds its own.
    pub book: Vec<BookOpening>,
}

/// The two games of a pair.
pub(super) struct Pair {
    /// Joint moves.
    pub opening: Vec<String>,
    pub opening_values: Vec<f64>,
    pub study: u32,
    /// A's wins and points.
    pub won: [f64; 2],
    pub points: [f64; 2],
    pub lengths: [u32; 2],
    /// Of A and B.
    pub usage: [Usage; 2],
}

impl Contest {
    /// Plays a pair.
    pub fn play(&mut self, pair: u32, rules: &Rules) -> anyhow::Result<Pair> {
        let name = self.referee.name.clone();
        let seed = |numbers: &[u32]| derived_seed(rules.seed, &name, numbers);
        let opening = match self.book.get(pair as usize % self.book.len().max(1)) {
            Some(opening) => opening.replay(&mut self.referee)?,
            None => {
                let mut random = Random::new(seed(&[0, pair]));
                opening::find(&mut self.referee, rules.reference, &mut random)?
            }
        };
        let study = match rules.has_studies() {
            true => self.study(pair % rules.studies.max(1), rules)?,
            false => pair,
        };
        // With two roles A has the first one first.
        let n_roles = self.referee.n_roles;
        let alone = if n_roles == 2 {
            0
        } else {
            pair as usize % n_roles
        };
        let (mut won, mut points, mut lengths) = ([0.0; 2], [0.0; 2], [0; 2]);
        for game in 0..2 {
            let roles_of_a: Vec<bool> = (0..n_roles)
                .map(|role| (role == alone) == (game == 0))
                .collect();
            let seeds = |role: usize| seed(&[2, pair, game as u32, role as u32]);
            let (outcome, length) = self.play_game(&opening.moves, &roles_of_a, seeds, rules)?;
            (won[game], points[game], lengths[game]) = (outcome.won, outcome.points, length);
        }
        let texts = opening.moves.iter();
        let texts = texts.map(|joint_move| self.referee.texts(joint_move).join(" | "));
        Ok(Pair {
            opening: texts.collect(),
            opening_values: opening.values,
            study,
            won,
            points,
            lengths,
            usage: self
                .players
                .each_mut()
                .map(|player| std::mem::take(&mut player.usage)),
        })
    }

    /// Lets both engines study with the same seed, or take the same stored study.
    fn study(&mut self, study: u32, rules: &Rules) -> anyhow::Result<u32> {
        let name = &self.referee.name;
        let seed = derived_seed(rules.seed, name, &[1, study]);
        let file = |folder: &PathBuf| folder.join(format!("{name}-{study}.json"));
        let from = rules.studies_from.as_ref().map(file);
        for player in &mut self.players {
            player.study(rules.study, seed, from.as_deref())?;
        }
        if let Some(to) = rules.studies_to.as_ref().map(file)
            && !to.exists()
        {
            let to = to.to_string_lossy().into_owned();
            self.players[0].ask(&Command::Save(to))?;
        }
        Ok(study)
    }

    /// Plays a game from an opening. `seeds` gives the seed of each role's search. Returns what A
    /// has and the number of joint moves.
    fn play_game(
        &mut self,
        opening: &[Vec<MoveId>],
        roles_of_a: &[bool],
        seeds: impl Fn(usize) -> u64,
        rules: &Rules,
    ) -> anyhow::Result<(Outcome, u32)> {
        let player_of = |role: usize| usize::from(!roles_of_a[role]);
        self.referee.restart();
        for role in 0..roles_of_a.len() {
            let seed = seeds(role);
            self.players[player_of(role)].ask(&Command::New { role, seed })?;
        }
        for joint_move in opening {
            self.advance(joint_move)?;
        }
        for length in opening.len()..MAX_MOVES {
            if self.referee.is_over() {
                return Ok((self.referee.outcome(roles_of_a), length as u32));
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
                        let player = &mut self.players[player_of(role)];
                        let text = player.think(&rules.think(role))?;
                        let mv = self.referee.find(role, &text);
                        let mv = mv.with_context(|| format!("engine {}", player.name))?;
                        if let Some(milliseconds) = rules.ponder {
                            self.ponder(role, roles_of_a, milliseconds)?;
                        }
                        mv
                    }
                };
                joint_move.push(mv);
            }
            self.advance(&joint_move)?;
        }
        let outcome = match self.referee.is_over() {
            true => self.referee.outcome(roles_of_a),
            false => Outcome {
                won: 0.5,
                points: 0.5,
            },
        };
        Ok((outcome, MAX_MOVES as u32))
    }

    /// Lets all roles but this one ponder.
    fn ponder(&mut self, role: usize, roles_of_a: &[bool], ms: f64) -> anyhow::Result<()> {
        for other in (0..roles_of_a.len()).filter(|&it| it != role) {
            self.players[usize::from(!roles_of_a[other])].ask(&Command::Ponder {
                role: other,
                milliseconds: ms,
            })?;
        }
        Ok(())
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

impl Rules {
    fn has_studies(&self) -> bool {
        self.study > 0.0 || self.studies_from.is_some()
    }
}

/// A seed for one purpose in one game.
pub(crate) fn derived_seed(seed: u64, game: &str, numbers: &[u32]) -> u64 {
    let mut hasher = FxHasher::default();
    (seed, game, numbers).hash(&mut hasher);
    Random::new(hasher.finish()).bits()
}
