//! What the two sides of a search have in common, and the pushes on the way to a state.

use super::super::super::board::{Direction, NO_SQUARE, Push};
use super::super::configurations::bit;
use super::super::states::State;
use super::Side;

impl Side<'_> {
    /// Tells both sides which new configurations of this side the other side knows; whether both
    /// have visited the same state of one.
    pub(in super::super) fn link(&mut self, other: &mut Self) -> bool {
        let mut have_met = false;
        for number in self.linked..self.notes.len() {
            let record = self.configurations.record(number);
            let Some(twin) = other.configurations.find(&record[..self.words]) else {
                continue;
            };
            let visited = self.words..2 * self.words;
            let others = &other.configurations.record(twin)[visited.clone()];
            have_met |= record[visited]
                .iter()
                .zip(others)
                .any(|(one, other)| one & other != 0);
            self.configurations.record_mut(number)[2 * self.words] = twin as u64 + 1;
            other.configurations.record_mut(twin)[2 * self.words] = number as u64 + 1;
        }
        self.linked = self.notes.len();
        have_met
    }

    /// The other side's number for the configuration of a state.
    pub(in super::super) fn twin(&self, state: State) -> Option<usize> {
        let record = self.configurations.record(state.configuration());
        (record[2 * self.words] as usize).checked_sub(1)
    }

    /// Whether the other side has visited a state of this round, in a configuration that it knew
    /// before.
    pub(in super::super) fn meets(&self, other: &Self) -> bool {
        self.common.iter().any(|&state| {
            let (word, bit) = bit(state.player());
            self.twin(state)
                .is_some_and(|twin| other.configurations.record(twin)[self.words + word] & bit != 0)
        })
    }

    /// The pushes from a kept state back to the start of this side.
    pub(in super::super) fn pushes_to(&self, mut number: usize) -> Vec<Push> {
        let mut pushes = Vec::new();
        while number != 0 {
            let state = self.kept[number];
            number = state.push();
            let after = self.configurations.record(state.configuration());
            let before = self
                .configurations
                .record(self.kept[number].configuration());
            // The box that the other configuration lacks is one square from the player.
            let moved = |&direction: &Direction| {
                let square = self.query.board.next(state.player(), direction);
                square != NO_SQUARE && {
                    let (word, mark) = bit(square);
                    after[word] & !before[word] & mark != 0
                }
            };
            if let Some(direction) = Direction::ALL.into_iter().find(moved) {
                let square = match self.is_forward {
                    true => state.player(),
                    false => self.query.board.next(state.player(), direction),
                };
                pushes.push(Push { square, direction });
            }
        }
        pushes
    }
}
