//! The player of the chance role: uniformly random moves, without a search.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::match_searcher::MatchSearcher;
use panza_gdl::{MoveId, RoleId};
use panza_machine::{Machine, Reasoner};
use panza_search::MoveStats;
use panza_sync::{Instant, Random};
use panza_telemetry::SearchSample;

/// Draws a legal move of the role in each state.
pub(crate) struct ChancePlayer {
    reasoner: Box<dyn Reasoner>,
    role: RoleId,
    random: Random,
    drawn: Option<MoveId>,
}

impl ChancePlayer {
    /// A player in `state`, or none where the role is not the chance role.
    pub fn new(machine: &Arc<dyn Machine>, role: RoleId, state: &[u64], seed: u64) -> Option<Self> {
        (machine.info().chance_role() == Some(role)).then(|| {
            let mut player = Self {
                reasoner: Arc::clone(machine).reasoner(),
                role,
                random: Random::new(seed),
                drawn: None,
            };
            player.set_state(state);
            player
        })
    }
}

impl MatchSearcher for ChancePlayer {
    fn name(&self) -> &'static str {
        "chance"
    }

    fn search(&mut self, _: Instant, _: &Arc<AtomicBool>) {}

    fn search_iterations(&mut self, _: u64, _: &Arc<AtomicBool>) {}

    fn advance(&mut self, _: &[MoveId], state: &[u64]) {
        self.set_state(state);
    }

    fn set_state(&mut self, state: &[u64]) {
        self.reasoner.set_state(state);
        let moves = match self.reasoner.is_terminal() {
            true => &[],
            false => self.reasoner.legal_moves(self.role),
        };
        self.drawn = match moves.len() {
            0 => None,
            count => Some(moves[self.random.below(count as u32) as usize]),
        };
    }

    fn best_move(&mut self) -> Option<MoveStats> {
        self.drawn.map(|mv| MoveStats {
            is_proven_best: true,
            ..MoveStats::new(mv)
        })
    }

    fn sample(&mut self) -> SearchSample {
        SearchSample::default()
    }
}
