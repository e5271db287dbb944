//! The players of a comparison, and their runs in turn.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use panza_cli::engine_choice::Built;
use panza_cli::playouts::Until;
use panza_cli::{EngineChoice, EngineKind, Game, engine_choice, playouts};
use panza_game::Compiled;
use panza_machine::Machine;
use panza_propnet::PassSet;
use panza_sync::Budget;
use serde::Serialize;

use super::baseline::Baseline;
use crate::page::quantity;

/// The name of the engine for one playout at a time.
pub const COUNTER: &str = "counter";

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Rate {
    /// The middle run, or the mean of the two middle ones.
    pub median: f64,
    pub runs: Vec<f64>,
}

impl Rate {
    pub fn of(runs: Vec<f64>) -> Option<Self> {
        let mut sorted = runs.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let upper = *sorted.get(middle)?;
        let median = match sorted.len() % 2 {
            0 => (sorted[middle - 1] + upper) / 2.0,
            _ => upper,
        };
        Some(Self { median, runs })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let deviations = self.runs.iter().map(|run| (run / self.median - 1.0).abs());
        let largest = 100.0 * deviations.fold(0.0, f64::max);
        write!(out, "{} ±{largest:.0} %", quantity(self.median))
    }
}

#[derive(Clone, Debug)]
pub struct Measurement {
    pub seconds: f64,
    pub runs: u32,
    /// Seed of the first run; each further run has the next.
    pub seed: u64,
    pub build_seconds: f64,
    pub widths: Vec<usize>,
    /// Time after which a run of a baseline is killed.
    pub baseline_limit: Duration,
}

impl Measurement {
    fn budget(&self) -> Budget {
        Budget::generous().until(Some(
            Instant::now() + Duration::from_secs_f64(self.build_seconds),
        ))
    }
}

/// What makes playouts in a comparison.
pub struct Player<'a> {
    name: String,
    /// Gates of the network, where it is the subject of the comparison.
    gates: Option<usize>,
    /// An engine or a baseline; or why there is none.
    kind: Result<Kind<'a>, String>,
}

enum Kind<'a> {
    Engine(Built),
    Baseline(&'a Baseline, &'a Path),
}

pub struct Players<'a> {
    players: Vec<Player<'a>>,
    build_seconds: Option<f64>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct GameReport {
    pub game: String,
    /// Wall-clock time from rules to machine; nothing where the game has no network.
    pub build_seconds: Option<f64>,
    pub players: Vec<PlayerReport>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PlayerReport {
    pub name: String,
    /// Gates of its network, where that is the subject of the comparison.
    pub gates: Option<usize>,
    pub rate: Option<Rate>,
    /// Mean joint moves of its finished playouts, over all runs.
    pub mean_length: Option<f64>,
    /// Why there is no rate, or no network.
    pub failure: Option<String>,
}

pub fn engine_names(widths: &[usize]) -> Vec<String> {
    let lanes = widths.iter().map(|width| format!("{width} lanes"));
    std::iter::once(COUNTER.to_string()).chain(lanes).collect()
}

/// The counter engine, or else the prover, the lanes engine at each width, and the baselines.
pub fn engines_and_baselines<'a>(
    plan: &Measurement,
    game: &Game,
    baselines: &'a [Baseline],
    rulesheet: &'a Path,
) -> Players<'a> {
    let started = Instant::now();
    let compiled = panza_game::compile(&game.rules, &plan.budget());
    let mut kinds: Vec<Result<Kind<'a>, String>> = Vec::new();
    let build_seconds = compiled.is_ok().then(|| started.elapsed().as_secs_f64());
    match compiled {
        Ok(Compiled { machine, lanes, .. }) => {
            let counter = Arc::new(machine);
            kinds.push(Ok(Kind::Engine(Built::Machine(counter.clone()))));
            kinds.extend(plan.widths.iter().map(|width| {
                let (counter, budget) = (counter.clone(), plan.budget());
                let machine = panza_game::compile_lanes(counter, &lanes, &budget, width / 64);
                let machine: Arc<dyn Machine> = Arc::new(machine.ok_or("too large for lanes")?);
                Ok(Kind::Engine(Built::Machine(machine)))
            }));
        }
        Err(reason) => {
            let prover = EngineChoice::Only(EngineKind::Prover);
            let built = engine_choice::build(&game.rules, prover);
            kinds.push(built.map(Kind::Engine).map_err(|error| error.to_string()));
            let failure = || Err(format!("no network: {reason}"));
            kinds.extend(plan.widths.iter().map(|_| failure()));
        }
    }
    let engines = engine_names(&plan.widths).into_iter().zip(kinds);
    let baselines = baselines.iter().map(|baseline| {
        (
            baseline.name.clone(),
            Ok(Kind::Baseline(baseline, rulesheet)),
        )
    });
    let players = engines.chain(baselines).map(|(name, kind)| Player {
        name,
        gates: None,
        kind,
    });
    Players {
        players: players.collect(),
        build_seconds,
    }
}

