//! What each message means in the current phase, and when its answer leaves.
//!
//! The conductor runs no game code and reads no clock: it is handed messages and instants, takes
//! moves from the match thread, and answers through callbacks.
//!
//! | message | idle | the running match | another match |
//! |---|---|---|---|
//! | PREVIEW | `done` | | `busy` |
//! | START | begins a match; `ready` as late as the clock allows, at once when the result is proven; rules with errors are refused with a text and begin nothing | the same START again: as the first, which is `ready` at once when that was answered; a different one: `busy` | `busy` |
//! | PLAY | `busy` | follows the moves, answers ours; a repeat gets the same answer and is not followed twice | `busy` |
//! | STOP | `busy` | `done` at once | `busy` |
//! | ABORT | `busy` | `aborted` at once | `busy` |
//!
//! Pending answers are given when a match ends: `ready` for a START, the move for a PLAY.
//!
//! A PLAY is a repeat when its moves are those of the last PLAY and one of these holds: the last
//! PLAY is unanswered; the moves are not legal once more in the position after them; our move among
//! them is not the one we answered. In a game where all players may do the same twice in a row, a
//! PLAY that names our answer is a new one. The rule errs only where a manager has replaced our
//! move by our previous one while all others repeated theirs as well. NIL after other moves is a
//! always a repeat, since there is nothing to follow.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::clock::{Deadlines, Lateness, build_until, deadlines, give_up_at};
use super::link::{Advice, Link, Order};
use super::match_thread::NewMatch;
use super::pending::PendingAnswer;
use super::record::Record;
use super::start_rules::{place_of, read_rules};
use super::{Answer, PlayRequest, Reply, StartRequest};
use crate::config::Settings;
use crate::gdl::Sexpr;

/// The answer when no legal move is known: legal in many games.
const DEFAULT_MOVE: &str = "noop";

/// A message.
pub(super) enum Request {
    Preview,
    Start(StartRequest),
    Play(PlayRequest),
    Stop {
        match_id: String,
        moves: Option<Vec<Sexpr>>,
    },
    Abort {
        match_id: String,
    },
}

/// Starts a match thread.
pub(super) type Launch = Box<dyn FnMut(NewMatch) -> io::Result<Link> + Send>;

/// The match that runs.
struct Match {
    start: StartRequest,
    our_place: usize,
    // Dropped before the link: the match thread waits for the end of the link, and is then the last
    // to hold the record, which waits for the disk.
    record: Record,
    link: Link,
    /// When the last message about it came.
    last_message: Instant,
    /// When the running clock ends.
    clock_end: Instant,
    /// Joint moves made, and the last one.
    position: usize,
    last_moves: Option<Vec<String>>,
}

/// The PLAY at the position of the match.
enum Turn {
    /// It has not come.
    Awaited,
    /// It is not answered.
    Open(PendingAnswer),
    /// It was answered with this move.
    Answered(String),
}

enum Phase {
    Idle,
    /// START is not answered yet.
    Metagaming {
        game: Match,
        waiting: PendingAnswer,
    },
    Playing {
        game: Match,
        turn: Turn,
    },
}

/// Keeps the phases and the clocks of one player.
pub(super) struct Conductor {
    settings: Arc<Settings>,
    launch: Launch,
    lateness: Lateness,
    phase: Phase,
    /// Whether a match runs; updated before any answer is given.
    is_busy: Arc<AtomicBool>,
}

impl Conductor {
    /// An idle conductor, which publishes in `is_busy` whether a match runs.
    pub fn new(settings: Arc<Settings>, is_busy: Arc<AtomicBool>, launch: Launch) -> Self {
        Self {
            settings,
            launch,
            lateness: Lateness::default(),
            phase: Phase::Idle,
            is_busy,
        }
    }

    /// Records the time from an answer to its arrival on the wire.
    pub fn note_delay(&mut self, delay: Duration) {
        self.lateness.observe(delay);
    }

