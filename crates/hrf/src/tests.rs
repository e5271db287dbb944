mod parser_limits;

use super::names::{NOOP, term_from_kif, term_to_kif};
use super::*;
use panza_gdl::span::line_and_column;
use panza_gdl::{Diagnostic, Id, RoleId, TermId, sexpr};
use panza_prover::{Prover, State};

/// What every sheet below has.
const HEAD: &str = "role(a) role(b) init(control(a)) goal(a,1) goal(b,2) terminal :- over\n";

/// A game on the prover, with terms as the dialect prints them.
struct Game {
    prover: Prover,
    state: State,
}

impl Game {
    fn new(text: &str) -> Self {
        let (rules, faults) = load(text);
        let is_error = |fault: &&Diagnostic| fault.severity == panza_gdl::Severity::Error;
        let errors: Vec<&Diagnostic> = faults.iter().filter(is_error).collect();
        assert!(errors.is_empty(), "{errors:?}");
        let prover = Prover::new(&rules).expect("the prover takes the rules");
        let state = prover.initial_state();
        Self { prover, state }
    }

    fn shown(&self, terms: &[TermId]) -> Vec<String> {
        let shown = |&term: &TermId| {
            let text = self.prover.show(term);
            let read = &sexpr::parse(&text).0[0];
            term_from_kif(read).unwrap_or(text)
        };
        let mut shown: Vec<String> = terms.iter().map(shown).collect();
        shown.sort();
        shown
    }

    fn facts(&self) -> Vec<String> {
        self.shown(self.prover.facts(&self.state))
    }

    fn legal(&mut self, role: usize) -> Vec<String> {
        let role = RoleId::from_index(role);
        let moves = self.prover.legal_moves(&self.state, role);
        self.shown(&moves.expect("moves can be proven"))
    }

    fn reward(&mut self, role: usize) -> Option<u8> {
        let role = RoleId::from_index(role);
        self.prover
            .goal(&self.state, role)
            .expect("goals can be proven")
    }

    fn is_over(&mut self) -> bool {
        let is_over = self.prover.is_terminal(&self.state);
        is_over.expect("terminality can be proven")
    }

    /// Makes a move of a role; the others wait.
    fn play(&mut self, role: usize, mv: &str) {
        let mv = term_to_kif(mv).expect("a move").to_string();
        let n_roles = self.prover.roles().len();
        let texts = (0..n_roles).map(|other| if other == role { mv.as_str() } else { NOOP });
        let moves: Vec<TermId> = texts.flat_map(|text| self.prover.read_term(text)).collect();
        let next = self.prover.next_state(&self.state, &moves);
        self.state = next.expect("the next state can be proven");
    }
}

#[test]
fn a_role_is_a_fact_without_variables() {
    let roles = |text: &str| {
        let faults = load(&HEAD.replace("role(a) role(b)", text)).1;
        let faults = faults.into_iter().filter(|it| it.code == "role-by-rule");
        faults.map(|it| it.message).collect::<Vec<_>>()
    };
    assert_eq!(roles("role(a) role(b)"), [""; 0]);
    let found = roles("role(a) role(Red)");
    assert!(found[0].contains("what begins with a capital is a variable"));
    assert_eq!(found.len(), 1);
    assert_eq!(roles("role(a) role(X) :- side(X)\nside(b)").len(), 1);
}

/// Codes and places of what is wrong with a sheet.
fn faults(text: &str) -> Vec<(&'static str, usize, usize)> {
    let place = |fault: Diagnostic| {
        let (line, column) = line_and_column(text, fault.span.start);
        (fault.code, line, column)
    };
    load(text).1.into_iter().map(place).collect()
}

#[test]
fn facts_stay_and_adding_beats_deleting() {
    let mut game = Game::new(&format!(
        "{HEAD} init(p(1)) init(p(2)) init(q) legal(go)
         go :: p(1) ==> ~p(1) & p(3)
         go :: ~q & q
         go :: p(3) ==> ~p(2)"
    ));
    game.play(0, "go");
    // The third operation is tested in the state before the move.
    assert_eq!(game.facts(), ["control(a)", "p(2)", "p(3)", "q"]);
    game.play(0, "go");
    assert_eq!(game.facts(), ["control(a)", "p(3)", "q"]);
}

#[test]
fn the_role_in_control_moves_and_the_others_wait() {
    let mut game = Game::new(&format!(
        "{HEAD} legal(noop) legal(pass)
         pass :: control(a) ==> ~control(a) & control(b)
         noop :: control(X) ==> seen(X)"
    ));
    assert_eq!(game.legal(0), ["noop", "pass"]);
    assert_eq!(game.legal(1), [NOOP]);
    game.play(0, "noop");
    assert_eq!(game.facts(), ["control(a)", "seen(a)"]);
    game.play(0, "pass");
    assert_eq!(game.legal(0), [NOOP]);
    game.play(1, "noop");
    assert_eq!(game.facts(), ["control(b)", "seen(a)", "seen(b)"]);
}

