//! Expanders held to the counter engine on random walks through all of the project's games.

use std::time::Duration;

use super::*;
use crate::compile::CounterLayout;
use crate::counter::CounterMachine;
use crate::lanes::compile::{PlayoutPolicy, compile, compile_expander};
use crate::lanes::gang;
use crate::lanes::machine::{GUESSED_MIN_BATCH, LanesExpansion, LanesMachine};
use crate::{Machine, NO_GOAL, NO_MOVE, Reasoner, SequentialStepper, StateRows, Stepper};
use panza_propnet::{Network, passes};
use panza_sync::Random;

/// The network of some rules, with the passes as usual.
fn network(rules: &str) -> Network {
    let (rules, _) = panza_gdl::load(rules);
    let budget = panza_sync::Budget::generous();
    let program = panza_ground::ground(&rules, &budget).unwrap();
    passes::optimise(panza_propnet::build(&program, &budget).unwrap(), &budget)
}

/// A position and what is asked of it.
#[derive(Debug)]
struct Asked {
    state: Vec<u64>,
    joint_move: Option<Vec<MoveId>>,
}

/// Walks through a game on the counter engine, and what it says.
struct Walker {
    machine: Arc<CounterMachine>,
    reasoner: Box<dyn Reasoner>,
    /// Every move of each role.
    moves: Vec<Vec<MoveId>>,
    random: Random,
    state: Vec<u64>,
}

impl Walker {
    fn new(network: &Network) -> Self {
        let machine = Arc::new(CounterMachine::new(CounterLayout::compile(network)));
        let moves = network.roles.ids().map(|role| {
            let moves = network.moves.ids();
            moves.filter(|&mv| network.moves[mv].0 == role).collect()
        });
        Self {
            reasoner: Arc::clone(&machine).reasoner(),
            moves: moves.collect(),
            random: Random::new(1),
            state: machine.initial_state(),
            machine,
        }
    }

    /// As [`ask`](Self::ask) at this state.
    fn ask_at(&mut self, state: &[u64]) -> Asked {
        self.state.clear();
        self.state.extend_from_slice(state);
        self.ask()
    }

    /// The next state of the walk, with a joint move or without, seldom with one that is not legal.
    fn ask(&mut self) -> Asked {
        self.reasoner.set_state(&self.state);
        let state = self.state.clone();
        let legal: Vec<Vec<MoveId>> = (0..self.machine.info().n_roles())
            .map(|role| {
                let legal = self.reasoner.legal_moves(RoleId::from_index(role));
                legal.to_vec()
            })
            .collect();
        if self.reasoner.is_terminal() || legal.iter().any(Vec::is_empty) {
            self.state = self.machine.initial_state();
            return Asked {
                state,
                joint_move: None,
            };
        }
        let mut joint_move: Vec<MoveId> = legal
            .iter()
            .map(|legal| legal[self.random.below(legal.len() as u32) as usize])
            .collect();
        self.reasoner.next_state(&joint_move, &mut self.state);
        match self.random.below(16) {
            0..6 => Asked {
                state,
                joint_move: None,
            },
            6 => {
                // Any moves of their roles.
                for (mv, moves) in joint_move.iter_mut().zip(&self.moves) {
                    *mv = moves[self.random.below(moves.len() as u32) as usize];
                }
                Asked {
                    state,
                    joint_move: Some(joint_move),
                }
            }
            _ => Asked {
                state,
                joint_move: Some(joint_move),
            },
        }
    }

    /// What the counter engine says of all that is asked, in the form of an expander.
    fn answers(&mut self, asked: &[Asked], with_legal: bool) -> PositionBatch {
        let mut positions = PositionBatch::default();
        positions.clear(self.machine.info().n_roles());
        for one in asked {
            self.reasoner.set_state(&one.state);
            let mut state = one.state.clone();
            if let Some(joint_move) = &one.joint_move {
                self.reasoner.next_state(joint_move, &mut state);
                self.reasoner.set_state(&state);
            }
            positions.states.extend(state);
            positions.state_ends.push(positions.states.len() as u32);
            let is_terminal = self.reasoner.is_terminal();
            positions.terminal.push(is_terminal);
            let n_roles = self.machine.info().n_roles();
            let mut goals = vec![None; n_roles];
            if is_terminal {
                self.reasoner.goals(&mut goals);
            }
            positions.goals.extend(goals);
            let roles = if with_legal { n_roles } else { 0 };
            for role in 0..roles {
                let start = positions.legal.len();
                let legal = self.reasoner.legal_moves(RoleId::from_index(role));
                positions.legal.extend_from_slice(legal);
                positions.legal[start..].sort_unstable();
                positions.legal_ends.push(positions.legal.len() as u32);
            }
        }
        positions
    }
}

