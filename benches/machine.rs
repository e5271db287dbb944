//! What one step costs on the machine that the player plays with: a transition, the expansion of a node, and a whole
//! playout; and what lanes make of a step of 512 playouts, and of 256 positions.
//!
//! Transitions and expansions go round the states of a few random playouts, so that a figure is a mean over opening,
//! middle and end, and over both phases of games that have them.

use std::hint::black_box;
use std::sync::Arc;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use panza::commands::engine::EngineKind;
use panza::commands::engine_choice::{Built, EngineChoice, build, build_machine};
use panza::commands::game_source::Game;
use panza::ids::{Id, MoveId, RoleId};
use panza::machine::random::Random;
use panza::machine::{Machine, Positions, Reasoner, Step, Tally};

/// A tiny game, two of moderate size, and two larger ones.
const GAMES: [&str; 5] = [
    "ticTacToe",
    "connectFour",
    "breakthrough",
    "checkers",
    "reversi",
];
/// States to go round.
const STATES: usize = 256;
/// Joint moves tried of a node: as many as a search grows in its first visits.
const CHILDREN: usize = 16;
/// A playout that has made this many joint moves is cut off.
const MAX_STEPS: u32 = 10_000;

/// A state that is not terminal, and a random joint move there.
struct Place {
    state: Vec<u64>,
    joint_move: Vec<MoveId>,
}

/// The first states of random playouts that are not terminal.
fn places(machine: &dyn Machine, reasoner: &mut dyn Reasoner) -> Vec<Place> {
    let mut random = Random::new(1);
    let mut places = Vec::with_capacity(STATES);
    let mut state = machine.initial_state();
    while places.len() < STATES {
        reasoner.set_state(&state);
        if reasoner.is_terminal() {
            state = machine.initial_state();
            continue;
        }
        let joint_move: Vec<MoveId> = (0..machine.n_roles())
            .map(|role| {
                let legal = reasoner.legal_moves(RoleId::from_index(role));
                legal[random.below(legal.len() as u32) as usize]
            })
            .collect();
        let mut next = Vec::new();
        reasoner.next_state(&joint_move, &mut next);
        places.push(Place { state, joint_move });
        state = next;
    }
    places
}

/// What growing a node asks of the machine.
struct Expansion {
    legal: Vec<Vec<MoveId>>,
    joint_move: Vec<MoveId>,
    child: Vec<u64>,
    goals: Vec<Option<u8>>,
}

impl Expansion {
    fn new(n_roles: usize) -> Self {
        Self {
            legal: vec![Vec::new(); n_roles],
            joint_move: Vec::new(),
            child: Vec::new(),
            goals: vec![None; n_roles],
        }
    }

    /// Legal moves of each role, and of up to [`CHILDREN`] children the state, whether it is terminal, and then its
    /// goals. The n-th child takes each role's n-th move, going round, so that roles that wait cost no children.
    fn expand(&mut self, reasoner: &mut dyn Reasoner, state: &[u64]) -> usize {
        reasoner.set_state(state);
        for (role, legal) in self.legal.iter_mut().enumerate() {
            legal.clear();
            legal.extend_from_slice(reasoner.legal_moves(RoleId::from_index(role)));
        }
        let most = self.legal.iter().map(Vec::len).max().unwrap_or(0);
        let mut terminal = 0;
        for child in 0..most.min(CHILDREN) {
            self.joint_move.clear();
            let moves = self.legal.iter().map(|legal| legal[child % legal.len()]);
            self.joint_move.extend(moves);
            reasoner.set_state(state);
            reasoner.next_state(&self.joint_move, &mut self.child);
            reasoner.set_state(&self.child);
            if reasoner.is_terminal() {
                reasoner.goals(&mut self.goals);
                terminal += 1;
            }
        }
        terminal
    }
}

/// Benches one thing on every game: `make` is handed the machine and gives what is to be timed.
fn on_each_game<F: FnMut()>(
    criterion: &mut Criterion,
    name: &str,
    make: impl Fn(Arc<dyn Machine>) -> F,
) {
    let machine = |game: &Game| build_machine(&game.rules).expect("the game has a network");
    on_each_machine(criterion, name, 1, machine, make);
}

