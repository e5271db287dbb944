//! One game of a corpus: built under a budget, then compared with its recorded playouts on the
//! counter engine and the prover.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use panza_cli::engine_choice::build_prover;
use panza_cli::replay::replay_file;
use panza_cli::{EngineKind, Game, Replay, Rulesheet};
use panza_game::{BuildError, Compiled};
use panza_machine::Machine;
use panza_telemetry::peak_resident_bytes;

use panza_sync::{Budget, thread_cpu_time};
use serde::{Deserialize, Serialize};

use super::known;
use panza_testing::corpus::Corpus;

/// The result of building a game.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Built {
    /// The engine that plays the game.
    pub machine: EngineKind,
    /// Why that is the prover, where it is.
    pub reason: Option<String>,
    /// Gates before the passes.
    pub gates_full: Option<usize>,
    /// Gates after the passes.
    pub gates_optimised: Option<usize>,
    /// Gates of each phase's network; empty when the game has no phases.
    pub gates_of_phases: Vec<usize>,
    /// Wall-clock time from rules to machine, or to the end of the budget.
    pub build_seconds: f64,
    /// Processor time of that, where the system has it.
    pub processor_seconds: Option<f64>,
    /// Peak resident memory of the process until then.
    pub peak_bytes: Option<u64>,
}

/// The comparison of one engine with the recorded playouts.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Verified {
    /// The engine.
    pub machine: EngineKind,
    /// States compared.
    pub states: u64,
    /// Differences outside the known defects.
    pub disagreements: u64,
    /// Differences in known defects of the traces.
    pub known_defects: u64,
    /// The first disagreement.
    pub first: Option<String>,
    /// Wall-clock time.
    pub seconds: f64,
}

/// One step of the examination of a game.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Finding {
    /// The game was built, or the budget ended.
    Built(Built),
    /// An engine was compared with the traces.
    Verified(Verified),
}

/// Builds a game within a budget and compares engines with its traces: the counter engine where it
/// can be built, and with `with_prover` the prover. Each finding is given to `on_finding` at once.
/// Fails where a file cannot be read, no engine takes the rules, or `on_finding` fails.
pub fn examine(
    corpus: &Corpus,
    key: &str,
    budget: &Budget,
    with_prover: bool,
    mut on_finding: impl FnMut(Finding) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let sheet = Rulesheet::find(&corpus.rulesheet(key).to_string_lossy())?;
    let rules = Game::as_played(sheet)?.rules;
    let (started, cpu_started) = (Instant::now(), thread_cpu_time());
    let compiled = panza_game::compile(&rules, budget);
    let time = started.elapsed();
    let cpu_time = cpu_started
        .zip(thread_cpu_time())
        .map(|(before, after)| after.saturating_sub(before));
    on_finding(Finding::Built(built(&compiled, time, cpu_time)))?;
    if let Ok(compiled) = compiled {
        let machine: Arc<dyn Machine> = Arc::new(compiled.machine);
        let verified = verify(corpus, key, EngineKind::Counter, &machine)?;
        on_finding(Finding::Verified(verified))?;
    }
    if with_prover {
        let machine = build_prover(&rules)?;
        let verified = verify(corpus, key, EngineKind::Prover, &machine)?;
        on_finding(Finding::Verified(verified))?;
    }
    Ok(())
}

fn built(
    compiled: &Result<Compiled, BuildError>,
    time: Duration,
    cpu_time: Option<Duration>,
) -> Built {
    let (machine, reason) = match compiled {
        Ok(_) => (EngineKind::Counter, None),
        Err(reason) => (EngineKind::Prover, Some(reason.to_string())),
    };
    let compiled = compiled.as_ref().ok();
    Built {
        machine,
        reason,
        gates_full: compiled.map(|compiled| compiled.gates_full),
        gates_optimised: compiled.map(|compiled| compiled.gates_optimised),
        gates_of_phases: compiled
            .map(|compiled| compiled.gates_of_phases.clone())
            .unwrap_or_default(),
        build_seconds: time.as_secs_f64(),
        processor_seconds: cpu_time.map(|time| time.as_secs_f64()),
        peak_bytes: peak_resident_bytes(),
    }
}

fn verify(
    corpus: &Corpus,
    key: &str,
    kind: EngineKind,
    machine: &Arc<dyn Machine>,
) -> anyhow::Result<Verified> {
    let started = Instant::now();
    let mut replay = Replay {
        excused_parts: known::parts(key),
        ..Replay::default()
    };
    for trace in corpus.traces(key) {
        replay_file(machine, &trace, &mut replay, || {})?;
    }
    let first = replay.first.map(|mut first| {
        if let Ok(inside) = Path::new(&first.trace).strip_prefix(corpus.folder()) {
            first.trace = inside.display().to_string();
        }
        first.to_string()
    });
    Ok(Verified {
        machine: kind,
        states: replay.states,
        disagreements: replay.disagreements,
        known_defects: replay.excused,
        first,
        seconds: started.elapsed().as_secs_f64(),
    })
}
