//! A study by names, as `panza analyse` shows it.

use serde::Serialize;

use super::study::Study;
use super::tuning::Trial;
use crate::analysis::autonomous::Autonomous;
use crate::analysis::factors::Factors;
use crate::analysis::heuristics::Heuristic;
use crate::analysis::sample::Sampled;
use crate::build::BuiltGame;
use crate::ids::{BaseId, RoleId};
use crate::propnet::Network;

/// The size of a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct NetworkSize {
    /// Reachable facts.
    pub bases: usize,
    /// Reachable moves of all roles.
    pub moves: usize,
    /// Gates, before the passes.
    pub gates: usize,
    /// Edges between them.
    pub edges: usize,
}

/// Facts that no move changes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct AutonomousReport {
    /// Facts that are true at exactly one step of the game, in that order.
    pub step_counter: Vec<String>,
    /// Facts that come and go with a fixed period.
    pub turn: Vec<String>,
    /// Number of other autonomous facts.
    pub others: usize,
    /// Upper bound on the joint moves of a game.
    pub horizon: Option<u32>,
    /// Lower bound on the joint moves of a game, unless some role has no legal move.
    pub earliest_end: u32,
}

/// A game within the game.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FactorReport {
    /// Number of its own facts.
    pub bases: usize,
    /// Number of moves that act in it, of all roles.
    pub moves: usize,
    /// The roles that move in it.
    pub roles: Vec<String>,
    /// Whether the end or some goal depends on it.
    pub is_relevant: bool,
}

/// Numbers of facts that never change again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LatchReport {
    /// Facts that stay true.
    pub positive: usize,
    /// Facts that stay false.
    pub negative: usize,
    /// Facts that stay once another one is latched, beside those above.
    pub conditional: usize,
    /// Bounds on goals by a single latched fact, as the search uses them. `None` where unknown.
    pub bounds: Option<usize>,
    /// Whether all facts were checked.
    pub is_complete: bool,
}

/// Permutations of facts and moves that keep the rules.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SymmetryReport {
    /// Number of those that keep each role, the identity included. `None` where unknown or above
    /// 2⁶⁴.
    pub order: Option<u64>,
    /// Number of those that also keep the initial state.
    pub order_at_start: Option<u64>,
    /// Number of generators.
    pub generators: usize,
    /// Whether roles can be swapped.
    pub swaps_roles: bool,
}

/// The trained evaluation.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct EvaluationReport {
    /// Training games.
    pub games: usize,
    /// Positions of other games, for validation.
    pub positions: usize,
    /// Correlation with the results there, -1 to 1.
    pub correlation: f64,
    /// The same of means of a few playouts.
    pub correlation_of_playouts: f64,
    /// Values of kinds of facts, the most important first.
    pub kinds: Vec<Heuristic>,
}

/// The chosen search settings.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct ParametersReport {
    /// Weight of the evaluation beside playouts, 0 to 1.
    pub evaluation_share: f32,
    /// Factor on the exploration of the settings.
    pub exploration: f32,
    /// Number of trials of other settings.
    pub trials: usize,
}

/// A study by names. What is not known is `None`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct StudyReport {
    /// The kind of the machine.
    pub machine: String,
    /// The roles' names, in order.
    pub roles: Vec<String>,
    /// `None` for a game played by the prover and for very large games.
    pub network: Option<NetworkSize>,
    /// Candidate phases: exactly one fact of each was true in each state met.
    pub mutex_groups: Vec<Vec<String>>,
    /// Facts that no move changes.
    pub autonomous: Option<AutonomousReport>,
    /// The factors; one for a game that does not factor.
    pub factors: Option<Vec<FactorReport>>,
    /// Facts that never change again.
    pub latches: Option<LatchReport>,
    /// Symmetries of the rules.
    pub symmetries: Option<SymmetryReport>,
    /// Statistics of random games.
    pub sampled: Option<Sampled>,
    /// The trained evaluation.
    pub heuristics: Option<EvaluationReport>,
    /// The chosen search settings; `None` where nothing was learned.
    pub parameters: Option<ParametersReport>,
    /// The trials of other settings.
    pub trials: Vec<Trial>,
}

impl StudyReport {
    /// The report of a study of this game.
    pub fn new(game: &BuiltGame, study: &Study) -> Self {
        let network = game.network.as_deref();
        let structure = &study.structure;
        let parameters = study.evaluation.as_ref().map(|_| ParametersReport {
            evaluation_share: study.parameters.evaluation_share,
            exploration: study.parameters.exploration,
            trials: study.trials.len(),
        });
        Self {
            machine: game.machine.kind().to_string(),
            roles: game.info().roles(),
            network: network.map(|network| NetworkSize {
                bases: network.facts.len(),
                moves: network.moves.len(),
                gates: network.gates.len(),
                edges: network.n_edges(),
            }),
            mutex_groups: match network {
                Some(network) => {
                    let groups = game.mutex_groups.iter();
                    groups.map(|group| names(network, group)).collect()
                }
                None => Vec::new(),
            },
            autonomous: network
                .zip(study.autonomous.as_ref())
                .map(|(network, found)| autonomous(network, found)),
            factors: network
                .zip(structure.factors.as_deref())
                .map(|(network, found)| factors(network, found)),
            latches: structure.latches.as_ref().map(|found| LatchReport {
                positive: found.positive.len(),
                negative: found.negative.len(),
                conditional: found.conditional.len(),
                bounds: structure.score_ranges.as_ref().map(|it| it.len()),
                is_complete: found.is_complete,
            }),
            symmetries: structure.symmetries.as_ref().map(|found| {
                let small = |order: Option<u128>| order.and_then(|order| u64::try_from(order).ok());
                SymmetryReport {
                    order: small(found.order),
                    order_at_start: small(found.order_at_start),
                    generators: found.generators.len(),
                    swaps_roles: !found.role_swaps.is_empty(),
                }
            }),
            sampled: study.sampled.clone(),
            heuristics: study.evaluation.as_ref().map(|_| EvaluationReport {
                games: study.games,
                positions: study.validation.positions,
                correlation: study.validation.evaluation,
                correlation_of_playouts: study.validation.playouts,
                kinds: study.heuristics.clone(),
            }),
            parameters,
            trials: study.trials.clone(),
        }
    }
}

fn names(network: &Network, bases: &[BaseId]) -> Vec<String> {
    let names = bases.iter().map(|&base| network.facts[base].clone());
    names.collect()
}

fn autonomous(network: &Network, found: &Autonomous) -> AutonomousReport {
    AutonomousReport {
        step_counter: names(network, &found.step_counter),
        turn: names(network, &found.turn),
        others: found.others.len(),
        horizon: found.horizon,
        earliest_end: found.earliest_end,
    }
}

/// The factors, or the whole game as one without its autonomous facts.
fn factors(network: &Network, found: &Factors) -> Vec<FactorReport> {
    let names = |roles: &[RoleId]| {
        let names = roles.iter().map(|&role| network.roles[role].clone());
        names.collect::<Vec<_>>()
    };
    if !found.is_split() {
        return vec![FactorReport {
            bases: network.facts.len() - found.autonomous.len(),
            moves: network.moves.len(),
            roles: network.roles.iter().cloned().collect(),
            is_relevant: true,
        }];
    }
    let factors = found.factors.iter().map(|factor| FactorReport {
        bases: factor.bases.len(),
        moves: factor.moves.iter().map(Vec::len).sum(),
        roles: names(&factor.roles),
        is_relevant: factor.is_relevant,
    });
    factors.collect()
}
