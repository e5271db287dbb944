//! The requests of a game manager as text, and the rules as they travel in START.

use panza_gdl::sexpr;

/// The rules on one line without comments, as one list.
pub fn rules_on_one_line(rulesheet: &str) -> String {
    let (mut statements, _) = sexpr::parse(rulesheet);
    // A rulesheet may come in one more pair of parentheses: then it is such a list already.
    if let [sexpr::Sexpr::List(items, _)] = statements.as_mut_slice()
        && items.iter().all(|item| item.list().is_some())
    {
        statements = std::mem::take(items);
    }
    let statements: Vec<String> = statements.iter().map(ToString::to_string).collect();
    format!("({})", statements.join(" "))
}

/// START: match, role, rules as one list, both clocks in seconds.
pub(super) fn start(
    match_id: &str,
    role: &str,
    rules: &str,
    start_clock: u32,
    play_clock: u32,
) -> String {
    format!("( START {match_id} {role} {rules} {start_clock} {play_clock})")
}

/// PLAY with the joint move that was made last, in role order; none before the first.
pub(super) fn play(match_id: &str, last: Option<&[String]>) -> String {
    format!("( PLAY {match_id} {} )", moves(last))
}

pub(super) fn stop(match_id: &str, last: Option<&[String]>) -> String {
    format!("( STOP {match_id} {} )", moves(last))
}

pub(super) fn abort(match_id: &str) -> String {
    format!("( ABORT {match_id} )")
}

fn moves(last: Option<&[String]>) -> String {
    match last {
        Some(moves) => format!("({})", moves.join(" ")),
        None => "NIL".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_travel_on_one_line_without_comments() {
        let text = "; a game\n(role a)\n(<= (legal a go) ; always\n  (true x))\n";
        let expected = "((role a) (<= (legal a go) (true x)))";
        assert_eq!(rules_on_one_line(text), expected);
        assert_eq!(rules_on_one_line(expected), expected);
    }

    #[test]
    fn requests_read_as_other_managers_write_them() {
        assert_eq!(
            start("m.1", "a", "((role a))", 20, 8),
            "( START m.1 a ((role a)) 20 8)"
        );
        assert_eq!(play("m.1", None), "( PLAY m.1 NIL )");
        let last = ["(mark 1 1)".to_string(), "noop".to_string()];
        assert_eq!(play("m.1", Some(&last)), "( PLAY m.1 ((mark 1 1) noop) )");
        assert_eq!(stop("m.1", Some(&last)), "( STOP m.1 ((mark 1 1) noop) )");
        assert_eq!(abort("m.1"), "( ABORT m.1 )");
    }
}
