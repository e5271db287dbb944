//! Reads the head of the first request of a connection before hyper, and marks where its body ends.
//!
//! The head is read as a whole. Its first line is repaired by [`first_line`](super::first_line). By
//! its length the end of the body is known, and hyper gets the bytes up to there. What follows is
//! held until the request is answered, for two kinds of bodies that do not end there:
//!
//! - ggp-base and other game managers announce the number of characters instead of bytes, so a body
//!   with symbols outside ASCII is longer than announced;
//! - a POST without a length ends with its message, or where the client closes its side.
//!
//! [`Rest`] reads such a body on. Later requests of a connection pass as they are.
//!
//! Invariant: hyper gets all bytes in order, apart from those that [`Rest::read`] took.
//!
//! Never uses: what a body says.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker, ready};
use std::time::Instant;

use bytes::{Buf, Bytes, BytesMut};
use panza_sync::lock;
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use super::first_line;

/// Longer heads pass as they are.
const MAX_HEAD: usize = 64 * 1024;
/// Heads with more fields pass as they are. hyper refuses them too.
const MAX_FIELDS: usize = 100;
/// Bytes that are read at once behind the end of a body.
const PIECE: usize = 4096;

/// The connection as hyper has it, what follows the first request, and the time of the first byte.
pub(super) struct Begun {
    pub requests: Requests,
    pub answers: OwnedWriteHalf,
    pub rest: Rest,
    pub began: Instant,
}

/// The requests of a connection as hyper reads them.
#[derive(Debug)]
pub(super) struct Requests(Arc<Mutex<Source>>);

/// What follows the body of the first request of a connection.
#[derive(Clone, Debug)]
pub(super) struct Rest(Arc<Mutex<Source>>);

/// Lets hyper read what was held when it is dropped.
#[derive(Debug)]
pub(super) struct Held(Rest);

/// The bytes of a connection.
#[derive(Debug)]
struct Source {
    /// Bytes that were read and that nobody has got.
    ahead: BytesMut,
    stream: OwnedReadHalf,
    /// Bytes that hyper may get up to the end of the first body; no limit once it is none.
    left: Option<u64>,
    /// hyper, where it waits for what is held.
    waiting: Option<Waker>,
}

/// Reads the head of the first request of a connection.
///
/// # Errors
/// The client sends nothing until `deadline`, closes, or the connection breaks.
pub(super) async fn read(stream: TcpStream, deadline: Instant) -> io::Result<Begun> {
    tokio::time::timeout_at(deadline.into(), read_head(stream)).await?
}

async fn read_head(mut stream: TcpStream) -> io::Result<Begun> {
    let mut bytes = BytesMut::with_capacity(1024);
    let mut began = None;
    let mut n_searched = 0;
    while !is_known(&bytes, n_searched) {
        n_searched = bytes.len();
        if stream.read_buf(&mut bytes).await? == 0 {
            if bytes.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            break;
        }
        began.get_or_insert_with(Instant::now);
    }
    let ahead = match first_line::repaired(&bytes) {
        Some(repaired) => BytesMut::from(&*repaired),
        None => bytes,
    };
    let (stream, answers) = stream.into_split();
    let source = Arc::new(Mutex::new(Source {
        left: end_of_body(&ahead),
        ahead,
        stream,
        waiting: None,
    }));
    Ok(Begun {
        requests: Requests(Arc::clone(&source)),
        answers,
        rest: Rest(source),
        began: began.unwrap_or_else(Instant::now),
    })
}

/// Whether no more has to be read before hyper reads: up to the empty line that ends the head of a
/// POST, or a first line of anything else. The first `n_searched` bytes have no such end.
fn is_known(bytes: &[u8], n_searched: usize) -> bool {
    let is_post = |line: &[u8]| line.len() < 5 || line[..5].eq_ignore_ascii_case(b"POST ");
    if !is_post(bytes) {
        return bytes.contains(&b'\n') || bytes.len() >= first_line::MAX_LINE;
    }
    let fresh = &bytes[n_searched.saturating_sub(2)..];
    let has_end = |end: &[u8]| fresh.windows(end.len()).any(|bytes| bytes == end);
    has_end(b"\n\n") || has_end(b"\n\r\n") || bytes.len() >= MAX_HEAD
}

/// The bytes up to the end of the body of a POST; nothing where the head does not say it, or is no
/// sound one. A POST without a length has no body here.
fn end_of_body(bytes: &[u8]) -> Option<u64> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let Ok(httparse::Status::Complete(head)) = request.parse(bytes) else {
        return None;
    };
    if !request.method?.eq_ignore_ascii_case("POST") {
        return None;
    }
    let mut body = None;
    for field in request.headers.iter() {
        if field.name.eq_ignore_ascii_case("Transfer-Encoding") {
            return None;
        }
        if field.name.eq_ignore_ascii_case("Content-Length") {
            let length: u64 = std::str::from_utf8(field.value).ok()?.trim().parse().ok()?;
            if body.replace(length).is_some() {
                return None;
            }
        }
    }
    (head as u64).checked_add(body.unwrap_or(0))
}

