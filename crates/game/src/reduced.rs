//! The reduced game: the game without what changes nothing about its end and its goals.
//!
//! It has a machine of its own, and its states are told by those of the game. Each of its moves
//! stands for moves of the game with the same effect. So a search sees the reduced game only, and
//! its moves are led back to legal moves of the game.
//!
//! Invariant: the reduced game has the same value for each role as the game, in each state for
//! which [`ReducedGame::is_proven_in`] holds.

use std::sync::Arc;
use std::time::Duration;

use super::BuiltGame;
use super::compile::{Compiled, GroundNetwork, compile_network};
use super::parts::{PartNetwork, time_for};
use panza_analysis::reduction::reduction;
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{Condition, GamePart, Machine, PlayoutPolicy, Reasoner};
use panza_propnet::{LimitedMoves, Network, PassSet, Selection};
use panza_sync::{Budget, after};

/// Time limit for reducing a game.
const REDUCTION_TIME: Duration = Duration::from_secs(2);

/// The reduced game without its machine.
pub struct ReducedNetwork {
    part: PartNetwork,
    contexts: Vec<Vec<Condition>>,
}

impl ReducedNetwork {
    /// Reduces the game of a network as built from its rules. `None` where there is little to leave
    /// out, or the time does not suffice.
    pub fn new(network: &Network, limits: &Budget) -> Option<Self> {
        let limits = limits.until(Some(after(time_for(REDUCTION_TIME, limits))));
        let found = reduction(network, &limits)?;
        let mut initial = vec![0; network.facts.len().div_ceil(64)];
        for base in &network.initial {
            initial[base.index() / 64] |= 1 << (base.index() % 64);
        }
        let supplies = found.supplies.iter().enumerate();
        let supplies = supplies.map(|(place, supply)| {
            let moves = found.moves.iter().enumerate();
            let moves = moves.filter(|(_, mv)| mv.supply == Some(place));
            LimitedMoves {
                most: supply.tokens.len(),
                at_start: supply.left_in(&initial),
                moves: moves.map(|(mv, _)| mv).collect(),
            }
        });
        let moves = found.moves.iter();
        let selection = Selection {
            bases: found.bases.clone(),
            moves: moves.map(|mv| (mv.role, mv.members.clone())).collect(),
            supplies: supplies.collect(),
        };
        Some(Self {
            part: PartNetwork::of_selection(network, selection, found.supplies, &limits)?,
            contexts: found.contexts,
        })
    }

    /// The reduced game with a machine that `build` makes. `None` where its states are not one bit
    /// per base, or the game is no longer needed.
    pub fn build(
        self,
        limits: &Budget,
        build: impl Fn(Compiled, PlayoutPolicy) -> Arc<dyn Machine>,
    ) -> Option<ReducedGame> {
        let network = Arc::new(self.part.network().clone());
        let part = self.part.build(limits, |reduced, policy| {
            let grounded = GroundNetwork::of_part(reduced);
            let compiled = compile_network(grounded, &PassSet::default(), limits);
            Some(build(compiled.ok()?, policy))
        })?;
        Some(ReducedGame {
            part,
            network,
            contexts: self.contexts,
        })
    }
}

/// The reduced game.
#[derive(Clone)]
pub struct ReducedGame {
    /// The reduced game as a part of the game: the machine, and what its states and moves are made
    /// of. Idle moves have no move in it.
    pub part: GamePart,
    /// Its network before the passes.
    pub network: Arc<Network>,
    contexts: Vec<Vec<Condition>>,
}

impl ReducedGame {
    /// The reduced game as a game of its own.
    pub fn game(&self) -> BuiltGame {
        BuiltGame {
            network: Some(Arc::clone(&self.network)),
            ..Arc::clone(&self.part.machine).into()
        }
    }

    /// Whether the values of the reduced game are proven to be those of the game in this state and
    /// all that follow. It holds in every state that is reached by legal moves.
    pub fn is_proven_in(&self, state: &[u64]) -> bool {
        let mut contexts = self.contexts.iter();
        contexts.any(|context| context.iter().all(|condition| is_met(*condition, state)))
    }

    /// The state of the reduced game in a state of the game.
    pub fn state(&self, state: &[u64]) -> Vec<u64> {
        let mut reduced = Vec::new();
        self.part.project(state, &mut reduced);
        reduced
    }

    /// The joint move of the reduced game that a joint move of the game is. `None` where a move is
    /// idle: the state of the reduced game stays.
    pub fn joint_move(&self, joint_move: &[MoveId]) -> Option<Vec<MoveId>> {
        let moves = joint_move.iter();
        moves.map(|&mv| *self.part.moves.get(mv)?).collect()
    }

    /// A legal move of the game that a move of the reduced game stands for, in the state of the
    /// reasoner.
    pub fn legal_move(
        &self,
        reasoner: &mut dyn Reasoner,
        role: RoleId,
        mv: MoveId,
    ) -> Option<MoveId> {
        let mut legal = reasoner.legal_moves(role).iter().copied();
        legal.find(|&whole| self.part.moves.get(whole) == Some(&Some(mv)))
    }

    /// The moves of the game from a state on that some moves of a reduced game of one role stand
    /// for.
    pub fn legal_moves(
        &self,
        machine: &Arc<dyn Machine>,
        state: &[u64],
        moves: &[MoveId],
    ) -> Option<Vec<MoveId>> {
        let mut reasoner = Arc::clone(machine).reasoner();
        reasoner.set_state(state);
        let mut next = Vec::new();
        let mut follow = |&mv: &MoveId| {
            let whole = self.legal_move(&mut *reasoner, RoleId(0), mv)?;
            reasoner.next_state(&[whole], &mut next);
            reasoner.set_state(&next);
            Some(whole)
        };
        moves.iter().map(&mut follow).collect()
    }
}

fn is_met((base, value): Condition, state: &[u64]) -> bool {
    let word = state.get(base.index() / 64).copied().unwrap_or(0);
    (word >> (base.index() % 64) & 1 == 1) == value
}
