//! What is told about a game: the figures that scripts read, and the study that they are from.

use serde::{Deserialize, Serialize};

use crate::analysis::sample::Turns;
use crate::player::study::{
    AutonomousFound, Decided, FactorFound, Latched, Learned, Study, SymmetriesFound,
};

/// How many facts stay what they are; the study has their names.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LatchCounts {
    /// Facts that stay true once they are true.
    pub positive: usize,
    /// Facts that stay false once they are false.
    pub negative: usize,
    /// Facts that stay once another one is settled.
    pub conditional: usize,
    /// Settled facts that bound some role's goal by themselves.
    pub bounds: Option<usize>,
    /// Whether all facts were looked at; if not, there may be more.
    pub is_complete: bool,
}

/// All that is told about a game. What is not known is null, and so is what was not always the
/// same.
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
    /// The games that the game falls into; one where it is one.
    pub factors: Option<Vec<FactorFound>>,
    /// Facts that stay what they are.
    pub latches: Option<LatchCounts>,
    /// Symmetries of the rules.
    pub symmetries: Option<SymmetriesFound>,
    /// The evaluation learned by self-play.
    pub heuristics: Option<Learned>,
    /// What the player would search with.
    pub parameters: Option<Decided>,
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
        let structure = study.structure.as_ref();
        let proven = structure.and_then(|structure| proven_length(structure.autonomous.as_ref()?));
        let latches = structure.and_then(|structure| structure.latches.as_ref());
        Self {
            game: game.to_string(),
            roles: study.roles.len(),
            simultaneous: sampled.turns.map(|turns| turns == Turns::Simultaneous),
            fixed_sum: sampled.fixed_sum,
            fixed_length: match sampled.ends_seen {
                0 => proven,
                _ => sampled.fixed_length,
            },
            mean_length: sampled.length.map(|length| length.mean),
            branching: sampled.branching.map(|branching| branching.mean),
            factors: structure.and_then(|structure| structure.factors.clone()),
            latches: latches.map(LatchCounts::of),
            symmetries: structure.and_then(|structure| structure.symmetries.clone()),
            heuristics: study.heuristics.clone(),
            parameters: study.parameters,
            machine: study.machine.clone(),
            reason: None,
            build_seconds: 0.0,
            seconds: 0.0,
            study,
        }
    }
}

impl LatchCounts {
    fn of(latches: &Latched) -> Self {
        Self {
            positive: latches.positive.len(),
            negative: latches.negative.len(),
            conditional: latches.conditional,
            bounds: latches.bounds.as_ref().map(Vec::len),
            is_complete: latches.is_complete,
        }
    }
}

/// The joint moves of every game, where the rules leave no other length.
pub fn proven_length(found: &AutonomousFound) -> Option<u32> {
    let is_exact = |&horizon: &u32| horizon == found.earliest_end;
    found.horizon.filter(is_exact)
}
