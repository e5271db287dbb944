//! Who may use which port, and who sees matches: client addresses, Host names, the secret.
//!
//! A page in a browser sends requests with the browser's address, which may be this machine. So
//! messages of pages are taken only from the player's own pages and from the origins of the
//! settings; those of Gamemaster come through a door of their own.
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

use super::relay::Door;
use super::request::{Came, is_message_target, parameter};
use panza_config::{HostNames, Networks, Origins, Secret, ServerSettings};

/// The cookie that holds the secret.
const COOKIE: &str = "panza_secret";
/// The parameter of an address that holds the secret.
pub(super) const PARAMETER: &str = "secret";

/// What a request shows of the secret.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Shown {
    #[default]
    Nothing,
    /// A word that is not the secret, in the address or as a bearer token.
    Wrong,
    /// The secret, in the address.
    InAddress,
    /// The secret, as a bearer token or a cookie.
    InHeader,
}

#[derive(Clone)]
pub(super) struct Access {
    allow: Networks,
    host_names: HostNames,
    origins: Origins,
    secret: Secret,
    door: Door,
}

impl Access {
    pub fn new(settings: &ServerSettings) -> Self {
        Self {
            allow: settings.allow.clone(),
            host_names: settings.host_names.clone(),
            origins: settings.origins.clone(),
            secret: settings.pages_secret.clone(),
            door: Door::new(settings),
        }
    }

    /// Why a request is refused before its body is read; nothing if it is not.
    pub fn refusal<B>(&self, request: &Request<B>, came: Came) -> Option<&'static str> {
        if came.at_log_service {
            return None;
        }
        if !self.allow.contain(came.peer.ip()) {
            return Some("this address may not use the player (server.allow)");
        }
        let is_post = request.method().as_str().eq_ignore_ascii_case("POST");
        let is_message = is_post || is_message_target(request);
        let is_relayed = self.door.origin(request).is_some();
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

    /// The door for the page that plays in Gamemaster.
    pub fn door(&self) -> &Door {
        &self.door
    }

    /// The origins of pages that may show the viewer in a frame, beside our own.
    pub fn origins(&self) -> &Origins {
        &self.origins
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
    pub fn shown<B>(&self, request: &Request<B>) -> Shown {
        if self.secret.word().is_none() {
            return Shown::Nothing;
        }
        let query = request.uri().query().unwrap_or_default();
        if let Some(word) = parameter(query, PARAMETER) {
            return match self.secret.is(&word) {
                true => Shown::InAddress,
                false => Shown::Wrong,
            };
        }
        let bearer = texts(request, header::AUTHORIZATION).find_map(|text| {
            let (scheme, word) = text.trim().split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| word.trim())
        });
        if let Some(word) = bearer {
            return match self.secret.is(word) {
                true => Shown::InHeader,
                false => Shown::Wrong,
            };
        }
        let mut cookies = texts(request, header::COOKIE).flat_map(|text| text.split(';'));
        let is_kept = cookies.any(|cookie| {
            let cookie = cookie.trim().split_once('=');
            cookie.is_some_and(|(name, word)| name == COOKIE && self.secret.is(word))
        });
        match is_kept {
            true => Shown::InHeader,
            false => Shown::Nothing,
        }
    }

    /// The cookie for a browser that has shown the secret.
    pub fn cookie(&self) -> Option<String> {
        let word = self.secret.word()?;
        Some(format!(
            "{COOKIE}={word}; Path=/; HttpOnly; SameSite=Strict"
        ))
    }
}

/// Said to a request that names an unknown host.
pub(super) const UNKNOWN_HOST: &str =
    "this host name is not known: use the IP address, or name the host in server.host_names";

/// Said to a message of a page of another origin.
const FOREIGN_ORIGIN: &str =
    "pages of this origin may not send messages: name the origin in server.origins";

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
        for (request, shown) in [
            (request(&address, &[]), Shown::InAddress),
            (request("/", &[("authorization", &bearer)]), Shown::InHeader),
            (request("/", &[("cookie", &cookie)]), Shown::InHeader),
            (request("/?secret=x", &[("cookie", &cookie)]), Shown::Wrong),
            (request("/", &[("authorization", "Bearer x")]), Shown::Wrong),
            (
                request("/", &[("authorization", "Basic x")]),
                Shown::Nothing,
            ),
            (
                request("/", &[("cookie", "panza_secret=x")]),
                Shown::Nothing,
            ),
            (request("/", &[]), Shown::Nothing),
        ] {
            assert_eq!(with.shown(&request), shown, "{request:?}");
            assert_eq!(without.shown(&request), Shown::Nothing, "{request:?}");
        }
    }
}
