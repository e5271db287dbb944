//! Expansion by a reasoner, one position after the other.
//!
//! Steps from one state that follow each other are made together, before the reasoner is set to
//! each resulting position; these differ little, which suits an incremental engine.
//!
//! Never uses: the reasoner's engine.

use super::{Expander, ExpansionStep, PositionBatch, Reasoner};
use panza_gdl::{Id, RoleId};

/// An expander that uses a reasoner.
pub struct SequentialExpander {
    n_roles: usize,
    reasoner: Box<dyn Reasoner>,
    next: Vec<u64>,
}

impl SequentialExpander {
    /// An expander of a game with so many roles. Nothing else may use the reasoner.
    pub fn new(n_roles: usize, reasoner: Box<dyn Reasoner>) -> Self {
        Self {
            n_roles,
            reasoner,
            next: Vec::new(),
        }
    }

    fn expand_run(
        &mut self,
        steps: &[ExpansionStep<'_>],
        with_legal: bool,
        positions: &mut PositionBatch,
    ) {
        let first = positions.state_ends.len();
        let mut is_there = false;
        for step in steps {
            match step.joint_move {
                None => positions.states.extend_from_slice(step.state),
                Some(joint_move) => {
                    if !is_there {
                        self.reasoner.set_state(step.state);
                        is_there = true;
                    }
                    self.reasoner.next_state(joint_move, &mut self.next);
                    positions.states.extend_from_slice(&self.next);
                }
            }
            positions.state_ends.push(positions.states.len() as u32);
        }
        for index in first..positions.state_ends.len() {
            self.reasoner.set_state(positions.state(index));
            self.append_current(with_legal, positions);
        }
    }

    fn append_current(&mut self, with_legal: bool, positions: &mut PositionBatch) {
        let is_terminal = self.reasoner.is_terminal();
        positions.terminal.push(is_terminal);
        let start = positions.goals.len();
        positions.goals.resize(start + self.n_roles, None);
        if is_terminal {
            self.reasoner.goals(&mut positions.goals[start..]);
        }
        if !with_legal {
            return;
        }
        for role in 0..self.n_roles {
            let start = positions.legal.len();
            let legal = self.reasoner.legal_moves(RoleId::from_index(role));
            positions.legal.extend_from_slice(legal);
            let legal = &mut positions.legal[start..];
            if !legal.is_sorted() {
                legal.sort_unstable();
            }
            positions.legal_ends.push(positions.legal.len() as u32);
        }
    }
}

impl Expander for SequentialExpander {
    fn width(&self) -> usize {
        1
    }

    fn expand(
        &mut self,
        steps: &[ExpansionStep<'_>],
        with_legal: bool,
        positions: &mut PositionBatch,
    ) {
        positions.clear(self.n_roles);
        for run in steps.chunk_by(|step, other| step.state == other.state) {
            self.expand_run(run, with_legal, positions);
        }
    }
}
