//! What the first line and the headers of a request say.

use std::net::SocketAddr;

use hyper::Request;
use hyper::header::{self, HeaderName, HeaderValue};

use super::message;
use panza_player::Manager;
use panza_web::PageRequest;
use panza_web::pages::{Client, Method};

/// Limit on headers with names of game managers and players, in bytes.
const LONGEST_NAMES: usize = 1000;

/// The connection of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionInfo {
    /// The address of the client.
    pub peer: SocketAddr,
    /// Whether it came to the log service's port, which takes no messages.
    pub at_log_service: bool,
}

/// What a request asks of the pages; without its body.
pub(super) fn page_request<B>(request: &Request<B>, method: Method, client: Client) -> PageRequest {
    let has = |name: HeaderName, word: &str| {
        let mut values = request.headers().get_all(name).into_iter();
        values.any(|value| value.to_str().is_ok_and(|value| value.contains(word)))
    };
    let tag = request.headers().get(header::IF_NONE_MATCH);
    PageRequest {
        method,
        path: request.uri().path().to_string(),
        query: request.uri().query().unwrap_or_default().to_string(),
        body: Vec::new(),
        accepts_gzip: has(header::ACCEPT_ENCODING, "gzip"),
        accepts_html: has(header::ACCEPT, "text/html"),
        known_tag: tag.and_then(|tag| tag.to_str().ok().map(String::from)),
        client,
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
pub(super) fn is_forwarded<B>(request: &Request<B>) -> bool {
    let mut names = request.headers().keys().map(HeaderName::as_str);
    names.any(|name| name.starts_with("x-forwarded") || OF_PROXIES.contains(&name))
}

/// Names in the headers of game managers.
pub(super) fn manager<B>(request: &Request<B>, peer: SocketAddr) -> Manager {
    let text = |name: &str| {
        let value = request.headers().get(name)?.to_str().ok()?.trim();
        let is_fit = !value.is_empty() && value.len() <= LONGEST_NAMES;
        is_fit.then(|| value.to_string())
    };
    let players = text("GGP-Match-Players").unwrap_or_default();
    let names = players.trim_matches(['[', ']', '(', ')']).split(',');
    Manager {
        host: text("GGP-Match-Host").or_else(|| text("Sender")),
        players: names
            .map(|name| name.trim().trim_matches('"').to_string())
            .filter(|name| !name.is_empty())
            .collect(),
        address: Some(peer.ip().to_canonical()),
    }
}

/// Whether the client asks for keep-alive. Any other connection is closed after the answer.
pub(super) fn asks_to_keep_alive<B>(request: &Request<B>) -> bool {
    let asks = |value: &HeaderValue| {
        value.to_str().is_ok_and(|value| {
            value
                .split(',')
                .any(|word| word.trim().eq_ignore_ascii_case("keep-alive"))
        })
    };
    request
        .headers()
        .get_all(header::CONNECTION)
        .iter()
        .any(asks)
}

/// The message in the target of a request, if there is one, with `+` and percent codes decoded.
pub(super) fn message_in_target<B>(request: &Request<B>) -> Option<String> {
    let target = decoded_target(request.uri().path_and_query()?.as_str());
    target.trim_start().starts_with('(').then_some(target)
}

fn decoded_target(target: &str) -> String {
    let target = target.strip_prefix('/').unwrap_or(target).as_bytes();
    let mut bytes = Vec::with_capacity(target.len());
    let mut at = 0;
    while let Some(&byte) = target.get(at) {
        let code = target
            .get(at + 1..at + 3)
            .filter(|code| byte == b'%' && code.iter().all(u8::is_ascii_hexdigit))
            .and_then(|code| std::str::from_utf8(code).ok())
            .and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(match (code, byte) {
            (Some(code), _) => code,
            (None, b'+') => b' ',
            (None, byte) => byte,
        });
        at += if code.is_some() { 3 } else { 1 };
    }
    message::decoded(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_decoded() {
        assert_eq!(decoded_target("/(%20INFO+)"), "( INFO )");
        assert_eq!(decoded_target("/(a?x=%3Fy)"), "(a?x=?y)");
        assert_eq!(decoded_target("/%zz%4"), "%zz%4");
        assert_eq!(decoded_target("/%E4"), "\u{e4}");
    }
}
