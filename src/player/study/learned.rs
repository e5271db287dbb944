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

/// What positions promise.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Promises {
    /// Games that it was learned from.
    pub games: usize,
    /// Positions of other games in which it was held against what came of them.
    pub positions: usize,
    /// How well it foretells goals there: a correlation, -1 to 1.
    pub correlation: f64,
    /// How well means of a few playouts do.
    pub correlation_of_playouts: f64,
    /// What kinds of facts are worth, the weightiest first.
    pub kinds: Vec<Heuristic>,
}

/// What the search would be run with.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Decided {
    /// The weight of what positions promise beside playouts, 0 to 1.
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
) -> Option<(Promises, Decided)> {
    let budget = MetagameBudget {
        until,
        cancelled: Arc::default(),
    };
    let known = metagame::study(machine, None, config, settings, &budget);
    let evaluation = known.evaluation.as_ref()?;
    let facts = machine.info().facts()?;
    let promises = Promises {
        games: known.games,
        positions: known.foresight.positions,
        correlation: known.foresight.evaluation,
        correlation_of_playouts: known.foresight.playouts,
        kinds: heuristics::of(evaluation, facts),
    };
    let decided = Decided {
        evaluation_share: known.parameters.evaluation_share,
        exploration: known.parameters.exploration,
        trials: known.trials.len(),
    };
    Some((promises, decided))
}
