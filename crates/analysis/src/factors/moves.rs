//! Groups that moves connect.
//!
//! A move *touches* a group if its effects there are not the usual ones of its role, or if its
//! legality reads the group. Its effects and conditions in a group are its *part* there. A move
//! that touches several groups merges them, unless it is a combination of moves: each of its parts
//! is all of some other move.
//!
//! The usual effects are those of a reference. In most games a base stays unchanged, or else has
//! the value that most moves give it, so that a move on one board leaves the others unchanged.
//! Where each move acts on all boards at once, the reference is one of the moves.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash};

use rustc_hash::FxBuildHasher;

use super::disjoint_sets::DisjointSets;
use super::freedom::Freedom;
use panza_gdl::{BaseId, Id, IdVec, MoveId, RoleId};
use panza_propnet::{Effects, GateKind, Network, Node, Signal, VisitedNodes};
use panza_sync::Budget;

/// The most conjuncts of the legality of one move.
const MAX_CONDITIONS: usize = 256;

/// The definition of usual effects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Usual {
    /// A base stays unchanged if some move leaves it so; else it has the most frequent value.
    MostMoves,
    /// The effects of one of the moves.
    OneMove,
}

/// An unusual effect or condition of a move: a base of its group, and a hash of it.
type Item = (BaseId, u64);

/// The effects and conditions of a move in one group: the root of the group, and a hash.
pub(super) type Part = (BaseId, u64);

/// The groups that the moves of a game touch.
#[derive(Clone, Debug)]
pub(super) struct Touching {
    /// Per free move its unusual effects and conditions.
    items: IdVec<MoveId, Vec<Item>>,
    /// Per free move a hash of the conditions on autonomous bases.
    autonomous_conditions: IdVec<MoveId, u64>,
    free: Vec<(MoveId, RoleId)>,
    /// Whether usual moves leave each base unchanged.
    pub stays: IdVec<BaseId, bool>,
}

fn hash_of(what: impl Hash) -> u64 {
    // Hashes of sets are sums of these, so all bits have to be mixed.
    let mut number = FxBuildHasher.hash_one(what);
    number ^= number >> 32;
    number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    number ^ number >> 29
}

