//! Copying a network's gates into a [`Builder`].
//!
//! The caller says what replaces bases, moves and constants, and what each AND gate becomes, given
//! its copied inputs. Blocks are copied gate by gate. Signals without a copy are left out of the
//! inputs of the gates that use them.

use super::builder::{Builder, NetworkError};
use super::network::{GateKind, Network, Node, Signal};
use panza_gdl::{GateId, Id, IdVec};

/// Gates between two checks of the budget.
const CHECK_EVERY: usize = 1 << 12;

/// What [`copy_gates`] copies into: a builder, or a value that owns one.
pub(super) trait Target<'b> {
    fn builder(&mut self) -> &mut Builder<'b>;
}

impl<'b> Target<'b> for Builder<'b> {
    fn builder(&mut self) -> &mut Builder<'b> {
        self
    }
}

pub(super) struct Copies<'a> {
    network: &'a Network,
    leaf: &'a dyn Fn(Signal) -> Option<Signal>,
    /// The copy of each gate, plain.
    pub(super) gates: IdVec<GateId, Option<Signal>>,
}

impl Copies<'_> {
    pub(super) fn of(&self, signal: Signal) -> Option<Signal> {
        match self.network.node(signal) {
            Node::Gate(gate) => Some(self.gates[gate]?.inverted_if(signal.is_inverted())),
            _ => (self.leaf)(signal),
        }
    }

    /// The copies of a gate's inputs, and whether all of them have one.
    fn inputs(&self, gate: GateId, inputs: &mut Vec<Signal>) -> bool {
        let originals = self.network.inputs(gate);
        inputs.clear();
        inputs.extend(originals.iter().filter_map(|&input| self.of(input)));
        inputs.len() == originals.len()
    }
}

/// Copies all gates. `leaf` gives what replaces the signal of a base, move or constant; `make`
/// makes an AND gate outside blocks from its copied inputs, and is told whether every input has a
/// copy.
pub(super) fn copy_gates<'a, 'b, T: Target<'b>>(
    network: &'a Network,
    target: &mut T,
    leaf: &'a dyn Fn(Signal) -> Option<Signal>,
    mut make: impl FnMut(&mut T, GateId, &mut Vec<Signal>, bool) -> Option<Signal>,
) -> Result<Copies<'a>, NetworkError> {
    let gates = network.gates.iter().map(|_| None).collect();
    let mut copies = Copies {
        network,
        leaf,
        gates,
    };
    let mut inputs: Vec<Signal> = Vec::new();
    let mut next_check = 0;
    for component in network.components() {
        if component.start >= next_check {
            target.builder().check()?;
            next_check = component.start + CHECK_EVERY;
        }
        let members = component.clone().map(GateId::from_index);
        if component.len() == 1 {
            for gate in members {
                debug_assert_eq!(network.gates[gate].kind, GateKind::And);
                let is_complete = copies.inputs(gate, &mut inputs);
                copies.gates[gate] = make(target, gate, &mut inputs, is_complete);
            }
            continue;
        }
        for gate in members.clone() {
            let kind = network.gates[gate].kind;
            copies.gates[gate] = Some(target.builder().reserve(kind));
        }
        for gate in members {
            copies.inputs(gate, &mut inputs);
            if let Some(reserved) = copies.gates[gate] {
                target.builder().fill(reserved, &mut inputs);
            }
        }
    }
    Ok(copies)
}