/// The same for lanes, so many at a time.
fn by_lanes_on_each_game<F: FnMut()>(
    criterion: &mut Criterion,
    name: &str,
    at_once: u64,
    make: impl Fn(Arc<dyn Machine>) -> F,
) {
    let machine = |game: &Game| {
        let built = build(&game.rules, EngineChoice::Only(EngineKind::Lanes));
        match built.expect("the game has lanes") {
            Built::Machine(machine) => machine,
            Built::Prover(_) => unreachable!("lanes were asked for"),
        }
    };
    on_each_machine(criterion, name, at_once, machine, make);
}

fn on_each_machine<F: FnMut()>(
    criterion: &mut Criterion,
    name: &str,
    at_once: u64,
    machine: impl Fn(&Game) -> Arc<dyn Machine>,
    make: impl Fn(Arc<dyn Machine>) -> F,
) {
    let mut group: BenchmarkGroup<'_, WallTime> = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(at_once));
    for name in GAMES {
        let game = Game::load(name).expect("the game can be played");
        let machine = machine(&game);
        let mut timed = make(machine);
        group.bench_function(name, |bencher| bencher.iter(&mut timed));
    }
    group.finish();
}

fn transitions(criterion: &mut Criterion) {
    on_each_game(criterion, "transition", |machine| {
        let mut reasoner = Arc::clone(&machine).reasoner();
        let places = places(machine.as_ref(), reasoner.as_mut());
        let mut index = 0;
        let mut next = Vec::new();
        move || {
            let place = &places[index];
            index = (index + 1) % places.len();
            reasoner.set_state(&place.state);
            reasoner.next_state(&place.joint_move, &mut next);
            black_box(&next);
        }
    });
}

fn expansions(criterion: &mut Criterion) {
    on_each_game(criterion, "expansion", |machine| {
        let mut reasoner = Arc::clone(&machine).reasoner();
        let places = places(machine.as_ref(), reasoner.as_mut());
        let mut expansion = Expansion::new(machine.n_roles());
        let mut index = 0;
        move || {
            let place = &places[index];
            index = (index + 1) % places.len();
            black_box(expansion.expand(reasoner.as_mut(), &place.state));
        }
    });
}

fn playouts(criterion: &mut Criterion) {
    on_each_game(criterion, "playout", |machine| {
        let mut reasoner = Arc::clone(&machine).reasoner();
        let initial = machine.initial_state();
        let mut random = Random::new(1);
        let mut goals = vec![0; machine.n_roles()];
        move || {
            reasoner.set_state(&initial);
            black_box(reasoner.playout(&mut random, MAX_STEPS, &mut goals));
        }
    });
}

/// A step of all lanes of a gang, their refilling and goals included: 512 joint moves.
fn passes(criterion: &mut Criterion) {
    by_lanes_on_each_game(criterion, "pass", 512, |machine| {
        let mut random = Random::new(1);
        let playouts = Arc::clone(&machine).playouts(&mut random, MAX_STEPS);
        let mut gang = playouts.expect("the game has lanes");
        let initial = machine.initial_state();
        let mut tally = Tally::default();
        move || {
            while gang.n_wanted() < 2 * gang.width() as u64 {
                gang.submit(&initial, 512).expect("the start is in a phase");
            }
            gang.advance();
            while gang.take_done(&mut tally).is_some() {}
        }
    });
}

/// The states after 256 joint moves and all that is asked of them, in one go.
fn expansions_abreast(criterion: &mut Criterion) {
    by_lanes_on_each_game(criterion, "expansion abreast", STATES as u64, |machine| {
        let mut reasoner = Arc::clone(&machine).reasoner();
        let places = places(machine.as_ref(), reasoner.as_mut());
        let mut expander = Arc::clone(&machine).expander();
        let mut positions = Positions::default();
        move || {
            let steps: Vec<Step<'_>> = places
                .iter()
                .map(|place| Step {
                    state: &place.state,
                    joint_move: Some(&place.joint_move),
                })
                .collect();
            expander.expand(&steps, true, &mut positions);
            black_box(&positions);
        }
    });
}

criterion_group!(
    benches,
    transitions,
    expansions,
    playouts,
    passes,
    expansions_abreast
);
criterion_main!(benches);
