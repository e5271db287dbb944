//! Search: what to play, found by Monte Carlo tree search with proof.
//!
//! One thread, the caller's, owns a graph of the game and repeats four steps: go down from the root
//! by upper confidence bounds, look at a new position, play out at random from there, back the
//! goals up. Workers, on rollout threads where there are any, do the second and third, many at
//! once. What is certain is kept apart from what is estimated and travels up as proof.
//!
//! A map, in the order to read it:
//! * [`SearchConfig`] and the other plain types of the interface;
//! * `pool`, `record`, `graph`: the memory of the graph and its shape; `recycle`: making room in
//!   it;
//! * `select`: the way down, with `mixing` where several choose at once; `expand`: growing;
//!   `backup`: the way up; `proof`: what is certain;
//! * `worker`, `rollout`, `pipeline`: looking at positions and playing out, and the threads that do
//!   it;
//! * `report`: what is told to the outside.
//!
//! Two positions are told apart. The *current* state is the one of the match. The *root* is the
//! node searched from. They differ while the match is in a line of forced moves: the root then
//! stands at the line's end, where there is something to choose.
//!
//! Invariants: only methods of [`Search`] touch the graph, and they take `&mut self`; nothing is
//! allocated per iteration by the searching thread once the buffers have grown; with no rollout
//! threads, one seed and limits in iterations, everything repeats exactly.
//!
//! Never knows: GDL, HTTP, match ids, what a game means.

mod backup;
mod config;
mod expand;
mod graph;
mod mixing;
mod pipeline;
mod pool;
mod proof;
mod record;
mod recycle;
mod report;
mod rollout;
mod select;
mod worker;

#[cfg(test)]
mod tests;

pub use config::{Limit, MoveReport, RootReport, SearchConfig, SearchStatistics, Stopped, Times};

use std::sync::Arc;
use std::time::{Duration, Instant};

use self::backup::News;
use self::expand::{Hands, Walked};
use self::graph::Graph;
use self::pipeline::{Pipeline, Taken};
use self::pool::Place;
use self::record::{Bounds, EntryId, SEVERAL};
use self::select::Leaf;
use self::worker::{Ask, Job};
use crate::ids::{Id, MoveId, NodeId, RoleId};
use crate::machine::Machine;
use crate::machine::random::Random;

/// So many requests may always be under way to rollout threads, and one more for each of so many
/// visits of the root.
const LEAST_IN_FLIGHT: u32 = 16;
const VISITS_IN_FLIGHT: u32 = 64;

/// A search for one role of one game.
pub struct Search {
    role: RoleId,
    config: SearchConfig,
    graph: Graph,
    hands: Hands,
    pipeline: Pipeline,
    /// The state of the match.
    current: Vec<u64>,
    /// Forced joint moves from there to the root.
    ahead: u16,
    /// The result being backed up: a goal per role, 0 to 100.
    values: Vec<f32>,
    /// The bounds that travel with news.
    facts: Vec<Bounds>,
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
    /// Visits that the root had when it became the root: it was not mixed in them.
    visits_before: u32,
    /// Decides between moves that are to be mixed; another number for each state.
    dice: f32,
    /// What `dice` is drawn from.
    choosing: Random,
    /// Weight of the exploration term in the descent at hand.
    exploration: f32,
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
    times: Times,
}

/// One in so many iterations is timed; looking at the clock takes some 25 ns.
const TIMED: u64 = 64;

/// A clock for the parts of one iteration, where it is one that is timed.
struct Timer(Option<Instant>);

impl Timer {
    #[inline]
    fn for_one_in_many(count: u64) -> Self {
        Self(count.is_multiple_of(TIMED).then(Instant::now))
    }

    /// Adds what has passed since it was looked at last.
    #[inline]
    fn add_to(&mut self, sum: &mut u64) {
        if let Some(looked) = &mut self.0 {
            let now = Instant::now();
            *sum += (now - *looked).as_nanos() as u64;
            *looked = now;
        }
    }
}

