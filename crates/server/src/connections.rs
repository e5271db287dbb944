//! The limit on connections, and which is closed when it is reached.
//!
//! A connection that waits for an answer is never closed. The oldest one without a complete request
//! is closed for a new one, so that idle connections lock nobody out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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

/// A connection's place; dropping it frees the place.
#[derive(Debug)]
pub(super) struct Place {
    connections: Arc<Connections>,
    number: u64,
    progress: Arc<Progress>,
    lost: oneshot::Receiver<()>,
}

#[derive(Debug)]
pub(super) struct Progress(Mutex<Stage>);

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// Reading a request, with the time of its first byte.
    Reading(Option<Instant>),
    Answering,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Connections {
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            open: Mutex::default(),
        }
    }

    /// A place for a new connection; none if all others wait for answers.
    pub fn admit(self: &Arc<Self>) -> Option<Place> {
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
        let (keep, lost) = oneshot::channel();
        open.entries.insert(number, (Arc::clone(&progress), keep));
        Some(Place {
            connections: Arc::clone(self),
            number,
            progress,
            lost,
        })
    }

    /// Closes every connection without a complete request.
    pub fn let_go(&self) {
        lock(&self.open)
            .entries
            .retain(|_, (progress, _)| !progress.is_reading());
    }
}

impl Place {
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    pub async fn lost(&mut self) {
        // Nothing is ever sent; the sender is dropped.
        let _ = (&mut self.lost).await;
    }
}

impl Drop for Place {
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

    pub fn rest(&self) {
        *lock(&self.0) = Stage::Reading(None);
    }

    fn is_reading(&self) -> bool {
        matches!(*lock(&self.0), Stage::Reading(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_lost(place: &mut Place) -> bool {
        place.lost.try_recv() == Err(oneshot::error::TryRecvError::Closed)
    }

    #[test]
    fn the_oldest_that_says_nothing_gives_way() {
        let connections = Arc::new(Connections::new(3));
        let mut places: Vec<Place> = (0..3).map(|_| connections.admit().unwrap()).collect();
        places[0].progress().answer();
        let _new = connections.admit().unwrap();
        assert!(!is_lost(&mut places[0]));
        assert!(is_lost(&mut places[1]));
        assert!(!is_lost(&mut places[2]));
    }

    #[test]
    fn those_that_wait_for_answers_keep_their_places() {
        let connections = Arc::new(Connections::new(2));
        let mut places: Vec<Place> = (0..2).map(|_| connections.admit().unwrap()).collect();
        places.iter().for_each(|place| place.progress().answer());
        assert!(connections.admit().is_none());
        assert!(!is_lost(&mut places[0]));
        places.pop();
        assert!(connections.admit().is_some());
    }

    #[test]
    fn at_the_end_only_those_that_wait_for_answers_stay() {
        let connections = Arc::new(Connections::new(2));
        let (mut answering, mut silent) =
            (connections.admit().unwrap(), connections.admit().unwrap());
        answering.progress().answer();
        connections.let_go();
        assert!(!is_lost(&mut answering));
        assert!(is_lost(&mut silent));
    }
}
