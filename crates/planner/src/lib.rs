#![doc = include_str!("../README.md")]
//!
//! A [`Planner`] runs a portfolio of solvers on a task, in turn or on several threads, and keeps
//! the best plan. Breadth-first search proves the best goal of small games, greedy search follows
//! distances to the goal, constraint search fills in games whose moves only fix facts, and adaptive
//! rollouts improve scores.
//!
//! Modules, in reading order: `task`, `plan`; `packing`, `compiled`, `packed_game`, `store` and
//! `successors`, what searches are made of; `solver`, the trait; `tables`, what is known of final
//! states; `relaxed`, `dead_ends`, `distance` and `projections`, what guides searches; `layers`,
//! `guided`, `fixing` with `families`, and `sampling`, the solvers; `improve`, which shortens a
//! plan.
//!
//! # A portfolio
//!
//! In single-player games a `planner` runs beside the tree search, on threads of its own. It
//! analyses the task: latches, counters, the highest goal that unit propagation and table
//! constraints do not refute. Its solvers take turns, each a little longer than the last:
//! breadth-first search, whose end proves the best plan; best-first search by distances to the
//! goal and by novelty; constraint search where moves only fix facts; adaptive rollouts. Large
//! breadth-first searches run a network over packed states (`panza_propnet::packed`). The
//! relaxation of the game (`panza_propnet::relaxation`), run in lanes, finds dead ends and the
//! distances in projections to groups of facts. Every plan is replayed before it counts. A plan is
//! shortened by breadth-first searches in growing neighbourhoods of its states
//! (`planner::improve`); one that has missed nothing proves it shortest. The match follows a plan
//! that reaches a goal; while a better one is possible, the planner starts again from each new
//! position, and once none is, it shortens the plan. Without a plan the tree search chooses the
//! move (`player::search`).
//!
//! # What holds
//!
//! Invariants: every plan was replayed on the machine; a plan is called best only if a solver that
//! considers all plans has ended, or its goal reaches a proven bound.
//!
//! Never uses: clocks of a match, HTTP.

#![cfg_attr(test, allow(clippy::disallowed_methods))]
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    reason = "solvers take turns by the time they have taken"
)]

mod compiled;
mod dead_ends;
mod distance;
mod families;
mod fixing;
mod guided;
mod improve;
mod layers;
mod packed_game;
mod packing;
mod plan;
mod projections;
mod relaxed;
mod sampling;
mod solver;
mod store;
mod successors;
mod tables;
mod task;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub use improve::{Improvement, Improver};
pub use plan::Plan;
pub use task::PlanningGame;

use panza_sync::{Instant, catch_panic, in_threads, is_past};

use fixing::Fixing;
use guided::Guided;
use layers::Layers;
use sampling::Sampling;
use solver::{Report, Solver, Status};
use task::Task;

/// The first turn of each solver; its turns grow.
const FIRST_TURN: Duration = Duration::from_millis(20);
/// The longest turn.
const MAX_TURN: Duration = Duration::from_secs(2);

/// The names of the solvers.
pub const SOLVERS: [&str; 5] = ["layers", "layers-masked", "guided", "fixing", "rollouts"];

/// The settings of a planner.
#[derive(Clone, Copy, Debug)]
pub struct PlannerConfig {
    /// Solvers that run at once.
    pub threads: usize,
    /// Bytes that the stores of all solvers take together, at most.
    pub max_bytes: usize,
    /// Seed of all random numbers.
    pub seed: u64,
}

/// A solver and its turns.
struct Entry {
    solver: Box<dyn Solver>,
    turn: Duration,
    spent: Duration,
    is_open: bool,
}

/// What a planner has found out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Findings {
    /// The best plan so far.
    pub plan: Option<Plan>,
    /// Whether no plan reaches a higher goal.
    pub is_best: bool,
    /// The solver that found the plan.
    pub solver: &'static str,
    /// No plan reaches a higher goal than this.
    pub bound: u8,
    /// States made.
    pub n_states: u64,
    /// Whether nothing is left to search.
    pub is_finished: bool,
}

/// Searches for plans of one single-player game from one state.
pub struct Planner {
    game: Arc<PlanningGame>,
    start: Vec<u64>,
    config: PlannerConfig,
    only: Option<String>,
    /// `None` before the analysis.
    task: Option<Arc<Task>>,
    /// Empty before the analysis.
    solvers: Vec<Entry>,
    findings: Findings,
}

impl Planner {
    /// A planner for the game from a state on.
    pub fn new(game: &Arc<PlanningGame>, start: &[u64], config: PlannerConfig) -> Self {
        Self {
            game: Arc::clone(game),
            start: start.to_vec(),
            config,
            only: None,
            task: None,
            solvers: Vec::new(),
            findings: Findings {
                bound: 100,
                ..Findings::default()
            },
        }
    }

    /// Uses the solvers of this name only.
    pub fn use_only(&mut self, name: &str) {
        self.only = Some(name.to_string());
    }

    /// Considers a plan that is known from elsewhere; `name` stands for its solver.
    pub fn start_with(&mut self, plan: Plan, name: &'static str) {
        self.consider(plan, name);
    }

