//! Reference positions of a game: moves with values by deep search, and results of searched games.
//!
//! Searches play games from random openings. One position of each game gets a value for each of its
//! moves, from searches after them that share the position's processor time. A few more
//! positions of the game are kept with its result. The searches know no trained evaluation, so
//! that they favour none.
//!
//! Invariant: each position has exactly one role with a choice.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{Machine, Reasoner};
use panza_search::{Search, SearchConfig};
use panza_sync::{Budget, Random, thread_cpu_time};
use serde::{Deserialize, Serialize};

/// Positions of a game and results, as stored: states as their facts, moves as texts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reference {
    pub positions: Vec<Position>,
    pub results: Vec<GameResult>,
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
    /// Its mean goal in [`PLAYOUTS`] random playouts after the move.
    pub playouts: f32,
}

/// A state and each role's goal at the end of its game.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GameResult {
    pub facts: Vec<String>,
    pub goals: Vec<u8>,
}

/// The size of a reference.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Positions, each of another game.
    pub positions: usize,
    /// Processor time for the values of a position.
    pub time: Duration,
    /// Iterations of the searches that play.
    pub iterations: u64,
    pub seed: u64,
}

/// Random playouts for each move of a position.
pub const PLAYOUTS: u32 = 64;
/// The most random joint moves at the start of a game.
const MAX_OPENING: u32 = 10;
/// Joint moves after which a game is given up.
const MAX_LENGTH: usize = 400;
/// Results kept of a game.
const RESULTS: usize = 4;
/// Iterations between two looks at the clock.
const SLICE: u64 = 64;

impl Reference {
    /// Reads the reference in this file, or makes and writes it.
    pub fn load_or_make(
        path: &Path,
        machine: &Arc<dyn Machine>,
        size: Size,
    ) -> anyhow::Result<Self> {
        if path.is_file() {
            let text = std::fs::read_to_string(path)?;
            return serde_json::from_str(&text)
                .with_context(|| format!("`{}` is no reference", path.display()));
        }
        let made = Self::make(machine, size)?;
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(path, serde_json::to_string(&made)?)?;
        Ok(made)
    }

    fn make(machine: &Arc<dyn Machine>, size: Size) -> anyhow::Result<Self> {
        let mut random = Random::new(size.seed);
        let mut maker = Maker {
            machine,
            reasoner: Arc::clone(machine).reasoner(),
            config: SearchConfig {
                max_nodes: 1 << 18,
                seed: size.seed,
                ..SearchConfig::deterministic(size.seed)
            },
        };
        let (mut positions, mut results) = (Vec::new(), Vec::new());
        let mut attempts = 0;
        while positions.len() < size.positions {
            attempts += 1;
            if attempts > 4 * size.positions + 16 {
                bail!("too few positions in which one role chooses");
            }
            let Some((states, goals)) = maker.play(size.iterations, &mut random) else {
                continue;
            };
            let choices: Vec<&(Vec<u64>, Option<usize>)> =
                states.iter().filter(|(_, role)| role.is_some()).collect();
            if choices.is_empty() {
                continue;
            }
            let (state, role) = random.choose(&choices);
            let role = role.unwrap_or(0);
            positions.push(Position {
                facts: machine.info().state_facts(state),
                role,
                moves: maker.move_values(state, role, size.time, &mut random),
            });
            for _ in 0..RESULTS {
                let (state, _) = random.choose(&states);
                results.push(GameResult {
                    facts: machine.info().state_facts(state),
                    goals: goals.clone(),
                });
            }
        }
        Ok(Self { positions, results })
    }
}

/// States of a game after its opening, each with the role that chooses, if it is one alone.
type States = Vec<(Vec<u64>, Option<usize>)>;

struct Maker<'a> {
    machine: &'a Arc<dyn Machine>,
    reasoner: Box<dyn Reasoner>,
    config: SearchConfig,
}

impl Maker<'_> {
    fn search(&self, role: usize) -> Search {
        let role = RoleId::from_index(role);
        Search::new(Arc::clone(self.machine), role, self.config.clone())
    }

    /// Plays a game by short searches from a random opening. `None` if it does not end.
    fn play(&mut self, iterations: u64, random: &mut Random) -> Option<(States, Vec<u8>)> {
        let n_roles = self.machine.info().n_roles();
        self.config.seed = random.bits();
        let mut searches: Vec<Search> = (0..n_roles).map(|role| self.search(role)).collect();
        let opening = random.below(MAX_OPENING + 1) as usize;
        let mut state = self.machine.initial_state();
        let mut states = Vec::new();
        for length in 0..MAX_LENGTH {
            self.reasoner.set_state(&state);
            if self.reasoner.is_terminal() {
                let goals = self.reasoner.final_goals(n_roles);
                return (!states.is_empty()).then_some((states, goals));
            }
            let mut joint_move: Vec<MoveId> = Vec::new();
            let mut choosers = Vec::new();
            for (role, search) in searches.iter_mut().enumerate() {
                let legal = self.reasoner.legal_moves(RoleId::from_index(role));
                let any = *legal.get(random.below(legal.len().max(1) as u32) as usize)?;
                if legal.len() > 1 {
                    choosers.push(role);
                }
                joint_move.push(any);
                if length >= opening && legal.len() > 1 {
                    search.run(&Budget::of_steps(iterations));
                    joint_move[role] = search.best_move().unwrap_or(any);
                }
            }
            if length >= opening {
                let role = (choosers.len() == 1).then(|| choosers[0]);
                states.push((state.clone(), role));
            }
            for search in &mut searches {
                search.advance(&joint_move);
            }
            let mut next = Vec::new();
            self.reasoner.next_state(&joint_move, &mut next);
            state = next;
        }
        None
    }

    /// The value of each move of a role, by searches after it that share the time.
    fn move_values(
        &mut self,
        state: &[u64],
        role: usize,
        time: Duration,
        random: &mut Random,
    ) -> Vec<MoveValue> {
        let children = children(
            &mut *self.reasoner,
            self.machine.info().n_roles(),
            state,
            role,
        );
        let share = time / children.len().max(1) as u32;
        let mut search = self.search(role);
        let mut goals = vec![0; self.machine.info().n_roles()];
        let mut values = Vec::new();
        for child in children {
            let mut total = 0.0;
            for _ in 0..PLAYOUTS {
                self.reasoner.set_state(&child.state);
                self.reasoner.playout(random, MAX_LENGTH as u32, &mut goals);
                total += f32::from(goals[role]);
            }
            search.set_state(&child.state);
            let begin = thread_cpu_time().unwrap_or_default();
            let spent = || thread_cpu_time().unwrap_or_default().saturating_sub(begin);
            while child.goals.is_none() && spent() < share {
                let before = search.statistics().iterations;
                search.run(&Budget::of_steps(SLICE));
                if search.statistics().iterations == before {
                    break;
                }
            }
            let mut searched = || {
                let report = search.root();
                report.proven.map(f32::from).or(report.value)
            };
            let value = match &child.goals {
                Some(goals) => goals[role],
                None => searched().unwrap_or(50.0),
            };
            values.push(MoveValue {
                mv: self.machine.info().move_text(child.mv),
                value,
                playouts: total / PLAYOUTS as f32,
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
