//! Messages on a stream: headers, an empty line, and a text in JSON.
//!
//! Own code reads them, since a length in a header must not make the server allocate what it says.
//!
//! Never uses: what a message means.

use std::io::{BufRead, Read, Write};

use lsp_server::Message;
use serde_json::json;

use super::ServeError;

/// Limit on the bytes of a message. A document in JSON is longer than its text.
const MAX_BYTES: u64 = 32 << 20;
/// Limits on the bytes of a header and on the number of headers.
const MAX_HEADER: u64 = 4096;
const MAX_HEADERS: usize = 32;

/// What came.
#[derive(Debug)]
pub enum Incoming {
    /// A message.
    Message(Message),
    /// A text that is no message, and why. The next one can be read.
    Malformed(String),
}

/// The next message; nothing at the end of the input.
pub fn read(input: &mut impl BufRead) -> Result<Option<Incoming>, ServeError> {
    let Some(length) = read_length(input)? else {
        return Ok(None);
    };
    if length > MAX_BYTES {
        let skipped = std::io::copy(&mut input.take(length), &mut std::io::sink());
        skipped.map_err(ServeError::Read)?;
        let why = format!("a message has {length} bytes, at most {MAX_BYTES} are taken");
        return Ok(Some(Incoming::Malformed(why)));
    }
    let mut text = Vec::new();
    input
        .take(length)
        .read_to_end(&mut text)
        .map_err(ServeError::Read)?;
    if (text.len() as u64) < length {
        return Err(ServeError::Framing("it ends inside a message".into()));
    }
    Ok(Some(match serde_json::from_slice(&text) {
        Ok(message) => Incoming::Message(message),
        Err(error) => Incoming::Malformed(format!("this is no message: {error}")),
    }))
}

/// The length that the headers give; nothing at the end of the input.
fn read_length(input: &mut impl BufRead) -> Result<Option<u64>, ServeError> {
    let mut length = None;
    for n_read in 0..MAX_HEADERS {
        let mut line = Vec::new();
        let read = input.take(MAX_HEADER).read_until(b'\n', &mut line);
        if read.map_err(ServeError::Read)? == 0 {
            return match n_read {
                0 => Ok(None),
                _ => Err(ServeError::Framing("it ends inside the headers".into())),
            };
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        if line.is_empty() {
            let missing = || ServeError::Framing("a message has no Content-Length".into());
            return length.ok_or_else(missing).map(Some);
        }
        let Some((name, value)) = line.split_once(':') else {
            let shown: String = line.chars().take(60).collect();
            let why = format!("expected `Content-Length: BYTES`, found `{shown}`");
            return Err(ServeError::Framing(why));
        };
        if name.trim().eq_ignore_ascii_case("content-length") {
            let value = value.trim().parse();
            let wrong = |_| ServeError::Framing("the Content-Length is no number".into());
            length = Some(value.map_err(wrong)?);
        }
    }
    let why = format!("a message has more than {MAX_HEADERS} headers");
    Err(ServeError::Framing(why))
}

/// Writes a message.
pub fn write(output: &mut impl Write, message: &Message) -> Result<(), ServeError> {
    Ok(message.write(output)?)
}

/// Answers to a text that is no message, so that it is not known which request it was.
pub fn write_unread(output: &mut impl Write, why: &str) -> Result<(), ServeError> {
    let code = lsp_server::ErrorCode::ParseError as i32;
    let answer = json!({
        "jsonrpc": "2.0",
        "id": null,
        "error": { "code": code, "message": why },
    });
    let text = answer.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    Ok(output.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(text: &str) -> Vec<String> {
        let mut input = text.as_bytes();
        let mut found = Vec::new();
        loop {
            found.push(match read(&mut input) {
                Ok(Some(Incoming::Message(Message::Notification(it)))) => it.method,
                Ok(Some(other)) => format!("{other:?}"),
                Ok(None) => return found,
                Err(error) => error.to_string(),
            });
            if found.len() > 5 {
                return found;
            }
        }
    }

    #[test]
    fn messages_are_read_one_after_another_and_bad_ones_are_skipped() {
        let message = |text: &str| format!("Content-Length: {}\r\n\r\n{text}", text.len());
        let first = message(r#"{"jsonrpc":"2.0","method":"a"}"#);
        let bad = message("{oops");
        let last = message(r#"{"method":"b"}"#).replace("\r\n\r\n", "\r\nContent-Type: x\r\n\r\n");
        let found = read_all(&format!("{first}{bad}{last}"));
        assert_eq!((&*found[0], &*found[2]), ("a", "b"));
        assert!(found[1].starts_with("Malformed(\"this is no message"));
    }

    #[test]
    fn what_is_no_protocol_is_said_to_be_none() {
        for (text, why) in [
            (
                "(role white)\n",
                "expected `Content-Length: BYTES`, found `(role white)`",
            ),
            ("Content-Length: x\r\n\r\n", "is no number"),
            ("Content-Type: x\r\n\r\n", "no Content-Length"),
            ("Content-Length: 9\r\n\r\n{}", "ends inside a message"),
            ("Content-Length: 9\r\n", "ends inside the headers"),
            (
                "Content-Length: 99999999999\r\n\r\n{}",
                "at most 33554432 are taken",
            ),
            ("a: b\n".repeat(40).as_str(), "more than 32 headers"),
        ] {
            let found = read_all(text);
            assert!(found[0].contains(why), "{text}: {found:?}");
        }
        assert_eq!(read_all(""), [""; 0]);
    }
}
