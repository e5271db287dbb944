//! A shape spelled out: for every argument that says where, the line and the column; for every
//! content, its label. Whoever draws it needs to know nothing of axes and compasses.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::shape::{Place, Shape, cell_names};

/// The boards that one function shows. A fact holds, in this order, the arguments that say which
/// board, those that say where, and those that say what stands there; each group is written with
/// spaces between.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Layout {
    /// The function.
    pub function: String,
    /// How many arguments it has.
    pub arity: usize,
    /// How many of them say which board.
    pub n_board_arguments: usize,
    /// How many say where on it.
    pub n_cell_arguments: usize,
    /// The boards.
    pub boards: Vec<Board>,
    /// Line and column of each cell, line 0 on top.
    pub cells: BTreeMap<String, (usize, usize)>,
    /// The names of the lines from the top, empty ones where they have none.
    pub lines: Vec<String>,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// What was seen to stand on cells.
    pub contents: BTreeMap<String, Content>,
    /// Whether blank cells have facts of their own, so that a cell without one is no cell.
    pub has_blanks: bool,
}

/// One of the boards of a function.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Board {
    /// The arguments that name it; empty where there is one board.
    pub key: String,
    /// What is written above it.
    pub title: String,
    /// Where it lies among the boards.
    pub line: usize,
    /// The column of boards that it lies in.
    pub column: usize,
}

/// What may stand on a cell.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Content {
    /// The fewest letters that tell it from others.
    pub label: String,
    /// Whether it means that nothing stands there.
    #[serde(rename = "blank")]
    pub is_blank: bool,
}

/// Spells a shape out.
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
    // Of the compass's places, four may be boards: they lie side by side.
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

/// All arguments that name a place.
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