#[test]
fn control_may_be_a_relation_of_the_sheet() {
    let mut game = Game::new(
        "role(a) role(b) init(n(1)) control(a) :- n(1) control(b) :- n(2) legal(go) \
         go :: n(1) ==> ~n(1) & n(2) goal(a,0) goal(b,0) terminal :- n(3)",
    );
    assert_eq!(
        (game.legal(0), game.legal(1)),
        (vec!["go".into()], vec![NOOP.into()])
    );
    game.play(0, "go");
    assert_eq!(
        (game.legal(0), game.legal(1)),
        (vec![NOOP.into()], vec!["go".into()])
    );
}

#[test]
fn effects_take_further_actions_in_the_old_state() {
    let mut game = Game::new(&format!(
        "{HEAD} init(n(1)) succ(1,2) succ(2,3) legal(go(x)) legal(tick)
         go(X) :: mark(X) & tick & other(X)
         mark(X) :: n(N) ==> at(X,N)
         other(y) :: never
         tick :: n(M) & succ(M,N) ==> ~n(M) & n(N)"
    ));
    game.play(0, "go(x)");
    // `other(x)` has no operation, so it becomes a fact.
    assert_eq!(game.facts(), ["at(x,1)", "control(a)", "n(2)", "other(x)"]);
    game.play(0, "tick");
    assert_eq!(game.facts(), ["at(x,1)", "control(a)", "n(3)", "other(x)"]);
}

#[test]
fn a_move_without_an_operation_becomes_a_fact() {
    let mut game = Game::new(&format!(
        "{HEAD} legal(M) :- move(M) move(put(1)) move(put(2))"
    ));
    game.play(0, "put(2)");
    assert_eq!(game.facts(), ["control(a)", "put(2)"]);
}

#[test]
fn a_name_with_a_sentence_is_looked_up_in_the_sheet_alone() {
    let mut game = Game::new(&format!(
        "{HEAD} init(p(1)) init(q(1)) p(2,3) legal(x(N)) :- p(N) legal(y(N)) :- q(N)"
    ));
    assert_eq!(game.legal(0), ["y(1)"]);
}

#[test]
fn callers_bind_what_a_rule_leaves_open() {
    let mut game = Game::new(
        "role(a) role(b) init(control(a)) init(n(7)) init(lost(b)) legal(go)
         goal(R,N) :- ~lost(R) & n(N)
         goal(R,0) :- lost(R)
         terminal :- safe(c) & ~safe(b) & ~nobody(X)
         safe(X) :- ~lost(X)
         nobody(X) :- ~lost(X)",
    );
    assert_eq!((game.reward(0), game.reward(1)), (Some(7), Some(0)));
    // Without a value `~lost(X)` says that nobody has lost.
    assert!(game.is_over());
}

#[test]
fn a_variable_gets_its_values_from_the_argument_that_is_bound() {
    let mut game = Game::new(&format!(
        "{HEAD} legal(go(1,2)) legal(at(3,4)) go(X,Y) :: step(go(X,Y))
         step(M) :: part(X,M) ==> p(X)
         part(X,go(X,Y)) :- control(a)
         part(Y,go(X,Y)) :- control(b)"
    ));
    game.play(0, "go(1,2)");
    assert_eq!(game.facts(), ["control(a)", "p(1)"]);
}

#[test]
fn conditions_of_a_caller_do_not_wait_for_values_of_each_other() {
    // Of a move `full` knows only what its caller gives; so do both conditions of its rule, and
    // `moved` gets a value after `picked` asks for it.
    let mut game = Game::new(&format!(
        "{HEAD} init(at(row,1)) legal(go(row,1)) legal(go(column,2)) go(W,X) :: step(go(W,X))
         step(M) :: full(M) ==> done
         step(M) :: late(M) ==> moved
         full(M) :- picked(row,X,M) & named(column,M)
         late(M) :- named(column,M) & picked(column,X,M) & same_move(M)
         same_move(go(W,X)) :- picked(W,X,go(W,X))
         named(W,M) :- picked(W,X,M)
         picked(W,X,M) :- at(W,X)
         picked(W,X,go(W,X)) :- control(a)"
    ));
    game.play(0, "go(row,1)");
    assert_eq!(game.facts(), ["at(row,1)", "control(a)"]);
    game.play(0, "go(column,2)");
    assert_eq!(game.facts(), ["at(row,1)", "control(a)", "done", "moved"]);
}

