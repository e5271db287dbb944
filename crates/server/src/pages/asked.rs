//! What a request asks of the pages.

use hyper::Request;
use hyper::header::{self, HeaderName};

use crate::access::{Access, Shown};
use crate::request::Came;

#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// The path as sent, with percent codes.
    pub path: String,
    pub query: String,
    pub accepts_gzip: bool,
    /// Whether the client accepts a page, as a browser does.
    pub accepts_html: bool,
    /// The entity tag of the client's copy.
    pub known_tag: Option<String>,
    pub at_log_service: bool,
    /// Whether a client on this machine asks, and for no other one.
    pub is_from_here: bool,
    /// Whether the request names a host under which no matches are shown.
    pub names_unknown_host: bool,
    /// What the request shows of the secret.
    pub secret: Shown,
    /// Whether a page of this player sends it: pages of other origins may not send this header.
    pub is_own_page: bool,
}

impl Asked {
    /// What a request asks for.
    pub fn new<B>(request: &Request<B>, came: Came, access: &Access) -> Self {
        let has = |name: HeaderName, word: &str| {
            let values = request.headers().get_all(name);
            values
                .iter()
                .any(|value| value.to_str().is_ok_and(|value| value.contains(word)))
        };
        let tag = request.headers().get(header::IF_NONE_MATCH);
        Self {
            path: request.uri().path().to_string(),
            query: request.uri().query().unwrap_or_default().to_string(),
            accepts_gzip: has(header::ACCEPT_ENCODING, "gzip"),
            accepts_html: has(header::ACCEPT, "text/html"),
            known_tag: tag.and_then(|tag| tag.to_str().ok().map(String::from)),
            at_log_service: came.at_log_service,
            is_from_here: came.peer.ip().to_canonical().is_loopback() && !is_forwarded(request),
            names_unknown_host: !access.knows_host(request),
            secret: access.shown(request),
            is_own_page: request.headers().contains_key("panza-page"),
        }
    }
}

/// Headers of proxies and of networks that deliver for others, beside `x-forwarded-...`.
const OF_PROXIES: [&str; 16] = [
    "forwarded",
    "via",
    "x-real-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-original-forwarded-for",
    "x-envoy-external-address",
    "x-proxyuser-ip",
    "x-azure-clientip",
    "x-appengine-user-ip",
    "true-client-ip",
    "client-ip",
    "cf-connecting-ip",
    "cf-ray",
    "fastly-client-ip",
    "fly-client-ip",
];

/// Whether a proxy asks for a client that may be anywhere. A proxy that adds no header cannot be
/// told from a client of this machine.
fn is_forwarded<B>(request: &Request<B>) -> bool {
    let mut names = request.headers().keys().map(HeaderName::as_str);
    names.any(|name| name.starts_with("x-forwarded") || OF_PROXIES.contains(&name))
}
