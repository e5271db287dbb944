//! Distances in projections: how far each true fact of a group is from its place in the goal.
//!
//! A group is a set of facts of which always the same number is true: the places of one tile, or
//! the squares of all boxes. In the projection to a group all other facts are free, so a true fact
//! moves through the group's transition graph alone. Distances in that graph come from the
//! relaxation, one lane for each fact. (Domain transition graphs: Helmert 2006.)
//!
//! Groups are guessed from random games, and true facts may hinder or help each other: the sum of
//! the distances guides a search and proves nothing.
//!
//! Invariant: where the guess holds, the distance of a final state with the goal is 0.

use std::sync::Arc;
use std::time::Duration;

use super::packing;
use super::relaxed::Relaxed;
use panza_machine::Machine;
use panza_machine::lanes::expand::Runner;
use panza_propnet::Network;
use panza_sync::{after, is_past};

/// Time to find the groups and distances.
const TIME: Duration = Duration::from_secs(1);
/// States of random games that groups are guessed from, at least.
const MIN_SAMPLES: usize = 50;
/// Relations of more facts have no groups.
const MAX_FACTS: usize = 2_048;
/// Relations of more arguments have no groups.
const MAX_ARGUMENTS: usize = 6;
/// The distance of a fact whose place cannot be reached.
const UNREACHABLE: u16 = 1_000;

/// Facts of which always the same number is true, some of them true in the goal.
struct Group {
    facts: Vec<u32>,
    /// The facts that the goal implies.
    targets: Vec<u32>,
    /// Whether each true fact has to reach a target.
    is_complete: bool,
    /// Whether one fact is true.
    is_single: bool,
    /// For each fact the distances to all targets.
    distances: Vec<u16>,
}

/// The groups that a goal depends on.
pub(super) struct Projections {
    groups: Vec<Group>,
    /// For each fact of a group the group and the fact's index there.
    places: Vec<Option<(u32, u32)>>,
    /// The facts of all groups.
    mask: Vec<u64>,
}

/// What groups are found from.
pub(super) struct Source<'a> {
    pub machine: &'a Arc<dyn Machine>,
    pub network: &'a Network,
    pub start: &'a [u64],
    /// The bits of facts that depend on moves.
    pub mask: &'a [u64],
    /// The facts that the goal implies, in rising order.
    pub goal_facts: &'a [u32],
    pub relaxed: &'a Relaxed,
}

impl Projections {
    /// The groups; `None` where there are none that the goal depends on, or random games are too
    /// slow to find them.
    pub fn new(source: &Source<'_>) -> Option<Self> {
        let until = after(TIME);
        let n_facts = source.network.facts.len();
        let is_target = |fact: u32| source.goal_facts.binary_search(&fact).is_ok();
        let mut runner = source.relaxed.runner();
        let samples = packing::sample(source.machine, source.start, until);
        if samples.len() < MIN_SAMPLES {
            return None;
        }
        let mut groups = Vec::new();
        for ((_, n_arguments, depends), facts) in packing::relations(source.network, source.mask) {
            let has_target = facts.iter().any(|(fact, _)| is_target(*fact));
            if !depends || !has_target || n_arguments > MAX_ARGUMENTS || facts.len() > MAX_FACTS {
                continue;
            }
            let mut best = ((false, 0), Vec::new());
            for mask in 0..1 << n_arguments {
                let classes = packing::classes(&facts, mask);
                let Some(mut found) = conserved(classes, &samples, is_target) else {
                    continue;
                };
                for group in &mut found {
                    if is_past(until) {
                        return None;
                    }
                    group.measure(source.relaxed, runner.as_mut());
                }
                let found = Arc::new(Self::over(found, source.start.len(), n_facts));
                let at_start = ProjectionDistance::new(&found).of(source.start);
                // Facts of single groups do not hinder each other, and a wider range tells more.
                let is_single = found.groups.iter().all(|group| group.is_single);
                let range: u32 = found.groups.iter().map(Group::range).sum();
                let rank = (is_single, range);
                // A target that is out of reach is a wrong guess.
                if at_start > 0 && at_start < u32::from(UNREACHABLE) && rank > best.0 {
                    best = (rank, Arc::into_inner(found)?.groups);
                }
            }
            groups.append(&mut best.1);
        }
        (!groups.is_empty()).then(|| Self::over(groups, source.start.len(), n_facts))
    }

    fn over(groups: Vec<Group>, n_words: usize, n_facts: usize) -> Self {
        let mut places = vec![None; n_facts];
        let mut mask = vec![0; n_words];
        for (number, group) in (0..).zip(&groups) {
            for (index, &fact) in (0..).zip(&group.facts) {
                places[fact as usize] = Some((number, index));
                mask[fact as usize / 64] |= 1 << (fact % 64);
            }
        }
        Self {
            groups,
            places,
            mask,
        }
    }
}

