//! The graph: transpositions, cycles, and following a match.

use std::collections::HashSet;
use std::sync::Arc;

use super::games::{Game, Lights, Rules};
use super::{config, iterations, mv};
use crate::{Search, SearchConfig, StopReason};
use panza_gdl::RoleId;
use panza_machine::Machine;

/// One player on a ring of places, a step to either side, without a step counter. One place wins.
struct Ring {
    places: u64,
    won: u64,
}

impl Rules for Ring {
    fn n_roles(&self) -> usize {
        1
    }
    fn initial(&self) -> Vec<u64> {
        vec![0]
    }
    fn is_terminal(&self, state: &[u64]) -> bool {
        state[0] == self.won
    }
    fn goal(&self, state: &[u64], _role: usize) -> u8 {
        if state[0] == self.won { 100 } else { 0 }
    }
    fn legal(&self, _state: &[u64], _role: usize) -> Vec<u32> {
        vec![0, 1]
    }
    fn next(&self, state: &[u64], joint_move: &[u32]) -> Vec<u64> {
        let step = if joint_move[0] == 0 {
            self.places - 1
        } else {
            1
        };
        vec![(state[0] + step) % self.places]
    }
}

#[test]
fn equal_states_are_one_node() {
    // Lighting all takes five moves.
    let lights = || Lights {
        lights: 13,
        steps: 4,
    };
    let rules = lights();
    let mut states = HashSet::from([rules.initial()]);
    let mut next: Vec<Vec<u64>> = vec![rules.initial()];
    let mut n_ends = 0;
    while let Some(state) = next.pop() {
        if rules.is_terminal(&state) {
            n_ends += 1;
            continue;
        }
        for mv in rules.legal(&state, 0) {
            let after = rules.next(&state, &[mv]);
            if states.insert(after.clone()) {
                next.push(after);
            }
        }
    }
    let mut search = Search::new(Game::new(lights()), RoleId(0), config());
    search.run(&iterations(30_000));
    search.check();
    // Terminal nodes are not in the table; all other states are there once.
    let met = search.graph.table_len();
    assert!((100..=states.len() - n_ends).contains(&met), "{met}");
    let lines: usize = (0..4).map(|step| 13usize.pow(step)).sum();
    assert!(4 * met < lines, "{met} nodes, {lines} lines");
}

#[test]
fn cycles_end_a_descent_and_the_win_is_found() {
    for (places, won) in [(9, 3), (9, 6), (40, 5), (3, 2)] {
        let config = SearchConfig {
            max_playout_steps: 50,
            ..config()
        };
        let machine: Arc<dyn Machine> = Game::new(Ring { places, won });
        let mut search = Search::new(machine, RoleId(0), config);
        assert_eq!(search.run(&iterations(20_000)), StopReason::Proven);
        search.check();
        // Every position can be won; the shorter way is played.
        let mut at = 0;
        let mut steps = 0;
        while at != won && steps < places {
            search.run(&iterations(2_000));
            let best = search.best_move().expect("a move");
            search.advance(&[best]);
            at = (at + if best == mv(0, 0) { places - 1 } else { 1 }) % places;
            steps += 1;
        }
        assert_eq!(at, won, "{places} places, {won} after {steps} steps");
    }
}

#[test]
fn a_transposition_of_the_match_is_in_the_graph() {
    let mut search = Search::new(
        Game::new(Lights {
            lights: 6,
            steps: 9,
        }),
        RoleId(0),
        config(),
    );
    search.run(&iterations(5_000));
    let before = search.statistics();
    // Two moves in either order lead to one state.
    for order in [[0, 1], [1, 0]] {
        let rules = Lights {
            lights: 6,
            steps: 9,
        };
        let mut state = rules.initial();
        for mv in order {
            state = rules.next(&state, &[mv]);
        }
        search.set_state(&state);
        assert!(search.root().value.is_some(), "{order:?}");
    }
    assert_eq!(search.statistics().nodes, before.nodes);
}