    /// What is found so far.
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// An improver of the best plan in place of the search; `None` where there is no plan. It may
    /// analyse the game first, for some seconds at most.
    pub fn into_improver(self) -> Option<Improver> {
        let plan = self.findings.plan?;
        let new_task = || Arc::new(Task::new(self.game.analysis(), self.start));
        let task = self.task.unwrap_or_else(new_task);
        Improver::new(&task, &plan, self.config.max_bytes)
    }

    /// Searches until then, until `stop` is set, or until nothing is left to search. The first call
    /// analyses the game, for some seconds at most, whatever `until` is.
    pub fn run(&mut self, until: Instant, stop: &AtomicBool) {
        if self.solvers.is_empty() && !self.findings.is_finished {
            self.prepare(stop);
        }
        while !self.findings.is_finished && !is_past(until) && !stop.load(Ordering::Relaxed) {
            self.take_turns(until, stop);
            self.findings.is_finished =
                self.findings.is_best || self.solvers.iter().all(|entry| !entry.is_open);
        }
    }

    fn prepare(&mut self, stop: &AtomicBool) {
        let game = self.game.analysis();
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let task = Arc::new(Task::new(game, self.start.clone()));
        self.task = Some(Arc::clone(&task));
        self.findings.bound = task.goal_bound;
        let seed = self.config.seed;
        let bytes = self.config.max_bytes / 3;
        let mut solvers: Vec<Box<dyn Solver>> = Vec::new();
        if task.game.network.is_some() {
            solvers.push(Box::new(Fixing::new(&task, seed)));
        }
        solvers.push(Box::new(Guided::new(&task, bytes)));
        if task.game.has_counters {
            solvers.push(Box::new(Layers::new(&task, true, bytes)));
        }
        solvers.push(Box::new(Layers::new(&task, false, bytes)));
        solvers.push(Box::new(Sampling::new(&task, seed)));
        if let Some(only) = &self.only {
            solvers.retain(|solver| solver.name() == only);
        }
        self.solvers = solvers
            .into_iter()
            .map(|solver| Entry {
                solver,
                turn: FIRST_TURN,
                spent: Duration::ZERO,
                is_open: true,
            })
            .collect();
        self.findings.is_finished = self.solvers.is_empty();
    }

    /// Gives the open solvers that have had the least time a turn each, one on each thread.
    fn take_turns(&mut self, until: Instant, stop: &AtomicBool) {
        self.solvers
            .sort_by_key(|entry| (!entry.is_open, entry.spent));
        let n_open = self.solvers.iter().filter(|entry| entry.is_open).count();
        let n_turns = self.config.threads.clamp(1, n_open.max(1));
        let (goal, bound) = (
            self.findings.plan.as_ref().map(|plan| plan.goal),
            self.findings.bound,
        );
        let turns = &mut self.solvers[..n_turns];
        let turns = turns
            .iter_mut()
            .map(|entry| move || entry.take_turn(goal, bound, until, stop));
        let done = in_threads("planner", turns);
        for (index, (status, plans)) in done.into_iter().enumerate() {
            let name = self.solvers[index].solver.name();
            let mut all_replay = true;
            for plan in plans {
                all_replay &= self.consider(plan, name);
            }
            self.solvers[index].is_open = status == Status::Open && all_replay;
            self.findings.is_best |= status == Status::Exhausted && all_replay;
        }
        let goal = self.findings.plan.as_ref().map(|plan| plan.goal);
        self.findings.is_best |= goal.is_some_and(|goal| goal >= self.findings.bound);
        self.findings.n_states = self
            .solvers
            .iter()
            .map(|entry| entry.solver.n_states())
            .sum();
    }

    /// Keeps a plan if it is better than the best so far or as good and shorter; `false` if it does
    /// not replay.
    fn consider(&mut self, plan: Plan, solver: &'static str) -> bool {
        let Some(plan) = Plan::replay(&self.game.machine, &self.start, &plan.moves) else {
            tracing::warn!(solver, "a plan does not replay");
            return false;
        };
        let key = |plan: &Plan| (plan.goal, std::cmp::Reverse(plan.moves.len()));
        if self
            .findings
            .plan
            .as_ref()
            .is_none_or(|best| key(&plan) > key(best))
        {
            self.findings.plan = Some(plan);
            self.findings.solver = solver;
        }
        true
    }
}

impl Entry {
    /// Works for a turn, and returns the plans found.
    fn take_turn(
        &mut self,
        goal: Option<u8>,
        bound: u8,
        until: Instant,
        stop: &AtomicBool,
    ) -> (Status, Vec<Plan>) {
        let started = Instant::now();
        let mut plans = Vec::new();
        let mut take = |moves, goal| plans.push(Plan { moves, goal });
        let mut report = Report {
            goal,
            bound,
            take: &mut take,
        };
        let until = until.min(started + self.turn);
        let status = catch_panic(|| self.solver.work(&mut report, until, stop));
        let status = status.unwrap_or_else(|_| {
            // It is not asked again.
            tracing::error!(solver = self.solver.name(), "a solver panicked");
            Status::GaveUp
        });
        self.spent += started.elapsed();
        self.turn = (self.turn * 3 / 2).min(MAX_TURN);
        (status, plans)
    }
}

#[cfg(test)]
mod tests;
