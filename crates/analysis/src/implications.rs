//! Implications: unit propagation over the gates of a network, as in SAT solvers.
//!
//! Some signals are assumed, and all values that follow are derived, from inputs to outputs and
//! back: an AND with an input that is off is off, one that is on has all inputs on. With
//! [`Scope::Transitions`] exactly one legal move of each role is made: an illegal move is not made,
//! a move that is made is legal, and the last possible move of a role is made. With
//! [`Scope::States`], which includes terminal states, moves are free.
//!
//! Invariants: derived values hold in every state and for every legal joint move that agree with
//! the assumptions, or the assumptions are contradictory. The least fixpoint of a block is a
//! fixpoint, so propagation through its gates is sound, but incomplete. Undoing restores exactly
//! the earlier knowledge.

use std::ops::Range;

use super::csr::Csr;
use panza_gdl::{GateId, Id, MoveId};
use panza_propnet::{GateKind, Network, Node, Signal};
use panza_sync::Budget;

/// How a propagation ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// All derived values are known.
    Consistent,
    /// The assumptions are contradictory.
    Contradiction,
    /// The budget was spent: the values known so far are right, but not complete.
    BudgetSpent,
}

const UNKNOWN: u8 = 0;
const ON: u8 = 1;
const OFF: u8 = 2;

/// The states that are reasoned about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// All states; moves are free.
    States,
    /// States from which the game goes on, with legal moves.
    Transitions,
}

/// A network with a partial assignment of its nodes.
pub struct Implications<'a> {
    network: &'a Network,
    scope: Scope,
    first_move: usize,
    first_gate: usize,
    /// Per node.
    values: Vec<u8>,
    /// Per gate, the number of inputs (of the gate as an AND) that are not known to be on.
    n_not_on: Vec<u32>,
    /// Per node its gates: twice the gate, and whether the gate reads the node inverted.
    users: Csr<u32>,
    /// Per node the moves whose legality it is: twice the move, and whether the node is inverted.
    legal_of: Csr<u32>,
    /// Per role its moves, and how many of them may still be made.
    moves_of: Vec<Range<usize>>,
    n_possible: Vec<u32>,
    /// The signals that became known to be on, in order; those before `head` are propagated.
    trail: Vec<Signal>,
    head: usize,
    is_contradictory: bool,
}

impl<'a> Implications<'a> {
    /// The values that hold without assumptions; `None` when the budget is spent.
    pub fn new(network: &'a Network, scope: Scope, budget: &mut Budget) -> Option<Self> {
        let first_move = 1 + network.facts.len();
        let first_gate = first_move + network.moves.len();
        let n_nodes = first_gate + network.gates.len();
        budget.spend(n_nodes + network.n_edges())?;
        let mut pairs = Vec::with_capacity(network.n_edges());
        let mut n_not_on = Vec::with_capacity(network.gates.len());
        for (gate, content) in network.gates.enumerate() {
            let inputs = network.inputs(gate);
            let is_or = content.kind == GateKind::Or;
            n_not_on.push(inputs.len() as u32);
            pairs.extend(inputs.iter().map(|input| {
                let inverted = u32::from(input.is_inverted() != is_or);
                (input.node_number() as u32, gate.0 * 2 + inverted)
            }));
        }
        let users = Csr::new(n_nodes, &pairs);
        let of_moves: Vec<(u32, u32)> = network
            .legal
            .enumerate()
            .map(|(mv, legal)| {
                let item = mv.0 * 2 + u32::from(legal.is_inverted());
                (legal.node_number() as u32, item)
            })
            .collect();
        let of_moves = match scope {
            Scope::Transitions => of_moves,
            Scope::States => Vec::new(),
        };
        let legal_of = Csr::new(n_nodes, &of_moves);
        let mut moves_of = vec![0..0; network.roles.len()];
        for (mv, &(role, _)) in network.moves.enumerate() {
            let moves = &mut moves_of[role.index()];
            if moves.start == moves.end {
                *moves = mv.index()..mv.index();
            }
            moves.end = mv.index() + 1;
        }
        let mut made = Self {
            network,
            scope,
            first_move,
            first_gate,
            values: vec![UNKNOWN; n_nodes],
            n_not_on,
            users,
            legal_of,
            n_possible: moves_of.iter().map(|moves| moves.len() as u32).collect(),
            moves_of,
            trail: Vec::new(),
            head: 0,
            is_contradictory: false,
        };
        made.assume(Signal::TRUE);
        for gate in 0..made.n_not_on.len() {
            // Gates without inputs are constants.
            if made.n_not_on[gate] == 0 {
                made.assume(made.output(gate));
            }
        }
        if scope == Scope::Transitions {
            made.assume_moves();
        }
        (made.propagate(budget) == Outcome::Consistent).then_some(made)
    }

