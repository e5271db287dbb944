//! `panza search --method alpha-beta`: searches one position by depth and shows its lines.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};

use panza_cli::Output;
use panza_cli::output::{Column, countdown, counted, grouped, table};
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::Machine;
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
    /// Searches for a time or a number of nodes, and shows what was found.
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
        let message = format!("{}: searching", self.game);
        let progress = countdown(message, time);
        let started = Instant::now();
        search.run(
            &Budget::generous()
                .until(time.map(|time| started + time))
                .with_steps(max_nodes.unwrap_or(u64::MAX))
                .stopped_by(stop),
            u32::MAX,
        );
        let seconds = started.elapsed().as_secs_f64();
        progress.finish_and_clear();
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
        output.object(&self.object(found))?;
        let (value, proven) = (self.value(found), self.proven(found));
        output.line(format_args!(
            "{} ({}), {}: {}, value {}, proven {}\n\
             alpha-beta, depth {} ({} selective), {} ({} per second), {:.2} s",
            self.game,
            self.machine.kind(),
            info.role_name(self.role),
            self.best(found).as_deref().unwrap_or("no choice"),
            value.map_or("-".to_string(), |value| format!("{value:.2}")),
            proven.map_or("-".to_string(), |goal| goal.to_string()),
            report.depth,
            report.selective_depth,
            counted(counts.nodes, "node"),
            grouped(found.nodes_per_second().round() as u64),
            found.seconds,
        ))?;
        if report.mover.is_some() {
            output.line(format_args!("\n{}", self.lines_table(found)))?;
        }
        Ok(())
    }

    /// Whether the role that is searched for chooses.
    fn is_mover(&self, found: &Found) -> bool {
        found.report.mover == Some(self.role.index())
    }

    /// The value for the role where the mover has this share of the goals.
    fn value_of(&self, found: &Found, share: f32) -> f64 {
        let share = if self.is_mover(found) {
            share
        } else {
            1.0 - share
        };
        f64::from((found.sum * share * 100.0).round()) / 100.0
    }

    fn value(&self, found: &Found) -> Option<f64> {
        let share = found.report.share;
        found.report.mover.map(|_| self.value_of(found, share))
    }

    fn proven(&self, found: &Found) -> Option<f64> {
        let value = self.value(found).filter(|_| found.report.is_proven);
        value.map(f64::round)
    }

    fn best(&self, found: &Found) -> Option<String> {
        let best = found.report.best.filter(|_| self.is_mover(found));
        best.map(|mv| self.machine.info().move_text(mv))
    }

    /// What was found, as JSON.
    fn object(&self, found: &Found) -> Value {
        let info = self.machine.info();
        let Found { report, counts, .. } = found;
        let of_role = report.moves.iter().filter(|_| self.is_mover(found));
        let moves = of_role.map(|ranked| {
            json!({
                "move": info.move_text(ranked.mv),
                "visits": ranked.nodes,
                "value": self.value_of(found, ranked.share),
                "is_bound": !ranked.is_exact,
            })
        });
        let lines = found.lines.iter().map(|(ranked, line)| {
            let moves = line.iter().map(|&mv| info.move_text(mv));
            json!({
                "value": self.value_of(found, ranked.share),
                "is_bound": !ranked.is_exact,
                "moves": moves.collect::<Vec<_>>(),
            })
        });
        let mut object = json!({
            "game": self.game,
            "machine": self.machine.kind(),
            "method": "alpha-beta",
            "role": info.role_name(self.role),
            "move": self.best(found),
            "value": self.value(found),
            "proven": self.proven(found),
            "iterations": counts.nodes,
            "iterations_per_second": found.nodes_per_second(),
            "nodes": counts.nodes,
            "nodes_per_second": found.nodes_per_second(),
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
        object
    }

    /// The lines as a table. Values of moves that are no better than the best one are upper bounds
    /// of what the mover has.
    fn lines_table(&self, found: &Found) -> String {
        let info = self.machine.info();
        let columns = [
            Column::figure("value"),
            Column::figure("nodes"),
            Column::text("line"),
        ];
        let rows = found.lines.iter().map(|(ranked, line)| {
            let bound = match ranked.is_exact {
                true => "",
                false => "no better than ",
            };
            let shown = line.iter().take(MAX_SHOWN_MOVES);
            let mut moves: Vec<String> = shown.map(|&mv| info.move_text(mv)).collect();
            if line.len() > MAX_SHOWN_MOVES {
                moves.push("...".to_string());
            }
            vec![
                format!("{bound}{:.2}", self.value_of(found, ranked.share)),
                grouped(ranked.nodes),
                moves.join(" "),
            ]
        });
        table(&columns, &rows.collect::<Vec<_>>())
    }
}

/// Shares of the nodes that are in quiescence, known by the table or cut by their static score; of
/// the cuts that the first move makes; and of the reduced searches that are searched again.
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

impl Found {
    fn nodes_per_second(&self) -> f64 {
        self.counts.nodes as f64 / self.seconds.max(1e-9)
    }
}

fn lines(search: &mut AlphaBeta, report: &DepthReport) -> Vec<(RankedMove, Vec<MoveId>)> {
    let moves = report.moves.iter().take(MAX_LINES);
    moves
        .map(|ranked| (*ranked, search.line(ranked.mv)))
        .collect()
}
