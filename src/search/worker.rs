//! The worker: answers requests by generating positions and playing out.
//!
//! The worker generates the position after a joint move, follows forced moves, lists the legal
//! moves and generates the children. It plays out equally from each child, so that all edges start
//! with an estimate, or from the position itself where the playouts are too few for its children.
//! Requests are processed in batches. An evaluation function also scores the position and its
//! children.
//!
//! Invariants: each request is handed back once, after its last playout; the answers depend on the
//! requests and the seed alone, not on time.
//!
//! Never knows: the graph, threads.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;

use super::config::SearchConfig;
use super::expand::MAX_FORCED_MOVES;
use super::playout_queue::{PlayoutQueue, PlayoutTarget};
use super::request::{BoxedRequest, ChildInfo, RequestKind, RolloutRequest};
use crate::analysis::evaluation::Evaluation;
use crate::ids::{Id, MoveId, RoleId};
use crate::machine::multiversion::with_wide_vectors;
use crate::machine::random::Random;
use crate::machine::{
    Expander, ExpansionStep, Machine, PlayoutTotals, PositionBatch, SequentialExpander,
};

/// Requests are accepted up to this many playouts, in widths.
pub(super) const MAX_QUEUED_WIDTHS: u64 = 2;
/// The children of a position with more moves are not generated.
const MAX_CHILDREN: usize = 64;
/// Children are played out if each gets at least this many playouts.
const MIN_SAMPLES_PER_CHILD: u32 = 4;

pub(super) struct Worker {
    n_roles: usize,
    expander: Box<dyn Expander>,
    playouts: PlayoutQueue,
    evaluation: Option<Arc<Evaluation>>,
    /// Whether playouts have any weight beside the evaluation.
    plays_out: bool,
    /// Requests not yet examined, and their playouts.
    new_requests: Vec<BoxedRequest>,
    new_samples: u64,
    /// Requests with open tickets, by slot.
    in_flight: Vec<Option<BoxedRequest>>,
    free_slots: Vec<u32>,
    n_in_flight: usize,
    done: VecDeque<BoxedRequest>,
    // Buffers.
    positions: PositionBatch,
    unfinished: Vec<usize>,
    joint_moves: Vec<MoveId>,
    tally: PlayoutTotals,
}

impl Worker {
    /// A worker whose random numbers are seeded by `random`; without lanes where `with_lanes` is
    /// false.
    pub(super) fn new(
        machine: &Arc<dyn Machine>,
        random: Random,
        config: &SearchConfig,
        with_lanes: bool,
    ) -> Self {
        let n_roles = machine.info().n_roles();
        let max_steps = config.max_playout_steps;
        let playouts = PlayoutQueue::new(Arc::clone(machine), random, max_steps, with_lanes);
        let expander = if with_lanes {
            Arc::clone(machine).expander()
        } else {
            Box::new(SequentialExpander::new(
                n_roles,
                Arc::clone(machine).reasoner(),
            ))
        };
        Self {
            n_roles,
            expander,
            playouts,
            evaluation: config.evaluation.clone(),
            plays_out: config.evaluation.is_none() || config.evaluation_share < 1.0,
            new_requests: Vec::new(),
            new_samples: 0,
            in_flight: Vec::new(),
            free_slots: Vec::new(),
            n_in_flight: 0,
            done: VecDeque::new(),
            positions: PositionBatch::default(),
            unfinished: Vec::new(),
            joint_moves: Vec::new(),
            tally: PlayoutTotals::default(),
        }
    }

    pub(super) fn width(&self) -> usize {
        self.playouts.width()
    }

    pub(super) fn n_outstanding(&self) -> u64 {
        self.playouts.n_outstanding() + self.new_samples
    }

    /// Whether it accepts another request.
    pub(super) fn has_room(&self) -> bool {
        match self.width() as u64 {
            0 => self.is_idle(),
            width => {
                self.n_outstanding() < MAX_QUEUED_WIDTHS * width
                    && self.playouts.n_sequential_states() < width as usize
            }
        }
    }

    /// Whether lanes are about to run empty.
    pub(super) fn needs_requests(&self) -> bool {
        self.n_outstanding() < self.width().max(1) as u64
    }

