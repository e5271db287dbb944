//! The worker: looks at positions, plays out from them, and knows nothing of the graph.
//!
//! A request names a state and a joint move. The worker makes the position, sees whether the game
//! is over, walks through forced moves, lists what is legal, looks at each child, and plays out:
//! from the children, as many times from each, so that all of them begin with an estimate, or from
//! the position itself where there are too many children or too few playouts to go round. All this
//! is done for many requests at once where the machine can: positions go through an [`Expander`] in
//! batches, playouts through [`BatchPlayouts`].
//!
//! Where an evaluation was learned, it also says what the position and its children promise; where
//! that is all that counts, nothing is played out.
//!
//! A request is under way until the last of its playouts has ended. States that the lanes refuse,
//! and all states of a machine without lanes, are played by a reasoner, one playout at a time, so
//! that nobody is held up.
//!
//! Invariants: each request that was taken on is handed back once; what comes of it depends on the
//! requests and the seed alone, not on time.
//!
//! Never knows: the graph, threads. A [`Job`] carries the path it belongs to as a parcel that is
//! not opened here.

use std::collections::VecDeque;
use std::sync::Arc;

use super::backup::Path;
use super::config::SearchConfig;
use super::expand::FORCED_AT_ONCE;
use crate::analysis::evaluation::Evaluation;
use crate::ids::{Id, MoveId, RoleId};
use crate::machine::multiversion::with_wide_vectors;
use crate::machine::random::Random;
use crate::machine::{
    BatchPlayouts, Expander, ExpansionStep, Machine, PlayoutEnd, PlayoutTotals, PositionBatch,
    Reasoner, SequentialExpander,
};

/// BatchPlayouts asked for at most before more requests are taken up, in widths: a lane that becomes
/// free finds the next one waiting, and what it finds was asked for not long ago.
pub(super) const WIDTHS_WANTED: u64 = 2;
/// The most children that are looked at together with their parent.
const MOST_CHILDREN: usize = 64;
/// Stands for the position itself among its children.
const ITSELF: u32 = u32::MAX;

/// What a request wants to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Ask {
    /// The position, what is legal in it, how its children begin.
    Open,
    /// The position only: there may be thousands of legal moves, and it may never be met again.
    Glance,
    /// BatchPlayouts from a position that is known or being looked at.
    #[default]
    Playouts,
}

/// A request and later its answer. The same allocation travels back and forth and is used again.
#[derive(Debug, Default)]
pub(super) struct Job {
    /// Which account of what is under way it belongs to; the writer opens a new one when requests
    /// were lost.
    pub(super) epoch: u32,
    pub(super) path: Path,
    pub(super) ask: Ask,
    /// Whether the position lies one joint move beyond the end of the path.
    pub(super) beyond: bool,
    /// Where to start.
    pub(super) state: Vec<u64>,
    /// One move per role that leads from there to the position; empty when the state is the
    /// position.
    pub(super) joint_move: Vec<MoveId>,
    /// How many playouts are wanted, about.
    pub(super) samples: u32,
    /// What was seen.
    pub(super) look: Look,
    /// What was played out. Without playouts, the goals that are certain.
    pub(super) tally: PlayoutTotals,
    /// Whether what was seen of the children says all.
    pub(super) is_certain: bool,
    /// Tickets under way, and where the worker keeps the request meanwhile.
    pub(super) outstanding: u32,
    pub(super) place: u32,
}

/// What a position is like.
#[derive(Debug, Default)]
pub(super) struct Look {
    pub(super) state: Vec<u64>,
    /// Forced joint moves from the position asked for to this state.
    pub(super) forced: u16,
    pub(super) terminal: bool,
    /// Each role's goal where the game is over; an undefined one counts as 0.
    pub(super) goals: Vec<u8>,
    /// The moves of all roles, one role after the other. Empty when they were not asked for, or the
    /// end of a forced line was not reached.
    pub(super) legal: Vec<MoveId>,
    /// Where each role's moves end.
    pub(super) ends: Vec<u32>,
    /// What came of each move of the one role that has a choice, in the order of `legal`. Empty
    /// when nobody looked.
    pub(super) children: Vec<ChildLook>,
    /// For each child and role the sum of the goals of its playouts, or the goal where the game is
    /// over there.
    pub(super) totals: Vec<u32>,
    /// For each child and role what the child's position promises. Empty when nobody looked or
    /// nothing is learned.
    pub(super) promises: Vec<f32>,
    /// What the position promises each role. Empty where it is certain or nothing is learned.
    pub(super) promise: Vec<f32>,
}

