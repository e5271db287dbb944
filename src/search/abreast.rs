//! The rollout thread that plays many playouts abreast.
//!
//! It goes round: it takes up requests while lanes are free for them, takes all playouts a step further, and hands back
//! what is done. A request waits in a table, at the place of its ticket, until the last of its playouts has ended.
//! Those that the lanes refuse are played by a reasoner, one playout a round, so that the lanes are not held up.
//!
//! Invariants: each request that was taken up is in the table or among the refused, and is handed back once; the thread
//! sleeps only while it has none.
//!
//! Never knows: the tree, what a lane is.

use std::collections::VecDeque;
use std::sync::Arc;

use super::rollout::{Job, Rollout, play};
use crate::machine::{Machine, Playouts, Reasoner, Tally, Ticket};

/// Playouts asked for at most before more requests are taken up, in widths: a lane that becomes free finds the next one
/// waiting, and what it finds was asked for not long ago.
pub(super) const WIDTHS_WANTED: u64 = 2;

/// A rollout thread and its many playouts.
pub(super) struct Abreast {
    rollout: Rollout,
    playouts: Box<dyn Playouts>,
    /// Requests under way, by ticket. Tickets are small numbers, used again.
    under_way: Vec<Option<Box<Job>>>,
    n_under_way: usize,
    /// Requests that a reasoner plays, the first one in part.
    refused: VecDeque<Box<Job>>,
    /// Takes over the tally of a request that is done.
    tally: Tally,
    machine: Arc<dyn Machine>,
    /// Made when it is first needed.
    reasoner: Option<Box<dyn Reasoner>>,
    goals: Vec<u8>,
}

impl Abreast {
    pub(super) fn new(
        rollout: Rollout,
        machine: Arc<dyn Machine>,
        playouts: Box<dyn Playouts>,
    ) -> Self {
        Self {
            rollout,
            playouts,
            under_way: Vec::new(),
            n_under_way: 0,
            refused: VecDeque::new(),
            tally: Tally::default(),
            goals: vec![0; machine.n_roles()],
            machine,
            reasoner: None,
        }
    }

    /// Answers requests until the stop flag is set or the writer is gone.
    pub(super) fn run(mut self) {
        while !self.rollout.stop.is_stopped() {
            self.take_up();
            if self.n_under_way == 0 && self.refused.is_empty() {
                if self.rollout.wait_for_request() {
                    continue;
                }
                return;
            }
            if self.n_under_way > 0 {
                self.playouts.advance();
            }
            if !(self.hand_back() && self.play_refused()) {
                return;
            }
        }
    }

    /// Takes up what requests there are while more playouts are wanted.
    fn take_up(&mut self) {
        let enough = WIDTHS_WANTED * self.playouts.width() as u64;
        while self.playouts.n_wanted() < enough {
            let Some(mut job) = self.rollout.requests.pop() else {
                return;
            };
            let Some(ticket) = self.playouts.submit(&job.state, job.samples) else {
                job.tally.clear(self.goals.len());
                self.refused.push_back(job);
                continue;
            };
            let place = ticket as usize;
            if place >= self.under_way.len() {
                self.under_way.resize_with(place + 1, || None);
            }
            self.under_way[place] = Some(job);
            self.n_under_way += 1;
        }
    }

    /// Hands back the requests that are done. `false` when nobody takes them.
    fn hand_back(&mut self) -> bool {
        let mut any = false;
        while let Some(ticket) = self.playouts.take_done(&mut self.tally) {
            let Some(mut job) = self.job_of(ticket) else {
                continue;
            };
            std::mem::swap(&mut job.tally, &mut self.tally);
            self.n_under_way -= 1;
            // There is always room: the writer never has more requests under way than the ring holds.
            if self.rollout.results.push(job).is_err() {
                return false;
            }
            any = true;
        }
        if any {
            self.rollout.answered.wake();
        }
        true
    }

    fn job_of(&mut self, ticket: Ticket) -> Option<Box<Job>> {
        self.under_way.get_mut(ticket as usize)?.take()
    }

    /// Plays out once for the first request that the lanes refused. `false` when nobody takes the answer.
    fn play_refused(&mut self) -> bool {
        let Some(job) = self.refused.front_mut() else {
            return true;
        };
        let machine = &self.machine;
        let reasoner = self
            .reasoner
            .get_or_insert_with(|| Arc::clone(machine).reasoner());
        if job.tally.playouts < job.samples {
            reasoner.set_state(&job.state);
            play(
                &mut job.tally,
                reasoner.as_mut(),
                &mut self.rollout.random,
                self.rollout.max_steps,
                &mut self.goals,
            );
        }
        if job.tally.playouts < job.samples {
            return true;
        }
        let Some(job) = self.refused.pop_front() else {
            return true;
        };
        if self.rollout.results.push(job).is_err() {
            return false;
        }
        self.rollout.answered.wake();
        true
    }
}
