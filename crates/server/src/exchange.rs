//! Answers one HTTP request.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::header;
use hyper::{Request, Response, StatusCode};
use tokio::sync::{Semaphore, oneshot};

use super::access::{Access, Credential};
use super::body::{Bodies, Body, SHORT, Unread, read_on, read_on_behind};
use super::connections::Progress;
use super::first_request::Held;
use super::gamemaster_access;
use super::message::{self, Head, Word};
use super::request::{
    ConnectionInfo, asks_to_keep_alive, manager, message_in_target, page_request,
};
use super::response::{Content, Outcome, Sent, allow_origin};
use super::tail::Tail;
use panza_config::Settings;
use panza_player::{Answer, Manager, Message, Player, Reply, Status};
use panza_sync::allocator;
use panza_web::gamemaster::{MatchProgress, RelayReply, RelayedMessage, Translation};
use panza_web::pages::{Method, PageStatus, RoutedRequest, Weight};
use panza_web::{Gamemaster, PageReply, Pages};

/// Bytes of a message in the log.
const LOGGED_BYTES: usize = 200;
/// Limit on a PLAY and a STOP: the moves of ten thousand roles have some hundred kilobytes.
const LONGEST_MOVES: usize = 1 << 20;
/// Limit on what a page sends, which may hold a rulesheet or a packed log.
const LONGEST_FROM_PAGE: usize = 2 << 20;
/// Long messages that are parsed at the same time.
const LONG_PARSES: usize = 1;
/// How long a page waits for something new.
const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// Pages made at the same time: cheap ones, and those that read and pack a whole match.
const LIGHT_PAGES: usize = 8;
const HEAVY_PAGES: usize = 1;

pub(super) struct Exchange {
    player: Player,
    gamemaster: Arc<Gamemaster>,
    access: Access,
    pages: Arc<Pages>,
    has_pages: bool,
    light_pages: Arc<Semaphore>,
    heavy_pages: Arc<Semaphore>,
    long_parses: Arc<Semaphore>,
    bodies: Arc<Bodies>,
    name: String,
    read_timeout: Duration,
}

/// What a request is.
enum Route {
    /// A message of a game manager, in the body.
    Message(Manager),
    /// A message in the target of a GET.
    Target(String),
    /// A message of Gamemaster, in the body.
    Relayed,
    /// A page, or the data of one.
    Page(Box<RoutedRequest>),
    /// One whose answer is known.
    Answered(Outcome),
}

/// Why a request is refused without being read.
type Refusal = &'static str;

impl Exchange {
    pub fn new(player: Player, settings: &Settings) -> Self {
        let access = Access::new(&settings.server);
        let key = access.gamemaster().key().map(String::from);
        Self {
            pages: Arc::new(Pages::new(player.clone(), settings, key)),
            access,
            gamemaster: Arc::default(),
            has_pages: settings.server.game_port_pages,
            player,
            light_pages: Arc::new(Semaphore::new(LIGHT_PAGES)),
            heavy_pages: Arc::new(Semaphore::new(HEAVY_PAGES)),
            name: settings.server.name.clone(),
            long_parses: Arc::new(Semaphore::new(LONG_PARSES)),
            bodies: Arc::new(Bodies::new(settings.server.max_message_bytes)),
            read_timeout: settings.server.read_timeout,
        }
    }

    /// Reads the list of logs in the background, so that the first request is fast.
    pub fn read_list(&self) {
        let pages = Arc::clone(&self.pages);
        tokio::task::spawn_blocking(move || pages.read_list());
    }

    pub fn read_timeout(&self) -> Duration {
        self.read_timeout
    }