/// The counter engine with all passes of the network, and with each left out.
pub fn passes_left_out<'a>(plan: &Measurement, game: &Game) -> Players<'a> {
    let all = PassSet::default();
    let engine = |compiled: Compiled| Kind::Engine(Built::Machine(Arc::new(compiled.machine)));
    let without = all.iter().map(|pass| (pass.name(), all.without(pass)));
    let players = std::iter::once(("none", all))
        .chain(without)
        .map(|(name, set)| {
            let compiled = panza_game::compile_with(&game.rules, &set, &plan.budget());
            let gates = compiled.as_ref().map(|compiled| compiled.gates_optimised);
            Player {
                name: name.to_string(),
                gates: gates.ok(),
                kind: compiled.map(engine).map_err(|why| why.to_string()),
            }
        });
    Players {
        players: players.collect(),
        build_seconds: None,
    }
}

/// Lets players make their runs in turn. `on_run` gets the name of each that runs next, `complain`
/// the failures of baselines with what they wrote on standard error.
pub fn compare(
    plan: &Measurement,
    game: &Game,
    players: Players<'_>,
    on_run: impl Fn(&Game, &str),
    complain: impl Fn(&str),
) -> anyhow::Result<GameReport> {
    let Players {
        mut players,
        build_seconds,
    } = players;
    let mut runs: Vec<Vec<(f64, Option<f64>)>> = vec![Vec::new(); players.len()];
    for run in 0..plan.runs {
        for (player, runs) in players.iter_mut().zip(&mut runs) {
            on_run(game, &player.name);
            let measured = match &player.kind {
                Ok(Kind::Engine(built)) => {
                    let until = Until::Elapsed(Duration::from_secs_f64(plan.seconds));
                    let seed = plan.seed.wrapping_add(run.into());
                    let figures = playouts::run(built, 1, seed, until)
                        .with_context(|| game.sheet.name.clone())?;
                    Ok((figures.playouts_per_second, figures.mean_length()))
                }
                Ok(Kind::Baseline(baseline, rulesheet)) => {
                    baseline.run(rulesheet, plan.seconds, plan.baseline_limit)
                }
                // A failed player does not run again.
                Err(_) => continue,
            };
            match measured {
                Ok(measured) => runs.push(measured),
                Err((failure, message)) => {
                    let (name, game) = (&player.name, &game.sheet.name);
                    complain(&format!("{name} on {game}: {failure}: {message}"));
                    player.kind = Err(failure);
                }
            }
        }
    }
    let players = players.into_iter().zip(runs).map(|(player, runs)| {
        let is_prover = |kind: &Kind| match kind {
            Kind::Engine(built) => built.kind() == EngineKind::Prover,
            Kind::Baseline(..) => false,
        };
        let (failure, runs) = match player.kind {
            Ok(kind) if is_prover(&kind) => (Some("played with the prover".to_string()), runs),
            Ok(_) => (None, runs),
            Err(failure) => (Some(failure), Vec::new()),
        };
        let lengths: Option<Vec<f64>> = runs.iter().map(|run| run.1).collect();
        let lengths = lengths.filter(|lengths| !lengths.is_empty());
        PlayerReport {
            name: player.name,
            gates: player.gates,
            rate: Rate::of(runs.iter().map(|run| run.0).collect()),
            mean_length: lengths.map(|lengths| lengths.iter().sum::<f64>() / lengths.len() as f64),
            failure,
        }
    });
    Ok(GameReport {
        game: game.sheet.name.clone(),
        build_seconds,
        players: players.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_medians_with_the_largest_deviation() {
        let rate = Rate::of(vec![300.0, 100.0, 200.0]).unwrap();
        assert_eq!(
            (rate.median, rate.to_string().as_str()),
            (200.0, "200 ±50 %")
        );
        assert_eq!(rate.runs, [300.0, 100.0, 200.0]);
        assert_eq!(Rate::of(vec![4.0, 1.0]).unwrap().median, 2.5);
        assert_eq!(Rate::of(vec![]), None);
    }

    #[test]
    fn each_pass_is_left_out_once() {
        let plan = Measurement {
            seconds: 0.01,
            runs: 2,
            seed: 1,
            build_seconds: 60.0,
            widths: Vec::new(),
            baseline_limit: Duration::from_secs(1),
        };
        let game = Game::load("connectFour").unwrap();
        let report = compare(
            &plan,
            &game,
            passes_left_out(&plan, &game),
            |_, _| {},
            |_| {},
        );
        let report = report.unwrap();
        let names: Vec<&str> = report
            .players
            .iter()
            .map(|player| player.name.as_str())
            .collect();
        let set = PassSet::default();
        let passes = set.iter().map(|pass| pass.name());
        let expected: Vec<&str> = std::iter::once("none").chain(passes).collect();
        assert_eq!(names, expected);
        // Some passes find nothing in some games.
        let gates = report.players[0].gates;
        assert!(
            report.players.iter().any(|player| player.gates != gates),
            "{report:?}"
        );
        for player in &report.players {
            assert_eq!(player.rate.as_ref().unwrap().runs.len(), 2);
        }
    }
}
