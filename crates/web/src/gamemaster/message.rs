//! What a message of Gamemaster says: a word, and its arguments in parentheses.
//!
//! Arguments are split at commas outside of parentheses, brackets and quotes. Terms and rules are
//! not parsed here. Time and memory are in proportion to the text.
//!
//! Never uses: matches, clocks that run.

use std::time::Duration;

use super::shown;

/// Longer clocks are cut to this.
const LONGEST_CLOCK: Duration = Duration::from_secs(7 * 24 * 3600);

/// What a message says; texts are HRF.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Content<'a> {
    /// Asks whether the player is there.
    Ping,
    /// Begins a match.
    Start(Start<'a>),
    /// Tells the last move, `[]` before the first.
    Play(&'a str),
    /// Tells the last move, and that the match is over.
    Stop(&'a str),
    /// Ends the match.
    Abort,
}

/// What begins a match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Start<'a> {
    /// The player's role.
    pub role: &'a str,
    /// The sentences of the rules.
    pub sentences: Vec<&'a str>,
    /// The time before the first move.
    pub start_clock: Duration,
    /// The time for each move.
    pub play_clock: Duration,
}

impl<'a> Content<'a> {
    /// Reads a message.
    ///
    /// # Errors
    /// Says what was found and what was expected.
    pub fn read(text: &'a str) -> Result<Self, String> {
        let form = "expected ping(), start(ROLE,ruleset(...),STARTCLOCK,PLAYCLOCK), play(MOVE), \
                    stop(MOVE) or abort()";
        let unknown = || format!("found {}, {form}", shown(text));
        let (word, arguments) = applied(text).ok_or_else(unknown)?;
        match (word, &arguments[..]) {
            ("ping", []) => Ok(Content::Ping),
            ("abort", []) => Ok(Content::Abort),
            ("play", [last]) => Ok(Content::Play(last)),
            ("stop", [last]) => Ok(Content::Stop(last)),
            ("start", [role, ruleset, start_clock, play_clock]) => {
                let Some(("ruleset", sentences)) = applied(ruleset) else {
                    return Err(format!("found {}, expected ruleset(...)", shown(ruleset)));
                };
                Ok(Content::Start(Start {
                    role,
                    sentences,
                    start_clock: clock(start_clock)?,
                    play_clock: clock(play_clock)?,
                }))
            }
            _ => Err(unknown()),
        }
    }
}

fn clock(text: &str) -> Result<Duration, String> {
    let seconds: Option<f64> = text.parse().ok().filter(|seconds| *seconds >= 0.0);
    let seconds =
        seconds.ok_or_else(|| format!("found {}, expected the seconds of a clock", shown(text)))?;
    let longest = LONGEST_CLOCK.as_secs_f64();
    Ok(Duration::from_secs_f64(seconds.min(longest)))
}

/// A word and its arguments; nothing for what is not of that form.
fn applied(text: &str) -> Option<(&str, Vec<&str>)> {
    let (word, rest) = text.trim().split_once('(')?;
    let word = word.trim();
    let inner = rest.strip_suffix(')')?;
    let is_word = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let arguments = arguments(inner)?;
    is_word.then_some((word, arguments))
}

/// What stands between the outer commas; nothing if parentheses or quotes do not match.
fn arguments(text: &str) -> Option<Vec<&str>> {
    let mut arguments = Vec::new();
    let mut start = 0;
    let mut depth = 0_usize;
    let mut is_quoted = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => {
                arguments.push(text.get(start..at)?.trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = text.get(start..)?.trim();
    if !(arguments.is_empty() && last.is_empty()) {
        arguments.push(last);
    }
    (depth == 0 && !is_quoted).then_some(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read() {
        for (text, expected) in [
            ("ping()", Content::Ping),
            (" abort( ) ", Content::Abort),
            ("play([])", Content::Play("[]")),
            (
                "play(say(\"a,b)\",[1,2]))",
                Content::Play("say(\"a,b)\",[1,2])"),
            ),
            ("stop(mark(1,2))", Content::Stop("mark(1,2)")),
            (
                "start(x,ruleset(role(x),p(a,b) :- q(a) & r(b), t),10,Infinity)",
                Content::Start(Start {
                    role: "x",
                    sentences: vec!["role(x)", "p(a,b) :- q(a) & r(b)", "t"],
                    start_clock: Duration::from_secs(10),
                    play_clock: LONGEST_CLOCK,
                }),
            ),
        ] {
            assert_eq!(Content::read(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn faults_say_what_was_expected() {
        for (text, expected) in [
            ("", "expected ping()"),
            ("ping", "expected ping()"),
            ("play(a,b)", "expected ping()"),
            ("play(a))", "expected ping()"),
            ("play(\"a)", "expected ping()"),
            ("start(x,role(x),10,10)", "expected ruleset"),
            ("start(x,ruleset(),ten,10)", "expected the seconds"),
            ("start(x,ruleset(),-1,10)", "expected the seconds"),
            ("start(x,ruleset(),10,NaN)", "expected the seconds"),
        ] {
            let fault = Content::read(text).expect_err(text);
            assert!(fault.contains(expected), "{text}: {fault}");
        }
    }
}
