//! Search in games whose moves only fix things: numbers of a sudoku, queens on a board.
//!
//! Facts that keep their value for good constrain the final state. Unit propagation assumes the
//! best goal of the final state, derives which facts it must have, and refutes moves that fix one
//! of them to the wrong value. Of the facts that still have to change, the one with the fewest
//! moves is changed first (minimum remaining values, as in constraint satisfaction); where none is
//! known, the move that refutes the fewest others comes first. Failed moves are not tried again
//! below their node, since the order of moves does not matter. Random restarts with growing limits
//! (Gomes, Selman and Kautz 1998).
//!
//! Facts of table constraints (`tables`) are decided before the first move: a table with few
//! assignments left for the contradictions that it has led to comes first (Boussemart, Hemery,
//! Lecoutre and Sais 2004). The moves then lead to the final state that was decided.
//!
//! Where as many moves are still needed as the classes of a family (`families`) have moves left,
//! each class needs one.
//!
//! Invariants: a game is searched only if moves, in random games, made no other move legal.
//! Nothing is proven.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::families::{Family, families};
use super::plan::PLAYER;
use super::solver::{Report, Solver, Status};
use super::tables::FinalState;
use super::task::{Task, move_signal, signal_of};
use panza_analysis::Implications;
use panza_analysis::implications::{Outcome, Scope};
use panza_analysis::latches::Setting;
use panza_gdl::{BaseId, Id, IdVec, MoveId};
use panza_machine::Reasoner;
use panza_sync::{Budget, Instant, Random, after, is_past};

/// Random games in which the sets of legal moves are watched.
const SAMPLED_GAMES: u32 = 8;
/// Their longest.
const SAMPLED_STEPS: usize = 400;
/// Deepest recursion.
const MAX_DEPTH: usize = 400;
/// Restarts until the limit of nodes doubles.
const RESTARTS_PER_LIMIT: u32 = 3;
/// Time for the analysis of the moves.
const ANALYSIS_TIME: Duration = Duration::from_secs(2);
/// Time for the first search after the analysis, at least.
const FIRST_TRY: Duration = Duration::from_millis(50);
/// Moves that are compared where no fact is known to have to change.
const COMPARED_MOVES: usize = 200;

/// What is known of the moves.
struct Analysis {
    /// Per move the lasting facts that it sets, as numbers in `settings`.
    sets: IdVec<MoveId, Vec<u32>>,
    /// The lasting facts.
    settings: Vec<Setting>,
    /// Per lasting fact, whether a move sets it.
    is_set: Vec<bool>,
    /// Whether a move fixes the fact.
    is_settable: IdVec<BaseId, bool>,
    /// Moves of the longest random game.
    length: usize,
    families: Vec<Family>,
}

pub(super) struct Fixing {
    task: Arc<Task>,
    analysis: Option<Analysis>,
    random: Random,
    restarts: u32,
    n_states: u64,
    /// Of the tables.
    weights: Vec<u32>,
}

/// How a subtree ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// A plan of the best possible goal was found.
    Found,
    /// It has no such plan.
    Failed,
    /// The limit of nodes or time was reached.
    Limit,
}

/// Moves of which one must be made.
#[derive(Clone, Copy)]
enum Choice {
    /// Those that set a lasting fact.
    Setting(u32),
    /// A class of a family.
    Class(usize, u32),
}

/// The smallest of the choices offered, uniformly drawn among equals.
#[derive(Default)]
struct Fewest {
    choice: Option<(u32, Choice)>,
    n_tied: u32,
}

impl Fewest {
    fn offer(&mut self, size: u32, choice: Choice, random: &mut Random) {
        match self.choice {
            Some((least, _)) if size > least => return,
            Some((least, _)) if size == least => self.n_tied += 1,
            _ => self.n_tied = 1,
        }
        if self.n_tied == 1 || random.below(self.n_tied) == 0 {
            self.choice = Some((size, choice));
        }
    }
}

/// Depth-first searches from the start. After each, only the random numbers, the weights of tables
/// and the number of states differ from before.
struct Dive<'a, 'b> {
    analysis: &'a Analysis,
    known: FinalState<'a, 'a>,
    budget: Budget,
    reasoner: Box<dyn Reasoner>,
    random: &'a mut Random,
    path: Vec<MoveId>,
    /// Per move, how often it is excluded.
    excluded: Vec<u32>,
    /// Per setting, the moves that make it true here.
    counts: Vec<u32>,
    nodes_left: u64,
    /// Whether moves were not tried because there were too many.
    has_omitted: bool,
    /// Moves from the start before which the game does not end.
    earliest_end: usize,
    until: Instant,
    stop: &'a AtomicBool,
    report: &'a mut Report<'b>,
    n_states: u64,
}

