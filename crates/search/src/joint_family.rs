//! Joint families: the joint moves of a position in which several roles choose at once.
//!
//! All joint moves are made in one pass of the expander. The goals of those that end the game show
//! which moves are *dominated*: another move of the role is at least as good for it, and at most as
//! good for every other role, whatever the others do. Dominated moves are taken from the legal
//! moves, again and again until none is left. In Tron these are the moves into a wall. Where one
//! role is left with a choice, the position is one of a single mover from then on.
//!
//! The rest is a matrix of goals and, with an evaluation, of static values. The static value of a
//! move is its mean against the strategies that solve the matrix, mixed with uniform ones.
//!
//! Invariants: cells are numbered with the first role's move counting fastest; some role keeps a
//! choice; what a role can guarantee does not change when dominated moves are left out.
//!
//! Never uses: the graph, playouts.

use super::matrix::{Matrix, MatrixSolver};
use super::record::{Bounds, UntriedMove};
use super::request::{PositionInfo, RolloutRequest};
use panza_gdl::MoveId;
use panza_learning::evaluation::MAX_ROLES;
use panza_learning::{Evaluation, ValueReader};
use panza_machine::PositionBatch;

/// The share of uniform play in what the others are expected to do.
const UNIFORM: f32 = 0.5;

/// The number of joint moves of a position; 0 unless several roles choose, each with an aim, and
/// there are at most `limit`.
pub(super) fn n_joint_moves(position: &PositionInfo, chance: Option<usize>, limit: usize) -> usize {
    let n_roles = position.legal_ends.len();
    let count = |role: usize| position.moves_of(role).len();
    if (0..n_roles).filter(|&role| count(role) > 1).count() < 2
        || chance.is_some_and(|chance| count(chance) > 1)
    {
        return 0;
    }
    let product = (0..n_roles).try_fold(1usize, |product, role| product.checked_mul(count(role)));
    product.filter(|&product| product <= limit).unwrap_or(0)
}

/// Appends all joint moves of a position.
pub(super) fn push_joint_moves(position: &PositionInfo, joint_moves: &mut Vec<MoveId>) {
    let n_roles = position.legal_ends.len();
    let n_cells: usize = (0..n_roles)
        .map(|role| position.moves_of(role).len())
        .product();
    for cell in 0..n_cells {
        let mut rest = cell;
        for role in 0..n_roles {
            let moves = position.moves_of(role);
            joint_moves.push(moves[rest % moves.len()]);
            rest /= moves.len();
        }
    }
}

/// What the joint moves of one position lead to.
#[derive(Default)]
pub(super) struct JointFamily {
    /// Legal moves of each role, and the distance between two cells whose move differs by one.
    counts: Vec<usize>,
    strides: Vec<usize>,
    /// The bounds of each role's goal in each cell: exact where the game is over.
    bounds: Vec<Bounds>,
    /// Whether no move of the cell was left out.
    is_open: Vec<bool>,
    /// For each legal move, in the order of `legal`, its place among those that are kept.
    places: Vec<Option<u16>>,
    matrix: Matrix,
    solver: MatrixSolver,
    /// The static values of each cell, one per role.
    values: Vec<f32>,
    /// The probability of each move that is kept, by the solution and with the uniform share.
    solution: Vec<f32>,
    expected: Vec<f32>,
    /// The static value of each move that is kept.
    of_moves: Vec<f32>,
    /// Moves that each role has left while dominated ones are taken out.
    left: Vec<usize>,
}

impl JointFamily {
    /// Reads the cells `first..` of the positions, and leaves out dominated moves.
    pub(super) fn read(
        &mut self,
        request: &mut RolloutRequest,
        positions: &PositionBatch,
        first: usize,
        chance: Option<usize>,
        evaluation: Option<(&Evaluation, &mut ValueReader)>,
    ) {
        let position = &mut request.position;
        self.read_cells(position, positions, first);
        let is_over = |cell: usize| positions.terminal[first + cell];
        if (0..self.is_open.len()).any(is_over) {
            self.leave_out_dominated(position, chance);
            self.keep_moves(position);
            if position.mover().is_some() {
                return;
            }
        }
        position.has_joint_moves = true;
        let n_roles = self.counts.len();
        for cell in (0..self.is_open.len()).filter(|&cell| self.is_open[cell] && is_over(cell)) {
            for role in 0..n_roles {
                position.terminal_places.push(self.place(role, cell));
            }
            let goals = &self.bounds[cell * n_roles..][..n_roles];
            position
                .terminal_goals
                .extend(goals.iter().map(|goal| goal.lower));
        }
        if self.is_decided(positions, first, chance) {
            self.read_values(position, positions, first, None);
            request.is_proven = true;
        } else if evaluation.is_some() {
            self.read_values(position, positions, first, evaluation);
        } else {
            return;
        }
        self.solve(position, chance);
        self.write_values(position);
    }

