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
//! what each message means in the current phase, keeps the clocks (`clock`), and answers with the
//! latest advice. The match thread alone owns the search: it searches without pause, publishes its
//! advice every few milliseconds, and takes an order at once. It catches panics of game code and
//! goes on with the next engine (`thread::engines`): on the main build the preferred search, the
//! tree search, the flat search, then the same three on the fallback, which is the prover.
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
//! `player` owns the match. Build threads make the machine, the match thread searches from START to
//! STOP, and the conductor answers. The prover is made beside the machine, so that a legal move is
//! known before READY wherever it can find one, and takes over when the machine is late or fails.
//! Without either, START is refused. Each build has a follower (`thread::follower`), a thread that
//! makes the moves of the match and publishes a legal move of each position: that is the answer
//! while the match thread is held up by a search that is slow or hangs, and after it has panicked
//! too often. The prover finds that move by a search for one derivation (`prover::first`), and
//! serves its follower before all other threads.
//!
//! READY leaves at the end of the start clock minus a margin, or sooner when no further search can
//! change the first move. A move leaves before the end of the play clock minus a margin. The
//! margin (`clock::margin`) begins at the setting. Answers that the game manager confirms, by
//! naming our move among those that were played or by going on before its clock has ended, shrink
//! it to a fifth; a delayed answer, or a move that was replaced at the end of its clock, widens it
//! at once. The moves of all players are always followed, whatever was answered.
//!
//! # Rooms
//!
//! A module uses only those above it: `messages` from a game manager; `clock`, its deadlines;
//! `search`, what chooses moves; `common`, what the conductor and the threads of a match both hold;
//! `companions`, other processes that search; `thread`, the match thread and its helpers;
//! `conductor`, what each message means; `review`, a look back at a match.
//!
//! # What holds
//!
//! Invariants: at most one match at a time; every request is answered exactly once, PLAY never with
//! an empty move.
//!
//! Never uses: sockets, HTTP, async.

#![forbid(unsafe_code)]

mod messages;
mod clock;
mod search;
mod common;
mod companions;
mod thread;
mod conductor;
pub mod review;

pub use common::{OurRole, Position, Record};
pub use companions::{Companion, Companions, SearchedState, SharedGame, SharedRoot, SharedTarget};
pub use conductor::{Player, PlayerWork};
pub use messages::{
    Answer, Manager, Message, PlayRequest, Reply, SentMoves, StartRequest, StartRules, Status,
};
pub use panza_game::{BuildKind, GameBuilders};
pub use review::{MatchFile, Review, ReviewSettings, StoredMatch};
pub use search::{
    Effort, MatchConfig, MatchSearcher, PlanStatus, PreparationOf, Preparations, preferred_search,
    prepared_search, search_config, whole_search,
};
pub use thread::Thoughts;
