//! How fast games are searched: iterations, nodes and playouts per second.
//!
//! The search starts in the initial state of each game, with the machine and the settings of a
//! match.

use std::sync::Arc;
use std::time::{Duration, Instant};

use panza_cli::Game;
use panza_cli::engine_choice::build_faster;
use panza_config::Settings;
use panza_game::PlayoutPolicy;
use panza_gdl::RoleId;
use panza_player::search_config;
use panza_search::Search;
use panza_sync::{Budget, thread_cpu_time};
use serde::Serialize;

use super::measure::{Measurement, Rate};
use crate::page::{Table, or_dash, quantity};

/// The measurements of a game's search. Durations and sizes are those of the last run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SearchReport {
    pub game: String,
    /// Threads, one of which grows the graph.
    pub threads: usize,
    pub iterations: Option<Rate>,
    /// Iterations per second of processor time of the thread that grows the graph.
    pub writer_iterations: Option<Rate>,
    pub nodes: Option<Rate>,
    pub playouts: Option<Rate>,
    /// Mean time of the writer per iteration to select, send a request, expand and back up, in ns.
    pub parts: Option<[f64; 4]>,
    pub bytes_per_node: Option<f64>,
    /// Seconds until the game was proven, if it was.
    pub proven_seconds: Option<f64>,
}

/// Searches a game once for each run.
pub fn measure(
    plan: &Measurement,
    game: &Game,
    threads: usize,
    on_run: impl Fn(),
) -> anyhow::Result<SearchReport> {
    let machine = build_faster(&game.rules, PlayoutPolicy::Decisive)?;
    let settings = Settings::load(None, &[])?;
    let mut rates: [Vec<f64>; 4] = Default::default();
    let (mut parts, mut bytes_per_node, mut proven_seconds) = (None, None, None);
    for run in 0..plan.runs {
        on_run();
        let mut config = search_config(&settings.search, plan.seed.wrapping_add(run.into()));
        config.rollout_threads = threads.saturating_sub(1);
        let mut search = Search::new(Arc::clone(&machine), RoleId(0), config);
        let (started, cpu_started) = (Instant::now(), thread_cpu_time());
        search
            .run(&Budget::generous().until(Some(started + Duration::from_secs_f64(plan.seconds))));
        let seconds = started.elapsed().as_secs_f64().max(1e-9);
        let cpu = thread_cpu_time().zip(cpu_started);
        let cpu = cpu.map(|(now, before)| now.saturating_sub(before).as_secs_f64().max(1e-9));
        let root = search.root();
        let statistics = search.statistics();
        let nodes = f64::from(statistics.nodes);
        rates[0].push(root.iterations as f64 / seconds);
        rates[1].extend(cpu.map(|cpu| root.iterations as f64 / cpu));
        rates[2].push((nodes + statistics.evicted as f64) / seconds);
        rates[3].push(root.playouts as f64 / seconds);
        parts = search.times().means();
        bytes_per_node = (nodes > 0.0).then(|| statistics.bytes as f64 / nodes);
        proven_seconds = root.proven.map(|_| seconds);
    }
    let [iterations, writer_iterations, nodes, playouts] = rates.map(Rate::of);
    Ok(SearchReport {
        game: game.sheet.name.clone(),
        threads,
        iterations,
        writer_iterations,
        nodes,
        playouts,
        parts,
        bytes_per_node,
        proven_seconds,
    })
}

impl SearchReport {
    pub fn table(reports: &[Self]) -> Table {
        let mut table = Table::new([
            "game",
            "threads",
            "iterations / s",
            "writer's iterations / s",
            "nodes / s",
            "playouts / s",
            "select",
            "send",
            "expand",
            "back up",
            "bytes / node",
            "proven in s",
        ]);
        for report in reports {
            let parts = match report.parts {
                Some(parts) => parts.map(|part| format!("{part:.0}")),
                None => [(); 4].map(|()| "-".to_string()),
            };
            let mut row = vec![
                report.game.clone(),
                report.threads.to_string(),
                or_dash(report.iterations.as_ref()),
                or_dash(report.writer_iterations.as_ref()),
                or_dash(report.nodes.as_ref()),
                or_dash(report.playouts.as_ref()),
            ];
            row.extend(parts);
            let proven = report.proven_seconds.map(|seconds| format!("{seconds:.2}"));
            row.extend([
                or_dash(report.bytes_per_node.map(quantity)),
                or_dash(proven),
            ]);
            table.push(row);
        }
        table
    }
}
