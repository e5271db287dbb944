//! Tuples: groups of variables that decide the game together, as the cells of a line, for an
//! evaluation with a weight for each combination of their values (n-tuple network; Lucas 2008;
//! for Connect Four, Thill, Koch and Konen 2012).
//!
//! A variable is a set of facts that differ in one argument, as the facts of a cell of a board, and
//! of which at most one was true in each state of some random games. The variables of a conjunction
//! make a tuple if it implies the end of the game, or that a role gets a goal or does not, by unit
//! propagation.
//!
//! A combination of values has a place among all weights: the sum of the first place of its tuple
//! and of a number for each true fact, so places are updated fact by fact. Invariant: in states in
//! which a variable has several values places can lie anywhere, so readers bound them.
//!
//! Never uses: evaluations, clocks.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use super::csr::Csr;
use super::implications::{Implications, Outcome, Scope};
use super::mutex_groups::parts;
use panza_gdl::{BaseId, GateId, Id};
use panza_machine::Machine;
use panza_propnet::{GateKind, Network, Node, Signal};
use panza_sync::{Budget, Random};

/// Tuples, at most.
pub const MAX_TUPLES: usize = 256;
/// Tuples, at least: the lines of a board are more. Where one or two are found, as the numbers of
/// pieces in Checkers, they tell no more than facts do.
const MIN_TUPLES: usize = 8;
/// Facts of a conjunction, at most.
const MAX_FACTS: usize = 12;
/// Combinations of the values of a tuple, at most.
const MAX_COMBINATIONS: usize = 1024;
/// Weights of all tuples, at most.
const MAX_WEIGHTS: usize = 1 << 16;
/// States of random games that show variables, at most, and those of one game.
const MAX_STATES: usize = 1000;
const MAX_STATES_PER_GAME: usize = 250;
/// What a state of them costs of the budget.
const STEPS_PER_STATE: usize = 1000;
/// The learning rate of a weight, in relation to that of other weights, is this over the number of
/// tuples, at most 1.
const RATE: f32 = 48.0;

/// For each tuple the place of its weight among all.
pub type Places = [u32; MAX_TUPLES];

/// What a fact adds to the place of the weight of a tuple.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Use {
    /// The tuple.
    pub tuple: u16,
    /// The number.
    pub number: u16,
}

/// The tuples of a game.
#[derive(Clone, PartialEq, Debug)]
pub struct Tuples {
    /// The variables.
    pub variables: Vec<Variable>,
    /// For each tuple the indices of its variables.
    pub members: Vec<Vec<usize>>,
    /// For each tuple its first weight.
    starts: Vec<u32>,
    /// The number of weights.
    pub n_weights: usize,
    /// For each fact what it adds.
    uses: Csr<Use>,
}

/// A set of facts of which at most one is true. A fact that is not in it stands for none.
pub type Variable = Vec<BaseId>;

impl Tuples {
    /// Finds the tuples of a game. `None` where there are few, or when the budget is spent.
    pub fn find(
        network: &Network,
        machine: &Arc<dyn Machine>,
        budget: &mut Budget,
    ) -> Option<Self> {
        let conjunctions = Conjunctions::new(network, budget)?;
        let deciding = conjunctions.deciding(budget)?;
        if deciding.is_empty() {
            return None;
        }
        let states = play(machine, budget)?;
        let variables = variables(network, &deciding, &states, budget)?;
        let mut of_fact = vec![None; network.facts.len()];
        for (index, variable) in variables.iter().enumerate() {
            for fact in variable {
                of_fact[fact.index()] = Some(index);
            }
        }
        let mut members: Vec<Vec<usize>> = deciding
            .iter()
            .map(|facts| {
                let found = facts.iter().filter_map(|fact| of_fact[fact.index()]);
                let found: BTreeSet<usize> = found.collect();
                found.into_iter().collect()
            })
            .filter(|members: &Vec<usize>| members.len() > 1)
            .collect();
        members.sort_unstable();
        members.dedup();
        if members.len() < MIN_TUPLES {
            return None;
        }
        // Of too many tuples some from everywhere.
        let step = members.len().div_ceil(MAX_TUPLES).max(1);
        let members = members.into_iter().step_by(step).collect();
        Self::new(variables, members, network.facts.len())
    }

