use super::*;
use proptest::prelude::*;

fn read(text: &str) -> Collection {
    Collection::read(text).unwrap()
}

fn names(entry: &Entry) -> Vec<&str> {
    entry.solutions().iter().map(NamedMoves::name).collect()
}

fn moves(entry: &Entry) -> Vec<&str> {
    entry.solutions().iter().map(NamedMoves::moves).collect()
}

const TWO: &str = "\
; 1 The hatch
#####
#@$.#
#####

; 2
######
#. $@#
######
";

#[test]
fn numbered_titles_are_read_and_written() {
    let collection = read(TWO);
    let titles: Vec<_> = collection.entries().iter().map(Entry::title).collect();
    assert_eq!(titles, [Some("The hatch"), None]);
    assert_eq!(collection.to_string(), TWO);
    assert!(
        collection
            .entries()
            .iter()
            .all(|entry| entry.faults().is_empty())
    );
}

#[test]
fn titles_without_a_number_keep_theirs() {
    let text = "; 7 dwarfs\n####\n#@ #\n####\n\nTwo rooms\n\n####\n#@ #\n####\n";
    let collection = read(text);
    let titles: Vec<_> = collection.entries().iter().map(Entry::title).collect();
    assert_eq!(titles, [Some("7 dwarfs"), Some("Two rooms")]);
}

#[test]
fn a_sok_file_keeps_header_keys_comments_and_solutions() {
    let text = "\
:: made for a test
Collection: Doors
Author: A. Person

The hatch

#####
#@$.#
#####

Author: B. Person
Comment:
A line of text.

  ####
 rRrR
Comment-End:

Solution/Moves
R

Best solution (1 move): R

Behind the door

#-#####
__#@-$.#
--######
Title: no title
a remark

Snapshot
r
R

Solution
r
2rR
";
    let collection = read(text);
    assert_eq!(
        collection.notes(),
        [
            ":: made for a test",
            "Collection: Doors",
            "Author: A. Person"
        ]
    );
    let [first, second] = collection.entries() else {
        panic!("{collection:?}")
    };
    assert_eq!(first.title(), Some("The hatch"));
    assert_eq!(first.key("author"), Some("B. Person"));
    assert_eq!(names(first), ["Solution/Moves", "Best solution (1 move)"]);
    assert_eq!(moves(first), ["R", "R"]);
    assert!(first.notes().contains(&"  ####".to_string()), "{first:?}");
    assert_eq!(second.title(), Some("Behind the door"));
    assert_eq!(second.rows(), ["# #####", "  #@ $.#", "  ######"]);
    assert_eq!(moves(second), ["rrrR"]);
    assert_eq!(
        second.notes(),
        ["Title: no title", "a remark", "", "Snapshot", "r", "R"]
    );
    assert_eq!(read(&collection.to_string()), collection);
}

#[test]
fn run_lengths_are_rows() {
    let collection = read("5#|#@$.#|5#\n\n; 2\n5#\n#@$.#\n5#\n");
    let [first, second] = collection.entries() else {
        panic!("{collection:?}")
    };
    assert_eq!(first.rows(), ["#####", "#@$.#", "#####"]);
    assert_eq!(first.rows(), second.rows());
}

#[test]
fn levels_of_one_line_each_are_several_levels() {
    let collection = read("5#|#@$.#|5#\n5#|#.$@#|5#\n");
    assert_eq!(collection.entries().len(), 2);
}

#[test]
fn a_solution_without_a_header_ends_in_a_push() {
    let level = "#####\n#@$.#\n#####\n\n";
    let entries = [format!("{level}Lull\n\nR\n"), format!("{level}rrdd\n")];
    let [with, without] = entries.map(|text| read(&text).entries()[0].clone());
    assert_eq!(with.notes(), ["Lull"]);
    assert_eq!(moves(&with), ["R"]);
    assert_eq!(without.notes(), ["rrdd"]);
}

