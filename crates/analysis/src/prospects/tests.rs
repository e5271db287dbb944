//! Tests of prospects, against distances and moves counted by hand-written code.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::testing::{budget, each_game, own_game, play, texts};
use panza_gdl::{BaseId, Id, RoleId};
use panza_machine::{CounterLayout, CounterMachine, Machine};

/// The prospects of all roles in states of random games, with the facts of each state.
fn each_state(
    network: &Network,
    n_games: usize,
    mut visit: impl FnMut(&[u64], &[Prospect], &[String]),
) {
    let prospects = Prospects::find(network, &mut budget()).expect("they are small");
    for game in play(network, n_games, 300) {
        for state in &game.states {
            let is_true = |base: &BaseId| state[base.index() / 64] >> (base.index() % 64) & 1 == 1;
            let bases: Vec<BaseId> = network.facts.ids().filter(is_true).collect();
            visit(state, &prospects.of_state(state), &texts(network, bases));
        }
    }
}

/// The words of a fact `(name word ...)`.
fn words(fact: &str) -> Vec<&str> {
    fact.trim_matches(['(', ')']).split(' ').collect()
}

#[test]
fn in_tic_tac_toe_the_distance_is_what_the_best_open_line_lacks() {
    let network = own_game("ticTacToe");
    let lines = [
        [0, 1, 2],
        [3, 4, 5],
        [6, 7, 8],
        [0, 3, 6],
        [1, 4, 7],
        [2, 5, 8],
        [0, 4, 8],
        [2, 4, 6],
    ];
    each_state(&network, 50, |_, prospects, facts| {
        let mut cells = [""; 9];
        for fact in facts.iter().map(|fact| words(fact)) {
            if let ["cell", column, row, mark] = fact[..] {
                let number = |text: &str| text.parse::<usize>().expect("it is a number") - 1;
                cells[3 * number(column) + number(row)] = mark;
            }
        }
        for (role, own) in ["x", "o"].into_iter().enumerate() {
            let missing = lines.iter().filter_map(|line| {
                let is_open = line
                    .iter()
                    .all(|&cell| [own, "blank"].contains(&cells[cell]));
                let n_missing = line.iter().filter(|&&cell| cells[cell] != own).count() as u8;
                is_open.then_some(n_missing)
            });
            let expected = missing.min().unwrap_or(UNREACHABLE);
            assert_eq!(prospects[role].distance, expected, "{own} {facts:?}");
        }
    });
}

#[test]
fn in_hex_the_distance_is_the_number_of_stones_that_the_shortest_chain_lacks() {
    let network = own_game("hex");
    each_state(&network, 6, |_, prospects, facts| {
        let mut stones: BTreeMap<(i32, i32), &str> = BTreeMap::new();
        for fact in facts.iter().map(|fact| words(fact)) {
            if let ["cell", column, row, colour] = fact[..]
                && colour != "empty"
            {
                let number = |text: &str| text.parse().expect("it is a number");
                stones.insert((number(column), number(row)), colour);
            }
        }
        for (role, own) in ["red", "blue"].into_iter().enumerate() {
            let expected = missing_stones(&stones, own, role == 0);
            assert_eq!(prospects[role].distance, expected, "{own} {facts:?}");
        }
    });
}

/// The fewest stones to be added for a chain between two sides, by relaxing all cells in turn.
fn missing_stones(stones: &BTreeMap<(i32, i32), &str>, own: &str, by_column: bool) -> u8 {
    let cells = || (1..=9).flat_map(|column| (1..=9).map(move |row| (column, row)));
    let cost = |cell: (i32, i32)| match stones.get(&cell) {
        None => 1u32,
        Some(&colour) if colour == own => 0,
        Some(_) => 1000,
    };
    let along = |cell: (i32, i32)| if by_column { cell.0 } else { cell.1 };
    let mut least: BTreeMap<(i32, i32), u32> = cells()
        .map(|cell| (cell, if along(cell) == 1 { cost(cell) } else { 1000 }))
        .collect();
    for _ in 0..81 {
        for cell in cells() {
            let (column, row) = cell;
            let around = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1)];
            let around = around.map(|(right, down)| (column + right, row + down));
            let nearest = around.iter().filter_map(|it| least.get(it)).min();
            let by_neighbour = nearest.copied().unwrap_or(1000) + cost(cell);
            let of_cell = least.get_mut(&cell).expect("it is a cell");
            *of_cell = (*of_cell).min(by_neighbour);
        }
    }
    let ends = cells()
        .filter(|&cell| along(cell) == 9)
        .map(|cell| least[&cell]);
    let least = ends.min().unwrap_or(1000);
    if least >= 1000 {
        UNREACHABLE
    } else {
        least as u8
    }
}

