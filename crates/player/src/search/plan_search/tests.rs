//! Plans of earlier matches, at the start of a search.

use serde_json::{Value, json};

use super::super::whole_search::WholeSearch;
use super::*;
use crate::search_config;
use panza_config::Settings;
use panza_machine::{GameInfo, Reasoner};

const PATIENCE: Duration = Duration::from_secs(120);

/// The shortest plan, by hand.
const POURS: [&str; 7] = [
    "(pour large middle)",
    "(pour middle small)",
    "(pour small large)",
    "(pour middle small)",
    "(pour large middle)",
    "(pour middle small)",
    "(pour small large)",
];

fn three_jugs() -> BuiltGame {
    panza_testing::game("threeJugs")
}

fn search(game: &BuiltGame) -> PlanSearch {
    let settings = Settings::load(None, &[]).unwrap();
    let config = SearchConfig {
        rollout_threads: 0,
        max_nodes: 20_000,
        max_bytes: 64 << 20,
        ..search_config(&settings.search, 1)
    };
    let state = game.machine.initial_state();
    PlanSearch::new(game, &state, &config, |config| {
        let machine = &game.machine;
        Box::new(WholeSearch::new(machine, RoleId(0), &state, config.clone()))
    })
    .unwrap()
}

fn note(moves: &[&str], goal: u8, is_best: bool) -> Value {
    let moves = moves.iter().map(ToString::to_string).collect();
    let note = PlanNote {
        moves,
        goal,
        is_best,
    };
    note.to_json()
}

fn recalled(game: &BuiltGame, note: Value, is_exact: bool) -> Result<KnownPlan, &'static str> {
    let history = GameHistory {
        is_exact,
        notes: vec![(Kind::Plan, note)],
        matches: Vec::new(),
    };
    known_plan(&game.machine, &history).map(|known| known.expect("there is a note"))
}

#[test]
fn a_plan_proven_best_needs_no_planner() {
    let game = three_jugs();
    let known = recalled(&game, note(&POURS, 100, true), true).unwrap();
    let mut search = search(&game);
    search.start_with(&known.plan, known.is_best);
    search.search(Instant::now() + PATIENCE, &Arc::default());
    assert!(search.worker.is_none());
    let plan = search.plan().unwrap();
    assert_eq!(
        (plan.goal, plan.moves.len(), plan.solver),
        (Some(100), 7, "memory")
    );
    assert!(plan.is_best);
    assert_eq!(search.plan().unwrap().moves, known.plan.moves);
    assert!(search.best_move().is_some_and(|best| best.is_proven_best));
}

#[test]
fn the_planner_starts_with_a_plan_that_is_not_proven_best() {
    let game = three_jugs();
    // It leaves four litres in the large jug when the moves are used up.
    let poor = {
        let mut moves = POURS.to_vec();
        moves.truncate(3);
        moves.extend(["(pour large small)", "(pour small large)"].repeat(4));
        moves.push("(pour large small)");
        moves
    };
    let goal = {
        let moves = poor.iter();
        let moves = moves.map(|text| game.info().find_move(RoleId(0), text).unwrap());
        let moves: Vec<MoveId> = moves.collect();
        let start = game.machine.initial_state();
        Plan::replay(&game.machine, &start, &moves).unwrap().goal
    };
    assert!(goal < 100);
    for (moves, goal) in [(poor.as_slice(), goal), (POURS.as_slice(), 100)] {
        let known = recalled(&game, note(moves, goal, false), true).unwrap();
        let mut search = search(&game);
        search.start_with(&known.plan, known.is_best);
        assert_eq!(search.plan, known.plan.moves);
        let until = Instant::now() + PATIENCE;
        while !search.is_best && Instant::now() < until {
            let slice = Instant::now() + Duration::from_millis(5);
            search.search(slice, &Arc::default());
        }
        assert!(search.worker.is_some());
        let plan = search.plan().unwrap();
        assert!(plan.is_best && plan.goal == Some(100));
        // The planner finds no better plan than the one that reaches the highest goal.
        assert_eq!(plan.solver == MEMORY, goal == 100);
    }
}