    /// Whether all cells are ends, and what one of two roles wins the other loses.
    fn is_decided(&self, positions: &PositionBatch, first: usize, chance: Option<usize>) -> bool {
        let n_roles = self.counts.len();
        let with_aim = (0..n_roles).filter(|&role| chance != Some(role));
        let mut open = (0..self.is_open.len()).filter(|&cell| self.is_open[cell]);
        let mut sum = None;
        with_aim.clone().count() == 2
            && open.all(|cell| {
                let goals = &self.bounds[cell * n_roles..][..n_roles];
                let of_cell: u32 = with_aim
                    .clone()
                    .map(|role| u32::from(goals[role].lower))
                    .sum();
                positions.terminal[first + cell] && *sum.get_or_insert(of_cell) == of_cell
            })
    }

    /// Reads the goals of ends, and the static values of the other cells where there is an
    /// evaluation.
    fn read_values(
        &mut self,
        position: &PositionInfo,
        positions: &PositionBatch,
        first: usize,
        mut evaluation: Option<(&Evaluation, &mut ValueReader)>,
    ) {
        let n_roles = self.counts.len();
        self.values.clear();
        self.values.resize(self.bounds.len(), 0.0);
        let mut of_cell = [0.0; MAX_ROLES];
        let of_cell = &mut of_cell[..n_roles.min(MAX_ROLES)];
        if let Some((evaluation, reader)) = &mut evaluation {
            reader.begin(evaluation, &position.state, first);
        }
        for cell in (0..self.is_open.len()).filter(|&cell| self.is_open[cell]) {
            let values = &mut self.values[cell * n_roles..][..n_roles];
            if positions.terminal[first + cell] {
                let goals = &self.bounds[cell * n_roles..][..n_roles];
                let goals = goals.iter().map(|goal| f32::from(goal.lower));
                values
                    .iter_mut()
                    .zip(goals)
                    .for_each(|(it, goal)| *it = goal);
            } else if let Some((evaluation, reader)) = &mut evaluation {
                let from = &position.state;
                reader.values_after(evaluation, from, positions, first + cell, of_cell);
                values
                    .iter_mut()
                    .zip(&*of_cell)
                    .for_each(|(it, &value)| *it = value);
            }
        }
    }

    fn read_cells(&mut self, position: &PositionInfo, positions: &PositionBatch, first: usize) {
        let n_roles = position.legal_ends.len();
        self.counts.clear();
        self.counts
            .extend((0..n_roles).map(|role| position.moves_of(role).len()));
        self.strides.clear();
        let mut n_cells = 1;
        for &count in &self.counts {
            self.strides.push(n_cells);
            n_cells *= count;
        }
        self.is_open.clear();
        self.is_open.resize(n_cells, true);
        self.places.clear();
        for &count in &self.counts {
            self.places.extend((0..count as u16).map(Some));
        }
        self.bounds.clear();
        for cell in first..first + n_cells {
            if positions.terminal[cell] {
                let goals = positions.goals(cell).iter();
                let goals = goals.map(|goal| goal.unwrap_or(0).min(100));
                self.bounds.extend(goals.map(Bounds::exact));
            } else {
                self.bounds
                    .resize(self.bounds.len() + n_roles, Bounds::UNKNOWN);
            }
        }
    }

    /// The place of a role's move in a cell among those that are kept.
    fn place(&self, role: usize, cell: usize) -> u16 {
        let start: usize = self.counts[..role].iter().sum();
        let index = cell / self.strides[role] % self.counts[role];
        self.places[start + index].unwrap_or(0)
    }

    /// Closes the cells of dominated moves.
    fn leave_out_dominated(&mut self, position: &PositionInfo, chance: Option<usize>) {
        let n_roles = self.counts.len();
        let mut left = std::mem::take(&mut self.left);
        left.clone_from(&self.counts);
        let mut is_changed = true;
        while is_changed {
            is_changed = false;
            for role in 0..n_roles {
                let start = position.start_of(role);
                for worse in 0..self.counts[role] {
                    let n_choosing = left.iter().filter(|&&count| count > 1).count();
                    if left[role] < 2 || (left[role] == 2 && n_choosing == 1) {
                        break;
                    }
                    let is_kept = |index: usize| self.places[start + index].is_some();
                    let is_dominated = is_kept(worse)
                        && (0..self.counts[role]).any(|better| {
                            better != worse
                                && is_kept(better)
                                && self.dominates(role, better, worse, chance)
                        });
                    if is_dominated {
                        self.places[start + worse] = None;
                        self.close(role, worse);
                        left[role] -= 1;
                        is_changed = true;
                    }
                }
            }
        }
        self.left = left;
        for role in 0..n_roles {
            let start = position.start_of(role);
            let of_role = &mut self.places[start..start + self.counts[role]];
            for (kept, place) in of_role.iter_mut().flatten().zip(0..) {
                *kept = place;
            }
        }
    }

