//! What constants would leave of a network, counted without making the smaller one.
//!
//! 64 assumptions are followed at once, one per bit of a word: each node has a word that says under
//! which of them it may be on, and one for off. So weighing many candidates costs little more than
//! reading the network's edges a few times.

use crate::ids::{BaseId, GateId, Id};
use crate::propnet::{GateKind, Network, Signal};

/// Assumptions that are followed at once.
pub(super) const LANES: usize = 64;

/// For each assumption, at most [`LANES`], the gates and edges that stay when the bases have the
/// values that it says: those that are no constants, no mere copies, and needed by some output.
/// Logic that becomes equal to other logic is not seen, so this is more than will be left, but for
/// blocks, which are counted as if they were simplified.
pub(super) fn remaining(network: &Network, assumptions: &[Vec<(BaseId, bool)>]) -> Vec<usize> {
    let values = Values::under(network, assumptions);
    let is_needed = values.needed(network);
    let mut counts = Counts::default();
    values.for_each_edge(network, &is_needed, |gate, edges| {
        counts.add(gate);
        edges.iter().for_each(|&(_, lanes)| counts.add(lanes));
    });
    (0..assumptions.len()).map(|lane| counts.of(lane)).collect()
}

/// Under which assumptions a node may be on, and under which off.
#[derive(Clone, Copy)]
struct Value {
    on: u64,
    off: u64,
}

impl Value {
    const OPEN: Value = Value { on: !0, off: !0 };

    fn is_open(self) -> u64 {
        self.on & self.off
    }
}

struct Values {
    of_node: Vec<Value>,
    first_gate: usize,
}

impl Values {
    /// What follows from each of these assumptions, in the lane of its place.
    fn under(network: &Network, assumptions: &[Vec<(BaseId, bool)>]) -> Self {
        debug_assert!(assumptions.len() <= LANES);
        let (n_bases, n_moves) = (network.facts.len(), network.moves.len());
        let first_gate = 1 + n_bases + n_moves;
        let mut values = Values {
            of_node: vec![Value::OPEN; first_gate + network.gates.len()],
            first_gate,
        };
        values.of_node[0] = Value { on: 0, off: !0 };
        for (lane, known) in assumptions.iter().enumerate() {
            for &(base, is_on) in known {
                let value = &mut values.of_node[1 + base.index()];
                let excluded = if is_on { &mut value.off } else { &mut value.on };
                *excluded &= !(1 << lane);
            }
        }
        values.settle(network);
        // Moves that are never legal are never made, and a role's only one always is.
        let mut several = vec![0u64; network.roles.len()];
        let mut some = vec![0u64; network.roles.len()];
        for (mv, (role, _)) in network.moves.enumerate() {
            let is_possible = values.of(network.legal[mv]).on;
            several[role.index()] |= some[role.index()] & is_possible;
            some[role.index()] |= is_possible;
        }
        for (mv, (role, _)) in network.moves.enumerate() {
            let is_possible = values.of(network.legal[mv]).on;
            values.of_node[1 + n_bases + mv.index()] = Value {
                on: is_possible,
                off: !is_possible | several[role.index()],
            };
        }
        values.settle(network);
        values
    }

    fn of(&self, signal: Signal) -> Value {
        let Value { on, off } = self.of_node[signal.node_number()];
        if signal.is_inverted() {
            Value { on: off, off: on }
        } else {
            Value { on, off }
        }
    }

    /// Carries what is known through all gates, inputs first. What a member of a block is told of a
    /// later one is what was known of that before.
    fn settle(&mut self, network: &Network) {
        for (id, gate) in network.gates.enumerate() {
            let inputs = network.inputs(id).iter().map(|&input| self.of(input));
            self.of_node[self.first_gate + id.index()] = match gate.kind {
                GateKind::And => inputs.fold(Value { on: !0, off: 0 }, |all, input| Value {
                    on: all.on & input.on,
                    off: all.off | input.off,
                }),
                GateKind::Or => inputs.fold(Value { on: 0, off: !0 }, |any, input| Value {
                    on: any.on | input.on,
                    off: any.off & input.off,
                }),
            };
        }
    }

