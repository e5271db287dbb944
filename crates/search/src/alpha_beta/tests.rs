//! The search against plain minimax and against the rules.

use super::*;
use panza_game::BuiltGame;
use panza_gdl::{Id, RoleId};
use panza_learning::{Images, Known, fixed_sum};
use panza_machine::Reasoner;
use panza_sync::Random;

const NAMES: [&str; 6] = [
    "ticTacToe",
    "connectFour",
    "breakthrough",
    "reversi",
    "hex",
    "nineBoardTicTacToe",
];

const PUBLISHED: [&str; 27] = [
    "2pffa_zerosum",
    "atariGoVariant_7x7",
    "breakthrough",
    "breakthroughSmall",
    "breakthroughWalls",
    "cephalopodMicro",
    "checkers",
    "checkersSmall",
    "connectFour",
    "cubicup",
    "englishDraughts",
    "escortLatch",
    "gomoku_11x11",
    "hex",
    "knightThrough",
    "madBishops",
    "nineBoardTicTacToe",
    "othello-comp2007",
    "sheepAndWolf",
    "minichess",
    "ticTacToeLarge",
    "pentago",
    "pentagoSuicide",
    "quad_7x7",
    "reversi",
    "speedChess",
    "ticTacToe",
];

fn random_evaluation(game: &BuiltGame, seed: u64) -> Arc<Evaluation> {
    evaluation_with_sum(game, 100, seed)
}

fn evaluation_with_sum(game: &BuiltGame, sum: u32, seed: u64) -> Arc<Evaluation> {
    let n_facts = game.info().facts().unwrap().len();
    let random = &mut Random::new(seed);
    Arc::new(Evaluation::new(2, n_facts, Some(sum), None, random).unwrap())
}

fn turns_of(game: &BuiltGame) -> Option<Turns> {
    Turns::find(&game.machine, &mut Random::new(1), || false)
}

fn config(
    game: &BuiltGame,
    evaluation: &Arc<Evaluation>,
    parameters: AlphaBetaParameters,
) -> AlphaBetaConfig {
    AlphaBetaConfig {
        values: AlphaBetaValues {
            evaluation: Arc::clone(evaluation),
            units: Units::default(),
            turns: turns_of(game).unwrap(),
            training: None,
        },
        table_bytes: 1 << 20,
        threads: 1,
        parameters,
    }
}

/// A state after some random joint moves that is not terminal, and in which a role chooses.
fn random_state(game: &BuiltGame, random: &mut Random) -> Vec<u64> {
    let mut reasoner = Arc::clone(&game.machine).reasoner();
    loop {
        let mut state = game.machine.initial_state();
        let length = random.below(30);
        for _ in 0..length {
            reasoner.set_state(&state);
            if reasoner.is_terminal() {
                break;
            }
            let joint = [0, 1].map(|role| *random.choose(reasoner.legal_moves(RoleId(role))));
            let mut next = Vec::new();
            reasoner.next_state(&joint, &mut next);
            state = next;
        }
        reasoner.set_state(&state);
        let chooses = |role: usize, reasoner: &mut dyn Reasoner| {
            reasoner.legal_moves(RoleId::from_index(role)).len() > 1
        };
        if !reasoner.is_terminal() && (0..2).any(|role| chooses(role, &mut *reasoner)) {
            return state;
        }
    }
}

/// The share of the first role by minimax to a depth. Forced joint moves cost no depth, and at the
/// last depth none are made.
fn minimax(reasoner: &mut dyn Reasoner, evaluation: &Evaluation, state: &[u64], depth: i32) -> f32 {
    reasoner.set_state(state);
    if reasoner.is_terminal() {
        return f32::from(reasoner.final_goals(2)[0]) / evaluation.scale();
    }
    let moves = [0, 1].map(|role| reasoner.legal_moves(RoleId(role)).to_vec());
    let is_choice = moves.iter().any(|it| it.len() > 1);
    if depth == 0 {
        let mut values = [0.0; 2];
        evaluation.values(state, &mut values);
        return values[0] / evaluation.scale();
    }
    let mover = usize::from(moves[0].len() == 1);
    let mut best: Option<f32> = None;
    for &mv in &moves[mover] {
        let mut joint = [moves[0][0], moves[1][0]];
        joint[mover] = mv;
        let mut next = Vec::new();
        reasoner.set_state(state);
        reasoner.next_state(&joint, &mut next);
        let depth = depth - i32::from(is_choice);
        let value = minimax(reasoner, evaluation, &next, depth);
        best = Some(match best {
            Some(best) if mover == 0 => best.max(value),
            Some(best) => best.min(value),
            None => value,
        });
    }
    best.unwrap_or(0.0)
}

