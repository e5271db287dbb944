//! Proofs against minimax over the whole game.

use std::sync::Arc;

use proptest::prelude::*;

use super::games::{Game, Nim, Rules, Table, TableNode};
use super::{Random, config, iterations, mv, tic_tac_toe};
use crate::record::Bounds;
use crate::{Search, SearchConfig, StopReason};
use panza_gdl::{NodeId, RoleId};
use panza_machine::Machine;
use panza_sync::Budget;
use panza_testing::matrix_game;

#[test]
fn nim_is_proven() {
    for (heaps, first_wins) in [
        (vec![1, 2, 3], false),
        (vec![3, 4], true),
        (vec![2, 2], false),
        (vec![1, 3, 4], true),
        (vec![2, 4, 6], false),
    ] {
        for role in 0..2 {
            let machine: Arc<dyn Machine> = Game::new(Nim::new(2, &heaps));
            let mut search = Search::new(machine, RoleId(role), config());
            assert_eq!(
                search.run(&iterations(500_000)),
                StopReason::Proven,
                "{heaps:?}"
            );
            let wins = first_wins == (role == 0);
            let proven = if wins { 100 } else { 0 };
            assert_eq!(search.root().proven, Some(proven), "{heaps:?}");
            search.check();
        }
    }
}

#[test]
fn the_proven_nim_move_is_the_winning_one() {
    let mut search = Search::new(Game::new(Nim::new(2, &[3, 5])), RoleId(0), config());
    assert_eq!(search.run(&Budget::generous()), StopReason::Proven);
    assert_eq!(search.best_move(), Some(mv(0, Nim::mv(1, 2))));
    let report = search.root();
    assert_eq!(
        report
            .moves
            .iter()
            .find(|r| r.proven() == Some(100))
            .map(|r| r.mv),
        search.best_move()
    );
}

#[test]
fn tic_tac_toe_is_proven_a_draw() {
    let mut search = Search::new(tic_tac_toe(), RoleId(0), config());
    assert_eq!(search.run(&iterations(2_000_000)), StopReason::Proven);
    assert_eq!(search.root().proven, Some(50));
}

#[test]
fn shorter_wins_and_longer_losses_are_preferred() {
    // The first role can win now by move 0 or in two by move 1; nothing else wins.
    let choice = |counts: &[u32], next: &[usize]| TableNode::Choice(counts.to_vec(), next.to_vec());
    let end = |first| TableNode::End(vec![first, 100 - first]);
    let wins = Table {
        roles: 2,
        nodes: vec![
            choice(&[3, 1], &[1, 2, 3]),
            end(100),
            choice(&[1, 2], &[4, 4]),
            end(0),
            choice(&[2, 1], &[1, 1]),
        ],
    };
    for seed in 0..8 {
        let config = SearchConfig { seed, ..config() };
        let mut search = Search::new(Game::new(wins.clone()), RoleId(0), config);
        assert_eq!(search.run(&Budget::generous()), StopReason::Proven);
        let best = search.best_move();
        let known = search.root().moves;
        let short = known
            .iter()
            .find(|report| report.mv == mv(0, 0))
            .map(|report| report.proven());
        // The long win may be proven before the short one was tried.
        assert_eq!(
            best,
            Some(mv(0, if short == Some(Some(100)) { 0 } else { 1 }))
        );
    }
    // All lose: move 0 at once, move 1 after two more joint moves.
    let losses = Table {
        roles: 2,
        nodes: vec![
            choice(&[2, 1], &[1, 2]),
            end(0),
            choice(&[1, 2], &[3, 3]),
            choice(&[2, 1], &[1, 1]),
        ],
    };
    let mut search = Search::new(Game::new(losses), RoleId(0), config());
    assert_eq!(search.run(&Budget::generous()), StopReason::Proven);
    assert_eq!(search.root().proven, Some(0));
    assert_eq!(search.best_move(), Some(mv(0, 1)));
}

