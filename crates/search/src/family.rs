//! Families: positions with their legal moves and what is known of each child.
//!
//! A batch of requests is generated together: the requested positions, after forced moves, in one
//! pass of the expander, and all their children in another. Where one role has a choice, terminal
//! children get their goals and the others a static value and a prior, if there is an evaluation.
//! Priors are the softmax of the static values. The children of the chance role have neither. Where
//! several roles choose, `joint_family` reads the children of their joint moves.
//!
//! Invariants: the result depends on the requests alone; the untried moves of a family are in the
//! order of rising static values.
//!
//! Never uses: the graph, playouts.

use std::sync::Arc;

use super::chance::MAX_OUTCOMES;
use super::expand::MAX_FORCED_MOVES;
use super::joint_family::{JointFamily, n_joint_moves, push_joint_moves};
use super::parameters::SearchConfig;
use super::record::{Prior, UntriedMove};
use super::request::{BoxedRequest, RequestKind, RolloutRequest};
use panza_gdl::{Id, MoveId, RoleId};
use panza_learning::evaluation::MAX_ROLES;
use panza_learning::{Evaluation, ValueReader};
use panza_machine::{
    Expander, ExpansionStep, Machine, PositionBatch, SequentialExpander, with_wide_vectors,
};

/// The children of a position with more moves are not generated.
pub(super) const MAX_CHILDREN: usize = 512;
/// The same without an evaluation: only wins and losses at once are found.
pub(super) const MAX_UNVALUED_CHILDREN: usize = 64;

/// The children of more joint moves are not generated, and have no static values.
const MAX_JOINT_MOVES: usize = 256;
const MAX_VALUED_JOINT_MOVES: usize = 64;

pub(super) struct FamilyGenerator {
    machine: Arc<dyn Machine>,
    n_roles: usize,
    chance: Option<usize>,
    expander: Box<dyn Expander>,
    evaluation: Option<Arc<Evaluation>>,
    /// See [`SearchConfig::prior_temperature`].
    prior_temperature: f32,
    // Buffers.
    /// For the evaluation.
    value_reader: Option<ValueReader>,
    positions: PositionBatch,
    unfinished: Vec<usize>,
    joint_moves: Vec<MoveId>,
    /// The number of children of each request.
    counts: Vec<usize>,
    joint_family: JointFamily,
}

impl FamilyGenerator {
    /// A generator for one thread; without lanes where `with_lanes` is false.
    pub(super) fn new(machine: &Arc<dyn Machine>, config: &SearchConfig, with_lanes: bool) -> Self {
        let n_roles = machine.info().n_roles();
        let expander = if with_lanes {
            Arc::clone(machine).expander()
        } else {
            let reasoner = Arc::clone(machine).reasoner();
            Box::new(SequentialExpander::new(n_roles, reasoner))
        };
        Self {
            machine: Arc::clone(machine),
            n_roles,
            chance: machine.info().chance_role().map(RoleId::index),
            expander,
            value_reader: config.evaluation.as_deref().map(ValueReader::new),
            evaluation: config.evaluation.clone(),
            prior_temperature: config.prior_temperature,
            positions: PositionBatch::default(),
            unfinished: Vec::new(),
            joint_moves: Vec::new(),
            counts: Vec::new(),
            joint_family: JointFamily::default(),
        }
    }

