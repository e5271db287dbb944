//! The search of single-player games: a planner beside the tree search.
//!
//! The planner runs on a thread of its own. Once it has a plan that reaches a goal, the match
//! follows the plan; until then the tree search chooses the moves. While better plans are possible,
//! the planner starts again from each new position. Once none is, its thread shortens the plan
//! until the match ends; nothing waits for that. Where there are no threads, the planner works for
//! half of the time of each search, and shortens nothing.
//!
//! Invariant: the plan starts at the state of the match.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use super::match_searcher::{MatchSearcher, PlanStatus};
use panza_game::BuiltGame;
use panza_gdl::{MoveId, RoleId};
use panza_machine::Machine;
use panza_memory::{GameHistory, Kind, PlanNote};
use panza_planner::{Findings, Plan, Planner, PlannerConfig, PlanningGame};
use panza_search::{MoveStats, SearchConfig};
use panza_sync::{HAS_THREADS, Instant, after, left_until, lock, spawn};
use panza_telemetry::SearchSample;

/// The planner publishes what it has found at least this often.
const PUBLISH_EVERY: Duration = Duration::from_secs(1);
/// Time for one search for a shorter plan.
const LONGEST_STEP: Duration = Duration::from_secs(600);
/// Time for a planner without a thread beside a search that counts iterations.
const OWN_TIME: Duration = Duration::from_millis(5);
/// Stands for the solver of a plan of an earlier match.
const MEMORY: &str = "memory";

/// A plan of an earlier match, replayed from the initial state.
pub(crate) struct KnownPlan {
    pub plan: Plan,
    /// Whether no plan reaches a higher goal.
    pub is_best: bool,
}

/// The plan in what is known of a game. The error says why the plan in it is of no use.
pub(crate) fn known_plan(
    machine: &Arc<dyn Machine>,
    history: &GameHistory,
) -> Result<Option<KnownPlan>, &'static str> {
    let Some(note) = history.note(Kind::Plan) else {
        return Ok(None);
    };
    let note = PlanNote::from_json(note).ok_or("its note is damaged")?;
    let moves = note.moves.iter();
    let moves = moves.map(|text| machine.info().find_move(RoleId(0), text));
    let moves: Option<Vec<MoveId>> = moves.collect();
    let moves = moves.ok_or("it has moves that the game does not have")?;
    let plan = Plan::replay(machine, &machine.initial_state(), &moves);
    let plan = plan.ok_or("it does not replay")?;
    if plan.goal != note.goal {
        return Err("it reaches another goal");
    }
    Ok(Some(KnownPlan {
        plan,
        is_best: note.is_best && history.is_exact,
    }))
}

/// A planner on its thread.
struct Worker {
    stop: Arc<AtomicBool>,
    findings: Arc<Mutex<Findings>>,
    thread: Option<JoinHandle<()>>,
    /// The planner, where there are no threads.
    own: Option<Planner>,
}

/// A planner with a tree search for what it does not find.
pub(crate) struct PlanSearch {
    game: Arc<PlanningGame>,
    machine: Arc<dyn Machine>,
    config: PlannerConfig,
    /// Searches where there is no plan.
    fallback: Box<dyn MatchSearcher>,
    /// None until the first search of a position.
    worker: Option<Worker>,
    /// The state of the match, if the planner has not begun there.
    new_state: Option<Vec<u64>>,
    /// A plan from `new_state`, for the planner to start with.
    first_plan: Option<Plan>,
    /// The moves of the match since the planner began.
    played: Vec<MoveId>,
    /// Workers whose position has passed.
    stopped: Vec<Worker>,
    plan: VecDeque<MoveId>,
    /// The goal of the plan.
    goal: u8,
    is_best: bool,
    /// No plan reaches a higher goal than this.
    bound: u8,
    solver: &'static str,
    /// States made by workers that were stopped.
    n_states_before: u64,
}