impl Search {
    /// A search for `role`, standing at the initial state. Starts the rollout threads.
    pub fn new(machine: Arc<dyn Machine>, role: RoleId, config: SearchConfig) -> Search {
        let roles = machine.info().n_roles();
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
            ahead: 0,
            values: vec![0.0; roles],
            facts: vec![Bounds::OPEN; roles],
            spare: Vec::new(),
            epoch: 0,
            counters: Counters::default(),
            counters_before: Counters::default(),
            visits_before: 0,
            dice: 0.0,
            choosing: Random::new(!config.seed),
            exploration: config.exploration,
            max_depth: 0,
            config,
        };
        search.set_state(&current);
        search
    }

    /// Searches until the limit is reached or nothing is left to learn. A limit that has passed
    /// already is noticed before anything is done.
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
            if self.pipeline.has_room(self.most_in_flight()) {
                self.iterate();
            } else {
                // Every worker has its hands full. What is finished makes room.
                let before = self.pipeline.in_flight();
                self.receive_all();
                if self.pipeline.in_flight() == before {
                    self.pipeline.wait();
                }
                clock.look_soon();
            }
        }
    }

    /// Follows the match: one move per role, in role order, was played in the current state. What
    /// the graph knows of what is to come is kept, the rest is used again bit by bit when memory is
    /// needed. A list that is not one move per role is ignored, with a warning in the log.
    pub fn advance(&mut self, joint_move: &[MoveId]) {
        if joint_move.len() != self.graph.roles {
            tracing::warn!(
                given = joint_move.len(),
                roles = self.graph.roles,
                "a joint move of the wrong length was ignored"
            );
            return;
        }
        self.hands.reasoner.set_state(&self.current);
        let root = self.graph.root;
        let follows = self.ahead > 0
            && (0..self.graph.roles).all(|role| {
                let legal = self.hands.reasoner.legal_moves(RoleId::from_index(role));
                legal == [joint_move[role]]
            });
        let child = if self.ahead == 0 {
            self.child_after(joint_move)
        } else {
            NodeId::NONE
        };
        self.hands
            .reasoner
            .next_state(joint_move, &mut self.hands.next);
        std::mem::swap(&mut self.current, &mut self.hands.next);
        if follows {
            self.ahead -= 1;
            self.graph.move_root(root);
            self.turn_page();
        } else if child.is_some() && self.graph.nodes[child].terminal {
            // A terminal node keeps no state that could be compared.
            self.ahead = 0;
            self.graph.move_root(child);
            self.turn_page();
        } else {
            self.stand();
        }
    }

    /// Starts afresh at a state of the same machine.
    pub fn set_state(&mut self, state: &[u64]) {
        self.current.clear();
        self.current.extend_from_slice(state);
        self.stand();
    }

    /// Waits until every request under way has come back, and backs the answers up.
    pub fn settle(&mut self) {
        while self.pipeline.in_flight() > 0 {
            self.pipeline.wait();
            self.receive_all();
        }
    }

    /// Stands on the current state: the root is where somebody next has a choice.
    fn stand(&mut self) {
        let (walked, ahead) = self.hands.walk(&self.current);
        let goals = (walked == Walked::End).then_some(self.hands.goals.as_slice());
        self.graph.plant(&self.hands.next, goals);
        self.ahead = ahead;
        self.turn_page();
        if walked == Walked::Choice {
            self.open_walked_root();
        }
    }

    /// Notes that what is counted from now on belongs to another state of the match.
    fn turn_page(&mut self) {
        self.counters_before = self.counters;
        self.max_depth = 0;
        self.dice = mixing::fraction(&mut self.choosing);
        self.begin_mixing();
    }

    /// Opens the root, unless it is open or the game is over. Where memory has run out it may stay
    /// closed.
    fn open_root(&mut self) {
        let root = self.graph.root;
        let record = &self.graph.nodes[root];
        if record.terminal || record.is_open() {
            return;
        }
        let state = self.graph.state(root, &mut self.hands.buffer).to_vec();
        let (walked, forced) = self.hands.walk(&state);
        if forced > 0 {
            let goals = (walked == Walked::End).then_some(self.hands.goals.as_slice());
            self.graph.plant(&self.hands.next, goals);
            self.ahead = self.ahead.saturating_add(forced);
        }
        if walked == Walked::Choice {
            self.open_walked_root();
        }
    }

    /// Opens the root with what was found legal on a walk to it, one of each class of equivalent
    /// moves.
    fn open_walked_root(&mut self) {
        if let Some(symmetries) = &self.config.symmetries {
            self.hands.fold(self.role.index(), symmetries);
        }
        self.graph.open_root(&mut self.hands);
    }

    /// The root's child after a joint move, if the graph has it.
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

    /// Whether nothing is left to learn at the root: the game is over, or our goal is proven and,
    /// where we have a choice, so is a move that reaches it.
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

    /// Whether all moves that one decider could still prefer lead to solved nodes. With more than
    /// two roles, that may leave a goal of ours open between two values.
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

    /// How many requests may be under way: few while little is known, so that each is placed by
    /// what others have shown.
    #[inline]
    fn most_in_flight(&self) -> u32 {
        LEAST_IN_FLIGHT + self.graph.nodes[self.graph.root].visits / VISITS_IN_FLIGHT
    }

    /// One iteration: a descent, and what it asks for.
    fn iterate(&mut self) {
        let mut job = self.spare.pop().unwrap_or_default();
        let mut timer = Timer::for_one_in_many(self.counters.requests);
        let leaf = self.descend(&mut job.path);
        self.max_depth = self.max_depth.max(job.path.joint_moves);
        let (node, ask, beyond) = match leaf {
            Leaf::Known(news) => {
                self.finish(&job, news);
                self.spare.push(job);
                return;
            }
            Leaf::Beyond(ask) => {
                let node = job.path.last_node();
                self.graph
                    .joint_move(node, job.path.last_picks(), &mut job.joint_move);
                (node, ask, true)
            }
            Leaf::Here(node, ask) => {
                job.joint_move.clear();
                (node, ask, false)
            }
        };
        timer.add_to(&mut self.counters.times.select);
        job.ask = ask;
        job.beyond = beyond;
        job.samples = self.pipeline.samples_of_each(self.most_in_flight());
        job.epoch = self.epoch;
        job.state.clear();
        job.state
            .extend_from_slice(self.graph.state(node, &mut self.hands.buffer));
        self.pipeline.send(job);
        timer.add_to(&mut self.counters.times.send);
        self.counters.times.asked += u64::from(timer.0.is_some());
        self.counters.requests += 1;
    }

    /// Takes in what the workers whose turn it is have finished.
    fn receive(&mut self) {
        loop {
            match self.pipeline.take() {
                Taken::Answer(job) => self.accept(job),
                Taken::Own(job) => {
                    self.counters.own_playouts += u64::from(job.tally.playouts);
                    self.accept(job);
                }
                Taken::Nothing => return,
                Taken::Lost(lost) => self.write_off(lost),
            }
        }
    }

    /// Takes in what all workers have finished.
    fn receive_all(&mut self) {
        for _ in 0..self.pipeline.threads().max(1) {
            self.receive();
        }
    }

    /// Makes the graph grow by what an answer has seen, and backs it up.
    fn accept(&mut self, mut job: Box<Job>) {
        let mut timer = Timer::for_one_in_many(self.counters.answers);
        self.counters.answers += 1;
        if job.epoch == self.epoch {
            self.count_playouts(&job);
            self.average(&job);
            let from_root = job
                .path
                .steps
                .first()
                .is_some_and(|step| step.node == self.graph.root);
            let news = self.grow(&mut job);
            timer.add_to(&mut self.counters.times.grow);
            let complete = self.finish(&job, news);
            timer.add_to(&mut self.counters.times.back_up);
            self.counters.times.answered += u64::from(timer.0.is_some());
            if !(complete && from_root) {
                self.counters.stale_answers += 1;
            }
        } else {
            self.counters.stale_answers += 1;
        }
        self.spare.push(job);
    }

    /// Puts what an answer has seen into the graph, and the new node at the end of the path.
    fn grow(&mut self, job: &mut Job) -> Option<News> {
        let last = job.path.steps.last()?;
        let (node, generation) = (last.node, last.generation);
        if self.graph.nodes[node].generation != generation {
            return None;
        }
        let end = if job.ask == Ask::Playouts {
            return None;
        } else if !job.beyond {
            self.graph.see(node, &job.look, &mut self.hands.random);
            node
        } else {
            let picks = job.path.last_picks();
            let child = self
                .graph
                .attach(node, picks, &job.look, &mut self.hands.random);
            if !child.is_some() {
                return None;
            }
            self.graph.nodes[child].in_flight += 1;
            self.graph.nodes[child].page = self.graph.page;
            let generation = self.graph.nodes[child].generation;
            job.path.push(child, generation);
            child
        };
        let record = &self.graph.nodes[end];
        let bounds = &self.graph.bounds[end];
        if !record.solved && bounds.iter().all(|&bounds| bounds == Bounds::OPEN) {
            return None;
        }
        if record.solved {
            self.graph.read_values(end, &mut self.values);
        }
        self.facts.copy_from_slice(bounds);
        Some(News {
            solved: record.solved,
            length: record.length_from_parent(),
        })
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
        let promised = match job.tally.playouts {
            0 => 1.0,
            _ => self.config.evaluation_share,
        };
        for (value, promise) in self.values.iter_mut().zip(&job.look.promise) {
            *value += (promise - *value) * promised;
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
    /// Calls between two looks while the game is fast. A look costs some 25 ns, an iteration about
    /// a microsecond.
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
}
