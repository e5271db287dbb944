//! Contexts: whose turn it may be.
//!
//! A context is what is known of some bases. The contexts of a game cover all states that it
//! reaches. In each of them a ternary simulation bounds the legal moves of each role.
//!
//! The autonomous bases give contexts, as they run through one sequence of states. Where they do
//! not tell the turns apart, a group of bases does, one for each role: exactly one of them is on in
//! the initial state and, as is shown here, after every joint move.
//!
//! Invariant: each state that is reached agrees with a context. Nothing is sampled.

use std::collections::HashMap;

use super::steps::{Context, JointMoves, Steps};
use crate::autonomous::autonomous_bases;
use crate::factors::freedom::autonomous_states;
use crate::factors::moves::conjuncts;
use crate::ternary::{May, Ternary, UNKNOWN, cone};
use panza_gdl::{BaseId, IdVec, MoveId};
use panza_machine::Condition;
use panza_propnet::{Network, Node};
use panza_sync::Budget;

/// The contexts of a game.
#[derive(Clone, Debug)]
pub(super) struct Contexts {
    pub all: Vec<Context>,
    /// Whether at most one role has a choice in each.
    pub have_turns: bool,
    /// Whether each base is autonomous, or tells contexts apart: what changes as the game goes on,
    /// whatever is done.
    pub goes_on: IdVec<BaseId, bool>,
}

impl Contexts {
    /// Finds the contexts of a game. `None` when the budget is spent.
    pub fn find(network: &Network, budget: &mut Budget) -> Option<Contexts> {
        let is_autonomous = autonomous_bases(network, |_| false);
        let states = autonomous_states(network, &is_autonomous, budget)?;
        let known: Vec<Vec<Condition>> = match &states {
            Some(found) => {
                let of_state =
                    |values: &Vec<bool>| found.needed.iter().copied().zip(values.clone()).collect();
                found.states.iter().map(of_state).collect()
            }
            None => vec![Vec::new()],
        };
        let contexts = Self::of(network, &known, budget)?;
        let mut contexts = match contexts.have_turns {
            true => contexts,
            false => by_group(network, budget)?.unwrap_or(contexts),
        };
        for (base, &is_autonomous) in is_autonomous.enumerate() {
            contexts.goes_on[base] |= is_autonomous;
        }
        Some(contexts)
    }

    /// The contexts with these values; those in which the same moves may be legal are one.
    fn of(network: &Network, known: &[Vec<Condition>], budget: &mut Budget) -> Option<Contexts> {
        let legal_cone = cone(network, network.legal.iter().copied());
        let mut ternary = Ternary::new(network);
        let mut place_of: HashMap<Vec<MoveId>, usize> = HashMap::new();
        let mut all: Vec<Context> = Vec::new();
        for batch in known.chunks(64) {
            for &(base, _) in batch.iter().flatten() {
                ternary.bases[base] = UNKNOWN;
            }
            for (lane, values) in batch.iter().enumerate() {
                for &(base, value) in values {
                    let may = &mut ternary.bases[base];
                    match value {
                        true => may.off &= !(1 << lane),
                        false => may.on &= !(1 << lane),
                    }
                }
            }
            ternary.run(&legal_cone);
            budget.spend(legal_cone.len() + batch.len() * network.moves.len())?;
            for (lane, values) in batch.iter().enumerate() {
                let may_be_legal = |mv: &MoveId| ternary.of(network.legal[*mv]).on >> lane & 1 == 1;
                let legal: Vec<MoveId> = network.moves.ids().filter(may_be_legal).collect();
                match place_of.get(&legal) {
                    Some(&place) => all[place].values.retain(|value| values.contains(value)),
                    None => {
                        place_of.insert(legal.clone(), all.len());
                        all.push(Context::new(network, values.clone(), &legal));
                    }
                }
            }
        }
        let mut goes_on: IdVec<BaseId, bool> = network.facts.iter().map(|_| false).collect();
        let values = all.iter().flat_map(|context| &context.values);
        values.for_each(|&(base, _)| goes_on[base] = true);
        Some(Contexts {
            goes_on,
            have_turns: all.iter().all(Context::is_turn),
            all,
        })
    }
}

/// The contexts by a group of bases of which exactly one is always on. The inner `None` where no
/// such group tells the turns apart.
fn by_group(network: &Network, budget: &mut Budget) -> Option<Option<Contexts>> {
    let group = turn_bases(network, budget)?;
    let n_first = group.iter().filter(|base| network.initial.contains(base));
    if group.len() < 2 || n_first.count() != 1 {
        return Some(None);
    }
    let with_one = |on: &BaseId| {
        let values = group.iter().map(|base| (*base, base == on));
        values.collect::<Vec<_>>()
    };
    let known: Vec<Vec<Condition>> = group.iter().map(with_one).collect();
    let contexts = Contexts::of(network, &known, budget)?;
    if !contexts.have_turns || contexts.all.len() < group.len() {
        return Some(None);
    }
    let mut steps = Steps::new(network, &group, budget)?;
    for context in &contexts.all {
        for batch in JointMoves::batches(context) {
            steps.set(context, &batch);
            let next: Vec<May> = (0..group.len()).map(|place| steps.next(place)).collect();
            budget.spend(steps.work())?;
            let lanes = batch.lanes();
            let (mut one, mut several, mut unknown) = (0, 0, 0);
            for may in next {
                unknown |= may.on & may.off;
                several |= one & may.on;
                one |= may.on;
            }
            if one & lanes != lanes || (several | unknown) & lanes != 0 {
                return Some(None);
            }
        }
    }
    Some(Some(contexts))
}

/// For each role with several moves the base that most of them ask for.
fn turn_bases(network: &Network, budget: &mut Budget) -> Option<Vec<BaseId>> {
    let mut found = Vec::new();
    for role in network.roles.ids() {
        let mut n_asking: HashMap<BaseId, usize> = HashMap::new();
        for (mv, _) in network.moves.enumerate().filter(|(_, of)| of.0 == role) {
            let conditions = conjuncts(network, network.legal[mv]);
            budget.spend(conditions.len() + 1)?;
            for signal in conditions
                .into_iter()
                .filter(|signal| !signal.is_inverted())
            {
                if let Node::Base(base) = network.node(signal) {
                    *n_asking.entry(base).or_default() += 1;
                }
            }
        }
        let most = n_asking.into_iter().filter(|&(_, n_moves)| n_moves > 1);
        let most = most.max_by_key(|&(base, n_moves)| (n_moves, std::cmp::Reverse(base)));
        found.extend(most.map(|(base, _)| base));
    }
    found.sort_unstable();
    found.dedup();
    Some(found)
}
