//! The planning task: a single-player game from a state on, with what is proven about its goal.
//!
//! Invariant: `goal_bound` is at least the goal of every final state that can be reached.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use super::packed_game::PackedGame;
use super::packing::Packing;
use super::plan::PLAYER;
use super::projections::{Projections, Source};
use super::relaxed::Relaxed;
use super::tables::{FinalState, Tables};
use panza_analysis::implications::{Outcome, Scope};
use panza_analysis::latches::{Setting, latches};
use panza_analysis::{Implications, Latches, autonomous};
use panza_gdl::{BaseId, Id, MoveId};
use panza_machine::Machine;
use panza_propnet::{Network, Signal};
use panza_sync::{Budget, after, lock};

/// Time for each step of the analysis.
const STEP_TIME: Duration = Duration::from_secs(1);
/// Steps for the tables of a goal.
const TABLE_STEPS: u64 = 1 << 27;

/// A single-player game, analysed when it is first needed. Planners of several positions share it.
pub struct PlanningGame {
    pub(super) machine: Arc<dyn Machine>,
    network: Option<Arc<Network>>,
    analysis: OnceLock<Arc<GameAnalysis>>,
}

/// What is known of a game.
pub(super) struct GameAnalysis {
    pub machine: Arc<dyn Machine>,
    /// The network as built from the rules, where it is known.
    pub network: Option<Arc<Network>>,
    /// Facts that keep their value for good.
    pub latches: Latches,
    /// The bits of facts that depend on moves; states that agree in them differ in counters only.
    pub mask: Vec<u64>,
    /// Whether some facts depend on no move.
    pub has_counters: bool,
    /// Moves from the initial state before which the game does not end.
    pub earliest_end: usize,
    /// How stores keep states.
    pub packing: Arc<Packing>,
    packed: OnceLock<Option<Arc<PackedGame>>>,
    /// The relaxation towards the goal that was asked for last.
    relaxed: Mutex<Option<RelaxedGoal>>,
}

/// What is made for one goal, when it is first needed.
#[derive(Clone)]
struct RelaxedGoal {
    goal: Signal,
    /// `None` where it is too large.
    relaxed: Option<Arc<Relaxed>>,
    projections: Option<Option<Arc<Projections>>>,
}

/// A single-player game from a state on.
pub(super) struct Task {
    pub game: Arc<GameAnalysis>,
    pub start: Vec<u64>,
    /// No final state has a higher goal.
    pub goal_bound: u8,
    /// The signal of the goal `goal_bound`.
    pub best_goal: Option<Signal>,
    /// Facts that are true in all final states with that goal, in rising order.
    pub goal_facts: Vec<u32>,
    /// The tables of the goal `best_goal`.
    pub tables: Tables,
    /// Moves from the start before which the game does not end.
    pub earliest_end: usize,
}

impl PlanningGame {
    /// The game; `None` where several roles play. The network is that of the rules, if it is known.
    pub fn new(machine: &Arc<dyn Machine>, network: Option<&Arc<Network>>) -> Option<Arc<Self>> {
        (machine.info().n_roles() == 1).then(|| {
            Arc::new(Self {
                machine: Arc::clone(machine),
                network: network.cloned(),
                analysis: OnceLock::new(),
            })
        })
    }

    /// The analysis, which takes some seconds at most when it is made.
    pub(super) fn analysis(&self) -> Arc<GameAnalysis> {
        let analyse = || Arc::new(GameAnalysis::new(&self.machine, self.network.as_ref()));
        Arc::clone(self.analysis.get_or_init(analyse))
    }
}

impl GameAnalysis {
    /// Analyses the game, each step for at most [`STEP_TIME`]. What is not found then is unknown.
    fn new(machine: &Arc<dyn Machine>, network: Option<&Arc<Network>>) -> Self {
        let initial = machine.initial_state();
        let mut game = Self {
            mask: vec![u64::MAX; initial.len()],
            packing: Arc::new(Packing::raw(initial.len())),
            machine: Arc::clone(machine),
            network: None,
            latches: Latches::default(),
            has_counters: false,
            earliest_end: 0,
            packed: OnceLock::new(),
            relaxed: Mutex::default(),
        };
        // Other machines number their states in other ways.
        let Some(network) = network.filter(|network| {
            machine.kind() != "prover" && initial.len() == network.facts.len().div_ceil(64).max(1)
        }) else {
            return game;
        };
        let budget = || Budget::lasting(STEP_TIME);
        if let Some(found) = autonomous::find(network, &mut budget()) {
            game.earliest_end = found.earliest_end as usize;
            let counters = [found.step_counter, found.turn, found.others].concat();
            for base in counters {
                game.mask[base.index() / 64] &= !(1 << (base.index() % 64));
                game.has_counters = true;
            }
        }
        game.latches = latches(network, &mut budget());
        let until = after(STEP_TIME);
        let packing = Packing::guess(machine, network, &initial, &game.mask, until);
        game.packing = Arc::new(packing);
        game.network = Some(Arc::clone(network));
        game
    }

    /// The game over packed states, if it was made and all states have fitted.
    pub fn packed_made(&self) -> Option<Arc<PackedGame>> {
        let packed = self.packed.get().cloned().flatten();
        packed.filter(|packed| !packed.is_unfit())
    }

