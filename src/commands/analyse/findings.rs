//! What is told about a game: the figures that scripts read, and the study that they are from.

use serde::{Deserialize, Serialize};

use crate::analysis::sample::Turns;
use crate::player::study::Study;

/// All that is told about a game. What is not known is null, and so is what was not always the same.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The game's name.
    pub game: String,
    /// How many roles there are.
    pub roles: usize,
    /// Whether there are states in which several roles have a choice.
    pub simultaneous: Option<bool>,
    /// What the goals of all roles always added up to.
    pub fixed_sum: Option<u32>,
    /// How many joint moves every game had.
    pub fixed_length: Option<u32>,
    /// Joint moves of a random game on average.
    pub mean_length: Option<f64>,
    /// Legal joint moves of a state on average.
    pub branching: Option<f64>,
    /// What the game is played with.
    pub machine: String,
    /// Why that is the prover, where it is.
    pub reason: Option<String>,
    /// From rules to machine.
    pub build_seconds: f64,
    /// What the study took.
    pub seconds: f64,
    /// All findings.
    pub study: Study,
}

impl Report {
    /// What a study found.
    pub fn new(game: &str, study: Study) -> Self {
        let sampled = &study.sampled;
        Self {
            game: game.to_string(),
            roles: study.roles.len(),
            simultaneous: sampled.turns.map(|turns| turns == Turns::Simultaneous),
            fixed_sum: sampled.fixed_sum,
            fixed_length: sampled.fixed_length,
            mean_length: sampled.length.map(|length| length.mean),
            branching: sampled.branching.map(|branching| branching.mean),
            machine: study.machine.clone(),
            reason: None,
            build_seconds: 0.0,
            seconds: 0.0,
            study,
        }
    }
}
