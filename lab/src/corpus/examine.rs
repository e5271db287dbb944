//! One game of a corpus: built under a budget, and held against its recorded playouts on each
//! machine.
//!
//! What is found is told step by step, so that a game that takes the process down with it has still
//! told what was known before.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::folder::Corpus;
use super::known;
use panza::commands::engine::{EngineKind, MachineEngine, ProverEngine};
use panza::commands::engine_choice;
use panza::commands::game_source::{Game, Rulesheet};
use panza::commands::replay::{Replay, replay_file};
use panza::ground;
use panza::machine::Machine;
use panza::player::{self, Compiled};
use panza::sync::clock::thread_cpu_time;
use panza::telemetry::peak_resident_bytes;

/// What building a game may take.
#[derive(Clone, Copy, Debug)]
pub struct BuildBudget {
    /// Time from rules to machine.
    pub time: Duration,
    /// Bytes that its tables may hold.
    pub bytes: usize,
}

/// What building a game came to.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Built {
    /// What the game is played with.
    pub machine: EngineKind,
    /// Why that is the prover, where it is.
    pub reason: Option<String>,
    /// Gates before the passes.
    pub gates_full: Option<usize>,
    /// Gates after them.
    pub gates_optimised: Option<usize>,
    /// Gates of each phase's network; empty when the game has no phases.
    pub gates_of_phases: Vec<usize>,
    /// From rules to machine, or to giving up.
    pub build_seconds: f64,
    /// What of it was spent on the processor, where the system tells: other work on the machine
    /// does not add to it.
    pub processor_seconds: Option<f64>,
    /// The most memory that the process had in RAM until then.
    pub peak_bytes: Option<u64>,
}

/// What the recorded playouts said of one machine.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Verified {
    /// The machine.
    pub machine: EngineKind,
    /// States compared.
    pub states: u64,
    /// Differences that nothing excuses.
    pub disagreements: u64,
    /// Differences in what the traces are known to have wrong.
    pub known_defects: u64,
    /// The first disagreement.
    pub first: Option<String>,
    /// How long it took.
    pub seconds: f64,
}

/// One step of what is found out about a game.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Finding {
    /// The game was built, or could not be.
    Built(Built),
    /// A machine was compared with the traces.
    Verified(Verified),
}

/// Builds a game and compares the machines asked for with its traces; the counter engine and lanes
/// only where there are such.
///
/// # Errors
/// The rulesheet or a trace cannot be read, the rules cannot be played or the prover refuses them,
/// or `on_finding` failed.
pub fn examine(
    corpus: &Corpus,
    key: &str,
    budget: BuildBudget,
    machines: &[EngineKind],
    mut on_finding: impl FnMut(Finding) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let sheet = Rulesheet::find(&corpus.rulesheet(key).to_string_lossy())?;
    let rules = Game::as_played(sheet)?.rules;
    let (started, cpu_started) = (Instant::now(), thread_cpu_time());
    let limits = ground::Budget {
        until: Some(started + budget.time),
        max_bytes: budget.bytes,
    };
    let compiled = player::compile(&rules, limits);
    let time = started.elapsed();
    let cpu_time = cpu_started
        .zip(thread_cpu_time())
        .map(|(before, after)| after.saturating_sub(before));
    on_finding(Finding::Built(built(&compiled, time, cpu_time)))?;
    let compiled = compiled.ok().map(|compiled| {
        let Compiled { machine, lanes, .. } = compiled;
        (Arc::new(machine), lanes)
    });

    for &kind in machines {
        let started = Instant::now();
        let mut replay = Replay {
            excused_parts: known::parts(key),
            ..Replay::default()
        };
        let machine: Option<Arc<dyn Machine>> = match (kind, &compiled) {
            (EngineKind::Counter, Some((machine, _))) => Some(machine.clone()),
            (EngineKind::Lanes, Some((machine, source))) => {
                let n_words = engine_choice::WIDTH / 64;
                let lanes = player::compile_lanes(machine.clone(), source, limits, n_words);
                lanes.map(|lanes| Arc::new(lanes) as Arc<dyn Machine>)
            }
            _ => None,
        };
        match machine {
            Some(machine) => {
                let mut engine = MachineEngine::new(&machine);
                for trace in corpus.traces(key) {
                    replay_file(&mut engine, &trace, &mut replay, || {})?;
                }
            }
            None if kind == EngineKind::Prover => {
                let mut engine = ProverEngine::new(&rules)?;
                for trace in corpus.traces(key) {
                    replay_file(&mut engine, &trace, &mut replay, || {})?;
                }
            }
            None => continue,
        }
        let verified = verified(kind, replay, corpus, started.elapsed());
        on_finding(Finding::Verified(verified))?;
    }
    Ok(())
}

fn built(compiled: &Result<Compiled, String>, time: Duration, cpu_time: Option<Duration>) -> Built {
    let (machine, reason) = match compiled {
        Ok(_) => (EngineKind::Counter, None),
        Err(reason) => (EngineKind::Prover, Some(reason.clone())),
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

fn verified(machine: EngineKind, replay: Replay, corpus: &Corpus, time: Duration) -> Verified {
    let first = replay.first.map(|mut first| {
        // Where the corpus stands says nothing about the game.
        if let Ok(inside) = Path::new(&first.trace).strip_prefix(corpus.folder()) {
            first.trace = inside.display().to_string();
        }
        first.to_string()
    });
    Verified {
        machine,
        states: replay.states,
        disagreements: replay.disagreements,
        known_defects: replay.excused,
        first,
        seconds: time.as_secs_f64(),
    }
}
