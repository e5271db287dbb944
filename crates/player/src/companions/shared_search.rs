//! Other processes that search the position of a match too: root-parallel search.
//!
//! Each has a search of its own with another seed. What they know of the moves at the root comes
//! back many times a second and is added up: visits, values, and proven bounds on them. The move
//! with the greatest lower confidence bound of the sums is played. A search without such estimates,
//! or without companions that have answered, chooses as it would alone.
//!
//! Invariants: estimates of another position or of other rules are not added; a companion that
//! is late or gone changes nothing.
//!
//! Never uses: how companions are reached, clocks of the match.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::common::OurRole;
use crate::search::{Effort, MatchSearcher, PlanStatus, PreparationOf};
use panza_gdl::MoveId;
use panza_machine::{GameInfo, Machine};
use panza_metagame::{evaluation_note, facts_hash};
use panza_planner::Plan;
use panza_search::{MoveStats, Parameter, RootEstimates, SearchConfig};
use panza_sync::Instant;
use panza_telemetry::SearchSample;

/// What is searched: the rules, our role, the settings of the search.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SharedGame {
    /// The rulesheet.
    pub rules: String,
    /// Our role.
    pub role: OurRole,
    /// The hash of the facts and their order.
    pub(crate) facts: u64,
    pub(crate) settings: Value,
}

/// What is known of the moves at a root.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SharedRoot {
    /// The moves.
    pub moves: Vec<MoveStats<String>>,
    /// Whether further search cannot change the move.
    pub is_proven: bool,
}

/// Reaches companions.
pub trait Companions: Send + Sync {
    /// A search, which has a number of its own, begins. The one before it has ended.
    fn begin(&self, search: u64, game: Arc<SharedGame>);

    /// The search goes to a state.
    fn go_to(&self, search: u64, state: &[u64]);

    /// What companions have found there so far.
    fn found(&self, search: u64) -> Vec<Arc<SharedRoot>>;

    /// The search has ended.
    fn end(&self, search: u64);
}

/// A search with companions.
pub(crate) struct SharedSearch {
    inner: Box<dyn MatchSearcher>,
    machine: Arc<dyn Machine>,
    companions: Arc<dyn Companions>,
    number: u64,
}

impl SharedGame {
    /// What companions need to search the game of `info` with these settings.
    pub(crate) fn new(
        rules: &str,
        role: &OurRole,
        info: &dyn GameInfo,
        config: &SearchConfig,
    ) -> Self {
        let evaluation = config.evaluation.as_deref();
        let mut settings = json!({
            "evaluation": evaluation.map(|it| evaluation_note(info, it, 0, None)),
            "has_structure": config.placements.is_some(),
        });
        for parameter in Parameter::of_preparation() {
            settings[parameter.name] = json!(parameter.get(config));
        }
        Self {
            rules: rules.to_string(),
            role: role.clone(),
            facts: facts_hash(info),
            settings,
        }
    }
}

impl SharedSearch {
    /// Begins the search of `inner` by companions too; `game` is the one that it searches.
    pub fn new(
        inner: Box<dyn MatchSearcher>,
        machine: &Arc<dyn Machine>,
        state: &[u64],
        game: SharedGame,
        companions: &Arc<dyn Companions>,
    ) -> Self {
        static SEARCHES: AtomicU64 = AtomicU64::new(1);
        let number = SEARCHES.fetch_add(1, Ordering::Relaxed);
        companions.begin(number, Arc::new(game));
        companions.go_to(number, state);
        Self {
            inner,
            machine: Arc::clone(machine),
            companions: Arc::clone(companions),
            number,
        }
    }
}

impl Drop for SharedSearch {
    fn drop(&mut self) {
        self.companions.end(self.number);
    }
}

impl MatchSearcher for SharedSearch {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn processor_time(&self) -> Duration {
        self.inner.processor_time()
    }

    fn effort(&self) -> Effort {
        self.inner.effort()
    }

    fn search(&mut self, until: Instant, interrupt: &Arc<AtomicBool>) {
        self.inner.search(until, interrupt);
    }

    fn search_iterations(&mut self, iterations: u64, interrupt: &Arc<AtomicBool>) {
        self.inner.search_iterations(iterations, interrupt);
    }

    fn advance(&mut self, joint_move: &[MoveId], state: &[u64]) {
        self.inner.advance(joint_move, state);
        self.companions.go_to(self.number, state);
    }

    fn set_state(&mut self, state: &[u64]) {
        self.inner.set_state(state);
        self.companions.go_to(self.number, state);
    }

    fn best_move(&mut self) -> Option<MoveStats> {
        let own = self.inner.best_move()?;
        let found = match own.is_proven_best {
            true => Vec::new(),
            false => self.companions.found(self.number),
        };
        if found.is_empty() {
            return Some(own);
        }
        let estimates = self.inner.estimates();
        let best = estimates.and_then(|estimates| united(&*self.machine, estimates, &found));
        Some(best.unwrap_or(own))
    }

    fn line(&mut self, most: usize) -> Vec<Vec<MoveId>> {
        self.inner.line(most)
    }

    fn estimates(&mut self) -> Option<RootEstimates> {
        self.inner.estimates()
    }

    fn plan(&self) -> Option<PlanStatus> {
        self.inner.plan()
    }

    fn start_with(&mut self, plan: &Plan, is_best: bool) {
        self.inner.start_with(plan, is_best);
    }

    fn preparation_of(&self) -> PreparationOf {
        self.inner.preparation_of()
    }

    fn sample(&mut self) -> SearchSample {
        self.inner.sample()
    }
}

/// The best move by the sums of our estimates and those that were found; `None` without moves.
fn united(
    machine: &dyn Machine,
    mut own: RootEstimates,
    found: &[Arc<SharedRoot>],
) -> Option<MoveStats> {
    let info = machine.info();
    let texts = own.moves.iter().map(|it| info.move_text(it.mv));
    let places: HashMap<String, usize> = texts.zip(0..).collect();
    for root in found {
        for it in &root.moves {
            if let Some(&place) = places.get(&it.mv) {
                own.moves[place].add(it);
            }
        }
    }
    let deviation = own.deviation;
    let score = |it: &MoveStats| it.lower_confidence_bound(deviation);
    let best = own.moves.iter().reduce(|best, next| {
        let is_better = (score(next), next.visits) > (score(best), best.visits);
        if is_better { next } else { best }
    })?;
    let others = own.moves.iter().filter(|it| it.mv != best.mv);
    let mut others = others.map(|it| it.bounds.1);
    Some(MoveStats {
        is_proven_best: others.all(|upper| upper <= best.bounds.0),
        ..*best
    })
}
