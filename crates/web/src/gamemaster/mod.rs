//! Messages of Gamemaster as those of a game manager, and their answers.
//!
//! In Gamemaster players are web pages. A page of Panza passes its messages on as they are, in HRF.
//! Here they become messages of a game manager, in KIF. Gamemaster tells the one move that was
//! made, where a game manager tells one move for each role, so the prover follows the match to know
//! who made it.
//!
//! | message | becomes | answer |
//! |---|---|---|
//! | `ping()` | | `ready` |
//! | `start(ROLE,ruleset(...),STARTCLOCK,PLAYCLOCK)` | ABORT of the match before, START | `ready` |
//! | `play([])`, `play(MOVE)` | PLAY | the move; none where another role is in control |
//! | `stop(MOVE)` | STOP | |
//! | `abort()` | ABORT | |
//!
//! Clocks are shortened by [`MARGIN`], which is the way to the page and back.
//!
//! Invariants: there is one match at most; a message that comes twice becomes the same message
//! twice.
//!
//! Never uses: HTTP, searches.

mod companions;
mod control;
mod message;
mod own;
mod relay;

use std::sync::Mutex;
use std::time::Duration;

use control::ControlTracker;
use message::{Content, Start};
use panza_gdl::{Severity, is_playable, main_error, sexpr};
use panza_hrf::names;
use panza_player::{Answer, Manager, Message, PlayRequest, SentMoves, StartRequest, StartRules};
use panza_sync::{Instant, SystemTime, UNIX_EPOCH, lock};

pub use companions::{OrderedSearch, Orders};
pub use own::{AwaitedReply, OwnPlayer, Relay};
pub use relay::{MatchProgress, RelayReply, RelayedMessage};

/// The part of each clock that is left to the page and to Gamemaster.
pub const MARGIN: Duration = Duration::from_millis(300);

/// Errors of rules that are logged.
const MAX_ERRORS: usize = 20;

/// What a message becomes.
#[derive(Debug)]
pub enum Translation {
    /// It is answered without the player; nothing is no answer.
    Reply(Option<String>),
    /// Messages for the player, at least one. The answer to the last counts.
    Messages(Vec<Message>),
}

/// The match between Gamemaster and the player, if one is played.
#[derive(Default)]
pub struct Gamemaster {
    session: Mutex<Option<Session>>,
}

struct Session {
    match_id: String,
    player: String,
    /// The number of the START.
    started: u64,
    /// The last PLAY.
    played: Option<Played>,
    control: ControlTracker,
}

#[derive(Clone)]
struct Played {
    number: u64,
    moves: Option<SentMoves>,
}

impl Gamemaster {
    /// What a message becomes that came to us at `received`.
    ///
    /// # Errors
    /// Says what is wrong with the message, and what was expected.
    pub fn translate(
        &self,
        relayed: &RelayedMessage,
        received: Instant,
    ) -> Result<Translation, String> {
        let mut session = lock(&self.session);
        let content = Content::read(&relayed.content)?;
        let mut ours = session
            .as_mut()
            .filter(|session| session.player == relayed.player);
        let message = match (content, &mut ours) {
            (Content::Ping, _) => return Ok(Translation::Reply(Some("ready".into()))),
            (Content::Start(start), _) => return begin(&mut session, &start, relayed, received),
            (Content::Play(_), None) => {
                return Err("this match is not known; Panza may have started anew".into());
            }
            (Content::Stop(_) | Content::Abort, None) => return Ok(Translation::Reply(None)),
            (Content::Play(text), Some(ours)) => Message::Play(PlayRequest {
                is_repeat: Some(ours.is_played(relayed.number)),
                moves: ours.moves(relayed.number, text)?,
                match_id: ours.match_id.clone(),
                received: relayed.sent(received),
            }),
            (Content::Stop(text), Some(ours)) => Message::Stop {
                moves: ours.moves(relayed.number, text)?,
                match_id: ours.match_id.clone(),
            },
            (Content::Abort, Some(ours)) => Message::Abort {
                match_id: ours.match_id.clone(),
            },
        };
        if !matches!(message, Message::Play(_)) {
            *session = None;
        }
        Ok(Translation::Messages(vec![message]))
    }

