use super::super::field::Field;
use super::super::tests::{LEVELS, board};
use super::assignment::Assignment;
use super::*;

fn options(methods: &[Method]) -> Options {
    Options {
        methods: methods.to_vec(),
        ..Options::default()
    }
}

fn bounded(nodes: u64) -> Budget {
    Budget::generous().with_steps(nodes)
}

#[test]
fn every_method_solves_small_levels() {
    for rows in LEVELS {
        let board = board(rows);
        let fewest = solve(
            &board,
            &options(&[Method::Optimal]),
            &bounded(100_000),
            &|_| {},
        );
        assert!(fewest.push_optimal, "{rows:?}");
        let Verdict::Solved(fewest) = fewest.verdict else {
            panic!("{rows:?} has a solution")
        };
        for method in Method::ALL {
            let outcome = solve(&board, &options(&[method]), &bounded(100_000), &|_| {});
            let Verdict::Solved(pushes) = outcome.verdict else {
                panic!("{} did not solve {rows:?}", method.name())
            };
            assert!(is_solution(&board, &pushes));
            assert!(pushes.len() >= fewest.len(), "{} {rows:?}", method.name());
            assert_eq!(outcome.method, method.name());
        }
    }
}

#[test]
fn a_level_without_a_solution_is_proven() {
    // The box stands in a corner.
    let board = board(&["#####", "#$ .#", "# @ #", "#####"]);
    for method in Method::ALL {
        let outcome = solve(&board, &options(&[method]), &bounded(100_000), &|_| {});
        assert_eq!(outcome.verdict, Verdict::Unsolvable, "{}", method.name());
    }
}

#[test]
fn one_thread_and_one_seed_give_one_result() {
    let board = board(LEVELS[1]);
    let run = || solve(&board, &Options::default(), &bounded(100_000), &|_| {});
    let (one, other) = (run(), run());
    assert_eq!(one.verdict, other.verdict);
    assert_eq!(one.nodes, other.nodes);
}

#[test]
fn a_stop_ends_the_search() {
    let board = board(LEVELS[3]);
    let limits = Budget::generous().stopped_by(&Arc::new(AtomicBool::new(true)));
    let outcome = solve(
        &board,
        &Options {
            threads: 2,
            ..Options::default()
        },
        &limits,
        &|_| {},
    );
    assert_eq!(outcome.verdict, Verdict::Unknown);
}

#[test]
fn a_packing_plan_ends_with_boxes_on_all_targets() {
    for rows in LEVELS {
        let board = board(rows);
        for play in [Play::Push, Play::Pull] {
            let problem = Problem::new(&board, play);
            let packing = Packing::new(&problem, 0, &Budget::generous()).unwrap();
            let last = packing.stages.last().unwrap();
            assert_eq!(last.filled.len(), board.goals().len());
            assert!(last.filled.iter().all(|&square| problem.is_target(square)));
            assert!(packing.stages[0].filled.is_empty());
        }
    }
}

#[test]
fn a_packing_plan_has_a_place_for_every_box() {
    // The box in the right room reaches only the goal at the left end of the corridor, which the
    // nearer box must leave to it.
    let board = board(&[
        "#####  #####",
        "#   ####   #",
        "#.   $   $@#",
        "### ####   #",
        "  #.#  #####",
        "  ###       ",
    ]);
    for variation in 0..4 {
        let problem = Problem::new(&board, Play::Push);
        let plan = Packing::new(&problem, variation, &Budget::generous()).unwrap();
        let start = Field::new(&board, &problem.start);
        assert_eq!(
            plan.unplaced(&start, None, 0, &mut Assignment::default()),
            0
        );
    }
}

#[test]
fn a_box_in_a_corridor_blocks_the_boxes_behind_it() {
    let board = board(&[
        "#########", // The corridor is one square wide.
        "#  ##   #",
        "#. ## $ #",
        "#.  $   #",
        "#@ ##   #",
        "#########",
    ]);
    let problem = Problem::new(&board, Play::Push);
    let blocked = problem.blocked_by(board.square_at((3, 4)));
    assert!(blocked.contains((2, 6)));
    assert!(!blocked.contains((3, 2)));
}