#[test]
fn without_pruning_it_is_minimax() {
    for name in NAMES {
        let game = panza_testing::game(name);
        compare_with_minimax(name, &game, &random_evaluation(&game, 3), 4, 125_000);
    }
}

#[test]
#[ignore = "needs the published games, see CONTRIBUTING.md"]
fn without_pruning_it_is_minimax_in_published_games() {
    let corpus = panza_testing::corpus::corpus();
    let mut n_compared = 0;
    for key in PUBLISHED {
        let text = std::fs::read_to_string(corpus.rulesheet(key)).unwrap();
        // Without lanes, which take long to compile and are compared elsewhere.
        let machine = panza_testing::machine_of(&panza_testing::rules_of(&text));
        let game = BuiltGame::from(machine);
        let sum = fixed_sum(&game.machine, &mut Random::new(1), || false);
        let Some(sum) = sum.filter(|_| turns_of(&game).is_some()) else {
            continue;
        };
        compare_with_minimax(key, &game, &evaluation_with_sum(&game, sum, 3), 2, 8_000);
        n_compared += 1;
    }
    assert!(n_compared >= 20, "{n_compared} of {}", PUBLISHED.len());
}

/// Compares searches with minimax in some states: on one thread with a table, on one with a table
/// of a single bucket, and on two with a table. They go to the greatest depth from 2 to 5 at
/// which minimax has about `most_leaves` leaves at most.
fn compare_with_minimax(
    name: &str,
    game: &BuiltGame,
    evaluation: &Arc<Evaluation>,
    n_states: usize,
    most_leaves: usize,
) {
    let random = &mut Random::new(7);
    let mut reasoner = Arc::clone(&game.machine).reasoner();
    let plain = config(game, evaluation, AlphaBetaParameters::PLAIN);
    for (threads, table_bytes) in [(1, plain.table_bytes), (1, 0), (2, plain.table_bytes)] {
        let config = AlphaBetaConfig {
            threads,
            table_bytes,
            ..plain.clone()
        };
        let mut search = AlphaBeta::new(&game.machine, &config).unwrap();
        for _ in 0..n_states {
            let state = random_state(game, random);
            reasoner.set_state(&state);
            let counts = [0, 1].map(|role| reasoner.legal_moves(RoleId(role)).len());
            let has_few_leaves = |&depth: &u32| (counts[0] * counts[1]).pow(depth) <= most_leaves;
            let depth = (2..=5).rev().find(has_few_leaves).unwrap_or(2);
            search.set_state(&state);
            search.run(&Budget::generous(), depth);
            let report = search.report();
            let expected = minimax(&mut *reasoner, evaluation, &state, depth as i32);
            let is_second = report.mover.unwrap() == 1;
            let expected = if is_second { 1.0 - expected } else { expected };
            let error = (report.share - expected).abs();
            assert!(
                error < 0.006,
                "{name}, {threads}: {expected} and {report:?}"
            );
        }
    }
}

#[test]
fn proven_results_are_those_of_best_play() {
    let game = panza_testing::game("ticTacToe");
    let evaluation = random_evaluation(&game, 5);
    let mut search = AlphaBeta::new(
        &game.machine,
        &config(&game, &evaluation, AlphaBetaParameters::USUAL),
    );
    let search = search.as_mut().unwrap();
    let mut reasoner = Arc::clone(&game.machine).reasoner();
    let random = &mut Random::new(11);
    let mut n_proven = 0;
    for _ in 0..60 {
        let state = random_state(&game, random);
        search.set_state(&state);
        search.run(&Budget::generous(), 12);
        let report = search.report();
        // Deeper than any game.
        let result = minimax(&mut *reasoner, &evaluation, &state, 12);
        let mover = report.mover.unwrap();
        let result = if mover == 0 { result } else { 1.0 - result };
        if report.is_proven {
            assert_eq!(report.share, result, "{report:?}");
            n_proven += 1;
        } else {
            assert!((report.share - result).abs() < 0.01, "{report:?}");
        }
    }
    assert!(n_proven > 20, "{n_proven}");
}