impl AsyncRead for Requests {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut source = lock(&self.0);
        let Source {
            ahead,
            stream,
            left,
            waiting,
        } = &mut *source;
        if *left == Some(0) {
            *waiting = Some(context.waker().clone());
            return Poll::Pending;
        }
        let most = left.map_or(usize::MAX, |left| {
            usize::try_from(left).unwrap_or(usize::MAX)
        });
        let given = if ahead.has_remaining() {
            let given = ahead.len().min(most).min(into.remaining());
            into.put_slice(&ahead[..given]);
            ahead.advance(given);
            given
        } else {
            let before = into.filled().len();
            ready!(Pin::new(stream).poll_read(context, into))?;
            let given = (into.filled().len() - before).min(most);
            // Read all the same: a connection that is closed with unread bytes loses its answer.
            ahead.extend_from_slice(&into.filled()[before + given..]);
            into.set_filled(before + given);
            given
        };
        if let Some(left) = left {
            *left -= given as u64;
        }
        Poll::Ready(Ok(()))
    }
}

impl Rest {
    /// Holds what follows until the value is dropped.
    pub fn hold(&self) -> Held {
        Held(self.clone())
    }

    /// The next bytes behind the end of the body; none at the end of the connection.
    async fn read(&self) -> io::Result<Bytes> {
        poll_fn(|context| {
            let mut source = lock(&self.0);
            if source.left != Some(0) {
                return Poll::Ready(Ok(Bytes::new()));
            }
            if source.ahead.has_remaining() {
                return Poll::Ready(Ok(source.ahead.split().freeze()));
            }
            let mut piece = [0; PIECE];
            let mut into = ReadBuf::new(&mut piece);
            ready!(Pin::new(&mut source.stream).poll_read(context, &mut into))?;
            Poll::Ready(Ok(Bytes::copy_from_slice(into.filled())))
        })
        .await
    }
}

impl Held {
    /// As [`Rest::read`]. A connection that breaks has no more bytes.
    pub async fn read(&self) -> Bytes {
        self.0.read().await.unwrap_or_default()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut source = lock(&self.0.0);
        source.left = None;
        if let Some(waiting) = source.waiting.take() {
            waiting.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    #[test]
    fn a_post_is_read_up_to_the_empty_line_and_others_up_to_their_first() {
        for (text, is_whole) in [
            ("GET /", false),
            ("GET / HTTP/1.0\r\n", true),
            ("( INFO )\n", true),
            ("POST / HTTP/1.0\r\nA: b\r\n", false),
            ("POST / HTTP/1.0\r\nA: b\r\n\r", false),
            ("POST / HTTP/1.0\r\nA: b\r\n\r\n", true),
            ("post / HTTP/1.0\nA: b\n\n( INFO )", true),
        ] {
            // As it arrives whole, and byte after byte.
            assert_eq!(is_known(text.as_bytes(), 0), is_whole, "{text:?}");
            let pieces = (1..=text.len()).map(|end| &text.as_bytes()[..end]);
            let found = pieces.clone().any(|bytes| is_known(bytes, bytes.len() - 1));
            assert_eq!(found, is_whole, "{text:?}");
        }
        assert!(is_known(&[b'x'; first_line::MAX_LINE], 0));
    }

    #[test]
    fn the_end_of_a_body_follows_from_a_sound_head() {
        let head = "POST / HTTP/1.0\r\nA: b\r\n\r\n";
        let ends = |text: &str| end_of_body(text.as_bytes());
        assert_eq!(ends(head), Some(head.len() as u64));
        let with = |fields: &str| format!("POST / HTTP/1.1\nHost: x\n{fields}\n( INFO )");
        let eight = with("content-length:  8 \n");
        assert_eq!(ends(&eight), Some(eight.len() as u64));
        for text in [
            with("Content-Length: 8\nContent-Length: 8\n"),
            with("Content-Length: eight\n"),
            with("Content-Length: 18446744073709551615\n"),
            with("Transfer-Encoding: chunked\n"),
            "GET / HTTP/1.0\r\nContent-Length: 8\r\n\r\n".to_string(),
            "POST / HTTP/1.0\r\nContent-".to_string(),
            "\x16\x03\x01\n\n".to_string(),
        ] {
            assert_eq!(ends(&text), None, "{text:?}");
        }
    }

    #[tokio::test]
    async fn what_follows_a_body_is_held_until_it_is_let_go() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let request = b"POST / HTTP/1.0\r\nContent-Length: 4\r\n\r\n(abcd)next";
        client.write_all(request).await.unwrap();
        client.shutdown().await.unwrap();
        let deadline = Instant::now() + Duration::from_secs(120);
        let Begun {
            mut requests, rest, ..
        } = read(stream, deadline).await.unwrap();
        let mut first = vec![0; request.len() - "d)next".len()];
        requests.read_exact(&mut first).await.unwrap();
        assert!(first.ends_with(b"(abc"));
        let held = rest.hold();
        let mut later = Vec::new();
        let mut reading = Box::pin(requests.read_to_end(&mut later));
        tokio::select! {
            biased;
            _ = &mut reading => panic!("nothing is read behind the body"),
            () = std::future::ready(()) => {}
        }
        let mut beyond = Vec::new();
        loop {
            let bytes = held.read().await;
            if bytes.is_empty() {
                break;
            }
            beyond.extend_from_slice(&bytes);
        }
        assert_eq!(beyond, b"d)next");
        drop(held);
        assert_eq!(reading.await.unwrap(), 0);
    }
}
