//! The lanes engine as a machine.
//!
//! Playouts run in a gang, expansions in a bit-parallel expander. A machine for play leaves single
//! states and small batches to the counters, which are faster there. A machine for comparing
//! engines evaluates single states in one lane too.
//!
//! Invariants: states and moves are those of the game's counter machine, in the same words and
//! numbers. A reasoner makes the same playout as the counter machine's for the same state, seed and
//! limit.
//!
//! Never uses: trees, GDL text.

#![expect(
    clippy::disallowed_methods,
    reason = "lanes of several widths are timed against each other"
)]

use std::sync::Arc;
use std::time::Duration;

use super::compile::{ExpanderPrograms, GangPrograms};
use super::expand::GoalScope;
use super::interpret::Features;
use super::{expand, gang};
use crate::counter::CounterMachine;
use crate::{
    BatchPlayouts, Expander, ExpansionStep, GameInfo, Machine, PlayoutEnd, PositionBatch, Reasoner,
};
use panza_gdl::{Id, MoveId, RoleId};
use panza_sync::{Instant, Random, Stopwatch};

/// A game run by the lanes engine.
#[derive(Debug)]
pub struct LanesMachine {
    counter: Arc<CounterMachine>,
    gangs: Option<Arc<gang::GangLayout>>,
    expansion: Option<LanesExpansion>,
    /// Whether lanes evaluate single states too.
    is_all_by_lanes: bool,
}

impl LanesMachine {
    /// A machine for play: counters for single states, lanes for playouts and, if there is an
    /// expansion, for batches of positions.
    pub fn for_play(
        counter: Arc<CounterMachine>,
        gangs: Arc<gang::GangLayout>,
        expansion: Option<LanesExpansion>,
    ) -> Self {
        Self {
            counter,
            gangs: Some(gangs),
            expansion,
            is_all_by_lanes: false,
        }
    }

    /// A machine that does everything by lanes, from programs of the counter machine's network.
    /// Vectors have `n_words` words, 4, 8 or 16, those of expanders at most 8. Without programs for
    /// gangs there are no batch playouts.
    pub fn new(
        counter: Arc<CounterMachine>,
        expander: ExpanderPrograms,
        gangs: Option<&GangPrograms>,
        features: Features,
        n_words: usize,
    ) -> Self {
        let n_roles = counter.info().n_roles();
        let gangs = gangs.map(|gangs| gang::GangLayout::new(gangs, n_roles, features, n_words));
        Self {
            counter,
            gangs: gangs.map(Arc::new),
            expansion: Some(LanesExpansion {
                layout: Arc::new(expand::ExpanderLayout::new(expander, features, n_words)),
                min_batch: [0; 2],
            }),
            is_all_by_lanes: true,
        }
    }

    /// The playouts of a gang; `None` where playouts are sequential.
    pub fn width(&self) -> Option<usize> {
        self.gangs.as_ref().map(|gangs| gangs.width())
    }
}

impl Machine for LanesMachine {
    fn kind(&self) -> &'static str {
        "lanes"
    }

    fn info(&self) -> &dyn GameInfo {
        self.counter.info()
    }

    fn initial_state(&self) -> Vec<u64> {
        self.counter.initial_state()
    }

    fn reasoner(self: Arc<Self>) -> Box<dyn Reasoner> {
        match &self.expansion {
            Some(expansion) if self.is_all_by_lanes => Box::new(LanesReasoner {
                expander: expansion.layout.expander(GoalScope::All),
                n_roles: self.counter.info().n_roles(),
                state: self.counter.initial_state(),
                here: PositionBatch::default(),
                is_known: false,
                ahead: PositionBatch::default(),
                joint_move: Vec::new(),
            }),
            _ => Arc::clone(&self.counter).reasoner(),
        }
    }

    fn playouts(
        self: Arc<Self>,
        random: &mut Random,
        max_steps: u32,
    ) -> Option<Box<dyn BatchPlayouts>> {
        let gangs = self.gangs.as_ref()?;
        Some(gangs.gang(random, max_steps))
    }

    fn unmeasured(&self) -> Option<Arc<dyn Machine>> {
        Some(Arc::<CounterMachine>::clone(&self.counter))
    }

    fn expander(self: Arc<Self>) -> Box<dyn Expander> {
        let Some(LanesExpansion { layout, min_batch }) = &self.expansion else {
            return Arc::clone(&self.counter).expander();
        };
        let lanes = layout.expander(GoalScope::Terminal);
        if self.is_all_by_lanes {
            return lanes;
        }
        Box::new(BatchSizeExpander {
            lanes,
            sequential: Arc::clone(&self.counter).expander(),
            min_batch: *min_batch,
        })
    }
}

