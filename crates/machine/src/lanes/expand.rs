//! Bit-parallel expansion: as many positions at once as a vector has bits.
//!
//! The programs compute the next states and evaluate them in all lanes. Words of states are
//! transposed to lane vectors and back, in squares of 64 by 64 bits, or 8 lanes where a batch has
//! no more. That costs more than the programs, so a caller pays for what it requests. The children
//! of one state share its words, which are not transposed.
//!
//! Invariants: between calls no slot of a move is on in any lane. Lanes do not influence each
//! other.
//!
//! Never uses: trees, threads, networks.

mod rows;
mod run;

use std::sync::Arc;

pub use run::Runner;

use super::code::Code;
use super::compile::{ExpanderPrograms, LegalSlots};
use super::interpret::Features;
use super::memory::{Memory, Side, Vector, both, combine};
use super::rank::is_any;
use super::transpose::{columns_of_8, rows_of_8, transpose};
use crate::stepper::RowSizes;
use crate::{Expander, ExpansionStep, PositionBatch};
use panza_gdl::{Id, IdVec, MoveId, RoleId};

/// The positions whose goals are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GoalScope {
    /// Terminal positions, as search needs them.
    Terminal,
    /// All positions, for a reasoner.
    All,
}

/// A game compiled for expanders of one width on one processor.
#[derive(Debug)]
pub struct ExpanderLayout {
    features: Features,
    n_words: usize,
    step: Code,
    end: Code,
    legal: Code,
    goals: Code,
    moves: IdVec<MoveId, Option<u32>>,
    /// Slots of moves: these, from the first on.
    n_made: usize,
    terminal: usize,
    legal_slots: Vec<LegalSlots>,
    /// For each 64 moves, by their numbers: the bit and the slot of those that can be legal.
    legal_words: Vec<Vec<(u8, u32)>>,
    goal_slots: Vec<(RoleId, u8, u32)>,
    n_slots: usize,
    n_bases: usize,
}

impl ExpanderLayout {
    /// Compiles programs for vectors of `n_words` words: 4 or 8.
    pub fn new(programs: ExpanderPrograms, features: Features, n_words: usize) -> Self {
        let n_words = if n_words == 4 { 4 } else { 8 };
        let n_bases = programs.n_bases;
        let code = |piece| Code::new(piece, features, n_words, n_bases);
        let [step, end, legal, goals] = [
            code(&programs.step),
            code(&programs.end),
            code(&programs.legal),
            code(&programs.goals),
        ];
        let n_slots = [&step, &end, &legal, &goals].map(Code::n_slots);
        let n_named = programs.n_slots as usize;
        let n_legal_words = RowSizes::legal_words_of(programs.moves.len());
        let mut legal_words = vec![Vec::new(); n_legal_words];
        for role in &programs.legal_slots {
            for (mv, slot) in role.moves.iter().zip(role.first..) {
                legal_words[mv.index() / 64].push(((mv.index() % 64) as u8, slot));
            }
        }
        Self {
            features,
            n_words,
            n_slots: n_slots.into_iter().fold(n_named, usize::max),
            step,
            end,
            legal,
            goals,
            moves: programs.moves,
            n_made: programs.n_made as usize,
            terminal: programs.terminal as usize,
            legal_slots: programs.legal_slots,
            legal_words,
            goal_slots: programs.goal_slots,
            n_bases,
        }
    }

    /// The lanes of an expander.
    pub fn width(&self) -> usize {
        64 * self.n_words
    }

    /// Words of a state.
    pub fn state_words(&self) -> usize {
        self.n_bases.div_ceil(64).max(1)
    }

    fn n_roles(&self) -> usize {
        self.legal_slots.len()
    }

    /// A new expander.
    pub fn expander(self: &Arc<Self>, goals: GoalScope) -> Box<dyn Expander> {
        let layout = Arc::clone(self);
        match self.n_words {
            4 => Box::new(LanesExpander::<4>::new(layout, goals)),
            _ => Box::new(LanesExpander::<8>::new(layout, goals)),
        }
    }
}

#[derive(Debug)]
struct LanesExpander<const N: usize> {
    layout: Arc<ExpanderLayout>,
    goals: GoalScope,
    memory: Memory<N>,
    /// For 64 lanes, each role's legal moves as bits: one word per lane for each 64 moves.
    legal: Vec<[u64; 64]>,
}