    /// Generates the positions of all requests, with families where they ask for expansion.
    pub(super) fn generate(&mut self, requests: &mut [BoxedRequest]) {
        for request in requests.iter_mut() {
            request.position.clear();
            request.is_proven = false;
        }
        self.generate_positions(requests);
        if self.expander.width() > 1 || self.evaluation.is_some() {
            self.generate_joint_moves(requests);
            self.generate_children(requests);
        }
        if let Some((evaluation, reader)) = self.evaluation.as_ref().zip(self.value_reader.as_mut())
        {
            for request in requests {
                let position = &mut request.position;
                if !position.terminal && !request.is_proven && position.value.is_empty() {
                    position.value.resize(self.n_roles, 0.0);
                    reader.load_states(evaluation, std::iter::once(position.state.as_slice()));
                    reader.values(evaluation, 0, &position.state, &mut position.value);
                }
            }
        }
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
                let mut reasoner = Arc::clone(&self.machine).reasoner();
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

    /// Generates the children of joint moves of all positions in which several roles choose, and
    /// not too many.
    fn generate_joint_moves(&mut self, requests: &mut [BoxedRequest]) {
        self.joint_moves.clear();
        self.counts.clear();
        for request in requests.iter() {
            let position = &request.position;
            let count = n_joint_moves(position, self.chance, MAX_JOINT_MOVES);
            self.counts.push(count);
            if count > 0 {
                push_joint_moves(position, &mut self.joint_moves);
            }
        }
        if self.joint_moves.is_empty() {
            return;
        }
        let mut counts = self.counts.iter();
        let is_valued = counts.any(|count| (1..=MAX_VALUED_JOINT_MOVES).contains(count));
        self.expand_children(requests, is_valued);
        let mut first = 0;
        for (request, &count) in requests.iter_mut().zip(&self.counts) {
            if count > 0 {
                let evaluation = self.evaluation.as_deref().zip(self.value_reader.as_mut());
                let evaluation = evaluation.filter(|_| count <= MAX_VALUED_JOINT_MOVES);
                let family = &mut self.joint_family;
                family.read(request, &self.positions, first, self.chance, evaluation);
                first += count;
            }
        }
    }

    /// Generates the children behind `self.joint_moves`, of each request as many as `self.counts`
    /// says. Where they are valued, their static values are prepared.
    fn expand_children(&mut self, requests: &[BoxedRequest], are_valued: bool) {
        let mut joint_moves = self.joint_moves.chunks(self.n_roles);
        let mut steps = Vec::with_capacity(joint_moves.len());
        for (request, &count) in requests.iter().zip(&self.counts) {
            for _ in 0..count {
                steps.push(ExpansionStep {
                    state: &request.position.state,
                    joint_move: joint_moves.next(),
                });
            }
        }
        self.expander.expand(&steps, false, &mut self.positions);
        let evaluation = self.evaluation.as_ref().zip(self.value_reader.as_mut());
        if let Some((evaluation, reader)) = evaluation.filter(|_| are_valued) {
            reader.load(evaluation, &self.positions);
        }
    }

    /// Generates the children of all positions with one mover and not too many moves.
    fn generate_children(&mut self, requests: &mut [BoxedRequest]) {
        let limit = match self.evaluation {
            Some(_) => MAX_CHILDREN,
            None => MAX_UNVALUED_CHILDREN,
        };
        self.joint_moves.clear();
        self.counts.clear();
        for request in requests.iter_mut() {
            let position = &mut request.position;
            let mover = position.mover();
            let n_moves = mover.map_or(0, |mover| position.moves_of(mover).len());
            let limit = match self.chance.is_some() && mover == self.chance {
                true => limit.min(MAX_OUTCOMES as usize),
                false => limit,
            };
            let n_children = if n_moves <= limit { n_moves } else { 0 };
            self.counts.push(n_children);
            position.has_children = n_children > 0;
            for index in 0..n_children {
                for role in 0..self.n_roles {
                    let moves = position.moves_of(role);
                    let index = if Some(role) == mover { index } else { 0 };
                    self.joint_moves.push(moves[index]);
                }
            }
        }
        if self.joint_moves.is_empty() {
            return;
        }
        self.expand_children(requests, true);
        let reader = FamilyReader {
            positions: &self.positions,
            evaluation: self.evaluation.as_deref(),
            prior_temperature: self.prior_temperature,
            n_roles: self.n_roles,
            chance: self.chance,
        };
        let (counts, value_reader) = (&self.counts, &mut self.value_reader);
        with_wide_vectors(
            #[inline(always)]
            || {
                let mut first = 0;
                for (request, &count) in requests.iter_mut().zip(counts) {
                    if count > 0
                        && reader
                            .chance
                            .is_some_and(|it| reader.moves_alone(request, it))
                    {
                        reader.read_outcomes(request, value_reader.as_ref(), first, count);
                        first += count;
                    } else if count > 0 {
                        reader.read(request, value_reader, first, count);
                        first += count;
                    }
                }
            },
        );
    }
}

/// Reads generated children.
struct FamilyReader<'a> {
    positions: &'a PositionBatch,
    evaluation: Option<&'a Evaluation>,
    prior_temperature: f32,
    n_roles: usize,
    chance: Option<usize>,
}

