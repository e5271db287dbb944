//! Ternary simulation of a network: what is known of its signals where some bases and moves are
//! known. 64 states are simulated at once.
//!
//! Invariant: a signal is never said to have one value where it may have the other.

use panza_gdl::{BaseId, GateId, Id, IdVec, MoveId};
use panza_propnet::{GateKind, Network, Node, Signal};

/// A ternary value in each of 64 states: where the signal may be on, and where it may be off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct May {
    pub on: u64,
    pub off: u64,
}

/// The value that nothing is known of.
pub(crate) const UNKNOWN: May = May { on: !0, off: !0 };

impl May {
    /// The same value in all states.
    pub fn known(is_on: bool) -> May {
        match is_on {
            true => May { on: !0, off: 0 },
            false => May { on: 0, off: !0 },
        }
    }

    /// The value in the first state, if it is known.
    pub fn value(self) -> Option<bool> {
        match (self.on & 1, self.off & 1) {
            (1, 0) => Some(true),
            (0, 1) => Some(false),
            _ => None,
        }
    }

    fn inverted_if(self, inverted: bool) -> May {
        match inverted {
            true => May {
                on: self.off,
                off: self.on,
            },
            false => self,
        }
    }
}

/// The gates on which some outputs depend, in order.
pub(crate) fn cone(network: &Network, outputs: impl Iterator<Item = Signal>) -> Vec<GateId> {
    let mut is_wanted = vec![false; network.gates.len()];
    let mut open: Vec<Signal> = outputs.collect();
    while let Some(signal) = open.pop() {
        if let Node::Gate(gate) = network.node(signal)
            && !std::mem::replace(&mut is_wanted[gate.index()], true)
        {
            open.extend(network.inputs(gate));
        }
    }
    let gates = network.gates.ids();
    gates.filter(|gate| is_wanted[gate.index()]).collect()
}

/// The bases among `wanted` on which some outputs depend, directly or through the next values of
/// such bases.
pub(crate) fn support(
    network: &Network,
    outputs: impl Iterator<Item = Signal>,
    wanted: impl Fn(BaseId) -> bool,
) -> IdVec<BaseId, bool> {
    let mut found: IdVec<BaseId, bool> = network.facts.iter().map(|_| false).collect();
    let mut seen = vec![false; network.gates.len()];
    let mut open: Vec<Signal> = outputs.collect();
    while let Some(signal) = open.pop() {
        match network.node(signal) {
            Node::Base(base) if wanted(base) && !found[base] => {
                found[base] = true;
                open.push(network.next[base]);
            }
            Node::Gate(gate) if !std::mem::replace(&mut seen[gate.index()], true) => {
                open.extend(network.inputs(gate));
            }
            _ => {}
        }
    }
    found
}

/// A ternary simulation of a network.
pub(crate) struct Ternary<'a> {
    network: &'a Network,
    /// What is known of each base, nothing at first.
    pub bases: IdVec<BaseId, May>,
    /// What is known of the making of each move, nothing at first.
    pub moves: IdVec<MoveId, May>,
    gates: Vec<May>,
    in_block: Vec<bool>,
}

impl<'a> Ternary<'a> {
    pub fn new(network: &'a Network) -> Self {
        let mut in_block = vec![false; network.gates.len()];
        for gate in network.blocks.iter().flatten() {
            in_block[gate.index()] = true;
        }
        Ternary {
            network,
            bases: network.facts.iter().map(|_| UNKNOWN).collect(),
            moves: network.moves.iter().map(|_| UNKNOWN).collect(),
            gates: vec![UNKNOWN; network.gates.len()],
            in_block,
        }
    }

    /// What is known of a signal whose cone was run.
    pub fn of(&self, signal: Signal) -> May {
        let plain = match self.network.node(signal) {
            Node::False => May { on: 0, off: !0 },
            Node::Base(base) => self.bases[base],
            Node::Move(mv) => self.moves[mv],
            Node::Gate(gate) => self.gates[gate.index()],
        };
        plain.inverted_if(signal.is_inverted())
    }

    /// Evaluates gates, given in order with all that they depend on.
    pub fn run(&mut self, gates: &[GateId]) {
        // Gates in blocks stay unknown.
        for &gate in gates.iter().filter(|gate| !self.in_block[gate.index()]) {
            let inputs = self.network.inputs(gate).iter();
            let inputs = inputs.map(|&input| self.of(input));
            self.gates[gate.index()] = match self.network.gates[gate].kind {
                GateKind::And => inputs.fold(May { on: !0, off: 0 }, |all, one| May {
                    on: all.on & one.on,
                    off: all.off | one.off,
                }),
                GateKind::Or => inputs.fold(May { on: 0, off: !0 }, |all, one| May {
                    on: all.on | one.on,
                    off: all.off & one.off,
                }),
            };
        }
    }
}
