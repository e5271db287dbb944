//! Speed of the planner: successors that breadth-first search makes, hashes and deduplicates, and
//! states whose relaxation is run to its end. `PANZA_PUZZLES` names rulesheets to measure instead.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use panza_game::{BuiltGame, build};
use panza_gdl::RoleId;
use panza_machine::ExpanderLayout;
use panza_machine::lanes::compile::compile_expander;
use panza_machine::lanes::interpret::Features;
use panza_planner::{Planner, PlannerConfig, PlanningGame};
use panza_propnet::{append_relaxed, relaxation};
use panza_sync::{Budget, Random};

/// Successors of a breadth-first search that is measured.
const SUCCESSORS: u64 = 20_000_000;
/// States of random games whose relaxations run at once.
const STATES: usize = 512;

fn games() -> Vec<(String, BuiltGame)> {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../gdl-games/eightPuzzle.gdl");
    let paths = std::env::var("PANZA_PUZZLES").unwrap_or_else(|_| own.to_string());
    let build = |path: &str| {
        let rules = panza_gdl::load(&std::fs::read_to_string(path).unwrap()).0;
        let budget = Budget::within(Duration::from_secs(60), 1 << 30);
        let name = path.rsplit('/').next().unwrap_or(path);
        (name.to_string(), build(&rules, &budget).unwrap())
    };
    paths.split_whitespace().map(build).collect()
}

/// Searches breadth-first until enough successors were made or none are left, and returns their
/// number.
fn search_breadth_first(planned: &Arc<PlanningGame>, start: &[u64]) -> u64 {
    let config = PlannerConfig {
        threads: 1,
        max_bytes: 12 << 30,
        seed: 1,
    };
    let mut planner = Planner::new(planned, start, config);
    planner.use_only("layers");
    let stop = AtomicBool::new(false);
    while !planner.findings().is_finished && planner.findings().n_states < SUCCESSORS {
        planner.run(Instant::now() + Duration::from_millis(100), &stop);
    }
    planner.findings().n_states
}

fn breadth_first(criterion: &mut Criterion) {
    for (name, game) in games() {
        let planned = PlanningGame::new(&game.machine, game.network.as_ref()).unwrap();
        let start = game.machine.initial_state();
        // The first search analyses the game.
        let n_made = search_breadth_first(&planned, &start);
        let mut group = criterion.benchmark_group("breadth-first");
        group
            .throughput(Throughput::Elements(n_made))
            .sample_size(10);
        group.bench_function(&name, |bencher| {
            bencher.iter(|| black_box(search_breadth_first(&planned, &start)));
        });
        group.finish();
    }
}

/// States of random games, each with its complement, as relaxations need them.
fn relaxed_states(game: &BuiltGame, n_facts: usize) -> Vec<u64> {
    let mut reasoner = Arc::clone(&game.machine).reasoner();
    let mut random = Random::new(1);
    let mut states = Vec::new();
    let mut next = Vec::new();
    let mut state = game.machine.initial_state();
    for _ in 0..STATES {
        reasoner.set_state(&state);
        let legal = reasoner.legal_moves(RoleId(0));
        if legal.is_empty() {
            break;
        }
        let mv = legal[random.below(legal.len() as u32) as usize];
        append_relaxed(n_facts, &state, &mut states);
        reasoner.next_state(&[mv], &mut next);
        reasoner.set_state(&next);
        state = match reasoner.is_terminal() {
            true => game.machine.initial_state(),
            false => next.clone(),
        };
    }
    states
}

fn dead_ends(criterion: &mut Criterion) {
    for (name, game) in games() {
        let network = game.network.as_ref().unwrap();
        let best = network.goals.iter().max_by_key(|(_, value, _)| *value);
        let targets = [best.unwrap().2, network.terminal];
        let until = Instant::now() + Duration::from_secs(10);
        let limits = Budget::generous().until(Some(until));
        let relaxed = relaxation(network, &targets, &limits).unwrap();
        let programs = compile_expander(&relaxed).unwrap();
        let layout = Arc::new(ExpanderLayout::new(programs, Features::detect(), 8));
        let states = relaxed_states(&game, network.facts.len());
        let mut runner = layout.runner();
        let mut steps = Vec::new();
        let mut group = criterion.benchmark_group("dead-ends");
        group.throughput(Throughput::Elements(STATES as u64));
        group.bench_function(&name, |bencher| {
            bencher.iter(|| runner.run(black_box(&states), 1 << 20, &mut steps));
        });
        group.finish();
    }
}

criterion_group!(benches, breadth_first, dead_ends);
criterion_main!(benches);
