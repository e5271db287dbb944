use super::*;

use std::time::Duration;

use panza_sync::{Instant, thread_cpu_time};

const SIZE: SampleSize = SampleSize {
    games: 400,
    playouts: 4_000,
    max_length: 200,
};
const SEED: u64 = 3;

/// Samples without a limit of time.
fn sampled(machine: &Arc<dyn Machine>, size: SampleSize) -> Sampled {
    sample(machine, size, SEED, &Budget::generous())
}

fn compiled(text: &str) -> panza_game::Compiled {
    panza_game::compile(&panza_gdl::load(text).0, &Budget::generous()).unwrap()
}

fn counter(text: &str) -> Arc<dyn Machine> {
    Arc::new(compiled(text).machine)
}

fn lanes(text: &str) -> Arc<dyn Machine> {
    let compiled = compiled(text);
    let counter = Arc::new(compiled.machine);
    let lanes = panza_game::compile_lanes(counter, &compiled.lanes, &Budget::generous(), 8);
    Arc::new(lanes.unwrap())
}

/// The rulesheet of a game of the folder gdl-games.
fn rulesheet(name: &str) -> &'static str {
    panza_gdl_games::rulesheet(name).unwrap()
}

fn near(one: f64, other: f64, within: f64) -> bool {
    (one - other).abs() <= within
}

/// Three steps of which the second asks for one of three, and the goal is what was asked for.
const THREE: &str = "(role r) (init (at 0)) (succ 0 1) (succ 1 2) (succ 2 3)
    (<= (legal r go) (not (true (at 1)))) (<= (legal r (take ?x)) (true (at 1)) (worth ?x ?y))
    (worth a 0) (worth b 50) (worth c 100)
    (<= (next (at ?y)) (true (at ?x)) (succ ?x ?y)) (<= (next (has ?x)) (does r (take ?x)))
    (<= (next (has ?x)) (true (has ?x))) (<= terminal (true (at 3)))
    (<= (goal r ?y) (true (has ?x)) (worth ?x ?y))";

#[test]
fn a_game_of_one_role_is_a_puzzle() {
    for machine in [counter(THREE), lanes(THREE)] {
        let seen = sampled(&machine, SIZE);
        assert_eq!((seen.games, seen.cut_off, seen.unfinished), (400, 0, 0));
        assert_eq!((seen.states, seen.fixed_length), (1_200, Some(3)));
        assert_eq!(seen.turns, Some(Turns::One));
        assert_eq!((seen.fixed_sum, seen.draws), (None, None));
        let role = &seen.roles[0];
        assert_eq!(role.name, "r");
        assert!(near(role.chooses, 1.0 / 3.0, 1e-9));
        let moves = role.moves.unwrap();
        assert_eq!((moves.least, moves.greatest, moves.count), (3, 3, 400));
        let values: Vec<u8> = role.goals.values.iter().map(|(goal, _)| *goal).collect();
        assert_eq!(values, [0, 50, 100]);
        assert!(near(role.goals.mean.unwrap(), 50.0, 6.0), "{role:?}");
        assert!(near(seen.branching.unwrap().mean, 5.0 / 3.0, 1e-9));
        assert_eq!(seen.ends_seen, 400 + seen.playouts);
    }
}

#[test]
fn lanes_and_counters_walk_the_same_games_for_a_seed() {
    for game in ["ticTacToe", "biddingTicTacToe", "eightPuzzle"] {
        let size = SampleSize {
            games: 200,
            playouts: 3_000,
            ..SIZE
        };
        let (counter, lanes) = (counter(rulesheet(game)), lanes(rulesheet(game)));
        let by_lanes = sampled(&lanes, size);
        assert_eq!(by_lanes, sampled(&lanes, size), "{game}");
        assert_eq!(by_lanes.playouts, 3_000);
        let by_counters = sampled(&counter, size);
        assert_eq!(by_counters.playouts, 0);
        let alike = Sampled {
            playouts: 0,
            ends_seen: by_counters.ends_seen,
            length: by_counters.length,
            ..by_lanes.clone()
        };
        assert_eq!(alike, by_counters, "{game}");
        let other = sample(&counter, size, SEED + 1, &Budget::generous());
        assert_ne!(other, by_counters, "{game}");
    }
}

#[test]
fn tic_tac_toe_alternates_with_a_fixed_sum() {
    let seen = sampled(&lanes(rulesheet("ticTacToe")), SIZE);
    assert_eq!(seen.turns, Some(Turns::Alternating));
    assert_eq!((seen.fixed_sum, seen.fixed_length), (Some(100), None));
    assert_eq!(seen.several_choose, Some(0.0));
    let length = seen.length.unwrap();
    assert_eq!((length.least, length.greatest), (5, 9));
    assert!(near(length.mean, 7.6, 0.3), "{length:?}");
    assert_eq!((seen.playouts, seen.ends_seen), (4_000, 4_400));
    assert!(near(seen.draws.unwrap(), 0.127, 0.06), "{seen:?}");
    let goals = &seen.roles[0].goals;
    assert!(near(goals.mean.unwrap(), 64.8, 8.0), "{goals:?}");
}

#[test]
fn several_roles_with_a_choice_are_simultaneous() {
    let game = |next: &str| {
        format!(
            "(role a) (role b) (init (step 0)) (legal a 1) (legal a 2) (legal b 1) (legal b 2)
             (<= (next (step 1)) (true (step 0))) {next} (<= terminal (true (step 1))) (goal a 50) (goal b 50)"
        )
    };
    let both = "(<= (next (a ?x)) (does a ?x)) (<= (next (b ?x)) (does b ?x))";
    let seen = sampled(&counter(&game(both)), SIZE);
    assert_eq!(seen.turns, Some(Turns::Simultaneous));
    assert_eq!(seen.several_choose, Some(1.0));
    assert_eq!((seen.draws, seen.fixed_sum), (Some(1.0), Some(100)));
    let branching = seen.branching.unwrap();
    assert_eq!((branching.least, branching.greatest), (4, 4));
}