    /// Tuples of some of these variables, as far as they are not too large. `None` where there are
    /// none, and where facts or variables are missing.
    pub fn new(
        variables: Vec<Variable>,
        mut members: Vec<Vec<usize>>,
        n_facts: usize,
    ) -> Option<Self> {
        let mut facts = variables.iter().flatten();
        if facts.any(|fact| fact.index() >= n_facts)
            || members.iter().flatten().any(|&it| it >= variables.len())
        {
            return None;
        }
        let n_values = |variable: usize| variables[variable].len() + 1;
        let mut starts = Vec::new();
        let mut n_weights = 0;
        members.retain(|tuple| {
            let n_combinations = tuple.iter().fold(1usize, |product, &variable| {
                product.saturating_mul(n_values(variable))
            });
            let fits = n_combinations <= MAX_COMBINATIONS
                && n_weights + n_combinations <= MAX_WEIGHTS
                && starts.len() < MAX_TUPLES;
            if fits {
                starts.push(n_weights as u32);
                n_weights += n_combinations;
            }
            fits
        });
        let mut uses: Vec<(u32, Use)> = Vec::new();
        for (tuple, members) in members.iter().enumerate() {
            let mut stride = 1;
            for &variable in members {
                for (value, fact) in variables[variable].iter().enumerate() {
                    let of_fact = Use {
                        tuple: tuple as u16,
                        number: ((value + 1) * stride) as u16,
                    };
                    uses.push((fact.index() as u32, of_fact));
                }
                stride *= n_values(variable);
            }
        }
        (!starts.is_empty()).then(|| Self {
            uses: Csr::new(n_facts, &uses),
            variables,
            members,
            starts,
            n_weights,
        })
    }

    /// The number of tuples.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// The learning rate of their weights, in relation to that of others.
    pub fn rate(&self) -> f32 {
        (RATE / self.starts.len() as f32).min(1.0)
    }

    /// The places of the weights of all tuples in a state; 0 beyond them.
    pub fn places(&self, state: &[u64]) -> Places {
        let mut places = [0; MAX_TUPLES];
        self.read_places(state, &mut places);
        places
    }

    /// Writes the place of the weight of each tuple.
    pub fn read_places(&self, state: &[u64], places: &mut Places) {
        places[..self.count()].copy_from_slice(&self.starts);
        for (index, &word) in state.iter().enumerate() {
            let mut left = word;
            while left != 0 {
                let fact = 64 * index + left.trailing_zeros() as usize;
                left &= left - 1;
                for it in self.uses(fact) {
                    let place = &mut places[usize::from(it.tuple) % MAX_TUPLES];
                    *place = place.wrapping_add(it.number.into());
                }
            }
        }
    }

    /// What a fact adds to the places of weights.
    ///
    /// # Panics
    /// There is no such fact.
    #[inline]
    pub fn uses(&self, fact: usize) -> &[Use] {
        self.uses.row(fact)
    }
}

/// The states of some random games.
fn play(machine: &Arc<dyn Machine>, budget: &mut Budget) -> Option<Vec<Vec<u64>>> {
    let mut random = Random::new(1);
    let mut reasoner = Arc::clone(machine).reasoner();
    let n_roles = machine.info().n_roles();
    let mut states = Vec::new();
    let mut state = machine.initial_state();
    let mut length = 0;
    while states.len() < MAX_STATES {
        budget.spend(STEPS_PER_STATE)?;
        reasoner.set_state(&state);
        states.push(state.clone());
        length += 1;
        let goes_on = !reasoner.is_terminal() && length < MAX_STATES_PER_GAME;
        let joint_move = goes_on.then(|| reasoner.random_joint_move(n_roles, &mut random));
        if let Some(joint_move) = joint_move.flatten() {
            reasoner.next_state(&joint_move, &mut state);
        } else {
            state.copy_from_slice(&machine.initial_state());
            length = 0;
        }
    }
    Some(states)
}