/// What a child is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ChildLook {
    pub(super) playouts: u32,
    pub(super) terminal: bool,
}

impl Look {
    fn clear(&mut self) {
        self.state.clear();
        self.forced = 0;
        self.terminal = false;
        self.goals.clear();
        self.legal.clear();
        self.ends.clear();
        self.children.clear();
        self.totals.clear();
        self.promises.clear();
        self.promise.clear();
    }

    /// The moves of one role.
    fn moves_of(&self, role: usize) -> &[MoveId] {
        let start = role.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.legal[start as usize..self.ends[role] as usize]
    }

    /// The best goal of the decider among children in which the game is over.
    pub(super) fn best_end(&self, decider: usize, n_roles: usize) -> Option<u32> {
        let ends = self.children.iter().enumerate();
        ends.filter(|(_, child)| child.terminal)
            .map(|(index, _)| self.totals[index * n_roles + decider])
            .max()
    }

    /// The index of a child that makes all others idle: the game is over there, and nobody could do
    /// better, nor worse for the other of two roles.
    pub(super) fn sole_reply(&self, n_roles: usize) -> Option<usize> {
        let decider = self.decider()?;
        let is_best = |index: usize| {
            let goals = &self.totals[index * n_roles..][..n_roles];
            let others = goals.iter().enumerate();
            let mut others = others.filter(|&(role, _)| role != decider);
            goals[decider] == 100 && n_roles <= 2 && others.all(|(_, &goal)| goal == 0)
        };
        (0..self.children.len()).find(|&index| self.children[index].terminal && is_best(index))
    }

    /// The one role that has a choice.
    fn decider(&self) -> Option<usize> {
        let mut deciders = (0..self.ends.len()).filter(|&role| self.moves_of(role).len() > 1);
        let first = deciders.next();
        first.filter(|_| deciders.next().is_none())
    }
}

/// Where a playout that a reasoner has to play starts.
#[derive(Debug)]
struct Refused {
    place: u32,
    child: u32,
    state: Vec<u64>,
    samples: u32,
}

/// Hands on the game that answer requests.
pub(super) struct Worker {
    machine: Arc<dyn Machine>,
    n_roles: usize,
    expander: Box<dyn Expander>,
    playouts: Option<Box<dyn BatchPlayouts>>,
    /// Made when it is first needed.
    reasoner: Option<Box<dyn Reasoner>>,
    random: Random,
    max_steps: u32,
    look_ahead: bool,
    samples_per_child: u32,
    evaluation: Option<Arc<Evaluation>>,
    /// Whether what positions promise is all that counts.
    plays_out: bool,
    /// Requests that nobody has looked at yet, and the playouts that they ask for.
    #[expect(
        clippy::vec_box,
        reason = "the rings carry boxes, and these travel as they are"
    )]
    fresh: Vec<Box<Job>>,
    fresh_samples: u64,
    /// Requests whose playouts are under way, by place.
    under_way: Vec<Option<Box<Job>>>,
    free_places: Vec<u32>,
    n_under_way: usize,
    /// The place and the child of each ticket. Tickets are small numbers, used again.
    tickets: Vec<(u32, u32)>,
    refused: VecDeque<Refused>,
    refused_samples: u64,
    done: VecDeque<Box<Job>>,
    // Room that is used again.
    positions: PositionBatch,
    walking: Vec<usize>,
    joint_moves: Vec<MoveId>,
    tally: PlayoutTotals,
    goals: Vec<u8>,
    found: Vec<Option<u8>>,
}

impl Worker {
    /// Hands that draw from a stream that `random` seeds.
    pub(super) fn new(
        machine: Arc<dyn Machine>,
        mut random: Random,
        config: &SearchConfig,
    ) -> Self {
        let playouts = Arc::clone(&machine).playouts(&mut random, config.max_playout_steps);
        let expander = Arc::clone(&machine).expander();
        Self::with(machine, random, config, expander, playouts)
    }

    /// Hands that look at positions and play out one after the other, whatever the machine can.
    pub(super) fn one_by_one(
        machine: Arc<dyn Machine>,
        random: Random,
        config: &SearchConfig,
    ) -> Self {
        let reasoner = Arc::clone(&machine).reasoner();
        let expander = Box::new(SequentialExpander::new(machine.info().n_roles(), reasoner));
        Self::with(machine, random, config, expander, None)
    }

