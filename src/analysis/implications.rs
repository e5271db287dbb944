//! What follows from a few known values, whatever the rest may be.
//!
//! Some signals are assumed, everything else is unknown, and the gates are asked what they force:
//! an AND with an input that is off is off, one that is on has all inputs on, and so forth in both
//! directions (unit propagation, as satisfiability solvers do it). Where the game goes on
//! ([`Scope::Transitions`]) moves count as legal moves, one for each role: what is not legal is not
//! made, what is made is legal, and the last possible move of a role is made. Of states, final ones
//! among them ([`Scope::States`]), nothing of this kind is taken for granted.
//!
//! Invariants: what is told holds in every state and for every legal joint move that agree with
//! what was assumed, or the assumptions contradict each other. A block's least fixpoint is a
//! fixpoint, so its gates are asked like all others; what only the word 'least' decides stays
//! unknown. Undoing brings back exactly what was known before.
//!
//! Never knows: which assumptions are worth making.

use std::ops::Range;

use super::step_budget::StepBudget;
use crate::ids::{BaseId, GateId, Id, MoveId, RoleId};
use crate::propnet::{GateKind, Network, Node, Signal};

/// How a propagation ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Everything that follows is known.
    Consistent,
    /// The assumptions contradict each other.
    Contradiction,
    /// The budget was spent: what is known so far is right, and there may be more.
    BudgetSpent,
}

const UNKNOWN: u8 = 0;
const ON: u8 = 1;
const OFF: u8 = 2;

/// What is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// All states; moves are free.
    States,
    /// States from which the game goes on, with the legal moves that are made there.
    Transitions,
}

/// The network with what is known of each node.
pub struct Implications<'a> {
    network: &'a Network,
    scope: Scope,
    first_move: usize,
    first_gate: usize,
    /// Per node.
    values: Vec<u8>,
    /// Per gate, inputs (of the gate as an AND) that are not known to be on.
    n_not_on: Vec<u32>,
    /// Per node the end of its run in `users`.
    user_ends: Vec<u32>,
    /// Twice the gate, and whether it wants the node inverted.
    users: Vec<u32>,
    /// Per node the end of its run in `legal_of`.
    legal_ends: Vec<u32>,
    /// Twice the move, and whether it is legal when the node is off.
    legal_of: Vec<u32>,
    /// Per role its moves, and how many of them may still be made.
    moves_of: Vec<Range<usize>>,
    n_possible: Vec<u32>,
    /// What became known, in order; those before `head` have told their users.
    trail: Vec<Signal>,
    head: usize,
    is_contradictory: bool,
}

/// Runs one behind the other, from pairs of owner and item.
pub(super) fn runs(n_owners: usize, pairs: &[(u32, u32)]) -> (Vec<u32>, Vec<u32>) {
    let mut ends = vec![0u32; n_owners];
    for &(owner, _) in pairs {
        ends[owner as usize] += 1;
    }
    let mut end = 0;
    for count in &mut ends {
        let start = end;
        end += *count;
        // For now the start, which filling moves up to the end.
        *count = start;
    }
    let mut items = vec![0u32; pairs.len()];
    for &(owner, item) in pairs {
        let place = &mut ends[owner as usize];
        items[*place as usize] = item;
        *place += 1;
    }
    (ends, items)
}

/// Where the run of an owner lies.
#[inline]
pub(super) fn run(ends: &[u32], owner: usize) -> Range<usize> {
    let start = owner.checked_sub(1).map_or(0, |before| ends[before]);
    start as usize..ends[owner] as usize
}

