//! What a preparation finds out for alpha-beta: an evaluation that was trained by its own searches.
//!
//! Invariant: the evaluation is of the machine that was prepared.
//!
//! Never uses: the evaluation of the tree.

use std::sync::Arc;
use std::time::Duration;

use super::choice::AgainstTree;
use serde_json::{Value, json};

use panza_game::BuiltGame;
use panza_gdl::RoleId;
use panza_learning::{Evaluation, GradientSums, Known};
use panza_machine::Machine;
use panza_search::alpha_beta::{AlphaBetaValues, LeafTraining, Turns, Units};
use panza_search::{AlphaBetaParameters, Method, SearchConfig, WhyTree, start};
use panza_sync::{Budget, Random};

/// The share of the time left for training for alpha-beta.
pub(super) const LEARNING_SHARE: f64 = 0.75;
/// Prospects are left out where the search is faster by this factor without them. Connect Four,
/// 7.3 times as fast, is better without; gomoku_11x11, 2.5 times as fast, is much better with them.
const MAX_SLOWDOWN: f64 = 4.0;
/// Nodes by which speeds are compared, at most, and the time that they may take.
const MEASURED_NODES: u64 = 2_000;
const MEASURED_TIME: Duration = Duration::from_millis(50);

/// What alpha-beta searches with.
#[derive(Clone, Debug)]
pub struct AlphaBetaPreparation {
    /// Its static values.
    pub evaluation: Arc<Evaluation>,
    /// What changes of the values are counted in.
    pub units: Units,
    /// Whose turn it is.
    pub turns: Turns,
    /// What training goes on with.
    pub sums: Option<GradientSums>,
    /// The games of its training.
    pub games: usize,
}

/// The turns of a game that alpha-beta may play, so that something has to be learned for it.
///
/// # Errors
/// The settings want the tree, the game is of another kind, or the budget is over first.
pub(super) fn turns(
    game: &BuiltGame,
    config: &SearchConfig,
    budget: &Budget,
) -> Result<Turns, WhyTree> {
    match () {
        () if config.method == Method::Tree => return Err(WhyTree::NotTrained),
        () if game.network.is_none() => return Err(WhyTree::NoNetwork),
        () if game.info().facts().is_none() => return Err(WhyTree::NoFacts),
        () => {}
    }
    let random = &mut Random::new(config.seed);
    let found = Turns::find(&game.machine, random, || budget.is_over());
    found.ok_or_else(|| match budget.is_over() {
        true => WhyTree::NoTime,
        false => WhyTree::NotInTurns,
    })
}

/// What is known less its prospects, where those make the search much slower. `None` where they
/// stay, or there are none.
pub(super) fn without_slow_prospects(
    machine: &Arc<dyn Machine>,
    turns: Turns,
    known: &Known,
) -> Option<Known> {
    known.evaluation.prospects()?;
    let facts = known.evaluation.clone().without_prospects();
    let without = time_of_search(machine, turns, facts.clone())?;
    let with = time_of_search(machine, turns, known.evaluation.clone())?;
    let is_slow = with > without.mul_f64(MAX_SLOWDOWN);
    tracing::debug!(
        ?with,
        ?without,
        is_slow,
        "time of a node with and without prospects"
    );
    is_slow.then_some(Known {
        evaluation: facts,
        games: known.games,
        sums: None,
    })
}

/// The processor time of a node in a short search with an evaluation.
fn time_of_search(
    machine: &Arc<dyn Machine>,
    turns: Turns,
    evaluation: Evaluation,
) -> Option<Duration> {
    let values = AlphaBetaValues {
        evaluation: Arc::new(evaluation),
        units: Units::default(),
        turns,
        training: None,
    };
    let usual = SearchConfig::deterministic(1);
    let config = SearchConfig {
        method: Method::AlphaBeta,
        alpha_beta_values: Ok(values),
        alpha_beta: AlphaBetaParameters {
            table_bytes: 1 << 16,
            ..usual.alpha_beta
        },
        ..usual
    };
    let started = start(machine, RoleId(0), &machine.initial_state(), &config);
    let mut search = started.as_asked(config.method).ok()?;
    search.run(&Budget::lasting(MEASURED_TIME).with_steps(MEASURED_NODES));
    let spent = Some(search.processor_time()).filter(|spent| !spent.is_zero())?;
    Some(spent / u32::try_from(search.statistics().iterations.max(1)).ok()?)
}

impl AlphaBetaPreparation {
    /// The result of a training. `games` is the number of games before it.
    pub(super) fn of(trained: LeafTraining, turns: Turns, games: usize) -> Self {
        Self {
            evaluation: Arc::new(trained.evaluation),
            units: trained.units,
            turns,
            sums: Some(trained.sums),
            games: games + trained.games,
        }
    }

    /// What training goes on with.
    pub(super) fn known(&self) -> Known {
        Known {
            evaluation: (*self.evaluation).clone(),
            games: self.games,
            sums: self.sums.clone(),
        }
    }

    /// What the search gets, without training in a match.
    pub fn values(&self) -> AlphaBetaValues {
        AlphaBetaValues {
            evaluation: Arc::clone(&self.evaluation),
            units: self.units,
            turns: self.turns,
            training: None,
        }
    }

    /// As logged, with the games against the tree.
    pub(super) fn to_json(&self, against_tree: Option<AgainstTree>, prior: Option<f32>) -> Value {
        let rounded = |number: f32| (f64::from(number) * 1000.0).round() / 1000.0;
        json!({
            "games": self.games,
            "games_against_tree": against_tree.map(|it| rounded(it.games)),
            "points_against_tree": against_tree.map(|it| rounded(it.points)),
            "expected_share": prior.map(rounded),
            "change_by_a_move": self.units.change,
            "worth_of_a_turn": self.units.turn,
        })
    }
}
