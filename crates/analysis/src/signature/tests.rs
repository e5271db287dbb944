//! Small rulesheets: what makes no difference, what makes one, and symbols that look alike.

mod games;

use super::*;

fn rules(text: &str) -> Rules {
    panza_gdl::load(text).0
}

fn canonical(text: &str) -> Canonical {
    identify(&rules(text), WORK).1.expect("a small game")
}

const RACE: &str = "(role red) (role blue) (init (step 1)) (succ 1 2) (succ 2 3)
    (<= (legal ?r (go ?n)) (role ?r) (true (step ?n)) (not stuck))
    (<= (legal ?r wait) (role ?r))
    (<= (next (step ?m)) (true (step ?n)) (succ ?n ?m) (does red (go ?n)) (distinct ?m ?n))
    (<= stuck (or (true (step 9)) (true (step 8))))
    (<= terminal (true (step 3)))
    (goal red 100) (goal blue 0)";

/// A fact or move of one game in the names of another with the same canonical text.
fn translate(term: &str, from: &Canonical, to: &Canonical) -> Option<String> {
    (from.text() == to.text()).then(|| to.from_canonical(&from.to_canonical(term)?))?
}

#[test]
fn names_and_order_make_no_difference() {
    let other = "(<= (goal azul 0)) (s b c) (s a b) (<= (legal ?who halt) (role ?who))
        (role azul) (role rojo) (init (at a))
        (<= terminal (true (at c)))
        (<= (next (at ?y)) (distinct ?x ?y) (does rojo (run ?x)) (s ?x ?y) (true (at ?x)))
        (<= (legal ?who (run ?x)) (not full) (true (at ?x)) (role ?who))
        (<= full (or (true (at f)) (true (at e))))
        (goal rojo 100)";
    let (one, two) = (canonical(RACE), canonical(other));
    assert_eq!(one.signature(), two.signature());
    assert_eq!(one.text(), two.text());
    let there = |term| translate(term, &one, &two);
    assert_eq!(there("(go 2)").as_deref(), Some("(run b)"));
    assert_eq!(there("( step  3 )").as_deref(), Some("(at c)"));
    assert_eq!(there("wait").as_deref(), Some("halt"));
    assert_eq!(there("(wait)").as_deref(), Some("halt"));
    assert_eq!(there("(goal red 100)").as_deref(), Some("(goal rojo 100)"));
    assert_eq!(translate("(run c)", &two, &one).as_deref(), Some("(go 3)"));
    for term in [
        "(go 7)", "unheard", "", "(", "go wait", "(go ?x)", "()", "((go) 2)",
    ] {
        assert_eq!(there(term), None, "{term}");
    }
}

#[test]
fn small_changes_make_a_difference() {
    let signature_of = |text: &str| signature(&rules(text), WORK);
    let known = signature_of(RACE);
    for (from, to) in [
        ("(goal red 100)", "(goal red 90)"),
        ("(goal blue 0)", "(goal blue 100)"),
        ("(distinct ?m ?n)", "(distinct ?m 3)"),
        ("(distinct ?m ?n)", ""),
        ("(not stuck)", "stuck"),
        ("(succ ?n ?m)", "(succ ?m ?n)"),
        ("(does red (go ?n))", "(does blue (go ?n))"),
        ("(succ 1 2)", "(succ 1 2) (succ 3 1)"),
        ("(legal ?r wait)", "(legal red wait)"),
        ("(true (step 3))", "(true (step 2))"),
    ] {
        assert!(RACE.contains(from), "{from}");
        let changed = signature_of(&RACE.replace(from, to));
        assert_ne!(changed, known, "{from} became {to}");
    }
    assert_eq!(signature_of(RACE), known);
    // Stored signatures are read by later versions: a change of this one has to be meant.
    assert_eq!(known.to_string(), "76b134d8141cbe8071b75c4773943170");
}

