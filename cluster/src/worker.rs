//! A rank that works: it obeys requests of rank 0, one after another, until there are no more.
//!
//! Invariants: each request gets one answer, also where it fails or panics; a rank without work
//! sleeps.
//!
//! Never uses: files of results.

use panza_sync::catch_panic;
use std::thread;

use anyhow::{Context, anyhow, bail};
use mpi::topology::SimpleCommunicator;

use crate::wire::{self, Pause, Tag};

/// Does work of one kind.
pub trait Obey {
    /// The answer to a request.
    ///
    /// # Errors
    /// The request cannot be obeyed.
    fn obey(&mut self, request: &[u8]) -> anyhow::Result<Vec<u8>>;

    /// Goes on for a few milliseconds with what was asked for; false where nothing is to be done.
    fn go_on(&mut self) -> bool {
        false
    }
}

/// Obeys until rank 0 has no more work. What works is made at the first request.
///
/// # Errors
/// A message cannot be read or sent.
pub fn run<W: Obey>(
    world: &SimpleCommunicator,
    make: impl FnOnce() -> anyhow::Result<W>,
) -> anyhow::Result<()> {
    let mut make = Some(make);
    let mut worker: Option<W> = None;
    let mut pause = Pause::default();
    loop {
        let Some(message) = wire::receive(world)? else {
            let goes_on = |worker: &mut W| {
                let went_on = catch_panic(|| worker.go_on());
                went_on.unwrap_or(false)
            };
            if !worker.as_mut().is_some_and(goes_on) {
                thread::sleep(pause.next());
            }
            continue;
        };
        pause.reset();
        match message.tag {
            Tag::End => return Ok(()),
            Tag::Request => {}
            Tag::Reply | Tag::Failure => bail!("expected work, found an answer"),
        }
        let answer = catch_panic(|| {
            if let Some(make) = make.take() {
                worker = Some(make()?);
            }
            let worker = worker.as_mut().context("it has failed to start")?;
            worker.obey(&message.bytes)
        });
        match answer.unwrap_or_else(|_| Err(anyhow!("a panic"))) {
            Ok(reply) => wire::send(world, message.from, Tag::Reply, &reply)?,
            Err(error) => {
                let text = format!("{error:#}");
                wire::send(world, message.from, Tag::Failure, text.as_bytes())?;
            }
        }
    }
}