    /// Answers a request, whatever is asked.
    pub async fn respond(
        &self,
        request: Request<Incoming>,
        connection: ConnectionInfo,
        progress: &Progress,
        held: Held,
    ) -> Result<Response<Sent>, Infallible> {
        let peer = connection.peer;
        let keeps_alive = asks_to_keep_alive(&request);
        let method = request.method().clone();
        let origin = self.access.gamemaster().origin(&request);
        let origin = origin.filter(|_| !connection.at_log_service);
        // Behind a request on a connection that is kept is the next one.
        let held = (!keeps_alive).then_some(held);
        let outcome = self.outcome(request, connection, progress, held).await;
        // No clock runs for a page, so its connection may be closed for another.
        if keeps_alive || outcome.is_page() {
            progress.await_request();
        }
        match &outcome.content {
            Content::Ggp(_) => {}
            Content::Fault(status, text) => {
                tracing::warn!(%peer, %method, status = status.as_u16(), "refused: {text}");
            }
            Content::Page(page) => {
                let (status, bytes) = (page.status as u16, page.body.len());
                tracing::debug!(%peer, status, bytes, "answered a browser");
            }
            Content::Redirect { .. } => tracing::debug!(%peer, "a browser has shown the secret"),
        }
        let mut response = outcome.response(&self.player, &self.access, keeps_alive);
        if let Some(origin) = origin {
            allow_origin(response.headers_mut(), origin);
        }
        Ok(response)
    }

    async fn outcome(
        &self,
        request: Request<Incoming>,
        connection: ConnectionInfo,
        progress: &Progress,
        held: Option<Held>,
    ) -> Outcome {
        let received = progress.began().unwrap_or_else(Instant::now);
        let peer = connection.peer;
        let route = match self.route(&request, connection) {
            Ok(route) => route,
            Err(why) => {
                read_on(request.into_body(), SHORT);
                return Outcome::fault(StatusCode::FORBIDDEN, why);
            }
        };
        // The body is always read, so that a client that writes before it reads sees the answer.
        let allow = |first: &[u8]| match &route {
            Route::Relayed => Ok(LONGEST_FROM_PAGE),
            Route::Page(page) if page.request.method == Method::Post => Ok(LONGEST_FROM_PAGE),
            _ => self.allow_long(first, peer),
        };
        let has_length = request.headers().contains_key(header::CONTENT_LENGTH);
        let held = held.filter(|_| matches!(route, Route::Message(_)));
        let tail = held.as_ref().map(|held| Tail::new(held, has_length));
        let deadline = received + self.read_timeout;
        let body = request.into_body();
        let read = self.bodies.read(body, tail, deadline, allow).await;
        let body = match read {
            Ok(body) => body,
            Err(unread) => {
                if let Some(held) = held {
                    read_on_behind(held);
                }
                return self.unread(unread);
            }
        };
        drop(held);
        progress.answer();
        match route {
            Route::Message(manager) => self.message(body, received, manager, peer).await,
            Route::Target(target) => self.answer_target(&target, peer),
            Route::Relayed => self.relayed(body, received).await,
            Route::Page(mut page) => {
                page.request.body = body.bytes;
                self.page(*page).await
            }
            Route::Answered(outcome) => outcome,
        }
    }

    /// What a request is, by its head and its connection.
    fn route<B>(&self, request: &Request<B>, connection: ConnectionInfo) -> Result<Route, Refusal> {
        if let Some(why) = self.access.refusal(request, connection) {
            return Err(why);
        }
        Ok(
            match request.method().as_str().to_ascii_uppercase().as_str() {
                "OPTIONS" => Route::Answered(Outcome::ggp("")),
                "POST" => self.route_of_post(request, connection)?,
                "GET" | "HEAD" => self.route_of_get(request, connection),
                _ => Route::fault(
                    StatusCode::METHOD_NOT_ALLOWED,
                    "expected POST with a message, GET /( INFO ) or OPTIONS",
                ),
            },
        )
    }

