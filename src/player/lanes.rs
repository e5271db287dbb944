//! From a compiled game to lanes: which phases they go through.
//!
//! The mutex groups are those that the counter engine weighed; of those whose phases always follow
//! each other in the same order, the ones with the fewest operations a step are taken, or the whole
//! game where that has fewer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::build::Compiled;
use super::stopwatch::Stopwatch;
use crate::ground;
use crate::machine::counter::CounterMachine;
use crate::machine::lanes::compile::{self, Playing, Programs};
use crate::machine::lanes::expand;
use crate::machine::lanes::gang;
use crate::machine::lanes::interpret::Features;
use crate::machine::lanes::machine::{Expansion, LanesMachine};
use crate::machine::random::Random;
use crate::machine::{Machine, PlayoutEnd, Playouts, Tally};
use crate::propnet::{self, MutexGroup, Network, Phases, passes};

/// What lanes are made from.
#[derive(Clone, Debug)]
pub struct LanesSource {
    /// The whole game.
    pub network: Arc<Network>,
    /// The mutex groups that may split it.
    pub(super) mutex_groups: Vec<MutexGroup>,
    /// The joint moves of a playout, roughly.
    pub(super) mean_length: f64,
    pub(super) set: passes::PassSet,
}

impl LanesSource {
    /// The game as programs for lanes; nothing where those would be too large or the budget ends
    /// first.
    pub fn programs(&self, limits: ground::Budget, playing: Playing) -> Option<Programs> {
        let compile = |phases: Option<&Phases>, playing| {
            compile::compile(&self.network, phases, self.mean_length, playing)
        };
        let mut best = compile(None, Playing::Evenly);
        let mut best_phases = None;
        for group in &self.mutex_groups {
            let phases = propnet::phases_of(&self.network, group, &self.set, limits);
            let Some(phases) = phases.filter(compile::is_in_lockstep) else {
                continue;
            };
            let split = compile(Some(&phases), Playing::Evenly);
            let work = |programs: &Option<Programs>| {
                programs.as_ref().map_or(usize::MAX, Programs::n_operations)
            };
            if work(&split) < work(&best) {
                best = split;
                best_phases = Some(phases);
            }
        }
        match best_phases {
            // Without phases nobody is known to choose alone, and all moves stay equally likely.
            Some(phases) if playing != Playing::Evenly => compile(Some(&phases), playing),
            _ => best,
        }
    }
}

/// How fast an engine ran a game.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Speed {
    /// Lanes abreast; nothing for the counter engine.
    pub width: Option<usize>,
    /// Joint moves a second in random playouts from the start.
    pub steps_per_second: f64,
}

/// The widths that are tried, the one that is best for most games first.
const WIDTHS: [usize; 3] = [512, 1024, 256];
/// How long an engine is measured, at most.
const MEASURED: Duration = Duration::from_millis(20);
/// The share of the time left that measuring one engine may take.
const SHARE: u32 = 50;
/// A playout is cut off after this many joint moves.
const MAX_STEPS: u32 = 10_000;
/// Joint moves of a playout between two looks at the clock.
const STEPS_AT_ONCE: u32 = 32;
/// Steps of a gang between two looks at the clock.
const ADVANCES_AT_ONCE: u32 = 8;

/// The faster machine of a compiled game, counters alone or with lanes for playouts, and what was
/// measured of each, which is logged too.
///
/// As long as the budget lasts: without time to make lanes, or to measure them, it is the counters.
pub fn faster(
    compiled: Compiled,
    limits: ground::Budget,
    playing: Playing,
) -> (Arc<dyn Machine>, Vec<Speed>) {
    let took = compiled.ground_time + compiled.network_time + compiled.compile_time;
    let counter = Arc::new(compiled.machine);
    let alone: Arc<dyn Machine> = counter.clone();
    let left = |limits: &ground::Budget| {
        let until = limits.until;
        until.map_or(Duration::MAX, |until| {
            until.saturating_duration_since(Instant::now())
        })
    };
    // Lanes take up to twice as long to make as the counters took.
    if left(&limits) < took * 3 {
        return (alone, Vec::new());
    }
    let Some(programs) = compiled.lanes.programs(limits, playing) else {
        return (alone, Vec::new());
    };
    let time = MEASURED.min(left(&limits) / SHARE);
    let mut speeds = vec![counter_speed(&counter, time)];
    let mut best = (speeds[0].steps_per_second, None);
    let n_roles = counter.info().n_roles();
    for width in WIDTHS {
        let started = Instant::now();
        let layout = gang::Layout::new(&programs, n_roles, Features::detect(), width / 64);
        let layout = Arc::new(layout);
        let speed = gang_speed(&layout, &counter.initial_state(), time);
        speeds.push(speed);
        if speed.steps_per_second > best.0 {
            best = (speed.steps_per_second, Some(layout));
        }
        if left(&limits) < started.elapsed() * 2 {
            break;
        }
    }
    for Speed {
        width,
        steps_per_second,
    } in &speeds
    {
        tracing::info!(width, steps_per_second, "an engine was measured");
    }
    let Some(gangs) = best.1 else {
        return (alone, speeds);
    };
    let expansion = expansion(&counter, &compiled.lanes.network, time, left(&limits));
    let machine = LanesMachine::for_play(counter, gangs, expansion);
    (Arc::new(machine), speeds)
}

