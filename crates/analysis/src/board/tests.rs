use super::*;
use panza_game::ProverMachine;

fn machine(name: &str) -> (Rules, Arc<dyn Machine>) {
    let rules = panza_gdl::load(panza_gdl_games::rulesheet(name).unwrap()).0;
    let machine = Arc::new(ProverMachine::new(&rules).unwrap());
    (rules, machine)
}

fn facts(text: &str) -> Vec<String> {
    let (expressions, diagnostics) = sexpr::parse(text);
    assert!(diagnostics.is_empty());
    expressions.iter().map(ToString::to_string).collect()
}

/// A painter that has seen `seen` (several states divided by `|`), and what it makes of `shown`.
fn drawn(rules: &str, seen: &str, shown: &str) -> Option<String> {
    let samples: Vec<Vec<String>> = seen.split('|').map(facts).collect();
    BoardPainter::learn(&samples.into(), &panza_gdl::load(rules).0).draw(&facts(shown))
}

fn grid(n: usize, m: usize, content: &str) -> String {
    let mut out = String::new();
    for x in 1..=n {
        for y in 1..=m {
            out.push_str(&format!("(cell {x} {y} {content})"));
        }
    }
    out
}

#[test]
fn blanks_are_dots_and_the_second_coordinate_goes_up() {
    let seen = format!("{}|(cell 1 1 x)(cell 2 1 o)", grid(3, 3, "b"));
    let shown = "(cell 1 1 x)(cell 1 2 b)(cell 1 3 b)(cell 2 1 o)(cell 2 2 b)(cell 2 3 b)\
        (cell 3 1 b)(cell 3 2 b)(cell 3 3 x)(control x)";
    let expected = "3 . . x\n2 . . .\n1 x o .\n  1 2 3\n";
    assert_eq!(drawn("", &seen, shown).as_deref(), Some(expected));
}

#[test]
fn rows_go_down_where_the_rules_call_the_first_coordinate_a_row() {
    let rules = "(<= (next (cell ?row ?column ?c)) (true (cell ?row ?column ?c)))";
    let seen = format!("{}|(cell 1 1 x)(cell 2 1 o)", grid(3, 3, "b"));
    let expected = "1 . x .\n2\n3\n  1 2 3\n".replace("2\n3\n", "2      \n3      \n");
    let shown = drawn(rules, &seen, "(cell 1 1 b)(cell 1 2 x)(cell 1 3 b)").unwrap();
    let trimmed: Vec<&str> = shown.lines().map(str::trim_end).collect();
    let expected: Vec<&str> = expected.lines().map(str::trim_end).collect();
    assert_eq!(trimmed, expected);
}

#[test]
fn an_order_in_the_rules_counts_more_than_the_names_of_coordinates() {
    let rules = "(next_index p 1) (next_index 1 7) (next_index 7 3)";
    let cells = ["p", "1", "7", "3"].iter().flat_map(|x| {
        let cell = move |y: &&str| format!("(cell {x} {y} b)");
        ["p", "1", "7", "3"].iter().map(cell)
    });
    let seen = format!("{}|(cell p p x)(cell 3 p o)", cells.collect::<String>());
    let shown = drawn(rules, &seen, "(cell p p x)(cell 1 p b)(cell 7 3 o)").unwrap();
    let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
    assert_eq!(lines, ["3     o", "7", "1", "p x .", "  p 1 7 3"]);
}

#[test]
fn half_a_board_of_b_is_black_and_empty_cells_without_facts_are_dots() {
    let mut seen = String::new();
    for file in ["a", "b", "c", "d"] {
        for (rank, colour) in [(1, "w"), (2, "w"), (5, "b"), (6, "b")] {
            seen.push_str(&format!("(holds {file} {rank} {colour})"));
        }
    }
    let expected = "6 . . . .\n5 . . . .\n4 . . . .\n3 . b . .\n2 . . . .\n1 . . . w\n  a b c d\n";
    let shown = drawn("", &seen, "(holds d 1 w)(holds b 3 b)");
    assert_eq!(shown.as_deref(), Some(expected));
}

#[test]
fn labels_are_as_short_as_they_can_be_told_apart() {
    let seen = "(at 1 1 knight)(at 1 2 king)(at 2 1 pawn)(at 2 2 10)(at 3 1 empty)(at 3 2 empty)";
    let expected = "2 ki 10  .\n1 kn  p  .\n   1  2  3\n";
    assert_eq!(drawn("", seen, seen).as_deref(), Some(expected));
}

