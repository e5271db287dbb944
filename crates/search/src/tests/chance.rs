//! Games of chance against exact expected goals (expectimax).

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use super::{config, iterations};
use crate::pool::PoolId;
use crate::{Search, SearchConfig, StopReason};
use panza_machine::{Machine, Reasoner};
use panza_sync::Random;

use panza_gdl::{Id, MoveId, NodeId, RoleId};
use panza_sync::Budget;

/// What the chosen move may lose, in points.
const MAX_LOSS: f64 = 1.0;

fn built(text: &str) -> Arc<dyn Machine> {
    let (rules, faults) = panza_gdl::load(text);
    assert!(faults.is_empty(), "{faults:?}");
    let budget = Budget::within(Duration::from_secs(120), 1 << 30);
    panza_game::build(&rules, &budget).unwrap().machine
}

fn own_game(name: &str) -> Arc<dyn Machine> {
    built(panza_testing::rulesheet(name))
}

/// Exact expected goals, where at most one role with an aim has a choice.
struct Expectimax {
    reasoner: Box<dyn Reasoner>,
    n_roles: usize,
    chance: usize,
    known: HashMap<Vec<u64>, Vec<f64>>,
}

impl Expectimax {
    fn new(machine: &Arc<dyn Machine>) -> Self {
        Self {
            reasoner: Arc::clone(machine).reasoner(),
            n_roles: machine.info().n_roles(),
            chance: machine.info().chance_role().unwrap().index(),
            known: HashMap::new(),
        }
    }

    fn legal(&mut self, state: &[u64]) -> Vec<Vec<MoveId>> {
        self.reasoner.set_state(state);
        let roles = (0..self.n_roles).map(RoleId::from_index);
        roles
            .map(|role| self.reasoner.legal_moves(role).to_vec())
            .collect()
    }

    /// The states after each move of a role, those of the others being forced.
    fn after(&mut self, state: &[u64], legal: &[Vec<MoveId>], role: usize) -> Vec<Vec<u64>> {
        let mut joint_move: Vec<MoveId> = legal.iter().map(|moves| moves[0]).collect();
        let mut states = Vec::new();
        for &mv in &legal[role] {
            joint_move[role] = mv;
            let mut next = Vec::new();
            self.reasoner.set_state(state);
            self.reasoner.next_state(&joint_move, &mut next);
            states.push(next);
        }
        states
    }

    /// The only role with a choice, any one where there is none.
    fn mover(legal: &[Vec<MoveId>]) -> usize {
        let mut movers = (0..legal.len()).filter(|&role| legal[role].len() > 1);
        let mover = movers.next().unwrap_or(0);
        assert!(movers.next().is_none());
        mover
    }

    /// The expected goal of each role; that of chance is 0.
    fn values(&mut self, state: &[u64]) -> Vec<f64> {
        if let Some(known) = self.known.get(state) {
            return known.clone();
        }
        self.reasoner.set_state(state);
        let values = if self.reasoner.is_terminal() {
            let mut goals = vec![None; self.n_roles];
            self.reasoner.goals(&mut goals);
            goals[self.chance] = Some(0);
            goals.iter().map(|goal| f64::from(goal.unwrap())).collect()
        } else {
            let legal = self.legal(state);
            let mover = Self::mover(&legal);
            let after = self.after(state, &legal, mover);
            let after: Vec<Vec<f64>> = after.iter().map(|state| self.values(state)).collect();
            if mover == self.chance {
                let mean = |role: usize| {
                    after.iter().map(|values| values[role]).sum::<f64>() / after.len() as f64
                };
                (0..self.n_roles).map(mean).collect()
            } else {
                let better = |a: &&Vec<f64>, b: &&Vec<f64>| a[mover].total_cmp(&b[mover]);
                after.iter().max_by(better).unwrap().clone()
            }
        };
        self.known.insert(state.to_vec(), values.clone());
        values
    }

    /// How much less a role may expect after a move than after its best one.
    fn loss(&mut self, state: &[u64], role: usize, mv: MoveId) -> f64 {
        let legal = self.legal(state);
        let after = self.after(state, &legal, role);
        let place = legal[role].iter().position(|&legal| legal == mv).unwrap();
        let made = self.values(&after[place])[role];
        self.values(state)[role] - made
    }

