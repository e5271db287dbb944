//! The search of a game that factors: a search per part, and a choice between their moves.
//!
//! A part's search values each move there, and passing, which is what a move elsewhere is in the
//! part. The value of a move is the sum over all parts of the log odds of winning there: the part
//! where moving gains most over passing is played in. A single player plays on in one part until
//! nothing more is to be gained there.
//!
//! Parts say little about a single move of the whole game, so moves that win at once, or let others
//! win at once, are found in the whole game. Where all parts are over and the game is not, the
//! whole game is searched from there.
//!
//! Invariant: only legal moves of the whole game are chosen.

mod lookahead;
mod part_search;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use self::lookahead::{Lookahead, MoveOutcome, our_goal};
use self::part_search::{PartSearch, odds_of};
use super::match_searcher::MatchSearcher;
use super::preparations::{MatchConfig, PreparationOf};
use super::whole_search::{MAX_SAMPLED_MOVES, WholeSearch, root_moves, stage_times};
use panza_game::BuiltGame;
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{GamePart, Machine};
use panza_search::{MoveStats, SearchConfig};
use panza_sync::{Budget, Instant};
use panza_telemetry::SearchSample;

/// Search time of one part before the next one's turn.
const TURN: Duration = Duration::from_millis(5);

/// The search of a match by parts.
pub(crate) struct FactoredSearch {
    machine: Arc<dyn Machine>,
    is_joint: bool,
    role: RoleId,
    config: SearchConfig,
    state: Vec<u64>,
    parts: Vec<PartSearch>,
    lookahead: Lookahead,
    /// The outcomes of our legal moves; empty until they are needed.
    outcomes: Vec<(MoveId, MoveOutcome)>,
    /// The part in which a single player moved last.
    last: Option<usize>,
    /// The search of the whole game, where all parts are over.
    whole: Option<Box<WholeSearch>>,
}

impl FactoredSearch {
    /// A search by parts in `state`. `None` where the game has no parts or a chance role, where the
    /// parts do not start where the game does, or where all roles choose in each part at once: the
    /// whole game's search finds mixed strategies there.
    pub fn new(
        game: &BuiltGame,
        role: RoleId,
        state: &[u64],
        config: &MatchConfig,
    ) -> Option<Self> {
        let (machine, parts) = (&game.machine, game.parts.as_ref()?);
        let n_roles = machine.info().n_roles();
        if (parts.is_joint && n_roles > 1) || machine.info().chance_role().is_some() {
            return None;
        }
        let initial = machine.initial_state();
        let mut searches = Vec::with_capacity(parts.parts.len());
        for (index, part) in parts.parts.iter().enumerate() {
            let start = projected(part, &initial);
            if part.machine.initial_state() != start || part.machine.info().n_roles() != n_roles {
                tracing::warn!(index, "a part starts elsewhere than its game");
                return None;
            }
            let config = part_config(config.of_part(index), parts.parts.len(), index);
            searches.push(PartSearch::new(part, role, start, config));
        }
        let mut search = Self {
            machine: Arc::clone(machine),
            is_joint: parts.is_joint,
            role,
            config: config.whole.clone(),
            state: state.to_vec(),
            parts: searches,
            lookahead: Lookahead::new(machine, role),
            outcomes: Vec::new(),
            last: None,
            whole: None,
        };
        search.set_state(state);
        Some(search)
    }

    /// Begins the search of the position.
    fn begin(&mut self) {
        self.outcomes.clear();
        self.parts.iter_mut().for_each(|part| part.begin(self.role));
        let are_over = self.parts.iter().all(|part| part.is_over);
        if are_over && self.whole.is_none() && !self.lookahead.is_terminal(&self.state) {
            let search =
                WholeSearch::new(&self.machine, self.role, &self.state, self.config.clone());
            self.whole = Some(Box::new(search));
        }
    }

    fn look_ahead(&mut self) {
        if self.outcomes.is_empty() {
            self.outcomes = self.lookahead.outcomes(&self.state);
        }
    }

    /// Searches each part in turn for so many iterations.
    fn search_each(&mut self, iterations: u64, interrupt: &Arc<AtomicBool>) {
        self.look_ahead();
        let limit = Budget::of_steps(iterations).stopped_by(interrupt);
        for _ in 0..self.parts.len() {
            PartSearch::search_least(&mut self.parts, &limit);
        }
    }

