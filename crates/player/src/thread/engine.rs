//! The position of a match and a search of it for our role.

use crate::common::{OurRole, Position};
use crate::messages::SentMoves;
use crate::search::MatchSearcher;
use panza_game::BuiltGame;
use panza_gdl::{MoveId, RoleId};

/// A position and its search.
pub(crate) struct Engine {
    pub role: RoleId,
    pub position: Position,
    pub searcher: Box<dyn MatchSearcher>,
}

impl Engine {
    /// An engine in the initial position. `searcher` makes the search of a role in a state.
    pub fn new(
        game: &BuiltGame,
        role: &OurRole,
        searcher: impl FnOnce(RoleId, &[u64]) -> Box<dyn MatchSearcher>,
    ) -> Self {
        let role = role.id(game.machine.info());
        let position = Position::new(&game.machine);
        let searcher = searcher(role, position.state());
        Self {
            role,
            position,
            searcher,
        }
    }

    /// A legal move of our role here.
    pub fn first_legal(&mut self) -> Option<MoveId> {
        self.position.first_legal(self.role)
    }

    /// Follows the moves that were played, and returns what is wrong with them.
    pub fn advance(&mut self, moves: &SentMoves) -> Vec<String> {
        let step = self.position.advance(moves);
        let state = self.position.state();
        match step.made {
            Some((joint_move, true)) => self.searcher.advance(&joint_move, state),
            Some((_, false)) => self.searcher.set_state(state),
            None => {}
        }
        step.faults
    }
}
