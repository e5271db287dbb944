//! What happens to a match, and to those after it, when the machine fails around the player: it is
//! killed, the wall clock jumps, the disk is full, no descriptor is left.
//!
//! Threads of the player that panic or hang are in `player.rs`.

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use panza_cli::Game;
use rustix::process::Resource;
use serde_json::Value;

use crate::support::client::{PATIENCE, ggp_base, read_one, read_to_end};
use crate::support::pile;
use crate::support::process::PlayerProcess;

/// Clocks in seconds, and a margin with which answers leave two seconds and more before their end:
/// a busy machine keeps them.
const START_CLOCK: f64 = 4.5;
const PLAY_CLOCK: f64 = 4.5;
const MARGIN: &str = "player.margin_seconds=2";

fn connect_four() -> String {
    Game::load("connectFour").unwrap().sheet.text
}

fn start(id: &str) -> String {
    let rules = connect_four();
    format!("( START {id} red ( {rules} ) {START_CLOCK} {PLAY_CLOCK} )")
}

/// Asks a message whose answer must come within the clock.
fn ask_in_time(server: &PlayerProcess, message: &str, clock: f64) -> String {
    let begin = Instant::now();
    let answer = server.ask(message);
    let took = begin.elapsed().as_secs_f64();
    assert!(took < clock, "{took} s for {:.60}: {answer}", message);
    answer
}

/// A move of red, as it was answered.
fn assert_drops(answer: &str) {
    let column = answer.strip_prefix("(drop ");
    let column = column.and_then(|rest| rest.strip_suffix(')')?.parse().ok());
    assert!(
        column.is_some_and(|column: u32| (1..=8).contains(&column)),
        "{answer}"
    );
}

/// Plays connect four for some turns of red, each in time, and says how the last one was answered.
fn play_turns(server: &PlayerProcess, id: &str, turns: u32) -> String {
    let mut message = format!("( PLAY {id} NIL )");
    let mut answer = String::new();
    for turn in 0..turns {
        answer = ask_in_time(server, &message, PLAY_CLOCK);
        assert_drops(&answer);
        if turn + 1 < turns {
            let reply = ask_in_time(
                server,
                &format!("( PLAY {id} ( {answer} noop ) )"),
                PLAY_CLOCK,
            );
            assert_eq!(reply, "noop");
            message = format!("( PLAY {id} ( noop (drop {}) ) )", turn + 1);
        }
    }
    answer
}

/// Plays the pile to its end, and waits until nothing of the match runs.
fn play_pile(server: &PlayerProcess, id: &str) {
    let start = format!("( START {id} first ( {} ) 2 2 )", pile::rules(4));
    assert_eq!(server.ask(&start), "ready");
    for message in [
        format!("( PLAY {id} NIL )"),
        format!("( PLAY {id} ( ( take 1 ) noop ) )"),
        format!("( PLAY {id} ( noop ( take 2 ) ) )"),
    ] {
        server.ask(&message);
    }
    assert_eq!(
        server.ask(&format!("( STOP {id} ( ( take 1 ) noop ) )")),
        "done"
    );
    server.wait_for_end(id);
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The events of a match; a line without an end is left out.
fn events(folder: &Path, id: &str) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("logs").join(id).join("events.jsonl")).unwrap();
    let lines = text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["kind"].as_str().unwrap())
        .collect()
}

fn log_of(folder: &Path, id: &str) -> String {
    fs::read_to_string(folder.join("logs").join(id).join("match.log")).unwrap()
}

