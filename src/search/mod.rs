//! Search: what to play, found by Monte Carlo tree search with proof.
//!
//! One thread, the caller's, owns a game tree and repeats four steps: go down from the root by upper confidence
//! bounds, grow the tree by a node, play out at random from there, back the goals up. Rollout threads, where there
//! are any, take over the third step. What is certain is kept apart from what is estimated and travels up as proof.
//!
//! A map, in the order to read it:
//! * [`SearchConfig`] and the other plain types of the interface;
//! * `pool`, `record`, `graph`: the memory of the tree and its shape; `recycle`: making room in it;
//! * `expand`: asking the game; `select`: the way down; `backup`: the way up; `proof`: what is certain;
//! * `rollout`, `abreast`, `pipeline`: playouts and the threads that do them;
//! * `report`: what is told to the outside.
//!
//! Two positions are told apart. The *current* state is the one of the match. The *root* is the node searched from.
//! They differ while the match is in a line of forced moves: the root then stands at the line's end, where there is
//! something to choose.
//!
//! Invariants: only methods of [`Search`] touch the tree, and they take `&mut self`; nothing is allocated per
//! iteration once the buffers have grown; with no rollout threads, one seed and limits in iterations, everything
//! repeats exactly.
//!
//! Never knows: GDL, HTTP, match ids, what a game means.

mod abreast;
mod backup;
mod config;
mod expand;
mod graph;
mod pipeline;
mod pool;
mod proof;
mod record;
mod recycle;
mod report;
mod rollout;
mod select;

#[cfg(test)]
mod tests;

pub use config::{Limit, MoveReport, RootReport, SearchConfig, SearchStatistics, Stopped};

use std::sync::Arc;
use std::time::{Duration, Instant};

use self::backup::News;
use self::expand::{Hands, Opened};
use self::graph::Graph;
use self::pipeline::{Pipeline, Taken};
use self::pool::Place;
use self::record::{Bounds, EntryId, SEVERAL};
use self::rollout::{Job, play};
use self::select::Leaf;
use crate::ids::{Id, MoveId, NodeId, RoleId};
use crate::machine::Machine;
use crate::machine::random::Random;

/// Cut-off nodes freed in each iteration. An iteration makes one node at most, so the garbage shrinks faster than
/// the tree grows.
const FREED_PER_ITERATION: usize = 4;

/// A search for one role of one game.
pub struct Search {
    role: RoleId,
    config: SearchConfig,
    graph: Graph,
    hands: Hands,
    pipeline: Pipeline,
    /// The state of the match.
    current: Vec<u64>,
    /// The result being backed up: a goal per role, 0 to 100.
    values: Vec<f32>,
    /// The bounds that travel with news.
    facts: Vec<Bounds>,
    /// Room for the goals of one playout.
    goals: Vec<u8>,
    /// Requests that are not under way, for their memory.
    #[expect(
        clippy::vec_box,
        reason = "the rings carry boxes, and these travel as they are"
    )]
    spare: Vec<Box<Job>>,
    /// The account that requests belong to; see `pipeline`.
    epoch: u32,
    counters: Counters,
    /// The counters when the search came to the current state.
    counters_before: Counters,
    /// Longest path since the search came to the current state.
    max_depth: u32,
}

/// What is only ever counted up. The names are those of [`SearchStatistics`].
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    iterations: u64,
    playouts: u64,
    playout_steps: u64,
    cut_off: u64,
    own_playouts: u64,
    requests: u64,
    answers: u64,
    stale_answers: u64,
    lost_requests: u64,
}

impl Search {
    /// A search for `role`, standing at the initial state. Starts the rollout threads.
    pub fn new(machine: Arc<dyn Machine>, role: RoleId, config: SearchConfig) -> Search {
        let roles = machine.n_roles();
        let current = machine.initial_state();
        let mut search = Search {
            role,
            graph: Graph::new(&config, roles, role.index(), current.len()),
            hands: Hands::new(
                Arc::clone(&machine).reasoner(),
                Random::new(config.seed),
                roles,
            ),
            pipeline: Pipeline::start(&machine, &config),
            current: Vec::new(),
            values: vec![0.0; roles],
            facts: vec![Bounds::OPEN; roles],
            goals: vec![0; roles],
            spare: Vec::new(),
            epoch: 0,
            counters: Counters::default(),
            counters_before: Counters::default(),
            max_depth: 0,
            config,
        };
        search.set_state(&current);
        search
    }

