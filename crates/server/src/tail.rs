//! The part of a message behind the announced end of its body.
//!
//! A body whose parentheses are open at its end was announced too short, or not at all. It is read
//! on until the message is complete, or until nothing more comes.
//!
//! Never uses: connections that are kept, where the bytes behind a body are the next request.

use std::time::Duration;

use bytes::Bytes;

use super::first_request::Held;

/// What follows a body that was announced too short comes with it or right after.
const PAUSE: Duration = Duration::from_millis(250);
/// A body without a length begins within this time.
const BEGINNING: Duration = Duration::from_secs(1);

/// Reads what belongs to a message behind the end of its body.
#[derive(Debug)]
pub(super) struct Tail<'a> {
    held: &'a Held,
    /// Whether the request has the length of its body.
    has_length: bool,
    parentheses: Parentheses,
}

/// The parentheses of a message so far.
#[derive(Debug, Default)]
struct Parentheses {
    n_open: usize,
    has_begun: bool,
    is_comment: bool,
}

impl<'a> Tail<'a> {
    pub fn new(held: &'a Held, has_length: bool) -> Self {
        Self {
            held,
            has_length,
            parentheses: Parentheses::default(),
        }
    }

    /// Notes bytes of the body.
    pub fn note(&mut self, bytes: &[u8]) {
        self.parentheses.note(bytes);
    }

    /// The next bytes behind the body; none where the message is complete or nothing more comes.
    pub async fn next(&mut self) -> Option<Bytes> {
        let Parentheses {
            n_open, has_begun, ..
        } = self.parentheses;
        let read = self.held.read();
        let bytes = match (self.has_length, has_begun) {
            (_, true) if n_open == 0 => return None,
            (true, false) => return None,
            (true, true) => tokio::time::timeout(PAUSE, read).await.ok()?,
            (false, false) => tokio::time::timeout(BEGINNING, read).await.ok()?,
            (false, true) => read.await,
        };
        self.note(&bytes);
        (!bytes.is_empty()).then_some(bytes)
    }
}

impl Parentheses {
    fn note(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\n' | b'\r' => self.is_comment = false,
                _ if self.is_comment => {}
                b';' => self.is_comment = true,
                b'(' => {
                    self.n_open += 1;
                    self.has_begun = true;
                }
                b')' => self.n_open = self.n_open.saturating_sub(1),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parentheses_are_counted_outside_comments_and_in_pieces() {
        let mut seen = Parentheses::default();
        seen.note(b" ) ; (\n");
        assert_eq!((seen.n_open, seen.has_begun), (0, false));
        seen.note(b"(a (b ; )");
        seen.note(b" ) \r)");
        assert_eq!((seen.n_open, seen.has_begun), (1, true));
    }
}
