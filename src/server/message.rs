//! GGP messages: one s-expression each, `( WORD ... )`.
//!
//! Words and NIL are read in any letter case. Text after the message is ignored. A truncated
//! message is refused, since half a list of moves must not pass for the whole.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::gdl::{Severity, Sexpr, sexpr};
use crate::player::{Manager, PlayRequest, StartRequest};

/// Longer clocks are cut to this.
const LONGEST_CLOCK: Duration = Duration::from_secs(7 * 24 * 3600);
/// Limit on a match id, in bytes.
const LONGEST_ID: usize = 1000;

/// A message.
#[derive(Debug)]
pub enum Message {
    /// Asks whether the player is free.
    Info,
    /// Announces a game; the player does nothing with it.
    Preview,
    /// Begins a match.
    Start(StartRequest),
    /// Asks for a move.
    Play(PlayRequest),
    /// Ends a match that is over.
    Stop {
        /// The match.
        match_id: String,
        /// The last joint move.
        moves: Option<Vec<Sexpr>>,
    },
    /// Ends a match at once.
    Abort {
        /// The match.
        match_id: String,
    },
}

/// Reads a message that began to arrive at `received`.
///
/// # Errors
/// Says what was found and what was expected, for the client to read.
pub fn parse(text: &str, received: Instant) -> Result<Message, String> {
    let (expressions, diagnostics) = sexpr::parse_message(text);
    let Some(first) = expressions.into_iter().next() else {
        return Err("the message is empty, expected for example ( INFO )".into());
    };
    let end = first.span().end;
    // Superfluous parentheses at the end are ignored.
    if let Some(fault) = diagnostics
        .iter()
        .find(|fault| fault.severity == Severity::Error && fault.span.start < end)
    {
        return Err(fault.one_line("message", text));
    }
    let Sexpr::List(items, _) = first else {
        return Err(format!(
            "found the word {}, expected a list such as ( INFO )",
            shown(&first)
        ));
    };
    let mut items = items.into_iter();
    let word = items.next();
    let name = word.as_ref().and_then(Sexpr::symbol).unwrap_or("");
    match name.to_ascii_lowercase().as_str() {
        "info" => Ok(Message::Info),
        "preview" => Ok(Message::Preview),
        "start" => {
            let form = "( START id role ( rules ) startclock playclock )";
            let match_id = match_id(items.next(), form)?;
            let role = items.next().ok_or_else(|| lacks("role", form))?;
            let Some(Sexpr::List(rules, _)) = items.next() else {
                return Err(lacks("list of rules", form));
            };
            let start_clock = clock(items.next(), "start clock", form)?;
            let play_clock = clock(items.next(), "play clock", form)?;
            Ok(Message::Start(StartRequest {
                match_id,
                role,
                rules,
                source: Arc::from(text),
                start_clock,
                play_clock,
                received,
                manager: Manager::default(),
            }))
        }
        "play" => {
            let form = "( PLAY id NIL ) or ( PLAY id ( moves ) )";
            Ok(Message::Play(PlayRequest {
                match_id: match_id(items.next(), form)?,
                moves: moves(items.next(), form)?,
                received,
            }))
        }
        "stop" => {
            let form = "( STOP id NIL ) or ( STOP id ( moves ) )";
            Ok(Message::Stop {
                match_id: match_id(items.next(), form)?,
                moves: moves(items.next(), form)?,
            })
        }
        "abort" => Ok(Message::Abort {
            match_id: match_id(items.next(), "( ABORT id )")?,
        }),
        _ => {
            let found = word.as_ref().map_or("nothing".into(), shown);
            Err(format!(
                "found {found}, expected INFO, PREVIEW, START, PLAY, STOP or ABORT"
            ))
        }
    }
}

/// The text of a body: UTF-8, or Latin-1 when it is not.
pub fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(|&byte| char::from(byte)).collect()),
    }
}

fn match_id(item: Option<Sexpr>, form: &str) -> Result<String, String> {
    match item {
        Some(Sexpr::Symbol(name, _)) if name.len() <= LONGEST_ID => Ok(name.into()),
        Some(Sexpr::Symbol(..)) => Err(format!("the id is longer than {LONGEST_ID} bytes")),
        _ => Err(lacks("id", form)),
    }
}

/// The moves of a PLAY or STOP: nothing for NIL, an empty list, or no list.
fn moves(item: Option<Sexpr>, form: &str) -> Result<Option<Vec<Sexpr>>, String> {
    match item {
        None => Ok(None),
        Some(Sexpr::Symbol(word, _)) if word.eq_ignore_ascii_case("nil") => Ok(None),
        Some(Sexpr::List(moves, _)) => Ok((!moves.is_empty()).then_some(moves)),
        Some(other) => Err(format!("found {}, expected {form}", shown(&other))),
    }
}

/// A clock in seconds, with or without a fraction.
fn clock(item: Option<Sexpr>, name: &str, form: &str) -> Result<Duration, String> {
    let item = item.ok_or_else(|| lacks(name, form))?;
    let seconds: Option<f64> = item.symbol().and_then(|text| text.parse().ok());
    match seconds {
        Some(seconds) if seconds >= 0.0 => {
            let longest = LONGEST_CLOCK.as_secs_f64();
            Ok(Duration::from_secs_f64(seconds.min(longest)))
        }
        _ => Err(format!(
            "the {name} is {}, expected a number of seconds as in {form}",
            shown(&item)
        )),
    }
}

