//! The other ranks as rank 0 sees them: threads of a command call them, the first thread carries
//! the calls.
//!
//! A call is a request to one rank, and waits for its answer. A rank has one call at a time, so it
//! looks for a message whenever one is sent to it. A call that does not wait long enough is given
//! up; its rank stays busy until it answers, and is out of the work meanwhile.
//!
//! Invariants: an answer goes to the call that it belongs to; the first thread alone calls MPI.
//!
//! Never uses: what messages mean.

use std::cell::RefCell;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::Duration;

use anyhow::{Context, anyhow};
use mpi::topology::SimpleCommunicator;
use mpi::traits::Communicator;

use crate::wire::{self, Message, Pause, Tag};

/// The reply to a call, or why there is none.
type Answer = anyhow::Result<Vec<u8>>;

#[derive(Debug)]
struct Call {
    worker: usize,
    request: Vec<u8>,
    answer: Sender<Answer>,
}

/// The other ranks, for the threads of a command.
#[derive(Clone, Debug)]
pub struct Pool {
    n_workers: usize,
    calls: Sender<Call>,
}

/// The first thread's end of a [`Pool`].
pub struct Calls {
    calls: Receiver<Call>,
    /// Who waits for each worker.
    waiting: RefCell<Vec<Option<Sender<Answer>>>>,
}

impl Pool {
    /// All ranks but 0. There is at least one.
    pub fn new(world: &SimpleCommunicator) -> (Self, Calls) {
        let n_workers = usize::try_from(world.size() - 1).unwrap_or_default();
        let (sender, receiver) = channel();
        let pool = Self {
            n_workers,
            calls: sender,
        };
        let calls = Calls {
            calls: receiver,
            waiting: RefCell::new((0..n_workers).map(|_| None).collect()),
        };
        (pool, calls)
    }

    /// The number of other ranks.
    pub fn n_workers(&self) -> usize {
        self.n_workers
    }

    /// Asks a worker, from 0.
    pub fn begin(&self, worker: usize, request: Vec<u8>) -> Begun {
        let (answer, answered) = channel();
        // Where the first thread has ended, there is no answer either.
        let _ = self.calls.send(Call {
            worker,
            request,
            answer,
        });
        Begun { worker, answered }
    }
}

/// A call that has begun.
pub struct Begun {
    worker: usize,
    answered: Receiver<Answer>,
}

impl Begun {
    /// The answer, once it is there.
    pub fn poll(&mut self) -> Option<Answer> {
        let answer = match self.answered.try_recv() {
            Ok(answer) => answer,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => Err(anyhow!("the program ends")),
        };
        Some(answer.with_context(|| format!("rank {}", self.worker + 1)))
    }

    /// Waits for the answer; for so long at most, where that is given.
    ///
    /// # Errors
    /// The worker failed, is busy, or did not answer in time.
    pub fn wait(self, patience: Option<Duration>) -> Answer {
        let gone = || anyhow!("the program ends");
        let answer = match patience {
            None => self.answered.recv().map_err(|_| gone()),
            Some(patience) => self
                .answered
                .recv_timeout(patience)
                .map_err(|why| match why {
                    RecvTimeoutError::Timeout => anyhow!("no answer in time"),
                    RecvTimeoutError::Disconnected => gone(),
                }),
        };
        answer
            .and_then(|answer| answer)
            .with_context(|| format!("rank {}", self.worker + 1))
    }
}

impl Calls {
    /// Carries calls and answers until the pool and all of its clones are gone.
    pub fn serve(&self, world: &SimpleCommunicator) {
        let mut pause = Pause::default();
        loop {
            match self.calls.recv_timeout(pause.next()) {
                Ok(call) => {
                    pause.reset();
                    self.begin(world, call);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            while let Some(message) = self.receive(world) {
                pause.reset();
                self.answer(message);
            }
        }
    }

    fn begin(&self, world: &SimpleCommunicator, call: Call) {
        let mut waiting = self.waiting.borrow_mut();
        let sent = match waiting.get(call.worker) {
            None => Err(anyhow!("there is no such rank")),
            Some(Some(_)) => Err(anyhow!("it is busy with earlier work")),
            Some(None) => {
                let rank = i32::try_from(call.worker + 1).unwrap_or(i32::MAX);
                wire::send(world, rank, Tag::Request, &call.request)
            }
        };
        match sent {
            Ok(()) => waiting[call.worker] = Some(call.answer),
            // Who asked may have given up.
            Err(error) => drop(call.answer.send(Err(error))),
        }
    }

    /// A message, if one has arrived. One that cannot be read ends the job: who waits for it would
    /// wait for ever.
    fn receive(&self, world: &SimpleCommunicator) -> Option<Message> {
        wire::receive(world).unwrap_or_else(|error| {
            eprintln!("error: {error:#}");
            world.abort(1)
        })
    }

    fn answer(&self, message: Message) {
        let worker = usize::try_from(message.from - 1).ok();
        let mut waiting = self.waiting.borrow_mut();
        let caller = worker.and_then(|worker| waiting.get_mut(worker)?.take());
        let answer = match message.tag {
            Tag::Reply => Ok(message.bytes),
            _ => Err(anyhow!("{}", String::from_utf8_lossy(&message.bytes))),
        };
        if let Some(caller) = caller {
            // Who asked may have given up.
            drop(caller.send(answer));
        }
    }

    /// Whether no worker has work.
    pub fn are_all_idle(&self) -> bool {
        self.waiting.borrow().iter().all(Option::is_none)
    }

    /// Tells all workers, which are idle, that there is no more work.
    pub fn end(&self, world: &SimpleCommunicator) {
        for rank in 1..world.size() {
            // It is short.
            drop(wire::send(world, rank, Tag::End, &[]));
        }
    }
}
