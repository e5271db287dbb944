//! The positions of a game at a table: the present one and the states of all turns.
//!
//! Invariant: each joint move was legal.

use std::sync::Arc;

use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{GameInfo, Machine};
use panza_player::Position;

pub(crate) struct GameHistory {
    /// The present position.
    pub position: Position,
    /// The states of all turns, that of the position last; shared with what the table shows.
    states: Vec<Arc<[u64]>>,
}

impl GameHistory {
    /// A game at its start.
    pub fn new(machine: &Arc<dyn Machine>) -> Self {
        Self::from(machine, machine.initial_state())
    }

    /// A game that begins with another state.
    pub fn from(machine: &Arc<dyn Machine>, state: Vec<u64>) -> Self {
        let mut position = Position::new(machine);
        position.go_to(state);
        Self {
            states: vec![position.state().into()],
            position,
        }
    }

    /// The joint moves made.
    pub fn turn(&self) -> usize {
        self.states.len() - 1
    }

    /// The states of all turns, that of the position last.
    pub fn states(&self) -> &[Arc<[u64]>] {
        &self.states
    }

    /// Makes a joint move, which must be legal.
    pub fn make(&mut self, joint_move: &[MoveId]) {
        self.position.make(joint_move);
        self.states.push(self.position.state().into());
    }

    /// Why the position could not be found, where the last joint move led nowhere.
    pub fn fault(&self) -> Option<String> {
        match &self.states[..] {
            [.., before, last] if before == last => self.position.fault(),
            _ => None,
        }
    }

    /// Takes back the joint moves from this turn on.
    pub fn go_back(&mut self, turn: usize) {
        if let Some(state) = self.states.get(turn) {
            self.position.go_to(state.to_vec());
            self.states.truncate(turn + 1);
        }
    }

    /// The last turn before the present one on which one of these roles had a choice.
    pub fn last_choice(&mut self, is_chooser: &[bool]) -> Option<usize> {
        let present = self.position.state().to_vec();
        let found = (0..self.turn()).rev().find(|&turn| {
            self.position.go_to(self.states[turn].to_vec());
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
