//! A game run by lanes: a machine that takes the place of any other.
//!
//! Many playouts go through a gang and many positions through an expander. A machine for play leaves single states to the
//! counters, which are better at them; one for comparing engines has reasoners with an expander of their own that use
//! one lane of it: slow, but every answer comes out of lanes.
//!
//! Invariants: states and moves are those of the game's counter machine, in the same words and numbers. Of the same state, seed and
//! limit a reasoner makes the same playout as the counter machine's.
//!
//! Never knows: trees, GDL text.

use std::sync::Arc;

use super::compile::{ExpanderPrograms, Programs};
use super::expand::Goals;
use super::interpret::Features;
use super::{expand, gang};
use crate::ids::{Id, MoveId, RoleId};
use crate::machine::counter::CounterMachine;
use crate::machine::random::Random;
use crate::machine::{Expander, Machine, PlayoutEnd, Playouts, Positions, Reasoner, Step};

/// A game run by lanes.
#[derive(Debug)]
pub struct LanesMachine {
    counter: Arc<CounterMachine>,
    gangs: Option<Arc<gang::Layout>>,
    /// Where it answers for single states too.
    expander: Option<Arc<expand::Layout>>,
}

impl LanesMachine {
    /// A machine for play: one state at a time by counters, many playouts by gangs of the same game.
    pub fn for_play(counter: Arc<CounterMachine>, gangs: Arc<gang::Layout>) -> Self {
        Self {
            counter,
            gangs: Some(gangs),
            expander: None,
        }
    }

    /// A machine that does everything by lanes for the game of a counter machine, from programs made of its network. Vectors have `n_words` words, 4, 8 or 16, those of expanders
    /// 8 at most; without programs for gangs there are no playouts abreast.
    pub fn new(
        counter: Arc<CounterMachine>,
        expander: ExpanderPrograms,
        gangs: Option<&Programs>,
        features: Features,
        n_words: usize,
    ) -> Self {
        let n_roles = counter.n_roles();
        let gangs = gangs.map(|gangs| gang::Layout::new(gangs, n_roles, features, n_words));
        Self {
            counter,
            gangs: gangs.map(Arc::new),
            expander: Some(Arc::new(expand::Layout::new(expander, features, n_words))),
        }
    }

    /// Playouts abreast; nothing where they are played one after the other.
    pub fn width(&self) -> Option<usize> {
        self.gangs.as_ref().map(|gangs| gangs.width())
    }
}

impl Machine for LanesMachine {
    fn kind(&self) -> &'static str {
        "lanes"
    }

    fn n_roles(&self) -> usize {
        self.counter.n_roles()
    }

    fn role_name(&self, role: RoleId) -> String {
        self.counter.role_name(role)
    }

    fn initial_state(&self) -> Vec<u64> {
        self.counter.initial_state()
    }

    fn move_text(&self, mv: MoveId) -> String {
        self.counter.move_text(mv)
    }

    fn find_move(&self, role: RoleId, text: &str) -> Option<MoveId> {
        self.counter.find_move(role, text)
    }

    fn state_facts(&self, state: &[u64]) -> Vec<String> {
        self.counter.state_facts(state)
    }

    fn state_from_facts(&self, facts: &[String]) -> Result<Vec<u64>, String> {
        self.counter.state_from_facts(facts)
    }

    fn reasoner(self: Arc<Self>) -> Box<dyn Reasoner> {
        match &self.expander {
            Some(expander) => Box::new(LanesReasoner::new(
                expander.expander(Goals::Everywhere),
                self.counter.n_roles(),
                self.counter.initial_state(),
            )),
            None => Arc::clone(&self.counter).reasoner(),
        }
    }

    fn playouts(self: Arc<Self>, random: &mut Random, max_steps: u32) -> Option<Box<dyn Playouts>> {
        let gangs = self.gangs.as_ref()?;
        Some(gangs.gang(random, max_steps))
    }

    fn expander(self: Arc<Self>) -> Box<dyn Expander> {
        match &self.expander {
            Some(expander) => expander.expander(Goals::AtEnds),
            None => Arc::clone(&self.counter).expander(),
        }
    }
}

/// One thread's view through one lane.
struct LanesReasoner {
    expander: Box<dyn Expander>,
    n_roles: usize,
    state: Vec<u64>,
    /// What the state is like, if it was looked at.
    here: Positions,
    is_known: bool,
    /// What the last state to be worked out is like: likely where the caller goes next.
    ahead: Positions,
    joint_move: Vec<MoveId>,
}

impl LanesReasoner {
    fn new(expander: Box<dyn Expander>, n_roles: usize, state: Vec<u64>) -> Self {
        Self {
            expander,
            n_roles,
            state,
            here: Positions::default(),
            is_known: false,
            ahead: Positions::default(),
            joint_move: Vec::new(),
        }
    }

    /// What the state is like.
    fn look(&mut self) -> &Positions {
        if !self.is_known {
            let step = Step {
                state: &self.state,
                joint_move: None,
            };
            self.expander.expand(&[step], true, &mut self.here);
            self.is_known = true;
        }
        &self.here
    }

    /// Works out where a joint move leads.
    fn look_ahead(&mut self, joint_move: &[MoveId]) {
        let step = Step {
            state: &self.state,
            joint_move: Some(joint_move),
        };
        self.expander.expand(&[step], true, &mut self.ahead);
    }

    /// Stands on the state that was worked out last.
    fn go_ahead(&mut self) {
        std::mem::swap(&mut self.here, &mut self.ahead);
        self.is_known = true;
        self.state.clear();
        self.state.extend_from_slice(&self.here.states);
    }

    /// Draws a move for each role that has several, into `joint_move`; false where some role has none.
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
            self.go_ahead();
        } else if self.state != state {
            self.state.clear();
            self.state.extend_from_slice(state);
            self.is_known = false;
        }
    }

    fn is_terminal(&mut self) -> bool {
        self.look().terminal.first().is_some_and(|&over| over)
    }

    fn goals(&mut self, out: &mut [Option<u8>]) {
        for (slot, goal) in out.iter_mut().zip(&self.look().goals) {
            *slot = *goal;
        }
    }

    fn legal_moves(&mut self, role: RoleId) -> &[MoveId] {
        self.look().legal(0, role)
    }

    fn next_state(&mut self, joint_move: &[MoveId], out: &mut Vec<u64>) {
        self.look_ahead(joint_move);
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
            self.look_ahead(&joint_move);
            self.go_ahead();
            self.joint_move = joint_move;
            steps += 1;
        };
        for (slot, goal) in goals.iter_mut().zip(&self.look().goals) {
            *slot = goal.unwrap_or(0);
        }
        end
    }
}
