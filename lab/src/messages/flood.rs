//! Messages of almost the greatest length beside a match: posted one after the other over a few
//! connections, or begun over many and never ended.
//!
//! INFO is asked ten times a second meanwhile. Loops are bounded in time and in number.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::ValueEnum;
use panza_cli::{Game, Outcome, Output};
use panza_referee::Clocks;
use panza_server::MAX_CONNECTIONS;
use serde::Serialize;

use super::client::{Connection, post};
use super::matches::{self, Busy, Played};
use super::storm;
use super::{REST, SLOW};
use crate::server::{Figures, Server};

/// Bytes of a body. The server refuses more than 2²⁴.
const BODY: usize = 16_000_000;
/// Bytes of a body that are not sent by a connection that stalls.
const KEPT_BACK: usize = 100_000;
/// Connections that post messages.
const POSTING: usize = 4;
/// Messages of one connection after another, at most.
const MOST_POSTS: u32 = 100_000;
/// The most resident memory of the server that is no fault, in MiB.
const MOST_MIB: f64 = 1024.0;
/// Time between two looks at connections that stall.
const LOOK: Duration = Duration::from_millis(2);

/// What is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Flood {
    /// PLAYs of a match that is not played.
    Plays,
    /// STARTs of rules without a role, while a match runs.
    Starts,
    /// Messages that are sent but for their end.
    Stalled,
}

/// What became of the messages.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
struct Sent {
    /// Answers by status.
    statuses: BTreeMap<u16, u32>,
    /// Messages whose connection the server closed before all was sent.
    closed: u32,
    /// Connections that were open at the end, with all bytes sent that should be.
    stalled: u32,
}

/// What a run came to.
#[derive(Serialize)]
struct Report {
    flood: Flood,
    sent: Sent,
    played: Played,
    infos: usize,
    slowest_info_ms: f64,
    info_faults: Vec<String>,
    panics: Vec<String>,
    /// The most resident memory of the server.
    peak_mib: f64,
    before: Figures,
    after: Figures,
}

impl Report {
    fn holds(&self) -> bool {
        self.played.faults.is_empty()
            && self.info_faults.is_empty()
            && self.panics.is_empty()
            && self.peak_mib <= MOST_MIB
            && self.slowest_info_ms <= SLOW.as_secs_f64() * 1000.0
    }

    fn text(&self) -> String {
        let played = &self.played;
        let mut lines = vec![
            format!(
                "sent: answers by status {:?}, {} closed by the server, {} stalled at the end",
                self.sent.statuses, self.sent.closed, self.sent.stalled
            ),
            format!(
                "matches: {} with {} moves; late: {}; slowest answer to PLAY: {:.0} ms",
                played.matches, played.moves, played.late, played.slowest_ms
            ),
            format!(
                "INFO: {} answers, slowest {:.0} ms, {} faults",
                self.infos,
                self.slowest_info_ms,
                self.info_faults.len()
            ),
            format!(
                "resident memory: {:.0} MiB before, at most {:.0} MiB, {:.0} MiB after",
                self.before.memory_mib, self.peak_mib, self.after.memory_mib
            ),
        ];
        let faults = [&played.faults, &self.info_faults, &self.panics];
        lines.extend(faults.into_iter().flatten().take(20).cloned());
        lines.join("\n") + "\n"
    }
}

/// Floods a server for a while. The match is played to its end without the flood.
pub fn run(
    flood: Flood,
    server: &Server,
    game: &Game,
    clocks: Clocks,
    time: Duration,
    output: Output,
) -> anyhow::Result<Outcome> {
    let address = server.address;
    let (is_last, busy) = (AtomicBool::new(false), Busy::default());
    let before = server.figures()?;
    let until = Instant::now() + time;
    let is_over = || Instant::now() >= until;
    let (sent, played, answers) = thread::scope(|scope| {
        let playing = scope.spawn(|| matches::play(address, game, clocks, &busy, &is_last));
        let n_posting = if flood == Flood::Stalled { 0 } else { POSTING };
        let senders: Vec<_> = (0..n_posting)
            .map(|_| scope.spawn(|| post_on(address, &message(flood), is_over)))
            .collect();
        let stalling = (flood == Flood::Stalled)
            .then(|| scope.spawn(|| stall(address, &message(flood), MAX_CONNECTIONS, is_over)));
        let look = || is_last.store(is_over(), Ordering::Relaxed);
        let answers = storm::ask_info(address, || playing.is_finished(), look);
        let mut sent = Sent::default();
        for sender in senders.into_iter().chain(stalling) {
            let more = sender.join().ok().context("a sender has panicked")?;
            sent.closed += more.closed;
            sent.stalled += more.stalled;
            for (status, count) in more.statuses {
                *sent.statuses.entry(status).or_default() += count;
            }
        }
        let played = playing.join().ok();
        let played = played.context("the game manager has panicked")??;
        anyhow::Ok((sent, played, answers))
    })?;
    thread::sleep(REST);
    let after = server.figures()?;
    let report = Report {
        flood,
        sent,
        played,
        infos: answers.micros.len(),
        slowest_info_ms: answers.slowest.0.as_secs_f64() * 1000.0,
        info_faults: answers.faults,
        panics: server.panics()?,
        peak_mib: after.peak_mib,
        before,
        after,
    };
    output.object(&report)?;
    output.text(&report.text())?;
    Ok(Outcome::holds_if(report.holds()))
}

