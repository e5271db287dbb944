//! The engine that a command runs a game with: which one, and how it is built.
//!
//! Engines are built without time limits, unlike those of a match, except where a command gives
//! one.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use panza_game::{BuildError, BuiltGame, Compiled, PlayoutPolicy, ReducedNetwork};
use panza_gdl::Rules;
use panza_machine::Machine;
use panza_sync::Budget;

/// The number of lanes, unless a command is given another.
pub const WIDTH: usize = 512;

/// A way to run a game.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineKind {
    /// The compiled network, one state at a time.
    Counter,
    /// The compiled network as logic over vectors of bits, hundreds of states at a time.
    Lanes,
    /// The reference prover, straight from the rules.
    Prover,
}

impl EngineKind {
    /// Every engine there is.
    pub const ALL: [EngineKind; 3] = [EngineKind::Counter, EngineKind::Lanes, EngineKind::Prover];
}

impl fmt::Display for EngineKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            EngineKind::Counter => "counter",
            EngineKind::Lanes => "lanes",
            EngineKind::Prover => "prover",
        })
    }
}

/// The engine that the command line names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EngineChoice {
    /// This one and no other.
    Only(EngineKind),
    /// The fastest that can be built for what the command does.
    Auto,
}

/// Reads the name of an engine, or `auto`.
pub fn parse(text: &str) -> Result<EngineChoice, String> {
    match text {
        "auto" => Ok(EngineChoice::Auto),
        _ => parse_kind(text)
            .map(EngineChoice::Only)
            .map_err(|error| format!("{error} or auto")),
    }
}

/// Reads the name of one engine.
pub fn parse_kind(text: &str) -> Result<EngineKind, String> {
    let mut kinds = EngineKind::ALL.into_iter();
    let found = kinds.find(|kind| kind.to_string() == text);
    found.ok_or_else(|| "expected counter, lanes, prover".to_string())
}

/// Reads a number of lanes.
pub fn parse_width(text: &str) -> Result<usize, String> {
    match text {
        "256" => Ok(256),
        "512" => Ok(512),
        "1024" => Ok(1024),
        _ => Err("expected 256, 512 or 1024".to_string()),
    }
}

/// An engine for any number of threads.
pub enum Built {
    /// A compiled machine, which threads share.
    Machine(Arc<dyn Machine>),
    /// The prover, made anew for each thread, since its machine serves one thread at a time.
    Prover(Rules),
}

impl Built {
    /// Which engine it is.
    pub fn kind(&self) -> EngineKind {
        match self {
            Built::Machine(machine) if machine.kind() == "lanes" => EngineKind::Lanes,
            Built::Machine(_) => EngineKind::Counter,
            Built::Prover(_) => EngineKind::Prover,
        }
    }

    /// A machine for one thread.
    pub fn machine(&self) -> anyhow::Result<Arc<dyn Machine>> {
        match self {
            Built::Machine(machine) => Ok(Arc::clone(machine)),
            Built::Prover(rules) => build_prover(rules),
        }
    }
}

/// Builds an engine for single states; lanes are [`WIDTH`] wide.
pub fn build(rules: &Rules, choice: EngineChoice) -> anyhow::Result<Built> {
    match choice {
        EngineChoice::Auto => or_prover(build_machine(rules), rules),
        EngineChoice::Only(kind) => build_within(rules, kind, WIDTH, &Budget::generous()),
    }
}

/// Builds this engine within a budget. The prover needs no time.
///
/// # Errors
/// The game is too large for the engine, or the budget ended a stage.
pub fn build_within(
    rules: &Rules,
    kind: EngineKind,
    width: usize,
    limits: &Budget,
) -> anyhow::Result<Built> {
    match kind {
        EngineKind::Counter => {
            let machine = compile(rules, limits)?.machine;
            Ok(Built::Machine(Arc::new(machine)))
        }
        EngineKind::Lanes => match counter_and_lanes(rules, width, limits)? {
            (_, Some(lanes)) => Ok(Built::Machine(lanes)),
            (_, None) => bail!("no compiled machine: the game is too large for lanes"),
        },
        EngineKind::Prover => {
            let built = Built::Prover(rules.clone());
            built.machine()?;
            Ok(built)
        }
    }
}

