//! What is found, and the position that shows it.

use panza_gdl::Diagnostic;

/// One finding, with a position that shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What was found, and the place in the rules.
    pub diagnostic: Diagnostic,
    /// The position. `None` for what is said of all games together.
    pub evidence: Option<Evidence>,
}

/// A position and how it is reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evidence {
    /// The facts that hold, sorted.
    pub facts: Vec<String>,
    /// The joint moves from the initial state, each with a move for every role in role order.
    pub moves: Vec<Vec<String>>,
}

impl Evidence {
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
