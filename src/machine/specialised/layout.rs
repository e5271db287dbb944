//! An specialised network as flat arrays: what the engine runs on.
//!
//! Everything with a value is one byte of one array: bases, those moves that are propagated, gates,
//! and leaves. The top bit is the value. The seven bits above the lowest count a gate's inputs, in
//! steps of two; the lowest says what value the users were last told. Leaves, which nothing but the
//! engine reads, stand in rows of 64, so that 64 values are taken at once: one row or more per role
//! and phase for the legal moves, one per state word for the next state.
//!
//! A gate that only effects or goals need is not kept up to date; it is pulled when asked for.
//!
//! Invariants: a counted gate has no more inputs than seven bits count; numbers below `n_followed`
//! are bases, moves and gates, above are leaves, which have no users; every edge leads to a number
//! of the array; pulled gates are only so deep that recursion may follow them. `compile` sees to
//! all of it.

mod compile;
mod effects;
mod pull;

use crate::ids::{BaseId, IdVec, MoveId, RoleId};
use crate::propnet::SpecialisedGame;

/// No row.
pub(in crate::machine) const NO_ROW: u32 = u32::MAX;

/// Something to be read: a constant, a value of the array, or a pulled gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::machine) struct Operand(u32);

impl Operand {
    const INVERTED: u32 = 1;
    const PULLED: u32 = 2;
    const FLAT: u32 = 4;

    fn value(number: u32, is_inverted: bool) -> Self {
        Self(number << 3 | u32::from(is_inverted))
    }

    /// A pulled gate; `is_flat` when values are all that it reads.
    fn pulled(number: u32, is_flat: bool, is_inverted: bool) -> Self {
        let flat = if is_flat { Self::FLAT } else { 0 };
        Self(number << 3 | flat | Self::PULLED | u32::from(is_inverted))
    }

    #[inline]
    pub(in crate::machine) fn is_pulled(self) -> bool {
        self.0 & Self::PULLED != 0
    }

    #[inline]
    pub(in crate::machine) fn number(self) -> u32 {
        self.0 >> 3
    }

    /// Whether it is a pulled gate that reads nothing but values.
    #[inline]
    pub(in crate::machine) fn is_flat(self) -> bool {
        self.0 & Self::FLAT != 0
    }

    /// 1 when the value is to be inverted.
    #[inline]
    pub(in crate::machine) fn inversion(self) -> u8 {
        (self.0 & Self::INVERTED) as u8
    }
}

/// What the next state takes from where, for one word.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct NextWord {
    /// Bases that stay as they are.
    pub keep: u64,
    /// Bases that are true.
    pub set: u64,
    /// The row of leaves for the others, or [`NO_ROW`].
    pub row: u32,
}

/// What a move or key does: runs of `masks`, `bits` and `copies`.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct Effects {
    pub masks: (u32, u32),
    pub bits: (u32, u32),
    pub copies: (u32, u32),
}

/// Bases of one word each of which, if it is true, makes another true in the next state:
/// `targets[first]` for the lowest of them, and so on.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct Copies {
    pub word: u32,
    pub mask: u64,
    pub first: u32,
}

/// Where a number's users start in the edge array, and where, from there, those of them start that
/// are leaves. They end where the next number's start.
#[derive(Clone, Copy, Default, Debug)]
pub(in crate::machine) struct Users {
    pub start: u32,
    pub leaves: u32,
}

/// A gate that is worked out when it is asked for: on when all its operands are. They are in a run
/// of `operands` and, where there are many, in a run of `guarded`.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct Pulled {
    pub operands: (u32, u32),
    pub guarded: (u32, u32),
}

/// Bases of one word each of which, if it is true, calls for a look at `guarded_operands[first]`
/// for the lowest, and so on.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct Guarded {
    pub word: u32,
    pub mask: u64,
    pub first: u32,
}

/// Gates of equal fan-in that are worked out one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::machine) struct Run {
    pub fan_in: u32,
    pub n_gates: u32,
}

