//! Answers one HTTP request.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Request, Response, StatusCode};
use tokio::sync::{Semaphore, oneshot};

use super::access::Access;
use super::body::{Bodies, Body, SHORT, Unread, read_on};
use super::connections::Progress;
use super::message::{self, Head, Word};
use super::pages::{Asked, Page, Pages, unframed};
use super::relay::{self, Relay, Relayed, Thoughts};
use super::request::{Came, asks_to_keep_alive, is_message_target, manager, target};
use panza_config::Settings;
use panza_player::{Answer, Manager, Message, Player, Reply, Status};
use panza_sync::allocator;
use panza_telemetry::Part;
use panza_web::gamemaster::{Gamemaster, Passed, Said};

/// Bytes of a message in the log.
const LOGGED_BYTES: usize = 200;
/// Limit on a PLAY and a STOP: the moves of ten thousand roles have some hundred kilobytes.
const LONGEST_MOVES: usize = 1 << 20;
/// Limit on what a page sends, which may hold a rulesheet or a packed log.
const LONGEST_FROM_PAGE: usize = 2 << 20;
/// Long messages that are parsed at the same time.
const LONG_PARSES: usize = 1;
/// Most time that a message of Gamemaster can have waited in its page.
const LONGEST_WAY: Duration = Duration::from_secs(60);
/// Bytes at the end of a series in which its last line is looked for.
const SERIES_TAIL: usize = 16 * 1024;

/// Pages made at the same time: cheap ones, and those that read and pack a whole match.
const LIGHT_PAGES: usize = 8;
const HEAVY_PAGES: usize = 1;

pub(super) struct Exchange {
    player: Player,
    gamemaster: Arc<Gamemaster>,
    access: Access,
    pages: Pages,
    has_pages: bool,
    light_pages: Arc<Semaphore>,
    heavy_pages: Arc<Semaphore>,
    long_parses: Arc<Semaphore>,
    bodies: Arc<Bodies>,
    name: String,
    read_timeout: Duration,
}

#[derive(Debug)]
struct Outcome {
    status: StatusCode,
    is_ggp: bool,
    text: String,
    /// The time of the player's answer.
    given: Option<Instant>,
    /// Sent instead of the text.
    page: Option<Box<Page>>,
    /// The origin of the page of Gamemaster that asks.
    origin: Option<HeaderValue>,
}

impl Outcome {
    fn new(status: StatusCode, is_ggp: bool, text: impl Into<String>) -> Self {
        Self {
            status,
            is_ggp,
            text: text.into(),
            given: None,
            page: None,
            origin: None,
        }
    }

    fn ggp(text: impl Into<String>) -> Self {
        Self::new(StatusCode::OK, true, text)
    }

    fn fault(status: StatusCode, text: impl Into<String>) -> Self {
        Self::new(status, false, text)
    }

    fn page(page: Page) -> Self {
        let outcome = Self::new(page.status, false, "");
        Self {
            page: Some(Box::new(page)),
            ..outcome
        }
    }
}

