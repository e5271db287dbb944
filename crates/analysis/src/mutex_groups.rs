//! Mutex groups: sets of bases of which exactly one was true in every state of some random games.
//!
//! Each state draws a random word, and each base gets the sum of the words of the states in which
//! it is true (Zobrist hashing, with addition in place of XOR). Exactly one base of a set is true
//! in every state if the sums of its members add up to the sum over all states. The converse fails
//! with probability 2⁻⁶⁴.
//!
//! Four kinds of set are tried: pairs; all facts of one relation; all facts that differ in one
//! argument, as in `(control ?player)` or `(turn ?player select)`; and triples and quadruples of
//! the bases that cause most gate updates.
//!
//! Invariants: a group is a guess from the states met, never a proof. Whoever relies on it checks
//! each state.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;
use std::sync::Arc;

use rustc_hash::FxBuildHasher;

use panza_gdl::{BaseId, Id};
use panza_machine::Machine;
use panza_propnet::{MAX_MUTEX_GROUP, MutexGroup, Network, PlayedPosition};
use panza_sync::{Budget, Random};

/// States times gates and edges.
const WORK: usize = 1 << 24;
const MIN_STATES: usize = 48;
const SEED: u64 = 1;
const MAX_STATES: usize = 256;
/// Bases from which triples and quadruples are made: those that cause most gate updates.
const MAX_BUSY: usize = 32;
/// The true base of a group changes at least once in this many moves. A group that rests longer is
/// a square of a board rather than a turn, and made games slower when split by it.
const MAX_MOVES_PER_CHANGE: usize = 5;
/// The most groups that are returned.
const MAX_GROUPS: usize = 512;
/// Facts of more parts are grouped by their relation only: the work is the square of the parts.
const MAX_PARTS: usize = 64;

/// The mutex groups of a game, and the play that showed them.
#[derive(Clone, Debug)]
pub struct MutexGroups {
    /// Groups of 2 to [`MAX_MUTEX_GROUP`] bases. Those come first that change often and that many
    /// gates read.
    pub groups: Vec<MutexGroup>,
    /// The positions met, game after game.
    pub played: Vec<PlayedPosition>,
    n_games: usize,
}

impl MutexGroups {
    /// The mean number of joint moves of a game; the last game counts as far as it was played.
    pub fn mean_length(&self) -> f64 {
        self.played.len() as f64 / self.n_games.max(1) as f64
    }
}

/// Finds sets of bases of which exactly one was true in every non-terminal state of some random
/// games.
///
/// The machine must be one of the network's game. Plays for a few per cent of the time in which
/// the network is built, at most until the budget is over.
pub fn find(network: &Network, machine: &Arc<dyn Machine>, budget: &Budget) -> MutexGroups {
    let size = network.gates.len() + network.n_edges();
    let states = (WORK / size.max(1)).clamp(MIN_STATES, MAX_STATES) as u64;
    let budget = budget.with_steps(states.min(budget.max_steps));
    find_in_games(network, machine, &budget, MAX_STATES, SEED)
}

/// The same in games of at most `longest` states each. A step of the budget is a state.
pub fn find_in_games(
    network: &Network,
    machine: &Arc<dyn Machine>,
    budget: &Budget,
    longest: usize,
    seed: u64,
) -> MutexGroups {
    let seen = PlayStatistics::play(machine, network.facts.len(), budget, longest, seed);
    let n_users = network.base_fan_out();
    // The number of gate updates that a base causes.
    let weight = |base: &BaseId| n_users[base.index()] * seen.n_changes[base.index()];
    let mut changing: Vec<BaseId> = network
        .facts
        .ids()
        .filter(|&base| seen.changes(base.index()))
        .collect();
    changing.sort_by_key(|base| std::cmp::Reverse(weight(base)));
    let mut finder = Finder {
        seen: &seen,
        known: HashSet::new(),
        found: Vec::new(),
    };
    finder.pairs(&changing);
    finder.groups_by_form(network);
    finder.triples_and_quadruples(&changing[..changing.len().min(MAX_BUSY)]);
    for group in panza_propnet::mutex_groups_by_form(network) {
        finder.offer(group, false);
    }
    let mut groups = finder.found;
    groups.sort_by_cached_key(|group| std::cmp::Reverse(group.iter().map(weight).sum::<usize>()));
    MutexGroups {
        groups,
        played: seen.played,
        n_games: seen.n_games,
    }
}

/// Statistics of each base over random games.
struct PlayStatistics {
    n_states: usize,
    /// The sum of the words of all states.
    all: u64,
    /// Per base, the sum of the words of those states in which it is true.
    sums: Vec<u64>,
    /// Per base, the number of states in which it is true.
    n_true: Vec<usize>,
    /// Per base, how often its value differs from that of the state before.
    n_changes: Vec<usize>,
    played: Vec<PlayedPosition>,
    n_games: usize,
}

