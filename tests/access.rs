//! Who may use which port: client addresses, Host names, the secret.

use std::net::SocketAddr;

use crate::support::client::{AVAILABLE, Answer, Running, check_common, check_ggp, ggp_base, send};
use crate::support::logging_server;
use crate::support::pile::rules;

const SECRET: &str = "correct-horse-battery";

fn get(address: SocketAddr, target: &str, headers: &str) -> Answer {
    send(address, &format!("GET {target} HTTP/1.1\r\n{headers}\r\n"))
}

fn post(address: SocketAddr, headers: &str) -> Answer {
    let length = "Content-Length: 8\r\n\r\n( INFO )";
    send(address, &format!("POST / HTTP/1.1\r\n{headers}{length}"))
}

/// Starts a match, so that a live one is there.
fn start(server: &Running) {
    let message = format!("( START m first ( {} ) 0.2 600 )", rules(4));
    assert_eq!(server.ask(&message), "ready");
}

#[test]
fn addresses_outside_the_list_are_refused_before_the_body() {
    let (server, _root) = logging_server(&["server.allow=10.0.0.0/8, 192.0.2.7"]);
    for request in [
        ggp_base("( INFO )"),
        // A body that never comes.
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n".to_string(),
        "GET /( INFO ) HTTP/1.0\r\n\r\n".to_string(),
        "GET / HTTP/1.0\r\n\r\n".to_string(),
        "GET /metrics HTTP/1.0\r\n\r\n".to_string(),
        "OPTIONS / HTTP/1.0\r\n\r\n".to_string(),
    ] {
        let answer = server.raw(request.as_bytes());
        assert_eq!(answer.code(), "403", "{request}");
        check_common(&answer);
        assert!(answer.body.contains("server.allow"), "{}", answer.body);
    }
    // The log service has its own users.
    let answer = get(server.logs.unwrap(), "/", "Host: localhost\r\n");
    assert_eq!(answer.code(), "200");
}

#[test]
fn addresses_in_the_list_are_served() {
    let (server, _root) = logging_server(&["server.allow=10.0.0.0/8, 127.0.0.0/8"]);
    server.assert_available();
}

#[test]
fn a_port_for_messages_alone_has_no_pages() {
    let (server, _root) = logging_server(&["server.game_port_pages=false"]);
    for target in ["/", "/metrics", "/healthz", "/viewer", "/assets/style.css"] {
        let answer = get(server.address, target, "Host: localhost\r\n");
        assert_eq!(answer.code(), "404", "{target}");
        assert!(answer.body.contains("messages only"), "{}", answer.body);
        let answer = get(server.logs.unwrap(), target, "Host: localhost\r\n");
        assert_eq!(answer.code(), "200", "{target}");
    }
    assert_eq!(get(server.address, "/(INFO)", "").body, AVAILABLE);
    server.assert_available();
}

#[test]
fn matches_are_not_shown_under_unknown_host_names() {
    let (server, _root) = logging_server(&["server.host_names=panza.example.org"]);
    start(&server);
    let (player, logs) = (server.address, server.logs.unwrap());
    for target in ["/", "/matches/m", "/api/matches", "/api/matches/m/log"] {
        for address in [player, logs] {
            for host in ["evil.example", "evil.example:9147", "localhost.evil"] {
                let answer = get(address, target, &format!("Host: {host}\r\n"));
                assert_eq!(answer.code(), "403", "{host} {target}");
                assert!(answer.body.contains("server.host_names"));
            }
            for host in ["127.0.0.1:9147", "[::1]", "localhost", "Panza.example.org"] {
                let answer = get(address, target, &format!("Host: {host}\r\n"));
                assert_eq!(answer.code(), "200", "{host} {target}");
            }
            // No browser leaves it out.
            assert_eq!(get(address, target, "").code(), "200", "{target}");
        }
    }
    // Nothing of a match is in these.
    for target in ["/metrics", "/healthz", "/assets/style.css"] {
        assert_eq!(get(player, target, "Host: x\r\n").code(), "200", "{target}");
    }
    assert_eq!(get(logs, "/viewer", "Host: x\r\n").code(), "200");
    // A match database fetches finished matches under any name, but no live one.
    assert_eq!(get(logs, "/m", "Host: x\r\n").code(), "404");
    assert_eq!(get(logs, "/m", "Host: localhost\r\n").code(), "200");
    assert_eq!(server.ask("( STOP m NIL )"), "done");
    // It does so right after the end.
    let answer = get(logs, "/m", "Host: x\r\n");
    assert_eq!(answer.code(), "200");
    assert!(answer.body.contains("\"how\":\"stopped\""), "{answer:?}");
}

