//! The player's port in rare and hostile situations, with one defined behaviour each; the table is
//! in `docs/protocol.md`.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::client::{
    AVAILABLE, BUSY, PATIENCE, Running, check_common, check_ggp, ggp_base, read_one, read_to_end,
};
use crate::support::pile::rules;
use crate::support::{HIGH, settings, sound};

fn start(id: &str, role: &str, start_clock: f64, play_clock: f64) -> String {
    format!(
        "( START {id} {role} ( {} ) {start_clock} {play_clock})",
        rules(4)
    )
}

/// A pile of four tokens: who takes the last one wins, and one or two may be taken.
fn four() -> Running {
    Running::new(settings(&[]), sound(4))
}

/// A pile that no search proves, so that clocks are used.
fn high() -> Running {
    Running::new(settings(&[]), sound(HIGH))
}

fn logging(folder: &Path, size: u64) -> Running {
    let folder = format!("logs.folder={}", folder.display());
    Running::new(settings(&["logs.match_logs=true", &folder]), sound(size))
}

fn is_take(text: &str) -> bool {
    text == "(take 1)" || text == "(take 2)"
}

/// Waits until a START has arrived.
fn wait_until_busy(server: &Running) {
    let begin = Instant::now();
    while server.ask("( INFO )") != BUSY {
        assert!(begin.elapsed() < PATIENCE);
    }
}

/// Writes bytes from `chunk` again and again until the server takes no more or `count` are sent;
/// meanwhile reads the answer.
fn pour(stream: TcpStream, begin: &[u8], chunk: &[u8], count: usize) -> Vec<u8> {
    let mut reader = stream.try_clone().unwrap();
    let (begin, chunk) = (begin.to_vec(), chunk.to_vec());
    let writer = std::thread::spawn(move || {
        let mut stream = stream;
        let mut sent = 0;
        let mut written = stream.write_all(&begin);
        while written.is_ok() && sent < count {
            written = stream.write_all(&chunk);
            sent += chunk.len();
        }
    });
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    // A connection that is reset after the answer ends as well.
    while let Ok(length @ 1..) = reader.read(&mut piece) {
        answer.extend_from_slice(&piece[..length]);
    }
    let _ = reader.shutdown(Shutdown::Both);
    writer.join().unwrap();
    answer
}

#[test]
fn a_play_that_overtakes_ready_answers_both() {
    let server = high();
    let starting = server.send(&start("m", "first", 600.0, 0.4));
    wait_until_busy(&server);
    assert!(is_take(&server.ask("( PLAY m NIL )")));
    assert_eq!(read_to_end(starting).body, "ready");
    assert_eq!(server.ask("( STOP m NIL )"), "done");
}

#[test]
fn moves_that_replace_ours_are_followed() {
    let server = four();
    assert_eq!(server.ask(&start("m", "first", 0.5, 0.5)), "ready");
    assert_eq!(server.ask("( PLAY m NIL )"), "(take 1)");
    // The manager has taken two for us, and two are left.
    assert_eq!(server.ask("( PLAY m ( ( take 2 ) noop ) )"), "noop");
    // After our own move two would be left here, and taking both would win.
    assert_eq!(server.ask("( PLAY m ( noop ( take 1 ) ) )"), "(take 1)");
    assert_eq!(server.ask("( STOP m ( ( take 1 ) noop ) )"), "done");
    server.assert_available();
}

#[test]
fn moves_on_the_first_turn_are_followed() {
    let server = four();
    assert_eq!(server.ask(&start("m", "second", 0.5, 0.5)), "ready");
    // Two are left, and taking both wins; at the start our only move is noop.
    assert_eq!(server.ask("( PLAY m ( ( take 2 ) noop ) )"), "(take 2)");
    assert_eq!(server.ask("( ABORT m )"), "aborted");
}

#[test]
fn a_stop_without_a_play_ends_the_match() {
    let server = four();
    for moves in ["NIL", "", "( ( take 1 ) noop )", "( a )"] {
        assert_eq!(server.ask(&start("m", "first", 0.2, 0.2)), "ready");
        assert_eq!(server.ask(&format!("( STOP m {moves} )")), "done");
        assert_eq!(server.ask("( PLAY m NIL )"), "busy");
        assert_eq!(server.ask("( STOP m NIL )"), "busy");
        server.assert_available();
    }
}

