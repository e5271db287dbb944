//! One request to a player and its answer, over the HTTP of game managers.
//!
//! Each request has a connection of its own: an HTTP/1.0 POST whose body is one s-expression. As in
//! ggp-base's GameServer, the clock of a request starts when the connection is established, and a
//! move counts whatever the status of its answer is. Connecting has a time limit of its own.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName};
use hyper::{Method, Request, Uri, Version};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Longer answers are refused.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// Where a player listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Address {
    /// Name or number of the host; IPv6 numbers without brackets.
    pub host: String,
    pub port: u16,
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(out, "http://[{}]:{}", self.host, self.port)
        } else {
            write!(out, "http://{}:{}", self.host, self.port)
        }
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("`{text}` is not an address; expected http://HOST:PORT");
        let uri: Uri = text.parse().map_err(|_| expected())?;
        let is_plain =
            uri.scheme_str() == Some("http") && uri.path() == "/" && uri.query().is_none();
        match (uri.host(), uri.port_u16()) {
            (Some(host), Some(port)) if is_plain && !host.is_empty() && port > 0 => Ok(Self {
                host: host.trim_matches(['[', ']']).to_string(),
                port,
            }),
            _ => Err(expected()),
        }
    }
}

impl From<std::net::SocketAddr> for Address {
    fn from(address: std::net::SocketAddr) -> Self {
        Self {
            host: address.ip().to_string(),
            port: address.port(),
        }
    }
}

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoAnswer {
    Timeout,
    /// No connection, a broken one, or something that is not HTTP.
    Connection(String),
}

/// What a player answers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reply {
    /// The body, without white space around it.
    pub text: String,
    /// Whether its HTTP status says that the player failed.
    pub is_failure: bool,
}

/// Sends one request and waits for the answer. `players`
/// go into a header as Tiltyard sends it, unless they are empty.
///
/// # Errors
/// No connection within `connect`, none that holds, or no whole answer within `clock` of
/// connecting.
pub async fn ask(
    address: &Address,
    receiver: &str,
    players: &str,
    body: String,
    connect: Duration,
    clock: Duration,
) -> Result<Reply, NoAnswer> {
    let connecting = TcpStream::connect((address.host.as_str(), address.port));
    let stream = match timeout(connect, connecting).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return Err(NoAnswer::Connection(format!("no connection: {error}"))),
        // A timeout in ggp-base too.
        Err(_) => return Err(NoAnswer::Timeout),
    };
    // Without this the last part of a request may wait for an acknowledgement.
    let _ = stream.set_nodelay(true);
    match timeout(clock, exchange(stream, address, receiver, players, body)).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(NoAnswer::Connection(error)),
        Err(_) => Err(NoAnswer::Timeout),
    }
}

/// Ends the task of a connection when its answer is no longer awaited.
struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn exchange(
    stream: TcpStream,
    address: &Address,
    receiver: &str,
    players: &str,
    body: String,
) -> Result<Reply, String> {
    let mut request = Request::builder()
        .method(Method::POST)
        .uri("/")
        .version(Version::HTTP_10)
        .header(ACCEPT, "text/delim")
        .header(HOST, &address.host)
        .header(HeaderName::from_static("sender"), "GAMESERVER")
        .header(HeaderName::from_static("receiver"), receiver)
        .header(CONTENT_TYPE, "text/acl")
        .header(CONTENT_LENGTH, body.len());
    if !players.is_empty() {
        request = request.header(HeaderName::from_static("ggp-match-players"), players);
    }
    let request = request
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| format!("no request: {error}"))?;
    let (mut sender, connection) = http1::Builder::new()
        .title_case_headers(true)
        .ignore_invalid_headers_in_responses(true)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(describe)?;
    let _driver = Driver(tokio::spawn(async move {
        // Its errors are those of the answer too.
        let _ = connection.await;
    }));
    let response = sender.send_request(request).await.map_err(describe)?;
    let status = response.status();
    let body = Limited::new(response.into_body(), MAX_ANSWER_BYTES)
        .collect()
        .await
        .map_err(|error| format!("broken answer: {error}"))?;
    Ok(Reply {
        text: String::from_utf8_lossy(&body.to_bytes()).trim().to_string(),
        is_failure: status.is_client_error() || status.is_server_error(),
    })
}

