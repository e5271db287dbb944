//! The relaxation of a single-player game: what can become true and what can become false.
//!
//! Each fact has two bases: it can be true, and it can be false. A step makes all legal moves at
//! once and never takes back a possibility, so it ends in a fixpoint after at most as many steps as
//! there are bases. A goal that is impossible in the fixpoint is out of reach of the game itself,
//! and the number of steps until it is possible is a lower bound on its moves. (Delete relaxation
//! and h_max, as in planning, for formulas: Bonet and Geffner 2001.)
//!
//! Invariant: if the targets can be reached from a state, its relaxed state reaches them in as many
//! steps or fewer. Bases that do not matter for the targets go off after the first step.

use super::builder::{Builder, NetworkError};
use super::network::{GateKind, Network, Node, Signal};
use super::normalise::normalised;
use super::passes;
use panza_gdl::{GateId, Id, IdVec, MoveId, RoleId};
use panza_sync::Budget;

/// Bytes of a relaxation.
const MAX_BYTES: usize = 1 << 28;
/// Gates between two checks of the budget.
const CHECK_EVERY: usize = 1 << 12;

/// Whether a signal can be on, and whether it can be off.
#[derive(Clone, Copy)]
struct Possible {
    on: Signal,
    off: Signal,
}

impl Possible {
    fn inverted_if(self, condition: bool) -> Self {
        match condition {
            true => Self {
                on: self.off,
                off: self.on,
            },
            false => self,
        }
    }
}

/// The relaxation as a game of one role with one move. It is over when all targets can be on, with
/// goal 100, or when nothing changes any more, with goal 0. A state has the words of a state of the
/// game, then their complements. `None` where the rules recur, or the network is too large for the
/// time and the memory.
pub fn relaxation(network: &Network, targets: &[Signal], budget: &Budget) -> Option<Network> {
    if !network.blocks.is_empty() {
        return None;
    }
    let budget = budget.with_bytes(MAX_BYTES);
    let n_facts = network.facts.len();
    let first_off = n_facts.div_ceil(64).max(1) * 64;
    let n_bases = first_off + n_facts;
    let mut relaxed = Relaxation {
        network,
        first_off,
        moves: network.moves.iter().map(|_| None).collect(),
        gates: network.gates.iter().map(|_| None).collect(),
        builder: Builder::new(n_bases + 1, &budget),
    };
    // Legal moves depend on no moves.
    let under_legal = network.cone(network.legal.iter().copied());
    relaxed.add_gates(|gate| under_legal[gate.index()]).ok()?;
    for (mv, forced) in network.forced_moves().enumerate() {
        let legal = relaxed.possible(network.legal[mv]).on;
        relaxed.moves[mv] = Some(match forced {
            Some(true) => Possible {
                on: Signal::TRUE,
                off: Signal::FALSE,
            },
            _ => Possible {
                on: legal,
                off: Signal::TRUE,
            },
        });
    }
    relaxed.add_gates(|gate| !under_legal[gate.index()]).ok()?;
    let mut next = vec![Signal::FALSE; n_bases];
    for (fact, &signal) in network.next.enumerate() {
        let then = relaxed.possible(signal);
        for (base, then) in [
            (fact.index(), then.on),
            (first_off + fact.index(), then.off),
        ] {
            let now = Signal::of_node(1 + base);
            next[base] = relaxed.builder.or(&mut vec![now, then]);
        }
    }
    let targets = targets.iter().map(|&target| relaxed.possible(target).on);
    let mut targets = targets.collect();
    let reached = relaxed.builder.and(&mut targets);
    let is_relevant = relaxed.relevant(reached, &next);
    let mut changes = Vec::new();
    for (base, then) in next.iter_mut().enumerate() {
        if !is_relevant[base] {
            *then = Signal::FALSE;
        } else {
            changes.push(
                relaxed
                    .builder
                    .and(&mut vec![!Signal::of_node(1 + base), *then]),
            );
        }
    }
    let any_change = relaxed.builder.or(&mut changes);
    let terminal = relaxed.builder.or(&mut vec![reached, !any_change]);
    let mut first: Vec<usize> = (0..n_facts).map(|fact| first_off + fact).collect();
    for base in &network.initial {
        first[base.index()] = base.index();
    }
    let initial = first.into_iter().map(Id::from_index).collect();
    let text = |base: usize| match base.checked_sub(first_off) {
        Some(fact) => format!("(possible (not {}))", network.facts[Id::from_index(fact)]),
        None if base < n_facts => format!("(possible {})", network.facts[Id::from_index(base)]),
        None => format!("(unused {base})"),
    };
    let (gates, inputs) = relaxed.builder.into_gates().ok()?;
    let role = RoleId::from_index(0);
    let relaxed = normalised(
        Network {
            roles: [network.roles[role].clone()].into_iter().collect(),
            facts: (0..n_bases).map(text).collect(),
            moves: [(role, "step".to_string())].into_iter().collect(),
            initial,
            next: next.into_iter().collect(),
            legal: [Signal::TRUE].into_iter().collect(),
            terminal,
            goals: vec![(role, 100, reached), (role, 0, !reached)],
            gates,
            inputs,
            blocks: Vec::new(),
        },
        &budget,
    )
    .ok()?;
    Some(passes::optimise(relaxed, &budget))
}