#[test]
fn an_abort_during_a_play_answers_both() {
    let server = high();
    assert_eq!(server.ask(&start("m", "first", 0.2, 600.0)), "ready");
    let playing = server.send("( PLAY m NIL )");
    // Requests of two connections come in the order in which they are sent once an answer to
    // another lies between them.
    assert_eq!(server.ask("( PLAY x NIL )"), "busy");
    assert_eq!(server.ask("( ABORT m )"), "aborted");
    server.assert_available();
    assert!(is_take(&read_to_end(playing).body));
}

#[test]
fn an_answer_is_kept_for_a_retry() {
    let root = tempfile::tempdir().unwrap();
    let server = logging(root.path(), HIGH);
    assert_eq!(server.ask(&start("m", "first", 0.2, 0.4)), "ready");
    // The manager is gone before the answer.
    drop(server.send("( PLAY m NIL )"));
    std::thread::sleep(Duration::from_millis(600));
    let answer = server.ask("( PLAY m NIL )");
    assert!(is_take(&answer));
    assert_eq!(server.ask("( PLAY m NIL )"), answer);
    assert_eq!(server.ask("( STOP m NIL )"), "done");
    drop(server);
    let events = fs::read_to_string(root.path().join("m/events.jsonl")).unwrap();
    let answers = events.matches("\"kind\":\"move\"").count();
    assert_eq!(answers, 1, "one search: {events}");
}

#[test]
fn a_thousand_idle_connections_stop_no_match() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        let _ = setrlimit(Resource::Nofile, limit);
    }
    let server = high();
    assert_eq!(server.ask(&start("m", "first", 0.2, 3.0)), "ready");
    let playing = server.send("( PLAY m NIL )");
    let idle: Vec<TcpStream> = (0..1000)
        .map(|number| {
            let mut stream = server.connect();
            if number % 2 == 0 {
                // It may be closed already.
                let _ = stream.write_all(b"POST / HTTP/1.0\r\nContent-Length: 8\r\n\r\n( I");
            }
            stream
        })
        .collect();
    assert_eq!(server.ask("( INFO )"), BUSY);
    assert!(is_take(&read_to_end(playing).body));
    assert_eq!(server.ask("( PLAY m ( ( take 1 ) noop ) )"), "noop");
    assert_eq!(server.ask("( STOP m ( noop ( take 1 ) ) )"), "done");
    server.assert_available();
    drop(idle);
}

#[test]
fn a_hundred_megabytes_are_refused() {
    let server = four();
    let count = 100 << 20;
    let head = "POST / HTTP/1.1\r\nHost: x\r\n";
    let announced = format!("{head}Content-Length: {count}\r\n\r\n");
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n");
    let piece = [b' '; 1 << 16];
    let chunk = [b"10000\r\n".as_slice(), &piece, b"\r\n"].concat();
    // In chunks it has to begin like a message that may be long.
    let chunked = chunked + "c\r\n(START m a (\r\n";
    for (begin, chunk) in [(announced, piece.as_slice()), (chunked, &chunk)] {
        let answer = pour(server.connect(), begin.as_bytes(), chunk, count);
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer:?}");
        assert!(answer.ends_with("the body is longer than 16777216 bytes"));
        server.assert_available();
    }
}

/// A request with a body of `count` bytes that begins like this and goes on with empty lists.
fn long(begin: &str, count: usize) -> Vec<u8> {
    let head = format!("POST / HTTP/1.0\r\nContent-Length: {count}\r\n\r\n{begin}");
    let mut request = head.into_bytes();
    let end = request.len() + count - begin.len();
    while request.len() + 2 <= end {
        request.extend_from_slice(b"()");
    }
    request.resize(end, b' ');
    request
}

