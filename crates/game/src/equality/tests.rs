use super::*;

/// One role counts to 3 by one or two.
const COUNT: &str = "(role a) (init (at 0)) (succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4)
(<= (legal a one) (true (at ?n)) (succ ?n ?m))
(<= (legal a two) (true (at ?n)) (succ ?n ?m) (succ ?m ?k))
(<= (next (at ?m)) (true (at ?n)) (does a one) (succ ?n ?m))
(<= (next (at ?k)) (true (at ?n)) (does a two) (succ ?n ?m) (succ ?m ?k))
(<= terminal (true (at 3)))
(<= terminal (true (at 4)))
(<= (goal a 100) (true (at 4)))
(<= (goal a 0) (true (at 3)))";

fn compared(first: &str, second: &str, naming: Naming) -> Result<Comparison, CompareError> {
    let [first, second] = [first, second].map(|text| panza_gdl::load(text).0);
    compare(&first, &second, naming, &Budget::of_steps(20_000))
}

fn difference(from: &str, to: &str) -> Difference {
    let changed = COUNT.replace(from, to);
    assert_ne!(changed, COUNT, "{from}");
    let found = compared(COUNT, &changed, Naming::Any).expect("both can be played");
    found
        .difference
        .unwrap_or_else(|| panic!("{from} to {to}: nothing found"))
}

#[test]
fn each_kind_of_difference_is_shown_by_its_first_state() {
    for (from, to, aspect, n_moves) in [
        (
            "(legal a two) (true (at ?n))",
            "(legal a two) (true (at ?n)) (distinct ?n 1)",
            Aspect::Legal,
            1,
        ),
        ("(init (at 0))", "(init (at 1))", Aspect::Facts, 0),
        (
            "(does a one) (succ ?n ?m)",
            "(does a one) (succ ?n ?k) (succ ?k ?m)",
            Aspect::Facts,
            1,
        ),
        (
            "(<= terminal (true (at 3)))",
            "(<= terminal (true (at 2)))",
            Aspect::Terminal,
            1,
        ),
        ("(goal a 100)", "(goal a 90)", Aspect::Goal, 2),
    ] {
        let found = difference(from, to);
        assert_eq!(
            (found.aspect, found.evidence.moves.len()),
            (aspect, n_moves),
            "{found:?}"
        );
    }
}

#[test]
fn the_statements_that_make_a_difference_are_told() {
    let found = difference("(goal a 100) (true (at 4))", "(goal a 100) (true (at 3))");
    let span = found.statements[0].expect("one statement differs");
    assert_eq!(&COUNT[span.range()], "(<= (goal a 100) (true (at 4)))");
    assert!(found.statements[1].is_some());
    let found = difference("(<= (goal a 0) (true (at 3)))", "");
    assert!(
        found.statements[0].is_some() && found.statements[1].is_none(),
        "{found:?}"
    );
}

#[test]
fn names_and_order_do_not_matter_unless_they_are_asked_for() {
    let renamed = COUNT
        .replace("one", "uno")
        .replace("(at ", "(count ")
        .replace("role a", "role b")
        .replace("legal a", "legal b")
        .replace("does a", "does b")
        .replace("goal a", "goal b");
    let mut lines: Vec<&str> = renamed.lines().collect();
    lines.reverse();
    let renamed = lines.join("\n");
    let found = compared(COUNT, &renamed, Naming::Any).expect("both can be played");
    assert!(
        found.difference.is_none() && found.is_exhaustive,
        "{found:?}"
    );
    let found = compared(COUNT, &renamed, Naming::Same).expect("both can be played");
    assert_eq!(found.difference.map(|it| it.aspect), Some(Aspect::Roles));
    let moves = COUNT.replace("one", "uno");
    let found = compared(COUNT, &moves, Naming::Same).expect("both can be played");
    assert_eq!(found.difference.map(|it| it.aspect), Some(Aspect::Legal));
}

#[test]
fn facts_may_be_written_in_another_way() {
    let other = COUNT
        .replace("(true (at ?n))", "(true (at ?n x))")
        .replace("(at 0)", "(at 0 x)")
        .replace("(at 3)", "(at 3 x)")
        .replace("(at 4)", "(at 4 x)")
        .replace("(next (at ?m))", "(next (at ?m x))")
        .replace("(next (at ?k))", "(next (at ?k x))");
    let found = compared(COUNT, &other, Naming::Any).expect("both can be played");
    assert!(
        found.difference.is_none() && found.is_exhaustive,
        "{found:?}"
    );
}

#[test]
fn games_without_common_names_are_told_apart_from_different_games() {
    let other = COUNT
        .replace("one", "uno")
        .replace("two", "due")
        .replace("(goal a 0)", "(goal a 1)");
    let error = compared(COUNT, &other, Naming::Any).expect_err("no move has a common name");
    assert!(matches!(error, CompareError::NoCommonNames { role } if role == "a"));
}

#[test]
fn another_number_of_roles_or_moves_at_the_start_is_a_difference_under_any_names() {
    let other = COUNT.replace("one", "uno").replace("two", "due");
    let third = format!("{other}\n(<= (legal a tre) (true (at 0)))");
    let found = compared(COUNT, &third, Naming::Any).expect("the numbers differ");
    let difference = found.difference.expect("two moves and three");
    assert_eq!(
        (difference.aspect, difference.second.len()),
        (Aspect::Legal, 3)
    );
    assert_eq!(difference.evidence.moves.len(), 0);
    let more = format!("{other}\n(role b) (legal b noop) (goal b 0)");
    let found = compared(COUNT, &more, Naming::Any).expect("the roles differ");
    assert_eq!(found.difference.map(|it| it.aspect), Some(Aspect::Roles));
}