#[test]
fn faults_name_line_and_column() {
    let faults = |text: &str| {
        let collection = read(text);
        let faults = collection.entries().iter().flat_map(Entry::faults);
        faults.map(Fault::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        faults("; 1\n#####\n#@x.#\n#####\n"),
        ["line 3, column 3: expected one of # @ + $ * . - _ or a space, found `x`"]
    );
    assert_eq!(
        faults("#####\n#@@.#\n#####\n"),
        ["line 2, column 3: expected one player in the level, found a second one"]
    );
    assert_eq!(
        faults("; 1\n#####\n# $.#\n#####\n"),
        ["line 2, column 1: expected a player (`@` or `+`) in the level that begins here"]
    );
    assert_eq!(
        faults("#####\n#@$.#\n#####\n\nSolution\nrrrrrxR\n"),
        ["line 6, column 6: expected a move (l u r d, L U R D for a push), found `x`"]
    );
    let wide = format!("{0}\n#@\n{0}\n", "#".repeat(65));
    assert_eq!(faults(&wide).len(), 1);
    assert_eq!(faults("99999999999999999999#|#@#|3#\n").len(), 1);
}

#[test]
fn a_solution_with_a_wrong_letter_is_text_and_a_fault() {
    for (solution, line, column, found) in [
        ("Solution: rXR", 4, 12, 'X'),
        ("  Solution: rXR\nrR", 4, 14, 'X'),
        ("Solution:\nrXR", 5, 2, 'X'),
        ("Solution\n\nrrR\n2r X R\nrR", 7, 4, 'X'),
        ("Solution: rr\nrXR", 5, 2, 'X'),
        ("Solution (1 move)\n0R", 5, 1, '0'),
        ("Solution: none", 4, 11, 'n'),
        ("Solution/Moves\nImpossible!", 5, 1, 'I'),
        ("Solution:\nnot found yet", 5, 1, 'n'),
    ] {
        let collection = read(&format!("#####\n#@$.#\n#####\n{solution}\n\nSolution\nR\n"));
        let entry = &collection.entries()[0];
        assert_eq!(moves(entry), ["R"], "{solution}");
        let [fault] = entry.faults() else {
            panic!("{solution}: {entry:?}")
        };
        assert_eq!((fault.line, fault.column), (line, column), "{solution}");
        let end = format!("found `{found}`");
        assert!(fault.message.ends_with(&end), "{solution}: {fault}");
        assert_eq!(entry.notes().join("\n"), solution);
        let again = without_lines(read(&collection.to_string()));
        assert_eq!(again, without_lines(collection));
    }
    for (solution, line, column) in [
        ("Solution\nrrr5", 5, 5),
        ("Solution\nrR\n2r3 ", 6, 4),
        ("Solution: rrr5", 4, 15),
        ("Solution: rrr5\nR", 4, 15),
        ("Solution\nr5\n12", 5, 3),
    ] {
        let collection = read(&format!("#####\n#@$.#\n#####\n{solution}\n"));
        let entry = &collection.entries()[0];
        assert!(entry.solutions().is_empty(), "{solution}: {entry:?}");
        let [fault] = entry.faults() else {
            panic!("{solution}: {entry:?}")
        };
        assert_eq!((fault.line, fault.column), (line, column), "{solution}");
        assert!(fault.message.ends_with("found the end of the line"));
        let again = without_lines(read(&collection.to_string()));
        assert_eq!(again, without_lines(collection));
    }
    // Words and names are no moves.
    for (text, solutions) in [
        ("Solution\nR\na remark", 1),
        ("Solution: Jane\nR", 1),
        ("Solution: A: R", 1),
        ("Solution to come\nlater", 0),
        ("Solution\nAuthor: A. Person", 0),
        ("Solution by hand is hard", 0),
        ("Solution", 0),
    ] {
        let collection = read(&format!("{TWO}{text}\n"));
        let entry = &collection.entries()[1];
        assert!(entry.faults().is_empty(), "{text}: {entry:?}");
        assert_eq!(entry.solutions().len(), solutions, "{text}");
    }
}

#[test]
fn run_lengths_of_rows_that_no_line_could_have_are_text() {
    for line in ["|5#|#@$.#|5#", "5#|4*|#@$.#|5#", "5+|#@$.#|5#"] {
        let collection = read(&format!("{TWO}\n{line}\n"));
        assert_eq!(collection.entries().len(), 2, "{line}");
        assert_eq!(collection.entries()[1].notes(), [line]);
        assert_eq!(read(&collection.to_string()), collection);
    }
    // A row of floor at the end is no row.
    assert_eq!(read("5#|#@$.#|5#|5-|").entries()[0].rows().len(), 3);
}

#[test]
fn a_header_has_moves_behind_one_colon() {
    let collection = read("#####\n#@$.#\n#####\nSolution: R: R\nR\n");
    assert_eq!(names(&collection.entries()[0]), ["Solution: R: R"]);
    assert_eq!(moves(&collection.entries()[0]), ["R"]);
    assert_eq!(read(&collection.to_string()), collection);
}

#[test]
fn all_lines_of_a_solution_that_is_too_long_are_notes() {
    for solution in [
        "Solution\n2000000r\nrR",
        "Solution\nrr9999999R\nrR\nlR",
        "Solution: 900000r\n900000R",
    ] {
        let collection = read(&format!("{TWO}\n{solution}\n"));
        let entry = &collection.entries()[1];
        assert!(entry.solutions().is_empty(), "{solution}");
        assert_eq!(entry.faults().len(), 1, "{solution}");
        let again = read(&collection.to_string());
        assert!(again.entries()[1].solutions().is_empty(), "{solution}");
        assert_eq!(again.to_string(), collection.to_string());
    }
}

#[test]
fn huge_run_lengths_are_refused() {
    let text = "#####\n#@$.#\n#####\n\nSolution\n999999999999999999999R\n";
    let collection = read(text);
    let entry = &collection.entries()[0];
    assert!(entry.solutions().is_empty());
    assert_eq!(entry.faults()[0].line, 6);
    assert!(Collection::read(&"x".repeat(MAX_BYTES + 1)).is_err());
}

#[test]
fn long_texts_are_read_in_linear_time() {
    let level = "####\n#@ #\n####\n";
    for part in [
        "; a\n",
        "#\n",
        "\n",
        "Solution\n",
        "Solution\nrX\n",
        "rX\n",
        "r\n",
        "#|",
        "Comment:\n",
        "a\n\n",
        "#\n-\n",
        "-\n",
        "-|",
        "12\n",
        "r1\n",
        "***\n",
        "Maze: 1\n",
        "Title: a\n\n",
        "A: b\n\n",
        "X\n",
        "> #\n",
    ] {
        let text = format!("{level}{0}\n{0}{level}", part.repeat(100_000));
        let collection = read(&text);
        assert!(!collection.entries().is_empty(), "{part}");
    }
}

#[test]
fn an_added_solution_is_written() {
    let mut collection = read(TWO);
    let mut entry = collection.entries()[1].clone();
    entry.add_solution("not a name", "l L");
    entry.add_solution("Solution/Moves", "lL");
    collection.push(entry);
    let again = read(&collection.to_string());
    assert_eq!(again, collection);
    assert_eq!(names(&again.entries()[2]), ["Solution", "Solution/Moves"]);
}

/// The rows of the only level.
fn rows(text: &str) -> Vec<String> {
    let collection = read(text);
    assert_eq!(read(&collection.to_string()), collection, "{text}");
    let [entry] = collection.entries() else {
        panic!("{collection:?}")
    };
    entry.rows().to_vec()
}

const HATCH: [&str; 3] = ["#####", "#@$.#", "#####"];

#[test]
fn floor_alone_is_an_empty_row_between_rows() {
    for floor in ["-", "_", "---", "-_ -", "2-", "-|", "|"] {
        let text = format!("  # #\n{floor}\n{floor}\n#####\n#@$.#\n#####\n");
        assert_eq!(rows(&text)[..3], ["  # #", "", ""], "{floor}");
        assert_eq!(rows(&text)[3..], HATCH);
    }
    // Below the last row it is text, and between two levels too.
    assert_eq!(rows("#####\n#@$.#\n#####\n---\n"), HATCH);
    let two = read("#####\n#@$.#\n#####\n-----\n#####\n#.$@#\n#####\n");
    assert_eq!(two.entries().len(), 2);
    assert_eq!(two.entries()[0].notes(), ["-----"]);
    // Rows around a level have no player.
    assert_eq!(rows("#####\n#@$.#\n#####\n-\n# #\n").len(), 5);
}

#[test]
fn rows_with_run_lengths_end_in_bars() {
    for text in [
        "2-#|\n2-|\n-|\n5#|\n#@$.#|\n5#|\n",
        "2-#|2-|-|5#|#@$.#|5#|\n",
        "2-#|2-|\n-|5#|\n#@$.#|5#|-|\n",
        "2-#|||5#|#@$.#|5#\n",
        "--#|\n|\n|\n5#|#@$.#\n5#|\n",
    ] {
        assert_eq!(rows(text)[..3], ["  #", "", ""], "{text}");
        assert_eq!(rows(text)[3..], HATCH, "{text}");
    }
    assert_eq!(rows("3#|\n#*|\n@$.#|\n5#|\n")[1..3], ["#*", "@$.#"]);
}

#[test]
fn run_lengths_of_moves_go_on_in_the_next_line() {
    let level = "##############\n#@         $.#\n##############\n";
    for text in [
        "Best Solution 10/1\n1\n0rR",
        "Solution\n4r\n5r1\nR",
        "Solution\n9\nr\nR",
    ] {
        let collection = read(&format!("{level}\n{text}\n"));
        let entry = &collection.entries()[0];
        assert_eq!(entry.solutions().len(), 1, "{text}");
        let board = crate::Board::new(entry.level().unwrap()).unwrap();
        let solution = crate::Solution::from_text(&board, entry.solutions()[0].moves()).unwrap();
        let metrics = solution.metrics();
        assert_eq!((metrics.moves, metrics.pushes), (10, 1), "{text}");
        assert_eq!(read(&collection.to_string()), collection);
    }
    // A number that no moves follow is text.
    let collection = read("#####\n#@$.#\n#####\n\nSolution\nR\n12\n\n4\n\n####\n#@ #\n####\n");
    assert_eq!(collection.entries()[0].notes(), ["12"]);
    assert_eq!(collection.entries()[1].title(), Some("4"));
    let collection = read("#####\n#@$.#\n#####\n\nSolution\n9\nComment:\n0rR\nComment-End:\n");
    assert!(collection.entries()[0].solutions().is_empty());
}

#[test]
fn letters_and_walls_of_x_are_cells() {
    assert_eq!(rows("#####\n#pbo#\n#####\n"), HATCH);
    assert_eq!(rows("7#|#PbB-#|7#")[1], "#+$* #");
    // A word below a level is no row.
    let collection = read(&format!("{TWO}Bob\n"));
    assert_eq!(collection.entries()[1].notes(), ["Bob"]);

    assert_eq!(rows("XXXXX\nX@*.X\nXXXXX\n"), HATCH);
    assert_eq!(
        rows("  XXXX\n  X..X\nXXX$ X\nX@*& X\nXXXXXX\n")[3],
        "#@** #"
    );
    assert_eq!(rows("XXXXXX\nX@*&.X\nXXXXXX\n")[1], "#@$*.#");
    let titled = read("XX\n\n#####\n#@$.#\n#####\n");
    assert_eq!(titled.entries()[0].title(), Some("XX"));
}

#[test]
fn rows_of_stars_are_no_rows() {
    let text = "\
*****************
Maze: 1
File offset: 148C
Size X: 5

#####
#@$.#
#####
*****************
Maze: 2

######
#@ $.#
######
*****************
";
    let collection = read(text);
    let titles: Vec<_> = collection.entries().iter().map(Entry::title).collect();
    assert_eq!(titles, [Some("Maze 1"), Some("Maze 2")]);
    let boxes = |entry: &Entry| entry.level().unwrap().boxes().len();
    assert!(collection.entries().iter().all(|entry| boxes(entry) == 1));
    assert_eq!(collection.entries()[0].key("Size X"), Some("5"));
    assert_eq!(read(&collection.to_string()), collection);
    let above = read("***\n#####\n#@$.#\n#####\n****\n\nNext\n\n####\n#@ #\n####\n");
    let titles: Vec<_> = above.entries().iter().map(Entry::title).collect();
    assert_eq!(titles, [None, Some("Next")]);
}

#[test]
fn a_single_line_between_levels_is_the_title_of_the_next() {
    for (between, title) in [
        ("; The cellar\n\n", Some("The cellar")),
        ("The cellar\n", Some("The cellar")),
        ("\nThe cellar\n\n", Some("The cellar")),
        ("Author: A\n\n", None),
        ("a remark\nin two lines\n\n", None),
        ("Solution\nR\n\n", None),
    ] {
        let board = "#####\n#@$.#\n#####\n";
        let collection = read(&format!("; The attic\n{board}{between}{board}"));
        let titles: Vec<_> = collection.entries().iter().map(Entry::title).collect();
        assert_eq!(titles, [Some("The attic"), title], "{between:?}");
        assert_eq!(read(&collection.to_string()), collection);
    }
}

#[test]
fn all_line_ends_and_marks_are_read() {
    let lines = ["; 1 Door", "#####", "#@$.#", "#####", "", "Solution", "R"];
    let expected = read(&lines.join("\n"));
    for end in ["\r", "\r\n", "\n"] {
        assert_eq!(read(&lines.join(end)), expected, "{end:?}");
        assert_eq!(read(&format!("\u{feff}{}{end}", lines.join(end))), expected);
    }
    let mixed = "; 1 Door\r#####\r\n#@$.#\n#####\n\rSolution\r\nR\r";
    assert_eq!(read(mixed), expected);
    let fault = read("; 1\r#####\r#@@.#\r#####").entries()[0].faults()[0].clone();
    assert_eq!((fault.line, fault.column), (3, 3));
}

#[test]
fn quoted_rows_are_read_and_columns_count_the_marks() {
    let text = "> Door\n>\n> #####\n> #@$.#\n> #####\n>\n> Solution\n> R\n";
    assert_eq!(rows(text), HATCH);
    assert_eq!(read(text).entries()[0].title(), Some("Door"));
    assert_eq!(moves(&read(text).entries()[0]), ["R"]);
    assert_eq!(rows(">>#####\n>>#@$.#\n> > #####\n"), HATCH);
    let fault = read("> #####\n> #@@.#\n> #####").entries()[0].faults()[0].clone();
    assert_eq!((fault.line, fault.column), (2, 5));
    let kept = read("> a remark\n\n#####\n#@$.#\n#####\n");
    assert_eq!(kept.entries()[0].title(), Some("> a remark"));
}

#[test]
fn other_games_are_refused_by_name() {
    let level = "#####\n#@$.#\n#####\n";
    for (line, is_plain) in [
        ("Variant: Sokoban", true),
        ("variant: standard", true),
        ("Variant:", true),
        ("Variant: Multiban", false),
        ("VARIANT: Hexoban", false),
    ] {
        let collection = read(&format!("{level}{line}\n\n{level}"));
        let [first, second] = collection.entries() else {
            panic!("{collection:?}")
        };
        assert_eq!(first.faults().is_empty(), is_plain, "{line}");
        assert_eq!(first.level().is_some(), is_plain, "{line}");
        assert!(second.faults().is_empty());
        assert_eq!(
            without_lines(read(&collection.to_string())),
            without_lines(collection)
        );
    }
    let collection = read(&format!("{level}Variant: Trioban\n"));
    let fault = &collection.entries()[0].faults()[0];
    assert_eq!((fault.line, fault.column), (4, 10));
    assert!(fault.message.contains("`Trioban`"), "{fault}");
    let all = read(&format!("Variant: Hexoban\n\nOne\n\n{level}\n{level}"));
    assert!(all.entries().iter().all(|entry| entry.level().is_none()));
    let comment = read(&format!(
        "{level}Comment:\nVariant: Hexoban\nComment-End:\n"
    ));
    assert!(comment.entries()[0].faults().is_empty());
}

#[test]
fn keys_with_a_title_stand_above_their_level() {
    let level = "#####\n#@$.#\n#####\n";
    let above = format!("Title: A\nAuthor: B\n\n{level}\nTitle: C\nAuthor: D\n\n{level}");
    let below = format!("{level}Title: A\nAuthor: B\n\n{level}Title: C\nAuthor: D\n");
    let apart = format!("Title: A\n\nAuthor: B\n\n{level}\n\nTitle: C\n\nAuthor: D\n{level}");
    for text in [above, below, apart] {
        let collection = read(&text);
        let shown = |entry: &Entry| {
            let title = entry.title().map(str::to_string);
            (title, entry.key("Author").map(str::to_string))
        };
        let shown: Vec<_> = collection.entries().iter().map(shown).collect();
        let pair = |title: &str, author: &str| (Some(title.into()), Some(author.into()));
        assert_eq!(shown, [pair("A", "B"), pair("C", "D")], "{text}");
        assert_eq!(read(&collection.to_string()), collection);
    }
    // A level has its own title, so that the first one is of the collection.
    let collection = read(&format!("Title: Doors\n\n; 1 The hatch\n{level}"));
    assert_eq!(collection.notes(), ["Title: Doors"]);
    let last = read(&format!("{level}\nTitle: A\n"));
    assert_eq!(last.entries()[0].title(), Some("A"));
}

#[test]
fn xml_of_levels_is_read() {
    let text = "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<SokobanLevels>
  <Title>Doors &amp; gates</Title>
  <LevelCollection Copyright=\"A. Person\" MaxWidth=\"5\" MaxHeight=\"3\">
    <Level Id=\"One\" Width=\"5\" Height=\"3\" Copyright=\"B. Person\">
      <L>#####</L><L>#@$.#</L><L>#####</L>
    </Level>
    <Level Id=\"2\"><L>  #</L><L/><L>#####</L><L>#pb@#</L><L>#####</L></Level>
  </LevelCollection>
</SokobanLevels>
";
    let collection = read(text);
    assert_eq!(collection.notes(), ["Title: Doors & gates"]);
    let [first, second] = collection.entries() else {
        panic!("{collection:?}")
    };
    assert_eq!(first.rows(), HATCH);
    assert_eq!(
        (first.title(), first.key("Author")),
        (Some("One"), Some("B. Person"))
    );
    assert_eq!(second.rows()[1], "");
    assert_eq!(second.faults()[0].line, 8, "{second:?}");
    let written = collection.to_string();
    assert_eq!(without_lines(read(&written)), without_lines(collection));

    let error = |text: &str| Collection::read(text).unwrap_err().to_string();
    assert!(error("<?xml version=\"1.0\"?>\n<a><b></a>").starts_with("line 2"));
    let page = error("<?xml version=\"1.0\"?><html/>");
    assert!(
        page.contains("expected the element `SokobanLevels`, found `html`"),
        "{page}"
    );
    let row = error("<SokobanLevels><Level><L>door</L></Level></SokobanLevels>");
    assert!(
        row.starts_with("line 1, column 23: expected a row of"),
        "{row}"
    );
    let crowded = |n: usize| {
        use std::fmt::Write as _;
        let attributes = (0..n).fold(String::new(), |mut text, at| {
            write!(text, " a{at} = 'x'").expect("strings take all text");
            text
        });
        format!("<SokobanLevels>\n<Level{attributes}><L>#@$.#</L></Level></SokobanLevels>")
    };
    assert_eq!(read(&crowded(200)).entries().len(), 1);
    let attributes = error(&crowded(201));
    assert!(
        attributes.starts_with("line 2, column 1: expected at most 200 attributes"),
        "{attributes}"
    );
    // Entities that grow are refused.
    assert!(
        Collection::read("<?xml version=\"1.0\"?><!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>")
            .is_err()
    );
}

/// The levels that others wrote, each as `check` sees it.
#[test]
fn files_of_others_are_read() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/field/sok");
    if !folder.is_dir() {
        return;
    }
    let expected: [(&str, &[(usize, usize)]); 12] = [
        ("cr_only.xsb", &[(1, 0)]),
        ("interior_empty.sok", &[(1, 0)]),
        ("letters.sok", &[(1, 0)]),
        ("mailquote.txt", &[(1, 0)]),
        ("rle_rows_bar.sok", &[(1, 0)]),
        ("rle_split_number.sok", &[(1, 1)]),
        ("slc.xml", &[(1, 0)]),
        ("sol_lower.sok", &[(1, 1)]),
        ("stars.txt", &[(1, 0), (1, 0)]),
        ("title_before.sok", &[(1, 0), (1, 0)]),
        ("title_only_line.sok", &[(1, 0), (1, 0)]),
        ("x_walls.txt", &[(1, 0)]),
    ];
    for (name, levels) in expected {
        let collection = read(&std::fs::read_to_string(folder.join(name)).unwrap());
        let found = collection.entries().iter().map(|entry| {
            let board = crate::Board::new(entry.level().unwrap()).unwrap();
            for named in entry.solutions() {
                crate::Solution::from_text(&board, named.moves()).unwrap();
            }
            (board.goals().len(), entry.solutions().len())
        });
        assert_eq!(found.collect::<Vec<_>>(), levels, "{name}");
    }
    let variant = read(&std::fs::read_to_string(folder.join("variant.sok")).unwrap());
    assert!(
        variant.entries()[0].faults()[0]
            .message
            .contains("`Multiban`")
    );
    let wrong = read(&std::fs::read_to_string(folder.join("solution_bad_letter.sok")).unwrap());
    assert_eq!(wrong.entries()[0].faults()[0].line, 4);
    let lost = read(&std::fs::read_to_string(folder.join("unreachable_box.xsb")).unwrap());
    let error = crate::Board::new(lost.entries()[0].level().unwrap()).unwrap_err();
    assert!(error.to_string().starts_with("row 2, column 6"), "{error}");
}

