#![doc = include_str!("../README.md")]
//!
//! ```text
//!  TCP ─▶ connections ─▶ first_request ─▶ hyper ─▶ exchange ─┬▶ body ──▶ message ──▶ Player
//!         (limit)        (raw GETs,                (access,  │  (limits)  (parser)
//!                         wrong lengths)            route)   ├▶ web::pages
//!                                                            └▶ web::gamemaster ──▶ Player
//! ```
//!
//! A START takes these steps: [`Server::run`] accepts the connection, `serve_connection` reads the
//! head of its request and gives it to hyper, `Exchange::respond` asks `Exchange::route` what the
//! request is and reads the body with `Bodies::read`, `Exchange::message` parses it with
//! [`message::parse`] and passes it to [`Player::handle`], and `Outcome::response` writes the
//! answer.
//!
//! Browsers and log readers are served on the player's port and on the port of the log service,
//! which takes no messages. The server accepts careless requests (any content type, bare LF, spaces
//! in a GET, a length in characters) and limits bytes, time and connections. No client affects
//! other clients or the match.
//!
//! Invariants: every answer has its exact length, and closes the connection unless the client asked
//! for keep-alive; every answer to a GGP message has the CORS headers and is not empty; pages take
//! no connections and no processor time from messages.
//!
//! Never uses: nodes, gates, the phases of a match, what is on a page.

#![forbid(unsafe_code)]

mod access;
mod body;
mod connections;
mod exchange;
mod first_line;
mod first_request;
mod gamemaster_access;
pub mod message;
mod request;
mod response;
mod tail;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use connections::{ConnectionSlot, Connections};
use exchange::Exchange;
use panza_config::Settings;
use panza_player::{GameBuilders, Player};
use request::ConnectionInfo;

/// Connections served at the same time.
pub const MAX_CONNECTIONS: usize = 256;
/// Connections to the log service served at the same time.
const MAX_LOG_CONNECTIONS: usize = 64;
/// Bytes that a connection reads ahead, and limit on the head of a request.
const MAX_BUFFER: usize = 64 * 1024;
/// Time for the match to end when the server stops.
const WIND_UP: Duration = Duration::from_secs(5);
/// Time for clients to read their last answers when the server stops.
const LAST_ANSWERS: Duration = Duration::from_secs(1);
/// Pause when the system refuses to accept.
const AFTER_FAILED_ACCEPT: Duration = Duration::from_millis(100);

/// Why the server could not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address of the settings.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The player's thread cannot be started.
    #[error("cannot start the player")]
    Player(#[source] io::Error),
}

/// The addresses that clients can reach.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listening {
    /// The address of the player.
    pub address: SocketAddr,
    /// The address of the log service, if there is one.
    pub logs: Option<SocketAddr>,
}

/// Starts a player and serves it on the addresses of the settings until `shutdown` is there.
/// `on_listening` is called with the addresses that clients can reach; a port 0 of the settings is
/// replaced by the port that the system chose. If the address of the log service is taken, there is
/// no log service.
///
/// # Errors
/// The address cannot be listened on, or the system gives no thread. Nothing that a client does is
/// an error.
pub async fn serve(
    settings: &Settings,
    factories: GameBuilders,
    shutdown: impl Future<Output = ()>,
    on_listening: impl FnOnce(Listening),
) -> Result<(), ServeError> {
    let player = || Player::new(settings, factories);
    serve_player(settings, player, shutdown, on_listening).await
}

/// As [`serve`], with the player that `start` starts once the address is listened on.
///
/// # Errors
/// As [`serve`].
pub async fn serve_player(
    settings: &Settings,
    start: impl FnOnce() -> io::Result<Player>,
    shutdown: impl Future<Output = ()>,
    on_listening: impl FnOnce(Listening),
) -> Result<(), ServeError> {
    let address = settings.server.listen;
    let failed = |source| ServeError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let local = listener.local_addr().map_err(failed)?;
    let logs = match settings.server.log_listen {
        Some(address) => log_service(address).await,
        None => None,
    };
    let player = start().map_err(ServeError::Player)?;
    on_listening(Listening {
        address: local,
        logs: logs.as_ref().map(|(_, address)| *address),
    });
    let logs = logs.map(|(listener, _)| listener);
    Server::run(listener, logs, player, settings, shutdown).await;
    Ok(())
}

/// Listens for those who fetch logs. Several players on one machine may have the same settings, so
/// that the address is taken: then this one goes on without.
async fn log_service(address: SocketAddr) -> Option<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(address).await;
    match listener.and_then(|listener| Ok((listener.local_addr()?, listener))) {
        Ok((address, listener)) => Some((listener, address)),
        Err(error) => {
            tracing::warn!("no log service on {address}: {error}");
            None
        }
    }
}

