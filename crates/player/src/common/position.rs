//! A position of a game that is played: a machine and a state in it.
//!
//! Matches and tables make their moves on one. Moves from a game manager arrive as text and may be
//! unknown or illegal here. They are followed as far as they make sense, and what is wrong with
//! them is returned. Threads that follow the same moves on positions of their own reach the same
//! state.
//!
//! Never uses: searches, clocks, logs.

use std::sync::Arc;

use crate::messages::SentMoves;
use panza_gdl::{Id, MoveId, RoleId, only_in_other_case};
use panza_machine::{GameInfo, Machine, Reasoner};
use panza_planner::Plan;

/// A position of a game that is played.
pub struct Position {
    machine: Arc<dyn Machine>,
    reasoner: Box<dyn Reasoner>,
    state: Vec<u64>,
}

/// The result of following moves.
pub(crate) struct Step {
    /// What is wrong with the moves.
    pub faults: Vec<String>,
    /// The joint move that was made, and whether it was legal; `None` where the state stays.
    pub made: Option<(Vec<MoveId>, bool)>,
}

impl Position {
    /// The initial position.
    pub fn new(machine: &Arc<dyn Machine>) -> Self {
        let mut position = Self {
            machine: Arc::clone(machine),
            reasoner: Arc::clone(machine).reasoner(),
            state: Vec::new(),
        };
        position.go_to(machine.initial_state());
        position
    }

    /// Goes to a state of the machine.
    pub fn go_to(&mut self, state: Vec<u64>) {
        self.reasoner.set_state(&state);
        self.state = state;
    }

    /// Makes a joint move, one of each role. A legal one leads to a state of the game.
    pub fn make(&mut self, joint_move: &[MoveId]) {
        let next = self.after(joint_move);
        self.go_to(next);
    }

    /// The state after a joint move, which is not made.
    pub fn after(&mut self, joint_move: &[MoveId]) -> Vec<u64> {
        let mut next = Vec::with_capacity(self.state.len());
        self.reasoner.next_state(joint_move, &mut next);
        next
    }

    /// The state.
    pub fn state(&self) -> &[u64] {
        &self.state
    }

    /// The names of roles, moves and facts.
    pub fn info(&self) -> &dyn GameInfo {
        self.machine.info()
    }

