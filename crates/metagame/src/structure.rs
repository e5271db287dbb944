//! What the network of a game proves, for the search and for training.
//!
//! Invariant: all of it holds in every game that can be played. What was not found in time is
//! `None`.
//!
//! Never uses: playouts.

use std::sync::Arc;

use panza_analysis::latches::latches;
use panza_analysis::score_ranges::score_ranges;
use panza_analysis::{Factors, Latches, Placements, ScoreRange, Symmetries};
use panza_game::BuiltGame;
use panza_learning::Images;
use panza_search::SearchConfig;
use panza_sync::Budget;

/// Limit of each analysis, in steps.
pub(super) const STEPS: u64 = 1 << 28;
/// Bounds on goals that the search checks at each new position, at most.
const MAX_SCORE_RANGES: usize = 64;

/// What the network of a game proves.
#[derive(Clone, Debug, Default)]
pub struct Structure {
    /// The factors, found when the game was built.
    pub factors: Option<Arc<Factors>>,
    /// Facts that never change again.
    pub latches: Option<Latches>,
    /// Latched facts that bound a goal, the tightest bounds first.
    pub score_ranges: Option<Arc<[ScoreRange]>>,
    /// The lasting facts that moves make true.
    pub placements: Option<Arc<Placements>>,
    /// Permutations of facts and moves that keep the rules.
    pub symmetries: Option<Arc<Symmetries>>,
}

impl Structure {
    /// The images of states of a game under its symmetries.
    pub(super) fn images(&self, game: &BuiltGame) -> Images {
        let n_facts = game.info().facts().map_or(0, <[String]>::len);
        Images::new(self.symmetries.as_deref(), n_facts)
    }

    /// Analyses the network of a game within a budget.
    pub fn find(game: &BuiltGame, limits: &Budget) -> Self {
        let factors = game.factors.clone();
        let Some(network) = &game.network else {
            return Self {
                factors,
                ..Self::default()
            };
        };
        let budget = || limits.with_steps(STEPS);
        let mut of_latches = budget();
        let latches = latches(network, &mut of_latches);
        let mut of_ranges = budget();
        let mut ranges = score_ranges(network, &latches, &mut of_ranges);
        let are_ranges_known = !ranges.is_empty() || !of_ranges.is_spent();
        ranges.sort_by_key(|range| range.upper - range.lower);
        ranges.truncate(MAX_SCORE_RANGES);
        let symmetries = Symmetries::find(network, &mut budget());
        let placements = Placements::find(network, &latches, &mut budget());
        let has_latches = latches.settings().next().is_some();
        let are_latches_known = latches.is_complete || has_latches || !of_latches.is_spent();
        let are_symmetries_known = symmetries.order.is_some() || !symmetries.is_trivial();
        Self {
            factors,
            latches: are_latches_known.then_some(latches),
            score_ranges: are_ranges_known.then(|| ranges.into()),
            placements: placements.map(Arc::new),
            symmetries: are_symmetries_known.then(|| Arc::new(symmetries)),
        }
    }

    /// The settings of a search that uses the structure.
    pub fn apply(&self, config: SearchConfig) -> SearchConfig {
        SearchConfig {
            score_ranges: self.score_ranges.clone().unwrap_or_default(),
            placements: self.placements.clone(),
            ..config
        }
    }

    /// Whether the search has no use for it.
    pub fn is_empty(&self) -> bool {
        let has_ranges = self.score_ranges.as_ref().is_some_and(|it| !it.is_empty());
        !has_ranges && self.placements.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use panza_gdl::RoleId;
    use panza_search::Search;
    use std::time::{Duration, Instant};

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
        let (rules, faults) = panza_gdl::load(text);
        assert!(faults.is_empty(), "{faults:?}");
        let until = Instant::now() + Duration::from_secs(20);
        let budget = Budget::generous().until(Some(until)).with_bytes(1 << 30);
        let game = panza_game::build(&rules, &budget).unwrap();
        (
            Structure::find(&game, &Budget::generous().until(Some(until))),
            game,
        )
    }

    #[test]
    fn score_ranges_and_symmetries_are_found() {
        let (found, game) = structure(CELLS);
        let state = game
            .info()
            .state_from_facts(&["(has x a)".into(), "(turn o)".into(), "(free b)".into()])
            .unwrap();
        let won = |range: &ScoreRange| range.holds_in(&state) && range.lower == 100;
        assert!(
            found.score_ranges.as_ref().unwrap().iter().any(won),
            "{found:?}"
        );
        assert!(
            found.symmetries.unwrap().is_trivial(),
            "which cell is marked matters"
        );
        let alike = CELLS.replace(
            "(goal x 100) (true (has x a))",
            "(goal x 100) (true (has x ?c))",
        );
        let alike = alike.replace("(<= (goal x 0) (not (true (has x a))))", "");
        let (found, _) = structure(&alike);
        assert_eq!(found.symmetries.unwrap().order, Some(2));
    }

    #[test]
    fn a_search_with_amaf_values_repeats_exactly_and_finds_the_mark_that_wins() {
        let (found, game) = structure(CELLS);
        assert_eq!(found.placements.as_ref().unwrap().facts.len(), 4);
        let config = found.apply(SearchConfig {
            samples_per_request: 8,
            score_ranges: Arc::from([]),
            ..SearchConfig::deterministic(5)
        });
        let search = || {
            let mut search = Search::new(Arc::clone(&game.machine), RoleId(0), config.clone());
            search.run(&Budget::of_steps(500));
            (search.best_move().unwrap(), search.root())
        };
        let (best, report) = search();
        assert_eq!(game.info().move_text(best), "(mark a)");
        assert_eq!(search(), (best, report));
    }

    #[test]
    fn without_time_nothing_is_known() {
        let (_, game) = structure(CELLS);
        let found = Structure::find(&game, &Budget::generous().until(Some(Instant::now())));
        assert!(found.is_empty());
    }
}