fn steps(asked: &[Asked]) -> Vec<ExpansionStep<'_>> {
    let steps = asked
        .iter()
        .map(|Asked { state, joint_move }| ExpansionStep {
            state,
            joint_move: joint_move.as_deref(),
        });
    steps.collect()
}

fn layouts(network: &Network) -> Vec<Arc<ExpanderLayout>> {
    let programs = compile_expander(network).unwrap();
    let mut layouts = Vec::new();
    let best = Features::detect();
    let mut tried = vec![Features::Portable, Features::Avx2.min(best), best];
    tried.dedup();
    for features in tried {
        for n_words in [4, 8] {
            layouts.push(Arc::new(ExpanderLayout::new(
                programs.clone(),
                features,
                n_words,
            )));
        }
    }
    layouts
}

/// The machine that a game is played with, where lanes are taken for 5 positions, or for 70 with
/// their legal moves.
fn for_play(network: &Network, counter: &Arc<CounterMachine>) -> Arc<LanesMachine> {
    let features = Features::detect();
    let gangs = compile(
        network,
        None,
        10.0,
        PlayoutPolicy::Uniform,
        &panza_sync::Budget::generous(),
    )
    .unwrap();
    let gangs = gang::GangLayout::new(&gangs, network.roles.len(), features, 4);
    let layout = ExpanderLayout::new(compile_expander(network).unwrap(), features, 4);
    let time = Duration::from_millis(5);
    let mut expansion = LanesExpansion::measured(counter, Arc::new(layout), time);
    expansion.min_batch = [5, 70];
    let machine = LanesMachine::for_play(Arc::clone(counter), Arc::new(gangs), Some(expansion));
    Arc::new(machine)
}

#[test]
#[cfg_attr(miri, ignore = "it measures time")]
fn lanes_are_found_to_be_faster_where_the_counters_have_much_to_do() {
    // Much follows from each move, and all of it is asked for.
    let mut rules = String::from(
        "(role r) (<= (base (on ?x)) (size ?x)) (<= (input r (turn ?x)) (size ?x)) (init (on 0))
         (<= (legal r (turn ?x)) (size ?x) (true (on ?y)) (distinct ?x ?y)) (<= terminal (true (on 0)) (true (on 1)) (true (on 2)))
         (<= (next (on ?x)) (does r (turn ?y)) (true (on ?x)) (true (on ?z)) (distinct ?y ?z))
         (<= (next (on ?x)) (does r (turn ?x))) (goal r 50)",
    );
    for number in 0..40 {
        rules.push_str(&format!(" (size {number})"));
    }
    let network = network(&rules);
    let counter = Arc::new(CounterMachine::new(CounterLayout::compile(&network)));
    let layout = ExpanderLayout::new(compile_expander(&network).unwrap(), Features::detect(), 4);
    let time = Duration::from_secs(60);
    let layout = Arc::new(layout);
    let found = LanesExpansion::measured(&counter, Arc::clone(&layout), time);
    assert!(
        found.min_batch.iter().all(|&fewest| fewest <= 256),
        "{found:?}"
    );
    let without_time = LanesExpansion::measured(&counter, layout, Duration::ZERO);
    assert_eq!(without_time.min_batch, [GUESSED_MIN_BATCH; 2]);
}

