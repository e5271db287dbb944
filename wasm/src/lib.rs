#![doc = include_str!("../README.md")]
//!
//! [`Host`] answers requests and does the work of tables and of a match in slices, since a module
//! has no threads. Other modules, its companions, can search the match too. [`storage`] keeps tables
//! by the host's functions. `exports` are the functions that JavaScript calls.
//!
//! Invariants: what waits is bounded; a request is answered, or waits under a key; tables are silent
//! while a match is played.
//!
//! Never uses: files, sockets, threads.

#![deny(unsafe_code)]

#[cfg(target_family = "wasm")]
mod exports;
pub mod storage;

use std::sync::Arc;
use std::time::Duration;

use panza_config::Settings;
use panza_sync::{Instant, after, is_past, left_until};
use panza_web::gamemaster::{AwaitedReply, OrderedSearch, Orders, OwnPlayer, Relay, RelayReply};
use panza_web::pages::{Changes, Client, Method, PageStatus, RoutedRequest};
use panza_web::table::Storage;
use panza_web::{PageReply, PageRequest, Pages};

/// What differs from the default settings: nothing is written or remembered, builds and the tree of
/// a match are small.
const SETTINGS: [&str; 4] = [
    "logs.match_logs=false",
    "memory.enabled=false",
    "player.build_memory_mib=160",
    "search.max_nodes=500000",
];
/// The same for tables: the slices in which they search are too short for alpha-beta.
const OF_TABLES: [&str; 1] = ["search.method=tree"];
/// Where messages of Gamemaster are sent.
const GAMEMASTER: &str = "/gamemaster/message";
/// Where a companion, whose number follows, gets orders and sends reports.
const COMPANIONS: &str = "/companions/";
/// Where a companion takes orders and gives reports.
const COMPANION: &str = "/companion";
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
/// Requests that wait, at most. A further one is answered at once, and a message refused.
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
    what: Awaited,
}

/// What a request waits for.
enum Awaited {
    /// A change of a table, or that this time comes.
    Page(RoutedRequest, Changes, Instant),
    /// An answer of the player.
    Message(AwaitedReply),
    /// An order for the companion with this number.
    Order(usize),
    /// A report of this companion.
    Report,
}

/// Answers what a server answers to the pages that play, study and edit, and to the page that plays
/// in Gamemaster.
pub struct Host {
    pages: Arc<Pages>,
    player: OwnPlayer,
    orders: Arc<Orders>,
    /// The search as a companion of another module.
    ordered: OrderedSearch,
    waiting: Vec<Waiting>,
    last_key: u32,
}

impl Host {
    /// A host whose tables are in a storage, and whose matches this number of companions searches
    /// too.
    ///
    /// # Errors
    /// The settings are wrong.
    pub fn new(storage: Box<dyn Storage>, companions: usize) -> Result<Self, String> {
        let settings = |own: &[&str]| {
            let items = SETTINGS.iter().chain(own);
            let items: Vec<String> = items.map(|item| item.to_string()).collect();
            Settings::load(None, &items).map_err(|error| error.to_string())
        };
        let of_player = settings(&[])?;
        let orders = Arc::new(Orders::new(companions));
        let shared = (companions > 0).then(|| Arc::clone(&orders));
        let player = OwnPlayer::new(&of_player, shared);
        let of_pages = player.player().clone();
        let of_tables = settings(&OF_TABLES)?;
        Ok(Self {
            pages: Arc::new(Pages::without_threads(&of_tables, of_pages, storage)),
            player,
            orders,
            ordered: OrderedSearch::new(&of_player),
            waiting: Vec::new(),
            last_key: 0,
        })
    }