    /// Whether fewer than 5/4 playouts a lane are wanted.
    pub(super) fn could_use_request(&self) -> bool {
        let width = self.width() as u64;
        (width == 0 || 4 * self.n_outstanding() < 5 * width) && self.has_room()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.new_requests.is_empty() && self.n_in_flight == 0
    }

    pub(super) fn submit(&mut self, request: BoxedRequest) {
        self.new_samples += u64::from(request.samples);
        self.new_requests.push(request);
    }

    pub(super) fn take_finished(&mut self) -> Option<BoxedRequest> {
        self.done.pop_front()
    }

    /// Examines new requests, advances all lanes by a joint move, and runs one sequential playout.
    pub(super) fn work(&mut self) {
        if !self.new_requests.is_empty() {
            self.examine_new_requests();
        }
        self.playouts.advance_lanes();
        while let Some(target) = self.playouts.take_finished(&mut self.tally) {
            self.add_tally(target);
        }
        if let Some((target, has_more)) = self.playouts.play_sequential(&mut self.tally) {
            if has_more && let Some(request) = &mut self.in_flight[target.slot as usize] {
                request.open_tickets += 1;
            }
            self.add_tally(target);
        }
    }

    /// Generates the positions of all new requests and starts their playouts.
    fn examine_new_requests(&mut self) {
        let mut requests = std::mem::take(&mut self.new_requests);
        self.new_samples = 0;
        for request in &mut requests {
            request.position.clear();
            request.tally.clear(self.n_roles);
            request.is_proven = false;
        }
        self.generate_positions(&mut requests);
        self.generate_children(&mut requests);
        self.evaluate_positions(&mut requests);
        for request in requests.drain(..) {
            self.start_playouts(request);
        }
        self.new_requests = requests;
    }

    /// Generates the positions, and in further rounds those after forced moves.
    fn generate_positions(&mut self, requests: &mut [BoxedRequest]) {
        let mut unfinished = std::mem::take(&mut self.unfinished);
        unfinished.clear();
        unfinished.extend(0..requests.len());
        let mut is_first_round = true;
        while !unfinished.is_empty() {
            let with_legal = !is_first_round
                || unfinished
                    .iter()
                    .any(|&index| requests[index].kind == RequestKind::Expand);
            let steps: Vec<ExpansionStep<'_>> = unfinished
                .iter()
                .map(|&index| ExpansionStep {
                    state: &requests[index].state,
                    joint_move: (!requests[index].joint_move.is_empty())
                        .then_some(requests[index].joint_move.as_slice()),
                })
                .collect();
            self.expander
                .expand(&steps, with_legal, &mut self.positions);
            let mut position = 0;
            unfinished.retain(|&index| {
                let is_forced = self.read_position(&mut requests[index], position);
                position += 1;
                is_forced
            });
            is_first_round = false;
        }
        self.unfinished = unfinished;
    }

    /// Copies a generated position to its request. Returns whether its moves are forced.
    fn read_position(&mut self, request: &mut RolloutRequest, index: usize) -> bool {
        let position = &mut request.position;
        position.state.clear();
        position
            .state
            .extend_from_slice(self.positions.state(index));
        position.clear_legal();
        if self.positions.terminal[index] {
            position.set_terminal(self.positions.goals(index));
            return false;
        }
        if request.kind != RequestKind::Expand {
            return false;
        }
        for role in 0..self.n_roles {
            let moves = self.positions.legal(index, RoleId::from_index(role));
            if moves.is_empty() {
                // A role without a legal move ends the game.
                let mut goals = vec![None; self.n_roles];
                let reasoner = self.playouts.reasoner();
                reasoner.set_state(&position.state);
                reasoner.goals(&mut goals);
                position.set_terminal(&goals);
                return false;
            }
            position.legal.extend_from_slice(moves);
            position.legal_ends.push(position.legal.len() as u32);
        }
        if position.legal.len() > self.n_roles {
            return false;
        }
        if position.forced_moves == MAX_FORCED_MOVES {
            position.clear_legal();
            return false;
        }
        position.forced_moves += 1;
        std::mem::swap(&mut request.state, &mut position.state);
        request.joint_move.clear();
        request.joint_move.extend_from_slice(&position.legal);
        true
    }

