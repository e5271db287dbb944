//! Phases: a smaller network for each fact of a mutex group.
//!
//! Many games pass a turn around, and nearly every rule reads whose it is. When exactly one of a
//! few bases is true in a state, the network with all of them replaced by constants describes that
//! state. (Sancho calls the case of two the X/O split; n-way splits are from Galvanise.)
//!
//! A split is sound whatever its group: the machine checks each state and runs the network of the
//! whole game where not exactly one base of the group is true. So groups may be guesses from play.
//! [`Phases::is_proven`] tells by induction over the networks whether a group is a true invariant.
//!
//! Groups are ranked by the size of the networks that the constants leave.

mod weight;

use std::collections::HashSet;

use super::network::{Network, Node, Signal};
use super::passes::{PassSet, assume, optimise_with};
use panza_gdl::{BaseId, Id, MoveId};
use panza_sync::Budget;

/// Bases of which exactly one is true in each state, as far as play or proof has shown: a mutex
/// group as in planning (Helmert 2009), here always with one member true.
pub type MutexGroup = Vec<BaseId>;

/// The most bases of a mutex group; larger ones are no turn orders.
pub const MAX_MUTEX_GROUP: usize = 8;
/// The largest phase has to be smaller than this share of the whole network.
const MAX_PHASE_SIZE: f64 = 0.9;
/// Mutex groups whose networks are built.
const MAX_TRIALS: usize = 3;
/// Gates and edges that may be read to rank groups by size, after the first two batches.
const MAX_RANKING_WORK: usize = 1 << 19;
const MAX_SHORTLISTED: usize = 3;

/// A state met in play and the moves made in it.
#[derive(Clone, Debug)]
pub struct PlayedPosition {
    /// The state, a bit per base.
    pub state: Vec<u64>,
    /// One move per role.
    pub moves: Vec<MoveId>,
}

/// One network per base of a mutex group.
#[derive(Clone, Debug)]
pub struct Phases {
    /// A state in which exactly one of these is true is run on the network of that one.
    pub mutex_group: MutexGroup,
    /// The network for states in which the n-th base of the group, and no other, is true.
    pub networks: Vec<Network>,
    /// Whether exactly one base of the group is true in every reachable state, proven by induction.
    pub is_proven: bool,
}

/// Finds mutex groups in the network's form and builds their phases. `None` when no group makes the
/// network much smaller, or the budget ends before the first is done.
pub fn phases(network: &Network, budget: &Budget) -> Option<Phases> {
    let found = mutex_groups_by_form(network);
    let made = found
        .into_iter()
        .take(MAX_TRIALS)
        .map_while(|group| phases_of(network, &group, &PassSet::default(), budget));
    let largest = |phases: &Phases| phases.networks.iter().map(Network::size).max().unwrap_or(0);
    made.filter(|phases| (largest(phases) as f64) < MAX_PHASE_SIZE * network.size() as f64)
        .min_by_key(largest)
}

/// Builds the phases of a mutex group with the passes of a set; `None` when the budget ends.
pub fn phases_of(
    network: &Network,
    group: &[BaseId],
    set: &PassSet,
    budget: &Budget,
) -> Option<Phases> {
    let mut networks = Vec::with_capacity(group.len());
    for known in assumptions(group) {
        let assumed = assume::assume(network, &known, budget).ok()?;
        networks.push(optimise_with(assumed, set, budget));
    }
    Some(Phases {
        is_proven: is_invariant(network, group, &networks),
        mutex_group: group.to_vec(),
        networks,
    })
}

/// The groups whose phases are the smallest, each phase weighted by how often `played` met it, the
/// smallest first.
///
/// In each position exactly one base of every group should be true. Of many groups only the first
/// are weighed.
pub fn shortlist<'a>(
    network: &Network,
    groups: &'a [MutexGroup],
    played: &[PlayedPosition],
) -> Vec<&'a MutexGroup> {
    let batches = (MAX_RANKING_WORK / network.size().max(1)).clamp(2, 8);
    let mut usable = groups.iter().filter(|group| is_usable(group)).peekable();
    let mut weighed: Vec<(usize, &MutexGroup)> = Vec::new();
    for _ in 0..batches {
        let mut batch = Vec::new();
        let mut known = Vec::with_capacity(weight::LANES);
        while let Some(group) = usable.next_if(|group| known.len() + group.len() <= weight::LANES) {
            known.extend(assumptions(group));
            batch.push(group);
        }
        if batch.is_empty() {
            break;
        }
        let mut sizes = weight::remaining(network, &known).into_iter();
        for group in batch {
            let n_met = |base: &BaseId| played.iter().filter(|met| is_true(met, *base)).count();
            let sum = group
                .iter()
                .zip(sizes.by_ref())
                .map(|(base, size)| n_met(base) * size);
            weighed.push((sum.sum(), group));
        }
    }
    weighed.sort_by_key(|&(sum, _)| sum);
    weighed.truncate(MAX_SHORTLISTED);
    weighed.into_iter().map(|(_, group)| group).collect()
}

