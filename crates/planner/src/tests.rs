//! Plans of the games that come with the program, and of small games with known answers.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::projections::ProjectionDistance;
use super::task::Task;
use super::{Findings, Planner, PlannerConfig, PlanningGame, SOLVERS};
use panza_game::BuiltGame;
use panza_gdl::{Id, MoveId, RoleId, Rules, Severity};
use panza_machine::{Expander, ExpansionStep, Machine, PositionBatch, Reasoner};
use panza_sync::{Budget, Random};

/// Far more than these games need on a busy machine.
pub(super) const TIME: Duration = Duration::from_secs(120);

pub(super) fn rules(name: &str) -> Rules {
    panza_gdl::load(panza_gdl_games::rulesheet(name).unwrap()).0
}

pub(super) fn built(rules: &Rules) -> BuiltGame {
    let budget = Budget::within(TIME, 1 << 30);
    panza_game::build(rules, &budget).unwrap()
}

pub(super) fn solve(game: &BuiltGame, solver: Option<&str>) -> Findings {
    solve_within(game, solver, TIME)
}

fn solve_within(game: &BuiltGame, solver: Option<&str>, time: Duration) -> Findings {
    let planned = PlanningGame::new(&game.machine, game.network.as_ref()).unwrap();
    solve_planned(&planned, game, solver, time)
}

fn solve_planned(
    planned: &Arc<PlanningGame>,
    game: &BuiltGame,
    solver: Option<&str>,
    time: Duration,
) -> Findings {
    let config = PlannerConfig {
        threads: 1,
        max_bytes: 1 << 28,
        seed: 1,
    };
    let start = game.machine.initial_state();
    let mut planner = Planner::new(planned, &start, config);
    if let Some(solver) = solver {
        planner.use_only(solver);
    }
    planner.run(Instant::now() + time, &AtomicBool::new(false));
    planner.findings().clone()
}

/// The goal that the plan reaches by the rules themselves.
pub(super) fn replayed_by_the_prover(
    rules: &Rules,
    game: &BuiltGame,
    moves: &[MoveId],
) -> Option<u8> {
    let prover = panza_game::prover(rules).unwrap().machine;
    let (info, known) = (prover.info(), game.info());
    let mut reasoner = Arc::clone(&prover).reasoner();
    let mut next = Vec::new();
    for &mv in moves {
        assert!(!reasoner.is_terminal());
        let text = known.move_text(mv);
        let mut legal = reasoner.legal_moves(RoleId(0)).iter().copied();
        let mv = legal.find(|&mv| info.move_text(mv) == text).unwrap();
        reasoner.next_state(&[mv], &mut next);
        reasoner.set_state(&next);
    }
    assert!(reasoner.is_terminal());
    let mut goals = [None];
    reasoner.goals(&mut goals);
    goals[0]
}

#[test]
fn puzzles_have_shortest_plans_of_known_length() {
    // The lengths are known from elsewhere: those of toads and frogs and of Hanoi by formulas.
    let known = [
        ("eightPuzzle", 22),
        ("hanoi", 31),
        ("smallSokoban", 12),
        ("threeJugs", 7),
        ("toadsAndFrogs", 15),
        ("wolvesAndGoats", 11),
    ];
    for (name, length) in known {
        let rules = rules(name);
        let game = built(&rules);
        let found = solve(&game, Some("layers"));
        let plan = found.plan.unwrap();
        assert_eq!((plan.goal, plan.moves.len()), (100, length), "{name}");
        assert!(found.is_best && found.is_finished);
        assert_eq!(
            replayed_by_the_prover(&rules, &game, &plan.moves),
            Some(100)
        );
    }
}

