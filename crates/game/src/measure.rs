//! The choice between counters and lanes, by measurement.
//!
//! Each engine runs random playouts for some hundredths of a second of processor time. Playouts are
//! made by the one with the best rating, which weighs throughput against latency; single states
//! stay with the counters.

#![expect(
    clippy::disallowed_methods,
    reason = "engines are timed against each other"
)]

use std::sync::Arc;
use std::time::Duration;

use super::compile::Compiled;
use panza_machine::lanes::interpret::Features;
use panza_machine::lanes::machine::LanesExpansion;
use panza_machine::lanes::{compile, expand, gang};
use panza_machine::{
    BatchPlayouts, CounterMachine, LanesMachine, Machine, PlayoutEnd, PlayoutPolicy, PlayoutTotals,
};
use panza_propnet::Network;
use panza_sync::{Budget, Instant, Random, Stopwatch};

/// Measured speed of an engine.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Speed {
    /// Number of lanes; `None` for the counter engine.
    pub width: Option<usize>,
    /// Joint moves per second in random playouts from the initial state.
    pub steps_per_second: f64,
}

/// The time of a playout in lanes that halves the rating of a width: a search gets the results of
/// all lanes after that time, and its next descents depend on them.
const LATENCY: f64 = 0.002;

impl Speed {
    /// Steps per second, less for playouts that take long because many run at once.
    fn rating(&self, mean_length: f64) -> f64 {
        let playouts_per_second = self.steps_per_second / mean_length.max(1.0);
        let latency = self.width.unwrap_or(1) as f64 / playouts_per_second.max(1e-9);
        self.steps_per_second / (1.0 + latency / LATENCY)
    }
}

/// Widths to try, the best one of most games first.
const WIDTHS: [usize; 3] = [512, 1024, 256];
/// Processor time for each measurement, at most.
const MEASURING_TIME: Duration = Duration::from_millis(20);
/// Divisor of the time left for each measurement.
const MEASURING_SHARE: u32 = 50;
/// A playout is cut off after this many joint moves.
const MAX_STEPS: u32 = 10_000;
/// Joint moves of a playout between two readings of the clock.
const STEPS_AT_ONCE: u32 = 32;
/// Steps of all lanes between two readings of the clock.
const ADVANCES_AT_ONCE: u32 = 8;

/// The machine with the fastest playouts, counters or lanes, and the speeds that were measured and
/// logged. Without time to compile and measure lanes it is the counters.
pub fn fastest(
    compiled: Compiled,
    limits: &Budget,
    policy: PlayoutPolicy,
) -> (Arc<dyn Machine>, Vec<Speed>) {
    let took = compiled.ground_time + compiled.network_time + compiled.compile_time;
    let counter = Arc::new(compiled.machine);
    let alone: Arc<dyn Machine> = counter.clone();
    // Compiling lanes takes up to twice as long as compiling the counters.
    if limits.is_stopped() || limits.left() < took * 3 {
        tracing::debug!(?took, left = ?limits.left(), "no time for lanes");
        return (alone, Vec::new());
    }
    let Some(programs) = compiled.lanes.programs(limits, policy) else {
        return (alone, Vec::new());
    };
    let time = MEASURING_TIME.min(limits.left() / MEASURING_SHARE);
    let mut speeds = vec![counter_speed(&counter, time)];
    let mean_length = compiled.lanes.mean_length;
    let mut best = (speeds[0].rating(mean_length), None);
    let n_roles = counter.info().n_roles();
    for width in WIDTHS {
        let started = Instant::now();
        let layout = gang::GangLayout::new(&programs, n_roles, Features::detect(), width / 64);
        let layout = Arc::new(layout);
        let speed = gang_speed(&layout, &counter.initial_state(), time);
        speeds.push(speed);
        let rating = speed.rating(mean_length);
        if rating > best.0 {
            best = (rating, Some(layout));
        }
        if limits.is_stopped() || limits.left() < started.elapsed() * 2 {
            break;
        }
    }
    for speed in &speeds {
        tracing::debug!(
            width = speed.width,
            "measured an engine: {:.0} steps per second, rated {:.0}; the best rating plays",
            speed.steps_per_second,
            speed.rating(mean_length)
        );
    }
    let Some(gangs) = best.1 else {
        return (alone, speeds);
    };
    let expansion = expansion(&counter, &compiled.lanes.network, time, limits);
    let machine = LanesMachine::for_play(counter, gangs, expansion);
    (Arc::new(machine), speeds)
}

/// Lanes of the expander: little more than most batches have positions, since unused lanes cost
/// time too.
const EXPANDER_WIDTH: usize = 256;