    fn route_of_post<B>(
        &self,
        request: &Request<B>,
        connection: ConnectionInfo,
    ) -> Result<Route, Refusal> {
        let at_log_service = connection.at_log_service;
        let is_relayed = request.uri().path() == gamemaster_access::PATH;
        if is_relayed && self.has_pages && !at_log_service {
            return match self.access.relay_refusal(request, connection) {
                Some(why) => Err(why),
                None => Ok(Route::Relayed),
            };
        }
        if self.has_pages || at_log_service {
            let client = self.access.client(request, connection);
            let page = self
                .pages
                .route(page_request(request, Method::Post, client));
            if page.is_found() {
                return Ok(Route::Page(Box::new(page)));
            }
        }
        Ok(match at_log_service {
            true => Route::fault(
                StatusCode::METHOD_NOT_ALLOWED,
                "this is the log service, which takes no messages: expected GET /MATCH-ID",
            ),
            false => Route::Message(manager(request, connection.peer)),
        })
    }

    fn route_of_get<B>(&self, request: &Request<B>, connection: ConnectionInfo) -> Route {
        let at_log_service = connection.at_log_service;
        let is_head = request.method().as_str().eq_ignore_ascii_case("HEAD");
        let message = message_in_target(request).filter(|_| !at_log_service && !is_head);
        if let Some(message) = message {
            return Route::Target(message);
        }
        if !self.has_pages && !at_log_service {
            let text = "this port takes messages only, expected POST or GET /( INFO )";
            return Route::fault(StatusCode::NOT_FOUND, text);
        }
        match self.access.credential(request) {
            Credential::Wrong => {
                let text = "this is not the secret of server.pages_secret\n";
                let page = PageReply::text(PageStatus::Forbidden, text);
                Route::Answered(Outcome::page(page))
            }
            Credential::InAddress => {
                let location = Access::address_without_secret(request);
                let cookie = self.access.cookie();
                Route::Answered(Content::Redirect { location, cookie }.into())
            }
            Credential::InHeader | Credential::Missing => {
                let client = self.access.client(request, connection);
                let page = self.pages.route(page_request(request, Method::Get, client));
                Route::Page(Box::new(page))
            }
        }
    }

    /// How long a long message may be that begins with these bytes, or its answer, where no more of
    /// it is needed.
    fn allow_long(&self, first: &[u8], peer: SocketAddr) -> Result<usize, Outcome> {
        let Some(Head { word, match_id }) = Head::read(first) else {
            let text = format!(
                "no message begins in the first {} bytes, expected for example ( INFO )",
                first.len()
            );
            return Err(Outcome::fault(StatusCode::BAD_REQUEST, text));
        };
        let is_known = match_id.is_some_and(|id| self.player.is_playing(&id));
        let is_busy = self.player.info() == Status::Busy;
        let answer = match word {
            Word::Info | Word::Abort => return Ok(SHORT),
            Word::Play | Word::Stop if is_known => return Ok(LONGEST_MOVES),
            Word::Start if is_known || !is_busy => return Ok(usize::MAX),
            Word::Preview if !is_busy => "done",
            Word::Play | Word::Stop | Word::Start | Word::Preview => "busy",
        };
        tracing::debug!(%peer, "answers {answer} to the head {}", escaped(first));
        Err(Outcome::ggp(answer))
    }

    fn unread(&self, unread: Unread<Outcome>) -> Outcome {
        let (status, text) = match unread {
            Unread::Refused(outcome) => return outcome,
            Unread::TooLong(limit) => (
                StatusCode::PAYLOAD_TOO_LARGE,
                format!("the body is longer than {limit} bytes"),
            ),
            Unread::Broken(error) => (
                StatusCode::BAD_REQUEST,
                format!("the body ended early: {error}"),
            ),
            Unread::Late => (
                StatusCode::REQUEST_TIMEOUT,
                format!("the body did not come within {:?}", self.read_timeout),
            ),
            Unread::NoRoom => (
                StatusCode::SERVICE_UNAVAILABLE,
                "too many long messages arrive at once, send it again".to_string(),
            ),
        };
        Outcome::fault(status, text)
    }

    /// Answers the target of a GET, which may be INFO only: any page can make a browser send it.
    fn answer_target(&self, target: &str, peer: SocketAddr) -> Outcome {
        match Head::read(target.as_bytes()) {
            Some(head) if head.word == Word::Info => {
                tracing::debug!(%peer, "received {}", escaped(target.as_bytes()));
                Outcome::ggp(self.info(self.player.info()))
            }
            _ => {
                let text = "expected GET /( INFO ); other messages are sent by POST";
                Outcome::fault(StatusCode::METHOD_NOT_ALLOWED, text)
            }
        }
    }

