//! The searches of a review: a few positions each, by a search of its own.
//!
//! A *block* is some positions that follow each other, searched from the last to the first. A
//! *doubt* is a move whose loss is not settled: the positions after and before it are searched in
//! turn, each round for one question, whether the role can force the goal that decides.
//!
//! Invariants: what a search finds depends on the match and the settings alone, not on the clock,
//! on other searches or on threads; one that was interrupted begins again.
//!
//! Never uses: threads, the results of other searches that are under way.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::grades::LEAST_FALL;
use super::position::{Found, Position, ReviewSettings, Worth, loss_of};
use crate::whole_search;
use panza_gdl::{Id, RoleId};
use panza_machine::Machine;
use panza_search::{LineLimits, MoveStats, SearchConfig, Searcher, StopReason};
use panza_sync::{Budget, Instant};

/// Iterations between two looks at the clock. The slowest games make a few hundred a second.
const SLICE_ITERATIONS: u64 = 20;
/// Expansions of the proof-number search for each iteration: proofs say more here than in a match,
/// and most where a loss is in doubt. They are fewer in positions with more moves than this: an
/// expansion generates the position after each.
const PROOF_EFFORT: f32 = 1.0;
const PROOF_EFFORT_IN_DOUBT: f32 = 8.0;
const USUAL_MOVES: f32 = 8.0;
/// Joint moves of random games that stand for an iteration: in long games there are fewer
/// iterations.
const STEPS_AN_ITERATION: u64 = 25;
/// Iterations of a round, in parts of those of a position.
const ROUND_SHARE: u64 = 4;
/// Rounds after which a doubt is given up where nothing is proven about either position.
const HOPELESS: u64 = 16;
/// Nodes and bytes of a search. Results depend on them where they are reached.
const MAX_NODES: u32 = 400_000;
const MAX_BYTES: usize = 256 << 20;
/// Visits of a move for its value to count where several roles choose at once.
const MIN_VISITS: f64 = 50.0;
/// Joint moves of the line that is better.
const LINE: usize = 12;

/// What all searches of a review share.
pub(super) struct Subject {
    pub machine: Arc<dyn Machine>,
    pub config: SearchConfig,
    pub settings: ReviewSettings,
    pub positions: Vec<Position>,
}

/// What is searched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Work {
    /// These positions, in this order.
    Block(Vec<usize>),
    /// The move of a turn. `rounds` is the greatest number of rounds.
    Doubt { turn: usize, rounds: u64 },
}

/// A search that is under way.
pub(super) struct Running {
    pub work: Work,
    search: Option<Box<dyn Searcher>>,
    /// Whether the search is at the position of the round.
    is_there: bool,
    /// Iterations of the round, or of the position of a block, and the joint moves of random games
    /// before them.
    iterations: u64,
    steps_before: u64,
    /// What was found, by position.
    pub found: Vec<(usize, Found)>,
    /// Positions of a block, or rounds for a doubt, that are done.
    pub n_done: u64,
}

/// How a search was left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Left {
    /// It is done.
    Done,
    /// It goes on from here.
    UnderWay,
    /// It was interrupted where it cannot go on.
    Broken,
}

impl Running {
    /// The search for some work. `known` is what was found before, by position.
    pub fn new(work: Work, known: &[Option<Found>]) -> Self {
        let found = match work {
            Work::Block(_) => Vec::new(),
            Work::Doubt { turn, .. } => [turn + 1, turn]
                .map(|at| (at, known[at].clone().unwrap_or_default()))
                .to_vec(),
        };
        Self {
            work,
            search: None,
            is_there: false,
            iterations: 0,
            steps_before: 0,
            found,
            n_done: 0,
        }
    }

    /// Searches until it is done, until then, or until `stop` is set.
    pub fn advance(&mut self, on: &Subject, until: Instant, stop: &Arc<AtomicBool>) -> Left {
        loop {
            let done = match &self.work {
                Work::Block(positions) => match positions.get(self.n_done as usize) {
                    None => return Left::Done,
                    Some(&at) => self.slice_of_block(on, at, stop),
                },
                &Work::Doubt { turn, rounds } => match self.side(on, turn, rounds) {
                    None => return Left::Done,
                    Some(side) => self.slice_of_doubt(on, side, stop),
                },
            };
            if done.is_none() {
                return Left::Broken;
            }
            if Instant::now() >= until {
                return Left::UnderWay;
            }
        }
    }