#[test]
fn the_planners_own_plan_stays_if_it_is_as_good() {
    let game = three_jugs();
    let known = recalled(&game, note(&POURS, 100, true), true).unwrap();
    let mut search = search(&game);
    let own: Vec<MoveId> = known.plan.moves.iter().rev().copied().collect();
    search.plan = own.iter().copied().collect();
    search.goal = 100;
    search.start_with(&known.plan, false);
    assert!(!search.is_best);
    search.start_with(&known.plan, true);
    assert_eq!(search.plan().unwrap().moves, own);
    assert!(search.is_best);
}

#[test]
fn damaged_plans_are_not_recalled() {
    let game = three_jugs();
    let error = |note: Value| match recalled(&game, note, true) {
        Ok(known) => panic!("{:?}", known.plan),
        Err(error) => error,
    };
    assert_eq!(error(json!([1])), "its note is damaged");
    assert_eq!(
        error(note(&["(drink small)"], 100, true)),
        "it has moves that the game does not have"
    );
    assert_eq!(error(note(&[], 100, true)), "it does not replay");
    assert_eq!(error(note(&POURS[..6], 100, true)), "it does not replay");
    assert_eq!(error(note(&POURS[1..], 100, true)), "it does not replay");
    assert_eq!(error(note(&POURS, 30, true)), "it reaches another goal");
    // The rules were not compared.
    let known = recalled(&game, note(&POURS, 100, true), false).unwrap();
    assert!(!known.is_best);
}

#[test]
fn a_plan_is_shortened_while_no_better_one_is_possible() {
    let game = three_jugs();
    // A detour, there and back.
    let moves = [&["(pour large small)", "(pour small large)"], &POURS[..]].concat();
    let known = recalled(&game, note(&moves, 100, false), true).unwrap();
    let mut search = search(&game);
    search.start_with(&known.plan, false);
    assert_eq!(search.plan().unwrap().moves.len(), 9);
    let until = Instant::now() + PATIENCE;
    while search.plan.len() > 7 && Instant::now() < until {
        search.search(Instant::now(), &Arc::default());
    }
    assert!(search.is_best);
    // The rest of the plan follows the moves of the match.
    let (first, rest) = (search.plan[0], search.plan.len() - 1);
    let mut state = Vec::new();
    let mut reasoner = Arc::clone(&game.machine).reasoner();
    reasoner.next_state(&[first], &mut state);
    search.advance(&[first], &state);
    search.search(Instant::now(), &Arc::default());
    assert_eq!(search.plan.len(), rest);
    assert_eq!(rest, 6);
}

/// A machine whose reasoners cannot be made on the thread of a planner.
struct Unplannable(Arc<dyn Machine>);

impl Machine for Unplannable {
    fn kind(&self) -> &'static str {
        self.0.kind()
    }

    fn info(&self) -> &dyn GameInfo {
        self.0.info()
    }

    fn initial_state(&self) -> Vec<u64> {
        self.0.initial_state()
    }

    fn reasoner(self: Arc<Self>) -> Box<dyn Reasoner> {
        let thread = std::thread::current();
        assert_ne!(thread.name(), Some("planner"), "a panic that was ordered");
        Arc::clone(&self.0).reasoner()
    }
}

#[test]
fn a_planner_that_panics_leaves_the_tree_search_and_is_started_again() {
    let game = three_jugs();
    let game = BuiltGame {
        machine: Arc::new(Unplannable(Arc::clone(&game.machine))),
        ..game
    };
    let mut search = search(&game);
    let mut reasoner = Arc::clone(&game.machine).reasoner();
    let mut state = game.machine.initial_state();
    for pour in POURS {
        reasoner.set_state(&state);
        let legal = reasoner.legal_moves(RoleId(0)).to_vec();
        let begin = Instant::now();
        loop {
            search.search(Instant::now() + Duration::from_millis(5), &Arc::default());
            let worker = search.worker.as_ref().expect("a planner was started");
            if worker.thread.as_ref().unwrap().is_finished() {
                break;
            }
            assert!(begin.elapsed() < PATIENCE, "the planner has not ended");
        }
        let best = search.best_move().expect("a legal move");
        assert!(legal.contains(&best.mv));
        let mv = game.machine.info().find_move(RoleId(0), pour).unwrap();
        let mut next = Vec::new();
        reasoner.next_state(&[mv], &mut next);
        state = next;
        search.advance(&[mv], &state);
    }
}
