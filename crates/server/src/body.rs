//! Reads the bodies of requests, within limits of length, time and memory.
//!
//! A body of up to [`SHORT`] bytes is always read. Before more is read, the caller decides by the
//! first bytes how long the body may be. Long bodies of all connections share [`Bodies::room`]
//! bytes. Where they need more, the long body that began first is given up for the new one, so that
//! bodies that stall lock nobody out. A body may go on behind its end ([`Tail`]), within the same
//! limits.
//!
//! Invariant: the bytes of long bodies that are held, those that wait to be parsed included, are
//! within the room.
//!
//! Never uses: what a body says.

use panza_sync::lock;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use tokio::sync::oneshot;

use super::first_request::Held;
use super::tail::Tail;

/// Bytes of a short body.
pub(super) const SHORT: usize = 64 * 1024;
/// Bytes after which the caller is asked about a body that is announced as a long one.
const FIRST: usize = 4096;
/// Bodies of the greatest length for which there is room.
const LONGEST_BODIES: usize = 2;
/// A client that is still writing would not see the answer to a body that is refused, so this much
/// more is read for this long.
const READ_ON: usize = 1 << 20;
const READ_ON_TIME: Duration = Duration::from_secs(1);

/// The bodies of all connections.
#[derive(Debug)]
pub(super) struct Bodies {
    /// Limit on one body, in bytes.
    longest: usize,
    long: Mutex<LongBodies>,
}

/// The long bodies.
#[derive(Debug)]
struct LongBodies {
    /// Bytes of the room that no body has.
    free: usize,
    next: u64,
    /// In the order in which they began.
    bodies: BTreeMap<u64, Reader>,
}

#[derive(Debug)]
struct Reader {
    bytes: usize,
    /// Dropped to give the body up; none once it is complete.
    keep: Option<oneshot::Sender<()>>,
}

/// The part of a long body in the room; dropping it frees the part.
#[derive(Debug)]
struct Share {
    bodies: Arc<Bodies>,
    number: u64,
    given_up: oneshot::Receiver<()>,
}

/// A body that was read.
#[derive(Debug, Default)]
pub(super) struct Body {
    pub bytes: Vec<u8>,
    /// Held until the body is dropped.
    share: Option<Share>,
}

/// Why a body was not read.
#[derive(Debug)]
pub(super) enum Unread<R> {
    /// The caller refused it by its first bytes.
    Refused(R),
    /// It is longer than this limit, in bytes.
    TooLong(usize),
    /// The connection broke.
    Broken(hyper::Error),
    /// It did not come in time.
    Late,
    /// Other long bodies took the room.
    NoRoom,
}

impl Bodies {
    /// No bodies yet; one has at most `longest` bytes.
    pub fn new(longest: usize) -> Self {
        let long = LongBodies {
            free: longest.saturating_mul(LONGEST_BODIES),
            next: 0,
            bodies: BTreeMap::new(),
        };
        Self {
            longest,
            long: Mutex::new(long),
        }
    }

    /// Reads a body until `deadline`. For a long one, `allow` is asked once with the first bytes
    /// how long it may be. A body with a `tail` may go on there.
    pub async fn read<R>(
        self: &Arc<Self>,
        mut body: Incoming,
        tail: Option<Tail<'_>>,
        deadline: Instant,
        allow: impl FnOnce(&[u8]) -> Result<usize, R>,
    ) -> Result<Body, Unread<R>> {
        let filled = self.fill(&mut body, tail, allow);
        let read = tokio::time::timeout_at(deadline.into(), filled).await;
        let read = read.unwrap_or(Err(Unread::Late));
        if read.is_err() {
            read_on(body, READ_ON);
        }
        read
    }

    async fn fill<R>(
        self: &Arc<Self>,
        incoming: &mut Incoming,
        mut tail: Option<Tail<'_>>,
        allow: impl FnOnce(&[u8]) -> Result<usize, R>,
    ) -> Result<Body, Unread<R>> {
        let announced = usize::try_from(incoming.size_hint().lower()).unwrap_or(usize::MAX);
        if announced > self.longest {
            return Err(Unread::TooLong(self.longest));
        }
        let mut allow = Some(allow);
        let mut limit = SHORT;
        let mut body = Body::default();
        loop {
            let next = next(incoming, &mut tail);
            let data = match &mut body.share {
                None => next.await,
                Some(share) => tokio::select! {
                    data = next => data,
                    _ = &mut share.given_up => return Err(Unread::NoRoom),
                },
            };
            let Some(data) = data.map_err(Unread::Broken)? else {
                break;
            };
            let length = body.bytes.len() + data.len();
            let is_long = length > SHORT || (announced > SHORT && length >= FIRST);
            if is_long && let Some(allow) = allow.take() {
                let first = data.len().min(SHORT - body.bytes.len());
                body.bytes.extend_from_slice(&data[..first]);
                limit = allow(&body.bytes)
                    .map_err(Unread::Refused)?
                    .min(self.longest);
                body.bytes.truncate(length - data.len());
            }
            let is_allowed = allow.is_none();
            if length > limit || (is_allowed && announced > limit) {
                return Err(Unread::TooLong(limit));
            }
            if length > body.bytes.capacity() && !body.grow(self, length, limit) {
                return Err(Unread::NoRoom);
            }
            body.bytes.extend_from_slice(&data);
        }
        if let Some(share) = &body.share {
            // Nobody gives up what is complete.
            if let Some(reader) = self.long().bodies.get_mut(&share.number) {
                reader.keep = None;
            }
        }
        Ok(body)
    }

