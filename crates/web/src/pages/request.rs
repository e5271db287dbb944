//! What a browser asks for, however the request came here.

use std::borrow::Cow;

/// What is done with a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Method {
    /// Something is read.
    #[default]
    Get,
    /// A body is sent.
    Post,
}

/// A request for a page, or for the data of one.
#[derive(Clone, Debug, Default)]
pub struct PageRequest {
    /// What is done.
    pub method: Method,
    /// The path as sent, with percent codes.
    pub path: String,
    /// The query, without the question mark.
    pub query: String,
    /// What is sent; empty for a GET.
    pub body: Vec<u8>,
    /// Whether the answer may be packed with gzip.
    pub accepts_gzip: bool,
    /// Whether the client accepts a page, as a browser does.
    pub accepts_html: bool,
    /// The entity tag of the client's copy.
    pub known_tag: Option<String>,
    /// What the client may do.
    pub client: Client,
}

/// What the host of the pages knows of a client, and lets it do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Client {
    /// Whether it asks at the log service, which lists matches and plays no games.
    pub at_log_service: bool,
    /// Whether it names a host under which no matches are shown.
    pub names_unknown_host: bool,
    /// Whether it sees everything, live matches too.
    pub sees_all: bool,
    /// Whether it may play, study and write rulesheets.
    pub may_play: bool,
    /// Whether a page of this player sends the request, and none of another origin.
    pub is_own_page: bool,
}

impl PageRequest {
    /// A parameter of the query.
    pub(super) fn parameter(&self, name: &str) -> Option<Cow<'_, str>> {
        parameter(&self.query, name)
    }

    /// A parameter that is a number.
    pub(super) fn number(&self, name: &str) -> Option<usize> {
        self.parameter(name)?.parse().ok()
    }
}

/// The first parameter of this name in a query.
pub fn parameter<'a>(query: &'a str, name: &str) -> Option<Cow<'a, str>> {
    form_urlencoded::parse(query.as_bytes())
        .find(|(key, _)| key == name)
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_the_first_counts() {
        let request = PageRequest {
            query: "search=a+b%26c&from=12&from=13&limit=-1&offset=99999999999999999999999".into(),
            ..PageRequest::default()
        };
        assert_eq!(request.parameter("search").as_deref(), Some("a b&c"));
        assert_eq!(request.number("from"), Some(12));
        assert_eq!(request.number("limit"), None);
        assert_eq!(request.number("offset"), None);
        assert_eq!(parameter("", "search"), None);
    }
}
