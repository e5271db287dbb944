//! One level: walls, goals, boxes and the player on a rectangular grid.
//!
//! A level is what the text says, with nothing computed: areas out of reach and boxes that no
//! player can touch are still there. [`Board`](super::board::Board) leaves them out.
//!
//! Invariants: rows are equally long, there is one player, and no box or player stands on a wall.

use std::fmt;

/// The largest number of rows and of columns. A row of a board is one machine word.
pub const MAX_SIDE: usize = 64;

/// What a cell of the grid is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    /// Nothing may enter.
    Wall,
    /// The player and boxes may enter.
    Floor,
    /// Floor where a box belongs.
    Goal,
}

/// A cell: row and column, both from 0 at the upper left.
pub type Cell = (usize, usize);

/// A level as its text gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    ground: Vec<Vec<Ground>>,
    boxes: Vec<Cell>,
    player: Cell,
}

/// Why rows of text are no level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LevelError {
    /// A character that is not one of XSB. Line and column count from 0.
    Character {
        /// The row.
        line: usize,
        /// The character's place in the row.
        column: usize,
        /// The character.
        found: char,
    },
    /// Neither `@` nor `+`.
    NoPlayer,
    /// A player after the first.
    SecondPlayer {
        /// The row.
        line: usize,
        /// The player's place in the row.
        column: usize,
    },
    /// More than [`MAX_SIDE`] rows or columns.
    TooLarge {
        /// All rows.
        rows: usize,
        /// The longest row.
        columns: usize,
    },
}

impl fmt::Display for LevelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Character {
                line,
                column,
                found,
            } => write!(
                f,
                "row {}, column {}: `{found}` is none of # @ + $ * . - _ or a space",
                line + 1,
                column + 1
            ),
            Self::NoPlayer => write!(f, "the level has no player (`@` or `+`)"),
            Self::SecondPlayer { line, column } => {
                write!(
                    f,
                    "row {}, column {}: a second player",
                    line + 1,
                    column + 1
                )
            }
            Self::TooLarge { rows, columns } => write!(
                f,
                "the level has {rows} rows and {columns} columns; at most {MAX_SIDE} of each are possible"
            ),
        }
    }
}

impl std::error::Error for LevelError {}

impl Level {
    /// A level from rows of XSB characters. Short rows end in floor.
    pub fn from_rows<S: AsRef<str>>(rows: &[S]) -> Result<Self, LevelError> {
        let columns = rows
            .iter()
            .map(|row| row.as_ref().chars().count())
            .max()
            .unwrap_or(0);
        if rows.len() > MAX_SIDE || columns > MAX_SIDE {
            return Err(LevelError::TooLarge {
                rows: rows.len(),
                columns,
            });
        }
        let mut ground = Vec::with_capacity(rows.len());
        let mut boxes = Vec::new();
        let mut player = None;
        for (line, row) in rows.iter().enumerate() {
            let mut cells = Vec::with_capacity(columns);
            for (column, found) in row.as_ref().chars().enumerate() {
                cells.push(match found {
                    '#' => Ground::Wall,
                    '.' | '*' | '+' => Ground::Goal,
                    ' ' | '-' | '_' | '$' | '@' => Ground::Floor,
                    _ => {
                        return Err(LevelError::Character {
                            line,
                            column,
                            found,
                        });
                    }
                });
                match found {
                    '$' | '*' => boxes.push((line, column)),
                    '@' | '+' if player.is_some() => {
                        return Err(LevelError::SecondPlayer { line, column });
                    }
                    '@' | '+' => player = Some((line, column)),
                    _ => {}
                }
            }
            cells.resize(columns, Ground::Floor);
            ground.push(cells);
        }
        let player = player.ok_or(LevelError::NoPlayer)?;
        Ok(Self {
            ground,
            boxes,
            player,
        })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.ground.len()
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.ground.first().map_or(0, Vec::len)
    }

    /// What a cell is made of; cells outside the grid are walls.
    pub fn ground(&self, (row, column): Cell) -> Ground {
        let cells = self.ground.get(row);
        cells
            .and_then(|cells| cells.get(column))
            .copied()
            .unwrap_or(Ground::Wall)
    }

    /// The cells of all boxes, in rows from the upper left.
    pub fn boxes(&self) -> &[Cell] {
        &self.boxes
    }

    /// The cell of the player.
    pub fn player(&self) -> Cell {
        self.player
    }

    /// The rows in XSB characters, without spaces at their ends.
    pub fn to_rows(&self) -> Vec<String> {
        let mut rows: Vec<Vec<char>> = (self.ground.iter())
            .map(|cells| {
                let character = |ground: &Ground| match ground {
                    Ground::Wall => '#',
                    Ground::Floor => ' ',
                    Ground::Goal => '.',
                };
                cells.iter().map(character).collect()
            })
            .collect();
        for &(row, column) in &self.boxes {
            let place = &mut rows[row][column];
            *place = if *place == '.' { '*' } else { '$' };
        }
        let place = &mut rows[self.player.0][self.player.1];
        *place = if *place == '.' { '+' } else { '@' };
        let text = |row: Vec<char>| row.into_iter().collect::<String>().trim_end().to_owned();
        rows.into_iter().map(text).collect()
    }
}