impl<const N: usize> LanesExpander<N> {
    fn new(layout: Arc<ExpanderLayout>, goals: GoalScope) -> Self {
        let n_squares = layout
            .legal_slots
            .iter()
            .map(|role| role.moves.len().div_ceil(64));
        Self {
            memory: Memory::new(layout.n_bases, layout.n_slots),
            legal: vec![[0; 64]; n_squares.sum()],
            goals,
            layout,
        }
    }

    #[inline(always)]
    fn expand_batch(
        &mut self,
        steps: &[ExpansionStep<'_>],
        with_legal: bool,
        positions: &mut PositionBatch,
    ) {
        let layout = Arc::clone(&self.layout);
        self.scatter_states(steps);
        let side = match self.advance(steps.len(), |lane| steps[lane].joint_move) {
            true => Side::Odd,
            false => Side::Even,
        };
        layout.end.run(&mut self.memory, side);
        if with_legal {
            layout.legal.run(&mut self.memory, side);
        }
        let mut has_goals = used_lanes(steps.len());
        let terminal = self.memory.slots()[layout.terminal];
        if self.goals == GoalScope::Terminal {
            has_goals = both(&has_goals, &terminal);
        }
        if is_any(&has_goals) {
            layout.goals.run(&mut self.memory, side);
        }
        for (word, group) in steps.chunks(64).enumerate() {
            let count = group.len();
            self.gather_states(side, word, count, positions);
            let is_terminal = (0..count).map(|lane| terminal[word] >> lane & 1 == 1);
            positions.terminal.extend(is_terminal);
            self.gather_goals(word, count, has_goals[word], positions);
            if with_legal {
                self.gather_legal(word, count, positions);
            }
        }
    }

    /// Transposes the states into the lanes; unused lanes get the empty state, and short states are
    /// padded with 0.
    #[inline(always)]
    fn scatter_states(&mut self, steps: &[ExpansionStep<'_>]) {
        if let [first, others @ ..] = steps
            && (others.iter()).all(|step| std::ptr::eq(step.state, first.state))
        {
            self.scatter_one(steps.len(), first.state);
            return;
        }
        self.scatter(steps.len(), |lane, index| {
            steps[lane].state.get(index).copied().unwrap_or(0)
        });
    }

    /// The same for `count` times the same state, which needs no transposition.
    #[inline(always)]
    fn scatter_one(&mut self, count: usize, state: &[u64]) {
        let used = used_lanes(count);
        let now = self.memory.now(Side::Even);
        for (index, vectors) in now.chunks_mut(64).enumerate() {
            let mut bits = state.get(index).copied().unwrap_or(0);
            for vector in vectors {
                let all = 0u64.wrapping_sub(bits & 1);
                bits >>= 1;
                *vector = both(&used, &[all; N]);
            }
        }
    }

    /// As [`scatter_states`](Self::scatter_states) of `count` states whose words `word_of` gives by
    /// their lane and place.
    #[inline(always)]
    fn scatter(&mut self, count: usize, word_of: impl Fn(usize, usize) -> u64) {
        let now = self.memory.now(Side::Even);
        for word in 0..count.div_ceil(64) {
            let first = word * 64;
            let group = first..count.min(first + 64);
            for (index, vectors) in now.chunks_mut(64).enumerate() {
                let rows = group.clone().map(|lane| word_of(lane, index));
                if group.len() <= 8 {
                    let mut square = [0; 8];
                    square.iter_mut().zip(rows).for_each(|(to, row)| *to = row);
                    let columns = columns_of_8(square);
                    for (column, vector) in vectors.iter_mut().enumerate() {
                        put(vector, word, u64::from(columns[column & 63]));
                    }
                } else {
                    let mut square = [0; 64];
                    square.iter_mut().zip(rows).for_each(|(to, row)| *to = row);
                    transpose(&mut square);
                    for (column, vector) in vectors.iter_mut().enumerate() {
                        put(vector, word, square[column & 63]);
                    }
                }
            }
        }
    }

    /// Computes the next states of `count` lanes in the other bank. Lanes without a joint move keep
    /// their state. False where no lane has one, and nothing was computed.
    #[inline(always)]
    fn advance<'a>(
        &mut self,
        count: usize,
        joint_move: impl Fn(usize) -> Option<&'a [MoveId]>,
    ) -> bool {
        let (moving, still) = self.scatter_moves(count, &joint_move);
        if !is_any(&moving) {
            return false;
        }
        let layout = Arc::clone(&self.layout);
        layout.step.run(&mut self.memory, Side::Even);
        if is_any(&still) {
            self.keep_still(&still);
        }
        self.clear_moves(count, joint_move);
        true
    }

    /// Sets the slots of moves, and returns the lanes with a joint move and those without.
    #[inline(always)]
    fn scatter_moves<'a>(
        &mut self,
        count: usize,
        joint_move: impl Fn(usize) -> Option<&'a [MoveId]>,
    ) -> (Vector<N>, Vector<N>) {
        let slots = self.memory.slots();
        let (mut moving, mut still) = ([0u64; N], [0u64; N]);
        for lane in 0..count {
            let (word, bit) = (lane / 64, 1 << (lane % 64));
            let Some(joint_move) = joint_move(lane) else {
                still[word] |= bit;
                continue;
            };
            moving[word] |= bit;
            for &mv in joint_move {
                if let Some(&Some(slot)) = self.layout.moves.get(mv) {
                    slots[slot as usize][word] |= bit;
                }
            }
        }
        (moving, still)
    }

