//! What the rules alone say, for the search of a match: what settled facts make certain of goals,
//! and which moves are alike.
//!
//! Invariant: all of it holds in every game that can be played; what was not found in time is left
//! out.
//!
//! Never knows: playing.

use std::sync::Arc;
use std::time::Instant;

use crate::analysis::latches::latches;
use crate::analysis::score_ranges::{ScoreRange, score_ranges};
use crate::analysis::step_budget::StepBudget;
use crate::analysis::symmetry::Symmetries;
use crate::build::BuiltGame;
use crate::propnet::Network;

/// Steps that each analysis may take.
const STEPS: u64 = 1 << 28;
/// Each new position is looked at for so many settled facts at most.
const MAX_SCORE_RANGES: usize = 64;

/// What the rules alone say.
#[derive(Clone, Debug, Default)]
pub struct Structure {
    /// What settled facts make certain of goals.
    pub score_ranges: Arc<[ScoreRange]>,
    /// Which moves are alike; nothing where none are.
    pub symmetries: Option<Arc<Symmetries>>,
    /// Facts that stay once they are true, that stay once they are false, and that stay once
    /// another does.
    pub latches: [usize; 3],
}

impl Structure {
    /// What the network of a game says, as far as it is found by then.
    pub(super) fn of(game: &BuiltGame, until: Instant) -> Self {
        match &game.network {
            Some(network) => Self::read(network, until),
            None => Self::default(),
        }
    }

    fn read(network: &Network, until: Instant) -> Self {
        let budget = || StepBudget::new(STEPS, Some(until));
        let latches = latches(network, &mut budget());
        let mut ranges = score_ranges(network, &latches, &mut budget());
        // The narrowest first, should there be too many.
        ranges.sort_by_key(|range| range.upper - range.lower);
        ranges.truncate(MAX_SCORE_RANGES);
        let symmetries = Symmetries::find(network, &mut budget());
        Self {
            score_ranges: ranges.into(),
            symmetries: (!symmetries.is_trivial()).then(|| Arc::new(symmetries)),
            latches: [
                latches.positive.len(),
                latches.negative.len(),
                latches.conditional.len(),
            ],
        }
    }

    /// Whether there is anything in it.
    pub fn is_empty(&self) -> bool {
        self.score_ranges.is_empty() && self.symmetries.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{self, BuildBudget};
    use crate::gdl;
    use std::time::Duration;

    /// Two cells, of which each player marks one; a marked cell stays marked.
    const CELLS: &str =
        "(role x) (role o) (cell a) (cell b) (init (turn x)) (<= (init (free ?c)) (cell ?c))
        (<= (legal ?p (mark ?c)) (true (turn ?p)) (true (free ?c)))
        (<= (legal x wait) (true (turn o))) (<= (legal o wait) (true (turn x)))
        (<= (next (free ?c)) (true (free ?c)) (not (does x (mark ?c))) (not (does o (mark ?c))))
        (<= (next (has ?p ?c)) (does ?p (mark ?c))) (<= (next (has ?p ?c)) (true (has ?p ?c)))
        (<= (next (turn o)) (true (turn x))) (<= (next (turn x)) (true (turn o)))
        (<= some (true (free ?c))) (<= terminal (not some))
        (<= (goal x 100) (true (has x a))) (<= (goal x 0) (not (true (has x a)))) (goal o 50)";

    fn structure(text: &str) -> (Structure, BuiltGame) {
        let (rules, faults) = gdl::load(text);
        assert!(faults.is_empty(), "{faults:?}");
        let until = Instant::now() + Duration::from_secs(20);
        let budget = BuildBudget {
            until,
            memory: 1 << 30,
            cancelled: Arc::default(),
        };
        let game = build::build(&rules, &budget).unwrap();
        (Structure::of(&game, until), game)
    }

    #[test]
    fn what_is_settled_and_what_is_alike_is_found() {
        let (found, game) = structure(CELLS);
        let state = game
            .info()
            .state_from_facts(&["(has x a)".into(), "(turn o)".into(), "(free b)".into()])
            .unwrap();
        let won = |range: &ScoreRange| range.holds_in(&state) && range.lower == 100;
        assert!(found.score_ranges.iter().any(won), "{found:?}");
        assert!(found.symmetries.is_none(), "which cell is marked matters");
        let alike = CELLS.replace(
            "(goal x 100) (true (has x a))",
            "(goal x 100) (true (has x ?c))",
        );
        let alike = alike.replace("(<= (goal x 0) (not (true (has x a))))", "");
        let (found, game) = structure(&alike);
        let symmetries = found.symmetries.unwrap();
        let mut reasoner = Arc::clone(&game.machine).reasoner();
        let legal = reasoner.legal_moves(crate::ids::RoleId(0)).to_vec();
        assert_eq!(
            symmetries.equivalent_moves(&game.machine.initial_state(), &legal),
            [0, 0]
        );
    }

    #[test]
    fn without_time_nothing_is_said() {
        let (_, game) = structure(CELLS);
        let found = Structure::of(&game, Instant::now());
        assert!(found.is_empty());
    }
}