impl PlanSearch {
    /// A planner from `state` on; `None` where several roles play, and on the prover. `fallback`
    /// makes the tree search from its settings.
    pub fn new(
        game: &BuiltGame,
        state: &[u64],
        config: &SearchConfig,
        fallback: impl FnOnce(&SearchConfig) -> Box<dyn MatchSearcher>,
    ) -> Option<Self> {
        let planner_config = PlannerConfig {
            threads: config.rollout_threads.max(1),
            max_bytes: config.max_bytes / 2,
            seed: config.seed,
        };
        // The prover keeps every state it meets, and threads would wait for each other.
        if game.machine.kind() == "prover" {
            return None;
        }
        let planned = PlanningGame::new(&game.machine, game.network.as_ref())?;
        let fallback_config = SearchConfig {
            rollout_threads: 0,
            max_nodes: (config.max_nodes / 2).max(2),
            max_bytes: config.max_bytes / 2,
            ..config.clone()
        };
        Some(Self {
            game: planned,
            machine: Arc::clone(&game.machine),
            config: planner_config,
            fallback: fallback(&fallback_config),
            worker: None,
            new_state: Some(state.to_vec()),
            first_plan: None,
            played: Vec::new(),
            stopped: Vec::new(),
            plan: VecDeque::new(),
            goal: 0,
            is_best: false,
            bound: 100,
            solver: "",
            n_states_before: 0,
        })
    }

    /// Lets the planner work for some time, where there are no threads.
    fn work_for(&mut self, time: Duration) {
        if HAS_THREADS || self.is_best {
            return;
        }
        self.start_worker();
        if let Some(worker) = &mut self.worker {
            worker.work(after(time));
        }
    }

    /// Takes over what the planner has found.
    fn take_findings(&mut self) {
        self.start_worker();
        let Some(worker) = &self.worker else { return };
        let findings = worker.findings();
        self.is_best |= findings.is_best;
        // A bound of an earlier position holds: the match came here by legal moves.
        self.bound = self.bound.min(findings.bound);
        if let Some(plan) = findings.plan
            && let Some(rest) = plan.moves.strip_prefix(&self.played[..])
            && (self.plan.is_empty()
                || plan.goal > self.goal
                || plan.goal == self.goal && rest.len() < self.plan.len())
        {
            self.goal = plan.goal;
            self.solver = findings.solver;
            self.plan = rest.iter().copied().collect();
        }
    }

    /// States made so far.
    fn n_states(&self) -> u64 {
        let worker = self.worker.as_ref();
        self.n_states_before + worker.map_or(0, |worker| lock(&worker.findings).n_states)
    }

    fn has_plan(&self) -> bool {
        !self.plan.is_empty() && (self.goal > 0 || self.is_best)
    }

    /// Ends the search of the last position; the next search starts at this one.
    fn restart(&mut self, state: &[u64]) {
        self.stop_worker();
        self.new_state = Some(state.to_vec());
    }

    fn stop_worker(&mut self) {
        self.new_state = None;
        self.first_plan = None;
        self.played.clear();
        if let Some(worker) = self.worker.take() {
            worker.stop.store(true, Ordering::Relaxed);
            self.n_states_before += worker.findings().n_states;
            self.stopped.push(worker);
        }
        let has_ended = |worker: &Worker| match &worker.thread {
            Some(thread) => thread.is_finished(),
            None => true,
        };
        self.stopped.retain(|worker| !has_ended(worker));
    }

    fn start_worker(&mut self) {
        if let Some(state) = self.new_state.take() {
            self.worker = Worker::start(&self.game, &state, self.config, self.first_plan.take());
        }
    }
}

impl Worker {
    /// Starts a planner from `state`, with a plan where one is known.
    fn start(
        game: &Arc<PlanningGame>,
        state: &[u64],
        config: PlannerConfig,
        plan: Option<Plan>,
    ) -> Option<Self> {
        let mut planner = Planner::new(game, state, config);
        let stop = Arc::new(AtomicBool::new(false));
        let findings = Arc::new(Mutex::new(planner.findings().clone()));
        if !HAS_THREADS {
            if let Some(plan) = plan {
                planner.start_with(plan, MEMORY);
            }
            return Some(Self {
                stop,
                findings,
                thread: None,
                own: Some(planner),
            });
        }
        let thread = spawn("planner", {
            let (stop, findings) = (Arc::clone(&stop), Arc::clone(&findings));
            move || {
                if let Some(plan) = plan {
                    planner.start_with(plan, MEMORY);
                }
                while !planner.findings().is_finished && !stop.load(Ordering::Relaxed) {
                    planner.run(Instant::now() + PUBLISH_EVERY, &stop);
                    *lock(&findings) = planner.findings().clone();
                }
                if planner.findings().is_best && !stop.load(Ordering::Relaxed) {
                    shorten(planner, &findings, &stop);
                }
            }
        });
        match thread {
            Ok(thread) => Some(Self {
                stop,
                findings,
                thread: Some(thread),
                own: None,
            }),
            Err(error) => {
                tracing::warn!("no thread for the planner: {error}");
                None
            }
        }
    }

