//! The size of a network under assumptions, counted without building the smaller network.
//!
//! Ternary simulation (on, off, unknown) of 64 assumptions at once, one per bit of a word: each
//! node has a word for the assumptions under which it may be on, and one for off. So ranking many
//! candidates costs little more than reading the network's edges a few times.

use crate::{GateKind, Network, Signal};
use panza_gdl::{BaseId, GateId, Id};

pub(super) const LANES: usize = 64;

/// Per assumption, at most [`LANES`], the gates and edges that remain when the bases have the given
/// values, neither constant nor copies, in the cone of some output. An upper bound, as gates may
/// become equal, except that blocks are counted as if they were simplified.
pub(super) fn remaining(network: &Network, assumptions: &[Vec<(BaseId, bool)>]) -> Vec<usize> {
    let values = Values::under(network, assumptions);
    let mut counts = Counts::default();
    for (index, needed) in values.needed(network).into_iter().enumerate() {
        let inputs = network.inputs(GateId::from_index(index)).iter();
        let unknown = inputs.map(|&input| values.of(input).is_unknown());
        // A gate of one unknown input is a copy of it.
        let (_, several) = unknown.clone().fold((0, 0), |(one, several), lanes| {
            (one | lanes, several | one & lanes)
        });
        let stays = needed & several & values.of_node[values.first_gate + index].is_unknown();
        if stays != 0 {
            counts.add(stays);
            unknown.for_each(|lanes| counts.add(lanes & stays));
        }
    }
    (0..assumptions.len()).map(|lane| counts.of(lane)).collect()
}

/// The ternary value of a node in 64 lanes: where it may be on, and where off.
#[derive(Clone, Copy)]
struct Ternary {
    on: u64,
    off: u64,
}

impl Ternary {
    const UNKNOWN: Ternary = Ternary { on: !0, off: !0 };

    fn is_unknown(self) -> u64 {
        self.on & self.off
    }
}

struct Values {
    of_node: Vec<Ternary>,
    first_gate: usize,
}

impl Values {
    /// The values that follow from each of these assumptions, in the lane of its index.
    fn under(network: &Network, assumptions: &[Vec<(BaseId, bool)>]) -> Self {
        debug_assert!(assumptions.len() <= LANES);
        let n_bases = network.facts.len();
        let first_gate = network.first_gate();
        let mut values = Values {
            of_node: vec![Ternary::UNKNOWN; network.n_nodes()],
            first_gate,
        };
        values.of_node[0] = Ternary { on: 0, off: !0 };
        for (lane, known) in assumptions.iter().enumerate() {
            for &(base, is_on) in known {
                let value = &mut values.of_node[1 + base.index()];
                let excluded = if is_on { &mut value.off } else { &mut value.on };
                *excluded &= !(1 << lane);
            }
        }
        values.propagate(network);
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
            values.of_node[1 + n_bases + mv.index()] = Ternary {
                on: is_possible,
                off: !is_possible | several[role.index()],
            };
        }
        values.propagate(network);
        values
    }

    fn of(&self, signal: Signal) -> Ternary {
        let Ternary { on, off } = self.of_node[signal.node_number()];
        if signal.is_inverted() {
            Ternary { on: off, off: on }
        } else {
            Ternary { on, off }
        }
    }

    /// Within a block, a later member counts with its value of the previous call.
    fn propagate(&mut self, network: &Network) {
        for (id, gate) in network.gates.enumerate() {
            let inputs = network.inputs(id).iter().map(|&input| self.of(input));
            self.of_node[self.first_gate + id.index()] = match gate.kind {
                GateKind::And => inputs.fold(Ternary { on: !0, off: 0 }, |all, input| Ternary {
                    on: all.on & input.on,
                    off: all.off | input.off,
                }),
                GateKind::Or => inputs.fold(Ternary { on: 0, off: !0 }, |any, input| Ternary {
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
        network
            .outputs()
            .filter_map(gate_of)
            .for_each(|gate| is_needed[gate] = !0);
        // Users come after their inputs, except within a block.
        let members = network.blocks.iter().flatten();
        members.for_each(|gate| is_needed[gate.index()] = !0);
        for index in (0..network.gates.len()).rev() {
            let stays = is_needed[index] & self.of_node[self.first_gate + index].is_unknown();
            if stays != 0 {
                let inputs = network.inputs(GateId::from_index(index)).iter();
                inputs
                    .filter_map(|&input| gate_of(input))
                    .for_each(|gate| is_needed[gate] |= stays);
            }
        }
        is_needed
    }
}

/// A bit-sliced counter per lane: bit `n` of all lanes in word `n`.
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
    use crate::passes::assume::assume;

    use panza_ground::ground;
    use panza_sync::Budget;

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
        let program =
            ground(&panza_gdl::load(SHEET).0, &Budget::generous()).expect("it can be grounded");
        let network = crate::build(&program, &Budget::generous()).expect("a network");
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
            let made = assume(&network, known, &Budget::generous()).expect("no limit");
            let left = made.gates.len() + made.n_edges();
            assert!(
                left <= size && size < together[0],
                "{left} {size} {known:?}"
            );
        }
    }
}
