//! One thread's values on an specialised network, and how they follow the state.
//!
//! When a base flips, every user's counter moves by one step; a counter whose top bit changed joins
//! a queue and tells its own users in turn. Users are told in the order in which they flipped, so a
//! gate usually hears from all of its inputs before it speaks; one that flipped back meanwhile says
//! nothing, since its lowest bit still holds what it said last.
//!
//! Invariants between calls: every counter is its start plus two for each input that is on, and
//! what was told is what is (see [`SpecialisedCounters::check`]); the values stand on `state`.

use super::layout::{
    Effects, GoalPass, NO_ROW, Operand, PhaseLayout, Pulled, RoleLayout, SpecialisedLayout, Users,
};
use super::signs::{nth_bit, signs};
use crate::ids::{Id, MoveId};
use crate::machine::random::Random;

/// Top bit and told bit of a base or move.
const FLIP: u8 = 0x81;

/// 64 values, in a cache line of their own.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// How a run of steps in phases ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::machine) enum Stopped {
    /// The game is over, or a role has no legal move.
    Finished,
    /// All steps were made.
    CutOff,
    /// The state belongs to no phase; `state` of the values is that state, the values do not stand
    /// on it.
    Outside,
}

/// Counts a step with a user, downwards if it takes the value inverted, and says whether its value
/// flips: 1 or 0.
///
/// # Safety
/// `values` points to an array in which the edge's number has a place.
#[inline(always)]
unsafe fn count(values: *mut u8, edge: u32, step: u8) -> u8 {
    let inversion = ((edge & 1) as u8).wrapping_neg();
    let amount = (step ^ inversion).wrapping_sub(inversion);
    // SAFETY: the caller's promise.
    unsafe {
        let value = values.add((edge >> 1) as usize);
        let before = *value;
        let after = before.wrapping_add(amount);
        *value = after;
        (before ^ after) >> 7
    }
}

/// What changes while a game runs.
#[derive(Clone, Debug)]
pub(in crate::machine) struct SpecialisedCounters {
    lines: Vec<Line>,
    queue: Vec<u32>,
    pub(in crate::machine) state: Vec<u64>,
    next: Vec<u64>,
    /// Per role, the number of the move whose value is on.
    made: Vec<u32>,
    /// Per role, which of its moves in this phase was drawn.
    pub(super) drawn: Vec<u32>,
    /// Per pulled gate: twice the number of the pull it was last worked out in, plus its value.
    pulled: Vec<u32>,
    pull: u32,
    /// How many pulled gates were worked out, for [`Self::work`].
    pub(super) n_pulled: u64,
    /// The state that was last asked for.
    asked: Vec<u64>,
    /// The values on `asked`, when it was asked for several times running.
    kept: Vec<Line>,
    /// The moves whose values are on in `kept`.
    kept_made: Vec<u32>,
    /// The state that `kept` stands on: `asked`, but of the right width.
    kept_state: Vec<u64>,
}

impl SpecialisedCounters {
    pub(in crate::machine) fn new(layout: &SpecialisedLayout, n_roles: usize) -> Self {
        let lines = layout.at_rest.chunks(64).map(|chunk| {
            let mut line = Line([0; 64]);
            line.0[..chunk.len()].copy_from_slice(chunk);
            line
        });
        let n_words = (layout.n_bases as usize).div_ceil(64).max(1);
        Self {
            lines: lines.collect(),
            queue: vec![0; 256],
            state: vec![0; n_words],
            next: vec![0; n_words],
            made: vec![NO_ROW; n_roles],
            drawn: vec![0; n_roles],
            pulled: vec![0; layout.pulled.len()],
            pull: 0,
            n_pulled: 0,
            asked: Vec::new(),
            kept: Vec::new(),
            kept_made: Vec::new(),
            kept_state: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn values(&self) -> &[u8] {
        // SAFETY: lines are 64 bytes each, without padding, and bytes have no alignment to keep.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.lines.len() * 64) }
    }

    #[inline]
    fn values_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `values`, and borrowed as exclusively as `self`.
        unsafe {
            std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.lines.len() * 64)
        }
    }

