//! The position of a match: a machine, the state in it, and our role.
//!
//! Moves arrive as text and may be unknown or illegal here. They are followed as far as they make
//! sense, and what is wrong with them is returned. Threads that follow the same moves on positions
//! of their own reach the same state.

use std::sync::Arc;

use panza_machine::machine::{GameInfo, Machine, Reasoner};
use panza_rules::ids::{Id, MoveId, RoleId};
use panza_search::planner::Plan;

/// The role of this name, or at this place in the rulesheet; the first one without either.
fn role_of(info: &dyn GameInfo, name: &str, place: usize) -> RoleId {
    let roles = info.roles();
    let named = roles.iter().position(|role| role == name);
    let place = named.or_else(|| (place < roles.len()).then_some(place));
    RoleId::from_index(place.unwrap_or(0))
}

/// The position of a match.
pub(super) struct Position {
    machine: Arc<dyn Machine>,
    reasoner: Box<dyn Reasoner>,
    role: RoleId,
    state: Vec<u64>,
}

/// What became of moves that were followed.
pub(super) struct Step {
    /// What is wrong with the moves.
    pub faults: Vec<String>,
    /// The joint move that was made, and whether it was legal; `None` where the state stays.
    pub made: Option<(Vec<MoveId>, bool)>,
}

impl Position {
    /// The initial position. `role` is the role's name and its place in the rulesheet; without
    /// either the first role is played, which is wrong but yields moves.
    pub fn new(machine: &Arc<dyn Machine>, (name, place): (&str, usize)) -> Self {
        let machine = Arc::clone(machine);
        let role = role_of(machine.info(), name, place);
        let state = machine.initial_state();
        let mut reasoner = Arc::clone(&machine).reasoner();
        reasoner.set_state(&state);
        Self {
            machine,
            reasoner,
            role,
            state,
        }
    }

    /// Our role.
    pub fn role(&self) -> RoleId {
        self.role
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
    pub fn kind(&self) -> &'static str {
        self.machine.kind()
    }

    /// Follows the moves that were played, in role order.
    ///
    /// A known move that is not legal here is followed all the same: it was played, so our state
    /// must be wrong. An unknown or missing move is replaced by a legal one. Without any legal move
    /// for such a role the state stays.
    pub fn advance(&mut self, moves: &[String]) -> Step {
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
        let mut next = Vec::with_capacity(self.state.len());
        self.reasoner.next_state(&joint_move, &mut next);
        self.reasoner.set_state(&next);
        self.state = next;
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
        let is_same =
            |mv: &MoveId| text.is_some_and(|text| info.move_text(*mv).eq_ignore_ascii_case(text));
        let in_other_case = legal.iter().copied().find(is_same);
        let substitute = in_other_case.or_else(|| legal.first().copied())?;
        faults.push(format!(
            "{name} played {}, which the rules do not know; {} is followed instead",
            text.unwrap_or("nothing"),
            info.move_text(substitute)
        ));
        Some((substitute, true))
    }

    /// Whether the joint move could be played again here.
    pub fn is_legal(&mut self, moves: &[String]) -> bool {
        let machine = Arc::clone(&self.machine);
        moves.len() == machine.info().n_roles()
            && moves.iter().enumerate().all(|(index, text)| {
                let role = RoleId::from_index(index);
                let known = machine.info().find_move(role, text);
                known.is_some_and(|mv| self.reasoner.is_legal(role, mv))
            })
    }

    /// A plan from here behind the moves that were played, replayed from the initial state. `None`
    /// if it does not replay.
    pub fn plan_from_start(&self, played: &[Vec<String>], plan: &[MoveId]) -> Option<Plan> {
        let played = played.iter();
        let moves = played.map(|moves| self.info().find_move(self.role, moves.first()?));
        let mut moves = moves.collect::<Option<Vec<MoveId>>>()?;
        moves.extend(plan);
        Plan::replay(&self.machine, &self.machine.initial_state(), &moves)
    }

    /// The facts that hold here.
    pub fn facts(&self) -> Vec<String> {
        self.info().state_facts(&self.state)
    }

    /// Our legal moves here.
    pub fn legal_moves(&mut self) -> &[MoveId] {
        self.reasoner.legal_moves(self.role)
    }

    /// One of our legal moves here, found before the others where they take long.
    pub fn first_legal(&mut self) -> Option<MoveId> {
        self.reasoner.first_legal(self.role)
    }

    /// A move of ours that is legal in every position, if one is known.
    pub fn unconditional_move(&self) -> Option<MoveId> {
        self.machine.unconditional_move(self.role)
    }

    /// Puts the questions of this position before those of others to the same machine.
    pub fn set_urgent(&mut self) {
        self.reasoner.set_urgent();
    }

    /// Whether the game is over here.
    pub fn is_terminal(&mut self) -> bool {
        self.reasoner.is_terminal()
    }

    /// Each role with its goal here.
    pub fn goals(&mut self) -> Vec<(String, Option<u8>)> {
        let mut goals = vec![None; self.info().n_roles()];
        self.reasoner.goals(&mut goals);
        self.info().roles().into_iter().zip(goals).collect()
    }
}
