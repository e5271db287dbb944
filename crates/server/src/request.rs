//! What the first line and the headers of a request say.

use std::borrow::Cow;
use std::net::SocketAddr;

use hyper::Request;
use hyper::header::{self, HeaderValue};

use super::message;
use panza_player::Manager;

/// Limit on headers with names of game managers and players, in bytes.
const LONGEST_NAMES: usize = 1000;

#[derive(Clone, Copy, Debug)]
pub(super) struct Came {
    pub peer: SocketAddr,
    /// Whether it came to the log service's port, which takes no messages.
    pub at_log_service: bool,
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

/// Whether the target of a GET is a message.
pub(super) fn is_message_target<B>(request: &Request<B>) -> bool {
    target(request).is_some_and(|target| target.trim_start().starts_with('('))
}

/// The target of a request: without the slash, with `+` and percent codes decoded.
pub(super) fn target<B>(request: &Request<B>) -> Option<String> {
    let target = request.uri().path_and_query()?;
    Some(decoded_target(target.as_str()))
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

/// The first parameter of this name in a query.
pub(super) fn parameter<'a>(query: &'a str, name: &str) -> Option<Cow<'a, str>> {
    form_urlencoded::parse(query.as_bytes())
        .find(|(key, _)| key == name)
        .map(|(_, value)| value)
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