/// Holds a stepper to what the counter engine says of all that is asked.
fn compare_rows(
    place: impl Fn() -> String,
    stepper: &mut dyn Stepper,
    asked: &[Asked],
    expected: &PositionBatch,
) {
    let sizes = stepper.sizes();
    let (n, n_roles) = (asked.len(), sizes.n_roles);
    let joint_moves: Vec<MoveId> = asked
        .iter()
        .flat_map(|one| one.joint_move.clone().unwrap_or(vec![NO_MOVE; n_roles]))
        .collect();
    let mut states: Vec<u64> = asked.iter().flat_map(|one| one.state.clone()).collect();
    let mut legal = vec![u64::MAX; n * sizes.legal_words];
    let (mut terminal, mut goals) = (vec![false; n], vec![7; n * n_roles]);
    let rows = StateRows {
        states: &mut states,
        legal: &mut legal,
        terminal: &mut terminal,
        goals: &mut goals,
    };
    stepper.step(&joint_moves, rows);
    assert_eq!(terminal, expected.terminal, "{}", place());
    let expected_goals = expected.goals.iter().map(|goal| goal.unwrap_or(NO_GOAL));
    assert_eq!(goals, expected_goals.collect::<Vec<_>>(), "{}", place());
    for (index, asked) in asked.iter().enumerate() {
        let row =
            |all: &[u64], n_words: usize| all[index * n_words..(index + 1) * n_words].to_vec();
        let state = row(&states, sizes.state_words);
        assert_eq!(
            state,
            expected.state(index),
            "{}, number {index}: {asked:?}",
            place()
        );
        let mut bits = vec![0; sizes.legal_words];
        for role in (0..n_roles).map(RoleId::from_index) {
            for mv in expected.legal(index, role) {
                bits[mv.index() / 64] |= 1 << (mv.index() % 64);
            }
        }
        let legal = row(&legal, sizes.legal_words);
        assert_eq!(legal, bits, "{}, number {index}: {asked:?}", place());
    }
}

/// The steppers of a game: both widths, with and without what the processor has, and one by one.
fn steppers(network: &Network, counter: &Arc<CounterMachine>) -> Vec<Box<dyn Stepper>> {
    let layouts = layouts(network);
    let sizes = layouts[0].row_sizes();
    let reasoner = Arc::clone(counter).reasoner();
    let lanes = layouts.iter().map(|layout| layout.stepper());
    let sequential: Box<dyn Stepper> = Box::new(SequentialStepper::new(sizes, reasoner));
    lanes.chain([sequential]).collect()
}

/// Holds expanders of both widths, with and without what the processor has, the one of a reasoner
/// and the one for play, and the steppers, to the counter engine.
fn compare(name: &str, rules: &str, sizes: &[usize]) {
    let network = network(rules);
    let mut walker = Walker::new(&network);
    let mut expanders: Vec<Box<dyn Expander>> = layouts(&network)
        .iter()
        .map(|layout| layout.expander(GoalScope::Terminal))
        .chain([
            Arc::clone(&walker.machine).expander(),
            for_play(&network, &walker.machine).expander(),
        ])
        .collect();
    let mut steppers = steppers(&network, &walker.machine);
    let mut found = PositionBatch::default();
    for &size in sizes {
        let asked: Vec<Asked> = (0..size).map(|_| walker.ask()).collect();
        let expected = walker.answers(&asked, true);
        for (index, stepper) in steppers.iter_mut().enumerate() {
            let place = || format!("{name}: {size} steps, stepper {index}");
            compare_rows(place, stepper.as_mut(), &asked, &expected);
        }
        for with_legal in [false, true] {
            let expected = walker.answers(&asked, with_legal);
            for (index, expander) in expanders.iter_mut().enumerate() {
                expander.expand(&steps(&asked), with_legal, &mut found);
                let place =
                    || format!("{name}: {size} steps, legal {with_legal}, expander {index}");
                check(place, &asked, &found, &expected);
            }
        }
        let parent = walker.state.clone();
        let family: Vec<Asked> = (0..size).map(|_| walker.ask_at(&parent)).collect();
        let expected = walker.answers(&family, true);
        let mut steps = steps(&family);
        steps.iter_mut().for_each(|step| step.state = &parent);
        for (index, expander) in expanders.iter_mut().enumerate() {
            expander.expand(&steps, true, &mut found);
            let place = || format!("{name}: a family of {size}, expander {index}");
            check(place, &family, &found, &expected);
        }
    }
}

