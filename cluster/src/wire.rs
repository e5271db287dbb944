//! Messages between ranks: bytes with a tag, and waiting for them without burning a core.
//!
//! MPI waits in a loop that never sleeps. So a message is looked for, and between two looks the
//! rank sleeps: [`SHORTEST`] after a message, then twice as long each time, up to [`LONGEST`].
//!
//! Invariants: a message of more than [`MAX_BYTES`] is neither sent nor received; a message is sent
//! only to a rank that looks for one.
//!
//! Never uses: what messages mean.

use std::time::Duration;

use anyhow::ensure;
use mpi::datatype::Equivalence;
use mpi::point_to_point::{Destination, Source};
use mpi::topology::SimpleCommunicator;
use mpi::traits::Communicator;

/// Bytes of a message, at most.
pub const MAX_BYTES: usize = 256 << 20;
/// Sleep after a message.
const SHORTEST: Duration = Duration::from_micros(200);
/// Sleep of a rank that has had no message for long.
const LONGEST: Duration = Duration::from_millis(4);

/// What a message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tag {
    /// Work for a rank.
    Request,
    /// What came of it.
    Reply,
    /// Why nothing came of it, as text.
    Failure,
    /// There is no more work.
    End,
}

impl Tag {
    const ALL: [Self; 4] = [Self::Request, Self::Reply, Self::Failure, Self::End];

    fn number(self) -> i32 {
        self as i32 + 1
    }
}

/// A message that has arrived.
#[derive(Debug)]
pub struct Message {
    /// The rank that sent it.
    pub from: i32,
    pub tag: Tag,
    pub bytes: Vec<u8>,
}

/// Sends a message to a rank.
///
/// # Errors
/// It is too long.
pub fn send(world: &SimpleCommunicator, to: i32, tag: Tag, bytes: &[u8]) -> anyhow::Result<()> {
    let length = bytes.len();
    ensure!(
        length <= MAX_BYTES,
        "expected a message of at most {MAX_BYTES} bytes, found {length}"
    );
    world.process_at_rank(to).send_with_tag(bytes, tag.number());
    Ok(())
}

/// A message, if one has arrived.
///
/// # Errors
/// It is too long, or has an unknown tag.
pub fn receive(world: &SimpleCommunicator) -> anyhow::Result<Option<Message>> {
    let Some(status) = world.any_process().immediate_probe() else {
        return Ok(None);
    };
    let (from, number) = (status.source_rank(), status.tag());
    let length = usize::try_from(status.count(u8::equivalent_datatype())).unwrap_or(usize::MAX);
    ensure!(
        length <= MAX_BYTES,
        "expected a message of at most {MAX_BYTES} bytes, found {length} from rank {from}"
    );
    let tag = Tag::ALL.into_iter().find(|tag| tag.number() == number);
    let Some(tag) = tag else {
        anyhow::bail!("expected a message of this program, found tag {number} from rank {from}");
    };
    let mut bytes = vec![0; length];
    world
        .process_at_rank(from)
        .receive_into_with_tag(&mut bytes[..], number);
    Ok(Some(Message { from, tag, bytes }))
}

/// How long to sleep between two looks for messages.
#[derive(Debug)]
pub struct Pause(Duration);

impl Default for Pause {
    fn default() -> Self {
        Self(SHORTEST)
    }
}

impl Pause {
    /// The next sleep.
    pub fn next(&mut self) -> Duration {
        let pause = self.0;
        self.0 = (2 * pause).min(LONGEST);
        pause
    }

    /// Begins anew, after a message.
    pub fn reset(&mut self) {
        *self = Self::default();
    }
}
