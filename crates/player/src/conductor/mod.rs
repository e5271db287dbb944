//! What each message means in the current phase, and when its answer leaves.
//!
//! The conductor runs no game code and reads no clock: it is handed messages and instants, takes
//! moves from the match thread, and answers through callbacks.
//!
//! | message | idle | the running match | another match |
//! |---|---|---|---|
//! | PREVIEW | `done` | | `busy` |
//! | START | begins a match; `ready` as late as the clock allows, at once when the result is proven, later where no legal move is known; rules with errors, and rules without a machine, are refused with a text and begin nothing | the same START again: as the first, which is `ready` at once when that was answered; a different one: `busy` | `busy` |
//! | PLAY | `busy` | follows the moves, answers ours; a repeat gets the same answer and is not followed twice | `busy` |
//! | STOP | `busy` | `done` at once | `busy` |
//! | ABORT | `busy` | `aborted` at once | `busy` |
//!
//! Pending answers are given when a match ends: `ready` for a START, the move for a PLAY.
//!
//! Gamemaster numbers its messages, and a PLAY with the number of the last one is a repeat. For
//! other managers a PLAY is a repeat when its moves are those of the last PLAY and one of these
//! holds: the last PLAY is unanswered; the moves are not legal once more in the position after
//! them; our move among them is not the one we answered. In a game where all players may do the
//! same twice in a row, a PLAY that names our answer is a new one. So is one after an answer that
//! the manager may have replaced by our previous move: one that was given without a known legal
//! move, or that had not been taken by the end of the clock. Whether the moves are legal once more
//! may be unknown then; in a game of one player they mostly are. And so is one in a match whose
//! manager has made another move of ours than an answer that it had in time, as in an opening. NIL
//! after other moves is always a repeat, since there is nothing to follow.
//!
//! A `pending` answer knows its deadlines and who waits for it. `running` says which match runs,
//! for every thread to read. `handle` is what callers hold, and the conductor's thread behind it.
//!
//! Invariants: at most one match at a time; every request is answered exactly once, PLAY never with
//! an empty move.
//!
//! Never uses: game code and the time, so that nothing in a game can delay or lose an answer; only
//! `handle` reads a clock, and makes the steps of the match where there are no threads.

mod pending;
mod running;
mod handle;

use std::sync::Arc;
use std::time::Duration;

pub use handle::{Player, PlayerWork};

use crate::clock::{Margin, build_until, deadlines, give_up_at};
use crate::common::{Advice, Link, MatchSetup, Order, OurRole, Record, StartMatch};
use crate::messages::{Answer, Message, PlayRequest, Reply, SentMoves, StartRequest, Status};
use panza_config::Settings;
use panza_sync::Instant;
use pending::PendingAnswer;
use running::RunningMatch;

/// The answer when no legal move was ever known: legal in many games.
const DEFAULT_MOVE: &str = "noop";

/// The match that runs.
struct Match {
    match_id: Arc<str>,
    /// Our role and the rules as the START had them.
    role: String,
    rules_text: Arc<str>,
    play_clock: Duration,
    our_index: usize,
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
    last_moves: Option<SentMoves>,
    /// Whether the manager has made another move of ours than an answer that it had in time.
    is_led: bool,
    phase: Phase,
}

/// The phase of a match, by the last request.
enum Phase {
    /// START is not answered.
    Starting(PendingAnswer),
    /// No PLAY has come for this position.
    Waiting,
    /// PLAY is not answered.
    Playing(PendingAnswer),
    /// PLAY was answered with this move, and whether a legal move was known.
    Answered { text: String, was_known: bool },
}

/// Keeps the phases and the clocks of one player.
pub(crate) struct Conductor {
    settings: Arc<Settings>,
    factory: Box<dyn StartMatch>,
    margin: Margin,
    game: Option<Match>,
    /// The match that runs; updated before any answer is given.
    running: Arc<RunningMatch>,
}

impl Conductor {
    /// An idle conductor, which publishes in `running` which match runs.
    pub fn new(
        settings: Arc<Settings>,
        running: Arc<RunningMatch>,
        factory: Box<dyn StartMatch>,
    ) -> Self {
        Self {
            margin: Margin::new(settings.player.margin),
            settings,
            factory,
            game: None,
            running,
        }
    }

    /// Records the time from the last answer until its bytes were handed to the socket.
    pub fn note_delay(&mut self, delay: Duration) {
        self.margin.handed_over(delay);
    }

