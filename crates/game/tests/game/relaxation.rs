//! Relaxations of single-player games: no live state is called dead, and no bound is too high.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use panza_game::BuiltGame;
use panza_gdl::{MoveId, RoleId};
use panza_gdl_games::EMBEDDED;
use panza_machine::lanes::compile::compile_expander;
use panza_machine::lanes::interpret::Features;
use panza_machine::{ExpanderLayout, Reasoner};
use panza_propnet::{Network, Signal, append_relaxed, relaxation};
use panza_sync::Budget;
use panza_testing::corpus::corpus;

/// Games of more states are left out.
const MAX_STATES: usize = 4_000;
/// Published games that take longer to build are left out.
const BUILT_WITHIN: Duration = Duration::from_secs(1);
const PLAYER: RoleId = RoleId(0);

fn built(text: &str, time: Duration) -> Option<BuiltGame> {
    let budget = Budget::within(time, 1 << 30);
    panza_game::build(&panza_gdl::load(text).0, &budget).ok()
}

/// All states of a game that can be reached.
struct StateSpace {
    states: Vec<Vec<u64>>,
    /// The goal of final states.
    goals: Vec<Option<u8>>,
    successors: Vec<Vec<usize>>,
}

impl StateSpace {
    /// `None` where there are more states than [`MAX_STATES`].
    fn explore(game: &BuiltGame) -> Option<Self> {
        let mut reasoner: Box<dyn Reasoner> = Arc::clone(&game.machine).reasoner();
        let start = game.machine.initial_state();
        let mut numbers = HashMap::from([(start.clone(), 0)]);
        let mut space = Self {
            states: vec![start],
            goals: Vec::new(),
            successors: Vec::new(),
        };
        let mut next = Vec::new();
        while space.goals.len() < space.states.len() {
            let state = space.states[space.goals.len()].clone();
            reasoner.set_state(&state);
            if reasoner.is_terminal() {
                let mut goals = [None];
                reasoner.goals(&mut goals);
                space.goals.push(Some(goals[0].unwrap_or(0)));
                space.successors.push(Vec::new());
                continue;
            }
            let legal: Vec<MoveId> = reasoner.legal_moves(PLAYER).to_vec();
            let mut successors = Vec::new();
            for mv in legal {
                reasoner.set_state(&state);
                reasoner.next_state(&[mv], &mut next);
                let number = *numbers.entry(next.clone()).or_insert_with(|| {
                    space.states.push(next.clone());
                    space.states.len() - 1
                });
                successors.push(number);
            }
            if space.states.len() > MAX_STATES {
                return None;
            }
            space.goals.push(None);
            space.successors.push(successors);
        }
        Some(space)
    }

    /// For each state the fewest moves to a final state with this goal.
    fn distances(&self, goal: u8) -> Vec<Option<u32>> {
        let is_reached = |of: &Option<u8>| (*of == Some(goal)).then_some(0);
        let mut distances: Vec<Option<u32>> = self.goals.iter().map(is_reached).collect();
        loop {
            let before = distances.clone();
            for (state, successors) in self.successors.iter().enumerate() {
                let nearest = successors.iter().filter_map(|&next| before[next]).min();
                if let Some(nearest) = nearest {
                    let through = nearest + 1;
                    distances[state] = Some(distances[state].map_or(through, |d| d.min(through)));
                }
            }
            if distances == before {
                return distances;
            }
        }
    }
}

/// For each state the steps of its relaxation to the targets; `None` where it is not made.
fn relaxed_steps(
    network: &Network,
    targets: &[Signal],
    states: &[Vec<u64>],
) -> Option<Vec<Option<u32>>> {
    let until = Instant::now() + Duration::from_secs(10);
    let limits = Budget::generous().until(Some(until));
    let relaxed = relaxation(network, targets, &limits)?;
    let programs = compile_expander(&relaxed)?;
    let layout = Arc::new(ExpanderLayout::new(programs, Features::detect(), 8));
    let mut words = Vec::new();
    for state in states {
        append_relaxed(network.facts.len(), state, &mut words);
    }
    let mut steps = Vec::new();
    layout.runner().run(&words, 1 << 20, &mut steps);
    Some(steps)
}

/// Compares relaxations towards each goal with the game; returns the numbers of states that can
/// and cannot reach it, and of those that the relaxation finds dead.
fn compare(name: &str, game: &BuiltGame) -> Option<[usize; 3]> {
    if game.info().n_roles() != 1 || game.machine.kind() == "prover" {
        return None;
    }
    let network = game.network.as_ref()?;
    let space = StateSpace::explore(game)?;
    let mut counts = [0; 3];
    for &(_, goal, signal) in &network.goals {
        let steps = relaxed_steps(network, &[signal, network.terminal], &space.states)?;
        for ((distance, steps), state) in space.distances(goal).iter().zip(steps).zip(0..) {
            match (distance, steps) {
                (Some(distance), None) => {
                    panic!("{name}: state {state} is {distance} moves from {goal}, called dead")
                }
                (Some(distance), Some(steps)) => {
                    assert!(steps <= *distance, "{name}: {steps} > {distance} to {goal}");
                    counts[0] += 1;
                }
                (None, Some(_)) => counts[1] += 1,
                (None, None) => counts[2] += 1,
            }
        }
    }
    Some(counts)
}

#[test]
fn no_live_state_of_the_projects_puzzles_is_called_dead() {
    let mut n_compared = 0;
    for (name, text) in EMBEDDED {
        let game = built(text, Duration::from_secs(60)).expect("a game that can be built");
        n_compared += usize::from(compare(name, &game).is_some());
    }
    assert!(n_compared >= 3, "{n_compared} puzzles were small enough");
}

#[test]
#[ignore = "needs the published games, see CONTRIBUTING.md"]
fn no_live_state_of_published_puzzles_is_called_dead() {
    let corpus = corpus();
    let mut totals = [0; 3];
    let mut n_compared = 0;
    for name in corpus.keys() {
        let text = std::fs::read(corpus.rulesheet(name)).expect("a readable game");
        let text = String::from_utf8_lossy(&text);
        if text.matches("(role ").count() != 1 {
            continue;
        }
        let Some(built) = built(&text, BUILT_WITHIN) else {
            continue;
        };
        if let Some(counts) = compare(name, &built) {
            n_compared += 1;
            for (total, count) in totals.iter_mut().zip(counts) {
                *total += count;
            }
        }
    }
    let [alive, unnoticed, dead] = totals;
    println!("{n_compared} games: {alive} live, {dead} dead, {unnoticed} dead and not noticed");
    assert!(n_compared >= 20, "{n_compared} games were small enough");
    assert!(dead > 0);
}
