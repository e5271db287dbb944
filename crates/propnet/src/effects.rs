//! The effect of each move on the next state.
//!
//! The next value of each base is computed with one move made and none of the role's others. One
//! table merges equal gates, so two moves that leave the same signal have the same effect on that
//! base, whether the rules state it positively or by exclusion.
//!
//! Only what differs from the role making no move is computed per move, so a frame rule costs
//! little: most bases stay as they are under all moves but a few.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::builder::Builder;
use super::copy::copy_gates;
use super::network::{Gate, GateKind, Network, Node, Signal};
use panza_gdl::{BaseId, GateId, GroupedLists, Id, IdVec, MoveId, RoleId};
use panza_sync::Budget;

const CHECK_EVERY: usize = 1 << 10;
/// The most effects of all moves together.
const MAX_EFFECTS: usize = 1 << 24;
/// The most bytes that the table of gates may take.
const MAX_BYTES: usize = 1 << 29;

/// The effect of each move on the next state. Signals are over the bases and moves of the original
/// network, and over gates of their own.
#[derive(Clone, Debug)]
pub struct Effects {
    n_bases: usize,
    first_gate: usize,
    gates: IdVec<GateId, Gate>,
    inputs: Vec<Signal>,
    without: IdVec<RoleId, IdVec<BaseId, Signal>>,
    with: IdVec<MoveId, Vec<(BaseId, Signal)>>,
}

impl Effects {
    /// The next value of each base when the role makes none of its moves.
    pub fn without(&self, role: RoleId) -> &IdVec<BaseId, Signal> {
        &self.without[role]
    }

    /// The bases, in rising order, whose next value under the move differs from that without any
    /// move of the role, and their next values under the move.
    pub fn with(&self, mv: MoveId) -> &[(BaseId, Signal)] {
        &self.with[mv]
    }

    /// Whether a signal is that of a base itself.
    pub fn is_base(&self, signal: Signal, base: BaseId) -> bool {
        signal == Signal::of_base(base)
    }

    /// The bases in the cone of influence of some signals, each once, in rising order, and the
    /// number of nodes visited.
    pub fn bases_of(
        &self,
        signals: impl IntoIterator<Item = Signal>,
        visited: &mut VisitedNodes,
    ) -> (Vec<BaseId>, usize) {
        visited.start(self.first_gate + self.gates.len());
        let mut open: Vec<usize> = signals.into_iter().map(Signal::node_number).collect();
        let mut found = Vec::new();
        let mut n_visited = 0;
        while let Some(node) = open.pop() {
            n_visited += 1;
            if node == 0 || !visited.is_first(node) {
                continue;
            }
            if node <= self.n_bases {
                found.push(BaseId::from_index(node - 1));
            } else if let Some(gate) = node.checked_sub(self.first_gate) {
                let Gate { start, end, .. } = self.gates[GateId::from_index(gate)];
                let inputs = &self.inputs[start as usize..end as usize];
                open.extend(inputs.iter().map(|input| input.node_number()));
            }
        }
        found.sort_unstable();
        (found, n_visited)
    }
}

/// The nodes that a search has visited, cleared in constant time between searches.
#[derive(Clone, Debug, Default)]
pub struct VisitedNodes {
    marks: Vec<u32>,
    epoch: u32,
}

impl VisitedNodes {
    /// Clears the set, for numbers below `n`.
    pub fn start(&mut self, n: usize) {
        if self.marks.len() < n {
            self.marks.resize(n, 0);
        }
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            self.marks.fill(0);
            self.epoch = 1;
        }
    }

    /// Adds a number; whether it was new.
    pub fn is_first(&mut self, number: usize) -> bool {
        std::mem::replace(&mut self.marks[number], self.epoch) != self.epoch
    }
}

