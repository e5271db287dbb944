//! Iterations a second of the search on tic-tac-toe, whose playouts cost next to nothing: the
//! figure is what the writer spends on selection, expansion and backpropagation.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use panza_gdl::RoleId;
use panza_machine::Machine;
use panza_search::{Search, SearchConfig};
use panza_sync::{Budget, Random};
use panza_testing::tic_tac_toe::TicTacToe;

/// Iterations measured at a time.
const ITERATIONS: u64 = 20_000;

fn config() -> SearchConfig {
    SearchConfig {
        exploration: 0.7,
        first_play_visits: 0.0,
        ..SearchConfig::deterministic(1)
    }
}

fn search(config: &SearchConfig, warm_up: u64) -> Search {
    let machine: Arc<dyn Machine> = Arc::new(TicTacToe);
    let mut search = Search::new(machine, RoleId(0), config.clone());
    run(&mut search, warm_up);
    search
}

fn run(search: &mut Search, iterations: u64) {
    black_box(search.run(&Budget::of_steps(iterations)));
}

fn iterations(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("search/tic-tac-toe");
    group.throughput(Throughput::Elements(ITERATIONS));
    let full = SearchConfig {
        max_nodes: 5_000,
        ..config()
    };
    let cases = [
        ("young tree", config(), 0),
        ("grown tree", config(), 30_000),
        ("full tree", full, 30_000),
        (
            "one rollout thread",
            SearchConfig {
                rollout_threads: 1,
                ..config()
            },
            0,
        ),
    ];
    for (name, config, warm_up) in cases {
        group.bench_function(name, |bencher| {
            bencher.iter_batched_ref(
                || search(&config, warm_up),
                |search| run(search, ITERATIONS),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

fn playouts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("playout/tic-tac-toe");
    group.throughput(Throughput::Elements(1));
    let mut reasoner = Arc::new(TicTacToe).reasoner();
    let mut random = Random::new(1);
    let mut goals = [0; 2];
    group.bench_function("bitboard", |bencher| {
        bencher.iter(|| {
            reasoner.set_state(&[0]);
            black_box(reasoner.playout(&mut random, 100, &mut goals))
        });
    });
    group.finish();
}

criterion_group!(benches, iterations, playouts);
criterion_main!(benches);
