//! Makes solutions cheaper.
//!
//! Seven methods work on a solution in turn until none of them gains: the rest of the solution is
//! mirrored or turned (`symmetry`), the order of the pushes is changed (`permutation`,
//! `rearrangement`), parts of the solution are searched anew with few boxes (`few_boxes`), by all
//! metrics (`ties`) or near the old positions (`vicinity`), and at last the whole level is searched
//! within the bound that the solution sets (`exhaustive`).
//!
//! Moves and pushes count first. Solutions that are equal in both are compared by box lines, box
//! changes, pushing sessions and player lines. Methods other than `ties` look for fewer moves and
//! pushes, so the last part of the time is kept for `ties`.
//!
//! Invariants: every solution that is reported or returned was replayed from the start, and none is
//! dearer than the one before.

mod beam;
mod configurations;
mod exhaustive;
mod few_boxes;
mod nearby;
mod permutation;
mod plan;
mod query;
mod rearrangement;
mod search;
mod segments;
mod side;
mod states;
mod symmetry;
#[cfg(test)]
mod tests;
mod ties;
mod vicinity;

pub use exhaustive::{Best, cheapest};
pub use plan::Cost;

use super::board::{Board, Direction, Push};
use super::distances::Distances;
use super::solution::{Metrics, Secondary};
use panza_sync::Budget;
use panza_sync::left_until;
use plan::PushPlan;
use std::collections::HashSet;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::str::FromStr;

/// The part of the time that is kept for `ties`.
const TIME_FOR_TIES: f64 = 0.25;

/// What makes one solution cheaper than another: the first number, and the second if the first are
/// equal. Moves count steps and pushes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// Fewest moves, then fewest pushes.
    #[default]
    MovesPushes,
    /// Fewest pushes, then fewest moves.
    PushesMoves,
}

impl Measure {
    /// Both measures.
    pub const ALL: [Self; 2] = [Self::MovesPushes, Self::PushesMoves];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::MovesPushes => "moves/pushes",
            Self::PushesMoves => "pushes/moves",
        }
    }
}

/// A way to improve a solution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The rest of the solution is mirrored or turned where the board and its boxes allow it.
    Symmetry,
    /// The same pushes in another order.
    Permutation,
    /// Groups of sessions change places. A session is a run of pushes of one box.
    Rearrangement,
    /// Parts in which few boxes move are replaced by the best way to move these boxes.
    FewBoxes,
    /// Short parts are replaced by the best by all metrics.
    Ties,
    /// A search over the configurations near those of the solution.
    Vicinity,
    /// A search over all configurations, which proves the best solution if memory suffices.
    Global,
}

impl Method {
    /// All methods in the order in which they serve best: the fast ones first.
    pub const ALL: [Self; 7] = [
        Self::Symmetry,
        Self::Permutation,
        Self::Rearrangement,
        Self::FewBoxes,
        Self::Ties,
        Self::Vicinity,
        Self::Global,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Symmetry => "symmetry",
            Self::Permutation => "permutation",
            Self::Rearrangement => "rearrangement",
            Self::FewBoxes => "boxes",
            Self::Ties => "ties",
            Self::Vicinity => "vicinity",
            Self::Global => "global",
        }
    }
}

/// A name that stands for no measure or method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    name: String,
    known: String,
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is none of {}", self.name, self.known)
    }
}

impl std::error::Error for UnknownName {}

/// The value with a name among all.
fn by_name<T: Copy>(all: &[T], of: fn(T) -> &'static str, name: &str) -> Result<T, UnknownName> {
    let found = all.iter().copied().find(|&value| of(value) == name);
    found.ok_or_else(|| UnknownName {
        name: name.to_owned(),
        known: all
            .iter()
            .map(|&value| of(value))
            .collect::<Vec<_>>()
            .join(", "),
    })
}

impl FromStr for Measure {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        by_name(&Self::ALL, Self::name, name)
    }
}

impl FromStr for Method {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        by_name(&Self::ALL, Self::name, name)
    }
}

/// How to optimise.
#[derive(Clone, Debug)]
pub struct Options {
    /// What makes a solution cheaper.
    pub measure: Measure,
    /// What decides between solutions with equal moves and pushes, in order.
    pub ties: [Secondary; 4],
    /// How many threads search at a time.
    pub threads: usize,
    /// In the order in which they are tried.
    pub methods: Vec<Method>,
    /// How far vicinity search goes from each position of the plan. With `[20, 10]`, one box may
    /// stand on one of its 20 nearest squares, and a second box on one of its 10.
    pub neighbours: Vec<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            measure: Measure::default(),
            ties: Secondary::ALL,
            threads: 1,
            methods: Method::ALL.to_vec(),
            neighbours: vec![20, 10],
        }
    }
}

impl Options {
    /// The metrics in the order in which they are compared.
    pub fn key(&self, metrics: &Metrics) -> [u32; 6] {
        let cost = plan::Cost {
            moves: metrics.moves as u32,
            pushes: metrics.pushes as u32,
        };
        let (first, second) = cost.key(self.measure);
        let [a, b, c, d] = self.ties_of(metrics);
        [first, second, a, b, c, d]
    }