#[test]
fn long_messages_without_use_are_answered_by_their_head() {
    let server = high();
    let send = |begin: &str, count: usize| {
        let answer = pour(server.connect(), &long(begin, count), b"", 0);
        String::from_utf8(answer).unwrap()
    };
    let longest = 16 << 20;
    for begin in ["(PLAY x (", "(STOP x ("] {
        assert!(send(begin, longest).ends_with("\r\n\r\nbusy"), "{begin}");
    }
    assert!(send("(PREVIEW (", longest).ends_with("\r\n\r\ndone"));
    assert!(send("(INFO (", 70_000).ends_with("longer than 65536 bytes"));
    assert!(send("(HELLO (", 70_000).contains("no message begins"));
    assert!(send("(START x a (", longest).contains("more than 4000000 symbols"));
    server.assert_available();
    assert_eq!(server.ask(&start("m", "first", 0.2, 5.0)), "ready");
    for begin in ["(START x a (", "(PLAY x (", "(PREVIEW ("] {
        assert!(send(begin, longest).ends_with("\r\n\r\nbusy"), "{begin}");
    }
    assert!(send("(PLAY m (", longest).ends_with("longer than 1048576 bytes"));
    assert!(is_take(&server.ask("( PLAY m NIL )")));
    assert_eq!(server.ask("( ABORT m )"), "aborted");
}

#[test]
fn long_bodies_that_stall_give_way_to_others() {
    let server = Running::new(settings(&["server.max_message_bytes=262144"]), sound(HIGH));
    // Two of these have all the room that there is.
    let stalled: Vec<TcpStream> = (0..8)
        .map(|_| {
            let mut stream = server.connect();
            let body = long("(START s a (", 262_144);
            stream.write_all(&body[..body.len() - 1]).unwrap();
            stream
        })
        .collect();
    let rules = format!("{} ; {}\n", rules(4), "x".repeat(100_000));
    let start = format!("( START m first ( {rules} ) 0.2 5 )");
    assert_eq!(server.ask(&start), "ready");
    assert_eq!(server.ask("( ABORT m )"), "aborted");
    let first = read_to_end(stalled.into_iter().next().unwrap());
    assert_eq!(first.code(), "503");
}

#[test]
fn headers_without_end_are_refused() {
    let server = four();
    let begin = b"POST / HTTP/1.1\r\nHost: x\r\n";
    let line =
        b"X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n";
    let name = [b'x'; 4096];
    for chunk in [line.as_slice(), &name] {
        let answer = pour(server.connect(), begin, chunk, 64 << 20);
        let answer = String::from_utf8(answer).unwrap();
        // The answer is lost where the client still writes when the connection closes.
        let is_refused = answer.is_empty() || answer.starts_with("HTTP/1.1 431 ");
        assert!(is_refused, "{answer:?}");
        server.assert_available();
    }
}

#[test]
fn bytes_that_are_not_utf8_are_read_as_latin_1() {
    let server = four();
    let send = |message: &[u8]| {
        let head = format!(
            "POST / HTTP/1.0\r\nContent-Length: {}\r\n\r\n",
            message.len()
        );
        let answer = server.raw(&[head.as_bytes(), message].concat());
        check_ggp(&answer);
        answer.body
    };
    assert_eq!(send(b"( INFO \xff\xfe )"), AVAILABLE);
    let start = start("m\u{e4}", "first", 0.2, 0.2);
    assert_eq!(send(start.as_bytes()), "ready");
    // The same id in another encoding.
    assert_eq!(send(b"( ABORT m\xe4 )"), "aborted");
    assert_eq!(send(b"( PLAY \xc3 NIL )"), "busy");
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = four();
    let request = |message: &str, headers: &str| {
        let length = message.len();
        format!("POST / HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {length}\r\n\r\n{message}")
    };
    let kept = "Connection: keep-alive\r\n";
    let messages = ["( INFO )", "( PLAY x NIL )", "( HELLO )", "( INFO )"];
    let all: String = messages.iter().map(|text| request(text, kept)).collect();
    let mut stream = server.connect();
    stream.write_all(all.as_bytes()).unwrap();
    let answers: Vec<String> = messages
        .iter()
        .map(|_| read_one(&mut stream).body)
        .collect();
    assert_eq!(answers[0], AVAILABLE);
    assert_eq!(answers[1], "busy");
    assert!(answers[2].contains("expected INFO, PREVIEW"));
    assert_eq!(answers[3], AVAILABLE);
    // Who does not ask for keep-alive gets one answer, and what follows has no effect.
    let start = start("m", "first", 0.2, 0.2);
    let two = request("( INFO )", "") + &request(&start, "");
    assert_eq!(server.raw(two.as_bytes()).body, AVAILABLE);
    server.assert_available();
}