    /// Passes the message in a body to the player, and answers it.
    async fn message(
        &self,
        body: Body,
        received: Instant,
        manager: Manager,
        peer: SocketAddr,
    ) -> Outcome {
        if body.bytes.is_empty() {
            let text =
                "the body is empty, expected a message such as ( INFO ), with its Content-Length";
            return Outcome::fault(StatusCode::BAD_REQUEST, text);
        }
        let mut message = match self.parsed(body, received, peer).await {
            Ok(message) => message,
            Err(outcome) => return outcome,
        };
        if let Message::Start(start) = &mut message {
            start.manager = manager;
        }
        let Some((answer, given)) = self.ask(message).await else {
            return Outcome::ggp("busy");
        };
        let text = match answer {
            Answer::Ready => "ready".to_string(),
            Answer::Busy => "busy".to_string(),
            Answer::Status(status) => self.info(status),
            Answer::Done => "done".to_string(),
            Answer::Aborted => "aborted".to_string(),
            Answer::Move(text) => text,
            Answer::Refused(text) => {
                let text = format!("the rules cannot be played: {text}");
                let outcome = Outcome::fault(StatusCode::BAD_REQUEST, text);
                return outcome.answered_at(given);
            }
        };
        tracing::debug!(%peer, "answers {}", escaped(text.as_bytes()));
        Outcome::ggp(text).answered_at(given)
    }

    /// Parses a message. A START, which has rules to read, and any long message are parsed on a
    /// blocking thread.
    async fn parsed(
        &self,
        body: Body,
        received: Instant,
        peer: SocketAddr,
    ) -> Result<Message, Outcome> {
        let is_long = body.bytes.len() > SHORT;
        let is_start = Head::read(&body.bytes).is_some_and(|head| head.word == Word::Start);
        let parse = move || {
            // The whole body, so that its room is free only when it is parsed.
            let body = body;
            let text = message::decoded(&body.bytes);
            let message = message::parse(&text, received);
            let shown = escaped(text.as_bytes());
            match message {
                Ok(message) => {
                    tracing::debug!(%peer, bytes = text.len(), "received {shown}");
                    Ok(message)
                }
                Err(fault) => {
                    tracing::warn!(%peer, bytes = text.len(), "no message: {shown}");
                    Err(Outcome::fault(StatusCode::BAD_REQUEST, fault))
                }
            }
        };
        if !is_long && !is_start {
            return parse();
        }
        // The semaphore is never closed.
        let permit = match is_long {
            true => Arc::clone(&self.long_parses).acquire_owned().await.ok(),
            false => None,
        };
        let player = self.player.clone();
        let parsed = tokio::task::spawn_blocking(move || {
            let parsed = parse();
            // Other threads may have to wait for it, and a match gives back all at its end.
            if is_long && player.info() == Status::Available {
                allocator::give_back();
            }
            drop(permit);
            parsed
        });
        parsed.await.unwrap_or_else(|error| {
            tracing::error!(%peer, "a message could not be parsed: {error}");
            let text = "reading this message failed";
            Err(Outcome::fault(StatusCode::INTERNAL_SERVER_ERROR, text))
        })
    }

    /// Makes a page on a blocking thread, once there is what it waits for.
    async fn page(&self, page: RoutedRequest) -> Outcome {
        if let Some(changes) = page.changes() {
            let _ = tokio::time::timeout(LONGEST_WAIT, changes.next()).await;
        }
        let permits = match page.weight() {
            Weight::Light => &self.light_pages,
            Weight::Heavy => &self.heavy_pages,
        };
        // The semaphores are never closed. A client that hangs up keeps its permit until the page
        // is made.
        let permit = Arc::clone(permits).acquire_owned().await;
        let made = tokio::task::spawn_blocking(move || {
            let reply = page.answer();
            drop(permit);
            reply
        });
        match made.await {
            // Unknown targets are answered as malformed messages.
            Ok(page)
                if page.status == PageStatus::NotFound
                    && page.content_type.starts_with("text/plain") =>
            {
                Outcome::fault(StatusCode::NOT_FOUND, String::from_utf8_lossy(&page.body))
            }
            Ok(page) => Outcome::page(page),
            Err(error) => {
                tracing::error!("a page could not be made: {error}");
                Outcome::fault(StatusCode::INTERNAL_SERVER_ERROR, "this page failed")
            }
        }
    }