#[test]
fn all_solvers_together_reach_the_best_goal() {
    for name in ["eightPuzzle", "hanoi", "knightsTour", "nonogram", "sudoku4"] {
        let rules = rules(name);
        let game = built(&rules);
        let found = solve(&game, None);
        let plan = found.plan.unwrap_or_else(|| panic!("{name} has no plan"));
        assert!(found.is_best, "{name}");
        let goal = replayed_by_the_prover(&rules, &game, &plan.moves);
        assert_eq!(goal, Some(plan.goal), "{name}");
        assert_eq!(plan.goal, 100, "{name}");
    }
}

#[test]
fn constraints_fill_in_a_sudoku() {
    let game = built(&rules("sudoku4"));
    let found = solve(&game, Some("fixing"));
    assert_eq!(found.plan.unwrap().goal, 100);
    assert!(found.n_states < 1_000, "{}", found.n_states);
}

/// The rules of `nonogram` for a random picture.
fn random_nonogram(random: &mut Random) -> Rules {
    const SIZE: usize = 10;
    let text = panza_gdl_games::rulesheet("nonogram").unwrap();
    // The diagonal is painted, so that each line has a block.
    let is_painted = |square| square % (SIZE + 1) == 0 || random.below(10) < 3;
    let picture: Vec<bool> = (0..SIZE * SIZE).map(is_painted).collect();
    let n_painted = picture.iter().filter(|&&painted| painted).count();
    let mut rules: String = text
        .replace("(step 49)", &format!("(step {n_painted})"))
        .lines()
        .filter(|line| !line.starts_with("(block "))
        .flat_map(|line| [line, "\n"])
        .collect();
    for line in 0..2 * SIZE {
        let (kind, number) = (["row", "column"][line / SIZE], line % SIZE);
        let square = |place: usize| match kind {
            "row" => picture[number * SIZE + place],
            _ => picture[place * SIZE + number],
        };
        let squares: Vec<bool> = (0..SIZE).map(square).collect();
        let blocks = squares.split(|&painted| !painted);
        let blocks = blocks.filter(|block| !block.is_empty());
        for (block, squares) in blocks.enumerate() {
            let (number, block, length) = (number + 1, block + 1, squares.len());
            rules.push_str(&format!("(block ({kind} {number}) {block} {length})\n"));
        }
    }
    panza_gdl::load(&rules).0
}

#[test]
fn lines_are_painted_as_their_blocks_say() {
    let game = built(&rules("nonogram"));
    let found = solve(&game, Some("fixing"));
    assert_eq!(found.plan.unwrap().goal, 100);
    assert!(found.n_states < 100, "{}", found.n_states);
    let mut random = Random::new(3);
    for _ in 0..6 {
        let rules = random_nonogram(&mut random);
        let game = built(&rules);
        let found = solve(&game, Some("fixing"));
        let plan = found.plan.unwrap();
        let goal = replayed_by_the_prover(&rules, &game, &plan.moves);
        assert_eq!((plan.goal, goal), (100, Some(100)));
        assert!(found.n_states < 2_000, "{}", found.n_states);
    }
}

/// A walk along four rooms to the right or back, with a lamp in each; at most `steps` moves. The
/// goal counts the lit lamps, and no more than two can be lit in three steps.
const LAMPS: &str = "
    (role r) (init (at 1)) (init (step 0))
    (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4)
    (<= (legal r light) (true (at ?x)) (not (true (lit ?x))))
    (<= (legal r right) (true (at ?x)) (succ ?x ?y))
    (<= (legal r stay))
    (<= (next (at ?y)) (does r right) (true (at ?x)) (succ ?x ?y))
    (<= (next (at ?x)) (true (at ?x)) (not (does r right)))
    (<= (next (lit ?x)) (does r light) (true (at ?x)))
    (<= (next (lit ?x)) (true (lit ?x)))
    (<= (next (step ?b)) (true (step ?a)) (succ ?a ?b))
    (<= terminal (true (step 3)))
    (<= (goal r 100) (true (lit 1)) (true (lit 2)) (true (lit 3)))
    (<= three (true (lit 1)) (true (lit 2)) (true (lit 3)))
    (<= (goal r 60) (true (lit 1)) (true (lit 2)) (not three))
    (<= (goal r 0) (not (true (lit 1))) (not three))
    (<= (goal r 20) (true (lit 1)) (not (true (lit 2))))";

