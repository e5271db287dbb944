//! From factors to machines: the games within a game that are worth playing on their own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Playing;
use crate::analysis::factors::{Factor, Factors, factors, forced_moves};
use crate::ground::Budget;
use crate::ids::{BaseId, Id, IdVec, MoveId, RoleId};
use crate::machine::Machine;
use crate::machine::parts::{Part, Parts};
use crate::propnet::{Network, Selection, part};

/// How long factors may be looked for.
const LOOKED_FOR: Duration = Duration::from_secs(2);
/// The share of the time left that this may take.
const SHARE: u32 = 10;
/// More parts than these are not played on their own.
const MOST_PARTS: usize = 16;

/// The networks of a game's parts.
pub(super) struct Found {
    networks: Vec<(Network, Place)>,
    is_joint: bool,
    until: Instant,
}

/// A part but for its machine: where it is in the whole game.
struct Place {
    bases: Vec<BaseId>,
    moves: IdVec<MoveId, Option<MoveId>>,
    is_pass: IdVec<MoveId, bool>,
}

/// Looks for the parts of a game, on its network as it was built from the rules; nothing where it
/// is one, or where that takes too long to tell.
pub(super) fn find(network: &Network, until: Instant) -> Option<Found> {
    let now = Instant::now();
    let time = LOOKED_FOR.min(until.saturating_duration_since(now) / SHARE);
    let found = factors(network, Some(now + time))?;
    let relevant: Vec<&Factor> = found
        .factors
        .iter()
        .filter(|factor| factor.is_relevant)
        .collect();
    if !(2..=MOST_PARTS).contains(&relevant.len()) {
        return None;
    }
    let limits = Budget {
        until: Some(until),
        ..Budget::generous()
    };
    let networks = relevant.into_iter().map(|factor| {
        let (selection, kept) = selection(network, &found, factor);
        Some((part(network, &selection, limits).ok()?, kept))
    });
    Some(Found {
        networks: networks.collect::<Option<Vec<_>>>()?,
        is_joint: found.is_joint,
        until,
    })
}

/// What belongs to a factor's game: its bases and all autonomous ones, and for each role its moves. Who
/// plays alone need not pass.
fn selection(network: &Network, found: &Factors, factor: &Factor) -> (Selection, Place) {
    let mut bases: Vec<BaseId> = factor
        .bases
        .iter()
        .chain(&found.autonomous)
        .copied()
        .collect();
    bases.sort_unstable();
    let plays_alone = network.roles.len() == 1 && !found.is_joint;
    let mut selected: Vec<(RoleId, Vec<MoveId>)> = Vec::new();
    let mut moves: IdVec<MoveId, Option<MoveId>> = network.moves.iter().map(|_| None).collect();
    let mut is_pass = IdVec::new();
    for role in network.roles.ids() {
        let forced = found
            .forced
            .iter()
            .filter(|&&mv| network.moves[mv].0 == role);
        let forced = forced.map(|&mv| (vec![mv], true));
        let alike = factor.alike[role].iter();
        let alike = alike.map(|alike| (alike.moves.clone(), alike.is_usual && !found.is_joint));
        for (members, passes) in alike
            .filter(|&(_, passes)| !(passes && plays_alone))
            .chain(forced)
        {
            for &member in &members {
                moves[member] = Some(MoveId::from_index(selected.len()));
            }
            is_pass.push(passes);
            selected.push((role, members));
        }
    }
    let selection = Selection {
        bases: bases.clone(),
        moves: selected,
    };
    let kept = Place {
        bases,
        moves,
        is_pass,
    };
    (selection, kept)
}

/// How playouts of a part are made.
fn playing_of(network: &Network, place: &Place, until: Instant) -> Playing {
    let forced = forced_moves(network, Some(until)).unwrap_or_default();
    let mut passes = place.is_pass.enumerate().filter(|&(_, &is_pass)| is_pass);
    match passes.all(|(mv, _)| forced.binary_search(&mv).is_ok()) {
        true => Playing::Decisively,
        false => Playing::Evenly,
    }
}

impl Found {
    /// The parts with their machines; nothing where a machine is of another kind than was asked
    /// for. A part's playouts are even where players are free to pass: who may pass would shun what
    /// may lose by passing for ever.
    pub fn machines(self, make: impl Fn(Network, Playing) -> Arc<dyn Machine>) -> Option<Parts> {
        let parts = self.networks.into_iter().map(|(network, kept)| {
            let playing = playing_of(&network, &kept, self.until);
            let machine = make(network, playing);
            // A bit for each base, as in the whole game.
            let n_words = kept.bases.len().div_ceil(64);
            (machine.initial_state().len() == n_words).then_some(Part {
                machine,
                bases: kept.bases,
                moves: kept.moves,
                is_pass: kept.is_pass,
            })
        });
        Some(Parts {
            parts: parts.collect::<Option<Vec<_>>>()?,
            is_joint: self.is_joint,
        })
    }
}
