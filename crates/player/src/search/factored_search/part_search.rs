//! The search of one part of a game, and the values of its moves.

use std::sync::Arc;
use std::time::Duration;

use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{GamePart, Reasoner};
use panza_search::{MoveStats, Search, SearchConfig, StopReason};
use panza_sync::{Budget, Instant};

/// Distance of values from 0 and 1, at least, where they are not proven.
const MIN_DOUBT: f64 = 0.01;
/// The same where they are proven: other parts go on.
const MIN_PROVEN_DOUBT: f64 = 1e-6;
/// Standard deviation of a playout's goal, in points.
const PLAYOUT_DEVIATION: f64 = 50.0;
/// Bonus in log odds for the winning move over moves that delay the win.
const WINNING_BONUS: f64 = 0.5;

/// The search of a part.
pub(super) struct PartSearch {
    pub part: GamePart,
    pub search: Search,
    pub reasoner: Box<dyn Reasoner>,
    pub state: Vec<u64>,
    /// Whether there is nothing to choose in the part any more.
    pub is_over: bool,
    pub is_proven: bool,
    /// Search time in this position.
    searched: Duration,
}

impl PartSearch {
    /// A search of a part in this state of it.
    pub fn new(part: &GamePart, role: RoleId, state: Vec<u64>, config: SearchConfig) -> Self {
        Self {
            search: Search::new(Arc::clone(&part.machine), role, config),
            reasoner: Arc::clone(&part.machine).reasoner(),
            part: part.clone(),
            state,
            is_over: false,
            is_proven: false,
            searched: Duration::ZERO,
        }
    }

    /// Begins the search of a new position.
    pub fn begin(&mut self, role: RoleId) {
        self.reasoner.set_state(&self.state);
        self.is_over = self.reasoner.is_terminal() || self.reasoner.legal_moves(role).is_empty();
        self.is_proven = false;
        self.searched = Duration::ZERO;
    }

    /// Searches the least searched of some parts; false where there is none to search.
    pub fn search_least(parts: &mut [PartSearch], limit: &Budget) -> bool {
        let open = parts
            .iter_mut()
            .filter(|part| !part.is_over && !part.is_proven);
        let Some(part) = open.min_by_key(|part| part.searched) else {
            return false;
        };
        let started = Instant::now();
        part.is_proven = part.search.run(limit) == StopReason::Proven;
        // With limits in iterations all parts get equally many, whatever the time.
        part.searched += match limit.max_steps {
            u64::MAX => started.elapsed(),
            _ => Duration::from_nanos(1),
        };
        true
    }

    /// Follows a joint move of the whole game to the part's share of its state.
    pub fn advance(&mut self, joint_move: &[MoveId], state: Vec<u64>) {
        self.reasoner.set_state(&self.state);
        let moves = joint_move.iter().map(|&mv| self.part.moves[mv]);
        let moves: Option<Vec<MoveId>> = moves.collect();
        let moves = moves.filter(|moves| {
            let mut moves = moves.iter().enumerate();
            moves.all(|(role, mv)| {
                let legal = self.reasoner.legal_moves(RoleId::from_index(role));
                legal.contains(mv)
            })
        });
        let moves = moves.filter(|moves| {
            let mut predicted = Vec::new();
            self.reasoner.next_state(moves, &mut predicted);
            predicted == state && !self.is_over
        });
        match moves {
            Some(moves) => self.search.advance(&moves),
            None if self.state != state => self.search.set_state(&state),
            None => {}
        }
        self.state = state;
    }

    /// Goes to another state.
    pub fn set_state(&mut self, state: Vec<u64>) {
        if self.state != state {
            self.search.set_state(&state);
            self.state = state;
        }
    }

    /// What is known of the moves; `None` where there is nothing to choose. Where a win is proven,
    /// the move to play is marked as the best one.
    pub fn moves(&mut self) -> Option<Vec<MoveStats>> {
        if self.is_over {
            return None;
        }
        let mut root = self.search.root();
        if root.moves.len() < 2 {
            return None;
        }
        if root.proven == Some(100) {
            let winning = self.search.best_move();
            let mut moves = root.moves.iter_mut();
            if let Some(found) = moves.find(|found| Some(found.mv) == winning) {
                found.is_proven_best = true;
            }
        }
        Some(root.moves)
    }
}

/// The log odds of winning the part with one of its moves.
pub(super) fn odds_of(moves: &[MoveStats], mv: MoveId, is_pass: bool) -> f64 {
    let Some(report) = moves.iter().find(|report| report.mv == mv) else {
        return log_odds(MIN_DOUBT);
    };
    if let Some(proven) = report.proven() {
        let goal = f64::from(proven) / 100.0;
        let bonus = match report.is_proven_best {
            true => WINNING_BONUS,
            false => 0.0,
        };
        return log_odds(goal.clamp(MIN_PROVEN_DOUBT, 1.0 - MIN_PROVEN_DOUBT)) + bonus;
    }
    let Some(value) = report.value else {
        return log_odds(MIN_DOUBT);
    };
    // A lower bound for moves in this part, since a high mean of few visits is no reason to
    // leave another part.
    let doubt = match is_pass {
        true => 0.0,
        false => PLAYOUT_DEVIATION / report.visits.max(1.0).sqrt(),
    };
    let value = (f64::from(value) - doubt) / 100.0;
    log_odds(value.clamp(MIN_DOUBT, 1.0 - MIN_DOUBT))
}

fn log_odds(value: f64) -> f64 {
    (value / (1.0 - value)).ln()
}
