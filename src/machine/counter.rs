//! The counter engine: one state at a time, by counting.
//!
//! Every component is one `u32` whose top bit is its value. When a component flips, one is added to (or taken from)
//! each user's counter; a user whose top bit changed has flipped in turn. Flipped components wait as bits of a set
//! that is scanned upwards; components are numbered inputs first, so each is settled when its turn comes and tells
//! its users once, and one that flips twice before its turn tells nobody. Standing on another state means flipping
//! the bases that differ.
//!
//! A block of gates that depend on each other holds its least fixpoint: rising inputs are counted in as they come,
//! but when one falls the block is taken back to nothing and derived anew, since a cycle of gates would otherwise
//! hold itself up.
//!
//! Invariants between calls: the set is empty, no block is waiting, and each counter outside blocks is its start
//! plus the number of its inputs that are on ([`CounterReasoner::check`] recomputes them).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::compile::{Component, Layout, OR_START, Reading, TriggerKind};
use super::random::Random;
use super::unfolded::{Stopped, UnfoldedCounters, UnfoldedLayout, place_of};
use super::{Machine, PlayoutEnd, Reasoner};
use crate::ids::{BaseId, Id, IdVec, MoveId, RoleId};
use crate::propnet::Position;

const TOP: u32 = 1 << 31;

/// A game run by counting.
///
/// A game with a control has a layout per phase, chosen by the state at hand; each keeps counters of its own, standing on the
/// last state of that phase.
#[derive(Debug)]
pub struct CounterMachine {
    /// The whole game first, then the phases.
    layouts: Vec<Layout>,
    controls: Vec<BaseId>,
    /// The phases, or the whole game when there are none, unfolded by moves.
    unfolded: Option<UnfoldedLayout>,
    /// Each network at rest on the initial state, copied for each new thread.
    start: Vec<Counters>,
}

impl CounterMachine {
    /// Brings a compiled network to its initial state.
    pub fn new(layout: Layout) -> Self {
        Self::with_phases(layout, Vec::new(), Vec::new())
    }

    /// A machine with a layout for the whole game, and one for each of the control bases, of which just one is true
    /// in every reachable state. A state for which that does not hold is run on the layout of the whole game.
    pub fn with_phases(whole: Layout, controls: Vec<BaseId>, phases: Vec<Layout>) -> Self {
        debug_assert_eq!(controls.len(), phases.len());
        let initial = whole.initial.clone();
        let layouts: Vec<Layout> = std::iter::once(whole).chain(phases).collect();
        let start = layouts.iter().map(|layout| {
            let mut counters = Counters::new(layout);
            counters.come_to_rest(layout);
            counters.set_state(layout, &initial);
            counters
        });
        Self {
            start: start.collect(),
            layouts,
            controls,
            unfolded: None,
        }
    }

    /// A machine that runs the phases, or the whole game when there are no controls, unfolded. The layout of the whole game serves
    /// for what no phase covers.
    pub fn with_unfolded(whole: Layout, controls: Vec<BaseId>, unfolded: UnfoldedLayout) -> Self {
        let mut machine = Self::new(whole);
        machine.controls = controls;
        machine.unfolded = Some(unfolded);
        machine
    }

    /// The bases of which just one is true in each phase; none when the game has one phase.
    pub fn controls(&self) -> &[BaseId] {
        &self.controls
    }

    /// The layout of the unfolded phases, if the game is run on them.
    pub fn unfolded(&self) -> Option<&UnfoldedLayout> {
        self.unfolded.as_ref()
    }

    /// The work of playing through some positions on the unfolded phases; nothing when they do not cover them.
    pub fn work(&self, positions: &[Position]) -> Option<u64> {
        let layout = self.unfolded.as_ref()?;
        let mut counters = UnfoldedCounters::new(layout, self.n_roles());
        counters.work(layout, |state| self.unfolded_phase_of(state), positions)
    }

    /// Which phase of the unfolded game a state belongs to.
    #[inline(always)]
    fn unfolded_phase_of(&self, state: &[u64]) -> Option<usize> {
        match self.controls.len() {
            0 => Some(0),
            _ => self.phase_of(state).checked_sub(1),
        }
    }

    /// A new thread's counters on the game.
    pub fn counter_reasoner(self: Arc<Self>) -> CounterReasoner {
        let initial = self.layout().initial.clone();
        let mut reasoner = CounterReasoner {
            phases: self.start.clone(),
            current: 0,
            unfolded: self
                .unfolded
                .as_ref()
                .map(|layout| UnfoldedCounters::new(layout, self.n_roles())),
            unfolded_phase: None,
            legal: Vec::new(),
            places: Vec::new(),
            next: Vec::new(),
            machine: self,
        };
        reasoner.set_state(&initial);
        reasoner
    }

