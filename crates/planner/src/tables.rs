//! Table constraints: what the best goal asks of a few facts together, such as the cells of a line
//! of a nonogram, as a list of the assignments of these facts that are left.
//!
//! Unit propagation from the goal leaves conditions behind: gates whose value is known while no
//! known input explains it. Where the unknown facts below such a gate are few, their assignments
//! are enumerated, and each is refuted by unit propagation or kept. What all assignments that are
//! left agree in is known (generalised arc consistency; Bessière and Régin 1997). Unit propagation
//! looks at one gate at a time and misses this where several ways lead from the gate to a fact.
//! Where only one way leads to each fact it misses nothing, so such conditions have no table.
//!
//! Invariants: a final state with the best goal agrees with an assignment of each table. Tables
//! are bounded in facts, assignments and number; what is beyond is left to unit propagation.
//!
//! Never uses: moves, states.

use std::collections::{BTreeMap, BTreeSet};

use panza_analysis::Implications;
use panza_analysis::implications::Outcome;
use panza_analysis::latches::Setting;
use panza_gdl::{BaseId, GateId, GroupedLists, Id};
use panza_propnet::{GateKind, Network, Node, Signal};
use panza_sync::{Budget, Random};

/// Facts of a table, at most: one bit each.
const MAX_FACTS: usize = 32;
/// Assignments of a table, at most, kept or refuted.
const MAX_ASSIGNMENTS: usize = 1 << 14;
/// Tables, at most.
const MAX_TABLES: usize = 1 << 10;

/// The assignments that are left to a few facts.
#[derive(Debug)]
struct Table {
    facts: Vec<BaseId>,
    /// The facts that are true in each assignment, one bit each.
    assignments: Vec<u32>,
}

/// The tables of a goal.
#[derive(Debug, Default)]
pub(super) struct Tables {
    tables: Vec<Table>,
    n_facts: usize,
    /// Per fact its tables.
    of_fact: GroupedLists<u32>,
}

impl Tables {
    /// The tables of a final state of which something is known, all of it propagated.
    pub fn find(network: &Network, known: &mut Implications<'_>, budget: &mut Budget) -> Self {
        let mut tables = Vec::new();
        for facts in supports(network, known, budget).unwrap_or_default() {
            if tables.len() == MAX_TABLES || budget.is_spent() {
                break;
            }
            let mut table = Table {
                facts,
                assignments: Vec::new(),
            };
            let mut n_left = MAX_ASSIGNMENTS;
            if table.enumerate(0, 0, known, &mut n_left, budget).is_some() {
                tables.push(table);
            }
        }
        let pairs = tables.iter().enumerate().flat_map(|(index, table)| {
            let facts = table.facts.iter();
            facts.map(move |fact| (fact.index(), index as u32))
        });
        Self {
            of_fact: GroupedLists::new(network.facts.len(), pairs),
            n_facts: network.facts.len(),
            tables,
        }
    }
}

impl Table {
    /// Adds the assignments of the facts from a place on that are not refuted, where `on` has the
    /// facts before it that are true. `None` if there are too many or the budget is spent.
    fn enumerate(
        &mut self,
        place: usize,
        on: u32,
        known: &mut Implications<'_>,
        n_left: &mut usize,
        budget: &mut Budget,
    ) -> Option<()> {
        let Some(&fact) = self.facts.get(place) else {
            *n_left = n_left.checked_sub(1)?;
            self.assignments.push(on);
            return Some(());
        };
        let value = known.value(Signal::of_base(fact));
        for assumed in [false, true] {
            if value == Some(!assumed) {
                continue;
            }
            let mark = known.mark();
            known.assume(Signal::of_base(fact).inverted_if(!assumed));
            let done = match known.propagate(budget) {
                Outcome::Contradiction => n_left.checked_sub(1).map(|left| *n_left = left),
                Outcome::BudgetSpent => None,
                Outcome::Consistent => {
                    let on = on | u32::from(assumed) << place;
                    self.enumerate(place + 1, on, known, n_left, budget)
                }
            };
            known.undo_to(mark);
            done?;
        }
        Some(())
    }
}

/// The unknown facts below a gate.
struct Support {
    /// In rising order.
    facts: Vec<BaseId>,
    /// Whether only one way leads from the gate to each of them.
    is_tree: bool,
}

/// The sets of facts that conditions depend on, the smallest first, none within another.
fn supports(
    network: &Network,
    known: &Implications<'_>,
    budget: &mut Budget,
) -> Option<Vec<Vec<BaseId>>> {
    let conditions = conditions(network, known, budget)?;
    let supports = supports_below(network, known, &conditions, budget)?;
    let supports = conditions.iter().filter_map(|gate| supports.get(gate));
    // Unit propagation finds all that follows from a tree.
    let mut found: Vec<&Vec<BaseId>> = supports
        .filter(|support| !support.is_tree)
        .map(|support| &support.facts)
        .collect();
    found.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    found.dedup();
    let mut largest: Vec<Vec<BaseId>> = Vec::new();
    for facts in found {
        budget.spend(1 + largest.len())?;
        let is_around = |larger: &Vec<BaseId>| {
            let mut facts = facts.iter();
            facts.all(|fact| larger.binary_search(fact).is_ok())
        };
        if !largest.iter().any(is_around) {
            largest.push(facts.clone());
        }
    }
    largest.reverse();
    Some(largest)
}

