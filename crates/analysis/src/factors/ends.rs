//! Groups that the end of the game and the goals connect.
//!
//! The end is a disjunction. A disjunct within one group is a *local* end. A disjunct over several
//! groups merges them, as a line of three merges its squares. Disjuncts are processed from the
//! smallest to the largest, so that each board is one group before the condition that all boards
//! are full is reached. Such a condition merges nothing: a conjunction of separate parts over all
//! groups, larger than any disjunct that has merged some, where each group ends by itself, or where
//! one role plays alone and finished groups stay finished.

use std::collections::HashMap;

use super::disjoint_sets::DisjointSets;
use super::moves::bases_of;
use panza_gdl::{BaseId, Id, IdVec, RoleId};
use panza_propnet::{Network, Node, Signal, VisitedNodes};
use panza_sync::Budget;

/// The most disjuncts of one output.
const MAX_DISJUNCTS: usize = 1 << 16;
/// The most disjuncts of the end over all groups: more of them relate the groups. A single role has
/// one, as all boards being finished: with two, one board decides what ends the game on another.
const MAX_SHARED_ENDS: usize = 4;
/// The same for one goal.
const MAX_SHARED_IN_GOAL: usize = 16;
/// The most bases that all disjuncts together read.
const MAX_READ: usize = 1 << 24;

/// A disjunct of an output.
#[derive(Clone, Debug)]
struct Disjunct {
    signal: Signal,
    /// 0 for the end, then the goals.
    output: usize,
    /// The non-autonomous bases that it reads.
    bases: Vec<BaseId>,
}

/// The end and the goals as disjuncts.
#[derive(Clone, Debug)]
pub(super) struct Ends<'a> {
    network: &'a Network,
    disjuncts: Vec<Disjunct>,
    /// All bases that the end or a goal reads.
    pub read: Vec<BaseId>,
    /// The bases that a goal reads.
    read_by_goals: Vec<BaseId>,
    /// The number of bases of the largest disjunct that has merged groups.
    largest: usize,
    has_one_role: bool,
    n_outputs: usize,
}