/// Appends to `relaxed` the relaxed state of a state; `n_facts` is the number of the game's facts.
pub fn append_relaxed(n_facts: usize, state: &[u64], relaxed: &mut Vec<u64>) {
    relaxed.extend_from_slice(state);
    relaxed.extend(state.iter().map(|word| !word));
    if let Some(last) = relaxed.last_mut() {
        *last &= u64::MAX >> (64 - ((n_facts.max(1) - 1) % 64 + 1));
    }
}

struct Relaxation<'a> {
    network: &'a Network,
    /// The first base of facts that can be false.
    first_off: usize,
    /// `None` where not known yet, as for gates.
    moves: IdVec<MoveId, Option<Possible>>,
    gates: IdVec<GateId, Option<Possible>>,
    builder: Builder<'a>,
}

impl Relaxation<'_> {
    fn possible(&self, signal: Signal) -> Possible {
        let constant = Possible {
            on: Signal::FALSE,
            off: Signal::TRUE,
        };
        let plain = match self.network.node(signal) {
            Node::False => Some(constant),
            Node::Base(base) => Some(Possible {
                on: Signal::of_base(base),
                off: Signal::of_node(1 + self.first_off + base.index()),
            }),
            Node::Move(mv) => self.moves[mv],
            Node::Gate(gate) => self.gates[gate],
        };
        debug_assert!(plain.is_some(), "gates are in topological order");
        plain.unwrap_or(constant).inverted_if(signal.is_inverted())
    }

    /// The bases that the target depends on, now or after some steps.
    fn relevant(&self, target: Signal, next: &[Signal]) -> Vec<bool> {
        let mut is_relevant = vec![false; next.len()];
        let mut is_met = vec![false; self.builder.n_gates()];
        let first_gate = next.len() + 2;
        let mut open = vec![target];
        while let Some(signal) = open.pop() {
            let node = signal.node_number();
            if let Some(gate) = node.checked_sub(first_gate) {
                if !std::mem::replace(&mut is_met[gate], true) {
                    open.extend(self.builder.and_inputs(signal).unwrap_or_default());
                }
            } else if (1..=next.len()).contains(&node)
                && !std::mem::replace(&mut is_relevant[node - 1], true)
            {
                open.push(next[node - 1]);
            }
        }
        is_relevant
    }

    fn add_gates(&mut self, is_chosen: impl Fn(GateId) -> bool) -> Result<(), NetworkError> {
        let (mut on, mut off) = (Vec::new(), Vec::new());
        let chosen = self.network.gates.ids().filter(|&gate| is_chosen(gate));
        for (count, gate) in chosen.enumerate() {
            if count % CHECK_EVERY == 0 {
                self.builder.check()?;
            }
            on.clear();
            off.clear();
            for &input in self.network.inputs(gate) {
                let input = self.possible(input);
                on.push(input.on);
                off.push(input.off);
            }
            debug_assert_eq!(self.network.gates[gate].kind, GateKind::And);
            self.gates[gate] = Some(Possible {
                on: self.builder.and(&mut on),
                off: self.builder.or(&mut off),
            });
        }
        Ok(())
    }
}