#[test]
fn a_client_may_wait_for_the_server_to_continue() {
    let server = four();
    let mut stream = server.connect();
    stream
        .write_all(
            b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 8\r\n\r\n",
        )
        .unwrap();
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"( INFO )").unwrap();
    assert_eq!(read_to_end(stream).body, AVAILABLE);
}

#[test]
fn a_body_of_another_length_than_announced_is_refused() {
    let server = four();
    let request = |headers: &str| format!("POST / HTTP/1.0\r\n{headers}\r\n( INFO )");
    // What is beyond the length is not read.
    let answer = server.raw(
        request("Content-Length: 8\r\n")
            .replace(" )", " ) )")
            .as_bytes(),
    );
    assert_eq!(answer.body, AVAILABLE);
    let mut stream = server.connect();
    stream
        .write_all(request("Content-Length: 9\r\n").as_bytes())
        .unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let answer = read_to_end(stream);
    check_common(&answer);
    assert_eq!(answer.code(), "400");
    assert!(answer.body.starts_with("the body ended early"));
    for headers in [
        "Content-Length: 8\r\nContent-Length: 7\r\n",
        "Content-Length: -8\r\n",
        "Content-Length: eight\r\n",
    ] {
        assert_eq!(server.raw(request(headers).as_bytes()).code(), "400");
        server.assert_available();
    }
}

#[test]
fn a_length_in_characters_is_no_end_of_a_message() {
    let server = four();
    // Six characters of two bytes each: the last six bytes of the message are not announced.
    let id = "m\u{e4}\u{f6}\u{fc}\u{c4}\u{d6}\u{dc}";
    let request = |message: &str| {
        let length = message.chars().count();
        assert_eq!(message.len(), length + 6);
        format!("POST / HTTP/1.0\r\nContent-Length: {length}\r\n\r\n{message}")
    };
    let begin = request(&start(id, "first", 0.2, 0.2));
    assert_eq!(server.raw(begin.as_bytes()).body, "ready");
    let play = request(&format!("( PLAY {id} NIL )"));
    assert_eq!(server.raw(play.as_bytes()).body, "(take 1)");
    // The same where the client closes its side.
    let mut stream = server.connect();
    let abort = request(&format!("( ABORT {id}   )"));
    stream.write_all(abort.as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_to_end(stream).body, "aborted");
    server.assert_available();
}

#[test]
fn what_follows_an_open_message_is_bounded_and_no_other_request() {
    let server = Running::new(settings(&["server.max_message_bytes=65536"]), sound(4));
    let mut long = b"POST / HTTP/1.0\r\nContent-Length: 8\r\n\r\n( INFO  ".to_vec();
    long.resize(long.len() + 70_000, b' ');
    assert_eq!(server.raw(&long).code(), "413");
    // On a connection that is kept, the next request follows.
    let request = |message: &str| {
        let length = message.len();
        format!(
            "POST / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\
             Content-Length: {length}\r\n\r\n{message}"
        )
    };
    let mut stream = server.connect();
    let two = request("( PLAY m (a") + &request("( INFO )");
    stream.write_all(two.as_bytes()).unwrap();
    assert!(read_one(&mut stream).body.contains("never closed"));
    assert_eq!(read_one(&mut stream).body, AVAILABLE);
}