impl Fixing {
    pub fn new(task: &Arc<Task>, seed: u64) -> Self {
        Self {
            task: Arc::clone(task),
            analysis: None,
            random: Random::new(seed),
            restarts: 0,
            weights: Vec::new(),
            n_states: 0,
        }
    }

    /// Whether moves only ever take legal moves away, as far as random games show; the length of
    /// the longest.
    fn sampled_length(&mut self, until: Instant) -> Option<usize> {
        let mut reasoner = Arc::clone(&self.task.game.machine).reasoner();
        let n_moves = self.task.game.network.as_ref()?.moves.len();
        let mut is_legal = vec![0u32; n_moves];
        let mut stamp = 0;
        let mut longest = 0;
        let mut next = Vec::new();
        for _ in 0..SAMPLED_GAMES {
            if is_past(until) {
                break;
            }
            let mut state = self.task.start.clone();
            is_legal.fill(stamp);
            for step in 0..SAMPLED_STEPS {
                reasoner.set_state(&state);
                if reasoner.is_terminal() {
                    break;
                }
                longest = longest.max(step + 1);
                let legal = reasoner.legal_moves(PLAYER);
                if legal.is_empty() {
                    break;
                }
                if legal.iter().any(|mv| is_legal[mv.index()] != stamp) {
                    return None;
                }
                stamp += 1;
                for mv in legal {
                    is_legal[mv.index()] = stamp;
                }
                let mv = legal[self.random.below(legal.len() as u32) as usize];
                reasoner.next_state(&[mv], &mut next);
                std::mem::swap(&mut state, &mut next);
            }
        }
        Some(longest)
    }

    /// `None` where the search does not apply.
    fn analyse(&mut self, until: Instant) -> Option<Analysis> {
        let length = self.sampled_length(until)?;
        if length >= MAX_DEPTH || self.task.earliest_end >= MAX_DEPTH {
            return None;
        }
        let task = Arc::clone(&self.task);
        let network = task.game.network.as_deref()?;
        task.best_goal?;
        // Per fact and value its setting, and what has to hold beside it so that it lasts.
        let mut number = vec![[None; 2]; network.facts.len()];
        let mut settings: Vec<Setting> = Vec::new();
        let mut givens: Vec<Vec<Setting>> = Vec::new();
        let unconditional = task.game.latches.settings().map(|latch| (latch, latch));
        for (latch, given) in unconditional.chain(task.conditional_latches()) {
            if latch.holds_in(&task.start) {
                continue;
            }
            let place = &mut number[latch.base.index()][usize::from(latch.value)];
            let index = *place.get_or_insert_with(|| {
                settings.push(latch);
                givens.push(Vec::new());
                settings.len() - 1
            });
            givens[index].push(given);
        }
        let budget = &mut Budget::generous().until(Some(until));
        let mut known = Implications::new(network, Scope::Transitions, budget)?;
        let mut sets: IdVec<MoveId, Vec<u32>> = network.moves.iter().map(|_| Vec::new()).collect();
        let bases: Vec<BaseId> = network.facts.ids().collect();
        for mv in network.moves.ids() {
            let mark = known.mark();
            known.assume(move_signal(network, mv));
            if known.propagate(budget) == Outcome::BudgetSpent {
                return None;
            }
            for &base in &bases {
                let Some(value) = known.value(network.next[base]) else {
                    continue;
                };
                let Some(setting) = number[base.index()][usize::from(value)] else {
                    continue;
                };
                let is_kept = known.value(signal_of(base, value)) == Some(true);
                let lasts = givens[setting]
                    .iter()
                    .any(|given| known.value(network.next[given.base]) == Some(given.value));
                if lasts && !is_kept {
                    sets[mv].push(setting as u32);
                }
            }
            known.undo_to(mark);
        }
        let mut is_set = vec![false; settings.len()];
        for &setting in sets.iter().flatten() {
            is_set[setting as usize] = true;
        }
        let mut is_settable: IdVec<BaseId, bool> = network.facts.iter().map(|_| false).collect();
        for (setting, _) in settings.iter().zip(&is_set).filter(|(_, is_set)| **is_set) {
            is_settable[setting.base] = true;
        }
        let has_any = is_set.contains(&true);
        let families = families(&task, network, &sets, &settings, budget);
        has_any.then_some(Analysis {
            sets,
            settings,
            is_set,
            is_settable,
            length,
            families: families.unwrap_or_default(),
        })
    }
}

