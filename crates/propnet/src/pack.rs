//! A network whose states are numbers in binary digits instead of one bit for each fact.
//!
//! Facts of which at most one is true share a field of binary digits: 0 for none of them, or the
//! place of the true fact. Packed states are shorter, so they are cheaper to move, hash and store.
//!
//! Invariant: packed states step as the states that they stand for, until two facts of a field are
//! true at once; from then on the overflow bit is on.

use super::builder::Builder;
use super::copy::copy_gates;
use super::network::{Network, Node, Signal};
use super::normalise::normalised;
use super::passes;
use panza_gdl::{BaseId, Id, IdVec};
use panza_sync::Budget;

/// Bytes of a packed network.
const MAX_BYTES: usize = 1 << 28;

/// Facts of which at most one is true.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BinaryField {
    /// The lowest of its bits; the others follow.
    pub first_bit: usize,
    /// The facts, in the order of their values from 1 on.
    pub facts: Vec<u32>,
}

/// The network over packed states of `n_bits`, with the same moves. `None` where it is too large
/// for the time and the memory.
pub fn packed(
    network: &Network,
    fields: &[BinaryField],
    n_bits: usize,
    overflow: usize,
    budget: &Budget,
) -> Option<Network> {
    let budget = budget.with_bytes(MAX_BYTES);
    let mut builder = Builder::new(n_bits + network.moves.len(), &budget);
    let bit = |bit: usize| Signal::of_node(1 + bit);
    let mut facts: IdVec<BaseId, Signal> = network.facts.iter().map(|_| Signal::FALSE).collect();
    let mut digits = Vec::new();
    for field in fields {
        for (value, &fact) in (1..).zip(&field.facts) {
            digits.clear();
            let digit = |place: usize| bit(field.first_bit + place);
            let places = 0..n_digits(field.facts.len());
            digits.extend(places.map(|place| digit(place).inverted_if(value >> place & 1 == 0)));
            facts[BaseId(fact)] = builder.and(&mut digits);
        }
    }
    let leaf = |signal: Signal| {
        let plain = match network.node(signal) {
            Node::Base(base) => facts[base],
            Node::Move(mv) => Signal::of_node(1 + n_bits + mv.index()),
            _ => return Some(signal),
        };
        Some(plain.inverted_if(signal.is_inverted()))
    };
    let copies = copy_gates(network, &mut builder, &leaf, |builder, _, inputs, _| {
        Some(builder.and(inputs))
    })
    .ok()?;
    let copy = |signal: Signal| copies.of(signal).unwrap_or(Signal::FALSE);
    let next_facts: IdVec<BaseId, Signal> = network.next.iter().map(|&next| copy(next)).collect();
    let legal = network.legal.iter().map(|&legal| copy(legal)).collect();
    let goals = network.goals.iter();
    let goals = goals.map(|&(role, value, signal)| (role, value, copy(signal)));
    let goals = goals.collect();
    let terminal = copy(network.terminal);
    let mut next = vec![Signal::FALSE; n_bits];
    let mut overflows = vec![bit(overflow)];
    let mut initial = Vec::new();
    let mut is_initial: IdVec<BaseId, bool> = network.facts.iter().map(|_| false).collect();
    for &base in &network.initial {
        is_initial[base] = true;
    }
    for field in fields {
        for place in 0..n_digits(field.facts.len()) {
            let with_digit = (1..).zip(&field.facts);
            let with_digit = with_digit.filter(|(value, _)| value >> place & 1 == 1);
            let mut signals = with_digit
                .map(|(_, &fact)| next_facts[BaseId(fact)])
                .collect();
            next[field.first_bit + place] = builder.or(&mut signals);
        }
        let mut any = Signal::FALSE;
        for (value, &fact) in (1usize..).zip(&field.facts) {
            let signal = next_facts[BaseId(fact)];
            overflows.push(builder.and(&mut vec![any, signal]));
            any = builder.or(&mut vec![any, signal]);
            if is_initial[BaseId(fact)] {
                let places =
                    (0..n_digits(field.facts.len())).filter(|place| value >> place & 1 == 1);
                initial.extend(places.map(|place| BaseId::from_index(field.first_bit + place)));
            }
        }
    }
    next[overflow] = builder.or(&mut overflows);
    let (gates, inputs) = builder.into_gates().ok()?;
    let packed = normalised(
        Network {
            roles: network.roles.clone(),
            facts: (0..n_bits).map(|bit| format!("(bit {bit})")).collect(),
            moves: network.moves.clone(),
            initial,
            next: next.into_iter().collect(),
            legal,
            terminal,
            goals,
            gates,
            inputs,
            blocks: Vec::new(),
        },
        &budget,
    )
    .ok()?;
    Some(passes::optimise(packed, &budget))
}

/// The number of binary digits of a field: its values are 0 to `n_facts`.
fn n_digits(n_facts: usize) -> usize {
    (usize::BITS - n_facts.leading_zeros()) as usize
}
