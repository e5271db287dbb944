//! The course of a game at a table: its position and the states before it.
//!
//! Invariant: each joint move was legal.

use std::sync::Arc;

use panza_machine::machine::{GameInfo, Machine};
use panza_player::player::Position;
use panza_rules::ids::{Id, MoveId, RoleId};

pub(super) struct Course {
    /// The present position.
    pub position: Position,
    /// The states before it.
    earlier: Vec<Vec<u64>>,
}

impl Course {
    /// A game at its start.
    pub fn new(machine: &Arc<dyn Machine>) -> Self {
        Self {
            position: Position::new(machine),
            earlier: Vec::new(),
        }
    }

    /// The joint moves made.
    pub fn turn(&self) -> usize {
        self.earlier.len()
    }

    /// Makes a joint move, which must be legal.
    pub fn make(&mut self, joint_move: &[MoveId]) {
        self.earlier.push(self.position.state().to_vec());
        self.position.make(joint_move);
    }

    /// Takes back the joint moves from this turn on.
    pub fn go_back(&mut self, turn: usize) {
        if let Some(state) = self.earlier.get(turn) {
            self.position.go_to(state.clone());
            self.earlier.truncate(turn);
        }
    }

    /// The last turn before the present one on which one of these roles had a choice.
    pub fn last_choice(&mut self, is_chooser: &[bool]) -> Option<usize> {
        let present = self.position.state().to_vec();
        let found = (0..self.turn()).rev().find(|&turn| {
            self.position.go_to(self.earlier[turn].clone());
            let mut roles = (0..is_chooser.len()).filter(|&role| is_chooser[role]);
            roles.any(|role| self.legal(role).len() > 1)
        });
        self.position.go_to(present);
        found
    }

    /// The legal moves of the role at this place.
    pub fn legal(&mut self, role: usize) -> &[MoveId] {
        self.position.legal_moves(RoleId::from_index(role))
    }

    pub fn info(&self) -> &dyn GameInfo {
        self.position.info()
    }
}
