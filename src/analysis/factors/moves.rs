//! Which bases moves tie together.
//!
//! A move *touches* a group when it does something else there than a usual move of its role, or
//! when it is legal only if something holds there. What it does and asks for in a group is its
//! *part* there. A move that touches several groups ties them, unless it is no more than several
//! moves made at once: each of its parts is all that some other move is.
//!
//! What is usual is told by a reference. For most games it is that a base stays as it is, or else
//! what most moves do, so that a move on one board leaves the other alone. Where each move is made
//! on all boards at once, it is what one move does: two moves then differ on one board or on
//! several.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash};

use rustc_hash::FxBuildHasher;

use super::disjoint_sets::DisjointSets;
use super::freedom::Freedom;
use crate::analysis::step_budget::StepBudget;
use crate::ids::{BaseId, Id, IdVec, MoveId, RoleId};
use crate::propnet::{Effects, GateKind, Network, Node, Signal, VisitedNodes};

/// The most conditions of one move that are told apart.
const MOST_CONDITIONS: usize = 256;

/// What usual moves of a role do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Usual {
    /// Base by base that it stays as it is, if some move does that; else what most moves do.
    MostMoves,
    /// What one of them does.
    OneMove,
}

/// Something that a move does or asks for that is not usual: in which group, told by a base of it,
/// and a number that is the same for what is the same.
type Item = (BaseId, u64);

/// What a move does and asks for in one group: a base that stands for the group, and a number that
/// is the same for what is the same.
pub(super) type Part = (BaseId, u64);

/// What the moves of a game touch.
#[derive(Clone, Debug)]
pub(super) struct Touching {
    /// Per move, if it is free: what is unusual about it.
    items: IdVec<MoveId, Vec<Item>>,
    /// What autonomous bases ask of it.
    asked: IdVec<MoveId, u64>,
    free: Vec<(MoveId, RoleId)>,
    /// Whether usual moves leave each base as it is.
    pub stays: IdVec<BaseId, bool>,
}

fn number_of(what: impl Hash) -> u64 {
    // Sums of these stand for sets, so each number has to be spread over all bits.
    let mut number = FxBuildHasher.hash_one(what);
    number ^= number >> 32;
    number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    number ^ number >> 29
}

/// The signals that all have to be on for one to be on.
pub(super) fn conjuncts(network: &Network, signal: Signal) -> Vec<Signal> {
    let mut found = Vec::new();
    let mut open = vec![signal];
    while let Some(signal) = open.pop() {
        match network.node(signal) {
            Node::Gate(gate)
                if !signal.is_inverted()
                    && network.gates[gate].kind == GateKind::And
                    && found.len() + open.len() < MOST_CONDITIONS =>
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

/// The bases that a signal of the network itself reads, each once, in rising order.
pub(super) fn bases_of(
    network: &Network,
    signals: impl IntoIterator<Item = Signal>,
    seen: &mut VisitedNodes,
    budget: &mut StepBudget,
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
    /// Finds what each free move touches. Bases that a condition of a move reads are united, as is
    /// what any base's next value reads.
    pub fn of(
        network: &Network,
        effects: &Effects,
        freedom: &IdVec<MoveId, Freedom>,
        counts: &IdVec<BaseId, bool>,
        usual: Usual,
        groups: &mut DisjointSets,
        budget: &mut StepBudget,
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
            asked: network.moves.iter().map(|_| 0).collect(),
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
                        items.push((base, number_of((base, value))));
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
                    let number = number_of((condition, is_asked));
                    match place {
                        Some(base) => items.push((base, number)),
                        None => {
                            touching.asked[mv] = touching.asked[mv].wrapping_add(number);
                        }
                    }
                }
            }
        }
        Some(touching)
    }

    /// The parts of a move: each group that it touches, in rising order, and a number for what it
    /// does and asks for there.
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

    /// What autonomous bases ask of a move, as a number.
    pub fn asked(&self, mv: MoveId) -> u64 {
        self.asked[mv]
    }

    /// The moves that are free, with their roles.
    pub fn free(&self) -> &[(MoveId, RoleId)] {
        &self.free
    }

    /// Unites what moves tie together, until all that is left are moves in one group and several
    /// such moves at once.
    pub fn unite(&self, groups: &mut DisjointSets, budget: &mut StepBudget) -> Option<()> {
        loop {
            let mut alone: HashSet<(RoleId, u64, BaseId, u64), FxBuildHasher> = HashSet::default();
            let mut several: Vec<(Vec<Part>, MoveId, RoleId)> = Vec::new();
            for &(mv, role) in &self.free {
                budget.spend(self.items[mv].len() * 2 + 2)?;
                let parts = self.parts(mv, groups);
                match parts[..] {
                    [] => {}
                    [(root, number)] => {
                        alone.insert((role, self.asked[mv], root, number));
                    }
                    _ => several.push((parts, mv, role)),
                }
            }
            several.retain(|(parts, mv, role)| {
                let is_alone = |&(root, number): &Part| {
                    alone.contains(&(*role, self.asked[*mv], root, number))
                };
                !parts.iter().all(is_alone)
            });
            // Those that touch most may turn out to be several of those that touch less.
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

/// What usual moves make of each base: it stays as it is, if some move does that; else what most of
/// them make of it.
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
