//! The plans of a game of one role from a position: the best one, and others that begin with
//! another move and reach the same goal.
//!
//! The planners run on threads of their own, at most one for the position and one for the moves
//! beside it. [`Plans::suspend`] ends them until the next update, and dropping [`Plans`] for good.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::host::{GameHistory, PlanView, SLICE};
use panza_game::BuiltGame;
use panza_gdl::{MoveId, RoleId};
use panza_machine::{GameInfo, Machine};
use panza_player::{MatchSearcher, PlanStatus, Position, preferred_search};
use panza_search::SearchConfig;
use panza_sync::{HAS_THREADS, Instant, after};

/// The moves of a plan that are listed, at most.
const MAX_MOVES: usize = 500;
/// Other first moves that are looked at, at most, and the time for each.
const MAX_ALTERNATIVES: usize = 16;
const ALTERNATIVE_TIME: Duration = Duration::from_millis(1500);
/// Positions whose plan is kept, at most.
const MAX_KNOWN: usize = 5_000;
/// A plan that is not proven best is good enough after this time to look for others.
const SETTLED: Duration = Duration::from_secs(3);

/// The plans from a position.
pub(crate) struct Plans {
    planner: Box<dyn MatchSearcher>,
    state: Vec<u64>,
    /// The positions along plans that were found, with the plan and the moves of it before them.
    known: HashMap<Vec<u64>, (Arc<PlanStatus>, usize)>,
    begin: Instant,
    best: Option<PlanStatus>,
    /// The moves whose plans are still to be looked for; none before the best plan is known.
    left: Option<Vec<MoveId>>,
    /// The planner for them.
    other: Option<Box<dyn MatchSearcher>>,
    /// The move that it is at, and since when.
    at: Option<(MoveId, Instant)>,
    alternatives: Vec<PlanView>,
    /// Whether no planner runs.
    is_suspended: bool,
}

impl Plans {
    /// Looks for plans from the present position; `None` where several roles play, and where
    /// there is no planner.
    pub fn new(game: &BuiltGame, history: &GameHistory, config: &SearchConfig) -> Option<Self> {
        if game.info().n_roles() != 1 {
            return None;
        }
        let state = history.position.state();
        let planner = preferred_search(game, RoleId(0), state, config, false);
        planner.plan()?;
        Some(Self {
            planner,
            state: state.to_vec(),
            known: HashMap::new(),
            begin: Instant::now(),
            best: None,
            left: None,
            other: None,
            at: None,
            alternatives: Vec::new(),
            is_suspended: false,
        })
    }

    /// Goes to another position. What is known of the game is kept: along a plan, the rest of it.
    pub fn go_to(&mut self, machine: &Arc<dyn Machine>, state: &[u64]) {
        self.keep_plan(machine);
        self.planner.set_state(state);
        self.state = state.to_vec();
        self.begin = Instant::now();
        (self.left, self.at) = (None, None);
        self.best = self.known.get(state).map(|(plan, before)| PlanStatus {
            moves: plan.moves[*before..].to_vec(),
            ..PlanStatus::clone(plan)
        });
        self.alternatives.clear();
        self.is_suspended = false;
    }

    /// Keeps the best plan for the positions along it.
    fn keep_plan(&mut self, machine: &Arc<dyn Machine>) {
        let Some(plan) = self.best.take().filter(|plan| plan.goal.is_some()) else {
            return;
        };
        let plan = Arc::new(plan);
        let mut position = Position::new(machine);
        position.go_to(self.state.clone());
        for (before, &mv) in plan.moves.iter().enumerate().take(MAX_MOVES) {
            if self.known.len() >= MAX_KNOWN || position.is_terminal() {
                break;
            }
            let state = position.state().to_vec();
            self.known.insert(state, (Arc::clone(&plan), before));
            position.make(&[mv]);
        }
    }