#[test]
fn messages_of_browsers_need_a_known_host() {
    let (server, _root) = logging_server(&[]);
    let address = server.address;
    // Game managers name any host, or none.
    for headers in ["Host: evil.example\r\n", "", "Host: 127.0.0.1\r\n"] {
        let answer = post(address, headers);
        check_ggp(&answer);
        assert_eq!(answer.body, AVAILABLE);
    }
    for mark in [
        "Origin: http://evil.example",
        "Sec-Fetch-Site: same-origin",
        "User-Agent: Mozilla/5.0 (X11)",
    ] {
        let answer = post(address, &format!("Host: evil.example\r\n{mark}\r\n"));
        assert_eq!(answer.code(), "403", "{mark}");
        let headers = format!("Host: evil.example\r\n{mark}\r\n");
        assert_eq!(get(address, "/(INFO)", &headers).code(), "403", "{mark}");
    }
    // The player's own pages name it as it is entered.
    for mark in [
        "Origin: http://127.0.0.1:9147",
        "Sec-Fetch-Site: same-origin",
        "User-Agent: Mozilla/5.0 (X11)",
    ] {
        let answer = post(address, &format!("Host: 127.0.0.1:9147\r\n{mark}\r\n"));
        check_ggp(&answer);
    }
}

#[test]
fn pages_of_other_origins_send_no_messages() {
    let (server, _root) = logging_server(&["server.origins=https://ggp.example.org"]);
    let host = "Host: 127.0.0.1:9147\r\n";
    for mark in [
        "Origin: https://evil.example",
        "Origin: null",
        "Sec-Fetch-Site: cross-site",
        "Origin: http://127.0.0.1:9148",
    ] {
        let answer = post(server.address, &format!("{host}{mark}\r\n"));
        assert_eq!(answer.code(), "403", "{mark}");
        assert!(answer.body.contains("server.origins"), "{}", answer.body);
        server.assert_available();
    }
    let named = format!("{host}Origin: https://ggp.example.org\r\n");
    check_ggp(&post(server.address, &named));
}

/// A message of Gamemaster, with these headers.
fn relay(address: SocketAddr, headers: &str, body: &str) -> Answer {
    let length = body.len();
    let head =
        format!("POST /gamemaster/message HTTP/1.1\r\n{headers}Content-Length: {length}\r\n");
    send(address, &format!("{head}\r\n{body}"))
}

const PING: &str = r#"{"player":"panza","number":1,"content":"ping()"}"#;

#[test]
fn messages_of_gamemaster_need_the_key_or_our_own_page() {
    let secret = format!("server.pages_secret={SECRET}");
    let (server, _root) = logging_server(&[&secret]);
    let address = server.address;
    let host = "Host: 127.0.0.1:9147\r\n";
    let site = "Origin: http://gamemaster.stanford.edu\r\n";
    let key = format!("Authorization: Bearer {SECRET}\r\n");
    let page = "panza-page: 1\r\n";
    for (headers, expected) in [
        (format!("{host}{site}{key}"), "200"),
        (
            format!("{host}Origin: https://gamemaster.stanford.edu\r\n{key}"),
            "200",
        ),
        // Our own page.
        (
            format!("{host}Origin: http://127.0.0.1:9147\r\n{page}"),
            "200",
        ),
        (format!("{host}{site}"), "403"),
        (
            format!("{host}{site}Authorization: Bearer {SECRET}x\r\n"),
            "403",
        ),
        (format!("{host}Origin: http://evil.example\r\n{key}"), "403"),
        (format!("{host}Origin: null\r\n{key}"), "403"),
        (format!("Host: evil.example\r\n{site}{key}"), "403"),
        (
            format!("{host}{site}X-Forwarded-For: 192.0.2.1\r\n{key}"),
            "403",
        ),
    ] {
        let answer = relay(address, &headers, PING);
        assert_eq!(answer.code(), expected, "{headers}: {}", answer.body);
    }
    let answer = relay(address, &format!("{host}{site}{key}"), PING);
    assert_eq!(
        answer.body,
        r#"{"reply":"ready","match":null,"thoughts":null}"#
    );
    let allowed = answer.header("access-control-allow-origin");
    assert_eq!(allowed, Some("http://gamemaster.stanford.edu"));
    // Nothing else takes messages of that origin.
    assert_eq!(post(address, &format!("{host}{site}{key}")).code(), "403");
}

#[test]
fn gamemaster_may_ask_whether_it_may_send() {
    let (server, _root) = logging_server(&[]);
    let options = |origin: &str| {
        let head = format!("Host: 127.0.0.1:9147\r\nOrigin: {origin}\r\n");
        let target = "OPTIONS /gamemaster/message HTTP/1.1";
        send(server.address, &format!("{target}\r\n{head}\r\n"))
    };
    let answer = options("http://gamemaster.stanford.edu");
    let headers = answer.header("access-control-allow-headers").unwrap();
    assert_eq!(headers, "Content-Type, Authorization");
    assert_eq!(
        answer.header("access-control-allow-private-network"),
        Some("true")
    );
    let answer = options("http://evil.example");
    let headers = answer.header("access-control-allow-headers").unwrap();
    assert_eq!(headers, "Content-Type");
    assert_eq!(answer.header("access-control-allow-private-network"), None);
}

