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
    let sheet = Sheet::read(Dialect::Kif, SHEET);
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
    let next = word(Dialect::Kif, "next").expect("it is a word");
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
    let sheet = Sheet::read(Dialect::Kif, SHEET);
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
        let (span, found) = Sheet::read(Dialect::Kif, text.clone()).completions(offset as u32);
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
    let cell = Sheet::read(Dialect::Kif, "(<= (q ?x) (true (cell ?x ")
        .completions(26)
        .1;
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
        let sheet = Sheet::read(Dialect::Kif, text.clone());
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
        let sheet = Sheet::read(Dialect::Kif, text.clone());
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
    for (game, text) in panza_gdl_games::EMBEDDED {
        let words = tokens(text).filter(|token| token.kind == TokenKind::Symbol);
        let words: Vec<Span> = words.map(|token| token.span).collect();
        let sheet = Sheet::read(Dialect::Kif, text.to_string());
        let places = sheet.outline.occurrences.iter();
        let places: Vec<Span> = places.map(|place| place.span).collect();
        assert_eq!(places, words, "{game}");
        for (number, name) in sheet.outline.names.iter().enumerate() {
            let is_fact = name.is_fact && name.kind == Kind::Function;
            let mut places = sheet.outline.places(number);
            let is_defined = places.any(|place| place.is_definition);
            let form = name.form(Dialect::Kif);
            assert!(is_defined || name.kind != Kind::Relation, "{form}");
            assert!(is_defined || !is_fact, "{form} in {game}");
        }
    }
}

const HRF: &str = "% A game of two.

role(white)
role(black)

% The squares of the board.
index(1)
index(2)

% A square and what is on it.
init(cell(1,b))
init(X) :- start(X)
start(cell(2,b))
init(control(white))

% Marks an empty square.
legal(mark(N)) :- cell(N,b) & index(N)
mark(N) :: control(R) ==> ~cell(N,b) & cell(N,R) & turn
% The other side is to move.
turn :: control(R) & other(R,S) ==> ~control(R) & control(S)

other(white,black)
other(black,white)
terminal :- ~open
% Some square is empty.
open :- cell(N,b)
goal(R,50) :- role(R) & plus(1,2,3)
";

fn hrf() -> Sheet {
    Sheet::read(Dialect::Hrf, HRF)
}

#[test]
fn names_of_hrf_have_kinds_definitions_and_comments() {
    let sheet = hrf();
    assert_eq!(sheet.diagnostics, []);
    let check = |needle: &str, nth: usize, form: &str, kind: &str, meaning: &str| {
        let found = sheet.explain(at(HRF, needle, nth)).expect(needle);
        assert_eq!((&*found.form, &*found.kind), (form, kind));
        assert_eq!(found.meaning, meaning);
    };
    let cell = "a fact with 2 arguments, defined in line 11 and 1 more, used 4 times";
    check("cell(", 3, "cell(N,R)", cell, "A square and what is on it.");
    let mark = "an action with 1 argument, defined in line 17 and 1 more, used 0 times";
    check("mark(", 0, "mark(N)", mark, "Marks an empty square.");
    let turn = "an action, defined in line 20, used once";
    check("turn", 0, "turn", turn, "The other side is to move.");
    let index = "a relation with 1 argument, defined in line 7 and 1 more, used once";
    check("index(", 2, "index(N)", index, "The squares of the board.");
    let open = "a relation with 0 arguments, defined in line 26, used once";
    check("open", 0, "open", open, "Some square is empty.");
    check(
        "white",
        2,
        "white",
        "a role, defined in line 3, used 3 times",
        "",
    );
    check(
        "1,b",
        0,
        "1",
        "a constant, defined in line 7, used 2 times",
        "",
    );
    check(
        "N)",
        2,
        "N",
        "a variable of this statement, used 3 times",
        "",
    );
    let legal = sheet.explain(at(HRF, "legal", 0)).expect("a word");
    assert_eq!(
        (&*legal.form, &*legal.kind),
        ("legal(action)", "a word of HRF")
    );
    let plus = sheet.explain(at(HRF, "plus", 0)).expect("a word");
    assert_eq!(plus.form, "plus(number,other,sum)");
    assert_eq!(sheet.explain(at(HRF, "% The", 0)), None);
}

