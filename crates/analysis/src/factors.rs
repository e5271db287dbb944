//! Factors: independent games within a game.
//!
//! Two bases belong to one group if the next value of one reads the other, if a move affects both,
//! or if a disjunct of the end or of a goal reads both. Autonomous bases connect nothing. The
//! groups that remain separate are the factors. (Sancho factors by disjuncts of the end alone; Cox
//! et al. 2009 and Günther, Schiffel and Thielscher 2009 factor by dependencies of fluents and
//! actions.) A move may belong to several factors: where it is a pair of moves on two boards, each
//! board has its own equivalence classes of moves.
//!
//! Invariants: everything is derived from the network, so names do not matter. In doubt groups are
//! merged. A base is in at most one factor, and an autonomous base in none.

mod disjoint_sets;
mod ends;
pub(crate) mod freedom;
pub(crate) mod moves;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use self::disjoint_sets::DisjointSets;
use self::ends::Ends;
use self::freedom::{Freedom, freedom};
use self::moves::{Touching, Usual};
use super::autonomous::autonomous_bases;
use super::ternary::support;
use panza_gdl::{BaseId, Id, IdVec, MoveId, RoleId};
use panza_propnet::{Effects, Network, VisitedNodes, effects};
use panza_sync::Budget;

/// The most rounds of merging.
const MAX_ROUNDS: usize = 64;

/// Moves of a role that are equivalent in a factor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MoveClass {
    /// The moves, in rising order.
    pub moves: Vec<MoveId>,
    /// Whether they have the usual effects in the factor, and no condition in it: they are passes
    /// there.
    pub is_usual: bool,
}

/// An independent game within the game.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Factor {
    /// Its bases, in rising order.
    pub bases: Vec<BaseId>,
    /// Per role the moves with unusual effects or conditions in it, in rising order.
    pub moves: IdVec<RoleId, Vec<MoveId>>,
    /// Per role all moves that are free anywhere, by equivalence in this factor.
    pub classes: IdVec<RoleId, Vec<MoveClass>>,
    /// The roles that have moves in it.
    pub roles: Vec<RoleId>,
    /// Whether the end or some goal depends on it.
    pub is_relevant: bool,
}

/// The factors of a game.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Factors {
    /// The factors, by their first bases. Those that are not relevant come last, as one. Fewer than
    /// two if the game does not factor.
    pub factors: Vec<Factor>,
    /// The autonomous bases, in rising order.
    pub autonomous: Vec<BaseId>,
    /// Whether each move acts in all factors at once; else a move acts in one factor, or combines
    /// several such moves.
    pub is_joint: bool,
    /// Moves that are the only legal ones wherever they are legal, as passes while others move.
    pub forced: Vec<MoveId>,
}

impl Factors {
    /// Whether there are several factors.
    pub fn is_split(&self) -> bool {
        self.factors.len() > 1
    }
}

/// Finds the factors of a game; `None` if the budget is over first, or the game is too large.
///
/// The network should be as built: passes take the conditions of the rules apart.
pub fn factors(network: &Network, limits: &Budget) -> Option<Factors> {
    let budget = &mut limits.clone();
    let is_autonomous = autonomous_bases(network, |_| false);
    let freedom = freedom(network, &is_autonomous, budget)?;
    let counts = relevant(network, &is_autonomous);
    let game = Game {
        network,
        freedom: &freedom,
        counts: &counts,
        ends: Ends::of(network, &counts, budget)?,
    };
    let mut found = Vec::new();
    let mut is_joint = false;
    if let Some(effects) = effects(network, limits) {
        for usual in [Usual::MostMoves, Usual::OneMove] {
            let split = game.split(&effects, usual, budget)?;
            if split.len() > found.len() {
                found = split;
                is_joint = usual == Usual::OneMove;
            }
            if found.len() > 1 {
                break;
            }
        }
    } else if limits.is_over() {
        return None;
    }
    let of = |wanted: Freedom| {
        let moves = network.moves.ids();
        moves.filter(move |&mv| freedom[mv] == wanted)
    };
    Some(Factors {
        factors: found,
        autonomous: network
            .facts
            .ids()
            .filter(|&base| is_autonomous[base])
            .collect(),
        is_joint,
        forced: of(Freedom::Forced).collect(),
    })
}

