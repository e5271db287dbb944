//! The figures of one second of search, and their line in `series.csv`.

use std::fmt::Write;

use super::SystemRates;
use panza_search::MoveStats;

/// The state of a search at one moment. Rates are means since the previous sample; shares run from
/// 0 to 1; values are goals from 0 to 100.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchSample {
    /// The turn of the match, counted from 0.
    pub step: u32,
    /// Search iterations since the match began.
    pub iterations: u64,
    /// Iterations per second.
    pub iterations_per_second: f64,
    /// Playouts since the match began.
    pub playouts: u64,
    /// Playouts per second, of all rollout threads.
    pub playouts_per_second: f64,
    /// Nodes in the game graph.
    pub nodes: u64,
    /// Used share of the node pool.
    pub pool_used: f64,
    /// Mean fill of the request rings.
    pub request_rings: f64,
    /// Mean fill of the result rings.
    pub result_rings: f64,
    /// Playouts per request.
    pub samples_per_request: f64,
    /// The depth that was searched in full, and that of the longest line, where alpha-beta
    /// searches; else 0.
    pub depth: u32,
    /// See `depth`.
    pub selective_depth: u32,
    /// Games of training on the time of the opponent, since the match began.
    pub training_games: u32,
    /// The best move as GDL text; empty before there is one.
    pub best_move: String,
    /// Its value for our role.
    pub best_value: f64,
    /// The most visited moves of our role at the root.
    pub root_moves: Vec<MoveStats<String>>,
    /// Thread seconds per second, by stage.
    pub times: StageTimes,
    /// What the system made of the process.
    pub system: SystemRates,
}

/// Thread seconds by stage. In a sample they are per second, so that they add up to the processors
/// in use.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StageTimes {
    /// Descent in the graph.
    pub select: f64,
    /// Filling and sending requests.
    pub send: f64,
    /// Expansion.
    pub grow: f64,
    /// Backpropagation.
    pub back_up: f64,
    /// Other work of the writer, with playouts where there are no rollout threads.
    pub writer: f64,
    /// Rollout threads.
    pub rollouts: f64,
    /// Threads of alpha-beta.
    pub alpha_beta: f64,
    /// Threads that train or play for it, and training on the time of the opponent.
    pub training: f64,
    /// Threads of the planner.
    pub planning: f64,
    /// Building machines and the metagame, with the part of the training on its own thread.
    pub study: f64,
    /// All other threads.
    pub other: f64,
}

impl StageTimes {
    /// The difference to an earlier sum.
    pub fn since(&self, before: &StageTimes) -> StageTimes {
        self.with(before, |now, before| (now - before).max(0.0))
    }

    /// Each stage times `factor`.
    pub fn scaled(&self, factor: f64) -> StageTimes {
        self.with(self, |seconds, _| seconds * factor)
    }

    /// The sum of both.
    pub fn plus(&self, other: &StageTimes) -> StageTimes {
        self.with(other, |left, right| left + right)
    }

    fn with(&self, other: &StageTimes, make: impl Fn(f64, f64) -> f64) -> StageTimes {
        StageTimes {
            select: make(self.select, other.select),
            send: make(self.send, other.send),
            grow: make(self.grow, other.grow),
            back_up: make(self.back_up, other.back_up),
            writer: make(self.writer, other.writer),
            rollouts: make(self.rollouts, other.rollouts),
            alpha_beta: make(self.alpha_beta, other.alpha_beta),
            training: make(self.training, other.training),
            planning: make(self.planning, other.planning),
            study: make(self.study, other.study),
            other: make(self.other, other.other),
        }
    }

    /// In the order of the columns.
    fn cells(&self) -> [f64; 11] {
        [
            self.select,
            self.send,
            self.grow,
            self.back_up,
            self.writer,
            self.rollouts,
            self.alpha_beta,
            self.training,
            self.planning,
            self.study,
            self.other,
        ]
    }
}

/// The first line of `series.csv`. `root_moves` holds a JSON list of `[move, visits, value]`.
pub(super) const HEADER: &str = "at_seconds,step,iterations,iterations_per_second,playouts,\
     playouts_per_second,nodes,pool_used,request_rings,result_rings,samples_per_request,\
     depth,selective_depth,training_games,best_move,best_value,memory_bytes,minor_faults_per_second,\
     major_faults_per_second,voluntary_switches_per_second,involuntary_switches_per_second,stolen_share,\
     time_select,time_send,time_grow,time_back_up,time_writer,time_rollouts,time_alpha_beta,\
     time_training,time_planning,time_study,time_other,root_moves\n";

/// Text, visits and value of a root move, as in the logs. A missing value is not a number.
pub fn move_cells(root_move: &MoveStats<String>) -> (&str, u64, f64) {
    let value = root_move.value.map_or(f64::NAN, f64::from);
    (&root_move.mv, root_move.visits as u64, rounded(value))
}