#[test]
fn names_of_textbook_gdl_are_those_of_kif() {
    let text = "\u{feff}role(white). init(cell(1,b)).\n% Marks.\nlegal(white,mark(N)) :- true(cell(N,b)).\n\
        next(cell(N,x)) :- does(white,mark(N)).\nterminal :- true(cell(1,x)).\ngoal(white,100).\n";
    let sheet = Sheet::read(Dialect::Hrf, text);
    assert_eq!(sheet.diagnostics, []);
    let places = sheet
        .outline
        .occurrences
        .iter()
        .filter(|it| !it.span.is_empty());
    let places: Vec<Span> = places.map(|it| it.span).collect();
    let names: Vec<Span> = name_tokens(Dialect::Hrf, text).collect();
    assert_eq!(places, names);
    let explained = |needle: &str, nth: usize| {
        let found = sheet.explain(at(text, needle, nth)).expect(needle);
        (found.form, found.kind, found.meaning)
    };
    let (form, kind, _) = explained("next", 0);
    assert_eq!((&*form, &*kind), ("next(fact)", "a word of GDL"));
    let (form, kind, meaning) = explained("mark", 0);
    assert_eq!((&*form, &*meaning), ("mark(N)", "Marks."));
    assert_eq!(kind, "a move with 1 argument, defined in line 3, used once");
    let variable = at(text, "N)", 1);
    let edits = sheet.rename(variable, "Place").expect("it is a variable");
    assert_eq!(edits.len(), 2);
    assert!(sheet.rename(variable, "place").is_err());
    assert!(sheet.rename(at(text, "mark", 0), "does").is_err());
    let wrong = Sheet::read(Dialect::Hrf, text.replace("cell(1,x)", "cel(1,x)"));
    let places: Vec<&str> = (wrong.diagnostics.iter())
        .map(|fault| &wrong.text[wrong.place(fault).range()])
        .collect();
    assert_eq!(places, ["cel"]);
}

#[test]
fn every_name_of_hrf_is_known_at_its_place() {
    let sheet = hrf();
    let places = sheet.outline.occurrences.iter().map(|it| it.span);
    let names: Vec<Span> = name_tokens(Dialect::Hrf, HRF).collect();
    assert_eq!(places.collect::<Vec<_>>(), names);
    let text = "p([a,b]) :- q(_,X,\"a text\") & [] | r()\n";
    let sheet = Sheet::read(Dialect::Hrf, text);
    let shown: Vec<&str> = (sheet.outline.occurrences.iter())
        .map(|it| &text[it.span.range()])
        .collect();
    assert_eq!(shown, ["p", "a", "b", "q", "X", "\"a text\"", "r"]);
    let sheet = hrf();
    let name = sheet.outline.at(at(HRF, "turn", 0)).expect("a name").name;
    assert_eq!(texts(&sheet, &sheet.outline.definitions(name)), ["20 turn"]);
    let name = sheet.outline.at(at(HRF, "N)", 1)).expect("a name").name;
    let places: Vec<&Occurrence> = sheet.outline.places(name).collect();
    assert_eq!(texts(&sheet, &places), ["17 N", "17 N", "17 N"]);
}

/// The statements of a text of HRF in KIF, sorted.
fn statements(text: &str) -> Vec<String> {
    let kif = panza_gdl::format::rulesheet(&panza_hrf::load(text).0);
    let (found, _) = panza_gdl::sexpr::parse(&kif);
    let mut found: Vec<String> = found.iter().map(ToString::to_string).collect();
    found.sort();
    found
}

#[test]
fn a_name_of_hrf_is_renamed_without_a_change_of_the_game() {
    let sheet = hrf();
    let mut n_renamed = 0;
    for name in &sheet.outline.names {
        let offset = sheet.outline.occurrences[name.places[0]].span.start;
        let new = if name.kind == Kind::Variable {
            "Other"
        } else {
            "renamed"
        };
        let Ok(edits) = sheet.rename(offset, new) else {
            let is_kept = name.kind == Kind::Keyword || has_meaning(&name.text);
            assert!(is_kept, "{}", name.text);
            continue;
        };
        n_renamed += 1;
        let mut text = HRF.to_string();
        for edit in edits.iter().rev() {
            text.replace_range(edit.span.range(), &edit.text);
        }
        let is_name = |letter: char| panza_hrf::is_name_character(letter);
        let mut back: Vec<String> = statements(&text);
        for statement in &mut back {
            let words = statement.split_inclusive(|letter| !is_name(letter));
            *statement = words
                .map(|word| {
                    let bare = word.trim_end_matches(|letter| !is_name(letter));
                    match bare == new {
                        true => word.replacen(new, &name.text, 1),
                        false => word.to_string(),
                    }
                })
                .collect();
        }
        back.sort();
        if name.kind != Kind::Variable {
            assert_eq!(back, statements(HRF), "{}", name.text);
        }
    }
    assert_eq!(n_renamed, 18);
}