    #[inline(always)]
    fn clear_moves<'a>(
        &mut self,
        count: usize,
        joint_move: impl Fn(usize) -> Option<&'a [MoveId]>,
    ) {
        let layout = &*self.layout;
        let slots = self.memory.slots();
        if count * layout.n_roles() >= layout.n_made {
            slots[..layout.n_made].fill([0; N]);
            return;
        }
        for &mv in (0..count).filter_map(joint_move).flatten() {
            if let Some(&Some(slot)) = layout.moves.get(mv) {
                slots[slot as usize] = [0; N];
            }
        }
    }

    /// Copies the current state to the next one in lanes without a joint move.
    #[inline(always)]
    fn keep_still(&mut self, still: &Vector<N>) {
        let n_bases = self.layout.n_bases;
        let (now, rest) = self.memory.all().split_at_mut(n_bases);
        for (now, next) in now.iter().zip(&mut rest[..n_bases]) {
            *next = combine(*now, *next, *still, |now, next, still| {
                now & still | next & !still
            });
        }
    }

    #[inline(always)]
    fn gather_states(
        &mut self,
        side: Side,
        word: usize,
        count: usize,
        positions: &mut PositionBatch,
    ) {
        let n_words = self.layout.state_words();
        let start = positions.states.len();
        positions.states.resize(start + count * n_words, 0);
        let ends = (1..=count).map(|lane| (start + lane * n_words) as u32);
        positions.state_ends.extend(ends);
        let states = &mut positions.states[start..];
        self.gather(side, word, count, |lane, index, bits| {
            states[lane * n_words + index] = bits;
        });
    }

    /// Hands each word of the first `count` of 64 states to `put`, by its lane and place.
    #[inline(always)]
    fn gather(
        &mut self,
        side: Side,
        word: usize,
        count: usize,
        mut put: impl FnMut(usize, usize, u64),
    ) {
        for (index, vectors) in self.memory.now(side).chunks(64).enumerate() {
            if count <= 8 {
                let rows = rows_of(vectors, word);
                (0..count).for_each(|lane| put(lane, index, rows[lane & 7]));
            } else {
                let mut square = [0; 64];
                fill_square(&mut square, vectors, word);
                (0..count).for_each(|lane| put(lane, index, square[lane & 63]));
            }
        }
    }

    /// Reads the goals of the first `count` of 64 lanes, where `has_goals` is on.
    #[inline(always)]
    fn gather_goals(
        &mut self,
        word: usize,
        count: usize,
        has_goals: u64,
        positions: &mut PositionBatch,
    ) {
        let n_roles = self.layout.n_roles();
        let start = positions.goals.len();
        positions.goals.resize(start + count * n_roles, None);
        self.each_goal(word, has_goals, |lane, role, value| {
            positions.goals[start + lane * n_roles + role.index()] = Some(value);
        });
    }

    /// Hands each goal of 64 lanes to `put` where `has_goals` is on, by its lane and role.
    #[inline(always)]
    fn each_goal(&mut self, word: usize, has_goals: u64, mut put: impl FnMut(usize, RoleId, u8)) {
        if has_goals == 0 {
            return;
        }
        let slots = &*self.memory.slots();
        for &(role, value, slot) in &self.layout.goal_slots {
            let mut lanes = slots[slot as usize][word] & has_goals;
            while lanes != 0 {
                let lane = lanes.trailing_zeros() as usize;
                lanes &= lanes - 1;
                put(lane, role, value);
            }
        }
    }

    #[inline(always)]
    fn gather_legal(&mut self, word: usize, count: usize, positions: &mut PositionBatch) {
        let layout = &*self.layout;
        let slots = &*self.memory.slots();
        let mut squares = self.legal.iter_mut();
        for role in &layout.legal_slots {
            let first = role.first as usize;
            let vectors = &slots[first..first + role.moves.len()];
            for (vectors, square) in vectors.chunks(64).zip(&mut squares) {
                if count <= 8 {
                    square[..8].copy_from_slice(&rows_of(vectors, word));
                } else {
                    fill_square(square, vectors, word);
                }
            }
        }
        let n_legal = self.legal.iter().flat_map(|square| &square[..count]);
        let n_legal: u32 = n_legal.map(|bits| bits.count_ones()).sum();
        let mut end = positions.legal.len();
        positions.legal.resize(end + n_legal as usize, MoveId(0));
        for lane in 0..count {
            let mut squares = self.legal.iter();
            for role in &layout.legal_slots {
                for (moves, square) in role.moves.chunks(64).zip(&mut squares) {
                    let mut legal = square[lane];
                    while legal != 0 {
                        positions.legal[end] = moves[legal.trailing_zeros() as usize];
                        end += 1;
                        legal &= legal - 1;
                    }
                }
                positions.legal_ends.push(end as u32);
            }
        }
    }
}