#[test]
fn exhaustion_proves_a_goal_below_the_highest() {
    let (rules, _) = panza_gdl::load(LAMPS);
    let game = built(&rules);
    let found = solve(&game, Some("layers"));
    let plan = found.plan.unwrap();
    assert_eq!(plan.goal, 60);
    assert!(found.is_best);
    assert!(found.bound >= plan.goal);
    for solver in SOLVERS {
        // Rollouts never end by themselves.
        let other = solve_within(&game, Some(solver), Duration::from_millis(300));
        let goal = other.plan.as_ref().map_or(0, |plan| plan.goal);
        assert!(
            goal <= plan.goal,
            "{solver} found a better plan than there is"
        );
    }
}

#[test]
fn games_of_several_roles_have_no_planner() {
    let game = built(&rules("ticTacToe"));
    assert!(PlanningGame::new(&game.machine, None).is_none());
}

#[test]
fn a_plan_that_does_not_end_the_game_is_refused() {
    let game = built(&rules("hanoi"));
    let machine: &Arc<dyn Machine> = &game.machine;
    let start = machine.initial_state();
    assert_eq!(super::Plan::replay(machine, &start, &[]), None);
    let unknown = MoveId::from_index(100_000);
    assert_eq!(super::Plan::replay(machine, &start, &[unknown]), None);
}

