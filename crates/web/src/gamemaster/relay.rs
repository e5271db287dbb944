//! What a page of Gamemaster sends and gets back for each message.
//!
//! `POST /gamemaster/message` with `{"player", "number", "content", "waited"}`, the milliseconds
//! since the message came, and `sent_at` where it waits for a player without threads, is answered
//! with `{"reply", "match", "thoughts"}`: the reply or null, the folder of the match's log, what is
//! thought there. A player without logs tells what it thinks
//! itself, with the line that it expects.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use panza_gdl::sexpr;
use panza_hrf::names;
use panza_player::Thoughts as OfMatch;
use panza_sync::{Instant, SystemTime, UNIX_EPOCH};
use panza_telemetry::{Archive, Part};

/// Limit on the identifier of a player, in characters.
const LONGEST_PLAYER: usize = 80;
/// Most time that a message can have waited in its page.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Bytes at the end of a series in which its last line is looked for.
const SERIES_TAIL: usize = 16 * 1024;

/// A message of Gamemaster as its page relays it.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct RelayedMessage {
    /// The identifier that the player's page has in Gamemaster.
    pub player: String,
    /// The number of the message; a reply bears the same.
    pub number: u64,
    /// What it says, such as `play(mark(1,2))`.
    pub content: String,
    /// Milliseconds since the message came to the page.
    #[serde(default)]
    pub waited: u64,
    /// When the page sent it, in milliseconds since 1970 by the clock of this machine, where it may
    /// have waited on its way here too.
    #[serde(default)]
    pub sent_at: Option<u64>,
}

/// The answer to it.
#[derive(Debug, Serialize)]
pub struct RelayReply {
    /// The reply, if one is expected.
    pub reply: Option<String>,
    /// What is known of the match by now.
    #[serde(flatten)]
    pub progress: MatchProgress,
}

/// What is known of a match by now.
#[derive(Debug, Default, Serialize)]
pub struct MatchProgress {
    #[serde(rename = "match")]
    folder: Option<String>,
    thoughts: Option<Thoughts>,
}

/// The latest figures of a match.
#[derive(Debug, PartialEq, Serialize)]
struct Thoughts {
    #[serde(rename = "move")]
    best_move: String,
    /// Its value for our role, 0 to 100.
    value: f64,
    iterations_per_second: f64,
    /// The moves that are expected; none where no line is known.
    line: Vec<String>,
}

impl RelayedMessage {
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

    /// When it came to the page, if it came here at `received`.
    pub fn sent(&self, received: Instant) -> Instant {
        let on_way = self.sent_at.and_then(|sent_at| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
            now.checked_sub(Duration::from_millis(sent_at))
        });
        let waited = Duration::from_millis(self.waited).saturating_add(on_way.unwrap_or_default());
        let sent = received.checked_sub(waited.min(LONGEST_WAIT));
        sent.unwrap_or(received)
    }
}

impl MatchProgress {
    /// What a match thinks that has no log.
    pub fn of(thoughts: Option<OfMatch>) -> Self {
        Self {
            folder: None,
            thoughts: thoughts.and_then(Thoughts::of_match),
        }
    }

    /// Reads the log of a match; nothing is known where there is none.
    pub fn read(archive: &Archive, match_id: &str) -> Self {
        let entry = archive.find(match_id);
        Self {
            thoughts: entry.as_ref().and_then(|it| latest(archive, &it.folder)),
            folder: entry.map(|entry| entry.folder.clone()),
        }
    }
}

/// What is thought in the match of this folder.
fn latest(archive: &Archive, folder: &str) -> Option<Thoughts> {
    let length = archive.slice(folder, Part::Series, u64::MAX, 0);
    let from = length.map_or(0, |(_, length)| length.saturating_sub(SERIES_TAIL as u64));
    let (tail, _) = archive
        .slice(folder, Part::Series, from, SERIES_TAIL)
        .ok()?;
    Thoughts::of_series(&tail)
}

impl Thoughts {
    /// What the last whole line of a series says.
    fn of_series(tail: &[u8]) -> Option<Self> {
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
            line: Vec::new(),
        })
    }

    /// As Gamemaster writes it: of each joint move the one of the role that does not wait. `None`
    /// where ours waits.
    fn of_match(found: OfMatch) -> Option<Self> {
        if found.best_move == names::NOOP {
            return None;
        }
        let line = found.line.iter().filter_map(|moves| {
            let mut made = moves.iter().filter(|text| **text != names::NOOP);
            made.next().map(|text| own_text(text))
        });
        Some(Self {
            best_move: own_text(&found.best_move),
            value: found.value?,
            iterations_per_second: found.iterations_per_second,
            line: line.collect(),
        })
    }
}

/// A move as Gamemaster writes it; as it is where that cannot be.
fn own_text(text: &str) -> String {
    let (terms, _) = sexpr::parse(text);
    let own = terms.first().and_then(names::term_from_kif);
    own.unwrap_or_else(|| text.to_string())
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
            line: Vec::new(),
        };
        assert_eq!(Thoughts::of_series(lines), Some(expected));
        assert_eq!(Thoughts::of_series(b"1.0,0,10,2.0,,,\n"), None);
        assert_eq!(Thoughts::of_series(b""), None);
    }

    #[test]
    fn the_time_in_the_page_and_on_the_way_counts() {
        let message = |waited: u64, sent_at: Option<u64>| RelayedMessage {
            player: "panza".into(),
            number: 1,
            content: String::new(),
            waited,
            sent_at,
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let now = u64::try_from(now.as_millis()).unwrap();
        let received = Instant::now();
        let before = |message: RelayedMessage| received - message.sent(received);
        assert_eq!(before(message(20, None)), Duration::from_millis(20));
        assert!(before(message(20, Some(now - 500))) >= Duration::from_millis(520));
        // One that is sent later than now was sent now.
        assert_eq!(
            before(message(20, Some(now + 5000))),
            Duration::from_millis(20)
        );
        assert_eq!(before(message(20, Some(0))), LONGEST_WAIT);
        assert_eq!(before(message(u64::MAX, Some(u64::MAX))), LONGEST_WAIT);
    }

    #[test]
    fn thoughts_are_told_as_gamemaster_writes_moves() {
        let joint = |moves: [&str; 2]| moves.map(String::from).to_vec();
        let found = OfMatch {
            best_move: "(mark 1 2)".into(),
            value: Some(75.0),
            iterations_per_second: 9.0,
            line: vec![
                joint(["(mark 1 2)", "noop$"]),
                joint(["noop$", "(mark 3 1)"]),
            ],
        };
        let told = Thoughts::of_match(found.clone()).unwrap();
        assert_eq!(told.best_move, "mark(1,2)");
        assert_eq!(told.line, ["mark(1,2)", "mark(3,1)"]);
        let unsearched = OfMatch {
            value: None,
            ..found.clone()
        };
        assert_eq!(Thoughts::of_match(unsearched), None);
        let waiting = OfMatch {
            best_move: "noop$".into(),
            ..found
        };
        assert_eq!(Thoughts::of_match(waiting), None);
    }

    #[test]
    fn names_of_players_are_short_and_plain() {
        let read = |player: &str| {
            let body = serde_json::json!({ "player": player, "number": 1, "content": "ping()" });
            RelayedMessage::read(body.to_string().as_bytes())
        };
        assert!(read("panza").is_ok());
        for player in ["", "a/b", "a\nb", &"a".repeat(81)] {
            assert!(read(player).is_err(), "{player:?}");
        }
        assert!(RelayedMessage::read(b"{}").is_err());
    }
}
