//! What a person asks of a table.

use serde::Deserialize;
use serde_json::Value;

use super::setting::Effort;
use super::view::Start;

/// What a person does at a table. In JSON `do` is its word.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub enum Command {
    /// Chooses a move for a role on the turn of this number.
    Move {
        /// The number of joint moves before the choice.
        turn: usize,
        /// The role's name.
        role: String,
        /// The move as GDL text.
        text: String,
    },
    /// Goes back to the last turn on which a person had a choice.
    Undo,
    /// Asks for a good move for a role.
    Hint {
        /// The role's name.
        role: String,
    },
    /// Gives the game up for a role.
    Resign {
        /// The role's name.
        role: String,
    },
    /// Panza ends its search and plays the best move that it has found, or gives it as the hint.
    Now,
    /// Panza thinks for this long from now on.
    Think(Effort),
    /// Panza plays the roles that people played, and people those of Panza.
    Switch,
    /// Ends the table and its work.
    Close,
    /// At a study table, goes to the position behind these joint moves.
    Go {
        /// The joint moves as GDL texts.
        line: Vec<Vec<String>>,
        /// Where they begin; without it, where the line that is shown does.
        start: Option<Start>,
    },
    /// Looks whether lines that a person brings to a study table are legal.
    Check {
        /// A number by which the page knows the answer.
        number: u64,
        /// The trees of lines.
        chapters: Vec<LineTree>,
    },
    /// Keeps the tree of lines of a study table, as its page writes it.
    Lines {
        /// The tree.
        lines: Value,
    },
    /// Stops what Panza does by itself, such as moves and searches, or lets it go on.
    Pause {
        /// Whether it stops.
        on: bool,
    },
    /// Reports the moves of this role where it has a choice.
    Watch {
        /// The role's name.
        role: String,
    },
    /// Looks for blunders in a line.
    Review {
        /// The joint moves from the start of the study.
        line: Vec<Vec<String>>,
        /// The effort for each position, in milliseconds as `panza study --ms` counts them.
        ms: u32,
    },
    /// Stops that, and forgets what was found.
    EndReview,
}

/// The tree of lines of a chapter, as a page sends it.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct LineTree {
    /// The facts of the position that it begins with; nothing for the initial position.
    pub facts: String,
    /// For each node behind the first, the number of its parent and its joint move. Numbers count
    /// from 0, the first; a parent comes before its children, and each line is written to its end.
    pub lines: Vec<(usize, Vec<String>)>,
}
