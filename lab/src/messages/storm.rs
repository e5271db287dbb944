//! Fuzzed messages over several connections: kept, pipelined, closed after one, cut off, and with
//! heads that are fuzzed too.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use panza_sync::Random;

use super::ASK_EVERY;
use super::client::{Connection, post};
use super::matches::Busy;
use super::mutate::{below, mutate};

/// Messages that are fuzzed. None of them names the match that is played.
const MESSAGES: &[&str] = &[
    "( INFO )",
    "( PREVIEW ( (role a) (<= terminal (true b)) ) 10 )",
    "( PLAY match.1 NIL )",
    "( PLAY match.1 ( ( mark 1 2 ) noop ) )",
    "( play m ((move (f a) \u{e4})))",
    "( STOP match.1 ( go stay ) )",
    "( STOP match.1 NIL )",
    "( ABORT match.1 )",
];
/// A START, which is sent only while the player is busy.
const START: &str = "( START match.2 a ( (role a) (role b) (init (at a 1)) (succ 1 2) (succ 2 3)
    (<= (legal ?r go) (role ?r)) (<= (legal ?r stay) (role ?r))
    (<= (next (at ?r ?y)) (does ?r go) (true (at ?r ?x)) (succ ?x ?y))
    (<= terminal (true (at ?r 3))) (<= (goal ?r 100) (true (at ?r 3))) (goal b 0) ) 1 1 )";
const TARGETS: &[&str] = &[
    "/( INFO )",
    "/(%20INFO+)",
    "/",
    "/api/matches?search=a+b",
    "/metrics",
    "/matches/x",
];
/// Mutations of a message, at most.
const MUTATIONS: usize = 5;
/// Messages that are sent before the first answer is read.
const PIPELINED: usize = 8;

/// What came of the messages of one thread, or of all.
#[derive(Default, Debug)]
pub struct Answers {
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// The time of each answer, in microseconds.
    pub micros: Vec<u32>,
    /// The slowest answer, and what it answers.
    pub slowest: (Duration, String),
    /// Requests that were cut off, or whose head was broken, and that got no answer.
    pub unanswered: u64,
    /// What should not have been: no answer, or one that is not HTTP.
    pub faults: Vec<String>,
}

impl Answers {
    fn note(&mut self, begin: Instant, status: u16, what: &str, message: &[u8]) {
        let time = begin.elapsed();
        *self.statuses.entry(status).or_default() += 1;
        let micros = u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
        self.micros.push(micros);
        if time > self.slowest.0 {
            self.slowest = (time, format!("{what}: {}", shown(message)));
        }
        if status >= 500 {
            self.faults
                .push(format!("{status} for {what}: {}", shown(message)));
        }
    }

    fn fault(&mut self, error: &io::Error, what: &str, message: &[u8]) {
        self.faults
            .push(format!("{error} for {what}: {}", shown(message)));
    }

    /// Adds what another thread has seen.
    pub fn add(&mut self, other: Answers) {
        for (status, count) in other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        self.micros.extend(other.micros);
        self.unanswered += other.unanswered;
        self.faults.extend(other.faults);
        if other.slowest.0 > self.slowest.0 {
            self.slowest = other.slowest;
        }
    }

    /// The time below which this share of the answers stays.
    pub fn quantile(&mut self, share: f64) -> Duration {
        let last = self.micros.len().saturating_sub(1);
        let at = (last as f64 * share) as usize;
        if self.micros.is_empty() {
            return Duration::ZERO;
        }
        let (_, micros, _) = self.micros.select_nth_unstable(at);
        Duration::from_micros((*micros).into())
    }
}

fn shown(message: &[u8]) -> String {
    let start = &message[..message.len().min(200)];
    start.escape_ascii().to_string()
}

