//! Queued states, 8 bytes each, in spans of equal cost.

use super::super::board::Square;
use super::configurations::LIMIT;

/// A queued state: configuration in the upper 26 bits, player in 12, and in the lower 26 the number
/// of the last state right after a push.
#[derive(Clone, Copy, Debug)]
pub(super) struct State(u64);

impl State {
    #[inline]
    pub(super) fn new(configuration: usize, player: Square, push: usize) -> Self {
        Self((configuration as u64) << 38 | u64::from(player) << 26 | push as u64)
    }

    #[inline]
    pub(super) fn configuration(self) -> usize {
        (self.0 >> 38) as usize
    }

    #[inline]
    pub(super) fn player(self) -> Square {
        (self.0 >> 26) as Square & 0xfff
    }

    /// The number of the last state right after a push.
    #[inline]
    pub(super) fn push(self) -> usize {
        self.0 as usize & (LIMIT - 1)
    }

    #[inline]
    pub(super) fn with_player(self, player: Square) -> Self {
        Self(self.0 & !(0xfff << 26) | u64::from(player) << 26)
    }
}

/// States in spans. Each span has a number, of pushes or of moves, and its end.
#[derive(Debug, Default)]
pub(super) struct Spans {
    pub(super) states: Vec<State>,
    pub(super) ends: Vec<(u32, usize)>,
}

impl Spans {
    /// All states with the numbers of their spans.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, State)> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|&(_, end)| end));
        (self.ends.iter().zip(starts)).flat_map(|(&(number, end), start)| {
            self.states[start..end]
                .iter()
                .map(move |&state| (number, state))
        })
    }

    pub(super) fn clear(&mut self) {
        self.states.clear();
        self.ends.clear();
    }

    /// Ends a span unless it is empty.
    pub(super) fn end(&mut self, number: u32) {
        let start = self.ends.last().map_or(0, |&(_, end)| end);
        if self.states.len() > start {
            self.ends.push((number, self.states.len()));
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.states.capacity() * 8
    }
}
