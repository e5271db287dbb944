//! Recursion inside a state: the loop of a block.
//!
//! A block is a strongly connected component of gates. Its values are the least fixpoint, from all
//! gates off. An iteration computes gates one after the other, each from the newest values of the
//! others (Gauss-Seidel). It sweeps through the block in the order in which gates can switch on,
//! then back, so that changes travel far in one iteration whichever way they go.
//!
//! Gates with one user are merged into it. Of the others, those that the first sweep reads before
//! it computes them are carried from one iteration to the next: a feedback vertex set. The second
//! sweep is compared with the first only in gates that it reads before it computes them again. If
//! these are equal, so is all else, and the values are a fixpoint.
//!
//! Invariants: no gate of a block is inverted inside it, so an iteration is a monotone function.
//! Started from all gates off, it stays below the least fixpoint and never switches a gate off
//! (Kleene), so it ends there.
//!
//! Never uses: how a move is chosen.

use super::super::program::{FixpointLoop, Location};
use super::circuit::{Circuit, Function, Literal, Node as Value, Stage};
use super::cover::{LutCover, MAX_DEPTH};
use panza_gdl::{GateId, GroupedLists, Id};
use panza_propnet::{GateKind, Network, Node, Signal};
use rustc_hash::FxHashMap;

/// The table that adds a difference: the first, or one of the others but not both.
const OR_DIFFERENCE: u8 = 0xf6;

/// Whether no gate of a block is inverted inside it: so stratified rules are compiled.
pub(super) fn are_monotone(network: &Network) -> bool {
    network.blocks.iter().all(|gates| {
        let mut inputs = gates.iter().flat_map(|&gate| network.inputs(gate));
        inputs.all(|&input| inside(network, gates, input).is_none() || !input.is_inverted())
    })
}

/// The position in a block of the gate that a signal comes from. The gates of a block have
/// consecutive numbers.
fn inside(network: &Network, gates: &[GateId], signal: Signal) -> Option<usize> {
    let Node::Gate(gate) = network.node(signal) else {
        return None;
    };
    let position = gate.index().checked_sub(gates.first()?.index())?;
    (position < gates.len()).then_some(position)
}

