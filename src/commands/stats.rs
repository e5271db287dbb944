//! `panza stats`: sizes of a game as a network, and build times.

use std::time::Duration;

use clap::Args;
use serde_json::json;

use panza_cli::arguments::parse_seconds;
use panza_cli::output::{countdown, grouped};
use panza_cli::{Game, Outcome, Output};
use panza_game::{Compiled, compile};
use panza_machine::Machine;
use panza_sync::Budget;
use panza_telemetry::peak_resident_bytes;

#[derive(Args, Debug)]
pub struct StatsArguments {
    /// Path to a rulesheet, or the name of a game.
    game: String,
    /// Seconds to build the game; one that takes longer has no sizes.
    #[arg(long, default_value_t = 60.0, value_parser = parse_seconds, value_name = "S")]
    build_seconds: f64,
}

/// Runs the command. A game that cannot be compiled in time has no sizes; the prover runs it.
pub fn run(arguments: &StatsArguments, output: Output) -> anyhow::Result<Outcome> {
    let game = Game::load(&arguments.game)?;
    let time = Duration::from_secs_f64(arguments.build_seconds);
    let progress = countdown(format!("{}: compiling", game.sheet.name), Some(time));
    let compiled = compile(&game.rules, &Budget::lasting(time));
    progress.finish_and_clear();
    let reason = compiled.as_ref().err().map(ToString::to_string);
    let compiled = compiled.as_ref().ok();
    let size = |of: fn(&Compiled) -> usize| compiled.map(of);
    let time = |of: fn(&Compiled) -> Duration| compiled.map(|compiled| of(compiled).as_secs_f64());
    let n_roles = game.rules.roles().len();
    let phases = compiled.map(|compiled| &compiled.gates_of_phases);
    let machine = compiled.map_or("prover", |compiled| compiled.machine.kind());
    let sizes = [
        ("bases", "bases", size(|it| it.bases)),
        ("inputs", "inputs", size(|it| it.moves)),
        ("ground_rules", "ground rules", size(|it| it.ground_rules)),
        ("gates_full", "gates, full", size(|it| it.gates_full)),
        (
            "gates_optimised",
            "gates, optimised",
            size(|it| it.gates_optimised),
        ),
    ];
    let times = [
        ("ground_seconds", "grounding", time(|it| it.ground_time)),
        ("propnet_seconds", "network", time(|it| it.network_time)),
        ("compile_seconds", "compiling", time(|it| it.compile_time)),
    ];
    let peak_bytes = peak_resident_bytes();
    let mut object = json!({
        "game": game.sheet.name,
        "roles": n_roles,
        "gates_of_phases": phases,
        "peak_bytes": peak_bytes,
        "machine": machine,
        "reason": reason,
    });
    for (key, _, size) in &sizes {
        object[key] = json!(size);
    }
    for (key, _, seconds) in &times {
        object[key] = json!(seconds);
    }
    output.object(&object)?;

    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_string());
    let shown = |n: &usize| grouped(*n as u64);
    let phases = phases.filter(|phases| !phases.is_empty());
    let phases = phases.map(|phases| phases.iter().map(shown).collect::<Vec<_>>().join(" + "));
    let mut rows = vec![("roles", n_roles.to_string())];
    rows.extend(sizes.map(|(_, label, size)| (label, or_dash(size.as_ref().map(shown)))));
    rows.push(("gates, by phase", or_dash(phases)));
    let seconds = |seconds: f64| format!("{seconds:.4} s");
    rows.extend(times.map(|(_, label, time)| (label, or_dash(time.map(seconds)))));
    let peak = peak_bytes.map(|bytes| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)));
    rows.extend([
        ("peak memory", or_dash(peak)),
        ("machine", machine.to_string()),
    ]);
    output.line(&game.sheet.name)?;
    for (label, value) in rows {
        output.line(format_args!("  {label:<17} {value:>14}"))?;
    }
    if let Some(reason) = reason {
        output.line(format_args!("  not compiled: {reason}"))?;
    }
    Ok(Outcome::Holds)
}
