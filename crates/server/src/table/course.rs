//! The course of a game: its states and joint moves up to now.
//!
//! Invariant: there is one state more than there are joint moves, and each joint move was legal.

use std::sync::Arc;

use panza_machine::machine::{GameInfo, Machine, Reasoner};
use panza_rules::ids::{Id, MoveId, RoleId};

pub(super) struct Course {
    machine: Arc<dyn Machine>,
    reasoner: Box<dyn Reasoner>,
    states: Vec<Vec<u64>>,
    joint_moves: Vec<Vec<MoveId>>,
}

impl Course {
    /// A game at its start.
    pub fn new(machine: &Arc<dyn Machine>) -> Self {
        let mut course = Self {
            machine: Arc::clone(machine),
            reasoner: Arc::clone(machine).reasoner(),
            states: vec![machine.initial_state()],
            joint_moves: Vec::new(),
        };
        course.go_to_last();
        course
    }

    fn go_to_last(&mut self) {
        if let Some(state) = self.states.last() {
            self.reasoner.set_state(state);
        }
    }

    pub fn info(&self) -> &dyn GameInfo {
        self.machine.info()
    }

    /// The joint moves made.
    pub fn turn(&self) -> usize {
        self.joint_moves.len()
    }

    /// The present state.
    pub fn state(&self) -> &[u64] {
        self.states.last().map_or(&[], Vec::as_slice)
    }

    pub fn facts(&self) -> Vec<String> {
        self.info().state_facts(self.state())
    }

    pub fn is_terminal(&mut self) -> bool {
        self.reasoner.is_terminal()
    }

    pub fn legal(&mut self, role: usize) -> &[MoveId] {
        self.reasoner.legal_moves(RoleId::from_index(role))
    }

    /// Each role's goal here.
    pub fn goals(&mut self) -> Vec<Option<u8>> {
        let mut goals = vec![None; self.info().n_roles()];
        self.reasoner.goals(&mut goals);
        goals
    }

    /// Makes a joint move, which must be legal.
    pub fn make(&mut self, joint_move: Vec<MoveId>) {
        let mut next = Vec::with_capacity(self.state().len());
        self.reasoner.next_state(&joint_move, &mut next);
        self.joint_moves.push(joint_move);
        self.states.push(next);
        self.go_to_last();
    }

    /// Takes back the joint moves from this turn on.
    pub fn go_back(&mut self, turn: usize) {
        self.joint_moves.truncate(turn);
        self.states.truncate(self.joint_moves.len() + 1);
        self.go_to_last();
    }

    /// The last turn before the present one on which one of these roles had a choice.
    pub fn last_choice(&mut self, is_chooser: &[bool]) -> Option<usize> {
        let found = (0..self.turn()).rev().find(|&turn| {
            self.reasoner.set_state(&self.states[turn]);
            let mut roles = (0..is_chooser.len()).filter(|&role| is_chooser[role]);
            roles.any(|role| self.legal(role).len() > 1)
        });
        self.go_to_last();
        found
    }
}
