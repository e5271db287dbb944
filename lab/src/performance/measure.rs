//! What is measured of a game, and the measuring: our playouts in turn with the baselines', so that
//! a machine that slows down for a while slows down all of them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::Serialize;

use super::baseline::Baseline;
use super::lanes::{LanesReport, Measuring};
use super::networks::{self, Size, Stages};
use panza::commands::engine::EngineKind;
use panza::commands::engine_choice::{self, Built, EngineChoice};
use panza::commands::game_source::Game;
use panza::commands::playouts::{self, Figures, Until};
use panza::ground::Budget;
use panza::machine::Machine;
use panza::player::{self, Compiled};
use panza::propnet::passes::PassSet;
use panza::sync::clock::thread_cpu_time;

/// Playouts per second of processor time over some runs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Rate {
    /// The run in the middle, or the mean of the two there.
    pub median: f64,
    /// The slowest run.
    pub min: f64,
    /// The fastest run.
    pub max: f64,
    /// All of them, in order.
    pub runs: Vec<f64>,
}

impl Rate {
    /// Nothing when there was no run.
    pub fn of(runs: Vec<f64>) -> Option<Self> {
        let mut sorted = runs.clone();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let middle = sorted.len() / 2;
        let median = match sorted.len() % 2 {
            0 => (sorted[middle - 1] + sorted[middle]) / 2.0,
            _ => sorted[middle],
        };
        Some(Self {
            median,
            min,
            max,
            runs,
        })
    }
}

/// How the measuring goes.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Seconds of each run.
    pub seconds: f64,
    /// Runs of each program on each game.
    pub runs: u32,
    /// The first run's seed; each further one has the next.
    pub seed: u64,
    /// Seconds that building a game may take.
    pub build_seconds: f64,
    /// Widths to measure lanes at.
    pub widths: Vec<usize>,
    /// Outside programs to compare with.
    pub baselines: Vec<Baseline>,
    /// What a run of a baseline may take.
    pub baseline_limit: Duration,
}

/// What a game came to.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct GameReport {
    /// The game's name.
    pub game: String,
    /// What it is played with.
    pub engine: EngineKind,
    /// Why that is the prover, where it is.
    pub reason: Option<String>,
    /// From rules to machine, or to giving up.
    pub build_seconds: f64,
    /// What of it was spent on the processor, where the system tells.
    pub build_cpu_seconds: Option<f64>,
    /// Gates before the passes.
    pub gates_full: Option<usize>,
    /// Gates of the whole game's network after them.
    pub gates_optimised: Option<usize>,
    /// Gates of each phase's network; empty when the game has no phases.
    pub gates_of_phases: Vec<usize>,
    /// Gates of the whole game's network that only goals need.
    pub gates_for_goals: Option<usize>,
    /// Mean joint moves of a playout that came to its end.
    pub mean_length: Option<f64>,
    /// How many playouts that is the mean of.
    pub playouts: u64,
    /// Playouts that were cut off.
    pub cut_off: u64,
    /// How fast it is played.
    pub playouts_per_cpu_s: Option<Rate>,
    /// The same by lanes; nothing when they are left out.
    pub lanes: Option<LanesReport>,
    /// The same of the baselines.
    pub baselines: Vec<BaselineReport>,
}

/// What a baseline came to on a game.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BaselineReport {
    /// The baseline's name.
    pub name: String,
    /// How fast it plays; nothing when a run failed.
    pub playouts_per_cpu_s: Option<Rate>,
    /// Mean joint moves of its playouts, where it tells.
    pub mean_length: Option<f64>,
    /// Our median by its median.
    pub ratio: Option<f64>,
    /// The median of lanes at their best width by its median.
    pub lanes_ratio: Option<f64>,
    /// Why there is no figure.
    pub failure: Option<String>,
}

/// What the passes do for a game.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PassReport {
    /// The game's name.
    pub game: String,
    /// Sizes from pass to pass.
    pub stages: Option<Stages>,
    /// Sizes of each phase's network; empty when the game has no phases.
    pub phases: Vec<Size>,
    /// How fast it is played with all passes.
    pub all: Option<Rate>,
    /// How fast it is played when a pass is left out.
    pub without: Vec<WithoutPass>,
    /// Why there are no figures, where there are none.
    pub failure: Option<String>,
}

/// How fast a game is played when a pass is left out.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct WithoutPass {
    /// The pass.
    pub pass: &'static str,
    /// Gates of the whole game's network.
    pub gates: usize,
    /// Gates of each phase's network.
    pub gates_of_phases: Vec<usize>,
    /// Playouts per second of processor time.
    pub playouts_per_cpu_s: Option<Rate>,
}

impl Plan {
    /// What building a game may take from now on.
    pub fn budget(&self) -> Budget {
        Budget {
            until: Some(Instant::now() + Duration::from_secs_f64(self.build_seconds)),
            ..Budget::generous()
        }
    }

