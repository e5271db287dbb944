//! Playing strength, choice of moves, following a match, limits, repeatability.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::games::{Endless, Game, Lights, Nim, Table, TableNode, Wide, matrix, slow, stopping};
use super::{config, iterations, mv, self_play, tic_tac_toe};
use crate::{Search, SearchConfig, StopReason};
use panza_gdl::RoleId;
use panza_learning::Evaluation;
use panza_machine::Machine;
use panza_sync::{Budget, Random};

#[test]
fn a_search_can_be_sent_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<Search>();
}

#[test]
fn tic_tac_toe_against_itself_is_a_draw() {
    for seed in 0..3 {
        let config = SearchConfig { seed, ..config() };
        assert_eq!(self_play(&tic_tac_toe(), 5_000, &config), [50, 50]);
    }
}

#[test]
fn the_winning_square_is_taken_and_the_losing_one_blocked() {
    // Crosses on the first two squares of the top row; noughts on two of the middle row.
    let winning = 0b011 | (0b11_000) << 16;
    let mut search = Search::new(tic_tac_toe(), RoleId(0), config());
    search.set_state(&[winning]);
    search.run(&iterations(200));
    let text = |search: &mut Search| {
        let best = search.best_move().expect("a move");
        tic_tac_toe().info().move_text(best)
    };
    assert_eq!(text(&mut search), "(mark 1 3)");
    // Noughts to move: three crosses would stand in the top row.
    let blocking = 0b011 | (0b10_000) << 16;
    let mut search = Search::new(tic_tac_toe(), RoleId(1), config());
    search.set_state(&[blocking]);
    search.run(&iterations(2_000));
    assert_eq!(text(&mut search), "(mark 1 3)");
}

#[test]
fn a_legal_move_is_there_before_the_first_iteration() {
    let machines: [(Arc<dyn Machine>, usize); 5] = [
        (tic_tac_toe(), 2),
        (Game::new(Nim::new(3, &[2, 3])), 3),
        (
            Game::new(Lights {
                lights: 4,
                steps: 5,
            }),
            1,
        ),
        (Game::new(Endless), 2),
        (Game::new(matrix(&[&[(1, 2), (3, 4)]])), 2),
    ];
    for (machine, roles) in machines {
        for role in 0..roles as u32 {
            let mut search = Search::new(Arc::clone(&machine), RoleId(role), config());
            let best = search.best_move().expect("a move");
            let mut reasoner = Arc::clone(&machine).reasoner();
            let legal = reasoner.legal_moves(RoleId(role)).to_vec();
            assert!(legal.contains(&best));
            let report = search.root();
            let mut reported: Vec<_> = report.moves.iter().map(|report| report.mv).collect();
            reported.sort();
            assert_eq!(reported, legal);
            assert_eq!((report.iterations, report.value), (0, None));
        }
    }
}

#[test]
fn a_run_in_iterations_does_exactly_that_many() {
    let mut search = Search::new(Game::new(Endless), RoleId(0), config());
    assert_eq!(search.run(&iterations(0)), StopReason::Iterations);
    assert_eq!(search.run(&iterations(300)), StopReason::Iterations);
    assert_eq!(search.run(&iterations(11)), StopReason::Iterations);
    let report = search.root();
    assert_eq!((report.iterations, report.playouts), (311, 311));
    let visits: f64 = report.moves.iter().map(|report| report.visits).sum();
    assert_eq!(visits, 311.0);
    search.check();
}

#[test]
fn the_same_seed_gives_the_same_search() {
    let trace = |seed| {
        let mut search = Search::new(tic_tac_toe(), RoleId(0), SearchConfig { seed, ..config() });
        let mut reports = Vec::new();
        for count in [10, 500, 1_500] {
            search.run(&iterations(count));
            reports.push(search.root());
        }
        let first = search.best_move().expect("a move");
        search.advance(&[first, panza_gdl::MoveId(16 + 9)]);
        search.run(&iterations(700));
        reports.push(search.root());
        (reports, search.statistics(), search.best_move())
    };
    assert_eq!(trace(5), trace(5));
    assert_ne!(trace(5), trace(6));
}

#[test]
fn the_subtree_of_the_played_moves_is_kept() {
    let mut search = Search::new(tic_tac_toe(), RoleId(0), config());
    search.run(&iterations(3_000));
    let before = search.root();
    let played = before.moves[0];
    let pass = panza_gdl::MoveId(16 + 9);
    search.advance(&[played.mv, pass]);
    let after = search.root();
    assert_eq!(after.iterations, 0);
    assert_eq!(after.value, played.value);
    assert!(after.nodes > 100);
    let kept = search.check();
    let before = search.statistics().nodes;
    search.run(&iterations(u64::from(before)));
    assert!(search.check() >= kept);
}

