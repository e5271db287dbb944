//! Training an evaluation by self-play, and analyses for people.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use panza_analysis::{Prospects, Symmetries, Tuples};
use panza_game::BuiltGame;
use panza_learning::statistics::{SampleSize, Sampled, sample};
use panza_learning::{Learned, LearningPlan};
use panza_metagame::{Preparation, PreparationBudget, WithoutInputs};
use panza_search::{Method, SearchConfig};
use panza_sync::Budget;

/// Limit of each analysis, in steps.
const STEPS: u64 = 1 << 28;
/// The share of the time for symmetries, and for tuples.
const STRUCTURE_SHARE: f64 = 0.1;

/// What is found out about a game without training.
#[derive(Clone, Debug)]
pub struct Analysed {
    /// Statistics of random games.
    pub sampled: Sampled,
    /// The number of permutations that keep the rules, if it is known.
    pub symmetries: Option<Symmetries>,
    /// The number of independent games within the game; 1 where none were found.
    pub n_factors: usize,
}

/// The limits of a part of the work.
fn limits(time: Duration, share: f64, stop: &Arc<AtomicBool>) -> Budget {
    Budget::lasting(time.mul_f64(share)).stopped_by(stop)
}

fn symmetries(game: &BuiltGame, limits: &Budget) -> Option<Symmetries> {
    let network = game.network.as_ref()?;
    Some(Symmetries::find(network, &mut limits.with_steps(STEPS)))
}

/// Plays random games and analyses the rules for about this time.
pub fn analyse(game: &BuiltGame, time: Duration, seed: u64, stop: &Arc<AtomicBool>) -> Analysed {
    let symmetries = symmetries(game, &limits(time, STRUCTURE_SHARE, stop));
    let budget = limits(time, 1.0 - STRUCTURE_SHARE, stop);
    Analysed {
        sampled: sample(&game.machine, SampleSize::default(), seed, &budget),
        symmetries,
        n_factors: game.parts.as_ref().map_or(1, |parts| parts.parts.len()),
    }
}

/// Trains an evaluation for this time. `None` where there can be none: more roles than an
/// evaluation takes.
pub fn study(
    game: &BuiltGame,
    time: Duration,
    threads: usize,
    seed: u64,
    stop: &Arc<AtomicBool>,
) -> Option<Learned> {
    let budget = Budget::lasting(time).stopped_by(stop);
    let symmetries = symmetries(game, &limits(time, STRUCTURE_SHARE, stop));
    let symmetries = symmetries.filter(|found| !found.is_trivial());
    let network = game.network.as_ref();
    let tuples = network.and_then(|network| {
        let mut budget = limits(time, STRUCTURE_SHARE, stop).with_steps(STEPS);
        Tuples::find(network, &game.machine, &mut budget)
    });
    let prospects = network.and_then(|network| {
        Prospects::find(
            network,
            &mut limits(time, STRUCTURE_SHARE, stop).with_steps(STEPS),
        )
    });
    panza_learning::learn(
        &game.machine,
        symmetries.as_ref(),
        tuples.map(Arc::new),
        prospects.map(Arc::new),
        None,
        &budget,
        LearningPlan {
            threads,
            seed,
            ..LearningPlan::default()
        },
    )
}

/// Trains evaluations for the tree and for alpha-beta for this time, as a match does in its start
/// clock. Where the method is `Auto`, games choose between the searches.
pub fn study_both(
    game: &BuiltGame,
    time: Duration,
    method: Method,
    (threads, seed): (usize, u64),
    stop: &Arc<AtomicBool>,
) -> Preparation {
    let config = SearchConfig {
        method,
        ..SearchConfig::deterministic(seed)
    };
    let budget = PreparationBudget {
        limits: Budget::lasting(time).stopped_by(stop),
        extension: Duration::ZERO,
        learning: true,
        threads,
        sampling: None,
        without: WithoutInputs::default(),
        processor_time: false,
    };
    panza_metagame::prepare(game, None, &config, &budget)
}