    /// Searches until the limit is reached or nothing is left to learn. A limit that has passed already is noticed
    /// before anything is done.
    pub fn run(&mut self, limit: Limit) -> Stopped {
        let target = limit
            .iterations
            .map(|count| self.counters.iterations.saturating_add(count));
        let mut clock = Clock::new(limit.until);
        self.open_root();
        loop {
            self.receive();
            if self.is_proven() {
                return Stopped::Proven;
            }
            if limit.stop.is_some_and(|stop| stop.is_stopped()) {
                return Stopped::Stop;
            }
            if clock.is_over() {
                return Stopped::Deadline;
            }
            if let Some(target) = target {
                let done = self.counters.iterations;
                if done >= target {
                    return Stopped::Iterations;
                }
                if done + u64::from(self.pipeline.in_flight()) >= target {
                    self.pipeline.wait();
                    self.receive_all();
                    clock.look_soon();
                    continue;
                }
            }
            self.iterate(&clock);
        }
    }

    /// Follows the match: one move per role, in role order, was played in the current state. What the tree knows
    /// below that joint move is kept, the rest is freed bit by bit in later iterations. If the tree does not know the
    /// joint move, the search starts afresh in the state it leads to. A list that is not one move per role is ignored,
    /// with a warning in the log.
    pub fn advance(&mut self, joint_move: &[MoveId]) {
        if joint_move.len() != self.graph.roles {
            tracing::warn!(
                given = joint_move.len(),
                roles = self.graph.roles,
                "a joint move of the wrong length was ignored"
            );
            return;
        }
        self.hands.stand_on_state(&self.current);
        let root = self.graph.root;
        let ahead = self.graph.nodes[root].forced > 0;
        let follows = if ahead {
            (0..self.graph.roles).all(|role| {
                let legal = self.hands.reasoner.legal_moves(RoleId::from_index(role));
                legal == [joint_move[role]]
            })
        } else {
            false
        };
        self.hands
            .reasoner
            .next_state(joint_move, &mut self.hands.next);
        std::mem::swap(&mut self.current, &mut self.hands.next);
        if follows {
            self.graph.nodes[root].forced -= 1;
            self.turn_page();
            return;
        }
        let child = if ahead {
            NodeId::NONE
        } else {
            self.child_after(joint_move)
        };
        if child.is_some() {
            self.graph.cut(root, child);
            self.graph.move_root(child);
            self.turn_page();
        } else {
            self.start_afresh();
        }
    }

    /// Starts afresh at a state of the same machine.
    pub fn set_state(&mut self, state: &[u64]) {
        self.current.clear();
        self.current.extend_from_slice(state);
        self.start_afresh();
    }

    /// Waits until every request under way has come back, and backs the answers up.
    pub fn settle(&mut self) {
        while self.pipeline.in_flight() > 0 {
            self.pipeline.wait();
            self.receive_all();
        }
    }

    /// Makes a fresh root for the current state.
    fn start_afresh(&mut self) {
        self.hands.stand_on_state(&self.current);
        let terminal = self.hands.reasoner.is_terminal();
        if terminal {
            self.hands.read_goals();
        }
        let goals = terminal.then_some(self.hands.goals.as_slice());
        self.graph.plant(&self.current, goals);
        self.turn_page();
    }

    /// Notes that what is counted from now on belongs to another state of the match.
    fn turn_page(&mut self) {
        self.counters_before = self.counters;
        self.max_depth = 0;
    }

    /// Opens the root, unless it is open or the game is over. Where memory has run out it may stay closed.
    fn open_root(&mut self) {
        let root = self.graph.root;
        loop {
            let record = &self.graph.nodes[root];
            if record.terminal || record.is_open() {
                return;
            }
            match self.graph.open(root, &mut self.hands) {
                Opened::OnTheWay => {}
                Opened::Open | Opened::Ended | Opened::Full => return,
            }
        }
    }

    /// The root's child after a joint move, if the tree has it.
    fn child_after(&self, joint_move: &[MoveId]) -> NodeId {
        let root = self.graph.root;
        if !self.graph.nodes[root].is_open() {
            return NodeId::NONE;
        }
        let mut picks = Vec::with_capacity(self.graph.roles);
        for (role, &mv) in joint_move.iter().enumerate() {
            let choice = self.graph.choice(root, role);
            if choice.decides() {
                match self.entry_of(root, role, mv) {
                    Some(entry) => picks.push(entry),
                    None => return NodeId::NONE,
                }
            } else if choice.sole != mv {
                return NodeId::NONE;
            }
        }
        self.graph.child(root, &picks)
    }

