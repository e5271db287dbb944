use super::super::board::{Board, Direction, NO_SQUARE, Position, Push, Square};
use super::super::distances::Distances;
use super::super::level::Level;
use super::super::solution::{Metrics, Secondary, Solution};
use super::configurations::{Configurations, bits, squares};
use super::nearby::Ranks;
use super::plan::PushPlan;
use super::states::State;
use super::symmetry::symmetries;
use super::{Best, Cost, Measure, Method, Options, Report, cheapest, cost, optimise};
use panza_sync::Budget;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const ROOM: [&str; 7] = [
    "########", "#      #", "# $$ . #", "# #  .@#", "#  $ . #", "#      #", "########",
];

/// 18 moves with 7 pushes, or 5 pushes with 26 moves.
const TORN: [&str; 7] = [
    "########", "##  @# #", "#    # #", "##   $ #", "#.$  # #", "#    . #", "########",
];

/// 25 moves with 10 pushes, or 6 pushes with 31 moves.
const STEP: [&str; 7] = [
    "########", "#    . #", "#   $  #", "#  $####", "##.    #", "#    @ #", "########",
];

const TWO_ROOMS: [&str; 9] = [
    "##########",
    "#   #    #",
    "# $ #  . #",
    "#  $   . #",
    "## ### ###",
    "#  $ # . #",
    "# @      #",
    "#    #   #",
    "##########",
];

const SMALL: [&[&str]; 2] = [&TORN, &STEP];

const LEVELS: [&[&str]; 4] = [&ROOM, &TORN, &STEP, &TWO_ROOMS];

fn board(rows: &[&str]) -> Board {
    Board::new(&Level::from_rows(rows).expect("a level")).expect("a board")
}

/// A solution found by taking pushes at random. It has many more pushes than needed.
fn poor(board: &Board, seed: u64) -> Vec<Push> {
    try_poor(board, seed).expect("a solution")
}

fn try_poor(board: &Board, seed: u64) -> Option<Vec<Push>> {
    let mut random = seed * 2 + 1;
    let mut seen: HashSet<(Vec<Square>, Square)> = HashSet::new();
    let mut waiting: Vec<(Position, Vec<Push>)> = vec![(board.start().clone(), Vec::new())];
    while let Some((position, way)) = waiting.pop() {
        if board.is_solved(&position.boxes) {
            return Some(way);
        }
        let first = board.first(&board.reach(&position));
        if way.len() > 60 || !seen.insert((position.boxes.clone(), first)) {
            continue;
        }
        let mut pushes = board.pushes(&position);
        for left in (1..pushes.len()).rev() {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            pushes.swap(left, random as usize % (left + 1));
        }
        for push in pushes {
            waiting.push((board.after(&position, push), [&way[..], &[push]].concat()));
        }
    }
    None
}

/// The least cost by Dijkstra's algorithm over boxes and player, one step at a time.
fn least(board: &Board, measure: Measure) -> Cost {
    let mut seen = BTreeSet::new();
    let mut waiting = BTreeMap::new();
    let start = board.start();
    waiting.insert((0, 0, start.boxes.clone(), start.player), ());
    while let Some(((one, other, boxes, player), ())) = waiting.pop_first() {
        let (moves, pushes) = match measure {
            Measure::MovesPushes => (one, other),
            Measure::PushesMoves => (other, one),
        };
        if board.is_solved(&boxes) {
            return Cost { moves, pushes };
        }
        if !seen.insert((boxes.clone(), player)) {
            continue;
        }
        for direction in super::super::board::Direction::ALL {
            let to = board.next(player, direction);
            if to == super::super::board::NO_SQUARE {
                continue;
            }
            let (mut boxes, mut pushes) = (boxes.clone(), pushes);
            if boxes.contains(&to) {
                let ahead = board.next(to, direction);
                if ahead == super::super::board::NO_SQUARE || boxes.contains(&ahead) {
                    continue;
                }
                boxes.retain(|&square| square != to);
                boxes.push(ahead);
                boxes.sort_unstable();
                pushes += 1;
            }
            let moves = moves + 1;
            let (one, other) = Cost { moves, pushes }.key(measure);
            waiting.insert((one, other, boxes, to), ());
        }
    }
    panic!("the level has no solution");
}