    /// Answers a request for an address, which is a path with its query.
    pub fn request(&mut self, method: Method, address: &str, body: Vec<u8>) -> Outcome {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        if path == GAMEMASTER && method == Method::Post {
            return self.message(&body);
        }
        if path == COMPANION {
            return self.answer_player(method, &body);
        }
        if let Some(number) = path.strip_prefix(COMPANIONS) {
            return self.answer_companion(method, number, &body);
        }
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
                self.wait(Awaited::Page(request, changes, after(LONGEST_WAIT)))
            }
            _ => Outcome::Reply(request.answer()),
        }
    }

    /// Takes a message of Gamemaster.
    fn message(&mut self, body: &[u8]) -> Outcome {
        if self.waiting.len() >= MAX_WAITING {
            return refused();
        }
        match self.player.take(body) {
            Ok(Relay::Reply(reply)) => Outcome::Reply(PageReply::json(&reply)),
            Ok(Relay::Awaited(reply)) => self.wait(Awaited::Message(reply)),
            Err(fault) => Outcome::Reply(PageReply::text(PageStatus::BadRequest, fault)),
        }
    }

    /// As a companion: takes an order, or is asked for a report.
    fn answer_player(&mut self, method: Method, order: &[u8]) -> Outcome {
        match method {
            Method::Post => taken(self.ordered.follow(order)),
            Method::Get => self.wait(Awaited::Report),
        }
    }

    /// As the player: takes the report of a companion, or is asked for its next order.
    fn answer_companion(&mut self, method: Method, number: &str, report: &[u8]) -> Outcome {
        match (method, number.parse()) {
            (Method::Post, Ok(number)) => taken(self.orders.take(number, report)),
            (Method::Get, Ok(number)) => self.wait(Awaited::Order(number)),
            (_, Err(_)) => taken(Err(format!("`{number}` is no number of a companion"))),
        }
    }

    fn wait(&mut self, what: Awaited) -> Outcome {
        if self.waiting.len() >= MAX_WAITING {
            return refused();
        }
        self.last_key = self.last_key.wrapping_add(1).max(1);
        let key = self.last_key;
        self.waiting.push(Waiting { key, what });
        Outcome::Waits(key)
    }

    /// A request that need not wait any more, with its key and reply.
    pub fn finished(&mut self) -> Option<(u32, PageReply)> {
        let Self {
            player,
            orders,
            ordered,
            ..
        } = self;
        let mut waiting = self.waiting.iter().enumerate();
        let (place, reply) = waiting.find_map(|(place, it)| {
            let reply = match &it.what {
                Awaited::Page(request, changes, until) => {
                    let is_due = changes.is_there() || is_past(*until);
                    is_due.then(|| request.answer())
                }
                Awaited::Message(reply) => player.reply(reply).map(relayed),
                Awaited::Order(companion) => orders.next(*companion).map(given),
                Awaited::Report => ordered.report().map(given),
            };
            Some((place, reply?))
        })?;
        Some((self.waiting.remove(place).key, reply))
    }

    /// Works for about this time. Returns how long nothing is to be done then, unless there is a
    /// request.
    pub fn work(&mut self, time: Duration) -> Duration {
        let rest = self.player.work(time).min(self.pages.work(time));
        let rest = rest.min(self.ordered.work(time));
        let waits = self.waiting.iter().filter_map(|it| match it.what {
            Awaited::Page(_, _, until) => Some(left_until(until)),
            Awaited::Message(_) | Awaited::Order(_) | Awaited::Report => None,
        });
        waits.fold(rest, Duration::min)
    }
}

/// The reply to a message that the player has answered.
fn relayed(reply: Result<RelayReply, String>) -> PageReply {
    match reply {
        Ok(reply) => PageReply::json(&reply),
        Err(why) => PageReply::text(PageStatus::Unprocessable, why),
    }
}

/// The reply where too much waits.
fn refused() -> Outcome {
    let text = "too many messages wait for an answer\n";
    Outcome::Reply(PageReply::text(PageStatus::Unavailable, text))
}

/// The reply with an order or a report.
fn given(text: String) -> PageReply {
    PageReply::text(PageStatus::Ok, text)
}

/// The reply to what is taken without an answer.
fn taken(outcome: Result<(), String>) -> Outcome {
    Outcome::Reply(match outcome {
        Ok(()) => PageReply::text(PageStatus::Ok, ""),
        Err(why) => PageReply::text(PageStatus::Unprocessable, why),
    })
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
