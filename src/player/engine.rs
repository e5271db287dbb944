//! A machine and what thinks on it: the state of the match as one machine sees it.
//!
//! Moves arrive as text and may be unknown or illegal here; the engine follows them as far as they
//! make sense, says what did not, and always keeps one consistent state.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use crate::build::BuiltGame;
use crate::ids::{Id, MoveId, RoleId};
use crate::machine::{Machine, Reasoner};
use crate::telemetry::SearchSample;

/// What a thinker thinks of a position.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Choice {
    /// The best move of our role.
    pub best: MoveId,
    /// Our expected goal, 0 to 100.
    pub value: Option<f64>,
    /// How often the move was tried.
    pub visits: u64,
    /// Whether more thought cannot change the move.
    pub is_proven: bool,
}

/// Chooses moves for one role from a state that it follows.
pub(super) trait Thinker: Send {
    /// What it is, for logs.
    fn name(&self) -> &'static str;
    /// Thinks until then, or until `interrupt` is set.
    fn think(&mut self, until: Instant, interrupt: &AtomicBool);
    /// Follows a legal joint move to `state`.
    fn advance(&mut self, joint_move: &[MoveId], state: &[u64]);
    /// Goes to a state that no legal joint move leads to.
    fn stand_on(&mut self, state: &[u64]);
    /// Its choice here; nothing when our role has no legal move.
    fn choice(&mut self) -> Option<Choice>;
    /// Whether what is learned about the game would change how it thinks.
    fn can_learn(&self) -> bool {
        false
    }
    /// How it fares: counts since it was made; step and rates are filled in by whoever asks.
    fn sample(&mut self) -> SearchSample;
}

/// Makes a thinker that stands on a state.
pub(super) type ThinkerFactory =
    dyn Fn(&BuiltGame, RoleId, &[u64]) -> Box<dyn Thinker> + Send + Sync;

/// A machine, the state of the match on it, and a thinker.
pub(super) struct Engine {
    pub machine: Arc<dyn Machine>,
    reasoner: Box<dyn Reasoner>,
    pub role: RoleId,
    state: Vec<u64>,
    pub thinker: Box<dyn Thinker>,
}

impl Engine {
    /// An engine on the initial state. `role` is the role's name and its place in the rulesheet;
    /// without either the first role is played, which is wrong but yields moves.
    pub fn new(game: &BuiltGame, role: (&str, usize), thinker: &ThinkerFactory) -> Self {
        let machine = Arc::clone(&game.machine);
        let roles = || (0..machine.info().n_roles()).map(RoleId::from_index);
        let role = roles()
            .find(|&id| machine.info().role_name(id) == role.0)
            .or_else(|| roles().nth(role.1))
            .unwrap_or(RoleId(0));
        let state = machine.initial_state();
        let mut reasoner = Arc::clone(&machine).reasoner();
        reasoner.set_state(&state);
        let thinker = thinker(game, role, &state);
        Self {
            machine,
            reasoner,
            role,
            state,
            thinker,
        }
    }

    /// Follows the moves that were played, in role order, and returns what is wrong with them in
    /// our eyes.
    ///
    /// A move that is known but not legal here is followed all the same: it is what was played, so
    /// it is our state that must be wrong. In place of an unknown or missing move a legal one
    /// stands. Without any legal move for such a role the state stays.
    pub fn advance(&mut self, moves: &[String]) -> Vec<String> {
        let mut faults = Vec::new();
        let n_roles = self.machine.info().n_roles();
        if moves.len() != n_roles {
            faults.push(format!(
                "{} moves were given for {n_roles} roles",
                moves.len()
            ));
        }
        let mut joint_move = Vec::with_capacity(n_roles);
        let mut is_legal = true;
        for role in (0..n_roles).map(RoleId::from_index) {
            let text = moves.get(role.index()).map(String::as_str);
            match self.resolve(role, text, &mut faults) {
                Some((mv, legal)) => {
                    joint_move.push(mv);
                    is_legal &= legal;
                }
                None => {
                    let name = self.machine.info().role_name(role);
                    faults.push(format!("{name} has no legal move here, so the state stays"));
                    return faults;
                }
            }
        }
        let mut next = Vec::with_capacity(self.state.len());
        self.reasoner.next_state(&joint_move, &mut next);
        self.reasoner.set_state(&next);
        self.state = next;
        if is_legal {
            self.thinker.advance(&joint_move, &self.state);
        } else {
            self.thinker.stand_on(&self.state);
        }
        faults
    }

    /// The move that a text means, and whether it is legal here.
    fn resolve(
        &mut self,
        role: RoleId,
        text: Option<&str>,
        faults: &mut Vec<String>,
    ) -> Option<(MoveId, bool)> {
        let machine = Arc::clone(&self.machine);
        let known = text.and_then(|text| machine.info().find_move(role, text));
        let legal = self.reasoner.legal_moves(role);
        if let Some(mv) = known {
            let is_legal = legal.contains(&mv);
            if !is_legal {
                let text = machine.info().move_text(mv);
                let name = machine.info().role_name(role);
                faults.push(format!("{name} played {text}, which is not legal here"));
            }
            return Some((mv, is_legal));
        }
        let in_other_case = text.and_then(|text| {
            legal
                .iter()
                .copied()
                .find(|&mv| machine.info().move_text(mv).eq_ignore_ascii_case(text))
        });
        let substitute = in_other_case.or_else(|| legal.first().copied())?;
        faults.push(format!(
            "{} played {}, which the rules do not know; {} is followed instead",
            machine.info().role_name(role),
            text.unwrap_or("nothing"),
            machine.info().move_text(substitute)
        ));
        Some((substitute, true))
    }

    /// Whether the joint move could be played again here.
    pub fn is_legal(&mut self, moves: &[String]) -> bool {
        let machine = Arc::clone(&self.machine);
        moves.len() == machine.info().n_roles()
            && moves.iter().enumerate().all(|(index, text)| {
                let role = RoleId::from_index(index);
                machine
                    .info()
                    .find_move(role, text)
                    .is_some_and(|mv| self.reasoner.legal_moves(role).contains(&mv))
            })
    }

    /// The facts that hold here.
    pub fn facts(&self) -> Vec<String> {
        self.machine.info().state_facts(&self.state)
    }

    /// Our legal moves here.
    pub fn legal_moves(&mut self) -> &[MoveId] {
        self.reasoner.legal_moves(self.role)
    }

    /// Whether the game is over here.
    pub fn is_terminal(&mut self) -> bool {
        self.reasoner.is_terminal()
    }

    /// Each role with its goal here.
    pub fn goals(&mut self) -> Vec<(String, Option<u8>)> {
        let mut goals = vec![None; self.machine.info().n_roles()];
        self.reasoner.goals(&mut goals);
        self.machine.info().roles().into_iter().zip(goals).collect()
    }
}
