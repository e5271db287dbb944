//! Why alpha-beta does not play a game.
//!
//! The tree plays then. Whoever finds the reason first keeps it, and commands, logs and pages tell
//! it, so that nobody takes one search for the other.
//!
//! Never uses: searches, machines.

use std::fmt;

/// Why alpha-beta does not play a game.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum WhyTree {
    /// Nothing was trained for it.
    #[default]
    NotTrained,
    /// There was no time to train an evaluation.
    NoTime,
    /// The game has no network: the prover plays it.
    NoNetwork,
    /// Its states have no facts that could be inputs of an evaluation.
    NoFacts,
    /// It is no game of two roles that choose in turns.
    NotInTurns,
    /// The sum of its goals is not fixed.
    SumNotFixed,
    /// The tree was the stronger search in games of both.
    TreeIsStronger,
}

impl WhyTree {
    /// The reason, as the second half of a sentence.
    pub fn text(self) -> &'static str {
        match self {
            Self::NotTrained => "no evaluation was trained for it",
            Self::NoTime => "there was no time to train an evaluation for it",
            Self::NoNetwork => "the game has no network",
            Self::NoFacts => "the states of the game have no facts to learn from",
            Self::NotInTurns => "it is for games of two roles in turns",
            Self::SumNotFixed => "it is for games whose goals have a fixed sum",
            Self::TreeIsStronger => "the tree won more games of both searches",
        }
    }
}

impl fmt::Display for WhyTree {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "alpha-beta does not play: {}", self.text())
    }
}

impl std::error::Error for WhyTree {}
