//! The moves of one step as a game manager sends them.
//!
//! They are texts, since each machine of a match has numbers of its own for moves, and a machine
//! may be replaced. Clones share one list, so they pass from thread to thread without a copy.
//!
//! Never uses: machines.

use std::ops::Deref;
use std::sync::Arc;

/// The moves of all roles in one step: canonical texts in the order of the roles. They may be
/// unknown to the rules, illegal, too few or too many.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SentMoves(Arc<[String]>);

impl From<Vec<String>> for SentMoves {
    fn from(texts: Vec<String>) -> Self {
        Self(texts.into())
    }
}

impl FromIterator<String> for SentMoves {
    fn from_iter<I: IntoIterator<Item = String>>(texts: I) -> Self {
        Self(texts.into_iter().collect())
    }
}

impl Deref for SentMoves {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.0
    }
}