    fn long(&self) -> MutexGuard<'_, LongBodies> {
        lock(&self.long)
    }
}

impl Body {
    /// Makes place for `length` bytes, of at most `limit`; false where there is no room.
    fn grow(&mut self, bodies: &Arc<Bodies>, length: usize, limit: usize) -> bool {
        let capacity = length.max(2 * self.bytes.capacity()).min(limit);
        if capacity > SHORT {
            let share = self
                .share
                .get_or_insert_with(|| bodies.long().enter(bodies));
            if !bodies.long().give(share.number, capacity) {
                return false;
            }
        }
        self.bytes.reserve_exact(capacity - self.bytes.len());
        true
    }
}

impl LongBodies {
    /// A long body without bytes.
    fn enter(&mut self, bodies: &Arc<Bodies>) -> Share {
        let number = self.next;
        self.next += 1;
        let (keep, given_up) = oneshot::channel();
        let reader = Reader {
            bytes: 0,
            keep: Some(keep),
        };
        self.bodies.insert(number, reader);
        Share {
            bodies: Arc::clone(bodies),
            number,
            given_up,
        }
    }

    /// Reserves `bytes` bytes in all for a body, if need be those of incomplete ones that began
    /// earlier; false where there is not enough, or where it was given up itself.
    fn give(&mut self, number: u64, bytes: usize) -> bool {
        let Some(own) = self.bodies.get(&number).map(|reader| reader.bytes) else {
            return false;
        };
        let more = bytes.saturating_sub(own);
        while self.free < more {
            let mut others = self.bodies.iter().filter(|(other, _)| **other != number);
            let oldest = others.find(|(_, reader)| reader.keep.is_some() && reader.bytes > 0);
            let Some(oldest) = oldest.map(|(&oldest, _)| oldest) else {
                return false;
            };
            self.leave(oldest);
        }
        self.free -= more;
        if let Some(reader) = self.bodies.get_mut(&number) {
            reader.bytes = own.max(bytes);
        }
        true
    }

    fn leave(&mut self, number: u64) {
        if let Some(reader) = self.bodies.remove(&number) {
            self.free += reader.bytes;
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.bodies.long().leave(self.number);
    }
}

/// The next bytes of a body; none at its end.
async fn next(
    incoming: &mut Incoming,
    tail: &mut Option<Tail<'_>>,
) -> Result<Option<Bytes>, hyper::Error> {
    while let Some(frame) = incoming.frame().await {
        if let Ok(data) = frame?.into_data() {
            if let Some(tail) = tail {
                tail.note(&data);
            }
            return Ok(Some(data));
        }
    }
    match tail {
        Some(tail) => Ok(tail.next().await),
        None => Ok(None),
    }
}

/// Reads up to `most` bytes of a body that is refused, for a short time, while the answer leaves.
pub(super) fn read_on(mut body: Incoming, most: usize) {
    let discard = async move {
        let mut length = 0usize;
        while let Some(Ok(frame)) = body.frame().await {
            length = length.saturating_add(frame.data_ref().map_or(0, Bytes::len));
            if length > most {
                return;
            }
        }
    };
    tokio::spawn(tokio::time::timeout(READ_ON_TIME, discard));
}

/// The same with what follows a body.
pub(super) fn read_on_behind(held: Held) {
    let discard = async move {
        let mut length = 0;
        while length <= READ_ON {
            match held.read().await.len() {
                0 => return,
                more => length += more,
            }
        }
    };
    tokio::spawn(tokio::time::timeout(READ_ON_TIME, discard));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies() -> Arc<Bodies> {
        Arc::new(Bodies::new(100))
    }

    #[test]
    fn the_body_that_began_first_gives_way() {
        let bodies = bodies();
        let mut shares: Vec<Share> = (0..3).map(|_| bodies.long().enter(&bodies)).collect();
        for share in &shares[..2] {
            assert!(bodies.long().give(share.number, 100));
        }
        assert_eq!(bodies.long().free, 0);
        assert!(bodies.long().give(shares[2].number, 50));
        assert!(
            shares[0]
                .given_up
                .try_recv()
                .is_err_and(|error| error == oneshot::error::TryRecvError::Closed)
        );
        assert!(!bodies.long().give(shares[0].number, 10));
        assert_eq!(bodies.long().free, 50);
        drop(shares);
        assert_eq!(bodies.long().free, 200);
    }

    #[test]
    fn what_is_complete_keeps_its_room() {
        let bodies = bodies();
        let shares: Vec<Share> = (0..3).map(|_| bodies.long().enter(&bodies)).collect();
        for share in &shares[..2] {
            assert!(bodies.long().give(share.number, 100));
            bodies.long().bodies.get_mut(&share.number).unwrap().keep = None;
        }
        assert!(!bodies.long().give(shares[2].number, 1));
        drop(shares);
        assert!(bodies.long().bodies.is_empty());
    }
}