impl<'a> Ends<'a> {
    /// The disjuncts of the end and the goals. `counts` marks the bases that are grouped.
    pub fn of(
        network: &'a Network,
        counts: &IdVec<BaseId, bool>,
        budget: &mut Budget,
    ) -> Option<Ends<'a>> {
        let mut seen = VisitedNodes::default();
        let outputs: Vec<Signal> = std::iter::once(network.terminal)
            .chain(network.goals.iter().map(|&(_, _, signal)| signal))
            .collect();
        let mut disjuncts = Vec::new();
        let mut n_read = 0;
        for (output, &signal) in outputs.iter().enumerate() {
            for signal in disjuncts_of(network, signal)? {
                let mut bases = bases_of(network, [signal], &mut seen, budget)?;
                bases.retain(|&base| counts[base]);
                n_read += bases.len();
                if n_read > MAX_READ {
                    return None;
                }
                disjuncts.push(Disjunct {
                    signal,
                    output,
                    bases,
                });
            }
        }
        disjuncts.sort_by_key(|disjunct| (disjunct.bases.len(), disjunct.signal, disjunct.output));
        let mut read = bases_of(network, outputs.iter().copied(), &mut seen, budget)?;
        read.retain(|&base| counts[base]);
        let goals = outputs.iter().skip(1).copied();
        let mut read_by_goals = bases_of(network, goals, &mut seen, budget)?;
        read_by_goals.retain(|&base| counts[base]);
        Some(Ends {
            network,
            disjuncts,
            read,
            read_by_goals,
            largest: 0,
            has_one_role: network.roles.len() == 1,
            n_outputs: outputs.len(),
        })
    }

    /// Merges groups that the end or a goal connects. `stays` marks bases that usual moves leave
    /// unchanged.
    pub fn unite(
        &mut self,
        counts: &IdVec<BaseId, bool>,
        stays: &IdVec<BaseId, bool>,
        groups: &mut DisjointSets,
        budget: &mut Budget,
    ) -> Option<()> {
        loop {
            let before = groups.n_united;
            let mut n_shared = vec![0usize; self.n_outputs];
            let mut separability = Separability::new(self.network, counts);
            for disjunct in &self.disjuncts {
                budget.spend(disjunct.bases.len() + 1)?;
                let roots = groups.roots(&disjunct.bases);
                if roots.len() < 2 {
                    continue;
                }
                let all = groups.roots(&self.read);
                budget.spend(self.read.len())?;
                let is_kept = |base: &BaseId| stays[*base];
                let is_shared = roots == all
                    && disjunct.bases.len() > self.largest
                    && (!self.has_one_role
                        || disjunct.output > 0
                        || disjunct.bases.iter().all(is_kept))
                    && self.stand_alone(&all, groups, budget)?
                    && separability.is_separable(disjunct.signal, &all, groups, budget)?;
                let most = match disjunct.output {
                    0 if self.has_one_role => 1,
                    0 => MAX_SHARED_ENDS,
                    _ => MAX_SHARED_IN_GOAL,
                };
                n_shared[disjunct.output] += usize::from(is_shared);
                if !is_shared || n_shared[disjunct.output] > most {
                    self.largest = self.largest.max(disjunct.bases.len());
                    groups.unite_all(&roots);
                }
            }
            if groups.n_united == before {
                break;
            }
        }
        // A group that only ends the game is no factor.
        let with_goals = groups.roots(&self.read_by_goals);
        let all = groups.roots(&self.read);
        if all
            .iter()
            .any(|root| with_goals.binary_search(root).is_err())
        {
            groups.unite_all(&all);
        }
        Some(())
    }

    /// Whether each group may be an independent game: it has a local end, or there is one role.
    fn stand_alone(
        &self,
        all: &[BaseId],
        groups: &mut DisjointSets,
        budget: &mut Budget,
    ) -> Option<bool> {
        if self.has_one_role {
            return Some(true);
        }
        let mut ends = vec![false; all.len()];
        for disjunct in self
            .disjuncts
            .iter()
            .filter(|disjunct| disjunct.output == 0)
        {
            budget.spend(disjunct.bases.len() + 1)?;
            if let [root] = groups.roots(&disjunct.bases)[..]
                && let Ok(place) = all.binary_search(&root)
            {
                ends[place] = true;
            }
        }
        Some(ends.iter().all(|&ends| ends))
    }
}

/// The disjuncts of a signal.
fn disjuncts_of(network: &Network, signal: Signal) -> Option<Vec<Signal>> {
    let mut found = Vec::new();
    let mut open = vec![signal];
    let mut seen = VisitedNodes::default();
    seen.start(network.gates.len());
    while let Some(signal) = open.pop() {
        match network.node(signal) {
            // An inverted AND.
            Node::Gate(gate) if signal.is_inverted() => {
                if seen.is_first(gate.index()) {
                    open.extend(network.inputs(gate).iter().map(|&input| !input));
                }
            }
            _ => found.push(signal),
        }
        if found.len() + open.len() > MAX_DISJUNCTS {
            return None;
        }
    }
    found.sort_unstable();
    found.dedup();
    Some(found)
}

/// Separability of signals, cached for the current groups.
struct Separability<'a> {
    network: &'a Network,
    counts: &'a IdVec<BaseId, bool>,
    known: HashMap<Signal, bool>,
    n_united: usize,
    seen: VisitedNodes,
}

impl<'a> Separability<'a> {
    fn new(network: &'a Network, counts: &'a IdVec<BaseId, bool>) -> Self {
        Separability {
            network,
            counts,
            known: HashMap::new(),
            n_united: 0,
            seen: VisitedNodes::default(),
        }
    }