/// All that the goals of a phase need and nothing keeps up to date, worked out from front to back
/// without a branch that hangs on a value. Where there is much of it, that is faster than to ask
/// for what is needed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::machine) struct GoalPass {
    pub runs: Vec<Run>,
    /// `2·number + inverted`, run after run.
    pub operands: Vec<u32>,
    /// The number of the first gate's value; the others follow.
    pub first: u32,
}

/// The bases of one state word that a move decides.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct Mask {
    pub word: u32,
    pub keep: u64,
    pub set: u64,
}

/// Up to 64 keys of one word or row.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct KeyWord {
    /// The state's word, when `row` is [`NO_ROW`].
    pub word: u32,
    /// The row of leaves.
    pub row: u32,
    /// Which of the bits are keys.
    pub mask: u64,
    /// What the lowest key does is `keyed[first]`, and so on.
    pub first: u32,
}

/// One role in one phase.
#[derive(Clone, Debug)]
pub(in crate::machine) struct RoleLayout {
    /// The first of the rows that say which of `moves` are legal; none when there is just one and
    /// it always is.
    pub row: u32,
    /// How many rows.
    pub n_rows: u32,
    /// Moves that may be legal, rising.
    pub moves: Box<[MoveId]>,
    /// What each does.
    pub effects: Box<[Effects]>,
    /// The number of each move's value, or [`NO_ROW`].
    pub numbers: Box<[u32]>,
    /// Whether gates follow the role's moves, in this phase or another.
    pub is_followed: bool,
}

/// One phase.
#[derive(Clone, Debug)]
pub(in crate::machine) struct PhaseLayout {
    pub terminal: Operand,
    pub roles: IdVec<RoleId, RoleLayout>,
    pub next: Box<[NextWord]>,
    /// What clears bases while it is on, 64 keys at a time.
    pub clearing: Box<[KeyWord]>,
    /// What sets bases while it is on.
    pub setting: Box<[KeyWord]>,
    /// Per role, from the highest value down.
    pub goals: IdVec<RoleId, Box<[(u8, Operand)]>>,
    /// Which of the goal passes has to come before the goals are read.
    pub goal_pass: Option<usize>,
}

/// An specialised network, laid out. Never changes.
#[derive(Debug)]
pub struct SpecialisedLayout {
    pub(in crate::machine) n_bases: u32,
    pub(in crate::machine) n_followed: u32,
    /// Numbers below are bases' and moves'.
    pub(in crate::machine) first_gate: u32,
    /// The array with every base false and no move made.
    pub(in crate::machine) at_rest: Vec<u8>,
    /// Each followed number's users; one more for the end of the last.
    pub(in crate::machine) users: Vec<Users>,
    /// User and whether it takes the value inverted: `2·number + inverted`.
    pub(in crate::machine) edges: Vec<u32>,
    pub(in crate::machine) pulled: Vec<Pulled>,
    /// Of pulled gates, operands that are on unless a base is true, by that base.
    pub(in crate::machine) guarded: Vec<Guarded>,
    /// Runs of `operands`, per base of `guarded`.
    pub(in crate::machine) guarded_operands: Vec<(u32, u32)>,
    pub(in crate::machine) operands: Vec<Operand>,
    pub(in crate::machine) masks: Vec<Mask>,
    pub(in crate::machine) bits: Vec<(BaseId, Operand)>,
    /// What keys do.
    pub(in crate::machine) keyed: Vec<Effects>,
    pub(in crate::machine) copies: Vec<Copies>,
    pub(in crate::machine) targets: Vec<BaseId>,
    pub(in crate::machine) goal_passes: Vec<GoalPass>,
    /// Numbers from here on are the goal passes'.
    pub(in crate::machine) n_kept: u32,
    pub(in crate::machine) phases: Vec<PhaseLayout>,
}

impl SpecialisedLayout {
    /// Lays out an specialised network. Nothing when its pulled gates are too deep.
    pub fn compile(specialised: &SpecialisedGame) -> Option<SpecialisedLayout> {
        compile::Compiler::new(specialised).run()
    }

    /// Gates that are kept up to date, leaves among them, and gates that are pulled.
    pub fn sizes(&self) -> (usize, usize) {
        (
            self.at_rest.len() - self.n_bases as usize,
            self.pulled.len(),
        )
    }
}