/// Sends messages until `left` is used up.
pub fn storm(address: SocketAddr, seed: u64, left: &AtomicU64, busy: &Busy) -> Answers {
    let mut random = Random::new(seed);
    let mut answers = Answers::default();
    let mut kept: Option<Connection> = None;
    let seeds: Vec<Vec<u8>> = MESSAGES
        .iter()
        .map(|text| text.as_bytes().to_vec())
        .collect();
    let body = |random: &mut Random| {
        let mut text = seeds[below(random, seeds.len())].clone();
        for _ in 0..below(random, MUTATIONS) {
            mutate(&mut text, &seeds, random);
        }
        text
    };
    let is_left = |count: u64| {
        let less = |left: u64| left.checked_sub(count.min(left)).filter(|_| left > 0);
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .is_ok()
    };
    loop {
        let choice = below(&mut random, 100);
        let is_kept = choice < 72;
        let count = if choice < 30 { PIPELINED } else { 1 };
        if !is_left(count as u64) {
            return answers;
        }
        if is_kept {
            let bodies: Vec<Vec<u8>> = (0..count).map(|_| body(&mut random)).collect();
            let connection = kept.take().map_or_else(|| Connection::new(address), Ok);
            kept = match connection {
                Ok(connection) => pipelined(connection, &bodies, &mut answers),
                Err(error) => {
                    answers.fault(&error, "a connection", b"");
                    None
                }
            };
            // A kept connection is closed now and then.
            kept = kept.filter(|_| below(&mut random, 50) > 0);
            continue;
        }
        let outcome = match choice {
            72..88 => {
                let body = body(&mut random);
                one(
                    address,
                    &post(&body, false),
                    "a single message",
                    &mut answers,
                )
            }
            88..91 => {
                let target = TARGETS[below(&mut random, TARGETS.len())];
                let request = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n");
                one(address, request.as_bytes(), "a GET", &mut answers)
            }
            91..93 => {
                let mut text = START.as_bytes().to_vec();
                for _ in 0..below(&mut random, 3) {
                    mutate(&mut text, &seeds, &mut random);
                }
                match busy.try_read() {
                    Ok(_guard) => one(address, &post(&text, false), "a START", &mut answers),
                    Err(_) => one(address, &post(b"( INFO )", false), "an INFO", &mut answers),
                }
            }
            93..97 => {
                let mut request = post(&body(&mut random), false);
                for _ in 0..1 + below(&mut random, MUTATIONS) {
                    mutate(&mut request, &seeds, &mut random);
                }
                broken(address, &request, &mut answers)
            }
            _ => {
                let request = post(&body(&mut random), false);
                let length = below(&mut random, request.len());
                answers.unanswered += 1;
                Connection::new(address).and_then(|mut it| it.write(&request[..length]))
            }
        };
        if let Err(error) = outcome {
            answers.fault(&error, "a connection", b"");
        }
    }
}

/// Messages over one connection, sent at once; the connection unless it broke.
fn pipelined(
    mut connection: Connection,
    bodies: &[Vec<u8>],
    answers: &mut Answers,
) -> Option<Connection> {
    let what = match bodies {
        [_] => "a message",
        _ => "a pipelined message",
    };
    let requests: Vec<u8> = bodies.iter().flat_map(|body| post(body, true)).collect();
    let begin = Instant::now();
    let is_written = connection.write(&requests).is_ok();
    for body in bodies {
        match connection.answer() {
            Ok(status) => answers.note(begin, status, what, body),
            Err(error) => {
                answers.fault(&error, what, body);
                return None;
            }
        }
    }
    is_written.then_some(connection)
}

/// One request that has to be answered, on a connection of its own.
pub fn one(
    address: SocketAddr,
    request: &[u8],
    what: &str,
    answers: &mut Answers,
) -> io::Result<()> {
    let mut connection = Connection::new(address)?;
    let begin = Instant::now();
    connection.write(request)?;
    match connection.answer() {
        Ok(status) => answers.note(begin, status, what, request),
        Err(error) => answers.fault(&error, what, request),
    }
    Ok(())
}

/// Asks INFO again and again until `is_over`; `look` is called each time.
pub fn ask_info(address: SocketAddr, is_over: impl Fn() -> bool, look: impl Fn()) -> Answers {
    let mut answers = Answers::default();
    while !is_over() {
        thread::sleep(ASK_EVERY);
        look();
        let asked = one(address, &post(b"( INFO )", false), "an INFO", &mut answers);
        if let Err(error) = asked {
            answers.faults.push(format!("{error} for a connection"));
        }
    }
    answers
}

/// A request that may have no answer, since its head is fuzzed too.
fn broken(address: SocketAddr, request: &[u8], answers: &mut Answers) -> io::Result<()> {
    let what = "a broken request";
    let mut connection = Connection::new(address)?;
    let begin = Instant::now();
    // The server may have refused before all was written.
    let _ = connection.write(request);
    let _ = connection.finish();
    match connection.read_to_end() {
        Ok(Some(status)) => answers.note(begin, status, what, request),
        Ok(None) => answers.unanswered += 1,
        Err(error) => answers.fault(&error, what, request),
    }
    Ok(())
}