impl Exchange {
    pub fn new(player: Player, settings: &Settings) -> Self {
        let access = Access::new(&settings.server);
        let pages = Pages::new(player.clone(), settings, access.clone());
        Self {
            access,
            pages,
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
    pub fn warm(&self) {
        let pages = self.pages.clone();
        tokio::task::spawn_blocking(move || pages.warm());
    }

    pub fn read_timeout(&self) -> Duration {
        self.read_timeout
    }

    pub async fn respond(
        &self,
        request: Request<Incoming>,
        came: Came,
        progress: &Progress,
    ) -> Result<Response<Sent>, Infallible> {
        let peer = came.peer;
        let received = progress.began().unwrap_or_else(Instant::now);
        let keeps_alive = asks_to_keep_alive(&request);
        let method = request.method().clone();
        let origin = self.access.door().origin(&request);
        let origin = origin.filter(|_| !came.at_log_service);
        let outcome = self.outcome(request, came, progress, received).await;
        let outcome = Outcome { origin, ..outcome };
        // No clock runs for a page, so its connection may be closed for another.
        if keeps_alive || outcome.page.is_some() {
            progress.rest();
        }
        if let Some(page) = &outcome.page {
            tracing::debug!(%peer, status = page.status.as_u16(), bytes = page.body.len(), "answered a browser");
        } else if !outcome.is_ggp {
            tracing::warn!(%peer, %method, status = outcome.status.as_u16(), "refused: {}", outcome.text);
        }
        Ok(self.response(outcome, keeps_alive))
    }

    async fn outcome(
        &self,
        request: Request<Incoming>,
        came: Came,
        progress: &Progress,
        received: Instant,
    ) -> Outcome {
        let peer = came.peer;
        if let Some(why) = self.access.refusal(&request, came) {
            read_on(request.into_body(), SHORT);
            return Outcome::fault(StatusCode::FORBIDDEN, why);
        }
        let method = request.method().as_str().to_ascii_uppercase();
        let has_message = is_message_target(&request);
        let target = target(&request).unwrap_or_default();
        let asked = Asked::new(&request, came, &self.access);
        let manager = manager(&request, peer);
        let has_pages = self.has_pages || came.at_log_service;
        let is_for_pages = has_pages && method == "POST" && Pages::takes_posts(&asked);
        let is_relayed =
            self.has_pages && !came.at_log_service && method == "POST" && asked.path == relay::PATH;
        if is_relayed {
            let is_here = asked.is_from_here && !asked.names_unknown_host;
            let door = self.access.door();
            if let Some(why) = door.refusal(&request, is_here, asked.is_own_page) {
                read_on(request.into_body(), SHORT);
                return Outcome::fault(StatusCode::FORBIDDEN, why);
            }
        }
        // The body is always read, so that a client that writes before it reads sees the answer.
        let deadline = received + self.read_timeout;
        let allow = |first: &[u8]| match is_for_pages || is_relayed {
            true => Ok(LONGEST_FROM_PAGE),
            false => self.allow_long(first, peer),
        };
        let read = self.bodies.read(request.into_body(), deadline, allow).await;
        let body = match read {
            Ok(body) => body,
            Err(unread) => return self.unread(unread),
        };
        progress.answer();
        match method.as_str() {
            "OPTIONS" => Outcome::ggp(""),
            "POST" if is_relayed => self.relayed(body, received).await,
            "POST" if is_for_pages => self.show(asked, Some(body.bytes)).await,
            "POST" if came.at_log_service => {
                let text =
                    "this is the log service, which takes no messages: expected GET /MATCH-ID";
                Outcome::fault(StatusCode::METHOD_NOT_ALLOWED, text)
            }
            "POST" if body.bytes.is_empty() => {
                let text = "the body is empty, expected a message such as ( INFO ), with its Content-Length";
                Outcome::fault(StatusCode::BAD_REQUEST, text)
            }
            "POST" => match self.parsed(body, received, peer).await {
                Ok(message) => self.answer(message, manager, peer).await,
                Err(outcome) => outcome,
            },
            "GET" if has_message && !came.at_log_service => self.answer_target(&target, peer),
            "GET" | "HEAD" if !came.at_log_service && !self.has_pages => {
                let text = "this port takes messages only, expected POST or GET /( INFO )";
                Outcome::fault(StatusCode::NOT_FOUND, text)
            }
            "GET" | "HEAD" => self.show(asked, None).await,
            _ => {
                let text = "expected POST with a message, GET /( INFO ) or OPTIONS";
                Outcome::fault(StatusCode::METHOD_NOT_ALLOWED, text)
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
        let place = match is_long {
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
            drop(place);
            parsed
        });
        parsed.await.unwrap_or_else(|error| {
            tracing::error!(%peer, "a message could not be parsed: {error}");
            let text = "reading this message failed";
            Err(Outcome::fault(StatusCode::INTERNAL_SERVER_ERROR, text))
        })
    }

    /// Makes a page on a blocking thread; from a body, if there is one.
    async fn show(&self, asked: Asked, body: Option<Vec<u8>>) -> Outcome {
        let pages = self.pages.clone();
        pages.wait(&asked).await;
        let places = if Pages::is_heavy(&asked) {
            &self.heavy_pages
        } else {
            &self.light_pages
        };
        // The semaphores are never closed. A client that hangs up keeps its place until the page
        // is made.
        let place = Arc::clone(places).acquire_owned().await;
        let made = tokio::task::spawn_blocking(move || {
            let page = match body {
                Some(body) => pages.answer_post(&asked, &body),
                None => pages.answer(&asked),
            };
            drop(place);
            page
        });
        match made.await {
            // Unknown targets are answered as malformed messages.
            Ok(page)
                if page.status == StatusCode::NOT_FOUND
                    && page.content_type.starts_with("text/plain") =>
            {
                Outcome::fault(page.status, String::from_utf8_lossy(&page.body))
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
            let relayed = Relayed::read(&body.bytes)?;
            tracing::debug!(
                player = relayed.player,
                number = relayed.number,
                "received {}",
                escaped(relayed.content.as_bytes())
            );
            let waited = Duration::from_millis(relayed.waited).min(LONGEST_WAY);
            gamemaster.read(Said {
                player: &relayed.player,
                number: relayed.number,
                content: &relayed.content,
                received: received.checked_sub(waited).unwrap_or(received),
            })
        });
        let passed = match read.await {
            Ok(Ok(passed)) => passed,
            Ok(Err(fault)) => return Outcome::fault(StatusCode::BAD_REQUEST, fault),
            Err(error) => {
                tracing::error!("a message of Gamemaster could not be read: {error}");
                let text = "reading this message failed";
                return Outcome::fault(StatusCode::INTERNAL_SERVER_ERROR, text);
            }
        };
        let match_id = self.gamemaster.match_id();
        let (reply, given) = match passed {
            Passed::Answered(reply) => (Ok(reply), None),
            Passed::Messages(messages) => {
                let mut last = None;
                for message in messages {
                    last = self.ask(message).await;
                }
                let (answer, given) = last.unwrap_or((Answer::Busy, Instant::now()));
                (self.gamemaster.answer(&answer), Some(given))
            }
        };
        match reply {
            Ok(reply) => Outcome {
                given,
                ..Outcome::page(Page::json(&self.relay(reply, match_id).await))
            },
            Err(why) => Outcome::fault(StatusCode::CONFLICT, why),
        }
    }

    /// A reply, with what the log of the match says by now.
    async fn relay(&self, reply: Option<String>, match_id: Option<String>) -> Relay {
        let archive = self.player.archive();
        let read = tokio::task::spawn_blocking(move || {
            let entry = archive.find(&match_id?)?;
            let length = archive.slice(&entry.folder, Part::Series, u64::MAX, 0);
            let from = length.map_or(0, |(_, length)| length.saturating_sub(SERIES_TAIL as u64));
            let tail = archive.slice(&entry.folder, Part::Series, from, SERIES_TAIL);
            let thoughts = tail.ok().and_then(|(tail, _)| Thoughts::of_series(&tail));
            Some((entry.folder.clone(), thoughts))
        });
        let found = read.await.ok().flatten();
        let (folder, thoughts) = found.map_or((None, None), |(folder, it)| (Some(folder), it));
        Relay {
            reply,
            folder,
            thoughts,
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

    /// Passes a message of a game manager to the player, and answers it.
    async fn answer(&self, mut message: Message, manager: Manager, peer: SocketAddr) -> Outcome {
        if let Message::Start(start) = &mut message {
            start.manager = manager;
        }
        let Some((answer, given)) = self.ask(message).await else {
            return Outcome::ggp("busy");
        };
        let outcome = match answer {
            Answer::Ready => Outcome::ggp("ready"),
            Answer::Busy => Outcome::ggp("busy"),
            Answer::Status(status) => Outcome::ggp(self.info(status)),
            Answer::Done => Outcome::ggp("done"),
            Answer::Aborted => Outcome::ggp("aborted"),
            Answer::Move(text) => Outcome::ggp(text),
            Answer::Refused(text) => Outcome::fault(
                StatusCode::BAD_REQUEST,
                format!("the rules cannot be played: {text}"),
            ),
        };
        tracing::debug!(%peer, "answers {}", escaped(outcome.text.as_bytes()));
        Outcome {
            given: Some(given),
            ..outcome
        }
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

    fn response(&self, outcome: Outcome, keeps_alive: bool) -> Response<Sent> {
        let given = outcome.given.map(|given| (given, self.player.clone()));
        let origin = outcome.origin.clone();
        let mut response = match outcome.page {
            Some(page) => page_response(*page, given, keeps_alive),
            None => message_response(outcome, given, keeps_alive),
        };
        if let Some(origin) = origin {
            let headers = response.headers_mut();
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(header::VARY, HeaderValue::from_static("Origin"));
            let names = HeaderValue::from_static("Content-Type, Authorization");
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names);
            // Browsers ask for this before a page of the network may reach this machine.
            let name = HeaderName::from_static("access-control-allow-private-network");
            headers.insert(name, HeaderValue::from_static("true"));
        }
        response
    }
}

fn message_response(
    outcome: Outcome,
    given: Option<(Instant, Player)>,
    keeps_alive: bool,
) -> Response<Sent> {
    let content_type = if outcome.is_ggp {
        "text/acl"
    } else {
        "text/plain; charset=utf-8"
    };
    let body = Sent {
        bytes: Bytes::from(outcome.text),
        given,
    };
    let length = HeaderValue::from(body.bytes.len());
    let mut response = Response::new(body);
    *response.status_mut() = outcome.status;
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: &'static str| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    set(header::CONTENT_TYPE, content_type);
    set(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
    set(header::ACCESS_CONTROL_ALLOW_METHODS, "POST, GET, OPTIONS");
    set(header::ACCESS_CONTROL_ALLOW_HEADERS, "Content-Type");
    set(header::ACCESS_CONTROL_MAX_AGE, "86400");
    if outcome.status == StatusCode::METHOD_NOT_ALLOWED {
        set(header::ALLOW, "POST, GET, OPTIONS");
    }
    if !keeps_alive {
        set(header::CONNECTION, "close");
    }
    headers.insert(header::CONTENT_LENGTH, length);
    response
}

fn page_response(
    page: Page,
    given: Option<(Instant, Player)>,
    keeps_alive: bool,
) -> Response<Sent> {
    let length = HeaderValue::from(page.body.len());
    let mut response = Response::new(Sent {
        bytes: page.body,
        given,
    });
    *response.status_mut() = page.status;
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: &'static str| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    set(header::CONTENT_TYPE, page.content_type);
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::REFERRER_POLICY, "no-referrer");
    // Asked for again each time; what has not changed is not sent again.
    set(header::CACHE_CONTROL, "no-cache");
    set(header::VARY, "Accept-Encoding");
    if page.is_gzip {
        set(header::CONTENT_ENCODING, "gzip");
    }
    if page.is_for_all {
        set(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
    }
    if !keeps_alive {
        set(header::CONNECTION, "close");
    }
    let download = page
        .download
        .map(|name| format!("attachment; filename=\"{name}\""));
    let is_html = page.content_type.starts_with("text/html");
    let policy = is_html.then(|| page.policy.unwrap_or_else(unframed));
    let texts = [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::ETAG, page.tag),
        (header::CONTENT_DISPOSITION, download),
        (header::LOCATION, page.location),
        (header::SET_COOKIE, page.cookie),
    ];
    for (name, text) in texts {
        if let Some(value) = text.and_then(|text| HeaderValue::from_str(&text).ok()) {
            headers.insert(name, value);
        }
    }
    headers.insert(header::CONTENT_LENGTH, length);
    response
}

/// The start of a text on one line, for the log.
fn escaped(bytes: &[u8]) -> String {
    let shown = bytes.get(..LOGGED_BYTES).unwrap_or(bytes);
    let more = if shown.len() < bytes.len() { "..." } else { "" };
    format!("{}{more}", shown.escape_ascii())
}

/// A body that reports the delay between the player's answer and its sending.
pub(super) struct Sent {
    bytes: Bytes,
    given: Option<(Instant, Player)>,
}

impl HttpBody for Sent {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some((given, player)) = self.given.take() {
            player.note_delay(given.elapsed());
        }
        let bytes = std::mem::take(&mut self.bytes);
        Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
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
