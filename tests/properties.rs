//! Random small games: all engines agree with the prover, lane playouts have the exact
//! distribution, and printed rules read back the same.
//!
//! A list of numbers determines a game: each number answers one choice of the generator. A failure
//! therefore shrinks to short lists of small numbers, which give small games. Games have static and
//! dynamic relations, recursion, stratified negation, function terms, simultaneous roles and
//! derived legal moves.

use std::fmt::Write;

use panza::gdl;
use panza::propnet::passes;
use proptest::prelude::*;

use crate::support::chances;
use crate::support::compare::{compare, machines, network_of, rules_of};

/// Answers from a list of numbers; 0 when it is used up.
struct Choices<'a>(std::slice::Iter<'a, u8>);

impl Choices<'_> {
    fn below(&mut self, n: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % n
    }

    fn of<'b>(&mut self, items: &[&'b str]) -> &'b str {
        items[self.below(items.len())]
    }
}

const VARIABLES: [&str; 3] = ["?x", "?y", "?z"];
const CONSTANTS: [&str; 3] = ["a", "b", "c"];

/// A fact of the state: `lamp`, `(at ..)`, `(link .. ..)`, `(pile (box ..))`.
fn fact(choices: &mut Choices<'_>) -> String {
    match choices.below(4) {
        0 => "lamp".into(),
        1 => format!("(at {})", term(choices)),
        2 => format!("(link {} {})", term(choices), term(choices)),
        _ => format!("(pile (box {}))", term(choices)),
    }
}

