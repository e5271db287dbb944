//! The iterations of a run: descents become requests, answers are expanded and backpropagated.

use std::sync::atomic::{AtomicBool, Ordering};

use super::config::StopReason;
use super::pipeline::Received;
use super::pool::PoolId;
use super::proof::ProofUpdate;
use super::record::{Bounds, SIMULTANEOUS};
use super::request::{BoxedRequest, RequestKind, RolloutRequest};
use super::select::Leaf;
use super::timing::{Deadline, StageTimer};
use super::{Search, most_in_flight};
use panza_gdl::{Id, NodeId};
use panza_machine::with_wide_vectors;
use panza_sync::Budget;

/// At least this many requests may be in flight, plus one per [`VISITS_PER_REQUEST`] visits of the
/// root. The statistics do not change while no answer comes: with a thousand requests in flight
/// from the start, nine in ten descents of Connect Four repeated the one before.
const MIN_IN_FLIGHT: u32 = 16;
const VISITS_PER_REQUEST: u32 = 64;

/// Results after which a sum of goals that was always the same is taken for fixed in proofs. It is
/// an assumption: a sum that differs later makes bounds wrong that were narrowed by it before.
pub(super) const MIN_SUMS: u64 = 1000;

/// Weight of one result in the mean number of playouts of recent results.
const RECENT_RESULT: f32 = 1.0 / 256.0;

/// Answers that are taken before they are applied.
const ANSWERS_AT_ONCE: usize = 16;

impl Search {
    /// Searches until the budget is over or the position is proven; a step is an iteration of this
    /// run. The deadline is exceeded by at most a millisecond in fast games and one playout in slow
    /// ones. A budget that is over already ends the run before its first iteration. With steps as
    /// the only limit and without rollout threads, a run is reproducible.
    pub fn run(&mut self, budget: &Budget) -> StopReason {
        let target = (budget.max_steps < u64::MAX)
            .then(|| self.counters.iterations.saturating_add(budget.max_steps));
        let mut deadline = Deadline::new(budget.until);
        // Followed once, since each iteration reads the flag.
        let stop: Option<&AtomicBool> = budget.stop.as_deref();
        let _pinned = self.pipeline.pin_writer();
        self.expand_root();
        loop {
            self.receive(&mut deadline);
            self.solve();
            if self.is_proven() {
                return StopReason::Proven;
            }
            if stop.is_some_and(|stop| stop.load(Ordering::Acquire)) {
                return StopReason::Flag;
            }
            if deadline.is_over() {
                return StopReason::Deadline;
            }
            if let Some(target) = target {
                let done = self.counters.iterations;
                if done >= target {
                    return StopReason::Iterations;
                }
                if done + u64::from(self.pipeline.in_flight()) >= target {
                    self.pipeline.wait();
                    self.receive_all(&mut deadline);
                    deadline.read_at_next_check();
                    continue;
                }
            }
            if self.pipeline.has_room(self.max_in_flight()) {
                self.iterate();
            } else {
                // All workers are at their limit: answers make room.
                let before = self.pipeline.in_flight();
                self.receive_all(&mut deadline);
                if self.pipeline.in_flight() == before {
                    self.pipeline.wait();
                }
                deadline.read_at_next_check();
            }
        }
    }

    /// Waits for all requests in flight and backpropagates their answers.
    pub fn settle(&mut self) {
        while self.pipeline.in_flight() > 0 {
            self.pipeline.wait();
            self.receive_all(&mut Deadline::new(None));
        }
    }

    /// Whether the game is over, or our goal is proven together with a move of ours that reaches
    /// it.
    pub(super) fn is_proven(&self) -> bool {
        let root = self.graph.root;
        let record = &self.graph.nodes[root];
        if record.terminal {
            return true;
        }
        let role = self.role.index();
        let bounds = self.graph.bounds[root][role];
        if !record.is_expanded() {
            return false;
        }
        if !bounds.is_exact() {
            return record.solved && self.is_exhausted(root);
        }
        let role_moves = self.graph.role_moves(root, role);
        let we_choose = record.mover == SIMULTANEOUS || record.mover as usize == role;
        if !we_choose || !role_moves.has_choice() {
            return true;
        }
        self.graph
            .blocks_of(role_moves)
            .flat_map(|(_, block)| &block.lower[..block.len as usize])
            .any(|&lower| lower == bounds.lower)
    }

    /// Whether all moves that the mover may still prefer lead to solved nodes. With more than two
    /// roles that may leave our own goal unproven.
    fn is_exhausted(&self, node: NodeId) -> bool {
        let mover = self.graph.nodes[node].mover;
        if mover == SIMULTANEOUS {
            return false;
        }
        let role_moves = self.graph.role_moves(node, mover as usize);
        let proven = self.graph.bounds[node][mover as usize].lower;
        !role_moves.has_untried()
            && self.graph.edges(role_moves).all(|edge| {
                let block = &self.graph.edge_blocks[edge.block()];
                block.is_solved(edge.slot()) || block.upper[edge.slot()] < proven
            })
    }

