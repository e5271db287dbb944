use super::*;
use crate::Position as Played;
use panza_gdl::RoleId;
use panza_search::{Method, RoleOutlook};
use panza_sync::Random;
use std::time::Duration;

fn machine(game: &str) -> Arc<dyn Machine> {
    panza_testing::game(game).machine
}

/// The joint moves of texts, `role: move` for the role that has a choice.
fn joint_moves(machine: &Arc<dyn Machine>, texts: &[&str]) -> Vec<Vec<MoveId>> {
    let mut position = Played::new(machine);
    let of_text = |text: &&str| {
        let mut joint_move = Vec::new();
        for role in (0..machine.info().n_roles()).map(RoleId::from_index) {
            let legal = position.legal_moves(role).to_vec();
            let named = machine.info().find_move(role, text);
            let mv = named.filter(|mv| legal.contains(mv)).unwrap_or(legal[0]);
            joint_move.push(mv);
        }
        position.make(&joint_move);
        joint_move
    };
    texts.iter().map(of_text).collect()
}

fn review(machine: &Arc<dyn Machine>, moves: &[Vec<MoveId>]) -> Review {
    review_by(machine, moves, 3_000, 1, Duration::from_millis(20))
}

/// A review. `slice` is the time between two looks at the clock, `iterations` those of a position.
fn review_by(
    machine: &Arc<dyn Machine>,
    moves: &[Vec<MoveId>],
    iterations: u64,
    threads: usize,
    slice: Duration,
) -> Review {
    let settings = ReviewSettings {
        iterations,
        threads,
        ..ReviewSettings::default()
    };
    review_with(
        machine,
        moves,
        SearchConfig::deterministic(1),
        settings,
        slice,
    )
}

fn review_with(
    machine: &Arc<dyn Machine>,
    moves: &[Vec<MoveId>],
    config: SearchConfig,
    settings: ReviewSettings,
    slice: Duration,
) -> Review {
    let start = machine.initial_state();
    let mut review = Review::new(machine, &start, moves, config, settings);
    let never = Arc::new(AtomicBool::new(false));
    let mut n_steps = 0;
    while !review.step(Instant::now() + slice, &never) {
        n_steps += 1;
        assert!(n_steps < 1_000_000);
    }
    review
}

/// Random legal joint moves from the start, at most `most`.
fn random_moves(machine: &Arc<dyn Machine>, seed: u64, most: usize) -> Vec<Vec<MoveId>> {
    let mut random = Random::new(seed);
    let mut position = Played::new(machine);
    let mut moves = Vec::new();
    while !position.is_terminal() && moves.len() < most {
        let roles = (0..machine.info().n_roles()).map(RoleId::from_index);
        let draw = |role| *random.choose(position.legal_moves(role));
        let joint_move: Vec<MoveId> = roles.map(draw).collect();
        position.make(&joint_move);
        moves.push(joint_move);
    }
    moves
}

#[test]
fn a_threat_that_was_not_answered_is_named_with_the_answer() {
    let machine = machine("ticTacToe");
    // X threatens to complete the first row; O plays elsewhere.
    let texts = [
        "(mark 1 1)",
        "(mark 2 2)",
        "(mark 1 2)",
        "(mark 3 3)",
        "(mark 1 3)",
    ];
    let moves = joint_moves(&machine, &texts);
    let found = review(&machine, &moves);
    assert_eq!(found.progress(), (6, 6));
    let graded = found.graded();
    let [blunder] = &graded[..] else {
        panic!("{graded:?}");
    };
    assert_eq!((blunder.turn, blunder.role), (3, 1));
    assert_eq!(blunder.grade, Grade::Blunder);
    assert_eq!(machine.info().move_text(blunder.better), "(mark 1 3)");
    assert_eq!((blunder.value, blunder.after), (50.0, 0.0));
    assert!(blunder.is_proven);
    assert_eq!(blunder.line[0][1], blunder.better);
    let worths = found.worths();
    assert_eq!(worths[5].unwrap().of(0), Some(100.0));
    assert_eq!(worths[0].unwrap().of(0), Some(50.0));
    let summary = found.summary();
    let grades = summary.iter().map(|it| it.grades);
    assert_eq!(grades.collect::<Vec<_>>(), [[0, 0, 0], [0, 0, 1]]);
    assert_eq!((summary[0].moves, summary[1].moves), (3, 2));
    assert_eq!(summary[0].accuracy, Some(100.0));
    assert_eq!(summary[1].mean_loss, Some(25.0));
    assert!(summary[1].accuracy < Some(50.0), "{summary:?}");
}

#[test]
fn threads_and_interruptions_change_nothing() {
    let machine = machine("connectFour");
    for seed in 1..3 {
        let moves = random_moves(&machine, seed, 20);
        let one = review_by(&machine, &moves, 400, 1, Duration::from_secs(60));
        let two = review_by(&machine, &moves, 400, 2, Duration::from_millis(5));
        assert_eq!(one.worths(), two.worths());
        assert_eq!(one.graded(), two.graded());
        assert_eq!(one.summary(), two.summary());
        assert_eq!(one.doubts(), two.doubts());
    }
}

