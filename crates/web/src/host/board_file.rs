//! How a rulesheet wants to be drawn: the file `NAME.board.toml` beside it.
//!
//! The file names the facts that lie on boards, where the cells are and what they look like. It
//! takes the place of what is found in the rules.
//!
//! Invariant: a layout has at most [`MAX_CELLS`] cells.
//!
//! Never uses: rules, states.

use std::collections::BTreeMap;

use serde::Deserialize;

use panza_analysis::board::{Board, Content, Form, HEXAGON_LINE, Layout};

/// Cells of a board, boards of a function, and columns that a row may lean, at most.
const MAX_CELLS: usize = 4096;
const MAX_BOARDS: usize = 64;
const MAX_LEAN: f64 = 10.0;

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BoardFile {
    board: Vec<Entry>,
}

/// The boards of one function. Arguments are counted from 1.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// The function.
    fact: String,
    /// The number of its arguments.
    arguments: usize,
    /// The argument that names the board, where there are several.
    #[serde(default)]
    board: Vec<usize>,
    /// The arguments that name the cell.
    #[serde(default)]
    cell: Vec<usize>,
    #[serde(default)]
    form: Form,
    /// The values of the argument that names the column, from the left, and the row, from the top.
    #[serde(default)]
    columns: Vec<String>,
    #[serde(default)]
    rows: Vec<String>,
    /// What stands at the edge instead of these values.
    column_names: Option<Vec<String>>,
    row_names: Option<Vec<String>>,
    /// Whether the row is named before the column.
    #[serde(default)]
    rows_first: bool,
    /// How far each row lies to the right of the one above it, in cells.
    #[serde(default)]
    lean: f64,
    /// The only cells, where not each place of the grid is one.
    #[serde(default)]
    cells: Vec<String>,
    /// Cells that lie anywhere: column and row of each, which may be broken numbers.
    #[serde(default)]
    places: BTreeMap<String, (f64, f64)>,
    /// Pairs of cells that a line joins.
    #[serde(default)]
    links: Vec<(String, String)>,
    /// The colours of the sides: top, right, bottom, left.
    borders: Option<[String; 4]>,
    /// What lies under the pieces: `wall`, `goal` or a colour, and the cells.
    #[serde(default)]
    grounds: BTreeMap<String, Vec<String>>,
    /// The boards: the name in the facts, and the title.
    #[serde(default)]
    boards: Vec<(String, String)>,
    /// The content that stands for an empty cell.
    blank: Option<String>,
}

/// The layouts that a file describes.
///
/// # Errors
/// What is wrong with the file, with line and column where that is known.
pub fn read(text: &str) -> Result<Vec<Layout>, String> {
    let file: BoardFile = toml::from_str(text).map_err(|error| error.to_string())?;
    file.board.into_iter().map(Entry::layout).collect()
}

impl Entry {
    fn layout(self) -> Result<Layout, String> {
        let order = self.order()?;
        let fact = &self.fact;
        let unknown = |cell: &str| format!("{fact}: `{cell}` is not a cell of the board");
        let cells = self.cells()?;
        for cell in self.grounds.values().flatten() {
            cells.get(cell).ok_or_else(|| unknown(cell))?;
        }
        for (one, other) in &self.links {
            cells.get(one).ok_or_else(|| unknown(one))?;
            cells.get(other).ok_or_else(|| unknown(other))?;
        }
        let grounds = self.grounds.iter().flat_map(|(ground, cells)| {
            let cells = cells.iter();
            cells.map(move |cell| (cell.clone(), ground.clone()))
        });
        let board = |(at, (key, title)): (usize, &(String, String))| Board {
            key: key.clone(),
            title: title.clone(),
            line: 0,
            column: at,
        };
        let blank = self.blank.as_ref().map(|blank| {
            let content = Content {
                label: String::new(),
                is_blank: true,
            };
            (blank.clone(), content)
        });
        // Names of lines that lean or are no grid would stand beside the wrong cells.
        let has_names = self.lean == 0.0 && self.places.is_empty();
        let names = |given: &Option<Vec<String>>, values: &[String]| match given {
            Some(names) => names.clone(),
            None if has_names => values.to_vec(),
            None => Vec::new(),
        };
        Ok(Layout {
            function: self.fact.clone(),
            arity: self.arguments,
            n_board_arguments: self.board.len(),
            n_cell_arguments: self.cell.len(),
            order,
            form: self.form,
            boards: self.boards.iter().enumerate().map(board).collect(),
            cells,
            links: self.links.clone(),
            borders: self.borders.clone(),
            grounds: grounds.collect(),
            lines: names(&self.row_names, &self.rows),
            columns: names(&self.column_names, &self.columns),
            contents: blank.into_iter().collect(),
            has_blanks: false,
        })
    }