    /// The best of some moves by the sum of log odds, and that sum.
    fn best_by_odds(&mut self, candidates: &[MoveId]) -> Option<(MoveId, f64)> {
        let known: Vec<Option<Vec<MoveStats>>> =
            self.parts.iter_mut().map(PartSearch::moves).collect();
        let sum = |mv: MoveId| {
            let parts = self.parts.iter().zip(&known);
            let odds = parts.map(|(search, known)| match (known, search.part.moves[mv]) {
                (Some(moves), Some(mv)) => odds_of(moves, mv, search.part.is_pass[mv]),
                _ => 0.0,
            });
            odds.sum()
        };
        candidates
            .iter()
            .map(|&mv| (mv, sum(mv)))
            .reduce(|best, other| if other.1 > best.1 { other } else { best })
    }

    /// The best move of a single player: proven gains first, in the part of the last move if there
    /// is one.
    fn best_alone(&mut self, candidates: &[MoveId]) -> Option<MoveStats> {
        let n_roles = self.machine.info().n_roles();
        let mut best: Option<(bool, bool, f64, usize, MoveId)> = None;
        for (index, part) in self.parts.iter_mut().enumerate() {
            if part.is_over {
                continue;
            }
            let root = part.search.root();
            let Some(mv) = part.search.best_move() else {
                continue;
            };
            part.reasoner.set_state(&part.state);
            let goal = f64::from(our_goal(&mut *part.reasoner, n_roles, self.role));
            let value = root.proven.map(f64::from).or(root.value.map(f64::from));
            let gain = value.unwrap_or(0.0) - goal;
            let is_sure = root.proven.is_some() && gain > 0.0;
            let goes_on = is_sure && self.last == Some(index);
            let is_better = best.is_none_or(|best| {
                (goes_on, is_sure)
                    .cmp(&(best.0, best.1))
                    .then(gain.total_cmp(&best.2))
                    .is_gt()
            });
            if is_better {
                best = Some((goes_on, is_sure, gain, index, mv));
            }
        }
        let (_, is_sure, _, index, in_part) = best?;
        // Of the moves with this effect, the one that acts in the fewest parts.
        let n_parts = |mv: &&MoveId| {
            let parts = self.parts.iter();
            parts
                .filter(|search| search.part.moves[**mv].is_some())
                .count()
        };
        let candidates = candidates
            .iter()
            .filter(|&&mv| self.parts[index].part.moves[mv] == Some(in_part));
        let mv = *candidates.min_by_key(n_parts)?;
        let are_proven = self.parts.iter().all(|part| part.is_over || part.is_proven);
        let value = self.parts[index].search.root().value;
        Some(MoveStats {
            value: value.or(Some(50.0)),
            is_proven_best: is_sure && are_proven,
            ..MoveStats::new(mv)
        })
    }
}

/// The settings for one of `n_parts` searches.
fn part_config(mut config: SearchConfig, n_parts: usize, index: usize) -> SearchConfig {
    config.max_nodes = (config.max_nodes / n_parts as u32).max(2);
    config.max_bytes /= n_parts;
    config.seed = config.seed.wrapping_add(index as u64);
    if config.rollout_threads == 0 && config.samples_per_request == 0 {
        config.samples_per_request = 4;
    }
    config
}

fn projected(part: &GamePart, state: &[u64]) -> Vec<u64> {
    let mut projected = Vec::new();
    part.project(state, &mut projected);
    projected
}

