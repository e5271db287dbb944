//! What each move makes of the next state.
//!
//! For a role and one of its moves, the next value of each base is worked out with that move made
//! and all the role's others not made. What is left depends on the state and on the other roles'
//! moves. Gates of what is left stand in one table in which equal gates are one gate, so that two
//! moves that leave the same signal do the same to that base, however the rules say it: as what
//! they do, or as what all the others do not.
//!
//! Only what differs from no move at all is worked out move by move, so that rules for squares
//! which stay as they are under all moves but a few cost little where they are written in few
//! gates.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

use super::builder::Builder;
use super::network::{Gate, GateKind, Network, Node, Signal};
use crate::ground::Budget;
use crate::ids::{BaseId, GateId, Id, IdVec, MoveId, RoleId};

/// Steps of work between two looks at the clock.
const CHECK_EVERY: usize = 1 << 10;
/// The most effects of single moves that are kept.
const MOST_EFFECTS: usize = 1 << 24;
/// The most bytes that the table of gates may take.
const MOST_BYTES: usize = 1 << 29;

/// What each move makes of the next state. Signals are over the bases and moves of the network they
/// were made from, and over gates of their own.
#[derive(Clone, Debug)]
pub struct Effects {
    n_bases: usize,
    first_gate: usize,
    gates: IdVec<GateId, Gate>,
    inputs: Vec<Signal>,
    without: IdVec<RoleId, IdVec<BaseId, Signal>>,
    with: IdVec<MoveId, Vec<(BaseId, Signal)>>,
}

impl Effects {
    /// The next value of each base when the role makes none of its moves.
    pub fn without(&self, role: RoleId) -> &IdVec<BaseId, Signal> {
        &self.without[role]
    }

    /// The bases whose next value is another when the move is made than when the role makes none,
    /// in rising order, and that value.
    pub fn with(&self, mv: MoveId) -> &[(BaseId, Signal)] {
        &self.with[mv]
    }

    /// Whether a signal is that of a base itself.
    pub fn is_base(&self, signal: Signal, base: BaseId) -> bool {
        signal == Signal::of_node(1 + base.index())
    }

    /// The bases that any of some signals read, each once, in rising order, and how many nodes were
    /// looked at.
    pub fn bases_of(
        &self,
        signals: impl IntoIterator<Item = Signal>,
        seen: &mut Seen,
    ) -> (Vec<BaseId>, usize) {
        seen.start(self.first_gate + self.gates.len());
        let mut open: Vec<usize> = signals.into_iter().map(Signal::node_number).collect();
        let mut found = Vec::new();
        let mut n_seen = 0;
        while let Some(node) = open.pop() {
            n_seen += 1;
            if node == 0 || !seen.is_first(node) {
                continue;
            }
            if node <= self.n_bases {
                found.push(BaseId::from_index(node - 1));
            } else if let Some(gate) = node.checked_sub(self.first_gate) {
                let Gate { start, end, .. } = self.gates[GateId::from_index(gate)];
                let inputs = &self.inputs[start as usize..end as usize];
                open.extend(inputs.iter().map(|input| input.node_number()));
            }
        }
        found.sort_unstable();
        (found, n_seen)
    }
}

/// Marks of what a search has met, used again from search to search.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    marks: Vec<u32>,
    round: u32,
}

impl Seen {
    /// Forgets what was met; numbers below `n` may be met from now on.
    pub fn start(&mut self, n: usize) {
        if self.marks.len() < n {
            self.marks.resize(n, 0);
        }
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.marks.fill(0);
            self.round = 1;
        }
    }

    /// Whether a number is met for the first time.
    pub fn is_first(&mut self, number: usize) -> bool {
        std::mem::replace(&mut self.marks[number], self.round) != self.round
    }
}