impl<'a> Implications<'a> {
    /// What holds without any assumption. Nothing when the budget is spent.
    pub fn new(network: &'a Network, scope: Scope, budget: &mut StepBudget) -> Option<Self> {
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
        let (user_ends, users) = runs(n_nodes, &pairs);
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
        let (legal_ends, legal_of) = runs(n_nodes, &of_moves);
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
            user_ends,
            users,
            legal_ends,
            legal_of,
            n_possible: moves_of.iter().map(|moves| moves.len() as u32).collect(),
            moves_of,
            trail: Vec::new(),
            head: 0,
            is_contradictory: false,
        };
        made.assume(Signal::TRUE);
        for gate in 0..made.n_not_on.len() {
            // A gate of no inputs says what it says.
            if made.n_not_on[gate] == 0 {
                made.assume(made.output(gate));
            }
        }
        if scope == Scope::Transitions {
            made.assume_moves();
        }
        (made.propagate(budget) == Outcome::Consistent).then_some(made)
    }

    /// A role always makes a move: gates that ask whether it makes none, and moves that are its
    /// only one.
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

    /// What the gate, read as an AND, drives.
    fn output(&self, gate: usize) -> Signal {
        let plain = Signal::of_node(self.first_gate + gate);
        match self.network.gates[GateId::from_index(gate)].kind {
            GateKind::And => plain,
            GateKind::Or => !plain,
        }
    }

    /// What is known of a signal.
    #[inline]
    pub fn value(&self, signal: Signal) -> Option<bool> {
        match self.values[signal.node_number()] {
            UNKNOWN => None,
            value => Some((value == ON) != signal.is_inverted()),
        }
    }

    /// How much is known: to be handed to [`Self::undo_to`] and [`Self::known_since`].
    pub fn mark(&self) -> usize {
        self.trail.len()
    }

    /// The signals that were found to be on since then, assumptions among them.
    pub fn known_since(&self, mark: usize) -> &[Signal] {
        &self.trail[mark..]
    }

    /// Takes the signal to be on.
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

    /// Finds what follows from all that is assumed.
    pub fn propagate(&mut self, budget: &mut StepBudget) -> Outcome {
        while !self.is_contradictory {
            let Some(&signal) = self.trail.get(self.head) else {
                return Outcome::Consistent;
            };
            let node = signal.node_number();
            let users = run(&self.user_ends, node);
            if budget.spend(1 + users.len()).is_none() {
                return Outcome::BudgetSpent;
            }
            self.head += 1;
            for user in users {
                let item = self.users[user];
                let gate = (item >> 1) as usize;
                if (item & 1 == 1) == signal.is_inverted() {
                    self.n_not_on[gate] -= 1;
                    if self.n_not_on[gate] == 0 {
                        self.assume(self.output(gate));
                    } else if self.n_not_on[gate] == 1 {
                        self.look_back(gate, budget);
                    }
                } else {
                    self.assume(!self.output(gate));
                }
            }
            for place in run(&self.legal_ends, node) {
                let item = self.legal_of[place];
                if (item & 1 == 1) != signal.is_inverted() {
                    let mv = (item >> 1) as usize;
                    self.assume(!Signal::of_node(self.first_move + mv));
                }
            }
            if node >= self.first_gate {
                self.look_into_gate(node - self.first_gate, budget);
            } else if node >= self.first_move && self.scope == Scope::Transitions {
                self.take_in_move(node - self.first_move, !signal.is_inverted(), budget);
            }
        }
        Outcome::Contradiction
    }

    /// A gate that is off with all inputs but one on.
    fn look_back(&mut self, gate: usize, budget: &mut StepBudget) {
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
                // When the others' news has not come round yet, more than one may be unknown here
                // no longer.
                self.assume(!input);
            }
        }
    }

    /// What a gate's value says of its inputs.
    fn look_into_gate(&mut self, gate: usize, budget: &mut StepBudget) {
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
            Some(false) if self.n_not_on[gate] == 1 => self.look_back(gate, budget),
            _ => {}
        }
    }

    fn take_in_move(&mut self, mv: usize, is_made: bool, budget: &mut StepBudget) {
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

    /// Forgets what became known since the mark was taken.
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
            for user in run(&self.user_ends, node) {
                let item = self.users[user];
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
        let users = &self.users[run(&self.user_ends, node)];
        users
            .iter()
            .map(|item| self.first_gate + (item >> 1) as usize)
    }

    /// The signal of a base.
    pub fn base(&self, base: BaseId) -> Signal {
        Signal::of_node(1 + base.index())
    }

    /// The signal of a move.
    pub fn mv(&self, mv: MoveId) -> Signal {
        Signal::of_node(self.first_move + mv.index())
    }

    /// The moves of a role.
    pub fn moves_of(&self, role: RoleId) -> impl Iterator<Item = MoveId> + use<> {
        self.moves_of[role.index()].clone().map(MoveId::from_index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::{base, budget, mv, network};

    /// A counter that `up` moves on, and a lamp that only `on` lights, which needs the lamp to be
    /// off.
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
    fn what_is_not_legal_is_not_made_and_the_last_move_is() {
        let network = network(LAMP);
        let mut budget = budget();
        let mut known = Implications::new(&network, Scope::Transitions, &mut budget).unwrap();
        let lit = known.base(base(&network, "lit"));
        let next_lit = network.next[base(&network, "lit")];
        assert_eq!(known.value(next_lit), None);
        let mark = known.mark();
        known.assume(lit);
        assert_eq!(known.propagate(&mut budget), Outcome::Consistent);
        assert_eq!(known.value(next_lit), Some(true));
        assert_eq!(known.value(known.mv(mv(&network, "on"))), Some(false));
        assert_eq!(known.value(known.mv(mv(&network, "wait"))), Some(true));
        known.undo_to(mark);
        assert_eq!(known.value(lit), None);
        known.assume(known.mv(mv(&network, "wait")));
        assert_eq!(known.propagate(&mut budget), Outcome::Consistent);
        assert_eq!(known.value(lit), Some(true), "what is made is legal");
        known.assume(known.mv(mv(&network, "on")));
        assert_eq!(known.propagate(&mut budget), Outcome::Contradiction);
    }

    #[test]
    fn somebody_always_moves_where_the_game_goes_on() {
        let network = network(LAMP);
        let seen = network.next[base(&network, "seen")];
        let known = Implications::new(&network, Scope::Transitions, &mut budget()).unwrap();
        assert_eq!(known.value(seen), Some(true));
        let known = Implications::new(&network, Scope::States, &mut budget()).unwrap();
        assert_eq!(known.value(seen), None);
    }

    #[test]
    fn undoing_brings_back_what_was_known_before() {
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
            for assumed in [known.base(fact), !known.base(fact)] {
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
    fn a_spent_budget_ends_it() {
        let network = network(LAMP);
        assert!(
            Implications::new(&network, Scope::States, &mut StepBudget::new(3, None)).is_none()
        );
    }
}
