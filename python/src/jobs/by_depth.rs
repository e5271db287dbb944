//! A search of one position by depth: alpha-beta.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use panza_game::BuiltGame;
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::Reasoner;
use panza_metagame::joint_line;
use panza_search::alpha_beta::{
    AlphaBeta, AlphaBetaConfig, DepthReport, DepthValues, RankedMove, Switches,
};
use panza_sync::Budget;

use super::search::{MAX_LINE, SearchOptions};

/// Bytes of the table, at most.
const MAX_TABLE_BYTES: usize = 256 << 20;
/// Lines in the result, at most.
const MAX_LINES: usize = 3;

/// A move of the position.
#[derive(Clone, Debug)]
pub struct Ranked {
    /// The move.
    pub mv: MoveId,
    /// The expected goal of the role; an upper bound if `is_bound`.
    pub value: f32,
    /// See `value`.
    pub is_bound: bool,
    /// Nodes searched below it.
    pub nodes: u64,
}

/// What a search by depth found.
#[derive(Clone, Debug)]
pub struct FoundByDepth {
    /// The role.
    pub role: usize,
    /// The move to play.
    pub best: Option<MoveId>,
    /// The expected goal of the role; `None` before a depth is reached.
    pub value: Option<f32>,
    /// The goal of the role, if it is proven.
    pub proven: Option<u8>,
    /// Its moves, the best first and the others by their nodes. None where another role chooses.
    pub moves: Vec<Ranked>,
    /// The best moves of the role that chooses, as the searched role values them, with the joint
    /// moves that begin with them. Only the best one where another role chooses.
    pub lines: Vec<(Ranked, Vec<Vec<MoveId>>)>,
    /// Nodes of all threads.
    pub nodes: u64,
    /// The last depth that was searched in full.
    pub depth: u32,
    /// The longest line that was searched, in joint moves.
    pub selective_depth: u32,
}

/// Searches a position. Without values only ends of games count. `None` where alpha-beta does not
/// apply.
pub fn search(
    game: &BuiltGame,
    state: &[u64],
    options: &SearchOptions,
    values: Option<DepthValues>,
    stop: &Arc<AtomicBool>,
) -> Option<FoundByDepth> {
    let values = match values {
        Some(values) => values,
        None => DepthValues::unknown(&game.machine)?,
    };
    let sum = values.evaluation.scale();
    let config = AlphaBetaConfig {
        values,
        table_bytes: options.memory.min(MAX_TABLE_BYTES),
        threads: options.threads,
        switches: Switches::default(),
    };
    let mut search = AlphaBeta::new(&game.machine, &config)?;
    search.set_state(state);
    let budget = Budget::generous()
        .until(options.time.map(|time| Instant::now() + time))
        .with_steps(options.iterations.unwrap_or(u64::MAX))
        .stopped_by(stop);
    search.run(&budget, u32::MAX);
    let report = search.report();
    let mut reasoner = Arc::clone(&game.machine).reasoner();
    Some(found(
        &mut search,
        &report,
        &mut *reasoner,
        state,
        options.role,
        sum,
    ))
}

/// What the search knows, for a role.
fn found(
    search: &mut AlphaBeta,
    report: &DepthReport,
    reasoner: &mut dyn Reasoner,
    state: &[u64],
    role: usize,
    sum: f32,
) -> FoundByDepth {
    let is_ours = report.mover.unwrap_or(0) == role;
    let value_of = |share: f32| {
        let value = sum * if is_ours { share } else { 1.0 - share };
        value.clamp(0.0, 100.0)
    };
    let ranked_of = |it: &RankedMove| Ranked {
        mv: it.mv,
        value: value_of(it.share),
        is_bound: !it.is_exact,
        nodes: it.nodes,
    };
    reasoner.set_state(state);
    let legal = reasoner.legal_moves(RoleId::from_index(role)).to_vec();
    // Where the role has one move, the search may have gone on to the next choice.
    let chooses = report.mover == Some(role) && legal.len() > 1;
    let value = (report.depth > 0).then(|| value_of(report.share));
    let of_role = report.moves.iter().filter(|_| chooses);
    let moves: Vec<Ranked> = of_role.map(ranked_of).collect();
    let best = report.best.filter(|best| chooses && legal.contains(best));
    // The best line has an exact value. Bounds of the other role would be lower ones.
    let n_lines = if is_ours { MAX_LINES } else { 1 };
    let lines = report.moves.iter().take(n_lines).map(|it| {
        let moves = search.line(it.mv);
        (ranked_of(it), joint_line(reasoner, state, &moves, MAX_LINE))
    });
    FoundByDepth {
        role,
        best: best.or(legal.first().copied()),
        value,
        proven: value
            .filter(|_| report.is_proven)
            .map(|it| it.round() as u8),
        moves,
        lines: lines.collect(),
        nodes: search.counts().nodes,
        depth: report.depth,
        selective_depth: report.selective_depth,
    }
}