    /// Handles a message.
    pub fn handle(&mut self, message: Message, reply: Reply, now: Instant) {
        match message {
            Message::Info => reply(Answer::Status(match self.game {
                None => Status::Available,
                Some(_) => Status::Busy,
            })),
            Message::Preview => reply(match self.game {
                None => Answer::Done,
                Some(_) => Answer::Busy,
            }),
            Message::Unplayable { match_id, why } => {
                tracing::error!(match_id, "START refused: {why}");
                reply(match self.game {
                    None => Answer::Refused(why),
                    Some(_) => Answer::Busy,
                });
            }
            Message::Start(start) => self.start(start, reply, now),
            Message::Play(play) => self.play(play, reply, now),
            Message::Stop { match_id, moves } if self.is_running(&match_id) => {
                self.compare_with_answer(moves.as_deref(), now);
                let ended = self.end(Order::Finish(moves), now);
                reply(Answer::Done);
                drop(ended);
            }
            Message::Abort { match_id } if self.is_running(&match_id) => {
                let ended = self.end(Order::Abandon("aborted"), now);
                reply(Answer::Aborted);
                drop(ended);
            }
            Message::Stop { match_id, .. } | Message::Abort { match_id } => {
                tracing::warn!(match_id, "a message about a match that is not running");
                reply(Answer::Busy);
            }
        }
        self.tick(now);
    }

    /// Gives the answers that are due by the clocks and the advice.
    pub fn tick(&mut self, now: Instant) {
        self.refuse();
        let Some(game) = &mut self.game else {
            return;
        };
        let advice = game.link.advice(game.position);
        if let (None, Phase::Starting(pending) | Phase::Playing(pending)) =
            (&advice, &mut game.phase)
        {
            pending.note_without_move(now);
        }
        let Some(game) = &self.game else {
            return;
        };
        let is_due = match &game.phase {
            Phase::Starting(pending) => {
                let is_proven = advice
                    .as_ref()
                    .is_some_and(|advice| advice.best.is_proven_best);
                is_proven || pending.is_due(advice.is_some(), now)
            }
            Phase::Playing(pending) => match advice {
                Some(advice) => advice.is_settled() || pending.is_due(true, now),
                None => pending.is_due(false, now),
            },
            Phase::Waiting | Phase::Answered { .. } => {
                if now >= self.give_up_at(game) {
                    let match_id = &*game.match_id;
                    let _entered = game.record.enter();
                    tracing::warn!(match_id, "given up after long silence");
                    game.link
                        .order(Order::Abandon("given up after long silence"));
                    self.set_game(None);
                }
                false
            }
        };
        if is_due {
            self.settle(now);
        }
    }

    /// Refuses a START that is unanswered where the match thread found that the game cannot be
    /// played, and ends the match.
    fn refuse(&mut self) {
        let Some(game) = &mut self.game else {
            return;
        };
        let Some(why) = game.link.refusal().map(str::to_string) else {
            return;
        };
        if !matches!(game.phase, Phase::Starting(_)) {
            return;
        }
        let phase = std::mem::replace(&mut game.phase, Phase::Waiting);
        let entered = game.record.enter();
        tracing::error!(match_id = &*game.match_id, "START refused: {why}");
        drop(entered);
        game.link.order(Order::Abandon("refused"));
        self.set_game(None);
        if let Phase::Starting(pending) = phase {
            pending.answer(&Answer::Refused(why));
        }
    }

    /// When to [`tick`](Self::tick) next, if no advice comes before.
    pub fn next_tick(&self, now: Instant) -> Option<Instant> {
        let game = self.game.as_ref()?;
        Some(match &game.phase {
            Phase::Starting(pending) | Phase::Playing(pending) => pending.next_deadline(now),
            Phase::Waiting | Phase::Answered { .. } => self.give_up_at(game),
        })
    }

    /// Publishes whether a match runs again, after a panic.
    pub fn recover(&mut self) {
        let game = self.game.take();
        self.set_game(game);
    }

    /// Ends the match that runs, if one does.
    pub fn shut_down(&mut self, now: Instant) {
        drop(self.end(Order::Abandon("the player shuts down"), now));
    }

    fn set_game(&mut self, game: Option<Match>) {
        self.running
            .set(game.as_ref().map(|game| Arc::clone(&game.match_id)));
        self.game = game;
    }

    fn is_running(&self, match_id: &str) -> bool {
        let game = self.game.as_ref();
        game.is_some_and(|game| *game.match_id == *match_id)
    }

    fn give_up_at(&self, game: &Match) -> Instant {
        let idle_abort = self.settings.server.idle_abort;
        give_up_at(game.last_message, game.clock_end, idle_abort)
    }