    /// Searches a position of a block; `None` if it was interrupted.
    fn slice_of_block(&mut self, on: &Subject, at: usize, stop: &Arc<AtomicBool>) -> Option<()> {
        let role = on.positions[at].choosers.first().copied().unwrap_or(0);
        let all = on.settings.iterations;
        let is_over = self.slice(on, at, role, None, all, stop)?;
        if is_over && let Some(search) = &mut self.search {
            let found = read(&mut **search, &on.positions[at]);
            self.found.push((at, found));
            self.is_there = false;
            self.n_done += 1;
        }
        Some(())
    }

    /// The place in `found` of the position to search for a doubt, and the goal that is asked for;
    /// `None` where nothing is left to do.
    fn side(&self, on: &Subject, turn: usize, rounds: u64) -> Option<(usize, Option<u8>)> {
        if self.n_done >= rounds {
            return None;
        }
        let [(_, after), (_, before)] = &self.found[..] else {
            return None;
        };
        let role = *on.positions[turn].choosers.first()?;
        let (before, after) = (&before.worth, &after.worth);
        let is_hopeless = self.n_done >= HOPELESS && !before.is_bounded(role);
        let is_hopeless = is_hopeless && !after.is_bounded(role);
        if is_hopeless || !is_doubtful(before, after, role, on.settings.threshold) {
            return None;
        }
        let goals = [
            goal_after(before, after, role, on.settings.threshold),
            goal_before(before, after, role, on.settings.threshold),
        ];
        let is_open = [after, before].map(|worth| !worth.is_proven(role));
        let next = (self.n_done % 2) as usize;
        let sides = [next, 1 - next];
        let asked = sides
            .into_iter()
            .find(|&side| is_open[side] && goals[side].is_some());
        let side = asked.or_else(|| sides.into_iter().find(|&side| is_open[side]))?;
        Some((side, goals[side]))
    }

    /// Searches a position for a doubt; `None` if it was interrupted.
    fn slice_of_doubt(
        &mut self,
        on: &Subject,
        (side, goal): (usize, Option<u8>),
        stop: &Arc<AtomicBool>,
    ) -> Option<()> {
        let &Work::Doubt { turn, .. } = &self.work else {
            return None;
        };
        let role = on.positions[turn].choosers.first().copied().unwrap_or(0);
        let at = self.found[side].0;
        let all = on.settings.iterations.div_ceil(ROUND_SHARE);
        let is_over = self.slice(on, at, role, goal, all, stop)?;
        if is_over && let Some(search) = &mut self.search {
            let found = read(&mut **search, &on.positions[at]);
            self.found[side].1.renew(found);
            self.is_there = false;
            self.n_done += 1;
        }
        Some(())
    }

    /// Searches a position for a slice of `all` iterations, first for whether the role can force
    /// `goal`. Returns whether they are over, and `None` if it was interrupted.
    fn slice(
        &mut self,
        on: &Subject,
        at: usize,
        role: usize,
        goal: Option<u8>,
        all: u64,
        stop: &Arc<AtomicBool>,
    ) -> Option<bool> {
        let state = &on.positions[at].state;
        let role = RoleId::from_index(role);
        let search = self.search.get_or_insert_with(|| {
            let config = config(on, &self.work);
            whole_search(&on.machine, role, state, config).search
        });
        if !self.is_there {
            search.set_state(state);
            search.set_role(role);
            if let Some(goal) = goal {
                search.ask_first(role, goal);
            }
            self.is_there = true;
            self.iterations = 0;
            self.steps_before = search.statistics().playout_steps;
        }
        let now = SLICE_ITERATIONS.min(all - self.iterations);
        self.iterations += now;
        let steps = now * search.method().steps_an_iteration();
        let budget = Budget::generous().with_steps(steps).stopped_by(stop);
        match search.run(&budget) {
            StopReason::Flag => None,
            StopReason::Proven | StopReason::Exhausted => Some(true),
            StopReason::Deadline | StopReason::Iterations => {
                let is_answered = goal.is_some_and(|goal| search.knows(role, goal));
                let steps = search.statistics().playout_steps - self.steps_before;
                let is_spent = self.iterations >= all || steps >= all * STEPS_AN_ITERATION;
                Some(is_spent || is_answered)
            }
        }
    }
}

