//! Layouts: shapes as plain data, with line and column of each cell and the label of each content.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::orientation::{Orientation, Slant};
use super::shape::{Coordinates, Shape, cell_names};

/// The boards of one function. The arguments of a fact are, in this order, those that select the
/// board, the coordinates of the cell, and its content. Keys join the arguments by spaces.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Layout {
    /// The function.
    pub function: String,
    /// Its arity.
    pub arity: usize,
    /// The number of arguments that select the board.
    pub n_board_arguments: usize,
    /// The number of coordinates.
    pub n_cell_arguments: usize,
    /// The boards.
    pub boards: Vec<Board>,
    /// The positions of the arguments in the order above, where a fact has them in another.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<usize>,
    /// What cells look like.
    pub form: Form,
    /// Line and column of each cell, line 0 on top.
    pub cells: BTreeMap<String, (f64, f64)>,
    /// Pairs of cells that a line joins.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<(String, String)>,
    /// The colours of the sides: top, right, bottom, left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub borders: Option<[String; 4]>,
    /// What lies under the pieces, by cell, such as walls.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub grounds: BTreeMap<String, String>,
    /// The names of the lines from the top, empty ones where they have none.
    pub lines: Vec<String>,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The contents seen.
    pub contents: BTreeMap<String, Content>,
    /// Whether blank cells have facts; if so, a place without a fact is no cell.
    pub has_blanks: bool,
}

impl Layout {
    /// Whether a fact puts something on a board. Facts that mark an empty cell do not.
    pub fn shows(&self, fact: &str) -> bool {
        let words: Vec<&str> = fact
            .trim_matches(['(', ')'])
            .split_ascii_whitespace()
            .collect();
        let from = 1 + self.n_board_arguments + self.n_cell_arguments;
        if words.first() != Some(&self.function.as_str()) || words.len() != self.arity + 1 {
            return false;
        }
        let mut words = words;
        if !self.order.is_empty() {
            let arguments = words.split_off(1);
            words.extend(self.order.iter().map(|&at| arguments[at]));
        }
        let content = words.get(from..).map(|rest| rest.join(" "));
        let look = content.and_then(|content| self.contents.get(&content));
        look.is_none_or(|look| !look.is_blank)
    }
}

/// What the cells of a board look like.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Squares side by side.
    #[default]
    Square,
    /// Hexagons side by side, each line half a cell from the next.
    Hexagon,
    /// Round holes apart from each other.
    Circle,
    /// A column on which things are stacked, the first content at the bottom.
    Stack,
}

/// The height of a line of hexagons, in widths of one.
pub const HEXAGON_LINE: f64 = 0.866;

/// One of the boards of a function.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Board {
    /// The arguments that select it; empty for a single board.
    pub key: String,
    /// Its title.
    pub title: String,
    /// Its line among the boards.
    pub line: usize,
    /// Its column among the boards.
    pub column: usize,
}

/// The content of a cell.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Content {
    /// The shortest unique abbreviation.
    pub label: String,
    /// Whether it marks an empty cell.
    #[serde(rename = "blank")]
    pub is_blank: bool,
}

/// The layout of a shape.
pub(super) fn layout(shape: &Shape) -> Layout {
    let mut boards: Vec<Board> = keys(&shape.selector)
        .into_iter()
        .filter_map(|arguments| {
            let (line, column) = shape.selector.locate(&arguments, shape.orientation)?;
            let key = arguments.join(" ");
            Some(Board {
                title: key.clone(),
                key,
                line,
                column,
            })
        })
        .collect();
    // Only some of the compass points may be boards: gaps are closed.
    let lines: BTreeSet<usize> = boards.iter().map(|board| board.line).collect();
    let columns: BTreeSet<usize> = boards.iter().map(|board| board.column).collect();
    for board in &mut boards {
        board.line = lines.range(..board.line).count();
        board.column = columns.range(..board.column).count();
    }
    let cells = keys(&shape.cell)
        .into_iter()
        .filter(|arguments| shape.has_cell(arguments))
        .filter_map(|arguments| {
            let (line, column) = shape.cell.locate(&arguments, shape.orientation)?;
            Some((arguments.join(" "), (line as f64, column as f64)))
        })
        .collect();
    let cells = slanted(cells, shape);
    let (lines, columns) = cell_names(shape);
    let contents = shape
        .contents()
        .map(|(content, label, is_blank)| {
            let label = label.to_string();
            (content.join(" "), Content { label, is_blank })
        })
        .collect();
    Layout {
        function: shape.function().to_string(),
        arity: shape.arity(),
        n_board_arguments: shape.selector.n_arguments(),
        n_cell_arguments: shape.cell.n_arguments(),
        boards,
        order: Vec::new(),
        form: match shape.slant {
            Some(_) => Form::Hexagon,
            None => Form::Square,
        },
        cells,
        links: Vec::new(),
        borders: None,
        grounds: BTreeMap::new(),
        lines,
        columns,
        contents,
        has_blanks: shape.has_blanks,
    }
}

/// The places of hexagons: lines are closer, and each is half a cell from the next.
fn slanted(mut cells: BTreeMap<String, (f64, f64)>, shape: &Shape) -> BTreeMap<String, (f64, f64)> {
    let Some(slant) = shape.slant else {
        return cells;
    };
    let is_along = slant == Slant::Along;
    // Steps of coordinates that both grow lead down and to the right where nothing is turned.
    let Orientation {
        rows_first,
        is_upside_down,
        is_mirrored,
    } = shape.orientation;
    let leans_right = is_along ^ !rows_first ^ is_upside_down ^ is_mirrored;
    let last = cells.values().map(|place| place.0).fold(0.0, f64::max);
    for (line, column) in cells.values_mut() {
        let lean = if leans_right { last - *line } else { *line };
        *column += lean / 2.0;
        *line *= HEXAGON_LINE;
    }
    let first = cells.values().map(|place| place.1).fold(f64::MAX, f64::min);
    cells.values_mut().for_each(|place| place.1 -= first);
    cells
}

/// The arguments of all places.
fn keys(place: &Coordinates) -> Vec<Vec<String>> {
    match place {
        Coordinates::Grid { first, second } => first
            .iter()
            .flat_map(|a| second.iter().map(move |b| vec![a.clone(), b.clone()]))
            .collect(),
        Coordinates::Compass(names) => names.iter().map(|name| vec![name.clone()]).collect(),
        Coordinates::Row(values) if values.is_empty() => vec![Vec::new()],
        Coordinates::Row(values) => values.iter().map(|value| vec![value.clone()]).collect(),
    }
}
