//! GGP messages: one s-expression each, `( WORD ... )`.
//!
//! Words and NIL are read in any letter case. Text after the message is ignored. A truncated
//! message is refused, since half a list of moves must not pass for the whole.
//!
//! The [`Head`] of a message is its word and its match id. It is read from the first bytes, so that
//! a long message that has no use is answered before it is read.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use panza_gdl::{Severity, Sexpr, sexpr, text};
use panza_player::{Manager, Message, PlayRequest, SentMoves, StartRequest, StartRules};

/// Longer clocks are cut to this.
const LONGEST_CLOCK: Duration = Duration::from_secs(7 * 24 * 3600);
/// Limit on a match id, in bytes.
const LONGEST_ID: usize = 1000;

/// The word of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Word {
    /// INFO.
    Info,
    /// PREVIEW.
    Preview,
    /// START.
    Start,
    /// PLAY.
    Play,
    /// STOP.
    Stop,
    /// ABORT.
    Abort,
}

impl Word {
    fn read(text: &str) -> Option<Self> {
        Some(match text.to_ascii_lowercase().as_str() {
            "info" => Self::Info,
            "preview" => Self::Preview,
            "start" => Self::Start,
            "play" => Self::Play,
            "stop" => Self::Stop,
            "abort" => Self::Abort,
            _ => return None,
        })
    }
}

/// What the first bytes of a message say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Head {
    /// The word.
    pub word: Word,
    /// The symbol behind the word: the match id, where the message has one.
    pub match_id: Option<String>,
}

impl Head {
    /// The head of a message that begins with these bytes; nothing if they do not begin one.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let text = match std::str::from_utf8(bytes) {
            // The bytes end within a character.
            Err(fault) if fault.error_len().is_none() => decoded(&bytes[..fault.valid_up_to()]),
            _ => decoded(bytes),
        };
        let mut symbols = sexpr::first_symbols(&text);
        Some(Self {
            word: Word::read(symbols.next()?)?,
            match_id: symbols.next().map(str::to_string),
        })
    }
}

/// Reads a message that began to arrive at `received`. Takes time and memory in proportion to its
/// length: some hundreds of bytes for each symbol.
///
/// # Errors
/// Says what was found and what was expected, for the client to read.
pub fn parse(text: &str, received: Instant) -> Result<Message, String> {
    let (expressions, diagnostics) = sexpr::parse_message(text);
    let Some(first) = expressions.into_iter().next() else {
        return Err(match diagnostics.first() {
            Some(fault) => fault.one_line("message", text),
            None => "the message is empty, expected for example ( INFO )".into(),
        });
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
    let Some(name) = Word::read(name) else {
        let found = word.as_ref().map_or("nothing".into(), shown);
        return Err(format!(
            "found {found}, expected INFO, PREVIEW, START, PLAY, STOP or ABORT"
        ));
    };
    match name {
        Word::Info => Ok(Message::Info),
        Word::Preview => Ok(Message::Preview),
        Word::Start => {
            let form = "( START id role ( rules ) startclock playclock )";
            let match_id = match_id(items.next(), form)?;
            let role = items.next().ok_or_else(|| lacks("role", form))?;
            let Some(Sexpr::List(rules, _)) = items.next() else {
                return Err(lacks("list of rules", form));
            };
            let start_clock = clock(items.next(), "start clock", form)?;
            let play_clock = clock(items.next(), "play clock", form)?;
            Ok(match StartRules::read(&rules, text, &match_id) {
                Ok(rules) => Message::Start(StartRequest {
                    match_id,
                    role: role.to_string(),
                    rules,
                    start_clock,
                    play_clock,
                    received,
                    manager: Manager::default(),
                }),
                Err(why) => Message::Unplayable { match_id, why },
            })
        }
        Word::Play => {
            let form = "( PLAY id NIL ) or ( PLAY id ( moves ) )";
            Ok(Message::Play(PlayRequest {
                match_id: match_id(items.next(), form)?,
                moves: moves(items.next(), form)?,
                is_repeat: None,
                received,
            }))
        }
        Word::Stop => {
            let form = "( STOP id NIL ) or ( STOP id ( moves ) )";
            Ok(Message::Stop {
                match_id: match_id(items.next(), form)?,
                moves: moves(items.next(), form)?,
            })
        }
        Word::Abort => Ok(Message::Abort {
            match_id: match_id(items.next(), "( ABORT id )")?,
        }),
    }
}

/// The text of a body, decoded as every text from outside is.
pub fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    text::decode(bytes).0
}

fn match_id(item: Option<Sexpr>, form: &str) -> Result<String, String> {
    match item {
        Some(Sexpr::Symbol(name, _)) if name.len() <= LONGEST_ID => Ok(name.into()),
        Some(Sexpr::Symbol(..)) => Err(format!("the id is longer than {LONGEST_ID} bytes")),
        _ => Err(lacks("id", form)),
    }
}

