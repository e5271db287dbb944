//! A position that shows what is said of a game, and how it is reached, as text.

use panza_gdl::MoveId;
use panza_machine::GameInfo;

/// A position and how it is reached.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Evidence {
    /// The facts that hold, sorted.
    pub facts: Vec<String>,
    /// The joint moves from the initial state, each with a move for every role in role order.
    pub moves: Vec<Vec<String>>,
}

impl Evidence {
    /// The evidence of a state that these joint moves lead to.
    pub(super) fn of<'m>(
        info: &dyn GameInfo,
        state: &[u64],
        path: impl Iterator<Item = &'m [MoveId]>,
    ) -> Self {
        let texts = path.map(|moves| moves.iter().map(|&mv| info.move_text(mv)).collect());
        Self {
            facts: info.state_facts(state),
            moves: texts.collect(),
        }
    }

    /// The position as one list of facts, in the form that `panza search --state` reads.
    pub fn state_line(&self) -> String {
        format!("({})", self.facts.join(" "))
    }

    /// The joint moves on one line, each in parentheses.
    pub fn moves_line(&self) -> String {
        let joint_moves = self
            .moves
            .iter()
            .map(|moves| format!("({})", moves.join(" ")));
        joint_moves.collect::<Vec<_>>().join(" ")
    }
}
