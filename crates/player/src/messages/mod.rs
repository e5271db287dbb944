//! The messages of a game manager and their answers, as the player is handed them.
//!
//! A server reads them from whatever form they come in and sends the answers back. The rules of a
//! START are read before the conductor is handed it ([`StartRules`]); moves stay texts
//! ([`SentMoves`]), since each machine of a match has numbers of its own for them.
//!
//! Invariant: the rules of a START name a role and have no error.
//!
//! Never uses: machines, threads, so that a message means the same whatever plays the match.

mod sent_moves;
mod start_rules;

use panza_sync::Instant;
use std::net::IpAddr;
use std::time::Duration;

pub use sent_moves::SentMoves;
pub use start_rules::StartRules;

/// The answer to INFO.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// No match is running.
    Available,
    /// A match is running.
    Busy,
}

/// A message of a game manager.
#[derive(Debug)]
pub enum Message {
    /// Asks whether the player is free.
    Info,
    /// Announces a game; the player does nothing with it.
    Preview,
    /// Begins a match.
    Start(StartRequest),
    /// A START with rules that cannot be played.
    Unplayable {
        /// The match.
        match_id: String,
        /// The first error.
        why: String,
    },
    /// Asks for a move.
    Play(PlayRequest),
    /// Ends a match that is over.
    Stop {
        /// The match.
        match_id: String,
        /// The last joint move.
        moves: Option<SentMoves>,
    },
    /// Ends a match at once.
    Abort {
        /// The match.
        match_id: String,
    },
}

/// The answer to a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// To START.
    Ready,
    /// To START while another match runs, and to anything about an unknown match.
    Busy,
    /// To INFO.
    Status(Status),
    /// To STOP and PREVIEW.
    Done,
    /// To ABORT.
    Aborted,
    /// To PLAY: the move as GDL text, never empty.
    Move(String),
    /// To START with rules that cannot be played: the first error.
    Refused(String),
}

/// Takes the answer to one request.
pub type Reply = Box<dyn FnOnce(Answer) + Send>;

/// START.
#[derive(Clone, Debug)]
pub struct StartRequest {
    /// The match's name.
    pub match_id: String,
    /// Our role, as canonical text.
    pub role: String,
    /// The rulesheet.
    pub rules: StartRules,
    /// How long the metagame lasts.
    pub start_clock: Duration,
    /// How long each move lasts.
    pub play_clock: Duration,
    /// When the message began to arrive.
    pub received: Instant,
    /// What the game manager sent beside the message.
    pub manager: Manager,
}

/// What is known of a game manager beside its messages.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Manager {
    /// Its name, for logs.
    pub host: Option<String>,
    /// The players' names, in the order of the roles; empty if unknown. For logs.
    pub players: Vec<String>,
    /// Where its messages come from, if that is known.
    pub address: Option<IpAddr>,
}

/// PLAY.
#[derive(Clone, Debug)]
pub struct PlayRequest {
    /// The match's name.
    pub match_id: String,
    /// The last joint move; `None` for NIL.
    pub moves: Option<SentMoves>,
    /// Whether this PLAY repeats the last one, where the manager's messages have numbers. With
    /// `None` the moves are compared.
    pub is_repeat: Option<bool>,
    /// When the message began to arrive.
    pub received: Instant,
}
