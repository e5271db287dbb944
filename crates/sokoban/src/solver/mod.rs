//! Solvers: searches for any solution.
//!
//! The portfolio holds several searches of one level, forwards and backwards, with different cells
//! and packing plans. They take turns on all threads. A turn is a number of positions that moves
//! led to, so that turns of different searches last about as long; the turns of a search double, so
//! that an easy level ends with the first search that suits it. Each long turn lets a further
//! search begin, with another plan. Iterative deepening takes no turns: it keeps a thread to
//! itself.
//!
//! Modules, in reading order: `problem`, `macros`, `assignment`, `packing`, `features`.
//!
//! Invariants: every solution was replayed on the board; with one thread, the same seed and number
//! of nodes give the same result.

mod assignment;
mod features;
mod macros;
mod packing;
mod problem;

use panza_sync::{lock, unpoisoned};
use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::board::{Board, is_solution};
use super::field::Play;
use super::ida::{self, Parts};
use super::{Outcome, Verdict};
use features::{FeatureSearch, Settings};
use packing::Packing;
use panza_sync::Budget;
use problem::Problem;

/// Positions that moves lead to in the first turn of a search.
const FIRST_TURN: u64 = 20_000;
/// Positions that moves lead to in the longest turn.
const LONGEST_TURN: u64 = 2_560_000;

/// A turn that may visit this many positions or more is long: after it a further search begins.
const LONG_TURN: u64 = LONGEST_TURN / 4;
/// The variation of the plan of the first further search; those before it have smaller ones.
const FIRST_FURTHER_VARIATION: u64 = 3;
/// The most further searches of a level.
const MOST_FURTHER: u64 = 64;

/// A way to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Feature space search by pushes from the start.
    Forward,
    /// Feature space search by pulls from the goals.
    Backward,
    /// Iterative deepening with all parts of Rolling Stone.
    Deepening,
    /// Iterative deepening with the parts that keep the solution push-optimal.
    Optimal,
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 4] = [
        Self::Forward,
        Self::Backward,
        Self::Deepening,
        Self::Optimal,
    ];
    /// The methods that find most solutions.
    pub const DEFAULT: [Self; 2] = [Self::Forward, Self::Backward];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::Deepening => "deepening",
            Self::Optimal => "optimal",
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
            methods: Method::DEFAULT.to_vec(),
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

/// A search that takes turns, and the length of its next turn.
struct Entry<'a> {
    search: FeatureSearch<'a>,
    method: Method,
    turn: u64,
}

/// A search that has not begun.
struct Start {
    method: Method,
    variation: u64,
    settings: Settings,
}

/// All searches of one level.
struct Portfolio<'a> {
    board: &'a Board,
    options: &'a Options,
    limits: &'a Budget,
    /// Set once a search has an answer; part of the limits.
    is_found: &'a AtomicBool,
    progress: &'a (dyn Fn(&Progress) + Sync),
    forward: &'a Problem<'a>,
    backward: &'a Problem<'a>,
    /// Searches that have not begun.
    waiting: Mutex<VecDeque<Start>>,
    /// Searches that wait for a turn.
    started: Mutex<VecDeque<Entry<'a>>>,
    /// Further searches so far.
    further: AtomicU64,
    /// Bytes of all searches that take turns.
    bytes: AtomicUsize,
    nodes: AtomicU64,
    found: Mutex<Option<Outcome>>,
}

/// Searches for a solution until one is found, none can exist, or the limits are spent.
pub fn solve(
    board: &Board,
    options: &Options,
    limits: &Budget,
    progress: &(dyn Fn(&Progress) + Sync),
) -> Outcome {
    let is_found = Arc::default();
    let limits = limits.beside(&is_found);
    let portfolio = Portfolio {
        board,
        options,
        limits: &limits,
        is_found: &is_found,
        progress,
        forward: &Problem::new(board, Play::Push),
        backward: &Problem::new(board, Play::Pull),
        waiting: Mutex::new(starts(&options.methods, options.seed)),
        started: Mutex::default(),
        further: AtomicU64::new(0),
        bytes: AtomicUsize::new(0),
        nodes: AtomicU64::new(0),
        found: Mutex::default(),
    };
    std::thread::scope(|scope| {
        for _ in 1..options.threads {
            scope.spawn(|| portfolio.work());
        }
        portfolio.work();
    });
    let nodes = portfolio.nodes.into_inner();
    let found = portfolio.found.into_inner();
    let found = unpoisoned(found);
    let unknown = Outcome {
        verdict: Verdict::Unknown,
        push_optimal: false,
        nodes,
        method: "",
    };
    Outcome {
        nodes,
        ..found.unwrap_or(unknown)
    }
}

impl<'a> Portfolio<'a> {
    /// Takes a search that has not begun, or else the one that waited longest, until the end.
    fn work(&self) {
        while !self.limits.is_over_at(self.nodes()) {
            let start = lock(&self.waiting).pop_front();
            if let Some(start) = start {
                self.begin(&start);
                continue;
            }
            let entry = lock(&self.started).pop_front();
            let is_long = entry.as_ref().is_none_or(|entry| entry.turn >= LONG_TURN);
            if let Some(entry) = entry {
                self.turn(entry);
            }
            if is_long {
                match self.further() {
                    Some(start) => lock(&self.waiting).push_back(start),
                    None if self.is_idle() => break,
                    None => {}
                }
            }
        }
    }

