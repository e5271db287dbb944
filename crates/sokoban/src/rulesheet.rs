//! A level as a rulesheet in GDL, so that it can be played as any other game.
//!
//! A move is one step of the player, `(move up)` and so on; a push is a step towards a box. The
//! game ends when every box is on a goal, worth 100, or after a number of moves. The facts are
//! where the player and the boxes stand, and the number of moves made. Walls, floor and goals are
//! facts too, which never change, so that displays can draw them. Rows and columns count from 1 at
//! the upper left.
//!
//! Invariants: the player has a legal move in every state that is not terminal.

use super::board::{Board, Direction, NO_SQUARE, Square};
use super::level::{Ground, Level};
use std::fmt::Write;

/// The rules for a level and its board, with a title for their first line. The game ends after
/// `steps` moves, at least one.
pub fn rulesheet(title: &str, level: &Level, board: &Board, steps: usize) -> String {
    let mut text = String::new();
    // A string takes every write.
    let _ = write_rules(&mut text, title, level, board, steps.max(1));
    text
}

fn write_rules(
    out: &mut String,
    title: &str,
    level: &Level,
    board: &Board,
    steps: usize,
) -> std::fmt::Result {
    writeln!(out, "; {}\n;", title.lines().next().unwrap_or_default())?;
    out.push_str(
        "\
; A Sokoban level. The player steps to a neighbouring square that is free; if a box stands
; there, he pushes it to the square behind, which must be free too. Boxes cannot be pulled.
",
    );
    writeln!(
        out,
        "; The game ends when every box is on a goal, or after {steps} moves.\n\
         ; The level, with # for walls, $ for boxes, . for goals and @ for the player (* a box on a\n\
         ; goal, + the player on one):\n;"
    )?;
    for row in level.to_rows() {
        writeln!(out, ";     {row}")?;
    }
    out.push_str(RULES);

    out.push_str("\n; The start.\n\n");
    let start = board.start();
    writeln!(out, "(init (player {}))", place(board, start.player))?;
    for &square in &start.boxes {
        writeln!(out, "(init (box {}))", place(board, square))?;
    }
    out.push_str("(init (step 0))\n");

    out.push_str("\n; The end.\n\n(<= solved");
    for &goal in board.goals() {
        write!(out, "\n  (true (box {}))", place(board, goal))?;
    }
    out.push_str(")\n\n(<= terminal\n  solved)\n\n");
    writeln!(out, "(<= terminal\n  (true (step {steps})))\n")?;
    if !can_move(board) {
        out.push_str("(<= terminal\n  (true (step 0)))\n\n");
    }
    out.push_str("(<= (goal player 100)\n  solved)\n\n(<= (goal player 0)\n  (not solved))\n");

    out.push_str("\n; The level by row and column, without floor and goals out of reach.\n\n");
    for row in 0..level.rows() {
        for column in 0..level.columns() {
            let ground = match (level.ground((row, column)), board.square_at((row, column))) {
                (Ground::Wall, _) => "wall",
                (_, NO_SQUARE) => continue,
                (Ground::Goal, _) => "goal",
                (Ground::Floor, _) => "floor",
            };
            writeln!(out, "(ground {} {} {ground})", row + 1, column + 1)?;
        }
    }
    for (name, direction) in [("down", Direction::Down), ("right", Direction::Right)] {
        out.push('\n');
        for square in board.squares() {
            let next = board.next(square, direction);
            if next != NO_SQUARE {
                let (from, to) = (place(board, square), place(board, next));
                writeln!(out, "(adjacent {name} {from} {to})")?;
            }
        }
    }
    out.push_str("\n; Numbers of moves.\n\n");
    for step in 0..steps {
        writeln!(out, "(succ {step} {})", step + 1)?;
    }
    Ok(())
}

/// The row and column of a square, from 1.
fn place(board: &Board, square: Square) -> String {
    let (row, column) = board.cell(square);
    format!("{} {}", row + 1, column + 1)
}