#[test]
fn a_player_that_was_killed_goes_on_with_its_folders() {
    let folder = tempfile::tempdir().unwrap();
    // Before START is answered, in a turn of ours, between turns, and as the match ends.
    for moment in 0..4 {
        let id = format!("killed{moment}");
        let mut server = PlayerProcess::start(folder.path(), &[MARGIN]);
        play_pile(&server, &format!("whole{moment}"));
        let starting = server.send(&start(&id));
        if moment == 0 {
            let summary = folder.path().join("logs").join(&id).join("summary.json");
            wait_until("the log begins", || summary.exists());
        } else {
            assert_eq!(read_to_end(starting).body, "ready");
        }
        match moment {
            0 => {}
            1 => {
                let _turn = server.send(&format!("( PLAY {id} NIL )"));
                std::thread::sleep(Duration::from_millis(500));
            }
            2 => assert_drops(&server.ask(&format!("( PLAY {id} NIL )"))),
            _ => {
                assert_drops(&server.ask(&format!("( PLAY {id} NIL )")));
                assert_eq!(server.ask(&format!("( ABORT {id} )")), "aborted");
            }
        }
        server.kill();
    }
    let server = PlayerProcess::start(folder.path(), &[MARGIN]);
    let list = server.json("/api/matches");
    assert_eq!(list["total"], 8, "{list}");
    for entry in list["matches"].as_array().unwrap() {
        let id = entry["match_id"].as_str().unwrap();
        assert_eq!(entry["live"], false, "{entry}");
        assert_eq!(entry.get("damaged"), None, "{entry}");
        let is_whole = id.starts_with("whole");
        if is_whole {
            assert_eq!(entry["how"], "stopped", "{entry}");
        } else if id != "killed3" {
            assert_eq!(entry["how"], Value::Null, "{entry}");
        }
        let events = events(folder.path(), id);
        assert!(kinds(&events).contains(&"start"), "{id}");
    }
    // The memory knows every match that had ended, and was never found broken.
    play_pile(&server, "last");
    let log = log_of(folder.path(), "last");
    assert!(log.contains("matches played: 4"), "{log}");
    for entry in fs::read_dir(folder.path()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(!name.contains("broken"), "{name}");
    }
    assert_eq!(ask_in_time(&server, &start("again"), START_CLOCK), "ready");
    play_turns(&server, "again", 2);
}

/// A library in which every look at the wall clock, by the program or by SQLite, finds it set back
/// or forward by a year.
const JUMPING_CLOCK: &str = r"
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long jump(void) {
    static int looks;
    return (__atomic_fetch_add(&looks, 1, __ATOMIC_RELAXED) % 2 ? 1L : -1L) * 31536000L;
}
int clock_gettime(clockid_t clock, struct timespec *time) {
    int failed = syscall(SYS_clock_gettime, clock, time);
    if (!failed && clock == CLOCK_REALTIME) time->tv_sec += jump();
    return failed;
}
int gettimeofday(struct timeval *time, void *zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *place) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (place) *place = now.tv_sec;
    return now.tv_sec;
}
";

#[test]
fn a_wall_clock_that_jumps_moves_no_deadline() {
    let folder = tempfile::tempdir().unwrap();
    let (source, library) = (
        folder.path().join("clock.c"),
        folder.path().join("clock.so"),
    );
    fs::write(&source, JUMPING_CLOCK).unwrap();
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status();
    assert!(compiled.unwrap().success());
    let server = PlayerProcess::start_with_library(folder.path(), &[MARGIN], &library);
    for id in ["first", "second"] {
        let begin = Instant::now();
        assert_eq!(ask_in_time(&server, &start(id), START_CLOCK), "ready");
        // It is as late as ever, too.
        assert!(
            begin.elapsed().as_secs_f64() > START_CLOCK / 2.0,
            "{:?}",
            begin.elapsed()
        );
        play_turns(&server, id, 3);
        assert_eq!(server.ask(&format!("( STOP {id} NIL )")), "done");
        server.wait_for_end(id);
    }
    // The clock did jump.
    let events = events(folder.path(), "first");
    let times = events.iter().map(|event| event["time"].as_str().unwrap());
    assert!(
        !times.clone().is_sorted(),
        "{:?}",
        times.collect::<Vec<_>>()
    );
    let mut at = events
        .iter()
        .map(|event| event["at_seconds"].as_f64().unwrap());
    assert!(at.all(|at| (0.0..600.0).contains(&at)));
    let log = log_of(folder.path(), "second");
    assert!(log.contains("is known"), "{log}");
}