    /// Whether each input of a signal over all groups reads one group only, or is again separable.
    fn is_separable(
        &mut self,
        signal: Signal,
        all: &[BaseId],
        groups: &mut DisjointSets,
        budget: &mut Budget,
    ) -> Option<bool> {
        if self.n_united != groups.n_united {
            self.n_united = groups.n_united;
            self.known.clear();
        }
        let signal = match signal.is_inverted() {
            true => !signal,
            false => signal,
        };
        if let Some(&known) = self.known.get(&signal) {
            return Some(known);
        }
        let mut bases = bases_of(self.network, [signal], &mut self.seen, budget)?;
        bases.retain(|&base| self.counts[base]);
        let roots = groups.roots(&bases);
        let mut is_separable = roots.len() < 2;
        if let Node::Gate(gate) = self.network.node(signal)
            && roots == all
            && !is_separable
        {
            is_separable = true;
            for &input in self.network.inputs(gate) {
                // Ends recursion within blocks.
                self.known.insert(signal, false);
                if !self.is_separable(input, all, groups, budget)? {
                    is_separable = false;
                    break;
                }
            }
        }
        self.known.insert(signal, is_separable);
        Some(is_separable)
    }
}

/// The most parts of goals whose combinations are enumerated.
const MAX_PARTS: usize = 12;

/// For a single role: whether its goal is monotone in each group's parts of the goals, whatever the
/// values of the other parts. With more than [`MAX_PARTS`] parts it is taken to be so.
pub(super) fn goals_are_monotone(
    network: &Network,
    counts: &IdVec<BaseId, bool>,
    groups: &mut DisjointSets,
    budget: &mut Budget,
) -> Option<bool> {
    // The parts are the largest signals that read one group only.
    let mut seen = VisitedNodes::default();
    let mut parts: Vec<Signal> = Vec::new();
    let mut mixed: Vec<Signal> = Vec::new();
    let mut known = std::collections::HashSet::new();
    let mut open: Vec<Signal> = network.goals.iter().map(|&(_, _, signal)| signal).collect();
    while let Some(signal) = open.pop() {
        let signal = Signal::min(signal, !signal);
        if !known.insert(signal) {
            continue;
        }
        let mut bases = bases_of(network, [signal], &mut seen, budget)?;
        bases.retain(|&base| counts[base]);
        match groups.roots(&bases).len() {
            0 => {}
            1 => parts.push(signal),
            _ => {
                mixed.push(signal);
                if let Node::Gate(gate) = network.node(signal) {
                    open.extend(network.inputs(gate));
                }
            }
        }
        if parts.len() > MAX_PARTS {
            return Some(true);
        }
    }
    // Gates come after their inputs.
    mixed.sort_unstable();
    let mut goals: Vec<HashMap<RoleId, u8>> = Vec::new();
    for combination in 0..1usize << parts.len() {
        budget.spend(mixed.len() + network.goals.len())?;
        let mut values: HashMap<Signal, bool> = HashMap::new();
        for (place, &part) in parts.iter().enumerate() {
            values.insert(part, combination >> place & 1 == 1);
        }
        // Autonomous bases are off.
        let value_of = |signal: Signal, values: &HashMap<Signal, bool>| {
            let plain = Signal::min(signal, !signal);
            let value = values.get(&plain).copied().unwrap_or(false);
            value != (plain != signal)
        };
        for &gate_signal in &mixed {
            if let Node::Gate(gate) = network.node(gate_signal) {
                let all = network
                    .inputs(gate)
                    .iter()
                    .all(|&input| value_of(input, &values));
                values.insert(gate_signal, all);
            }
        }
        let mut of_roles = HashMap::new();
        for &(role, value, signal) in &network.goals {
            if value_of(signal, &values) {
                let best = of_roles.entry(role).or_insert(value);
                *best = value.max(*best);
            }
        }
        goals.push(of_roles);
    }
    for place in 0..parts.len() {
        for role in network.roles.ids() {
            let (mut rises, mut falls) = (false, false);
            for combination in (0..goals.len()).filter(|number| number >> place & 1 == 0) {
                let off = goals[combination].get(&role);
                let on = goals[combination | 1 << place].get(&role);
                rises |= on > off;
                falls |= on < off;
            }
            if rises && falls {
                return Some(false);
            }
        }
    }
    Some(true)
}