impl MatchSearcher for FactoredSearch {
    fn name(&self) -> &'static str {
        "search by parts"
    }

    fn preparation_of(&self) -> PreparationOf {
        PreparationOf::Parts
    }

    fn search(&mut self, until: Instant, interrupt: &Arc<AtomicBool>) {
        if let Some(whole) = &mut self.whole {
            return whole.search(until, interrupt);
        }
        self.look_ahead();
        while !interrupt.load(Ordering::Acquire) {
            let now = Instant::now();
            if now >= until {
                return;
            }
            let limit = Budget::generous()
                .until(Some(until.min(now + TURN)))
                .stopped_by(interrupt);
            if !PartSearch::search_least(&mut self.parts, &limit) {
                return;
            }
        }
    }

    /// Each part gets an equal share.
    fn search_iterations(&mut self, iterations: u64, interrupt: &Arc<AtomicBool>) {
        if let Some(whole) = &mut self.whole {
            return whole.search_iterations(iterations, interrupt);
        }
        self.search_each(iterations.div_ceil(self.parts.len() as u64), interrupt);
    }

    fn advance(&mut self, joint_move: &[MoveId], state: &[u64]) {
        if let Some(whole) = &mut self.whole {
            whole.advance(joint_move, state);
        }
        let ours = joint_move.get(self.role.index()).copied();
        self.last = self.parts.iter().position(|search| {
            let in_part = ours.and_then(|mv| search.part.moves[mv]);
            in_part.is_some_and(|mv| !search.part.is_pass[mv])
        });
        for part in &mut self.parts {
            let state = projected(&part.part, state);
            part.advance(joint_move, state);
        }
        self.state = state.to_vec();
        self.begin();
    }

    fn set_state(&mut self, state: &[u64]) {
        if let Some(whole) = &mut self.whole {
            whole.set_state(state);
        }
        for part in &mut self.parts {
            let state = projected(&part.part, state);
            part.set_state(state);
        }
        self.state = state.to_vec();
        self.last = None;
        self.begin();
    }

    fn best_move(&mut self) -> Option<MoveStats> {
        if let Some(whole) = &mut self.whole {
            return whole.best_move();
        }
        let legal = self.lookahead.legal_moves(&self.state).to_vec();
        let first = *legal.first()?;
        if legal.len() > 1 {
            self.look_ahead();
        }
        let with_value = |mv: MoveId, value: f32| MoveStats {
            value: Some(value),
            ..MoveStats::new(mv)
        };
        let mut outcomes = self.outcomes.iter();
        if let Some(&(mv, _)) = outcomes.find(|(_, outcome)| *outcome == MoveOutcome::Ends(100)) {
            return Some(MoveStats {
                is_proven_best: true,
                ..with_value(mv, 100.0)
            });
        }
        let is_bad = |outcome| matches!(outcome, MoveOutcome::AllowsLoss | MoveOutcome::Ends(0));
        let good = self.outcomes.iter().filter(|&&(_, it)| !is_bad(it));
        let mut candidates: Vec<MoveId> = good.map(|&(mv, _)| mv).collect();
        if candidates.is_empty() {
            candidates = legal;
        }
        let is_puzzle = self.machine.info().n_roles() == 1 && !self.is_joint;
        let best = match is_puzzle {
            true => self.best_alone(&candidates),
            false => {
                let best = self.best_by_odds(&candidates);
                best.map(|(mv, odds)| with_value(mv, (100.0 / (1.0 + (-odds).exp())) as f32))
            }
        };
        let iterations = self.parts.iter_mut();
        let iterations = iterations.map(|part| part.search.root().iterations);
        Some(MoveStats {
            visits: iterations.sum::<u64>() as f64,
            ..best.unwrap_or(with_value(first, 50.0))
        })
    }

    fn sample(&mut self) -> SearchSample {
        if let Some(whole) = &mut self.whole {
            return whole.sample();
        }
        let mut sample = SearchSample::default();
        for part in &mut self.parts {
            let statistics = part.search.statistics();
            sample.iterations += statistics.iterations;
            sample.playouts += statistics.playouts;
            sample.nodes += u64::from(statistics.nodes);
            let used = f64::from(statistics.nodes) / f64::from(statistics.node_limit.max(1));
            sample.pool_used = sample.pool_used.max(used);
            sample.times = sample
                .times
                .plus(&stage_times(&part.search.times(), &statistics));
            let root = part.search.root();
            let info = part.part.machine.info();
            sample.root_moves.extend(root_moves(info, &root.moves));
        }
        sample
            .root_moves
            .sort_by(|a, b| b.visits.total_cmp(&a.visits));
        sample.root_moves.truncate(MAX_SAMPLED_MOVES);
        if sample.iterations > 0 {
            sample.samples_per_request = sample.playouts as f64 / sample.iterations as f64;
        }
        if let Some(best) = self.best_move() {
            sample.best_move = self.machine.info().move_text(best.mv);
            sample.best_value = best.value.map_or(f64::NAN, f64::from);
        }
        sample
    }
}

#[cfg(test)]
pub(crate) mod tests;
