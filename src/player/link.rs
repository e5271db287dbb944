//! The link between the conductor and the match thread: orders one way, advice the other, and the
//! flags that stop the work of the match.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

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
    /// A legal move of a position that was not searched.
    pub fn unsearched(position: usize, text: String) -> Self {
        Self {
            position,
            text,
            value: None,
            visits: 0,
            is_proven: false,
            is_only: false,
            repeat_is_legal: true,
        }
    }

    /// Whether further search cannot improve it.
    pub fn is_settled(&self) -> bool {
        self.is_proven || self.is_only
    }
}

/// The flags that stop the work of a match, one for each piece of work.
#[derive(Clone, Default)]
pub(super) struct StopFlags {
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
        let mut issued = self.issued.lock().unwrap_or_else(PoisonError::into_inner);
        let flag = Arc::new(AtomicBool::new(issued.is_over));
        issued.flags.push(Arc::clone(&flag));
        flag
    }

    /// Sets all flags, those of later work included.
    pub fn stop(&self) {
        let mut issued = self.issued.lock().unwrap_or_else(PoisonError::into_inner);
        issued.is_over = true;
        for flag in &issued.flags {
            flag.store(true, Ordering::Relaxed);
        }
    }
}

/// The conductor's end of a match thread.
#[derive(Clone)]
pub(super) struct Link {
    orders: Sender<Order>,
    interrupt: Arc<AtomicBool>,
    advice: Arc<Mutex<Option<Advice>>>,
    refusal: Arc<OnceLock<String>>,
    stops: StopFlags,
}

impl Link {
    /// Both ends.
    pub fn new() -> (Link, WorkerLink) {
        let (orders, taken) = unbounded();
        let link = Link {
            orders,
            interrupt: Arc::new(AtomicBool::new(false)),
            advice: Arc::new(Mutex::new(None)),
            refusal: Arc::default(),
            stops: StopFlags::default(),
        };
        let worker = WorkerLink {
            orders: taken,
            interrupt: Arc::clone(&link.interrupt),
            advice: Arc::clone(&link.advice),
            refusal: Arc::clone(&link.refusal),
            stops: link.stops.clone(),
        };
        (link, worker)
    }

    /// Sends an order and interrupts the search. An order to abandon the match stops all its work.
    pub fn order(&self, order: Order) {
        if let Order::Abandon(_) = order {
            self.stops.stop();
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
    /// Set by the conductor when the match is abandoned.
    pub stops: StopFlags,
    advice: Arc<Mutex<Option<Advice>>>,
    refusal: Arc<OnceLock<String>>,
}

impl WorkerLink {
    /// Publishes advice for the conductor.
    pub fn publish(&self, advice: Option<Advice>) {
        *self.advice.lock().unwrap_or_else(PoisonError::into_inner) = advice;
    }

    /// Whether there is any advice.
    pub fn has_advice(&self) -> bool {
        let advice = self.advice.lock().unwrap_or_else(PoisonError::into_inner);
        advice.is_some()
    }

    /// Says that the game cannot be played, and why.
    pub fn refuse(&self, why: String) {
        let _ = self.refusal.set(why);
    }
}