impl Solver for Fixing {
    fn name(&self) -> &'static str {
        "fixing"
    }

    fn work(&mut self, report: &mut Report<'_>, mut until: Instant, stop: &AtomicBool) -> Status {
        let task = Arc::clone(&self.task);
        if self.analysis.is_none() {
            self.analysis = self.analyse(after(ANALYSIS_TIME));
            // What took that long gets a try.
            until = until.max(after(FIRST_TRY));
        }
        let (Some(analysis), Some(network), Some(goal)) =
            (&self.analysis, task.game.network.as_deref(), task.best_goal)
        else {
            return Status::GaveUp;
        };
        let mut budget = Budget::generous().until(Some(until));
        let Some(mut known) = Implications::new(network, Scope::States, &mut budget) else {
            return Status::Open;
        };
        task.assume_latched(&mut known, &task.start);
        known.assume(goal);
        known.assume(network.terminal);
        let mut known = FinalState::new(known, &task.tables, &mut self.weights);
        if known.propagate(&mut budget) == Outcome::Contradiction {
            return Status::GaveUp;
        }
        let mut dive = Dive {
            analysis,
            known,
            budget,
            reasoner: Arc::clone(&task.game.machine).reasoner(),
            random: &mut self.random,
            path: Vec::new(),
            excluded: vec![0; network.moves.len()],
            counts: vec![0; analysis.settings.len()],
            nodes_left: 0,
            has_omitted: false,
            earliest_end: task.earliest_end,
            until,
            stop,
            report,
            n_states: 0,
        };
        let mut status = Status::Open;
        while status == Status::Open && !is_past(until) && !stop.load(Ordering::Relaxed) {
            let doublings = (self.restarts / RESTARTS_PER_LIMIT).min(40);
            dive.nodes_left = (2 * analysis.length as u64 + 64) << doublings;
            dive.has_omitted = false;
            match dive.decide(&task.start, 0) {
                Ended::Found | Ended::Failed => status = Status::GaveUp,
                Ended::Limit => self.restarts += u32::from(dive.nodes_left == 0),
            }
        }
        self.n_states += dive.n_states;
        status
    }

    fn n_states(&self) -> u64 {
        self.n_states
    }
}

impl Dive<'_, '_> {
    /// Takes a node; `false` at a limit.
    fn enter(&mut self, depth: usize) -> bool {
        let is_late = self.n_states.is_multiple_of(64) && is_past(self.until);
        let is_limit = is_late || self.nodes_left == 0 || self.stop.load(Ordering::Relaxed);
        if is_limit || depth >= MAX_DEPTH {
            return false;
        }
        self.nodes_left -= 1;
        self.n_states += 1;
        true
    }

    /// Decides the facts of tables in the final state, and then looks for moves that lead there.
    fn decide(&mut self, state: &[u64], n_decided: usize) -> Ended {
        let analysis = self.analysis;
        let is_settable = |base: BaseId| analysis.is_settable[base];
        let Some(decision) = self.known.decision(is_settable, self.random) else {
            return self.search(state);
        };
        if !self.enter(n_decided) {
            return Ended::Limit;
        }
        for value in [decision.value, !decision.value] {
            let mark = self.known.mark();
            self.known.assume(signal_of(decision.base, value));
            let ended = match self.known.propagate(&mut self.budget) {
                Outcome::Contradiction => Ended::Failed,
                Outcome::BudgetSpent => Ended::Limit,
                Outcome::Consistent => self.decide(state, n_decided + 1),
            };
            self.known.undo_to(mark);
            if ended != Ended::Failed {
                return ended;
            }
        }
        Ended::Failed
    }

    fn search(&mut self, state: &[u64]) -> Ended {
        if !self.enter(self.path.len()) {
            return Ended::Limit;
        }
        self.reasoner.set_state(state);
        if self.reasoner.is_terminal() {
            let mut goals = [None];
            self.reasoner.goals(&mut goals);
            let goal = goals[0].unwrap_or(0).min(100);
            self.report.found(&self.path, goal);
            return match self.report.is_best_possible() {
                true => Ended::Found,
                false => Ended::Failed,
            };
        }
        let legal = self.reasoner.legal_moves(PLAYER).to_vec();
        let Some(moves) = self.choose(state, legal) else {
            return Ended::Failed;
        };
        let mut ended = Ended::Failed;
        let mut n_excluded = 0;
        for &mv in &moves {
            let below = self.search_after(state, mv);
            if below != Ended::Failed {
                ended = below;
                break;
            }
            self.excluded[mv.index()] += 1;
            n_excluded += 1;
        }
        for mv in &moves[..n_excluded] {
            self.excluded[mv.index()] -= 1;
        }
        match ended {
            // Moves were left out.
            Ended::Failed if self.budget.is_spent() || self.has_omitted => Ended::Limit,
            ended => ended,
        }
    }

    fn search_after(&mut self, state: &[u64], mv: MoveId) -> Ended {
        let mark = self.known.mark();
        let outcome = self.assume_move(mv);
        let ended = match outcome {
            Outcome::Contradiction => Ended::Failed,
            Outcome::BudgetSpent => Ended::Limit,
            Outcome::Consistent => {
                let mut next = Vec::with_capacity(state.len());
                self.reasoner.set_state(state);
                self.reasoner.next_state(&[mv], &mut next);
                self.path.push(mv);
                let ended = self.search(&next);
                self.path.pop();
                ended
            }
        };
        self.known.undo_to(mark);
        ended
    }

