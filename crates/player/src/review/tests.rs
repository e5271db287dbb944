use super::*;
use crate::Position as Played;

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
    let config = SearchConfig {
        proof_effort: 0.1,
        ..SearchConfig::deterministic(1)
    };
    let settings = ReviewSettings {
        iterations: Some(3_000),
        ..ReviewSettings::default()
    };
    let start = machine.initial_state();
    let mut review = Review::new(machine, &start, moves, config, settings);
    let never = Arc::new(AtomicBool::new(false));
    let mut n_steps = 0;
    while !review.step(Instant::now() + Duration::from_millis(20), &never) {
        n_steps += 1;
        assert!(n_steps < 10_000);
    }
    review
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
    let blunders = found.blunders();
    let [blunder] = &blunders[..] else {
        panic!("{blunders:?}");
    };
    assert_eq!((blunder.turn, blunder.role), (3, 1));
    assert_eq!(machine.info().move_text(blunder.better), "(mark 1 3)");
    assert_eq!((blunder.value, blunder.after), (50.0, 0.0));
    assert!(blunder.is_proven);
    assert_eq!(blunder.line[0][1], blunder.better);
    let worths = found.worths();
    assert_eq!(worths[5].unwrap().of(0), Some(100.0));
    assert_eq!(worths[0].unwrap().of(0), Some(50.0));
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
    assert!(review.blunders().is_empty());
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
    assert!(found.blunders().is_empty(), "{:?}", found.blunders());
}
