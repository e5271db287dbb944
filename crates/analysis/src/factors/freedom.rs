//! Freedom of moves: which moves are never legal, and which are forced, as far as the autonomous
//! bases decide.
//!
//! The autonomous bases run through one fixed sequence of states. For each of these states a
//! ternary simulation of the network, in which all other bases are unknown, bounds where each move
//! is legal. 64 states are simulated at once.

use panza_gdl::{BaseId, GateId, Id, IdVec, MoveId, RoleId};
use panza_propnet::{GateKind, Network, Node, Signal};
use panza_sync::Meter;

/// The most states of the autonomous bases that are simulated.
const MAX_STATES: usize = 1 << 10;

/// A ternary value in each of 64 states: where the signal may be on, and where it may be off.
#[derive(Clone, Copy)]
struct May {
    on: u64,
    off: u64,
}

impl May {
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
fn cone(network: &Network, outputs: impl Iterator<Item = Signal>) -> Vec<GateId> {
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
pub(super) fn support(
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

struct Ternary<'a> {
    network: &'a Network,
    bases: IdVec<BaseId, May>,
    gates: Vec<May>,
    in_block: Vec<bool>,
}

const UNKNOWN: May = May { on: !0, off: !0 };

impl<'a> Ternary<'a> {
    fn new(network: &'a Network) -> Self {
        let mut in_block = vec![false; network.gates.len()];
        for gate in network.blocks.iter().flatten() {
            in_block[gate.index()] = true;
        }
        Ternary {
            network,
            bases: network.facts.iter().map(|_| UNKNOWN).collect(),
            gates: vec![UNKNOWN; network.gates.len()],
            in_block,
        }
    }

    fn of(&self, signal: Signal) -> May {
        let plain = match self.network.node(signal) {
            Node::False => May { on: 0, off: !0 },
            Node::Base(base) => self.bases[base],
            Node::Move(_) => UNKNOWN,
            Node::Gate(gate) => self.gates[gate.index()],
        };
        plain.inverted_if(signal.is_inverted())
    }

    fn run(&mut self, gates: &[GateId]) {
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

/// How far a role is free to make a move, as far as the autonomous bases decide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Freedom {
    /// It is never legal.
    Never,
    /// Where it may be legal, no other move of its role is.
    Forced,
    /// Other moves may be legal beside it.
    Free,
}

/// Finds the freedom of each move; `None` when the budget is spent. All moves are free where the
/// autonomous bases have more than [`MAX_STATES`] states.
pub(super) fn freedom(
    network: &Network,
    is_autonomous: &IdVec<BaseId, bool>,
    budget: &mut Meter,
) -> Option<IdVec<MoveId, Freedom>> {
    let legal_cone = cone(network, network.legal.iter().copied());
    // The autonomous bases on which legality depends, directly or not.
    let is_needed = support(network, network.legal.iter().copied(), |base| {
        is_autonomous[base]
    });
    let needed: Vec<BaseId> = network
        .facts
        .ids()
        .filter(|&base| is_needed[base])
        .collect();
    let next_cone = cone(network, needed.iter().map(|&base| network.next[base]));
    let mut ternary = Ternary::new(network);
    let is_initial: std::collections::HashSet<BaseId> = network.initial.iter().copied().collect();
    let mut state: Vec<bool> = needed
        .iter()
        .map(|base| is_initial.contains(base))
        .collect();
    let mut states: Vec<Vec<bool>> = Vec::new();
    let mut known = std::collections::HashSet::new();
    let is_bounded = loop {
        if !known.insert(state.clone()) {
            break true;
        }
        if states.len() == MAX_STATES {
            break false;
        }
        for (&base, &is_on) in needed.iter().zip(&state) {
            ternary.bases[base] = May {
                on: if is_on { !0 } else { 0 },
                off: if is_on { 0 } else { !0 },
            };
        }
        ternary.run(&next_cone);
        budget.spend(next_cone.len() + 64)?;
        let next = needed.iter().map(|&base| ternary.of(network.next[base]));
        // An unknown value ends the simulation.
        let next: Option<Vec<bool>> = next
            .map(|may| match (may.on & 1, may.off & 1) {
                (1, 0) => Some(true),
                (0, 1) => Some(false),
                _ => None,
            })
            .collect();
        states.push(std::mem::take(&mut state));
        match next {
            Some(next) => state = next,
            None => break false,
        }
    };
    let mut freedom: IdVec<MoveId, Freedom> =
        network.moves.iter().map(|_| Freedom::Never).collect();
    if !is_bounded {
        return Some(network.moves.iter().map(|_| Freedom::Free).collect());
    }
    for batch in states.chunks(64) {
        for (place, &base) in needed.iter().enumerate() {
            let on = batch
                .iter()
                .rev()
                .fold(0, |on, state| on << 1 | u64::from(state[place]));
            ternary.bases[base] = May { on, off: !on };
        }
        let all = u64::MAX >> (64 - batch.len());
        ternary.run(&legal_cone);
        budget.spend(legal_cone.len())?;
        // For each role where some move may be legal, and where several may.
        let mut one: IdVec<RoleId, u64> = network.roles.iter().map(|_| 0).collect();
        let mut several = one.clone();
        let may = |ternary: &Ternary<'_>, mv: MoveId| ternary.of(network.legal[mv]).on & all;
        for (mv, (role, _)) in network.moves.enumerate() {
            let on = may(&ternary, mv);
            several[*role] |= one[*role] & on;
            one[*role] |= on;
        }
        for (mv, (role, _)) in network.moves.enumerate() {
            let on = may(&ternary, mv);
            if on & several[*role] != 0 {
                freedom[mv] = Freedom::Free;
            } else if on != 0 && freedom[mv] == Freedom::Never {
                freedom[mv] = Freedom::Forced;
            }
        }
    }
    Some(freedom)
}
