//! The search of a game's reduced game, led back to the game.
//!
//! The search inside sees states and moves of the reduced game only. A move of it is led back to a
//! legal move of the game that it stands for. Idle moves leave the search where it is.
//!
//! Invariant: only legal moves of the game are chosen.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::match_searcher::{Effort, MatchSearcher, PlanStatus};
use super::preparations::PreparationOf;
use panza_game::ReducedGame;
use panza_gdl::{MoveId, RoleId};
use panza_machine::{Machine, Reasoner};
use panza_planner::Plan;
use panza_search::{MoveStats, RootEstimates, WhyTree};
use panza_sync::Instant;
use panza_telemetry::SearchSample;

/// The search of a match in the reduced game.
pub(crate) struct ReducedSearch {
    machine: Arc<dyn Machine>,
    reduced: Arc<ReducedGame>,
    role: RoleId,
    /// The state of the game.
    state: Vec<u64>,
    reasoner: Box<dyn Reasoner>,
    inner: Box<dyn MatchSearcher>,
}

impl ReducedSearch {
    /// A search of the reduced game of a machine in a state; `inner` is the search of the reduced
    /// game in the state that it has then.
    pub fn new(
        machine: &Arc<dyn Machine>,
        reduced: &Arc<ReducedGame>,
        role: RoleId,
        state: &[u64],
        inner: Box<dyn MatchSearcher>,
    ) -> Self {
        let mut search = Self {
            machine: Arc::clone(machine),
            reduced: Arc::clone(reduced),
            role,
            state: Vec::new(),
            reasoner: Arc::clone(machine).reasoner(),
            inner,
        };
        search.enter(state);
        search
    }

    fn enter(&mut self, state: &[u64]) {
        self.state = state.to_vec();
        self.reasoner.set_state(state);
    }

    /// A legal move that a move of the reduced game stands for.
    fn legal_move(&mut self, mv: MoveId) -> Option<MoveId> {
        self.reduced.legal_move(&mut *self.reasoner, self.role, mv)
    }

    /// The text of the move that one with this text in the reduced game is led back to.
    fn legal_text(&mut self, text: &str) -> Option<String> {
        let found = self.reduced.part.machine.info().find_move(self.role, text);
        let mv = self.legal_move(found?)?;
        Some(self.machine.info().move_text(mv))
    }
}

impl MatchSearcher for ReducedSearch {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn why_tree(&self) -> Option<WhyTree> {
        self.inner.why_tree()
    }

    /// Where a planner searches inside, nothing is prepared.
    fn preparation_of(&self) -> PreparationOf {
        match self.inner.preparation_of() {
            PreparationOf::Game => PreparationOf::Reduced,
            _ => PreparationOf::Nothing,
        }
    }

    fn processor_time(&self) -> Duration {
        self.inner.processor_time()
    }

    fn effort(&self) -> Effort {
        self.inner.effort()
    }

    fn search(&mut self, until: Instant, interrupt: &Arc<AtomicBool>) {
        self.inner.search(until, interrupt);
    }

    fn ponder(&mut self, until: Instant, interrupt: &Arc<AtomicBool>) {
        self.inner.ponder(until, interrupt);
    }

    fn search_iterations(&mut self, iterations: u64, interrupt: &Arc<AtomicBool>) {
        self.inner.search_iterations(iterations, interrupt);
    }

    fn advance(&mut self, joint_move: &[MoveId], state: &[u64]) {
        if let Some(moves) = self.reduced.joint_move(joint_move) {
            self.inner.advance(&moves, &self.reduced.state(state));
        }
        self.enter(state);
    }

    fn set_state(&mut self, state: &[u64]) {
        self.inner.set_state(&self.reduced.state(state));
        self.enter(state);
    }

    /// Where the reduced game has no move for us, any legal move.
    fn best_move(&mut self) -> Option<MoveStats> {
        let best = self.inner.best_move();
        let led_back = best.and_then(|best| Some(best.named(self.legal_move(best.mv)?)));
        led_back.or_else(|| self.reasoner.first_legal(self.role).map(MoveStats::new))
    }

    fn estimates(&mut self) -> Option<RootEstimates> {
        let estimates = self.inner.estimates()?;
        let moves = estimates.moves.into_iter();
        let moves = moves.filter_map(|stats| Some(stats.named(self.legal_move(stats.mv)?)));
        Some(RootEstimates {
            moves: moves.collect(),
            ..estimates
        })
    }

    fn plan(&self) -> Option<PlanStatus> {
        let plan = self.inner.plan()?;
        let (reduced, machine) = (&self.reduced, &self.machine);
        match reduced.legal_moves(machine, &self.state, &plan.moves) {
            Some(moves) => Some(PlanStatus { moves, ..plan }),
            None => {
                tracing::warn!("a plan of the reduced game is none of the game");
                None
            }
        }
    }

    fn start_with(&mut self, plan: &Plan, is_best: bool) {
        let moves = plan.moves.iter();
        let plan = Plan {
            moves: moves
                .filter_map(|&mv| self.reduced.part.moves[mv])
                .collect(),
            goal: plan.goal,
        };
        self.inner.start_with(&plan, is_best);
    }

    fn sample(&mut self) -> SearchSample {
        let mut sample = self.inner.sample();
        sample.best_move = self.legal_text(&sample.best_move).unwrap_or_default();
        for stats in &mut sample.root_moves {
            if let Some(text) = self.legal_text(&stats.mv) {
                stats.mv = text;
            }
        }
        sample
    }
}

#[cfg(test)]
mod tests;