    fn with(
        machine: Arc<dyn Machine>,
        random: Random,
        config: &SearchConfig,
        expander: Box<dyn Expander>,
        playouts: Option<Box<dyn BatchPlayouts>>,
    ) -> Self {
        let n_roles = machine.info().n_roles();
        Self {
            n_roles,
            expander,
            playouts,
            reasoner: None,
            machine,
            random,
            max_steps: config.max_playout_steps,
            look_ahead: config.look_ahead,
            samples_per_child: config.samples_per_child.max(1),
            evaluation: config.evaluation.clone(),
            plays_out: config.evaluation.is_none() || config.evaluation_share < 1.0,
            fresh: Vec::new(),
            fresh_samples: 0,
            under_way: Vec::new(),
            free_places: Vec::new(),
            n_under_way: 0,
            tickets: Vec::new(),
            refused: VecDeque::new(),
            refused_samples: 0,
            done: VecDeque::new(),
            positions: PositionBatch::default(),
            walking: Vec::new(),
            joint_moves: Vec::new(),
            tally: PlayoutTotals::default(),
            goals: vec![0; n_roles],
            found: vec![None; n_roles],
        }
    }

    /// How many playouts go abreast; 0 when they go one after the other.
    pub(super) fn width(&self) -> usize {
        self.playouts
            .as_ref()
            .map_or(0, |playouts| playouts.width())
    }

    /// BatchPlayouts asked for and not ended.
    pub(super) fn wanted(&self) -> u64 {
        let abreast = self.playouts.as_ref();
        abreast.map_or(0, |playouts| playouts.n_outstanding())
            + self.fresh_samples
            + self.refused_samples
    }

    /// Whether one more request would be taken up soon.
    pub(super) fn has_room(&self) -> bool {
        match self.width() as u64 {
            0 => self.fresh.is_empty() && self.n_under_way == 0,
            width => self.wanted() < WIDTHS_WANTED * width && self.refused.len() < width as usize,
        }
    }

    /// Whether some lanes are about to be without work.
    pub(super) fn is_short(&self) -> bool {
        self.wanted() < self.width().max(1) as u64
    }

    /// Whether one more request would keep lanes busy that are about to be without work, a quarter
    /// of them at most.
    pub(super) fn could_do_more(&self) -> bool {
        let width = self.width() as u64;
        match width {
            0 => self.has_room(),
            _ => 4 * self.wanted() < 5 * width && self.has_room(),
        }
    }

    /// Whether nothing is left to do.
    pub(super) fn is_idle(&self) -> bool {
        self.fresh.is_empty() && self.n_under_way == 0
    }

    /// Takes a request on.
    pub(super) fn take(&mut self, job: Box<Job>) {
        self.fresh_samples += u64::from(job.samples);
        self.fresh.push(job);
    }

    /// A request that is done.
    pub(super) fn take_finished(&mut self) -> Option<Box<Job>> {
        self.done.pop_front()
    }

    /// Does a bit of work: looks at the fresh requests, takes all playouts a step further, plays
    /// one that lanes refused.
    pub(super) fn work(&mut self) {
        if !self.fresh.is_empty() {
            self.look();
        }
        if let Some(playouts) = &mut self.playouts {
            if playouts.n_outstanding() > 0 {
                playouts.advance();
            }
            self.take_in();
        }
        self.play_refused();
    }

    /// Looks at all fresh requests and sends them on.
    fn look(&mut self) {
        let mut jobs = std::mem::take(&mut self.fresh);
        self.fresh_samples = 0;
        self.walking.clear();
        self.walking.extend(0..jobs.len());
        for job in &mut jobs {
            job.look.clear();
            job.tally.clear(self.n_roles);
            job.is_certain = false;
        }
        let mut round = 0;
        while !self.walking.is_empty() {
            let of_whom = |job: &Job| round > 0 || job.ask == Ask::Open;
            let with_legal = self.walking.iter().any(|&index| of_whom(&jobs[index]));
            let steps: Vec<ExpansionStep<'_>> = self
                .walking
                .iter()
                .map(|&index| ExpansionStep {
                    state: &jobs[index].state,
                    joint_move: (!jobs[index].joint_move.is_empty())
                        .then_some(jobs[index].joint_move.as_slice()),
                })
                .collect();
            self.expander
                .expand(&steps, with_legal, &mut self.positions);
            drop(steps);
            let mut walking = std::mem::take(&mut self.walking);
            let mut position = 0;
            walking.retain(|&index| {
                let goes_on = self.note(&mut jobs[index], position);
                position += 1;
                goes_on
            });
            self.walking = walking;
            round += 1;
        }
        self.look_at_children(&mut jobs);
        self.evaluate(&mut jobs);
        for job in jobs.drain(..) {
            self.begin(job);
        }
        self.fresh = jobs;
    }

