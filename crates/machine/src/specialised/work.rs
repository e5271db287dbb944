//! The cost of a layout in play, by which layouts are compared.
//!
//! Positions of some games are replayed and the engine's operations counted. No clock is used, so
//! the result is reproducible.

use super::layout::{NO_ROW, SpecialisedLayout};
use super::phase::phase_of_group;
use super::run::move_index;
use super::values::SpecialisedCounters;
use panza_gdl::BaseId;
use panza_propnet::PlayedPosition;

/// The cost of updating a number's users, besides one per user.
const UPDATE_COST: u64 = 4;
const FETCH_COST: u64 = 6;
/// The cost of evaluating a lazy gate.
const LAZY_GATE_COST: u64 = 10;

/// The cost of replaying some positions of a game that is specialised by a mutex group, empty for
/// the whole game; `None` when the phases do not cover them.
pub fn work(
    layout: &SpecialisedLayout,
    n_roles: usize,
    mutex_group: &[BaseId],
    positions: &[PlayedPosition],
) -> Option<u64> {
    SpecialisedCounters::new(layout, n_roles).work(layout, mutex_group, positions)
}

impl SpecialisedCounters {
    /// The cost of moving from each position to the next: users updated, and values fetched. `None`
    /// when a position is in no phase or its moves are not the phase's.
    fn work(
        &mut self,
        layout: &SpecialisedLayout,
        mutex_group: &[BaseId],
        positions: &[PlayedPosition],
    ) -> Option<u64> {
        let mut work = 0;
        let mut before = self.values().to_vec();
        for (index, position) in positions.iter().enumerate() {
            let phase = &layout.phases[phase_of_group(mutex_group, &position.state)?];
            self.set_state(layout, &position.state);
            let indices: Option<Vec<u32>> = phase
                .roles
                .iter()
                .zip(&position.moves)
                .map(|(role, &mv)| move_index(role, mv))
                .collect();
            let mut here = 0;
            let mut count_updates = |values: &[u8]| {
                for number in 0..layout.n_followed as usize {
                    if (values[number] ^ before[number]) & 1 == 1 {
                        here += UPDATE_COST
                            + u64::from(
                                layout.users[number + 1].start - layout.users[number].start,
                            );
                    }
                }
                before.copy_from_slice(values);
            };
            count_updates(self.values());
            self.n_evaluated = 0;
            self.next_state(layout, phase, &indices?);
            count_updates(self.values());
            here += LAZY_GATE_COST * self.n_evaluated;
            for (role, &index) in phase.roles.iter().zip(&self.drawn) {
                if let Some(effects) = role.effects.get(index as usize) {
                    here += FETCH_COST * u64::from(effects.bits.1 - effects.bits.0);
                }
                here += u64::from(role.n_rows);
            }
            here += phase.next.iter().filter(|word| word.row != NO_ROW).count() as u64;
            work += if index == 0 { 0 } else { here };
        }
        Some(work)
    }
}