    /// Each role makes a move: gates that are on only if it makes none are off, and an only move is
    /// made.
    fn assume_moves(&mut self) {
        let mut n_inverted = vec![0usize; self.moves_of.len()];
        for (gate, content) in self.network.gates.enumerate() {
            let is_or = content.kind == GateKind::Or;
            n_inverted.fill(0);
            for &input in self.network.inputs(gate) {
                if let Node::Move(mv) = self.network.node(input)
                    && input.is_inverted() != is_or
                {
                    n_inverted[self.network.moves[mv].0.index()] += 1;
                }
            }
            let is_never = |(count, moves): (&usize, &Range<usize>)| {
                *count == moves.len() && !moves.is_empty()
            };
            if n_inverted.iter().zip(&self.moves_of).any(is_never) {
                self.assume(!self.output(gate.index()));
            }
        }
        for role in 0..self.moves_of.len() {
            self.make_last_move(role);
        }
    }

    /// The output of the gate, read as an AND.
    fn output(&self, gate: usize) -> Signal {
        let plain = Signal::of_node(self.first_gate + gate);
        match self.network.gates[GateId::from_index(gate)].kind {
            GateKind::And => plain,
            GateKind::Or => !plain,
        }
    }

    /// The value of a signal, if known.
    #[inline]
    pub fn value(&self, signal: Signal) -> Option<bool> {
        match self.values[signal.node_number()] {
            UNKNOWN => None,
            value => Some((value == ON) != signal.is_inverted()),
        }
    }

    /// The current point of the trail, for [`Self::undo_to`] and [`Self::known_since`].
    pub fn mark(&self) -> usize {
        self.trail.len()
    }

    /// The signals that became known to be on since then, assumptions included.
    pub fn known_since(&self, mark: usize) -> &[Signal] {
        &self.trail[mark..]
    }

    /// Assumes that the signal is on.
    #[inline]
    pub fn assume(&mut self, signal: Signal) {
        match self.value(signal) {
            Some(true) => {}
            Some(false) => self.is_contradictory = true,
            None => {
                self.values[signal.node_number()] = if signal.is_inverted() { OFF } else { ON };
                self.trail.push(signal);
            }
        }
    }

    /// Derives all values that follow from the assumptions.
    pub fn propagate(&mut self, budget: &mut Budget) -> Outcome {
        while !self.is_contradictory {
            let Some(&signal) = self.trail.get(self.head) else {
                return Outcome::Consistent;
            };
            let node = signal.node_number();
            let users = self.users.range(node);
            if budget.spend(1 + users.len()).is_none() {
                return Outcome::BudgetSpent;
            }
            self.head += 1;
            for user in users {
                let item = self.users.items[user];
                let gate = (item >> 1) as usize;
                if (item & 1 == 1) == signal.is_inverted() {
                    self.n_not_on[gate] -= 1;
                    if self.n_not_on[gate] == 0 {
                        self.assume(self.output(gate));
                    } else if self.n_not_on[gate] == 1 {
                        self.propagate_to_last_input(gate, budget);
                    }
                } else {
                    self.assume(!self.output(gate));
                }
            }
            for index in self.legal_of.range(node) {
                let item = self.legal_of.items[index];
                if (item & 1 == 1) != signal.is_inverted() {
                    let mv = (item >> 1) as usize;
                    self.assume(!Signal::of_node(self.first_move + mv));
                }
            }
            if node >= self.first_gate {
                self.propagate_to_inputs(node - self.first_gate, budget);
            } else if node >= self.first_move && self.scope == Scope::Transitions {
                self.propagate_move(node - self.first_move, !signal.is_inverted(), budget);
            }
        }
        Outcome::Contradiction
    }

    /// A gate that is off has an input that is off: the last one, if all others are on.
    fn propagate_to_last_input(&mut self, gate: usize, budget: &mut Budget) {
        let output = self.output(gate);
        if self.value(output) != Some(false) {
            return;
        }
        let network = self.network;
        let id = GateId::from_index(gate);
        let is_or = network.gates[id].kind == GateKind::Or;
        let _ = budget.spend(network.inputs(id).len());
        for &input in network.inputs(id) {
            let input = if is_or { !input } else { input };
            if self.value(input).is_none() {
                self.assume(!input);
            }
        }
    }

    /// The consequences of a gate's value for its inputs.
    fn propagate_to_inputs(&mut self, gate: usize, budget: &mut Budget) {
        let network = self.network;
        let id = GateId::from_index(gate);
        match self.value(self.output(gate)) {
            Some(true) => {
                let is_or = network.gates[id].kind == GateKind::Or;
                let _ = budget.spend(network.inputs(id).len());
                for &input in network.inputs(id) {
                    self.assume(if is_or { !input } else { input });
                }
            }
            Some(false) if self.n_not_on[gate] == 1 => self.propagate_to_last_input(gate, budget),
            _ => {}
        }
    }

    fn propagate_move(&mut self, mv: usize, is_made: bool, budget: &mut Budget) {
        let (role, _) = self.network.moves[MoveId::from_index(mv)];
        let role = role.index();
        if is_made {
            self.assume(self.network.legal[MoveId::from_index(mv)]);
            let _ = budget.spend(self.moves_of[role].len());
            for other in self.moves_of[role].clone() {
                if other != mv {
                    self.assume(!Signal::of_node(self.first_move + other));
                }
            }
        } else {
            self.n_possible[role] -= 1;
            self.make_last_move(role);
        }
    }

