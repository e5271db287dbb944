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
fn a_game_that_is_stuck_at_the_start_is_none() {
    let text = "(role a) (init p) (<= (legal a x) (true q)) (<= terminal (true q)) (goal a 1)";
    let (rules, _) = panza_gdl::load(text);
    let trial = try_out(&rules, &Budget::of_steps(1000)).expect("there is a role");
    assert_eq!((trial.games, trial.ended), (0, 0));
    assert_eq!(codes(text), [(Severity::Error, "no-legal-move")]);
}

#[test]
fn facts_that_no_rule_keeps_are_told_with_a_move() {
    let board = "(role a) (init (on 1)) (init (on 2)) (init (on 3)) (init (left 2))
        (<= (legal a (take ?x)) (true (on ?x))) (succ 0 1) (succ 1 2)
        (<= (next (left ?m)) (true (left ?n)) (succ ?m ?n)) (<= terminal (true (left 0))) (goal a 5)
        (<= (next (off ?x)) (does a (take ?x)))";
    let lost = |rule: &str| {
        let text = format!("{board} {rule}");
        let found = found(&text).into_iter();
        found
            .filter(|it| it.diagnostic.code == "lost-fact")
            .collect::<Vec<_>>()
    };
    let found = lost("(<= (next (on ?x)) (does a (take ?x)))");
    let evidence = found[0].evidence.as_ref().expect("a state shows it");
    let taken = evidence.moves[0][0].replace("take", "on");
    assert!(evidence.facts.contains(&taken) && evidence.moves.len() == 1);
    let message = &found[0].diagnostic.message;
    assert!(message.starts_with("`(on ") && !message.starts_with(&format!("`{taken}")));
    assert!(message.ends_with("and nothing keeps it"), "{message}");
    let kept =
        "(<= (next (on ?x)) (true (on ?x)) (not (gone ?x))) (<= (gone ?x) (does a (take ?x)))";
    assert!(lost(kept).is_empty());
}

#[test]
fn what_can_never_be_true_is_told_where_games_do_not_end() {
    let text = "(role a) (init (at 1)) (step 1 2) (step 2 1)
        (<= (legal a (go ?y)) (true (at ?x)) (step ?x ?y))
        (<= (legal a jump) (true (at 3)))
        (<= (next (at ?y)) (does a (go ?y))) (<= (next won) (does a jump))
        (<= (next (at ?x)) (true (at ?x)) (does a jump))
        (<= terminal (true won)) (<= (goal a 100) (true won)) (<= (goal a 0) (not (true won)))";
    let found = found(text);
    let never: Vec<&Finding> = found
        .iter()
        .filter(|it| it.diagnostic.code == "never-true")
        .collect();
    assert_eq!(never.len(), 1, "{never:?}");
    let diagnostic = &never[0].diagnostic;
    assert_eq!(&text[diagnostic.span.range()], "(true (at 3))");
    let expected = "`(at 3)`, on which all of `jump` hangs, can never be true";
    assert_eq!(diagnostic.message, expected);
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
            (Severity::Warning, "never-true"),
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