/// The forced moves, in rising order, as far as the autonomous bases decide; `None` if the budget
/// is over first.
pub fn forced_moves(network: &Network, limits: &Budget) -> Option<Vec<MoveId>> {
    let mut budget = limits.clone();
    let is_autonomous = autonomous_bases(network, |_| false);
    let freedom = freedom(network, &is_autonomous, &mut budget)?;
    let moves = network.moves.ids();
    Some(moves.filter(|&mv| freedom[mv] == Freedom::Forced).collect())
}

/// The bases that are not autonomous and on which legal moves, the end or a goal depend.
fn relevant(network: &Network, is_autonomous: &IdVec<BaseId, bool>) -> IdVec<BaseId, bool> {
    let goals = network.goals.iter().map(|&(_, _, signal)| signal);
    let outputs = goals.chain(network.legal.iter().copied());
    let outputs = outputs.chain([network.terminal]);
    support(network, outputs, |base| !is_autonomous[base])
}

/// A factor's index, and a hash of a move's effects and conditions in it.
type FactorPart = (usize, u64);

struct Game<'a> {
    network: &'a Network,
    freedom: &'a IdVec<MoveId, Freedom>,
    /// Whether each base is grouped.
    counts: &'a IdVec<BaseId, bool>,
    ends: Ends<'a>,
}