    /// Ends the work of the planners at the position `state`. What was found is kept.
    pub fn suspend(&mut self, state: &[u64]) {
        if self.is_suspended {
            return;
        }
        // A planner begins at another state when it is polled next.
        self.planner.set_state(state);
        if let (Some((mv, _)), Some(left)) = (self.at.take(), &mut self.left) {
            left.push(mv);
        }
        self.other = None;
        self.is_suspended = true;
    }

    /// Takes what the planners have found meanwhile. Returns whether they are done.
    pub fn update(
        &mut self,
        game: &BuiltGame,
        history: &mut GameHistory,
        config: &SearchConfig,
    ) -> bool {
        if std::mem::take(&mut self.is_suspended) {
            self.begin = Instant::now();
        }
        poll(&mut *self.planner);
        let found = self.planner.plan();
        // What is known is not given up for less, nor for another plan that is as good.
        let key = |plan: &PlanStatus| (plan.goal, plan.is_best, Reverse(plan.moves.len()));
        if found.as_ref().map(key) > self.best.as_ref().map(key) {
            self.best = found;
        }
        let Some(best) = self.best.clone().filter(|best| best.goal.is_some()) else {
            return false;
        };
        if !best.is_best && self.begin.elapsed() < SETTLED {
            return false;
        }
        if let (Some((mv, begin)), Some(other)) = (self.at, &mut self.other) {
            poll(&mut **other);
            let found = other.plan().filter(|plan| plan.goal >= best.goal);
            if let Some(mut plan) = found {
                plan.moves.insert(0, mv);
                self.alternatives.push(shown(history.info(), &plan));
            } else if begin.elapsed() < ALTERNATIVE_TIME {
                return false;
            }
            self.at = None;
        }
        let left = self.left.get_or_insert_with(|| {
            let first = best.moves.first().copied();
            let others = history.legal(0).iter().copied();
            let mut others: Vec<MoveId> = others.filter(|&mv| Some(mv) != first).collect();
            others.truncate(MAX_ALTERNATIVES);
            others
        });
        while let Some(mv) = left.pop() {
            let state = history.position.after(&[mv]);
            if let Some(goal) = goal_at_end(history, &state) {
                if Some(goal) >= best.goal {
                    self.alternatives.push(PlanView {
                        goal: Some(goal),
                        bound: best.bound,
                        is_best: best.is_best,
                        solver: String::new(),
                        moves: vec![history.info().move_text(mv)],
                        n_moves: 1,
                    });
                }
                continue;
            }
            match &mut self.other {
                Some(other) => other.set_state(&state),
                None => {
                    let other = preferred_search(game, RoleId(0), &state, config, false);
                    self.other = Some(other);
                }
            }
            self.at = Some((mv, Instant::now()));
            return false;
        }
        best.is_best
    }

    /// The best plan so far, and the others.
    pub fn shown(&self, info: &dyn GameInfo) -> (Option<PlanView>, Vec<PlanView>) {
        let best = self.best.as_ref().map(|plan| shown(info, plan));
        (best, self.alternatives.clone())
    }
}

/// The goal of the only role in a state in which the game is over.
fn goal_at_end(history: &mut GameHistory, state: &[u64]) -> Option<u8> {
    let present = history.position.state().to_vec();
    history.position.go_to(state.to_vec());
    let goal = match history.position.is_terminal() {
        true => history.position.goals()[0],
        false => None,
    };
    history.position.go_to(present);
    goal
}

/// Takes what a planner has found; it searches on its own thread, or now where there is none.
fn poll(planner: &mut dyn MatchSearcher) {
    let time = if HAS_THREADS { Duration::ZERO } else { SLICE };
    planner.search(after(time), &Arc::default());
}

fn shown(info: &dyn GameInfo, plan: &PlanStatus) -> PlanView {
    let moves = plan.moves.iter().take(MAX_MOVES);
    PlanView {
        goal: plan.goal,
        bound: plan.bound,
        is_best: plan.is_best,
        solver: plan.solver.to_string(),
        moves: moves.map(|&mv| info.move_text(mv)).collect(),
        n_moves: plan.moves.len(),
    }
}
