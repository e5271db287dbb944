//! What the network of a game tells without playing it: what runs by itself, what stays, what is
//! alike, what matters to what.
//!
//! Each finding is the outcome of an analysis, told by the names of facts and moves.
//!
//! Invariants: what is told holds in every game that can be played; an analysis that ran out of
//! time has no finding, or says that its finding is not complete.
//!
//! Never knows: playing.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Stages;
use crate::analysis::autonomous;
use crate::analysis::factors::{Factors, factors};
use crate::analysis::latches::{self, Setting};
use crate::analysis::score_ranges::{ScoreRange, score_ranges};
use crate::analysis::step_budget::StepBudget;
use crate::analysis::symmetry::Symmetries;
use crate::ids::{BaseId, RoleId};
use crate::propnet::Network;

/// Steps that an analysis may take, time or none: some seconds' worth.
const STEPS: u64 = 1 << 31;
/// The share of the time left that each analysis may take.
const SHARE: f64 = 0.25;
/// Factors are worth more: where there are some, all else is easier.
const SHARE_OF_FACTORS: f64 = 0.4;

/// Facts whose value never depends on any move.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AutonomousFound {
    /// Facts that are true at exactly one step of the game, ordered by step.
    pub step_counter: Vec<String>,
    /// Facts whose values repeat with a short period.
    pub turn: Vec<String>,
    /// The number of other autonomous facts.
    pub others: usize,
    /// Upper bound on the joint moves of a game.
    pub horizon: Option<u32>,
    /// Lower bound on the joint moves of a game that ends in a terminal state.
    pub earliest_end: u32,
}

/// A fact that bounds a role's goal once it is settled.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Bound {
    /// The fact.
    pub fact: String,
    /// Whether it is settled that it is true, or that it is false.
    pub value: bool,
    /// The role.
    pub role: String,
    /// The least goal that the role can then have.
    pub lower: u8,
    /// The greatest.
    pub upper: u8,
}

/// Facts that stay what they are, whatever is played.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Latched {
    /// Facts that stay true once they are true.
    pub positive: Vec<String>,
    /// Facts that stay false once they are false.
    pub negative: Vec<String>,
    /// How many facts stay once another one is settled, beside those that stay anyway.
    pub conditional: usize,
    /// What settled facts alone say of goals. Nothing when it is not known.
    pub bounds: Option<Vec<Bound>>,
    /// Whether all facts were looked at.
    pub is_complete: bool,
}

/// Permutations of facts and moves that leave the rules what they are.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SymmetriesFound {
    /// How many keep each role, the identity counted; nothing when that is not known, or more than
    /// 2⁶⁴.
    pub order: Option<u64>,
    /// How many of these keep the initial state.
    pub order_at_start: Option<u64>,
    /// How many generate them.
    pub generators: usize,
    /// Whether roles can change places.
    pub swaps_roles: bool,
}

/// A game within the game.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FactorFound {
    /// How many facts are its own.
    pub bases: usize,
    /// How many moves do something in it, of all roles together.
    pub moves: usize,
    /// The roles that move in it.
    pub roles: Vec<String>,
    /// Whether the end or some goal hangs on it.
    pub is_relevant: bool,
}

/// All that the network tells. What is not known is nothing.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Structure {
    /// The autonomous facts.
    pub autonomous: Option<AutonomousFound>,
    /// The games that the game falls into; one where it is one.
    pub factors: Option<Vec<FactorFound>>,
    /// What stays.
    pub latches: Option<Latched>,
    /// What is alike.
    pub symmetries: Option<SymmetriesFound>,
}

/// Runs the analyses of a network. `built` is the network before the passes, in which factors and
/// symmetries are plain to see.
pub(super) fn structure(
    stages: &mut Stages,
    network: &Arc<Network>,
    built: Option<&Network>,
) -> Structure {
    let fact = |base: BaseId| network.facts[base].clone();
    let facts = |bases: &[BaseId]| bases.iter().map(|&base| fact(base)).collect();
    let budget = |until| StepBudget::new(STEPS, until);

    let found = stages.run("autonomous", SHARE, |until| {
        autonomous::find(network, &mut budget(until))
    });
    let autonomous = found.as_ref().map(|found| AutonomousFound {
        step_counter: facts(&found.step_counter),
        turn: facts(&found.turn),
        others: found.others.len(),
        horizon: found.horizon,
        earliest_end: found.earliest_end,
    });
    let factors = stages.run("factors", SHARE_OF_FACTORS, |until| {
        let plain = built.unwrap_or(network);
        Some(factored(plain, &factors(plain, until)?))
    });
    let latches = stages.run("latches", SHARE, |until| {
        latched(network, &mut budget(until))
    });
    let symmetries = stages.run("symmetries", SHARE, |until| {
        let found = Symmetries::find(built?, &mut budget(until));
        let is_known = found.order.is_some() || !found.is_trivial();
        let small = |order: Option<u128>| order.and_then(|order| u64::try_from(order).ok());
        is_known.then(|| SymmetriesFound {
            order: small(found.order),
            order_at_start: small(found.order_at_start),
            generators: found.generators.len(),
            swaps_roles: !found.role_swaps.is_empty(),
        })
    });
    Structure {
        autonomous,
        factors,
        latches,
        symmetries,
    }
}

/// The factors, or the whole game as one, without what no move ever changes.
fn factored(network: &Network, found: &Factors) -> Vec<FactorFound> {
    let names =
        |roles: &[RoleId]| Vec::from_iter(roles.iter().map(|&role| network.roles[role].clone()));
    if !found.is_split() {
        return vec![FactorFound {
            bases: network.facts.len() - found.autonomous.len(),
            moves: network.moves.len(),
            roles: names(&Vec::from_iter(network.roles.ids())),
            is_relevant: true,
        }];
    }
    let factors = found.factors.iter().map(|factor| FactorFound {
        bases: factor.bases.len(),
        moves: factor.moves.iter().map(Vec::len).sum(),
        roles: names(&factor.roles),
        is_relevant: factor.is_relevant,
    });
    factors.collect()
}

fn latched(network: &Network, budget: &mut StepBudget) -> Option<Latched> {
    let found = latches::latches(network, budget);
    let is_known = found.is_complete || !budget.is_spent() || found.settings().next().is_some();
    let ranges = found
        .is_complete
        .then(|| score_ranges(network, &found, budget))
        .filter(|_| !budget.is_spent());
    let bound = |range: ScoreRange| {
        let Setting { base, value } = range.setting;
        Bound {
            fact: network.facts[base].clone(),
            value,
            role: network.roles[range.role].clone(),
            lower: range.lower,
            upper: range.upper,
        }
    };
    let names = |bases: &[BaseId]| {
        let texts = bases.iter().map(|&base| network.facts[base].clone());
        texts.collect()
    };
    is_known.then(|| Latched {
        positive: names(&found.positive),
        negative: names(&found.negative),
        conditional: found.conditional.len(),
        bounds: ranges.map(|ranges| ranges.into_iter().map(bound).collect()),
        is_complete: found.is_complete,
    })
}
