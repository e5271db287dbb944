//! Alpha-beta as the search of a study, where what is known of the game chooses it.
//!
//! Invariant: its values were trained for alpha-beta; nothing else is used.
//!
//! Never uses: the game graph.

use std::sync::Arc;

use super::host::SLICE;
use super::report::{Candidate, LineView, MAX_CANDIDATES, MAX_LINE_SHOWN, Report};
use panza_config::MemorySettings;
use panza_game::BuiltGame;
use panza_gdl::{MoveId, Rules};
use panza_machine::{Machine, Reasoner};
use panza_memory::GameMemory;
use panza_metagame::{find_prospects, joint_line, prior_study};
use panza_search::alpha_beta::{AlphaBeta, AlphaBetaConfig, DepthValues};
use panza_search::{Method, SearchConfig};
use panza_sync::{Budget, catch_panic};

/// Bytes of the table, at most.
const MAX_TABLE_BYTES: usize = 64 << 20;
/// Nodes of a slice, some hundredths of a second.
pub(super) const SLICE_NODES: u64 = 20_000;
/// Lines that are reported.
const MAX_LINES: usize = 3;

/// What alpha-beta searches a game with, by the memory of earlier matches and of training. `None`
/// where nothing was trained for it, and where the tree is the search to use.
pub(super) fn remembered(
    settings: &MemorySettings,
    rules: &Rules,
    game: &BuiltGame,
    method: Method,
) -> Option<DepthValues> {
    if method == Method::Tree || !settings.enabled || !settings.path.is_file() {
        return None;
    }
    let read = || {
        let opened = GameMemory::open(&settings.path, settings.max_games, rules);
        let (_, history) = opened
            .inspect_err(|error| tracing::warn!(%error, "a study has no memory"))
            .ok()?;
        let prior = prior_study(game.info(), &history?, || find_prospects(game))?;
        prior.depth_values(method)
    };
    // Without it the tree searches.
    catch_panic(read).ok().flatten()
}

/// A search of a study by depth.
pub(super) struct DepthSearch {
    search: AlphaBeta,
    reasoner: Box<dyn Reasoner>,
    state: Vec<u64>,
    /// The sum of the goals.
    sum: f32,
    /// Nodes of earlier positions.
    nodes_before: u64,
}

impl DepthSearch {
    /// A search of a state. `None` where it does not apply.
    pub fn new(
        machine: &Arc<dyn Machine>,
        values: DepthValues,
        state: &[u64],
        config: &SearchConfig,
    ) -> Option<Self> {
        let sum = values.evaluation.scale();
        let settings = AlphaBetaConfig {
            values,
            table_bytes: config.max_bytes.min(MAX_TABLE_BYTES),
            threads: 1,
            switches: config.switches,
        };
        let mut search = AlphaBeta::new(machine, &settings)?;
        search.set_state(state);
        Some(Self {
            search,
            reasoner: Arc::clone(machine).reasoner(),
            state: state.to_vec(),
            sum,
            nodes_before: 0,
        })
    }

    /// Goes to a state.
    pub fn go_to(&mut self, state: &[u64]) {
        self.search.set_state(state);
        self.state.clear();
        self.state.extend_from_slice(state);
        self.nodes_before = self.search.counts().nodes;
    }

    /// Searches. Returns whether the result is proven.
    pub fn run(&mut self, limit: &Budget) -> bool {
        let is_exhausted = self.search.run(limit, u32::MAX);
        let is_settled = self.search.is_settled();
        if is_exhausted && !is_settled {
            // Every depth was searched, and the time for the position is not over.
            std::thread::sleep(SLICE);
        }
        is_settled
    }

    /// Writes what was found to a report, with the moves of a role.
    pub fn write(&mut self, report: &mut Report, role: Option<usize>, machine: &dyn Machine) {
        let info = machine.info();
        let found = self.search.report();
        let nodes = self.search.counts().nodes - self.nodes_before;
        report.method = Method::AlphaBeta.name();
        report.iterations = nodes;
        report.nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
        report.depth = Some(found.depth);
        report.selective_depth = Some(found.selective_depth);
        let mover = found.mover.unwrap_or(0);
        let value = |role: usize, share: f32| {
            let share = if role == mover { share } else { 1.0 - share };
            let value = f64::from(self.sum * share).clamp(0.0, 100.0);
            (100.0 * value).round() / 100.0
        };
        let values = [0, 1].map(|role| value(role, found.share));
        let is_known = found.depth > 0;
        let is_proven = is_known && found.is_proven;
        report.worth.values = values.map(|it| is_known.then_some(it)).to_vec();
        let proven = values.map(|it| is_proven.then_some(it.round() as u8));
        report.worth.proven = proven.to_vec();
        // Where the role makes a forced move, the moves are those of a later state.
        let is_mover = role.is_some() && role == found.mover;
        let moves = found.moves.iter().filter(|_| is_mover);
        let shown = moves.take(MAX_CANDIDATES).map(|it| Candidate {
            text: info.move_text(it.mv),
            visits: u32::try_from(it.nodes).unwrap_or(u32::MAX),
            value: Some(value(mover, it.share)),
            proven: proven[mover].filter(|_| found.best == Some(it.mv)),
            share: None,
            is_bound: !it.is_exact,
        });
        report.moves = shown.collect();
        let lines = found.moves.iter().take(MAX_LINES).map(|it| {
            let line = self.search.line(it.mv);
            let line = joint_line(&mut *self.reasoner, &self.state, &line, MAX_LINE_SHOWN);
            let texts = |joint: Vec<MoveId>| joint.iter().map(|&mv| info.move_text(mv)).collect();
            LineView {
                text: info.move_text(it.mv),
                value: value(mover, it.share),
                is_bound: !it.is_exact,
                line: line.into_iter().map(texts).collect(),
            }
        });
        report.lines = lines.collect();
        let best = report.lines.first();
        report.line = best.map_or(Vec::new(), |best| best.line.clone());
    }
}