/// The least cost by exhaustive search, given a solution.
fn proven(board: &Board, measure: Measure, solution: &[Push]) -> Cost {
    let bound = cost(board, solution).expect("a solution");
    match cheapest(board, measure, bound, 1, &Budget::generous()) {
        Best::Proven(best) => cost(board, &best).expect("a solution"),
        _ => panic!("not proven"),
    }
}

fn with(measure: Measure, methods: &[Method], threads: usize) -> Options {
    Options {
        measure,
        threads,
        methods: methods.to_vec(),
        ..Options::default()
    }
}

/// The metrics of a replay.
fn metrics(board: &Board, pushes: &[Push]) -> Metrics {
    let solution = Solution::from_pushes(board, pushes).expect("a solution");
    solution.metrics()
}

/// Optimises a solution. Each report has to be better than the one before.
fn improved(board: &Board, solution: &[Push], options: &Options) -> Vec<Push> {
    let mut last = solution.to_vec();
    let limits = Budget::generous();
    let best = optimise(board, solution, options, &limits, &mut |report| {
        let Report::Better(gain) = report else { return };
        let [new, old] = [gain, &last].map(|pushes| options.key(&metrics(board, pushes)));
        assert!(new < old, "{:?}", options.methods);
        last = gain.to_vec();
    });
    assert_eq!(best, last);
    best
}

#[test]
fn every_method_keeps_or_improves() {
    for rows in LEVELS {
        let board = board(rows);
        for measure in Measure::ALL {
            let solution = poor(&board, 1);
            for method in Method::ALL {
                let options = with(measure, &[method], 1);
                let best = improved(&board, &solution, &options);
                assert!(method != Method::Global || best != solution);
            }
        }
    }
}

#[test]
fn a_plan_measures_what_its_replay_measures() {
    for seed in 0..400 {
        let Some((board, solution)) = random_room(seed) else {
            continue;
        };
        let plan = PushPlan::new(&board, solution.clone()).expect("a solution");
        let sum = plan.metrics(plan.pushes().len());
        assert_eq!(sum, metrics(&board, &solution));
        // No walk of a replay has fewer lines.
        let text = Solution::from_pushes(&board, &solution)
            .expect("a solution")
            .to_string();
        let again = Solution::from_text(&board, &text).expect("a solution");
        assert_eq!(again.metrics(), sum);
    }
}

/// The least key by Dijkstra's algorithm over boxes, player and the last move, one step at a time.
fn least_key(board: &Board, options: &Options) -> [u32; 6] {
    type State = (Vec<Square>, Square, Option<Direction>, bool, Option<Square>);
    let mut seen: BTreeSet<State> = BTreeSet::new();
    let mut waiting: BTreeMap<([u32; 6], State), Metrics> = BTreeMap::new();
    let start = board.start();
    let state = (start.boxes.clone(), start.player, None, false, None);
    waiting.insert(([0; 6], state), Metrics::default());
    while let Some(((key, state), sum)) = waiting.pop_first() {
        if board.is_solved(&state.0) {
            return key;
        }
        if !seen.insert(state.clone()) {
            continue;
        }
        let (boxes, player, last, was_push, last_box) = state;
        for direction in Direction::ALL {
            let to = board.next(player, direction);
            if to == NO_SQUARE {
                continue;
            }
            let (mut boxes, mut sum, mut last_box) = (boxes.clone(), sum, last_box);
            let is_push = boxes.contains(&to);
            if is_push {
                let ahead = board.next(to, direction);
                if ahead == NO_SQUARE || boxes.contains(&ahead) {
                    continue;
                }
                boxes.retain(|&square| square != to);
                boxes.push(ahead);
                boxes.sort_unstable();
                let is_same = last_box == Some(to);
                sum.pushes += 1;
                sum.box_changes += usize::from(!is_same);
                sum.box_lines += usize::from(!is_same || !was_push);
                sum.pushing_sessions += usize::from(!was_push);
                last_box = Some(ahead);
            }
            sum.moves += 1;
            sum.player_lines += usize::from(last != Some(direction));
            let state = (boxes, to, Some(direction), is_push, last_box);
            waiting.insert((options.key(&sum), state), sum);
        }
    }
    panic!("the level has no solution");
}