/// The variables of the relations that some facts are of. `None` when the budget is spent.
fn variables(
    network: &Network,
    facts: &[&[BaseId]],
    states: &[Vec<u64>],
    budget: &mut Budget,
) -> Option<Vec<Variable>> {
    let mut relations: BTreeMap<(&str, usize), Vec<Atom<'_>>> = BTreeMap::new();
    for fact in facts.iter().copied().flatten() {
        let parts = parts(&network.facts[*fact]);
        relations.entry((parts[0], parts.len())).or_default();
    }
    for (fact, text) in network.facts.enumerate() {
        let parts = parts(text);
        if let Some(atoms) = relations.get_mut(&(parts[0], parts.len())) {
            atoms.push((fact, parts));
        }
    }
    let mut found: Vec<Variable> = Vec::new();
    for ((_, n_parts), atoms) in &relations {
        budget.spend(n_parts * atoms.len() * states.len())?;
        found.extend(of_relation(atoms, states));
    }
    for variable in &mut found {
        let n_true = |fact: &BaseId| states.iter().filter(|state| is_true(state, *fact)).count();
        let total: usize = variable.iter().map(n_true).sum();
        if total == states.len() {
            // One fact is always true, so the most frequent one can stand for none.
            let most = variable.iter().copied().max_by_key(n_true);
            variable.retain(|fact| Some(*fact) != most);
        }
    }
    found.retain(|variable| !variable.is_empty());
    Some(found)
}

/// A fact with its relation and arguments.
type Atom<'a> = (BaseId, Vec<&'a str>);

/// The variables of the facts of a relation: those that differ in the argument with the fewest
/// values by which the facts exclude each other.
fn of_relation(atoms: &[Atom<'_>], states: &[Vec<u64>]) -> Vec<Variable> {
    let n_parts = atoms.first().map_or(0, |(_, parts)| parts.len());
    let mut best: Option<(usize, Vec<Variable>)> = None;
    for place in 1..n_parts {
        let mut groups: BTreeMap<Vec<&str>, Variable> = BTreeMap::new();
        let mut values: BTreeSet<&str> = BTreeSet::new();
        for (fact, parts) in atoms {
            let mut others = parts.clone();
            values.insert(others.remove(place));
            groups.entry(others).or_default().push(*fact);
        }
        let excludes = |group: &Variable| {
            let n_true = |state: &Vec<u64>| group.iter().filter(|&&it| is_true(state, it)).count();
            states.iter().all(|state| n_true(state) <= 1)
        };
        let is_fewer = best
            .as_ref()
            .is_none_or(|(fewest, _)| values.len() < *fewest);
        if is_fewer && groups.values().all(excludes) {
            best = Some((values.len(), groups.into_values().collect()));
        }
    }
    let singles = || atoms.iter().map(|(fact, _)| vec![*fact]).collect();
    best.map_or_else(singles, |(_, groups)| groups)
}

fn is_true(state: &[u64], fact: BaseId) -> bool {
    let index = fact.index();
    state[index / 64] >> (index % 64) & 1 == 1
}

/// The conjunctions of facts in the goals and the terminal condition of a network.
struct Conjunctions<'a> {
    network: &'a Network,
    /// The gate and the facts of each.
    found: Vec<(GateId, Vec<BaseId>)>,
}

impl<'a> Conjunctions<'a> {
    /// `None` when the budget is spent.
    fn new(network: &'a Network, budget: &mut Budget) -> Option<Self> {
        let mut found = Vec::new();
        let mut known = HashSet::new();
        let goals = network.goals.iter().map(|(_, _, signal)| *signal);
        let mut left: Vec<Signal> = goals.chain([network.terminal]).collect();
        while let Some(signal) = left.pop() {
            let Node::Gate(gate) = network.node(signal) else {
                continue;
            };
            if !known.insert(gate) {
                continue;
            }
            left.extend_from_slice(network.inputs(gate));
            if is_and(network, gate) {
                let facts = facts_of(network, gate, budget)?;
                found.extend((!facts.is_empty()).then_some((gate, facts)));
            }
        }
        Some(Self { network, found })
    }

    /// The facts of those that imply the end of the game or something about a goal. `None` when the
    /// budget is spent.
    fn deciding(&self, budget: &mut Budget) -> Option<Vec<&[BaseId]>> {
        let mut known = Implications::new(self.network, Scope::States, budget)?;
        let goals = self.network.goals.iter().map(|(_, _, signal)| *signal);
        let goals: Vec<Signal> = goals.filter(|&goal| known.value(goal).is_none()).collect();
        let mut deciding = Vec::new();
        for (gate, facts) in &self.found {
            let mark = known.mark();
            known.assume(Signal::of_node(self.network.first_gate() + gate.index()));
            let outcome = known.propagate(budget);
            if outcome == Outcome::BudgetSpent {
                return None;
            }
            let is_over = known.value(self.network.terminal) == Some(true);
            let is_decided = |&goal: &Signal| known.value(goal).is_some();
            if outcome == Outcome::Consistent && (is_over || goals.iter().any(is_decided)) {
                deciding.push(facts.as_slice());
            }
            known.undo_to(mark);
        }
        Some(deciding)
    }
}

