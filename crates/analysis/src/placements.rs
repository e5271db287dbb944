//! Placements: moves that make a lasting fact true.
//!
//! A move that puts a stone on a cell, an arrow on a square or a line between two dots makes a
//! positive latch true. So the final state of a game shows whether the move was made, by whomever
//! the fact names and at whatever time, which is all that AMAF needs (all moves as first; Brügmann
//! 1993). Each is proven on the network by unit propagation: the move is assumed to be made, and
//! the fact's `next` follows.
//!
//! Invariants: `facts` is sorted and holds no fact twice; a move has at most one fact, the one that
//! the fewest moves make true.

use super::implications::{Implications, Outcome, Scope};
use super::latches::Latches;
use panza_gdl::{BaseId, IdVec, MoveId};
use panza_propnet::{Network, Signal};
use panza_sync::Budget;

/// Sums of goals that are kept for facts and roles, at most: facts beyond are left out, the last
/// ones first.
const MAX_TOTALS: usize = 2048;
/// Latches that are looked at for each move, at most.
const MAX_LATCHES: usize = 16;

/// The lasting facts that moves make true.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Placements {
    /// The facts.
    pub facts: Vec<BaseId>,
    /// For each move the index of its fact in `facts`.
    of_move: IdVec<MoveId, Option<u16>>,
}

impl Placements {
    /// Finds the facts of all moves. `None` where there are none, or when the budget is spent.
    pub fn find(network: &Network, latches: &Latches, budget: &mut Budget) -> Option<Self> {
        if latches.positive.is_empty() {
            return None;
        }
        let mut known = Implications::new(network, Scope::Transitions, budget)?;
        let always: Vec<bool> = latches
            .positive
            .iter()
            .map(|&base| known.value(network.next[base]) == Some(true))
            .collect();
        let first_move = 1 + network.facts.len();
        // For each move the latches that it makes true.
        let mut made: Vec<Vec<usize>> = Vec::with_capacity(network.moves.len());
        let mut n_moves = vec![0usize; latches.positive.len()];
        for mv in 0..network.moves.len() {
            let mark = known.mark();
            known.assume(Signal::of_node(first_move + mv));
            let outcome = known.propagate(budget);
            if outcome == Outcome::BudgetSpent {
                return None;
            }
            budget.spend(latches.positive.len())?;
            let is_made = |index: &usize| {
                let next = network.next[latches.positive[*index]];
                !always[*index] && known.value(next) == Some(true)
            };
            let of_move: Vec<usize> = match outcome {
                Outcome::Consistent => (0..latches.positive.len())
                    .filter(is_made)
                    .take(MAX_LATCHES)
                    .collect(),
                _ => Vec::new(),
            };
            known.undo_to(mark);
            for &index in &of_move {
                n_moves[index] += 1;
            }
            made.push(of_move);
        }
        let fewest = |of_move: &Vec<usize>| {
            let best = of_move.iter().min_by_key(|&&index| n_moves[index]);
            best.map(|&index| latches.positive[index])
        };
        let found = Self::new(made.iter().map(fewest).collect(), network.roles.len());
        (found.facts.len() > 1).then_some(found)
    }

    /// The placements of moves with these facts, in a game of `n_roles` roles.
    pub fn new(of_move: Vec<Option<BaseId>>, n_roles: usize) -> Self {
        let mut facts: Vec<BaseId> = of_move.iter().copied().flatten().collect();
        facts.sort_unstable();
        facts.dedup();
        facts.truncate(MAX_TOTALS / n_roles.max(2));
        let index_of = |base: BaseId| facts.binary_search(&base).ok().map(|index| index as u16);
        let of_move = of_move.into_iter().map(|base| base.and_then(index_of));
        Self {
            of_move: of_move.collect(),
            facts,
        }
    }

    /// The index of the fact that a move makes true.
    #[inline]
    pub fn of(&self, mv: MoveId) -> Option<usize> {
        self.of_move[mv].map(usize::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latches::latches;
    use crate::testing::{budget, mv, own_game};

    fn of_game(name: &str) -> (Network, Option<Placements>) {
        let network = own_game(name);
        let latches = latches(&network, &mut budget());
        let found = Placements::find(&network, &latches, &mut budget());
        (network, found)
    }

    #[test]
    fn each_mark_has_the_fact_of_its_cell_and_role() {
        let (network, found) = of_game("ticTacToe");
        let found = found.expect("marks stay");
        assert_eq!(found.facts.len(), 18);
        let fact = found.of(mv(&network, "(mark 2 3)")).expect("a mark stays");
        let text = &network.facts[found.facts[fact]];
        assert!(text.starts_with("(cell 2 3 "), "{text}");
        assert_eq!(found.of(mv(&network, "noop")), None);
    }

    #[test]
    fn stones_of_hex_are_placements_and_moves_of_checkers_are_not() {
        let (_, hex) = of_game("hex");
        assert_eq!(hex.expect("stones stay").facts.len(), 162);
        let (_, checkers) = of_game("checkers");
        assert_eq!(checkers, None);
    }
}
