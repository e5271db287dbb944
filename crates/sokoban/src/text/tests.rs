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
fn run_lengths_of_rows_that_no_line_could_have_are_text() {
    for line in [
        "|5#|#@$.#|5#",
        "5#||#@$.#|5#",
        "5#|5-|#@$.#|5#",
        "5+|#@$.#|5#",
    ] {
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
        "r\n",
        "#|",
        "Comment:\n",
        "a\n\n",
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
        1 => Just("Solution".to_string()),
        1 => Just("Solution/Pushes: 2rU".to_string()),
        1 => Just("Snapshot".to_string()),
        1 => Just("Comment:".to_string()),
        1 => Just("Comment-End:".to_string()),
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