    /// Per gate, in which lanes an output needs it.
    fn needed(&self, network: &Network) -> Vec<u64> {
        let mut is_needed = vec![0u64; network.gates.len()];
        let gate_of = |signal: Signal| signal.node_number().checked_sub(self.first_gate);
        let outputs = network.next.iter().chain(network.legal.iter());
        outputs
            .chain([&network.terminal])
            .chain(network.goals.iter().map(|(_, _, signal)| signal))
            .filter_map(|&signal| gate_of(signal))
            .for_each(|gate| is_needed[gate] = !0);
        // Whoever uses a gate comes after it, but for the members of its own block.
        let members = network.blocks.iter().flatten();
        members.for_each(|gate| is_needed[gate.index()] = !0);
        for index in (0..network.gates.len()).rev() {
            let stays = is_needed[index] & self.of_node[self.first_gate + index].is_open();
            if stays != 0 {
                let inputs = network.inputs(GateId::from_index(index)).iter();
                inputs
                    .filter_map(|&input| gate_of(input))
                    .for_each(|gate| is_needed[gate] |= stays);
            }
        }
        is_needed
    }

    /// Hands over each gate that stays: the lanes in which it does, and its inputs with the lanes
    /// in which these do.
    fn for_each_edge(
        &self,
        network: &Network,
        is_needed: &[u64],
        mut with: impl FnMut(u64, &[(Signal, u64)]),
    ) {
        let mut edges = Vec::new();
        for (index, needed) in is_needed.iter().enumerate() {
            let stays = needed & self.of_node[self.first_gate + index].is_open();
            if stays == 0 {
                continue;
            }
            let inputs = network.inputs(GateId::from_index(index)).iter();
            // A gate of one open input is a copy of it.
            let (mut one, mut two) = (0, 0);
            edges.clear();
            edges.extend(inputs.map(|&input| {
                let is_open = self.of(input).is_open();
                two |= one & is_open;
                one |= is_open;
                (input, is_open)
            }));
            let stays = stays & two;
            edges.iter_mut().for_each(|(_, lanes)| *lanes &= stays);
            with(stays, &edges);
        }
    }
}

/// A number per lane, the n-th bits of all of them in the n-th word.
#[derive(Default)]
struct Counts {
    digits: [u64; 32],
}

impl Counts {
    /// Adds one in these lanes.
    fn add(&mut self, lanes: u64) {
        let mut carry = lanes;
        for digit in &mut self.digits {
            if carry == 0 {
                break;
            }
            (*digit, carry) = (*digit ^ carry, *digit & carry);
        }
    }

    fn of(&self, lane: usize) -> usize {
        let digits = self.digits.iter().enumerate();
        digits
            .map(|(place, digit)| ((digit >> lane & 1) as usize) << place)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gdl;
    use crate::ground::{Budget, ground};
    use crate::propnet::passes::assume::assume;

    const SHEET: &str = "
        (role a) (role b) (init (turn a)) (init (at 1)) (step 1 2) (step 2 3) (step 3 4) (step 4 1)
        (<= (next (turn b)) (true (turn a))) (<= (next (turn a)) (true (turn b)))
        (<= (legal ?r (open ?x)) (true (turn ?r)) (step ?x ?y) (not (true (open ?x))))
        (<= (legal ?r wait) (role ?r) (not (true (turn ?r))))
        (<= (next (open ?x)) (does ?r (open ?x)))
        (<= (next (open ?x)) (true (open ?x)) (not (blocked ?x)))
        (<= (blocked ?x) (reach ?x) (true (turn b)))
        (<= (next (at ?x)) (true (at ?x)))
        (<= (reach ?x) (true (at ?x)))
        (<= (reach ?y) (true (at ?x)) (step ?x ?y) (true (open ?x)))
        (<= (reach ?z) (true (at ?x)) (step ?x ?y) (true (open ?x)) (step ?y ?z) (true (open ?y)))
        (<= terminal (reach 3))
        (<= (goal a 100) (true (turn a))) (<= (goal a 0) (true (turn b)))
        (<= (goal b 100) (true (turn b))) (<= (goal b 0) (true (turn a)))";

    #[test]
    fn lanes_count_what_is_left_under_their_own_assumption() {
        let program = ground(&gdl::load(SHEET).0, Budget::generous()).expect("it can be grounded");
        let network = crate::propnet::build(&program, Budget::generous()).expect("a network");
        let bases: Vec<BaseId> = network.facts.ids().collect();
        let mut assumptions = vec![Vec::new()];
        for &base in &bases {
            assumptions.push(vec![(base, true)]);
            assumptions.push(vec![(base, false)]);
        }
        let together = remaining(&network, &assumptions);
        let all = network.gates.len() + network.n_edges();
        assert!(together[0] <= all && together[0] > all * 3 / 4);
        for (known, &size) in assumptions.iter().zip(&together).skip(1) {
            assert_eq!(remaining(&network, std::slice::from_ref(known)), [size]);
            let made = assume(&network, known, Budget::generous()).expect("no limit");
            let left = made.gates.len() + made.n_edges();
            assert!(
                left <= size && size < together[0],
                "{left} {size} {known:?}"
            );
        }
    }
}
