//! The link between the conductor and the threads of a match: orders and moves one way, advice the
//! other, and the flags that stop the work of the match.
//!
//! Advice has three sources: the search, and a follower of each build, which publishes a legal
//! move. The conductor takes the first that has a move for the position. No source can hold up
//! another, since each has a slot of its own, which is locked only to copy or replace a move.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use crossbeam::channel::{Receiver, Sender, unbounded};
use panza_game::BuildKind;
use panza_search::MoveStats;
use panza_sync::{lock, unpoisoned};

use crate::messages::SentMoves;
use crate::search::Effort;

/// An order for the match thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// These moves were played.
    Advance(SentMoves),
    /// The PLAY at the position with this number was answered.
    Answered(usize),
    /// The match is over, after these last moves.
    Finish(Option<SentMoves>),
    /// The match is over, and why.
    Abandon(&'static str),
}

/// The best move so far.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Advice {
    /// Joint moves before this position.
    pub position: usize,
    /// The move as canonical text, never empty, and its statistics.
    pub best: MoveStats<String>,
    /// Whether it is the only legal move.
    pub is_only: bool,
    /// Whether the joint move that led here could be played again here.
    pub repeat_is_legal: bool,
    /// How far the position was searched.
    pub effort: Effort,
}

impl Advice {
    /// A legal move, about which nothing else is known.
    pub fn of_legal(position: usize, text: String) -> Self {
        Self {
            position,
            best: MoveStats::new(text),
            is_only: false,
            repeat_is_legal: true,
            effort: Effort::default(),
        }
    }

    /// Whether further search cannot improve it.
    pub fn is_settled(&self) -> bool {
        self.best.is_proven_best || self.is_only
    }
}

/// The flags that stop the work of a match, one for each piece of work.
#[derive(Clone, Default)]
pub(crate) struct StopFlags {
    issued: Arc<Mutex<IssuedFlags>>,
}

#[derive(Default)]
struct IssuedFlags {
    flags: Vec<Arc<AtomicBool>>,
    is_over: bool,
}

impl StopFlags {
    /// A flag for a piece of work; it is set already once the match is over.
    pub fn issue(&self) -> Arc<AtomicBool> {
        let mut issued = lock(&self.issued);
        let flag = Arc::new(AtomicBool::new(issued.is_over));
        issued.flags.push(Arc::clone(&flag));
        flag
    }

    /// Sets all flags, those of later work included.
    pub fn stop(&self) {
        let mut issued = lock(&self.issued);
        issued.is_over = true;
        for flag in &issued.flags {
            flag.store(true, Ordering::Relaxed);
        }
    }
}

/// Where advice comes from, the best source first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Search,
    Machine,
    Fallback,
}

/// The moves that were played in a match.
#[derive(Default)]
struct PlayedMoves {
    moves: Vec<SentMoves>,
    is_over: bool,
}

/// What the threads of a match share.
struct Shared {
    /// Wakes the conductor.
    wake: Sender<()>,
    advice: [Mutex<Option<Advice>>; 3],
    played: Mutex<PlayedMoves>,
    /// Notified when `played` changes.
    changed: Condvar,
}

impl Shared {
    /// Wakes the conductor.
    fn wake(&self) {
        // A full channel holds a wake-up call already.
        let _ = self.wake.try_send(());
    }

    fn slot(&self, source: Source) -> MutexGuard<'_, Option<Advice>> {
        lock(&self.advice[source as usize])
    }
}

/// The conductor's end. The match is over for all its threads when it is dropped.
pub(crate) struct Link {
    orders: Sender<Order>,
    interrupt: Arc<AtomicBool>,
    shared: Arc<Shared>,
    refusal: Arc<OnceLock<String>>,
    stops: StopFlags,
}

impl Link {
    /// Both ends. The conductor reads the advice when it receives from the channel of `wake`, which
    /// holds one message.
    pub fn new(wake: Sender<()>) -> (Link, WorkerLink) {
        let (orders, taken) = unbounded();
        let link = Link {
            orders,
            interrupt: Arc::new(AtomicBool::new(false)),
            shared: Arc::new(Shared {
                wake,
                advice: Default::default(),
                played: Mutex::default(),
                changed: Condvar::new(),
            }),
            refusal: Arc::default(),
            stops: StopFlags::default(),
        };
        let worker = WorkerLink {
            orders: taken,
            interrupt: Arc::clone(&link.interrupt),
            shared: Arc::clone(&link.shared),
            refusal: Arc::clone(&link.refusal),
            stops: link.stops.clone(),
        };
        (link, worker)
    }

