//! Freedom of moves: which moves are never legal, and which are forced, as far as the autonomous
//! bases decide.
//!
//! The autonomous bases run through one fixed sequence of states. For each of these states a
//! ternary simulation of the network, in which all other bases are unknown, bounds where each move
//! is legal. 64 states are simulated at once.

use crate::ternary::{May, Ternary, cone, support};
use panza_gdl::{BaseId, IdVec, MoveId, RoleId};
use panza_propnet::Network;
use panza_sync::Budget;

/// The most states of the autonomous bases that are simulated.
const MAX_STATES: usize = 1 << 10;

/// How far a role is free to make a move, as far as the autonomous bases decide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Freedom {
    /// It is never legal.
    Never,
    /// Where it may be legal, no other move of its role is.
    Forced,
    /// Other moves may be legal beside it.
    Free,
}

/// The states of the autonomous bases on which legality depends.
pub(crate) struct AutonomousStates {
    /// These bases, in rising order.
    pub needed: Vec<BaseId>,
    /// Every state that they run through, a value for each.
    pub states: Vec<Vec<bool>>,
}

/// The states of the autonomous bases on which legality depends. The outer `None` when the budget
/// is spent, the inner one where there are more than [`MAX_STATES`].
pub(crate) fn autonomous_states(
    network: &Network,
    is_autonomous: &IdVec<BaseId, bool>,
    budget: &mut Budget,
) -> Option<Option<AutonomousStates>> {
    // The autonomous bases on which legality depends, directly or not.
    let is_needed = support(network, network.legal.iter().copied(), |base| {
        is_autonomous[base]
    });
    let needed: Vec<BaseId> = network
        .facts
        .ids()
        .filter(|&base| is_needed[base])
        .collect();
    let next_cone = cone(network, needed.iter().map(|&base| network.next[base]));
    let mut ternary = Ternary::new(network);
    let is_initial: std::collections::HashSet<BaseId> = network.initial.iter().copied().collect();
    let mut state: Vec<bool> = needed
        .iter()
        .map(|base| is_initial.contains(base))
        .collect();
    let mut states: Vec<Vec<bool>> = Vec::new();
    let mut known = std::collections::HashSet::new();
    while known.insert(state.clone()) {
        if states.len() == MAX_STATES {
            return Some(None);
        }
        for (&base, &is_on) in needed.iter().zip(&state) {
            ternary.bases[base] = May::known(is_on);
        }
        ternary.run(&next_cone);
        budget.spend(next_cone.len() + 64)?;
        let next = needed.iter().map(|&base| ternary.of(network.next[base]));
        // An unknown value ends the simulation.
        let next: Option<Vec<bool>> = next.map(May::value).collect();
        states.push(std::mem::take(&mut state));
        match next {
            Some(next) => state = next,
            None => return Some(None),
        }
    }
    Some(Some(AutonomousStates { needed, states }))
}

/// Finds the freedom of each move; `None` when the budget is spent. All moves are free where the
/// autonomous bases have more than [`MAX_STATES`] states.
pub(super) fn freedom(
    network: &Network,
    is_autonomous: &IdVec<BaseId, bool>,
    budget: &mut Budget,
) -> Option<IdVec<MoveId, Freedom>> {
    let legal_cone = cone(network, network.legal.iter().copied());
    let Some(AutonomousStates { needed, states }) =
        autonomous_states(network, is_autonomous, budget)?
    else {
        return Some(network.moves.iter().map(|_| Freedom::Free).collect());
    };
    let mut ternary = Ternary::new(network);
    let mut freedom: IdVec<MoveId, Freedom> =
        network.moves.iter().map(|_| Freedom::Never).collect();
    for batch in states.chunks(64) {
        for (place, &base) in needed.iter().enumerate() {
            let on = batch
                .iter()
                .rev()
                .fold(0, |on, state| on << 1 | u64::from(state[place]));
            ternary.bases[base] = May { on, off: !on };
        }
        let all = u64::MAX >> (64 - batch.len());
        ternary.run(&legal_cone);
        budget.spend(legal_cone.len())?;
        // For each role where some move may be legal, and where several may.
        let mut one: IdVec<RoleId, u64> = network.roles.iter().map(|_| 0).collect();
        let mut several = one.clone();
        let may = |ternary: &Ternary<'_>, mv: MoveId| ternary.of(network.legal[mv]).on & all;
        for (mv, (role, _)) in network.moves.enumerate() {
            let on = may(&ternary, mv);
            several[*role] |= one[*role] & on;
            one[*role] |= on;
        }
        for (mv, (role, _)) in network.moves.enumerate() {
            let on = may(&ternary, mv);
            if on & several[*role] != 0 {
                freedom[mv] = Freedom::Free;
            } else if on != 0 && freedom[mv] == Freedom::Never {
                freedom[mv] = Freedom::Forced;
            }
        }
    }
    Some(freedom)
}