#[test]
fn ties_finds_the_best_by_all_metrics_where_few_boxes_move() {
    let orders = [Secondary::ALL, {
        let mut order = Secondary::ALL;
        order.reverse();
        order
    }];
    let rooms: Vec<_> = (0..400).filter_map(random_room).collect();
    assert!(rooms.len() > 15, "{}", rooms.len());
    let mut gained = 0;
    for (board, solution) in rooms {
        for (measure, ties) in Measure::ALL.into_iter().zip(orders) {
            let options = Options {
                ties,
                ..with(measure, &[Method::Ties], 1)
            };
            let best = improved(&board, &solution, &options);
            let key = options.key(&metrics(&board, &best));
            assert_eq!(key, least_key(&board, &options));
            // All methods end there too.
            let global = with(measure, &[Method::Global], 1);
            let short = improved(&board, &solution, &Options { ties, ..global });
            gained += usize::from(key < options.key(&metrics(&board, &short)));
        }
    }
    assert!(gained > 0, "of equally short plans some are better");
}

#[test]
fn the_rest_of_a_solution_is_mirrored_where_that_is_better() {
    let board = board(&["#########", "#.$@  $.#", "#########"]);
    let right_first = Solution::from_text(&board, "rrRlllL").expect("a solution");
    let options = with(Measure::MovesPushes, &[Method::Symmetry], 1);
    let best = improved(&board, right_first.pushes(), &options);
    let best = Solution::from_pushes(&board, &best).expect("a solution");
    assert_eq!(best.to_string(), "LrrrR");
}

#[test]
fn symmetries_keep_squares_and_goals() {
    let count = |rows: &[&str]| symmetries(&board(rows)).len();
    assert_eq!(count(&["#####", "#@  #", "# * #", "#   #", "#####"]), 7);
    assert_eq!(count(&["######", "#@   #", "#$  .#", "######"]), 0);
    assert_eq!(
        count(&["#######", "#  @  #", "#.$ $.#", "#     #", "#######"]),
        3
    );
    let board = board(&["#####", "#@  #", "# * #", "#   #", "#####"]);
    for symmetry in symmetries(&board) {
        for square in board.squares() {
            for direction in Direction::ALL {
                let next = board.next(square, direction);
                let image = symmetry.push(Push { square, direction });
                let next_image = match next {
                    NO_SQUARE => NO_SQUARE,
                    next => {
                        symmetry
                            .push(Push {
                                square: next,
                                direction,
                            })
                            .square
                    }
                };
                assert_eq!(board.next(image.square, image.direction), next_image);
            }
        }
    }
}

#[test]
fn progress_is_told_and_stays_within_a_pass() {
    let board = board(&TWO_ROOMS);
    let mut told = 0;
    let options = Options::default();
    let solution = poor(&board, 1);
    optimise(
        &board,
        &solution,
        &options,
        &Budget::generous(),
        &mut |report| {
            if let Report::Progress { done, all, .. } = report {
                assert!(done <= all);
                told += 1;
            }
        },
    );
    assert!(told > 0);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_run_makes_a_solution_worse(
        seed in 0..100_000_u64,
        methods in proptest::sample::subsequence(Method::ALL.to_vec(), 1..=Method::ALL.len()),
        pushes_first: bool,
        threads in 1..3_usize,
    ) {
        if let Some((board, solution)) = random_room(seed) {
            let measure = Measure::ALL[usize::from(pushes_first)];
            improved(&board, &solution, &with(measure, &methods, threads));
        }
    }
}

#[test]
fn a_gain_may_end_the_plan_before_its_own_place() {
    let (board, solution) = random_room(63_032).expect("a room");
    let options = with(Measure::MovesPushes, &[Method::Permutation], 1);
    let best = improved(&board, &solution, &options);
    assert!(best.len() < solution.len());
}

#[test]
fn exhaustive_search_agrees_with_dijkstra() {
    for rows in SMALL {
        let board = board(rows);
        let solution = poor(&board, 1);
        let bound = cost(&board, &solution).expect("a solution");
        for measure in Measure::ALL {
            let Best::Proven(best) = cheapest(&board, measure, bound, 1, &Budget::generous())
            else {
                panic!("not proven");
            };
            assert_eq!(cost(&board, &best), Some(least(&board, measure)));
        }
    }
}

