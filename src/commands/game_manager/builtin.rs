//! Two players that need no thought, for tests and as opponents: one plays random legal moves, one
//! always the first legal move in the order of their texts.
//!
//! They are reached over HTTP as any other player and keep one match at a time. A new START
//! replaces the match before it.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

use super::referee::Referee;
use crate::gdl::{self, Sexpr, sexpr};
use crate::machine::random::Random;

/// Longer requests are refused.
const MAX_REQUEST_BYTES: usize = 64 << 20;

/// How a built-in player picks its move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// Each legal move is as likely as any other.
    Random,
    /// The legal move whose text comes first.
    FirstLegal,
}

/// A built-in player that listens; it stops when this is dropped.
#[derive(Debug)]
pub struct BuiltinPlayer {
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl BuiltinPlayer {
    /// Starts a player on a free loopback port. Must be called on a runtime.
    ///
    /// # Errors
    /// No port could be had.
    pub async fn start(style: Style, seed: u64) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let table = Arc::new(Mutex::new(PlayerState {
            style,
            random: Random::new(seed),
            in_match: None,
        }));
        let accepting = tokio::spawn(accept(listener, table));
        Ok(Self { address, accepting })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for BuiltinPlayer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, state: Arc<Mutex<PlayerState>>) {
    // Dropping the set ends the connections with the player.
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else {
            // Out of file descriptors, most likely: others must close theirs first.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let state = Arc::clone(&state);
        let service = service_fn(move |request| answer_http(request, Arc::clone(&state)));
        connections.spawn(async move {
            // A broken connection is the manager's to notice.
            let _ = http1::Builder::new()
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn answer_http(
    request: Request<Incoming>,
    state: Arc<Mutex<PlayerState>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = Limited::new(request.into_body(), MAX_REQUEST_BYTES)
        .collect()
        .await;
    let answer = match body {
        Ok(body) => {
            let message = String::from_utf8_lossy(&body.to_bytes()).into_owned();
            // Evaluating rules may take long, and others answer on this thread.
            let answering = tokio::task::spawn_blocking(move || lock(&state).answer(&message));
            answering
                .await
                .unwrap_or_else(|panic| Err(panic.to_string()))
        }
        Err(error) => Err(format!("unreadable request: {error}")),
    };
    let (status, text) = match answer {
        Ok(text) => (StatusCode::OK, text),
        Err(text) => (StatusCode::BAD_REQUEST, text),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        hyper::header::HeaderValue::from_static("text/acl"),
    );
    headers.insert(CONNECTION, hyper::header::HeaderValue::from_static("close"));
    Ok(response)
}

/// The state stays whole when a holder panics: each message replaces it as its last act.
fn lock(state: &Mutex<PlayerState>) -> MutexGuard<'_, PlayerState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

struct PlayerState {
    style: Style,
    random: Random,
    in_match: Option<InMatch>,
}

struct InMatch {
    id: String,
    role: usize,
    referee: Referee,
}

impl PlayerState {
    /// Answers one message; the error is a text for whoever sent nonsense.
    fn answer(&mut self, message: &str) -> Result<String, String> {
        let (expressions, faults) = sexpr::parse(message);
        let [Sexpr::List(items, _)] = expressions.as_slice() else {
            return Err("expected one list in parentheses".to_string());
        };
        if let Some(fault) = faults.first() {
            return Err(fault.one_line("request", message));
        }
        let Some((word, arguments)) = items.split_first() else {
            return Err("expected a request, found an empty list".to_string());
        };
        let word = word.symbol().unwrap_or_default().to_ascii_uppercase();
        match (word.as_str(), arguments) {
            ("INFO", []) => Ok(self.info()),
            ("PREVIEW", _) => Ok("done".to_string()),
            ("START", [Sexpr::Symbol(id, _), role, rules @ Sexpr::List(..), _, _]) => {
                self.start(id, role, &message[rules.span().range()])
            }
            ("PLAY", [Sexpr::Symbol(id, _), moves]) => self.play(id, moves),
            ("STOP" | "ABORT", [Sexpr::Symbol(id, _), ..]) => {
                if self.in_match.as_ref().is_none_or(|own| own.id != **id) {
                    return Ok("busy".to_string());
                }
                self.in_match = None;
                Ok(if word == "STOP" { "done" } else { "aborted" }.to_string())
            }
            _ => Err(format!("unknown or incomplete request `{word}`")),
        }
    }

    fn info(&self) -> String {
        let name = match self.style {
            Style::Random => "random",
            Style::FirstLegal => "legal",
        };
        let status = if self.in_match.is_some() {
            "busy"
        } else {
            "available"
        };
        format!("( ( name {name} ) ( status {status} ) )")
    }

    fn start(&mut self, id: &str, role: &Sexpr, rules: &str) -> Result<String, String> {
        let (rules, _) = gdl::load(rules);
        let referee = Referee::new(&rules).map_err(|error| error.to_string())?;
        let role_name = role.to_string();
        let role = referee
            .roles()
            .iter()
            .position(|own| *own == role_name)
            .ok_or_else(|| format!("the rules have no role `{role_name}`"))?;
        self.in_match = Some(InMatch {
            id: id.to_string(),
            role,
            referee,
        });
        Ok("ready".to_string())
    }

    fn play(&mut self, id: &str, moves: &Sexpr) -> Result<String, String> {
        let Some(own) = self.in_match.as_mut().filter(|own| own.id == id) else {
            return Ok("busy".to_string());
        };
        if let Sexpr::List(moves, _) = moves {
            let joint_move: Option<Vec<_>> = moves
                .iter()
                .map(|mv| own.referee.read_move(&mv.to_string()))
                .collect();
            let joint_move = joint_move.ok_or("a move that is no term")?;
            own.referee
                .advance(&joint_move)
                .map_err(|error| error.to_string())?;
        }
        let legal = own
            .referee
            .legal_moves()
            .map_err(|error| error.to_string())?;
        let legal = legal.get(own.role).map_or(&[][..], Vec::as_slice);
        let pick = match (self.style, legal.len()) {
            (_, 0) => return Err("no legal move".to_string()),
            (Style::Random, count) => self.random.below(count as u32) as usize,
            (Style::FirstLegal, _) => 0,
        };
        Ok(own.referee.show(legal[pick]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = "((role a) (role b) (init (n 0)) (<= (legal ?r (go 1)) (role ?r)) \
        (<= (legal ?r (go 2)) (role ?r) (true (n 0))) (<= (next (n 1)) (true (n ?x))) \
        (<= terminal (true (n 5))))";

    fn player(style: Style) -> PlayerState {
        PlayerState {
            style,
            random: Random::new(1),
            in_match: None,
        }
    }

    #[test]
    fn a_match_from_start_to_stop() {
        let mut player = player(Style::FirstLegal);
        let mut say = |message: &str| player.answer(message).unwrap();
        assert_eq!(say("( PLAY m NIL )"), "busy");
        assert_eq!(say(&format!("( start m b {RULES} 10 5)")), "ready");
        assert_eq!(say("( INFO )"), "( ( name legal ) ( status busy ) )");
        assert_eq!(say("( PLAY m NIL )"), "(go 1)");
        assert_eq!(say("( PLAY other NIL )"), "busy");
        assert_eq!(say("( PLAY m ((go 2) (go 2)) )"), "(go 1)");
        assert_eq!(say("( ABORT other )"), "busy");
        assert_eq!(say("( STOP m ((go 1) (go 1)) )"), "done");
        assert_eq!(say("( ABORT m )"), "busy");
    }

    #[test]
    fn the_random_player_plays_all_legal_moves() {
        let mut player = player(Style::Random);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..30 {
            player.answer(&format!("(START m a {RULES} 1 1)")).unwrap();
            seen.insert(player.answer("(PLAY m nil)").unwrap());
        }
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["(go 1)", "(go 2)"]);
    }

    #[test]
    fn nonsense_is_refused_in_words() {
        let mut player = player(Style::Random);
        for message in [
            "",
            "x",
            "(",
            "()",
            "(JUMP m)",
            "(START m)",
            "(START m c ((role a)) 1 1)",
        ] {
            assert!(player.answer(message).is_err(), "{message}");
        }
    }
}