    fn assume_move(&mut self, mv: MoveId) -> Outcome {
        for &setting in &self.analysis.sets[mv] {
            let Setting { base, value } = self.analysis.settings[setting as usize];
            self.known.assume(signal_of(base, value));
        }
        self.known.propagate(&mut self.budget)
    }

    /// Whether the final state must, or must not, have a setting.
    fn must_hold(&self, setting: u32) -> Option<bool> {
        let Setting { base, value } = self.analysis.settings[setting as usize];
        self.known.value(signal_of(base, value))
    }

    /// The moves to try, in order; `None` where a fact that has to change cannot.
    fn choose(&mut self, state: &[u64], mut legal: Vec<MoveId>) -> Option<Vec<MoveId>> {
        let analysis = self.analysis;
        legal.retain(|&mv| {
            self.excluded[mv.index()] == 0
                && !analysis.sets[mv]
                    .iter()
                    .any(|&setting| self.must_hold(setting) == Some(false))
        });
        self.counts.fill(0);
        for &setting in legal.iter().flat_map(|&mv| &analysis.sets[mv]) {
            self.counts[setting as usize] += 1;
        }
        // The sets of moves of which one must be made, and the smallest of them.
        let mut fewest = Fewest::default();
        let mut n_required = 0;
        for setting in 0..analysis.settings.len() as u32 {
            let index = setting as usize;
            if !analysis.is_set[index]
                || self.must_hold(setting) != Some(true)
                || analysis.settings[index].holds_in(state)
            {
                continue;
            }
            n_required += 1;
            fewest.offer(self.counts[index], Choice::Setting(setting), self.random);
        }
        let required = |mv: MoveId| {
            let sets = analysis.sets[mv].iter();
            let sets = sets.filter(|&&setting| {
                self.must_hold(setting) == Some(true)
                    && !analysis.settings[setting as usize].holds_in(state)
            });
            sets.count()
        };
        let useful: Vec<MoveId> = match n_required {
            0 => legal.clone(),
            _ => legal
                .iter()
                .copied()
                .filter(|&mv| required(mv) > 0)
                .collect(),
        };
        let steps_left = self.earliest_end.saturating_sub(self.path.len());
        let n_needed = match n_required {
            0 => steps_left,
            // A move that does the work of two would make the number wrong.
            _ if useful.iter().any(|&mv| required(mv) > 1) => 0,
            n_required => n_required,
        };
        for (family, Family { classes, n_classes }) in analysis.families.iter().enumerate() {
            if n_needed == 0 || useful.iter().any(|&mv| classes[mv].is_none()) {
                continue;
            }
            let mut sizes = vec![0u32; *n_classes];
            for class in useful.iter().filter_map(|&mv| classes[mv]) {
                sizes[class as usize] += 1;
            }
            let n_live = sizes.iter().filter(|&&size| size > 0).count();
            if n_live < n_needed {
                return None;
            }
            if n_live == n_needed {
                for (class, &size) in sizes.iter().enumerate().filter(|&(_, &size)| size > 0) {
                    fewest.offer(size, Choice::Class(family, class as u32), self.random);
                }
            }
        }
        self.random.shuffle(&mut legal);
        match fewest.choice {
            Some((0, _)) => return None,
            Some((_, Choice::Setting(setting))) => {
                legal.retain(|&mv| analysis.sets[mv].contains(&setting));
            }
            Some((_, Choice::Class(family, class))) => {
                legal.retain(|&mv| analysis.families[family].classes[mv] == Some(class));
            }
            None => self.order_by_freedom(&mut legal),
        }
        Some(legal)
    }

    /// Puts first the moves that leave most other moves.
    fn order_by_freedom(&mut self, legal: &mut Vec<MoveId>) {
        let analysis = self.analysis;
        let all = legal.clone();
        self.has_omitted |= legal.len() > COMPARED_MOVES;
        legal.truncate(COMPARED_MOVES);
        let mut freedom: Vec<(usize, MoveId)> = Vec::with_capacity(legal.len());
        for &mv in legal.iter() {
            let mark = self.known.mark();
            if self.assume_move(mv) == Outcome::Consistent {
                let is_free = |mv: &&MoveId| {
                    let mut sets = analysis.sets[**mv].iter();
                    sets.all(|&setting| self.must_hold(setting) != Some(false))
                };
                freedom.push((all.iter().filter(is_free).count(), mv));
            }
            self.known.undo_to(mark);
        }
        freedom.sort_by_key(|&(free, _)| std::cmp::Reverse(free));
        *legal = freedom.into_iter().map(|(_, mv)| mv).collect();
    }
}
