//! Exploitability of the mixed strategies that the search finds where both roles choose at the same
//! time. Positions near the end of two games are solved exactly. Regret matching is applied at the
//! root only, so each position is searched by itself.
//!
//! The exploitability of a strategy is the value of the position minus the result against the best
//! reply, with perfect play afterwards.

use std::collections::HashMap;
use std::sync::Arc;

use panza_gdl::{MoveId, RoleId};
use panza_machine::{Machine, Reasoner};
use panza_sync::{Budget, Random};
use panza_testing::{machine_of, matrix_game, rules_of, rulesheet};

use crate::{Search, SearchConfig};

/// Searches for each position and role.
const SEEDS: u64 = 2;
/// States that may be looked at to solve the positions of one game.
const STATES: usize = 1_000_000;
/// Random walks in which positions are looked for.
const WALKS: usize = 4_000;

/// Solves states of a game of two roles whose goals always add up to 100, by backward induction
/// over joint moves.
struct Solver {
    reasoner: Box<dyn Reasoner>,
    /// The first role's goal with best play by both.
    values: HashMap<Vec<u64>, f64>,
}

impl Solver {
    fn new(machine: &Arc<dyn Machine>) -> Self {
        assert_eq!(machine.info().n_roles(), 2);
        Self {
            reasoner: Arc::clone(machine).reasoner(),
            values: HashMap::new(),
        }
    }

    /// The goal of the first role in a state.
    fn value(&mut self, state: &[u64]) -> f64 {
        if let Some(&value) = self.values.get(state) {
            return value;
        }
        assert!(self.values.len() < STATES, "too many states");
        self.reasoner.set_state(state);
        let value = if self.reasoner.is_terminal() {
            let mut goals = [None; 2];
            self.reasoner.goals(&mut goals);
            let goals = goals.map(|goal| goal.expect("every role has a goal"));
            assert_eq!(goals[0] + goals[1], 100);
            f64::from(goals[0])
        } else {
            let [rows, columns] = self.legal(state);
            matrix_game::solve(&self.matrix(state, &rows, &columns)).value
        };
        self.values.insert(state.to_vec(), value);
        value
    }

    /// Both roles' legal moves.
    fn legal(&mut self, state: &[u64]) -> [Vec<MoveId>; 2] {
        self.reasoner.set_state(state);
        [0, 1].map(|role| {
            let mut legal = self.reasoner.legal_moves(RoleId(role)).to_vec();
            legal.sort();
            legal
        })
    }

    /// What the first role gets for each of its moves, the rows, and each of the other's.
    fn matrix(&mut self, state: &[u64], rows: &[MoveId], columns: &[MoveId]) -> Vec<Vec<f64>> {
        let value = |&row: &MoveId, &column: &MoveId, solver: &mut Self| {
            let mut next = Vec::new();
            solver.reasoner.set_state(state);
            solver.reasoner.next_state(&[row, column], &mut next);
            solver.value(&next)
        };
        rows.iter()
            .map(|row| {
                columns
                    .iter()
                    .map(|column| value(row, column, self))
                    .collect()
            })
            .collect()
    }
}

/// A game, and states of it that are to be solved.
struct Cases {
    machine: Arc<dyn Machine>,
    solver: Solver,
    states: Vec<Vec<u64>>,
}

impl Cases {
    fn of(game: &str) -> Self {
        let machine = machine_of(&rules_of(rulesheet(game)));
        Self {
            solver: Solver::new(&machine),
            machine,
            states: Vec::new(),
        }
    }

    /// Makes random moves from the start until `is_wanted` says so, or the game is over.
    fn walk(
        &mut self,
        random: &mut Random,
        is_wanted: impl Fn(&[String]) -> bool,
    ) -> Option<Vec<u64>> {
        let mut state = self.machine.initial_state();
        let mut next = Vec::new();
        loop {
            self.solver.reasoner.set_state(&state);
            if self.solver.reasoner.is_terminal() {
                return None;
            }
            if is_wanted(&self.machine.info().state_facts(&state)) {
                return Some(state);
            }
            let legal = self.solver.legal(&state);
            let joint_move = legal.map(|legal| legal[random.below(legal.len() as u32) as usize]);
            self.solver.reasoner.set_state(&state);
            self.solver.reasoner.next_state(&joint_move, &mut next);
            std::mem::swap(&mut state, &mut next);
        }
    }

    /// The exploitability of each role's mixed strategy, for each state and seed, and of uniform
    /// play, for each state.
    fn lost(&mut self, iterations: u64) -> Lost {
        let mut lost = Lost {
            searched: Vec::new(),
            even: Vec::new(),
        };
        for state in &self.states {
            let [rows, columns] = self.solver.legal(state);
            let matrix = self.solver.matrix(state, &rows, &columns);
            let solution = matrix_game::solve(&matrix);
            let value = solution.value;
            let by_rows = |shares: &[f64]| value - matrix_game::worth_of_rows(&matrix, shares);
            let by_columns =
                |shares: &[f64]| matrix_game::worth_of_columns(&matrix, shares) - value;
            // The solution must be one: nobody can gain by leaving it.
            assert!(by_rows(&solution.rows).abs() < 1e-6);
            assert!(by_columns(&solution.columns).abs() < 1e-6);
            lost.even.push(by_rows(&even(rows.len())));
            lost.even.push(by_columns(&even(columns.len())));
            for seed in 0..SEEDS {
                let config = SearchConfig {
                    samples_per_request: 0,
                    ..SearchConfig::deterministic(seed)
                };
                let shares = |role: u32, moves: &[MoveId]| {
                    shares(
                        &self.machine,
                        state,
                        RoleId(role),
                        moves,
                        &config,
                        iterations,
                    )
                };
                lost.searched.push(by_rows(&shares(0, &rows)));
                lost.searched.push(by_columns(&shares(1, &columns)));
            }
        }
        lost
    }
}