    /// Our own playouts once.
    ///
    /// # Errors
    /// The machine cannot be asked.
    pub fn play(&self, built: &Built, run: u32) -> anyhow::Result<Figures> {
        let until = Until::Elapsed(Duration::from_secs_f64(self.seconds));
        let seed = self.seed.wrapping_add(run.into());
        let figures = playouts::run(built, 1, seed, until, &AtomicU64::new(0))?;
        Ok(figures)
    }
}

/// Builds a game and measures it, in turn with the baselines. `rulesheet` is the file that they are
/// handed; `on_run` is told what runs next, `on_failure` which baseline failed, why, and what it
/// said.
///
/// # Errors
/// Neither a network nor the prover can play the game.
pub fn game(
    plan: &Plan,
    game: &Game,
    rulesheet: &Path,
    mut on_run: impl FnMut(&str),
    mut on_failure: impl FnMut(&Baseline, &str, &str),
) -> anyhow::Result<GameReport> {
    let (started, cpu_started) = (Instant::now(), thread_cpu_time());
    let compiled = player::compile(&game.rules, plan.budget());
    let build_seconds = started.elapsed().as_secs_f64();
    let build_cpu_seconds = cpu_started
        .zip(thread_cpu_time())
        .map(|(before, after)| after.saturating_sub(before).as_secs_f64());
    let sizes = compiled.as_ref().ok().map(|compiled| {
        (
            compiled.gates_full,
            compiled.gates_optimised,
            compiled.gates_of_phases.clone(),
        )
    });
    let reason = compiled.as_ref().err().cloned();
    let (built, mut lanes) = match compiled {
        Ok(Compiled { machine, lanes, .. }) => {
            let counter = Arc::new(machine);
            let lanes = Measuring::new(plan, Some((&counter, &lanes)));
            (Built::Machine(counter), lanes)
        }
        Err(_) => (
            engine_choice::build(&game.rules, EngineChoice::Only(EngineKind::Prover))
                .with_context(|| game.sheet.name.clone())?,
            Measuring::new(plan, None),
        ),
    };

    let mut rates = Vec::new();
    let mut total = Figures::default();
    let mut runs_of: Vec<Vec<(f64, Option<f64>)>> = vec![Vec::new(); plan.baselines.len()];
    let mut failures: Vec<Option<String>> = vec![None; plan.baselines.len()];
    for run in 0..plan.runs {
        on_run("panza");
        let figures = plan
            .play(&built, run)
            .with_context(|| game.sheet.name.clone())?;
        rates.push(figures.playouts_per_second);
        total.playouts += figures.playouts;
        total.finished_steps += figures.finished_steps;
        total.cut_off += figures.cut_off;
        lanes
            .play(plan, run, &mut on_run)
            .with_context(|| game.sheet.name.clone())?;
        for (index, baseline) in plan.baselines.iter().enumerate() {
            on_run(&baseline.name);
            // What failed once would fail, and perhaps take all its time, again.
            if failures[index].is_some() {
                continue;
            }
            match baseline.run(rulesheet, plan.seconds, plan.baseline_limit) {
                Ok(measured) => {
                    runs_of[index].push((measured.playouts_per_cpu_s, measured.mean_length));
                }
                Err((failure, said)) => {
                    on_failure(baseline, &failure.to_string(), &said);
                    failures[index] = Some(failure.to_string());
                }
            }
        }
    }
    let rate = Rate::of(rates);
    let ours = rate.as_ref().map(|rate| rate.median);
    let lanes = (!plan.widths.is_empty()).then(|| lanes.report(rate.as_ref()));
    let best = lanes.as_ref().and_then(LanesReport::best_rate);
    let baselines = plan.baselines.iter().zip(runs_of).zip(failures);
    let baselines = baselines.map(|((baseline, runs), failure)| {
        let rate = match &failure {
            None => Rate::of(runs.iter().map(|run| run.0).collect()),
            Some(_) => None,
        };
        let lengths: Option<Vec<f64>> = runs.iter().map(|run| run.1).collect();
        let lengths = lengths.filter(|lengths| rate.is_some() && !lengths.is_empty());
        BaselineReport {
            name: baseline.name.clone(),
            ratio: ours
                .zip(rate.as_ref())
                .map(|(ours, rate)| ours / rate.median),
            lanes_ratio: best
                .zip(rate.as_ref())
                .map(|(best, rate)| best.median / rate.median),
            mean_length: lengths.map(|lengths| lengths.iter().sum::<f64>() / lengths.len() as f64),
            playouts_per_cpu_s: rate,
            failure,
        }
    });
    let baselines = baselines.collect();
    drop(built);
    // Gates of goals are counted after all measuring, with the machine out of the way.
    let gates_for_goals = sizes.as_ref().and_then(|_| {
        let stages = networks::stages(&game.rules, plan.budget()).ok()?;
        Some(stages.gates_for_goals)
    });
    let (gates_full, gates_optimised, gates_of_phases) = match sizes {
        Some((full, optimised, phases)) => (Some(full), Some(optimised), phases),
        None => (None, None, Vec::new()),
    };
    Ok(GameReport {
        game: game.sheet.name.clone(),
        engine: match reason {
            None => EngineKind::Counter,
            Some(_) => EngineKind::Prover,
        },
        reason,
        build_seconds,
        build_cpu_seconds,
        gates_full,
        gates_optimised,
        gates_of_phases,
        gates_for_goals,
        mean_length: total.mean_length(),
        playouts: total.playouts,
        cut_off: total.cut_off,
        playouts_per_cpu_s: rate,
        lanes,
        baselines,
    })
}

