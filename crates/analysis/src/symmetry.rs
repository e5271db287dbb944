//! Symmetries of the rules: permutations of facts and moves under which the network is invariant,
//! such as reflections of a board.
//!
//! A state and its image have the same value. Symmetries are automorphisms of the network as a
//! graph, found by colour refinement and individualisation (McKay 1981): a path of choices leads to
//! a discrete colouring on the left; for each choice, from the deepest upwards, the other vertices
//! of the cell are tried on the right, except those in the orbit of earlier ones.
//!
//! Invariants: each generator is verified gate by gate, so a collision of colours may hide a
//! symmetry but never adds a false one. Symmetries preserve goals and the end, but not always the
//! initial state. The network should be as built: passes that share gates hide symmetries.

mod graph;

use std::collections::HashSet;

use graph::{Colouring, Graph};
use panza_gdl::{BaseId, Id, MoveId, RoleId};
use panza_propnet::Network;
use panza_sync::Budget;

/// The largest group that is enumerated.
const MAX_ELEMENTS: u128 = 1024;
/// Facts and moves of all enumerated elements.
const MAX_ELEMENT_SIZE: u128 = 1 << 23;
/// Colours of all colourings of the left path.
const MAX_PATH_SIZE: usize = 1 << 24;
/// The most generators.
const MAX_GENERATORS: usize = 512;

/// One symmetry, as a permutation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Symmetry {
    /// Per base its image.
    pub bases: Vec<BaseId>,
    /// Per move its image.
    pub moves: Vec<MoveId>,
    /// Per role its image.
    pub roles: Vec<RoleId>,
}

impl Symmetry {
    /// Whether it fixes every role.
    pub fn keeps_roles(&self) -> bool {
        let mut images = self.roles.iter().enumerate();
        images.all(|(role, image)| role == image.index())
    }

    /// Whether it fixes the state.
    pub fn keeps(&self, state: &[u64]) -> bool {
        let bit = |base: usize| state.get(base / 64).copied().unwrap_or(0) >> (base % 64) & 1;
        let mut images = self.bases.iter().enumerate();
        images.all(|(base, image)| bit(base) == bit(image.index()))
    }

    /// The composition: first this one, then the other one.
    fn then(&self, other: &Symmetry) -> Symmetry {
        let bases = self.bases.iter().map(|base| other.bases[base.index()]);
        let moves = self.moves.iter().map(|mv| other.moves[mv.index()]);
        let roles = self.roles.iter().map(|role| other.roles[role.index()]);
        Symmetry {
            bases: bases.collect(),
            moves: moves.collect(),
            roles: roles.collect(),
        }
    }

    fn identity(network: &Network) -> Symmetry {
        Symmetry {
            bases: network.facts.ids().collect(),
            moves: network.moves.ids().collect(),
            roles: network.roles.ids().collect(),
        }
    }
}

/// The symmetries of a game.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Symmetries {
    /// Generators of the symmetries that fix each role, as far as found.
    pub generators: Vec<Symmetry>,
    /// Symmetries that swap roles; with the generators they generate the whole group.
    pub role_swaps: Vec<Symmetry>,
    /// The order of the group that fixes each role; `None` if the budget was spent or the order
    /// overflows.
    pub order: Option<u128>,
    /// The number of these that fix the initial state; `None` if there are too many to enumerate.
    pub order_at_start: Option<u128>,
}

impl Symmetries {
    /// Finds symmetries. If the budget is spent, those found so far are right and `order` is
    /// `None`.
    pub fn find(network: &Network, budget: &mut Budget) -> Self {
        let mut found = Self::default();
        let Some(graph) = Graph::new(network, budget) else {
            return found;
        };
        let mut search = Search {
            graph: &graph,
            network,
            path: Vec::new(),
        };
        if search.extend_left_path(budget).is_none() {
            return found;
        }
        let n_role_levels = search.path.iter().filter(|step| step.is_role).count();
        let mut order = Some(1u128);
        for level in (0..search.path.len()).rev() {
            let is_role_level = level < n_role_levels;
            let Some(orbit) = search.orbit(level, &mut found, is_role_level, budget) else {
                order = None;
                break;
            };
            if !is_role_level {
                order = order.and_then(|order: u128| order.checked_mul(orbit as u128));
            }
        }
        found.order = order;
        found.count_at_start(network);
        found
    }

    /// Counts the elements of a small group that fix the initial state.
    fn count_at_start(&mut self, network: &Network) {
        let Some(order) = self.order else { return };
        let size = (network.facts.len() + network.moves.len()) as u128;
        if order > MAX_ELEMENTS || order.saturating_mul(size) > MAX_ELEMENT_SIZE {
            return;
        }
        let identity = Symmetry::identity(network);
        let mut known: HashSet<Symmetry> = HashSet::from([identity.clone()]);
        let mut elements = vec![identity];
        let mut next = 0;
        while next < elements.len() && elements.len() as u128 <= order {
            for generator in &self.generators {
                let product = elements[next].then(generator);
                if known.insert(product.clone()) {
                    elements.push(product);
                }
            }
            next += 1;
        }
        let mut initial = vec![0u64; network.facts.len().div_ceil(64)];
        for base in &network.initial {
            initial[base.index() / 64] |= 1 << (base.index() % 64);
        }
        let keep_start = elements.iter().filter(|element| element.keeps(&initial));
        self.order_at_start = Some(keep_start.count() as u128);
    }