#[test]
fn a_full_disk_costs_the_logs_and_no_move() {
    let folder = tempfile::tempdir().unwrap();
    let server = PlayerProcess::start_with_limited_files(folder.path(), &[MARGIN]);
    play_pile(&server, "before");
    // It fills up in the middle of a match.
    assert_eq!(
        ask_in_time(&server, &start("filling"), START_CLOCK),
        "ready"
    );
    play_turns(&server, "filling", 1);
    server.limit(Resource::Fsize, Some(0));
    let answer = ask_in_time(&server, "( PLAY filling ( (drop 1) noop ) )", PLAY_CLOCK);
    assert_eq!(answer, "noop");
    assert_drops(&ask_in_time(
        &server,
        "( PLAY filling ( noop (drop 2) ) )",
        PLAY_CLOCK,
    ));
    assert_eq!(server.ask("( STOP filling NIL )"), "done");
    server.wait_for_end("filling");
    // It is full from the start.
    assert_eq!(ask_in_time(&server, &start("full"), START_CLOCK), "ready");
    play_turns(&server, "full", 2);
    assert_ne!(server.json("/api/matches")["player"]["disk"], "ok");
    // There is room again, in the middle of a match.
    server.limit(Resource::Fsize, None);
    let answer = ask_in_time(&server, "( PLAY full ( (drop 1) noop ) )", PLAY_CLOCK);
    assert_eq!(answer, "noop");
    assert_eq!(server.ask("( STOP full NIL )"), "done");
    server.wait_for_end("full");
    assert_eq!(server.json("/api/matches")["player"]["disk"], "ok");
    play_pile(&server, "after");
    let events = events(folder.path(), "after");
    assert!(kinds(&events).contains(&"end"), "{events:?}");
    let log = log_of(folder.path(), "after");
    assert!(log.contains("matches played: 1"), "{log}");
    // Each match says once that its log is lost, and the memory once altogether.
    let messages = server.messages();
    let count = |text: &str| messages.matches(text).count();
    assert_eq!(count("a match log cannot be written"), 2, "{messages}");
    assert_eq!(count("nothing is remembered"), 1, "{messages}");
}

#[test]
fn a_player_without_descriptors_waits_for_them_in_peace() {
    let folder = tempfile::tempdir().unwrap();
    let server = PlayerProcess::start(folder.path(), &[MARGIN]);
    play_pile(&server, "before");
    // A connection of its own for each message cannot be had, but one that is there stays.
    let mut manager = server.connect();
    let mut ask = |message: &str, clock: f64| {
        let request = ggp_base(message).replacen(" HTTP/1.0", " HTTP/1.1", 1);
        let request = request.replacen("\r\n", "\r\nConnection: keep-alive\r\n", 1);
        let begin = Instant::now();
        manager.write_all(request.as_bytes()).unwrap();
        let answer = read_one(&mut manager).body;
        let took = begin.elapsed().as_secs_f64();
        assert!(took < clock, "{took} s for {message:.60}: {answer}");
        answer
    };
    ask("( INFO )", PLAY_CLOCK);
    server.limit(Resource::Nofile, Some(0));
    // The system accepts these connections; the server cannot.
    let waiting: Vec<TcpStream> = (0..5).map(|_| server.send("( INFO )")).collect();
    assert_eq!(ask(&start("m"), START_CLOCK), "ready");
    assert_drops(&ask("( PLAY m NIL )", PLAY_CLOCK));
    // The loop that accepts runs on the first thread, which has the name of the program.
    let serving = || server.processor_time("tokio") + server.processor_time("panza");
    let before = serving();
    let answer = ask("( PLAY m ( (drop 1) noop ) )", PLAY_CLOCK);
    assert_eq!(answer, "noop");
    std::thread::sleep(Duration::from_secs(2));
    let busy = serving() - before;
    assert!(busy < Duration::from_millis(500), "{busy:?} in two seconds");
    server.limit(Resource::Nofile, None);
    for stream in waiting {
        assert!(read_to_end(stream).body.contains("busy"));
    }
    assert_drops(&ask("( PLAY m ( noop (drop 2) ) )", PLAY_CLOCK));
    assert_eq!(server.ask("( STOP m NIL )"), "done");
    server.wait_for_end("m");
    play_pile(&server, "after");
    let events = events(folder.path(), "after");
    assert!(kinds(&events).contains(&"end"), "{events:?}");
    let messages = server.messages();
    let refused = messages.matches("cannot be accepted").count();
    assert_eq!(refused, 1, "{messages}");
}