    /// Positions of random games in which a role with an aim has a choice, with that role.
    fn positions(&mut self, initial: &[u64], count: usize, seed: u64) -> Vec<(usize, Vec<u64>)> {
        let mut random = Random::new(seed);
        let mut found = Vec::new();
        while found.len() < count {
            let mut state = initial.to_vec();
            let mut on_the_way = Vec::new();
            loop {
                self.reasoner.set_state(&state);
                if self.reasoner.is_terminal() {
                    break;
                }
                let legal = self.legal(&state);
                let mover = Self::mover(&legal);
                if mover != self.chance && legal[mover].len() > 1 {
                    on_the_way.push((mover, state.clone()));
                }
                let after = self.after(&state, &legal, mover);
                state = after[random.below(after.len() as u32) as usize].clone();
            }
            if !on_the_way.is_empty() {
                let place = random.below(on_the_way.len() as u32) as usize;
                found.push(on_the_way.swap_remove(place));
            }
        }
        found
    }
}

impl Search {
    /// Asserts that all bounds in the graph hold the exact values, and that solved nodes have them.
    /// Returns the number of solved nodes with a state.
    fn check_values(&self, exact: &mut Expectimax) -> usize {
        let graph = &self.graph;
        let mut n_solved = 0;
        for index in 0..graph.nodes.created {
            let node = NodeId::from_index(index);
            let record = &graph.nodes[node];
            if !record.state.is_some() {
                continue;
            }
            let values = exact.values(graph.state(node));
            n_solved += usize::from(record.solved);
            for (role, &value) in values.iter().enumerate() {
                let (bounds, mean) = (graph.bounds[node][role], graph.values[node][role].mean);
                let (lower, upper) = (f64::from(bounds.lower), f64::from(bounds.upper));
                assert!(
                    lower <= value + 1e-6 && value <= upper + 1e-6,
                    "{bounds:?} {value}"
                );
                if record.solved && record.visits > 0 {
                    let mean = f64::from(bounds.clamp(mean));
                    assert!(
                        (mean - value).abs() < 0.01,
                        "{mean} {value} {bounds:?} {record:?}"
                    );
                }
            }
        }
        n_solved
    }
}

/// Searches `n_positions` positions for `count` iterations each, and compares moves, values and
/// bounds with the exact ones. Returns the mean error of the values.
fn compare(name: &str, n_positions: usize, count: u64) -> f64 {
    let machine = own_game(name);
    let mut exact = Expectimax::new(&machine);
    let mut errors = 0.0;
    let positions = exact.positions(&machine.initial_state(), n_positions, 7);
    let (mut n_solved, mut most) = (0, 0.0f64);
    for (index, (role, state)) in positions.iter().enumerate() {
        let settings = SearchConfig::deterministic(index as u64 + 1);
        let mut search = Search::new(Arc::clone(&machine), RoleId::from_index(*role), settings);
        search.set_state(state);
        search.run(&iterations(count));
        let loss = exact.loss(state, *role, search.best_move().unwrap());
        most = most.max(loss);
        assert!(loss <= MAX_LOSS, "{name} {index}: a move loses {loss}");
        let value = f64::from(search.root().value.unwrap());
        errors += (value - exact.values(state)[*role]).abs();
        n_solved += search.check_values(&mut exact);
        search.settle();
        search.check();
    }
    let error = errors / n_positions as f64;
    println!("{name}: error {error:.2}, loss at most {most:.2}, {n_solved} nodes solved");
    error
}

#[test]
fn a_race_by_dice_is_played_as_well_as_possible() {
    let error = compare("diceRace", 20, 20_000);
    assert!(error < 3.0, "{error}");
}

#[test]
fn luck_is_pushed_as_far_as_it_pays() {
    let error = compare("pearlDiver", 60, 20_000);
    assert!(error < 3.0, "{error}");
}

/// The last positions of a game are solved, with expected goals that are no whole numbers.
#[test]
fn late_positions_are_solved() {
    let machine = own_game("pearlDiver");
    let mut exact = Expectimax::new(&machine);
    let facts = ["(hand 5)", "(boat 7)", "(air 4)"].map(String::from);
    let state = machine.info().state_from_facts(&facts).unwrap();
    let mut search = Search::new(Arc::clone(&machine), RoleId(0), config());
    search.set_state(&state);
    assert_eq!(search.run(&Budget::of_steps(20_000)), StopReason::Proven);
    let value = f64::from(search.root().value.unwrap());
    let expected = exact.values(&state)[0];
    assert!(expected.fract() > 0.01, "{expected}");
    assert!((value - expected).abs() < 0.01, "{value} {expected}");
    let loss = exact.loss(&state, 0, search.best_move().unwrap());
    assert!(loss < 1e-6, "{loss}");
}

