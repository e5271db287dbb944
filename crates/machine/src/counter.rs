//! The counter engine: one state at a time, updated incrementally by counters.
//!
//! A game runs specialised where possible (see [`super::specialised`]). The rest runs on the
//! counters of the network, which propagate moves gate by gate and support recursion: games that
//! cannot be specialised, states outside all phases, and illegal joint moves.
//!
//! Invariants between calls: either `specialised_phase` names the phase whose values are those of
//! the current state, or the counters of `phases[current]` are; every counter agrees with its
//! inputs ([`CounterReasoner::check`] recomputes them). Whatever runs, a playout draws the n-th of
//! a role's legal moves in the order of their numbers, once for each role that has several, roles
//! in order.

#[cfg(test)]
mod tests;
mod whole;

use std::sync::Arc;

use super::compile::CounterLayout;
use super::specialised::{
    SpecialisedCounters, SpecialisedLayout, Stopped, move_index, only_true, phase_of_group,
};
use super::{GameInfo, Machine, PlayoutEnd, Reasoner};
use panza_gdl::{BaseId, MoveId, RoleId};
use panza_sync::Random;
use whole::Counters;

/// Games with more moves have shorter playouts: steps times moves are at most this.
const MANY_MOVES: usize = 10_000;
const MAX_PLAYOUT_MOVES: usize = 30_000_000;

/// A game run by counters.
///
/// A game with a mutex group has a layout per phase, chosen by the current state. Each keeps
/// counters of its own, in the last state of that phase.
#[derive(Debug)]
pub struct CounterMachine {
    /// The whole game first, then the phases.
    layouts: Vec<CounterLayout>,
    mutex_group: Vec<BaseId>,
    /// The phases, or the whole game when there are none, specialised by moves.
    specialised: Option<SpecialisedLayout>,
    /// Each network's counters in the initial state, copied for each new thread.
    start: Vec<Counters>,
}

impl CounterMachine {
    /// A machine for a compiled network.
    pub fn new(layout: CounterLayout) -> Self {
        Self::with_phases(layout, Vec::new(), Vec::new())
    }

    /// A machine with a layout for the whole game, and one for each of the bases of a mutex group,
    /// of which exactly one is true in every reachable state. A state for which that does not hold
    /// is run on the layout of the whole game.
    pub fn with_phases(
        whole: CounterLayout,
        mutex_group: Vec<BaseId>,
        phases: Vec<CounterLayout>,
    ) -> Self {
        debug_assert_eq!(mutex_group.len(), phases.len());
        let initial = whole.initial.clone();
        let layouts: Vec<CounterLayout> = std::iter::once(whole).chain(phases).collect();
        let start = layouts.iter().map(|layout| {
            let mut counters = Counters::new(layout);
            counters.come_to_rest(layout);
            counters.set_state(layout, &initial);
            counters
        });
        Self {
            start: start.collect(),
            layouts,
            mutex_group,
            specialised: None,
        }
    }

    /// Runs the whole game's machine specialised: the phases of a mutex group, or the whole game
    /// when there is no group. The layout of the whole game serves for what no phase covers.
    #[must_use]
    pub fn specialise(mut self, mutex_group: Vec<BaseId>, layout: SpecialisedLayout) -> Self {
        self.mutex_group = mutex_group;
        self.specialised = Some(layout);
        self
    }

    /// The mutex group whose true base selects the phase; empty when the game has one phase.
    pub fn mutex_group(&self) -> &[BaseId] {
        &self.mutex_group
    }

    /// The layout of the specialised phases, if the game is run on them.
    pub fn specialised(&self) -> Option<&SpecialisedLayout> {
        self.specialised.as_ref()
    }

    /// Which phase of the specialised game a state belongs to.
    #[inline(always)]
    fn specialised_phase_of(&self, state: &[u64]) -> Option<usize> {
        phase_of_group(&self.mutex_group, state)
    }

    /// A reasoner for a new thread.
    pub fn counter_reasoner(self: Arc<Self>) -> CounterReasoner {
        let initial = self.layout().initial.clone();
        let mut reasoner = CounterReasoner {
            phases: self.start.clone(),
            current: 0,
            specialised: self
                .specialised
                .as_ref()
                .map(|layout| SpecialisedCounters::new(layout, self.info().n_roles())),
            specialised_phase: None,
            legal: Vec::new(),
            indices: Vec::new(),
            next: Vec::new(),
            machine: self,
        };
        reasoner.set_state(&initial);
        reasoner
    }

    /// The compiled network of the whole game.
    pub fn layout(&self) -> &CounterLayout {
        // There is always the whole game's.
        &self.layouts[0]
    }

    /// The compiled networks of the phases; none when the game has no mutex group.
    pub fn phases(&self) -> &[CounterLayout] {
        &self.layouts[1..]
    }