    /// A further search with another plan.
    fn further(&self) -> Option<Start> {
        let method = [Method::Forward, Method::Backward]
            .into_iter()
            .find(|method| self.options.methods.contains(method))?;
        let number = self.further.fetch_add(1, Ordering::Relaxed);
        (number < MOST_FURTHER).then(|| Start {
            method,
            variation: FIRST_FURTHER_VARIATION + number,
            settings: Settings {
                by_blocking: number % 3 == 1,
                by_movable: number % 3 == 2,
                even_costs: false,
                seed: self.options.seed,
            },
        })
    }

    /// Whether no search waits.
    fn is_idle(&self) -> bool {
        lock(&self.started).is_empty() && lock(&self.waiting).is_empty()
    }

    fn nodes(&self) -> u64 {
        self.nodes.load(Ordering::Relaxed)
    }

    fn begin(&self, start: &Start) {
        let parts = match start.method {
            Method::Forward => return self.begin_turns(start, self.forward),
            Method::Backward => return self.begin_turns(start, self.backward),
            Method::Deepening => Parts::ALL,
            Method::Optimal => Parts::ADMISSIBLE,
        };
        self.report(start.method);
        let limits = self
            .limits
            .with_steps(self.limits.max_steps.saturating_sub(self.nodes()));
        let outcome = ida::solve(self.board, &parts, self.options.seed, &limits);
        self.nodes.fetch_add(outcome.nodes, Ordering::Relaxed);
        self.end(outcome.verdict, outcome.push_optimal, start.method);
    }

    fn begin_turns(&self, start: &Start, problem: &'a Problem<'a>) {
        let Some(packing) = Packing::new(problem, start.variation, self.limits) else {
            return;
        };
        let search = FeatureSearch::new(problem, packing, start.settings, self.limits);
        self.bytes.fetch_add(search.bytes(), Ordering::Relaxed);
        self.turn(Entry {
            search,
            method: start.method,
            turn: FIRST_TURN,
        });
    }

    /// Gives a search its turn and lets it wait for the next.
    fn turn(&self, mut entry: Entry<'a>) {
        self.report(entry.method);
        let (before, bytes) = (entry.search.nodes(), entry.search.bytes());
        let others = self.bytes.load(Ordering::Relaxed).saturating_sub(bytes);
        let left = self.limits.max_steps.saturating_sub(self.nodes());
        let limits = self
            .limits
            .with_steps(before.saturating_add(left))
            .with_bytes(self.limits.max_bytes.saturating_sub(others));
        let verdict = entry.search.run(&limits, entry.turn);
        self.nodes
            .fetch_add(entry.search.nodes() - before, Ordering::Relaxed);
        let goes_on = verdict == Verdict::Unknown && !entry.search.is_full(&limits);
        self.end(verdict, false, entry.method);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        if goes_on {
            self.bytes
                .fetch_add(entry.search.bytes(), Ordering::Relaxed);
            entry.turn = (entry.turn * 2).min(LONGEST_TURN);
            lock(&self.started).push_back(entry);
        }
    }

    fn report(&self, method: Method) {
        (self.progress)(&Progress {
            nodes: self.nodes(),
            method: method.name(),
        });
    }

    /// Ends all searches if one has an answer. A solution that does not replay is none.
    fn end(&self, verdict: Verdict, push_optimal: bool, method: Method) {
        let is_answer = match &verdict {
            Verdict::Solved(pushes) => is_solution(self.board, pushes),
            Verdict::Unsolvable => true,
            Verdict::Unknown => false,
        };
        if is_answer {
            self.is_found.store(true, Ordering::Relaxed);
            lock(&self.found).get_or_insert(Outcome {
                verdict,
                push_optimal,
                nodes: 0,
                method: method.name(),
            });
        }
    }
}

/// The searches of a portfolio, the most promising first.
fn starts(methods: &[Method], seed: u64) -> VecDeque<Start> {
    let start = |method, settings, variation| Start {
        method,
        variation,
        settings: Settings { seed, ..settings },
    };
    let movable = Settings {
        by_movable: true,
        ..Settings::default()
    };
    let blocking = Settings {
        by_blocking: true,
        ..Settings::default()
    };
    let both = Settings {
        by_movable: true,
        ..blocking
    };
    let even = Settings {
        even_costs: true,
        ..both
    };
    let mut starts = VecDeque::from([
        start(Method::Forward, both, 0),
        start(Method::Backward, even, 0),
        start(Method::Forward, movable, 0),
        start(Method::Forward, blocking, 2),
        start(Method::Backward, movable, 0),
        start(Method::Optimal, both, 0),
        start(Method::Deepening, both, 0),
    ]);
    starts.retain(|start| methods.contains(&start.method));
    starts
}

#[cfg(test)]
mod tests;