    /// Sends an order and interrupts the search. An order to abandon the match stops all its work.
    pub fn order(&self, order: Order) {
        match &order {
            Order::Abandon(_) => self.stops.stop(),
            Order::Advance(moves) => {
                lock(&self.shared.played).moves.push(moves.clone());
                self.shared.changed.notify_all();
            }
            Order::Answered(_) | Order::Finish(_) => {}
        }
        let _ = self.orders.send(order);
        self.interrupt.store(true, Ordering::Release);
    }

    /// Why the game cannot be played at all.
    pub fn refusal(&self) -> Option<&str> {
        self.refusal.get().map(String::as_str)
    }

    /// The latest advice for a position.
    pub fn advice(&self, position: usize) -> Option<Advice> {
        let sources = [Source::Search, Source::Machine, Source::Fallback];
        let mut advice = sources
            .into_iter()
            .filter_map(|source| self.shared.slot(source).clone());
        advice.find(|advice| advice.position == position)
    }

    /// The latest move that was known, which was legal in an earlier position.
    pub fn guess(&self) -> Option<String> {
        let sources = [Source::Fallback, Source::Machine, Source::Search];
        let known = sources
            .into_iter()
            .filter_map(|source| self.shared.slot(source).clone());
        let latest = known.max_by_key(|advice| advice.position);
        latest.map(|advice| advice.best.mv)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        lock(&self.shared.played).is_over = true;
        self.shared.changed.notify_all();
    }
}

/// The match thread's end.
pub(crate) struct WorkerLink {
    /// Orders; disconnected once the conductor has dropped the match.
    pub orders: Receiver<Order>,
    /// Set with each order; the match thread clears it before it takes orders.
    pub interrupt: Arc<AtomicBool>,
    /// Set by the conductor when the match is abandoned.
    pub stops: StopFlags,
    shared: Arc<Shared>,
    refusal: Arc<OnceLock<String>>,
}

impl WorkerLink {
    /// Publishes advice for the conductor.
    pub fn publish(&self, advice: Option<Advice>) {
        *self.shared.slot(Source::Search) = advice;
    }

    /// Says that the game cannot be played, and why.
    pub fn refuse(&self, why: String) {
        let _ = self.refusal.set(why);
    }

    /// Wakes the conductor to read what was published.
    pub fn wake(&self) {
        self.shared.wake();
    }

    /// The end of the follower of a build.
    pub fn follower(&self, kind: BuildKind) -> FollowerLink {
        FollowerLink {
            shared: Arc::clone(&self.shared),
            source: match kind {
                BuildKind::Main => Source::Machine,
                BuildKind::Fallback => Source::Fallback,
            },
        }
    }
}

/// The end of a follower.
pub(crate) struct FollowerLink {
    shared: Arc<Shared>,
    source: Source,
}

impl FollowerLink {
    /// Waits until the position is another than the one after `n_made` moves, and returns the moves
    /// to it; `None` once the match is over. The fallback's follower waits for `delay` and skips
    /// positions for which the machine's follower has published a move by then.
    pub fn next_moves(&self, n_made: usize, delay: Duration) -> Option<Vec<SentMoves>> {
        let Shared {
            played, changed, ..
        } = &*self.shared;
        let mut seen = n_made;
        loop {
            let is_seen = |played: &mut PlayedMoves| !played.is_over && played.moves.len() == seen;
            let played = changed.wait_while(lock(played), is_seen);
            let mut played = unpoisoned(played);
            let position = played.moves.len();
            if self.source == Source::Fallback && self.shared.slot(Source::Machine).is_some() {
                let is_same =
                    |played: &mut PlayedMoves| !played.is_over && played.moves.len() == position;
                let waited = changed.wait_timeout_while(played, delay, is_same);
                played = unpoisoned(waited).0;
                let known = self.shared.slot(Source::Machine);
                if known
                    .as_ref()
                    .is_some_and(|known| known.position == position)
                {
                    seen = position;
                    if !played.is_over {
                        continue;
                    }
                }
            }
            return (!played.is_over)
                .then(|| played.moves.get(n_made..).unwrap_or_default().to_vec());
        }
    }

    /// Publishes advice for the conductor.
    pub fn publish(&self, advice: Option<Advice>) {
        *self.shared.slot(self.source) = advice;
    }

    /// Wakes the conductor to read what was published.
    pub fn wake(&self) {
        self.shared.wake();
    }
}