#[test]
fn faulty_messages_of_gamemaster_say_what_was_expected() {
    let (server, _root) = logging_server(&[]);
    let headers = "Host: 127.0.0.1:9147\r\npanza-page: 1\r\n";
    let deep = format!("start(x,ruleset(p({}),10,10)", "(".repeat(100_000));
    let wide = format!("start(x,ruleset({}),1e400,-1)", "p,".repeat(100_000));
    for (content, expected) in [
        ("", "expected ping()"),
        ("play(mark(1,1))", "not known"),
        ("start(x,ruleset(role(x)),10,10)", "ruleset:"),
        (&deep, "expected ping()"),
        (&wide, "the seconds of a clock"),
    ] {
        let body = serde_json::json!({ "player": "p", "number": 1, "content": content });
        let answer = relay(server.address, headers, &body.to_string());
        assert_eq!(answer.code(), "400", "{}", answer.body);
        assert!(answer.body.contains(expected), "{}", answer.body);
        server.assert_available();
    }
    for body in ["", "{", r#"{"player":"p","number":-1,"content":"ping()"}"#] {
        assert_eq!(relay(server.address, headers, body).code(), "400", "{body}");
    }
}

#[test]
fn a_get_asks_for_nothing_but_info() {
    let (server, _root) = logging_server(&[]);
    for message in [
        "(START m a ((role a)(legal a x)(goal a 5)) 9 9)",
        "(ABORT m)",
        "(PLAY m NIL)",
        "(hello)",
        "(",
    ] {
        let target = format!("/{}", message.replace(' ', "+"));
        let answer = get(server.address, &target, "Host: localhost\r\n");
        assert_eq!(answer.code(), "405", "{message}");
        server.assert_available();
    }
}

#[test]
fn only_named_origins_may_show_the_viewer_in_a_frame() {
    let (server, _root) = logging_server(&["server.origins=https://ggp.example.org"]);
    let policy = |path: &str| {
        let answer = get(server.address, path, "Host: localhost\r\n");
        answer
            .header("content-security-policy")
            .unwrap()
            .to_string()
    };
    assert!(policy("/viewer").ends_with("frame-ancestors 'self' https://ggp.example.org"));
    for path in ["/", "/play"] {
        assert!(policy(path).ends_with("frame-ancestors 'none'"), "{path}");
    }
}

#[test]
fn this_machine_may_need_the_secret() {
    let secret = format!("server.pages_secret={SECRET}");
    let (server, _root) = logging_server(&["server.pages_for=secret", &secret]);
    for path in ["/", "/play", "/api/matches"] {
        let get = |header: &str| {
            get(
                server.address,
                path,
                &format!("Host: localhost\r\n{header}"),
            )
            .code()
            .to_string()
        };
        assert_eq!(get(""), "404", "{path}");
        assert_eq!(
            get(&format!("Authorization: Bearer {SECRET}\r\n")),
            "200",
            "{path}"
        );
    }
}

#[test]
fn the_secret_becomes_a_cookie() {
    let (server, root) = logging_server(&[&format!("server.pages_secret={SECRET}")]);
    start(&server);
    let address = server.address;
    // What needs the secret here is an unknown host.
    let host = "Host: evil.example\r\n";
    let shown = |headers: &str| get(address, "/api/matches", &format!("{host}{headers}"));
    assert_eq!(shown("").code(), "403");
    let target = format!("//matches/m?a=b%20c&secret={SECRET}&d=e");
    let answer = get(address, &target, host);
    assert_eq!(answer.code(), "303");
    assert_eq!(answer.header("location"), Some("/matches/m?a=b+c&d=e"));
    let cookie = answer.header("set-cookie").unwrap();
    let (cookie, attributes) = cookie.split_once("; ").unwrap();
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Strict");
    assert_eq!(shown(&format!("Cookie: a=b; {cookie}\r\n")).code(), "200");
    assert_eq!(
        shown(&format!("Authorization: Bearer {SECRET}\r\n")).code(),
        "200"
    );
    for headers in ["Authorization: Bearer x\r\n", "Cookie: panza_secret=x\r\n"] {
        assert_eq!(shown(headers).code(), "403", "{headers}");
    }
    let answer = get(address, "/?secret=wrong", "Host: localhost\r\n");
    assert_eq!(answer.code(), "403");
    assert_eq!(answer.header("set-cookie"), None);
    assert_eq!(server.ask("( STOP m NIL )"), "done");
    drop(server);
    // The settings are part of the log of a match.
    let events = std::fs::read_to_string(root.path().join("m/events.jsonl")).unwrap();
    assert!(events.contains("pages_secret = \\\"hidden\\\""), "{events}");
    assert!(!events.contains(SECRET));
}

#[test]
fn what_a_proxy_forwards_is_not_from_here() {
    let (server, _root) = logging_server(&[]);
    let get = |header: &str| get(server.address, "/", &format!("Host: localhost\r\n{header}"));
    assert_eq!(get("").code(), "200");
    for header in [
        "X-Forwarded-For: 192.0.2.7",
        "Forwarded: for=x",
        "Via: 1.1 x",
        "X-Real-IP: 192.0.2.7",
        "CF-Connecting-IP: 192.0.2.7",
        "True-Client-IP: 192.0.2.7",
        "X-Forwarded-Proto: https",
    ] {
        assert_eq!(get(&format!("{header}\r\n")).code(), "404", "{header}");
    }
}