    /// Writes down what a position is like. Whether the line is forced and walked further.
    fn note(&mut self, job: &mut Job, position: usize) -> bool {
        let look = &mut job.look;
        look.state.clear();
        look.state.extend_from_slice(self.positions.state(position));
        look.terminal = self.positions.terminal[position];
        look.legal.clear();
        look.ends.clear();
        if look.terminal {
            look.goals.clear();
            let goals = self.positions.goals(position);
            let goals = goals.iter().map(|goal| goal.unwrap_or(0).min(100));
            look.goals.extend(goals);
            return false;
        }
        if job.ask != Ask::Open {
            return false;
        }
        for role in 0..self.n_roles {
            let moves = self.positions.legal(position, RoleId::from_index(role));
            if moves.is_empty() {
                // Without a move for each role nothing can come after it.
                self.end_here(job);
                return false;
            }
            look.legal.extend_from_slice(moves);
            look.ends.push(look.legal.len() as u32);
        }
        if look.legal.len() > self.n_roles {
            return false;
        }
        if look.forced == FORCED_AT_ONCE {
            look.legal.clear();
            look.ends.clear();
            return false;
        }
        look.forced += 1;
        std::mem::swap(&mut job.state, &mut look.state);
        job.joint_move.clear();
        job.joint_move.extend_from_slice(&look.legal);
        true
    }

    /// Ends a position in which a role has no legal move.
    fn end_here(&mut self, job: &mut Job) {
        let machine = &self.machine;
        let reasoner = self
            .reasoner
            .get_or_insert_with(|| Arc::clone(machine).reasoner());
        reasoner.set_state(&job.look.state);
        reasoner.goals(&mut self.found);
        job.look.terminal = true;
        job.look.legal.clear();
        job.look.ends.clear();
        job.look.goals.clear();
        let goals = self.found.iter().map(|goal| goal.unwrap_or(0).min(100));
        job.look.goals.extend(goals);
    }

    /// Looks at the children of all positions that have few enough of them for the playouts that
    /// are wanted.
    fn look_at_children(&mut self, jobs: &mut [Box<Job>]) {
        if !self.look_ahead || self.expander.width() < 2 {
            return;
        }
        self.joint_moves.clear();
        for job in jobs.iter_mut() {
            let look = &mut job.look;
            if look.terminal || look.ends.is_empty() {
                continue;
            }
            let Some(decider) = look.decider() else {
                continue;
            };
            let n_moves = look.moves_of(decider).len();
            if n_moves > MOST_CHILDREN {
                continue;
            }
            look.children.resize(n_moves, ChildLook::default());
            look.totals.resize(n_moves * self.n_roles, 0);
            for index in 0..n_moves {
                for role in 0..self.n_roles {
                    let moves = look.moves_of(role);
                    let mv = if role == decider {
                        moves[index]
                    } else {
                        moves[0]
                    };
                    self.joint_moves.push(mv);
                }
            }
        }
        if self.joint_moves.is_empty() {
            return;
        }
        let mut joint_moves = self.joint_moves.chunks(self.n_roles);
        let mut steps = Vec::with_capacity(self.joint_moves.len() / self.n_roles);
        for job in jobs.iter() {
            for _ in &job.look.children {
                steps.push(ExpansionStep {
                    state: &job.look.state,
                    joint_move: joint_moves.next(),
                });
            }
        }
        self.expander.expand(&steps, false, &mut self.positions);
        drop(steps);
        let mut position = 0;
        for job in jobs.iter_mut() {
            let look = &mut job.look;
            let totals = look.totals.chunks_mut(self.n_roles);
            for (child, totals) in look.children.iter_mut().zip(totals) {
                child.terminal = self.positions.terminal[position];
                if child.terminal {
                    for (total, goal) in totals.iter_mut().zip(self.positions.goals(position)) {
                        *total = u32::from(goal.unwrap_or(0).min(100));
                    }
                }
                position += 1;
            }
        }
        if let Some(evaluation) = &self.evaluation {
            with_wide_vectors(|| {
                evaluate_children(evaluation, jobs, &self.positions, self.n_roles)
            });
        }
        // The playouts begin here, where the states of the children are at hand.
        let mut position = 0;
        for job in jobs.iter_mut() {
            let n_children = job.look.children.len();
            if n_children > 0 {
                self.submit_children(job, position);
                position += n_children;
            }
        }
    }

