//! Exact goals of two-role games in which one role moves at a time, by alpha-beta on a machine.
//!
//! States that were searched stay in a hash table with bounds of the first role's goal, so that
//! transpositions are searched once. A move that ends the game comes first, then moves that cut off
//! often elsewhere (history heuristic, Schaeffer 1989).
//!
//! The goals of a game must add up to 100 at its end, and a game must end within `MAX_DEPTH` joint
//! moves.

use std::sync::Arc;

use anyhow::bail;
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{Machine, Reasoner};
use rustc_hash::FxHashMap;

use super::{Bounds, Players, Solver, ValueTable};
use crate::oracle::states::all_legal;

/// Joint moves of a line.
const MAX_DEPTH: usize = 1_000;
/// States kept from one position to the next.
const MAX_KEPT: usize = 3_000_000;

/// Why a state was not solved.
#[derive(Debug)]
enum Stop {
    NodeLimit,
    /// The game is none that can be solved.
    Unsuitable(String),
}

/// Bounds of the first role's goal.
const UNKNOWN: Bounds<u8> = Bounds {
    lower: 0,
    upper: 100,
};

struct Child {
    mv: MoveId,
    state: Vec<u64>,
    /// The first role's goal, where the game is over or the state is solved.
    goal: Option<u8>,
}

/// Solves states of a machine.
pub struct AlphaBeta {
    reasoner: Box<dyn Reasoner>,
    machine: Arc<dyn Machine>,
    players: Players,
    table: FxHashMap<Vec<u64>, Bounds<u8>>,
    /// Cut-offs of each role's moves.
    history: [FxHashMap<MoveId, u32>; 2],
    nodes: u64,
    max_nodes: u64,
}

impl AlphaBeta {
    /// A solver that visits at most `nodes` states for each position to be solved.
    pub fn new(machine: &Arc<dyn Machine>, nodes: u64) -> anyhow::Result<Self> {
        let info = machine.info();
        if info.n_roles() != 2 || info.chance_role().is_some() {
            bail!("only games of two roles with an aim can be solved");
        }
        let players = Players::of(info)?;
        Ok(Self {
            reasoner: Arc::clone(machine).reasoner(),
            machine: Arc::clone(machine),
            players,
            table: FxHashMap::default(),
            history: Default::default(),
            nodes: 0,
            max_nodes: nodes,
        })
    }

    /// The first role's goal with best play, exact between `alpha` and `beta`, else a bound.
    fn search(
        &mut self,
        state: &[u64],
        mut alpha: u8,
        mut beta: u8,
        depth: usize,
    ) -> Result<u8, Stop> {
        let mut bounds = self.table.get(state).copied().unwrap_or(UNKNOWN);
        if let Some(known) = bounds.narrow(&mut alpha, &mut beta) {
            return Ok(known);
        }
        self.nodes += 1;
        if self.nodes > self.max_nodes {
            return Err(Stop::NodeLimit);
        }
        if depth > MAX_DEPTH {
            return Err(Stop::Unsuitable("the game does not end".to_string()));
        }
        let (mover, mut children) = self.children(state)?;
        let is_first = mover == 0;
        let history = &self.history[mover];
        let cut_offs = |mv: &MoveId| history.get(mv).copied().unwrap_or(0);
        children.sort_by_cached_key(|child| {
            std::cmp::Reverse((child.goal.is_some(), cut_offs(&child.mv)))
        });
        let (low, high) = (alpha, beta);
        let mut best = if is_first { 0 } else { 100 };
        for child in children {
            let goal = match child.goal {
                Some(goal) => goal,
                None => self.search(&child.state, alpha, beta, depth + 1)?,
            };
            if is_first {
                best = best.max(goal);
                alpha = alpha.max(best);
            } else {
                best = best.min(goal);
                beta = beta.min(best);
            }
            if alpha >= beta {
                *self.history[mover].entry(child.mv).or_default() += 1;
                break;
            }
        }
        bounds.note(best, low, high);
        self.table.insert(state.to_vec(), bounds);
        Ok(best)
    }

    /// The role that moves, and the states after its moves.
    fn children(&mut self, state: &[u64]) -> Result<(usize, Vec<Child>), Stop> {
        self.reasoner.set_state(state);
        let legal = all_legal(self.reasoner.as_mut(), 2);
        let mover = match [legal[0].len(), legal[1].len()] {
            [0, _] | [_, 0] => {
                return Err(Stop::Unsuitable("a role has no legal move".to_string()));
            }
            [_, 1] => 0,
            [1, _] => 1,
            _ => return Err(Stop::Unsuitable("both roles have a choice".to_string())),
        };
        let mut children = Vec::with_capacity(legal[mover].len());
        for &mv in &legal[mover] {
            let mut joint_move = [legal[0][0], legal[1][0]];
            joint_move[mover] = mv;
            let mut next = Vec::with_capacity(state.len());
            self.reasoner.next_state(&joint_move, &mut next);
            children.push(Child {
                mv,
                state: next,
                goal: None,
            });
        }
        for child in &mut children {
            child.goal = self.final_goal(&child.state)?;
            if child.goal.is_none() {
                let bounds = self.table.get(&child.state);
                let exact = bounds.filter(|bounds| bounds.lower == bounds.upper);
                child.goal = exact.map(|bounds| bounds.lower);
            }
        }
        Ok((mover, children))
    }

    /// The first role's goal, where the game is over.
    fn final_goal(&mut self, state: &[u64]) -> Result<Option<u8>, Stop> {
        self.reasoner.set_state(state);
        if !self.reasoner.is_terminal() {
            return Ok(None);
        }
        let goal = self.players.first_goal(self.reasoner.as_mut());
        goal.map(Some)
            .map_err(|error| Stop::Unsuitable(error.to_string()))
    }

    fn rows(&mut self, state: &[u64], role: RoleId) -> Result<Vec<(MoveId, Vec<f64>)>, Stop> {
        let (mover, children) = self.children(state)?;
        if mover != role.index() && children.len() > 1 {
            return Err(Stop::Unsuitable("the other role moves here".to_string()));
        }
        let mut rows = Vec::new();
        for child in children {
            let goal = match child.goal {
                Some(goal) => goal,
                None => self.search(&child.state, 0, 100, 1)?,
            };
            let own = if role.index() == 0 { goal } else { 100 - goal };
            rows.push((child.mv, vec![f64::from(own)]));
        }
        Ok(rows)
    }
}

impl Solver for AlphaBeta {
    fn solve(&mut self, state: &[u64], role: RoleId) -> anyhow::Result<Option<ValueTable>> {
        self.nodes = 0;
        if self.table.len() > MAX_KEPT {
            self.table.clear();
        }
        match self.rows(state, role) {
            Ok(rows) => Ok(Some(ValueTable::new(self.machine.info(), rows))),
            Err(Stop::NodeLimit) => Ok(None),
            Err(Stop::Unsuitable(why)) => bail!(why),
        }
    }
}