    /// Handles a message.
    pub fn handle(&mut self, request: Request, reply: Reply, now: Instant) {
        match request {
            Request::Preview => match self.phase {
                Phase::Idle => reply(Answer::Done),
                _ => reply(Answer::Busy),
            },
            Request::Start(start) => self.start(start, reply, now),
            Request::Play(play) => self.play(play, reply, now),
            Request::Stop { match_id, moves } if self.is_running(&match_id) => {
                self.end(Order::Finish(moves.map(texts)), now);
                reply(Answer::Done);
            }
            Request::Abort { match_id } if self.is_running(&match_id) => {
                self.end(Order::Abandon("aborted"), now);
                reply(Answer::Aborted);
            }
            Request::Stop { match_id, .. } | Request::Abort { match_id } => {
                tracing::warn!(match_id, "a message about a match that is not running");
                reply(Answer::Busy);
            }
        }
        self.tick(now);
    }

    /// Gives the answers that are due by the clocks and the advice.
    pub fn tick(&mut self, now: Instant) {
        let idle_abort = self.settings.server.idle_abort;
        let gives_up =
            |game: &Match| now >= give_up_at(game.last_message, game.clock_end, idle_abort);
        match self.take_phase() {
            Phase::Idle => self.set_phase(Phase::Idle),
            Phase::Metagaming { game, waiting } => {
                let is_proven = game
                    .link
                    .advice(game.position)
                    .is_some_and(|advice| advice.is_proven);
                if is_proven || now >= waiting.deadlines.answer_by {
                    self.answer_start(game, waiting, now);
                } else {
                    self.set_phase(Phase::Metagaming { game, waiting });
                }
            }
            Phase::Playing {
                game,
                turn: Turn::Open(waiting),
            } => {
                let advice = game.link.advice(game.position);
                let is_due = match &advice {
                    Some(advice) => advice.is_settled() || now >= waiting.deadlines.answer_by,
                    None => now >= waiting.deadlines.last_call,
                };
                if is_due {
                    self.answer_play(game, waiting, advice, now);
                } else {
                    self.set_phase(Phase::Playing {
                        game,
                        turn: Turn::Open(waiting),
                    });
                }
            }
            Phase::Playing { game, .. } if gives_up(&game) => {
                tracing::warn!(
                    match_id = game.start.match_id,
                    "given up after long silence"
                );
                game.link
                    .order(Order::Abandon("given up after long silence"));
                self.set_phase(Phase::Idle);
            }
            phase @ Phase::Playing { .. } => self.set_phase(phase),
        }
    }

    /// When to [`tick`](Self::tick) next, if no advice comes before.
    pub fn next_tick(&self, now: Instant) -> Option<Instant> {
        match &self.phase {
            Phase::Idle => None,
            Phase::Metagaming { waiting, .. } => Some(waiting.deadlines.answer_by),
            Phase::Playing {
                turn: Turn::Open(waiting),
                ..
            } => {
                let Deadlines {
                    answer_by,
                    last_call,
                } = waiting.deadlines;
                Some(if now < answer_by {
                    answer_by
                } else {
                    last_call
                })
            }
            Phase::Playing { game, .. } => Some(give_up_at(
                game.last_message,
                game.clock_end,
                self.settings.server.idle_abort,
            )),
        }
    }

    /// Publishes the phase again, after a panic.
    pub fn recover(&mut self) {
        let phase = self.take_phase();
        self.set_phase(phase);
    }

    /// Ends the match that runs, if one does.
    pub fn shut_down(&mut self, now: Instant) {
        self.end(Order::Abandon("the player shuts down"), now);
    }

    fn take_phase(&mut self) -> Phase {
        std::mem::replace(&mut self.phase, Phase::Idle)
    }

    fn set_phase(&mut self, phase: Phase) {
        let is_busy = !matches!(phase, Phase::Idle);
        self.is_busy.store(is_busy, Ordering::Release);
        self.phase = phase;
    }

