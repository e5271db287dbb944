//! What is searched less, more, or not at all, by what static scores and shallow searches promise.
//!
//! Sources: futility and reverse futility (Heinz 1998), late move reductions and pruning, singular
//! extension (Anantharaman, Campbell and Hsu 1988, by the table as in Stockfish), probcut (Buro
//! 1995, by the table as in Stockfish).
//!
//! Invariant: none of this makes a score that is proven, or hides the only move that does not lose.
//!
//! Never uses: the machine but by nodes.

use super::{Node, NodeSearch};
use crate::alpha_beta::entry::Bound;
use crate::alpha_beta::frame::MAX_HISTORY;
use crate::alpha_beta::score::{PROVEN, Score, Window, from_root};
use panza_gdl::MoveId;

/// See [`NodeSearch::fewer_plies_from`].
const FEWER_PLIES: i32 = 2;
/// Reverse futility and futility up to this depth, late pruning up to that.
const MAX_FUTILE_DEPTH: i32 = 3;
const MAX_PRUNED_DEPTH: i32 = 4;
/// Probcut from this depth on, how much shallower its searches are, and how many moves it tries.
const MIN_PROBCUT_DEPTH: i32 = 5;
const PROBCUT_PLIES: i32 = 4;
const PROBCUT_MOVES: usize = 3;
/// Singular extension from this depth on, and how much shallower the search of the table's move may
/// have been.
const MIN_SINGULAR_DEPTH: i32 = 6;
const SINGULAR_PLIES: i32 = 3;
/// Scores beyond this are not searched for by probcut and singular extension.
const MAX_PROBABLE: Score = 12_000;

impl NodeSearch {
    /// The static score of a frame where it suffices: in quiescence search where it is above the
    /// window, and near the leaves where it is far above.
    pub(super) fn cut_by_static(
        &mut self,
        ply: usize,
        mover: usize,
        depth: i32,
        window: Window,
        is_pv: bool,
    ) -> Option<Score> {
        let sign = if mover == 0 { 1 } else { -1 };
        let beta = window.seen_by(sign).beta;
        let score = self.frame_score(ply);
        let own = sign * score;
        if depth <= 0 {
            let plies = match self.counts.nodes > self.fewer_plies_from {
                true => self.parameters.quiescence.min(FEWER_PLIES),
                false => self.parameters.quiescence,
            };
            let is_last = depth <= -plies;
            return (is_last || own >= beta).then_some(score);
        }
        let margin = self.parameters.reverse_futility * (self.units.change * depth) as f32;
        let is_futile = margin > 0.0
            && !is_pv
            && depth <= MAX_FUTILE_DEPTH
            && beta.abs() < PROVEN
            && own - margin as Score >= beta;
        self.counts.static_cuts += u64::from(is_futile);
        is_futile.then_some(score)
    }

    /// Whether the static score of a frame has risen since the mover's last turn.
    pub(super) fn is_rising(&self, ply: usize, score: Score) -> bool {
        let Some(before) = ply.checked_sub(2).map(|before| &self.frames[before]) else {
            return true;
        };
        let frame = &self.frames[ply];
        let known = before.score.filter(|_| before.mover == frame.mover);
        known.is_none_or(|known| score > frame.sign * known)
    }

    /// Probcut: the score of a shallow search of a promising move that is far above beta, and the
    /// depth that it stands for.
    pub(super) fn probable_cut(&mut self, node: &Node) -> Option<(Score, i32)> {
        let beta = node.window.beta;
        let margin = self.parameters.probcut * self.units.change as f32;
        if margin <= 0.0
            || node.is_pv
            || node.depth < MIN_PROBCUT_DEPTH
            || beta.abs() > MAX_PROBABLE
            || node.score + self.units.turn < beta
        {
            return None;
        }
        let raised = beta + margin as Score;
        let depth = node.depth - PROBCUT_PLIES;
        if let Some(entry) = node.known
            && entry.depth >= depth
            && self.frames[node.ply].sign * from_root(entry.score, node.ply) < raised
        {
            return None;
        }
        for n_tried in 0..self.frames[node.ply].order.len().min(PROBCUT_MOVES) {
            let frame = &mut self.frames[node.ply];
            let index = frame.pick(n_tried);
            if frame.is_end(index) || frame.score_after(index) < raised {
                continue;
            }
            let empty = Window {
                alpha: raised - 1,
                beta: raised,
            };
            let mut score = self.child_score(node, index, 0, empty);
            if score >= raised && !self.is_over {
                score = self.child_score(node, index, depth - 1, empty);
            }
            if self.is_over {
                return None;
            }
            if score >= raised {
                self.counts.probable_cuts += 1;
                return Some((score, depth + 1));
            }
        }
        None
    }

