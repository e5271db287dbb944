//! Observations as planes: a board of cells for each content, as convolutions want them.
//!
//! Where boards are found (`structure::board`), each content of each board is a plane, whose cells
//! are on where the board has that content. Each fact that is on no board is a plane that is on or
//! off as a whole. Boards of different sizes stand in the upper left corner of the largest.
//!
//! Never uses: Python.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use panza_analysis::BoardPainter;
use panza_analysis::board::{Layout, sample_states};
use panza_gdl::{Rules, sexpr};
use panza_machine::Machine;
use panza_sync::Random;

use crate::batch_error::BatchError;

/// States of random games that boards are found in.
const SAMPLES: usize = 200;
/// Cells of an observation, at most.
const MAX_CELLS: usize = 1 << 24;

/// The planes of a game.
#[derive(Clone, Debug, Default)]
pub struct Planes {
    /// Planes, lines and columns.
    pub shape: [usize; 3],
    /// What each plane shows.
    pub names: Vec<String>,
    /// For each fact the cells that it sets, from one number to another.
    cells: Vec<std::ops::Range<usize>>,
}

/// A fact on a board.
struct Cell {
    plane: String,
    line: usize,
    column: usize,
}

impl Planes {
    /// Finds the planes of a game.
    ///
    /// # Errors
    /// There are too many cells.
    pub fn find(
        machine: &Arc<dyn Machine>,
        facts: &[String],
        rules: &Rules,
    ) -> Result<Self, BatchError> {
        let samples = sample_states(machine, &mut Random::new(1), SAMPLES, || true);
        let layouts = BoardPainter::learn_with(&samples, facts, rules).layouts();
        let ranks: Vec<[BTreeMap<u64, usize>; 2]> = layouts.iter().map(ranks).collect();
        let on_board = |fact: &String| {
            let boards = layouts.iter().zip(&ranks);
            boards
                .filter_map(|(layout, ranks)| cell(layout, ranks, fact))
                .next()
        };
        let places: Vec<Option<Cell>> = facts.iter().map(on_board).collect();
        let [mut lines, mut columns] = [1, 1];
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        for cell in places.iter().flatten() {
            lines = lines.max(cell.line + 1);
            columns = columns.max(cell.column + 1);
            numbers.insert(&cell.plane, 0);
        }
        let mut names = Vec::new();
        for (name, number) in &mut numbers {
            *number = names.len();
            names.push((*name).to_string());
        }
        let size = lines * columns;
        let mut cells = Vec::with_capacity(facts.len());
        for (fact, place) in facts.iter().zip(&places) {
            cells.push(match place {
                Some(cell) => {
                    let plane = numbers.get(cell.plane.as_str()).copied().unwrap_or(0);
                    let at = plane * size + cell.line * columns + cell.column;
                    at..at + 1
                }
                None => {
                    names.push(fact.clone());
                    (names.len() - 1) * size..names.len() * size
                }
            });
        }
        let n_cells = names.len().saturating_mul(size);
        if n_cells > MAX_CELLS {
            let text = format!("an observation in planes would have {n_cells} cells");
            return Err(BatchError::TooLarge(text));
        }
        Ok(Self {
            shape: [names.len(), lines, columns],
            names,
            cells,
        })
    }

    /// Writes the planes of each of some states of `n_words` words.
    pub fn write(&self, states: &[u64], n_words: usize, out: &mut [bool]) {
        out.fill(false);
        let size: usize = self.shape.iter().product();
        for (state, out) in states
            .chunks_exact(n_words)
            .zip(out.chunks_exact_mut(size.max(1)))
        {
            for (index, &word) in state.iter().enumerate() {
                let mut word = word;
                while word != 0 {
                    let fact = index * 64 + word.trailing_zeros() as usize;
                    word &= word - 1;
                    if let Some(cells) = self.cells.get(fact) {
                        out[cells.clone()].fill(true);
                    }
                }
            }
        }
    }
}

/// The rank of each line and each column of a layout. Hexagons have columns at half places.
fn ranks(layout: &Layout) -> [BTreeMap<u64, usize>; 2] {
    let rank = |numbers: BTreeSet<u64>| numbers.into_iter().zip(0..).collect();
    let places = layout.cells.values();
    let lines = places.clone().map(|&(line, _)| place_number(line));
    let columns = places.map(|&(_, column)| place_number(column));
    [rank(lines.collect()), rank(columns.collect())]
}

/// A place in thousandths of a cell.
fn place_number(place: f64) -> u64 {
    (place * 1000.0).round().max(0.0) as u64
}

/// The cell that a fact sets, if it is on the board.
fn cell(layout: &Layout, ranks: &[BTreeMap<u64, usize>; 2], fact: &str) -> Option<Cell> {
    let (expressions, _) = sexpr::parse(fact);
    let [expression] = &expressions[..] else {
        return None;
    };
    let [name, arguments @ ..] = expression.list()? else {
        return None;
    };
    if name.symbol()? != layout.function || arguments.len() != layout.arity {
        return None;
    }
    let mut words: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    if !layout.order.is_empty() {
        words = layout
            .order
            .iter()
            .filter_map(|&at| words.get(at).cloned())
            .collect();
    }
    let (n_board, n_cell) = (layout.n_board_arguments, layout.n_cell_arguments);
    let board = words.get(..n_board)?.join(" ");
    let place = words.get(n_board..n_board + n_cell)?.join(" ");
    let content = words.get(n_board + n_cell..)?.join(" ");
    let &(line, column) = layout.cells.get(&place)?;
    let mut plane = layout.function.clone();
    for part in [board, content] {
        if !part.is_empty() {
            plane = format!("{plane} {part}");
        }
    }
    Some(Cell {
        plane,
        line: *ranks[0].get(&place_number(line))?,
        column: *ranks[1].get(&place_number(column))?,
    })
}