#[test]
fn two_words_of_content_are_both_shown() {
    let seen = "(cell 1 1 white man)(cell 2 2 white king)(cell 1 3 black man)(cell 3 1 black king)\
        (cell 3 3 black man)(cell 2 1 white man)";
    let expected = "3 bm  . bm\n2  . wk  .\n1 wm wm bk\n   1  2  3\n";
    assert_eq!(drawn("", seen, seen).as_deref(), Some(expected));
}

#[test]
fn several_boards_stand_side_by_side_under_their_names() {
    let mut seen = String::new();
    for board in ["left", "right"] {
        for (x, y) in [(1, 1), (2, 1), (3, 1), (3, 2)] {
            seen.push_str(&format!("(cell {board} {x} {y} red)"));
        }
    }
    let shown = drawn("", &seen, "(cell right 3 1 red)").unwrap();
    assert_eq!(
        shown,
        "left       right\n2 . . .    2 . . .\n1 . . .    1 . . r\n  1 2 3      1 2 3\n"
    );
}

#[test]
fn nine_boards_by_compass_or_by_numbers() {
    let initial = |name: &str| {
        let (rules, machine) = machine(name);
        let facts = machine.info().state_facts(&machine.initial_state());
        (rules, facts)
    };
    let (rules, mut facts) = initial("nineBoardTicTacToe");
    let painter = BoardPainter::learn(&vec![facts.clone()].into(), &rules);
    for fact in &mut facts {
        if fact == "(cell southEast north blank)" {
            *fact = "(cell southEast north x)".to_string();
        }
    }
    let row = " . . .     . . .     . . .\n";
    let upper = format!("{row}{row}{row}\n");
    let last = format!(" . . .     . . .     . x .\n{row}{row}");
    assert_eq!(
        painter.draw(&facts).unwrap(),
        format!("{upper}{upper}{last}")
    );

    let mut numbered = String::new();
    for board in 0..9 {
        let (i, j) = (board / 3 + 1, board % 3 + 1);
        numbered.push_str(&format!(
            "(mark {i} {j} 1 3 o)(mark {i} {j} 3 1 x)(mark {i} {j} 2 2 o)"
        ));
    }
    let shown = drawn("", &numbered, "(mark 1 3 3 1 x)").unwrap();
    // Three rows of boards with four lines each and a line between; the board (1 3) stands on the
    // upper left.
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 14, "{shown}");
    assert_eq!(lines[2], "1 . . x    1 . . .    1 . . .", "{shown}");
}

#[test]
fn what_is_no_board_is_not_drawn() {
    assert_eq!(drawn("", "(step 1)(control x)", "(step 1)"), None);
    assert_eq!(
        drawn("", "(edge a b red)(edge c q blue)", "(edge a b red)"),
        None
    );
    // Two contents in one place: not what stands there.
    let twice = format!("{}{}", grid(3, 3, "x"), grid(3, 3, "y"));
    assert_eq!(drawn("", &twice, &twice), None);
}

#[test]
fn boards_of_our_own_games_are_found_in_random_playouts() {
    for (name, width, height) in [
        ("ticTacToe", 3, 3),
        ("connectFour", 8, 6),
        ("breakthrough", 8, 8),
        ("eightPuzzle", 3, 3),
    ] {
        let (rules, machine) = machine(name);
        let samples = sample_states(&machine, &mut Random::new(1), 100, || true);
        let painter = BoardPainter::learn(&samples, &rules);
        let shown = painter
            .draw(&samples.states[0])
            .unwrap_or_else(|| panic!("{name}: no board"));
        assert_eq!(shown.lines().count(), height + 1, "{name}\n{shown}");
        let columns = shown.lines().last().unwrap().split_whitespace().count();
        assert_eq!(columns, width, "{name}\n{shown}");
    }
}

#[test]
fn facts_that_only_say_where_are_marks() {
    let seen = "(visited 1 1)(at 1 1)|(visited 1 1)(visited 2 3)(at 2 3)|(visited 1 1)(visited 2 3)(visited 3 2)\
        (visited 1 3)(visited 2 1)(visited 3 3)(at 3 3)|(at 3 2)(at 2 1)";
    let shown = "(visited 1 1)(visited 2 3)(at 2 3)(step 4)";
    let visited = "3 . v .\n2 . . .\n1 v . .\n  1 2 3\n";
    let drawn = drawn("", seen, shown).unwrap();
    assert!(drawn.contains(visited), "{drawn}");
    assert!(drawn.contains("3 . a ."), "{drawn}");
}