/// Lanes for expansion, measured against the counters for up to `time`; `None` where the time left
/// may not be enough to write their machine code.
fn expansion(
    counter: &Arc<CounterMachine>,
    network: &Network,
    time: Duration,
    limits: &Budget,
) -> Option<LanesExpansion> {
    let started = Instant::now();
    let programs = compile::compile_expander(network)?;
    if limits.is_stopped() || limits.left() < started.elapsed() * 2 {
        return None;
    }
    let layout = expand::ExpanderLayout::new(programs, Features::detect(), EXPANDER_WIDTH / 64);
    let expansion = LanesExpansion::measured(counter, Arc::new(layout), time);
    let [bare, with_legal] = expansion.min_batch;
    tracing::debug!(bare, with_legal, "least batch sizes for lanes");
    Some(expansion)
}

fn counter_speed(counter: &Arc<CounterMachine>, time: Duration) -> Speed {
    let mut reasoner = Arc::clone(counter).reasoner();
    let mut random = Random::new(1);
    let initial = counter.initial_state();
    let mut goals = vec![0; counter.info().n_roles()];
    let mut n_steps = 0u64;
    let mut length = 0;
    let stopwatch = Stopwatch::start();
    reasoner.set_state(&initial);
    while stopwatch.is_within(time) {
        // In pieces: a whole playout of a slow game takes many times the limit.
        let end = reasoner.playout(&mut random, STEPS_AT_ONCE, &mut goals);
        let (steps, is_over) = match end {
            PlayoutEnd::Finished { steps } => (steps, true),
            PlayoutEnd::CutOff => (STEPS_AT_ONCE, false),
        };
        // A game that is over at its start counts as a step.
        n_steps += u64::from(steps.max(1));
        length += steps;
        if is_over || length >= MAX_STEPS {
            length = 0;
            reasoner.set_state(&initial);
        }
    }
    Speed {
        width: None,
        steps_per_second: n_steps as f64 / stopwatch.elapsed().as_secs_f64().max(1e-9),
    }
}

fn gang_speed(layout: &Arc<gang::GangLayout>, initial: &[u64], time: Duration) -> Speed {
    let mut gang = layout.gang(&mut Random::new(1), MAX_STEPS);
    Speed {
        width: Some(layout.width()),
        steps_per_second: playouts_speed(gang.as_mut(), initial, time),
    }
}

/// Joint moves per second of lanes from a state.
fn playouts_speed(playouts: &mut dyn BatchPlayouts, initial: &[u64], time: Duration) -> f64 {
    let width = playouts.width() as u64;
    let mut n_steps = 0u64;
    let mut tally = PlayoutTotals::default();
    let stopwatch = Stopwatch::start();
    while stopwatch.is_within(time) {
        for _ in 0..ADVANCES_AT_ONCE {
            while playouts.n_outstanding() < 2 * width {
                if playouts.submit(initial, width as u32).is_none() {
                    break;
                }
            }
            playouts.advance();
            n_steps += width;
            while playouts.take_finished(&mut tally).is_some() {}
        }
    }
    n_steps as f64 / stopwatch.elapsed().as_secs_f64().max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Roads are built one after the other and followed by recursion. There is no turn to pass.
    const ROADS: &str = "(role builder)
        (<= (base (road ?x ?y)) (place ?x) (place ?y)) (<= (input builder (build ?x ?y)) (place ?x) (place ?y))
        (place a) (place b) (place c) (place d) (init (road a b))
        (<= (legal builder (build ?x ?y)) (place ?x) (place ?y) (distinct ?x ?y) (not (true (road ?x ?y))))
        (<= (next (road ?x ?y)) (true (road ?x ?y))) (<= (next (road ?x ?y)) (does builder (build ?x ?y)))
        (<= (leads ?x ?y) (true (road ?x ?y))) (<= (leads ?x ?z) (leads ?x ?y) (leads ?y ?z))
        (<= terminal (leads a d)) (<= (goal builder 100) (leads b c)) (<= (goal builder 40) (not (leads b c)))";

    #[test]
    fn a_game_with_loops_and_no_phases_becomes_lanes_of_the_whole_game() {
        let (rules, _) = panza_gdl::load(ROADS);
        let limits = Budget::generous();
        let compiled = crate::compile(&rules, &limits).unwrap();
        assert!(!compiled.lanes.network.blocks.is_empty());
        assert!(compiled.gates_of_phases.is_empty());
        let programs = compiled
            .lanes
            .programs(&limits, PlayoutPolicy::Uniform)
            .unwrap();
        assert_eq!(programs.phases.len(), 1);
        assert!(programs.n_operations() > 0);
        let (machine, speeds) = fastest(compiled, &limits, PlayoutPolicy::Decisive);
        assert_eq!(speeds.len(), 1 + WIDTHS.len());
        assert_eq!(machine.info().n_roles(), 1);
    }
}