/// Works out what each move does; nothing when the time is up, the tables grow too large, or moves
/// matter inside recursion.
pub fn effects(network: &Network, until: Option<Instant>) -> Option<Effects> {
    let budget = Budget {
        until,
        max_bytes: MOST_BYTES,
    };
    let (n_bases, n_moves) = (network.facts.len(), network.moves.len());
    let mut making = Making {
        network,
        budget,
        builder: Builder::new(n_bases + n_moves),
        users: Users::of(network),
        off: IdVec::new(),
        rest: network.gates.iter().map(|_| Vec::new()).collect(),
        in_block: vec![false; network.gates.len()],
        n_steps: 0,
    };
    for gate in network.blocks.iter().flatten() {
        making.in_block[gate.index()] = true;
    }
    let own = making.copy()?;
    let mut without = IdVec::new();
    let mut with: IdVec<MoveId, Vec<(BaseId, Signal)>> =
        network.moves.iter().map(|_| Vec::new()).collect();
    let mut n_effects = 0;
    for role in network.roles.ids() {
        making.take_away(role, &own)?;
        without.push(making.next(role));
        for (mv, _) in network.moves.enumerate().filter(|(_, of)| of.0 == role) {
            with[mv] = making.make(mv)?;
            n_effects += with[mv].len();
            if n_effects > MOST_EFFECTS {
                return None;
            }
        }
    }
    let (gates, inputs) = making.builder.into_gates();
    Some(Effects {
        n_bases,
        first_gate: 1 + n_bases + n_moves,
        gates,
        inputs,
        without,
        with,
    })
}

/// Who takes a node as input: gates with the signal they take, and bases whose next value it is.
struct Users {
    start: Vec<u32>,
    gates: Vec<(GateId, Signal)>,
    next: Vec<Vec<(BaseId, Signal)>>,
}

impl Users {
    fn of(network: &Network) -> Users {
        let n_nodes = 1 + network.facts.len() + network.moves.len() + network.gates.len();
        let mut start = vec![0u32; n_nodes + 1];
        for gate in network.gates.ids() {
            for input in network.inputs(gate) {
                start[input.node_number() + 1] += 1;
            }
        }
        for node in 0..n_nodes {
            start[node + 1] += start[node];
        }
        let mut at = start.clone();
        let mut gates = vec![(GateId(0), Signal::FALSE); network.n_edges()];
        for gate in network.gates.ids() {
            for &input in network.inputs(gate) {
                let place = &mut at[input.node_number()];
                if let Some(slot) = gates.get_mut(*place as usize) {
                    *slot = (gate, input);
                }
                *place += 1;
            }
        }
        let mut next = vec![Vec::new(); n_nodes];
        for (base, &signal) in network.next.enumerate() {
            next[signal.node_number()].push((base, signal));
        }
        Users { start, gates, next }
    }

    fn gates(&self, node: usize) -> &[(GateId, Signal)] {
        &self.gates[self.start[node] as usize..self.start[node + 1] as usize]
    }
}

/// An input of a gate that is other than when the role makes no move: the gate, the input, and what
/// it is.
type Changed = Reverse<(GateId, Signal, Signal)>;

struct Making<'a> {
    network: &'a Network,
    budget: Budget,
    builder: Builder,
    users: Users,
    /// Each gate when the role at hand makes no move.
    off: IdVec<GateId, Signal>,
    /// For gates that the role's moves matter to: their inputs then, but for those always on.
    rest: IdVec<GateId, Vec<(Signal, Signal)>>,
    in_block: Vec<bool>,
    /// Since the clock was looked at.
    n_steps: usize,
}

/// A signal, inverted if another is.
fn inverted_as(signal: Signal, other: Signal) -> Signal {
    if other.is_inverted() { !signal } else { signal }
}

