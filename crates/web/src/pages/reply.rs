//! The answer to a request for a page.

use std::borrow::Cow;
use std::fmt::Display;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// How a request ended; as a number the status code of HTTP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageStatus {
    /// The page is there.
    Ok = 200,
    /// There is nothing to send.
    NoContent = 204,
    /// The page is elsewhere.
    SeeOther = 303,
    /// The client's copy is the page.
    NotModified = 304,
    /// The request is not understood.
    BadRequest = 400,
    /// The client may not ask for that.
    Forbidden = 403,
    /// There is no such page.
    NotFound = 404,
    /// The request is understood, and cannot be done.
    Unprocessable = 422,
    /// The page could not be made.
    Failed = 500,
    /// It cannot be done now.
    Unavailable = 503,
}

/// A page, or the data of one.
#[derive(Clone, PartialEq, Debug)]
pub struct PageReply {
    /// How the request ended.
    pub status: PageStatus,
    /// The media type of the body.
    pub content_type: &'static str,
    /// What is sent.
    pub body: Cow<'static, [u8]>,
    /// Whether the body is packed with gzip.
    pub is_gzip: bool,
    /// The entity tag.
    pub tag: Option<String>,
    /// The file name for a download.
    pub download: Option<String>,
    /// Whether pages of all origins may read it.
    pub is_public: bool,
    /// Whether our own pages and those of `server.origins` may show it in a frame.
    pub is_framable: bool,
}

impl PageReply {
    /// A reply without any of the additions.
    pub(super) fn new(
        status: PageStatus,
        content_type: &'static str,
        body: impl Into<Cow<'static, [u8]>>,
    ) -> Self {
        Self {
            status,
            content_type,
            body: body.into(),
            is_gzip: false,
            tag: None,
            download: None,
            is_public: false,
            is_framable: false,
        }
    }

    /// A value as JSON.
    pub fn json(value: &impl Serialize) -> Self {
        match serde_json::to_vec(value) {
            Ok(bytes) => Self::new(PageStatus::Ok, "application/json", bytes),
            Err(error) => Self::failed(&error),
        }
    }

    /// A plain text.
    pub fn text(status: PageStatus, text: impl Into<String>) -> Self {
        let bytes = text.into().into_bytes();
        Self::new(status, "text/plain; charset=utf-8", bytes)
    }

    /// The answer to a body in JSON.
    pub(super) fn to_json<T: DeserializeOwned>(
        body: &[u8],
        answer: impl FnOnce(T) -> Self,
    ) -> Self {
        match serde_json::from_slice(body) {
            Ok(value) => answer(value),
            Err(fault) => Self::text(PageStatus::BadRequest, format!("not understood: {fault}\n")),
        }
    }

    /// The page could not be made.
    pub(super) fn failed(error: &dyn Display) -> Self {
        tracing::warn!("a page could not be made: {error}");
        let text = format!("this could not be read: {error}\n");
        Self::text(PageStatus::Failed, text)
    }

    /// There is no match of the name.
    pub(super) fn no_match() -> Self {
        Self::text(PageStatus::NotFound, "there is no match of this name\n")
    }
}
