//! What is found, and the position that shows it.

use panza_gdl::Diagnostic;

use crate::evidence::Evidence;

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
