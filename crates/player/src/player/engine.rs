//! The position of a match and a search of it.

use super::position::Position;
use super::searcher::Searcher;
use panza_machine::build::BuiltGame;
use panza_rules::ids::RoleId;

/// A position and its search.
pub(super) struct Engine {
    pub position: Position,
    pub searcher: Box<dyn Searcher>,
}

impl Engine {
    /// An engine in the initial position of a role, which is given by its name and its place in the
    /// rulesheet. `searcher` makes the search of a role in a state.
    pub fn new(
        game: &BuiltGame,
        role: (&str, usize),
        searcher: impl FnOnce(RoleId, &[u64]) -> Box<dyn Searcher>,
    ) -> Self {
        let position = Position::new(&game.machine, role);
        let searcher = searcher(position.role(), position.state());
        Self { position, searcher }
    }

    /// Follows the moves that were played, in role order, and returns what is wrong with them.
    pub fn advance(&mut self, moves: &[String]) -> Vec<String> {
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