/// Minimax over the whole game with one mover at a time: each role maximises its goal; ties are
/// broken against one opponent, and remaining ties by a coin.
fn minimax(table: &Table, node: usize, searcher: usize, coin: &mut Random) -> Vec<Vec<u8>> {
    let mut values = vec![Vec::new(); table.nodes.len()];
    solve(table, node, searcher, coin, &mut values);
    values
}

fn solve(
    table: &Table,
    node: usize,
    searcher: usize,
    coin: &mut Random,
    values: &mut Vec<Vec<u8>>,
) {
    values[node] = match &table.nodes[node] {
        TableNode::End(goals) => goals.clone(),
        TableNode::Choice(counts, next) => {
            for &child in next {
                solve(table, child, searcher, coin, values);
            }
            let mover = counts.iter().position(|&count| count > 1).unwrap_or(0);
            let opponent = match table.roles {
                1 => None,
                2 => Some(1 - mover),
                _ => (mover != searcher).then_some(searcher),
            };
            let key = |child: usize| {
                let own = values[child][mover];
                (own, opponent.map_or(0, |role| 100 - values[child][role]))
            };
            let best = next.iter().map(|&child| key(child)).max();
            let tied: Vec<usize> = next
                .iter()
                .copied()
                .filter(|&child| Some(key(child)) == best)
                .collect();
            values[tied[coin.below(tied.len() as u32) as usize]].clone()
        }
    };
}

/// The bounds of a node by the rules of `proof`, applied to the whole game.
fn whole_game(table: &Table, node: usize, searcher: usize) -> Vec<Bounds> {
    let roles = table.roles;
    let (counts, next) = match &table.nodes[node] {
        TableNode::End(goals) => return goals.iter().map(|&goal| Bounds::exact(goal)).collect(),
        TableNode::Choice(counts, next) => (counts, next),
    };
    let children: Vec<Vec<Bounds>> = next
        .iter()
        .map(|&child| whole_game(table, child, searcher))
        .collect();
    let lowest = |role: usize| children.iter().map(move |child| child[role].lower);
    let highest = |role: usize| children.iter().map(move |child| child[role].upper);
    let movers: Vec<usize> = (0..roles).filter(|&role| counts[role] > 1).collect();
    if let [mover] = movers[..] {
        let lower = lowest(mover).max().unwrap_or(0);
        let upper = highest(mover).max().unwrap_or(0);
        let opponent = match roles {
            1 => None,
            2 => Some(1 - mover),
            _ => (mover != searcher).then_some(searcher),
        };
        let bounds = |role: usize| {
            if role == mover {
                return Bounds { lower, upper };
            }
            let possible = || children.iter().filter(|child| child[mover].upper >= lower);
            let sure = children.iter().filter(|child| child[mover].lower >= upper);
            let at_most = sure.map(|child| child[role].upper).min();
            let most = possible().map(|child| child[role].upper).max().unwrap_or(0);
            Bounds {
                lower: possible().map(|child| child[role].lower).min().unwrap_or(0),
                upper: match at_most {
                    Some(at_most) if opponent == Some(role) => at_most.min(most),
                    _ => most,
                },
            }
        };
        return (0..roles).map(bounds).collect();
    }
    // What a role is sure of by mixing its moves, whatever the others do.
    let bounds = |role: usize| {
        let stride: usize = counts[..role].iter().map(|&count| count as usize).product();
        let mut rows = vec![Vec::new(); counts[role] as usize];
        for (index, lower) in lowest(role).enumerate() {
            rows[index / stride % counts[role] as usize].push(f64::from(lower));
        }
        Bounds {
            lower: (matrix_game::solve(&rows).value + 1e-6).floor() as u8,
            upper: highest(role).max().unwrap_or(0),
        }
    };
    (0..roles).map(bounds).collect()
}

