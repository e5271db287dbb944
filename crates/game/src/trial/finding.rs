//! What is found, and the position that shows it.

use panza_gdl::Diagnostic;

use crate::evidence::Evidence;

/// One finding, with a position that shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What was found, and the place in the rules.
    pub diagnostic: Diagnostic,
    /// The position. `None` for what is said of all games together.
    pub evidence: Option<Evidence>,
}
