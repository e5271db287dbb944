//! An answer that is not given yet, and those who wait for it.

use std::time::{Duration, Instant};

use super::clock::Deadlines;
use super::{Answer, Reply};

/// Callers that wait for one answer, at most; further ones are answered `busy`.
pub(super) const MAX_WAITING: usize = 16;

/// An answer that is not given yet.
pub(super) struct PendingAnswer {
    replies: Vec<Reply>,
    /// When the first request began to arrive.
    pub received: Instant,
    pub deadlines: Deadlines,
}

impl PendingAnswer {
    pub fn new(reply: Reply, received: Instant, deadlines: Deadlines) -> Self {
        Self {
            replies: vec![reply],
            received,
            deadlines,
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

    /// How late an answer is now.
    pub fn lateness(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.deadlines.answer_by)
    }
}