/// How many positions are looked at abreast: few more than most batches have, since what is not
/// needed costs too.
const EXPANDED: usize = 256;

/// Lanes for looking at positions, held against the counters for up to `time`; nothing where that
/// may take more than a fair share of the time `left`. Making them takes less than making lanes for
/// playouts does.
fn expansion(
    counter: &Arc<CounterMachine>,
    network: &Network,
    time: Duration,
    left: Duration,
) -> Option<Expansion> {
    let started = Instant::now();
    let programs = compile::compile_expander(network)?;
    if left / SHARE < started.elapsed() {
        return None;
    }
    let layout = expand::Layout::new(programs, Features::detect(), EXPANDED / 64);
    let expansion = Expansion::measured(counter, Arc::new(layout), time);
    let [bare, with_legal] = expansion.fewest;
    tracing::info!(bare, with_legal, "positions from which on lanes are faster");
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
        // It goes on where it stands: a whole playout of a slow game takes many times the time
        // there is.
        let end = reasoner.playout(&mut random, STEPS_AT_ONCE, &mut goals);
        let (steps, is_over) = match end {
            PlayoutEnd::Finished { steps } => (steps, true),
            PlayoutEnd::CutOff => (STEPS_AT_ONCE, false),
        };
        // A game that is over at its start still takes time.
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

fn gang_speed(layout: &Arc<gang::Layout>, initial: &[u64], time: Duration) -> Speed {
    let mut gang = layout.gang(&mut Random::new(1), MAX_STEPS);
    Speed {
        width: Some(layout.width()),
        steps_per_second: playouts_speed(gang.as_mut(), initial, time),
    }
}

/// Joint moves a second of playouts abreast from a state.
fn playouts_speed(playouts: &mut dyn Playouts, initial: &[u64], time: Duration) -> f64 {
    let width = playouts.width() as u64;
    let mut n_steps = 0u64;
    let mut tally = Tally::default();
    let stopwatch = Stopwatch::start();
    while stopwatch.is_within(time) {
        for _ in 0..ADVANCES_AT_ONCE {
            while playouts.n_wanted() < 2 * width {
                if playouts.submit(initial, width as u32).is_none() {
                    break;
                }
            }
            playouts.advance();
            n_steps += width;
            while playouts.take_done(&mut tally).is_some() {}
        }
    }
    n_steps as f64 / stopwatch.elapsed().as_secs_f64().max(1e-9)
}

/// The game of a counter machine as a machine of lanes on this processor, with `n_words` words a
/// vector (4, 8 or 16), if it can be one.
pub fn compile_lanes(
    counter: Arc<CounterMachine>,
    source: &LanesSource,
    limits: ground::Budget,
    n_words: usize,
) -> Option<LanesMachine> {
    let expander = compile::compile_expander(&source.network)?;
    let gangs = source.programs(limits, Playing::Evenly);
    let features = Features::detect();
    Some(LanesMachine::new(
        counter,
        expander,
        gangs.as_ref(),
        features,
        n_words,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gdl;

    /// Rules whose roads, built one after the other, are followed by recursion, with nothing that
    /// passes a turn round.
    const ROADS: &str = "(role builder)
        (<= (base (road ?x ?y)) (place ?x) (place ?y)) (<= (input builder (build ?x ?y)) (place ?x) (place ?y))
        (place a) (place b) (place c) (place d) (init (road a b))
        (<= (legal builder (build ?x ?y)) (place ?x) (place ?y) (distinct ?x ?y) (not (true (road ?x ?y))))
        (<= (next (road ?x ?y)) (true (road ?x ?y))) (<= (next (road ?x ?y)) (does builder (build ?x ?y)))
        (<= (leads ?x ?y) (true (road ?x ?y))) (<= (leads ?x ?z) (leads ?x ?y) (leads ?y ?z))
        (<= terminal (leads a d)) (<= (goal builder 100) (leads b c)) (<= (goal builder 40) (not (leads b c)))";

    #[test]
    fn a_game_with_loops_and_no_phases_becomes_lanes_of_the_whole_game() {
        let (rules, _) = gdl::load(ROADS);
        let limits = ground::Budget::generous();
        let compiled = super::super::compile(&rules, limits).unwrap();
        assert!(!compiled.lanes.network.blocks.is_empty());
        assert!(compiled.gates_of_phases.is_empty());
        let programs = compiled.lanes.programs(limits, Playing::Evenly).unwrap();
        assert_eq!(programs.phases.len(), 1);
        assert!(programs.n_operations() > 0);
        let (machine, speeds) = faster(compiled, limits, Playing::Decisively);
        assert_eq!(speeds.len(), 1 + WIDTHS.len());
        assert_eq!(machine.info().n_roles(), 1);
    }
}