/// A room with two boxes and walls at random places, if it has a solution.
fn random_room(seed: u64) -> Option<(Board, Vec<Push>)> {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut rows = vec![vec!['#'; 8]; 6];
    let mut place = |cell: char| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        rows[1 + random as usize % 4][1 + (random >> 8) as usize % 6] = cell;
    };
    (0..60).for_each(|_| place(' '));
    "##..$$@".chars().for_each(&mut place);
    let rows: Vec<String> = rows.iter().map(|row| row.iter().collect()).collect();
    let board = Board::new(&Level::from_rows(&rows).ok()?).ok()?;
    let solution = try_poor(&board, seed)?;
    (!solution.is_empty()).then_some((board, solution))
}

#[test]
fn exhaustive_search_agrees_with_dijkstra_in_random_rooms() {
    let rooms: Vec<_> = (0..1500).filter_map(random_room).collect();
    assert!(rooms.len() > 50, "{}", rooms.len());
    for (board, solution) in rooms {
        let bound = cost(&board, &solution).expect("a solution");
        for measure in Measure::ALL {
            let least = least(&board, measure);
            for bound in [bound, least] {
                let Best::Proven(best) = cheapest(&board, measure, bound, 1, &Budget::generous())
                else {
                    panic!("not proven");
                };
                assert_eq!(cost(&board, &best), Some(least));
            }
        }
    }
}

#[test]
fn two_threads_agree_with_one() {
    let board = board(&TWO_ROOMS);
    let bound = cost(&board, &poor(&board, 2)).expect("a solution");
    for measure in Measure::ALL {
        let [one, two] = [1, 2].map(|threads| {
            match cheapest(&board, measure, bound, threads, &Budget::generous()) {
                Best::Proven(best) => cost(&board, &best),
                _ => None,
            }
        });
        assert!(one.is_some());
        assert_eq!(one, two);
    }
}

#[test]
fn the_order_of_directions_decides_which_squares_are_nearer() {
    let board = board(&["#######", "#     #", "# .$@ #", "#     #", "#######"]);
    let distances = Distances::new(&board);
    let from = board.start().boxes[0];
    let mut order = Direction::ALL;
    for _ in 0..2 {
        let ranks = Ranks::new(&board, &distances, order);
        let rank = |direction| ranks.get(from, board.next(from, direction));
        assert!(rank(Direction::Left) < 5 && rank(Direction::Right) < 5);
        let is_left_first = rank(Direction::Left) < rank(Direction::Right);
        let place = |wanted| order.iter().position(|&direction| direction == wanted);
        assert_eq!(
            is_left_first,
            place(Direction::Left) < place(Direction::Right)
        );
        order.reverse();
    }
}

#[test]
fn vicinity_search_reaches_the_best() {
    for rows in LEVELS {
        let board = board(rows);
        for measure in Measure::ALL {
            for seed in 1..3 {
                let solution = poor(&board, seed);
                let options = with(measure, &[Method::Vicinity], 1);
                let best = optimise(
                    &board,
                    &solution,
                    &options,
                    &Budget::generous(),
                    &mut |_| {},
                );
                assert_eq!(cost(&board, &best), Some(proven(&board, measure, &best)));
            }
        }
    }
}

#[test]
fn the_measure_decides() {
    let board = board(&TORN);
    let solution = poor(&board, 1);
    let best = |measure| {
        let options = with(measure, &Method::ALL, 1);
        let best = optimise(
            &board,
            &solution,
            &options,
            &Budget::generous(),
            &mut |_| {},
        );
        cost(&board, &best).map(|cost| (cost.moves, cost.pushes))
    };
    assert_eq!(best(Measure::MovesPushes), Some((18, 7)));
    assert_eq!(best(Measure::PushesMoves), Some((26, 5)));
}

#[test]
fn permutation_keeps_the_pushes() {
    let board = board(&TWO_ROOMS);
    let mut solution = poor(&board, 3);
    let options = with(Measure::MovesPushes, &[Method::Permutation], 1);
    let mut best = optimise(
        &board,
        &solution,
        &options,
        &Budget::generous(),
        &mut |_| {},
    );
    assert!(cost(&board, &best).map(|cost| cost.moves) < cost(&board, &solution).map(|c| c.moves));
    solution.sort_unstable();
    best.sort_unstable();
    assert_eq!(best, solution);
}

