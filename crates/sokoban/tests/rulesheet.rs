//! A Sokoban level and its rulesheet are the same game: the board and the prover agree on every
//! state of small depth, of random play, and of a solution.

use std::collections::BTreeSet;

use panza_gdl::{Id, RoleId, TermId};
use panza_prover::{Prover, State};
use panza_sokoban::board::{Direction, NO_SQUARE, Position};
use panza_sokoban::level::Ground;
use panza_sokoban::rulesheet::rulesheet;
use panza_sokoban::{Board, Collection, Level, Push, Solution};
use panza_sync::Random;

const LEVELS: &str = include_str!("../../../sokoban-levels/twelve.sok");

/// A board in play: the position and the number of moves made.
struct Game<'a> {
    level: &'a Level,
    board: &'a Board,
    steps: usize,
}

#[derive(Clone)]
struct Played {
    position: Position,
    moves: usize,
}

impl Game<'_> {
    fn start(&self) -> Played {
        Played {
            position: self.board.start().clone(),
            moves: 0,
        }
    }

    fn is_solved(&self, at: &Played) -> bool {
        self.board.is_solved(&at.position.boxes)
    }

    fn is_terminal(&self, at: &Played) -> bool {
        self.is_solved(at) || at.moves == self.steps
    }

    /// The state after a step of the player, if it is legal.
    fn after(&self, at: &Played, direction: Direction) -> Option<Played> {
        let to = self.board.next(at.position.player, direction);
        if to == NO_SQUARE {
            return None;
        }
        let is_box = |square| at.position.boxes.contains(&square);
        let mut position = at.position.clone();
        if is_box(to) {
            let ahead = self.board.next(to, direction);
            if ahead == NO_SQUARE || is_box(ahead) {
                return None;
            }
            let push = Push {
                square: to,
                direction,
            };
            position = self.board.after(&position, push);
        } else {
            position.player = to;
        }
        let moves = at.moves + 1;
        Some(Played { position, moves })
    }

    /// The facts of the rulesheet that hold.
    fn facts(&self, at: &Played) -> BTreeSet<String> {
        let place = |square| {
            let (row, column) = self.board.cell(square);
            format!("{} {}", row + 1, column + 1)
        };
        let cells = self.level.rows() * self.level.columns();
        let cells =
            (0..cells).map(|cell| (cell / self.level.columns(), cell % self.level.columns()));
        let boxes = at.position.boxes.iter();
        let mut facts: BTreeSet<String> = boxes
            .map(|&square| format!("(box {})", place(square)))
            .collect();
        for (row, column) in cells {
            let ground = match self.level.ground((row, column)) {
                Ground::Wall => "wall",
                _ if self.board.square_at((row, column)) == NO_SQUARE => continue,
                Ground::Goal => "goal",
                Ground::Floor => "floor",
            };
            facts.insert(format!("(cell {} {} {ground})", row + 1, column + 1));
        }
        facts.insert(format!("(player {})", place(at.position.player)));
        facts.insert(format!("(step {})", at.moves));
        facts
    }

    /// Compares a state with that of the prover and gives its legal moves in both.
    fn compare(&self, at: &Played, prover: &mut Prover, state: &State) -> Vec<(Played, TermId)> {
        let facts: BTreeSet<String> = prover
            .facts(state)
            .iter()
            .map(|&fact| prover.show(fact))
            .collect();
        assert_eq!(facts, self.facts(at));
        let role = RoleId::from_index(0);
        assert_eq!(prover.is_terminal(state).unwrap(), self.is_terminal(at));
        let goal = if self.is_solved(at) { 100 } else { 0 };
        assert_eq!(prover.goal(state, role).unwrap(), Some(goal));
        if self.is_terminal(at) {
            return Vec::new();
        }
        let legal = prover.legal_moves(state, role).unwrap();
        let legal: Vec<(String, TermId)> = legal.iter().map(|&mv| (prover.show(mv), mv)).collect();
        let steps = Direction::ALL.map(|direction| (word(direction), self.after(at, direction)));
        let possible = steps.iter().filter(|(_, after)| after.is_some()).count();
        assert_eq!(legal.len(), possible);
        let next = steps
            .into_iter()
            .filter_map(|(word, after)| Some((word, after?)));
        next.map(|(word, after)| {
            let found = legal
                .iter()
                .find(|(text, _)| *text == format!("(move {word})"));
            (after, found.expect("the move is legal in both").1)
        })
        .collect()
    }

    /// Compares all states that `depth` moves reach; gives the number of paths.
    fn perft(&self, at: &Played, prover: &mut Prover, state: &State, depth: usize) -> u64 {
        let next = self.compare(at, prover, state);
        if depth == 0 {
            return 1;
        }
        let paths = next.into_iter().map(|(after, mv)| {
            let state = prover.next_state(state, &[mv]).unwrap();
            self.perft(&after, prover, &state, depth - 1)
        });
        paths.sum()
    }
}