    /// The index of the layout that runs a state.
    #[inline]
    fn phase_of(&self, state: &[u64]) -> usize {
        only_true(&self.mutex_group, state).map_or(0, |index| index + 1)
    }
}

impl Machine for CounterMachine {
    fn kind(&self) -> &'static str {
        "counter"
    }

    fn info(&self) -> &dyn GameInfo {
        &self.layout().info
    }

    fn initial_state(&self) -> Vec<u64> {
        self.layout().initial.clone()
    }

    fn reasoner(self: Arc<Self>) -> Box<dyn Reasoner> {
        Box::new(self.counter_reasoner())
    }
}

/// The layout, phase and counters of a reasoner in a phase of a specialised game.
macro_rules! specialised {
    ($reasoner:expr) => {
        match (
            &$reasoner.machine.specialised,
            $reasoner.specialised_phase,
            &mut $reasoner.specialised,
        ) {
            (Some(layout), Some(phase), Some(counters)) => Some((layout, phase, counters)),
            _ => None,
        }
    };
}

/// One thread's counters of a game.
pub struct CounterReasoner {
    machine: Arc<CounterMachine>,
    phases: Vec<Counters>,
    current: usize,
    specialised: Option<SpecialisedCounters>,
    /// The phase of the current state in the specialised game; `None` when the state is in one of
    /// `phases`.
    specialised_phase: Option<usize>,
    legal: Vec<MoveId>,
    /// A joint move, as indices of the phase's lists of moves.
    indices: Vec<u32>,
    next: Vec<u64>,
}

impl CounterReasoner {
    /// Recomputes every counter from the network and compares them.
    ///
    /// # Errors
    /// Names the first component whose counter is wrong.
    pub fn check(&self) -> Result<(), String> {
        if let (Some(layout), Some(counters)) = (&self.machine.specialised, &self.specialised) {
            counters.check(layout)?;
        }
        self.phases
            .iter()
            .zip(&self.machine.layouts)
            .try_for_each(|(counters, layout)| counters.check(layout))
    }

    fn now(&mut self) -> (&CounterLayout, &mut Counters) {
        (
            &self.machine.layouts[self.current],
            &mut self.phases[self.current],
        )
    }

    fn read_goals(&mut self, mut write: impl FnMut(usize, Option<u8>)) {
        if let Some((layout, phase, counters)) = specialised!(self) {
            counters.goals(layout, &layout.phases[phase], write);
            return;
        }
        let (layout, counters) = self.now();
        for (role, goals) in layout.goals.iter().enumerate() {
            write(role, counters.goal(goals));
        }
    }

    /// Plays in specialised phases until the game ends or leaves them.
    #[inline(always)]
    fn play_specialised<const BMI2: bool>(
        &mut self,
        random: &mut Random,
        steps: &mut u32,
        max_steps: u32,
    ) -> Option<Stopped> {
        let machine = &*self.machine;
        let layout = machine.specialised.as_ref()?;
        let phase = self.specialised_phase.as_mut()?;
        let phase_of = |state: &[u64]| machine.specialised_phase_of(state);
        let counters = self.specialised.as_mut()?;
        let stopped = counters.play::<BMI2>(layout, phase, phase_of, random, steps, max_steps);
        Some(stopped)
    }

    /// As [`Self::play_specialised`], compiled for BMI1, BMI2, POPCNT and LZCNT, which count and
    /// find bits in one instruction instead of a dozen.
    ///
    /// # Safety
    /// The processor must have them.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[target_feature(enable = "bmi1,bmi2,popcnt,lzcnt")]
    unsafe fn play_specialised_bmi2(
        &mut self,
        random: &mut Random,
        steps: &mut u32,
        max_steps: u32,
    ) -> Option<Stopped> {
        self.play_specialised::<true>(random, steps, max_steps)
    }

    /// Plays one move on the counters of a phase or of the whole game. Returns the end of the
    /// playout, if it has ended.
    fn play_whole(&mut self, random: &mut Random, may_move: bool) -> Option<PlayoutEnd> {
        let (layout, counters) = self.now();
        if counters.reads(layout.terminal) || !counters.choose_moves(random) {
            return Some(PlayoutEnd::Finished { steps: 0 });
        }
        if !may_move {
            return Some(PlayoutEnd::CutOff);
        }
        counters.make_chosen_moves(layout);
        let mut next = std::mem::take(&mut self.next);
        next.clear();
        next.extend_from_slice(&self.phases[self.current].next);
        self.set_state(&next);
        self.next = next;
        None
    }
}

impl Reasoner for CounterReasoner {
    fn set_state(&mut self, state: &[u64]) {
        if let (Some(layout), Some(counters)) = (&self.machine.specialised, &mut self.specialised) {
            self.specialised_phase = self.machine.specialised_phase_of(state);
            if self.specialised_phase.is_some() {
                counters.set_state(layout, state);
                return;
            }
        }
        self.current = match self.machine.specialised {
            Some(_) => 0,
            None => self.machine.phase_of(state),
        };
        let (layout, counters) = self.now();
        counters.set_state(layout, state);
    }