    fn is_running(&self, match_id: &str) -> bool {
        match &self.phase {
            Phase::Idle => false,
            Phase::Metagaming { game, .. } | Phase::Playing { game, .. } => {
                game.start.match_id == match_id
            }
        }
    }

    fn deadlines(&self, received: Instant, clock: Duration) -> Deadlines {
        let margin = self.settings.player.margin + self.lateness.expected();
        deadlines(received, clock, margin)
    }

    fn start(&mut self, start: StartRequest, reply: Reply, now: Instant) {
        match &mut self.phase {
            Phase::Idle => self.begin(start, reply, now),
            Phase::Metagaming { game, waiting } if game.is_same_start(&start) => {
                game.last_message = now;
                waiting.add(reply);
            }
            Phase::Playing { game, .. } if game.is_same_start(&start) => {
                game.last_message = now;
                reply(Answer::Ready);
            }
            Phase::Metagaming { game, .. } | Phase::Playing { game, .. } => {
                game.record
                    .note(&format!("busy: START of {} turned away", start.match_id));
                reply(Answer::Busy);
            }
        }
    }

    /// Begins a match.
    fn begin(&mut self, start: StartRequest, reply: Reply, now: Instant) {
        let role = start.role.to_string();
        let rules = match read_rules(&start) {
            Ok(rules) => rules,
            Err(text) => {
                tracing::error!(match_id = start.match_id, "START refused: {text}");
                reply(Answer::Refused(text));
                return;
            }
        };
        let roles: Vec<String> = rules
            .roles()
            .iter()
            .map(|role| rules.show_term(role, &[]).to_string())
            .collect();
        let record = Record::new(&self.settings, &start, &roles);
        let our_place = match place_of(&role, &roles) {
            Some(place) => place,
            None => {
                record.warning(&format!(
                    "the rules have no role {role}, but {}; the first is played",
                    roles.join(" ")
                ));
                0
            }
        };
        let deadlines = self.deadlines(start.received, start.start_clock);
        let new_match = NewMatch {
            match_id: start.match_id.clone(),
            rules: Arc::new(rules),
            role: (roles.get(our_place).cloned().unwrap_or(role), our_place),
            build_until: build_until(
                start.received,
                deadlines.answer_by,
                self.settings.player.build_seconds_share,
            ),
            ready_by: deadlines.answer_by,
            record: record.clone(),
        };
        let link = match (self.launch)(new_match) {
            Ok(link) => link,
            Err(error) => {
                record.error(&format!("no thread for the match: {error}"));
                record.ended("no thread for the match", &[]);
                reply(Answer::Busy);
                return;
            }
        };
        let waiting = PendingAnswer::new(reply, start.received, deadlines);
        let game = Match {
            our_place,
            link,
            record,
            last_message: now,
            clock_end: start.received + start.start_clock,
            position: 0,
            last_moves: None,
            start,
        };
        self.set_phase(Phase::Metagaming { game, waiting });
    }

    fn answer_start(&mut self, game: Match, waiting: PendingAnswer, now: Instant) {
        self.lateness.observe(waiting.lateness(now));
        game.record.ready(waiting.received, now);
        let turn = Turn::Awaited;
        self.set_phase(Phase::Playing { game, turn });
        waiting.answer(&Answer::Ready);
    }

    fn answer_play(
        &mut self,
        game: Match,
        waiting: PendingAnswer,
        advice: Option<Advice>,
        now: Instant,
    ) {
        let move_text = match &advice {
            Some(advice) => {
                self.lateness.observe(waiting.lateness(now));
                advice.text.clone()
            }
            None => {
                game.record.error(&format!(
                    "no legal move is known, {DEFAULT_MOVE} is answered"
                ));
                DEFAULT_MOVE.to_string()
            }
        };
        let took = now.saturating_duration_since(waiting.received);
        game.record
            .answered(game.position, &move_text, advice.as_ref(), took);
        game.link.order(Order::Answered(game.position));
        let turn = Turn::Answered(move_text.clone());
        self.set_phase(Phase::Playing { game, turn });
        waiting.answer(&Answer::Move(move_text));
    }