#[test]
fn a_negation_before_its_variable_is_about_any_value() {
    let mut game = Game::new(&format!(
        "{HEAD} init(p(1)) init(p(2)) init(q(2)) r(5)
         legal(x(N)) :- p(N) & ~q(N)
         legal(y(N)) :- ~q(N) & p(N)
         legal(z(N)) :- ~s(N) & p(N)
         legal(w) :- ~(p(X) & q(X))
         legal(v) :- ~(p(X) & r(X))"
    ));
    assert_eq!(game.legal(0), ["v", "x(1)", "z(1)", "z(2)"]);
}

#[test]
fn built_in_relations_are_evaluated() {
    let mut game = Game::new(&format!(
        "{HEAD} init(n(1)) init(n(3)) init(p(f(1,2))) init(word)
         legal(sum(R)) :- n(X) & plus(X,X,1,R)
         legal(less(X,Y)) :- n(X) & n(Y) & less(X,Y)
         legal(leq(X)) :- n(X) & leq(X,1)
         legal(same(X)) :- same(p(f(X,Y)),p(f(1,2))) & n(X) & p(f(X,Y))
         legal(not(X)) :- n(X) & distinct(X,1) & not(n(2))
         legal(rest(R)) :- n(X) & remainder(X,2,R) & true
         legal(times(R)) :- n(X) & minus(X,4,Y) & times(X,Y,R)
         legal(or(X)) :- n(X) & (same(X,1) | same(X,2))
         legal(unbound) :- distinct(X,1) & n(X)
         legal(nan) :- n(X) & plus(X,a,R)"
    ));
    assert_eq!(
        game.legal(0),
        [
            "leq(1)",
            "less(1,3)",
            "not(3)",
            "or(1)",
            "rest(1)",
            "same(1)",
            "sum(3)",
            "sum(7)",
            "times(-3)",
        ]
    );
}

#[test]
fn nested_functions_and_written_lists_are_evaluated() {
    let mut game = Game::new(&format!(
        "{HEAD} init(n(2)) init(n(5)) init(word) init(p(c,d))
         legal(value(Y)) :- n(X) & evaluate(plus(times(X,X),1,X),Y)
         legal(is(X)) :- n(X) & evaluate(minus(X,1),1)
         legal(member(X)) :- member(X,[a,2,f(b),a])
         legal(both(X)) :- n(X) & member(X,[1,2,3])
         legal(none(X)) :- n(X) & ~member(X,[1,2,3])
         legal(pair(X,Y)) :- p(X,Z) & member(Y,[X,Z])
         legal(empty) :- member(a,[])
         legal(nan) :- n(X) & evaluate(plus(X,quotient(1,0)),Y)"
    ));
    assert_eq!(
        game.legal(0),
        [
            "both(2)",
            "is(2)",
            "member(2)",
            "member(a)",
            "member(f(b))",
            "none(5)",
            "pair(c,c)",
            "pair(c,d)",
            "value(31)",
            "value(7)",
        ]
    );
}

#[test]
fn instances_are_counted_for_what_is_bound() {
    let mut game = Game::new(
        "role(a) role(b) role(c) init(control(a)) legal(take(1)) legal(take(2)) legal(take(3))
         take(X) :: control(R) ==> own(X,R) & ~own(X,b)
         init(own(4,b)) init(own(1,b)) goal(R,N) :- ~none & owned(R,N)
         owned(R,N) :- countofall(f(X),own(X,R),N)
         total(N) :- countofall(X,own(X,R),N) terminal :- total(4)",
    );
    assert_eq!(
        [0, 1, 2].map(|role| game.reward(role)),
        [Some(0), Some(2), Some(0)]
    );
    game.play(0, "take(1)");
    assert_eq!(
        [0, 1, 2].map(|role| game.reward(role)),
        [Some(1), Some(1), Some(0)]
    );
    game.play(0, "take(2)");
    assert!(!game.is_over());
    game.play(0, "take(3)");
    assert!(game.is_over());
}

#[test]
fn counting_without_end_is_cut_and_said() {
    let text = format!(
        "{HEAD} init(n(0)) legal(go)
         go :: n(X) & plus(X,1,Y) ==> ~n(X) & n(Y)"
    );
    let codes: Vec<&str> = load(&text).1.iter().map(|fault| fault.code).collect();
    assert!(codes.contains(&"unbounded-numbers"), "{codes:?}");
    let mut game = Game::new(&text);
    for _ in 0..120 {
        game.play(0, "go");
    }
    assert_eq!(game.facts(), ["control(a)", "n(120)"]);
}