/// The conjuncts of a signal.
pub(crate) fn conjuncts(network: &Network, signal: Signal) -> Vec<Signal> {
    let mut found = Vec::new();
    let mut open = vec![signal];
    while let Some(signal) = open.pop() {
        match network.node(signal) {
            Node::Gate(gate)
                if !signal.is_inverted()
                    && network.gates[gate].kind == GateKind::And
                    && found.len() + open.len() < MAX_CONDITIONS =>
            {
                open.extend(network.inputs(gate));
            }
            _ => found.push(signal),
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The bases that some signals of the network read, each once, in rising order.
pub(crate) fn bases_of(
    network: &Network,
    signals: impl IntoIterator<Item = Signal>,
    seen: &mut VisitedNodes,
    budget: &mut Budget,
) -> Option<Vec<BaseId>> {
    seen.start(network.facts.len() + network.gates.len());
    let mut found = Vec::new();
    let mut open: Vec<Signal> = signals.into_iter().collect();
    while let Some(signal) = open.pop() {
        match network.node(signal) {
            Node::Base(base) if seen.is_first(base.index()) => found.push(base),
            Node::Gate(gate) if seen.is_first(network.facts.len() + gate.index()) => {
                budget.spend(1)?;
                open.extend(network.inputs(gate));
            }
            _ => {}
        }
    }
    found.sort_unstable();
    Some(found)
}

impl Touching {
    /// Finds what each free move touches. The bases that one condition of a move reads are merged.
    pub fn of(
        network: &Network,
        effects: &Effects,
        freedom: &IdVec<MoveId, Freedom>,
        counts: &IdVec<BaseId, bool>,
        usual: Usual,
        groups: &mut DisjointSets,
        budget: &mut Budget,
    ) -> Option<Touching> {
        let mut seen = VisitedNodes::default();
        let free: Vec<(MoveId, RoleId)> = network
            .moves
            .enumerate()
            .filter(|&(mv, _)| freedom[mv] == Freedom::Free)
            .map(|(mv, &(role, _))| (mv, role))
            .collect();
        let mut touching = Touching {
            items: network.moves.iter().map(|_| Vec::new()).collect(),
            autonomous_conditions: network.moves.iter().map(|_| 0).collect(),
            free,
            stays: network.facts.iter().map(|_| true).collect(),
        };
        // Equal conditions read the same bases.
        let mut read: HashMap<Signal, Option<BaseId>, FxBuildHasher> = HashMap::default();
        for role in network.roles.ids() {
            let of_role = touching.free.iter().filter(|&&(_, of)| of == role);
            let of_role: Vec<MoveId> = of_role.map(|&(mv, _)| mv).collect();
            let Some(&first) = of_role.first() else {
                continue;
            };
            let (reference, asked) = match usual {
                Usual::MostMoves => (most_usual(effects, role, &of_role), Vec::new()),
                Usual::OneMove => {
                    let mut reference = effects.without(role).clone();
                    for &(base, value) in effects.with(first) {
                        reference[base] = value;
                    }
                    (reference, conjuncts(network, network.legal[first]))
                }
            };
            for (base, &value) in reference.enumerate() {
                touching.stays[base] &= usual == Usual::OneMove || effects.is_base(value, base);
            }
            let without = effects.without(role);
            let unusual: Vec<BaseId> = without
                .enumerate()
                .filter(|&(base, &value)| counts[base] && reference[base] != value)
                .map(|(base, _)| base)
                .collect();
            for &mv in &of_role {
                let with = effects.with(mv);
                budget.spend(with.len() + unusual.len() + 8)?;
                let items = &mut touching.items[mv];
                let mut note = |base: BaseId, value: Signal| {
                    if counts[base] && value != reference[base] {
                        items.push((base, hash_of((base, value))));
                    }
                };
                with.iter().for_each(|&(base, value)| note(base, value));
                for &base in &unusual {
                    if with.binary_search_by_key(&base, |&(base, _)| base).is_err() {
                        note(base, without[base]);
                    }
                }
                let conditions = conjuncts(network, network.legal[mv]);
                let added = conditions
                    .iter()
                    .filter(|condition| !asked.contains(condition));
                let missing = asked
                    .iter()
                    .filter(|condition| !conditions.contains(condition));
                let added = added.map(|&condition| (condition, true));
                for (condition, is_asked) in
                    added.chain(missing.map(|&condition| (condition, false)))
                {
                    let place = match read.get(&condition) {
                        Some(&place) => place,
                        None => {
                            let bases = bases_of(network, [condition], &mut seen, budget)?;
                            let bases: Vec<BaseId> =
                                bases.into_iter().filter(|&base| counts[base]).collect();
                            groups.unite_all(&bases);
                            read.insert(condition, bases.first().copied());
                            bases.first().copied()
                        }
                    };
                    let number = hash_of((condition, is_asked));
                    match place {
                        Some(base) => items.push((base, number)),
                        None => {
                            touching.autonomous_conditions[mv] =
                                touching.autonomous_conditions[mv].wrapping_add(number);
                        }
                    }
                }
            }
        }
        Some(touching)
    }

    /// The parts of a move, by root in rising order.
    pub fn parts(&self, mv: MoveId, groups: &mut DisjointSets) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        let mut items: Vec<Item> = self.items[mv].clone();
        items
            .iter_mut()
            .for_each(|item| item.0 = groups.root(item.0));
        items.sort_unstable();
        for (root, number) in items {
            match parts.last_mut() {
                Some((last, sum)) if *last == root => *sum = sum.wrapping_add(number),
                _ => parts.push((root, number)),
            }
        }
        parts
    }

    /// A hash of the conditions of a move on autonomous bases.
    pub fn autonomous_conditions(&self, mv: MoveId) -> u64 {
        self.autonomous_conditions[mv]
    }

    /// The free moves, with their roles.
    pub fn free(&self) -> &[(MoveId, RoleId)] {
        &self.free
    }

    /// Merges groups that moves connect, until each move is within one group or is a combination of
    /// such moves.
    pub fn unite(&self, groups: &mut DisjointSets, budget: &mut Budget) -> Option<()> {
        loop {
            let mut alone: HashSet<(RoleId, u64, BaseId, u64), FxBuildHasher> = HashSet::default();
            let mut several: Vec<(Vec<Part>, MoveId, RoleId)> = Vec::new();
            for &(mv, role) in &self.free {
                budget.spend(self.items[mv].len() * 2 + 2)?;
                let parts = self.parts(mv, groups);
                match parts[..] {
                    [] => {}
                    [(root, number)] => {
                        alone.insert((role, self.autonomous_conditions[mv], root, number));
                    }
                    _ => several.push((parts, mv, role)),
                }
            }
            several.retain(|(parts, mv, role)| {
                let is_alone = |&(root, number): &Part| {
                    alone.contains(&(*role, self.autonomous_conditions[*mv], root, number))
                };
                !parts.iter().all(is_alone)
            });
            // Moves that touch more groups may become combinations of those that touch fewer.
            let Some(fewest) = several.iter().map(|(parts, ..)| parts.len()).min() else {
                return Some(());
            };
            for (parts, ..) in several {
                if parts.len() == fewest {
                    let roots: Vec<BaseId> = parts.into_iter().map(|(root, _)| root).collect();
                    groups.unite_all(&roots);
                }
            }
        }
    }
}

/// The usual effects by [`Usual::MostMoves`].
fn most_usual(effects: &Effects, role: RoleId, moves: &[MoveId]) -> IdVec<BaseId, Signal> {
    let without = effects.without(role);
    let mut values: Vec<(BaseId, Signal)> = Vec::new();
    for &mv in moves {
        values.extend_from_slice(effects.with(mv));
    }
    values.sort_unstable();
    let mut reference = without.clone();
    let mut n_best: Vec<usize> = vec![0; without.len()];
    let mut n_with: Vec<usize> = vec![0; without.len()];
    let weight = |base: BaseId, value: Signal, n_moves: usize| match n_moves {
        0 => 0,
        _ if effects.is_base(value, base) => usize::MAX,
        _ => n_moves,
    };
    for run in values.chunk_by(|one, other| one == other) {
        let (base, value) = run[0];
        n_with[base.index()] += run.len();
        let weight = weight(base, value, run.len());
        if weight > n_best[base.index()] {
            n_best[base.index()] = weight;
            reference[base] = value;
        }
    }
    for (base, &value) in without.enumerate() {
        let n_without = moves.len() - n_with[base.index()].min(moves.len());
        if weight(base, value, n_without) >= n_best[base.index()] {
            reference[base] = value;
        }
    }
    reference
}