/// Names the first position that is not what it should be.
fn check(
    place: impl Fn() -> String,
    asked: &[Asked],
    found: &PositionBatch,
    expected: &PositionBatch,
) {
    if found == expected {
        return;
    }
    for (index, asked) in asked.iter().enumerate() {
        let of_position = |positions: &PositionBatch| {
            let roles = (0..positions.n_roles).map(RoleId::from_index);
            (
                positions.state(index).to_vec(),
                positions.terminal[index],
                positions.goals(index).to_vec(),
                roles
                    .map(|role| positions.legal(index, role).to_vec())
                    .collect::<Vec<_>>(),
            )
        };
        let (found, expected) = (of_position(found), of_position(expected));
        assert_eq!(found, expected, "{}, number {index}: {asked:?}", place());
    }
    panic!("{}: the answers are split in another way", place());
}

#[test]
#[cfg_attr(miri, ignore = "too many gates for it")]
fn positions_are_what_the_counter_engine_says_on_every_game() {
    let sizes = [1, 0, 3, 7, 8, 9, 64, 65, 200, 257, 512, 600, 2];
    for (name, rules) in panza_gdl_games::EMBEDDED {
        compare(name, rules, &sizes);
    }
}

/// Reachability over edges that come and go, asked by a move, by legality and by goals, one of them
/// 0 and one without a value.
const RECURSIVE: &str = "
    (role walker) (role other)
    (node a) (node b) (node c) (node d)
    (init (open a b)) (init (open c d))
    (<= (legal walker (turn ?x ?y)) (node ?x) (node ?y) (distinct ?x ?y))
    (<= (legal walker (jump ?x)) (reach a ?x))
    (legal other (wait a)) (<= (legal other (wait ?x)) (reach ?x a))
    (<= (next (open ?x ?y)) (does walker (turn ?x ?y)) (not (true (open ?x ?y))))
    (<= (next (open ?x ?y)) (true (open ?x ?y)) (not (does walker (turn ?x ?y))))
    (<= (reach ?x ?y) (true (open ?x ?y)))
    (<= (reach ?x ?z) (reach ?x ?y) (reach ?y ?z))
    (<= (told ?x) (does walker (jump ?x)))
    (<= (told ?y) (told ?x) (true (open ?x ?y)))
    (<= (next (heard ?x)) (told ?x))
    (<= terminal (reach a d) (reach d a))
    (<= (goal walker 100) (reach a d)) (<= (goal walker 40) (reach a c)) (<= (goal walker 0) (not (reach a b)))
    (<= (goal other 0) (true (heard b)))";

#[test]
fn recursion_comes_to_rest_in_every_lane() {
    assert!(!network(RECURSIVE).blocks.is_empty());
    compare("recursion", RECURSIVE, &[1, 700, 63, 300]);
}

/// The rules of `n` atoms of one stratum: each has up to three, of facts that the walker turns on
/// and off, of atoms of the same stratum, and of atoms below, inverted or not.
fn random_stratum(random: &mut Random, n: u32, name: &str, below: Option<&str>) -> String {
    let mut rules = String::new();
    for atom in 0..n {
        for _ in 0..1 + random.below(3) {
            let mut body = String::new();
            for _ in 0..random.below(3) {
                body += &format!(" ({name} {})", random.below(n));
            }
            for _ in 0..1 + random.below(2) {
                let literal = match below {
                    Some(below) if random.below(2) == 0 => format!("({below} {})", random.below(n)),
                    _ => format!("(true (open {}))", random.below(N_OPEN)),
                };
                body += &match random.below(3) {
                    0 => format!(" (not {literal})"),
                    _ => format!(" {literal}"),
                };
            }
            rules += &format!("(<= ({name} {atom}){body})\n");
        }
    }
    rules
}

/// The facts that the walker turns on and off.
const N_OPEN: u32 = 8;

/// A game with recursion in two strata, one upon the other.
fn random_recursion(random: &mut Random, n: u32) -> String {
    let mut rules = "(role walker) (role other) (legal other wait)
        (<= (legal walker (turn ?x)) (index ?x))
        (<= (next (open ?x)) (does walker (turn ?x)) (not (true (open ?x))))
        (<= (next (open ?x)) (true (open ?x)) (not (does walker (turn ?x))))
        (<= (next (seen ?x)) (high ?x))
        (<= (legal other (say ?x)) (high ?x))
        (<= terminal (high 0) (low 1))
        (<= (goal walker 100) (high 1)) (<= (goal walker 0) (not (high 1)))
        (<= (goal other 50) (low 2))\n"
        .to_string();
    for open in 0..N_OPEN {
        rules += &format!("(index {open})");
    }
    rules += &random_stratum(random, n, "low", None);
    rules += &random_stratum(random, n, "high", Some("low"));
    rules
}

