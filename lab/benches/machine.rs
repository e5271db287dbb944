//! What one step costs on the machine that the player plays with: a transition, the expansion of a
//! node, and a whole playout; what lanes make of a step of 512 playouts; what a position costs when
//! many are looked at in one go; and what the prospects of 64 positions cost.
//!
//! Transitions and expansions go round the states of a few random playouts, so that a figure is a
//! mean over opening, middle and end, and over both phases of games that have them.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use panza_analysis::Prospects;
use panza_analysis::prospects::WIDTH;
use panza_cli::engine_choice::{Built, build, build_faster, build_machine};
use panza_cli::{EngineChoice, EngineKind, Game};
use panza_game::PlayoutPolicy;
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{ExpansionStep, Machine, PlayoutTotals, PositionBatch, Reasoner};
use panza_sync::{Budget, Random};

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
struct Sample {
    state: Vec<u64>,
    joint_move: Vec<MoveId>,
}

/// The first states of random playouts that are not terminal.
fn places(machine: &dyn Machine, reasoner: &mut dyn Reasoner) -> Vec<Sample> {
    let mut random = Random::new(1);
    let mut places = Vec::with_capacity(STATES);
    let mut state = machine.initial_state();
    while places.len() < STATES {
        reasoner.set_state(&state);
        if reasoner.is_terminal() {
            state = machine.initial_state();
            continue;
        }
        let joint_move: Vec<MoveId> = (0..machine.info().n_roles())
            .map(|role| {
                let legal = reasoner.legal_moves(RoleId::from_index(role));
                legal[random.below(legal.len() as u32) as usize]
            })
            .collect();
        let mut next = Vec::new();
        reasoner.next_state(&joint_move, &mut next);
        places.push(Sample { state, joint_move });
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

    /// Legal moves of each role, and of up to [`CHILDREN`] children the state, whether it is
    /// terminal, and then its goals. The n-th child takes each role's n-th move, going round, so
    /// that roles that wait cost no children.
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
        let mut expansion = Expansion::new(machine.info().n_roles());
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
        let mut goals = vec![0; machine.info().n_roles()];
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
        let mut tally = PlayoutTotals::default();
        move || {
            while gang.n_outstanding() < 2 * gang.width() as u64 {
                gang.submit(&initial, 512).expect("the start is in a phase");
            }
            gang.advance();
            while gang.take_finished(&mut tally).is_some() {}
        }
    });
}

/// How many positions are looked at in one go.
const BATCHES: [usize; 3] = [8, 64, 512];

/// Steps to look at: one from each of many states, with all that is asked of a new leaf, or all
/// from each of a few states, of which legal moves are not asked.
#[derive(Clone, Copy)]
enum Looking {
    Leaves,
    Children,
}

/// Batches of steps to go round, `n` in each.
fn batches(machine: &Arc<dyn Machine>, looking: Looking, n: usize) -> Vec<Vec<Sample>> {
    let mut reasoner = Arc::clone(machine).reasoner();
    let places = places(machine.as_ref(), reasoner.as_mut());
    let mut steps = Vec::new();
    // Strides without a common divisor with their number: states of one batch are of many playouts.
    for index in 0.. {
        let Sample { state, joint_move } = &places[index * 37 % places.len()];
        match looking {
            Looking::Leaves => steps.push(Sample {
                state: state.clone(),
                joint_move: joint_move.clone(),
            }),
            Looking::Children => {
                reasoner.set_state(state);
                let legal: Vec<Vec<MoveId>> = (0..machine.info().n_roles())
                    .map(|role| reasoner.legal_moves(RoleId::from_index(role)).to_vec())
                    .collect();
                let most = legal.iter().map(Vec::len).max().unwrap_or(0);
                steps.extend((0..most).map(|child| {
                    Sample {
                        state: state.clone(),
                        joint_move: legal
                            .iter()
                            .map(|moves| moves[child % moves.len()])
                            .collect(),
                    }
                }));
            }
        }
        if steps.len() >= (8 * n).max(512) {
            break;
        }
    }
    let mut batches = Vec::new();
    while steps.len() >= n {
        batches.push(steps.drain(..n).collect());
    }
    batches
}

/// The time that this thread has worked: what else the processor is busy with does not count.
struct WorkTime(WallTime);

impl Measurement for WorkTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }

    fn end(&self, start: Duration) -> Duration {
        self.start() - start
    }

    fn add(&self, left: &Duration, right: &Duration) -> Duration {
        self.0.add(left, right)
    }

    fn zero(&self) -> Duration {
        self.0.zero()
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        self.0.to_f64(value)
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        self.0.formatter()
    }
}

/// What it costs to look at positions in one go, as the player does it and one by one. A figure is
/// of one batch.
fn looks(criterion: &mut Criterion<WorkTime>) {
    for name in GAMES.iter().chain(&["hex"]) {
        let game = Game::load(name).expect("the game can be played");
        let lanes =
            build_faster(&game.rules, PlayoutPolicy::Uniform).expect("the game has a network");
        let counter = build_machine(&game.rules).expect("the game has a network");
        for (what, looking, with_legal) in [
            ("leaves", Looking::Leaves, true),
            ("children", Looking::Children, false),
        ] {
            let mut group = criterion.benchmark_group(format!("look/{what}/{name}"));
            for n in BATCHES {
                group.throughput(Throughput::Elements(n as u64));
                for (engine, machine) in [("play", &lanes), ("counter", &counter)] {
                    let batches = batches(machine, looking, n);
                    let batches: Vec<Vec<ExpansionStep<'_>>> = batches
                        .iter()
                        .map(|batch| {
                            let steps = batch.iter().map(|place| ExpansionStep {
                                state: &place.state,
                                joint_move: Some(&place.joint_move),
                            });
                            steps.collect()
                        })
                        .collect();
                    let mut expander = Arc::clone(machine).expander();
                    let mut positions = PositionBatch::default();
                    let mut index = 0;
                    group.bench_function(format!("{engine}/{n}"), |bencher| {
                        bencher.iter(|| {
                            index = (index + 1) % batches.len();
                            expander.expand(&batches[index], with_legal, &mut positions);
                            black_box(&positions);
                        });
                    });
                }
            }
            group.finish();
        }
    }
}

/// The prospects of a batch of states, as an evaluation reads them.
fn prospects(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("prospects");
    group.throughput(Throughput::Elements(WIDTH as u64));
    let budget = Budget::within(Duration::from_secs(60), 1 << 30);
    for name in ["connectFour", "breakthrough", "pentago", "hex"] {
        let game = Game::load(name).expect("the game can be played");
        let built = panza_game::build(&game.rules, &budget).expect("it has a network");
        let network = built.network.expect("it has a network");
        let found = Prospects::find(&network, &mut Budget::of_steps(1 << 24));
        let found = found.expect("it is small enough");
        let mut reasoner = Arc::clone(&built.machine).reasoner();
        let places = places(built.machine.as_ref(), reasoner.as_mut());
        let states = places.iter().map(|place| place.state.as_slice());
        let states: Vec<&[u64]> = states.take(WIDTH).collect();
        let mut buffer = found.buffer();
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                found.words(&states, &mut buffer, |_, words| {
                    black_box(words);
                });
            });
        });
    }
    group.finish();
}

criterion_group!(
    benches,
    transitions,
    expansions,
    playouts,
    passes,
    prospects
);
criterion_group! {
    name = looking;
    config = Criterion::default()
        .with_measurement(WorkTime(WallTime))
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600));
    targets = looks
}
criterion_main!(benches, looking);
