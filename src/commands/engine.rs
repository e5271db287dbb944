//! One view of whatever can run a game, for the commands that measure and compare.
//!
//! The reference prover and the compiled machines differ in how they hold states and moves;
//! [`Engine`] hides the difference behind types of their own, so that replaying, counting and
//! playing are written once and cost nothing extra.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::gdl::Rules;
use crate::ids::{Id, MoveId, RoleId, TermId};
use crate::machine::random::Random;
use crate::machine::{Machine, PlayoutEnd, Reasoner};
use crate::prover::{self, Prover, ProverError};

/// Why an engine could not go on.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The prover gave up.
    #[error(transparent)]
    Prover(#[from] ProverError),
    /// No compiled machine could be built.
    #[error("no compiled machine: {0}")]
    Build(String),
}

/// Which engine a command uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineKind {
    /// The compiled network, one state at a time.
    Counter,
    /// The network as logic over vectors of bits, hundreds of states at a time.
    Lanes,
    /// The reference prover, straight from the rules.
    Prover,
}

impl EngineKind {
    /// Every engine there is.
    pub const ALL: [EngineKind; 3] = [EngineKind::Counter, EngineKind::Lanes, EngineKind::Prover];
}

impl fmt::Display for EngineKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            EngineKind::Counter => "counter",
            EngineKind::Lanes => "lanes",
            EngineKind::Prover => "prover",
        })
    }
}

/// Something that runs a game.
pub trait Engine {
    /// A state.
    type State: Clone;
    /// A role's move.
    type Move: Copy;

    /// The roles' names, in order.
    fn roles(&self) -> &[String];

    /// The state that the game starts in.
    ///
    /// # Errors
    /// The prover gave up.
    fn initial_state(&mut self) -> Result<Self::State, EngineError>;

    /// Whether the game is over there.
    ///
    /// # Errors
    /// The prover gave up.
    fn is_terminal(&mut self, state: &Self::State) -> Result<bool, EngineError>;

    /// Writes a role's legal moves over `out`.
    ///
    /// # Errors
    /// The prover gave up.
    fn legal_moves(
        &mut self,
        state: &Self::State,
        role: RoleId,
        out: &mut Vec<Self::Move>,
    ) -> Result<(), EngineError>;

    /// The state after a joint move, one move per role.
    ///
    /// # Errors
    /// The prover gave up.
    fn next_state(
        &mut self,
        state: &Self::State,
        joint_move: &[Self::Move],
    ) -> Result<Self::State, EngineError>;

    /// Each role's goal there, the highest of several; nothing where none is defined.
    ///
    /// # Errors
    /// The prover gave up.
    fn goals(&mut self, state: &Self::State) -> Result<Vec<Option<u8>>, EngineError>;

    /// A move as canonical GDL text.
    fn move_text(&self, mv: Self::Move) -> String;

    /// The role's move with this canonical text, if there can be one.
    fn find_move(&mut self, role: RoleId, text: &str) -> Option<Self::Move>;

    /// The facts that hold in a state as canonical GDL text, sorted.
    fn facts(&self, state: &Self::State) -> Vec<String>;

    /// The state in which just these facts hold.
    ///
    /// # Errors
    /// Names a fact that no state can hold.
    fn state_from_facts(&mut self, facts: &[String]) -> Result<Self::State, String>;

    /// Plays uniformly random legal moves from a state until the game ends, some role has no legal
    /// move, or `max_steps` joint moves were made; adds the final goals to `goal_sums` unless it
    /// was cut off.
    ///
    /// # Errors
    /// The prover gave up.
    fn playout(
        &mut self,
        from: &Self::State,
        random: &mut Random,
        max_steps: u32,
        goal_sums: &mut [u64],
    ) -> Result<PlayoutEnd, EngineError> {
        let mut state = from.clone();
        let (mut joint_move, mut legal) = (Vec::new(), Vec::new());
        for steps in 0..=max_steps {
            let mut is_over = self.is_terminal(&state)?;
            joint_move.clear();
            for role in 0..self.roles().len() {
                if is_over {
                    break;
                }
                self.legal_moves(&state, RoleId::from_index(role), &mut legal)?;
                match legal.len() {
                    0 => is_over = true,
                    count => joint_move.push(legal[random.below(count as u32) as usize]),
                }
            }
            if is_over {
                for (sum, goal) in goal_sums.iter_mut().zip(self.goals(&state)?) {
                    *sum += u64::from(goal.unwrap_or(0));
                }
                return Ok(PlayoutEnd::Finished { steps });
            }
            if steps < max_steps {
                state = self.next_state(&state, &joint_move)?;
            }
        }
        Ok(PlayoutEnd::CutOff)
    }
}

/// The reference prover as an engine.
pub struct ProverEngine {
    prover: Prover,
    roles: Vec<String>,
}

impl ProverEngine {
    /// Takes the rules in.
    ///
    /// # Errors
    /// The prover refuses them.
    pub fn new(rules: &Rules) -> Result<Self, EngineError> {
        let prover = Prover::new(rules)?;
        let roles = prover
            .roles()
            .iter()
            .map(|&role| prover.show(role))
            .collect();
        Ok(Self { prover, roles })
    }
}

impl Engine for ProverEngine {
    type State = prover::State;
    type Move = TermId;