#[test]
fn a_post_without_a_length_ends_with_its_message_or_its_connection() {
    let server = Running::new(settings(&["server.max_message_bytes=200000"]), sound(4));
    let head = "POST / HTTP/1.0\r\nHost: x\r\n\r\n";
    let send = |pieces: &[&str], closes: bool| {
        let mut stream = server.connect();
        for piece in pieces {
            stream.write_all(piece.as_bytes()).unwrap();
        }
        if closes {
            stream.shutdown(Shutdown::Write).unwrap();
        }
        read_to_end(stream)
    };
    for closes in [false, true] {
        assert_eq!(send(&[head, "( INFO )"], closes).body, AVAILABLE);
        assert_eq!(send(&[head, "( IN", "FO )"], closes).body, AVAILABLE);
        let id = if closes { "m1" } else { "m2" };
        let wide = format!("( START{}", " ".repeat(90_000));
        let long = start(id, "first", 0.2, 0.2).replace("( START", &wide);
        assert_eq!(send(&[head, &long], closes).body, "ready");
        assert_eq!(
            send(&[head, &format!("( ABORT {id} )")], closes).body,
            "aborted"
        );
    }
    let cut = send(&[head, "( PLAY m (a"], true);
    assert_eq!(cut.code(), "400");
    assert!(cut.body.contains("never closed"), "{}", cut.body);
    let nothing = send(&[head], true);
    assert!(
        nothing.body.starts_with("the body is empty"),
        "{}",
        nothing.body
    );
    let endless = format!("( INFO {}", " ".repeat(300_000));
    assert_eq!(
        server.raw(format!("{head}{endless}").as_bytes()).code(),
        "413"
    );
    server.assert_available();
}

#[test]
fn a_byte_order_mark_before_a_message_is_skipped() {
    let server = four();
    assert_eq!(server.ask("\u{feff}( INFO )"), AVAILABLE);
    let start = start("m", "first", 0.2, 0.2);
    assert_eq!(server.ask(&format!("\u{feff}{start}")), "ready");
    assert_eq!(server.ask("\u{feff}( ABORT m )"), "aborted");
}

#[test]
fn head_is_answered_without_a_body() {
    let server = four();
    for (target, code) in [("/", "200"), ("/nothing", "404"), ("/(%20INFO%20)", "404")] {
        let request = format!("HEAD {target} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let answer = server.raw(request.as_bytes());
        assert_eq!(
            (answer.code(), answer.body.as_str()),
            (code, ""),
            "{target}"
        );
        let length = answer.header("content-length").unwrap();
        assert!(length.parse::<usize>().unwrap() > 0);
    }
}

#[test]
fn match_ids_are_data_and_never_paths() {
    let root = tempfile::tempdir().unwrap();
    let logs = root.path().join("logs");
    let server = logging(&logs, 4);
    let long = "x".repeat(1000);
    let ids = [
        "../../x",
        "/etc/passwd",
        "..",
        "con",
        "NUL.txt",
        "C:\\x",
        "a%2fb",
        "~",
        "$HOME",
        "*",
        "\u{1b}[2J\u{7}",
        "\u{202e}m",
        "m",
        "m",
        &long,
    ];
    for id in ids {
        assert_eq!(server.ask(&start(id, "first", 0.0, 0.2)), "ready", "{id:?}");
        assert!(
            is_take(&server.ask(&format!("( PLAY {id} NIL )"))),
            "{id:?}"
        );
        assert_eq!(server.ask(&format!("( STOP {id} NIL )")), "done", "{id:?}");
    }
    let too_long = start(&format!("{long}x"), "first", 0.0, 0.2);
    assert_eq!(server.raw(ggp_base(&too_long).as_bytes()).code(), "400");
    drop(server);
    let names = |folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    };
    assert_eq!(names(root.path()), ["logs"]);
    let folders = names(&logs);
    assert_eq!(folders.len(), ids.len(), "{folders:?}");
    for name in &folders {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        assert!(name.chars().all(is_plain), "{name:?}");
        assert!(!name.starts_with('.') && name.len() <= 110, "{name:?}");
        let text = fs::read_to_string(logs.join(name).join("match.log")).unwrap();
        let is_control = |c: char| c.is_control() && c != '\n';
        assert!(!text.contains(is_control), "{name:?}: {text:?}");
    }
}