    /// The compiled network of the whole game.
    pub fn layout(&self) -> &Layout {
        // There is always the whole game's.
        &self.layouts[0]
    }

    /// The compiled networks of the phases; none when the game has no control.
    pub fn phases(&self) -> &[Layout] {
        &self.layouts[1..]
    }

    /// Which layout runs a state.
    #[inline]
    fn phase_of(&self, state: &[u64]) -> usize {
        let is_true = |base: &BaseId| {
            state
                .get(base.index() / 64)
                .is_some_and(|word| word >> (base.index() % 64) & 1 == 1)
        };
        let mut phase = 0;
        for (index, control) in self.controls.iter().enumerate() {
            if is_true(control) {
                if phase != 0 {
                    return 0;
                }
                phase = index + 1;
            }
        }
        phase
    }
}

impl Machine for CounterMachine {
    fn kind(&self) -> &'static str {
        "counter"
    }

    fn n_roles(&self) -> usize {
        self.layout().roles.len()
    }

    fn role_name(&self, role: RoleId) -> String {
        self.layout().roles[role].clone()
    }

    fn initial_state(&self) -> Vec<u64> {
        self.layout().initial.clone()
    }

    fn move_text(&self, mv: MoveId) -> String {
        self.layout().moves[mv].1.clone()
    }

    fn find_move(&self, role: RoleId, text: &str) -> Option<MoveId> {
        let range = self.layout().role_moves.get(role)?.clone();
        range
            .map(MoveId)
            .find(|&mv| self.layout().moves[mv].1 == text)
    }

    fn state_facts(&self, state: &[u64]) -> Vec<String> {
        let holds = |base: usize| state[base / 64] >> (base % 64) & 1 == 1;
        let facts = self
            .layout()
            .facts
            .enumerate()
            .filter(|(base, _)| holds(base.index()));
        let mut facts: Vec<String> = facts.map(|(_, text)| text.clone()).collect();
        facts.sort_unstable();
        facts
    }

    fn state_from_facts(&self, facts: &[String]) -> Result<Vec<u64>, String> {
        let mut state = vec![0u64; self.layout().state_words()];
        for fact in facts {
            let position = self.layout().facts.iter().position(|text| text == fact);
            let base = position
                .ok_or_else(|| format!("`{fact}` holds in no state that can be reached"))?;
            state[base / 64] |= 1 << (base % 64);
        }
        Ok(state)
    }

    fn reasoner(self: Arc<Self>) -> Box<dyn Reasoner> {
        Box::new(self.counter_reasoner())
    }
}

/// The layout, phase and counters of a reasoner that stands in a phase of an unfolded game.
macro_rules! unfolded {
    ($reasoner:expr) => {
        match (
            &$reasoner.machine.unfolded,
            $reasoner.unfolded_phase,
            &mut $reasoner.unfolded,
        ) {
            (Some(layout), Some(phase), Some(counters)) => Some((layout, phase, counters)),
            _ => None,
        }
    };
}

/// One thread's counters on a game.
pub struct CounterReasoner {
    machine: Arc<CounterMachine>,
    phases: Vec<Counters>,
    current: usize,
    unfolded: Option<UnfoldedCounters>,
    /// The phase of the unfolded game in which the state at hand is; none when the state is on one of `phases`.
    unfolded_phase: Option<usize>,
    /// A role's legal moves, on demand.
    legal: Vec<MoveId>,
    /// A joint move, as places in the phase's lists of moves.
    places: Vec<u32>,
    /// Room for a state on its way from one phase to the next.
    next: Vec<u64>,
}

impl CounterReasoner {
    /// Recomputes every counter from the network and compares.
    ///
    /// # Errors
    /// Names the first component whose counter is wrong.
    pub fn check(&self) -> Result<(), String> {
        if let (Some(layout), Some(counters)) = (&self.machine.unfolded, &self.unfolded) {
            counters.check(layout)?;
        }
        self.phases
            .iter()
            .zip(&self.machine.layouts)
            .try_for_each(|(counters, layout)| counters.check(layout))
    }

    fn now(&mut self) -> (&Layout, &mut Counters) {
        (
            &self.machine.layouts[self.current],
            &mut self.phases[self.current],
        )
    }
}

