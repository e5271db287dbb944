//! Expansion: as many positions at once as a vector has bits.
//!
//! States and moves go into the lanes, a step is made where one is wanted, and what the lanes then stand on is looked at, all with
//! the same two programs. Words of states and bits of lanes are each other's rows and columns, so they change places by squares of
//! 64 times 64.
//!
//! Invariants: between calls no slot of a move is on in any lane. What one lane is asked says nothing about another's answer.
//!
//! Never knows: trees, threads, networks.

use std::sync::Arc;

use super::code::Code;
use super::compile::{ExpanderPrograms, LegalPlaces};
use super::interpret::Features;
use super::memory::{Memory, Side, Vector};
use super::transpose::transpose;
use crate::ids::{Id, IdVec, MoveId, RoleId};
use crate::machine::{Expander, Positions, Step};

/// Where goals are told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goals {
    /// Where the game is over, as search wants it.
    AtEnds,
    /// In every position, for a reasoner that may be asked for them anywhere.
    Everywhere,
}

/// A game made ready for expanders of one width on one processor.
#[derive(Debug)]
pub struct Layout {
    features: Features,
    n_words: usize,
    step: Code,
    look: Code,
    moves: IdVec<MoveId, Option<u32>>,
    terminal: usize,
    /// One entry per role.
    legal: Vec<LegalPlaces>,
    goals: Vec<(RoleId, u8, u32)>,
    n_slots: usize,
    n_bases: usize,
}

impl Layout {
    /// Makes programs ready for vectors of `n_words` words: 4 or 8.
    pub fn new(programs: ExpanderPrograms, features: Features, n_words: usize) -> Self {
        let n_words = if n_words == 4 { 4 } else { 8 };
        let n_bases = programs.n_bases;
        let step = Code::new(&programs.step, features, n_words, n_bases);
        let look = Code::new(&programs.look, features, n_words, n_bases);
        let n_named = programs.n_slots as usize;
        Self {
            features,
            n_words,
            n_slots: n_named.max(step.n_slots()).max(look.n_slots()),
            step,
            look,
            moves: programs.moves,
            terminal: programs.terminal as usize,
            legal: programs.legal,
            goals: programs.goals,
            n_bases,
        }
    }

    /// Positions that cost as much as one.
    pub fn width(&self) -> usize {
        64 * self.n_words
    }

    /// Words of a state.
    pub fn state_words(&self) -> usize {
        self.n_bases.div_ceil(64).max(1)
    }

    /// A new expander.
    pub fn expander(self: &Arc<Self>, goals: Goals) -> Box<dyn Expander> {
        let layout = Arc::clone(self);
        match self.n_words {
            4 => Box::new(Lanes::<4>::new(layout, goals)),
            _ => Box::new(Lanes::<8>::new(layout, goals)),
        }
    }
}

/// One thread's lanes.
#[derive(Debug)]
struct Lanes<const N: usize> {
    layout: Arc<Layout>,
    goals: Goals,
    memory: Memory<N>,
    /// Slots of moves that are on in some lane.
    made: Vec<usize>,
    /// For 64 lanes, the legal moves of each role as bits: 64 words for each 64 moves, a word a lane.
    legal: Vec<[u64; 64]>,
}

impl<const N: usize> Lanes<N> {
    fn new(layout: Arc<Layout>, goals: Goals) -> Self {
        let n_squares = layout
            .legal
            .iter()
            .map(|role| role.moves.len().div_ceil(64));
        Self {
            memory: Memory::new(layout.n_bases, layout.n_slots),
            made: Vec::new(),
            legal: vec![[0; 64]; n_squares.sum()],
            goals,
            layout,
        }
    }

