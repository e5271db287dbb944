//! The pages and files that browsers and match databases get.

use std::io::Write as _;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::support::client::{Answer, Running, connect, ggp_base, read_to_end, send};
use crate::support::pile::rules;
use crate::support::{server_logging_into, settings, sound};
use base64::Engine as _;
use serde_json::Value;

/// The header that only pages of the player send.
const OWN: &str = "panza-page: 1\r\n";

fn get_at(address: SocketAddr, target: &str, headers: &str) -> Answer {
    let request = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
    send(address, &request)
}

fn post(address: SocketAddr, target: &str, headers: &str, body: &str) -> Answer {
    let mut stream = connect(address);
    let length = body.len();
    let head = format!(
        "POST {target} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    // A body that is too long is not read to its end.
    let _ = stream.write_all(body.as_bytes());
    read_to_end(stream)
}

fn get(server: &Running, target: &str) -> Answer {
    get_at(server.address, target, "")
}

fn json(server: &Running, target: &str) -> Value {
    let answer = get(server, target);
    assert_eq!(answer.code(), "200", "{target}: {answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    serde_json::from_str(&answer.body).unwrap()
}

/// Plays a whole match and waits until its log is closed.
fn play(server: &Running, id: &str, players: &str) {
    let start = format!("( START {id} first ( {} ) 0.4 0.4)", rules(4));
    let start = ggp_base(&start).replacen(
        "Sender: GAMESERVER",
        &format!("Sender: GAMESERVER\r\nGGP-Match-Players: {players}"),
        1,
    );
    let answer = server.raw(start.as_bytes());
    assert_eq!(answer.body, "ready");
    for message in [
        format!("( PLAY {id} NIL )"),
        format!("( PLAY {id} ( ( take 1 ) noop ) )"),
        format!("( PLAY {id} ( noop ( take 2 ) ) )"),
        format!("( STOP {id} ( ( take 1 ) noop ) )"),
    ] {
        server.ask(&message);
    }
    let until = Instant::now() + Duration::from_secs(120);
    loop {
        let list = json(server, "/api/matches");
        let entries = list["matches"].as_array().unwrap();
        let is_over = |entry: &&Value| entry["match_id"] == id && entry["live"] == false;
        if entries.iter().any(|entry| is_over(&entry)) {
            return;
        }
        assert!(Instant::now() < until, "{list}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_match_is_listed_and_its_logs_are_served() {
    let root = tempfile::tempdir().unwrap();
    let server = server_logging_into(root.path(), &[]);
    assert_eq!(json(&server, "/api/matches")["total"], 0);
    play(&server, "local.pile.17", "Ada, Bob");
    let list = json(&server, "/api/matches");
    assert_eq!((&list["total"], &list["found"]), (&1.into(), &1.into()));
    assert_eq!(list["player"]["name"], "Panza");
    assert_eq!(list["player"]["disk"], "ok");
    let entry = &list["matches"][0];
    assert_eq!(entry["folder"], "local.pile.17");
    assert_eq!(entry["game"], "pile");
    assert_eq!(entry["role"], "first");
    assert_eq!(entry["players"], serde_json::json!(["Ada", "Bob"]));
    assert_eq!(entry["host"], "GAMESERVER");
    assert_eq!(entry["steps"], 3);
    assert_eq!(entry["how"], "stopped");
    assert_eq!(entry["goals"]["first"], 100);
    assert_eq!(json(&server, "/api/matches?search=PILE")["found"], 1);
    assert_eq!(json(&server, "/api/matches?search=bob")["found"], 1);
    assert_eq!(json(&server, "/api/matches?search=nobody")["found"], 0);
    assert_eq!(
        json(&server, "/api/matches?offset=1")["matches"],
        serde_json::json!([])
    );

    let one = json(&server, "/api/matches/local.pile.17");
    let events = get(&server, "/api/matches/local.pile.17/events").body;
    assert_eq!(one["files"]["events"], events.len());
    let kinds: Vec<String> = events
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["kind"].to_string())
        .collect();
    for kind in [
        "log", "settings", "start", "machine", "board", "ready", "state", "move", "root", "played",
        "end",
    ] {
        assert!(kinds.contains(&format!("\"{kind}\"")), "{kind}: {kinds:?}");
    }
    let states = kinds.iter().filter(|kind| *kind == "\"state\"").count();
    assert_eq!(states, 4, "every position, once");
    let from = events.find('\n').unwrap() + 1;
    let rest = get(
        &server,
        &format!("/api/matches/local.pile.17/events?from={from}"),
    );
    assert_eq!(rest.body, events[from..]);
    let series = get(&server, "/api/matches/local.pile.17/series").body;
    assert!(series.starts_with("at_seconds,step,"));
    let log = get(&server, "/api/matches/local.pile.17/log").body;
    assert!(log.contains("plays first in local.pile.17"));
    let bundle = json(&server, "/api/matches/local.pile.17/bundle");
    assert_eq!(bundle["events"], events);
    assert_eq!(bundle["log"], log);
}

#[test]
fn a_match_database_gets_one_json_object() {
    let root = tempfile::tempdir().unwrap();
    let server = server_logging_into(root.path(), &[]);
    // A name that no folder and no address can hold as it is.
    let id = "Tiltyard/50%<b>ä";
    play(&server, id, "A");
    let logs = server.logs.unwrap();
    let target = "/Tiltyard%2F50%25%3Cb%3E%C3%A4";
    let answer = get_at(logs, target, "");
    assert_eq!(answer.code(), "200", "{answer:?}");
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    assert!(answer.body.len() < 1_000_000);
    let object: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(object["version"], 1);
    assert_eq!(object["match_id"], id);
    let rows = object["statistics"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0]["move"], "(take 1)");
    let packed = object["compressed_logs"].as_str().unwrap();
    // The viewer, which the database shows in a frame, has it unpacked there.
    let answer = post(logs, "/api/unpack", OWN, &format!("\"{packed}\""));
    assert_eq!(answer.code(), "200", "{answer:?}");
    let answer: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(answer["problem"], Value::Null);
    let unpacked: Value = serde_json::from_str(answer["text"].as_str().unwrap()).unwrap();
    let packed = base64::engine::general_purpose::STANDARD
        .decode(packed)
        .unwrap();
    let bundle: Value =
        serde_json::from_reader(bzip2::read::BzDecoder::new(packed.as_slice())).unwrap();
    assert_eq!(bundle["match_id"], id);
    assert_eq!(bundle, unpacked);
    // The player's own port takes no names for matches.
    assert_eq!(get(&server, target).code(), "404");
    assert_eq!(get_at(logs, "/unknown", "").code(), "404");
    // And the log service takes no messages.
    assert_eq!(send(logs, &ggp_base("( INFO )")).code(), "405");
    server.assert_available();
}

#[test]
fn logs_are_unpacked_for_the_viewer_alone() {
    let root = tempfile::tempdir().unwrap();
    let server = server_logging_into(root.path(), &[]);
    let logs = server.logs.unwrap();
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    encoder.write_all(b"a log").unwrap();
    let packed = encoder.finish().unwrap();
    let body = |bytes: &[u8]| {
        let text = base64::engine::general_purpose::STANDARD.encode(bytes);
        format!("\"{text}\"")
    };
    let whole = body(&packed);
    let elsewhere = "X-Forwarded-For: 192.0.2.1\r\n";
    let own_elsewhere = format!("{OWN}{elsewhere}");
    let foreign = format!("{OWN}Origin: http://elsewhere\r\n");
    for (address, headers, code) in [
        (server.address, OWN, "200"),
        (logs, OWN, "200"),
        (logs, own_elsewhere.as_str(), "200"),
        (server.address, own_elsewhere.as_str(), "403"),
        (server.address, foreign.as_str(), "403"),
        (server.address, "", "403"),
        (logs, "", "403"),
    ] {
        let answer = post(address, "/api/unpack", headers, &whole);
        assert_eq!(answer.code(), code, "{headers}: {answer:?}");
        assert_eq!(answer.body.contains("a log"), code == "200");
    }
    let long = format!("\"{}\"", "A".repeat(3 << 20));
    for (body, code, reason) in [
        (body(&packed[..20]).as_str(), "200", "ends in the middle"),
        (
            body(b"hello, world").as_str(),
            "200",
            "not packed with bzip2",
        ),
        ("hello", "400", "not understood"),
        (long.as_str(), "413", "longer than 2097152 bytes"),
    ] {
        let answer = post(logs, "/api/unpack", OWN, body);
        assert_eq!(answer.code(), code, "{answer:?}");
        assert!(answer.body.contains(reason), "{}", answer.body);
    }
    assert_eq!(get(&server, "/api/unpack").code(), "404");
    server.assert_available();
}

#[test]
fn pages_are_served_with_cache_tags() {
    let root = tempfile::tempdir().unwrap();
    let server = server_logging_into(root.path(), &[]);
    play(&server, "m", "A");
    for target in ["/", "/matches/m", "/viewer"] {
        for address in [server.address, server.logs.unwrap()] {
            let answer = get_at(address, target, "");
            assert_eq!(answer.code(), "200", "{target}");
            let kind = answer.header("content-type").unwrap();
            assert!(kind.starts_with("text/html"), "{target}: {kind}");
            let policy = answer.header("content-security-policy").unwrap();
            assert!(policy.contains("script-src 'self'"), "{policy}");
        }
    }
    let style = get(&server, "/assets/style.css");
    let tag = style.header("etag").unwrap();
    let again = get_at(
        server.address,
        "/assets/style.css",
        &format!("If-None-Match: {tag}\r\n"),
    );
    assert_eq!((again.code(), again.body.as_str()), ("304", ""));
    for (name, kind) in [("uplot.js", "text/javascript"), ("uplot.css", "text/css")] {
        let charts = get(&server, &format!("/assets/{name}"));
        assert!(charts.header("content-type").unwrap().starts_with(kind));
        assert!(charts.body.starts_with("/* uPlot"), "{name}");
    }
    let figures = get(&server, "/metrics").body;
    assert!(figures.contains("\npanza_busy 0\n"), "{figures}");
    assert!(figures.contains("panza_moves_answered_total"), "{figures}");
    assert_eq!(get(&server, "/healthz").body, "ok\n");
}

#[test]
fn unknown_paths_are_not_found() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("secret.txt"), "the secret").unwrap();
    let logs = root.path().join("logs");
    let server = server_logging_into(&logs, &[]);
    play(&server, "m", "A");
    let long = "x".repeat(100_000);
    let tricks = [
        "/matches/unknown",
        "/api/matches/unknown",
        "/api/matches/unknown/log",
        "/api/matches/../secret.txt",
        "/api/matches/..%2fsecret.txt/log",
        "/api/matches/%2e%2e/log",
        "/api/matches/%2e%2e%2fsecret.txt",
        "/api/matches/m%00/log",
        "/api/matches/m%2f..%2fm/log",
        "/api/matches/%ff%fe/log",
        "/api/matches/m/summary.json",
        "/api/matches/m/%2e%2e",
        "/assets/../Cargo.toml",
        "/assets/..%2f..%2fCargo.toml",
        "//etc/passwd",
        "/%2fetc%2fpasswd",
        "/secret.txt",
    ];
    for target in tricks {
        for address in [server.address, server.logs.unwrap()] {
            let answer = get_at(address, target, "");
            assert_eq!(answer.code(), "404", "{target}: {answer:?}");
            assert!(!answer.body.contains("secret"), "{target}");
            if target.starts_with("/api") {
                continue;
            }
            let page = get_at(address, target, "Accept: text/html\r\n");
            assert_eq!(page.code(), "404", "{target}");
            let kind = page.header("content-type").unwrap();
            assert!(kind.starts_with("text/html"), "{target}: {kind}");
        }
    }
    for query in [
        format!("/api/matches?search={long}"),
        format!("/api/matches?{long}"),
        "/api/matches?limit=-5&offset=%ff".to_string(),
        "/api/matches/m/log?from=99999999999999999999999".to_string(),
    ] {
        let answer = get(&server, &query);
        assert!(
            ["200", "414", "431"].contains(&answer.code()),
            "{}: {}",
            &query[..40],
            answer.status
        );
    }
    server.assert_available();
}

#[test]
fn texts_from_outside_are_escaped() {
    let root = tempfile::tempdir().unwrap();
    let server = server_logging_into(root.path(), &[]);
    let id = "<script>alert`1`</script>";
    play(&server, id, "<img src=x onerror=alert(1)>, \"quoted\"");
    let answer = get(&server, "/api/matches");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    let list: Value = serde_json::from_str(&answer.body).unwrap();
    let entry = &list["matches"][0];
    assert_eq!(entry["match_id"], id);
    assert_eq!(entry["folder"], "_script_alert_1___script_");
    assert_eq!(entry["players"][0], "<img src=x onerror=alert(1)>");
    let page = get(&server, "/matches/_script_alert_1___script_");
    assert_eq!(page.code(), "200");
    assert!(!page.body.contains("alert`1`"));
}

#[test]
fn the_player_runs_without_a_log_service() {
    let root = tempfile::tempdir().unwrap();
    let first = server_logging_into(root.path(), &[]);
    let taken = first.logs.unwrap();
    let item = format!("server.log_listen={taken}");
    let second = Running::new(settings(&[&item]), sound(4));
    assert_eq!(second.logs, None);
    second.assert_available();
}
