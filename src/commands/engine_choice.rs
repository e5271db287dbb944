//! Picks and builds the engine that a command asks for.

use std::sync::Arc;

use super::engine::{EngineError, EngineKind, MachineEngine, ProverEngine};
use crate::build::{self, Compiled, Playing};
use crate::gdl::Rules;
use crate::ground::Budget;
use crate::machine::Machine;

/// What the command line asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EngineChoice {
    /// This one and no other.
    Only(EngineKind),
    /// The fastest that can be built for what the command does.
    Auto,
}

/// An engine that is ready to be used by any number of threads.
pub enum Built {
    /// A compiled machine.
    Machine(Arc<dyn Machine>),
    /// The prover, made anew for each thread.
    Prover(Rules),
}

/// One thread's engine.
pub enum Hands {
    /// On the prover.
    Prover(Box<ProverEngine>),
    /// On a compiled machine.
    Machine(MachineEngine),
}

/// Reads the name of an engine.
///
/// # Errors
/// An unknown name.
pub fn parse(text: &str) -> Result<EngineChoice, String> {
    match text {
        "auto" => Ok(EngineChoice::Auto),
        _ => parse_kind(text)
            .map(EngineChoice::Only)
            .map_err(|error| format!("{error} or auto")),
    }
}

/// Reads the name of one engine.
///
/// # Errors
/// An unknown name.
pub fn parse_kind(text: &str) -> Result<EngineKind, String> {
    match text {
        "counter" => Ok(EngineKind::Counter),
        "prover" => Ok(EngineKind::Prover),
        "lanes" => Ok(EngineKind::Lanes),
        _ => Err("expected counter, lanes, prover".to_string()),
    }
}

/// Lanes of an engine that runs by lanes, unless a command is told otherwise.
pub const WIDTH: usize = 512;

/// Builds an engine, 512 lanes wide where it runs by lanes.
///
/// # Errors
/// The engine asked for cannot run these rules. With [`EngineChoice::Auto`] that is true of every
/// engine.
pub fn build(rules: &Rules, choice: EngineChoice) -> Result<Built, EngineError> {
    match choice {
        // Lanes are no help with one state at a time.
        EngineChoice::Auto => or_prover(build_machine(rules), rules),
        EngineChoice::Only(_) => build_for_playouts(rules, choice, WIDTH),
    }
}

/// Builds an engine for playouts, 256, 512 or 1024 lanes wide where lanes are asked for.
/// [`EngineChoice::Auto`] is what measures faster.
///
/// # Errors
/// As [`build`].
pub fn build_for_playouts(
    rules: &Rules,
    choice: EngineChoice,
    width: usize,
) -> Result<Built, EngineError> {
    match choice {
        EngineChoice::Only(EngineKind::Lanes) => build_lanes(rules, width).map(Built::Machine),
        EngineChoice::Only(EngineKind::Counter) => build_machine(rules).map(Built::Machine),
        EngineChoice::Only(EngineKind::Prover) => build_prover(rules),
        EngineChoice::Auto => or_prover(build_faster(rules, Playing::Evenly), rules),
    }
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

    /// A new thread's engine.
    ///
    /// # Errors
    /// The prover refuses the rules.
    pub fn hands(&self) -> Result<Hands, EngineError> {
        Ok(match self {
            Built::Machine(machine) => Hands::Machine(MachineEngine::new(machine)),
            Built::Prover(rules) => Hands::Prover(Box::new(ProverEngine::new(rules)?)),
        })
    }
}

/// A machine, or the prover where there is none.
fn or_prover(
    machine: Result<Arc<dyn Machine>, EngineError>,
    rules: &Rules,
) -> Result<Built, EngineError> {
    match machine {
        Ok(machine) => Ok(Built::Machine(machine)),
        Err(error) => {
            tracing::info!(%error, "playing with the prover");
            build_prover(rules)
        }
    }
}

/// The prover cannot refuse later what it took once.
fn build_prover(rules: &Rules) -> Result<Built, EngineError> {
    ProverEngine::new(rules)?;
    Ok(Built::Prover(rules.clone()))
}

/// The machine that the player plays with, built without hurry.
///
/// # Errors
/// The rules have no finite ground form, or it takes too much memory.
pub fn build_machine(rules: &Rules) -> Result<Arc<dyn Machine>, EngineError> {
    let compiled = build::compile(rules, Budget::generous()).map_err(EngineError::Build)?;
    Ok(Arc::new(compiled.machine))
}

/// The machine that measures faster, for a search; for a single thread one that does not depend on
/// what was measured, so that a seed means the same search each time: lanes where there are any.
///
/// # Errors
/// As [`build_machine`].
pub fn build_to_search(rules: &Rules, threads: u16) -> Result<Arc<dyn Machine>, EngineError> {
    if threads > 1 {
        return build_faster(rules, Playing::Decisively);
    }
    let limits = Budget::generous();
    let compiled = build::compile(rules, limits).map_err(EngineError::Build)?;
    let Compiled { machine, lanes, .. } = compiled;
    let counter = Arc::new(machine);
    let abreast = build::compile_lanes(Arc::clone(&counter), &lanes, limits, WIDTH / 64);
    Ok(match abreast {
        Some(machine) => Arc::new(machine),
        None => counter,
    })
}

/// The machine that measures faster in random playouts, built without hurry.
///
/// # Errors
/// As [`build_machine`].
pub fn build_faster(rules: &Rules, playing: Playing) -> Result<Arc<dyn Machine>, EngineError> {
    let limits = Budget::generous();
    let compiled = build::compile(rules, limits).map_err(EngineError::Build)?;
    Ok(build::fastest(compiled, limits, playing).0)
}

/// The lanes machine of a game, built without hurry.
///
/// # Errors
/// As [`build_machine`], or the game is too large for lanes.
fn build_lanes(rules: &Rules, width: usize) -> Result<Arc<dyn Machine>, EngineError> {
    let limits = Budget::generous();
    let compiled = build::compile(rules, limits).map_err(EngineError::Build)?;
    let Compiled { machine, lanes, .. } = compiled;
    let machine = build::compile_lanes(Arc::new(machine), &lanes, limits, width / 64);
    match machine {
        Some(machine) => Ok(Arc::new(machine)),
        None => Err(EngineError::Build(
            "the game is too large for lanes".to_string(),
        )),
    }
}