/// A request with a body of [`BODY`] bytes.
fn message(flood: Flood) -> Vec<u8> {
    let (begin, item, end) = match flood {
        Flood::Plays | Flood::Stalled => ("( PLAY unknown (", "(mark 1 1) ", "x) )"),
        Flood::Starts => ("( START unknown a (", "(f 1 (g 2)) ", "(h x)) 10 10 )"),
    };
    let mut body = begin.to_string();
    body.push_str(&item.repeat((BODY - begin.len() - end.len()) / item.len()));
    body.push_str(&" ".repeat(BODY - body.len() - end.len()));
    body.push_str(end);
    post(body.as_bytes(), false)
}

/// Posts a request again and again, each over a connection of its own.
fn post_on(address: SocketAddr, request: &[u8], is_over: impl Fn() -> bool) -> Sent {
    let mut sent = Sent::default();
    for _ in 0..MOST_POSTS {
        if is_over() {
            break;
        }
        let answered = Connection::new(address).and_then(|mut connection| {
            // The answer may come before all is sent.
            let written = connection.write(request);
            connection.answer().or_else(|error| written.and(Err(error)))
        });
        match answered {
            Ok(status) => *sent.statuses.entry(status).or_default() += 1,
            Err(_) => sent.closed += 1,
        }
    }
    sent
}

/// Begins requests over `count` connections, sends nearly all of each and holds the connections.
fn stall(address: SocketAddr, request: &[u8], count: usize, is_over: impl Fn() -> bool) -> Sent {
    let part = &request[..request.len() - KEPT_BACK];
    let mut connections: Vec<(TcpStream, usize)> = Vec::new();
    let mut sent = Sent::default();
    while !is_over() {
        if connections.len() + (sent.closed as usize) < count
            && let Ok(stream) = TcpStream::connect(address)
            && stream.set_nonblocking(true).is_ok()
        {
            connections.push((stream, 0));
        }
        connections.retain_mut(|(stream, length)| match stream.write(&part[*length..]) {
            Ok(more) => {
                *length += more;
                true
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => true,
            Err(_) => {
                sent.closed += 1;
                false
            }
        });
        thread::sleep(LOOK);
    }
    let is_all_sent = |(_, length): &&(TcpStream, usize)| *length == part.len();
    sent.stalled = connections.iter().filter(is_all_sent).count() as u32;
    sent
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn messages_have_almost_the_greatest_length() {
        for flood in [Flood::Plays, Flood::Starts, Flood::Stalled] {
            let request = message(flood);
            let head = request.windows(4).position(|end| end == b"\r\n\r\n");
            let body = &request[head.unwrap() + 4..];
            assert_eq!(body.len(), BODY);
            let open = body.iter().filter(|&&byte| byte == b'(').count();
            let close = body.iter().filter(|&&byte| byte == b')').count();
            assert_eq!(open, close);
        }
    }

    #[test]
    fn answers_are_counted_by_status_and_connections_that_break_as_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let is_done = AtomicBool::new(false);
        let sent = thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                let answer = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
                stream.write_all(answer).unwrap();
                drop(stream);
                drop(listener.accept().unwrap());
                is_done.store(true, Ordering::Relaxed);
            });
            post_on(address, b"POST", || is_done.load(Ordering::Relaxed))
        });
        assert_eq!(sent.statuses.get(&503), Some(&1));
        assert!(sent.closed >= 1, "{sent:?}");
    }
}