    fn make_last_move(&mut self, role: usize) {
        if self.n_possible[role] != 1 {
            return;
        }
        for mv in self.moves_of[role].clone() {
            let made = Signal::of_node(self.first_move + mv);
            if self.value(made).is_none() {
                self.assume(made);
            }
        }
    }

    /// Forgets the values that became known since the mark.
    pub fn undo_to(&mut self, mark: usize) {
        while self.trail.len() > mark {
            let Some(signal) = self.trail.pop() else {
                break;
            };
            let node = signal.node_number();
            self.values[node] = UNKNOWN;
            if self.trail.len() >= self.head {
                continue;
            }
            for &item in self.users.row(node) {
                if (item & 1 == 1) == signal.is_inverted() {
                    self.n_not_on[(item >> 1) as usize] += 1;
                }
            }
            if (self.first_move..self.first_gate).contains(&node) && signal.is_inverted() {
                let mv = MoveId::from_index(node - self.first_move);
                self.n_possible[self.network.moves[mv].0.index()] += 1;
            }
        }
        self.head = self.head.min(mark);
        self.is_contradictory = false;
    }

    /// The nodes of the gates that read this node.
    pub fn users(&self, node: usize) -> impl Iterator<Item = usize> {
        let users = self.users.row(node).iter();
        users.map(|item| self.first_gate + (item >> 1) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{base, budget, mv, network};
    use panza_gdl::BaseId;
    use panza_sync::Budget;

    fn base_signal(base: BaseId) -> Signal {
        Signal::of_node(1 + base.index())
    }

    fn move_signal(network: &Network, text: &str) -> Signal {
        Signal::of_node(1 + network.facts.len() + mv(network, text).index())
    }

    /// A step counter, and a lamp that only `on` lights, which is legal while the lamp is off.
    const LAMP: &str = "
        (role r) (init (step 1)) (succ 1 2) (succ 2 3)
        (<= (legal r on) (not (true lit)))
        (<= (legal r wait) (true lit))
        (<= (next lit) (does r on))
        (<= (next lit) (true lit))
        (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))
        (<= anyMove (does r ?m))
        (<= (next seen) anyMove)
        (<= terminal (true (step 3)))
        (<= (goal r 100) (true lit))
        (<= (goal r 0) (not (true lit)))";

    #[test]
    fn legality_decides_moves_and_moves_decide_legality() {
        let network = network(LAMP);
        let mut budget = budget();
        let mut known = Implications::new(&network, Scope::Transitions, &mut budget).unwrap();
        let lit = base_signal(base(&network, "lit"));
        let next_lit = network.next[base(&network, "lit")];
        assert_eq!(known.value(next_lit), None);
        let mark = known.mark();
        known.assume(lit);
        assert_eq!(known.propagate(&mut budget), Outcome::Consistent);
        assert_eq!(known.value(next_lit), Some(true));
        assert_eq!(known.value(move_signal(&network, "on")), Some(false));
        assert_eq!(known.value(move_signal(&network, "wait")), Some(true));
        known.undo_to(mark);
        assert_eq!(known.value(lit), None);
        known.assume(move_signal(&network, "wait"));
        assert_eq!(known.propagate(&mut budget), Outcome::Consistent);
        assert_eq!(known.value(lit), Some(true), "a move that is made is legal");
        known.assume(move_signal(&network, "on"));
        assert_eq!(known.propagate(&mut budget), Outcome::Contradiction);
    }

    #[test]
    fn each_role_moves_in_transitions_only() {
        let network = network(LAMP);
        let seen = network.next[base(&network, "seen")];
        let known = Implications::new(&network, Scope::Transitions, &mut budget()).unwrap();
        assert_eq!(known.value(seen), Some(true));
        let known = Implications::new(&network, Scope::States, &mut budget()).unwrap();
        assert_eq!(known.value(seen), None);
    }

    #[test]
    fn undoing_restores_earlier_knowledge() {
        let network = network(LAMP);
        let mut budget = budget();
        let mut known = Implications::new(&network, Scope::Transitions, &mut budget).unwrap();
        let before = (
            known.values.clone(),
            known.n_not_on.clone(),
            known.n_possible.clone(),
        );
        let mark = known.mark();
        for fact in network.facts.ids() {
            for assumed in [base_signal(fact), !base_signal(fact)] {
                known.assume(assumed);
                known.propagate(&mut budget);
                known.undo_to(mark);
                let after = (
                    known.values.clone(),
                    known.n_not_on.clone(),
                    known.n_possible.clone(),
                );
                assert_eq!(before, after);
            }
        }
    }

    #[test]
    fn a_spent_budget_ends_construction() {
        let network = network(LAMP);
        assert!(Implications::new(&network, Scope::States, &mut Budget::of_steps(3)).is_none());
    }
}
