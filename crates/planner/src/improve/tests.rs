//! Poor plans become shortest ones, and what is called shortest is.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::*;
use crate::plan::PLAYER;
use crate::tests::{TIME, built, random_game, replayed_by_the_prover, rules, solve};
use crate::{Planner, PlannerConfig, PlanningGame};
use panza_game::BuiltGame;
use panza_machine::Reasoner;
use panza_sync::Random;

use panza_gdl::MoveId;

const BYTES: usize = 1 << 28;

fn task_of(game: &BuiltGame) -> Arc<Task> {
    let planned = PlanningGame::new(&game.machine, game.network.as_ref()).unwrap();
    let start = game.machine.initial_state();
    Arc::new(Task::new(planned.analysis(), start))
}

/// Runs an improver to its end; no step makes the plan worse.
fn improve(improver: &mut Improver) -> Improvement {
    let until = Instant::now() + TIME;
    loop {
        let before = improver.found();
        if before.is_finished {
            return before;
        }
        assert!(Instant::now() < until);
        improver.step(until, &AtomicBool::new(false));
        let after = improver.found();
        assert!(after.plan.goal >= before.plan.goal);
        assert!(after.plan.moves.len() <= before.plan.moves.len());
    }
}

/// A plan with the best goal that begins with random moves, if there is one.
fn poor_plan(game: &BuiltGame, random: &mut Random) -> Option<Plan> {
    let planned = PlanningGame::new(&game.machine, game.network.as_ref()).unwrap();
    let start = game.machine.initial_state();
    (0..20).find_map(|_| {
        let mut reasoner = Arc::clone(&game.machine).reasoner();
        let mut state = start.clone();
        let mut moves = Vec::new();
        for _ in 0..12 {
            reasoner.set_state(&state);
            let legal = reasoner.legal_moves(PLAYER).to_vec();
            if reasoner.is_terminal() || legal.is_empty() {
                return None;
            }
            let mv = legal[random.below(legal.len() as u32) as usize];
            moves.push(mv);
            let mut next = Vec::new();
            reasoner.next_state(&[mv], &mut next);
            state = next;
        }
        let config = PlannerConfig {
            threads: 1,
            max_bytes: BYTES,
            seed: 1,
        };
        let mut planner = Planner::new(&planned, &state, config);
        planner.use_only("layers");
        planner.run(Instant::now() + TIME, &AtomicBool::new(false));
        let rest = planner
            .findings()
            .plan
            .clone()
            .filter(|plan| plan.goal == 100)?;
        moves.extend_from_slice(&rest.moves);
        Plan::replay(&game.machine, &start, &moves)
    })
}

#[test]
fn detours_are_taken_out() {
    // The lengths are known from elsewhere.
    let mut random = Random::new(1);
    for (name, length) in [
        ("eightPuzzle", 22),
        ("hanoi", 31),
        ("smallSokoban", 12),
        ("threeJugs", 7),
        ("toadsAndFrogs", 15),
        ("wolvesAndGoats", 11),
    ] {
        let rules = rules(name);
        let game = built(&rules);
        let task = task_of(&game);
        let shortest = solve(&game, Some("layers")).plan.unwrap();
        let poor = poor_plan(&game, &mut random).unwrap_or(shortest);
        let mut improver = Improver::new(&task, &poor, BYTES).unwrap();
        let found = improve(&mut improver);
        assert_eq!(found.plan.moves.len(), length, "{name}");
        assert!(found.is_shortest, "{name}");
        let goal = replayed_by_the_prover(&rules, &game, &found.plan.moves);
        assert_eq!(goal, Some(100), "{name}");
    }
}

#[test]
fn neighbourhoods_shorten_what_large_searches_cannot() {
    let game = built(&rules("eightPuzzle"));
    let task = task_of(&game);
    let mut random = Random::new(2);
    let poor = poor_plan(&game, &mut random).unwrap();
    let mut improver = Improver::new(&task, &poor, BYTES).unwrap();
    // No search from the start gets far enough.
    improver.space = Space::packed(&task).unwrap();
    improver.set_line(poor.clone(), true);
    improver.max_states = 500;
    improver.start_round();
    let until = Instant::now() + TIME;
    for _ in 0..60 {
        improver.max_states = 500;
        improver.step(until, &AtomicBool::new(false));
        assert!(!improver.found().is_finished);
    }
    assert!(improver.found().plan.moves.len() < poor.moves.len());
}