    /// The answer as Gamemaster expects it; nothing where none is expected.
    ///
    /// # Errors
    /// Says why the player does not play.
    pub fn answer(&self, answer: &Answer) -> Result<Option<String>, String> {
        match answer {
            Answer::Ready => Ok(Some("ready".into())),
            Answer::Move(text) if text == names::NOOP => Ok(None),
            Answer::Move(text) => {
                let (terms, _) = sexpr::parse(text);
                let own = terms.first().and_then(names::term_from_kif);
                let own = own.ok_or_else(|| format!("the move {text} cannot be written in HRF"));
                own.map(Some)
            }
            Answer::Busy => Err("Panza plays another match".into()),
            Answer::Refused(why) => {
                *lock(&self.session) = None;
                Err(format!("the rules cannot be played: {why}"))
            }
            Answer::Done | Answer::Aborted | Answer::Status(_) => Ok(None),
        }
    }

    /// The name of the match, if one is played.
    pub fn match_id(&self) -> Option<String> {
        let session = lock(&self.session);
        session.as_ref().map(|session| session.match_id.clone())
    }
}

impl Session {
    /// Whether the last PLAY has this number.
    fn is_played(&self, number: u64) -> bool {
        let played = self.played.as_ref();
        played.is_some_and(|played| played.number == number)
    }

    /// The joint move that ends with this one; nothing before the first. Follows it, unless the
    /// message came before.
    fn moves(&mut self, number: u64, text: &str) -> Result<Option<SentMoves>, String> {
        if let Some(played) = self.played.as_ref().filter(|it| it.number == number) {
            return Ok(played.moves.clone());
        }
        let moves = match text {
            "[]" | "nil" => None,
            _ => {
                let term = names::term_to_kif(text);
                let term = term.ok_or_else(|| {
                    format!("found {}, expected a move such as mark(1,2)", shown(text))
                })?;
                Some(self.control.follow(&term.to_string()).into())
            }
        };
        self.played = Some(Played {
            number,
            moves: moves.clone(),
        });
        Ok(moves)
    }
}

/// Begins a match in place of the one before.
fn begin(
    session: &mut Option<Session>,
    start: &Start,
    relayed: &RelayedMessage,
    received: Instant,
) -> Result<Translation, String> {
    let role = names::term_to_kif(start.role)
        .ok_or_else(|| format!("found {}, expected the name of a role", shown(start.role)))?;
    // A sentence a line, so that a fault names the number of the sentence.
    let rules = read_rules(&start.sentences.join("\n"))?;
    let control = ControlTracker::new(&rules.rules);
    let known = session.take();
    // The same START again is answered as the first one.
    let again = known
        .as_ref()
        .filter(|known| known.player == relayed.player && known.started == relayed.number)
        .filter(|known| known.played.is_none());
    let match_id = again.map_or_else(
        || {
            let time = SystemTime::now().duration_since(UNIX_EPOCH);
            let milliseconds = time.map_or(0, |time| time.as_millis());
            format!("gamemaster.{}.{milliseconds}", relayed.player)
        },
        |known| known.match_id.clone(),
    );
    let mut messages = Vec::new();
    if let (Some(known), None) = (&known, again) {
        messages.push(Message::Abort {
            match_id: known.match_id.clone(),
        });
    }
    messages.push(Message::Start(StartRequest {
        match_id: match_id.clone(),
        role: role.to_string(),
        rules,
        start_clock: start.start_clock.saturating_sub(MARGIN),
        play_clock: start.play_clock.saturating_sub(MARGIN),
        received: relayed.sent(received),
        manager: Manager {
            host: Some("Gamemaster".into()),
            ..Manager::default()
        },
    }));
    *session = Some(Session {
        match_id,
        player: relayed.player.clone(),
        started: relayed.number,
        played: None,
        control,
    });
    Ok(Translation::Messages(messages))
}

/// The rules that a text in HRF writes. Faulty sentences are left out, if a game is left: the
/// manager plays on whatever happens here.
fn read_rules(text: &str) -> Result<StartRules, String> {
    let (rules, diagnostics) = panza_hrf::load(text);
    if !is_playable(&rules, &diagnostics) {
        let first = main_error(&diagnostics).map(|fault| fault.one_line("ruleset", text));
        return Err(first.unwrap_or_else(|| "the rules are no game".to_string()));
    }
    let errors = diagnostics
        .iter()
        .filter(|it| it.severity == Severity::Error);
    for error in errors.take(MAX_ERRORS) {
        tracing::warn!("{}", error.one_line("ruleset", text));
    }
    Ok(StartRules::translated(rules))
}

/// The start of a text, for an error.
fn shown(text: &str) -> String {
    let mut start: String = text.chars().take(40).collect();
    if start.len() < text.len() {
        start.push_str("...");
    }
    start
}

#[cfg(test)]
mod tests;
