//! Who may use which port, and who sees matches: client addresses, Host names, the secret.
//!
//! A page in a browser sends requests with the browser's address, which may be this machine. So
//! messages of pages are taken only from the player's own pages and from the origins of the
//! settings; those of Gamemaster have a rule of their own (`gamemaster_access`).
//!
//! A hostile page in a browser can give a name of its own the address of this machine, and is then
//! of the same origin as the player (DNS rebinding). Its requests bear that name as their Host. So
//! matches are shown, and messages of browsers taken, only under IP addresses, `localhost` and the
//! names of the settings. Game managers send any Host with their messages and are not browsers.
//!
//! Never uses: what is on a page, what a message says.

use std::net::{IpAddr, Ipv6Addr};

use hyper::Request;
use hyper::header::{self, HeaderName, HeaderValue};

use super::gamemaster_access::GamemasterAccess;
use super::request::{ConnectionInfo, is_forwarded, message_in_target};
use panza_config::{HostNames, Networks, Origins, PagesFor, Secret, ServerSettings};
use panza_web::pages::{Client, UNKNOWN_HOST, parameter};

/// The cookie that holds the secret.
const COOKIE: &str = "panza_secret";
/// The parameter of an address that holds the secret.
const PARAMETER: &str = "secret";

/// What a request shows of the secret.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Credential {
    Missing,
    /// A word that is not the secret, in the address or as a bearer token.
    Wrong,
    /// The secret, in the address.
    InAddress,
    /// The secret, as a bearer token or a cookie.
    InHeader,
}

pub(super) struct Access {
    allow: Networks,
    host_names: HostNames,
    origins: Origins,
    secret: Secret,
    pages_for: PagesFor,
    gamemaster: GamemasterAccess,
}

impl Access {
    pub fn new(settings: &ServerSettings) -> Self {
        Self {
            allow: settings.allow.clone(),
            host_names: settings.host_names.clone(),
            origins: settings.origins.clone(),
            secret: settings.pages_secret.clone(),
            pages_for: settings.pages_for,
            gamemaster: GamemasterAccess::new(settings),
        }
    }

