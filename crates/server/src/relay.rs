//! The door for the page that plays in Gamemaster: who may pass messages on, and their form.
//!
//! | request | answer |
//! |---|---|
//! | `POST /gamemaster/message` with `{"player", "number", "content", "waited"}`, the milliseconds since the message came | `{"reply", "match", "thoughts"}`: the reply or null, the folder of the match's log, what is thought there |
//! | `GET /api/gamemaster` | `{"key", "origins"}`, for browsers that may play here |
//!
//! **The rule.** Messages are taken from browsers of this machine, under a known host name, in two
//! cases. The page is the player's own. Or its origin is one of `server.gamemaster_origins` and it
//! shows the key: the other pages of Gamemaster are of the same origin, and nothing but the key
//! tells ours from them. The key is `server.pages_secret`, or else random for each run.
//!
//! Never uses: what a message says.

use hyper::Request;
use hyper::header::{self, HeaderValue};
use serde::{Deserialize, Serialize};

use panza_config::{Origins, Secret, ServerSettings};

/// Where messages are sent, in the only spelling that is taken.
pub(super) const PATH: &str = "/gamemaster/message";
/// Bytes of a random key, before it is written as text.
const KEY_BYTES: usize = 16;
/// Limit on the identifier of a player, in characters.
const LONGEST_PLAYER: usize = 80;

/// A message of Gamemaster as the page passes it on.
#[derive(Debug, Deserialize)]
pub(super) struct Relayed {
    /// The identifier of the page's player.
    pub player: String,
    pub number: u64,
    pub content: String,
    /// Milliseconds since the message came to the page.
    #[serde(default)]
    pub waited: u64,
}

/// The answer to it.
#[derive(Debug, Serialize)]
pub(super) struct Relay {
    pub reply: Option<String>,
    #[serde(rename = "match")]
    pub folder: Option<String>,
    pub thoughts: Option<Thoughts>,
}

/// The latest figures of a match.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Thoughts {
    #[serde(rename = "move")]
    pub best_move: String,
    /// Its value for our role, 0 to 100.
    pub value: f64,
    pub iterations_per_second: f64,
}

impl Relayed {
    /// Reads what a page sends.
    ///
    /// # Errors
    /// Says what is wrong.
    pub fn read(body: &[u8]) -> Result<Self, String> {
        let relayed: Self = serde_json::from_slice(body).map_err(|fault| fault.to_string())?;
        let is_plain = |character: char| !character.is_control() && character != '/';
        let length = relayed.player.chars().count();
        if !(1..=LONGEST_PLAYER).contains(&length) || !relayed.player.chars().all(is_plain) {
            let text = "`player` is not a name of 1 to";
            return Err(format!("{text} {LONGEST_PLAYER} characters without `/`"));
        }
        Ok(relayed)
    }
}

impl Thoughts {
    /// What the last whole line of a series says.
    pub fn of_series(tail: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(tail);
        let line = text.lines().last()?;
        let mut cells = line.split(',');
        let iterations_per_second = cells.nth(3)?.parse().ok()?;
        let (_, rest) = line.split_once(",\"")?;
        let (best_move, rest) = rest.split_once("\",")?;
        let value = rest.split(',').next()?.parse().ok()?;
        Some(Self {
            best_move: best_move.replace("\"\"", "\""),
            value,
            iterations_per_second,
        })
    }
}

/// Who may pass messages on.
#[derive(Clone)]
pub(super) struct Door {
    origins: Origins,
    key: Option<Secret>,
}

impl Door {
    pub fn new(settings: &ServerSettings) -> Self {
        let own = settings.pages_secret.clone();
        let key = match own.word() {
            Some(_) => Some(own),
            None => random_key(),
        };
        Self {
            origins: settings.gamemaster_origins.clone(),
            key,
        }
    }

    /// The origin of the page that sends the request, if it is one of Gamemaster's and asks at this
    /// door.
    pub fn origin<B>(&self, request: &Request<B>) -> Option<HeaderValue> {
        if request.uri().path() != PATH {
            return None;
        }
        let mut origins = request.headers().get_all(header::ORIGIN).iter();
        let (Some(origin), None) = (origins.next(), origins.next()) else {
            return None;
        };
        let is_known = origin.to_str().is_ok_and(|it| self.origins.contain(it));
        is_known.then(|| origin.clone())
    }

    /// Why a page may not pass a message on, if it may not: one of a browser that is here, on this
    /// machine, and one of our own or not.
    pub fn refusal<B>(
        &self,
        request: &Request<B>,
        is_here: bool,
        is_own_page: bool,
    ) -> Option<&'static str> {
        if !is_here {
            return Some("messages of Gamemaster are taken from browsers of this machine");
        }
        let bearer = request.headers().get(header::AUTHORIZATION);
        let word = bearer.and_then(|text| text.to_str().ok()?.strip_prefix("Bearer "));
        let shows_key = || {
            let key = self.key.as_ref();
            word.is_some_and(|word| key.is_some_and(|key| key.is(word.trim())))
        };
        (!is_own_page && !shows_key())
            .then_some("the key is missing or wrong; Panza's own page /gamemaster shows it")
    }

    /// The key, for browsers that may play here.
    pub fn key(&self) -> Option<&str> {
        self.key.as_ref().and_then(Secret::word)
    }

    /// The origins of Gamemaster's pages.
    pub fn origins(&self) -> impl Iterator<Item = &str> {
        self.origins.iter()
    }
}

/// A key that nobody can guess; none if the system gives no random numbers, and then no page but
/// the player's own may pass messages on.
fn random_key() -> Option<Secret> {
    let mut bytes = [0; KEY_BYTES];
    if let Err(error) = getrandom::fill(&mut bytes) {
        tracing::warn!("there is no key for the page of Gamemaster: {error}");
        return None;
    }
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Secret::try_from(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_are_those_of_the_last_line() {
        let lines = b"1.0,0,10,2.0,3,4.0,5,,,,,,,,\n\
            4.000,3,1000,250.0,64000,16000.0,777,0.1,1.0,0.5,64.00,\"(say \"\"a\"\")\",61.250,9,\"[]\"\n";
        let expected = Thoughts {
            best_move: "(say \"a\")".into(),
            value: 61.25,
            iterations_per_second: 250.0,
        };
        assert_eq!(Thoughts::of_series(lines), Some(expected));
        assert_eq!(Thoughts::of_series(b"1.0,0,10,2.0,,,\n"), None);
        assert_eq!(Thoughts::of_series(b""), None);
    }

    #[test]
    fn names_of_players_are_short_and_plain() {
        let read = |player: &str| {
            let body = serde_json::json!({ "player": player, "number": 1, "content": "ping()" });
            Relayed::read(body.to_string().as_bytes())
        };
        assert!(read("panza").is_ok());
        for player in ["", "a/b", "a\nb", &"a".repeat(81)] {
            assert!(read(player).is_err(), "{player:?}");
        }
        assert!(Relayed::read(b"{}").is_err());
    }

    #[test]
    fn keys_differ() {
        let [first, second] = [random_key(), random_key()].map(|key| key.expect("random numbers"));
        assert!(first != second && first.word().is_some_and(|word| word.len() == 2 * KEY_BYTES));
    }
}
