//! One match from START to STOP: phases, clocks, which machine, which search.
//!
//! ```text
//!  requests ──▶ Player ──inbox──▶ conductor thread ──orders──▶ match thread ──▶ builder threads
//!  answers  ◀── callback ◀──────── (phases, clocks)  ◀─advice── (machine, search)
//! ```
//!
//! The conductor runs no game code, so that nothing that happens in a game can delay or lose an
//! answer: it decides what each message means in the phase at hand, keeps the clocks, and answers
//! with the latest advice. The match thread alone owns the search; it searches without pause,
//! publishes its advice every few milliseconds, and takes an order at once. A panic in game code is
//! caught there, and the match goes on with the next best thing: a plain sampler, then the machine
//! of last resort.
//!
//! Invariants: at most one match at a time; every request is answered exactly once, PLAY never with
//! nothing.
//!
//! Never knows: sockets, HTTP, async.

mod clock;
mod conductor;
mod engine;
mod factored;
mod handle;
mod link;
mod record;
mod sampler;
mod searching;
mod stages;
mod worker;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::gdl::Sexpr;

pub use crate::build::GameBuilders;
pub use handle::Player;
pub use searching::search_config;

/// What INFO tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// No match is running.
    Available,
    /// A match is running.
    Busy,
}

/// The answer to a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// To START.
    Ready,
    /// To START while another match runs, and to anything about an unknown match.
    Busy,
    /// To STOP and PREVIEW.
    Done,
    /// To ABORT.
    Aborted,
    /// To PLAY: the move as GDL text; never empty.
    Move(String),
    /// To START with rules that cannot be played: what is wrong with them.
    Refused(String),
}

/// Takes the answer to one request.
pub type Reply = Box<dyn FnOnce(Answer) + Send>;

/// START.
#[derive(Clone, Debug)]
pub struct StartRequest {
    /// The match's name.
    pub match_id: String,
    /// Our role, as the message writes it.
    pub role: Sexpr,
    /// The rulesheet's statements.
    pub rules: Vec<Sexpr>,
    /// The text that the statements' spans point into.
    pub source: Arc<str>,
    /// How long the metagame lasts.
    pub start_clock: Duration,
    /// How long each move lasts.
    pub play_clock: Duration,
    /// When the message began to arrive.
    pub received: Instant,
    /// What was told beside the message.
    pub manager: Manager,
}

/// What a game manager tells of itself and of the match beside its messages; it changes nothing but
/// logs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Manager {
    /// Its name.
    pub host: Option<String>,
    /// Who plays, in the order of the roles; empty where it was not told.
    pub players: Vec<String>,
}

/// PLAY.
#[derive(Clone, Debug)]
pub struct PlayRequest {
    /// The match's name.
    pub match_id: String,
    /// What was played last, in role order; nothing for NIL.
    pub moves: Option<Vec<Sexpr>>,
    /// When the message began to arrive.
    pub received: Instant,
}