#[test]
fn a_joint_move_outside_the_graph_starts_a_new_root() {
    let mut search = Search::new(Game::new(Nim::new(2, &[3, 4, 5])), RoleId(1), config());
    search.advance(&[mv(0, Nim::mv(0, 3)), mv(1, 99_999)]);
    assert_eq!(search.run(&iterations(100_000)), StopReason::Proven);
    // Left are 4 and 5: the first of them makes the heaps equal.
    assert_eq!(search.best_move(), Some(mv(1, Nim::mv(2, 1))));
    // Joint moves of the wrong length are ignored.
    search.advance(&[mv(0, 1)]);
    assert_eq!(search.best_move(), Some(mv(1, Nim::mv(2, 1))));
}

#[test]
fn a_line_of_forced_moves_is_followed_step_by_step() {
    // Two moves for the first role; each leads through three forced states to a choice of the
    // second role.
    let choice = |counts: &[u32], next: &[usize]| TableNode::Choice(counts.to_vec(), next.to_vec());
    let end = |first, second| TableNode::End(vec![first, second]);
    let table = Table {
        roles: 2,
        nodes: vec![
            choice(&[2, 1], &[1, 5]),
            choice(&[1, 1], &[2]),
            choice(&[1, 1], &[3]),
            choice(&[1, 1], &[4]),
            choice(&[1, 2], &[9, 10]),
            choice(&[1, 1], &[6]),
            choice(&[1, 1], &[7]),
            choice(&[1, 1], &[8]),
            choice(&[1, 2], &[11, 12]),
            end(10, 90),
            end(70, 30),
            end(60, 40),
            end(90, 10),
        ],
    };
    let mut search = Search::new(Game::new(table), RoleId(0), config());
    assert_eq!(search.run(&Budget::generous()), StopReason::Proven);
    let report = search.root();
    // The second role prefers 90 to 30 after the first move and 40 to 10 after the second.
    assert_eq!(report.proven, Some(60));
    assert_eq!(search.best_move(), Some(mv(0, 1)));
    let nodes = search.check();
    assert!(
        nodes <= 7,
        "{nodes} nodes, so forced states have nodes of their own"
    );
    search.advance(&[mv(0, 1), mv(1, 0)]);
    for _ in 0..3 {
        let report = search.root();
        assert_eq!(report.proven, Some(60));
        assert_eq!(report.moves.len(), 1);
        assert_eq!(search.best_move(), Some(mv(0, 0)));
        assert_eq!(search.run(&iterations(5)), StopReason::Proven);
        search.advance(&[mv(0, 0), mv(1, 0)]);
    }
    assert_eq!(search.current, [8]);
    assert_eq!(search.root().moves.len(), 1);
    search.advance(&[mv(0, 0), mv(1, 0)]);
    let report = search.root();
    assert_eq!((report.proven, report.moves.len()), (Some(60), 0));
    assert_eq!(search.best_move(), None);
    assert_eq!(search.run(&Budget::generous()), StopReason::Proven);
}

#[test]
fn a_match_may_leave_a_forced_line() {
    let choice = |counts: &[u32], next: &[usize]| TableNode::Choice(counts.to_vec(), next.to_vec());
    let table = Table {
        roles: 1,
        nodes: vec![
            choice(&[1], &[1]),
            choice(&[1], &[2]),
            choice(&[2], &[3, 4]),
            TableNode::End(vec![20]),
            TableNode::End(vec![80]),
        ],
    };
    let mut search = Search::new(Game::new(table), RoleId(0), config());
    assert_eq!(search.run(&Budget::generous()), StopReason::Proven);
    search.set_state(&[1]);
    assert_eq!(search.best_move(), Some(mv(0, 0)));
    search.set_state(&[2]);
    assert_eq!(search.run(&Budget::generous()), StopReason::Proven);
    assert_eq!(search.best_move(), Some(mv(0, 1)));
    search.check();
}

#[test]
fn a_puzzle_is_solved_and_played_to_its_end() {
    let machine: Arc<dyn Machine> = Game::new(Lights {
        lights: 5,
        steps: 6,
    });
    assert_eq!(self_play(&machine, 20_000, &config()), [100]);
}