#[test]
fn permutation_gains_the_same_on_all_threads() {
    for pushes in 1..4 {
        let board = board(&TWO_ROOMS);
        let solution = poor(&board, pushes);
        let [one, three] = [1, 3].map(|threads| {
            let options = with(Measure::MovesPushes, &[Method::Permutation], threads);
            let mut gains = Vec::new();
            let limits = Budget::generous();
            optimise(&board, &solution, &options, &limits, &mut |report| {
                if let Report::Better(gain) = report {
                    gains.push(gain.to_vec());
                }
            });
            gains
        });
        assert!(!one.is_empty());
        assert_eq!(one, three);
    }
}

#[test]
fn threads_find_the_best_too() {
    let board = board(&TWO_ROOMS);
    let options = with(
        Measure::MovesPushes,
        &[Method::FewBoxes, Method::Vicinity],
        2,
    );
    let best = optimise(
        &board,
        &poor(&board, 2),
        &options,
        &Budget::generous(),
        &mut |_| {},
    );
    assert_eq!(
        cost(&board, &best),
        Some(proven(&board, Measure::MovesPushes, &best))
    );
}

#[test]
fn what_solves_nothing_is_returned_as_it_is() {
    let board = board(&ROOM);
    let mut solution = poor(&board, 1);
    solution.pop();
    let options = Options::default();
    let best = optimise(
        &board,
        &solution,
        &options,
        &Budget::generous(),
        &mut |_| panic!("a gain"),
    );
    assert_eq!(best, solution);
    assert_eq!(cost(&board, &solution), None);
}

#[test]
fn a_stop_leaves_the_best_so_far() {
    let board = board(&TWO_ROOMS);
    let solution = poor(&board, 1);
    let stop = Arc::new(AtomicBool::new(false));
    let limits = Budget::generous().stopped_by(&stop);
    let mut gains = Vec::new();
    let best = optimise(
        &board,
        &solution,
        &Options::default(),
        &limits,
        &mut |report| {
            let Report::Better(gain) = report else { return };
            gains.push(gain.to_vec());
            stop.store(true, Ordering::Relaxed);
        },
    );
    assert_eq!(Some(&best), gains.last());
}

#[test]
fn bounds_end_an_exhaustive_search() {
    let board = board(&ROOM);
    let least = least(&board, Measure::MovesPushes);
    let below = Cost {
        moves: least.moves - 1,
        ..least
    };
    let search = |bound, limits| cheapest(&board, Measure::MovesPushes, bound, 2, &limits);
    assert_eq!(search(below, Budget::generous()), Best::Nothing);
    assert!(matches!(search(least, Budget::generous()), Best::Proven(_)));
    let small = Budget::generous().with_bytes(100_000);
    assert_eq!(search(least, small), Best::Unknown);
}

#[test]
fn a_plan_counts_moves_up_to_each_push() {
    let board = board(&STEP);
    let plan = PushPlan::new(&board, poor(&board, 1)).expect("a solution");
    let (all, middle) = (plan.pushes().len(), plan.pushes().len() / 2);
    let (first, second) = (plan.part(0, middle), plan.part(middle, all));
    assert_eq!(first.moves + second.moves, plan.cost().moves);
    assert_eq!(first.pushes + second.pushes, plan.cost().pushes);
}

#[test]
fn configurations_keep_their_numbers() {
    let board = board(&TWO_ROOMS);
    let mut set = Configurations::new(&board);
    let pairs: Vec<[Square; 2]> = (0..board.len() as Square)
        .flat_map(|low| (low + 1..board.len() as Square).map(move |high| [low, high]))
        .collect();
    for (number, pair) in pairs.iter().enumerate() {
        assert_eq!(set.find(&bits(&board, pair)), None);
        assert_eq!(set.insert(&bits(&board, pair)), Some(number));
    }
    for (number, pair) in pairs.iter().enumerate() {
        let words = bits(&board, pair);
        assert_eq!(set.insert(&words), Some(number));
        assert!(squares(&words).eq(pair.iter().copied()));
    }
}

#[test]
fn a_queued_state_takes_eight_bytes() {
    assert_eq!(size_of::<State>(), 8);
}

#[test]
fn names_are_read_back() {
    for method in Method::ALL {
        assert_eq!(method.name().parse(), Ok(method));
    }
    for measure in Measure::ALL {
        assert_eq!(measure.name().parse(), Ok(measure));
    }
    assert!("speed".parse::<Measure>().is_err());
}