    /// Works until then without a thread.
    fn work(&mut self, until: Instant) {
        if let Some(planner) = self.own.as_mut().filter(|it| !it.findings().is_finished) {
            planner.run(until, &self.stop);
            *lock(&self.findings) = planner.findings().clone();
        }
    }

    fn findings(&self) -> Findings {
        lock(&self.findings).clone()
    }
}

/// Shortens the best plan until `stop` is set.
fn shorten(planner: Planner, findings: &Mutex<Findings>, stop: &AtomicBool) {
    let Some(mut improver) = planner.into_improver() else {
        return;
    };
    while !improver.found().is_finished && !stop.load(Ordering::Relaxed) {
        improver.step(Instant::now() + LONGEST_STEP, stop);
        lock(findings).plan = Some(improver.found().plan);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::warn!("the planner panicked; the tree search went on alone");
        }
    }
}

impl MatchSearcher for PlanSearch {
    fn name(&self) -> &'static str {
        "planner"
    }

    fn search(&mut self, until: Instant, interrupt: &Arc<AtomicBool>) {
        self.work_for(left_until(until) / 2);
        self.take_findings();
        if !(self.is_best && self.has_plan()) {
            self.fallback.search(until, interrupt);
        }
    }

    fn search_iterations(&mut self, iterations: u64, interrupt: &Arc<AtomicBool>) {
        self.work_for(OWN_TIME);
        self.take_findings();
        self.fallback.search_iterations(iterations, interrupt);
    }

    fn advance(&mut self, joint_move: &[MoveId], state: &[u64]) {
        if self.new_state.is_none() {
            self.take_findings();
        }
        self.fallback.advance(joint_move, state);
        self.played.extend(joint_move.first());
        if self.plan.front() == joint_move.first() {
            self.plan.pop_front();
        } else {
            self.plan.clear();
            self.is_best = false;
        }
        if !self.is_best {
            self.restart(state);
        }
    }

    fn set_state(&mut self, state: &[u64]) {
        self.fallback.set_state(state);
        self.plan.clear();
        self.is_best = false;
        self.bound = 100;
        self.restart(state);
    }

    fn best_move(&mut self) -> Option<MoveStats> {
        let searched = self.fallback.best_move();
        let goal = f32::from(self.goal);
        let is_worse = searched.is_some_and(|best| {
            best.is_proven_best && best.value.is_some_and(|value| value > goal)
        });
        match self.plan.front() {
            Some(&mv) if self.has_plan() && !is_worse => Some(MoveStats {
                visits: self.n_states() as f64,
                value: Some(goal),
                is_proven_best: self.is_best,
                ..MoveStats::new(mv)
            }),
            _ => searched,
        }
    }

    fn line(&mut self, most: usize) -> Vec<Vec<MoveId>> {
        if !self.has_plan() {
            return self.fallback.line(most);
        }
        let moves = self.plan.iter().take(most);
        moves.map(|&mv| vec![mv]).collect()
    }

    fn plan(&self) -> Option<PlanStatus> {
        let mut status = PlanStatus {
            goal: None,
            bound: self.bound,
            moves: Vec::new(),
            is_best: false,
            solver: "",
            n_states: self.n_states(),
        };
        if self.has_plan() {
            status.goal = Some(self.goal);
            status.moves = self.plan.iter().copied().collect();
            status.is_best = self.is_best;
            status.solver = self.solver;
            if self.is_best {
                status.bound = self.goal;
            }
        }
        Some(status)
    }

    fn start_with(&mut self, plan: &Plan, is_best: bool) {
        if self.new_state.is_none() {
            self.take_findings();
        }
        let is_better = self.plan.is_empty() || plan.goal > self.goal;
        if is_better {
            self.goal = plan.goal;
            self.solver = MEMORY;
            self.plan = plan.moves.iter().copied().collect();
            self.is_best = is_best;
        } else {
            // The planner has found a plan meanwhile. It is as good, or better than known before.
            self.is_best |= is_best && plan.goal == self.goal;
        }
        if self.is_best {
            self.stop_worker();
        } else if is_better {
            self.restart(&self.machine.initial_state());
            self.first_plan = Some(plan.clone());
        }
    }

    fn sample(&mut self) -> SearchSample {
        let mut sample = self.fallback.sample();
        sample.nodes += self.n_states();
        if let Some(&mv) = self.plan.front()
            && self.has_plan()
        {
            sample.best_move = self.machine.info().move_text(mv);
            sample.best_value = f64::from(self.goal);
        }
        sample
    }
}

#[cfg(test)]
mod tests;