#[inline(always)]
fn put<const N: usize>(vector: &mut Vector<N>, word: usize, bits: u64) {
    if word == 0 {
        *vector = [0; N];
    }
    vector[word] = bits;
}

/// The first `count` lanes.
fn used_lanes<const N: usize>(count: usize) -> Vector<N> {
    std::array::from_fn(|word| match count.saturating_sub(word * 64) {
        0 => 0,
        left => u64::MAX >> (64 - left.min(64)),
    })
}

#[inline(always)]
fn fill_square<const N: usize>(square: &mut [u64; 64], vectors: &[Vector<N>], word: usize) {
    let mut any = 0;
    for (column, vector) in vectors.iter().enumerate() {
        let bits = vector[word];
        square[column & 63] = bits;
        any |= bits;
    }
    square[vectors.len().min(64)..].fill(0);
    if any != 0 {
        transpose(square);
    }
}

/// Transposes up to 64 vectors in the first 8 of 64 lanes to a word per lane.
#[inline(always)]
fn rows_of<const N: usize>(vectors: &[Vector<N>], word: usize) -> [u64; 8] {
    let mut columns = [0; 64];
    for (column, vector) in vectors.iter().enumerate() {
        columns[column & 63] = vector[word] as u8;
    }
    rows_of_8(columns)
}

/// Compiles the expansion of a batch for a set of processor features.
macro_rules! batch_with {
    ($name:ident, $features:literal) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        fn $name<const N: usize>(
            lanes: &mut LanesExpander<N>,
            steps: &[ExpansionStep<'_>],
            with_legal: bool,
            positions: &mut PositionBatch,
        ) {
            lanes.expand_batch(steps, with_legal, positions);
        }
    };
}
// 256-bit vectors: with 512 bits, the compiled transposition takes three times as long.
batch_with!(batch_avx512, "avx2,bmi1,bmi2,popcnt,lzcnt");
batch_with!(batch_avx2, "avx2,popcnt");

impl<const N: usize> Expander for LanesExpander<N> {
    fn width(&self) -> usize {
        64 * N
    }

    fn expand(
        &mut self,
        steps: &[ExpansionStep<'_>],
        with_legal: bool,
        positions: &mut PositionBatch,
    ) {
        positions.clear(self.layout.n_roles());
        for batch in steps.chunks(64 * N) {
            match self.layout.features {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: this processor has the features; `Features::detect` bounds those that a
                // layout names.
                Features::Avx512 => unsafe { batch_avx512(self, batch, with_legal, positions) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: as above.
                Features::Avx2 => unsafe { batch_avx2(self, batch, with_legal, positions) },
                _ => self.expand_batch(batch, with_legal, positions),
            }
        }
    }
}

#[cfg(test)]
mod tests;