/// The facts in the conjunction of a gate; none where it has many, and where it has conditions
/// other than facts and their absence. `None` when the budget is spent.
fn facts_of(network: &Network, gate: GateId, budget: &mut Budget) -> Option<Vec<BaseId>> {
    let mut facts = BTreeSet::new();
    let mut known = BTreeSet::new();
    let mut gates = vec![gate];
    while let Some(gate) = gates.pop() {
        if !known.insert(gate) {
            continue;
        }
        budget.spend(network.inputs(gate).len())?;
        for &input in network.inputs(gate) {
            match network.node(input) {
                Node::Base(_) if input.is_inverted() => {}
                Node::Base(fact) => {
                    facts.insert(fact);
                }
                Node::Gate(inner) if is_and(network, inner) && !input.is_inverted() => {
                    gates.push(inner);
                }
                _ => return Some(Vec::new()),
            }
        }
        if facts.len() > MAX_FACTS {
            return Some(Vec::new());
        }
    }
    Some(facts.into_iter().collect())
}

fn is_and(network: &Network, gate: GateId) -> bool {
    network.gates[gate].kind == GateKind::And
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{budget, each_game, own_game, play};
    use panza_machine::{CounterLayout, CounterMachine};

    fn tuples(network: &Network) -> Option<Tuples> {
        let machine = CounterMachine::new(CounterLayout::compile(network));
        let machine: Arc<dyn Machine> = Arc::new(machine);
        Tuples::find(network, &machine, &mut budget())
    }

    #[test]
    fn lines_are_tuples_and_cells_are_variables() {
        // Lines, cells of a line.
        for (name, count, length) in [
            ("ticTacToe", 8, 3),
            ("connectFour", 84, 4),
            ("pentago", 32, 5),
            ("nineBoardTicTacToe", 72, 3),
        ] {
            let found = tuples(&own_game(name)).expect(name);
            assert_eq!(found.count(), count, "{name}");
            assert_eq!(found.n_weights, count * 3usize.pow(length), "{name}");
        }
    }

    #[test]
    fn games_without_lines_have_no_tuples() {
        for name in ["breakthrough", "reversi", "checkers", "hex"] {
            assert!(tuples(&own_game(name)).is_none(), "{name}");
        }
    }

    #[test]
    fn each_combination_of_values_has_a_place_of_its_own() {
        let network = own_game("ticTacToe");
        let found = tuples(&network).expect("lines");
        let line = 0;
        let facts: Vec<usize> = (0..network.facts.len())
            .filter(|&fact| found.uses(fact).iter().any(|it| it.tuple == 0))
            .collect();
        assert_eq!(facts.len(), 6, "two marks on three cells");
        let mut places = BTreeSet::new();
        for chosen in 0..1u64 << facts.len() {
            let state = facts.iter().enumerate();
            let state = state.fold(0, |state, (index, fact)| {
                state | (chosen >> index & 1) << fact
            });
            let cells: HashSet<&str> = facts
                .iter()
                .filter(|&&fact| state >> fact & 1 == 1)
                .map(|&fact| {
                    network.facts[BaseId::from_index(fact)]
                        .rsplit_once(' ')
                        .unwrap()
                        .0
                })
                .collect();
            if cells.len() == chosen.count_ones() as usize {
                places.insert(found.places(&[state])[line]);
            }
        }
        assert_eq!(places.len(), 27);
        let start = found.starts[line];
        assert!(
            places
                .iter()
                .all(|place| (start..start + 27).contains(place))
        );
    }

    /// Each variable has at most one value in states of play, so places lie in their tables.
    #[test]
    fn places_in_random_games_lie_in_the_tables_of_their_tuples() {
        each_game(|name, network| {
            let Some(found) = tuples(network) else {
                return;
            };
            let ends = found.starts[1..].iter().copied();
            let ends: Vec<u32> = ends.chain([found.n_weights as u32]).collect();
            for state in play(network, 3, 150).iter().flat_map(|game| &game.states) {
                let places = found.places(state);
                for (tuple, (&start, &end)) in found.starts.iter().zip(&ends).enumerate() {
                    let place = places[tuple];
                    assert!((start..end).contains(&place), "{name}: {place} of {tuple}");
                }
            }
        });
    }
}
