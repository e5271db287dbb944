//! `panza-mpi serve`: one player on many ranks, root-parallel.
//!
//! Rank 0 is the HTTP player. A thread for each worker sends it the newest position, and asks it
//! for what it knows of the root every [`SLICE`], until the match goes on. A worker searches on
//! between two requests. One that has proven its root rests until the next position.
//!
//! Invariants: what was found in a position counts in that position only; a worker that is late,
//! or cannot build the game, costs its part and not the match.
//!
//! Never uses: clocks of the match.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use panza::commands::serve::{self, ServeArguments};
use panza_cli::{Outcome, Output};
use panza_player::{Companion, Companions, SearchedState, SharedGame, SharedRoot, SharedTarget};
use panza_sync::{lock, unpoisoned};
use serde::{Deserialize, Serialize};

use crate::pool::Pool;
use crate::worker::Obey;

/// Time between two reports of a root.
const SLICE: Duration = Duration::from_millis(50);
/// Search between two looks for a request.
const SHORT: Duration = Duration::from_millis(5);

/// What a worker is to do.
#[derive(Serialize, Deserialize)]
enum Request {
    Begin(SharedGame),
    GoTo(Vec<u64>),
    /// Report what is known of the root.
    Report,
    Rest,
}

/// What rank 0 has its workers search.
struct Target {
    shared: SharedTarget,
    is_over: bool,
}

/// The workers of a server.
struct Hub {
    target: Mutex<Target>,
    changed: Condvar,
}

impl Hub {
    fn new(workers: usize) -> Self {
        Self {
            target: Mutex::new(Target {
                shared: SharedTarget::new(workers),
                is_over: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// The target stays valid when a holder panics: each change is a few assignments.
    fn lock(&self) -> MutexGuard<'_, Target> {
        lock(&self.target)
    }

    fn change(&self, change: impl FnOnce(&mut Target)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Keeps a worker at work until the server ends.
    fn employ(&self, worker: usize, pool: &Pool) {
        let ask = |request: &Request| {
            let request = serde_json::to_vec(request)?;
            pool.begin(worker, request).wait(None)
        };
        // The search that the worker has begun, or cannot begin, and the state that it is at; 0
        // where it rests.
        let (mut begun, mut at) = ((0, true), 0);
        loop {
            let mut target = self.lock();
            let next = loop {
                if target.is_over {
                    return;
                }
                let shared = &target.shared;
                if let Some(now) = shared.now()
                    && begun != (now.search, false)
                    && shared.found_by(worker).is_none_or(|it| !it.is_proven)
                {
                    break Some((now, shared.number()));
                }
                if at > 0 {
                    break None;
                }
                let waited = self.changed.wait(target);
                target = unpoisoned(waited);
            };
            drop(target);
            let Some((
                SearchedState {
                    search,
                    game,
                    state,
                },
                number,
            )) = next
            else {
                at = 0;
                // One that cannot rest has nothing to do.
                drop(ask(&Request::Rest));
                continue;
            };
            if begun.0 != search {
                let answer = ask(&Request::Begin((*game).clone()));
                begun = (search, answer.is_ok());
                at = 0;
                if let Err(error) = answer {
                    tracing::warn!("left out: {error:#}");
                }
                continue;
            }
            let found = (|| {
                if at != number {
                    ask(&Request::GoTo(state.to_vec()))?;
                    at = number;
                }
                let root: SharedRoot = serde_json::from_slice(&ask(&Request::Report)?)?;
                anyhow::Ok(root)
            })();
            match found {
                Ok(root) => self.lock().shared.take(worker, number, root),
                Err(error) => {
                    tracing::warn!("left out: {error:#}");
                    begun = (search, false);
                }
            }
        }
    }
}

impl Companions for Hub {
    fn begin(&self, search: u64, game: Arc<SharedGame>) {
        self.change(|target| target.shared.begin(search, game));
    }

    fn go_to(&self, search: u64, state: &[u64]) {
        self.change(|target| target.shared.go_to(search, state));
    }

    fn found(&self, search: u64) -> Vec<Arc<SharedRoot>> {
        self.lock().shared.found(search)
    }

    fn end(&self, search: u64) {
        self.change(|target| target.shared.end(search));
    }
}

/// Serves until the next signal.
///
/// # Errors
/// Arguments or settings cannot be used, or the server cannot start.
pub fn lead(arguments: &ServeArguments, output: Output, pool: &Pool) -> anyhow::Result<Outcome> {
    let hub = Arc::new(Hub::new(pool.n_workers()));
    thread::scope(|scope| {
        for worker in 0..pool.n_workers() {
            let hub = &hub;
            scope.spawn(move || hub.employ(worker, pool));
        }
        let companions: Arc<dyn Companions> = Arc::clone(&hub) as _;
        let served = serve::run_with(arguments, output, Some(companions));
        hub.change(|target| target.is_over = true);
        served
    })
}

/// A rank that searches.
pub struct Worker {
    companion: Companion,
    /// When the root was reported last, while there is something to search.
    reported: Option<Instant>,
}

impl Worker {
    /// A worker without a game.
    pub fn new(companion: Companion) -> Self {
        Self {
            companion,
            reported: None,
        }
    }
}

impl Obey for Worker {
    fn obey(&mut self, request: &[u8]) -> anyhow::Result<Vec<u8>> {
        let request = serde_json::from_slice(request).context("no request of a server")?;
        match request {
            Request::Begin(game) => {
                self.reported = None;
                self.companion.begin(&game).map_err(|why| anyhow!(why))?;
            }
            Request::GoTo(state) => {
                self.companion.go_to(&state).map_err(|why| anyhow!(why))?;
                self.reported = Some(Instant::now());
            }
            Request::Report => {
                let since = self.reported.map_or(SLICE, |reported| reported.elapsed());
                let root = self.companion.search(SLICE.saturating_sub(since));
                let root = root.map_err(|why| anyhow!(why))?;
                self.reported = (!root.is_proven).then(Instant::now);
                return Ok(serde_json::to_vec(&root)?);
            }
            Request::Rest => self.reported = None,
        }
        Ok(Vec::new())
    }

    fn go_on(&mut self) -> bool {
        self.reported.is_some() && self.companion.go_on(SHORT)
    }
}