#[test]
fn games_without_end_are_cut_off() {
    let text = "(role r) (init p) (legal r go) (legal r stay) (<= (next q) (true p) (does r go))
        (<= (next p) (true q) (does r go)) (<= (next p) (true p) (does r stay)) (<= (next q) (true q) (does r stay))
        (<= terminal (true end)) (<= (next end) (true end)) (goal r 10)";
    for machine in [counter(text), lanes(text)] {
        let seen = sampled(&machine, SIZE);
        assert_eq!((seen.games, seen.cut_off), (0, 400));
        assert_eq!(
            (seen.length, seen.fixed_length, seen.fixed_sum),
            (None, None, None)
        );
        assert_eq!(seen.ends_seen, 0);
        assert_eq!(seen.states, 400 * 200);
        assert_eq!(seen.playouts, 0);
    }
}

#[test]
fn a_role_without_a_move_ends_a_game_that_is_not_over() {
    let text = "(role r) (init (at 0)) (<= (legal r go) (true (at 0))) (<= (next (at 1)) (true (at 0)))
        (<= terminal (true (at 2))) (<= (next (at 2)) (true (at 1))) (<= (goal r 70) (true (at 1)))";
    let seen = sampled(&counter(text), SIZE);
    assert_eq!((seen.games, seen.fixed_length), (400, Some(1)));
    assert_eq!(seen.roles[0].goals.values, [(70, 400)]);
    assert_eq!(seen.turns, Some(Turns::Nobody));
    assert_eq!(seen.fixed_sum, None);
    // With a second role there is a sum, unless a goal is undefined.
    let two = format!("{text} (role s) (legal s noop) (goal s 20)");
    assert_eq!(sampled(&counter(&two), SIZE).fixed_sum, Some(90));
    let undefined = two.replace("(goal r 70) (true (at 1))", "(goal r 70) (true (at 0))");
    let seen = sampled(&counter(&undefined), SIZE);
    assert_eq!((seen.fixed_sum, seen.roles[0].goals.undefined), (None, 400));
}

#[test]
fn two_moves_in_a_row_are_no_alternation() {
    let game = |order: &str| {
        format!(
            "(role a) (role b) (init (turn 0)) (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) {order}
             (<= (legal ?r 1) (true (turn ?t)) (moves ?r ?t)) (<= (legal ?r 2) (true (turn ?t)) (moves ?r ?t))
             (<= (legal ?r noop) (true (turn ?t)) (role ?r) (role ?s) (distinct ?r ?s) (moves ?s ?t))
             (<= (next (turn ?u)) (true (turn ?t)) (succ ?t ?u)) (<= terminal (true (turn 4)))
             (<= (goal ?r 50) (role ?r))"
        )
    };
    for (order, expected) in [
        (
            "(moves a 0) (moves b 1) (moves a 2) (moves b 3)",
            Turns::Alternating,
        ),
        (
            "(moves b 0) (moves a 1) (moves b 2) (moves a 3)",
            Turns::Alternating,
        ),
        (
            "(moves a 0) (moves a 1) (moves b 2) (moves b 3)",
            Turns::Varying,
        ),
        (
            "(moves a 0) (moves b 1) (moves a 2) (moves a 3)",
            Turns::Varying,
        ),
    ] {
        assert_eq!(
            sampled(&counter(&game(order)), SIZE).turns,
            Some(expected),
            "{order}"
        );
    }
}

#[test]
fn the_prover_is_sampled_alike() {
    let rules = panza_gdl::load(rulesheet("ticTacToe")).0;
    let size = SampleSize { games: 12, ..SIZE };
    let seen = sampled(&panza_game::prover(&rules).unwrap().machine, size);
    assert_eq!((seen.games, seen.fixed_sum), (12, Some(100)));
    assert_eq!(seen.turns, Some(Turns::Alternating));
    assert_eq!(
        seen.roles
            .iter()
            .map(|role| role.name.as_str())
            .collect::<Vec<_>>(),
        ["xplayer", "oplayer"]
    );
}

#[test]
fn without_time_nothing_is_known() {
    let machine = lanes(rulesheet("ticTacToe"));
    let budget = Budget::generous().until(Some(Instant::now()));
    let seen = sample(&machine, SampleSize::default(), SEED, &budget);
    assert_eq!((seen.games, seen.states, seen.ends_seen), (0, 0, 0));
    assert_eq!(
        (seen.turns, seen.fixed_sum, seen.fixed_length),
        (None, None, None)
    );
    assert_eq!(
        (seen.length, seen.branching, seen.draws),
        (None, None, None)
    );
}

#[test]
fn a_short_time_limit_holds() {
    for game in ["hex", "ticTacToe", "reversi"] {
        let machine = lanes(rulesheet(game));
        let started = thread_cpu_time();
        let budget = Budget::lasting(Duration::from_millis(300));
        let seen = sample(&machine, SampleSize::default(), SEED, &budget);
        let used = thread_cpu_time()
            .zip(started)
            .map(|(end, start)| end - start);
        assert!(used < Some(Duration::from_secs(3)), "{game}: {used:?}");
        assert!(seen.states > 0, "{game}");
    }
}