    /// The entry of a role's move, if it was tried.
    fn entry_of(&self, node: NodeId, role: usize, mv: MoveId) -> Option<EntryId> {
        let choice = self.graph.choice(node, role);
        self.graph
            .entries(choice)
            .find(|entry| self.graph.chunks[entry.chunk()].moves[entry.slot()] == mv)
    }

    /// Whether nothing is left to learn at the root: the game is over, or our goal is proven and, where we have a
    /// choice, so is a move that reaches it.
    fn is_proven(&self) -> bool {
        let root = self.graph.root;
        let record = &self.graph.nodes[root];
        if record.terminal {
            return true;
        }
        let role = self.role.index();
        let bounds = self.graph.bounds[root][role];
        if !record.is_open() {
            return false;
        }
        if !bounds.is_exact() {
            return record.solved && self.is_exhausted(root);
        }
        let choice = self.graph.choice(root, role);
        let we_choose = record.decider == SEVERAL || record.decider as usize == role;
        if !we_choose || !choice.decides() {
            return true;
        }
        self.graph
            .chunks_of(choice)
            .flat_map(|(_, chunk)| &chunk.lower[..chunk.len as usize])
            .any(|&lower| lower == bounds.lower)
    }

    /// Whether all moves that one decider could still prefer lead to solved nodes. With more than two roles, that may
    /// leave a goal of ours open between two values.
    fn is_exhausted(&self, node: NodeId) -> bool {
        let decider = self.graph.nodes[node].decider;
        if decider == SEVERAL {
            return false;
        }
        let choice = self.graph.choice(node, decider as usize);
        let sure = self.graph.bounds[node][decider as usize].lower;
        !choice.has_untried()
            && self.graph.entries(choice).all(|entry| {
                let chunk = &self.graph.chunks[entry.chunk()];
                chunk.is_solved(entry.slot()) || chunk.upper[entry.slot()] < sure
            })
    }

    /// One iteration: a descent, and what it asks for.
    fn iterate(&mut self, clock: &Clock) {
        if self.graph.has_garbage() {
            self.graph.collect(FREED_PER_ITERATION);
        }
        let mut job = self.spare.pop().unwrap_or_default();
        let leaf = self.descend(&mut job.path);
        self.max_depth = self.max_depth.max(job.path.joint_moves);
        let source = match leaf {
            Leaf::Known(news) => {
                self.finish(&job, news);
                self.spare.push(job);
                return;
            }
            Leaf::Node(node) => Some(node),
            Leaf::Beyond => None,
        };
        let samples = self.pipeline.samples();
        job.samples = samples;
        if samples > 1 || self.pipeline.threads() > 0 {
            job.state.clear();
            job.state.extend_from_slice(match source {
                Some(node) => self.graph.state(node, &mut self.hands.buffer),
                None => &self.hands.next,
            });
        }
        if self.pipeline.threads() > 0 {
            job.epoch = self.epoch;
            match self.pipeline.send(job) {
                Ok(()) => {
                    self.counters.requests += 1;
                    return;
                }
                Err(returned) => job = returned,
            }
            // Every thread has its hands full. What is finished goes first: it may make room, and it may have
            // changed what is worth playing out, but this path is marked already and is seen through.
            let epoch = self.epoch;
            self.receive_all();
            match self.pipeline.send(job) {
                Ok(()) => {
                    self.counters.requests += 1;
                    return;
                }
                Err(returned) => job = returned,
            }
            if epoch != self.epoch {
                // All marks were cleared meanwhile, those of this path among them.
                self.spare.push(job);
                return;
            }
            job.samples = self.pipeline.turned_away();
            self.hands.stand_on_state(&job.state);
        } else if let Some(node) = source {
            self.hands.stand_on(&self.graph, node);
        }
        self.play_here(&mut job, clock);
        self.counters.own_playouts += u64::from(job.tally.playouts);
        self.count_playouts(&job);
        self.average(&job);
        self.finish(&job, None);
        self.spare.push(job);
    }

