//! Layouts: shapes as plain data, with line and column of each cell and the label of each content.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::shape::{Place, Shape, cell_names};

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
    /// Line and column of each cell, line 0 on top.
    pub cells: BTreeMap<String, (usize, usize)>,
    /// The names of the lines from the top, empty ones where they have none.
    pub lines: Vec<String>,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The contents seen.
    pub contents: BTreeMap<String, Content>,
    /// Whether blank cells have facts; if so, a place without a fact is no cell.
    pub has_blanks: bool,
}

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
            let (line, column) = shape.selector.locate(&arguments, shape.rows_first)?;
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
        .filter_map(|arguments| {
            let place = shape.cell.locate(&arguments, shape.rows_first)?;
            Some((arguments.join(" "), place))
        })
        .collect();
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
        cells,
        lines,
        columns,
        contents,
        has_blanks: shape.has_blanks,
    }
}

/// The arguments of all places.
fn keys(place: &Place) -> Vec<Vec<String>> {
    match place {
        Place::Grid { first, second } => first
            .iter()
            .flat_map(|a| second.iter().map(move |b| vec![a.clone(), b.clone()]))
            .collect(),
        Place::Compass(names) => names.iter().map(|name| vec![name.clone()]).collect(),
        Place::Row(values) if values.is_empty() => vec![Vec::new()],
        Place::Row(values) => values.iter().map(|value| vec![value.clone()]).collect(),
    }
}