    fn play(&mut self, play: PlayRequest, reply: Reply, now: Instant) {
        if !self.is_running(&play.match_id) {
            tracing::warn!(
                match_id = play.match_id,
                "PLAY of a match that is not running"
            );
            reply(Answer::Busy);
            return;
        }
        // The manager has gone on: a START that is still unanswered is answered now.
        if let Phase::Metagaming { .. } = self.phase {
            self.settle(now);
        }
        let Phase::Playing { mut game, turn } = self.take_phase() else {
            reply(Answer::Busy);
            return;
        };
        game.last_message = now;
        let deadlines = self.deadlines(play.received, game.start.play_clock);
        let fresh = |reply| Turn::Open(PendingAnswer::new(reply, play.received, deadlines));
        let moves = play.moves.map(texts);
        let turn = if game.is_repeat(moves.as_deref(), &turn) {
            match turn {
                Turn::Awaited => fresh(reply),
                Turn::Open(mut waiting) => {
                    waiting.add(reply);
                    Turn::Open(waiting)
                }
                Turn::Answered(move_text) => {
                    game.record.note("PLAY repeated, and its answer");
                    reply(Answer::Move(move_text.clone()));
                    Turn::Answered(move_text)
                }
            }
        } else {
            // The manager has gone on without our answer; the caller may still be there.
            if let Turn::Open(waiting) = turn {
                let advice = game.link.advice(game.position);
                let move_text = advice.map_or(DEFAULT_MOVE.to_string(), |advice| advice.text);
                game.record
                    .warning("the next PLAY came before the last one was answered");
                waiting.answer(&Answer::Move(move_text));
            }
            if let Some(moves) = moves {
                game.position += 1;
                game.link.order(Order::Advance(moves.clone()));
                game.last_moves = Some(moves);
            }
            fresh(reply)
        };
        if matches!(turn, Turn::Open(_)) {
            game.clock_end = game.clock_end.max(play.received + game.start.play_clock);
        }
        self.set_phase(Phase::Playing { game, turn });
    }

    /// Gives the pending answer, whatever the clock.
    fn settle(&mut self, now: Instant) {
        match self.take_phase() {
            Phase::Metagaming { game, waiting } => self.answer_start(game, waiting, now),
            Phase::Playing {
                game,
                turn: Turn::Open(waiting),
            } => {
                let advice = game.link.advice(game.position);
                self.answer_play(game, waiting, advice, now);
            }
            phase => self.set_phase(phase),
        }
    }

    /// Ends the match that runs with this order.
    fn end(&mut self, order: Order, now: Instant) {
        self.settle(now);
        if let Phase::Metagaming { game, .. } | Phase::Playing { game, .. } = self.take_phase() {
            game.link.order(order);
        }
        self.set_phase(Phase::Idle);
    }
}

impl Match {
    /// Whether this START is the one that began the match, sent again.
    fn is_same_start(&self, start: &StartRequest) -> bool {
        self.start.match_id == start.match_id
            && self.start.role.to_string() == start.role.to_string()
            && self.start.rules == start.rules
    }

    /// Whether a PLAY with these moves repeats the last one; see the module's documentation.
    fn is_repeat(&self, moves: Option<&[String]>, turn: &Turn) -> bool {
        let Some(moves) = moves else {
            return true;
        };
        if self.last_moves.as_deref() != Some(moves) {
            return false;
        }
        match turn {
            Turn::Awaited => false,
            Turn::Open(_) => true,
            Turn::Answered(answer) => {
                let is_ours = moves.get(self.our_place) == Some(answer);
                let advice = self.link.advice(self.position);
                !is_ours || advice.is_some_and(|advice| !advice.repeat_is_legal)
            }
        }
    }
}

/// Canonical texts of moves.
fn texts(moves: Vec<Sexpr>) -> Vec<String> {
    moves.iter().map(Sexpr::to_string).collect()
}

#[cfg(test)]
mod tests;
