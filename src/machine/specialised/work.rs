//! What a layout costs in play: whoever compiles a game weighs one layout against another by it.
//!
//! The positions of some games are played through and what the engine would do is counted, which
//! needs no clock and is always the same.

use super::layout::{NO_ROW, SpecialisedLayout};
use super::run::{SpecialisedCounters, place_of};
use crate::machine::counter::CounterMachine;
use crate::propnet::PlayedPosition;

/// What telling users costs besides the users, in users told.
const A_TELL: u64 = 4;
/// What fetching a bit costs.
const A_FETCH: u64 = 6;
/// What working out a pulled gate costs.
const A_PULL: u64 = 10;

impl CounterMachine {
    /// The work of playing through some positions on the specialised phases; nothing when they do not
    /// cover them.
    pub fn work(&self, positions: &[PlayedPosition]) -> Option<u64> {
        let layout = self.specialised()?;
        let mut counters = SpecialisedCounters::new(layout, self.layout().info.roles.len());
        counters.work(layout, |state| self.specialised_phase_of(state), positions)
    }
}

impl SpecialisedCounters {
    /// The work of coming to each of some positions from the one before and of moving on, the first
    /// excepted: users told, and what is fetched. Nothing when a position is in no phase or its
    /// moves are not the phase's.
    fn work(
        &mut self,
        layout: &SpecialisedLayout,
        phase_of: impl Fn(&[u64]) -> Option<usize>,
        positions: &[PlayedPosition],
    ) -> Option<u64> {
        let mut work = 0;
        let mut told = self.values().to_vec();
        for (index, position) in positions.iter().enumerate() {
            let phase = &layout.phases[phase_of(&position.state)?];
            self.set_state(layout, &position.state);
            let places: Option<Vec<u32>> = phase
                .roles
                .iter()
                .zip(&position.moves)
                .map(|(role, &mv)| place_of(role, mv))
                .collect();
            let mut here = 0;
            let mut news = |values: &[u8]| {
                for number in 0..layout.n_followed as usize {
                    if (values[number] ^ told[number]) & 1 == 1 {
                        here += A_TELL
                            + u64::from(
                                layout.users[number + 1].start - layout.users[number].start,
                            );
                    }
                }
                told.copy_from_slice(values);
            };
            news(self.values());
            self.n_pulled = 0;
            self.next_state(layout, phase, &places?);
            news(self.values());
            here += A_PULL * self.n_pulled;
            for (role, &place) in phase.roles.iter().zip(&self.drawn) {
                if let Some(effects) = role.effects.get(place as usize) {
                    here += A_FETCH * u64::from(effects.bits.1 - effects.bits.0);
                }
                here += u64::from(role.n_rows);
            }
            here += phase.next.iter().filter(|word| word.row != NO_ROW).count() as u64;
            work += if index == 0 { 0 } else { here };
        }
        Some(work)
    }
}
