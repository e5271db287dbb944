//! The prover on small rulesheets, one feature of the language at a time.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::{Limits, Prover, ProverError, State};
use panza_gdl::{RoleId, TermId};

const ROLE: RoleId = RoleId(0);

fn prover(text: &str) -> Prover {
    try_prover(text, Limits::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn try_prover(text: &str, limits: Limits) -> Result<Prover, ProverError> {
    let (rules, _) = panza_gdl::load(text);
    Prover::with_limits(&rules, limits)
}

fn texts(prover: &Prover, terms: &[TermId]) -> Vec<String> {
    let mut texts: Vec<String> = terms.iter().map(|&term| prover.show(term)).collect();
    texts.sort();
    texts
}

/// All instances of a relation, as `argument argument...`, sorted.
fn instances(prover: &mut Prover, relation: &str, arity: usize) -> Vec<String> {
    let facts = prover.facts_of(relation, arity).unwrap();
    let mut shown: Vec<String> = facts
        .iter()
        .map(|arguments| {
            let arguments: Vec<String> = arguments.iter().map(|&term| prover.show(term)).collect();
            arguments.join(" ")
        })
        .collect();
    shown.sort();
    shown
}

fn state(prover: &mut Prover, facts: &[&str]) -> State {
    let facts: Vec<TermId> = facts
        .iter()
        .map(|fact| prover.read_term(fact).unwrap())
        .collect();
    prover.state_from_facts(&facts)
}

fn legal(prover: &mut Prover, facts: &[&str]) -> Vec<String> {
    let state = state(prover, facts);
    let moves = prover.legal_moves(&state, ROLE).unwrap();
    moves.iter().map(|&mv| prover.show(mv)).collect()
}

/// The facts after a joint move of the one role.
fn next(prover: &mut Prover, facts: &[&str], mv: &str) -> Vec<String> {
    let state = state(prover, facts);
    let mv = prover.read_term(mv).unwrap();
    let next = prover.next_state(&state, &[mv]).unwrap();
    texts(prover, prover.facts(&next))
}

#[test]
fn recursion_runs_through_several_relations() {
    let mut prover = prover(
        "(role r) (edge a b) (edge b c) (edge c d) (edge d b)
         (<= (odd ?x ?y) (edge ?x ?y))
         (<= (odd ?x ?z) (even ?x ?y) (edge ?y ?z))
         (<= (even ?x ?z) (odd ?x ?y) (edge ?y ?z))
         (<= (path ?x ?y) (odd ?x ?y))
         (<= (path ?x ?y) (even ?x ?y))",
    );
    assert_eq!(instances(&mut prover, "path", 2).len(), 12);
    assert_eq!(
        instances(&mut prover, "even", 2),
        [
            "a b", "a c", "a d", "b b", "b c", "b d", "c b", "c c", "c d", "d b", "d c", "d d"
        ]
    );
}

#[test]
fn mutual_recursion_follows_the_state() {
    let mut prover = prover(
        "(role r) (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4)
         (<= (even ?n) (true (start ?n)))
         (<= (odd ?n) (succ ?m ?n) (even ?m) (not (true (wall ?n))))
         (<= (even ?n) (succ ?m ?n) (odd ?m) (not (true (wall ?n))))
         (<= (legal r (go ?n)) (even ?n))",
    );
    assert_eq!(
        legal(&mut prover, &["(start 0)"]),
        ["(go 0)", "(go 2)", "(go 4)"]
    );
    assert_eq!(
        legal(&mut prover, &["(start 0)", "(wall 3)"]),
        ["(go 0)", "(go 2)"]
    );
    assert_eq!(
        legal(&mut prover, &["(start 3)", "(start 1)"]),
        ["(go 1)", "(go 3)"]
    );
    assert_eq!(legal(&mut prover, &[]), Vec::<String>::new());
}

#[test]
fn negation_within_a_relation_is_decided_fact_by_fact() {
    // A position is won when some move leads to a lost one: `won` looks at itself under `not`,
    // never at the same fact. Positions a and b can be repeated for ever and c reaches them only:
    // neither won nor lost.
    let text = "(role r)
         (<= (won ?x) (true (move ?x ?y)) (not (won ?y)))
         (<= (legal r (win ?x)) (won ?x))";
    let mut prover = prover(text);
    let chain = [
        "(move 5 4)",
        "(move 4 3)",
        "(move 3 2)",
        "(move 2 1)",
        "(move 5 2)",
    ];
    assert_eq!(legal(&mut prover, &chain), ["(win 2)", "(win 4)"]);
    let longer = [&chain[..], &["(move 6 5)", "(move 1 0)"]].concat();
    assert_eq!(
        legal(&mut prover, &longer),
        ["(win 1)", "(win 3)", "(win 5)"]
    );
    let circle = [
        "(move a b)",
        "(move b a)",
        "(move c a)",
        "(move d a)",
        "(move d e)",
    ];
    assert_eq!(legal(&mut prover, &circle), ["(win d)"]);
}

#[test]
fn goals_may_be_defined_by_the_absence_of_goals() {
    let mut prover = prover(
        "(role r)
         (<= (goal r 100) (true won))
         (<= (goal r 50) (true drawn) (not (goal r 100)))
         (<= (goal r 0) (not (goal r 100)) (not (goal r 50)))",
    );
    for (facts, expected) in [
        (&["won", "drawn"][..], 100),
        (&["won"][..], 100),
        (&["drawn"][..], 50),
        (&[][..], 0),
    ] {
        let state = state(&mut prover, facts);
        assert_eq!(prover.goal(&state, ROLE), Ok(Some(expected)), "{facts:?}");
    }
}

#[test]
fn functions_are_matched_and_built_at_any_depth() {
    let mut prover = prover(
        "(role r) (succ 1 2) (succ 2 3)
         (<= (legal r (move (to (pos ?x ?y)))) (true (at (pos ?w ?y) ?any)) (succ ?w ?x))
         (<= (next (at (pos ?x ?y) (was (pos ?w ?y))))
             (does r (move (to (pos ?x ?y)))) (true (at (pos ?w ?y) ?any)) (succ ?w ?x))
         (<= (next (seen ?p)) (true (at ?p ?any)))
         (<= (next (seen ?p)) (true (seen ?p)))
         (<= terminal (true (seen (pos ?x ?x))) (true (at (pos ?y ?x) (was (pos ?x ?x)))))",
    );
    assert_eq!(
        legal(&mut prover, &["(at (pos 1 1) start)"]),
        ["(move (to (pos 2 1)))"]
    );
    let after = next(
        &mut prover,
        &["(at (pos 1 1) start)"],
        "(move (to (pos 2 1)))",
    );
    assert_eq!(
        after,
        ["(at (pos 2 1) (was (pos 1 1)))", "(seen (pos 1 1))"]
    );
    let after: Vec<&str> = after.iter().map(String::as_str).collect();
    let end = state(&mut prover, &after);
    assert_eq!(prover.is_terminal(&end), Ok(true));
    let other = state(
        &mut prover,
        &["(at (pos 2 1) (was (pos 1 1)))", "(seen (pos 1 2))"],
    );
    assert_eq!(prover.is_terminal(&other), Ok(false));
}

#[test]
fn a_variable_may_stand_for_a_whole_fact_or_move() {
    let mut prover = prover(
        "(role r) (role s)
         (<= (next ?fact) (true ?fact) (not (removed ?fact)))
         (<= (removed ?fact) (does ?who (drop ?fact)))
         (<= (next (did ?who ?what)) (does ?who ?what))
         (<= (legal r (drop ?fact)) (true ?fact))
         (<= (legal s ?what) (legal r ?what))
         (<= (option ?what) (legal ?who ?what))
         (<= terminal (not (option (drop (f 1)))))",
    );
    let start = state(&mut prover, &["(f 1)", "g", "(h (f 1))"]);
    let moves = prover.legal_moves(&start, RoleId(1)).unwrap();
    assert_eq!(
        texts(&prover, &moves),
        ["(drop (f 1))", "(drop (h (f 1)))", "(drop g)"]
    );
    let joint = ["(drop (f 1))", "(drop g)"].map(|text| prover.read_term(text).unwrap());
    let after = prover.next_state(&start, &joint).unwrap();
    assert_eq!(
        texts(&prover, prover.facts(&after)),
        ["(did r (drop (f 1)))", "(did s (drop g))", "(h (f 1))"]
    );
    assert_eq!(prover.is_terminal(&start), Ok(false));
    assert_eq!(prover.is_terminal(&after), Ok(true));
}

#[test]
fn a_relation_without_arguments_may_have_parentheses() {
    let mut prover = prover(
        "(role r)
         (<= open (true (cell b)))
         (<= (legal r both) open (open))
         (<= (legal r neither) (not open) (not (open)))
         (<= (terminal) (not (open)))",
    );
    assert_eq!(legal(&mut prover, &["(cell b)"]), ["both"]);
    assert_eq!(legal(&mut prover, &["(cell x)"]), ["neither"]);
    let over = state(&mut prover, &[]);
    assert_eq!(prover.is_terminal(&over), Ok(true));
    assert_eq!(prover.read_term("(cell)"), prover.read_term("cell"));
}

#[test]
fn conditions_may_stand_before_what_binds_their_variables() {
    let mut prover = prover(
        "(role r)
         (<= (legal r (swap ?x ?y))
             (not (true (fixed ?x))) (distinct ?x ?y) (not (distinct ?z ?y))
             (true (item ?x)) (true (item ?z)))",
    );
    assert_eq!(
        legal(&mut prover, &["(item a)", "(item b)", "(fixed b)"]),
        ["(swap a b)"]
    );
}

#[test]
fn alternatives_may_compare_terms() {
    let mut prover = prover(
        "(role r)
         (<= (next (cell ?x ?y))
             (true (cell ?x ?y)) (does r (take ?i ?j)) (or (distinct ?x ?i) (distinct ?y ?j)))
         (<= (legal r (take ?x ?y)) (true (cell ?x ?y)) (or (true (cell ?y ?x)) (distinct ?x ?y)))",
    );
    let cells = ["(cell 1 1)", "(cell 1 2)", "(cell 2 1)", "(cell 2 2)"];
    assert_eq!(
        next(&mut prover, &cells, "(take 1 2)"),
        ["(cell 1 1)", "(cell 2 1)", "(cell 2 2)"]
    );
    assert_eq!(
        legal(&mut prover, &["(cell 1 1)", "(cell 1 2)"]),
        ["(take 1 1)", "(take 1 2)"]
    );
}

#[test]
fn unbound_variables_are_accepted() {
    let mut prover = prover(
        "(role a) (role b) (listed a)
         (<= (goal ?p 100) (listed ?p))
         (<= (goal ?p 0) (not (listed ?p)))
         (<= (legal ?p wait))
         (<= (alone ?x) (true (item ?x)) (not (true (next_to ?x ?anything))))
         (<= (legal a (take ?x)) (alone ?x))
         (<= (pair ?x ?y) (true (item ?x)))",
    );
    let empty = prover.state_from_facts(&[]);
    assert_eq!(prover.goal(&empty, RoleId(0)), Ok(Some(100)));
    assert_eq!(prover.goal(&empty, RoleId(1)), Ok(Some(0)));
    assert_eq!(
        legal(&mut prover, &["(item x)", "(item y)", "(next_to x z)"]),
        ["(take y)", "wait"]
    );
    assert_eq!(instances(&mut prover, "pair", 2), Vec::<String>::new());
}

#[test]
fn a_caller_may_bind_what_the_rule_leaves_open() {
    // Found in older rulesheets: only the call says which cells are compared.
    let mut prover = prover(
        "(role r)
         (<= (different ?x ?y ?m ?n) (distinct ?x ?m))
         (<= (different ?x ?y ?m ?n) (distinct ?y ?n))
         (<= (next (cell ?x ?y)) (true (cell ?x ?y)) (does r (take ?m ?n)) (different ?x ?y ?m ?n))
         (<= (next taken) (true (cell ?x ?y)) (does r (take ?m ?n)) (not (different ?x ?y ?m ?n)))",
    );
    let cells = ["(cell 1 1)", "(cell 1 2)"];
    assert_eq!(
        next(&mut prover, &cells, "(take 1 2)"),
        ["(cell 1 1)", "taken"]
    );
    assert_eq!(
        next(&mut prover, &cells, "(take 2 2)"),
        ["(cell 1 1)", "(cell 1 2)"]
    );
}

#[test]
fn a_relation_without_end_is_answered_call_by_call() {
    let mut prover = prover(
        "(role r) (number zero)
         (<= (number (s ?n)) (number ?n))
         (<= (sum zero ?n ?n) (number ?n))
         (<= (sum (s ?m) ?n (s ?k)) (sum ?m ?n ?k))
         (<= (legal r (add ?k)) (true (count ?m)) (sum ?m (s (s zero)) ?k))
         (<= (next (count ?k)) (does r (add ?k)))
         (<= terminal (true (count ?n)) (number ?n) (sum (s (s zero)) (s (s zero)) ?n))",
    );
    assert_eq!(
        legal(&mut prover, &["(count (s zero))"]),
        ["(add (s (s (s zero))))"]
    );
    for (count, expected) in [("(s (s (s (s zero))))", true), ("(s zero)", false)] {
        let state = state(&mut prover, &[&format!("(count {count})")]);
        assert_eq!(prover.is_terminal(&state), Ok(expected), "{count}");
    }
}

#[test]
fn a_relation_too_large_to_list_is_answered_call_by_call() {
    let digits: String = (0..10).map(|digit| format!("(digit {digit}) ")).collect();
    let text = format!(
        "(role r) {digits}
         (<= (differ ?a ?b ?c ?d ?e ?f ?g)
             (digit ?a) (digit ?b) (digit ?c) (digit ?d) (digit ?e) (digit ?f) (digit ?g)
             (distinct ?a ?b))
         (<= (legal r (keep ?a ?b)) (true (row ?a ?b ?c)) (differ ?a ?b ?c ?c ?c ?c ?c))"
    );
    let mut prover = prover(&text);
    assert_eq!(
        legal(
            &mut prover,
            &["(row 1 2 3)", "(row 4 4 4)", "(row 1 2 x)", "(row 7 6 5)"]
        ),
        ["(keep 1 2)", "(keep 7 6)"]
    );
}

#[test]
fn evaluation_without_end_is_an_error() {
    let mut prover = prover(
        "(role r) (number zero)
         (<= (number (s ?n)) (number ?n))
         (<= terminal (number ?n) (true (last ?n)) (true (impossible ?n)))
         (<= (legal r wait) (true (last ?n)))
         (<= (goal r 100) (number ?n) (not (number ?n)))",
    );
    let start = state(&mut prover, &["(last x)"]);
    assert_eq!(prover.is_terminal(&start), Ok(false));
    let error = prover.goal_values(&start, ROLE).unwrap_err();
    assert_eq!(
        error,
        ProverError::TooDeep {
            limit: 500,
            relation: "number/1".into()
        }
    );
    // One question without an answer is no harm to the others.
    assert_eq!(legal(&mut prover, &["(last x)"]), ["wait"]);
}

#[test]
fn a_term_whose_text_doubles_is_refused_each_time() {
    let mut prover = prover(
        "(role r) (legal r wait) (<= (next (t (g ?x ?x))) (true (t ?x))) (<= terminal (true (t q)))",
    );
    let mut state = state(&mut prover, &["(t z)"]);
    let wait = prover.read_term("wait").unwrap();
    for _ in 0..15 {
        state = prover.next_state(&state, &[wait]).unwrap();
    }
    for _ in 0..2 {
        let error = prover.next_state(&state, &[wait]).unwrap_err();
        let expected = ProverError::TooDeep {
            limit: 500,
            relation: "t/1".into(),
        };
        assert_eq!(error, expected);
    }
}

#[test]
fn what_rules_leave_open_is_bound_by_the_call() {
    let mut prover = prover(
        "(role r) (n 1) (n 2) (edge 1 2) (any ?x)
         (<= (other ?x ?y) (distinct ?x ?y))
         (<= (either ?y ?x) (any ?y) (other ?x ?y))
         (path ?x ?x) (<= (path ?x ?z) (edge ?x ?y) (path ?y ?z))
         (<= (legal r (m ?x ?y)) (n ?x) (other ?x ?y) (n ?y))
         (<= (legal r (e ?x ?y)) (n ?x) (n ?y) (either ?x ?y))
         (<= (legal r (p ?x ?y)) (n ?x) (path ?x ?y))
         (<= (legal r (q ?x ?y)) (n ?x) (n ?y) (not (path ?x ?y)))",
    );
    assert_eq!(
        legal(&mut prover, &[]),
        [
            "(e 1 2)", "(e 2 1)", "(m 1 2)", "(m 2 1)", "(p 1 1)", "(p 1 2)", "(p 2 2)", "(q 2 1)"
        ]
    );
}

#[test]
fn a_large_state_is_evaluated_beside_an_endless_query() {
    let digits: String = (0..68).map(|digit| format!("(digit {digit}) ")).collect();
    let mut prover = prover(&format!(
        "(role r) {digits} (number zero)
         (<= (number (s ?n)) (number ?n))
         (<= (goal r 100) (number ?n) (not (number ?n)))
         (<= (next (cell ?a ?b ?c)) (does r fill) (digit ?a) (digit ?b) (digit ?c))"
    ));
    let start = prover.initial_state();
    let fill = prover.read_term("fill").unwrap();
    let full = prover.next_state(&start, &[fill]).unwrap();
    assert_eq!(prover.facts(&full).len(), 68 * 68 * 68);
    assert!(prover.goal(&full, ROLE).is_err());
}

#[test]
fn a_prover_that_is_stopped_answers_no_more() {
    let digits: String = (0..30).map(|digit| format!("(digit {digit}) ")).collect();
    let text = format!(
        "(role r) {digits} (init go)
         (<= (legal r (pick ?a ?b ?c)) (true go) (digit ?a) (digit ?b) (digit ?c))"
    );
    let (rules, _) = panza_gdl::load(&text);
    let limits = Limits::default();
    let stop = Arc::clone(&limits.stop);
    let mut prover = Prover::untuned(&rules, limits.clone()).unwrap();
    let start = prover.initial_state();
    stop.store(true, Ordering::Relaxed);
    let ended = prover.legal_moves(&start, ROLE);
    assert_eq!(ended.map(|moves| moves.len()), Err(ProverError::Stopped));
    let ended = Prover::with_limits(&rules, limits);
    assert_eq!(ended.err(), Some(ProverError::Stopped));
}

#[test]
fn limits_are_kept() {
    let digits: String = (0..30).map(|digit| format!("(digit {digit}) ")).collect();
    let text = format!(
        "(role r) {digits}
         (<= (legal r (pick ?a ?b ?c)) (true go) (digit ?a) (digit ?b) (digit ?c))
         (<= terminal (digit ?a) (digit ?b) (digit ?c) (true (never ?a ?b ?c)) (true (sum ?a ?b)))"
    );
    let limits = Limits {
        facts: 1000,
        ..Limits::default()
    };
    let mut few_facts = try_prover(&text, limits).unwrap();
    let go = state(&mut few_facts, &["go"]);
    assert_eq!(
        few_facts.legal_moves(&go, ROLE),
        Err(ProverError::TooManyFacts {
            limit: 1000,
            relation: "legal/2".into()
        })
    );
    let stop = few_facts.state_from_facts(&[]);
    assert_eq!(few_facts.legal_moves(&stop, ROLE), Ok(Vec::new()));

    let limits = Limits {
        terms: 500,
        ..Limits::default()
    };
    let mut few_terms = try_prover(&text, limits).unwrap();
    let go = state(&mut few_terms, &["go"]);
    assert_eq!(
        few_terms.legal_moves(&go, ROLE),
        Err(ProverError::TooManyTerms { limit: 500 })
    );
    assert_eq!(few_terms.read_term("(brand new)"), None);
    assert!(few_terms.read_term("(29)").is_some());

    let limits = Limits {
        work: 1000,
        ..Limits::default()
    };
    let mut little_work = try_prover(&text, limits).unwrap();
    let go = state(&mut little_work, &["go"]);
    assert_eq!(
        little_work.legal_moves(&go, ROLE),
        Err(ProverError::TooMuchWork {
            limit: 1000,
            relation: "legal/2".into()
        })
    );
}

#[test]
fn faulty_requests_are_errors() {
    assert_eq!(
        try_prover("(init a) terminal", Limits::default()).err(),
        Some(ProverError::NoRoles)
    );
    let long = format!(
        "(role r) (<= terminal {})",
        "(true (f ?x))".repeat(2) + &"(p ?x ?y) ".repeat(3)
    );
    assert!(try_prover(&long, Limits::default()).is_ok());
    let many: String = (0..401)
        .map(|number| format!("(true (f{number} ?x)) "))
        .collect();
    assert_eq!(
        try_prover(
            &format!("(role r) (<= (legal r ?x) {many})"),
            Limits::default()
        )
        .err(),
        Some(ProverError::RuleTooLong {
            relation: "legal/2".into(),
            found: 401,
            limit: 400
        })
    );
    let mut prover = prover("(role r) (legal r wait)");
    let start = prover.initial_state();
    assert_eq!(
        prover.next_state(&start, &[]),
        Err(ProverError::WrongJointMove {
            found: 0,
            expected: 1
        })
    );
    assert_eq!(
        prover.legal_moves(&start, RoleId(1)),
        Err(ProverError::NoSuchRole {
            role: 1,
            n_roles: 1
        })
    );
    let strange = prover.state_from_facts(&[TermId(u32::MAX)]);
    assert!(matches!(
        prover.is_terminal(&strange),
        Err(ProverError::NoSuchTerm { .. })
    ));
    assert!(matches!(
        prover.next_state(&start, &[TermId(u32::MAX)]),
        Err(ProverError::NoSuchTerm { .. })
    ));
    for text in ["", "a b", "(a ?x)", "(a", "()"] {
        assert_eq!(prover.read_term(text), None, "{text:?}");
    }
}

#[test]
fn states_are_values() {
    let mut prover = prover(
        "(role r) (init (at 1)) (init go) (succ 1 2) (succ 2 1)
         (<= (legal r step) (true go)) (<= (next (at ?n)) (true (at ?m)) (does r step) (succ ?m ?n))
         (<= (next go) (true go))",
    );
    let start = prover.initial_state();
    let step = prover.read_term("step").unwrap();
    let second = prover.next_state(&start, &[step]).unwrap();
    let third = prover.next_state(&second, &[step]).unwrap();
    assert_ne!(start, second);
    assert_eq!(start, third);
    let go = prover.read_term("go").unwrap();
    let at = prover.read_term("(at 1)").unwrap();
    assert_eq!(prover.state_from_facts(&[at, go, at]), start);
    assert_eq!(prover.state_from_facts(&[go, at]), start);
    let seen = std::collections::HashSet::from([start.clone(), second, third]);
    assert_eq!(seen.len(), 2);
    assert_eq!(texts(&prover, prover.facts(&start)), ["(at 1)", "go"]);
}

#[test]
fn moves_come_once_and_in_the_order_of_their_text() {
    let mut prover = prover(
        "(role r)
         (<= (legal r ?x) (true (a ?x))) (<= (legal r ?x) (true (b ?x)))",
    );
    assert_eq!(
        legal(
            &mut prover,
            &[
                "(a z)",
                "(a 10)",
                "(b 9)",
                "(a (f 2))",
                "(b z)",
                "(b (f 10))"
            ]
        ),
        ["(f 10)", "(f 2)", "10", "9", "z"]
    );
    assert_eq!(
        legal(&mut prover, &["(a y)", "(b Z)", "(a z)"]),
        ["Z", "y", "z"]
    );
}

#[test]
fn a_goal_is_the_highest_integer_up_to_100() {
    let mut prover = prover("(role r) (<= (goal r ?v) (true (worth ?v)))");
    for (values, expected) in [
        (&["(worth 70)"][..], Some(70)),
        (&["(worth 0)"][..], Some(0)),
        (&["(worth 100)"][..], Some(100)),
        (&["(worth 101)"][..], None),
        (&["(worth -1)"][..], None),
        (&["(worth much)"][..], None),
        (&["(worth (f 5))"][..], None),
        (&[][..], None),
        (&["(worth 70)", "(worth 30)", "(worth 101)"][..], Some(70)),
    ] {
        let state = state(&mut prover, values);
        assert_eq!(prover.goal(&state, ROLE), Ok(expected), "{values:?}");
        assert_eq!(
            prover.goal_values(&state, ROLE).unwrap().len(),
            values.len()
        );
    }
}

#[test]
fn queries_of_a_state_ignore_moves() {
    let mut prover = prover(
        "(role r) (legal r hit) (legal r wait)
         (<= hit_made (does r hit))
         (<= terminal hit_made)
         (<= (goal r 100) hit_made) (<= (goal r 0) (not hit_made))
         (<= (next over) hit_made) (<= (next waiting) (not hit_made))",
    );
    let start = prover.initial_state();
    let hit = prover.read_term("hit").unwrap();
    let wait = prover.read_term("wait").unwrap();
    for _ in 0..2 {
        let after = prover.next_state(&start, &[hit]).unwrap();
        assert_eq!(texts(&prover, prover.facts(&after)), ["over"]);
        assert_eq!(prover.is_terminal(&start), Ok(false));
        assert_eq!(prover.goal(&start, ROLE), Ok(Some(0)));
        let after = prover.next_state(&start, &[wait]).unwrap();
        assert_eq!(texts(&prover, prover.facts(&after)), ["waiting"]);
    }
}

#[test]
fn true_and_does_cannot_be_derived() {
    let mut prover = prover(
        "(role r) (true (lamp on)) (<= (does r cheat) (role r)) (init (lamp off))
         (<= (legal r (see ?x)) (true (lamp ?x))) (<= (next ?m) (does r ?m))",
    );
    assert_eq!(legal(&mut prover, &["(lamp off)"]), ["(see off)"]);
    assert_eq!(next(&mut prover, &[], "fair"), ["fair"]);
}

#[test]
fn base_and_input_are_ordinary_relations() {
    let mut prover = prover(
        "(role r) (index 1) (index 2)
         (<= (base (cell ?x ?y)) (index ?x) (index ?y))
         (<= (input ?r (mark ?x)) (index ?x))",
    );
    assert_eq!(
        instances(&mut prover, "base", 1),
        ["(cell 1 1)", "(cell 1 2)", "(cell 2 1)", "(cell 2 2)"]
    );
    assert_eq!(
        instances(&mut prover, "input", 2),
        ["r (mark 1)", "r (mark 2)"]
    );
    assert_eq!(instances(&mut prover, "index", 2), Vec::<String>::new());
    assert_eq!(
        instances(&mut prover, "unheard_of", 1),
        Vec::<String>::new()
    );
}

#[test]
fn a_prover_can_move_to_another_thread() {
    let mut prover = prover("(role r) (legal r wait)");
    let moves = std::thread::spawn(move || {
        let start = prover.initial_state();
        prover.legal_moves(&start, ROLE).map(|moves| moves.len())
    });
    assert_eq!(moves.join().unwrap(), Ok(1));
}

/// The first legal move.
fn first_legal(prover: &mut Prover, facts: &[&str]) -> Option<String> {
    let state = state(prover, facts);
    let first = prover.first_legal(&state, ROLE).unwrap();
    first.map(|mv| prover.show(mv))
}

#[test]
fn a_first_legal_move_needs_no_other() {
    let limits = Limits {
        facts: 2000,
        ..Limits::default()
    };
    // Some 10^6 moves, by a recursion through the state.
    let digits: String = (0..100).map(|digit| format!("(d v{digit})")).collect();
    let text = format!(
        "(role r) {digits} (<= (free ?x) (d ?x) (not (true (taken ?x))))
         (<= (reach ?x ?y) (free ?x) (free ?y)) (<= (reach ?x ?z) (reach ?x ?y) (reach ?y ?z))
         (<= (legal r (go ?x ?y ?z)) (reach ?x ?y) (reach ?y ?z) (distinct ?x ?z))"
    );
    let mut prover = try_prover(&text, limits).unwrap();
    let initial = state(&mut prover, &["(taken v0)"]);
    assert!(prover.legal_moves(&initial, ROLE).is_err());
    let first = prover.first_legal(&initial, ROLE).unwrap().unwrap();
    assert_eq!(prover.is_legal(&initial, ROLE, first), Ok(true));
    let other = prover.read_term("(go v1 v2 v1)").unwrap();
    assert_eq!(prover.is_legal(&initial, ROLE, other), Ok(false));
}

#[test]
fn a_move_without_conditions_is_found_where_nothing_else_is() {
    let limits = Limits {
        facts: 50,
        ..Limits::default()
    };
    let mut prover = try_prover(
        "(role r) (role s) (legal r go) (<= (p (f ?x)) (p ?x)) (<= (p z) (true on))
         (<= (legal r (take ?x)) (p ?x)) (<= (legal s ?x) (true (may ?x)) (not (p ?x)))",
        limits,
    )
    .unwrap();
    let on = state(&mut prover, &["on", "(may z)"]);
    assert!(prover.legal_moves(&on, ROLE).is_err());
    assert_eq!(first_legal(&mut prover, &["on"]).as_deref(), Some("go"));
    let go = prover.read_term("go");
    assert_eq!(prover.unconditional_move(ROLE).unwrap(), go);
    assert_eq!(prover.unconditional_move(RoleId(1)), Ok(None));
}

#[test]
fn a_first_legal_move_follows_recursion_and_negation() {
    let mut prover = prover(
        "(role r) (edge a b) (edge b c) (edge c a) (edge c d) (cell a) (cell b) (cell c) (cell d)
         (<= (path ?x ?y) (path ?x ?z) (edge ?z ?y)) (<= (path ?x ?y) (edge ?x ?y))
         (<= (blocked ?x) (path ?x ?y) (true (at ?y)))
         (<= (legal r (go ?x)) (cell ?x) (not (blocked ?x)) (not (true (at ?x))))
         (<= (legal r (back ?x)) (path ?x ?x) (true (at ?x)) (not (open ?x)))
         (<= (win ?x) (true (step ?x ?y)) (not (win ?y))) (<= (open ?x) (win ?x))",
    );
    for facts in [
        &["(at d)"][..],
        &["(at a)"],
        &["(at a)", "(step a b)"],
        &["(at a)", "(step a b)", "(step b a)"],
        &[],
    ] {
        let all = legal(&mut prover, facts);
        let first = first_legal(&mut prover, facts);
        assert_eq!(first.is_some(), !all.is_empty(), "{facts:?}");
        assert!(
            first.iter().all(|first| all.contains(first)),
            "{first:?} of {all:?}"
        );
        for mv in ["(go a)", "(go d)", "(back a)", "(back b)"] {
            let (state, term) = (state(&mut prover, facts), prover.read_term(mv).unwrap());
            let is_legal = prover.is_legal(&state, ROLE, term).unwrap();
            assert_eq!(is_legal, all.iter().any(|own| own == mv), "{mv}, {facts:?}");
        }
    }
}