fn lacks(what: &str, form: &str) -> String {
    format!("the message lacks its {what}, expected {form}")
}

fn shown(expression: &Sexpr) -> String {
    let text = expression.to_string();
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Message, String> {
        parse(text, Instant::now())
    }

    fn error(text: &str) -> String {
        read(text).unwrap_err()
    }

    #[test]
    fn a_start_is_taken_apart() {
        let text = "( START m.1 (robot 2) (( role a ) ( <= terminal b )) 20 8.5)";
        let Ok(Message::Start(start)) = read(text) else {
            panic!("no START")
        };
        assert_eq!(start.match_id, "m.1");
        assert_eq!(start.role.to_string(), "(robot 2)");
        let rules: Vec<String> = start.rules.iter().map(Sexpr::to_string).collect();
        assert_eq!(rules, ["(role a)", "(<= terminal b)"]);
        assert_eq!(
            &start.source[start.rules[1].span().range()],
            "( <= terminal b )"
        );
        assert_eq!(start.start_clock, Duration::from_secs(20));
        assert_eq!(start.play_clock, Duration::from_millis(8500));
    }

    #[test]
    fn words_and_nil_may_be_written_in_any_case() {
        assert!(matches!(read("(info)"), Ok(Message::Info)));
        assert!(matches!(read("( Preview () 5 )"), Ok(Message::Preview)));
        assert!(matches!(
            read("(pLaY m nil)"),
            Ok(Message::Play(PlayRequest { moves: None, .. }))
        ));
        assert!(matches!(
            read("(stop m NIL)"),
            Ok(Message::Stop { moves: None, .. })
        ));
        assert!(
            matches!(read("( abort m ) )"), Ok(Message::Abort { match_id }) if match_id == "m")
        );
    }

    #[test]
    fn rules_on_lines_of_their_own_stay_in_their_start() {
        let text = "( START m a (\n(role a)\n(<= (legal a b)\n(true c))\nterminal\n) 10 10 )";
        for end in ["", " )", "\n)\n)"] {
            let Ok(Message::Start(start)) = read(&format!("{text}{end}")) else {
                panic!("no START with {end:?}")
            };
            assert_eq!(start.rules.len(), 3);
        }
    }

    #[test]
    fn moves_are_terms_in_role_order() {
        let Ok(Message::Play(play)) = read("( PLAY m ( ( mark 1 2 ) noop ) )") else {
            panic!("no PLAY")
        };
        let moves: Vec<String> = play.moves.unwrap().iter().map(Sexpr::to_string).collect();
        assert_eq!(moves, ["(mark 1 2)", "noop"]);
        let without = read("( PLAY m )");
        assert!(matches!(
            without,
            Ok(Message::Play(PlayRequest { moves: None, .. }))
        ));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let start = "expected ( START id role ( rules ) startclock playclock )";
        for (text, expected) in [
            ("", "the message is empty, expected for example ( INFO )".to_string()),
            (" ; ( INFO )", "the message is empty, expected for example ( INFO )".into()),
            ("info", "found the word info, expected a list such as ( INFO )".into()),
            ("()", "found nothing, expected INFO, PREVIEW, START, PLAY, STOP or ABORT".into()),
            ("(hello)", "found hello, expected INFO, PREVIEW, START, PLAY, STOP or ABORT".into()),
            ("((info))", "found (info), expected INFO, PREVIEW, START, PLAY, STOP or ABORT".into()),
            ("(PLAY)", "the message lacks its id, expected ( PLAY id NIL ) or ( PLAY id ( moves ) )".into()),
            ("(PLAY m a)", "found a, expected ( PLAY id NIL ) or ( PLAY id ( moves ) )".into()),
            ("(START m r (a) 3)", format!("the message lacks its play clock, {start}")),
            ("(START m r a 3 3)", format!("the message lacks its list of rules, {start}")),
            (
                "(START m r (a) 3 -1)",
                format!("the play clock is -1, expected a number of seconds as in {}", &start[9..]),
            ),
            ("(PLAY m (a", "message:1:9: error[unclosed-parenthesis]: this `(` and 1 around it are never closed".into()),
        ] {
            assert_eq!(error(text), expected, "{text:?}");
        }
        assert!(error(&format!("(PLAY {} NIL)", "m".repeat(2000))).contains("longer than"));
        assert!(error(&format!("(START m r (a) {} 1)", "x".repeat(9999))).len() < 300);
        assert!(error("(START m r (a) NaN 1)").contains("start clock is NaN"));
    }

    #[test]
    fn clocks_are_bounded() {
        let Ok(Message::Start(start)) = read("(START m r (a) 1e300 inf)") else {
            panic!("no START")
        };
        assert_eq!(start.start_clock, LONGEST_CLOCK);
        assert_eq!(start.play_clock, LONGEST_CLOCK);
    }

    #[test]
    fn bytes_that_are_no_utf8_are_latin1() {
        assert_eq!(decoded(b"(a \xe4)"), "(a \u{e4})");
        assert_eq!(decoded("(a \u{e4})".as_bytes()), "(a \u{e4})");
    }
}