#[test]
fn a_name_of_hrf_that_means_more_is_not_renamed() {
    let refused = |text: &str, offset: u32, to: &str| {
        let sheet = Sheet::read(Dialect::Hrf, text);
        sheet.rename(offset, to).expect_err(to)
    };
    let cell = at(HRF, "cell", 0);
    assert_eq!(refused(HRF, cell, "a b"), "`a b` is not one name");
    assert_eq!(refused(HRF, cell, "index"), "`index` is there already");
    assert_eq!(refused(HRF, cell, "b"), "`b` is there already");
    assert_eq!(
        refused(HRF, cell, "legal"),
        "`legal` has a meaning of its own"
    );
    assert_eq!(
        refused(HRF, cell, "setofall"),
        "`setofall` has a meaning of its own"
    );
    assert_eq!(refused(HRF, cell, "7"), "`7` has a meaning of its own");
    let capital = "only the name of a variable begins with a capital letter";
    assert_eq!(refused(HRF, cell, "Cell"), capital);
    let variable = at(HRF, "N)", 0);
    let small = "the name of a variable begins with a capital letter";
    assert_eq!(refused(HRF, variable, "n"), small);
    assert_eq!(refused(HRF, variable, "_"), "`_` has a meaning of its own");
    assert_eq!(
        refused(HRF, at(HRF, "control", 0), "turns"),
        "`control` has a meaning of its own"
    );
    assert_eq!(
        refused(HRF, at(HRF, "1,b", 0), "one"),
        "`1` has a meaning of its own"
    );
    // What cannot be read may hold the name too.
    let broken = format!("{HRF}bad :- cell(1,\n");
    let why = "a sentence of this rulesheet cannot be read";
    assert_eq!(refused(&broken, cell, "square"), why);
    // `cell` alone would be a fact if no head had the name.
    let both = format!("{HRF}cell(1)\n");
    let why = "`cell` is there with other numbers of arguments";
    assert_eq!(refused(&both, cell, "square"), why);
}

#[test]
fn what_may_be_written_in_hrf_follows_from_the_place() {
    let labels = |text: &str| {
        let offset = text.find('^').expect("a place is marked") as u32;
        let text = text.replace('^', "");
        let sheet = Sheet::read(Dialect::Hrf, text);
        let (replaced, found) = sheet.completions(offset);
        let labels: Vec<String> = found.iter().map(|it| it.label.clone()).collect();
        (sheet.text[replaced.range()].to_string(), labels)
    };
    let has = |labels: &[String], name: &str| labels.iter().any(|label| label == name);
    let (replaced, found) = labels(&format!("{HRF}goal(R,0) :- op^ & role(R)\n"));
    assert_eq!(replaced, "op");
    assert!(has(&found, "open") && has(&found, "cell") && has(&found, "distinct"));
    assert!(has(&found, "control") && !has(&found, "white") && !has(&found, "init"));
    assert_eq!(found.iter().filter(|label| *label == "control").count(), 1);
    let (_, found) = labels(&format!("{HRF}init(^)\n"));
    assert_eq!(found[..2], ["cell", "control"]);
    let (_, found) = labels(&format!("{HRF}p(Square) :- cell(^,"));
    assert_eq!(found[0], "Square");
    assert!(has(&found, "1") && !has(&found, "distinct"), "{found:?}");
    let (_, found) = labels(&format!("{HRF}le^"));
    assert!(has(&found, "legal") && has(&found, "mark") && !has(&found, "distinct"));
    let (_, found) = labels("% wor^d\nrole(a)");
    assert_eq!(found, [] as [String; 0]);
    let snippet = |text: &str, label: &str| {
        let offset = text.find('^').expect("a place is marked") as u32;
        let sheet = Sheet::read(Dialect::Hrf, text.replace('^', ""));
        let found = sheet.completions(offset).1;
        let found = found.into_iter().find(|it| it.label == label);
        found.expect(label).snippet
    };
    let text = format!("{HRF}p :- ce^");
    assert_eq!(snippet(&text, "cell"), "cell(${1:N},${2:R})");
    let text = format!("{HRF}p :- ce^(1,b)");
    assert_eq!(snippet(&text, "cell"), "cell");
}

#[test]
fn a_misspelt_name_of_hrf_can_be_mended() {
    let text = HRF.replace("init(X) :- start(X)\nstart(cell(2,b))", "init(cell(2,b))");
    let text = text.replace("~open", "~opem");
    let sheet = Sheet::read(Dialect::Hrf, text.clone());
    let mut fixes = sheet.diagnostics.iter().filter_map(|it| sheet.fix(it));
    let fix = fixes.next().expect("a fix");
    assert_eq!(fix.title, "Change `opem` to `open`");
    assert_eq!(&text[fix.edits[0].span.range()], "opem");
    assert_eq!(sheet.laid_out().as_deref(), Some(&*text));
}

#[test]
fn any_text_of_hrf_is_analysed() {
    let texts = [
        "",
        "(",
        "p(",
        "p :- ",
        "~",
        "[a",
        "\"",
        "%",
        "X",
        "_",
        "p :- q(,)",
        "\u{e9}(",
    ];
    let broken = (0..HRF.len())
        .step_by(5)
        .map(|at| format!("{}{}", &HRF[..at], &HRF[at + 1..]));
    for text in texts.map(String::from).into_iter().chain(broken) {
        let sheet = Sheet::read(Dialect::Hrf, text.clone());
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