/// The gates whose value is known while the known inputs do not explain it.
fn conditions(
    network: &Network,
    known: &Implications<'_>,
    budget: &mut Budget,
) -> Option<Vec<GateId>> {
    let mut found = Vec::new();
    for (gate, content) in network.gates.enumerate() {
        budget.spend(1)?;
        // The value of one input that gives the gate the same value.
        let deciding = content.kind == GateKind::Or;
        let node = Signal::of_node(network.first_gate() + gate.index());
        if known.value(node) != Some(deciding) {
            continue;
        }
        let inputs = network.inputs(gate);
        budget.spend(inputs.len())?;
        if !inputs
            .iter()
            .any(|&input| known.value(input) == Some(deciding))
        {
            found.push(gate);
        }
    }
    Some(found)
}

/// The supports of some gates and of all unknown gates below them. A gate above too many facts,
/// moves or recursion has none.
fn supports_below(
    network: &Network,
    known: &Implications<'_>,
    gates: &[GateId],
    budget: &mut Budget,
) -> Option<BTreeMap<GateId, Support>> {
    let mut below: BTreeSet<GateId> = BTreeSet::new();
    let mut open = gates.to_vec();
    while let Some(gate) = open.pop() {
        if !below.insert(gate) {
            continue;
        }
        let inputs = network.inputs(gate);
        budget.spend(1 + inputs.len())?;
        for &input in inputs {
            if let (None, Node::Gate(input)) = (known.value(input), network.node(input)) {
                open.push(input);
            }
        }
    }
    let mut supports: BTreeMap<GateId, Support> = BTreeMap::new();
    // Gates come after their inputs, except in recursion.
    for gate in below {
        let found = support_of(network, known, gate, &supports);
        budget.spend(found.as_ref().map_or(1, |support| 1 + support.facts.len()))?;
        supports.extend(found.map(|support| (gate, support)));
    }
    Some(supports)
}

/// The support of a gate by those of its inputs.
fn support_of(
    network: &Network,
    known: &Implications<'_>,
    gate: GateId,
    supports: &BTreeMap<GateId, Support>,
) -> Option<Support> {
    let mut facts: Vec<BaseId> = Vec::new();
    let mut is_tree = true;
    for &input in network.inputs(gate) {
        if known.value(input).is_some() {
            continue;
        }
        match network.node(input) {
            Node::False => {}
            Node::Base(base) => facts.push(base),
            Node::Move(_) => return None,
            Node::Gate(input) => {
                let support = supports.get(&input)?;
                facts.extend(&support.facts);
                is_tree &= support.is_tree;
            }
        }
        if facts.len() > 2 * MAX_FACTS {
            is_tree &= is_sorted_out(&mut facts);
            if facts.len() > MAX_FACTS {
                return None;
            }
        }
    }
    is_tree &= is_sorted_out(&mut facts);
    (facts.len() <= MAX_FACTS).then_some(Support { facts, is_tree })
}

/// Sorts facts, each once; `false` if one was there more than once.
fn is_sorted_out(facts: &mut Vec<BaseId>) -> bool {
    let n_facts = facts.len();
    facts.sort_unstable();
    facts.dedup();
    facts.len() == n_facts
}

/// What is known of a final state with the best goal: unit propagation and tables together.
pub(super) struct FinalState<'n, 't> {
    known: Implications<'n>,
    tables: &'t Tables,
    /// What became known before this point of the trail has queued its tables.
    head: usize,
    /// The tables to be propagated.
    queue: Vec<u32>,
    is_queued: Vec<bool>,
    /// Per table one more than the contradictions that it led to.
    weights: &'t mut Vec<u32>,
}

impl<'n, 't> FinalState<'n, 't> {
    /// With the same assumptions that the tables were found with. The weights are those of an
    /// earlier one, or empty.
    pub fn new(known: Implications<'n>, tables: &'t Tables, weights: &'t mut Vec<u32>) -> Self {
        let n_tables = tables.tables.len();
        weights.resize(n_tables, 1);
        Self {
            head: known.mark(),
            known,
            tables,
            queue: (0..n_tables as u32).collect(),
            is_queued: vec![true; n_tables],
            weights,
        }
    }