#[test]
fn few_men_on_a_large_board_show_it_once_every_line_and_column_was_seen() {
    let diagonal: String = (1..=8).map(|at| format!("(man {at} {at} red)")).collect();
    assert!(drawn("", &diagonal, "(man 1 1 red)").is_some());
    let short: String = (1..=8)
        .filter(|at| *at != 4)
        .map(|at| format!("(man {at} {at} red)"))
        .collect();
    assert!(drawn("", &short, "(man 1 1 red)").is_none());
}

#[test]
fn a_layout_says_where_everything_stands() {
    let seen = format!("{}|(cell 1 1 x)(cell 2 1 o)", grid(3, 3, "b"));
    let samples: Vec<Vec<String>> = seen.split('|').map(facts).collect();
    let layouts = BoardPainter::learn(&samples.into(), &panza_gdl::load("").0).layouts();
    let [layout] = layouts.as_slice() else {
        panic!("{layouts:?}")
    };
    assert_eq!((layout.function.as_str(), layout.arity), ("cell", 3));
    assert_eq!((layout.n_board_arguments, layout.n_cell_arguments), (0, 2));
    assert_eq!(
        (layout.boards.len(), layout.boards[0].key.as_str()),
        (1, "")
    );
    assert_eq!(layout.cells["1 1"], (2.0, 0.0));
    assert_eq!(layout.cells["3 3"], (0.0, 2.0));
    assert_eq!(layout.lines, ["3", "2", "1"]);
    assert_eq!(layout.columns, ["1", "2", "3"]);
    assert!(layout.contents["b"].is_blank && layout.has_blanks);
    assert_eq!(layout.contents["x"].label, "x");
}

#[test]
fn four_boards_in_the_corners_lie_side_by_side() {
    let (rules, machine) = machine("pentago");
    let samples = sample_states(&machine, &mut Random::new(1), 60, || true);
    let layouts = BoardPainter::learn(&samples, &rules).layouts();
    let place = |key: &str| {
        let board = layouts[0].boards.iter().find(|board| board.key == key);
        board.map(|board| (board.line, board.column))
    };
    assert_eq!(place("upperLeft"), Some((0, 0)), "{:?}", layouts[0].boards);
    assert_eq!(place("lowerRight"), Some((1, 1)));
}

#[test]
fn places_that_were_not_seen_are_known_from_the_facts_that_may_hold() {
    let samples = [
        "(man 1 1 red)(man 2 2 red)",
        "(man 1 2 red)(man 2 1 red)(man 3 1 red)",
    ]
    .map(facts);
    let mut all = Vec::new();
    for (x, y) in (1..=3).flat_map(|x| (1..=3).map(move |y| (x, y))) {
        all.push(format!("(man {x} {y} red)"));
    }
    let rules = panza_gdl::load("").0;
    let lines = |all: &[String]| {
        BoardPainter::learn_with(&samples.to_vec().into(), all, &rules).layouts()[0]
            .lines
            .clone()
    };
    assert_eq!(lines(&all), ["3", "2", "1"]);
    assert_eq!(lines(&[]), ["2", "1"]);
    // Too many that no sample comes near are not believed.
    all.extend((1..=29).map(|at| format!("(man {at} {at} red)")));
    assert_eq!(lines(&all), ["2", "1"]);
}

/// The layouts of a game of the folder gdl-games, from random games.
fn layouts(name: &str) -> Vec<Layout> {
    let (rules, machine) = machine(name);
    let samples = sample_states(&machine, &mut Random::new(1), 60, || true);
    let facts = machine.info().facts().unwrap_or_default();
    BoardPainter::learn_with(&samples, facts, &rules).layouts()
}

#[test]
fn moves_lead_where_their_words_say() {
    let layout = &layouts("smallSokoban")[0];
    let (line, _) = layout.cells["3 4"];
    // The rules count rows from the north.
    assert!(line > layout.cells["3 3"].0, "{:?}", layout.cells);
}

#[test]
fn six_neighbours_make_hexagons() {
    let layout = &layouts("hex")[0];
    assert_eq!(layout.form, Form::Hexagon);
    let (from, to) = (layout.cells["1 1"], layout.cells["2 1"]);
    let (line, column) = (to.0 - from.0, to.1 - from.1);
    assert!((line.hypot(column) - 1.0).abs() < 0.01, "{from:?} {to:?}");
    assert_eq!(layouts("checkers")[0].form, Form::Square);
}
