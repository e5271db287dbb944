use super::*;
use crate::evidence::Evidence;
use panza_gdl::Severity;

/// The findings of a rulesheet: severity and code.
fn found(text: &str) -> Vec<Finding> {
    let (rules, _) = panza_gdl::load(text);
    try_out(&rules, &Budget::of_steps(200_000))
        .expect("there is a role")
        .findings
}

fn codes(text: &str) -> Vec<(Severity, &'static str)> {
    let found = found(text);
    found
        .iter()
        .map(|it| (it.diagnostic.severity, it.diagnostic.code))
        .collect()
}

/// One role counts up to a limit of 3, by one or two.
const COUNT: &str = "(role a) (init (at 0)) (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4)
    (<= (legal a one) (true (at ?n)) (succ ?n ?m))
    (<= (legal a two) (true (at ?n)) (succ ?n ?m) (succ ?m ?k))
    (<= (next (at ?m)) (true (at ?n)) (does a one) (succ ?n ?m))
    (<= (next (at ?k)) (true (at ?n)) (does a two) (succ ?n ?m) (succ ?m ?k))";

#[test]
fn sound_rules_have_no_findings() {
    let sound = format!(
        "{COUNT} (<= terminal (true (at 3))) (<= terminal (true (at 4)))
        (<= (goal a 100) (true (at 4))) (<= (goal a 0) (not (true (at 4))))"
    );
    assert_eq!(codes(&sound), []);
}

#[test]
fn a_state_without_a_move_is_shown_by_the_shortest_game() {
    let text = format!("{COUNT} (<= terminal (true (at 3))) (goal a 50)");
    let found = found(&text);
    assert_eq!(found[0].diagnostic.code, "no-legal-move");
    let evidence = found[0].evidence.as_ref().expect("a state shows it");
    assert_eq!(evidence.state_line(), "((at 4))");
    assert_eq!(evidence.moves_line(), "(two) (two)");
    let span = found[0].diagnostic.span.range();
    assert_eq!(&text[span], "(role a)");
}

#[test]
fn a_hint_shows_the_evidence_and_cuts_what_is_long() {
    let text = format!("{COUNT} (<= terminal (true (at 3))) (goal a 50)");
    let finding = found(&text).swap_remove(0);
    let help = finding.diagnostic.help.clone();
    let shown = finding.clone().into_diagnostic();
    let expected = format!("{help}\nstate: ((at 4))\nmoves: (two) (two)");
    assert_eq!(shown.help, expected);
    let facts = (0..1000).map(|number| format!("(é {number})")).collect();
    let long = Finding {
        evidence: Some(Evidence {
            facts,
            moves: Vec::new(),
        }),
        ..finding
    };
    let shown = long.into_diagnostic().help;
    assert!(shown.ends_with("...") && !shown.contains("moves"));
    assert_eq!(shown.chars().count(), help.chars().count() + 411);
}

#[test]
fn ends_without_a_goal_and_with_two_are_found() {
    let ends = "(<= terminal (true (at 3))) (<= terminal (true (at 4)))";
    let none = format!("{COUNT} {ends} (<= (goal a 50) (true (at 4)))");
    assert_eq!(codes(&none), [(Severity::Error, "no-goal")]);
    let two = format!("{COUNT} {ends} (goal a 50) (<= (goal a 60) (true (at 3)))");
    assert_eq!(codes(&two), [(Severity::Warning, "two-goals")]);
}

#[test]
fn endless_games_and_goals_that_are_never_reached_are_found() {
    let ends = "(<= terminal (true (at 3))) (<= terminal (true (at 4)))";
    let goal = format!(
        "{COUNT} {ends} (<= (goal a 50) (not (true (at 0)))) (<= (goal a 60) (true (at 0)))"
    );
    assert_eq!(codes(&goal), [(Severity::Note, "unreached-goal")]);
    let endless =
        "(role a) (role b) (legal a x) (legal a y) (legal b z) (init p) (<= (next p) (true p))
        (<= terminal (true q)) (goal a 1) (goal b 1)";
    assert_eq!(
        codes(endless),
        [
            (Severity::Warning, "endless-game"),
            (Severity::Note, "no-choice")
        ]
    );
}

#[test]
fn moves_and_facts_that_are_not_listed_are_found() {
    let text = format!(
        "{COUNT} (<= terminal (true (at 3))) (<= terminal (true (at 4))) (goal a 7)
        (input a one) (base (at 0)) (base (at 1)) (base (at 2)) (base (at 3))"
    );
    let found = found(&text);
    let codes: Vec<&str> = found.iter().map(|it| it.diagnostic.code).collect();
    assert_eq!(codes, ["outside-input", "outside-base"]);
    assert_eq!(
        found[0].diagnostic.message,
        "1 legal move is not in `input`: two"
    );
    let evidence = found[1].evidence.as_ref().expect("a state shows it");
    assert_eq!(evidence.state_line(), "((at 4))");
}

#[test]
fn chance_needs_no_choice_and_no_goal() {
    let text = "(role random) (role a) (init p) (legal random only) (legal a x) (legal a y)
        (<= (next q) (true p)) (<= terminal (true q)) (goal a 3)";
    assert_eq!(codes(text), []);
}
