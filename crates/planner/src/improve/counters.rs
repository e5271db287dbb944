//! Whether counters are idle: whether facts that depend on no move change nothing for some moves.
//!
//! With the counters at their values of one step and everything else unknown, some gates have a
//! value. The other gates are functions of the unknown facts and moves. If the same gates are
//! unknown at every step, and all results that are known are equal, then the functions are equal:
//! states that differ in counters only have the same moves, successors, ends and goals.
//!
//! Invariant: only proven idleness is reported. Recursive gates count as not idle.

use crate::task::GameAnalysis;
use panza_gdl::Id;
use panza_propnet::{GateKind, Network, Signal};

/// Gates that are evaluated, over all steps.
const MAX_WORK: usize = 1 << 28;

/// The value of a signal in three-valued logic.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    False,
    True,
    Unknown,
}

impl Value {
    fn of(value: bool) -> Self {
        if value { Self::True } else { Self::False }
    }

    fn inverted_if(self, is_inverted: bool) -> Self {
        match (self, is_inverted) {
            (Self::False, true) => Self::True,
            (Self::True, true) => Self::False,
            _ => self,
        }
    }
}

/// Whether the counters are idle in these states, which differ in their step.
pub(super) fn are_idle(game: &GameAnalysis, states: &[Vec<u64>]) -> bool {
    if !game.has_counters {
        return true;
    }
    let Some(network) = game.network.as_deref() else {
        return false;
    };
    if !network.blocks.is_empty() || network.gates.len().saturating_mul(states.len()) > MAX_WORK {
        return false;
    }
    let is_counted = |fact: usize| game.mask[fact / 64] >> (fact % 64) & 1 == 1;
    let next = network.next.enumerate();
    let next = next.filter(|(base, _)| is_counted(base.index()));
    let goals = network.goals.iter().map(|&(_, _, signal)| signal);
    let mut results: Vec<Signal> = next.map(|(_, &signal)| signal).collect();
    results.extend(network.legal.iter().copied().chain(goals));
    results.push(network.terminal);
    let cone = network.cone(results.iter().copied());

    let mut values = vec![Value::Unknown; network.n_nodes()];
    let mut first: Option<Vec<Value>> = None;
    let mut reduced = Vec::new();
    for state in states {
        evaluate(network, state, is_counted, &mut values);
        reduced.clear();
        // The value of a known gate matters only to the gates that read it.
        let gates = network.gates.ids().filter(|gate| cone[gate.index()]);
        reduced.extend(
            gates.map(|gate| match values[network.first_gate() + gate.index()] {
                Value::Unknown => Value::Unknown,
                _ => Value::True,
            }),
        );
        reduced.extend(results.iter().map(|&signal| value_of(&values, signal)));
        match &first {
            None => first = Some(reduced.clone()),
            Some(first) if *first != reduced => return false,
            Some(_) => {}
        }
    }
    true
}

fn value_of(values: &[Value], signal: Signal) -> Value {
    values[signal.node_number()].inverted_if(signal.is_inverted())
}

fn evaluate(
    network: &Network,
    state: &[u64],
    is_counted: impl Fn(usize) -> bool,
    values: &mut [Value],
) {
    values[Signal::FALSE.node_number()] = Value::of(Signal::FALSE.is_inverted());
    for fact in 0..network.facts.len() {
        if !is_counted(fact) {
            values[1 + fact] = Value::of(state[fact / 64] >> (fact % 64) & 1 == 1);
        }
    }
    for (gate, kind) in network.gates.enumerate() {
        // The value of an input that decides the gate.
        let deciding = match kind.kind {
            GateKind::And => Value::False,
            GateKind::Or => Value::True,
        };
        let mut value = deciding.inverted_if(true);
        for &input in network.inputs(gate) {
            match value_of(values, input) {
                input if input == deciding => {
                    value = deciding;
                    break;
                }
                Value::Unknown => value = Value::Unknown,
                _ => {}
            }
        }
        values[network.first_gate() + gate.index()] = value;
    }
}
