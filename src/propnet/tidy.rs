//! Tidying: a network without gates that matter to nothing, in a usable order, with its blocks
//! found.

use super::network::{Gate, GateKind, Network, Signal};
use crate::ids::{GateId, Id, IdVec};

/// The same network with gates that matter to some output only, inputs before users, and its blocks
/// found.
///
/// Gates inside a component that hold a constant or single input keep it: a component's gates are
/// not simplified. Where recursion has fallen apart, what was an OR of a block becomes an AND like
/// all others, inverted inside and out.
pub(super) fn tidied(mut network: Network) -> Network {
    let first_gate = 1 + network.facts.len() + network.moves.len();
    let gate_of = |signal: Signal| signal.node_number().checked_sub(first_gate);
    let n_gates = network.gates.len();
    let mut is_wanted = vec![false; n_gates];
    let mut open: Vec<usize> = Vec::new();
    let outputs = network
        .next
        .iter()
        .chain(network.legal.iter())
        .chain([&network.terminal]);
    for signal in outputs.chain(network.goals.iter().map(|(_, _, signal)| signal)) {
        open.extend(gate_of(*signal));
    }
    while let Some(gate) = open.pop() {
        if !std::mem::replace(&mut is_wanted[gate], true) {
            open.extend(
                network
                    .inputs(GateId::from_index(gate))
                    .iter()
                    .filter_map(|&input| gate_of(input)),
            );
        }
    }
    let groups = crate::ground::strongly_connected(n_gates, |gate| {
        let inputs = if is_wanted[gate] {
            network.inputs(GateId::from_index(gate))
        } else {
            &[]
        };
        inputs.iter().filter_map(|&input| gate_of(input))
    });
    let mut new_number = vec![0u32; n_gates];
    let mut is_turned = vec![false; n_gates];
    let mut order: Vec<usize> = Vec::new();
    let mut blocks = Vec::new();
    for group in groups {
        let is_block = group.len() > 1;
        let mut block = Vec::new();
        for &gate in group.iter().filter(|&&gate| is_wanted[gate as usize]) {
            new_number[gate as usize] = order.len() as u32;
            let kind = network.gates[GateId::from_index(gate as usize)].kind;
            is_turned[gate as usize] = !is_block && kind == GateKind::Or;
            block.push(GateId::from_index(order.len()));
            order.push(gate as usize);
        }
        if is_block && !block.is_empty() {
            blocks.push(block);
        }
    }
    let moved = |signal: Signal| match gate_of(signal) {
        Some(gate) => {
            let plain = Signal::of_node(first_gate + new_number[gate] as usize);
            if signal.is_inverted() != is_turned[gate] {
                !plain
            } else {
                plain
            }
        }
        None => signal,
    };
    let mut gates = IdVec::new();
    let mut inputs = Vec::new();
    for gate in order {
        let is_turned = is_turned[gate];
        let gate = GateId::from_index(gate);
        let start = inputs.len() as u32;
        let moved_inputs = network.inputs(gate).iter().map(|&input| moved(input));
        inputs.extend(moved_inputs.map(|input| if is_turned { !input } else { input }));
        inputs[start as usize..].sort_unstable();
        gates.push(Gate {
            kind: if is_turned {
                GateKind::And
            } else {
                network.gates[gate].kind
            },
            start,
            end: inputs.len() as u32,
        });
    }
    network
        .next
        .iter_mut()
        .for_each(|signal| *signal = moved(*signal));
    network
        .legal
        .iter_mut()
        .for_each(|signal| *signal = moved(*signal));
    network.terminal = moved(network.terminal);
    network
        .goals
        .iter_mut()
        .for_each(|(_, _, signal)| *signal = moved(*signal));
    Network {
        gates,
        inputs,
        blocks,
        ..network
    }
}
