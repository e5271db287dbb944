//! `panza stats`: how large a game is as a network, and how long building it takes.

use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::game_source::Game;
use super::outcome::Outcome;
use super::output::{Output, grouped, spinner};
use crate::build::{Compiled, compile};
use crate::ground::Budget;
use crate::machine::Machine;
use crate::telemetry::peak_resident_bytes;

/// Arguments of `panza stats`.
#[derive(Args, Debug)]
pub struct StatsArguments {
    /// Path to a rulesheet, or the name of a game.
    game: String,
}

#[derive(Serialize)]
struct Report<'a> {
    game: &'a str,
    roles: usize,
    bases: Option<usize>,
    inputs: Option<usize>,
    ground_rules: Option<usize>,
    gates_full: Option<usize>,
    gates_optimised: Option<usize>,
    /// Of each phase's network; empty when the game has no phases.
    gates_of_phases: Option<Vec<usize>>,
    ground_seconds: Option<f64>,
    propnet_seconds: Option<f64>,
    compile_seconds: Option<f64>,
    peak_bytes: Option<u64>,
    machine: &'static str,
    /// Why there is no compiled machine, where there is none.
    reason: Option<String>,
}

/// Runs the command. A game that cannot be compiled is told so, and is no error: it is played with
/// the prover.
///
/// # Errors
/// A game that cannot be read.
pub fn run(arguments: &StatsArguments, output: Output) -> anyhow::Result<Outcome> {
    let game = Game::load(&arguments.game)?;
    let progress = spinner(format!("{}: compiling", game.sheet.name));
    let compiled = compile(&game.rules, Budget::generous());
    progress.finish_and_clear();
    let report = report(&game, compiled.as_ref());
    output.object(&report)?;
    if !output.is_json() {
        show(&report, output)?;
    }
    Ok(Outcome::Holds)
}

fn report<'a>(game: &'a Game, compiled: Result<&Compiled, &String>) -> Report<'a> {
    let reason = compiled.err().cloned();
    let compiled = compiled.ok();
    let seconds =
        |time: fn(&Compiled) -> Duration| compiled.map(|compiled| time(compiled).as_secs_f64());
    Report {
        game: &game.sheet.name,
        roles: game.rules.roles().len(),
        bases: compiled.map(|compiled| compiled.bases),
        inputs: compiled.map(|compiled| compiled.moves),
        ground_rules: compiled.map(|compiled| compiled.ground_rules),
        gates_full: compiled.map(|compiled| compiled.gates_full),
        gates_optimised: compiled.map(|compiled| compiled.gates_optimised),
        gates_of_phases: compiled.map(|compiled| compiled.gates_of_phases.clone()),
        ground_seconds: seconds(|compiled| compiled.ground_time),
        propnet_seconds: seconds(|compiled| compiled.network_time),
        compile_seconds: seconds(|compiled| compiled.compile_time),
        peak_bytes: peak_resident_bytes(),
        machine: compiled.map_or("prover", |compiled| compiled.machine.kind()),
        reason,
    }
}

fn show(report: &Report<'_>, output: Output) -> std::io::Result<()> {
    let count = |count: Option<usize>| count.map_or("-".to_string(), |n| grouped(n as u64));
    let seconds = |seconds: Option<f64>| seconds.map_or("-".to_string(), |s| format!("{s:.4} s"));
    let peak = report.peak_bytes.map_or("-".to_string(), |bytes| {
        format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
    });
    let phases = report.gates_of_phases.as_deref().unwrap_or_default();
    let phases = match phases {
        [] => "-".to_string(),
        phases => phases
            .iter()
            .map(|&gates| grouped(gates as u64))
            .collect::<Vec<_>>()
            .join(" + "),
    };
    output.line(report.game)?;
    for (what, value) in [
        ("roles", report.roles.to_string()),
        ("bases", count(report.bases)),
        ("inputs", count(report.inputs)),
        ("ground rules", count(report.ground_rules)),
        ("gates, full", count(report.gates_full)),
        ("gates, optimised", count(report.gates_optimised)),
        ("gates, by phase", phases),
        ("grounding", seconds(report.ground_seconds)),
        ("network", seconds(report.propnet_seconds)),
        ("compiling", seconds(report.compile_seconds)),
        ("peak memory", peak),
        ("machine", report.machine.to_string()),
    ] {
        output.line(format_args!("  {what:<17} {value:>14}"))?;
    }
    match &report.reason {
        Some(reason) => output.line(format_args!("  not compiled: {reason}")),
        None => Ok(()),
    }
}