    /// Counts a new value with the users of a number; those that flip join the queue behind `len`.
    /// Gives the queue's new length.
    #[inline(always)]
    fn tell_users(
        &mut self,
        layout: &SpecialisedLayout,
        number: u32,
        is_on: bool,
        len: usize,
    ) -> usize {
        debug_assert!(number < layout.n_followed);
        // SAFETY: `number` is followed, `users` has one entry more than there are followed numbers,
        // and its runs are in order within the edge array (the layout checks both).
        let (gates, leaves) = unsafe {
            let Users { start, leaves } = *layout.users.get_unchecked(number as usize);
            let end = layout.users.get_unchecked(number as usize + 1).start;
            (
                layout.edges.get_unchecked(start as usize..leaves as usize),
                layout.edges.get_unchecked(leaves as usize..end as usize),
            )
        };
        // Every gate could flip, and one place is written to without being taken.
        if self.queue.len() <= len + gates.len() {
            self.queue.resize(2 * (len + gates.len() + 1), 0);
        }
        let mut len = len;
        let step: u8 = if is_on { 2 } else { 2u8.wrapping_neg() };
        let values = self.lines.as_mut_ptr().cast::<u8>();
        let queue = self.queue.as_mut_ptr();
        for &edge in gates {
            // SAFETY: every edge leads to a number of the array (the layout checks it), and the
            // array has a value for each; `len` is below the queue's length, for which room was
            // made above, since each user takes one place at most.
            unsafe {
                let flips = count(values, edge, step);
                *queue.add(len) = edge >> 1;
                len += usize::from(flips);
            }
        }
        for &edge in leaves {
            // SAFETY: as above.
            unsafe { count(values, edge, step) };
        }
        len
    }

    /// Works until nobody has news.
    #[inline(always)]
    fn settle(&mut self, layout: &SpecialisedLayout, mut len: usize) {
        let mut head = 0;
        while head < len {
            let number = self.queue[head];
            head += 1;
            let value = &mut self.values_mut()[number as usize];
            if (*value >> 7 ^ *value) & 1 == 0 {
                continue;
            }
            *value ^= 1;
            let is_on = *value & 1 == 1;
            len = self.tell_users(layout, number, is_on, len);
        }
    }

    #[inline(always)]
    fn flip(&mut self, layout: &SpecialisedLayout, number: u32, len: usize) -> usize {
        let value = &mut self.values_mut()[number as usize];
        *value ^= FLIP;
        let is_on = *value & 1 == 1;
        self.tell_users(layout, number, is_on, len)
    }

    /// Stands on `next`.
    #[inline(always)]
    fn follow_next(&mut self, layout: &SpecialisedLayout) {
        let mut len = 0;
        for word in 0..self.state.len() {
            let wanted = self.next[word];
            let mut changed = self.state[word] ^ wanted;
            self.state[word] = wanted;
            while changed != 0 {
                let number = word as u32 * 64 + changed.trailing_zeros();
                changed &= changed - 1;
                len = self.flip(layout, number, len);
            }
        }
        self.settle(layout, len);
    }

    /// Stands on a state. One that is asked for again and again, as by playouts, is kept whole and
    /// copied back.
    pub(in crate::machine) fn set_state(&mut self, layout: &SpecialisedLayout, state: &[u64]) {
        let is_again = self.asked == state;
        if is_again && !self.kept.is_empty() {
            self.lines.copy_from_slice(&self.kept);
            self.made.copy_from_slice(&self.kept_made);
            self.state.copy_from_slice(&self.kept_state);
            return;
        }
        for (word, next) in self.next.iter_mut().enumerate() {
            // A state of the wrong width is cut or padded with false rather than trusted, and so
            // are bits that are no base's.
            *next = state.get(word).copied().unwrap_or(0);
            let n_bits = (layout.n_bases as usize).saturating_sub(word * 64);
            if n_bits < 64 {
                *next &= (1 << n_bits) - 1;
            }
        }
        self.follow_next(layout);
        self.kept.clear();
        if is_again {
            self.kept.extend_from_slice(&self.lines);
            self.kept_made.clone_from(&self.made);
            self.kept_state.clone_from(&self.state);
        } else {
            self.asked.clear();
            self.asked.extend_from_slice(state);
        }
    }

    /// Reads an operand within one pull.
    #[inline(always)]
    fn read(&mut self, layout: &SpecialisedLayout, operand: Operand) -> bool {
        if operand.is_flat() {
            return self.read_flat(layout, operand.number()) != (operand.inversion() == 1);
        }
        if operand.is_pulled() {
            return self.read_pulled(layout, operand.number()) != (operand.inversion() == 1);
        }
        self.values()[operand.number() as usize] >> 7 != operand.inversion()
    }

