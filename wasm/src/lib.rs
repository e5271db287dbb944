#![doc = include_str!("../README.md")]
//!
//! [`Host`] answers requests and does the work of tables in slices, since a module has no threads.
//! [`storage`] keeps tables by the host's functions. `exports` are the functions that JavaScript
//! calls.
//!
//! Invariants: what waits is bounded; a request is answered, or waits under a key.
//!
//! Never uses: files, sockets, threads.

#![deny(unsafe_code)]

#[cfg(target_family = "wasm")]
mod exports;
pub mod storage;

use std::sync::Arc;
use std::time::Duration;

use panza_config::Settings;
use panza_sync::{Instant, after, is_past};
use panza_web::pages::{Changes, Client, Method, PageStatus, RoutedRequest};
use panza_web::table::Storage;
use panza_web::{PageReply, PageRequest, Pages};

/// What differs from the default settings: nothing is written or remembered, builds are small, and
/// the tree searches, since alpha-beta needs threads.
const SETTINGS: [&str; 4] = [
    "logs.match_logs=false",
    "memory.enabled=false",
    "player.build_memory_mib=160",
    "search.method=tree",
];
/// Addresses that are answered, and those below them.
const ANSWERED: [&str; 8] = [
    "/api/games",
    "/api/tables",
    "/api/check",
    "/api/format",
    "/api/complete",
    "/api/explain",
    "/api/preview",
    "/api/trial",
];
/// Requests that wait, at most. A further one is answered at once.
const MAX_WAITING: usize = 100;
/// How long a request waits for something new, as at the server.
const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// What there is for a request.
#[derive(Debug)]
pub enum Outcome {
    /// The reply.
    Reply(PageReply),
    /// It waits for something new under this key, which is not 0.
    Waits(u32),
}

/// A request that waits.
struct Waiting {
    key: u32,
    request: RoutedRequest,
    changes: Changes,
    until: Instant,
}

/// Answers what a server answers to the pages that play, study and edit.
pub struct Host {
    pages: Arc<Pages>,
    waiting: Vec<Waiting>,
    last_key: u32,
}

impl Host {
    /// A host whose tables are in a storage.
    ///
    /// # Errors
    /// The settings are wrong.
    pub fn new(storage: Box<dyn Storage>) -> Result<Self, String> {
        let items = SETTINGS.map(str::to_string);
        let settings = Settings::load(None, &items).map_err(|error| error.to_string())?;
        Ok(Self {
            pages: Arc::new(Pages::without_threads(&settings, storage)),
            waiting: Vec::new(),
            last_key: 0,
        })
    }

    /// Answers a request for an address, which is a path with its query.
    pub fn request(&mut self, method: Method, address: &str, body: Vec<u8>) -> Outcome {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        if !is_answered(path) {
            let text = "this needs a server, which is not here\n";
            return Outcome::Reply(PageReply::text(PageStatus::NotFound, text));
        }
        let request = self.pages.route(PageRequest {
            method,
            path: path.to_string(),
            query: query.to_string(),
            body,
            client: Client {
                may_play: true,
                is_own_page: true,
                ..Client::default()
            },
            ..PageRequest::default()
        });
        match request.changes() {
            Some(changes) if !changes.is_there() && self.waiting.len() < MAX_WAITING => {
                self.last_key = self.last_key.wrapping_add(1).max(1);
                self.waiting.push(Waiting {
                    key: self.last_key,
                    request,
                    changes,
                    until: after(LONGEST_WAIT),
                });
                Outcome::Waits(self.last_key)
            }
            _ => Outcome::Reply(request.answer()),
        }
    }

    /// A request that need not wait any more, with its key and reply.
    pub fn finished(&mut self) -> Option<(u32, PageReply)> {
        let is_due = |it: &Waiting| it.changes.is_there() || is_past(it.until);
        let place = self.waiting.iter().position(is_due)?;
        let due = self.waiting.remove(place);
        Some((due.key, due.request.answer()))
    }

    /// Works for about this time. Returns how long nothing is to be done then, unless there is a
    /// request.
    pub fn work(&mut self, time: Duration) -> Duration {
        let rest = self.pages.work(time);
        let now = Instant::now();
        let waits = self.waiting.iter().map(|it| it.until);
        let next = waits.min().map(|it| it.saturating_duration_since(now));
        next.map_or(rest, |next| rest.min(next))
    }
}

/// Whether a path is one that is answered, or below one.
fn is_answered(path: &str) -> bool {
    ANSWERED.iter().any(|known| {
        let rest = path.strip_prefix(known);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

#[cfg(test)]
mod tests;
