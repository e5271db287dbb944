//! What is found, and the position that shows it.

use panza_gdl::Diagnostic;

/// Characters of the facts, and of the moves, that a hint shows.
const LONGEST_LINE: usize = 400;

/// One finding, with a position that shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What was found, and the place in the rules.
    pub diagnostic: Diagnostic,
    /// The position. `None` for what is said of all games together.
    pub evidence: Option<Evidence>,
}

impl Finding {
    /// The diagnostic with the evidence in its hint, for editors. What is long is cut there.
    pub fn into_diagnostic(self) -> Diagnostic {
        let mut diagnostic = self.diagnostic;
        if let Some(evidence) = self.evidence {
            let help = &mut diagnostic.help;
            let mut add = |what: &str, line: &str| {
                if !help.is_empty() {
                    help.push('\n');
                }
                *help += &format!("{what}: {}", cut(line));
            };
            add("state", &evidence.state_line());
            if !evidence.moves.is_empty() {
                add("moves", &evidence.moves_line());
            }
        }
        diagnostic
    }
}

/// The first characters of a line.
fn cut(line: &str) -> String {
    match line.char_indices().nth(LONGEST_LINE) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None => line.to_string(),
    }
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