    /// The cells of a role's move.
    fn cells_of(&self, role: usize, index: usize) -> impl Iterator<Item = usize> + use<> {
        let (stride, count) = (self.strides[role], self.counts[role]);
        let n_others = self.is_open.len() / count;
        (0..n_others)
            .map(move |other| other / stride * (stride * count) + index * stride + other % stride)
    }

    fn close(&mut self, role: usize, index: usize) {
        for cell in self.cells_of(role, index) {
            self.is_open[cell] = false;
        }
    }

    /// Whether one move of a role is surely at least as good for it as another, and at most as good
    /// for the others.
    fn dominates(&self, role: usize, better: usize, worse: usize, chance: Option<usize>) -> bool {
        let n_roles = self.counts.len();
        let mut pairs = self
            .cells_of(role, better)
            .zip(self.cells_of(role, worse))
            .filter(|&(_, worse)| self.is_open[worse]);
        pairs.all(|(better, worse)| {
            let bounds = |cell: usize| &self.bounds[cell * n_roles..][..n_roles];
            let mut of_roles = bounds(better).iter().zip(bounds(worse)).enumerate();
            of_roles.all(|(other, (better, worse))| {
                if other == role {
                    better.lower >= worse.upper
                } else {
                    chance == Some(other) || better.upper <= worse.lower
                }
            })
        })
    }

    /// Takes the moves that were left out from the legal moves.
    fn keep_moves(&self, position: &mut PositionInfo) {
        let mut places = self.places.iter();
        position
            .legal
            .retain(|_| places.next().is_some_and(Option::is_some));
        let mut start = 0;
        let mut end = 0;
        for (of_role, &count) in position.legal_ends.iter_mut().zip(&self.counts) {
            let kept = self.places[start..start + count].iter().flatten().count();
            start += count;
            end += kept as u32;
            *of_role = end;
        }
    }

    /// Writes the probabilities of the moves that are kept, by the static values: uniform ones
    /// unless two roles choose.
    fn solve(&mut self, position: &PositionInfo, chance: Option<usize>) {
        let n_roles = self.counts.len();
        self.solution.clear();
        for role in 0..n_roles {
            let count = position.moves_of(role).len();
            self.solution
                .resize(self.solution.len() + count, 1.0 / count as f32);
        }
        self.expected.clear();
        self.expected.extend_from_slice(&self.solution);
        let with_aim = (0..n_roles).filter(|&role| chance != Some(role));
        let mut choosing = (0..n_roles).filter(|&role| position.moves_of(role).len() > 1);
        let (Some(first), Some(second), None) = (choosing.next(), choosing.next(), choosing.next())
        else {
            return;
        };
        if with_aim.count() > 2 {
            return;
        }
        let counts = [first, second].map(|role| position.moves_of(role).len());
        self.matrix.reset(counts[0], counts[1]);
        for cell in (0..self.is_open.len()).filter(|&cell| self.is_open[cell]) {
            let [row, column] = [first, second].map(|role| usize::from(self.place(role, cell)));
            let points = self.values[cell * n_roles + first];
            self.matrix.set(row, column, f64::from(points));
        }
        self.solver.solve(&self.matrix);
        let of_roles = [(first, &self.solver.rows), (second, &self.solver.columns)];
        for (role, shares) in of_roles {
            let start = position.start_of(role);
            for (index, &share) in shares.iter().enumerate() {
                let share = share as f32;
                self.solution[start + index] = share;
                let expected = &mut self.expected[start + index];
                *expected = share + (*expected - share) * UNIFORM;
            }
        }
    }

    /// Writes the static values of the position and of the moves.
    fn write_values(&mut self, position: &mut PositionInfo) {
        let n_roles = self.counts.len();
        let mut of_position = std::mem::take(&mut position.value);
        of_position.clear();
        of_position.resize(n_roles, 0.0);
        let mut of_moves = std::mem::take(&mut self.of_moves);
        of_moves.clear();
        of_moves.resize(position.legal.len(), 0.0);
        for cell in (0..self.is_open.len()).filter(|&cell| self.is_open[cell]) {
            let values = &self.values[cell * n_roles..][..n_roles];
            let index = |role: usize| position.start_of(role) + usize::from(self.place(role, cell));
            let probability: f32 = (0..n_roles)
                .map(|role| self.solution[index(role)])
                .product();
            for (role, value) in values.iter().enumerate() {
                of_position[role] += probability * value;
                let others = (0..n_roles).filter(|&other| other != role);
                let of_others: f32 = others.map(|other| self.expected[index(other)]).product();
                of_moves[index(role)] += of_others * value;
            }
        }
        position.value = of_position;
        let moves = position.legal.iter().zip(&of_moves);
        position
            .untried
            .extend(moves.map(|(&mv, &value)| UntriedMove::valued(mv, value)));
        self.of_moves = of_moves;
    }
}
