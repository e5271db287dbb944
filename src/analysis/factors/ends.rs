//! Which groups the end of the game and the goals tie together.
//!
//! An end is a disjunction. A disjunct within one group is a *local* end of it. One that asks for
//! something in several groups ties them, as a line of three ties its squares: it is taken from the
//! smallest to the largest, so that boards have come together when it is asked whether both boards
//! are full. That does not tie them: a conjunction over all groups there are, larger than any that
//! has tied some of them, of something in each of them, where each group is a game of its own that
//! ends by itself, or where one role plays alone and what is done stays done.

use std::collections::HashMap;

use super::disjoint_sets::DisjointSets;
use super::moves::bases_of;
use crate::analysis::step_budget::StepBudget;
use crate::ids::{BaseId, Id, IdVec, RoleId};
use crate::propnet::{Network, Node, Signal, VisitedNodes};

/// The most disjuncts of one output that are looked at.
const MOST_DISJUNCTS: usize = 1 << 16;
/// The most disjuncts of the end that may ask for something everywhere: more of them are a relation
/// between the groups. For who plays alone it is one, as all boards being done: with two, what is
/// done on one board decides what ends the game on another.
const MOST_SHARED_ENDS: usize = 4;
/// Likewise of one goal.
const MOST_SHARED_IN_GOAL: usize = 16;
/// The most bases that all disjuncts together may read.
const MOST_READ: usize = 1 << 24;

/// One way in which an output comes to be on.
#[derive(Clone, Debug)]
struct Disjunct {
    signal: Signal,
    /// 0 for the end, then the goals.
    output: usize,
    /// The bases that it reads and that are not autonomous.
    bases: Vec<BaseId>,
}

/// The end and the goals as disjuncts.
#[derive(Clone, Debug)]
pub(super) struct Ends<'a> {
    network: &'a Network,
    disjuncts: Vec<Disjunct>,
    /// All bases that the end or a goal reads.
    pub read: Vec<BaseId>,
    /// Those that a goal reads.
    read_by_goals: Vec<BaseId>,
    /// How many bases the largest disjunct reads that has tied some groups.
    largest: usize,
    has_one_role: bool,
    n_outputs: usize,
}

impl<'a> Ends<'a> {
    /// Takes the end and the goals apart. `counts` says which bases are not autonomous.
    pub fn of(
        network: &'a Network,
        counts: &IdVec<BaseId, bool>,
        budget: &mut StepBudget,
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
                if n_read > MOST_READ {
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

    /// Unites groups that the end or a goal ties. `stays` says which bases moves leave as they are
    /// that do nothing to them.
    pub fn unite(
        &mut self,
        counts: &IdVec<BaseId, bool>,
        stays: &IdVec<BaseId, bool>,
        groups: &mut DisjointSets,
        budget: &mut StepBudget,
    ) -> Option<()> {
        loop {
            let before = groups.n_united;
            let mut n_shared = vec![0usize; self.n_outputs];
            let mut parts = Parts::new(self.network, counts);
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
                    && parts.are_separate(disjunct.signal, &all, groups, budget)?;
                let most = match disjunct.output {
                    0 if self.has_one_role => 1,
                    0 => MOST_SHARED_ENDS,
                    _ => MOST_SHARED_IN_GOAL,
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
        // Who only ends the game for others is no game of its own.
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

    /// Whether each of some groups may be a game of its own: it ends by itself, or one role plays
    /// alone.
    fn stand_alone(
        &self,
        all: &[BaseId],
        groups: &mut DisjointSets,
        budget: &mut StepBudget,
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

/// The signals of which one has to be on for a signal to be on.
fn disjuncts_of(network: &Network, signal: Signal) -> Option<Vec<Signal>> {
    let mut found = Vec::new();
    let mut open = vec![signal];
    let mut seen = VisitedNodes::default();
    seen.start(network.gates.len());
    while let Some(signal) = open.pop() {
        match network.node(signal) {
            // An AND that is inverted.
            Node::Gate(gate) if signal.is_inverted() => {
                if seen.is_first(gate.index()) {
                    open.extend(network.inputs(gate).iter().map(|&input| !input));
                }
            }
            _ => found.push(signal),
        }
        if found.len() + open.len() > MOST_DISJUNCTS {
            return None;
        }
    }
    found.sort_unstable();
    found.dedup();
    Some(found)
}

/// Which groups signals read, as far as groups stay as they are.
struct Parts<'a> {
    network: &'a Network,
    counts: &'a IdVec<BaseId, bool>,
    known: HashMap<Signal, bool>,
    n_united: usize,
    seen: VisitedNodes,
}

impl<'a> Parts<'a> {
    fn new(network: &'a Network, counts: &'a IdVec<BaseId, bool>) -> Self {
        Parts {
            network,
            counts,
            known: HashMap::new(),
            n_united: 0,
            seen: VisitedNodes::default(),
        }
    }

    /// Whether a signal over all groups is made of parts each of which is within one group, or
    /// again over all groups and made of such parts.
    fn are_separate(
        &mut self,
        signal: Signal,
        all: &[BaseId],
        groups: &mut DisjointSets,
        budget: &mut StepBudget,
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
        let mut are_separate = roots.len() < 2;
        if let Node::Gate(gate) = self.network.node(signal)
            && roots == all
            && !are_separate
        {
            are_separate = true;
            for &input in self.network.inputs(gate) {
                // What is being looked at is not separate: recursion ends here.
                self.known.insert(signal, false);
                if !self.are_separate(input, all, groups, budget)? {
                    are_separate = false;
                    break;
                }
            }
        }
        self.known.insert(signal, are_separate);
        Some(are_separate)
    }
}

/// The most parts of goals of which all combinations are looked at.
const MOST_PARTS: usize = 12;

/// For one role that plays alone: whether having more of what each group does for a goal is never
/// worse, or never better, whatever the other groups have done. Where there are too many parts to
/// tell, it is taken to be so.
pub(super) fn goals_agree(
    network: &Network,
    counts: &IdVec<BaseId, bool>,
    groups: &mut DisjointSets,
    budget: &mut StepBudget,
) -> Option<bool> {
    // The largest signals that read one group alone are what the goals are made of.
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
        if parts.len() > MOST_PARTS {
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
