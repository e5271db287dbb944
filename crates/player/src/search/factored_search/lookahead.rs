//! Wins and losses within one or two moves of the whole game.

use std::sync::Arc;

use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{Machine, Reasoner};

/// Joint moves that a lookahead makes, at most.
const MAX_STEPS: usize = 4096;
/// Joint moves of a position that are made, at most.
const MAX_JOINT_MOVES: usize = 512;

/// What a move of ours leads to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum MoveOutcome {
    /// The game ends with at least this goal of ours.
    Ends(u8),
    /// Others can end the game at once with goal 0 for us.
    AllowsLoss,
    /// Neither, or not known.
    Open,
}

/// Looks ahead in the whole game.
pub(super) struct Lookahead {
    machine: Arc<dyn Machine>,
    role: RoleId,
    n_roles: usize,
    /// Reasoners in the state, after one joint move, and after two.
    current: Box<dyn Reasoner>,
    next: Box<dyn Reasoner>,
    after: Option<Box<dyn Reasoner>>,
}

impl Lookahead {
    pub fn new(machine: &Arc<dyn Machine>, role: RoleId) -> Self {
        Self {
            n_roles: machine.info().n_roles(),
            current: Arc::clone(machine).reasoner(),
            next: Arc::clone(machine).reasoner(),
            after: None,
            machine: Arc::clone(machine),
            role,
        }
    }

    /// Whether the game is over in a state.
    pub fn is_terminal(&mut self, state: &[u64]) -> bool {
        self.current.set_state(state);
        self.current.is_terminal()
    }

    /// Our legal moves in a state.
    pub fn legal_moves(&mut self, state: &[u64]) -> &[MoveId] {
        self.current.set_state(state);
        self.current.legal_moves(self.role)
    }

    /// The outcome of each of our legal moves in a state.
    pub fn outcomes(&mut self, state: &[u64]) -> Vec<(MoveId, MoveOutcome)> {
        let moves = self.legal_moves(state).to_vec();
        let mut steps_left = MAX_STEPS;
        let outcomes = moves.into_iter().map(|mv| {
            let outcome = self.outcome(mv, &mut steps_left);
            (mv, outcome)
        });
        outcomes.collect()
    }

    fn outcome(&mut self, mv: MoveId, steps_left: &mut usize) -> MoveOutcome {
        let joint_moves = joint_moves(&mut *self.current, self.n_roles, self.role, Some(mv));
        if joint_moves.is_empty() || *steps_left < joint_moves.len() {
            return MoveOutcome::Open;
        }
        *steps_left -= joint_moves.len();
        let mut least: Option<u8> = None;
        let (mut always_ends, mut allows_loss) = (true, false);
        let mut state = Vec::new();
        for joint_move in &joint_moves {
            self.current.next_state(joint_move, &mut state);
            self.next.set_state(&state);
            if self.next.is_terminal() {
                let goal = our_goal(&mut *self.next, self.n_roles, self.role);
                least = Some(least.map_or(goal, |least| least.min(goal)));
            } else {
                always_ends = false;
                allows_loss = allows_loss || self.allows_loss(steps_left);
            }
        }
        match least {
            Some(goal) if always_ends => MoveOutcome::Ends(goal),
            _ if allows_loss || least == Some(0) => MoveOutcome::AllowsLoss,
            _ => MoveOutcome::Open,
        }
    }

    /// Whether others can end the game from `next` with goal 0 for us, where we have no choice.
    fn allows_loss(&mut self, steps_left: &mut usize) -> bool {
        if self.next.legal_moves(self.role).len() != 1 {
            return false;
        }
        let joint_moves = joint_moves(&mut *self.next, self.n_roles, self.role, None);
        if *steps_left < joint_moves.len() {
            return false;
        }
        *steps_left -= joint_moves.len();
        let machine = &self.machine;
        let mut state = Vec::new();
        joint_moves.iter().any(|joint_move| {
            self.next.next_state(joint_move, &mut state);
            let after = self
                .after
                .get_or_insert_with(|| Arc::clone(machine).reasoner());
            after.set_state(&state);
            after.is_terminal() && our_goal(&mut **after, self.n_roles, self.role) == 0
        })
    }
}

/// All joint moves, with one role's move given or with all of its moves. Empty where there are many
/// or some role has none.
fn joint_moves(
    reasoner: &mut dyn Reasoner,
    n_roles: usize,
    role: RoleId,
    given: Option<MoveId>,
) -> Vec<Vec<MoveId>> {
    let mut found: Vec<Vec<MoveId>> = vec![Vec::new()];
    for other in (0..n_roles).map(RoleId::from_index) {
        let legal = match given.filter(|_| other == role) {
            Some(mv) => vec![mv],
            None => reasoner.legal_moves(other).to_vec(),
        };
        if found.len() * legal.len() > MAX_JOINT_MOVES {
            return Vec::new();
        }
        let longer = found.iter().flat_map(|joint_move| {
            legal
                .iter()
                .map(move |&mv| [&joint_move[..], &[mv]].concat())
        });
        found = longer.collect();
    }
    found
}

/// The role's goal in the state of a reasoner; 0 where it is undefined.
pub(super) fn our_goal(reasoner: &mut dyn Reasoner, n_roles: usize, role: RoleId) -> u8 {
    let mut goals = vec![None; n_roles];
    reasoner.goals(&mut goals);
    goals[role.index()].unwrap_or(0)
}