fn word(direction: Direction) -> &'static str {
    ["up", "left", "down", "right"][direction as usize]
}

/// Calls `test` with each level, its board, rules for `steps` moves, and solution.
fn for_each_level(steps: usize, mut test: impl FnMut(&Level, &Board, Prover, &Solution)) {
    let collection = Collection::read(LEVELS).unwrap();
    for entry in collection.entries() {
        let title = entry.title().expect("each level has a title");
        let level = entry.level().expect("each level is valid");
        let board = Board::new(level).unwrap();
        let solution = Solution::from_text(&board, entry.solutions()[0].moves()).unwrap();
        let text = rulesheet(title, level, &board, steps);
        let (rules, diagnostics) = panza_gdl::load(&text);
        assert!(diagnostics.is_empty(), "{title}: {diagnostics:?}");
        test(level, &board, Prover::new(&rules).unwrap(), &solution);
    }
}

#[test]
fn the_levels_are_written_as_they_read() {
    let collection = Collection::read(LEVELS).unwrap();
    assert_eq!(collection.entries().len(), 12);
    assert_eq!(collection.to_string(), LEVELS);
}

#[test]
fn the_board_and_the_rulesheet_count_the_same_paths() {
    let mut counts = Vec::new();
    for_each_level(5, |level, board, mut prover, _| {
        let game = Game {
            level,
            board,
            steps: 5,
        };
        let state = prover.initial_state();
        counts.push(game.perft(&game.start(), &mut prover, &state, 5));
    });
    assert_eq!(counts[..3], [0, 32, 252]);
}

#[test]
fn the_board_and_the_rulesheet_agree_on_random_games() {
    let mut random = Random::new(7);
    for_each_level(60, |level, board, mut prover, _| {
        let game = Game {
            level,
            board,
            steps: 60,
        };
        for _ in 0..3 {
            let (mut at, mut state) = (game.start(), prover.initial_state());
            loop {
                let mut next = game.compare(&at, &mut prover, &state);
                if next.is_empty() {
                    break;
                }
                let (after, mv) = next.swap_remove(random.below(next.len() as u32) as usize);
                state = prover.next_state(&state, &[mv]).unwrap();
                at = after;
            }
        }
    });
}

#[test]
fn a_solution_reaches_the_goal_of_the_rulesheet() {
    for_each_level(400, |level, board, mut prover, solution| {
        let game = Game {
            level,
            board,
            steps: 400,
        };
        let (mut at, mut state) = (game.start(), prover.initial_state());
        for &direction in solution.moves() {
            let mv = prover
                .read_term(&format!("(move {})", word(direction)))
                .unwrap();
            at = game.after(&at, direction).unwrap();
            state = prover.next_state(&state, &[mv]).unwrap();
        }
        assert!(game.is_solved(&at));
        game.compare(&at, &mut prover, &state);
    });
}