    /// Writes down what positions promise in which the game goes on: what the best of their
    /// children do, for whoever chooses there, or they themselves where the children were not
    /// looked at.
    fn evaluate(&mut self, jobs: &mut [Box<Job>]) {
        let Some(evaluation) = &self.evaluation else {
            return;
        };
        for job in jobs {
            let look = &mut job.look;
            if look.terminal || job.is_certain {
                continue;
            }
            look.promise.resize(self.n_roles, 0.0);
            if look.promises.is_empty() {
                evaluation.values(&look.state, &mut look.promise);
                continue;
            }
            let decider = look.decider().unwrap_or(0);
            let mut most = f32::NEG_INFINITY;
            for (index, child) in look.children.iter().enumerate() {
                let run = index * self.n_roles..(index + 1) * self.n_roles;
                if child.terminal {
                    let goal = look.totals[run.start + decider] as f32;
                    if goal > most {
                        most = goal;
                        let goals = &look.totals[run];
                        let goals = goals.iter().map(|&goal| goal as f32);
                        look.promise.clear();
                        look.promise.extend(goals);
                    }
                } else if look.promises[run.start + decider] > most {
                    most = look.promises[run.start + decider];
                    look.promise.copy_from_slice(&look.promises[run]);
                }
            }
        }
    }

    /// Asks for playouts from the children that go on. The job's place is taken for it.
    fn submit_children(&mut self, job: &mut Job, first: usize) {
        let decider = job.look.decider().unwrap_or(0);
        let n_roles = self.n_roles;
        let look = &mut job.look;
        let certain = look.children.iter().enumerate();
        let best = certain
            .filter(|(_, child)| child.terminal)
            .max_by_key(|&(index, _)| {
                (
                    look.totals[index * n_roles + decider],
                    std::cmp::Reverse(index),
                )
            })
            .map(|(index, _)| index);
        let n_open = look.children.iter().filter(|child| !child.terminal).count() as u32;
        let is_won = best.is_some_and(|best| look.totals[best * n_roles + decider] == 100);
        if n_open == 0 || is_won {
            if let Some(best) = best {
                let goals = &look.totals[best * n_roles..][..n_roles];
                for (total, &goal) in job.tally.totals.iter_mut().zip(goals) {
                    *total = u64::from(goal);
                }
            }
            job.is_certain = true;
            return;
        }
        let samples = job.samples / n_open;
        if !self.plays_out || samples < self.samples_per_child {
            // Nothing is known of the moves then but what is certain.
            return;
        }
        let place = self.reserve();
        job.place = place;
        for index in 0..look.children.len() {
            if look.children[index].terminal {
                continue;
            }
            let state = self.positions.state(first + index);
            let start = (place, index as u32);
            submit(
                &mut self.playouts,
                &mut self.tickets,
                &mut self.refused,
                &mut self.refused_samples,
                start,
                state,
                samples,
            );
            job.outstanding += 1;
        }
    }

    /// Gives a request that was looked at its place, or hands it back at once.
    fn begin(&mut self, mut job: Box<Job>) {
        if job.look.terminal {
            for (total, &goal) in job.tally.totals.iter_mut().zip(&job.look.goals) {
                *total = u64::from(goal);
            }
            self.done.push_back(job);
            return;
        }
        if job.outstanding == 0 {
            if job.is_certain || !self.plays_out {
                self.done.push_back(job);
                return;
            }
            if self.evaluation.is_none() {
                job.look.children.clear();
            }
            job.place = self.reserve();
            submit(
                &mut self.playouts,
                &mut self.tickets,
                &mut self.refused,
                &mut self.refused_samples,
                (job.place, ITSELF),
                &job.look.state,
                job.samples.max(1),
            );
            job.outstanding = 1;
        }
        let place = job.place as usize;
        self.under_way[place] = Some(job);
        self.n_under_way += 1;
    }

