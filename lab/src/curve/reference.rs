//! Reference positions of a game: moves with values by deep search.
//!
//! Searches by alpha-beta play games from random openings. One position of each game gets a value
//! for each of its moves, from searches after them that share the position's processor time.
//!
//! Invariant: each position has exactly one role with a choice.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{Machine, Reasoner};
use panza_search::{LineLimits, SearchConfig, Searcher, start};
use panza_sync::{Budget, Random};
use serde::{Deserialize, Serialize};

/// Positions of a game, as stored: states as their facts, moves as texts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reference {
    pub positions: Vec<Position>,
}

/// A position with a value for each move of the role that chooses.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Position {
    pub facts: Vec<String>,
    pub role: usize,
    pub moves: Vec<MoveValue>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MoveValue {
    pub mv: String,
    /// The role's value after the move by search.
    pub value: f32,
}

/// The size of a reference.
pub struct Size {
    /// Positions, each of another game.
    pub positions: usize,
    /// Processor time for the values of a position.
    pub time: Duration,
    /// Nodes of the searches that play.
    pub nodes: u64,
    /// The settings of all searches.
    pub config: SearchConfig,
}

/// The most random joint moves at the start of a game.
const MAX_OPENING: u32 = 10;
/// Nodes of the first run of a search; each further one has twice as many, since it begins a depth
/// anew that the one before has not ended.
const FIRST_RUN: u64 = 200;
/// Joint moves after which a game is given up.
const MAX_LENGTH: usize = 400;

impl Reference {
    /// Reads the reference in this file, or makes and writes it.
    pub fn load_or_make(
        path: &Path,
        machine: &Arc<dyn Machine>,
        size: impl FnOnce() -> anyhow::Result<Size>,
    ) -> anyhow::Result<Self> {
        if path.is_file() {
            let text = std::fs::read_to_string(path)?;
            return serde_json::from_str(&text)
                .with_context(|| format!("`{}` is no reference", path.display()));
        }
        let made = Self::make(machine, &size()?)?;
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(path, serde_json::to_string(&made)?)?;
        Ok(made)
    }

    fn make(machine: &Arc<dyn Machine>, size: &Size) -> anyhow::Result<Self> {
        let mut random = Random::new(size.config.seed);
        let initial = machine.initial_state();
        let begun = start(machine, RoleId(0), &initial, &size.config);
        let mut maker = Maker {
            machine,
            reasoner: Arc::clone(machine).reasoner(),
            search: begun.search,
        };
        let mut positions = Vec::new();
        let mut attempts = 0;
        while positions.len() < size.positions {
            attempts += 1;
            if attempts > 4 * size.positions + 16 {
                bail!("too few positions in which one role chooses");
            }
            let states = maker.play(size.nodes, &mut random);
            if states.is_empty() {
                continue;
            }
            let (state, role) = random.choose(&states);
            positions.push(Position {
                facts: machine.info().state_facts(state),
                role: *role,
                moves: maker.move_values(state, *role, size.time),
            });
        }
        Ok(Self { positions })
    }
}

struct Maker<'a> {
    machine: &'a Arc<dyn Machine>,
    reasoner: Box<dyn Reasoner>,
    search: Box<dyn Searcher>,
}

impl Maker<'_> {
    /// Plays a game by short searches from a random opening. Returns its states after that in which
    /// one role chooses, each with the role; none if the game does not end.
    fn play(&mut self, nodes: u64, random: &mut Random) -> Vec<(Vec<u64>, usize)> {
        let n_roles = self.machine.info().n_roles();
        let opening = random.below(MAX_OPENING + 1) as usize;
        let mut state = self.machine.initial_state();
        let mut states = Vec::new();
        for length in 0..MAX_LENGTH {
            self.reasoner.set_state(&state);
            if self.reasoner.is_terminal() {
                return states;
            }
            let moves: Vec<Vec<MoveId>> = (0..n_roles)
                .map(|role| self.reasoner.legal_moves(RoleId::from_index(role)).to_vec())
                .collect();
            if moves.iter().any(Vec::is_empty) {
                break;
            }
            let mut joint_move: Vec<MoveId> = moves.iter().map(|it| *random.choose(it)).collect();
            let mut choosers = (0..n_roles).filter(|&role| moves[role].len() > 1);
            if let (Some(role), None, true) = (choosers.next(), choosers.next(), length >= opening)
            {
                states.push((state.clone(), role));
                self.search.set_state(&state);
                self.search.set_role(RoleId::from_index(role));
                self.search.run(&Budget::of_steps(nodes));
                if let Some(best) = self.search.choose() {
                    joint_move[role] = best.mv;
                }
            }
            let mut next = Vec::new();
            self.reasoner.next_state(&joint_move, &mut next);
            state = next;
        }
        Vec::new()
    }

    /// The role's value by a search: the mean of those of the last two depths, since values of odd
    /// and even depths differ by a move.
    fn value(&mut self, budget: &Budget) -> f32 {
        let (mut depth, mut values, mut nodes) = (0, [50.0; 2], FIRST_RUN);
        while !budget.is_over() {
            let before = self.search.statistics().iterations;
            self.search.run(&budget.with_steps(nodes));
            nodes *= 2;
            let report = self.search.report(LineLimits::NONE);
            if let Some(goal) = report.proven {
                return goal.into();
            }
            if report.depth > depth {
                depth = report.depth;
                values = [values[1], report.value.unwrap_or(50.0)];
            }
            if self.search.statistics().iterations == before {
                break;
            }
        }
        values.iter().sum::<f32>() / 2.0
    }

    /// The value of each move of a role, by searches after it that share the time.
    fn move_values(&mut self, state: &[u64], role: usize, time: Duration) -> Vec<MoveValue> {
        let n_roles = self.machine.info().n_roles();
        let children = children(&mut *self.reasoner, n_roles, state, role);
        let share = time / children.len().max(1) as u32;
        self.search.set_role(RoleId::from_index(role));
        let mut values = Vec::new();
        for child in children {
            let value = match &child.goals {
                Some(goals) => goals[role],
                None => {
                    self.search.set_state(&child.state);
                    self.value(&Budget::lasting(share).by_processor())
                }
            };
            values.push(MoveValue {
                mv: self.machine.info().move_text(child.mv),
                value,
            });
        }
        values
    }
}

/// The state after a move, and its goals if it is terminal.
pub struct Child {
    pub mv: MoveId,
    pub state: Vec<u64>,
    pub goals: Option<Vec<f32>>,
}

/// The children of a state in which `role` alone chooses.
pub fn children(
    reasoner: &mut dyn Reasoner,
    n_roles: usize,
    state: &[u64],
    role: usize,
) -> Vec<Child> {
    reasoner.set_state(state);
    let mut joint_move: Vec<MoveId> = (0..n_roles)
        .map(|role| reasoner.legal_moves(RoleId::from_index(role))[0])
        .collect();
    let mut moves = reasoner.legal_moves(RoleId::from_index(role)).to_vec();
    moves.sort_unstable();
    let mut found = Vec::new();
    for mv in moves {
        joint_move[role] = mv;
        let mut next = Vec::new();
        reasoner.set_state(state);
        reasoner.next_state(&joint_move, &mut next);
        reasoner.set_state(&next);
        let goals = reasoner.is_terminal().then(|| {
            let goals = reasoner.final_goals(n_roles);
            goals.into_iter().map(f32::from).collect()
        });
        found.push(Child {
            mv,
            state: next,
            goals,
        });
    }
    found
}