    /// Begins a match, unless one runs.
    fn start(&mut self, mut start: StartRequest, reply: Reply, now: Instant) {
        if let Some(game) = &mut self.game {
            game.start_again(start, reply, now);
            return;
        }
        let longest = self.settings.server.max_clock;
        let asked = (start.start_clock, start.play_clock);
        start.start_clock = start.start_clock.min(longest);
        start.play_clock = start.play_clock.min(longest);
        let roles = start.rules.rules.role_names();
        let record = Record::new(&self.settings, &start, &roles);
        let _entered = record.enter();
        if asked != (start.start_clock, start.play_clock) {
            let (start_clock, play_clock) = asked;
            record.warning(&format!(
                "the clocks of {start_clock:?} and {play_clock:?} are cut to at most {longest:?} \
                 (server.max_clock_seconds)"
            ));
        }
        self.margin.begin_match(start.manager.address);
        let role = our_role(&start.role, &roles, &record);
        let our_index = role.index;
        let deadlines = deadlines(start.received, start.start_clock, self.margin.get());
        let share = self.settings.player.build_seconds_share;
        let setup = MatchSetup {
            match_id: start.match_id.clone(),
            rules: start.rules.clone(),
            role,
            build_until: build_until(start.received, deadlines.answer_by, share),
            ready_by: deadlines.answer_by,
            settings: Arc::clone(&self.settings),
            record: record.clone(),
        };
        let link = match self.factory.start(setup) {
            Ok(link) => link,
            Err(error) => {
                record.error(&format!("no thread for the match: {error}"));
                record.ended("no thread for the match", &[]);
                reply(Answer::Busy);
                return;
            }
        };
        self.set_game(Some(Match {
            match_id: start.match_id.into(),
            role: start.role,
            rules_text: start.rules.text,
            play_clock: start.play_clock,
            our_index,
            link,
            record,
            last_message: now,
            clock_end: start.received + start.start_clock,
            position: 0,
            last_moves: None,
            is_led: false,
            phase: Phase::Starting(PendingAnswer::new(reply, start.received, deadlines)),
        }));
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
        if let Some(game) = &self.game
            && let Phase::Starting(_) = game.phase
        {
            // The manager has gone on: a START that is still unanswered is answered now.
            self.settle(now);
        }
        let moves = play.moves;
        let game = self.game.as_ref();
        let told = play.is_repeat.filter(|_| moves.is_some());
        let is_repeat = told.unwrap_or_else(|| {
            game.is_some_and(|game| game.is_repeat(moves.as_deref(), play.received))
        });
        if !is_repeat {
            self.compare_with_answer(moves.as_deref(), play.received);
        }
        let Some(game) = &mut self.game else {
            return reply(Answer::Busy);
        };
        game.last_message = now;
        let deadlines = deadlines(play.received, game.play_clock, self.margin.get());
        let pending = |reply| PendingAnswer::new(reply, play.received, deadlines);
        if is_repeat {
            match &mut game.phase {
                Phase::Playing(pending) => pending.add(reply),
                Phase::Answered { text, .. } => {
                    game.record.note("PLAY repeated, and its answer");
                    reply(Answer::Move(text.clone()));
                }
                Phase::Starting(_) | Phase::Waiting => game.phase = Phase::Playing(pending(reply)),
            }
        } else {
            // The manager has gone on without our answer; the caller may still be there.
            if let Phase::Playing(pending) = std::mem::replace(&mut game.phase, Phase::Waiting) {
                let advice = game.link.advice(game.position);
                let move_text = advice.map_or_else(|| game.guess(), |advice| advice.best.mv);
                game.record
                    .warning("the next PLAY came before the last one was answered");
                pending.answer(&Answer::Move(move_text));
            }
            if let Some(moves) = moves {
                game.position += 1;
                game.link.order(Order::Advance(moves.clone()));
                game.last_moves = Some(moves);
            }
            game.phase = Phase::Playing(pending(reply));
        }
        if matches!(game.phase, Phase::Playing(_)) {
            game.clock_end = game.clock_end.max(play.received + game.play_clock);
        }
    }

