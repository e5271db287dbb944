//! Lanes in a WebAssembly host: `wasm/tests/lanes.test.mjs` calls these functions.
//!
//! Modules and tables play a game with equal seeds. Their totals of playouts must be equal.

use std::sync::Arc;

use panza_gdl::MoveId;
use panza_machine::lanes::compile::{GangPrograms, PlayoutPolicy, compile, compile_expander};
use panza_machine::lanes::expand::GoalScope;
use panza_machine::lanes::interpret::Features;
use panza_machine::{
    CounterLayout, CounterMachine, ExpanderLayout, ExpansionStep, GangLayout, Machine,
    PlayoutTotals, PositionBatch,
};
use panza_propnet::Network;
use panza_sync::{Budget, Random};

/// The games by number.
const GAMES: [&str; 4] = ["ticTacToe", "connectFour", "breakthrough", "hex"];
/// Steps of all lanes.
const STEPS: usize = 300;
/// A playout is cut off after this many joint moves.
const MAX_STEPS: u32 = 1_000;

/// How many games there are.
#[unsafe(no_mangle)]
pub extern "C" fn n_games() -> usize {
    GAMES.len()
}

/// Whether modules are used at all.
#[unsafe(no_mangle)]
pub extern "C" fn has_modules() -> bool {
    Features::detect() == Features::Simd128
}

/// Whether modules and tables give equal results of a game, with vectors of `n_words` words.
#[unsafe(no_mangle)]
pub extern "C" fn is_same(game: usize, n_words: usize) -> bool {
    let budget = Budget::generous();
    let Some(rules) = panza_gdl_games::rulesheet(GAMES[game]) else {
        return false;
    };
    let (rules, _) = panza_gdl::load(rules);
    let Ok(program) = panza_ground::ground(&rules, &budget) else {
        return false;
    };
    let Ok(network) = panza_propnet::build(&program, &budget) else {
        return false;
    };
    let network = panza_propnet::passes::optimise(network, &budget);
    let counter = CounterMachine::new(CounterLayout::compile(&network));
    let initial = counter.initial_state();
    let Some(programs) = compile(&network, None, 30.0, PlayoutPolicy::Decisive, &budget) else {
        return false;
    };
    let n_roles = network.roles.len();
    let totals = |features| totals(&programs, n_roles, &initial, features, n_words);
    let expanded = |features| expanded(&network, &initial, features, n_words);
    totals(Features::Portable) == totals(Features::detect())
        && expanded(Features::Portable) == expanded(Features::detect())
}

/// Playouts, their joint moves and their goals.
fn totals(
    programs: &GangPrograms,
    n_roles: usize,
    initial: &[u64],
    features: Features,
    n_words: usize,
) -> Vec<u64> {
    let layout = Arc::new(GangLayout::new(programs, n_roles, features, n_words));
    let mut gang = layout.gang(&mut Random::new(1), MAX_STEPS);
    let mut tally = PlayoutTotals::default();
    let mut totals = Vec::new();
    for _ in 0..STEPS {
        while gang.n_outstanding() < 2 * gang.width() as u64 {
            let submitted = gang.submit(initial, gang.width() as u32);
            submitted.expect("the state has a phase");
        }
        gang.advance();
        while gang.take_finished(&mut tally).is_some() {
            totals.extend([u64::from(tally.playouts), tally.steps]);
            totals.extend(&tally.totals);
        }
    }
    totals
}

/// The initial position and its legal moves.
fn expanded(
    network: &Network,
    initial: &[u64],
    features: Features,
    n_words: usize,
) -> Option<(Vec<u64>, Vec<MoveId>)> {
    let layout = ExpanderLayout::new(compile_expander(network)?, features, n_words);
    let mut expander = Arc::new(layout).expander(GoalScope::All);
    let mut positions = PositionBatch::default();
    let step = ExpansionStep {
        state: initial,
        joint_move: None,
    };
    expander.expand(&[step], true, &mut positions);
    Some((positions.states, positions.legal))
}
