//! A state of the game.

use std::sync::Arc;

use panza_gdl::TermId;

/// The facts that hold, without the word `true`: term ids of one prover, ascending, each once.
///
/// Equal states of one prover are equal values. Cloning is cheap.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State(Arc<[TermId]>);

impl State {
    /// The state in which just these facts hold.
    pub(super) fn of(facts: &mut Vec<TermId>) -> Self {
        facts.sort_unstable();
        facts.dedup();
        Self(facts.as_slice().into())
    }

    /// The facts, ascending by id.
    pub(super) fn facts(&self) -> &[TermId] {
        &self.0
    }
}