    fn roles(&self) -> &[String] {
        &self.roles
    }

    fn initial_state(&mut self) -> Result<Self::State, EngineError> {
        Ok(self.prover.initial_state())
    }

    fn is_terminal(&mut self, state: &Self::State) -> Result<bool, EngineError> {
        Ok(self.prover.is_terminal(state)?)
    }

    fn legal_moves(
        &mut self,
        state: &Self::State,
        role: RoleId,
        out: &mut Vec<TermId>,
    ) -> Result<(), EngineError> {
        *out = self.prover.legal_moves(state, role)?;
        Ok(())
    }

    fn next_state(
        &mut self,
        state: &Self::State,
        joint_move: &[TermId],
    ) -> Result<Self::State, EngineError> {
        Ok(self.prover.next_state(state, joint_move)?)
    }

    fn goals(&mut self, state: &Self::State) -> Result<Vec<Option<u8>>, EngineError> {
        // The prover's own `goal` knows no highest of several.
        (0..self.roles.len())
            .map(|role| {
                let values = self.prover.goal_values(state, RoleId::from_index(role))?;
                let values = values.into_iter();
                let goals = values.filter_map(|value| self.prover.show(value).parse().ok());
                Ok(goals.filter(|&goal: &u8| goal <= 100).max())
            })
            .collect()
    }

    fn move_text(&self, mv: TermId) -> String {
        self.prover.show(mv)
    }

    fn find_move(&mut self, _role: RoleId, text: &str) -> Option<TermId> {
        self.prover.read_term(text)
    }

    fn facts(&self, state: &Self::State) -> Vec<String> {
        let facts = self.prover.facts(state);
        let mut facts: Vec<String> = facts.iter().map(|&fact| self.prover.show(fact)).collect();
        facts.sort();
        facts
    }

    fn state_from_facts(&mut self, facts: &[String]) -> Result<Self::State, String> {
        let terms: Result<Vec<TermId>, String> = facts
            .iter()
            .map(|fact| {
                self.prover
                    .read_term(fact)
                    .ok_or_else(|| format!("`{fact}` is no fact of this game"))
            })
            .collect();
        Ok(self.prover.state_from_facts(&terms?))
    }
}

/// A compiled machine as an engine.
pub struct MachineEngine {
    machine: Arc<dyn Machine>,
    reasoner: Box<dyn Reasoner>,
    roles: Vec<String>,
    goals: Vec<u8>,
}

impl MachineEngine {
    /// New hands on a machine.
    pub fn new(machine: &Arc<dyn Machine>) -> Self {
        let roles = machine.info().roles();
        Self {
            reasoner: Arc::clone(machine).reasoner(),
            machine: Arc::clone(machine),
            goals: vec![0; roles.len()],
            roles,
        }
    }
}

impl Engine for MachineEngine {
    type State = Vec<u64>;
    type Move = MoveId;

    fn roles(&self) -> &[String] {
        &self.roles
    }

    fn initial_state(&mut self) -> Result<Vec<u64>, EngineError> {
        Ok(self.machine.initial_state())
    }

    fn is_terminal(&mut self, state: &Vec<u64>) -> Result<bool, EngineError> {
        self.reasoner.set_state(state);
        Ok(self.reasoner.is_terminal())
    }

    fn legal_moves(
        &mut self,
        state: &Vec<u64>,
        role: RoleId,
        out: &mut Vec<MoveId>,
    ) -> Result<(), EngineError> {
        self.reasoner.set_state(state);
        out.clear();
        out.extend_from_slice(self.reasoner.legal_moves(role));
        Ok(())
    }

    fn next_state(
        &mut self,
        state: &Vec<u64>,
        joint_move: &[MoveId],
    ) -> Result<Vec<u64>, EngineError> {
        self.reasoner.set_state(state);
        let mut next = Vec::with_capacity(state.len());
        self.reasoner.next_state(joint_move, &mut next);
        Ok(next)
    }

    fn goals(&mut self, state: &Vec<u64>) -> Result<Vec<Option<u8>>, EngineError> {
        self.reasoner.set_state(state);
        let mut goals = vec![None; self.roles.len()];
        self.reasoner.goals(&mut goals);
        Ok(goals)
    }

    fn move_text(&self, mv: MoveId) -> String {
        self.machine.info().move_text(mv)
    }

    fn find_move(&mut self, role: RoleId, text: &str) -> Option<MoveId> {
        self.machine.info().find_move(role, text)
    }

    fn facts(&self, state: &Vec<u64>) -> Vec<String> {
        self.machine.info().state_facts(state)
    }

    fn state_from_facts(&mut self, facts: &[String]) -> Result<Vec<u64>, String> {
        self.machine.info().state_from_facts(facts)
    }

    fn playout(
        &mut self,
        from: &Vec<u64>,
        random: &mut Random,
        max_steps: u32,
        goal_sums: &mut [u64],
    ) -> Result<PlayoutEnd, EngineError> {
        self.reasoner.set_state(from);
        let end = self.reasoner.playout(random, max_steps, &mut self.goals);
        if let PlayoutEnd::Finished { .. } = end {
            for (sum, goal) in goal_sums.iter_mut().zip(&self.goals) {
                *sum += u64::from(*goal);
            }
        }
        Ok(end)
    }
}