/// Builds an engine for playouts; [`EngineChoice::Auto`] takes the one that measures faster.
pub fn build_for_playouts(
    rules: &Rules,
    choice: EngineChoice,
    width: usize,
) -> anyhow::Result<Built> {
    match choice {
        EngineChoice::Only(kind) => build_within(rules, kind, width, &Budget::generous()),
        EngineChoice::Auto => or_prover(build_faster(rules, PlayoutPolicy::Uniform), rules),
    }
}

fn or_prover(machine: anyhow::Result<Arc<dyn Machine>>, rules: &Rules) -> anyhow::Result<Built> {
    machine.map(Built::Machine).or_else(|error| {
        tracing::info!("the prover runs the game: {error}");
        build_for_playouts(rules, EngineChoice::Only(EngineKind::Prover), WIDTH)
    })
}

/// The counter machine.
pub fn build_machine(rules: &Rules) -> anyhow::Result<Arc<dyn Machine>> {
    Ok(Arc::new(compile(rules, &Budget::generous())?.machine))
}

/// The machine that evaluates the rules themselves.
pub fn build_prover(rules: &Rules) -> anyhow::Result<Arc<dyn Machine>> {
    Ok(panza_game::prover(rules)?.machine)
}

/// The machine for a search. For several threads it is the one that measures faster; for a single
/// thread lanes where there are any, so that a seed means the same search each time.
pub fn build_to_search(rules: &Rules, threads: u16) -> anyhow::Result<Arc<dyn Machine>> {
    let compiled = compile(rules, &Budget::generous())?;
    Ok(machine_to_search(
        compiled,
        threads,
        PlayoutPolicy::Decisive,
    ))
}

/// The game for a search by such machines, with its reduced game.
pub fn build_reduced_to_search(rules: &Rules, threads: u16) -> anyhow::Result<BuiltGame> {
    let compiled = compile(rules, &Budget::generous())?;
    let network = compiled.network.clone();
    let machine = machine_to_search(compiled, threads, PlayoutPolicy::Decisive);
    let limits = Budget::generous();
    let reduced = network.and_then(|network| {
        let reduced = ReducedNetwork::new(&network, &limits)?;
        reduced.build(&limits, |compiled, policy| {
            machine_to_search(compiled, threads, policy)
        })
    });
    Ok(BuiltGame {
        reduced: reduced.map(Arc::new),
        ..machine.into()
    })
}

fn machine_to_search(compiled: Compiled, threads: u16, policy: PlayoutPolicy) -> Arc<dyn Machine> {
    if threads > 1 {
        return panza_game::fastest(compiled, &Budget::generous(), policy).0;
    }
    let (counter, lanes) = with_lanes(compiled, WIDTH, &Budget::generous());
    lanes.unwrap_or(counter)
}

/// The machine that measures faster in random playouts.
pub fn build_faster(rules: &Rules, policy: PlayoutPolicy) -> anyhow::Result<Arc<dyn Machine>> {
    let compiled = compile(rules, &Budget::generous())?;
    Ok(panza_game::fastest(compiled, &Budget::generous(), policy).0)
}

type Machines = (Arc<dyn Machine>, Option<Arc<dyn Machine>>);

/// The counter machine, and lanes of a width unless the game is too large for them.
fn counter_and_lanes(rules: &Rules, width: usize, limits: &Budget) -> anyhow::Result<Machines> {
    Ok(with_lanes(compile(rules, limits)?, width, limits))
}

fn with_lanes(compiled: Compiled, width: usize, limits: &Budget) -> Machines {
    let Compiled { machine, lanes, .. } = compiled;
    let counter = Arc::new(machine);
    let n_words = width / 64;
    let lanes = panza_game::compile_lanes(Arc::clone(&counter), &lanes, limits, n_words);
    (counter, lanes.map(|lanes| Arc::new(lanes) as _))
}

fn compile(rules: &Rules, limits: &Budget) -> anyhow::Result<Compiled> {
    let compiled = panza_game::compile(rules, limits);
    compiled.context("no compiled machine")
}
/// The game on the machine that a match would use. Where no network can be built, that is the
/// prover, and the reason is returned too.
pub fn build_as_in_match(
    rules: &Rules,
    time: Duration,
) -> anyhow::Result<(BuiltGame, Option<BuildError>)> {
    let budget = Budget::lasting(time);
    Ok(match panza_game::build(rules, &budget) {
        Ok(built) => (built, None),
        Err(reason) => {
            let built = panza_game::prover(rules)?;
            (built, Some(reason))
        }
    })
}
