//! The wire protocol: raw bytes over sockets, as game managers send them. After each request the
//! server is ready for the next.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::support::client::{
    AVAILABLE, BUSY, PATIENCE, Running, check_common, check_ggp, ggp_base, read_one, read_to_end,
};
use crate::support::pile::{hang, rules};
use crate::support::{HIGH, factory, settings, sound};

use panza_player::GameBuilders;

fn start(id: &str, role: &str, size: u64, start_clock: f64, play_clock: f64) -> String {
    format!(
        "( START {id} {role} ( {} ) {start_clock} {play_clock})",
        rules(size)
    )
}

/// With a pile that no search proves.
fn server() -> Running {
    Running::new(settings(&[]), sound(HIGH))
}

/// A move of ours with several legal ones.
fn is_take(text: &str) -> bool {
    text == "(take 1)" || text == "(take 2)"
}

#[test]
fn a_match_from_start_to_stop() {
    let server = Running::new(settings(&[]), sound(4));
    server.assert_available();
    assert_eq!(server.ask(&start("m", "first", 4, 0.6, 0.5)), "ready");
    assert_eq!(server.ask("( INFO )"), BUSY);
    // Who leaves three tokens wins.
    assert_eq!(server.ask("( PLAY m NIL )"), "(take 1)");
    assert_eq!(server.ask("( PLAY m ( ( take 1 ) noop ) )"), "noop");
    // One token is left, which wins.
    assert_eq!(server.ask("( PLAY m ( noop ( take 2 ) ) )"), "(take 1)");
    assert_eq!(server.ask("( STOP m ( ( take 1 ) noop ) )"), "done");
    server.assert_available();
}

#[test]
fn moves_in_another_letter_case_are_followed() {
    let server = Running::new(settings(&[]), sound(4));
    assert_eq!(server.ask(&start("m", "first", 4, 0.6, 0.5)), "ready");
    assert_eq!(server.ask("( PLAY m NIL )"), "(take 1)");
    assert_eq!(server.ask("( PLAY m ( ( TAKE 1 ) NOOP ) )"), "noop");
    assert_eq!(server.ask("( PLAY m ( Noop ( Take 2 ) ) )"), "(take 1)");
    assert_eq!(server.ask("( STOP m ( ( TAKE 1 ) NOOP ) )"), "done");
    server.assert_available();
}

/// A clock whose answers leave after two seconds: the margin takes half of it, which is the most
/// that it takes, whatever delays the player has seen. That leaves two seconds to a busy machine.
const HALVED: f64 = 4.0;
const HALF: Duration = Duration::from_secs(2);
const WIDE_MARGIN: &str = "player.margin_seconds=2";

#[test]
fn answers_leave_near_the_end_of_the_clock() {
    let server = Running::new(settings(&[WIDE_MARGIN]), sound(HIGH));
    let begin = Instant::now();
    assert_eq!(
        server.ask(&start("m", "first", 60, HALVED, HALVED)),
        "ready"
    );
    let took = begin.elapsed();
    assert!(took >= HALF, "the start clock is ours: {took:?}");
    assert!(took < 2 * HALF, "{took:?}");
    let begin = Instant::now();
    let answer = server.ask("( PLAY m NIL )");
    let took = begin.elapsed();
    assert!(is_take(&answer), "{answer}");
    assert!(took >= HALF, "the play clock is ours: {took:?}");
    assert!(took < 2 * HALF, "{took:?}");
    // The other role is to move: our only move is answered at once.
    let begin = Instant::now();
    assert_eq!(server.ask("( PLAY m ( ( take 1 ) noop ) )"), "noop");
    assert!(begin.elapsed() < HALF);
    assert_eq!(server.ask("( STOP m ( noop ( take 2 ) ) )"), "done");
    server.assert_available();
}

#[test]
fn answers_have_the_bytes_of_the_protocol() {
    let server = server();
    let answer = server.raw(ggp_base("( INFO )").as_bytes());
    check_ggp(&answer);
    assert_eq!(answer.status, "HTTP/1.0 200 OK");
    assert_eq!(answer.body, AVAILABLE);
    assert_eq!(server.ask("( PREVIEW ( ( role a ) ) 5 )"), "done");
    server.assert_available();
}