    /// Looks at no more positions than there are lanes, and adds what they are like.
    #[inline(always)]
    fn expand_batch(&mut self, steps: &[Step<'_>], with_legal: bool, positions: &mut Positions) {
        let layout = Arc::clone(&self.layout);
        self.scatter_states(steps);
        let moving = self.scatter_moves(steps);
        let mut side = Side::Even;
        if moving.iter().any(|&word| word != 0) {
            layout.step.run(&mut self.memory, side);
            self.keep_still(&moving);
            side = Side::Odd;
            for slot in self.made.drain(..) {
                self.memory.slots()[slot] = [0; N];
            }
        }
        layout.look.run(&mut self.memory, side);
        for (word, group) in steps.chunks(64).enumerate() {
            self.gather_states(side, word, group.len(), positions);
            self.gather_answers(word, group.len(), positions);
            if with_legal {
                self.gather_legal(word, group.len(), positions);
            }
        }
    }

    /// Puts the states into the lanes. Lanes that are not needed keep what they had.
    #[inline(always)]
    fn scatter_states(&mut self, steps: &[Step<'_>]) {
        let now = self.memory.now(Side::Even);
        for (word, group) in steps.chunks(64).enumerate() {
            for (index, vectors) in now.chunks_mut(64).enumerate() {
                let mut square = [0; 64];
                for (row, step) in square.iter_mut().zip(group) {
                    *row = step.state.get(index).copied().unwrap_or(0);
                }
                transpose(&mut square);
                for (vector, bits) in vectors.iter_mut().zip(square) {
                    vector[word] = bits;
                }
            }
        }
    }

    /// Puts the moves into their slots, and returns the lanes in which any are made.
    #[inline(always)]
    fn scatter_moves(&mut self, steps: &[Step<'_>]) -> Vector<N> {
        let slots = self.memory.slots();
        let mut moving = [0u64; N];
        for (lane, step) in steps.iter().enumerate() {
            let Some(joint_move) = step.joint_move else {
                continue;
            };
            let (word, bit) = (lane / 64, 1 << (lane % 64));
            moving[word] |= bit;
            for &mv in joint_move {
                if let Some(&Some(slot)) = self.layout.moves.get(mv) {
                    slots[slot as usize][word] |= bit;
                    self.made.push(slot as usize);
                }
            }
        }
        moving
    }

    /// Lanes without a move stay where they are.
    #[inline(always)]
    fn keep_still(&mut self, moving: &Vector<N>) {
        if moving.iter().all(|&word| word == u64::MAX) {
            return;
        }
        let n_bases = self.layout.n_bases;
        let (now, rest) = self.memory.all().split_at_mut(n_bases);
        for (now, next) in now.iter().zip(&mut rest[..n_bases]) {
            for word in 0..N {
                next[word] = next[word] & moving[word] | now[word] & !moving[word];
            }
        }
    }

    /// Reads the states of the first `count` of 64 lanes.
    #[inline(always)]
    fn gather_states(&mut self, side: Side, word: usize, count: usize, positions: &mut Positions) {
        let n_words = self.layout.state_words();
        let start = positions.states.len();
        positions.states.resize(start + count * n_words, 0);
        let ends = (1..=count).map(|lane| (start + lane * n_words) as u32);
        positions.state_ends.extend(ends);
        for (index, vectors) in self.memory.now(side).chunks(64).enumerate() {
            let square = square_of(vectors, word);
            let states = positions.states[start..].chunks_exact_mut(n_words);
            for (state, bits) in states.zip(square) {
                state[index] = bits;
            }
        }
    }

    /// Reads what the first `count` of 64 lanes are like.
    #[inline(always)]
    fn gather_answers(&mut self, word: usize, count: usize, positions: &mut Positions) {
        let layout = &*self.layout;
        let slots = &*self.memory.slots();
        let terminal = slots[layout.terminal][word];
        let is_terminal = (0..count).map(|lane| terminal >> lane & 1 == 1);
        positions.terminal.extend(is_terminal);

        let n_roles = layout.legal.len();
        let start = positions.goals.len();
        positions.goals.resize(start + count * n_roles, None);
        let mut lanes_read = u64::MAX >> (64 - count);
        if self.goals == Goals::AtEnds {
            lanes_read &= terminal;
        }
        for &(role, value, slot) in &layout.goals {
            let mut lanes = slots[slot as usize][word] & lanes_read;
            while lanes != 0 {
                let lane = lanes.trailing_zeros() as usize;
                lanes &= lanes - 1;
                positions.goals[start + lane * n_roles + role.index()] = Some(value);
            }
        }
    }

    /// Reads the legal moves of the first `count` of 64 lanes.
    #[inline(always)]
    fn gather_legal(&mut self, word: usize, count: usize, positions: &mut Positions) {
        let layout = &*self.layout;
        let slots = &*self.memory.slots();
        let mut squares = self.legal.iter_mut();
        for role in &layout.legal {
            let first = role.first as usize;
            let vectors = &slots[first..first + role.moves.len()];
            for (vectors, square) in vectors.chunks(64).zip(&mut squares) {
                *square = square_of(vectors, word);
            }
        }
        for lane in 0..count {
            let mut squares = self.legal.iter();
            for role in &layout.legal {
                for (moves, square) in role.moves.chunks(64).zip(&mut squares) {
                    let mut legal = square[lane];
                    while legal != 0 {
                        positions.legal.push(moves[legal.trailing_zeros() as usize]);
                        legal &= legal - 1;
                    }
                }
                positions.legal_ends.push(positions.legal.len() as u32);
            }
        }
    }
}

/// What up to 64 vectors have in 64 lanes: a word for each lane.
#[inline(always)]
fn square_of<const N: usize>(vectors: &[Vector<N>], word: usize) -> [u64; 64] {
    let mut square = [0; 64];
    let mut any = 0;
    for (row, vector) in square.iter_mut().zip(vectors) {
        *row = vector[word];
        any |= *row;
    }
    if any != 0 {
        transpose(&mut square);
    }
    square
}

/// Compiles a batch for what the processor has.
macro_rules! batch_with {
    ($name:ident, $features:literal) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        fn $name<const N: usize>(
            lanes: &mut Lanes<N>,
            steps: &[Step<'_>],
            with_legal: bool,
            positions: &mut Positions,
        ) {
            lanes.expand_batch(steps, with_legal, positions);
        }
    };
}
batch_with!(
    batch_avx512,
    "avx512f,avx512vl,avx512bw,avx512dq,avx2,bmi1,bmi2,popcnt,lzcnt"
);
batch_with!(batch_avx2, "avx2,popcnt");

impl<const N: usize> Expander for Lanes<N> {
    fn width(&self) -> usize {
        64 * N
    }

    fn expand(&mut self, steps: &[Step<'_>], with_legal: bool, positions: &mut Positions) {
        positions.clear(self.layout.legal.len());
        for batch in steps.chunks(64 * N) {
            match self.layout.features {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: these features were seen on this processor, or the layout would not name them.
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