    /// What is known, for more to be assumed without tables.
    pub fn into_known(self) -> Implications<'n> {
        self.known
    }

    /// See [`Implications::value`].
    pub fn value(&self, signal: Signal) -> Option<bool> {
        self.known.value(signal)
    }

    /// See [`Implications::mark`].
    pub fn mark(&self) -> usize {
        self.known.mark()
    }

    /// See [`Implications::assume`].
    pub fn assume(&mut self, signal: Signal) {
        self.known.assume(signal);
    }

    /// See [`Implications::undo_to`].
    pub fn undo_to(&mut self, mark: usize) {
        self.known.undo_to(mark);
        self.head = self.head.min(mark);
        while let Some(table) = self.queue.pop() {
            self.is_queued[table as usize] = false;
        }
    }

    /// Derives values until neither gates nor tables give more.
    pub fn propagate(&mut self, budget: &mut Budget) -> Outcome {
        let mut outcome = self.known.propagate(budget);
        while outcome == Outcome::Consistent {
            self.queue_tables();
            let Some(table) = self.queue.pop() else {
                break;
            };
            self.is_queued[table as usize] = false;
            outcome = self.propagate_table(table as usize, budget);
            if outcome == Outcome::Consistent {
                outcome = self.known.propagate(budget);
            }
            if outcome == Outcome::Contradiction {
                let weight = &mut self.weights[table as usize];
                *weight = weight.saturating_add(1);
            }
        }
        outcome
    }

    /// Queues the tables of facts that became known.
    fn queue_tables(&mut self) {
        if self.is_queued.is_empty() {
            return;
        }
        for signal in self.known.known_since(self.head) {
            let fact = signal.node_number().checked_sub(1);
            let fact = fact.filter(|&fact| fact < self.tables.n_facts);
            for &table in fact.map_or(&[][..], |fact| self.tables.of_fact.of(fact)) {
                if !std::mem::replace(&mut self.is_queued[table as usize], true) {
                    self.queue.push(table);
                }
            }
        }
        self.head = self.known.mark();
    }

    /// Assumes what all assignments that are left agree in.
    fn propagate_table(&mut self, table: usize, budget: &mut Budget) -> Outcome {
        let table = &self.tables.tables[table];
        let _ = budget.spend(table.facts.len() + table.assignments.len());
        let open = self.open(table);
        let (mut all, mut any) = (u32::MAX, 0);
        for assignment in self.left(table, open) {
            all &= assignment;
            any |= assignment;
        }
        // Without assignments a fact would be true and false.
        if all & !any != 0 {
            return Outcome::Contradiction;
        }
        for (place, &fact) in table.facts.iter().enumerate() {
            let is_always = |bits: u32| bits >> place & 1 == 1;
            if open >> place & 1 == 1 && (is_always(all) || is_always(!any)) {
                let signal = Signal::of_base(fact);
                self.known.assume(signal.inverted_if(!is_always(all)));
            }
        }
        Outcome::Consistent
    }

    /// The facts of a table that are not known.
    fn open(&self, table: &Table) -> u32 {
        let facts = table.facts.iter().enumerate();
        let is_open = |fact| self.known.value(Signal::of_base(fact)).is_none();
        facts.fold(0, |open, (place, &fact)| {
            open | u32::from(is_open(fact)) << place
        })
    }

    /// The assignments of a table that agree with the facts that are known, those not `open`.
    fn left<'b>(&self, table: &'b Table, open: u32) -> impl Iterator<Item = u32> + use<'b> {
        let mut on = 0;
        for (place, &fact) in table.facts.iter().enumerate() {
            let is_on = self.known.value(Signal::of_base(fact)) == Some(true);
            on |= u32::from(is_on) << place;
        }
        let assignments = table.assignments.iter().copied();
        assignments.filter(move |assignment| assignment & !open == on)
    }

    /// A wanted fact that is not known, of the table with the fewest assignments left for its
    /// weight, with the value that it has in more of them.
    pub fn decision(
        &self,
        is_wanted: impl Fn(BaseId) -> bool,
        random: &mut Random,
    ) -> Option<Setting> {
        let choices = |table: &Table, open: u32| {
            let facts = table.facts.iter().enumerate();
            let wanted = facts.filter(|&(_, &fact)| is_wanted(fact));
            wanted.fold(0, |places, (place, _)| places | 1 << place) & open
        };
        let mut fewest: Option<(f64, &Table)> = None;
        let mut n_tied = 0;
        for (table, &weight) in self.tables.tables.iter().zip(self.weights.iter()) {
            let open = self.open(table);
            if choices(table, open) == 0 {
                continue;
            }
            let score = self.left(table, open).count() as f64 / f64::from(weight);
            n_tied = match fewest {
                Some((least, _)) if score > least => continue,
                Some((least, _)) if score == least => n_tied + 1,
                _ => 1,
            };
            if random.below(n_tied) == 0 {
                fewest = Some((score, table));
            }
        }
        let (_, table) = fewest?;
        let open = self.open(table);
        let choices = choices(table, open);
        let mut n_left = 0u32;
        let mut n_on = [0u32; MAX_FACTS];
        for assignment in self.left(table, open) {
            n_left += 1;
            for (place, n_on) in n_on.iter_mut().enumerate() {
                *n_on += assignment >> place & 1;
            }
        }
        let places = (0..table.facts.len()).filter(|place| choices >> place & 1 == 1);
        let place = places.min_by_key(|&place| (2 * n_on[place]).abs_diff(n_left))?;
        Some(Setting {
            base: table.facts[place],
            value: 2 * n_on[place] >= n_left,
        })
    }
}

#[cfg(test)]
mod tests;