#[test]
fn info_is_understood_in_many_forms() {
    let server = server();
    for request in [
        "GET /( INFO ) HTTP/1.0\r\n\r\n",
        "GET /( INFO ) HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /(%20INFO%20) HTTP/1.0\r\n\r\n",
        "GET /%28+info+%29 HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /( INFO )\r\n\r\n",
        "POST / HTTP/1.0\nContent-Length: 8\n\n( INFO )",
        "POST /anything HTTP/1.1\r\nHost: x\r\nContent-length: 6\r\n\r\n(info)",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n(info)\r\n0\r\n\r\n",
    ] {
        let answer = server.raw(request.as_bytes());
        check_ggp(&answer);
        assert_eq!(answer.body, AVAILABLE, "{request}");
        assert_eq!(answer.header("connection"), Some("close"), "{request}");
    }
}

#[test]
fn a_connection_is_kept_when_the_client_asks_for_it() {
    let server = server();
    let mut stream = server.connect();
    for version in ["1.1", "1.0", "1.1"] {
        let request = format!(
            "POST / HTTP/{version}\r\nHost: x\r\nConnection: keep-alive\r\n\
             Content-type: application/x-www-form-urlencoded\r\nContent-Length: 8\r\n\r\n( INFO )"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let answer = read_one(&mut stream);
        check_ggp(&answer);
        assert_eq!(answer.body, AVAILABLE);
        assert_ne!(answer.header("connection"), Some("close"));
    }
}

#[test]
fn a_client_that_closes_its_side_still_gets_its_answer() {
    let server = server();
    let stream = server.send(&start("m", "first", 60, 0.4, 1.0));
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_to_end(stream).body, "ready");
    assert_eq!(server.ask("( ABORT m )"), "aborted");
}

#[test]
fn options_are_answered_with_the_headers_alone() {
    let server = server();
    let answer = server.raw(b"OPTIONS / HTTP/1.1\r\nHost: x\r\nOrigin: http://y\r\n\r\n");
    assert_eq!(answer.code(), "200");
    check_common(&answer);
    assert_eq!(answer.body, "");
    assert_eq!(answer.header("connection"), Some("close"));
    server.assert_available();
}

#[test]
fn malformed_messages_are_refused_with_a_reason() {
    let server = server();
    let with_length = |body: &str| ggp_base(body);
    for (request, code, reason) in [
        (
            with_length("hello"),
            "400",
            "expected a list such as ( INFO )",
        ),
        (
            with_length("( HELLO )"),
            "400",
            "expected INFO, PREVIEW, START",
        ),
        (with_length("( PLAY m (a"), "400", "never closed"),
        (
            with_length("( START m r ( a ) 10 )"),
            "400",
            "lacks its play clock",
        ),
        (with_length(&"(".repeat(60_000)), "400", "nested"),
        (with_length(""), "400", "the body is empty"),
        (with_length("   "), "400", "the message is empty"),
        (
            "POST / HTTP/1.0\r\n\r\n".to_string(),
            "400",
            "the body is empty",
        ),
        (
            "GET /nothing HTTP/1.0\r\n\r\n".to_string(),
            "404",
            "expected GET /( INFO )",
        ),
        (
            "DELETE / HTTP/1.1\r\nHost: x\r\n\r\n".to_string(),
            "405",
            "expected POST",
        ),
        (
            "PUT / HTTP/1.0\r\nContent-Length: 6\r\n\r\n(INFO)".to_string(),
            "405",
            "expected POST",
        ),
    ] {
        let shown: String = request.chars().take(80).collect();
        let answer = server.raw(request.as_bytes());
        check_common(&answer);
        assert_eq!(answer.code(), code, "{shown}");
        assert_eq!(
            answer.header("content-type"),
            Some("text/plain; charset=utf-8"),
            "{shown}"
        );
        assert!(answer.body.contains(reason), "{shown}: {}", answer.body);
        assert!(answer.body.len() < 500, "{shown}");
        if code == "405" {
            assert_eq!(answer.header("allow"), Some("POST, GET, OPTIONS"));
        }
        server.assert_available();
    }
}