    /// Passes a message of Gamemaster on, and writes the answer in its dialect.
    async fn relayed(&self, body: Body, received: Instant) -> Outcome {
        let gamemaster = Arc::clone(&self.gamemaster);
        let read = tokio::task::spawn_blocking(move || {
            let relayed = RelayedMessage::read(&body.bytes)?;
            tracing::debug!(
                player = relayed.player,
                number = relayed.number,
                "received {}",
                escaped(relayed.content.as_bytes())
            );
            gamemaster.translate(&relayed, received)
        });
        let translation = match read.await {
            Ok(Ok(translation)) => translation,
            Ok(Err(fault)) => return Outcome::fault(StatusCode::BAD_REQUEST, fault),
            Err(error) => {
                tracing::error!("a message of Gamemaster could not be read: {error}");
                let text = "reading this message failed";
                return Outcome::fault(StatusCode::INTERNAL_SERVER_ERROR, text);
            }
        };
        let match_id = self.gamemaster.match_id();
        let (reply, given) = match translation {
            Translation::Reply(reply) => (Ok(reply), None),
            Translation::Messages(messages) => {
                let mut last = None;
                for message in messages {
                    last = self.ask(message).await;
                }
                let (answer, given) = last.unwrap_or((Answer::Busy, Instant::now()));
                (self.gamemaster.answer(&answer), Some(given))
            }
        };
        let reply = match reply {
            Ok(reply) => reply,
            Err(why) => return Outcome::fault(StatusCode::CONFLICT, why),
        };
        let archive = self.player.archive();
        let read = move || match_id.map(|match_id| MatchProgress::read(&archive, &match_id));
        let progress = tokio::task::spawn_blocking(read).await;
        let progress = progress.ok().flatten().unwrap_or_default();
        Outcome {
            given,
            ..Outcome::page(PageReply::json(&RelayReply { reply, progress }))
        }
    }

    /// Passes a message to the player and waits for the answer. Only a defect of the player loses
    /// it.
    async fn ask(&self, message: Message) -> Option<(Answer, Instant)> {
        let (sender, receiver) = oneshot::channel();
        let reply: Reply = Box::new(move |answer| {
            // The client may have hung up.
            let _ = sender.send((answer, Instant::now()));
        });
        self.player.handle(message, reply);
        let answer = receiver.await.ok();
        if answer.is_none() {
            tracing::error!("the player gave no answer");
        }
        answer
    }

    fn info(&self, status: Status) -> String {
        let status = match status {
            Status::Available => "available",
            Status::Busy => "busy",
        };
        format!(
            "( ( name {} ) ( status {status} ) ( species alien ) )",
            self.name
        )
    }
}

impl Route {
    fn fault(status: StatusCode, text: &str) -> Self {
        Self::Answered(Outcome::fault(status, text))
    }
}

/// The start of a text on one line, for the log.
fn escaped(bytes: &[u8]) -> String {
    let shown = bytes.get(..LOGGED_BYTES).unwrap_or(bytes);
    let more = if shown.len() < bytes.len() { "..." } else { "" };
    format!("{}{more}", shown.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logged_texts_are_short_and_on_one_line() {
        assert_eq!(escaped(b"( a\n\x1b[2J )"), "( a\\n\\x1b[2J )");
        let long = escaped(&[b'\n'; 100_000]);
        assert_eq!(long.len(), 2 * LOGGED_BYTES + 3);
    }
}