impl Game<'_> {
    /// The factors with usual effects defined in this way; none if the game does not factor.
    fn split(&self, effects: &Effects, usual: Usual, budget: &mut Budget) -> Option<Vec<Factor>> {
        let network = self.network;
        let mut groups = DisjointSets::new(network.facts.len());
        self.unite_readers(effects, &mut groups, budget)?;
        let touching = Touching::of(
            network,
            effects,
            self.freedom,
            self.counts,
            usual,
            &mut groups,
            budget,
        )?;
        let mut ends = self.ends.clone();
        for _ in 0..MAX_ROUNDS {
            let before = groups.n_united;
            touching.unite(&mut groups, budget)?;
            ends.unite(self.counts, &touching.stays, &mut groups, budget)?;
            self.unite_solitary(&touching, &mut groups, budget)?;
            if groups.n_united == before {
                break;
            }
        }
        let relevant = groups.roots(&self.ends.read);
        let is_alone = network.roles.len() == 1;
        if is_alone
            && relevant.len() > 1
            && !ends::goals_are_monotone(network, self.counts, &mut groups, budget)?
        {
            return Some(Vec::new());
        }
        self.factors_of(&touching, &relevant, groups, budget)
    }

    /// Merges each base with the bases that its next value reads.
    fn unite_readers(
        &self,
        effects: &Effects,
        groups: &mut DisjointSets,
        budget: &mut Budget,
    ) -> Option<()> {
        let network = self.network;
        let mut seen = VisitedNodes::default();
        // The next value of a base is one of the values after the moves of any one role. The role
        // whose values read the fewest bases is taken.
        let mut fewest: IdVec<BaseId, Option<Vec<BaseId>>> =
            network.facts.iter().map(|_| None).collect();
        for role in network.roles.ids() {
            let mut values: Vec<Vec<_>> = network.facts.iter().map(|_| Vec::new()).collect();
            let mut n_with = vec![0usize; network.facts.len()];
            let mut n_moves = 0;
            for (mv, _) in network.moves.enumerate().filter(|(_, of)| of.0 == role) {
                if self.freedom[mv] == Freedom::Never {
                    continue;
                }
                n_moves += 1;
                budget.spend(effects.with(mv).len() + 1)?;
                for &(base, value) in effects.with(mv) {
                    n_with[base.index()] += 1;
                    if values[base.index()].last() != Some(&value) {
                        values[base.index()].push(value);
                    }
                }
            }
            for (base, &without) in effects.without(role).enumerate() {
                if !self.counts[base] {
                    continue;
                }
                if n_with[base.index()] < n_moves || n_moves == 0 {
                    values[base.index()].push(without);
                }
                let values = std::mem::take(&mut values[base.index()]);
                let (read, n_seen) = effects.bases_of(values, &mut seen);
                budget.spend(n_seen)?;
                let best = &mut fewest[base];
                if best.as_ref().is_none_or(|best| read.len() < best.len()) {
                    *best = Some(read);
                }
            }
        }
        for (base, read) in fewest.enumerate() {
            for &other in read.iter().flatten() {
                if self.counts[base] && self.counts[other] {
                    groups.unite(base, other);
                }
            }
        }
        Some(())
    }

    /// In a game of several roles, merges the groups in which only one role has moves, as the
    /// tracks of a race.
    fn unite_solitary(
        &self,
        touching: &Touching,
        groups: &mut DisjointSets,
        budget: &mut Budget,
    ) -> Option<()> {
        if self.network.roles.len() == 1 {
            return Some(());
        }
        loop {
            let all = groups.roots(&self.ends.read);
            let mut mover: Vec<Option<RoleId>> = vec![None; all.len()];
            let mut has_several = vec![false; all.len()];
            for &(mv, role) in touching.free() {
                budget.spend(8)?;
                for (root, _) in touching.parts(mv, groups) {
                    if let Ok(place) = all.binary_search(&root) {
                        has_several[place] |= mover[place].is_some_and(|other| other != role);
                        mover[place] = Some(role);
                    }
                }
            }
            let places = all.iter().zip(&has_several);
            let solitary: Vec<BaseId> = places
                .filter(|&(_, &has_several)| !has_several)
                .map(|(&root, _)| root)
                .collect();
            match solitary.len() {
                0 => return Some(()),
                // If only one is left, the game does not factor.
                1 => {
                    groups.unite_all(&all);
                    return Some(());
                }
                _ => groups.unite_all(&solitary),
            }
        }
    }

    fn factors_of(
        &self,
        touching: &Touching,
        relevant: &[BaseId],
        mut groups: DisjointSets,
        budget: &mut Budget,
    ) -> Option<Vec<Factor>> {
        let network = self.network;
        // Irrelevant bases form one factor, after all others.
        let mut place_of: HashMap<BaseId, usize> = HashMap::new();
        let mut is_moved: Vec<bool> = Vec::new();
        let mut parts_of: Vec<(MoveId, RoleId, Vec<FactorPart>)> = Vec::new();
        for (place, &root) in relevant.iter().enumerate() {
            place_of.insert(root, place);
            is_moved.push(false);
        }
        is_moved.push(false);
        let others = relevant.len();
        for &(mv, role) in touching.free() {
            budget.spend(16)?;
            let parts = touching.parts(mv, &mut groups);
            let mut placed: Vec<FactorPart> = Vec::new();
            for (root, number) in parts {
                let place = place_of.get(&root).copied().unwrap_or(others);
                is_moved[place] = true;
                match placed.iter_mut().find(|(other, _)| *other == place) {
                    Some((_, sum)) => *sum = sum.wrapping_add(number),
                    None => placed.push((place, number)),
                }
            }
            parts_of.push((mv, role, placed));
        }
        let n_moved = is_moved.iter().filter(|&&is_moved| is_moved).count();
        if n_moved < 2 {
            return Some(Vec::new());
        }
        let mut found = Vec::new();
        for (place, _) in is_moved
            .iter()
            .enumerate()
            .filter(|&(_, &is_moved)| is_moved)
        {
            let mut factor = Factor {
                bases: Vec::new(),
                moves: network.roles.iter().map(|_| Vec::new()).collect(),
                classes: network.roles.iter().map(|_| Vec::new()).collect(),
                roles: Vec::new(),
                is_relevant: place < others,
            };
            let mut classes: HashMap<(RoleId, Option<(u64, u64)>), usize> = HashMap::new();
            for (mv, role, parts) in &parts_of {
                budget.spend(2)?;
                let part = parts.iter().find(|&&(other, _)| other == place);
                // Usual moves are one class, whatever their autonomous conditions.
                let key = part.map(|&(_, number)| (touching.autonomous_conditions(*mv), number));
                if part.is_some() {
                    factor.moves[*role].push(*mv);
                }
                let role_classes = &mut factor.classes[*role];
                let class = *classes.entry((*role, key)).or_insert_with(|| {
                    role_classes.push(MoveClass {
                        moves: Vec::new(),
                        is_usual: part.is_none(),
                    });
                    role_classes.len() - 1
                });
                role_classes[class].moves.push(*mv);
            }
            let roles = network.roles.ids();
            factor.roles = roles
                .filter(|&role| !factor.moves[role].is_empty())
                .collect();
            found.push(factor);
        }
        let places: Vec<usize> = (0..=others).filter(|&place| is_moved[place]).collect();
        for base in network.facts.ids().filter(|&base| self.counts[base]) {
            let place = place_of.get(&groups.root(base)).copied().unwrap_or(others);
            if let Ok(index) = places.binary_search(&place) {
                found[index].bases.push(base);
            }
        }
        Some(found)
    }
}
