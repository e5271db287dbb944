//! Solvers: searches for any solution.
//!
//! The portfolio holds several searches of one level, forwards and backwards, with different cells
//! and packing plans. They take turns on all threads; the turns of a search double in length, so that
//! an easy level ends with the first search that suits it.
//!
//! Modules, in reading order: `problem`, `macros`, `packing`, `features`.
//!
//! Invariants: every solution was replayed on the board; with one thread, the same seed and number of
//! nodes give the same result.

mod features;
mod macros;
mod packing;
mod problem;

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::board::{Board, Push};
use super::budget::Budget;
use super::field::Play;
use super::{Outcome, Verdict};
use features::{FeatureSearch, Settings};
use packing::Packing;
use problem::Problem;

/// Nodes of the first turn of a search.
const FIRST_TURN: u64 = 2_000;
/// Nodes of the longest turn.
const LONGEST_TURN: u64 = 256_000;

/// A way to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Feature space search by pushes from the start.
    Forward,
    /// Feature space search by pulls from the goals.
    Backward,
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 2] = [Self::Forward, Self::Backward];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
        }
    }

    fn play(self) -> Play {
        match self {
            Self::Forward => Play::Push,
            Self::Backward => Play::Pull,
        }
    }
}

/// A name that no method has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownMethod(String);

impl fmt::Display for UnknownMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Method::ALL.map(Method::name).join(", ");
        write!(f, "`{}` is no method; the methods are {names}", self.0)
    }
}

impl std::error::Error for UnknownMethod {}

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(text: &str) -> Result<Self, UnknownMethod> {
        let found = Self::ALL.into_iter().find(|method| method.name() == text);
        found.ok_or_else(|| UnknownMethod(text.to_owned()))
    }
}

/// The settings of the portfolio.
#[derive(Clone, Debug)]
pub struct Options {
    /// Searches that run at once.
    pub threads: usize,
    /// The methods to use.
    pub methods: Vec<Method>,
    /// The seed of the order of macro moves that nothing else decides.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threads: 1,
            methods: Method::ALL.to_vec(),
            seed: 1,
        }
    }
}

/// How far a search is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Positions searched so far.
    pub nodes: u64,
    /// The method whose turn begins.
    pub method: &'static str,
}

/// A search of the portfolio and the length of its next turn.
struct Entry<'a> {
    search: FeatureSearch<'a>,
    method: Method,
    turn: u64,
}

/// What ended the portfolio.
struct Found {
    verdict: Verdict,
    method: Method,
}

/// Searches for a solution until one is found, none can exist, or the budget is spent.
pub fn solve(
    board: &Board,
    options: &Options,
    budget: &Budget,
    progress: &(dyn Fn(&Progress) + Sync),
) -> Outcome {
    let problems: Vec<(Method, Problem<'_>)> = (options.methods.iter())
        .map(|&method| (method, Problem::new(board, method.play())))
        .collect();
    let waiting: Mutex<VecDeque<Start>> = Mutex::new(starts(&options.methods, options.seed).into());
    let started: Mutex<VecDeque<Entry<'_>>> = Mutex::default();
    let found: Mutex<Option<Found>> = Mutex::default();
    let nodes = AtomicU64::new(0);
    let searches = locked(&waiting).len().max(1);
    // Each thread takes a search that has not begun, or else the one that waited longest.
    let work = || {
        while !budget.is_spent(nodes.load(Ordering::Relaxed)) && locked(&found).is_none() {
            let start = locked(&waiting).pop_front();
            let entry = match start {
                Some(start) => {
                    let Some((method, problem)) =
                        problems.iter().find(|(method, _)| *method == start.method)
                    else {
                        continue;
                    };
                    let packing = Packing::new(problem, start.variation);
                    let search = FeatureSearch::new(problem, packing, start.settings);
                    Some(Entry {
                        search,
                        method: *method,
                        turn: FIRST_TURN,
                    })
                }
                None => locked(&started).pop_front(),
            };
            let Some(mut entry) = entry else { break };
            progress(&Progress {
                nodes: nodes.load(Ordering::Relaxed),
                method: entry.method.name(),
            });
            let before = entry.search.nodes();
            let left = budget.nodes.saturating_sub(nodes.load(Ordering::Relaxed));
            let turn = Budget {
                nodes: before + entry.turn.min(left),
                memory: budget.memory / searches,
                ..budget.clone()
            };
            let verdict = entry.search.run(&turn);
            nodes.fetch_add(entry.search.nodes() - before, Ordering::Relaxed);
            match verdict {
                Verdict::Unknown if entry.search.is_full(&turn) => {}
                Verdict::Unknown => {
                    entry.turn = (entry.turn * 2).min(LONGEST_TURN);
                    locked(&started).push_back(entry);
                }
                Verdict::Solved(pushes) if !is_solution(board, &pushes) => {
                    debug_assert!(false, "a solution that does not replay");
                }
                verdict => {
                    locked(&found).get_or_insert(Found {
                        verdict,
                        method: entry.method,
                    });
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..options.threads {
            scope.spawn(work);
        }
        work();
    });
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (verdict, method) = match found {
        Some(found) => (found.verdict, found.method.name()),
        None => (Verdict::Unknown, ""),
    };
    Outcome {
        verdict,
        push_optimal: false,
        nodes: nodes.load(Ordering::Relaxed),
        method,
    }
}

/// A search that has not begun.
struct Start {
    method: Method,
    variation: u64,
    settings: Settings,
}

/// The searches of a portfolio, the most promising first.
fn starts(methods: &[Method], seed: u64) -> Vec<Start> {
    let forward = |by_movable, last_stages_first, variation| Start {
        method: Method::Forward,
        variation,
        settings: Settings {
            by_movable,
            last_stages_first,
            seed,
        },
    };
    let backward = |by_movable, variation| Start {
        method: Method::Backward,
        variation,
        settings: Settings {
            by_movable,
            last_stages_first: false,
            seed,
        },
    };
    let mut starts = vec![
        forward(false, false, 0),
        backward(true, 0),
        forward(true, false, 0),
        forward(false, true, 1),
        backward(false, 1),
    ];
    starts.retain(|start| methods.contains(&start.method));
    starts
}

/// Whether the pushes can be made from the start and leave all boxes on goals.
pub fn is_solution(board: &Board, pushes: &[Push]) -> bool {
    let mut position = board.start().clone();
    for &push in pushes {
        if !board.pushes(&position).contains(&push) {
            return false;
        }
        position = board.after(&position, push);
    }
    board.is_solved(&position.boxes)
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
