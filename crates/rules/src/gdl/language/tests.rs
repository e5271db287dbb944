use super::*;

const SHEET: &str = "; A game of two.

(role white)
(role black)

; The squares of the board.
(index 1)
(index 2)

; A square and what is on it.
(init (cell 1 b))
(<= (next (cell ?n x)) (does white (mark ?n)))
(<= (next (cell ?n ?c)) (true (cell ?n ?c)) (not (does white (mark ?n))))
;; Marks an empty square.
(<= (legal white (mark ?n)) (true (cell ?n b)) (index ?n))
(legal black noop)
(<= terminal (not open))
; Some square is empty.
(<= open (true (cell ?n b)))
(goal white 100)
(goal black 0)
";

/// The byte offset inside the n-th place of a text in the sheet.
fn at(text: &str, needle: &str, nth: usize) -> u32 {
    let found = text.match_indices(needle).nth(nth);
    found.expect("it is there").0 as u32 + 1
}

fn texts(sheet: &Sheet, places: &[&Occurrence]) -> Vec<String> {
    let line = |place: &&Occurrence| sheet.lines.line_of(place.span.start) + 1;
    let text = |place: &&Occurrence| &sheet.text[place.span.range()];
    let shown = places.iter().map(|it| format!("{} {}", line(it), text(it)));
    shown.collect()
}

#[test]
fn names_have_kinds_definitions_and_comments() {
    let sheet = Sheet::read(SHEET);
    assert_eq!(sheet.diagnostics, []);
    let check = |needle: &str, nth: usize, form: &str, kind: &str, meaning: &str| {
        let found = sheet.explain(at(SHEET, needle, nth)).expect(needle);
        assert_eq!((&*found.form, &*found.kind), (form, kind));
        assert_eq!(found.meaning, meaning);
    };
    let cell = "a fact with 2 arguments, defined in line 11 and 2 more, used 3 times";
    check(
        "cell",
        4,
        "(cell ?n ?c)",
        cell,
        "A square and what is on it.",
    );
    let mark = "a move with 1 argument, defined in line 15, used 2 times";
    check("mark", 0, "(mark ?n)", mark, "Marks an empty square.");
    let index = "a relation with 1 argument, defined in line 7 and 1 more, used once";
    check("index", 0, "(index ?n)", index, "The squares of the board.");
    let open = "a relation with 0 arguments, defined in line 19, used once";
    check("open", 0, "open", open, "Some square is empty.");
    check(
        "white",
        3,
        "white",
        "a role, defined in line 3, used 4 times",
        "",
    );
    check(
        "?n",
        0,
        "?n",
        "a variable of this statement, used 2 times",
        "",
    );
    let next = word("next").expect("it is a word");
    check("next", 0, next.form, "a word of GDL", next.meaning);
    assert!(sheet.explain(0).is_none());
    let one = sheet.outline.at(at(SHEET, " 1 b", 0)).expect("a constant");
    assert_eq!(texts(&sheet, &sheet.outline.definitions(one.name)), ["7 1"]);
    let blank = sheet.outline.at(at(SHEET, " b)", 1)).expect("a constant");
    assert_eq!(
        texts(&sheet, &sheet.outline.definitions(blank.name)),
        ["11 b"]
    );
}

#[test]
fn names_are_changed_wherever_they_stand() {
    let sheet = Sheet::read(SHEET);
    let changed = |needle: &str, nth: usize, to: &str| {
        let edits = sheet.rename(at(SHEET, needle, nth), to)?;
        let mut text = SHEET.to_string();
        for edit in edits.iter().rev() {
            text.replace_range(edit.span.range(), &edit.text);
        }
        Ok(text)
    };
    let all = SHEET.replace("(cell", "(square");
    assert_eq!(changed("cell", 1, "square"), Ok(all));
    let one = SHEET.replacen(
        "(cell ?n x)) (does white (mark ?n)",
        "(cell ?m x)) (does white (mark ?m)",
        1,
    );
    assert_eq!(changed("?n", 1, "?m"), Ok(one));
    for (needle, to, why) in [
        ("next", "after", "`next` is a word of GDL"),
        ("cell", "a b", "`a b` is not one name"),
        ("cell", "(a", "`(a` is not one name"),
        ("cell", "", "`` is not one name"),
        ("cell", "?a", "only the name of a variable begins with `?`"),
        ("?n", "n", "the name of a variable begins with `?`"),
        ("index", "open", ""),
        ("?c", "?n", "`?n` is there already"),
        ("noop", "white", "`white` is there already"),
        ("open", "Terminal", "`Terminal` is a word of GDL"),
        (";", "a", "there is no name here"),
    ] {
        let found = changed(needle, 0, to);
        match why {
            "" => assert!(found.is_ok(), "{found:?}"),
            _ => assert_eq!(found, Err(why.to_string())),
        }
    }
}