#[test]
fn numbers_are_names_unless_they_may_be_goals() {
    let text = "(role r) (init (count 1)) (init (score 30)) (worth 30 60) (next_score 30 50)
        (succ 1 2) (<= (goal r ?v) (true (score ?s)) (worth ?s ?v))
        (<= (next (score ?t)) (true (score ?s)) (next_score ?s ?t))
        (<= (next (count ?m)) (true (count ?n)) (succ ?n ?m)) (<= (legal r (bid 40)))";
    let known = canonical(text);
    let name = |name: &str| {
        let symbol = known.symbols.find(name).unwrap();
        known.name(symbol).unwrap().to_string()
    };
    assert_eq!(name("60"), "60");
    assert_eq!(name("role"), "role");
    for other in ["30", "50", "1", "2", "40", "count", "r"] {
        assert!(name(other).starts_with('c'), "{other}");
    }
    let renamed = canonical(&text.replace("30", "thirty").replace("40", "7"));
    assert_eq!(renamed.text(), known.text());
    let raised = canonical(&text.replace("60", "61"));
    assert_ne!(raised.signature(), known.signature());
    // The same, with the score itself as the goal: then scores mean something, and counters do not.
    let direct = text.replace("(worth ?s ?v)", "(worth ?s ?w) (same ?s ?v)");
    let direct = format!("{direct} (<= (same ?x ?x) (true (score ?x)))");
    let known = canonical(&direct).signature();
    assert_ne!(canonical(&direct.replace("50", "51")).signature(), known);
    assert_eq!(canonical(&direct.replace("40", "41")).signature(), known);
}

#[test]
fn symbols_that_look_alike_are_named_all_the_same() {
    let ring = |names: [&str; 4]| {
        let [a, b, c, d] = names;
        canonical(&format!(
            "(role r) (edge {a} {b}) (edge {b} {c}) (edge {c} {d}) (edge {d} {a})"
        ))
    };
    let (one, two) = (ring(["a", "b", "c", "d"]), ring(["z", "b", "a", "k"]));
    assert_eq!(one.text(), two.text());
    // Some turn of the ring, but a turn.
    let there = |term: &str| translate(term, &one, &two).unwrap();
    let names = ["a", "b", "c", "d"].map(there);
    let at = ["z", "b", "a", "k"].map(|name| names.iter().position(|other| other == name));
    let at = at.map(|at| at.unwrap());
    assert!((0..4).all(|i| (at[i] + 1) % 4 == at[(i + 1) % 4]), "{at:?}");
}

/// Two triangles and a ring of six: alike to refinement, and yet others.
#[test]
fn what_refinement_cannot_tell_apart_is_told_apart_by_its_text() {
    let edges = |pairs: &[(u32, u32)]| {
        let edges = pairs
            .iter()
            .map(|(a, b)| format!("(edge n{a} n{b}) (edge n{b} n{a}) "));
        format!("(role r) {}", edges.collect::<String>())
    };
    let triangles = canonical(&edges(&[(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]));
    let ring = canonical(&edges(&[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)]));
    assert_eq!(triangles.signature(), ring.signature());
    assert_ne!(triangles.text(), ring.text());
    assert_eq!(translate("n1", &triangles, &ring), None);
}

#[test]
fn a_game_that_takes_more_work_than_there_is_has_a_signature_and_no_names() {
    let rules = rules(RACE);
    assert_eq!(signature(&rules, 30), signature(&rules, 30));
    assert!(identify(&rules, 30).1.is_none());
    let text = canonical(RACE).text().to_string();
    assert!(Canonical::matching(&rules, &text, WORK).is_some());
    assert!(Canonical::matching(&rules, "", WORK).is_none());
    assert!(Canonical::matching(&rules, &text, 30).is_none());
}

#[test]
fn variables_that_look_alike_do_not_hang_on_their_order() {
    let one =
        canonical("(role r) (<= p (e ?a ?b) (e ?b ?c) (e ?c ?a) (e ?x ?y) (e ?y ?z) (e ?z ?x))");
    let two =
        canonical("(role r) (<= p (e ?c ?q) (e ?z ?b) (e ?a ?c) (e ?b ?y) (e ?q ?a) (e ?y ?z))");
    assert_eq!(one.text(), two.text());
}

/// Symbols without end that are all alike, on their own and in pairs: as much work as there can be,
/// and no more.
#[test]
fn symbols_without_end_take_bounded_work() {
    for n_symbols in [30, 300, 3000, 30_000] {
        let mut text = String::from("(role r)");
        for number in 0..n_symbols {
            text.push_str(&format!(" (p a{number}) (q b{number} d{number})"));
        }
        let rules = rules(&text);
        let (known, canonical) = identify(&rules, WORK);
        assert_eq!(known, signature(&rules, WORK));
        assert_eq!(canonical.is_some(), n_symbols < 1000, "{n_symbols}");
    }
}
