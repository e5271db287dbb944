//! The limit on connections, and which is closed when it is reached.
//!
//! A connection that waits for an answer is never closed. The oldest one without a complete request
//! is closed for a new one, so that idle connections lock nobody out.

use panza_sync::lock;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::oneshot;

#[derive(Debug)]
pub(super) struct Connections {
    limit: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    /// In order of arrival. Dropping the sender closes the connection.
    entries: BTreeMap<u64, (Arc<Progress>, oneshot::Sender<()>)>,
}

/// The slot of a connection; dropping it frees the slot.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    connections: Arc<Connections>,
    number: u64,
    progress: Arc<Progress>,
    closed: oneshot::Receiver<()>,
}

#[derive(Debug)]
pub(super) struct Progress(Mutex<Stage>);

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// Reading a request, with the time of its first byte.
    Reading(Option<Instant>),
    Answering,
}

impl Connections {
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            open: Mutex::default(),
        }
    }

    /// A slot for a new connection; none if all others wait for answers.
    pub fn admit(self: &Arc<Self>) -> Option<ConnectionSlot> {
        let mut open = lock(&self.open);
        if open.entries.len() >= self.limit {
            let oldest = open
                .entries
                .iter()
                .find(|(_, (progress, _))| progress.is_reading())
                .map(|(&number, _)| number)?;
            open.entries.remove(&oldest);
        }
        let number = open.next;
        open.next += 1;
        let progress = Arc::new(Progress(Mutex::new(Stage::Reading(None))));
        let (keep, closed) = oneshot::channel();
        open.entries.insert(number, (Arc::clone(&progress), keep));
        Some(ConnectionSlot {
            connections: Arc::clone(self),
            number,
            progress,
            closed,
        })
    }

    /// Closes every connection without a complete request.
    pub fn close_idle(&self) {
        lock(&self.open)
            .entries
            .retain(|_, (progress, _)| !progress.is_reading());
    }
}

impl ConnectionSlot {
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    pub async fn closed(&mut self) {
        // Nothing is ever sent; the sender is dropped.
        let _ = (&mut self.closed).await;
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        lock(&self.connections.open).entries.remove(&self.number);
    }
}

impl Progress {
    pub fn begin(&self, at: Instant) {
        *lock(&self.0) = Stage::Reading(Some(at));
    }

    /// When the current request began to arrive.
    pub fn began(&self) -> Option<Instant> {
        match *lock(&self.0) {
            Stage::Reading(began) => began,
            Stage::Answering => None,
        }
    }

    pub fn answer(&self) {
        *lock(&self.0) = Stage::Answering;
    }

    pub fn await_request(&self) {
        *lock(&self.0) = Stage::Reading(None);
    }

    fn is_reading(&self) -> bool {
        matches!(*lock(&self.0), Stage::Reading(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_closed(slot: &mut ConnectionSlot) -> bool {
        slot.closed.try_recv() == Err(oneshot::error::TryRecvError::Closed)
    }

    #[test]
    fn the_oldest_that_says_nothing_gives_way() {
        let connections = Arc::new(Connections::new(3));
        let mut slots: Vec<ConnectionSlot> = (0..3).map(|_| connections.admit().unwrap()).collect();
        slots[0].progress().answer();
        let _new = connections.admit().unwrap();
        assert!(!is_closed(&mut slots[0]));
        assert!(is_closed(&mut slots[1]));
        assert!(!is_closed(&mut slots[2]));
    }

    #[test]
    fn those_that_wait_for_answers_keep_their_slots() {
        let connections = Arc::new(Connections::new(2));
        let mut slots: Vec<ConnectionSlot> = (0..2).map(|_| connections.admit().unwrap()).collect();
        slots.iter().for_each(|slot| slot.progress().answer());
        assert!(connections.admit().is_none());
        assert!(!is_closed(&mut slots[0]));
        slots.pop();
        assert!(connections.admit().is_some());
    }

    #[test]
    fn at_the_end_only_those_that_wait_for_answers_stay() {
        let connections = Arc::new(Connections::new(2));
        let (mut answering, mut silent) =
            (connections.admit().unwrap(), connections.admit().unwrap());
        answering.progress().answer();
        connections.close_idle();
        assert!(!is_closed(&mut answering));
        assert!(is_closed(&mut silent));
    }
}