#[test]
fn a_search_repeats_exactly_and_goes_on_where_it_rested() {
    let game = panza_testing::game("breakthrough");
    let evaluation = random_evaluation(&game, 1);
    let search = |parts: &[u64]| {
        let config = config(&game, &evaluation, AlphaBetaParameters::USUAL);
        let mut search = AlphaBeta::new(&game.machine, &config).unwrap();
        for &nodes in parts {
            search.run(&Budget::of_steps(nodes), u32::MAX);
        }
        (search.report(), search.counts())
    };
    let (report, counts) = search(&[20_000]);
    assert_eq!(search(&[20_000]), (report.clone(), counts));
    assert_eq!(
        search(&[1, 4_999, 10, 4_990, 10_000]),
        (report.clone(), counts)
    );
    assert!(report.best.is_some() && report.depth >= 3, "{report:?}");
    assert_eq!((counts.nodes, counts.simultaneous), (20_000, 0));
}

#[test]
fn a_search_goes_on_with_other_weights() {
    let game = panza_testing::game("breakthrough");
    let [first, second] = [1, 2].map(|seed| random_evaluation(&game, seed));
    for threads in [0, 2] {
        let config = AlphaBetaConfig {
            threads,
            ..config(&game, &first, AlphaBetaParameters::PLAIN)
        };
        let mut search = AlphaBeta::new(&game.machine, &config).unwrap();
        search.run(&Budget::generous(), 3);
        let before = search.counts();
        // The table knows nothing of this state.
        let state = random_state(&game, &mut Random::new(3));
        search.set_state_and_evaluation(&state, &second);
        search.run(&Budget::generous(), 1);
        let (report, counts) = (search.report(), search.counts());
        let mut reasoner = Arc::clone(&game.machine).reasoner();
        let of_first = minimax(&mut *reasoner, &second, &state, 1);
        let is_first = report.mover == Some(0);
        let expected = if is_first { of_first } else { 1.0 - of_first };
        assert!((report.share - expected).abs() < 0.006, "{report:?}");
        assert!(counts.nodes > before.nodes);
        assert!(report.selective_depth < before.deepest);
    }
}

#[test]
fn the_calling_thread_searches_in_runs_as_a_thread_does() {
    let game = panza_testing::game("breakthrough");
    let evaluation = random_evaluation(&game, 1);
    let search = |threads: usize| {
        let config = AlphaBetaConfig {
            threads,
            ..config(&game, &evaluation, AlphaBetaParameters::USUAL)
        };
        AlphaBeta::new(&game.machine, &config).unwrap()
    };
    // One run is the same search.
    let mut searches = [search(0), search(1)];
    for search in &mut searches {
        search.run(&Budget::of_steps(20_000), u32::MAX);
    }
    let [own, other] = searches.each_ref().map(|it| (it.report(), it.counts()));
    assert_eq!(
        (own.0.depth, own.0.share, own.1),
        (other.0.depth, other.0.share, other.1)
    );
    // Short runs get as far as the whole, nearly.
    let mut parts = search(0);
    for _ in 0..100 {
        parts.run(&Budget::of_steps(1000), u32::MAX);
    }
    assert!(parts.report().depth >= own.0.depth, "{:?}", parts.report());
    let before = parts.report().depth;
    parts.set_state(&random_state(&game, &mut Random::new(3)));
    assert_eq!(parts.report().depth, 0);
    parts.run(&Budget::of_steps(20_000), 2);
    assert_eq!(parts.report().depth, 2);
    assert!(before > 2);
}