/// Whether the bounds of all nodes contain those of the whole game. Goals whose sum was always the
/// same narrow bounds further, by a rule that `whole_game` does not have; nothing is compared then.
fn bounds_contain_the_known(search: &Search, table: &Table, searcher: usize) -> bool {
    let contains = |(bounds, known): (&Bounds, Bounds)| {
        bounds.lower <= known.lower && bounds.upper >= known.upper
    };
    search.graph.sure_sum.is_some()
        || inner_nodes(search).into_iter().all(|(node, state)| {
            let known = whole_game(table, state, searcher);
            search.graph.bounds[node].iter().zip(known).all(contains)
        })
}

/// The shape of a random game tree: its seed, depth, and greatest number of moves for a role.
type Shape = (u64, u32, u32);

pub(super) fn shape() -> impl Strategy<Value = Shape> {
    (any::<u64>(), 1u32..5, 2u32..4)
}

/// A random game tree. With `several`, several roles may choose at once.
pub(super) fn table((seed, depth, width): Shape, roles: usize, several: bool) -> Table {
    let mut random = Random::new(seed);
    let mut table = Table {
        roles,
        nodes: Vec::new(),
    };
    grow(&mut table, depth, width, several, &mut random);
    table
}

fn grow(table: &mut Table, depth: u32, width: u32, several: bool, random: &mut Random) -> usize {
    let node = table.nodes.len();
    table.nodes.push(TableNode::End(Vec::new()));
    if depth == 0 || (node > 0 && random.below(5) == 0) {
        let goals: Vec<u8> = (0..table.roles)
            .map(|_| [0, 0, 50, 100, 100][random.below(5) as usize])
            .collect();
        table.nodes[node] = TableNode::End(goals);
        return node;
    }
    let mover = random.below(table.roles as u32) as usize;
    let counts: Vec<u32> = (0..table.roles)
        .map(|role| {
            if role == mover || several && random.below(2) == 0 {
                1 + random.below(width)
            } else {
                1
            }
        })
        .collect();
    let joint_moves: u32 = counts.iter().product();
    let next = (0..joint_moves)
        .map(|_| grow(table, depth - 1, width, several, random))
        .collect();
    table.nodes[node] = TableNode::Choice(counts, next);
    node
}