    /// Why a request is refused before its body is read; nothing if it is not.
    pub fn refusal<B>(
        &self,
        request: &Request<B>,
        connection: ConnectionInfo,
    ) -> Option<&'static str> {
        if connection.at_log_service {
            return None;
        }
        if !self.allow.contain(connection.peer.ip()) {
            return Some("this address may not use the player (server.allow)");
        }
        let is_post = request.method().as_str().eq_ignore_ascii_case("POST");
        let is_message = is_post || message_in_target(request).is_some();
        let is_relayed = self.gamemaster.origin(request).is_some();
        if is_post && !is_relayed && self.is_foreign(request) {
            return Some(FOREIGN_ORIGIN);
        }
        if is_message && is_browser(request) && !self.knows_host(request) {
            return Some(UNKNOWN_HOST);
        }
        None
    }

    /// Whether a page sends the request that is neither ours nor of an origin of the settings.
    fn is_foreign<B>(&self, request: &Request<B>) -> bool {
        let headers = request.headers();
        if !headers.contains_key(header::ORIGIN) {
            // Browsers leave the origin out where they state the site.
            let mut sites = texts(request, HeaderName::from_static("sec-fetch-site"));
            return sites.any(|site| !matches!(site, "same-origin" | "none"));
        }
        let host = headers.get(header::HOST).map(HeaderValue::as_bytes);
        headers.get_all(header::ORIGIN).iter().any(|origin| {
            let Ok(origin) = origin.to_str() else {
                return true;
            };
            let address = origin.split_once("://").map(|(_, address)| address);
            let is_own = address
                .zip(host)
                .is_some_and(|(address, host)| address.as_bytes().eq_ignore_ascii_case(host));
            !is_own && !self.origins.contain(origin)
        })
    }

    /// Who may relay messages of Gamemaster.
    pub fn gamemaster(&self) -> &GamemasterAccess {
        &self.gamemaster
    }

    /// Why a message of Gamemaster is not taken; nothing if it is.
    pub fn relay_refusal<B>(
        &self,
        request: &Request<B>,
        connection: ConnectionInfo,
    ) -> Option<&'static str> {
        if !is_local(request, connection) || !self.knows_host(request) {
            return Some("messages of Gamemaster are taken from browsers of this machine");
        }
        self.gamemaster.refusal(request, is_own_page(request))
    }

    /// What the pages let the client of a request do.
    pub fn client<B>(&self, request: &Request<B>, connection: ConnectionInfo) -> Client {
        let has_secret = self.credential(request) == Credential::InHeader;
        let knows_host = self.knows_host(request);
        let is_local = is_local(request, connection) && knows_host;
        let is_trusted = has_secret || (is_local && self.pages_for != PagesFor::Secret);
        Client {
            at_log_service: connection.at_log_service,
            names_unknown_host: !knows_host && !has_secret,
            sees_all: is_trusted || self.pages_for == PagesFor::All,
            may_play: is_trusted && !connection.at_log_service,
            is_own_page: is_own_page(request),
        }
    }

    /// The sources after `frame-ancestors` for a page that our own pages and those of other
    /// programs may show in a frame.
    pub fn frame_ancestors(&self) -> String {
        let origins = self.origins.iter().flat_map(|origin| [" ", origin]);
        std::iter::once("'self'").chain(origins).collect()
    }

    /// Whether all hosts that a request names are IP addresses, `localhost`, or known names. A
    /// request without a Host comes from no browser.
    pub fn knows_host<B>(&self, request: &Request<B>) -> bool {
        let in_target = request.uri().host().into_iter().map(str::as_bytes);
        let headers = request.headers().get_all(header::HOST);
        in_target
            .chain(headers.iter().map(HeaderValue::as_bytes))
            .all(|host| std::str::from_utf8(host).is_ok_and(|host| self.is_known(host)))
    }

    fn is_known(&self, host: &str) -> bool {
        let host = host.trim();
        let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
        // In an IPv6 address what follows the last colon ends with the bracket.
        let name = match host.rsplit_once(':') {
            Some((name, port)) if is_port(port) => name,
            _ => host,
        };
        if let Some(rest) = name.strip_prefix('[') {
            let address = rest.strip_suffix(']');
            return address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
        }
        let name = name.strip_suffix('.').unwrap_or(name);
        name.is_empty()
            || name.eq_ignore_ascii_case("localhost")
            || name.parse::<IpAddr>().is_ok()
            || self.host_names.contain(name)
    }

    /// What the request shows of the secret. An old cookie counts as nothing, so that it locks
    /// nobody out.
    pub fn credential<B>(&self, request: &Request<B>) -> Credential {
        if self.secret.word().is_none() {
            return Credential::Missing;
        }
        let query = request.uri().query().unwrap_or_default();
        if let Some(word) = parameter(query, PARAMETER) {
            return match self.secret.is(&word) {
                true => Credential::InAddress,
                false => Credential::Wrong,
            };
        }
        let bearer = texts(request, header::AUTHORIZATION).find_map(|text| {
            let (scheme, word) = text.trim().split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| word.trim())
        });
        if let Some(word) = bearer {
            return match self.secret.is(word) {
                true => Credential::InHeader,
                false => Credential::Wrong,
            };
        }
        let mut cookies = texts(request, header::COOKIE).flat_map(|text| text.split(';'));
        let is_kept = cookies.any(|cookie| {
            let cookie = cookie.trim().split_once('=');
            cookie.is_some_and(|(name, word)| name == COOKIE && self.secret.is(word))
        });
        match is_kept {
            true => Credential::InHeader,
            false => Credential::Missing,
        }
    }

    /// The cookie for a browser that has shown the secret.
    pub fn cookie(&self) -> Option<String> {
        let word = self.secret.word()?;
        Some(format!(
            "{COOKIE}={word}; Path=/; HttpOnly; SameSite=Strict"
        ))
    }

    /// The address of a request without the secret.
    pub fn address_without_secret<B>(request: &Request<B>) -> String {
        // A path that began with two slashes would name another host.
        let path = request.uri().path().trim_start_matches(['/', '\\']);
        let query = request.uri().query().unwrap_or_default();
        let pairs = form_urlencoded::parse(query.as_bytes());
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(pairs.filter(|(name, _)| name != PARAMETER))
            .finish();
        match query.as_str() {
            "" => format!("/{path}"),
            query => format!("/{path}?{query}"),
        }
    }
}