    /// Whether only the identity was found.
    pub fn is_trivial(&self) -> bool {
        self.generators.is_empty()
    }
}

/// One choice of the left path.
struct PathStep {
    /// The colouring before it.
    before: Colouring,
    /// The cell, and the vertex that was chosen from it.
    cell: Vec<u32>,
    chosen: u32,
    /// Whether a role was chosen.
    is_role: bool,
    /// The colouring after it.
    after: Colouring,
}

struct Search<'a> {
    graph: &'a Graph,
    network: &'a Network,
    path: Vec<PathStep>,
}

impl Search<'_> {
    /// Individualises vertices until the colouring is discrete; `None` when the budget is spent.
    fn extend_left_path(&mut self, budget: &mut Budget) -> Option<()> {
        let mut colouring = self.graph.refined(self.graph.start(), budget)?;
        while let Some(cell) = self.graph.cell_to_split(&colouring) {
            if self.path.len() * colouring.len() > MAX_PATH_SIZE || self.path.len() > MAX_GENERATORS
            {
                return None;
            }
            let chosen = cell[0];
            let marked = self.graph.individualised(&colouring, chosen);
            let after = self.graph.refined(marked, budget)?;
            self.path.push(PathStep {
                before: colouring,
                cell,
                chosen,
                is_role: self.graph.is_role(chosen),
                after: after.clone(),
            });
            colouring = after;
        }
        Some(())
    }

    /// The size of the orbit of the vertex chosen at a level, under symmetries that fix all
    /// vertices chosen before it. New generators are added to `found`. `None` when the budget is
    /// spent.
    fn orbit(
        &self,
        level: usize,
        found: &mut Symmetries,
        is_role_level: bool,
        budget: &mut Budget,
    ) -> Option<usize> {
        let step = &self.path[level];
        if !self.graph.is_in_symmetry(step.chosen) {
            // Swaps of equivalent gates in a block change no base, move or role.
            return Some(1);
        }
        // The orbit under the symmetries found at this level and below.
        let mut orbit: Vec<u32> = vec![step.chosen];
        let mut known: HashSet<u32> = orbit.iter().copied().collect();
        let mut not_in: HashSet<u32> = HashSet::new();
        for &candidate in &step.cell {
            self.close(&mut orbit, &mut known, found);
            if known.contains(&candidate) || not_in.contains(&candidate) {
                continue;
            }
            let marked = self.graph.individualised(&step.before, candidate);
            let right = self.graph.refined(marked, budget)?;
            match self.match_right(level, right, budget)? {
                Some(symmetry) => {
                    let list = match is_role_level && !symmetry.keeps_roles() {
                        true => &mut found.role_swaps,
                        false => &mut found.generators,
                    };
                    if list.len() >= MAX_GENERATORS {
                        return None;
                    }
                    list.push(symmetry);
                }
                None => {
                    // Nor is anything in the orbit of the candidate.
                    let (mut others, mut known) = (vec![candidate], HashSet::from([candidate]));
                    self.close(&mut others, &mut known, found);
                    not_in.extend(others);
                }
            }
        }
        self.close(&mut orbit, &mut known, found);
        Some(orbit.len())
    }

    /// Closes an orbit under the symmetries found. Below the levels of roles, all of these fix the
    /// vertices chosen above.
    fn close(&self, orbit: &mut Vec<u32>, known: &mut HashSet<u32>, found: &Symmetries) {
        let mut next = 0;
        while next < orbit.len() {
            for symmetry in found.generators.iter().chain(&found.role_swaps) {
                if let Some(image) = self.graph.image(symmetry, orbit[next])
                    && known.insert(image)
                {
                    orbit.push(image);
                }
            }
            next += 1;
        }
    }

    /// A symmetry that maps the left colouring after this level to the right one; `Some(None)` if
    /// there is none, `None` when the budget is spent.
    fn match_right(
        &self,
        level: usize,
        right: Colouring,
        budget: &mut Budget,
    ) -> Option<Option<Symmetry>> {
        let left = &self.path[level].after;
        if !self.graph.are_alike(left, &right, budget)? {
            return Some(None);
        }
        let Some(next) = self.path.get(level + 1) else {
            let map = self.graph.colour_map(left, &right);
            let map = map.filter(|map| self.graph.is_automorphism(self.network, map));
            return Some(map.map(|map| self.graph.symmetry_of(&map)));
        };
        for candidate in self.graph.cell_like(left, next.chosen, &right) {
            let marked = self.graph.individualised(&right, candidate);
            let refined = self.graph.refined(marked, budget)?;
            if let Some(symmetry) = self.match_right(level + 1, refined, budget)? {
                return Some(Some(symmetry));
            }
        }
        Some(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{base, budget, each_game, network, own_game, play, state_of};
    use panza_sync::Budget;

    fn symmetries(network: &Network) -> Symmetries {
        Symmetries::find(network, &mut budget())
    }

    #[test]
    fn the_square_board_has_eight() {
        let network = own_game("ticTacToe");
        let found = symmetries(&network);
        assert_eq!((found.order, found.order_at_start), (Some(8), Some(8)));
        assert!(
            !found.role_swaps.is_empty(),
            "x is o with the turns changed"
        );
        // With a mark in the corner the diagonal alone is left.
        let start = state_of(&network, &network.initial);
        let game = state_of(&network, &[base(&network, "(cell 1 1 x)")]);
        assert!(found.generators.iter().all(|it| it.keeps(&start)));
        assert!(found.generators.iter().any(|it| !it.keeps(&game)));
    }

    #[test]
    fn columns_can_be_mirrored() {
        let found = symmetries(&own_game("connectFour"));
        assert_eq!((found.order, found.order_at_start), (Some(2), Some(2)));
        assert_eq!(found.generators.len(), 1);
    }

    /// Heaps of two coins each; who takes the last coin of all wins.
    const HEAPS: &str = "
        (role a) (role b) (other a b) (other b a) (heap 1) (heap 2) (heap 3)
        (less 2 1) (less 1 0) (less 2 0)
        (init (turn a)) (init (coins 1 2)) (init (coins 2 2)) (init (coins 3 2))
        (<= (legal ?r (take ?h ?n)) (true (turn ?r)) (true (coins ?h ?m)) (less ?m ?n))
        (<= (legal ?r wait) (role ?r) (not (true (turn ?r))))
        (<= (next (turn ?r)) (true (turn ?s)) (other ?r ?s))
        (<= (next (coins ?h ?n)) (does ?r (take ?h ?n)))
        (<= (next (coins ?h ?n)) (true (coins ?h ?n)) (not (touched ?h)))
        (<= (touched ?h) (does ?r (take ?h ?n)))
        (<= left (true (coins ?h 1))) (<= left (true (coins ?h 2)))
        (<= terminal (not left))
        (<= (goal ?r 0) (role ?r) (true (turn ?r)))
        (<= (goal ?r 100) (true (turn ?s)) (other ?r ?s))";

    #[test]
    fn heaps_can_be_swapped() {
        let found = symmetries(&network(HEAPS));
        assert_eq!((found.order, found.order_at_start), (Some(6), Some(6)));
        assert_eq!(found.role_swaps.len(), 1);
    }

    #[test]
    fn a_heap_that_is_different_stays_where_it_is() {
        let marked = HEAPS.replace(
            "(<= terminal (not left))",
            "(<= terminal (not left)) (<= terminal (true (coins 1 0)))",
        );
        let found = symmetries(&network(&marked));
        assert_eq!(found.order, Some(2), "the other two can be swapped");
        let rigid = marked.replace(
            "(less 2 0)",
            "(less 2 0) (<= (legal a (take 2 0)) (true (coins 3 2)))",
        );
        let found = symmetries(&network(&rigid));
        assert_eq!((found.order, found.role_swaps.len()), (Some(1), 0));
        assert!(found.is_trivial());
    }

    #[test]
    fn a_spent_budget_leaves_the_order_unknown() {
        let found = Symmetries::find(&own_game("connectFour"), &mut Budget::of_steps(20_000));
        assert_eq!(found.order, None);
    }

    /// Images of states that follow each other follow each other.
    #[test]
    fn images_of_games_are_games() {
        each_game(|name, network| {
            let found = Symmetries::find(network, &mut Budget::of_steps(1 << 28));
            let machine = std::sync::Arc::new(panza_machine::CounterMachine::new(
                panza_machine::CounterLayout::compile(network),
            ));
            let mut reasoner = panza_machine::Machine::reasoner(machine);
            let image = |symmetry: &Symmetry, state: &[u64]| {
                let is_true =
                    |base: &BaseId| state[base.index() / 64] >> (base.index() % 64) & 1 == 1;
                let bases = network.facts.ids().filter(is_true);
                let images: Vec<BaseId> = bases.map(|base| symmetry.bases[base.index()]).collect();
                state_of(network, &images)
            };
            for game in play(network, 1, 30) {
                for symmetry in found.generators.iter().take(4) {
                    for (index, moves) in game.moves.iter().enumerate() {
                        let moved: Vec<MoveId> =
                            moves.iter().map(|mv| symmetry.moves[mv.index()]).collect();
                        reasoner.set_state(&image(symmetry, &game.states[index]));
                        let mut next = Vec::new();
                        reasoner.next_state(&moved, &mut next);
                        assert_eq!(next, image(symmetry, &game.states[index + 1]), "{name}");
                    }
                }
            }
        });
    }
}
