use std::sync::Mutex;

use super::super::{Companions, SharedSearch};
use super::*;
use crate::OurRole;
use panza_gdl::RoleId;
use panza_testing::game_of;

/// Nim with one heap of seven stones: a move takes one to three, and the last stone wins.
const STONES: &str = "(role left) (role right) (init (stones 7)) (init (turn left))
    (after 7 1 6) (after 7 2 5) (after 7 3 4) (after 6 1 5) (after 6 2 4) (after 6 3 3)
    (after 5 1 4) (after 5 2 3) (after 5 3 2) (after 4 1 3) (after 4 2 2) (after 4 3 1)
    (after 3 1 2) (after 3 2 1) (after 3 3 0) (after 2 1 1) (after 2 2 0) (after 1 1 0)
    (<= (legal ?p (take ?k)) (true (turn ?p)) (true (stones ?n)) (after ?n ?k ?m))
    (<= (legal left wait) (true (turn right))) (<= (legal right wait) (true (turn left)))
    (<= (next (turn left)) (true (turn right))) (<= (next (turn right)) (true (turn left)))
    (<= (next (stones ?m)) (true (stones ?n)) (does ?p (take ?k)) (after ?n ?k ?m))
    (<= terminal (true (stones 0)))
    (<= (goal left 100) (true (turn right))) (<= (goal left 0) (true (turn left)))
    (<= (goal right 100) (true (turn left))) (<= (goal right 0) (true (turn right)))";

/// One companion in this process, which is asked as often as it should have answered.
#[derive(Default)]
struct Beside {
    state: Mutex<Option<(Companion, Vec<u64>)>>,
    /// How long it searches for each answer.
    time: Duration,
}

impl Companions for Beside {
    fn begin(&self, _: u64, game: Arc<SharedGame>) {
        let mut companion = Companion::new(SearchConfig::deterministic(2));
        companion.begin(&game).unwrap();
        *self.state.lock().unwrap() = Some((companion, Vec::new()));
    }

    fn go_to(&self, _: u64, state: &[u64]) {
        let mut held = self.state.lock().unwrap();
        let (companion, at) = held.as_mut().unwrap();
        companion.go_to(state).unwrap();
        *at = state.to_vec();
    }

    fn found(&self, _: u64) -> Vec<Arc<SharedRoot>> {
        let mut held = self.state.lock().unwrap();
        let (companion, _) = held.as_mut().unwrap();
        vec![Arc::new(companion.search(self.time).unwrap())]
    }

    fn end(&self, _: u64) {
        *self.state.lock().unwrap() = None;
    }
}

fn left() -> OurRole {
    OurRole::from(("left".to_string(), 0))
}

fn shared(game: &BuiltGame, companions: &Arc<dyn Companions>) -> SharedSearch {
    let config = SearchConfig::deterministic(1);
    let state = game.machine.initial_state();
    let inner = preferred_search(game, RoleId(0), &state, &config, false);
    SharedSearch::new(
        inner,
        &game.machine,
        &state,
        SharedGame::new(STONES, &left(), game.info(), &config),
        companions,
    )
}

#[test]
fn what_a_companion_proves_is_played() {
    let game = game_of(STONES);
    let beside = Arc::new(Beside {
        time: Duration::from_millis(500),
        ..Beside::default()
    });
    let companions: Arc<dyn Companions> = Arc::clone(&beside) as _;
    let mut search = shared(&game, &companions);
    // Alone it has hardly begun.
    search.search_iterations(3, &Arc::default());
    let best = search.best_move().unwrap();
    assert_eq!(game.machine.info().move_text(best.mv), "(take 3)");
    assert!(best.is_proven_best, "{best:?}");
    assert_eq!(best.value, Some(100.0));
    drop(search);
    assert!(beside.state.lock().unwrap().is_none());
}

#[test]
fn a_companion_follows_the_match() {
    let game = game_of(STONES);
    let beside = Arc::new(Beside::default());
    let companions: Arc<dyn Companions> = Arc::clone(&beside) as _;
    let mut search = shared(&game, &companions);
    let info = game.machine.info();
    let facts = ["(stones 5)".to_string(), "(turn left)".to_string()];
    let state = info.state_from_facts(&facts).unwrap();
    search.set_state(&state);
    let held = beside.state.lock().unwrap();
    assert_eq!(held.as_ref().unwrap().1, state);
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut companion = Companion::new(SearchConfig::deterministic(1));
    assert!(companion.search(Duration::ZERO).is_err());
    assert!(companion.go_to(&[0]).is_err());
    let game = game_of(STONES);
    let beside = Arc::new(Beside::default());
    let companions: Arc<dyn Companions> = Arc::clone(&beside) as _;
    drop(shared(&game, &companions));
    let mut other = SharedGame {
        rules: STONES.into(),
        role: left(),
        facts: facts_hash(game.machine.info()) ^ 1,
        settings: Value::Null,
    };
    let why = companion.begin(&other).unwrap_err();
    assert!(why.contains("another machine"), "{why}");
    other.facts ^= 1;
    let why = companion.begin(&other).unwrap_err();
    assert!(why.contains("`exploration` is no number"), "{why}");
    other.rules = "(role".into();
    assert!(companion.begin(&other).is_err());
}
