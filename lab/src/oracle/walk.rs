//! Lines of play that lead to positions of an oracle.
//!
//! Moves are drawn at random, but a win at once is taken, and a move after which the other role
//! wins at once is avoided. Chance does neither. Where both roles choose at once, joint moves that
//! end the game are avoided. So lines are like play, but no search of ours has a hand in them.

use std::sync::Arc;

use panza_gdl::ids::{Id, MoveId, RoleId};
use panza_machine::Machine;
use panza_sync::random::Random;

use super::file::LOSING;
use super::solve::ValueTable;
use super::states::{Legal, Line, States, draw};

/// Playouts after each move.
const PLAYOUTS: u32 = 100;
/// Joint moves drawn where both roles choose at once.
const TRIES: u32 = 20;

pub(super) struct Walker {
    states: States,
    pub random: Random,
}

impl Walker {
    pub fn new(machine: &Arc<dyn Machine>, seed: u64) -> Self {
        Self {
            states: States::new(machine),
            random: Random::new(seed),
        }
    }

    /// A line of so many joint moves; nothing when the game is over by then.
    pub fn walk(&mut self, steps: usize) -> Option<Line> {
        let mut line = Line::new(&self.states.machine);
        while line.joint_moves.len() < steps {
            let joint_move = self.choose(line.last())?;
            line.push(&mut self.states, joint_move);
        }
        self.states.choices(line.last()).is_some().then_some(line)
    }

    /// The roles with an aim and a choice in a state.
    pub fn choosers(&mut self, state: &[u64]) -> Vec<RoleId> {
        let legal = self.states.choices(state).unwrap_or_default();
        let choosers = (0..legal.len()).filter(|&role| legal[role].len() > 1);
        let choosers = choosers.map(RoleId::from_index);
        choosers.filter(|&role| !self.is_chance(role)).collect()
    }

    /// Whether the role's move with the best playouts loses value.
    pub fn is_misled(&mut self, state: &[u64], role: RoleId, table: &ValueTable) -> bool {
        let moves = table.moves();
        let best = self
            .states
            .best_by_playouts(state, role, moves, PLAYOUTS, &mut self.random);
        best.is_some_and(|mv| table.lost_by(mv) >= LOSING)
    }

    fn is_chance(&self, role: RoleId) -> bool {
        self.states.machine.info().chance_role() == Some(role)
    }

    fn choose(&mut self, state: &[u64]) -> Option<Vec<MoveId>> {
        let legal = self.states.choices(state)?;
        let choosers = legal.iter().filter(|moves| moves.len() > 1).count();
        if choosers > 1 {
            return Some(self.choose_at_once(state, &legal));
        }
        let mover = legal.iter().position(|moves| moves.len() > 1).unwrap_or(0);
        if self.is_chance(RoleId::from_index(mover)) {
            return Some(draw(&legal, &mut self.random));
        }
        let mut joint_moves = joint_moves_of(&legal, mover);
        self.shuffle(&mut joint_moves);
        let mut children = Vec::new();
        for joint_move in &joint_moves {
            let child = self.states.after(state, joint_move);
            if self.is_won(&child, mover) {
                return Some(joint_move.clone());
            }
            children.push(child);
        }
        let safe = children.iter().position(|child| self.is_safe(child, mover));
        Some(joint_moves.swap_remove(safe.unwrap_or(0)))
    }

    fn choose_at_once(&mut self, state: &[u64], legal: &Legal) -> Vec<MoveId> {
        for _ in 1..TRIES {
            let joint_move = draw(legal, &mut self.random);
            let child = self.states.after(state, &joint_move);
            if !self.states.is_over(&child) {
                return joint_move;
            }
        }
        draw(legal, &mut self.random)
    }

    /// Whether the game goes on after a state, and no other role wins with its next move.
    fn is_safe(&mut self, state: &[u64], role: usize) -> bool {
        let Some(legal) = self.states.choices(state) else {
            return false;
        };
        let Some(mover) = legal.iter().position(|moves| moves.len() > 1) else {
            return true;
        };
        mover == role
            || joint_moves_of(&legal, mover).iter().all(|joint_move| {
                let child = self.states.after(state, joint_move);
                !self.is_won(&child, mover)
            })
    }

    fn is_won(&mut self, state: &[u64], role: usize) -> bool {
        self.states.is_over(state) && self.states.goal(state, RoleId::from_index(role)) == 100
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.random.below(last as u32 + 1) as usize);
        }
    }
}

/// The joint moves of a role that chooses alone.
fn joint_moves_of(legal: &Legal, mover: usize) -> Vec<Vec<MoveId>> {
    let joint_move = |&mv: &MoveId| {
        let mut joint_move: Vec<MoveId> = legal.iter().map(|moves| moves[0]).collect();
        joint_move[mover] = mv;
        joint_move
    };
    legal[mover].iter().map(joint_move).collect()
}
