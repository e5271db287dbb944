//! An answer that is not given yet, and those who wait for it.

use std::time::Duration;

use crate::clock::Deadlines;
use crate::messages::{Answer, Reply};
use panza_sync::Instant;

/// Callers that wait for one answer, at most; further ones are answered `busy`.
pub(crate) const MAX_WAITING: usize = 16;

/// An answer that is not given yet.
pub(crate) struct PendingAnswer {
    replies: Vec<Reply>,
    /// When the first request began to arrive.
    pub received: Instant,
    deadlines: Deadlines,
    /// Whether no legal move was known when its time had come.
    lacked_move: bool,
}

impl PendingAnswer {
    pub fn new(reply: Reply, received: Instant, deadlines: Deadlines) -> Self {
        Self {
            replies: vec![reply],
            received,
            deadlines,
            lacked_move: false,
        }
    }

    /// Adds a caller.
    pub fn add(&mut self, reply: Reply) {
        if self.replies.len() < MAX_WAITING {
            self.replies.push(reply);
        } else {
            reply(Answer::Busy);
        }
    }

    /// Answers all callers.
    pub fn answer(self, answer: &Answer) {
        for reply in self.replies {
            reply(answer.clone());
        }
    }

    /// Whether it has to be given now: once its time has come, and later where no legal move is
    /// known.
    pub fn is_due(&self, is_move_known: bool, now: Instant) -> bool {
        now >= match is_move_known {
            true => self.deadlines.answer_by,
            false => self.deadlines.last_call,
        }
    }

    /// The next time at which it may have to be given.
    pub fn next_deadline(&self, now: Instant) -> Instant {
        match now < self.deadlines.answer_by {
            true => self.deadlines.answer_by,
            false => self.deadlines.last_call,
        }
    }

    /// How long after the first request it is due.
    pub fn due_after(&self) -> Duration {
        self.deadlines
            .answer_by
            .saturating_duration_since(self.received)
    }

    /// Notes that no legal move is known now.
    pub fn note_without_move(&mut self, now: Instant) {
        self.lacked_move |= now >= self.deadlines.answer_by;
    }

    /// How late it is now, where it has waited for its time and not for a legal move.
    pub fn delay(&self, now: Instant) -> Option<Duration> {
        let is_timed = now >= self.deadlines.answer_by && !self.lacked_move;
        is_timed.then(|| now.saturating_duration_since(self.deadlines.answer_by))
    }
}
