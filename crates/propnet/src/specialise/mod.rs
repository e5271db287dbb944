//! A game specialised by phase and by move: the effects of a move are read off instead of
//! propagated.
//!
//! Within a phase usually one role alone has a choice, and under each of its moves the next state
//! is mostly the current state with a few facts changed. Partial evaluation of the network for one
//! move leaves for each of those facts a signal over the bases alone, often a constant. So no gate
//! depends on the moves, and a playout keeps only legality and terminality up to date. (RBG
//! compiles game descriptions to code per move in the same way; the partial evaluation of a network
//! is ours.)
//!
//! A base whose next value depends on the moves of two roles at once is propagated: it stays a
//! function of the moves.
//!
//! Invariants: for a state of the phase and a legal joint move, a base's next value is its effect
//! under the move of the role whose effects list it, else its default. All signals belong to one
//! network, in which equal logic of several phases is merged. Networks with blocks are not
//! specialised.

mod keyed;
mod phase;

use super::builder::{Builder, NetworkError};
use super::copy::copy_gates;
use super::network::{Network, Node, Signal};
use super::normalise::normalised;
use super::passes::Pass;
use super::phases::Phases;
use panza_gdl::{BaseId, IdVec, MoveId, RoleId};
use panza_sync::Budget;
use phase::PhaseSpecialiser;

/// A specialised game.
#[derive(Clone, Debug)]
pub struct SpecialisedGame {
    /// The gates, over bases and propagated moves. Its `next` lists all signals of the phases, in
    /// no order of bases; the phases hold the signals.
    pub network: Network,
    /// The phases, in the order of the mutex group; one when there is none.
    pub phases: Vec<SpecialisedPhase>,
}

/// One phase of a specialised game.
#[derive(Clone, Debug)]
pub struct SpecialisedPhase {
    /// Whether the game is over.
    pub terminal: Signal,
    /// Per role, the moves that may be legal here, in rising order, and when they are.
    pub legal: IdVec<RoleId, Vec<(MoveId, Signal)>>,
    /// Per base its default next value, unless an effect or key sets it. May depend on propagated
    /// moves.
    pub next: IdVec<BaseId, Signal>,
    /// Signals that are mostly off, and their updates of the next state when they are on.
    pub keyed: Vec<KeyedUpdate>,
    /// Per move that may be legal here, in the order of `legal`: the bases it affects and their
    /// next values.
    pub effects: IdVec<RoleId, Vec<Vec<(BaseId, Signal)>>>,
    /// Role, value and signal of each goal.
    pub goals: Vec<(RoleId, u8, Signal)>,
}

/// The updates of the next state by a signal that is on.
#[derive(Clone, Debug)]
pub struct KeyedUpdate {
    /// A base or gate.
    pub key: Signal,
    /// Bases that become false, whatever [`SpecialisedPhase::next`] says.
    pub clears: Vec<BaseId>,
    /// Bases that become true, whatever clears them, each if its signal is on.
    pub sets: Vec<(BaseId, Signal)>,
}

/// Specialises a game by its phases, if it has any, and its moves.
///
/// # Errors
/// The budget ended. `None` when a network has blocks, or there are too many effects.
pub fn specialise(
    whole: &Network,
    phases: Option<&Phases>,
    budget: &Budget,
) -> Result<Option<SpecialisedGame>, NetworkError> {
    let (group, networks): (&[BaseId], &[Network]) = match phases {
        Some(phases) => (&phases.mutex_group, &phases.networks),
        None => (&[], std::slice::from_ref(whole)),
    };
    if !whole.blocks.is_empty() || networks.iter().any(|network| !network.blocks.is_empty()) {
        return Ok(None);
    }
    let mut builder = Builder::new(whole.facts.len() + whole.moves.len(), budget);
    let shared = shared_next(whole, group, &mut builder)?;
    let mut n_effects = 0;
    let mut specialised = Vec::new();
    for network in networks {
        let mut specialiser = PhaseSpecialiser::new(network, &mut builder);
        match specialiser.run(&shared, budget.max_bytes, &mut n_effects)? {
            Some(phase) => specialised.push(phase),
            None => return Ok(None),
        }
    }
    let mut outputs: IdVec<BaseId, Signal> = IdVec::new();
    for phase in &mut specialised {
        phase.for_each_signal(|signal| {
            outputs.push(*signal);
        });
    }
    let (gates, inputs) = builder.into_gates()?;
    let common = normalised(
        Network {
            next: outputs,
            legal: IdVec::new(),
            terminal: Signal::FALSE,
            goals: Vec::new(),
            ..whole.with_gates(gates, inputs)
        },
        budget,
    )?;
    // The other passes were applied to the networks of the phases.
    let common = Pass::Flatten.apply(&common, budget)?;
    let mut signals = common.next.iter();
    for phase in &mut specialised {
        phase.for_each_signal(|signal| {
            // The same walk as above, so there are as many.
            *signal = signals.next().copied().unwrap_or(Signal::FALSE);
        });
    }
    Ok(Some(SpecialisedGame {
        network: common,
        phases: specialised,
    }))
}

/// The next values that read no base of the mutex group, as functions of the moves. They are the
/// same in all phases, so all phases share the gates that propagate moves. `None` for a base that
/// reads the group, or if there is but one phase.
fn shared_next(
    whole: &Network,
    group: &[BaseId],
    builder: &mut Builder<'_>,
) -> Result<IdVec<BaseId, Option<Signal>>, NetworkError> {
    if group.is_empty() {
        return Ok(whole.next.iter().map(|_| None).collect());
    }
    let leaf = |signal: Signal| match whole.node(signal) {
        Node::Base(base) if group.contains(&base) => None,
        _ => Some(signal),
    };
    let copies = copy_gates(whole, builder, &leaf, |builder, _, inputs, is_complete| {
        is_complete.then(|| builder.and(inputs))
    })?;
    Ok(whole.next.iter().map(|&signal| copies.of(signal)).collect())
}

impl SpecialisedPhase {
    fn for_each_signal(&mut self, mut visit: impl FnMut(&mut Signal)) {
        visit(&mut self.terminal);
        let legal = self.legal.iter_mut().flatten().map(|(_, signal)| signal);
        let effects = self.effects.iter_mut().flatten().flatten();
        let keyed = self.keyed.iter_mut().flat_map(|keyed| {
            std::iter::once(&mut keyed.key).chain(keyed.sets.iter_mut().map(|(_, signal)| signal))
        });
        legal
            .chain(self.next.iter_mut())
            .chain(effects.map(|(_, signal)| signal))
            .chain(keyed)
            .chain(self.goals.iter_mut().map(|(_, _, signal)| signal))
            .for_each(&mut visit);
    }
}
