//! A language server for rulesheets: diagnostics, formatting, and what editors ask about names.
//!
//! [`serve`] reads messages of the Language Server Protocol and answers them, one at a time.
//! Documents are analysed as a whole (`crate::language`) when they are opened and a
//! moment after their last change. One without errors that rests for a second is played on another
//! thread (`trials`), and its diagnostics are sent again with what was found.
//!
//! Invariants: a message that is not understood costs that message; input that is no message at all
//! ends the server with an error. Messages, documents and their number are bounded.
//!
//! Never uses: files, the network, the meaning of a game.

#![expect(
    clippy::disallowed_methods,
    reason = "documents are analysed and played a moment after their last change"
)]

mod answers;
mod documents;
mod session;
mod transport;
mod trials;

use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, at, bounded, never, select};
use panza_gdl::{Diagnostic, Rules};

use session::{Flow, Session};
use transport::Incoming;
use trials::Trials;

/// Time between two looks at the process of the client.
const LOOK: Duration = Duration::from_secs(3);
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

/// What a reader of the input gives: a message, or nothing at its end.
type Input = Result<Option<Incoming>, ServeError>;

/// What the server does something about.
enum Event {
    /// Something was read. The reader ends after the end of the input and after an error.
    Read(Input),
    /// A trial has ended with these findings.
    Found(Vec<Diagnostic>),
    /// Something of the session is due.
    Due,
}

/// Serves one client until it says `exit`, ends its input, or its process is gone. Returns whether
/// it said `shutdown` first, as it should.
///
/// `is_running` tells whether there is a process of a number.
///
/// `play` plays random games of rules without errors and says what is wrong with them. It runs on
/// another thread, one call at a time, and ends within some seconds and soon after the flag is set.
///
/// # Errors
/// The input is not the protocol, or the client is gone.
pub fn serve(
    input: impl BufRead + Send + 'static,
    mut output: impl Write,
    play: impl Fn(&Rules, &Arc<AtomicBool>) -> Vec<Diagnostic> + Send + Sync + 'static,
    is_running: impl Fn(u32) -> bool,
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
    let (sender, found) = bounded(1);
    let mut session = Session::new(Trials::new(Arc::new(play), sender));
    // A client in another namespace has a process that is not there from the start.
    let mut client: Option<u32> = None;
    let mut looked = Instant::now();
    loop {
        let mut flow = Flow::Continue;
        let look = client.map(|_| looked + LOOK);
        let due = session.due().into_iter().chain(look).min();
        match next(&inbox, &found, due) {
            Event::Due => {
                let now = Instant::now();
                session.work_due(now);
                if look.is_some_and(|look| look <= now) {
                    looked = now;
                    if !client.is_none_or(&is_running) {
                        return Ok(false);
                    }
                }
            }
            Event::Found(found) => session.take_findings(found),
            Event::Read(Ok(Some(Incoming::Message(message)))) => flow = session.take(message),
            Event::Read(Ok(Some(Incoming::Malformed(why)))) => {
                transport::write_unread(&mut output, &why)?;
            }
            Event::Read(Ok(None)) => return Ok(false),
            Event::Read(Err(error)) => return Err(error),
        }
        client = client.or(session.process.take().filter(|&id| is_running(id)));
        for message in session.answers.drain(..) {
            transport::write(&mut output, &message)?;
        }
        if let Flow::Exit { was_shut_down } = flow {
            return Ok(was_shut_down);
        }
    }
}

/// Waits for the next event.
fn next(inbox: &Receiver<Input>, found: &Receiver<Vec<Diagnostic>>, due: Option<Instant>) -> Event {
    let due = due.map_or_else(never, at);
    select! {
        // A reader that is gone has read the end.
        recv(inbox) -> read => Event::Read(read.unwrap_or(Ok(None))),
        // The session holds a sender.
        recv(found) -> found => Event::Found(found.unwrap_or_default()),
        recv(due) -> _ => Event::Due,
    }
}

#[cfg(test)]
mod tests;
