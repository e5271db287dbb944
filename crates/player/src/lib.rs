#![doc = include_str!("../README.md")]
//!
//! ```text
//!  requests ──▶ Player ──inbox──▶ conductor thread ──orders──▶ match thread ──▶ builder threads
//!  answers  ◀── callback ◀──────── (phases, clocks)  ◀─advice── (machine, search)        │
//!                                          ▲ └───moves──▶ followers ◀──builds────────────┘
//!                                          └─legal moves── (a position each)
//! ```
//!
//! The conductor runs no game code, so nothing in a game can delay or lose an answer. It decides
//! what each message means in the current phase, keeps the clocks (`clock`, `margin`), and answers
//! with the latest advice. The match thread alone owns the search: it searches without pause,
//! publishes its advice every few milliseconds, and takes an order at once. It catches panics of
//! game code and goes on with the next engine (`engines`): on the main build the preferred search,
//! the tree search, the flat search, then the same three on the fallback, which is the prover.
//!
//! A thread cannot be stopped while it hangs, so the match goes on without it. Followers make the
//! moves of the match on positions of their own and publish a legal move of each. The conductor
//! answers with that while the match thread is held up.
//!
//! START takes three forms on its way in: [`StartRequest`], `MatchSetup`, `BuiltGame`; and two on
//! its way out: `Advice`, [`Answer`].
//!
//! # Threads and clocks
//!
//! `player` owns the match. The match thread builds the machine and searches from START to STOP;
//! the conductor answers. The prover is made beside the machine, so that a legal move is known
//! before READY wherever it can find one, and takes over when the machine is late or fails.
//! Without either, START is refused. Each build has a follower (`player::follower`), a thread that
//! makes the moves of the match and publishes a legal move of each position: that is the answer
//! while the match thread is held up by a search that is slow or hangs, and after it has panicked
//! too often. The prover finds that move by a search for one derivation (`prover::first`), and
//! serves its follower before all other threads.
//!
//! READY leaves at the end of the start clock minus a margin, or sooner when no further search can
//! change the first move. A move leaves before the end of the play clock minus a margin. The
//! margin (`margin`) begins at the setting. Answers that the game manager confirms, by naming our
//! move among those that were played, shrink it to a fifth; a delayed answer or a replaced move
//! widens it at once. The moves of the other players are always followed, whatever was sent.
//!
//! # What holds
//!
//! Invariants: at most one match at a time; every request is answered exactly once, PLAY never with
//! an empty move.
//!
//! Never uses: sockets, HTTP, async.

#![forbid(unsafe_code)]

mod clock;
mod margin;
mod link;
mod role;
mod record;

mod studies;
mod match_searcher;
mod whole_search;
mod factored_search;
mod flat_search;
mod chance_player;
mod plan_search;
mod reduced_search;

mod position;
mod follower;
mod engine;
mod sampling;
mod companions;
mod shared_target;
mod match_setup;
mod tasks;
mod engines;
mod companion;
mod builds;
mod plan_memory;
mod match_thread;

mod pending;
mod sent_moves;
mod start_rules;
mod running;
mod conductor;
mod handle;
pub mod review;

use panza_sync::Instant;
use std::net::IpAddr;
use std::time::Duration;

pub use companion::Companion;
pub use companions::{Companions, SharedGame, SharedRoot};
pub use engines::{preferred_search, studied_search};
pub use handle::{Player, PlayerWork};
pub use match_searcher::{MatchSearcher, PlanStatus};
pub use match_thread::Thoughts;
pub use panza_game::{BuildKind, GameBuilders};
pub use position::Position;
pub use record::Record;
pub use review::{MatchFile, Review, ReviewSettings, StoredMatch};
pub use role::OurRole;
pub use sent_moves::SentMoves;
pub use shared_target::{SearchedState, SharedTarget};
pub use start_rules::StartRules;
pub use studies::{MatchConfig, Studies, StudyOf};
pub use whole_search::{search_config, whole_search};

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
