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
//! Invariant: the distance of a state with the best goal is 0, for the facts that the goal implies.

use std::time::{Duration, Instant};

use super::packing;
use super::relaxed::Relaxed;
use super::task::Task;
use crate::machine::lanes::expand::Runner;

/// Time to find the groups and distances.
const TIME: Duration = Duration::from_secs(1);
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
    /// For each fact the distances to all targets.
    distances: Vec<u16>,
}

/// The sum of distances over groups; one thread's.
pub(super) struct ProjectionDistance {
    groups: Vec<Group>,
    /// For each fact of a group the group and the fact's index there.
    places: Vec<Option<(u32, u32)>>,
    /// The facts of all groups.
    mask: Vec<u64>,
    /// For each group the distances of true facts to their nearest targets, added up.
    to_targets: Vec<u32>,
    /// For each group and target the distance of the nearest true fact.
    from_facts: Vec<Vec<u16>>,
}

impl ProjectionDistance {
    /// The distance to the best goal; `None` where no group is found that it depends on.
    pub fn new(task: &Task) -> Option<Self> {
        let until = Instant::now() + TIME;
        let network = task.game.network.as_deref()?;
        let is_target = |fact: u32| task.goal_facts.binary_search(&fact).is_ok();
        if task.goal_facts.is_empty() {
            return None;
        }
        let relaxed = task.relaxed()?;
        let mut runner = relaxed.runner();
        let samples = packing::sample(&task.game.machine, &task.start, until);
        let mut groups = Vec::new();
        for ((_, n_arguments, _), facts) in packing::relations(network, &task.game.mask) {
            let has_target = facts.iter().any(|(fact, _)| is_target(*fact));
            if !has_target || n_arguments > MAX_ARGUMENTS || facts.len() > MAX_FACTS {
                continue;
            }
            let mut best = (0, Vec::new());
            for mask in (0..1 << n_arguments).take_while(|_| Instant::now() < until) {
                let classes = packing::classes(&facts, mask);
                let Some(mut found) = conserved(classes, &samples, is_target) else {
                    continue;
                };
                for group in &mut found {
                    group.measure(&relaxed, runner.as_mut());
                }
                let mut distance = Self::over(found, task.start.len(), network.facts.len());
                let at_start = distance.of(&task.start);
                if at_start > best.0 {
                    best = (at_start, distance.groups);
                }
            }
            groups.append(&mut best.1);
        }
        (!groups.is_empty()).then(|| Self::over(groups, task.start.len(), network.facts.len()))
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
            to_targets: vec![0; groups.len()],
            from_facts: groups
                .iter()
                .map(|group| vec![0; group.targets.len()])
                .collect(),
            groups,
            places,
            mask,
        }
    }

    /// The distance of a state.
    pub fn of(&mut self, state: &[u64]) -> u32 {
        self.to_targets.fill(0);
        for nearest in &mut self.from_facts {
            nearest.fill(UNREACHABLE);
        }
        for (index, (word, mask)) in state.iter().zip(&self.mask).enumerate() {
            let mut left = word & mask;
            while left != 0 {
                let fact = index * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                let Some((number, place)) = self.places[fact] else {
                    continue;
                };
                let (number, place) = (number as usize, place as usize);
                let group = &self.groups[number];
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
        let groups = self
            .groups
            .iter()
            .zip(&self.to_targets)
            .zip(&self.from_facts);
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
                facts,
                targets,
                distances: Vec::new(),
            });
        }
    }
    (!groups.is_empty()).then_some(groups)
}

impl Group {
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