    /// Works out a pulled gate that reads nothing but values: that is cheaper than to remember it.
    #[inline(always)]
    fn read_flat(&mut self, layout: &SpecialisedLayout, number: u32) -> bool {
        let (start, end) = layout.pulled[number as usize].operands;
        let values = self.values();
        layout.operands[start as usize..end as usize]
            .iter()
            .all(|operand| values[operand.number() as usize] >> 7 != operand.inversion())
    }

    /// Works out a pulled gate, once per pull.
    fn read_pulled(&mut self, layout: &SpecialisedLayout, number: u32) -> bool {
        let known = self.pulled[number as usize];
        if known >> 1 == self.pull {
            return known & 1 == 1;
        }
        self.n_pulled += 1;
        let Pulled { operands, guarded } = layout.pulled[number as usize];
        let is_on = self.are_on(layout, operands) && self.are_guarded_on(layout, guarded);
        self.pulled[number as usize] = self.pull << 1 | u32::from(is_on);
        is_on
    }

    #[inline(always)]
    fn are_on(&mut self, layout: &SpecialisedLayout, operands: (u32, u32)) -> bool {
        layout.operands[operands.0 as usize..operands.1 as usize]
            .iter()
            .all(|&operand| self.read(layout, operand))
    }

    /// Whether the operands are on whose bases are true; the others are anyway.
    #[inline(always)]
    fn are_guarded_on(&mut self, layout: &SpecialisedLayout, guarded: (u32, u32)) -> bool {
        for guards in &layout.guarded[guarded.0 as usize..guarded.1 as usize] {
            let mut on = self.state[guards.word as usize] & guards.mask;
            while on != 0 {
                let below = (on & on.wrapping_neg()) - 1;
                let first = guards.first + (guards.mask & below).count_ones();
                on &= on - 1;
                if !self.are_on(layout, layout.guarded_operands[first as usize]) {
                    return false;
                }
            }
        }
        true
    }

    /// Writes the roles' goals here.
    pub(in crate::machine) fn goals(
        &mut self,
        layout: &SpecialisedLayout,
        phase: &PhaseLayout,
        mut write: impl FnMut(usize, Option<u8>),
    ) {
        if let Some(pass) = phase.goal_pass {
            self.run_goal_pass(&layout.goal_passes[pass]);
        }
        self.begin_pull();
        for (role, goals) in phase.goals.iter().enumerate() {
            let goal = goals
                .iter()
                .find(|&&(_, operand)| self.read(layout, operand));
            write(role, goal.map(|&(value, _)| value));
        }
    }

    /// Works out all gates of a pass.
    fn run_goal_pass(&mut self, pass: &GoalPass) {
        let mut to = pass.first as usize;
        let mut operands = &pass.operands[..];
        let values = self.values_mut();
        let read = |values: &[u8], operand: u32| {
            values[(operand >> 1) as usize] ^ ((operand & 1) as u8) << 7
        };
        for run in &pass.runs {
            let fan_in = run.fan_in as usize;
            let (here, rest) = operands.split_at(fan_in * run.n_gates as usize);
            operands = rest;
            match fan_in {
                2 => {
                    for pair in here.chunks_exact(2) {
                        values[to] = read(values, pair[0]) & read(values, pair[1]) & 0x80;
                        to += 1;
                    }
                }
                3 => {
                    for triple in here.chunks_exact(3) {
                        let all = read(values, triple[0])
                            & read(values, triple[1])
                            & read(values, triple[2]);
                        values[to] = all & 0x80;
                        to += 1;
                    }
                }
                _ => {
                    for inputs in here.chunks_exact(fan_in.max(1)) {
                        let all = inputs
                            .iter()
                            .fold(0x80, |all, &input| all & read(values, input));
                        values[to] = all;
                        to += 1;
                    }
                }
            }
        }
    }

    /// Starts a pull: what was worked out before counts no more.
    #[inline(always)]
    pub(in crate::machine) fn begin_pull(&mut self) {
        self.pull += 1;
        if self.pull >= 1 << 31 {
            self.pulled.fill(0);
            self.pull = 1;
        }
    }

