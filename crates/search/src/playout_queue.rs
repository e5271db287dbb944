//! The playouts of a worker: lanes where the machine has them, else a reasoner.
//!
//! A reasoner also plays from states that the lanes do not support, one playout at a time, so that
//! the lanes go on.

use std::collections::VecDeque;
use std::sync::Arc;

use super::parameters::SearchConfig;
use panza_machine::{BatchPlayouts, Machine, PlayoutEnd, PlayoutTotals, Reasoner};
use panza_sync::Random;

/// Playouts that the reasoner has to play.
#[derive(Debug)]
struct SequentialPlayouts {
    slot: u32,
    state: Vec<u64>,
    samples: u32,
}

/// Playouts wanted and in progress.
pub(super) struct PlayoutQueue {
    machine: Arc<dyn Machine>,
    lanes: Option<Box<dyn BatchPlayouts>>,
    /// The worker's slot of the request, by ticket; the lanes reuse small numbers.
    slots: Vec<u32>,
    sequential: VecDeque<SequentialPlayouts>,
    n_sequential: u64,
    /// Made when first needed.
    reasoner: Option<Box<dyn Reasoner>>,
    random: Random,
    max_steps: u32,
    goals: Vec<u8>,
}

impl PlayoutQueue {
    /// A queue whose random numbers are seeded by `random`; `with_lanes` uses the machine's lanes.
    pub(super) fn new(
        machine: Arc<dyn Machine>,
        mut random: Random,
        config: &SearchConfig,
        with_lanes: bool,
    ) -> Self {
        let max_steps = config.max_playout_steps;
        let mut lanes = if with_lanes {
            Arc::clone(&machine).playouts(&mut random, max_steps)
        } else {
            None
        };
        if let (Some(lanes), Some(placements)) = (&mut lanes, &config.placements) {
            lanes.observe(&placements.facts);
        }
        Self {
            lanes,
            slots: Vec::new(),
            sequential: VecDeque::new(),
            n_sequential: 0,
            reasoner: None,
            random,
            max_steps,
            goals: vec![0; machine.info().n_roles()],
            machine,
        }
    }

    pub(super) fn width(&self) -> usize {
        self.lanes.as_ref().map_or(0, |lanes| lanes.width())
    }

    /// Playouts wanted that have not ended.
    pub(super) fn n_outstanding(&self) -> u64 {
        self.lanes.as_ref().map_or(0, |lanes| lanes.n_outstanding()) + self.n_sequential
    }

    pub(super) fn n_sequential_states(&self) -> usize {
        self.sequential.len()
    }

    /// Adds playouts from a state that is not terminal, for a request. Lanes give one tally for
    /// all, the reasoner one for each.
    pub(super) fn submit(&mut self, slot: u32, state: &[u64], samples: u32) {
        let lanes = self.lanes.as_mut();
        match lanes.and_then(|lanes| lanes.submit_nonterminal(state, samples)) {
            Some(ticket) => {
                let index = ticket as usize;
                if index >= self.slots.len() {
                    self.slots.resize(index + 1, slot);
                }
                self.slots[index] = slot;
            }
            None => {
                self.n_sequential += u64::from(samples);
                self.sequential.push_back(SequentialPlayouts {
                    slot,
                    state: state.to_vec(),
                    samples,
                });
            }
        }
    }

    /// Advances all lanes by a joint move.
    pub(super) fn advance_lanes(&mut self) {
        if let Some(lanes) = &mut self.lanes
            && lanes.n_outstanding() > 0
        {
            lanes.advance();
        }
    }

    /// Writes the tally of playouts by lanes that have ended, and returns their slot.
    pub(super) fn take_finished(&mut self, tally: &mut PlayoutTotals) -> Option<u32> {
        let ticket = self.lanes.as_mut()?.take_finished(tally)?;
        Some(self.slots[ticket as usize])
    }

    /// Plays once with the reasoner, if a state waits for it. Writes the tally, and returns the
    /// slot and whether more playouts from the state follow.
    pub(super) fn play_sequential(&mut self, tally: &mut PlayoutTotals) -> Option<(u32, bool)> {
        let first = self.sequential.front_mut()?;
        let reasoner = self
            .reasoner
            .get_or_insert_with(|| Arc::clone(&self.machine).reasoner());
        reasoner.set_state(&first.state);
        tally.clear(self.goals.len());
        match reasoner.playout(&mut self.random, self.max_steps, &mut self.goals) {
            PlayoutEnd::Finished { steps } => tally.steps = u64::from(steps),
            PlayoutEnd::CutOff => {
                tally.steps = u64::from(self.max_steps);
                tally.cut_off = 1;
            }
        }
        tally.playouts = 1;
        for (total, &goal) in tally.totals.iter_mut().zip(&self.goals) {
            *total = u64::from(goal.min(100));
        }
        let slot = first.slot;
        first.samples -= 1;
        self.n_sequential -= 1;
        let has_more = first.samples > 0;
        if !has_more {
            self.sequential.pop_front();
        }
        Some((slot, has_more))
    }
}