    /// The kind of the machine.
    pub(crate) fn kind(&self) -> &'static str {
        self.machine.kind()
    }

    /// Why the machine had no answer to some question, if so.
    pub fn fault(&self) -> Option<String> {
        self.machine.fault()
    }

    /// Follows the moves that were played.
    ///
    /// A known move that is not legal here is followed all the same: it was played, so our state
    /// must be wrong. An unknown or missing move is replaced by a legal one. Without any legal move
    /// for such a role the state stays.
    pub(crate) fn advance(&mut self, moves: &SentMoves) -> Step {
        let mut faults = Vec::new();
        let n_roles = self.info().n_roles();
        if moves.len() != n_roles {
            faults.push(format!("{} moves for {n_roles} roles", moves.len()));
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
                    let name = self.info().role_name(role);
                    faults.push(format!("{name} has no legal move here, so the state stays"));
                    return Step { faults, made: None };
                }
            }
        }
        self.make(&joint_move);
        Step {
            faults,
            made: Some((joint_move, is_legal)),
        }
    }

    /// The move of this text, and whether it is legal here.
    fn resolve(
        &mut self,
        role: RoleId,
        text: Option<&str>,
        faults: &mut Vec<String>,
    ) -> Option<(MoveId, bool)> {
        let machine = Arc::clone(&self.machine);
        let info = machine.info();
        let name = info.role_name(role);
        if let Some(mv) = text.and_then(|text| self.reasoner.find_legal(role, text)) {
            return Some((mv, true));
        }
        if let Some(mv) = text.and_then(|text| info.find_move(role, text)) {
            let is_legal = self.reasoner.is_legal(role, mv);
            if !is_legal {
                let text = info.move_text(mv);
                faults.push(format!("{name} played {text}, which is not legal here"));
            }
            return Some((mv, is_legal));
        }
        let legal = self.reasoner.legal_moves(role);
        let in_other_case = text.and_then(|text| {
            only_in_other_case(text, legal.iter().copied(), |mv| info.move_text(*mv))
        });
        let substitute = in_other_case.or_else(|| legal.first().copied())?;
        faults.push(format!(
            "{name} played {}, which the rules do not know; {} is followed instead",
            text.unwrap_or("nothing"),
            info.move_text(substitute)
        ));
        Some((substitute, true))
    }

    /// The joint move of these texts, one of each role.
    ///
    /// # Errors
    /// It is not legal here; the text says whose move is not.
    pub fn legal_joint_move(&mut self, texts: &[String]) -> Result<Vec<MoveId>, String> {
        if self.is_terminal() {
            return Err("the game is over here".to_string());
        }
        let n_roles = self.info().n_roles();
        if texts.len() != n_roles {
            return Err(format!("{} moves for {n_roles} roles", texts.len()));
        }
        let roles = (0..n_roles).map(RoleId::from_index);
        let found = roles.zip(texts).map(|(role, text)| {
            let info = self.machine.info();
            let found = self.reasoner.find_legal(role, text).or_else(|| {
                let named = info.find_move(role, text);
                named.filter(|&mv| self.reasoner.is_legal(role, mv))
            });
            found.ok_or_else(|| format!("{text} is not legal for {}", info.role_name(role)))
        });
        found.collect()
    }

    /// Whether the joint move could be played again here.
    pub(crate) fn is_legal(&mut self, moves: &SentMoves) -> bool {
        let machine = Arc::clone(&self.machine);
        moves.len() == machine.info().n_roles()
            && moves.iter().enumerate().all(|(index, text)| {
                let role = RoleId::from_index(index);
                let known = machine.info().find_move(role, text);
                known.is_some_and(|mv| self.reasoner.is_legal(role, mv))
            })
    }

    /// A plan of the only role from here behind the moves that were played, replayed from the
    /// initial state. `None` if it does not replay.
    pub(crate) fn plan_from_start(&self, played: &[SentMoves], plan: &[MoveId]) -> Option<Plan> {
        let only = RoleId::from_index(0);
        let played = played.iter();
        let moves = played.map(|moves| self.info().find_move(only, moves.first()?));
        let mut moves = moves.collect::<Option<Vec<MoveId>>>()?;
        moves.extend(plan);
        Plan::replay(&self.machine, &self.machine.initial_state(), &moves)
    }

    /// The facts that hold here.
    pub fn facts(&self) -> Vec<String> {
        self.info().state_facts(&self.state)
    }

    /// The legal moves of a role here.
    pub fn legal_moves(&mut self, role: RoleId) -> &[MoveId] {
        self.reasoner.legal_moves(role)
    }

    /// A legal move of a role here, found before the others where they take long.
    pub(crate) fn first_legal(&mut self, role: RoleId) -> Option<MoveId> {
        self.reasoner.first_legal(role)
    }

    /// A move of a role that is legal in every position, if one is known.
    pub(crate) fn unconditional_move(&self, role: RoleId) -> Option<MoveId> {
        self.machine.unconditional_move(role)
    }

    /// Puts the questions of this position before those of others to the same machine.
    pub(crate) fn set_urgent(&mut self) {
        self.reasoner.set_urgent();
    }

    /// Whether the game is over here.
    pub fn is_terminal(&mut self) -> bool {
        self.reasoner.is_terminal()
    }

    /// The goal of each role here.
    pub fn goals(&mut self) -> Vec<Option<u8>> {
        let mut goals = vec![None; self.info().n_roles()];
        self.reasoner.goals(&mut goals);
        goals
    }
}
