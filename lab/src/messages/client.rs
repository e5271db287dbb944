//! HTTP as careful and careless clients write it: requests as bytes, and answers read from a
//! connection that may be kept.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::ops::Range;
use std::time::Duration;

/// An answer that takes longer counts as none.
const PATIENCE: Duration = Duration::from_secs(30);

/// A connection, and what was read beyond the last answer.
pub struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
}

/// A request of the page to play on, with a body of JSON.
pub fn post_to(target: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "POST {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         panza-page: 1\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

/// A request with this body. `is_kept` asks for keep-alive.
pub fn post(body: &[u8], is_kept: bool) -> Vec<u8> {
    let kept = if is_kept { "keep-alive" } else { "close" };
    let length = body.len();
    let head = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/acl\r\nConnection: {kept}\r\n\
         Content-Length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

impl Connection {
    pub fn new(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            read: Vec::new(),
        })
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Says that nothing more is written.
    pub fn finish(&self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)
    }

    /// Reads one answer, and returns its status.
    pub fn answer(&mut self) -> io::Result<u16> {
        self.answer_text().map(|(status, _)| status)
    }

    /// Reads one answer, and returns its status and body.
    pub fn answer_text(&mut self) -> io::Result<(u16, String)> {
        loop {
            if let Some((status, body)) = complete(&self.read)? {
                let text = String::from_utf8_lossy(&self.read[body.clone()]).into_owned();
                self.read.drain(..body.end);
                return Ok((status, text));
            }
            if self.more()? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Reads up to the end, and returns the status of the first answer; none where there is none.
    pub fn read_to_end(&mut self) -> io::Result<Option<u16>> {
        loop {
            match self.more() {
                Ok(0) => break,
                Ok(_) => {}
                // The server closes without reading what it refuses.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break,
                Err(error) => return Err(error),
            }
        }
        if self.read.is_empty() {
            return Ok(None);
        }
        status(&self.read).map(Some)
    }

    fn more(&mut self) -> io::Result<usize> {
        let mut piece = [0; 1 << 14];
        let length = self.stream.read(&mut piece)?;
        self.read.extend_from_slice(&piece[..length]);
        Ok(length)
    }
}

fn status(answer: &[u8]) -> io::Result<u16> {
    let line = answer.split(|&byte| byte == b'\r').next();
    let line = String::from_utf8_lossy(line.unwrap_or_default());
    let mut words = line.split(' ');
    let is_http = words.next().is_some_and(|word| word.starts_with("HTTP/1."));
    let status = words.next().and_then(|word| word.parse().ok());
    match status.filter(|_| is_http) {
        Some(status) => Ok(status),
        None => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            line.into_owned(),
        )),
    }
}

/// The status of the first answer and the place of its body, once all of it is there.
fn complete(answer: &[u8]) -> io::Result<Option<(u16, Range<usize>)>> {
    let Some(head) = answer.windows(4).position(|end| end == b"\r\n\r\n") else {
        return Ok(None);
    };
    let lines = String::from_utf8_lossy(&answer[..head]).to_ascii_lowercase();
    let length = lines
        .split("\r\n")
        .find_map(|line| line.strip_prefix("content-length: "));
    let length = length.and_then(|length| length.parse::<usize>().ok());
    let Some(length) = length else {
        let text = "an answer without a length";
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    };
    let body = head + 4..head + 4 + length;
    Ok((answer.len() >= body.end).then_some((status(answer)?, body)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_complete_with_their_bodies() {
        let answer = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 3\r\n\r\nabcHTTP";
        assert_eq!(complete(answer).unwrap(), Some((400, 47..50)));
        assert_eq!(complete(&answer[..49]).unwrap(), None);
        assert_eq!(complete(&answer[..30]).unwrap(), None);
        assert!(complete(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
        assert!(complete(b"ICY 200 OK\r\nContent-Length: 0\r\n\r\n").is_err());
    }
}