#[test]
fn proposals_fit_their_place() {
    let check = |line: &str, all: &[&str], none: &[&str]| {
        // `|` is the cursor.
        let offset = SHEET.len() + line.find('|').expect("a cursor");
        let text = format!("{SHEET}{}", line.replace('|', ""));
        let (span, found) = Sheet::read(text.clone()).completions(offset as u32);
        assert!(span.end >= offset as u32 && span.range().start <= offset);
        let snippets: Vec<&str> = found.iter().map(|it| &*it.snippet).collect();
        for wanted in all {
            assert!(
                snippets.contains(wanted),
                "{line}: {wanted} in {snippets:?}"
            );
        }
        for other in none {
            assert!(!snippets.contains(other), "{line}: {other} in {snippets:?}");
        }
    };
    check(
        "|",
        &["(role ${1:player})", "(index ${1:?n})"],
        &["(true ${1:fact})"],
    );
    check(
        "(ro|",
        &["role ${1:player}", "<= ${1:head}\n  ${2:condition}"],
        &["white"],
    );
    check(
        "(<= |",
        &["(next ${1:fact})", "terminal"],
        &["(true ${1:fact})"],
    );
    check("(<= (n|", &["next ${1:fact}"], &["true ${1:fact}"]);
    check(
        "(<= open (|)",
        &["true ${1:fact}", "not ${1:condition}"],
        &["next ${1:fact}"],
    );
    check(
        "(<= open (not (|",
        &["true ${1:fact}", "open"],
        &["cell ${1:?n} ${2:?c}"],
    );
    check(
        "(<= open (true (c|",
        &["cell ${1:?n} ${2:?c}"],
        &["b", "true ${1:fact}"],
    );
    check(
        "(<= (q ?x) (true |)",
        &["(cell ${1:?n} ${2:?c})", "?x"],
        &["?n"],
    );
    check("(<= (q ?x) (does |)", &["white", "black", "?x"], &[]);
    check(
        "(<= (q ?x) (nea|r ?x)",
        &["true ${1:fact}"],
        &["near ${1:?x}"],
    );
    check("; (|", &[], &["white"]);
    let cell = Sheet::read("(<= (q ?x) (true (cell ?x ").completions(26).1;
    assert_eq!(cell[0].label, "?x");
}

#[test]
fn a_fix_mends_its_fault() {
    for (from, to) in [
        ("(<= terminal (not open))", "(<= terminal (not open)"),
        ("(<= terminal (not open))", "(<= terminal (not open"),
        ("(<= terminal (not open))", "(<= terminal (not open)))"),
        ("(<= terminal (not open))", "(<= terminl (not open))"),
        ("(not open)", "(not opne)"),
        ("(true (cell ?n b)) (index", "(true (cel ?n b)) (index"),
        ("(does white (mark ?n)))", "(does whte (mark ?n)))"),
        ("(goal black 0)", "(<= (goal black 0))"),
        (
            "(true (cell ?n b)) (index ?n)",
            "(true (cell ?n b))) (index ?n)",
        ),
    ] {
        let text = SHEET.replacen(from, to, 1);
        let sheet = Sheet::read(text.clone());
        let fixes: Vec<Fix> = sheet
            .diagnostics
            .iter()
            .filter_map(|it| sheet.fix(it))
            .collect();
        let [fix] = &fixes[..] else {
            panic!("{to}: {:?}", sheet.diagnostics);
        };
        let mut mended = text;
        for edit in fix.edits.iter().rev() {
            mended.replace_range(edit.span.range(), &edit.text);
        }
        assert_eq!(mended.trim(), SHEET.trim(), "{to}: {fix:?}");
    }
}

#[test]
fn every_question_is_answered_for_every_broken_text() {
    let texts = [
        "(",
        ")",
        "",
        "((a) b)",
        "(<=)",
        "(<= )(()",
        "?x",
        "(?x ?y)",
        "(true (?f a))",
        "\u{e9} (\u{1F600}",
    ];
    let broken = (0..SHEET.len())
        .step_by(7)
        .map(|at| format!("{}{}", &SHEET[..at], &SHEET[at + 1..]));
    for text in texts.map(String::from).into_iter().chain(broken) {
        let sheet = Sheet::read(text.clone());
        let spans = sheet.outline.occurrences.windows(2);
        spans.for_each(|two| assert!(two[0].span.end <= two[1].span.start, "{text}"));
        for offset in 0..=text.len() as u32 + 1 {
            sheet.explain(offset);
            sheet.completions(offset);
            drop(sheet.rename(offset, "other"));
        }
        sheet.diagnostics.iter().for_each(|it| drop(sheet.fix(it)));
        sheet.laid_out();
    }
}

#[test]
fn every_word_of_every_game_is_known() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../gdl-games");
    let files = std::fs::read_dir(folder).expect("the games are there");
    let paths = files.map(|file| file.expect("it can be read").path());
    let sheets: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "gdl"))
        .collect();
    assert!(sheets.len() > 20);
    for path in sheets {
        let text = std::fs::read_to_string(&path).expect("it is text");
        let words = tokens(&text).filter(|token| token.kind == TokenKind::Symbol);
        let words: Vec<Span> = words.map(|token| token.span).collect();
        let sheet = Sheet::read(text);
        let places = sheet.outline.occurrences.iter();
        let places: Vec<Span> = places.map(|place| place.span).collect();
        assert_eq!(places, words, "{}", path.display());
        for (number, name) in sheet.outline.names.iter().enumerate() {
            let is_fact = name.is_fact && name.kind == Kind::Function;
            let mut places = sheet.outline.places(number);
            let is_defined = places.any(|place| place.is_definition);
            let form = name.form();
            assert!(is_defined || name.kind != Kind::Relation, "{form}");
            assert!(is_defined || !is_fact, "{form} in {}", path.display());
        }
    }
}