#[test]
fn names_that_kif_takes_otherwise_are_kept_apart() {
    let mut game = Game::new(
        "role(random) role(b) init(control(random)) init(next(1)) init(tRue) legal(does(X)) :- next(X)
         goal(random,X) :- input(X) goal(b,X) :- base(X) input(3) base(4) does(X) :: true(X)
         terminal :- over",
    );
    assert_eq!(game.facts(), ["control(random)", "next(1)", "tRue"]);
    assert_eq!(game.legal(0), ["does(1)"]);
    assert_eq!((game.reward(0), game.reward(1)), (Some(3), Some(4)));
    game.play(0, "does(1)");
    assert_eq!(
        game.facts(),
        ["control(random)", "next(1)", "tRue", "true(1)"]
    );
}

#[test]
fn lists_are_taken_apart() {
    let mut game = Game::new(&format!(
        "{HEAD} init(hand([1,2])) legal(first(X)) :- hand(X!Y) legal(last(X)) :- hand(Y!X![])"
    ));
    assert_eq!(game.legal(0), ["first(1)", "last(2)"]);
    assert_eq!(game.facts(), ["control(a)", "hand(1!2![])"]);
}

#[test]
fn each_fault_is_found_where_it_stands() {
    let sound = "role(a) init(control(a)) legal(go) goal(a,1) terminal :- over\n go :: over\n";
    assert_eq!(faults(sound), []);
    for (more, expected) in [
        ("p(1) :- ", ("unfinished-sentence", 3, 6)),
        ("p(1) :- q(X)\n", ("undefined-relation", 3, 9)),
        ("legal(X) :- over & q(X)\n", ("undefined-relation", 3, 20)),
        ("pp(X) :- over\n", ("unused-relation", 3, 1)),
        ("go :: evr ==> over", ("undefined-relation", 3, 7)),
        ("goal(a) :- over", ("keyword-arity", 3, 1)),
        ("goal(a,101) :- over", ("goal-value", 3, 1)),
        ("~over", ("stray-sentence", 3, 1)),
        ("terminal :- X & over", ("variable-as-condition", 3, 13)),
        (
            "terminal :- setofall(X,over,L)",
            ("unsupported-relation", 3, 13),
        ),
        ("terminal :- member(a,L)", ("unsupported-relation", 3, 13)),
        ("terminal :- member(a,a!X)", ("unsupported-relation", 3, 13)),
        (
            "terminal :- evaluate(plus(1,a),2)",
            ("unsupported-relation", 3, 29),
        ),
        (
            "terminal :- evaluate(size(1),2)",
            ("unsupported-relation", 3, 22),
        ),
        ("terminal :- evaluate(1,2)", ("unsupported-relation", 3, 13)),
        (
            "legal(X) :- evaluate(plus(X,1),2)",
            ("unbound-number", 3, 22),
        ),
        ("terminal :- less(X,1)", ("unbound-number", 3, 13)),
        ("go :: X", ("unsupported-effect", 3, 7)),
        ("go :: over(X)", ("unsafe-variable", 3, 7)),
        ("f(X) := 1", ("unused-definition", 3, 1)),
        ("plus(1,1,3)", ("shadowed-relation", 3, 1)),
        ("X :- over", ("head-without-name", 3, 1)),
        (
            "terminal :- over ==> over",
            ("unsupported-condition", 3, 13),
        ),
    ] {
        let found = faults(&format!("{sound}{more}"));
        assert!(found.contains(&expected), "{more}: {found:?}");
    }
    let codes: Vec<&str> = load("").1.iter().map(|fault| fault.code).collect();
    assert_eq!(
        codes,
        [
            "no-control",
            "no-goal",
            "no-legal",
            "no-role",
            "no-terminal"
        ]
    );
}

#[test]
fn a_fact_that_never_holds_is_written_apart_from_a_relation_of_its_name() {
    let text = "(role a) (init (n 0)) (legal a go) (<= (next (n 1)) (does a go))
        (<= (lit 1) (true (n 1))) (<= (next (lit ?x)) (true (lit ?x)))
        (<= terminal (lit 2)) (<= (goal a 0) (lit 1))";
    let (rules, faults) = panza_gdl::load(text);
    assert!(panza_gdl::is_playable(&rules, &faults), "{faults:?}");
    let turns = Turns {
        control: Control::Only,
        waits: Vec::new(),
    };
    let mut game = Game::new(&write(&rules, &turns).unwrap());
    game.play(0, "go");
    assert_eq!(
        (game.facts(), game.reward(0)),
        (vec!["n(1)".into()], Some(0))
    );
    game.play(0, "go");
    assert_eq!(game.facts(), ["n(1)"]);
}

#[test]
fn alternatives_are_bounded() {
    let any = "(p(1) | p(2) | p(3) | p(4))";
    let body = [any; 12].join(" & ");
    let codes: Vec<&str> = load(&format!("{HEAD} legal(go) :- {body}"))
        .1
        .iter()
        .map(|fault| fault.code)
        .collect();
    assert!(codes.contains(&"rule-too-large"), "{codes:?}");
}
