//! Lines of play that lead to positions of an oracle.
//!
//! Moves are drawn at random, but a win at once is taken, and a move after which the other role
//! wins at once is avoided. Where both roles choose at once, joint moves that end the game are
//! avoided. So lines are like play, but no search of ours has a hand in them.

use std::sync::Arc;

use panza_machine::machine::random::Random;
use panza_machine::machine::{Machine, Reasoner};
use panza_rules::ids::{Id, MoveId, RoleId};

use super::score::LOSING;
use super::solve::ValueTable;
use crate::positions::file::Line;
use crate::positions::prove::{all_legal, final_goal};

/// Playouts after each move.
const PLAYOUTS: u32 = 100;
/// Joint moves of a playout.
const MAX_STEPS: u32 = 10_000;
/// Joint moves drawn where both roles choose at once.
const TRIES: u32 = 20;

pub(super) struct Walker {
    machine: Arc<dyn Machine>,
    reasoner: Box<dyn Reasoner>,
    n_roles: usize,
    pub random: Random,
}

impl Walker {
    pub fn new(machine: &Arc<dyn Machine>, seed: u64) -> Self {
        Self {
            reasoner: Arc::clone(machine).reasoner(),
            n_roles: machine.info().n_roles(),
            machine: Arc::clone(machine),
            random: Random::new(seed),
        }
    }

    /// A line of so many joint moves; nothing when the game is over by then.
    pub fn walk(&mut self, steps: usize) -> Option<Line> {
        let mut line = Line::new(&self.machine);
        while line.joint_moves.len() < steps {
            let joint_move = self.choose(line.last())?;
            line.push(self.reasoner.as_mut(), joint_move);
        }
        (!self.is_over(line.last())).then_some(line)
    }

    /// The roles with a choice in a state.
    pub fn choosers(&mut self, state: &[u64]) -> Vec<RoleId> {
        let legal = self.legal(state);
        let choosers = (0..self.n_roles).filter(|&role| legal[role].len() > 1);
        choosers.map(RoleId::from_index).collect()
    }

    /// Whether the role's move with the best playouts loses value.
    pub fn is_misled(&mut self, state: &[u64], role: RoleId, table: &ValueTable) -> bool {
        let legal = self.legal(state);
        let mut goals = vec![0; self.n_roles];
        let mut best: Option<(u32, usize)> = None;
        for (index, &mv) in table.moves().iter().enumerate() {
            let mut sum = 0;
            for _ in 0..PLAYOUTS {
                let mut joint_move = self.draw(&legal);
                joint_move[role.index()] = mv;
                let next = self.after(state, &joint_move);
                self.reasoner.set_state(&next);
                self.reasoner
                    .playout(&mut self.random, MAX_STEPS, &mut goals);
                sum += u32::from(goals[role.index()]);
            }
            if best.is_none_or(|(most, _)| sum > most) {
                best = Some((sum, index));
            }
        }
        let mut strategy = vec![0.0; table.moves().len()];
        if let Some((_, index)) = best {
            strategy[index] = 1.0;
        }
        table.lost(&strategy) >= LOSING
    }

    fn choose(&mut self, state: &[u64]) -> Option<Vec<MoveId>> {
        if self.is_over(state) {
            return None;
        }
        let legal = self.legal(state);
        if legal.iter().any(Vec::is_empty) {
            return None;
        }
        let choosers = legal.iter().filter(|moves| moves.len() > 1).count();
        if choosers > 1 {
            return Some(self.choose_at_once(state, &legal));
        }
        let mover = legal.iter().position(|moves| moves.len() > 1).unwrap_or(0);
        let mut joint_moves = joint_moves_of(&legal, mover);
        self.shuffle(&mut joint_moves);
        let mut children = Vec::new();
        for joint_move in &joint_moves {
            let child = self.after(state, joint_move);
            if self.goal_if_over(&child, mover) == Some(100) {
                return Some(joint_move.clone());
            }
            children.push(child);
        }
        let safe = children.iter().position(|child| self.is_safe(child, mover));
        Some(joint_moves.swap_remove(safe.unwrap_or(0)))
    }

    fn choose_at_once(&mut self, state: &[u64], legal: &[Vec<MoveId>]) -> Vec<MoveId> {
        for _ in 1..TRIES {
            let joint_move = self.draw(legal);
            let child = self.after(state, &joint_move);
            if !self.is_over(&child) {
                return joint_move;
            }
        }
        self.draw(legal)
    }

    /// A random joint move.
    fn draw(&mut self, legal: &[Vec<MoveId>]) -> Vec<MoveId> {
        let mut draw = |moves: &Vec<MoveId>| {
            let index = self.random.below(moves.len() as u32);
            moves[index as usize]
        };
        legal.iter().map(&mut draw).collect()
    }

    /// Whether the game goes on after a state, and no other role wins with its next move.
    fn is_safe(&mut self, state: &[u64], role: usize) -> bool {
        if self.is_over(state) {
            return false;
        }
        let legal = self.legal(state);
        let Some(mover) = legal.iter().position(|moves| moves.len() > 1) else {
            return true;
        };
        mover == role
            || joint_moves_of(&legal, mover).iter().all(|joint_move| {
                let child = self.after(state, joint_move);
                self.goal_if_over(&child, mover) != Some(100)
            })
    }

    fn after(&mut self, state: &[u64], joint_move: &[MoveId]) -> Vec<u64> {
        let mut next = Vec::with_capacity(state.len());
        self.reasoner.set_state(state);
        self.reasoner.next_state(joint_move, &mut next);
        next
    }

    fn legal(&mut self, state: &[u64]) -> Vec<Vec<MoveId>> {
        self.reasoner.set_state(state);
        all_legal(self.reasoner.as_mut(), self.n_roles)
    }

    fn is_over(&mut self, state: &[u64]) -> bool {
        self.reasoner.set_state(state);
        self.reasoner.is_terminal()
    }

    fn goal_if_over(&mut self, state: &[u64], role: usize) -> Option<u8> {
        self.is_over(state).then(|| {
            let role = RoleId::from_index(role);
            final_goal(self.reasoner.as_mut(), self.n_roles, role)
        })
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.random.below(last as u32 + 1) as usize);
        }
    }
}

/// The joint moves of a role that chooses alone.
fn joint_moves_of(legal: &[Vec<MoveId>], mover: usize) -> Vec<Vec<MoveId>> {
    let joint_move = |&mv: &MoveId| {
        let mut joint_move: Vec<MoveId> = legal.iter().map(|moves| moves[0]).collect();
        joint_move[mover] = mv;
        joint_move
    };
    legal[mover].iter().map(joint_move).collect()
}
