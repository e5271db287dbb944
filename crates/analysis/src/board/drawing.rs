//! Draws the facts of one function on its boards.

use std::collections::BTreeMap;

use super::Arguments;
use super::shape::{Coordinates, Shape, cell_names};

/// The greatest width of boards side by side.
const MAX_WIDTH: usize = 110;

/// Space between boards.
const GAP: &str = "    ";

/// A drawn board: its lines, all of one width.
struct Drawing {
    lines: Vec<String>,
    width: usize,
}

/// Draws all boards of a shape.
pub(super) fn draw(shape: &Shape, facts: &[Arguments]) -> String {
    let n_selectors = shape.selector.n_arguments();
    let n_where = n_selectors + shape.cell.n_arguments();
    // Boards by line and column, each with its labels by line and column.
    let mut boards: BTreeMap<(usize, usize), BTreeMap<(usize, usize), String>> = BTreeMap::new();
    for place in board_places(&shape.selector, shape.orientation.rows_first) {
        boards.insert(place, BTreeMap::new());
    }
    for fact in facts {
        let (Some(which), Some(place), Some(content)) = (
            fact.get(..n_selectors),
            fact.get(n_selectors..n_where),
            fact.get(n_where..),
        ) else {
            continue;
        };
        let board = shape.selector.locate(which, shape.orientation);
        let cell = shape.cell.locate(place, shape.orientation);
        if let (Some(board), Some(cell)) = (board, cell) {
            let label = shape.label(content);
            boards.entry(board).or_default().insert(cell, label);
        }
    }
    let mut rows: BTreeMap<usize, Vec<Drawing>> = BTreeMap::new();
    for ((line, column), cells) in boards {
        let title = match &shape.selector {
            Coordinates::Row(values) => values.get(column).cloned().unwrap_or_default(),
            Coordinates::Grid { .. } | Coordinates::Compass(_) => String::new(),
        };
        rows.entry(line)
            .or_default()
            .push(draw_board(shape, &cells, &title));
    }
    let mut out = String::new();
    for (_, row) in rows {
        if !out.is_empty() {
            out.push('\n');
        }
        side_by_side(&row, &mut out);
    }
    out
}

/// The places of all boards, so that empty boards are drawn too.
fn board_places(selector: &Coordinates, rows_first: bool) -> Vec<(usize, usize)> {
    let (lines, columns) = match selector {
        Coordinates::Grid { first, second } if rows_first => (first.len(), second.len()),
        Coordinates::Grid { first, second } => (second.len(), first.len()),
        // Only the facts show which compass points are boards.
        Coordinates::Compass(_) => (0, 0),
        Coordinates::Row(values) => (1, values.len().max(1)),
    };
    (0..lines)
        .flat_map(|line| (0..columns).map(move |column| (line, column)))
        .collect()
}

fn draw_board(shape: &Shape, cells: &BTreeMap<(usize, usize), String>, title: &str) -> Drawing {
    let (line_names, column_names) = cell_names(shape);
    let length = |text: &String| text.chars().count();
    let margin = line_names.iter().map(length).max().unwrap_or(0);
    let label_width = shape.label_width();
    let nothing = if shape.has_blanks { "" } else { "." };
    let mut lines = Vec::new();
    if !title.is_empty() {
        lines.push(title.to_string());
    }
    for (line, name) in line_names.iter().enumerate() {
        let mut text = format!("{name:>margin$}");
        for column in 0..column_names.len() {
            let label = cells.get(&(line, column)).map_or(nothing, String::as_str);
            text.push_str(&format!(" {label:>label_width$}"));
        }
        lines.push(text);
    }
    // Column names are cut to the width of a cell, from the left: numbers come last.
    if column_names.iter().any(|name| !name.is_empty()) {
        let mut text = " ".repeat(margin);
        for name in &column_names {
            let skipped = length(name).saturating_sub(label_width);
            let short: String = name.chars().skip(skipped).collect();
            text.push_str(&format!(" {short:>label_width$}"));
        }
        lines.push(text);
    }
    let width = lines.iter().map(length).max().unwrap_or(0);
    Drawing { lines, width }
}

/// Puts drawings side by side, as many as fit on a line.
fn side_by_side(drawings: &[Drawing], out: &mut String) {
    let mut rest = drawings;
    while !rest.is_empty() {
        let mut width = 0;
        let fitting = rest
            .iter()
            .take_while(|drawing| {
                width += drawing.width + GAP.len();
                width <= MAX_WIDTH
            })
            .count()
            .max(1);
        let (row, others) = rest.split_at(fitting);
        rest = others;
        let height = row
            .iter()
            .map(|drawing| drawing.lines.len())
            .max()
            .unwrap_or(0);
        for line in 0..height {
            let mut text = String::new();
            for drawing in row {
                let part = drawing.lines.get(line).map_or("", String::as_str);
                let width = drawing.width;
                text.push_str(&format!("{part:<width$}{GAP}"));
            }
            out.push_str(text.trim_end());
            out.push('\n');
        }
        if !rest.is_empty() {
            out.push('\n');
        }
    }
}