impl LutCover<'_> {
    /// Makes the literals of a block's gates, and returns the loop that has to run before they are
    /// used, if there is any.
    pub(super) fn block(&mut self, circuit: &mut Circuit, block: u32) -> Option<Stage> {
        let gates = &self.network.blocks[block as usize];
        let mut roots = self.supported_order(gates);
        self.cut_trees(gates);
        roots.retain(|&gate| self.is_root[gate]);
        let roots = self.without_invariants(circuit, roots);
        let mut position: FxHashMap<GateId, usize> = FxHashMap::default();
        position.extend(roots.iter().copied().zip(0..));
        // Whether the first sweep, and whether the second, reads a gate before it computes it.
        let mut is_carried = vec![false; roots.len()];
        let mut is_read_again = vec![false; roots.len()];
        for (reader, &root) in roots.iter().enumerate() {
            for read in self.roots_read_by(root, &position) {
                is_carried[read] |= reader <= read;
                is_read_again[read] |= reader >= read;
            }
        }
        let first = self.n_slots;
        let mut end = first;
        for (index, &root) in roots.iter().enumerate() {
            if is_carried[index] {
                self.literals[root] = Some(circuit.location(Location::Slot(end)));
                end += 1;
            }
        }
        for &root in &roots {
            self.literals[root] = Some(self.value_of(circuit, root));
        }
        if end == first {
            return None;
        }
        let mut changed = Literal::FALSE;
        for (index, &root) in roots.iter().enumerate().rev() {
            let before = self.literals[root].unwrap_or(Literal::FALSE);
            let after = self.value_of(circuit, root);
            self.literals[root] = Some(after);
            if is_read_again[index] {
                changed = circuit.apply(OR_DIFFERENCE, changed, before, after);
            }
        }
        let carried = roots.iter().zip(is_carried).filter(|&(_, is)| is);
        let values = carried.map(|(&root, _)| self.literals[root].unwrap_or(Literal::FALSE));
        let mut outputs: Vec<(Literal, Location)> =
            values.zip((first..).map(Location::Slot)).collect();
        outputs.push((changed, Location::Slot(end)));
        self.n_slots = end + 1;
        Some(Stage {
            outputs,
            early: Vec::new(),
            repeat: Some(FixpointLoop {
                carried: first..end,
                changed: end,
            }),
        })
    }

    fn value_of(&mut self, circuit: &mut Circuit, gate: GateId) -> Literal {
        let function = self.gate(circuit, gate);
        circuit.value(function)
    }

    /// The gates in the order in which they switch on where all values outside are on. Gates that
    /// never do are off.
    fn supported_order(&mut self, gates: &[GateId]) -> Vec<GateId> {
        let network = self.network;
        let mut n_missing = vec![0u32; gates.len()];
        let mut edges = Vec::new();
        for (user, &gate) in gates.iter().enumerate() {
            let inputs = network.inputs(gate);
            let of_block = inputs
                .iter()
                .filter_map(|&input| inside(network, gates, input));
            let before = edges.len();
            edges.extend(of_block.map(|input| (input, user)));
            let n_inside = edges.len() - before;
            n_missing[user] = match network.gates[gate].kind {
                GateKind::And => n_inside as u32,
                GateKind::Or => u32::from(n_inside == inputs.len()),
            };
        }
        let users = GroupedLists::new(gates.len(), edges.into_iter());
        let mut order: Vec<usize> = (0..gates.len()).filter(|&at| n_missing[at] == 0).collect();
        let mut next = 0;
        while let Some(&gate) = order.get(next) {
            next += 1;
            for &user in users.of(gate) {
                if n_missing[user] > 0 {
                    n_missing[user] -= 1;
                    if n_missing[user] == 0 {
                        order.push(user);
                    }
                }
            }
        }
        for (&gate, n_missing) in gates.iter().zip(n_missing) {
            if n_missing > 0 {
                self.literals[gate] = Some(Literal::FALSE);
            }
        }
        order.into_iter().map(|at| gates[at]).collect()
    }

    fn is_merged(&self, gate: GateId) -> bool {
        !self.is_root[gate] && self.literals[gate].is_none()
    }

    /// Makes gates roots where trees of merged gates are too deep.
    fn cut_trees(&mut self, gates: &[GateId]) {
        let network = self.network;
        let mut user_of = vec![None; gates.len()];
        let mut n_open = vec![0u32; gates.len()];
        for (user, &gate) in gates.iter().enumerate() {
            for &input in network.inputs(gate) {
                if let Some(input) = inside(network, gates, input)
                    && self.is_merged(gates[input])
                {
                    user_of[input] = Some(user);
                    n_open[user] += 1;
                }
            }
        }
        let mut depths = vec![1u16; gates.len()];
        let mut open: Vec<usize> = (0..gates.len()).filter(|&at| n_open[at] == 0).collect();
        while let Some(at) = open.pop() {
            let Some(user) = user_of[at] else { continue };
            if depths[at] > MAX_DEPTH {
                self.is_root[gates[at]] = true;
            } else {
                depths[user] = depths[user].max(depths[at] + 1);
            }
            n_open[user] -= 1;
            if n_open[user] == 0 {
                open.push(user);
            }
        }
        // A cycle of merged gates would have no user outside.
        for (&gate, n_open) in gates.iter().zip(n_open) {
            self.is_root[gate] |= n_open > 0;
        }
    }

    /// The roots without those whose values do not depend on the block; these get their literals.
    fn without_invariants(&mut self, circuit: &mut Circuit, roots: Vec<GateId>) -> Vec<GateId> {
        // Unknown values are stood for by slots, which are used for the carried ones later. Nodes
        // made before these do not depend on them.
        let first = self.n_slots;
        let mut first_node = circuit.nodes.len();
        for (&root, slot) in roots.iter().zip(first..) {
            let literal = circuit.location(Location::Slot(slot));
            first_node = first_node.min(literal.node());
            self.literals[root] = Some(literal);
        }
        let mut changes: Vec<bool> = Vec::new();
        let has_changed = |changes: &[bool], node: usize| {
            let after = node.checked_sub(first_node);
            after.is_some_and(|after| changes[after])
        };
        let mut kept = Vec::new();
        for root in roots {
            let literal = self.value_of(circuit, root);
            for &node in &circuit.nodes[first_node + changes.len()..] {
                changes.push(match node {
                    Value::Constant => false,
                    Value::Location(Location::Slot(slot)) => slot >= first,
                    Value::Location(_) => false,
                    Value::Computed(function) => {
                        let mut inputs = function.inputs().iter();
                        inputs.any(|&input| has_changed(&changes, input as usize))
                    }
                });
            }
            if has_changed(&changes, literal.node()) {
                kept.push(root);
            } else {
                self.literals[root] = Some(literal);
            }
        }
        kept
    }

    /// The positions of the roots that a gate reads, through merged gates.
    fn roots_read_by(&self, gate: GateId, position: &FxHashMap<GateId, usize>) -> Vec<usize> {
        let mut found = Vec::new();
        let mut open = vec![gate];
        while let Some(gate) = open.pop() {
            for &input in self.network.inputs(gate) {
                if let Node::Gate(input) = self.network.node(input) {
                    if let Some(&position) = position.get(&input) {
                        found.push(position);
                    } else if self.block_of[input] == self.block_of[gate] && self.is_merged(input) {
                        open.push(input);
                    }
                }
            }
        }
        found
    }

    /// The function of a gate of a block. What does not change in the loop becomes one value.
    pub(super) fn gate_of_block(&mut self, circuit: &mut Circuit, gate: GateId) -> Function {
        let network = self.network;
        let is_or = network.gates[gate].kind == GateKind::Or;
        let (outside, inside) = self.split_inputs(circuit, gate);
        let mut functions = Vec::with_capacity(inside.len() + 1);
        if !outside.is_empty() {
            let outside: Vec<Literal> = outside
                .into_iter()
                .map(|literal| literal.inverted_if(is_or))
                .collect();
            functions.push(Function::literal(circuit.all(&outside)));
        }
        // In an OR, ANDs with the same value from outside are one AND of it and an OR.
        let mut groups: Vec<(Literal, Vec<Function>)> = Vec::new();
        let mut group_of: FxHashMap<Literal, usize> = FxHashMap::default();
        for input in inside {
            let merged = match network.node(input) {
                Node::Gate(gate) if is_or && self.is_merged(gate) => Some(gate),
                _ => None,
            };
            let merged = merged.filter(|&gate| network.gates[gate].kind == GateKind::And);
            let Some(merged) = merged else {
                let function = self.function(circuit, input).inverted_if(is_or);
                functions.push(function);
                continue;
            };
            let (outside, inside) = self.split_inputs(circuit, merged);
            let condition = circuit.all(&outside);
            let inside: Vec<Function> = inside
                .into_iter()
                .map(|input| self.function(circuit, input))
                .collect();
            let inside = circuit.conjunction(inside).inverted_if(true);
            let group = *group_of.entry(condition).or_insert_with(|| {
                groups.push((condition, Vec::new()));
                groups.len() - 1
            });
            groups[group].1.push(inside);
        }
        for (condition, alternatives) in groups {
            let any = circuit.conjunction(alternatives).inverted_if(true);
            let both = circuit.conjunction(vec![Function::literal(condition), any]);
            functions.push(both.inverted_if(true));
        }
        circuit.conjunction(functions).inverted_if(is_or)
    }

    /// The values of a gate's inputs from outside its block, and its inputs inside.
    fn split_inputs(&mut self, circuit: &mut Circuit, gate: GateId) -> (Vec<Literal>, Vec<Signal>) {
        let network = self.network;
        let gates = &network.blocks[self.block_of[gate] as usize];
        let (mut outside, mut inside_block) = (Vec::new(), Vec::new());
        for &input in network.inputs(gate) {
            if inside(network, gates, input).is_some() {
                inside_block.push(input);
            } else {
                let function = self.function(circuit, input);
                outside.push(circuit.value(function));
            }
        }
        (outside, inside_block)
    }
}