/// Follows a game through the passes, and measures it with all of them and with each left out, in
/// turn.
///
/// # Errors
/// A machine cannot be asked.
pub fn passes(
    plan: &Plan,
    game: &Game,
    mut on_run: impl FnMut(&str),
) -> anyhow::Result<PassReport> {
    let mut report = PassReport {
        game: game.sheet.name.clone(),
        stages: None,
        phases: Vec::new(),
        all: None,
        without: Vec::new(),
        failure: None,
    };
    match networks::stages(&game.rules, plan.budget()) {
        Ok(stages) => report.stages = Some(stages),
        Err(reason) => {
            report.failure = Some(reason);
            return Ok(report);
        }
    }
    let all = PassSet::default();
    let mut machines = Vec::new();
    let sets = std::iter::once(all).chain(all.iter().map(|pass| all.without(pass)));
    for set in sets {
        match player::compile_with(&game.rules, &set, plan.budget()) {
            Ok(compiled) => {
                if set == all {
                    report.phases = sizes_of_phases(&compiled);
                }
                let sizes = (compiled.gates_optimised, compiled.gates_of_phases.clone());
                machines.push((sizes, machine(compiled), Vec::new()));
            }
            Err(reason) => {
                report.failure = Some(reason);
                return Ok(report);
            }
        }
    }
    for run in 0..plan.runs {
        for (index, (_, built, rates)) in machines.iter_mut().enumerate() {
            match index.checked_sub(1).and_then(|index| all.iter().nth(index)) {
                None => on_run("all passes"),
                Some(pass) => on_run(&format!("without {pass}")),
            }
            rates.push(plan.play(built, run)?.playouts_per_second);
        }
    }
    let mut machines = machines.into_iter();
    report.all = machines.next().and_then(|(_, _, rates)| Rate::of(rates));
    let without = all.iter().zip(machines);
    report.without = without
        .map(|(pass, ((gates, gates_of_phases), _, rates))| WithoutPass {
            pass: pass.name(),
            gates,
            gates_of_phases,
            playouts_per_cpu_s: Rate::of(rates),
        })
        .collect();
    Ok(report)
}

fn sizes_of_phases(compiled: &Compiled) -> Vec<Size> {
    let gates = compiled.gates_of_phases.iter();
    let sizes = gates.zip(&compiled.edges_of_phases);
    sizes
        .map(|(&gates, &edges)| Size { gates, edges })
        .collect()
}

fn machine(compiled: Compiled) -> Built {
    let machine: Arc<dyn Machine> = Arc::new(compiled.machine);
    Built::Machine(machine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_stand_in_the_middle() {
        let rate = Rate::of(vec![3.0, 1.0, 2.0]).unwrap();
        assert_eq!((rate.median, rate.min, rate.max), (2.0, 1.0, 3.0));
        assert_eq!(rate.runs, [3.0, 1.0, 2.0]);
        assert_eq!(Rate::of(vec![4.0, 1.0]).unwrap().median, 2.5);
        assert_eq!(Rate::of(vec![]), None);
    }

    #[test]
    fn each_pass_is_left_out_once() {
        let plan = Plan {
            seconds: 0.01,
            runs: 2,
            seed: 1,
            build_seconds: 60.0,
            widths: Vec::new(),
            baselines: Vec::new(),
            baseline_limit: Duration::from_secs(1),
        };
        let mut told = Vec::new();
        let game = Game::load("connectFour").unwrap();
        let report = passes(&plan, &game, |what| told.push(what.to_string())).unwrap();
        let n_passes = PassSet::default().iter().count();
        assert_eq!(report.without.len(), n_passes);
        assert_eq!(told.len(), 2 * (1 + n_passes), "{told:?}");
        let stages = report.stages.as_ref().unwrap();
        let last = stages.whole.last().unwrap().size.gates;
        let names: Vec<&str> = report.without.iter().map(|without| without.pass).collect();
        let all: Vec<&str> = PassSet::default().iter().map(|pass| pass.name()).collect();
        assert_eq!(names, all);
        // Not every pass finds something in every game.
        let is_other = |without: &WithoutPass| without.gates != last;
        assert!(report.without.iter().any(is_other), "{report:?}");
        assert_eq!(report.phases.len(), 2);
        for without in &report.without {
            let n_phases = without.gates_of_phases.len();
            assert_eq!(n_phases, report.phases.len(), "{}", without.pass);
            let rate = without.playouts_per_cpu_s.as_ref().unwrap();
            assert_eq!(rate.runs.len(), 2);
            assert!(rate.min > 0.0);
        }
    }
}
