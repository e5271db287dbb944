//! Why a game was not built.

use panza_ground::GroundError;
use panza_propnet::NetworkError;
use panza_prover::ProverError;
use panza_sync::Budget;
use thiserror::Error;

/// Why a game was not built.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum BuildError {
    /// The stop of the budget was set. No other builder is worth a try.
    #[error("the game is no longer needed")]
    Stopped,
    /// The rules have no ground program within the budget.
    #[error(transparent)]
    Ground(GroundError),
    /// The ground program has no network within the budget.
    #[error(transparent)]
    Network(NetworkError),
    /// The rules cannot be evaluated.
    #[error(transparent)]
    Prover(#[from] ProverError),
    /// The text of a panic.
    #[error("building panicked: {0}")]
    Panicked(String),
    /// A builder from elsewhere failed, and why.
    #[error("{0}")]
    Other(String),
}

impl BuildError {
    /// This error, or [`BuildError::Stopped`] where the budget was stopped: every stage then ends
    /// as if its time were up.
    pub(super) fn within(self, budget: &Budget) -> Self {
        match budget.is_stopped() {
            true => Self::Stopped,
            false => self,
        }
    }
}

impl From<String> for BuildError {
    fn from(why: String) -> Self {
        Self::Other(why)
    }
}

impl From<&str> for BuildError {
    fn from(why: &str) -> Self {
        Self::Other(why.to_string())
    }
}
