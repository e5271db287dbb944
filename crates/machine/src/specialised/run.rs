//! One thread's play of a specialised game: drawing moves and computing next states.

use super::bits::{nth_bit, top_bits};
use super::layout::{Effects, NO_ROW, PhaseLayout, RoleLayout, SpecialisedLayout};
use super::values::SpecialisedCounters;
use panza_gdl::{Id, MoveId};
use panza_sync::Random;

/// How playing in phases ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stopped {
    /// The game is over, or a role has no legal move.
    Finished,
    /// All steps were made.
    CutOff,
    /// The state belongs to no phase; [`SpecialisedCounters::computed_next`] is that state, and the
    /// values are those of the state before.
    Outside,
}

impl SpecialisedCounters {
    /// Calls `visit` with the role's legal moves, as indices of the phase's list of its moves.
    pub(crate) fn for_each_legal(&self, role: &RoleLayout, mut visit: impl FnMut(usize)) {
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
        top_bits(&self.lines[role.row as usize / 64 + row].0)
    }

    pub(crate) fn is_legal(&self, role: &RoleLayout, index: usize) -> bool {
        role.row == NO_ROW || self.values()[role.row as usize + index] & 0x80 != 0
    }

    /// Draws a legal move, of several the n-th in rising order for a random n. `None` when there is
    /// none.
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

    #[inline(always)]
    fn compute_next(&mut self, layout: &SpecialisedLayout, phase: &PhaseLayout) {
        let mut len = 0;
        for (index, role) in phase.roles.iter().enumerate() {
            if role.is_propagated {
                len = self.make(layout, index, role, len);
            }
        }
        if len != 0 {
            self.settle(layout, len);
        }
        for (word, from) in phase.next.iter().enumerate() {
            let mut next = self.state[word] & from.keep | from.set;
            if from.row != NO_ROW {
                next |= top_bits(&self.lines[from.row as usize / 64].0);
            }
            self.next[word] = next;
        }
        self.begin_evaluation();
        for &keys in phase.clearing.iter().chain(&phase.setting) {
            let mut on = keys.mask
                & match keys.row {
                    NO_ROW => self.state[keys.word as usize],
                    row => top_bits(&self.lines[row as usize / 64].0),
                };
            while on != 0 {
                let below = (on & on.wrapping_neg()) - 1;
                let key = keys.first + (keys.mask & below).count_ones();
                on &= on - 1;
                self.apply(layout, layout.effects.keyed[key as usize]);
            }
        }
        for (index, role) in phase.roles.iter().enumerate() {
            let Some(effects) = role.effects.get(self.drawn[index] as usize) else {
                continue;
            };
            self.apply(layout, *effects);
        }
    }

    #[inline(always)]
    fn apply(&mut self, layout: &SpecialisedLayout, effects: Effects) {
        for mask in &layout.effects.masks[effects.masks.0 as usize..effects.masks.1 as usize] {
            let word = &mut self.next[mask.word as usize];
            *word = *word & mask.keep | mask.set;
        }
        for &(base, operand) in
            &layout.effects.bits[effects.bits.0 as usize..effects.bits.1 as usize]
        {
            let bit = u64::from(self.read(layout, operand));
            self.next[base.index() / 64] |= bit << (base.0 % 64);
        }
        for copies in &layout.effects.copies[effects.copies.0 as usize..effects.copies.1 as usize] {
            let mut on = self.state[copies.word as usize] & copies.mask;
            while on != 0 {
                let below = (on & on.wrapping_neg()) - 1;
                let target = copies.first + (copies.mask & below).count_ones();
                on &= on - 1;
                let base = layout.effects.targets[target as usize];
                self.next[base.index() / 64] |= 1 << (base.0 % 64);
            }
        }
    }

    /// Turns the drawn move's value on, and the one made before off.
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

    /// The state after a joint move, given by each role's index in its list of moves.
    pub(crate) fn next_state(
        &mut self,
        layout: &SpecialisedLayout,
        phase: &PhaseLayout,
        indices: &[u32],
    ) -> &[u64] {
        self.drawn
            .iter_mut()
            .zip(indices)
            .for_each(|(drawn, &index)| *drawn = index);
        self.compute_next(layout, phase);
        &self.next
    }

    /// Plays random moves as long as the state has a phase. `steps` counts up to `max_steps`;
    /// `phase` is the phase of the current state.
    #[inline(always)]
    pub(crate) fn play<const BMI2: bool>(
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
            for (index_of_role, role) in here.roles.iter().enumerate() {
                match self.draw::<BMI2>(role, random) {
                    Some(index) => self.drawn[index_of_role] = index,
                    None => return Stopped::Finished,
                }
            }
            if *steps == max_steps {
                return Stopped::CutOff;
            }
            *steps += 1;
            self.compute_next(layout, here);
            let Some(next_phase) = phase_of(&self.next) else {
                return Stopped::Outside;
            };
            *phase = next_phase;
            self.follow_next(layout);
        }
    }

    #[inline(always)]
    pub(crate) fn is_terminal(&mut self, layout: &SpecialisedLayout, phase: &PhaseLayout) -> bool {
        if phase.terminal.is_lazy() {
            self.begin_evaluation();
        }
        self.read(layout, phase.terminal)
    }

    pub(crate) fn computed_next(&self) -> &[u64] {
        &self.next
    }
}

/// A move's index in the phase's list of the role's moves.
pub(crate) fn move_index(role: &RoleLayout, mv: MoveId) -> Option<u32> {
    role.moves.binary_search(&mv).ok().map(|index| index as u32)
}