/// Said to a message of a page of another origin.
const FOREIGN_ORIGIN: &str =
    "pages of this origin may not send messages: name the origin in server.origins";

/// Whether a client on this machine asks, and for no other one.
fn is_local<B>(request: &Request<B>, connection: ConnectionInfo) -> bool {
    connection.peer.ip().to_canonical().is_loopback() && !is_forwarded(request)
}

/// Whether a page of this player sends a request: pages of other origins may not send this header.
fn is_own_page<B>(request: &Request<B>) -> bool {
    request.headers().contains_key("panza-page")
}

/// Whether a request has the marks of a browser, which a page cannot take away.
fn is_browser<B>(request: &Request<B>) -> bool {
    let headers = request.headers();
    headers.contains_key(header::ORIGIN)
        || headers.contains_key("sec-fetch-site")
        || texts(request, header::USER_AGENT).any(|text| text.starts_with("Mozilla/"))
}

fn texts<B>(request: &Request<B>, name: HeaderName) -> impl Iterator<Item = &str> {
    let values = request.headers().get_all(name).into_iter();
    values.filter_map(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_config::Settings;

    fn access(items: &[&str]) -> Access {
        let items: Vec<String> = items.iter().map(ToString::to_string).collect();
        Access::new(&Settings::load(None, &items).unwrap().server)
    }

    fn request(target: &str, headers: &[(&str, &str)]) -> Request<()> {
        let request = Request::builder().uri(target);
        let add = |request: hyper::http::request::Builder, header: &(&str, &str)| {
            request.header(header.0, header.1)
        };
        headers.iter().fold(request, add).body(()).unwrap()
    }

    #[test]
    fn hosts_are_addresses_localhost_or_known_names() {
        let access = access(&["server.host_names=Panza.example.org,panza"]);
        let known = |host: &str| access.knows_host(&request("/", &[("host", host)]));
        for host in [
            "127.0.0.1:9147",
            "192.0.2.7",
            "[::1]:9147",
            "[::1]",
            "LOCALHOST:1",
            "localhost.",
            "panza:9147",
            "PANZA.example.org",
            "",
        ] {
            assert!(known(host), "{host}");
        }
        for host in [
            "example.org",
            "127.0.0.1.example.org",
            "localhost.example.org:9147",
            "[::1.example.org]",
            "panza.example.org.evil",
            "127.0.0.1:9147@example.org",
            "[::1]x",
            "[::1",
            "x",
        ] {
            assert!(!known(host), "{host}");
        }
        assert!(access.knows_host(&request("/", &[])));
        assert!(!access.knows_host(&request("http://evil/", &[("host", "localhost")])));
        let two = [("host", "localhost"), ("host", "evil")];
        assert!(!access.knows_host(&request("/", &two)));
    }

    #[test]
    fn messages_of_foreign_pages_are_refused() {
        let access = access(&["server.origins=https://Ggp.example.org,http://127.0.0.1:8080"]);
        let foreign = |headers: &[(&str, &str)]| access.is_foreign(&request("/", headers));
        let host = ("host", "localhost:9147");
        for own in [
            &[host] as &[_],
            &[host, ("origin", "http://localhost:9147")],
            &[host, ("origin", "https://ggp.example.org")],
            &[host, ("origin", "http://127.0.0.1:8080")],
            &[host, ("sec-fetch-site", "same-origin")],
            &[host, ("sec-fetch-site", "none")],
        ] {
            assert!(!foreign(own), "{own:?}");
        }
        for other in [
            &[host, ("origin", "null")] as &[_],
            &[host, ("origin", "http://localhost:9148")],
            &[host, ("origin", "http://ggp.example.org")],
            &[host, ("origin", "https://ggp.example.org.evil")],
            &[host, ("origin", "localhost:9147")],
            &[("origin", "http://localhost:9147")],
            &[host, ("sec-fetch-site", "cross-site")],
            &[host, ("sec-fetch-site", "same-site")],
            &[
                host,
                ("origin", "http://localhost:9147"),
                ("origin", "http://evil"),
            ],
        ] {
            assert!(foreign(other), "{other:?}");
        }
    }

    #[test]
    fn the_secret_is_found_wherever_it_is_shown() {
        let word = "0123456789abcdef";
        let with = access(&[&format!("server.pages_secret={word}")]);
        let without = access(&[]);
        let address = format!("/?a=b&secret={word}");
        let bearer = format!("bearer {word}");
        let cookie = format!("a=b; panza_secret={word}; panza_secret=old");
        for (request, found) in [
            (request(&address, &[]), Credential::InAddress),
            (
                request("/", &[("authorization", &bearer)]),
                Credential::InHeader,
            ),
            (request("/", &[("cookie", &cookie)]), Credential::InHeader),
            (
                request("/?secret=x", &[("cookie", &cookie)]),
                Credential::Wrong,
            ),
            (
                request("/", &[("authorization", "Bearer x")]),
                Credential::Wrong,
            ),
            (
                request("/", &[("authorization", "Basic x")]),
                Credential::Missing,
            ),
            (
                request("/", &[("cookie", "panza_secret=x")]),
                Credential::Missing,
            ),
            (request("/", &[]), Credential::Missing),
        ] {
            assert_eq!(with.credential(&request), found, "{request:?}");
            assert_eq!(
                without.credential(&request),
                Credential::Missing,
                "{request:?}"
            );
        }
    }

    #[test]
    fn who_sees_what_follows_from_address_host_and_secret() {
        let word = "0123456789abcdef";
        let secret = format!("server.pages_secret={word}");
        let local = access(&[]);
        let all = access(&["server.pages_for=all"]);
        let secret = access(&["server.pages_for=secret", &secret]);
        let bearer = format!("Bearer {word}");
        let plain = request("/", &[("host", "localhost")]);
        let rebound = request("/", &[("host", "evil")]);
        let forwarded = request("/", &[("host", "localhost"), ("x-forwarded-for", "::1")]);
        let with_secret = request("/", &[("host", "evil"), ("authorization", &bearer)]);
        for (access, request, peer, sees_all, may_play, is_unknown) in [
            (&local, &plain, "127.0.0.1:1", true, true, false),
            (&local, &plain, "[::ffff:127.0.0.1]:1", true, true, false),
            (&local, &plain, "192.0.2.1:1", false, false, false),
            (&local, &forwarded, "127.0.0.1:1", false, false, false),
            (&local, &rebound, "127.0.0.1:1", false, false, true),
            (&all, &plain, "192.0.2.1:1", true, false, false),
            (&all, &rebound, "127.0.0.1:1", true, false, true),
            (&secret, &plain, "127.0.0.1:1", false, false, false),
            (&secret, &with_secret, "192.0.2.1:1", true, true, false),
        ] {
            for at_log_service in [false, true] {
                let peer = peer.parse().unwrap();
                let client = access.client(
                    request,
                    ConnectionInfo {
                        peer,
                        at_log_service,
                    },
                );
                let expected = Client {
                    at_log_service,
                    names_unknown_host: is_unknown,
                    sees_all,
                    may_play: may_play && !at_log_service,
                    is_own_page: false,
                };
                assert_eq!(client, expected, "{peer} {request:?}");
            }
        }
    }
}