    /// The secondary metrics in the order in which they are compared.
    fn ties_of(&self, metrics: &Metrics) -> [u32; 4] {
        self.ties.map(|tie| tie.of(metrics) as u32)
    }
}

/// What a run of the optimiser tells while it works.
#[derive(Clone, Copy, Debug)]
pub enum Report<'a> {
    /// A better solution.
    Better(&'a [Push]),
    /// How much of one pass of a method is done.
    Progress {
        /// The method at work.
        method: Method,
        /// The parts that are done.
        done: usize,
        /// All parts of the pass.
        all: usize,
    },
}

/// Moves and pushes of a solution with shortest walks between pushes. Nothing if the pushes do not
/// solve the board.
pub fn cost(board: &Board, solution: &[Push]) -> Option<Cost> {
    PushPlan::new(board, solution.to_vec()).map(|plan| plan.cost())
}

/// Makes a solution cheaper and returns the best one found, which is the given one if nothing
/// better was found or if it solves nothing. Each better solution also goes to `report` at once.
pub fn optimise(
    board: &Board,
    solution: &[Push],
    options: &Options,
    limits: &Budget,
    report: &mut dyn FnMut(Report<'_>),
) -> Vec<Push> {
    let Some(plan) = PushPlan::new(board, solution.to_vec()) else {
        return solution.to_vec();
    };
    let distances = Distances::new(board);
    let mut run = Run {
        board,
        distances: &distances,
        options,
        limits: limits.clone(),
        plan,
        tried: HashSet::new(),
        is_thorough: false,
        method: Method::Permutation,
        directions: Direction::ALL,
        report,
    };
    if options.methods.contains(&Method::Ties)
        && let Some(until) = limits.until
    {
        run.limits.until = Some(until - left_until(until).mul_f64(TIME_FOR_TIES));
        run.all_methods();
        run.limits.until = limits.until;
        run.use_method(Method::Ties);
    }
    run.all_methods();
    run.plan.pushes().to_vec()
}

/// One run of the optimiser: the best plan so far and what all methods share.
struct Run<'a> {
    board: &'a Board,
    distances: &'a Distances,
    options: &'a Options,
    limits: Budget,
    plan: PushPlan,
    /// Hashes of the segments that a search could not improve.
    tried: HashSet<u64>,
    /// Whether beam search may be wide, which takes long and gains little.
    is_thorough: bool,
    /// The method at work.
    method: Method,
    /// The order in which searches try moves; each pass turns it round.
    directions: [Direction; 4],
    report: &'a mut dyn FnMut(Report<'_>),
}

/// A hash that tells searches apart.
fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

impl Run<'_> {
    /// Tries all methods until none has gained since its last turn. Wide beams come before the
    /// search over all configurations, but after the other methods.
    fn all_methods(&mut self) {
        let methods = &self.options.methods;
        let mut idle = 0;
        for &method in methods.iter().cycle() {
            if !self.is_thorough && (idle == methods.len() || method == Method::Global) {
                self.is_thorough = true;
                idle = 0;
                continue;
            }
            if idle == methods.len() || self.is_over() {
                break;
            }
            let before = self.key();
            if self.use_method(method) {
                break;
            }
            // Each method goes on until it gains no more, so its own gains need no second turn.
            idle = if self.key() < before { 1 } else { idle + 1 };
        }
    }

    /// Works with one method until it gains no more; whether nothing can be better now.
    fn use_method(&mut self, method: Method) -> bool {
        self.method = method;
        match method {
            Method::Symmetry => symmetry::improve(self),
            Method::Permutation => permutation::improve(self),
            Method::Rearrangement => rearrangement::improve(self),
            Method::FewBoxes => few_boxes::improve(self),
            Method::Ties => ties::improve(self),
            Method::Vicinity => vicinity::improve(self),
            Method::Global => return exhaustive::improve(self),
        }
        false
    }

    /// Tells how much of a pass is done.
    fn tell(&mut self, done: usize, all: usize) {
        let method = self.method;
        (self.report)(Report::Progress { method, done, all });
    }

    fn key(&self) -> [u32; 6] {
        self.key_of(&self.plan)
    }

    fn key_of(&self, plan: &PushPlan) -> [u32; 6] {
        self.options.key(&plan.metrics(plan.pushes().len()))
    }

    fn is_over(&self) -> bool {
        self.limits.is_over_at(0)
    }

    /// Takes over a plan if it is cheaper; whether it was.
    fn offer(&mut self, pushes: Vec<Push>) -> bool {
        match PushPlan::new(self.board, pushes) {
            Some(plan) if self.key_of(&plan) < self.key() => {
                self.plan = plan;
                (self.report)(Report::Better(self.plan.pushes()));
                true
            }
            _ => false,
        }
    }
}