fn describe(error: hyper::Error) -> String {
    if error.is_parse() {
        format!("the answer is not HTTP: {error}")
    } else if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
        "closed without an answer".to_string()
    } else {
        format!("broken connection: {error}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    #[test]
    fn addresses_are_read_and_shown() {
        for text in [
            "http://127.0.0.1:9147",
            "http://player.example:80",
            "http://[::1]:9147",
        ] {
            assert_eq!(
                text.parse::<Address>().map(|address| address.to_string()),
                Ok(text.into())
            );
        }
        for text in [
            "",
            "random",
            "127.0.0.1:1",
            "http://h",
            "https://h:1",
            "http://h:1/x",
            "http://:1",
        ] {
            let error = text.parse::<Address>().unwrap_err();
            assert!(
                error.ends_with("expected http://HOST:PORT"),
                "{text}: {error}"
            );
        }
    }

    /// What the player saw, and what came back.
    async fn exchange_with(
        answer: &'static [u8],
        clock: Duration,
    ) -> (String, Result<Reply, NoAnswer>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = Address::from(listener.local_addr().unwrap());
        let player = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut seen = Vec::new();
            while !seen.ends_with(b"( INFO )") {
                assert!(stream.read_buf(&mut seen).await.unwrap() > 0);
            }
            stream.write_all(answer).await.unwrap();
            if answer.ends_with(b"...") {
                // Holds the connection until the manager gives up.
                let _ = stream.read_buf(&mut Vec::new()).await;
            }
            String::from_utf8(seen).unwrap()
        });
        let ten_seconds = Duration::from_secs(10);
        let answer = ask(
            &address,
            "Sancho",
            "",
            "( INFO )".into(),
            ten_seconds,
            clock,
        )
        .await;
        (player.await.unwrap(), answer)
    }

    fn reply(text: &str, is_failure: bool) -> Reply {
        Reply {
            text: text.into(),
            is_failure,
        }
    }

    const LONG: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn the_request_is_what_players_are_used_to() {
        let (seen, answer) = exchange_with(
            b"HTTP/1.0 200 OK\nContent-type: text/acl\nContent-length: 4\n\nnoop",
            LONG,
        )
        .await;
        assert_eq!(
            seen,
            "POST / HTTP/1.0\r\nAccept: text/delim\r\nHost: 127.0.0.1\r\nSender: GAMESERVER\r\n\
             Receiver: Sancho\r\nContent-Type: text/acl\r\nContent-Length: 8\r\n\r\n( INFO )"
        );
        assert_eq!(answer, Ok(reply("noop", false)));
    }

    #[tokio::test]
    async fn an_answer_without_a_length_ends_with_the_connection() {
        let (_, answer) =
            exchange_with(b"HTTP/1.0 400 Bad Request\r\n\r\n (mark 1 1)\n", LONG).await;
        assert_eq!(answer, Ok(reply("(mark 1 1)", true)));
    }

    #[tokio::test]
    async fn what_is_no_answer_is_told_apart() {
        let (_, answer) = exchange_with(b"", LONG).await;
        assert_eq!(
            answer,
            Err(NoAnswer::Connection("closed without an answer".into()))
        );
        let (_, answer) = exchange_with(b"\x00\x01garbage\r\n\r\n", LONG).await;
        assert!(
            matches!(&answer, Err(NoAnswer::Connection(why)) if why.contains("not HTTP")),
            "{answer:?}"
        );
        let (_, answer) =
            exchange_with(b"HTTP/1.0 200 OK\r\nContent-length: 9\r\n\r\nno", LONG).await;
        assert!(matches!(answer, Err(NoAnswer::Connection(_))), "{answer:?}");
        let slow: &[u8] = b"HTTP/1.0 200 OK\r\nContent-length: 9\r\n\r\nno...";
        let (_, answer) = exchange_with(slow, Duration::from_millis(50)).await;
        assert_eq!(answer, Err(NoAnswer::Timeout));
    }

    #[tokio::test]
    async fn nobody_there_is_a_connection_error() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = Address::from(listener.local_addr().unwrap());
        drop(listener);
        let answer = ask(&address, "", "", "( INFO )".into(), LONG, LONG).await;
        assert!(matches!(answer, Err(NoAnswer::Connection(_))), "{answer:?}");
    }
}