impl CounterReasoner {
    /// Plays on in unfolded phases as far as they go.
    #[inline(always)]
    fn play_unfolded<const BMI2: bool>(
        &mut self,
        random: &mut Random,
        steps: &mut u32,
        max_steps: u32,
    ) -> Option<Stopped> {
        let machine = &*self.machine;
        let layout = machine.unfolded.as_ref()?;
        let phase = self.unfolded_phase.as_mut()?;
        let phase_of = |state: &[u64]| machine.unfolded_phase_of(state);
        let counters = self.unfolded.as_mut()?;
        let stopped = counters.play::<BMI2>(layout, phase, phase_of, random, steps, max_steps);
        Some(stopped)
    }

    /// As [`Self::play_unfolded`], compiled for processors with these instructions: counting and finding bits take
    /// one instruction instead of a dozen.
    ///
    /// # Safety
    /// The processor must have them.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "bmi1,bmi2,popcnt,lzcnt")]
    unsafe fn play_unfolded_bmi2(
        &mut self,
        random: &mut Random,
        steps: &mut u32,
        max_steps: u32,
    ) -> Option<Stopped> {
        self.play_unfolded::<true>(random, steps, max_steps)
    }

    /// Plays one move on the counters of a phase or of the whole game. False when the game ends before.
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
        if let (Some(layout), Some(counters)) = (&self.machine.unfolded, &mut self.unfolded) {
            self.unfolded_phase = self.machine.unfolded_phase_of(state);
            if self.unfolded_phase.is_some() {
                counters.set_state(layout, state);
                return;
            }
        }
        self.current = match self.machine.unfolded {
            Some(_) => 0,
            None => self.machine.phase_of(state),
        };
        let (layout, counters) = self.now();
        counters.set_state(layout, state);
    }

    fn is_terminal(&mut self) -> bool {
        if let Some((layout, phase, counters)) = unfolded!(self) {
            return counters.is_terminal(layout, &layout.phases[phase]);
        }
        let (layout, counters) = self.now();
        counters.reads(layout.terminal)
    }

    fn goals(&mut self, out: &mut [Option<u8>]) {
        if let Some((layout, phase, counters)) = unfolded!(self) {
            counters.goals(layout, &layout.phases[phase], |role, goal| {
                if let Some(slot) = out.get_mut(role) {
                    *slot = goal;
                }
            });
            return;
        }
        let (layout, counters) = self.now();
        for (goals, slot) in layout.goals.iter().zip(out) {
            *slot = counters.goal(goals);
        }
    }

    fn legal_moves(&mut self, role: RoleId) -> &[MoveId] {
        self.legal.clear();
        if let Some((layout, phase, counters)) = unfolded!(self) {
            let role = &layout.phases[phase].roles[role];
            let legal = &mut self.legal;
            counters.for_each_legal(role, |place| legal.push(role.moves[place]));
            return &self.legal;
        }
        &self.phases[self.current].legal[role]
    }

    fn next_state(&mut self, joint_move: &[MoveId], out: &mut Vec<u64>) {
        out.clear();
        if let Some((layout, phase, counters)) = unfolded!(self) {
            let phase = &layout.phases[phase];
            let places = phase.roles.iter().zip(joint_move).map(|(role, &mv)| {
                place_of(role, mv).filter(|&place| counters.is_legal(role, place as usize))
            });
            let n_legal = places.clone().flatten().count();
            if n_legal == phase.roles.len() {
                self.places.clear();
                self.places.extend(places.flatten());
                out.extend_from_slice(counters.next_state(layout, phase, &self.places));
                return;
            }
            // Unfolded phases take legal moves for granted. What others are said to have played is followed on the
            // whole game's network, without leaving the phase.
            let whole = &self.machine.layouts[0];
            self.phases[0].set_state(whole, &counters.state);
            self.phases[0].make_moves(whole, joint_move);
            out.extend_from_slice(&self.phases[0].next);
            return;
        }
        if self.current != 0 && !self.phases[self.current].are_legal(joint_move) {
            // As above.
            let whole = &self.machine.layouts[0];
            let state = std::mem::take(&mut self.phases[self.current].state);
            self.phases[0].set_state(whole, &state);
            self.phases[self.current].state = state;
            self.phases[0].make_moves(whole, joint_move);
            out.extend_from_slice(&self.phases[0].next);
            return;
        }
        let (layout, counters) = self.now();
        counters.make_moves(layout, joint_move);
        out.extend_from_slice(&counters.next);
    }

    fn playout(&mut self, random: &mut Random, max_steps: u32, goals: &mut [u8]) -> PlayoutEnd {
        let mut steps = 0;
        let end = loop {
            if self.unfolded_phase.is_some() {
                #[cfg(all(target_arch = "x86_64", not(miri)))]
                let stopped = if has_bmi2() {
                    // SAFETY: the processor was just asked.
                    unsafe { self.play_unfolded_bmi2(random, &mut steps, max_steps) }
                } else {
                    self.play_unfolded::<false>(random, &mut steps, max_steps)
                };
                #[cfg(not(all(target_arch = "x86_64", not(miri))))]
                let stopped = self.play_unfolded::<false>(random, &mut steps, max_steps);
                match stopped {
                    Some(Stopped::Finished) => break PlayoutEnd::Finished { steps },
                    Some(Stopped::CutOff) => break PlayoutEnd::CutOff,
                    Some(Stopped::Outside) => {
                        let mut next = std::mem::take(&mut self.next);
                        next.clear();
                        next.extend(
                            self.unfolded
                                .iter()
                                .flat_map(|counters| counters.worked_out()),
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
        if let Some((layout, phase, counters)) = unfolded!(self) {
            counters.goals(layout, &layout.phases[phase], |role, goal| {
                if let Some(slot) = goals.get_mut(role) {
                    *slot = goal.unwrap_or(0);
                }
            });
            return end;
        }
        let (layout, counters) = self.now();
        for (values, slot) in layout.goals.iter().zip(goals) {
            *slot = counters.goal(values).unwrap_or(0);
        }
        end
    }
}

/// Whether the processor has the instructions of [`CounterReasoner::play_unfolded_bmi2`].
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn has_bmi2() -> bool {
    // The answers are kept by the library, so that asking is one load.
    std::is_x86_feature_detected!("bmi1")
        && std::is_x86_feature_detected!("bmi2")
        && std::is_x86_feature_detected!("popcnt")
        && std::is_x86_feature_detected!("lzcnt")
}

/// What changes while a game runs.
#[derive(Clone, Debug)]
struct Counters {
    counters: Vec<u32>,
    /// Components that flipped and have not told their users.
    flipped: FlippedSet,
    state: Vec<u64>,
    next: Vec<u64>,
    /// Per role, its legal moves in no order.
    legal: IdVec<RoleId, Vec<MoveId>>,
    /// Per move, its place in its role's list.
    place: Vec<u32>,
    role_of: Vec<RoleId>,
    /// Per role, the move whose input is on.
    made: Vec<Option<MoveId>>,
    chosen: Vec<MoveId>,
    blocks: Vec<BlockState>,
    /// The lowest first: blocks come after those they depend on, so each is settled once.
    waiting_blocks: BinaryHeap<Reverse<u32>>,
    is_applied: Vec<bool>,
    block_work: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct BlockState {
    is_waiting: bool,
    needs_reset: bool,
    risen: Vec<u32>,
}

const NOT_LEGAL: u32 = u32::MAX;

impl Counters {
    fn new(layout: &Layout) -> Self {
        Self {
            counters: layout.at_rest.clone(),
            flipped: FlippedSet::new(layout.components.len()),
            state: vec![0; layout.state_words()],
            next: layout.next_at_rest.clone(),
            legal: layout
                .role_moves
                .iter()
                .map(|moves| Vec::with_capacity(moves.len()))
                .collect(),
            place: vec![NOT_LEGAL; layout.moves.len()],
            role_of: layout.moves.iter().map(|&(role, _)| role).collect(),
            made: vec![None; layout.roles.len()],
            chosen: Vec::with_capacity(layout.roles.len()),
            blocks: vec![BlockState::default(); layout.blocks.len()],
            waiting_blocks: BinaryHeap::with_capacity(layout.blocks.len()),
            is_applied: vec![false; layout.ports.len()],
            block_work: Vec::new(),
        }
    }

    /// From 'nothing counted' to the values that follow from every base being false and no move being made.
    fn come_to_rest(&mut self, layout: &Layout) {
        for &mv in &layout.legal_at_rest {
            self.set_legal(mv, true);
        }
        for (index, block) in layout.blocks.iter().enumerate() {
            for &(component, start) in &block.gates {
                self.counters[component as usize] = start;
            }
            self.blocks[index] = BlockState {
                is_waiting: true,
                needs_reset: true,
                risen: Vec::new(),
            };
            self.waiting_blocks.push(Reverse(index as u32));
        }
        // A gate of no inputs may be on from the start, and has told nobody yet.
        for component in 0..layout.components.len() as u32 {
            if self.is_on(component) {
                self.flipped.toggle(component);
            }
        }
        // Each user that takes a component inverted counts it once, as off.
        for component in 0..layout.components.len() {
            let Component { inverted, end, .. } = layout.components[component];
            for edge in inverted..end {
                self.add(layout.edges[edge as usize], 1);
            }
        }
        self.propagate(layout);
    }

    #[inline]
    fn is_on(&self, component: u32) -> bool {
        self.counters[component as usize] & TOP != 0
    }

    fn reads(&self, reading: Reading) -> bool {
        match reading {
            Reading::Constant(value) => value,
            Reading::Plain(component) => self.is_on(component),
            Reading::Inverted(component) => !self.is_on(component),
        }
    }

    fn goal(&self, values: &[(u8, Reading)]) -> Option<u8> {
        values
            .iter()
            .find(|&&(_, reading)| self.reads(reading))
            .map(|&(value, _)| value)
    }

    /// Gives a component without inputs its other value.
    #[inline]
    fn flip_input(&mut self, component: u32) {
        self.counters[component as usize] ^= TOP ^ OR_START;
        self.flipped.toggle(component);
    }

    #[inline]
    fn add(&mut self, component: u32, amount: u32) {
        debug_assert!((component as usize) < self.counters.len());
        // SAFETY: `component` is an entry of the layout's edge array, all of which are below the number of
        // components (`Layout::compile` checks it), and `counters` has one entry per component for good.
        let counter = unsafe { self.counters.get_unchecked_mut(component as usize) };
        let before = *counter;
        let after = before.wrapping_add(amount);
        *counter = after;
        // SAFETY: as above; the set was made for the same number of components.
        unsafe {
            self.flipped
                .toggle_unchecked(component, (before ^ after) >> 31)
        };
    }

    /// Counts a component's new value with its users.
    #[inline]
    fn tell_users(&mut self, layout: &Layout, users: Component, is_on: bool) {
        let amount = if is_on { 1 } else { u32::MAX };
        let Component {
            start,
            inverted,
            end,
            ..
        } = users;
        debug_assert!(start <= inverted && inverted <= end && end as usize <= layout.edges.len());
        // SAFETY: `users` comes from the layout's components, whose runs are in order and end within the edge array
        // (`Layout::compile` checks it).
        let (plain, opposite) = unsafe {
            (
                layout
                    .edges
                    .get_unchecked(start as usize..inverted as usize),
                layout.edges.get_unchecked(inverted as usize..end as usize),
            )
        };
        for &user in plain {
            self.add(user, amount);
        }
        for &user in opposite {
            self.add(user, amount.wrapping_neg());
        }
    }

    fn set_state(&mut self, layout: &Layout, state: &[u64]) {
        for word in 0..self.state.len() {
            // A state of the wrong width is cut or padded with false rather than trusted.
            let wanted = state.get(word).copied().unwrap_or(0);
            let mut changed = self.state[word] ^ wanted;
            self.state[word] = wanted;
            while changed != 0 {
                let bit = changed.trailing_zeros();
                changed &= changed - 1;
                let component = word as u32 * 64 + bit;
                if (component as usize) < layout.facts.len() {
                    self.flip_input(component);
                }
            }
        }
        self.propagate(layout);
    }

    fn make_moves(&mut self, layout: &Layout, joint_move: &[MoveId]) {
        let first_move = layout.facts.len() as u32;
        for role in 0..self.made.len() {
            let wanted = joint_move
                .get(role)
                .copied()
                .filter(|mv| mv.index() < self.place.len());
            if self.made[role] == wanted {
                continue;
            }
            if let Some(mv) = std::mem::replace(&mut self.made[role], wanted) {
                self.flip_input(first_move + mv.0);
            }
            if let Some(mv) = wanted {
                self.flip_input(first_move + mv.0);
            }
        }
        self.propagate(layout);
    }

    fn are_legal(&self, joint_move: &[MoveId]) -> bool {
        joint_move.iter().all(|mv| {
            self.place
                .get(mv.index())
                .is_some_and(|&place| place != NOT_LEGAL)
        })
    }

    fn make_chosen_moves(&mut self, layout: &Layout) {
        let chosen = std::mem::take(&mut self.chosen);
        self.make_moves(layout, &chosen);
        self.chosen = chosen;
    }

    /// Draws a legal move for each role; false when one has none.
    fn choose_moves(&mut self, random: &mut Random) -> bool {
        self.chosen.clear();
        for moves in self.legal.iter() {
            let index = match moves.len() {
                0 => return false,
                1 => 0,
                n => random.below(n as u32) as usize,
            };
            self.chosen.push(moves[index]);
        }
        true
    }

    /// Works until every flip is told and every block is settled.
    fn propagate(&mut self, layout: &Layout) {
        loop {
            for summary_word in 0..self.flipped.summary.len() {
                while let Some(word) = self.flipped.next_word(summary_word) {
                    // Numbers of one word do not depend on each other, so all of it can be taken at once.
                    let mut waiting = std::mem::take(&mut self.flipped.words[word]);
                    while waiting != 0 {
                        let component = word as u32 * 64 + waiting.trailing_zeros();
                        waiting &= waiting - 1;
                        let users = layout.components[component as usize];
                        let is_on = self.is_on(component);
                        self.tell_users(layout, users, is_on);
                        if users.trigger != 0 {
                            self.tell(layout, is_on, users.trigger);
                        }
                    }
                }
            }
            let Some(Reverse(block)) = self.waiting_blocks.pop() else {
                return;
            };
            self.settle(layout, block as usize);
        }
    }

    fn tell(&mut self, layout: &Layout, is_on: bool, trigger: u32) {
        let (kind, number) = Component::unpack_trigger(trigger);
        match kind {
            TriggerKind::None => {}
            TriggerKind::Next => {
                let word = &mut self.next[number / 64];
                *word = *word & !(1 << (number % 64)) | u64::from(is_on) << (number % 64);
            }
            TriggerKind::Legal => self.set_legal(MoveId::from_index(number), is_on),
            TriggerKind::Port => {
                let block = layout.ports[number].block as usize;
                if is_on == self.is_applied[number] && !is_on {
                    return;
                }
                let state = &mut self.blocks[block];
                if is_on {
                    state.risen.push(number as u32);
                } else {
                    state.needs_reset = true;
                }
                if !std::mem::replace(&mut state.is_waiting, true) {
                    self.waiting_blocks.push(Reverse(block as u32));
                }
            }
        }
    }

    fn set_legal(&mut self, mv: MoveId, is_legal: bool) {
        let place = self.place[mv.index()];
        let moves = &mut self.legal[self.role_of[mv.index()]];
        if is_legal && place == NOT_LEGAL {
            self.place[mv.index()] = moves.len() as u32;
            moves.push(mv);
        } else if !is_legal && place != NOT_LEGAL {
            moves.swap_remove(place as usize);
            if let Some(&moved) = moves.get(place as usize) {
                self.place[moved.index()] = place;
            }
            self.place[mv.index()] = NOT_LEGAL;
        }
    }

    /// Derives a block's least fixpoint and tells its mirrors.
    fn settle(&mut self, layout: &Layout, index: usize) {
        let block = &layout.blocks[index];
        let first = block.gates.first().map_or(0, |&(component, _)| component);
        debug_assert!(self.block_work.is_empty());
        let mut risen = std::mem::take(&mut self.blocks[index].risen);
        if self.blocks[index].needs_reset {
            for &(component, start) in &block.gates {
                self.counters[component as usize] = start;
                if start & TOP != 0 {
                    self.block_work.push(component - first);
                }
            }
            for port in block.ports.clone() {
                self.is_applied[port as usize] = false;
            }
            risen.clear();
            risen.extend(block.ports.clone());
        }
        for &port in &risen {
            let is_on = self.is_on(layout.ports[port as usize].component);
            if is_on && !std::mem::replace(&mut self.is_applied[port as usize], true) {
                for &target in &layout.ports[port as usize].targets {
                    self.count_inside(target, first);
                }
            }
        }
        risen.clear();
        while let Some(gate) = self.block_work.pop() {
            let (from, to) = (block.starts[gate as usize], block.starts[gate as usize + 1]);
            for &target in &block.edges[from as usize..to as usize] {
                self.count_inside(block.gates[target as usize].0, first);
            }
        }
        self.blocks[index] = BlockState {
            is_waiting: false,
            needs_reset: false,
            risen,
        };
        for &(gate, mirror) in &block.mirrors {
            let value = self.is_on(gate);
            if value != self.is_on(mirror) {
                // A mirror's users may have lower numbers than itself, so it does not wait for its turn.
                self.counters[mirror as usize] ^= TOP ^ OR_START;
                let users = layout.components[mirror as usize];
                self.tell_users(layout, users, value);
                if users.trigger != 0 {
                    self.tell(layout, value, users.trigger);
                }
            }
        }
    }

    /// Counts one more input of a block's gate as on. A block's gates have consecutive components.
    fn count_inside(&mut self, component: u32, first: u32) {
        let counter = &mut self.counters[component as usize];
        let before = *counter;
        *counter = before.wrapping_add(1);
        if (before ^ *counter) & TOP != 0 {
            self.block_work.push(component - first);
        }
    }

    fn check(&self, layout: &Layout) -> Result<(), String> {
        let n = layout.components.len();
        let mut expected = layout.at_rest.clone();
        let mut has_inputs = vec![false; n];
        let mut is_inside = vec![false; n];
        layout
            .blocks
            .iter()
            .flat_map(|block| block.gates.iter())
            .for_each(|gate| is_inside[gate.0 as usize] = true);
        for component in 0..n {
            let Component {
                start,
                inverted,
                end,
                ..
            } = layout.components[component];
            let is_on = self.is_on(component as u32);
            for edge in start..end {
                let user = layout.edges[edge as usize] as usize;
                has_inputs[user] = true;
                if is_on == (edge < inverted) {
                    expected[user] = expected[user].wrapping_add(1);
                }
            }
        }
        for component in 0..n {
            if has_inputs[component]
                && !is_inside[component]
                && self.counters[component] != expected[component]
            {
                return Err(format!(
                    "component {component} counts {:#x}, its inputs make it {:#x}",
                    self.counters[component], expected[component]
                ));
            }
        }
        if !self.flipped.is_empty() || !self.waiting_blocks.is_empty() {
            return Err("work was left over".into());
        }
        Ok(())
    }
}

/// A set of component numbers that is emptied in rising order while higher ones are still added.
#[derive(Clone, Debug)]
struct FlippedSet {
    words: Vec<u64>,
    /// One bit per word: whether it may hold something.
    summary: Vec<u64>,
}

impl FlippedSet {
    fn new(n: usize) -> Self {
        let n_words = n.div_ceil(64).max(1);
        Self {
            words: vec![0; n_words],
            summary: vec![0; n_words.div_ceil(64)],
        }
    }

    /// Adds the number, or takes it out if it is in.
    #[inline]
    fn toggle(&mut self, component: u32) {
        let word = component as usize / 64;
        self.words[word] ^= 1 << (component % 64);
        self.summary[word / 64] |= 1 << (word % 64);
    }

    /// As [`Self::toggle`] when `condition` is 1, and nothing when it is 0, without a branch: whether a user flips
    /// is the one thing that cannot be predicted here.
    ///
    /// # Safety
    /// The number must be below the count that the set was made for.
    #[inline]
    unsafe fn toggle_unchecked(&mut self, component: u32, condition: u32) {
        let word = component as usize / 64;
        debug_assert!(word < self.words.len());
        // SAFETY: the caller's promise puts `word` below the number of words, and each 64 words have a summary word.
        unsafe {
            *self.words.get_unchecked_mut(word) ^= u64::from(condition) << (component % 64);
            *self.summary.get_unchecked_mut(word / 64) |= u64::from(condition) << (word % 64);
        }
    }

    /// The lowest word that may hold something, of the 64 words of one summary word; it is taken for looked at.
    #[inline]
    fn next_word(&mut self, summary_word: usize) -> Option<usize> {
        let summary = self.summary[summary_word];
        if summary == 0 {
            return None;
        }
        self.summary[summary_word] = summary & (summary - 1);
        Some(summary_word * 64 + summary.trailing_zeros() as usize)
    }

    fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::{Budget, ground};
    use crate::{gdl, propnet};

    /// Small enough for Miri, with a recursion, two phases and a choice for each role.
    const TOKENS: &str = "
        (role a) (role b) (init (turn a)) (init (at 1)) (step 1 2) (step 2 3) (step 3 4) (step 4 1)
        (<= (next (turn b)) (true (turn a))) (<= (next (turn a)) (true (turn b)))
        (<= (legal ?r (open ?x)) (true (turn ?r)) (step ?x ?y) (not (true (open ?x))))
        (<= (legal ?r wait) (role ?r) (not (true (turn ?r))))
        (<= (next (open ?x)) (does ?r (open ?x)))
        (<= (next (open ?x)) (true (open ?x)) (not (blocked ?x)))
        (<= (blocked ?x) (reach ?x) (true (turn b)))
        (<= (next (at ?x)) (true (at ?x)))
        (<= (reach ?x) (true (at ?x)))
        (<= (reach ?y) (reach ?x) (step ?x ?y) (true (open ?x)))
        (<= terminal (reach 4))
        (<= (goal a 100) (true (turn a))) (<= (goal a 0) (true (turn b)))
        (<= (goal b 100) (true (turn b))) (<= (goal b 0) (true (turn a)))";

    fn machine(text: &str) -> Arc<CounterMachine> {
        let program =
            ground(&gdl::load(text).0, Budget::generous()).expect("the game can be grounded");
        let network = propnet::build(&program, Budget::generous()).expect("the game has a network");
        let phases = propnet::phases(&network, Budget::generous()).expect("the turn is a control");
        assert_eq!(phases.controls.len(), 2);
        let layouts = phases.networks.iter().map(Layout::compile).collect();
        Arc::new(CounterMachine::with_phases(
            Layout::compile(&network),
            phases.controls,
            layouts,
        ))
    }

    #[test]
    fn counters_stay_what_their_inputs_make_them() {
        let machine = machine(TOKENS);
        let mut reasoner = machine.clone().counter_reasoner();
        let mut random = Random::new(5);
        let mut goals = [0u8; 2];
        let playouts = if cfg!(miri) { 3 } else { 200 };
        for _ in 0..playouts {
            reasoner.set_state(&machine.initial_state());
            assert!(matches!(
                reasoner.playout(&mut random, 60, &mut goals),
                PlayoutEnd::Finished { .. }
            ));
            assert_eq!(goals[0] + goals[1], 100);
            reasoner.check().expect("every counter is right");
        }
    }

    #[test]
    fn a_phase_and_the_whole_say_the_same() {
        let phased = machine(TOKENS);
        let mut left = phased.clone().counter_reasoner();
        let mut right = phased.clone().counter_reasoner();
        right.current = 0;
        right.phases[0].set_state(&phased.layouts[0], &phased.initial_state());
        let mut random = Random::new(9);
        let mut state = phased.initial_state();
        let mut successor = Vec::new();
        for _ in 0..if cfg!(miri) { 6 } else { 300 } {
            left.set_state(&state);
            right.phases[0].set_state(&phased.layouts[0], &state);
            assert_eq!(left.is_terminal(), right.is_terminal());
            if left.is_terminal() {
                state = phased.initial_state();
                continue;
            }
            let mut joint_move = Vec::new();
            for role in [RoleId(0), RoleId(1)] {
                let mut moves = [
                    left.legal_moves(role).to_vec(),
                    right.legal_moves(role).to_vec(),
                ];
                moves.iter_mut().for_each(|moves| moves.sort());
                assert_eq!(moves[0], moves[1]);
                joint_move.push(moves[0][random.below(moves[0].len() as u32) as usize]);
            }
            left.next_state(&joint_move, &mut state);
            right.next_state(&joint_move, &mut successor);
            assert_eq!(state, successor);
        }
    }

    #[test]
    fn illegal_moves_are_followed_as_the_rules_say() {
        let machine = machine(TOKENS);
        let mut reasoner = machine.clone().counter_reasoner();
        let initial = machine.initial_state();
        let find = |role, text| machine.find_move(role, text).expect("the move is known");
        // It is a's turn; b moves all the same, and the rules let what is opened stay open.
        let moves = [find(RoleId(0), "(open 1)"), find(RoleId(1), "(open 2)")];
        let mut state = Vec::new();
        reasoner.set_state(&initial);
        reasoner.next_state(&moves, &mut state);
        assert_eq!(
            machine.state_facts(&state),
            ["(at 1)", "(open 1)", "(open 2)", "(turn b)"]
        );
        reasoner.check().expect("every counter is right");
        let legal = [find(RoleId(0), "(open 1)"), find(RoleId(1), "wait")];
        reasoner.next_state(&legal, &mut state);
        assert_eq!(
            machine.state_facts(&state),
            ["(at 1)", "(open 1)", "(turn b)"]
        );
    }

    #[test]
    fn a_state_without_its_control_is_run_on_the_whole_game() {
        let machine = machine(TOKENS);
        let both =
            machine.state_from_facts(&["(turn a)".into(), "(turn b)".into(), "(at 1)".into()]);
        let both = both.expect("the facts are known");
        assert_eq!(machine.phase_of(&both), 0);
        assert_ne!(machine.phase_of(&machine.initial_state()), 0);
        assert_eq!(machine.phase_of(&[]), 0);
    }
}
