//! Games within a game: a network for each relevant factor.

use std::sync::Arc;
use std::time::Duration;

use panza_analysis::factors::forced_moves;
use panza_analysis::{Factor, Factors, factors};
use panza_gdl::{BaseId, Id, IdVec, MoveId, RoleId};
use panza_machine::{GamePart, Machine, PlayoutPolicy, Supply};
use panza_propnet::{Network, Selection, part};
use panza_sync::{Budget, after};

/// Time limit for finding factors.
const FACTORS_TIME: Duration = Duration::from_secs(2);
/// Divisor of the time left for an analysis.
const ANALYSIS_SHARE: u32 = 10;
/// Games of more factors are played as a whole.
const MAX_PARTS: usize = 16;

/// A part without its machine.
pub(super) struct PartNetwork {
    network: Network,
    bases: Vec<BaseId>,
    supplies: Vec<Supply>,
    moves: IdVec<MoveId, Option<MoveId>>,
    is_pass: IdVec<MoveId, bool>,
}

/// The factors of a network as built from the rules. `None` where the time does not suffice.
pub(super) fn factors(network: &Network, limits: &Budget) -> Option<Factors> {
    let time = time_for(FACTORS_TIME, limits);
    factors::factors(network, &limits.until(Some(after(time))))
}

/// The time of an analysis that lasts no longer than `most`.
pub(super) fn time_for(most: Duration, limits: &Budget) -> Duration {
    most.min(limits.left() / ANALYSIS_SHARE)
}

/// The networks of the relevant factors. `None` where there is only one, or too many.
pub(super) fn part_networks(
    network: &Network,
    factors: &Factors,
    limits: &Budget,
) -> Option<Vec<PartNetwork>> {
    let relevant = || factors.factors.iter().filter(|factor| factor.is_relevant);
    if !(2..=MAX_PARTS).contains(&relevant().count()) {
        return None;
    }
    relevant()
        .map(|factor| PartNetwork::new(network, factors, factor, limits))
        .collect()
}

impl PartNetwork {
    /// The factor's bases, the autonomous bases, and per role its classes of equivalent moves. A
    /// player without opponents need not pass.
    fn new(network: &Network, factors: &Factors, factor: &Factor, limits: &Budget) -> Option<Self> {
        let mut bases = [factor.bases.as_slice(), &factors.autonomous].concat();
        bases.sort_unstable();
        let is_puzzle = network.roles.len() == 1 && !factors.is_joint;
        let mut selected: Vec<(RoleId, Vec<MoveId>)> = Vec::new();
        let mut is_pass = IdVec::new();
        for role in network.roles.ids() {
            let forced = factors.forced.iter();
            let forced = forced.filter(|&&mv| network.moves[mv].0 == role);
            let forced = forced.map(|&mv| (vec![mv], true));
            let alike = factor.classes[role].iter();
            let alike =
                alike.map(|alike| (alike.moves.clone(), alike.is_usual && !factors.is_joint));
            let alike = alike.filter(|&(_, passes)| !(passes && is_puzzle));
            for (members, passes) in alike.chain(forced) {
                is_pass.push(passes);
                selected.push((role, members));
            }
        }
        let selection = Selection {
            bases,
            moves: selected,
            supplies: Vec::new(),
        };
        let part = Self::of_selection(network, selection, Vec::new(), limits)?;
        Some(Self { is_pass, ..part })
    }

    /// A part with these bases, moves and supplies, without moves that stand for moves elsewhere.
    pub(super) fn of_selection(
        network: &Network,
        selection: Selection,
        supplies: Vec<Supply>,
        limits: &Budget,
    ) -> Option<Self> {
        let mut moves: IdVec<MoveId, Option<MoveId>> = network.moves.iter().map(|_| None).collect();
        for (place, (_, members)) in selection.moves.iter().enumerate() {
            for &member in members {
                moves[member] = Some(MoveId::from_index(place));
            }
        }
        Some(Self {
            network: part(network, &selection, limits).ok()?,
            bases: selection.bases,
            supplies,
            moves,
            is_pass: selection.moves.iter().map(|_| false).collect(),
        })
    }

    /// Its network as built.
    pub(super) fn network(&self) -> &Network {
        &self.network
    }

    /// Playouts of a part are uniform where players are free to pass: a player that avoids losing
    /// moves would pass for ever.
    fn policy(&self, limits: &Budget) -> PlayoutPolicy {
        let forced = forced_moves(&self.network, limits).unwrap_or_default();
        let mut passes = self.is_pass.enumerate().filter(|&(_, &is_pass)| is_pass);
        match passes.all(|(mv, _)| forced.binary_search(&mv).is_ok()) {
            true => PlayoutPolicy::Decisive,
            false => PlayoutPolicy::Uniform,
        }
    }

    /// The part with its machine. `None` where the machine's states are not one bit per base.
    pub(super) fn build(
        self,
        limits: &Budget,
        build: impl Fn(Network, PlayoutPolicy) -> Option<Arc<dyn Machine>>,
    ) -> Option<GamePart> {
        let policy = self.policy(limits);
        let n_words = self.network.facts.len().div_ceil(64);
        let machine = build(self.network, policy)?;
        (machine.initial_state().len() == n_words).then_some(GamePart {
            machine,
            bases: self.bases,
            supplies: self.supplies,
            moves: self.moves,
            is_pass: self.is_pass,
        })
    }
}