/// One draw among many outcomes, which are sampled.
#[test]
fn many_outcomes_are_sampled() {
    let mut text = "(role one) (role RANDOM) (init start)
        (<= (legal one safe) (true start)) (<= (legal one bet) (true start))
        (<= (legal one wait) (not (true start))) (<= (legal random wait) (not (true bet)))
        (<= (legal random (draw ?n)) (true bet) (number ?n))
        (<= (next bet) (does one bet)) (<= (next (won ?n)) (does random (draw ?n)))
        (<= (next safe) (does one safe)) (<= terminal (true safe))
        (<= terminal (true (won ?n))) (<= (goal one ?n) (true (won ?n)) (number ?n))
        (goal random 100) (<= (goal one SAFE) (true safe)) (<= (goal one 0) (true start))"
        .to_string();
    for number in 0..=100 {
        write!(text, " (number {number})").unwrap();
    }
    for (safe, best) in [(45, "bet"), (55, "safe")] {
        let machine = built(&text.replace("SAFE", &safe.to_string()));
        assert_eq!(machine.info().chance_role(), Some(RoleId(1)));
        let mut search = Search::new(Arc::clone(&machine), RoleId(0), config());
        search.run(&iterations(5000));
        let mv = search.best_move().unwrap();
        assert_eq!(machine.info().move_text(mv), best);
        let bet = machine.info().find_move(RoleId(0), "bet").unwrap();
        let moves = search.root().moves;
        let value = moves.iter().find(|it| it.mv == bet).unwrap().value.unwrap();
        assert!((value - 50.0).abs() < 5.0, "{value}");
        search.check_values(&mut Expectimax::new(&machine));
    }
}

/// One role guesses what chance draws at the same time. Of four sides two are red.
#[test]
fn a_move_beside_one_of_chance_is_the_best_on_average() {
    let text = "(role random) (role one) (init start)
        (<= (legal random (draw ?side)) (colour ?side ?colour))
        (<= (legal one (guess ?colour)) (colour ?side ?colour))
        (colour 1 red) (colour 2 red) (colour 3 blue) (colour 4 green)
        (<= (next right) (does random (draw ?side)) (colour ?side ?colour)
            (does one (guess ?colour)))
        (<= terminal (not (true start)))
        (<= (goal one 90) (true right)) (<= (goal one 10) (not (true right)))
        (<= (goal random 90) (not (true right))) (<= (goal random 10) (true right))";
    let machine = built(text);
    let mut search = Search::new(Arc::clone(&machine), RoleId(1), config());
    search.run(&iterations(2000));
    let mv = search.best_move().unwrap();
    assert_eq!(machine.info().move_text(mv), "(guess red)");
    let root = search.root();
    assert_eq!(root.proven, None);
    let best = root.moves.iter().find(|it| it.mv == mv).unwrap();
    assert!((best.value.unwrap() - 50.0).abs() < 5.0, "{best:?}");
    assert!(best.visits > 1000.0, "{best:?}");
}

#[test]
fn outcomes_are_listed_with_their_values() {
    let machine = own_game("diceRace");
    let mut exact = Expectimax::new(&machine);
    let initial = machine.initial_state();
    let mut search = Search::new(Arc::clone(&machine), RoleId(0), config());
    search.run(&iterations(20_000));
    search.settle();
    let legal = exact.legal(&initial);
    let chance = exact.chance;
    let after = exact.after(&initial, &legal, chance);
    let outcomes = search.outcomes();
    assert_eq!(outcomes.len(), 3);
    for outcome in &outcomes {
        assert!((outcome.probability - 1.0 / 3.0).abs() < 1e-9);
        let place = legal[chance].iter().position(|&mv| mv == outcome.mv);
        let value = exact.values(&after[place.unwrap()])[0];
        let found = f64::from(outcome.outlook[0].value.unwrap());
        assert!((found - value).abs() < 10.0, "{found} for {value}");
    }
    // Where a player chooses, nothing is drawn.
    search.set_state(&after[0]);
    search.run(&iterations(100));
    assert!(search.outcomes().is_empty());
}