fn is_true(position: &PlayedPosition, base: BaseId) -> bool {
    let word = position.state.get(base.index() / 64).copied().unwrap_or(0);
    word >> (base.index() % 64) & 1 == 1
}

/// The values of the group's bases in each phase.
fn assumptions(group: &[BaseId]) -> impl Iterator<Item = Vec<(BaseId, bool)>> {
    group.iter().map(move |&chosen| {
        let known = group.iter().map(|&base| (base, base == chosen));
        known.collect()
    })
}

fn is_usable(group: &[BaseId]) -> bool {
    let distinct: HashSet<BaseId> = group.iter().copied().collect();
    distinct.len() == group.len() && (2..=MAX_MUTEX_GROUP).contains(&group.len())
}

/// Whether exactly one base of the group is true in every reachable state: it is so initially, and
/// in each phase's network exactly one next value is true, whatever legal moves are made.
fn is_invariant(network: &Network, group: &[BaseId], phases: &[Network]) -> bool {
    let initial = &network.initial;
    let n_initial = group.iter().filter(|base| initial.contains(base)).count();
    n_initial == 1
        && phases.iter().all(|phase| {
            let mut open = Vec::new();
            let mut n_true = 0;
            for &base in group {
                match phase.next[base] {
                    Signal::FALSE => {}
                    Signal::TRUE => n_true += 1,
                    signal => open.push(signal),
                }
            }
            match open[..] {
                [] => n_true == 1,
                [left, right] => n_true == 0 && left == !right,
                _ => false,
            }
        })
}

/// Mutex groups of the network's form, which are invariants: each base's next value is the value of
/// the one before it in a ring, or the next value of one is the inverse of the next value of the
/// other.
pub fn mutex_groups_by_form(network: &Network) -> Vec<MutexGroup> {
    let initial: HashSet<BaseId> = network.initial.iter().copied().collect();
    let is_initial = |base: &BaseId| initial.contains(base);
    let mut found: Vec<MutexGroup> = Vec::new();
    for base in network.facts.ids() {
        // Rings: each base's next value is the value of the one before it.
        let mut ring = vec![base];
        while let Node::Base(before) = network.node(network.next[ring[ring.len() - 1]])
            && !network.next[ring[ring.len() - 1]].is_inverted()
            && !ring.contains(&before)
            && ring.len() < MAX_MUTEX_GROUP
        {
            ring.push(before);
        }
        let closes = network.node(network.next[ring[ring.len() - 1]]) == Node::Base(base)
            && !network.next[ring[ring.len() - 1]].is_inverted();
        let is_first = ring.iter().all(|other| other.index() >= base.index());
        if closes
            && is_first
            && ring.len() > 1
            && ring.iter().filter(|base| is_initial(base)).count() == 1
        {
            found.push(ring);
        }
    }
    // Pairs: the next value of one is the inverse of the next value of the other.
    let mut by_next: Vec<(Signal, BaseId)> = network
        .next
        .enumerate()
        .filter(|(_, next)| !next.is_constant())
        .map(|(base, &next)| (next, base))
        .collect();
    by_next.sort_unstable();
    for pair in by_next.windows(2) {
        let [(left, base), (right, other)] = *pair else {
            continue;
        };
        if right == !left && is_initial(&base) != is_initial(&other) {
            found.push(vec![base, other]);
        }
    }
    // A group that few gates read is no turn order.
    let n_users = network.base_fan_out();
    let users = |base: &BaseId| n_users[base.index()];
    found.sort_by_cached_key(|group| std::cmp::Reverse(group.iter().map(users).sum::<usize>()));
    found
}