    /// Calls `visit` with the role's legal moves, as places in the phase's list of its moves.
    pub(in crate::machine) fn for_each_legal(
        &self,
        role: &RoleLayout,
        mut visit: impl FnMut(usize),
    ) {
        if role.row == NO_ROW {
            (0..role.moves.len()).for_each(visit);
            return;
        }
        for row in 0..role.n_rows as usize {
            let mut legal = self.legal_word(role, row);
            while legal != 0 {
                visit(row * 64 + legal.trailing_zeros() as usize);
                legal &= legal - 1;
            }
        }
    }

    #[inline(always)]
    fn legal_word(&self, role: &RoleLayout, row: usize) -> u64 {
        signs(&self.lines[role.row as usize / 64 + row].0)
    }

    /// Whether a place in the phase's list of the role's moves holds a legal one.
    pub(in crate::machine) fn is_legal(&self, role: &RoleLayout, place: usize) -> bool {
        role.row == NO_ROW || self.values()[role.row as usize + place] & 0x80 != 0
    }

    /// Draws a legal move, of several the n-th in rising order, n being random. Nothing when there
    /// is none.
    #[inline(always)]
    fn draw<const BMI2: bool>(&self, role: &RoleLayout, random: &mut Random) -> Option<u32> {
        if role.row == NO_ROW {
            return (!role.moves.is_empty()).then_some(0);
        }
        if role.n_rows == 1 {
            let legal = self.legal_word(role, 0);
            return match legal.count_ones() {
                0 => None,
                1 => Some(legal.trailing_zeros()),
                n => Some(nth_bit::<BMI2>(legal, random.below(n))),
            };
        }
        let mut n_legal = 0;
        for row in 0..role.n_rows as usize {
            n_legal += self.legal_word(role, row).count_ones();
        }
        let mut n = match n_legal {
            0 => return None,
            1 => 0,
            n_legal => random.below(n_legal),
        };
        for row in 0..role.n_rows as usize {
            let legal = self.legal_word(role, row);
            let here = legal.count_ones();
            if n < here {
                return Some(row as u32 * 64 + nth_bit::<BMI2>(legal, n));
            }
            n -= here;
        }
        None
    }

    /// Works out the state after the drawn moves, in `next`.
    #[inline(always)]
    fn work_out_next(&mut self, layout: &SpecialisedLayout, phase: &PhaseLayout) {
        let mut len = 0;
        for (index, role) in phase.roles.iter().enumerate() {
            if role.is_followed {
                len = self.make(layout, index, role, len);
            }
        }
        if len != 0 {
            self.settle(layout, len);
        }
        for (word, from) in phase.next.iter().enumerate() {
            let mut next = self.state[word] & from.keep | from.set;
            if from.row != NO_ROW {
                next |= signs(&self.lines[from.row as usize / 64].0);
            }
            self.next[word] = next;
        }
        self.begin_pull();
        for &keys in phase.clearing.iter().chain(&phase.setting) {
            let mut on = keys.mask
                & match keys.row {
                    NO_ROW => self.state[keys.word as usize],
                    row => signs(&self.lines[row as usize / 64].0),
                };
            while on != 0 {
                let below = (on & on.wrapping_neg()) - 1;
                let key = keys.first + (keys.mask & below).count_ones();
                on &= on - 1;
                self.apply(layout, layout.keyed[key as usize]);
            }
        }
        for (index, role) in phase.roles.iter().enumerate() {
            let Some(effects) = role.effects.get(self.drawn[index] as usize) else {
                continue;
            };
            self.apply(layout, *effects);
        }
    }

    /// Gives the bases that a move or key decides their next values.
    #[inline(always)]
    fn apply(&mut self, layout: &SpecialisedLayout, effects: Effects) {
        for mask in &layout.masks[effects.masks.0 as usize..effects.masks.1 as usize] {
            let word = &mut self.next[mask.word as usize];
            *word = *word & mask.keep | mask.set;
        }
        for &(base, operand) in &layout.bits[effects.bits.0 as usize..effects.bits.1 as usize] {
            let bit = u64::from(self.read(layout, operand));
            self.next[base.index() / 64] |= bit << (base.0 % 64);
        }
        for copies in &layout.copies[effects.copies.0 as usize..effects.copies.1 as usize] {
            let mut on = self.state[copies.word as usize] & copies.mask;
            while on != 0 {
                let below = (on & on.wrapping_neg()) - 1;
                let target = copies.first + (copies.mask & below).count_ones();
                on &= on - 1;
                let base = layout.targets[target as usize];
                self.next[base.index() / 64] |= 1 << (base.0 % 64);
            }
        }
    }

