//! A rank that works: it obeys requests of rank 0, one after another, until there are no more.
//!
//! Invariants: each request gets one answer, also where it fails or panics; a rank without work
//! sleeps.
//!
//! Never uses: files of results.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use anyhow::{anyhow, bail};
use mpi::topology::SimpleCommunicator;

use crate::wire::{self, Pause, Tag};

/// Does work of one kind.
pub trait Obey {
    /// The answer to a request.
    ///
    /// # Errors
    /// The request cannot be obeyed.
    fn obey(&mut self, request: &[u8]) -> anyhow::Result<Vec<u8>>;
}

/// Obeys until rank 0 has no more work. What works is made at the first request.
///
/// # Errors
/// A message cannot be read or sent.
pub fn run<W: Obey>(
    world: &SimpleCommunicator,
    mut make: impl FnMut() -> anyhow::Result<W>,
) -> anyhow::Result<()> {
    let mut worker: Option<W> = None;
    let mut pause = Pause::default();
    loop {
        let Some(message) = wire::receive(world)? else {
            thread::sleep(pause.next());
            continue;
        };
        pause.reset();
        match message.tag {
            Tag::End => return Ok(()),
            Tag::Request => {}
            Tag::Reply | Tag::Failure => bail!("expected work, found an answer"),
        }
        let answer = catch_unwind(AssertUnwindSafe(|| {
            if worker.is_none() {
                worker = Some(make()?);
            }
            match &mut worker {
                Some(worker) => worker.obey(&message.bytes),
                None => bail!("nothing that works"),
            }
        }));
        match answer.unwrap_or_else(|_| Err(anyhow!("a panic"))) {
            Ok(reply) => wire::send(world, message.from, Tag::Reply, &reply)?,
            Err(error) => {
                let text = format!("{error:#}");
                wire::send(world, message.from, Tag::Failure, text.as_bytes())?;
            }
        }
    }
}