/// All nodes that are not terminal, with the node of the table that is their state.
fn inner_nodes(search: &Search) -> Vec<(NodeId, usize)> {
    let graph = &search.graph;
    let mut found = Vec::new();
    let mut stack = vec![graph.root];
    while let Some(node) = stack.pop() {
        stack.extend(graph.children(node));
        if !graph.nodes[node].terminal {
            found.push((node, graph.state(node)[0] as usize));
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn two_role_games_are_proven_right(
        shape in shape(), role in 0usize..2, seed in any::<u64>(), step in 1u64..20,
        proof_effort in prop_oneof![Just(0.0f32), Just(2.0f32)],
        asked in proptest::option::of((0u32..2, 1u8..=100)),
    ) {
        let table = table(shape, 2, false);
        let values = minimax(&table, 0, role, &mut Random::new(seed));
        let config = SearchConfig { seed, proof_effort, ..config() };
        let machine: Arc<dyn Machine> = Game::new(table.clone());
        let mut search = Search::new(machine, RoleId(role as u32), config);
        if let Some((role, goal)) = asked {
            search.ask_first(RoleId(role), goal);
        }
        // Every intermediate bound holds.
        let mut stopped = StopReason::Iterations;
        for _ in 0..5_000 {
            stopped = search.run(&iterations(step));
            for (node, state) in inner_nodes(&search) {
                for (bounds, value) in search.graph.bounds[node].iter().zip(&values[state]) {
                    prop_assert!((bounds.lower..=bounds.upper).contains(value));
                }
            }
            if stopped == StopReason::Proven {
                break;
            }
        }
        prop_assert_eq!(stopped, StopReason::Proven);
        prop_assert_eq!(search.root().proven, Some(values[0][role]));
        search.check();
        // The best move keeps that value.
        let forced = search.graph.nodes[search.graph.root].forced_moves;
        if let (0, TableNode::Choice(counts, next), Some(best)) =
            (forced, &table.nodes[0], search.best_move())
            && counts[role] > 1
        {
            let child = next[(best.0 % super::games::ROLE) as usize];
            prop_assert_eq!(values[child][role], values[0][role]);
        }
    }

    #[test]
    fn three_role_games_are_proven_for_every_way_to_break_ties(
        shape in shape(), role in 0usize..3, seed in any::<u64>(),
    ) {
        let table = table(shape, 3, false);
        let config = SearchConfig { seed, ..config() };
        let machine: Arc<dyn Machine> = Game::new(table.clone());
        let mut search = Search::new(machine, RoleId(role as u32), config);
        let stopped = search.run(&iterations(20_000));
        prop_assert_eq!(stopped, StopReason::Proven);
        for coin in 0..10 {
            let values = minimax(&table, 0, role, &mut Random::new(seed ^ coin));
            for (node, state) in inner_nodes(&search) {
                for (bounds, value) in search.graph.bounds[node].iter().zip(&values[state]) {
                    prop_assert!((bounds.lower..=bounds.upper).contains(value));
                }
            }
        }
    }

    #[test]
    fn proofs_stay_right_in_a_small_graph_that_follows_the_match(
        shape in shape(), role in 0usize..2, seed in any::<u64>(), max_nodes in 2u32..40,
        several in any::<bool>(), first_play_visits in prop_oneof![Just(0.0f32), Just(2.0f32)],
        proof_effort in prop_oneof![Just(0.0f32), Just(2.0f32)],
    ) {
        let table = table(shape, 2, several);
        let config = SearchConfig {
            seed, max_nodes, first_play_visits, proof_effort, ..config()
        };
        let machine: Arc<dyn Machine> = Game::new(table.clone());
        let mut search = Search::new(machine, RoleId(role as u32), config);
        let mut random = Random::new(seed);
        let mut state = table.initial();
        loop {
            search.run(&iterations(1 + u64::from(random.below(300))));
            search.check();
            prop_assert!(bounds_contain_the_known(&search, &table, role));
            prop_assert!(search.statistics().nodes <= max_nodes);
            if table.is_terminal(&state) {
                break;
            }
            let joint_move: Vec<u32> = (0..2)
                .map(|role| {
                    let legal = table.legal(&state, role);
                    legal[random.below(legal.len() as u32) as usize]
                })
                .collect();
            let moves: Vec<_> = (0..)
                .zip(&joint_move)
                .map(|(role, &number)| mv(role, number))
                .collect();
            search.advance(&moves);
            state = table.next(&state, &joint_move);
            prop_assert_eq!(&search.current, &state);
        }
    }

    #[test]
    fn bounds_of_simultaneous_moves_contain_those_of_the_whole_game(
        shape in shape(), roles in 2usize..4, role in 0usize..2, seed in any::<u64>(),
    ) {
        let table = table(shape, roles, true);
        let config = SearchConfig { seed, ..config() };
        let machine: Arc<dyn Machine> = Game::new(table.clone());
        let mut search = Search::new(machine, RoleId(role as u32), config);
        for _ in 0..10 {
            let stopped = search.run(&iterations(300));
            prop_assert!(bounds_contain_the_known(&search, &table, role));
            if stopped == StopReason::Proven {
                break;
            }
        }
        search.check();
    }
}

#[test]
fn a_dominant_simultaneous_move_is_proven() {
    // Whatever the second role does, the first role's move 1 gives it 100.
    let table = super::games::matrix(&[
        &[(0, 100), (50, 50), (20, 80)],
        &[(100, 0), (100, 0), (100, 30)],
        &[(100, 0), (0, 100), (50, 50)],
    ]);
    let mut search = Search::new(Game::new(table.clone()), RoleId(0), config());
    assert_eq!(search.run(&iterations(1_000)), StopReason::Proven);
    assert_eq!(search.root().proven, Some(100));
    assert_eq!(search.best_move(), Some(mv(0, 1)));
    // For the second role nothing is proven: what it gets depends on what the first does.
    let mut search = Search::new(Game::new(table), RoleId(1), config());
    assert_eq!(search.run(&iterations(1_000)), StopReason::Iterations);
    assert_eq!(search.root().proven, None);
}

#[test]
fn a_mixed_strategy_is_proven_and_played() {
    // The first role has 2 / 3 of the points by playing its moves 2 : 1, the second 1 / 3. The
    // first joint moves lead to a second round in which nothing is won.
    let machine: Arc<dyn Machine> = Game::new(super::games::matrix(&[
        &[(100, 0), (50, 50)],
        &[(0, 100), (100, 0)],
    ]));
    for (role, expected) in [(0, (66, 67)), (1, (33, 34))] {
        let mut search = Search::new(Arc::clone(&machine), RoleId(role), config());
        assert_eq!(search.run(&iterations(3_000)), StopReason::Iterations);
        let root = search.graph.root;
        let bounds = search.graph.bounds[root][role as usize];
        assert_eq!((bounds.lower, bounds.upper), expected);
        let probabilities = search.root().moves.into_iter().map(|report| {
            let probability = report.probability.expect("it is played");
            (report.mv, probability)
        });
        for (played, probability) in probabilities {
            let shares = [[2.0 / 3.0, 1.0 / 3.0], [1.0 / 3.0, 2.0 / 3.0]][role as usize];
            let expected: f32 = shares[(played.0 % super::games::ROLE) as usize];
            assert!(
                (probability - expected).abs() < 1e-4,
                "{played:?}: {probability}"
            );
        }
    }
}

#[test]
fn a_mixed_strategy_with_a_whole_value_is_still_mixed() {
    let machine: Arc<dyn Machine> = Game::new(super::games::matrix(&[
        &[(100, 0), (0, 100)],
        &[(0, 100), (100, 0)],
    ]));
    let mut search = Search::new(machine, RoleId(0), config());
    assert_eq!(search.run(&iterations(3_000)), StopReason::Iterations);
    assert_eq!(search.root().proven, Some(50));
    let moves = search.root().moves;
    assert_eq!(moves.len(), 2);
    assert!(moves.iter().all(|report| report.probability == Some(0.5)));
}

#[test]
fn a_constant_goal_is_proven_at_simultaneous_moves() {
    let table = super::games::matrix(&[&[(40, 10), (40, 90)], &[(40, 20), (40, 60)]]);
    let mut search = Search::new(Game::new(table), RoleId(0), config());
    assert_eq!(search.run(&iterations(1_000)), StopReason::Proven);
    assert_eq!(search.root().proven, Some(40));
}

#[test]
fn a_role_without_a_choice_is_bounded_by_all_outcomes() {
    let table = Table {
        roles: 3,
        nodes: vec![
            TableNode::Choice(vec![2, 2, 1], vec![1, 2, 3, 4]),
            TableNode::End(vec![10, 20, 30]),
            TableNode::End(vec![20, 10, 30]),
            TableNode::End(vec![30, 20, 30]),
            TableNode::End(vec![20, 30, 30]),
        ],
    };
    assert_eq!(table.legal(&[0], 2), [0]);
    let mut search = Search::new(Game::new(table), RoleId(2), config());
    assert_eq!(search.run(&iterations(1_000)), StopReason::Proven);
    assert_eq!(search.root().proven, Some(30));
}

#[test]
fn a_fixed_sum_narrows_what_simultaneous_moves_can_give() {
    // The first role is sure of 50. That the second would never play its other move follows from
    // the sum alone.
    let table = Table {
        roles: 2,
        nodes: vec![
            TableNode::Choice(vec![2, 2], vec![1, 2, 3, 3]),
            TableNode::End(vec![0, 100]),
            TableNode::End(vec![50, 50]),
            TableNode::End(vec![100, 0]),
        ],
    };
    let mut search = Search::new(Game::new(table), RoleId(0), config());
    assert_eq!(search.run(&iterations(3_000)), StopReason::Proven);
    assert_eq!(search.root().proven, Some(50));
}