impl SearchSample {
    /// The sample as a line of `series.csv`, with what the log itself measures. A figure that is
    /// not known or not a number becomes an empty cell.
    pub(super) fn csv_line(&self, at_seconds: f64, memory_bytes: Option<u64>) -> String {
        let root_moves: Vec<(&str, u64, f64)> = self.root_moves.iter().map(move_cells).collect();
        // Numbers and texts can always be written as JSON; a value that is not a number becomes
        // null there.
        let root_moves = serde_json::to_string(&root_moves).unwrap_or_default();
        let memory_bytes = memory_bytes.map(|bytes| bytes.to_string());
        let mut cells = vec![
            number(at_seconds, 3),
            self.step.to_string(),
            self.iterations.to_string(),
            number(self.iterations_per_second, 1),
            self.playouts.to_string(),
            number(self.playouts_per_second, 1),
            self.nodes.to_string(),
            number(self.pool_used, 4),
            number(self.request_rings, 4),
            number(self.result_rings, 4),
            number(self.samples_per_request, 2),
            positive(self.depth),
            positive(self.selective_depth),
            positive(self.training_games),
            quoted(&self.best_move),
            number(self.best_value, 3),
            memory_bytes.unwrap_or_default(),
            number(self.system.minor_faults, 1),
            number(self.system.major_faults, 1),
            number(self.system.voluntary_switches, 1),
            number(self.system.involuntary_switches, 1),
            number(self.system.stolen, 4),
        ];
        cells.extend(self.times.cells().map(|seconds| number(seconds, 4)));
        cells.push(quoted(&root_moves));
        let mut line = cells.join(",");
        line.push('\n');
        line
    }
}

/// A value with as many decimals as are significant.
pub fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

fn number(value: f64, decimals: usize) -> String {
    let mut cell = String::new();
    if value.is_finite() {
        // Writing to a string cannot fail.
        let _ = write!(cell, "{value:.decimals$}");
    }
    cell
}

/// A number where there is one: nothing for 0.
fn positive(value: u32) -> String {
    match value {
        0 => String::new(),
        value => value.to_string(),
    }
}

fn quoted(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let one_line = text.replace(['\r', '\n'], " ");
    format!("\"{}\"", one_line.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_cell_for_each_column() {
        let sample = SearchSample {
            step: 3,
            iterations: 1000,
            iterations_per_second: 250.04,
            playouts: 64_000,
            playouts_per_second: 16_000.0,
            nodes: 777,
            pool_used: 0.125,
            request_rings: 1.0,
            result_rings: 0.5,
            samples_per_request: 64.0,
            depth: 9,
            selective_depth: 17,
            training_games: 1234,
            best_move: "(mark 2 2)".to_string(),
            best_value: 61.25,
            root_moves: vec![MoveStats {
                visits: 500.0,
                value: Some(61.25),
                ..MoveStats::new("(mark 2 2)".to_string())
            }],
            times: StageTimes {
                select: 0.5,
                alpha_beta: 1.25,
                other: 0.01,
                ..StageTimes::default()
            },
            system: SystemRates {
                minor_faults: 1200.0,
                voluntary_switches: 30.25,
                stolen: 0.125,
                ..SystemRates::default()
            },
        };
        assert_eq!(
            sample.csv_line(4.0, Some(1 << 20)),
            "4.000,3,1000,250.0,64000,16000.0,777,0.1250,1.0000,0.5000,64.00,9,17,1234,\
             \"(mark 2 2)\",61.250,1048576,1200.0,,30.2,,0.1250,0.5000,0.0000,0.0000,0.0000,0.0000,0.0000,\
             1.2500,0.0000,0.0000,0.0000,0.0100,\"[[\"\"(mark 2 2)\"\",500,61.25]]\"\n"
        );
    }

    #[test]
    fn unknown_figures_leave_their_cells_empty() {
        let sample = SearchSample {
            best_value: f64::NAN,
            pool_used: f64::INFINITY,
            ..SearchSample::default()
        };
        assert_eq!(
            sample.csv_line(0.5, None),
            "0.500,0,0,0.0,0,0.0,0,,0.0000,0.0000,0.00,,,,,,,,,,,,\
             0.0000,0.0000,0.0000,0.0000,0.0000,0.0000,0.0000,0.0000,0.0000,0.0000,0.0000,\"[]\"\n"
        );
        assert_eq!(
            HEADER.matches(',').count(),
            sample.csv_line(0.5, None).matches(',').count()
        );
    }

    #[test]
    fn a_text_cannot_break_out_of_its_cell() {
        assert_eq!(quoted("a,\"b\"\nc"), "\"a,\"\"b\"\" c\"");
    }
}