impl Making<'_> {
    fn step(&mut self) -> Option<()> {
        self.n_steps += 1;
        if self.n_steps >= CHECK_EVERY {
            self.n_steps = 0;
            self.builder.check(self.budget).ok()?;
        }
        Some(())
    }

    /// The gates as they are, in the table.
    fn copy(&mut self) -> Option<IdVec<GateId, Signal>> {
        let network = self.network;
        let mut own: IdVec<GateId, Signal> = network.gates.iter().map(|_| Signal::FALSE).collect();
        let mut inputs = Vec::new();
        let copied = |own: &IdVec<GateId, Signal>, input: Signal| match network.node(input) {
            Node::Gate(gate) => inverted_as(own[gate], input),
            _ => input,
        };
        let mut blocks = network.blocks.iter();
        for gate in network.gates.ids() {
            self.step()?;
            if self.in_block[gate.index()] {
                // A block's gates are consecutive, so its first gate stands for all.
                if own[gate] != Signal::FALSE {
                    continue;
                }
                let block = blocks.next()?;
                for &member in block {
                    own[member] = self.builder.reserve(network.gates[member].kind);
                }
                for &member in block {
                    inputs.clear();
                    inputs.extend(
                        network
                            .inputs(member)
                            .iter()
                            .map(|&input| copied(&own, input)),
                    );
                    self.builder.fill(own[member], &mut inputs);
                }
                continue;
            }
            inputs.clear();
            inputs.extend(
                network
                    .inputs(gate)
                    .iter()
                    .map(|&input| copied(&own, input)),
            );
            own[gate] = match network.gates[gate].kind {
                GateKind::And => self.builder.and(&mut inputs),
                GateKind::Or => self.builder.or(&mut inputs),
            };
        }
        Some(own)
    }

    /// What gates are when a role makes no move.
    fn take_away(&mut self, role: RoleId, own: &IdVec<GateId, Signal>) -> Option<()> {
        let network = self.network;
        self.off = own.clone();
        self.rest.iter_mut().for_each(Vec::clear);
        let mut matters = vec![false; network.gates.len()];
        let mut inputs = Vec::new();
        for gate in network.gates.ids() {
            self.step()?;
            let is_met = network
                .inputs(gate)
                .iter()
                .any(|&input| match network.node(input) {
                    Node::Move(mv) => network.moves[mv].0 == role,
                    Node::Gate(before) => matters[before.index()],
                    _ => false,
                });
            if !is_met {
                continue;
            }
            if self.in_block[gate.index()] || network.gates[gate].kind == GateKind::Or {
                return None;
            }
            matters[gate.index()] = true;
            let mut rest = std::mem::take(&mut self.rest[gate]);
            for &input in network.inputs(gate) {
                let off = self.signal_off(role, input);
                if off != Signal::TRUE {
                    rest.push((input, off));
                }
            }
            inputs.clear();
            inputs.extend(rest.iter().map(|&(_, off)| off));
            self.rest[gate] = rest;
            self.off[gate] = self.builder.and(&mut inputs);
        }
        Some(())
    }

    fn signal_off(&self, role: RoleId, signal: Signal) -> Signal {
        match self.network.node(signal) {
            Node::Gate(gate) => inverted_as(self.off[gate], signal),
            Node::Move(mv) if self.network.moves[mv].0 == role => {
                inverted_as(Signal::FALSE, signal)
            }
            _ => signal,
        }
    }

    fn next(&self, role: RoleId) -> IdVec<BaseId, Signal> {
        let next = self.network.next.iter();
        next.map(|&signal| self.signal_off(role, signal)).collect()
    }

    /// The bases whose next value a move makes another than no move does.
    fn make(&mut self, mv: MoveId) -> Option<Vec<(BaseId, Signal)>> {
        let mut found = Vec::new();
        let mut open: BinaryHeap<Changed> = BinaryHeap::new();
        self.tell(
            1 + self.network.facts.len() + mv.index(),
            Signal::TRUE,
            &mut open,
            &mut found,
        );
        let mut changed: Vec<(Signal, Signal)> = Vec::new();
        let mut inputs = Vec::new();
        let first_gate = 1 + self.network.facts.len() + self.network.moves.len();
        while let Some(&Reverse((gate, _, _))) = open.peek() {
            changed.clear();
            while let Some(&Reverse((other, input, value))) = open.peek()
                && other == gate
            {
                changed.push((input, value));
                open.pop();
            }
            self.step()?;
            let value = if changed.iter().any(|&(_, value)| value == Signal::FALSE) {
                Signal::FALSE
            } else {
                // They came in the order of the inputs.
                let rest = &self.rest[gate];
                let is_kept = |input: Signal| {
                    changed
                        .binary_search_by_key(&input, |&(input, _)| input)
                        .is_err()
                };
                inputs.clear();
                inputs.extend(changed.iter().map(|&(_, value)| value));
                for &(input, off) in rest {
                    if is_kept(input) {
                        inputs.push(off);
                        if off == Signal::FALSE {
                            break;
                        }
                    }
                }
                self.n_steps += inputs.len() / 64;
                match inputs.last() {
                    Some(&Signal::FALSE) => Signal::FALSE,
                    _ => self.builder.and(&mut inputs),
                }
            };
            if value != self.off[gate] {
                self.tell(first_gate + gate.index(), value, &mut open, &mut found);
            }
        }
        found.sort_unstable();
        Some(found)
    }

    /// Notes who is to learn of a node's value.
    fn tell(
        &self,
        node: usize,
        value: Signal,
        open: &mut BinaryHeap<Changed>,
        found: &mut Vec<(BaseId, Signal)>,
    ) {
        for &(gate, input) in self.users.gates(node) {
            open.push(Reverse((gate, input, inverted_as(value, input))));
        }
        for &(base, signal) in &self.users.next[node] {
            found.push((base, inverted_as(value, signal)));
        }
    }
}