#[test]
fn a_role_without_legal_moves_ends_the_game() {
    // After the first role's move 1 the second has no legal move in a state that is not terminal.
    let table = Table {
        roles: 2,
        nodes: vec![
            TableNode::Choice(vec![2, 1], vec![1, 2]),
            TableNode::End(vec![40, 60]),
            TableNode::Choice(vec![2, 0], vec![]),
        ],
    };
    let machine: Arc<dyn Machine> = Game::new(table);
    let mut search = Search::new(Arc::clone(&machine), RoleId(0), config());
    assert_eq!(search.run(&Budget::generous()), StopReason::Proven);
    assert_eq!(search.best_move(), Some(mv(0, 0)));
    let known = search.root().moves;
    let best = known.iter().find(|report| report.mv == mv(0, 0));
    assert_eq!(best.and_then(|report| report.proven()), Some(40));
    search.set_state(&[2]);
    assert_eq!(search.run(&Budget::generous()), StopReason::Proven);
    assert!(search.best_move().is_some());
    let mut other = Search::new(machine, RoleId(1), config());
    other.set_state(&[2]);
    assert_eq!(other.run(&Budget::generous()), StopReason::Proven);
    assert_eq!(other.best_move(), None);
    assert!(other.root().moves.is_empty());
}

#[test]
fn playouts_are_cut_off_at_the_step_limit_and_counted() {
    let config = SearchConfig {
        max_playout_steps: 7,
        samples_per_request: 3,
        ..config()
    };
    let mut search = Search::new(Game::new(Endless), RoleId(1), config);
    search.run(&iterations(200));
    let statistics = search.statistics();
    assert_eq!(statistics.playouts, 600);
    assert_eq!(statistics.cut_off, 600);
    assert_eq!(statistics.playout_steps, 4_200);
    let value = search.root().value.expect("a value");
    assert!((value - 60.0).abs() < 1e-3, "{value}");
}

#[test]
fn the_moves_of_unvisited_children_are_not_generated() {
    let wide = |plies| {
        Game::new(Wide {
            moves: 5_000,
            plies,
            winning: 4_321,
            asked: AtomicUsize::new(0),
        })
    };
    let game = wide(4);
    let mut search = Search::new(Arc::clone(&game) as Arc<dyn Machine>, RoleId(0), config());
    search.run(&iterations(4_000));
    // Each iteration tried another of the root's moves, and only the root was asked for them, once
    // for each role.
    assert_eq!(game.rules.asked.load(Ordering::Relaxed), 2);
    search.run(&iterations(4_000));
    assert_eq!(search.best_move(), Some(mv(0, 4_321)));
    search.check();
    // One move before the end the best of 5,000 moves is proven when it is tried.
    let mut search = Search::new(wide(1), RoleId(0), config());
    assert_eq!(search.run(&iterations(5_001)), StopReason::Proven);
    assert_eq!(search.best_move(), Some(mv(0, 4_321)));
    assert_eq!(search.root().moves.len(), 5_000);
}

#[test]
fn first_play_urgency_follows_good_moves_before_all_are_tried() {
    let game = || {
        Game::new(Wide {
            moves: 5_000,
            plies: 4,
            winning: 4_321,
            asked: AtomicUsize::new(0),
        })
    };
    let tried = |first_play_visits| {
        let config = SearchConfig {
            first_play_visits,
            ..config()
        };
        let mut search = Search::new(game(), RoleId(0), config);
        search.run(&iterations(1_000));
        let moves = search.root().moves;
        moves.iter().filter(|report| report.visits > 0.0).count()
    };
    assert_eq!(tried(0.0), 1_000);
    assert!(tried(16.0) < 500);
}

#[test]
fn dominated_moves_are_avoided_where_both_choose_at_once() {
    // The first role's second move is better against each reply; the second role then prefers its
    // first.
    let machine: Arc<dyn Machine> = Game::new(matrix(&[
        &[(30, 70), (50, 50), (10, 90)],
        &[(60, 40), (80, 20), (70, 30)],
        &[(20, 80), (10, 90), (60, 40)],
    ]));
    let mut first = Search::new(Arc::clone(&machine), RoleId(0), config());
    first.run(&iterations(3_000));
    assert_eq!(first.best_move(), Some(mv(0, 1)));
    let mut second = Search::new(machine, RoleId(1), config());
    second.run(&iterations(3_000));
    assert_eq!(second.best_move(), Some(mv(1, 0)));
    second.check();
}

