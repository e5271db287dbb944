//! What is learned from games of the machine against itself, and what the search makes of it: the
//! metagame of a match.
//!
//! Never knows: how it is learned (see [`metagame`](crate::player::metagame)).

use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::analysis::heuristics::{self, Heuristic};
use crate::config::MetagameSettings;
use crate::machine::Machine;
use crate::player::metagame::{self, MetagameBudget};
use crate::search::SearchConfig;

/// The learned evaluation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Learned {
    /// Games that it was learned from.
    pub games: usize,
    /// Positions of other games in which it was held against what came of them.
    pub positions: usize,
    /// Its correlation with results there, -1 to 1.
    pub correlation: f64,
    /// How well means of a few playouts do.
    pub correlation_of_playouts: f64,
    /// What kinds of facts are worth, the weightiest first.
    pub kinds: Vec<Heuristic>,
}

/// What the search would be run with.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Decided {
    /// The weight of the evaluation beside playouts, 0 to 1.
    pub evaluation_share: f32,
    /// So many times the exploration that such results get.
    pub exploration: f32,
    /// Settings that were tried against others in whole games.
    pub trials: usize,
}

/// Learns until then; nothing where nothing could be learned.
pub(super) fn learn(
    machine: &Arc<dyn Machine>,
    (config, settings): (&SearchConfig, &MetagameSettings),
    until: Instant,
) -> Option<(Learned, Decided)> {
    let budget = MetagameBudget {
        until,
        cancelled: Arc::default(),
    };
    let known = metagame::study(machine, None, config, settings, &budget);
    let evaluation = known.evaluation.as_ref()?;
    let facts = machine.info().facts()?;
    let learned = Learned {
        games: known.games,
        positions: known.validation.positions,
        correlation: known.validation.evaluation,
        correlation_of_playouts: known.validation.playouts,
        kinds: heuristics::of(evaluation, facts),
    };
    let decided = Decided {
        evaluation_share: known.parameters.evaluation_share,
        exploration: known.parameters.exploration,
        trials: known.trials.len(),
    };
    Some((learned, decided))
}