    #[inline]
    fn max_in_flight(&self) -> u32 {
        let by_visits = self.graph.nodes[self.graph.root].visits / VISITS_PER_REQUEST;
        (MIN_IN_FLIGHT + by_visits).min(self.most_in_flight)
    }

    fn iterate(&mut self) {
        let mut request = self.free_requests.pop().unwrap_or_default();
        let mut timer = StageTimer::start(self.counters.requests);
        let leaf = with_wide_vectors(
            #[inline(always)]
            || self.descend(&mut request.path),
        );
        self.max_depth = self.max_depth.max(request.path.joint_moves);
        let node = request.path.last_node();
        match leaf {
            Leaf::Solved(update) => {
                if self.graph.nodes[node].terminal {
                    // Its sum was compared before.
                    self.count_sums(1);
                }
                self.finish(&request, update);
                self.free_requests.push(request);
                return;
            }
            Leaf::NewChild(kind) => {
                request.kind = kind;
                request.is_new_child = true;
                let selected = request.path.last_selected();
                self.graph
                    .joint_move(node, selected, &mut request.joint_move);
            }
            Leaf::LastNode(kind) => {
                request.kind = kind;
                request.is_new_child = false;
                request.joint_move.clear();
            }
        }
        timer.add_to(&mut self.times.select);
        request.samples = self.pipeline.samples_of_next(self.max_in_flight());
        request.epoch = self.epoch;
        request.state.clear();
        request.state.extend_from_slice(self.graph.state(node));
        self.pipeline.send(request);
        timer.add_to(&mut self.times.send);
        self.times.timed_requests += u64::from(timer.is_timed());
        self.counters.requests += 1;
    }

    /// Takes answers and applies them, until there are none or the time is over.
    fn receive(&mut self, deadline: &mut Deadline) {
        loop {
            let are_more = self.take_arrived();
            self.apply_arrived();
            // With thousands of roles an answer takes long.
            if !are_more || deadline.is_over() {
                return;
            }
        }
    }

    /// Takes some answers; whether there may be more.
    fn take_arrived(&mut self) -> bool {
        while self.arrived.len() < ANSWERS_AT_ONCE {
            match self.pipeline.receive() {
                Received::Answer(answer) => self.arrived.push_back(answer),
                Received::WriterAnswer(answer) => {
                    self.counters.writer_playouts += u64::from(answer.tally.playouts);
                    self.arrived.push_back(answer);
                }
                Received::Nothing => return false,
                Received::Lost(lost) => {
                    self.apply_arrived();
                    self.discard_lost(lost);
                }
            }
        }
        true
    }

    /// Applies the answers that have arrived. What the look-up of their states reads is loaded
    /// meanwhile, since it is rarely in the cache.
    fn apply_arrived(&mut self) {
        let of_new = |answer: &BoxedRequest| answer.is_new_child && !answer.position.terminal;
        for answer in self.arrived.iter().filter(|answer| of_new(answer)) {
            self.graph.prefetch_bucket(&answer.position.state);
        }
        while let Some(answer) = self.arrived.pop_front() {
            if let Some(next) = self.arrived.front().filter(|answer| of_new(answer)) {
                self.graph.prefetch_chain(&next.position.state);
            }
            self.apply(answer);
        }
    }

    fn receive_all(&mut self, deadline: &mut Deadline) {
        for _ in 0..self.pipeline.n_threads().max(1) {
            self.receive(deadline);
        }
    }

    fn apply(&mut self, mut answer: BoxedRequest) {
        let mut timer = StageTimer::start(self.counters.answers);
        self.counters.answers += 1;
        let n_legal = answer.position.legal.len();
        if n_legal > self.most_legal {
            self.most_legal = n_legal;
            let n_words = self.current.len();
            self.most_in_flight = most_in_flight(n_words, n_legal, self.graph.roles);
        }
        let mut is_stale = true;
        if answer.epoch == self.epoch {
            self.read_result(&answer);
            for goals in answer.position.terminal_rows(self.graph.roles) {
                self.check_sum(|role| u64::from(goals[role]), 1);
            }
            let first = answer.path.steps.first();
            let from_root = first.is_some_and(|step| step.node == self.graph.root);
            let update = self.expand(&mut answer);
            timer.add_to(&mut self.times.expand);
            self.add_to_amaf(&answer);
            let is_complete = self.finish(&answer, update);
            timer.add_to(&mut self.times.backpropagate);
            self.times.timed_answers += u64::from(timer.is_timed());
            is_stale = !(is_complete && from_root);
        }
        self.counters.stale_answers += u64::from(is_stale);
        self.free_requests.push(answer);
    }