/// The expansion of a machine for play.
#[derive(Clone, Debug)]
pub struct LanesExpansion {
    layout: Arc<expand::ExpanderLayout>,
    /// The smallest batches for which lanes are faster than counters, without and with legal moves.
    pub min_batch: [usize; 2],
}

impl LanesExpansion {
    /// Measures, within some processor time, which of the batch sizes 1, 2, 4 .. up to all lanes
    /// are faster by lanes than by counters. Sizes that the time does not reach are guessed.
    pub fn measured(
        counter: &Arc<CounterMachine>,
        layout: Arc<expand::ExpanderLayout>,
        time: Duration,
    ) -> Self {
        let stopwatch = Stopwatch::start();
        let sampled = sample_steps(counter, layout.width(), &stopwatch, time / 2);
        let steps: Vec<ExpansionStep<'_>> = sampled
            .iter()
            .map(|(state, joint_move)| ExpansionStep {
                state,
                joint_move: Some(joint_move),
            })
            .collect();
        let mut lanes = layout.expander(GoalScope::Terminal);
        let mut sequential = Arc::clone(counter).expander();
        let mut min_batch_of = |with_legal: bool, limit: Duration| {
            let mut size = 1;
            while size <= steps.len() && stopwatch.is_within(limit) {
                let batch = &steps[..size];
                let sequential = least_time(sequential.as_mut(), batch, with_legal);
                if least_time(lanes.as_mut(), batch, with_legal) <= sequential {
                    return size;
                }
                size *= 2;
            }
            match size > layout.width() {
                true => usize::MAX,
                false => size.max(GUESSED_MIN_BATCH),
            }
        };
        let bare = min_batch_of(false, time * 3 / 4);
        let min_batch = [bare, min_batch_of(true, time)];
        Self { layout, min_batch }
    }
}

/// The assumed smallest batch where there was no time to measure: the children of few states fill
/// 32 lanes, and a guess above their number leaves a game of many children without lanes.
pub(super) const GUESSED_MIN_BATCH: usize = 8;
const RUNS: usize = 3;
/// The most joint moves of a playout that positions are taken from.
const MAX_STEPS: usize = 1000;

/// States of random playouts with a joint move in each, up to `count`, until `limit` is used.
fn sample_steps(
    counter: &Arc<CounterMachine>,
    count: usize,
    stopwatch: &Stopwatch,
    limit: Duration,
) -> Vec<(Vec<u64>, Vec<MoveId>)> {
    let mut reasoner = Arc::clone(counter).reasoner();
    let mut random = Random::new(1);
    let initial = counter.initial_state();
    let mut places = Vec::with_capacity(count);
    let mut state = initial.clone();
    let mut n_steps = 0;
    while places.len() < count && stopwatch.is_within(limit) {
        reasoner.set_state(&state);
        let joint_move: Vec<MoveId> = (0..counter.info().n_roles())
            .map_while(
                |role| match reasoner.legal_moves(RoleId::from_index(role)) {
                    [] => None,
                    legal => Some(legal[random.below(legal.len() as u32) as usize]),
                },
            )
            .collect();
        let is_over = reasoner.is_terminal() || joint_move.len() < counter.info().n_roles();
        if is_over || n_steps == MAX_STEPS {
            if n_steps == 0 {
                // The initial state is terminal.
                break;
            }
            state.clone_from(&initial);
            n_steps = 0;
            continue;
        }
        let mut next = Vec::new();
        reasoner.next_state(&joint_move, &mut next);
        places.push((std::mem::replace(&mut state, next), joint_move));
        n_steps += 1;
    }
    places
}

