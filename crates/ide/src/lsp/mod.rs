//! A language server for rulesheets: diagnostics, formatting, and what editors ask about names.
//!
//! [`serve`] reads messages of the Language Server Protocol and answers them, one at a time.
//! Documents are analysed as a whole (`crate::language`) when they are opened and a
//! moment after their last change.
//!
//! Invariants: a message that is not understood costs that message; input that is no message at all
//! ends the server with an error. Messages, documents and their number are bounded.
//!
//! Never uses: files, the network, the meaning of a game.

#![expect(
    clippy::disallowed_methods,
    reason = "documents are analysed a moment after their last change"
)]

mod answers;
mod documents;
mod session;
mod transport;

use std::io::{self, BufRead, Write};
use std::time::Instant;

use crossbeam::channel::{RecvTimeoutError, bounded};

use session::{Flow, Session};
use transport::Incoming;

/// Messages that wait, at most.
const MAX_WAITING: usize = 2;

/// Why the server ends before it is asked to.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The input is no sequence of messages.
    #[error(
        "the input is not the Language Server Protocol: {0}; editors start this command and speak \
         to it, see docs/editing.md"
    )]
    Framing(String),
    /// The input cannot be read.
    #[error("a message could not be read: {0}")]
    Read(io::Error),
    /// The output cannot be written.
    #[error("an answer could not be written: {0}")]
    Write(#[from] io::Error),
}

/// Serves one client until it says `exit` or ends its input. Returns whether it said `shutdown`
/// first, as it should.
///
/// # Errors
/// The input is not the protocol, or the client is gone.
pub fn serve(
    input: impl BufRead + Send + 'static,
    mut output: impl Write,
) -> Result<bool, ServeError> {
    let (sender, inbox) = bounded(MAX_WAITING);
    // It ends with its input, or with the first message that nobody takes.
    std::thread::spawn(move || {
        let mut input = input;
        loop {
            let read = transport::read(&mut input);
            let is_last = !matches!(read, Ok(Some(_)));
            if sender.send(read).is_err() || is_last {
                return;
            }
        }
    });
    let mut session = Session::default();
    loop {
        let received = match session.due() {
            Some(due) => match inbox.recv_deadline(due) {
                Ok(received) => Some(received),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Ok(false),
            },
            None => match inbox.recv() {
                Ok(received) => Some(received),
                Err(_) => return Ok(false),
            },
        };
        let mut flow = Flow::Continue;
        match received {
            None => session.publish_due(Instant::now()),
            Some(Ok(Some(Incoming::Message(message)))) => flow = session.take(message),
            Some(Ok(Some(Incoming::Malformed(why)))) => {
                transport::write_unread(&mut output, &why)?;
            }
            Some(Ok(None)) => return Ok(false),
            Some(Err(error)) => return Err(error),
        }
        for message in session.answers.drain(..) {
            transport::write(&mut output, &message)?;
        }
        if let Flow::Exit { was_shut_down } = flow {
            return Ok(was_shut_down);
        }
    }
}