/// The next connection to one of the listeners.
async fn accept(
    listener: &TcpListener,
    logs: Option<&TcpListener>,
) -> io::Result<(TcpStream, ConnectionInfo)> {
    let at_logs = async {
        match logs {
            Some(logs) => logs.accept().await,
            None => std::future::pending().await,
        }
    };
    let (accepted, at_log_service) = tokio::select! {
        accepted = listener.accept() => (accepted, false),
        accepted = at_logs => (accepted, true),
    };
    let (stream, peer) = accepted?;
    let connection = ConnectionInfo {
        peer,
        at_log_service,
    };
    Ok((stream, connection))
}

/// The server.
#[derive(Debug)]
pub struct Server;

impl Server {
    /// Serves a player on a listener, and its logs on another, until `shutdown` is there. Then the
    /// match that runs ends, answers that are owed leave, and the player is gone.
    pub async fn run(
        listener: TcpListener,
        logs: Option<TcpListener>,
        player: Player,
        settings: &Settings,
        shutdown: impl Future<Output = ()>,
    ) {
        let exchange = Arc::new(Exchange::new(player.clone(), settings));
        exchange.read_list();
        let connections = Arc::new(Connections::new(MAX_CONNECTIONS));
        // Those who fetch logs have slots of their own, so that they take none from game managers.
        let log_connections = Arc::new(Connections::new(MAX_LOG_CONNECTIONS));
        let mut tasks = JoinSet::new();
        // Times in a row that the system gave no connection. The first one is reported.
        let mut n_failures = 0_u64;
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            let accepted = tokio::select! {
                () = &mut shutdown => break,
                Some(_) = tasks.join_next() => continue,
                accepted = accept(&listener, logs.as_ref()) => accepted,
            };
            let (stream, connection) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    if n_failures == 0 {
                        tracing::warn!("connections cannot be accepted: {error}");
                    }
                    n_failures += 1;
                    tokio::time::sleep(AFTER_FAILED_ACCEPT).await;
                    continue;
                }
            };
            if n_failures > 0 {
                tracing::warn!("connections are accepted again, after {n_failures} attempts");
                n_failures = 0;
            }
            let admitting = match connection.at_log_service {
                true => &log_connections,
                false => &connections,
            };
            let Some(slot) = admitting.admit() else {
                let peer = connection.peer;
                tracing::warn!(%peer, "turned away: too many connections wait for answers");
                continue;
            };
            tasks.spawn(serve_connection(
                stream,
                connection,
                Arc::clone(&exchange),
                slot,
            ));
        }
        drop((listener, logs));
        let ended = tokio::task::spawn_blocking(move || player.shut_down(WIND_UP)).await;
        if !matches!(ended, Ok(true)) {
            tracing::warn!("the match had not ended when the server stopped");
        }
        let last_answers = async { while tasks.join_next().await.is_some() {} };
        // Connections that have sent no request are cut off.
        connections.close_idle();
        log_connections.close_idle();
        let _ = tokio::time::timeout(LAST_ANSWERS, last_answers).await;
    }
}

async fn serve_connection(
    stream: TcpStream,
    connection: ConnectionInfo,
    exchange: Arc<Exchange>,
    mut slot: ConnectionSlot,
) {
    let peer = connection.peer;
    // Answers are single small packets that should leave at once; without this they still arrive.
    let _ = stream.set_nodelay(true);
    let progress = slot.progress();
    let serve = async {
        let accepted = Instant::now();
        let read_timeout = exchange.read_timeout();
        let begun = match first_request::read(stream, accepted + read_timeout).await {
            Ok(begun) => begun,
            Err(error) => {
                tracing::debug!(%peer, "no request: {error}");
                return;
            }
        };
        progress.begin(begun.began);
        let rest = begun.rest;
        let stream = tokio::io::join(begun.requests, begun.answers);
        let service = service_fn(|request| {
            let (exchange, progress) = (Arc::clone(&exchange), Arc::clone(&progress));
            let held = rest.hold();
            async move { exchange.respond(request, connection, &progress, held).await }
        });
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(read_timeout)
            // A client that has said all may close its side and still read the answer.
            .half_close(true)
            // Bounds what connections hold that send long bodies or heads.
            .max_buf_size(MAX_BUFFER)
            .title_case_headers(true)
            .auto_date_header(false)
            .serve_connection(TokioIo::new(stream), service)
            .await;
        if let Err(error) = served {
            tracing::debug!(%peer, "connection ended: {error}");
        }
    };
    tokio::select! {
        () = serve => {}
        () = slot.closed() => tracing::debug!(%peer, "connection closed for another"),
    }
}
