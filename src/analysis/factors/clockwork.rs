//! What runs by itself: bases that no move ever changes, and moves that are made because there is
//! nothing else to do.

use super::Deadline;
use crate::ids::{BaseId, GateId, Id, IdVec, MoveId, RoleId};
use crate::propnet::{GateKind, Network, Node, Signal};

/// The most states of what decides by itself who may move.
const MOST_STATES: usize = 1 << 10;

/// Whether each base is a control: its next value depends on no move and on no base but controls,
/// as whose turn it is and which step it is where nobody can change that.
pub(super) fn controls(network: &Network) -> IdVec<BaseId, bool> {
    // Whatever hangs on a move is found from the moves on.
    let (n_bases, n_moves) = (network.facts.len(), network.moves.len());
    let first_gate = 1 + n_bases + n_moves;
    let mut users: Vec<Vec<GateId>> = vec![Vec::new(); first_gate + network.gates.len()];
    for gate in network.gates.ids() {
        for input in network.inputs(gate) {
            users[input.node_number()].push(gate);
        }
    }
    let mut next_of: Vec<Vec<BaseId>> = vec![Vec::new(); users.len()];
    for (base, signal) in network.next.enumerate() {
        next_of[signal.node_number()].push(base);
    }
    let mut is_moved = vec![false; users.len()];
    let mut open: Vec<usize> = (1 + n_bases..first_gate).collect();
    while let Some(node) = open.pop() {
        if std::mem::replace(&mut is_moved[node], true) {
            continue;
        }
        open.extend(users[node].iter().map(|gate| first_gate + gate.index()));
        open.extend(next_of[node].iter().map(|base| 1 + base.index()));
    }
    let bases = network.facts.ids();
    bases.map(|base| !is_moved[1 + base.index()]).collect()
}

/// What is known of a signal in 64 states at once: where it may be on and where it may be off.
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

/// Gates that some outputs hang on, in order.
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
        // What stands in a block is not asked for: it stays unknown.
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

/// What a role can do with a move, as far as controls tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Freedom {
    /// It is never legal.
    Never,
    /// Wherever it may be legal, no other move of its role is.
    Forced,
    /// There may be others.
    Free,
}

/// Sorts moves by what controls say about when they are legal. Controls change by themselves, so
/// that their states come one after the other; where these are too many to look at, all moves are
/// free.
pub(super) fn freedom(
    network: &Network,
    is_control: &IdVec<BaseId, bool>,
    deadline: &mut Deadline,
) -> Option<IdVec<MoveId, Freedom>> {
    let legal_cone = cone(network, network.legal.iter().copied());
    // Those controls that legality hangs on, and those that they hang on.
    let mut is_needed: IdVec<BaseId, bool> = network.facts.iter().map(|_| false).collect();
    let mut open: Vec<Signal> = network.legal.iter().copied().collect();
    let mut seen = vec![false; network.gates.len()];
    while let Some(signal) = open.pop() {
        match network.node(signal) {
            Node::Base(base) if is_control[base] && !is_needed[base] => {
                is_needed[base] = true;
                open.push(network.next[base]);
            }
            Node::Gate(gate) if !std::mem::replace(&mut seen[gate.index()], true) => {
                open.extend(network.inputs(gate));
            }
            _ => {}
        }
    }
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
        if states.len() == MOST_STATES {
            break false;
        }
        for (&base, &is_on) in needed.iter().zip(&state) {
            ternary.bases[base] = May {
                on: if is_on { !0 } else { 0 },
                off: if is_on { 0 } else { !0 },
            };
        }
        ternary.run(&next_cone);
        deadline.spend(next_cone.len() + 64)?;
        let next = needed.iter().map(|&base| ternary.of(network.next[base]));
        // Recursion among controls is not followed.
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
        deadline.spend(legal_cone.len())?;
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