    /// Turns on the value of a role's drawn move.
    fn make(
        &mut self,
        layout: &SpecialisedLayout,
        index: usize,
        role: &RoleLayout,
        mut len: usize,
    ) -> usize {
        let wanted = role
            .numbers
            .get(self.drawn[index] as usize)
            .copied()
            .unwrap_or(NO_ROW);
        let made = std::mem::replace(&mut self.made[index], wanted);
        if made != wanted {
            if made != NO_ROW {
                len = self.flip(layout, made, len);
            }
            if wanted != NO_ROW {
                len = self.flip(layout, wanted, len);
            }
        }
        len
    }

    /// The state after a joint move, given by each role's place in its list of moves.
    pub(in crate::machine) fn next_state(
        &mut self,
        layout: &SpecialisedLayout,
        phase: &PhaseLayout,
        places: &[u32],
    ) -> &[u64] {
        self.drawn
            .iter_mut()
            .zip(places)
            .for_each(|(drawn, &place)| *drawn = place);
        self.work_out_next(layout, phase);
        &self.next
    }

    /// Plays random moves for as long as the state has a phase. `steps` counts up to `max_steps`;
    /// `phase` is where the values stand, and is kept up to date.
    #[inline(always)]
    pub(in crate::machine) fn play<const BMI2: bool>(
        &mut self,
        layout: &SpecialisedLayout,
        phase: &mut usize,
        phase_of: impl Fn(&[u64]) -> Option<usize>,
        random: &mut Random,
        steps: &mut u32,
        max_steps: u32,
    ) -> Stopped {
        loop {
            let here = &layout.phases[*phase];
            if self.is_terminal(layout, here) {
                return Stopped::Finished;
            }
            for (index, role) in here.roles.iter().enumerate() {
                match self.draw::<BMI2>(role, random) {
                    Some(place) => self.drawn[index] = place,
                    None => return Stopped::Finished,
                }
            }
            if *steps == max_steps {
                return Stopped::CutOff;
            }
            *steps += 1;
            self.work_out_next(layout, here);
            let Some(next_phase) = phase_of(&self.next) else {
                return Stopped::Outside;
            };
            *phase = next_phase;
            self.follow_next(layout);
        }
    }

    #[inline(always)]
    pub(in crate::machine) fn is_terminal(
        &mut self,
        layout: &SpecialisedLayout,
        phase: &PhaseLayout,
    ) -> bool {
        if phase.terminal.is_pulled() {
            self.begin_pull();
        }
        self.read(layout, phase.terminal)
    }

    /// The state that was worked out last.
    pub(in crate::machine) fn worked_out(&self) -> &[u64] {
        &self.next
    }

    /// Recomputes every counter and compares.
    ///
    /// # Errors
    /// Names the first number whose counter is wrong.
    pub(in crate::machine) fn check(&self, layout: &SpecialisedLayout) -> Result<(), String> {
        let values = self.values();
        let rest = &layout.at_rest;
        let mut expected: Vec<u8> = rest.iter().map(|value| value & !1).collect();
        for number in 0..layout.n_followed {
            let value = values[number as usize];
            if (value >> 7 ^ value) & 1 != 0 {
                return Err(format!("number {number} has not told its users its value"));
            }
            let changed = (value ^ rest[number as usize]) >> 7 == 1;
            let users =
                layout.users[number as usize].start..layout.users[number as usize + 1].start;
            for &edge in &layout.edges[users.start as usize..users.end as usize] {
                if changed {
                    let up = (value >> 7 == 1) != (edge & 1 == 1);
                    let counter = &mut expected[(edge >> 1) as usize];
                    *counter = if up {
                        counter.wrapping_add(2)
                    } else {
                        counter.wrapping_sub(2)
                    };
                }
            }
        }
        let first_gate = layout.first_gate as usize;
        for number in first_gate..layout.n_kept as usize {
            if values[number] & !1 != expected[number] {
                return Err(format!(
                    "number {number} counts {:#x}, its inputs make it {:#x}",
                    values[number], expected[number]
                ));
            }
        }
        Ok(())
    }
}

/// A move's place in the phase's list of the role's moves.
pub(in crate::machine) fn place_of(role: &RoleLayout, mv: MoveId) -> Option<u32> {
    role.moves.binary_search(&mv).ok().map(|place| place as u32)
}