#[test]
fn a_pawn_that_nothing_stops_is_as_far_as_its_steps() {
    let network = own_game("breakthrough");
    let prospects = Prospects::find(&network, &mut budget()).expect("they are small");
    let first = play(&network, 1, 1).remove(0).states.remove(0);
    // Two rows are full at the start.
    let distances = prospects.of_state(&first).into_iter().map(|it| it.distance);
    assert_eq!(distances.collect::<Vec<_>>(), [6, 6]);
}

#[test]
fn the_moves_of_the_role_to_move_are_the_legal_ones() {
    for name in ["ticTacToe", "connectFour", "breakthrough", "hex", "reversi"] {
        let network = own_game(name);
        let machine = Arc::new(CounterMachine::new(CounterLayout::compile(&network)));
        let mut reasoner = machine.reasoner();
        let mut n_compared = 0;
        each_state(&network, 3, |state, prospects, _| {
            reasoner.set_state(state);
            let mut count = |role: usize| reasoner.legal_moves(RoleId::from_index(role)).len();
            let counts = [count(0), count(1)];
            // Who waits, or passes, has one move without effect.
            for role in (0..2).filter(|&role| counts[role] > 1) {
                assert_eq!(usize::from(prospects[role].moves), counts[role], "{name}");
                n_compared += 1;
            }
        });
        assert!(n_compared > 10, "{name}: {n_compared}");
    }
}

#[test]
fn a_role_may_have_moves_when_it_is_not_its_turn() {
    let network = own_game("connectFour");
    let prospects = Prospects::find(&network, &mut budget()).expect("they are small");
    let first = play(&network, 1, 1).remove(0).states.remove(0);
    let found = prospects.of_state(&first);
    assert_eq!(found.iter().map(|it| it.moves).collect::<Vec<_>>(), [8, 8]);
    assert_eq!(found[0].distance, 4);
}

/// Many states at once have the words of each alone, and equal numbers equal bits.
#[test]
fn states_do_not_influence_each_other() {
    each_game(|name, network| {
        let Some(prospects) = Prospects::find(network, &mut budget()) else {
            return println!("{name}: no prospects");
        };
        let played = play(network, 2, 60);
        let states: Vec<&[u64]> = played
            .iter()
            .flat_map(|it| &it.states)
            .map(Vec::as_slice)
            .collect();
        let mut buffer = prospects.buffer();
        for states in states.chunks(WIDTH) {
            let mut together = vec![Vec::new(); states.len()];
            prospects.words(states, &mut buffer, |place, words| {
                together[place] = words.to_vec()
            });
            for (state, together) in states.iter().zip(together) {
                prospects.words(&[state], &mut buffer, |_, words| {
                    assert_eq!(words, together)
                });
            }
        }
    });
}

/// The version for AVX2 is compared where the processor has it.
#[test]
fn all_processors_give_the_same_costs() {
    for name in [
        "connectFour",
        "breakthrough",
        "hex",
        "pentago",
        "toadsAndFrogs",
    ] {
        let network = own_game(name);
        let prospects = Prospects::find(&network, &mut budget()).expect("they are small");
        let played = play(&network, 2, 100);
        let states = played.iter().flat_map(|it| &it.states);
        let states: Vec<&[u64]> = states.map(Vec::as_slice).collect();
        let mut buffer = prospects.buffer();
        for program in prospects.programs.iter().flatten() {
            for states in states.chunks(WIDTH) {
                let portable = program.run_portably(states, &mut buffer.costs);
                assert_eq!(program.run(states, &mut buffer.costs), portable, "{name}");
            }
        }
    }
}

#[test]
fn a_word_has_a_bit_for_each_bound_that_is_met() {
    let network = own_game("ticTacToe");
    let prospects = Prospects::find(&network, &mut budget()).expect("they are small");
    let [near, far] = [(1, 9), (3, 4)].map(|(distance, moves)| Prospect { distance, moves });
    let word = prospects.word_of(0, &[near, far]);
    // At most 1 and more; at least 1 to 8; leads of 2 and of 5.
    assert_eq!(word & 0xffff, 0xfffe);
    assert_eq!(word >> 16 & 0xff_ffff, 0b111_1111);
    assert_eq!(word >> 40 & 0xff, 0b11);
    assert_eq!(word >> 48, 0b1_1111);
    let other = prospects.word_of(1, &[near, far]);
    assert_eq!((other & 0xffff, other >> 40), (0xfff8, 0));
    assert_eq!(prospects.word_of(1, &[far, near]), word);
}
