//! Many states of a game in arrays of the caller, advanced together.
//!
//! An [`Expander`](super::Expander) answers a search, with lists of legal moves. A [`Stepper`]
//! answers who simulates: states are replaced in place, and legal moves are bits.
//!
//! Invariant: rows of different states do not influence each other.
//!
//! Never uses: the engine of the reasoner.

use super::Reasoner;
use panza_gdl::{Id, MoveId, RoleId};

/// In place of the first role's move: the state stays as it is.
pub const NO_MOVE: MoveId = MoveId(u32::MAX);

/// In place of a goal: undefined, or the state is not terminal.
pub const NO_GOAL: u8 = u8::MAX;

/// The sizes of a row of each array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowSizes {
    /// The number of roles: the moves and the goals of a row.
    pub n_roles: usize,
    /// Words of a state.
    pub state_words: usize,
    /// Words of the legal moves of a state.
    pub legal_words: usize,
}

impl RowSizes {
    /// Words for the legal moves of all roles, one bit for each of `n_moves` moves.
    pub fn legal_words_of(n_moves: usize) -> usize {
        n_moves.div_ceil(64).max(1)
    }
}

/// Arrays with a row for each of some states. The arrays have the same number of rows.
#[derive(Debug)]
pub struct StateRows<'a> {
    /// The states.
    pub states: &'a mut [u64],
    /// Bit `m % 64` of word `m / 64` of a row is on where move `m` is legal.
    pub legal: &'a mut [u64],
    /// Whether the state is terminal.
    pub terminal: &'a mut [bool],
    /// Each role's goal in a terminal state, else [`NO_GOAL`].
    pub goals: &'a mut [u8],
}

impl StateRows<'_> {
    /// The number of states.
    pub fn len(&self) -> usize {
        self.terminal.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.terminal.is_empty()
    }

    /// Some of the rows, from `start` on, at most `count`.
    pub(super) fn part(&mut self, sizes: RowSizes, start: usize, count: usize) -> StateRows<'_> {
        let end = (start + count).min(self.len());
        let RowSizes {
            n_roles,
            state_words,
            legal_words,
        } = sizes;
        StateRows {
            states: &mut self.states[start * state_words..end * state_words],
            legal: &mut self.legal[start * legal_words..end * legal_words],
            terminal: &mut self.terminal[start..end],
            goals: &mut self.goals[start * n_roles..end * n_roles],
        }
    }

    /// Panics unless all arrays have the same number of rows.
    pub(super) fn check(&self, sizes: RowSizes, joint_moves: &[MoveId]) {
        let n = self.len();
        assert_eq!(self.states.len(), n * sizes.state_words, "states");
        assert_eq!(self.legal.len(), n * sizes.legal_words, "legal moves");
        assert_eq!(self.goals.len(), n * sizes.n_roles, "goals");
        let has_moves = joint_moves.is_empty() || joint_moves.len() == n * sizes.n_roles;
        assert!(has_moves, "joint moves");
    }
}

/// Advances many states at once.
pub trait Stepper: Send {
    /// The sizes of rows.
    fn sizes(&self) -> RowSizes;

    /// The number of states that cost as much as one.
    fn width(&self) -> usize;

    /// Replaces each state by its successor under its joint move, a row of one move per role, and
    /// evaluates it. States whose first move is [`NO_MOVE`], and all where there are no moves at
    /// all, are evaluated as they are. Moves need not be legal.
    ///
    /// # Panics
    /// The arrays have different numbers of rows.
    fn step(&mut self, joint_moves: &[MoveId], rows: StateRows<'_>);
}

/// A stepper that uses a reasoner, one state after the other.
pub struct SequentialStepper {
    sizes: RowSizes,
    reasoner: Box<dyn Reasoner>,
    next: Vec<u64>,
    goals: Vec<Option<u8>>,
}

impl SequentialStepper {
    /// A stepper of a game with rows of these sizes. Nothing else may use the reasoner.
    pub fn new(sizes: RowSizes, reasoner: Box<dyn Reasoner>) -> Self {
        Self {
            sizes,
            reasoner,
            next: Vec::new(),
            goals: vec![None; sizes.n_roles],
        }
    }

    /// Evaluates the reasoner's state.
    fn evaluate(&mut self, row: StateRows<'_>) {
        row.legal.fill(0);
        for role in (0..self.sizes.n_roles).map(RoleId::from_index) {
            for mv in self.reasoner.legal_moves(role) {
                if let Some(word) = row.legal.get_mut(mv.index() / 64) {
                    *word |= 1 << (mv.index() % 64);
                }
            }
        }
        let is_terminal = self.reasoner.is_terminal();
        row.terminal.fill(is_terminal);
        row.goals.fill(NO_GOAL);
        if is_terminal {
            self.goals.fill(None);
            self.reasoner.goals(&mut self.goals);
            for (slot, goal) in row.goals.iter_mut().zip(&self.goals) {
                *slot = goal.unwrap_or(NO_GOAL);
            }
        }
    }
}

impl Stepper for SequentialStepper {
    fn sizes(&self) -> RowSizes {
        self.sizes
    }

    fn width(&self) -> usize {
        1
    }

    fn step(&mut self, joint_moves: &[MoveId], mut rows: StateRows<'_>) {
        rows.check(self.sizes, joint_moves);
        let n_roles = self.sizes.n_roles;
        for index in 0..rows.len() {
            let row = rows.part(self.sizes, index, 1);
            self.reasoner.set_state(row.states);
            let joint_move = joint_moves.get(index * n_roles..(index + 1) * n_roles);
            if let Some(joint_move) = joint_move.filter(|moves| moves[0] != NO_MOVE) {
                self.reasoner.next_state(joint_move, &mut self.next);
                row.states.copy_from_slice(&self.next);
                self.reasoner.set_state(row.states);
            }
            self.evaluate(row);
        }
    }
}