#[test]
fn random_recursion_comes_to_the_counters_fixpoint() {
    let mut random = Random::new(1);
    let mut n_blocks = 0;
    let n_games = if cfg!(miri) { 1 } else { 60 };
    for game in 0..n_games {
        let size = 4 + random.below(24);
        let rules = random_recursion(&mut random, size);
        n_blocks += network(&rules).blocks.len();
        let sizes: &[usize] = if cfg!(miri) { &[9] } else { &[9, 600, 70] };
        compare(&format!("recursion {game}: {rules}"), &rules, sizes);
    }
    assert!(cfg!(miri) || n_blocks > 60, "only {n_blocks} blocks");
}

/// A ring of gates with one user each, deeper than trees may be, and a ring that nothing starts.
#[test]
#[cfg_attr(miri, ignore = "too many gates for it")]
fn long_rings_come_to_rest() {
    let n = 150;
    let mut rules = "(role walker) (<= (legal walker (turn ?x)) (succ ?x ?y))
        (<= (next (open ?x)) (does walker (turn ?x)) (not (true (open ?x))))
        (<= (next (open ?x)) (true (open ?x)) (not (does walker (turn ?x))))
        (<= (init (open ?x)) (succ ?x ?y) (distinct ?x 0))
        (<= (wet ?y) (wet ?x) (succ ?x ?y) (true (open ?x)))
        (<= (wet 0) (true (open 0)) (true (open 1)))
        (<= (idle ?y) (idle ?x) (succ ?x ?y) (true (open ?x)))
        (<= (next (was ?x)) (wet ?x))
        (<= (next (never ?x)) (idle ?x))
        (<= terminal (not (true (open 77)))) (<= (goal walker 100) (wet 140))"
        .to_string();
    for index in 0..n {
        rules += &format!("(succ {index} {})", (index + 1) % n);
    }
    assert!(!network(&rules).blocks.is_empty());
    compare("rings", &rules, &[1, 600, 70]);
}

#[test]
fn what_never_changes_is_told_too() {
    // Constant outputs, a move that nothing hangs on, a role without moves, a role without goals.
    for rules in [
        "(role r) (role s) (init p) (legal r go) (legal r stay) (next p) (<= (next q) (does r go)) (goal r 50)
         (<= terminal (true q))",
        "(role r) (legal r go) (init p) (next q) (goal r 0) (<= terminal (true r))",
    ] {
        compare(rules, rules, &[1, 5, 70]);
    }
}

#[test]
fn nothing_that_callers_give_goes_astray() {
    let rules = "(role r) (role s) (init (at 0)) (succ 0 1) (succ 1 2) (legal r go) (<= (legal r stay) (true (at 1)))
        (legal s go) (<= (next (at ?y)) (true (at ?x)) (succ ?x ?y) (does r go))
        (<= (next (at ?x)) (true (at ?x)) (does r stay)) (<= terminal (true (at 2))) (<= (goal r 90) (true (at 2)))";
    let network = network(rules);
    let initial = CounterMachine::new(CounterLayout::compile(&network)).initial_state();
    for layout in layouts(&network) {
        let mut expander = layout.expander(GoalScope::Terminal);
        let mut look = |state: &[u64], joint_move: Option<&[MoveId]>| {
            let mut positions = PositionBatch::default();
            expander.expand(&[ExpansionStep { state, joint_move }], true, &mut positions);
            assert_eq!(positions.states.len(), layout.state_words());
            positions
        };
        let empty = look(&[0], None);
        assert_eq!(look(&[], None), empty);
        // Without moves of their roles, or with none that there are, nothing follows.
        assert_eq!(look(&initial, Some(&[])).states, [0]);
        let none = [MoveId(u32::MAX), MoveId(1000)];
        assert_eq!(look(&initial, Some(&none)).states, [0]);
        let wide = [initial[0] | u64::MAX << 60, u64::MAX, 7];
        assert_eq!(look(&wide, None), look(&initial, None));
    }
}