impl PlayStatistics {
    fn play(
        machine: &Arc<dyn Machine>,
        n_bases: usize,
        budget: &Budget,
        longest: usize,
        seed: u64,
    ) -> Self {
        let n_states = usize::try_from(budget.max_steps).unwrap_or(usize::MAX);
        let mut seen = Self {
            n_states: 0,
            all: 0,
            sums: vec![0; n_bases],
            n_true: vec![0; n_bases],
            n_changes: vec![0; n_bases],
            played: Vec::with_capacity(n_states.min(MAX_STATES)),
            n_games: 0,
        };
        let mut reasoner = Arc::clone(machine).reasoner();
        let mut random = Random::new(seed);
        let mut words = Random::new(seed ^ 0x5EED);
        let n_roles = machine.info().n_roles();
        let initial = machine.initial_state();
        let (mut state, mut before) = (initial.clone(), initial.clone());
        let mut depth = 0;
        while seen.n_states < n_states && !budget.is_over() {
            reasoner.set_state(&state);
            let joint_move = match reasoner.is_terminal() || depth == longest {
                true => None,
                false => reasoner.random_joint_move(n_roles, &mut random),
            };
            let Some(joint_move) = joint_move else {
                if depth == 0 {
                    break;
                }
                depth = 0;
                state.clone_from(&initial);
                before.clone_from(&initial);
                continue;
            };
            seen.n_games += usize::from(depth == 0);
            seen.note(&state, &before, words.bits());
            before.clone_from(&state);
            reasoner.next_state(&joint_move, &mut state);
            seen.played.push(PlayedPosition {
                state: before.clone(),
                moves: joint_move,
            });
            depth += 1;
        }
        seen
    }

    fn note(&mut self, state: &[u64], before: &[u64], word: u64) {
        self.n_states += 1;
        self.all = self.all.wrapping_add(word);
        for (index, (&now, &then)) in state.iter().zip(before).enumerate() {
            for base in ones(now).map(|bit| index * 64 + bit) {
                self.sums[base] = self.sums[base].wrapping_add(word);
                self.n_true[base] += 1;
            }
            for base in ones(now ^ then).map(|bit| index * 64 + bit) {
                self.n_changes[base] += 1;
            }
        }
    }

    /// Whether the base was true in some states, but not in all.
    fn changes(&self, base: usize) -> bool {
        self.n_true[base] > 0 && self.n_true[base] < self.n_states
    }
}

/// The indices of the set bits.
fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(bit)
    })
}

/// Collects the sets whose sums add up.
struct Finder<'a> {
    seen: &'a PlayStatistics,
    known: HashSet<Vec<BaseId>>,
    found: Vec<MutexGroup>,
}