/// Computes the effect of each move. `None` when the time is up, the tables grow too large, or a
/// block depends on moves.
pub fn effects(network: &Network, budget: &Budget) -> Option<Effects> {
    let budget = budget.with_bytes(MAX_BYTES);
    let (n_bases, n_moves) = (network.facts.len(), network.moves.len());
    let mut builder = Builder::new(n_bases + n_moves, &budget);
    let copies = copy_gates(network, &mut builder, &Some, |builder, _, inputs, _| {
        Some(builder.and(inputs))
    });
    let original = copies.ok()?.gates;
    let original = original.iter().map(|&copy| copy.unwrap_or(Signal::FALSE));
    let original: IdVec<GateId, Signal> = original.collect();
    let used_by_gates = network.gates.ids().flat_map(|gate| {
        let inputs = network.inputs(gate).iter();
        inputs.map(move |&input| (input.node_number(), (gate, input)))
    });
    let used_by_next = network.next.enumerate();
    let used_by_next = used_by_next.map(|(base, &next)| (next.node_number(), (base, next)));
    let mut computation = EffectsBuilder {
        network,
        builder,
        users: GroupedLists::new(network.n_nodes(), used_by_gates),
        next_of: GroupedLists::new(network.n_nodes(), used_by_next),
        unmoved: IdVec::new(),
        unmoved_inputs: network.gates.iter().map(|_| Vec::new()).collect(),
        in_block: vec![false; network.gates.len()],
        n_steps: 0,
    };
    for gate in network.blocks.iter().flatten() {
        computation.in_block[gate.index()] = true;
    }
    let mut without = IdVec::new();
    let mut with: IdVec<MoveId, Vec<(BaseId, Signal)>> =
        network.moves.iter().map(|_| Vec::new()).collect();
    let mut n_effects = 0;
    for role in network.roles.ids() {
        computation.remove_moves(role, &original)?;
        without.push(computation.next_without(role));
        for (mv, _) in network.moves.enumerate().filter(|(_, of)| of.0 == role) {
            with[mv] = computation.effects_of(mv)?;
            n_effects += with[mv].len();
            if n_effects > MAX_EFFECTS {
                return None;
            }
        }
    }
    let (gates, inputs) = computation.builder.into_gates().ok()?;
    Some(Effects {
        n_bases,
        first_gate: 1 + n_bases + n_moves,
        gates,
        inputs,
        without,
        with,
    })
}

/// A changed input of a gate: the gate, the input, and the signal that replaces it.
type Changed = Reverse<(GateId, Signal, Signal)>;

struct EffectsBuilder<'a> {
    network: &'a Network,
    builder: Builder<'a>,
    /// Per node, the gates that use it, each with its input.
    users: GroupedLists<(GateId, Signal)>,
    /// Per node, the bases whose next value it is, each with that signal.
    next_of: GroupedLists<(BaseId, Signal)>,
    /// Each gate when the current role makes no move.
    unmoved: IdVec<GateId, Signal>,
    /// For gates that depend on the role's moves: their inputs, each with its signal when the role
    /// makes no move, without those that are then always on.
    unmoved_inputs: IdVec<GateId, Vec<(Signal, Signal)>>,
    in_block: Vec<bool>,
    /// Steps since the last check of the budget.
    n_steps: usize,
}