    fn reserve(&mut self) -> u32 {
        self.free_places.pop().unwrap_or_else(|| {
            self.under_way.push(None);
            self.under_way.len() as u32 - 1
        })
    }

    /// Takes in the playouts that have ended.
    fn take_in(&mut self) {
        while let Some(playouts) = &mut self.playouts {
            let Some(ticket) = playouts.take_finished(&mut self.tally) else {
                return;
            };
            let (place, child) = self.tickets[ticket as usize];
            self.add(place, child);
        }
    }

    /// Adds `tally` to a request, and hands it back when it was the last one.
    fn add(&mut self, place: u32, child: u32) {
        let Some(job) = &mut self.under_way[place as usize] else {
            return;
        };
        let tally = &self.tally;
        job.tally.playouts += tally.playouts;
        job.tally.steps += tally.steps;
        job.tally.cut_off += tally.cut_off;
        for (total, &more) in job.tally.totals.iter_mut().zip(&tally.totals) {
            *total += more;
        }
        if child != ITSELF {
            let index = child as usize;
            job.look.children[index].playouts += tally.playouts;
            let totals = &mut job.look.totals[index * self.n_roles..][..self.n_roles];
            for (total, &more) in totals.iter_mut().zip(&tally.totals) {
                *total += more as u32;
            }
        }
        job.outstanding -= 1;
        if job.outstanding == 0
            && let Some(job) = self.under_way[place as usize].take()
        {
            self.free_places.push(place);
            self.n_under_way -= 1;
            self.done.push_back(job);
        }
    }

    /// Plays out once for the first state that the lanes refused.
    fn play_refused(&mut self) {
        let Some(refused) = self.refused.front_mut() else {
            return;
        };
        let machine = &self.machine;
        let reasoner = self
            .reasoner
            .get_or_insert_with(|| Arc::clone(machine).reasoner());
        reasoner.set_state(&refused.state);
        self.tally.clear(self.n_roles);
        match reasoner.playout(&mut self.random, self.max_steps, &mut self.goals) {
            PlayoutEnd::Finished { steps } => self.tally.steps = u64::from(steps),
            PlayoutEnd::CutOff => {
                self.tally.steps = u64::from(self.max_steps);
                self.tally.cut_off = 1;
            }
        }
        self.tally.playouts = 1;
        for (total, &goal) in self.tally.totals.iter_mut().zip(&self.goals) {
            *total = u64::from(goal.min(100));
        }
        let (place, child) = (refused.place, refused.child);
        refused.samples -= 1;
        self.refused_samples -= 1;
        if refused.samples > 0 {
            // One more is under way after this one is added.
            if let Some(job) = &mut self.under_way[place as usize] {
                job.outstanding += 1;
            }
        } else {
            self.refused.pop_front();
        }
        self.add(place, child);
    }
}

/// Writes down what the children promise that were looked at, one after the other in `positions`.
#[inline]
fn evaluate_children(
    evaluation: &Evaluation,
    jobs: &mut [Box<Job>],
    positions: &PositionBatch,
    n_roles: usize,
) {
    let mut position = 0;
    for job in jobs {
        let look = &mut job.look;
        if look.children.is_empty() {
            continue;
        }
        look.promises.resize(look.children.len() * n_roles, 0.0);
        let accumulator = evaluation.accumulator(&look.state);
        let promises = look.promises.chunks_mut(n_roles);
        for (child, promises) in look.children.iter().zip(promises) {
            if !child.terminal {
                let state = positions.state(position);
                evaluation.values_from(&accumulator, &look.state, state, promises);
            }
            position += 1;
        }
    }
}

/// Asks the lanes for playouts, or else the reasoner.
fn submit(
    playouts: &mut Option<Box<dyn BatchPlayouts>>,
    tickets: &mut Vec<(u32, u32)>,
    refused: &mut VecDeque<Refused>,
    refused_samples: &mut u64,
    (place, child): (u32, u32),
    state: &[u64],
    samples: u32,
) {
    let ticket = playouts
        .as_mut()
        .and_then(|playouts| playouts.submit(state, samples));
    match ticket {
        Some(ticket) => {
            let index = ticket as usize;
            if index >= tickets.len() {
                tickets.resize(index + 1, (0, 0));
            }
            tickets[index] = (place, child);
        }
        None => {
            *refused_samples += u64::from(samples);
            refused.push_back(Refused {
                place,
                child,
                state: state.to_vec(),
                samples,
            });
        }
    }
}