    /// The positions of the arguments of board, cell and content, from 0.
    fn order(&self) -> Result<Vec<usize>, String> {
        let mut order = Vec::with_capacity(self.arguments);
        for &argument in self.board.iter().chain(&self.cell) {
            if !(1..=self.arguments).contains(&argument) || order.contains(&(argument - 1)) {
                return Err(format!(
                    "{}: argument {argument}; expected different ones from 1 to {}",
                    self.fact, self.arguments
                ));
            }
            order.push(argument - 1);
        }
        let rest = (0..self.arguments).filter(|argument| !order.contains(argument));
        let rest: Vec<usize> = rest.collect();
        order.extend(rest);
        Ok(order)
    }

    /// Line and column of each cell.
    fn cells(&self) -> Result<BTreeMap<String, (f64, f64)>, String> {
        let fact = &self.fact;
        let mut cells: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for (cell, &(column, line)) in &self.places {
            if !(0.0..MAX_CELLS as f64).contains(&line)
                || !(0.0..MAX_CELLS as f64).contains(&column)
            {
                return Err(format!("{fact}: the place of `{cell}` is not on the page"));
            }
            cells.insert(cell.clone(), (line, column));
        }
        if self.columns.len().saturating_mul(self.rows.len().max(1)) > MAX_CELLS {
            return Err(format!("{fact}: more than {MAX_CELLS} cells"));
        }
        if !(-MAX_LEAN..=MAX_LEAN).contains(&self.lean) {
            return Err(format!(
                "{fact}: lean is not from -{MAX_LEAN} to {MAX_LEAN}"
            ));
        }
        if self.boards.len() > MAX_BOARDS {
            return Err(format!("{fact}: more than {MAX_BOARDS} boards"));
        }
        let height = if self.form == Form::Hexagon {
            HEXAGON_LINE
        } else {
            1.0
        };
        let no_row = [String::new()];
        let rows = if self.rows.is_empty() {
            &no_row[..]
        } else {
            &self.rows
        };
        for (line, row) in rows.iter().enumerate() {
            for (column, name) in self.columns.iter().enumerate() {
                let key = match (row.as_str(), self.rows_first) {
                    ("", _) => name.clone(),
                    (row, true) => format!("{row} {name}"),
                    (row, false) => format!("{name} {row}"),
                };
                if self.cells.is_empty() || self.cells.contains(&key) {
                    let column = column as f64 + self.lean * line as f64;
                    cells.insert(key, (height * line as f64, column));
                }
            }
        }
        let left = cells.values().map(|place| place.1).fold(f64::MAX, f64::min);
        let top = cells.values().map(|place| place.0).fold(f64::MAX, f64::min);
        for place in cells.values_mut() {
            *place = (place.0 - top, place.1 - left);
        }
        match cells.is_empty() {
            true => Err(format!("{fact}: no cells; expected columns or places")),
            false => Ok(cells),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_gdl_games::BOARDS;

    #[test]
    fn the_files_of_all_games_can_be_read() {
        for (name, text) in BOARDS {
            let layouts = read(text).unwrap_or_else(|why| panic!("{name}: {why}"));
            assert!(!layouts.is_empty(), "{name}");
        }
    }

    #[test]
    fn faults_say_where_they_are() {
        let fault = |text: &str| read(text).unwrap_err();
        assert!(fault("[[board]]\nfact = 3").contains("line 2"));
        let twice = "[[board]]\nfact = 'on'\narguments = 2\ncell = [3]\ncolumns = ['a']";
        assert_eq!(
            fault(twice),
            "on: argument 3; expected different ones from 1 to 2"
        );
        let ground = "[[board]]\nfact = 'on'\narguments = 1\ncell = [1]\ncolumns = ['a']\n\
            grounds = { wall = ['b'] }";
        assert_eq!(fault(ground), "on: `b` is not a cell of the board");
    }

    #[test]
    fn arguments_may_stand_in_any_order() {
        let text = "[[board]]\nfact = 'on'\narguments = 2\ncell = [2]\nform = 'stack'\n\
            columns = ['left', 'right']";
        let layout = &read(text).unwrap()[0];
        assert_eq!((layout.form, &layout.order[..]), (Form::Stack, &[1, 0][..]));
        assert_eq!(layout.cells["right"], (0.0, 1.0));
    }
}