impl EffectsBuilder<'_> {
    fn step(&mut self) -> Option<()> {
        self.n_steps += 1;
        if self.n_steps >= CHECK_EVERY {
            self.n_steps = 0;
            self.builder.check().ok()?;
        }
        Some(())
    }

    fn remove_moves(&mut self, role: RoleId, original: &IdVec<GateId, Signal>) -> Option<()> {
        let network = self.network;
        self.unmoved = original.clone();
        self.unmoved_inputs.iter_mut().for_each(Vec::clear);
        let mut depends = vec![false; network.gates.len()];
        let mut inputs = Vec::new();
        for gate in network.gates.ids() {
            self.step()?;
            let depends_on_role =
                network
                    .inputs(gate)
                    .iter()
                    .any(|&input| match network.node(input) {
                        Node::Move(mv) => network.moves[mv].0 == role,
                        Node::Gate(before) => depends[before.index()],
                        _ => false,
                    });
            if !depends_on_role {
                continue;
            }
            if self.in_block[gate.index()] || network.gates[gate].kind == GateKind::Or {
                return None;
            }
            depends[gate.index()] = true;
            let mut unmoved_inputs = std::mem::take(&mut self.unmoved_inputs[gate]);
            for &input in network.inputs(gate) {
                let unmoved = self.unmoved_signal(role, input);
                if unmoved != Signal::TRUE {
                    unmoved_inputs.push((input, unmoved));
                }
            }
            inputs.clear();
            inputs.extend(unmoved_inputs.iter().map(|&(_, unmoved)| unmoved));
            self.unmoved_inputs[gate] = unmoved_inputs;
            self.unmoved[gate] = self.builder.and(&mut inputs);
        }
        Some(())
    }

    fn unmoved_signal(&self, role: RoleId, signal: Signal) -> Signal {
        match self.network.node(signal) {
            Node::Gate(gate) => self.unmoved[gate].inverted_if(signal.is_inverted()),
            Node::Move(mv) if self.network.moves[mv].0 == role => {
                Signal::FALSE.inverted_if(signal.is_inverted())
            }
            _ => signal,
        }
    }

    fn next_without(&self, role: RoleId) -> IdVec<BaseId, Signal> {
        let next = self.network.next.iter();
        next.map(|&signal| self.unmoved_signal(role, signal))
            .collect()
    }

    /// The bases whose next value under a move differs from that without one.
    fn effects_of(&mut self, mv: MoveId) -> Option<Vec<(BaseId, Signal)>> {
        let mut found = Vec::new();
        let mut open: BinaryHeap<Changed> = BinaryHeap::new();
        let move_node = self.network.move_node(mv);
        self.propagate(move_node, Signal::TRUE, &mut open, &mut found);
        let mut changed: Vec<(Signal, Signal)> = Vec::new();
        let mut inputs = Vec::new();
        let first_gate = self.network.first_gate();
        while let Some(&Reverse((gate, _, _))) = open.peek() {
            changed.clear();
            while let Some(&Reverse((other, input, value))) = open.peek()
                && other == gate
            {
                changed.push((input, value));
                open.pop();
            }
            self.step()?;
            let value = if changed.iter().any(|&(_, value)| value == Signal::FALSE) {
                Signal::FALSE
            } else {
                // The heap gives them in the order of the inputs.
                let is_unchanged = |input: Signal| {
                    changed
                        .binary_search_by_key(&input, |&(input, _)| input)
                        .is_err()
                };
                inputs.clear();
                inputs.extend(changed.iter().map(|&(_, value)| value));
                for &(input, unmoved) in &self.unmoved_inputs[gate] {
                    if is_unchanged(input) {
                        inputs.push(unmoved);
                        if unmoved == Signal::FALSE {
                            break;
                        }
                    }
                }
                self.n_steps += inputs.len() / 64;
                match inputs.last() {
                    Some(&Signal::FALSE) => Signal::FALSE,
                    _ => self.builder.and(&mut inputs),
                }
            };
            if value != self.unmoved[gate] {
                self.propagate(first_gate + gate.index(), value, &mut open, &mut found);
            }
        }
        found.sort_unstable();
        Some(found)
    }

    /// Adds a node's new value to the inputs and next values that use it.
    fn propagate(
        &self,
        node: usize,
        value: Signal,
        open: &mut BinaryHeap<Changed>,
        found: &mut Vec<(BaseId, Signal)>,
    ) {
        for &(gate, input) in self.users.of(node) {
            open.push(Reverse((
                gate,
                input,
                value.inverted_if(input.is_inverted()),
            )));
        }
        for &(base, signal) in self.next_of.of(node) {
            found.push((base, value.inverted_if(signal.is_inverted())));
        }
    }
}