    /// By how many plies the table's move is searched deeper: where all others are worse by far in
    /// shallow searches it is singular. A bound that all moves but it exceed is a cut.
    pub(super) fn singular_plies(&mut self, node: &Node) -> Result<i32, Score> {
        let margin = self.parameters.singular * (self.units.change * node.depth) as f32 / 8.0;
        let Some(entry) = node.known.filter(|entry| entry.mv.is_some()) else {
            return Ok(0);
        };
        let frame = &mut self.frames[node.ply];
        let known = frame.sign * from_root(entry.score, node.ply);
        if margin <= 0.0
            || node.ply == 0
            || node.depth < MIN_SINGULAR_DEPTH
            || entry.depth < node.depth - SINGULAR_PLIES
            || entry.bound.seen_by(frame.sign) == Bound::Upper
            || known.abs() > MAX_PROBABLE
            || node.ply as i32 >= 2 * self.root_depth
        {
            return Ok(0);
        }
        // The table may hold a move of another position.
        let first = frame.pick(0);
        if Some(frame.moves[first]) != entry.mv {
            return Ok(0);
        }
        let bound = known - margin as Score;
        let empty = Window {
            alpha: bound - 1,
            beta: bound,
        };
        let depth = (node.depth - 1) / 2;
        for n_tried in 1..self.frames[node.ply].order.len() {
            let frame = &mut self.frames[node.ply];
            let index = frame.pick(n_tried);
            let (mv, after) = (frame.moves[index], frame.score_after(index));
            let score = match frame.is_end(index) {
                true => after,
                false => {
                    let less = self.reduction(node, n_tried, mv, after).min(depth - 1);
                    self.child_score(node, index, depth - 1 - less.max(0), empty)
                }
            };
            if self.is_over {
                return Ok(0);
            }
            if score >= bound {
                return match bound >= node.window.beta && !node.is_pv {
                    true => Err(bound),
                    false => Ok(-i32::from(known >= node.window.beta)),
                };
            }
        }
        self.counts.singular += 1;
        Ok(1)
    }

    /// Whether late move pruning leaves a move out: at small depth, after many others, and with a
    /// static score below that of the node.
    pub(super) fn is_late(&self, node: &Node, n_tried: usize, after: Score) -> bool {
        let depth = node.depth;
        let n_kept = self.parameters.late_pruning * (2 + depth * depth) as f32;
        n_kept > 0.0
            && !node.is_pv
            && depth <= MAX_PRUNED_DEPTH
            && n_tried as f32 >= n_kept
            && node.best > -PROVEN
            && after < node.score + self.units.turn - self.units.change / 2
    }

    /// Whether futility leaves a move out: near the leaves, with a static score far below alpha.
    pub(super) fn is_futile(&self, node: &Node, after: Score) -> bool {
        let margin = self.parameters.futility * (self.units.change * node.depth) as f32;
        margin > 0.0
            && !node.is_pv
            && node.depth <= MAX_FUTILE_DEPTH
            && node.best > -PROVEN
            && after - self.units.turn + (margin as Score) < node.window.alpha
    }

    /// Plies by which a move is searched less at first: more the deeper the node, and the later
    /// and worse the move.
    pub(super) fn reduction(&self, node: &Node, n_tried: usize, mv: MoveId, after: Score) -> i32 {
        let frame = &self.frames[node.ply];
        if self.parameters.reductions == 0.0
            || node.depth < 3
            || n_tried < 2
            || frame.killers[0] == Some(mv)
        {
            return 0;
        }
        let mut plies = 0.6 + (node.depth as f32).ln() * (n_tried as f32).ln() / 2.2;
        plies *= self.parameters.reductions;
        plies -= f32::from(u8::from(node.is_pv));
        let margin = self.units.change + self.units.turn;
        plies -= f32::from(u8::from(after > node.score + margin));
        if self.parameters.trend > 0.0 {
            let earned = self.history.of(frame.mover, mv) as f32 / MAX_HISTORY as f32;
            let falling = f32::from(u8::from(!node.is_rising));
            plies += self.parameters.trend * (falling * 0.7 - earned);
        }
        (plies as i32).clamp(0, node.depth - 2)
    }
}