/// The moves of a PLAY or STOP: nothing for NIL, an empty list, or no list.
fn moves(item: Option<Sexpr>, form: &str) -> Result<Option<SentMoves>, String> {
    match item {
        None => Ok(None),
        Some(Sexpr::Symbol(word, _)) if word.eq_ignore_ascii_case("nil") => Ok(None),
        Some(Sexpr::List(moves, _)) => {
            let texts = moves.iter().map(Sexpr::to_string).collect();
            Ok((!moves.is_empty()).then_some(texts))
        }
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
        let text = "( START m.1 (robot 2) (( role a ) (legal a x) ( goal a 5 ) ( <= terminal b )(b)) 20 8.5)";
        let Ok(Message::Start(start)) = read(text) else {
            panic!("no START")
        };
        assert_eq!(start.match_id, "m.1");
        assert_eq!(start.role, "(robot 2)");
        assert_eq!(
            &*start.rules.text,
            "(role a)\n(legal a x)\n(goal a 5)\n(<= terminal b)\n(b)"
        );
        assert_eq!(start.rules.rules.role_names(), ["a"]);
        assert_eq!(start.start_clock, Duration::from_secs(20));
        assert_eq!(start.play_clock, Duration::from_millis(8500));
    }

    #[test]
    fn a_head_is_read_from_the_first_bytes() {
        let head = |bytes: &[u8]| Head::read(bytes).map(|head| (head.word, head.match_id));
        let id = |text: &str| Some(text.to_string());
        assert_eq!(head(b"( INFO )"), Some((Word::Info, None)));
        assert_eq!(
            head(b" ; (STOP x)\n(pLaY m.1 ( ("),
            Some((Word::Play, id("m.1")))
        );
        assert_eq!(head(b"(START m"), Some((Word::Start, id("m"))));
        assert_eq!(head(b"(PREVIEW ((role a"), Some((Word::Preview, None)));
        assert_eq!(
            head("(ABORT \u{e4}".as_bytes()),
            Some((Word::Abort, id("\u{e4}")))
        );
        assert_eq!(head(b"(ABORT \xe4 )"), Some((Word::Abort, id("\u{e4}"))));
        let marked = "\u{feff}( PLAY m.1".as_bytes();
        assert_eq!(head(marked), Some((Word::Play, id("m.1"))));
        for none in [
            b"".as_slice(),
            b"(",
            b"INFO",
            b"((INFO",
            b"(HELLO m",
            b") (INFO",
            b"; (INFO)",
        ] {
            assert_eq!(head(none), None);
        }
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
        let text = "( START m a (\n(role a)\n(init c)\n(goal a 1)\n(<= (legal a b)\n(true c))\nterminal\n) 10 10 )";
        for end in ["", " )", "\n)\n)"] {
            let Ok(Message::Start(start)) = read(&format!("{text}{end}")) else {
                panic!("no START with {end:?}")
            };
            assert_eq!(start.rules.text.lines().count(), 5);
        }
    }

    #[test]
    fn moves_are_terms_in_role_order() {
        let Ok(Message::Play(play)) = read("( PLAY m ( ( mark 1 2 ) noop ) )") else {
            panic!("no PLAY")
        };
        assert_eq!(*play.moves.unwrap(), ["(mark 1 2)", "noop"]);
        let without = read("( PLAY m )");
        assert!(matches!(
            without,
            Ok(Message::Play(PlayRequest { moves: None, .. }))
        ));
    }

    #[test]
    fn a_message_of_too_many_symbols_is_refused() {
        let text = format!("(START m r ({}) 1 1)", "() ".repeat(2_000_000));
        let fault = error(&text);
        assert!(fault.contains("more than 4000000 symbols"), "{fault}");
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
        let rules = "(role r)(legal r x)(goal r 5)(<= terminal (true a))(init a)";
        let Ok(Message::Start(start)) = read(&format!("(START m r ({rules}) 1e300 inf)")) else {
            panic!("no START")
        };
        assert_eq!(start.start_clock, LONGEST_CLOCK);
        assert_eq!(start.play_clock, LONGEST_CLOCK);
    }

    #[test]
    fn bytes_that_are_no_utf8_are_latin1() {
        assert_eq!(decoded(b"(a \xe4)"), "(a \u{e4})");
        assert_eq!(decoded("(a \u{e4})".as_bytes()), "(a \u{e4})");
        assert_eq!(decoded("\u{feff}(a \u{e4})".as_bytes()), "(a \u{e4})");
        assert_eq!(decoded(b"\xef\xbb\xbf(a \xe4)"), "(a \u{e4})");
    }

    #[test]
    fn byte_order_marks_are_skipped() {
        let marked = "\u{feff}( INFO )".as_bytes();
        assert_eq!(Head::read(marked).map(|head| head.word), Some(Word::Info));
        for text in [&*decoded(marked), "\u{feff}(\u{feff}INFO)\u{feff}"] {
            let message = parse(text, Instant::now());
            assert!(matches!(message, Ok(Message::Info)), "{message:?}");
        }
    }
}
