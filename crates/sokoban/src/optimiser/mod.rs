//! Makes solutions cheaper.
//!
//! Five methods work on a solution in turn until none of them gains: the order of the pushes is
//! changed (`permutation`, `rearrangement`), parts of the solution are searched anew with few
//! boxes (`few_boxes`) or near the old positions (`vicinity`), and at last the whole level is
//! searched within the bound that the solution sets (`exhaustive`).
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
#[cfg(test)]
mod tests;
mod vicinity;

pub use exhaustive::{Best, cheapest};
pub use plan::Cost;

use super::board::{Board, Push};
use super::distances::Distances;
use super::limits::Limits;
use plan::PushPlan;
use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

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
    /// The same pushes in another order.
    Permutation,
    /// Groups of sessions change places. A session is a run of pushes of one box.
    Rearrangement,
    /// Parts in which few boxes move are replaced by the best way to move these boxes.
    FewBoxes,
    /// A search over the configurations near those of the solution.
    Vicinity,
    /// A search over all configurations, which proves the best solution if memory suffices.
    Global,
}

impl Method {
    /// All methods in the order in which they serve best: the fast ones first.
    pub const ALL: [Self; 5] = [
        Self::Permutation,
        Self::Rearrangement,
        Self::FewBoxes,
        Self::Vicinity,
        Self::Global,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Permutation => "permutation",
            Self::Rearrangement => "rearrangement",
            Self::FewBoxes => "boxes",
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
            threads: 1,
            methods: Method::ALL.to_vec(),
            neighbours: vec![20, 10],
        }
    }
}

/// Moves and pushes of a solution with shortest walks between pushes. Nothing if the pushes do not
/// solve the board.
pub fn cost(board: &Board, solution: &[Push]) -> Option<Cost> {
    PushPlan::new(board, solution.to_vec()).map(|plan| plan.cost())
}

/// Makes a solution cheaper and returns the best one found, which is the given one if nothing
/// better was found or if it solves nothing. Each better solution also goes to `gain` at once.
pub fn optimise(
    board: &Board,
    solution: &[Push],
    options: &Options,
    limits: &Limits,
    gain: &mut dyn FnMut(&[Push]),
) -> Vec<Push> {
    let Some(plan) = PushPlan::new(board, solution.to_vec()) else {
        return solution.to_vec();
    };
    let distances = Distances::new(board);
    let mut run = Run {
        board,
        distances: &distances,
        options,
        limits,
        plan,
        tried: HashSet::new(),
        is_thorough: false,
        gain,
    };
    run.all_methods();
    run.plan.pushes().to_vec()
}

/// One run of the optimiser: the best plan so far and what all methods share.
struct Run<'a> {
    board: &'a Board,
    distances: &'a Distances,
    options: &'a Options,
    limits: &'a Limits,
    plan: PushPlan,
    /// Hashes of the segments that a search could not improve.
    tried: HashSet<u64>,
    /// Whether beam search may be wide, which takes long and gains little.
    is_thorough: bool,
    gain: &'a mut dyn FnMut(&[Push]),
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
            match method {
                Method::Permutation => permutation::improve(self),
                Method::Rearrangement => rearrangement::improve(self),
                Method::FewBoxes => few_boxes::improve(self),
                Method::Vicinity => vicinity::improve(self),
                Method::Global => {
                    if exhaustive::improve(self) {
                        break;
                    }
                }
            }
            // Each method goes on until it gains no more, so its own gains need no second turn.
            idle = if self.key() < before { 1 } else { idle + 1 };
        }
    }

    fn key(&self) -> (u32, u32) {
        self.plan.cost().key(self.options.measure)
    }

    fn is_over(&self) -> bool {
        self.limits.is_spent(0)
    }

    /// Takes over a plan if it is cheaper; whether it was.
    fn offer(&mut self, pushes: Vec<Push>) -> bool {
        let measure = self.options.measure;
        match PushPlan::new(self.board, pushes) {
            Some(plan) if plan.cost().key(measure) < self.key() => {
                self.plan = plan;
                (self.gain)(self.plan.pushes());
                true
            }
            _ => false,
        }
    }
}
