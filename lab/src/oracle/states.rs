//! States of a machine: legal moves, successors and ends, and lines of play.

use std::sync::Arc;

use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{Machine, Reasoner};
use panza_sync::Random;

/// Joint moves of the other roles in a state; states with more have no answer.
const MAX_REPLIES: usize = 4_096;

pub(super) type Legal = Vec<Vec<MoveId>>;

pub(super) struct States {
    pub machine: Arc<dyn Machine>,
    pub reasoner: Box<dyn Reasoner>,
}

impl States {
    pub fn new(machine: &Arc<dyn Machine>) -> Self {
        Self {
            machine: Arc::clone(machine),
            reasoner: Arc::clone(machine).reasoner(),
        }
    }

    fn n_roles(&self) -> usize {
        self.machine.info().n_roles()
    }

    pub fn is_over(&mut self, state: &[u64]) -> bool {
        self.reasoner.set_state(state);
        self.reasoner.is_terminal()
    }

    /// Each role's legal moves, ascending; nothing where the game is over or a role has none.
    pub fn choices(&mut self, state: &[u64]) -> Option<Legal> {
        if self.is_over(state) {
            return None;
        }
        let n_roles = self.n_roles();
        let legal = all_legal(self.reasoner.as_mut(), n_roles);
        legal.iter().all(|moves| !moves.is_empty()).then_some(legal)
    }

    pub fn after(&mut self, state: &[u64], joint_move: &[MoveId]) -> Vec<u64> {
        let mut next = Vec::with_capacity(state.len());
        self.reasoner.set_state(state);
        self.reasoner.next_state(joint_move, &mut next);
        next
    }
}

/// A random joint move.
pub(super) fn draw(legal: &Legal, random: &mut Random) -> Vec<MoveId> {
    legal.iter().map(|moves| *random.choose(moves)).collect()
}

/// Each role's legal moves in the reasoner's state, ascending.
pub(super) fn all_legal(reasoner: &mut dyn Reasoner, n_roles: usize) -> Legal {
    let sorted = |role| {
        let mut legal = reasoner.legal_moves(RoleId::from_index(role)).to_vec();
        legal.sort_unstable();
        legal
    };
    (0..n_roles).map(sorted).collect()
}

/// The role's goal in the reasoner's state; an undefined one counts 0.
pub(super) fn final_goal(reasoner: &mut dyn Reasoner, n_roles: usize, role: RoleId) -> u8 {
    reasoner.final_goals(n_roles)[role.index()]
}

/// How many ways the other roles can choose; nothing when there are too many.
pub(super) fn n_replies(legal: &Legal, role: RoleId) -> Option<usize> {
    let others = legal.iter().enumerate();
    let others = others.filter(|(other, _)| *other != role.index());
    others
        .map(|(_, moves)| moves.len())
        .try_fold(1usize, |count, n_moves| {
            count
                .checked_mul(n_moves)
                .filter(|&count| count <= MAX_REPLIES)
        })
}

/// The joint move of the role's move and one of the ways the others can choose, counted from 0.
pub(super) fn joint_move(legal: &Legal, role: RoleId, mv: MoveId, reply: usize) -> Vec<MoveId> {
    let mut rest = reply;
    let mut joint_move = Vec::with_capacity(legal.len());
    for (other, moves) in legal.iter().enumerate() {
        if other == role.index() {
            joint_move.push(mv);
        } else {
            joint_move.push(moves[rest % moves.len()]);
            rest /= moves.len();
        }
    }
    joint_move
}

/// Moves in the order of their texts.
pub(super) fn in_order(machine: &Arc<dyn Machine>, moves: &[MoveId]) -> Vec<MoveId> {
    let mut moves = moves.to_vec();
    moves.sort_by_cached_key(|&mv| machine.info().move_text(mv));
    moves
}

/// The texts of moves.
pub(super) fn texts(machine: &Arc<dyn Machine>, moves: &[MoveId]) -> Vec<String> {
    let text = |&mv: &MoveId| machine.info().move_text(mv);
    moves.iter().map(text).collect()
}

pub(super) struct Line {
    pub joint_moves: Vec<Vec<MoveId>>,
    /// The states before them, and the one after the last.
    pub states: Vec<Vec<u64>>,
}

impl Line {
    pub fn new(machine: &Arc<dyn Machine>) -> Self {
        Self {
            joint_moves: Vec::new(),
            states: vec![machine.initial_state()],
        }
    }

    /// The state after the last joint move.
    pub fn last(&self) -> &[u64] {
        &self.states[self.joint_moves.len()]
    }

    /// Appends a joint move that is legal in the last state.
    pub fn push(&mut self, states: &mut States, joint_move: Vec<MoveId>) {
        let next = states.after(self.last(), &joint_move);
        self.joint_moves.push(joint_move);
        self.states.push(next);
    }
}