/// Points that are lost to best replies.
struct Lost {
    /// By the strategies of searches.
    searched: Vec<f64>,
    /// By uniform play.
    even: Vec<f64>,
}

/// The uniform strategy of `count` moves.
fn even(count: usize) -> Vec<f64> {
    vec![1.0 / count as f64; count]
}

/// The mixed strategy of a search over a role's moves in a state.
fn shares(
    machine: &Arc<dyn Machine>,
    state: &[u64],
    role: RoleId,
    moves: &[MoveId],
    config: &SearchConfig,
    iterations: u64,
) -> Vec<f64> {
    let mut search = Search::new(Arc::clone(machine), role, config.clone());
    search.set_state(state);
    search.run(&Budget::of_steps(iterations));
    let report = search.root();
    let share = |&mv: &MoveId| {
        let report = report.moves.iter().find(|report| report.mv == mv);
        f64::from(report.and_then(|report| report.probability).unwrap_or(0.0))
    };
    let mut shares: Vec<f64> = moves.iter().map(share).collect();
    if shares.iter().all(|&share| share == 0.0) {
        // Something is proven: then there is no mixed strategy.
        let best = search.best_move().expect("there are moves");
        let place = moves.iter().position(|&mv| mv == best);
        shares[place.expect("the move is legal")] = 1.0;
    }
    let sum: f64 = shares.iter().sum();
    assert!((sum - 1.0).abs() < 1e-4, "{shares:?}");
    shares
}

/// The mean and the greatest of some numbers.
fn mean_and_worst(numbers: &[f64]) -> (f64, f64) {
    let sum: f64 = numbers.iter().sum();
    let worst = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (sum / numbers.len() as f64, worst)
}

/// Holds what the searches lose, in points, against bounds and against what playing all moves alike
/// loses, and prints it.
fn check(name: &str, cases: &mut Cases, iterations: u64, mean_below: f64, worst_below: f64) {
    let Lost { searched, even } = cases.lost(iterations);
    let (mean, worst) = mean_and_worst(&searched);
    let (even_mean, even_worst) = mean_and_worst(&even);
    println!(
        "{name}, {} positions, {} searches of {iterations} iterations: mean {mean:.3}, worst {worst:.2} points lost; \
         by even shares mean {even_mean:.1}, worst {even_worst:.1}",
        cases.states.len(),
        searched.len(),
    );
    assert!(
        mean < mean_below,
        "{name}: a mean of {mean} points is lost: {searched:.1?}"
    );
    assert!(
        worst < worst_below,
        "{name}: {worst} points are lost at worst: {searched:.1?}"
    );
}

#[test]
fn the_last_three_rounds_of_roshambo_are_mixed() {
    let mut cases = Cases::of("roshamboTen");
    let mut random = Random::new(1);
    for played in ["(played 7)", "(played 8)", "(played 9)"] {
        let is_wanted = |facts: &[String]| facts.iter().any(|fact| fact == played);
        // Several scores.
        let full = cases.states.len() + 3;
        while cases.states.len() < full {
            let state = cases
                .walk(&mut random, is_wanted)
                .expect("ten rounds are played");
            if !cases.states.contains(&state) {
                cases.states.push(state);
            }
        }
    }
    check("roshamboTen", &mut cases, 5_000, 0.15, 0.4);
    check("roshamboTen", &mut cases, 50_000, 0.06, 0.15);
}

/// Positions of the bidding game with so many blank cells, in which both roles can go wrong.
fn late_bids(blanks: usize, count: usize) -> Cases {
    let mut cases = Cases::of("biddingTicTacToe");
    let mut random = Random::new(7);
    let is_blank = |fact: &&String| fact.starts_with("(cell") && fact.ends_with("blank)");
    let is_wanted = |facts: &[String]| {
        let is_bidding = facts.iter().any(|fact| fact == "bidding");
        is_bidding && facts.iter().filter(is_blank).count() == blanks
    };
    for _ in 0..WALKS {
        if cases.states.len() == count {
            break;
        }
        let Some(state) = cases.walk(&mut random, is_wanted) else {
            continue;
        };
        let [rows, columns] = cases.solver.legal(&state);
        let matrix = cases.solver.matrix(&state, &rows, &columns);
        let value = matrix_game::solve(&matrix).value;
        let row_loses = |row: &Vec<f64>| row.iter().any(|&goal| goal < value - 1.0);
        let column_loses = |column: usize| matrix.iter().any(|row| row[column] > value + 1.0);
        if matrix.iter().any(row_loses)
            && (0..columns.len()).any(column_loses)
            && !cases.states.contains(&state)
        {
            cases.states.push(state);
        }
    }
    assert_eq!(cases.states.len(), count, "too few positions were found");
    cases
}

#[test]
fn bids_with_four_blank_cells_lose_little() {
    check(
        "biddingTicTacToe, 4 blank",
        &mut late_bids(4, 12),
        10_000,
        0.5,
        5.0,
    );
}

#[test]
fn bids_with_five_blank_cells_lose_little() {
    check(
        "biddingTicTacToe, 5 blank",
        &mut late_bids(5, 4),
        50_000,
        0.5,
        5.0,
    );
}