    /// Expands the last node of the path, or adds a child to it and to the path. Returns the proof
    /// update of the leaf, with its bounds in `update_bounds`.
    fn expand(&mut self, answer: &mut RolloutRequest) -> Option<ProofUpdate> {
        let last = answer.path.steps.last()?;
        let (node, generation) = (last.node, last.generation);
        if self.graph.nodes[node].generation != generation || answer.kind == RequestKind::Rollout {
            return None;
        }
        let random = &mut self.game.random;
        let leaf = if answer.is_new_child {
            let selected = answer.path.last_selected();
            let (position, result) = (&answer.position, &self.values);
            let child = self
                .graph
                .add_child(node, selected, position, result, random);
            if !child.is_some() {
                return None;
            }
            let record = &mut self.graph.nodes[child];
            record.in_flight += 1;
            record.age = self.graph.age;
            answer.path.push(child, record.generation);
            child
        } else {
            self.graph
                .expand_leaf(node, &answer.position, &self.values, random);
            node
        };
        let record = &self.graph.nodes[leaf];
        let bounds = &self.graph.bounds[leaf];
        if !record.solved && bounds.iter().all(|&bounds| bounds == Bounds::UNKNOWN) {
            return None;
        }
        // The result of a new chance node is the mean of its outcomes already.
        if record.solved && (record.visits > 0 || !self.graph.is_chance_node(leaf)) {
            self.graph.read_values(leaf, &mut self.values);
        }
        self.update_bounds.copy_from_slice(bounds);
        Some(record.proof_update())
    }

    /// Starts a new epoch after requests were lost with their thread.
    #[cold]
    fn discard_lost(&mut self, lost: u32) {
        if lost == 0 {
            return;
        }
        self.counters.lost_requests += u64::from(lost);
        self.epoch = self.epoch.wrapping_add(1);
        self.graph.clear_in_flight();
    }

    /// Counts the playouts of an answer, and writes its result to `values`: goals, the evaluation,
    /// or the mean of the playouts mixed with it.
    fn read_result(&mut self, answer: &RolloutRequest) {
        let (tally, position) = (&answer.tally, &answer.position);
        self.counters.playouts += u64::from(tally.playouts);
        self.counters.playout_steps += tally.steps;
        self.counters.cut_off += u64::from(tally.cut_off);
        if position.terminal {
            let goals = self.values.iter_mut().zip(&position.goals);
            goals.for_each(|(value, &goal)| *value = f32::from(goal));
            self.check_sum(|role| u64::from(position.goals[role]), 1);
            return;
        }
        if tally.playouts == 0 {
            self.values.copy_from_slice(&position.value);
            return;
        }
        self.check_sum(|role| tally.totals[role], u64::from(tally.playouts));
        let difference = tally.playouts as f32 - self.playouts_per_result;
        self.playouts_per_result += difference * RECENT_RESULT;
        let factor = 1.0 / tally.playouts as f32;
        for (value, &total) in self.values.iter_mut().zip(&tally.totals) {
            *value = total as f32 * factor;
        }
        for (value, evaluation) in self.values.iter_mut().zip(&position.value) {
            *value += (evaluation - *value) * self.config.evaluation_share;
        }
    }

    /// Adds the playouts of an answer to the tables of its path.
    fn add_to_amaf(&mut self, answer: &RolloutRequest) {
        let Some(amaf) = &mut self.amaf else { return };
        if answer.tally.observed.is_empty() {
            return;
        }
        for step in &answer.path.steps {
            let record = &self.graph.nodes[step.node];
            if record.generation == step.generation {
                amaf.add(step.node, step.generation, record.visits, &answer.tally);
            }
        }
    }

    /// Compares the sum of the goals of the pair in `n_results` results with that of all earlier
    /// results.
    fn check_sum(&mut self, total: impl Fn(usize) -> u64, n_results: u64) {
        let Some(pair) = self.graph.pair.filter(|_| !self.has_varying_sum) else {
            return;
        };
        let sum: u64 = pair.into_iter().map(total).sum();
        let expected = *self.first_sum.get_or_insert(sum / n_results);
        self.has_varying_sum = sum != expected * n_results;
        self.graph.fixed_sum = (!self.has_varying_sum).then_some(expected as f32);
        self.count_sums(n_results);
    }

    /// Counts results with the same sum of goals as the first.
    fn count_sums(&mut self, n_results: u64) {
        self.n_sums += n_results;
        let is_sure = self.n_sums >= MIN_SUMS;
        let sum = self.graph.fixed_sum.filter(|_| is_sure);
        self.graph.sure_sum = sum.map(|sum| sum as u16);
    }

    /// Backpropagates `values` along a path and counts the iteration. Returns whether the path was
    /// whole.
    fn finish(&mut self, request: &RolloutRequest, update: Option<ProofUpdate>) -> bool {
        self.counters.iterations += 1;
        let role = self.role.index();
        let root = self.graph.root;
        if self.graph.nodes[root].visits > 0 {
            self.spread
                .add(self.values[role] - self.graph.values[root][role].mean);
        }
        with_wide_vectors(
            #[inline(always)]
            || self.backpropagate(&request.path, update),
        )
    }
}