impl FamilyReader<'_> {
    fn moves_alone(&self, request: &RolloutRequest, role: usize) -> bool {
        request.position.mover() == Some(role)
    }

    /// Reads the children of a chance node. They have no order, and the value is their mean.
    fn read_outcomes(
        &self,
        request: &mut RolloutRequest,
        value_reader: Option<&ValueReader>,
        first: usize,
        count: usize,
    ) {
        let position = &mut request.position;
        let Some(mover) = position.mover() else {
            return;
        };
        let start = position.start_of(mover);
        let mut values = [0.0; MAX_ROLES];
        let values = &mut values[..self.n_roles.min(MAX_ROLES)];
        position.value.resize(self.n_roles, 0.0);
        for index in 0..count {
            let mv = position.legal[start + index];
            if self.positions.terminal[first + index] {
                let goals = self.positions.goals(first + index);
                let goals = goals.iter().map(|goal| goal.unwrap_or(0).min(100));
                for (sum, goal) in position.value.iter_mut().zip(goals.clone()) {
                    *sum += f32::from(goal);
                }
                position.terminal_moves.push(mv);
                position.terminal_goals.extend(goals);
                continue;
            }
            position.untried.push(UntriedMove::unknown(mv));
            if let Some((evaluation, reader)) = self.evaluation.zip(value_reader) {
                let index = first + index;
                reader.values(evaluation, index, self.positions.state(index), values);
                for (sum, &value) in position.value.iter_mut().zip(&*values) {
                    *sum += value;
                }
            }
        }
        position
            .value
            .iter_mut()
            .for_each(|sum| *sum /= count as f32);
        request.is_proven = position.untried.is_empty();
        if !request.is_proven && self.evaluation.is_none() {
            position.value.clear();
        }
    }

    /// Reads the children `first..first + count` of the positions into a request.
    #[inline(always)]
    fn read(
        &self,
        request: &mut RolloutRequest,
        value_reader: &mut Option<ValueReader>,
        first: usize,
        count: usize,
    ) {
        let position = &mut request.position;
        let Some(mover) = position.mover() else {
            return;
        };
        let start = position.start_of(mover);
        let mut evaluation = self.evaluation.zip(value_reader.as_mut());
        if let Some((evaluation, reader)) = &mut evaluation {
            reader.begin(evaluation, &position.state, first);
        }
        let mut best_goal = None;
        // The greatest static value for the mover.
        let mut greatest = f32::NEG_INFINITY;
        let mut values = [0.0; MAX_ROLES];
        let values = &mut values[..self.n_roles.min(MAX_ROLES)];
        for index in 0..count {
            let mv = position.legal[start + index];
            if self.positions.terminal[first + index] {
                let goals = self.positions.goals(first + index);
                let goal = goals[mover].unwrap_or(0).min(100);
                let goals = goals.iter().map(|goal| goal.unwrap_or(0).min(100));
                if best_goal.is_none_or(|best| goal > best) {
                    best_goal = Some(goal);
                    if f32::from(goal) > greatest {
                        position.value.clear();
                        position.value.extend(goals.clone().map(f32::from));
                    }
                }
                position.terminal_moves.push(mv);
                position.terminal_goals.extend(goals);
            } else if let Some((evaluation, reader)) = &mut evaluation {
                let (from, index) = (&position.state, first + index);
                reader.values_after(evaluation, from, self.positions, index, values);
                let value = values[mover];
                if value > greatest && best_goal.is_none_or(|goal| value > f32::from(goal)) {
                    position.value.clear();
                    position.value.extend_from_slice(values);
                }
                greatest = greatest.max(value);
                position.untried.push(UntriedMove::valued(mv, value));
            } else {
                position.untried.push(UntriedMove::unknown(mv));
            }
        }
        request.is_proven = position.untried.is_empty() || best_goal == Some(100);
        if evaluation.is_some() {
            if self.prior_temperature > 0.0 {
                set_priors(&mut position.untried, greatest, self.prior_temperature);
            }
            position
                .untried
                .sort_unstable_by_key(|untried| untried.order());
        } else if !request.is_proven {
            position.value.clear();
        }
    }
}

/// Sets the priors to the softmax of the values, of which `greatest` is the greatest.
#[inline]
fn set_priors(untried: &mut [UntriedMove], greatest: f32, temperature: f32) {
    let scale = 1.0 / temperature;
    let weight = |untried: &UntriedMove| exponential((untried.value_or(0.0) - greatest) * scale);
    let total: f32 = untried.iter().map(weight).sum();
    let scale = 1.0 / total;
    for untried in untried {
        untried.prior = Prior::new(weight(untried) * scale);
    }
}

/// An approximation of the exponential function for numbers up to 0, free of branches and calls:
/// `(1 + x / 256)^256`.
#[inline]
fn exponential(number: f32) -> f32 {
    let mut power = 1.0 + number.max(-30.0) * (1.0 / 256.0);
    for _ in 0..8 {
        power *= power;
    }
    power
}
