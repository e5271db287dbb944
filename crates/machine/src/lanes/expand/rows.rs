//! Steps of many states in arrays of the caller.
//!
//! Invariant: rows are read and written a batch at a time, 64 lanes by 64 bits after another.

use super::*;
use crate::stepper::{NO_GOAL, NO_MOVE, RowSizes, StateRows, Stepper};

impl ExpanderLayout {
    /// A stepper for a new thread.
    pub fn stepper(self: &Arc<Self>) -> Box<dyn Stepper> {
        let layout = Arc::clone(self);
        match self.n_words {
            4 => Box::new(LanesExpander::<4>::new(layout, GoalScope::Terminal)),
            _ => Box::new(LanesExpander::<8>::new(layout, GoalScope::Terminal)),
        }
    }

    /// The sizes of rows.
    pub fn row_sizes(&self) -> RowSizes {
        RowSizes {
            n_roles: self.n_roles(),
            state_words: self.state_words(),
            legal_words: self.legal_words.len(),
        }
    }
}

impl<const N: usize> LanesExpander<N> {
    #[inline(always)]
    fn step_batch(&mut self, joint_moves: &[MoveId], rows: &mut StateRows<'_>) {
        let layout = Arc::clone(&self.layout);
        let (count, n_words) = (rows.len(), layout.state_words());
        let states = &*rows.states;
        self.scatter(count, |lane, index| states[lane * n_words + index]);
        let mut side = Side::Even;
        if !joint_moves.is_empty() {
            let n_roles = layout.n_roles();
            let joint_move = |lane: usize| {
                let moves = &joint_moves[lane * n_roles..(lane + 1) * n_roles];
                (moves[0] != NO_MOVE).then_some(moves)
            };
            if self.advance(count, joint_move) {
                side = Side::Odd;
            }
        }
        layout.end.run(&mut self.memory, side);
        layout.legal.run(&mut self.memory, side);
        let mut has_goals = used_lanes(count);
        let terminal = self.memory.slots()[layout.terminal];
        has_goals = both(&has_goals, &terminal);
        rows.goals.fill(NO_GOAL);
        if is_any(&has_goals) {
            layout.goals.run(&mut self.memory, side);
        }
        for word in 0..count.div_ceil(64) {
            let first = word * 64;
            let mut part = rows.part(layout.row_sizes(), first, 64);
            if side == Side::Odd {
                let (count, states) = (part.len(), &mut *part.states);
                self.gather(side, word, count, |lane, index, bits| {
                    states[lane * n_words + index] = bits;
                });
            }
            for (lane, is_terminal) in part.terminal.iter_mut().enumerate() {
                *is_terminal = terminal[word] >> lane & 1 == 1;
            }
            self.each_goal(word, has_goals[word], |lane, role, value| {
                part.goals[lane * layout.n_roles() + role.index()] = value;
            });
            self.gather_legal_bits(word, &mut part);
        }
    }

    #[inline(always)]
    fn gather_legal_bits(&mut self, word: usize, rows: &mut StateRows<'_>) {
        let layout = &*self.layout;
        let slots = &*self.memory.slots();
        let n_words = layout.legal_words.len();
        for (index, moves) in layout.legal_words.iter().enumerate() {
            if rows.len() <= 8 {
                let mut columns = [0; 64];
                for &(bit, slot) in moves {
                    columns[usize::from(bit) & 63] = slots[slot as usize][word] as u8;
                }
                let turned = rows_of_8(columns);
                for (lane, row) in rows.legal.chunks_exact_mut(n_words).enumerate() {
                    row[index] = turned[lane & 7];
                }
            } else {
                let mut square = [0; 64];
                for &(bit, slot) in moves {
                    square[usize::from(bit) & 63] = slots[slot as usize][word];
                }
                transpose(&mut square);
                for (lane, row) in rows.legal.chunks_exact_mut(n_words).enumerate() {
                    row[index] = square[lane & 63];
                }
            }
        }
    }
}

/// Compiles the steps of a batch for a set of processor features.
macro_rules! step_with {
    ($name:ident, $features:literal) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        fn $name<const N: usize>(
            lanes: &mut LanesExpander<N>,
            joint_moves: &[MoveId],
            rows: &mut StateRows<'_>,
        ) {
            lanes.step_batch(joint_moves, rows);
        }
    };
}
step_with!(step_avx512, "avx2,bmi1,bmi2,popcnt,lzcnt");
step_with!(step_avx2, "avx2,popcnt");

impl<const N: usize> Stepper for LanesExpander<N> {
    fn sizes(&self) -> RowSizes {
        self.layout.row_sizes()
    }

    fn width(&self) -> usize {
        64 * N
    }

    fn step(&mut self, joint_moves: &[MoveId], mut rows: StateRows<'_>) {
        let sizes = self.layout.row_sizes();
        rows.check(sizes, joint_moves);
        for start in (0..rows.len()).step_by(64 * N) {
            let mut rows = rows.part(sizes, start, 64 * N);
            let moves = start * sizes.n_roles..(start + rows.len()) * sizes.n_roles;
            let joint_moves = joint_moves.get(moves).unwrap_or_default();
            match self.layout.features {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: this processor has the features; `Features::detect` bounds those that a
                // layout names.
                Features::Avx512 => unsafe { step_avx512(self, joint_moves, &mut rows) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: as above.
                Features::Avx2 => unsafe { step_avx2(self, joint_moves, &mut rows) },
                _ => self.step_batch(joint_moves, &mut rows),
            }
        }
    }
}