/// A random game of five lamps and six moves; a move needs a lamp on or off, and switches two.
pub(super) fn random_game(random: &mut Random) -> String {
    use std::fmt::Write;
    let mut text = String::from(
        "(role r) (init (step 0)) (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5)
         (lamp a) (lamp b) (lamp c) (lamp d) (lamp e)
         (<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
         (<= terminal (true (step 5)))
         (<= (next (on ?l)) (true (on ?l)) (not (out ?l)))
         (legal r wait)\n",
    );
    let mut lamp = || ["a", "b", "c", "d", "e"][random.below(5) as usize];
    for mv in 0..6 {
        let (needed, lit, out) = (lamp(), lamp(), lamp());
        let needs = match mv % 2 {
            0 => format!("(true (on {needed}))"),
            _ => format!("(not (true (on {needed})))"),
        };
        let _ = writeln!(
            text,
            "(<= (legal r (move {mv})) {needs})
             (<= (next (on {lit})) (does r (move {mv})))
             (<= (out {out}) (does r (move {mv})))"
        );
    }
    let (first, second, third) = (lamp(), lamp(), lamp());
    let _ = writeln!(
        text,
        "(<= (out nothing) (does r wait)) (init (on {}))",
        lamp()
    );
    let _ = writeln!(
        text,
        "(<= best (true (on {first})) (true (on {second})) (not (true (on {third}))))
         (<= good (true (on {first})))
         (<= (goal r 100) best)
         (<= (goal r 60) good (not best))
         (<= (goal r 10) (not good) (not best))
         (<= terminal best (true (step 4)))"
    );
    text
}

/// The best goal of all games, by the rules themselves.
fn best_goal(reasoner: &mut dyn Reasoner, state: &[u64]) -> u8 {
    reasoner.set_state(state);
    if reasoner.is_terminal() {
        let mut goals = [None];
        reasoner.goals(&mut goals);
        return goals[0].unwrap_or(0);
    }
    let legal = reasoner.legal_moves(RoleId(0)).to_vec();
    let mut best = 0;
    for mv in legal {
        let mut next = Vec::new();
        reasoner.set_state(state);
        reasoner.next_state(&[mv], &mut next);
        best = best.max(best_goal(reasoner, &next));
    }
    best
}

#[test]
fn in_random_games_proven_plans_are_best_and_bounds_hold() {
    let mut random = Random::new(1);
    for number in 0..30 {
        let text = random_game(&mut random);
        let (rules, faults) = panza_gdl::load(&text);
        assert!(
            faults.iter().all(|fault| fault.severity != Severity::Error),
            "{faults:?}"
        );
        let prover = panza_game::prover(&rules).unwrap().machine;
        let best = best_goal(
            Arc::clone(&prover).reasoner().as_mut(),
            &prover.initial_state(),
        );
        let game = built(&rules);
        let planned = PlanningGame::new(&game.machine, game.network.as_ref()).unwrap();
        for solver in [None, Some("layers"), Some("layers")] {
            let found = solve_planned(&planned, &game, solver, TIME);
            // The last search runs over packed states.
            planned.analysis().packed();
            let plan = found.plan.expect("every game ends");
            assert!(found.is_best, "game {number}");
            assert_eq!(plan.goal, best, "game {number}: {text}");
            assert!(found.bound >= best, "game {number}");
            assert_eq!(
                replayed_by_the_prover(&rules, &game, &plan.moves),
                Some(best)
            );
        }
        for solver in SOLVERS {
            let found = solve_within(&game, Some(solver), Duration::from_millis(5));
            let goal = found.plan.map_or(0, |plan| plan.goal);
            assert!(goal <= best, "game {number}: {solver}");
            assert!(!found.is_best || goal == best, "game {number}: {solver}");
        }
    }
}

#[test]
fn packed_states_step_as_the_states_that_they_stand_for() {
    for name in [
        "eightPuzzle",
        "hanoi",
        "smallSokoban",
        "threeJugs",
        "sudoku4",
    ] {
        let game = built(&rules(name));
        let planned = PlanningGame::new(&game.machine, game.network.as_ref()).unwrap();
        let analysis = planned.analysis();
        let packed_game = analysis.packed().expect(name);
        let mut expanders = [Arc::clone(&game.machine).expander(), packed_game.expander()];
        let mut random = Random::new(1);
        let mut state = game.machine.initial_state();
        for step in 0..200 {
            let packed = packed_game.pack(&state).expect(name);
            let expand =
                |expander: &mut Box<dyn Expander>, state: &[u64], mv: Option<&[MoveId]>| {
                    let step = ExpansionStep {
                        state,
                        joint_move: mv,
                    };
                    let mut positions = PositionBatch::default();
                    expander.expand(&[step], true, &mut positions);
                    positions
                };
            let here = expand(&mut expanders[0], &state, None);
            let packed_here = expand(&mut expanders[1], &packed, None);
            assert_eq!(here.terminal, packed_here.terminal, "{name}, step {step}");
            assert_eq!(here.legal, packed_here.legal, "{name}, step {step}");
            assert_eq!(here.goals, packed_here.goals, "{name}, step {step}");
            if here.terminal[0] || here.legal.is_empty() {
                state = game.machine.initial_state();
                continue;
            }
            let mv = here.legal[random.below(here.legal.len() as u32) as usize];
            let next = expand(&mut expanders[0], &state, Some(&[mv]));
            let packed_next = expand(&mut expanders[1], &packed, Some(&[mv]));
            assert!(!packed_game.overflows(packed_next.state(0)));
            state.clear();
            packed_game.unpack(packed_next.state(0), &mut state);
            assert_eq!(state, next.state(0), "{name}, step {step}");
        }
    }
}

/// Two lamps that random games hardly ever light together, since that takes twelve equal moves.
const SELDOM: &str = "
    (role r) (init (step 0)) (init (up 0))
    (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6) (succ 6 7) (succ 7 8)
    (succ 8 9) (succ 9 10) (succ 10 11) (succ 11 12)
    (legal r a) (legal r b) (legal r c) (legal r d)
    (<= (next (up ?y)) (does r a) (true (up ?x)) (succ ?x ?y))
    (<= (next (up 0)) (not (does r a)))
    (<= (next (up 12)) (true (up 12)))
    (<= (next (lit left)) (true (up 12)))
    (<= (next (lit right)) (true (up 12)))
    (<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
    (<= terminal (true (lit left)))
    (<= terminal (true (step 12)) (not (true (up 11))) (not (true (up 12))))
    (<= (goal r 100) (true (lit left)) (true (lit right)))
    (<= (goal r 0) (not (true (lit left))))";

#[test]
fn states_that_do_not_fit_are_found_all_the_same() {
    let (rules, _) = panza_gdl::load(SELDOM);
    let game = built(&rules);
    let planned = PlanningGame::new(&game.machine, game.network.as_ref()).unwrap();
    // A search starts over packed states where they are known.
    let packed_game = planned.analysis().packed().unwrap();
    let found = solve_planned(&planned, &game, Some("layers"), TIME);
    let plan = found.plan.unwrap();
    assert_eq!(plan.goal, 100);
    let mut reasoner = Arc::clone(&game.machine).reasoner();
    let mut last = Vec::new();
    for mv in plan.moves {
        reasoner.next_state(&[mv], &mut last);
        reasoner.set_state(&last);
    }
    assert_eq!(packed_game.pack(&last), None, "the goal does not fit");
}

/// The task of a game that comes with the program, from its start.
fn task_of(name: &str) -> (BuiltGame, Task) {
    let game = built(&rules(name));
    let planned = PlanningGame::new(&game.machine, game.network.as_ref()).unwrap();
    let task = Task::new(planned.analysis(), game.machine.initial_state());
    (game, task)
}

#[test]
fn the_distance_of_tiles_is_the_sum_of_their_distances() {
    let (game, task) = task_of("eightPuzzle");
    let mut distance = ProjectionDistance::new(&task.projections().expect("groups of tiles"));
    // Where each tile is.
    let board = |state: &[u64]| -> Vec<(i32, i32, String)> {
        let facts = game.info().state_facts(state);
        let cells = facts.iter().filter_map(|fact| {
            let parts: Vec<&str> = fact.trim_matches(['(', ')']).split(' ').collect();
            let [name, x, y, tile] = parts[..] else {
                return None;
            };
            let place = (x.parse().ok()?, y.parse().ok()?);
            (name == "cell" && tile != "blank").then(|| (place.0, place.1, tile.to_string()))
        });
        cells.collect()
    };
    let plan = solve(&game, Some("layers")).plan.unwrap();
    let mut reasoner = Arc::clone(&game.machine).reasoner();
    let mut states = vec![task.start.clone()];
    for mv in plan.moves {
        reasoner.set_state(states.last().unwrap());
        let mut next = Vec::new();
        reasoner.next_state(&[mv], &mut next);
        states.push(next);
    }
    let goal = board(states.last().unwrap());
    assert_eq!(goal.len(), 8);
    for state in &states {
        let moved = board(state).into_iter().map(|(x, y, tile)| {
            let home = goal.iter().find(|(_, _, other)| *other == tile).unwrap();
            (x - home.0).abs() + (y - home.1).abs()
        });
        assert_eq!(distance.of(state), moved.sum::<i32>() as u32);
    }
}

#[test]
fn boxes_have_distances_and_counters_have_none() {
    let (_, task) = task_of("smallSokoban");
    let mut distance = ProjectionDistance::new(&task.projections().expect("boxes"));
    // The boxes at 2 2 and 2 3 belong on 3 3 and 4 3.
    assert_eq!(distance.of(&task.start), 3);
    let (rules, _) = panza_gdl::load(LAMPS);
    let game = built(&rules);
    let planned = PlanningGame::new(&game.machine, game.network.as_ref()).unwrap();
    let task = Task::new(planned.analysis(), game.machine.initial_state());
    assert!(task.projections().is_none());
}