    /// Generates the children of all positions with one mover and few moves, and submits their
    /// playouts.
    fn generate_children(&mut self, requests: &mut [BoxedRequest]) {
        if self.expander.width() < 2 {
            return;
        }
        self.joint_moves.clear();
        for request in requests.iter_mut() {
            let position = &mut request.position;
            let Some(mover) = position.mover() else {
                continue;
            };
            let n_moves = position.moves_of(mover).len();
            if n_moves > MAX_CHILDREN {
                continue;
            }
            position.children.resize(n_moves, ChildInfo::default());
            position.child_totals.resize(n_moves * self.n_roles, 0);
            for index in 0..n_moves {
                for role in 0..self.n_roles {
                    let moves = position.moves_of(role);
                    let index = if role == mover { index } else { 0 };
                    self.joint_moves.push(moves[index]);
                }
            }
        }
        if self.joint_moves.is_empty() {
            return;
        }
        let mut joint_moves = self.joint_moves.chunks(self.n_roles);
        let mut steps = Vec::with_capacity(joint_moves.len());
        for request in requests.iter() {
            for _ in &request.position.children {
                steps.push(ExpansionStep {
                    state: &request.position.state,
                    joint_move: joint_moves.next(),
                });
            }
        }
        self.expander.expand(&steps, false, &mut self.positions);
        drop(steps);
        let mut index = 0;
        for request in requests.iter_mut() {
            let position = &mut request.position;
            let totals = position.child_totals.chunks_mut(self.n_roles);
            for (child, totals) in position.children.iter_mut().zip(totals) {
                child.terminal = self.positions.terminal[index];
                if child.terminal {
                    for (total, goal) in totals.iter_mut().zip(self.positions.goals(index)) {
                        *total = u32::from(goal.unwrap_or(0).min(100));
                    }
                }
                index += 1;
            }
        }
        if let Some(evaluation) = &self.evaluation {
            with_wide_vectors(|| {
                evaluate_children(evaluation, requests, &self.positions, self.n_roles)
            });
        }
        let mut first = 0;
        for request in requests.iter_mut() {
            let n_children = request.position.children.len();
            if n_children > 0 {
                self.submit_children(request, first);
                first += n_children;
            }
        }
    }

    /// Evaluates positions that are not terminal or proven: by the mover's best child, or directly
    /// where the children were not evaluated.
    fn evaluate_positions(&mut self, requests: &mut [BoxedRequest]) {
        let Some(evaluation) = &self.evaluation else {
            return;
        };
        for request in requests {
            let position = &mut request.position;
            if position.terminal || request.is_proven {
                continue;
            }
            position.value.resize(self.n_roles, 0.0);
            if position.child_values.is_empty() {
                evaluation.values(&position.state, &mut position.value);
                continue;
            }
            let mover = position.mover().unwrap_or(0);
            let mut greatest = f32::NEG_INFINITY;
            for (index, child) in position.children.iter().enumerate() {
                let row = index * self.n_roles..(index + 1) * self.n_roles;
                if child.terminal {
                    let goal = position.child_totals[row.start + mover] as f32;
                    if goal > greatest {
                        greatest = goal;
                        position.value.clear();
                        let goals = position.child_totals[row].iter();
                        position.value.extend(goals.map(|&goal| goal as f32));
                    }
                } else if position.child_values[row.start + mover] > greatest {
                    greatest = position.child_values[row.start + mover];
                    position.value.copy_from_slice(&position.child_values[row]);
                }
            }
        }
    }