#[test]
fn nothing_happens_once_time_is_over() {
    let game = built(&rules("eightPuzzle"));
    let task = task_of(&game);
    let poor = poor_plan(&game, &mut Random::new(3)).unwrap();
    let mut improver = Improver::new(&task, &poor, BYTES).unwrap();
    improver.step(Instant::now() + TIME, &AtomicBool::new(true));
    improver.step(Instant::now(), &AtomicBool::new(false));
    assert_eq!(improver.found().plan, poor);
    assert!(!improver.found().is_finished);
}

/// The fewest moves to a goal at least as high.
fn fewest_moves(reasoner: &mut dyn Reasoner, start: &[u64], goal: u8) -> usize {
    let mut layer = vec![start.to_vec()];
    let mut met: HashSet<Vec<u64>> = HashSet::new();
    for depth in 0.. {
        let mut next_layer = Vec::new();
        for state in layer {
            reasoner.set_state(&state);
            if reasoner.is_terminal() {
                let mut goals = [None];
                reasoner.goals(&mut goals);
                if goals[0].unwrap_or(0) >= goal {
                    return depth;
                }
                continue;
            }
            for mv in reasoner.legal_moves(PLAYER).to_vec() {
                let mut next = Vec::new();
                reasoner.set_state(&state);
                reasoner.next_state(&[mv], &mut next);
                if met.insert(next.clone()) {
                    next_layer.push(next);
                }
            }
        }
        layer = next_layer;
    }
    unreachable!()
}

#[test]
fn in_random_games_what_is_called_shortest_is() {
    let mut random = Random::new(4);
    for number in 0..40 {
        // In every second game the best goal wants an exact step.
        let text = match number % 2 {
            0 => random_game(&mut random),
            _ => random_game(&mut random).replace("(<= best ", "(<= best (true (step 3)) "),
        };
        let game = built(&panza_gdl::load(&text).0);
        let task = task_of(&game);
        let mut reasoner = Arc::clone(&game.machine).reasoner();
        let mut state = task.start.clone();
        let mut moves: Vec<MoveId> = Vec::new();
        loop {
            reasoner.set_state(&state);
            if reasoner.is_terminal() {
                break;
            }
            let legal = reasoner.legal_moves(PLAYER);
            moves.push(legal[random.below(legal.len() as u32) as usize]);
            let mut next = Vec::new();
            reasoner.next_state(&moves[moves.len() - 1..], &mut next);
            state = next;
        }
        let plan = Plan::replay(&game.machine, &task.start, &moves).unwrap();
        let found = improve(&mut Improver::new(&task, &plan, BYTES).unwrap());
        assert!(found.is_shortest && found.plan.goal >= plan.goal);
        let fewest = fewest_moves(reasoner.as_mut(), &task.start, found.plan.goal);
        assert_eq!(found.plan.moves.len(), fewest, "game {number}: {text}");
    }
}

/// A light that may be switched at any time; the game ends at the third step, or when it is on at
/// the second.
const LIGHT: &str = "
    (role r) (init (step 0)) (succ 0 1) (succ 1 2) (succ 2 3)
    (legal r wait) (legal r switch)
    (<= (next (step ?b)) (true (step ?a)) (succ ?a ?b))
    (<= (next lit) (true lit) (does r wait))
    (<= (next lit) (not (true lit)) (does r switch))
    (<= terminal (true (step 3)))
    (<= terminal (true (step 2)) (true lit))
    (<= (goal r 100) (true lit))
    (<= (goal r 0) (not (true lit)))";

#[test]
fn counters_are_idle_until_they_end_the_game() {
    let game = built(&panza_gdl::load(LIGHT).0);
    let task = task_of(&game);
    let info = game.info();
    let find = |text| info.find_move(PLAYER, text).unwrap();
    let moves = [find("wait"), find("wait"), find("switch")];
    let plan = Plan::replay(&game.machine, &task.start, &moves).unwrap();
    let line = Line::new(&Space::plain(&task), plan, true).unwrap();
    assert!(counters::are_idle(&task.game, &line.states[..2]));
    assert!(!counters::are_idle(&task.game, &line.states[..3]));
    let found = improve(&mut Improver::new(&task, &line.plan, BYTES).unwrap());
    assert!(found.is_shortest);
    assert_eq!(found.plan.moves.len(), 2);
}
