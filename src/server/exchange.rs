//! Answers one HTTP request.

use std::borrow::Cow;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Request, Response, StatusCode};
use tokio::sync::{Semaphore, oneshot};

use super::access::Access;
use super::connections::Progress;
use super::message::{self, Message};
use super::pages::{Asked, CONTENT_POLICY, Page, Pages};
use super::request::{Came, asks_to_keep_alive, is_message_target, manager, target};
use crate::config::Settings;
use crate::player::{Answer, Manager, Player, Reply, Status};

/// Bytes of a message in the log.
const LOGGED_BYTES: usize = 200;
/// A body that is too long is read up to this multiple of the limit, since a client that is still
/// writing would not see the answer.
const READ_ON: usize = 4;
/// A body that is refused at once is read for at most this long.
const READ_ON_TIME: Duration = Duration::from_secs(1);
/// Bytes of a body that are read from a client that is refused whatever it sends.
const READ_ON_REFUSED: usize = 64 * 1024;

/// Pages made at the same time: cheap ones, and those that read and pack a whole match.
const LIGHT_PAGES: usize = 8;
const HEAVY_PAGES: usize = 1;

pub(super) struct Exchange {
    player: Player,
    access: Access,
    pages: Pages,
    has_pages: bool,
    light_pages: Arc<Semaphore>,
    heavy_pages: Arc<Semaphore>,
    name: String,
    max_message_bytes: usize,
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
    page: Option<Page>,
}

impl Outcome {
    fn new(status: StatusCode, is_ggp: bool, text: impl Into<String>) -> Self {
        Self {
            status,
            is_ggp,
            text: text.into(),
            given: None,
            page: None,
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
            page: Some(page),
            ..outcome
        }
    }
}