/// The sum of distances over groups; one thread's.
pub(super) struct ProjectionDistance {
    projections: Arc<Projections>,
    /// For each group the distances of true facts to their nearest targets, added up.
    to_targets: Vec<u32>,
    /// For each group and target the distance of the nearest true fact.
    from_facts: Vec<Vec<u16>>,
}

impl ProjectionDistance {
    pub fn new(projections: &Arc<Projections>) -> Self {
        let groups = &projections.groups;
        let targets = groups.iter().map(|group| vec![0; group.targets.len()]);
        Self {
            to_targets: vec![0; groups.len()],
            from_facts: targets.collect(),
            projections: Arc::clone(projections),
        }
    }

    /// The distance of a state.
    pub fn of(&mut self, state: &[u64]) -> u32 {
        self.to_targets.fill(0);
        for nearest in &mut self.from_facts {
            nearest.fill(UNREACHABLE);
        }
        let Projections {
            groups,
            places,
            mask,
        } = &*self.projections;
        for (index, (word, mask)) in state.iter().zip(mask).enumerate() {
            let mut left = word & mask;
            while left != 0 {
                let fact = index * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                let Some((number, place)) = places[fact] else {
                    continue;
                };
                let (number, place) = (number as usize, place as usize);
                let group = &groups[number];
                let n_targets = group.targets.len();
                let distances = &group.distances[place * n_targets..(place + 1) * n_targets];
                let mut least = UNREACHABLE;
                for (nearest, &distance) in self.from_facts[number].iter_mut().zip(distances) {
                    *nearest = distance.min(*nearest);
                    least = least.min(distance);
                }
                self.to_targets[number] += u32::from(least);
            }
        }
        let groups = groups.iter().zip(&self.to_targets).zip(&self.from_facts);
        groups
            .map(|((group, &to_targets), from_facts)| {
                let from_facts = from_facts.iter().map(|&distance| u32::from(distance)).sum();
                match group.is_complete {
                    true => to_targets.max(from_facts),
                    false => from_facts,
                }
            })
            .sum()
    }
}

/// The classes with targets, if in each class the same number of facts is true in all samples.
fn conserved(
    classes: Vec<Vec<u32>>,
    samples: &[Vec<u64>],
    is_target: impl Fn(u32) -> bool,
) -> Option<Vec<Group>> {
    let is_on = |state: &[u64], fact: u32| state[fact as usize / 64] >> (fact % 64) & 1 == 1;
    let mut groups = Vec::new();
    for facts in classes {
        let count = |state: &Vec<u64>| facts.iter().filter(|&&fact| is_on(state, fact)).count();
        let n_true = samples.first().map_or(0, count);
        if !samples.iter().all(|state| count(state) == n_true) {
            return None;
        }
        let targets: Vec<u32> = facts
            .iter()
            .copied()
            .filter(|&fact| is_target(fact))
            .collect();
        if n_true > 0 && !targets.is_empty() {
            groups.push(Group {
                is_complete: targets.len() == n_true,
                is_single: n_true == 1,
                facts,
                targets,
                distances: Vec::new(),
            });
        }
    }
    (!groups.is_empty()).then_some(groups)
}

impl Group {
    /// The greatest distance.
    fn range(&self) -> u32 {
        let reachable = self
            .distances
            .iter()
            .filter(|&&distance| distance < UNREACHABLE);
        reachable.max().map_or(0, |&distance| u32::from(distance))
    }

    /// Finds the distances: the steps of the relaxation from states with one true fact of the group
    /// and all other facts free.
    fn measure(&mut self, relaxed: &Relaxed, runner: &mut dyn Runner) {
        let n_targets = self.targets.len();
        self.distances = vec![UNREACHABLE; self.facts.len() * n_targets];
        let batches = self.facts.chunks(runner.width());
        for (batch, rows) in batches.zip(self.distances.chunks_mut(runner.width() * n_targets)) {
            let states: Vec<u64> = batch
                .iter()
                .flat_map(|&fact| relaxed.free_but_for(&self.facts, fact))
                .collect();
            let n_words = states.len() / batch.len();
            let mut step = 0;
            let mut see = |states: &[u64]| {
                let rows = rows.chunks_exact_mut(n_targets);
                for (row, state) in rows.zip(states.chunks_exact(n_words)) {
                    for (distance, &target) in row.iter_mut().zip(&self.targets) {
                        if state[target as usize / 64] >> (target % 64) & 1 == 1 {
                            *distance = step.min(*distance);
                        }
                    }
                }
                step += 1;
            };
            see(&states);
            runner.watch(&states, u32::from(UNREACHABLE), &mut see);
        }
    }
}
