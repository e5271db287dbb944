//! `panza search --method alpha-beta`: searches one position by depth and shows its lines.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};

use panza_cli::Output;
use panza_cli::output::{Column, counted, grouped, table};
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{GameInfo, Machine};
use panza_metagame::Study;
use panza_search::SearchConfig;
use panza_search::alpha_beta::{
    AlphaBeta, AlphaBetaConfig, Counts, DepthReport, DepthValues, RankedMove, Switches,
};
use panza_sync::Budget;

/// Bytes of the table.
const TABLE_BYTES: usize = 256 << 20;
/// Lines that are shown, at most, and moves of each.
const MAX_LINES: usize = 3;
const MAX_SHOWN_MOVES: usize = 8;

/// A position and what it is searched with.
pub struct ByDepth<'a> {
    pub game: &'a str,
    pub machine: &'a Arc<dyn Machine>,
    pub state: &'a [u64],
    pub role: RoleId,
    pub config: &'a SearchConfig,
    pub study: Option<&'a Study>,
}

impl ByDepth<'_> {
    /// Searches until then or so many nodes, and shows what was found.
    pub fn run(
        &self,
        time: Option<Duration>,
        max_nodes: Option<u64>,
        stop: &Arc<AtomicBool>,
        output: Output,
    ) -> anyhow::Result<()> {
        let values = match &self.config.depth_values {
            Some(values) => Some(values.clone()),
            None => DepthValues::unknown(self.machine),
        };
        let refusal =
            "alpha-beta searches games of two roles in turns whose goals have a fixed sum";
        let values = values.context(refusal)?;
        let sum = values.evaluation.scale();
        let config = AlphaBetaConfig {
            values,
            table_bytes: TABLE_BYTES,
            threads: self.config.rollout_threads + 1,
            switches: Switches::default(),
        };
        let mut search = AlphaBeta::new(self.machine, &config).context(refusal)?;
        search.set_state(self.state);
        let started = Instant::now();
        search.run(
            Budget {
                until: time.map(|time| started + time),
                max_steps: max_nodes.unwrap_or(u64::MAX),
                stop: Some(stop),
                ..Budget::generous()
            },
            u32::MAX,
        );
        let seconds = started.elapsed().as_secs_f64();
        let report = search.report();
        let found = Found {
            lines: lines(&mut search, &report),
            counts: search.counts(),
            bytes: search.n_bytes(),
            report,
            seconds,
            sum,
        };
        self.show(&found, output)
    }

    fn show(&self, found: &Found, output: Output) -> anyhow::Result<()> {
        let info = self.machine.info();
        let Found { report, counts, .. } = found;
        let rate = counts.nodes as f64 / found.seconds.max(1e-9);
        let is_ours = report.mover == Some(self.role.index());
        let value_of = |share: f32| {
            let share = if is_ours { share } else { 1.0 - share };
            f64::from((found.sum * share * 100.0).round()) / 100.0
        };
        let is_known = report.mover.is_some();
        let value = is_known.then(|| value_of(report.share));
        let proven = value.filter(|_| report.is_proven).map(f64::round);
        let best = report.best.filter(|_| is_ours);
        let best = best.map(|mv| info.move_text(mv));
        let moves = report.moves.iter().filter(|_| is_ours).map(|ranked| {
            json!({
                "move": info.move_text(ranked.mv),
                "visits": ranked.nodes,
                "value": value_of(ranked.share),
                "is_bound": !ranked.is_exact,
            })
        });
        let texts = |line: &[MoveId]| -> Vec<String> {
            line.iter().map(|&mv| info.move_text(mv)).collect()
        };
        let lines = found.lines.iter().map(|(ranked, line)| {
            json!({
                "value": value_of(ranked.share),
                "is_bound": !ranked.is_exact,
                "moves": texts(line),
            })
        });
        let mut object = json!({
            "game": self.game,
            "machine": self.machine.kind(),
            "method": "alpha-beta",
            "role": info.role_name(self.role),
            "move": best,
            "value": value,
            "proven": proven,
            "iterations": counts.nodes,
            "iterations_per_second": rate,
            "nodes": counts.nodes,
            "nodes_per_second": rate,
            "shares": shares(counts),
            "playouts": 0,
            "bytes": found.bytes,
            "depth": report.depth,
            "selective_depth": report.selective_depth,
            "seconds": found.seconds,
            "lines": lines.collect::<Vec<_>>(),
            "moves": moves.collect::<Vec<_>>(),
        });
        if let Some(study) = self.study {
            object["study"] = study.to_json();
        }
        output.object(&object)?;
        output.line(format_args!(
            "{} ({}), {}: {}, value {}, proven {}\n\
             alpha-beta, depth {} ({} selective), {} ({} per second), {:.2} s",
            self.game,
            self.machine.kind(),
            info.role_name(self.role),
            best.as_deref().unwrap_or("no choice"),
            value.map_or("-".to_string(), |value| format!("{value:.2}")),
            proven.map_or("-".to_string(), |goal| goal.to_string()),
            report.depth,
            report.selective_depth,
            counted(counts.nodes, "node"),
            grouped(rate.round() as u64),
            found.seconds,
        ))?;
        if is_known {
            output.line(format_args!("\n{}", lines_table(found, info, value_of)))?;
        }
        Ok(())
    }
}

/// Where the work of a search went: parts of its nodes, but of cuts and of reduced searches where
/// the name says so.
fn shares(counts: &Counts) -> Value {
    let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    json!({
        "quiescence": share(counts.quiet_nodes, counts.nodes),
        "known_by_table": share(counts.table_cuts, counts.nodes),
        "static_enough": share(counts.static_cuts, counts.nodes),
        "cuts_by_first_move": share(counts.first_cuts, counts.cuts),
        "reduced_searched_again": share(counts.searched_again, counts.reduced),
    })
}

/// What a search has found.
struct Found {
    report: DepthReport,
    /// The best moves, and the lines that begin with them.
    lines: Vec<(RankedMove, Vec<MoveId>)>,
    counts: Counts,
    bytes: usize,
    seconds: f64,
    /// The sum of the goals.
    sum: f32,
}

fn lines(search: &mut AlphaBeta, report: &DepthReport) -> Vec<(RankedMove, Vec<MoveId>)> {
    let moves = report.moves.iter().take(MAX_LINES);
    moves
        .map(|ranked| (*ranked, search.line(ranked.mv)))
        .collect()
}

/// The lines as a table. Values of moves that are no better than the best one are upper bounds of
/// what the mover has.
fn lines_table(found: &Found, info: &dyn GameInfo, value_of: impl Fn(f32) -> f64) -> String {
    let columns = [
        Column::figure("value"),
        Column::figure("nodes"),
        Column::text("line"),
    ];
    let rows = found.lines.iter().map(|(ranked, line)| {
        let bound = if ranked.is_exact {
            ""
        } else {
            "no better than "
        };
        let shown = line.iter().take(MAX_SHOWN_MOVES);
        let mut moves: Vec<String> = shown.map(|&mv| info.move_text(mv)).collect();
        if line.len() > MAX_SHOWN_MOVES {
            moves.push("...".to_string());
        }
        vec![
            format!("{bound}{:.2}", value_of(ranked.share)),
            grouped(ranked.nodes),
            moves.join(" "),
        ]
    });
    table(&columns, &rows.collect::<Vec<_>>())
}