/// Lines of all kinds.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just(String::new()),
        4 => "[#@$.* +-]{1,6}",
        4 => Just("####".to_string()),
        2 => Just("#@$.#".to_string()),
        1 => Just("4#|#@-#|4#".to_string()),
        1 => "[0-9]{0,2}[lurdLURD]{1,4}",
        1 => "; [0-9]{0,2} ?[a-z]{0,5}",
        1 => "[A-Za-z #:;]{0,9}",
        1 => "note [0-9]{3}",
        1 => Just("Author: A. Person".to_string()),
        2 => "Solution( by A)?:?",
        1 => Just("Solution/Pushes: 2rU".to_string()),
        1 => "Solution: [rRXa]{1,4}",
        2 => "[rR0X]{1,3}",
        1 => Just("Snapshot".to_string()),
        1 => Just("Comment:".to_string()),
        1 => Just("Comment-End:".to_string()),
        1 => "[-_2|]{1,3}",
        1 => "[*]{2,4}",
        1 => "X[X@*.$& ]{0,3}X",
        1 => "#[pPbBo #]{1,4}#?",
        1 => "[0-9]{1,2}",
        1 => "(> ?)+[#@ ]{0,4}",
        1 => "(Title|Maze|Variant): [A-D]?",
    ]
}

/// A collection as others make it: valid levels, each with solutions.
fn made() -> impl Strategy<Value = Collection> {
    let entry = (
        proptest::option::of("[ -~]{0,12}"),
        0..4_usize,
        proptest::collection::vec("[lurdLURD]{1,200}", 0..3),
    );
    proptest::collection::vec(entry, 0..5).prop_map(|entries| {
        let entry = |(title, width, solutions): (Option<String>, usize, Vec<String>)| {
            let gap = " ".repeat(width);
            let wall = "#".repeat(width + 5);
            let level = Level::from_rows(&[&wall, &format!("#@$.{gap}#"), &wall]).unwrap();
            let mut entry = Entry::new(title.as_deref(), level);
            for (index, moves) in solutions.iter().enumerate() {
                entry.add_solution(&format!("Solution {index}"), moves);
            }
            entry
        };
        entries.into_iter().map(entry).collect()
    })
}

/// A collection without the lines of its faults, which another layout moves.
fn without_lines(mut collection: Collection) -> Collection {
    for fault in collection
        .entries
        .iter_mut()
        .flat_map(|entry| &mut entry.faults)
    {
        fault.line = 0;
        fault.column = 0;
    }
    collection
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_written_reads_back(collection in made()) {
        prop_assert_eq!(read(&collection.to_string()), collection);
    }

    #[test]
    fn any_text_is_read_without_loss(lines in proptest::collection::vec(line(), 0..30)) {
        let text = lines.join("\n");
        let collection = read(&text);
        let written = collection.to_string();
        prop_assert_eq!(without_lines(read(&written)), without_lines(collection), "{}", written);
        for note in lines.iter().filter(|line| line.starts_with("note")) {
            prop_assert!(written.contains(note), "{written}");
        }
    }
}