#[test]
fn malformed_http_leaves_the_server_ready() {
    let server = server();
    let long_line = [b'x'; 100_000];
    let half = [
        b"POST / HTTP/1.0\r\nContent-Length: 100\r\n\r\n".as_slice(),
        b"( INFO",
    ]
    .concat();
    for bytes in [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".as_slice(),
        b"\r\n\r\n",
        b"( INFO )\n",
        b"",
        &long_line,
        &half,
    ] {
        let mut stream = server.connect();
        // The server may close before all is written.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        server.assert_available();
    }
}

#[test]
fn a_message_that_is_too_long_is_refused() {
    let server = Running::new(settings(&["server.max_message_bytes=65536"]), sound(HIGH));
    let message = format!("( INFO {} )", "x".repeat(65_536));
    let answer = server.raw(ggp_base(&message).as_bytes());
    assert_eq!(answer.code(), "413");
    check_common(&answer);
    assert_eq!(answer.body, "the body is longer than 65536 bytes");
    let just_right = format!("( INFO ){}", " ".repeat(65_528));
    assert_eq!(server.ask(&just_right), AVAILABLE);
}

#[test]
fn an_announced_length_over_the_limit_is_refused_at_once() {
    // Who waits for the rest of the body answers 408, and not before this test is out of patience.
    let server = Running::new(settings(&[LONG_READ_TIMEOUT]), sound(HIGH));
    let mut stream = server.connect();
    stream
        .write_all(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n( INFO")
        .unwrap();
    let answer = read_to_end(stream);
    assert_eq!(answer.code(), "413");
    check_common(&answer);
    assert_eq!(answer.header("connection"), Some("close"));
    server.assert_available();
}

#[test]
fn play_of_an_unknown_match_is_answered_busy() {
    let server = server();
    for message in [
        "( PLAY x NIL )",
        "( PLAY x ( a b ) )",
        "( STOP x ( a b ) )",
        "( ABORT x )",
    ] {
        assert_eq!(server.ask(message), "busy", "{message}");
    }
    server.assert_available();
    assert_eq!(server.ask(&start("m", "first", 60, 0.2, 0.2)), "ready");
    assert_eq!(server.ask("( PLAY x NIL )"), "busy");
    assert_eq!(server.ask("( ABORT M )"), "busy");
    assert_eq!(server.ask("( PREVIEW ( ( role a ) ) 5 )"), "busy");
    assert!(is_take(&server.ask("( PLAY m NIL )")));
    assert_eq!(server.ask("( ABORT m )"), "aborted");
    assert_eq!(server.ask("( ABORT m )"), "busy");
    server.assert_available();
}

#[test]
fn a_second_start_is_busy_and_a_repeated_start_is_not() {
    let server = Running::new(settings(&[WIDE_MARGIN]), sound(HIGH));
    let start = |id, role| start(id, role, 60, HALVED, HALVED);
    let first = server.send(&start("m", "first"));
    while server.ask("( INFO )") != BUSY {}
    assert_eq!(server.ask(&start("other", "first")), "busy");
    // The same match for its other role is another match.
    assert_eq!(server.ask(&start("m", "second")), "busy");
    let again = server.send(&start("m", "first"));
    assert_eq!(read_to_end(first).body, "ready");
    assert_eq!(read_to_end(again).body, "ready");
    let begin = Instant::now();
    assert_eq!(server.ask(&start("m", "first")), "ready");
    assert!(begin.elapsed() < HALF, "the game was looked at again");
    assert_eq!(server.ask("( STOP m NIL )"), "done");
    server.assert_available();
}

#[test]
fn an_abort_ends_the_metagame_at_once() {
    let started = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = Arc::clone(&started);
    let building = factory(move |_, budget| {
        seen.store(true, Ordering::Relaxed);
        hang(budget.stop.as_ref().expect("a match sets it"));
        Err("cancelled".into())
    });
    let factories = GameBuilders {
        main: building,
        fallback: None,
    };
    let server = Running::new(settings(&[]), factories);
    // The metagame lasts longer than this test waits for an answer.
    let metagame = server.send(&start("m", "first", 60, 600.0, 10.0));
    hang(&started);
    assert_eq!(server.ask("( ABORT m )"), "aborted");
    server.assert_available();
    // Whoever waits for the start is not left waiting.
    assert_eq!(read_to_end(metagame).body, "ready");
}

#[test]
fn info_is_answered_during_a_search() {
    let server = server();
    // The search lasts longer than this test waits for an answer.
    assert_eq!(server.ask(&start("m", "first", 60, 0.2, 600.0)), "ready");
    let thinking = server.send("( PLAY m NIL )");
    for _ in 0..5 {
        assert_eq!(server.ask("( INFO )"), BUSY);
        assert_eq!(server.ask("( PLAY x NIL )"), "busy");
    }
    assert_eq!(server.ask("( STOP m NIL )"), "done");
    assert!(is_take(&read_to_end(thinking).body));
}

#[test]
fn a_repeated_play_gets_the_same_answer() {
    let server = Running::new(settings(&[WIDE_MARGIN]), sound(HIGH));
    assert_eq!(server.ask(&start("m", "second", 60, 0.2, HALVED)), "ready");
    assert_eq!(server.ask("( PLAY m NIL )"), "noop");
    assert_eq!(server.ask("( PLAY m NIL )"), "noop");
    // While the first is unanswered, and again after its answer.
    let first = server.send("( PLAY m ( ( take 2 ) noop ) )");
    let again = server.send("( PLAY m ( ( take 2 ) noop ) )");
    let answer = read_to_end(first).body;
    assert!(is_take(&answer), "{answer}");
    assert_eq!(read_to_end(again).body, answer);
    let begin = Instant::now();
    assert_eq!(server.ask("( PLAY m ( (take 2) noop ) )"), answer);
    assert!(begin.elapsed() < HALF, "the position was searched again");
    // Had the joint move been followed twice, one token would be left here, and noop would not be
    // our only move.
    assert_eq!(server.ask("( PLAY m ( noop ( take 1 ) ) )"), "noop");
    assert_eq!(server.ask("( STOP m ( ( take 2 ) noop ) )"), "done");
    server.assert_available();
}

#[test]
fn illegal_moves_of_others_are_tolerated() {
    for moves in [
        "( ( take 3 ) noop )",
        "( ( TAKE 1 ) NOOP )",
        "( ( take 1 ) )",
        "( ( take 1 ) noop noop )",
        "( noop noop )",
        "( () ( () ) )",
        "( ?x ( (a) b ) )",
        "()",
        "nil",
    ] {
        let server = server();
        assert_eq!(server.ask(&start("m", "second", 60, 0.2, 0.3)), "ready");
        assert_eq!(server.ask("( PLAY m NIL )"), "noop");
        let answer = server.ask(&format!("( PLAY m {moves} )"));
        assert!(is_take(&answer) || answer == "noop", "{moves}: {answer}");
        assert_eq!(server.ask(&format!("( STOP m {moves} )")), "done");
        server.assert_available();
    }
}

#[test]
fn rules_that_do_not_parse_are_refused_and_nothing_begins() {
    let server = server();
    for rules in ["", "( role first", "( <= )", "( role first ) ( <= )"] {
        // The clock is longer than this test waits for an answer.
        let message = format!("( START m first ( {rules} ) 600 600 )");
        let answer = server.raw(ggp_base(&message).as_bytes());
        assert_eq!(answer.code(), "400", "{rules}");
        check_common(&answer);
        assert!(answer.body.len() > 20, "{}", answer.body);
        server.assert_available();
        assert_eq!(server.ask("( PLAY m NIL )"), "busy");
    }
}

#[test]
fn a_role_that_the_rules_lack_plays_as_the_first() {
    let server = server();
    assert_eq!(server.ask(&start("m", "third", 60, 0.2, 0.2)), "ready");
    assert!(is_take(&server.ask("( PLAY m NIL )")));
    assert_eq!(server.ask("( STOP m NIL )"), "done");
    assert_eq!(server.ask(&start("m", "SECOND", 60, 0.2, 0.2)), "ready");
    assert_eq!(server.ask("( PLAY m NIL )"), "noop");
    assert_eq!(server.ask("( STOP m NIL )"), "done");
    server.assert_available();
}

#[test]
fn a_closed_connection_does_not_end_the_match() {
    let server = server();
    drop(server.send(&start("m", "first", 60, 0.3, 0.6)));
    while server.ask("( INFO )") != BUSY {}
    drop(server.send("( PLAY m NIL )"));
    let mut stream = server.connect();
    stream
        .write_all(b"POST / HTTP/1.0\r\nContent-Length: 50\r\n\r\n( PLA")
        .unwrap();
    drop(stream);
    let answer = server.ask("( PLAY m NIL )");
    assert!(is_take(&answer), "{answer}");
    assert_eq!(server.ask("( PLAY m ( ( take 1 ) noop ) )"), "noop");
    assert_eq!(server.ask("( STOP m ( noop ( take 1 ) ) )"), "done");
    server.assert_available();
}

const SHORT_READ_TIMEOUT: &str = "server.read_timeout_seconds=0.5";
/// Longer than the tests wait for an answer.
const LONG_READ_TIMEOUT: &str = "server.read_timeout_seconds=600";

#[test]
fn a_slow_client_is_cut_off() {
    let server = Running::new(settings(&[SHORT_READ_TIMEOUT]), sound(HIGH));
    for beginning in [
        "",
        "POS",
        "POST / HTTP/1.0\r\nContent-",
        "POST / HTTP/1.0\r\nContent-Length: 8\r\n\r\n( IN",
    ] {
        let begin = Instant::now();
        let mut stream = server.connect();
        stream.write_all(beginning.as_bytes()).unwrap();
        server.assert_available();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        // The limit by default is ten seconds.
        let took = begin.elapsed();
        assert!(took < Duration::from_secs(9), "{beginning:?}: {took:?}");
        if beginning.ends_with("( IN") {
            assert!(answer.starts_with("HTTP/1.0 408 "), "{answer}");
        }
    }
    server.assert_available();
}

#[test]
fn slow_bytes_do_not_extend_the_time_limit() {
    let server = Running::new(settings(&[SHORT_READ_TIMEOUT]), sound(HIGH));
    let begin = Instant::now();
    let mut stream = server.connect();
    stream
        .set_read_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    // One more byte whenever nothing came for a while, until the server has enough.
    let mut byte = [0];
    loop {
        if stream.write_all(b"X").is_err() {
            break;
        }
        match stream.read(&mut byte) {
            Ok(0) => break,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            other => panic!("{other:?}"),
        }
        assert!(begin.elapsed() < PATIENCE);
    }
    server.assert_available();
}

#[test]
fn silent_connections_block_no_client() {
    let server = Running::new(settings(&[LONG_READ_TIMEOUT]), sound(HIGH));
    let silent: Vec<_> = (0..panza_server::MAX_CONNECTIONS + 20)
        .map(|_| server.connect())
        .collect();
    server.assert_available();
    drop(silent);
}

#[test]
fn a_match_without_messages_ends() {
    let server = Running::new(settings(&["server.idle_abort_seconds=1"]), sound(HIGH));
    let begin = Instant::now();
    assert_eq!(server.ask(&start("m", "first", 60, 0.2, 0.2)), "ready");
    while server.ask("( INFO )") == BUSY {
        assert!(begin.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
    assert!(begin.elapsed() > Duration::from_secs(1), "too early");
    server.assert_available();
    assert_eq!(server.ask("( PLAY m NIL )"), "busy");
}

#[test]
fn shutdown_closes_all_connections() {
    let mut server = Running::new(settings(&[]), sound(HIGH));
    assert_eq!(server.ask(&start("m", "first", 60, 0.2, 600.0)), "ready");
    let thinking = server.send("( PLAY m NIL )");
    // The PLAY is in once a repeat of it is: requests of one connection after the other's answer
    // are in order.
    assert_eq!(server.ask("( PLAY x NIL )"), "busy");
    let begin = Instant::now();
    server.stop();
    assert!(begin.elapsed() < PATIENCE, "the search went on");
    assert!(is_take(&read_to_end(thinking).body));
}

#[test]
fn an_address_that_is_taken_is_an_error() {
    let server = server();
    let taken = format!("server.listen={}", server.address);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let error = runtime
        .block_on(panza_server::serve(
            &settings(&[&taken]),
            sound(HIGH),
            std::future::pending(),
            |address| panic!("listens on {address:?}"),
        ))
        .unwrap_err();
    let expected = format!("cannot listen on {}", server.address);
    assert_eq!(error.to_string(), expected);
    // Once, in the source.
    let source = std::error::Error::source(&error).expect("the system's error");
    assert!(!source.to_string().is_empty());
}