    /// Plays out in this thread, from where the reasoner stands. Stops early, but not before the first playout, when
    /// the time is over in a slow game.
    fn play_here(&mut self, job: &mut Job, clock: &Clock) {
        job.tally.clear(self.graph.roles);
        // The reasoner leaves the state with the first playout.
        self.hands.wander();
        for sample in 0..job.samples {
            if sample > 0 {
                if clock.is_over_in_slow_game() {
                    break;
                }
                self.hands.reasoner.set_state(&job.state);
            }
            play(
                &mut job.tally,
                self.hands.reasoner.as_mut(),
                &mut self.hands.random,
                self.config.max_playout_steps,
                &mut self.goals,
            );
        }
    }

    /// Takes in what the rollout thread whose turn it is has finished.
    fn receive(&mut self) {
        loop {
            match self.pipeline.take() {
                Taken::Answer(job) => self.accept(job),
                Taken::Nothing => return,
                Taken::Lost(lost) => self.write_off(lost),
            }
        }
    }

    /// Takes in what all rollout threads have finished.
    fn receive_all(&mut self) {
        for _ in 0..self.pipeline.threads() {
            self.receive();
        }
    }

    /// Backs an answer up.
    fn accept(&mut self, job: Box<Job>) {
        self.counters.answers += 1;
        if job.epoch == self.epoch {
            self.count_playouts(&job);
            self.average(&job);
            let from_root = job
                .path
                .steps
                .first()
                .is_some_and(|step| step.node == self.graph.root);
            let complete = self.finish(&job, None);
            if !(complete && from_root) {
                self.counters.stale_answers += 1;
            }
        } else {
            self.counters.stale_answers += 1;
        }
        self.spare.push(job);
    }

    /// Clears all marks after requests were lost with their thread, and opens a new account.
    #[cold]
    fn write_off(&mut self, lost: u32) {
        if lost == 0 {
            return;
        }
        self.counters.lost_requests += u64::from(lost);
        self.epoch = self.epoch.wrapping_add(1);
        self.graph.forget_flights();
    }

    fn count_playouts(&mut self, job: &Job) {
        self.counters.playouts += u64::from(job.tally.playouts);
        self.counters.playout_steps += job.tally.steps;
        self.counters.cut_off += u64::from(job.tally.cut_off);
    }

    /// Writes the mean goals of a tally to `values`.
    fn average(&mut self, job: &Job) {
        let share = 1.0 / job.tally.playouts.max(1) as f32;
        for (value, &total) in self.values.iter_mut().zip(&job.tally.totals) {
            *value = total as f32 * share;
        }
    }

    /// Backs up `values` along a path and counts the iteration.
    fn finish(&mut self, job: &Job, news: Option<News>) -> bool {
        self.counters.iterations += 1;
        self.back_up(&job.path, news)
    }
}

/// Looks at the time as rarely as it can afford to.
struct Clock {
    until: Option<Instant>,
    /// When it was last looked at.
    looked: Option<Instant>,
    /// Calls left until it is looked at again.
    calls_left: u32,
    /// Whether every call looks. So it is until iterations were seen to be fast.
    slow: bool,
}

impl Clock {
    /// Calls between two looks while the game is fast. A look costs some 25 ns, an iteration about a microsecond.
    const CALLS: u32 = 8;
    /// When that many calls take longer than this, every call looks.
    const SLOW: Duration = Duration::from_micros(200);

    fn new(until: Option<Instant>) -> Self {
        Self {
            until,
            looked: None,
            calls_left: 0,
            slow: true,
        }
    }

    /// Whether the moment has come.
    #[inline]
    fn is_over(&mut self) -> bool {
        let Some(until) = self.until else {
            return false;
        };
        if self.calls_left > 0 {
            self.calls_left -= 1;
            return false;
        }
        let now = Instant::now();
        if let Some(looked) = self.looked.replace(now) {
            let calls = if self.slow { 1 } else { Self::CALLS };
            self.slow = now - looked > Self::SLOW / Self::CALLS * calls;
        }
        self.calls_left = if self.slow { 0 } else { Self::CALLS - 1 };
        now >= until
    }

    /// Makes the next call look.
    fn look_soon(&mut self) {
        self.calls_left = 0;
    }

    /// Whether the moment has come, asked between playouts of one iteration; never in a fast game.
    fn is_over_in_slow_game(&self) -> bool {
        self.slow && self.until.is_some_and(|until| Instant::now() >= until)
    }
}