#[test]
fn threads_leave_a_position_in_the_middle() {
    let game = panza_testing::game("breakthrough");
    let evaluation = random_evaluation(&game, 1);
    let config = AlphaBetaConfig {
        threads: 2,
        ..config(&game, &evaluation, AlphaBetaParameters::USUAL)
    };
    let mut search = AlphaBeta::new(&game.machine, &config).unwrap();
    let random = &mut Random::new(3);
    for round in 0..30 {
        search.set_state(&random_state(&game, random));
        assert_eq!(
            search.report().depth,
            0,
            "nothing is left of another position"
        );
        for _ in 0..round % 4 {
            search.run(&Budget::of_steps(300), u32::MAX);
        }
    }
    // Nothing is searched without a budget, and what was found stays.
    let before = search.report();
    search.run(&Budget::of_steps(0), u32::MAX);
    assert_eq!(search.report(), before);
}

#[test]
fn games_of_other_kinds_are_refused() {
    for name in ["connectFourSimultaneous", "diceRace", "hanoi"] {
        let game = panza_testing::game(name);
        assert!(turns_of(&game).is_none(), "{name}");
        assert!(AlphaBetaValues::unknown(&game.machine).is_err(), "{name}");
    }
    // Without a fixed sum of goals.
    let game = panza_testing::game("ticTacToe");
    let n_facts = game.info().facts().unwrap().len();
    let evaluation = Evaluation::new(2, n_facts, None, None, &mut Random::new(1)).unwrap();
    let config = config(&game, &Arc::new(evaluation), AlphaBetaParameters::USUAL);
    assert!(AlphaBeta::new(&game.machine, &config).is_none());
}

#[test]
fn turns_are_not_looked_for_without_time() {
    let game = panza_testing::game("ticTacToe");
    assert!(Turns::find(&game.machine, &mut Random::new(1), || true).is_none());
}

#[test]
fn training_learns_who_wins() {
    let game = panza_testing::game("breakthrough");
    let evaluation = random_evaluation(&game, 1);
    let known = Known {
        evaluation: (*evaluation).clone(),
        games: 0,
        sums: None,
    };
    let budget = Budget::of_steps(150);
    let turns = turns_of(&game).unwrap();
    let images = Images::default();
    let train = || train_leaves(&game.machine, turns, &known, &images, &budget, 1, 1).unwrap();
    let trained = train();
    assert!(trained.samples > 1_000, "{trained:?}");
    assert_eq!(trained.evaluation, train().evaluation);
    // It beats the evaluation that it began with, from both sides of some openings.
    let searches = [&Arc::new(trained.evaluation), &evaluation].map(|evaluation| {
        let config = config(&game, evaluation, AlphaBetaParameters::USUAL);
        AlphaBeta::new(&game.machine, &config).unwrap()
    });
    let points = play_pairs(&game, searches, 6);
    assert!(points >= 8.0, "{points} of 12");
}

/// The points of the first search in pairs of games, with sides swapped.
fn play_pairs(game: &BuiltGame, mut searches: [AlphaBeta; 2], n_pairs: u64) -> f32 {
    let mut reasoner = Arc::clone(&game.machine).reasoner();
    let mut points = 0.0;
    for index in 0..2 * n_pairs {
        let random = &mut Random::new(index / 2);
        let first = (index % 2) as usize;
        let mut state = game.machine.initial_state();
        let mut length = 0;
        loop {
            reasoner.set_state(&state);
            if reasoner.is_terminal() {
                break;
            }
            let moves = [0, 1].map(|role| reasoner.legal_moves(RoleId(role)).to_vec());
            let mut joint = moves.each_ref().map(|it| *random.choose(it));
            let mover = usize::from(moves[0].len() == 1);
            if moves[mover].len() > 1 && length >= 4 {
                let search = &mut searches[mover ^ first];
                search.set_state(&state);
                search.run(&Budget::of_steps(500), u32::MAX);
                joint[mover] = search.report().best.unwrap_or(joint[mover]);
            }
            let mut next = Vec::new();
            reasoner.next_state(&joint, &mut next);
            state = next;
            length += 1;
        }
        points += f32::from(reasoner.final_goals(2)[first]) / 100.0;
    }
    points
}
