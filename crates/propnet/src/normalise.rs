//! The normal form of a network: live gates only, in topological order, with their blocks.

use super::builder::NetworkError;
use super::network::{Gate, GateKind, Network, Signal};
use panza_gdl::{GateId, Id, IdVec};
use panza_sync::Budget;

/// The same network without dead gates, in topological order, with its blocks.
///
/// A gate of a block keeps constant or single inputs: blocks are not simplified. An OR outside
/// blocks, which is left where a recursion has become acyclic, becomes an AND by De Morgan's law.
///
/// # Errors
/// The budget ended it.
pub(super) fn normalised(mut network: Network, budget: &Budget) -> Result<Network, NetworkError> {
    let first_gate = network.first_gate();
    let gate_of = |signal: Signal| signal.node_number().checked_sub(first_gate);
    let n_gates = network.gates.len();
    let is_live = network.cone(network.outputs());
    let mut work = budget.clone();
    let groups = panza_ground::strongly_connected(n_gates, |gate| {
        let inputs = if is_live[gate] && work.spend(1).is_some() {
            network.inputs(GateId::from_index(gate))
        } else {
            &[]
        };
        inputs.iter().filter_map(|&input| gate_of(input))
    });
    let out_of_time = NetworkError::OutOfTime { gates: n_gates };
    if work.spend(0).is_none() {
        return Err(out_of_time);
    }
    let mut new_number = vec![0u32; n_gates];
    let mut is_inverted = vec![false; n_gates];
    let mut order: Vec<usize> = Vec::new();
    let mut blocks = Vec::new();
    for group in groups {
        let is_block = group.len() > 1;
        let mut block = Vec::new();
        for &gate in group.iter().filter(|&&gate| is_live[gate as usize]) {
            new_number[gate as usize] = order.len() as u32;
            let kind = network.gates[GateId::from_index(gate as usize)].kind;
            is_inverted[gate as usize] = !is_block && kind == GateKind::Or;
            block.push(GateId::from_index(order.len()));
            order.push(gate as usize);
        }
        if is_block && !block.is_empty() {
            blocks.push(block);
        }
    }
    let renumbered = |signal: Signal| match gate_of(signal) {
        Some(gate) => Signal::of_node(first_gate + new_number[gate] as usize)
            .inverted_if(signal.is_inverted() != is_inverted[gate]),
        None => signal,
    };
    let mut gates = IdVec::new();
    let mut inputs = Vec::new();
    for gate in order {
        if work.spend(1).is_none() {
            return Err(out_of_time);
        }
        let is_inverted = is_inverted[gate];
        let gate = GateId::from_index(gate);
        let start = inputs.len() as u32;
        let of_gate = network.inputs(gate).iter();
        inputs.extend(of_gate.map(|&input| renumbered(input).inverted_if(is_inverted)));
        inputs[start as usize..].sort_unstable();
        gates.push(Gate {
            kind: if is_inverted {
                GateKind::And
            } else {
                network.gates[gate].kind
            },
            start,
            end: inputs.len() as u32,
        });
    }
    network
        .outputs_mut()
        .for_each(|signal| *signal = renumbered(*signal));
    Ok(Network {
        gates,
        inputs,
        blocks,
        ..network
    })
}