impl Exchange {
    pub fn new(player: Player, settings: &Settings) -> Self {
        let pages = Pages::new(player.clone(), settings);
        Self {
            access: Access::new(&settings.server),
            pages,
            has_pages: settings.server.game_port_pages,
            player,
            light_pages: Arc::new(Semaphore::new(LIGHT_PAGES)),
            heavy_pages: Arc::new(Semaphore::new(HEAVY_PAGES)),
            name: settings.server.name.clone(),
            max_message_bytes: settings.server.max_message_bytes,
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
        let outcome = self.outcome(request, came, progress, received).await;
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
            read_on(request.into_body(), READ_ON_REFUSED);
            return Outcome::fault(StatusCode::FORBIDDEN, why);
        }
        let method = request.method().as_str().to_ascii_uppercase();
        let has_message = is_message_target(&request);
        let target = target(&request).unwrap_or_default();
        let asked = Asked::new(&request, came, &self.access);
        let manager = manager(&request, peer);
        // The body is always read, so that a client that writes before it reads sees the answer.
        let body = match self.read(request.into_body(), received).await {
            Ok(body) => body,
            Err(outcome) => return outcome,
        };
        progress.answer();
        let text = match method.as_str() {
            "OPTIONS" => return Outcome::ggp(""),
            "POST" if came.at_log_service => {
                let text =
                    "this is the log service, which takes no messages: expected GET /MATCH-ID";
                return Outcome::fault(StatusCode::METHOD_NOT_ALLOWED, text);
            }
            "POST" if self.has_pages && Pages::takes_posts(&asked) => {
                return self.show(asked, Some(body)).await;
            }
            "POST" if body.is_empty() => {
                let text = "the body is empty, expected a message such as ( INFO ), with its Content-Length";
                return Outcome::fault(StatusCode::BAD_REQUEST, text);
            }
            "POST" => message::decoded(&body),
            "GET" if has_message && !came.at_log_service => Cow::from(target),
            "GET" | "HEAD" if !came.at_log_service && !self.has_pages => {
                let text = "this port takes messages only, expected POST or GET /( INFO )";
                return Outcome::fault(StatusCode::NOT_FOUND, text);
            }
            "GET" | "HEAD" => return self.show(asked, None).await,
            _ => {
                let text = "expected POST with a message, GET /( INFO ) or OPTIONS";
                return Outcome::fault(StatusCode::METHOD_NOT_ALLOWED, text);
            }
        };
        self.answer(&text, manager, peer, received).await
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

    /// Reads a body within its limits of length and time.
    async fn read(&self, mut body: Incoming, received: Instant) -> Result<Vec<u8>, Outcome> {
        let too_long = || {
            let text = format!("the body is longer than {} bytes", self.max_message_bytes);
            Outcome::fault(StatusCode::PAYLOAD_TOO_LARGE, text)
        };
        let deadline = received + self.read_timeout;
        let most = self.max_message_bytes.saturating_mul(READ_ON);
        if body.size_hint().lower() > self.max_message_bytes as u64 {
            read_on(body, most);
            return Err(too_long());
        }
        let read = async {
            let mut bytes = Vec::new();
            let mut length = 0usize;
            while let Some(frame) = body.frame().await {
                let Ok(data) = frame?.into_data() else {
                    continue;
                };
                length = length.saturating_add(data.len());
                if length <= self.max_message_bytes {
                    bytes.extend_from_slice(&data);
                } else if length > most {
                    break;
                } else {
                    bytes = Vec::new();
                }
            }
            Ok::<_, hyper::Error>((bytes, length))
        };
        match tokio::time::timeout_at(deadline.into(), read).await {
            Ok(Ok((bytes, length))) if length <= self.max_message_bytes => Ok(bytes),
            Ok(Ok((_, length))) => {
                if length > most {
                    read_on(body, most);
                }
                Err(too_long())
            }
            Ok(Err(error)) => Err(Outcome::fault(
                StatusCode::BAD_REQUEST,
                format!("the body ended early: {error}"),
            )),
            Err(_) => Err(Outcome::fault(
                StatusCode::REQUEST_TIMEOUT,
                format!("the body did not come within {:?}", self.read_timeout),
            )),
        }
    }

    /// Passes a message to the player and waits for the answer.
    async fn answer(
        &self,
        text: &str,
        manager: Manager,
        peer: SocketAddr,
        received: Instant,
    ) -> Outcome {
        let shown = escaped(text);
        let message = match message::parse(text, received) {
            Ok(message) => message,
            Err(fault) => {
                tracing::warn!(%peer, bytes = text.len(), "no message: {shown}");
                return Outcome::fault(StatusCode::BAD_REQUEST, fault);
            }
        };
        if let Message::Info = message {
            // Game managers send INFO every second.
            tracing::debug!(%peer, "received {shown}");
            return Outcome::ggp(self.info());
        }
        tracing::debug!(%peer, bytes = text.len(), "received {shown}");
        let (sender, receiver) = oneshot::channel();
        let reply: Reply = Box::new(move |answer| {
            // The client may have hung up.
            let _ = sender.send((answer, Instant::now()));
        });
        match message {
            Message::Info => {}
            Message::Preview => self.player.preview(reply),
            Message::Start(mut start) => {
                start.manager = manager;
                self.player.start(start, reply);
            }
            Message::Play(play) => self.player.play(play, reply),
            Message::Stop { match_id, moves } => self.player.stop(match_id, moves, reply),
            Message::Abort { match_id } => self.player.abort(match_id, reply),
        }
        let Ok((answer, given)) = receiver.await else {
            // Only a defect of the player loses a reply.
            tracing::error!(%peer, "the player gave no answer");
            return Outcome::ggp("busy");
        };
        let outcome = match answer {
            Answer::Ready => Outcome::ggp("ready"),
            Answer::Busy => Outcome::ggp("busy"),
            Answer::Done => Outcome::ggp("done"),
            Answer::Aborted => Outcome::ggp("aborted"),
            Answer::Move(text) => Outcome::ggp(text),
            Answer::Refused(text) => Outcome::fault(
                StatusCode::BAD_REQUEST,
                format!("the rules cannot be played: {text}"),
            ),
        };
        tracing::debug!(%peer, "answers {}", escaped(&outcome.text));
        Outcome {
            given: Some(given),
            ..outcome
        }
    }

    fn info(&self) -> String {
        let status = match self.player.info() {
            Status::Available => "available",
            Status::Busy => "busy",
        };
        format!(
            "( ( name {} ) ( status {status} ) ( species alien ) )",
            self.name
        )
    }

    fn response(&self, outcome: Outcome, keeps_alive: bool) -> Response<Sent> {
        if let Some(page) = outcome.page {
            return page_response(page, keeps_alive);
        }
        let content_type = if outcome.is_ggp {
            "text/acl"
        } else {
            "text/plain; charset=utf-8"
        };
        let body = Sent {
            bytes: Bytes::from(outcome.text),
            given: outcome.given.map(|given| (given, self.player.clone())),
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
}

/// Reads up to `most` bytes of a body that is refused, for a short time, while the answer leaves.
fn read_on(mut body: Incoming, most: usize) {
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

fn page_response(page: Page, keeps_alive: bool) -> Response<Sent> {
    let length = HeaderValue::from(page.body.len());
    let mut response = Response::new(Sent {
        bytes: page.body,
        given: None,
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
    if page.content_type.starts_with("text/html") {
        set(header::CONTENT_SECURITY_POLICY, CONTENT_POLICY);
    }
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
    let texts = [
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
fn escaped(text: &str) -> String {
    let bytes = text.as_bytes();
    let shown = bytes.get(..LOGGED_BYTES).unwrap_or(bytes);
    let more = if shown.len() < bytes.len() { "..." } else { "" };
    format!("{}{more}", shown.escape_ascii())
}

/// A body that reports the delay between the player's answer and its sending.
pub(super) struct Sent {
    bytes: Bytes,
    given: Option<(Instant, Player)>,
}

impl Body for Sent {
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
        assert_eq!(escaped("( a\n\u{1b}[2J )"), "( a\\n\\x1b[2J )");
        let long = escaped(&"\n".repeat(100_000));
        assert_eq!(long.len(), 2 * LOGGED_BYTES + 3);
    }
}