    /// The game over packed states, which takes a second or two when it is made.
    pub fn packed(&self) -> Option<Arc<PackedGame>> {
        let make = || PackedGame::new(self.network.as_deref()?, &self.packing).map(Arc::new);
        self.packed.get_or_init(make);
        self.packed_made()
    }
}

impl Task {
    /// The game from a state on.
    pub fn new(game: Arc<GameAnalysis>, start: Vec<u64>) -> Self {
        let is_initial = start == game.machine.initial_state();
        let mut task = Self {
            earliest_end: if is_initial { game.earliest_end } else { 0 },
            start,
            goal_bound: 100,
            best_goal: None,
            goal_facts: Vec::new(),
            tables: Tables::default(),
            game,
        };
        if let Some(network) = task.game.network.clone() {
            let mut budget = Budget::lasting(STEP_TIME);
            task.bound_goal(&network, &mut budget);
        }
        task
    }

    /// Finds the highest goal that unit propagation and tables do not refute.
    fn bound_goal(&mut self, network: &Network, budget: &mut Budget) {
        let mut goals: Vec<(u8, Signal)> = network
            .goals
            .iter()
            .filter(|(role, _, signal)| *role == PLAYER && *signal != Signal::FALSE)
            .map(|&(_, value, signal)| (value.min(100), signal))
            .collect();
        goals.sort_unstable_by_key(|&(value, _)| std::cmp::Reverse(value));
        let Some(mut known) = Implications::new(network, Scope::States, budget) else {
            return;
        };
        self.assume_latched(&mut known, &self.start);
        known.assume(network.terminal);
        if known.propagate(budget) == Outcome::Contradiction {
            return;
        }
        for (value, signal) in goals {
            let mark = known.mark();
            known.assume(signal);
            if known.propagate(budget) != Outcome::Contradiction {
                let mut budget = Budget::lasting(STEP_TIME).with_steps(TABLE_STEPS);
                let tables = Tables::find(network, &mut known, &mut budget);
                let mut weights = Vec::new();
                let mut last = FinalState::new(known, &tables, &mut weights);
                if last.propagate(&mut budget) != Outcome::Contradiction {
                    self.goal_bound = value;
                    self.best_goal = Some(signal);
                    let is_on = |base: &BaseId| last.value(Signal::of_base(*base)) == Some(true);
                    let facts = network.facts.ids().filter(is_on);
                    self.goal_facts = facts.map(|base| base.0).collect();
                    self.tables = tables;
                    return;
                }
                known = last.into_known();
            }
            known.undo_to(mark);
        }
    }

    /// The relaxation towards the best goal, which takes a second or two when it is made.
    pub fn relaxed(&self) -> Option<Arc<Relaxed>> {
        self.relaxed_goal(|_, _| None).and_then(|made| made.relaxed)
    }

    /// The groups of facts that the best goal depends on, which take some seconds when they are
    /// made.
    pub fn projections(&self) -> Option<Arc<Projections>> {
        let make = |network: &Network, relaxed: &Relaxed| {
            let found = Projections::new(&Source {
                machine: &self.game.machine,
                network,
                start: &self.start,
                mask: &self.game.mask,
                goal_facts: &self.goal_facts,
                relaxed,
            });
            Some(found.map(Arc::new))
        };
        self.relaxed_goal(make)?.projections?
    }

    /// What is made for the best goal, with projections if they are asked for.
    fn relaxed_goal(
        &self,
        projections: impl FnOnce(&Network, &Relaxed) -> Option<Option<Arc<Projections>>>,
    ) -> Option<RelaxedGoal> {
        let (network, goal) = (self.game.network.as_deref()?, self.best_goal?);
        let mut last = lock(&self.game.relaxed);
        if last.as_ref().is_none_or(|last| last.goal != goal) {
            *last = Some(RelaxedGoal {
                goal,
                relaxed: Relaxed::new(network, goal).map(Arc::new),
                projections: None,
            });
        }
        let made = last.as_mut()?;
        if made.projections.is_none()
            && let Some(relaxed) = &made.relaxed
        {
            made.projections = projections(network, relaxed);
        }
        Some(made.clone())
    }

    /// Settings that last while an unconditional latch holds, each with that latch.
    pub fn conditional_latches(&self) -> impl Iterator<Item = (Setting, Setting)> + '_ {
        let conditional = self.game.latches.conditional.iter();
        conditional.map(|conditional| (conditional.latch, conditional.given))
    }

    /// Assumes of a final state what holds for good in a state.
    pub fn assume_latched(&self, known: &mut Implications<'_>, state: &[u64]) {
        for latch in self.game.latches.settings() {
            if latch.holds_in(state) {
                known.assume(signal_of(latch.base, latch.value));
            }
        }
        for (latch, given) in self.conditional_latches() {
            if latch.holds_in(state) && given.holds_in(state) {
                known.assume(signal_of(latch.base, latch.value));
            }
        }
    }
}

/// The signal that is on when the fact has this value.
pub(super) fn signal_of(base: BaseId, value: bool) -> Signal {
    Signal::of_base(base).inverted_if(!value)
}

/// The signal that is on when the move is made.
pub(super) fn move_signal(network: &Network, mv: MoveId) -> Signal {
    Signal::of_node(1 + network.facts.len() + mv.index())
}
