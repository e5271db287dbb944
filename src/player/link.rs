//! The link between the conductor and the match thread: orders one way, advice the other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crossbeam::channel::{Receiver, Sender, unbounded};

/// An order for the match thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// These moves were played.
    Advance(Vec<String>),
    /// The PLAY at the position with this number was answered.
    Answered(usize),
    /// The match is over, after these last moves.
    Finish(Option<Vec<String>>),
    /// The match is over, and why.
    Abandon(&'static str),
}

/// The best move so far.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Advice {
    /// Joint moves before this position.
    pub position: usize,
    /// The move as canonical text; never empty.
    pub text: String,
    /// Our expected goal, 0 to 100, after some search.
    pub value: Option<f64>,
    /// The move's visits.
    pub visits: u64,
    /// Whether further search cannot change the move.
    pub is_proven: bool,
    /// Whether it is the only legal move.
    pub is_only: bool,
    /// Whether the joint move that led here could be played again here.
    pub repeat_is_legal: bool,
}

impl Advice {
    /// Whether further search cannot improve it.
    pub fn is_settled(&self) -> bool {
        self.is_proven || self.is_only
    }
}

/// The conductor's end of a match thread.
#[derive(Clone)]
pub(super) struct Link {
    orders: Sender<Order>,
    interrupt: Arc<AtomicBool>,
    advice: Arc<Mutex<Option<Advice>>>,
}

impl Link {
    /// Both ends.
    pub fn new() -> (Link, WorkerLink) {
        let (orders, taken) = unbounded();
        let link = Link {
            orders,
            interrupt: Arc::new(AtomicBool::new(false)),
            advice: Arc::new(Mutex::new(None)),
        };
        let worker = WorkerLink {
            orders: taken,
            interrupt: Arc::clone(&link.interrupt),
            advice: Arc::clone(&link.advice),
        };
        (link, worker)
    }

    /// Sends an order and interrupts the search.
    pub fn order(&self, order: Order) {
        let _ = self.orders.send(order);
        self.interrupt.store(true, Ordering::Release);
    }

    /// The latest advice for a position.
    pub fn advice(&self, position: usize) -> Option<Advice> {
        let advice = self.advice.lock().unwrap_or_else(PoisonError::into_inner);
        advice.clone().filter(|advice| advice.position == position)
    }
}

/// The match thread's end.
pub(super) struct WorkerLink {
    /// Orders; disconnected once the conductor has dropped the match.
    pub orders: Receiver<Order>,
    /// Set with each order; the match thread clears it before it takes orders.
    pub interrupt: Arc<AtomicBool>,
    advice: Arc<Mutex<Option<Advice>>>,
}

impl WorkerLink {
    /// Publishes advice for the conductor.
    pub fn publish(&self, advice: Option<Advice>) {
        *self.advice.lock().unwrap_or_else(PoisonError::into_inner) = advice;
    }
}