impl Finder<'_> {
    /// Adds the group if exactly one base of it was true in every state. Unless it `may_rest`, it
    /// must change often.
    fn offer(&mut self, mut group: MutexGroup, may_rest: bool) {
        let sums = group.iter().map(|base| self.seen.sums[base.index()]);
        let is_one = sums.fold(0, u64::wrapping_add) == self.seen.all;
        let n_changes = group.iter().map(|base| self.seen.n_changes[base.index()]);
        // Two bases change at a time.
        let changes_often =
            n_changes.sum::<usize>() * MAX_MOVES_PER_CHANGE >= 2 * self.seen.n_states;
        group.sort_unstable();
        if !is_one
            || !(changes_often || may_rest)
            || !(2..=MAX_MUTEX_GROUP).contains(&group.len())
            || self.found.len() == MAX_GROUPS
            || !self.known.insert(group.clone())
        {
            return;
        }
        self.found.push(group);
    }

    fn pairs(&mut self, changing: &[BaseId]) {
        let of_sum: HashMap<u64, BaseId> = self.by_sum(changing);
        for &base in changing {
            let wanted = self.seen.all.wrapping_sub(self.seen.sums[base.index()]);
            if let Some(&other) = of_sum.get(&wanted) {
                self.offer(vec![base, other], false);
            }
        }
    }

    /// Facts of one relation, and facts that differ in one argument only, where there are few
    /// enough of them. Facts that did not change are left out.
    fn groups_by_form(&mut self, network: &Network) {
        let mut groups: HashMap<(usize, u64), Vec<BaseId>> = HashMap::new();
        let mut order: Vec<(usize, u64)> = Vec::new();
        for (base, fact) in network.facts.enumerate() {
            let parts = parts(fact);
            let name = parts.first().copied().unwrap_or_default();
            let mut keys = vec![(usize::MAX, FxBuildHasher.hash_one(name))];
            // With one argument this is the relation again.
            for place in if (3..=MAX_PARTS).contains(&parts.len()) {
                1..parts.len()
            } else {
                0..0
            } {
                // Forms of equal hashes make one group, which playing refutes.
                let others = (&parts[..place], &parts[place + 1..]);
                keys.push((place, FxBuildHasher.hash_one(others)));
            }
            for key in keys {
                let members = groups.entry(key).or_default();
                if members.is_empty() {
                    order.push(key);
                }
                if members.len() <= MAX_MUTEX_GROUP {
                    members.push(base);
                }
            }
        }
        for key in order {
            let mut members = groups.remove(&key).unwrap_or_default();
            let (place, _) = key;
            if members.len() <= MAX_MUTEX_GROUP {
                members.retain(|base| self.seen.changes(base.index()));
                // A relation of its own is no square of the board.
                self.offer(members, place == usize::MAX);
            }
        }
    }

    fn triples_and_quadruples(&mut self, busy: &[BaseId]) {
        let sum = |bases: &[BaseId]| {
            let sums = bases.iter().map(|base| self.seen.sums[base.index()]);
            sums.fold(0, u64::wrapping_add)
        };
        let of_sum = self.by_sum(busy);
        let mut pairs: HashMap<u64, [BaseId; 2]> = HashMap::new();
        let mut sets: Vec<Vec<BaseId>> = Vec::new();
        for (place, &first) in busy.iter().enumerate() {
            for &second in &busy[place + 1..] {
                let pair = sum(&[first, second]);
                let wanted = self.seen.all.wrapping_sub(pair);
                if let Some(&third) = of_sum.get(&wanted) {
                    sets.push(vec![first, second, third]);
                }
                if let Some(&[third, fourth]) = pairs.get(&wanted) {
                    sets.push(vec![first, second, third, fourth]);
                }
                pairs.entry(pair).or_insert([first, second]);
            }
        }
        sets.into_iter().for_each(|set| self.offer(set, false));
    }

    /// The first base of each sum.
    fn by_sum(&self, bases: &[BaseId]) -> HashMap<u64, BaseId> {
        let pairs = bases.iter().rev();
        pairs
            .map(|&base| (self.seen.sums[base.index()], base))
            .collect()
    }
}

/// Name and arguments of the canonical text of a fact or move.
pub fn parts(fact: &str) -> Vec<&str> {
    let inner = fact
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'))
        .unwrap_or(fact);
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0usize, 0);
    for (place, letter) in inner.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 => {
                parts.push(&inner[start..place]);
                start = place + 1;
            }
            _ => {}
        }
    }
    parts.push(&inner[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_come_apart_at_the_outer_blanks() {
        assert_eq!(parts("over"), ["over"]);
        assert_eq!(parts("(control white)"), ["control", "white"]);
        assert_eq!(
            parts("(at (f 1 2) (g (h 3)))"),
            ["at", "(f 1 2)", "(g (h 3))"]
        );
    }

    /// The sums of bases that are true in these of six states.
    fn seen(bases: &[&[usize]]) -> PlayStatistics {
        let mut seen = PlayStatistics {
            n_states: 0,
            all: 0,
            sums: vec![0; bases.len()],
            n_true: vec![0; bases.len()],
            n_changes: vec![0; bases.len()],
            played: Vec::new(),
            n_games: 0,
        };
        let mut words = Random::new(1);
        let mut before = vec![0];
        for state in 0..6 {
            let is_true = |&(_, states): &(usize, &&[usize])| states.contains(&state);
            let bits = bases.iter().enumerate().filter(is_true);
            let now = vec![bits.fold(0u64, |bits, (base, _)| bits | 1 << base)];
            seen.note(&now, &before, words.bits());
            before = now;
        }
        seen
    }

    #[test]
    fn exactly_the_sets_with_one_true_base_in_each_state_are_found() {
        let seen = seen(&[
            &[0, 2, 4],
            &[1, 3, 5],
            &[0, 3],
            &[1, 4],
            &[2, 5],
            &[0, 1, 2],
            &[],
        ]);
        let mut finder = Finder {
            seen: &seen,
            known: HashSet::new(),
            found: Vec::new(),
        };
        let bases: Vec<BaseId> = (0..7).map(BaseId).collect();
        finder.pairs(&bases);
        finder.triples_and_quadruples(&bases);
        // Six states between two bases are no sum of one in each: 0 and 5 hold together in two of
        // them.
        finder.offer(vec![BaseId(0), BaseId(5)], true);
        let mut found: Vec<Vec<u32>> = finder
            .found
            .iter()
            .map(|group| group.iter().map(|base| base.0).collect())
            .collect();
        found.sort();
        assert_eq!(found[..2], [vec![0, 1], vec![0, 1, 6]]);
        assert!(found.contains(&vec![2, 3, 4]));
        assert!(found.iter().all(|set| !set.contains(&5)));
        assert_eq!(seen.n_changes[0], 6);
    }
}
