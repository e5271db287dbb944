//! What training says to other processes that play for it: orders, and their replies.
//!
//! An order is bytes: the length of a header, the header as JSON, and numbers of 4 bytes. Members
//! learn together ([`Team`]), and play pairs of games of a test.
//!
//! Invariant: bytes that are no order or reply give an error, whatever they are.
//!
//! Never uses: how members are reached, what they do with an order.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::notes::evaluation_note;
use super::parameters::Parameters;
use panza_learning::Evaluation;
use panza_learning::team::{Part, Share, Team};
use panza_machine::GameInfo;

/// Time of a member beyond that of its order.
const REPLY_TIME: Duration = Duration::from_secs(2);
/// Time to begin, in which a member reads weights.
const BEGIN_TIME: Duration = Duration::from_secs(10);

/// Other processes that play for a training.
pub trait Members: Sync + Debug {
    /// How many there are.
    fn count(&self) -> usize;

    /// The reply of a member, from 0, to an order; `None` if it fails or is late.
    fn ask(&self, member: usize, order: &[u8], timeout: Duration) -> Option<Vec<u8>>;

    /// The same for all members at once, each with an order of its own.
    fn ask_all(&self, orders: Vec<Vec<u8>>, timeout: Duration) -> Vec<Option<Vec<u8>>>;
}

/// What a member is to do.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Order {
    /// Begin to learn with this evaluation.
    Learn {
        /// The number of the facts and their order, see [`facts_hash`].
        facts: u64,
        evaluation: Value,
        games: usize,
        seed: u64,
        openings: Vec<Vec<u64>>,
    },
    /// Play and train for a part; numbers follow.
    Part { seconds: f64, is_last: bool },
    /// Prepare for a test of the first evaluation against the second, or against none.
    Test {
        facts: u64,
        test: u64,
        evaluation: Value,
        best: Option<Value>,
        parameters: Parameters,
    },
    /// Play a pair of games of the test from this position, for so long at most.
    Pair {
        test: u64,
        opening: Vec<u64>,
        number: u64,
        seconds: f64,
    },
}

/// What a member answers.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    Ready,
    /// Numbers follow.
    Share {
        games: usize,
        moves: u64,
        samples: u64,
    },
    /// The games of a pair and the points of the first evaluation; none if time ran out.
    Pair(Option<(u32, f32)>),
}

/// An order or a reply with numbers as bytes.
pub(super) fn encoded(header: &impl Serialize, numbers: &[f32]) -> Vec<u8> {
    // Neither has keys that are no strings.
    let header = serde_json::to_vec(header).unwrap_or_default();
    let mut bytes = Vec::with_capacity(4 + header.len() + 4 * numbers.len());
    bytes.extend((header.len() as u32).to_le_bytes());
    bytes.extend(header);
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    bytes
}

/// The order or reply in bytes, with its numbers. `None` for other bytes.
pub(super) fn decoded<T: DeserializeOwned>(bytes: &[u8]) -> Option<(T, Vec<f32>)> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (header, numbers) = rest.split_at_checked(length)?;
    let numbers = numbers.chunks(4);
    let numbers = numbers.map(|number| Some(f32::from_le_bytes(number.try_into().ok()?)));
    let numbers = numbers.collect::<Option<_>>()?;
    Some((serde_json::from_slice(header).ok()?, numbers))
}

/// A hash of the facts in their order: states go from process to process as bits.
pub fn facts_hash(info: &dyn GameInfo) -> u64 {
    // FNV-1a; the result must be the same in each process.
    let facts = info.facts().unwrap_or_default();
    let bytes = facts.iter().flat_map(|fact| fact.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Members that learn together.
pub(super) struct LearningTeam<'a> {
    pub members: &'a dyn Members,
    pub info: &'a dyn GameInfo,
}

impl Team for LearningTeam<'_> {
    fn begin(&self, evaluation: &Evaluation, games: usize, seed: u64, openings: &[Vec<u64>]) {
        let note = evaluation_note(self.info, evaluation, games, None);
        let orders = (0..self.members.count()).map(|member| {
            let order = Order::Learn {
                facts: facts_hash(self.info),
                evaluation: note.clone(),
                games,
                seed: seed ^ (member as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15),
                openings: openings.to_vec(),
            };
            encoded(&order, &[])
        });
        self.members.ask_all(orders.collect(), BEGIN_TIME);
    }

    fn play(&self, part: &Part) -> Vec<Share> {
        let order = Order::Part {
            seconds: part.time.as_secs_f64(),
            is_last: part.is_last,
        };
        let order = encoded(&order, &part.numbers);
        let orders = vec![order; self.members.count()];
        let replies = self.members.ask_all(orders, 2 * part.time + REPLY_TIME);
        let shares = replies.iter().flatten().filter_map(|reply| {
            let (reply, numbers) = decoded(reply)?;
            match reply {
                Reply::Share {
                    games,
                    moves,
                    samples,
                } => Some(Share {
                    numbers,
                    games,
                    moves,
                    samples,
                }),
                Reply::Ready | Reply::Pair(_) => None,
            }
        });
        shares.collect()
    }
}

/// A test that members play.
pub(super) struct TestTeam<'a> {
    members: &'a dyn Members,
    test: u64,
}

impl<'a> TestTeam<'a> {
    /// Tells all members what is tested.
    pub fn begin(
        members: &'a dyn Members,
        info: &dyn GameInfo,
        tested: &Evaluation,
        best: Option<&Evaluation>,
        parameters: Parameters,
    ) -> Self {
        static TESTS: AtomicU64 = AtomicU64::new(0);
        let test = TESTS.fetch_add(1, Ordering::Relaxed);
        let note = |evaluation| evaluation_note(info, evaluation, 0, None);
        let order = Order::Test {
            facts: facts_hash(info),
            test,
            evaluation: note(tested),
            best: best.map(note),
            parameters,
        };
        let orders = vec![encoded(&order, &[]); members.count()];
        members.ask_all(orders, BEGIN_TIME);
        Self { members, test }
    }

    /// The games and the points of a pair that a member plays. `None` if time runs out, or if the
    /// member fails.
    pub fn pair(
        &self,
        member: usize,
        opening: Vec<u64>,
        number: u64,
        time: Duration,
    ) -> Option<(u32, f32)> {
        let order = Order::Pair {
            test: self.test,
            opening,
            number,
            seconds: time.as_secs_f64(),
        };
        let order = encoded(&order, &[]);
        let reply = self.members.ask(member, &order, time + REPLY_TIME)?;
        match decoded(&reply)?.0 {
            Reply::Pair(pair) => {
                pair.filter(|&(games, points)| games > 0 && (0.0..=games as f32).contains(&points))
            }
            Reply::Ready | Reply::Share { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_come_back_and_other_bytes_do_not() {
        let order = Order::Part {
            seconds: 0.5,
            is_last: true,
        };
        let bytes = encoded(&order, &[1.5, -2.0]);
        let (read, numbers) = decoded::<Order>(&bytes).unwrap();
        assert!(matches!(read, Order::Part { is_last: true, .. }));
        assert_eq!(numbers, [1.5, -2.0]);
        for length in 0..bytes.len() - 4 {
            // Without one number it is an order again.
            let is_order = decoded::<Order>(&bytes[..length]).is_some();
            assert_eq!(is_order, length == bytes.len() - 8, "{length}");
        }
        assert!(decoded::<Order>(&[0xFF; 64]).is_none());
        assert!(decoded::<Reply>(&bytes).is_none());
    }
}