fn term(choices: &mut Choices<'_>) -> &'static str {
    if choices.below(4) == 0 {
        choices.of(&CONSTANTS)
    } else {
        choices.of(&VARIABLES)
    }
}

/// An atom that a rule of this level may ask for; relations of the same level only where
/// `may_recurse`.
fn atom(choices: &mut Choices<'_>, level: usize, may_recurse: bool, may_move: bool) -> String {
    let top = if may_recurse { level + 1 } else { level };
    match choices.below(4 + usize::from(may_move)) {
        0 => format!("(true {})", fact(choices)),
        1 => format!("(edge {} {})", term(choices), term(choices)),
        2 | 3 if top > 0 => {
            let of = choices.below(top);
            match choices.below(2) {
                0 => format!("(one{of} {})", term(choices)),
                _ => format!("(two{of} {} {})", term(choices), term(choices)),
            }
        }
        4 => format!(
            "(does {} (push {}))",
            choices.of(&["red", "blue", "?x"]),
            term(choices)
        ),
        _ => format!("(colour {})", term(choices)),
    }
}

fn body(choices: &mut Choices<'_>, level: usize, may_move: bool) -> String {
    let mut body = String::new();
    for _ in 0..1 + choices.below(3) {
        let _ = match choices.below(6) {
            0 => write!(body, " (not {})", atom(choices, level, false, may_move)),
            1 => write!(body, " (distinct {} {})", term(choices), term(choices)),
            2 => write!(
                body,
                " (or {} (not {}))",
                atom(choices, level, true, may_move),
                atom(choices, level, false, may_move)
            ),
            _ => write!(body, " {}", atom(choices, level, true, may_move)),
        };
    }
    body
}

/// Conditions that bind every variable of `rule`.
fn bound(rule: &str) -> String {
    let used = VARIABLES
        .iter()
        .filter(|variable| rule.contains(**variable));
    used.map(|variable| format!(" (colour {variable})"))
        .collect()
}

fn rule(out: &mut String, head: &str, body: &str) {
    let binders = bound(&format!("{head}{body}"));
    let _ = writeln!(out, "(<= {head}{body}{binders})");
}

fn game(numbers: &[u8]) -> String {
    let mut choices = Choices(numbers.iter());
    let choices = &mut choices;
    let mut out = String::from(
        "(role red) (role blue) (colour a) (colour b) (colour c) (edge a b) (edge b c) (edge c a)\n\
         (init (at a)) (init (clock 0)) (tick 0 1) (tick 1 2) (tick 2 3) (tick 3 4) (tick 4 5) (tick 5 6)\n\
         (<= (next (clock ?n)) (true (clock ?m)) (tick ?m ?n)) (<= terminal (true (clock 6)))\n\
         (<= (legal ?r wait) (role ?r))\n",
    );
    // Half of the games are played in turns.
    let has_turns = choices.below(2) == 1;
    if has_turns {
        out.push_str(
            "(init (control red)) (<= (next (control red)) (true (control blue)))\n\
             (<= (next (control blue)) (true (control red)))\n",
        );
    }
    for _ in 0..choices.below(3) {
        let fact = fact(choices)
            .replace("?x", "a")
            .replace("?y", "b")
            .replace("?z", "c");
        let _ = writeln!(out, "(init {fact})");
    }
    for level in 0..3 {
        for _ in 0..choices.below(4) {
            let head = match choices.below(2) {
                0 => format!("(one{level} {})", term(choices)),
                _ => format!("(two{level} {} {})", term(choices), term(choices)),
            };
            let body = body(choices, level, false);
            rule(&mut out, &head, &body);
        }
    }
    for _ in 0..1 + choices.below(2) {
        let role = choices.of(&["red", "blue"]);
        let head = format!("(legal {role} (push {}))", term(choices));
        let mut body = body(choices, 3, false);
        if has_turns {
            let _ = write!(body, " (true (control {role}))");
        }
        rule(&mut out, &head, &body);
    }
    for _ in 0..1 + choices.below(4) {
        let head = format!("(next {})", fact(choices));
        let body = body(choices, 3, true);
        rule(&mut out, &head, &body);
    }
    let win = body(choices, 3, false);
    rule(&mut out, "won", &win);
    out.push_str("(<= (goal ?r 100) (role ?r) won) (<= (goal ?r 10) (role ?r) (not won))\n");
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn engines_agree_on_random_games(numbers in proptest::collection::vec(any::<u8>(), 0..160)) {
        let text = game(&numbers);
        let rules = rules_of(&text);
        compare(&text, &rules, machines(&network_of(&rules)), 30, 6);
    }

    #[test]
    fn lane_playouts_have_the_exact_distribution(
        numbers in proptest::collection::vec(any::<u8>(), 0..160),
        seed in any::<u64>(),
    ) {
        let network = network_of(&rules_of(&game(&numbers)));
        let network = passes::optimise(network, panza::ground::Budget::generous());
        chances::compare(&network, seed);
    }

    #[test]
    fn printed_rules_read_back_the_same(numbers in proptest::collection::vec(any::<u8>(), 0..160)) {
        let rules = rules_of(&game(&numbers));
        let print = |rules: &gdl::Rules| {
            rules.rules.iter().map(|rule| format!("{}\n", rules.show_rule(rule))).collect::<String>()
        };
        let printed = print(&rules);
        prop_assert_eq!(&print(&rules_of(&printed)), &printed);
        let laid_out = gdl::format::format(&printed).expect("what was printed can be laid out");
        prop_assert_eq!(&print(&rules_of(&laid_out)), &printed);
    }

    #[test]
    fn any_text_is_read_without_panic(text in "[ ()?;a-c<=\\nnotordistinct]{0,200}") {
        let (_, diagnostics) = gdl::load(&text);
        for diagnostic in diagnostics {
            diagnostic.render("text", &text, false);
            diagnostic.one_line("text", &text);
        }
        let _ = gdl::format::format(&text);
    }
}

/// After other passes two inputs of a gate stand for one move here, which is not two moves at once.
const ONE_MOVE_TWICE: &str = "
    (role red) (colour a) (colour b) (colour c) (init (lamp 0))
    (<= (legal red wait)) (<= (legal red (push ?x)) (colour ?x))
    (<= (next (link ?y)) (colour ?x) (colour ?y) (not (does red (push ?x))) (not (does red (push c))) (near ?y))
    (<= (next (link ?y)) (colour ?x) (colour ?y) (not (does red (push ?x))) (not (does red (push c))) (true (lamp 0)))
    (near c) (<= (next (lamp 1)) (true (lamp 0))) (<= (next (lamp 0)) (true (lamp 1)))
    (<= terminal (true (link a)) (true (lamp 0))) (goal red 50)";

#[test]
fn a_move_named_twice_is_one_move() {
    let rules = rules_of(ONE_MOVE_TWICE);
    compare(
        "one move twice",
        &rules,
        machines(&network_of(&rules)),
        60,
        6,
    );
}

/// Recursion that falls apart while the network is built leaves an OR outside of any block here.
const OR_LEFT_OVER: &str = "
    (role red) (colour a) (colour b) (colour c) (edge a b) (edge b c) (init (at a)) (init (clock 0)) (tick 0 1) (tick 1 2)
    (<= (next (clock ?n)) (true (clock ?m)) (tick ?m ?n)) (<= terminal (true (clock 2)))
    (<= (legal red wait))
    (<= (joined ?x ?y) (distinct b ?x) (or (edge a ?x) (not (true lamp))) (true (pile (box ?z)))
        (colour ?x) (colour ?y) (colour ?z))
    (<= (single ?y) (joined ?z ?z) (not (edge b b)) (or (true lamp) (not (true (at ?z)))) (colour ?y) (colour ?z))
    (<= (joined ?y ?x) (or (single ?z) (not (true (pile (box c))))) (colour ?x) (colour ?y) (colour ?z))
    (<= (legal red (push ?z)) (single a) (not (true lamp)) (colour ?z))
    (<= (next lamp) (not (true lamp))) (goal red 50)";

#[test]
fn an_or_left_by_recursion_stays_an_or() {
    let rules = rules_of(OR_LEFT_OVER);
    compare("or left over", &rules, machines(&network_of(&rules)), 60, 6);
}