/// Whether the player can make a first move. After it he can always step back.
fn can_move(board: &Board) -> bool {
    let start = board.start();
    let is_free = |square: &Square| *square != NO_SQUARE && !start.boxes.contains(square);
    let neighbours = board.neighbours(start.player);
    neighbours.iter().any(is_free)
        || (board.pushes(start).iter())
            .any(|push| board.next(push.square, push.direction.opposite()) == start.player)
}

/// The rules that all levels share.
const RULES: &str = "\
;
; Players: 1 (player).
; Goals: 100 for a solved level, else 0.

(role player)

; Facts and moves.

(<= (base (cell ?row ?column ?ground))
  (ground ?row ?column ?ground))

(<= (base (player ?row ?column))
  (square ?row ?column))

(<= (base (box ?row ?column))
  (square ?row ?column))

(base (step 0))

(<= (base (step ?n))
  (succ ?m ?n))

(input player (move up))
(input player (move down))
(input player (move left))
(input player (move right))

; Walls, floor and goals.

(<= (init (cell ?row ?column ?ground))
  (ground ?row ?column ?ground))

(<= (next (cell ?row ?column ?ground))
  (ground ?row ?column ?ground))

(<= (square ?row ?column)
  (ground ?row ?column floor))

(<= (square ?row ?column)
  (ground ?row ?column goal))

; Steps and pushes.

(<= (beside ?way ?row ?column ?row2 ?column2)
  (adjacent ?way ?row ?column ?row2 ?column2))

(<= (beside up ?row ?column ?row2 ?column2)
  (adjacent down ?row2 ?column2 ?row ?column))

(<= (beside left ?row ?column ?row2 ?column2)
  (adjacent right ?row2 ?column2 ?row ?column))

(<= (steps ?way ?row ?column)
  (true (player ?row1 ?column1))
  (beside ?way ?row1 ?column1 ?row ?column)
  (not (true (box ?row ?column))))

(<= (pushes ?way ?row ?column ?row2 ?column2)
  (true (player ?row1 ?column1))
  (beside ?way ?row1 ?column1 ?row ?column)
  (true (box ?row ?column))
  (beside ?way ?row ?column ?row2 ?column2)
  (not (true (box ?row2 ?column2))))

(<= (legal player (move ?way))
  (steps ?way ?row ?column))

(<= (legal player (move ?way))
  (pushes ?way ?row ?column ?row2 ?column2))

(<= (next (player ?row ?column))
  (does player (move ?way))
  (true (player ?row1 ?column1))
  (beside ?way ?row1 ?column1 ?row ?column))

(<= (pushed ?row ?column)
  (does player (move ?way))
  (pushes ?way ?row ?column ?row2 ?column2))

(<= (next (box ?row2 ?column2))
  (does player (move ?way))
  (pushes ?way ?row ?column ?row2 ?column2))

(<= (next (box ?row ?column))
  (true (box ?row ?column))
  (not (pushed ?row ?column)))

(<= (next (step ?n))
  (true (step ?m))
  (succ ?m ?n))
";

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet(rows: &[&str], steps: usize) -> String {
        let level = Level::from_rows(rows).unwrap();
        let board = Board::new(&level).unwrap();
        rulesheet("The hatch", &level, &board, steps)
    }

    #[test]
    fn facts_count_rows_and_columns_from_one() {
        let text = sheet(&["#####", "#@$.#", "#####"], 3);
        for line in [
            "; The hatch",
            ";     #@$.#",
            "(init (player 2 2))",
            "(init (box 2 3))",
            "(ground 1 5 wall)",
            "(ground 2 3 floor)",
            "(ground 2 4 goal)",
            "(adjacent right 2 3 2 4)",
            "  (true (box 2 4)))",
            "  (true (step 3)))",
            "(succ 2 3)",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
        assert!(!text.contains("(succ 3 4)"));
    }

    #[test]
    fn a_player_who_cannot_move_ends_the_game() {
        let enclosed = ["#####", "#@$$#", "###.#", "###.#", "#####"];
        assert!(sheet(&enclosed, 5).contains("(true (step 0))"));
        assert!(!sheet(&["#####", "#@$.#", "#####"], 5).contains("(true (step 0))"));
    }
}