fn least_time(
    expander: &mut dyn Expander,
    batch: &[ExpansionStep<'_>],
    with_legal: bool,
) -> Duration {
    let mut positions = PositionBatch::default();
    let times = (0..RUNS).map(|_| {
        let started = Instant::now();
        expander.expand(batch, with_legal, &mut positions);
        started.elapsed()
    });
    times.min().unwrap_or_default()
}

/// Expands small batches one by one and large ones by lanes.
struct BatchSizeExpander {
    lanes: Box<dyn Expander>,
    sequential: Box<dyn Expander>,
    /// The smallest batches for lanes, without and with legal moves.
    min_batch: [usize; 2],
}

impl Expander for BatchSizeExpander {
    fn width(&self) -> usize {
        self.lanes.width()
    }

    fn expand(
        &mut self,
        steps: &[ExpansionStep<'_>],
        with_legal: bool,
        positions: &mut PositionBatch,
    ) {
        let expander = if steps.len() < self.min_batch[usize::from(with_legal)] {
            &mut self.sequential
        } else {
            &mut self.lanes
        };
        expander.expand(steps, with_legal, positions);
    }
}

struct LanesReasoner {
    expander: Box<dyn Expander>,
    n_roles: usize,
    state: Vec<u64>,
    here: PositionBatch,
    is_known: bool,
    /// The expansion of the last next state, where the caller probably goes.
    ahead: PositionBatch,
    joint_move: Vec<MoveId>,
}

impl LanesReasoner {
    fn expand_here(&mut self) -> &PositionBatch {
        if !self.is_known {
            let step = ExpansionStep {
                state: &self.state,
                joint_move: None,
            };
            self.expander.expand(&[step], true, &mut self.here);
            self.is_known = true;
        }
        &self.here
    }

    fn expand_move(&mut self, joint_move: &[MoveId]) {
        let step = ExpansionStep {
            state: &self.state,
            joint_move: Some(joint_move),
        };
        self.expander.expand(&[step], true, &mut self.ahead);
    }

    fn move_ahead(&mut self) {
        std::mem::swap(&mut self.here, &mut self.ahead);
        self.is_known = true;
        self.state.clear();
        self.state.extend_from_slice(&self.here.states);
    }

    /// Draws a legal move for each role into `joint_move`; false where some role has none.
    fn draw(&mut self, random: &mut Random) -> bool {
        let mut joint_move = std::mem::take(&mut self.joint_move);
        joint_move.clear();
        let n_roles = self.n_roles;
        for role in (0..n_roles).map(RoleId::from_index) {
            let mv = match self.legal_moves(role) {
                [] => break,
                &[only] => only,
                legal => legal[random.below(legal.len() as u32) as usize],
            };
            joint_move.push(mv);
        }
        self.joint_move = joint_move;
        self.joint_move.len() == n_roles
    }
}

impl Reasoner for LanesReasoner {
    fn set_state(&mut self, state: &[u64]) {
        let is_ahead = !self.ahead.terminal.is_empty() && self.ahead.states == state;
        if is_ahead {
            self.move_ahead();
        } else if self.state != state {
            self.state.clear();
            self.state.extend_from_slice(state);
            self.is_known = false;
        }
    }

    fn is_terminal(&mut self) -> bool {
        self.expand_here().terminal == [true]
    }

    fn goals(&mut self, out: &mut [Option<u8>]) {
        for (slot, goal) in out.iter_mut().zip(&self.expand_here().goals) {
            *slot = *goal;
        }
    }

    fn legal_moves(&mut self, role: RoleId) -> &[MoveId] {
        self.expand_here().legal(0, role)
    }

    fn next_state(&mut self, joint_move: &[MoveId], out: &mut Vec<u64>) {
        self.expand_move(joint_move);
        out.clear();
        out.extend_from_slice(&self.ahead.states);
    }

    fn playout(&mut self, random: &mut Random, max_steps: u32, goals: &mut [u8]) -> PlayoutEnd {
        let mut steps = 0;
        let end = loop {
            if self.is_terminal() || !self.draw(random) {
                break PlayoutEnd::Finished { steps };
            }
            if steps == max_steps {
                break PlayoutEnd::CutOff;
            }
            let joint_move = std::mem::take(&mut self.joint_move);
            self.expand_move(&joint_move);
            self.move_ahead();
            self.joint_move = joint_move;
            steps += 1;
        };
        for (slot, goal) in goals.iter_mut().zip(&self.expand_here().goals) {
            *slot = goal.unwrap_or(0);
        }
        end
    }
}