#[test]
fn matching_pennies_and_rock_paper_scissors_have_even_values() {
    let pennies = matrix(&[&[(100, 0), (0, 100)], &[(0, 100), (100, 0)]]);
    let scissors = matrix(&[
        &[(50, 50), (0, 100), (100, 0)],
        &[(100, 0), (50, 50), (0, 100)],
        &[(0, 100), (100, 0), (50, 50)],
    ]);
    for table in [pennies, scissors] {
        let mut search = Search::new(Game::new(table), RoleId(0), config());
        assert_eq!(search.run(&iterations(30_000)), StopReason::Iterations);
        let report = search.root();
        let value = report.value.expect("a value");
        assert!((40.0..60.0).contains(&value), "{value}");
        // The equilibrium is proven, and played.
        assert_eq!(report.proven, Some(50));
        assert!(report.moves.iter().all(|report| report.visits > 3_000.0));
    }
}

#[test]
fn the_deadline_is_kept_in_a_fast_game() {
    let time = Duration::from_millis(1);
    let mut late = Vec::new();
    let mut iterations = 0;
    // Of many runs, since other processes may take the core.
    let is_kept = (0..400).any(|_| {
        let mut search = Search::new(Game::new(Endless), RoleId(0), config());
        let start = Instant::now();
        let limit = Budget::generous().until(Some(start + time));
        assert_eq!(search.run(&limit), StopReason::Deadline);
        late.push(start.elapsed().checked_sub(time).expect("not too early"));
        iterations += search.root().iterations;
        late.last() < Some(&Duration::from_millis(1))
    });
    assert!(iterations > 0);
    assert!(is_kept, "{late:?}");
}

#[test]
fn the_deadline_is_missed_by_one_playout_at_most_in_a_slow_game() {
    let playout = Duration::from_millis(20);
    // A request whose playouts have not all ended stays in flight.
    for (samples, done) in [(1, 1), (50, 0)] {
        let config = SearchConfig {
            samples_per_request: samples,
            ..config()
        };
        // A busy machine may start the first iteration of a run after its deadline.
        let started = (0..100).find_map(|_| {
            let mut search = Search::new(slow(Endless, playout), RoleId(0), config.clone());
            let limit = Budget::generous().until(Some(Instant::now() + playout / 2));
            assert_eq!(search.run(&limit), StopReason::Deadline);
            let statistics = search.statistics();
            (statistics.iterations > 0 || statistics.in_flight > 0).then_some(statistics)
        });
        let statistics = started.expect("an iteration before the deadline");
        assert_eq!((statistics.iterations, statistics.playouts), (done, done));
        assert_eq!(u64::from(statistics.in_flight), 1 - done);
    }
}

#[test]
fn a_deadline_that_has_passed_stops_before_the_first_iteration() {
    let mut search = Search::new(tic_tac_toe(), RoleId(0), config());
    let limit = Budget::generous().until(Some(Instant::now()));
    assert_eq!(search.run(&limit), StopReason::Deadline);
    assert_eq!(search.statistics().iterations, 0);
    assert!(search.best_move().is_some());
}

#[test]
fn the_stop_flag_ends_a_run_within_one_iteration() {
    let flag = Arc::new(AtomicBool::new(false));
    let machine = stopping(Endless, 25, flag.clone());
    let mut search = Search::new(machine, RoleId(0), config());
    let limit = Budget::generous().stopped_by(&flag);
    assert_eq!(search.run(&limit), StopReason::Flag);
    assert_eq!(search.statistics().playouts, 25);
    assert_eq!(search.run(&limit), StopReason::Flag);
    assert_eq!(search.statistics().playouts, 25);
}

/// With all weight on the evaluation nothing is played out, and proofs work as before.
#[test]
fn evaluation_and_proof_work_without_playouts() {
    let machine = tic_tac_toe();
    let bits = machine.initial_state().len() * 64;
    let evaluation = Evaluation::new(2, bits, Some(100), None, &mut Random::new(1)).map(Arc::new);
    let config = SearchConfig {
        evaluation,
        evaluation_share: 1.0,
        ..config()
    };
    let mut search = Search::new(Arc::clone(&machine), RoleId(0), config.clone());
    search.run(&iterations(200_000));
    assert_eq!(search.root().proven, Some(50));
    assert_eq!(search.statistics().playouts, 0);
    let again = [0, 1].map(|_| {
        let mut search = Search::new(Arc::clone(&machine), RoleId(0), config.clone());
        search.run(&iterations(500));
        search.root()
    });
    assert_eq!(again[0], again[1]);
}