    /// Gives the pending answer, whatever the clock.
    fn settle(&mut self, now: Instant) {
        let Some(game) = &mut self.game else {
            return;
        };
        match std::mem::replace(&mut game.phase, Phase::Waiting) {
            // Answers leave before anything is logged.
            Phase::Starting(pending) => {
                let received = pending.received;
                if let Some(delay) = pending.delay(now) {
                    self.margin.delayed(delay);
                }
                pending.answer(&Answer::Ready);
                game.record.ready(received, now);
            }
            Phase::Playing(pending) => {
                let advice = game.link.advice(game.position);
                let was_known = advice.is_some();
                let advice =
                    advice.unwrap_or_else(|| Advice::of_legal(game.position, game.guess()));
                let best = &advice.best;
                let took = now.saturating_duration_since(pending.received);
                let due = pending.due_after();
                self.margin.answered(pending.delay(now));
                game.phase = Phase::Answered {
                    text: best.mv.clone(),
                    was_known,
                };
                pending.answer(&Answer::Move(best.mv.clone()));
                if !was_known {
                    let text =
                        format!("no legal move is known, {} is answered as a guess", best.mv);
                    game.record.error(&text);
                }
                let (effort, is_only) = (advice.effort, advice.is_only);
                game.record
                    .answered(game.position, best, effort, is_only, took, due);
                game.link.order(Order::Answered(game.position));
            }
            phase => game.phase = phase,
        }
    }

    /// Compares the last answer with the moves that were played, which show whether it came in
    /// time. A manager that goes on before its clock has ended did not wait for it, so another move
    /// is one that it chose, as in an opening.
    fn compare_with_answer(&mut self, moves: Option<&[String]>, received: Instant) {
        let (Some(moves), Some(game)) = (moves, &mut self.game) else {
            return;
        };
        let (Some(played), Phase::Answered { text, was_known }) =
            (moves.get(game.our_index), &game.phase)
        else {
            return;
        };
        let is_ours = played.eq_ignore_ascii_case(text);
        let is_led = !is_ours && *was_known && received < game.clock_end;
        game.is_led |= is_led;
        if self.margin.played(is_ours || is_led) {
            let text = format!("{text} was answered and {played} played: it came too late");
            game.record.warning(&text);
        } else if is_led {
            let text = format!("{text} was answered in time, and the manager made {played}");
            game.record.note(&text);
        }
    }

    /// Ends the match that runs with this order, and gives it to the caller to drop after the
    /// answer: freeing long texts takes time.
    #[must_use]
    fn end(&mut self, order: Order, now: Instant) -> Option<Match> {
        self.settle(now);
        let game = self.game.take();
        if let Some(game) = &game {
            game.link.order(order);
        }
        self.set_game(None);
        game
    }
}

/// The role of this name; the first one where the rules have none of this name.
fn our_role(name: &str, roles: &[String], record: &Record) -> OurRole {
    OurRole::find(name, roles).unwrap_or_else(|| {
        record.warning(&format!(
            "the rules have no role {name}, but {}; the first is played",
            roles.join(" ")
        ));
        OurRole {
            name: roles.first().map_or(name, String::as_str).to_string(),
            index: 0,
        }
    })
}

impl Match {
    /// Handles a START while this match runs.
    fn start_again(&mut self, start: StartRequest, reply: Reply, now: Instant) {
        if self.is_same_start(&start) {
            self.last_message = now;
            match &mut self.phase {
                Phase::Starting(pending) => pending.add(reply),
                _ => reply(Answer::Ready),
            }
        } else {
            let text = format!("busy: START of {} turned away", start.match_id);
            self.record.note(&text);
            reply(Answer::Busy);
        }
        start.rules.discard();
    }

    /// Whether this START is the one that began the match, sent again.
    fn is_same_start(&self, start: &StartRequest) -> bool {
        *self.match_id == *start.match_id
            && self.role == start.role
            && self.rules_text == start.rules.text
    }

    /// The answer where no legal move is known: the latest move that was.
    fn guess(&self) -> String {
        (self.link.guess()).unwrap_or_else(|| DEFAULT_MOVE.to_string())
    }

    /// Whether a PLAY with these moves, received then, repeats the last one; see the module's
    /// documentation.
    fn is_repeat(&self, moves: Option<&[String]>, received: Instant) -> bool {
        let Some(moves) = moves else {
            return true;
        };
        if self.last_moves.as_deref() != Some(moves) {
            return false;
        }
        match &self.phase {
            Phase::Starting(_) | Phase::Waiting => false,
            Phase::Playing(_) => true,
            Phase::Answered { text, was_known } => {
                let advice = self.link.advice(self.position);
                let is_legal_again = advice.map(|advice| advice.repeat_is_legal);
                if moves.get(self.our_index) == Some(text) {
                    is_legal_again == Some(false)
                } else {
                    let is_late = received > self.clock_end;
                    let may_be_replaced = !was_known || is_late || self.is_led;
                    !(may_be_replaced && is_legal_again.unwrap_or(moves.len() == 1))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