#[test]
fn a_review_that_gave_its_memory_back_finds_the_same() {
    let machine = machine("connectFour");
    let moves = random_moves(&machine, 7, 14);
    let whole = review_by(&machine, &moves, 400, 1, Duration::from_secs(60));
    let settings = whole.subject.settings;
    let start = machine.initial_state();
    let config = SearchConfig::deterministic(1);
    let mut review = Review::new(&machine, &start, &moves, config, settings);
    let never = Arc::new(AtomicBool::new(false));
    for _ in 0..3 {
        review.step(Instant::now() + Duration::from_millis(20), &never);
        review.release();
    }
    assert!(review.step(Instant::now() + Duration::from_secs(3600), &never));
    assert_eq!(whole.worths(), review.worths());
    assert_eq!(whole.graded(), review.graded());
}

#[test]
fn every_fall_from_a_proven_value_is_named() {
    let worth = |value: f32, bounds| {
        let value = Some(value);
        Worth(vec![RoleOutlook { value, bounds }])
    };
    let found = |worth| Found {
        worth,
        line: vec![vec![MoveId(1)]],
        ..Found::default()
    };
    let graded = |before, after: Worth| {
        let loss = loss(&found(before), &after, 0, 15.0).unwrap();
        (loss.grade, loss.is_proven)
    };
    let won = || worth(100.0, (100, 100));
    assert_eq!(
        graded(won(), worth(98.0, (0, 100))),
        (Some(Grade::Inaccuracy), false)
    );
    assert_eq!(
        graded(won(), worth(88.0, (0, 100))),
        (Some(Grade::Mistake), false)
    );
    assert_eq!(
        graded(won(), worth(70.0, (0, 100))),
        (Some(Grade::Blunder), false)
    );
    assert_eq!(
        graded(won(), worth(49.0, (0, 50))),
        (Some(Grade::Blunder), true)
    );
    assert_eq!(graded(won(), worth(99.5, (0, 100))), (None, false));
    assert_eq!(graded(won(), won()), (None, true));
    // What is not proven has to be greater.
    let open = || worth(80.0, (0, 100));
    assert_eq!(graded(open(), worth(70.0, (0, 100))), (None, false));
    assert_eq!(
        graded(open(), worth(65.0, (0, 100))),
        (Some(Grade::Inaccuracy), false)
    );
    assert_eq!(
        graded(open(), worth(35.0, (0, 100))),
        (Some(Grade::Blunder), false)
    );
    assert_eq!(
        graded(worth(80.0, (50, 100)), worth(9.0, (0, 0))),
        (Some(Grade::Blunder), true)
    );
}

#[test]
fn a_review_is_stopped_and_goes_on() {
    let machine = machine("ticTacToe");
    let moves = joint_moves(&machine, &["(mark 1 1)", "(mark 2 2)"]);
    let config = SearchConfig::deterministic(1);
    let settings = ReviewSettings::default();
    let start = machine.initial_state();
    let mut review = Review::new(&machine, &start, &moves, config, settings);
    let stopped = Arc::new(AtomicBool::new(true));
    assert!(!review.step(Instant::now() + Duration::from_secs(1), &stopped));
    assert_eq!(review.progress(), (0, 3));
    assert!(review.graded().is_empty());
    assert!(review.worths().iter().all(Option::is_none));
}

#[test]
fn guesses_of_simultaneous_moves_are_no_blunders() {
    let machine = machine("roshamboTen");
    let mut position = Played::new(&machine);
    let mut moves = Vec::new();
    while !position.is_terminal() && moves.len() < 4 {
        let roles = (0..2).map(RoleId::from_index);
        let joint_move: Vec<MoveId> = roles.map(|role| position.legal_moves(role)[0]).collect();
        position.make(&joint_move);
        moves.push(joint_move);
    }
    let found = review(&machine, &moves);
    assert!(found.graded().is_empty(), "{:?}", found.graded());
}

#[test]
fn the_search_that_plays_a_game_looks_for_its_blunders() {
    let machine = machine("ticTacToe");
    // The answer leaves a row open, and the first role does not see it.
    let texts = [
        "(mark 2 2)",
        "(mark 1 1)",
        "(mark 1 2)",
        "(mark 3 3)",
        "(mark 2 1)",
    ];
    let moves = joint_moves(&machine, &texts);
    let settings = ReviewSettings {
        iterations: 3_000,
        threads: 1,
        ..ReviewSettings::default()
    };
    let graded = |method| {
        let config = SearchConfig {
            method,
            ..SearchConfig::deterministic(1)
        };
        let slice = Duration::from_millis(20);
        let review = review_with(&machine, &moves, config, settings, slice);
        review
            .graded()
            .into_iter()
            .map(|it| (it.turn, it.role, it.grade))
            .collect::<Vec<_>>()
    };
    let by_tree = graded(Method::Tree);
    assert!(!by_tree.is_empty());
    assert_eq!(graded(Method::AlphaBeta), by_tree);
}
