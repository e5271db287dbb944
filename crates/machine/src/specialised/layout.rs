//! A specialised game as flat arrays, for the engine.
//!
//! Every value is one byte of one array: bases, propagated moves, gates, and leaves. The top bit is
//! the value, the bits below count a gate's inputs in steps of two, and the lowest bit is the value
//! that the users were last updated with. Leaves, which only the engine reads, stand in rows of 64:
//! for the legal moves one row or more per role and phase, for the next state one per state word.
//!
//! A gate that only effects or goals need is not kept up to date; it is lazy, evaluated on demand.
//!
//! Invariants: a counted gate has no more inputs than seven bits count; numbers below `n_followed`
//! are bases, moves and gates, above are leaves, which have no users; every edge leads to a number
//! of the array; lazy gates are evaluated by recursion, so their depth is bounded. `compile`
//! establishes all of it.

mod compile;

use panza_gdl::{BaseId, IdVec, MoveId, RoleId};
use panza_propnet::SpecialisedGame;

pub(crate) const NO_ROW: u32 = u32::MAX;

/// A value to be read: of the array, or of a lazy gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Operand(u32);

impl Operand {
    const INVERTED: u32 = 1;
    const LAZY: u32 = 2;
    const FLAT: u32 = 4;

    fn value(number: u32, is_inverted: bool) -> Self {
        Self(number << 3 | u32::from(is_inverted))
    }

    /// A lazy gate; `is_flat` when all its operands are values of the array.
    fn lazy(number: u32, is_flat: bool, is_inverted: bool) -> Self {
        let flat = if is_flat { Self::FLAT } else { 0 };
        Self(number << 3 | flat | Self::LAZY | u32::from(is_inverted))
    }

    #[inline]
    pub(crate) fn is_lazy(self) -> bool {
        self.0 & Self::LAZY != 0
    }

    #[inline]
    pub(crate) fn number(self) -> u32 {
        self.0 >> 3
    }

    /// Whether it is a lazy gate all of whose operands are values of the array.
    #[inline]
    pub(crate) fn is_flat(self) -> bool {
        self.0 & Self::FLAT != 0
    }

    /// 1 when the value is to be inverted.
    #[inline]
    pub(crate) fn inversion(self) -> u8 {
        (self.0 & Self::INVERTED) as u8
    }
}

/// The sources of one word of the next state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NextWord {
    /// Bases that stay as they are.
    pub keep: u64,
    pub set: u64,
    /// The row of leaves for the others, or [`NO_ROW`].
    pub row: u32,
}

/// The updates of a move or key: runs of the tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effects {
    pub masks: (u32, u32),
    pub bits: (u32, u32),
    pub copies: (u32, u32),
}

/// Bases of one word, each of which, if it is true, makes another true in the next state:
/// `targets[first]` for the lowest of them, and so on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copies {
    pub word: u32,
    pub mask: u64,
    pub first: u32,
}

/// What [`Effects`] are runs of.
#[derive(Default, Debug)]
pub(crate) struct EffectTables {
    pub masks: Vec<Mask>,
    pub bits: Vec<(BaseId, Operand)>,
    pub copies: Vec<Copies>,
    /// The bases that copies make true.
    pub targets: Vec<BaseId>,
    /// The effects of keys.
    pub keyed: Vec<Effects>,
}

/// The start of a number's users in the edge array, and the start of those that are leaves. They
/// end where the next number's users start.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Users {
    pub start: u32,
    pub leaves: u32,
}

/// A gate evaluated on demand: the conjunction of its operands. They are a run of `operands` and,
/// for a wide gate, a run of `guarded`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LazyGate {
    pub operands: (u32, u32),
    pub guarded: (u32, u32),
}

/// All lazy gates.
#[derive(Default, Debug)]
pub(crate) struct LazyGates {
    pub gates: Vec<LazyGate>,
    /// Operands of lazy gates that are on unless a base is true, by that base.
    pub guarded: Vec<Guarded>,
    /// Runs of `operands`, per base of `guarded`.
    pub guarded_operands: Vec<(u32, u32)>,
    pub operands: Vec<Operand>,
}

/// Bases of one word, each of which, if it is true, requires the operands `guarded_operands[first]`
/// for the lowest, and so on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guarded {
    pub word: u32,
    pub mask: u64,
    pub first: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FanInRun {
    pub fan_in: u32,
    pub n_gates: u32,
}

/// A straight-line evaluation of all gates in a phase's goals that nothing keeps up to date. For
/// many gates that is faster than evaluation on demand, since no branch depends on a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct GoalPass {
    pub runs: Vec<FanInRun>,
    /// `2·number + inverted`, run after run.
    pub operands: Vec<u32>,
    /// The number of the first gate's value; the others follow.
    pub first: u32,
}

/// The bases of one state word that a move sets to constants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mask {
    pub word: u32,
    pub keep: u64,
    pub set: u64,
}

/// Up to 64 keys of one word or row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyWord {
    /// The state's word, when `row` is [`NO_ROW`].
    pub word: u32,
    /// Which of the bits are keys.
    pub row: u32,
    /// Which of the bits are keys.
    pub mask: u64,
    /// The lowest key's update is `keyed[first]`, and so on.
    pub first: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct RoleLayout {
    /// The first of the rows that say which of `moves` are legal; [`NO_ROW`] when there is just one
    /// move and it is always legal.
    pub row: u32,
    pub n_rows: u32,
    /// Moves that may be legal, rising.
    pub moves: Box<[MoveId]>,
    pub effects: Box<[Effects]>,
    /// The number of each move's value, or [`NO_ROW`].
    pub numbers: Box<[u32]>,
    /// Whether gates depend on the role's moves, in this phase or another.
    pub is_propagated: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct PhaseLayout {
    pub terminal: Operand,
    pub roles: IdVec<RoleId, RoleLayout>,
    pub next: Box<[NextWord]>,
    /// Keys that clear bases while they are on, 64 at a time.
    pub clearing: Box<[KeyWord]>,
    /// Keys that set bases while they are on.
    pub setting: Box<[KeyWord]>,
    /// Per role, from the highest value down.
    pub goals: IdVec<RoleId, Box<[(u8, Operand)]>>,
    /// The goal pass to run before the goals are read.
    pub goal_pass: Option<usize>,
}

/// A specialised game, laid out. Never changes.
#[derive(Debug)]
pub struct SpecialisedLayout {
    pub(crate) n_bases: u32,
    pub(crate) n_followed: u32,
    /// Numbers below are those of bases and moves.
    pub(crate) first_gate: u32,
    /// The array with every base false and no move made.
    pub(crate) at_rest: Vec<u8>,
    /// The users of each number below `n_followed`, and a last entry for the end.
    pub(crate) users: Vec<Users>,
    /// User and whether it takes the value inverted: `2·number + inverted`.
    pub(crate) edges: Vec<u32>,
    pub(crate) lazy: LazyGates,
    pub(crate) effects: EffectTables,
    pub(crate) goal_passes: Vec<GoalPass>,
    /// Numbers from here on belong to the goal passes.
    pub(crate) n_kept: u32,
    pub(crate) phases: Vec<PhaseLayout>,
}

impl SpecialisedLayout {
    /// Lays out a specialised game. `None` when its lazy gates are too deep.
    pub fn compile(specialised: &SpecialisedGame) -> Option<SpecialisedLayout> {
        compile::Compiler::new(specialised).run()
    }
}
