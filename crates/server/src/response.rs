//! The response to a request: its head, and the delay between the player's answer and its sending.

use std::borrow::Cow;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use super::access::Access;
use panza_player::Player;
use panza_web::PageReply;
use panza_web::pages::PageStatus;

/// Pages load nothing from other servers; what may show them in a frame follows.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; \
     style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors ";

/// What a request is answered.
#[derive(Debug)]
pub(super) struct Outcome {
    pub content: Content,
    /// The time of the player's answer.
    pub given: Option<Instant>,
}

/// What is sent.
#[derive(Debug)]
pub(super) enum Content {
    /// The answer to a GGP message.
    Ggp(String),
    /// Why there is no answer.
    Fault(StatusCode, String),
    /// A page, or the data of one.
    Page(Box<PageReply>),
    /// To a browser that has shown the secret: the same address without it, and a cookie.
    Redirect {
        location: String,
        cookie: Option<String>,
    },
}

impl From<Content> for Outcome {
    fn from(content: Content) -> Self {
        Self {
            content,
            given: None,
        }
    }
}

impl Outcome {
    pub fn ggp(text: impl Into<String>) -> Self {
        Content::Ggp(text.into()).into()
    }

    pub fn fault(status: StatusCode, text: impl Into<String>) -> Self {
        Content::Fault(status, text.into()).into()
    }

    pub fn page(page: PageReply) -> Self {
        Content::Page(Box::new(page)).into()
    }

    /// The same, with the time of the player's answer.
    pub fn answered_at(self, at: Instant) -> Self {
        Self {
            given: Some(at),
            ..self
        }
    }

    /// Whether it is for a browser that waits for no clock.
    pub fn is_page(&self) -> bool {
        matches!(self.content, Content::Page(_) | Content::Redirect { .. })
    }

    /// The response. The delay of its sending is reported to `player`.
    pub fn response(self, player: &Player, access: &Access, keeps_alive: bool) -> Response<Sent> {
        let (status, headers, bytes) = match self.content {
            Content::Ggp(text) => (
                StatusCode::OK,
                message_headers(StatusCode::OK, "text/acl", keeps_alive),
                text.into(),
            ),
            Content::Fault(status, text) => (
                status,
                message_headers(status, "text/plain; charset=utf-8", keeps_alive),
                text.into(),
            ),
            Content::Page(page) => (
                status_code(page.status),
                page_headers(&page, access, keeps_alive),
                match page.body {
                    Cow::Borrowed(bytes) => Bytes::from_static(bytes),
                    Cow::Owned(bytes) => bytes.into(),
                },
            ),
            Content::Redirect { location, cookie } => {
                let page = PageReply::text(PageStatus::SeeOther, "");
                let mut headers = page_headers(&page, access, keeps_alive);
                insert(&mut headers, header::LOCATION, Some(&location));
                insert(&mut headers, header::SET_COOKIE, cookie.as_deref());
                (status_code(page.status), headers, Bytes::new())
            }
        };
        let length = HeaderValue::from(bytes.len());
        let given = self.given.map(|given| (given, player.clone()));
        let mut response = Response::new(Sent { bytes, given });
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        response
            .headers_mut()
            .insert(header::CONTENT_LENGTH, length);
        response
    }
}

fn status_code(status: PageStatus) -> StatusCode {
    StatusCode::from_u16(status as u16).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Inserts a text that may stand in a header.
fn insert(headers: &mut HeaderMap, name: HeaderName, text: Option<&str>) {
    if let Some(value) = text.and_then(|text| HeaderValue::from_str(text).ok()) {
        headers.insert(name, value);
    }
}

fn message_headers(status: StatusCode, content_type: &'static str, keeps_alive: bool) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut set = |name: HeaderName, value: &'static str| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    set(header::CONTENT_TYPE, content_type);
    set(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
    set(header::ACCESS_CONTROL_ALLOW_METHODS, "POST, GET, OPTIONS");
    set(header::ACCESS_CONTROL_ALLOW_HEADERS, "Content-Type");
    set(header::ACCESS_CONTROL_MAX_AGE, "86400");
    if status == StatusCode::METHOD_NOT_ALLOWED {
        set(header::ALLOW, "POST, GET, OPTIONS");
    }
    if !keeps_alive {
        set(header::CONNECTION, "close");
    }
    headers
}

fn page_headers(page: &PageReply, access: &Access, keeps_alive: bool) -> HeaderMap {
    let mut headers = HeaderMap::new();
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
    if page.is_public {
        set(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
    }
    if !keeps_alive {
        set(header::CONNECTION, "close");
    }
    if page.content_type.starts_with("text/html") {
        let ancestors = match page.is_framable {
            true => access.frame_ancestors(),
            false => "'none'".to_string(),
        };
        let policy = format!("{CONTENT_POLICY}{ancestors}");
        insert(&mut headers, header::CONTENT_SECURITY_POLICY, Some(&policy));
    }
    let download = page.download.as_ref();
    let download = download.map(|name| format!("attachment; filename=\"{name}\""));
    insert(&mut headers, header::ETAG, page.tag.as_deref());
    insert(
        &mut headers,
        header::CONTENT_DISPOSITION,
        download.as_deref(),
    );
    headers
}

/// Lets a page of Gamemaster's origin send messages and read the answers.
pub(super) fn allow_origin(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    let names = HeaderValue::from_static("Content-Type, Authorization");
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names);
    // Browsers ask for this before a page of the network may reach this machine.
    let name = HeaderName::from_static("access-control-allow-private-network");
    headers.insert(name, HeaderValue::from_static("true"));
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