/// The settings of a search: those that results depend on are fixed.
fn config(on: &Subject, work: &Work) -> SearchConfig {
    let (effort, positions) = match work {
        Work::Block(positions) => (PROOF_EFFORT, positions.clone()),
        &Work::Doubt { turn, .. } => (PROOF_EFFORT_IN_DOUBT, vec![turn, turn + 1]),
    };
    let n_moves = positions.iter().map(|&at| on.positions[at].n_moves).max();
    let n_moves = n_moves.unwrap_or(1).max(1) as f32;
    SearchConfig {
        rollout_threads: 0,
        samples_per_request: 1,
        max_nodes: MAX_NODES,
        max_bytes: MAX_BYTES,
        proof_effort: effort * (USUAL_MOVES / n_moves).min(1.0),
        ..on.config.clone()
    }
}

/// Whether more search may change whether a move is named, or as what.
pub(super) fn is_doubtful(before: &Worth, after: &Worth, role: usize, threshold: f64) -> bool {
    let most = before.most(role) - after.least(role);
    let least = before.least(role) - after.most(role);
    let is_known = before.is_proven(role) && after.is_proven(role);
    if is_known || most < LEAST_FALL || least >= threshold {
        return false;
    }
    // Even a small fall from a proven value is named.
    before.is_proven(role) || loss_of(before, after, role) >= threshold * 2.0 / 3.0
}

/// The goal that decides after a move, if it is open there: what the role can still force if it
/// lost less than the threshold, and nothing if it fell from a proven value.
fn goal_after(before: &Worth, after: &Worth, role: usize, threshold: f64) -> Option<u8> {
    let goals = match before.is_proven(role) {
        true => [before.least(role); 2],
        false => [before.of(role)?, before.least(role)].map(|it| (it - threshold).floor() + 1.0),
    };
    after.open_goal(role, goals)
}

/// The goal that decides before a move, if it is open there: what the role can force if it lost
/// the threshold.
fn goal_before(before: &Worth, after: &Worth, role: usize, threshold: f64) -> Option<u8> {
    let goals = [after.of(role)?, after.most(role)].map(|it| (it + threshold).ceil());
    before.open_goal(role, goals)
}

/// What a search has found in its position.
fn read(search: &mut dyn Searcher, position: &Position) -> Found {
    search.settle();
    let report = search.report(LineLimits {
        lines: 1,
        moves: LINE,
    });
    let mut found = Found {
        worth: Worth(report.roles),
        line: (report.lines.into_iter().next()).map_or(Vec::new(), |line| line.joint_moves),
        choices: Vec::new(),
        sum: report.sum,
    };
    let Some(made) = (position.made.as_ref()).filter(|_| position.choosers.len() > 1) else {
        return found;
    };
    for &role in &position.choosers {
        search.set_role(RoleId::from_index(role));
        let moves = search.report(LineLimits::NONE).moves;
        let value = |report: &MoveStats| match report.proven() {
            Some(goal) => Some(f64::from(goal)),
            None if report.visits >= MIN_VISITS => report.value.map(f64::from),
            None => None,
        };
        let of_made = moves.iter().find(|report| report.mv == made[role]);
        let best = moves.iter().filter_map(|it| Some((it.mv, value(it)?)));
        let best = best.max_by(|(_, one), (_, other)| one.total_cmp(other));
        if let Some(after) = of_made.and_then(value)
            && let Some((better, worth)) = best
        {
            found.choices.push((role, better, worth, after));
        }
    }
    found
}