    fn is_terminal(&mut self) -> bool {
        if let Some((layout, phase, counters)) = specialised!(self) {
            return counters.is_terminal(layout, &layout.phases[phase]);
        }
        let (layout, counters) = self.now();
        counters.reads(layout.terminal)
    }

    fn goals(&mut self, out: &mut [Option<u8>]) {
        self.read_goals(|role, goal| {
            if let Some(slot) = out.get_mut(role) {
                *slot = goal;
            }
        });
    }

    fn legal_moves(&mut self, role: RoleId) -> &[MoveId] {
        self.legal.clear();
        if let Some((layout, phase, counters)) = specialised!(self) {
            let role = &layout.phases[phase].roles[role];
            let legal = &mut self.legal;
            counters.for_each_legal(role, |index| legal.push(role.moves[index]));
            return &self.legal;
        }
        &self.phases[self.current].legal[role]
    }

    fn next_state(&mut self, joint_move: &[MoveId], out: &mut Vec<u64>) {
        out.clear();
        let [whole, phases @ ..] = &mut self.phases[..] else {
            return;
        };
        let state = if let Some((layout, phase, counters)) = specialised!(self) {
            let phase = &layout.phases[phase];
            let indices = phase.roles.iter().zip(joint_move).map(|(role, &mv)| {
                move_index(role, mv).filter(|&index| counters.is_legal(role, index as usize))
            });
            let n_legal = indices.clone().flatten().count();
            if n_legal == phase.roles.len() {
                self.indices.clear();
                self.indices.extend(indices.flatten());
                out.extend_from_slice(counters.next_state(layout, phase, &self.indices));
                return;
            }
            &counters.state
        } else if let Some(phase) = self.current.checked_sub(1)
            && !phases[phase].are_legal(joint_move)
        {
            &phases[phase].state
        } else {
            let (layout, counters) = self.now();
            counters.make_moves(layout, joint_move);
            out.extend_from_slice(&counters.next);
            return;
        };
        // Phases support legal moves only. An illegal move of another player is made on the whole
        // game's network, without leaving the phase.
        let layout = self.machine.layout();
        whole.set_state(layout, state);
        whole.make_moves(layout, joint_move);
        out.extend_from_slice(&whole.next);
    }

    fn playout(&mut self, random: &mut Random, max_steps: u32, goals: &mut [u8]) -> PlayoutEnd {
        // A step takes time in proportion to the moves, and nothing stops a playout.
        let n_moves = self.machine.layouts[0].info.moves.len();
        let max_steps = match n_moves > MANY_MOVES {
            true => max_steps.min((MAX_PLAYOUT_MOVES / n_moves) as u32).max(1),
            false => max_steps,
        };
        let mut steps = 0;
        let end = loop {
            if self.specialised_phase.is_some() {
                #[cfg(all(target_arch = "x86_64", not(miri)))]
                let stopped = if has_bmi2() {
                    // SAFETY: the processor has the instructions, as just detected.
                    unsafe { self.play_specialised_bmi2(random, &mut steps, max_steps) }
                } else {
                    self.play_specialised::<false>(random, &mut steps, max_steps)
                };
                #[cfg(not(all(target_arch = "x86_64", not(miri))))]
                let stopped = self.play_specialised::<false>(random, &mut steps, max_steps);
                match stopped {
                    Some(Stopped::Finished) => break PlayoutEnd::Finished { steps },
                    Some(Stopped::CutOff) => break PlayoutEnd::CutOff,
                    Some(Stopped::Outside) => {
                        let mut next = std::mem::take(&mut self.next);
                        next.clear();
                        next.extend(
                            self.specialised
                                .iter()
                                .flat_map(|counters| counters.computed_next()),
                        );
                        self.set_state(&next);
                        self.next = next;
                        continue;
                    }
                    None => {}
                }
            }
            match self.play_whole(random, steps < max_steps) {
                Some(PlayoutEnd::Finished { .. }) => break PlayoutEnd::Finished { steps },
                Some(PlayoutEnd::CutOff) => break PlayoutEnd::CutOff,
                None => steps += 1,
            }
        };
        self.read_goals(|role, goal| {
            if let Some(slot) = goals.get_mut(role) {
                *slot = goal.unwrap_or(0);
            }
        });
        end
    }
}

/// Whether the processor has the instructions of [`CounterReasoner::play_specialised_bmi2`].
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn has_bmi2() -> bool {
    // The library caches the answers, so each check is one load.
    std::is_x86_feature_detected!("bmi1")
        && std::is_x86_feature_detected!("bmi2")
        && std::is_x86_feature_detected!("popcnt")
        && std::is_x86_feature_detected!("lzcnt")
}