    /// Submits playouts from the children that are not terminal, unless the children prove the
    /// value. `first` is the index of the first child in `positions`.
    fn submit_children(&mut self, request: &mut RolloutRequest, first: usize) {
        let mover = request.position.mover().unwrap_or(0);
        let n_roles = self.n_roles;
        let position = &request.position;
        let goal_of = |index: usize| position.child_totals[index * n_roles + mover];
        let terminal = position.children.iter().enumerate();
        let terminal = terminal.filter(|(_, child)| child.terminal);
        let best = terminal
            .map(|(index, _)| index)
            .max_by_key(|&index| (goal_of(index), Reverse(index)));
        let n_open = position
            .children
            .iter()
            .filter(|child| !child.terminal)
            .count() as u32;
        if n_open == 0 || best.is_some_and(|best| goal_of(best) == 100) {
            if let Some(best) = best {
                let goals = &position.child_totals[best * n_roles..][..n_roles];
                for (total, &goal) in request.tally.totals.iter_mut().zip(goals) {
                    *total = u64::from(goal);
                }
            }
            request.is_proven = true;
            return;
        }
        let samples = request.samples / n_open;
        if !self.plays_out || samples < MIN_SAMPLES_PER_CHILD {
            return;
        }
        request.slot = self.reserve_slot();
        for (index, child) in request.position.children.iter().enumerate() {
            if !child.terminal {
                let target = PlayoutTarget {
                    slot: request.slot,
                    child: Some(index as u32),
                };
                let state = self.positions.state(first + index);
                self.playouts.submit(target, state, samples);
                request.open_tickets += 1;
            }
        }
    }

    /// Starts the playouts of an examined request, or hands it back where none are needed.
    fn start_playouts(&mut self, mut request: BoxedRequest) {
        let position = &mut request.position;
        if position.terminal {
            for (total, &goal) in request.tally.totals.iter_mut().zip(&position.goals) {
                *total = u64::from(goal);
            }
            self.done.push_back(request);
            return;
        }
        if request.open_tickets == 0 {
            if request.is_proven || !self.plays_out {
                self.done.push_back(request);
                return;
            }
            if self.evaluation.is_none() {
                // The children have no estimates.
                position.children.clear();
            }
            request.slot = self.reserve_slot();
            let target = PlayoutTarget {
                slot: request.slot,
                child: None,
            };
            let samples = request.samples.max(1);
            self.playouts
                .submit(target, &request.position.state, samples);
            request.open_tickets = 1;
        }
        let slot = request.slot as usize;
        self.in_flight[slot] = Some(request);
        self.n_in_flight += 1;
    }

    fn reserve_slot(&mut self) -> u32 {
        self.free_slots.pop().unwrap_or_else(|| {
            self.in_flight.push(None);
            self.in_flight.len() as u32 - 1
        })
    }

    /// Adds `self.tally` to a request, and hands it back after its last ticket.
    fn add_tally(&mut self, target: PlayoutTarget) {
        let slot = &mut self.in_flight[target.slot as usize];
        let Some(request) = slot else {
            return;
        };
        let tally = &self.tally;
        request.tally.playouts += tally.playouts;
        request.tally.steps += tally.steps;
        request.tally.cut_off += tally.cut_off;
        for (total, &goals) in request.tally.totals.iter_mut().zip(&tally.totals) {
            *total += goals;
        }
        if let Some(child) = target.child {
            let index = child as usize;
            let position = &mut request.position;
            position.children[index].playouts += tally.playouts;
            let totals = &mut position.child_totals[index * self.n_roles..][..self.n_roles];
            for (total, &goals) in totals.iter_mut().zip(&tally.totals) {
                *total += goals as u32;
            }
        }
        request.open_tickets -= 1;
        if request.open_tickets == 0
            && let Some(request) = slot.take()
        {
            self.free_slots.push(target.slot);
            self.n_in_flight -= 1;
            self.done.push_back(request);
        }
    }
}

/// Evaluates the generated children that are not terminal, by accumulator updates from their
/// parent.
#[inline]
fn evaluate_children(
    evaluation: &Evaluation,
    requests: &mut [BoxedRequest],
    positions: &PositionBatch,
    n_roles: usize,
) {
    let mut index = 0;
    for request in requests {
        let parent = &mut request.position;
        if parent.children.is_empty() {
            continue;
        }
        parent
            .child_values
            .resize(parent.children.len() * n_roles, 0.0);
        let accumulator = evaluation.accumulator(&parent.state);
        let values = parent.child_values.chunks_mut(n_roles);
        for (child, values) in parent.children.iter().zip(values) {
            if !child.terminal {
                let state = positions.state(index);
                evaluation.values_from(&accumulator, &parent.state, state, values);
            }
            index += 1;
        }
    }
}
